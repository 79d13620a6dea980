//! Writes a copy of source files that holds all their mutants, each behind a switch.
//!
//! ```text
//! mutants ROOT TREE LEFT_OUT FILE...
//! ```
//! Each FILE is read in ROOT and written in TREE. LEFT_OUT is a file that names mutants, one a line, that do not
//! compile and are not put in. It prints a line for each mutant, `mutant NUMBER PATH LINE COLUMN NAME`. It prints
//! another for each place of a written file where the compiler may complain of mutants, `place PATH START END NUMBERS`.
//! Words are separated by tabs. A mutant that is left out has its line all the same, so that numbers stay.

mod find;
mod text;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

/// Where the switch lies in the tree, and the file that names it as a module.
const SWITCH: &str = "crates/port/src/mutant.rs";
const HOME: &str = "crates/port/src/lib.rs";
const MODULE: &str = "\n#[doc(hidden)]\n#[allow(missing_docs)]\npub mod mutant;\n";

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let [root, tree, left_out, files @ ..] = &words[..] else { panic!("mutants ROOT TREE LEFT_OUT FILE...") };
    let (root, tree) = (Path::new(root), Path::new(tree));
    let left_out = fs::read_to_string(left_out).unwrap_or_else(|error| panic!("{left_out}: {error}"));
    let left_out: BTreeSet<&str> = left_out.lines().collect();
    let mut next = 1;
    for path in files {
        let source = fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let parsed = syn::parse_file(&source).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut found = find::mutants(&source, &parsed);
        name(path, &mut found.mutants);
        let first = next;
        for (number, mutant) in (first..).zip(&found.mutants) {
            println!("mutant\t{number}\t{path}\t{}\t{}\t{}", mutant.line, mutant.column, mutant.name);
            next = number + 1;
        }
        let is_in = |index: usize| !left_out.contains(found.mutants[index].name.as_str());
        let switch = if path.starts_with("crates/port/") { "crate::mutant::on" } else { "hotlink_port::mutant::on" };
        let (mut text, places) =
            text::write(&source, &found.nodes, &is_in, &|index| format!("{switch}({})", first + index));
        for place in places {
            let numbers: Vec<String> = place.of.iter().map(|index| (first + index).to_string()).collect();
            println!("place\t{path}\t{}\t{}\t{}", place.start, place.end, numbers.join(","));
        }
        if path == HOME {
            text += MODULE;
        }
        put(&tree.join(path), &text);
    }
    put(&tree.join(SWITCH), include_str!("switch.rs"));
    if !files.iter().any(|path| path == HOME) {
        let home = fs::read_to_string(root.join(HOME)).unwrap_or_else(|error| panic!("{HOME}: {error}"));
        put(&tree.join(HOME), &(home + MODULE));
    }
}

/// Names hold no line, so that what is known of a mutant outlives changes elsewhere in its file; equal ones are counted.
fn name(path: &str, mutants: &mut [find::Mutant]) {
    let mut seen = BTreeMap::new();
    for mutant in mutants {
        let name = format!("{path}: {}", mutant.name);
        let times: &mut usize = seen.entry(name.clone()).or_default();
        *times += 1;
        mutant.name = if *times == 1 { name } else { format!("{name} ({times})") };
    }
}

/// Writes a file if it changes: the compiler goes by its time.
fn put(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return;
    }
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
