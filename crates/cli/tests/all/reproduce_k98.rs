//! `hotlink reproduce K98`: every claim is answered, and what holds and what does not stays known.

use crate::common::program;
use crate::golden;

use serde_json::Value;
use std::ffi::OsString;
use std::sync::OnceLock;

fn records() -> &'static [Value] {
    static RECORDS: OnceLock<Vec<Value>> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let args = ["hotlink", "reproduce", "K98", "--json", "--figures"].map(OsString::from);
        let text = hotlink_cli::json(args.into_iter().chain([golden::folder("k98").into()])).expect("a report");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        document["records"].as_array().expect("records").clone()
    })
}

fn of(id: &str) -> impl Iterator<Item = &'static Value> {
    records().iter().filter(move |record| record["id"] == id)
}

#[test]
fn every_claim_of_k98_has_a_row_and_a_gap_says_why() {
    for number in 1..=26 {
        let id = format!("G{number:03}");
        assert!(of(&id).next().is_some(), "no row for {id}");
    }
    for record in records() {
        assert_eq!(record["reproduced"].is_null(), record.get("gap").is_some(), "{record}");
    }
}

#[test]
fn what_holds_and_what_does_not_is_as_known() {
    for record in records() {
        assert_eq!(record["holds"], record["known_to_hold"], "{record}");
    }
    let failing: Vec<(&str, Option<f64>)> = records()
        .iter()
        .filter(|record| record["holds"] == false)
        .map(|record| {
            let printed = record.get("axis_MBps").unwrap_or(&record["published"]);
            (record["id"].as_str().expect("an id"), printed.as_f64())
        })
        .collect();
    let known = [("G016", 126.0), ("G017", 90.0), ("G017", 120.0), ("G021", 80.0)].map(|(id, axis)| (id, Some(axis)));
    assert_eq!(failing, [&known[..], &[("G025", None)]].concat());
}

#[test]
fn no_figure_changes_unseen() {
    golden::check("k98", records());
    golden::check_figures("k98", golden::figures("k98"));
}

#[test]
fn the_label_126_is_a_prediction_with_its_sensitivity() {
    let record = of("G016").next().expect("a row");
    assert_eq!((record["kind"].as_str(), record["published"].as_f64()), (Some("prediction"), Some(126.0)));
    let value = |key: &str| record[key].as_f64().expect("a number");
    assert!(value("error_pct") < -10.0, "the bursts of later cards give too little: {record}");
    assert!(value("interval_low") < value("reproduced") && value("interval_high") > 126.0, "{record}");
}

#[test]
fn the_figures_have_all_their_points() {
    let points = |slide: &str| {
        let named = |record: &&Value| record["quantity"].as_str().is_some_and(|name| name.starts_with(slide));
        records().iter().filter(named).count()
    };
    let counts = ["s19", "s21", "s23", "s24", "s25", "s26"].map(points);
    assert_eq!(counts, [3 * 14, 2 * 3 * 14, 3 * 14, 3 * 18, 2 * 19, 2 * 19]);
}

#[test]
fn the_same_figures_are_measured_on_this_machine_if_asked_for() {
    assert!(records().iter().all(|record| record["method"] != "measured"), "only with --measure");
    let mut run = std::process::Command::new(program());
    let run = run
        .args(["reproduce", "K98", "--measure", "--time", "0.001", "--blocks", "1", "--json"])
        .output()
        .expect("runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let document: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let all = document["records"].as_array().expect("records");
    let measured: Vec<&Value> = all.iter().filter(|record| record["method"] == "measured").collect();
    assert_eq!(all.len() - measured.len(), records().len(), "the simulated figures stand unchanged beside");
    let points = |slide: &str, key: &str, value: &str| {
        let of = measured.iter().filter(|record| record["quantity"].as_str().is_some_and(|name| name.contains(slide)));
        of.filter(|record| record[key] == value && record["bandwidth_MBps"].as_f64() > Some(0.0)).count()
    };
    assert_eq!(points("s19", "series", "direct"), 2 * 14, "into private and into shared memory");
    assert_eq!(points("s24", "series", "direct"), 2 * 18, "from 4 B on, as simulated");
    for semantics in ["restricted", "postal"] {
        assert_eq!(points("s25", "semantics", semantics), 2 * 19, "{semantics}, over shared memory and TCP");
    }
    assert!(points("s27", "protocol", "stream") > 0);
}

#[test]
fn some_studies_have_nothing_to_measure() {
    let error = hotlink_cli::json(["hotlink", "reproduce", "M02", "--measure"].map(OsString::from)).unwrap_err();
    assert!(error.to_string().contains("--measure"), "{error}");
}
