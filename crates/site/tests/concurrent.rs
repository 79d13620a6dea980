//! The capacity of cables: bounds that meet, that agree with closed forms, and whose proof adds up.

use hotlink_fabric::network::{Channel, Resource};
use hotlink_fabric::{Fabric, import, technology};
use hotlink_site::concurrent::{Concurrent, all_to_all};
use std::fmt::Write;

/// Hosts on switches, and cables between switches, 100 MB/s each; hosts' own links are as fast as asked.
fn fabric(hosts: &[u32], cables: &[(usize, usize)], own_mbps: f64) -> Fabric {
    let mut links = String::new();
    let mut host = 0;
    for (switch, count) in hosts.iter().enumerate() {
        for _ in 0..*count {
            let _ = write!(links, r#"{{"from": "n{host}", "to": "s{switch}", "rate_MBps": {own_mbps}}},"#);
            host += 1;
        }
    }
    for (a, b) in cables {
        let _ = write!(links, r#"{{"from": "s{a}", "to": "s{b}"}},"#);
    }
    let text = format!(
        r#"{{"nodes": {host}, "switches": {}, "rate_MBps": 100, "links": [{}]}}"#,
        hosts.len(),
        links.trim_end_matches(',')
    );
    import::graph("g.json", &text, technology::named("infiniband").ok()).unwrap()
}

fn bound(fabric: &Fabric, gap: f64) -> Concurrent {
    let bound = all_to_all(fabric, gap, 1 << 28).unwrap();
    assert!(bound.lower <= bound.upper * (1.0 + 1e-9), "{bound:?}");
    assert!(bound.gap() <= gap, "{} after {} rounds", bound.gap(), bound.rounds);
    proof_holds(fabric, &bound);
    bound
}

/// The dual certificate, added up apart: weights over the cost of one byte between every pair by the cheapest paths.
fn proof_holds(fabric: &Fabric, bound: &Concurrent) {
    if bound.weights.is_empty() {
        return;
    }
    let network = &fabric.network;
    let count = network.vertices();
    let mut distance = vec![vec![f64::INFINITY; count]; count];
    (0..count).for_each(|v| distance[v][v] = 0.0);
    for &(channel, weight) in &bound.weights {
        let (from, to) = (network.from(channel).0 as usize, network.to(channel).0 as usize);
        let rate = fabric.gross(Resource::Channel(channel)).unwrap().0 as f64;
        distance[from][to] = distance[from][to].min(weight / rate);
    }
    for channel in (0..network.channels() as u32).map(Channel) {
        let (from, to) = (network.from(channel), network.to(channel));
        if network.is_node(from) || network.is_node(to) {
            distance[from.0 as usize][to.0 as usize] = 0.0;
        }
    }
    for via in network.nodes as usize..count {
        for from in 0..count {
            for to in 0..count {
                let through = distance[from][via] + distance[via][to];
                distance[from][to] = distance[from][to].min(through);
            }
        }
    }
    let nodes = network.nodes as usize;
    let cost: f64 = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).map(|(a, b)| distance[a][b]).sum();
    let weights: f64 = bound.weights.iter().map(|(_, weight)| weight).sum();
    let proved = weights / cost;
    assert!((proved / bound.upper - 1.0).abs() < 1e-6, "the weights prove {proved}, not {}", bound.upper);
}

fn close(bound: &Concurrent, mbps: f64) {
    let exact = mbps * 1e6;
    assert!(bound.lower <= exact * (1.0 + 1e-9) && exact <= bound.upper * (1.0 + 1e-9), "{bound:?}: {exact}");
}

/// A cut with capacity C that separates a nodes from b lets each pair have C / (a b).
#[test]
fn a_slim_tree_is_bound_by_its_leaves_uplinks() {
    // Three leaves of four hosts, two spines.
    let cables: Vec<(usize, usize)> = (0..3).flat_map(|leaf| [(leaf, 3), (leaf, 4)]).collect();
    close(&bound(&fabric(&[4, 4, 4, 0, 0], &cables, 1e4), 0.01), 200.0 / 32.0);
    // One of the uplinks is cut.
    close(&bound(&fabric(&[4, 4, 4, 0, 0], &cables[1..], 1e4), 0.01), 100.0 / 32.0);
}

/// Half the pairs of an even ring are as far apart one way as the other: N^2 / 8 pairs cross each direction of each cable.
#[test]
fn rings_reach_what_their_cables_carry() {
    for switches in [4usize, 8, 12] {
        let cables: Vec<(usize, usize)> = (0..switches).map(|s| (s, (s + 1) % switches)).collect();
        let ring = fabric(&vec![1; switches], &cables, 1e4);
        close(&bound(&ring, 0.01), 100.0 / ((switches * switches) as f64 / 8.0));
    }
}

/// The best routes use a detour where the shortest path alone would be full.
#[test]
fn detours_count() {
    // Two switches joined directly and by a third: two paths of 100 MB/s for four pairs each way.
    close(&bound(&fabric(&[2, 2, 0], &[(0, 1), (0, 2), (2, 1)], 1e4), 0.01), 200.0 / 4.0);
}

#[test]
fn parallel_cables_are_cables() {
    close(&bound(&fabric(&[3, 3], &[(0, 1), (0, 1), (1, 0)], 1e4), 0.01), 300.0 / 9.0);
}

#[test]
fn hosts_own_links_bind_where_cables_are_plenty() {
    let bound = bound(&fabric(&[2, 2], &[(0, 1); 8], 50.0), 0.01);
    assert!(bound.weights.is_empty());
    close(&bound, 50.0 / 3.0);
}

/// A cable is missing at one of three leaves: the cut around it says so at once, and the search ends after a fixed effort.
#[test]
fn a_missing_cable_is_the_bound() {
    let spines = [(0, 3), (0, 3), (0, 4), (1, 3), (1, 3), (1, 4), (1, 4), (2, 3), (2, 3), (2, 4), (2, 4)];
    let fabric = fabric(&[4, 4, 4, 0, 0], &spines, 1e4);
    let bound = all_to_all(&fabric, 1e-9, 1 << 29).unwrap();
    assert!(bound.rounds <= 1 << 15, "{} rounds", bound.rounds);
    assert!(bound.upper <= 300.0 * 1e6 / 32.0 * (1.0 + 1e-9) && bound.lower > 0.97 * bound.upper, "{bound:?}");
    proof_holds(&fabric, &bound);
}

/// No symmetry: random graphs. The last takes thousands of rounds, and four times as many for half the gap.
#[test]
fn bounds_come_close_on_irregular_networks() {
    let mut random = hotlink_fabric::rng::SplitMix64::new(5);
    for (switches, gap) in [(5usize, 0.01), (9, 0.01), (14, 0.02)] {
        let mut cables: Vec<(usize, usize)> = (1..switches).map(|s| ((random.next_u64() as usize) % s, s)).collect();
        for _ in 0..2 * switches {
            let (a, b) = ((random.next_u64() as usize) % switches, (random.next_u64() as usize) % switches);
            if a != b {
                cables.push((a, b));
            }
        }
        let hosts: Vec<u32> = (0..switches).map(|_| (random.next_u64() % 5) as u32).collect();
        let fabric = fabric(&hosts, &cables, 1e4);
        bound(&fabric, gap);
    }
}
