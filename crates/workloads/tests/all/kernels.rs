//! Collectives of GPUs by size: what a few channels carry, and the choice of protocols.

use crate::jobs::NETWORK;
use hotlink_bench::Record;
use hotlink_schedule::Protocol;
use hotlink_schedule::collective::{Algorithm, Which};
use hotlink_study::Unwatched;
use hotlink_study::inputs::Vary;
use hotlink_workloads::collective::Collective;

/// The records of a collective at these sizes, by what is asked for.
fn asked(
    fabric: &str,
    nodes: u32,
    which: Which,
    (algorithms, protocols): (&[Algorithm], &[Protocol]),
    sizes: Vec<u64>,
) -> Vec<Record> {
    let (algorithms, protocols) = (algorithms.to_vec(), protocols.to_vec());
    let one = Collective { which, algorithms, protocols, nodes: vec![nodes], sizes, network: NETWORK, vary: Vary::No };
    one.records(&[fabric.to_owned()], &Unwatched).unwrap()
}

fn number(record: &Record, key: &str) -> f64 {
    record.number(key).unwrap_or_else(|| panic!("{key}: {record:?}"))
}

/// What eight GPUs' ring with LL takes, by hand. In each of 14 steps a channel works on one block of 4 KiB. It does
/// so at its most, or at its share of what all that run carry.
#[test]
fn a_ring_with_ll_takes_what_its_channels_explain() {
    for fabric in ["hgx-h100-rail", "mi300x-rail"] {
        let spec = hotlink_fabric::catalog::load(fabric).unwrap();
        let value = |name: &str| spec.parameters[name].value;
        let sizes = vec![32 << 10, 64 << 10, 128 << 10];
        let ll = asked(fabric, 8, Which::Allreduce, (&[Algorithm::Ring], &[Protocol::Ll]), sizes);
        for (record, channels) in ll.iter().zip([1.0, 2.0, 4.0]) {
            assert_eq!(record.number("channels"), Some(channels), "{record:?}");
            let each = value("gpu_ll_channel_rate").min(value("gpu_ll_rate") / channels);
            let step_us = value("gpu_ring_ll_near_time") / 1e6 + 4096.0 / each * 1e6;
            let due = value("gpu_ring_ll_launch_time") / 1e6 + 14.0 * step_us;
            let took = number(record, "latency_us");
            // Besides, a block of 8 KiB with its flags crosses links.
            assert!(took > 0.999 * due && took < 1.15 * due, "{fabric}: {channels} channels: {took} us, {due} due");
            let bound = number(record, "bound_latency_us");
            assert!(bound > 0.5 * took && bound <= took, "{fabric}: bound of {bound} us, {took} us");
        }
    }
}

/// The share of its time by which a collective may be quicker at twice the size: pieces of other sizes overlap otherwise.
const SLACK: f64 = 0.03;

/// Of one algorithm and protocol, twice the bytes take no less time.
#[test]
fn more_bytes_take_no_less_time() {
    use Algorithm::{Hierarchical, Pairwise, Ring, Tree};
    for (fabric, nodes, which, algorithms) in [
        ("mi300x-rail", 8, Which::Allreduce, &[Ring, Tree, Hierarchical][..]),
        ("mi300x-rail", 16, Which::Bcast, &[Ring]),
        ("mi300x-rail", 16, Which::Allgather, &[Ring]),
        ("hgx-h100-rail", 8, Which::Allreduce, &[Ring, Tree]),
        ("hgx-h100-rail", 16, Which::Allreduce, &[Ring, Tree, Hierarchical]),
        ("hgx-h100-rail", 16, Which::Alltoall, &[Pairwise, Hierarchical]),
    ] {
        let sizes = || (3..=21).map(|power| 1 << power).collect();
        for &algorithm in algorithms {
            let protocols = match (fabric, algorithm) {
                ("mi300x-rail", _) | (_, Pairwise) => &[Protocol::Ll, Protocol::Simple][..],
                _ => &Protocol::ALL,
            };
            for &protocol in protocols {
                let all = asked(fabric, nodes, which, (&[algorithm], &[protocol]), sizes());
                for pair in all.windows(2) {
                    let [less, more] = [0, 1].map(|at| number(&pair[at], "latency_us"));
                    assert!(more >= (1.0 - SLACK) * less, "{less} us, then {more}: {:?}", pair[1]);
                }
            }
        }
    }
}

/// Without `--protocol`, `hierarchical` takes the one of the least predicted time, at few bytes and at many.
#[test]
fn hierarchical_takes_a_protocol_by_size() {
    let sizes = vec![8, 16 << 20];
    let all = asked("hgx-h100-rail", 16, Which::Allreduce, (&[Algorithm::Hierarchical], &[]), sizes);
    let chosen: Vec<_> = all.iter().map(|record| record.text("protocol").unwrap()).collect();
    assert_eq!(chosen[0], "ll");
    assert_ne!(chosen[1], "ll");
    assert!(all.iter().all(|record| record.text("protocol_by") == Some("hotlink's model")), "{all:?}");
}

/// Rings of a mesh between hosts have the NIC's bound, as the closed form has it: no link within the host limits them.
#[test]
fn rings_of_meshes_between_hosts_are_bound_by_adapters() {
    let ring = (&[Algorithm::Ring][..], &[Protocol::Simple][..]);
    for which in [Which::Allreduce, Which::Allgather] {
        let all = asked("mi300x-rail", 16, which, ring, vec![32 << 20]);
        let bound = number(&all[0], "bound_bus_bandwidth_MBps");
        assert!(bound > 380_000.0, "{which:?}: {:?}", all[0]);
    }
}
