//! `--launcher`: this command starts an MPI's ranks itself, once for each block, for what differs from launch to launch
//! (placement, memory) differs more than what ranks see that live on.

use crate::Failure;
use crate::environment::program;
use hotlink_study::results::{self, Results};
use std::path::Path;
use std::process::{Command, Stdio};

/// Options of the whole measurement, which a block's ranks do not get: with a value, and without one.
const VALUED: [&str; 7] = ["--launcher", "--rounds", "--blocks", "--spread", "--time", "--format", "--progress"];
const PLAIN: [&str; 2] = ["--json", "--raw"];

/// The ranks of one block.
pub(super) struct Child {
    launcher: String,
    words: Vec<String>,
}

impl Child {
    /// For the command line `command` (the program's name first), with `time_s` seconds for each point of a block.
    pub(super) fn of(launcher: &str, command: &[String], time_s: f64) -> Child {
        let called =
            program("measure", std::env::args_os()).into_iter().map(|word| word.to_string_lossy().into_owned());
        let mut words = without_options(&called.collect::<Vec<_>>());
        if words.is_empty() {
            words.push("hotlink".to_owned());
        }
        words.extend(
            without_options(command.get(1..).unwrap_or_default()).into_iter().skip_while(|word| word != "measure"),
        );
        let time = format!("{:.6}", time_s.max(0.001));
        words.extend(["--blocks", "1", "--raw", "--json", "--time", &time].map(str::to_owned));
        Child { launcher: launcher.to_owned(), words }
    }
    /// Runs the block to its end.
    pub(super) fn run(&self) -> Result<Results, Failure> {
        let mut command = Command::new("/bin/sh");
        // The launcher is words for a shell; those of this command stay as they are.
        command.args(["-c", &format!("exec {} \"$@\"", self.launcher), "hotlink"]).args(&self.words);
        let failed = |what: String| Failure::Check(format!("--launcher '{}': {what}", self.launcher));
        let done = command.stdin(Stdio::null()).output();
        let done = done.map_err(|error| failed(format!("/bin/sh cannot be started: {error}")))?;
        // Every block's ranks say the same of the machine.
        String::from_utf8_lossy(&done.stderr).lines().for_each(|line| super::say_once(line.to_owned()));
        if !done.status.success() {
            return Err(failed(format!("ended with {}; its messages are above", done.status)));
        }
        let text = String::from_utf8_lossy(&done.stdout);
        results::parse(Path::new("--launcher"), &text).map_err(|error| failed(format!("printed no result: {error}")))
    }
}

fn without_options(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if VALUED.contains(&word.as_str()) {
            words.next();
        } else if !PLAIN.contains(&word.as_str())
            && !VALUED.iter().any(|option| word.starts_with(&format!("{option}=")))
        {
            kept.push(word.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_gets_the_measurement_without_its_repetition() {
        let line =
            "hotlink --json measure pingpong --via mpi --launcher L --size 8 --time=0.5 --blocks 12 --rounds=2 --raw";
        let command: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let words = Child::of("L", &command, 0.25).words.join(" ");
        assert_eq!(words, "hotlink measure pingpong --via mpi --size 8 --blocks 1 --raw --json --time 0.250000");
    }

    #[test]
    fn a_launcher_that_fails_or_prints_no_result_is_named() {
        for (launcher, told) in [("sh -c 'exit 3'", "ended with exit status: 3"), ("echo hello", "printed no result")] {
            let child = Child { launcher: launcher.to_owned(), words: Vec::new() };
            let error = child.run().err().unwrap().to_string();
            assert!(error.contains(told) && error.contains("--launcher"), "{error}");
        }
    }
}
