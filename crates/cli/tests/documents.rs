//! What the documents show is what the command prints: every `console` block of README.md and docs/*.md is run.
//!
//! A block is `$ hotlink ...` and the whole output, or an output cut by a last line of `...`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// (file:line, command line, expected output) of every example.
fn examples(file: &Path) -> Vec<(String, String, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut examples: Vec<(String, String, String)> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        match (inside, line.strip_prefix("$ hotlink ")) {
            (_, _) if line.starts_with("```") => inside = line == "```console",
            (true, Some(command)) => {
                examples.push((format!("{}:{}", file.display(), number + 1), command.to_owned(), String::new()));
            }
            (true, None) => {
                let (_, _, expected) = examples.last_mut().expect("a console block starts with $ hotlink");
                expected.push_str(line);
                expected.push('\n');
            }
            (false, _) => {}
        }
    }
    examples
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

#[test]
fn every_example_prints_what_the_document_shows() {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut seen = 0;
    for file in pages.chain([root().join("README.md")]) {
        for (place, command, expected) in examples(&file) {
            let printed = prints(&command);
            match expected.strip_suffix("...\n") {
                Some(head) => assert!(printed.starts_with(head), "{place}: hotlink {command} prints\n{printed}"),
                None => assert_eq!(printed, expected, "{place}: hotlink {command}"),
            }
            seen += 1;
        }
    }
    assert!(seen >= 3, "the documents show {seen} examples");
}
