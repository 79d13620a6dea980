//! The parts of `simulate`'s requests, and the options that are refused rather than ignored.

use hotlink_bench::{Watching, Which};
use hotlink_study::Unwatched;
use hotlink_study::options::{Ethernet, Memory, Order, Rates, Via};
use hotlink_study::simulate::barrier::Barriers;
use hotlink_study::simulate::programs::Programs;
use hotlink_study::simulate::request::{Benchmark, Network, Request};
use hotlink_study::transports::Control;

fn bcast(algorithm: &str) -> Request {
    let algorithms = vec![algorithm.to_owned()];
    let benchmark =
        Benchmark::Collective { which: Which::Bcast, algorithms, protocols: Vec::new(), order: Order::LinearShift };
    Request { nodes: Some(vec![8]), sizes: vec![1024], ..Request::new(benchmark, "qsnet") }
}

fn barrier(fabric: &str, algorithm: &str) -> Request {
    let algorithms = vec![algorithm.to_owned()];
    let benchmark = Benchmark::Barrier { algorithms, own: Barriers::usual() };
    Request { nodes: Some(vec![8]), ..Request::new(benchmark, fabric) }
}

/// Options of the data network, each by itself.
fn networks() -> Vec<Network> {
    let usual = Network::usual;
    vec![
        Network { ethernet: Ethernet::Drop, ..usual() },
        Network { controls: vec![Control { buffer: Some(4096), ..Control::usual() }], ..usual() },
        Network { links: true, ..usual() },
        Network { packet_size: Some(64), ..usual() },
        Network { streams: Some(2), ..usual() },
        Network { capacities: Rates::Theoretical, ..usual() },
    ]
}

/// Options of programs on ranks, each by itself.
fn programs() -> Vec<Programs> {
    let usual = Programs::default;
    vec![
        Programs { via: vec![Via::Tcp], ..usual() },
        Programs { memory: vec![Memory::Private], ..usual() },
        Programs { warmup: Some(3), ..usual() },
        Programs { watching: Some(Watching { count: true, ..Watching::default() }), ..usual() },
    ]
}

#[test]
fn what_runs_without_ranks_or_packets_refuses_their_options() {
    let mut of = vec![barrier("hwbarr", "hardware")];
    for algorithm in ["nic", "hardware", "tree"] {
        of.extend([bcast(algorithm), barrier("qsnet", algorithm)]);
    }
    for plain in of {
        plain.parts().unwrap_or_else(|error| panic!("{plain:?}: {error}"));
        for network in networks() {
            let asked = Request { network, ..plain.clone() };
            assert!(asked.parts().is_err(), "{asked:?}");
        }
        for programs in programs() {
            let asked = Request { programs, ..plain.clone() };
            assert!(asked.parts().is_err(), "{asked:?}");
        }
    }
    // A broadcast has no --stack that the advice could name.
    let links = Request { network: Network { links: true, ..Network::usual() }, ..bcast("binomial") };
    let told = links.parts().expect_err("no record of links").to_string();
    assert!(told.contains("--links") && !told.contains("--stack"), "{told}");
}

#[test]
fn asking_for_samples_asks_for_ranks_which_give_them() {
    let programs = Programs { samples: Some(5), raw: true, ..Programs::default() };
    for benchmark in [Benchmark::pingpong(), Benchmark::collective(Which::Alltoall)] {
        let asked = Request { sizes: vec![64], programs: programs.clone(), ..Request::new(benchmark, "ib-qdr") };
        let asked = Request { nodes: Some(vec![4]), ..asked };
        let record = &asked.run(&Unwatched).expect("runs")[0];
        let samples = record.get("samples").and_then(|samples| samples.as_array()).map(Vec::len);
        assert_eq!((record.number("n"), samples, record.text("stack")), (Some(5.0), Some(5), Some("message")));
    }
    let streams = Benchmark::Stream {
        directions: vec![hotlink_bench::Direction::Uni],
        calls: hotlink_bench::Calls::Windowed,
        window: None,
    };
    let raw = Request { programs, ..Request::new(streams.clone(), "ib-qdr") };
    assert!(raw.parts().expect_err("medians").to_string().contains("--raw"));
    let several = Programs { samples: Some(3), ..Programs::default() };
    let several = Request { programs: several, sizes: vec![64], ..Request::new(streams, "ib-qdr") };
    assert_eq!(several.run(&Unwatched).expect("runs")[0].number("n"), Some(3.0));
}
