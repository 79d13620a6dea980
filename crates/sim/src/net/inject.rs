//! How messages become packets in the network: the simplest adapter.
//!
//! A node serves a few of its messages (its streams) round-robin. Each stream has one packet that waits for the first
//! server of its route, and makes the next packet when that one starts. Host memory, bus and adapter are servers of the
//! route like any other. A richer adapter (programmed transfers, DMA queues, a NIC processor) takes the place of
//! [`Net::offer`], and decides when a packet is ready for the network.

use super::feedback::Stream;
use super::pool::{AGAIN, Aside, Message, Packet, Worm};
use super::worm::part;
use super::{Net, Note, kind};
use crate::error::SimError;
use crate::plan::NONE;
use hotlink_event::{Event, Queue};
use hotlink_fabric::flow_control::Passage;
use hotlink_fabric::units::Time;
use hotlink_memory::BusUse;

impl<'a> Net<'a> {
    /// Posts a message of `bytes` from node `from` to node `to` now; its delivery returns `tag`.
    ///
    /// # Errors
    /// A node that does not exist, a message to the same node, or 2^31 packets or more.
    pub fn post(&mut self, from: u32, to: u32, bytes: u64, tag: u64) -> Result<u32, SimError> {
        let message = self.add_message(from, to, bytes, tag)?;
        self.begin(message);
        Ok(message)
    }

    /// Like `post`, for messages that leave one after the other. Each leaves once the message before it on its `stream`
    /// (two ranks and a tag) has left. With a transport, two ranks have one connection.
    ///
    /// # Errors
    /// As [`Net::post`].
    pub fn post_on(&mut self, stream: Stream, [from, to]: [u32; 2], bytes: u64, tag: u64) -> Result<u32, SimError> {
        let message = self.add_message(from, to, bytes, tag)?;
        self.streams.resize(self.messages.items.len(), None);
        let of_ranks = [stream[0], stream[1], NONE];
        self.streams[message as usize] = Some(if self.feedback.is_some() { of_ranks } else { stream });
        self.begin(message);
        Ok(message)
    }

    /// The same where its bytes take `bus` of the sender's and of the receiver's host bus, shared out over its packets.
    ///
    /// # Errors
    /// As [`Net::post`].
    pub(crate) fn post_taking(
        &mut self,
        [from, to]: [u32; 2],
        bytes: u64,
        tag: u64,
        bus: [Time; 2],
    ) -> Result<u32, SimError> {
        let message = self.add_message(from, to, bytes, tag)?;
        // Without buses nothing asks for it.
        if let Some(aside) = self.asides.get_mut(message as usize) {
            aside.bus = bus;
        }
        self.begin(message);
        Ok(message)
    }

    /// The same from adapter to adapter: what the adapters themselves send, such as QsNet's threads, never crosses the
    /// hosts' buses and memories.
    ///
    /// # Errors
    /// As [`Net::post`].
    pub fn post_inner(&mut self, from: u32, to: u32, bytes: u64, tag: u64) -> Result<u32, SimError> {
        let message = self.add_message(from, to, bytes, tag)?;
        self.messages.items[message as usize].inner = true;
        self.begin(message);
        Ok(message)
    }

    pub(super) fn begin(&mut self, message: u32) {
        let Message { from, inner, .. } = self.messages.items[message as usize];
        if inner {
            // Past what hosts have posted: the adapter's threads have an output of their own.
            self.offer(message);
            return;
        }
        self.senders[from as usize].queue.push(&mut self.messages.items, message);
        self.open_streams(from);
    }

    /// Lets every node draw messages from `supply` whenever it has a free stream and nothing posted, until that returns
    /// `None`. `supply` receives the node and returns destination and bytes. The effect is that of posting all messages
    /// now, with less memory.
    ///
    /// # Errors
    /// As [`Net::post`].
    pub fn supply(&mut self, supply: impl FnMut(u32) -> Option<(u32, u64)> + 'a) -> Result<(), SimError> {
        self.supply = Some(Box::new(supply));
        self.supplied_at = self.now;
        for node in 0..self.senders.len() as u32 {
            self.open_streams(node);
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    pub(super) fn add_message(&mut self, from: u32, to: u32, bytes: u64, tag: u64) -> Result<u32, SimError> {
        let nodes = self.senders.len() as u32;
        if from >= nodes || to >= nodes || from == to {
            return Err(SimError::Input(format!(
                "a message from node {from} to node {to}: nodes are 0 to {}, and no node sends to itself",
                nodes - 1
            )));
        }
        let packets = bytes.div_ceil(u64::from(self.plan.packet_bytes)).max(1);
        let packets = u32::try_from(packets).ok().filter(|&packets| packets < AGAIN);
        let packets = packets.ok_or_else(|| {
            SimError::Input(format!("a message of {bytes} B is 2^31 packets or more: send less at once"))
        })?;
        let message = self.messages.add(Message {
            from,
            to,
            bytes,
            tag,
            posted_ps: self.now,
            packets,
            made: 0,
            delivered: 0,
            tree: NONE,
            inner: false,
            lost: 0,
            shares: false,
            switches: 0,
            pause_ps: 0,
            next: NONE,
        });
        if let Some(stream) = self.streams.get_mut(message as usize) {
            *stream = None;
        }
        self.reorder.forget(message);
        if self.buses.is_some() || self.watches {
            let bus = self.buses.map_or([Time::ZERO; 2], |buses| buses.transfer(BusUse::DMA, bytes));
            let places = self.messages.items.len();
            self.asides.resize(places, Aside::default());
            self.asides[message as usize] = Aside { bus, heed_from: 0, flow: NONE };
        }
        Ok(message)
    }

    /// Begins queued messages while the node has streams free.
    fn open_streams(&mut self, node: u32) {
        while self.senders[node as usize].active < self.settings.streams {
            let posted = self.senders[node as usize].queue.pop(&mut self.messages.items);
            let Some(message) = posted.or_else(|| self.supplied(node)) else { break };
            if !self.takes_pair(message) {
                // A supply never ends: it is asked again when the next message has left.
                match posted {
                    Some(_) => continue,
                    None => break,
                }
            }
            self.senders[node as usize].active += 1;
            if !self.holds_back(message) && !self.offer(message) {
                self.leave(message);
            }
        }
    }

    /// All of a message has left, or will never leave. Its stream is free for the next message of its queue pair, or
    /// for any.
    fn leave(&mut self, message: u32) {
        let node = self.messages.items[message as usize].from;
        let mut message = message;
        while let Some(next) = self.leaves_pair(message) {
            if self.holds_back(next) || self.offer(next) {
                return;
            }
            message = next;
        }
        self.senders[node as usize].active -= 1;
    }

    fn supplied(&mut self, node: u32) -> Option<u32> {
        let (to, bytes) = self.supply.as_mut()?(node)?;
        let message = self.add_message(node, to, bytes, 0).map_err(|error| self.failure = Some(error)).ok()?;
        self.messages.items[message as usize].posted_ps = self.supplied_at;
        Some(message)
    }

    /// Makes the next packet of a message and lets it wait for its first server; `false` if the rest of the message is
    /// given up.
    fn offer(&mut self, message: u32) -> bool {
        let Message { from, inner, .. } = self.messages.items[message as usize];
        let sender = &mut self.senders[from as usize];
        if sender.outstanding == self.settings.outstanding && !inner {
            sender.stalled.push(&mut self.messages.items, message);
            return true;
        }
        if self.settings.outstanding != u16::MAX && !inner {
            sender.outstanding += 1;
        }
        if let Err(error) = self.make_packet(message) {
            if self.give_up_rest(message) {
                let sender = &mut self.senders[from as usize];
                sender.outstanding = sender.outstanding.saturating_sub(1);
                return false;
            }
            self.failure = Some(error);
        }
        true
    }

    fn make_packet(&mut self, message: u32) -> Result<(), SimError> {
        let m = self.messages.items[message as usize];
        let index = m.made;
        let switches = self.way(message, index)?;
        let trip = if self.buffer.stays_open { self.buffer.lot } else { NONE };
        let before = u64::from(index) * u64::from(self.plan.packet_bytes);
        let payload = (m.bytes - before).min(u64::from(self.plan.packet_bytes)) as u32;
        let overhead = (self.plan.wire_bytes(payload, switches) - payload) as u16;
        if index == 0 && self.feedback.is_some() {
            self.open_flow(message, payload, overhead);
        }
        self.stats.packets += 1;
        self.messages.items[message as usize].made += 1;
        let here = self.buffer.stages[0];
        let class = self.servers[self.server_of(here.lane) as usize].class;
        let took = self.paces[class as usize].time(payload + u32::from(overhead));
        let sender = &mut self.senders[m.from as usize];
        let born = sender.clock.max(m.posted_ps);
        sender.clock = born + took;
        let packet = self.packets.add(Packet {
            born,
            message,
            payload,
            index,
            next: NONE,
            next_need: 0,
            here,
            ahead: self.buffer.stages.get(1).copied().unwrap_or(here),
            came: NONE,
            stage: 0,
            overhead,
            marked: false,
            since_ns: 0,
            trip,
        });
        self.keep_way(packet, 0);
        if self.passage == Passage::Worm {
            let places = self.packets.items.len();
            self.worms.resize(places, Worm::default());
            self.worms[packet as usize] = Worm::default();
            if m.tree != NONE {
                self.begin_cast(packet, m.tree);
            }
        }
        self.request(packet);
        Ok(())
    }

    /// Puts the path of packet `index` into the buffer; gives the switches on it.
    pub(super) fn way(&mut self, message: u32, index: u32) -> Result<u32, SimError> {
        let m = self.messages.items[message as usize];
        if m.shares {
            self.ways.read(message, &mut self.buffer.stages);
            return Ok(u32::from(m.switches));
        }
        if m.tree != NONE {
            return Ok(self.first_copy(m.tree));
        }
        self.buffer.inner = m.inner;
        let choice = self.plan.choice(m.from, m.to, message, index);
        let found = self.plan.route(m.from, m.to, choice, &mut self.buffer);
        if found.is_err() && self.repair_awaited() {
            self.plan.route_whole(m.from, m.to, choice, &mut self.buffer)?;
        } else {
            found?;
        }
        let switches = self.buffer.switches;
        let alike = self.plan.one_path() || !self.buffer.drawn && self.crowds.is_none();
        if alike && m.packets > 1 && self.outage.is_none() {
            let m = &mut self.messages.items[message as usize];
            (m.shares, m.switches) = (true, switches as u16);
            self.ways.keep(message, &self.buffer.stages);
        }
        Ok(switches)
    }

    /// A packet of `message` has started: the next one may wait in its place.
    #[inline]
    pub(super) fn injected(&mut self, message: u32) {
        let m = &mut self.messages.items[message as usize];
        let (from, inner) = (m.from, m.inner);
        if (m.made == m.packets || !self.offer(message)) && !inner {
            self.leave(message);
            self.open_streams(from);
        }
    }

    /// Keeps a packet in its adapter while as many of the node's are in the network as may be without acknowledgement.
    pub(super) fn park(&mut self, packet: u32) -> bool {
        let p = self.packets.items[packet as usize];
        let Message { from, inner, .. } = self.messages.items[p.message as usize];
        if inner || self.is_link(p.came) || !self.is_link(p.here.lane) || self.outage.is_some() {
            return false;
        }
        let sender = &mut self.senders[from as usize];
        if sender.open < self.settings.unacknowledged {
            sender.open += 1;
            return false;
        }
        // One at a time: the others of the input queue up behind it.
        sender.parked = packet;
        true
    }

    /// Whether the server of `lane` is a link, not part of a host or its adapter.
    pub(super) fn is_link(&self, lane: u32) -> bool {
        !self.paces[self.servers[self.server_of(lane) as usize].class as usize].payload_only
    }

    /// A packet of `node` is acknowledged: the next may follow.
    pub(super) fn acknowledged(&mut self, node: u32) {
        let sender = &mut self.senders[node as usize];
        sender.open = sender.open.saturating_sub(1);
        let parked = std::mem::replace(&mut sender.parked, NONE);
        if parked != NONE {
            self.ask(parked);
        }
        self.response(node);
    }

    /// The head of a packet to one node starts on a stage: if that is its last link, its acknowledgement is due. Where
    /// something fails, only what has arrived is acknowledged.
    #[inline]
    pub(super) fn acknowledge_on_arrival(&mut self, packet: u32) {
        if self.settings.unacknowledged == u16::MAX || self.outage.is_some() {
            return;
        }
        let p = &self.packets.items[packet as usize];
        let arrives = self.is_link(p.here.lane) && (p.here.is_last() || !self.is_link(p.ahead.lane));
        if arrives && self.worms[packet as usize].cast == NONE {
            self.acknowledge(packet);
        }
    }

    /// Sends the acknowledgement of a packet whose head starts on its last link, back along its path. The settings give
    /// the delay after the head of a full packet. A shorter packet takes proportionally less.
    pub(super) fn acknowledge(&mut self, packet: u32) {
        let p = self.packets.items[packet as usize];
        let m = &self.messages.items[p.message as usize];
        if m.inner || self.settings.unacknowledged == u16::MAX {
            return;
        }
        let back = match m.tree {
            NONE => self.routes.latency_ps(packet).saturating_sub(self.plan.hosts_ps(false)),
            tree => self.tree(tree).wire_ps,
        };
        let full = u64::from(self.plan.wire_bytes(self.plan.packet_bytes, 1));
        let wait = part(self.settings.acknowledge_ps, u64::from(p.wire()).min(full), full);
        self.queue.push(self.now + back + wait, Event::new(kind::ACKNOWLEDGE, m.from, 0));
    }

    /// SCI: a response frees one of the node's stream buffers.
    pub(super) fn response(&mut self, node: u32) {
        let sender = &mut self.senders[node as usize];
        sender.outstanding -= 1;
        let Some(message) = sender.stalled.pop(&mut self.messages.items) else { return };
        if !self.offer(message) {
            self.leave(message);
            self.open_streams(node);
        }
    }
}

impl Note {
    /// The message, if it is a delivery.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Note::Delivered(message) => Some(message),
            Note::Timer(_) => None,
        }
    }
}
