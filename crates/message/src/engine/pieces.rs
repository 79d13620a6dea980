//! Rendezvous through buffers: a message in pieces, each a control message.

use super::requests::State;
use super::{Engine, refused};
use crate::wire::{Context, Kind, Words};
use crate::{Error, Status};
use hotlink_port::{Op, Payload, Port, Posted, Rank, Span};

impl<P: Port> Engine<P> {
    pub(super) fn start_pieces(&mut self, id: u64, peer: u64) {
        self.counters.pieces += 1;
        if let Some(entry) = self.entry(id) {
            entry.state = State::Sending { sent: 0, peer };
            self.sending.push_back(id);
            self.send_pieces();
        }
    }
    /// Sends pieces while the port takes them; whether it took any, or a message is over.
    pub(crate) fn send_pieces(&mut self) -> bool {
        let mut any = false;
        for _ in 0..self.sending.len() {
            let Some(id) = self.sending.pop_front() else { break };
            if self.send_pieces_of(id, &mut any) {
                self.sending.push_back(id);
            }
        }
        any
    }
    /// Sends pieces of one message; whether there is more to send.
    pub(super) fn send_pieces_of(&mut self, id: u64, any: &mut bool) -> bool {
        let piece_bytes = self.options.piece_bytes;
        let Some(entry) = self.entry(id) else {
            *any = true;
            return false;
        };
        let (to, span) = (entry.peer, entry.span);
        let State::Sending { mut sent, peer } = entry.state else {
            let stalled = entry.halves > 0 && self.is_half_stalled(id);
            *any |= !stalled;
            return stalled;
        };
        if self.is_blocked(to) {
            // A claim may wait there, which must come before its pieces.
            return true;
        }
        let total = span.bytes();
        let result = loop {
            if sent == total {
                break Ok(Status { from: to, tag: 0, bytes: total });
            }
            let part = piece(&span, piece_bytes, sent);
            let head = Words { kind: Kind::Data, context: Context::USER, tag: 0, total, id: peer, at: sent }.head();
            match self.port.post(&Op::Control { to, head, payload: Payload::Span(part) }) {
                Posted::Accepted => (sent, *any) = (sent + part.bytes(), true),
                Posted::Busy => {
                    if let Some(entry) = self.entry(id) {
                        entry.state = State::Sending { sent, peer };
                    }
                    return true;
                }
                Posted::Refused(refusal) => break Err(refused(refusal)),
            }
        };
        // An empty message has none, and one that is refused gave none: its end is something done all the same.
        *any = true;
        self.finish(id, result);
        false
    }
    /// A piece has come.
    pub(crate) fn on_piece(&mut self, from: Rank, words: &Words, bytes: u64) {
        let Some(entry) = self.entry(words.id) else { return };
        let span = entry.span;
        let State::Receiving { words: announced, came } = entry.state else { return };
        let came = came + bytes;
        entry.state = State::Receiving { words: announced, came };
        let room = span.bytes().saturating_sub(words.at).min(bytes);
        let delivered = match span.part(words.at, room) {
            // Beyond the receive's room.
            _ if room == 0 => Ok(()),
            Some(into) => self.port.deliver(0, into).map_err(Error::from),
            None => self.deliver_in_parts(words.at, room, span),
        };
        if delivered.is_err() || came == announced.total {
            let (_, result) = Self::fit(from, &announced, span);
            self.finish(words.id, delivered.and(result));
        }
    }
}

/// The next piece of a span from byte `sent`: whole blocks if there are gaps, or a part of one block.
pub(super) fn piece(span: &Span, most: u64, sent: u64) -> Span {
    let left = span.bytes() - sent;
    let block = span.layout.block;
    let whole = if span.layout.is_contiguous() { left.min(most) } else { left.min(most / block * block) };
    let part = if whole > 0 { span.part(sent, whole) } else { None };
    part.unwrap_or_else(|| {
        let (offset, run) = span.layout.runs(sent, most).next().unwrap_or((0, 0));
        Span::new(span.memory, span.offset + offset, run)
    })
}
