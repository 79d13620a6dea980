//! Values of arguments.

use hotlink_questions::values::Shares;
use hotlink_questions::{Simulation, read};

#[test]
fn what_json_refuses_is_told_in_words() {
    for (value, told) in [
        ("-1", "seed: -1: must be a whole number, 0 or more"),
        ("1.5", "seed: 1.5: must be a whole number, 0 or more"),
        ("\"x\"", "seed: \"x\": must be a whole number, 0 or more"),
        ("[]", "seed: sequence: must be a whole number, 0 or more"),
    ] {
        let question = format!(r#"{{"benchmark": "alltoall", "fabric": "qsnet", "seed": {value}}}"#);
        assert_eq!(read::<Simulation>(&question).unwrap_err().to_string(), told);
    }
}

#[test]
fn shares_are_one_several_or_a_text() {
    let read = |text: &str| serde_json::from_str::<Shares>(text).unwrap().list("load");
    assert_eq!(read("0.5").unwrap(), [0.5]);
    assert_eq!(read("[0.5, 1]").unwrap(), [0.5, 1.0]);
    assert_eq!(read("\"0.1..0.3\"").unwrap(), [0.1, 0.2, 0.3]);
    assert!(read("[]").unwrap_err().to_string().contains("load: must be"));
}
