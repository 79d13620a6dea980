//! The real ports conform, plain and under middleware.

use hotlink_port::conformance::check;
use hotlink_port::middleware::{Count, Fault, Layered};
use hotlink_real::{Mixed, Options, Shm, Tcp};
use std::time::Duration;

fn options() -> Options {
    Options { limit: Some(Duration::from_secs(20)), pin: false, ..Options::default() }
}

#[test]
fn shared_memory() {
    assert_eq!(check(&mut Shm::new(options())), [""; 0]);
}

#[test]
fn tcp() {
    assert_eq!(check(&mut Tcp::new(options())), [""; 0]);
}

/// Shared memory within a host and TCP between hosts: all on one host, each on its own, and two of three together.
#[test]
fn mixed() {
    for hosts in [1, 2, 3] {
        assert_eq!(check(&mut Mixed::new(options()).playing(hosts)), [""; 0], "{hosts} hosts");
    }
}

#[test]
fn with_faults() {
    assert_eq!(check(&mut Layered::new(Shm::new(options()), |rank| Fault::new(rank.into(), 20, 30, 20))), [""; 0]);
    assert_eq!(check(&mut Layered::new(Tcp::new(options()), |rank| Fault::new(rank.into(), 20, 30, 20))), [""; 0]);
    let mixed = Mixed::new(options()).playing(2);
    assert_eq!(check(&mut Layered::new(mixed, |rank| Fault::new(rank.into(), 20, 30, 20))), [""; 0]);
}

#[test]
fn counted() {
    assert_eq!(check(&mut Layered::new(Shm::new(options()), |_| Count::default())), [""; 0]);
}
