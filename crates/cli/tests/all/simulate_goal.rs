//! `simulate goal`: schedules on LogGP machines, in the process of the test.

use serde_json::Value;

/// The records of a command line, or what it said.
fn hotlink(line: &str) -> Result<Vec<Value>, hotlink_cli::Failure> {
    let args = std::iter::once("hotlink").chain(line.split(' ')).chain(["--json"]);
    let text = hotlink_cli::json(args.map(Into::into))?;
    let result: Value = serde_json::from_str(&text).unwrap();
    Ok(result["records"].as_array().unwrap().clone())
}

const MACHINE: &str = "--loggp L=2us,o=0.5us,g=50ns,G=0.08ns";

#[test]
fn generated_barriers_take_their_closed_form() {
    let line = format!("simulate goal --generate barrier:dissemination --ranks 2,4,5,1000 {MACHINE}");
    let latencies: Vec<f64> =
        hotlink(&line).unwrap().iter().map(|record| record["latency_us"].as_f64().unwrap()).collect();
    assert_eq!(latencies, [3.0, 6.0, 9.0, 30.0]);
}

#[test]
fn a_written_schedule_runs_as_it_did() {
    let path = std::env::temp_dir().join(format!("hotlink-goal-{}.goal", std::process::id()));
    let file = path.display();
    // In nanoseconds, as others read it; in picoseconds if asked for.
    for (unit, near) in [("", 1e-3), (" --calc-unit ps", 0.0)] {
        let steps = "bcast:binomial:8,reduce:binomial:64KiB,barrier:tree";
        let line = format!("simulate goal --generate {steps} --ranks 13 {MACHINE} --write {file}{unit}");
        let made = hotlink(&line).unwrap();
        let read = hotlink(&format!("simulate goal {file} {MACHINE}{unit}")).unwrap();
        std::fs::remove_file(&path).unwrap();
        let asked = unit.strip_prefix(" --calc-unit ").unwrap_or("ns");
        assert_eq!((&read[0]["calc_unit"], &read[0]["format"]), (&asked.into(), &"goal".into()));
        let [made, read] = [&made[0], &read[0]].map(|record| record["latency_us"].as_f64().unwrap());
        assert!((read / made - 1.0).abs() <= near, "{unit}: {made} and {read}");
    }
}

/// A schedule says nothing of nodes: the options do, as for a program.
#[test]
fn ranks_are_placed_on_nodes_of_a_fabric() {
    let path = std::env::temp_dir().join(format!("hotlink-placed-{}.goal", std::process::id()));
    let pair = |from, to| {
        format!("rank {from} {{\nl1: send 65536b to {to}\n}}\nrank {to} {{\nl1: recv 65536b from {from}\n}}\n")
    };
    std::fs::write(&path, format!("num_ranks 4\n{}{}", pair(0, 1), pair(2, 3))).unwrap();
    let on = format!("{} --fabric ib-ndr-fat-tree2", path.display());
    let run = |options: &str| {
        let [goal, schedule] =
            ["goal", "schedule"].map(|verb| hotlink(&format!("simulate {verb} {on}{options}")).unwrap());
        assert_eq!(goal[0]["latency_us"], schedule[0]["latency_us"], "{options}");
        goal[0].clone()
    };
    let time = |record: &Value| record["latency_us"].as_f64().unwrap();
    let alone = run("");
    let shared = run(" --ranks-per-node 2");
    assert_eq!(
        (&shared["nodes"], time(&shared), &shared["left_out"]),
        (&2.into(), 0.0, &"messages within a node".into())
    );
    assert_eq!((&alone["left_out"], &alone["rank_nodes"]), (&Value::Null, &Value::Null));
    let crossed = run(" --ranks-per-node 2 --nodes 64 --placement 0,40");
    assert_eq!(crossed["rank_nodes"], "0,0,40,40");
    // On one leaf, and on two.
    let [near, apart] = ["0-3", "0,100,1,101"].map(|list| run(&format!(" --nodes 128 --placement {list}")));
    assert!(time(&apart) > time(&near), "{apart} {near}");
    let drawn = [1, 2].map(|seed| run(&format!(" --nodes 64 --placement random --seed {seed}"))["rank_nodes"].clone());
    assert_ne!(drawn[0], drawn[1]);
    for (options, due) in [
        (" --nodes 3", "4 ranks need a node each, and there are 3 (--nodes)"),
        (" --placement spred", "must be contiguous, packed, spread, random"),
        (" --method loggp --placement spread", "are of packets"),
        (" --write other.goal", "writes what is recorded; `simulate schedule"),
    ] {
        let told = hotlink(&format!("simulate goal {on}{options}")).unwrap_err().to_string();
        assert!(told.contains(due), "{options}: {told}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn mistakes_name_their_place() {
    // 463 days.
    let late = std::env::temp_dir().join(format!("hotlink-late-{}.goal", std::process::id()));
    let steps = |n: u32| format!("l{n}: calc 1000000000000000\nl{n} requires l{}\n", n - 1);
    let all: String = (2..=40).map(steps).collect();
    std::fs::write(&late, format!("num_ranks 1\nrank 0 {{\nl1: calc 1000000000000000\n{all}}}\n")).unwrap();
    for (line, expected) in [
        ("simulate goal no-such.goal --loggp L=1us,o=1us,g=1us,G=0", "no-such.goal: cannot be read"),
        (&format!("simulate goal {} --fabric ib-ndr-fat-tree2", late.display()), "passes 2^62 ps (53 days)"),
        ("simulate goal x.goal --loggp L=1us,o=1us,g=1us", "G is missing"),
        ("simulate goal --generate barrier:magic --ranks 2 --loggp L=1us,o=1us,g=1us,G=0", "barrier:dissemination"),
        ("simulate goal --generate barrier:tree --loggp L=1us,o=1us,g=1us,G=0", "--ranks"),
        (
            "simulate goal --generate alltoall:linear --ranks 65536 --loggp L=1us,o=1us,g=1us,G=0",
            "more than 50000000 operations",
        ),
    ] {
        let told = hotlink(line).unwrap_err().to_string();
        assert!(told.contains(expected), "{line}: {told}");
    }
}
