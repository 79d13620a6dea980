//! `hotlink reproduce W01`: every claim is answered or a gap that says why; fitted is called so.

use crate::golden;

use serde_json::Value;
use std::ffi::OsString;

fn records() -> Vec<Value> {
    let args = ["hotlink", "reproduce", "w01", "--json", "--figures"].map(OsString::from);
    let text = hotlink_cli::json(args.into_iter().chain([golden::folder("w01").into()])).expect("a report");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    document["records"].as_array().expect("records").clone()
}

#[test]
fn every_claim_of_w01_is_answered_and_what_is_fitted_is_called_so() {
    let records = records();
    golden::check("w01", &records);
    golden::check_figures("w01", golden::figures("w01"));
    let of = |id: &str| records.iter().filter(|record| record["id"] == id).cloned().collect::<Vec<_>>();
    for number in 27..=39 {
        let id = format!("G{number:03}");
        assert!(!of(&id).is_empty(), "no row for {id}");
    }
    for record in &records {
        assert_eq!(record["reproduced"].is_null(), record.get("gap").is_some(), "{record}");
        assert_eq!(record["holds"], record["known_to_hold"], "{record}");
        if record.get("fitted_parameter").is_some() {
            assert_eq!(record["kind"], "fit");
        }
    }
    for (id, published) in [("G027", 230.0), ("G028", 190.0)] {
        let row = of(id).into_iter().find(|row| row["kind"] == "prediction" && row["reading"].is_null());
        let error = row.expect("a prediction")["reproduced"].as_f64().expect("a number") / published - 1.0;
        assert!(error.abs() < 0.1, "{id}: {error}, and nothing was fitted to it");
    }
    for id in ["G027", "G028", "G030", "G031", "G032", "G033", "G034", "G035", "G036"] {
        let checked = |row: &Value| row["kind"] == "ordering" && row["holds"] == true;
        assert!(of(id).iter().any(checked), "{id}: no ordering is checked");
    }
    for figure in ["s4", "s8", "s15", "s17", "s23", "s24", "s25", "s26"] {
        assert!(of(figure).len() >= 9, "figure {figure} has {} points", of(figure).len());
    }
    // Copying while the next piece is under way is never slower than copying afterwards.
    for pipelined in of("s4").iter().filter(|row| row["series"] == "one copy, pipelined") {
        let same = |row: &&Value| row["series"] == "1 copy, one after another" && row["size_B"] == pipelined["size_B"];
        let after = of("s4").iter().find(same).expect("every size")["reproduced"].as_f64();
        assert!(pipelined["reproduced"].as_f64() >= after, "{pipelined}: {after:?} one after another");
    }
    // Each copy costs: the more, the less remains; at 4 MiB in this order.
    let share = |series: &str| {
        let row = of("s4").into_iter().find(|row| row["series"] == series && row["size_B"] == 4 << 20);
        row.expect(series)["reproduced"].as_f64().expect("a number")
    };
    let shares = [
        "one copy, pipelined",
        "1 copy, one after another",
        "2 copies, one after another",
        "3 copies, one after another",
    ];
    let shares = shares.map(share);
    assert!(shares[0] < 1.0 && shares.windows(2).all(|two| two[0] > two[1]), "{shares:?}");
}
