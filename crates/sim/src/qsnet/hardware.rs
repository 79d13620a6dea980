//! By the switches: a conditional that all answer, and a broadcast.

use super::Elan;
use super::dma::buffer;
use super::machine::{Phase, World};
use super::translation::Span;
use crate::error::SimError;
use crate::net::Message;
use hotlink_fabric::units::Time;

/// A conditional pauses for at most this many times the first pause.
const MOST_PAUSES: u64 = 32;

/// Timers: a step of node 0, or a node (above [`NODE`]) that sees the end.
mod step {
    /// Node 0's Elan sends the conditional.
    pub const QUERY: u32 = 1;
    /// The combined answer is back.
    pub const ANSWER: u32 = 2;
    /// Node 0's Elan sends the word that ends the barrier, or starts the DMA.
    pub const SET: u32 = 3;
    /// All other nodes have seen the end.
    pub const END: u32 = 4;
    /// Node 0 has seen it.
    pub const OWN: u32 = 5;
}
/// A node's word is set.
const NODE: u32 = 1 << 24;

/// Tags of the broadcasts.
const QUERY: u64 = 1;
const SET: u64 = 2;

/// The hardware's part.
pub(super) struct Hardware {
    nodes: u32,
    /// Bytes of a broadcast; `None` in a barrier.
    bytes: Option<u64>,
    /// Which nodes' words are set.
    set: u32,
    /// Whether all of them were when the conditional was there.
    holds: bool,
    pause: Time,
    answer: Time,
    pub retries: u64,
}

impl Hardware {
    pub fn new(world: &World<'_>) -> Result<Hardware, SimError> {
        let (root, others) = world.range();
        let back = Time(world.plan.broadcast_tree(root, others, true)?.wire_ps);
        let answer = back + world.elan.acknowledge;
        Ok(Hardware {
            nodes: world.nodes,
            bytes: None,
            set: 0,
            holds: false,
            pause: world.elan.retry,
            answer,
            retries: 0,
        })
    }
    pub fn barrier(&mut self) {
        self.bytes = None;
    }
    pub fn broadcast(&mut self, bytes: u64) {
        self.bytes = Some(bytes);
    }
}

impl Phase for Hardware {
    fn begin(&mut self, world: &mut World<'_>) -> Result<(), SimError> {
        let Elan { send, bus, thread, retry, .. } = world.elan;
        let now = world.net.now();
        (self.set, self.pause) = (0, retry);
        world.host(0, send);
        world.thread(0, thread);
        if self.bytes.is_some() {
            world.net.timer(now + send + bus + thread, step::SET);
            return Ok(());
        }
        for node in 0..self.nodes {
            world.net.timer(now + send + bus, NODE + node);
            if node > 0 {
                world.host(node, send);
            }
        }
        world.net.timer(now + send + bus + thread, step::QUERY);
        Ok(())
    }

    fn on_timer(&mut self, world: &mut World<'_>, id: u32) -> Result<(), SimError> {
        let Elan { receive, bus, thread, retry, .. } = world.elan;
        let (now, (root, others)) = (world.net.now(), world.range());
        match id {
            step::QUERY => _ = world.net.post_broadcast(root, others, 8, QUERY, true)?,
            step::ANSWER if self.holds => {
                world.thread(0, thread);
                world.net.timer(now + thread, step::SET);
            }
            step::ANSWER => {
                self.retries += 1;
                world.net.timer(now + self.pause, step::QUERY);
                self.pause = Time((2 * self.pause.0).min(MOST_PAUSES * retry.0));
            }
            step::SET => {
                match self.bytes {
                    Some(bytes) => world.dma(0, others, Span { buffer: buffer::DATA, offset: 0, bytes }, SET)?,
                    // The thread's own: past the DMA queue.
                    None => _ = world.net.post_broadcast(root, others, 8, SET, true)?,
                }
                world.host(0, receive);
                world.net.timer(now + bus + receive, step::OWN);
            }
            step::END => {
                for node in 1..self.nodes {
                    world.host(node, receive);
                    world.end(node, self.bytes.is_none())?;
                }
            }
            step::OWN => world.end(0, self.bytes.is_none())?,
            _ => self.set += 1,
        }
        Ok(())
    }

    fn on_message(&mut self, world: &mut World<'_>, message: &Message) -> Result<(), SimError> {
        let (now, Elan { receive, bus, thread, .. }) = (world.net.now(), world.elan);
        match message.tag {
            // Each node tests its word as its copy arrives; what is set when the last one does counts for all.
            QUERY => {
                self.holds = self.set == self.nodes;
                (1..self.nodes).for_each(|node| world.thread(node, thread));
                world.net.timer(now + thread + self.answer, step::ANSWER);
            }
            _ if self.bytes.is_some() => world.net.timer(now + receive, step::END),
            _ => world.net.timer(now + world.elan.adapter + bus + receive, step::END),
        }
        Ok(())
    }
}
