//! The run: operations that are ready ask for their adapter, then for their processor, first come first served.
//!
//! All messages spend the same o + L between the start of their send and their head's arrival, so heads arrive in the
//! order in which sends start; the receiving adapter is therefore booked when the send starts, and a message costs one
//! event. An operation that nothing waits for costs none at its end.

use super::outcome::{Limit, Outcome};
use super::parameters::LogGops;
use hotlink_bound::schedule::{Gaps, most};
use hotlink_event::NONE;
use hotlink_event::{Event, Queue, RadixHeap, TraceHash};
use hotlink_fabric::units::Time;
use hotlink_schedule::{Kind, Matching, Op, Schedule, Stuck};

/// The end of time.
const LATEST: u64 = 1 << 62;
/// Most processors or adapters in all.
const MOST_LANES: u64 = 1 << 26;

/// An operation ended: what requires it may go on.
const DONE: u8 = 0;
/// A message is whole in the receiving adapter.
const AVAILABLE: u8 = 1;
/// A processor with a queue is free.
const CPU_FREE: u8 = 2;
/// An adapter with a queue may send again.
const NIC_FREE: u8 = 3;
/// A rendezvous request is at the receiver.
const REQUEST: u8 = 4;
/// A rendezvous clearance is at the sender.
const CLEAR: u8 = 5;

/// Operations that wait in turn, threaded through `Machine::next`.
#[derive(Clone, Copy)]
struct Line {
    first: u32,
    last: u32,
}

const NOBODY: Line = Line { first: NONE, last: NONE };

#[derive(Clone, Copy)]
struct Cpu {
    free_at: u64,
    line: Line,
    /// Work done, for the bound.
    work: u64,
}

#[derive(Clone, Copy)]
struct Nic {
    send_free: u64,
    recv_free: u64,
    /// When the last message that came was whole: what an adapter hands over keeps its order.
    last_whole: u64,
    line: Line,
    /// A send has its turn here and waits for its processor.
    held: bool,
    sent: Gaps,
    received: Gaps,
}

/// Runs `schedule` on a machine of these parameters, all ranks starting at once.
///
/// # Errors
/// What keeps the schedule from its end.
pub fn simulate(schedule: &Schedule, parameters: &LogGops) -> Result<Outcome, Stuck> {
    let mut machine = Machine::new(schedule, *parameters)?;
    machine.run();
    machine.outcome()
}

struct Machine<'a> {
    schedule: &'a Schedule,
    p: LogGops,
    queue: RadixHeap,
    trace: TraceHash,
    events: u64,
    now: u64,
    /// Ready now, in order.
    ready: Vec<u32>,
    waits: Vec<u32>,
    /// The other operation of the message, once matched.
    partner: Vec<u32>,
    /// Next in the line of a processor or adapter.
    next: Vec<u32>,
    /// A rendezvous send that was cleared, a rendezvous receive whose data has come.
    second_phase: Vec<bool>,
    /// Longest chain to the operation's start, then to its end.
    chain: Vec<u64>,
    matching: Matching,
    cpus: Vec<Cpu>,
    nics: Vec<Nic>,
    cpus_each: u32,
    nics_each: u32,
    finish: Vec<u64>,
    ended: Vec<bool>,
    starts_matter: bool,
    late: bool,
    messages: u64,
    bytes: u64,
}

impl<'a> Machine<'a> {
    fn new(schedule: &'a Schedule, p: LogGops) -> Result<Machine<'a>, Stuck> {
        let ops = schedule.ops();
        let each = |number: fn(&Op) -> u8| u32::from(ops.iter().map(number).max().unwrap_or(0)) + 1;
        let (cpus_each, nics_each) = (each(|op| op.cpu), each(|op| op.nic));
        if u64::from(schedule.ranks()) * u64::from(cpus_each.max(nics_each)) > MOST_LANES {
            return Err(Stuck::TooLarge);
        }
        let many = |each: u32| schedule.ranks() as usize * each as usize;
        let nic = Nic {
            send_free: 0,
            recv_free: 0,
            last_whole: 0,
            line: NOBODY,
            held: false,
            sent: Gaps::default(),
            received: Gaps::default(),
        };
        let waits = schedule.waits().to_vec();
        let idle = (0..schedule.ranks()).flat_map(|rank| schedule.of_rank(rank));
        Ok(Machine {
            schedule,
            p,
            queue: RadixHeap::default(),
            trace: TraceHash::default(),
            events: 0,
            now: 0,
            ready: idle.filter(|&op| waits[op as usize] == 0).collect(),
            waits,
            partner: vec![NONE; ops.len()],
            next: vec![NONE; ops.len()],
            second_phase: vec![false; ops.len()],
            chain: vec![0; ops.len()],
            matching: Matching::new(ops),
            cpus: vec![Cpu { free_at: 0, line: NOBODY, work: 0 }; many(cpus_each)],
            nics: vec![nic; many(nics_each)],
            cpus_each,
            nics_each,
            finish: vec![0; schedule.ranks() as usize],
            ended: vec![false; ops.len()],
            starts_matter: schedule.has_start_waits(),
            late: false,
            messages: 0,
            bytes: 0,
        })
    }

    fn run(&mut self) {
        self.drain();
        while let Some((at, event)) = self.queue.pop() {
            self.now = at;
            self.trace.add(at, event);
            self.events += 1;
            let id = event.id();
            match event.kind() {
                DONE => self.release(id, false),
                AVAILABLE if self.is_eager(id) => self.arrive(id),
                AVAILABLE => {
                    let recv = self.partner[id as usize];
                    self.second_phase[recv as usize] = true;
                    self.ask_cpu(recv);
                }
                CPU_FREE => {
                    let op = take(&mut self.cpus[id as usize].line, &self.next).expect("a free processor's line");
                    self.start(op);
                    if self.cpus[id as usize].line.first != NONE {
                        self.push(self.cpus[id as usize].free_at, CPU_FREE, id);
                    }
                }
                NIC_FREE => {
                    let nic = &mut self.nics[id as usize];
                    nic.held = true;
                    let op = take(&mut nic.line, &self.next).expect("a free adapter's line");
                    self.ask_cpu(op);
                }
                REQUEST => self.arrive(id),
                CLEAR => {
                    self.second_phase[id as usize] = true;
                    self.ask_nic(id);
                }
                kind => unreachable!("event kind {kind}"),
            }
            self.drain();
            if self.late || self.now > LATEST {
                return;
            }
        }
    }

    fn push(&mut self, at: u64, kind: u8, id: u32) {
        self.queue.push(at, Event::new(kind, id, 0));
    }

    /// Lets everything go on that became ready.
    fn drain(&mut self) {
        let mut done = 0;
        while let Some(&id) = self.ready.get(done) {
            done += 1;
            match self.op(id).kind {
                Kind::Send if self.is_eager(id) => self.ask_nic(id),
                Kind::Calc | Kind::Send => self.ask_cpu(id),
                Kind::Recv => self.post(id),
            }
        }
        self.ready.clear();
    }

    fn op(&self, id: u32) -> &'a Op {
        &self.schedule.ops()[id as usize]
    }

    fn is_eager(&self, send: u32) -> bool {
        self.op(send).size <= self.p.eager_max
    }

    /// What waits for the end of `id` (or its start) waits no longer.
    fn release(&mut self, id: u32, start: bool) {
        let chain = self.chain[id as usize];
        for (after, start_only) in self.schedule.successors(id) {
            if start_only == start {
                let after_chain = &mut self.chain[after as usize];
                *after_chain = chain.max(*after_chain);
                let waits = &mut self.waits[after as usize];
                *waits -= 1;
                if *waits == 0 {
                    self.ready.push(after);
                }
            }
        }
    }

    fn started(&mut self, id: u32) {
        if self.starts_matter {
            self.release(id, true);
        }
    }

    /// `id` ends at `at`.
    fn end(&mut self, id: u32, at: u64) {
        self.ended[id as usize] = true;
        let rank = self.op(id).rank;
        let finish = &mut self.finish[rank as usize];
        *finish = at.max(*finish);
        if self.schedule.has_successors(id) {
            self.push(at, DONE, id);
        }
    }

    fn nic(&self, rank: u32, nic: u8) -> usize {
        rank as usize * self.nics_each as usize + usize::from(nic)
    }

    fn ask_nic(&mut self, id: u32) {
        let op = self.op(id);
        let at = self.nic(op.rank, op.nic);
        let nic = &mut self.nics[at];
        let idle = !nic.held && nic.line.first == NONE;
        if idle && nic.send_free <= self.now {
            nic.held = true;
            self.ask_cpu(id);
            return;
        }
        let free_at = nic.send_free;
        join(&mut nic.line, &mut self.next, id);
        if idle {
            self.push(free_at, NIC_FREE, at as u32);
        }
    }

    fn ask_cpu(&mut self, id: u32) {
        let op = self.op(id);
        let at = op.rank as usize * self.cpus_each as usize + usize::from(op.cpu);
        let cpu = &mut self.cpus[at];
        let idle = cpu.line.first == NONE;
        if idle && cpu.free_at <= self.now {
            self.start(id);
            return;
        }
        let free_at = cpu.free_at;
        join(&mut cpu.line, &mut self.next, id);
        if idle {
            self.push(free_at, CPU_FREE, at as u32);
        }
    }

    /// `id` has its processor now, and its adapter if it sends data.
    fn start(&mut self, id: u32) {
        let op = self.op(id);
        let work = match op.kind {
            Kind::Calc => self.start_calc(id, op),
            Kind::Send if self.is_eager(id) || self.second_phase[id as usize] => self.start_data(id, op),
            Kind::Send => self.start_request(id),
            Kind::Recv => self.start_recv(id),
        };
        let cpu = &mut self.cpus[op.rank as usize * self.cpus_each as usize + usize::from(op.cpu)];
        cpu.free_at = self.now + work;
        cpu.work += work;
    }

    fn start_calc(&mut self, id: u32, op: &Op) -> u64 {
        self.started(id);
        let work = op.size.saturating_mul(self.p.calc_unit.0).min(LATEST);
        self.chain[id as usize] += work;
        self.end(id, self.now + work);
        work
    }

    fn start_data(&mut self, id: u32, op: &Op) -> u64 {
        let (work, bytes) = (self.p.work(op.size), self.p.transit(op.size));
        let mut until_end = work;
        if self.is_eager(id) {
            self.started(id);
        } else {
            // The buffer is the adapter's until the last byte has left.
            until_end = work.max(self.p.overhead.0 + bytes);
            let asked = self.chain[id as usize] + self.flight();
            self.chain[id as usize] = asked.max(self.chain[self.partner[id as usize] as usize]) + self.flight();
        }
        self.chain[id as usize] += until_end;
        self.end(id, self.now + until_end);
        let gap = self.p.occupancy(op.size);
        let at = self.nic(op.rank, op.nic);
        let nic = &mut self.nics[at];
        nic.held = false;
        nic.send_free = self.now + gap;
        nic.sent.add(gap);
        if nic.line.first != NONE {
            self.push(self.now + gap, NIC_FREE, at as u32);
        }
        let to = self.nic(op.peer, op.nic);
        let head = self.now + self.flight();
        let receiver = &mut self.nics[to];
        // A crowd of giant messages may book beyond the end of time.
        self.late |= receiver.recv_free > LATEST;
        let served = head.max(receiver.recv_free.min(LATEST));
        receiver.recv_free = served + gap;
        receiver.received.add(gap);
        receiver.last_whole = receiver.last_whole.max(served + bytes);
        let whole = receiver.last_whole;
        self.push(whole, AVAILABLE, id);
        work
    }

    /// Requests do not overtake the messages before them, and take no gap themselves.
    fn start_request(&mut self, id: u32) -> u64 {
        self.started(id);
        let op = self.op(id);
        let served = self.nics[self.nic(op.peer, op.nic)].recv_free.min(LATEST);
        self.push(served.max(self.now + self.flight()), REQUEST, id);
        self.p.overhead.0
    }

    /// o + L.
    fn flight(&self) -> u64 {
        self.p.overhead.0 + self.p.latency.0
    }

    fn start_recv(&mut self, id: u32) -> u64 {
        let send = self.partner[id as usize];
        if !self.is_eager(send) && !self.second_phase[id as usize] {
            self.push(self.now + self.flight(), CLEAR, send);
            return self.p.overhead.0;
        }
        let size = self.op(send).size;
        let work = self.p.work(size);
        let bytes = self.p.transit(size);
        let sent = if self.is_eager(send) { work } else { work.max(self.p.overhead.0 + bytes) };
        let arrival = self.chain[send as usize] - sent + self.flight() + bytes;
        self.chain[id as usize] = arrival.max(self.chain[id as usize]) + work;
        self.messages += 1;
        self.bytes += size;
        self.end(id, self.now + work);
        work
    }

    /// A receive is posted.
    fn post(&mut self, recv: u32) {
        self.started(recv);
        if let Some(send) = self.matching.post(recv, self.op(recv)) {
            self.matched(send, recv);
        }
    }

    /// A message, or its request, is at the receiver.
    fn arrive(&mut self, send: u32) {
        if let Some(recv) = self.matching.arrive(send) {
            self.matched(send, recv);
        }
    }

    fn matched(&mut self, send: u32, recv: u32) {
        self.partner[send as usize] = recv;
        self.partner[recv as usize] = send;
        self.ask_cpu(recv);
    }

    fn outcome(self) -> Result<Outcome, Stuck> {
        if self.late || self.now > LATEST || self.finish.iter().any(|&at| at > LATEST) {
            return Err(Stuck::Late);
        }
        let received = |id: u32| self.partner[id as usize] != NONE;
        Stuck::at_the_end(self.schedule, |id| self.ended[id as usize], received)?;
        let ((bound, limit), busiest) = (self.bound(), self.busiest());
        Ok(Outcome {
            finish: self.finish.into_iter().map(Time).collect(),
            operations: self.schedule.ops().len() as u64,
            messages: self.messages,
            bytes: self.bytes,
            events: self.events,
            trace_hash: self.trace.value(),
            bound: Time(bound),
            limit,
            busiest,
        })
    }

    /// Of equals the first.
    fn busiest(&self) -> Option<(Limit, Time)> {
        let cpus = self.cpus.iter().enumerate().map(|(at, cpu)| {
            let at = at as u32;
            (cpu.work, Limit::Cpu { rank: at / self.cpus_each, cpu: at % self.cpus_each })
        });
        let nics = self.nics.iter().enumerate().flat_map(|(at, gaps)| {
            let (rank, nic) = (at as u32 / self.nics_each, at as u32 % self.nics_each);
            [(gaps.sent.sum, Limit::Send { rank, nic }), (gaps.received.sum, Limit::Recv { rank, nic })]
        });
        let most = cpus.chain(nics).reduce(|most, one| if one.0 > most.0 { one } else { most });
        most.filter(|most| most.0 > 0).map(|(time, limit)| (limit, Time(time)))
    }

    /// The largest of the longest chain and each rank's work. No message is at a receiver before o + L.
    fn bound(&self) -> (u64, Limit) {
        let chain = (self.chain.iter().copied().max().unwrap_or(0), Limit::Chain);
        let cpus = self.cpus.iter().enumerate().map(|(at, cpu)| {
            let at = at as u32;
            (cpu.work, Limit::Cpu { rank: at / self.cpus_each, cpu: at % self.cpus_each })
        });
        let overhead = self.p.overhead.0;
        let nics = self.nics.iter().enumerate().flat_map(|(at, gaps)| {
            let (rank, nic) = (at as u32 / self.nics_each, at as u32 % self.nics_each);
            let sent = gaps.sent.least(0, overhead).map(|time| (time, Limit::Send { rank, nic }));
            let received = gaps.received.least(self.flight(), overhead).map(|time| (time, Limit::Recv { rank, nic }));
            sent.into_iter().chain(received)
        });
        most(chain, cpus.chain(nics))
    }
}

fn join(line: &mut Line, next: &mut [u32], id: u32) {
    next[id as usize] = NONE;
    match line.last {
        NONE => line.first = id,
        last => next[last as usize] = id,
    }
    line.last = id;
}

fn take(line: &mut Line, next: &[u32]) -> Option<u32> {
    let first = line.first;
    if first == NONE {
        return None;
    }
    line.first = next[first as usize];
    if line.first == NONE {
        line.last = NONE;
    }
    Some(first)
}
