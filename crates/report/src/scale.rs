//! Numbers in units that people read: 50,000 MB/s is 50 GB/s.

use hotlink_study::text::figure;

/// The scale of an axis or of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// What a number is divided by.
    pub(crate) by: f64,
    /// The unit after that.
    pub(crate) unit: &'static str,
}

/// Units by the ending of a key, each with the factor from the key's own.
const UNITS: [(&str, &[(f64, &str)]); 6] = [
    ("_MBps", &[(1e-3, "kB/s"), (1.0, "MB/s"), (1e3, "GB/s"), (1e6, "TB/s")]),
    ("_us", &[(1e-3, "ns"), (1.0, "us"), (1e3, "ms"), (1e6, "s")]),
    ("_per_s", &[(1.0, "1/s"), (1e3, "thousand/s"), (1e6, "million/s")]),
    ("_B", &[(1.0, "B"), (1024.0, "KiB"), (1_048_576.0, "MiB"), (1_073_741_824.0, "GiB")]),
    ("_s", &[(1e-3, "ms"), (1.0, "s")]),
    ("_USD", &[(1.0, "USD"), (1e3, "thousand USD"), (1e6, "million USD")]),
];

/// The scale of numbers called `key` whose largest is `most`.
pub(crate) fn scale(key: &str, most: f64) -> Scale {
    let units = UNITS.iter().find(|(ending, _)| key.ends_with(ending)).map(|(_, units)| *units);
    let fits = units.and_then(|units| units.iter().rev().find(|(by, _)| most.abs() >= *by).or(units.first()));
    fits.map_or(Scale { by: 1.0, unit: "" }, |(by, unit)| Scale { by: *by, unit })
}

/// One number called `key`, with its unit.
pub(crate) fn told(key: &str, value: f64) -> String {
    if ["efficiency", "_share"].iter().any(|ending| key.ends_with(ending)) {
        return format!("{} %", figure(100.0 * value));
    }
    let scale = scale(key, value);
    format!("{} {}", figure(value / scale.by), scale.unit).trim_end().to_owned()
}

/// A key as people say it: `bandwidth_per_node_MBps` is `bandwidth per node`.
pub(crate) fn name(key: &str) -> String {
    let plain = UNITS.iter().find_map(|(ending, _)| key.strip_suffix(ending)).unwrap_or(key);
    plain.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_that_reads_best() {
        for (key, value, said) in [
            ("bandwidth_MBps", 50_000.0, "50 GB/s"),
            ("latency_us", 0.112, "112 ns"),
            ("latency_us", 1500.0, "1.5 ms"),
            ("size_B", 65_536.0, "64 KiB"),
            ("size_B", 8.0, "8 B"),
            ("efficiency", 0.5, "50 %"),
            ("time_s", 0.002, "2 ms"),
            ("nodes", 512.0, "512"),
            ("latency_us", 0.0, "0 ns"),
        ] {
            assert_eq!(told(key, value), said);
        }
        assert_eq!(
            (name("bandwidth_per_node_MBps"), name("hot_link_load")),
            ("bandwidth per node".into(), "hot link load".into())
        );
    }
}
