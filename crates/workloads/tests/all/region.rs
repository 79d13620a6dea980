//! Regions on W01's fabric: what the seed says of them, and what must hold of any.

use hotlink_bench::{Hold, Record, RegionKind, RegionSetup};
use hotlink_study::Unwatched;
use hotlink_study::options::Memory;
use hotlink_study::words::Word;
use hotlink_workloads::region::Study;

fn records(study: &Study) -> Vec<Record> {
    study.run("w01-sci-d330", &Unwatched).expect("regions of a fabric of the catalog")
}

fn us(record: &Record, key: &str) -> f64 {
    record.number(key).unwrap_or_else(|| panic!("{key} of {record:?}"))
}

/// Every region stays within its bound, and its end reaches whoever had it.
#[test]
fn no_access_beats_its_bound_and_every_region_is_withdrawn() {
    let study = Study {
        setups: RegionSetup::ALL.to_vec(),
        memory: vec![Memory::Shared, Memory::Private],
        sizes: vec![8, 4 << 10, 256 << 10],
        nodes: 4,
        ..Study::usual()
    };
    let records = records(&study);
    assert_eq!(records.len(), study.count());
    for record in &records {
        let (region, memory) = (record.text("region"), record.text("memory"));
        let is_mapped = region != Some("rdma");
        assert_eq!(record.get("note").is_some(), is_mapped && memory == Some(Memory::Private.name()), "{record:?}");
        if record.get("note").is_none() {
            assert!((0.0..=1.0).contains(&us(record, "efficiency")), "{record:?}");
            assert!(us(record, "revoke_us") > 0.0 && record.get("refused_after") == Some(&true.into()));
            assert_eq!(record.text("moved_by"), Some(if is_mapped { "processor" } else { "DMA" }));
        }
    }
}

/// What moves by DMA crosses the sender's bus at any size: longer ones are allowed no less.
#[test]
fn the_bound_of_what_moves_by_dma_grows_with_the_size() {
    let sizes: Vec<u64> = vec![4 << 10, 6 << 10, 8 << 10, 16 << 10, 64 << 10];
    let study = Study { kinds: vec![RegionKind::Rdma], holds: vec![Hold::Persistent], sizes, ..Study::usual() };
    let bounds: Vec<f64> = records(&study).iter().map(|record| us(record, "bound_bandwidth_MBps")).collect();
    assert!(bounds.windows(2).all(|two| two[0] < two[1]), "{bounds:?}");
}

/// W01 slides 7 to 10: to map costs more than to connect, the more the larger the region; what is kept costs once.
#[test]
fn mapping_costs_more_than_connecting_and_what_is_held_costs_once() {
    let study = Study { sizes: vec![64 << 10, 1 << 20], ..Study::usual() };
    let records = records(&study);
    let of = |kind: RegionKind, hold: Hold, size: u64| {
        let is = |record: &&Record| {
            record.text("region") == Some(kind.name())
                && record.text("hold") == Some(hold.name())
                && record.number("size_B") == Some(size as f64)
        };
        records.iter().find(is).expect("asked for")
    };
    let import = |kind, size| us(of(kind, Hold::Persistent, size), "import_us");
    assert!(import(RegionKind::Shared, 1 << 20) > import(RegionKind::Rdma, 1 << 20));
    assert!(import(RegionKind::Shared, 1 << 20) > import(RegionKind::Shared, 64 << 10));
    for kind in [RegionKind::Shared, RegionKind::Rdma] {
        let [kept, each] = [Hold::Persistent, Hold::Each].map(|hold| us(of(kind, hold, 64 << 10), "latency_us"));
        let import = import(kind, 64 << 10);
        assert!(each > kept + 0.99 * import, "{kind}: {each} us with imports of {import}, {kept} without");
    }
}

/// More ranks take longer to agree on a collective region; its owner's callbacks reach all.
#[test]
fn a_collective_region_is_set_up_and_withdrawn_by_all() {
    let time = |nodes, setup| {
        let (kinds, holds) = (vec![RegionKind::Shared], vec![Hold::Persistent]);
        let study = Study { kinds, holds, setups: vec![setup], nodes, ..Study::usual() };
        let record = records(&study).remove(0);
        (us(&record, "region_setup_us"), us(&record, "revoke_us"))
    };
    let [two, eight] = [2, 8].map(|nodes| time(nodes, RegionSetup::Collective));
    assert!(eight.0 > two.0 && eight.1 >= two.1, "{two:?} {eight:?}");
    let [pair, individual] = [RegionSetup::Pair, RegionSetup::Individual].map(|setup| time(8, setup));
    assert!(pair.0 < eight.0 && individual.0 <= pair.0, "{pair:?} {individual:?} {eight:?}");
}

#[test]
fn what_no_region_can_be_is_an_error_and_what_a_fabric_lacks_is_told() {
    let wrong = |study: Study| study.run("w01-sci-d330", &Unwatched).unwrap_err().to_string();
    assert!(wrong(Study { sizes: vec![0], ..Study::usual() }).contains("--size: 0 B"));
    assert!(wrong(Study { nodes: 1, ..Study::usual() }).contains("--nodes 1: must be 2 to"));
    let odd = records(&Study { kinds: vec![RegionKind::Rdma], sizes: vec![12], ..Study::usual() });
    assert!(odd[0].text("note").is_some_and(|note| note.contains("multiples of 8 B")), "{odd:?}");
}

/// W01 slides 7 and 9: a mapping takes entries of the adapter's translation, a connection none. A transfer without a
/// wait moves by DMA in both, and the processor is free meanwhile. A remote region that is a regular segment is a
/// shared one.
#[test]
fn a_mapping_takes_entries_and_what_is_not_waited_for_moves_by_dma() {
    let study = Study { holds: vec![Hold::Persistent], sizes: vec![256 << 10], ..Study::usual() };
    let records = records(&study);
    let [shared, remote, rdma] = &records[..] else { panic!("{records:?}") };
    assert_eq!((us(shared, "translation_entries"), us(rdma, "translation_entries")), (64.0, 0.0));
    for record in [shared, remote, rdma] {
        assert!(us(record, "iput_posted_us") < 0.2 * us(record, "iput_us"), "{record:?}");
        assert!((us(record, "iput_us") / us(rdma, "iput_us") - 1.0).abs() < 0.01, "{record:?}");
    }
    assert_eq!((remote.text("same_as"), shared.text("same_as"), rdma.text("same_as")), (Some("shared"), None, None));
    for key in ["region_setup_us", "import_us", "first_us", "latency_us", "iput_us", "release_us", "revoke_us"] {
        assert_eq!(us(shared, key), us(remote, key), "{key}");
    }
}
