//! Receives announced to their senders before the message.
//!
//! A receive that starts without waiting ([`crate::Comm::irecv`]) is announced (`Ready`): the sender may then deposit
//! the message while the receiver computes. The announcement holds if no message was on the way when it came. The
//! sender then takes it with a `Claim`, in order with its other messages. It also holds if the only message on the way
//! is the very one that will meet it. So matching order is kept.
//!
//! Only the sender moves the data of an announced receive, so that nothing is written after both sides are done.

use super::Engine;
use super::requests::{Entry, State};
use super::speech::{Carried, NOBODY, Saying};
use crate::wire::{Context, Kind, Place, Words};
use crate::{Error, Tag};
use hotlink_port::{Op, Port, Posted, Rank, Span};

#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Early {
    pub(crate) from: Rank,
    tag: Tag,
    context: Context,
    room: u64,
    /// The receiver's request.
    id: u64,
    place: Place,
}

impl<P: Port> Engine<P> {
    /// Announces a receive's place to its sender, if no other receive could take that message first.
    pub(crate) fn announce(&mut self, id: u64, from: Option<Rank>, tag: Option<Tag>, context: Context, span: Span) {
        let (Some(from), Some(tag)) = (from, tag) else { return };
        let rival = |&other: &u64| match self.entries[other as u32 as usize].state {
            State::Posted(other) => {
                other.context == context
                    && other.from.is_none_or(|rank| rank == from)
                    && other.tag.is_none_or(|t| t == tag)
            }
            _ => false,
        };
        let depositable = self.port.limits().deposit.is_some() && from != self.port.rank();
        if !depositable || !self.offers(&span, false) || self.posted.iter().any(rival) {
            return;
        }
        let Some(place) = self.export(id, span) else { return };
        self.entries[id as u32 as usize].announced = Some(place);
        let (total, at) = (span.bytes(), self.flows.of(from).seen);
        let words = Words { kind: Kind::Ready, context, tag, total, id, at };
        // If it cannot be announced, the message takes the usual route. From a dead rank none comes, and that is
        // reported by itself.
        let payload = Carried::Place(place);
        let _ = self.say(Saying { to: from, words, payload, request: NOBODY, ends: false });
    }
    /// Another rank has announced a receive.
    pub(crate) fn on_ready(&mut self, from: Rank, words: Words, place: Option<Place>) {
        let Some(place) = place else { return };
        let on_the_way = self.flows.of(from).sent.wrapping_sub(words.at);
        let Words { tag, context, total: room, id, .. } = words;
        match on_the_way {
            0 => self.early.push(Early { from, tag, context, room, id, place }),
            1 => self.meet(from, &words, &place),
            _ => {}
        }
    }
    /// Lets the only message on the way to `from` meet the announced receive, if it is an offered one that this receive
    /// takes. An earlier one would have met it when the receive was posted. The number tells it from earlier offers,
    /// which the receiver has seen and may be fetching. A whole message that waits for room does not count: it comes by
    /// itself.
    pub(super) fn meet(&mut self, from: Rank, ready: &Words, place: &Place) {
        let meets = |entry: &Entry| match entry.state {
            State::Offered { words, number } => {
                let same = (words.tag, words.context) == (ready.tag, ready.context);
                same && words.kind == Kind::Rts && entry.peer == from && number == ready.at
            }
            _ => false,
        };
        let Some(slot) = self.entries.iter().position(meets) else { return };
        let (total, id) = (self.entries[slot].span.bytes(), self.id_of(slot));
        if let Some(place) = place.part(total) {
            self.move_to(id, ready.id, Some(place));
        }
    }
    /// Takes out the early receive that a message to `to` will meet.
    pub(crate) fn drop_early(&mut self, to: Rank, words: &Words) -> Option<Early> {
        let takes = |early: &Early| early.from == to && early.tag == words.tag && early.context == words.context;
        let index = self.early.iter().position(takes)?;
        Some(self.early.remove(index))
    }
    /// Sends the message `words.id` into an early receive, if there is one for it.
    pub(super) fn take_early(&mut self, to: Rank, words: &Words) -> Result<bool, Error> {
        let Some(early) = self.drop_early(to, words) else { return Ok(false) };
        let id = words.id;
        let span = self.entries[id as u32 as usize].span;
        let fits = words.total > 0 && words.total <= early.room && self.takes(&span, &early.place);
        let Some(place) = early.place.part(words.total).filter(|_| fits) else { return Ok(false) };
        let Ok(remote) = self.import(id, &place) else { return Ok(false) };
        let engine = self.mover(&place);
        if !self.pin(id, &span, self.port.limits().deposit, engine) {
            self.release_setups(id);
            return Ok(false);
        }
        let claim = Words { kind: Kind::Claim, id: early.id, ..*words };
        self.say(Saying { to, words: claim, payload: Carried::Nothing, request: id, ends: false })?;
        self.counters.early += 1;
        self.entries[id as u32 as usize].state = State::Depositing { peer: early.id };
        let op = Op::Deposit { from: span, to: remote, engine, token: id };
        if self.port.post(&op) != Posted::Accepted {
            self.release_setups(id);
            self.start_pieces(id, early.id);
        }
        Ok(true)
    }
    /// The sender takes the early receive `words.id`.
    pub(crate) fn on_claim(&mut self, from: Rank, words: Words) {
        self.flows.of(from).seen += 1;
        let Some(entry) = self.entry(words.id) else { return };
        (entry.peer, entry.state) = (from, State::Receiving { words, came: 0 });
        self.posted.retain(|&id| id != words.id);
    }
}
