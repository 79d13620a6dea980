//! DCQCN (Zhu et al., SIGCOMM 2015). The receiver turns marks into at most one notification each interval, upon which
//! the sender cuts its rate. Time and bytes without a notification restore it.

use crate::{Ack, Allowance, Path, Room, Transport, put};

/// Its numbers, by the paper's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// g: weight of the last interval in the estimate of congestion.
    pub gain: f64,
    /// N: least time between two notifications of a flow, in picoseconds.
    pub notify_ps: u64,
    /// K: time without a notification after which the estimate falls.
    pub estimate_ps: u64,
    /// T: time between two increases.
    pub increase_ps: u64,
    /// B: bytes between two increases.
    pub increase_bytes: f64,
    /// F: increases by halving the distance before others.
    pub fast: u32,
    /// R_AI: bytes per second that an additive increase adds to the target.
    pub additive: f64,
    /// R_HAI: the same of a hyper increase.
    pub hyper: f64,
    /// Least rate, in bytes per second.
    pub least: f64,
    /// Every cut sets the target to the rate before it, as in the paper. Otherwise, a cut that follows a cut keeps the
    /// target. Adapters offer both (`clamp_tgt_rate`).
    pub clamp_target: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// R_C and R_T.
    rate: f64,
    target: f64,
    /// Rate of the port.
    line: f64,
    /// The estimate.
    alpha: f64,
    /// Before the first notification a flow sends at its port's rate, and nothing runs.
    cut: bool,
    notified_ps: Option<u64>,
    estimate_at: u64,
    increase_at: u64,
    bytes: f64,
    times: u32,
    rounds: u32,
}

/// All flows.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    of: Parameters,
    flows: Vec<Flow>,
}

impl Dcqcn {
    /// None yet.
    pub fn new(of: Parameters) -> Dcqcn {
        Dcqcn { of, flows: Vec::new() }
    }

    /// The estimate of congestion of a flow (alpha), for tests and traces.
    pub fn alpha(&self, flow: u32) -> f64 {
        self.flows[flow as usize].alpha
    }

    /// What was due up to a time.
    fn run(&mut self, flow: u32, now_ps: u64) {
        let of = self.of;
        let f = &mut self.flows[flow as usize];
        while f.cut && f.estimate_at.min(f.increase_at) <= now_ps {
            if f.estimate_at <= f.increase_at {
                f.alpha *= 1.0 - of.gain;
                f.estimate_at += of.estimate_ps;
            } else {
                f.times += 1;
                f.increase_at += of.increase_ps;
                f.increase(&of);
            }
        }
    }
}

impl Flow {
    /// The paper's s3.1: fast recovery, then additive, then hyper increase.
    fn increase(&mut self, of: &Parameters) {
        let (most, least) = (self.times.max(self.rounds), self.times.min(self.rounds));
        if least > of.fast {
            self.target += f64::from(least - of.fast) * of.hyper;
        } else if most > of.fast {
            self.target += of.additive;
        }
        self.target = self.target.min(self.line);
        self.rate = f64::midpoint(self.rate, self.target);
        // Back at the port's rate, nothing is left to do until the next notification.
        if self.rate >= self.line * 0.999_999 {
            (self.rate, self.cut) = (self.line, false);
        }
    }
}

impl Transport for Dcqcn {
    fn open(&mut self, flow: u32, path: &Path) {
        let state = Flow {
            rate: path.rate,
            target: path.rate,
            line: path.rate,
            alpha: 1.0,
            cut: false,
            notified_ps: None,
            estimate_at: 0,
            increase_at: 0,
            bytes: 0.0,
            times: 0,
            rounds: 0,
        };
        put(&mut self.flows, flow, state);
    }

    fn sent(&mut self, flow: u32, bytes: u32, now_ps: u64) {
        self.run(flow, now_ps);
        let of = self.of;
        let f = &mut self.flows[flow as usize];
        f.bytes += f64::from(bytes);
        while f.cut && f.bytes >= of.increase_bytes {
            f.bytes -= of.increase_bytes;
            f.rounds += 1;
            f.increase(&of);
        }
    }

    fn heard(&mut self, flow: u32, ack: &Ack<'_>) {
        self.run(flow, ack.now_ps);
        let of = self.of;
        let f = &mut self.flows[flow as usize];
        // The receiver counts its own time.
        if !ack.marked || f.notified_ps.is_some_and(|last| ack.arrived_ps < last + of.notify_ps) {
            return;
        }
        f.notified_ps = Some(ack.arrived_ps);
        if of.clamp_target || f.times.max(f.rounds) > 0 {
            f.target = f.rate;
        }
        f.rate = (f.rate * (1.0 - f.alpha / 2.0)).max(of.least.min(f.line));
        f.alpha = (1.0 - of.gain) * f.alpha + of.gain;
        f.cut = true;
        (f.bytes, f.times, f.rounds) = (0.0, 0, 0);
        (f.estimate_at, f.increase_at) = (ack.now_ps + of.estimate_ps, ack.now_ps + of.increase_ps);
    }

    /// No window limits its flows.
    fn room(&self) -> Room {
        Room::Whole
    }

    fn allowance(&mut self, flow: u32, now_ps: u64) -> Allowance {
        self.run(flow, now_ps);
        Allowance { window: f64::INFINITY, rate: self.flows[flow as usize].rate }
    }
}
