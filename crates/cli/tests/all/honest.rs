//! Results that no option, order or typo may change without a word.

use crate::common::{hotlink, place, records_of, refuses};
use serde_json::Value;

/// The leader, and where it begins, do not depend on the order of the sizes.
#[test]
fn a_comparison_puts_its_sizes_in_order() {
    let folder = place("sizes-in-order");
    let of = |nodes: &str| {
        let line = format!("compare ib-ndr-fat-tree2 slingshot-dragonfly --nodes {nodes} --json");
        records_of(&hotlink(&line, &folder))
    };
    let ascending = of("64,512");
    assert!(ascending.iter().any(|record| record["kind"] == "crossover"), "{ascending:?}");
    assert_eq!(of("512,64"), ascending);
    assert_eq!(of("512,64,512"), ascending);
}

#[test]
fn options_that_nothing_answers_are_errors() {
    let folder = place("options-of-nothing");
    std::fs::write(folder.join("key.json"), r#"{"hotlink_schedule": 1, "foo": 3, "ranks": [[{"calc_ns": 5}]]}"#)
        .unwrap();
    std::fs::write(
        folder.join("often.toml"),
        "nodes = 64\n[[job]]\nname = \"a\"\ncollective = \"allreduce\"\nalgorithm = \"recursive-doubling\"\nsize = \"8\"\n\
         ranks = 64\nrepeat = 10000000\n",
    )
    .unwrap();
    refuses(
        &folder,
        &[
            ("simulate bcast --fabric gige --nodes 4 --links", "--links"),
            ("compare gige ib-qdr --nodes 8 --method packet --hash-seeds 4", "--hash-seeds"),
            ("analyze gige --nodes 8 --method formula --hash-seeds 4", "--hash-seeds"),
            ("analyze gige --nodes 8 --measured key.json", "--measured"),
            ("simulate pingpong --fabric gige --nodes 2 --measured key.json", "--measured"),
            ("simulate alltoall --fabric eth-400g-leaf-spine --nodes 8 --method load --transport swift", "--transport"),
            ("simulate schedule key.json --fabric gige", "foo: is unknown"),
            ("simulate jobs often.toml --fabric gige", "operations in all"),
            ("run --rank 4 true", "--rank: no option of `hotlink run`"),
            ("record --out a --rank true", "--rank: no option of `hotlink record`"),
            ("measure pingpong --via mpi --cache lfu", "--cache"),
        ],
    );
}

/// Data that arrives by DMA and the receiver's computation share its memory, whichever began first.
#[test]
fn a_receiver_that_works_on_memory_is_slowed_by_what_comes_in() {
    let folder = place("slowed-receiver");
    let line = "simulate overlap --fabric k98-myrinet --size 256KiB --spin fixed,daxpy --side receiver --json";
    let records = records_of(&hotlink(line, &folder));
    let total = |spin: &str, share: f64| {
        let of = records.iter().filter(|record| record["spin"] == spin);
        let near = |record: &&Value| {
            (record["compute_us"].as_f64().unwrap() / record["message_us"].as_f64().unwrap() - share).abs() < 0.1
        };
        of.filter(near).map(|record| record["total_us"].as_f64().unwrap()).next().unwrap()
    };
    let [fixed, daxpy] = ["fixed", "daxpy"].map(|spin| total(spin, 1.0));
    assert!(daxpy > 1.1 * fixed, "{daxpy} us of work on memory, {fixed} us of none");
    // A message that is long over slows nothing any more.
    let [one, two] = [1.5, 2.0].map(|share| total("daxpy", share) - share * records[0]["message_us"].as_f64().unwrap());
    assert!((one - two).abs() < 0.01 * fixed, "{one} and {two} us more");
}

/// W01's multi-threaded form: the threads share the memory, and a machine's processors where it says how many it has.
#[test]
fn threads_that_spin_share_a_node_and_are_refused_where_nothing_spins() {
    let folder = place("threads-that-spin");
    let records = |options: &str| {
        let line = format!("simulate overlap --side sender --size 256KiB --compute 1 --json {options}");
        records_of(&hotlink(&line, &folder))
    };
    let number = |record: &serde_json::Value, key: &str| record[key].as_f64().unwrap();
    let [one, two] = ["1", "2"]
        .map(|threads| records(&format!("--fabric w01-sci-d330 --spin threads --threads {threads}")).remove(0));
    assert_eq!((one["threads"].as_u64(), two["threads"].as_u64()), (Some(1), Some(2)));
    assert!(number(&two, "overlap") < number(&one, "overlap"), "two leave a transfer less of the memory");
    let plain = records("--fabric w01-sci-d330 --spin daxpy").remove(0);
    assert!(plain["threads"].is_null() && plain["total_us"] == one["total_us"], "one thread is DAXPY");
    // Processors that no source states are assumed, and listed.
    let assumed = |fabric: &str| records(&format!("--fabric {fabric} --spin threads")).remove(0)["assumed"].to_string();
    assert!(!assumed("w01-sci-d330").contains("host_processors"));
    assert!(assumed("ib-ndr-fat-tree2").contains("host_processors=64"), "{}", assumed("ib-ndr-fat-tree2"));
    refuses(
        &folder,
        &[
            ("simulate overlap --fabric w01-sci-d330 --threads 3", "only `--spin threads`"),
            ("measure overlap --spin threads --threads 257", "--threads 257: must be 1 to 256"),
        ],
    );
}

/// The network for reductions in the switches has adapters, as its part says.
#[test]
fn switches_that_reduce_stand_behind_adapters() {
    let folder = place("sharp-adapters");
    let us = |fabric: &str| {
        let line = format!("simulate pingpong --fabric {fabric} --nodes 2 --size 8 --json");
        records_of(&hotlink(&line, &folder))[0]["latency_us"].as_f64().unwrap()
    };
    assert!(us("ib-hdr-sharp") > 0.9, "two adapters of 300 ns and two buses of 150 ns");
}
