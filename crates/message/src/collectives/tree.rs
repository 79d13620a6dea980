//! Trees that carry a message down from a root, or combine the ranks' values on the way up to it, a segment after the
//! other. Their shapes are Open MPI's (`coll_base_topo.c`), with ranks counted from the root.
//!
//! Order of operations: for each segment a rank combines its own with those of its children, in the order in which the
//! shape names them. It then sends the result up.

use super::tags::{BCAST, REDUCE};
use crate::Error;
use crate::comm::{Comm, Side};
use crate::request::Request;
use hotlink_port::{Operation, Port, Rank, Span};

/// Chains that start at the root of [`super::algorithm::Algorithm::Chain`]: Open MPI's default.
const CHAINS: u32 = 4;
/// Radix of [`super::algorithm::Algorithm::KNomial`]: Open MPI's default.
const RADIX: u32 = 4;

/// Which rank receives from which.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// This many chains from the root, as equally long as possible.
    Chains(u32),
    /// Children of level `l` are 2^l and 2^(l+1) further on: odd numbers are under 1, even ones under 2.
    Binary,
    /// A number without its last digit that is not 0 is its parent; the farthest children first.
    Nomial(u32),
}

impl Shape {
    pub(super) const PIPELINE: Shape = Shape::Chains(1);
    pub(super) const CHAIN: Shape = Shape::Chains(CHAINS);
    pub(super) const K_NOMIAL: Shape = Shape::Nomial(RADIX);

    /// The parent of `me` (itself at the root) and its children.
    fn place(self, me: u32, ranks: u32) -> (u32, Vec<u32>) {
        match self {
            Shape::Chains(chains) => {
                let others = ranks - 1;
                let chains = chains.min(others).max(1);
                let head = |chain: u32| 1 + chain * (others / chains) + chain.min(others % chains);
                let heads: Vec<u32> = (0..chains).map(head).filter(|&head| head < ranks).collect();
                match me {
                    0 => (0, heads),
                    _ => {
                        let parent = if heads.contains(&me) { 0 } else { me - 1 };
                        (parent, [me + 1].into_iter().filter(|next| *next < ranks && !heads.contains(next)).collect())
                    }
                }
            }
            Shape::Binary => {
                let width = 1 << (me + 1).ilog2();
                // A level's first number is one below a power of two.
                let mut parent = me;
                while me > 0 && parent >= width - 1 {
                    parent -= width / 2;
                }
                (parent, [me + width, me + 2 * width].into_iter().filter(|&child| child < ranks).collect())
            }
            Shape::Nomial(radix) => {
                let mut step = 1;
                while step < ranks && (me / step).is_multiple_of(radix) {
                    step *= radix;
                }
                let parent = if me == 0 { 0 } else { me / (step * radix) * (step * radix) };
                let mut children = Vec::new();
                while step > 1 {
                    step /= radix;
                    children.extend((1..radix).map(|way| me + way * step).filter(|&child| child < ranks));
                }
                (parent, children)
            }
        }
    }
}

/// Part `number` of a span in segments; of an empty one there is one.
fn piece(span: Span, segment: u64, number: u64) -> Span {
    if segment >= span.bytes() {
        return span;
    }
    let at = number * segment;
    Span::new(span.memory, span.offset + at, segment.min(span.bytes() - at))
}

fn pieces(span: Span, segment: u64) -> u64 {
    span.bytes().div_ceil(segment).max(1)
}

impl<P: Port> Comm<P> {
    /// The parent of this rank in a tree, none at its root, and its children.
    pub(super) fn relatives(&self, root: Rank, shape: Shape) -> (Option<Rank>, Vec<Rank>) {
        let me = self.relative(root);
        let (parent, children) = shape.place(me, self.ranks());
        let parent = (me > 0).then(|| self.absolute(root, parent));
        (parent, children.into_iter().map(|child| self.absolute(root, child)).collect())
    }
    /// A segment goes on to the children while the next one comes. `children`: each with what it is sent, which is `mine`
    /// but at the root of a message that is split.
    pub(super) async fn down(
        &self,
        parent: Option<Rank>,
        mine: Span,
        children: &[(Rank, Span)],
        segment: u64,
    ) -> Result<(), Error> {
        let segment = segment.max(1);
        let count = children.iter().map(|child| child.1).chain([mine]).map(|span| pieces(span, segment)).max();
        let mut sends: Vec<Request> = Vec::new();
        let mut coming = None;
        for number in 0..count.unwrap_or(0) {
            if let Some(parent) = parent {
                let receive = |number| self.start(Side::Recv, parent, BCAST, piece(mine, segment, number));
                let now = match coming.take() {
                    Some(request) => request,
                    None => receive(number)?,
                };
                if number + 1 < pieces(mine, segment) {
                    coming = Some(receive(number + 1)?);
                }
                self.wait(now).await?;
            }
            for &(child, span) in children.iter().filter(|child| number < pieces(child.1, segment)) {
                sends.push(self.start(Side::Send, child, BCAST, piece(span, segment, number))?);
            }
        }
        self.wait_all(sends).await.map(|_| ())
    }
    /// Combines every rank's `recv` into that of the root; the next one arrives meanwhile.
    pub(super) async fn up(
        &self,
        root: Rank,
        shape: Shape,
        operation: Operation,
        recv: Span,
        segment: u64,
    ) -> Result<(), Error> {
        let (parent, children) = self.relatives(root, shape);
        let segment = segment.min(recv.bytes()).max(1).next_multiple_of(operation.element_bytes());
        let ways = children.len() as u64;
        let other = self.scratch(recv, if ways > 0 { 2 * segment } else { 0 })?;
        let coming = |turn: u64| {
            let bytes = piece(recv, segment, turn / ways).bytes();
            Span::new(other.memory, turn % 2 * segment, bytes)
        };
        let receive = |turn: u64| self.start(Side::Recv, children[(turn % ways) as usize], REDUCE, coming(turn));
        let count = pieces(recv, segment);
        let mut next = None;
        let mut sends: Vec<Request> = Vec::new();
        for number in 0..count {
            for turn in number * ways..(number + 1) * ways {
                let now = match next.take() {
                    Some(request) => request,
                    None => receive(turn)?,
                };
                if turn + 1 < count * ways {
                    next = Some(receive(turn + 1)?);
                }
                self.wait(now).await?;
                self.combine(operation, coming(turn), piece(recv, segment, number))?;
            }
            if let Some(parent) = parent {
                sends.push(self.start(Side::Send, parent, REDUCE, piece(recv, segment, number))?);
            }
        }
        self.wait_all(sends).await?;
        self.give_back(other.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    /// Every rank but the root is the child of its parent, once; Open MPI's own drawings.
    #[test]
    fn everybody_is_under_the_root_once() {
        for shape in [Shape::PIPELINE, Shape::CHAIN, Shape::Binary, Shape::Nomial(2), Shape::K_NOMIAL] {
            for ranks in 1..70 {
                let places: Vec<(u32, Vec<u32>)> = (0..ranks).map(|me| shape.place(me, ranks)).collect();
                let mut under: Vec<u32> = places.iter().flat_map(|place| place.1.clone()).collect();
                under.sort_unstable();
                assert_eq!(under, (1..ranks).collect::<Vec<u32>>(), "{shape:?}, {ranks} ranks");
                for (me, (_, children)) in (0..).zip(&places) {
                    assert!(children.iter().all(|&child| child > me && places[child as usize].0 == me), "{shape:?}");
                }
            }
        }
        assert_eq!(Shape::Binary.place(0, 7), (0, vec![1, 2]));
        assert_eq!(Shape::Binary.place(1, 7), (0, vec![3, 5]));
        assert_eq!(Shape::Binary.place(6, 7), (2, vec![]));
        assert_eq!(Shape::Nomial(4).place(0, 10), (0, vec![4, 8, 1, 2, 3]));
        assert_eq!(Shape::Nomial(3).place(3, 10), (0, vec![4, 5]));
        assert_eq!(Shape::Chains(4).place(0, 11), (0, vec![1, 4, 7, 9]));
    }
}
