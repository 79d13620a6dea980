//! What steps of the kernels cost a collective, and its bound: within hosts, and by the proxies between them.

use crate::jobs::{NETWORK, by, number};
use hotlink_bench::Record;
use hotlink_schedule::Protocol;
use hotlink_schedule::collective::{Algorithm, Which};
use hotlink_study::Unwatched;
use hotlink_study::inputs::Vary;
use hotlink_workloads::collective::{Collective, protocols};

/// An allreduce by an algorithm and a protocol.
fn run(algorithm: Algorithm, protocol: Protocol, fabric: &str, (nodes, bytes): (u32, u64)) -> Record {
    let (algorithms, protocols) = (vec![algorithm], vec![protocol]);
    let (nodes, sizes) = (vec![nodes], vec![bytes]);
    let asked =
        Collective { which: Which::Allreduce, algorithms, protocols, nodes, sizes, network: NETWORK, vary: Vary::No };
    asked.records(&[fabric.to_owned()], &Unwatched).unwrap().remove(0)
}

/// A ring with Simple on the catalog's hosts, with steps between hosts and posts that take these microseconds.
fn ring(name: &str, [far, post]: [f64; 2], size: (u32, u64)) -> Record {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/fabrics/hgx-h100-rail.toml");
    let stated = |name: &str, us: f64| {
        format!("gpu_{name}_time = {{ value = {us}, unit = \"us\", source = \"a test\", status = \"estimated\" }}\n")
    };
    let text = std::fs::read_to_string(file).unwrap();
    let text = format!("{text}\n[parameter]\n{}{}", stated("ring_simple_far", far), stated("post", post));
    let path = std::env::temp_dir().join(format!("hotlink-{}-{name}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let record = run(Algorithm::Ring, Protocol::Simple, &path.display().to_string(), size);
    std::fs::remove_file(&path).unwrap();
    record
}

/// A piece passes each proxy of its way once: its delays add up, and those of pieces at one proxy do not.
#[test]
fn a_proxys_delay_is_paid_by_hops_between_hosts_and_stands_in_no_bound() {
    // Four hosts: a chain of 2 x 31 hops enters a host 8 times, and every GPU at a host's end posts 62 pieces.
    let size = (32, 64 << 10);
    let [none, some] = [("none", 5.0), ("some", 10.0)].map(|(name, us)| ring(name, [us, 0.0], size));
    let paid = number(&some, "latency_us") - number(&none, "latency_us");
    assert!((7.0 * 5.0..=8.0 * 5.0).contains(&paid), "{paid}: {none:?} {some:?}");
    // What a proxy works for one piece another one waits for: three posts a piece.
    let worked = ring("work", [30.0, 4.0], size);
    assert!(number(&worked, "latency_us") >= 62.0 * 12.0, "{worked:?}");
    for record in [&some, &worked] {
        assert_eq!(number(record, "bound_latency_us"), number(&none, "bound_latency_us"), "{record:?}");
    }
    assert!(worked.text("limiter").is_some_and(|name| name.starts_with("thread of the proxies of GPU")), "{worked:?}");
}

/// A thousand times the data takes more than a few per cent more time.
#[test]
fn a_ring_between_hosts_has_no_floor_but_its_steps() {
    let [short, long] = [64 << 10, 64 << 20].map(|bytes| by(Algorithm::Ring, "hgx-h100-rail", (64, bytes), NETWORK));
    assert!(number(&long, "latency_us") > 1.5 * number(&short, "latency_us"), "{short:?} {long:?}");
    // NCCL's model (`src/graph/tuning.cc`) has 156 us for 126 steps of LL, its shortest.
    assert!(number(&short, "bound_latency_us") < 126.0, "{short:?}");
}

/// Few bytes take the steps of NCCL's table, on top of its base latency. A ring has `2 (n - 1)` of them. A tree has `2 (d
/// - 1)` within hosts and `2 log2 h` between them.
#[test]
fn steps_of_few_bytes_take_what_nccls_table_says() {
    let ring = |launch: f64, near: f64, far: f64, near_steps: f64, far_steps: f64| {
        launch + near_steps * near + far_steps * far
    };
    for (algorithm, protocol, nodes, due) in [
        (Algorithm::Ring, Protocol::Ll, 8, ring(6.6, 0.6, 0.0, 14.0, 0.0)),
        (Algorithm::Ring, Protocol::Ll128, 8, ring(14.0, 1.9, 0.0, 14.0, 0.0)),
        (Algorithm::Ring, Protocol::Simple, 8, ring(8.4, 3.4, 0.0, 14.0, 0.0)),
        // Of 30 hops in a ring through two hosts, up to four leave one.
        (Algorithm::Ring, Protocol::Ll128, 16, ring(14.0, 1.9, 4.0, 26.0, 4.0)),
        (Algorithm::Ring, Protocol::Simple, 16, ring(8.4, 3.4, 14.0, 26.0, 4.0)),
        (Algorithm::Tree, Protocol::Ll, 16, ring(6.8, 0.6, 5.0, 14.0, 2.0)),
        (Algorithm::Tree, Protocol::Ll128, 16, ring(14.0, 1.25, 8.5, 14.0, 2.0)),
        (Algorithm::Tree, Protocol::Simple, 16, ring(8.4, 4.0, 14.0, 14.0, 2.0)),
        (Algorithm::Tree, Protocol::Simple, 64, ring(8.4, 4.0, 14.0, 14.0, 6.0)),
        (Algorithm::NvlsTree, Protocol::Simple, 16, ring(25.0, 0.0, 20.9, 0.0, 2.0)),
    ] {
        let record = run(algorithm, protocol, "hgx-h100-rail", (nodes, 8));
        let took = number(&record, "latency_us");
        assert!((0.97..=1.06).contains(&(took / due)), "{algorithm:?} {protocol:?} of {nodes}: {took} for {due}");
        assert_eq!((record.text("protocol"), record.text("protocol_by")), (Some(protocol.name()), Some("asked")));
    }
}

/// Lines with flags take their share of every link: what is sent, the time of long messages, and the bound.
#[test]
fn flags_take_their_share_of_the_links() {
    let bytes = 64 << 20;
    let simple = run(Algorithm::Ring, Protocol::Simple, "hgx-h100-rail", (16, bytes));
    for (protocol, share) in [(Protocol::Ll128, 120.0 / 128.0), (Protocol::Ll, 0.5)] {
        let flagged = run(Algorithm::Ring, protocol, "hgx-h100-rail", (16, bytes));
        let ratio = |key: &str| number(&simple, key) / number(&flagged, key);
        assert!((ratio("bytes") / share - 1.0).abs() < 1e-3, "{protocol:?}: {}", ratio("bytes"));
        // With LL the channels' own work is a bound, too.
        let is_links = protocol == Protocol::Ll128;
        let bound = ratio("bound_latency_us") / share;
        assert!(bound < 1.01 && (bound > 0.99 || !is_links), "{protocol:?}: {bound}");
        assert!(number(&flagged, "efficiency") <= 1.0 && ratio("latency_us") <= 1.0, "{flagged:?}");
    }
}

/// Without a word NCCL's model chooses by size, and the record says so. What is chosen is what runs.
#[test]
fn nccls_model_chooses_by_size() {
    let asked = |sizes: Vec<u64>| {
        let (algorithms, protocols, nodes) = (Vec::new(), Vec::new(), vec![64]);
        let asked = Collective {
            which: Which::Allreduce,
            algorithms,
            protocols,
            nodes,
            sizes,
            network: NETWORK,
            vary: Vary::No,
        };
        asked.records(&["hgx-h100-rail".to_owned()], &Unwatched).unwrap()
    };
    let records = asked(vec![8, 64 << 20]);
    let ways: Vec<_> = records.iter().map(|record| (record.text("algorithm"), record.text("protocol"))).collect();
    assert_eq!(ways[0], (Some("tree"), Some("ll")));
    assert_eq!(ways[1].1, Some("simple"));
    for record in &records {
        assert_eq!(
            (record.text("algorithm_by"), record.text("protocol_by")),
            (Some("NCCL's model"), Some("NCCL's model"))
        );
    }
    let forced = run(Algorithm::Tree, Protocol::Ll, "hgx-h100-rail", (64, 8));
    assert_eq!(forced.number("latency_us"), records[0].number("latency_us"));
}

/// Whether or not the algorithm is named: exchanges of pairs have no LL128.
#[test]
fn a_protocol_that_an_algorithm_does_not_have_is_refused() {
    for (algorithms, protocol, lacks) in [
        (vec![], Protocol::Ll128, true),
        (vec![], Protocol::Ll, false),
        (vec![Algorithm::Hierarchical], Protocol::Ll128, false),
    ] {
        let (asked, nodes, sizes) = (vec![protocol], vec![16], vec![1 << 20]);
        let which = Which::Alltoall;
        let asked = Collective { which, algorithms, protocols: asked, nodes, sizes, network: NETWORK, vary: Vary::No };
        let ran = asked.records(&["hgx-h100-rail".to_owned()], &Unwatched).map_err(|error| error.to_string());
        match ran {
            Ok(records) => assert!(!lacks, "{records:?}"),
            Err(why) => assert!(lacks && why.contains("--protocol ll128: pairwise has simple, ll"), "{why}"),
        }
    }
    let named = protocols(Which::Alltoall, &[Algorithm::Pairwise], &["ll128".to_owned()]);
    assert!(named.is_err_and(|why| why.to_string().contains("pairwise has simple, ll")));
}
