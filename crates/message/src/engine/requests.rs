//! Requests of a rank: the state of each, by number.

use super::Engine;
use crate::collectives::tags;
use crate::request::SENT;
use crate::wire::{Context, Place, Words};
use crate::{Error, Status, Tag};
use hotlink_port::{Call, Engine as Mover, Key, Memory, Note, Port, Rank, Span};

/// The messages that may match a receive.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Pattern {
    pub(crate) from: Option<Rank>,
    pub(crate) tag: Option<Tag>,
    pub(crate) context: Context,
}

impl Pattern {
    #[inline]
    pub(super) fn takes(&self, from: Rank, words: &Words) -> bool {
        self.context == words.context
            && self.from.is_none_or(|rank| rank == from)
            && self.tag.is_none_or(|tag| tag == words.tag)
    }
}

#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum State {
    /// A send that waits for the receiver, or a whole message (`words.kind`) that waits for room. `number` counts all
    /// messages to that rank.
    Offered { words: Words, number: u64 },
    /// A send whose pieces are on their way: bytes sent so far, and the receiver's request.
    Sending { sent: u64, peer: u64 },
    /// A send that is being deposited into the receiver's request `peer`.
    Depositing { peer: u64 },
    /// A put or get of the program.
    Moving,
    /// A receive that waits for a message.
    Posted(Pattern),
    /// A receive whose pieces come, or that is deposited into: bytes that came in pieces so far.
    Receiving { words: Words, came: u64 },
    /// A receive that is being fetched for the sender's request `words.id`.
    Fetching { words: Words },
    /// Over.
    Done(Result<Status, Error>),
    /// Free for a new request.
    Vacant,
}

#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Entry {
    pub(super) generation: u32,
    pub(crate) peer: Rank,
    pub(crate) span: Span,
    pub(crate) state: State,
    /// Its memory is registered for it.
    pub(crate) registered: bool,
    /// The place for its message, as the sender knows it; of a message in halves, its place at the sender.
    pub(crate) announced: Option<Place>,
    /// It uses the attachment to this key, mapped or connected as the engine needs.
    pub(crate) attached: Option<(Key, Mover)>,
    /// Of a message that both sides move: the state of its halves (see `halves`). 0: of no such message.
    pub(super) halves: u8,
    /// It sends this copy of its message, and no task waits for it.
    pub(crate) copy: Option<Memory>,
}

impl<P: Port> Engine<P> {
    #[inline]
    pub(super) fn open(&mut self, peer: Rank, span: Span, state: State) -> u64 {
        let slot = self.vacant.pop().unwrap_or_else(|| self.more_entries());
        let entry = &mut self.entries[slot as usize];
        // Field by field: this is on the path of every short message, and an entry is long.
        entry.generation = entry.generation.wrapping_add(1);
        (entry.peer, entry.span, entry.state) = (peer, span, state);
        (entry.registered, entry.announced, entry.attached) = (false, None, None);
        (entry.halves, entry.copy) = (0, None);
        u64::from(entry.generation) << 32 | u64::from(slot)
    }
    #[cold]
    fn more_entries(&mut self) -> u32 {
        self.entries.push(Entry {
            generation: 0,
            peer: 0,
            span: Span::new(Memory(0), 0, 0),
            state: State::Vacant,
            registered: false,
            announced: None,
            attached: None,
            halves: 0,
            copy: None,
        });
        self.entries.len() as u32 - 1
    }
    /// The request in a slot.
    pub(crate) fn id_of(&self, slot: usize) -> u64 {
        u64::from(self.entries[slot].generation) << 32 | slot as u64
    }
    #[inline]
    pub(crate) fn entry(&mut self, id: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(id as u32 as usize)?;
        (u64::from(entry.generation) == id >> 32 && !matches!(entry.state, State::Vacant)).then_some(entry)
    }
    #[inline]
    pub(crate) fn finish(&mut self, id: u64, result: Result<Status, Error>) {
        let Some(entry) = self.entry(id) else { return };
        entry.state = State::Done(result);
        if entry.registered || entry.attached.is_some() || entry.copy.is_some() {
            self.leave(id);
        }
    }
    /// Releases what a finished request held.
    fn leave(&mut self, id: u64) {
        self.release_setups(id);
        self.drop_detached(id);
    }
    /// No task will wait for request `id`, which sends a copy of its message in `copy`.
    pub(super) fn detach(&mut self, id: u64, copy: Memory) {
        self.detached += 1;
        if let Some(entry) = self.entry(id) {
            entry.copy = Some(copy);
        }
        self.drop_detached(id);
    }
    /// A detached request that is over leaves nothing behind.
    fn drop_detached(&mut self, id: u64) {
        let Some(entry) = self.entry(id) else { return };
        if let (Some(copy), State::Done(_)) = (entry.copy, entry.state) {
            entry.state = State::Vacant;
            self.vacant.push(id as u32);
            self.detached -= 1;
            // It was allocated here and no other code knows it.
            let _ = self.free(copy);
        }
    }
    /// The result of a request that is over; the request is then free. `None`: not over.
    #[inline]
    pub(crate) fn take(&mut self, id: u64) -> Option<Result<Status, Error>> {
        if id == SENT {
            return Some(Ok(Status { from: self.port.rank(), tag: 0, bytes: 0 }));
        }
        let Some(entry) = self.entry(id) else { return Some(Err(Error::NoRequest)) };
        let State::Done(result) = entry.state else { return None };
        entry.state = State::Vacant;
        self.vacant.push(id as u32);
        Some(result)
    }
    /// The program waits for a request: see [`Engine::settle`].
    #[inline]
    pub(crate) fn settle_for(&mut self, id: u64) {
        self.settle(self.entries[id as u32 as usize].span.bytes());
    }
    /// The program waits for a request. A port that listens keeps it for the report that no rank can go on.
    #[inline]
    pub(crate) fn note_wait(&mut self, id: u64) {
        if self.port.listens() {
            self.tell_wait(id);
        }
    }
    fn tell_wait(&mut self, id: u64) {
        let Some(Entry { peer, state, .. }) = self.entry(id).map(|entry| *entry) else { return };
        let of = |own, Words { context, tag, .. }: Words| tags::wait(own, Some(peer), context, Some(tag));
        self.port.note(match state {
            State::Posted(Pattern { from, tag, context }) => tags::wait(Call::Receive, from, context, tag),
            State::Receiving { words, .. } | State::Fetching { words } => of(Call::Receive, words),
            State::Offered { words, .. } => of(Call::Send, words),
            State::Moving => Note::Waits { call: Call::Transfer, peer: Some(peer), tag: None },
            _ => Note::Waits { call: Call::Send, peer: Some(peer), tag: None },
        });
    }
    /// Whether a request is over.
    pub(crate) fn is_done(&mut self, id: u64) -> bool {
        self.entry(id).is_none_or(|entry| matches!(entry.state, State::Done(_)))
    }
}
