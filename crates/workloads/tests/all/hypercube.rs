//! The hypercube of nccl-tests: a simulation of its exchanges beside the bound of its log.

use hotlink_bench::Record;
use hotlink_study::Unwatched;
use hotlink_workloads::measured::{Bus, Told};
use hotlink_workloads::schedule::Scheduled;
use std::fmt::Write;

/// Each rank exchanges all that it has with the one whose number differs in one bit, from the lowest up. At first that is
/// `part` bytes.
fn goal(ranks: u32, part: u64) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let _ = writeln!(text, "rank {rank} {{");
        for bit in 0..ranks.trailing_zeros() {
            let (peer, bytes) = (rank ^ (1 << bit), part << bit);
            let _ = writeln!(text, "s{bit}: send {bytes}b to {peer} tag {bit}");
            let _ = writeln!(text, "r{bit}: recv {bytes}b from {peer} tag {bit}");
            if bit > 0 {
                for (one, before) in ["s", "r"].into_iter().flat_map(|one| ["s", "r"].map(|before| (one, before))) {
                    let _ = writeln!(text, "{one}{bit} requires {before}{}", bit - 1);
                }
            }
        }
        text.push_str("}\n");
    }
    text
}

#[test]
fn no_simulated_hypercube_beats_its_bound() {
    let part = 4u64 << 20;
    for gpus in [8u32, 16, 32] {
        let file = std::env::temp_dir().join(format!("hotlink-{}-hypercube-{gpus}.goal", std::process::id()));
        std::fs::write(&file, goal(gpus, part)).expect("written");
        let name = file.display().to_string();
        let ran = Scheduled::of(&name).run("hgx-h100-rail", "schedule", &Unwatched).expect("it runs");
        std::fs::remove_file(&file).expect("it was there");
        let us = ran[0].number("latency_us").expect("a time");
        let bus = (u64::from(gpus - 1) * part) as f64 / us;
        let row = Record::new()
            .with("benchmark", "hypercube")
            .with("size_B", u64::from(gpus) * part)
            .with("algorithm_bandwidth_MBps", bus)
            .with("bus_bandwidth_MBps", bus);
        let told = Told { gpus: Some(gpus), ..Told::default() };
        let record = Bus::open("hgx-h100-rail", &told).expect("known").add(row).expect("bound");
        let bound = record.number("bound_bus_bandwidth_MBps").expect("a bound");
        assert!(bus <= bound && bus > 0.1 * bound, "{gpus} GPUs: {bus} MB/s of {bound}");
        assert_eq!(record.number("bound_algorithm_bandwidth_MBps"), Some(bound), "both count the same bytes");
    }
}
