//! `hotlink calibrate --model loggp`: ping-pong, stream and copies of one MPI become a LogGP machine, in its linear and
//! its piecewise form. It is checked on points that were held out and on benchmarks that it has not seen.

use super::fit::{self, LogGp, Point};
use super::{Measured, is, measured_value, undisturbed};
use hotlink_bench::is::{Class, ITERATIONS};
use hotlink_bench::{Calls, Direction, Record, Summary, Which};
use hotlink_fabric::spec::{FabricSpec, Status, Value};
use hotlink_loggp::Machine;
use hotlink_study::Error;
use hotlink_study::simulate::loggp::{collective, sorted};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer points of ping-pong than this fit nothing.
const LEAST_POINTS: usize = 3;

/// The measured times of one benchmark, sorted by size, each size once, see [`undisturbed`].
fn points(measured: &[Measured], wanted: impl Fn(&Record) -> bool, per_message: bool) -> Vec<Point> {
    let mut by_size: BTreeMap<u64, Vec<Point>> = BTreeMap::new();
    for Measured { record, .. } in measured.iter().filter(|m| wanted(&m.record)) {
        for point in times(record, per_message) {
            by_size.entry(point.size).or_default().push(point);
        }
    }
    by_size.into_values().map(|mut points| undisturbed(&mut points, |point| point.us)).collect()
}

/// A record's value of `key`; of rounds, the value of each.
fn values(record: &Record, key: &str) -> Vec<f64> {
    let is_of_rounds = record.text("statistic_of").unwrap_or("time_s") == key;
    let rounds = record.get("round_values").and_then(Json::as_array).filter(|_| is_of_rounds);
    let rounds = rounds.map(|rounds| rounds.iter().filter_map(Json::as_f64).collect::<Vec<_>>());
    let mut values = rounds.unwrap_or_else(|| record.number(key).into_iter().collect());
    values.retain(|value| value.is_finite() && *value > 0.0);
    values
}

/// A record's times: its latency, or what its bandwidth leaves each message; of rounds, each with an interval as wide.
fn times(record: &Record, per_message: bool) -> Vec<Point> {
    let key = if per_message { "bandwidth_MBps" } else { "latency_us" };
    let Some(size) = record.number("size_B").filter(|size| (0.0..1e15).contains(size)) else { return Vec::new() };
    let sampled = record.number(key).filter(|_| record.text("statistic_of") == Some(key));
    let end = |name: &str, value: f64| {
        let end = sampled.and_then(|whole| Some(record.number(name).filter(|end| *end > 0.0)? / whole));
        value * end.unwrap_or(1.0)
    };
    let point = |value: f64| {
        let (low, high) = (end("ci95_low", value), end("ci95_high", value));
        let (us, low, high) = if per_message { (size / value, size / high, size / low) } else { (value, low, high) };
        (us > 0.0).then_some(Point { size: size as u64, us, low, high })
    };
    values(record, key).into_iter().filter_map(point).collect()
}

/// Messages of which each is over before the next begins, as collectives call for them: one way, an exchange, to oneself.
fn in_a_row(measured: &[Measured], direction: Direction) -> Vec<Point> {
    let wanted = |r: &Record| is(r, "stream") && is_blocking(r) && r.text("direction") == Some(direction.name());
    let messages = if direction == Direction::Bi { 2.0 } else { 1.0 };
    let whole =
        |Point { size, us, low, high }| Point { size, us: messages * us, low: messages * low, high: messages * high };
    points(measured, wanted, true).into_iter().map(whole).collect()
}

/// The time that a call of a collective adds to its message. The evidence is short scatters on two ranks, where the
/// collective is one message in a row of them.
fn collective_overhead(measured: &[Measured], row: &[Point]) -> Option<f64> {
    let scatter = points(measured, |r| is(r, "scatter") && r.number("ranks") == Some(2.0), false);
    let message = |size: u64| row.iter().find(|point| point.size == size).map(|point| point.us);
    let more = scatter.iter().filter(|point| point.size <= fit::SHORT);
    let more: Vec<f64> = more.filter_map(|point| Some((point.us - message(point.size)?).max(0.0))).collect();
    Summary::of(&more).map(|summary| summary.median)
}

fn is_blocking(record: &Record) -> bool {
    record.text("calls") == Some(Calls::Blocking.name())
}

/// Copies while every processor of a pair copies: the bound of streams and ping-pong.
fn beside(measured: &[Measured]) -> Vec<Point> {
    let of = |record: &Record| {
        let is_stream = is(record, "saturation") || is(record, "stream");
        let one_pair = is_stream && record.number("pairs") == Some(1.0);
        // Results of before copies had a key of their own: where they were the bound.
        let copied = is(record, "pingpong") && record.text("limiting_resource") == Some("memory copy");
        let bound = || record.number("bound_bandwidth_MBps").filter(|_| one_pair || copied);
        let told = record.number("copies_MBps").filter(|_| one_pair || is(record, "pingpong"));
        let rate = told.or_else(bound).filter(|rate| *rate > 0.0)?;
        let size = record.number("size_B").filter(|size| (1.0..1e15).contains(size))?;
        let us = 2.0 * size / rate;
        Some(Point { size: size as u64, us, low: us, high: us })
    };
    let mut points: Vec<Point> = measured.iter().filter_map(|m| of(&m.record)).collect();
    points.sort_by_key(|point| point.size);
    points.chunk_by_mut(|a, b| a.size == b.size).map(|same| undisturbed(same, |point| point.us)).collect()
}

/// The data of a fit.
pub struct Fit {
    pingpong: Vec<Point>,
    stream: Vec<Point>,
    row: Vec<Point>,
    exchange: Vec<Point>,
    to_self: Vec<Point>,
    collective: Option<f64>,
    is_mpich: bool,
    copies: Vec<Point>,
    /// Copies while every processor copies: the bound of a saturation of one pair.
    beside: Vec<Point>,
    /// The messages go through shared memory.
    is_shared: bool,
    model: LogGp,
    /// Their 95 % intervals: of L, o, g and G.
    intervals: [(f64, f64); 4],
    source: String,
    alone: Option<Alone>,
}

/// A program's own work, from a sort on one rank. Microseconds of a scattered update, and of a byte moved between its
/// data and its messages' buffers.
struct Alone {
    update: f64,
    copy: Option<f64>,
    source: String,
}

/// The words that the ping-pongs have under `key`.
fn told<'a>(measured: &'a [Measured], key: &str) -> BTreeSet<&'a str> {
    let values = measured.iter().filter(|m| is(&m.record, "pingpong"));
    values.filter_map(|m| m.record.text(key)).collect()
}

/// # Errors
/// What is missing for a fit, or does not belong together.
pub fn can_fit(measured: &[Measured]) -> Result<(), Error> {
    let wrong = |what: String| Error::Input(format!("calibrate --model loggp: {what}"));
    for key in ["via", "mpi", "memory", "program"] {
        if let [a, b, ..] = told(measured, key).into_iter().collect::<Vec<_>>()[..] {
            return Err(wrong(format!("ping-pongs with {key} {a} and {b} are different machines: give those of one")));
        }
    }
    let sizes = points(measured, |r| is(r, "pingpong"), false).len();
    if sizes < LEAST_POINTS {
        let what = format!("{sizes} sizes of ping-pong are too few");
        return Err(wrong(format!("{what}: at least {LEAST_POINTS}, such as `measure pingpong --size 8..4MiB..x4`")));
    }
    Ok(())
}

impl Fit {
    /// Of records that [`can_fit`].
    pub fn of(measured: &[Measured]) -> Fit {
        let one_way = |r: &Record| !r.text("direction").is_some_and(|way| way.starts_with("bi") || way == "self");
        let streams = |r: &Record| {
            (is(r, "stream") && one_way(r) && !is_blocking(r) && r.number("window") != Some(1.0))
                || (is(r, "saturation") && r.number("pairs") == Some(1.0))
        };
        let pingpong = points(measured, |r| is(r, "pingpong"), false);
        let stream = points(measured, streams, true);
        let directions = [Direction::Uni, Direction::Bi, Direction::Own];
        let [row, exchange, to_self] = directions.map(|direction| in_a_row(measured, direction));
        let collective = collective_overhead(measured, &row);
        let is_mpich = told(measured, "mpi").iter().any(|mpi| mpi.starts_with("MPICH"));
        let copies =
            points(measured, |r| is(r, "memory") && r.number("stride").is_none_or(|stride| stride == 1.0), true);
        let beside = beside(measured);
        // Under an MPI a hand-off of cache lines bounds short messages where, and only where, ranks share memory.
        let handed = |m: &&Measured| m.record.text("limiting_resource").is_some_and(|what| what.contains("hand-off"));
        let is_shared =
            told(measured, "via").contains("shm") || measured.iter().any(|m| is(&m.record, "pingpong") && handed(&m));
        let kept = (fit::kept(&pingpong), fit::kept(&stream));
        let (model, intervals) = (fit::fit(&kept.0, &kept.1), fit::intervals(&kept.0, &kept.1));
        let source = measured.iter().find(|m| is(&m.record, "pingpong")).map_or(String::new(), |m| m.source.clone());
        let mut fit = Fit {
            pingpong,
            stream,
            row,
            exchange,
            to_self,
            collective,
            is_mpich,
            copies,
            beside,
            is_shared,
            model,
            intervals,
            source,
            alone: None,
        };
        fit.alone = fit.alone(measured);
        fit
    }

    /// Of a sort on one rank: the time for updates without its copies and streams, and its communication. The latter is
    /// three copies of the keys (to the message, to the rank itself, from the message).
    fn alone(&self, measured: &[Measured]) -> Option<Alone> {
        let alone = measured.iter().filter(|m| is(&m.record, "is") && m.record.number("ranks") == Some(1.0));
        let alone = alone.filter_map(|m| {
            Some((class(&m.record)?, m.record.number("bound_time_s").or(m.record.number("time_s"))?, m))
        });
        let mut alone: Vec<(Class, f64, &Measured)> = alone.collect();
        let most = alone.iter().map(|(class, _, _)| class.keys()).max()?;
        alone.retain(|(class, _, _)| class.keys() == most);
        let (class, seconds, from) = undisturbed(&mut alone, |(_, seconds, _)| *seconds);
        let (streamed, scattered) = class.own_work(1);
        // Sorts are measured on every processor of a pair at once: they have the memory together.
        let copies = if self.beside.is_empty() { &self.copies } else { &self.beside };
        let streamed_us = fit::curve(copies).at(streamed / 2)? as f64 / 1e6;
        let each = |seconds: f64| seconds * 1e6 / ITERATIONS as f64;
        let copied = (3 * size_of::<u32>() as u64 * class.keys()) as f64;
        Some(Alone {
            update: ((each(seconds) - streamed_us) / scattered as f64).max(0.0),
            copy: from.record.number("communication_s").map(|seconds| each(seconds) / copied),
            source: format!("{}: class {} on one rank", from.source, class.name()),
        })
    }

    /// The fabric's parameters.
    pub fn parameters(&self, measured: &[Measured]) -> BTreeMap<String, Value<f64>> {
        let mut parameters = BTreeMap::new();
        let from = measured.iter().find(|m| is(&m.record, "pingpong")).unwrap_or(&measured[0]);
        let mut put = |name: String, us: f64, unit: &str, status: Status, what: &str| {
            parameters.insert(name, Value { status, ..measured_value(us * 1e6, unit, from, what) });
        };
        let LogGp { latency, overhead, gap, gap_per_byte } = self.model;
        let what = "least relative squares over ping-pong and stream, without the points held out";
        let shared = format!("{what}; {}", fit::ASSUMED);
        put("loggp_latency".to_owned(), latency, "us", Status::Estimated, &shared);
        put("loggp_overhead".to_owned(), overhead, "us", Status::Estimated, &shared);
        put("loggp_gap".to_owned(), gap, "us", Status::Fitted, what);
        put("loggp_gap_per_byte".to_owned(), gap_per_byte, "us/B", Status::Fitted, what);
        let curves = [
            ("loggp_time_of_", &self.pingpong, "ping-pong at this size"),
            ("loggp_gap_of_", &self.stream, "stream at this size"),
            ("row_time_of_", &self.row, "a message of this size in a row of blocking calls"),
            ("exchange_time_of_", &self.exchange, "an exchange in a row of them, at this size"),
            ("self_time_of_", &self.to_self, "a message to oneself, of this size"),
            ("copy_time_of_", &self.copies, "copy of a block of this size"),
            ("copy_time_beside_others_of_", &self.beside, "copy of a block of this size while every processor copies"),
        ];
        for (prefix, points, what) in curves {
            points
                .iter()
                .for_each(|point| put(format!("{prefix}{}", point.size), point.us, "us", Status::Measured, what));
        }
        let (share, what) =
            (if self.is_shared { 1.0 } else { 0.0 }, "by what carries the messages: nothing was measured");
        put("loggp_processor_share".to_owned(), share / 1e6, "ratio", Status::Estimated, what);
        if let Some(us) = self.collective {
            let what = "short scatters, less a message in a row of blocking calls";
            put("collective_overhead".to_owned(), us, "us", Status::Measured, what);
        }
        for (name, most, what) in self.own_parts() {
            put(name.to_owned(), most / 1e6, "B", Status::Estimated, what);
        }
        if let Some(Alone { update, copy, source }) = &self.alone {
            put("update_time".to_owned(), *update, "us", Status::Fitted, source);
            if let Some(copy) = copy {
                put("program_copy_time_per_byte".to_owned(), *copy, "us/B", Status::Fitted, source);
            }
        }
        parameters
    }

    /// The 95 % intervals of the parameters that are fitted, as their uncertainty, in base units by dotted key.
    pub fn ranges(&self) -> BTreeMap<String, [f64; 2]> {
        let names = ["latency", "overhead", "gap", "gap_per_byte"];
        let LogGp { latency, overhead, gap, gap_per_byte } = self.model;
        let values = [latency, overhead, gap, gap_per_byte];
        let named = names.into_iter().zip(values.into_iter().zip(self.intervals));
        // An interval is of the drawn points' fits, and the fit itself may lie at its edge.
        let range = |(name, (value, (low, high))): (&str, (f64, (f64, f64)))| {
            (format!("parameter.loggp_{name}"), [low.min(value) * 1e6, high.max(value) * 1e6])
        };
        named.map(range).collect()
    }

    /// Up to which size a rank's own part of an exchange is sent as a message to itself, not copied: the MPI's choice.
    fn own_parts(&self) -> Vec<(&'static str, f64, &'static str)> {
        let known = self.is_mpich && !self.to_self.is_empty();
        let chosen = [
            ("alltoall_own_message_max", 32_768.0, "MPICH's default: MPIR_CVAR_ALLTOALL_MEDIUM_MSG_SIZE"),
            ("alltoallv_own_message_max", 1e12, "MPICH's alltoallv posts one's own part with the others'"),
        ];
        chosen.into_iter().filter(|_| known).collect()
    }

    /// Parameters with their intervals, residuals, and the error on what was held out, which the notes say for people.
    pub fn records(&self, fabric: &str) -> (Vec<Record>, Vec<String>) {
        let mut notes = Vec::new();
        let LogGp { latency, overhead, gap, gap_per_byte } = self.model;
        let values = [
            ("L", latency, 1.0, "us"),
            ("o", overhead, 1.0, "us"),
            ("g", gap, 1.0, "us"),
            ("G", gap_per_byte, 1e3, "ns/B"),
        ];
        let mut records: Vec<Record> = values
            .into_iter()
            .zip(self.intervals)
            .map(|((name, value, scale, unit), (low, high))| {
                let is_assumed = ["L", "o"].contains(&name);
                let record = Record::new()
                    .with("fabric", fabric)
                    .with("method", if is_assumed { "estimated" } else { "fitted" })
                    .with("parameter", name)
                    .with("value", value * scale)
                    .with("unit", unit)
                    .with("ci95_low", low * scale)
                    .with("ci95_high", high * scale)
                    .with("source", self.source.as_str());
                if is_assumed { record.with("note", fit::ASSUMED) } else { record }
            })
            .collect();
        for (benchmark, points) in [("pingpong", &self.pingpong), ("stream", &self.stream)] {
            if points.len() < 3 {
                continue;
            }
            let (residuals, linear, piecewise) = fit::residuals(fabric, benchmark, points, &self.model);
            let held_out =
                residuals.iter().filter(|record| record.get("held_out").is_some_and(|held| held == true)).count();
            let [a, b, c, d] = [linear[0], linear[1], piecewise[0], piecewise[1]].map(fit::percent);
            notes.push(format!(
                "{benchmark}: on {held_out} sizes held out, LogGP is off by {a} in the mean and {b} at most, its piecewise form by {c} and {d}"
            ));
            records.extend(residuals);
            records.push(
                Record::new()
                    .with("fabric", fabric)
                    .with("benchmark", benchmark)
                    .with("method", "loggp")
                    .with("held_out_sizes", held_out)
                    .with("loggp_mean_error", linear[0])
                    .with("loggp_max_error", linear[1])
                    .with("piecewise_mean_error", piecewise[0])
                    .with("piecewise_max_error", piecewise[1]),
            );
        }
        (records, notes)
    }
}

fn class(record: &Record) -> Option<Class> {
    [Class::S, Class::W, Class::A, Class::B, Class::C]
        .into_iter()
        .find(|class| record.text("class") == Some(class.name()))
}

/// A benchmark that is predicted, with everything that was measured of it.
struct Seen<'a> {
    record: &'a Record,
    which: Option<Which>,
    size: u64,
    ranks: u32,
    measured_us: Vec<f64>,
    /// Operations in a row, from a barrier: they flow into each other.
    repeats: Vec<f64>,
}

/// The predictable records, repetitions together, in the order of their first.
fn seen(all: &[Measured]) -> Vec<Seen<'_>> {
    let mut found: Vec<Seen> = Vec::new();
    for Measured { record, .. } in all {
        let (which, key, scale) = match record.text("benchmark").unwrap_or_default() {
            "is" => (None, "time_s", 1e6),
            "alltoall" => (Some(Which::Alltoall), "latency_us", 1.0),
            "alltoallv" => (Some(Which::Alltoallv), "latency_us", 1.0),
            "bcast" => (Some(Which::Bcast), "latency_us", 1.0),
            _ => continue,
        };
        let ranks = record.number("ranks").unwrap_or(0.0) as u32;
        let measured_us: Vec<f64> = values(record, key).into_iter().map(|value| value * scale).collect();
        if measured_us.is_empty() || ranks < 2 {
            continue;
        }
        let size = record.number("size_B").map_or(0, |size| size as u64);
        let repeat = record.number("inner").map_or(1.0, |inner| inner.clamp(1.0, 1000.0));
        let same = |seen: &&mut Seen| {
            let equal = |key: &str| seen.record.get(key) == record.get(key);
            ["benchmark", "ranks", "size_B", "class"].into_iter().all(equal)
        };
        match found.iter_mut().find(same) {
            Some(seen) => {
                seen.measured_us.extend(measured_us);
                seen.repeats.push(repeat);
            }
            None => found.push(Seen { record, which, size, ranks, measured_us, repeats: vec![repeat] }),
        }
    }
    found
}

/// Benchmarks that the calibration has not seen, predicted by simulation and compared with the measurement, see
/// `undisturbed`.
pub fn check(spec: &FabricSpec, all: &[Measured]) -> Result<Vec<Record>, Error> {
    let machine = Machine::of(spec).map_err(Error::Input)?;
    let median = |values: &[f64]| Summary::of(values).map_or(0.0, |summary| summary.median);
    let mut records = Vec::new();
    for Seen { record, which, size, ranks, mut measured_us, repeats } in seen(all) {
        let row = median(&repeats) as u64;
        let predicted_us = match (class(record), which) {
            (Some(class), _) => sorted(&machine, class, ranks, Record::new())
                .map(|(record, _)| record.number("time_s").unwrap_or(0.0) * 1e6),
            (None, Some(which)) => collective(&machine, which, (ranks, size, row), None).map(|predicted| predicted.us),
            (None, None) => continue,
        };
        let predicted_us = predicted_us.map_err(Error::Input)?;
        let head = Record::new()
            .with("fabric", spec.name.as_str())
            .with("benchmark", record.text("benchmark").unwrap_or_default())
            .with("method", "loggp")
            .with("kind", "prediction")
            .with("ranks", ranks);
        let head = match class(record) {
            Some(class) => head.with("class", class.name()),
            None => head.with("size_B", size),
        };
        let measured = undisturbed(&mut measured_us, |us| *us);
        records.push(
            head.with("measured_us", measured)
                .with("measurements", measured_us.len())
                .with("measured_min_us", measured_us[0])
                .with("measured_median_us", median(&measured_us))
                .with("measured_max_us", measured_us[measured_us.len() - 1])
                .with("predicted_us", predicted_us)
                .with("error", predicted_us / measured - 1.0),
        );
    }
    match records.is_empty() {
        true => Err(Error::Input("--check: holds no is, alltoall, alltoallv or bcast of two ranks or more".to_owned())),
        false => Ok(records),
    }
}
