//! Gathers and scatters.

use super::algorithm::{Algorithm, Collective};
use super::costs::Crowd;
use super::reduce::joined;
use super::tags::{GATHER, SCATTER};
use crate::Error;
use crate::comm::{Comm, Side};
use hotlink_port::{Port, Rank, Refusal, Span};

impl<P: Port> Comm<P> {
    /// Every rank's `send` goes to its part of `recv` at `root` (elsewhere `recv` is not looked at). Sizes differ, so
    /// only the root could plan a tree: linear.
    pub async fn gatherv(&self, root: Rank, send: Span, recv: &[Span]) -> Result<(), Error> {
        self.check_root(root)?;
        if self.rank() != root {
            let request = self.start(self.among(Crowd::In, send.bytes()), root, GATHER, send)?;
            return self.wait(request).await.map(|_| ());
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
        self.check_root(root)?;
        let parts = if self.rank() == root { self.parts(recv)? } else { Vec::new() };
        match self.algorithm(Collective::Gather, send.bytes(), |_| true)? {
            Algorithm::Linear => self.gatherv(root, send, &parts).await,
            Algorithm::Binomial => self.gather_binomial(root, send, &parts).await,
            _ => Err(Refusal::Unsupported.into()),
        }
    }
    /// Each part of `send` at `root` goes to its rank's `recv`: linear.
    pub async fn scatterv(&self, root: Rank, send: &[Span], recv: Span) -> Result<(), Error> {
        self.check_root(root)?;
        self.scatter_linear(root, send, recv).await
    }
    pub(super) async fn scatter_linear(&self, root: Rank, send: &[Span], recv: Span) -> Result<(), Error> {
        if self.rank() != root {
            return self.into(root, SCATTER, recv).await;
        }
        self.one_each(send)?;
        let others = (0..self.ranks()).filter(|&rank| rank != root);
        let requests: Result<Vec<_>, Error> = others
            .map(|to| (to, send[to as usize]))
            .map(|(to, part)| self.start(self.among(Crowd::Out, part.bytes()), to, SCATTER, part))
            .collect();
        self.keep(send[root as usize], recv)?;
        self.wait_all(requests?).await.map(|_| ())
    }
    /// As [`Comm::scatterv`], with equal parts of one span.
    pub async fn scatter(&self, root: Rank, send: Span, recv: Span) -> Result<(), Error> {
        self.check_root(root)?;
        let parts = if self.rank() == root { self.parts(send)? } else { Vec::new() };
        match self.algorithm(Collective::Scatter, recv.bytes(), |_| true)? {
            Algorithm::Linear => self.scatter_linear(root, &parts, recv).await,
            Algorithm::Binomial => self.scatter_binomial(root, &parts, recv).await,
            _ => Err(Refusal::Unsupported.into()),
        }
    }

    /// Of a binomial tree from `root`: this rank's parent (itself at the root) and how many ranks are under it,
    /// itself among them.
    fn subtree(&self, root: Rank) -> (Rank, u32) {
        let (me, ranks) = (self.relative(root), self.ranks());
        let mut step = 1;
        while step < ranks && me & step == 0 {
            step *= 2;
        }
        let parent = if me == 0 { root } else { self.absolute(root, me - step) };
        (parent, step.min(ranks - me))
    }
    /// The children and where their subtrees' parts begin, nearest first.
    fn children(&self, root: Rank, under: u32) -> impl Iterator<Item = (Rank, u32, u32)> {
        let (me, ranks) = (self.relative(root), self.ranks());
        let steps = std::iter::successors(Some(1), |step| Some(step * 2)).take_while(move |&step| step < under);
        steps.map(move |step| ((me + step + root) % ranks, step, step.min(under - step)))
    }
    async fn gather_binomial(&self, root: Rank, send: Span, parts: &[Span]) -> Result<(), Error> {
        let part = send.bytes();
        let (parent, under) = self.subtree(root);
        let all = self.scratch(send, part * u64::from(under))?;
        let piece = |first: u32, count: u32| Span::new(all.memory, u64::from(first) * part, u64::from(count) * part);
        self.keep(send, piece(0, 1))?;
        for (child, first, count) in self.children(root, under) {
            self.into(child, GATHER, piece(first, count)).await?;
        }
        if self.rank() == root {
            for number in 0..under {
                self.keep(piece(number, 1), parts[self.absolute(root, number) as usize])?;
            }
        } else {
            self.out(parent, GATHER, piece(0, under)).await?;
        }
        self.give_back(all.memory)
    }
    pub(super) async fn scatter_binomial(&self, root: Rank, parts: &[Span], recv: Span) -> Result<(), Error> {
        let part = recv.bytes();
        let (parent, under) = self.subtree(root);
        let all = self.scratch(recv, part * u64::from(under))?;
        let piece = |first: u32, count: u32| Span::new(all.memory, u64::from(first) * part, u64::from(count) * part);
        if self.rank() == root {
            for number in 0..under {
                self.keep(parts[self.absolute(root, number) as usize], piece(number, 1))?;
            }
        } else {
            self.into(parent, SCATTER, piece(0, under)).await?;
        }
        // The largest subtree first: it has the longest way to go.
        let children: Vec<_> = self.children(root, under).collect();
        for (child, first, count) in children.into_iter().rev() {
            self.out(child, SCATTER, piece(first, count)).await?;
        }
        self.keep(piece(0, 1), recv)?;
        self.give_back(all.memory)
    }
    /// Down a binomial tree, in place: `parts` are counted from the root.
    pub(super) async fn scatter_down(&self, root: Rank, parts: &[Span]) -> Result<(), Error> {
        let (parent, under) = self.subtree(root);
        let me = self.relative(root);
        let piece = |first: u32, count: u32| joined(&parts[(me + first) as usize..(me + first + count) as usize]);
        if me != 0 {
            self.into(parent, SCATTER, piece(0, under)).await?;
        }
        let children: Vec<_> = self.children(root, under).collect();
        for (child, first, count) in children.into_iter().rev() {
            self.out(child, SCATTER, piece(first, count)).await?;
        }
        Ok(())
    }
}
