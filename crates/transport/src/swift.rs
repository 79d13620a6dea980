//! Swift (Kumar et al., SIGCOMM 2020) compares the delay of each packet with a target. Below it the window grows
//! additively. Above it the window is cut in proportion to the excess, at most once a round trip.
//!
//! The target is the idle round trip, the allowed delay beyond it, and the paper's scaling by flows (s3.5). The smaller
//! a window, the more flows share its link, and their queue grows with the square root of their number. The paper's
//! scaling by hops is in the idle round trip. A window below one packet paces packets.

use crate::{Ack, Allowance, Path, Room, Transport, put};

/// Its numbers, by the paper's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Target delay beyond the idle round trip with large windows, in picoseconds. Below 0 where only the scaling adds
    /// delay.
    pub target_ps: f64,
    /// ai: packets that a window grows by in a round trip.
    pub additive: f64,
    /// beta: share of the excess by which it is cut.
    pub decrease: f64,
    /// max_mdf: most of it that is cut at once.
    pub most_cut: f64,
    /// fs_range: what the scaling by flows adds to the target at most, in picoseconds; 0: one target for all windows.
    pub flow_range_ps: f64,
    /// fs_min_cwnd: packets of the window that gets all of it.
    pub flow_least: f64,
    /// fs_max_cwnd: packets of the window from which on none is added; more than the former.
    pub flow_most: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// In packets.
    window: f64,
    most: f64,
    packet: f64,
    base_ps: f64,
    rtt_ps: f64,
    cut_ps: Option<u64>,
}

/// Least window, in packets: one packet in a thousand round trips.
const LEAST: f64 = 0.001;

/// All flows.
#[derive(Clone, Debug)]
pub struct Swift {
    of: Parameters,
    /// The paper's alpha and beta of the scaling by flows, in picoseconds.
    alpha_ps: f64,
    beta_ps: f64,
    flows: Vec<Flow>,
}

impl Swift {
    /// None yet.
    pub fn new(of: Parameters) -> Swift {
        let [least, most] = [of.flow_least, of.flow_most].map(|window| 1.0 / window.sqrt());
        let alpha_ps = of.flow_range_ps / (least - most);
        Swift { of, alpha_ps, beta_ps: -alpha_ps * most, flows: Vec::new() }
    }

    /// The target beyond the idle round trip at a window of this many packets (s3.5).
    fn target_ps(&self, window: f64) -> f64 {
        let gained = self.alpha_ps / window.sqrt() + self.beta_ps;
        self.of.target_ps + gained.clamp(0.0, self.of.flow_range_ps)
    }
}

impl Transport for Swift {
    fn open(&mut self, flow: u32, path: &Path) {
        let base_ps = path.base_rtt_ps as f64;
        let window = (path.rate * base_ps / 1e12 / path.packet).max(1.0);
        // What fills the port for the target's delay: more can only wait.
        let most = (path.rate * (base_ps + self.target_ps(window)) / 1e12 / path.packet).max(1.0);
        let state = Flow { window, most, packet: path.packet, base_ps, rtt_ps: base_ps, cut_ps: None };
        put(&mut self.flows, flow, state);
    }

    fn sent(&mut self, _flow: u32, _bytes: u32, _now_ps: u64) {}

    fn heard(&mut self, flow: u32, ack: &Ack<'_>) {
        let of = self.of;
        let beyond = self.target_ps(self.flows[flow as usize].window);
        let f = &mut self.flows[flow as usize];
        let (delay, target) = (ack.rtt_ps as f64, f.base_ps + beyond);
        let packets = f64::from(ack.bytes) / f.packet;
        f.rtt_ps = delay;
        if delay < target {
            f.window += of.additive * packets * if f.window >= 1.0 { 1.0 / f.window } else { 1.0 };
        } else if f.cut_ps.is_none_or(|last| ack.now_ps - last >= ack.rtt_ps) {
            f.window *= (1.0 - of.decrease * (delay - target) / delay).max(1.0 - of.most_cut);
            f.cut_ps = Some(ack.now_ps);
        }
        f.window = f.window.clamp(LEAST, f.most);
    }

    /// As on a delay far too long (the paper's s3.1: once a round trip, by max_mdf).
    fn lost(&mut self, flow: u32, now_ps: u64) {
        let f = &mut self.flows[flow as usize];
        if f.cut_ps.is_none_or(|last| (now_ps - last) as f64 >= f.rtt_ps) {
            f.window = (f.window * (1.0 - self.of.most_cut)).max(LEAST);
            f.cut_ps = Some(now_ps);
        }
    }

    /// As in csg-htsim (`SwiftSubflowSrc::send_packets` at 841d9e7b): a packet leaves if it ends within the window. The
    /// paper gives the window in packets, and does not say.
    fn room(&self) -> Room {
        Room::Whole
    }

    fn allowance(&mut self, flow: u32, _now_ps: u64) -> Allowance {
        let f = &self.flows[flow as usize];
        match f.window >= 1.0 {
            true => Allowance { window: f.window * f.packet, rate: f64::INFINITY },
            // One packet at a time, so far apart that they make the window in a round trip.
            false => Allowance { window: f.packet, rate: f.window * f.packet / (f.rtt_ps / 1e12) },
        }
    }
}
