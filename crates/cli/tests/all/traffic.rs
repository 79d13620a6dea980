//! `simulate traffic` and `alltoall`: link utilisation, the same bytes on one core as on several, and faults.

use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/faults/fat-tree.toml");
const FABRIC: &str = "--fabric ib-ndr-fat-tree2 --nodes 80 --size 4KiB";
const PACKETS: u64 = 80 * 79;

/// Records of a line, but for the clock.
fn try_run(line: &str) -> Result<Vec<Value>, String> {
    let args = line.split_whitespace().map(OsString::from);
    let text = hotlink_cli::json(args).map_err(|failure| failure.to_string())?;
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let records = document["records"].as_array_mut().expect("records");
    for record in records.iter_mut() {
        record.as_object_mut().expect("an object").remove("wall_s");
    }
    Ok(records.clone())
}

fn run(line: &str) -> Vec<Value> {
    try_run(line).expect(line)
}

/// Writes a plan of faults and gives its option.
fn faults(name: &str, text: &str) -> String {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    std::fs::write(&file, text).expect("written");
    format!("--faults {}", file.display())
}

fn fault(at_us: u32, what: &str, state: &str) -> String {
    format!("[[fault]]\nat_us = {at_us}\n{what}\nstate = {state}\n")
}

fn utilisation(records: &[Value], resource: &str) -> f64 {
    let of = records.iter().filter(|record| record["resource"].as_str().is_some_and(|name| name.contains(resource)));
    of.map(|record| record["utilisation"].as_f64().expect("a share")).sum()
}

#[test]
fn what_is_down_carries_nothing_and_the_rest_carries_its_share() {
    let down = faults("spine", &fault(0, "switch = \"spine 1\"", "\"down\""));
    let whole = run(&format!("hotlink simulate alltoall {FABRIC} --links"));
    let faulted = run(&format!("hotlink simulate alltoall {FABRIC} --links {down}"));
    assert!(utilisation(&whole, "spine 1") > 0.1);
    assert_eq!(utilisation(&faulted, "spine 1"), 0.0);
    assert!(utilisation(&faulted, "spine 0") > utilisation(&whole, "spine 0"));
    assert_eq!(faulted[0]["packets"], PACKETS);
    assert!(faulted[0]["unreachable"].is_null() && faulted[0]["gone"].is_null());
    let worst = |records: &[Value]| {
        let shares = records[1..].iter().map(|record| record["utilisation"].as_f64().expect("a share"));
        shares.fold(0.0, f64::max)
    };
    assert!(worst(&whole) <= 1.0 && worst(&whole) > 0.5 && worst(&faulted) <= 1.0);
}

#[test]
fn who_is_cut_off_is_named_and_what_is_lost_is_counted() {
    let cut = faults("cut", &fault(0, "link = \"NDR link node 3 -> leaf 0\"", "\"down\""));
    let record = &run(&format!("hotlink simulate alltoall {FABRIC} {cut}"))[0];
    assert_eq!(record["unreachable_pairs"], 2 * 79);
    let named = record["unreachable"].as_str().expect("a text");
    assert!(named.starts_with("0 -> 3, 1 -> 3, 2 -> 3, 3 -> 0, 3 -> 1, 3 -> 2, 3 -> 4, "), "{named}");
    assert!(named.split(", ").all(|pair| pair.starts_with("3 ->") || pair.ends_with("-> 3")), "{named}");
    let late = faults("late", &fault(20, "link = \"NDR link node 3 -> leaf 0\"", "\"down\""));
    let record = &run(&format!("hotlink simulate traffic {FABRIC} --load 0.5 --messages 100 {late}"))[0];
    assert!(record["lost"].as_u64() > Some(0) && record["gone"].as_u64() > Some(0), "{record}");
}

#[test]
fn a_degraded_link_slows_what_needs_it_by_its_share() {
    let line = "hotlink simulate alltoall --fabric gige --nodes 4 --size 256KiB";
    let text = fault(0, "link = \"GigE link node 0 -> switch\"", "\"degraded\"\nrate = 0.25");
    let slow = run(&format!("{line} {}", faults("slow", &text)));
    let time = |records: &[Value]| records[0]["latency_us"].as_f64().expect("a time");
    let ratio = time(&slow) / time(&run(line));
    assert!((ratio - 4.0).abs() < 0.1, "{ratio}");
}

#[test]
fn the_example_of_the_guide_runs_alike_on_one_core_and_on_several() {
    let lines = [
        format!("hotlink simulate alltoall {FABRIC} --faults {EXAMPLE}"),
        format!("hotlink simulate traffic {FABRIC} --load 0.2,0.5,0.8 --messages 40 --links --faults {EXAMPLE}"),
    ];
    for line in lines {
        let cores = |cores: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build().expect("threads");
            pool.install(|| run(&line))
        };
        let several = cores(3);
        assert_eq!(cores(1), several, "{line}");
        assert!(several[0]["unreachable"].as_str().is_some_and(|pairs| pairs.contains("-> 3")), "{}", several[0]);
    }
}

#[test]
fn accepted_load_follows_offered_load_and_never_passes_the_bound() {
    let records = run(&format!("hotlink simulate traffic {FABRIC} --load 0.2..0.8..+0.3 --messages 60"));
    assert_eq!(records.len(), 3);
    let number = |record: &Value, key: &str| record[key].as_f64().unwrap_or_else(|| panic!("{key} of {record}"));
    for record in &records {
        let (load, accepted) = (number(record, "load"), number(record, "efficiency"));
        assert!(accepted <= load * 1.1 && accepted > load * 0.8, "{record}");
        assert!(number(record, "min") <= number(record, "median") && number(record, "median") <= number(record, "p99"));
    }
    assert!(number(&records[2], "p99") > number(&records[0], "p99"));
}

/// Where parts of a short message overlap in the adapters, its time does not grow evenly with its bytes.
#[test]
fn nothing_is_faster_than_alone_and_what_was_not_measured_is_told() {
    let line = |fabric: &str, size: u32, messages: u32| {
        format!(
            "hotlink simulate traffic --fabric {fabric} --nodes 8 --traffic permutation:random --size {size} --load 0.05 --messages {messages}"
        )
    };
    for (fabric, size) in [("k98-myrinet", 64), ("myrinet-clos64", 5000), ("myrinet-clos64", 9000), ("k98-sci", 8)] {
        let record = &run(&line(fabric, size, 300))[0];
        assert!(record["slowdown_median"].as_f64() >= Some(1.0 - 1e-9), "{record}");
        assert!(record["slowdown_mean"].as_f64() >= Some(1.0 - 1e-9), "{record}");
    }
    let short = &run(&line("ib-ndr-fat-tree2", 64, 2))[0];
    assert_eq!(short["n"], 0, "{short}");
    assert!(short["too_short"].as_str().is_some_and(|why| why.contains("give more --messages")), "{short}");
    assert!(short["bandwidth_per_node_MBps"].is_null(), "{short}");
    assert!(["slowdown_median", "flow_median_us"].iter().all(|key| short.get(key).is_none()), "{short}");
}

#[test]
fn a_plan_that_cannot_be_is_told_with_its_place() {
    let wrong = |options: &str| try_run(&format!("hotlink simulate alltoall {FABRIC} {options}")).expect_err(options);
    let plan = faults("wrong", "[[fault]]\nat_us = 1\nswitch = \"spine 7\"\nstate = \"down\"\n");
    let error = wrong(&plan);
    assert!(error.contains("wrong.toml:3:10: fault[0].switch: \"spine 7\" is not in this fabric"), "{error}");
    assert!(wrong("--faults nowhere.toml").contains("--faults: nowhere.toml"));
    assert!(wrong(&format!("--stack message {plan}")).contains("wrong.toml:3:10: fault[0].switch"));
    // Other engines would answer for the whole fabric.
    for method in ["load", "formula", "both", "all"] {
        let error = wrong(&format!("--method {method} --faults {EXAMPLE}"));
        assert!(error.contains("only the simulator takes --faults (--method packet)"), "{error}");
    }
}

/// Collectives on ranks and on GPUs: the cost of failures, and the place of the fault that cuts ranks off.
#[test]
fn collectives_tell_what_failures_cost_and_which_fault_cuts_ranks_off() {
    let spine = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/faults/spine.toml");
    for which in ["allreduce", "bcast", "alltoall --stack message", "alltoall"] {
        let record = &run(&format!("hotlink simulate {which} {FABRIC} --faults {spine}"))[0];
        let number = |key: &str| record[key].as_f64().unwrap_or_else(|| panic!("{key} of {record}"));
        let ratio = number("latency_us") / number("healthy_us");
        assert!((number("fault_slowdown") - ratio).abs() < 1e-9, "{record}");
        let sound = &run(&format!("hotlink simulate {which} {FABRIC}"))[0];
        assert_eq!(sound["latency_us"], record["healthy_us"], "{which}");
    }
    let barrier = "hotlink simulate barrier --fabric ib-ndr-fat-tree2 --nodes 80 --algorithm dissemination";
    assert!(run(&format!("{barrier} --faults {spine}"))[0]["healthy_us"].is_number());
    // Node 3 is cut off at 12 us, while the ranks are at work; a barrier is over before.
    for which in ["allreduce", "bcast", "alltoall --stack message"] {
        let line = format!("hotlink simulate {which} {FABRIC} --faults {EXAMPLE}");
        let told = try_run(&line).expect_err(&line);
        let place = "fat-tree.toml:22:8: fault[3]: \"NDR link node 3 -> leaf 0\", down from 12 us on, leaves no path";
        assert!(told.contains(place) && told.contains("lost for good"), "{told}");
    }
}

/// No message is faster than alone on its shortest way.
#[test]
fn slow_downs_are_over_the_shortest_way_alone() {
    let line = "hotlink simulate traffic --fabric ib-ndr-slim-fly --nodes 128 --size 4KiB --messages 20 --load 0.05";
    for seed in 1..4 {
        let record = &run(&format!("{line} --paths valiant --seed {seed}"))[0];
        let [mean, median] = ["slowdown_mean", "slowdown_median"].map(|key| record[key].as_f64().unwrap());
        assert!(mean >= 1.0 && median >= 1.0, "{record}");
    }
}

#[test]
fn the_seed_decides_which_permutation_is_sent_and_bounded() {
    let line =
        "hotlink simulate traffic --fabric sci-torus2d --nodes 36 --traffic permutation:random --load 0.1 --size 1KiB";
    let of = |seed: u32| run(&format!("{line} --messages 5 --seed {seed}"))[0].clone();
    let bounds: std::collections::BTreeSet<String> =
        (1..5).map(|seed| of(seed)["bound_bandwidth_per_node_MBps"].to_string()).collect();
    assert!(bounds.len() > 1, "every seed draws the same permutation: {bounds:?}");
    assert_eq!(of(1)["trace_hash"], of(1)["trace_hash"]);
    assert_ne!(of(1)["trace_hash"], of(2)["trace_hash"]);
}

/// Around a ring of switches packets go up*/down*, or they would wait for each other forever.
#[test]
fn rings_of_switches_do_not_deadlock() {
    for (fabric, size) in [("myrinet-ring4", "8KiB"), ("myrinet-ring2", "4KiB")] {
        let record = run(&format!("hotlink simulate alltoall --fabric {fabric} --nodes 64 --size {size}")).remove(0);
        let efficiency = record["efficiency"].as_f64().expect("a share");
        assert!((0.4..1.0).contains(&efficiency), "{record}");
    }
}

/// One name, one meaning: engines of one question give shares that can be compared.
#[test]
fn efficiency_is_of_the_bound_and_the_share_of_injection_has_its_own_key() {
    let records = run("hotlink analyze sci-torus2d --nodes 16 --method all --size 64KiB");
    let of = |method: &str, key: &str| records.iter().find(|one| one["method"] == method).map(|one| one[key].clone());
    let number = |method: &str, key: &str| of(method, key).and_then(|value| value.as_f64());
    let bound = number("load", "bandwidth_per_node_MBps").expect("the load count answers");
    let packet = number("packet", "bandwidth_per_node_MBps").expect("packets answer");
    assert_eq!(number("packet", "bound_bandwidth_per_node_MBps"), Some(bound), "the load count is the packets' bound");
    assert!((number("packet", "efficiency").unwrap() - packet / bound).abs() < 1e-12);
    let injection = number("load", "injection_per_node_MBps").expect("a node has a limit");
    for method in ["formula", "load", "packet"] {
        assert!((number(method, "injection_per_node_MBps").unwrap() / injection - 1.0).abs() < 1e-9, "{method}");
        let value = number(method, "bandwidth_per_node_MBps").unwrap();
        assert!((number(method, "injection_share").unwrap() - value / injection).abs() < 1e-9, "{method}");
    }
    for method in ["formula", "load"] {
        assert_eq!(number(method, "efficiency"), None, "{method} is a bound");
    }
}

/// Few and long messages: only data that arrived within the window counts, to the packet.
#[test]
fn short_runs_of_long_messages_keep_to_their_bound() {
    for (options, packets) in [
        ("--nodes 3 --traffic incast:2 --load 8 --size 16MiB --messages 2 --seed 3", 4096.0),
        ("--nodes 3 --traffic incast:2 --load 8 --size 1MiB --messages 4 --seed 2", 256.0),
        ("--nodes 32 --traffic incast:8 --load 2 --size 1MiB --messages 10", 256.0),
    ] {
        let record = &run(&format!("hotlink simulate traffic --fabric ib-ndr-fat-tree2 {options}"))[0];
        let efficiency = record["efficiency"].as_f64().unwrap();
        // A packet at either end of the window counts whole.
        assert!((0.5..1.0 + 2.0 / packets).contains(&efficiency), "{options}: {record}");
    }
}

/// Whichever way packets take, the shortest alone bounds a message: neither another draw nor another choice beats it.
#[test]
fn one_bound_holds_for_every_way_of_a_message() {
    for (fabric, nodes) in [("slingshot-dragonfly", 80), ("ib-ndr-slim-fly", 128)] {
        let line = format!("hotlink simulate pingpong --fabric {fabric} --nodes {nodes} --size 64KiB");
        let of = |options: &str| run(&format!("{line} {options}")).remove(0);
        let minimal = of("--paths minimal");
        for ways in ["valiant", "ugal", "ugal --seed 2", "ugal-g"] {
            let other = of(&format!("--paths {ways}"));
            assert_eq!(other["bound_latency_us"], minimal["bound_latency_us"], "{fabric} {ways}");
            assert!(other["efficiency"].as_f64() <= Some(1.0 + 1e-12), "{fabric} {ways}: {other}");
        }
    }
    let both =
        run("hotlink simulate allreduce --fabric ib-ndr-slim-fly --nodes 16 --size 64KiB --paths minimal,valiant");
    assert_eq!([&both[0]["paths"], &both[1]["paths"]], ["minimal", "valiant"], "records say which is which");
}

/// An exchange that leaves pairs out has no time.
#[test]
fn what_is_cut_off_is_no_faster() {
    let options = faults("cut-off", "[[fault]]\nat_us = 0\nlink = \"NDR link node 0 -> switch\"\nstate = \"down\"\n");
    let line = "hotlink simulate alltoall --fabric ib-ndr-fat-tree2 --nodes 16 --size 64KiB";
    let record = &run(&format!("{line} {options}"))[0];
    assert!(record["latency_us"].is_null() && record["efficiency"].is_null(), "{record}");
    assert!(record["gone"].as_f64() > Some(0.0) && record["note"].as_str().unwrap().contains("cut off"), "{record}");
}

/// M02's averages put Myrinet's Clos ahead at 25 nodes; its packets queue for routes that are given, and SCI's do not.
#[test]
fn each_engine_judges_crossovers_and_where_they_disagree_is_said() {
    let records =
        run("hotlink compare sci-torus2d myrinet-clos64 --nodes 16,25,64 --method formula,load,packet --size 4KiB");
    let of = |kind: &str| records.iter().filter(|r| r["kind"] == kind).collect::<Vec<_>>();
    let cells = of("fabric");
    assert_eq!(cells.len(), 3 * 2 * 3);
    for cell in &cells {
        let of = |key: &str| cell[key].as_f64().unwrap_or_else(|| panic!("{key} in {cell}"));
        let share = of("bandwidth_per_node_MBps") / of("injection_per_node_MBps");
        assert!((share - of("injection_share")).abs() < 1e-9 && share < 1.0 + 1e-9, "{cell}");
        assert!(of("idle_latency_us") > 0.0, "{cell}");
        // Only what is no bound itself has a bound.
        assert_eq!(cell["efficiency"].is_number(), cell["method"] == "packet", "{cell}");
    }
    let crossovers = of("crossover");
    assert!(crossovers.iter().all(|crossover| crossover["method"].is_string()), "{crossovers:?}");
    let told = of("disagreement").into_iter().filter(|r| r["quantity"] == "bandwidth_per_node_MBps");
    let told: Vec<_> =
        told.map(|r| (r["nodes"].as_u64(), r["ahead_by_load"].as_str(), r["ahead_by_packet"].as_str())).collect();
    assert_eq!(told, [(Some(25), Some("myrinet-clos64"), Some("sci-torus2d"))]);
}

/// Sizes by a table of the catalog, with its source; completion times by class of size; those of short flows grow more.
#[test]
fn flows_of_a_published_distribution_have_times_and_slow_downs_by_size() {
    let line =
        "hotlink simulate traffic --fabric eth-400g-leaf-spine --nodes 16 --load 0.5 --size storage,4KiB --messages 40";
    let records = run(line);
    assert_eq!(records.len(), 2);
    let (fixed, drawn) = (&records[0], &records[1]);
    assert!(fixed["sizes"].is_null() && fixed["flow_n"].is_null() && fixed["size_B"] == 4096, "{fixed}");
    assert_eq!(drawn["sizes"], "storage");
    assert!(drawn["sizes_source"].as_str().is_some_and(|source| source.contains("HPCC")), "{drawn}");
    let list = |key: &str| drawn[key].as_array().unwrap_or_else(|| panic!("{key} in {drawn}")).clone();
    let classes = list("flow_upto_B");
    assert_eq!(classes[0], 1000.0);
    for key in ["flow_n", "flow_median_us", "flow_p99_us", "flow_slowdown_median", "flow_slowdown_p99"] {
        assert_eq!(list(key).len(), classes.len(), "{key}");
    }
    let counted: f64 = list("flow_n").iter().filter_map(Value::as_f64).sum();
    assert_eq!(Some(counted), drawn["n"].as_f64());
    let medians: Vec<f64> = list("flow_median_us").iter().filter_map(Value::as_f64).collect();
    assert!(medians.is_sorted(), "longer flows take longer: {medians:?}");
    for record in &records {
        let slow = record["slowdown_median"].as_f64().expect("a number");
        assert!(slow > 0.99 && record["slowdown_p99"].as_f64() > Some(slow), "nothing is faster than alone: {record}");
        let buckets = record["histogram_n"].as_array().expect("a list").iter().filter_map(Value::as_u64);
        assert_eq!(Some(buckets.sum::<u64>()), record["n"].as_u64());
    }
    // The means of the tables that HPCC's authors publish, by their own sum (traffic_gen/custom_rand.py, getAvg).
    let means =
        run("hotlink simulate traffic --fabric gige --nodes 2 --load 0.1 --size websearch,storage --messages 2");
    assert_eq!([&means[0]["size_B"], &means[1]["size_B"]], [1_711_250, 40_870]);
    let wrong = |size: &str| {
        try_run(&format!("hotlink simulate traffic --fabric gige --nodes 4 --load 0.5 --size {size}")).expect_err(size)
    };
    for (size, told) in [("websurch", "websearch, datamining, storage"), ("file:nowhere.txt", "nowhere.txt")] {
        let error = wrong(size);
        assert!(error.contains(told), "{error}");
    }
    let elsewhere =
        try_run("hotlink simulate pingpong --fabric gige --size websearch").expect_err("no sizes are drawn");
    assert!(elsewhere.contains("only `simulate traffic` draws sizes"), "{elsewhere}");
}

/// The course in time of the network and of its busiest resources adds up to the run's own counts.
#[test]
fn a_series_shows_links_and_queues_in_the_course_of_time() {
    let records = run(&format!("hotlink simulate traffic {FABRIC} --load 0.7 --messages 600 --series 1us"));
    let whole = &records[0];
    let list = |record: &Value, key: &str| -> Vec<f64> {
        record[key].as_array().unwrap_or_else(|| panic!("{key} in {record}")).iter().filter_map(Value::as_f64).collect()
    };
    let arrived = list(whole, "series_delivered_MBps");
    assert_eq!(records.len(), 1 + 8);
    let mean = arrived.iter().sum::<f64>() / arrived.len() as f64 / 80.0;
    let told = whole["bandwidth_per_node_MBps"].as_f64().expect("a rate");
    assert!((mean / told - 1.0).abs() < 0.1, "{mean} {told}");
    for one in &records[1..] {
        let busy = list(one, "series_utilisation");
        assert_eq!((busy.len(), list(one, "series_queued_B").len()), (arrived.len(), arrived.len()));
        let mean = busy.iter().sum::<f64>() / busy.len() as f64;
        assert!((mean - one["utilisation"].as_f64().expect("a share")).abs() < 0.05, "{one}");
    }
    let plain = run(&format!("hotlink simulate traffic {FABRIC} --load 0.7 --messages 600"));
    assert_eq!(plain[0]["median"], whole["median"], "who looks changes nothing");
}

/// Packets that are gone for good are separate from those on their way, and quantiles of all messages say so.
#[test]
fn survivors_and_lost_are_told_apart() {
    let cut = faults("half-cut", &fault(30, "link = \"NDR link node 3 -> leaf 0\"", "\"down\""));
    let record = &run(&format!("hotlink simulate traffic {FABRIC} --load 0.3 --messages 200 {cut}"))[0];
    let count = |key: &str| record[key].as_u64().unwrap_or_else(|| panic!("{key} in {record}"));
    assert!(count("lost_messages") > 0 && count("lost_messages") <= count("gone"), "{record}");
    assert!(record["median_of_all"].as_f64() >= record["median"].as_f64().map(|median| 0.9 * median));
    assert!(record["too_short"].is_string(), "messages of two nodes never arrive: {record}");
}

/// Commas within the brackets of a variant do not end its name.
#[test]
fn variants_with_lists_stand_in_lists_of_fabrics() {
    let records =
        run("hotlink simulate alltoall --fabric myrinet-ring4:groups=[8,3,6],myrinet-ring4 --nodes 17 --size 1KiB");
    let names: Vec<&str> = records.iter().map(|record| record["fabric"].as_str().expect("a name")).collect();
    assert_eq!(names, ["myrinet-ring4:groups=[8,3,6]", "myrinet-ring4"]);
    // Without a number of nodes, pairs share the link between the first two switches, however full these are.
    let record = &run("hotlink simulate saturation --fabric myrinet-minimal:groups=[4,4] --senders 4")[0];
    assert_eq!((&record["nodes"], &record["senders"]), (&8.into(), &4.into()));
    assert_eq!(record["limiting_resource"], "Myrinet inter-switch link");
}

/// Messages that are nearly always alone take as long as a lone one, whatever routes their packets take. Load that is
/// not accepted is reported in runs of a given length, too.
#[test]
fn a_lone_message_is_not_slowed_and_saturation_is_told() {
    for (fabric, more) in [
        ("bluegene-l", "--size 64KiB"),
        ("bluegene-l", "--size 4KiB --traffic permutation:random"),
        ("k98-t3d", "--size 4KiB --traffic permutation:shift:5"),
    ] {
        let line = format!("hotlink simulate traffic --fabric {fabric} --nodes 64 --load 0.001 --messages 20 {more}");
        let mean = run(&line)[0]["slowdown_mean"].as_f64().expect("a number");
        assert!((0.99..1.05).contains(&mean), "{fabric} {more}: {mean}");
    }
    let line = |load: f64| format!("hotlink simulate traffic {FABRIC} --load {load} --messages 2000");
    assert_eq!(run(&line(2.0))[0]["saturated"], true);
    assert!(run(&line(0.5))[0].get("saturated").is_none());
}
