//! A collective of a trace: among any ranks, on one processor, as rings, chains and rounds. Traces say what, not how.

use super::lane::{Costs, Lane};
use super::ring::{Seat, round};
use super::share;
use crate::draft::{Draft, Local};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a trace's collective does. Sizes are those of each rank's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Combined at all: a ring.
    Allreduce,
    /// Combined at the first of the group: a chain.
    Reduce,
    /// Every part to all: a ring.
    Allgather,
    /// Every part to the first of the group.
    Gather,
    /// A part from the first of the group to each.
    Scatter,
    /// From the first of the group to all: a chain.
    Broadcast,
    /// A part from each to each, pair by pair.
    Alltoall,
    /// Combined, a part at each: a ring.
    ReduceScatter,
    /// Nobody leaves before all came: dissemination.
    Barrier,
}

/// Who takes part, and as which of them a rank does.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// All of them.
    pub ranks: &'a [u32],
    /// The place of the rank whose part is written.
    pub me: usize,
}

/// How a trace's collectives are cut, of which traces say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Largest piece of a chain, in bytes.
    pub chunk: u64,
    /// Pieces of a ring's block.
    pub slices: u64,
    /// Where ranks are: what goes to another scale-up domain passes a proxy.
    pub domains: Domains,
}

/// The scale-up domain of each rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domains {
    /// Ranks of each, in order from rank 0 on.
    InOrder(u32),
    /// By rank.
    Of(Arc<[u32]>),
}

impl Cut {
    /// Whether what one rank sends another passes a proxy.
    pub(crate) fn parts(&self, a: u32, b: u32) -> bool {
        self.domain(a) != self.domain(b)
    }
    /// Puts a group's ranks domain by domain, in order of the first of each: so NCCL finds its rings. The first stays first.
    pub(crate) fn by_domain(&self, ranks: &mut [u32]) {
        let mut order = BTreeMap::new();
        for &rank in &*ranks {
            let next = order.len();
            order.entry(self.domain(rank)).or_insert(next);
        }
        ranks.sort_by_key(|&rank| order[&self.domain(rank)]);
    }
    fn domain(&self, rank: u32) -> u32 {
        match &self.domains {
            Domains::InOrder(each) => rank / each,
            Domains::Of(domains) => domains[rank as usize],
        }
    }
}

impl Default for Cut {
    /// As NCCL cuts them: buffers of 4 MiB in 8 steps, chunks of four steps, slices of two.
    fn default() -> Cut {
        Cut { chunk: 1 << 20, slices: 2, domains: Domains::InOrder(1) }
    }
}

/// Writes one rank's part of a collective; gives its first and its last operation.
pub fn member(
    draft: &mut Draft,
    group: Group<'_>,
    kind: Kind,
    bytes: u64,
    (tag, cpu): (u32, u8),
    (costs, cut): (Costs, &Cut),
) -> (Local, Local) {
    let rank = group.ranks[group.me];
    let begun = draft.calc(rank, cpu, costs.launch_ps);
    let mut lane = Lane::new(draft, rank, cpu.into(), costs);
    (lane.tag, lane.last) = (tag, Some(begun));
    if group.ranks.len() > 1 {
        write(&mut lane, group, kind, bytes, cut);
    }
    let last = lane.last;
    let ended = draft.calc(rank, cpu, 0);
    last.into_iter().for_each(|last| draft.requires(rank, ended, last));
    (begun, ended)
}

fn write(lane: &mut Lane<'_>, Group { ranks, me }: Group<'_>, kind: Kind, bytes: u64, cut: &Cut) {
    let many = ranks.len();
    let at = |position: usize| ranks[position % many];
    let seat = Seat {
        position: me as u64,
        ranks: many as u64,
        before: at(me + many - 1),
        next: at(me + 1),
        far: cut.parts(at(me), at(me + 1)),
        slices: cut.slices,
    };
    let own = at(me);
    let send = |lane: &mut Lane<'_>, to: usize, bytes: u64| lane.send_by(at(to), bytes, cut.parts(own, at(to)));
    let fetch = |lane: &mut Lane<'_>, from: usize, bytes: u64| {
        lane.recv(at(from), bytes);
        lane.copy(bytes);
    };
    let part = |of: usize| share(bytes, of as u64, many as u64);
    let chain = || super::chunks(bytes, cut.chunk);
    match kind {
        Kind::Allreduce => round(lane, &seat, bytes, true, true),
        Kind::ReduceScatter => round(lane, &seat, bytes, true, false),
        Kind::Allgather => round(lane, &seat, bytes * many as u64, false, true),
        Kind::Broadcast => {
            for bytes in chain() {
                if me > 0 {
                    fetch(lane, me - 1, bytes);
                }
                if me + 1 < many {
                    send(lane, me + 1, bytes);
                }
            }
        }
        Kind::Reduce => {
            for bytes in chain() {
                if me + 1 < many {
                    lane.recv(at(me + 1), bytes);
                    lane.reduce(bytes);
                }
                if me > 0 {
                    send(lane, me - 1, bytes);
                }
            }
        }
        Kind::Gather if me > 0 => send(lane, 0, bytes),
        Kind::Gather => (1..many).for_each(|from| fetch(lane, from, bytes)),
        Kind::Scatter if me > 0 => fetch(lane, 0, part(me)),
        Kind::Scatter => (1..many).for_each(|to| send(lane, to, part(to))),
        Kind::Alltoall => {
            (1..many).map(|step| (me + step) % many).for_each(|to| send(lane, to, part(to)));
            (1..many).for_each(|step| fetch(lane, me + many - step, part(me)));
        }
        Kind::Barrier => {
            let mut distance = 1;
            while distance < many {
                send(lane, me + distance, 0);
                lane.recv(at(me + many - distance), 0);
                distance *= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_share_a_domain_follow_each_other_and_need_no_proxy() {
        let of = |domains| Cut { domains, ..Cut::default() };
        let cut = of(Domains::Of([0, 1, 0, 1].into()));
        let mut ranks = [1, 0, 3, 2];
        cut.by_domain(&mut ranks);
        assert_eq!((ranks, cut.parts(0, 2), cut.parts(0, 1)), ([1, 3, 0, 2], false, true));
        let cut = of(Domains::InOrder(2));
        cut.by_domain(&mut ranks);
        assert_eq!((ranks, cut.parts(0, 1), cut.parts(1, 2)), ([1, 0, 3, 2], false, true));
    }
}
