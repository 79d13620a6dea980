//! `import`: every program's own text gives numbers in our units. The sample files of the study crate are made by hand.

use crate::common::{program, records_of};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn hotlink(line: &str) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/src/import/samples");
    Command::new(program()).args(line.split_whitespace()).current_dir(folder).output().unwrap()
}

fn records(line: &str) -> Vec<Value> {
    records_of(&hotlink(&format!("{line} --json")))
}

/// The record's values of these keys, one after the other.
fn told(record: &Value, keys: &str) -> String {
    let text = |key: &str| match &record[key] {
        Value::String(text) => text.clone(),
        Value::Number(number) => format!("{}", (number.as_f64().unwrap() * 1e4).round() / 1e4),
        other => other.to_string(),
    };
    keys.split(' ').map(text).collect::<Vec<_>>().join(" ")
}

#[test]
fn osu_of_every_kind() {
    let records = records("import osu osu.txt");
    let keys = "benchmark size_B latency_us bandwidth_MBps";
    let expected = [
        "pingpong 1 1.52 0.6579",
        "pingpong 8 1.55 5.1613",
        "pingpong 65536 12.5 5242.88",
        "stream 65536 null 23000",
        "rate 1024 null 20480",
        "rate 2048 null 40960",
        "allreduce 8 3.1 null",
        "barrier null 2.75 null",
        "non_blocking_allreduce 4096 20 null",
        "put 8 0.9 null",
    ];
    assert_eq!(records.iter().map(|record| told(record, keys)).collect::<Vec<_>>(), expected);
    assert_eq!(told(&records[3], "direction program_version method program"), "bi 7.4 measured osu");
    assert_eq!(told(&records[4], "pairs window messages_per_s ranks"), "4 64 20000000 8");
    assert_eq!(told(&records[6], "min_us max_us iterations datatype"), "2.9 3.4 1000 MPI_INT");
    assert_eq!(told(&records[8], "overlap computed_us pure_us"), "0.8 10 12.5");
    assert_eq!(told(&records[9], "window_creation synchronization"), "MPI_Win_allocate MPI_Win_flush");
}

#[test]
fn imb_counts_megabytes_by_its_version() {
    let records = records("import imb imb.txt");
    let keys = "benchmark ranks size_B latency_us bandwidth_MBps";
    let expected = [
        "pingpong 2 0 1.2 0",
        "pingpong 2 1000 2 500",
        "sendrecv 4 1000 2 1000",
        "allreduce 2 8 1.3 null",
        "stream 4 1024 null 2048",
        "barrier 4 null 2.2 null",
    ];
    assert_eq!(records.iter().map(|record| told(record, keys)).collect::<Vec<_>>(), expected);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/src/import/samples/imb.txt"))
            .unwrap();
    // Rates must be what times and messages make.
    let of = |version: &str, [pingpong, biband]: [&str; 2]| {
        text.replace("2021.11", version).replace("500.00", pingpong).replace("2048.00", biband)
    };
    let (old_rates, new_rates) = (["476.84", "1953.13"], ["500.00", "2048.00"]);
    std::fs::write(folder.join("imb-4.txt"), of("4.1", old_rates)).unwrap();
    let old = self::records(&format!("import imb {}", folder.join("imb-4.txt").display()));
    assert_eq!(told(&old[2], "bandwidth_MBps program_version"), "1048.576 4.1");
    assert_eq!(told(&records[4], "benchmark direction"), "stream bi");
    for (version, printed, rate) in [("2017.2", old_rates, "1048.576"), ("2018.0", new_rates, "1000")] {
        std::fs::write(folder.join("imb-at.txt"), of(version, printed)).unwrap();
        let at = self::records(&format!("import imb {}", folder.join("imb-at.txt").display()));
        assert_eq!(told(&at[2], "bandwidth_MBps"), rate, "{version}");
    }
}

#[test]
fn nccl_tests_text_and_json() {
    let text = records("import nccl-tests nccl.txt");
    let keys = "benchmark ranks size_B placement latency_us algorithm_bandwidth_MBps bus_bandwidth_MBps verified";
    assert_eq!(told(&text[0], keys), "allreduce 2 1000000 out-of-place 20 50000 50000 true");
    assert_eq!(told(&text[2], keys), "allreduce 2 2000000 out-of-place 30 66670 66670 false");
    assert_eq!(told(&text[3], keys), "allreduce 2 2000000 in-place 32 62500 62500 null");
    let json = records("import nccl-tests nccl.json");
    assert_eq!(told(&json[0], keys), "allgather 2 1000000 out-of-place 20 50000 25000 true");
    assert_eq!((json.len(), told(&json[1], keys)), (2, "allgather 2 1000000 in-place 25 40000 20000 null".to_owned()));
}

/// The columns must agree with each other, within the printed digits.
#[test]
fn a_row_of_nccl_tests_that_contradicts_itself_is_refused() {
    let row = |size: &str, count: &str, kind: &str, values: &str| {
        format!(
            "# Collective test starting: all_reduce_perf\n# Rank 0\n# Rank 1\n# Rank 2\n# Rank 3\n\
             # size count type redop root time algbw busbw #wrong\n{size} {count} {kind} sum -1 {values} 0\n"
        )
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nccl-row.txt");
    for (size, count, kind, values, refused) in [
        ("1048576", "262144", "float", "100.0   10.49   15.73", ""),
        // Short messages: few digits are left.
        ("8", "2", "float", "25.31    0.00    0.00", ""),
        ("1024", "256", "float", "9.87    0.10    0.16", ""),
        ("1048576", "262144", "float", "100.0   99.90   45.10", "100 us are 10.49 GB/s, and algbw is 99.9"),
        ("1048576", "262144", "float", "100.0   10.49    4.51", "busbw 4.51 does not follow from algbw 10.49"),
        ("1048576", "262144", "half", "100.0   10.49   15.73", ""),
        ("1048576", "262144", "double", "100.0   10.49   15.73", "262144 elements of double are 2097152 B"),
        ("1048576", "1000", "float", "100.0   10.49   15.73", "1000 elements of float are 4000 B"),
    ] {
        std::fs::write(&file, row(size, count, kind, values)).unwrap();
        let output = hotlink(&format!("import nccl-tests {}", file.display()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.success(), refused.is_empty(), "{values}: {said}");
        assert!(said.contains(refused), "{values}: {said}");
        assert!(refused.is_empty() || said.contains(":7: contradicts itself"), "{said}");
    }
}

/// Two tests in one file, as `tee -a` leaves them. The first has two ranks, the second has one. The second is of
/// another collective, or of an old version that does not name it.
#[test]
fn each_test_of_an_nccl_log_has_its_own_ranks_and_choices() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/src/import/samples");
    let first = std::fs::read_to_string(folder.join("nccl.txt")).unwrap();
    let first = first.replace("#       size", "NCCL INFO AllReduce: 1000000 Bytes -> Algo 1 proto 2\n#       size");
    let second = std::fs::read_to_string(folder.join("nccl.txt")).unwrap().replace("all_reduce", "all_gather");
    let second: String =
        second.lines().filter(|line| !line.contains("Rank  1")).map(|line| format!("{line}\n")).collect();
    let old: String =
        second.lines().filter(|line| !line.contains("Collective")).map(|line| format!("{line}\n")).collect();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nccl-two.log");
    let keys = "benchmark ranks size_B algorithm";
    // What every row tells, nobody tells otherwise.
    for (second, name, option) in [(second, "allgather", ""), (old, "told", "--benchmark told")] {
        std::fs::write(&file, format!("{first}{second}")).unwrap();
        let all = records(format!("import nccl-tests {} {option}", file.display()).trim_end());
        assert_eq!(told(&all[0], keys), "allreduce 2 1000000 ring");
        assert_eq!((all.len(), told(&all[4], keys)), (8, format!("{name} 1 1000000 null")));
    }
}

#[test]
fn perftest_counts_in_powers_of_two_unless_told() {
    let keys = "benchmark operation size_B bandwidth_MBps latency_us direction";
    assert_eq!(told(&records("import perftest perftest_bw.txt")[0], keys), "stream write 65536 10485.76 null bi");
    assert_eq!(told(&records("import perftest perftest_lat.txt")[0], keys), "pingpong send 2 2 1 null");
    let gbits = records("import perftest perftest.json --report-gbits");
    assert_eq!(told(&gbits[0], keys), "stream write 65536 10000 null uni");
}

#[test]
fn iperf3_counts_bits_in_thousands_and_bytes_in_1024s() {
    let keys = "benchmark via streams bandwidth_MBps mean_bandwidth_MBps n";
    assert_eq!(told(&records("import iperf3 iperf3.txt")[0], keys), "stream tcp 1 118 112.5 3");
    assert_eq!(told(&records("import iperf3 iperf3.json")[0], keys), "stream tcp 2 1175 1175 3");
    // 5 Gbit/s for each of two streams: the requested rate, not the links' rate.
    let json = &records("import iperf3 iperf3.json")[0];
    assert_eq!((&json["target_bandwidth_MBps"], &json["bound_bandwidth_MBps"]), (&1250.0.into(), &Value::Null));
}

#[test]
fn of_several_streams_the_sum_counts() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("iperf3-sum.txt");
    let line =
        |id: &str, rate: u32, role: &str| format!("[{id}]   0.00-3.00   sec   1 MBytes   {rate} Mbits/sec   {role}\n");
    let text = line("  5", 80, "receiver") + &line("  7", 160, "receiver") + &line("SUM", 240, "receiver");
    // Lines of streams may come after the sum's, too.
    std::fs::write(&file, text + &line("  7", 160, "receiver")).unwrap();
    let records = records(&format!("import iperf3 {}", file.display()));
    assert_eq!(told(&records[0], "bandwidth_MBps via"), "30 tcp");
}

/// A read's latency is there and back; a run of some seconds gives a mean alone.
#[test]
fn perftest_s_reads_are_no_ping_pong_and_means_stand_in_for_what_is_typical() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/src/import/samples");
    let text = std::fs::read_to_string(folder.join("perftest_lat.txt")).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perftest-read.txt");
    std::fs::write(&file, text.replace("Send Latency", "RDMA_Read Latency")).unwrap();
    let read = records(&format!("import perftest {}", file.display()));
    assert_eq!(told(&read[0], "benchmark operation latency_us bandwidth_MBps"), "fetch read 1 null");
    let seconds = " Send Latency Test\n #bytes #iterations    t_avg[usec]    tps average\n 2       1000          1.25           800000\n";
    std::fs::write(&file, seconds).unwrap();
    let mean = records(&format!("import perftest {}", file.display()));
    assert_eq!(told(&mean[0], "benchmark latency_us mean_us"), "pingpong 1.25 1.25");
}

#[test]
fn a_named_fabric_puts_the_bound_beside() {
    for line in ["osu osu.txt --ranks 4", "imb imb.txt --ranks 4", "iperf3 iperf3.txt", "perftest perftest_bw.txt"] {
        for record in records(&format!("import {line} --fabric ib-ndr-fat-tree2")) {
            let bound = ["latency_us", "bandwidth_MBps"].iter().find_map(|key| record[format!("bound_{key}")].as_f64());
            assert!(bound > Some(0.0) && record["limiting_resource"].is_string(), "{record}");
            assert!(record["efficiency"].as_f64() > Some(0.0) && record["bound_is"].is_string(), "{record}");
        }
    }
    for record in records("import osu osu.txt --fabric ib-ndr-fat-tree2 --ranks 4") {
        // 0.9 us of a put were made up by hand: too little for this fabric.
        assert!(record["efficiency"].as_f64() < Some(1.0) || record["benchmark"] == "put", "{record}");
    }
    let nccl = &records("import nccl-tests nccl.txt --fabric gpu-rail --nodes 2")[0];
    assert!(nccl["bound_bus_bandwidth_MBps"].as_f64().unwrap() > 0.0, "{nccl}");
}

#[test]
fn mistakes_are_told_at_their_line() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import");
    std::fs::create_dir_all(&folder).unwrap();
    for (program, text, place) in [
        (
            "osu",
            "# OSU MPI Latency Test v7.4\n# Size            Latency (us)\n8    1.5\n16\n",
            ":4: has 1 columns, its table 2",
        ),
        ("osu", "# OSU MPI Latency Test v7.4\n# Size   Latency (us)\n8    1.5us\n", ":3: `1.5us` is not a number"),
        ("osu", "nothing\n", ": holds no result"),
        ("imb", "# Benchmarking PingPong\n#bytes #repetitions t[usec]\n x\n8 10 nan\n", ":4: `nan` is not a number"),
        ("nccl-tests", "{\"results\": 3}", ": `results` is not a list"),
        ("nccl-tests", "{\n\"results\": [", ":2: is not JSON"),
        ("nccl-tests", "# size count time algbw busbw #wrong\n8 2 1.0 0.01 0.01 0\n", "--benchmark"),
        (
            "nccl-tests",
            "# size count time algbw busbw #wrong\n8000 2 1.0 1.0 1.0 0\n",
            ":2: contradicts itself: 8000 B in 1",
        ),
        ("perftest", " #bytes #iterations    BW average[MiB/sec]\n 8 x 1.0\n", ":2: `x` is not a whole number"),
        ("iperf3", "[  5]   0.00-1.00   sec   1 MBytes   800 Mbytes/sec\n", ":1: unit `Mbytes/sec` is unknown"),
        ("iperf3", "{\"error\": \"unable to connect\"}", ": iperf3 failed: unable to connect"),
    ] {
        let file = folder.join(program);
        std::fs::write(&file, text).unwrap();
        let output = hotlink(&format!("import {program} {}", file.display()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(place), "expected {place}: {said}");
    }
}

fn refused(line: &str) -> String {
    let output = hotlink(line);
    assert_eq!(output.status.code(), Some(2), "{line}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// NCCL's file of one host is no network: only results of GPUs have a bound from it.
#[test]
fn a_topology_file_of_nccl_bounds_nccl_tests() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/nccl.xml+nvlink:25GB/s");
    let record = &records(&format!("import nccl-tests nccl.txt --fabric {file}"))[0];
    assert_eq!(told(record, "bound_ring_MBps nodes"), "300000 2");
    let said = refused(&format!("import osu osu.txt --ranks 2 --fabric {file}"));
    assert!(said.contains("bounds nccl-tests alone"), "{said}");
}

#[test]
fn a_bound_of_a_collective_needs_its_ranks() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("osu-allreduce.txt");
    std::fs::write(&file, "# OSU MPI Allreduce Latency Test v7.4\n# Size   Avg Latency(us)\n0  0.10\n8  9.0\n")
        .unwrap();
    let line = format!("import osu {} --fabric ib-ndr-fat-tree2", file.display());
    assert!(refused(&line).contains("give --ranks"));
    assert!(refused(&format!("{line} --ranks 2 --nodes 16")).contains("on 2 nodes at most"));
    let found = records(&format!("{line} --ranks 16"));
    assert_eq!(told(&found[1], "nodes ranks"), "16 16");
    assert!(found[1]["efficiency"].as_f64() < Some(1.0), "{}", found[1]);
    // A collective of no bytes need send nothing: no time of it is impossible.
    assert!(found[0]["efficiency"].is_null() && found[0]["bound_is"].as_str().unwrap().starts_with("none: "));
    // Ranks that share nodes, and nodes that are given in place of ranks.
    assert_eq!(told(&records(&format!("{line} --ranks 16 --nodes 4"))[1], "nodes ranks"), "4 16");
    assert_eq!(told(&records(&format!("{line} --nodes 4"))[1], "nodes ranks"), "4 null");
}

#[test]
fn a_result_beyond_the_named_algorithm_is_reported() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nccl-beyond.txt");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/src/import/samples");
    let text = std::fs::read_to_string(folder.join("nccl.txt")).unwrap();
    std::fs::write(&file, text.replace("20.00   50.00   50.00", "2.50  400.00  400.00")).unwrap();
    let line = format!("import nccl-tests {} --fabric hgx-h100-rail", file.display());
    let said = |line: &str| String::from_utf8_lossy(&hotlink(line).stderr).into_owned();
    // Sooner than the chain of any ring, and no faster than the links.
    assert!(said(&line).contains("the log names no algorithm, and another ran"), "{}", said(&line));
    let named = format!("{line} --protocol ll");
    assert!(
        said(&named).contains("400000 MB/s are beyond the bound of the named algorithm (ring, ll:"),
        "{}",
        said(&named)
    );
    // The bound of algbw is busbw's over the collective's own factor, however few digits the log prints.
    for record in records(&line) {
        let [bus, algorithm] =
            ["bound_bus_bandwidth_MBps", "bound_algorithm_bandwidth_MBps"].map(|key| record[key].as_f64().unwrap());
        let ranks = record["ranks"].as_f64().unwrap();
        assert!((bus / algorithm - 2.0 * (ranks - 1.0) / ranks).abs() < 1e-9, "{record}");
    }
    let record = &records(&named)[0];
    assert!(record["beyond_named_algorithm"] == true && record["impossible"].is_null(), "{record}");
    assert!(record["impossible_under"].as_str().is_some_and(|under| under.starts_with("ring with ll")), "{record}");
}

#[test]
fn what_one_fabric_gave_is_held_to_no_other() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("osu-simulated.txt");
    let text = hotlink("simulate pingpong --fabric gige --size 8 --format osu").stdout;
    std::fs::write(&file, text).unwrap();
    let told = refused(&format!("import osu {} --fabric ib-ndr-fat-tree2", file.display()));
    assert!(told.contains("was simulated on gige"), "{told}");
    let own = records(&format!("import osu {} --fabric gige", file.display()));
    assert!(own[0]["efficiency"].as_f64() <= Some(1.0), "{}", own[0]);
}

/// Of GPUs nccl-tests' size is not OSU's; who reads the text back knows its ranks, and finds nothing impossible.
#[test]
fn simulated_collectives_in_osu_s_form_are_read_back() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("osu-collectives.txt");
    let rail = "hgx-h100-rail --nodes 16 --size 16MiB";
    for (asked, size) in [
        (format!("allgather --fabric {rail}"), 1 << 20),
        (format!("alltoall --fabric {rail}"), 1 << 20),
        (format!("gather --fabric {rail}"), 1 << 20),
        (format!("scatter --fabric {rail}"), 1 << 20),
        (format!("allreduce --fabric {rail}"), 16 << 20),
        ("allgather --fabric gige --nodes 16 --size 64KiB".to_owned(), 64 << 10),
        ("alltoall --fabric gige --nodes 16 --size 64KiB".to_owned(), 64 << 10),
    ] {
        let text = hotlink(&format!("simulate {asked} --format osu")).stdout;
        std::fs::write(&file, text).unwrap();
        let fabric = asked.split(' ').nth(2).unwrap();
        let found = records(&format!("import osu {} --fabric {fabric}", file.display()));
        assert_eq!(told(&found[0], "ranks size_B"), format!("16 {size}"), "{asked}");
        assert!(
            found[0]["efficiency"].as_f64().is_some_and(|share| share > 0.1 && share <= 1.0),
            "{asked}: {}",
            found[0]
        );
    }
    let odd = "simulate alltoall --fabric hgx-h100-rail --nodes 16 --size 1000 --format osu";
    assert!(refused(odd).contains("1000 B have no 16 parts of whole bytes"));
}

/// A table says which stack ran, since collectives have different ones by default.
#[test]
fn tables_of_collectives_name_their_stack() {
    for (asked, stack) in [
        ("alltoall --fabric ib-ndr-fat-tree2 --nodes 4 --size 64", "packet"),
        ("alltoall --fabric ib-ndr-fat-tree2 --nodes 4 --size 64 --stack message", "message"),
        ("allgather --fabric ib-ndr-fat-tree2 --nodes 4 --size 64", "message"),
        ("pingpong --fabric ib-ndr-fat-tree2 --size 64", "packet"),
        ("alltoall --fabric hgx-h100-rail --nodes 16 --size 64", "gpu"),
        ("bcast --fabric qsnet --nodes 4 --size 64 --algorithm tree", "adapter"),
    ] {
        assert_eq!(records(&format!("simulate {asked}"))[0]["stack"], stack, "{asked}");
        let table = String::from_utf8(hotlink(&format!("simulate {asked}")).stdout).unwrap();
        let named = table.lines().any(|line| line.split_whitespace().eq(["stack", stack]));
        assert!(named, "{table}");
    }
}

#[test]
fn what_no_fabric_can_do_is_flagged() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("osu-impossible.txt");
    std::fs::write(
        &file,
        "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8             0.02\n65536     900.0\n",
    )
    .unwrap();
    let line = format!("import osu {} --fabric ib-ndr-fat-tree2", file.display());
    let records = records(&line);
    assert!(records[0]["impossible"] == true && records[0]["efficiency"].as_f64() > Some(1.0), "{}", records[0]);
    assert!(records[1].get("impossible").is_none(), "{}", records[1]);
    let told = String::from_utf8_lossy(&hotlink(&line).stderr).into_owned();
    assert!(told.contains("impossible:") && told.contains("pingpong of 8 B") && told.contains("wrong unit"), "{told}");
}

#[test]
fn a_diagnosis_asks_for_the_fabric_and_then_names_the_cause() {
    let asked = hotlink("diagnose osu.txt");
    assert_eq!(asked.status.code(), Some(2));
    let told = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(told.contains("--fabric NAME") && told.contains("ib-ndr-fat-tree2"), "{told}");
    let folder = std::env::temp_dir().join(format!("hotlink-diagnose-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut files = Vec::new();
    for (a, b, share) in [("a1", "a2", 1.0), ("a2", "a3", 0.5), ("a3", "a4", 0.5), ("a4", "a5", 1.0), ("a5", "a1", 1.0)]
    {
        let rows = (10..23).map(|power| format!("{} {:.2}\n", 1 << power, share * 47_000.0)).collect::<String>();
        let path = folder.join(format!("osu_bw.{a}.{b}.txt"));
        std::fs::write(&path, format!("# OSU MPI Bandwidth Test v7.4\n# Size Bandwidth (MB/s)\n{rows}")).unwrap();
        files.push(path.display().to_string());
    }
    let line = format!("diagnose {} --fabric ib-ndr-fat-tree2 --nodes 64", files.join(" "));
    let all = records(&line);
    let of = |kind: &str| all.iter().filter(|record| record["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of("finding").len(), &of("finding")[0]["subject"]), (1, &"a3".into()));
    assert_eq!(told_of(of("explanation")[0]), "1 host-link a3");
    assert_eq!(of("number").len(), 5 * 13);
    let table = String::from_utf8(hotlink(&line).stdout).unwrap();
    assert!(table.contains("on a3: ibstat") && table.contains("unknown: no time of short messages"), "{table}");
    // The exit status reports the finding, where that is asked for: a sound run, one that stands out, one that crashed.
    std::fs::write(
        folder.join("crashed.txt"),
        "# OSU MPI Bandwidth Test v7.4\n# Size Bandwidth (MB/s)\nSegmentation fault\n",
    )
    .unwrap();
    let crashed = folder.join("crashed.txt").display().to_string();
    let (sound, all) = (files[0].clone(), files.join(" "));
    for (files, level, status) in [
        (&all, "never", 0),
        (&all, "finding", 1),
        (&all, "flag", 1),
        (&sound, "flag", 0),
        (&format!("{sound} {crashed}"), "finding", 0),
        (&format!("{sound} {crashed}"), "flag", 1),
    ] {
        let line = format!("diagnose {files} --fabric ib-ndr-fat-tree2 --nodes 64 --fail-on {level}");
        let done = hotlink(&line);
        assert_eq!(done.status.code(), Some(status), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(String::from_utf8_lossy(&done.stdout).contains("stands out"), "{line}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn told_of(record: &Value) -> String {
    told(record, "rank signature subject")
}

/// As `diagnose` has it.
#[test]
fn numbers_of_a_failed_run_do_not_count() {
    let folder = crate::common::place("import-failed");
    let text = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n8 2.0\nCaught error: Segmentation fault (signal 11)\n";
    std::fs::write(folder.join("o.txt"), text).unwrap();
    crate::common::refuses(
        &folder,
        &[("import osu o.txt", "o.txt:4: the run failed: 'Caught error: Segmentation fault")],
    );
}

#[test]
fn a_number_that_may_be_cut_is_refused() {
    let folder = crate::common::place("import-cut");
    let text = "# OSU MPI Bandwidth Test v7.4\n# Size Bandwidth (MB/s)\n524288 11800.50\n1048576 1";
    std::fs::write(folder.join("o.txt"), text).unwrap();
    crate::common::refuses(
        &folder,
        &[("import osu o.txt", "o.txt:4: the output is cut short: its last line does not")],
    );
    std::fs::write(folder.join("o.txt"), format!("{text}\n")).unwrap();
    assert_eq!(records(&format!("import osu {}", folder.join("o.txt").display())).len(), 2);
}

/// Intel: the rate of Uniband and Biband is that of all pairs, half as many as ranks.
#[test]
fn imbs_uniband_is_held_to_the_bound_of_all_its_pairs() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("imb-uniband.txt");
    let head = "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n";
    let of = |name: &str, ranks: u32| {
        let text =
            format!("{head}# Benchmarking {name}\n# #processes = {ranks}\n #bytes #repetitions Mbytes/sec Msg/sec\n");
        std::fs::write(&file, format!("{text} 1048576 40 190000.00 181198.12\n")).unwrap();
        let record = records(&format!("import imb {} --fabric ib-ndr-fat-tree2", file.display())).remove(0);
        (record["pairs"].as_u64().unwrap(), record["bound_bandwidth_MBps"].as_f64().unwrap().round())
    };
    assert_eq!([of("Uniband", 2), of("Uniband", 8)], [(1, 49_685.0), (4, 198_738.0)]);
    assert_eq!(of("Biband", 4), (2, 198_738.0));
}

/// A rank's part is what `measure` counts; the programs count all parts of some collectives.
#[test]
fn sizes_that_are_no_ranks_part_say_so() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("size-is.txt");
    let imb = |name: &str| {
        format!(
            "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n# Benchmarking {name}\n# #processes = 16\n\
             #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n1048576 640 99.0 101.0 100.0\n"
        )
    };
    let osu = |name: &str| format!("# OSU MPI {name} Latency Test v7.4\n# Size Avg Latency(us)\n1048576 100.0\n");
    let nccl = |name: &str| {
        format!(
            "# Collective test starting: {name}_perf\n# Rank 0\n# Rank 1\n\
             # size count type redop root time algbw busbw #wrong\n1048576 131072 float sum -1 100.0 10.49 5.24 0\n"
        )
    };
    for (program, text, expected) in [
        ("imb", imb("Reduce_scatter"), "reduce-scatter all that each rank gives"),
        ("imb", imb("Reduce_scatter_block"), "reduce_scatter_block null"),
        ("imb", imb("Alltoall"), "alltoall null"),
        ("osu", osu("Reduce_scatter"), "reduce-scatter all that each rank gives"),
        ("osu", osu("Non-blocking Reduce_scatter"), "non_blocking_reduce-scatter all that each rank gives"),
        ("osu", osu("Allgather"), "allgather null"),
        ("nccl-tests", nccl("reduce_scatter"), "reduce-scatter all that each GPU gives"),
        ("nccl-tests", nccl("all_gather"), "allgather all that each GPU gets"),
        ("nccl-tests", nccl("alltoall"), "alltoall all that each GPU sends, to itself too"),
        // Of two ranks' parts, one comes from another rank.
        ("nccl-tests", nccl("hypercube").replace("10.49 5.24", "5.24 5.24"), "hypercube all that each GPU gets"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let record = records(&format!("import {program} {}", file.display())).remove(0);
        assert_eq!(told(&record, "benchmark size_is"), expected, "{text}");
    }
}

/// OSU's size is all that a rank gives, a simulation's a rank's part. What the simulation takes is what OSU could print.
#[test]
fn no_simulated_reduce_scatter_beats_the_bound_of_an_import() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reduce-scatter.txt");
    for (fabric, parts) in [("ib-ndr-fat-tree2", [64, 65_536]), ("sci-ring", [64, 16_384]), ("qsnet", [8, 65_536])] {
        for part in parts {
            let asked = format!("simulate reduce-scatter --fabric {fabric} --nodes 8 --size {part}");
            let us = records(&asked)[0]["latency_us"].as_f64().unwrap();
            let head = "# OSU MPI Reduce_scatter Latency Test v7.4\n# Size Avg Latency(us)\n";
            std::fs::write(&file, format!("{head}{} {us:.6}\n", 8 * part)).unwrap();
            let record = records(&format!("import osu {} --fabric {fabric} --nodes 8", file.display())).remove(0);
            let bound = record["bound_latency_us"].as_f64().unwrap();
            assert!(bound > 0.0 && bound <= us, "{fabric}, {part} B: {us} us, bound {bound}");
        }
    }
    // Seven parts of 64 KiB at 400 Gbit/s, less what heads take of them.
    let text = "# OSU MPI Reduce_scatter Latency Test v7.4\n# Size Avg Latency(us)\n524288 100.0\n";
    std::fs::write(&file, text).unwrap();
    let record = records(&format!("import osu {} --fabric ib-ndr-fat-tree2 --nodes 8", file.display())).remove(0);
    let bound = record["bound_latency_us"].as_f64().unwrap();
    assert!((bound / (458_752.0 / 49_685.0) - 1.0).abs() < 1e-3, "{bound}");
}

/// 8 ranks on each of 8 nodes: what leaves a node is what its ranks send to the 56 of the others.
#[test]
fn ranks_that_share_a_node_share_its_links() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared-nodes.txt");
    let bound = |name: &str, size: u64, ranks: u32, nodes: u32| {
        let text = format!("# OSU MPI {name} Latency Test v7.4\n# Size Avg Latency(us)\n{size} 20000.0\n");
        std::fs::write(&file, text).unwrap();
        let asked = format!("--fabric ib-ndr-fat-tree2 --ranks {ranks} --nodes {nodes}");
        let record = records(&format!("import osu {} {asked}", file.display())).remove(0);
        record["bound_latency_us"].as_f64().unwrap()
    };
    let mib = 1 << 20;
    for (name, size, nodes_ranks) in [
        ("All-to-All Personalized Exchange", mib, 8.0 * 56.0),
        ("Allgather", mib, 56.0),
        ("Gather", mib, 56.0),
        ("Scatter", mib, 56.0),
        ("Reduce_scatter", 64 * mib, 56.0),
        ("Broadcast", mib, 1.0),
    ] {
        let us = bound(name, size, 64, 8);
        let due = nodes_ranks * mib as f64 / 49_685.0;
        assert!((0.99..1.1).contains(&(us / due)), "{name}: {us} us, {due} due");
    }
}

/// IMB states the ranks of a group in brackets.
#[test]
fn groups_that_run_at_once_have_the_bound_of_one() {
    let all = records("import imb imb.txt --fabric ib-ndr-fat-tree2");
    let group = all.iter().find(|record| record["groups"] == "multi").expect("a group");
    assert_eq!((&group["ranks"], group["bound_latency_us"].as_f64() > Some(0.5)), (&2.into(), true), "{group}");
}

#[test]
fn what_launchers_put_before_lines_and_other_libraries_are_read() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("labelled.txt");
    let of = |text: &str| {
        std::fs::write(&file, text).unwrap();
        told(&records(&format!("import osu {}", file.display()))[0], "benchmark via ranks size_B latency_us")
    };
    assert_eq!(of("0: # OSU MPI Latency Test v7.4\n0: # Size  Latency (us)\n0: 8  1.10\n"), "pingpong null null 8 1.1");
    assert_eq!(
        of("# OSU NCCL Allreduce Latency Test v7.4\n# Size Avg Latency(us)\n8 50.0\n"),
        "allreduce nccl null 8 50"
    );
    let init = "# OSU MPI Init Test v7.4\nnprocs: 2, min: 149 ms, max: 151 ms, avg: 150 ms\n";
    assert_eq!(of(init), "init null 2 null 150000");
}

#[test]
fn anonymous_imports_number_their_files() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let files = ["osu_lat.n1.n2.txt", "osu_lat.n1.n3.txt"].map(|name| folder.join(name).display().to_string());
    for file in &files {
        std::fs::write(file, "# OSU MPI Latency Test v7.4\n# Size Latency (us)\n8 1.5\n").unwrap();
    }
    let output = hotlink(&format!("import osu {} --anonymous --json", files.join(" ")));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("n1.n") && text.contains("\"file\": \"file 2\""), "{text}");
}
