//! Messages that both ranks move: the receiver fetches the first half while the sender, which waits, deposits the
//! second. Two cores copy faster than one where copying is what a transfer is.
//!
//! The sender says in its `Rts` that it would help; the receiver's `Half` names the place. Each side's request is over
//! when both halves are: the sender's memory is read, and the receiver's written, until then. A sender that cannot
//! reach the place says so (`Landed` with `at` 1), and the receiver fetches the second half as well.

use super::requests::State;
use super::speech::{Carried, Saying};
use super::{Engine, refused};
use crate::Status;
use crate::wire::{Context, Kind, Place, Words};
use hotlink_port::{Layout, Op, Port, Posted, Rank, Refusal, RemoteSpan, Span};

/// Bytes at a message's beginning that the receiver moves: whole lines, so that no line is written by both.
fn first_half(total: u64) -> u64 {
    (total / 2).next_multiple_of(4096).min(total)
}

impl<P: Port> Engine<P> {
    /// Fetches a message, with the sender's help if it offers that; `false` if the message must come another way.
    pub(super) fn fetch_or_share(&mut self, id: u64, words: &Words, place: &Place, into: Span) -> bool {
        let plain = place.layout.is_contiguous() && into.layout.is_contiguous();
        let worth = words.at == 1 && plain && place.regular && self.is_regular(&into);
        let first = first_half(words.total);
        if !worth || first == words.total {
            return self.fetch(id, words, place, into);
        }
        let half = place.part(first);
        let Some(own) = self.export(id, Span::new(into.memory, into.offset + first, words.total - first)) else {
            return self.fetch(id, words, place, into);
        };
        let Some(from) = half.and_then(|half| self.import(id, &half).ok()) else {
            self.release_setups(id);
            return false;
        };
        let entry = &mut self.entries[id as u32 as usize];
        (entry.halves, entry.announced, entry.state) = (2, Some(*place), State::Fetching { words: *words });
        self.counters.fetched += 1;
        self.counters.halved += 1;
        // Said before this side begins: both copy at the same time.
        let rest = Words { kind: Kind::Half, total: words.total - first, at: id, ..*words };
        let (to, payload) = (place.key.rank, Carried::Place(own));
        if let Err(error) = self.say(Saying { to, words: rest, payload, request: id, ends: false }) {
            self.finish(id, Err(error));
            return true;
        }
        self.fetch_half(id, to, *words, from, Span::new(into.memory, into.offset, first));
        true
    }
    fn fetch_half(&mut self, id: u64, to: Rank, words: Words, from: RemoteSpan, into: Span) {
        match self.port.post(&Op::Fetch { from, to: into, engine: self.mover, token: id }) {
            Posted::Accepted => {}
            Posted::Busy => self.give_up_half(id, to, words, Refusal::NotReady),
            Posted::Refused(refusal) => self.give_up_half(id, to, words, refusal),
        }
    }
    /// The receiver cannot fetch its half although it is attached: the message is lost, and both sides go on.
    pub(super) fn give_up_half(&mut self, id: u64, to: Rank, words: Words, refusal: Refusal) {
        self.entries[id as u32 as usize].halves = 0;
        let fetched = Words { kind: Kind::Fetched, ..words };
        let _ = self.say(Saying { to, words: fetched, payload: Carried::Nothing, request: id, ends: false });
        self.finish(id, Err(refused(refusal)));
    }
    /// One half of the message of request `id` is over; whether the other is still to come. No: the request is over,
    /// or its message does not come in halves.
    pub(super) fn is_half_left(&mut self, id: u64) -> bool {
        let Some(entry) = self.entry(id) else { return false };
        entry.halves = entry.halves.saturating_sub(1);
        entry.halves > 0
    }
    /// As sender: the receiver asks for the second half.
    pub(super) fn on_half(&mut self, words: Words, place: Option<Place>) {
        let (id, peer) = (words.id, words.at);
        let Some(entry) = self.entry(id) else { return };
        let (to, span) = (entry.peer, entry.span);
        if !matches!(entry.state, State::Offered { .. }) {
            return;
        }
        entry.halves = 2;
        let first = span.bytes().saturating_sub(words.total);
        let posted = match place.map(|place| self.import(id, &place)) {
            Some(Ok(there)) => {
                let half = Span::new(span.memory, span.offset + first, words.total);
                self.entries[id as u32 as usize].state = State::Depositing { peer };
                self.port.post(&Op::Deposit { from: half, to: there, engine: self.mover, token: id })
            }
            _ => Posted::Busy,
        };
        if posted != Posted::Accepted {
            self.say_half_landed(id, to, peer, false);
        }
    }
    fn say_half_landed(&mut self, id: u64, to: Rank, peer: u64, landed: bool) {
        let at = u64::from(!landed);
        let words = Words { kind: Kind::Landed, context: Context::USER, tag: 0, total: 0, id: peer, at };
        if let Err(error) = self.say(Saying { to, words, payload: Carried::Nothing, request: id, ends: false }) {
            self.finish(id, Err(error));
        }
    }
    /// As sender: the deposit of the second half is over.
    pub(super) fn on_half_moved(&mut self, id: u64, peer: u64, landed: bool) {
        let Some(entry) = self.entry(id) else { return };
        let (to, bytes) = (entry.peer, entry.span.bytes());
        self.say_half_landed(id, to, peer, landed);
        // What could not be deposited is fetched, and that is said.
        if landed && !self.is_half_left(id) {
            self.finish(id, Ok(Status { from: to, tag: 0, bytes }));
        }
    }
    /// As receiver: the second half is there, or must be fetched.
    pub(super) fn on_half_landed(&mut self, landed: &Words) {
        let id = landed.id;
        let Some(entry) = self.entry(id) else { return };
        let (State::Fetching { words }, Some(place)) = (entry.state, entry.announced) else { return };
        let (to, span) = (entry.peer, entry.span);
        if landed.at == 0 {
            if !self.is_half_left(id) {
                self.finish(id, Ok(Status { from: to, tag: words.tag, bytes: words.total }));
            }
            return;
        }
        let first = first_half(words.total);
        let bytes = words.total - first;
        // Attached again before the first attachment is let go: it is there, and need not be had anew, which may be refused.
        let before = self.entry(id).and_then(|entry| entry.attached);
        let rest = Place { offset: place.offset + first, layout: Layout::contiguous(bytes), ..place };
        let imported = self.import(id, &rest);
        if let Some(key) = before {
            self.setup.attached_done(&mut self.port, key, self.mover);
        }
        match imported {
            Ok(from) => self.fetch_half(id, to, words, from, Span::new(span.memory, span.offset + first, bytes)),
            Err(refusal) => self.give_up_half(id, to, words, refusal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::first_half;

    #[test]
    fn halves_meet_between_lines() {
        assert_eq!([0, 100, 4100, 9000, 1 << 20].map(first_half), [0, 100, 4096, 8192, 1 << 19]);
    }
}
