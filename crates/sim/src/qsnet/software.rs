//! By puts along a tree, forwarded by the hosts or by the adapters' threads; barriers of the adapters in rounds.
//!
//! A round's put starts when that of the round before has arrived, as a chain of events does (Yu, Buntinas, Graham and
//! Panda, IPDPS 2004). It goes to the node twice as far ahead as in the round before, so any number of nodes works.

use super::dma::buffer;
use super::machine::{Phase, World};
use super::translation::Span;
use super::{Algorithm, Elan};
use crate::error::SimError;
use crate::net::Message;
use hotlink_fabric::spec::Role;
use hotlink_fabric::units::Time;
use std::collections::VecDeque;

/// Degree of the barrier's tree: that of the network.
const DEGREE: u32 = 4;
/// Timers, above the node's number.
const SEND: u32 = 1 << 24;
const HANDLE: u32 = 2 << 24;
const LEAVE: u32 = 3 << 24;
const KIND: u32 = 7 << 24;

/// Tags; above that of a chunk, its place among the bytes, above that of a round, its number.
const UP: u64 = 1;
const DOWN: u64 = 2;
const CHUNK: u64 = 3;
const ROUND: u64 = 4;
const PLACE: u32 = 8;

/// Tree and chunks of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Children of a node; 1 is a chain.
    pub degree: u32,
    /// Bytes that are forwarded at a time.
    pub chunk: u64,
}

impl Shape {
    /// The quickest shape by the model (levels - 1) x (path + degree x chunk time) + chunks x degree x chunk time. It
    /// tries degrees 1, 2 and 4, and chunks of powers of two from 256 B. The chunk time is the slower of link and bus;
    /// a node in the middle crosses the bus degree + 1 times.
    ///
    /// # Errors
    /// A fabric whose links have no rate.
    pub(super) fn best(world: &World<'_>, bytes: u64) -> Result<Shape, SimError> {
        let (World { plan, elan, nodes, .. }, (root, others)) = (world, world.range());
        let rate = |role| plan.fabric.spec.resource(role).and_then(|resource| resource.gross());
        let none = || SimError::Input(format!("{}: its links have no rate", plan.fabric.spec.name));
        let link = rate(Role::Link).ok_or_else(none)?.value.0 as f64
            * plan.fabric.spec.packet().efficiency(u64::from(elan.packet_bytes), 1.0);
        let bus = rate(Role::HostBus).map_or(f64::INFINITY, |rate| rate.value.0 as f64);
        let way = plan.broadcast_tree(root, others, false)?.latency_ps as f64;
        let hop = way + (elan.send + elan.receive).0 as f64;
        let time = |shape: Shape| {
            let (degree, chunk) = (f64::from(shape.degree), shape.chunk.min(bytes) as f64);
            let levels = (0..).find(|&levels| reached(shape.degree, levels) >= u64::from(*nodes)).unwrap_or(0);
            let step = (degree / link).max((degree + 1.0) / bus) * chunk * 1e12 + degree * elan.send.0 as f64;
            let chunks = bytes.div_ceil(shape.chunk).max(1) as f64;
            (f64::from(levels) - 1.0).max(0.0) * (hop + step) + chunks * step
        };
        let shapes =
            [4, 2, 1].into_iter().flat_map(|degree| (8..=16).rev().map(move |bits| Shape { degree, chunk: 1 << bits }));
        Ok(shapes.min_by(|&a, &b| time(a).total_cmp(&time(b))).unwrap_or(Shape { degree: DEGREE, chunk: 1 << 12 }))
    }
}

/// Nodes of a full tree with this many levels below the root.
fn reached(degree: u32, levels: u32) -> u64 {
    match degree {
        1 => u64::from(levels) + 1,
        _ => (0..=levels).map(|level| u64::from(degree).saturating_pow(level)).fold(0, u64::saturating_add),
    }
}

/// A put that waits.
#[derive(Clone, Copy, Debug)]
struct Put {
    to: u32,
    bytes: u64,
    tag: u64,
}

/// What forwards on one node: its host or its adapter.
#[derive(Clone, Debug, Default)]
struct Agent {
    free: Time,
    out: VecDeque<Put>,
    inbox: VecDeque<(u64, u64)>,
    /// For a barrier, children and itself still to arrive; for a broadcast, bytes still to come.
    missing: u64,
    /// For a barrier in rounds: how many it has begun, and what has arrived. Its own arrival is bit 0, then a bit a
    /// round.
    begun: u32,
    met: u32,
}

/// The tree.
pub(super) struct Software {
    agents: Vec<Agent>,
    elan: Elan,
    nic: bool,
    degree: u32,
    /// For a broadcast.
    bytes: Option<(u64, u64)>,
}

impl Software {
    pub fn new(elan: Elan, nodes: u32, algorithm: Algorithm) -> Software {
        let agents = vec![Agent::default(); nodes as usize];
        Software { agents, elan, nic: algorithm == Algorithm::Nic, degree: DEGREE, bytes: None }
    }
    pub fn barrier(&mut self) {
        (self.bytes, self.degree) = (None, DEGREE);
    }
    pub fn broadcast(&mut self, bytes: u64, shape: Shape) {
        (self.bytes, self.degree) = (Some((bytes, shape.chunk)), shape.degree);
    }
    fn children(&self, node: u32) -> std::ops::Range<u32> {
        let nodes = self.agents.len() as u64;
        let first = u64::from(node) * u64::from(self.degree) + 1;
        (first.min(nodes) as u32)..((first + u64::from(self.degree)).min(nodes) as u32)
    }
    fn costs(&self) -> (Time, Time) {
        if self.nic { (self.elan.thread, self.elan.thread) } else { (self.elan.send, self.elan.receive) }
    }

    /// The forwarder works for this time.
    fn works(&self, world: &mut World<'_>, node: u32, time: Time) {
        if self.nic { world.thread(node, time) } else { world.host(node, time) }
    }

    fn put(&mut self, world: &mut World<'_>, node: u32, put: Put) {
        let send = self.costs().0;
        self.works(world, node, send);
        let agent = &mut self.agents[node as usize];
        agent.free = agent.free.max(world.net.now()) + send;
        agent.out.push_back(put);
        world.net.timer(agent.free, SEND + node);
    }
    /// The DMA processor moves it, or the adapter's thread sends it if it is no more than a word of its own.
    fn send(&self, world: &mut World<'_>, node: u32, put: Put) -> Result<(), SimError> {
        let (bytes, tag, to) = (put.bytes, put.tag, world.node(put.to));
        if tag & 0xff == CHUNK {
            let source = Span { buffer: buffer::DATA, offset: tag >> PLACE, bytes };
            return world.dma(node, [to; 2], source, tag);
        }
        if self.nic {
            world.net.post_inner(world.node(node), to, bytes, tag)?;
            return Ok(());
        }
        world.dma(node, [to; 2], Span { buffer: buffer::WORDS, offset: 0, bytes }, tag)
    }

    /// A child, or the node itself, has arrived.
    fn arrived(&mut self, world: &mut World<'_>, node: u32) {
        let agent = &mut self.agents[node as usize];
        agent.missing -= 1;
        if agent.missing > 0 {
            return;
        }
        if node > 0 {
            return self.put(world, node, Put { to: (node - 1) / self.degree, bytes: 8, tag: UP });
        }
        self.release(world, node);
    }
    /// The node itself (0) or a round's put has arrived: as many rounds begin as have what they wait for.
    fn meets(&mut self, world: &mut World<'_>, node: u32, what: u32) {
        let nodes = self.agents.len() as u32;
        let rounds = u32::BITS - (nodes - 1).leading_zeros();
        self.agents[node as usize].met |= 1 << what;
        loop {
            let agent = &mut self.agents[node as usize];
            if agent.met & (1 << agent.begun) == 0 {
                return;
            }
            agent.begun += 1;
            let round = agent.begun;
            if round > rounds {
                return self.leaves(world, node);
            }
            let to = ((u64::from(node) + (1 << (round - 1))) % u64::from(nodes)) as u32;
            self.put(world, node, Put { to, bytes: 8, tag: ROUND | u64::from(round) << PLACE });
        }
    }
    /// The adapter reports to its host by a store over the bus. A host that forwards leaves once it has posted all.
    fn leaves(&self, world: &mut World<'_>, node: u32) {
        let now = world.net.now();
        let at =
            if self.nic { now + self.elan.bus + self.elan.receive } else { self.agents[node as usize].free.max(now) };
        world.net.timer(at, LEAVE + node);
    }
    /// All have arrived, as node `node` knows.
    fn release(&mut self, world: &mut World<'_>, node: u32) {
        for to in self.children(node) {
            self.put(world, node, Put { to, bytes: 8, tag: DOWN });
        }
        self.leaves(world, node);
    }
    /// A chunk is at a node, which forwards it to the children.
    fn forward(&mut self, world: &mut World<'_>, node: u32, tag: u64, bytes: u64) {
        for to in self.children(node) {
            self.put(world, node, Put { to, bytes, tag });
        }
        let agent = &mut self.agents[node as usize];
        agent.missing = agent.missing.saturating_sub(bytes.max(1));
        if agent.missing == 0 {
            let at = agent.free.max(world.net.now());
            // The adapter reports to its host by a store over the bus.
            let told = if self.nic { self.elan.bus + self.elan.receive } else { Time::ZERO };
            world.net.timer(at + told, LEAVE + node);
        }
    }
}

impl Phase for Software {
    fn begin(&mut self, world: &mut World<'_>) -> Result<(), SimError> {
        let now = world.net.now();
        for node in 0..self.agents.len() as u32 {
            let children = self.children(node).len() as u64;
            let agent = &mut self.agents[node as usize];
            agent.missing = self.bytes.map_or(children + 1, |(bytes, _)| bytes.max(1));
            (agent.begun, agent.met) = (0, 0);
            if self.bytes.is_some() {
                continue;
            }
            // Its own arrival: the host acts at once, or notifies its adapter.
            let at = if self.nic { now + self.elan.send + self.elan.bus } else { now };
            if self.nic {
                world.host(node, self.elan.send);
            }
            agent.inbox.push_back((0, 0));
            world.net.timer(at, HANDLE + node);
        }
        if let Some((bytes, chunk)) = self.bytes {
            if self.nic {
                world.host(0, self.elan.send);
                self.agents[0].free = now + self.elan.send + self.elan.bus;
            }
            let chunks = bytes.div_ceil(chunk).max(1);
            let place = |i: u64| CHUNK | (i * chunk) << PLACE;
            (0..chunks).for_each(|i| self.forward(world, 0, place(i), (bytes - i * chunk).min(chunk)));
        }
        Ok(())
    }

    fn on_timer(&mut self, world: &mut World<'_>, id: u32) -> Result<(), SimError> {
        let node = id & !KIND;
        match id & KIND {
            SEND => {
                if let Some(put) = self.agents[node as usize].out.pop_front() {
                    self.send(world, node, put)?;
                }
            }
            HANDLE => match self.agents[node as usize].inbox.pop_front() {
                Some((tag, bytes)) if tag & 0xff == CHUNK => self.forward(world, node, tag, bytes),
                Some((DOWN, _)) => self.release(world, node),
                Some((tag, _)) if self.nic => self.meets(world, node, (tag >> PLACE) as u32),
                _ => self.arrived(world, node),
            },
            _ => {
                // The host hears it from its adapter; one that forwards itself is done.
                if self.nic {
                    world.host(node, self.elan.receive);
                }
                world.end(node, self.bytes.is_none())?
            }
        }
        Ok(())
    }

    fn on_message(&mut self, world: &mut World<'_>, message: &Message) -> Result<(), SimError> {
        let receive = self.costs().1;
        self.works(world, message.to, receive);
        let agent = &mut self.agents[message.to as usize];
        agent.free = agent.free.max(world.net.now()) + receive;
        agent.inbox.push_back((message.tag, message.bytes));
        world.net.timer(agent.free, HANDLE + message.to);
        Ok(())
    }
}
