//! Two commands run in turn for their results.

use hotlink_diagnose::compare_pairs::Pair;
use hotlink_results::Results;
use hotlink_study::{Error, Watch};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs `a` and `b` repeatedly. The first of a pair changes from pair to pair, so that effects that last from one run
/// to the next favour neither. `watch` hears of each run.
///
/// # Errors
/// A command failed, or printed no results.
pub fn pairs((a, b): (&str, &str), pairs: u32, watch: &dyn Watch) -> Result<Vec<Pair>, Error> {
    let one = |name: &str, command: &str, pair: u32| {
        let results = once(&format!("{name}, run {} of {pairs}", pair + 1), command);
        watch.step();
        results
    };
    let mut all = Vec::new();
    for pair in 0..pairs {
        all.push(if pair % 2 == 0 {
            let a = one("--a", a, pair)?;
            Pair { a, b: one("--b", b, pair)? }
        } else {
            let b = one("--b", b, pair)?;
            Pair { a: one("--a", a, pair)?, b }
        });
    }
    Ok(all)
}

/// Lines of a failed command's messages that are passed on.
const LINES: usize = 8;

/// The results that a command prints; `place` says which run it is.
fn once(place: &str, command: &str) -> Result<Results, Error> {
    let wrong = |what: String| Error::Input(format!("compare-runs: {place}: `{command}` {what}"));
    let done = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::null()).output();
    let done = done.map_err(|error| wrong(format!("cannot be started: {error}")))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let last: Vec<&str> = said.lines().rev().take(LINES).collect();
        let last: String = last.into_iter().rev().map(|line| format!("\n  {line}")).collect();
        return Err(wrong(format!("ended with {}{}", done.status, if last.is_empty() { "" } else { ":" }) + &last));
    }
    let text = String::from_utf8_lossy(&done.stdout);
    hotlink_results::parse(Path::new("stdout"), &text)
        .map_err(|error| wrong(format!("printed no results: {error}; it must print what --json prints")))
}
