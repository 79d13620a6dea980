//! Where in measured copies each value of a memory system shows.

use super::{Point, wrong};
use hotlink_bench::distribution::median;
use hotlink_fabric::maths::{ln, powi};
use hotlink_fabric::units::Time;
use hotlink_memory::machine::{Ahead, Dram, Level, Translation};
use hotlink_memory::{Machine, Memory, WORD};
use hotlink_port::STREAM_BYTES;
use hotlink_study::Error;
use hotlink_study::parallel::each;

/// The system's facts about its caches, and its page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Geometry {
    pub line: u64,
    /// Size and ways, from the nearest.
    pub caches: Vec<(u64, u64)>,
    pub page: u64,
}

/// Values that copies do not show, each with its range: pages that the processor knows, the places for one of them, and
/// lines under way.
pub(super) const PAGES: (u64, [f64; 2], &str) =
    (2048, [512.0, 4096.0], "pages that today's processors know, by analogy: the copies show no look-ups");
pub(super) const PLACES: (u64, [f64; 2], &str) = (8, [4.0, 16.0], "sets of today's processors' last TLB, by analogy");
pub(super) const MISSES: (u64, [f64; 2], &str) = (16, [8.0, 64.0], "lines under way of today's processors, by analogy");
/// A row that is always open: the lines' times include the cost of opening.
const ROW: u64 = 8 << 10;
/// By how much a word must take longer than one of a line's stride for its set to count as crowded.
const CROWDED: f64 = 1.5;
/// The share of a word's time by which the largest stride must take longer than one of two lines for look-ups to show.
const SHOWN: f64 = 0.05;
/// How many pages a processor may know, where look-ups show. A number is possible if it agrees with the copies by at
/// most this factor worse than the best one.
const KNOWN: [u64; 7] = [256, 512, 1024, 2048, 4096, 8192, 16_384];
const POSSIBLY: f64 = 1.25;

/// Times from copies beyond the caches, in nanoseconds.
pub(super) struct Beyond {
    read: f64,
    write: f64,
    miss: f64,
    stream: f64,
    pairs: bool,
    /// The longest look-up of a page that would not show.
    pub unseen: f64,
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The median time of a word.
fn middle(points: &[Point]) -> f64 {
    median(&sorted(points.iter().map(Point::each).collect()))
}

/// The shortest and the longest time of a word.
fn ends(points: &[Point]) -> (f64, f64) {
    points.iter().map(Point::each).fold((f64::INFINITY, 0.0), |(low, high), each| (each.min(low), each.max(high)))
}

/// Measured copies, and where in them each value shows.
pub(super) struct Reading<'a> {
    pub points: &'a [Point],
    pub geometry: &'a Geometry,
    /// 1, the least above, a line's words, two lines' words, and the largest.
    pub used: [u64; 5],
}

impl Reading<'_> {
    fn of(&self, stride: u64) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.stride == stride)
    }

    /// Lines of the target that a word touches.
    fn lines(&self, stride: u64) -> f64 {
        (stride as f64 * WORD as f64 / self.geometry.line as f64).min(1.0)
    }

    /// Lines of the source for a word.
    fn source(&self) -> f64 {
        WORD as f64 / self.geometry.line as f64
    }

    /// Bytes of cache that a copy needs.
    fn footprint(&self, point: &Point) -> u64 {
        point.size + (point.words() * self.lines(point.stride)) as u64 * self.geometry.line
    }

    fn cache(&self, level: usize) -> u64 {
        self.geometry.caches[level].0
    }

    /// Fixed time and time of a word at a stride, of copies within the first cache.
    fn within_first(&self, stride: u64) -> Result<(f64, f64), Error> {
        let inside: Vec<&Point> = self.of(stride).filter(|point| self.footprint(point) <= self.cache(0)).collect();
        if inside.len() < 2 {
            let what = format!("two sizes or more at stride {stride} that the first cache holds are needed");
            return Err(wrong(format!("{what}: `hotlink measure memory --size 64..64MiB..x2 --json`")));
        }
        let rows: Vec<Row> = inside.iter().map(|point| ([1.0, point.words(), 0.0, 0.0], point.ns)).collect();
        let ([fixed, each, ..], _) = least(&rows);
        Ok((fixed, each))
    }

    /// Time of a line from a cache further away: of copies at a line's stride that it holds and the one before does not.
    fn line_of(&self, level: usize) -> Result<f64, Error> {
        let (low, high) = (self.cache(level - 1), self.cache(level));
        let from = if level == 1 { 4 * low } else { 2 * low };
        let most = if level == 1 { high / 4 * 3 } else { (high / 2).min(6 * low) };
        let by_line = self.used[2];
        let inside: Vec<Point> =
            self.of(by_line).filter(|point| (from..=most).contains(&self.footprint(point))).copied().collect();
        // The cache gives its lines at one pace: longer times are outliers.
        Some(ends(&inside).0 / (1.0 + self.source())).filter(|quickest| quickest.is_finite()).ok_or_else(|| {
            let what = format!("no copy at stride {by_line} shows cache {}: its blocks and what they touch", level + 1);
            wrong(format!("{what} must come to {from} to {most} B; measure all sizes from 64 B to 64 MiB"))
        })
    }

    /// Of the copies beyond all caches at a stride, those of which caches keep next to nothing. They are of four times
    /// the last cache and more, and smaller ones that are no quicker than these. All of them where none is so large.
    fn uncached(&self, stride: u64) -> Result<Vec<Point>, Error> {
        let all = self.beyond(stride)?;
        let far = 4 * self.cache(self.geometry.caches.len() - 1);
        let is_far = |point: &&Point| self.footprint(point) >= far;
        let quickest = all.iter().filter(is_far).map(Point::each).fold(f64::INFINITY, f64::min);
        if quickest.is_infinite() {
            return Ok(all);
        }
        Ok(all.into_iter().filter(|point| is_far(&point) || point.each() >= quickest).collect())
    }

    /// Copies at a stride that are beyond all caches.
    fn beyond(&self, stride: u64) -> Result<Vec<Point>, Error> {
        let beyond = 2 * self.cache(self.geometry.caches.len() - 1);
        let points: Vec<Point> = self.of(stride).filter(|point| self.footprint(point) >= beyond).copied().collect();
        if points.is_empty() {
            let what = format!("no copy at stride {stride} is beyond all caches ({beyond} B)");
            return Err(wrong(format!("{what}: measure to twice the last cache and more")));
        }
        Ok(points)
    }

    /// Strides at which a copy beyond the caches takes less time a word than a smaller one, by more than `most`, with
    /// both times. Caches keep some of the smaller one, so they cannot be the reason.
    pub fn contradictions(&self, most: f64) -> Result<Vec<(u64, f64, f64)>, Error> {
        let mut found = Vec::new();
        for stride in self.used {
            let mut slowest = 0.0;
            let fall = |point: Point| {
                slowest = point.each().max(slowest);
                (stride, point.each(), slowest)
            };
            let falls = self.beyond(stride)?.into_iter().map(fall);
            let deepest = falls.max_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)));
            found.extend(deepest.filter(|(_, quick, slow)| *slow > quick * (1.0 + most)));
        }
        Ok(found)
    }

    /// Read, write, look-up of a page, and a line where words share lines, from the median of all copies from memory at
    /// each stride. Also whether lines come in pairs, and the longest look-up that would not show.
    pub fn memory(&self) -> Result<Beyond, Error> {
        let page = self.geometry.page as f64;
        let pages = |stride: u64| (WORD as f64 + ((stride * WORD) as f64).min(page)) / page;
        let beyond = self.used.into_iter().map(|stride| self.uncached(stride)).collect::<Result<Vec<_>, _>>()?;
        let row = |pairs: bool, looks_up: bool, points: &Vec<Point>| {
            let stride = points[0].stride;
            let past = |point: &&Point| stride == 1 && point.size >= STREAM_BYTES;
            let gone_past: Vec<f64> = points.iter().filter(past).map(Point::each).collect();
            let lines = self.lines(stride);
            let [read, write, stream] = if !gone_past.is_empty() {
                [0.0, lines, self.source()]
            } else if lines < 1.0 {
                [0.0, 0.0, self.source() + 2.0 * lines]
            } else {
                let pair = ((stride * WORD) as f64 / self.geometry.line as f64).min(2.0);
                [self.source() + if pairs { pair } else { 1.0 }, 1.0, 0.0]
            };
            let each = if gone_past.is_empty() { middle(points) } else { median(&sorted(gone_past)) };
            ([read, write, if looks_up { pages(stride) } else { 0.0 }, stream], each)
        };
        let solved = |pairs: bool, looks_up: bool| {
            least(&beyond.iter().map(|points| row(pairs, looks_up, points)).collect::<Vec<Row>>())
        };
        let better = |looks_up: bool| {
            let (alone, paired) = (solved(false, looks_up), solved(true, looks_up));
            if paired.1 < alone.1 { (paired.0, true) } else { (alone.0, false) }
        };
        let [.., pair, largest] = self.used;
        let (found, pairs) = better(true);
        let (longest, quickest) = (ends(&beyond[4]).1, ends(&beyond[3]).0);
        // The longest look-up that the times allow, with the look-ups at both strides taken from them.
        let unseen = ((longest - quickest) / (pages(largest) - pages(pair)).max(f64::MIN_POSITIVE)).max(0.0);
        // These two strides differ in their look-ups alone.
        let [few, many] = [3, 4].map(|at: usize| middle(&beyond[at]));
        let shows = many - few >= SHOWN * many;
        let ([read, write, miss, stream], pairs) = if shows { (found, pairs) } else { better(false) };
        Ok(Beyond { read, write, miss, stream, pairs, unseen })
    }

    /// Lines that stores ask for ahead, and the time to ask once more; none where the largest stride shows no such thing.
    fn crowding(&self, second: f64, word: f64) -> (u64, f64) {
        let (size, ways) = self.geometry.caches[0];
        let line = self.geometry.line;
        let sets = (size / line / ways).max(1);
        let largest = self.used[4];
        let between = (largest * WORD / line).max(1);
        // As many sets as a step of that many lines visits.
        let visited = sets / greatest_common(between, sets);
        let most = self.cache(1) / 2;
        let inside = self.of(largest).filter(|point| {
            let lines = point.words() as u64;
            lines > 2 * visited * ways && self.footprint(point) <= most
        });
        let quickest = inside.map(Point::each).fold(f64::INFINITY, f64::min);
        let plain = (second * (1.0 + self.source())).max(2.0 * word);
        if !quickest.is_finite() || quickest <= CROWDED * plain {
            return (0, 0.0);
        }
        // Lines of the source come between those of the target.
        let ahead = (visited * ways) as f64 * (1.0 + self.source());
        (ahead.ceil() as u64, quickest - plain)
    }

    /// All values, with the last cache as large as the system says.
    pub fn machine(&self) -> Result<Machine, Error> {
        let ((copy_call, block), (scatter_call, word)) =
            (self.within_first(self.used[0])?, self.within_first(self.used[1])?);
        let line = self.geometry.line;
        let time = |ns: f64| Time((ns * 1e3).round() as u64);
        // A word is loaded and stored.
        let mut times = vec![block / 2.0 * (line / WORD) as f64];
        for level in 1..self.geometry.caches.len() {
            times.push(self.line_of(level)?);
        }
        let Beyond { read, write, miss, stream, pairs, .. } = self.memory()?;
        let (stores, again) = self.crowding(times[1], word / 2.0);
        let caches = self.geometry.caches.iter().zip(&times);
        Ok(Machine {
            line,
            caches: caches.map(|(&(size, ways), &ns)| Level { size, ways, line_time: time(ns) }).collect(),
            translation: Some(Translation {
                entries: PAGES.0,
                ways: PLACES.0,
                page: self.geometry.page,
                miss: time(miss),
            }),
            dram: Dram {
                row: ROW,
                banks: 1,
                open: Time::ZERO,
                opening: Time::ZERO,
                read: time(read),
                write: time(write),
                requests: 1,
            },
            path: Time::ZERO,
            misses: MISSES.0,
            ahead: Some(Ahead {
                word: time(word / 2.0),
                copy_call: time(copy_call),
                scatter_call: time(scatter_call),
                past_from: STREAM_BYTES,
                pairs,
                hashes: true,
                stream: Some(time(stream)),
                stores,
                again: time(again),
            }),
            allocates: true,
            write_buffers: 1,
            read_ahead: None,
            bridge: None,
        })
    }

    /// The distance of a machine from these copies. It is the mean square of the ratios' logarithms, so that twice as
    /// long is as far off as half.
    fn off(&self, machine: Machine, shown: &[&Point]) -> f64 {
        let memory = Memory::new(machine);
        let off = |point: &&Point| {
            let ratio = memory.copy(point.size, point.stride).s() * 1e9 / point.ns;
            powi(ln(ratio.max(f64::MIN_POSITIVE)), 2)
        };
        shown.iter().map(off).sum::<f64>() / shown.len().max(1) as f64
    }

    /// The same with the last cache's share and way to find its sets that agree best with copies a line and more apart.
    /// Other cores, and other tenants of a rented machine, use the rest.
    pub fn shared_last(&self, machine: &Machine) -> Machine {
        let last = machine.caches.len() - 1;
        let (before, most) = (self.cache(last - 1), self.cache(last));
        let shows = |point: &&Point| (before..2 * most).contains(&self.footprint(point));
        let shown: Vec<&Point> = self.used[2..].iter().flat_map(|&stride| self.of(stride).filter(shows)).collect();
        let best = |choices: Vec<(u64, bool)>| {
            let of = |&(size, hashes): &(u64, bool)| {
                let mut machine = machine.clone();
                machine.caches[last].size = size;
                machine.ahead.iter_mut().for_each(|ahead| ahead.hashes = hashes);
                (self.off(machine.clone(), &shown), machine)
            };
            each(&choices, of).into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
        };
        // By halves, then by quarters around the best half. Only a third cache is one that cores share.
        let halves = (0..).map(|step| (most >> step) / machine.line * machine.line);
        let ways = |size: u64| [(size, true), (size, false)].into_iter().take(last.max(1));
        let Some(found) = best(halves.take_while(|size| *size >= 2 * before).flat_map(ways).collect()) else {
            return machine.clone();
        };
        let size = found.1.caches[last].size;
        let hashes = found.1.ahead.is_none_or(|ahead| ahead.hashes);
        let around = [size / 8 * 5, size / 4 * 3, size / 8 * 7, size / 4 * 5, size / 2 * 3];
        let around = around.into_iter().map(|size| size / machine.line * machine.line);
        let nearer =
            best(around.filter(|size| (before + 1..=most).contains(size)).map(|size| (size, hashes)).collect());
        nearer
            .into_iter()
            .chain([found])
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map_or_else(|| machine.clone(), |best| best.1)
    }

    /// The same with the number of known pages that agrees best with the largest stride. Also the least and the largest
    /// number that agree nearly as well; nothing where look-ups do not show.
    pub fn known_pages(&self, mut machine: Machine) -> (Machine, Option<[f64; 2]>) {
        let Some(translation) = machine.translation.filter(|translation| translation.miss > Time::ZERO) else {
            return (machine, None);
        };
        let shown: Vec<&Point> = self.of(self.used[4]).filter(|point| self.footprint(point) > self.cache(0)).collect();
        let with =
            |entries: u64| Machine { translation: Some(Translation { entries, ..translation }), ..machine.clone() };
        let off: Vec<(f64, u64)> = each(&KNOWN, |&entries| (self.off(with(entries), &shown), entries));
        let Some(&(least, entries)) = off.iter().min_by(|a, b| a.0.total_cmp(&b.0)) else { return (machine, None) };
        let possible = off.iter().filter(|(off, _)| *off <= POSSIBLY * least).map(|(_, entries)| *entries as f64);
        let range = possible.fold([f64::INFINITY, 0.0], |[low, high], at| [at.min(low), at.max(high)]);
        machine.translation = Some(Translation { entries, ..translation });
        (machine, Some(range))
    }
}

fn greatest_common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common(b, a % b) }
}

/// Factors, and what they come to.
type Row = ([f64; 4], f64);

/// The values, none below zero, with the least sum of squared relative errors, and that sum.
fn least(rows: &[Row]) -> ([f64; 4], f64) {
    let of = |bits: u8| {
        let used: Vec<usize> = (0..4).filter(|at| bits >> at & 1 > 0).collect();
        let mut table = vec![vec![0.0; used.len() + 1]; used.len()];
        for (factors, value) in rows {
            for (line, &a) in table.iter_mut().zip(&used) {
                for (at, &b) in used.iter().enumerate() {
                    line[at] += factors[a] * factors[b] / (value * value);
                }
                line[used.len()] += factors[a] / value;
            }
        }
        let solved = solve(table)?;
        let mut values = [0.0; 4];
        used.iter().zip(solved).for_each(|(&at, value)| values[at] = value);
        let error = |(factors, value): &Row| {
            let sum: f64 = factors.iter().zip(values).map(|(factor, value)| factor * value).sum();
            powi(sum / value - 1.0, 2)
        };
        let is_sound = values.iter().all(|value| value.is_finite() && *value >= 0.0);
        is_sound.then(|| (values, rows.iter().map(error).sum::<f64>()))
    };
    let choices = (1..16u8).filter_map(of);
    choices.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(([0.0; 4], f64::INFINITY))
}

/// Linear equations, the right side last in each; nothing where they have no solution.
fn solve(mut table: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let count = table.len();
    for at in 0..count {
        let pivot = (at..count).max_by(|&a, &b| table[a][at].abs().total_cmp(&table[b][at].abs()))?;
        table.swap(at, pivot);
        if table[at][at].abs() < 1e-30 {
            return None;
        }
        for other in (0..count).filter(|&other| other != at) {
            let factor = table[other][at] / table[at][at];
            let line = table[at].clone();
            table[other].iter_mut().zip(line).for_each(|(entry, value)| *entry -= factor * value);
        }
    }
    Some((0..count).map(|at| table[at][count] / table[at][at]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(memory: &Memory) -> Vec<Point> {
        let mut points = Vec::new();
        for stride in [1, 2, 8, 16, 24, 64] {
            for size in (6..=22).map(|bits| 1u64 << bits) {
                points.push(Point { size, stride, ns: memory.copy(size, stride).s() * 1e9 });
            }
        }
        points
    }

    /// A machine with caches of 4, 32 and 256 KiB.
    fn machine() -> (Geometry, Machine) {
        let geometry = Geometry { line: 64, caches: vec![(4 << 10, 4), (32 << 10, 8), (256 << 10, 16)], page: 4096 };
        let ns = |ns: f64| Time((ns * 1e3) as u64);
        let level = |(size, ways), time| Level { size, ways, line_time: ns(time) };
        let caches =
            geometry.caches.iter().copied().zip([0.8, 1.0, 2.0]).map(|(cache, time)| level(cache, time)).collect();
        let ahead = Ahead {
            word: ns(0.2),
            copy_call: ns(10.0),
            scatter_call: ns(30.0),
            past_from: STREAM_BYTES,
            pairs: true,
            stores: 9,
            again: ns(3.0),
            hashes: false,
            stream: Some(ns(1.5)),
        };
        let [open, opening] = [Time::ZERO; 2];
        let dram = Dram { row: ROW, banks: 1, open, opening, read: ns(2.0), write: ns(4.0), requests: 1 };
        let machine = Machine {
            line: 64,
            caches,
            translation: Some(Translation { entries: PAGES.0, ways: PLACES.0, page: 4096, miss: ns(12.0) }),
            dram,
            path: Time::ZERO,
            misses: MISSES.0,
            ahead: Some(ahead),
            allocates: true,
            write_buffers: 1,
            read_ahead: None,
            bridge: None,
        };
        (geometry, machine)
    }

    #[test]
    fn a_machine_is_found_again_from_its_copies() {
        let (geometry, truth) = machine();
        let points = times(&Memory::new(truth.clone()));
        let reading = Reading { points: &points, geometry: &geometry, used: [1, 2, 8, 16, 64] };
        let (found, pages) = reading.known_pages(reading.shared_last(&reading.machine().unwrap()));
        let near = |found: Time, truth: Time, what: &str| {
            let off = found.0 as f64 / truth.0 as f64 - 1.0;
            assert!(off.abs() < 0.15, "{what}: {found:?} for {truth:?}");
        };
        for (at, (found, truth)) in found.caches.iter().zip(&truth.caches).enumerate() {
            near(found.line_time, truth.line_time, &format!("cache {at}"));
        }
        let (ahead, known) = (found.ahead.unwrap(), truth.ahead.unwrap());
        near(ahead.word, known.word, "word");
        near(ahead.scatter_call, known.scatter_call, "scatter");
        // A line that is stored is read and written, so that copies give the sum of the two more exactly than each.
        let moved = |machine: &Machine| machine.dram.read + machine.dram.write;
        near(moved(&found), moved(&truth), "read and write");
        assert!(found.dram.read < found.dram.write && found.translation.unwrap().miss > Time::ZERO, "{found:?}");
        // The largest stride keeps to two sets of four lines: more than that does not show.
        assert!(ahead.pairs && ahead.stores == 9, "{ahead:?}");
        near(ahead.again, known.again, "again");
        // Low bits find the shared cache's sets; look-ups show, and so does how many pages are known.
        assert!(!ahead.hashes, "{ahead:?}");
        assert!(pages.is_some_and(|[low, high]| (low..=high).contains(&2048.0)), "{pages:?}");
        near(ahead.stream.unwrap(), known.stream.unwrap(), "stream");
        assert!(reading.contradictions(0.2).unwrap().is_empty());
        // Strides that were held out.
        let memory = Memory::new(found);
        let far = |point: &&Point| {
            let predicted = memory.copy(point.size, point.stride).s() * 1e9;
            point.stride == 24 && point.size >= 1 << 12 && (predicted / point.ns - 1.0).abs() > 0.2
        };
        let far: Vec<&Point> = points.iter().filter(far).collect();
        assert!(far.len() <= 2, "{far:?}");
    }

    #[test]
    fn the_pages_that_are_known_are_those_of_the_largest_stride() {
        let (geometry, mut truth) = machine();
        truth.translation.as_mut().unwrap().miss = Time(60_000);
        let points = times(&Memory::new(truth.clone()));
        let reading = Reading { points: &points, geometry: &geometry, used: [1, 2, 8, 16, 64] };
        let mut asked = truth.clone();
        asked.translation.as_mut().unwrap().entries = 512;
        assert_eq!(reading.known_pages(asked), (truth, Some([2048.0; 2])));
    }

    #[test]
    fn look_ups_that_do_not_show_are_left_out_and_how_long_they_may_be_is_told() {
        let (geometry, mut truth) = machine();
        truth.translation.as_mut().unwrap().miss = Time::ZERO;
        let mut points = times(&Memory::new(truth));
        let found = |points: &[Point]| {
            let reading = Reading { points, geometry: &geometry, used: [1, 2, 8, 16, 64] };
            let (machine, pages) = reading.known_pages(reading.machine().unwrap());
            assert!(pages.is_none() && machine.ahead.unwrap().pairs, "{machine:?}");
            assert_eq!(machine.translation.unwrap().miss, Time::ZERO);
            (reading.memory().unwrap().unseen, reading.contradictions(0.2).unwrap())
        };
        let (unseen, contradictions) = found(&points);
        assert!(unseen < 4.0 && contradictions.is_empty(), "{unseen}");
        // The machine is quicker for a while.
        let last = points.iter_mut().rfind(|point| point.stride == 8).unwrap();
        last.ns *= 0.6;
        let contradictions = found(&points).1;
        assert!(contradictions.len() == 1 && contradictions[0].0 == 8, "{contradictions:?}");
    }

    #[test]
    fn what_is_missing_is_told_with_what_to_measure() {
        let (geometry, truth) = machine();
        let all = times(&Memory::new(truth));
        let told = |keep: &dyn Fn(&Point) -> bool| {
            let points: Vec<Point> = all.iter().copied().filter(|point| keep(point)).collect();
            let reading = Reading { points: &points, geometry: &geometry, used: [1, 2, 8, 16, 64] };
            reading.machine().unwrap_err().to_string()
        };
        assert!(told(&|point| point.size >= 4096).contains("--size 64..64MiB..x2"));
        assert!(
            told(&|point| point.size < 1 << 13).contains("shows cache 3"),
            "{}",
            told(&|point| point.size < 1 << 13)
        );
        assert!(told(&|point| point.size < 1 << 17).contains("beyond all caches"));
    }
}
