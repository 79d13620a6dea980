//! The kernel's TCP/IP over a simulated adapter: what each copy, checksum, segment and interrupt costs a message.

use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::{Fabric, catalog};
use hotlink_message::Comm;
use hotlink_port::{Driver, Kind, Port, Span};
use hotlink_sim::host::Host;
use hotlink_sim::port::{Family, VirtualTime};
use hotlink_sim::{Plan, Settings};

/// A segment of Ethernet: several of them fit into one message of the stack.
const SEGMENT: u64 = 1460;

/// When rank 1 has a message of `bytes` from rank 0, in picoseconds.
fn arrival(spec: &FabricSpec, bytes: u64) -> u64 {
    let program = move |port| async move {
        let comm = Comm::new(port);
        let memory = comm.alloc(bytes, Kind::Ghost).expect("memory");
        let span = Span::new(memory, 0, bytes);
        match comm.rank() {
            0 => comm.send(1, 0, span).await.expect("a receiver"),
            _ => drop(comm.recv(Some(0), Some(0), span).await.expect("a sender")),
        }
        comm.now().0
    };
    let fabric = Fabric::build(spec, 2).expect("two nodes");
    let settings = Settings::of(spec);
    let plan = Plan::new(&fabric, &settings).expect("a plan");
    let mut driver = VirtualTime::new(&plan, &settings).unwrap().with_family(Family::Tcp).unwrap();
    driver.run(2, &Arrival(program)).expect("both end")[1]
}

/// A closure as a program.
struct Arrival<F>(F);

impl<P: Port, F: Fn(P) -> Fut, Fut: Future<Output = u64>> hotlink_port::Program<P, u64> for Arrival<F> {
    fn run(&self, port: P) -> impl Future<Output = u64> {
        (self.0)(port)
    }
}

fn myrinet(change: impl FnOnce(&mut FabricSpec)) -> FabricSpec {
    let mut spec = catalog::load("k98-myrinet").expect("in the catalog");
    spec.parameters.get_mut("tcp_segment").expect("stated").value = SEGMENT as f64;
    change(&mut spec);
    spec
}

fn set(name: &'static str, factor: f64) -> impl FnOnce(&mut FabricSpec) {
    move |spec| spec.parameters.get_mut(name).expect("stated").value *= factor
}

/// Every segment interrupts the receiver: 10 us each, on the critical path once the message is there.
#[test]
fn every_segment_interrupts_its_receiver() {
    let (with, without) = (myrinet(|_| {}), myrinet(set("interrupt_time", 0.0)));
    for segments in [1, 4, 9] {
        let cost = arrival(&with, segments * SEGMENT) - arrival(&without, segments * SEGMENT);
        assert_eq!(cost, segments * 10_000_000, "{segments} segments");
    }
}

/// Both sides work 40 us for every segment; the sender's work is hidden behind nothing but its own.
#[test]
fn every_segment_costs_both_sides() {
    let (with, without) = (myrinet(|_| {}), myrinet(set("tcp_overhead", 0.0)));
    let cost = |segments: u64| arrival(&with, segments * SEGMENT) - arrival(&without, segments * SEGMENT);
    assert_eq!(cost(1), 2 * 40_000_000);
    // The last of the sender's segments is under way, the others are before it.
    assert!((7.0..=8.01).contains(&(cost(4) as f64 / 40e6)), "{}", cost(4));
}

/// One segment: on each side a copy and a checksum, all from memory but the program's block, which fits a cache.
#[test]
fn copies_and_checksums_follow_the_memory() {
    let bytes = 1440;
    let work = |spec: &FabricSpec| {
        let memory = Host::new(spec).expect("a host model").memory().clone();
        let received = memory.copy_arrived(bytes, 1, bytes);
        memory.copy_uncached(bytes, 1, 0).0 + 2 * memory.read(bytes).0 + received.0
    };
    let usual = myrinet(|_| {});
    for name in ["memory_line_time", "memory_open_time", "memory_row_time"] {
        let slower = myrinet(set(name, 2.0));
        let more = arrival(&slower, bytes) - arrival(&usual, bytes);
        assert!(more > 0, "{name}");
        // The bus waits for the memory, too: a burst each way, and the words that announce it.
        assert!(more.abs_diff(work(&slower) - work(&usual)) < 2_500_000, "{name}: {more} ps");
    }
}

/// A byte past a segment is another segment.
#[test]
fn a_byte_too_many_is_another_segment() {
    let spec = myrinet(|_| {});
    let more = arrival(&spec, SEGMENT + 1) - arrival(&spec, SEGMENT);
    assert!(more >= 40_000_000 + 10_000_000, "{more} ps");
}
