//! Indexed layouts: any blocks of a memory, in any order, as one message.
//!
//! Such a message is packed into a buffer, sent, and unpacked: ports move blocks at equal distances at most. Blocks that
//! do lie at equal distances become a strided span, which a port may move without the buffer (see
//! [`Indexed::as_span`]).

use crate::{Comm, Error, Status, Tag};
use hotlink_port::{Kind, Layout, Memory, Port, Rank, Refusal, Span};

/// Blocks of one memory: offset and bytes of each, in the order in which they travel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexed {
    memory: Memory,
    blocks: Vec<(u64, u64)>,
}

impl Indexed {
    /// These blocks of `memory`; empty ones are left out, and neighbours joined.
    pub fn new(memory: Memory, blocks: impl IntoIterator<Item = (u64, u64)>) -> Indexed {
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (offset, bytes) in blocks.into_iter().filter(|block| block.1 > 0) {
            match joined.last_mut() {
                Some(last) if last.0 + last.1 == offset => last.1 += bytes,
                _ => joined.push((offset, bytes)),
            }
        }
        Indexed { memory, blocks: joined }
    }
    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.1).sum()
    }
    /// The same bytes as a span, if the blocks are equally long and equally far apart.
    pub fn as_span(&self) -> Option<Span> {
        let Some(&(offset, block)) = self.blocks.first() else { return Some(Span::new(self.memory, 0, 0)) };
        let stride = self.blocks.get(1).map_or(block, |next| next.0.wrapping_sub(offset));
        let regular = self.blocks.iter().enumerate().all(|(i, &(at, bytes))| {
            let due = (i as u64).checked_mul(stride).and_then(|gap| gap.checked_add(offset));
            bytes == block && due == Some(at)
        });
        let apart = stride >= block;
        let count = self.blocks.len() as u64;
        (regular && apart).then(|| Span { memory: self.memory, offset, layout: Layout::strided(block, count, stride) })
    }
    /// Each block as a span, with its place in the packed message.
    fn parts(&self) -> impl Iterator<Item = (u64, Span)> + '_ {
        self.blocks.iter().scan(0, |at, &(offset, bytes)| {
            let start = *at;
            *at += bytes;
            Some((start, Span::new(self.memory, offset, bytes)))
        })
    }
}

impl<P: Port> Comm<P> {
    /// Sends the blocks as one message, which any receive of as many bytes takes.
    pub async fn send_indexed(&self, to: Rank, tag: Tag, from: &Indexed) -> Result<(), Error> {
        if let Some(span) = from.as_span() {
            return self.send(to, tag, span).await;
        }
        let buffer = self.buffer_for(from)?;
        let packed = from.parts().try_for_each(|(at, part)| self.copy(part, Span::new(buffer, at, part.bytes())));
        let sent = match packed {
            Ok(()) => self.send(to, tag, Span::new(buffer, 0, from.bytes())).await,
            Err(error) => Err(error),
        };
        self.free(buffer)?;
        sent
    }
    /// Receives a message into the blocks; a shorter one fills the first of them.
    pub async fn recv_indexed(&self, from: Option<Rank>, tag: Option<Tag>, into: &Indexed) -> Result<Status, Error> {
        if let Some(span) = into.as_span() {
            return self.recv(from, tag, span).await;
        }
        let buffer = self.buffer_for(into)?;
        let received = self.recv(from, tag, Span::new(buffer, 0, into.bytes())).await;
        let came = match received {
            Ok(status) => status.bytes,
            Err(Error::Truncated { room, .. }) => room,
            Err(_) => 0,
        };
        let unpacked = into.parts().filter(|(at, _)| *at < came).try_for_each(|(at, part)| {
            let bytes = part.bytes().min(came - at);
            self.copy(Span::new(buffer, at, bytes), Span::new(part.memory, part.offset, bytes))
        });
        self.free(buffer)?;
        unpacked.and(received)
    }
    fn buffer_for(&self, indexed: &Indexed) -> Result<Memory, Error> {
        let mut engine = self.engine.borrow_mut();
        engine.counters.packed += 1;
        let size = engine.port.size(indexed.memory)?;
        if indexed.blocks.iter().any(|&(at, bytes)| at.checked_add(bytes).is_none_or(|end| end > size)) {
            return Err(Refusal::OutOfBounds.into());
        }
        let ghost = engine.port.kind(indexed.memory)? == Kind::Ghost;
        drop(engine);
        self.alloc(indexed.bytes(), if ghost { Kind::Ghost } else { Kind::Default })
    }
}
