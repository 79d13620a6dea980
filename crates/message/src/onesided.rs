//! Put and get in exported memory of other ranks, and copies in a rank's own.

use crate::Error;
use crate::comm::Comm;
use crate::request::Request;
use hotlink_port::{Attachment, Call, Engine, Host, Key, Memory, Op, Port, Rank, RemoteSpan, Span};

/// The direction of data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    Put,
    Get,
}

impl Move {
    pub(crate) fn op(self, here: Span, there: RemoteSpan, engine: Engine, token: u64) -> Op<'static> {
        match self {
            Move::Put => Op::Deposit { from: here, to: there, engine, token },
            Move::Get => Op::Fetch { from: there, to: here, engine, token },
        }
    }
}

impl<P: Port> Comm<P> {
    /// Exports memory to other ranks: the key travels in messages. See [`Host::register`]. Where resources are short,
    /// this releases registrations that no transfer uses.
    pub fn export(&self, memory: Memory) -> Result<Key, Error> {
        let engine = &mut *self.engine.borrow_mut();
        Ok(engine.setup.register_for_program(&mut engine.port, memory)?)
    }
    /// Imports exported memory, mapped ([`Engine::Pio`]) or only connected ([`Engine::Dma`]).
    pub fn import(&self, key: Key, engine: Engine) -> Result<Attachment, Error> {
        let state = &mut *self.engine.borrow_mut();
        Ok(state.setup.attach_for_program(&mut state.port, key, engine)?)
    }
    /// Copies within this rank's memory; over when it returns.
    ///
    /// # Errors
    /// As [`Host::copy`].
    #[inline]
    pub fn copy(&self, from: Span, to: Span) -> Result<(), Error> {
        Ok(self.with_port(|port| Host::copy(port, from, to))?)
    }
    /// Puts `from` into imported memory of rank `peer`; over when it is visible there.
    pub async fn put(&self, peer: Rank, from: Span, to: RemoteSpan, engine: Engine) -> Result<(), Error> {
        let request = self.iput(peer, from, to, engine).await?;
        self.wait(request).await.map(|_| ())
    }
    /// Gets imported memory of rank `peer` into `to`.
    pub async fn get(&self, peer: Rank, from: RemoteSpan, to: Span, engine: Engine) -> Result<(), Error> {
        let request = self.iget(peer, from, to, engine).await?;
        self.wait(request).await.map(|_| ())
    }
    /// Starts a put, as soon as the port has room for it. `from` may be used again when the request is over.
    pub async fn iput(&self, peer: Rank, from: Span, to: RemoteSpan, engine: Engine) -> Result<Request, Error> {
        self.transfer(Move::Put, peer, (from, to), engine).await
    }
    /// Starts a get, as soon as the port has room for it. `to` holds the data when the request is over.
    pub async fn iget(&self, peer: Rank, from: RemoteSpan, to: Span, engine: Engine) -> Result<Request, Error> {
        self.transfer(Move::Get, peer, (to, from), engine).await
    }
    /// Posts an operation as soon as the port has room, and waits for its end.
    pub(crate) async fn perform(&self, peer: Rank, op: impl Fn(u64) -> Op<'static>) -> Result<(), Error> {
        loop {
            let started = self.engine.borrow_mut().transfer(peer, None, &op);
            if let Some(started) = started {
                return self.wait_id(started?).await.map(|_| ());
            }
            if !self.step() {
                self.pause(Call::Transfer, Some(peer), None).await;
            }
        }
    }
    pub(crate) async fn transfer(
        &self,
        way: Move,
        peer: Rank,
        (here, there): (Span, RemoteSpan),
        engine: Engine,
    ) -> Result<Request, Error> {
        loop {
            let op = |token| way.op(here, there, engine, token);
            let started = self.engine.borrow_mut().transfer(peer, Some((here, engine)), &op);
            if let Some(started) = started {
                return started.map(Request);
            }
            if !self.step() {
                self.pause(Call::Transfer, Some(peer), None).await;
            }
        }
    }
}
