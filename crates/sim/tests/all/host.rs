//! Loads of remote memory, both directions at once, queues of DMA operations, and interrupts. These are the features of
//! a host and adapter beyond K98's deposits.

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
            // A full stream buffer arrives in one round trip, and then word by word over the reader's bus.
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

/// P052: on the T3D, prefetching and stores are the effective paths. Strides leave loads at the rate of arriving words.
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

/// K98 s10, s16: PCI is one bus for both directions, the T3D's deposit engine has its own path to memory.
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
    let clocks = 2.0 * 8e6 / (bus.read(8 << 20, 256) + bus.write(8 << 20, 256)).s() * 1.048576;
    assert!(both <= clocks && both > 0.97 * clocks, "{both} of {clocks}: turnarounds and waits count");
    assert_eq!(myrinet.exchange(1 << 20).limiting, "PCI 32/33");
    let t3d = host("k98-t3d");
    assert_eq!(t3d.exchange(1 << 20).time, t3d.deposit(&Deposit::new(1 << 20, 1, Series::RemoteDirect)).time);
}

/// Each operation pays for setup, end and interrupt; large operations do not notice.
#[test]
fn dma_pays_for_each_operation() {
    let mut spec = load("k98-sci").expect("in the catalog").with_number("parameter.dma_queue", 1.0);
    let host = Host::new(&spec).expect("a host");
    let dma = |bytes, operations, completion| host.dma(bytes, operations, completion).expect("has DMA");
    let (poll, interrupt) = (dma(4096, 10, Completion::Poll), dma(4096, 10, Completion::Interrupt));
    assert_eq!(interrupt.time.0 - poll.time.0, 10 * 10_000_000, "ten interrupts of 10 us");
    assert_eq!(poll.time.0, 10 * dma(4096, 1, Completion::Poll).time.0, "a queue of one");
    assert!(dma(1 << 20, 1, Completion::Poll).rate > 1.3 * poll.rate);
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
        prop_assert!(fetch(words).efficiency() <= 1.0);
        let both = host.exchange(words * 64);
        prop_assert!(both.efficiency() <= 1.0 && both.rate <= deposit(&host, words * 64, 1));
        if let Some(dma) = host.dma(words * 64, more, Completion::Poll) {
            prop_assert!(dma.efficiency() <= 1.0);
        }
    }
}

fn changed(fabric: &str, parameter: &str, value: f64) -> Host {
    let mut spec = load(fabric).expect("in the catalog");
    spec.parameters.get_mut(parameter).expect("stated").value = value;
    Host::new(&spec).expect("a host")
}

/// K98 s15: stream buffers times payload over the round trip bounds the rate; both numbers count.
#[test]
fn fewer_stream_buffers_hold_a_block_back() {
    let rate = |parameter, value| {
        let time = changed("w01-sci-d330", parameter, value).dma(1 << 20, 1, Completion::Poll).expect("has DMA");
        (time.rate, time.limiting)
    };
    let (one, of_one) = rate("stream_buffers", 1.0);
    let (two, _) = rate("stream_buffers", 2.0);
    assert_eq!(of_one, "stream buffers (round trip)");
    assert!((two / one - 2.0).abs() < 0.1, "{two} for {one}: one packet in a round trip, then two");
    assert!(rate("stream_buffer_size", 64.0).0 < rate("stream_buffer_size", 128.0).0);
}

/// K98 s12: host DMA on the bus, LANai, network DMA on each side work at the same time; whichever is slow holds the
/// rest back. Without room for two pages in staging memory they wait for one another.
#[test]
fn each_of_myrinets_engines_can_be_the_slowest() {
    let (us, limiting) =
        (1e6, |host: &Host, stride| host.deposit(&Deposit::new(1 << 20, stride, Series::RemoteDirect)).limiting);
    for (parameter, value, resource) in [
        ("nic_send_time", 100.0 * us, "LANai (sender)"),
        ("nic_receive_time", 100.0 * us, "LANai (receiver)"),
        ("bridge_time", 10.0 * us, "PCI 32/33 (sender)"),
        ("bus_write_wait_clocks", 200.0, "PCI 32/33 (receiver)"),
    ] {
        assert_eq!(limiting(&changed("k98-myrinet", parameter, value), 1), resource, "{parameter}");
    }
    assert_eq!(limiting(&host("k98-myrinet"), 8), "LANai (receiver)", "a DMA for each word");
    let mut spec = load("k98-myrinet").expect("in the catalog");
    let link = spec.resources.get_mut(&hotlink_fabric::spec::Role::Link).expect("has links");
    link.gross.as_mut().expect("rated").value.0 /= 4;
    assert_eq!(limiting(&Host::new(&spec).expect("a host"), 1), "Myrinet link");
    let cramped = changed("k98-myrinet", "adapter_memory", 8192.0);
    assert!(deposit(&cramped, 1 << 20, 1) < 0.7 * deposit(&host("k98-myrinet"), 1 << 20, 1));
}

/// P01: the host posts and polls, the bus carries both, the Elan's thread handles each event, packets are acknowledged.
/// Ten times any of these costs shows in what uses it.
#[test]
fn each_part_of_the_elan_costs() {
    use hotlink_sim::qsnet::{Algorithm, Collective, Elan, run};
    let spec = load("qsnet").expect("in the catalog");
    let fabric = hotlink_fabric::Fabric::build(&spec, 16).expect("16 nodes");
    let usual = Elan::of(&spec).expect("a QsNet");
    let time = |elan: Elan, algorithm, bytes| {
        let settings = elan.settings(&hotlink_sim::Settings::of(&spec));
        let plan = hotlink_sim::Plan::new(&fabric, &settings).expect("a plan");
        let what = Collective { algorithm, nodes: 16, bytes, samples: 1, limit: None, background: None };
        run(&plan, &settings, elan, &what).expect("it ends").latencies[0]
    };
    let ten = |time: hotlink_fabric::units::Time| hotlink_fabric::units::Time(10 * time.0);
    let slow =
        |change: fn(&mut Elan, fn(hotlink_fabric::units::Time) -> hotlink_fabric::units::Time), algorithm, bytes| {
            let mut elan = usual;
            change(&mut elan, ten);
            time(elan, algorithm, bytes).0 as f64 / time(usual, algorithm, bytes).0 as f64
        };
    assert!(slow(|elan, ten| elan.thread = ten(elan.thread), Algorithm::Nic, None) > 1.5);
    assert_eq!(slow(|elan, ten| elan.thread = ten(elan.thread), Algorithm::Tree, None), 1.0);
    assert!(slow(|elan, ten| elan.send = ten(elan.send), Algorithm::Tree, None) > 1.05);
    assert!(slow(|elan, ten| elan.receive = ten(elan.receive), Algorithm::Tree, None) > 1.05);
    assert!(slow(|elan, ten| elan.bus = ten(elan.bus), Algorithm::Nic, None) > 1.2);
    let acknowledge = |elan: &mut Elan, ten: fn(_) -> _| elan.acknowledge = ten(elan.acknowledge);
    assert!(slow(acknowledge, Algorithm::Hardware, Some(64 << 10)) > 1.05);
}
