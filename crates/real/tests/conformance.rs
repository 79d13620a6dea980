//! The real ports conform, plain and under middleware.

use hotlink_port::conformance::check;
use hotlink_port::middleware::{Count, Fault, Layered};
use hotlink_real::{Options, Shm, Tcp};
use std::time::Duration;

fn options() -> Options {
    Options { limit: Some(Duration::from_secs(20)), pin: false }
}

#[test]
fn shared_memory() {
    assert_eq!(check(&mut Shm::new(options())), [""; 0]);
}

#[test]
fn tcp() {
    assert_eq!(check(&mut Tcp::new(options())), [""; 0]);
}

#[test]
fn with_faults() {
    assert_eq!(check(&mut Layered::new(Shm::new(options()), |rank| Fault::new(rank.into(), 20, 30, 20))), [""; 0]);
    assert_eq!(check(&mut Layered::new(Tcp::new(options()), |rank| Fault::new(rank.into(), 20, 30, 20))), [""; 0]);
}

#[test]
fn counted() {
    assert_eq!(check(&mut Layered::new(Shm::new(options()), |_| Count::default())), [""; 0]);
}
