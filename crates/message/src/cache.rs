//! Registrations, mappings and connections kept for later uses (W01 slide 10). They are released not after use but when
//! a new one fails for want of resources. The policy chooses which one goes.

use hotlink_port::loopback::Random;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which unused entry is released when one must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// The one used longest ago.
    #[default]
    Lru,
    /// The one used least often (longest ago, among equals).
    Lfu,
    /// The smallest that is no smaller than the new one, else the largest.
    BestFit,
    /// Any, drawn from the seed.
    Random(u64),
    /// Nothing is kept: released right after use.
    Immediate,
}

/// Counts of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheStats {
    /// Uses that found an entry.
    pub hits: u64,
    /// Uses for which an entry had to be made.
    pub misses: u64,
    /// Releases on demand.
    pub evictions: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot<V> {
    value: V,
    bytes: u64,
    /// Uses under way.
    users: u32,
    /// Number of uses.
    uses: u64,
    /// When it was last used, by a count of uses of the cache.
    last: u64,
    /// Higher ones go last (persistent requests).
    hold: u32,
}

/// Entries by key.
#[derive(Clone, Debug)]
pub(crate) struct Cache<K, V> {
    policy: Policy,
    slots: BTreeMap<K, Slot<V>>,
    uses: u64,
    random: Random,
    pub(crate) stats: CacheStats,
}

impl<K: Copy + Ord, V: Copy> Cache<K, V> {
    pub(crate) fn new(policy: Policy) -> Cache<K, V> {
        let random = Random::new(if let Policy::Random(seed) = policy { seed } else { 0 });
        Cache { policy, slots: BTreeMap::new(), uses: 0, random, stats: CacheStats::default() }
    }
    /// The entry of `key`, in use from now until [`Cache::done`].
    pub(crate) fn take(&mut self, key: K) -> Option<V> {
        self.uses += 1;
        match self.slots.get_mut(&key) {
            Some(slot) => {
                (slot.users, slot.uses, slot.last) = (slot.users + 1, slot.uses + 1, self.uses);
                self.stats.hits += 1;
                Some(slot.value)
            }
            None => {
                self.stats.misses += 1;
                None
            }
        }
    }
    /// The entry of `key` if a use of it is under way; this does not count as a use.
    pub(crate) fn in_hand(&self, key: K) -> Option<V> {
        self.slots.get(&key).filter(|slot| slot.users > 0).map(|slot| slot.value)
    }
    /// Adds a new entry, in use.
    pub(crate) fn insert(&mut self, key: K, value: V, bytes: u64) {
        self.slots.insert(key, Slot { value, bytes, users: 1, uses: 1, last: self.uses, hold: 0 });
    }
    /// Ends a use; returns the entry if it must be released at once.
    #[must_use]
    pub(crate) fn done(&mut self, key: K) -> Option<V> {
        let slot = self.slots.get_mut(&key)?;
        slot.users = slot.users.saturating_sub(1);
        let release = slot.users == 0 && slot.hold == 0 && self.policy == Policy::Immediate;
        if release { self.slots.remove(&key).map(|slot| slot.value) } else { None }
    }
    /// Takes out an unused entry to make room for `bytes`; `None` if all are in use.
    #[must_use]
    pub(crate) fn evict(&mut self, bytes: u64) -> Option<(K, V)> {
        let least_held = self.slots.values().filter(|slot| slot.users == 0).map(|slot| slot.hold).min()?;
        let free = self.slots.iter().filter(|(_, slot)| slot.users == 0 && slot.hold == least_held);
        let key = match self.policy {
            Policy::Lru | Policy::Immediate => free.min_by_key(|(_, slot)| slot.last),
            Policy::Lfu => free.min_by_key(|(_, slot)| (slot.uses, slot.last)),
            Policy::BestFit => {
                let rank =
                    |slot: &Slot<V>| if slot.bytes >= bytes { (0, slot.bytes) } else { (1, u64::MAX - slot.bytes) };
                free.min_by_key(|(_, slot)| (rank(slot), slot.last))
            }
            Policy::Random(_) => {
                let count = free.clone().count() as u64;
                free.clone().nth(self.random.below(count) as usize)
            }
        }
        .map(|(key, _)| *key)?;
        self.stats.evictions += 1;
        self.slots.remove(&key).map(|slot| (key, slot.value))
    }
    /// Forgets an entry that is gone by itself.
    pub(crate) fn forget(&mut self, key: K) -> Option<V> {
        self.slots.remove(&key).map(|slot| slot.value)
    }
    /// Whether there is an entry of `key`.
    pub(crate) fn has(&self, key: K) -> bool {
        self.slots.contains_key(&key)
    }
    /// The keys that `wanted` takes.
    pub(crate) fn keys(&self, wanted: impl Fn(&K) -> bool) -> Vec<K> {
        self.slots.keys().copied().filter(|key| wanted(key)).collect()
    }
    /// Hashes the parts that distinguish two states: the entries, their uses under way, and the order of their last
    /// uses.
    #[cfg(any(test, feature = "prove"))]
    pub(crate) fn fingerprint(&self, hasher: &mut impl std::hash::Hasher)
    where
        K: std::hash::Hash,
        V: std::hash::Hash,
    {
        for (key, slot) in &self.slots {
            let older = self.slots.values().filter(|other| other.last < slot.last).count();
            std::hash::Hash::hash(&(key, slot.value, slot.users, older), hasher);
        }
    }
    /// Uses under way.
    #[cfg(any(test, feature = "prove"))]
    pub(crate) fn in_use(&self) -> usize {
        self.slots.values().map(|slot| slot.users as usize).sum()
    }
    /// Gives an entry a hold priority: entries with a lower one are released before it.
    pub(crate) fn hold(&mut self, key: K, hold: u32) {
        if let Some(slot) = self.slots.get_mut(&key) {
            slot.hold = hold;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The reference: a list in order of last use, everything by definition.
    #[derive(Default)]
    struct Model {
        list: Vec<(u8, u64, u32, u64, u32)>,
    }
    impl Model {
        fn find(&mut self, key: u8) -> Option<&mut (u8, u64, u32, u64, u32)> {
            self.list.iter_mut().find(|entry| entry.0 == key)
        }
        fn used(&mut self, key: u8) {
            let at = self.list.iter().position(|entry| entry.0 == key).unwrap();
            let mut entry = self.list.remove(at);
            (entry.2, entry.3) = (entry.2 + 1, entry.3 + 1);
            self.list.push(entry);
        }
        fn victim(&self, policy: Policy, bytes: u64) -> Option<u8> {
            let hold = self.list.iter().filter(|e| e.2 == 0).map(|e| e.4).min()?;
            let free: Vec<_> = self.list.iter().filter(|e| e.2 == 0 && e.4 == hold).collect();
            let fits = free.iter().filter(|e| e.1 >= bytes).min_by_key(|e| e.1);
            let pick = match policy {
                Policy::Lfu => free.iter().min_by_key(|e| e.3),
                Policy::BestFit => fits.or(free.iter().rev().max_by_key(|e| e.1)),
                _ => free.first(),
            };
            pick.map(|e| e.0)
        }
    }

    proptest! {
        /// Any sequence of uses, ends, holds and evictions does what the reference does, under every policy.
        #[test]
        fn behaves_as_the_reference(
            which in 0usize..4,
            steps in prop::collection::vec((0u8..5, 0u8..12, 1u64..50), 0..200),
        ) {
            let policy = [Policy::Lru, Policy::Lfu, Policy::BestFit, Policy::Immediate][which];
            let mut cache: Cache<u8, u8> = Cache::new(policy);
            let mut model = Model::default();
            for (what, key, bytes) in steps {
                match what {
                    0 | 1 => {
                        let known = model.find(key).is_some();
                        prop_assert_eq!(cache.take(key), known.then_some(key));
                        if known {
                            model.used(key);
                        } else {
                            cache.insert(key, key, bytes);
                            model.list.push((key, bytes, 1, 1, 0));
                        }
                    }
                    2 => {
                        let released = cache.done(key);
                        let gone = model.find(key).is_some_and(|entry| {
                            entry.2 = entry.2.saturating_sub(1);
                            entry.2 == 0 && entry.4 == 0 && policy == Policy::Immediate
                        });
                        prop_assert_eq!(released, gone.then_some(key));
                        model.list.retain(|entry| !(gone && entry.0 == key));
                    }
                    3 => {
                        let victim = model.victim(policy, bytes);
                        prop_assert_eq!(cache.evict(bytes).map(|(key, _)| key), victim);
                        model.list.retain(|entry| Some(entry.0) != victim);
                    }
                    _ => {
                        cache.hold(key, bytes as u32 % 3);
                        if let Some(entry) = model.find(key) {
                            entry.4 = bytes as u32 % 3;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn random_takes_each_and_only_what_is_free() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let mut cache: Cache<u8, u8> = Cache::new(Policy::Random(seed));
            (0..4).for_each(|key| cache.insert(key, key, 1));
            (1..4).for_each(|key| assert_eq!(cache.done(key), None));
            seen.insert(cache.evict(1).unwrap().0);
        }
        assert_eq!(seen, [1, 2, 3].into());
    }
}
