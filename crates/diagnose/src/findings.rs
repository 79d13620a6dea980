//! What stands out: of all runs against the bound, of hosts and pairs against each other.

use crate::cables::Routes;
use crate::robust::{Spread, median};
use crate::series::Series;
use crate::signatures::{Facts, Thresholds};
use crate::units::{Unit, units};
use hotlink_bench::Record;
use std::collections::{BTreeMap, BTreeSet};

/// Something that stands out.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its kind, as signatures name it.
    pub kind: &'static str,
    /// The host or pair; `all`.
    pub subject: String,
    /// The pairs by their names, where it may lie between hosts; else as `subject`.
    pub path: String,
    /// The hosts that it is about; none for all.
    pub hosts: Vec<String>,
    /// The pairs that it is about, as they were measured.
    pub pairs: Vec<Vec<String>>,
    /// What was seen, in words.
    pub what: String,
    /// Its facts.
    pub facts: Facts,
    /// The files that show it.
    pub files: Vec<String>,
    /// A number of large messages that shows it.
    pub largest: Option<Record>,
}

impl Finding {
    fn new(kind: &'static str, hosts: Vec<String>, what: String, facts: Facts) -> Finding {
        let subject = if hosts.is_empty() { "all".to_owned() } else { hosts.join(" - ") };
        let path = subject.clone();
        Finding { kind, subject, path, hosts, pairs: Vec::new(), what, facts, files: Vec::new(), largest: None }
    }
}

/// Everything that stands out in the numbers. Times of short messages may differ by `distance_us`. Where the routes are
/// known, one cable that explains all bad pairs is believed before several hosts.
pub fn findings(series: &[Series], limits: &Thresholds, distance_us: f64, routes: Option<&Routes>) -> Vec<Finding> {
    let mut found = of_all(series, limits);
    let is_beyond = found.iter().any(|finding| finding.kind == "beyond");
    if !is_beyond {
        let units = units(series, limits, distance_us);
        let of = |is_bad: fn(&Unit) -> bool, is_known: fn(&Unit) -> bool| {
            Culprits::of(&units, is_bad, is_known).or_one_cable(&units, is_bad, routes)
        };
        let low = of(|unit| unit.is_low, |unit| unit.large.is_some());
        let slow = of(|unit| unit.is_slow, |unit| unit.small.is_some());
        let late = of(|unit| unit.is_late, |unit| unit.steady.is_some());
        let late = late.of_messages(&units, limits.least_late);
        found.extend(of_hosts(&units, [&low, &slow, &late]));
        found.extend(of_pairs(&units, [&low, &slow, &late]));
    }
    found
}

/// Series of one benchmark with the same settings.
fn groups(series: &[Series]) -> BTreeMap<&str, Vec<&Series>> {
    let mut groups: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    series.iter().for_each(|one| groups.entry(one.key.as_str()).or_default().push(one));
    groups
}

fn of_all(series: &[Series], limits: &Thresholds) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut facts = Facts::from([("runs", series.len() as f64)]);
    let streams: Vec<&Series> = series.iter().filter(|one| one.is_stream && !one.is_both).collect();
    let counted = if streams.is_empty() { series.iter().collect() } else { streams };
    let levels: Vec<f64> = counted.iter().filter_map(|one| one.large(limits)).collect();
    let smalls: Vec<f64> = series.iter().filter_map(|one| one.small(limits)).collect();
    let large = Spread::of(&levels);
    if let Some(large) = large {
        facts.extend([("large", large.median), ("spread", large.deviation)]);
    }
    facts.extend(median(&smalls).map(|small| ("small", small)));
    if let Some(one) = counted.first() {
        let is = |program: &str| f64::from(u8::from(one.largest.text("program") == Some(program)));
        facts.extend([("tcp", is("iperf3")), ("nccl", is("nccl-tests"))]);
        facts.extend(one.largest.number("streams").map(|streams| ("streams", streams)));
        facts.insert("flows", one.largest.number("pairs").unwrap_or(1.0));
    }
    let mut all = |kind, what: String, facts: &Facts| {
        let largest = counted.iter().filter(|one| one.large(limits).is_some()).map(|one| one.largest.clone()).next();
        let files = series.iter().map(|one| one.file.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        found.push(Finding { files, largest, ..Finding::new(kind, Vec::new(), what, facts.clone()) });
    };
    let share = |value: f64| hotlink_study::text::figure(value);
    let (top, small) = (large.map(|large| large.median), median(&smalls));
    let is_beyond = [top, small].into_iter().flatten().any(|level| level > limits.beyond);
    if is_beyond {
        let of = |level: Option<f64>| level.map_or("unknown".to_owned(), share);
        let what =
            format!("numbers beat the bound: large messages reach {} of it, short messages {}", of(top), of(small));
        all("beyond", what, &facts);
        return found;
    }
    let healthy = levels.iter().filter(|level| **level >= limits.healthy_large).count();
    if let Some(top) = top.filter(|top| *top < limits.healthy_large && 5 * healthy < levels.len()) {
        all("low", format!("large messages reach {} of the bound in most runs", share(top)), &facts);
    }
    if let Some(small) = small.filter(|small| *small < limits.healthy_small) {
        let times = share(1.0 / small);
        all("slow", format!("short messages take {times} times what the network needs, in most runs"), &facts);
    }
    for (key, group) in groups(series) {
        if let Some(knee) = knee(&group, limits) {
            let mut facts = facts.clone();
            facts.extend([("knee", knee.loss), ("recovers", knee.recovers)]);
            let (loss, before, after) = (share(100.0 * knee.loss), knee.before, knee.after);
            all("knee", format!("{key}: {loss} % of the rate are lost between {before} and {after} B"), &facts);
        }
    }
    found.extend(both_ways(series, limits));
    // A host that took part in every run may be the reason for all of them.
    let bad = found.iter().find(|finding| ["low", "slow"].contains(&finding.kind)).cloned();
    if let (Some(bad), Some(host)) = (bad, common(series)) {
        let kind = if bad.kind == "low" { "host-low" } else { "host-slow" };
        let what = format!("took part in every run: {}", bad.what);
        let facts = Facts::from_iter(bad.facts.into_iter().filter(|(fact, _)| ["large", "runs"].contains(fact)));
        let finding = Finding::new(kind, vec![host], what, facts);
        found.push(Finding { files: bad.files, largest: bad.largest, ..finding });
    }
    found
}

/// The one host that took part in every run of two hosts, where there are runs of several pairs.
fn common(series: &[Series]) -> Option<String> {
    let mut hosts = series.iter().map(|one| one.hosts.iter().collect::<BTreeSet<_>>());
    let first = hosts.next()?;
    let left = hosts.fold(first, |left, next| left.intersection(&next).copied().collect());
    (left.len() == 1).then(|| left.into_iter().next().cloned()).flatten()
}

/// A loss from one size to the next.
struct Knee {
    before: u64,
    after: u64,
    loss: f64,
    recovers: f64,
}

/// The deepest, in the middle over the runs; a single size that is low is none.
fn knee(group: &[&Series], limits: &Thresholds) -> Option<Knee> {
    let mut at: BTreeMap<u64, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for point in group.iter().flat_map(|one| &one.curve) {
        // No bytes have no rate that could be lost.
        let size = point.size?;
        if size == 0 {
            continue;
        }
        let (levels, times) = at.entry(size).or_default();
        levels.push(point.level);
        times.extend(point.us);
    }
    let curve: Option<Vec<(u64, f64, f64)>> =
        at.iter().map(|(size, (levels, times))| Some((*size, median(levels)?, median(times)?))).collect();
    let curve = curve?;
    let last = curve.last()?.1;
    // How the time grows from one size to the next: at a knee by more than before and after.
    let growth: Vec<f64> = curve.windows(2).map(|two| two[1].2 / two[0].2).collect();
    let is_jump = |at: usize| {
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| growth.get(at));
        let beside = beside.copied().fold(1.0, f64::max);
        growth[at] * (1.0 - limits.knee) > beside
    };
    let steps = curve.windows(3).enumerate().filter(|(at, _)| is_jump(*at)).map(|(_, three)| {
        let [(before, high, _), (after, next, _), (_, later, _)] = [three[0], three[1], three[2]];
        Knee { before, after, loss: 1.0 - next.max(later) / high, recovers: last / high }
    });
    let deepest = steps.max_by(|a, b| a.loss.total_cmp(&b.loss))?;
    (deepest.loss > limits.knee).then_some(deepest)
}

/// Both directions at once against one, between the same hosts.
fn both_ways(series: &[Series], limits: &Thresholds) -> Option<Finding> {
    let of = |is_both: bool| {
        let mine = series.iter().filter(move |one| one.is_stream && one.is_both == is_both);
        median(&mine.filter_map(|one| one.large(limits)).collect::<Vec<_>>())
    };
    let (one, both) = (of(false)?, of(true)?);
    let ratio = both / one;
    if ratio >= limits.both {
        return None;
    }
    let what = format!(
        "both directions at once reach {} of twice the rate of one direction",
        hotlink_study::text::figure(ratio)
    );
    Some(Finding::new("both-ways", Vec::new(), what, Facts::from([("both", ratio), ("large", one)])))
}

/// Hosts and pairs that explain which units are bad.
#[derive(Default)]
struct Culprits {
    /// Hosts all of whose units are bad, of two or more; or the one host of a bad unit that no other unit clears.
    hosts: BTreeSet<String>,
    /// Units that no host explains, or only hosts that no second unit speaks of.
    rest: Vec<usize>,
}

impl Culprits {
    fn of(units: &[Unit], is_bad: impl Fn(&Unit) -> bool, is_known: impl Fn(&Unit) -> bool) -> Culprits {
        let mut left: Vec<usize> = (0..units.len()).filter(|&at| is_bad(&units[at])).collect();
        let mut found = Culprits::default();
        let of = |host: &String| units.iter().filter(|unit| is_known(unit) && unit.hosts.contains(host)).count();
        loop {
            let mut bad: BTreeMap<&String, usize> = BTreeMap::new();
            for host in left.iter().flat_map(|&at| units[at].hosts.iter().collect::<BTreeSet<_>>()) {
                *bad.entry(host).or_default() += 1;
            }
            // As sender or as receiver alone: half of the host's units are bad then.
            let one_way = |host: &String| {
                [0, 1].into_iter().any(|end| {
                    let mine = units.iter().filter(|unit| is_known(unit) && unit.hosts.get(end) == Some(host));
                    let (all, bad) = mine.fold((0, 0), |(all, bad), unit| (all + 1, bad + usize::from(is_bad(unit))));
                    all >= 2 && all == bad
                })
            };
            let is_whole = |host: &String, count: usize| 4 * count >= 3 * of(host) || one_way(host);
            let worst = bad.iter().filter(|&(host, &count)| count >= 2 && is_whole(host, count));
            let Some((host, _)) = worst.max_by_key(|&(host, &count)| (count, count * 1000 / of(host).max(1))) else {
                break;
            };
            let host = (*host).clone();
            left.retain(|&at| !units[at].hosts.contains(&host));
            found.hosts.insert(host);
        }
        let mut alone = Vec::new();
        for at in left {
            let is_cleared = |host: &&String| of(host) > 1 || found.hosts.contains(*host);
            let open: Vec<&String> = units[at].hosts.iter().filter(|host| !is_cleared(host)).collect();
            match open[..] {
                [one] if units[at].hosts.len() <= 2 => {
                    found.hosts.insert(one.clone());
                    alone.push(at);
                }
                _ => found.rest.push(at),
            }
        }
        // Several hosts, each of one bad unit: what lies between them may be one cause of all.
        if alone.len() > 1 || !found.rest.is_empty() {
            found.rest.extend(alone);
            found.rest.sort_unstable();
        }
        found
    }
}

impl Culprits {
    /// The same, or no host where one cable explains all bad units and no host alone does.
    fn or_one_cable(self, units: &[Unit], is_bad: impl Fn(&Unit) -> bool, routes: Option<&Routes>) -> Culprits {
        let Some(routes) = routes.filter(|_| !self.hosts.is_empty() && self.hosts.len() + self.rest.len() > 1) else {
            return self;
        };
        let (bad, good): (Vec<usize>, Vec<usize>) = (0..units.len()).partition(|&at| is_bad(&units[at]));
        let is_between_two = |at: &usize| units[*at].hosts.len() == 2;
        let is_one_host = |host: &String| bad.iter().all(|&at| units[at].hosts.contains(host));
        if !bad.iter().all(is_between_two) || self.hosts.iter().any(is_one_host) {
            return self;
        }
        let of = |at: &usize| &units[*at].hosts[..];
        let shared = routes.shared(bad.iter().map(of), good.iter().filter(|at| is_between_two(at)).map(of));
        if shared.is_empty() { self } else { Culprits { hosts: BTreeSet::new(), rest: bad } }
    }

    /// Those with so many late messages that chance no longer explains them.
    fn of_messages(mut self, units: &[Unit], least: f64) -> Culprits {
        let messages = |is_mine: &dyn Fn(&Unit) -> bool| -> f64 {
            units.iter().filter(|unit| unit.is_late && is_mine(unit)).map(|unit| unit.late).sum()
        };
        self.hosts.retain(|host| messages(&|unit| unit.hosts.contains(host)) >= least);
        self.rest.retain(|&at| messages(&|unit| unit.is_same_pair(&units[at])) >= least);
        self
    }
}

/// The median of one end's values over that of the other's.
fn ratio(top: &[f64], under: &[f64]) -> Option<f64> {
    Some(median(top)? / median(under)?)
}

/// Large messages there and back over a stream of them: near 1 where both directions are alike.
fn round<'u>(units: impl Iterator<Item = &'u Unit>) -> Option<(&'static str, f64)> {
    let ratios = units.filter(|unit| unit.is_directed).filter_map(|unit| Some(unit.round? / unit.large?));
    Some(("round", median(&ratios.collect::<Vec<_>>())?))
}

fn of_hosts(units: &[Unit], [low, slow, late]: [&Culprits; 3]) -> Vec<Finding> {
    let one = |host: &String| {
        let mine: Vec<&Unit> = units.iter().filter(|unit| unit.hosts.contains(host)).collect();
        let large = |end: Option<usize>| {
            let mine =
                mine.iter().filter(|unit| end.is_none_or(|end| unit.is_directed && unit.hosts.get(end) == Some(host)));
            mine.filter_map(|unit| unit.large).collect::<Vec<_>>()
        };
        let bad = mine.iter().filter(|unit| unit.is_low).filter_map(|unit| unit.large);
        let level = median(&bad.collect::<Vec<_>>()).or_else(|| median(&large(None)));
        let small = median(&mine.iter().filter_map(|unit| unit.small).collect::<Vec<_>>());
        let mut facts =
            Facts::from([("partners", mine.iter().map(|unit| unit.pair()).collect::<BTreeSet<_>>().len() as f64)]);
        facts.extend(level.map(|level| ("large", level)));
        facts.extend(small.map(|small| ("small", small)));
        facts.extend(median(&mine.iter().filter_map(|unit| unit.steady).collect::<Vec<_>>()).map(|it| ("steady", it)));
        facts.extend(ratio(&large(Some(0)), &large(Some(1))).map(|ratio| ("sending", ratio)));
        facts.extend(round(mine.iter().copied().filter(|unit| unit.is_low)));
        let kind = match () {
            () if low.hosts.contains(host) => "host-low",
            () if slow.hosts.contains(host) => "host-slow",
            () => "host-late",
        };
        let share = |value: Option<f64>| value.map_or("unknown".to_owned(), hotlink_study::text::figure);
        let what = format!("{} of what others reach at large messages, {} at short ones", share(level), share(small));
        let mut finding = Finding::new(kind, vec![host.clone()], what, facts);
        finding.files = mine.iter().flat_map(|unit| unit.files.iter().cloned()).collect();
        finding.largest = mine.iter().find_map(|unit| unit.largest.clone());
        let bad = mine.iter().filter(|unit| unit.is_low || unit.is_slow || unit.is_late);
        finding.path = shown(&bad.clone().map(|unit| unit.pair()).collect());
        // So that they clear no cable as good pairs do.
        finding.pairs = bad.map(|unit| unit.hosts.clone()).collect();
        finding
    };
    low.hosts.iter().chain(&slow.hosts).chain(&late.hosts).collect::<BTreeSet<_>>().into_iter().map(one).collect()
}

/// Pairs: each whose hosts were measured nowhere else alone, all others together.
fn of_pairs(units: &[Unit], culprits: [&Culprits; 3]) -> Vec<Finding> {
    let mut found = Vec::new();
    // What is low or slow, too, is reported once.
    let mut told: BTreeSet<&Vec<String>> = BTreeSet::new();
    for (kind, culprits) in ["pair-low", "pair-slow", "pair-late"].into_iter().zip(culprits) {
        let mine = culprits.rest.iter().map(|&at| &units[at]).filter(|unit| !told.contains(&unit.hosts));
        let mine: Vec<&Unit> = mine.collect();
        told.extend(mine.iter().map(|unit| &unit.hosts));
        let mine = mine.into_iter();
        let (lone, met): (Vec<&Unit>, Vec<&Unit>) = mine.partition(|unit| {
            let others = |host: &String| {
                units.iter().filter(|other| other.hosts.contains(host)).any(|other| !other.is_same_pair(unit))
            };
            !unit.hosts.iter().any(others)
        });
        let mut pairs: BTreeMap<Vec<String>, Vec<&Unit>> = BTreeMap::new();
        lone.iter().for_each(|unit| pairs.entry(unit.pair()).or_default().push(unit));
        found.extend(pairs.values().map(|mine| pair_finding(kind, units, mine, true)));
        if !met.is_empty() {
            found.push(pair_finding(kind, units, &met, false));
        }
    }
    found
}

/// The first pairs by name, and how many more there are.
fn shown(pairs: &BTreeSet<Vec<String>>) -> String {
    const SHOWN: usize = 3;
    let mut text = pairs.iter().take(SHOWN).map(|pair| pair.join(" - ")).collect::<Vec<_>>().join(", ");
    if pairs.len() > SHOWN {
        text += &format!(" and {} more pairs", pairs.len() - SHOWN);
    }
    text
}

fn pair_finding(kind: &'static str, units: &[Unit], mine: &[&Unit], is_lone: bool) -> Finding {
    let pairs: BTreeSet<Vec<String>> = mine.iter().map(|unit| unit.pair()).collect();
    let large = median(&mine.iter().filter_map(|unit| unit.large).collect::<Vec<_>>());
    let small = median(&mine.iter().filter_map(|unit| unit.small).collect::<Vec<_>>());
    let flows = mine.iter().find_map(|unit| unit.largest.as_ref()?.number("pairs")).unwrap_or(1.0);
    let mut facts =
        Facts::from([("runs", mine.len() as f64), ("flows", flows), ("lone", f64::from(u8::from(is_lone)))]);
    facts.extend(large.map(|large| ("large", large)));
    facts.extend(small.map(|small| ("small", small)));
    facts.extend(median(&mine.iter().filter_map(|unit| unit.steady).collect::<Vec<_>>()).map(|it| ("steady", it)));
    facts.extend(round(mine.iter().copied()));
    // The path back of each pair, where it was measured: whether it is as bad.
    let back = |unit: &&&Unit| {
        units.iter().find(|other| unit.is_directed && other.is_back_of(unit)).and_then(|other| other.large)
    };
    let backs: Vec<f64> = mine.iter().filter_map(|unit| back(&unit)).collect();
    facts.extend(large.zip(median(&backs)).map(|(large, back)| ("sending", large / back)));
    let subject = shown(&pairs);
    let share = |value: Option<f64>| value.map_or("unknown".to_owned(), hotlink_study::text::figure);
    let what = format!("{} of what others reach at large messages, {} at short ones", share(large), share(small));
    let hosts = pairs.iter().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let measured = mine.iter().map(|unit| unit.hosts.clone()).collect();
    let path = subject.clone();
    let mut finding = Finding { subject, path, pairs: measured, ..Finding::new(kind, hosts, what, facts) };
    finding.files = mine.iter().flat_map(|unit| unit.files.iter().cloned()).collect();
    finding.largest = mine.iter().find_map(|unit| unit.largest.clone());
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Point;
    use crate::signatures::Knowledge;

    #[test]
    fn messages_without_bytes_have_no_knee() {
        let limits = &Knowledge::embedded().threshold;
        let point = |(size, level, us): (u64, f64, f64)| Point {
            size: Some(size),
            level,
            of_bytes: Some(level),
            us: Some(us),
            steadiness: None,
            late: None,
            late_trip_us: None,
        };
        let of = |rows: &[(u64, f64, f64)]| Series {
            file: "f".to_owned(),
            hosts: Vec::new(),
            key: "allreduce".to_owned(),
            benchmark: "allreduce".to_owned(),
            is_both: false,
            curve: rows.iter().copied().map(point).collect(),
            is_latency: false,
            is_stream: false,
            largest: Record::default(),
        };
        let rest = [(8, 0.5, 9.0), (16, 0.5, 9.0), (32, 0.5, 9.1), (64, 0.5, 9.2)];
        let with = |first: (u64, f64, f64)| of(&[&[first], &rest[..]].concat());
        let knee = |one: &Series| knee(&[one], limits).map(|knee| (knee.before, knee.after));
        assert_eq!(knee(&with((0, 29.0, 0.05))), None);
        assert_eq!(knee(&with((4, 29.0, 0.05))), Some((4, 8)), "the same of messages with bytes");
    }

    #[test]
    fn one_pause_of_a_machine_is_no_late_pair() {
        let unit = |hosts: [&str; 2], late: f64| Unit {
            hosts: hosts.map(str::to_owned).to_vec(),
            steady: Some(if late > 0.0 { 0.1 } else { 1.0 }),
            is_late: late > 0.0,
            late,
            ..Unit::default()
        };
        let found = |units: &[Unit]| {
            let late = Culprits::of(units, |unit| unit.is_late, |unit| unit.steady.is_some()).of_messages(units, 2.0);
            (late.hosts.into_iter().collect::<Vec<_>>(), late.rest)
        };
        let sound = [unit(["b", "c"], 0.0), unit(["c", "d"], 0.0), unit(["d", "a"], 0.0)];
        let with = |late: f64| sound.iter().cloned().chain([unit(["a", "b"], late)]).collect::<Vec<_>>();
        // The 99th percentile of some fifty messages is one message.
        assert_eq!(found(&with(1.0)), (vec![], vec![]));
        assert_eq!(found(&with(2.0)), (vec![], vec![3]));
        assert_eq!(found(&with(f64::INFINITY)), (vec![], vec![3]), "programs that do not say how many are believed");
        // The path back counts with the path there; a host with all its pairs.
        let both: Vec<Unit> = with(1.0).into_iter().chain([unit(["b", "a"], 1.0)]).collect();
        assert_eq!(found(&both), (vec![], vec![3, 4]));
        let host = [("a", "b"), ("d", "a")].map(|(from, to)| unit([from, to], 1.0));
        assert_eq!(found(&host), (vec!["a".to_owned()], vec![]));
    }
}
