//! Collectives among some of a machine's GPUs: several groups at once, as parallel training has them.

use super::{Kernels, MOST_OPERATIONS, Machine, Which, exchange, ring};
use crate::draft::Draft;
use crate::form::{NONE, Schedule};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One collective that every group does at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// What: allreduce, allgather and reduce-scatter by rings, all-to-all pair by pair.
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
}

/// Where a GPU is. The order of ranks does not say it: jobs deal their ranks over hosts as they like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Home {
    /// Its host, or scale-up domain.
    pub host: u32,
    /// Its number in it, which is that of its rail.
    pub gpu: u32,
}

impl Home {
    /// The home of GPU `number` where hosts have `each`, counted host by host.
    pub fn of(number: u32, each: u32) -> Home {
        Home { host: number / each, gpu: number % each }
    }
}

/// GPUs host by host, hosts in order of their first one. NCCL finds hosts so: ranks of one need not follow one another.
pub fn by_host<T: Copy>(all: &[T], home: impl Fn(T) -> Home) -> Vec<Vec<T>> {
    let mut order = BTreeMap::new();
    let mut hosts: Vec<Vec<T>> = Vec::new();
    for &one in all {
        let at = *order.entry(home(one).host).or_insert(hosts.len());
        if at == hosts.len() {
            hosts.push(Vec::new());
        }
        hosts[at].push(one);
    }
    hosts.iter_mut().for_each(|host| host.sort_by_key(|&one| home(one)));
    hosts
}

impl Groups {
    /// The schedule, in picoseconds.
    ///
    /// # Errors
    /// The machine cannot run it, or it has too many operations.
    pub fn schedule(&self) -> Result<Schedule, String> {
        let Groups { which, bytes, ref groups, machine, ref homes, ref kernels } = *self;
        machine.check()?;
        homes_of(&machine, homes)?;
        let of_group = |ranks: &[u32]| {
            let (group, _) = within(&machine, homes, ranks);
            kernels.as_ref().map_or(group, |kernels| kernels.usual(&group, which, bytes))
        };
        let groups: Vec<(&[u32], Machine)> =
            groups.iter().filter(|ranks| ranks.len() > 1).map(|ranks| (&ranks[..], of_group(ranks))).collect();
        let pieces = |ranks: u64, machine: &Machine| match which {
            Which::Alltoall => machine.exchange_operations(ranks, bytes),
            _ => 8 * ranks * ring_pieces(machine, ranks, bytes),
        };
        let of_each = |(group, machine): &(&[u32], Machine)| {
            let ranks = group.len() as u64;
            ranks * pieces(ranks, machine)
        };
        let operations: u64 = groups.iter().map(of_each).sum();
        if operations > MOST_OPERATIONS {
            return Err(format!("{bytes} B need more than {MOST_OPERATIONS} operations: give fewer"));
        }
        let mut draft = Draft::new(machine.ranks);
        for (ranks, machine) in groups {
            match which {
                Which::Alltoall => exchange::among(&mut draft, &machine, homes, ranks, bytes),
                _ => ring::among(&mut draft, &machine, homes, ranks, which, bytes),
            }
        }
        Ok(draft.builder(NONE).build())
    }
}

/// Pieces in which a ring's block leaves a rank, of all channels and times round.
pub(super) fn ring_pieces(machine: &Machine, ranks: u64, bytes: u64) -> u64 {
    let Machine { channels, chunk, slices, .. } = *machine;
    let part = bytes.div_ceil(channels.into());
    u64::from(channels) * slices * part.div_ceil((slices * chunk).saturating_mul(ranks))
}

/// Whether each GPU has its home.
pub(super) fn homes_of(machine: &Machine, homes: &[Home]) -> Result<(), String> {
    match homes.len() {
        many if many == machine.ranks as usize => Ok(()),
        many => Err(format!("homes of {many} GPUs for {}: must be as many", machine.ranks)),
    }
}

/// The machine that some GPUs of another make up, and these GPUs host by host. Each host has the same number, or each
/// GPU is alone.
pub(super) fn within(machine: &Machine, homes: &[Home], ranks: &[u32]) -> (Machine, Vec<u32>) {
    let hosts = by_host(ranks, |rank| homes[rank as usize]);
    let is_even = hosts.iter().all(|host| host.len() == hosts[0].len());
    let domain = if is_even { hosts[0].len() as u32 } else { 1 };
    (Machine { ranks: ranks.len() as u32, domain, ..*machine }, hosts.concat())
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
        Machine { ranks, domain, channels: 2, peer, chunk: 1 << 10, slices: 2, costs, wiring, rails: None }
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
                let job =
                    Groups { which, bytes: 8000, groups, machine: machine(8, 1), homes: homes.clone(), kernels: None };
                let schedule = job.schedule().unwrap();
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
        };
        let schedule = job.schedule().unwrap();
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
        };
        let schedule = job.schedule().unwrap();
        let far = schedule.ops().filter(|op| op.kind == Kind::Send && op.rank / 4 != op.peer / 4);
        let rails: std::collections::BTreeSet<u32> = far.map(|op| op.peer % 4).collect();
        assert_eq!(rails, [0, 1].into());
    }

    #[test]
    fn uneven_groups_are_rings_of_single_gpus() {
        let (machine, homes) = (machine(12, 4), homes(12, 4));
        assert_eq!(within(&machine, &homes, &[0, 1, 4]).0.domain, 1);
        assert_eq!(within(&machine, &homes, &[0, 1, 4, 5]).0.domain, 2);
        let (dealt, order) = within(&machine, &homes, &[4, 0, 5, 1]);
        assert_eq!((dealt.domain, order), (2, vec![4, 5, 0, 1]));
        let groups = vec![vec![0, 1, 4]];
        let schedule =
            Groups { which: Which::Alltoall, bytes: 300, groups, machine, homes, kernels: None }.schedule().unwrap();
        check(&schedule).unwrap();
        assert_eq!(schedule.ops().filter(|op| op.kind == Kind::Send).map(|op| op.size).sum::<u64>(), 600);
    }
}
