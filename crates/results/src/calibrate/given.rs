//! The records from which a calibration may be made. Their numbers must fit into a fabric file, and a simulation must
//! be able to add them up without end.

use hotlink_bench::Record;
use serde_json::Value as Json;

/// Longest time of a message, in microseconds: 100 s.
const MOST_US: f64 = 1e8;

/// Numbers that are read, with the smallest meaningful value above zero (a picosecond, a byte a second), and the
/// largest.
const NUMBERS: [(&str, f64, f64); 17] = [
    ("ranks", 1.0, 1e6),
    ("pairs", 1.0, 1e6),
    ("cores", 1.0, 1e6),
    ("cores_online", 1.0, 1e6),
    ("window", 1.0, 1e6),
    ("inner", 1.0, 1e9),
    ("size_B", 1.0, 1e15),
    ("stride", 1.0, 1e15),
    ("latency_us", 1e-6, MOST_US),
    ("idle_latency_us", 1e-6, MOST_US),
    ("total_us", 1e-6, MOST_US),
    ("compute_us", 1e-6, MOST_US),
    ("bandwidth_MBps", 1e-6, 1e9),
    ("bound_bandwidth_MBps", 1e-6, 1e9),
    ("time_s", 1e-12, 1e6),
    ("bound_time_s", 1e-12, 1e6),
    ("communication_s", 1e-12, 1e6),
];
/// Measured times: none is zero, and none is missing where it is named.
const TIMES: [&str; 2] = ["latency_us", "time_s"];
/// The ends of an interval are of the quantity that `statistic_of` names, in its unit.
const INTERVAL: [&str; 2] = ["ci95_low", "ci95_high"];

/// Whether every number of a record is one that something can have taken.
///
/// # Errors
/// The key, its mistake and the allowed values.
pub fn check(record: &Record) -> Result<(), String> {
    let of = record.text("statistic_of").unwrap_or_default();
    let interval = NUMBERS.iter().find(|(key, ..)| *key == of).map(|(_, least, most)| (*least, *most));
    let ends = interval.into_iter().flat_map(|(least, most)| INTERVAL.map(|key| (key, least, most)));
    for (key, least, most) in NUMBERS.into_iter().chain(ends) {
        let is_time = |value: &Json| TIMES.contains(&key) || !value.is_null();
        let Some(value) = record.get(key).filter(|value| is_time(value)) else { continue };
        within(value, least, most, TIMES.contains(&key)).map_err(|allowed| format!("{key}: is {value}; {allowed}"))?;
    }
    // Each round counts, in the unit of its quantity.
    let rounds = record.get("round_values").and_then(|values| values.as_array()).into_iter().flatten();
    let named = if of.is_empty() { "time_s" } else { of };
    if let Some((key, least, most)) = NUMBERS.into_iter().find(|(key, ..)| *key == named) {
        for value in rounds {
            within(value, least, most, false)
                .map_err(|allowed| format!("round_values: {value} is no {key}; {allowed}"))?;
        }
    }
    for key in ["bandwidth_MBps", "bound_bandwidth_MBps"] {
        let (Some(size), Some(rate)) = (record.number("size_B"), record.number(key)) else { continue };
        if rate > 0.0 && size / rate > MOST_US {
            let (size, least) = (told(size), told(size / MOST_US));
            return Err(format!("{key}: is {rate}, at which {size} B take more than 100 s; must be at least {least}"));
        }
    }
    Ok(())
}

/// # Errors
/// What is allowed, where the value is not.
fn within(value: &Json, least: f64, most: f64, takes_time: bool) -> Result<(), String> {
    match value.as_f64() {
        Some(number) if (number == 0.0 && !takes_time) || (least..=most).contains(&number) => Ok(()),
        _ if takes_time => Err(format!("must be {} to {}", told(least), told(most))),
        _ => Err(format!("must be 0 or {} to {}", told(least), told(most))),
    }
}

/// A limit as people write it.
fn told(number: f64) -> String {
    if (0.01..1e5).contains(&number) { number.to_string() } else { format!("{number:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_any_machine_are_told_with_their_key_and_what_is_allowed() {
        let said = |key: &str, value: serde_json::Value| check(&Record::new().with("size_B", 8).with(key, value));
        for (key, value, expected) in [
            ("latency_us", 1e308.into(), "latency_us: is 1e+308; must be 1e-6 to 1e8"),
            ("latency_us", 1e-308.into(), "latency_us: is 1e-308"),
            ("latency_us", (-1.0).into(), "latency_us: is -1.0"),
            ("latency_us", 0.0.into(), "latency_us: is 0.0; must be 1e-6 to 1e8"),
            ("latency_us", serde_json::Value::Null, "latency_us: is null; must be"),
            ("time_s", 0.into(), "time_s: is 0"),
            ("latency_us", "1".into(), "latency_us: is \"1\""),
            ("size_B", 1e308.into(), "size_B: is 1e+308; must be 0 or 1 to 1e15"),
            ("size_B", (-8).into(), "size_B: is -8"),
            ("ranks", 1e300.into(), "ranks: is 1e+300; must be 0 or 1 to 1e6"),
            ("time_s", 1e7.into(), "must be 1e-12 to 1e6"),
        ] {
            let said = said(key, value).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
        assert_eq!(said("bandwidth_MBps", serde_json::Value::Null), Ok(()));
        for fine in [0.2.into(), 1e8.into()] {
            assert_eq!(said("latency_us", fine), Ok(()));
        }
    }

    #[test]
    fn each_round_is_looked_at() {
        let rounds = |of: &str, value: f64| {
            check(&Record::new().with("statistic_of", of).with("round_values", vec![1.0, value]))
        };
        assert_eq!((rounds("latency_us", 2.0), rounds("time_s", 1e6)), (Ok(()), Ok(())));
        let said = rounds("latency_us", 1e308).unwrap_err();
        assert_eq!(said, "round_values: 1e+308 is no latency_us; must be 0 or 1e-6 to 1e8");
        assert!(rounds("", 1e7).unwrap_err().contains("no time_s"));
        assert_eq!(rounds("messages_per_s", 1e9), Ok(()), "not read");
    }

    #[test]
    fn a_rate_must_move_its_size_in_a_finite_time_and_an_interval_is_of_what_it_is_of() {
        let at = |rate: f64| Record::new().with("size_B", 1_000_000).with("bandwidth_MBps", rate);
        assert_eq!(check(&at(0.01)), Ok(()));
        let said = check(&at(0.001)).unwrap_err();
        assert!(said.contains("1e6 B take more than 100 s; must be at least 0.01"), "{said}");
        let interval = at(100.0).with("ci95_high", 1e200);
        assert_eq!(check(&interval), Ok(()), "of something that is not read");
        let said = check(&interval.with("statistic_of", "bandwidth_MBps")).unwrap_err();
        assert!(said.starts_with("ci95_high: is 1e+200"), "{said}");
    }
}
