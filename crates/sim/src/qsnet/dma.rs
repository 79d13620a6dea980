//! The Elans' DMA queues: what the programs of a node want moved, and the addresses that it needs translated.
//!
//! A DMA processor takes descriptors in order and works at one at a time. A put therefore waits behind the messages
//! that other programs have posted. The network keeps that order, and one open packet ([`Elan::settings`]). Both ends
//! translate addresses ([`super::translation`]): the source before the DMA begins, during the DMA before it; the
//! destination as data arrive. Elan's threads bypass this queue through an output of their own.

use super::Elan;
use super::translation::{Buffer, Lookups, Span};
use crate::error::SimError;
use crate::net::{Message, Net, Note};
use crate::workload::BACKGROUND;
use hotlink_fabric::units::Time;
use std::collections::VecDeque;

/// Timers: a node's next source is translated (above the node's number); the destination of a DMA under way is (above its
/// place).
const SEND: u32 = 1 << 28;
const ARRIVED: u32 = 2 << 28;
const KIND: u32 = 3 << 28;
/// Bit of a tag: the rest is the place of a DMA under way.
const DMA: u64 = 1 << 63;

/// A node's buffers, as its DMAs name them.
pub(super) mod buffer {
    /// The words that a barrier sets.
    pub const WORDS: u32 = 0;
    /// What a broadcast moves.
    pub const DATA: u32 = 1;
    /// What other programs send.
    pub const OTHERS: u32 = 2;
    /// And where they receive it, with the sender's number.
    pub const FROM: u32 = 1 << 24;
}

/// What to move: from a node's memory to that of another, or of all in a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    /// First and last receiver.
    pub to: [u32; 2],
    /// The bytes, in the source's memory.
    pub source: Span,
    /// Number of the receivers' buffer; the place in it is that in the source.
    pub into: u32,
    /// The workload's own word.
    pub tag: u64,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    waiting: VecDeque<Descriptor>,
    /// The first that waits is being translated.
    looks_up: bool,
    translations: Buffer,
    /// Time that its translations took.
    translated: Time,
}

/// A DMA that the network has.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    what: Descriptor,
    /// All of it is there, and its destination being translated.
    arrived: Option<Message>,
}

/// The DMA queues of all nodes.
pub(super) struct Dmas {
    elan: Elan,
    nodes: Vec<Queue>,
    /// Given to the network.
    under_way: Vec<UnderWay>,
    free: Vec<u32>,
    /// Pages looked up so far.
    pub lookups: Lookups,
}

impl Dmas {
    /// Empty queues.
    pub fn new(elan: Elan, nodes: u32) -> Dmas {
        let nodes = vec![Queue::default(); nodes as usize];
        Dmas { elan, nodes, under_way: Vec::new(), free: Vec::new(), lookups: Lookups::default() }
    }

    /// Time that a node's translations have taken.
    pub fn translated(&self, node: u32) -> Time {
        self.nodes[node as usize].translated
    }

    /// A program's message, as the background's.
    ///
    /// # Errors
    /// As [`Net::post`].
    pub fn message(&mut self, net: &mut Net<'_>, from: u32, to: u32, bytes: u64) -> Result<(), SimError> {
        let source = Span { buffer: buffer::OTHERS, offset: 0, bytes };
        self.post(net, from, Descriptor { to: [to, to], source, into: buffer::FROM + from, tag: BACKGROUND })
    }

    /// Puts a descriptor into a node's queue.
    ///
    /// # Errors
    /// As [`Net::post`].
    pub fn post(&mut self, net: &mut Net<'_>, from: u32, what: Descriptor) -> Result<(), SimError> {
        self.nodes[from as usize].waiting.push_back(what);
        if self.nodes[from as usize].looks_up { Ok(()) } else { self.go_on(net, from) }
    }

    /// Gives the network what is translated, in order.
    fn go_on(&mut self, net: &mut Net<'_>, from: u32) -> Result<(), SimError> {
        while let Some(&what) = self.nodes[from as usize].waiting.front() {
            let own = &mut self.nodes[from as usize];
            if !std::mem::take(&mut own.looks_up) {
                let time = own.translations.look_up(self.elan.translation, what.source, &mut self.lookups);
                own.translated += time;
                if time > Time::ZERO {
                    own.looks_up = true;
                    net.timer(net.now() + time, SEND | from);
                    return Ok(());
                }
            }
            self.nodes[from as usize].waiting.pop_front();
            self.send(net, from, what)?;
        }
        Ok(())
    }

    fn send(&mut self, net: &mut Net<'_>, from: u32, what: Descriptor) -> Result<(), SimError> {
        let own = UnderWay { what, arrived: None };
        let place = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(own);
            self.under_way.len() as u32 - 1
        });
        self.under_way[place as usize] = own;
        let tag = DMA | u64::from(place);
        match what.to {
            [first, last] if first == last => net.post(from, first, what.source.bytes, tag)?,
            range => net.post_broadcast(from, range, what.source.bytes, tag, false)?,
        };
        Ok(())
    }

    /// Takes what concerns the queues; gives back what does not, and a DMA's arrival with its own tag.
    ///
    /// # Errors
    /// As [`Net::post`].
    pub fn take(&mut self, net: &mut Net<'_>, note: Note) -> Result<Option<Note>, SimError> {
        match note {
            Note::Delivered(message) if message.tag & DMA != 0 => {
                let place = message.tag as u32;
                let time = self.receive(place, message.from);
                if time == Time::ZERO {
                    return Ok(Some(self.end(message)));
                }
                self.under_way[place as usize].arrived = Some(message);
                net.timer(net.now() + time, ARRIVED | place);
            }
            Note::Timer(id) if id < 1 << 30 && id & KIND == SEND => self.go_on(net, id & !KIND)?,
            Note::Timer(id) if id < 1 << 30 && id & KIND == ARRIVED => {
                let arrived = self.under_way[(id & !KIND) as usize].arrived.take();
                return Ok(arrived.map(|message| self.end(message)));
            }
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    /// The receivers look up the destination of a DMA: the time of the slowest.
    fn receive(&mut self, place: u32, from: u32) -> Time {
        let Descriptor { to, source, into, .. } = self.under_way[place as usize].what;
        let span = Span { buffer: into, ..source };
        let one = |node: u32| {
            let own = &mut self.nodes[node as usize];
            let time = own.translations.look_up(self.elan.translation, span, &mut self.lookups);
            own.translated += time;
            time
        };
        (to[0]..=to[1]).filter(|&node| node != from).map(one).max().unwrap_or(Time::ZERO)
    }

    /// A DMA is over: its arrival, with the word of the one who posted it.
    fn end(&mut self, message: Message) -> Note {
        let place = message.tag as u32;
        self.free.push(place);
        Note::Delivered(Message { tag: self.under_way[place as usize].what.tag, ..message })
    }
}
