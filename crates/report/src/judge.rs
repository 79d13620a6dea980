//! What is wrong with results, and whether they reach what is required. No threshold stands here: a number is held to what the
//! site requires, and what its interval leaves open is undecided. [`crate::checks`] holds them to their bounds and each other.

use crate::acceptance::{Acceptance, Limit, Requirement};
use crate::junit::{Became, Case};
use crate::quantity::{Between, between};
use crate::{machine, scale};
use hotlink_bench::{NO_EFFICIENCY, Record};
use hotlink_bound::load::SLOWER;
use hotlink_results::Results;
use hotlink_results::compare_runs;
use serde_json::Value;

/// The verdict of a report; the last is the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing is required, and nothing is impossible: no check that applies is broken.
    Unjudged,
    /// Every requirement is met, and every check that applies holds.
    Pass,
    /// A person must check something before signing.
    Suspicious,
    /// A requirement is missed, a result is wrong in itself or better than its bound.
    Fail,
}

impl Verdict {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Unjudged => "unjudged",
            Verdict::Pass => "pass",
            Verdict::Suspicious => "suspicious",
            Verdict::Fail => "fail",
        }
    }

    /// What it says.
    pub fn meaning(self) -> &'static str {
        match self {
            Verdict::Unjudged => {
                "Unjudged: nothing is required, and no check that applies is broken. Whether a number is good enough only a \
                 requirement says."
            }
            Verdict::Pass => {
                "Pass: no requirement is missed, and no check that applies is broken. The checks are listed below. What no \
                 requirement limits may be of any size."
            }
            Verdict::Suspicious => {
                "Suspicious: no result is shown to be wrong, but something below needs a look before anybody signs."
            }
            Verdict::Fail => {
                "Fail: a requirement is missed, or a result cannot be: it is wrong in itself or better than its bound."
            }
        }
    }
}

/// Something in a result that needs a look.
pub struct Finding {
    /// How bad it is.
    pub verdict: Verdict,
    /// Which result.
    pub subject: String,
    /// The finding.
    pub what: String,
    pub(crate) file: usize,
    /// Whether the result says so itself.
    pub(crate) is_own: bool,
}

/// A requirement and a result.
pub struct Outcome {
    /// Whether it is reached.
    pub verdict: Verdict,
    /// The requirement's name.
    pub requirement: String,
    /// Which result; what was asked for where none was chosen.
    pub subject: String,
    /// The limited quantity.
    pub quantity: String,
    /// The limit in words.
    pub required: String,
    limit: Limit,
    pub(crate) reached: Option<Between>,
    file: Option<usize>,
    /// Why no result was chosen, or why the result has no such number; else what the number counts. May be empty.
    note: String,
}

/// Keys that distinguish a result from others, for people.
pub(crate) const NAMING: [&str; 28] = [
    "file",
    "fabric",
    "benchmark",
    "traffic",
    "study",
    "id",
    "via",
    "mpi",
    "memory",
    "direction",
    "algorithm",
    "paths",
    "nodes",
    "ranks",
    "rank_a",
    "rank_b",
    "from",
    "to",
    "senders",
    "pairs",
    "streams",
    "class",
    "placement",
    "size_B",
    "stride",
    "load",
    "failed",
    "quantity",
];

/// The subject of a record, as text.
pub(crate) fn subject(record: &Record) -> String {
    let said = |key: &&str| match record.get(key)? {
        Value::Null => None,
        Value::String(text) => Some(format!("{key}={text}")),
        other => Some(format!("{key}={other}")),
    };
    NAMING.iter().filter_map(said).collect::<Vec<_>>().join(" ")
}

/// Findings in a file's results, apart from requirements.
pub(crate) fn findings(file: usize, results: &Results, acceptance: Option<&Acceptance>) -> Vec<Finding> {
    let of = |record: &Record| {
        let subject = subject(record);
        let is_limited = |key: &str| {
            let limits = |one: &Requirement| one.limits.iter().any(|(limited, _)| limited == key);
            acceptance.is_some_and(|all| all.requirements.iter().any(|one| limits(one) && one.chooses(record)))
        };
        let own = own_faults(record).into_iter().map(|fault| (fault, true));
        let all = own.chain(faults(record, is_limited).into_iter().map(|fault| (fault, false)));
        let one = move |((verdict, what), is_own): ((Verdict, String), bool)| Finding {
            verdict,
            subject: subject.clone(),
            what,
            file,
            is_own,
        };
        all.map(one).collect::<Vec<_>>()
    };
    let whole =
        |verdict, what| Finding { verdict, subject: "the file as a whole".to_owned(), what, file, is_own: false };
    let missing = results.incomplete.iter();
    let missing = missing.map(|why| whole(Verdict::Fail, format!("it is incomplete, records are missing: {why}")));
    let busy = machine::busy(results).map(|what| whole(Verdict::Suspicious, what));
    missing.chain(busy).chain(results.records.iter().flat_map(of)).collect()
}

fn is(record: &Record, key: &str, wanted: bool) -> bool {
    record.get(key).and_then(Value::as_bool) == Some(wanted)
}

fn above_none(record: &Record, key: &str) -> Option<f64> {
    record.number(key).filter(|count| *count > 0.0)
}

/// What a record found wrong with itself.
fn own_faults(record: &Record) -> Vec<(Verdict, String)> {
    let mut found = Vec::new();
    let mut fail = |what: String| found.push((Verdict::Fail, what));
    if is(record, "verified", false) {
        fail("its result is wrong: the benchmark's own check failed".to_owned());
    }
    if is(record, "credit_loop", true) {
        fail("its routes can deadlock: they form a credit loop".to_owned());
    }
    if let Some(pairs) = above_none(record, "unreachable_pairs") {
        fail(format!("{} of hosts cannot reach each other", compare_runs::counted(pairs as usize, "pair")));
    }
    if is(record, "holds", false) {
        found.push((Verdict::Suspicious, "a claim of the study does not hold".to_owned()));
    }
    found
}

/// What else is wrong in a record. What is out of the ordinary without being wrong is left to a limit of its number, if there is
/// one.
fn faults(record: &Record, is_limited: impl Fn(&str) -> bool) -> Vec<(Verdict, String)> {
    let is = |key: &str, wanted: bool| is(record, key, wanted);
    let count = |key: &str| above_none(record, key);
    let mut found = Vec::new();
    let mut fail = |what: String| found.push((Verdict::Fail, what));
    if let Some(error) = record.text("error") {
        fail(format!("it failed: {error}"));
    }
    for (quantity, _) in compare_runs::QUANTITIES {
        if let Some(what) = compare_runs::invalid(record, quantity) {
            fail(what);
        }
    }
    if record.text("verdict") == Some("regression") {
        fail(format!("it became worse: {}", compare_runs::sentence(record)));
    }
    let mut look = |what: String| found.push((Verdict::Suspicious, what));
    if is("named_only", true) {
        let name = record.text("fabric").unwrap_or("?");
        look(format!(
            "its ranks are on one machine: value and bound are of that machine, not of {name}, which names it"
        ));
    }
    if record.text("paths") == Some("packet")
        && let Some(why) = record.text("fallback")
    {
        look(format!("{why}: hashed flows get less than its bandwidth"));
    }
    if is("oversubscribed", true) {
        look("more ranks than cores: it measured the scheduler, too".to_owned());
    }
    if record.text("kind") == Some("finding") && record.get("finding").is_some() {
        look(format!("{}: {}", record.text("subject").unwrap_or("?"), record.text("what").unwrap_or("?")));
    }
    let limiter = record.text("limiting_resource").and_then(|limiter| limiter.strip_suffix(SLOWER));
    if let Some(limiter) = limiter.filter(|_| !RATES.iter().any(|key| is_limited(key))) {
        let link = record.text("hot_link").unwrap_or("?");
        look(format!("{limiter} is slower than most of its kind, and all wait for it: {link}"));
    }
    for (number, one, several) in COUNTED {
        if let Some(count) = count(number).filter(|_| !is_limited(number)) {
            let what = if count == 1.0 { one } else { several };
            look(format!("{count} {what}: {}", counted(record, number)));
        }
    }
    found
}

/// What a slow link takes from a node.
const RATES: [&str; 2] = ["bandwidth_per_node_MBps", "injection_share"];

/// Numbers of what is out of the ordinary: what one of them is, and what several are.
const COUNTED: [(&str, &str, &str); 5] = [
    ("slow_links_count", "link is slower than most of its kind", "links are slower than most of their kind"),
    ("missing_links_count", "switch lacks cables", "switches lack cables"),
    ("odd_links_count", "cable or host is out of place", "cables or hosts are out of place"),
    ("switches_without_table_count", "switch has no table", "switches have no table"),
    ("hosts_without_route_count", "host has no route", "hosts have no route"),
];

/// The names of what `key` counts, as far as the record has them.
fn counted(record: &Record, key: &str) -> String {
    let list = key.strip_suffix("_count").and_then(|list| record.get(list)).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

/// Every requirement with every result that it applies to.
pub(crate) fn outcomes(acceptance: &Acceptance, inputs: &[Results]) -> Vec<Outcome> {
    acceptance.requirements.iter().flat_map(|requirement| of_one(requirement, inputs)).collect()
}

fn of_one(requirement: &Requirement, inputs: &[Results]) -> Vec<Outcome> {
    let all = inputs.iter().enumerate().flat_map(|(file, results)| results.records.iter().map(move |r| (file, r)));
    let all: Vec<(usize, &Record)> = all.collect();
    let chosen: Vec<(usize, &Record)> = all.iter().copied().filter(|(_, record)| requirement.chooses(record)).collect();
    let records: Vec<&Record> = all.iter().map(|(_, record)| *record).collect();
    let unmatched = if chosen.is_empty() { requirement.unmatched(&records) } else { String::new() };
    let mut outcomes = Vec::new();
    for (key, limit) in &requirement.limits {
        let outcome = |verdict, subject, reached, file, note| Outcome {
            verdict,
            requirement: requirement.name.clone(),
            subject,
            quantity: key.clone(),
            required: said(key, limit),
            limit: *limit,
            reached,
            file,
            note,
        };
        if chosen.is_empty() {
            outcomes.push(outcome(Verdict::Fail, requirement.sought(), None, None, unmatched.clone()));
        }
        outcomes.extend(chosen.iter().map(|(file, record)| {
            let reached = between(record, key);
            let valid = reached.filter(|_| compare_runs::invalid(record, key).is_none());
            let verdict = match (reached, valid) {
                // Nothing is known of it: no limit is missed, and none is kept.
                (None, _) => Verdict::Suspicious,
                (Some(_), None) => Verdict::Fail,
                (_, Some(reached)) => held(limit, reached),
            };
            let why = record.text(NO_EFFICIENCY).filter(|_| reached.is_none() && key == "efficiency");
            let names = || if verdict == Verdict::Fail { counted(record, key) } else { String::new() };
            outcome(verdict, subject(record), reached, Some(*file), why.map_or_else(names, str::to_owned))
        }));
    }
    outcomes
}

/// Reached where the whole interval is within the limit, missed where all of it is beyond, undecided between.
fn held(limit: &Limit, reached: Between) -> Verdict {
    let is_beyond = limit.is_below(reached.high) || limit.is_above(reached.low);
    match limit.holds(reached.low) && limit.holds(reached.high) {
        true => Verdict::Pass,
        false if is_beyond || !reached.is_interval() => Verdict::Fail,
        false => Verdict::Suspicious,
    }
}

fn said(key: &str, limit: &Limit) -> String {
    let end = |word: &str, value: Option<f64>| value.map(|value| format!("{word} {}", scale::whole(key, value)));
    let ends: Vec<String> =
        [end("at least", limit.at_least), end("at most", limit.at_most)].into_iter().flatten().collect();
    ends.join(", ")
}

impl Finding {
    pub(crate) fn record(&self, inputs: &[Results]) -> Record {
        Record::new()
            .with("benchmark", "report")
            .with("kind", "finding")
            .with("verdict", self.verdict.name())
            .with("subject", self.subject.as_str())
            .with("what", self.what.as_str())
            .with("file", inputs[self.file].file.display().to_string())
    }

    pub(crate) fn case(&self, inputs: &[Results]) -> Case {
        let name = format!("{}: {}", inputs[self.file].file.display(), self.subject);
        Case {
            class: "finding".to_owned(),
            name,
            became: Became::Failed(self.verdict.name().to_owned(), self.what.clone()),
        }
    }
}

impl Outcome {
    /// The reached value, in words.
    pub(crate) fn reached(&self) -> String {
        let note = if self.note.is_empty() { String::new() } else { format!(": {}", self.note) };
        match (self.reached, self.file) {
            (_, None) => self.note.clone(),
            (None, _) => format!("the result has no {}{note}", self.quantity),
            (Some(Between { value, .. }), _) if self.looks_met() => scale::whole(&self.quantity, value) + &note,
            (Some(reached), _) => interval(&self.quantity, reached) + &note,
        }
    }

    /// Whether a number that misses its limit looks like it once both are rounded.
    fn looks_met(&self) -> bool {
        let shown = |value| scale::told(&self.quantity, value);
        let is_like = |end: Option<f64>, value| end.is_some_and(|end| shown(end) == shown(value));
        self.verdict != Verdict::Pass
            && self.reached.is_some_and(|reached| {
                !reached.is_interval()
                    && (is_like(self.limit.at_least, reached.value) || is_like(self.limit.at_most, reached.value))
            })
    }

    pub(crate) fn record(&self, inputs: &[Results]) -> Record {
        let mut record = Record::new()
            .with("benchmark", "report")
            .with("kind", "check")
            .with("verdict", self.verdict.name())
            .with("requirement", self.requirement.as_str())
            .with("subject", self.subject.as_str())
            .with("quantity", self.quantity.as_str())
            .with("required", self.required.as_str())
            .with("what", self.reached());
        if let Some(reached) = self.reached {
            record = record.with("reached", reached.value).with("low", reached.low).with("high", reached.high);
        }
        match self.file {
            Some(file) => record.with("file", inputs[file].file.display().to_string()),
            None => record,
        }
    }

    pub(crate) fn case(&self, inputs: &[Results]) -> Case {
        let file = self.file.map_or_else(String::new, |file| format!("{}: ", inputs[file].file.display()));
        let said = format!("{} {}: {}", self.quantity, self.required, self.reached());
        let became = match self.verdict {
            Verdict::Pass => Became::Passed(said),
            verdict => Became::Failed(verdict.name().to_owned(), said),
        };
        Case { class: self.requirement.clone(), name: format!("{file}{} {}", self.subject, self.quantity), became }
    }
}

/// A number with its interval, in words.
pub(crate) fn interval(key: &str, between: Between) -> String {
    let told = |value| scale::told(key, value);
    match between.is_interval() {
        true => format!("{} ({} to {})", told(between.value), told(between.low), told(between.high)),
        false => told(between.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn an_interval_that_straddles_its_limit_is_undecided() {
        let reached = |low, value, high| Between { low, value, high };
        let least = Limit { at_least: Some(1.0), at_most: None };
        let most = Limit { at_least: None, at_most: Some(1.0) };
        for (limit, reached, verdict) in [
            (least, reached(1.0, 1.5, 2.0), Verdict::Pass),
            (least, reached(0.9, 1.5, 2.0), Verdict::Suspicious),
            (least, reached(0.5, 0.6, 0.9), Verdict::Fail),
            (least, reached(0.9, 0.9, 0.9), Verdict::Fail),
            (least, reached(0.999_999_9, 0.999_999_9, 0.999_999_9), Verdict::Fail),
            // Noise of rounding, as sums of shares have it.
            (least, reached(1.0 - 2e-16, 1.0 - 2e-16, 1.0 - 2e-16), Verdict::Pass),
            (most, reached(1.0 + 4e-16, 1.0 + 4e-16, 1.0 + 4e-16), Verdict::Pass),
            (most, reached(0.5, 0.6, 1.0), Verdict::Pass),
            (most, reached(0.5, 1.1, 1.2), Verdict::Suspicious),
            (most, reached(1.1, 1.2, 1.3), Verdict::Fail),
        ] {
            assert_eq!(held(&limit, reached), verdict, "{limit:?} {reached:?}");
        }
    }

    #[test]
    fn each_fault_of_a_result_is_found() {
        let base = || Record::new().with("benchmark", "pingpong").with("size_B", 8);
        let faults = |record: &Record| {
            let (own, other) = (own_faults(record), faults(record, |_| false));
            own.into_iter().chain(other).collect::<Vec<_>>()
        };
        assert!(faults(&base().with("efficiency", 0.9).with("verified", true).with("unreachable_pairs", 0)).is_empty());
        for (record, verdict) in [
            (base().with("error", "no such fabric"), Verdict::Fail),
            (base().with("verified", false), Verdict::Fail),
            (base().with("verdict", "regression"), Verdict::Fail),
            (base().with("credit_loop", true), Verdict::Fail),
            (base().with("unreachable_pairs", 3), Verdict::Fail),
            (base().with("paths", "packet").with("fallback", "flows are split evenly"), Verdict::Suspicious),
            (base().with("named_only", true).with("fabric", "ib"), Verdict::Suspicious),
            (base().with("oversubscribed", true), Verdict::Suspicious),
            (base().with("holds", false), Verdict::Suspicious),
            (base().with("kind", "finding").with("finding", "slow").with("what", "x"), Verdict::Suspicious),
            (base().with("slow_links_count", 1), Verdict::Suspicious),
            (base().with("limiting_resource", "SDR link, a slower one"), Verdict::Suspicious),
        ] {
            let found = faults(&record);
            assert_eq!((found.len(), found[0].0), (1, verdict), "{record:?}");
        }
    }

    #[test]
    fn a_missed_limit_names_what_it_counts() {
        let text = "[[require]]\nslow_links_count = { at_most = 0 }\n";
        let acceptance = Acceptance::parse(Path::new("a.toml"), text).unwrap();
        let json = r#"{"schema": "hotlink/1", "records": [{"benchmark": "inspection", "slow_links_count": 2,
            "slow_links": ["leaf0 port 1", "leaf1 port 2"]}]}"#;
        let inputs = [hotlink_results::parse(Path::new("m.json"), json).unwrap()];
        assert_eq!(outcomes(&acceptance, &inputs)[0].reached(), "2: leaf0 port 1, leaf1 port 2");
    }

    #[test]
    fn missing_records_are_a_finding_of_the_file() {
        let json = r#"{"schema": "hotlink/2", "incomplete": "rank 1 was killed", "records": []}"#;
        let found = findings(0, &hotlink_results::parse(Path::new("m.json"), json).unwrap(), None);
        assert_eq!((found.len(), found[0].verdict), (1, Verdict::Fail));
        assert!(found[0].what.ends_with("records are missing: rank 1 was killed"), "{}", found[0].what);
    }

    #[test]
    fn pairs_are_told_from_each_other() {
        let pair = |a: u32, b: u32| {
            let record = Record::new().with("benchmark", "pairs").with("rank_a", a).with("rank_b", b);
            subject(&record.with("from", format!("rank {a}")).with("to", format!("rank {b}")))
        };
        assert!(pair(0, 1).contains("rank_a=0 rank_b=1 from=rank 0 to=rank 1"), "{}", pair(0, 1));
        assert_ne!(pair(0, 1), pair(0, 2));
    }

    #[test]
    fn slow_links_of_an_older_generation_are_left_to_their_limit() {
        let text = "[[require]]\nslow_links_count = { at_most = 7 }\n";
        let acceptance = Acceptance::parse(Path::new("a.toml"), text).unwrap();
        let json = r#"{"schema": "hotlink/1", "records": [{"benchmark": "inspection", "slow_links_count": 7, "missing_links_count": 1}]}"#;
        let results = hotlink_results::parse(Path::new("m.json"), json).unwrap();
        let count = |acceptance: Option<&Acceptance>| findings(0, &results, acceptance).len();
        assert_eq!((count(None), count(Some(&acceptance))), (2, 1));
    }

    #[test]
    fn imported_results_are_told_apart_by_their_files() {
        let of = |file: &str| subject(&Record::new().with("benchmark", "stream").with("file", file));
        assert_eq!(of("osu_bw.node04.node14.txt"), "file=osu_bw.node04.node14.txt benchmark=stream");
    }

    #[test]
    fn a_missed_limit_and_what_was_reached_read_differently() {
        let text = "[[require]]\nlatency_us = { at_most = 1.17068 }\n[[require]]\nefficiency = { at_least = 1.0 }\n";
        let acceptance = Acceptance::parse(Path::new("a.toml"), text).unwrap();
        let json = r#"{"schema": "hotlink/1", "records": [{"benchmark": "pingpong", "latency_us": 1.1709, "efficiency": 0.99998}]}"#;
        let inputs = [hotlink_results::parse(Path::new("m.json"), json).unwrap()];
        let told: Vec<(String, String)> = outcomes(&acceptance, &inputs)
            .iter()
            .map(|outcome| (outcome.required.clone(), outcome.reached()))
            .collect();
        let own = |required: &str, reached: &str| (required.to_owned(), reached.to_owned());
        assert_eq!(told, [own("at most 1.17068 us", "1.1709 us"), own("at least 100 %", "99.998 %")]);
    }

    #[test]
    fn a_requirement_that_chooses_nothing_says_which_condition_no_result_meets() {
        let json = r#"{"schema": "hotlink/1", "records": [{"benchmark": "pingpong", "size_B": 8, "latency_us": 2.0},
            {"benchmark": "bcast", "size_B": 1024, "latency_us": 2.0}]}"#;
        let inputs = [hotlink_results::parse(Path::new("m.json"), json).unwrap()];
        for (chosen, subject, told) in [
            ("benchmark = 'pinpong'", "benchmark pinpong", "no result has benchmark pinpong; did you mean pingpong?"),
            ("size_B = '64KiB'", "size_B 64 KiB", "no result has size_B 64 KiB; the results have 8 B, 1 KiB"),
            ("nodes = 4", "nodes 4", "no result has the key nodes"),
            (
                "benchmark = 'pingpong', size_B = { at_least = '1KiB' }",
                "benchmark pingpong, size_B at least 1 KiB",
                "no result meets all conditions of `where` together; each holds for some",
            ),
        ] {
            let text = format!("[[require]]\nwhere = {{ {chosen} }}\nlatency_us = {{ at_most = 1 }}\n");
            let acceptance = Acceptance::parse(Path::new("a.toml"), &text).unwrap();
            let found = outcomes(&acceptance, &inputs);
            assert_eq!((found.len(), found[0].verdict), (1, Verdict::Fail));
            assert_eq!((found[0].subject.as_str(), found[0].reached().as_str()), (subject, told));
        }
    }

    #[test]
    fn what_no_result_shows_has_failed_and_what_one_leaves_open_is_undecided() {
        let text = "[[require]]\nwhere = { benchmark = 'bcast' }\nlatency_us = { at_most = 1 }\n\
                    [[require]]\nwhere = { benchmark = 'pingpong' }\nlatency_us = { at_most = 3 }\nefficiency = { at_least = 0.5 }\n";
        let acceptance = Acceptance::parse(Path::new("a.toml"), text).unwrap();
        let json = r#"{"schema": "hotlink/1", "records": [{"benchmark": "pingpong", "size_B": 8, "latency_us": 2.0,
            "no_efficiency": "the bound is of a faster machine"}]}"#;
        let inputs = [hotlink_results::parse(Path::new("m.json"), json).unwrap()];
        let told: Vec<(Verdict, String)> =
            outcomes(&acceptance, &inputs).iter().map(|outcome| (outcome.verdict, outcome.reached())).collect();
        assert_eq!(
            told,
            [
                (Verdict::Fail, "no result has benchmark bcast; the results have pingpong".to_owned()),
                (Verdict::Suspicious, "the result has no efficiency: the bound is of a faster machine".to_owned()),
                (Verdict::Pass, "2 us".to_owned()),
            ]
        );
    }
}
