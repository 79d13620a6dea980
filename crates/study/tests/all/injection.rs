//! What a node could inject, where hosts hold several nodes.

use hotlink_bench::Record;
use hotlink_study::model::{PatternQuestion, traffic};
use hotlink_study::options::Rates;
use hotlink_study::{Source, Unwatched};

fn counted(fabric: &str, nodes: u32, pattern: &str) -> Record {
    let source = Source::open(fabric).unwrap();
    let (traffic, capacities, samples) = (traffic(pattern).unwrap(), Rates::Measured, 1);
    let question = PatternQuestion { traffic, capacities, size: 1 << 20, seed: 1, samples, hash_seeds: 0, paths: None };
    question.by_load(source.build(nodes).unwrap(), &Unwatched).unwrap().0
}

/// Of a GPU that is its NIC's rate: what stays within a host takes nothing of it. Within one host, the links there count.
#[test]
fn a_gpu_injects_by_its_nic() {
    let of = |record: &Record, key: &str| record.number(key).unwrap_or_else(|| panic!("{key}: {record:?}"));
    let all = counted("gpu-rail", 512, "all-to-all");
    let across = counted("gpu-rail", 512, "permutation:shift:8");
    // All to all sends 504 of 511 messages to other hosts.
    let nic = of(&across, "injection_per_node_MBps");
    assert!((of(&all, "injection_per_node_MBps") / nic - 511.0 / 504.0).abs() < 1e-6, "{all:?} {across:?}");
    for record in [&all, &across] {
        let share = of(record, "injection_share");
        assert!(share > 0.99 && share <= 1.0 + 1e-9, "{record:?}");
    }
    let inside = counted("gpu-rail", 8, "all-to-all");
    assert!(of(&inside, "injection_per_node_MBps") > 2.0 * nic, "{inside:?}");
    assert!((of(&inside, "injection_share") - 1.0).abs() < 1e-9, "{inside:?}");
}

/// Routes between rails take the NICs of other GPUs of the host, which then carry several messages: that is the network's loss.
#[test]
fn other_gpus_nics_are_not_a_gpus_own() {
    let of = |record: &Record, key: &str| record.number(key).unwrap_or_else(|| panic!("{key}: {record:?}"));
    let [rail, pod] = ["hgx-h100-rail", "hgx-h100-pod"].map(|fabric| counted(fabric, 64, "permutation:ring"));
    assert_eq!(of(&rail, "injection_per_node_MBps"), of(&pod, "injection_per_node_MBps"));
    assert!(of(&rail, "injection_share") < 0.51, "{rail:?}");
}

/// Messages that meet at one GPU leave their senders one by one: what it receives takes nothing of what they could send.
#[test]
fn a_receiver_is_no_senders_limit() {
    for (fabric, nodes, senders) in [("hgx-h100-rail", 64, 4), ("hgx-h100-rail", 64, 2), ("gb200-nvl72", 72, 8)] {
        let record = counted(fabric, nodes, &format!("incast:{senders}"));
        let share = record.number("injection_share").unwrap();
        assert!((share * f64::from(senders) - 1.0).abs() < 1e-6, "{fabric}, {senders}: {record:?}");
    }
}
