//! [`Endpoint`]: the interface under benchmarks, so that the same code runs over this project's stack and over any
//! other. It has tagged messages, collectives, one-sided puts and local work.

use crate::{Comm, Error, Mode, Operation, Request, Tag};
use hotlink_fabric::units::Time;
use hotlink_port::{
    Attachment, Engine, Host, Key, Kind, Layout, Limits, Memory, Port, Rank, Refusal, RemoteSpan, Span, Work,
};
use std::future::Future;

/// One rank's handle to a message-passing library. Collectives are called by every rank, in the same order.
pub trait Endpoint {
    /// A communication under way.
    type Request;
    /// Memory of every rank that the others can put into.
    type Window;

    /// This rank.
    fn rank(&self) -> Rank;
    /// Number of ranks.
    fn ranks(&self) -> u32;
    /// The claims of the carrier of the messages.
    fn limits(&self) -> &Limits;
    /// This rank's clock.
    fn now(&self) -> Time;
    /// Allocates zeroed memory.
    fn alloc(&self, bytes: u64, kind: Kind) -> Result<Memory, Error>;
    /// Frees memory.
    fn free(&self, memory: Memory) -> Result<(), Error>;
    /// Writes memory from byte `offset`.
    fn write(&self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Error>;
    /// Reads memory from byte `offset`.
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Error>;
    /// Copies, packs or unpacks within this rank's memory.
    fn copy(&self, from: Span, to: Span) -> Result<(), Error>;
    /// Computes, without progress of communication but what happens by itself.
    fn compute(&self, work: Work);

    /// Starts a send.
    fn isend(&self, to: Rank, tag: Tag, span: Span) -> Result<Self::Request, Error>;
    /// Starts a receive from `from` (or any rank) with `tag` (or any tag).
    fn irecv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<Self::Request, Error>;
    /// Waits until the request is over.
    fn wait(&self, request: Self::Request) -> impl Future<Output = Result<(), Error>>;
    /// Waits for all; the first error, if any, after all are over.
    fn wait_all(&self, requests: Vec<Self::Request>) -> impl Future<Output = Result<(), Error>> {
        async move {
            let mut result = Ok(());
            for request in requests {
                result = result.and(self.wait(request).await);
            }
            result
        }
    }
    /// Exchanges messages with a peer, all with `tag`. Each span comes with a count: starts so many receives of the one
    /// and sends of the other, then waits for all.
    fn exchange(
        &self,
        peer: Rank,
        tag: Tag,
        receives: (Span, u64),
        sends: (Span, u64),
    ) -> impl Future<Output = Result<(), Error>> {
        exchange_one_by_one(self, peer, tag, receives, sends)
    }
    /// Sends; `span` may be used again afterwards.
    fn send(&self, to: Rank, tag: Tag, span: Span) -> impl Future<Output = Result<(), Error>>;
    /// Starts a send with the semantics of `mode`, where the library has them; else its own.
    fn isend_as(&self, _mode: Mode, to: Rank, tag: Tag, span: Span) -> Result<Self::Request, Error> {
        self.isend(to, tag, span)
    }
    /// Sends with the semantics of `mode`, where the library has them; else its own.
    fn send_as(&self, _mode: Mode, to: Rank, tag: Tag, span: Span) -> impl Future<Output = Result<(), Error>> {
        self.send(to, tag, span)
    }
    /// Receives.
    fn recv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> impl Future<Output = Result<(), Error>>;

    /// From now on reads a foreign library's clock next to each call of its collectives. So [`Endpoint::took`] leaves
    /// out the time that this project spends around the call. This project's own library has no such clock.
    fn time_calls(&self, _on: bool) {}
    /// How long the last collective took in the foreign library; `None`: it was not timed there.
    fn took(&self) -> Option<Time> {
        None
    }

    /// Returns when every rank has called it.
    fn barrier(&self) -> impl Future<Output = Result<(), Error>>;
    /// The latest of all ranks' times.
    fn latest(&self, mine: Time) -> impl Future<Output = Result<Time, Error>>;
    /// `span` of `root` goes to all.
    fn bcast(&self, root: Rank, span: Span) -> impl Future<Output = Result<(), Error>>;
    /// Every rank's `send` combined into `recv` of `root`; `recv` is scratch elsewhere.
    fn reduce(
        &self,
        root: Rank,
        operation: Operation,
        send: Span,
        recv: Span,
    ) -> impl Future<Output = Result<(), Error>>;
    /// Every rank's `send` combined into every rank's `recv`.
    fn allreduce(&self, operation: Operation, send: Span, recv: Span) -> impl Future<Output = Result<(), Error>>;
    /// Every rank's `send` combined; part `i` of it becomes `recv` of rank `i`.
    fn reduce_scatter(&self, operation: Operation, send: Span, recv: Span) -> impl Future<Output = Result<(), Error>>;
    /// Every rank's `send` goes to its part of `recv` at `root`.
    fn gather(&self, root: Rank, send: Span, recv: Span) -> impl Future<Output = Result<(), Error>>;
    /// Each part of `send` at `root` goes to its rank's `recv`.
    fn scatter(&self, root: Rank, send: Span, recv: Span) -> impl Future<Output = Result<(), Error>>;
    /// Every rank's `send` goes to its part of every `recv`.
    fn allgather(&self, send: Span, recv: Span) -> impl Future<Output = Result<(), Error>>;
    /// Part `i` of `send` goes to rank `i`, where it becomes the part of this rank of `recv`.
    fn alltoall(&self, send: Span, recv: Span) -> impl Future<Output = Result<(), Error>>;
    /// As [`Endpoint::alltoall`] with parts of any size: one span for each rank, all of one memory.
    fn alltoallv(&self, send: &[Span], recv: &[Span]) -> impl Future<Output = Result<(), Error>>;

    /// Whether other ranks can put so laid out data into memory of this kind.
    fn can_put(&self, kind: Kind, layout: Layout) -> bool;
    /// Collective: `bytes` of every rank, open to puts. Private memory is allocated first and opened then
    /// (MPI_Win_create), other memory is allocated for the purpose (MPI_Win_allocate).
    fn open_window(&self, bytes: u64, kind: Kind) -> impl Future<Output = Result<Self::Window, Error>>;
    /// This rank's memory of a window.
    fn window_memory(&self, window: &Self::Window) -> Memory;
    /// Makes memory fit to be put from, where that needs preparation.
    fn prepare(&self, memory: Memory) -> Result<(), Error>;
    /// Registers what a message of this span could use without buffers, and keeps it so before others, as a persistent
    /// operation does (W01 slide 10). Says whether it did.
    fn hold_for(&self, _span: Span) -> bool {
        false
    }
    /// Puts `from` to byte `offset` of the window of `peer`; over when it is visible there.
    fn put(
        &self,
        window: &Self::Window,
        peer: Rank,
        from: Span,
        offset: u64,
        layout: Layout,
    ) -> impl Future<Output = Result<(), Error>>;
    /// Collective: closes a window and frees its memory.
    fn close_window(&self, window: Self::Window) -> impl Future<Output = Result<(), Error>>;
}

/// See [`Endpoint::exchange`]: one call of the library for each message.
///
/// # Errors
/// The library's.
pub async fn exchange_one_by_one<E: Endpoint + ?Sized>(
    endpoint: &E,
    peer: Rank,
    tag: Tag,
    (into, receives): (Span, u64),
    (out, sends): (Span, u64),
) -> Result<(), Error> {
    let mut requests = Vec::with_capacity((receives + sends) as usize);
    for _ in 0..receives {
        requests.push(endpoint.irecv(Some(peer), Some(tag), into)?);
    }
    for _ in 0..sends {
        requests.push(endpoint.isend(peer, tag, out)?);
    }
    endpoint.wait_all(requests).await
}

/// A window of this project's stack: memory exported, and what the other ranks exported attached.
#[derive(Debug)]
pub struct Exposed {
    memory: Memory,
    engine: Engine,
    attachments: Vec<Option<Attachment>>,
}

impl<P: Port> Endpoint for Comm<P> {
    type Request = Request;
    type Window = Exposed;

    #[inline]
    fn rank(&self) -> Rank {
        Comm::rank(self)
    }
    #[inline]
    fn ranks(&self) -> u32 {
        Comm::ranks(self)
    }
    #[inline]
    fn limits(&self) -> &Limits {
        Comm::limits(self)
    }
    #[inline]
    fn now(&self) -> Time {
        Comm::now(self)
    }
    fn alloc(&self, bytes: u64, kind: Kind) -> Result<Memory, Error> {
        Comm::alloc(self, bytes, kind)
    }
    fn free(&self, memory: Memory) -> Result<(), Error> {
        Comm::free(self, memory)
    }
    fn write(&self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Error> {
        Comm::write(self, memory, offset, from)
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        Comm::read(self, memory, offset, into)
    }
    #[inline]
    fn copy(&self, from: Span, to: Span) -> Result<(), Error> {
        Comm::copy(self, from, to)
    }
    fn compute(&self, work: Work) {
        Comm::compute(self, work);
    }
    #[inline]
    fn isend(&self, to: Rank, tag: Tag, span: Span) -> Result<Request, Error> {
        Comm::isend(self, to, tag, span)
    }
    #[inline]
    fn irecv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<Request, Error> {
        Comm::irecv(self, from, tag, span)
    }
    #[inline]
    async fn wait(&self, request: Request) -> Result<(), Error> {
        Comm::wait(self, request).await.map(|_| ())
    }
    #[inline]
    fn send(&self, to: Rank, tag: Tag, span: Span) -> impl Future<Output = Result<(), Error>> {
        Comm::send(self, to, tag, span)
    }
    fn isend_as(&self, mode: Mode, to: Rank, tag: Tag, span: Span) -> Result<Request, Error> {
        Comm::isend_as(self, mode, to, tag, span)
    }
    async fn send_as(&self, mode: Mode, to: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        Comm::send_as(self, mode, to, tag, span).await
    }
    #[inline]
    async fn recv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<(), Error> {
        Comm::recv(self, from, tag, span).await.map(|_| ())
    }
    async fn barrier(&self) -> Result<(), Error> {
        Comm::barrier(self).await
    }
    async fn latest(&self, mine: Time) -> Result<Time, Error> {
        Comm::latest(self, mine).await
    }
    async fn bcast(&self, root: Rank, span: Span) -> Result<(), Error> {
        Comm::bcast(self, root, span).await
    }
    async fn reduce(&self, root: Rank, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        Comm::reduce(self, root, operation, send, recv).await
    }
    async fn allreduce(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        Comm::allreduce(self, operation, send, recv).await
    }
    async fn reduce_scatter(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        Comm::reduce_scatter(self, operation, send, recv).await
    }
    async fn gather(&self, root: Rank, send: Span, recv: Span) -> Result<(), Error> {
        Comm::gather(self, root, send, recv).await
    }
    async fn scatter(&self, root: Rank, send: Span, recv: Span) -> Result<(), Error> {
        Comm::scatter(self, root, send, recv).await
    }
    async fn allgather(&self, send: Span, recv: Span) -> Result<(), Error> {
        Comm::allgather(self, send, recv).await
    }
    async fn alltoall(&self, send: Span, recv: Span) -> Result<(), Error> {
        Comm::alltoall(self, send, recv).await
    }
    async fn alltoallv(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        Comm::alltoallv(self, send, recv).await
    }

    fn can_put(&self, kind: Kind, layout: Layout) -> bool {
        let limits = Comm::limits(self);
        let reachable = if kind == Kind::Private { limits.registration.private } else { limits.segments };
        reachable && limits.deposit.is_some_and(|claim| layout.is_contiguous() || claim.strided)
    }
    async fn open_window(&self, bytes: u64, kind: Kind) -> Result<Exposed, Error> {
        let engine = engine(Comm::limits(self), kind);
        let memory = Comm::alloc(self, bytes, kind)?;
        let keys = keys(self, self.export(memory)?).await?;
        let others = keys.into_iter().enumerate().map(|(rank, key)| {
            let other = rank != Comm::rank(self) as usize;
            other.then(|| self.import(key, engine)).transpose()
        });
        Ok(Exposed { memory, engine, attachments: others.collect::<Result<_, _>>()? })
    }
    fn window_memory(&self, window: &Exposed) -> Memory {
        window.memory
    }
    fn prepare(&self, memory: Memory) -> Result<(), Error> {
        let needed = Comm::limits(self).deposit.is_some_and(|claim| claim.dma_needs_registration);
        if needed { self.hold(memory) } else { Ok(()) }
    }
    fn hold_for(&self, span: Span) -> bool {
        Comm::hold_for(self, span)
    }
    async fn put(&self, window: &Exposed, peer: Rank, from: Span, offset: u64, layout: Layout) -> Result<(), Error> {
        let attachment = window.attachments.get(peer as usize).copied().flatten().ok_or(Refusal::NoRank)?;
        Comm::put(self, peer, from, RemoteSpan { attachment, offset, layout }, window.engine).await
    }
    async fn close_window(&self, window: Exposed) -> Result<(), Error> {
        Comm::barrier(self).await?;
        for attachment in window.attachments.into_iter().flatten() {
            self.with_port(|port| Host::detach(port, attachment))?;
        }
        Comm::barrier(self).await?;
        Comm::free(self, window.memory)
    }
}

/// By processor where memory of this kind can be mapped, else by the adapter.
fn engine(limits: &Limits, kind: Kind) -> Engine {
    let mappable = kind != Kind::Private || limits.registration.private_mappable;
    let pio = limits.deposit.is_some_and(|claim| claim.pio);
    if mappable && pio { Engine::Pio } else { Engine::Dma }
}

/// Every rank's key.
async fn keys<P: Port>(comm: &Comm<P>, mine: Key) -> Result<Vec<Key>, Error> {
    const KEY: u64 = 24;
    let (one, all) = (comm.alloc(KEY, Kind::Default)?, comm.alloc(KEY * u64::from(comm.ranks()), Kind::Default)?);
    comm.write(one, 0, [u64::from(mine.rank), mine.id, mine.bytes].map(u64::to_le_bytes).as_flattened())?;
    let mut bytes = vec![0; (KEY * u64::from(comm.ranks())) as usize];
    comm.allgather(Span::new(one, 0, KEY), Span::new(all, 0, bytes.len() as u64)).await?;
    comm.read(all, 0, &mut bytes)?;
    comm.free(one)?;
    comm.free(all)?;
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at * 8 + k]));
    Ok((0..comm.ranks() as usize)
        .map(|rank| Key { rank: word(3 * rank) as u32, id: word(3 * rank + 1), bytes: word(3 * rank + 2) })
        .collect())
}
