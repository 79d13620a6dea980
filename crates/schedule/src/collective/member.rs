//! A collective of a trace: among any ranks, by the rings and exchanges of GPU clusters. Traces say what, not how.

use super::groups::{Home, ring_pieces, within};
use super::lane::{Costs, Desk};
use super::{Algorithm, Kernels, MOST_CHANNELS, Machine, PeerChannels, Which, Wiring, exchange, ring, share};
use crate::draft::{Draft, Local};
use std::sync::Arc;

/// What a trace's collective does. Sizes are those of each rank's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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

impl Kind {
    /// The collective of GPUs that it is, and its bytes as these count them.
    fn of_gpus(self, bytes: u64, ranks: u64) -> (Which, u64) {
        match self {
            Kind::Allreduce => (Which::Allreduce, bytes),
            Kind::Reduce => (Which::Reduce, bytes),
            Kind::Allgather => (Which::Allgather, bytes.saturating_mul(ranks)),
            Kind::Gather => (Which::Gather, bytes.saturating_mul(ranks)),
            Kind::Scatter => (Which::Scatter, bytes),
            Kind::Broadcast => (Which::Bcast, bytes),
            Kind::Alltoall => (Which::Alltoall, bytes),
            Kind::ReduceScatter => (Which::ReduceScatter, bytes),
            // Nothing is the shortest of sums.
            Kind::Barrier => (Which::Allreduce, 0),
        }
    }
}

/// How a trace's collectives run, which traces do not state.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Concurrent channels.
    pub channels: u32,
    /// Channels that a message from one rank to another may take.
    pub peer: PeerChannels,
    /// Largest piece that a channel passes on, in bytes.
    pub chunk: u64,
    /// Pieces of a ring's block.
    pub slices: u64,
    /// How ranks and domains are wired.
    pub wiring: Wiring,
    /// Where ranks are: what goes to another scale-up domain passes a proxy.
    pub domains: Domains,
    /// What GPUs' kernels take by protocol, and what chooses among these. `None`: `costs` of the options, at any size.
    pub kernels: Option<Arc<Kernels>>,
}

/// The scale-up domain of each rank, and its place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domains {
    /// Ranks of each, in order from rank 0 on.
    InOrder(u32),
    /// By rank.
    Of(Arc<[Home]>),
}

impl Cut {
    /// Where each of this many ranks is.
    pub(crate) fn homes(&self, ranks: u32) -> Arc<[Home]> {
        match &self.domains {
            Domains::InOrder(each) => (0..ranks).map(|rank| Home::of(rank, *each)).collect(),
            Domains::Of(homes) => homes.clone(),
        }
    }

    /// What one message of so many bytes takes, where all messages take `costs` else.
    pub(crate) fn of_message(&self, costs: Costs, bytes: u64) -> Costs {
        let &Cut { channels, peer, chunk, slices, wiring, .. } = self;
        let two = Machine { ranks: 2, domain: 1, channels, peer, chunk, slices, costs, wiring, rails: None };
        let of = |kernels: &Arc<Kernels>| {
            let protocol = kernels.of_pairs(&two, bytes);
            kernels.on(&two, Which::Alltoall, (Algorithm::Pairwise, protocol), bytes).costs
        };
        self.kernels.as_ref().map_or(costs, of)
    }
}

impl Default for Cut {
    /// As NCCL cuts them, on one channel: buffers of 4 MiB in 8 steps, chunks of four steps, slices of two.
    fn default() -> Cut {
        let wiring = Wiring::default();
        Cut {
            channels: 1,
            peer: PeerChannels::default(),
            chunk: 1 << 20,
            slices: 2,
            wiring,
            domains: Domains::InOrder(1),
            kernels: None,
        }
    }
}

/// The ranks that take part in collectives, domain by domain: so NCCL finds its rings.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    machine: Machine,
    kernels: Option<Arc<Kernels>>,
    homes: Arc<[Home]>,
    ranks: Vec<u32>,
    /// The place of the one that others send to, or take from.
    root: usize,
}

impl Group {
    /// A group of ranks; the first is the root.
    pub(crate) fn new(ranks: &[u32], homes: &Arc<[Home]>, costs: Costs, cut: &Cut) -> Group {
        let &Cut { channels, peer, chunk, slices, wiring, ref kernels, .. } = cut;
        let channels = channels.clamp(1, MOST_CHANNELS);
        let all =
            Machine { ranks: 1, domain: 1, channels, peer, chunk: chunk.max(1), slices, costs, wiring, rails: None };
        // A file may list a group that nobody is in.
        let (machine, ordered) = if ranks.is_empty() { (all, Vec::new()) } else { within(&all, homes, ranks) };
        let root = ordered.iter().position(|rank| ranks.first() == Some(rank)).unwrap_or(0);
        Group { machine, kernels: kernels.clone(), homes: homes.clone(), ranks: ordered, root }
    }

    /// The machine that it makes up, as it runs such a collective.
    fn machine(&self, kind: Kind, bytes: u64) -> Machine {
        let (which, bytes) = kind.of_gpus(bytes, self.ranks.len() as u64);
        match &self.kernels {
            Some(kernels) if self.ranks.len() > 1 => kernels.usual(&self.machine, which, bytes),
            _ => self.machine,
        }
    }

    /// The ranks that take part.
    pub(crate) fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// Operations of a collective, at most about.
    pub(crate) fn operations(&self, kind: Kind, bytes: u64) -> u64 {
        let (ranks, machine) = (self.ranks.len() as u64, self.machine(kind, bytes));
        let of_rings = |bytes: u64| 8 * ranks * ring_pieces(&machine, ranks, bytes);
        let of_each_rank = match kind {
            Kind::Allreduce | Kind::ReduceScatter => of_rings(bytes),
            Kind::Allgather => of_rings(bytes.saturating_mul(ranks)),
            Kind::Scatter | Kind::Alltoall => machine.exchange_operations(ranks, bytes),
            Kind::Broadcast | Kind::Reduce => 5 * (ranks + bytes / machine.chunk),
            Kind::Gather => machine.exchange_operations(1, bytes),
            Kind::Barrier => 64,
        };
        of_each_rank.saturating_mul(ranks)
    }

    /// Writes the part that the rank at `me` has in a collective; gives its first and its last operation. Its channels
    /// have the processors and the tags from `cpu` and `tag` on, [`Group::CHANNELS`] of each.
    pub(crate) fn member(
        &self,
        draft: &mut Draft,
        me: usize,
        (kind, bytes): (Kind, u64),
        (tag, cpu): (u32, u8),
    ) -> (Local, Local) {
        let (rank, machine) = (self.ranks[me], self.machine(kind, bytes));
        let begun = draft.calc(rank, cpu, machine.costs.launch_ps);
        let desk = Desk { cpu, tag, after: Some(begun) };
        let ends =
            if self.ranks.len() > 1 { self.write(draft, &machine, me, (kind, bytes), desk) } else { vec![begun] };
        let ended = draft.calc(rank, cpu, 0);
        ends.into_iter().for_each(|last| draft.requires(rank, ended, last));
        (begun, ended)
    }

    /// Processors, and tags, of a collective.
    pub(crate) const CHANNELS: u32 = MOST_CHANNELS;

    fn write(
        &self,
        draft: &mut Draft,
        machine: &Machine,
        me: usize,
        (kind, bytes): (Kind, u64),
        desk: Desk,
    ) -> Vec<Local> {
        let Group { homes, ranks, root, .. } = self;
        let (team, root, many) = ((machine, &homes[..], &ranks[..]), *root, ranks.len());
        let part = |of: usize| share(bytes, of as u64, many as u64);
        let ring = |draft: &mut Draft, which: Which, bytes: u64| {
            ring::of_one(draft, team, (me, desk), bytes, |lane, seat, bytes| {
                ring::turns(lane, machine, &seat(me), which, bytes);
            })
        };
        match kind {
            Kind::Allreduce => ring(draft, Which::Allreduce, bytes),
            Kind::ReduceScatter => ring(draft, Which::ReduceScatter, bytes),
            Kind::Allgather => ring(draft, Which::Allgather, bytes * many as u64),
            // A chain along each ring, from the root or, combined, to it.
            Kind::Broadcast | Kind::Reduce => {
                let (which, _) = kind.of_gpus(bytes, 0);
                ring::of_one(draft, team, (me, desk), bytes, |lane, seat, bytes| {
                    ring::chain(lane, machine, seat, (me, root), which, bytes);
                })
            }
            Kind::Alltoall => exchange::of_one(draft, team, (me, desk), |_, to| part(to)),
            Kind::Gather => exchange::of_one(draft, team, (me, desk), |_, to| if to == root { bytes } else { 0 }),
            Kind::Scatter => {
                exchange::of_one(draft, team, (me, desk), |from, to| if from == root { part(to) } else { 0 })
            }
            Kind::Barrier => {
                let mut lane = desk.lane(draft, ranks[me], 0, machine.costs);
                let host = |place: usize| homes[ranks[place] as usize].host;
                for distance in (0..).map(|step| 1 << step).take_while(|&distance| distance < many) {
                    let to = (me + distance) % many;
                    lane.send_by(ranks[to], 0, host(to) != host(me));
                    lane.recv(ranks[(me + many - distance) % many], 0);
                }
                lane.last.into_iter().collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Algorithm, Job};
    use super::*;
    use crate::form::{Kind as Does, NONE, Op, Schedule};

    const COSTS: Costs = Costs {
        launch_ps: 5,
        reduce_ps_per_byte: 2.0,
        copy_ps_per_byte: 1.0,
        protocol: crate::Protocol::Simple,
        near_ps: 0,
        proxy_ps: 10,
        post_ps: 4,
        post_ps_per_byte: 0.0,
        switch_launch_ps: 0,
        switch_extra: 0.0,
        switch_chunk: 0,
    };

    fn of_all(ranks: &[u32], cut: &Cut, kind: Kind, bytes: u64) -> Schedule {
        let group = Group::new(ranks, &cut.homes(ranks.len() as u32), COSTS, cut);
        let mut draft = Draft::new(ranks.len() as u32);
        (0..ranks.len()).for_each(|me| {
            group.member(&mut draft, me, (kind, bytes), (1 << 30, 2));
        });
        let schedule = draft.builder(NONE).build();
        crate::check(&schedule).unwrap();
        schedule
    }

    /// Its messages, by channel: who sends whom how many bytes.
    fn messages(schedule: &Schedule, first: u32) -> Vec<(u32, u32, u32, u64)> {
        let sends = schedule.ops().filter(|op| op.kind == Does::Send);
        let mut all: Vec<_> = sends.map(|op: Op| (op.tag - first, op.rank, op.peer, op.size)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn collectives_of_traces_are_those_of_gpus() {
        let wiring = [(false, false), (true, false), (false, true)].map(|(mesh, joined)| Wiring { mesh, joined });
        for (ranks, domain, wiring) in [(8u32, 8, wiring[0]), (8, 8, wiring[1]), (16, 4, wiring[0]), (12, 4, wiring[2])]
        {
            let peer = PeerChannels { near: 16, far: 2 };
            let domains = Domains::InOrder(domain);
            let cut = Cut { channels: 16, peer, chunk: 1 << 10, slices: 2, wiring, domains, kernels: None };
            let chunk = 1 << 10;
            let machine =
                Machine { ranks, domain, channels: 16, peer, chunk, slices: 2, costs: COSTS, wiring, rails: None };
            let all: Vec<u32> = (0..ranks).collect();
            let bytes = 96_000;
            for (kind, which, algorithm, size) in [
                (Kind::Allreduce, Which::Allreduce, Algorithm::Ring, bytes),
                (Kind::ReduceScatter, Which::ReduceScatter, Algorithm::Ring, bytes),
                (Kind::Allgather, Which::Allgather, Algorithm::Ring, bytes * u64::from(ranks)),
                (Kind::Alltoall, Which::Alltoall, Algorithm::Pairwise, bytes),
            ] {
                let trace = of_all(&all, &cut, kind, bytes);
                let job = Job { which, algorithm, bytes: size, machine }.schedule().unwrap();
                assert_eq!(messages(&trace, 1 << 30), messages(&job, 0), "{kind:?} of {ranks}");
            }
        }
    }

    #[test]
    fn ranks_of_a_domain_follow_each_other_and_chains_begin_or_end_at_the_first_of_the_group() {
        let homes: Arc<[Home]> = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(host, gpu)| Home { host, gpu }).into();
        let cut = Cut { channels: 2, domains: Domains::Of(homes), ..Cut::default() };
        assert!(Group::new(&[], &cut.homes(4), COSTS, &cut).ranks().is_empty());
        // In order of hosts: 1, 3, 0, 2. The host of rank 3 is first, and rank 1 its GPU 0.
        let arcs = |kind| {
            let messages = messages(&of_all(&[3, 0, 1, 2], &cut, kind, 200), 1 << 30);
            messages.into_iter().map(|(channel, from, to, _)| (channel, from, to)).collect::<Vec<_>>()
        };
        assert_eq!(arcs(Kind::Broadcast), [(0, 0, 2), (0, 2, 1), (0, 3, 0), (1, 1, 2), (1, 2, 0), (1, 3, 1)]);
        for (kind, root_sends) in [(Kind::Broadcast, 1), (Kind::Reduce, 0), (Kind::Gather, 0), (Kind::Scatter, 3)] {
            let all = messages(&of_all(&[3, 0, 1, 2], &cut, kind, 200), 1 << 30);
            let by_channel = if matches!(kind, Kind::Broadcast | Kind::Reduce) { 2 } else { 1 };
            assert_eq!(all.iter().filter(|(_, from, ..)| *from == 3).count(), root_sends * by_channel, "{kind:?}");
            assert_eq!(all.len(), 3 * by_channel, "{kind:?}");
        }
    }
}
