//! Loads of remote memory, both directions at once, queues of DMA operations, interrupts: what must hold of a host's
//! and adapter's other features beside K98's deposits.

use hotlink_fabric::catalog::load;
use hotlink_sim::host::{Completion, Deposit, Host, Series, WORD};
use proptest::prelude::*;

fn host(fabric: &str) -> Host {
    Host::new(&load(fabric).expect("in the catalog")).expect("has a host model")
}

fn deposit(host: &Host, bytes: u64, stride: u64) -> f64 {
    host.deposit(&Deposit::new(bytes, stride, Series::RemoteDirect)).rate
}

const SCI: [&str; 5] = ["k98-sci", "k98-clustar", "w01-sci-d330", "sci-ring", "sci-torus2d"];

/// SMI manual p27 (parameters P009): on SCI a get is much slower than a put, at every stride.
#[test]
fn sci_fetches_are_much_slower_than_its_deposits() {
    for fabric in SCI {
        let host = host(fabric);
        for stride in [1, 2, 8, 64] {
            let fetch = host.fetch(64 << 10, stride, 0).expect("has loads");
            assert!(fetch.rate < deposit(&host, 64 << 10, stride) / 3.0, "{fabric} at {stride}: {}", fetch.rate);
            // A full stream buffer comes in one round trip, and then word by word over the reader's bus.
            let taken = stride == 1 && fetch.limiting.ends_with("(reader)");
            assert!(taken || fetch.limiting == "loads (round trip)", "{fabric} at {stride}: {}", fetch.limiting);
        }
    }
}

/// One load takes the stated round trip; the T3D's first one sets the annex, too.
#[test]
fn one_load_takes_the_round_trip_of_the_catalog() {
    for fabric in SCI.into_iter().chain(["k98-t3d"]) {
        let spec = load(fabric).expect("in the catalog");
        let stated = |name: &str| spec.parameters.get(name).map_or(0, |time| time.value as u64);
        let time = host(fabric).fetch(WORD, 2, 0).expect("has loads").time;
        assert_eq!(time.0, stated("pio_read_latency") + stated("annex_time"), "{fabric}");
    }
    assert!(host("k98-myrinet").fetch(WORD, 1, 0).is_none(), "Myrinet has no remote loads");
}

/// P052: on the T3D, prefetching and stores are the effective ways; strides leave loads as fast as words come.
#[test]
fn the_prefetch_queue_hides_the_round_trip_of_the_t3d() {
    let t3d = host("k98-t3d");
    let mut spec = load("k98-t3d").expect("in the catalog");
    spec.parameters.remove("remote_reads");
    let blocking = Host::new(&spec).expect("one load at a time");
    let rate = |host: &Host, stride| host.fetch(64 << 10, stride, 0).expect("has loads").rate;
    assert!(rate(&t3d, 1) > 3.0 * rate(&blocking, 1));
    assert!(rate(&t3d, 64) > 0.5 * rate(&t3d, 1));
    assert!(rate(&t3d, 1) < deposit(&t3d, 64 << 10, 1), "no line of four words goes back at a time");
}

/// K98 s10, s16: PCI is one bus for both directions, the T3D's deposit engine has its own way to memory.
#[test]
fn both_directions_share_pci_and_nothing_on_the_t3d() {
    for fabric in ["k98-sci", "k98-clustar", "k98-myrinet", "w01-sci-d330"] {
        let host = host(fabric);
        let (alone, shared) = (deposit(&host, 1 << 20, 1), host.exchange(1 << 20));
        assert!(shared.rate <= alone && shared.rate > 0.45 * alone, "{fabric}: {} of {alone}", shared.rate);
    }
    let myrinet = host("k98-myrinet");
    let both = 2.0 * myrinet.exchange(8 << 20).rate;
    let bus = myrinet.bus().expect("PCI");
    assert!(both <= bus.peak() * 64.0 / 67.0 && both > 0.97 * bus.peak() * 64.0 / 67.0, "{both}: turnarounds count");
    assert_eq!(myrinet.exchange(1 << 20).limiting, "PCI 32/33");
    let t3d = host("k98-t3d");
    assert_eq!(t3d.exchange(1 << 20).time, t3d.deposit(&Deposit::new(1 << 20, 1, Series::RemoteDirect)).time);
}

/// Set-up, end and interrupt are paid for each operation; large operations do not notice.
#[test]
fn dma_pays_for_each_operation() {
    let host = host("k98-sci");
    let dma = |bytes, operations, completion| host.dma(bytes, operations, completion).expect("has DMA");
    let (poll, interrupt) = (dma(4096, 10, Completion::Poll), dma(4096, 10, Completion::Interrupt));
    assert_eq!(interrupt.time.0 - poll.time.0, 10 * 10_000_000, "ten interrupts of 10 us");
    assert_eq!(poll.time.0, 10 * dma(4096, 1, Completion::Poll).time.0, "a queue of one");
    assert!(dma(1 << 20, 1, Completion::Poll).rate > 1.3 * poll.rate);
    let mut spec = load("k98-sci").expect("in the catalog");
    spec.parameters.get_mut("dma_setup_time").expect("stated").value /= 10.0;
    let quick = Host::new(&spec).expect("a host").dma(4096, 10, Completion::Poll).expect("has DMA");
    assert!(quick.time < poll.time);
    assert!(self::host("k98-t3d").dma(4096, 1, Completion::Poll).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn more_is_never_sooner_and_never_above_the_bound(
        fabric in proptest::sample::select(vec!["k98-sci", "k98-clustar", "k98-t3d", "w01-sci-d330"]),
        words in 1u64..1000,
        more in 1u64..300,
        stride in 1u64..70,
    ) {
        let host = host(fabric);
        let fetch = |words: u64| host.fetch(words * 64, stride, 0).expect("has loads");
        prop_assert!(fetch(words + more).time >= fetch(words).time);
        prop_assert!(fetch(words).rate <= fetch(words).bound);
        let both = host.exchange(words * 64);
        prop_assert!(both.rate <= both.bound && both.rate <= deposit(&host, words * 64, 1));
        if let Some(dma) = host.dma(words * 64, more, Completion::Poll) {
            prop_assert!(dma.rate <= dma.bound);
        }
    }
}
