//! A collective of a trace: among any ranks, as GPU clusters run it. Traces say what, not how.

use super::lane::{Costs, Lane};
use super::part::{Part, Run};
use super::{
    Algorithm, Combining, Home, Kernels, MOST_CHANNELS, Machine, PeerChannels, RailSwitches, Team, Wanted, Way, Which,
    Wiring,
};
use crate::draft::{Draft, Local};
use crate::protocol::Protocol;
use std::sync::Arc;

/// What a trace's collective does. Sizes are those of each rank's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Combined at all.
    Allreduce,
    /// Combined at the first of the group: a chain.
    Reduce,
    /// Every part to all.
    Allgather,
    /// Every part to the first of the group.
    Gather,
    /// A part from the first of the group to each.
    Scatter,
    /// From the first of the group to all: a chain.
    Broadcast,
    /// A part from each to each, pair by pair.
    Alltoall,
    /// Combined, a part at each.
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
    /// Whether the scale-up switches combine and copy data.
    pub switch: bool,
    /// The switches of the rails, where they combine data.
    pub rails: Option<RailSwitches>,
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

    /// A GPU by itself, before it is known which others it works with.
    fn machine(&self, costs: Costs) -> Machine {
        let &Cut { channels, peer, chunk, slices, wiring, switch, rails, .. } = self;
        Machine { ranks: 1, domain: 1, channels, peer, chunk, slices, costs, wiring, switch, rails, uneven: None }
    }

    /// What thread blocks take in a plan of so many GPUs and channels, as in rings of its protocol.
    ///
    /// # Errors
    /// The protocols that the GPUs have, if this is none.
    pub(crate) fn of_plan(
        &self,
        costs: Costs,
        protocol: Protocol,
        (ranks, channels): (u32, u32),
    ) -> Result<Costs, String> {
        let Some(kernels) = &self.kernels else { return Ok(costs) };
        if kernels.of(protocol).is_none() {
            return Err(kernels.protocols.iter().map(|(own, _)| own.name()).collect::<Vec<_>>().join(", "));
        }
        let all: Vec<u32> = (0..ranks).collect();
        let team = Team::new(&Machine { channels, ..self.machine(costs) }, &self.homes(ranks), &all);
        // Its channels are the plan's, whatever a ring of so few bytes would take: as of an exchange.
        Ok(kernels.on(&team.machine, Which::Alltoall, (Algorithm::Pairwise, protocol), 0).costs)
    }

    /// What one message of so many bytes takes, where all messages take `costs` else.
    pub(crate) fn of_message(&self, costs: Costs, bytes: u64) -> Costs {
        let two = Machine { ranks: 2, ..self.machine(costs) };
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
            switch: false,
            rails: None,
        }
    }
}

/// The ranks that take part in collectives, domain by domain: so NCCL finds its rings.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    team: Team,
    kernels: Option<Arc<Kernels>>,
}

impl Group {
    /// A group of ranks; the first is the root.
    pub(crate) fn new(ranks: &[u32], homes: &[Home], costs: Costs, cut: &Cut) -> Group {
        let all =
            Machine { channels: cut.channels.clamp(1, MOST_CHANNELS), chunk: cut.chunk.max(1), ..cut.machine(costs) };
        Group { team: Team::new(&all, homes, ranks), kernels: cut.kernels.clone() }
    }

    /// The ranks that take part.
    pub(crate) fn ranks(&self) -> &[u32] {
        &self.team.ranks
    }

    /// A collective, for a larger draft, which gets the switches that take part. It tells how it is done, where that was
    /// chosen.
    ///
    /// # Errors
    /// The ranks cannot run what is asked for, or it has too many operations.
    pub(crate) fn part(
        &self,
        larger: &mut Draft,
        switches: &mut Vec<Combining>,
        (kind, bytes): (Kind, u64),
        wanted: Wanted,
    ) -> Result<(Part, Option<Run>), String> {
        let Group { team, kernels } = self;
        let ranks = team.machine.ranks;
        if ranks < 2 || kind == Kind::Barrier {
            return Ok((Part::new(larger, switches, team, self.barrier()?, Combining::default()), None));
        }
        let (which, bytes) = kind.of_gpus(bytes, ranks.into());
        let (job, way) = team.job(kernels.as_deref(), which, Way::wanted_of(which, wanted), bytes)?;
        let own = job.draft(&team.homes, team.root)?;
        let part = Part::new(larger, switches, team, own, team.combining(&job));
        Ok((part, way.map(|way| Run { which, bytes, ranks, way, times: 0 })))
    }

    /// By dissemination. It has the protocol of the shortest ring. A single rank has nobody to wait for.
    fn barrier(&self) -> Result<Draft, String> {
        let Group { team, kernels } = self;
        let machine = match kernels {
            Some(kernels) if team.machine.ranks > 1 => {
                let ring = (Some(Algorithm::Ring), None);
                team.way(kernels, Which::Allreduce, ring, 0)?.job(kernels, &team.machine, Which::Allreduce, 0).machine
            }
            _ => team.machine,
        };
        let (many, host) = (machine.ranks, |rank: u32| team.homes[rank as usize].host);
        let mut draft = Draft::new(many);
        for me in 0..many {
            let mut lane = Lane::new(&mut draft, me, 0, machine.costs);
            lane.launch();
            for distance in (0..).map(|step| 1 << step).take_while(|&distance| distance < many) {
                let to = (me + distance) % many;
                lane.send_by(to, 0, host(to) != host(me));
                lane.recv((me + many - distance) % many, 0);
            }
        }
        Ok(draft)
    }
}

/// Writes what a rank does in a collective that it takes part in, with tags from `tag` on. Gives its first and its last
/// operation, which are on processor `cpu`.
pub(crate) fn member(part: &Part, draft: &mut Draft, rank: u32, (tag, cpu): (u32, u8)) -> (Local, Local) {
    let begun = draft.calc(rank, cpu, 0);
    let [starts, ends] = part.place(rank).map(|place| part.write(draft, place, tag)).unwrap_or_default();
    starts.into_iter().for_each(|(_, first)| draft.requires(rank, first, begun));
    let ended = draft.calc(rank, cpu, 0);
    let last = ends.into_iter().map(|(_, last)| last).chain([begun]);
    last.for_each(|last| draft.requires(rank, ended, last));
    (begun, ended)
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
        line: 0,
        near_ps: 0,
        proxy_ps: 10,
        post_ps: 4,
        post_ps_per_byte: 0.0,
        one_thread: false,
        switch_launch_ps: 0,
        switch_extra: 0.0,
        switch_chunk: 0,
    };

    fn of_all(ranks: &[u32], cut: &Cut, kind: Kind, bytes: u64) -> Schedule {
        let group = Group::new(ranks, &cut.homes(ranks.len() as u32), COSTS, cut);
        let mut draft = Draft::new(ranks.len() as u32);
        let (part, _) = group.part(&mut draft, &mut Vec::new(), (kind, bytes), (None, None)).unwrap();
        for &rank in ranks {
            member(&part, &mut draft, rank, (1 << 30, 250));
        }
        let schedule = draft.builder(NONE).build();
        crate::check(&schedule).unwrap();
        schedule
    }

    /// Its messages, by channel: who sends whom how many bytes.
    fn messages(schedule: &Schedule, first: u32) -> Vec<(u32, u32, u32, u64)> {
        // Without flags, which have no bytes.
        let sends = schedule.ops().filter(|op| op.kind == Does::Send && op.size > 0);
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
            let cut = Cut { channels: 16, peer, chunk: 1 << 10, slices: 2, wiring, domains, ..Cut::default() };
            let chunk = 1 << 10;
            let machine = Machine {
                ranks,
                domain,
                channels: 16,
                peer,
                chunk,
                slices: 2,
                costs: COSTS,
                wiring,
                switch: false,
                rails: None,
                uneven: None,
            };
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
