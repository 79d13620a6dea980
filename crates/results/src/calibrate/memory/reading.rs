//! Where in measured copies each value of a memory system shows.

use super::{Point, wrong};
use hotlink_fabric::maths::{ln, powi};
use hotlink_fabric::units::Time;
use hotlink_memory::machine::{Ahead, Dram, Level, Translation};
use hotlink_memory::{Machine, Memory, WORD};
use hotlink_port::STREAM_BYTES;
use hotlink_study::Error;
use hotlink_study::parallel::each;

/// What the system says of its caches, and its page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Geometry {
    pub line: u64,
    /// Size and ways, from the nearest.
    pub caches: Vec<(u64, u64)>,
    pub page: u64,
}

/// What copies do not tell apart, with what it may be: pages that the processor knows, the places for one of them, and
/// lines under way.
pub(super) const PAGES: (u64, [f64; 2], &str) =
    (2048, [512.0, 4096.0], "pages that today's processors know, by analogy");
pub(super) const PLACES: (u64, [f64; 2], &str) = (8, [4.0, 16.0], "sets of today's processors' last TLB, by analogy");
pub(super) const MISSES: (u64, [f64; 2], &str) = (16, [8.0, 64.0], "lines under way of today's processors, by analogy");
/// A row that is always open: what opening costs is in the lines' times.
const ROW: u64 = 8 << 10;
/// By how much a word must take longer than one of a line's stride for its set to count as crowded.
const CROWDED: f64 = 1.5;

/// Measured copies, and where in them each value shows.
pub(super) struct Reading<'a> {
    pub points: &'a [Point],
    pub geometry: &'a Geometry,
    pub used: [u64; 4],
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
        let rows: Vec<Row> = inside.iter().map(|point| ([1.0, point.words(), 0.0], point.ns)).collect();
        let ([fixed, each, _], _) = least(&rows);
        Ok((fixed, each))
    }

    /// Time of a line from a cache further away: of copies at a line's stride that it holds and the one before does not.
    fn line_of(&self, level: usize) -> Result<f64, Error> {
        let (low, high) = (self.cache(level - 1), self.cache(level));
        let from = if level == 1 { 4 * low } else { 2 * low };
        let most = if level == 1 { high / 4 * 3 } else { (high / 2).min(6 * low) };
        let by_line = self.used[2];
        let inside = self.of(by_line).filter(|point| (from..=most).contains(&self.footprint(point)));
        let mut each: Vec<f64> = inside.map(|point| point.each() / (1.0 + self.source())).collect();
        each.sort_by(f64::total_cmp);
        each.get(each.len() / 2).copied().ok_or_else(|| {
            let what = format!("no copy at stride {by_line} shows cache {}: its blocks and what they touch", level + 1);
            wrong(format!("{what} must come to {from} to {most} B; measure all sizes from 64 B to 64 MiB"))
        })
    }

    /// Read, write and look-up of a page, from the largest copy at each stride; and whether lines come in pairs.
    fn memory(&self) -> Result<([f64; 3], bool), Error> {
        let beyond = 2 * self.cache(self.geometry.caches.len() - 1);
        let largest = |stride: u64| {
            let point = self.of(stride).last().filter(|point| self.footprint(point) >= beyond);
            point.copied().ok_or_else(|| {
                let what = format!("no copy at stride {stride} is beyond all caches ({beyond} B)");
                wrong(format!("{what}: measure to twice the last cache and more"))
            })
        };
        let largest = self.used.into_iter().map(largest).collect::<Result<Vec<Point>, Error>>()?;
        let page = self.geometry.page as f64;
        let row = |pairs: bool| {
            move |point: &Point| {
                let bytes = (point.stride * WORD) as f64;
                let (lines, past) = (self.lines(point.stride), point.stride == 1 && point.size >= STREAM_BYTES);
                let pair = 2.0 * (bytes / (2.0 * self.geometry.line as f64)).min(1.0);
                let read = if past {
                    0.0
                } else if pairs {
                    pair
                } else {
                    lines
                };
                let pages = (WORD as f64 + bytes.min(page)) / page;
                ([self.source() + read, lines, pages], point.each())
            }
        };
        let solved = |pairs: bool| least(&largest.iter().map(row(pairs)).collect::<Vec<Row>>());
        let (alone, paired) = (solved(false), solved(true));
        Ok(if paired.1 < alone.1 { (paired.0, true) } else { (alone.0, false) })
    }

    /// Lines that stores ask for ahead, and the time to ask once more; none where the largest stride shows no such thing.
    fn crowding(&self, second: f64, word: f64) -> (u64, f64) {
        let (size, ways) = self.geometry.caches[0];
        let line = self.geometry.line;
        let sets = (size / line / ways).max(1);
        let largest = self.used[3];
        let between = (largest * WORD / line).max(1);
        // As many sets as a step of so many lines visits.
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
        let ([read, write, miss], pairs) = self.memory()?;
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
                stores,
                again: time(again),
            }),
            allocates: true,
            write_buffers: 1,
            read_ahead: None,
            bridge: None,
        })
    }

    /// The same with the share of the last cache that agrees best with copies at a line's stride and at the largest: other
    /// cores, and on a rented machine other tenants, use the rest.
    pub fn shared_last(&self, machine: &Machine) -> Machine {
        let last = machine.caches.len() - 1;
        let (before, most) = (self.cache(last - 1), self.cache(last));
        let shows = |point: &&Point| (before..2 * most).contains(&self.footprint(point));
        let strides = [self.used[2], self.used[3]];
        let shown: Vec<&Point> = strides.into_iter().flat_map(|stride| self.of(stride).filter(shows)).collect();
        let of = |&size: &u64| {
            let mut machine = machine.clone();
            machine.caches[last].size = size;
            let memory = Memory::new(machine.clone());
            // Twice as long is as far off as half.
            let off = |point: &&Point| {
                let ratio = memory.copy(point.size, point.stride).s() * 1e9 / point.ns;
                powi(ln(ratio.max(f64::MIN_POSITIVE)), 2)
            };
            (shown.iter().map(off).sum::<f64>(), machine)
        };
        let best = |sizes: Vec<u64>| each(&sizes, of).into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        // By halves, then by quarters around the best half.
        let halves = (0..).map(|step| (most >> step) / machine.line * machine.line);
        let Some(found) = best(halves.take_while(|size| *size >= 2 * before).collect()) else { return machine.clone() };
        let size = found.1.caches[last].size;
        let around = [size / 8 * 5, size / 4 * 3, size / 8 * 7, size / 4 * 5, size / 2 * 3];
        let around = around.into_iter().map(|size| size / machine.line * machine.line);
        let nearer = best(around.filter(|size| (before + 1..=most).contains(size)).collect());
        nearer
            .into_iter()
            .chain([found])
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map_or_else(|| machine.clone(), |best| best.1)
    }
}

fn greatest_common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common(b, a % b) }
}

/// Three factors, and what they come to.
type Row = ([f64; 3], f64);

/// The values, none below zero, with the least sum of squared relative errors, and that sum.
fn least(rows: &[Row]) -> ([f64; 3], f64) {
    let of = |free: [bool; 3]| {
        let used: Vec<usize> = (0..3).filter(|&at| free[at]).collect();
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
        let mut values = [0.0; 3];
        used.iter().zip(solved).for_each(|(&at, value)| values[at] = value);
        let error = |(factors, value): &Row| {
            let sum: f64 = factors.iter().zip(values).map(|(factor, value)| factor * value).sum();
            powi(sum / value - 1.0, 2)
        };
        let is_sound = values.iter().all(|value| value.is_finite() && *value >= 0.0);
        is_sound.then(|| (values, rows.iter().map(error).sum::<f64>()))
    };
    let choices = (1..8u8).filter_map(|bits| of([bits & 1 > 0, bits & 2 > 0, bits & 4 > 0]));
    choices.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(([0.0; 3], f64::INFINITY))
}

/// Linear equations, the right side last in each; nothing where they do not tell.
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
        for stride in [1, 2, 8, 24, 64] {
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
        let reading = Reading { points: &points, geometry: &geometry, used: [1, 2, 8, 64] };
        let found = reading.shared_last(&reading.machine().unwrap());
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
        // A line that is stored is read and written, so that copies tell the two together better than apart.
        let moved = |machine: &Machine| machine.dram.read + machine.dram.write;
        near(moved(&found), moved(&truth), "read and write");
        assert!(found.dram.read < found.dram.write && found.translation.unwrap().miss > Time::ZERO, "{found:?}");
        // The largest stride keeps to two sets of four lines: more than that does not show.
        assert!(ahead.pairs && ahead.stores == 9, "{ahead:?}");
        near(ahead.again, known.again, "again");
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
    fn what_is_missing_is_told_with_what_to_measure() {
        let (geometry, truth) = machine();
        let all = times(&Memory::new(truth));
        let told = |keep: &dyn Fn(&Point) -> bool| {
            let points: Vec<Point> = all.iter().copied().filter(|point| keep(point)).collect();
            let reading = Reading { points: &points, geometry: &geometry, used: [1, 2, 8, 64] };
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
