//! What the engines of two ranks say to each other: the four words of a control message.

use crate::Tag;
use hotlink_port::Head;

/// Kinds of control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole message.
    Eager,
    /// Request to send: a rendezvous begins. The sender's request is `id`.
    Rts,
    /// Clear to send, through buffers: from the receiver; `id` is the sender's request, `peer` the receiver's.
    Cts,
    /// A piece of a message, from byte `at`; `id` is the receiver's request.
    Data,
}

/// Which of a rank's message streams: messages of different contexts never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context(pub(crate) u8);

impl Context {
    pub(crate) const USER: Context = Context(0);
    pub(crate) const COLLECTIVE: Context = Context(1);
}

/// A head, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub(crate) fn head(&self) -> Head {
        let kind = match self.kind {
            Kind::Eager => 0,
            Kind::Rts => 1,
            Kind::Cts => 2,
            Kind::Data => 3,
        };
        [kind | u64::from(self.context.0) << 8 | u64::from(self.tag) << 32, self.total, self.id, self.at]
    }
    /// `None` if no engine wrote it.
    pub(crate) fn parse(head: &Head) -> Option<Words> {
        let kind = match head[0] as u8 {
            0 => Kind::Eager,
            1 => Kind::Rts,
            2 => Kind::Cts,
            3 => Kind::Data,
            _ => return None,
        };
        let (context, tag) = (Context((head[0] >> 8) as u8), (head[0] >> 32) as Tag);
        Some(Words { kind, context, tag, total: head[1], id: head[2], at: head[3] })
    }
}
