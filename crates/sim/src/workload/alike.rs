//! Parts of a schedule that meet nowhere and do the same: one of each kind runs for all.
//!
//! Parallel training has many. GPUs of one place in their hosts pass their messages and gradients on rails of their
//! own, and each host has collectives of its own. Two ranks are of one part where they exchange messages, share a
//! node, or have messages that cross one server. Parts are alike where their ranks do the same in the same order, over
//! paths of the same servers. What is random or decided by what other parts do excludes this: then all is one part.

use super::replay::Replay;
use crate::error::SimError;
use crate::flow::{Congestion, Settings};
use crate::plan::{NONE, Plan, RouteBuffer, Stage};
use hotlink_fabric::rng::mix;
use hotlink_fabric::units::Time;
use hotlink_schedule::{ANY, Kind, Schedule};
use std::collections::BTreeMap;

/// Parts are compared with so many others at most: where most differ, all run.
const MOST_KINDS: usize = 16;

/// Ranks that run at once, and how often what they do is counted.
#[derive(Debug)]
pub(super) struct Shift {
    /// By rank: whether it runs now.
    pub runs: Vec<bool>,
    /// Parts that are alike, with the one that runs.
    pub times: u64,
}

/// Ranks and servers that do what others do in the run.
#[derive(Debug)]
pub(super) struct Copies {
    /// By rank and by server: the one that stands for it; itself where it runs.
    pub ranks: Vec<u32>,
    pub servers: Vec<u32>,
}

/// Which ranks run, one shift after the other, and who stands for the others. `None`: all run at once.
pub(super) fn shifts(plan: &Plan<'_>, settings: &Settings, job: &Replay<'_>) -> Option<(Vec<Shift>, Copies)> {
    let valiant = plan.fabric.routing.is_valiant();
    let decided = plan.one_path() && settings.detours.is_none() && settings.faults.is_empty() && !valiant;
    let unmoved = settings.transport.is_none() && settings.congestion == Congestion::Pause;
    if !decided || !unmoved || plan.fabric.spec.flow_control.is_ring() {
        return None;
    }
    let parts = Parts::of(plan, job)?;
    let (mut kinds, mut copies) = (Vec::<(usize, u64)>::new(), Copies::of(job.schedule.ranks(), plan.servers()));
    for own in 0..parts.members.len() {
        let found = kinds.iter_mut().find_map(|kind| parts.pairing(kind.0, own).map(|servers| (kind, servers)));
        let Some((kind, servers)) = found else {
            if kinds.len() == MOST_KINDS {
                return None;
            }
            kinds.push((own, 1));
            continue;
        };
        kind.1 += 1;
        let ranks = parts.members[own].iter().zip(&parts.members[kind.0]);
        ranks.for_each(|(&own, &first)| copies.ranks[own as usize] = first);
        servers.into_iter().for_each(|(first, own)| copies.servers[own as usize] = first);
    }
    if kinds.len() == parts.members.len() {
        return None;
    }
    let mut shifts = BTreeMap::<u64, Vec<bool>>::new();
    for (part, times) in kinds {
        let runs = shifts.entry(times).or_insert_with(|| vec![false; job.schedule.ranks() as usize]);
        parts.members[part].iter().for_each(|&rank| runs[rank as usize] = true);
    }
    Some((shifts.into_iter().map(|(times, runs)| Shift { runs, times }).collect(), copies))
}

impl Copies {
    fn of(ranks: u32, servers: usize) -> Copies {
        Copies { ranks: (0..ranks).collect(), servers: (0..servers as u32).collect() }
    }
}

/// The parts of a job.
struct Parts<'a> {
    plan: &'a Plan<'a>,
    job: &'a Replay<'a>,
    /// Ranks of each, ascending.
    members: Vec<Vec<u32>>,
    /// By rank: its part, and its place there.
    places: Vec<(u32, u32)>,
    /// By rank: the ranks that it sends to, in the order of its first messages, with the paths there and back.
    paths: Vec<Vec<(u32, [Vec<Stage>; 2])>>,
}

impl<'a> Parts<'a> {
    /// `None` where there is but one, or no path somewhere.
    fn of(plan: &'a Plan<'a>, job: &'a Replay<'a>) -> Option<Parts<'a>> {
        let ranks = job.schedule.ranks();
        let mut joined = Joined((0..ranks).collect());
        let mut of_nodes = vec![NONE; plan.fabric.nodes() as usize];
        let peers: Vec<Vec<u32>> = (0..ranks).map(|rank| peers(job.schedule, rank)).collect();
        for (rank, peers) in (0..).zip(&peers) {
            joined.by(&mut of_nodes[job.nodes[rank as usize] as usize], rank);
            peers.iter().for_each(|&peer| joined.join(rank, peer));
        }
        // Paths are many where all exchange messages with all.
        if (0..ranks).all(|rank| joined.root(rank) == 0) {
            return None;
        }
        let mut of_servers = vec![NONE; plan.servers()];
        let asks = job.schedule.extent().largest > job.eager_max;
        let (mut paths, mut buffer) = (Vec::new(), RouteBuffer::default());
        for (rank, peers) in (0..).zip(peers) {
            let mut own: Vec<(u32, [Vec<Stage>; 2])> = Vec::new();
            for peer in peers {
                let [from, to] = [rank, peer].map(|rank| job.nodes[rank as usize]);
                let mut path = |from: u32, to: u32, is_taken: bool| {
                    if from == to || !is_taken {
                        return Ok(Vec::new());
                    }
                    plan.route(from, to, plan.choice(from, to, 0, 0), &mut buffer)?;
                    Ok::<_, SimError>(buffer.stages.clone())
                };
                let both = [path(from, to, true).ok()?, path(to, from, asks).ok()?];
                let servers = both.iter().flatten().map(|stage| stage.lane >> plan.lane_shift);
                servers.for_each(|server| joined.by(&mut of_servers[server as usize], rank));
                own.push((peer, both));
            }
            paths.push(own);
        }
        let (mut members, mut places, mut numbers) = (Vec::<Vec<u32>>::new(), Vec::new(), BTreeMap::new());
        for rank in 0..ranks {
            let part = *numbers.entry(joined.root(rank)).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            places.push((part as u32, members[part].len() as u32));
            members[part].push(rank);
        }
        (members.len() > 1).then_some(Parts { plan, job, members, places, paths })
    }

    /// Whether two parts are alike: servers of the first, each with that of the other in its place.
    fn pairing(&self, first: usize, own: usize) -> Option<Vec<(u32, u32)>> {
        let [all, others] = [first, own].map(|part| &self.members[part]);
        if all.len() != others.len() || !all.iter().zip(others).all(|(&one, &other)| self.do_the_same(one, other)) {
            return None;
        }
        let (mut nodes, mut servers) = (Pairs::default(), Pairs::default());
        for (&one, &other) in all.iter().zip(others) {
            let [node, of_other] = [one, other].map(|rank| self.job.nodes[rank as usize]);
            let paths = self.paths[one as usize].iter().zip(&self.paths[other as usize]);
            let are_alike = |(one, other): (&[Vec<Stage>; 2], &[Vec<Stage>; 2])| {
                one.iter().zip(other).all(|(one, other)| self.are_alike(one, other, &mut servers))
            };
            let same = nodes.pair(node, of_other) && paths.map(|(one, other)| (&one.1, &other.1)).all(are_alike);
            if !same {
                return None;
            }
        }
        // Servers' numbers settle ties, so those of both parts must have one order.
        let servers: Vec<(u32, u32)> = servers.there.into_iter().collect();
        servers.is_sorted_by_key(|&(_, other)| other).then_some(servers)
    }

    fn do_the_same(&self, one: u32, other: u32) -> bool {
        let Replay { schedule, starts, .. } = *self.job;
        let start = |rank: u32| starts.get(rank as usize).copied().unwrap_or(Time::ZERO);
        let [ids, others] = [one, other].map(|rank| schedule.of_rank(rank));
        let shift = others.start.wrapping_sub(ids.start);
        let same_peer = |peer: u32, of_other: u32| match [peer, of_other].contains(&ANY) {
            true => peer == of_other,
            false => {
                let [(part, place), (own, at)] = [peer, of_other].map(|rank| self.places[rank as usize]);
                let [of_one, of_another] = [one, other].map(|rank| self.places[rank as usize].0);
                place == at && part == of_one && own == of_another
            }
        };
        let same = |id: u32| {
            let [op, its] = [id, id.wrapping_add(shift)].map(|id| schedule.op(id));
            let alike = (op.kind, op.cpu, op.nic, op.tag, op.size) == (its.kind, its.cpu, its.nic, its.tag, its.size);
            let waits = schedule.successors(id).map(|(after, start)| (after.wrapping_add(shift), start));
            alike
                && (!op.kind.is_of_message() || same_peer(op.peer, its.peer))
                && waits.eq(schedule.successors(id.wrapping_add(shift)))
        };
        ids.len() == others.len() && start(one) == start(other) && ids.clone().all(same)
    }

    /// Whether the stages of two paths are of the same kind, and servers stand for the same ones as before.
    fn are_alike(&self, one: &[Stage], other: &[Stage], servers: &mut Pairs) -> bool {
        let lane = |stage: &Stage| stage.lane & ((1 << self.plan.lane_shift) - 1);
        let server = |stage: &Stage| stage.lane >> self.plan.lane_shift;
        let class = |stage: &Stage| self.plan.server_class[server(stage) as usize];
        let mut same = |(one, other): (&Stage, &Stage)| {
            (one.word, lane(one), class(one)) == (other.word, lane(other), class(other))
                && servers.pair(server(one), server(other))
        };
        one.len() == other.len() && one.iter().zip(other).all(&mut same)
    }
}

/// Ranks that a rank sends to, in the order of its first messages.
fn peers(schedule: &Schedule, rank: u32) -> Vec<u32> {
    let (mut found, mut seen, mut last) = (Vec::new(), std::collections::HashSet::new(), NONE);
    for op in schedule.of_rank(rank).map(|id| schedule.op(id)).filter(|op| op.kind == Kind::Send) {
        if op.peer != last && seen.insert(op.peer) {
            found.push(op.peer);
        }
        last = op.peer;
    }
    found
}

/// One for one, both ways.
#[derive(Default)]
struct Pairs {
    there: BTreeMap<u32, u32>,
    back: BTreeMap<u32, u32>,
}

impl Pairs {
    /// Whether these two stand for each other, and for nothing else.
    fn pair(&mut self, one: u32, other: u32) -> bool {
        *self.there.entry(one).or_insert(other) == other && *self.back.entry(other).or_insert(one) == one
    }
}

/// Ranks of one part point to one another, the last to itself.
struct Joined(Vec<u32>);

impl Joined {
    fn root(&mut self, rank: u32) -> u32 {
        let mut at = rank;
        while self.0[at as usize] != at {
            let next = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = next;
            at = next;
        }
        at
    }
    fn join(&mut self, one: u32, other: u32) {
        let [one, other] = [one, other].map(|rank| self.root(rank));
        self.0[one.max(other) as usize] = one.min(other);
    }
    /// Of all ranks that have something in common, the first is noted there.
    fn by(&mut self, first: &mut u32, rank: u32) {
        if *first == NONE {
            *first = rank;
        }
        self.join(*first, rank);
    }
}

/// The fingerprint of two runs, one after the other.
pub(super) fn after(before: u64, next: u64) -> u64 {
    mix(before ^ next.rotate_left(1))
}

#[cfg(test)]
mod tests {
    use super::super::replay::{Machine, Replay, replay};
    use super::super::whole::{Replayed, Whole};
    use super::*;
    use hotlink_fabric::{Fabric, catalog};

    /// Two rounds of a ring of ranks from `first` on, each of which computes first.
    fn ring(first: u32, many: u32, work: u64) -> String {
        let rank = |place: u32| first + place % many;
        let of = |place: u32| {
            let [own, next, before] = [0, 1, many - 1].map(|far| rank(place + far));
            format!(
                "rank {own} {{ w: calc {work}; a: send 30000b to {next}; a requires w; b: recv 30000b from {before}; \
                 c: send 5000b to {next} tag 1; c requires b; d: recv 5000b from {before} tag 1; d requires b }}\n"
            )
        };
        (0..many).map(of).collect()
    }

    fn ran(fabric: &str, nodes: &[u32], schedule: &Schedule, by_kinds: bool) -> (Replayed, Option<usize>) {
        let spec = catalog::load(fabric).unwrap();
        let fabric = Fabric::build(&spec, 32).unwrap();
        let settings = Settings::of(&spec);
        let plan = Plan::new(&fabric, &settings).unwrap();
        let overhead = Time(100_000);
        let job = Replay { schedule, nodes, unit_ps: 1000, overhead, eager_max: 10_000, starts: &[], timed: true };
        if by_kinds {
            let run = shifts(&plan, &settings, &job)
                .map(|(shifts, _)| shifts.iter().flat_map(|shift| &shift.runs).filter(|runs| **runs).count());
            return (replay(&plan, &settings, job).unwrap(), run);
        }
        let mut whole = Whole::new(&plan, &job);
        whole.add(&Machine::ran(&plan, &settings, job, &[]).unwrap(), 1);
        (whole.replayed(), None)
    }

    /// Rings of one GPU of each host on rails of their own, three alike and one that computes longer, and a lone rank.
    #[test]
    fn parts_that_meet_nowhere_run_once_and_count_each() {
        let rails = [0, 1, 2, 3];
        let rings = rails.map(|rail| ring(4 * rail, 4, if rail == 2 { 70 } else { 20 }));
        let text = format!("num_ranks 17\n{}rank 16 {{ calc 5 }}\n", rings.concat());
        let schedule = Schedule::parse(&text).unwrap();
        let nodes: Vec<u32> =
            rails.iter().flat_map(|rail| (0..4).map(move |host| 8 * host + rail)).chain([7]).collect();
        let [(own, run), (all, _)] = [true, false].map(|by| ran("hgx-h100-rail", &nodes, &schedule, by));
        assert_eq!(run, Some(4 + 4 + 1));
        let same = Replayed { run: super::super::Run { trace_hash: all.run.trace_hash, ..own.run.clone() }, ..own };
        assert_eq!(same, all);
        // On nodes that they share, the same rings are one part.
        let nodes: Vec<u32> = (0..17).map(|rank| rank % 4).collect();
        let [shared, all] = [true, false].map(|by| ran("hgx-h100-rail", &nodes, &schedule, by));
        assert_eq!(shared, all);
    }
}
