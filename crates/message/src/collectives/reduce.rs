//! Reductions. The order in which elements combine depends on the number of ranks alone. So all ranks of an allreduce
//! get the same bits, in every run.

use super::algorithm::{Algorithm, Collective};
use super::tags::{GATHER, REDUCE, SCATTER};
use super::tree::Shape;
use crate::Error;
use crate::comm::{Comm, Side};
use hotlink_port::{Call, Op, Operation, Port, Rank, Refusal, Share, Span, Work};

/// Segments of [`Algorithm::SegmentedRing`]: Open MPI's, where none is set.
const RING_SEGMENT: u64 = 1 << 20;

impl<P: Port> Comm<P> {
    /// Combines every rank's `send` element by element into `recv` of `root`; `recv` is scratch elsewhere.
    pub async fn reduce(&self, root: Rank, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        self.check_root(root)?;
        operation.check(&send, &recv)?;
        if self.ranks() == 1 {
            return self.keep(send, recv);
        }
        let algorithm = self.reduction(Collective::Reduce, send.bytes())?;
        if algorithm == Algorithm::Hardware {
            // Where all get the result, `recv` is scratch for those that do not want it.
            let shares = self.limits().reduction.is_some_and(|claim| claim.shares);
            let share = if shares { Share::Root(root) } else { Share::All };
            return self.by_fabric(operation, share, send, recv).await;
        }
        self.keep(send, recv)?;
        let segment = self.segment().unwrap_or(u64::MAX);
        match algorithm {
            Algorithm::Binomial => self.reduce_binomial(root, operation, recv).await,
            Algorithm::Rabenseifner => {
                let parts = cut(recv, 1 << self.ranks().ilog2(), operation.element_bytes());
                let number = self.halving(operation, recv, &parts).await?;
                let mut owners = vec![None; self.ranks() as usize];
                for (number, part) in (0..).zip(&parts) {
                    owners[self.unfolded(number) as usize] = Some(*part);
                }
                self.bring(root, number.map(|number| parts[number as usize]), &owners).await
            }
            Algorithm::Linear => self.reduce_linear(root, operation, recv).await,
            Algorithm::Pipelined => self.up(root, Shape::PIPELINE, operation, recv, segment).await,
            Algorithm::Chain => self.up(root, Shape::CHAIN, operation, recv, segment).await,
            Algorithm::Binary => self.up(root, Shape::Binary, operation, recv, segment).await,
            Algorithm::KNomial => self.up(root, Shape::K_NOMIAL, operation, recv, segment).await,
            Algorithm::Ring => {
                let parts = self.cut(recv, operation.element_bytes());
                self.reduce_scatter_ring(operation, &parts).await?;
                let owned: Vec<Option<Span>> = parts.iter().copied().map(Some).collect();
                self.bring(root, owned[self.rank() as usize], &owned).await
            }
            _ => Err(Refusal::Unsupported.into()),
        }
    }
    /// Combines every rank's `send` element by element into every rank's `recv`.
    pub async fn allreduce(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        operation.check(&send, &recv)?;
        if self.ranks() == 1 {
            return self.keep(send, recv);
        }
        let algorithm = self.reduction(Collective::Allreduce, send.bytes())?;
        if algorithm == Algorithm::Hardware {
            return self.by_fabric(operation, Share::All, send, recv).await;
        }
        self.keep(send, recv)?;
        // In a box: the port's own takes less time than moving a long future would.
        Box::pin(self.allreduce_by(algorithm, operation, recv)).await
    }
    async fn allreduce_by(&self, algorithm: Algorithm, operation: Operation, recv: Span) -> Result<(), Error> {
        match algorithm {
            Algorithm::Binomial => {
                self.reduce_binomial(0, operation, recv).await?;
                self.bcast_binomial(0, recv).await
            }
            Algorithm::RecursiveDoubling => self.allreduce_doubling(operation, recv).await,
            Algorithm::Rabenseifner => self.allreduce_rabenseifner(operation, recv).await,
            Algorithm::Ring => {
                let parts = self.cut(recv, operation.element_bytes());
                self.reduce_scatter_ring(operation, &parts).await?;
                self.allgather_ring(&parts).await
            }
            Algorithm::Linear => {
                self.reduce_linear(0, operation, recv).await?;
                self.bcast_linear(0, recv).await
            }
            Algorithm::SegmentedRing => self.allreduce_segmented(operation, recv).await,
            Algorithm::AllgatherReduce => self.allreduce_gathered(operation, recv).await,
            _ => Err(Refusal::Unsupported.into()),
        }
    }

    /// Combines every rank's `send` element by element. The result has as many parts as there are ranks, and part `i`
    /// goes to `recv` of rank `i`. `recv` does not overlap the rank's `send`, and parts are equally long.
    pub async fn reduce_scatter(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        Share::Parts.check(operation, self.rank(), self.ranks(), &send, &recv)?;
        if self.ranks() == 1 {
            return self.keep(send, recv);
        }
        match self.reduction(Collective::ReduceScatter, send.bytes())? {
            Algorithm::Hardware => self.by_fabric(operation, Share::Parts, send, recv).await,
            Algorithm::Binomial => {
                let whole = self.scratch(send, send.bytes())?;
                self.keep(send, whole)?;
                self.reduce_binomial(0, operation, whole).await?;
                self.scatter_binomial(0, &self.parts(whole)?, recv).await?;
                self.give_back(whole.memory)
            }
            Algorithm::Ring => {
                let whole = self.scratch(send, send.bytes())?;
                self.keep(send, whole)?;
                let parts = self.parts(whole)?;
                self.reduce_scatter_ring(operation, &parts).await?;
                self.keep(parts[self.rank() as usize], recv)?;
                self.give_back(whole.memory)
            }
            Algorithm::RecursiveHalving => self.reduce_scatter_halving(operation, send, recv).await,
            Algorithm::Pairwise => self.reduce_scatter_pairwise(operation, send, recv).await,
            _ => Err(Refusal::Unsupported.into()),
        }
    }

    /// The algorithm of a reduction. Between processes of one machine nothing is cheaper than the port's own, so that it
    /// need not be compared.
    fn reduction(&self, collective: Collective, bytes: u64) -> Result<Algorithm, Error> {
        let own = self.limits().real_time && Algorithm::Hardware.is_possible(collective, self.limits());
        if own && self.forced(collective).is_none() {
            self.note_algorithm(collective, Algorithm::Hardware);
            return Ok(Algorithm::Hardware);
        }
        self.algorithm(collective, bytes, |_| true)
    }
    /// The port's own reduction. In real time without a request for it: a short one takes no longer than a message.
    async fn by_fabric(&self, operation: Operation, share: Share, from: Span, to: Span) -> Result<(), Error> {
        let op = |token| Op::Reduce { operation, share, from, to, token };
        if !self.limits().real_time {
            return self.perform(self.rank(), op).await;
        }
        while !self.engine.borrow_mut().begin_reduction(op)? {
            if !self.step() {
                self.pause(Call::Reduce, None, None).await;
            }
        }
        self.until(Call::Reduce, |engine| engine.reduced.take()).await
    }
    pub(super) fn combine(&self, operation: Operation, other: Span, into: Span) -> Result<(), Error> {
        Ok(self.with_port(|port| {
            port.compute(Work::Own { streamed: 3 * into.bytes(), scattered: 0 });
            port.combine(operation, other, into)
        })?)
    }
    pub(super) async fn reduce_binomial(&self, root: Rank, operation: Operation, recv: Span) -> Result<(), Error> {
        let other = self.scratch(recv, recv.bytes())?;
        let (me, mut step) = (self.relative(root), 1);
        while step < self.ranks() {
            if me & step != 0 {
                self.out(self.absolute(root, me - step), REDUCE, recv).await?;
                break;
            }
            if me + step < self.ranks() {
                self.into(self.absolute(root, me + step), REDUCE, other).await?;
                self.combine(operation, other, recv)?;
            }
            step *= 2;
        }
        self.give_back(other.memory)
    }
    /// Reduces the ranks that take part to the largest power of two. Of the first ranks every even one hands its part
    /// to the next odd one and sits out. Returns this rank's number among the others, and their count.
    async fn fold(&self, operation: Operation, recv: Span, other: Span) -> Result<(Option<u32>, u32), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let power = 1 << ranks.ilog2();
        let extra = ranks - power;
        if rank >= 2 * extra {
            return Ok((Some(rank - extra), power));
        }
        if rank.is_multiple_of(2) {
            self.out(rank + 1, REDUCE, recv).await?;
            return Ok((None, power));
        }
        self.into(rank - 1, REDUCE, other).await?;
        self.combine(operation, other, recv)?;
        Ok((Some(rank / 2), power))
    }
    /// The rank with a number among those that go on.
    fn unfolded(&self, number: u32) -> Rank {
        let extra = self.ranks() - (1 << self.ranks().ilog2());
        if number < extra { 2 * number + 1 } else { number + extra }
    }
    /// The result goes back to those that sat out.
    async fn unfold(&self, recv: Span) -> Result<(), Error> {
        let (rank, extra) = (self.rank(), self.ranks() - (1 << self.ranks().ilog2()));
        match rank {
            _ if rank >= 2 * extra => Ok(()),
            _ if rank.is_multiple_of(2) => self.into(rank + 1, REDUCE, recv).await,
            _ => self.out(rank - 1, REDUCE, recv).await,
        }
    }
    async fn allreduce_doubling(&self, operation: Operation, recv: Span) -> Result<(), Error> {
        let other = self.scratch(recv, recv.bytes())?;
        let (number, power) = self.fold(operation, recv, other).await?;
        if let Some(number) = number {
            let mut step = 1;
            while step < power {
                let peer = self.unfolded(number ^ step);
                self.exchange(REDUCE, (peer, recv), (peer, other)).await?;
                // Sums of two are the same either way round, so all ranks get the same bits.
                self.combine(operation, other, recv)?;
                step *= 2;
            }
        }
        self.give_back(other.memory)?;
        self.unfold(recv).await
    }
    /// Reduce-scatter by recursive halving. Returns this rank's number among those that take part; none if it sits out.
    /// It then has the part of `recv` of that number in full. `parts` are a power of two in a row.
    async fn halving(&self, operation: Operation, recv: Span, parts: &[Span]) -> Result<Option<u32>, Error> {
        let other = self.scratch(recv, recv.bytes())?;
        let (number, power) = self.fold(operation, recv, other).await?;
        let within = |from: u32, to: u32| joined(&parts[from as usize..to as usize]);
        if let Some(number) = number {
            let (mut first, mut count) = (0, power);
            while count > 1 {
                count /= 2;
                let peer = self.unfolded(number ^ count);
                let low = number & count == 0;
                let (keep, give) = if low { (first, first + count) } else { (first + count, first) };
                let (mine, theirs) = (within(keep, keep + count), within(give, give + count));
                let coming = Span::new(other.memory, 0, mine.bytes());
                self.exchange(REDUCE, (peer, theirs), (peer, coming)).await?;
                self.combine(operation, coming, mine)?;
                first = keep;
            }
        }
        self.give_back(other.memory)?;
        Ok(number)
    }
    async fn allreduce_rabenseifner(&self, operation: Operation, recv: Span) -> Result<(), Error> {
        let parts = cut(recv, 1 << self.ranks().ilog2(), operation.element_bytes());
        if let Some(number) = self.halving(operation, recv, &parts).await? {
            self.doubling(REDUCE, number, &parts, |number| self.unfolded(number)).await?;
        }
        self.unfold(recv).await
    }
    /// A rank that goes on also represents the one before it that sits out, and sends it its part.
    async fn reduce_scatter_halving(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        let whole = self.scratch(send, send.bytes())?;
        self.keep(send, whole)?;
        let (rank, power) = (self.rank() as usize, 1 << self.ranks().ilog2());
        let (parts, folded) = (self.parts(whole)?, 2 * (self.ranks() as usize - power));
        let group = |number: u32| match self.unfolded(number) as usize {
            rank if rank < folded => joined(&parts[rank - 1..=rank]),
            rank => parts[rank],
        };
        let groups: Vec<Span> = (0..power as u32).map(group).collect();
        match self.halving(operation, whole, &groups).await? {
            None => self.into(self.rank() + 1, SCATTER, recv).await?,
            Some(_) => {
                if rank < folded {
                    self.out(self.rank() - 1, SCATTER, parts[rank - 1]).await?;
                }
                self.keep(parts[rank], recv)?;
            }
        }
        self.give_back(whole.memory)
    }
    /// Combines this rank's own part, then those of the ranks before it, the nearest first.
    async fn reduce_scatter_pairwise(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let parts = self.parts(send)?;
        self.keep(parts[rank as usize], recv)?;
        let other = self.scratch(recv, recv.bytes())?;
        for round in 1..ranks {
            let (to, from) = ((rank + round) % ranks, (rank + ranks - round) % ranks);
            self.exchange(REDUCE, (to, parts[to as usize]), (from, other)).await?;
            self.combine(operation, other, recv)?;
        }
        self.give_back(other.memory)
    }
    /// The root combines with its own those of the others, the last rank first.
    async fn reduce_linear(&self, root: Rank, operation: Operation, recv: Span) -> Result<(), Error> {
        if self.rank() != root {
            return self.out(root, REDUCE, recv).await;
        }
        let other = self.scratch(recv, recv.bytes())?;
        for from in (0..self.ranks()).rev().filter(|&from| from != root) {
            self.into(from, REDUCE, other).await?;
            self.combine(operation, other, recv)?;
        }
        self.give_back(other.memory)
    }
    /// The ring's first time round for each segment of the parts, then once more for whole parts.
    async fn allreduce_segmented(&self, operation: Operation, recv: Span) -> Result<(), Error> {
        let element = operation.element_bytes();
        let parts = self.cut(recv, element);
        let phases = parts[0].bytes().div_ceil(self.segment().unwrap_or(RING_SEGMENT)).max(1) as u32;
        for phase in 0..phases as usize {
            let slices: Vec<Span> = parts.iter().map(|&part| cut(part, phases, element)[phase]).collect();
            self.reduce_scatter_ring(operation, &slices).await?;
        }
        self.allgather_ring(&parts).await
    }
    /// Every rank combines all vectors in the order of the ranks.
    async fn allreduce_gathered(&self, operation: Operation, recv: Span) -> Result<(), Error> {
        let all = self.scratch(recv, recv.bytes() * u64::from(self.ranks()))?;
        let vectors = self.parts(all)?;
        self.keep(recv, vectors[self.rank() as usize])?;
        self.allgather_ring(&vectors).await?;
        self.keep(vectors[0], recv)?;
        vectors[1..].iter().try_for_each(|&vector| self.combine(operation, vector, recv))?;
        self.give_back(all.memory)
    }
    /// Round the ring: each part is combined on its way to the rank of its number.
    async fn reduce_scatter_ring(&self, operation: Operation, parts: &[Span]) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let most = parts.iter().map(Span::bytes).max().unwrap_or(0);
        let other = self.scratch(parts[0], most)?;
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        for round in 1..ranks {
            let (give, take) = ((rank + ranks - round) % ranks, (rank + 2 * ranks - round - 1) % ranks);
            let (mine, theirs) = (parts[give as usize], parts[take as usize]);
            let coming = Span::new(other.memory, 0, theirs.bytes());
            self.exchange(REDUCE, (right, mine), (left, coming)).await?;
            self.combine(operation, coming, theirs)?;
        }
        self.give_back(other.memory)
    }
    /// The parts that ranks own come to `root`.
    async fn bring(&self, root: Rank, mine: Option<Span>, owners: &[Option<Span>]) -> Result<(), Error> {
        if self.rank() != root {
            return match mine {
                Some(part) => self.out(root, GATHER, part).await,
                None => Ok(()),
            };
        }
        let mut requests = Vec::new();
        for (from, part) in owners.iter().enumerate().filter(|(from, _)| *from != root as usize) {
            if let Some(part) = part {
                requests.push(self.start(Side::Recv, from as Rank, GATHER, *part)?);
            }
        }
        self.wait_all(requests).await.map(|_| ())
    }
}

/// A contiguous span in `count` parts of whole elements, as equal as can be.
pub(super) fn cut(span: Span, count: u32, element: u64) -> Vec<Span> {
    let elements = span.bytes() / element;
    let (each, more) = (elements / u64::from(count), elements % u64::from(count));
    let mut at = 0;
    (0..u64::from(count))
        .map(|number| {
            let bytes = (each + u64::from(number < more)) * element;
            let part = Span::new(span.memory, span.offset + at, bytes);
            at += bytes;
            part
        })
        .collect()
}

/// Neighbouring parts as one span.
pub(super) fn joined(parts: &[Span]) -> Span {
    let bytes = parts.iter().map(Span::bytes).sum();
    Span::new(parts[0].memory, parts[0].offset, bytes)
}
