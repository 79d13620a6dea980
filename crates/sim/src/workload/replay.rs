//! A schedule on the packet network: its messages as packets, its computations as time on its ranks' processors.
//!
//! A send occupies its processor for the overhead. Then the network has its message, and the send is over. A message of
//! more bytes than `eager_max` first asks the receiver (an empty message each way); its send is over on arrival. A
//! receive occupies its processor for the overhead once its message is there. Messages of one pair and tag are received
//! in the order of their sends, whichever packets come first. Receives of any source or tag take what arrives first.

use super::alike::{self, Copies, Shift};
use super::whole::{Replayed, Whole};
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::{Message, Net, Note};
use crate::plan::{Plan, RouteBuffer, UNLIMITED};
use hotlink_fabric::units::{Rate, Time};
use hotlink_schedule::{Kind, LATEST, Line, Matching, Op, Schedule, States, Stuck};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

/// What runs, and where.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// The schedule.
    pub schedule: &'a Schedule,
    /// The node of each rank; ranks of one node hand messages to each other without the network, in no time.
    pub nodes: &'a [u32],
    /// Picoseconds that a unit of computation stands for.
    pub unit_ps: u64,
    /// A processor's time to send or receive a message.
    pub overhead: Time,
    /// Messages of more bytes ask first.
    pub eager_max: u64,
    /// When each rank begins; empty: all at once.
    pub starts: &'a [Time],
    /// Whether the time that each message took is kept.
    pub timed: bool,
}

/// Why a schedule did not run to its end.
#[derive(Debug)]
pub enum ReplayError {
    /// Operations that never end, messages that nobody takes.
    Stuck(Stuck),
    /// The network failed, or took messages for good.
    Network(SimError),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Stuck(stuck) => stuck.fmt(f),
            ReplayError::Network(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<SimError> for ReplayError {
    fn from(error: SimError) -> ReplayError {
        ReplayError::Network(error)
    }
}

/// Most processors in all.
const MOST_LANES: u64 = 1 << 26;

/// What a message of the network is to its operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Data,
    Request,
    Clearance,
}

impl Part {
    fn tag(self, op: u32) -> u64 {
        u64::from(op) << 2 | self as u64
    }
    fn of(tag: u64) -> (u32, Part) {
        let part = match tag & 3 {
            0 => Part::Data,
            1 => Part::Request,
            _ => Part::Clearance,
        };
        ((tag >> 2) as u32, part)
    }
}

const ENDED: u8 = 1;
/// For a send, its data or its request is at the receiver; its receive was cleared.
const ARRIVED: u8 = 2;
const ASKED: u8 = 4;
const CLEARED: u8 = 8;
/// A post's processor is free: what is left of it delays only what waits for it.
const POSTED: u8 = 16;
/// Marks the timer of a rank's start: operations have smaller numbers.
const BEGINS: u32 = 1 << 31;

#[derive(Clone, Copy)]
pub(super) struct Cpu {
    busy: bool,
    line: Line,
    pub(super) work: u64,
    /// Of posts.
    pub(super) posting: u64,
}

/// What is kept of an operation from the first that it waited for to its end, or of a send to that of its receive.
#[derive(Clone, Copy, Default)]
struct Own {
    /// Longest chain to the operation's start, then to its end.
    chain: u64,
    flags: u8,
}

pub(super) struct Machine<'a, 'n> {
    job: Replay<'a>,
    /// By rank, whether it runs; empty: all do.
    runs: &'a [bool],
    plan: &'n Plan<'n>,
    pub(super) net: Net<'n>,
    states: States<Own>,
    matching: Matching,
    pub(super) cpus: Vec<Cpu>,
    pub(super) cpus_each: u32,
    pub(super) finish: Vec<u64>,
    ready: Vec<u32>,
    /// Messages within a node.
    within: Vec<(u32, Part)>,
    starts_matter: bool,
    /// The longest chain of what has ended.
    pub(super) longest: u64,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// By send: when its message set out, then how long it took; empty unless that is kept.
    pub(super) took: Vec<u64>,
    ways: HashMap<(u32, u32), (u64, Rate)>,
    way: RouteBuffer,
}

/// Runs a schedule.
///
/// # Errors
/// What keeps it from its end.
pub fn replay(plan: &Plan<'_>, settings: &Settings, job: Replay<'_>) -> Result<Replayed, ReplayError> {
    let (nodes, ranks) = (plan.fabric.nodes(), job.schedule.ranks());
    if job.nodes.len() != ranks as usize || job.nodes.iter().any(|&node| node >= nodes) {
        let what = format!("{ranks} ranks on {} places: each rank needs a node, 0 to {}", job.nodes.len(), nodes - 1);
        return Err(SimError::Input(what).into());
    }
    if let Some((shifts, copies)) = alike::shifts(plan, settings, &job)
        && let Some(whole) = by_shifts(plan, settings, job, &shifts, &copies)?
    {
        return Ok(whole);
    }
    let mut whole = Whole::new(plan, &job);
    whole.add(&Machine::ran(plan, settings, job, &[])?, 1);
    Ok(whole.replayed())
}

/// What runs for others counts for them, too. `None`: some operation never ends, and a run of all says of how many.
fn by_shifts(
    plan: &Plan<'_>,
    settings: &Settings,
    job: Replay<'_>,
    shifts: &[Shift],
    copies: &Copies,
) -> Result<Option<Replayed>, ReplayError> {
    let mut whole = Whole::new(plan, &job);
    for Shift { runs, times } in shifts {
        match Machine::ran(plan, settings, job, runs) {
            Ok(machine) => whole.add(&machine, *times),
            Err(ReplayError::Stuck(_)) => return Ok(None),
            Err(failed) => return Err(failed),
        }
    }
    whole.copy(&job, copies);
    Ok(Some(whole.replayed()))
}

impl<'a, 'n> Machine<'a, 'n> {
    /// What these ranks did to their end, or all.
    pub(super) fn ran(
        plan: &'n Plan<'n>,
        settings: &Settings,
        job: Replay<'a>,
        runs: &'a [bool],
    ) -> Result<Machine<'a, 'n>, ReplayError> {
        let mut machine = Machine::new(plan, settings, job, runs).map_err(ReplayError::Stuck)?;
        machine.begin();
        machine.drain()?;
        while let Some(note) = machine.net.advance()? {
            match note {
                Note::Timer(id) if id & BEGINS != 0 => machine.ready_of(id & !BEGINS),
                Note::Timer(id) => machine.worked(id)?,
                Note::Delivered(Message { tag, .. }) => {
                    let (id, part) = Part::of(tag);
                    machine.came(id, part)?;
                }
            }
            machine.drain()?;
        }
        machine.at_the_end()?;
        Ok(machine)
    }
    fn new(
        plan: &'n Plan<'n>,
        settings: &Settings,
        job: Replay<'a>,
        runs: &'a [bool],
    ) -> Result<Machine<'a, 'n>, Stuck> {
        let crosses = |op: &Op| {
            let [from, to] = [op.rank, op.peer].map(|rank| rank as usize);
            op.kind == Kind::Send && is_run(runs, op.rank) && job.nodes[from] != job.nodes[to]
        };
        let cpus_each = job.schedule.extent().cpus.max(1);
        let crossing = job.schedule.ops().filter(crosses).map(|op| op.size).sum();
        let ranks = job.schedule.ranks();
        if u64::from(ranks) * u64::from(cpus_each) > MOST_LANES {
            return Err(Stuck::TooLarge);
        }
        let mut net = Net::new(plan, settings);
        net.expect(crossing);
        Ok(Machine {
            job,
            runs,
            plan,
            net,
            matching: Matching::new(job.schedule),
            took: if job.timed { vec![0; job.schedule.ops().len()] } else { Vec::new() },
            states: States::new(job.schedule),
            longest: 0,
            cpus: vec![Cpu { busy: false, line: Line::EMPTY, work: 0, posting: 0 }; (ranks * cpus_each) as usize],
            cpus_each,
            finish: vec![0; ranks as usize],
            ready: Vec::new(),
            within: Vec::new(),
            starts_matter: job.schedule.has_start_waits(),
            messages: 0,
            bytes: 0,
            ways: HashMap::new(),
            way: RouteBuffer::default(),
        })
    }
    /// Ranks begin now, or have a timer for it.
    fn begin(&mut self) {
        // What is ready is taken from behind.
        for rank in (0..self.job.schedule.ranks()).rev().filter(|&rank| is_run(self.runs, rank)) {
            match self.job.starts.get(rank as usize) {
                Some(&start) if start.0 > 0 => self.net.timer(start, BEGINS | rank),
                _ => self.ready_of(rank),
            }
        }
    }
    /// What waits for nothing in a rank can go on.
    fn ready_of(&mut self, rank: u32) {
        let states = &self.states;
        let ids = self.job.schedule.of_rank(rank).rev();
        self.ready.extend(ids.filter(|&id| states.is_ready(id)));
    }
    fn op(&self, id: u32) -> Op {
        self.job.schedule.op(id)
    }
    fn own(&mut self, id: u32) -> &mut Own {
        self.states.own(id)
    }
    fn is_eager(&self, send: u32) -> bool {
        self.op(send).size <= self.job.eager_max
    }
    fn has(&mut self, id: u32, flag: u8) -> bool {
        self.own(id).flags & flag != 0
    }
    /// Lets everything go on that became ready.
    fn drain(&mut self) -> Result<(), SimError> {
        loop {
            if let Some(id) = self.ready.pop() {
                match self.op(id).kind {
                    Kind::Calc | Kind::Send | Kind::Post => self.ask_cpu(id)?,
                    Kind::Recv => self.post(id)?,
                }
            } else if let Some((id, part)) = self.within.pop() {
                self.came(id, part)?;
            } else {
                return Ok(());
            }
        }
    }
    fn cpu(&self, id: u32) -> usize {
        let op = self.op(id);
        (op.rank * self.cpus_each + u32::from(op.cpu)) as usize
    }
    fn ask_cpu(&mut self, id: u32) -> Result<(), SimError> {
        let at = self.cpu(id);
        let cpu = &mut self.cpus[at];
        if !cpu.busy {
            return self.run(id);
        }
        cpu.line.join(&mut self.states, id);
        Ok(())
    }
    /// `id` has its processor.
    fn run(&mut self, id: u32) -> Result<(), SimError> {
        let op = self.op(id);
        let work = match op.kind {
            Kind::Calc | Kind::Post => op.size.saturating_mul(self.job.unit_ps),
            Kind::Send | Kind::Recv => self.job.overhead.0,
        };
        if op.kind != Kind::Recv && self.starts_matter {
            self.release(id, true);
        }
        let end = self.after(work)?;
        let counts = op.kind != Kind::Post;
        self.own(id).chain += if counts { work } else { 0 };
        if work == 0 {
            return self.done(id);
        }
        let at = self.cpu(id);
        let cpu = &mut self.cpus[at];
        cpu.busy = true;
        cpu.work += work;
        cpu.posting += if counts { 0 } else { work };
        self.net.timer(end, id);
        Ok(())
    }
    fn after(&self, work: u64) -> Result<Time, SimError> {
        let end = self.net.now().0.checked_add(work).filter(|&end| end <= LATEST);
        end.map(Time).ok_or_else(|| SimError::Input("the simulated time passes 2^62 ps (53 days)".to_owned()))
    }
    /// A processor's work is over: the next in its line starts.
    fn worked(&mut self, id: u32) -> Result<(), SimError> {
        if self.has(id, POSTED) {
            self.end(id);
            return Ok(());
        }
        let cpu = self.cpu(id);
        self.cpus[cpu].busy = false;
        self.done(id)?;
        while !self.cpus[cpu].busy
            && let Some(first) = self.cpus[cpu].line.take(&mut self.states)
        {
            self.run(first)?;
        }
        Ok(())
    }
    fn done(&mut self, id: u32) -> Result<(), SimError> {
        match self.op(id).kind {
            Kind::Calc => self.end(id),
            Kind::Post => {
                let then = u64::from(self.op(id).tag).saturating_mul(self.job.unit_ps);
                self.own(id).flags |= POSTED;
                if then == 0 {
                    self.end(id);
                } else {
                    self.net.timer(self.after(then)?, id);
                }
            }
            Kind::Recv => {
                self.messages += 1;
                let send = self.states.partner(id).expect("a receive that goes on is matched");
                self.bytes += self.op(send).size;
                self.end(id);
                self.states.ends(send, 0);
            }
            Kind::Send => {
                let eager = self.is_eager(id);
                self.transmit(id, if eager { Part::Data } else { Part::Request })?;
                if eager {
                    self.end(id);
                }
                if !self.matching.has_wildcards() {
                    self.arrive(id)?;
                }
            }
        }
        Ok(())
    }
    fn transmit(&mut self, send: u32, part: Part) -> Result<(), SimError> {
        let op = self.op(send);
        if let (Some(took), Part::Data) = (self.took.get_mut(send as usize), part) {
            *took = self.net.now().0;
        }
        let (ranks, bytes) = match part {
            Part::Data => ([op.rank, op.peer], op.size),
            Part::Request => ([op.rank, op.peer], 0),
            Part::Clearance => ([op.peer, op.rank], 0),
        };
        let [from, to] = ranks.map(|rank| self.job.nodes[rank as usize]);
        if from == to {
            self.within.push((send, part));
            return Ok(());
        }
        self.net.post_on([ranks[0], ranks[1], op.tag], [from, to], bytes, part.tag(send)).map(|_| ())
    }
    /// No message takes less from node to node.
    fn least(&mut self, from: u32, to: u32, bytes: u64) -> Result<u64, SimError> {
        if from == to {
            return Ok(0);
        }
        let (latency, rate) = match self.ways.entry((from, to)) {
            Entry::Occupied(way) => *way.get(),
            Entry::Vacant(none) => *none.insert(self.plan.quickest(from, to, &mut self.way)?),
        };
        Ok(latency + if rate == UNLIMITED { 0 } else { rate.time_for(bytes).0 })
    }
    /// Something of a send is where it was sent to.
    fn came(&mut self, send: u32, part: Part) -> Result<(), SimError> {
        match part {
            Part::Clearance => return self.transmit(send, Part::Data),
            Part::Data => {
                self.own(send).flags |= ARRIVED;
                if let Some(took) = self.took.get_mut(send as usize) {
                    *took = self.net.now().0 - *took;
                }
            }
            Part::Request => self.own(send).flags |= ASKED,
        }
        let first = part == Part::Request || self.is_eager(send);
        match self.matching.has_wildcards() && first {
            true => self.arrive(send),
            false => self.meet(send),
        }
    }
    /// A receive is posted.
    fn post(&mut self, recv: u32) -> Result<(), SimError> {
        if self.starts_matter {
            self.release(recv, true);
        }
        match self.matching.post(&mut self.states, recv, &self.job.schedule.op(recv)) {
            Some(send) => self.meet(send),
            None => Ok(()),
        }
    }
    /// A message looks for its receive.
    fn arrive(&mut self, send: u32) -> Result<(), SimError> {
        match self.matching.arrive(&mut self.states, send, &self.job.schedule.op(send)) {
            Some(_) => self.meet(send),
            None => Ok(()),
        }
    }
    /// A send and its receive go on as far as they can.
    fn meet(&mut self, send: u32) -> Result<(), SimError> {
        let Some(recv) = self.states.partner(send) else { return Ok(()) };
        let op = self.op(send);
        let [from, to] = [op.rank, op.peer].map(|rank| self.job.nodes[rank as usize]);
        if self.has(send, ASKED) && !self.has(send, CLEARED) {
            self.own(send).flags |= CLEARED;
            let asked = self.own(send).chain + self.least(from, to, 0)?;
            let cleared = asked.max(self.own(recv).chain) + self.least(to, from, 0)?;
            self.own(send).chain = cleared;
            self.transmit(send, Part::Clearance)?;
        }
        if self.has(send, ARRIVED) {
            let arrival = self.own(send).chain + self.least(from, to, op.size)?;
            if !self.is_eager(send) {
                self.own(send).chain = arrival;
                self.end(send);
            }
            let own = self.own(recv);
            own.chain = arrival.max(own.chain);
            self.ask_cpu(recv)?;
        }
        Ok(())
    }
    fn end(&mut self, id: u32) {
        let own = self.own(id);
        own.flags |= ENDED;
        self.longest = own.chain.max(self.longest);
        let Op { kind, rank, .. } = self.op(id);
        let finish = &mut self.finish[rank as usize];
        *finish = self.net.now().0.max(*finish);
        self.release(id, false);
        if kind != Kind::Send {
            self.states.ends(id, 0);
        }
    }
    /// What waits for the end of `id` (or its start) waits no longer.
    fn release(&mut self, id: u32, start: bool) {
        let chain = self.own(id).chain;
        self.job.schedule.each_successor(id, start, |after| {
            if self.states.released(after, |own| own.chain = chain.max(own.chain)) {
                self.ready.push(after);
            }
        });
    }
    fn at_the_end(&self) -> Result<(), ReplayError> {
        let others = |id: u32| !self.runs.is_empty() && !is_run(self.runs, self.op(id).rank);
        let gone = |id: u32| self.states.is_gone(id) || others(id);
        let ended = |id: u32| gone(id) || self.states.get(id).is_some_and(|own| own.flags & ENDED != 0);
        let received = |id: u32| gone(id) || self.states.partner(id).is_some();
        Stuck::at_the_end(self.job.schedule, ended, received)
            .map_err(|stuck| self.net.lost().map_or(ReplayError::Stuck(stuck), |lost| SimError::Lost(lost).into()))
    }
}

fn is_run(runs: &[bool], rank: u32) -> bool {
    runs.get(rank as usize).copied().unwrap_or(true)
}
