//! Puts of many small blocks into ordinary memory of another process. The system's copy takes 100 times as long as the
//! stores themselves there, so the target helps. The origin packs pieces into the ring. The target spreads them when it
//! polls, and reports when the last is in place. Pieces travel in the ring's order, so a message posted after a put is
//! seen after its data.

use super::ring::MESSAGE_MAX;
use crate::store::Store;
use hotlink_port::{Event, Head, Key, Layout, Memory, Rank, Refusal, Span, Token};
use std::collections::VecDeque;

/// Payload of a piece: two in the first-level cache of each side.
const PIECE: u64 = 16 << 10;
const _: () = assert!(PIECE <= MESSAGE_MAX);

/// A put that this rank has not sent whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Put {
    pub(crate) key: Key,
    pub(crate) from: Span,
    /// Where it goes in the key's memory.
    pub(crate) offset: u64,
    pub(crate) layout: Layout,
    pub(crate) token: Token,
    sent: u64,
}

/// The next piece of a put.
pub(crate) struct Piece {
    pub(crate) head: Head,
    pub(crate) from: Span,
    pub(crate) last: bool,
}

impl Put {
    /// `None`: the blocks are long, or the two layouts do not divide each other, and the system's copy must do.
    pub(crate) fn new(key: Key, from: Span, offset: u64, layout: Layout, token: Token, short: u64) -> Option<Put> {
        let divides = from.layout.is_contiguous() || layout.block.is_multiple_of(from.layout.block);
        let fine = !layout.is_contiguous() && layout.block < short.min(PIECE);
        (fine && divides).then_some(Put { key, from, offset, layout, token, sent: 0 })
    }
    pub(crate) fn piece(&self) -> Option<Piece> {
        let Layout { block, stride, .. } = self.layout;
        let left = self.layout.bytes() - self.sent;
        let bytes = left.min(PIECE / block * block);
        let from = self.from.part(self.sent, bytes)?;
        let offset = self.offset + self.sent / block * stride;
        Some(Piece { head: [self.key.id, offset, block, stride], from, last: bytes == left })
    }
    pub(crate) fn advance(&mut self, piece: &Piece) {
        self.sent += piece.from.bytes();
    }
}

/// Puts under way, of this rank and into it.
#[derive(Debug, Default)]
pub(crate) struct Scatters {
    /// Not sent whole, in order.
    pub(crate) puts: VecDeque<Put>,
    /// Sent whole, by target in order: the target has not said yet that they are in place.
    sent: VecDeque<(Rank, Token)>,
    /// This rank's answers to origins: a put is in place, or not.
    pub(crate) answers: VecDeque<(Rank, bool)>,
    /// Origins of whose current put a piece could not be spread.
    failed: Vec<Rank>,
}

impl Scatters {
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.puts.is_empty() && self.answers.is_empty()
    }
    /// Whether a message to `to` must wait for puts before it.
    #[inline(always)]
    pub(crate) fn blocks(&self, to: Rank) -> bool {
        !self.puts.is_empty() && self.puts.iter().any(|put| put.key.rank == to)
    }
    /// A put was sent whole.
    pub(crate) fn sent_whole(&mut self, put: &Put) {
        self.sent.push_back((put.key.rank, put.token));
    }
    /// A target has said how its oldest put went.
    pub(crate) fn on_answer(&mut self, from: Rank, placed: bool) -> Option<Event> {
        let index = self.sent.iter().position(|&(to, _)| to == from)?;
        let (_, token) = self.sent.remove(index)?;
        Some(if placed { Event::Done(token) } else { Event::Failed(token, Refusal::Gone) })
    }
    /// As target: spreads a piece into `memory`, if that is still exported.
    pub(crate) fn spread(
        &mut self,
        store: &mut Store,
        memory: Option<Memory>,
        from: Rank,
        head: &Head,
        (payload, last): (&[u8], bool),
    ) {
        let [_, offset, block, stride] = *head;
        let sound = block > 0 && stride >= block && (payload.len() as u64).is_multiple_of(block);
        let layout = Layout { block, count: payload.len() as u64 / block.max(1), stride };
        let placed = match memory {
            Some(memory) if sound => store.unpack(payload, Span { memory, offset, layout }),
            _ => Err(Refusal::Gone),
        };
        if placed.is_err() {
            self.failed.push(from);
        }
        if last {
            let whole = !self.failed.contains(&from);
            self.failed.retain(|&rank| rank != from);
            self.answers.push_back((from, whole));
        }
    }
    /// A rank has died: its puts are over, those into it have failed.
    pub(crate) fn bury(&mut self, rank: Rank) -> Vec<Event> {
        let gone = |token| Event::Failed(token, Refusal::PeerGone(rank));
        let mut ended: Vec<Event> = Vec::new();
        ended.extend(self.sent.iter().filter(|sent| sent.0 == rank).map(|sent| gone(sent.1)));
        ended.extend(self.puts.iter().filter(|put| put.key.rank == rank).map(|put| gone(put.token)));
        self.sent.retain(|sent| sent.0 != rank);
        self.puts.retain(|put| put.key.rank != rank);
        self.answers.retain(|answer| answer.0 != rank);
        self.failed.retain(|&failed| failed != rank);
        ended
    }
}
