//! The same measurements before and after, for acceptance tests.

use crate::files::Results;
use hotlink_bench::Record;
use hotlink_fabric::maths::{exp, hypot, ln};
use hotlink_study::text::figure;
use hotlink_study::{Error, schema};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// A share: `5%` or `0.05`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
        let share = number.trim().parse::<f64>().ok().map(|number| number / scale);
        let wrong = || format!("`{text}`: must be a share from 0 to 1, such as 5% or 0.05");
        share.filter(|share| (0.0..=1.0).contains(share)).map(Share).ok_or_else(wrong)
    }
}

/// Keys of text that tell what came out, not what was asked: here and in charts.
pub const TOLD: [&str; 30] = [
    "limiting_resource",
    "limiter",
    "hot_link",
    "hot_link_is_of",
    "alone_limiter",
    "shared_link",
    "trace_hash",
    "statistic_of",
    "bound_is",
    "bound_resource",
    "bound_algorithm",
    "bound_protocol",
    "algorithm_by",
    "protocol_by",
    "fallback",
    "kind",
    "note",
    "no_efficiency",
    "too_short",
    "left_out",
    "unchanged",
    "differs",
    "deadlock",
    "unreachable",
    "stride_reason",
    "error",
    "source",
    "file",
    "sensitivity_of",
    "ended_by",
];
/// Whole numbers that are results.
const COUNTED: [&str; 50] = [
    "n",
    "blocks",
    "inner",
    "iterations",
    "warmup",
    "warmup_samples",
    "late",
    "rounds_disturbed",
    "events",
    "packet_hops",
    "packets",
    "overtakings",
    "reorder_max_B",
    "reorder_drops",
    "retries",
    "drops",
    "marks",
    "hot_links",
    "operations",
    "detours",
    "lost",
    "gone",
    "unreachable_pairs",
    "lost_messages",
    "unfinished_messages",
    "messages_sent",
    "messages_received",
    "writes",
    "send_buffer_B",
    "receive_buffer_B",
    "bytes",
    "size_max_B",
    "collective_calls",
    "turns",
    "nodes_built",
    "sent_eager",
    "sent_in_pieces",
    "deposited",
    "fetched",
    "buffered",
    "cache_hits",
    "cache_misses",
    "hits",
    "misses",
    "evictions",
    "translations",
    "translation_misses",
    "resumptions",
    "barriers_safe",
    "lead_changes",
];
/// Fractions that were asked for.
const ASKED: [&str; 6] = ["load", "compute_us", "skew_us", "pace_MBps", "oversubscription", "flops"];
/// The compared quantities, and whether less is better.
pub const QUANTITIES: [(&str, bool); 12] = [
    ("latency_us", true),
    ("time_s", true),
    ("time_us", true),
    ("overhead_us", true),
    ("bandwidth_MBps", false),
    ("bandwidth_per_node_MBps", false),
    ("algorithm_bandwidth_MBps", false),
    ("bus_bandwidth_MBps", false),
    ("messages_per_s", false),
    ("mops", false),
    ("overlap", false),
    ("saturation_us", true),
];

/// Records of a site's own network: nearly all of their numbers and texts came out.
const OF_SITES: [&str; 5] = ["inspection", "failures", "groups", "reroute", "job"];
/// Inputs about a site's network, or names of the row.
const ASKED_OF_SITES: [&str; 12] = [
    "fabric",
    "benchmark",
    "method",
    "routes",
    "permutations",
    "rings",
    "shifts",
    "seed",
    "part",
    "failed",
    "group",
    "placement",
];
/// Compared shares of a site's network, of which more is better.
const SHARES: [&str; 6] = [
    "all_to_all_share",
    "permutation_median_share",
    "ring_median_share",
    "shift_median_share",
    "kept_share",
    "ring_share",
];

/// Whether a field says what was asked: text, whole numbers, and the few fractions that are options.
fn is_parameter(record: &Record, key: &str, value: &Value) -> bool {
    if record.text("benchmark").is_some_and(|benchmark| OF_SITES.contains(&benchmark)) {
        return ASKED_OF_SITES.contains(&key) && !value.is_null();
    }
    match value {
        Value::String(_) => !TOLD.contains(&key),
        Value::Number(number) if number.is_f64() || schema::is_number(key) => ASKED.contains(&key),
        Value::Number(_) => {
            let is_counted = COUNTED.contains(&key) || key.starts_with("count_");
            !is_counted && QUANTITIES.iter().all(|(quantity, _)| *quantity != key)
        }
        _ => false,
    }
}

/// The fields of a record that say what was asked.
pub fn parameters(record: &Record) -> impl Iterator<Item = (&str, &Value)> {
    record.fields().filter(|(key, value)| is_parameter(record, key, value))
}

/// Whether a quantity is the better, the less it is.
pub fn less_is_better(quantity: &str) -> bool {
    QUANTITIES.iter().any(|(key, less)| *key == quantity && *less)
}

/// The subject of a record, as sorted text: two records with the same are partners. Where several hosts or imported
/// files have the same subject, their name is part of it. The order tells the rest apart.
pub type Identity = (BTreeMap<String, String>, usize);

/// One quantity of a record: its median and the 95 % interval around it. All three are the value where it is computed,
/// and exact, or where its spread is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Its lower end.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// Its upper end.
    pub high: f64,
    /// Whether its ends are known: a measured value without an interval may be anywhere.
    pub is_known: bool,
}

/// The verdict on a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No change beyond the floor.
    Same,
    /// A change beyond the floor that may be chance: its interval reaches 1, or nothing is known of the spread.
    Undecided,
    /// Better.
    Improvement,
    /// Worse.
    Regression,
    /// No partner after.
    OnlyBefore,
    /// No partner before.
    OnlyAfter,
    /// A value that nothing can have.
    Invalid,
}

impl Verdict {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
            Verdict::Improvement => "improvement",
            Verdict::Regression => "regression",
            Verdict::OnlyBefore => "only before",
            Verdict::OnlyAfter => "only after",
            Verdict::Invalid => "invalid",
        }
    }

    /// Whether no ratio has a meaning.
    pub fn is_without_ratio(self) -> bool {
        matches!(self, Verdict::OnlyBefore | Verdict::OnlyAfter | Verdict::Invalid)
    }

    /// Whether the comparison fails by it. A value that was not measured again is not shown to be as good: it may be
    /// missing only where the user says so.
    pub fn is_failure(self, may_be_missing: bool) -> bool {
        match self {
            Verdict::Regression | Verdict::Invalid => true,
            Verdict::OnlyBefore => !may_be_missing,
            _ => false,
        }
    }
}

/// One line of the comparison.
pub struct Row {
    /// Its subject: parameters, and the quantity.
    pub identity: BTreeMap<String, String>,
    /// Its verdict.
    pub verdict: Verdict,
    /// The record.
    pub record: Record,
}

/// Results before or after, and what they are called.
pub type Side<'a> = (&'a str, &'a [Results]);

/// The rows of a comparison; parameters named in `ignore` may differ.
///
/// # Errors
/// Nothing can be compared, and why.
pub fn rows(before: Side<'_>, after: Side<'_>, floor: Share, ignore: &[String]) -> Result<Vec<Row>, Error> {
    check_ignored(ignore, before.1.iter().chain(after.1))?;
    let names = [before.0, after.0];
    let [before, after] = sides([before, after], ignore)?;
    if !before.keys().any(|identity| after.contains_key(identity)) {
        let what = format!("no record of {} has a partner in {}", names[0], names[1]);
        let first = |side: &BTreeMap<Identity, Record>| side.keys().next().map_or(String::new(), |(key, _)| told(key));
        return Err(Error::Input(format!(
            "compare-runs: {what}: the first are `{}` and `{}`; --ignore KEYS leaves keys out",
            first(&before),
            first(&after)
        )));
    }
    let rows = compare(&before, &after, floor.0);
    if rows.iter().all(|row| row.verdict.is_without_ratio()) {
        let told = rows.iter().find(|row| row.verdict == Verdict::Invalid).map(|row| sentence(&row.record));
        let told = told.map_or_else(String::new, |told| format!("; the first pair is {told}"));
        let what = "compare-runs: no pair has values to compare: they must be finite times and rates above 0";
        return Err(Error::Input(format!("{what}{told}")));
    }
    Ok(rows)
}

/// Refuses a key to leave out that no record has: misspelt, it would leave nothing out.
pub fn check_ignored<'a>(ignore: &[String], results: impl Iterator<Item = &'a Results> + Clone) -> Result<(), Error> {
    let hosts = results.clone().filter_map(Results::host).map(|_| HOST);
    let fields = results.flat_map(|result| &result.records).flat_map(|record| record.fields().map(|(key, _)| key));
    let keys: BTreeSet<&str> = fields.chain(hosts).collect();
    match ignore.iter().find(|key| !keys.contains(key.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let all = keys.into_iter().collect::<Vec<_>>().join(", ");
            Err(Error::Input(format!("--ignore {unknown}: no record has this key; must be one of {all}")))
        }
    }
}

/// The key of a host's name.
const HOST: &str = "host";

/// Where a record was measured: the key of its name, and the name.
type Place<'a> = (&'static str, &'a str);

/// The host of a measured record, or the file that another program wrote there. A model's answer depends on no host:
/// cells of a sweep run wherever there is room.
fn place<'a>(results: &'a Results, record: &'a Record) -> Option<Place<'a>> {
    match record.text("program") {
        _ if record.text("method").is_some_and(|method| method != "measured") => None,
        Some(_) => record.text("file").map(|file| ("file", file)),
        None => results.host().map(|host| (HOST, host)),
    }
}

/// A record with one quantity, and what it is about but for its place.
struct Found<'a> {
    identity: BTreeMap<String, String>,
    place: Option<Place<'a>>,
    record: &'a Record,
}

/// The records of both sides by what they are about, one quantity each.
///
/// # Errors
/// A side that is not whole, or has nothing to compare.
pub fn sides(sides: [Side<'_>; 2], ignore: &[String]) -> Result<[BTreeMap<Identity, Record>; 2], Error> {
    let [mut before, mut after] = [found(sides[0], ignore)?, found(sides[1], ignore)?];
    shorten(&mut before, &mut after);
    let all = [&before, &after].map(|side| side.iter().filter_map(|found| found.place).collect::<BTreeSet<_>>());
    let are_several = all.iter().any(|places| places.len() > 1);
    // Records with the same subject, with their places before and after.
    let mut groups: BTreeMap<&BTreeMap<String, String>, [BTreeSet<Option<Place<'_>>>; 2]> = BTreeMap::new();
    for (index, side) in [&before, &after].into_iter().enumerate() {
        for found in side {
            groups.entry(&found.identity).or_default()[index].insert(found.place);
        }
    }
    // One place before and one after, of another name: the same host renamed, unless the name is seen on both sides.
    let is_renamed = |[before, after]: &[BTreeSet<Option<Place<'_>>>; 2]| {
        let is_lone = before.len() == 1 && after.len() == 1 && before != after;
        let is_in = |place: &Option<Place<'_>>, all: &BTreeSet<_>| place.is_some_and(|place| all.contains(&place));
        is_lone && !before.iter().any(|place| is_in(place, &all[1])) && !after.iter().any(|place| is_in(place, &all[0]))
    };
    let named = |found: &Found<'_>| are_several && groups.get(&found.identity).is_none_or(|group| !is_renamed(group));
    Ok([numbered(&before, named), numbered(&after, named)])
}

/// Records by their identity, which has the place of those that are `named` by it.
fn numbered(side: &[Found<'_>], named: impl Fn(&Found<'_>) -> bool) -> BTreeMap<Identity, Record> {
    let (mut counts, mut records) = (BTreeMap::<BTreeMap<String, String>, usize>::new(), BTreeMap::new());
    for found in side {
        let (mut identity, mut record) = (found.identity.clone(), found.record.clone());
        if let Some((key, name)) = found.place.filter(|_| named(found)) {
            identity.insert(key.to_owned(), name.to_owned());
            record.set(key, name);
        }
        let count = counts.entry(identity.clone()).or_default();
        records.insert((identity, *count), record);
        *count += 1;
    }
    records
}

fn found<'a>((name, results): Side<'a>, ignore: &[String]) -> Result<Vec<Found<'a>>, Error> {
    let is_ignored = |key: &str| ignore.iter().any(|ignored| ignored == key);
    let mut records = Vec::new();
    for result in results {
        result.is_whole()?;
        for record in &result.records {
            // A measured computation is a multiple of the message's own time, which no two runs share.
            let is_measured = record.text("method") == Some("measured");
            let fields = record.fields().filter(|(key, _)| !(is_measured && *key == "compute_us"));
            let kept = fields.filter(|(key, value)| is_parameter(record, key, value) && !is_ignored(key));
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let about: BTreeMap<String, String> = kept.map(|(key, value)| (key.to_owned(), text(value))).collect();
            let place = place(result, record).filter(|(key, _)| !is_ignored(key));
            for quantity in quantities(record) {
                let mut identity = about.clone();
                identity.insert("quantity".to_owned(), quantity.to_owned());
                records.push(Found { identity, place, record });
            }
        }
    }
    match records.is_empty() {
        true => Err(Error::Input(format!("{name}: holds no record with a result that can be compared"))),
        false => Ok(records),
    }
}

/// Leaves as many last parts of the files' paths as distinguish those of a side: folders before and after differ.
fn shorten<'a>(before: &mut [Found<'a>], after: &mut [Found<'a>]) {
    let files = |side: &[Found<'_>]| -> BTreeSet<String> {
        let files = side.iter().filter_map(|found| found.place.filter(|(key, _)| *key != HOST));
        files.map(|(_, file)| file.to_owned()).collect()
    };
    let sides = [files(before), files(after)];
    let parts = |file: &str| file.split('/').count();
    let most = sides.iter().flatten().map(|file| parts(file)).max().unwrap_or(1);
    let tells = |count: &usize| {
        let ends = sides.each_ref().map(|files| files.iter().map(|file| end_of(file, *count)).collect::<BTreeSet<_>>());
        ends.iter().zip(&sides).all(|(ends, files)| ends.len() == files.len())
    };
    let count = (1..most).find(tells).unwrap_or(most);
    for found in before.iter_mut().chain(after) {
        found.place = found.place.map(|(key, name)| if key == HOST { (key, name) } else { (key, end_of(name, count)) });
    }
}

/// The last parts of a path.
fn end_of(path: &str, parts: usize) -> &str {
    path.rmatch_indices('/').nth(parts - 1).map_or(path, |(at, _)| &path[at + 1..])
}

/// The compared quantities of a record: the one of its interval, or every known one. The statistics of a run's ranks
/// are of no quantity.
fn quantities(record: &Record) -> Vec<&'static str> {
    let known = || QUANTITIES.iter().map(|(key, _)| *key).chain(SHARES);
    let of = record.statistic().filter(|of| known().any(|key| key == *of));
    known().filter(|key| record.number(key).is_some() && of.is_none_or(|of| of == *key)).collect()
}

/// The least value of a rate or a share: one that fell to nothing must have a ratio, which is a regression.
const LEAST: f64 = 1e-9;

/// Times of a measured operation that takes some time, however short.
const TAKE_TIME: [&str; 3] = ["latency_us", "time_s", "time_us"];

/// Why the value of `quantity` in a record is impossible. It is a time or rate below 0, or an operation that took no
/// time, where it was measured or has a bound. A rate of 0 is possible: nothing arrived, or the program printed too few
/// digits.
pub fn invalid(record: &Record, quantity: &str) -> Option<String> {
    let value = record.number(quantity).filter(|_| QUANTITIES.iter().any(|(key, _)| *key == quantity))?;
    // An overlap is a difference: noise takes it below 0.
    let is_below = value < 0.0 && quantity != "overlap";
    let is_measured = record.text("method").is_none_or(|method| method == "measured");
    let is_bound = record.number(&format!("bound_{quantity}")).is_some_and(|bound| bound > 0.0);
    let takes_none = value == 0.0 && (is_measured || is_bound) && TAKE_TIME.contains(&quantity);
    let by = if is_measured { "measurement" } else { "run" };
    (is_below || takes_none).then(|| format!("{quantity} is {value}, which no {by} can give"))
}

/// `None`: no ratio has a meaning. Of times, where less is better, 0 and below are no values; of rates, those below 0.
pub fn estimate(identity: &BTreeMap<String, String>, record: &Record) -> Option<Estimate> {
    let (quantity, less_is_better) = quantity(identity);
    let value = record.number(quantity).filter(|_| invalid(record, quantity).is_none())?;
    let sampled = record.statistic() == Some(quantity);
    let is_exact = record.text("method").is_some_and(|method| method != "measured");
    // Of times, an interval that reaches 0 says nothing of the ratio.
    let is_end = |end: &f64| sampled && (*end > 0.0 || !less_is_better);
    let ends = ["ci95_low", "ci95_high"].map(|key| record.number(key).filter(is_end));
    let at_least = |value: f64| if less_is_better { value } else { value.max(LEAST) };
    let is_known = is_exact || ends.iter().all(Option::is_some);
    let [low, median, high] = [ends[0].unwrap_or(value), value, ends[1].unwrap_or(value)].map(at_least);
    let estimate = Estimate { low: low.min(median), median, high: high.max(median), is_known };
    (estimate.low > 0.0 && estimate.high.is_finite()).then_some(estimate)
}

/// After over before, with its 95 % interval: MOVER (Zou and Donner 2008) on logarithms, where a ratio is a difference.
fn ratio(before: Estimate, after: Estimate) -> Estimate {
    let is_known = before.is_known && after.is_known;
    let [b, a] = [before, after].map(|e| Estimate { low: ln(e.low), median: ln(e.median), high: ln(e.high), is_known });
    let difference = a.median - b.median;
    let below = hypot(a.median - a.low, b.high - b.median);
    let above = hypot(a.high - a.median, b.median - b.low);
    Estimate { low: exp(difference - below), median: exp(difference), high: exp(difference + above), is_known }
}

/// Worse or better by more than the floor, and not by chance.
fn verdict(ratio: Estimate, less_is_better: bool, floor: f64) -> Verdict {
    // Turned so that more is worse.
    let cost = match less_is_better {
        true => ratio,
        false => Estimate { low: 1.0 / ratio.high, median: 1.0 / ratio.median, high: 1.0 / ratio.low, ..ratio },
    };
    let (is_worse, is_better) = (cost.median > 1.0 + floor, cost.median < 1.0 / (1.0 + floor));
    match (is_worse, is_better) {
        (true, _) if cost.is_known && cost.low > 1.0 => Verdict::Regression,
        (_, true) if cost.is_known && cost.high < 1.0 => Verdict::Improvement,
        (false, false) => Verdict::Same,
        _ => Verdict::Undecided,
    }
}

fn compare(before: &BTreeMap<Identity, Record>, after: &BTreeMap<Identity, Record>, floor: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for (identity, record) in before {
        let Some(partner) = after.get(identity) else {
            rows.push(alone(&identity.0, record, Verdict::OnlyBefore));
            continue;
        };
        match (estimate(&identity.0, record), estimate(&identity.0, partner)) {
            (Some(a), Some(b)) => {
                rows.push(compared(&identity.0, record, (a.median, b.median), ratio(a, b), floor));
            }
            _ => rows.push(without_value(&identity.0, record, partner)),
        }
    }
    let new = after.iter().filter(|(identity, _)| !before.contains_key(*identity));
    rows.extend(new.map(|(identity, record)| alone(&identity.0, record, Verdict::OnlyAfter)));
    sorted(rows)
}

/// A result without a partner.
pub fn alone(identity: &BTreeMap<String, String>, record: &Record, verdict: Verdict) -> Row {
    let record = head(identity, record).with("verdict", verdict.name());
    Row { identity: identity.clone(), verdict, record }
}

/// A result of which one side's value cannot be.
fn without_value(identity: &BTreeMap<String, String>, before: &Record, after: &Record) -> Row {
    let mut row = alone(identity, before, Verdict::Invalid);
    for (key, side) in [("before", before), ("after", after)] {
        if let Some(value) = side.number(quantity(identity).0) {
            row.record.set(key, value);
        }
    }
    row
}

/// Why a ratio has no interval.
const UNKNOWN_SPREAD: &str = "no interval: nothing is known of the spread of one side or of both";

/// The row of a ratio.
pub fn compared(
    identity: &BTreeMap<String, String>,
    record: &Record,
    (before, after): (f64, f64),
    ratio: Estimate,
    floor: f64,
) -> Row {
    let verdict = verdict(ratio, quantity(identity).1, floor);
    let record = head(identity, record).with("before", before).with("after", after).with("ratio", ratio.median);
    let record = match ratio.is_known {
        true => record.with("ratio_ci95_low", ratio.low).with("ratio_ci95_high", ratio.high),
        false => record.with("note", UNKNOWN_SPREAD),
    };
    let record = record.with("floor", floor).with("verdict", verdict.name());
    Row { identity: identity.clone(), verdict, record }
}

/// The quantity of a row, and whether less of it is better.
fn quantity(identity: &BTreeMap<String, String>) -> (&str, bool) {
    let quantity = identity.get("quantity").map_or("", String::as_str);
    (quantity, less_is_better(quantity))
}

/// Rows by their parameters.
pub fn sorted(rows: Vec<Row>) -> Vec<Row> {
    let keys: Vec<_> = rows.iter().map(|row| natural(&row.identity)).collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].partial_cmp(&keys[b]).unwrap_or(std::cmp::Ordering::Equal));
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    order.into_iter().filter_map(|row| rows[row].take()).collect()
}

/// The sort key of rows: numbers by their value, before words.
fn natural(identity: &BTreeMap<String, String>) -> Vec<(&str, f64, &str)> {
    let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or(f64::INFINITY);
    identity.iter().map(|(key, value)| (key.as_str(), number(value), value.as_str())).collect()
}

/// The parameters of a record in its own order, and the quantity.
fn head(identity: &BTreeMap<String, String>, record: &Record) -> Record {
    let own = record.fields().filter(|(key, _)| identity.contains_key(*key));
    let head = own.fold(Record::new(), |head, (key, value)| head.with(key, value.clone()));
    head.with("quantity", identity.get("quantity").map_or("", String::as_str))
}

/// The subject of a row, for people.
pub fn told(identity: &BTreeMap<String, String>) -> String {
    identity.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// A verdict with its numbers.
pub fn sentence(record: &Record) -> String {
    if record.number("ratio").is_none() {
        let value = |key: &str| record.number(key).map_or_else(|| "none".to_owned(), figure);
        let verdict = record.text("verdict").unwrap_or_default();
        return format!("{verdict}: before {}, after {}", value("before"), value("after"));
    }
    let number = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), figure);
    let [before, after, ratio, floor] = ["before", "after", "ratio", "floor"].map(number);
    let interval = match record.number("ratio_ci95_low") {
        Some(_) => format!("95 % interval {} to {}", number("ratio_ci95_low"), number("ratio_ci95_high")),
        None => UNKNOWN_SPREAD.to_owned(),
    };
    format!("{before} -> {after}, ratio {ratio} ({interval}), floor {floor}")
}

/// A count with its noun: `1 result`, `2 results`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Whether nothing regressed, and nothing is missing or invalid.
///
/// # Errors
/// What did, in a sentence each.
pub fn judged(rows: &[Row], may_be_missing: bool) -> Result<(), Error> {
    let mut said = Vec::new();
    for (verdict, noun, rest) in [
        (Verdict::Regression, "regression", ""),
        (Verdict::Invalid, "invalid value", ""),
        (Verdict::OnlyBefore, "result", " missing after (--allow-missing accepts that)"),
    ] {
        let mine: Vec<&Row> = rows.iter().filter(|row| row.verdict == verdict).collect();
        if !mine.is_empty() && verdict.is_failure(may_be_missing) {
            let one = |row: &&Row| format!("\n  {}: {}", told(&row.identity), sentence(&row.record));
            said.push(format!("{}{rest}:{}", counted(mine.len(), noun), mine.iter().map(one).collect::<String>()));
        }
    }
    if said.is_empty() { Ok(()) } else { Err(Error::Check(said.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn estimate(low: f64, median: f64, high: f64) -> Estimate {
        Estimate { low, median, high, is_known: true }
    }

    #[test]
    fn a_ratio_has_the_interval_of_both() {
        let exact = ratio(estimate(2.0, 2.0, 2.0), estimate(3.0, 3.0, 3.0));
        assert!((exact.low - 1.5).abs() < 1e-12 && (exact.high - 1.5).abs() < 1e-12);
        // 10 % each way on both sides: exp(+-sqrt(2) ln 1.1) around 1.
        let wide = ratio(estimate(1.0 / 1.1, 1.0, 1.1), estimate(1.0 / 1.1, 1.0, 1.1));
        assert!(
            (wide.high - (2f64.sqrt() * 1.1f64.ln()).exp()).abs() < 1e-12 && (wide.low * wide.high - 1.0).abs() < 1e-12
        );
    }

    #[test]
    fn a_regression_is_beyond_the_floor_and_beyond_chance() {
        let verdict = |low, median, high, less| verdict(estimate(low, median, high), less, 0.05);
        assert_eq!(verdict(1.08, 1.10, 1.12, true), Verdict::Regression);
        assert_eq!(verdict(1.08, 1.10, 1.12, false), Verdict::Improvement);
        assert_eq!(verdict(0.95, 1.10, 1.30, true), Verdict::Undecided, "by chance, maybe");
        assert_eq!(verdict(0.0005, 2.0, 8236.0, false), Verdict::Undecided);
        assert_eq!(verdict(1.01, 1.03, 1.05, true), Verdict::Same, "within the floor");
        assert_eq!(verdict(0.80, 0.90, 0.95, false), Verdict::Regression);
    }

    #[test]
    fn without_an_interval_a_change_is_undecided() {
        let record = |us: f64| Record::new().with("benchmark", "pingpong").with("size_B", 8).with("latency_us", us);
        let row = |a: Record, b: Record| {
            let of = |record: Record| {
                let text = serde_json::json!({"schema": "hotlink/2", "records": [record]}).to_string();
                [crate::parse("f".as_ref(), &text).unwrap()]
            };
            rows(("a", &of(a)), ("b", &of(b)), Share(0.05), &[]).unwrap().remove(0)
        };
        let sampled = |us: f64| {
            let record = record(us).with("method", "measured").with("statistic_of", "latency_us");
            record.with("ci95_low", 0.99 * us).with("ci95_high", 1.01 * us)
        };
        for (a, b) in [(record(1.0), record(1.5)), (sampled(1.0), record(1.5).with("method", "measured"))] {
            let row = row(a, b);
            assert_eq!((row.verdict, row.record.number("ratio_ci95_low")), (Verdict::Undecided, None));
            assert!(sentence(&row.record).contains("nothing is known of the spread"), "{}", sentence(&row.record));
        }
        assert_eq!(row(record(1.0), record(1.01)).verdict, Verdict::Same);
        assert_eq!(row(sampled(1.0), sampled(1.5)).verdict, Verdict::Regression);
        let exact = |us: f64| record(us).with("method", "packet");
        assert_eq!(row(exact(1.0), exact(1.5)).verdict, Verdict::Regression);
        // Another seed: simulated messages have an interval, too.
        let messages = |us: f64, wide: f64| {
            let record = exact(us).with("statistic_of", "latency_us of the messages that arrived");
            record.with("ci95_low", us / wide).with("ci95_high", us * wide)
        };
        assert_eq!(row(messages(1.0, 1.2), messages(1.1, 1.2)).verdict, Verdict::Undecided);
        assert_eq!(row(messages(1.0, 1.02), messages(1.1, 1.02)).verdict, Verdict::Regression);
    }

    fn of_hosts(side: &[(&str, &str)], record: impl Fn(&str, &str) -> (Value, Value)) -> Vec<Results> {
        let one = |(place, us): &(&str, &str)| {
            let (environment, mut record) = record(place, us);
            let us = us.parse::<f64>().unwrap();
            for (key, value) in [("latency_us", us), ("ci95_low", 0.99 * us), ("ci95_high", 1.01 * us)] {
                record[key] = value.into();
            }
            record["statistic_of"] = "latency_us".into();
            let text = serde_json::json!({"schema": "hotlink/2", "environment": environment, "records": [record]});
            crate::parse("f".as_ref(), &text.to_string()).unwrap()
        };
        side.iter().map(one).collect()
    }

    /// The verdict for each place; empty where the row names none.
    fn became(before: &[Results], after: &[Results], key: &str, ignore: &[&str]) -> Vec<(String, &'static str)> {
        let ignore: Vec<String> = ignore.iter().map(|key| (*key).to_owned()).collect();
        let rows = rows(("a", before), ("b", after), Share(0.05), &ignore).unwrap();
        let told = |row: &Row| {
            let place = row.identity.get(key).cloned().unwrap_or_default();
            assert_eq!(row.record.text(key).unwrap_or_default(), place);
            (place, row.verdict.name())
        };
        rows.iter().map(told).collect()
    }

    #[test]
    fn a_missing_host_does_not_shift_the_others() {
        let own = |host: &str, _: &str| {
            (serde_json::json!({"host": host}), serde_json::json!({"benchmark": "pingpong", "size_B": 8}))
        };
        let before = of_hosts(&[("n1", "1.0"), ("n2", "1.2"), ("n3", "1.0"), ("n4", "1.2")], own);
        let after = of_hosts(&[("n2", "1.2"), ("n3", "1.2"), ("n4", "1.2")], own);
        let told = |place: &str, verdict| (place.to_owned(), verdict);
        let expected = [told("n1", "only before"), told("n2", "same"), told("n3", "regression"), told("n4", "same")];
        assert_eq!(became(&before, &after, "host", &[]), expected);
        // One host that is left of two, and one host with another: a renamed machine, or another one.
        let alone = [told("n3", "only before"), told("n4", "same")];
        assert_eq!(became(&before[2..], &after[2..], "host", &[]), alone);
        assert_eq!(became(&before[..1], &after[1..2], "host", &[]), [told("", "regression")]);
        assert_eq!(became(&before[..2], &after[..2], "host", &["host"]).len(), 2);
        let simulated = |host: &str, _: &str| {
            let record = serde_json::json!({"benchmark": "pingpong", "method": "packet", "size_B": 8});
            (serde_json::json!({"host": host}), record)
        };
        let [before, after] =
            [["n1", "n2"], ["n3", "n1"]].map(|hosts| of_hosts(&hosts.map(|host| (host, "1.0")), simulated));
        assert_eq!(became(&before, &after, "host", &[]), [told("", "same"), told("", "same")]);
    }

    #[test]
    fn imported_files_are_paired_by_the_end_of_their_path() {
        let imported = |file: &str, _: &str| {
            let record = serde_json::json!({"benchmark": "pingpong", "program": "osu", "file": file, "size_B": 8});
            (serde_json::json!({"imported_on": {"host": "reader"}}), record)
        };
        let side = |files: &[(&str, &str)]| of_hosts(files, imported);
        let told = |place: &str, verdict| (place.to_owned(), verdict);
        let before = side(&[("b/n1.txt", "1.0"), ("b/n2.txt", "1.2"), ("b/n3.txt", "1.0")]);
        let after = side(&[("a/n2.txt", "1.2"), ("a/n3.txt", "1.2")]);
        let expected = [told("n1.txt", "only before"), told("n2.txt", "same"), told("n3.txt", "regression")];
        assert_eq!(became(&before, &after, "file", &[]), expected);
        let before = side(&[("b/n1/lat.txt", "1.0"), ("b/n2/lat.txt", "1.2")]);
        let after = side(&[("a/n2/lat.txt", "1.2")]);
        assert_eq!(
            became(&before, &after, "file", &[]),
            [told("n1/lat.txt", "only before"), told("n2/lat.txt", "same")]
        );
        let (before, after) = (side(&[("before.txt", "1.0")]), side(&[("after.txt", "1.2")]));
        assert_eq!(became(&before, &after, "file", &[]), [told("", "regression")]);
    }

    #[test]
    fn many_records_of_one_identity_take_no_square_of_their_number() {
        let own = |_: &str, _: &str| (serde_json::json!({"host": "n1"}), serde_json::json!({"benchmark": "pingpong"}));
        let mut side = of_hosts(&[("n1", "1.0")], own);
        side[0].records = vec![side[0].records[0].clone(); 20_000];
        let told = became(&side, &side, "host", &[]);
        assert!(told.len() == 20_000 && told.iter().all(|(_, verdict)| *verdict == "same"));
    }

    #[test]
    fn an_interval_that_reaches_0_is_no_interval_of_a_time() {
        let side = |us: f64| {
            let record = serde_json::json!({"benchmark": "pingpong", "method": "measured", "latency_us": us,
                "statistic_of": "latency_us", "ci95_low": 0.0, "ci95_high": 1.1 * us});
            let text = serde_json::json!({"schema": "hotlink/2", "records": [record]}).to_string();
            [crate::parse("f".as_ref(), &text).unwrap()]
        };
        let row = rows(("a", &side(1.0)), ("b", &side(2.0)), Share(0.05), &[]).unwrap().remove(0);
        assert_eq!((row.verdict, row.record.get("ratio_ci95_low")), (Verdict::Undecided, None));
        let error = rows(("a", &side(1.0)), ("b", &side(-1.0)), Share(0.05), &[]).err().unwrap().to_string();
        assert!(error.ends_with("the first pair is invalid: before 1, after -1"), "{error}");
    }

    #[test]
    fn parameters_are_what_was_asked() {
        let asked = |record: Value| -> Vec<String> {
            let Value::Object(fields) = record else { return Vec::new() };
            parameters(&Record::from(fields)).map(|(key, _)| key.to_owned()).collect()
        };
        let record = serde_json::json!({"benchmark": "pingpong", "via": "shm", "size_B": 8, "latency_us": 1.5, "load": 0.5,
            "limiting_resource": "x", "n": 50, "efficiency": 0.5, "oversubscribed": false, "samples": [1.0]});
        assert_eq!(asked(record), ["benchmark", "via", "size_B", "load"]);
        let record = serde_json::json!({"benchmark": "traffic", "traffic": "uniform", "load": 0.9, "messages": 100,
            "too_short": "70 samples after the warm-up; 1024 are needed", "warmup_samples": 70, "lost_messages": 3,
            "unfinished_messages": 5, "count_controls": 12, "cache_hits": 4, "seed": 7});
        assert_eq!(asked(record), ["benchmark", "traffic", "load", "messages", "seed"]);
        let record = serde_json::json!({"fabric": "site", "benchmark": "inspection", "hosts": 36, "switch_cables": 40,
            "rings": 100, "ring_worst_seed": "7", "all_to_all_share": 0.5, "pattern": "tree"});
        assert_eq!(asked(record), ["fabric", "benchmark", "rings"]);
    }

    #[test]
    fn no_run_takes_less_than_a_bound_above_nothing() {
        let record = Record::new().with("benchmark", "goal").with("method", "packet").with("latency_us", 0.0);
        assert_eq!(invalid(&record, "latency_us"), None, "an empty schedule takes no time");
        let bounded = record.with("bound_latency_us", 1.17);
        assert_eq!(invalid(&bounded, "latency_us").unwrap(), "latency_us is 0, which no run can give");
    }

    #[test]
    fn what_is_sampled_may_say_more_than_its_key() {
        let record = Record::new().with("benchmark", "bcast").with("latency_us", 2.0).with("p99", 2.0);
        assert_eq!(quantities(&record.clone().with("statistic_of", "latency_us of the ranks")), ["latency_us"]);
        assert!(quantities(&record.clone().with("statistic_of", "overlap")).is_empty());
        let gpus = record.with("bus_bandwidth_MBps", 9.0).with("statistic_of", "the time at which each rank ends");
        assert_eq!(quantities(&gpus), ["latency_us", "bus_bandwidth_MBps"]);
        let record = Record::new().with("benchmark", "inspection").with("all_to_all_share", 0.5).with("hosts", 36);
        assert_eq!(quantities(&record), ["all_to_all_share"]);
    }

    #[test]
    fn shares() {
        assert_eq!(("5%".parse(), "0.05".parse()), (Ok(Share(0.05)), Ok(Share(0.05))));
        assert!("5".parse::<Share>().is_err() && "x%".parse::<Share>().is_err() && "nan".parse::<Share>().is_err());
    }

    proptest! {
        #[test]
        fn turning_the_runs_around_turns_the_verdict_around(
            a in (0.01f64..100.0, 1.0f64..1.3, 1.0f64..1.3), b in (0.01f64..100.0, 1.0f64..1.3, 1.0f64..1.3),
        ) {
            let make = |(median, below, above): (f64, f64, f64)| estimate(median / below, median, median * above);
            let forth = verdict(ratio(make(a), make(b)), true, 0.05);
            let back = verdict(ratio(make(b), make(a)), true, 0.05);
            let expected = match forth {
                Verdict::Regression => Verdict::Improvement,
                Verdict::Improvement => Verdict::Regression,
                same => same,
            };
            prop_assert_eq!(back, expected);
        }
    }
}
