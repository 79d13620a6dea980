//! K98's first level, direct deposit: what its slides state, and what must hold of any deposit.

use hotlink_fabric::catalog::load;
use hotlink_fabric::spec::Value;
use hotlink_memory::Kernel;
use hotlink_sim::host::{Deposit, DepositTime, Host, Series};
use proptest::prelude::*;

const FABRICS: [&str; 5] = ["k98-sci", "k98-clustar", "k98-myrinet", "k98-t3d", "w01-sci-d330"];
/// K98 s19, s21, s23.
const STRIDES: [u64; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64];
const BLOCK: u64 = 128 << 10;

fn host(fabric: &str) -> Host {
    Host::new(&load(fabric).expect("in the catalog")).expect("has a host model")
}

fn run(host: &Host, bytes: u64, stride: u64, series: Series) -> DepositTime {
    host.deposit(&Deposit::new(bytes, stride, series))
}

fn mbps(fabric: &str, stride: u64, series: Series) -> f64 {
    run(&host(fabric), BLOCK, stride, series).rate / 1e6
}

/// K98 s28, G026: "excellent performance for contiguous blocks".
#[test]
fn contiguous_deposits_come_near_the_bus_or_the_link() {
    let share = |host: &Host| {
        let deposit = run(host, BLOCK, 1, Series::RemoteDirect);
        deposit.efficiency()
    };
    for (fabric, least) in [("k98-myrinet", 0.7), ("k98-clustar", 0.7), ("k98-sci", 0.65), ("k98-t3d", 0.95)] {
        let share = share(&host(fabric));
        assert!(share >= least, "{fabric}: {share}");
    }
    // What Myrinet lacks are waits for memory at each burst: of a page instead of 256 bytes, they are few.
    let paged = load("k98-myrinet").expect("in the catalog").with_number("parameter.dma_burst", 4096.0);
    let share = share(&Host::new(&paged).expect("a host"));
    assert!(share >= 0.88, "{share}");
}

/// K98 s19: 126 MB/s. The length of the adapter's bursts is not known. The label lies where long bursts lead, not where
/// the default of later cards does.
#[test]
fn myrinets_label_lies_within_what_its_bursts_may_be() {
    let rate = |burst: f64| {
        let spec = load("k98-myrinet").expect("in the catalog").with_number("parameter.dma_burst", burst);
        run(&Host::new(&spec).expect("a host"), 8 << 20, 1, Series::RemoteDirect).rate / 1e6
    };
    let [least, usual, most] = [64.0, 256.0, 4096.0].map(rate);
    assert!(least < usual && usual < 115.0 && 126.0 < most && most < 132.0, "{least} {usual} {most}");
}

/// K98 s28, G026: "for strided data the performance of PCI-adapters collapses".
#[test]
fn strides_collapse_on_pci_adapters_and_not_on_the_t3d() {
    for stride in STRIDES.into_iter().skip(1) {
        let left = |fabric| mbps(fabric, stride, Series::RemoteDirect) / mbps(fabric, 1, Series::RemoteDirect);
        for fabric in ["k98-sci", "k98-clustar", "k98-myrinet"] {
            assert!(left(fabric) < 0.25, "{fabric} at {stride}: {}", left(fabric));
        }
        assert!(left("k98-t3d") > 0.45, "T3D at {stride}: {}", left("k98-t3d"));
    }
}

/// K98 s13, s17: the sender packs by its processor or by its adapter's.
#[test]
fn senders_pack_by_the_processor_and_gather_by_the_lanai() {
    for fabric in ["k98-sci", "k98-clustar", "k98-myrinet", "k98-t3d"] {
        let host = host(fabric);
        let time = |stride| host.deposit(&Deposit::new(BLOCK, stride, Series::RemotePackDma)).time;
        let packed = host.memory().run(Kernel::Pack { bytes: BLOCK, stride: 4 });
        assert_eq!(time(4), host.block_by_engine(BLOCK).time + packed, "{fabric}: one after the other");
        assert_eq!(host.gather(BLOCK, 4).is_some(), fabric == "k98-myrinet", "only the LANai is described");
    }
    let host = host("k98-myrinet");
    assert_eq!(host.gather(BLOCK, 1).unwrap().time, host.block_by_engine(BLOCK).time);
    // A DMA for each word, as where they are scattered: the other LANai has them.
    let (gather, scatter) =
        (host.gather(BLOCK, 8).unwrap(), host.deposit(&Deposit::new(BLOCK, 8, Series::RemoteDirect)));
    assert_eq!((&*gather.limiting, &*scatter.limiting), ("LANai (sender)", "LANai (receiver)"));
    assert!((gather.rate / scatter.rate - 1.0).abs() < 0.01, "{} {}", gather.rate, scatter.rate);
    assert!(
        mbps("k98-myrinet", 8, Series::RemotePackDma) > 2.0 * gather.rate / 1e6,
        "the host's processor packs faster"
    );
}

/// W01 s3: each copy costs its time, and none is the engine's block.
#[test]
fn every_intermediate_copy_costs() {
    let host = host("w01-sci-d330");
    assert_eq!(host.copied(BLOCK, 0), host.block_by_engine(BLOCK));
    let times = [0, 1, 2, 3].map(|copies| host.copied(BLOCK, copies).time);
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    assert_eq!(times[3] - times[2], host.memory().copy(BLOCK, 1));
}

/// The receiver's processor unpacks faster than Myrinet's LANai scatters. A block needs no unpacking. Beyond the
/// smallest strides, the T3D's deposit engine scatters at least as fast as its processor unpacks.
#[test]
fn packing_wins_on_myrinet_with_strides_and_nowhere_without() {
    for fabric in ["k98-sci", "k98-clustar", "k98-myrinet", "k98-t3d"] {
        assert!(mbps(fabric, 1, Series::RemoteDirect) > mbps(fabric, 1, Series::RemoteDmaUnpack), "{fabric}");
    }
    for stride in STRIDES.into_iter().skip(1) {
        let ahead = |fabric| mbps(fabric, stride, Series::RemoteDmaUnpack) / mbps(fabric, stride, Series::RemoteDirect);
        assert!(ahead("k98-myrinet") > 1.5, "{stride}");
        assert!(stride < 3 || ahead("k98-t3d") < 1.0, "{stride}");
    }
    assert!(mbps("k98-sci", 2, Series::RemoteDmaUnpack) > mbps("k98-sci", 2, Series::RemoteDirect));
}

/// K98 s24: the order of the series.
#[test]
fn clustar_is_ahead_of_the_first_generation_at_every_block_size() {
    let (clustar, first) = (host("k98-clustar"), host("k98-sci"));
    for bits in 2..=19 {
        let rate = |host| run(host, 1 << bits, 1, Series::RemoteDirect).rate;
        assert!(rate(&clustar) >= rate(&first), "{} bytes", 1 << bits);
    }
}

/// Stores reach remote memory sooner than descriptors; bursts of DMA are fuller than those of write combining.
#[test]
fn sci_leads_for_small_blocks_and_myrinet_for_large_ones() {
    let (sci, myrinet) = (host("k98-clustar"), host("k98-myrinet"));
    let rate = |host, bytes| run(host, bytes, 1, Series::RemoteDirect).rate;
    assert!(rate(&sci, 64) > rate(&myrinet, 64));
    assert!(rate(&myrinet, 512 << 10) > rate(&sci, 512 << 10));
}

/// K98 s14: data of 16 or 64 bytes. Part of a stream buffer leaves in packets of 16.
#[test]
fn part_of_a_stream_buffer_takes_longer_than_a_full_one() {
    let host = host("k98-sci");
    assert!(run(&host, 56, 1, Series::RemoteDirect).time > run(&host, 64, 1, Series::RemoteDirect).time);
}

/// An offset costs a first and a last part; off DMA's alignment the processor has to store.
#[test]
fn an_offset_costs_and_a_wrong_one_costs_dma() {
    let host = host("k98-sci");
    let time = |series, bytes, offset| host.deposit(&Deposit { offset, ..Deposit::new(bytes, 1, series) }).time;
    let direct = |offset| time(Series::RemoteDirect, 256, offset);
    assert!(direct(8) > direct(0) && direct(64) == direct(0));
    let dma = |bytes, offset| time(Series::RemoteDmaUnpack, bytes, offset);
    // Without the setup of DMA a short block arrives sooner, even in small packets.
    assert!(dma(256, 8) > dma(256, 0) && dma(256, 4) < dma(256, 0));
}

/// Each clock that a read waits for its first data is a clock for 64 data phases.
#[test]
fn a_wait_on_reads_costs_what_the_bus_says() {
    let host = host("k98-myrinet");
    let bus = host.bus().expect("PCI");
    let slower = host.with_bus(bus.with_read_wait(8));
    let rate = run(&slower, 8 << 20, 1, Series::RemoteDirect).rate / 1e6;
    assert!((rate - 132.0 * 64.0 / 75.0).abs() < 0.5, "{rate}");
}

/// The study as a table: a change of behaviour is a visible difference. `HOTLINK_GOLDEN=write` accepts it.
#[test]
fn the_deposit_study_is_the_golden_table() {
    let mut table = String::from("fabric series size_B stride time_ps limiting events trace_hash\n");
    for fabric in FABRICS {
        let host = host(fabric);
        let strides = STRIDES.map(|stride| (32 << 10, stride));
        let sizes: Vec<(u64, u64)> = (2..=19).map(|bits| (1 << bits, 1)).collect();
        for series in Series::USUAL {
            for &(bytes, stride) in strides.iter().chain(&sizes) {
                let DepositTime { time, limiting, events, trace_hash, .. } = run(&host, bytes, stride, series);
                let (series, limiting) = (series.name(), limiting.replace(' ', "_"));
                let line =
                    format!("{fabric} {series} {bytes} {stride} {} {limiting} {events} {trace_hash:016x}\n", time.0);
                table.push_str(&line);
            }
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/deposit.txt");
    if std::env::var_os("HOTLINK_GOLDEN").is_some() {
        std::fs::write(path, &table).expect("writable");
    }
    let golden = std::fs::read_to_string(path).expect("written with HOTLINK_GOLDEN=write");
    for (line, (new, old)) in table.lines().zip(golden.lines()).enumerate() {
        assert_eq!(new, old, "line {}", line + 1);
    }
    assert_eq!(table.lines().count(), golden.lines().count());
}

#[test]
fn the_same_deposit_takes_the_same_course() {
    for fabric in FABRICS {
        for series in Series::USUAL {
            assert_eq!(run(&host(fabric), 5000, 3, series), run(&host(fabric), 5000, 3, series));
        }
    }
}

#[test]
fn a_missing_parameter_is_named_with_its_meaning() {
    let mut spec = load("k98-sci").expect("in the catalog");
    spec.parameters.remove("stream_buffers");
    let error = Host::new(&spec).expect_err("a parameter is missing").to_string();
    let what = "k98-sci: parameter.stream_buffers is missing (stream buffers of the adapter): state it";
    assert!(error.starts_with(what), "{error}");
    let error = Host::new(&load("ib-ndr-fat-tree2").expect("in the catalog")).expect_err("no model").to_string();
    assert!(error.starts_with("ib-ndr-fat-tree2: no host model"), "{error}");
}

/// Nothing stands in for a memory system that a file states in part. A file may state none of it.
#[test]
fn a_memory_stated_in_part_is_an_error() {
    let whole = load("k98-sci").expect("in the catalog");
    assert!(Host::stated(&whole).is_ok_and(|host| host.is_some()));
    let with = |prefix: &str| whole.parameters.beginning(prefix).map(|(name, _)| name.clone()).collect::<Vec<String>>();
    let names: Vec<String> = ["memory_", "l1_", "l2_", "tlb_", "bridge_"].into_iter().flat_map(with).collect();
    assert!(names.len() >= 21, "{names:?}");
    let mut without_any = whole.clone();
    for name in &names {
        let mut spec = whole.clone();
        without_any.parameters.remove(name);
        let stated = spec.parameters.remove(name).expect("stated");
        let error = Host::stated(&spec).expect_err(name).to_string();
        assert!(error.starts_with(&format!("k98-sci: parameter.{name} is missing (")), "{error}");
        spec.parameters.insert(name.clone(), Value { value: 1e14, ..stated });
        let error = Host::stated(&spec).map(|_| ()).expect_err(name).to_string();
        assert!(error.contains("out of range"), "{error}");
    }
    assert!(Host::stated(&without_any).is_ok_and(|host| host.is_none()));
    assert!(Host::stated(&load("ib-ndr-fat-tree2").expect("in the catalog")).is_ok_and(|host| host.is_none()));
}

fn any_fabric() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(FABRICS.to_vec())
}
fn remote() -> impl Strategy<Value = Series> {
    prop_oneof![Just(Series::RemoteDirect), Just(Series::RemoteDmaUnpack)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn never_above_the_bound(fabric in any_fabric(), series in remote(), bytes in 1u64..40_000, stride in 1u64..70) {
        let deposit = run(&host(fabric), bytes, stride, series);
        prop_assert!(deposit.efficiency() <= 1.0, "{} > {:?}", deposit.rate, deposit.bound);
    }

    /// One stride may be faster than a smaller one, where its words meet less in banks and sets; none than a block.
    #[test]
    fn no_stride_is_faster_than_a_block(fabric in any_fabric(), index in 0usize..3, bytes in 256u64..40_000, stride in 2u64..70) {
        let (host, series) = (host(fabric), Series::USUAL[index]);
        prop_assert!(run(&host, bytes, stride, series).time >= run(&host, bytes, 1, series).time);
    }

    #[test]
    fn more_full_buffers_never_take_less_time(fabric in any_fabric(), series in remote(), buffers in 1u64..300, more in 1u64..30, stride in 1u64..9) {
        let host = host(fabric);
        let time = |buffers| run(&host, buffers * 128, stride, series).time;
        prop_assert!(time(buffers + more) >= time(buffers));
    }

    /// The axis of K98 s24 doubles; a doubled block never has a lower rate.
    #[test]
    fn a_doubled_block_is_never_slower(fabric in any_fabric(), bits in 2u32..17) {
        let host = host(fabric);
        let rate = |bits: u32| run(&host, 1 << bits, 1, Series::RemoteDirect).rate;
        prop_assert!(rate(bits + 1) >= rate(bits));
    }
}

proptest! {
    /// A value of a user's own file either works or is refused; it never makes a run panic.
    #[test]
    fn no_value_makes_a_host_panic(fabric in any_fabric(), index in 0usize..100, exponent in 0i32..=15, series in remote(), stride in 1u64..70) {
        let mut spec = load(fabric).expect("in the catalog");
        let names: Vec<String> = spec.parameters.keys().cloned().collect();
        let name = &names[index % names.len()];
        spec.parameters.get_mut(name).expect("a name of the catalog").value = 10f64.powi(exponent) - 1.0;
        if let Ok(host) = Host::new(&spec) {
            let deposit = run(&host, 3000, stride, series);
            prop_assert!(deposit.time.0 > 0);
            host.block_by_engine(3000);
        }
    }
}

/// Also when the staging memory is full and words queue before it. (A simulation that visited every waiting word would
/// take minutes here.)
#[test]
fn events_are_as_many_as_the_words_need() {
    let host = host("k98-myrinet");
    let events = |bytes| run(&host, bytes, 2, Series::RemoteDirect).events;
    assert_eq!(events(4 << 20), 4 * (events(1 << 20) - 1) + 1);
}
