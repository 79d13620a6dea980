//! An MPI's launcher starts the ranks, once for each block. Placement and memory differ more from launch to launch than
//! between samples of ranks that live on.

use crate::bench::pairs::SLOW;
use crate::face::Face;
use crate::machine::BUSY;
use crate::request::Launcher;
use hotlink_results::Results;
use hotlink_study::Error;
use std::path::Path;
use std::process::{Command, Stdio};

/// The ranks of one block.
pub(crate) struct Child<'a> {
    launcher: &'a str,
    words: Vec<String>,
}

impl Child<'_> {
    /// With `time_s` seconds for each point of a block; none of a program that is run as a whole.
    pub(crate) fn of(launcher: &Launcher, time_s: Option<f64>) -> Child<'_> {
        let mut words = launcher.program.clone();
        words.push("--json".to_owned());
        if let Some(time_s) = time_s {
            let time = format!("{:.6}", time_s.max(0.001));
            words.extend(["--blocks", "1", "--raw", "--time", &time].map(str::to_owned));
        }
        Child { launcher: &launcher.command, words }
    }
    /// Runs the block to its end.
    pub(crate) fn run(&self, face: &dyn Face) -> Result<Results, Error> {
        let mut command = Command::new("/bin/sh");
        // The launcher is words for a shell; those of this command stay as they are.
        command.args(["-c", &format!("exec {} \"$@\"", self.launcher), "hotlink"]).args(&self.words);
        let failed = |what: String| Error::Check(format!("--launcher '{}': {what}", self.launcher));
        let done = command.stdin(Stdio::null()).output();
        let done = done.map_err(|error| failed(format!("/bin/sh cannot be started: {error}")))?;
        // Every block's ranks say the same of the machine.
        let told = String::from_utf8_lossy(&done.stderr);
        // Slow pairs are reported from all blocks.
        let is_passed_on = |line: &&str| !line.contains(BUSY) && !line.contains(&format!("hotlink: {SLOW}"));
        told.lines().filter(is_passed_on).for_each(|line| face.pass_on(line));
        if !done.status.success() {
            return Err(failed(format!("ended with {}; its messages are above", done.status)));
        }
        let text = String::from_utf8_lossy(&done.stdout);
        hotlink_results::parse(Path::new("--launcher"), &text)
            .map_err(|error| failed(format!("printed no result: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::face::Quiet;

    #[test]
    fn a_block_is_asked_for_by_the_face_s_words() {
        let program = ["hotlink", "measure", "pingpong"].map(str::to_owned).to_vec();
        let launcher = Launcher { command: "L".to_owned(), program };
        let words = |time| Child::of(&launcher, time).words.join(" ");
        assert_eq!(words(Some(0.25)), "hotlink measure pingpong --json --blocks 1 --raw --time 0.250000");
        assert_eq!(words(None), "hotlink measure pingpong --json");
    }

    #[test]
    fn a_launcher_that_fails_or_prints_no_result_is_named() {
        for (launcher, told) in [("sh -c 'exit 3'", "ended with exit status: 3"), ("echo hello", "printed no result")] {
            let child = Child { launcher, words: Vec::new() };
            let error = child.run(&Quiet).err().unwrap().to_string();
            assert!(error.contains(told) && error.contains("--launcher"), "{error}");
        }
    }
}
