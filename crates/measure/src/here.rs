//! Values that results lack and that their machine can measure without messages: its copy rate, and a sort's own work.
//! Where the results are of this machine, they are measured on the spot, with a message.

use crate::{Face, environment};
use hotlink_bench::Record;
use hotlink_results::calibrate::{Measured, Site, is};
use hotlink_study::Error;
use serde_json::{Map, Value as Json};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// A part that may be missing: how it is recognised, the benchmark that measures it, and its purpose. `is_together`: as
/// many processes as the ping-pong had ranks do it at once, each on its own processor. Programs compute on all ranks
/// together.
struct Part {
    holds: fn(&Record) -> bool,
    line: &'static str,
    what: &'static str,
    is_together: bool,
}

const PARTS: [Part; 2] = [
    Part {
        holds: |r| is(r, "memory") && r.number("stride").is_none_or(|stride| stride == 1.0),
        line: "memory --strides 1 --size 8..64MiB..x2 --time 0.1 --spread 0",
        what: "costs of copies",
        is_together: false,
    },
    Part {
        holds: |r| is(r, "is") && r.number("ranks") == Some(1.0),
        line: "is --class A --ranks 1 --rounds 3",
        what: "rate of a sort's own work",
        is_together: true,
    },
];

/// This machine, as a face calls it.
pub struct Here<'a> {
    /// The face for people.
    pub face: &'a dyn Face,
    /// The words that call this program, before its verb; none: it is another's, and one process measures.
    pub program: Vec<OsString>,
    /// How it is to show progress, in a word of its `--progress`.
    pub progress: String,
    /// Measures by the words behind `measure`, in this process.
    pub measure: &'a dyn Fn(&str) -> Result<Vec<Record>, Error>,
}

impl Site for Here<'_> {
    fn made(&self, environment: &Map<String, Json>) -> bool {
        made(environment)
    }
    fn complete(&self, measured: &mut Vec<Measured>) -> Result<(), Error> {
        self.add(measured)
    }
    fn note(&self, text: &str) {
        self.face.say(text);
    }
}

/// Whether results with this environment are of this machine: its host and processor; without a host, its processor.
fn made(environment: &Map<String, Json>) -> bool {
    let here = environment::describe();
    let same = |key: &str| environment.get(key).is_none_or(|told| here.get(key) == Some(told));
    environment.contains_key("cpu") && same("cpu") && same("host")
}

impl Here<'_> {
    /// Adds what is missing, or says that and how to get it.
    fn add(&self, measured: &mut Vec<Measured>) -> Result<(), Error> {
        let is_here = measured.iter().all(|m| m.is_here);
        let ranks = measured.iter().filter(|m| is(&m.record, "pingpong")).find_map(|m| m.record.number("ranks"));
        for Part { holds, line, what, is_together } in PARTS {
            if measured.iter().any(|m| holds(&m.record)) {
                continue;
            }
            let missing = format!("the results hold no {what}");
            if !is_here {
                self.face.say(&format!(
                    "{missing}, and are not this machine's: add `hotlink measure {line} --json` of theirs"
                ));
                continue;
            }
            let processes =
                ranks.filter(|_| is_together).map_or(1, |ranks| (ranks as u32).clamp(1, hotlink_real::cores()));
            let at_once = if processes > 1 { format!(", {processes} processes at once") } else { String::new() };
            self.face.say(&format!("{missing}: measured on this machine now, by `hotlink measure {line}`{at_once}"));
            let source = format!("hotlink measure {line}{at_once}, by calibrate itself");
            let added = |record| Measured { record, source: source.clone(), is_here, host: None };
            measured.extend(self.taken(line, processes)?.into_iter().map(added));
        }
        Ok(())
    }

    /// The measurements of `processes` processes at once by `line`.
    fn taken(&self, line: &str, processes: u32) -> Result<Vec<Record>, Error> {
        if processes == 1 || self.program.is_empty() {
            return (self.measure)(line);
        }
        let (program, shown) = (&self.program, self.progress.as_str());
        let one = |core| {
            move || {
                // A process begins on the cores of the thread that starts it.
                hotlink_real::stay_on(core);
                command(program, line, (core == 0).then_some(shown)).output()
            }
        };
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..processes).map(|core| scope.spawn(one(core))).collect();
            let mut records = Vec::new();
            for process in started {
                let wrong = |what: String| Error::Check(format!("hotlink measure {line}: {what}"));
                let output = process.join().map_err(|_| wrong("its thread ended".to_owned()))?;
                let output = output.map_err(|error| wrong(error.to_string()))?;
                if !output.status.success() {
                    let told = String::from_utf8_lossy(&output.stderr);
                    return Err(wrong(format!("{}\n{told}", output.status).trim_end().to_owned()));
                }
                let text = String::from_utf8_lossy(&output.stdout);
                records.extend(hotlink_results::parse(Path::new("hotlink measure"), &text)?.records);
            }
            Ok(records)
        })
    }
}

/// One of the processes that measure `line` at once. They do the same, so only the first reports its progress and
/// messages, where this one does.
fn command(program: &[OsString], line: &str, shown: Option<&str>) -> Command {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).arg("measure").args(line.split(' ')).arg("--json").env("HOTLINK_LAUNCHER", "none");
    command.arg("--progress").arg(shown.unwrap_or("never"));
    command.stderr(if shown.is_some() { Stdio::inherit() } else { Stdio::piped() });
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_processes_one_tells_its_progress_as_this_one_would() {
        let shown = |shown| {
            let command = command(&["hotlink".into()], "memory --size 8", shown);
            command.get_args().last().map(|word| word.to_string_lossy().into_owned())
        };
        assert_eq!(shown(Some("always")).as_deref(), Some("always"));
        assert_eq!(shown(None).as_deref(), Some("never"));
    }

    #[test]
    fn results_are_this_machine_s_by_host_and_processor() {
        let mut here = environment::describe();
        here.insert("cpu".to_owned(), environment::describe().get("cpu").cloned().unwrap_or_else(|| "x".into()));
        assert_eq!(made(&here), environment::describe().contains_key("cpu"));
        here.remove("host");
        assert_eq!(made(&here), environment::describe().contains_key("cpu"), "anonymous");
        here.insert("host".to_owned(), "another".into());
        assert!(!made(&here) && !made(&Map::new()));
    }
}
