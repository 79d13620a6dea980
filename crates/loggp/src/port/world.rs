//! Everything that the ranks of one run share: the clock, what is under way, and each rank's seat.
//!
//! A rank's clock runs ahead of the common one by the local work that it has done since it was last resumed. What it
//! sends leaves when the common clock reaches that time. The first poll after the rank was resumed sees an arrival.

use super::seat::{Flight, Seat, State};
use crate::machine::{Machine, Missing};
use hotlink_event::NONE;
use hotlink_event::{Event, Queue, RadixHeap, TraceHash};
use hotlink_port::safety::Barriers;
use hotlink_port::{Counting, Edge, Moment, Rank, Task};
use hotlink_schedule::{LATEST, Recorder};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// A message leaves its sender's adapter.
const LEAVES: u8 = 0;
/// A message is whole at its receiver.
const ARRIVES: u8 = 1;
/// A rank's time has come.
const WAKES: u8 = 2;
/// A rank's processor is done with what it does, or may begin.
const WORKED: u8 = 3;
/// A rank that comes back without having waited for anything has spent this long, so that time goes on: 1 ns.
const STEP_PS: u64 = 1000;

/// The ranks' common state.
pub(super) struct World {
    pub machine: Rc<Machine>,
    pub seats: Vec<Seat>,
    pub ready: VecDeque<Rank>,
    pub flights: Vec<Flight>,
    free: u32,
    queue: RadixHeap,
    pub now: u64,
    pub barriers: Barriers,
    /// What a benchmark counts.
    pub counting: Counting,
    pub recorder: Option<Recorder>,
    /// Ranks that copy now, on machines where they share their memory.
    pub movers: Vec<Rank>,
    /// A run that must end: why.
    pub failure: Option<String>,
    pub missing: BTreeSet<Missing>,
    pub trace: TraceHash,
    pub events: u64,
    pub messages: u64,
    pub bytes: u64,
}

impl World {
    pub fn new(machine: Rc<Machine>, ranks: u32, records: bool) -> World {
        let seat = |_| Seat::new(machine.is_carried(), machine.forgets_memory());
        World {
            seats: (0..ranks).map(seat).collect(),
            ready: (0..ranks).collect(),
            flights: Vec::new(),
            free: NONE,
            queue: RadixHeap::default(),
            now: 0,
            barriers: Barriers::new(ranks),
            counting: Counting::default(),
            recorder: records.then(|| Recorder::new(ranks)),
            movers: Vec::new(),
            failure: None,
            missing: BTreeSet::new(),
            trace: TraceHash::default(),
            events: 0,
            messages: 0,
            bytes: 0,
            machine,
        }
    }
    pub fn seat(&mut self, rank: Rank) -> &mut Seat {
        &mut self.seats[rank as usize]
    }
    /// Enters what happens into the record, if there is one.
    pub fn record(&mut self, enter: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = &mut self.recorder {
            enter(recorder);
        }
    }
    fn push(&mut self, at: u64, kind: u8, id: u32, extra: u32) {
        self.queue.push(at.max(self.now), Event::new(kind, id, extra));
    }
    /// A rank's processor is checked when it has done its work, unless that has changed by then.
    pub fn push_worked(&mut self, at: u64, rank: Rank, turn: u32) {
        self.push(at, WORKED, rank, turn);
    }

    /// The next event; false if there is none.
    pub fn advance(&mut self) -> bool {
        let Some((at, event)) = self.queue.pop() else { return false };
        if at > LATEST {
            self.failure.get_or_insert_with(|| "the simulated time passes 2^62 ps (53 days)".to_owned());
        }
        self.now = at;
        self.trace.add(at, event);
        self.events += 1;
        match event.kind() {
            LEAVES => self.leave(event.id()),
            ARRIVES => self.arrive(event.id()),
            WAKES => self.wake(event.id()),
            _ => self.worked(event.id(), event.extra()),
        }
        true
    }

    /// A rank's program runs from now on.
    pub fn resume(&mut self, rank: Rank) {
        let now = self.now;
        let seat = self.seat(rank);
        seat.now = seat.now.max(now);
        (seat.state, seat.idle, seat.wake_at) = (State::Running, false, u64::MAX);
    }
    /// A rank's program has suspended.
    pub fn suspend(&mut self, rank: Rank) {
        if self.seats[rank as usize].is_working() {
            self.seat(rank).state = State::Working;
            return self.begin_work(rank);
        }
        self.rest(rank);
    }
    /// A rank has nothing to do before an event or its time.
    pub fn rest(&mut self, rank: Rank) {
        let now = self.now;
        let seat = self.seat(rank);
        seat.state = State::Waiting;
        if !seat.idle || seat.until <= seat.now {
            seat.now += STEP_PS;
            seat.until = seat.now;
        }
        if seat.has_news() {
            if seat.now <= now {
                return self.make_ready(rank);
            }
            seat.until = seat.now;
        }
        if seat.until != u64::MAX {
            let at = seat.until.max(seat.now);
            self.wake_at(rank, at);
        }
    }
    fn make_ready(&mut self, rank: Rank) {
        self.seat(rank).state = State::Ready;
        self.ready.push_back(rank);
    }
    fn wake_at(&mut self, rank: Rank, at: u64) {
        let seat = self.seat(rank);
        if seat.wake_at != at {
            seat.wake_at = at;
            self.push(at, WAKES, rank, 0);
        }
    }
    fn wake(&mut self, rank: Rank) {
        let now = self.now;
        let seat = self.seat(rank);
        if seat.wake_at == now {
            seat.wake_at = u64::MAX;
        }
        if seat.state == State::Waiting && seat.now <= now && (seat.has_news() || seat.until <= now) {
            self.make_ready(rank);
        }
    }

    /// Keeps a message that was posted.
    pub fn keep(&mut self, flight: Flight) -> u32 {
        match self.free {
            NONE => {
                self.flights.push(flight);
                self.flights.len() as u32 - 1
            }
            place => {
                self.free = self.flights[place as usize].next;
                self.flights[place as usize] = flight;
                place
            }
        }
    }
    pub fn forget(&mut self, place: u32) {
        let flight = &mut self.flights[place as usize];
        (flight.next, flight.data) = (self.free, None);
        self.free = place;
    }
    /// A rank marks an end of what a benchmark counts.
    pub fn mark(&mut self, rank: Rank, edge: Edge, members: u32) {
        let (seat, ranks) = (&self.seats[rank as usize], self.seats.len());
        let moment = || Moment { now: seat.now, servers: Vec::new() };
        self.counting.mark((edge, members), (rank, ranks), seat.all_busy(), moment);
    }
    /// A rank's processor hands a message to its adapter, and stalls until that may send.
    pub fn send(&mut self, place: u32) {
        let Flight { from, to, bytes, is_carried, .. } = self.flights[place as usize];
        // Of a carried message only the notice goes through the network.
        let bytes = if is_carried { bytes.min(1) } else { bytes };
        let (work, gap) = (self.machine.messages.work(bytes), self.machine.messages.occupancy(bytes));
        let now = self.now;
        let seat = self.seat(from);
        let start = seat.now.max(seat.send_free);
        (seat.now, seat.send_free) = (start + work, start + gap);
        seat.busy.add(Task::Software, work);
        seat.busy.add_engine(gap);
        let at_once = start == now && seat.unsent == 0;
        if !at_once {
            seat.unsent += 1;
        }
        // Messages between two ranks are taken in order: they need no tags.
        self.record(|recorder| recorder.send(from, to, 0, bytes));
        if at_once {
            self.book(place);
        } else {
            self.push(start, LEAVES, place, 0);
        }
    }
    fn leave(&mut self, place: u32) {
        let from = self.flights[place as usize].from;
        self.seat(from).unsent -= 1;
        self.book(place);
    }
    /// A message leaves now: all spend o + L until their heads arrive, so the receiving adapter serves them in the order in
    /// which they leave.
    fn book(&mut self, place: u32) {
        let Flight { to, bytes, is_carried, .. } = self.flights[place as usize];
        let bytes = if is_carried { bytes.min(1) } else { bytes };
        let messages = &self.machine.messages;
        let head = self.now + messages.overhead.0 + messages.latency.0;
        let (transit, gap) = (messages.transit(bytes), messages.occupancy(bytes));
        let seat = &mut self.seats[to as usize];
        let served = head.max(seat.recv_free);
        seat.recv_free = served + gap;
        seat.took_ps += gap;
        // An adapter keeps the order of its messages.
        seat.last_whole = seat.last_whole.max(served + transit);
        let whole = seat.last_whole;
        self.push(whole, ARRIVES, place, 0);
    }
    /// A message of a rank to itself, which its processor moved by itself.
    pub fn arrive_own(&mut self, place: u32, at: u64) {
        self.push(at, ARRIVES, place, 0);
    }
    fn arrive(&mut self, place: u32) {
        let Flight { from, to, bytes, .. } = self.flights[place as usize];
        self.messages += u64::from(from != to);
        self.bytes += if from == to { 0 } else { bytes };
        let now = self.now;
        let seat = &mut self.seats[to as usize];
        if seat.state == State::Over || seat.closed {
            // Nobody will take it.
            self.took(place);
            return self.forget(place);
        }
        match seat.last {
            NONE => seat.first = place,
            last => self.flights[last as usize].next = place,
        }
        self.flights[place as usize].next = NONE;
        seat.last = place;
        if seat.state != State::Waiting {
            return;
        }
        if seat.now <= now {
            return self.make_ready(to);
        }
        let at = seat.now;
        self.wake_at(to, at);
    }
    /// The first message of a rank's inbox.
    pub fn take(&mut self, rank: Rank) -> Option<u32> {
        let seat = &mut self.seats[rank as usize];
        let first = seat.first;
        if first == NONE {
            return None;
        }
        seat.first = self.flights[first as usize].next;
        if seat.first == NONE {
            seat.last = NONE;
        }
        Some(first)
    }

    /// Which rank waits for what, when nobody can go on.
    pub fn stuck(&self) -> String {
        const NAMED: usize = 8;
        let waiting = self.seats.iter().enumerate().filter(|(_, seat)| seat.state == State::Waiting);
        let told = |(rank, seat): (usize, &Seat)| {
            let at = format!("rank {rank} at {:.3} us", seat.now as f64 / 1e6);
            match seat.awaits {
                Some((Some(peer), Some(tag))) => format!("{at} for rank {peer}, tag {tag}"),
                Some((Some(peer), None)) => format!("{at} for rank {peer}"),
                _ => format!("{at} for anything"),
            }
        };
        let mut names: Vec<String> = waiting.clone().take(NAMED).map(told).collect();
        let more = waiting.count().saturating_sub(NAMED);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        format!("every rank waits, and nothing is under way: {}", names.join(", "))
    }
}
