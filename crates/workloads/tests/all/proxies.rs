//! What the proxies that hand pieces to the adapters cost a collective, and its bound.

use crate::jobs::{NETWORK, by, number};
use hotlink_bench::Record;
use hotlink_schedule::collective::Algorithm;

/// A ring on the catalog's hosts with these times of a proxy, in microseconds.
fn ring(name: &str, [proxy, post]: [f64; 2], (nodes, bytes): (u32, u64)) -> Record {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/fabrics/hgx-h100-rail.toml");
    let stated = |name: &str, us: f64| {
        format!("gpu_{name}_time = {{ value = {us}, unit = \"us\", source = \"a test\", status = \"estimated\" }}\n")
    };
    let text = std::fs::read_to_string(file).unwrap();
    let text = format!("{text}\n[parameter]\n{}{}", stated("proxy", proxy), stated("post", post));
    let path = std::env::temp_dir().join(format!("hotlink-{}-{name}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let record = by(Algorithm::Ring, &path.display().to_string(), (nodes, bytes), NETWORK);
    std::fs::remove_file(&path).unwrap();
    record
}

/// A piece passes each proxy of its way once: its delays add up, and those of pieces at one proxy do not.
#[test]
fn a_proxys_delay_is_paid_by_hops_between_hosts_and_stands_in_no_bound() {
    // Four hosts: a chain of 2 x 31 hops enters a host 8 times, and every GPU at a host's end posts 62 pieces.
    let size = (32, 64 << 10);
    let [none, some] = [("none", 0.0), ("some", 5.0)].map(|(name, us)| ring(name, [us, 0.0], size));
    let paid = number(&some, "latency_us") - number(&none, "latency_us");
    assert!((7.0 * 5.0..=8.0 * 5.0).contains(&paid), "{paid}: {none:?} {some:?}");
    // What a proxy works for one piece another one waits for.
    let worked = ring("work", [5.0, 5.0], size);
    assert!(number(&worked, "latency_us") >= 62.0 * 5.0, "{worked:?}");
    for record in [&some, &worked] {
        assert_eq!(number(record, "bound_latency_us"), number(&none, "bound_latency_us"), "{record:?}");
    }
    assert!(worked.text("limiter").is_some_and(|name| name.starts_with("proxy of channel")), "{worked:?}");
}

/// A thousand times the data takes more than a few per cent more time.
#[test]
fn a_ring_between_hosts_has_no_floor_but_its_steps() {
    let [short, long] = [64 << 10, 64 << 20].map(|bytes| by(Algorithm::Ring, "hgx-h100-rail", (64, bytes), NETWORK));
    assert!(number(&long, "latency_us") > 1.5 * number(&short, "latency_us"), "{short:?} {long:?}");
    // NCCL's model (`src/graph/tuning.cc`) has 156 us for 126 steps of LL, its shortest.
    assert!(number(&short, "bound_latency_us") < 126.0, "{short:?}");
}
