//! The kernel's TCP/IP: what each side's processor does for a message, on any adapter (K98's third level).
//!
//! The sender copies from the program into the kernel, computes the checksum, and works for every segment. A segment
//! enters the network while the next is made. The receiver is interrupted for every segment, computes its checksum and
//! works for it. The receive pays for the copy to the program. Buffers of the kernel are in no cache.

use super::local::Local;
use super::pace::Pace;
use hotlink_fabric::ledger::{Inputs, Unfit};
use hotlink_fabric::units::Time;
use hotlink_port::Layout;

/// A kernel's TCP/IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kernel {
    /// Payload of a segment.
    segment: u64,
    /// Processor time for each segment but the first, which is in a message's own overhead.
    overhead_ps: u64,
    interrupt_ps: u64,
}

impl Kernel {
    /// From the catalog; `overhead` is a message's own. An unstated overhead of a segment is a share of that, and
    /// includes the interrupt.
    pub fn new(inputs: &Inputs<'_>, overhead: Time) -> Result<Kernel, Unfit> {
        let of_segment = inputs.stated("tcp_overhead");
        Ok(Kernel {
            segment: (inputs.require("tcp_segment")?.round() as u64).max(1),
            overhead_ps: match of_segment {
                Some(ps) => ps.round() as u64,
                None => (overhead.0 as f64 * inputs.require("tcp_segment_share")?) as u64,
            },
            interrupt_ps: match of_segment {
                Some(_) => inputs.require("interrupt_time")?.round() as u64,
                None => 0,
            },
        })
    }
    fn further(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.segment).saturating_sub(1)
    }
    /// Time of the sender's processor in addition to the message's own overhead, and how segments enter the network
    /// meanwhile.
    pub fn send(&self, local: &Local, bytes: u64) -> (Time, Pace) {
        let busy = local.copy_cold(bytes) + local.checksum(bytes) + Time(self.further(bytes) * self.overhead_ps);
        let first = Time(busy.0 / bytes.div_ceil(self.segment).max(1));
        (busy, Pace { lead_ps: first.0, chunk: self.segment, chunk_ps: first.0, ..Pace::AT_ONCE })
    }
    /// Time of the receiver's processor in addition to the message's own overhead and the copy to the program.
    pub fn receive(&self, local: &Local, bytes: u64) -> Time {
        local.checksum(bytes) + Time(self.further(bytes) * (self.overhead_ps + self.interrupt_ps))
    }
    /// Rate in bytes per second that messages of `bytes` cannot exceed: the receiver's work for one, and its copy to
    /// the program. The message's own overhead includes the first segment.
    pub fn peak(&self, local: &Local, bytes: u64) -> f64 {
        let take = |part: u64| local.take(&Layout::contiguous(part), bytes);
        // Long messages arrive in pieces, of whole segments, and a short copy may be faster for its length.
        let by_segments = take(self.segment).0 * (bytes / self.segment) + take(bytes % self.segment).0;
        let work = take(bytes).0.min(by_segments) + self.receive(local, bytes).0;
        bytes as f64 / work as f64 * 1e12
    }
    /// The same of a message so long that its overhead does not count, for one of full segments.
    pub fn steady_peak(&self, local: &Local) -> f64 {
        let work = local.copy_cold(self.segment) + local.checksum(self.segment);
        self.segment as f64 / (work.0 + self.overhead_ps + self.interrupt_ps) as f64 * 1e12
    }
}
