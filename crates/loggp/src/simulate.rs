//! The run: operations that are ready ask for their adapter, then for their processor, first come first served.
//!
//! All messages spend the same o + L between the start of their send and their head's arrival. Heads therefore arrive
//! in the order in which sends start. The receiving adapter is booked when the send starts, and a message costs one
//! event. An operation that nothing waits for has no event at its end.

use super::outcome::{Limit, Outcome};
use super::parameters::LogGops;
use hotlink_bound::schedule::{Gaps, most};
use hotlink_event::{Event, Few, Queue, RadixHeap, TraceHash};
use hotlink_fabric::units::Time;
use hotlink_schedule::{Extent, Kind, LATEST, Line, Marks, Matching, Op, Schedule, States, Stuck, are_whole};

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

#[derive(Clone, Copy)]
struct Cpu {
    free_at: u64,
    line: Line,
    /// Work done.
    work: u64,
    /// The part of it that handed over messages: no bound counts it.
    posting: u64,
}

#[derive(Clone, Copy)]
struct Nic {
    send_free: u64,
    recv_free: u64,
    /// When the last message was whole: an adapter keeps the order of its messages.
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

/// What a message of one size takes: most are of the size of the one before.
#[derive(Clone, Copy)]
struct Costs {
    size: u64,
    work: u64,
    transit: u64,
    gap: u64,
}

impl Costs {
    fn of(p: &LogGops, size: u64) -> Costs {
        Costs { size, work: p.work(size), transit: p.transit(size), gap: p.occupancy(size) }
    }
}

struct Machine<'a> {
    schedule: &'a Schedule,
    p: LogGops,
    costs: Costs,
    queue: Few<RadixHeap>,
    trace: TraceHash,
    events: u64,
    now: u64,
    /// Ready now, in order.
    ready: Vec<u32>,
    /// With the longest chain to the operation's start, then to its end.
    states: States<u64>,
    /// A rendezvous send that was cleared, a rendezvous receive whose data has come; empty where none asks first.
    second_phase: Marks,
    ended: Marks,
    /// Operations that have not ended, and messages that no receive has taken.
    left: usize,
    sends: u64,
    /// The longest chain of what has ended.
    longest: u64,
    matching: Matching,
    cpus: Vec<Cpu>,
    nics: Vec<Nic>,
    cpus_each: u32,
    nics_each: u32,
    finish: Vec<u64>,
    starts_matter: bool,
    late: bool,
    messages: u64,
    bytes: u64,
}

impl<'a> Machine<'a> {
    fn new(schedule: &'a Schedule, p: LogGops) -> Result<Machine<'a>, Stuck> {
        let &Extent { cpus, nics, sends, largest, .. } = schedule.extent();
        let (cpus_each, nics_each) = (cpus.max(1), nics.max(1));
        are_whole(schedule)?;
        if u64::from(schedule.ranks()) * u64::from(cpus_each.max(nics_each)) > MOST_LANES {
            return Err(Stuck::TooLarge);
        }
        let many = |each: u32| schedule.ranks() as usize * each as usize;
        let nic = Nic {
            send_free: 0,
            recv_free: 0,
            last_whole: 0,
            line: Line::EMPTY,
            held: false,
            sent: Gaps::default(),
            received: Gaps::default(),
        };
        let (operations, states) = (schedule.ops().len(), States::new(schedule));
        let idle = (0..schedule.ranks()).flat_map(|rank| schedule.of_rank(rank));
        Ok(Machine {
            schedule,
            costs: Costs::of(&p, 0),
            p,
            queue: Few::default(),
            trace: TraceHash::default(),
            events: 0,
            now: 0,
            ready: idle.filter(|&op| states.is_ready(op)).collect(),
            second_phase: Marks::new(if largest > p.eager_max { operations } else { 0 }),
            ended: Marks::new(operations),
            left: operations,
            sends,
            longest: 0,
            states,
            matching: Matching::new(schedule),
            cpus: vec![Cpu { free_at: 0, line: Line::EMPTY, work: 0, posting: 0 }; many(cpus_each)],
            nics: vec![nic; many(nics_each)],
            cpus_each,
            nics_each,
            finish: vec![0; schedule.ranks() as usize],
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
                DONE => {
                    let chain = self.states.used(id);
                    self.release(id, chain, false);
                }
                AVAILABLE => self.available(id),
                CPU_FREE => {
                    let op = self.cpus[id as usize].line.take(&mut self.states).expect("a free processor's line");
                    self.start(op, &self.op(op), id as usize);
                    if !self.cpus[id as usize].line.is_empty() {
                        self.push(self.cpus[id as usize].free_at, CPU_FREE, id);
                    }
                }
                NIC_FREE => {
                    let nic = &mut self.nics[id as usize];
                    nic.held = true;
                    let op = nic.line.take(&mut self.states).expect("a free adapter's line");
                    self.ask_cpu(op, &self.op(op));
                }
                REQUEST => self.arrive(id, &self.op(id)),
                CLEAR => {
                    self.second_phase.set(id);
                    self.ask_nic(id, &self.op(id));
                }
                kind => unreachable!("event kind {kind}"),
            }
            if !self.ready.is_empty() {
                self.drain();
            }
            if self.late || self.now > LATEST {
                return;
            }
        }
    }

    fn push(&mut self, at: u64, kind: u8, id: u32) {
        self.queue.push(at, Event::new(kind, id, 0));
    }

    /// Starts everything that became ready.
    fn drain(&mut self) {
        let mut done = 0;
        while let Some(&id) = self.ready.get(done) {
            done += 1;
            let op = self.op(id);
            match op.kind {
                Kind::Send if self.is_eager(&op) => self.ask_nic(id, &op),
                Kind::Calc | Kind::Send | Kind::Post => self.ask_cpu(id, &op),
                Kind::Recv => self.post(id, &op),
            }
        }
        self.ready.clear();
    }

    #[inline]
    fn op(&self, id: u32) -> Op {
        self.schedule.op(id)
    }

    /// The other operation of a message that is matched.
    #[inline]
    fn partner(&self, id: u32) -> u32 {
        self.states.partner(id).expect("is matched before")
    }

    #[inline]
    fn chain(&mut self, id: u32) -> &mut u64 {
        self.states.own(id)
    }

    fn is_eager(&self, send: &Op) -> bool {
        send.size <= self.p.eager_max
    }

    #[inline]
    fn costs(&mut self, size: u64) -> Costs {
        if self.costs.size != size {
            self.costs = Costs::of(&self.p, size);
        }
        self.costs
    }

    /// What waits for the end of `id` (or its start) waits no longer.
    fn release(&mut self, id: u32, chain: u64, start: bool) {
        self.schedule.each_successor(id, start, |after| {
            if self.states.released(after, |own| *own = chain.max(*own)) {
                self.ready.push(after);
            }
        });
    }

    fn started(&mut self, id: u32) {
        if self.starts_matter {
            let chain = *self.chain(id);
            self.release(id, chain, true);
        }
    }

    /// `id` ends at `at`, with this chain. Its state is used until what waits for it knows, and until its receive has begun.
    #[inline(always)]
    fn end(&mut self, id: u32, op: &Op, chain: u64, at: u64) {
        self.ended.set(id);
        self.left -= 1;
        self.longest = self.longest.max(chain);
        let finish = &mut self.finish[op.rank as usize];
        *finish = at.max(*finish);
        let is_awaited = self.schedule.has_successors(id);
        self.states.ends(id, u32::from(is_awaited) + u32::from(op.kind == Kind::Send));
        if is_awaited {
            self.push(at, DONE, id);
        }
    }

    fn nic(&self, rank: u32, nic: u8) -> usize {
        rank as usize * self.nics_each as usize + usize::from(nic)
    }

    #[inline]
    fn ask_nic(&mut self, id: u32, op: &Op) {
        let at = self.nic(op.rank, op.nic);
        let nic = &mut self.nics[at];
        let idle = !nic.held && nic.line.is_empty();
        if idle && nic.send_free <= self.now {
            nic.held = true;
            self.ask_cpu(id, op);
            return;
        }
        let free_at = nic.send_free;
        nic.line.join(&mut self.states, id);
        if idle {
            self.push(free_at, NIC_FREE, at as u32);
        }
    }

    #[inline]
    fn ask_cpu(&mut self, id: u32, op: &Op) {
        let at = op.rank as usize * self.cpus_each as usize + usize::from(op.cpu);
        let cpu = &mut self.cpus[at];
        let idle = cpu.line.is_empty();
        if idle && cpu.free_at <= self.now {
            self.start(id, op, at);
            return;
        }
        let free_at = cpu.free_at;
        cpu.line.join(&mut self.states, id);
        if idle {
            self.push(free_at, CPU_FREE, at as u32);
        }
    }

    /// `id` has its processor now, which is `cpu`, and its adapter if it sends data.
    fn start(&mut self, id: u32, op: &Op, cpu: usize) {
        let work = match op.kind {
            Kind::Calc => self.start_calc(id, op, op.size),
            // The model knows processors alone: a post keeps its own until it ends.
            Kind::Post => self.start_calc(id, op, op.size + u64::from(op.tag)),
            Kind::Send if self.is_eager(op) || self.second_phase.has(id) => self.start_data(id, op),
            Kind::Send => self.start_request(id, op),
            Kind::Recv => self.start_recv(id, op),
        };
        let cpu = &mut self.cpus[cpu];
        cpu.free_at = self.now + work;
        cpu.work += work;
        cpu.posting += if op.kind == Kind::Post { work } else { 0 };
    }

    fn start_calc(&mut self, id: u32, op: &Op, units: u64) -> u64 {
        self.started(id);
        let work = units.saturating_mul(self.p.calc_unit.0).min(LATEST + 1);
        let chain = self.chain(id);
        *chain += if op.kind == Kind::Post { 0 } else { work };
        let chain = *chain;
        self.end(id, op, chain, self.now + work);
        work
    }

    fn start_data(&mut self, id: u32, op: &Op) -> u64 {
        let Costs { work, transit: bytes, gap, .. } = self.costs(op.size);
        let mut until_end = work;
        if self.is_eager(op) {
            self.started(id);
        } else {
            // The buffer is the adapter's until the last byte has left.
            until_end = work.max(self.p.overhead.0 + bytes);
            let (asked, flight) = (*self.chain(id) + self.flight(), self.flight());
            let recv = self.partner(id);
            *self.chain(id) = asked.max(*self.chain(recv)) + flight;
        }
        let chain = self.chain(id);
        *chain += until_end;
        let chain = *chain;
        self.end(id, op, chain, self.now + until_end);
        let at = self.nic(op.rank, op.nic);
        let nic = &mut self.nics[at];
        nic.held = false;
        nic.send_free = self.now + gap;
        nic.sent.add(gap);
        if !nic.line.is_empty() {
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
    fn start_request(&mut self, id: u32, op: &Op) -> u64 {
        self.started(id);
        let served = self.nics[self.nic(op.peer, op.nic)].recv_free.min(LATEST);
        self.push(served.max(self.now + self.flight()), REQUEST, id);
        self.p.overhead.0
    }

    /// o + L.
    fn flight(&self) -> u64 {
        self.p.overhead.0 + self.p.latency.0
    }

    fn start_recv(&mut self, id: u32, op: &Op) -> u64 {
        let send = self.partner(id);
        let message = self.op(send);
        let (size, is_eager) = (message.size, self.is_eager(&message));
        if !is_eager && !self.second_phase.has(id) {
            self.push(self.now + self.flight(), CLEAR, send);
            return self.p.overhead.0;
        }
        let Costs { work, transit: bytes, .. } = self.costs(size);
        let sent = if is_eager { work } else { work.max(self.p.overhead.0 + bytes) };
        let arrival = self.states.used(send) - sent + self.flight() + bytes;
        let chain = self.chain(id);
        *chain = arrival.max(*chain) + work;
        let chain = *chain;
        self.messages += 1;
        self.bytes += size;
        self.end(id, op, chain, self.now + work);
        work
    }

    /// A receive is posted.
    fn post(&mut self, recv: u32, op: &Op) {
        self.started(recv);
        if self.matching.post(&mut self.states, recv, op).is_some() {
            self.ask_cpu(recv, op);
        }
    }

    /// A message is whole.
    fn available(&mut self, send: u32) {
        let op = self.op(send);
        if self.is_eager(&op) {
            return self.arrive(send, &op);
        }
        let recv = self.partner(send);
        self.second_phase.set(recv);
        self.ask_cpu(recv, &self.op(recv));
    }

    /// A message, or its request, is at the receiver.
    #[inline]
    fn arrive(&mut self, send: u32, op: &Op) {
        if let Some(recv) = self.matching.arrive(&mut self.states, send, op) {
            self.ask_cpu(recv, &self.op(recv));
        }
    }

    fn outcome(self) -> Result<Outcome, Stuck> {
        if self.late || self.now > LATEST || self.finish.iter().any(|&at| at > LATEST) {
            return Err(Stuck::Late);
        }
        // Where all have ended and as many messages were taken as sent, nothing is left to find.
        if self.left > 0 || self.messages < self.sends {
            let received = |id: u32| self.states.is_gone(id) || self.states.partner(id).is_some();
            Stuck::at_the_end(self.schedule, |id| self.ended.has(id), received)?;
        }
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

    /// The first of equals.
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
        let chain = (self.longest, Limit::Chain);
        let cpus = self.cpus.iter().enumerate().map(|(at, cpu)| {
            let at = at as u32;
            (cpu.work - cpu.posting, Limit::Cpu { rank: at / self.cpus_each, cpu: at % self.cpus_each })
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
