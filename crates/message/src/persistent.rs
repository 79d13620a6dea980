//! Persistent requests: set up once, started often. Their memory is registered ahead of use, and kept so in
//! preference to other memory (W01 slide 10: *pre-register user buffer, higher hold priority*).

use crate::comm::Comm;
use crate::request::Request;
use crate::{Error, Mode, Tag};
use hotlink_port::{Memory, Port, Rank, Span};

/// A send or receive that can be started again and again. Give it back with [`Comm::release`].
#[must_use]
#[derive(Debug)]
pub struct Persistent {
    what: What,
    span: Span,
    held: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Send(Mode, Rank, Tag),
    Recv(Option<Rank>, Option<Tag>),
}

impl<P: Port> Comm<P> {
    /// Sets up a send of `span`.
    ///
    /// # Errors
    /// No such rank.
    pub fn send_init(&self, mode: Mode, to: Rank, tag: Tag, span: Span) -> Result<Persistent, Error> {
        self.check_peer(Some(to))?;
        Ok(Persistent { what: What::Send(mode, to, tag), span, held: self.hold_for(span) })
    }
    /// Sets up a receive into `span`.
    ///
    /// # Errors
    /// No such rank.
    pub fn recv_init(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<Persistent, Error> {
        self.check_peer(from)?;
        Ok(Persistent { what: What::Recv(from, tag), span, held: self.hold_for(span) })
    }
    fn check_peer(&self, peer: Option<Rank>) -> Result<(), Error> {
        let known = peer.is_none_or(|rank| rank < self.ranks());
        if known { Ok(()) } else { Err(hotlink_port::Refusal::NoRank.into()) }
    }
    /// Registers what a message of this span could use without buffers; a refusal is no error: it goes another way.
    pub(crate) fn hold_for(&self, span: Span) -> bool {
        let useful = self.engine.borrow().may_register(&span);
        useful && self.hold(span.memory).is_ok()
    }
    /// Starts it. It must be over before it is started again.
    pub fn start_again(&self, persistent: &Persistent) -> Result<Request, Error> {
        let mut engine = self.engine.borrow_mut();
        match persistent.what {
            What::Send(mode, to, tag) => {
                engine.send_as(mode, self.port_rank(to), (tag, self.context), persistent.span, false)
            }
            What::Recv(from, tag) => engine.recv(self.pattern(from, tag), persistent.span, true),
        }
        .map(Request)
    }
    /// Gives it back: its memory's registration becomes one like others.
    pub fn release(&self, persistent: Persistent) {
        if persistent.held {
            self.unhold(persistent.span.memory);
        }
    }
    /// Registers memory ahead of use and keeps it so in preference to other memory, until [`Comm::unhold`] is called
    /// as often.
    ///
    /// # Errors
    /// The port refuses, even after releasing what is not in use.
    pub fn hold(&self, memory: Memory) -> Result<(), Error> {
        let engine = &mut *self.engine.borrow_mut();
        Ok(engine.setup.hold(&mut engine.port, memory)?)
    }
    /// Ends one [`Comm::hold`].
    pub fn unhold(&self, memory: Memory) {
        self.engine.borrow_mut().setup.unhold(memory);
    }
}
