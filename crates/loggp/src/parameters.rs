//! The parameters of the machine, and their text form `L=2us,o=0.5us,g=50ns,G=0.08ns,S=64KiB,O=0`.

use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::{Bytes, Time};
use std::str::FromStr;

/// Time per byte in units of 2^-32 picoseconds, so that rates need not be whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerByte(pub u64);

impl PerByte {
    const UNIT: f64 = 4_294_967_296.0;

    /// From picoseconds per byte; below zero and beyond a microsecond count as the nearest end.
    pub fn from_ps(ps: f64) -> PerByte {
        PerByte((ps.clamp(0.0, 1e6) * Self::UNIT).round() as u64)
    }
    /// Nanoseconds per byte.
    pub fn ns(self) -> f64 {
        self.0 as f64 / Self::UNIT / 1e3
    }
    /// Picoseconds for all bytes of a message but the first, as LogGP counts, rounded down.
    #[inline]
    pub fn beyond_first(self, bytes: u64) -> u64 {
        ((u128::from(bytes.saturating_sub(1)) * u128::from(self.0)) >> 32) as u64
    }
}

/// Most points of a [`Curve`].
const MOST_POINTS: usize = 48;

/// Time against message size, by straight lines between points: LogGP's piecewise form, for networks whose rate
/// depends on the size. Beyond the last point the last line goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Curve {
    points: [(u64, u64); MOST_POINTS],
    len: usize,
}

impl Default for Curve {
    fn default() -> Curve {
        Curve { points: [(0, 0); MOST_POINTS], len: 0 }
    }
}

impl Curve {
    /// Through these sizes and times, in the order of sizes; of too many points, evenly many are kept.
    pub fn through(points: &[(u64, Time)]) -> Curve {
        let mut curve = Curve::default();
        let kept = points.len().min(MOST_POINTS);
        for index in 0..kept {
            let at = if kept > 1 { index * (points.len() - 1) / (kept - 1) } else { 0 };
            curve.points[index] = (points[at].0, points[at].1.0);
        }
        curve.len = kept;
        curve
    }
    /// The time of a size in picoseconds; `None` without points.
    #[inline]
    pub fn at(&self, bytes: u64) -> Option<u64> {
        let points = &self.points[..self.len];
        let above = points.partition_point(|point| point.0 < bytes);
        match points {
            [] => None,
            [only] => Some(only.1),
            _ if above == 0 => Some(points[0].1),
            _ => {
                let (a, b) = (points[(above - 1).min(self.len - 2)], points[above.min(self.len - 1).max(1)]);
                let share = (bytes - a.0) as f64 / (b.0 - a.0).max(1) as f64;
                Some((a.1 as f64 + (b.1 as f64 - a.1 as f64) * share).clamp(0.0, 4e18) as u64)
            }
        }
    }
}

/// LogGOPS: LogGP with a processor overhead per byte and a threshold for the rendezvous protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGops {
    /// L: time of a message's head through the network.
    pub latency: Time,
    /// o: processor time to send or receive a message.
    pub overhead: Time,
    /// g: least time between the starts of two short messages on one adapter, each way.
    pub gap: Time,
    /// G: adapter time per byte beyond the first.
    pub gap_per_byte: PerByte,
    /// O: processor time per byte beyond the first.
    pub overhead_per_byte: PerByte,
    /// S: messages of more bytes are sent by rendezvous.
    pub eager_max: u64,
    /// Time that one unit of `calc` stands for (a nanosecond in LogGOPSim's traces).
    pub calc_unit: Time,
    /// Time from a message's head to its last byte, in place of G; empty where G holds for all sizes.
    pub transit: Curve,
    /// Time that a message keeps an adapter, in place of g and G.
    pub occupancy: Curve,
}

impl LogGops {
    /// Picoseconds from the arrival of a message's head to that of its last byte.
    #[inline]
    pub(super) fn transit(&self, bytes: u64) -> u64 {
        self.transit.at(bytes).unwrap_or_else(|| self.gap_per_byte.beyond_first(bytes))
    }
    /// Picoseconds for which a message keeps its adapters from the next.
    #[inline]
    pub(super) fn occupancy(&self, bytes: u64) -> u64 {
        self.occupancy.at(bytes).unwrap_or_else(|| self.gap.0 + self.transit(bytes))
    }

    /// Processor time of a message of `size` bytes.
    #[inline]
    pub(super) fn work(&self, size: u64) -> u64 {
        self.overhead.0 + self.overhead_per_byte.beyond_first(size)
    }

    /// The machine that a calibrated fabric describes by its `loggp_*` parameters.
    ///
    /// # Errors
    /// Which parameter is missing.
    pub fn of(spec: &FabricSpec) -> Result<LogGops, String> {
        let number = |name: &str| spec.parameters.get(name).map(|value| value.value);
        let known = |name: &str| {
            let how = "hotlink calibrate m.json --model loggp --name NAME";
            number(name)
                .ok_or_else(|| format!("{}: parameter.{name} is missing; `{how}` makes such a fabric", spec.name))
        };
        let time = |name: &str| known(name).map(|ps| Time(ps.round() as u64));
        let (mut latency, mut overhead) = (time("loggp_latency")?, time("loggp_overhead")?);
        let whole = per_size(spec, "loggp_time_of_");
        // A message of some size was faster than the parts of one, which other runs gave: it takes what it took.
        let fastest = whole.iter().map(|(_, whole)| whole.0).min().unwrap_or(u64::MAX);
        let over = (latency.0 + 2 * overhead.0).saturating_sub(fastest);
        let of_latency = over.min(latency.0);
        latency.0 -= of_latency;
        overhead.0 -= (over - of_latency).div_ceil(2).min(overhead.0);
        let short = latency.0 + 2 * overhead.0;
        let beyond = |(bytes, whole): (u64, Time)| (bytes, Time(whole.0.saturating_sub(short)));
        let transit: Vec<_> = whole.into_iter().map(beyond).collect();
        Ok(LogGops {
            latency,
            overhead,
            gap: time("loggp_gap")?,
            gap_per_byte: PerByte::from_ps(known("loggp_gap_per_byte")?),
            overhead_per_byte: PerByte(0),
            eager_max: u64::MAX,
            calc_unit: Time(1000),
            transit: Curve::through(&transit),
            occupancy: Curve::through(&per_size(spec, "loggp_gap_of_")),
        })
    }
}

/// The times that a fabric states for sizes, in the order of sizes.
pub fn per_size(spec: &FabricSpec, prefix: &str) -> Vec<(u64, Time)> {
    let sized = spec
        .parameters
        .beginning(prefix)
        .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.parse().ok()?, Time(value.value.round() as u64))));
    let mut points: Vec<(u64, Time)> = sized.collect();
    points.sort_unstable();
    points.dedup_by_key(|point| point.0);
    points
}

/// Longest single time that is accepted, 100 s: sums of billions still fit.
const MOST_PS: f64 = 1e14;
const ALLOWED: &str = "L, o, g as times such as 2us, 500ns; G, O as time per byte such as 0.08ns; S as a size such as 64KiB; L, o, g and G must be given";

impl FromStr for LogGops {
    type Err = String;

    fn from_str(text: &str) -> Result<LogGops, String> {
        let (mut times, mut per_byte) = ([None; 3], [None, Some(0.0)]);
        let mut eager_max = u64::MAX;
        let mut seen = Vec::new();
        for item in text.split(',') {
            let wrong = |what: &str| format!("`{}`: {what}; allowed: {ALLOWED}", item.trim());
            let (key, value) = item.split_once('=').ok_or_else(|| wrong("is not KEY=VALUE"))?;
            let (key, value) = (key.trim(), value.trim());
            if seen.contains(&key) {
                return Err(wrong("is given twice"));
            }
            seen.push(key);
            match key {
                "L" => times[0] = Some(time_ps(value).map_err(|what| wrong(&what))?),
                "o" => times[1] = Some(time_ps(value).map_err(|what| wrong(&what))?),
                "g" => times[2] = Some(time_ps(value).map_err(|what| wrong(&what))?),
                "G" => per_byte[0] = Some(byte_ps(value).map_err(|what| wrong(&what))?),
                "O" => per_byte[1] = Some(byte_ps(value).map_err(|what| wrong(&what))?),
                "S" => eager_max = value.parse::<Bytes>().map_err(|what| wrong(&what))?.0,
                _ => return Err(wrong("unknown key")),
            }
        }
        let given =
            |value: Option<f64>, key: &str| value.ok_or_else(|| format!("{key} is missing; allowed: {ALLOWED}"));
        let time = |value, key| given(value, key).map(|ps: f64| Time(ps.round() as u64));
        Ok(LogGops {
            latency: time(times[0], "L")?,
            overhead: time(times[1], "o")?,
            gap: time(times[2], "g")?,
            gap_per_byte: PerByte::from_ps(given(per_byte[0], "G")?),
            overhead_per_byte: PerByte::from_ps(given(per_byte[1], "O")?),
            eager_max,
            calc_unit: Time(1000),
            transit: Curve::default(),
            occupancy: Curve::default(),
        })
    }
}

/// A time with its unit in picoseconds; a bare 0 needs none.
fn time_ps(text: &str) -> Result<f64, String> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..end].trim().parse().map_err(|_| format!("`{text}` is no time"))?;
    let factor = match text[end..].trim() {
        "ps" => 1.0,
        "ns" => 1e3,
        "us" => 1e6,
        "ms" => 1e9,
        "s" => 1e12,
        "" if number == 0.0 => 1.0,
        "" => return Err("has no unit (ps, ns, us, ms, s)".to_owned()),
        unit => return Err(format!("unit `{unit}` is not one of ps, ns, us, ms, s")),
    };
    let ps = number * factor;
    if (0.0..=MOST_PS).contains(&ps) { Ok(ps) } else { Err("is not within 0 and 100 s".to_owned()) }
}

/// A time per byte: at most a microsecond, so that the largest message takes less than the end of time.
fn byte_ps(text: &str) -> Result<f64, String> {
    time_ps(text).and_then(|ps| if ps <= 1e6 { Ok(ps) } else { Err("is above 1 us per byte".to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_are_read_with_units() {
        let machine: LogGops = "L=2us, o=0.5us,g=50ns,G=0.08ns,S=64KiB".parse().unwrap();
        assert_eq!((machine.latency, machine.overhead, machine.gap), (Time(2_000_000), Time(500_000), Time(50_000)));
        assert_eq!(machine.gap_per_byte.beyond_first(1001), 80_000);
        assert_eq!((machine.eager_max, machine.overhead_per_byte), (65_536, PerByte(0)));
        let eager_max = |size: &str| format!("L=1us,o=0,g=0,G=0,S={size}").parse().map(|m: LogGops| m.eager_max);
        assert_eq!((eager_max("1 mib"), eager_max("2TB"), eager_max("8")), (Ok(1 << 20), Ok(2_000_000_000_000), Ok(8)));
    }

    #[test]
    fn a_rate_need_not_be_a_whole_number_of_picoseconds() {
        // 300 GB/s is 3.333 ps a byte: a MiB takes 3.4953 us, not 3.1457 (3 ps) nor 4.19 (4 ps).
        let per_byte = PerByte::from_ps(10.0 / 3.0);
        assert_eq!(per_byte.beyond_first((1 << 20) + 1), 3_495_253);
    }

    #[test]
    fn a_curve_goes_straight_between_its_points_and_on_beyond_the_last() {
        let curve = Curve::through(&[(0, Time(0)), (100, Time(100)), (200, Time(400))]);
        assert_eq!([0, 50, 100, 150, 200, 300].map(|bytes| curve.at(bytes)), [0, 50, 100, 250, 400, 700].map(Some));
        assert_eq!((Curve::default().at(8), Curve::through(&[(8, Time(5))]).at(99)), (None, Some(5)));
        let many: Vec<(u64, Time)> = (0..1000).map(|n| (n, Time(2 * n))).collect();
        assert_eq!((Curve::through(&many).at(0), Curve::through(&many).at(999)), (Some(0), Some(1998)));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("L=2us,o=1us,g=1us", "G is missing"),
            ("L=2", "`L=2`: has no unit"),
            ("L=2parsec", "unit `parsec`"),
            ("L", "is not KEY=VALUE"),
            ("Q=1us", "unknown key"),
            ("L=1us,L=2us", "is given twice"),
            ("L=-1us", "is not within"),
            ("S=4Kq", "`S=4Kq`: unit `Kq` is not one of B, KiB"),
            ("S=99999999999GiB", "is too large: at most"),
            ("S=", "`S=`: a value is missing"),
            ("L=101s", "is not within"),
            ("", "is not KEY=VALUE"),
        ] {
            let told = text.parse::<LogGops>().unwrap_err();
            assert!(told.contains(expected), "{text}: {told}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[LogGOS=,.0-9a-zμ+-]{0,40}") {
            let _ = text.parse::<LogGops>();
        }
    }
}
