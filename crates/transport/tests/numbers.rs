//! Numbers of transports, as options and catalogs state them.

use hotlink_transport::{Control, check};

#[test]
fn numbers_that_cannot_be_are_refused_with_what_they_must_be() {
    for (name, value, expected) in [
        ("dcqcn_gain", 0.0, Err("must be a number above 0")),
        ("dcqcn_gain", -1.0, Err("must be a number above 0")),
        ("dcqcn_gain", f64::NAN, Err("must be a finite number")),
        ("dcqcn_clamp_target", 0.0, Ok(())),
        ("dcqcn_clamp_target", 1.0, Ok(())),
        ("dcqcn_clamp_target", 0.5, Err("must be 0 or 1")),
        ("dcqcn_clamp_target", -1.0, Err("must be 0 or 1")),
        ("credits_first", 0.0, Ok(())),
        ("credits_rate", 0.0, Err("must be a number above 0")),
        ("hpcc_stages", 0.0, Ok(())),
        ("hpcc_stages", -1.0, Err("must be 0 or a number above")),
        ("hpcc_additive", 0.0, Err("must be a number above 0")),
        ("swift_flow_range", 0.0, Ok(())),
        ("swift_target", -3e6, Ok(())),
        ("swift_target", f64::INFINITY, Err("must be a finite number")),
    ] {
        assert_eq!(check(name, value), expected, "{name} = {value}");
    }
}

#[test]
fn every_transport_is_made_of_its_numbers() {
    let number = |name: &str| Ok(if name == "flow_window_most" { 100.0 } else { 1.0 });
    for name in ["dcqcn", "dctcp", "swift", "nscc", "hpcc", "credits"] {
        Control::stated(name, number, || Ok(1e9)).unwrap();
    }
    let what = Control::stated("swift", |_| Ok(1.0), || Ok(1e9)).unwrap_err();
    assert_eq!(what, "swift_flow_window_least 1: must be below swift_flow_window_most 1");
    let what = Control::stated("credits", |_| Ok(1.5), || Ok(1e9)).unwrap_err();
    assert_eq!(what, "credits_rate 1.5: must be at most 1, all of the receiver's link");
    assert!(Control::stated("tcp", number, || Ok(1e9)).unwrap_err().contains("no transport"));
    let missing = |name: &str| Err(format!("no {name}"));
    assert_eq!(Control::stated("hpcc", missing, || Ok(1e9)).unwrap_err(), "no eta");
}
