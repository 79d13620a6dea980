//! HPCC (Li et al., SIGCOMM 2019). Each switch on the path writes its port's queue, the bytes that it has sent and the
//! time into the packet. The sender estimates the bytes in flight on the fullest link, and sets its window so that they
//! fill eta of it.
//!
//! The paper's algorithm 1. An acknowledgement counts for the reference window once a round trip: when its packet left
//! after the last update. (The paper compares sequence numbers, which is the same where packets keep their order.)
//! Windows stay between the additive increase and the line rate for a round trip. The bytes that telemetry adds to
//! packets are left out.

use crate::{Ack, Allowance, Hop, Path, Room, Transport, place};

/// Its numbers, by the paper's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// eta: share of each link that is aimed at.
    pub eta: f64,
    /// maxStage: additive increases before the next multiplicative one. With 0 every window is multiplied.
    pub stages: u32,
    /// W_AI: bytes that a window grows by.
    pub additive: f64,
}

#[derive(Clone, Debug)]
struct Flow {
    window: f64,
    /// W^c: the window from which the others of a round trip are computed.
    reference: f64,
    most: f64,
    base_ps: f64,
    /// U: bytes in flight as a share of what fills the link.
    inflight: f64,
    stage: u32,
    /// When the reference window was last updated.
    updated_ps: u64,
    /// What the last acknowledgement brought.
    hops: Vec<Hop>,
}

/// All flows.
#[derive(Clone, Debug)]
pub struct Hpcc {
    of: Parameters,
    flows: Vec<Flow>,
}

impl Hpcc {
    /// None yet.
    pub fn new(of: Parameters) -> Hpcc {
        Hpcc { of, flows: Vec::new() }
    }
}

impl Flow {
    /// The paper's MeasureInflight. Another way than the last packet's has nothing to be compared with.
    fn measure(&mut self, hops: &[Hop]) -> bool {
        let same = self.hops.len() == hops.len() && self.hops.iter().zip(hops).all(|(a, b)| a.link == b.link);
        let (mut most, mut tau) = (0.0, 0.0);
        for (last, hop) in self.hops.iter().zip(hops).filter(|(last, hop)| same && hop.at_ps > last.at_ps) {
            let took = (hop.at_ps - last.at_ps) as f64;
            let sent = (hop.sent_bytes - last.sent_bytes) / (took / 1e12);
            let queue = hop.queue_bytes.min(last.queue_bytes) / (hop.rate * self.base_ps / 1e12);
            let filled = queue + sent / hop.rate;
            if filled > most {
                (most, tau) = (filled, took.min(self.base_ps));
            }
        }
        self.hops.clear();
        self.hops.extend_from_slice(hops);
        let weight = tau / self.base_ps;
        self.inflight += weight * (most - self.inflight);
        tau > 0.0
    }

    /// The paper's ComputeWind.
    fn adjust(&mut self, of: &Parameters, update: bool) {
        let multiplies = self.inflight >= of.eta || self.stage >= of.stages;
        let base = if multiplies { self.reference / (self.inflight / of.eta) } else { self.reference };
        self.window = (base + of.additive).clamp(of.additive.min(self.most), self.most);
        if update {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}

impl Transport for Hpcc {
    fn open(&mut self, flow: u32, path: &Path) {
        let base_ps = path.base_rtt_ps as f64;
        let most = path.rate * base_ps / 1e12;
        let fresh = || Flow {
            window: 0.0,
            reference: 0.0,
            most: 0.0,
            base_ps: 0.0,
            inflight: 0.0,
            stage: 0,
            updated_ps: 0,
            hops: Vec::new(),
        };
        let state = place(&mut self.flows, flow, fresh);
        // The list keeps its memory.
        let mut hops = std::mem::take(&mut state.hops);
        hops.clear();
        *state = Flow {
            window: most,
            reference: most,
            most,
            base_ps,
            inflight: 1.0,
            stage: 0,
            updated_ps: path.now_ps,
            hops,
        };
    }

    fn sent(&mut self, _flow: u32, _bytes: u32, _now_ps: u64) {}

    fn heard(&mut self, flow: u32, ack: &Ack<'_>) {
        let of = self.of;
        let f = &mut self.flows[flow as usize];
        if !f.measure(ack.hops) {
            return;
        }
        let update = ack.now_ps.saturating_sub(ack.rtt_ps) >= f.updated_ps;
        f.adjust(&of, update);
        if update {
            f.updated_ps = ack.now_ps;
        }
    }

    /// As in its authors' simulator (alibaba-edu/High-Precision-Congestion-Control, `RdmaQueuePair::IsWinBound`): a flow is
    /// bound once as much is in flight as the window has.
    fn room(&self) -> Room {
        Room::Begun
    }

    fn allowance(&mut self, flow: u32, _now_ps: u64) -> Allowance {
        let f = &self.flows[flow as usize];
        Allowance { window: f.window, rate: f.window / (f.base_ps / 1e12) }
    }
}
