//! Traffic patterns: what each means, how it is spelled, and that no text makes the readers panic.

use hotlink_fabric::traffic::{Demand, Traffic, sample_seed};
use hotlink_fabric::{Fabric, catalog};
use proptest::prelude::*;

fn pairs(demand: &Demand) -> Vec<(u32, u32, f64)> {
    demand.flows.iter().map(|flow| (flow.source.0, flow.destination.0, flow.amount)).collect()
}

fn parse(text: &str) -> Traffic {
    text.parse().unwrap()
}

#[test]
fn small_patterns_are_what_their_names_say() {
    let of = |text: &str, nodes| pairs(&parse(text).demand(nodes, 0).unwrap());
    assert_eq!(of("permutation:shift:2", 3), [(0, 2, 1.0), (1, 0, 1.0), (2, 1, 1.0)]);
    assert_eq!(of("permutation:transpose", 4), [(0, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0), (3, 3, 1.0)]);
    assert_eq!(of("permutation:bit-reversal", 8)[1..4], [(1, 4, 1.0), (2, 2, 1.0), (3, 6, 1.0)]);
    assert_eq!(of("bisection", 5), [(0, 2, 1.0), (2, 0, 1.0), (1, 3, 1.0), (3, 1, 1.0)]);
    assert_eq!(of("hot-spot", 3), [(1, 0, 1.0), (2, 0, 1.0)]);
    assert_eq!(of("nearest-neighbour:2", 9).len(), 9 * 4);
    assert_eq!(of("nearest-neighbour", 3)[..2], [(0, 1, 1.0), (0, 2, 1.0)]);
    let spread = parse("hot-spot:25").demand(4, 0).unwrap();
    assert_eq!((spread.all_pairs, spread.flows[0].amount), (0.25, 0.25));
    // Two nodes on the first switch, one alone on the second.
    let line = Fabric::build(&catalog::load("myrinet-minimal:groups=[2,1]").unwrap(), 3).unwrap();
    let kept = parse("same-switch:80").on(&line);
    assert_eq!(kept.to_string(), "same-switch:80");
    let kept = kept.demand(3, 0).unwrap();
    assert_eq!((kept.all_pairs * 10.0).round(), 1.0);
    assert_eq!(pairs(&kept), [(0, 1, 0.8), (1, 0, 0.8), (2, 0, 0.4), (2, 1, 0.4)]);
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let refusal = |text: &str| text.parse::<Traffic>().unwrap_err().to_string();
    assert!(refusal("permutation:magic").contains("permutation:bit-reversal"));
    assert!(refusal("everything").contains("all-to-all, uniform"));
    assert!(refusal("hot-spot:0").contains("1 to 100"));
    assert!(refusal("same-switch:101").contains("0 to 100"));
    assert!(parse("same-switch:50").demand(8, 0).unwrap_err().to_string().contains("use uniform"));
    let ring = Fabric::build(&catalog::load("sci-ring").unwrap(), 8).unwrap();
    let alone = parse("same-switch:50").on(&ring).demand(8, 0).unwrap_err().to_string();
    assert!(alone.contains("no two nodes are on the same switches"), "{alone}");
    assert!(parse("permutation:transpose").demand(8, 0).unwrap_err().to_string().contains("square"));
    assert!(parse("permutation:bit-reversal").demand(6, 0).unwrap_err().to_string().contains("power of two"));
    let missing = Traffic::parse("matrix:none.csv", |_| Err(std::io::Error::other("no such file")));
    assert_eq!(missing.unwrap_err().to_string(), "none.csv: no such file");
}

#[test]
fn a_matrix_is_read_by_row_and_its_mistakes_have_a_place() {
    let traffic = Traffic::from_csv("m.csv", "# two nodes\n9, 2.5\n\n1,0\n").unwrap();
    assert_eq!(pairs(&traffic.demand(2, 0).unwrap()), [(0, 1, 2.5), (1, 0, 1.0)]);
    assert!(traffic.demand(3, 0).unwrap_err().to_string().contains("for 2 nodes"));
    let refusal = |text| Traffic::from_csv("m.csv", text).unwrap_err().to_string();
    assert_eq!(refusal("1,2\n3,x\n"), "m.csv:2: column 2: 'x': a finite number from 0 up");
    assert!(refusal("1,-2\n3,4").starts_with("m.csv:1: column 2"));
    assert!(refusal("1,2\n3\n").starts_with("m.csv:2: 1 columns"));
    assert!(refusal("").contains("0 rows"));
    // Each is finite, and their sum is not.
    assert_eq!(refusal("0,1e308\n1e308,0\n"), "m.csv: the sum is too large: give smaller numbers");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_permutation_is_one_and_depends_on_the_seed_alone(nodes in 1u32..300, seed: u64, sample in 0u64..5) {
        let seed = sample_seed(seed, sample);
        let demand = Traffic::Random.demand(nodes, seed).unwrap();
        prop_assert_eq!(&demand, &Traffic::Random.demand(nodes, seed).unwrap());
        let mut to: Vec<u32> = demand.flows.iter().map(|flow| flow.destination.0).collect();
        to.sort_unstable();
        prop_assert_eq!(to, (0..nodes).collect::<Vec<_>>());
    }

    #[test]
    fn a_random_ring_is_one_ring_of_all_nodes(nodes in 1u32..300, seed: u64) {
        let demand = Traffic::Ring.demand(nodes, seed).unwrap();
        prop_assert_eq!(&demand, &Traffic::Ring.demand(nodes, seed).unwrap());
        let (mut at, mut steps) = (0, 0);
        while steps == 0 || at != 0 {
            let flow = demand.flows[at as usize];
            prop_assert_eq!((flow.source.0, flow.amount), (at, 1.0));
            (at, steps) = (flow.destination.0, steps + 1);
        }
        prop_assert_eq!(steps, nodes);
    }

    #[test]
    fn every_pattern_is_read_back_from_what_it_prints(k in 1u32.., d in 1u32..=16, percent in 1u32..=100) {
        let all = [Traffic::AllToAll, Traffic::Uniform, Traffic::Random, Traffic::Ring, Traffic::Shift(k), Traffic::Transpose,
            Traffic::BitReversal, Traffic::Bisection, Traffic::NearestNeighbour(d), Traffic::HotSpot(percent)];
        for traffic in all {
            prop_assert_eq!(parse(&traffic.to_string()), traffic);
        }
    }

    #[test]
    fn no_text_makes_the_readers_panic(text in "(permutation|hot-spot|bisection|[a-z]{0,6})?(:[a-z0-9-]{0,12}){0,3}", csv in "[-0-9eE., \n#xinfa]{0,80}") {
        if let Ok(traffic) = text.parse::<Traffic>() {
            for nodes in [1, 2, 7, 16] {
                let _ = traffic.demand(nodes, 3);
            }
        }
        let _ = Traffic::from_csv("m.csv", &csv);
    }
}
