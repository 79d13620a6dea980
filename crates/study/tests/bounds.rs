//! No simulation beats its bound: every benchmark, on every fabric of the catalog, bare and under the message stack.

use hotlink_bench::{Calls, Direction, Kernel, Plan, Record, Which, flag_impossible};
use hotlink_fabric::catalog::Library;
use hotlink_message::Way;
use hotlink_study::bound::measured::Bounds;
use hotlink_study::cell::Streamed;
use hotlink_study::cell::{Cell, Offered, What};
use hotlink_study::cell::{Program, ProgramBench};
use hotlink_study::options::{Memory, Order, Via};
use hotlink_study::{Source, Unwatched, parallel};

/// How much better than its bound a simulation may be: rounding of times to picoseconds and of packets.
const ALLOWED: f64 = 1.005;

/// Numbers of nodes, of which the first that a fabric can be built for is taken.
const NODES: [u32; 5] = [8, 9, 16, 4, 2];

fn program(bench: ProgramBench, memory: Memory) -> What {
    What::Program(Program { memory, warmup: 1, ..Program::plain(bench) })
}

/// Every benchmark of one fabric.
fn cells(fabric: &str, nodes: u32) -> Vec<Cell> {
    let last = nodes - 1;
    let mut all = Vec::new();
    for size in [8, 64 << 10, 1 << 20] {
        all.push(Cell::plain(fabric, nodes, size, What::PingPong { between: [0, last], messages: Some(4) }, 1));
    }
    for size in [8, 64 << 10, 256 << 10] {
        for memory in [Memory::Shared, Memory::Private] {
            let pingpong = program(ProgramBench::PingPong { between: [0, last] }, memory);
            all.push(Cell::plain(fabric, nodes, size, pingpong, 1));
        }
        for postal in [false, true] {
            let semantics = program(ProgramBench::Semantics { postal }, Memory::Shared);
            all.push(Cell::plain(fabric, nodes, size, semantics, 1));
        }
    }
    for (benchmark, pairs, direction, size) in [
        ("stream", 1, Direction::Uni, 8),
        ("stream", 1, Direction::Bi, 8),
        ("stream", 1, Direction::Uni, 128 << 10),
        ("stream", 1, Direction::Bi, 128 << 10),
        ("rate", nodes / 2, Direction::Uni, 64 << 10),
    ] {
        let streamed = Streamed { benchmark, pairs, direction, calls: Calls::Windowed, window: Some(8) };
        for memory in [Memory::Shared, Memory::Private] {
            let stream = program(ProgramBench::Stream(streamed.clone()), memory);
            all.push(Cell::plain(fabric, nodes, size, stream, 1));
        }
    }
    let kernel = Kernel { compute_us: 5.0, skew_us: 1.0, sums: 0.5, iterations: 10, seed: 1, plan: Plan::once() };
    all.push(Cell::plain(fabric, nodes, 0, program(ProgramBench::Kernel(kernel), Memory::Shared), 1));
    all.push(Cell::plain(fabric, nodes, 64, program(ProgramBench::Pairs { slow: 1.25 }, Memory::Shared), 1));
    for size in [8, 64 << 10] {
        all.push(Cell::plain(fabric, nodes, size, What::AllToAll { order: Order::LinearShift }, 1));
        all.push(Cell::plain(fabric, nodes, size, What::AllToAll { order: Order::Random }, 1));
        for which in Which::ALL {
            let collective = program(ProgramBench::Collective(which), Memory::Shared);
            all.push(Cell::plain(fabric, nodes, size, collective, 1));
        }
    }
    let pairs = vec![(0, nodes / 2)];
    let saturation = What::Saturation { pairs, messages: 20, window: None, counted: "senders" };
    all.push(Cell::plain(fabric, nodes, 64 << 10, saturation, 1));
    for pattern in ["uniform", "permutation:random", "permutation:shift:1"] {
        let traffic = What::Traffic(Offered { messages: Some(160), ..Offered::plain(pattern, 1.0) });
        all.push(Cell::plain(fabric, nodes, 4096, traffic, 1));
    }
    all
}

/// By how much a record beats its bound: 1 meets it; `None` where it has none.
fn beats(record: &Record) -> Option<(f64, &'static str)> {
    let time = |value: &str, bound: &str| Some(record.number(bound)? / record.number(value)?);
    let rate = |value: &str, bound: &str| Some(record.number(value)? / record.number(bound)?);
    let all = [
        (time("latency_us", "bound_latency_us"), "bound_latency_us"),
        (rate("bandwidth_MBps", "bound_bandwidth_MBps"), "bound_bandwidth_MBps"),
        (rate("bandwidth_per_node_MBps", "bound_bandwidth_per_node_MBps"), "bound_bandwidth_per_node_MBps"),
        (record.number("efficiency"), "efficiency"),
    ];
    let known = all.into_iter().filter_map(|(ratio, key)| Some((ratio?, key)));
    known.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Whether a run of traffic ends while the network fills, so that it has no rate to compare.
fn only_fills(record: &Record) -> bool {
    record.get("bandwidth_per_node_MBps").is_some_and(serde_json::Value::is_null) && record.get("too_short").is_some()
}

#[test]
fn no_simulation_beats_its_bound() {
    let fabrics: Vec<String> = Library::embedded().list("fabrics").into_iter().map(|listed| listed.name).collect();
    assert!(fabrics.len() >= 25, "{fabrics:?}");
    let mut all = Vec::new();
    for fabric in &fabrics {
        let source = Source::open(fabric).unwrap();
        match NODES.into_iter().find(|&nodes| source.build(nodes).is_ok()) {
            Some(nodes) => all.extend(cells(fabric, nodes)),
            None => panic!("{fabric} is built for none of {NODES:?} nodes"),
        }
    }
    let results = parallel::each(&all, |cell| (cell, cell.run(&Unwatched)));
    let (mut wrong, mut held) = (Vec::new(), 0);
    for (cell, records) in &results {
        // A fabric reports what it cannot do; here it counts as no simulation.
        for record in records.iter().flatten() {
            match beats(record) {
                Some((ratio, key)) if ratio > ALLOWED => {
                    let benchmark = record.text("benchmark").unwrap_or_default();
                    let (stack, traffic) = (record.text("stack"), record.text("traffic"));
                    let (Cell { fabric, nodes, size, .. }, by) = (cell, 100.0 * (ratio - 1.0));
                    wrong.push(format!(
                        "{fabric} {nodes} nodes {size} B {benchmark} {stack:?} {traffic:?}: {by:.2} % beyond {key}"
                    ));
                }
                Some(_) => held += 1,
                None if only_fills(record) => {}
                None => wrong.push(format!("{} {:?}: has no bound", cell.fabric, cell.what)),
            }
        }
    }
    assert!(held > 20 * fabrics.len(), "only {held} simulations have a bound");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), wrong.len() + held, wrong.join("\n"));
}

/// Fabrics of all kinds of networks, adapters and means for collectives.
const SPREAD: [&str; 14] = [
    "gige",
    "gpu-rail",
    "ib-hdr-sharp",
    "ib-ndr-fat-tree2",
    "ib-ndr-slim-fly",
    "k98-myrinet",
    "k98-sci",
    "k98-t3d",
    "myrinet-torus3d",
    "qsnet",
    "sci-ring",
    "sci-torus2d",
    "slingshot-dragonfly",
    "bluegene-l",
];

/// Collectives of one fabric by every algorithm, by hosts, and those that adapters carry by these.
fn collectives(fabric: &str, nodes: u32, sizes: &[u64]) -> Vec<Cell> {
    let mut all = Vec::new();
    for which in Which::ALL.into_iter().filter(|which| !matches!(which, Which::Alltoallv | Which::ReduceScatter)) {
        let sizes = if which == Which::Barrier { &[0] } else { sizes };
        let by_hosts = which.collective().algorithms().iter().map(|&way| (Via::Adapter, Some(Way::By(way))));
        let ways = [(Via::Adapter, None), (Via::Nic, None)].into_iter().chain(by_hosts);
        for ((via, algorithm), &size) in ways.flat_map(|way| sizes.iter().map(move |size| (way, size))) {
            if via == Via::Nic && !which.is_carried_by_adapters() {
                continue;
            }
            let What::Program(usual) = program(ProgramBench::Collective(which), Memory::Shared) else { continue };
            let what = What::Program(Program { via, algorithm, warmup: 0, ..usual });
            all.push(Cell::plain(fabric, nodes, size, what, 1));
        }
    }
    all
}

/// The simulator's result for a collective, by whatever algorithm, passes an import.
#[test]
fn no_simulated_collective_beats_the_bound_of_measured_ones() {
    let long = SPREAD.into_iter().flat_map(|fabric| collectives(fabric, 4, &[16 << 10]));
    let cells: Vec<Cell> =
        SPREAD.into_iter().flat_map(|fabric| collectives(fabric, 8, &[8, 500])).chain(long).collect();
    let results = parallel::each(&cells, |cell| (cell, cell.run(&Unwatched)));
    let (mut wrong, mut held, mut same) = (Vec::new(), 0, 0);
    for (cell, records) in &results {
        let source = Source::open(&cell.fabric).unwrap();
        // A fabric reports what it cannot do.
        for record in records.iter().flatten() {
            let (us, own) = (record.number("latency_us").unwrap(), record.number("bound_latency_us").unwrap());
            let row = Record::new()
                .with("benchmark", record.text("benchmark").unwrap())
                .with("ranks", cell.nodes)
                .with("size_B", cell.size)
                .with("latency_us", us);
            let (told, impossible) = flag_impossible(Bounds::of(source.clone(), None).add(row).unwrap());
            let bound = told.number("bound_latency_us").unwrap();
            let (what, via) = (record.text("algorithm").unwrap_or_default(), record.text("via").unwrap_or_default());
            let name = || format!("{} {} {what} {via}", cell.fabric, record.text("benchmark").unwrap_or_default());
            if impossible.is_some() || bound > 1.0001 * us {
                wrong.push(format!("{} {} nodes {} B: {us} us beat {bound}", name(), cell.nodes, cell.size));
            }
            // Software's time is not in the bound of a real machine.
            if bound > 1.0001 * own {
                wrong.push(format!("{} {} nodes {} B: bound {own}, imported {bound}", name(), cell.nodes, cell.size));
            }
            (held, same) = (held + 1, same + usize::from((bound / own - 1.0).abs() < 1e-4));
        }
    }
    // Of those with a root, the simulator's bound counts software too.
    assert!(held > 500 && same > 100, "{held} rows, {same} of them with the simulator's bound");
    assert!(wrong.is_empty(), "{} of {held}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A processor's work for a message's first segment is in the message's own overhead.
#[test]
fn no_message_by_a_kernel_s_tcp_beats_its_bound() {
    let of_tcp = |bench: ProgramBench| match program(bench, Memory::Shared) {
        What::Program(usual) => What::Program(Program { via: Via::Tcp, ..usual }),
        other => other,
    };
    let mut cells = Vec::new();
    for fabric in ["ib-ndr-fat-tree2", "gige", "k98-myrinet", "k98-sci", "qsnet"] {
        for size in [0, 1, 1000, 1400, 1460, 1461, 3000, 64 << 10, 1 << 20] {
            cells.push(Cell::plain(fabric, 2, size, of_tcp(ProgramBench::PingPong { between: [0, 1] }), 1));
            for (benchmark, direction) in
                [("stream", Direction::Uni), ("stream", Direction::Bi), ("rate", Direction::Uni)]
            {
                let streamed = Streamed { benchmark, pairs: 1, direction, calls: Calls::Windowed, window: Some(16) };
                cells.push(Cell::plain(fabric, 2, size.max(1), of_tcp(ProgramBench::Stream(streamed)), 1));
            }
        }
    }
    let results = parallel::each(&cells, |cell| (cell, cell.run(&Unwatched)));
    let mut held = 0;
    for (cell, records) in &results {
        for record in records.iter().flatten() {
            let (ratio, key) = beats(record).unwrap_or_else(|| panic!("no bound: {record:?}"));
            let benchmark = record.text("benchmark").unwrap_or_default();
            assert!(ratio <= 1.0001, "{} {benchmark} of {} B: {ratio} beyond {key}", cell.fabric, cell.size);
            held += 1;
        }
    }
    assert!(held >= 100, "{held}");
}

/// Flows that do not cross the hot link go on when more is offered than all can have alike.
#[test]
fn no_mean_beats_its_bound_beyond_the_fair_share() {
    let mut cells = Vec::new();
    for fabric in ["sci-torus3d", "gpu-rail", "myrinet-torus3d", "ib-ndr-slim-fly", "k98-t3d", "bluegene-l"] {
        for pattern in ["uniform", "nearest-neighbour", "bisection", "permutation:shift:3"] {
            for load in [0.9, 1.0, 1.5, 3.0] {
                let traffic = What::Traffic(Offered { messages: Some(200), ..Offered::plain(pattern, load) });
                cells.push(Cell::plain(fabric, 16, 4096, traffic, 1));
            }
        }
    }
    for (fabric, nodes) in [("hgx-h100-rail", 16), ("k98-t3d", 8), ("sci-ring", 8), ("ib-ndr-fat-tree2", 96)] {
        for senders in [1, 2, 3, 4] {
            for step in [1, nodes / 2] {
                let pairs = (0..senders).map(|from| (from, from + step)).collect();
                let what = What::Saturation { pairs, messages: 20, window: None, counted: "senders" };
                cells.push(Cell::plain(fabric, nodes, 64 << 10, what, 1));
            }
        }
    }
    let results = parallel::each(&cells, |cell| (cell, cell.run(&Unwatched)));
    let (mut wrong, mut held, mut fair) = (Vec::new(), 0, 0);
    for (cell, records) in &results {
        for record in records.iter().flatten().filter(|record| !only_fills(record)) {
            let (ratio, key) = beats(record).unwrap_or_else(|| panic!("no bound: {record:?}"));
            if ratio > ALLOWED {
                wrong.push(format!("{} {:?}: {ratio} beyond {key}", cell.fabric, cell.what));
            }
            assert!(record.text("limiting_resource").is_some(), "{record:?}");
            let bound = record.number("bound_bandwidth_per_node_MBps");
            fair += usize::from(bound.is_some() && bound == record.number("fair_bandwidth_per_node_MBps"));
            held += 1;
        }
    }
    assert!(held > 80 && fair > 20, "{held} held, {fair} with the fair share for their bound");
    assert!(wrong.is_empty(), "{} of {held}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The warm-up registers memory for longer than a message takes; each link then carries one of the two messages that count.
#[test]
fn what_a_warm_up_does_is_not_what_holds_a_benchmark_back() {
    let pingpong = program(ProgramBench::PingPong { between: [0, 1] }, Memory::Private);
    let record = Cell::plain("ib-ndr-fat-tree2", 2, 1 << 20, pingpong, 1).run(&Unwatched).expect("runs").remove(0);
    let number = |key: &str| record.number(key).expect("a number");
    assert!(number("setup_us") > number("latency_us"), "{record:?}");
    assert!(record.text("limiter").is_some_and(|name| name.starts_with("NDR link")), "{record:?}");
    let bytes_us = f64::from(1 << 20) / 50_000.0;
    let share = bytes_us / (2.0 * number("latency_us"));
    assert!((number("limiter_share") / share - 1.0).abs() < 0.05, "{share}: {record:?}");
}
