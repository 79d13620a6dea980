//! The parts that distinguish two states of an engine, for the checker ([`crate::prove`]). They are all that decides
//! its next step. Counters and times decide nothing.

use super::Engine;
use super::requests::{Entry, State};
use hotlink_port::Port;
use std::hash::{Hash, Hasher};

impl<P: Port> Engine<P> {
    pub(crate) fn fingerprint(&self, hasher: &mut impl Hasher) {
        for entry in &self.entries {
            // The rest of a vacant entry is never read again.
            if matches!(entry.state, State::Vacant) { entry.generation.hash(hasher) } else { entry.hash(hasher) }
        }
        (&self.vacant, &self.posted, &self.unexpected, &self.waiting).hash(hasher);
        (&self.sending, &self.early, &self.ends, self.detached, &self.matched).hash(hasher);
        self.flows.fingerprint(hasher);
        self.setup.fingerprint(hasher);
    }
    /// Whether it would do something if it polled and nothing had happened.
    pub(crate) fn is_pending(&self) -> bool {
        !self.waiting.is_empty() || !self.sending.is_empty()
    }
    /// Remains where nothing is under way and no request is waited for; `None`: nothing. A rank that has `left` may
    /// have messages unsent that end no request: an announcement, or an answer to a message that came by it.
    pub(crate) fn leftover(&self, left: bool) -> Option<String> {
        let open: Vec<&Entry> = self.entries.iter().filter(|entry| !matches!(entry.state, State::Vacant)).collect();
        let unsaid = self.waiting.iter().filter(|message| !left || message.ends).count();
        let queues = [self.posted.len(), self.unexpected.len(), unsaid, self.sending.len()];
        let rest = [self.early.len(), self.detached as usize, self.counters.kept_bytes as usize, self.setup.in_use()];
        let clean = open.is_empty() && queues == [0; 4] && rest == [0; 4];
        (!clean).then(|| {
            format!(
                "requests {open:?}; posted, unexpected, waiting, sending {queues:?}; early {:?}; detached, kept bytes, \
                 registrations in use {:?}",
                self.early,
                &rest[1..]
            )
        })
    }
    /// Messages sent to a rank, and seen from it.
    pub(crate) fn flow_with(&self, rank: usize) -> (u64, u64) {
        self.flows.counts(rank)
    }
}
