//! Where engines' answers differ: which differences their claims explain.

use hotlink_bench::Record;
use hotlink_study::ask::{Answer, Claim, Method, Omission, Value, between};

fn answer(method: Method, value: Value, leaves_out: &[Omission]) -> Answer {
    let claim = Claim { leaves_out: leaves_out.to_vec(), steps: 0.0 };
    Answer { method, claim, record: Record::new(), value: Some(value), more: Vec::new(), why: Vec::new() }
}

#[test]
fn the_model_that_leaves_out_more_may_be_better_and_not_worse() {
    let load = answer(Method::Load, Value::PerNodeMbps(100.0), &[Omission::Blocking]);
    let packet = |mbps| answer(Method::Packet, Value::PerNodeMbps(mbps), &[]);
    let explained = &between(&[load.clone(), packet(80.0)])[0];
    assert_eq!(explained.because, [Omission::Blocking]);
    assert_eq!(explained.to_string(), "20.0 % worse than load: load knows no head-of-line blocking");
    let wrong = &between(&[load.clone(), packet(120.0)])[0];
    assert!(!wrong.is_explained() && wrong.to_string().contains("one of them is wrong"));
    assert!(between(&[load, packet(99.9)]).is_empty());
}

#[test]
fn less_time_is_better_and_times_are_not_compared_with_rates() {
    let fast = answer(Method::Loggp, Value::Us(1.0), &[Omission::Sharing]);
    let slow = answer(Method::Packet, Value::Us(2.0), &[]);
    assert_eq!(between(&[fast.clone(), slow])[0].better_by, -0.5);
    assert!(between(&[fast, answer(Method::Packet, Value::PerNodeMbps(1.0), &[])]).is_empty());
}

/// A record that leads with another value than the compared one does not leave the reader to guess which.
#[test]
fn a_difference_names_its_values_where_a_record_leads_with_others() {
    let mean = answer(Method::Formula, Value::PerNodeMbps(140.0), &[Omission::HotLinks]);
    let shown = |mbps: f64| Answer { record: Record::new().with("bandwidth_per_node_MBps", mbps), ..mean.clone() };
    let load = answer(Method::Load, Value::PerNodeMbps(112.0), &[]);
    let told = |mbps| between(&[shown(mbps), load.clone()])[0].to_string();
    assert_eq!(told(116.0), "20.0 % worse than formula (112 against 140 MB/s): formula averages over links");
    assert_eq!(told(140.0), "20.0 % worse than formula: formula averages over links");
}
