//! Dynamic allocation inside a segment: offsets, first fit, by the rank that manages the segment.

use hotlink_port::Refusal;
use std::collections::BTreeMap;

/// Free and used parts of `0..bytes`.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
}

impl Heap {
    pub(crate) fn new(bytes: u64) -> Heap {
        Heap { free: BTreeMap::from([(0, bytes)]), used: BTreeMap::new() }
    }
    /// The offset of `bytes` (at least one is taken) from a multiple of `align` on.
    pub(crate) fn alloc(&mut self, bytes: u64, align: u64) -> Result<u64, Refusal> {
        if !align.is_power_of_two() {
            return Err(Refusal::Misaligned(align));
        }
        let bytes = bytes.max(1);
        let fit = self.free.iter().find_map(|(&at, &len)| {
            let start = at.checked_next_multiple_of(align)?;
            (start.checked_add(bytes)? <= at + len).then_some((at, len, start))
        });
        let (at, len, start) = fit.ok_or(Refusal::NoMemory)?;
        self.free.remove(&at);
        if start > at {
            self.free.insert(at, start - at);
        }
        if start + bytes < at + len {
            self.free.insert(start + bytes, at + len - start - bytes);
        }
        self.used.insert(start, bytes);
        Ok(start)
    }
    pub(crate) fn free(&mut self, at: u64) -> Result<(), Refusal> {
        let bytes = self.used.remove(&at).ok_or(Refusal::Gone)?;
        let (mut at, mut bytes) = (at, bytes);
        if let Some((&before, &len)) = self.free.range(..at).next_back()
            && before + len == at
        {
            self.free.remove(&before);
            (at, bytes) = (before, bytes + len);
        }
        if let Some(len) = self.free.remove(&(at + bytes)) {
            bytes += len;
        }
        self.free.insert(at, bytes);
        Ok(())
    }
    /// Bytes of `at..at + bytes` that are allocated.
    pub(crate) fn used_in(&self, at: u64, bytes: u64) -> u64 {
        let end = at.saturating_add(bytes);
        let parts = self.used.range(..end).map(|(&start, &len)| (start + len).min(end).saturating_sub(start.max(at)));
        parts.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Parts never overlap, are aligned and inside; what is freed joins, so that in the end all is one again.
        #[test]
        fn parts_are_apart_and_come_back(steps in prop::collection::vec((any::<bool>(), 0u64..200, 0u32..8), 0..100)) {
            let mut heap = Heap::new(1000);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for (take, bytes, align) in steps {
                if take || live.is_empty() {
                    if let Ok(at) = heap.alloc(bytes, 1 << align) {
                        let bytes = bytes.max(1);
                        prop_assert!(at.is_multiple_of(1 << align) && at + bytes <= 1000);
                        prop_assert!(live.iter().all(|&(other, len)| at + bytes <= other || other + len <= at));
                        live.push((at, bytes));
                    }
                } else {
                    let (at, _) = live.swap_remove(bytes as usize % live.len());
                    prop_assert_eq!(heap.free(at), Ok(()));
                    prop_assert_eq!(heap.free(at), Err(Refusal::Gone));
                }
                prop_assert_eq!(heap.used_in(0, 1000), live.iter().map(|part| part.1).sum::<u64>());
            }
            live.into_iter().for_each(|(at, _)| heap.free(at).unwrap());
            prop_assert_eq!(heap.alloc(1000, 1), Ok(0));
        }
    }
}
