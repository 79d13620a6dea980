//! The packet network: servers, lanes, buffers, and the loop that moves packets through them.
//!
//! A packet waits in a lane of its stage's server. The server takes one packet at a time and holds it for its
//! serialisation (`transfer`). A blocked worm holds servers longer (`worm`). An SCI ring link serves passing packets
//! first, and its receiver may refuse (`sci`). Nodes feed their first servers from the messages posted (`inject`).
//!
//! Ethernet may mark packets so that sources slow down (`mark`). Transports decide when packets leave (`feedback`).
//! Adaptive routing chooses among equal paths as a packet reaches them (`adaptive`); UGAL chooses between minimal and
//! other paths (`ugal`). A switch may replicate a packet to a range of nodes (`broadcast`). Links and switches may
//! fail, come back and degrade (`outage`).
//!
//! A packet alone in the network crosses it in one step (`express`). The loop prefetches what the next events need
//! (`ahead`). A network that can no longer move reports which resources wait for one another (`deadlock`).
//!
//! A workload drives it by [`Net::post`] and [`Net::advance`]: the network runs until something concerns the workload.

mod adaptive;
mod ahead;
mod broadcast;
mod deadlock;
mod express;
mod feedback;
mod inject;
mod mark;
mod outage;
mod pool;
mod routes;
mod sci;
mod transfer;
mod ugal;
mod worm;

pub use pool::Message;

use crate::error::SimError;
use crate::flow::{Congestion, Settings};
use crate::plan::{NONE, Plan, RouteBuffer, Stage, UNLIMITED};
use broadcast::Casts;
use hotlink_event::{Calendar, Event, Queue, TraceHash};
pub(crate) use hotlink_event::{Linked, List, Pool};
use hotlink_fabric::flow_control::{Admission, Passage};
use hotlink_fabric::routing::{Hop, Paths};
use hotlink_fabric::spec::Role;
use hotlink_fabric::units::{Rate, Time};
use hotlink_memory::Buses;
use hotlink_transport::reorder::Reorder;
use outage::Outage;
use pool::{Aside, Packet, Worm};
use routes::{Routes, Rows};
use ugal::Choosing;
use worm::Hold;

/// Kinds of event; the id is named in each comment.
mod kind {
    /// A packet's head asks for its stage (packet).
    pub const ARRIVE: u8 = 1;
    /// A server is free again (server).
    pub const DONE: u8 = 2;
    /// A packet's tail is at its destination (packet).
    pub const DELIVER: u8 = 3;
    /// SCI: an accepting echo frees the sender's queue (lane, bytes).
    pub const ECHO: u8 = 4;
    /// A refused or dropped packet tries again (packet).
    pub const RETRY: u8 = 5;
    /// SCI: a response frees a stream buffer (node).
    pub const RESPONSE: u8 = 6;
    /// The workload's own (id).
    pub const TIMER: u8 = 7;
    /// A worm's tail has left a virtual channel (lane; whether its server, too).
    pub const RELEASE: u8 = 8;
    /// Something fails, comes back or degrades (its number in the settings).
    pub const FAULT: u8 = 9;
    /// ECN, transports: the next packet of a message may set out (message).
    pub const RESUME: u8 = 11;
    /// A transport hears of a packet (trip).
    pub const HEARD: u8 = 12;
    /// A packet is acknowledged (node that sent it).
    pub const ACKNOWLEDGE: u8 = 10;
    /// A transport's own news are due.
    pub const NEWS: u8 = 13;
}

/// A rated resource in operation.
#[derive(Clone, Copy, Debug)]
struct Server {
    /// Time spent busy, in picoseconds.
    busy_ps: u64,
    /// Lane whose buffer the packet in service leaves; `NONE` for none.
    feeder: u32,
    feeder_bytes: u32,
    /// Lanes with packets waiting, one bit each.
    waiting: u16,
    /// Virtual channels that a worm holds, one bit each (wormhole).
    held: u8,
    /// Lanes whose receiver has asked for silence (Ethernet), or whose buffer a worm leaves (wormhole).
    closed: u8,
    class: u8,
    last_lane: u8,
    /// A packet holds it.
    busy: bool,
    /// Where its crowd is in [`Net::crowds`].
    place: u32,
}

/// Where packets wait for a server, and the buffer behind it.
#[derive(Clone, Copy, Debug)]
struct Lane {
    queue: List,
    /// Room that the first packet needs ([`Net::need`]). A copy here lets a check of what can start touch no packet.
    need: i32,
    /// Bytes free in the buffer behind the server; below zero in the headroom of a paused Ethernet link.
    room: i32,
}

/// Serialisation times of one class; the last size asked for is remembered.
#[derive(Clone, Copy, Debug)]
struct Pace {
    rate: Rate,
    payload_only: bool,
    /// A host's bus where messages say what their bytes take there.
    bus: bool,
    ring: bool,
    crossbar: bool,
    buffer: u32,
    /// Room in it at which its link is paused (falling) and resumes (rising); pause only.
    pauses_at: i32,
    resumes_at: i32,
    bytes: u32,
    ps: u64,
}

impl Pace {
    #[inline]
    fn time(&mut self, bytes: u32) -> u64 {
        if bytes != self.bytes && self.rate != UNLIMITED {
            (self.bytes, self.ps) = (bytes, self.rate.time_for(u64::from(bytes)).0);
        }
        self.ps
    }
    #[inline]
    fn packet_time(&mut self, packet: &Packet) -> u64 {
        self.time(if self.payload_only { packet.payload } else { packet.wire() })
    }
}

/// A node's sending side.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    /// Messages not begun.
    queue: List,
    /// Messages whose next packet waits for an answer to an earlier one.
    stalled: List,
    active: u16,
    outstanding: u16,
    /// Packets in the network that are not acknowledged.
    open: u16,
    /// A packet in the adapter that waits for an acknowledgement; [`NONE`] for none.
    parked: u32,
    /// When the next packet could be made if nothing but the node's own first server held it back.
    clock: u64,
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events handled.
    pub events: u64,
    /// Servers crossed by packets.
    pub packet_hops: u64,
    /// Packets made.
    pub packets: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Payload delivered, in bytes.
    pub delivered_bytes: u64,
    /// Packets that arrived before an earlier one of their message, and were held.
    pub overtakings: u64,
    /// The most bytes of such packets that a node held at a time.
    pub reorder_bytes: u64,
    /// Such packets for which there was no room, which were sent again.
    pub reorder_drops: u64,
    /// Packets refused by a busy SCI receiver and sent again.
    pub retries: u64,
    /// Packets dropped and sent again.
    pub drops: u64,
    /// Packets that left the minimal path (UGAL).
    pub detours: u64,
    /// Packets marked because they waited too long (ECN).
    pub marks: u64,
    /// Packets lost on links that were down; all but those of store-and-forward networks are sent again.
    pub lost: u64,
    /// Packets that never arrive: lost for good, or with no path left.
    pub gone: u64,
    /// Messages that have such packets.
    pub lost_messages: u64,
}

impl Stats {
    /// The counts with those of another run, which stands for so many.
    pub(crate) fn and(&self, other: &Stats, times: u64) -> Stats {
        let sum = |of: fn(&Stats) -> u64| of(self) + times * of(other);
        Stats {
            events: sum(|all| all.events),
            packet_hops: sum(|all| all.packet_hops),
            packets: sum(|all| all.packets),
            delivered: sum(|all| all.delivered),
            delivered_bytes: sum(|all| all.delivered_bytes),
            overtakings: sum(|all| all.overtakings),
            reorder_bytes: self.reorder_bytes.max(other.reorder_bytes),
            reorder_drops: sum(|all| all.reorder_drops),
            retries: sum(|all| all.retries),
            drops: sum(|all| all.drops),
            detours: sum(|all| all.detours),
            marks: sum(|all| all.marks),
            lost: sum(|all| all.lost),
            gone: sum(|all| all.gone),
            lost_messages: sum(|all| all.lost_messages),
        }
    }
}

/// Something that concerns the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// All of a message has arrived.
    Delivered(Message),
    /// A timer of the workload ([`Net::timer`]).
    Timer(u32),
}

/// A packet network in operation.
pub struct Net<'a> {
    plan: &'a Plan<'a>,
    admission: Admission,
    passage: Passage,
    /// How long a packet waits for a server of each class before it is marked (ECN only).
    patience: Vec<u64>,
    /// Waits of packets are noted as they happen (ECN, transports).
    watches: bool,
    feedback: Option<Box<feedback::Feedback>>,
    reorder: Reorder,
    pairs: Option<feedback::Pairs>,
    /// The streams of messages that were posted on one.
    streams: Vec<Option<feedback::Stream>>,
    /// How sources heed marks, where there are any.
    heeding: mark::Heeding,
    /// Packets that wait for each server or hold it, times [`CROWD`], to choose the least occupied (only where packets
    /// choose). Where a choice can see all in one place, the missing bytes of the room behind, compared with the
    /// largest, are added.
    crowds: Option<Vec<u64>>,
    /// That is so: nothing fails, and each channel has one buffer, which takes whole packets.
    sees_room: bool,
    sets: adaptive::Sets,
    /// Some switches have a rate.
    crossbars: bool,
    choosing: Choosing,
    /// The largest buffer behind a channel.
    most_room: i32,
    /// A path that is compared with another.
    scratch: Vec<Stage>,
    settings: Settings,
    now: u64,
    queue: Calendar,
    trace: TraceHash,
    stats: Stats,
    servers: Vec<Server>,
    lanes: Vec<Lane>,
    /// One for each lane (wormhole only).
    holds: Vec<Hold>,
    /// One for each place of `packets` (wormhole only).
    worms: Vec<Worm>,
    paces: Vec<Pace>,
    packets: Pool<Packet>,
    messages: Pool<Message>,
    /// One for each place of `messages`, where a network needs it: over buses, and with marks.
    asides: Vec<Aside>,
    /// One for each place of `packets`.
    routes: Routes,
    /// The path of messages whose packets share one: one for each place of `messages`.
    ways: Rows<Stage>,
    senders: Vec<Sender>,
    /// Servers that may be able to start, checked before the next event.
    pokes: Vec<u32>,
    buffer: RouteBuffer,
    hops: Vec<Hop>,
    failure: Option<SimError>,
    supply: Option<Supply<'a>>,
    supplied_at: u64,
    outage: Option<Box<Outage>>,
    casts: Casts,
    /// Events until the next prefetch for future ones ([`ahead`]).
    looked: u32,
    /// Packets alone may cross in one step; timers pending; channels of a worm that does.
    expresses: bool,
    timers: u32,
    held: Vec<express::Held>,
    buses: Option<Buses>,
    /// Payload that will have been delivered at the end; 0: not known.
    expected: u64,
}

/// A packet in [`Net::crowds`].
const CROWD: u64 = 1 << 32;

/// Events from one report of progress to the next.
const TOLD_EACH: u64 = 1 << 16;

/// Gives a node's next message, destination and bytes, when it has a stream free.
type Supply<'a> = Box<dyn FnMut(u32) -> Option<(u32, u64)> + 'a>;

impl<'a> Net<'a> {
    /// An idle network.
    pub fn new(plan: &'a Plan<'a>, settings: &Settings) -> Net<'a> {
        let flow = plan.fabric.spec.flow_control;
        let drops = flow.dropping.filter(|_| settings.congestion == Congestion::Drop);
        let (admission, passage) = (drops.unwrap_or(flow.admission), flow.passage);
        let server = |&class: &u8| Server {
            busy_ps: 0,
            feeder: NONE,
            feeder_bytes: 0,
            waiting: 0,
            held: 0,
            closed: 0,
            class,
            last_lane: 0,
            busy: false,
            place: 0,
        };
        let lane =
            |&class: &u8| Lane { queue: List::default(), need: 0, room: plan.classes[class as usize].buffer as i32 };
        let most_room = plan.largest_buffer();
        let less = |&class: &u8| (most_room - plan.classes[class as usize].buffer as i32).max(0) as u64;
        let lanes_each = 1usize << plan.lane_shift;
        let [pauses, resumes] = Net::pauses(plan, admission, settings);
        let room = |class: &crate::plan::Class, share: f64| (f64::from(class.buffer) * (1.0 - share)) as i32;
        let pace = |class: &crate::plan::Class| Pace {
            rate: class.rate,
            payload_only: class.payload_only,
            bus: false,
            ring: class.ring,
            crossbar: class.crossbar,
            buffer: class.buffer,
            pauses_at: room(class, pauses),
            resumes_at: room(class, resumes),
            bytes: 0,
            ps: 0,
        };
        let marks = admission == Admission::UntilPaused && settings.congestion == Congestion::Mark;
        let choosing = match (settings.detours, settings.paths) {
            (Some(by), _) => Choosing::Ugal(by, ugal::first_router(plan)),
            (None, Paths::Adaptive) => Choosing::Adaptive,
            (None, _) => Choosing::Never,
        };
        let feedback = feedback::Feedback::new(plan, settings);
        // An arrival decides nothing else, and no other path is taken than that chosen there.
        let stays_open = choosing == Choosing::Adaptive
            && !matches!(admission, Admission::RingAccess | Admission::OnArrival)
            && feedback.is_none()
            && settings.faults.is_empty()
            && plan.may_stay_open();
        let mut net = Net {
            plan,
            admission,
            passage,
            patience: Net::patience(plan, marks),
            watches: marks || feedback.is_some(),
            feedback,
            reorder: Reorder::new(settings.reorder_bytes),
            pairs: feedback::pairs(settings),
            streams: Vec::new(),
            heeding: if marks { mark::Heeding::of(&plan.fabric.spec) } else { mark::Heeding::default() },
            crowds: (choosing != Choosing::Never).then(|| plan.server_class.iter().map(less).collect()),
            sees_room: false,
            sets: adaptive::Sets::default(),
            crossbars: plan.classes.iter().any(|class| class.crossbar),
            choosing,
            most_room,
            scratch: Vec::new(),
            settings: settings.clone(),
            now: 0,
            queue: Calendar::default(),
            trace: TraceHash::default(),
            stats: Stats::default(),
            servers: plan.server_class.iter().map(server).collect(),
            lanes: (0..plan.servers() << plan.lane_shift)
                .map(|at| lane(&plan.server_class[at >> plan.lane_shift]))
                .collect(),
            holds: if passage == Passage::Worm {
                vec![Hold::default(); plan.servers() * lanes_each]
            } else {
                Vec::new()
            },
            worms: Vec::new(),
            paces: plan.classes.iter().map(pace).collect(),
            packets: Pool::default(),
            messages: Pool::default(),
            asides: Vec::new(),
            routes: Routes::new(
                plan.servers() << plan.lane_shift,
                settings.paths == Paths::Adaptive && !stays_open || !settings.faults.is_empty(),
            ),
            ways: Rows::new(Stage::default()),
            senders: vec![Sender { parked: NONE, ..Sender::default() }; plan.fabric.nodes() as usize],
            pokes: Vec::new(),
            buffer: RouteBuffer::default(),
            hops: Vec::new(),
            failure: None,
            supply: None,
            supplied_at: 0,
            expected: 0,
            outage: None,
            casts: Casts::default(),
            looked: 0,
            expresses: false,
            timers: 0,
            held: Vec::new(),
            buses: None,
        };
        net.expresses = net.may_express();
        net.buffer.stays_open = stays_open;
        net.sees_room =
            stays_open && admission == Admission::Whole && passage != Passage::Worm && plan.channels_each == 1;
        net.place_crowds();
        net.plan_outages();
        net
    }

    /// From now on messages take the time that `buses` computes on both hosts' buses, as adapters move them (DMA). It
    /// replaces the time at the bus's gross rate.
    pub(crate) fn over_buses(&mut self, buses: Option<Buses>) {
        self.buses = buses;
        for (pace, class) in self.paces.iter_mut().zip(&self.plan.classes) {
            pace.bus = buses.is_some() && class.role == Role::HostBus;
        }
    }

    /// Says how much payload will have been delivered at the end, for the [`Gauge`](crate::Gauge) of the settings.
    pub fn expect(&mut self, bytes: u64) {
        self.expected = bytes;
    }

    /// The clock.
    pub fn now(&self) -> Time {
        Time(self.now)
    }

    /// Counts so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Fingerprint of all events so far.
    pub fn trace_hash(&self) -> u64 {
        self.trace.value()
    }

    /// Messages posted and not wholly delivered.
    pub fn pending(&self) -> u32 {
        self.messages.live
    }

    /// Packets in the network now: past their sender's host, and not at their destination.
    pub fn under_way(&self) -> usize {
        let sending = self.plan.sending_stages();
        let is_there = |packet: &&Packet| packet.message != NONE && usize::from(packet.stage) > sending;
        self.packets.items.iter().filter(is_there).count()
    }

    /// Time that each server has been busy, in picoseconds, in order of [`Plan::server_resource`].
    pub fn busy_ps(&self) -> impl Iterator<Item = u64> + '_ {
        let holds = self.passage == Passage::Worm && self.plan.channels_each == 1;
        let held = move |server: &Server| if server.busy && holds { self.now } else { 0 };
        self.servers.iter().map(move |server| server.busy_ps.wrapping_add(held(server)))
    }

    /// Wire bytes that wait for each server now, in order of [`Plan::server_resource`]; of worms, those at the front of
    /// their inputs.
    pub fn waiting_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        let of = move |lane: &Lane| {
            let items = &self.packets.items;
            let first = Some(lane.queue.head).filter(|&packet| packet != NONE);
            let queue =
                std::iter::successors(first, |&packet| Some(items[packet as usize].next).filter(|&n| n != NONE));
            queue.map(|packet| u64::from(items[packet as usize].wire())).sum::<u64>()
        };
        self.lanes.chunks(1 << self.plan.lane_shift).map(move |lanes| lanes.iter().map(of).sum())
    }

    /// Asks for a [`Note::Timer`] with `id` at `at`, which is not in the past.
    pub fn timer(&mut self, at: Time, id: u32) {
        self.timers += 1;
        self.queue.push(at.0.max(self.now), Event::new(kind::TIMER, id, 0));
    }

    /// Runs until something concerns the workload; `None` when nothing is left to happen.
    ///
    /// # Errors
    /// A message without a path; packets that wait for one another for ever.
    pub fn advance(&mut self) -> Result<Option<Note>, SimError> {
        loop {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let Some((now, event)) = self.queue.pop() else {
                return if self.packets.live == 0 { Ok(None) } else { Err(self.deadlock(None)) };
            };
            let before = std::mem::replace(&mut self.now, now);
            self.trace.add(now, event);
            self.stats.events += 1;
            if self.stats.events.is_multiple_of(TOLD_EACH) {
                self.settings.gauge.tell(self.stats.delivered_bytes, self.expected);
            }
            self.look_ahead();
            let note = self.handle(event, before);
            self.start_poked();
            if note.is_some() {
                return Ok(note);
            }
        }
    }

    /// Starts what the last event may have made possible elsewhere.
    #[inline]
    fn start_poked(&mut self) {
        while let Some(server) = self.pokes.pop() {
            self.try_start(server);
        }
    }

    #[inline]
    fn handle(&mut self, event: Event, before: u64) -> Option<Note> {
        match event.kind() {
            kind::ARRIVE => self.arrive(event.id()),
            kind::DONE => self.done(event.id()),
            kind::DELIVER => return self.deliver(event.id()),
            kind::ECHO => self.free_room(event.id(), event.extra()),
            kind::RETRY => self.retry(event.id()),
            kind::FAULT => self.fault(event.id(), before),
            kind::RESPONSE => self.response(event.id()),
            kind::ACKNOWLEDGE => self.acknowledged(event.id()),
            kind::RELEASE => self.release(event.id(), event.extra() != 0),
            kind::RESUME => self.resume_flow(event.id()),
            kind::HEARD => self.heard(event.id()),
            kind::NEWS => self.hear_news(),
            _ => {
                self.timers -= 1;
                return Some(Note::Timer(event.id()));
            }
        }
        None
    }

    #[inline]
    fn server_of(&self, lane: u32) -> u32 {
        lane >> self.plan.lane_shift
    }

    /// The server of a lane that keeps an account, and its bit there.
    #[inline]
    fn account(&mut self, lane: u32) -> (&mut Server, u8) {
        let server = self.server_of(lane);
        (&mut self.servers[server as usize], 1 << (lane - (server << self.plan.lane_shift)))
    }
}
