//! Messages that both ranks move: the receiver fetches the first half while the sender, which waits, deposits the
//! second. Two cores copy faster than one where copying is what a transfer is.
//!
//! The sender says in its `Rts` that it would help; the receiver's `Half` names the place. Each side reports the end of
//! its half: the receiver with `Fetched`, the sender with `Landed`. A request is over when both halves are: until then
//! the sender's memory is read and the receiver's written.
//!
//! A half for which the port has no room is tried again. A half that cannot be moved fails: the sender says so
//! (`Landed` with `at` 1), the receiver knows by itself. Once neither side moves anything, the receiver clears the
//! whole message to come in pieces, as any other.

use super::Engine;
use super::requests::State;
use super::speech::{Carried, Saying};
use crate::Status;
use crate::wire::{Context, Kind, Place, Words};
use hotlink_port::{Op, Port, Posted, Refusal, RemoteSpan, Span};

/// Flags of a message in halves, in [`super::requests::Entry::halves`]: this side's half is not over.
const OWN: u8 = 1;
/// The other side's half is not over.
const THEIRS: u8 = 2;
/// One of them failed.
const FAILED: u8 = 4;

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
        let end = Span::new(into.memory, into.offset + first, words.total - first);
        let Some(own) = self.export(id, end) else { return self.fetch(id, words, place, into) };
        if place.part(first).and_then(|half| self.import(id, &half).ok()).is_none() {
            self.release_setups(id);
            return false;
        }
        let entry = &mut self.entries[id as u32 as usize];
        (entry.halves, entry.announced, entry.state) = (OWN | THEIRS, Some(*place), State::Fetching { words: *words });
        self.counters.fetched += 1;
        self.counters.halved += 1;
        // Said before this side begins: both copy at the same time.
        let rest = Words { kind: Kind::Half, total: words.total - first, at: id, ..*words };
        let (to, payload) = (place.key.rank, Carried::Place(own));
        self.say_for(Saying { to, words: rest, payload, request: id, ends: false });
        self.start_half(id);
        true
    }
    /// As sender: the receiver asks for the second half.
    pub(super) fn on_half(&mut self, words: Words, place: Option<Place>) {
        let Some(entry) = self.entry(words.id) else { return };
        if matches!(entry.state, State::Offered { .. }) {
            (entry.halves, entry.announced) = (OWN | THEIRS, place);
            entry.state = State::Depositing { peer: words.at };
            self.start_half(words.id);
        }
    }
    fn start_half(&mut self, id: u64) {
        if self.is_half_stalled(id) {
            self.sending.push_back(id);
        }
    }
    /// Begins to move this side's half of the message of request `id`; whether there was no room for that.
    pub(super) fn is_half_stalled(&mut self, id: u64) -> bool {
        let posted = match self.half(id) {
            Some(Ok(op)) => self.port.post(&op),
            Some(Err(refusal)) => Posted::Refused(refusal),
            None => return false,
        };
        if let Posted::Refused(_) = posted {
            self.own_half_over(id, false);
        }
        posted == Posted::Busy
    }
    /// The operation that moves this side's half. `None`: the request is over.
    fn half(&mut self, id: u64) -> Option<Result<Op<'static>, Refusal>> {
        let entry = self.entry(id)?;
        let (span, place, state) = (entry.span, entry.announced, entry.state);
        let Some(place) = place else { return Some(Err(Refusal::NotReady)) };
        let (engine, token) = (self.mover(&place), id);
        let op = match state {
            State::Fetching { words } => {
                let first = first_half(words.total);
                let to = Span::new(span.memory, span.offset, first);
                let from = place.part(first).ok_or(Refusal::OutOfBounds).and_then(|half| self.import_again(id, &half));
                from.map(|from| Op::Fetch { from, to, engine, token })
            }
            State::Depositing { .. } => {
                let bytes = place.layout.bytes();
                let first = span.bytes().saturating_sub(bytes);
                let from = Span::new(span.memory, span.offset + first, bytes);
                self.import_again(id, &place).map(|to| Op::Deposit { from, to, engine, token })
            }
            _ => return None,
        };
        Some(op)
    }
    /// Attaches this request to the other side's memory. A half that is tried again is attached already: that is no new
    /// use of the attachment, and a try without room changes nothing. A request that is attached to other memory lets
    /// go of it last.
    pub(super) fn import_again(&mut self, id: u64, place: &Place) -> Result<RemoteSpan, Refusal> {
        let before = self.entry(id).and_then(|entry| entry.attached);
        let mover = self.mover(place);
        let held =
            before.filter(|held| *held == (place.key, mover)).and_then(|_| self.setup.attached(place.key, mover));
        if let Some(attachment) = held {
            return Ok(RemoteSpan { attachment, offset: place.offset, layout: place.layout });
        }
        let imported = self.import(id, place);
        if let Some((key, mover)) = before {
            self.setup.attached_done(&mut self.port, key, mover);
        }
        imported
    }
    /// Whether both sides move the message of request `id`.
    pub(super) fn is_in_halves(&mut self, id: u64) -> bool {
        self.entry(id).is_some_and(|entry| entry.halves > 0)
    }
    /// As sender: whether this side's half of the message of request `id` is over, so that the receiver may have all of
    /// it in pieces.
    pub(super) fn may_restart(&mut self, id: u64) -> bool {
        self.entry(id).is_some_and(|entry| entry.halves > 0 && entry.halves & OWN == 0)
    }
    /// This side has moved its half, or could not. Its half is over when that is said, if it must be.
    pub(super) fn own_half_over(&mut self, id: u64, moved: bool) {
        let Some(entry) = self.entry(id) else { return };
        entry.halves |= if moved { 0 } else { FAILED };
        let (to, state) = (entry.peer, entry.state);
        let words = match state {
            State::Fetching { words } if moved => Words { kind: Kind::Fetched, ..words },
            State::Depositing { peer } => {
                let at = u64::from(!moved);
                Words { kind: Kind::Landed, context: Context::USER, tag: 0, total: 0, id: peer, at }
            }
            _ => return self.own_half_said(id),
        };
        self.say_for(Saying { to, words, payload: Carried::Nothing, request: id, ends: true });
    }
    pub(super) fn own_half_said(&mut self, id: u64) {
        if let Some(entry) = self.entry(id) {
            entry.halves &= !OWN;
            self.settle_halves(id);
        }
    }
    /// The other side has moved its half, or could not.
    pub(super) fn their_half_over(&mut self, id: u64, moved: bool) {
        if let Some(entry) = self.entry(id) {
            entry.halves = entry.halves & !THEIRS | if moved { 0 } else { FAILED };
            self.settle_halves(id);
        }
    }
    /// Ends a message of which neither side moves anything any more. A sender whose message failed waits for the receiver.
    fn settle_halves(&mut self, id: u64) {
        let Some(entry) = self.entry(id) else { return };
        if entry.halves & (OWN | THEIRS) != 0 {
            return;
        }
        let (peer, state, failed, bytes) = (entry.peer, entry.state, entry.halves & FAILED != 0, entry.span.bytes());
        match state {
            State::Fetching { words } if failed => {
                (entry.halves, entry.announced) = (0, None);
                self.release_setups(id);
                self.clear(id, peer, words, Carried::Nothing);
            }
            State::Fetching { words } => {
                self.finish(id, Ok(Status { from: peer, tag: words.tag, bytes: words.total }));
            }
            State::Depositing { .. } if !failed => self.finish(id, Ok(Status { from: peer, tag: 0, bytes })),
            _ => {}
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
