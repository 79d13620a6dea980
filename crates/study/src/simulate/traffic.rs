//! `simulate traffic`: an open loop and its statistics, over as much time as these need.

use super::cell::identity;
use super::idle::Idle;
use crate::bound::message::by_shortest;
use crate::cell::{Cell, Offered};
use crate::model::with_injection;
use crate::sizes::Law;
use hotlink_bench::{Record, Steady, histogram};
use hotlink_bound::Bounds;
use hotlink_bound::flows::Flows;
use hotlink_fabric::traffic::{Demand, Flow};
use hotlink_fabric::units::Time;
use hotlink_sim::workload::{OpenLoop, Run, Series, SizeLaw};
use hotlink_sim::{Plan, Settings, SimError};
use serde_json::Value;
use std::collections::BTreeMap;

/// Messages of all nodes before the first check of the statistics, and of each sender at least.
const FIRST: u64 = 4096;
const FIRST_EACH: u64 = 32;
/// Packets at which a run that needs more is ended.
const MOST_PACKETS: u64 = 1 << 23;
/// The least length of half of such a run, in idle latencies: messages under way are no backlog.
const LONG: f64 = 16.0;
/// Messages from which on growth of the backlog by [`GROWTH`] of the offered load shows that a network is saturated.
const TOLD_FROM: usize = 16_384;
const GROWTH: f64 = 0.03;
/// Share of the messages that may be on their way at the end, as those of any instant are.
const MOST_UNFINISHED: f64 = 0.01;
/// Resources whose course in time is recorded unless all are asked for.
const HOTTEST: usize = 8;

/// What the bound is.
const ALIKE: &str = "what all senders can have alike under this pattern";
const ANY_SHARES: &str = "the most of what is offered that the network carries, whatever each flow gets of it: more than all can \
                          have alike";
const DRAWN_SHARES: &str =
    "of the messages that this run drew, whatever each flow gets: more arrived than the pattern allows";

/// A measurement.
struct Measured {
    /// Messages that were offered in time to count.
    offered: usize,
    /// Of these, how many have not arrived.
    missing: usize,
    /// Times in microseconds, in the order of posting, of those that have, and which message each is.
    latencies: Vec<f64>,
    of: Vec<u32>,
    steady: Option<Steady>,
    /// Begin and end of the time in which what arrives counts.
    window: [Time; 2],
    /// Payload that arrived there.
    bytes: u64,
    saturated: bool,
}

/// Runs it: its record, the counts of the run, and records of the course in time.
pub(super) fn run(
    cell: &Cell,
    offered: &Offered,
    (plan, settings): (&Plan<'_>, &Settings),
    demand: &Demand,
    bounds: &mut Bounds,
) -> Result<(Record, Run, Vec<Record>), String> {
    let failed = |error: SimError| format!("{} with {} nodes: {error}", cell.fabric, cell.nodes);
    cell.has_a_bound(plan.fabric, bounds)?;
    let law = match &offered.sizes {
        Some(name) => Law::named(name).map_err(|what| format!("--size {what}"))?,
        None => Law { law: SizeLaw::Fixed(cell.size), source: None },
    };
    if law.law.mean() <= 0.0 {
        return Err("--size 0: messages of no bytes are no load; must be 1 B or more".to_owned());
    }
    let fair = bounds.bandwidth_per_node_mbps;
    let mbps = offered.load * fair;
    let mut open = OpenLoop::new(plan, settings, demand, law.law.clone(), mbps);
    if let Some(us) = offered.series_us {
        open.watch(Time::from_us(us));
    }
    let measured = match offered.messages {
        Some(messages) => fixed(&mut open, &law.law, messages, offered.load),
        None => grown(&mut open, &law.law, plan.packet_bytes, offered.precision),
    };
    let mut measured = measured.map_err(failed)?;
    // Against a message that nothing holds back.
    let free = Settings { transport: None, ..settings.clone() };
    if offered.messages.is_none() && measured.may_fill() {
        let fills =
            |plan: &Plan<'_>, free: &Settings| measured.fills_us(&open, &mut Idle::new(plan, free, true), &law.law);
        let filled = Time::from_us(by_shortest(plan, &free, fills)?);
        measured.counts_from(filled, &open);
    }
    let [begin, end] = measured.window;
    let run = open.run(end - begin, measured.bytes);
    let senders = f64::from(open.senders().max(1));
    let accepted = run.mbps() / senders;
    // While no more is offered than all can have alike, that is the bound. What was drawn counts where more arrived than the
    // pattern allows in the mean: then alone the bound is of this run.
    let drawn = || offers(&open, begin, end, &law.law);
    let widen = |bounds: &mut Bounds, offers: &[(u32, u32, f64)]| {
        let (routes, is_loose) = ((settings.paths, settings.seed), settings.detours.is_some());
        let flows = Flows { offered: offers, shares: senders, routes, is_loose };
        let together = flows.together(plan.fabric, bounds, cell.capacities.into())?;
        if together.bandwidth_per_node_mbps > bounds.bandwidth_per_node_mbps {
            *bounds = together;
        }
        Ok::<(), String>(())
    };
    let mut bound_is = ALIKE;
    if offered.load > 1.0 {
        widen(bounds, &means(demand, mbps * senders).unwrap_or_else(drawn))?;
        bound_is = if bounds.bandwidth_per_node_mbps > fair { ANY_SHARES } else { ALIKE };
    }
    if accepted > bounds.bandwidth_per_node_mbps {
        widen(bounds, &drawn())?;
        bound_is = DRAWN_SHARES;
    }
    let bound = bounds.bandwidth_per_node_mbps;
    let mut record = cell.head(plan, settings);
    if let Some(name) = &offered.sizes {
        record.set("sizes", name.as_str());
    }
    if let Some(source) = &law.source {
        record.set("sizes_source", source.as_str());
    }
    let record = record
        .with("traffic", offered.pattern.as_str())
        .with("load", offered.load)
        .with("offered_per_node_MBps", mbps)
        .with("bandwidth_per_node_MBps", accepted)
        .with("fair_bandwidth_per_node_MBps", fair)
        .bounded("bound_bandwidth_per_node_MBps", bound, accepted / bound)
        .explained_by(bound_is);
    let record = with_injection(record, accepted, cell.injection_mbps(plan, bounds));
    let record = measured.told(record, run.stats.lost_messages, &open);
    let slowed = |plan: &Plan<'_>, free: &Settings| measured.slowed(record, &open, (plan, free), &law.law);
    let mut record = by_shortest(plan, &free, slowed)?;
    let more = match open.series() {
        Some(series) => in_time(&mut record, series, plan, &run, cell.links),
        None => Vec::new(),
    };
    Ok((record, run, more))
}

/// What each flow of a pattern offers in the mean, of `mbps` in all; `None` where every node sends to every other.
fn means(demand: &Demand, mbps: f64) -> Option<Vec<(u32, u32, f64)>> {
    let flows = || demand.flows.iter().filter(|flow| flow.source != flow.destination);
    let all: f64 = flows().map(|flow| flow.amount).sum();
    let of = |flow: &Flow| (flow.source.0, flow.destination.0, mbps * flow.amount / all);
    (demand.all_pairs == 0.0).then(|| flows().map(of).collect())
}

/// What each pair had for the network to carry from `begin` to `end`: MB/s.
fn offers(open: &OpenLoop<'_>, begin: Time, end: Time, law: &SizeLaw) -> Vec<(u32, u32, f64)> {
    let flows = open.flows();
    let mut of_pairs: BTreeMap<[u32; 2], u64> = BTreeMap::new();
    for (message, (&posted, &took)) in flows.posted_ps.iter().zip(&flows.latency_ps).enumerate() {
        let was_there = took > 0 && posted + took <= begin.0;
        if posted <= end.0 && !was_there {
            let bytes = if let SizeLaw::Fixed(bytes) = law { *bytes } else { flows.bytes[message] };
            *of_pairs.entry(flows.between[message]).or_default() += bytes;
        }
    }
    let us = (end - begin).us();
    of_pairs.into_iter().map(|([from, to], bytes)| (from, to, bytes as f64 / us)).collect()
}

/// `messages` of an average sender, after half as many.
fn fixed(open: &mut OpenLoop<'_>, law: &SizeLaw, messages: u32, load: f64) -> Result<Measured, SimError> {
    open.expect((f64::from(messages) * 1.5 * law.mean() * f64::from(open.senders())) as u64);
    let begin = open.time_of(f64::from(messages.div_ceil(2)));
    let end = begin + open.time_of(f64::from(messages));
    open.run_to(begin)?;
    let before = open.delivered_bytes();
    open.run_to(end)?;
    let offered = open.flows().posted_ps.len();
    let mut measured = Measured::at(open, offered);
    (measured.window, measured.bytes) = ([begin, end], open.delivered_bytes() - before);
    // Messages under way are no backlog, and few messages grow and shrink by chance.
    let least = GROWTH + 3.0 / (offered as f64 / 2.0).sqrt();
    // Of more than all can have alike, what stays behind in a short run does not come later.
    let tells = load > 1.0 || measured.is_long(end);
    measured.saturated = tells && measured.is_unfinished() && backlog(open, law, offered, end) > least;
    Ok(measured)
}

/// Twice as many messages until the statistics suffice, then twice as many again. A run that ended as soon as its
/// interval was narrow would end too often where it is so by chance.
fn grown(open: &mut OpenLoop<'_>, law: &SizeLaw, packet_bytes: u32, precision: f64) -> Result<Measured, SimError> {
    let packets_each = (law.mean() / f64::from(packet_bytes)).max(1.0);
    let first = FIRST.max(FIRST_EACH * u64::from(open.senders())) as f64;
    let mut messages = first.min(MOST_PACKETS as f64 / 16.0 / packets_each).max(2.0);
    let (mut suffices, mut grew) = (false, 0);
    // How many messages will do, as far as is known: nothing but the share that is told depends on it.
    let mut enough = 4.0 * messages;
    loop {
        let all = (enough.max(messages) * packets_each).min(MOST_PACKETS as f64);
        open.expect((all * f64::from(packet_bytes)) as u64);
        let end = open.time_of(messages / f64::from(open.senders().max(1)));
        open.run_to(end)?;
        let (offered, bytes) = (open.flows().posted_ps.len(), open.delivered_bytes());
        let backlog = backlog(open, law, offered, end);
        open.drain(offered, Time(end.0 + end.0 / 4))?;
        let mut measured = Measured::at(open, offered);
        let half = Time(end.0 / 2);
        // Of a steady run what follows the warm-up counts; of any other its second half.
        let warmup = measured.steady.map_or(0, |steady| steady.warmup);
        let begin = match measured.of.get(warmup) {
            Some(&first) => Time(open.flows().posted_ps[first as usize]).min(half),
            None => half,
        };
        (measured.window, measured.bytes) = ([begin, end], bytes - open.delivered_at(begin).min(bytes));
        grew = if measured.is_long(end) && offered >= TOLD_FROM && backlog > GROWTH { grew + 1 } else { 0 };
        let unsteady = measured.steady.is_none_or(|steady| steady.too_short().is_some()) || measured.is_unfinished();
        measured.saturated = grew >= 2 && unsteady;
        let is_out = open.packets() as f64 * 2.0 > MOST_PACKETS as f64;
        if suffices || is_out || measured.saturated {
            return Ok(measured);
        }
        suffices = measured.steady.is_some_and(|steady| steady.suffices(precision)) && !measured.is_unfinished();
        // Intervals narrow with the root of their number; the run that suffices is doubled once more.
        let times = measured.steady.map_or(4.0, |steady| {
            let lacks = steady.lacks(precision);
            2.0 * (lacks * lacks).max(1.0)
        });
        enough = if suffices { 2.0 * messages } else { messages * times.max(4.0) };
        messages *= 2.0;
    }
}

/// Payload posted in the second half of a run and not taken from the network there, as a share.
fn backlog(open: &OpenLoop<'_>, law: &SizeLaw, offered: usize, end: Time) -> f64 {
    let flows = open.flows();
    let half = Time(end.0 / 2);
    let from = flows.posted_ps.partition_point(|&at| at < half.0);
    let posted = match law {
        SizeLaw::Fixed(bytes) => *bytes as f64 * (offered - from) as f64,
        _ => flows.bytes[from..offered].iter().map(|&bytes| bytes as f64).sum(),
    };
    let taken = (open.delivered_bytes() - open.delivered_at(half)) as f64;
    1.0 - taken / posted.max(1.0)
}

impl Measured {
    /// Of the first `offered` messages, as far as they have arrived.
    fn at(open: &OpenLoop<'_>, offered: usize) -> Measured {
        let all = (0..offered as u32).zip(&open.flows().latency_ps);
        let (of, latencies): (Vec<u32>, Vec<f64>) =
            all.filter(|(_, ps)| **ps > 0).map(|(at, &ps)| (at, ps as f64 / 1e6)).unzip();
        let steady = Steady::of(&latencies);
        let missing = offered - of.len();
        Measured { offered, missing, latencies, of, steady, window: [Time::ZERO; 2], bytes: 0, saturated: false }
    }

    /// Whether half of the run is long: short messages are posted in numbers before the first of them can have come.
    fn is_long(&self, end: Time) -> bool {
        self.latencies.iter().copied().reduce(f64::min).is_some_and(|us| end.us() / 2.0 >= LONG * us)
    }

    fn is_unfinished(&self) -> bool {
        self.missing as f64 > MOST_UNFINISHED * self.offered as f64
    }

    /// Whether what counts may begin while the network fills: before the slowest message can have come.
    fn may_fill(&self) -> bool {
        self.window[0].us() < self.latencies.iter().copied().fold(0.0, f64::max)
    }

    /// The longest that a packet takes through the idle network.
    fn fills_us(&self, open: &OpenLoop<'_>, idle: &mut Idle<'_>, law: &SizeLaw) -> Result<f64, String> {
        // The ways of those that count are known, if any are.
        let (flows, all) = (open.flows(), idle.is_new() || self.steady.is_none());
        let of = flows.between[..self.offered].iter().zip(&flows.latency_ps);
        for (&pair, _) in of.filter(|(_, ps)| all || **ps == 0) {
            idle.way_of(pair)?;
        }
        idle.longest(idle.packet().min(law.mean() as u64))
    }

    /// What arrives counts from a time on, if it is in the first half and what counts begins earlier.
    fn counts_from(&mut self, filled: Time, open: &OpenLoop<'_>) {
        let [begin, end] = self.window;
        if begin < filled && filled.0 <= end.0 / 2 {
            self.bytes -= open.delivered_at(filled).saturating_sub(open.delivered_at(begin)).min(self.bytes);
            self.window[0] = filled;
        }
    }

    /// Those that count.
    fn steady_latencies(&self) -> &[f64] {
        &self.latencies[self.steady.map_or(0, |steady| steady.warmup)..]
    }

    /// The statistics of the messages that arrived, and what became of the others.
    fn told(&self, record: Record, lost: u64, open: &OpenLoop<'_>) -> Record {
        let Some(steady) = self.steady else {
            let what = format!("too few of {} messages had arrived in time to be measured", self.offered);
            let record = record.with("n", 0).with("too_short", what);
            return if self.saturated { record.with("saturated", true) } else { record };
        };
        let mut record = steady.into(record.with("latency_us", steady.median));
        record.set("statistic_of", "latency_us of the messages that arrived, from posting to the arrival of all of it");
        if let Some(&first) = self.of.get(steady.warmup) {
            record.set("warmup_us", open.flows().posted_ps[first as usize] as f64 / 1e6);
        }
        if self.missing > 0 {
            let lost = self.missing.min(lost as usize);
            record.set("lost_messages", lost);
            record.set("unfinished_messages", self.missing - lost);
            // Those that never arrived count as later than any other; null: among them.
            let mut sorted = self.latencies.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            for (key, share) in [("median_of_all", 0.5), ("p99_of_all", 0.99)] {
                let rank = (share * self.offered as f64).ceil() as usize;
                record.set(key, sorted.get(rank.max(1) - 1).copied());
            }
        }
        if self.saturated {
            record.set("saturated", true);
            record.set("too_short", "no steady state: more is offered than the network accepts");
        } else if self.is_unfinished() && record.get("too_short").is_none() {
            let what = format!("{} of {} messages had not arrived at the end", self.missing, self.offered);
            record.set("too_short", what);
        }
        let (ends, counts) = histogram(self.steady_latencies());
        record.with("histogram_us", ends).with("histogram_n", counts)
    }

    /// Completion times over those of the same messages alone in the network, and both by size where sizes differ. No
    /// bandwidth where what counts began before a packet can have crossed the idle network: less arrives then than later.
    fn slowed(
        &self,
        mut record: Record,
        open: &OpenLoop<'_>,
        (plan, settings): (&Plan<'_>, &Settings),
        law: &SizeLaw,
    ) -> Result<Record, String> {
        let flows = open.flows();
        let one_size = matches!(law, SizeLaw::Fixed(_));
        let mut idle = Idle::new(plan, settings, one_size);
        let warmup = self.steady.map_or(self.of.len(), |steady| steady.warmup);
        let mut slow = Vec::with_capacity(self.latencies.len() - warmup);
        for (&message, latency) in self.of.iter().zip(&self.latencies).skip(warmup) {
            let bytes = match law {
                SizeLaw::Fixed(bytes) => *bytes,
                _ => flows.bytes[message as usize],
            };
            slow.push((bytes, *latency, latency / idle.us(flows.between[message as usize], bytes)?));
        }
        let (begin, longest) = (self.window[0].us(), self.fills_us(open, &mut idle, law)?);
        if begin < longest {
            record = without_bandwidth(record);
            let what = format!(
                "what counts begins {begin:.3} us after the start, and a packet takes up to {longest:.3} us through the \
                 idle network: give more --messages"
            );
            record.set("too_short", what);
        }
        if slow.is_empty() {
            return Ok(record);
        }
        let sorted = |values: &mut Vec<f64>| values.sort_unstable_by(f64::total_cmp);
        let at = |sorted: &[f64], share: f64| {
            sorted.get(((share * sorted.len() as f64).ceil() as usize).max(1) - 1).copied()
        };
        let mut all: Vec<f64> = slow.iter().map(|&(.., slow)| slow).collect();
        record.set("slowdown_mean", all.iter().sum::<f64>() / all.len() as f64);
        sorted(&mut all);
        for (key, share) in [("slowdown_median", 0.5), ("slowdown_p99", 0.99), ("slowdown_p999", 0.999)] {
            record.set(key, at(&all, share));
        }
        if matches!(law, SizeLaw::Fixed(_)) {
            return Ok(record);
        }
        let keys =
            ["flow_upto_B", "flow_n", "flow_median_us", "flow_p99_us", "flow_slowdown_median", "flow_slowdown_p99"];
        let mut columns: [Vec<Option<f64>>; 6] = Default::default();
        let (mut least, mut most) = (0, 1000);
        while slow.iter().any(|&(bytes, ..)| bytes > least) {
            let of =
                || slow.iter().filter(|(bytes, ..)| (least..=most).contains(bytes) && (*bytes > least || least == 0));
            let (mut times, mut slows): (Vec<f64>, Vec<f64>) = of().map(|&(_, us, slow)| (us, slow)).unzip();
            sorted(&mut times);
            sorted(&mut slows);
            let row = [
                Some(most as f64),
                Some(times.len() as f64),
                at(&times, 0.5),
                at(&times, 0.99),
                at(&slows, 0.5),
                at(&slows, 0.99),
            ];
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            (least, most) = (most, 10 * most);
        }
        for (key, column) in keys.into_iter().zip(columns) {
            record.set(key, column);
        }
        Ok(record)
    }
}

/// A record of a run that tells no rate.
fn without_bandwidth(mut record: Record) -> Record {
    for key in ["bandwidth_per_node_MBps", "efficiency", "injection_share"] {
        if record.get(key).is_some() {
            record.set(key, Value::Null);
        }
    }
    record
}

/// The network's course in time for the run's record, and a record for each of the busiest resources, or of all.
fn in_time(record: &mut Record, series: &Series, plan: &Plan<'_>, run: &Run, all: bool) -> Vec<Record> {
    let us = series.interval().us();
    let mbps: Vec<f64> = series.delivered().iter().map(|&bytes| bytes as f64 / us).collect();
    let mut queued = vec![0.0; mbps.len()];
    let mut busiest: Vec<usize> = (0..run.busy.len()).filter(|&server| run.busy[server] > 0.0).collect();
    for &server in &busiest {
        queued.iter_mut().zip(series.waiting(server)).for_each(|(sum, bytes)| *sum += f64::from(bytes));
    }
    record.set("series_us", us);
    record.set("series_delivered_MBps", mbps);
    record.set("series_queued_B", queued);
    busiest.sort_by(|&a, &b| run.busy[b].total_cmp(&run.busy[a]).then(a.cmp(&b)));
    busiest.truncate(if all { busiest.len() } else { HOTTEST });
    let of = |server: usize| {
        identity(record)
            .with("method", "packet")
            .with("resource", plan.server_name(server as u32))
            .with("utilisation", run.busy[server])
            .with("series_us", us)
            .with("series_utilisation", series.utilisation(server).collect::<Vec<_>>())
            .with("series_queued_B", series.waiting(server).map(f64::from).collect::<Vec<_>>())
    };
    busiest.into_iter().map(of).collect()
}
