//! Schedules and GPU collectives by the command, and nccl-tests' results with their bounds.

use crate::common::{hotlink, place, records_of, refuses};
use serde_json::Value;
use std::path::Path;

fn records(line: &str, folder: &Path) -> Vec<Value> {
    records_of(&hotlink(&format!("{line} --json"), folder))
}

const PAIR: &str = "num_ranks 2\nrank 0 {\n  send 65536b to 1\n}\nrank 1 {\n  a: recv 65536b from 0\n  b: calc 1000\n  b requires a\n}\n";

#[test]
fn a_goal_schedule_runs_by_packets_and_by_loggp_and_in_every_form() {
    let folder = place("workloads-goal");
    std::fs::write(folder.join("trace.goal"), PAIR).unwrap();
    let packets = &records("simulate goal trace.goal --fabric ib-ndr-fat-tree2", &folder)[0];
    assert_eq!((&packets["method"], &packets["benchmark"]), (&"packet".into(), &"goal".into()), "{packets}");
    let latency = packets["latency_us"].as_f64().unwrap();
    // 64 KiB at 50 GB/s, a microsecond of computation, and the path.
    assert!(latency > 1.0 + 65_536.0 / 50_000.0 && latency < 5.0, "{packets}");
    let efficiency = packets["efficiency"].as_f64().unwrap();
    assert!(efficiency > 0.8 && efficiency <= 1.0, "{packets}");
    for name in ["trace.bin", "trace.json", "again.goal"] {
        assert!(hotlink(&format!("simulate schedule trace.goal --write {name}"), &folder).status.success(), "{name}");
        let again = &records(&format!("simulate schedule {name} --fabric ib-ndr-fat-tree2"), &folder)[0];
        assert_eq!(
            (&again["trace_hash"], &again["latency_us"]),
            (&packets["trace_hash"], &packets["latency_us"]),
            "{name}"
        );
    }
    let loggp = &records("simulate goal trace.bin --loggp L=1us,o=0,g=0,G=0", &folder)[0];
    assert_eq!((&loggp["method"], loggp["latency_us"].as_f64()), (&"loggp".into(), Some(2.0)));
    let recorded =
        records("simulate goal --generate bcast:binomial:64KiB --ranks 2,4 --fabric ib-ndr-fat-tree2", &folder);
    assert_eq!([&recorded[0]["ranks"], &recorded[1]["ranks"]], [2, 4]);
    let [pair, four] = [0, 1].map(|at| recorded[at]["latency_us"].as_f64().unwrap());
    assert!(pair > 65_536.0 / 50_000.0 && four > 1.5 * pair && four < 2.5 * pair, "{recorded:?}");
    refuses(
        &folder,
        &[
            ("simulate goal trace.goal --fabric ib-ndr-fat-tree2 --method loggp", "loggp_latency is missing"),
            ("simulate goal trace.goal --loggp L=1us,o=0,g=0,G=0 --overhead 1us", "are of packets"),
            ("simulate goal --generate barrier:tree --ranks 4 --fabric ib-qdr --write a.goal", "not with packets"),
            ("simulate schedule nothing --fabric ib-qdr", "nothing: cannot be read"),
            ("simulate schedule trace.goal --fabric ib-qdr --overhead 5", "must be a time from 0 to 1s"),
            (
                "simulate schedule trace.goal --fabric ib-qdr --size 8",
                "has the form goal: `size` is for plans of MSCCL",
            ),
            ("simulate schedule trace.goal --fabric ib-qdr --flops 1e12", "`flops` is for Chakra traces only"),
            ("simulate schedule trace.goal --fabric ib-qdr --algorithm ring", "only GPUs have them for a schedule"),
            (
                "simulate schedule trace.goal --fabric hgx-h100-rail --protocol ll",
                "`protocol` is for Chakra traces only",
            ),
            ("simulate schedule trace.goal --fabric hgx-h100-rail --algorithm rings", "must be one of ring, tree"),
            ("simulate schedule trace.goal --fabric ib-qdr,gige --write two.json", "--write: give one --fabric"),
        ],
    );
}

/// A file that is there stays, unless it may go; nothing is half-written either way.
#[test]
fn a_schedule_replaces_no_file_unasked() {
    let folder = place("workloads-force");
    let old = "num_ranks 2\nrank 0 {\n l1: send 8b to 1 tag 0\n}\nrank 1 {\n l1: recv 8b from 0 tag 0\n}\n";
    std::fs::write(folder.join("mine.goal"), old).unwrap();
    std::fs::write(folder.join("other.goal"), old.replace("8b", "16b")).unwrap();
    let machine = "--loggp L=1us,o=0,g=0,G=0";
    for line in [
        "simulate schedule other.goal --write mine.goal".to_owned(),
        format!("simulate goal --generate barrier:tree --ranks 4 {machine} --write mine.goal"),
    ] {
        let told = hotlink(&line, &folder);
        let errors = String::from_utf8_lossy(&told.stderr).into_owned();
        assert_eq!(told.status.code(), Some(2), "{errors}");
        assert!(errors.contains("--write mine.goal: is there already; --force replaces it"), "{errors}");
        assert_eq!(std::fs::read_to_string(folder.join("mine.goal")).unwrap(), old);
        assert!(hotlink(&format!("{line} --force"), &folder).status.success());
        assert_ne!(std::fs::read_to_string(folder.join("mine.goal")).unwrap(), old);
        std::fs::write(folder.join("mine.goal"), old).unwrap();
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "no file is left over");
}

/// The times of a fabric's GPUs are in the file that is written for it, and in no other.
#[test]
fn a_plan_that_is_written_for_gpus_takes_as_long_as_the_plan() {
    let folder = place("workloads-written");
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../schedule/tests/data/ring.xml");
    let on = "--fabric hgx-h100-rail";
    let latency = |line: &str| records(line, &folder)[0]["latency_us"].as_f64().unwrap();
    let itself = latency(&format!("simulate schedule {plan} --size 1MiB {on}"));
    for (write, says) in [(on, false), ("", true)] {
        let written = hotlink(&format!("simulate schedule {plan} --size 1MiB {write} --write w.json --force"), &folder);
        let told = String::from_utf8_lossy(&written.stderr).contains("reductions and copies take no time");
        assert!(written.status.success() && told == says, "{write}: {written:?}");
        let again = latency(&format!("simulate schedule w.json {on}"));
        assert!(if says { again < 0.5 * itself } else { again == itself }, "{write}: {again} beside {itself}");
    }
}

/// A ring takes no less for more data, and no longer on the faster machine; nothing exceeds its bound.
#[test]
fn collectives_of_gpus_are_monotone_and_within_their_bounds() {
    let folder = place("workloads-monotone");
    let asked = |fabric: &str, more: &str| {
        let line = format!("simulate allreduce --fabric {fabric} --nodes 16 {more}");
        let rows = records(&line, &folder);
        let efficiencies: Vec<f64> = rows.iter().map(|row| row["efficiency"].as_f64().unwrap()).collect();
        assert!(efficiencies.iter().all(|share| (0.0..=1.0).contains(share)), "{fabric} {more}: {efficiencies:?}");
        rows.iter().map(|row| row["latency_us"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let rings = "--size 1MiB..64MiB..x4 --algorithm ring --protocol simple";
    let (new, old) = (asked("hgx-h100-rail", rings), asked("hgx-a100-rail", rings));
    for times in [&new, &old] {
        assert!(times.windows(2).all(|two| two[0] <= two[1] * 1.001), "{times:?}");
    }
    assert!(new.iter().zip(&old).all(|(new, old)| *new <= old * 1.001), "{new:?} {old:?}");
    // Rails that meet: a ring leaves each host once, and its switches combine.
    asked("hgx-h100-sharp", "--size 8,1MiB,256MiB --algorithm ring,nvls,collnet");
    let line = "simulate allreduce --fabric hgx-h100-sharp --nodes 64 --size 8 --algorithm ring,hierarchical,collnet \
                --protocol simple";
    let short: Vec<f64> = records(line, &folder).iter().map(|row| row["latency_us"].as_f64().unwrap()).collect();
    assert!(short[2] < short[1] && short[1] < short[0], "{short:?}");
    // At sizes that fill whole pieces, 8 B more are a piece more: no time falls by more than its share of the pipeline.
    for (fabric, algorithms, falls) in
        [("hgx-h100-rail", "ring,tree,hierarchical,nvls-tree", 0.01), ("hgx-h100-sharp", "collnet", 0.04)]
    {
        for size in [1 << 20, 4 << 20, 16 << 20, 64 << 20] {
            for algorithm in algorithms.split(',') {
                let times = asked(fabric, &format!("--size {size},{} --algorithm {algorithm}", size + 8));
                assert!(times[1] >= times[0] * (1.0 - falls), "{fabric} {algorithm} {size}: {times:?}");
            }
        }
    }
    for (fabric, nodes, why) in [
        ("hgx-h100-sharp", 8, "must be two domains or more"),
        ("hgx-h100-rail", 16, "the switches between its domains do not combine data"),
    ] {
        let line = format!("simulate allreduce --fabric {fabric} --nodes {nodes} --size 8 --algorithm collnet");
        refuses(&folder, &[(line.as_str(), why)]);
    }
}

/// Pieces between two GPUs go one after the other, so that their copies begin before the last has come; all channels work.
#[test]
fn an_alltoall_of_eight_times_the_bytes_takes_no_more_than_eight_times_as_long() {
    let folder = place("workloads-alltoall");
    let asked = |line: &str| {
        let rows = records(&format!("simulate alltoall {line}"), &folder);
        rows.iter().map(|row| row["latency_us"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let mesh = asked("--fabric mi300x-rail --nodes 8 --size 64MiB,512MiB");
    assert!(mesh[1] <= 8.0 * mesh[0], "{mesh:?}");
    // In one domain both algorithms have the same to do.
    let rack = asked("--fabric gb200-nvl72 --nodes 16 --size 16MiB --algorithm pairwise,hierarchical");
    assert!(rack[1] < 1.5 * rack[0], "{rack:?}");
    let ethernet = records("simulate alltoall --fabric mi300x-rail --nodes 16 --size 64KiB --transport dcqcn", &folder);
    assert!(ethernet[0]["efficiency"].as_f64() <= Some(1.0));
}

/// A trace takes what the GPUs of its fabric take, and says so.
#[test]
fn the_gpus_of_a_fabric_stand_among_the_inputs_of_a_trace() {
    let folder = place("workloads-gpu-inputs");
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schedule/tests/data/chakra");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/fabrics/hgx-h100-rail.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let with = |name: &str, value: &str| {
        let stated = format!("{name} = {{ value = {value}, source = \"test\", status = \"estimated\" }}");
        text.replace("gpus_per_host = 8", "gpus_per_host = 2") + "\n[parameter]\n" + &stated + "\n"
    };
    // Of every protocol: else another one is chosen.
    let far = |us: u32| {
        let one = |name: &str| {
            format!("{name} = {{ value = {us}, unit = \"us\", source = \"test\", status = \"estimated\" }}\n")
        };
        let names = ["gpu_ring_ll_far_time", "gpu_ring_ll128_far_time", "gpu_ring_simple_far_time"];
        let chosen = text.replace("gpus_per_host = 8", "gpus_per_host = 2");
        format!("{chosen}\n[parameter]\n{}", names.map(one).concat())
    };
    let (slower, usual) = (far(500), far(3));
    let times = [("two", usual), ("proxy", slower)].map(|(name, text)| {
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
        let line = format!("simulate schedule {} --fabric {name}.toml --algorithm ring", traces.display());
        let record = &records(&line, &folder)[0];
        let inputs = record["inputs"].to_string();
        for name in ["gpu_launch_time", "gpu_copy_rate", "gpu_ring_simple_far_time"] {
            assert!(inputs.contains(name), "{name}: {inputs}");
        }
        record["latency_us"].as_f64().unwrap()
    });
    assert!(times[1] > times[0] + 500.0, "{times:?}");
    let zero = with("gpu_copy_rate", "0, unit = \"GB/s\"");
    std::fs::write(folder.join("zero.toml"), zero).unwrap();
    let line = "simulate allreduce --fabric zero.toml --nodes 16 --size 8";
    refuses(&folder, &[(line, "parameter.gpu_copy_rate")]);
}

#[test]
fn what_can_never_end_is_an_error_with_its_line_before_anything_runs() {
    let folder = place("workloads-stuck");
    std::fs::write(folder.join("s.goal"), PAIR.replace("tag", "").replace("from 0", "from 0 tag 9")).unwrap();
    refuses(
        &folder,
        &[
            (
                "simulate goal s.goal --fabric ib-qdr",
                "s.goal:6: rank 1, operation 1: recv 65536b from 0 tag 9: no such send is left; 2 operations never end",
            ),
            (
                "simulate schedule s.goal --fabric ib-qdr",
                "s.goal:6: rank 1, operation 1: recv 65536b from 0 tag 9: no such send",
            ),
            ("simulate goal s.goal --loggp L=1us,o=0,g=0,G=0", "s.goal:6"),
        ],
    );
}

#[test]
fn chakra_traces_run_on_a_gpu_cluster() {
    let folder = place("workloads-chakra");
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schedule/tests/data/chakra");
    let line = format!("simulate schedule {} --fabric gpu-rail,hgx-h100-rail,ib-qdr", traces.display());
    for record in records(&line, &folder) {
        assert_eq!((&record["format"], &record["ranks"]), (&"chakra".into(), &4.into()), "{record}");
        // The slowest rank computes for 13 us first.
        assert!(record["latency_us"].as_f64() > Some(13.0), "{record}");
        let efficiency = record["efficiency"].as_f64().unwrap();
        assert!(efficiency > 0.1 && efficiency <= 1.000_001, "{record}");
    }
    // The last rank's file is of another version: nothing has run when the command ends.
    let copies = folder.join("traces");
    std::fs::create_dir_all(&copies).unwrap();
    for name in ["step.0.et", "step.1.et", "step.2.et", "step.3.et", "comm_group.json"] {
        std::fs::copy(traces.join(name), copies.join(name)).unwrap();
    }
    let mut other = std::fs::read(traces.join("step.3.et")).unwrap();
    other[7] = b'5';
    std::fs::write(copies.join("step.3.et"), other).unwrap();
    let wrong = "traces/step.3.et: metadata of version `0.0.5` (allowed: 0.0.4)";
    refuses(&folder, &[("simulate schedule traces --fabric ib-qdr,gpu-rail", wrong)]);
}

#[test]
fn collectives_of_gpus_run_by_every_algorithm_below_their_bounds() {
    let folder = place("workloads-gpus");
    let line =
        "simulate allreduce --fabric hgx-h100-rail --nodes 16 --size 1MiB --algorithm ring,tree,hierarchical,nvls";
    let found = records(line, &folder);
    let names: Vec<&str> = found.iter().map(|record| record["algorithm"].as_str().unwrap()).collect();
    assert_eq!(names, ["ring", "tree", "hierarchical", "nvls-tree"]);
    assert_eq!(found[3]["algorithm_by"], "asked: nvls, whose form between these hosts it is");
    for record in &found {
        let efficiency = record["efficiency"].as_f64().unwrap();
        assert!(efficiency > 0.01 && efficiency <= 1.000_001, "{record}");
        assert_eq!(record["stack"], "gpu");
        assert!(record["bus_bandwidth_MBps"].as_f64() <= record["bound_bus_bandwidth_MBps"].as_f64(), "{record}");
        assert!(record["estimates"].to_string().contains("gpu_reduce_rate"), "{record}");
    }
    // Statistics are of GPUs, without the switches that take part.
    let ranks: Vec<_> = found.iter().map(|record| (&record["ranks"], &record["n"])).collect();
    assert!(ranks.iter().all(|&(ranks, n)| ranks == 16 && n == 16), "{ranks:?}");
    std::fs::write(folder.join("found.json"), hotlink(&format!("{line} --json"), &folder).stdout).unwrap();
    assert_eq!(hotlink("compare-runs found.json found.json", &folder).status.code(), Some(0));
    // The message stack still answers where it is asked for.
    let line = "simulate allreduce --fabric hgx-h100-rail --nodes 8 --size 64 --warmup 1 --stack message";
    let stack = &records(line, &folder)[0];
    assert_eq!(stack["stack"], "message", "{stack}");
    // Of a list each fabric is answered as it is alone, and says by which engine.
    let alone = |fabric: &str| {
        let line = format!("simulate allreduce --fabric {fabric} --nodes 8 --size 64 --algorithm ring");
        records(&line, &folder).into_iter().map(|record| (record["latency_us"].clone(), record["stack"].clone()))
    };
    let fabrics = ["ib-ndr-fat-tree2", "hgx-h100-rail", "hgx-h100-pod", "ib-hdr-sharp"];
    let each: Vec<_> = fabrics.into_iter().flat_map(alone).collect();
    assert_eq!(alone(&fabrics.join(",")).collect::<Vec<_>>(), each);
    assert_eq!(
        each.iter().map(|(_, stack)| stack.as_str().unwrap()).collect::<Vec<_>>(),
        ["message", "gpu", "gpu", "message"]
    );
    refuses(
        &folder,
        &[
            (
                "simulate allreduce --fabric hgx-h100-rail --nodes 16 --algorithm rabenseifner",
                "allreduce on GPUs has ring, tree",
            ),
            ("simulate allreduce --fabric hgx-h100-rail --nodes 12", "must be whole domains"),
            ("simulate allreduce --fabric hgx-h100-rail --nodes 16 --raw --algorithm nvls", "--stack message"),
            ("simulate alltoall --fabric hgx-h100-rail --nodes 16 --samples 5", "on GPUs runs their kernels"),
            ("simulate allgather --fabric hgx-h100-rail --nodes 16 --count", "on GPUs runs their kernels"),
            ("simulate alltoall --fabric hgx-h100-rail --nodes 16 --links", "--links"),
        ],
    );
}

/// A log of 4 hosts of 8 GPUs with one row of this bus bandwidth; `log`: lines of NCCL's own.
fn log(bus: f64, log: &str) -> String {
    log_of(32, bus, log)
}

/// The same of so many GPUs.
fn log_of(gpus: u32, bus: f64, log: &str) -> String {
    let ranks: String = (0..gpus)
        .map(|rank| {
            format!("#  Rank {rank:2} Group  0 Pid  1 on  n{} device {} [0000:17:00] H100\n", rank / 8, rank % 8)
        })
        .collect();
    let (bytes, all) = (1u64 << 30, f64::from(gpus));
    let algorithm = bus / (2.0 * (all - 1.0) / all);
    let us = bytes as f64 / algorithm / 1e3;
    format!(
        "# nccl-tests version 2.17.6\n# Collective test starting: all_reduce_perf\n{ranks}{log}\
         # size count type redop root time algbw busbw #wrong\n\
         {bytes} {count} float sum -1 {us:.2} {algorithm:.3} {bus:.3} 0\n# Avg bus bandwidth : {bus}\n",
        count = bytes / 4
    )
}

/// A log of simulated runs on a sound fabric is that of a sound fabric. Neither its short sizes nor its long ones are low.
#[test]
fn a_simulated_log_of_a_sound_cluster_has_no_cause() {
    let folder = place("workloads-sound");
    let sizes = "8KiB,64KiB,512KiB,4MiB,16MiB,64MiB,128MiB";
    let run = hotlink(&format!("simulate allreduce --fabric hgx-h100-rail --nodes 32 --size {sizes} --json"), &folder);
    let runs = records_of(&run);
    let rows = |few: usize| {
        let row = |record: &Value| {
            let number = |key: &str| record[key].as_f64().unwrap();
            let [us, algorithm, bus] = ["latency_us", "algorithm_bandwidth_MBps", "bus_bandwidth_MBps"].map(number);
            let (bytes, digits) = (number("size_B"), 1e3);
            let [algorithm, bus] = [algorithm / digits, bus / digits];
            format!("{bytes} {} float sum -1 {us:.2} {algorithm:.2} {bus:.2} 0\n", bytes / 4.0)
        };
        runs.iter().take(few).map(row).collect::<String>()
    };
    for few in [5, runs.len()] {
        let text = log(1.0, "");
        let (head, _) = text.split_once("1073741824 ").unwrap();
        let rows = rows(few);
        std::fs::write(folder.join("own.txt"), format!("{head}{rows}# Avg bus bandwidth : 1\n")).unwrap();
        let imported = records_of(&hotlink("import nccl-tests own.txt --fabric hgx-h100-rail --json", &folder));
        for (record, run) in imported.iter().zip(&runs) {
            // The bound beside the ring's, of the algorithm that ran.
            let bound = format!("bound_{}_MBps", run["algorithm"].as_str().unwrap().replace('-', "_"));
            let own = record["bus_bandwidth_MBps"].as_f64().unwrap() / record[&bound].as_f64().unwrap();
            let simulated = run["efficiency"].as_f64().unwrap();
            assert!(own < 1.08 * simulated && own > 0.6 * simulated, "{record} {run}");
        }
        let told = records_of(&hotlink("diagnose own.txt --fabric hgx-h100-rail --json", &folder));
        let kinds = |kind: &str| told.iter().filter(|record| record["kind"] == kind).count();
        assert_eq!((kinds("finding"), kinds("explanation")), (0, 0), "{few} sizes: {told:?}");
    }
}

#[test]
fn nccl_tests_are_judged_by_algorithm_protocol_and_level() {
    let folder = place("workloads-nccl");
    let told = |bus: f64, lines: &str, more: &str| {
        std::fs::write(folder.join("log.txt"), log(bus, lines)).unwrap();
        let output =
            hotlink(&format!("import nccl-tests log.txt --fabric hgx-h100-rail --nodes 32{more} --json"), &folder);
        (records_of(&output)[0].clone(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let near = |record: &Value, key: &str, expected: f64| {
        let found = record[key].as_f64().unwrap_or_else(|| panic!("{key}: {record}"));
        assert!((found / expected - 1.0).abs() < 0.01, "{key} is {found}, not {expected}");
    };
    // 4 x 8 H100 at 350 GB/s: eight NICs of 50 GB/s bind a ring, not NVLink.
    let ring = " --capacities theoretical --algorithm ring";
    let (record, said) = told(350.0, "", ring);
    near(&record, "bound_bus_bandwidth_MBps", 397_000.0);
    near(&record, "efficiency", 0.88);
    // One hop of eight is the NIC's.
    near(&record, "bound_scale_up_network_MBps", 450_000.0 * 8.0 / 7.0);
    near(&record, "bound_pcie_MBps", 504_000.0);
    assert_eq!((&record["limiting_resource"], &record["bound_algorithm"]), (&"NDR link".into(), &"ring".into()));
    assert_eq!((&record["nodes"], said.as_str()), (&32.into(), ""));
    // Unless rates are asked for, those that others measured count, as in a simulation.
    let (record, _) = told(350.0, "", "");
    assert_eq!((&record["capacities"], &record["bound_protocol"]), (&"measured".into(), &"simple".into()));
    // More than a ring can by measured rates, within what the links can: not impossible.
    let (record, said) = told(420.0, "", "");
    assert!(record["impossible"].is_null() && record["bound_ring_MBps"].as_f64() < Some(420e3), "{record} {said}");
    // Without a name the bound is that of the algorithm that `simulate` takes.
    let one_host = |command: String| records_of(&hotlink(&command, &folder)).remove(0);
    std::fs::write(folder.join("one.txt"), log_of(8, 300.0, "")).unwrap();
    let open = one_host("import nccl-tests one.txt --fabric hgx-h100-rail --json".to_owned());
    let size = open["size_B"].as_u64().unwrap();
    let run = one_host(format!("simulate allreduce --fabric hgx-h100-rail --nodes 8 --size {size} --json"));
    assert_eq!((&open["bound_algorithm"], &run["algorithm"]), (&"nvls".into(), &"nvls".into()), "{open} {run}");
    assert_eq!(run["nodes_built"], 8, "{run}");
    near(&open, "bound_bus_bandwidth_MBps", run["bound_bus_bandwidth_MBps"].as_f64().unwrap());
    let (record, said) = told(900.0, "", "");
    assert!(record["impossible"] == true && said.contains("impossible"), "{record} {said}");
    // NCCL's own log, and the user, name what ran.
    let log_of_nccl = "n0:1:1 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo 1 proto 0 time 9.5\n";
    let (record, _) = told(150.0, log_of_nccl, "");
    assert_eq!((&record["bound_algorithm"], &record["bound_protocol"]), (&"ring".into(), &"ll".into()));
    // Flags take half of the NIC's rate, and thread blocks move less than that.
    near(&record, "bound_nic_MBps", 397_000.0 / 2.0);
    assert!(record["bound_bus_bandwidth_MBps"].as_f64() < record["bound_nic_MBps"].as_f64(), "{record}");
    // A channel's work is a chain, whole: no hundredth is taken off.
    assert_eq!(record["limiting_resource"], "dependency chain");
    let (record, _) = told(350.0, "", " --algorithm tree --protocol ll128");
    assert_eq!((&record["bound_algorithm"], &record["bound_protocol"]), (&"tree".into(), &"ll128".into()));
    refuses(
        &folder,
        &[
            ("import nccl-tests log.txt --fabric hgx-h100-rail --algorithm magic", "must be one of ring, tree"),
            ("import nccl-tests log.txt --fabric hgx-h100-rail --algorithm collnet", "has no such allreduce"),
        ],
    );
}
