//! The loopback port conforms, plain and under every layer of middleware, on many schedules.

use hotlink_port::conformance::check;
use hotlink_port::loopback::Loopback;
use hotlink_port::middleware::{Count, Fault, Layered, Trace};

#[test]
fn loopback() {
    for seed in 0..10 {
        assert_eq!(check(&mut Loopback { seed, ..Loopback::default() }), [""; 0], "seed {seed}");
    }
    assert_eq!(check(&mut Loopback { deposits: false, ..Loopback::default() }), [""; 0]);
}

#[test]
fn trace_and_count_change_nothing() {
    assert_eq!(check(&mut Layered::new(Loopback::default(), |_| Count::default())), [""; 0]);
    assert_eq!(check(&mut Layered::new(Loopback::default(), |_| Trace::new(|_: &str| ()))), [""; 0]);
}

#[test]
fn a_port_with_faults_still_conforms() {
    for seed in 0..10 {
        let layer = |rank| Fault::new(seed * 10 + u64::from(rank), 30, 40, 20);
        assert_eq!(check(&mut Layered::new(Loopback { seed, ..Loopback::default() }, layer)), [""; 0], "seed {seed}");
    }
}
