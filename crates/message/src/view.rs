//! Views: some of the ranks, renumbered, as a communicator of their own, whose messages meet no others. Also calls for
//! programs with requests of their own: matched probes, withdrawn receives, tests that keep a result.

use crate::comm::Comm;
use crate::engine::Pattern;
use crate::members::Members;
use crate::request::{Request, Status};
use crate::wire::Context;
use crate::{Error, Mode, Tag, collectives::tags};
use hotlink_fabric::units::Time;
use hotlink_port::{Call, Limits, Port, Rank, Refusal, Span, yield_once};
use std::rc::Rc;

/// Numbers that views may have: 1 to one less. 0 is all ranks.
pub const CONTEXTS: u32 = Context::COUNT / 2;

/// A bit of a view's number: its messages are those that a library sends for itself. Their tags mean nothing to the
/// program, so a report of a wait leaves them out.
pub const INTERNAL: u32 = CONTEXTS / 2;

/// A message that a probe has taken out: only [`Comm::imrecv`] receives it.
#[must_use]
#[derive(Debug)]
pub struct Matched(u64);

impl<P: Port> Comm<P> {
    /// These ranks of the port, this one among them, as a communicator: rank 0 is the first. All of them must call this
    /// with the same ranks and the same `number`. No other view whose messages may still be on their way may have that
    /// number.
    ///
    /// # Errors
    /// A rank is not among them or occurs twice; this one is missing; the number is beyond [`CONTEXTS`].
    pub fn view(&self, ranks: &[Rank], number: u32) -> Result<Comm<P>, Error> {
        let own = self.port_rank(self.rank);
        let members = Members::new(ranks, self.all).filter(|_| number < CONTEXTS).ok_or(Refusal::NoRank)?;
        let rank = members.place(own).ok_or(Refusal::NoRank)?;
        let mut view = self.without_fabric();
        (view.rank, view.ranks) = (rank, ranks.len() as u32);
        view.members = Some(Rc::new(members));
        (view.context, view.call) = (Context::of(number), 0);
        Ok(view)
    }
    /// The same communicator for collectives that run at the same time as its others. Each has a `call` of its own,
    /// counted from 1 alike on all ranks.
    pub fn beside(&self, call: u32) -> Comm<P> {
        // A program with several of these does not wait for one alone.
        let mut beside = self.without_fabric();
        (beside.call, beside.patience) = (call << tags::BITS, 1);
        beside
    }
    /// Distinguishes this communicator, or this call among others of it, from all others that a rank has; the same on
    /// all its ranks.
    pub fn label(&self) -> (u32, u32) {
        (self.context.0, self.call)
    }
    /// The fabric's services for all ranks are not for some, and not for several calls at a time.
    fn without_fabric(&self) -> Comm<P> {
        let plain = Limits { barrier: false, broadcast: false, reduction: None, ..(*self.limits).clone() };
        let mut comm = self.clone();
        if plain != *self.limits {
            comm.limits = Rc::new(plain);
        }
        comm
    }
    /// The port's name of a rank; beyond all ranks if it is none.
    #[inline(always)]
    pub fn port_rank(&self, rank: Rank) -> Rank {
        match &self.members {
            None => rank,
            Some(members) => members.rank(rank),
        }
    }
    /// The rank that the port's `rank` has here, if it is of this communicator. A [`Status`] has the port's.
    #[inline]
    pub fn rank_of(&self, rank: Rank) -> Option<Rank> {
        match &self.members {
            None => Some(rank),
            Some(members) => members.place(rank),
        }
    }
    #[inline(always)]
    pub(crate) fn pattern(&self, from: Option<Rank>, tag: Option<Tag>) -> Pattern {
        Pattern { from: from.map(|from| self.port_rank(from)), tag, context: self.context }
    }

    /// Makes what progress is possible now without waiting; whether there was any.
    pub fn progress(&self) -> bool {
        let mut any = false;
        while self.step() {
            any = true;
        }
        any
    }
    /// Whether a waiting program gives way at each look, since something else runs in its process.
    pub fn give_way(&self, others: bool) {
        self.others.set(others);
    }
    /// Whether it does now.
    #[inline]
    pub fn gives_way(&self) -> bool {
        self.others.get()
    }
    /// Lets what else runs in this process go on. Who finds nothing twice in a row may rest: everything else had its turn.
    pub async fn step_aside(&self, vain: &mut bool) {
        let any = self.progress();
        if *vain && !any {
            self.tell_wait(Call::Internal, None, None);
            self.rest_briefly();
        }
        *vain = !any;
        yield_once().await;
    }
    /// From now on, or no more, the program takes what comes here unasked: [`Comm::called`] says when. Meanwhile it costs
    /// nothing.
    pub fn attend(&self, on: bool) {
        let mut engine = self.engine.borrow_mut();
        if !on {
            engine.attended.remove(&self.context);
        } else if engine.attended.insert(self.context) {
            // It may have come before.
            engine.call(self.context);
        }
    }
    /// The number of a view that is attended to and for which something may have come since this last said so.
    pub fn called(&self) -> Option<u32> {
        self.engine.borrow_mut().called.pop_front().map(Context::number)
    }
    /// There is nothing to do now: the port may rest for a moment.
    pub fn rest_briefly(&self) {
        self.with_port(|port| port.idle(Time::MAX));
    }
    /// Reports to a port that listens for which request the program waits.
    pub fn note_wait(&self, request: &Request) {
        self.engine.borrow_mut().note_wait(request.0);
    }
    /// Whether the request is over; its result waits for [`Comm::test`] or [`Comm::wait`].
    pub fn is_ended(&self, request: &Request) -> bool {
        request.is_sent() || self.engine.borrow_mut().is_done(request.0)
    }
    /// Starts a receive that can be withdrawn: no sender knows of it before its message comes.
    ///
    /// # Errors
    /// No such rank.
    pub fn irecv_quietly(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<Request, Error> {
        self.engine.borrow_mut().recv(self.pattern(from, tag), span, false).map(Request)
    }
    /// Takes a receive back that no message has met; whether it could be. Its result is then [`Error::NoRequest`].
    pub fn cancel(&self, request: &Request) -> bool {
        self.engine.borrow_mut().withdraw(request.0)
    }
    /// As [`Comm::iprobe`]; the message found is taken out, and no other receive or probe finds it.
    pub fn improbe(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<(Matched, Status)> {
        self.progress();
        self.improbe_here(from, tag)
    }
    /// The same among messages that have come, without a step: for tasks during which progress is made.
    pub fn improbe_here(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<(Matched, Status)> {
        let (number, status) = self.engine.borrow_mut().take_out(&self.pattern(from, tag))?;
        Some((Matched(number), status))
    }
    /// Starts to receive a message that was taken out.
    ///
    /// # Errors
    /// It was received before.
    pub fn imrecv(&self, message: Matched, span: Span) -> Result<Request, Error> {
        self.engine.borrow_mut().recv_matched(message.0, span).map(Request)
    }
    /// Why no message can come from a rank any more, or from any.
    pub fn lost(&self, from: Option<Rank>) -> Option<Error> {
        self.engine.borrow().in_vain(from.map(|from| self.port_rank(from)))
    }
    /// A short message at once, or `false`: it must be started as others are.
    #[inline(always)]
    pub fn send_at_once(&self, to: Rank, tag: Tag, span: Span, waits: bool) -> bool {
        self.engine.borrow_mut().send_now(self.port_rank(to), tag, self.context, &span, waits)
    }
    /// A send for a program that does nothing else until it is over.
    ///
    /// # Errors
    /// No such rank; it has ended.
    pub fn send_waiting(&self, mode: Mode, to: Rank, tag: Tag, span: Span) -> Result<Request, Error> {
        let to = self.port_rank(to);
        self.engine.borrow_mut().send_as(mode, to, (tag, self.context), span, true).map(Request)
    }
}
