//! Every server of a network in the course of time: how busy it is, and how much waits for it.

use crate::net::Net;
use hotlink_fabric::units::Time;

/// Samples at most; then two become one and the interval doubles.
const MOST_SAMPLES: usize = 512;

/// One row of samples for each interval.
#[derive(Clone, Debug)]
pub struct Series {
    interval: Time,
    servers: usize,
    /// By sample, then by server: share of the interval that it was busy.
    utilisation: Vec<f32>,
    /// The same: wire bytes that wait for it at the end.
    waiting: Vec<u32>,
    /// By sample: payload that arrived in the interval.
    delivered: Vec<u64>,
    busy_ps: Vec<u64>,
    /// By server: of what it has begun, what lies behind the last sample.
    ahead_ps: Vec<u64>,
    before: u64,
}

impl Series {
    pub(super) fn new(net: &Net<'_>, interval: Time) -> Series {
        let busy_ps: Vec<u64> = net.busy_ps().collect();
        Series {
            interval: interval.max(Time(1)),
            servers: busy_ps.len(),
            utilisation: Vec::new(),
            waiting: Vec::new(),
            delivered: Vec::new(),
            ahead_ps: vec![0; busy_ps.len()],
            busy_ps,
            before: net.stats().delivered_bytes,
        }
    }

    /// Takes a sample; gives the time of the next.
    pub(super) fn look(&mut self, net: &Net<'_>) -> Time {
        let span = self.interval.0;
        // The network counts all of a packet's time at its start. The part beyond the interval belongs to the intervals
        // after it.
        for ((before, ahead), now) in self.busy_ps.iter_mut().zip(&mut self.ahead_ps).zip(net.busy_ps()) {
            let begun = *ahead + (now.wrapping_sub(*before) as i64).max(0) as u64;
            self.utilisation.push(begun.min(span) as f32 / span as f32);
            (*before, *ahead) = (now, begun.saturating_sub(span));
        }
        self.waiting.extend(net.waiting_bytes().map(|bytes| bytes.min(u64::from(u32::MAX)) as u32));
        let delivered = net.stats().delivered_bytes;
        self.delivered.push(delivered - std::mem::replace(&mut self.before, delivered));
        if self.delivered.len() == MOST_SAMPLES {
            self.halve();
        }
        net.now() + self.interval
    }

    fn halve(&mut self) {
        let servers = self.servers;
        for sample in 0..MOST_SAMPLES / 2 {
            for server in 0..servers {
                let (to, a, b) =
                    (sample * servers + server, 2 * sample * servers + server, (2 * sample + 1) * servers + server);
                self.utilisation[to] = f32::midpoint(self.utilisation[a], self.utilisation[b]);
                self.waiting[to] = self.waiting[b];
            }
            self.delivered[sample] = self.delivered[2 * sample] + self.delivered[2 * sample + 1];
        }
        self.utilisation.truncate(MOST_SAMPLES / 2 * servers);
        self.waiting.truncate(MOST_SAMPLES / 2 * servers);
        self.delivered.truncate(MOST_SAMPLES / 2);
        self.interval = Time(2 * self.interval.0);
    }

    /// Time from one sample to the next.
    pub fn interval(&self) -> Time {
        self.interval
    }
    /// Payload that arrived in each interval, in bytes.
    pub fn delivered(&self) -> &[u64] {
        &self.delivered
    }
    /// Share of each interval that a server was busy.
    pub fn utilisation(&self, server: usize) -> impl Iterator<Item = f64> + '_ {
        self.utilisation.iter().skip(server).step_by(self.servers).map(|&share| f64::from(share))
    }
    /// Wire bytes that waited for a server at the end of each interval.
    pub fn waiting(&self, server: usize) -> impl Iterator<Item = u32> + '_ {
        self.waiting.iter().skip(server).step_by(self.servers).copied()
    }
}
