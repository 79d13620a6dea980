//! The LogGP fit: parameters, their confidence intervals, residuals, and the error on points that were held out.

use hotlink_bench::Record;
use hotlink_event::random::Random;
use hotlink_fabric::units::Time;
use hotlink_loggp::Curve;
use hotlink_study::text::figure;

/// A measured time at a size, with the 95 % interval of the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The size in bytes.
    pub size: u64,
    /// The median, in microseconds.
    pub us: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// LogGP's parameters, in microseconds and microseconds per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogGp {
    /// L.
    pub latency: f64,
    /// o.
    pub overhead: f64,
    /// g.
    pub gap: f64,
    /// G.
    pub gap_per_byte: f64,
}

impl LogGp {
    /// Half round trip of a message: 2 o + L + s G.
    fn time(&self, size: u64) -> f64 {
        2.0 * self.overhead + self.latency + self.gap_per_byte * size as f64
    }
    /// Between the starts of two messages: g + s G.
    fn between(&self, size: u64) -> f64 {
        self.gap + self.gap_per_byte * size as f64
    }
}

/// Sizes up to which a message counts as short.
pub const SHORT: u64 = 1024;
/// Rounds of the bootstrap, and its seed: the same results give the same intervals.
const ROUNDS: usize = 400;
const SEED: u64 = 1;

/// T = a + b s with the least sum of squared relative errors, neither below zero.
fn line(points: &[Point]) -> (f64, f64) {
    let (mut w, mut x, mut xx, mut y, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for point in points {
        let (s, weight) = (point.size as f64, 1.0 / (point.us * point.us));
        w += weight;
        x += weight * s;
        xx += weight * s * s;
        y += weight * point.us;
        xy += weight * s * point.us;
    }
    let determinant = w * xx - x * x;
    let slope = if determinant.abs() > f64::EPSILON * w * xx { (w * xy - x * y) / determinant } else { 0.0 };
    let start = if w > 0.0 { (y - slope.max(0.0) * x) / w } else { 0.0 };
    if start < 0.0 { (0.0, if xx > 0.0 { xy / xx } else { 0.0 }) } else { (start, slope.max(0.0)) }
}

/// The assumption on L and o, which ping-pong and stream do not separate.
pub const ASSUMED: &str =
    "ping-pong tells 2 o + L alone; o is taken as large as g and half of that allow, and may be any less";

/// L, o, g and G of ping-pong and stream. Ping-pong alone gives 2 o + L. A stream of short messages gives the larger of
/// g and the processors' time for each. All of that time is taken as o, as far as it fits into half the round trip
/// ([`ASSUMED`]).
pub fn fit(pingpong: &[Point], stream: &[Point]) -> LogGp {
    let (start, gap_per_byte) = line(pingpong);
    let mut gaps: Vec<f64> = stream
        .iter()
        .filter(|point| point.size <= SHORT)
        .map(|point| (point.us - gap_per_byte * point.size as f64).max(0.0))
        .collect();
    gaps.sort_by(f64::total_cmp);
    let gap = gaps.get(gaps.len() / 2).copied().unwrap_or(start / 2.0);
    let overhead = gap.min(start / 2.0);
    LogGp { latency: start - 2.0 * overhead, overhead, gap, gap_per_byte }
}

/// 95 % intervals by the bootstrap: points are drawn anew, each moved within its own interval. Those of L and o hold
/// every share of 2 o + L that the data allow, from o = 0 with L all of it.
pub fn intervals(pingpong: &[Point], stream: &[Point]) -> [(f64, f64); 4] {
    let mut random = Random::new(SEED);
    let mut draws: [Vec<f64>; 4] = Default::default();
    let mut starts = Vec::new();
    for _ in 0..ROUNDS {
        let (a, b) = (drawn(pingpong, &mut random), drawn(stream, &mut random));
        let LogGp { latency, overhead, gap, gap_per_byte } = fit(&a, &b);
        draws.iter_mut().zip([latency, overhead, gap, gap_per_byte]).for_each(|(draws, value)| draws.push(value));
        starts.push(2.0 * overhead + latency);
    }
    let ends = |mut draws: Vec<f64>| {
        draws.sort_by(f64::total_cmp);
        (draws[ROUNDS * 25 / 1000], draws[ROUNDS * 975 / 1000])
    };
    let [latency, overhead, gap, gap_per_byte] = draws.map(ends);
    [(latency.0, ends(starts).1), (0.0, overhead.1), gap, gap_per_byte]
}

fn drawn(points: &[Point], random: &mut Random) -> Vec<Point> {
    let one = |_| {
        let point = points[random.below(points.len() as u32) as usize];
        // Twelve uniform numbers make a normal one, near enough; an interval of 95 % is 3.92 deviations wide.
        let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let us = point.us + normal * (point.high - point.low) / 3.92;
        Point { us: us.max(point.us * 0.1), ..point }
    };
    (0..points.len()).map(one).collect()
}

/// Whether the point at `index` of `count` is held out: every third, never the ends, which nothing could replace.
pub fn is_held_out(index: usize, count: usize) -> bool {
    index % 3 == 1 && index + 1 < count
}

/// The points that are kept for the fit.
pub fn kept(points: &[Point]) -> Vec<Point> {
    let count = points.len();
    points.iter().enumerate().filter(|(index, _)| !is_held_out(*index, count)).map(|(_, point)| *point).collect()
}

/// The piecewise form through these points.
pub fn curve(points: &[Point]) -> Curve {
    let knots: Vec<(u64, Time)> = points.iter().map(|point| (point.size, Time::from_us(point.us))).collect();
    Curve::through(&knots)
}

/// Residuals of both forms, fitted to the points that were kept, at every point of a benchmark. Also the mean and the
/// largest relative error at those that were held out.
pub fn residuals(fabric: &str, benchmark: &str, points: &[Point], model: &LogGp) -> (Vec<Record>, [f64; 2], [f64; 2]) {
    let pieces = curve(&kept(points));
    let (mut records, mut errors) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (index, point) in points.iter().enumerate() {
        let linear = if benchmark == "pingpong" { model.time(point.size) } else { model.between(point.size) };
        let piecewise = pieces.at(point.size).map_or(f64::NAN, |ps| ps as f64 / 1e6);
        let held_out = is_held_out(index, points.len());
        let relative = [linear, piecewise].map(|predicted| predicted / point.us - 1.0);
        if held_out {
            errors.iter_mut().zip(relative).for_each(|(errors, relative)| errors.push(relative.abs()));
        }
        records.push(
            Record::new()
                .with("fabric", fabric)
                .with("benchmark", benchmark)
                .with("method", "loggp")
                .with("size_B", point.size)
                .with("measured_us", point.us)
                .with("loggp_us", linear)
                .with("loggp_residual", relative[0])
                .with("piecewise_us", piecewise)
                .with("piecewise_residual", relative[1])
                .with("held_out", held_out),
        );
    }
    let mean = |errors: &Vec<f64>| errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let most = |errors: &Vec<f64>| errors.iter().copied().fold(0.0, f64::max);
    (records, [mean(&errors[0]), most(&errors[0])], [mean(&errors[1]), most(&errors[1])])
}

/// A share as people read it.
pub fn percent(share: f64) -> String {
    format!("{} %", figure(100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(f: impl Fn(u64) -> f64, noise: f64) -> Vec<Point> {
        let sizes = [0u64, 8, 64, 512, 4096, 32768, 262_144, 1 << 21];
        let one = |&size: &u64| {
            let us = f(size);
            Point { size, us, low: us * (1.0 - noise), high: us * (1.0 + noise) }
        };
        sizes.iter().map(one).collect()
    }

    #[test]
    fn the_parameters_of_a_loggp_machine_are_found_and_lie_in_their_intervals() {
        let truth = LogGp { latency: 1.0, overhead: 0.3, gap: 0.3, gap_per_byte: 1e-4 };
        let (pingpong, stream) = (points(|s| truth.time(s), 0.02), points(|s| truth.between(s), 0.02));
        let found = fit(&pingpong, &stream);
        let pairs = |m: LogGp| [m.latency, m.overhead, m.gap, m.gap_per_byte];
        for ((found, truth), (low, high)) in
            pairs(found).into_iter().zip(pairs(truth)).zip(intervals(&pingpong, &stream))
        {
            assert!((found / truth - 1.0).abs() < 1e-6, "{found} {truth}");
            assert!(low <= truth && truth <= high, "{low} {truth} {high}");
        }
        let [_, _, gap, gap_per_byte] = intervals(&pingpong, &stream);
        assert!(gap.1 - gap.0 < 0.15 && gap_per_byte.1 - gap_per_byte.0 < 0.5e-4, "{gap:?} {gap_per_byte:?}");
    }

    #[test]
    fn latency_and_overhead_have_intervals_that_hold_every_machine_of_the_same_times() {
        // Of the same ping-pong and stream: o is 1 here, and the fit takes 2.
        let truth = LogGp { latency: 4.0, overhead: 1.0, gap: 2.0, gap_per_byte: 1e-3 };
        let (pingpong, stream) = (points(|s| truth.time(s), 0.01), points(|s| truth.between(s), 0.01));
        assert!((fit(&pingpong, &stream).overhead - 2.0).abs() < 1e-6);
        let [latency, overhead, ..] = intervals(&pingpong, &stream);
        for (value, (low, high)) in [(4.0, latency), (6.0, latency), (1.0, overhead), (0.0, overhead)] {
            assert!((low..=high).contains(&value) || (value - high).abs() < 0.1, "{value}: {low} to {high}");
        }
        assert!(latency.0 > 1.5 && overhead.1 < 2.5, "{latency:?} {overhead:?}");
    }

    #[test]
    fn a_step_shows_as_residual_of_the_line_and_less_of_the_pieces() {
        // The step lies between two sizes that are kept, as it must for the pieces to know of it.
        let stepped = points(|s| if s > 64 { 4.0 + s as f64 * 1e-4 } else { 1.0 + s as f64 * 1e-4 }, 0.01);
        let model = fit(&kept(&stepped), &[]);
        let (records, linear, piecewise) = residuals("x", "pingpong", &stepped, &model);
        assert_eq!(records.iter().filter(|record| record.get("held_out").unwrap() == true).count(), 2);
        assert!(linear[0] > 0.1 && piecewise[1] < 1e-4, "{linear:?} {piecewise:?}");
    }

    proptest! {
        #[test]
        fn any_points_give_parameters_that_are_not_negative(
            raw in prop::collection::vec((0u64..1 << 24, 0.01f64..1e6, 0.0f64..0.5), 1..20),
        ) {
            let mut points: Vec<Point> =
                raw.iter().map(|&(size, us, w)| Point { size, us, low: us * (1.0 - w), high: us * (1.0 + w) }).collect();
            points.sort_by_key(|point| point.size);
            let LogGp { latency, overhead, gap, gap_per_byte } = fit(&points, &points);
            for value in [latency, overhead, gap, gap_per_byte] {
                prop_assert!(value >= -1e-9 && value.is_finite(), "{latency} {overhead} {gap} {gap_per_byte}");
            }
        }
    }
}
