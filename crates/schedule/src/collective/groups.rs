//! Collectives among some of a machine's GPUs: several groups at once, as parallel training has them.

use super::part::{Part, Run, Written};
use super::{Home, Job, Kernels, MOST_OPERATIONS, Machine, Team, Wanted, Way, Which};
use crate::draft::Draft;
use std::sync::Arc;

/// One collective that every group does at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// What.
    pub which: Which,
    /// Bytes of the collective, as [`super::Job`] counts them.
    pub bytes: u64,
    /// The GPUs of each group. No GPU is in two of them.
    pub groups: Vec<Vec<u32>>,
    /// All GPUs. Its domains do not count here: `homes` says where GPUs are.
    pub machine: Machine,
    /// Where each GPU is.
    pub homes: Vec<Home>,
    /// What GPUs' kernels take by protocol, and what chooses among these. `None`: the machine's costs.
    pub kernels: Option<Arc<Kernels>>,
    /// What is asked for.
    pub wanted: Wanted,
}

impl Groups {
    /// The schedule, in picoseconds.
    ///
    /// # Errors
    /// The machine cannot run it, or it has too many operations.
    pub fn schedule(&self) -> Result<Written, String> {
        let Groups { which, bytes, ref groups, machine, ref homes, ref kernels, wanted } = *self;
        machine.check()?;
        homes_of(&machine, homes)?;
        let of_group = |ranks: &Vec<u32>| {
            let team = Team::new(&machine, homes, ranks);
            team.job(kernels.as_deref(), which, wanted, bytes).map(|(job, way)| (team, job, way))
        };
        let all = groups.iter().filter(|ranks| ranks.len() > 1).map(of_group);
        let all: Vec<(Team, Job, Option<Way>)> = all.collect::<Result<_, String>>()?;
        if all.iter().map(|(_, job, _)| job.operations()).fold(0, u64::saturating_add) > MOST_OPERATIONS {
            return Err(format!("{bytes} B need more than {MOST_OPERATIONS} operations: give fewer"));
        }
        let (mut draft, mut switches, mut runs) = (Draft::new(machine.ranks), Vec::new(), Vec::new());
        for (team, job, way) in all {
            let own = job.draft(&team.homes, team.root)?;
            Part::new(&mut draft, &mut switches, &team, own, team.combining(&job)).write_all(&mut draft);
            runs.extend(way.map(|way| Run { which, bytes, ranks: job.machine.ranks, way, times: 1 }));
        }
        Ok(Written::of(draft, switches, runs))
    }
}

/// Whether each GPU has its home.
pub(super) fn homes_of(machine: &Machine, homes: &[Home]) -> Result<(), String> {
    match homes.len() {
        many if many == machine.ranks as usize => Ok(()),
        many => Err(format!("homes of {many} GPUs for {}: must be as many", machine.ranks)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Costs, PeerChannels, Wiring};
    use super::*;
    use crate::check;
    use crate::form::Kind;

    fn machine(ranks: u32, domain: u32) -> Machine {
        let costs = Costs { proxy_ps: 10, ..Costs::default() };
        let (peer, wiring) = (PeerChannels::default(), Wiring::default());
        Machine {
            ranks,
            domain,
            channels: 2,
            peer,
            chunk: 1 << 10,
            slices: 2,
            costs,
            wiring,
            switch: false,
            rails: None,
            uneven: None,
        }
    }

    fn homes(ranks: u32, each: u32) -> Vec<Home> {
        (0..ranks).map(|rank| Home::of(rank, each)).collect()
    }

    /// Eight GPUs of two hosts, in order of their hosts and dealt over them: the same messages between GPUs.
    #[test]
    fn ranks_that_are_dealt_over_hosts_do_the_same_as_ranks_in_order_of_hosts() {
        let dealt: Vec<Home> = (0..8).map(|rank| Home { host: rank % 2, gpu: rank / 2 }).collect();
        for which in [Which::Allreduce, Which::Allgather, Which::Alltoall] {
            let [sorted, dealt] = [homes(8, 4), dealt.clone()].map(|homes| {
                let groups = vec![(0..8).collect()];
                let job = Groups {
                    which,
                    bytes: 8000,
                    groups,
                    machine: machine(8, 1),
                    homes: homes.clone(),
                    kernels: None,
                    wanted: (None, None),
                };
                let schedule = job.schedule().unwrap().schedule;
                check(&schedule).unwrap();
                let sends = schedule.ops().filter(|op| op.kind == Kind::Send);
                let at = |rank: u32| homes[rank as usize];
                let mut sends: Vec<_> = sends.map(|op| (at(op.rank), at(op.peer), op.size)).collect();
                sends.sort_unstable();
                sends
            });
            assert_eq!(sorted, dealt, "{which:?}");
        }
    }

    #[test]
    fn groups_of_one_rail_stay_on_it_and_send_as_a_ring_must() {
        let groups = vec![vec![0, 4, 8], vec![3, 7, 11]];
        let job = Groups {
            which: Which::Allreduce,
            bytes: 9000,
            groups,
            machine: machine(12, 4),
            homes: homes(12, 4),
            kernels: None,
            wanted: (None, None),
        };
        let schedule = job.schedule().unwrap().schedule;
        check(&schedule).unwrap();
        let sends: Vec<_> = schedule.ops().filter(|op| op.kind == Kind::Send).collect();
        assert!(sends.iter().all(|op| op.rank % 4 == op.peer % 4));
        // Each of three sends 2 x 2/3 of the bytes.
        for rank in [0, 4, 8, 3, 7, 11] {
            let sent: u64 = sends.iter().filter(|op| op.rank == rank).map(|op| op.size).sum();
            assert_eq!(sent, 12_000, "rank {rank}");
        }
    }

    #[test]
    fn rings_across_whole_domains_leave_each_on_every_rail_in_turn() {
        let groups = vec![(0..8).collect()];
        let job = Groups {
            which: Which::ReduceScatter,
            bytes: 800,
            groups,
            machine: machine(16, 4),
            homes: homes(16, 4),
            kernels: None,
            wanted: (None, None),
        };
        let schedule = job.schedule().unwrap().schedule;
        let far = schedule.ops().filter(|op| op.kind == Kind::Send && op.rank / 4 != op.peer / 4);
        let rails: std::collections::BTreeSet<u32> = far.map(|op| op.peer % 4).collect();
        assert_eq!(rails, [0, 1].into());
    }

    /// Hosts of three, one and two GPUs: each GPU but the two roots sends all of its halves up once and down once.
    #[test]
    fn trees_are_of_hosts_whatever_each_has() {
        let (machine, homes) = (machine(12, 4), homes(12, 4));
        let team = Team::new(&machine, &homes, &[0, 1, 2, 4, 8, 9]);
        assert_eq!(team.machine.uneven, Some(super::super::Uneven { hosts: 3, least: 1 }));
        let job = Job {
            which: Which::Allreduce,
            algorithm: super::super::Algorithm::Tree,
            bytes: 6000,
            machine: team.machine,
        };
        let schedule = job.draft(&team.homes, 0).unwrap().builder(crate::form::NONE).build();
        check(&schedule).unwrap();
        let host = |rank: u32| team.homes[rank as usize].host;
        let sends: Vec<_> = schedule.ops().filter(|op| op.kind == Kind::Send).collect();
        let sum = |far: bool| -> u64 {
            sends.iter().filter(|op| (host(op.rank) != host(op.peer)) == far).map(|op| op.size).sum()
        };
        assert_eq!([sum(false), sum(true)], [2 * (2 + 1) * 6000, 2 * 2 * 6000]);
        // What goes up to a GPU comes down from it.
        let of = |from: u32, to: u32| {
            sends.iter().filter(|op| (op.rank, op.peer) == (from, to)).map(|op| op.size).sum::<u64>()
        };
        assert!((0..6).all(|one| (0..6).all(|other| of(one, other) == of(other, one))));
    }

    #[test]
    fn uneven_groups_are_rings_of_single_gpus() {
        let (machine, homes) = (machine(12, 4), homes(12, 4));
        assert_eq!(Team::new(&machine, &homes, &[0, 1, 4]).machine.domain, 1);
        assert_eq!(Team::new(&machine, &homes, &[0, 1, 4, 5]).machine.domain, 2);
        let dealt = Team::new(&machine, &homes, &[4, 0, 5, 1]);
        assert_eq!((dealt.machine.domain, dealt.ranks), (2, vec![4, 5, 0, 1]));
        let groups = vec![vec![0, 1, 4]];
        let schedule =
            Groups { which: Which::Alltoall, bytes: 300, groups, machine, homes, kernels: None, wanted: (None, None) }
                .schedule()
                .unwrap()
                .schedule;
        check(&schedule).unwrap();
        assert_eq!(schedule.ops().filter(|op| op.kind == Kind::Send).map(|op| op.size).sum::<u64>(), 600);
    }
}
