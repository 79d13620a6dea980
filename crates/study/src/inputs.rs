//! The inputs of an answer: which of a machine's values are estimates or assumptions, and how far the answer moves
//! within their stated uncertainty.

use crate::sensitivity::{self, Input, Sensitivity};
use crate::text::figure;
use crate::{Error, Source, Unwatched, Watch};
use hotlink_bench::Record;
use hotlink_fabric::ledger::Ledger;
use hotlink_fabric::spec::FabricSpec;

/// A question to one machine, whose values may be varied.
pub type Answer<'a> = dyn Fn(&Source, &dyn Watch) -> Result<Vec<Record>, Error> + 'a;

/// Whether uncertain inputs are varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vary {
    /// Not at all.
    No,
    /// For the first answer, where that takes but a moment: for the line under a table.
    IfQuick,
    /// For every answer.
    Yes,
}

impl Vary {
    /// The same of the answer at a place among several.
    pub(crate) fn at(self, index: usize) -> Vary {
        if index > 0 && self == Vary::IfQuick { Vary::No } else { self }
    }
}

/// The value that a record answers with: the first of these that it has.
pub const ANSWERS: &[&str] =
    &["latency_us", "time_us", "time_s", "total_us", "bandwidth_per_node_MBps", "bandwidth_MBps"];
/// Events of all runs that take but a moment together.
const QUICK_EVENTS: f64 = 300_000.0;
/// Nodes that are simulated in a moment, again and again.
const QUICK_NODES: f64 = 32.0;
/// Nodes whose flows are counted in a moment, again and again.
const QUICK_COUNT: f64 = 1024.0;
/// The answer of an engine without time that stands beside its bandwidth.
pub const BESIDE: &str = "idle_latency_us";

/// Asks `answer` about the machine, and adds its inputs to the records. `inputs` has every number that was used;
/// `estimates` names those that are estimates, and `assumed` those that were not stated at all. Where `vary` asks for
/// it, the uncertain inputs go to their ends. Each record then gets the interval of its answer (`latency_us_low`,
/// `latency_us_high`) and the inputs that move it, the strongest first (`sensitivity`). Estimates and fitted values
/// that state no uncertainty cannot be varied (`not_varied`).
///
/// # Errors
/// The first of `answer`.
pub fn told(source: &Source, vary: Vary, watch: &dyn Watch, answer: &Answer<'_>) -> Result<Vec<Record>, Error> {
    let asked = source.unasked();
    let mut records = answer(&asked, watch)?;
    let used = asked.spec().used();
    for record in records.iter_mut().filter(|record| key(record).is_some()) {
        note(record, &used);
        let unchanged = source.spec().unchanged.values().map(String::as_str).collect::<Vec<_>>();
        if !unchanged.is_empty() {
            record.set("unchanged", unchanged.join("; "));
        }
    }
    source.also_asked(&asked);
    let source = asked;
    let inputs = sensitivity::uncertain(&used);
    let count = match vary {
        Vary::No => 0,
        Vary::IfQuick => usize::from(is_quick(&records, &inputs)),
        Vary::Yes => records.len(),
    };
    let mut varied = records[..count].to_vec();
    match add(&mut varied, &source, (&inputs, &used.without_range()), answer) {
        Ok(()) => records[..count].clone_from_slice(&varied),
        // No variation was asked for: an answer too short for its inputs to vary is one.
        Err(_) if vary == Vary::IfQuick => {}
        Err(error) => return Err(error),
    }
    Ok(records)
}

/// Writes what an answer used into its record, unless an engine of several has written what it used itself.
pub(crate) fn note(record: &mut Record, used: &Ledger) {
    if record.get("inputs").is_some() {
        return;
    }
    for (key, lines) in [("inputs", used.lines()), ("estimates", used.estimates()), ("assumed", used.assumed())] {
        if !lines.is_empty() {
            record.set(key, lines);
        }
    }
}

fn key(record: &Record) -> Option<&'static str> {
    // One of many servers' utilisation is no answer.
    ANSWERS.iter().copied().find(|key| record.number(key).is_some() && record.get("utilisation").is_none())
}

/// Whether all runs of a variation take but a moment.
fn is_quick(records: &[Record], inputs: &[Input]) -> bool {
    let Some(first) = records.first().filter(|_| !inputs.is_empty()) else { return false };
    let events: f64 = records.iter().filter_map(|record| record.number("events")).sum();
    let nodes = first.number("nodes_built").or(first.number("nodes")).or(first.number("ranks"));
    let is_drawn = first.number("samples").is_some_and(|samples| samples > 1.0);
    let keys = first.text("class").is_some_and(|class| class != "S");
    let most = if matches!(first.text("method"), Some("load" | "formula")) { QUICK_COUNT } else { QUICK_NODES };
    events * (2 * inputs.len() + 2) as f64 <= QUICK_EVENTS
        && nodes.is_none_or(|nodes| nodes <= most)
        && !is_drawn
        && !keys
}

fn add(
    records: &mut [Record],
    source: &Source,
    (inputs, fixed): (&[Input], &[String]),
    answer: &Answer<'_>,
) -> Result<(), Error> {
    let answers = |record: &Record| {
        let beside = key(record).and(record.number(BESIDE)).map(|_| BESIDE);
        key(record).into_iter().chain(beside)
    };
    let keys: Vec<(usize, &str)> =
        records.iter().enumerate().flat_map(|(index, record)| answers(record).map(move |key| (index, key))).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let values = |spec: &FabricSpec| -> Result<Vec<f64>, Error> {
        let records = answer(&source.varied(spec.clone()), &Unwatched)?;
        let value = |(index, key): (usize, &str)| records.get(index).and_then(|record: &Record| record.number(key));
        let gone = |(index, key): (usize, &str)| {
            let what = format!("{}: with other inputs record {} has no {key}", source.name(), index + 1);
            Error::Input(format!("{what}: a longer run may have one; without --sensitivity nothing varies"))
        };
        keys.iter().map(|&key| value(key).ok_or_else(|| gone(key))).collect()
    };
    let found = sensitivity::vary_all(source.spec(), inputs, values)?;
    for ((index, key), found) in keys.iter().zip(found) {
        let record = &mut records[*index];
        write(record, key, &found);
        if !fixed.is_empty() {
            record.set("not_varied", fixed.to_vec());
        }
    }
    Ok(())
}

/// The record with the interval of its value `key`, and the inputs that move it.
pub(crate) fn with_sensitivity(mut record: Record, key: &str, found: &Sensitivity) -> Record {
    write(&mut record, key, found);
    record
}

fn write(record: &mut Record, key: &str, found: &Sensitivity) {
    let [low, high] = found.interval;
    record.set(&format!("{key}_low"), low);
    record.set(&format!("{key}_high"), high);
    let effect = |effect: &sensitivity::Effect| {
        let [a, b] = effect.answers;
        format!("{}: {} to {}", effect.input.key, figure(a.min(b)), figure(a.max(b)))
    };
    let ranking: Vec<String> = found.ranking.iter().map(effect).collect();
    if key == BESIDE {
        record.set("idle_sensitivity", ranking);
        return;
    }
    record.set("sensitivity", ranking);
    record.set("sensitivity_of", key);
}
