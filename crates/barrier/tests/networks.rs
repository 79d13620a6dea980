//! Barrier networks against their closed form, for every machine of the catalog; safety for any arrivals.

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
    for name in ["bluegene-l", "cm5", "earth-simulator", "hwbarr", "papers", "sharp", "t3d-barrier", "vpp500"] {
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
    let mut seen = Vec::new();
    let columns = ["fpga", "ranks", "filter_samples", "op_us"];
    for row in cells(table, &columns).filter(|row| row[2] == "3") {
        let (fpga, ranks, op) = (0, 1, 3);
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

/// Cells of a table of rtl/barrier, row by row, found by their columns' names.
fn cells<'a>(table: &'a str, columns: &'a [&str]) -> impl Iterator<Item = Vec<&'a str>> {
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let places: Vec<usize> =
        columns.iter().map(|column| names.iter().position(|name| name == column).unwrap()).collect();
    table.lines().skip(1).map(move |line| {
        let row: Vec<&str> = line.split(',').collect();
        places.iter().map(|&place| row[place]).collect()
    })
}

/// The catalog's reference boards take what the table of their bitstreams says, at their own clocks, and a metre of cable
/// each way.
#[test]
fn the_reference_boards_of_the_catalog_are_those_of_their_bitstreams() {
    let table = include_str!("../../../rtl/barrier/boards/results.csv");
    let mut boards = Vec::new();
    for row in cells(table, &["board", "nodes", "op_us"]) {
        let (board, nodes, op_us) = (row[0], row[1].parse::<u32>().unwrap(), row[2].parse::<f64>().unwrap());
        let spec = catalog::load(&format!("hwbarr-board-{board}")).unwrap().barrier.unwrap();
        for ranks in [2, nodes] {
            let mut network = BarrierNetwork::new(&spec, ranks, false).unwrap();
            let run = network.barrier(0, &vec![Time::ZERO; ranks as usize]).unwrap();
            let op = Time((op_us * 1e6).round() as u64 + 2 * spec.hop.value.0);
            assert!(run.released.0.abs_diff(spec.enter.value.0 + op.0) <= 50, "{board}, {ranks} nodes: {run:?}");
        }
        boards.push((board, nodes));
    }
    assert_eq!(boards, [("hx8k", 4), ("ulx3s", 16)]);
}

/// Trees of the boards, clocked register by register (`make -C rtl/barrier trees`), against o_p(P) of the catalog,
/// which `simulate barrier` uses. No barrier takes longer. None is quicker than where every edge falls just before a
/// clock's. The longest seen is within a quarter of a clock for each link of the longest possible.
#[test]
fn trees_of_boards_at_register_level_take_the_closed_forms_time() {
    let trees = include_str!("../../../rtl/barrier/trees/results.csv");
    let boards = include_str!("../../../rtl/barrier/boards/results.csv");
    let mut seen = Vec::new();
    for row in cells(trees, &["board", "nodes", "levels", "boards", "op_min_ns", "op_max_ns"]) {
        let spec = catalog::load(&format!("hwbarr-board-{}", row[0])).unwrap().barrier.unwrap();
        let nodes: u32 = row[1].parse().unwrap();
        let levels = spec.levels(nodes, false).unwrap();
        assert_eq!(row[2].parse::<usize>().unwrap(), levels.len(), "{row:?}");
        assert_eq!(row[3].parse::<u32>().unwrap(), levels.iter().sum::<u32>(), "{row:?}");
        let board = cells(boards, &["board", "clock_MHz"]).find(|board| board[0] == row[0]).unwrap();
        let clock_ns = 1e3 / board[1].parse::<f64>().unwrap();
        let links = (2 * levels.len() - 1) as f64;
        let [least, most]: [f64; 2] = [4, 5].map(|place| row[place].parse().unwrap());
        let formula = spec.processing_time(nodes, false).unwrap().0 as f64 / 1e3;
        let rounded = 0.1 * links + 0.5; // of the tables, and the oscillators' drift
        assert!(most <= formula + rounded, "{row:?}: at most {formula}");
        assert!(most >= formula - 0.25 * clock_ns * links - rounded, "{row:?}: at most {formula}");
        assert!(least >= formula - clock_ns * links - rounded, "{row:?}: at most {formula}");
        seen.push((row[0], nodes));
    }
    let sizes = |board| (1..=10).map(move |k| (board, 1u32 << k));
    assert_eq!(seen, sizes("hx8k").chain(sizes("ulx3s")).collect::<Vec<_>>());
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
    /// Barrier after barrier, each node going on at its own pace. Nobody leaves before all are there, the last leaves
    /// within the closed form's time, and the same arrivals give the same course.
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
