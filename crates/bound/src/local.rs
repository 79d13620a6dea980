//! What ranks of one machine, or of a few, cannot beat: every rank's own copies, and the hand-off of a cache line between
//! two cores, both measured in the same run.

use crate::{Bound, COPY, HAND_OFF, Peak};

/// The larger of steps and copies in microseconds, 0 where unknown.
fn larger(steps_us: f64, copy_us: f64, is: &'static str) -> Bound {
    match (copy_us > steps_us, steps_us.max(copy_us) > 0.0) {
        (_, false) => Bound::unknown(),
        (true, _) => Bound::of_time(copy_us, COPY, is),
        (false, _) => Bound::of_time(steps_us, HAND_OFF, is),
    }
}

/// Steps until all of `ranks` know of each other.
fn steps(ranks: u32) -> f64 {
    f64::from(ranks.next_power_of_two().trailing_zeros())
}

/// A message between two ranks; 0 where one of the times is unknown.
pub fn message(hand_off_us: f64, copy_us: f64) -> Bound {
    larger(
        hand_off_us,
        copy_us,
        "the larger of a cache line's hand-off between cores and both ranks copying the message",
    )
}

/// A message with an empty one each way beside it (K98's two semantics).
pub fn with_two_words(bytes: f64, copy_mbps: f64, hand_off_us: f64) -> Bound {
    let (bytes_us, words_us) = (bytes / copy_mbps.max(1e-9), 2.0 * hand_off_us);
    let resource = if bytes_us > words_us { COPY } else { HAND_OFF };
    let rate = Peak::new(bytes / (bytes_us + words_us), resource);
    Bound::of_rate(rate, "both ranks copying the message, and a cache line's hand-off for each empty message")
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

/// A collective of `ranks`: news of every rank needs so many steps to reach all, and what the ranks must write is copied.
pub fn collective(ranks: u32, hand_off_us: f64, copy_us: f64, order: Order) -> Bound {
    let steps_us = steps(ranks) * hand_off_us;
    match order {
        Order::Together => larger(
            steps_us,
            copy_us,
            "the larger of ceil(log2 ranks) hand-offs of a cache line between cores, and every byte that ranks must write, \
             copied by all cores at once",
        ),
        Order::Row(many) => larger(
            steps_us / many as f64,
            copy_us,
            "the larger of ceil(log2 ranks) hand-offs of a cache line between cores, once in a row of operations that flow \
             into each other, and every byte that ranks must write, copied by all cores at once",
        ),
        Order::Late => larger(
            0.0,
            copy_us,
            "every byte that ranks must write, copied by all cores at once; a rank that leaves the barrier late may find the \
             data there, so hand-offs bound nothing",
        ),
    }
}

/// A barrier by flags in shared memory, of so many times the measured barrier of two bare flags.
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

/// Streams between ranks at the rate of all their cores' copies. It holds for any way to move bytes, and is loose: of
/// several copies each counts as the only one, a message's own cost beside its bytes as none (which for short ones is
/// nearly all), and the bytes come from the nearest cache.
pub fn copies(mbps: Option<f64>) -> Bound {
    Bound::of_rate(
        Peak::new(mbps.unwrap_or(f64::INFINITY), COPY),
        "all cores that the ranks can use copying messages in their own memory at once; loose where a message is copied \
         twice, and for short ones, whose own cost has no bound",
    )
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

/// A strided copy beside the contiguous one.
pub fn strided(contiguous_mbps: f64) -> Bound {
    Bound::of_rate(Peak::new(contiguous_mbps, "strided stores"), "the contiguous copy of as many bytes")
}

/// A copy whose set-up is made each time beside one whose set-up is kept (W01 slide 10).
pub fn kept(kept_us: f64, by_pinning: bool) -> Bound {
    let resource = if by_pinning { "pinning pages" } else { "mapping and touching pages" };
    Bound::of_time(kept_us, resource, "the same copy with the set-up kept, as a cache of set-ups does")
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

/// What crosses between machines: the busiest one's bytes at the rate that a machine takes in or gives away, of `bytes`
/// that the benchmark counts in all.
pub fn crossing(busiest_bytes: f64, bytes: f64, machine: Peak, is: &'static str) -> Bound {
    let us = busiest_bytes / machine.mbps;
    Bound { latency_us: us, ..Bound::of_rate(Peak { mbps: bytes / us, ..machine }, is) }
}

/// A message and a computation side by side: the longer of the two, each the fastest that was seen.
pub fn hidden(message_us: f64, compute_us: f64, by_computation: bool) -> Bound {
    let is = "the fastest message and the fastest computation seen, alone or together: the longer of the two";
    Bound::of_time(message_us.max(compute_us), if by_computation { "computation" } else { "message" }, is)
}

/// A program whose computation takes `compute_us` on its slowest rank, of `total_us` in all; what else there is takes no
/// time.
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
        assert_eq!((message(1.0, 2.0).latency_us, message(2.0, 1.0).latency_us), (2.0, 2.0));
        assert_eq!((message(1.0, 2.0).resource.as_str(), message(2.0, 1.0).resource.as_str()), (COPY, HAND_OFF));
        assert!(message(0.0, 0.0).latency_us.is_nan() && message(0.0, 0.0).is == "no bound known");
        assert_eq!(message(2.0, 1.0).in_time(8), 4.0);
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
        assert_eq!(collective(5, 1.0, 2.0, Order::Together).latency_us, 3.0);
        assert_eq!(collective(5, 1.0, 2.0, Order::Row(3)).latency_us, 2.0);
        assert_eq!(collective(5, 1.0, 2.0, Order::Late).resource, COPY);
        assert!(collective(5, 1.0, 0.0, Order::Late).latency_us.is_nan());
    }

    #[test]
    fn what_crosses_is_bound_by_the_busiest_machine() {
        let bound = crossing(8000.0, 16000.0, Peak::new(1000.0, "network ports"), "");
        assert_eq!((bound.latency_us, bound.mbps), (8.0, 2000.0));
    }
}
