//! Operations in an order cannot end before their longest chain, nor before the busiest of their resources is done.

use crate::load::Bounds;
use hotlink_fabric::units::Time;

/// Gaps that one side of an adapter keeps, one after the other: their sum, and the longest, which may come last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Sum: picoseconds.
    pub sum: u64,
    /// The longest: picoseconds.
    pub longest: u64,
}

impl Gaps {
    /// One more.
    #[inline]
    pub fn add(&mut self, gap: u64) {
        self.sum = self.sum.saturating_add(gap);
        self.longest = self.longest.max(gap);
    }

    /// When the last message at the earliest starts and is handed over: of an adapter's gaps the last may reach past the
    /// end. `before` is the time until the first gap starts; `None` of no gap.
    pub fn least(self, before: u64, overhead: u64) -> Option<u64> {
        (self.sum > 0).then(|| before + (self.sum - self.longest) + overhead)
    }
}

/// The greatest of several needs in picoseconds, each with what has it: the first of equals.
pub fn most<R>(first: (u64, R), others: impl IntoIterator<Item = (u64, R)>) -> (u64, R) {
    others.into_iter().fold(first, |most, one| if one.0 > most.0 { one } else { most })
}

/// A window of messages through adapters: picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Messages.
    pub count: u64,
    /// One message and what answers the window.
    pub whole: u64,
    /// As many come as go.
    pub both: bool,
}

impl Window {
    /// The least when each message keeps the adapter so long and a processor so long; whether the adapter sets it.
    pub fn least(self, adapter: u64, processor: u64) -> (u64, bool) {
        let row = |each: u64| (self.count - 1) * each + self.whole;
        // Both ways a processor takes as many messages as it sends.
        let worked = if self.both { row(processor).max(2 * self.count * processor) } else { row(processor) };
        (row(adapter).max(worked), row(adapter) >= worked)
    }
}

/// A window of messages that processors move themselves, each in `each`, and the notice of the last: picoseconds.
pub fn window_moved(count: u64, each: u64, news: u64) -> u64 {
    count * each + news
}

/// The time in which the hottest resource carries what `flow` messages of `bytes` a node put on it.
pub fn carried(bounds: &Bounds, bytes: u64) -> Time {
    Time::from_us(bounds.flow_per_node * bytes as f64 / bounds.bandwidth_per_node_mbps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_gaps_but_the_longest_must_pass() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.least(7, 1), None);
        [3, 5, 3].into_iter().for_each(|gap| gaps.add(gap));
        assert_eq!(gaps.least(7, 1), Some(7 + 6 + 1));
        assert_eq!(most((4, "chain"), [(4, "processor"), (9, "adapter"), (9, "other")]), (9, "adapter"));
    }

    #[test]
    fn a_window_waits_for_the_slower_of_adapter_and_processor() {
        let window = |both| Window { count: 10, whole: 100, both };
        assert_eq!((window(false).least(5, 2), window(false).least(2, 5)), ((145, true), (145, false)));
        assert_eq!(window(true).least(5, 20), (400, false));
        assert_eq!(window_moved(10, 3, 7), 37);
    }
}
