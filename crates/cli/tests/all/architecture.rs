//! The invariants of absence in ARCHITECTURE.md: dependencies and contents that must never be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The workspace's crates that `name` depends on, tests aside.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = std::fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
    let section = manifest.split("\n[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let ours = section.lines().filter_map(|line| line.strip_prefix("hotlink-"));
    ours.map(|rest| rest.split(['.', ' ', '=']).next().unwrap().to_owned()).collect()
}

/// All files in a folder and below it, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Lines of a crate's sources, tests aside, that hold one of `words`.
fn lines_with(name: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in files(&crates().join(name).join("src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let hits = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let hits = hits.filter(|line| words.iter().any(|word| line.contains(word)));
        found.extend(hits.map(|line| format!("{}: {}", path.display(), line.trim())));
    }
    found
}

/// A number with a unit that a bound is written under.
fn is_bound_written(line: &str) -> bool {
    let written = ["with(", "set(", "insert("].iter().any(|call| line.contains(&format!("{call}\"bound_")));
    let key = line.split("\"bound_").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    written && key.rsplit('_').next().is_some_and(|unit| ["us", "s", "MBps", "rate", "is"].contains(&unit))
}

/// Tests within a library that is compiled once, and so without them, would never run.
#[test]
fn tests_stand_where_they_run() {
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(crates()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let manifest = std::fs::read_to_string(crates().join(&name).join("Cargo.toml")).unwrap();
        let library = manifest.split("\n[lib]\n").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default();
        if library.lines().any(|line| line == "test = false") {
            wrong.extend(files(&crates().join(name).join("src")).into_iter().filter(|path| {
                let text = std::fs::read_to_string(path).unwrap();
                text.contains("#[cfg(test)]") || text.contains("#[test]")
            }));
        }
    }
    assert!(wrong.is_empty(), "these have tests, and `test = false` under [lib]: {wrong:?}");
}

#[test]
fn bounds_are_written_in_one_place_by_one_crate() {
    assert!(
        is_bound_written(r#".with("bound_latency_us", us)"#) && !is_bound_written(r#".number("bound_latency_us")"#)
    );
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(crates()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let written = lines_with(&name, &["\"bound_"]).into_iter().filter(|line| is_bound_written(line));
        // The record itself writes what `Bound` says.
        wrong.extend(written.filter(|line| !line.contains("/bench/src/record.rs")));
    }
    assert!(
        wrong.is_empty(),
        "a bound comes from hotlink_bound by way of Record::beside_time and its like:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn dependencies_point_one_way() {
    for (name, allowed) in [
        ("fabric", &[][..]),
        ("load", &["fabric"]),
        ("bound", &["fabric", "load", "schedule"]),
        ("site", &["fabric"]),
        ("port", &["fabric"]),
        ("message", &["fabric", "port"]),
        ("event", &["fabric"]),
        ("fuzz", &["fabric", "port", "message"]),
        ("schedule", &[]),
        ("transport", &[]),
        ("barrier", &["fabric", "event"]),
        ("loggp", &["bound", "fabric", "port", "event", "schedule"]),
        ("sim", &["barrier", "bound", "fabric", "load", "port", "event", "memory", "schedule", "transport"]),
        ("memory", &["fabric"]),
        ("seats", &["fabric", "port"]),
        ("clock", &["seats"]),
        ("job", &["seats"]),
        ("real", &["fabric", "port", "message", "seats", "job"]),
        ("bench", &["bound", "fabric", "port", "message"]),
        (
            "study",
            &[
                "barrier",
                "bound",
                "fabric",
                "load",
                "site",
                "port",
                "message",
                "loggp",
                "sim",
                "bench",
                "schedule",
                "transport",
            ],
        ),
        (
            "workloads",
            &[
                "bound", "fabric", "load", "site", "event", "loggp", "sim", "bench", "study", "schedule", "message",
                "port",
            ],
        ),
        ("design", &["bound", "fabric", "load", "bench", "study"]),
        ("chart", &["fabric"]),
        (
            "seeds",
            &["barrier", "bound", "chart", "fabric", "load", "port", "loggp", "sim", "bench", "study", "questions"],
        ),
        ("results", &["fabric", "port", "event", "memory", "loggp", "bench", "study", "workloads"]),
        ("sweep", &["fabric", "bench", "study", "results"]),
        ("diagnose", &["bound", "fabric", "load", "site", "bench", "study", "results"]),
        ("report", &["bound", "chart", "fabric", "bench", "study", "results"]),
        ("measure", &["bound", "fabric", "port", "message", "real", "bench", "study", "results"]),
        (
            "launch",
            &[
                "bound",
                "fabric",
                "real",
                "seats",
                "bench",
                "study",
                "results",
                "diagnose",
                "schedule",
                "standard",
                "workloads",
            ],
        ),
        ("explorer", &["fabric", "study"]),
        (
            "paper",
            &[
                "fabric", "seats", "bench", "study", "results", "report", "seeds", "design", "diagnose", "measure",
                "launch",
            ],
        ),
        (
            "cli",
            &[
                "fabric",
                "explorer",
                "launch",
                "paper",
                "port",
                "loggp",
                "sim",
                "real",
                "bench",
                "study",
                "measure",
                "seeds",
                "design",
                "diagnose",
                "report",
                "results",
                "sweep",
                "standard",
                "schedule",
                "workloads",
            ],
        ),
        (
            "python",
            &[
                "fabric",
                "port",
                "message",
                "real",
                "seats",
                "bench",
                "study",
                "results",
                "measure",
                "seeds",
                "design",
                "report",
                "paper",
                "cli",
                "questions",
            ],
        ),
        ("questions", &["fabric", "bench", "study", "results", "workloads", "design", "diagnose"]),
        ("wasm", &["questions"]),
        ("standard", &["port"]),
        ("mpi", &["message", "port", "real", "standard"]),
    ] {
        let allowed = allowed.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let found = dependencies(name);
        assert!(found.is_subset(&allowed), "{name} depends on {found:?}; allowed: {allowed:?}");
    }
}

/// Crates that others call: they have no face of their own.
const LIBRARIES: &[&str] = &[
    "fabric",
    "load",
    "site",
    "port",
    "message",
    "fuzz",
    "standard",
    "event",
    "memory",
    "barrier",
    "loggp",
    "sim",
    "bench",
    "study",
    "chart",
    "seeds",
    "design",
    "diagnose",
    "report",
    "results",
    "sweep",
    "schedule",
    "transport",
    "workloads",
    "questions",
    "wasm",
];

#[test]
fn only_real_knows_a_clock_or_a_socket() {
    for name in LIBRARIES {
        let mut found = lines_with(name, &["Instant", "SystemTime", "std::net", "std::process"]);
        // A file under way bears the number of its process.
        found.retain(|line| !line.contains("std::process::id()"));
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    }
}

/// A library answers; its face reads words and prints. A line printed by a library would be in the middle of a result.
#[test]
fn libraries_print_nothing_and_read_no_command_line() {
    for name in LIBRARIES.iter().chain(&["explorer", "launch", "measure"]) {
        let mut found = lines_with(name, &["println!", "print!(", "clap", "std::env::args"]);
        // A file of tests may say what it saw.
        found.retain(|line| !line.contains("/tests.rs: "));
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
        let manifest = std::fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("clap"), "{name} depends on clap");
    }
}

/// A face prints on paper, for any caller: paper knows no option.
#[test]
fn paper_reads_no_command_line() {
    let mut found = lines_with("paper", &["println!(", "clap", "std::env::args"]);
    found.retain(|line| !line.contains("eprintln!("));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A system's own logarithm differs in its last digits from another's: the command and the browser would disagree.
#[test]
fn logarithms_and_powers_are_the_same_on_every_machine() {
    let own = ["ln", "log2", "log10", "log", "exp", "exp2", "powf", "powi", "sin", "cos", "tan", "hypot", "cbrt"];
    let calls = own.map(|name| format!(".{name}("));
    let names = own.map(|name| format!("f64::{name}"));
    let words: Vec<&str> = calls.iter().chain(&names).map(String::as_str).collect();
    for name in LIBRARIES {
        let mut found = lines_with(name, &words);
        // A file of tests; the message engine's log of events.
        found.retain(|line| !line.contains("tests.rs: ") && !line.contains("/tests/"));
        assert!(found.is_empty(), "{name}: use hotlink_fabric::maths:\n{}", found.join("\n"));
    }
}

#[test]
fn the_closed_forms_never_look_at_routes() {
    let forms = std::fs::read_to_string(crates().join("fabric/src/forms.rs")).unwrap();
    for word in ["hotlink_load", "crate::routing", "crate::network", "crate::built", "crate::topology", ".build("] {
        assert!(!forms.contains(word), "forms.rs uses {word}: it could no longer check the load count");
    }
}

/// And where Python lends its memory, where the simulator asks memory ahead of time (a prefetch), and where a browser calls.
#[test]
fn unsafe_code_is_in_real_alone() {
    for name in LIBRARIES.iter().chain(&["explorer", "launch", "measure", "paper", "cli", "python"]) {
        let mut found = lines_with(name, &["unsafe ", "allow(unsafe_code)"]);
        found.retain(|line| {
            !["python/src/lent.rs", "sim/src/net/ahead.rs", "wasm/src/door.rs"].iter().any(|file| line.contains(file))
        });
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    }
}

/// The C face of the MPI library has pointers by nature: they are in the files that ARCHITECTURE.md names, and nowhere else.
#[test]
fn unsafe_code_of_the_mpi_library_is_in_its_named_files() {
    let files = ["pointer", "memory", "process/callback", "process/gate", "seat", "generated/mod"]
        .map(|name| format!("mpi/src/{name}.rs: "));
    let found = lines_with("mpi", &["unsafe ", "allow(unsafe_code)"]);
    let elsewhere: Vec<String> =
        found.into_iter().filter(|line| !files.iter().any(|file| line.contains(file))).collect();
    assert!(elsewhere.is_empty(), "{}", elsewhere.join("\n"));
}
