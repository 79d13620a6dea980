//! What can never end: found by a run without time, before anything else runs.

use crate::circle::Waits;
use crate::form::{ANY, Kind, Op, Schedule};
use crate::matching::{Matching, mixed, pattern};
use crate::state::{Marks, States};
use crate::waiting::Pattern;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// Operations of a circle that are shown.
const MOST_SHOWN: usize = 8;
/// Sums that patterns share.
const SUMS: usize = 1 << 16;

/// Why a schedule cannot be run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Operations that never end: a receive without message, a dependency circle.
    Never {
        /// How many.
        operations: u64,
        /// What the first of them waits for.
        waits: Waits,
        /// The operations of `waits`, each its rank's n-th, from 1.
        shown: Vec<(Op, u32)>,
    },
    /// A message that no receive takes.
    Unreceived {
        /// How many.
        messages: u64,
        /// The first of them, the rank's n-th operation.
        first: Op,
        /// n.
        number: u32,
        /// Its id.
        id: u32,
    },
    /// A receive that is shorter than the message that it takes.
    Cut {
        /// The receive, the rank's n-th operation.
        first: Op,
        /// n.
        number: u32,
        /// Its id.
        id: u32,
        /// Bytes of the message.
        bytes: u64,
    },
    /// The clock passed its end.
    Late,
    /// More processors and adapters than can be kept.
    TooLarge,
}

impl Stuck {
    /// The operation that it is about.
    pub fn op(&self) -> Option<u32> {
        match self {
            Stuck::Never { waits, .. } => waits.ops().first().copied(),
            Stuck::Unreceived { id, .. } | Stuck::Cut { id, .. } => Some(*id),
            Stuck::Late | Stuck::TooLarge => None,
        }
    }

    /// In words, with the place of each operation of a circle but the first: that stands before all of it.
    pub(crate) fn told(&self, place: impl Fn(u32) -> Option<String>) -> String {
        let Stuck::Never { operations, waits, shown } = self else { return self.to_string() };
        let never =
            if *operations == 1 { "it never ends".to_owned() } else { format!("{operations} operations never end") };
        let Waits::Circle(ids) = waits else {
            let missing = shown.first().map_or("", |(op, _)| if op.kind == Kind::Send { "receive" } else { "send" });
            let ops = shown.iter().map(|(op, number)| Shown(op, *number).to_string());
            return format!("{}: no such {missing} is left; {never}", ops.collect::<String>());
        };
        let steps = (0..).zip(ids.iter().zip(shown)).take(MOST_SHOWN).map(|(at, (&id, (op, number)))| {
            let stands = if at == 0 { None } else { place(id) };
            let stands = stands.map(|place| format!(" ({place})")).unwrap_or_default();
            format!("{}{stands}", Shown(op, *number))
        });
        let steps: Vec<String> = steps.collect();
        let more = ids.len().saturating_sub(MOST_SHOWN);
        let more = if more > 0 { format!(" -> {more} more") } else { String::new() };
        let many = ids.len();
        format!(
            "a circle, {many} operations that wait each for the next: {}{more} -> the first; {never}",
            steps.join(" -> ")
        )
    }

    /// What has not ended, or has not been received, at the end of a run; receives count before messages.
    ///
    /// # Errors
    /// The first of what is left, in the order of ranks.
    pub fn at_the_end(
        schedule: &Schedule,
        ended: impl Fn(u32) -> bool,
        received: impl Fn(u32) -> bool,
    ) -> Result<(), Stuck> {
        let ids = || (0..schedule.ranks()).flat_map(|rank| schedule.of_rank(rank));
        let first = |is: &dyn Fn(u32) -> bool| {
            let id = ids().find(|&id| is(id))?;
            let op = schedule.op(id);
            let number = id - schedule.of_rank(op.rank).start + 1;
            Some((ids().filter(|&id| is(id)).count() as u64, op, number, id))
        };
        if let Some((operations, _, _, id)) = first(&|id| !ended(id)) {
            let waits = Waits::of(schedule, &ended, id);
            let show = |&id: &u32| (schedule.op(id), id - schedule.of_rank(schedule.op(id).rank).start + 1);
            let shown = waits.ops().iter().map(show).collect();
            return Err(Stuck::Never { operations, waits, shown });
        }
        let is_lost = |id: u32| schedule.op(id).kind == Kind::Send && !received(id);
        match first(&is_lost) {
            Some((messages, first, number, id)) => Err(Stuck::Unreceived { messages, first, number, id }),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Stuck {}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stuck::Never { .. } => f.write_str(&self.told(|_| None)),
            Stuck::Unreceived { messages: 1, first, number, .. } => {
                write!(f, "a message is never received: {}", Shown(first, *number))
            }
            Stuck::Unreceived { messages, first, number, .. } => {
                write!(f, "{messages} messages are never received, the first: {}", Shown(first, *number))
            }
            Stuck::Cut { first, number, bytes, .. } => {
                let shown = Shown(first, *number);
                write!(f, "{shown}: its message has {bytes} bytes, and no receive may be shorter than its message")
            }
            Stuck::Late => f.write_str("the simulated time passes 2^62 ps (53 days)"),
            Stuck::TooLarge => f.write_str("ranks x (largest processor or adapter number + 1) is above 2^26"),
        }
    }
}

struct Shown<'a>(&'a Op, u32);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(op, number) = self;
        let or_any = |number: u32| if number == ANY { "any".to_owned() } else { number.to_string() };
        write!(f, "rank {}, operation {number}: ", op.rank)?;
        match op.kind {
            // In which unit, the form of the file says.
            Kind::Calc | Kind::Post => f.write_str("calc"),
            Kind::Send => write!(f, "send {}b to {} tag {}", op.size, op.peer, op.tag),
            Kind::Recv => write!(f, "recv {}b from {} tag {}", op.size, or_any(op.peer), or_any(op.tag)),
        }
    }
}

/// Whether the receives of each pair and tag are long enough for its messages, in any order. As in MPI, a receive may
/// be longer than its message. There is no answer where receives take messages of any source or tag.
///
/// # Errors
/// The first receive that no order gives a message as short as it is.
pub fn are_whole(schedule: &Schedule) -> Result<(), Stuck> {
    if schedule.extent().wild || schedule.extent().odd == 0 {
        return Ok(());
    }
    // Patterns share sums; those whose sum is not 0 are looked at one by one.
    let messages = || (0..).zip(schedule.ops()).filter(|(_, op)| op.kind.is_of_message());
    let shared = |op: &Op| mixed(&Op { size: 0, ..*op }) as usize % SUMS;
    let mut sums = vec![0u64; SUMS];
    for (_, op) in messages() {
        let sum = &mut sums[shared(&op)];
        *sum = if op.kind == Kind::Send { sum.wrapping_add(mixed(&op)) } else { sum.wrapping_sub(mixed(&op)) };
    }
    let mut sides = BTreeMap::<Pattern, [Vec<(u64, u32)>; 2]>::new();
    for (id, op) in messages().filter(|(_, op)| sums[shared(op)] != 0) {
        sides.entry(pattern(&op)).or_default()[usize::from(op.kind == Kind::Recv)].push((op.size, id));
    }
    // The longest receive takes the longest message, or no order does.
    let cut = sides.into_values().filter_map(|mut sides| {
        sides.iter_mut().for_each(|side| side.sort_by_key(|&(size, id)| (Reverse(size), id)));
        let [sends, receives] = sides;
        receives.into_iter().zip(sends).find(|(receive, send)| receive.0 < send.0)
    });
    let Some(((_, id), (bytes, _))) = cut.min_by_key(|&((_, id), _)| id) else { return Ok(()) };
    let first = schedule.op(id);
    Err(Stuck::Cut { first, number: id - schedule.of_rank(first.rank).start + 1, id, bytes })
}

/// Whether every operation can end and every message is received whole: sends end at once, receives when their message was
/// sent. Receives of any source or tag may take other messages in a run with time, which can end differently.
///
/// # Errors
/// The first operation that never ends, message that no receive takes, or receive that is too short.
pub fn check(schedule: &Schedule) -> Result<(), Stuck> {
    let (mut matching, mut states) = (Matching::new(schedule), States::<()>::new(schedule));
    let whole = are_whole(schedule);
    let mut ended = Marks::new(schedule.ops().len());
    let ids = (0..schedule.ranks()).rev().flat_map(|rank| schedule.of_rank(rank).rev());
    let mut ready: Vec<u32> = ids.filter(|&id| states.is_ready(id)).collect();
    while let Some(id) = ready.pop() {
        let op = schedule.op(id);
        let release = |of: u32, start: bool, states: &mut States<()>, ready: &mut Vec<u32>| {
            schedule.each_successor(of, start, |after| {
                if states.released(after, |()| ()) {
                    ready.push(after);
                }
            });
        };
        release(id, true, &mut states, &mut ready);
        let (ends, also) = match op.kind {
            Kind::Calc | Kind::Post => (id, None),
            Kind::Send => (id, matching.arrive(&mut states, id, &op)),
            Kind::Recv => match matching.post(&mut states, id, &op) {
                Some(send) => (id, Some(send)),
                None => continue,
            },
        };
        let is_over = !op.kind.is_of_message() || also.is_some();
        for id in [Some(ends), also].into_iter().flatten() {
            // A send had ended before its receive.
            if !ended.has(id) {
                ended.set(id);
                release(id, false, &mut states, &mut ready);
            }
            if is_over {
                states.ends(id, 0);
            }
        }
    }
    Stuck::at_the_end(schedule, |id| ended.has(id), |id| states.is_gone(id)).and(whole)
}
