//! What the documents show is what the command prints: every `console` block of README.md and docs/*.md is run.
//!
//! A block is `$ hotlink ...` and the whole output, or its first lines and `...`. After a change of what is printed,
//! `HOTLINK_DOCS=write cargo test -p hotlink-cli --test documents` writes the blocks anew: read the difference.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn prints(command: &str) -> String {
    let home = std::env::temp_dir().join("hotlink-no-home");
    let mut hotlink = Command::new(env!("CARGO_BIN_EXE_hotlink"));
    hotlink.args(command.split_whitespace()).env("HOME", &home).current_dir(std::env::temp_dir());
    hotlink.env_remove("XDG_DATA_HOME").env_remove("HOTLINK_CATALOG");
    let output = hotlink.output().unwrap();
    assert!(output.status.success(), "hotlink {command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a block should show: as many lines as it does now if it is cut, else all.
fn shown(command: &str, block: &[&str]) -> Vec<String> {
    let printed = prints(command);
    let lines = printed.lines().map(str::to_owned);
    match block.last() {
        Some(&"...") => lines.take(block.len() - 1).chain(["...".to_owned()]).collect(),
        _ => lines.collect(),
    }
}

/// The document with every block as the command prints it today, and how many blocks there are.
fn renewed(text: &str) -> (String, usize) {
    let lines: Vec<&str> = text.lines().collect();
    let (mut out, mut blocks, mut at) = (Vec::new(), 0, 0);
    while at < lines.len() {
        out.push(lines[at].to_owned());
        at += 1;
        if lines[at - 1] != "```console" {
            continue;
        }
        let command = lines[at].strip_prefix("$ hotlink ").expect("a console block starts with $ hotlink");
        let length = lines[at..].iter().position(|line| *line == "```").expect("a block ends");
        out.push(lines[at].to_owned());
        out.extend(shown(command, &lines[at + 1..at + length]));
        at += length;
        blocks += 1;
    }
    (out.join("\n") + "\n", blocks)
}

#[test]
fn every_example_prints_what_the_document_shows() {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut seen = 0;
    for file in pages.chain([root().join("README.md")]) {
        let text = std::fs::read_to_string(&file).unwrap();
        let (today, blocks) = renewed(&text);
        match std::env::var_os("HOTLINK_DOCS") {
            Some(_) => std::fs::write(&file, today).unwrap(),
            None => assert_eq!(text, today, "{}: see the head of this test for how to renew it", file.display()),
        }
        seen += blocks;
    }
    assert!(seen >= 3, "the documents show {seen} examples");
}
