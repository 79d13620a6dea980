//! `hotlink calibrate --model memory`: copies measured by size and stride become the values of a machine's memory
//! system. They are checked on strides that were held out and on deposits that it has not seen.
//!
//! Five strides are used: contiguous, the least above, a line's words, two lines' words, and the largest. Each value is
//! read where one effect alone decides (a block within a cache, lines from one cache). The memory's times and the
//! look-up of a page come from all blocks beyond the caches by least squares. Three values are those with which the
//! model agrees best: the last cache's share, how it finds its sets, and the known pages.

mod reading;

use super::{Measured, is, measured_value, undisturbed};
use hotlink_bench::Record;
use hotlink_bench::distribution::median;
use hotlink_fabric::spec::{Status, Value};
use hotlink_fabric::units::Time;
use hotlink_memory::machine::LEVELS;
use hotlink_memory::{Kernel, Machine, Memory, WORD};
use hotlink_port::HALVES_BYTES;
use hotlink_study::Error;
use hotlink_study::parallel::each;
use hotlink_study::text::figure;
use reading::{Geometry, MISSES, PAGES, PLACES, Reading};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// A size and a stride in words, with the measured nanoseconds of a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    size: u64,
    stride: u64,
    ns: f64,
}

impl Point {
    fn words(&self) -> f64 {
        self.size as f64 / WORD as f64
    }
    /// Nanoseconds of a word.
    fn each(&self) -> f64 {
        self.ns / self.words()
    }
}

/// Sizes and strides that can be simulated.
const MODELLED: (RangeInclusive<u64>, RangeInclusive<u64>) = (WORD..=64 << 30, 1..=4096);
/// Bytes of lines and of pages that can be simulated, and the largest share of a cache that is looked for.
const POSSIBLE: (RangeInclusive<u64>, RangeInclusive<u64>) = (32..=256, 1 << 10..=64 << 10);
const MOST_CACHE: u64 = 256 << 20;
/// Errors up to here count as met.
const CLOSE: f64 = 0.2;
/// Blocks below this are mostly the call.
const TOLD_FROM: u64 = 4 << 10;

fn wrong(what: impl std::fmt::Display) -> Error {
    Error::Input(format!("calibrate --model memory: {what}"))
}

/// The copies of `measure memory`, sorted by stride and size, each once.
fn points(measured: &[Measured]) -> Result<Vec<Point>, Error> {
    let copies: Vec<&Measured> = measured.iter().filter(|m| is(&m.record, "memory")).collect();
    let kinds: BTreeSet<&str> = copies.iter().filter_map(|m| m.record.text("memory")).collect();
    if kinds.len() > 1 {
        return Err(wrong("copies in private and in shared memory are different: give those of one"));
    }
    let mut by_place: BTreeMap<(u64, u64), Vec<Point>> = BTreeMap::new();
    for Measured { record, .. } in copies {
        let Some(point) = copied(record) else { continue };
        if !MODELLED.0.contains(&point.size) || !MODELLED.1.contains(&point.stride) {
            let (Point { size, stride, .. }, allowed) = (point, "8 B to 64 GiB and strides from 1 to 4096");
            return Err(wrong(format!("a copy of {size} B at stride {stride}: must be {allowed}")));
        }
        by_place.entry((point.stride, point.size)).or_default().push(point);
    }
    Ok(by_place.into_values().map(|mut same| undisturbed(&mut same, |point| point.ns)).collect())
}

/// The copy of a record.
fn copied(record: &Record) -> Option<Point> {
    let (size, stride) = (record.number("size_B")? as u64, record.number("stride")? as u64);
    let rate = record.number("bandwidth_MBps").filter(|rate| *rate > 0.0)?;
    Some(Point { size, stride, ns: 1e3 * size as f64 / rate })
}

/// The caches of the machine that copied.
fn geometry(measured: &[Measured]) -> Result<Geometry, Error> {
    let missing = || wrong("the results do not tell the machine's caches and page: measure again with this hotlink");
    let copies = measured.iter().filter(|m| is(&m.record, "memory"));
    let told: Option<Vec<(&Json, f64)>> =
        copies.map(|m| Some((m.record.get("caches")?, m.record.number("page_B")?))).collect();
    let told = told.ok_or_else(missing)?;
    let (first, page) = *told.first().ok_or_else(missing)?;
    if told.iter().any(|told| *told != (first, page)) {
        return Err(wrong("the results are of machines with different caches or pages: give those of one"));
    }
    let cache = |one: &Json| {
        let number = |key: &str| one.get(key).and_then(Json::as_u64);
        Some((number("size_B")?.min(MOST_CACHE), number("ways")?, number("line_B")?))
    };
    let caches = first.as_array().and_then(|all| all.iter().map(cache).collect::<Option<Vec<_>>>());
    let caches = caches.ok_or_else(missing)?;
    let line = caches.first().map_or(0, |&(.., line)| line);
    let fits = |&(size, ways, own): &(u64, u64, u64)| own == line && ways >= 1 && ways.saturating_mul(line) <= size;
    let grows = caches.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let is_known = (2..=LEVELS.len()).contains(&caches.len()) && grows && caches.iter().all(fits);
    if !is_known || !POSSIBLE.0.contains(&line) || !POSSIBLE.1.contains(&(page as u64)) {
        let allowed =
            "two or three levels, each larger than the one before, lines of 32 to 256 B and pages of 1 to 64 KiB";
        return Err(wrong(format!(
            "caches {first} and pages of {page} B cannot be simulated: there must be {allowed}"
        )));
    }
    let caches = caches.into_iter().map(|(size, ways, _)| (size, ways)).collect();
    Ok(Geometry { line, caches, page: page as u64 })
}

/// A memory system read from copies.
pub struct Fit {
    points: Vec<Point>,
    /// The strides that values were taken from.
    used: [u64; 5],
    memory: Memory,
    /// The least and the largest number of pages that the processor may know, where look-ups show.
    known: Option<[f64; 2]>,
    /// The longest look-up of a page that would not show, in nanoseconds.
    unseen: f64,
    /// Strides at which copies beyond the caches contradict each other, with the least and the longest time of a word.
    contradictions: Vec<(u64, f64, f64)>,
}

impl Fit {
    /// Of `measure memory` with strides from 1 to beyond a line, and sizes from a line to beyond all caches.
    ///
    /// # Errors
    /// What is missing.
    pub fn of(measured: &[Measured]) -> Result<Fit, Error> {
        let (points, geometry) = (points(measured)?, geometry(measured)?);
        let by_line = geometry.line / WORD;
        let strides: BTreeSet<u64> = points.iter().map(|point| point.stride).collect();
        let above = strides.range(2..by_line).next().copied();
        let pair = 2 * by_line;
        let largest = strides.last().copied().filter(|largest| *largest > pair);
        let has_all = [1, by_line, pair].iter().all(|stride| strides.contains(stride));
        let (Some(above), Some(largest), true) = (above, largest, has_all) else {
            let between = format!("one between 1 and {by_line}, and one beyond {pair}");
            let what = format!("strides 1, {by_line}, {pair}, {between} are needed");
            return Err(wrong(format!("{what}: `hotlink measure memory --strides 1..64..x2 --json`")));
        };
        let used = [1, above, by_line, pair, largest];
        let reading = Reading { points: &points, geometry: &geometry, used };
        let (machine, known) = reading.known_pages(reading.shared_last(&reading.machine()?));
        let (unseen, contradictions) = (reading.memory()?.unseen, reading.contradictions(CLOSE)?);
        Ok(Fit { points, used, memory: Memory::new(machine), known, unseen, contradictions })
    }

    /// The machine that was found.
    pub fn machine(&self) -> &Machine {
        self.memory.machine()
    }

    /// The values as a catalog has them, and what they may be where they are estimated, in base units by dotted key.
    pub fn parameters(&self, measured: &[Measured]) -> (BTreeMap<String, Value<f64>>, BTreeMap<String, [f64; 2]>) {
        let (mut parameters, mut ranges) = (BTreeMap::new(), BTreeMap::new());
        let from = measured.iter().find(|m| is(&m.record, "memory")).unwrap_or(&measured[0]);
        let mut put = |name: &str, value: f64, unit: &str, status: Status, what: &str| {
            let value = match status {
                Status::Estimated => Value { value, unit: unit.to_owned(), source: what.to_owned(), status },
                _ => Value { status, ..measured_value(value, unit, from, what) },
            };
            parameters.insert(name.to_owned(), value);
        };
        let machine = self.machine();
        let (measured, fitted, estimated) = (Status::Measured, Status::Fitted, Status::Estimated);
        let ps = |time: Time| time.0 as f64;
        let system = "as the system describes it";
        put("memory_line", machine.line as f64, "B", measured, system);
        for (at, (level, [size, ways, time])) in machine.caches.iter().zip(LEVELS).enumerate() {
            let is_share = at + 1 == machine.caches.len();
            let share = "the share with which the model agrees best";
            put(
                size,
                level.size as f64,
                "B",
                if is_share { fitted } else { measured },
                if is_share { share } else { system },
            );
            put(ways, level.ways as f64, "lines", measured, system);
            let what = if at == 0 {
                "words of blocks within the cache"
            } else {
                "lines from this cache, a line's stride apart"
            };
            put(time, ps(level.line_time), "ns", fitted, what);
        }
        let largest = "blocks beyond the caches, least relative squares over five strides";
        put("memory_line_time", ps(machine.dram.read), "ns", fitted, largest);
        put("memory_write_time", ps(machine.dram.write), "ns", fitted, largest);
        if let Some(translation) = machine.translation {
            put("tlb_page", translation.page as f64, "B", measured, system);
            let agrees = "the number with which the model agrees best at the largest stride";
            let none = "no look-up shows in blocks beyond the caches; a longer one than the range tells would";
            let (look_up, status) = self.known.map_or((none, estimated), |_| (largest, fitted));
            put("tlb_miss_time", ps(translation.miss), "ns", status, look_up);
            put("tlb_entries", translation.entries as f64, "entries", status, self.known.map_or(PAGES.2, |_| agrees));
            ranges.insert("parameter.tlb_entries".to_owned(), self.known.unwrap_or(PAGES.1));
            if self.known.is_none() {
                ranges.insert("parameter.tlb_miss_time".to_owned(), [0.0, 1e3 * self.unseen]);
            }
            put("tlb_ways", translation.ways as f64, "entries", estimated, PLACES.2);
            ranges.insert("parameter.tlb_ways".to_owned(), PLACES.1);
        }
        put("memory_misses", machine.misses as f64, "lines", estimated, MISSES.2);
        ranges.insert("parameter.memory_misses".to_owned(), MISSES.1);
        let within = "copies do not tell it from the lines' own times, which hold it";
        put("memory_row", machine.dram.row as f64, "B", estimated, within);
        put("memory_banks", machine.dram.banks as f64, "banks", estimated, within);
        put("memory_requests", machine.dram.requests as f64, "requests", estimated, within);
        for (name, time) in [
            ("memory_row_time", machine.dram.opening),
            ("memory_open_time", machine.dram.open),
            ("memory_path_time", machine.path),
        ] {
            put(name, ps(time), "ns", estimated, within);
        }
        put(
            "memory_allocate",
            f64::from(u8::from(machine.allocates)),
            "lines",
            estimated,
            "today's caches do, by analogy",
        );
        if let Some(ahead) = machine.ahead {
            put(
                "cache_word_time",
                ps(ahead.word),
                "ns",
                fitted,
                "words of the least stride above 1, within the first cache",
            );
            put(
                "copy_call_time",
                ps(ahead.copy_call),
                "ns",
                fitted,
                "blocks within the first cache, what no word takes",
            );
            put("scatter_call_time", ps(ahead.scatter_call), "ns", fitted, "the same of the least stride above 1");
            put("copy_past_from", ahead.past_from as f64, "B", measured, "how this version of hotlink copies");
            put("memory_pairs", f64::from(u8::from(ahead.pairs)), "lines", fitted, largest);
            if let Some(stream) = ahead.stream {
                put("memory_stream_time", ps(stream), "ns", fitted, largest);
            }
            if machine.caches.len() == LEVELS.len() {
                let agrees = "the way with which the model agrees best";
                put("l3_hashes", f64::from(u8::from(ahead.hashes)), "lines", fitted, agrees);
            }
            let crowded = "the largest stride, where a set's lines leave before their turn";
            put("stores_ahead", ahead.stores as f64, "lines", fitted, crowded);
            put("store_again_time", ps(ahead.again), "ns", fitted, crowded);
        }
        (parameters, ranges)
    }

    /// Each point with the model's value, and notes for people: the errors at points that were held out, and
    /// contradictions.
    pub fn records(&self, name: &str) -> (Vec<Record>, Vec<String>) {
        let mut records = Vec::new();
        let mut errors = [Vec::new(), Vec::new()];
        self.work_out(&self.points);
        for point in &self.points {
            let is_held = !self.used.contains(&point.stride);
            let (record, error) = self.beside(name, "memory", *point, self.copied(*point));
            if point.size >= TOLD_FROM {
                errors[usize::from(is_held)].push(error);
            }
            records.push(record.with("held_out", is_held));
        }
        let strides = self.used.map(|stride| stride.to_string()).join(", ");
        let [used, held] = errors.map(summed);
        let mut notes = vec![format!(
            "copies of 4 KiB and more, strides {strides}, which values were taken from: {used}; strides held out: {held}"
        )];
        if !self.contradictions.is_empty() {
            let told = |&(stride, least, longest): &(u64, f64, f64)| {
                format!("stride {stride}: {} to {} ns a word", figure(least), figure(longest))
            };
            let told: Vec<String> = self.contradictions.iter().map(told).collect();
            let what = "the machine changed meanwhile, or has something that the model has not";
            notes.push(format!("copies beyond the caches contradict each other ({}): {what}", told.join("; ")));
        }
        (records, notes)
    }

    /// Runs all of them, on all cores: the memory keeps what it has worked out.
    fn work_out(&self, points: &[Point]) {
        each(points, |point| self.memory.copy(point.size, point.stride));
    }

    fn copied(&self, point: Point) -> f64 {
        self.memory.copy(point.size, point.stride).s() * 1e9
    }

    fn beside(&self, name: &str, benchmark: &str, point: Point, predicted: f64) -> (Record, f64) {
        // Of the rates in the same record.
        let rate = |ns: f64| 1e3 * point.size as f64 / ns;
        let error = rate(predicted) / rate(point.ns) - 1.0;
        let record = Record::new()
            .with("fabric", name)
            .with("benchmark", benchmark)
            .with("method", "memory")
            .with("size_B", point.size)
            .with("stride", point.stride)
            .with("measured_MBps", rate(point.ns))
            .with("predicted_MBps", rate(predicted))
            .with("error", error);
        (record, error)
    }

    /// Copies, deposits and overlapped messages that the calibration has not seen, predicted, and notes about what was
    /// compared and what not.
    ///
    /// # Errors
    /// There is nothing that the model predicts.
    pub fn check(&self, name: &str, seen: &[Measured]) -> Result<(Vec<Record>, Vec<String>), Error> {
        let predicted: Vec<(&Record, Seen)> =
            seen.iter().filter_map(|m| Some((&m.record, Seen::of(&m.record)?))).collect();
        if predicted.is_empty() {
            let what = "copies of `measure memory`, deposits of 8-byte words, or overlap in shared memory";
            return Err(Error::Input(format!("--check: holds nothing that a memory tells: {what}")));
        }
        each(&predicted, |(_, seen)| seen.time(&self.memory));
        let (mut records, mut errors) = (Vec::new(), BTreeMap::<&str, Vec<f64>>::new());
        for (record, seen) in &predicted {
            let Seen { kind, point, without, .. } = seen;
            let benchmark = record.text("benchmark").unwrap_or_default();
            let (mut line, error) = self.beside(name, benchmark, *point, seen.time(&self.memory));
            if let Some(without) = without {
                line.set("without", *without);
            }
            for key in ["memory", "series", "side", "spin"] {
                if let Some(text) = record.text(key) {
                    line.set(key, text);
                }
            }
            if let Some(us) = record.number("compute_us") {
                line.set("compute_us", us);
            }
            if point.size >= TOLD_FROM {
                errors.entry(kind).or_default().push(error);
            }
            records.push(line.with("kind", "prediction"));
        }
        let without =
            |kind: &str| predicted.iter().find(|(_, seen)| seen.kind == kind).and_then(|(_, seen)| seen.without);
        let told = |(kind, errors)| {
            let without = without(kind).map_or(String::new(), |what| format!(", without {what}"));
            format!("--check: {kind} of 4 KiB and more{without}: {}", summed(errors))
        };
        let mut notes: Vec<String> = errors.into_iter().map(told).collect();
        let left = seen.len() - predicted.len();
        if left > 0 {
            let what = "other benchmarks, messages that the system copies, words that are not of 8 B";
            notes.push(format!("--check: {left} records left out: {what}"));
        }
        Ok((records, notes))
    }
}

/// A record that the model predicts.
struct Seen {
    kind: &'static str,
    point: Point,
    /// The computation at the same time, as measured; 0 without.
    computing_ns: f64,
    /// Processors that move it, a part each.
    movers: u32,
    /// Its further time, which no copy shows.
    without: Option<&'static str>,
}

impl Seen {
    /// Copies, and those that a processor makes itself. These are deposits in its own or in shared memory, and messages
    /// in such memory while the other side computes. The longer of the two then counts.
    fn of(record: &Record) -> Option<Seen> {
        let is_shared = record.text("memory") == Some("shared");
        let kind = match (record.text("benchmark")?, record.text("series")) {
            ("memory", _) => "copies",
            ("overlap", _) if is_shared => "overlapped messages",
            ("deposit", _) if record.number("word_B") != Some(WORD as f64) => return None,
            ("deposit", Some("local")) => "local deposits",
            ("deposit", Some("direct")) if is_shared => "direct deposits",
            ("deposit", Some("unpack")) if is_shared => "unpacked deposits",
            _ => return None,
        };
        let point = match record.number("total_us") {
            Some(us) => Point { size: record.number("size_B")? as u64, stride: 1, ns: 1e3 * us },
            None => copied(record)?,
        };
        let is_modelled = MODELLED.0.contains(&point.size) && MODELLED.1.contains(&point.stride) && point.ns > 0.0;
        let computing_ns = 1e3 * record.number("compute_us").unwrap_or(0.0);
        let is_shared_out = kind == "unpacked deposits" && point.stride == 1 && point.size >= HALVES_BYTES;
        let without = match kind {
            "direct deposits" => Some("the call that stores"),
            "unpacked deposits" => Some("the message's calls and hand-off"),
            _ => None,
        };
        is_modelled.then_some(Seen { kind, point, computing_ns, movers: if is_shared_out { 2 } else { 1 }, without })
    }

    /// Nanoseconds that it takes on a machine with this memory.
    fn time(&self, memory: &Memory) -> f64 {
        let Point { size, stride, .. } = self.point;
        let copied = match self.movers {
            1 => memory.copy(size, stride),
            movers => {
                let bytes = size.div_ceil(u64::from(movers));
                memory.run_on(movers, Kernel::Copy { bytes, stride, offset: 0 })
            }
        };
        (copied.s() * 1e9).max(self.computing_ns)
    }
}

/// How many errors are small, and the median of all.
fn summed(mut errors: Vec<f64>) -> String {
    if errors.is_empty() {
        return "none was measured".to_owned();
    }
    errors.iter_mut().for_each(|error| *error = error.abs());
    errors.sort_by(f64::total_cmp);
    let close = errors.iter().filter(|error| **error <= CLOSE).count();
    let median = median(&errors);
    let (all, within) = (errors.len(), figure(100.0 * CLOSE));
    format!("{close} of {all} within {within} %, the median error is {} %", figure(100.0 * median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_study::schema;

    #[test]
    fn an_error_is_that_of_the_numbers_beside_it_and_no_error_is_said_of_nothing() {
        let (caches, page) = (
            serde_json::json!([{"level": 1, "size_B": 32768, "ways": 8, "line_B": 64},
            {"level": 2, "size_B": 524_288, "ways": 16, "line_B": 64}]),
            4096,
        );
        let mut measured = Vec::new();
        for stride in [1u64, 2, 8, 16, 64] {
            for size in (6..=24).map(|bits| 1u64 << bits) {
                let each = 0.1 + 0.05 * stride.min(8) as f64 + if size > 1 << 15 { 0.3 } else { 0.0 };
                let record = Record::new()
                    .with("benchmark", "memory")
                    .with("size_B", size)
                    .with("stride", stride)
                    .with("bandwidth_MBps", 1e3 * 8.0 / each)
                    .with("caches", caches.clone())
                    .with("page_B", page);
                measured.push(Measured { record, source: String::new(), is_here: false, host: None });
            }
        }
        let (records, notes) = Fit::of(&measured).unwrap().records("x");
        for record in &records {
            let [measured, predicted, error] =
                ["measured_MBps", "predicted_MBps", "error"].map(|key| record.number(key).unwrap());
            assert!((predicted / measured - 1.0 - error).abs() < 1e-9, "{record:?}");
        }
        assert!(notes.len() == 1 && notes[0].ends_with("strides held out: none was measured"), "{notes:?}");
        let keys = schema::named("calibrate").unwrap();
        assert!(keys.keys().any(|key| key.name == "error" && key.meaning.contains("prediction over the measurement")));
    }
}
