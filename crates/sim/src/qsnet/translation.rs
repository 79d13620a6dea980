//! The Elan's address translation: a page table walked in hardware, and the few translations that it keeps.
//!
//! A DMA names virtual addresses, of its source on the sending node and of its destination on the receiving one. A page
//! that the buffer lacks is looked up in a table of three levels. It replaces the page unused longest.

use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;

/// What an Elan's translation is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Bytes of a page.
    pub page: u64,
    /// Translations that the adapter keeps.
    pub entries: u32,
    /// Time to walk the table for one that it does not.
    pub walk: Time,
}

impl Translation {
    /// From a fabric's parameters.
    pub(super) fn of(spec: &FabricSpec) -> Option<Translation> {
        let value = |name: &str| spec.parameters.get(name).map(|parameter| parameter.value);
        Some(Translation {
            page: (value("page_size")? as u64).max(1),
            entries: value("translation_entries")? as u32,
            walk: Time(value("translation_miss_time")?.round() as u64),
        })
    }
}

/// Bytes of memory that a DMA reads or writes: a buffer by its number, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Which of the node's buffers.
    pub buffer: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Looked up and not found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// Pages looked up.
    pub pages: u64,
    /// Those whose translation the adapter did not have.
    pub misses: u64,
}

/// The translations that one Elan keeps, the one used last in front.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    kept: Vec<(u32, u64)>,
}

impl Buffer {
    /// Looks up the pages of `span`, one at least; gives the time for those that are missing.
    pub fn look_up(&mut self, how: Translation, span: Span, count: &mut Lookups) -> Time {
        let (first, last) = (span.offset / how.page, (span.offset + span.bytes.max(1) - 1) / how.page);
        let mut misses = 0;
        for page in first..=last {
            let key = (span.buffer, page);
            match self.kept.iter().position(|&kept| kept == key) {
                Some(place) => self.kept[..=place].rotate_right(1),
                None => {
                    misses += 1;
                    self.kept.truncate(how.entries.saturating_sub(1) as usize);
                    self.kept.insert(0, key);
                }
            }
        }
        count.pages += last - first + 1;
        count.misses += misses;
        Time(misses * how.walk.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pages_as_there_are_places_stay_and_one_more_pushes_each_out_in_turn() {
        let how = Translation { page: 8192, entries: 16, walk: Time(300_000) };
        let (mut buffer, mut count) = (Buffer::default(), Lookups::default());
        let mut pass = |pages: u64| {
            let span = Span { buffer: 1, offset: 0, bytes: pages * 8192 };
            buffer.look_up(how, span, &mut count).0 / how.walk.0
        };
        assert_eq!([pass(16), pass(16), pass(17), pass(17)], [16, 0, 1, 17]);
        assert_eq!(count, Lookups { pages: 66, misses: 34 });
    }

    #[test]
    fn a_page_is_one_buffers_and_a_span_across_an_edge_has_two() {
        let how = Translation { page: 8192, entries: 16, walk: Time(1) };
        let (mut buffer, mut count) = (Buffer::default(), Lookups::default());
        let mut misses = |buffer_number, offset, bytes| {
            buffer.look_up(how, Span { buffer: buffer_number, offset, bytes }, &mut count).0
        };
        assert_eq!([misses(0, 0, 0), misses(0, 8191, 1), misses(0, 8191, 2), misses(1, 0, 8)], [1, 0, 1, 1]);
    }
}
