//! The event core: a clock in whole picoseconds and a queue of small typed events.
//!
//! An event is two words, its time and a packed payload ([`Event`]). A queue moves 16 bytes, and no event owns memory.
//! A simulation schedules only at or after its clock. The queue can therefore be a radix heap ([`RadixHeap`]) or a
//! calendar ([`Calendar`], for networks). Both are cheaper than a comparison heap, and first-in first-out at equal
//! times without a sequence number. Where events are often few, a row stands before the queue ([`Few`]). The
//! alternatives ([`BinaryHeap`], [`QuadHeap`]) remain for `examples/event_rates.rs`, which shows the difference on any
//! machine.
//!
//! The crate also has pools and lists of what comes and goes ([`Pool`], [`List`]), seeded random numbers ([`random`]),
//! and sizes of messages ([`sizes`]). [`pipeline`] models transfers as servers in a row, and [`Gauge`] shows the
//! progress of a run.

mod calendar;
mod few;
mod gauge;
mod heaps;
pub mod pipeline;
mod pool;
mod radix;
pub mod random;
mod ring;
pub mod sizes;
mod trace;

pub use calendar::Calendar;
pub use few::Few;
pub use gauge::{Gauge, Halt, Halted};
pub use heaps::{BinaryHeap, QuadHeap};
pub use pool::{Linked, List, Pool};
pub use radix::RadixHeap;
pub use trace::TraceHash;

/// The id of nothing: no server, packet or message.
pub const NONE: u32 = u32::MAX;

/// What happens: a kind, a 32-bit id (packet, server, node) and 24 bits more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event(pub u64);

impl Event {
    /// Packs `kind`, `id` and the low 24 bits of `extra`.
    #[inline]
    pub fn new(kind: u8, id: u32, extra: u32) -> Event {
        Event(u64::from(kind) << 56 | u64::from(extra & 0xff_ffff) << 32 | u64::from(id))
    }
    /// The kind.
    #[inline]
    pub fn kind(self) -> u8 {
        (self.0 >> 56) as u8
    }
    /// The id.
    #[inline]
    pub fn id(self) -> u32 {
        self.0 as u32
    }
    /// The 24 bits more.
    #[inline]
    pub fn extra(self) -> u32 {
        (self.0 >> 32) as u32 & 0xff_ffff
    }
}

/// A priority queue of events in time order, first-in first-out at equal times.
pub trait Queue: Default {
    /// Schedules `event` at `at` picoseconds, never before the time of the last event popped.
    fn push(&mut self, at: u64, event: Event);
    /// The earliest event and its time.
    fn pop(&mut self) -> Option<(u64, Event)>;
    /// Events pending.
    fn len(&self) -> usize;
    /// Nothing pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pushes and pops as given; the reference is a stable sort.
    fn agrees_with_stable_sort<Q: Queue>(steps: &[(u64, bool)]) {
        let (mut queue, mut reference) = (Q::default(), Vec::<(u64, u32)>::new());
        let mut now = 0;
        for (id, &(delay, pop)) in steps.iter().enumerate() {
            queue.push(now + delay, Event::new(1, id as u32, 0));
            reference.push((now + delay, id as u32));
            if pop {
                now = pop_both(&mut queue, &mut reference);
            }
        }
        while !reference.is_empty() {
            pop_both(&mut queue, &mut reference);
        }
        assert!(queue.pop().is_none() && queue.is_empty());
    }

    fn pop_both<Q: Queue>(queue: &mut Q, reference: &mut Vec<(u64, u32)>) -> u64 {
        let first = (0..reference.len()).min_by_key(|&i| (reference[i].0, i)).expect("not empty");
        let (at, id) = reference.remove(first);
        assert_eq!(queue.pop(), Some((at, Event::new(1, id, 0))));
        assert_eq!(queue.len(), reference.len());
        at
    }

    proptest! {
        #[test]
        fn every_queue_is_a_stable_sort(
            steps in proptest::collection::vec((prop_oneof![Just(0u64), 0..4u64, 0..5_000u64, any::<u64>().prop_map(|d| d >> 8)], any::<bool>()), 0..200)
        ) {
            agrees_with_stable_sort::<Calendar>(&steps);
            agrees_with_stable_sort::<RadixHeap>(&steps);
            agrees_with_stable_sort::<Few<RadixHeap>>(&steps);
            agrees_with_stable_sort::<RadixHeap<1>>(&steps);
            agrees_with_stable_sort::<RadixHeap<8>>(&steps);
            agrees_with_stable_sort::<BinaryHeap>(&steps);
            agrees_with_stable_sort::<QuadHeap>(&steps);
        }

        #[test]
        fn event_fields_survive_packing(kind: u8, id: u32, extra in 0u32..1 << 24) {
            let event = Event::new(kind, id, extra);
            prop_assert_eq!((event.kind(), event.id(), event.extra()), (kind, id, extra));
        }
    }

    #[test]
    fn a_calendar_keeps_the_order_whatever_the_width_that_events_call_for() {
        let (mut calendar, mut radix) = (Calendar::default(), RadixHeap::<6>::default());
        let (mut random, mut id, mut now) = (crate::random::Random::new(1), 0, 0);
        // Many at a time and few; from all at once to far apart, and back: wider and narrower buckets.
        for (spread, pending) in [(1, 5_000), (1 << 12, 20), (1 << 30, 3_000), (1 << 45, 3_000), (1 << 8, 9_000)] {
            for _ in 0..60_000 {
                while calendar.len() < pending {
                    let delay = if random.below(8) == 0 { 0 } else { random.next_u64() % spread };
                    calendar.push(now + delay, Event::new(0, id, 0));
                    radix.push(now + delay, Event::new(0, id, 0));
                    id += 1;
                }
                if random.below(4) == 0 {
                    let most = random.below(100) as usize;
                    calendar.look_ahead(most);
                    assert!(calendar.due().is_sorted_by_key(|item| item.0) && calendar.due().len() <= calendar.len());
                }
                let next = calendar.pop();
                assert_eq!(next, radix.pop());
                now = next.unwrap().0;
            }
            while let Some(next) = calendar.pop() {
                assert_eq!(Some(next), radix.pop());
                now = next.0;
            }
        }
    }

    #[test]
    fn trace_hash_depends_on_order() {
        let hash = |events: &[(u64, u32)]| {
            let mut hash = TraceHash::default();
            events.iter().for_each(|&(at, id)| hash.add(at, Event::new(0, id, 0)));
            hash.value()
        };
        assert_eq!(hash(&[(1, 2), (1, 3)]), hash(&[(1, 2), (1, 3)]));
        assert_ne!(hash(&[(1, 2), (1, 3)]), hash(&[(1, 3), (1, 2)]));
        assert_ne!(hash(&[(1, 2)]), hash(&[(2, 2)]));
        assert_ne!(hash(&[]), hash(&[(0, 0)]));
    }
}
