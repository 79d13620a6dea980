//! Credits of the receiver, as in EQDS (Olteanu et al., NSDI 2022), ExpressPass (Cho et al., SIGCOMM 2017) and the
//! credits of Ultra Ethernet (RCCC). A sender asks, and its request takes the path there. The receiver grants a packet
//! after the other, at its link's rate, to all that have asked in turn. A grant takes the path back, so that data comes
//! one round trip after its request, and never faster than the link.
//!
//! A flow may send some of its first bytes unasked (EQDS: what fills its path; ExpressPass: none). The receiver takes
//! these for granted: they take as much of its pace.
//!
//! Requests and grants take no room on links, as acknowledgements. What ExpressPass adds is left out: switches there
//! drop credits where the data that they stand for would not fit, and receivers slow down.

use crate::{Ack, Allowance, Path, Room, Transport, place};
use std::collections::{BTreeMap, VecDeque};

/// Its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Share of the receiver's link that is granted.
    pub rate: f64,
    /// Bytes that a flow sends unasked at first, as a share of those that fill its path.
    pub first: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Counts the flows of a place: news of an earlier one is old.
    turn: u32,
    to: u32,
    packet: f64,
    there_ps: u64,
    back_ps: u64,
    /// Granted and not sent; below 0 where a packet was longer than the rest of a grant.
    credit: f64,
    /// Of what it may send unasked.
    unasked: f64,
    /// What its receiver knows of and has not granted.
    asked: f64,
}

/// A node that grants.
#[derive(Clone, Debug)]
struct Receiver {
    rate: f64,
    /// Flows that have asked, in turn.
    line: VecDeque<u32>,
    /// From when on it may grant again.
    free_ps: u64,
}

/// What is under way: at its end it happens.
#[derive(Clone, Copy, Debug)]
enum News {
    /// A request comes to the receiver: bytes asked for, and bytes that come unasked.
    Asked(f64, f64),
    /// The receiver of the flow may grant the next packet.
    Grants,
    /// A grant comes to the sender.
    Granted(f64),
}

/// All flows.
#[derive(Clone, Debug)]
pub struct Credits {
    of: Parameters,
    flows: Vec<Flow>,
    receivers: BTreeMap<u32, Receiver>,
    /// By its end and its number, with its flow and the turn of that.
    under_way: BTreeMap<(u64, u64), (u32, u32, News)>,
    numbered: u64,
}

impl Credits {
    /// None yet.
    pub fn new(of: Parameters) -> Credits {
        Credits { of, flows: Vec::new(), receivers: BTreeMap::new(), under_way: BTreeMap::new(), numbered: 0 }
    }

    fn send(&mut self, at_ps: u64, flow: u32, news: News) {
        let turn = self.flows[flow as usize].turn;
        self.under_way.insert((at_ps, self.numbered), (flow, turn, news));
        self.numbered += 1;
    }

    /// A request has come.
    fn asked(&mut self, flow: u32, (bytes, unasked): (f64, f64), now_ps: u64) {
        let f = &mut self.flows[flow as usize];
        let waits = f.asked > 0.0;
        f.asked += bytes;
        let (asked, to) = (f.asked, f.to);
        let Some(receiver) = self.receivers.get_mut(&to) else { return };
        receiver.free_ps = receiver.free_ps.max(now_ps) + ps(unasked, receiver.rate);
        if waits || asked <= 0.0 {
            return;
        }
        receiver.line.push_back(flow);
        if receiver.line.len() == 1 {
            let at_ps = receiver.free_ps;
            self.send(at_ps, flow, News::Grants);
        }
    }

    /// The first of a receiver's line gets a packet.
    fn grant(&mut self, to: u32, now_ps: u64) {
        let Some(receiver) = self.receivers.get_mut(&to) else { return };
        // What came unasked meanwhile takes its time.
        if receiver.free_ps > now_ps {
            let (at_ps, first) = (receiver.free_ps, receiver.line.front().copied());
            first.into_iter().for_each(|first| self.send(at_ps, first, News::Grants));
            return;
        }
        let Some(flow) = receiver.line.pop_front() else { return };
        let f = &mut self.flows[flow as usize];
        let bytes = f.asked.min(f.packet);
        f.asked -= bytes;
        receiver.free_ps = now_ps + ps(bytes, receiver.rate);
        if f.asked > 0.0 {
            receiver.line.push_back(flow);
        }
        let (comes_ps, again_ps) = (now_ps + f.back_ps, receiver.free_ps);
        let next = receiver.line.front().copied();
        self.send(comes_ps, flow, News::Granted(bytes));
        next.into_iter().for_each(|next| self.send(again_ps, next, News::Grants));
    }
}

/// Picoseconds that bytes take at a rate.
fn ps(bytes: f64, rate: f64) -> u64 {
    (bytes / rate * 1e12).round() as u64
}

impl Transport for Credits {
    fn open(&mut self, flow: u32, path: &Path) {
        let of = self.of;
        let fills = path.rate * path.base_rtt_ps as f64 / 1e12;
        let f = place(&mut self.flows, flow, Flow::default);
        *f = Flow {
            turn: f.turn + 1,
            to: path.to,
            packet: path.packet,
            there_ps: path.base_rtt_ps.saturating_sub(path.back_ps),
            back_ps: path.back_ps,
            credit: 0.0,
            // Whole packets.
            unasked: (of.first * fills / path.packet).ceil() * path.packet,
            asked: 0.0,
        };
        let fresh = Receiver { rate: of.rate * path.to_rate, line: VecDeque::new(), free_ps: 0 };
        self.receivers.entry(path.to).or_insert(fresh);
    }

    fn wants(&mut self, flow: u32, bytes: f64, now_ps: u64) {
        let f = &mut self.flows[flow as usize];
        let unasked = f.unasked.min(bytes);
        f.unasked -= unasked;
        f.credit += unasked;
        let comes_ps = now_ps + f.there_ps;
        self.send(comes_ps, flow, News::Asked(bytes - unasked, unasked));
    }

    fn next_ps(&self) -> Option<u64> {
        self.under_way.first_key_value().map(|((at_ps, _), _)| *at_ps)
    }

    fn tick(&mut self, now_ps: u64, granted: &mut Vec<u32>) {
        while self.next_ps().is_some_and(|next_ps| next_ps <= now_ps) {
            let Some(((at_ps, _), (flow, turn, news))) = self.under_way.pop_first() else { return };
            let is_own = self.flows[flow as usize].turn == turn;
            match news {
                News::Asked(bytes, unasked) if is_own => self.asked(flow, (bytes, unasked), at_ps),
                News::Granted(bytes) if is_own => {
                    self.flows[flow as usize].credit += bytes;
                    granted.push(flow);
                }
                News::Grants => self.grant(self.flows[flow as usize].to, at_ps),
                News::Asked(..) | News::Granted(_) => {}
            }
        }
    }

    fn sent(&mut self, flow: u32, bytes: u32, _now_ps: u64) {
        self.flows[flow as usize].credit -= f64::from(bytes);
    }

    fn heard(&mut self, _flow: u32, _ack: &Ack<'_>) {}

    fn room(&self) -> Room {
        Room::Granted
    }

    /// The window is what was granted and has not left.
    fn allowance(&mut self, flow: u32, _now_ps: u64) -> Allowance {
        Allowance { window: self.flows[flow as usize].credit, rate: f64::INFINITY }
    }
}
