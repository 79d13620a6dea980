//! Which variants keep to the limits, which of those nothing beats, and what beat the others.

use crate::evaluate::Evaluated;
use hotlink_bench::Record;
use hotlink_study::Error;
use hotlink_study::model::traffic;
use hotlink_study::text::figure;
use std::collections::BTreeSet;
use std::str::FromStr;

/// What a variant must keep to.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// Total price at most so much, in the currency of the list.
    Cost(f64),
    /// Power at most so many kilowatts.
    Power(f64),
    /// At most so many racks.
    Racks(f64),
    /// No cable longer than so many metres.
    Cable(f64),
    /// At least this share of a node's injection under a pattern.
    Share(String, f64),
    /// After one failed cable (`cable`) or switch (`switch`) at least this share of the bandwidth before.
    Survive(&'static str, f64),
}

/// What may fail.
pub const PARTS: [&str; 2] = ["cable", "switch"];

impl Limit {
    /// The key of a variant's row that it limits; prices are in `currency`.
    pub(crate) fn key(&self, currency: &str) -> String {
        match self {
            Limit::Cost(_) => format!("cost_{currency}"),
            Limit::Power(_) => "power_kW".to_owned(),
            Limit::Racks(_) => "racks".to_owned(),
            Limit::Cable(_) => "longest_cable_m".to_owned(),
            Limit::Share(pattern, _) => match pattern.as_str() {
                "all-to-all" => "all_to_all_share".to_owned(),
                "bisection" => "bisection_share".to_owned(),
                "permutation:random" => "permutation_share".to_owned(),
                other => format!("share_{}", other.replace([':', '-', '.', '/'], "_")),
            },
            Limit::Survive(part, _) => format!("failed_{part}_share"),
        }
    }

    /// The pattern whose share it limits.
    pub(crate) fn traffic(&self) -> Option<&str> {
        match self {
            Limit::Share(pattern, _) => Some(pattern),
            _ => None,
        }
    }

    /// The number that it states, and whether more is allowed than less.
    fn bound(&self) -> (f64, bool) {
        match self {
            Limit::Cost(most) | Limit::Power(most) | Limit::Racks(most) | Limit::Cable(most) => (*most, false),
            Limit::Share(_, least) | Limit::Survive(_, least) => (*least, true),
        }
    }

    /// Whether a variant keeps to it. What is not known keeps to nothing; where no cable can fail, none does harm.
    fn holds(&self, record: &Record) -> bool {
        let (bound, is_least) = self.bound();
        match (self.value(record), self) {
            (Some(value), _) if is_least => value >= bound - 1e-9,
            (Some(value), _) => value <= bound,
            (None, Limit::Survive("cable", _)) => true,
            (None, _) => false,
        }
    }

    fn value(&self, record: &Record) -> Option<f64> {
        record.number(&self.key(record.text("currency").unwrap_or_default()))
    }

    /// In words.
    pub fn told(&self) -> String {
        match self {
            Limit::Cost(most) => format!("cost at most {}", figure(*most)),
            Limit::Power(most) => format!("power at most {} kW", figure(*most)),
            Limit::Racks(most) => format!("racks at most {}", figure(*most)),
            Limit::Cable(most) => format!("no cable longer than {} m", figure(*most)),
            Limit::Share(pattern, least) => format!("{pattern} at least {} of injection", figure(*least)),
            Limit::Survive(part, least) => format!("after one failed {part} at least {}", figure(*least)),
        }
    }

    /// `PATTERN=SHARE`.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn share(text: &str) -> Result<Limit, String> {
        let (pattern, least) = named(text, "PATTERN=SHARE, such as all-to-all=0.5")?;
        traffic(pattern)?;
        Ok(Limit::Share(pattern.to_owned(), least))
    }

    /// `cable=SHARE` or `switch=SHARE`.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn survive(text: &str) -> Result<Limit, String> {
        let allowed = "cable=SHARE or switch=SHARE, such as switch=0.9";
        let (part, least) = named(text, allowed)?;
        let part = PARTS.into_iter().find(|known| *known == part);
        part.map(|part| Limit::Survive(part, least)).ok_or_else(|| format!("`{text}`: must be {allowed}"))
    }

    /// A limit from above of more than nothing.
    ///
    /// # Errors
    /// It is none.
    pub fn most(text: &str) -> Result<f64, String> {
        let most = f64::from_str(text).ok().filter(|most| most.is_finite() && *most > 0.0);
        most.ok_or_else(|| format!("`{text}`: must be a number above 0"))
    }
}

fn named<'t>(text: &'t str, allowed: &str) -> Result<(&'t str, f64), String> {
    let wrong = || format!("`{text}`: must be {allowed}, with a share above 0, up to 1");
    // A pattern may hold `=` in a file's name.
    let (name, share) = text.rsplit_once('=').ok_or_else(wrong)?;
    let share = share.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    Ok((name, share.ok_or_else(wrong)?))
}

/// A quantity of the front: its key, and whether less is better.
type Quantity = (String, bool);

/// Most limits at once: which of them bind is found among all their sets.
pub const MOST_LIMITS: usize = 16;

/// Marks which variants keep to the limits, which are on the front of their number of hosts, and what beat the others.
/// Rows of the limits; sizes at which none keeps to all go to `impossible`.
pub(crate) fn judge(
    variants: &mut [Evaluated],
    limits: &[Limit],
    impossible: &mut Vec<String>,
) -> Result<Vec<Record>, Error> {
    let currencies: BTreeSet<&str> = variants.iter().filter_map(|one| one.record.text("currency")).collect();
    if currencies.len() > 1 {
        let listed: Vec<&str> = currencies.into_iter().collect();
        return Err(Error::Input(format!(
            "prices are in {}: nothing is converted; give all of them in one currency (--prices)",
            listed.join(" and ")
        )));
    }
    for one in variants.iter_mut() {
        let missed: Vec<String> = limits.iter().filter(|limit| !limit.holds(&one.record)).map(Limit::told).collect();
        one.record.set("meets", missed.is_empty());
        one.record.set("misses", missed);
    }
    let mut rows = Vec::new();
    for group in variants.chunk_by_mut(|a, b| hosts(&a.record) == hosts(&b.record)) {
        front(group);
        let records: Vec<&Record> = group.iter().map(|one| &one.record).collect();
        let binding = binding(limits, &records);
        rows.extend(limits.iter().enumerate().map(|(at, limit)| row(limits, at, limit, &records, &binding)));
        if !binding.is_empty() {
            let told = |&at: &usize| {
                let best = best(&limits[at], &meeting(limits, &records, &binding));
                let best = best.map_or_else(String::new, |best| format!(" (best of the rest: {})", figure(best)));
                format!("{}{best}", limits[at].told())
            };
            let told: Vec<String> = binding.iter().map(told).collect();
            let hosts = hosts(records[0]).unwrap_or_default();
            impossible.push(format!("{hosts} hosts: no variant keeps to all limits; what binds: {}", told.join("; ")));
        }
    }
    Ok(rows)
}

fn hosts(record: &Record) -> Option<u64> {
    record.number("hosts").map(|hosts| hosts as u64)
}

/// What is compared: price, power, and what the exchange and a random permutation get; each where all variants have it.
fn quantities(records: &[&Record]) -> Vec<Quantity> {
    let currency = records.iter().find_map(|record| record.text("currency")).unwrap_or_default();
    let all = [
        (format!("cost_{currency}"), true),
        ("power_kW".to_owned(), true),
        ("all_to_all_MBps".to_owned(), false),
        ("permutation_MBps".to_owned(), false),
    ];
    all.into_iter().filter(|(key, _)| records.iter().all(|record| record.number(key).is_some())).collect()
}

/// Relative differences below this are rounding.
const SAME: f64 = 1e-9;

/// Whether `a` is as good as `b` in everything, and better in something.
fn beats(a: &Record, b: &Record, quantities: &[Quantity]) -> bool {
    let gain = |(key, less): &Quantity| {
        let (a, b) = (a.number(key)?, b.number(key)?);
        let gain = (a - b) / a.abs().max(b.abs()).max(f64::MIN_POSITIVE);
        Some(if *less { -gain } else { gain })
    };
    let gains: Vec<f64> = quantities.iter().filter_map(gain).collect();
    gains.iter().all(|&gain| gain >= -SAME) && gains.iter().any(|&gain| gain > SAME)
}

fn front(group: &mut [Evaluated]) {
    let records: Vec<Record> = group.iter().map(|one| one.record.clone()).collect();
    let meets = |record: &&Record| record.get("meets").is_some_and(|meets| meets == true);
    let listed: Vec<&Record> = records.iter().collect();
    let quantities = quantities(&listed);
    let compared: Vec<&str> = quantities.iter().map(|(key, _)| key.as_str()).collect();
    for (one, own) in group.iter_mut().zip(&records) {
        one.record.set("compared", compared.clone());
        let beaten_by = records.iter().filter(meets).find(|other| beats(other, own, &quantities));
        let is_front = meets(&own) && beaten_by.is_none() && !quantities.is_empty();
        one.record.set("front", is_front);
        if let Some(name) = beaten_by.and_then(|other| other.text("fabric")) {
            one.record.set("beaten_by", name);
        }
    }
}

/// The records that keep to all limits but those of `dropped`.
fn meeting<'r>(limits: &[Limit], records: &[&'r Record], dropped: &[usize]) -> Vec<&'r Record> {
    let kept = || limits.iter().enumerate().filter(|(at, _)| !dropped.contains(at));
    records.iter().copied().filter(|record| kept().all(|(_, limit)| limit.holds(record))).collect()
}

/// The fewest limits without which some variant keeps to the rest; none where one keeps to all.
fn binding(limits: &[Limit], records: &[&Record]) -> Vec<usize> {
    let count = limits.len();
    let mut sets: Vec<Vec<usize>> =
        (0..1_u32 << count).map(|set| (0..count).filter(|at| set >> at & 1 == 1).collect()).collect();
    sets.sort_by_key(Vec::len);
    sets.into_iter().find(|set| !meeting(limits, records, set).is_empty()).unwrap_or_default()
}

fn best(limit: &Limit, records: &[&Record]) -> Option<f64> {
    let (_, is_least) = limit.bound();
    let values = records.iter().filter_map(|record| limit.value(record));
    if is_least { values.max_by(f64::total_cmp) } else { values.min_by(f64::total_cmp) }
}

fn row(limits: &[Limit], at: usize, limit: &Limit, records: &[&Record], binding: &[usize]) -> Record {
    let alone = records.iter().filter(|record| limit.holds(record)).count();
    let without = meeting(limits, records, &[at]);
    let mut row = Record::new()
        .with("benchmark", "design")
        .with("kind", "constraint")
        .with("hosts", hosts(records[0]))
        .with("constraint", limit.told())
        .with("limit", limit.bound().0)
        .with("met_by", alone)
        .with("met_by_without", without.len())
        .with("of", records.len())
        .with("binds", binding.contains(&at));
    if let Some(best) = best(limit, &without).or_else(|| best(limit, records)) {
        row.set("best", best);
    }
    row
}

/// What beat the variant `name`, a line each.
///
/// # Errors
/// There is none of that name.
pub(crate) fn why(variants: &[Evaluated], name: &str) -> Result<Vec<String>, Error> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let found = variants.iter().map(|one| &one.record).find(|record| record.text("fabric") == Some(name));
    let Some(own) = found else {
        let names = variants.iter().filter_map(|one| one.record.text("fabric"));
        let near = hotlink_fabric::catalog::nearest(name, names.clone());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let names: Vec<&str> = names.collect();
        return Err(Error::Input(format!("--why {name}: is no variant{near} (allowed: {})", names.join(", "))));
    };
    let missed = own.get("misses").and_then(|list| list.as_array().cloned()).unwrap_or_default();
    let mut lines: Vec<String> =
        missed.iter().filter_map(|text| text.as_str()).map(|text| format!("{name} misses: {text}")).collect();
    let group: Vec<&Record> =
        variants.iter().map(|one| &one.record).filter(|record| hosts(record) == hosts(own)).collect();
    let quantities = quantities(&group);
    let meets = |record: &Record| record.get("meets").is_some_and(|meets| meets == true);
    for other in group.iter().filter(|other| meets(other) && beats(other, own, &quantities)) {
        let told = quantities.iter().filter_map(|(key, _)| {
            let (theirs, ours) = (other.number(key)?, own.number(key)?);
            let same = (theirs - ours).abs() <= SAME * theirs.abs().max(ours.abs());
            let both = format!("{key} {} for {}", figure(theirs), figure(ours));
            Some(if same { format!("{key} the same") } else { both })
        });
        let told: Vec<String> = told.collect();
        lines.push(format!("{} beats {name}: {}", other.text("fabric").unwrap_or_default(), told.join(", ")));
    }
    if lines.is_empty() {
        let compared: Vec<&str> = quantities.iter().map(|(key, _)| key.as_str()).collect();
        lines.push(format!("{name} is on the front: nothing is as good in all of {}", compared.join(", ")));
    }
    Ok(lines)
}
