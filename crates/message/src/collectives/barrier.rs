//! Barriers.

use super::NOWHERE;
use super::algorithm::{ARITY, Algorithm, Collective, WAYS};
use super::tags::BARRIER;
use crate::Error;
use crate::comm::{Comm, Side};
use crate::engine::Engine;
use hotlink_fabric::units::Time;
use hotlink_port::{Call, Note, Op, Port, Rank, Refusal, Span, yield_once};

impl<P: Port> Comm<P> {
    /// Returns when every rank has called it.
    pub async fn barrier(&self) -> Result<(), Error> {
        // Nothing is cheaper than the fabric's own, so that one need not be compared.
        let own = self.limits().barrier && self.forced(Collective::Barrier).is_none();
        let algorithm = if own { Algorithm::Hardware } else { self.algorithm(Collective::Barrier, 0, |_| true)? };
        self.note_algorithm(Collective::Barrier, algorithm);
        // The port does not count the work of some ranks only, nor work that runs at the same time as other calls.
        let of_all = self.members.is_none() && self.call == 0;
        if of_all {
            self.with_port(|port| port.note(Note::EntersBarrier));
        }
        match algorithm {
            Algorithm::Hardware if self.limits().real_time => self.flags().await?,
            Algorithm::Hardware => self.perform(self.rank(), |token| Op::Barrier { token }).await?,
            Algorithm::Central => self.central().await?,
            Algorithm::Tree => self.tree().await?,
            Algorithm::Dissemination => self.dissemination(2).await?,
            Algorithm::NWay => self.dissemination(WAYS).await?,
            Algorithm::Tournament => self.tournament().await?,
            Algorithm::RecursiveDoubling => self.doubling_signals().await?,
            Algorithm::DoubleRing => self.double_ring().await?,
            _ => return Err(Refusal::Unsupported.into()),
        }
        if of_all {
            self.with_port(|port| port.note(Note::LeavesBarrier));
        }
        Ok(())
    }
    /// The fabric's own, without a request for it: it takes no longer than a message.
    async fn flags(&self) -> Result<(), Error> {
        let number = loop {
            if let Some(number) = self.engine.borrow_mut().enter_barrier()? {
                break number;
            }
            if !self.step() {
                self.pause(Call::Barrier, None, None).await;
            }
        };
        self.until(Call::Barrier, |engine| engine.left_barrier(number)).await
    }
    /// Makes progress until `over` says how something without a request ended.
    pub(super) async fn until(
        &self,
        call: Call,
        over: impl Fn(&mut Engine<P>) -> Option<Result<(), Error>>,
    ) -> Result<(), Error> {
        loop {
            let mut looks = 0;
            while looks < self.patience() {
                let mut engine = self.engine.borrow_mut();
                let any = engine.progress();
                if !engine.revoked.is_empty() {
                    drop(engine);
                    self.tell_revoked();
                    continue;
                }
                if let Some(ended) = over(&mut engine) {
                    return ended;
                }
                if !any {
                    if engine.port.listens() {
                        engine.port.note(Note::Waits { call, peer: None, tag: None });
                    }
                    engine.port.idle(Time::MAX);
                    looks += 1;
                }
            }
            yield_once().await;
        }
    }
    async fn signal(&self, to: Rank) -> Result<(), Error> {
        self.out(to, BARRIER, Span::new(NOWHERE, 0, 0)).await
    }
    async fn hear(&self, from: Rank) -> Result<(), Error> {
        self.into(from, BARRIER, Span::new(NOWHERE, 0, 0)).await
    }
    async fn central(&self) -> Result<(), Error> {
        if self.rank() > 0 {
            self.signal(0).await?;
            return self.hear(0).await;
        }
        for from in 1..self.ranks() {
            self.hear(from).await?;
        }
        for to in 1..self.ranks() {
            self.signal(to).await?;
        }
        Ok(())
    }
    async fn tree(&self) -> Result<(), Error> {
        let rank = u64::from(self.rank());
        let first = rank * u64::from(ARITY) + 1;
        let children = (first..first + u64::from(ARITY)).take_while(|&child| child < u64::from(self.ranks()));
        for child in children.clone() {
            self.hear(child as Rank).await?;
        }
        if rank > 0 {
            let parent = (self.rank() - 1) / ARITY;
            self.signal(parent).await?;
            self.hear(parent).await?;
        }
        for child in children {
            self.signal(child as Rank).await?;
        }
        Ok(())
    }
    /// Rounds of `ways - 1` messages, to the ranks 1, 2 and so on steps further on. Every rank sends before it
    /// receives. A message that is held back (`engine::flow`) waits for its receive, so no rank waits for a send before
    /// that.
    async fn dissemination(&self, ways: u32) -> Result<(), Error> {
        let (rank, ranks) = (u64::from(self.rank()), u64::from(self.ranks()));
        let mut step = 1;
        while step < ranks {
            let distances = (1..u64::from(ways)).map(|way| way * step).take_while(|&distance| distance < ranks);
            let mut held_back = Vec::new();
            for distance in distances.clone() {
                let to = ((rank + distance) % ranks) as Rank;
                let sent = self.start(Side::Send, to, BARRIER, Span::new(NOWHERE, 0, 0))?;
                held_back.extend(if sent.is_sent() { None } else { Some(sent) });
            }
            for distance in distances {
                self.hear(((rank + ranks - distance) % ranks) as Rank).await?;
            }
            self.wait_all(held_back).await?;
            step *= u64::from(ways);
        }
        Ok(())
    }
    async fn tournament(&self) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let mut step = 1;
        while step < ranks && rank & step == 0 {
            if rank + step < ranks {
                self.hear(rank + step).await?;
            }
            step *= 2;
        }
        if rank > 0 {
            self.signal(rank - step).await?;
            self.hear(rank - step).await?;
        }
        while step > 1 {
            step /= 2;
            if rank + step < ranks {
                let request = self.start(Side::Send, rank + step, BARRIER, Span::new(NOWHERE, 0, 0))?;
                self.wait(request).await?;
            }
        }
        Ok(())
    }
    /// Ranks beyond a power of two signal one below it first, and are signalled at the end.
    async fn doubling_signals(&self) -> Result<(), Error> {
        let (rank, power) = (self.rank(), 1 << self.ranks().ilog2());
        let empty = Span::new(NOWHERE, 0, 0);
        if rank >= power {
            self.signal(rank - power).await?;
            return self.hear(rank - power).await;
        }
        let beyond = (rank + power < self.ranks()).then_some(rank + power);
        if let Some(other) = beyond {
            self.hear(other).await?;
        }
        let mut step = 1;
        while step < power {
            self.exchange(BARRIER, (rank ^ step, empty), (rank ^ step, empty)).await?;
            step *= 2;
        }
        match beyond {
            Some(other) => self.signal(other).await,
            None => Ok(()),
        }
    }
    /// The first time round all have come, the second time all know.
    async fn double_ring(&self) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        for _ in 0..if ranks > 1 { 2 } else { 0 } {
            if rank > 0 {
                self.hear(left).await?;
            }
            self.signal(right).await?;
            if rank == 0 {
                self.hear(left).await?;
            }
        }
        Ok(())
    }
}
