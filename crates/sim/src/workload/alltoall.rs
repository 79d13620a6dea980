//! Exchanges: every node sends to every other node, or each flow of a demand is sent once, all at once.

use super::Run;
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::Net;
use crate::plan::Plan;
use hotlink_fabric::rng::mix;
use hotlink_fabric::traffic::Demand;

/// In what order a node serves its destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// In step k to the node k places on: every step is a permutation.
    LinearShift,
    /// In a random order of its own.
    Random,
}

/// Runs an all-to-all among all nodes and returns it with the time from start to the last arrival.
///
/// # Errors
/// See [`Net::advance`].
pub fn all_to_all(plan: &Plan<'_>, settings: &Settings, size: u64, schedule: Schedule) -> Result<Run, SimError> {
    let demand = Demand { nodes: plan.fabric.nodes(), all_pairs: 1.0, flows: Vec::new() };
    exchange(plan, settings, &demand, size, schedule)
}

/// Sends `size` bytes times the amount of each flow of `demand`, all at once. Returns that sum with the time from start
/// to the last arrival. No resource can be faster than its load, so [`Run::mbps`] never exceeds the load count's bound.
/// A node serves the listed flows in turn, a message at a time, then the all-to-all part in the order of `schedule`.
///
/// # Errors
/// See [`Net::advance`].
pub fn exchange(
    plan: &Plan<'_>,
    settings: &Settings,
    demand: &Demand,
    size: u64,
    schedule: Schedule,
) -> Result<Run, SimError> {
    let nodes = plan.fabric.nodes();
    let mut net = Net::new(plan, settings);
    let seed = settings.seed;
    let bytes = move |amount: f64| (size as f64 * amount).round() as u64;
    let mut listed: Vec<Vec<(u32, u64)>> = vec![Vec::new(); nodes as usize];
    let sent = demand.flows.iter().rev().filter(|flow| flow.source != flow.destination && flow.amount > 0.0);
    sent.for_each(|flow| listed[flow.source.0 as usize].push((flow.destination.0, bytes(flow.amount))));
    let each = bytes(demand.all_pairs);
    let all: u64 = listed.iter().flatten().map(|(_, bytes)| bytes).sum();
    net.expect(all + u64::from(nodes) * u64::from(nodes - 1) * each);
    let mut step = vec![if demand.all_pairs > 0.0 { 0 } else { nodes }; nodes as usize];
    net.supply(move |node| {
        if let Some(flow) = listed[node as usize].pop() {
            return Some(flow);
        }
        let k = step[node as usize];
        if k + 1 >= nodes {
            return None;
        }
        step[node as usize] += 1;
        let shift = match schedule {
            Schedule::LinearShift => k,
            Schedule::Random => permute(k, nodes - 1, mix(seed ^ u64::from(node))),
        };
        Some(((node + 1 + shift) % nodes, each))
    })?;
    let mut end = net.now();
    while let Some(note) = net.advance()? {
        end = if note.message().is_some() { net.now() } else { end };
    }
    let bytes = net.stats().delivered_bytes;
    Ok(Run::of(&net, end, bytes))
}

/// Place of `k` in a random order of 0..n: a Feistel network on the next even number of bits, walked until it falls
/// below n. No table of n entries a node.
fn permute(k: u32, n: u32, key: u64) -> u32 {
    let half = (32 - (n - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u32 << half) - 1;
    let mut word = k;
    loop {
        let (mut left, mut right) = (word >> half, word & mask);
        for round in 0..4 {
            let f = mix(key ^ u64::from(right) << 8 ^ round) as u32 & mask;
            (left, right) = (right, left ^ f);
        }
        word = left << half | right;
        if word < n {
            return word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_order_is_a_permutation() {
        for n in [1, 2, 3, 7, 64, 100] {
            let mut seen: Vec<u32> = (0..n).map(|k| permute(k, n, 5)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }
}
