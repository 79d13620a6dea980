//! What ranks of one machine, or of a few, cannot beat. The limits are every rank's own copies, the hand-off of a cache
//! line between two cores, and the rate at which lines change cores. All are measured in the same run.

use crate::{Bound, COPY, HAND_OFF, LINES, Peak, SYSTEM};

/// The larger of steps and bytes in microseconds, 0 where unknown.
fn larger(steps_us: f64, (bytes_us, resource): (f64, &str), is: &'static str) -> Bound {
    match (bytes_us > steps_us, steps_us.max(bytes_us) > 0.0) {
        (_, false) => Bound::unknown(),
        (true, _) => Bound::of_time(bytes_us, resource, is),
        (false, _) => Bound::of_time(steps_us, HAND_OFF, is),
    }
}

/// Steps until all of `ranks` know of each other.
fn steps(ranks: u32) -> f64 {
    f64::from(ranks.next_power_of_two().trailing_zeros())
}

/// How the bytes of messages get from one rank's memory to another's on one machine, at best. Rates are in MB/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Route {
    /// Either core reaches both ends, and may have all their lines in its caches: none need change cores. Also where
    /// nobody measured more, or the ranks share cores.
    #[default]
    Kept,
    /// The same, but the sender has just written the lines. Copies by its own core stay there; copies by the other core
    /// change cores.
    Written {
        /// Rate at which lines do.
        lines_mbps: f64,
    },
    /// Neither core reaches the other's memory. Each byte goes through a shared buffer, whose lines are written by one
    /// core and read by the other, or the system copies it.
    Ordinary {
        /// Rate at which lines change cores.
        lines_mbps: f64,
        /// Rate of the system's copy between processes, on all cores; 0: there is none.
        system_mbps: f64,
    },
}

impl Route {
    /// The most that this path carries, where all cores together copy at `copies_mbps` in their own memory. Messages go
    /// in 1 or 2 directions at once, each with a core that reads.
    pub fn peak(self, copies_mbps: Option<f64>, directions: u32) -> Option<Peak> {
        let copies = copies_mbps.filter(|rate| *rate > 0.0).map(|rate| Peak::new(rate, COPY));
        let change = match self {
            Route::Written { lines_mbps } if directions == 1 => {
                copies.as_ref().map(|copies| Peak::new(copies.mbps / 2.0 + lines_mbps, LINES))
            }
            Route::Ordinary { lines_mbps, system_mbps } => {
                let lines = Peak::new(lines_mbps * f64::from(directions), LINES);
                Some(if system_mbps > lines.mbps { Peak::new(system_mbps, SYSTEM) } else { lines })
            }
            // Each core may copy all that it has written itself.
            Route::Written { .. } | Route::Kept => None,
        };
        crate::slowest(copies.into_iter().chain(change.filter(|peak| peak.mbps > 0.0)))
    }

    /// What a bound by this route takes for granted.
    pub fn assumes(self) -> &'static str {
        match self {
            Route::Kept => "all cores that the ranks can use copy at once, with the bytes in the caches where they fit",
            Route::Written { .. } => {
                "the sender's core copies what it has just written, the other core takes its share out of those caches"
            }
            Route::Ordinary { .. } => {
                "bytes of ordinary memory go through a shared buffer, whose lines change cores, or by the system's copy \
                 between processes on all cores, whichever is faster"
            }
        }
    }
}

/// A message of `size` bytes between two ranks, which go at most at `peak`; no bound where nothing is known.
pub fn message(hand_off_us: f64, size: u64, peak: Option<Peak>) -> Bound {
    let bytes_us = peak.as_ref().map_or(0.0, |peak| size as f64 / peak.mbps);
    let is = "the larger of a cache line's hand-off between cores and the message's bytes at their best rate";
    match peak {
        Some(peak) if bytes_us > hand_off_us => Bound::of_time(bytes_us, peak.resource, is),
        _ if hand_off_us > 0.0 => Bound::of_time(hand_off_us, HAND_OFF, is),
        _ => Bound::unknown(),
    }
}

/// A message with an empty one each way (K98's two semantics).
pub fn with_two_words(bytes: f64, peak: Option<Peak>, hand_off_us: f64) -> Bound {
    let Some(peak) = peak else { return Bound::unknown() };
    let (bytes_us, words_us) = (bytes / peak.mbps, 2.0 * hand_off_us);
    let resource = if bytes_us > words_us { peak.resource } else { HAND_OFF.to_owned() };
    let rate = Peak::new(bytes / (bytes_us + words_us), resource);
    Bound::of_rate(rate, "the message's bytes at their best rate, and a cache line's hand-off for each empty message")
}

/// How the operations of a collective follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each begins when all ranks are ready for it.
    Together,
    /// So many in a row flow into each other.
    Row(u64),
    /// Each by itself, but a rank may come late and find the data there.
    Late,
}

/// A collective of `ranks`. Every rank's signal needs so many steps to reach all, and what the ranks must write is
/// copied. `crossing` is the time of the bytes that one rank must get from others, where they must change cores, and
/// what sets it.
pub fn collective(ranks: u32, hand_off_us: f64, copy_us: f64, crossing: Option<(f64, &str)>, order: Order) -> Bound {
    let steps_us = steps(ranks) * hand_off_us;
    let bytes = crossing.filter(|(us, _)| *us > copy_us).unwrap_or((copy_us, COPY));
    match order {
        Order::Together => larger(
            steps_us,
            bytes,
            "the larger of ceil(log2 ranks) hand-offs of a cache line between cores, and every byte that ranks must write, \
             copied by all cores at once",
        ),
        Order::Row(many) => larger(
            steps_us / many as f64,
            bytes,
            "the larger of ceil(log2 ranks) hand-offs of a cache line between cores, once in a row of operations that flow \
             into each other, and every byte that ranks must write, copied by all cores at once",
        ),
        Order::Late => larger(
            0.0,
            (copy_us, COPY),
            "every byte that ranks must write, copied by all cores at once; a rank that leaves the barrier late may find the \
             data there, so hand-offs bound nothing",
        ),
    }
}

/// A barrier by flags in shared memory, of this many times the measured barrier of two bare flags.
pub fn flags(ranks: u32, bare_us: f64) -> Bound {
    let is = "ceil(log2 ranks) barriers of two ranks that store one line and spin on the other's";
    Bound::of_time(steps(ranks) * bare_us, HAND_OFF, is)
}

/// Clocks from a level at the device's pin to the release at its output: synchroniser 2, filter 3, machine 1 (proved in
/// rtl/barrier/formal/f_latency.v).
pub const DEVICE_CLOCKS: f64 = 6.0;

/// A barrier by the compiled device behind lines of memory.
pub fn device(bare_us: f64, clock_us: f64) -> Bound {
    let (lines_us, clocks_us) = (2.0 * bare_us, DEVICE_CLOCKS * clock_us);
    let resource = if lines_us > clocks_us { HAND_OFF } else { "the compiled RTL's clock" };
    Bound::of_time(
        lines_us + clocks_us,
        resource,
        "a line to the device and one back, and 6 clocks of the compiled RTL",
    )
}

/// Streams between ranks, whose bytes move at most at `peak`. It is loose for short messages, which cost more than
/// their bytes. It is also loose where memory that either core reaches is copied: each of several copies counts as the
/// only one.
pub fn copies(peak: Option<Peak>) -> Bound {
    let peak = peak.unwrap_or_else(|| Peak::new(f64::INFINITY, COPY));
    Bound::of_rate(peak, "the messages' bytes at their best rate; loose for short ones, whose own cost has no bound")
}

/// Words stored at a stride by the ranks at their best: by one of them where the block stays with it, else by both.
pub fn stores(best_mbps: [f64; 2], is_local: bool, stride: u64) -> Bound {
    let (mbps, is) = match is_local {
        true => (best_mbps[0], "the best that one rank stores at this stride"),
        false => {
            (best_mbps[0] + best_mbps[1], "both ranks storing half of the words each at this stride, at their best")
        }
    };
    Bound::of_rate(Peak::new(mbps, if stride > 1 { "strided stores" } else { COPY }), is)
}

/// A strided copy, bounded by the contiguous one.
pub fn strided(contiguous_mbps: f64) -> Bound {
    Bound::of_rate(Peak::new(contiguous_mbps, "strided stores"), "the contiguous copy of as many bytes")
}

/// A copy that registers its memory each time, compared with one that keeps the registration (W01 slide 10).
pub fn kept(kept_us: f64, by_pinning: bool) -> Bound {
    let resource = if by_pinning { "pinning pages" } else { "mapping and touching pages" };
    Bound::of_time(kept_us, resource, "the same copy with the registration kept, as a registration cache does")
}

/// The kernel's sockets on one machine: a hand-off, and each byte's copies in and out.
pub fn sockets(hand_off_us: f64, copy_mbps: f64) -> Bound {
    let is = "a cache line's hand-off between cores; each byte copied in and out, each by a core of its own";
    Bound { latency_us: hand_off_us, mbps: copy_mbps, resource: "kernel's copies".to_owned(), is }
}

/// A line of a known or an unknown rate.
pub fn line(mbps: Option<f64>, resource: String, is: &'static str) -> Bound {
    Bound { latency_us: 0.0, mbps: mbps.unwrap_or(f64::NAN), resource, is }
}

/// A message of `size` bytes by what [`sockets`] or a [`line()`] allows.
pub fn sent(by: &Bound, size: u64) -> Bound {
    Bound { latency_us: by.latency_us + size as f64 / by.mbps, ..by.clone() }
}

/// What crosses between machines: the busiest one's bytes at the rate of a machine's input or output. `bytes` are those
/// that the benchmark counts in all.
pub fn crossing(busiest_bytes: f64, bytes: f64, machine: Peak, is: &'static str) -> Bound {
    let us = busiest_bytes / machine.mbps;
    Bound { latency_us: us, ..Bound::of_rate(Peak { mbps: bytes / us, ..machine }, is) }
}

/// A concurrent message and computation: the longer of the two, each the fastest that was seen.
pub fn hidden(message_us: f64, compute_us: f64, by_computation: bool) -> Bound {
    let is = "the fastest message and the fastest computation seen, alone or together: the longer of the two";
    Bound::of_time(message_us.max(compute_us), if by_computation { "computation" } else { "message" }, is)
}

/// A program whose computation takes `compute_us` on its slowest rank, of `total_us` in all; what else there is takes
/// no time.
pub fn computation(compute_us: f64, total_us: f64, [own, others]: [&str; 2], is: &'static str) -> Bound {
    Bound::of_time(compute_us, if 2.0 * compute_us > total_us { own } else { others }, is)
}

/// The hit rate of a cache without limits: each buffer misses once.
pub fn hit_rate(buffers_used: usize, uses: usize) -> f64 {
    1.0 - buffers_used as f64 / uses.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_the_larger_or_none() {
        let of = |hand_off_us, bytes_us: f64| message(hand_off_us, 8, Route::Kept.peak(Some(8.0 / bytes_us), 1));
        assert_eq!((of(1.0, 2.0).latency_us, of(2.0, 1.0).latency_us), (2.0, 2.0));
        assert_eq!((of(1.0, 2.0).resource.as_str(), of(2.0, 1.0).resource.as_str()), (COPY, HAND_OFF));
        let none = message(0.0, 8, None);
        assert!(none.latency_us.is_nan() && none.is == "no bound known");
        assert_eq!(of(2.0, 1.0).in_time(8), 4.0);
    }

    #[test]
    fn lines_that_must_change_cores_bound_where_they_are_slower() {
        let of = |route: Route, copies| route.peak(Some(copies), 1).map(|peak| (peak.mbps, peak.resource));
        let peak = |mbps, resource: &str| Some((mbps, resource.to_owned()));
        let ordinary = |lines_mbps, system_mbps| Route::Ordinary { lines_mbps, system_mbps };
        assert_eq!(of(Route::Kept, 100.0), peak(100.0, COPY));
        assert_eq!(of(ordinary(20.0, 15.0), 100.0), peak(20.0, LINES));
        assert_eq!(of(ordinary(20.0, 30.0), 100.0), peak(30.0, SYSTEM), "a message takes the faster one");
        assert_eq!(of(ordinary(20.0, 30.0), 25.0), peak(25.0, COPY), "beyond the caches memory is slower");
        assert_eq!(of(ordinary(0.0, 0.0), 25.0), peak(25.0, COPY), "nothing was measured");
        // The sender's core may leave nothing to the other, but then it is alone.
        assert_eq!(of(Route::Written { lines_mbps: 20.0 }, 100.0), peak(70.0, LINES));
        assert_eq!(of(Route::Written { lines_mbps: 60.0 }, 100.0), peak(100.0, COPY));
        assert_eq!(Route::Kept.peak(None, 1), None);
        let both = |route: Route| route.peak(Some(100.0), 2).map(|peak| peak.mbps);
        assert_eq!(
            both(ordinary(20.0, 30.0)),
            Some(40.0),
            "a core reads in each direction, the system has the same two"
        );
        assert_eq!(both(Route::Written { lines_mbps: 20.0 }), Some(100.0));
    }

    #[test]
    fn bounds_of_devices_add_up_what_is_in_the_way() {
        assert_eq!((flags(2, 0.2).latency_us, flags(5, 0.2).latency_us), (0.2, 0.2 * 3.0));
        assert_eq!(
            (device(0.2, 0.1).latency_us, device(0.2, 0.1).resource.as_str()),
            (1.0, "the compiled RTL's clock")
        );
        assert_eq!(device(0.4, 0.1).resource, HAND_OFF);
    }

    #[test]
    fn news_needs_a_step_for_each_doubling() {
        assert_eq!(collective(5, 1.0, 2.0, None, Order::Together).latency_us, 3.0);
        assert_eq!(collective(5, 1.0, 2.0, None, Order::Row(3)).latency_us, 2.0);
        assert_eq!(collective(5, 1.0, 2.0, None, Order::Late).resource, COPY);
        assert!(collective(5, 1.0, 0.0, None, Order::Late).latency_us.is_nan());
        let crossed = |order| collective(2, 1.0, 2.0, Some((4.0, LINES)), order);
        assert_eq!((crossed(Order::Row(3)).latency_us, crossed(Order::Row(3)).resource.as_str()), (4.0, LINES));
        assert_eq!(crossed(Order::Late).resource, COPY, "the other core may have put it there before");
    }

    #[test]
    fn what_crosses_is_bound_by_the_busiest_machine() {
        let bound = crossing(8000.0, 16000.0, Peak::new(1000.0, "network ports"), "");
        assert_eq!((bound.latency_us, bound.mbps), (8.0, 2000.0));
    }
}
