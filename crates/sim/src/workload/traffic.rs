//! Open loop: every node offers messages at a given rate, whether the network takes them or not.
//!
//! Messages start at exponentially distributed intervals and wait in an unlimited source queue; latency counts from the
//! start. After a warm-up, what arrives in a window of time is the accepted load.

use super::Run;
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::{Net, Note};
use crate::plan::Plan;
use hotlink_event::random::Random;
use hotlink_fabric::traffic::Demand;
use hotlink_fabric::units::Time;

/// What is offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenLoop {
    /// Message size in bytes.
    pub size: u64,
    /// Payload that a sending node offers on average, in MB/s (10^6 bytes per second).
    pub offered_mbps: f64,
    /// Messages that an average sender offers before the measured window.
    pub warm_up: u32,
    /// Messages that an average sender offers in the measured window.
    pub messages: u32,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenLoopResult {
    /// Accepted load and counts.
    pub run: Run,
    /// Nodes that send.
    pub senders: u32,
    /// Latencies of the messages offered and delivered within the window, in picoseconds, ascending.
    pub latencies_ps: Vec<u64>,
}

/// Where a node's messages go.
pub(super) struct Targets {
    /// Destination and cumulated amount, of the listed flows; then the uniform rest.
    listed: Vec<(u32, f64)>,
    uniform: f64,
}

impl Targets {
    pub(super) fn total(&self) -> f64 {
        self.listed.last().map_or(0.0, |last| last.1) + self.uniform
    }
    pub(super) fn draw(&self, node: u32, nodes: u32, random: &mut Random) -> u32 {
        let point = random.unit() * self.total();
        match self.listed.iter().find(|(_, upto)| point < *upto) {
            Some((to, _)) => *to,
            None => (node + 1 + random.below(nodes - 1)) % nodes,
        }
    }
}

pub(super) fn targets(demand: &Demand) -> Vec<Targets> {
    let uniform = demand.all_pairs * f64::from(demand.nodes.saturating_sub(1));
    let mut all: Vec<Targets> = (0..demand.nodes).map(|_| Targets { listed: Vec::new(), uniform }).collect();
    for flow in demand.flows.iter().filter(|flow| flow.source != flow.destination && flow.amount > 0.0) {
        let own = &mut all[flow.source.0 as usize].listed;
        let before = own.last().map_or(0.0, |last| last.1);
        own.push((flow.destination.0, before + flow.amount));
    }
    all
}

/// Runs `what` with the pattern of `demand`.
///
/// # Errors
/// See [`Net::advance`].
pub fn open_loop(
    plan: &Plan<'_>,
    settings: &Settings,
    demand: &Demand,
    what: OpenLoop,
) -> Result<OpenLoopResult, SimError> {
    let nodes = plan.fabric.nodes();
    let targets = targets(demand);
    let senders = targets.iter().filter(|t| t.total() > 0.0).count() as u32;
    let mean: f64 = targets.iter().map(Targets::total).sum::<f64>() / f64::from(senders.max(1));
    // MB/s is bytes per microsecond.
    let gap_ps = what.size.max(1) as f64 / what.offered_mbps * 1e6;
    let gaps: Vec<f64> = targets.iter().map(|t| gap_ps * mean / t.total()).collect();
    let mut randoms: Vec<Random> = (0..nodes).map(|n| Random::new(settings.seed ^ u64::from(n) << 32)).collect();
    let mut net = Net::new(plan, settings);
    for node in (0..nodes).filter(|&n| targets[n as usize].total() > 0.0) {
        net.timer(Time(randoms[node as usize].exponential_ps(gaps[node as usize])), node);
    }
    let begin = Time((gap_ps * f64::from(what.warm_up)).round() as u64);
    let end = begin + Time((gap_ps * f64::from(what.messages)).round() as u64);
    let (mut before, mut latencies_ps) = (None, Vec::new());
    let mut after = 0;
    while let Some(note) = net.advance()? {
        let now = net.now();
        if now >= begin && before.is_none() {
            before = Some(after);
        }
        if now > end {
            break;
        }
        match note {
            Note::Timer(node) => {
                let random = &mut randoms[node as usize];
                let to = targets[node as usize].draw(node, nodes, random);
                let next = now + Time(random.exponential_ps(gaps[node as usize]));
                net.post(node, to, what.size, 0)?;
                net.timer(next, node);
            }
            Note::Delivered(message) => {
                if message.posted_ps >= begin.0 {
                    latencies_ps.push(now.0 - message.posted_ps);
                }
            }
        }
        after = net.stats().delivered_bytes;
    }
    latencies_ps.sort_unstable();
    let run = Run::of(&net, end - begin, after - before.unwrap_or(after));
    Ok(OpenLoopResult { run, senders, latencies_ps })
}
