//! Collectives on point-to-point messages. Every rank of the communicator calls them, in the same order.
//!
//! | collective | algorithm |
//! |---|---|
//! | barrier | dissemination, ceil(log2 n) rounds |
//! | bcast | binomial tree; scatter and ring allgather from [`LARGE`] bytes and 3 ranks on |
//! | reduce | binomial tree |
//! | allreduce | recursive doubling (power of two), else reduce and bcast |
//! | gather(v), scatter(v) | all at once at the root |
//! | allgather(v) | ring |
//! | alltoall(v) | all at once up to [`MANY`] ranks or for short messages, else pairwise exchange |
//!
//! The v-variants take one [`Span`] per rank; the plain ones cut a span into equal parts.

use crate::comm::{Comm, Request, Side};
use crate::reduce::Operation;
use crate::{Error, Tag};
use hotlink_port::{Kind, Memory, Port, Rank, Refusal, Span};

/// Messages between two ranks keep their order, so neither rounds nor calls need numbers.
const BARRIER: Tag = 0;
const BCAST: Tag = 1;
const REDUCE: Tag = 2;
const GATHER: Tag = 3;
const SCATTER: Tag = 4;
const ALLGATHER: Tag = 5;
const ALLTOALL: Tag = 6;
/// From this size on a broadcast is cut in parts.
pub const LARGE: u64 = 128 << 10;
/// Ranks up to which all exchanges of an alltoall are under way at once.
pub const MANY: u32 = 8;
const SHORT: u64 = 4096;
/// Where the bytes of an empty message are.
const NOWHERE: Memory = Memory(u64::MAX);

impl<P: Port> Comm<P> {
    async fn out(&self, to: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        let request = self.start(Side::Send, to, tag, span)?;
        self.wait(request).await.map(|_| ())
    }
    async fn into(&self, from: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        self.receive_for(from, tag, span).await.map(|_| ())
    }
    async fn exchange(&self, tag: Tag, to: (Rank, Span), from: (Rank, Span)) -> Result<(), Error> {
        let receive = self.start(Side::Recv, from.0, tag, from.1)?;
        self.out(to.0, tag, to.1).await?;
        self.wait(receive).await.map(|_| ())
    }
    /// This rank's own part; in place if both are the same.
    fn keep(&self, from: Span, to: Span) -> Result<(), Error> {
        if from == to || from.bytes() == 0 {
            return Ok(());
        }
        Ok(self.with_port(|port| port.copy(from, to))?)
    }
    fn one_each(&self, spans: &[Span]) -> Result<(), Error> {
        if spans.len() == self.ranks() as usize { Ok(()) } else { Err(Refusal::OutOfBounds.into()) }
    }
    /// `span` in as many equal parts as there are ranks, one for each.
    ///
    /// # Errors
    /// If its bytes cannot be divided so.
    pub fn parts(&self, span: Span) -> Result<Vec<Span>, Error> {
        let (bytes, ranks) = (span.bytes(), u64::from(self.ranks()));
        if !bytes.is_multiple_of(ranks) {
            return Err(Refusal::OutOfBounds.into());
        }
        let part = bytes / ranks;
        let parts: Option<Vec<Span>> = (0..ranks).map(|i| span.part(i * part, part)).collect();
        Ok(parts.ok_or(Refusal::OutOfBounds)?)
    }

    /// Returns when every rank has called it.
    pub async fn barrier(&self) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let empty = Span::new(NOWHERE, 0, 0);
        let mut step = 1;
        while step < ranks {
            let (to, from) = ((rank + step) % ranks, (rank + ranks - step) % ranks);
            self.out(to, BARRIER, empty).await?;
            self.into(from, BARRIER, empty).await?;
            step *= 2;
        }
        Ok(())
    }

    /// `span` of `root` goes to all.
    pub async fn bcast(&self, root: Rank, span: Span) -> Result<(), Error> {
        self.check_root(root)?;
        if span.bytes() >= LARGE && self.ranks() > 2 && span.layout.is_contiguous() {
            return self.bcast_in_parts(root, span).await;
        }
        let (me, ranks) = (self.relative(root), self.ranks());
        let mut step = 1;
        while step < ranks && me & step == 0 {
            step *= 2;
        }
        if me != 0 {
            self.into(self.absolute(root, me - step), BCAST, span).await?;
        }
        let mut sends: Vec<Request> = Vec::new();
        while step > 1 {
            step /= 2;
            if me + step < ranks {
                sends.push(self.start(Side::Send, self.absolute(root, me + step), BCAST, span)?);
            }
        }
        self.wait_all(sends).await.map(|_| ())
    }
    async fn bcast_in_parts(&self, root: Rank, span: Span) -> Result<(), Error> {
        let part = span.bytes().div_ceil(self.ranks().into());
        let cut = |i: u64| {
            let at = (i * part).min(span.bytes());
            Span::new(span.memory, span.offset + at, part.min(span.bytes() - at))
        };
        let parts: Vec<Span> = (0..self.ranks().into()).map(cut).collect();
        self.scatterv(root, &parts, parts[self.rank() as usize]).await?;
        self.allgatherv(parts[self.rank() as usize], &parts).await
    }
    /// Ranks counted from `root`, and back.
    fn relative(&self, root: Rank) -> u32 {
        (self.rank() + self.ranks() - root) % self.ranks()
    }
    fn absolute(&self, root: Rank, relative: u32) -> Rank {
        (relative + root) % self.ranks()
    }
    fn check_root(&self, root: Rank) -> Result<(), Error> {
        if root < self.ranks() { Ok(()) } else { Err(Refusal::NoRank.into()) }
    }

    /// Combines every rank's `send` element by element into `recv` of `root`; `recv` is scratch elsewhere.
    pub async fn reduce(&self, root: Rank, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        self.check_root(root)?;
        operation.check(&send, &recv)?;
        self.keep(send, recv)?;
        let other = Span::new(self.scratch(recv)?, 0, recv.bytes());
        let (me, mut step) = (self.relative(root), 1);
        while step < self.ranks() {
            if me & step != 0 {
                self.out(self.absolute(root, me - step), REDUCE, recv).await?;
                break;
            }
            if me + step < self.ranks() {
                self.into(self.absolute(root, me + step), REDUCE, other).await?;
                self.with_port(|port| operation.apply(port, other, recv))?;
            }
            step *= 2;
        }
        self.free(other.memory)
    }
    /// Combines every rank's `send` element by element into every rank's `recv`, in the same order everywhere.
    pub async fn allreduce(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        operation.check(&send, &recv)?;
        if !self.ranks().is_power_of_two() {
            self.reduce(0, operation, send, recv).await?;
            return self.bcast(0, recv).await;
        }
        self.keep(send, recv)?;
        let other = Span::new(self.scratch(recv)?, 0, recv.bytes());
        let mut step = 1;
        while step < self.ranks() {
            let peer = self.rank() ^ step;
            self.exchange(REDUCE, (peer, recv), (peer, other)).await?;
            // Sums of two are the same either way round, so all ranks get the same bits.
            self.with_port(|port| operation.apply(port, other, recv))?;
            step *= 2;
        }
        self.free(other.memory)
    }
    fn scratch(&self, like: Span) -> Result<Memory, Error> {
        let ghost = self.with_port(|port| port.kind(like.memory))? == Kind::Ghost;
        self.alloc(like.bytes(), if ghost { Kind::Ghost } else { Kind::Default })
    }

    /// Every rank's `send` goes to its part of `recv` at `root` (elsewhere `recv` is not looked at).
    pub async fn gatherv(&self, root: Rank, send: Span, recv: &[Span]) -> Result<(), Error> {
        self.check_root(root)?;
        if self.rank() != root {
            return self.out(root, GATHER, send).await;
        }
        self.one_each(recv)?;
        self.keep(send, recv[root as usize])?;
        let others = (0..self.ranks()).filter(|&rank| rank != root);
        let requests: Result<Vec<_>, Error> =
            others.map(|from| self.start(Side::Recv, from, GATHER, recv[from as usize])).collect();
        self.wait_all(requests?).await.map(|_| ())
    }
    /// As [`Comm::gatherv`], with equal parts of one span.
    pub async fn gather(&self, root: Rank, send: Span, recv: Span) -> Result<(), Error> {
        let parts = if self.rank() == root { self.parts(recv)? } else { Vec::new() };
        self.gatherv(root, send, &parts).await
    }
    /// Each part of `send` at `root` goes to its rank's `recv`.
    pub async fn scatterv(&self, root: Rank, send: &[Span], recv: Span) -> Result<(), Error> {
        self.check_root(root)?;
        if self.rank() != root {
            return self.into(root, SCATTER, recv).await;
        }
        self.one_each(send)?;
        let others = (0..self.ranks()).filter(|&rank| rank != root);
        let requests: Result<Vec<_>, Error> =
            others.map(|to| self.start(Side::Send, to, SCATTER, send[to as usize])).collect();
        self.keep(send[root as usize], recv)?;
        self.wait_all(requests?).await.map(|_| ())
    }
    /// As [`Comm::scatterv`], with equal parts of one span.
    pub async fn scatter(&self, root: Rank, send: Span, recv: Span) -> Result<(), Error> {
        let parts = if self.rank() == root { self.parts(send)? } else { Vec::new() };
        self.scatterv(root, &parts, recv).await
    }

    /// Every rank's `send` goes to its part of everybody's `recv`.
    pub async fn allgatherv(&self, send: Span, recv: &[Span]) -> Result<(), Error> {
        self.one_each(recv)?;
        let (rank, ranks) = (self.rank(), self.ranks());
        self.keep(send, recv[rank as usize])?;
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        for round in 0..ranks - 1 {
            let (mine, theirs) = ((rank + ranks - round) % ranks, (rank + ranks - round - 1) % ranks);
            self.exchange(ALLGATHER, (right, recv[mine as usize]), (left, recv[theirs as usize])).await?;
        }
        Ok(())
    }
    /// As [`Comm::allgatherv`], with equal parts of one span.
    pub async fn allgather(&self, send: Span, recv: Span) -> Result<(), Error> {
        self.allgatherv(send, &self.parts(recv)?).await
    }

    /// Part `i` of `send` goes to rank `i`, where it becomes the part of this rank of `recv`.
    pub async fn alltoallv(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        self.one_each(send)?;
        self.one_each(recv)?;
        let (rank, ranks) = (self.rank(), self.ranks());
        let short = send.iter().chain(recv).all(|span| span.bytes() <= SHORT);
        if ranks > MANY && !short {
            self.keep(send[rank as usize], recv[rank as usize])?;
            for round in 1..ranks {
                let (to, from) = ((rank + round) % ranks, (rank + ranks - round) % ranks);
                self.exchange(ALLTOALL, (to, send[to as usize]), (from, recv[from as usize])).await?;
            }
            return Ok(());
        }
        let mut requests = Vec::with_capacity(2 * ranks as usize);
        for round in 1..ranks {
            let from = (rank + ranks - round) % ranks;
            requests.push(self.start(Side::Recv, from, ALLTOALL, recv[from as usize])?);
        }
        for round in 1..ranks {
            let to = (rank + round) % ranks;
            requests.push(self.start(Side::Send, to, ALLTOALL, send[to as usize])?);
        }
        self.keep(send[rank as usize], recv[rank as usize])?;
        self.wait_all(requests).await.map(|_| ())
    }
    /// As [`Comm::alltoallv`], with equal parts of one span each.
    pub async fn alltoall(&self, send: Span, recv: Span) -> Result<(), Error> {
        self.alltoallv(&self.parts(send)?, &self.parts(recv)?).await
    }
}
