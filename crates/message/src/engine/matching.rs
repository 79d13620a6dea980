//! Matching: which receive takes which message, and messages that came before their receive.

use super::Engine;
use super::requests::{Entry, Pattern, State};
use crate::wire::{Context, Kind, Place, Words};
use crate::{Error, Status};
use hotlink_port::{Align, Memory, Port, Rank, Refusal, Span};

/// A message that came before its receive.
#[derive(Clone, Debug, Hash)]
pub(super) struct Unexpected {
    pub(super) from: Rank,
    pub(super) words: Words,
    /// The payload of an eager message, or why there was no room for it: its receive fails with that.
    pub(super) kept: Result<Option<Memory>, Refusal>,
    /// Where the payload of an announced message can be fetched.
    pub(super) place: Option<Place>,
}

impl<P: Port> Engine<P> {
    /// The first message that came and that `pattern` would take.
    pub(crate) fn probe(&self, pattern: &Pattern) -> Option<Status> {
        let message = self.unexpected.iter().find(|message| pattern.takes(message.from, &message.words))?;
        Some(Status { from: message.from, tag: message.words.tag, bytes: message.words.total })
    }
    /// Takes out the first message that `pattern` would take, for a receive of its own: its number.
    pub(crate) fn take_out(&mut self, pattern: &Pattern) -> Option<(u64, Status)> {
        let index = self.unexpected.iter().position(|message| pattern.takes(message.from, &message.words))?;
        let message = self.unexpected.remove(index)?;
        let status = Status { from: message.from, tag: message.words.tag, bytes: message.words.total };
        let number = self.matched.last_key_value().map_or(0, |(last, _)| last + 1);
        self.matched.insert(number, message);
        Some((number, status))
    }
    /// Receives a message that was taken out.
    pub(crate) fn recv_matched(&mut self, number: u64, span: Span) -> Result<u64, Error> {
        let message = self.matched.remove(&number).ok_or(Error::NoRequest)?;
        let Words { tag, context, .. } = message.words;
        let pattern = Pattern { from: Some(message.from), tag: Some(tag), context };
        let id = self.open(message.from, span, State::Posted(pattern));
        match self.end_of(message.from) {
            Some(error) if message.words.kind == Kind::Rts => self.finish(id, Err(error)),
            _ => self.match_kept(id, message),
        }
        Ok(id)
    }
    /// Withdraws a receive that no message has met and that no sender knows of; returns whether that was possible.
    pub(crate) fn withdraw(&mut self, id: u64) -> bool {
        let untold = |entry: &mut Entry| matches!(entry.state, State::Posted(_)) && entry.announced.is_none();
        if !self.entry(id).is_some_and(untold) {
            return false;
        }
        self.posted.retain(|&posted| posted != id);
        self.finish(id, Err(Error::NoRequest));
        true
    }
    /// The first posted receive that takes the message.
    #[inline]
    pub(super) fn claim(&mut self, from: Rank, words: &Words) -> Option<u64> {
        let takes = |&id: &u64| match self.entries[id as u32 as usize].state {
            State::Posted(pattern) => pattern.takes(from, words),
            _ => false,
        };
        if self.posted.front().is_some_and(takes) {
            return self.posted.pop_front();
        }
        let index = self.posted.iter().position(takes)?;
        self.posted.remove(index)
    }
    /// Room and result of receiving `words` into `span`: as many bytes as both have.
    #[inline(always)]
    pub(crate) fn fit(from: Rank, words: &Words, span: Span) -> (Option<Span>, Result<Status, Error>) {
        let (sent, room) = (words.total, span.bytes());
        if sent <= room {
            let into = if sent == room { Some(span) } else { span.part(0, sent) };
            return (into, Ok(Status { from, tag: words.tag, bytes: sent }));
        }
        (Some(span), Err(Error::Truncated { sent, room, from, tag: words.tag }))
    }
    #[inline(always)]
    pub(super) fn take_eager(&mut self, id: u64, from: Rank, words: &Words) {
        let span = self.entries[id as u32 as usize].span;
        let placed = self.place_eager(from, words, &span);
        self.finish(id, placed);
    }
    #[inline(always)]
    pub(super) fn place_eager(&mut self, from: Rank, words: &Words, span: &Span) -> Result<Status, Error> {
        if words.total == span.bytes() && words.total > 0 {
            self.port.deliver(0, *span)?;
            return Ok(Status { from, tag: words.tag, bytes: words.total });
        }
        self.place_in_part(from, *words, *span)
    }
    /// Places a message where its receive has less room, or more. By value, so that others need not lie in memory.
    #[inline(never)]
    fn place_in_part(&mut self, from: Rank, words: Words, span: Span) -> Result<Status, Error> {
        let (into, result) = Self::fit(from, &words, span);
        match into {
            _ if words.total == 0 => {}
            Some(into) => self.port.deliver(0, into)?,
            None => self.deliver_in_parts(0, words.total, span)?,
        }
        result
    }
    /// Delivers `bytes` of the current payload to the packed stream of `span` from byte `at`, run by run. The piece
    /// need not begin and end on whole blocks.
    pub(crate) fn deliver_in_parts(&mut self, at: u64, bytes: u64, span: Span) -> Result<(), Error> {
        let mut taken = 0;
        for (offset, run) in span.layout.runs(at, bytes) {
            self.port.deliver(taken, Span::new(span.memory, span.offset + offset, run))?;
            taken += run;
        }
        Ok(())
    }
    /// Keeps an eager message for which no receive waits yet.
    pub(super) fn keep(&mut self, from: Rank, words: Words, bytes: u64) {
        let kept = (bytes > 0).then(|| {
            let ghost = self.port.peek(0, &mut [0]) == 0;
            let kind = if ghost { hotlink_port::Kind::Ghost } else { hotlink_port::Kind::Private };
            let memory = self.port.alloc(bytes, kind, Align::None)?;
            self.port.deliver(0, Span::new(memory, 0, bytes)).map(|()| memory)
        });
        self.counters.kept_bytes += words.total;
        self.counters.kept_bytes_max = self.counters.kept_bytes_max.max(self.counters.kept_bytes);
        self.put_by(Unexpected { from, words, kept: kept.transpose(), place: None });
    }
    /// Keeps a message for which no receive waits yet, and wakes the task of its communicator.
    pub(super) fn put_by(&mut self, message: Unexpected) {
        let context = message.words.context;
        self.counters.unexpected += 1;
        self.unexpected.push_back(message);
        if self.attended.contains(&context) {
            self.call(context);
        }
    }
    /// Something may have come for a communicator that its program attends to.
    pub(crate) fn call(&mut self, context: Context) {
        if !self.called.contains(&context) {
            self.called.push_back(context);
        }
        self.others.set(true);
    }
    /// Gives a kept message to the receive `id`.
    pub(super) fn match_kept(&mut self, id: u64, message: Unexpected) {
        if message.words.kind == Kind::Rts {
            return self.begin(id, message.from, message.words, message.place);
        }
        let span = self.entries[id as u32 as usize].span;
        let (_, result) = Self::fit(message.from, &message.words, span);
        let copied = match message.kept {
            Ok(Some(memory)) => self.unpack(memory, message.words.total, span),
            Ok(None) => Ok(()),
            Err(refusal) => Err(refusal.into()),
        };
        self.counters.kept_bytes -= message.words.total;
        self.taken(message.from, message.words.total);
        self.finish(id, copied.and(result));
    }
    pub(super) fn unpack(&mut self, memory: Memory, bytes: u64, span: Span) -> Result<(), Error> {
        let mut taken = 0;
        let bytes = bytes.min(span.bytes());
        match span.part(0, bytes) {
            Some(into) => self.port.copy(Span::new(memory, 0, bytes), into)?,
            None => {
                for (offset, run) in span.layout.runs(0, bytes) {
                    let into = Span::new(span.memory, span.offset + offset, run);
                    self.port.copy(Span::new(memory, taken, run), into)?;
                    taken += run;
                }
            }
        }
        Ok(self.port.free(memory)?)
    }
}
