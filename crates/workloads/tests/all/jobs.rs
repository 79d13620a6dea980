//! Several jobs at once: against times computed by hand, against the same job by itself, and mistakes in plans.

use hotlink_bench::Record;
use hotlink_fabric::units::Time;
use hotlink_schedule::Protocol;
use hotlink_schedule::collective::{Algorithm, Which};
use hotlink_schedule::{Options, Recorder, Schedule};
use hotlink_study::inputs::Vary;
use hotlink_study::options::Transport;
use hotlink_study::transports::Control;
use hotlink_study::{Error, Unwatched};
use hotlink_workloads::collective::Collective;
use hotlink_workloads::jobs::{Chosen, Jobs, Placement, Plan, Program, Programs, nodes_of};
use hotlink_workloads::measured::{Bus, Told};
use hotlink_workloads::replay::Network;
use hotlink_workloads::schedule::Scheduled;
use proptest::prelude::*;
use std::cell::RefCell;
use std::path::PathBuf;

const JOBS: Jobs = Jobs { nodes: None, placements: Vec::new(), network: NETWORK, vary: Vary::No };
pub(crate) const NETWORK: Network = Network {
    capacities: hotlink_study::options::Rates::Measured,
    seed: 1,
    paths: None,
    packet_size: None,
    overhead: hotlink_fabric::units::Time::ZERO,
    eager_max: u64::MAX,
    ethernet: hotlink_study::options::Ethernet::Pause,
    control: hotlink_study::transports::Control::usual(),
    faults: None,
};

/// A program that starts no process: rank 0 sends each other rank 64 KiB for each of its arguments.
struct Written(RefCell<Vec<String>>);

impl Programs for Written {
    fn recorded(&self, program: Program<'_>) -> Result<Schedule, Error> {
        self.0.borrow_mut().push(format!("{:?} {} {:?}", program.command, program.compute, program.places));
        if program.command[0] == "false" {
            return Err(Error::Check("rank 0 ended with status 1".to_owned()));
        }
        let ranks = program.places.len() as u32;
        let mut recorder = Recorder::new(ranks);
        for (rank, number) in (1..ranks).flat_map(|rank| (1..program.command.len() as u32).map(move |n| (rank, n))) {
            recorder.send(0, rank, number, 64 << 10);
            recorder.recv(rank, 0, number, 64 << 10);
        }
        Ok(recorder.schedule())
    }
}

fn answers(jobs: &Jobs, text: &str, fabric: &str) -> Result<Vec<Record>, String> {
    let told = |mistakes: Vec<_>| mistakes.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n");
    let plan = Plan::parse("plan.toml", text).map_err(told)?;
    jobs.run(&plan, fabric, &Written(RefCell::default()), &Unwatched).map_err(|error| error.to_string())
}

pub(crate) fn told(text: &str, fabric: &str) -> Vec<Record> {
    answers(&JOBS, text, fabric).unwrap_or_else(|what| panic!("{what}"))
}

pub(crate) fn number(record: &Record, key: &str) -> f64 {
    record.number(key).unwrap_or_else(|| panic!("{key}: {record:?}"))
}

fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Several tests write the same: never half of it.
    let partial = path.with_extension(format!("{:?}", std::thread::current().id()));
    std::fs::write(&partial, text).unwrap();
    std::fs::rename(&partial, &path).unwrap();
    path.display().to_string()
}

/// A job that exchanges messages among some nodes.
fn exchange(name: &str, nodes: &str, size: &str) -> String {
    format!(
        "[[job]]\nname = {name:?}\ncollective = \"alltoall\"\nalgorithm = \"linear\"\nsize = {size:?}\nnodes = {nodes:?}\n"
    )
}

/// A program is recorded once on each set of nodes, alone, and then runs with other jobs like any schedule.
#[test]
fn a_program_is_a_job_on_its_nodes() {
    let text = "nodes = 16\n[[job]]\nname = \"app\"\nprogram = [\"./app\", \"once\"]\nranks = 2\nrepeat = 3\n\
        [[job]]\nname = \"other\"\nprogram = [\"app\"]\ncompute_time = \"0.5\"\nnodes = \"8-11\"\n";
    let plan = Plan::parse("plans/jobs.toml", text).unwrap();
    let jobs = Jobs { placements: vec![Placement::Packed, Placement::Spread], ..JOBS };
    let programs = Written(RefCell::default());
    let records = jobs.run(&plan, "ib-ndr-fat-tree2:radix=8", &programs, &Unwatched).unwrap();
    assert_eq!(
        *programs.0.borrow(),
        [
            "[\"plans/./app\", \"once\"] none [0, 1]",
            "[\"app\"] 0.5 [8, 9, 10, 11]",
            "[\"plans/./app\", \"once\"] none [0, 4]"
        ]
    );
    assert_eq!(records.len(), 6);
    assert_eq!((records[0].text("work"), records[0].text("program")), (Some("program"), Some("plans/./app once")));
    // Three messages of 64 KiB at the link's payload rate, and the time of one packet's path.
    let wire_us = 3.0 * 65_536.0 / 50_000.0;
    let latency_us = number(&records[0], "latency_us");
    assert!((wire_us..wire_us * 1.5 + 2.0).contains(&latency_us), "{latency_us} for {wire_us}");
    for (wrong, expected) in [
        ("program = []", "plan.toml:3:11: job[0].program: names no program"),
        ("program = [\"a\"]\ncompute_time = \"much\"", "plan.toml:4:16: job[0].compute_time: is \"much\""),
        ("program = [\"a\"]\ncompute_time = \"-1\"", "plan.toml:4:16: job[0].compute_time: is \"-1\""),
        ("program = [\"a\"]\nsize = \"1KiB\"", "plan.toml:4:8: job[0].size: program has none"),
        ("program = [\"false\"]", "plan.toml:3:11: job \"a\": program: rank 0 ended with status 1"),
    ] {
        let text = format!("[[job]]\nname = \"a\"\n{wrong}\nranks = 2\n");
        let what = answers(&Jobs { nodes: Some(4), ..JOBS }, &text, "gige").unwrap_err();
        assert!(what.starts_with(expected), "{what}");
    }
}

/// A plan says what controls flows and what switches have; options go before it, and mistakes have their place.
#[test]
fn a_plan_sets_transports_buffers_thresholds_and_lanes() {
    let job = exchange("a", "0-7", "64KiB");
    let network = "[network]\ntransport = \"dctcp\"\nbuffer = \"128KiB\"\npfc_pause = \"64KiB\"\nlanes = 4\n";
    let told_of = |records: &[Record]| {
        let key = |key: &str| records[0].get(key).map(ToString::to_string).unwrap_or_default().replace('"', "");
        ["transport", "buffer_B", "pfc_pause_B", "virtual_lanes"].map(key)
    };
    let plan = format!("nodes = 8\n{network}{job}");
    assert_eq!(told_of(&told(&plan, "eth-400g-leaf-spine")), ["dctcp", "131072", "65536", "4"]);
    let asked = Network {
        control: Control { buffer: Some(256 << 10), transport: Transport::Swift, ..Control::usual() },
        ..NETWORK
    };
    let jobs = Jobs { network: asked, ..JOBS };
    let records = answers(&jobs, &plan, "eth-400g-leaf-spine").expect("runs");
    assert_eq!(told_of(&records), ["swift", "262144", "65536", "4"]);
    // None by name goes before the plan's, too.
    let none = Network { control: Control { named: true, ..Control::usual() }, ..NETWORK };
    let records = answers(&Jobs { network: none, ..JOBS }, &plan, "eth-400g-leaf-spine").expect("runs");
    assert_eq!(told_of(&records)[0], "none");
    for (wrong, expected) in [
        ("lanes = 9", "plan.toml:3:9: network.lanes: is 9 (allowed: 1 to 8)"),
        ("transport = \"tcp\"", "plan.toml:3:13: network.transport: "),
        ("buffer = \"much\"", "plan.toml:3:10: network.buffer: "),
        ("lane = 4", "plan.toml:3:1"),
        ("ethernet = \"drop\"\npfc_pause = \"1KiB\"", "plan.toml:2:1: network: --pfc-pause, --pfc-resume: ports that"),
        (
            "pfc_pause = \"1MiB\"",
            "plan.toml:2:1: network: --pfc-pause 1048576: must be 1 B to 262144 B, the port's buffer",
        ),
    ] {
        let text = format!("nodes = 8\n[network]\n{wrong}\n{job}");
        let said = answers(&JOBS, &text, "eth-400g-leaf-spine").expect_err(wrong);
        assert!(said.contains(expected), "{said}, not {expected}");
    }
    let text = format!("nodes = 8\n[network]\npfc_pause = \"1KiB\"\n{job}");
    let said = answers(&JOBS, &text, "ib-ndr-fat-tree2").expect_err("credits");
    assert!(said.contains("must be an Ethernet, whose ports pause"), "{said}");
    let text = format!("nodes = 8\n[network]\nlanes = 3\n{job}");
    let said = answers(&JOBS, &text, "slingshot-dragonfly").expect_err("deadlock");
    assert!(said.contains("3 virtual lanes: this routing needs 2 of each link; allowed: 2, 4, 6, 8"), "{said}");
}

/// By rules, lists and files, as jobs get them.
#[test]
fn a_single_job_gets_nodes_by_the_same_words() {
    let spec = hotlink_fabric::catalog::load("ib-ndr-fat-tree2").unwrap();
    let fabric = hotlink_fabric::Fabric::build(&spec, 128).unwrap();
    let of = |count, how| nodes_of(&fabric, &spec, count, how);
    assert_eq!(of(3, Chosen::By(Placement::Contiguous, 1)), Ok(vec![0, 1, 2]));
    assert_eq!(of(3, Chosen::By(Placement::Spread, 1)), Ok(vec![0, 32, 64]));
    let (one, other) = (of(8, Chosen::By(Placement::Random, 1)), of(8, Chosen::By(Placement::Random, 2)));
    assert!(one.is_ok() && one != other && one == of(8, Chosen::By(Placement::Random, 1)));
    assert_eq!(of(4, Chosen::Listed("9,4-6")), Ok(vec![9, 4, 5, 6]));
    assert_eq!(of(4, Chosen::File("f", "9\n\n4-6 # three\n")), Ok(vec![9, 4, 5, 6]));
    for (count, how, due) in [
        (3, Chosen::Listed("9,4-6"), "4 nodes are listed, and 3 are needed"),
        (2, Chosen::Listed("1,1"), "node 1 is listed twice"),
        (2, Chosen::File("f", "1\n128\n"), "f: \"128\" is no node or range: must be 0 to 127"),
        (2, Chosen::File("f", "# none\n"), "f: names no host"),
        (200, Chosen::By(Placement::Packed, 1), "128 hosts are free, 200 are needed"),
    ] {
        let why = of(count, how).unwrap_err();
        assert!(why.contains(due), "{why}");
    }
}

#[test]
fn jobs_without_a_resource_in_common_do_not_slow_each_other() {
    // Each within a leaf, and each between two leaves of its own, whose cables nobody else uses. InfiniBand's routes
    // depend on the destination, so no choice of one job depends on another's packets.
    for (one, other, leaves) in [("0-15", "32-47", 1.0), ("0-7,32-39", "64-71,96-103", 2.0)] {
        let text = format!("nodes = 128\n{}{}", exchange("a", one, "64KiB"), exchange("b", other, "16KiB"));
        let records = told(&text, "ib-ndr-fat-tree2");
        assert_eq!(records.len(), 3);
        for record in &records[..2] {
            assert_eq!((number(record, "slowdown"), number(record, "leaves")), (1.0, leaves), "{record:?}");
            assert!(number(record, "efficiency") <= 1.0 + 1e-9, "{record:?}");
            assert_eq!(record.get("shared_by").and_then(|by| by.as_array()).map(Vec::len), Some(1), "{record:?}");
        }
    }
}

/// Marks and rates of a job follow from its own packets, independently of the others' random numbers.
#[test]
fn transports_of_jobs_without_a_resource_in_common_do_not_meet() {
    let incast = |name, nodes| {
        format!(
            "[[job]]\nname = \"{name}\"\ntraffic = \"incast:7\"\nsize = \"64KiB\"\nload = 4.0\nmessages = 20\nnodes = \"{nodes}\"\n"
        )
    };
    let text = format!("nodes = 96\n{}{}", incast("a", "0-7"), incast("b", "40-47"));
    for transport in [Transport::Dcqcn, Transport::Dctcp, Transport::Swift] {
        let network = Network { control: Control { transport, ..Control::usual() }, ..NETWORK };
        let records = answers(&Jobs { network, ..JOBS }, &text, "eth-400g-leaf-spine").expect("runs");
        for record in &records[..2] {
            assert_eq!(number(record, "slowdown"), 1.0, "{record:?}");
        }
    }
}

/// A message alone, whichever way its packets draw: of several in parallel, or by another group, which may be shorter
/// in time.
#[test]
fn no_message_beats_the_bound_of_its_ways() {
    let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/fabrics/slingshot-dragonfly.toml");
    let text = std::fs::read_to_string(catalog).unwrap().replace("dragonfly-minimal", "dragonfly-valiant");
    let valiant = file("valiant.toml", &text) + ":nodes_per_router=2:routers_per_group=4:global_per_router=2";
    for (fabric, nodes, ends) in
        [("bluegene-l", 64, ["0,1", "0,42"]), ("ai-pod-torus3d", 64, ["0,1", "3,60"]), (&valiant, 72, ["67,3", "0,71"])]
    {
        for (bytes, seed, ends) in [(8, 1), (8, 2), (300_000, 3)].map(|(b, s)| ends.map(|e| (b, s, e))).concat() {
            let goal = file(
                &format!("one-{bytes}.goal"),
                &format!("num_ranks 2\nrank 0 {{ send {bytes}b to 1 }}\nrank 1 {{ recv {bytes}b from 0 }}"),
            );
            let text = format!("nodes = {nodes}\n[[job]]\nname = \"a\"\nschedule = {goal:?}\nnodes = {ends:?}\n");
            let jobs = Jobs { network: Network { seed, ..NETWORK }, ..JOBS };
            for record in answers(&jobs, &text, fabric).unwrap_or_else(|what| panic!("{what}")) {
                let efficiency = number(&record, "efficiency");
                assert!(efficiency > 0.3 && efficiency <= 1.0 + 1e-9, "{record:?}");
            }
        }
    }
}

/// Two switches with one cable, and two hosts on each: 1,000 MB/s everywhere, no headers.
const CABLE: &str = r#"{"technology": "myrinet", "rate_MBps": 1000, "latency_us": 0.1,
    "packet": {"payload_max_B": 1000, "overhead_B": 0},
    "nodes": ["a", "b", "c", "d"], "switches": ["s", "t"],
    "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "s"}, {"from": "c", "to": "t"}, {"from": "d", "to": "t"},
              {"from": "s", "to": "t"}]}"#;

/// A message of 10 MB.
const SEND: &str = "num_ranks 2\nrank 0 { send 10000000b to 1 }\nrank 1 { recv 10000000b from 0 }";

/// A plan of two such messages over one cable, and the fabric.
fn cable(more: &str) -> (String, String) {
    let (fabric, goal) = (file("cable.json", CABLE), file("send.goal", SEND));
    let job = |name: &str, nodes: &str| format!("[[job]]\nname = {name:?}\nschedule = {goal:?}\nnodes = {nodes:?}\n");
    (format!("{}{more}{}", job("one", "0,2"), job("two", "b,d")), fabric)
}

fn over_the_cable(more: &str) -> Vec<Record> {
    let (text, fabric) = cable(more);
    told(&text, &fabric)
}

#[test]
fn jobs_that_share_a_cable_are_slowed_to_what_it_carries() {
    let records = over_the_cable("");
    let [one, two, all] = &records[..] else { panic!("{records:?}") };
    for record in [one, two] {
        // 10 MB at 1,000 MB/s; together 20 MB cross the same cable, packet by packet in turn.
        assert_eq!(number(record, "bound_latency_us").round(), 10_000.0, "{record:?}");
        assert!((number(record, "alone_us") / 10_000.0 - 1.0).abs() < 0.001, "{record:?}");
        assert!((number(record, "slowdown") - 2.0).abs() < 0.002, "{record:?}");
        assert_eq!((number(record, "shared_link_us"), record.text("node_list").is_some()), (20_000.0, true));
        let shares = record.get("shared_by").map(ToString::to_string);
        assert_eq!(shares.as_deref(), Some(r#"["one 50.0 %","two 50.0 %"]"#));
    }
    assert_eq!((number(all, "bound_latency_us"), all.text("job")), (20_000.0, Some("all")));
    assert!(number(all, "efficiency") > 0.999 && number(all, "efficiency") <= 1.0, "{all:?}");
    // When one begins as the other ends, nobody waits.
    for record in &over_the_cable("start_us = 11000\n")[..2] {
        assert_eq!(number(record, "slowdown"), 1.0, "{record:?}");
    }
}

#[test]
fn a_spread_job_pays_for_a_slimmed_tree_and_a_packed_one_does_not() {
    let text = "nodes = 96\n[[job]]\nname = \"a\"\ncollective = \"alltoall\"\nalgorithm = \"linear\"\nsize = \"64KiB\"\nranks = 24\n\
                [[job]]\nname = \"b\"\ncollective = \"alltoall\"\nalgorithm = \"linear\"\nsize = \"64KiB\"\nranks = 24\n";
    let jobs = Jobs { placements: vec![Placement::Packed, Placement::Spread], ..JOBS };
    let records = answers(&jobs, text, "ib-ndr-fat-tree2:oversubscription=8").unwrap();
    let (packed, spread) = records.split_at(3);
    for (packed, spread) in packed.iter().zip(spread).take(2) {
        assert_eq!((number(packed, "leaves"), number(packed, "slowdown")), (1.0, 1.0), "{packed:?}");
        assert!(number(spread, "leaves") > 1.0 && number(spread, "over_first_placement") > 1.5, "{spread:?}");
        assert!(number(spread, "slowdown") > 1.2, "both use the same few cables: {spread:?}");
        assert!(spread.text("shared_link").is_some_and(|link| link.contains("inter-switch")), "{spread:?}");
    }
}

#[test]
fn a_failure_during_a_job_costs_time_and_the_run_ends() {
    let fault = "[[fault]]\nat_us = 2000\nlink = \"switch link s -> t\"\nstate = \"degraded\"\nrate = 0.5\n";
    let (whole, failed) = (over_the_cable(""), over_the_cable(fault));
    for (whole, failed) in whole.iter().zip(&failed).take(2) {
        assert_eq!(failed.number("healthy_us"), whole.number("latency_us"));
        // In 2 ms 2 of 20 MB have crossed; 18 more at half the rate take 36 ms.
        assert!((number(failed, "latency_us") / 38_000.0 - 1.0).abs() < 0.002, "{failed:?}");
        assert!((number(failed, "fault_cost_us") / 18_000.0 - 1.0).abs() < 0.01, "{failed:?}");
        // Alone with the same failure: 2 of 10 MB, then 8 at half the rate.
        assert!((number(failed, "alone_us") / 18_000.0 - 1.0).abs() < 0.002, "{failed:?}");
    }
    let text = include_str!("../../../../plans/jobs-faults.toml");
    let records = told(text, "ib-ndr-fat-tree2");
    assert!(number(&records[0], "fault_cost_us") > 0.0 && number(&records[2], "lost") > 0.0, "{records:?}");
}

/// A link that never comes back cuts a job off: the error names the place in the plan, or in the file of failures.
#[test]
fn a_failure_that_cuts_a_job_off_is_told_with_its_place() {
    let fault = "[[fault]]\nat_us = 2000\nlink = \"switch link s -> t\"\nstate = \"down\"\n";
    let (text, fabric) = cable(fault);
    let told = answers(&JOBS, &text, &fabric).unwrap_err();
    // After a job of four lines.
    let place = "plan.toml:7:8: fault[0]: \"switch link s -> t\", down from 2000 us on, leaves no path";
    assert!(told.contains(place), "{told}");
    let elsewhere = Network { faults: Some(file("cut.toml", fault)), ..NETWORK };
    let told = answers(&Jobs { network: elsewhere, ..JOBS }, &cable("").0, &fabric).unwrap_err();
    assert!(told.contains("cut.toml:3:8: fault[0]"), "{told}");
    // Beside a file that the plan names itself.
    let spare = file("spare.toml", &fault.replace("2000", "1").replace("down", "up"));
    let both = Jobs { network: Network { faults: Some(file("cut.toml", fault)), ..NETWORK }, ..JOBS };
    let told = answers(&both, &format!("faults = {spare:?}\n{}", cable("").0), &fabric).unwrap_err();
    assert!(told.contains("cut.toml:3:8: fault[0]"), "{told}");
}

/// A collective of GPUs with its time where nothing fails, and its message where a GPU's only link is down.
#[test]
fn collectives_of_gpus_tell_what_failures_cost() {
    let ask = |faults: Option<String>| {
        let network = Network { faults, ..NETWORK };
        let (which, algorithms) = (Which::Allreduce, vec![Algorithm::Hierarchical]);
        let (nodes, sizes) = (vec![32], vec![16 << 20]);
        let protocols = vec![Protocol::Simple];
        let asked = Collective { which, algorithms, protocols, nodes, sizes, network, vary: Vary::No };
        asked.records(&["hgx-h100-rail".to_owned()], &Unwatched).map_err(|error| error.to_string())
    };
    let whole = ask(None).unwrap();
    // The links within hosts are busiest.
    let link = "NVLink memory of GPU 0 -> scale-up switch 0";
    assert!(whole.iter().all(|whole| whole.text("limiter") == Some(link)), "{whole:?}");
    let plan = |state: &str| format!("[[fault]]\nat_us = 0\nlink = {link:?}\nstate = {state}\n");
    let slow = ask(Some(file("slow.toml", &plan("\"degraded\"\nrate = 0.25")))).unwrap();
    for (slow, whole) in slow.iter().zip(&whole) {
        assert_eq!(slow.number("healthy_us"), whole.number("latency_us"));
        let ratio = number(slow, "latency_us") / number(whole, "latency_us");
        assert!(ratio > 1.2 && (number(slow, "fault_slowdown") - ratio).abs() < 1e-9, "{ratio}: {slow:?}");
    }
    let told = ask(Some(file("gone.toml", &plan("\"down\"")))).unwrap_err();
    assert!(told.contains("gone.toml:3:8: fault[0]") && told.contains("leaves no path from"), "{told}");
}

/// Switches that combine data are reported by their names, not by numbers that no user gave.
#[test]
fn a_switch_that_combines_and_is_cut_off_is_named() {
    let faults = Some(file("leaf.toml", "[[fault]]\nat_us = 5\nswitch = \"rail leaf 0\"\nstate = \"down\"\n"));
    let jobs = Jobs { network: Network { faults, ..NETWORK }, ..JOBS };
    let what = "collective = \"allreduce\"\nalgorithm = \"collnet\"\nsize = \"4MiB\"\nranks = 32";
    let told = answers(&jobs, &format!("nodes = 32\n[[job]]\nname = \"a\"\n{what}\n"), "hgx-h100-sharp").unwrap_err();
    let (_, cut) = told.split_once("leaves no path from ").unwrap_or_else(|| panic!("{told}"));
    assert!(cut.contains("rail leaf") && !cut.contains("to node "), "{cut}");
}

#[test]
fn a_job_alone_takes_what_the_same_question_by_itself_answers() {
    let goal = file("ring.goal", SEND);
    let scheduled = Scheduled::of(&goal).run("ib-qdr", "schedule", &Unwatched).unwrap();
    for start in ["", "start_us = 12.5\n"] {
        let text = format!("nodes = 4\n[[job]]\nname = \"a\"\nschedule = {goal:?}\n{start}");
        let records = told(&text, "ib-qdr");
        for key in ["latency_us", "bound_latency_us"] {
            assert_eq!(records[0].number(key), scheduled[0].number(key), "{start}{key}");
        }
        assert_eq!(records[0].number("alone_us"), records[0].number("latency_us"));
    }
    for algorithm in [Algorithm::Ring, Algorithm::NvlsTree] {
        let (fabrics, name) = (["hgx-h100-rail".to_owned()], algorithm.name());
        let (which, nodes, sizes, network) = (Which::Allreduce, vec![16], vec![1 << 20], Network::default());
        let (algorithms, protocols) = (vec![algorithm], Vec::new());
        let asked = Collective { which, algorithms, protocols, nodes, sizes, network, vary: Vary::No };
        let itself = asked.records(&fabrics, &Unwatched).unwrap();
        let job = |name: &str, algorithm: &str| {
            format!(
                "[[job]]\nname = {name:?}\ncollective = \"allreduce\"\nalgorithm = {algorithm:?}\nsize = \"1MiB\"\n"
            )
        };
        let text = format!("nodes = 32\n{}ranks = 16\n{}nodes = \"16-31\"\n", job("a", name), job("b", "tree"));
        let records = told(&text, "hgx-h100-rail");
        assert_eq!(records[0].number("alone_us"), itself[0].number("latency_us"), "{name}");
        assert!(number(&records[0], "slowdown") < 1.001, "hosts of their own and rails at full bisection: {records:?}");
    }
}

#[test]
fn gpus_of_one_host_may_be_of_two_jobs() {
    let job = |name: &str, more: &str| {
        format!(
            "[[job]]\nname = {name:?}\ncollective = \"allreduce\"\nsize = \"1MiB\"\nranks = 8\ngpus_per_node = 4\n{more}"
        )
    };
    let text = format!("nodes = 16\n{}{}", job("a", "repeat = 2\n"), job("b", "for_us = 1000\n"));
    let records = told(&text, "hgx-h100-rail");
    let lists: Vec<_> = records[..2].iter().map(|record| record.text("node_list")).collect();
    assert_eq!(lists, [Some("0-3,8-11"), Some("4-7,12-15")]);
    assert_eq!(number(&records[0], "rounds"), 2.0);
    assert!(number(&records[1], "rounds") > 1.0 && number(&records[1], "alone_us") >= 1000.0, "{records:?}");
}

#[test]
fn a_sites_own_network_takes_jobs_by_the_names_of_its_hosts() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/tree2");
    let fabric = format!("{data}/ibnetdiscover.txt+{data}/opensm-lfts.dump");
    let text = format!("{}{}", exchange("a", "host[0-2]-0", "64KiB"), exchange("b", "host[0-2]-1", "64KiB"));
    for record in &told(&text, &fabric)[..2] {
        assert!(number(record, "slowdown") >= 1.0 && number(record, "leaves") == 3.0, "{record:?}");
    }
}

#[test]
fn the_same_plan_gives_the_same_answer() {
    let text = include_str!("../../../../plans/two-jobs.toml");
    let strip = |records: Vec<Record>| records.into_iter().map(|record| record.without("wall_s")).collect::<Vec<_>>();
    let (one, other) = (strip(told(text, "ib-ndr-fat-tree2")), strip(told(text, "ib-ndr-fat-tree2")));
    assert_eq!(one, other);
    for record in &one[..2] {
        assert!(number(record, "message_p99_us") >= number(record, "message_median_us"), "{record:?}");
        assert!(number(record, "slowdown") > 0.99, "{record:?}");
    }
}

#[test]
fn a_mistake_names_file_line_and_job() {
    let stuck = file("stuck.goal", "num_ranks 2\nrank 0 {\n  recv 8b from 1\n}\nrank 1 { }");
    let circle = file("circle.goal", "num_ranks 1\nrank 0 {\n a: calc 1\n b: calc 1\n a requires b\n b requires a\n}");
    let job = |more: &str| format!("nodes = 8\n[[job]]\nname = \"a\"\n{more}");
    let two = |one: &str, other: &str| format!("nodes = 8\n{}{}", exchange("a", one, "8"), exchange("b", other, "8"));
    let collective = "collective = \"allreduce\"\nalgorithm = \"ring\"\nsize = \"64\"\n";
    let cases = [
        (two("0-3", "3-5"), "plan.toml:13:9: job \"b\": nodes: node 3 is a node of job \"a\""),
        (two("0-3", "5-9"), "plan.toml:13:9: job \"b\": nodes: \"5-9\" is no node or range: must be 0 to 7"),
        (two("0-3", "4,4"), "node 4 is listed twice"),
        (two("0-3", "x1"), "no host is called \"x1\"; one is "),
        (
            job(&format!("{collective}ranks = 9\n")),
            "job \"a\": ranks: 9 nodes, 1 of each host: 8 hosts are free, 9 are needed",
        ),
        (job(&format!("{collective}ranks = 4\nload = 0.5\n")), "plan.toml:8:8: job[0].load: collective has none"),
        (job(&format!("{collective}ranks = 4\nrepeat = 0\n")), "job[0].repeat: is 0 (allowed: 1 to"),
        (job(&format!("{collective}ranks = 4\nplacement = \"near\"\n")), "contiguous, packed, spread"),
        (
            job(&format!("{collective}placement = [0, 3]\n")),
            "plan.toml:7:13: placement: invalid type: sequence, expected a string",
        ),
        (
            job("collective = \"allreduce\"\nalgorithm = \"magic\"\nsize = \"64\"\nranks = 4\n"),
            "job \"a\": collective:",
        ),
        (
            job("ranks = 4\n"),
            "plan.toml:2:1: job[0].schedule: needs one kind of work (allowed: schedule, collective, traffic, model, program)",
        ),
        (job("collective = \"allreduce\"\nsize = [64]\nranks = 4\n"), "must be bytes, such as \"64KiB\" or 65536"),
        (job("dance = 3\n"), "plan.toml:4:1: unknown field `dance`"),
        (job("traffic = \"uniform\"\nsize = \"64\"\nload = 0.5\nranks = 4\n"), "job[0].messages: is missing"),
        (
            job("traffic = \"uniform\"\nsize = \"websrch\"\nload = 0.5\nranks = 4\nmessages = 2\n"),
            "is no size and no distribution; must be one of websearch",
        ),
        (
            job("traffic = \"incast:9\"\nsize = \"64\"\nload = 0.5\nranks = 4\nmessages = 2\n"),
            "job \"a\": traffic: incast:9 among 4",
        ),
        (job(&format!("schedule = {stuck:?}\n")), "stuck.goal:3"),
        (job(&format!("schedule = {circle:?}\n")), "circle.goal:"),
        (job("schedule = \"nothing.goal\"\n"), "plan.toml:4:12: job \"a\": schedule: nothing.goal: cannot be read"),
        ("title = \"x\"\n".to_owned(), "job: there is none"),
        (exchange("a", "0-3", "8"), "how many nodes ib-qdr has is not said: nodes = 64, or --nodes 64"),
        (two("0-3", "4-7").replace("\"b\"", "\"a\""), "job[1].name: \"a\" is taken"),
    ];
    for (text, wanted) in cases {
        let error = answers(&JOBS, &text, "ib-qdr").expect_err(&text);
        assert!(error.contains(wanted), "{text}\n{error}\nwanted: {wanted}");
    }
    // Bytes need no unit.
    let [text, number_of] = ["\"64\"", "64"].map(|size| {
        told(&job(&format!("{collective}ranks = 4\n")).replace("size = \"64\"", &format!("size = {size}")), "ib-qdr")
    });
    assert_eq!(number(&text[0], "latency_us"), number(&number_of[0], "latency_us"));
    let shared = two("0-3", "2-5").replace("size", "shared = true\nsize");
    let records = told(&shared, "ib-qdr");
    assert!(number(&records[0], "slowdown") >= 1.0, "{records:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Routes go by destination, so that others can take nothing but time on links away. They may change the order in
    /// which a job's own packets pass, which ends a job earlier by a few packets at most.
    #[test]
    fn nobody_is_faster_beside_others(seed in 0u64..1000, ranks in 2u32..10, kilobytes in 1u32..65, load in 0.1f64..1.0) {
        let text = format!(
            "nodes = 64\n[[job]]\nname = \"a\"\ncollective = \"allreduce\"\nalgorithm = \"ring\"\nsize = \"{kilobytes}KiB\"\n\
             ranks = {ranks}\nplacement = \"random\"\nseed = {seed}\n\
             [[job]]\nname = \"b\"\ntraffic = \"uniform\"\nsize = \"8KiB\"\nload = {load}\nmessages = 10\nranks = 20\n\
             placement = \"random\"\nseed = {seed}\n"
        );
        for record in &told(&text, "ib-ndr-fat-tree2")[..2] {
            // Four packets of 4 KiB at 50 GB/s take 0.33 us.
            let (alone, beside) = (number(record, "alone_us"), number(record, "latency_us"));
            prop_assert!(beside >= alone - 0.33, "{:?}", record);
            prop_assert!(number(record, "efficiency") <= 1.0 + 1e-9, "{:?}", record);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(nodes = [0-9]{1,3}\n)?(\\[\\[job\\]\\]\n((name|schedule|size|ranks|load|nodes) = (\"a\"|[0-9.e]{1,4}|\\[|x)\n){0,5}){0,2}.{0,20}") {
        let _ = Plan::parse("p.toml", &text);
    }
}

/// With scale-up switches as nodes the domain is still one: what it allows, not what one adapter does, bounds the
/// collective.
#[test]
fn a_collective_by_scale_up_switches_is_bound_by_its_domain() {
    let nvls = Collective {
        which: Which::Allreduce,
        algorithms: vec![Algorithm::Nvls],
        protocols: Vec::new(),
        nodes: vec![8],
        sizes: vec![32 << 20],
        network: NETWORK,
        vary: Vary::No,
    };
    let record = nvls.records(&["hgx-h100-rail".to_owned()], &Unwatched).unwrap().remove(0);
    // 2 x 7/8 of the bytes in the time of 1 + 1/8 of them over 370.8 GB/s; the switch reaches 85 % of it.
    let bound = number(&record, "bound_bus_bandwidth_MBps");
    assert!((480e3..=491e3).contains(&bound), "{record:?}");
    assert!(record.text("limiting_resource").is_some_and(|name| name.contains("NVLink")), "{record:?}");
    assert!(number(&record, "efficiency") <= 1.0);
}

fn collnet(fabric: &str, nodes: u32, bytes: u64) -> Record {
    by(Algorithm::CollNet, fabric, (nodes, bytes), NETWORK)
}

pub(crate) fn by(algorithm: Algorithm, fabric: &str, (nodes, bytes): (u32, u64), network: Network) -> Record {
    let asked = Collective {
        which: Which::Allreduce,
        algorithms: vec![algorithm],
        protocols: Vec::new(),
        nodes: vec![nodes],
        sizes: vec![bytes],
        network,
        vary: Vary::No,
    };
    asked.records(&[fabric.to_owned()], &Unwatched).unwrap().remove(0)
}

/// Both switches combine: NVLink carries each byte once and a block of it, an adapter its block. Closed form, counted
/// load and the bound of a log agree, and the simulation comes near them.
#[test]
fn nvls_across_hosts_combines_in_the_switches_of_both_networks() {
    let network = Network { capacities: hotlink_study::options::Rates::Theoretical, ..NETWORK };
    let long = by(Algorithm::Nvls, "hgx-h100-sharp", (32, 256 << 20), network.clone());
    let bound = number(&long, "bound_bus_bandwidth_MBps");
    let expected = |rate: f64| 0.85 * rate * 2.0 * (31.0 / 32.0) / (1.0 + 1.0 / 8.0);
    let measured = by(Algorithm::Nvls, "hgx-h100-sharp", (32, 32 << 20), NETWORK);
    let counted = number(&measured, "bound_bus_bandwidth_MBps") / expected(370.8e3);
    assert!((counted - 1.0).abs() < 1e-3, "{measured:?}");
    // Headers of the network's packets bound no NVLink, at theoretical rates either.
    assert!((bound / expected(450e3) - 1.0).abs() < 1e-3, "{bound}");
    assert!(long.text("limiting_resource").is_some_and(|name| name.contains("NVLink")), "{long:?}");
    assert!((0.6..=1.0).contains(&number(&long, "efficiency")), "{long:?}");
    let row = Record::new().with("benchmark", "allreduce").with("size_B", 256u64 << 20).with("algorithm", "nvls");
    let told = Told { gpus: Some(32), capacities: network.capacities, ..Told::default() };
    let log = Bus::open("hgx-h100-sharp", &told).unwrap().add(row.with("bus_bandwidth_MBps", 480e3)).unwrap();
    assert!((number(&log, "bound_bus_bandwidth_MBps") / expected(450e3) - 1.0).abs() < 1e-3, "{log:?}");
    // Without switches that combine between hosts, trees take their place: a host in them carries twice as much.
    let trees = by(Algorithm::NvlsTree, "hgx-h100-pod", (32, 256 << 20), NETWORK);
    assert!(number(&trees, "bus_bandwidth_MBps") < 0.75 * number(&long, "bus_bandwidth_MBps"), "{trees:?}");
    // One host has nothing between hosts.
    let [one, same] =
        ["hgx-h100-sharp", "hgx-h100-pod"].map(|fabric| by(Algorithm::Nvls, fabric, (8, 1 << 20), NETWORK));
    assert_eq!(number(&one, "latency_us"), number(&same, "latency_us"));
    // A leaf that combines at a fifth of a link's rate bounds both ways to combine there.
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/fabrics/hgx-h100-sharp.toml");
    let text = std::fs::read_to_string(file).unwrap().replace("rate = { value = 47.5", "rate = { value = 10");
    let slow = std::env::temp_dir().join(format!("hotlink-{}-slow-sharp.toml", std::process::id()));
    std::fs::write(&slow, text.replace("uncertainty = [40, 50]", "uncertainty = [5, 50]")).unwrap();
    let name = slow.display().to_string();
    for algorithm in [Algorithm::Nvls, Algorithm::CollNet] {
        let record = by(algorithm, &name, (32, 16 << 20), NETWORK);
        assert!(record.text("limiting_resource").is_some_and(|name| name.contains("reduction in leaf")), "{record:?}");
        let row = Record::new().with("benchmark", "allreduce").with("algorithm", algorithm.name());
        let log = Bus::open(&name, &told).unwrap().add(row.with("bus_bandwidth_MBps", 100e3)).unwrap();
        let both = [&record, &log].map(|record| number(record, "bound_bus_bandwidth_MBps"));
        assert!((both[0] / both[1] - 1.0).abs() < 1e-3, "{both:?}");
        assert_eq!(log.text("limiting_resource"), Some("network reduction"));
    }
    std::fs::remove_file(&slow).unwrap();
}

/// A job by itself is bound and held back by what the collective alone is, by the same names.
#[test]
fn jobs_name_what_limits_them_as_collectives_do() {
    for (algorithm, name) in [(Algorithm::Ring, "ring"), (Algorithm::Nvls, "nvls"), (Algorithm::CollNet, "collnet")] {
        let alone = by(algorithm, "hgx-h100-sharp", (32, 1 << 20), NETWORK);
        let plan = format!(
            "nodes = 32\n[[job]]\nname = \"a\"\ncollective = \"allreduce\"\nsize = \"1MiB\"\nranks = 32\nalgorithm = {name:?}\n"
        );
        let records = told(&plan, "hgx-h100-sharp");
        assert_eq!(number(&records[0], "latency_us"), number(&alone, "latency_us"), "{name}");
        assert_eq!(records[0].text("alone_limiter"), alone.text("limiter"), "{name}");
        assert_eq!(records[1].text("limiter"), alone.text("limiter"), "{name}");
    }
    // Traffic waits between its messages, which is no processor's work.
    let text = "nodes = 32\n[[job]]\nname = \"a\"\ntraffic = \"uniform\"\nsize = \"32KiB\"\nload = 0.2\nfor_us = 30\nranks = 16\n";
    let limiter = told(text, "hgx-h100-sharp")[0].text("alone_limiter").map(str::to_owned);
    assert!(limiter.as_ref().is_some_and(|name| !name.contains("processor")), "{limiter:?}");
}

/// One leaf a rail, leaves under spines, and groups of these under cores: each level is as far and combines once more.
#[test]
fn rails_switches_combine_at_every_level_of_the_network() {
    let sharp = |nodes| number(&collnet("hgx-h100-sharp:radix=16", nodes, 8), "latency_us");
    let [leaf, spine, core] = [64, 256, 1024].map(sharp);
    assert!(spine > leaf && ((core - spine) / (spine - leaf) - 1.0).abs() < 1e-3, "{leaf} {spine} {core}");
}

/// A job by itself takes the time of the collective. Jobs on other rails of the same hosts, with switches of their own,
/// take nothing from each other.
#[test]
fn jobs_combine_in_the_switches_of_rails() {
    let job = |name: &str, rest: &str| {
        let what = "collective = \"allreduce\"\nsize = \"1MiB\"";
        format!("[[job]]\nname = {name:?}\n{what}\n{rest}\n")
    };
    let by_rails = "algorithm = \"collnet\"";
    let all = format!("nodes = 256\n{}", job("whole", &format!("ranks = 256\n{by_rails}")));
    let alone = number(&told(&all, "hgx-h100-sharp:radix=16")[0], "latency_us");
    assert_eq!(alone, number(&collnet("hgx-h100-sharp:radix=16", 256, 1 << 20), "latency_us"));
    let half = |name| job(name, &format!("ranks = 32\ngpus_per_node = 4\n{by_rails}"));
    let records = told(&format!("nodes = 64\n{}{}", half("a"), half("b")), "hgx-h100-sharp");
    let [a, b] = [0, 1].map(|at| (number(&records[at], "latency_us"), number(&records[at], "slowdown")));
    assert_eq!(a, b, "{records:?}");
    assert_eq!(a.1, 1.0, "{records:?}");
    // Hosts of every other leaf, with a job on the scale-up switches; in groups under cores.
    let spread = job("c", &format!("ranks = 256\nplacement = \"spread\"\n{by_rails}"));
    let nvls = job("d", "ranks = 128\nplacement = \"spread\"\nalgorithm = \"nvls\"");
    for record in told(&format!("nodes = 1024\n{spread}{nvls}"), "hgx-h100-sharp:radix=16") {
        assert!(number(&record, "efficiency") <= 1.0, "{record:?}");
        assert!(record.text("job") == Some("all") || number(&record, "slowdown") >= 0.999, "{record:?}");
    }
    let other = job("e", &format!("nodes = \"0-3,12-15\"\n{by_rails}"));
    let wrong = answers(&JOBS, &format!("nodes = 64\n{other}"), "hgx-h100-sharp").unwrap_err();
    assert!(wrong.contains("must be the same GPUs of each host"), "{wrong}");
}

/// Rank after rank along a rail: no message of a ring leaves it, so that both rings of a job have links of their own.
#[test]
fn jobs_are_placed_by_rail() {
    let spec = hotlink_fabric::catalog::load("hgx-h100-rail").unwrap();
    let fabric = hotlink_fabric::Fabric::build(&spec, 32).unwrap();
    let of = |count| nodes_of(&fabric, &spec, count, Chosen::By(Placement::Rail, 1));
    assert_eq!(of(6), Ok(vec![0, 8, 16, 24, 1, 9]));
    assert!(of(33).unwrap_err().contains("32 are free"));
    let tree = hotlink_fabric::catalog::load("ib-ndr-fat-tree2").unwrap();
    let fabric = hotlink_fabric::Fabric::build(&tree, 32).unwrap();
    assert!(nodes_of(&fabric, &tree, 2, Chosen::By(Placement::Rail, 1)).unwrap_err().contains("no rails"));
}

/// A collective's schedule goes by the hosts of its GPUs, not by the order of its ranks.
#[test]
fn ranks_that_are_dealt_over_hosts_take_what_ranks_in_order_of_hosts_take() {
    let sorted = "0-3,8-11,16-19,24-27";
    let dealt = "0,8,16,24,1,9,17,25,2,10,18,26,3,11,19,27";
    for (fabric, algorithm) in [
        ("hgx-h100-rail", "ring"),
        ("hgx-h100-rail", "tree"),
        ("hgx-h100-rail", "hierarchical"),
        ("hgx-h100-rail", "nvls-tree"),
        ("hgx-h100-sharp", "collnet"),
    ] {
        let one = |nodes: &str| {
            let what = format!("collective = \"allreduce\"\nalgorithm = {algorithm:?}\nsize = \"256KiB\"");
            told(&format!("nodes = 32\n[[job]]\nname = \"a\"\n{what}\nnodes = {nodes:?}\n"), fabric).remove(0)
        };
        let [plain, dealt] = [one(sorted), one(dealt)];
        assert_eq!(number(&plain, "latency_us"), number(&dealt, "latency_us"), "{algorithm}");
        assert_eq!(number(&plain, "bound_latency_us"), number(&dealt, "bound_latency_us"), "{algorithm}");
        assert!(number(&dealt, "efficiency") <= 1.0);
        // Records keep the order of ranks.
        assert!(dealt.text("node_list").is_some_and(|list| list.starts_with("0,8,16,24,1")), "{dealt:?}");
    }
    let of = |nodes: &str| {
        let what = "collective = \"allreduce\"\nsize = \"64KiB\"";
        answers(&JOBS, &format!("nodes = 32\n[[job]]\nname = \"a\"\n{what}\nnodes = {nodes:?}\n"), "hgx-h100-rail")
    };
    of("0-6,8,7,9-15").unwrap();
    let uneven = of("0-6,8-9").unwrap_err();
    assert!(uneven.contains("nodes: 7 GPUs of host 0 (nodes 0-6) and 2 GPUs of host 1 (nodes 8-9)"), "{uneven}");
}

/// Groups of training follow the ranks; within a group, the collective goes by hosts.
#[test]
fn groups_of_training_go_by_the_hosts_of_their_gpus() {
    let step = |groups: &str, nodes: &str| {
        let text = training(&format!("batch = 4\n{groups}"))
            .replace("[job.model]", &format!("nodes = {nodes:?}\n[job.model]"));
        told(&text, "hgx-h100-rail").remove(0)
    };
    let [sorted, dealt] = ["0-3,8-11", "0,8,1,9,2,10,3,11"].map(|nodes| step("tensor = 8", nodes));
    assert_eq!(number(&sorted, "step_us"), number(&dealt, "step_us"));
    // A group of four of one host each is apart where ranks are dealt: it pays for the network.
    let [sorted, dealt] = ["0-3,8-11", "0,8,1,9,2,10,3,11"].map(|nodes| step("tensor = 4\ndata = 2", nodes));
    assert!(number(&dealt, "tensor_us") > number(&sorted, "tensor_us"), "{sorted:?} {dealt:?}");
}

/// Where the first rails are taken, the next ones in a row will do.
#[test]
fn jobs_by_rail_take_rails_that_are_free() {
    let job = |name: &str, ranks: u32, each: u32| {
        let what = "collective = \"allreduce\"\nsize = \"64KiB\"\nplacement = \"rail\"";
        format!("[[job]]\nname = {name:?}\n{what}\nranks = {ranks}\ngpus_per_node = {each}\n")
    };
    let text = format!("nodes = 32\n{}{}", job("a", 4, 1), job("b", 16, 4));
    let records = told(&text, "hgx-h100-rail");
    let list = "1,9,17,25,2,10,18,26,3,11,19,27,4,12,20,28";
    assert_eq!(records[1].text("node_list"), Some(list), "{:?}", records[1]);
}

/// A plan that trains a small model.
fn training(rest: &str) -> String {
    format!(
        "nodes = 16\n[[job]]\nname = \"train\"\n[job.model]\nlayers = 8\nhidden = 256\nsequence = 64\nflops = 1e12\n{rest}\n"
    )
}

/// What no memory holds is refused at once, with what would help.
#[test]
fn a_step_of_too_many_operations_says_what_has_fewer() {
    let model = "nodes = 1024\n[[job]]\nname = \"large\"\n[job.model]\nlayers = 60\nhidden = 10240\nsequence = 2048\n\
                 flops = 4e14\ntensor = 8\npipeline = 4\ndata = 32\n";
    let refused = |batch: u32| {
        answers(&JOBS, &format!("{model}batch = {batch}\nmicro_batch = 1\n"), "hgx-h100-rail").unwrap_err()
    };
    let many = refused(2048);
    assert!(many.contains("more than 100000000; most reduce gradients: fewer layers"), "{many}");
    let passes = refused(2 << 22);
    assert!(passes.contains("most are passes: a smaller `batch`"), "{passes}");
}

#[test]
fn a_pipeline_has_the_bubble_of_its_stages() {
    let told = told(&training("batch = 6\npipeline = 4"), "hgx-h100-rail");
    let record = &told[0];
    // A token's layer: 24 h^2 + 4 s h operations; backward twice that.
    let layer = 64.0 * (24.0 * 256.0 * 256.0 + 4.0 * 64.0 * 256.0) / 1e12 * 1e6;
    let passes = 3.0 * 2.0 * layer;
    let near = |key: &str, due: f64| assert!((number(record, key) - due).abs() < 1e-3, "{key}: {record:?}");
    near("compute_us", 6.0 * passes);
    near("bubble_us", 3.0 * passes);
    for key in ["exposed_tensor_us", "exposed_expert_us", "exposed_data_us", "tensor_us", "expert_us"] {
        near(key, 0.0);
    }
    // Messages cross three borders each way before and after all else, and no other one is waited for.
    let exposed = number(record, "exposed_us");
    assert!(exposed > 0.0 && exposed < 9.0 * passes, "{exposed}");
    near("exposed_pipeline_us", exposed);
    near("step_us", 9.0 * passes + exposed);
    near("alone_us", number(record, "latency_us"));
    assert_eq!(record.text("work"), Some("training"));
}

/// A GPU may compute for days; what a run has no time for is an error.
#[test]
fn long_computing_is_as_long_as_it_is() {
    let of = |flops: &str| {
        let text = training("batch = 6\npipeline = 4").replace("flops = 1e12", &format!("flops = {flops}"));
        answers(&JOBS, &text, "hgx-h100-rail")
    };
    let (quick, slow) = (of("1e12").unwrap(), of("1e5").unwrap());
    for key in ["compute_us", "bubble_us"] {
        let [quick, slow] = [&quick, &slow].map(|records| number(&records[0], key));
        assert!((slow / quick / 1e7 - 1.0).abs() < 1e-6, "{key}: {quick} {slow}");
    }
    let wrong = of("1").unwrap_err();
    assert!(wrong.contains("computes for more than 2^62 ps (53 days) a step"), "{wrong}");
}

#[test]
fn a_pass_waits_for_its_collectives_as_they_are_by_themselves() {
    let mut chosen = Vec::new();
    for (sequence, fabric) in
        [(64, "hgx-h100-rail"), (64, "gb200-nvl72"), (16384, "hgx-h100-rail"), (16384, "mi300x-rail")]
    {
        let text = training("batch = 3\ntensor = 8").replace("sequence = 64", &format!("sequence = {sequence}"));
        let told = told(&text, fabric);
        let record = &told[0];
        let one = allreduce(fabric, 8, sequence * 256 * 2, None);
        let took = number(&one, "latency_us");
        assert!((number(record, "tensor_us") - took).abs() < 1e-6, "{fabric}: {one:?} {record:?}");
        for key in WAY {
            assert_eq!(record.text(&format!("tensor_{key}")), one.text(key), "{key}");
        }
        chosen.push(one.text("algorithm").unwrap_or_default().to_owned());
        // Two a layer each way, three passes of eight layers.
        assert!((number(record, "exposed_tensor_us") - 96.0 * took).abs() < 1e-3);
        assert!((number(record, "exposed_us") - 96.0 * took).abs() < 1e-3);
        // All of them are over the domain's links: none of the step's own messages are.
        assert!(record.text("shared_link").is_some_and(|link| link.contains("GPU")), "{record:?}");
    }
    assert!(chosen.iter().any(|name| name == "ring") && chosen.iter().any(|name| name == "nvls"), "{chosen:?}");
}

/// Keys of what was chosen.
const WAY: [&str; 4] = ["algorithm", "algorithm_by", "protocol", "protocol_by"];

/// An allreduce by its name, as asked for or as NCCL chooses.
fn allreduce(fabric: &str, nodes: u32, bytes: u64, algorithm: Option<Algorithm>) -> Record {
    let one = Collective {
        which: Which::Allreduce,
        algorithms: algorithm.into_iter().collect(),
        protocols: Vec::new(),
        nodes: vec![nodes],
        sizes: vec![bytes],
        network: NETWORK,
        vary: Vary::No,
    };
    one.records(&[fabric.to_owned()], &Unwatched).unwrap().remove(0)
}

/// With nothing that hides it, the reduction of gradients takes as long as the collective does by its name.
#[test]
fn gradients_are_reduced_as_the_collective_is_by_its_name() {
    // A layer of width 256 has 12 h^2 parameters of 4 B.
    let bytes = 12 * 256 * 256 * 4;
    let step = |data: u32, fabric: &str, rest: &str| {
        let text = training(&format!("batch = {data}\ndata = {data}\noverlap = false"));
        let text = text.replace("layers = 8", "layers = 1").replace("[job.model]", &format!("{rest}[job.model]"));
        told(&text, fabric).remove(0)
    };
    let mut chosen = Vec::new();
    for (data, fabric, asked) in [
        (16, "hgx-h100-rail", None),
        (8, "hgx-h100-rail", None),
        (16, "hgx-h100-sharp", None),
        (16, "hgx-h100-sharp", Some(Algorithm::CollNet)),
        (16, "hgx-h100-rail", Some(Algorithm::Ring)),
        (16, "hgx-h100-rail", Some(Algorithm::Tree)),
        (16, "hgx-h100-rail", Some(Algorithm::Hierarchical)),
    ] {
        let rest = asked.map_or(String::new(), |own| format!("algorithm = {:?}\n", own.name()));
        let (record, one) = (step(data, fabric, &rest), allreduce(fabric, data, bytes, asked));
        let share = number(&record, "exposed_data_us") / number(&one, "latency_us");
        // What happens at the same time may come in another order: switches of rails serve it in that order.
        let near = if asked == Some(Algorithm::CollNet) { 0.03 } else { 0.01 };
        assert!((share - 1.0).abs() < near, "{fabric}: {share} {record:?}");
        for key in WAY {
            assert_eq!(record.text(&format!("data_{key}")), one.text(key), "{key} on {fabric}");
        }
        assert!(number(&record, "alone_efficiency") <= 1.000_001, "{record:?}");
        chosen.push(one.text("algorithm").unwrap_or_default().to_owned());
    }
    assert!(chosen[..3].iter().collect::<std::collections::BTreeSet<_>>().len() > 1, "{chosen:?}");
}

/// Groups of a part of a host share its switch. Where hosts have different numbers of a group's GPUs, it has rings and
/// trees.
#[test]
fn groups_of_training_take_what_their_hosts_allow() {
    let step = |groups: &str, rest: &str| {
        let text = training(&format!("batch = 4\n{groups}")).replace("sequence = 64", "sequence = 16384");
        let text = text.replace("hidden = 256", "hidden = 384").replace("[job.model]", &format!("{rest}\n[job.model]"));
        told(&text, "hgx-h100-rail").remove(0)
    };
    let half = step("tensor = 4\ndata = 4", "");
    let one = allreduce("hgx-h100-rail", 4, 16384 * 384 * 2, None);
    assert_eq!((half.text("tensor_algorithm"), one.text("algorithm")), (Some("nvls"), Some("nvls")));
    let share = number(&half, "tensor_us") / number(&one, "latency_us");
    // Two groups at once: their packets meet in the switch.
    assert!((1.0..1.05).contains(&share), "{share}");
    let uneven = step("tensor = 3", "nodes = \"0,1,8\"");
    assert_eq!(uneven.text("tensor_algorithm"), Some("ring"));
    assert_eq!(uneven.text("tensor_algorithm_by"), Some("NCCL's model"));
    assert_eq!(uneven.text("tensor_protocol_by"), Some("NCCL's model"));
    // Short sums among four hosts, of which one has three of the GPUs: two levels of a tree, and six steps of a ring.
    let short = |asked: &str| {
        let text = training(&format!("batch = 4\ntensor = 6\n{asked}")).replace("hidden = 256", "hidden = 384");
        let text = text.replace("nodes = 16", "nodes = 32");
        answers(&JOBS, &text.replace("[job.model]", "nodes = \"0,1,2,8,16,24\"\n[job.model]"), "hgx-h100-rail")
    };
    let [chosen, tree, ring] =
        ["", "tensor_algorithm = \"tree\"", "tensor_algorithm = \"ring\""].map(|asked| short(asked).unwrap().remove(0));
    let words = ["tensor_algorithm", "tensor_algorithm_by"].map(|key| chosen.text(key).unwrap_or_default());
    assert_eq!(words, ["ring", "NCCL's model"]);
    assert_eq!(number(&chosen, "tensor_us"), number(&ring, "tensor_us"));
    assert!(number(&ring, "tensor_us") < number(&tree, "tensor_us"), "{ring:?} {tree:?}");
    let refused = short("tensor_algorithm = \"hierarchical\"").unwrap_err();
    assert!(refused.contains("must be as many of each, or ring or tree"), "{refused}");
    // Of the two groups, one is of one host and the other of two.
    let several = step("tensor = 2\ndata = 2", "nodes = \"0,1,2,8\"");
    assert_eq!(several.text("tensor_algorithm_by"), Some("NCCL's model"), "{several:?}");
    let by = several.text("tensor_algorithm").unwrap_or_default();
    assert!(by == "several" && several.get("tensor_collectives").is_some(), "{several:?}");
}

#[test]
fn what_is_asked_of_a_models_collectives_is_for_those_that_have_it() {
    let text = |job: &str, model: &str| {
        training(&format!("batch = 4\n{model}")).replace("[job.model]", &format!("{job}\n[job.model]"))
    };
    let run = |job: &str, model: &str| answers(&JOBS, &text(job, model), "hgx-h100-rail").map(|mut all| all.remove(0));
    let groups = "tensor = 4\ndata = 4\nexperts = 4\nexpert = 2";
    let all = run("algorithm = \"ring\"\nprotocol = \"ll128\"", groups).unwrap();
    let word = |record: &Record, key: &str| record.text(key).unwrap_or_default().to_owned();
    for kind in ["tensor", "data"] {
        assert_eq!(word(&all, &format!("{kind}_algorithm")), "ring");
        assert_eq!(word(&all, &format!("{kind}_protocol")), "ll128");
        assert_eq!(word(&all, &format!("{kind}_protocol_by")), "asked");
    }
    assert_eq!(
        (word(&all, "expert_algorithm"), word(&all, "expert_algorithm_by")),
        ("pairwise".into(), "default".into())
    );
    assert_ne!(word(&all, "expert_protocol_by"), "asked");
    // A key of the model is for one kind, before that of the job.
    let own = run("algorithm = \"ring\"", &format!("{groups}\ntensor_algorithm = \"nvls\"\nexpert_protocol = \"ll\""))
        .unwrap();
    assert_eq!((word(&own, "tensor_algorithm"), word(&own, "data_algorithm")), ("nvls".into(), "ring".into()));
    assert_eq!((word(&own, "expert_protocol"), word(&own, "expert_protocol_by")), ("ll".into(), "asked".into()));
    for (job, model, due) in [
        (
            "",
            "tensor = 8\ntensor_algorithm = \"nvls-tree\"",
            "plan.toml:12:20: job \"train\": tensor_algorithm: nvls-tree: 8 GPUs are one domain",
        ),
        (
            "",
            "tensor = 8\ndata = 2\ndata_algorithm = \"nvls\"",
            "data_algorithm: nvls: no two of its 2 GPUs share a scale-up switch",
        ),
        (
            "algorithm = \"collnet\"",
            "tensor = 8\ndata = 2",
            "plan.toml:4:13: job \"train\": algorithm: collnet: the switches between its domains do not combine data",
        ),
        (
            "algorithm = \"pairwise\"",
            "tensor = 8",
            "plan.toml:4:13: job[0].algorithm: pairwise: no collective of the model has it",
        ),
        ("algorithm = \"rings\"", "tensor = 8", "job[0].algorithm: is \"rings\": must be one of ring, tree,"),
        ("protocol = \"ll256\"", "tensor = 8", "job[0].protocol: is \"ll256\": must be one of simple, ll128, ll"),
        (
            "",
            "tensor = 8\ntensor_algorithm = \"pairwise\"",
            "plan.toml:12:20: job[0].model.tensor_algorithm: is \"pairwise\" (allowed: ring, tree,",
        ),
        (
            "",
            "tensor = 8\nexpert_protocol = \"ll256\"",
            "model.expert_protocol: is \"ll256\" (allowed: simple, ll128, ll)",
        ),
        (
            "",
            "tensor = 4\ndata = 4\nexperts = 4\nexpert = 2\nexpert_protocol = \"ll128\"",
            "expert_protocol: --protocol ll128: pairwise has simple, ll",
        ),
        (
            "",
            "tensor = 8\ntensor_algorithm = \"nvls\"\ntensor_protocol = \"ll\"",
            "tensor_algorithm: --protocol ll: no algorithm of it runs here",
        ),
    ] {
        let told = run(job, model).unwrap_err();
        assert!(told.contains(due), "{told}");
    }
}

#[test]
fn gradients_that_are_reduced_early_are_hidden() {
    let step = |rest: &str| {
        let text = training(&format!("batch = 4\ntensor = 2\ndata = 4\nexperts = 4\nexpert = 2\n{rest}"));
        told(&text, "hgx-h100-rail").remove(0)
    };
    let [early, late] = [step("overlap = true"), step("overlap = false")];
    let exposed = |record: &Record| number(record, "exposed_data_us");
    assert!(exposed(&early) > 0.0 && exposed(&early) < exposed(&late), "{early:?} {late:?}");
    let parts = ["exposed_tensor_us", "exposed_expert_us", "exposed_pipeline_us", "exposed_data_us"];
    let sum: f64 = parts.iter().map(|key| number(&late, key)).sum();
    assert!((sum - number(&late, "exposed_us")).abs() < 1e-3);
    assert!(number(&late, "exposed_expert_us") > 0.0);
}

#[test]
fn what_a_model_gets_wrong_is_told_before_anything_runs() {
    for (text, fabric, due) in [
        // The place is the key's; a key that is left out has that of the table.
        (training("batch = 4\npipeline = 3"), "hgx-h100-rail", "plan.toml:5:10: job[0].model.layers: 8 for 3 stages"),
        (training("batch = 4"), "hgx-h100-rail", "plan.toml:4:1: job[0].model.data: 1 GPUs in all"),
        (training("batch = 4\ntensors = 2"), "hgx-h100-rail", "plan.toml:10:1: unknown field `tensors`"),
        (training("batch = \"four\""), "hgx-h100-rail", "plan.toml:9:9: batch: invalid type: string"),
        (training("batch = 4\ntensor = 2"), "ib-ndr-fat-tree2", "does not describe GPUs"),
        (
            training("batch = 4\ndata = 2").replace("[job.model]", "ranks = 3\n[job.model]"),
            "hgx-h100-rail",
            "says so itself",
        ),
    ] {
        let why = answers(&JOBS, &text, fabric).unwrap_err();
        assert!(why.contains(due) && why.contains("plan.toml:"), "{why}");
    }
}

/// The mean of a distribution is offered, and each message has a size of its own.
#[test]
fn traffic_may_have_messages_of_many_sizes() {
    let text = "nodes = 64\n[[job]]\nname = \"a\"\ntraffic = \"uniform\"\nsize = \"uniform:1KiB..3KiB\"\nload = 0.5\nranks = 8\n\
                messages = 50\n";
    let record = &told(text, "ib-ndr-fat-tree2")[0];
    assert_eq!((record.text("sizes"), number(record, "size_B")), (Some("uniform:1KiB..3KiB"), 2048.0));
    let mean = number(record, "bytes") / number(record, "messages");
    assert!((1900.0..2200.0).contains(&mean) && mean != 2048.0, "{mean}");
}

/// What limits a plan's run is one of its thread blocks, alone and as a job.
#[test]
fn the_busiest_thread_block_has_its_name() {
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../schedule/tests/data/ring.xml");
    // Processors are far slower than the network.
    let network = Network { overhead: Time::from_us(1000.0), ..NETWORK };
    let options = Options { bytes: Some(64 << 10), ..Options::default() };
    let asked = Scheduled { options, network: network.clone(), ..Scheduled::of(plan) };
    let alone = asked.run("ib-qdr", "schedule", &Unwatched).unwrap().remove(0);
    let text = format!("nodes = 2\n[[job]]\nname = \"a\"\nschedule = \"{plan}\"\nsize = \"64KiB\"\n");
    let job = answers(&Jobs { network, ..JOBS }, &text, "ib-qdr").unwrap().remove(0);
    for (record, key) in [(&alone, "limiter"), (&job, "alone_limiter")] {
        let name = record.text(key).unwrap_or_default();
        assert!(name.starts_with("thread block 0 of rank "), "{record:?}");
    }
}
