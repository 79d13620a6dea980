//! The language of two ranks' engines: the four words of a control message.

use crate::Tag;
use hotlink_port::{Head, Key, Layout, Memory, Rank, Span};

/// Kinds of control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A whole message.
    Eager = 0,
    /// Request to send: a rendezvous begins. `id` is the sender's request. With a place: fetch it from there; if `at`
    /// is 1, the sender waits and would move half of it.
    Rts = 1,
    /// Clear to send: `id` is the sender's request, `at` the receiver's; with a place: deposit it there.
    Cts = 2,
    /// A piece of a message, from byte `at`; `id` is the receiver's request.
    Data = 3,
    /// Fetched, or the half of it that the receiver moves: the sender's request `id` is over, or half over.
    Fetched = 4,
    /// Deposited, or the half of it that the sender moves: the receiver's request `id` is over, or half over. If `at`
    /// is 1 the sender could not, and the receiver will clear the whole message.
    Landed = 5,
    /// An early receive: `id` is the receiver's request, `total` its room, `at` the messages it had seen from the
    /// sender; with a place.
    Ready = 6,
    /// Takes an early receive: the message goes to request `id`.
    Claim = 7,
    /// Flow control: eager bytes taken so far are `at`.
    Credit = 8,
    /// To a sender that waits. `id` is its request, `at` the receiver's, `total` the bytes at the message's end that it
    /// must deposit at the place.
    Half = 9,
}

const KINDS: [Kind; 10] = [
    Kind::Eager,
    Kind::Rts,
    Kind::Cts,
    Kind::Data,
    Kind::Fetched,
    Kind::Landed,
    Kind::Ready,
    Kind::Claim,
    Kind::Credit,
    Kind::Half,
];

/// The meaning of an engine's control message with this head, and the tag that it holds, if any. `None` if no engine
/// wrote it.
pub fn described(head: &Head) -> Option<(&'static str, Option<Tag>)> {
    let words = Words::parse(head)?;
    let what = match words.kind {
        Kind::Eager => "eager message",
        Kind::Rts => "request to send",
        Kind::Cts => "clear to send",
        Kind::Data => "piece of a message",
        Kind::Fetched => "fetched",
        Kind::Landed => "deposited",
        Kind::Ready => "ready to receive",
        Kind::Claim => "claims a receive",
        Kind::Credit => "flow control",
        Kind::Half => "half to the sender",
    };
    Some((what, matches!(words.kind, Kind::Eager | Kind::Rts).then_some(words.tag)))
}

/// Which of a rank's message streams: messages of different contexts never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Context(pub(crate) u32);

impl Context {
    pub(crate) const USER: Context = Context(0);
    pub(crate) const COLLECTIVE: Context = Context(1);
    /// Contexts that a head has room for.
    pub(crate) const COUNT: u32 = 1 << 24;
    /// That of a communicator's own messages, by the communicator's number; the next is that of its collectives.
    pub(crate) const fn of(number: u32) -> Context {
        Context(2 * number)
    }
    /// The communicator's number.
    pub(crate) const fn number(self) -> u32 {
        self.0 / 2
    }
    /// That of the collectives of the same communicator.
    pub(crate) const fn collective(self) -> Context {
        Context(self.0 | 1)
    }
    pub(crate) const fn is_collective(self) -> bool {
        self.0 & 1 == 1
    }
    /// Whether its messages are a library's own: see [`crate::INTERNAL`].
    pub(crate) const fn is_internal(self) -> bool {
        self.number() & crate::INTERNAL != 0
    }
    const fn in_head(first: u64) -> Context {
        Context((first >> 8) as u32 & (Context::COUNT - 1))
    }
}

/// A head, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Words {
    pub(crate) kind: Kind,
    pub(crate) context: Context,
    pub(crate) tag: Tag,
    /// Bytes of the whole message.
    pub(crate) total: u64,
    /// Request of the rank that the message goes to, or that offers it (Rts).
    pub(crate) id: u64,
    /// Data: first byte of the piece. Cts: the receiver's request.
    pub(crate) at: u64,
}

impl Words {
    #[inline]
    pub(crate) fn head(&self) -> Head {
        let kind = u64::from(self.kind as u8);
        [kind | u64::from(self.context.0) << 8 | u64::from(self.tag) << 32, self.total, self.id, self.at]
    }
    /// An eager message's: its last two words are of no interest to who takes it.
    #[inline]
    pub(crate) fn eager(first: u64, total: u64) -> Words {
        let (context, tag) = (Context::in_head(first), (first >> 32) as Tag);
        Words { kind: Kind::Eager, context, tag, total, id: 0, at: 0 }
    }
    /// `None` if no engine wrote it.
    #[inline]
    pub(crate) fn parse(head: &Head) -> Option<Words> {
        let kind = *KINDS.get(usize::from(head[0] as u8))?;
        let (context, tag) = (Context::in_head(head[0]), (head[0] >> 32) as Tag);
        Some(Words { kind, context, tag, total: head[1], id: head[2], at: head[3] })
    }
}

/// Where exported memory takes or gives a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) key: Key,
    pub(crate) offset: u64,
    pub(crate) layout: Layout,
    /// A regular segment: reached without the system's help.
    pub(crate) regular: bool,
}

impl Place {
    /// Most bytes of a place in a control message.
    pub(crate) const BYTES: usize = 56;
    /// The bytes of a place without gaps, whose length its message gives: with the head it is one cache line.
    pub(crate) const PLAIN: usize = 24;
    /// Mark in the offset of a place: it is a regular segment.
    const REGULAR: u64 = 1 << 63;
    /// As a control message carries it, in `short` if possible: the number of its bytes.
    pub(crate) fn bytes(&self, short: bool) -> ([u8; Place::BYTES], usize) {
        let Layout { block, count, stride } = self.layout;
        let offset = self.offset | if self.regular { Place::REGULAR } else { 0 };
        // The last is spare: with it a place is as long as the simulated machines' results know it.
        let words = [self.key.id, self.key.bytes, offset, block, count, stride, 0];
        let mut bytes = [0; Place::BYTES];
        bytes.copy_from_slice(words.map(u64::to_le_bytes).as_flattened());
        (bytes, if short && self.layout.is_contiguous() { Place::PLAIN } else { Place::BYTES })
    }
    /// The place of the first `bytes`, if they end on a whole block.
    pub(crate) fn part(&self, bytes: u64) -> Option<Place> {
        let span = Span { memory: Memory(0), offset: self.offset, layout: self.layout };
        let part = span.part(0, bytes).filter(|_| bytes <= span.bytes())?;
        Some(Place { offset: part.offset, layout: part.layout, ..*self })
    }
    /// The place in memory of `rank` that `bytes` name, of `total` bytes.
    pub(crate) fn parse(rank: Rank, bytes: &[u8], total: u64) -> Option<Place> {
        let word = |i: usize| Some(u64::from_le_bytes(bytes.get(i * 8..i * 8 + 8)?.try_into().ok()?));
        let layout = match bytes.len() {
            Place::PLAIN => Layout::contiguous(total),
            Place::BYTES => Layout { block: word(3)?, count: word(4)?, stride: word(5)? },
            _ => return None,
        };
        let (key, offset) = (Key { rank, id: word(0)?, bytes: word(1)? }, word(2)?);
        let regular = offset & Place::REGULAR != 0;
        Some(Place { key, offset: offset & !Place::REGULAR, layout, regular })
    }
}
