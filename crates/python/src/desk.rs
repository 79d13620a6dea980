//! A rank's calls, whatever its port: each is what [`hotlink_message::Comm`] does, with blocks lent for its time.

use crate::lent::{Block, Lender, Segments};
use hotlink_fabric::units::Time;
use hotlink_message::{Comm, Error, Operation, Request, Status, Tag};
use hotlink_port::{Align, Kind, Port, Rank, Span, Work};
use hotlink_real::Lend;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A collective operation, with the blocks that are sent and those that are received into.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Collective {
    Bcast(Rank),
    Reduce(Rank, Operation),
    Allreduce(Operation),
    ReduceScatter(Operation),
    Gather(Rank),
    Gatherv(Rank),
    Scatter(Rank),
    Scatterv(Rank),
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
}

/// From whom and with which tag; `None`: any.
pub(crate) type Pattern = (Option<Rank>, Option<Tag>);

/// A program's request to its communicator.
#[derive(Debug)]
pub(crate) enum Call {
    Send(Rank, Tag, Block),
    Recv(Pattern, Block),
    Isend(Rank, Tag, Block),
    Irecv(Pattern, Block),
    Wait(u64),
    WaitAny(Vec<u64>),
    Test(u64),
    Probe(Pattern),
    Iprobe(Pattern),
    Barrier,
    Time,
    Compute(Time),
    /// Memory of that many bytes.
    Alloc(u64, Kind, Align),
    Free(Block),
    /// The program is over.
    Close,
    Collective(Collective, Vec<Block>, Vec<Block>),
}

/// The reply to it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Done,
    Received(Status),
    /// Nothing has come, or is over, yet.
    NotYet,
    Started(u64),
    Time(Time),
    Allocated(Block),
    /// This one of several is over.
    Ended(usize, Result<Status, Error>),
}

/// An operation under way.
struct Pending {
    request: Request,
    block: Block,
    span: Span,
}

/// One that is waited for, and can be waited for again if that is given up.
struct Waited<'a> {
    pending: Option<Pending>,
    id: u64,
    all: &'a RefCell<BTreeMap<u64, Pending>>,
}

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.all.borrow_mut().insert(self.id, pending);
        }
    }
}

/// Where a rank's calls are served.
pub(crate) struct Desk<P: Port, L> {
    comm: Comm<P>,
    pending: RefCell<BTreeMap<u64, Pending>>,
    started: Cell<u64>,
    segments: RefCell<Segments>,
    lender: PhantomData<L>,
}

impl<P: Lend, L: Lender<P>> Desk<P, L> {
    pub(crate) fn new(port: P) -> Desk<P, L> {
        Desk {
            comm: Comm::new(port),
            pending: RefCell::default(),
            started: Cell::new(0),
            segments: RefCell::default(),
            lender: PhantomData,
        }
    }
    pub(crate) fn place(&self) -> (Rank, u32) {
        (self.comm.rank(), self.comm.ranks())
    }
    pub(crate) async fn serve(&self, call: Call) -> Result<Reply, Error> {
        let comm = &self.comm;
        match call {
            Call::Send(to, tag, block) => {
                let span = self.lend(&block);
                let sent = comm.send(to, tag, span).await;
                self.take_back(&block, span)?;
                sent.map(|()| Reply::Done)
            }
            Call::Recv((from, tag), block) => {
                let span = self.lend(&block);
                let received = comm.recv(from, tag, span).await;
                self.take_back(&block, span)?;
                received.map(Reply::Received)
            }
            Call::Isend(to, tag, block) => self.start(block, |span| comm.isend(to, tag, span)),
            Call::Irecv((from, tag), block) => self.start(block, |span| comm.irecv(from, tag, span)),
            Call::Wait(id) => {
                let mut waited = Waited { pending: Some(self.take(id)?), id, all: &self.pending };
                if let Some(pending) = &waited.pending {
                    comm.over(&pending.request).await;
                }
                let pending = waited.pending.take().ok_or(Error::NoRequest)?;
                let ended = comm.wait(pending.request).await;
                self.take_back(&pending.block, pending.span)?;
                ended.map(Reply::Received)
            }
            Call::Test(id) => self.not_at_once(self.test(id)).await,
            Call::WaitAny(ids) => self.wait_any(&ids).await,
            Call::Probe((from, tag)) => comm.probe(from, tag).await.map(Reply::Received),
            Call::Iprobe((from, tag)) => {
                let found = comm.iprobe(from, tag).map_or(Reply::NotYet, Reply::Received);
                self.not_at_once(Ok(found)).await
            }
            Call::Time => Ok(Reply::Time(comm.now())),
            Call::Compute(time) => {
                comm.compute(Work::Fixed(time));
                Ok(Reply::Done)
            }
            Call::Barrier => comm.barrier().await.map(|()| Reply::Done),
            Call::Alloc(bytes, kind, align) => {
                let memory = comm.alloc_mem(bytes, kind, align)?;
                let block = Block::row(comm.with_port(|port| port.start(memory))?, bytes);
                self.segments.borrow_mut().add(&block, memory);
                Ok(Reply::Allocated(block))
            }
            Call::Free(block) => {
                let memory = self.segments.borrow_mut().remove(&block).ok_or(Error::NoRequest)?;
                comm.free(memory).map(|()| Reply::Done)
            }
            Call::Close => {
                comm.with_port(Port::close);
                Ok(Reply::Done)
            }
            Call::Collective(what, send, recv) => self.collective(what, &send, &recv).await,
        }
    }

    /// Waits, as ranks of this port do, for what the last poll did not find.
    pub(crate) fn rest(&self) {
        self.comm.with_port(L::rest);
    }
    /// The block as a span.
    fn lend(&self, block: &Block) -> Span {
        let segment = self.segments.borrow().find(block);
        segment.unwrap_or_else(|| {
            let (memory, offset) = self.comm.with_port(|port| L::memory(port, block));
            Span { memory, offset, layout: block.layout }
        })
    }
    fn take_back(&self, block: &Block, span: Span) -> Result<(), Error> {
        let lent = self.segments.borrow().find(block).is_none();
        if lent && L::FORGETS { self.comm.free(span.memory) } else { Ok(()) }
    }
    fn start(&self, block: Block, begin: impl FnOnce(Span) -> Result<Request, Error>) -> Result<Reply, Error> {
        let span = self.lend(&block);
        match begin(span) {
            Ok(request) => {
                let id = self.started.get();
                self.started.set(id + 1);
                self.pending.borrow_mut().insert(id, Pending { request, block, span });
                Ok(Reply::Started(id))
            }
            Err(error) => {
                self.take_back(&block, span)?;
                Err(error)
            }
        }
    }
    fn take(&self, id: u64) -> Result<Pending, Error> {
        self.pending.borrow_mut().remove(&id).ok_or(Error::NoRequest)
    }
    fn test(&self, id: u64) -> Result<Reply, Error> {
        let Pending { request, block, span } = self.take(id)?;
        match self.comm.test(request) {
            Ok(ended) => {
                self.take_back(&block, span)?;
                ended.map(Reply::Received)
            }
            Err(request) => {
                self.pending.borrow_mut().insert(id, Pending { request, block, span });
                Ok(Reply::NotYet)
            }
        }
    }
    /// A program that asks again and again lets time go on meanwhile, which in a simulation nothing else does.
    async fn not_at_once(&self, reply: Result<Reply, Error>) -> Result<Reply, Error> {
        if matches!(reply, Ok(Reply::NotYet)) {
            self.comm.with_port(|port| {
                let look = port.limits().poll_overhead.max(port.limits().clock_step);
                port.idle(Time(port.now().0 + look.0.max(1)));
            });
            hotlink_port::yield_once().await;
        }
        reply
    }
    /// The requests stay named here while they are waited for, so that all but the one can be waited for again.
    async fn wait_any(&self, ids: &[u64]) -> Result<Reply, Error> {
        loop {
            for (place, &id) in ids.iter().enumerate() {
                match self.test(id) {
                    Ok(Reply::Received(status)) => return Ok(Reply::Ended(place, Ok(status))),
                    Err(error) => return Ok(Reply::Ended(place, Err(error))),
                    _ => {}
                }
            }
            self.comm.with_port(|port| port.idle(Time::MAX));
            hotlink_port::yield_once().await;
        }
    }

    async fn collective(&self, what: Collective, send: &[Block], recv: &[Block]) -> Result<Reply, Error> {
        let into: Vec<Span> = recv.iter().map(|block| self.lend(block)).collect();
        // Memory that is both sent and received into is lent once: the same span shows that.
        let mut from = Vec::new();
        for block in send {
            match recv.iter().position(|other| other.is_same(block)) {
                Some(same) => from.push(into[same]),
                None => from.push(self.lend(block)),
            }
        }
        let done = self.by_spans(what, &from, &into).await;
        for (block, span) in send.iter().zip(&from).filter(|(_, span)| !into.contains(span)) {
            self.take_back(block, *span)?;
        }
        for (block, span) in recv.iter().zip(&into) {
            self.take_back(block, *span)?;
        }
        done.map(|()| Reply::Done)
    }
    /// A rank that does not send or receive gives no span for it: an empty one replaces it.
    async fn by_spans(&self, what: Collective, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        let comm = &self.comm;
        let nothing = Span::new(hotlink_port::Memory(u64::MAX), 0, 0);
        let first = |spans: &[Span]| spans.first().copied().unwrap_or(nothing);
        let (from, into) = (first(send), first(recv));
        match what {
            Collective::Bcast(root) => comm.bcast(root, if comm.rank() == root { from } else { into }).await,
            Collective::Reduce(root, operation) if recv.is_empty() => {
                let scratch = comm.alloc(from.bytes(), Kind::Private)?;
                let done = comm.reduce(root, operation, from, Span::new(scratch, 0, from.bytes())).await;
                comm.free(scratch)?;
                done
            }
            Collective::Reduce(root, operation) => comm.reduce(root, operation, from, into).await,
            Collective::Allreduce(operation) => comm.allreduce(operation, from, into).await,
            Collective::ReduceScatter(operation) => comm.reduce_scatter(operation, from, into).await,
            Collective::Gather(root) => comm.gather(root, from, into).await,
            Collective::Gatherv(root) => comm.gatherv(root, from, recv).await,
            Collective::Scatter(root) => comm.scatter(root, from, into).await,
            Collective::Scatterv(root) => comm.scatterv(root, send, into).await,
            Collective::Allgather => comm.allgather(from, into).await,
            Collective::Allgatherv => comm.allgatherv(from, recv).await,
            Collective::Alltoall => comm.alltoall(from, into).await,
            Collective::Alltoallv => comm.alltoallv(send, recv).await,
        }
    }
}
