//! Every rank's part to every rank.

use super::algorithm::{Algorithm, Collective};
use super::costs::Crowd;
use super::reduce::joined;
use super::tags::ALLGATHER;
use crate::comm::{Comm, Side};
use crate::{Error, Tag};
use hotlink_port::{Layout, Port, Rank, Refusal, Span};

impl<P: Port> Comm<P> {
    /// Every rank's `send` goes to its part of every `recv`, round the ring.
    pub async fn allgatherv(&self, send: Span, recv: &[Span]) -> Result<(), Error> {
        self.one_each(recv)?;
        self.keep(send, recv[self.rank() as usize])?;
        self.allgather_ring(recv).await
    }
    /// As [`Comm::allgatherv`], with equal parts of one span.
    pub async fn allgather(&self, send: Span, recv: Span) -> Result<(), Error> {
        let parts = self.parts(recv)?;
        self.keep(send, parts[self.rank() as usize])?;
        if self.ranks() == 1 {
            return Ok(());
        }
        let power = self.ranks().is_power_of_two();
        // Doubling needs a power of two. Where it was asked for on another number, Bruck's rounds replace it, which are
        // similar.
        let stands_in = !power && self.forced(Collective::Allgather) == Some(Algorithm::RecursiveDoubling);
        let possible = |algorithm| match stands_in {
            true => algorithm == Algorithm::Bruck,
            false => power || algorithm != Algorithm::RecursiveDoubling,
        };
        match self.algorithm(Collective::Allgather, send.bytes(), possible)? {
            Algorithm::Linear => self.allgather_linear(&parts).await,
            Algorithm::Ring => self.allgather_ring(&parts).await,
            Algorithm::RecursiveDoubling => self.in_a_row(recv, Row::Doubling).await,
            Algorithm::Bruck => self.in_a_row(recv, Row::Bruck).await,
            Algorithm::NeighborExchange if !self.ranks().is_multiple_of(2) => self.allgather_ring(&parts).await,
            Algorithm::NeighborExchange => self.in_a_row(recv, Row::Neighbors).await,
            _ => Err(Refusal::Unsupported.into()),
        }
    }
    async fn allgather_linear(&self, parts: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let mut requests = Vec::with_capacity(2 * ranks as usize);
        for round in 1..ranks {
            let from = (rank + ranks - round) % ranks;
            requests.push(self.start(Side::Recv, from, ALLGATHER, parts[from as usize])?);
        }
        let (own, side) = (parts[rank as usize], self.among(Crowd::Both, parts[rank as usize].bytes()));
        for round in 1..ranks {
            requests.push(self.start(side, (rank + round) % ranks, ALLGATHER, own)?);
        }
        self.wait_all(requests).await.map(|_| ())
    }
    /// Each part lies in place at its own rank.
    pub(super) async fn allgather_ring(&self, parts: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        for round in 0..ranks - 1 {
            let (mine, theirs) = ((rank + ranks - round) % ranks, (rank + ranks - round - 1) % ranks);
            self.exchange(ALLGATHER, (right, parts[mine as usize]), (left, parts[theirs as usize])).await?;
        }
        Ok(())
    }
    /// Several parts travel as one message, so they must lie in a row: if `recv` has gaps, in scratch memory.
    async fn in_a_row(&self, recv: Span, how: Row) -> Result<(), Error> {
        let part = recv.bytes() / u64::from(self.ranks());
        let mine = u64::from(self.rank()) * part;
        let row = match recv.layout.is_contiguous() {
            true => recv,
            false => self.scratch(recv, recv.bytes())?,
        };
        let row = Span { layout: Layout::contiguous(recv.bytes()), ..row };
        if row.memory != recv.memory {
            let own = recv.part(mine, part).ok_or(Refusal::OutOfBounds)?;
            self.keep(own, Span::new(row.memory, row.offset + mine, part))?;
        }
        match how {
            Row::Doubling => self.doubling(ALLGATHER, self.rank(), &self.parts(row)?, |number| number).await?,
            Row::Bruck => self.allgather_bruck(row, part).await?,
            Row::Neighbors => self.allgather_neighbors(&self.parts(row)?).await?,
        }
        if row.memory != recv.memory {
            self.keep(row, recv)?;
            self.give_back(row.memory)?;
        }
        Ok(())
    }
    /// Each rank's block grows by exchanges over distances 1, 2, 4 and so on. `number`: this rank's among those of
    /// `parts`, which are a power of two and lie in a row.
    pub(super) async fn doubling(
        &self,
        tag: Tag,
        number: u32,
        parts: &[Span],
        rank_of: impl Fn(u32) -> Rank,
    ) -> Result<(), Error> {
        let mut step = 1;
        while (step as usize) < parts.len() {
            let block = |number: u32| {
                let first = (number & !(step - 1)) as usize;
                joined(&parts[first..first + step as usize])
            };
            let (peer, to) = (number ^ step, rank_of(number ^ step));
            self.exchange(tag, (to, block(number)), (to, block(peer))).await?;
            step *= 2;
        }
        Ok(())
    }
    /// Exchanges this rank's own part with one neighbour; then, with each in turn, the pair of parts that came last.
    async fn allgather_neighbors(&self, parts: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let first = rank & !1;
        let neighbors = if rank == first { [right, left] } else { [left, right] };
        let pair = |at: u32| joined(&parts[at as usize..at as usize + 2]);
        let (rank, other) = (rank as usize, neighbors[0]);
        self.exchange(ALLGATHER, (other, parts[rank]), (other, parts[other as usize])).await?;
        let mut last = first;
        // Even ranks receive parts from ever further to the right on their right, and from the left on their left. Odd
        // ones do it the other way round.
        let mut at = [first; 2];
        for round in 1..ranks / 2 {
            let way = (round % 2) as usize;
            let is_right = neighbors[way] == right;
            at[way] = if is_right { (at[way] + 2) % ranks } else { (at[way] + ranks - 2) % ranks };
            let other = neighbors[way];
            self.exchange(ALLGATHER, (other, pair(last)), (other, pair(at[way]))).await?;
            last = at[way];
        }
        Ok(())
    }
    /// Round `i` fetches the parts 2^i to 2^(i+1) further on; where they wrap round they come as two messages.
    async fn allgather_bruck(&self, row: Span, part: u64) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let blocks = |first: u32, count: u32| {
            let upto = count.min(ranks - first);
            let piece = |first: u32, count: u32| {
                Span::new(row.memory, row.offset + u64::from(first) * part, u64::from(count) * part)
            };
            [piece(first, upto), piece(0, count - upto)]
        };
        let mut step = 1;
        while step < ranks {
            let count = step.min(ranks - step);
            let (to, from) = ((rank + ranks - step) % ranks, (rank + step) % ranks);
            // The two sides wrap at the same place of the same row.
            let (mine, theirs) = (blocks(rank, count), blocks(from, count));
            let mut requests = Vec::with_capacity(4);
            for piece in theirs.into_iter().filter(|piece| piece.bytes() > 0) {
                requests.push(self.start(Side::Recv, from, ALLGATHER, piece)?);
            }
            for piece in mine.into_iter().filter(|piece| piece.bytes() > 0) {
                requests.push(self.start(Side::Send, to, ALLGATHER, piece)?);
            }
            self.wait_all(requests).await?;
            step *= 2;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Row {
    Doubling,
    Bruck,
    Neighbors,
}
