//! Transports drive flows: [`hotlink_transport`] decides when the next packet of a message may leave. It learns of each
//! packet's arrival one return path later.
//!
//! A flow is a queue pair, whose messages leave one after the other, or a single message. Its round trip runs from the
//! start in the sender's host to the arrival, and back over the topology's route from receiver to sender. An
//! acknowledgement passes every queue and takes no bandwidth of a link, like a class with priority.
//!
//! Packets of other flows that wait in the sender's own adapter are no delay of the network, so only the idle time
//! counts there. A packet collects marks and telemetry only at links of switches. Both describe what waits there for
//! the link when the packet begins to cross it.

use super::pool::{AGAIN, Packet};
use super::{Linked, List, Net, Pool, kind};
use crate::flow::{MOST_SWITCHES, Settings};
use crate::plan::{NONE, Plan, RouteBuffer};
use hotlink_event::random::Random;
use hotlink_event::{Event, Queue};
use hotlink_fabric::flow_control::Passage;
use hotlink_fabric::rng::mix;
use hotlink_transport::{Ack, Config, Connections, Ecn, Flows, Hop, Path, Permit};
use std::collections::HashMap;

/// What is known of a packet until its acknowledgement is back.
#[derive(Clone, Copy, Debug)]
struct Trip {
    flow: u32,
    bytes: u32,
    /// When its idle round trip would have begun that had it on the first link at the same time.
    begun_ps: u64,
    arrived_ps: u64,
    marked: bool,
    next: u32,
}

impl Linked for Trip {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// What a flow's route takes where nothing waits.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    /// From the start to the first link.
    host_ps: u64,
    /// The path back.
    back_ps: u64,
}

/// A queue pair: messages from one node to another leave in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuePair {
    /// Its flow, once it has sent.
    flow: u32,
    /// The message that sends; [`NONE`]: none does.
    head: u32,
    /// Messages behind it.
    waiting: List,
}

/// What leaves one after the other: messages of two nodes, or of two ranks and a tag.
pub(super) type Stream = [u32; 3];
/// Queue pairs by what leaves on them.
pub(super) type Pairs = HashMap<Stream, QueuePair>;

/// Queue pairs, but where each message has its own connection.
pub(super) fn pairs(settings: &Settings) -> Option<Pairs> {
    settings.transport.is_none_or(|config| config.connections == Connections::Pair).then(HashMap::new)
}

/// Flows in operation.
pub(super) struct Feedback {
    flows: Flows,
    config: Config,
    trips: Pool<Trip>,
    /// Telemetry of each trip, where the transport reads it.
    hops: Vec<Vec<Hop>>,
    /// One for each flow.
    idle: Vec<Idle>,
    /// Wire bytes that wait for each server.
    backlog: Vec<u64>,
    /// When each server marks; empty where the transport heeds no marks.
    marks: Vec<Ecn>,
    /// Stages in the sender's host.
    host_stages: u16,
    back: RouteBuffer,
    /// When the transport's own news are asked for.
    news_ps: Option<u64>,
    owners: Vec<u32>,
}

impl Feedback {
    pub(super) fn new(plan: &Plan<'_>, settings: &Settings) -> Option<Box<Feedback>> {
        let config = settings.transport?;
        let rates = (0..plan.servers() as u32).map(|server| plan.gross_of(server).0 as f64);
        Some(Box::new(Feedback {
            flows: config.flows(),
            config,
            trips: Pool::default(),
            hops: Vec::new(),
            idle: Vec::new(),
            backlog: vec![0; plan.servers()],
            marks: config.ecn.map_or_else(Vec::new, |marks| rates.map(|rate| marks.at(rate)).collect()),
            host_stages: plan.sending_stages() as u16,
            back: RouteBuffer::default(),
            news_ps: None,
            owners: Vec::new(),
        }))
    }

    /// A packet of `flow` starts: its trip.
    fn set_out(&mut self, flow: u32, bytes: u32, now: u64) -> u32 {
        self.flows.sent(flow, bytes, now);
        let trip = Trip { flow, bytes, begun_ps: now, arrived_ps: 0, marked: false, next: NONE };
        let at = self.trips.add(trip);
        if self.config.reads_telemetry() {
            self.hops.resize_with(self.trips.items.len(), Vec::new);
            self.hops[at as usize].clear();
        }
        at
    }
}

impl Net<'_> {
    /// A message's first packet is about to be made, and its route stands in the buffer: its flow opens.
    pub(super) fn open_flow(&mut self, message: u32, payload: u32, overhead: u16) {
        if self.feedback.is_none() || self.asides[message as usize].flow != NONE {
            return;
        }
        let m = self.messages.items[message as usize];
        let stream = self.stream_of(message);
        // A queue pair is judged by full packets, for any first message.
        let (payload, overhead) = match stream {
            Some(_) => {
                let full = self.plan.packet_bytes;
                (full, self.plan.wire_bytes(full, self.buffer.switches) - full)
            }
            None => (payload, u32::from(overhead)),
        };
        let Some(mut feedback) = self.feedback.take() else { return };
        let (host_ps, there_ps, [rate, to_rate]) = self.idle_times(feedback.host_stages, payload, payload + overhead);
        let choice = self.plan.choice(m.to, m.from, message, 0);
        // The path there stands in where links that are down leave no path back.
        let back = self.plan.route(m.to, m.from, choice, &mut feedback.back).map(|()| feedback.back.latency_ps);
        let idle = Idle { host_ps, back_ps: back.unwrap_or(self.buffer.latency_ps) };
        let path = Path {
            base_rtt_ps: there_ps + idle.back_ps,
            back_ps: idle.back_ps,
            to: m.to,
            rate,
            to_rate,
            packet: f64::from(payload + overhead),
            now_ps: self.now,
        };
        let flow = feedback.flows.open(message, &path);
        let places = feedback.idle.len().max(flow as usize + 1);
        feedback.idle.resize(places, Idle::default());
        feedback.idle[flow as usize] = idle;
        self.asides[message as usize].flow = flow;
        let (mut wanted, mut behind) = (self.on_wire(message), NONE);
        if let (Some(stream), Some(pairs)) = (stream, &mut self.pairs)
            && let Some(pair) = pairs.get_mut(&stream)
        {
            (pair.flow, behind) = (flow, pair.waiting.head);
        }
        while behind != NONE {
            wanted += self.on_wire(behind);
            behind = self.messages.items[behind as usize].next;
        }
        feedback.flows.wants(flow, wanted, self.now);
        self.feedback = Some(feedback);
        self.expect_news();
    }
    /// Opens the flow of a message none of whose packets is made; `None` where it has no route.
    fn open_before_packets(&mut self, message: u32) -> Option<()> {
        let switches = self.way(message, 0).ok()?;
        let payload = self.messages.items[message as usize].bytes.min(u64::from(self.plan.packet_bytes)) as u32;
        let overhead = self.plan.wire_bytes(payload, switches) - payload;
        self.open_flow(message, payload, overhead as u16);
        Some(())
    }
    /// All bytes of a message on the wire, past as many switches as any path has. If too few were granted, the last
    /// packet would never leave.
    fn on_wire(&self, message: u32) -> f64 {
        let m = &self.messages.items[message as usize];
        let overhead = self.plan.wire_bytes(0, MOST_SWITCHES);
        m.bytes as f64 + f64::from(m.packets) * f64::from(overhead)
    }
    /// The transport of a flow that is open learns of another message.
    fn want(&mut self, flow: u32, message: u32) {
        let wanted = self.on_wire(message);
        if let Some(feedback) = &mut self.feedback {
            feedback.flows.wants(flow, wanted, self.now);
            self.expect_news();
        }
    }
    /// The transport's own news are heard in time.
    fn expect_news(&mut self) {
        let Some(feedback) = &mut self.feedback else { return };
        if let Some(next) = feedback.flows.next_ps()
            && feedback.news_ps.is_none_or(|asked| next < asked)
        {
            feedback.news_ps = Some(next);
            self.queue.push(next.max(self.now), Event::new(kind::NEWS, 0, 0));
        }
    }
    /// What a transport waited for has come.
    pub(super) fn hear_news(&mut self) {
        let Some(feedback) = &mut self.feedback else { return };
        // News of an earlier time were asked for after these.
        feedback.news_ps = feedback.news_ps.filter(|&asked| asked > self.now);
        let mut owners = std::mem::take(&mut feedback.owners);
        feedback.flows.tick(self.now, &mut owners);
        self.expect_news();
        owners.drain(..).for_each(|message| self.resume_flow(message));
        if let Some(feedback) = &mut self.feedback {
            feedback.owners = owners;
        }
    }
    /// The queue pair of a message: that which it was posted on; of a transport, else that of its nodes.
    fn stream_of(&self, message: u32) -> Option<Stream> {
        let m = &self.messages.items[message as usize];
        let posted = self.streams.get(message as usize).copied().flatten();
        posted.or(self.feedback.is_some().then_some([m.from, m.to, NONE])).filter(|_| self.by_pair(message))
    }
    /// Whether a message goes over a queue pair. What adapters send by themselves does not.
    fn by_pair(&self, message: u32) -> bool {
        self.pairs.is_some() && !self.messages.items[message as usize].inner
    }
    /// A message wants to begin. `false`: others of its queue pair are before it, and it starts when they have left.
    pub(super) fn takes_pair(&mut self, message: u32) -> bool {
        let Some(stream) = self.stream_of(message) else { return true };
        let Some(pairs) = &mut self.pairs else { return true };
        let fresh = QueuePair { flow: NONE, head: NONE, waiting: List::default() };
        let pair = pairs.entry(stream).or_insert(fresh);
        let (flow, is_taken) = (pair.flow, pair.head != NONE);
        if is_taken {
            pair.waiting.push(&mut self.messages.items, message);
        }
        // A flow that opens later asks for all that waits.
        if flow != NONE {
            self.want(flow, message);
        }
        if !is_taken {
            self.heads_pair(stream, message);
        }
        !is_taken
    }
    /// A message is the one of its queue pair that sends.
    fn heads_pair(&mut self, stream: Stream, message: u32) {
        let Some(pair) = self.pairs.as_mut().and_then(|pairs| pairs.get_mut(&stream)) else { return };
        pair.head = message;
        if pair.flow != NONE
            && let Some(feedback) = &mut self.feedback
        {
            self.asides[message as usize].flow = pair.flow;
            feedback.flows.hand_over(pair.flow, message);
        }
    }
    /// All of a message has left, or will never leave: the next one of its queue pair.
    pub(super) fn leaves_pair(&mut self, message: u32) -> Option<u32> {
        let stream = self.stream_of(message)?;
        let pair = self.pairs.as_mut()?.get_mut(&stream)?;
        let next = pair.waiting.pop(&mut self.messages.items);
        pair.head = NONE;
        if next.is_none() && pair.flow == NONE {
            self.pairs.as_mut()?.remove(&stream);
        }
        next.inspect(|&next| self.heads_pair(stream, next))
    }
    /// Times of a packet that is alone on the route in the buffer: to the first link, to its arrival. Also the rates of
    /// that link and of the last one.
    fn idle_times(&mut self, host_stages: u16, payload: u32, wire: u32) -> (u64, u64, [f64; 2]) {
        let took = |net: &mut Self, stage: usize| {
            let lane = net.buffer.stages[stage].lane;
            let class = net.servers[net.server_of(lane) as usize].class;
            let pace = &mut net.paces[class as usize];
            let bytes = if pace.payload_only { payload } else { wire };
            (pace.time(bytes), pace.rate.0 as f64, pace.crossbar)
        };
        let last = self.buffer.stages.len() - 1;
        let first_link = usize::from(host_stages).min(last);
        let (mut at, mut host_ps, mut tail) = (0, 0, 0);
        for stage in 0..=last {
            if stage == first_link {
                host_ps = at;
            }
            let (own, _, crossbar) = took(self, stage);
            tail = if crossbar { own.max(tail) } else { own };
            let (next, _, on) = if stage == last { (0, 0.0, false) } else { took(self, stage + 1) };
            at += self.buffer.stages[stage].latency_ps();
            at += match self.passage {
                Passage::Stored => own,
                _ if on => 0,
                _ => tail.saturating_sub(next),
            };
        }
        let is_link = |net: &Self, stage: &usize| net.is_link(net.buffer.stages[*stage].lane);
        let last_link = (first_link..=last).rev().find(|stage| is_link(self, stage)).unwrap_or(first_link);
        let rates = [first_link, last_link].map(|stage| took(self, stage).1);
        (host_ps, at, rates)
    }
    /// A packet waits for the server of `lane` from now on.
    #[inline(never)]
    pub(super) fn see_waiting(&mut self, packet: u32, server: u32) {
        match &mut self.feedback {
            Some(feedback) => {
                feedback.backlog[server as usize] += u64::from(self.packets.items[packet as usize].wire());
            }
            None => self.packets.items[packet as usize].since_ns = (self.now / 1000) as u32,
        }
    }
    /// A packet starts on a server: marks, telemetry, and the start of its trip.
    #[inline(never)]
    pub(super) fn see_start(&mut self, packet: u32, server: u32) {
        let Some(feedback) = &mut self.feedback else { return self.mark(packet, server) };
        let p = &mut self.packets.items[packet as usize];
        feedback.backlog[server as usize] -= u64::from(p.wire());
        if p.stage == 0 && p.trip == NONE {
            let flow = self.asides[p.message as usize].flow;
            p.trip = feedback.set_out(flow, p.wire(), self.now);
        }
        let trip = &mut feedback.trips.items[p.trip as usize];
        if p.stage <= feedback.host_stages {
            if p.stage == feedback.host_stages {
                trip.begun_ps = self.now.saturating_sub(feedback.idle[trip.flow as usize].host_ps);
            }
            return;
        }
        let s = &self.servers[server as usize];
        let pace = &self.paces[s.class as usize];
        if pace.payload_only {
            return;
        }
        let queue = feedback.backlog[server as usize];
        if feedback.config.reads_telemetry() {
            let rate = pace.rate.0 as f64;
            let sent_bytes = s.busy_ps as f64 * rate / 1e12;
            let hop = Hop { link: server, rate, queue_bytes: queue as f64, sent_bytes, at_ps: self.now };
            feedback.hops[p.trip as usize].push(hop);
        }
        if let Some(ecn) = feedback.marks.get(server as usize) {
            // By the packet, the queue and the time alone: flows that share nothing draw what they draw alone.
            let m = &self.messages.items[p.message as usize];
            let lot = self.plan.pair_lot(m.from, m.to) ^ mix(self.now) ^ u64::from(server) << 32;
            if !trip.marked && ecn.share(queue as f64) > Random::new(mix(lot)).unit() {
                trip.marked = true;
                self.stats.marks += 1;
            }
        }
    }
    /// A packet is at its destination: its acknowledgement sets out.
    #[inline(never)]
    pub(super) fn see_arrival(&mut self, packet: u32, p: &Packet) {
        let by_pair = self.by_pair(p.message);
        let Some(feedback) = &mut self.feedback else { return self.heed(packet, p) };
        let trip = &mut feedback.trips.items[p.trip as usize];
        trip.arrived_ps = self.now;
        let back = feedback.idle[trip.flow as usize].back_ps;
        self.queue.push(self.now + back, Event::new(kind::HEARD, p.trip, 0));
        let m = &self.messages.items[p.message as usize];
        if !by_pair && m.delivered + 1 == m.packets {
            feedback.flows.close(self.asides[p.message as usize].flow);
        }
    }
    /// An acknowledgement is back.
    pub(super) fn heard(&mut self, trip: u32) {
        let Some(feedback) = &mut self.feedback else { return };
        let Trip { flow, bytes, begun_ps, arrived_ps, marked, .. } = feedback.trips.items[trip as usize];
        feedback.trips.remove(trip);
        let hops = feedback.hops.get(trip as usize).map_or(&[][..], Vec::as_slice);
        let rtt_ps = self.now - begun_ps;
        let ack = Ack { now_ps: self.now, arrived_ps, rtt_ps, bytes, marked, hops };
        if let Some(message) = feedback.flows.heard(flow, &ack) {
            self.resume_flow(message);
        }
    }
    /// Whether the next packet of a flow has to wait. The flow is then checked again in time.
    pub(super) fn holds_back(&mut self, message: u32) -> bool {
        let Some(feedback) = &mut self.feedback else { return false };
        let mut flow = self.asides[message as usize].flow;
        if flow == NONE {
            // The first packet of a flow opens it, unless that has to wait.
            if !feedback.config.asks() || self.open_before_packets(message).is_none() {
                return false;
            }
            flow = self.asides[message as usize].flow;
        }
        let Some(feedback) = &mut self.feedback else { return false };
        match feedback.flows.permit(flow, self.now) {
            Permit::Now => return false,
            Permit::At(at) => self.queue.push(at, Event::new(kind::RESUME, message, 0)),
            Permit::Acknowledged => {}
        }
        true
    }
    /// The next packet of a message may leave, unless its transport has thought better of it.
    pub(super) fn resume_flow(&mut self, message: u32) {
        if !self.holds_back(message) {
            self.injected(message);
        }
    }
    /// The sender of a packet learns that it was lost, and sends it again.
    pub(super) fn see_loss(&mut self, packet: u32) {
        let Some(feedback) = &mut self.feedback else { return };
        let p = &self.packets.items[packet as usize];
        if p.index & AGAIN != 0 && p.trip != NONE {
            let trip = &mut feedback.trips.items[p.trip as usize];
            trip.marked = false;
            feedback.flows.lost(trip.flow, self.now);
            if let Some(hops) = feedback.hops.get_mut(p.trip as usize) {
                hops.clear();
            }
        }
    }
    /// A packet never arrives.
    pub(super) fn see_end(&mut self, trip: u32) {
        let Some(feedback) = self.feedback.as_mut().filter(|_| trip != NONE) else { return };
        let Trip { flow, bytes, .. } = feedback.trips.items[trip as usize];
        feedback.trips.remove(trip);
        if let Some(message) = feedback.flows.gone(flow, bytes) {
            self.resume_flow(message);
        }
    }
    /// Nothing waits for a server any longer.
    pub(super) fn see_evacuated(&mut self, server: u32) {
        if let Some(feedback) = &mut self.feedback {
            feedback.backlog[server as usize] = 0;
        }
    }
    /// The path back of a packet's flow, under a transport.
    pub(super) fn back_ps(&self, p: &Packet) -> Option<u64> {
        let feedback = self.feedback.as_ref()?;
        Some(feedback.idle[feedback.trips.items[p.trip as usize].flow as usize].back_ps)
    }
    /// Whether a packet that finds no room is let in anyway: an adapter never drops what its own host sends under a
    /// transport.
    pub(super) fn is_own(&self, p: &Packet) -> bool {
        self.feedback.as_ref().is_some_and(|feedback| p.stage <= feedback.host_stages)
    }
    /// The delay after which a sender repeats a packet that finds no room here. Where switches trim, the packet's
    /// header travels on to the receiver with priority, and the receiver asks for the packet again. Elsewhere the
    /// sender repeats it after a timeout.
    pub(super) fn again_after(&self, packet: u32) -> u64 {
        match self.feedback.as_ref().filter(|feedback| feedback.config.trims()) {
            Some(feedback) => {
                let p = &self.packets.items[packet as usize];
                let flow = feedback.trips.items[p.trip as usize].flow;
                self.routes.latency_from(packet, u32::from(p.stage)) + feedback.idle[flow as usize].back_ps
            }
            None => self.retransmit_ps(),
        }
    }
}
