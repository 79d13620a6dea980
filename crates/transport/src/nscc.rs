//! NSCC, Ultra Ethernet's congestion control by the sender's signals: marks and delay together say what a window does.
//!
//! | | below the target | above |
//! |---|---|---|
//! | no mark | grows in proportion to what is left of the target, fast where nothing waits at all | grows by a little |
//! | mark | stays: the load balancer takes another path | is cut in proportion to the mean delay's excess, once a round trip |
//!
//! After the Ultra Ethernet Specification 1.0 (2025), in the form and with the constants of its authors' simulator
//! htsim. What follows losses and trimmed packets (quick adapt) is left out: nothing is lost here.

use crate::{Ack, Allowance, Path, Room, Transport, put};

/// Its numbers; those that scale with the network are made of them and of the flow's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Delay beyond the idle round trip that is aimed at, in picoseconds.
    pub target_ps: f64,
    /// gamma: share of the excess by which a window is cut.
    pub decrease: f64,
    /// Weight of the last packet in the mean delay.
    pub weight: f64,
    /// Delay below which nothing waits, in picoseconds.
    pub idle_ps: f64,
}

/// A window is cut at most to this share at once.
const MOST_CUT: f64 = 0.5;
/// The network that the constants are scaled from: 100 Gbit/s and 12 us, in bytes.
const REFERENCE_BYTES: f64 = 150_000.0;
const REFERENCE_PS: f64 = 12e6;

#[derive(Clone, Copy, Debug)]
struct Flow {
    window: f64,
    most: f64,
    packet: f64,
    base_ps: f64,
    /// Scales with the bytes that fill the path.
    scale: f64,
    /// Bytes of growth for each byte acknowledged and picosecond below the target.
    alpha: f64,
    mean_ps: f64,
    growth: f64,
    heard_bytes: f64,
    /// Bytes acknowledged in a row while nothing waited; whether they have made the window grow fast.
    idle_bytes: f64,
    fast: bool,
    cut_ps: Option<u64>,
    adjusted_ps: u64,
}

/// All flows.
#[derive(Clone, Debug)]
pub struct Nscc {
    of: Parameters,
    flows: Vec<Flow>,
}

impl Nscc {
    /// None yet.
    pub fn new(of: Parameters) -> Nscc {
        Nscc { of, flows: Vec::new() }
    }
}

impl Flow {
    /// Bytes that a round trip adds to any window, so that unequal windows converge.
    fn fair(&self) -> f64 {
        5.0 * self.scale * self.packet
    }

    /// Growth takes effect once a round trip, or after eight packets.
    fn adjust(&mut self, now_ps: u64) {
        self.window += self.growth / self.window + 0.15 * self.scale * self.packet;
        (self.growth, self.heard_bytes, self.adjusted_ps) = (0.0, 0.0, now_ps);
    }
}

impl Transport for Nscc {
    fn open(&mut self, flow: u32, path: &Path) {
        let base_ps = path.base_rtt_ps as f64;
        let bytes = path.rate * base_ps / 1e12;
        let scale = bytes / REFERENCE_BYTES;
        let state = Flow {
            window: (1.5 * bytes).max(path.packet),
            most: (1.5 * bytes).max(path.packet),
            packet: path.packet,
            base_ps,
            scale,
            alpha: 4.0 * scale * (self.of.target_ps / REFERENCE_PS) * path.packet / self.of.target_ps,
            mean_ps: 0.0,
            growth: 0.0,
            heard_bytes: 0.0,
            idle_bytes: 0.0,
            fast: false,
            cut_ps: None,
            adjusted_ps: path.now_ps,
        };
        put(&mut self.flows, flow, state);
    }

    fn sent(&mut self, _flow: u32, _bytes: u32, _now_ps: u64) {}

    fn heard(&mut self, flow: u32, ack: &Ack<'_>) {
        let of = self.of;
        let f = &mut self.flows[flow as usize];
        let bytes = f64::from(ack.bytes);
        let delay = (ack.rtt_ps as f64 - f.base_ps).max(0.0);
        f.mean_ps += of.weight * (delay - f.mean_ps);
        match (ack.marked, delay < of.target_ps) {
            (false, true) => {
                if delay < of.idle_ps {
                    f.idle_bytes += bytes;
                } else {
                    f.idle_bytes = 0.0;
                }
                f.fast = f.idle_bytes > 0.0 && (f.fast || f.idle_bytes > f.window);
                if f.fast {
                    f.window += bytes * 0.25 * f.scale;
                } else {
                    f.growth += f.alpha * bytes * (of.target_ps - delay) + f.fair() * bytes;
                }
            }
            (false, false) => {
                (f.fast, f.idle_bytes) = (false, 0.0);
                f.growth += f.fair() * bytes;
            }
            (true, true) => {}
            (true, false) => {
                (f.fast, f.idle_bytes) = (false, 0.0);
                let may = f.cut_ps.is_none_or(|last| (ack.now_ps - last) as f64 > f.base_ps);
                if may && f.mean_ps > of.target_ps {
                    f.window *= (1.0 - of.decrease * (f.mean_ps - of.target_ps) / f.mean_ps).max(MOST_CUT);
                    f.cut_ps = Some(ack.now_ps);
                }
            }
        }
        f.heard_bytes += bytes;
        if (ack.now_ps - f.adjusted_ps) as f64 >= f.base_ps || f.heard_bytes >= 8.0 * f.packet {
            f.adjust(ack.now_ps);
        }
        f.window = f.window.clamp(f.packet, f.most);
    }

    /// As in its authors' simulator (uet-htsim at 40ccb052, `UecSrc::can_send_NSCC`): the window holds what is in
    /// flight and the packet.
    fn room(&self) -> Room {
        Room::Whole
    }

    fn allowance(&mut self, flow: u32, _now_ps: u64) -> Allowance {
        Allowance { window: self.flows[flow as usize].window, rate: f64::INFINITY }
    }
}
