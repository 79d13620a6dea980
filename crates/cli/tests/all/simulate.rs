//! The promises of every benchmark of `simulate`.

use crate::common::{hotlink, machine, place, records_of, refuses, write};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A fabric that knows no more than what was measured.
fn calibrated(folder: &Path) {
    let mut measured = machine();
    measured.push(json!({"benchmark": "is", "method": "measured", "ranks": 1, "class": "S", "bound_time_s": 0.004}));
    write(folder, "m.json", &measured);
    let output = hotlink("calibrate m.json --model loggp --name this-mpi", folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Each benchmark on each engine that it has.
const LINES: [&str; 51] = [
    "barrier --fabric hwbarr --nodes 4",
    "barrier --fabric qsnet --nodes 8 --algorithm hardware,tree,nic",
    "barrier --fabric ib-ndr-fat-tree2 --nodes 8 --algorithm dissemination",
    "deposit --fabric k98-sci --strides 1,8",
    "deposit --fabric k98-t3d --strides 1,8",
    "goal --generate barrier:dissemination --ranks 4 --loggp L=2us,o=0.5us,g=50ns,G=0",
    "pingpong --fabric myrinet-clos64 --size 8",
    "pingpong --fabric w01-sci-d330 --size 8,64KiB --memory registered --cache lru",
    "pingpong --fabric this-mpi --size 8",
    "stream --fabric w01-sci-d330 --nodes 2 --size 8,64KiB",
    "stream --fabric this-mpi --size 8,64KiB --direction uni,bi,self",
    "rate --fabric ib-ndr-fat-tree2 --pairs 1,2 --size 8",
    "rate --fabric this-mpi --size 8",
    "pairs --fabric sci-torus2d --nodes 4 --size 64",
    "pairs --fabric this-mpi --nodes 2 --size 64",
    "kernel --fabric gige --nodes 4 --iterations 20",
    "kernel --fabric this-mpi --nodes 2 --iterations 20",
    "semantics --fabric k98-sci --nodes 2 --size 64KiB --via adapter,tcp",
    "saturation --fabric myrinet-minimal --senders 1..2 --size 4KiB",
    "saturation --fabric myrinet-minimal --pairs 1..2 --size 4KiB",
    "alltoall --fabric sci-torus2d --nodes 16 --size 4KiB",
    "alltoall --fabric this-mpi --nodes 2 --size 4KiB",
    "alltoallv --fabric w01-sci-d330 --nodes 4 --size 4KiB",
    "overlap --fabric w01-sci-d330 --size 16KiB",
    "region --fabric w01-sci-d330 --size 4KiB,1MiB --setup collective,individual",
    "bcast --fabric w01-sci-d330 --nodes 4 --size 4KiB",
    "bcast --fabric qsnet --nodes 8 --size 4KiB --algorithm hardware,tree",
    "bcast --fabric this-mpi --nodes 2 --size 4KiB",
    "reduce --fabric w01-sci-d330 --nodes 4 --size 4KiB",
    "reduce --fabric sharp --nodes 8 --size 256",
    "allreduce --fabric w01-sci-d330 --nodes 4 --size 4KiB",
    "allreduce --fabric sharp --nodes 8 --size 256",
    "allgather --fabric w01-sci-d330 --nodes 4 --size 4KiB",
    "gather --fabric w01-sci-d330 --nodes 4 --size 4KiB",
    "scatter --fabric w01-sci-d330 --nodes 4 --size 4KiB",
    "reduce-scatter --fabric w01-sci-d330 --nodes 4 --size 4KiB",
    "cache-study --uses 20",
    "cache-study --plan plan.toml",
    "is --class S --fabric w01-sci-d330 --ranks 2",
    "is --class S --fabric this-mpi --ranks 2",
    "traffic --fabric ib-ndr-fat-tree2 --nodes 16 --load 0.5 --messages 20 --size 4KiB",
    "traffic --fabric gige --nodes 4 --load 1.0 --messages 20 --size 4KiB --ethernet drop",
    "traffic --fabric eth-400g-leaf-spine --nodes 8 --load 0.5 --messages 10 --size 64KiB --transport dcqcn,swift,nscc,hpcc",
    "alltoall --fabric gige --nodes 4 --size 64KiB --ethernet drop --buffer 16KiB --transport swift,nscc",
    "bcast --fabric bluegene-l --nodes 8 --size 256",
    "allgather --fabric this-mpi --nodes 2 --size 4KiB",
    "schedule one.goal --fabric ib-ndr-fat-tree2",
    "schedule one.goal --fabric eth-400g-leaf-spine --transport dcqcn,swift",
    "goal one.goal --fabric ib-ndr-fat-tree2",
    "jobs two.toml --fabric ib-ndr-fat-tree2 --nodes 8",
    "allreduce --fabric hgx-h100-rail --nodes 16 --size 1MiB --algorithm ring",
];

#[test]
fn every_record_has_its_course_its_bound_its_efficiency_and_what_limits() {
    let folder = place("simulate-records");
    calibrated(&folder);
    let study = "[[study]]\nverb = \"simulate cache-study\"\nuses = 20\ncache = [\"lru\", \"immediate\"]\n";
    std::fs::write(folder.join("plan.toml"), study).unwrap();
    let one = "num_ranks 2\nrank 0 {\nl1: send 4096b to 1 tag 0\n}\nrank 1 {\nl1: recv 4096b from 0 tag 0\n}\n";
    std::fs::write(folder.join("one.goal"), one).unwrap();
    let job = "collective = \"allreduce\"\nalgorithm = \"ring\"\nsize = \"64KiB\"\nranks = 4\n";
    std::fs::write(folder.join("two.toml"), format!("[[job]]\nname = \"a\"\n{job}[[job]]\nname = \"b\"\n{job}"))
        .unwrap();
    for line in LINES {
        let output = hotlink(&format!("simulate {line} --format jsonl"), &folder);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{line} gave nothing");
        for record in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            // The course is that of all jobs.
            let is_job = record["job"].as_str().is_some_and(|job| job != "all");
            let course: &[&str] = if is_job { &[] } else { &["events", "packet_hops", "trace_hash", "wall_s"] };
            for key in course.iter().chain(&["limiting_resource"]) {
                assert!(!record[key].is_null(), "{line}: {key} is missing in {record}");
            }
            let keys = record.as_object().unwrap();
            assert!(keys.keys().any(|key| key.starts_with("bound_")), "{line}: no bound in {record}");
            let efficiency = record["efficiency"].as_f64().unwrap_or(f64::NAN);
            assert!((0.0..=1.000_001).contains(&efficiency), "{line}: efficiency {efficiency} in {record}");
        }
    }
}

#[test]
fn no_benchmark_is_left_out() {
    let help = String::from_utf8(hotlink("simulate -h", &place("simulate-help")).stdout).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let own = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names: BTreeSet<&str> =
        commands.lines().filter(own).filter_map(|line| line.split_whitespace().next()).collect();
    let tried: BTreeSet<&str> = LINES.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, tried);
}

#[test]
fn a_negative_number_is_refused_by_the_option_that_it_was_for() {
    let lines = [
        (
            "simulate alltoall --fabric sci-ring --nodes -1",
            "--nodes <LIST>': `-1`: `-1` is not a whole number; allowed",
        ),
        ("simulate alltoall --fabric sci-ring --size -8", "--size <LIST>': `-8`"),
        ("simulate traffic --fabric sci-ring --nodes 4 --load -0.5", "--load: -0.5: must be above 0"),
        ("simulate pingpong --fabric sci-ring --messages -3", "--messages"),
    ];
    refuses(&place("simulate-negative"), &lines);
}

#[test]
fn where_nothing_has_a_rate_there_is_no_bandwidth() {
    let folder = place("simulate-no-rate");
    calibrated(&folder);
    for benchmark in ["pingpong", "alltoall --nodes 2", "saturation --pairs 1", "traffic --nodes 2 --load 0.5"] {
        let line = format!("simulate {benchmark} --fabric this-mpi --capacities theoretical");
        refuses(&folder, &[(&line, "nothing on the way has a rate under --capacities theoretical")]);
    }
}

/// A ping-pong of long messages needs no thousand of them, and takes what a thousand take.
#[test]
fn long_messages_go_to_and_fro_less_often() {
    let folder = place("usual-messages");
    let asked = |options: &str| {
        let line = format!("simulate pingpong --fabric ib-ndr-fat-tree2 --nodes 2 {options} --json");
        let records = records_of(&hotlink(&line, &folder));
        records.iter().map(|record| (record["messages"].as_u64(), record["latency_us"].as_f64())).collect::<Vec<_>>()
    };
    let usual = asked("--size 8,64KiB,1MiB,64MiB");
    assert_eq!(usual.iter().map(|one| one.0).collect::<Vec<_>>(), [1000, 1000, 64, 10].map(Some));
    let (many, us) = asked("--size 1MiB --messages 1000")[0];
    assert!(many == Some(1000) && (us.unwrap() / usual[2].1.unwrap() - 1.0).abs() < 1e-9, "{us:?}");
}
