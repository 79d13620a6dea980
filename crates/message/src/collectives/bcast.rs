//! Broadcasts.

use super::algorithm::{Algorithm, Collective};
use super::costs::{Costs, Crowd};
use super::reduce;
use super::tags::{ALLGATHER, BCAST};
use super::tree::Shape;
use crate::Error;
use crate::comm::{Comm, Side};
use crate::request::Request;
use hotlink_port::{Port, Rank, Refusal, Span};

impl<P: Port> Comm<P> {
    /// `span` of `root` goes to all.
    pub async fn bcast(&self, root: Rank, span: Span) -> Result<(), Error> {
        self.check_root(root)?;
        if self.ranks() == 1 {
            return Ok(());
        }
        // The choice that all ranks must agree on depends on the size alone. A rank whose span has gaps works on a row
        // of its own.
        let algorithm = self.algorithm(Collective::Bcast, span.bytes(), |_| true)?;
        let whole = matches!(algorithm, Algorithm::Linear | Algorithm::Binomial);
        if whole || span.layout.is_contiguous() {
            return self.bcast_by(algorithm, root, span).await;
        }
        let row = self.scratch(span, span.bytes())?;
        if self.rank() == root {
            self.keep(span, row)?;
        }
        self.bcast_by(algorithm, root, row).await?;
        if self.rank() != root {
            self.keep(row, span)?;
        }
        self.give_back(row.memory)
    }
    async fn bcast_by(&self, algorithm: Algorithm, root: Rank, span: Span) -> Result<(), Error> {
        match algorithm {
            Algorithm::Hardware => self.bcast_hardware(root, span).await,
            Algorithm::Linear => self.bcast_linear(root, span).await,
            Algorithm::Binomial => self.bcast_binomial(root, span).await,
            Algorithm::Pipelined => self.bcast_pipelined(root, span).await,
            Algorithm::ScatterAllgather => self.bcast_in_parts(root, span).await,
            Algorithm::Chain => self.bcast_down(root, Shape::CHAIN, span).await,
            Algorithm::Binary => self.bcast_down(root, Shape::Binary, span).await,
            Algorithm::KNomial => self.bcast_down(root, Shape::K_NOMIAL, span).await,
            Algorithm::SplitBinary => self.bcast_split(root, span).await,
            Algorithm::ScatterDoubling | Algorithm::ScatterRing => self.bcast_scattered(root, span, algorithm).await,
            _ => Err(Refusal::Unsupported.into()),
        }
    }
    /// Pieces of the longest short message, each by the fabric.
    async fn bcast_hardware(&self, root: Rank, span: Span) -> Result<(), Error> {
        let most = self.eager_bytes().max(1);
        let mut at = 0;
        loop {
            let bytes = most.min(span.bytes() - at);
            let piece = span.part(at, bytes).ok_or(Refusal::OutOfBounds)?;
            if self.rank() == root {
                self.broadcast(BCAST, piece).await?
            } else {
                self.into(root, BCAST, piece).await?
            }
            at += bytes;
            if at >= span.bytes() {
                return Ok(());
            }
        }
    }
    pub(super) async fn bcast_linear(&self, root: Rank, span: Span) -> Result<(), Error> {
        if self.rank() != root {
            return self.into(root, BCAST, span).await;
        }
        let (others, side) = ((0..self.ranks()).filter(|&to| to != root), self.among(Crowd::Out, span.bytes()));
        let sends: Result<Vec<_>, Error> = others.map(|to| self.start(side, to, BCAST, span)).collect();
        self.wait_all(sends?).await.map(|_| ())
    }
    pub(super) async fn bcast_binomial(&self, root: Rank, span: Span) -> Result<(), Error> {
        let (me, ranks) = (self.relative(root), self.ranks());
        let mut step = 1;
        while step < ranks && me & step == 0 {
            step *= 2;
        }
        // A rank without a whole message sends an empty one on. That is an error for those below it, too, so no rank
        // waits in vain.
        let came = if me == 0 { Ok(()) } else { self.into(self.absolute(root, me - step), BCAST, span).await };
        let span = if came.is_ok() { span } else { Span::new(span.memory, span.offset, 0) };
        let children = (0..step.trailing_zeros()).rev().map(|bit| me + (1 << bit)).filter(|&child| child < ranks);
        let in_turn = Costs::of(self.limits()).in_turn(children.clone().count() as u32, span.bytes());
        let mut sends: Vec<Request> = Vec::new();
        for child in children {
            sends.push(self.start(Side::Send, self.absolute(root, child), BCAST, span)?);
            if in_turn {
                self.wait_all(std::mem::take(&mut sends)).await?;
            }
        }
        self.wait_all(sends).await.and(came)
    }
    async fn bcast_pipelined(&self, root: Rank, span: Span) -> Result<(), Error> {
        let chosen = || Costs::of(self.limits()).segment(span.bytes(), self.ranks().saturating_sub(2));
        let segment = self.segment().unwrap_or_else(chosen);
        let (parent, children) = self.relatives(root, Shape::PIPELINE);
        let children: Vec<_> = children.into_iter().map(|child| (child, span)).collect();
        self.down(parent, span, &children, segment).await
    }
    async fn bcast_down(&self, root: Rank, shape: Shape, span: Span) -> Result<(), Error> {
        let (parent, children) = self.relatives(root, shape);
        let children: Vec<_> = children.into_iter().map(|child| (child, span)).collect();
        self.down(parent, span, &children, self.segment().unwrap_or(u64::MAX)).await
    }
    /// The first half goes to the odd side of a binary tree, the second to the even one. Then each odd rank exchanges with
    /// the next; where the last has no other, the root sends it what it lacks.
    async fn bcast_split(&self, root: Rank, span: Span) -> Result<(), Error> {
        let halves = reduce::cut(span, 2, 1);
        let (me, ranks) = (self.relative(root), self.ranks());
        let side = |number: u32| usize::from(number.is_multiple_of(2));
        let (parent, children) = self.relatives(root, Shape::Binary);
        let half = |child: Rank| halves[if me == 0 { side((child + ranks - root) % ranks) } else { side(me) }];
        let children: Vec<_> = children.into_iter().map(|child| (child, half(child))).collect();
        let mine = halves[side(me)];
        self.down(parent, mine, &children, self.segment().unwrap_or(u64::MAX)).await?;
        let lonely = ranks.is_multiple_of(2).then_some(ranks - 1);
        if me == 0 {
            return match lonely {
                Some(last) => self.out(self.absolute(root, last), BCAST, halves[1]).await,
                None => Ok(()),
            };
        }
        if lonely == Some(me) {
            return self.into(root, BCAST, halves[1]).await;
        }
        let other = self.absolute(root, if me.is_multiple_of(2) { me - 1 } else { me + 1 });
        self.exchange(BCAST, (other, mine), (other, halves[1 - side(me)])).await
    }
    /// Parts are counted from the root, so that each subtree's lie in a row.
    async fn bcast_scattered(&self, root: Rank, span: Span, how: Algorithm) -> Result<(), Error> {
        let parts = self.cut(span, 1);
        self.scatter_down(root, &parts).await?;
        let me = self.relative(root);
        if how == Algorithm::ScatterDoubling && self.ranks().is_power_of_two() {
            return self.doubling(ALLGATHER, me, &parts, |number| self.absolute(root, number)).await;
        }
        let of = |rank: Rank| parts[((rank + self.ranks() - root) % self.ranks()) as usize];
        self.allgather_ring(&(0..self.ranks()).map(of).collect::<Vec<_>>()).await
    }
    async fn bcast_in_parts(&self, root: Rank, span: Span) -> Result<(), Error> {
        let parts = self.cut(span, 1);
        let mine = parts[self.rank() as usize];
        self.scatter_linear(root, &parts, mine).await?;
        self.allgather_ring(&parts).await
    }
}
