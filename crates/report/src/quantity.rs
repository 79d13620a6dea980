//! One of a record's numbers: the value, and its possible error.

use hotlink_bench::Record;
use hotlink_results::compare_runs::less_is_better;

/// A number with the interval that it lies in; the value thrice where no interval is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Between {
    pub(crate) low: f64,
    pub(crate) value: f64,
    pub(crate) high: f64,
}

impl Between {
    /// Whether it is more than a point.
    pub(crate) fn is_interval(&self) -> bool {
        self.low < self.value || self.high > self.value
    }
}

/// The number called `key`. Its interval is the median's, where the statistics are of it or of its source (a rate
/// follows from its time, an efficiency from either). Otherwise it is that of the inputs' uncertainty.
pub(crate) fn between(record: &Record, key: &str) -> Option<Between> {
    let value = record.number(key).filter(|value| value.is_finite())?;
    let around = |low: f64, high: f64| Between { low: low.min(value), value, high: high.max(value) };
    let sampled = |name: &str| record.number(name).filter(|number| *number > 0.0);
    let of = record.statistic();
    if let (Some(of), Some(median), Some(low), Some(high)) =
        (of, sampled("median"), sampled("ci95_low"), sampled("ci95_high"))
    {
        if of == key {
            return Some(around(low, high));
        }
        if follows(key) && follows(of) {
            let turned = less_is_better(of) != less_is_better(key);
            let (below, above) = if turned { (median / high, median / low) } else { (low / median, high / median) };
            return Some(around(value * below, value * above));
        }
    }
    let end = |which: &str| record.number(&format!("{key}_{which}")).unwrap_or(value);
    Some(around(end("low"), end("high")))
}

/// The bound of the number called `key`, with what its own inputs allow. A count of load is a bound itself; no node gets more
/// than its own devices take.
pub(crate) fn bounded(record: &Record, key: &str) -> Option<Between> {
    let injection = (key == "bandwidth_per_node_MBps").then(|| record.number("injection_per_node_MBps")).flatten();
    let value =
        record.number(&format!("bound_{key}")).or(injection).filter(|value| value.is_finite() && *value > 0.0)?;
    let end = |which: &str| record.number(&format!("bound_{key}_{which}")).unwrap_or(value);
    Some(Between { low: end("low").min(value), value, high: end("high").max(value) })
}

/// Whether a number is the time of the operation, or follows from it alone.
fn follows(key: &str) -> bool {
    const FOLLOW: [&str; 9] = [
        "latency_us",
        "time_us",
        "time_s",
        "bandwidth_MBps",
        "bandwidth_per_node_MBps",
        "algorithm_bandwidth_MBps",
        "bus_bandwidth_MBps",
        "messages_per_s",
        "efficiency",
    ];
    FOLLOW.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Record {
        Record::new()
            .with("latency_us", 2.0)
            .with("bandwidth_MBps", 50.0)
            .with("efficiency", 0.5)
            .with("statistic_of", "latency_us")
            .with("median", 2.0)
            .with("ci95_low", 1.0)
            .with("ci95_high", 4.0)
            .with("p99", 9.0)
    }

    #[test]
    fn a_rate_lies_in_the_interval_that_its_time_gives() {
        let told = |key| between(&measured(), key).map(|b| (b.low, b.value, b.high));
        assert_eq!(told("latency_us"), Some((1.0, 2.0, 4.0)));
        assert_eq!(told("bandwidth_MBps"), Some((25.0, 50.0, 100.0)));
        assert_eq!(told("efficiency"), Some((0.25, 0.5, 1.0)));
        assert_eq!(told("p99"), Some((9.0, 9.0, 9.0)));
        assert_eq!(told("size_B"), None);
    }

    #[test]
    fn a_model_s_number_lies_where_its_inputs_put_it() {
        let modelled = Record::new().with("latency_us", 2.0).with("latency_us_low", 1.5).with("latency_us_high", 3.0);
        let found = between(&modelled, "latency_us").unwrap();
        assert_eq!((found.low, found.high, found.is_interval()), (1.5, 3.0, true));
    }
}
