//! Registrations and attachments for zero-copy transfers: made when needed, kept while resources last.

use crate::cache::{Cache, CacheStats, Policy};
use hotlink_fabric::units::Time;
use hotlink_port::{Attachment, Engine, Key, Memory, Port, Refusal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The cost of registrations and attachments, and how often the cache avoided them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupStats {
    /// Registrations of own memory.
    pub registrations: CacheStats,
    /// Mappings and connections to other ranks' memory.
    pub attachments: CacheStats,
    /// Those that were refused for good: each made a transfer fall back to buffers.
    pub refused: u64,
    /// Time spent to make and release them.
    pub time: Time,
}

/// A rank's registrations and attachments.
#[derive(Clone)]
pub(crate) struct Setup {
    registrations: Cache<Memory, Key>,
    attachments: Cache<(Key, bool), Attachment>,
    /// Memory that persistent requests want kept, and how many of them.
    held: BTreeMap<Memory, u32>,
    refused: u64,
    time: Time,
}

impl Setup {
    pub(crate) fn new(policy: Policy) -> Setup {
        Setup {
            registrations: Cache::new(policy),
            attachments: Cache::new(policy),
            held: BTreeMap::new(),
            refused: 0,
            time: Time::ZERO,
        }
    }
    pub(crate) fn stats(&self) -> SetupStats {
        let (registrations, attachments) = (self.registrations.stats, self.attachments.stats);
        SetupStats { registrations, attachments, refused: self.refused, time: self.time }
    }
    /// What distinguishes two states, for the checker.
    #[cfg(any(test, feature = "prove"))]
    pub(crate) fn fingerprint(&self, hasher: &mut impl std::hash::Hasher) {
        self.registrations.fingerprint(hasher);
        self.attachments.fingerprint(hasher);
    }
    /// Uses under way.
    #[cfg(any(test, feature = "prove"))]
    pub(crate) fn in_use(&self) -> usize {
        self.registrations.in_use() + self.attachments.in_use()
    }
    /// The key of `memory`, registered now if it is not yet. In use until [`Setup::registered_done`].
    pub(crate) fn register(&mut self, port: &mut impl Port, memory: Memory) -> Result<Key, Refusal> {
        if let Some(key) = self.registrations.take(memory) {
            return Ok(key);
        }
        let start = port.now();
        let result = self.register_anew(port, memory);
        self.finish(port, start, result)
    }
    fn register_anew(&mut self, port: &mut impl Port, memory: Memory) -> Result<Key, Refusal> {
        let key = self.register_for_program(port, memory)?;
        self.registrations.insert(memory, key, key.bytes);
        if self.held.contains_key(&memory) {
            self.registrations.hold(memory, 1);
        }
        Ok(key)
    }
    /// A registration that the program looks after; others that are not in use are released for it if need be.
    pub(crate) fn register_for_program(&mut self, port: &mut impl Port, memory: Memory) -> Result<Key, Refusal> {
        let bytes = port.size(memory)?;
        loop {
            match port.register(memory) {
                Ok(key) => return Ok(key),
                Err(refusal) if is_scarcity(refusal) => {
                    let (_, key) = self.registrations.evict(bytes).ok_or(refusal)?;
                    let _ = port.unregister(key);
                }
                Err(refusal) => return Err(refusal),
            }
        }
    }
    /// The attachment to `key`, mapped or connected as `engine` needs. In use until [`Setup::attached_done`].
    pub(crate) fn attach(&mut self, port: &mut impl Port, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        if let Some(attachment) = self.attachments.take((key, engine == Engine::Pio)) {
            return Ok(attachment);
        }
        let start = port.now();
        let result = self.attach_anew(port, key, engine);
        self.finish(port, start, result)
    }
    /// The attachment to `key` that a transfer under way holds.
    pub(crate) fn attached(&self, key: Key, engine: Engine) -> Option<Attachment> {
        self.attachments.in_hand((key, engine == Engine::Pio))
    }
    fn attach_anew(&mut self, port: &mut impl Port, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        let attachment = self.attach_for_program(port, key, engine)?;
        self.attachments.insert((key, engine == Engine::Pio), attachment, key.bytes);
        Ok(attachment)
    }
    /// An attachment that the program looks after; others that are not in use are released for it if need be.
    pub(crate) fn attach_for_program(
        &mut self,
        port: &mut impl Port,
        key: Key,
        engine: Engine,
    ) -> Result<Attachment, Refusal> {
        loop {
            match port.attach(key, engine) {
                Ok(attachment) => return Ok(attachment),
                Err(refusal) if is_scarcity(refusal) => {
                    let (_, attachment) = self.attachments.evict(key.bytes).ok_or(refusal)?;
                    let _ = port.detach(attachment);
                }
                Err(refusal) => return Err(refusal),
            }
        }
    }
    fn finish<T>(&mut self, port: &impl Port, start: Time, result: Result<T, Refusal>) -> Result<T, Refusal> {
        self.time += port.now() - start;
        self.refused += u64::from(result.is_err());
        result
    }
    /// A transfer from or to registered memory is over.
    pub(crate) fn registered_done(&mut self, port: &mut impl Port, memory: Memory) {
        if let Some(key) = self.registrations.done(memory) {
            let start = port.now();
            let _ = port.unregister(key);
            self.time += port.now() - start;
        }
    }
    /// A transfer through an attachment is over.
    pub(crate) fn attached_done(&mut self, port: &mut impl Port, key: Key, engine: Engine) {
        if let Some(attachment) = self.attachments.done((key, engine == Engine::Pio)) {
            let start = port.now();
            let _ = port.detach(attachment);
            self.time += port.now() - start;
        }
    }
    /// Memory is about to be freed, which ends its exports.
    pub(crate) fn forget_memory(&mut self, memory: Memory) {
        self.registrations.forget(memory);
        self.held.remove(&memory);
    }
    /// Another rank's memory is gone.
    pub(crate) fn forget_key(&mut self, port: &mut impl Port, gone: Key) {
        for key in self.attachments.keys(|(key, _)| (key.rank, key.id) == (gone.rank, gone.id)) {
            if let Some(attachment) = self.attachments.forget(key) {
                let _ = port.detach(attachment);
            }
        }
    }
    /// Registers `memory` ahead of use and keeps it before others, until `unhold`.
    pub(crate) fn hold(&mut self, port: &mut impl Port, memory: Memory) -> Result<(), Refusal> {
        self.register(port, memory)?;
        *self.held.entry(memory).or_default() += 1;
        self.registrations.hold(memory, 1);
        self.registered_done(port, memory);
        Ok(())
    }
    /// Ends one hold.
    pub(crate) fn unhold(&mut self, memory: Memory) {
        if let Some(holds) = self.held.get_mut(&memory) {
            *holds -= 1;
            if *holds == 0 {
                self.held.remove(&memory);
                self.registrations.hold(memory, 0);
            }
        }
    }
    /// Whether `memory` is registered, and held so.
    pub(crate) fn state_of(&self, memory: Memory) -> (bool, bool) {
        (self.registrations.has(memory), self.held.contains_key(&memory))
    }
}

/// A refusal that a release may cure.
fn is_scarcity(refusal: Refusal) -> bool {
    matches!(refusal, Refusal::NoEntries | Refusal::PinLimit | Refusal::NoMemory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_port::loopback::{Loopback, LoopbackPort};
    use hotlink_port::{Align, Driver, Host, Kind};

    fn used(setup: &mut Setup, port: &mut LoopbackPort, memory: Memory) {
        setup.register(port, memory).unwrap();
        setup.registered_done(port, memory);
    }

    /// There are two entries. A held one is released only when no other is free. It is held again once it is back, and
    /// no longer than asked for.
    #[test]
    fn a_hold_outlives_an_eviction_and_ends_when_asked() {
        async fn program(mut port: LoopbackPort) {
            let [held, a, b] = [(); 3].map(|()| port.alloc(100, Kind::Private, Align::None).unwrap());
            let mut setup = Setup::new(Policy::Lru);
            setup.hold(&mut port, held).unwrap();
            setup.register(&mut port, a).unwrap();
            setup.register(&mut port, b).unwrap();
            assert_eq!(setup.state_of(held), (false, true), "both others are in use");
            setup.registered_done(&mut port, a);
            setup.registered_done(&mut port, b);
            used(&mut setup, &mut port, held);
            used(&mut setup, &mut port, b);
            used(&mut setup, &mut port, a);
            assert_eq!(setup.state_of(held), (true, true), "held again, it goes after what was used later");
            setup.unhold(held);
            used(&mut setup, &mut port, a);
            used(&mut setup, &mut port, b);
            assert_eq!(setup.state_of(held), (false, false), "no longer held, it goes first");
        }
        Loopback { entries: 2, ..Loopback::default() }.run(1, &program).unwrap();
    }

    /// A registration takes a nanosecond here, and so does its release; one that is kept takes none.
    #[test]
    fn time_counts_where_something_is_set_up_or_released_and_not_on_hits() {
        async fn program((policy, port): (Policy, LoopbackPort)) -> Vec<u64> {
            let mut port = port;
            let memory = [(); 2].map(|()| port.alloc(100, Kind::Private, Align::None).unwrap());
            let key = port.register(memory[0]).unwrap();
            let mut setup = Setup::new(policy);
            let mut times = Vec::new();
            for memory in [memory[1], memory[1]] {
                setup.register(&mut port, memory).unwrap();
                times.push(setup.stats().time.0);
                setup.registered_done(&mut port, memory);
                times.push(setup.stats().time.0);
            }
            for _ in 0..2 {
                setup.attach(&mut port, key, Engine::Dma).unwrap();
                times.push(setup.stats().time.0);
                setup.attached_done(&mut port, key, Engine::Dma);
                times.push(setup.stats().time.0);
            }
            times
        }
        let times = |policy| {
            let program = async |port: LoopbackPort| program((policy, port)).await;
            Loopback::default().run(1, &program).unwrap().remove(0)
        };
        assert_eq!(times(Policy::Lru), [1000, 1000, 1000, 1000, 2000, 2000, 2000, 2000]);
        assert_eq!(times(Policy::Immediate), [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000]);
    }

    #[test]
    fn time_counts_what_a_set_up_releases_for_itself_and_what_is_refused_counts_as_that() {
        async fn program(mut port: LoopbackPort) {
            let [a, b, c] = [(); 3].map(|()| port.alloc(100, Kind::Private, Align::None).unwrap());
            let mut setup = Setup::new(Policy::Lru);
            used(&mut setup, &mut port, a);
            setup.register(&mut port, b).unwrap();
            assert_eq!(setup.stats().time, Time(3000), "a registration, its release, another");
            assert_eq!((setup.register(&mut port, c), setup.stats().refused), (Err(Refusal::PinLimit), 1));
        }
        Loopback { entries: 1, ..Loopback::default() }.run(1, &program).unwrap();
    }

    #[test]
    fn what_is_gone_is_no_set_up_any_more() {
        async fn program(mut port: LoopbackPort) {
            let memory = port.alloc(100, Kind::Private, Align::None).unwrap();
            let mut setup = Setup::new(Policy::Lru);
            let key = setup.register(&mut port, memory).unwrap();
            setup.attach(&mut port, key, Engine::Dma).unwrap();
            setup.attached_done(&mut port, key, Engine::Dma);
            assert!(setup.attachments.has((key, false)));
            setup.forget_key(&mut port, key);
            assert!(!setup.attachments.has((key, false)));
            setup.registered_done(&mut port, memory);
            assert_eq!(setup.state_of(memory), (true, false));
            setup.forget_memory(memory);
            assert_eq!(setup.state_of(memory), (false, false));
        }
        Loopback::default().run(1, &program).unwrap();
    }
}
