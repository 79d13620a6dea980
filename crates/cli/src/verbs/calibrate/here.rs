//! What results lack that their machine can tell without messages: how fast it copies, and a sort's own work. Where that is
//! this machine it is measured on the spot, and said.

use crate::output::Output;
use crate::progress::When;
use crate::verbs::measure;
use crate::{Failure, files};
use clap::ValueEnum;
use hotlink_bench::Record;
use hotlink_measure::environment;
use hotlink_study::calibrate::{Measured, Site, is};
use hotlink_study::results;
use serde_json::{Map, Value as Json};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// What may be missing: how it is recognised, the benchmark that tells it, what it is for, and whether as many processes as
/// the ping-pong had ranks do it at once, each on a processor of its own: programs compute on all ranks together.
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

/// This machine, with progress as the output shows it.
pub(super) struct Here<'a>(pub(super) &'a Output);

impl Site for Here<'_> {
    fn made(&self, environment: &Map<String, Json>) -> bool {
        made(environment)
    }
    fn can_write(&self, path: &Path) -> Result<(), Failure> {
        files::can_write("--out", path)
    }
    fn complete(&self, measured: &mut Vec<Measured>) -> Result<(), Failure> {
        complete(measured, self.0)
    }
    fn note(&self, text: &str) {
        eprintln!("hotlink: {text}");
    }
}

/// Whether results with this environment are of this machine: its host and processor; without a host, its processor.
fn made(environment: &Map<String, Json>) -> bool {
    let here = environment::describe();
    let same = |key: &str| environment.get(key).is_none_or(|told| here.get(key) == Some(told));
    environment.contains_key("cpu") && same("cpu") && same("host")
}

/// Adds what is missing, with progress as `output` shows it, or says that and how to get it.
fn complete(measured: &mut Vec<Measured>, output: &Output) -> Result<(), Failure> {
    let is_here = measured.iter().all(|m| m.is_here);
    let ranks = measured.iter().filter(|m| is(&m.record, "pingpong")).find_map(|m| m.record.number("ranks"));
    for Part { holds, line, what, is_together } in PARTS {
        if measured.iter().any(|m| holds(&m.record)) {
            continue;
        }
        let missing = format!("hotlink: the results hold no {what}");
        if !is_here {
            eprintln!("{missing}, and are not this machine's: add `hotlink measure {line} --json` of theirs");
            continue;
        }
        let processes = ranks.filter(|_| is_together).map_or(1, |ranks| (ranks as u32).clamp(1, hotlink_real::cores()));
        let at_once = if processes > 1 { format!(", {processes} processes at once") } else { String::new() };
        eprintln!("{missing}: measured on this machine now, by `hotlink measure {line}`{at_once}");
        let source = format!("hotlink measure {line}{at_once}, by calibrate itself");
        let added = |record| Measured { record, source: source.clone(), is_here };
        measured.extend(taken(line, processes, output)?.into_iter().map(added));
    }
    Ok(())
}

/// What so many processes measure at once by `line`.
fn taken(line: &str, processes: u32, output: &Output) -> Result<Vec<Record>, Failure> {
    let program = environment::program("calibrate", std::env::args_os());
    if processes == 1 || program.is_empty() {
        return measure::of_line(line, &output.face());
    }
    let (program, when) = (&program, output.shows_progress());
    let one = |core| {
        move || {
            // A process begins on the cores of the thread that starts it.
            hotlink_real::stay_on(core);
            command(program, line, core == 0, when).output()
        }
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..processes).map(|core| scope.spawn(one(core))).collect();
        let mut records = Vec::new();
        for process in started {
            let wrong = |what: String| Failure::Check(format!("hotlink measure {line}: {what}"));
            let output = process.join().map_err(|_| wrong("its thread ended".to_owned()))?;
            let output = output.map_err(|error| wrong(error.to_string()))?;
            if !output.status.success() {
                let told = String::from_utf8_lossy(&output.stderr);
                return Err(wrong(format!("{}\n{told}", output.status).trim_end().to_owned()));
            }
            let text = String::from_utf8_lossy(&output.stdout);
            records.extend(results::parse(Path::new("hotlink measure"), &text)?.records);
        }
        Ok(records)
    })
}

/// One of the processes that measure `line` at once. They do the same, so the first alone tells its progress and what it
/// has to say, where this one does.
fn command(program: &[OsString], line: &str, is_first: bool, when: When) -> Command {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).arg("measure").args(line.split(' ')).arg("--json").env("HOTLINK_LAUNCHER", "none");
    let shown = when.to_possible_value().filter(|_| is_first);
    command.arg("--progress").arg(shown.as_ref().map_or("never", |shown| shown.get_name()));
    command.stderr(if is_first { Stdio::inherit() } else { Stdio::piped() });
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_processes_one_tells_its_progress_as_this_one_would() {
        let shown = |is_first, when| {
            let command = command(&["hotlink".into()], "memory --size 8", is_first, when);
            command.get_args().last().map(|word| word.to_string_lossy().into_owned())
        };
        assert_eq!(shown(true, When::Always).as_deref(), Some("always"));
        assert_eq!(shown(true, When::Auto).as_deref(), Some("auto"));
        assert_eq!(shown(false, When::Always).as_deref(), Some("never"));
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
