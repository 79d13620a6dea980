//! Everything that the ranks of one run share: the network, what is under way in it, and each rank's seat.
//!
//! A rank's clock runs ahead of the network's by the local work that it has charged since it was last resumed. What it
//! posts enters the network when the network's clock reaches that time. The first poll after the rank was resumed sees
//! an arrival. At the latest that is when the rank next waits.

use super::adapter::Adapter;
use super::flight::{Flight, Phase, What};
use super::seat::{Hardware, Reducer, Seat, State};
use crate::net::{Net, Note, Pool};
use crate::plan::{NONE, Plan, RouteBuffer};
use crate::workload::Background;
use hotlink_barrier::{BarrierNetwork, ReductionNetwork};
use hotlink_fabric::units::Time;
use hotlink_port::safety::Barriers;
use hotlink_port::{Busy, Counting, Edge, Moment, Part, Rank, Refusal, Span, Task};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// What the network carries for a message's head: four words.
pub(super) const HEAD_BYTES: u64 = 32;
/// Chunks of a transfer in the network at once where nodes share buses: one that crosses them, one that waits.
const AHEAD: u32 = 2;
/// Timers for flights; the others are for ranks.
const FLIGHT: u32 = 1 << 31;
/// Background notices after which the driver checks whether the ranks can go on. A network with background traffic is
/// never idle, so it does not show that they cannot.
const LOOK_AFTER: u32 = 1 << 12;
/// A rank that returns without having waited for anything has spent this long, so that time advances: 1 ns.
const STEP_PS: u64 = 1000;

/// The ranks' common state.
pub(super) struct World<'a> {
    pub net: Net<'a>,
    pub plan: &'a Plan<'a>,
    pub adapter: Rc<Adapter>,
    pub seats: Vec<Seat>,
    pub flights: Pool<Flight>,
    pub ready: VecDeque<Rank>,
    /// The fabric's own barrier.
    pub hardware: Option<Hardware>,
    pub reducer: Option<Reducer>,
    pub barriers: Barriers,
    /// What a benchmark counts.
    counting: Counting,
    /// A run that must end: why.
    pub failure: Option<String>,
    /// The node of each rank, and the ranks of its node; none: each rank has the node of its number.
    places: Vec<(u32, Rc<[Rank]>)>,
    way: RouteBuffer,
    background: Option<Beside>,
}

/// Background traffic, and how often it was noticed.
struct Beside {
    background: Background,
    notes: u32,
}

impl<'a> World<'a> {
    pub fn new(mut net: Net<'a>, plan: &'a Plan<'a>, adapter: Rc<Adapter>, ranks: u32) -> World<'a> {
        net.over_buses(adapter.buses);
        let barrier = plan.fabric.spec.barrier.as_ref();
        let hardware = barrier.and_then(|spec| BarrierNetwork::new(spec, ranks, false).ok());
        let reduction = plan.fabric.spec.reduction.as_ref();
        let reducer = reduction.and_then(|spec| ReductionNetwork::new(spec, ranks).ok());
        World {
            net,
            plan,
            adapter,
            seats: (0..ranks).map(|_| Seat::new()).collect(),
            flights: Pool::default(),
            ready: (0..ranks).collect(),
            hardware: hardware.map(|network| Hardware { network, arrived: Vec::new() }),
            reducer: reducer.map(|network| Reducer { network, parts: Vec::new() }),
            barriers: Barriers::new(ranks),
            counting: Counting::default(),
            failure: None,
            places: Vec::new(),
            way: RouteBuffer::default(),
            background: None,
        }
    }
    /// Puts the ranks on these nodes.
    pub fn place(&mut self, nodes: &[u32]) {
        let mut mates = BTreeMap::<u32, Vec<Rank>>::new();
        (0..).zip(nodes).for_each(|(rank, &node)| mates.entry(node).or_default().push(rank));
        let mates: BTreeMap<u32, Rc<[Rank]>> = mates.into_iter().map(|(node, ranks)| (node, ranks.into())).collect();
        self.places = nodes.iter().map(|node| (*node, mates[node].clone())).collect();
    }
    fn node(&self, rank: Rank) -> u32 {
        self.places.get(rank as usize).map_or(rank, |place| place.0)
    }
    /// Whether two ranks are on one node: what they send each other stays there.
    pub fn is_near(&self, one: Rank, other: Rank) -> bool {
        self.node(one) == self.node(other)
    }
    /// The other ranks of a rank's node, which have the same adapter.
    fn mates(&self, rank: Rank) -> Option<Rc<[Rank]>> {
        self.places.get(rank as usize).map(|place| place.1.clone()).filter(|mates| mates.len() > 1)
    }
    /// The adapter of a rank's node is occupied for as long as the rank says: the node's other ranks share it.
    pub fn share_adapter(&mut self, rank: Rank) {
        let Some(mates) = self.mates(rank) else { return };
        let Seat { nic_free, dma_free, receives, .. } = self.seats[rank as usize];
        for &mate in mates.iter() {
            let seat = self.seat(mate);
            seat.nic_free = seat.nic_free.max(nic_free);
            seat.dma_free = seat.dma_free.max(dma_free);
            seat.receives = seat.receives.max(receives);
        }
    }
    /// DMA operations under way of the node of a rank.
    pub fn moving(&self, rank: Rank) -> u32 {
        match self.mates(rank) {
            Some(mates) => mates.iter().map(|&mate| self.seats[mate as usize].moving).sum(),
            None => self.seats[rank as usize].moving,
        }
    }
    /// A rank marks an end of what a benchmark counts.
    pub fn mark(&mut self, rank: Rank, edge: Edge, members: u32) {
        let World { counting, net, seats, .. } = self;
        let moment = || Moment { now: seats[rank as usize].now, servers: net.busy_ps().collect() };
        counting.mark((edge, members), (rank, seats.len()), seats[rank as usize].busy, moment);
    }
    /// How long each rank's processor was busy, and its node's adapter.
    pub fn busy(&self) -> Vec<Busy> {
        self.with_mates(|rank| self.seats[rank as usize].busy)
    }
    /// The same in the part that a benchmark counts, if it does.
    pub fn counted(&self) -> Option<Part> {
        let part = self.counting.part()?;
        let busy = self.with_mates(|rank| part.busy[rank as usize]);
        Some(Part { busy, ..part })
    }
    /// Each rank's, with the adapter that it shares.
    fn with_mates(&self, own: impl Fn(Rank) -> Busy) -> Vec<Busy> {
        let ranks = 0..self.seats.len() as Rank;
        let all = |mates: Rc<[Rank]>| mates.iter().map(|&mate| own(mate).engine().0).sum();
        ranks.map(|rank| self.mates(rank).map_or(own(rank), |mates| own(rank).with_engine(all(mates)))).collect()
    }
    pub fn now(&self) -> u64 {
        self.net.now().0
    }
    pub fn seat(&mut self, rank: Rank) -> &mut Seat {
        &mut self.seats[rank as usize]
    }
    pub fn flight(&mut self, flight: u32) -> &mut Flight {
        &mut self.flights.items[flight as usize]
    }

    /// A rank's program runs from now on.
    pub fn resume(&mut self, rank: Rank) {
        let now = self.now();
        let seat = self.seat(rank);
        seat.now = seat.now.max(now);
        (seat.state, seat.idle, seat.roused, seat.blocked) = (State::Running, false, false, false);
    }
    /// A rank's program has suspended.
    pub fn suspend(&mut self, rank: Rank) {
        let now = self.now();
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
            self.net.timer(Time(at), rank);
        }
    }
    fn make_ready(&mut self, rank: Rank) {
        self.seat(rank).state = State::Ready;
        self.ready.push_back(rank);
    }
    /// Something has happened that a waiting rank may want to know.
    fn rouse(&mut self, rank: Rank) {
        let now = self.now();
        let seat = self.seat(rank);
        if seat.state != State::Waiting {
            return;
        }
        if seat.now <= now {
            return self.make_ready(rank);
        }
        let at = Time(seat.now);
        self.net.timer(at, rank);
    }
    /// A rank's processor is interrupted at `at`, in any state.
    pub fn interrupt(&mut self, rank: Rank, at: u64) {
        let took = self.adapter.interrupt.0;
        let seat = self.seat(rank);
        if took > 0 && seat.state != State::Over {
            seat.now = seat.now.max(at);
            seat.spend(Task::Interrupt, took);
        }
    }
    /// A blocked rank may try again, from `at` on.
    pub fn make_room(&mut self, rank: Rank, at: u64) {
        let now = self.now();
        let seat = self.seat(rank);
        if !seat.blocked {
            return;
        }
        seat.roused = true;
        let at = at.max(seat.now);
        if at <= now {
            self.rouse(rank);
        } else {
            self.net.timer(Time(at), rank);
        }
    }

    /// Starts background traffic.
    pub fn put_beside(&mut self, mut background: Background) {
        background.start(&mut self.net);
        self.background = Some(Beside { background, notes: 0 });
    }

    /// Something concerns a rank, a flight or the background traffic. False if only that goes on, and for ever.
    pub fn on_note(&mut self, note: Note) -> bool {
        let Some(beside) = &mut self.background else {
            self.on_own_note(note);
            return true;
        };
        match beside.background.take(&mut self.net, note) {
            Ok(Some(note)) => self.on_own_note(note),
            Ok(None) => {
                beside.notes += 1;
                return !beside.notes.is_multiple_of(LOOK_AFTER) || self.goes_on();
            }
            Err(error) => self.failure = Some(error.to_string()),
        }
        true
    }
    /// Whether anything is left that can rouse a rank.
    fn goes_on(&self) -> bool {
        let waits_for_ever = |seat: &Seat| match seat.state {
            State::Over => true,
            State::Waiting => seat.until == u64::MAX && !seat.has_news(),
            _ => false,
        };
        self.flights.live > 0 || !self.seats.iter().all(waits_for_ever)
    }
    fn on_own_note(&mut self, note: Note) {
        match note {
            Note::Timer(id) if id & FLIGHT != 0 => self.go_on(id & !FLIGHT),
            Note::Timer(rank) => self.on_time(rank),
            Note::Delivered(message) => self.on_delivered(message.tag as u32),
        }
    }
    fn on_time(&mut self, rank: Rank) {
        let now = self.now();
        let seat = self.seat(rank);
        if seat.state != State::Waiting || !(seat.has_news() || seat.until <= now) {
            return;
        }
        if seat.now <= now {
            return self.make_ready(rank);
        }
        // An interrupt has kept the processor since this timer was set.
        let at = Time(seat.now);
        self.net.timer(at, rank);
    }

    /// Adds a flight that settles after the poster's earlier ones to the same rank.
    pub fn add(&mut self, flight: Flight) -> u32 {
        let (from, to) = (flight.from, flight.to);
        let place = self.flights.add(flight);
        let mut older = self.seats[from as usize].youngest;
        if older != NONE {
            self.flight(older).younger = place;
        }
        self.flight(place).older = older;
        self.seat(from).youngest = place;
        while older != NONE && self.flight(older).to != to {
            older = self.flight(older).older;
        }
        if older != NONE {
            self.flight(older).behind = place;
            self.flight(place).waits = true;
        }
        place
    }
    /// Adds a flight of its own order that ends by a timer.
    pub fn tell(&mut self, flight: Flight, at: u64) {
        let place = self.flights.add(flight);
        self.at(at, place);
    }
    /// Lets a flight go on at a time.
    pub fn at(&mut self, at: u64, flight: u32) {
        if at <= self.now() { self.go_on(flight) } else { self.net.timer(Time(at), FLIGHT | flight) }
    }
    /// A flight's next step is due.
    fn go_on(&mut self, place: u32) {
        match self.flight(place).phase {
            Phase::There | Phase::Back => self.feed(place),
            Phase::Request => {
                let ends = self.flight(place).ends();
                let bus = self.adapter.carrier.word().on_buses(self.adapter.buses.as_ref(), HEAD_BYTES, true);
                self.cross(place, ends, HEAD_BYTES, bus);
            }
            Phase::Local => self.land(place),
            Phase::Ack => self.done(place),
        }
    }
    /// Feeds the next chunk of a flight's data into the network.
    fn feed(&mut self, place: u32) {
        loop {
            let now = self.now();
            let shared = self.adapter.buses.is_some();
            let flight = self.flight(place);
            if shared && flight.crossing >= AHEAD {
                flight.held = true;
                return;
            }
            let (ends, pace) = (flight.ends(), flight.pace);
            let chunk = (flight.bytes - flight.fed).min(pace.chunk);
            let first = flight.fed == 0;
            let head = if first && flight.what == What::Control { HEAD_BYTES } else { 0 };
            flight.fed += chunk;
            let (more, by_dma) = (flight.fed < flight.bytes, !pace.bus.stores);
            // A computation that uses the memory of either end holds the engine back.
            let longer = |rank: Rank| self.seats[rank as usize].stress(now);
            let pause = match by_dma && pace.chunk_ps > 0 {
                true => (u128::from(pace.chunk_ps) * u128::from(longer(ends.0).max(longer(ends.1))) / 1024) as u64,
                false => pace.chunk_ps,
            };
            let bus = pace.on_buses(self.adapter.buses.as_ref(), head + chunk, first);
            self.cross(place, ends, head + chunk * pace.stretch / 256, bus);
            if !more {
                return;
            }
            if pause > 0 {
                return self.net.timer(Time(now + pause), FLIGHT | place);
            }
        }
    }
    /// Sends `bytes` of a flight through the network, which take `bus` on the buses of both nodes.
    fn cross(&mut self, place: u32, (from, to): (Rank, Rank), bytes: u64, bus: [Time; 2]) {
        self.flight(place).crossing += 1;
        let (from, to) = (self.node(from), self.node(to));
        let posted = match self.adapter.inner {
            true => self.net.post_inner(from, to, bytes, u64::from(place)),
            false => self.net.post_taking([from, to], bytes, u64::from(place), bus),
        };
        if let Err(error) = posted {
            self.failure = Some(error.to_string());
        }
    }
    fn on_delivered(&mut self, place: u32) {
        let flight = self.flight(place);
        flight.crossing -= 1;
        if std::mem::take(&mut flight.held) {
            return self.feed(place);
        }
        let flight = self.flight(place);
        if flight.crossing > 0 {
            return;
        }
        match flight.phase {
            Phase::Request => self.serve(place),
            _ if flight.fed == flight.bytes => self.land(place),
            _ => {}
        }
    }
    /// A fetch's request is at the memory that it reads.
    fn serve(&mut self, place: u32) {
        let now = self.now();
        let from = self.flight(place).to;
        match self.exported(place).and_then(|span| self.seats[from as usize].blocks.pack(&span)) {
            Ok(data) => {
                let seat = &mut self.seats[from as usize];
                let start = now.max(seat.dma_free);
                let flight = &mut self.flights.items[place as usize];
                seat.move_by_engine(start, flight.pace.busy_ps(flight.bytes));
                let lead_ps = flight.pace.lead_ps;
                flight.phase = Phase::Back;
                (flight.ghost, flight.data) = (data.is_none(), data.unwrap_or_default());
                self.share_adapter(from);
                self.at(start + lead_ps, place);
            }
            Err(refusal) => {
                self.fail(place, refusal);
                self.land(place);
            }
        }
    }
    fn fail(&mut self, place: u32, refusal: Refusal) {
        if let Some(transfer) = &mut self.flight(place).transfer {
            transfer.result = Err(refusal);
        }
    }
    /// The exported memory that a transfer names, if it still is.
    fn exported(&self, place: u32) -> Result<Span, Refusal> {
        let flight = &self.flights.items[place as usize];
        let transfer = flight.transfer.as_ref().ok_or(Refusal::Gone)?;
        let owner = &self.seats[flight.to as usize];
        let memory = owner.setups.as_ref().and_then(|setups| setups.exported(transfer.key.id)).ok_or(Refusal::Gone)?;
        Ok(Span { memory, offset: transfer.offset, layout: transfer.layout })
    }

    /// A whole flight is at its destination. It completes once those before it have.
    fn land(&mut self, place: u32) {
        self.flight(place).landed = true;
        let mut next = place;
        while next != NONE && self.flight(next).landed && !self.flight(next).waits {
            let behind = self.unlink(next);
            self.settle(next);
            next = behind;
        }
    }
    /// Takes a flight out of its poster's order; gives the one behind it, which waits no longer.
    fn unlink(&mut self, place: u32) -> u32 {
        let Flight { from, younger, older, behind, .. } = *self.flight(place);
        if younger != NONE {
            self.flight(younger).older = older;
        } else if self.seat(from).youngest == place {
            self.seat(from).youngest = older;
        }
        if older != NONE {
            self.flight(older).younger = younger;
        }
        if behind != NONE {
            self.flight(behind).waits = false;
        }
        behind
    }
    fn settle(&mut self, place: u32) {
        let Flight { what, from, to, .. } = *self.flight(place);
        match what {
            What::Control if self.seats[to as usize].state == State::Over || self.seats[to as usize].closed => {
                // Nobody will take it.
                self.taken(from, 0);
                self.forget(place);
            }
            What::Control | What::Revoked(_) => self.arrive(to, place),
            What::Signal => self.arrive(from, place),
            What::Deposit => {
                let written = self.exported(place).and_then(|span| {
                    let flight = &self.flights.items[place as usize];
                    self.seats[to as usize].blocks.unpack(&span, flight.payload())
                });
                if let Err(refusal) = written {
                    self.fail(place, refusal);
                }
                let back = self.latency(to, from) + self.adapter.latency_ps;
                self.flight(place).phase = Phase::Ack;
                self.net.timer(Time(self.now() + back), FLIGHT | place);
            }
            What::Fetch => {
                let flight = &mut self.flights.items[place as usize];
                if let Some(transfer) = &mut flight.transfer
                    && transfer.result.is_ok()
                {
                    let data = (!flight.ghost).then_some(&flight.data[..]);
                    transfer.result = self.seats[from as usize].blocks.unpack(&transfer.local, data);
                }
                self.done(place);
            }
        }
    }
    /// A transfer is over for its poster.
    fn done(&mut self, place: u32) {
        let flight = self.flight(place);
        let (from, by_dma) = (flight.from, flight.transfer.as_ref().is_some_and(|transfer| transfer.by_dma));
        flight.data = Vec::new();
        if by_dma {
            self.seat(from).moving -= 1;
            match self.mates(from) {
                Some(mates) => mates.iter().for_each(|&mate| self.make_room(mate, 0)),
                None => self.make_room(from, 0),
            }
        }
        self.arrive(from, place);
    }
    fn arrive(&mut self, rank: Rank, place: u32) {
        let (seats, flights) = (&mut self.seats, &mut self.flights);
        seats[rank as usize].inbox.push(&mut flights.items, place);
        self.rouse(rank);
    }
    /// A control message of `from` has been taken, at `at`: it may send another.
    pub fn taken(&mut self, from: Rank, at: u64) {
        self.seat(from).untaken -= 1;
        self.make_room(from, at);
    }
    /// A flight is over.
    pub fn forget(&mut self, place: u32) {
        let flight = self.flight(place);
        (flight.data, flight.transfer) = (Vec::new(), None);
        self.flights.remove(place);
    }
    /// Latency of the path between the nodes of two ranks, without serialisation.
    pub fn latency(&mut self, from: Rank, to: Rank) -> u64 {
        let (from, to) = (self.node(from), self.node(to));
        if from == to || self.plan.route(from, to, 0, &mut self.way).is_err() {
            return 0;
        }
        self.way.latency_ps
    }

    /// Which rank waits for what, when nobody can go on.
    pub fn stuck(&self) -> String {
        const SHOWN: usize = 8;
        let left = || self.seats.iter().enumerate().filter(|(_, seat)| seat.state != State::Over);
        let told = left().take(SHOWN).map(|(rank, seat)| {
            let call = seat.awaits.map(|awaits| awaits.0).filter(|call| call.is_collective());
            let within = call.map_or(String::new(), |call| format!(" ({})", call.name()));
            // The tags of a collective are its own.
            let what = match seat.awaits.map(|(_, peer, tag)| (peer, tag.filter(|_| call.is_none()))) {
                _ if seat.blocked => format!("room ({} messages not taken, {} transfers)", seat.untaken, seat.moving),
                Some((Some(peer), Some(tag))) => format!("rank {peer}, tag {tag}"),
                Some((Some(peer), None)) => format!("rank {peer}"),
                Some((None, Some(tag))) => format!("anybody, tag {tag}"),
                _ => "anything".to_owned(),
            };
            format!("rank {rank} at {:.3} us{within} for {what}", Time(seat.now).us())
        });
        let more = left().count().saturating_sub(SHOWN);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("waiting: {}{more}", told.collect::<Vec<_>>().join("; "))
    }
}
