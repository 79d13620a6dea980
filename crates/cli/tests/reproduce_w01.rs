//! `hotlink reproduce W01`: every claim is answered or a gap that says why; fitted is called so.

use serde_json::Value;
use std::ffi::OsString;

#[test]
fn every_claim_of_w01_is_answered_and_fitted_is_called_calibrated() {
    let args = ["hotlink", "reproduce", "w01", "--json"].map(OsString::from);
    let document: Value = serde_json::from_str(&hotlink_cli::json(args).expect("a report")).expect("JSON");
    let records = document["records"].as_array().expect("records");
    for number in 27..=39 {
        let id = format!("G{number:03}");
        assert!(records.iter().any(|record| record["id"] == id.as_str()), "no row for {id}");
    }
    for record in records {
        assert_eq!(record["reproduced"].is_null(), record.get("gap").is_some(), "{record}");
        assert_eq!(record["holds"], record["known_to_hold"], "{record}");
        if record.get("fitted_read_wait_clocks").is_some() {
            assert_eq!(record["kind"], "calibrated");
        }
    }
    let regular: Vec<f64> =
        records.iter().filter(|r| r["id"] == "G027").filter_map(|r| r["reproduced"].as_f64()).collect();
    assert!(regular[0] < 230.0 && regular[1] > 230.0, "stores and DMA enclose it: {regular:?}");
}
