//! Barrier networks against their closed form, for every machine of the catalog; safety whatever the arrivals.

use hotlink_barrier::{BarrierFault, BarrierNetwork};
use hotlink_fabric::barrier::BarrierSpec;
use hotlink_fabric::catalog::{self, Library};
use hotlink_fabric::units::Time;
use proptest::prelude::*;

fn machines() -> Vec<(String, BarrierSpec)> {
    let library = Library::embedded();
    let fabrics = library.list("fabrics").into_iter().filter_map(|listed| {
        let spec = library.fabric(&listed.name).unwrap().spec;
        Some((spec.name, spec.barrier?))
    });
    fabrics.collect()
}

fn together(spec: &BarrierSpec, nodes: u32) -> u64 {
    let mut network = BarrierNetwork::new(spec, nodes, false).unwrap();
    network.barrier(0, &vec![Time::ZERO; nodes as usize]).unwrap().latency().0
}

#[test]
fn the_catalog_has_the_machines_of_h06_and_todays() {
    let names: Vec<String> = machines().into_iter().map(|(name, _)| name).collect();
    for name in ["bluegene-l", "cm5", "earth-simulator", "hwbarr", "papers", "sharp", "t3d-barrier"] {
        assert!(names.contains(&name.to_owned()), "{name} is missing of {names:?}");
    }
}

/// The closed form counts one whole read per phase after the result; a read under way saves at most that.
#[test]
fn simulation_and_closed_form_differ_by_at_most_a_read_per_phase() {
    for (name, spec) in machines() {
        let (read, most) = (spec.read.value.0 * u64::from(spec.phases), spec.most_nodes());
        for nodes in [2, 3, 4, 5, 16, 64, 100, 512, 1024, 2048, 65_536] {
            if nodes > most {
                break;
            }
            let formula = spec.latency(nodes, false).unwrap().0;
            let simulated = together(&spec, nodes);
            assert!(simulated <= formula, "{name}, {nodes} nodes: {simulated} > {formula}");
            assert!(simulated + read >= formula, "{name}, {nodes} nodes: {simulated} + {read} < {formula}");
        }
    }
}

#[test]
fn h06s_prototype_takes_a_write_and_a_read_and_papers_twice_that() {
    let hwbarr = catalog::load("hwbarr").unwrap().barrier.unwrap();
    assert_eq!(together(&hwbarr, 4), 2_400_000);
    let papers = catalog::load("papers").unwrap().barrier.unwrap();
    assert_eq!(together(&papers, 4), 4_800_000);
}

/// The catalog's boards take what the synthesis of rtl/barrier takes: o_p(P) from the wire's end at the last arrival to
/// the release.
#[test]
fn the_boards_of_the_catalog_are_those_of_the_synthesis_table() {
    let table = include_str!("../../../rtl/barrier/synth/results.csv");
    let columns: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let at = |name: &str| columns.iter().position(|&column| column == name).unwrap();
    let (fpga, ranks, filter, op) = (at("fpga"), at("ranks"), at("filter_samples"), at("op_us"));
    let mut seen = Vec::new();
    for row in table.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()).filter(|row| row[filter] == "3") {
        let (name, nodes) = (format!("hwbarr-{}", row[fpga][..4].to_lowercase()), row[ranks].parse().unwrap());
        let spec = catalog::load(&name).unwrap().barrier.unwrap();
        let mut network = BarrierNetwork::new(&spec, nodes, false).unwrap();
        let run = network.barrier(0, &vec![Time::ZERO; nodes as usize]).unwrap();
        let op_ps = (row[op].parse::<f64>().unwrap() * 1e6).round() as u64;
        assert_eq!(run.released, Time(spec.enter.value.0 + op_ps), "{name}, {nodes} nodes");
        assert_eq!(spec.processing[&nodes].value, Time(op_ps), "{name}, {nodes} nodes");
        seen.push((name, nodes));
    }
    let expected = ["hwbarr-hx8k", "hwbarr-up5k"].map(|name| (2..=8).map(move |k| (name.to_owned(), 1u32 << k)));
    assert_eq!(seen, expected.into_iter().flatten().collect::<Vec<_>>());
}

/// The catalog's reference boards take what the table of their bitstreams says, at their own clocks.
#[test]
fn the_reference_boards_of_the_catalog_are_those_of_their_bitstreams() {
    let table = include_str!("../../../rtl/barrier/boards/results.csv");
    let mut boards = Vec::new();
    for row in table.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()) {
        let (board, nodes, op_us) = (row[0], row[3].parse::<u32>().unwrap(), row[10].parse::<f64>().unwrap());
        let spec = catalog::load(&format!("hwbarr-board-{board}")).unwrap().barrier.unwrap();
        for ranks in [2, nodes] {
            let mut network = BarrierNetwork::new(&spec, ranks, false).unwrap();
            let run = network.barrier(0, &vec![Time::ZERO; ranks as usize]).unwrap();
            assert_eq!(run.released, Time(spec.enter.value.0 + (op_us * 1e6).round() as u64), "{board}, {ranks} nodes");
        }
        assert!(BarrierNetwork::new(&spec, nodes + 1, false).is_err(), "{board} has wires for {nodes} nodes");
        boards.push((board, nodes));
    }
    assert_eq!(boards, [("hx8k", 4), ("ulx3s", 16)]);
}

#[test]
fn a_counter_with_a_time_per_arrival_queues() {
    let mut spec = catalog::load("earth-simulator").unwrap().barrier.unwrap();
    let base = together(&spec, 512);
    spec.serial.as_mut().unwrap().value = Time(10_000);
    // 512 decrements of 10 ns, to within a read.
    let queued = together(&spec, 512);
    assert!(queued.abs_diff(base + 5_120_000) < spec.read.value.0, "{queued} after {base}");
}

#[test]
fn channels_do_not_disturb_each_other() {
    let spec = catalog::load("bluegene-l").unwrap().barrier.unwrap();
    let mut network = BarrierNetwork::new(&spec, 64, true).unwrap();
    let arrivals: Vec<Time> = (0..64).map(|node| Time(node * 1_000)).collect();
    let first = network.barrier(0, &arrivals).unwrap();
    assert_eq!(network.barrier(3, &arrivals).unwrap(), first);
    assert_eq!(network.barrier(4, &arrivals), Err(BarrierFault::NoChannel { channel: 4, last: 3 }));
}

#[test]
fn an_interrupt_reaches_all_without_waiting_for_any() {
    let spec = catalog::load("bluegene-l").unwrap().barrier.unwrap();
    let network = BarrierNetwork::new(&spec, 1024, false).unwrap();
    let risen = network.interrupt(7, Time(5_000_000));
    assert_eq!(risen.len(), 1024);
    let barrier = spec.latency(1024, false).unwrap().0 - spec.read.value.0;
    assert!(risen.iter().all(|at| at.0 == 5_000_000 + barrier));
}

proptest! {
    /// Barrier after barrier, each node going on at its own pace: nobody leaves before all are there, the last to leave
    /// does so within the closed form, and the same arrivals give the same course.
    #[test]
    fn barriers_are_safe_and_take_no_longer_than_the_closed_form(
        machine in 0..machines().len(), nodes in 2u32..70, seed in prop::collection::vec(0u64..20_000_000, 70), rounds in 1usize..4,
    ) {
        let (name, spec) = machines().swap_remove(machine);
        let nodes = nodes.min(spec.most_nodes());
        let mut network = BarrierNetwork::new(&spec, nodes, false).unwrap();
        let mut arrivals: Vec<Time> = (0..nodes as usize).map(|node| Time(seed[node])).collect();
        for round in 0..rounds {
            let mut again = network.clone();
            let run = network.barrier(0, &arrivals).unwrap();
            prop_assert_eq!(&again.barrier(0, &arrivals).unwrap(), &run);
            let last = arrivals.iter().max().unwrap().0;
            prop_assert!(run.leave.iter().all(|at| at.0 >= last), "{}", name);
            prop_assert!(run.latency() <= spec.latency(nodes, false).unwrap(), "{}: {:?}", name, run.latency());
            arrivals = run.leave.iter().zip(&seed).map(|(at, &work)| Time(at.0 + work * round as u64)).collect();
        }
    }
}
