//! Hardware broadcast: a worm that switches replicate on its path down.
//!
//! A packet to a range of nodes climbs to the lowest switch over the range. It is copied there and below to every path
//! down that leads into the range ([`crate::plan::BroadcastTree`]). A switch copies at the pace of its slowest copy.
//! Data stay in an input buffer until all copies have taken them. A blocked copy therefore holds the channels of the
//! worm behind it and of its sisters.
//!
//! The worm releases a channel once all of the packet fits into the buffers ahead on every path, from the source on.
//! (For one path see [`super::worm`].) A packet is acknowledged when its head has reached all nodes.
//!
//! **Deadlock.** Two broadcasts that reach two switches in different orders would each hold what the other waits for.
//! Every broadcast therefore turns at the same switch of those that cover its range: the first path up, never an
//! adaptive one. A switch copies one broadcast at a time. The next begins there when the tail of the one before has
//! left it. All broadcasts then pass the switches that they share in one order, that of the highest shared switch. The
//! paths from there are the same.
//!
//! A broadcast waits only for an earlier one, or for a channel further down that a unicast packet holds. That packet in
//! turn waits only for channels below its own. On the ascent a packet waits only for channels further up, or for its
//! turn at the switch where it turns.
//!
//! No cycle is left. Channels up by level, turns, and channels down by level form an order in which every packet waits
//! for what comes later. Nodes always accept what reaches them. A test below lets broadcasts turn at several switches,
//! and expects the deadlock.

use super::pool::Worm;
use super::{List, Net, kind, worm};
use crate::error::SimError;
use crate::plan::{BroadcastTree, NO_CHOICE, NONE, Stage};
use hotlink_event::{Event, Queue};
use hotlink_fabric::network::Resource;
use hotlink_fabric::routing::State;

/// One stage of a packet that is being copied.
#[derive(Clone, Copy, Debug, Default)]
struct Replica {
    /// The virtual channel, once it is held.
    channel: u32,
    /// When the tail will have left it, as far as known.
    bound: u64,
    /// Bytes that fit into the buffers from here on, on the path with the least room; 0 until the head has started
    /// here.
    fits: u64,
    /// The copy that started here; its delivery is reported once all of it can arrive.
    packet: u32,
    /// Stages after it whose heads have not started.
    waiting: u32,
    freed: bool,
}

/// A packet under way to many nodes.
#[derive(Debug, Default)]
struct Cast {
    tree: u32,
    replicas: Vec<Replica>,
    /// Nodes not reached yet.
    left: u32,
    /// Adapters to which the head is not yet under way.
    heads: u32,
}

/// Broadcasts of a network.
#[derive(Debug)]
pub(super) struct Casts {
    trees: Vec<BroadcastTree>,
    packets: Vec<Cast>,
    free: Vec<u32>,
    /// By vertex: whether a broadcast is in its turn there, and which wait.
    turns: Vec<Turn>,
    /// By which of the paths up: 0, but in the test that shows why it must be the same for all.
    way_up: fn(u32) -> usize,
    way: Vec<Stage>,
    states: Vec<State>,
}

impl Casts {
    /// Nodes to which `tree` leads each packet of a message.
    #[inline]
    pub(super) fn copies(&self, tree: u32) -> u32 {
        if tree == NONE { 1 } else { self.trees[tree as usize].copies }
    }
}

impl Default for Casts {
    fn default() -> Casts {
        let (way, states) = (Vec::new(), Vec::new());
        Casts {
            trees: Vec::new(),
            packets: Vec::new(),
            free: Vec::new(),
            turns: Vec::new(),
            way_up: |_| 0,
            way,
            states,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    busy: bool,
    waiting: List,
}

impl Net<'_> {
    /// Posts a message of `bytes` from node `from` to the nodes `range[0]` to `range[1]` now; the network itself copies
    /// its packets. It is delivered when all of it is at all of them, and returns `tag`. `inner`: from adapter to
    /// adapters, as [`Net::post_inner`].
    ///
    /// # Errors
    /// See [`crate::Plan::broadcast_tree`]; a network in which something fails; 2^31 packets or more.
    pub fn post_broadcast(
        &mut self,
        from: u32,
        range: [u32; 2],
        bytes: u64,
        tag: u64,
        inner: bool,
    ) -> Result<u32, SimError> {
        if self.outage.is_some() {
            return Err(SimError::Input("a broadcast in a network with faults: not simulated".to_owned()));
        }
        let key = (from, range[0], range[1], inner);
        let known = self.casts.trees.iter().position(|tree| tree.key == key);
        let tree = match known {
            Some(tree) => tree,
            None => {
                let way = (self.casts.way_up)(from);
                self.casts.trees.push(self.plan.broadcast_tree_by(way, from, range, inner)?);
                self.casts.trees.len() - 1
            }
        };
        let to = if range[0] == from { range[1] } else { range[0] };
        let message = self.add_message(from, to, bytes, tag)?;
        let m = &mut self.messages.items[message as usize];
        (m.tree, m.inner) = (tree as u32, inner);
        if m.packets.checked_mul(self.casts.trees[tree].copies).is_none() {
            return Err(SimError::Input(format!("a broadcast of {bytes} B: send less at once")));
        }
        self.begin(message);
        Ok(message)
    }

    /// A tree by its number.
    pub(super) fn tree(&self, tree: u32) -> &BroadcastTree {
        &self.casts.trees[tree as usize]
    }

    /// Puts the path of the first copy of a packet into the buffer; gives the switches on the longest.
    pub(super) fn first_copy(&mut self, tree: u32) -> u32 {
        let (tree, out) = (&self.casts.trees[tree as usize], &mut self.buffer);
        out.stages.clear();
        tree.first_way(0, &mut out.stages);
        out.states.clear();
        out.states.resize(out.stages.len(), NO_CHOICE);
        tree.switches
    }

    /// A packet of a broadcast is about to set out.
    pub(super) fn begin_cast(&mut self, packet: u32, tree: u32) {
        let cast = self.casts.free.pop().unwrap_or_else(|| {
            self.casts.packets.push(Cast::default());
            self.casts.packets.len() as u32 - 1
        });
        let (own, tree_of) = (&mut self.casts.packets[cast as usize], &self.casts.trees[tree as usize]);
        (own.tree, own.left, own.heads) = (tree, tree_of.copies, tree_of.copies);
        own.replicas.clear();
        let replica = |i: u32| Replica { waiting: tree_of.kids(i).len() as u32, ..Replica::default() };
        own.replicas.extend((0..tree_of.stages.len() as u32).map(replica));
        self.worms[packet as usize] = Worm { behind: NONE, tail: 0, cast, at: 0 };
    }

    /// A packet of a broadcast is at the front of the input buffer behind its stage. It waits for its turn if the
    /// switch copies another broadcast; otherwise it takes all its paths.
    pub(super) fn ask_all(&mut self, packet: u32) {
        let Worm { cast, at, .. } = self.worms[packet as usize];
        let tree = &self.casts.trees[self.casts.packets[cast as usize].tree as usize];
        let kids = tree.kids(at);
        if kids.len() > 1 {
            let vertex = self.switch_before(tree.stages[kids[0] as usize].lane);
            if self.casts.turns.is_empty() {
                self.casts.turns = vec![Turn::default(); self.plan.fabric.network.vertices()];
            }
            let turn = &mut self.casts.turns[vertex as usize];
            if turn.busy {
                self.worms[packet as usize].behind = NONE;
                match turn.waiting.tail {
                    NONE => turn.waiting.head = packet,
                    tail => self.worms[tail as usize].behind = packet,
                }
                turn.waiting.tail = packet;
                return;
            }
            turn.busy = true;
        }
        self.go_all_ways(packet);
    }

    /// The device that the channel of `lane` leaves.
    fn switch_before(&self, lane: u32) -> u32 {
        match self.plan.server_resource(self.server_of(lane)) {
            Resource::Channel(channel) => self.plan.fabric.network.from(channel).0,
            Resource::Vertex(vertex) => vertex.0,
            Resource::Host(node, _) => node.0,
        }
    }

    fn go_all_ways(&mut self, packet: u32) {
        let Worm { cast, at, .. } = self.worms[packet as usize];
        let tree = self.casts.packets[cast as usize].tree;
        let ways = self.casts.trees[tree as usize].kids(at).len();
        let feeder = self.input_lane(self.packets.items[packet as usize].came);
        self.holds[feeder as usize].copies = if ways > 1 { ways as u32 } else { 0 };
        for way in (0..ways).rev() {
            let kid = self.casts.trees[tree as usize].kids(at)[way];
            let copy = if way > 0 { self.copy(packet, tree, kid) } else { packet };
            self.worms[copy as usize].at = kid;
            if self.plan.alike > 1 {
                self.choose_channel(copy);
            }
            self.request(copy);
        }
    }

    /// Another copy of a packet, which continues at the stage `at`.
    fn copy(&mut self, packet: u32, tree: u32, at: u32) -> u32 {
        let p = self.packets.items[packet as usize];
        let own_tree = &self.casts.trees[tree as usize];
        self.casts.way.clear();
        // What lies behind does not matter but for the last channel.
        self.casts.way.resize(usize::from(p.stage), Stage { lane: p.came, ..Stage::default() });
        own_tree.first_way(at, &mut self.casts.way);
        self.casts.states.resize(self.casts.way.len(), NO_CHOICE);
        let here = own_tree.stages[at as usize];
        let copy = self.packets.add(super::Packet { here, next: NONE, next_need: 0, ..p });
        self.routes.write(copy, 0, &self.casts.way, &self.casts.states);
        self.packets.items[copy as usize].ahead = self.routes.after(copy, u32::from(p.stage), here);
        self.worms.resize(self.packets.items.len(), Worm::default());
        let cast = self.worms[packet as usize].cast;
        self.worms[copy as usize] = Worm { behind: NONE, tail: u32::from(p.stage), cast, at };
        copy
    }

    /// A copy starts on `channel`: what the tail can now leave, on all paths, is released.
    pub(super) fn hold_copy(&mut self, packet: u32, channel: u32, took: u64, last: bool) {
        let Worm { cast, at, .. } = self.worms[packet as usize];
        let bytes = u64::from(self.packets.items[packet as usize].wire());
        let fits = if last { u64::MAX } else { self.buffer_behind(channel) };
        let own = &mut self.casts.packets[cast as usize];
        let parent = self.casts.trees[own.tree as usize].parent[at as usize];
        let replica = &mut own.replicas[at as usize];
        (replica.channel, replica.bound, replica.fits) = (channel, self.now + took, fits);
        replica.packet = packet;
        if parent != NONE {
            let feeder = &mut own.replicas[parent as usize];
            feeder.waiting -= 1;
            if feeder.waiting == 0 {
                // All copies have taken the head: the rest drains from the input buffer that it waited in.
                let lane = feeder.channel;
                self.lanes[lane as usize].room += bytes.min(self.buffer_behind(lane)) as i32;
                self.pokes.push(self.server_of(lane));
            }
        }
        self.near_an_adapter(packet, cast, at);
        let top = self.fill(cast, parent, (took, bytes)).unwrap_or(at);
        self.let_go(cast, top, bytes);
        self.let_go(cast, at, bytes);
    }

    /// A copy's head starts on the stage `at`: if it is the last link of the last copy, the packet's acknowledgement is
    /// due.
    fn near_an_adapter(&mut self, packet: u32, cast: u32, at: u32) {
        let tree = &self.casts.trees[self.casts.packets[cast as usize].tree as usize];
        let ends = tree.kids(at).iter().all(|&kid| !self.is_link(tree.stages[kid as usize].lane));
        if !ends || !self.is_link(tree.stages[at as usize].lane) {
            return;
        }
        let own = &mut self.casts.packets[cast as usize];
        own.heads -= 1;
        if own.heads == 0 {
            self.acknowledge(packet);
        }
    }

    /// Carries what now fits in front of a copy up to the stages before it, starting at `stage`. Returns the topmost
    /// stage that is still held.
    fn fill(&mut self, cast: u32, mut stage: u32, (took, bytes): (u64, u64)) -> Option<u32> {
        let (mut between, mut top) = (0, None);
        while stage != NONE {
            let buffer = self.buffer_behind(self.casts.packets[cast as usize].replicas[stage as usize].channel);
            let own = &mut self.casts.packets[cast as usize];
            let tree = &self.casts.trees[own.tree as usize];
            let least = tree.kids(stage).iter().map(|&kid| own.replicas[kid as usize].fits).min();
            let replica = &mut own.replicas[stage as usize];
            between += buffer;
            replica.fits = buffer.saturating_add(least.unwrap_or(u64::MAX));
            if !replica.freed {
                top = Some(stage);
                let rest = worm::part(took, bytes.saturating_sub(between), bytes);
                replica.bound = replica.bound.max(self.now + rest);
            }
            stage = tree.parent[stage as usize];
        }
        top
    }

    /// Releases `stage`, and the stages after it, if all of the packet fits in front of it. A copy gets no more than
    /// the slowest of its sisters has taken. Its own channels are therefore held until the packet fits everywhere.
    fn let_go(&mut self, cast: u32, stage: u32, bytes: u64) {
        let own = &mut self.casts.packets[cast as usize];
        let tree = &self.casts.trees[own.tree as usize];
        let parent = tree.parent[stage as usize];
        let (free, bound) = match parent {
            NONE => (true, 0),
            parent => (own.replicas[parent as usize].freed, own.replicas[parent as usize].bound),
        };
        let replica = &mut own.replicas[stage as usize];
        if replica.freed || !free || replica.fits < bytes {
            return;
        }
        replica.freed = true;
        replica.bound = replica.bound.max(bound);
        let (at, channel, packet) = (replica.bound, replica.channel, replica.packet);
        self.queue.push(at, Event::new(kind::RELEASE, channel, 0));
        let kids = tree.kids(stage).len();
        if kids == 0 {
            let latency = self.packets.items[packet as usize].here.latency_ps();
            return self.queue.push(at + latency, Event::new(kind::DELIVER, packet, 0));
        }
        for kid in 0..kids {
            let tree = self.casts.packets[cast as usize].tree;
            self.let_go(cast, self.casts.trees[tree as usize].kids(stage)[kid], bytes);
        }
    }

    /// The broadcast in its turn at a switch has left it: the next begins.
    fn end_turn(&mut self, vertex: u32) {
        let turn = &mut self.casts.turns[vertex as usize];
        let next = turn.waiting.head;
        turn.busy = next != NONE;
        if next != NONE {
            turn.waiting.head = self.worms[next as usize].behind;
            if turn.waiting.head == NONE {
                turn.waiting.tail = NONE;
            }
            self.go_all_ways(next);
        }
    }

    /// Whether nothing is under way and every channel, buffer and turn is free.
    #[cfg(test)]
    fn is_idle(&self) -> bool {
        let whole = |(lane, here): (usize, &super::Lane)| {
            let class = self.servers[lane >> self.plan.lane_shift].class;
            here.room == self.paces[class as usize].buffer as i32 && here.queue.head == NONE
        };
        let free = |server: &super::Server| !server.busy && server.held == 0 && server.closed == 0;
        self.lanes.iter().enumerate().all(whole)
            && self.servers.iter().all(free)
            && self.casts.turns.iter().all(|turn| !turn.busy && turn.waiting.head == NONE)
            && self.packets.live == 0
            && self.casts.free.len() == self.casts.packets.len()
    }

    /// A packet has reached a node: a broadcast's is forgotten once it has reached all.
    pub(super) fn copy_arrived(&mut self, packet: u32) {
        let cast = self.worms[packet as usize].cast;
        if cast == NONE {
            return;
        }
        let own = &mut self.casts.packets[cast as usize];
        own.left -= 1;
        if own.left == 0 {
            self.casts.free.push(cast);
        }
    }

    /// The tail of one of several copies has left its channel. Returns true if it was the last, and the input buffer
    /// `feeder` before them is empty.
    pub(super) fn copy_has_left(&mut self, lane: u32, feeder: u32) -> bool {
        let hold = &mut self.holds[feeder as usize];
        if hold.copies == 0 {
            return true;
        }
        hold.copies -= 1;
        if hold.copies > 0 {
            return false;
        }
        if !self.casts.turns.is_empty() {
            self.end_turn(self.switch_before(lane));
        }
        true
    }
}

#[cfg(test)]
#[path = "../../tests/inside/broadcast.rs"]
mod tests;
