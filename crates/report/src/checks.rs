//! What results are held to without a requirement: their own checks, their bounds, and each other. The rules compare
//! intervals. The most that a size may take follows from the times of the other sizes. Two allowances alone are fixed, and
//! the page states them: [`ROUNDED`] and [`OF_PACKETS`].
//!
//! A message of k n bytes can be sent as k messages of n, and a large one can carry a small one. So T(k n) <= k T(n), and
//! T(n) <= T(m) for n < m (Träff, Gropp and Thakur, "Self-consistent MPI performance guidelines", 2010).

use crate::judge::{Finding, Verdict, interval, subject};
use crate::junit::{Became, Case};
use crate::quantity::{Between, between, bounded};
use crate::{scale, series};
use hotlink_bench::{OF_PACKETS, Record, Which, beyond_by_estimates, flag_impossible};
use hotlink_results::Results;
use hotlink_results::compare_runs::{self, QUANTITIES, counted, less_is_better, parameters};
use hotlink_results::import::beyond_chosen;
use hotlink_study::text::figure;
use serde_json::Value;
use std::collections::BTreeMap;

/// A rule that results are held to, and how many it could be applied to.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What it is called.
    pub name: &'static str,
    /// What must hold.
    pub rule: &'static str,
    /// Results that it was applied to.
    pub covered: usize,
    /// Results that break it.
    pub broken: usize,
    /// The worst of these; else pass, or unjudged where it covers nothing.
    pub verdict: Verdict,
    /// What would let it judge more.
    pub advice: Option<String>,
}

impl Check {
    /// What came of it, in words.
    pub fn outcome(&self) -> String {
        let advice = self.advice.as_ref().map_or_else(String::new, |advice| format!("; {advice}"));
        match (self.covered, self.broken) {
            (0, _) => format!("no result to apply it to{advice}"),
            (covered, 0) => format!("{}, none breaks it{advice}", counted(covered, "result")),
            (covered, broken) => format!("{}, {broken} of them break it{advice}", counted(covered, "result")),
        }
    }
}

impl Check {
    /// Its name, and how many results it covers.
    pub(crate) fn brief(&self) -> String {
        format!("{} of {}", self.name, counted(self.covered, "result"))
    }

    pub(crate) fn record(&self) -> Record {
        Record::new()
            .with("benchmark", "report")
            .with("kind", "held")
            .with("verdict", self.verdict.name())
            .with("subject", self.name)
            .with("required", self.rule)
            .with("what", self.outcome())
    }

    /// As a test case; `None` where something breaks it, for each of those is a case of its own.
    pub(crate) fn case(&self) -> Option<Case> {
        let became = match self.covered {
            0 => Became::Skipped(self.outcome()),
            _ => Became::Passed(self.outcome()),
        };
        (self.broken == 0).then(|| Case { class: "check".to_owned(), name: self.name.to_owned(), became })
    }
}

/// Series that are named as furthest from their bound.
pub(crate) const SHOWN: usize = 5;

/// A size, its time, and the record of it.
type Point<'a> = (f64, Between, &'a One<'a>);

/// What was asked: parameters by key.
type Question = BTreeMap<String, String>;

/// A record and where it stands.
#[derive(Clone, Copy)]
struct One<'a> {
    file: usize,
    results: &'a Results,
    record: &'a Record,
}

/// A check's name, its rule, and how it finds what breaks it: how many results it covers, the findings, advice.
type Rule = (&'static str, &'static str, fn(&[One<'_>]) -> Applied);

#[derive(Default)]
struct Applied {
    covered: usize,
    found: Vec<Finding>,
    advice: Option<String>,
}

const RULES: [Rule; 5] = [
    (
        "bound",
        "No result is better than its bound by more than its interval, and an efficiency is the share that value and bound give.",
        bounds,
    ),
    (
        "sizes",
        "k messages of n bytes carry one of k n, and a larger message carries a smaller one: no size takes longer than that.",
        sizes,
    ),
    (
        "dips",
        "A measured rate is not below those of the next smaller and the next larger size, whose messages can carry its own.",
        dips,
    ),
    ("repeats", "What was measured several times gives intervals that meet.", repeats),
    (
        "simulation",
        "A measured interval meets what a simulation of the same question gives within its inputs' uncertainty.",
        simulations,
    ),
];

/// Every check with what it found; `own` are the findings that results make of themselves.
pub(crate) fn checks(inputs: &[Results], own: &[Finding]) -> (Vec<Check>, Vec<Finding>) {
    let all = inputs.iter().enumerate();
    let all: Vec<One<'_>> = all
        .flat_map(|(file, results)| results.records.iter().map(move |record| One { file, results, record }))
        .collect();
    let carries = |one: &&One<'_>| OWN.iter().any(|key| one.record.get(key).is_some_and(|value| !value.is_null()));
    let broken = own.iter().filter(|finding| finding.is_own).count();
    let covered = all.iter().filter(carries).count();
    let first = Check {
        name: "own checks",
        rule: "What a benchmark or a network checks of itself holds: sums, routes without deadlock, hosts that reach each other.",
        covered,
        broken,
        verdict: worst(covered, own.iter().filter(|finding| finding.is_own)),
        advice: None,
    };
    let (mut checks, mut findings) = (vec![first], Vec::new());
    for (name, rule, apply) in RULES {
        let Applied { covered, found, advice } = apply(&all);
        let verdict = worst(covered, found.iter());
        checks.push(Check { name, rule, covered, broken: found.len(), verdict, advice });
        findings.extend(found);
    }
    (checks, findings)
}

/// Keys of what results check of themselves.
const OWN: [&str; 4] = ["verified", "credit_loop", "unreachable_pairs", "holds"];

fn worst<'f>(covered: usize, found: impl Iterator<Item = &'f Finding>) -> Verdict {
    let none = if covered > 0 { Verdict::Pass } else { Verdict::Unjudged };
    found.map(|finding| finding.verdict).max().unwrap_or(none)
}

impl<'a> One<'a> {
    fn finding(&self, verdict: Verdict, what: String) -> Finding {
        Finding { verdict, subject: subject(self.record), what, file: self.file, is_own: false }
    }

    fn is_measured(&self) -> bool {
        self.record.text("method").is_none_or(|method| method == "measured")
    }

    /// What it answers, if that can be.
    fn value(&self, quantity: &str) -> Option<Between> {
        let is_wrong = self.record.get("verified").and_then(Value::as_bool) == Some(false);
        let is_valid = compare_runs::invalid(self.record, quantity).is_none() && !is_wrong;
        between(self.record, quantity).filter(|value| is_valid && value.low > 0.0)
    }

    /// The same where its spread is known: a model is exact; what was measured once may be anywhere.
    fn known(&self, quantity: &str) -> Option<Between> {
        let value = self.value(quantity)?;
        match self.is_measured() {
            true => Some(value).filter(|_| self.record.number("ci95_low").is_some()),
            // The interval of a model is of its inputs, which are those of its other sizes, too.
            false => Some(Between { low: value.value, high: value.value, ..value }),
        }
    }

    /// What was asked, but for `without` and what follows from sizes.
    fn question(&self, without: &[&str]) -> Question {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let is_named = self.record.text("algorithm_by") == Some("asked");
        let follows = |key: &str| FOLLOW.contains(&key) || key == "algorithm" && !is_named;
        let is_asked = |key: &str| !follows(key) && !without.contains(&key);
        let asked = parameters(self.record).filter(|(key, _)| is_asked(key));
        asked.map(|(key, value)| (key.to_owned(), text(value))).collect()
    }
}

/// Parameters that follow from others, or from the time that there was.
const FOLLOW: [&str; 5] = ["packet_B", "nodes_built", "seed", "messages", "no_efficiency"];

fn bounds(all: &[One<'_>]) -> Applied {
    let mut applied = Applied::default();
    for one in all {
        let shares = shares_of_bounds(one.record);
        let said = one.record.number("efficiency");
        applied.covered += usize::from(said.is_some() || !shares.is_empty());
        let found = beside_bound(one.record, said, &shares);
        applied.found.extend(found.into_iter().map(|(verdict, what)| one.finding(verdict, what)));
    }
    applied
}

/// How far an efficiency may be from its value and bound: Markdown tables round all three.
const ROUNDED: f64 = 0.02;

/// The numbers in the rules that follow from no result.
pub(crate) fn allowances() -> String {
    let (of_packets, rounded) = (figure(100.0 * OF_PACKETS), figure(100.0 * ROUNDED));
    format!(
        "Two allowances are fixed: a simulation may be {of_packets} % better than its bound, since it counts whole packets. \
         An efficiency may be {rounded} % off, since tables round."
    )
}

/// What is wrong with a value beside its bound.
fn beside_bound(record: &Record, said: Option<f64>, shares: &[f64]) -> Vec<(Verdict, String)> {
    let mut found = Vec::new();
    if let Some(best) = shares.iter().copied().chain(said).reduce(f64::max)
        && let (_, Some(what)) = flag_impossible(record.clone().with("efficiency", best))
    {
        found.push((Verdict::Fail, what));
    } else if let Some(under) = record.text("impossible_under") {
        found.push((Verdict::Fail, format!("it is impossible under {under}")));
    } else if let Some(what) = beyond_chosen(record) {
        found.push((Verdict::Suspicious, what));
    } else if let Some(what) = beyond_by_estimates(record) {
        found.push((Verdict::Suspicious, what));
    }
    if let Some(said) = said
        && let Some(share) = shares.iter().find(|share| (*share - said).abs() > ROUNDED * said.abs())
    {
        let (said, share) = (figure(said), figure(*share));
        let apart = 100.0 * ROUNDED;
        let what =
            format!("it says an efficiency of {said}, but value and bound give {share}: more than {apart} % apart");
        found.push((Verdict::Suspicious, what));
    }
    found
}

/// What a record's values are of their bounds, by its own numbers: `bound_latency_us` over `latency_us`,
/// `bandwidth_MBps` over `bound_bandwidth_MBps`.
fn shares_of_bounds(record: &Record) -> Vec<f64> {
    let share = |(key, bound): (&str, &Value)| {
        let quantity = key.strip_prefix("bound_")?;
        let (bound, value) = (bound.as_f64()?, record.number(quantity)?);
        let is_time = ["_us", "_s"].iter().any(|unit| quantity.ends_with(unit)) && !quantity.ends_with("_per_s");
        let share = if is_time { bound / value } else { value / bound };
        (bound > 0.0 && value > 0.0).then_some(share)
    };
    let of_bounds = record.fields().filter_map(share);
    // A count of load is a bound itself; no node gets more than its own devices take.
    of_bounds.chain(record.number("injection_share").filter(|share| *share > 0.0)).collect()
}

/// Times of one operation on `size_B` bytes.
const TIMES: [&str; 2] = ["latency_us", "time_us"];

/// Whether smaller operations can do the work of this one. That is true of a message between two ranks, and of a collective
/// with one size for all.
fn is_made_of_parts(record: &Record) -> bool {
    let is_collective = |name: &str| Which::ALL.iter().any(|which| *which != Which::Alltoallv && which.name() == name);
    record.text("benchmark").is_some_and(|name| name == "pingpong" || is_collective(name))
}

fn sizes(all: &[One<'_>]) -> Applied {
    let mut applied = Applied::default();
    for time in TIMES {
        // Another run of a machine may be of another day; a model is the same in every file.
        let mut series: BTreeMap<(Option<usize>, Question), Vec<Point<'_>>> = BTreeMap::new();
        for one in all.iter().filter(|one| is_made_of_parts(one.record)) {
            if let (Some(size), Some(value)) = (one.record.number("size_B"), one.known(time)) {
                let run = one.is_measured().then_some(one.file);
                series.entry((run, one.question(&["size_B"]))).or_default().push((size, value, one));
            }
        }
        for points in series.values() {
            for (size, value, one) in points {
                let others = points.iter().filter(|(other, ..)| other != size);
                let most = others.filter_map(|(other, took, _)| Some((one.parts(*size, *other)? * took.high, *other)));
                let Some((most, other)) = most.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
                applied.covered += 1;
                if value.low > most * (1.0 + NOISE) {
                    let by = match (size / other).ceil() {
                        parts if parts > 1.0 => format!("{parts} messages of {}", scale::told("size_B", other)),
                        _ => format!("one of {}", scale::told("size_B", other)),
                    };
                    let (took, most) = (interval(time, *value), scale::told(time, most));
                    applied.found.push(one.finding(
                        Verdict::Suspicious,
                        format!("this size is out of line: {took}, but {by} can do it in {most}"),
                    ));
                }
            }
        }
    }
    applied
}

/// Bytes over time, of which more is better.
const RATES: [&str; 4] =
    ["bandwidth_MBps", "bandwidth_per_node_MBps", "algorithm_bandwidth_MBps", "bus_bandwidth_MBps"];

/// Rates of windows and of several senders, whose times are no times of one operation. Those of one follow from its time:
/// [`sizes`] covers them. A smaller message in a better memory may be quicker, and a larger one has less to do for each of
/// its bytes. So a size below both of its neighbours alone is out of line, and the smaller one must lie in the same memory.
fn dips(all: &[One<'_>]) -> Applied {
    let mut applied = Applied::default();
    for rate in RATES {
        let mut series: BTreeMap<(usize, Question), Vec<Point<'_>>> = BTreeMap::new();
        for one in all.iter().filter(|one| one.is_measured() && !is_made_of_parts(one.record)) {
            if let (Some(size), Some(value)) = (one.record.number("size_B"), one.known(rate)) {
                series.entry((one.file, one.question(&["size_B"]))).or_default().push((size, value, one));
            }
        }
        for mut points in series.into_values() {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            for around in points.windows(3) {
                let [(less, below, _), (size, value, one), (more, above, _)] = around else { continue };
                if less == size || size == more || !one.lie_alike(*size, *less) {
                    continue;
                }
                applied.covered += 1;
                // As many whole messages of the smaller size as carry this one.
                let smaller = below.low * (size / less) / (size / less).ceil();
                if value.high < smaller.min(above.low) * (1.0 - NOISE) {
                    let told = |size: &f64, value: &Between| {
                        format!("{} with {}", interval(rate, *value), scale::told("size_B", *size))
                    };
                    let (value, below, above) = (interval(rate, *value), told(less, below), told(more, above));
                    let what = format!("a dip: {} {value}, between {below} and {above}", scale::name(rate));
                    applied.found.push(one.finding(Verdict::Suspicious, what));
                }
            }
        }
    }
    applied
}

/// Sums and products of doubles round.
pub(crate) const NOISE: f64 = 1e-9;

impl One<'_> {
    /// How many messages of `other` bytes carry one of `size`. `None` where their data lie in different memories: then the
    /// time of one says nothing of the other.
    fn parts(&self, size: f64, other: f64) -> Option<f64> {
        match size <= other {
            // Whatever its memory, the larger message held the smaller one.
            true => Some(1.0),
            false => (other > 0.0 && self.lie_alike(size, other)).then(|| (size / other).ceil()),
        }
    }

    /// Whether the data of a message of `size` bytes and of a smaller one of `other` lie in the same cache, or both in memory.
    /// A benchmark takes the same buffers again and again, so that a small message never leaves a cache that a large one
    /// leaves. Models have no such caches.
    fn lie_alike(&self, size: f64, other: f64) -> bool {
        let ranks = self.record.number("ranks").unwrap_or(2.0);
        let caches = self.results.environment.get("caches").and_then(Value::as_array);
        let mut ends: Vec<f64> =
            caches.into_iter().flatten().filter_map(|cache| cache.get("size_B")?.as_f64()).collect();
        ends.sort_by(f64::total_cmp);
        if !self.is_measured() {
            return true;
        }
        if ends.is_empty() {
            return false;
        }
        // Each rank sends from one buffer and receives into another; many collectives have a part for every rank in one.
        let is_whole = |name: &str| ["pingpong", "bcast", "reduce", "allreduce"].contains(&name);
        let parts = if self.record.text("benchmark").is_some_and(is_whole) { 1.0 } else { ranks };
        let all = 2.0 * ranks * parts * size;
        ends.iter().enumerate().any(|(at, end)| all <= *end && (at == 0 || other > ends[at - 1]))
            || ends.last().is_some_and(|last| other > *last)
    }
}

/// Where a result was measured, and which pair of many: the same question all the same.
const PLACES: [&str; 8] = ["file", "host", "rank_a", "rank_b", "from", "to", "pair", "device"];

fn repeats(all: &[One<'_>]) -> Applied {
    let mut groups: BTreeMap<(String, Question), Vec<(Between, &One<'_>)>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.is_measured()) {
        let quantity = one.record.statistic().filter(|of| QUANTITIES.iter().any(|(key, _)| key == of));
        let Some((quantity, value)) = quantity.and_then(|of| Some((of, one.known(of)?))) else { continue };
        let mut question = one.question(&PLACES);
        // Pairs that are farther apart have another bound; that of one machine is measured anew each time.
        if let Some(bound) =
            one.record.number(&format!("bound_{quantity}")).filter(|_| !is_within_a_machine(one.record))
        {
            question.insert("bound".to_owned(), bound.to_string());
        }
        groups.entry((quantity.to_owned(), question)).or_default().push((value, one));
    }
    let mut applied = Applied::default();
    for ((quantity, _), group) in groups.iter().filter(|(_, group)| group.len() > 1) {
        applied.covered += group.len();
        let meets = |a: &Between, b: &Between| a.low <= b.high && b.low <= a.high;
        let alone = |at: usize| !group.iter().enumerate().any(|(b, (other, _))| b != at && meets(&group[at].0, other));
        let apart: Vec<usize> = (0..group.len()).filter(|at| alone(*at)).collect();
        let range = |except: Option<usize>| {
            let others = group.iter().enumerate().filter(|(at, _)| Some(*at) != except).map(|(_, (value, _))| value);
            let (low, high) = others.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v.low), high.max(v.high)));
            format!("{} to {}", scale::told(quantity, low), scale::told(quantity, high))
        };
        // Where none meets another, none of them is the odd one.
        if apart.len() == group.len() {
            let what = format!(
                "{} of the same, no two of which meet: {}, {}",
                counted(group.len(), "measurement"),
                scale::name(quantity),
                range(None)
            );
            applied.found.push(group[0].1.finding(Verdict::Suspicious, what));
            continue;
        }
        for at in apart {
            let (value, one) = &group[at];
            let others = counted(group.len() - 1, "measurement");
            let place = one.results.host().unwrap_or("an unknown host");
            let what = format!(
                "an outlier: {} {} on {place}, apart from {others} of the same, {}",
                scale::name(quantity),
                interval(quantity, *value),
                range(Some(at))
            );
            applied.found.push(one.finding(Verdict::Suspicious, what));
        }
    }
    applied
}

/// Whether its messages stay within a machine, whose bound is measured beside them.
fn is_within_a_machine(record: &Record) -> bool {
    record.number("machines").is_none_or(|machines| machines < 2.0) && record.text("program").is_none()
}

/// Counts that a measured and a simulated question share, where both state them.
const SHARED: [&str; 6] = ["direction", "stride", "placement", "pairs", "senders", "streams"];

fn simulations(all: &[One<'_>]) -> Applied {
    let mut applied = Applied::default();
    let mut without = 0;
    // What a fabric merely names was not measured on it.
    let is_of_fabric = |one: &&One<'_>| one.is_measured() && one.record.get("named_only").is_none();
    for one in all.iter().filter(is_of_fabric) {
        let of = one.record.statistic().filter(|of| QUANTITIES.iter().any(|(key, _)| key == of));
        let Some((quantity, measured)) = of.and_then(|of| Some((of, one.known(of)?))) else { continue };
        let ends = |record: &Record| record.number("ranks").or(record.number("nodes"));
        let is_same = |other: &&One<'_>| {
            !other.is_measured()
                && ["fabric", "benchmark", "size_B"]
                    .iter()
                    .all(|key| agree(one.record, other.record, key) == Some(true))
                && SHARED.iter().all(|key| agree(one.record, other.record, key) != Some(false))
                && ends(one.record) == ends(other.record)
        };
        for other in all.iter().filter(is_same) {
            let Some(expected) = other.value(quantity) else { continue };
            // Without its inputs' uncertainty, a model is a number that no measurement hits.
            if other.record.text("sensitivity_of") != Some(quantity) {
                without += 1;
                continue;
            }
            applied.covered += 1;
            let is_above = measured.low > expected.high;
            if is_above || measured.high < expected.low {
                let word = if is_above == less_is_better(quantity) { "worse" } else { "better" };
                let name = scale::name(quantity);
                let (measured, expected) = (interval(quantity, measured), interval(quantity, expected));
                applied.found.push(one.finding(
                    Verdict::Suspicious,
                    format!("{word} than simulated: {name} {measured}, where the simulation allows {expected}"),
                ));
            }
        }
    }
    applied.advice = (without > 0)
        .then(|| format!("{} without an interval: simulate with --sensitivity", counted(without, "simulation")));
    applied
}

/// Whether both records say the same under a key; `None` where one of them says nothing.
fn agree(one: &Record, other: &Record, key: &str) -> Option<bool> {
    let stated = |record: &Record| record.get(key).filter(|value| !value.is_null()).cloned();
    Some(stated(one)? == stated(other)?)
}

/// A result that its bound explains only in part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Far {
    pub(crate) subject: String,
    pub(crate) quantity: &'static str,
    pub(crate) value: Between,
    pub(crate) bound: Between,
    /// Of its time, the least that its bound does not explain, whatever the intervals allow.
    pub(crate) unexplained: f64,
    /// What sets the bound.
    pub(crate) bound_by: String,
    /// The part that works most, where the result names one.
    pub(crate) limiter: Option<String>,
}

impl Far {
    /// What the bound does not explain: of a time the time itself, of a rate a share of its time.
    pub(crate) fn lost(&self) -> String {
        let (value, bound) = (self.value.value, self.bound.value);
        match less_is_better(self.quantity) {
            true => scale::told(self.quantity, (value - bound).max(0.0)),
            false => scale::told("_share", (1.0 - value / bound).max(0.0)),
        }
    }

    pub(crate) fn sentence(&self) -> String {
        let value = interval(self.quantity, self.value);
        let (bound, lost) = (scale::told(self.quantity, self.bound.value), self.lost());
        let share = scale::told("_share", 1.0 - self.unexplained);
        format!("{value}; bound {bound}, lost {lost} of the time: at most {share} of the bound; {}", self.limits())
    }

    /// What sets the bound, and what limits the result where that is known.
    pub(crate) fn limits(&self) -> String {
        let limiter = self.limiter.as_ref().map_or_else(String::new, |limiter| format!("; the result: {limiter}"));
        format!("the bound: {}{limiter}", self.bound_by)
    }

    pub(crate) fn record(&self) -> Record {
        Record::new()
            .with("benchmark", "report")
            .with("kind", "furthest")
            .with("subject", self.subject.as_str())
            .with("quantity", self.quantity)
            .with("what", self.sentence())
    }
}

/// The furthest result of each series, the furthest first: of what share of its time its bound says nothing.
pub(crate) fn furthest(inputs: &[Results]) -> Vec<Far> {
    let all = inputs.iter().enumerate();
    let all = all.flat_map(|(file, results)| results.records.iter().map(move |record| One { file, results, record }));
    let mut series: BTreeMap<BTreeMap<String, String>, Far> = BTreeMap::new();
    for one in all.filter(|one| one.record.get("no_efficiency").is_none()) {
        let Some((quantity, value, bound)) = beside(&one) else { continue };
        let share = match less_is_better(quantity) {
            true => bound.high / value.low,
            false => value.high / bound.low,
        };
        let far = Far {
            subject: subject(one.record),
            quantity,
            value,
            bound,
            unexplained: (1.0 - share).max(0.0),
            bound_by: one.record.bound_set_by().unwrap_or("not known").to_owned(),
            limiter: one.record.text("limiter").map(str::to_owned),
        };
        let varies = |key: &str| ["size_B", "nodes", "ranks", "load", "packet_B", "algorithm"].contains(&key);
        let named = series::named(one.record).filter(|(key, _)| !varies(key));
        let key: BTreeMap<String, String> = named.map(|(key, value)| (key.to_owned(), value.to_string())).collect();
        let is_further = |known: &Far| far.unexplained > known.unexplained;
        if series.get(&key).is_none_or(is_further) {
            series.insert(key, far);
        }
    }
    let mut found: Vec<Far> = series.into_values().filter(|far| far.unexplained > NOISE).collect();
    found.sort_by(|a, b| b.unexplained.total_cmp(&a.unexplained));
    found
}

/// A value with its bound: of what the statistics are of, else of the first quantity that has one.
fn beside(one: &One<'_>) -> Option<(&'static str, Between, Between)> {
    let of = one.record.statistic();
    let all = || QUANTITIES.iter().map(|(key, _)| *key);
    let pair = |key: &'static str| Some((key, one.value(key)?, bounded(one.record, key)?));
    all().filter(|key| of == Some(key)).chain(all()).find_map(pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn file(name: &str, records: &[Value]) -> Results {
        let caches = json!([{"level": 1, "size_B": 32768}, {"level": 2, "size_B": 1_048_576}]);
        let environment = json!({"host": name, "caches": caches});
        let json = json!({"schema": "hotlink/2", "environment": environment, "records": records}).to_string();
        hotlink_results::parse(Path::new(name), &json).ok().unwrap()
    }

    /// A measured ping-pong, whose interval is a hundredth to each side.
    fn measured(size: u64, latency: f64) -> Value {
        json!({"fabric": "x", "benchmark": "pingpong", "method": "measured", "ranks": 2, "size_B": size,
            "latency_us": latency, "statistic_of": "latency_us", "median": latency, "ci95_low": 0.99 * latency,
            "ci95_high": 1.01 * latency})
    }

    fn simulated(size: u64, latency: f64) -> Value {
        json!({"fabric": "x", "benchmark": "pingpong", "method": "packet", "nodes": 2, "size_B": size,
            "latency_us": latency})
    }

    /// How many results a check covers, and what it says of those that break it.
    fn told(name: &str, inputs: &[Results]) -> (usize, Vec<String>) {
        let (checks, findings) = checks(inputs, &[]);
        let check = checks.iter().find(|check| check.name == name).unwrap();
        assert_eq!(findings.len(), checks.iter().map(|check| check.broken).sum::<usize>());
        (check.covered, findings.into_iter().map(|finding| format!("{}: {}", finding.subject, finding.what)).collect())
    }

    #[test]
    fn a_value_is_held_to_its_bound_whatever_its_efficiency_says() {
        let base = || {
            Record::new().with("benchmark", "pingpong").with("method", "measured").with("statistic_of", "latency_us")
        };
        let at = |latency: f64, low: f64, high: f64| {
            let record = base().with("latency_us", latency).with("bound_latency_us", 0.05);
            record.with("median", latency).with("ci95_low", low).with("ci95_high", high)
        };
        let rate = |key: &str, value: f64| base().with(key, value).with(&format!("bound_{key}"), 100.0);
        for (record, findings) in [
            (at(0.1, 0.09, 0.11).with("efficiency", 0.5), 0),
            (at(0.1, 0.09, 0.11).with("efficiency", 0.503), 0),
            (at(0.1, 0.09, 0.11).with("efficiency", 0.9), 1),
            (at(0.001, 0.001, 0.001), 1),
            (at(0.001, 0.001, 0.001).with("efficiency", 0.5), 2),
            (at(0.049, 0.047, 0.051), 0),
            (at(0.049, 0.0485, 0.0495), 1),
            (rate("bandwidth_MBps", 99.0), 0),
            (rate("bandwidth_MBps", 1e9), 1),
            (rate("messages_per_s", 101.0), 1),
            (rate("bus_bandwidth_MBps", 101.0).with("bound_largest_MBps", 200.0), 0),
            (rate("bus_bandwidth_MBps", 101.0).with("bound_largest_MBps", 200.0).with("impossible_under", "ring"), 1),
            (
                rate("bus_bandwidth_MBps", 101.0)
                    .with("bound_largest_MBps", 200.0)
                    .with("beyond_chosen_algorithm", true),
                1,
            ),
            (rate("time_s", 101.0), 0),
            (rate("time_s", 99.0), 1),
            (rate("bandwidth_per_node_MBps", 100.4).with("method", "packet"), 0),
            (rate("bandwidth_per_node_MBps", 101.0).with("method", "packet"), 1),
        ] {
            let found = beside_bound(&record, record.number("efficiency"), &shares_of_bounds(&record));
            assert_eq!(found.len(), findings, "{record:?}");
            let is_told = |(verdict, what): &(Verdict, String)| {
                let is_open = ["% apart", "another ran"].iter().any(|text| what.contains(text));
                *verdict == if is_open { Verdict::Suspicious } else { Verdict::Fail }
            };
            assert!(found.iter().all(is_told), "{record:?}");
        }
    }

    #[test]
    fn a_size_may_take_what_others_need_to_do_its_work() {
        let good = [simulated(8, 1.0), simulated(16, 1.9), simulated(1 << 20, 20.0), simulated(2 << 20, 40.0)];
        assert_eq!(told("sizes", &[file("m.json", &good)]), (4, vec![]));
        // Fifty times slower than it was.
        let slow = [simulated(8, 1.0), simulated(1 << 19, 10.0), simulated(1 << 20, 1000.0)];
        let (covered, said) = told("sizes", &[file("m.json", &slow)]);
        assert_eq!((covered, said.len()), (3, 1));
        assert!(said[0].contains("size_B=1048576"), "{said:?}");
        assert!(said[0].ends_with("out of line: 1 ms, but 2 messages of 512 KiB can do it in 20 us"), "{said:?}");
        let slow = [simulated(8, 3.0), simulated(64, 1.0)];
        let (_, said) = told("sizes", &[file("m.json", &slow)]);
        assert!(said[0].ends_with("out of line: 3 us, but one of 64 B can do it in 1 us"), "{said:?}");
        // Not of a barrier, of a rate, of drawn sizes, or of other questions.
        for (key, value) in [("benchmark", json!("alltoallv")), ("benchmark", json!("is")), ("load", json!(0.5))] {
            let mut other = slow.clone();
            other[0][key] = value;
            assert_eq!(told("sizes", &[file("m.json", &other)]), (0, vec![]), "{key}");
        }
    }

    #[test]
    fn intervals_and_caches_say_which_sizes_are_comparable() {
        let of = |rows: &[Value]| told("sizes", &[file("m.json", rows)]);
        // Within their intervals.
        assert_eq!(of(&[measured(8, 1.0), measured(16, 2.03)]).1.len(), 0);
        assert_eq!(of(&[measured(8, 1.0), measured(16, 2.1)]).1.len(), 1);
        // The larger leaves the first cache, and may be slower than its share; a smaller one may not be slower.
        assert_eq!(of(&[measured(4096, 1.0), measured(1 << 20, 2000.0)]), (1, vec![]));
        assert_eq!(of(&[measured(4096, 3000.0), measured(1 << 20, 2000.0)]).1.len(), 1);
        // Without an interval nothing is known of a measurement's spread.
        let mut bare = measured(16, 9.0);
        bare.as_object_mut().unwrap().remove("ci95_low");
        assert_eq!(of(&[measured(8, 1.0), bare]), (0, vec![]));
        // Runs of two days are not one series.
        let apart = [file("a.json", &[measured(8, 1.0)]), file("b.json", &[measured(16, 9.0)])];
        assert_eq!(told("sizes", &apart), (0, vec![]));
    }

    #[test]
    fn a_rate_below_both_of_its_neighbours_is_a_dip() {
        let stream = |size: u64, rate: f64| {
            json!({"fabric": "x", "benchmark": "stream", "method": "measured", "ranks": 2, "size_B": size,
                "bandwidth_MBps": rate, "statistic_of": "bandwidth_MBps", "median": rate, "ci95_low": 0.9 * rate,
                "ci95_high": 1.1 * rate})
        };
        let of = |rates: &[(u64, f64)]| {
            told("dips", &[file("m.json", &rates.iter().map(|&(size, rate)| stream(size, rate)).collect::<Vec<_>>())])
        };
        // It rises, and levels off within the intervals.
        assert_eq!(of(&[(256, 100.0), (512, 180.0), (1024, 300.0), (2048, 290.0), (4096, 310.0)]), (3, vec![]));
        let (covered, said) = of(&[(4096, 400.0), (256, 100.0), (1024, 150.0), (512, 200.0)]);
        assert_eq!((covered, said.len()), (2, 1));
        assert!(
            said[0].ends_with(
                "size_B=1024: a dip: bandwidth 150 MB/s (135 MB/s to 165 MB/s), between 200 MB/s (180 MB/s to 220 MB/s) \
                 with 512 B and 400 MB/s (360 MB/s to 440 MB/s) with 4 KiB"
            ),
            "{said:?}"
        );
        // The last size is below one neighbour only, and 768 B may take as many messages of 512 B as 1 KiB.
        assert_eq!(of(&[(256, 100.0), (512, 200.0), (1024, 90.0)]).1.len(), 0);
        assert_eq!(of(&[(512, 200.0), (768, 125.0), (1024, 300.0)]), (1, vec![]));
        // The larger leaves a cache in which the smaller stays.
        assert_eq!(of(&[(8192, 300.0), (1 << 17, 150.0), (1 << 18, 200.0)]), (0, vec![]));
    }

    #[test]
    fn a_repeat_apart_from_all_others_is_an_outlier_by_name() {
        let of = |latency: &[f64]| {
            let one = |(host, latency): (usize, &f64)| file(&format!("n{host}"), &[measured(8, *latency)]);
            told("repeats", &latency.iter().enumerate().map(one).collect::<Vec<_>>())
        };
        assert_eq!(of(&[1.0]), (0, vec![]));
        assert_eq!(of(&[1.0, 1.01, 1.0]), (3, vec![]));
        let (covered, said) = of(&[1.0, 1.01, 2.0]);
        assert_eq!((covered, said.len()), (3, 1));
        assert!(said[0].contains("an outlier: latency 2 us (1.98 us to 2.02 us) on n2, apart from 2 measurements"));
        let (_, said) = of(&[1.0, 2.0, 4.0]);
        assert_eq!(said.len(), 1);
        assert!(
            said[0].contains("3 measurements of the same, no two of which meet: latency, 990 ns to 4.04 us"),
            "{said:?}"
        );
    }

    #[test]
    fn a_measurement_is_held_to_the_simulation_of_its_question() {
        let of = |latency: f64, ends: Option<[f64; 2]>| {
            let mut model = simulated(8, 1.0);
            if let Some([low, high]) = ends {
                for (key, value) in [("latency_us_low", low), ("latency_us_high", high)] {
                    model[key] = json!(value);
                }
                model["sensitivity_of"] = json!("latency_us");
            }
            told("simulation", &[file("m.json", &[measured(8, latency)]), file("s.json", &[model])])
        };
        assert_eq!(of(1.15, Some([0.9, 1.2])), (1, vec![]));
        let (_, said) = of(1.5, Some([0.9, 1.2]));
        assert!(said[0].contains("worse than simulated: latency 1.5 us"), "{said:?}");
        assert!(of(0.5, Some([0.9, 1.2])).1[0].contains("better than simulated"));
        // A model without its inputs' uncertainty is a number that no measurement hits.
        assert_eq!(of(1.5, None), (0, vec![]));
    }

    #[test]
    fn the_furthest_result_of_each_series_is_told_with_what_limits_it() {
        let of = |size: u64, latency: f64, bound: f64| {
            let mut row = measured(size, latency);
            row["bound_latency_us"] = json!(bound);
            row["limiting_resource"] = json!("link");
            row["limiter"] = json!("bus");
            row
        };
        let found = furthest(&[file("m.json", &[of(8, 1.0, 0.9), of(64, 2.0, 0.04), of(128, 2.0, 1.0)])]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].sentence(),
            "2 us (1.98 us to 2.02 us); bound 40 ns, lost 1.96 us of the time: at most 2.02 % of the bound; the bound: link; the result: bus"
        );
        assert!(furthest(&[file("m.json", &[simulated(8, 1.0)])]).is_empty());
    }
}
