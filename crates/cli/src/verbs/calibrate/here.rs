//! What results lack that their machine can tell without messages: how fast it copies, and a sort's own work. Where that is
//! this machine it is measured on the spot, and said.

use super::{Measured, is};
use crate::output::Output;
use crate::verbs::measure;
use crate::{Failure, environment};
use hotlink_bench::Record;
use serde_json::{Map, Value as Json};

/// What may be missing: how it is recognised, the benchmark that tells it, and what it is for.
struct Part {
    holds: fn(&Record) -> bool,
    line: &'static str,
    what: &'static str,
}

const PARTS: [Part; 2] = [
    Part {
        holds: |r| is(r, "memory") && r.number("stride").is_none_or(|stride| stride == 1.0),
        line: "memory --strides 1 --size 8..64MiB..x2",
        what: "costs of copies",
    },
    Part {
        holds: |r| is(r, "is") && r.number("ranks") == Some(1.0),
        line: "is --class A --ranks 1 --rounds 3",
        what: "rate of a sort's own work",
    },
];

/// Whether results with this environment are of this machine: its host and processor; without a host, its processor.
pub(super) fn made(environment: &Map<String, Json>) -> bool {
    let here = environment::describe();
    let same = |key: &str| environment.get(key).is_none_or(|told| here.get(key) == Some(told));
    environment.contains_key("cpu") && same("cpu") && same("host")
}

/// Adds what is missing, or says that and how to get it.
pub(super) fn complete(measured: &mut Vec<Measured>) -> Result<(), Failure> {
    let is_here = measured.iter().all(|m| m.is_here);
    for Part { holds, line, what } in PARTS {
        if measured.iter().any(|m| holds(&m.record)) {
            continue;
        }
        let missing = format!("hotlink: the results hold no {what}");
        if !is_here {
            eprintln!("{missing}, and are not this machine's: add `hotlink measure {line} --json` of theirs");
            continue;
        }
        eprintln!("{missing}: measured on this machine now, by `hotlink measure {line}`");
        let mut taken = Output::silent();
        measure::run_line(line, &mut taken)?;
        let source = format!("hotlink measure {line}, by calibrate itself");
        let added = |record: &Record| Measured { record: record.clone(), source: source.clone(), is_here };
        measured.extend(taken.records().iter().map(added));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
