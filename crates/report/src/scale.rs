//! Numbers in units that people read: 50,000 MB/s is 50 GB/s.

use hotlink_study::text::figure;

/// The scale of an axis or of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// The divisor of a number.
    pub(crate) by: f64,
    /// The unit after that.
    pub(crate) unit: &'static str,
}

/// Units by the ending of a key, each with the factor from the key's own.
const UNITS: [(&str, &[(f64, &str)]); 7] = [
    ("_MBps", &[(1e-3, "kB/s"), (1.0, "MB/s"), (1e3, "GB/s"), (1e6, "TB/s")]),
    ("_us", &[(1e-3, "ns"), (1.0, "us"), (1e3, "ms"), (1e6, "s")]),
    ("_per_s", &[(1.0, "1/s"), (1e3, "thousand/s"), (1e6, "million/s")]),
    ("_B", &[(1.0, "B"), (1024.0, "KiB"), (1_048_576.0, "MiB"), (1_073_741_824.0, "GiB")]),
    ("_s", &[(1e-3, "ms"), (1.0, "s")]),
    ("_kW", &[(1.0, "kW"), (1e3, "MW")]),
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
    told_by(key, value, figure)
}

/// One number called `key`, with its unit and every digit that it has.
pub(crate) fn whole(key: &str, value: f64) -> String {
    // The thirteenth digit is noise of the unit's factor.
    let twelve = |x: f64| format!("{x:.11e}").parse::<f64>().unwrap_or(x).to_string();
    told_by(key, value, twelve)
}

fn told_by(key: &str, value: f64, figure: impl Fn(f64) -> String) -> String {
    if ["efficiency", "_share"].iter().any(|ending| key.ends_with(ending)) {
        return format!("{} %", figure(100.0 * value));
    }
    if let Some(currency) = currency(key) {
        let money = if value.abs() < 1e3 { figure(value) } else { grouped(value) };
        return format!("{money} {currency}");
    }
    let scale = scale(key, value);
    format!("{} {}", figure(value / scale.by), scale.unit).trim_end().to_owned()
}

/// The currency of a cost: `cost_per_node_USD` and the ends of its interval are in USD.
fn currency(key: &str) -> Option<&str> {
    let key = ["_low", "_high"].iter().find_map(|end| key.strip_suffix(end)).unwrap_or(key);
    key.strip_prefix("cost_")?.rsplit('_').next()
}

/// A whole number with its thousands apart.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut said = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            said.push(',');
        }
        said.push(digit);
    }
    said
}

/// A key as people say it: `bandwidth_per_node_MBps` is `bandwidth per node`.
pub(crate) fn name(key: &str) -> String {
    if let Some(currency) = currency(key) {
        return key.replacen(&format!("_{currency}"), "", 1).replace('_', " ");
    }
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
            ("cost_USD_low", 94_160.4, "94,160 USD"),
            ("cost_EUR", 1_234_567.0, "1,234,567 EUR"),
            ("cost_per_MBps_USD", 0.25, "0.25 USD"),
            ("cost_USD", 999.0, "999 USD"),
        ] {
            assert_eq!(told(key, value), said);
        }
        assert_eq!(
            (name("bandwidth_per_node_MBps"), name("hot_link_load")),
            ("bandwidth per node".into(), "hot link load".into())
        );
        let costs = ["cost_USD", "cost_USD_low", "cost_per_MBps_EUR"].map(name);
        assert_eq!(costs, ["cost", "cost low", "cost per MBps"]);
    }
}
