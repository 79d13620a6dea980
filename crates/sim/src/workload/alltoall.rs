//! Every node sends `size` bytes to every other node, all at once.

use super::Run;
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::Net;
use crate::plan::Plan;
use crate::random::mix;

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
    let nodes = plan.fabric.nodes();
    let mut net = Net::new(plan, settings);
    let seed = settings.seed;
    let mut step = vec![0u32; nodes as usize];
    net.supply(move |node| {
        let k = step[node as usize];
        step[node as usize] += 1;
        let shift = match schedule {
            _ if k + 1 >= nodes => return None,
            Schedule::LinearShift => k,
            Schedule::Random => permute(k, nodes - 1, mix(seed ^ u64::from(node))),
        };
        Some(((node + 1 + shift) % nodes, size))
    })?;
    while net.advance()?.is_some() {}
    let bytes = net.stats().delivered_bytes;
    Ok(Run::of(&net, net.now(), bytes))
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
