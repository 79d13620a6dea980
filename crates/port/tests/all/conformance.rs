//! The loopback port conforms, plain and under every layer of middleware, on many schedules.

use hotlink_port::conformance::check;
use hotlink_port::loopback::Loopback;
use hotlink_port::middleware::{Count, Fault, Layered, Trace};
use hotlink_port::{AnyPort, Driver, Program, RunError, any};
use serde::{Serialize, de::DeserializeOwned};

/// The loopback's ports as objects.
struct Objects(Loopback);

impl Driver for Objects {
    type Port = AnyPort<'static>;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<AnyPort<'static>, T>,
    {
        self.0.run(ranks, &|port| program.run(any(port)))
    }
}

#[test]
fn a_port_conforms_as_any_port() {
    for seed in 0..10 {
        assert_eq!(check(&mut Objects(Loopback { seed, ..Loopback::default() })), [""; 0], "seed {seed}");
    }
}

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
