//! Collectives among some of a machine's GPUs: several groups at once, as parallel training has them.

use super::{MOST_OPERATIONS, Machine, Which, exchange, ring};
use crate::draft::Draft;
use crate::form::{NONE, Schedule};

/// One collective that every group does at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// What: allreduce, allgather and reduce-scatter by rings, all-to-all pair by pair.
    pub which: Which,
    /// Of how many bytes, as [`super::Job`] counts them.
    pub bytes: u64,
    /// The GPUs of each group. No GPU is in two of them.
    pub groups: Vec<Vec<u32>>,
    /// All GPUs.
    pub machine: Machine,
}

impl Groups {
    /// The schedule, in picoseconds.
    ///
    /// # Errors
    /// The machine cannot run it, or it has too many operations.
    pub fn schedule(&self) -> Result<Schedule, String> {
        let Groups { which, bytes, ref groups, machine } = *self;
        machine.check()?;
        let pieces = |ranks: u64| match which {
            Which::Alltoall => 5 * (ranks + bytes / machine.chunk),
            _ => 8 * ranks * ring_pieces(&machine, ranks, bytes),
        };
        let operations: u64 = groups.iter().map(|group| group.len() as u64).map(|ranks| ranks * pieces(ranks)).sum();
        if operations > MOST_OPERATIONS {
            return Err(format!("{bytes} B need more than {MOST_OPERATIONS} operations: give fewer"));
        }
        let mut draft = Draft::new(machine.ranks);
        for ranks in groups.iter().filter(|ranks| ranks.len() > 1) {
            match which {
                Which::Alltoall => exchange::among(&mut draft, &machine, ranks, bytes),
                _ => ring::among(&mut draft, &machine, ranks, which, bytes),
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

/// The machine that some GPUs of another make up: as many of each domain, or else each by itself.
pub(super) fn within(machine: &Machine, ranks: &[u32]) -> Machine {
    let home = |rank: &u32| rank / machine.domain;
    let domains: Vec<usize> = ranks.chunk_by(|a, b| home(a) == home(b)).map(<[u32]>::len).collect();
    let is_even = domains.iter().all(|&many| many == domains[0]);
    Machine { ranks: ranks.len() as u32, domain: if is_even { domains[0] as u32 } else { 1 }, ..*machine }
}

#[cfg(test)]
mod tests {
    use super::super::{Costs, Wiring};
    use super::*;
    use crate::check;
    use crate::form::Kind;

    fn machine(ranks: u32, domain: u32) -> Machine {
        let costs = Costs { proxy_ps: 10, ..Costs::default() };
        Machine { ranks, domain, channels: 2, chunk: 1 << 10, slices: 2, costs, wiring: Wiring::default(), rails: None }
    }

    #[test]
    fn groups_of_one_rail_stay_on_it_and_send_as_a_ring_must() {
        let groups = vec![vec![0, 4, 8], vec![3, 7, 11]];
        let job = Groups { which: Which::Allreduce, bytes: 9000, groups, machine: machine(12, 4) };
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
        let job = Groups { which: Which::ReduceScatter, bytes: 800, groups, machine: machine(16, 4) };
        let schedule = job.schedule().unwrap();
        let far = schedule.ops().filter(|op| op.kind == Kind::Send && op.rank / 4 != op.peer / 4);
        let rails: std::collections::BTreeSet<u32> = far.map(|op| op.peer % 4).collect();
        assert_eq!(rails, [0, 1].into());
    }

    #[test]
    fn uneven_groups_are_rings_of_single_gpus() {
        let machine = machine(12, 4);
        assert_eq!(within(&machine, &[0, 1, 4]).domain, 1);
        assert_eq!(within(&machine, &[0, 1, 4, 5]).domain, 2);
        let groups = vec![vec![0, 1, 4]];
        let schedule = Groups { which: Which::Alltoall, bytes: 300, groups, machine }.schedule().unwrap();
        check(&schedule).unwrap();
        assert_eq!(schedule.ops().filter(|op| op.kind == Kind::Send).map(|op| op.size).sum::<u64>(), 600);
    }
}
