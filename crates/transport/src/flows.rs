//! Flows under a transport: what is in flight, when the next packet may leave, and which flow waits for an acknowledgement.
//!
//! A driver opens a flow for each of its own (an owner) and asks for a [`Permit`] before each packet. It reports when a
//! packet leaves, when an acknowledgement returns, and when the flow needs no more packets. Places are reused once all
//! acknowledgements are back, so the steady state does not allocate.

use crate::{Ack, Path, Room, Transport};

/// When a flow may send its next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// At once.
    Now,
    /// Not before this time, in picoseconds: its packets are paced.
    At(u64),
    /// Not before an acknowledgement: its window is full.
    Acknowledged,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    owner: u32,
    packet: f64,
    in_flight: f64,
    /// Packets without acknowledgement.
    packets: u32,
    /// When its pace lets the next packet leave.
    next_ps: u64,
    waits: bool,
    open: bool,
}

/// All flows of a network.
pub struct Flows {
    control: Box<dyn Transport>,
    flows: Vec<Flow>,
    free: Vec<u32>,
}

impl Flows {
    /// None yet.
    pub fn new(control: Box<dyn Transport>) -> Flows {
        Flows { control, flows: Vec::new(), free: Vec::new() }
    }

    /// Opens a flow for `owner`; gives its place.
    pub fn open(&mut self, owner: u32, path: &Path) -> u32 {
        let flow = Flow {
            owner,
            packet: path.packet,
            in_flight: 0.0,
            packets: 0,
            next_ps: path.now_ps,
            waits: false,
            open: true,
        };
        let at = self.free.pop().unwrap_or(self.flows.len() as u32);
        match self.flows.get_mut(at as usize) {
            Some(place) => *place = flow,
            None => self.flows.push(flow),
        }
        self.control.open(at, path);
        at
    }

    /// From now on the flow sends for another owner.
    pub fn hand_over(&mut self, flow: u32, owner: u32) {
        let f = &mut self.flows[flow as usize];
        (f.owner, f.waits) = (owner, false);
    }

    /// A flow has so many more bytes to send, with headers.
    pub fn wants(&mut self, flow: u32, bytes: f64, now_ps: u64) {
        self.control.wants(flow, bytes, now_ps);
    }

    /// When something happens by itself next ([`Flows::tick`]).
    pub fn next_ps(&self) -> Option<u64> {
        self.control.next_ps()
    }

    /// What was due by now happens; `owners` gets those that waited for it.
    pub fn tick(&mut self, now_ps: u64, owners: &mut Vec<u32>) {
        let from = owners.len();
        self.control.tick(now_ps, owners);
        let mut kept = from;
        for at in from..owners.len() {
            let flow = self.flows[owners[at] as usize];
            if flow.waits && flow.open {
                owners[kept] = flow.owner;
                kept += 1;
            }
        }
        owners.truncate(kept);
    }

    /// When the flow may send its next packet. One packet is always allowed, but where each is granted.
    pub fn permit(&mut self, flow: u32, now_ps: u64) -> Permit {
        let allowed = self.control.allowance(flow, now_ps);
        let f = &mut self.flows[flow as usize];
        let room = self.control.room();
        let has_room = f.packets == 0 && room != Room::Granted || room.has(allowed.window, f.in_flight, f.packet);
        f.waits = !has_room;
        match f.waits {
            true => Permit::Acknowledged,
            // A wait ends where nothing paces any longer.
            false if f.next_ps > now_ps && allowed.rate < f64::INFINITY => Permit::At(f.next_ps),
            false => Permit::Now,
        }
    }

    /// A packet of the flow leaves.
    pub fn sent(&mut self, flow: u32, bytes: u32, now_ps: u64) {
        self.control.sent(flow, bytes, now_ps);
        let rate = self.control.allowance(flow, now_ps).rate;
        let f = &mut self.flows[flow as usize];
        f.in_flight += f64::from(bytes);
        f.packets += 1;
        f.next_ps = now_ps + (f64::from(bytes) / rate * 1e12) as u64;
    }

    /// An acknowledgement is back; gives the owner if it waited for one.
    pub fn heard(&mut self, flow: u32, ack: &Ack<'_>) -> Option<u32> {
        self.control.heard(flow, ack);
        self.settle(flow, ack.bytes)
    }

    /// A packet was lost and is sent again: it stays in flight.
    pub fn lost(&mut self, flow: u32, now_ps: u64) {
        self.control.lost(flow, now_ps);
    }

    /// A packet never arrives; gives the owner if it waited.
    pub fn gone(&mut self, flow: u32, bytes: u32) -> Option<u32> {
        self.settle(flow, bytes)
    }

    /// The flow needs no more packets; its place is free when the last acknowledgement is back.
    pub fn close(&mut self, flow: u32) {
        let f = &mut self.flows[flow as usize];
        f.open = false;
        if f.packets == 0 {
            self.free.push(flow);
        }
    }

    fn settle(&mut self, flow: u32, bytes: u32) -> Option<u32> {
        let f = &mut self.flows[flow as usize];
        f.in_flight -= f64::from(bytes);
        f.packets -= 1;
        if !f.open && f.packets == 0 {
            self.free.push(flow);
        }
        f.waits.then_some(f.owner)
    }
}
