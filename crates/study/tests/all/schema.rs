//! The schema of records.

use hotlink_bench::Record;
use hotlink_study::schema::{Records, all, named};
#[test]
fn each_key_stands_once_and_says_what_it_means() {
    for records in all() {
        let mut seen = std::collections::BTreeSet::new();
        for key in records.keys() {
            assert!(seen.insert(key.name), "{}: {} occurs twice", records.name, key.name);
            assert!(!key.meaning.is_empty());
        }
    }
}

#[test]
fn units_agree_with_the_endings_of_names() {
    let endings = [("_us", "us"), ("_MBps", "MB/s"), ("_B", "B"), ("_per_s", "1/s")];
    for key in all().flat_map(Records::keys) {
        if let Some((_, unit)) = endings.iter().find(|(ending, _)| key.name.ends_with(ending)) {
            let is_share = ["under_20us", "G_ns_per_B", "O_ns_per_B"].contains(&key.name);
            assert!(is_share || key.unit == *unit, "{}: {}", key.name, key.unit);
        }
    }
}

#[test]
fn a_foreign_key_and_a_value_of_another_kind_are_mistakes() {
    let record = Record::new().with("fabric", "x").with("latency_us", "fast").with("latency_ns", 1.0);
    let told = named("pingpong").unwrap().mistakes(&record);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(named("pingpon").err().unwrap().to_string().contains("did you mean `pingpong`"));
    let priced = Record::new().with("fabric", "x").with("cost_USD_low", 1.0).with("best_cost_USD", true);
    assert!(named("compare").unwrap().mistakes(&priced).is_empty());
    let swept = Record::new().with("study", "sizes").with("fabric", "x");
    assert!(["alltoall", "compare"].iter().all(|name| named(name).unwrap().mistakes(&swept).is_empty()));
}
