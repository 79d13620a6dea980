//! Collectives for elements that a caller combines itself, and exchanges with chosen neighbours. Elements combine in
//! the order of the ranks, so the operation need not commute.

use super::tags::{NEIGHBOR, REDUCE, SCAN};
use crate::Error;
use crate::comm::{Comm, Side};
use hotlink_port::{Port, Rank, Span};

impl<P: Port> Comm<P> {
    /// Every rank's `mine`, a row, combined by `fold` into that of `root`; elsewhere it is scratch. `fold` makes its first
    /// span, of earlier ranks, the combination of both. A binomial tree from rank 0, whatever the root.
    pub async fn reduce_by(
        &self,
        root: Rank,
        mine: Span,
        fold: impl Fn(Span, Span) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check_root(root)?;
        let other = self.scratch(mine, mine.bytes())?;
        let (me, mut step) = (self.rank(), 1);
        while step < self.ranks() {
            if me & step != 0 {
                self.out(me - step, REDUCE, mine).await?;
                break;
            }
            if me + step < self.ranks() {
                self.into(me + step, REDUCE, other).await?;
                fold(mine, other)?;
            }
            step *= 2;
        }
        self.give_back(other.memory)?;
        match me {
            _ if root == 0 => Ok(()),
            0 => self.out(root, REDUCE, mine).await,
            _ if me == root => self.into(0, REDUCE, mine).await,
            _ => Ok(()),
        }
    }
    /// Combines `mine` of all ranks before this one by `fold` into `before`; at rank 0 that stays as it is.
    pub async fn exscan_by(
        &self,
        mine: Span,
        before: Span,
        fold: impl Fn(Span, Span) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let rank = self.rank();
        if rank > 0 {
            self.into(rank - 1, SCAN, before).await?;
        }
        if rank + 1 == self.ranks() {
            return Ok(());
        }
        if rank == 0 {
            return self.out(1, SCAN, mine).await;
        }
        let all = self.scratch(mine, mine.bytes())?;
        self.keep(before, all)?;
        fold(all, mine)?;
        self.out(rank + 1, SCAN, all).await?;
        self.give_back(all.memory)
    }
    /// Each span goes to its rank, and each of `recv` comes from its rank. Between two ranks the order of both lists
    /// decides which meets which.
    pub async fn exchange_with(&self, send: &[(Rank, Span)], recv: &[(Rank, Span)]) -> Result<(), Error> {
        let mut requests = Vec::with_capacity(send.len() + recv.len());
        for &(from, span) in recv {
            requests.push(self.start(Side::Recv, from, NEIGHBOR, span)?);
        }
        for &(to, span) in send {
            requests.push(self.start(Side::Send, to, NEIGHBOR, span)?);
        }
        self.wait_all(requests).await.map(|_| ())
    }
}
