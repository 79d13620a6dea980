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
        let [made, read] = [&made[0], &read[0]].map(|record| record["latency_us"].as_f64().unwrap());
        assert!((read / made - 1.0).abs() <= near, "{unit}: {made} and {read}");
    }
}

#[test]
fn mistakes_name_their_place() {
    for (line, expected) in [
        ("simulate goal no-such.goal --loggp L=1us,o=1us,g=1us,G=0", "no-such.goal: cannot be read"),
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
