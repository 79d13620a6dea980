//! DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257). Switches mark above one threshold. A window is cut by half the
//! share of its bytes that came back marked.
//!
//! The share is taken over windows: one ends when all that had left at its start is acknowledged. Until the first mark a
//! window doubles each round trip (slow start); after that it grows by a packet. For a window after a cut it does
//! neither, as in the TCPs that have it.

use crate::{Ack, Allowance, Path, Room, Transport, put};

/// Its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// g: weight of the last window in the estimate of the marked share.
    pub gain: f64,
    /// Packets of the first window.
    pub first: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    window: f64,
    packet: f64,
    alpha: f64,
    slow_start: bool,
    /// Bytes that have left, and that are acknowledged, since the flow opened.
    sent: f64,
    heard: f64,
    /// The window of the estimate ends when so many are acknowledged; marked and all bytes of it.
    ends: f64,
    marked: f64,
    bytes: f64,
    /// Nothing is cut again, or grows, before more than so many are acknowledged; below zero before the first cut.
    cut_until: f64,
}

/// All flows.
#[derive(Clone, Debug)]
pub struct Dctcp {
    of: Parameters,
    flows: Vec<Flow>,
}

impl Dctcp {
    /// None yet.
    pub fn new(of: Parameters) -> Dctcp {
        Dctcp { of, flows: Vec::new() }
    }

    /// The estimate of the marked share of a flow (alpha), for tests and traces.
    pub fn alpha(&self, flow: u32) -> f64 {
        self.flows[flow as usize].alpha
    }
}

impl Flow {
    fn cut(&mut self, share: f64) {
        if self.heard > self.cut_until {
            self.window = (self.window * (1.0 - share)).max(self.packet);
            (self.cut_until, self.slow_start) = (self.sent, false);
        }
    }
}

impl Transport for Dctcp {
    fn open(&mut self, flow: u32, path: &Path) {
        let state = Flow {
            window: self.of.first * path.packet,
            packet: path.packet,
            alpha: 1.0,
            slow_start: true,
            sent: 0.0,
            heard: 0.0,
            ends: 0.0,
            marked: 0.0,
            bytes: 0.0,
            cut_until: -1.0,
        };
        put(&mut self.flows, flow, state);
    }

    fn sent(&mut self, flow: u32, bytes: u32, _now_ps: u64) {
        self.flows[flow as usize].sent += f64::from(bytes);
    }

    fn heard(&mut self, flow: u32, ack: &Ack<'_>) {
        let gain = self.of.gain;
        let f = &mut self.flows[flow as usize];
        let bytes = f64::from(ack.bytes);
        (f.heard, f.bytes) = (f.heard + bytes, f.bytes + bytes);
        if ack.marked {
            f.marked += bytes;
        }
        if f.heard > f.ends {
            f.alpha += gain * (f.marked / f.bytes - f.alpha);
            (f.ends, f.marked, f.bytes) = (f.sent, 0.0, 0.0);
        }
        if ack.marked {
            f.cut(f.alpha / 2.0);
        } else if f.heard > f.cut_until {
            f.window += if f.slow_start { bytes } else { f.packet * bytes / f.window };
        }
    }

    fn lost(&mut self, flow: u32, _now_ps: u64) {
        self.flows[flow as usize].cut(0.5);
    }

    /// RFC 5681, s3.1: no byte leaves whose number is above the last one acknowledged and the window. TCPs that count
    /// packets apply the same to whole packets. (On Linux none leaves while as many are in flight as the window has.)
    fn room(&self) -> Room {
        Room::Whole
    }

    fn allowance(&mut self, flow: u32, _now_ps: u64) -> Allowance {
        Allowance { window: self.flows[flow as usize].window, rate: f64::INFINITY }
    }
}
