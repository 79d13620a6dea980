//! Plans of failures, and collectives meanwhile.

use hotlink_bench::{Record, Which};
use hotlink_fabric::network::{Channel, Resource, Vertex};
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_message::Comm;
use hotlink_port::{Port, Program};
use hotlink_sim::fault::{Condition, Fault};
use hotlink_study::options::Stack;
use hotlink_study::simulate::barrier::Barriers;
use hotlink_study::simulate::faults::{read, within};
use hotlink_study::simulate::request::{Benchmark, Request};
use hotlink_study::{Error, Seating, Unwatched, recorded_on_fabric};
use proptest::prelude::*;
use std::path::PathBuf;

const TREE: &str = "ib-ndr-fat-tree2";

fn fabric() -> Fabric {
    Fabric::build(&catalog::load(TREE).expect("in the catalog"), 80).expect("80 nodes")
}

/// A file of this text.
fn file(name: &str, text: &str) -> String {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, text).expect("written");
    file.display().to_string()
}

#[test]
fn a_plan_names_links_and_switches_as_reports_do() {
    let fabric = fabric();
    let link = fabric.resource_name(Resource::Channel(Channel(200)));
    let switch = fabric.resource_name(Resource::Vertex(Vertex(81)));
    let text = format!(
        "[[fault]]\nat_us = 2.5\nlink = {link:?}\nstate = \"degraded\"\nrate = 0.5\n\
         [[fault]]\nat_us = 1\nswitch = {switch:?}\nstate = \"down\"\n"
    );
    let faults = read(&file("named.toml", &text), &fabric).expect("a valid plan");
    let switch = Fault { at: Time(1_000_000), resource: Resource::Vertex(Vertex(81)), condition: Condition::Down };
    assert_eq!(faults[0], switch);
    assert_eq!(faults[1].condition, Condition::Degraded(0.5));
    assert_eq!(faults[1].resource, Resource::Channel(Channel(200)));
    // As `--fail` names it, by its ends.
    let ends = hotlink_study::failed::ends(&fabric, Channel(200));
    let text = format!("[[fault]]\nat_us = 1\nlink = {ends:?}\nstate = \"down\"\n");
    let by_ends = read(&file("ends.toml", &text), &fabric).expect("a valid plan");
    assert!(ends != link && by_ends[0].resource == Resource::Channel(Channel(200)), "{ends}, {link}");
}

#[test]
fn a_mistake_names_file_line_key_and_what_is_allowed() {
    let fabric = fabric();
    let cases = [
        ("[[fault]]\nat_us = 1\nlink = \"nowhere\"\nstate = \"up\"", "mistaken.toml:3:8: fault[0].link:"),
        ("[[fault]]\nat_us = -1\nswitch = \"x\"\nstate = \"up\"", "mistaken.toml:2:9: fault[0].at_us:"),
        ("[[fault]]\nat_us = 1\nlink = \"x\"\nstate = \"broken\"", "(allowed: down, up, degraded)"),
        ("[[fault]]\nat_us = 1\nlimk = \"x\"\nstate = \"up\"", "mistaken.toml:3:1: fault[0].limk: is unknown"),
        ("[[fault]]\nat_us = 1\nstate = \"degraded\"", "fault[0].rate:"),
        ("fault = 3", "mistaken.toml:1:9: fault: is not a list of tables"),
        ("", "there is none"),
        ("[[fault", "mistaken.toml:1:"),
    ];
    for (text, wanted) in cases {
        let all = read(&file("mistaken.toml", text), &fabric).expect_err(text);
        assert!(all.contains(wanted), "{text}: {all}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\[\\[fault\\]\\]\n)?((at_us|link|state|rate) = (\"down\"|[0-9.e]{1,4}|\\[|x)\n){0,5}.{0,20}") {
        let _ = within("p.toml", &text, &fabric());
    }
}

fn fault(at_us: f64, what: &str, state: &str) -> String {
    format!("[[fault]]\nat_us = {at_us:?}\n{what}\nstate = {state}\n")
}

/// A collective of 80 ranks of the message stack.
fn ask(which: Which, faults: Option<String>) -> Result<Record, Error> {
    let request = Request::new(Benchmark::collective(which), TREE);
    let stack = (which != Which::Barrier).then_some(Stack::Message);
    let request = Request { nodes: Some(vec![80]), sizes: vec![4096], stack, faults, ..request };
    request.run(&Unwatched).map(|mut records| records.remove(0))
}

/// A long broadcast between two nodes of one switch.
fn broadcast(faults: Option<String>) -> Record {
    let request = Request::new(Benchmark::collective(Which::Bcast), "gige");
    let request = Request { nodes: Some(vec![2]), sizes: vec![4 << 20], faults, ..request };
    request.run(&Unwatched).expect("two nodes").remove(0)
}

fn number(record: &Record, key: &str) -> f64 {
    record.number(key).unwrap_or_else(|| panic!("{key} of {record:?}"))
}

/// A spine is down: all find the other one, and bounds stay those of the whole fabric.
#[test]
fn every_collective_of_ranks_ends_where_a_path_is_left_and_tells_what_failures_cost() {
    let down = file("spine.toml", &fault(0.0, "switch = \"spine 0\"", "\"down\""));
    let collectives = [
        Which::Bcast,
        Which::Reduce,
        Which::Allreduce,
        Which::Allgather,
        Which::Alltoall,
        Which::Alltoallv,
        Which::Gather,
        Which::Scatter,
        Which::ReduceScatter,
    ];
    for which in collectives {
        let failed = ask(which, Some(down.clone())).expect("another spine");
        let (us, healthy) = (number(&failed, "latency_us"), number(&failed, "healthy_us"));
        assert!((number(&failed, "fault_cost_us") - (us - healthy)).abs() < 1e-9, "{failed:?}");
        assert!((number(&failed, "fault_slowdown") - us / healthy).abs() < 1e-12, "{failed:?}");
        assert!(failed.number("gone").is_none(), "{failed:?}");
        if matches!(which, Which::Allreduce | Which::Alltoall) {
            let whole = ask(which, None).expect("whole");
            assert_eq!(Some(healthy), whole.number("latency_us"), "{failed:?}");
            assert_eq!(whole.number("bound_latency_us"), failed.number("bound_latency_us"), "{failed:?}");
            assert_eq!(failed.text("algorithm"), whole.text("algorithm"));
            assert!(whole.number("healthy_us").is_none());
        }
    }
}

/// A link that fails while the ranks use it, and comes back: its packets are lost and sent again.
#[test]
fn what_fails_during_a_collective_is_lost_and_sent_again() {
    let whole = broadcast(None);
    let (end, us) = (number(&whole, "elapsed_us"), number(&whole, "latency_us"));
    let link = "link = \"GigE link node 1 -> switch\"";
    // The broadcast is the last that runs.
    let middle = end - us / 2.0;
    let text = fault(middle, link, "\"down\"") + &fault(middle + 5000.0, link, "\"up\"");
    let plan = file("during.toml", &text);
    let failed = broadcast(Some(plan.clone()));
    assert!(number(&failed, "lost") > 0.0 && failed.number("gone").is_none(), "{failed:?}");
    assert!(number(&failed, "fault_cost_us") > 4500.0, "for 5 ms nothing passes: {failed:?}");
    assert_eq!(failed.number("healthy_us"), whole.number("latency_us"));
    assert_eq!(broadcast(Some(plan)).text("trace_hash"), failed.text("trace_hash"));
    // After the end it does not matter.
    let late = broadcast(Some(file("late.toml", &fault(end + 1e4, link, "\"down\""))));
    assert_eq!(late.number("fault_cost_us"), Some(0.0), "{late:?}");
}

/// The same network at a quarter of a node's rate: that node's messages take four times as long.
#[test]
fn a_degraded_link_slows_a_long_broadcast_by_its_share() {
    let text = fault(0.0, "link = \"GigE link node 0 -> switch\"", "\"degraded\"\nrate = 0.25");
    let slow = broadcast(Some(file("quarter.toml", &text)));
    let ratio = number(&slow, "fault_slowdown");
    assert!((ratio - 4.0).abs() < 0.3, "{ratio}: {slow:?}");
}

#[test]
fn a_fault_that_cuts_ranks_off_is_told_with_its_place_and_its_pair() {
    let spine = fault(1.0, "switch = \"spine 0\"", "\"down\"");
    let cut = fault(3.0, "link = \"NDR link node 3 -> leaf 0\"", "\"down\"");
    let plan = file("cut.toml", &(spine + &cut));
    for which in [Which::Allreduce, Which::Barrier, Which::Alltoall] {
        let told = ask(which, Some(plan.clone())).expect_err("node 3 is cut off").to_string();
        let place = format!("{plan}:7:8: fault[1]: \"NDR link node 3 -> leaf 0\", down from 3 us on, leaves no path");
        assert!(told.contains(&place) && told.contains("lost for good"), "{told}");
    }
    // Bare packets have no ranks that wait.
    let bare =
        Request { stack: None, faults: Some(plan), ..Request::new(Benchmark::collective(Which::Alltoall), TREE) };
    let record = Request { nodes: Some(vec![80]), ..bare }.run(&Unwatched).expect("the rest arrives").remove(0);
    assert!(number(&record, "unreachable_pairs") > 0.0 && record.number("healthy_us").is_none(), "{record:?}");
}

/// Reductions in switches and barrier networks fall back to messages, or are refused where they were asked for.
#[test]
fn networks_of_their_own_are_known_whole_only() {
    let spec = catalog::load("ib-hdr-sharp").expect("in the catalog");
    let fabric = Fabric::build(&spec, 16).expect("16 nodes");
    let link = fabric.network.out(Vertex(3)).next().expect("a link");
    let link = format!("link = {:?}", fabric.resource_name(Resource::Channel(link)));
    let plan = file("sharp.toml", &fault(0.0, &link, "\"degraded\"\nrate = 0.5"));
    let asked = |algorithms: &[&str], faults: Option<&String>| {
        let Benchmark::Collective { which, order, .. } = Benchmark::collective(Which::Allreduce) else { panic!() };
        let algorithms = algorithms.iter().map(|name| (*name).to_owned()).collect();
        let request =
            Request::new(Benchmark::Collective { which, algorithms, protocols: Vec::new(), order }, "ib-hdr-sharp");
        let request = Request { nodes: Some(vec![16]), sizes: vec![4096], faults: faults.cloned(), ..request };
        request.run(&Unwatched).map(|mut records| records.remove(0))
    };
    assert_eq!(asked(&[], None).expect("whole").text("algorithm"), Some("hardware"));
    let failed = asked(&[], Some(&plan)).expect("by messages");
    assert_ne!(failed.text("algorithm"), Some("hardware"));
    let told = asked(&["hardware"], Some(&plan)).expect_err("known whole only").to_string();
    assert!(told.contains("or none while anything fails"), "{told}");
    let own = Benchmark::Barrier { algorithms: Vec::new(), own: Barriers::usual() };
    let barrier = Request { nodes: Some(vec![4]), faults: Some(plan), ..Request::new(own, "hwbarr") };
    let told = barrier.run(&Unwatched).expect_err("a barrier network has no such links").to_string();
    assert!(told.contains("--faults: only with collectives, barriers by messages"), "{told}");
}

/// All ranks meet a thousand times.
struct Meetings;

impl<P: Port> Program<P, ()> for Meetings {
    async fn run(&self, port: P) {
        let comm = Comm::new(port);
        for _ in 0..1000 {
            comm.barrier().await.expect("all take part");
        }
    }
}

/// As `hotlink run --on` does: the record has the failures, and one that cuts a rank off ends the run.
#[test]
fn a_program_runs_while_things_fail() {
    let run = |text: Option<&str>| {
        let file = text.map(|text| file("program.toml", text));
        recorded_on_fabric(TREE, Seating::alone(80), &Meetings, false, file.as_deref(), |_, _| Vec::new())
    };
    let whole = run(None).expect("nothing fails").record;
    let slow = "[[fault]]\nat_us = 4\nlink = \"NDR link node 3 -> leaf 0\"\nrate = 0.01\nstate = \"degraded\"\n";
    let down = "[[fault]]\nat_us = 9\nswitch = \"spine 0\"\nstate = \"down\"\n";
    let late = "[[fault]]\nat_us = 9e9\nswitch = \"spine 1\"\nstate = \"down\"\n";
    let failing = run(Some(&format!("{late}{down}{slow}"))).expect("a path is left").record;
    assert!(failing.number("elapsed_us") > whole.number("elapsed_us"));
    let told: Vec<&str> = failing
        .get("faults")
        .and_then(|all| all.as_array())
        .expect("a list")
        .iter()
        .filter_map(|one| one.as_str())
        .collect();
    let due = ["NDR link node 3 -> leaf 0: degraded to 0.01 of its rate from 4 us on", "spine 0: down from 9 us on"];
    assert_eq!(told, due, "in order of time, without those after the end");
    assert!(whole.get("faults").is_none() && failing.get("lost").is_some());
    let cut = "[[fault]]\nat_us = 12\nlink = \"NDR link node 3 -> leaf 0\"\nstate = \"down\"\n";
    let Err(Error::Check(why)) = run(Some(&format!("{down}{cut}"))) else { panic!("a rank is cut off") };
    assert!(why.contains("program.toml:7:8: fault[1]: \"NDR link node 3 -> leaf 0\", down from 12 us on"), "{why}");
    let Err(Error::Input(why)) = run(Some("fault = 3")) else { panic!("no plan") };
    assert!(why.contains("program.toml:1:9: fault: is not a list of tables"), "{why}");
}
