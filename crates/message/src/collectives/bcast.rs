//! Broadcasts.

use super::algorithm::{Algorithm, Collective, Costs};
use super::tags::BCAST;
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
        // What all must agree on depends on the size alone: a rank whose span has gaps works on a row of its own.
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
        self.free(row.memory)
    }
    async fn bcast_by(&self, algorithm: Algorithm, root: Rank, span: Span) -> Result<(), Error> {
        match algorithm {
            Algorithm::Hardware => self.bcast_hardware(root, span).await,
            Algorithm::Linear => self.bcast_linear(root, span).await,
            Algorithm::Binomial => self.bcast_binomial(root, span).await,
            Algorithm::Pipelined => self.bcast_pipelined(root, span).await,
            Algorithm::ScatterAllgather => self.bcast_in_parts(root, span).await,
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
    async fn bcast_linear(&self, root: Rank, span: Span) -> Result<(), Error> {
        if self.rank() != root {
            return self.into(root, BCAST, span).await;
        }
        let others = (0..self.ranks()).filter(|&to| to != root);
        let sends: Result<Vec<_>, Error> = others.map(|to| self.start(Side::Send, to, BCAST, span)).collect();
        self.wait_all(sends?).await.map(|_| ())
    }
    pub(super) async fn bcast_binomial(&self, root: Rank, span: Span) -> Result<(), Error> {
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
    /// A segment goes on along the chain while the next one comes.
    async fn bcast_pipelined(&self, root: Rank, span: Span) -> Result<(), Error> {
        let (me, ranks) = (self.relative(root), self.ranks());
        let chosen = || Costs::of(self.limits()).segment(span.bytes(), ranks.saturating_sub(2));
        let segment = self.segment().unwrap_or_else(chosen);
        let (before, after) = (self.absolute(root, (me + ranks - 1) % ranks), self.absolute(root, (me + 1) % ranks));
        let piece = |at: u64| Span::new(span.memory, span.offset + at, segment.min(span.bytes() - at));
        let starts = (0..span.bytes().max(1)).step_by(segment as usize);
        let mut sends: Vec<Request> = Vec::new();
        let mut coming = None;
        for at in starts {
            if me > 0 {
                let now = match coming.take() {
                    Some(request) => request,
                    None => self.start(Side::Recv, before, BCAST, piece(at))?,
                };
                if at + segment < span.bytes() {
                    coming = Some(self.start(Side::Recv, before, BCAST, piece(at + segment))?);
                }
                self.wait(now).await?;
            }
            if me + 1 < ranks {
                sends.push(self.start(Side::Send, after, BCAST, piece(at))?);
            }
        }
        self.wait_all(sends).await.map(|_| ())
    }
    async fn bcast_in_parts(&self, root: Rank, span: Span) -> Result<(), Error> {
        let parts = self.cut(span, 1);
        let mine = parts[self.rank() as usize];
        self.scatter_linear(root, &parts, mine).await?;
        self.allgather_ring(&parts).await
    }
}
