//! Every rank to every rank, each its own part.

use super::algorithm::{Algorithm, Collective};
use super::costs::Crowd;
use super::tags::ALLTOALL;
use crate::Error;
use crate::comm::{Comm, Side};
use hotlink_port::{Kind, Memory, Port, Rank, Refusal, Span};

/// Messages each way that [`Algorithm::Scattered`] has under way at once: MPICH's default
/// (`MPIR_CVAR_ALLTOALL_THROTTLE`).
const BATCH: u32 = 32;

/// When a rank copies its own part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    Before,
    After,
}

impl<P: Port> Comm<P> {
    /// Part `i` of `send` goes to rank `i`, where it becomes the part of this rank of `recv`.
    ///
    /// Sizes differ from pair to pair, and no rank knows all: linear or pairwise. Bruck's rounds and the ring, which
    /// move blocks of others, send their sizes ahead. They run only if all ranks force them ([`Comm::force`]).
    pub async fn alltoallv(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        self.one_each(send)?;
        self.one_each(recv)?;
        match self.forced(Collective::Alltoall) {
            Some(Algorithm::Bruck) => return self.alltoallv_bruck(send, recv).await,
            Some(Algorithm::Ring) => return self.alltoallv_ring(send, recv).await,
            _ => {}
        }
        // Both ways use the same messages, so ranks that choose differently still meet.
        let bytes = send.iter().chain(recv).map(Span::bytes).max().unwrap_or(0);
        let apart = |algorithm| !matches!(algorithm, Algorithm::Bruck | Algorithm::Ring);
        match self.algorithm(Collective::Alltoall, bytes, apart)? {
            Algorithm::Linear => self.alltoall_linear(send, recv, Own::After).await,
            Algorithm::BasicLinear => self.alltoall_linear(send, recv, Own::Before).await,
            Algorithm::Scattered => self.alltoall_scattered(send, recv).await,
            Algorithm::Pairwise => self.alltoall_pairwise(send, recv).await,
            _ => Err(Refusal::Unsupported.into()),
        }
    }
    /// As [`Comm::alltoallv`], with equal parts of one span each.
    pub async fn alltoall(&self, send: Span, recv: Span) -> Result<(), Error> {
        let (send, recv) = (self.parts(send)?, self.parts(recv)?);
        match self.algorithm(Collective::Alltoall, send[0].bytes(), |_| true)? {
            Algorithm::Linear => self.alltoall_linear(&send, &recv, Own::After).await,
            Algorithm::BasicLinear => self.alltoall_linear(&send, &recv, Own::Before).await,
            Algorithm::Scattered => self.alltoall_scattered(&send, &recv).await,
            Algorithm::Pairwise => self.alltoall_pairwise(&send, &recv).await,
            Algorithm::Bruck => self.alltoall_bruck(&send, &recv).await,
            Algorithm::Ring => self.alltoall_ring(&send, &recv).await,
            _ => Err(Refusal::Unsupported.into()),
        }
    }
    async fn alltoall_pairwise(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        self.keep(send[rank as usize], recv[rank as usize])?;
        for round in 1..ranks {
            let (to, from) = ((rank + round) % ranks, (rank + ranks - round) % ranks);
            self.exchange(ALLTOALL, (to, send[to as usize]), (from, recv[from as usize])).await?;
        }
        Ok(())
    }
    async fn alltoall_linear(&self, send: &[Span], recv: &[Span], own: Own) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        if own == Own::Before {
            self.keep(send[rank as usize], recv[rank as usize])?;
        }
        let mut requests = Vec::with_capacity(2 * ranks as usize);
        for round in 1..ranks {
            let from = (rank + ranks - round) % ranks;
            requests.push(self.start(Side::Recv, from, ALLTOALL, recv[from as usize])?);
        }
        for round in 1..ranks {
            let to = (rank + round) % ranks;
            let part = send[to as usize];
            requests.push(self.start(self.among(Crowd::Both, part.bytes()), to, ALLTOALL, part)?);
        }
        if own == Own::After {
            self.keep(send[rank as usize], recv[rank as usize])?;
        }
        self.wait_all(requests).await.map(|_| ())
    }
    /// A rank's own part is a message as the others are, and the first; [`BATCH`] of them at once.
    async fn alltoall_scattered(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        for first in (0..ranks).step_by(BATCH as usize) {
            let batch = first..ranks.min(first + BATCH);
            let mut requests = Vec::with_capacity(2 * batch.len());
            for round in batch.clone() {
                let from = (rank + ranks - round) % ranks;
                requests.push(self.start(Side::Recv, from, ALLTOALL, recv[from as usize])?);
            }
            for round in batch {
                let to = (rank + round) % ranks;
                requests.push(self.start(Side::Send, to, ALLTOALL, send[to as usize])?);
            }
            self.wait_all(requests).await?;
        }
        Ok(())
    }
    /// Block `i` is for the rank `i` further on; round `k` moves all blocks whose number has bit `k` that far.
    async fn alltoall_bruck(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let part = send[0].bytes();
        let blocks = self.scratch(send[0], part * u64::from(ranks))?;
        let packed = self.scratch(send[0], part * u64::from(ranks))?;
        let coming = self.scratch(send[0], part * u64::from(ranks))?;
        let at = |buffer: Span, number: u32| Span::new(buffer.memory, u64::from(number) * part, part);
        for number in 0..ranks {
            self.keep(send[((rank + number) % ranks) as usize], at(blocks, number))?;
        }
        let mut step = 1;
        while step < ranks {
            let moved = (0..ranks).filter(|number| number & step != 0);
            let mut count = 0;
            for (place, number) in moved.clone().enumerate() {
                self.keep(at(blocks, number), at(packed, place as u32))?;
                count += 1;
            }
            let whole = |buffer: Span| Span::new(buffer.memory, 0, count * part);
            let (to, from) = ((rank + step) % ranks, (rank + ranks - step) % ranks);
            self.exchange(ALLTOALL, (to, whole(packed)), (from, whole(coming))).await?;
            for (place, number) in moved.enumerate() {
                self.keep(at(coming, place as u32), at(blocks, number))?;
            }
            step *= 2;
        }
        for number in 0..ranks {
            self.keep(at(blocks, number), recv[((rank + ranks - number) % ranks) as usize])?;
        }
        self.give_back(blocks.memory)?;
        self.give_back(packed.memory)?;
        self.give_back(coming.memory)
    }
    /// The right neighbour passes on the blocks that are not its own, one less each round.
    async fn alltoall_ring(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let part = send[0].bytes();
        self.keep(send[rank as usize], recv[rank as usize])?;
        let (mut going, mut coming) =
            (self.scratch(send[0], part * u64::from(ranks))?, self.scratch(send[0], part * u64::from(ranks))?);
        for number in 1..ranks {
            let block = Span::new(going.memory, u64::from(number) * part, part);
            self.keep(send[((rank + number) % ranks) as usize], block)?;
        }
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        for round in 1..ranks {
            // The first block that comes is this rank's; those behind it go on.
            let bytes = u64::from(ranks - round) * part;
            let (out, into) = (Span::new(going.memory, part, bytes), Span::new(coming.memory, 0, bytes));
            self.exchange(ALLTOALL, (right, out), (left, into)).await?;
            let from = (rank + ranks - round) % ranks;
            self.keep(Span::new(coming.memory, 0, part), recv[from as usize])?;
            (going, coming) = (coming, going);
        }
        self.give_back(going.memory)?;
        self.give_back(coming.memory)
    }

    /// As [`Comm::alltoall_bruck`]; a block stays where it last came, until it is passed on or at its end.
    async fn alltoallv_bruck(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let mut blocks: Vec<Span> = (0..ranks).map(|number| send[((rank + number) % ranks) as usize]).collect();
        let mut held = Vec::new();
        let mut step = 1;
        while step < ranks {
            let moved = (0..ranks).filter(|number| number & step != 0);
            let going: Vec<Span> = moved.clone().map(|number| blocks[number as usize]).collect();
            let (to, from) = ((rank + step) % ranks, (rank + ranks - step) % ranks);
            let (memory, coming) = self.exchange_blocks(to, from, &going, send[0]).await?;
            held.push(memory);
            moved.zip(coming).for_each(|(number, block)| blocks[number as usize] = block);
            step *= 2;
        }
        for (number, &block) in (0..).zip(&blocks) {
            self.place(block, recv[((rank + ranks - number) % ranks) as usize])?;
        }
        held.into_iter().try_for_each(|memory| self.give_back(memory))
    }
    /// As [`Comm::alltoall_ring`].
    async fn alltoallv_ring(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        self.place(send[rank as usize], recv[rank as usize])?;
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let mut going: Vec<Span> = (1..ranks).map(|number| send[((rank + number) % ranks) as usize]).collect();
        let mut held = None;
        for round in 1..ranks {
            let (memory, coming) = self.exchange_blocks(right, left, &going, send[0]).await?;
            self.place(coming[0], recv[((rank + ranks - round) % ranks) as usize])?;
            going = coming[1..].to_vec();
            if let Some(before) = held.replace(memory) {
                self.give_back(before)?;
            }
        }
        held.map_or(Ok(()), |memory| self.give_back(memory))
    }
    /// Blocks go to one rank, as many come from another: first their sizes, then all in a row. Where they lie now.
    async fn exchange_blocks(
        &self,
        to: Rank,
        from: Rank,
        going: &[Span],
        like: Span,
    ) -> Result<(Memory, Vec<Span>), Error> {
        let table = 8 * going.len() as u64;
        let sizes = self.alloc(2 * table, Kind::Private)?;
        let told: Vec<u8> = going.iter().flat_map(|block| block.bytes().to_ne_bytes()).collect();
        self.write(sizes, 0, &told)?;
        self.exchange(ALLTOALL, (to, Span::new(sizes, 0, table)), (from, Span::new(sizes, table, table))).await?;
        let mut heard = vec![0; told.len()];
        self.read(sizes, table, &mut heard)?;
        self.free(sizes)?;
        let heard: Vec<u64> = heard.as_chunks().0.iter().map(|size| u64::from_ne_bytes(*size)).collect();
        let packed = self.scratch(like, going.iter().map(Span::bytes).sum())?;
        let coming = self.scratch(like, heard.iter().sum())?;
        for (&block, part) in going.iter().zip(in_a_row(packed.memory, going.iter().map(Span::bytes))) {
            self.keep(block, part)?;
        }
        self.exchange(ALLTOALL, (to, packed), (from, coming)).await?;
        self.give_back(packed.memory)?;
        Ok((coming.memory, in_a_row(coming.memory, heard.into_iter()).collect()))
    }
    /// A block at its end.
    fn place(&self, block: Span, part: Span) -> Result<(), Error> {
        if block.bytes() != part.bytes() {
            return Err(Refusal::OutOfBounds.into());
        }
        self.keep(block, part)
    }
}

/// Parts of these sizes, one after the other.
fn in_a_row(memory: Memory, sizes: impl Iterator<Item = u64>) -> impl Iterator<Item = Span> {
    let mut at = 0;
    sizes.map(move |bytes| {
        at += bytes;
        Span::new(memory, at - bytes, bytes)
    })
}
