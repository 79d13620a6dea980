//! Collectives with other traffic on the network: no sample is shorter than on an idle one, however late the news of a common
//! start comes.

use hotlink_bench::{Record, Which};
use hotlink_fabric::catalog;
use hotlink_study::options::{Memory, Order};
use hotlink_study::simulate::programs::Programs;
use hotlink_study::simulate::request::{Benchmark, Request};
use hotlink_study::{Unwatched, parallel};

/// Bytes of a message.
const SIZE: u64 = 1024;

/// Records of a collective, idle or with `background`.
fn records(which: Which, algorithm: &str, fabric: &str, nodes: u32, background: Option<&str>) -> Vec<Record> {
    let algorithms = if algorithm.is_empty() { Vec::new() } else { vec![algorithm.to_owned()] };
    let benchmark = Benchmark::Collective { which, algorithms, protocols: Vec::new(), order: Order::LinearShift };
    let background = background.map(|text| text.parse().expect("a background"));
    let own = ["nic", "hardware", "tree"].contains(&algorithm);
    let memory = if own { Vec::new() } else { vec![Memory::Shared] };
    let samples = background.is_some().then_some(12);
    let programs = Programs { memory, background, samples, raw: true, ..Programs::default() };
    let request = Request { nodes: Some(vec![nodes]), sizes: vec![SIZE], programs, ..Request::new(benchmark, fabric) };
    request.run(&Unwatched).unwrap_or_else(|error| panic!("{which:?} {fabric} {nodes}: {error}"))
}

#[test]
fn no_loaded_sample_is_shorter_than_idle() {
    use Which::{Allgather, Allreduce, Alltoall, Bcast, Gather, Reduce, ReduceScatter, Scatter};
    let mut cases = vec![
        (Bcast, "binomial", "qsnet", 2, "ring:0.9:64KiB"),
        (Bcast, "binomial", "qsnet", 8, "ring:0.9:64KiB"),
        (Bcast, "nic", "qsnet", 8, "ring:0.9:64KiB"),
        (Bcast, "hardware", "qsnet", 8, "ring:0.9:64KiB"),
        (Bcast, "tree", "qsnet", 8, "ring:0.9:64KiB"),
        (Bcast, "binomial", "myrinet-clos64", 8, "pairs:0.9:64KiB"),
        (Scatter, "", "myrinet-clos64", 4, "ring:0.9:64KiB"),
    ];
    for which in [Bcast, Reduce, Allreduce, Allgather, Alltoall, Gather, Scatter, ReduceScatter] {
        for fabric in ["qsnet", "myrinet-clos64", "sci-ring", "ib-qdr", "eth-400g-leaf-spine"] {
            cases.push((which, "", fabric, 4, "ring:0.9:64KiB"));
        }
    }
    let wrong = |&(which, algorithm, fabric, nodes, background): &(Which, &str, &str, u32, &str)| {
        let idle = &records(which, algorithm, fabric, nodes, None)[0];
        let loaded = &records(which, algorithm, fabric, nodes, Some(background))[0];
        let (idle, least) = (idle.number("latency_us").expect("a time"), loaded.number("min").expect("a time"));
        assert_eq!(loaded.number("n"), Some(12.0), "{loaded:?}");
        let saved = if which == Reduce { copies_us(fabric, nodes - 1) } else { 0.0 };
        (least < idle - saved).then(|| format!("{} {algorithm} {fabric} {nodes}: {least} < {idle}", which.name()))
    };
    let wrong: Vec<String> = parallel::each(&cases, wrong).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Copies of `messages` messages. The root of a reduction takes them one after the other. A message that comes before
/// its turn is copied twice, and traffic that delays it until its turn saves that copy.
fn copies_us(fabric: &str, messages: u32) -> f64 {
    let spec = catalog::load(fabric).expect("of the catalog");
    let rate = spec.parameters.get("copy_rate").map_or(f64::INFINITY, |rate| rate.value);
    f64::from(messages) * SIZE as f64 / rate * 1e6 + 1e-6
}
