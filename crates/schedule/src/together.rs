//! Schedules put together: rounds one after the other, jobs concurrently.

use crate::form::{ANY, Builder, Kind, MOST_OPS, MOST_RANKS, Op, Schedule};

/// Operations of repeated schedules: several GB of memory.
const MOST_REPEATED: u64 = 1 << 27;

/// The same schedule `times` times. A rank begins a round once all its operations of the round before have ended; ranks do
/// not wait for one another.
///
/// # Errors
/// More operations than a schedule can hold.
pub fn repeated(schedule: &Schedule, times: u32) -> Result<Schedule, String> {
    let rounds = u64::from(times);
    let total = rounds * (schedule.ops().len() as u64 + u64::from(schedule.ranks()));
    if total > MOST_REPEATED {
        let ops = schedule.ops().len();
        return Err(format!("{times} rounds of {ops} operations: at most {MOST_REPEATED} operations in all"));
    }
    let (waits, mut builder) = (schedule.waits(), Builder::new(schedule.ranks()));
    for rank in 0..schedule.ranks() {
        let _ = builder.begin(rank);
        let own = schedule.of_rank(rank);
        for round in 0..times {
            // All of the round waits for an operation that waits for all of the round before.
            let joint = (round > 0 && !own.is_empty()).then(|| join(&mut builder, schedule, rank));
            let first = copy(&mut builder, schedule, rank, 0, 1);
            for id in own.clone().filter(|&id| waits[id as usize] == 0) {
                joint.into_iter().for_each(|joint| builder.requires(first + (id - own.start), joint, false));
            }
        }
    }
    Ok(builder.build())
}

/// An operation that waits for those of the rank's last round for which nothing waits.
fn join(builder: &mut Builder, schedule: &Schedule, rank: u32) -> u32 {
    let own = schedule.of_rank(rank);
    let first = builder.ops() as u32 - own.len() as u32;
    let joint = builder.add(Op { kind: Kind::Calc, cpu: 0, nic: 0, rank, peer: 0, tag: 0, size: 0 });
    let last = |id: u32| !schedule.successors(id).any(|(_, start_only)| !start_only);
    own.clone().filter(|&id| last(id)).for_each(|id| builder.requires(joint, first + (id - own.start), false));
    joint
}

/// Adds a rank's operations, with ranks counted from `base` and a unit of computation being `unit` of the new ones; gives
/// the first.
fn copy(builder: &mut Builder, schedule: &Schedule, rank: u32, base: u32, unit: u64) -> u32 {
    let (own, first) = (schedule.of_rank(rank), builder.ops() as u32);
    for id in own.clone() {
        let op = schedule.op(id);
        builder.add(match op.kind {
            Kind::Calc => Op { rank: base + rank, size: op.size.saturating_mul(unit), ..op },
            Kind::Post => {
                let tag = u32::try_from(u64::from(op.tag).saturating_mul(unit)).unwrap_or(u32::MAX);
                Op { rank: base + rank, size: op.size.saturating_mul(unit), tag, ..op }
            }
            Kind::Recv if op.peer == ANY => Op { rank: base + rank, ..op },
            Kind::Send | Kind::Recv => Op { rank: base + rank, peer: base + op.peer, ..op },
        });
    }
    for id in own.clone() {
        for (after, start_only) in schedule.successors(id) {
            builder.requires(first + (after - own.start), first + (id - own.start), start_only);
        }
    }
    first
}

/// Several concurrent schedules, the ranks of one after those of another. Each comes with the units of the new schedule
/// that its own unit of computation is worth.
///
/// # Errors
/// More ranks or operations than a schedule can hold.
pub fn beside(parts: &[(&Schedule, u64)]) -> Result<Schedule, String> {
    let sum = |of: &dyn Fn(&Schedule) -> u64| parts.iter().map(|(schedule, _)| of(schedule)).sum::<u64>();
    let (ranks, ops) = (sum(&|part| u64::from(part.ranks())), sum(&|part| part.ops().len() as u64));
    if ranks > u64::from(MOST_RANKS) || ops > MOST_OPS as u64 {
        return Err(format!("{ranks} ranks with {ops} operations: at most {MOST_RANKS} and {MOST_OPS}"));
    }
    let mut builder = Builder::new(ranks as u32);
    let mut base = 0;
    for &(schedule, unit) in parts {
        for rank in 0..schedule.ranks() {
            let _ = builder.begin(base + rank);
            copy(&mut builder, schedule, rank, base, unit);
        }
        base += schedule.ranks();
    }
    Ok(builder.build())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    const PAIR: &str = "num_ranks 2\nrank 1 { r: recv 8b from 0; c: calc 5; c requires r; d: calc 2; d irequires c }\nrank 0 { send 8b to 1 }";

    #[test]
    fn a_round_waits_for_all_of_the_round_before_in_its_own_rank() {
        let one = Schedule::parse(PAIR).unwrap();
        let three = repeated(&one, 3).unwrap();
        assert_eq!((three.ranks(), three.ops().len()), (2, 3 * 4 + 2 * 2));
        check(&three).unwrap();
        // Rank 1: recv, calc, calc, joint, recv, ... The joint waits for both computations: none is waited for to its end.
        let own = three.of_rank(1);
        let joint = own.start + 3;
        assert_eq!((three.op(joint).kind, three.waits()[joint as usize]), (Kind::Calc, 2));
        assert_eq!(three.successors(joint).collect::<Vec<_>>(), [(joint + 1, false)]);
        assert_eq!(repeated(&one, 1).unwrap().ops().len(), one.ops().len());
        assert!(repeated(&one, u32::MAX).is_err());
    }

    #[test]
    fn schedules_side_by_side_keep_their_messages_and_units_to_themselves() {
        let one = Schedule::parse(PAIR).unwrap();
        let any = Schedule::parse("num_ranks 2\nrank 0 { recv 8b from -1 }\nrank 1 { send 8b to 0 }").unwrap();
        let both = beside(&[(&one, 1000), (&any, 1)]).unwrap();
        assert_eq!((both.ranks(), both.ops().len()), (4, 6));
        check(&both).unwrap();
        let of = |rank: u32| both.op(both.of_rank(rank).start);
        assert_eq!((of(0).peer, of(2).peer, of(3).peer), (1, ANY, 2));
        let calcs: Vec<u64> = both.ops().filter(|op| op.kind == Kind::Calc).map(|op| op.size).collect();
        assert_eq!(calcs, [5000, 2000]);
    }
}
