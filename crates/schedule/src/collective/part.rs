//! A collective as a part of what GPUs do besides: of a trace, or of a step of training.

use super::lane::{ADAPTER, PROXY};
use super::{Combining, MOST_CHANNELS, Team, Way, Which};
use crate::draft::{Draft, Local};
use crate::form::{Kind, NONE, Schedule};

/// A schedule with collectives in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The schedule, in picoseconds: GPUs, then switches that combine data for them.
    pub schedule: Schedule,
    /// What the switches are, in order of their ranks.
    pub switches: Vec<Combining>,
    /// The collectives.
    pub runs: Vec<Run>,
}

/// Collectives of a schedule that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// What.
    pub which: Which,
    /// Bytes of each.
    pub bytes: u64,
    /// GPUs that take part.
    pub ranks: u32,
    /// How each is done.
    pub way: Way,
    /// How many there are.
    pub times: u64,
}

/// A channel of a collective, and an operation of it.
pub(super) type OnChannel = (usize, Local);

/// A collective that is ready to be a part of a larger draft, as often as it occurs there.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    draft: Draft,
    /// Ranks of the larger draft: the GPUs, host by host, then the switches.
    ranks: Vec<u32>,
    gpus: u32,
    /// Tags that its messages have: from 0 to less than this.
    pub(crate) tags: u32,
    /// By GPU: first operations, and those after which its kernel ends.
    ends: Vec<[Vec<OnChannel>; 2]>,
}

impl Part {
    /// A collective of a team, for a larger draft, which gets the switches as ranks beyond its others.
    pub(crate) fn new(
        larger: &mut Draft,
        switches: &mut Vec<Combining>,
        team: &Team,
        own: Draft,
        by: Combining,
    ) -> Part {
        let gpus = team.machine.ranks;
        let first = larger.add_ranks(by.count());
        let ranks = team.ranks.iter().copied().chain(first..first + by.count()).collect();
        if by.count() > 0 {
            switches.push(by);
        }
        let ends = (0..gpus).map(|rank| ends_of(&own, rank)).collect();
        let last_tag = |rank| own.row(rank).0.filter(|op| op.kind == Kind::Send).map(|op| op.tag).max();
        let tags = (0..own.ranks()).filter_map(last_tag).max().unwrap_or(0) + 1;
        Part { draft: own, ranks, gpus, tags, ends }
    }

    /// The place of a rank among its GPUs.
    pub(crate) fn place(&self, rank: u32) -> Option<u32> {
        let all = &self.ranks[..self.gpus as usize];
        all.iter().position(|&own| own == rank).map(|place| place as u32)
    }

    /// What its switches do, once.
    pub(crate) fn write_switches(&self, larger: &mut Draft, tag: u32) {
        for switch in self.gpus..self.draft.ranks() {
            larger.append(&self.draft, switch, &self.ranks, tag);
        }
    }

    /// What the GPU at a place does, once: its first operations, and those after which its kernel ends.
    pub(crate) fn write(&self, larger: &mut Draft, place: u32, tag: u32) -> [Vec<OnChannel>; 2] {
        let first = larger.append(&self.draft, place, &self.ranks, tag);
        let here = |all: &Vec<OnChannel>| all.iter().map(|&(channel, op)| (channel, first + op)).collect();
        let [starts, ends] = &self.ends[place as usize];
        [here(starts), here(ends)]
    }

    /// All of it, once.
    pub(crate) fn write_all(&self, larger: &mut Draft) {
        (0..self.gpus).for_each(|place| _ = self.write(larger, place, 0));
        self.write_switches(larger, 0);
    }
}

/// Operations of a rank that wait for none, and those after which its kernel ends: nothing waits for them but software
/// that hands messages over.
fn ends_of(draft: &Draft, rank: u32) -> [Vec<OnChannel>; 2] {
    let (ops, waits) = draft.row(rank);
    let ops: Vec<_> = ops.collect();
    let is_handing_over = |op: Local| {
        let op = ops[op as usize];
        op.kind == Kind::Post || op.cpu == ADAPTER && op.kind == Kind::Send
    };
    let (mut is_first, mut is_last) = (vec![true; ops.len()], vec![true; ops.len()]);
    for [after, before] in waits {
        is_first[after as usize] = false;
        is_last[before as usize] &= is_handing_over(after);
    }
    // A post is followed by the message that it hands over.
    let channel = |op: Local| match (ops[op as usize], ops.get(op as usize + 1)) {
        (own, Some(sent)) if own.kind == Kind::Post => sent.tag,
        (own, _) if own.kind == Kind::Send => own.tag,
        (own, _) => u32::from(own.cpu & !PROXY),
    } % MOST_CHANNELS;
    let chosen = |is: &[bool], of_kernel: bool| {
        let all = (0..).zip(is).filter(|(op, is)| **is && !(of_kernel && is_handing_over(*op)));
        all.map(|(op, _)| (channel(op) as usize, op)).collect()
    };
    [chosen(&is_first, false), chosen(&is_last, true)]
}

impl Written {
    /// What was drafted.
    pub(super) fn of(draft: Draft, switches: Vec<Combining>, runs: Vec<Run>) -> Written {
        Written { schedule: draft.builder(NONE).build(), switches, runs }
    }
}
