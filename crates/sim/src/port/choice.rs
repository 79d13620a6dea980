//! From which size on messages move without buffers: where an adapter's own costs say that they are then faster.
//!
//! Both costs are closed forms of what the adapter charges (setup, feeding, copies, an empty message's latency) between
//! two idle nodes. The memory's registrations are in the cache, and the send is posted before its receive. The forms
//! only choose; the time of a message is simulated.

use super::adapter::Adapter;
use super::pace::Pace;
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{ControlRates, Engine, Layout};

/// Sizes that are tried, in order: four to each doubling from 256 B to 1 MiB, and the shortest message that is not
/// eager.
fn sizes() -> impl DoubleEndedIterator<Item = u64> {
    let doublings = (6..18).flat_map(|exponent| (4..8).map(move |quarters| quarters << exponent)).chain([MOST]);
    doublings.flat_map(|bytes| [Some(bytes), (bytes == EAGER).then_some(EAGER + 1)]).flatten()
}
/// Past the largest size that is tried nothing changes.
const MOST: u64 = 1 << 20;
/// Longest eager message on simulated ports.
const EAGER: u64 = 16 << 10;

impl Adapter {
    /// The least size from which on no message moves faster through buffers; `private`: from and to registered memory.
    /// [`u64::MAX`] where all do.
    pub(super) fn pays_from(&self, private: bool) -> u64 {
        let slower = |&bytes: &u64| match self.without_buffers(bytes, private) {
            Some(without) => without > self.through_buffers(bytes),
            None => true,
        };
        match sizes().rev().find(slower) {
            Some(MOST) => u64::MAX,
            Some(last) => sizes().find(|&bytes| bytes > last).unwrap_or(MOST),
            None => sizes().next().unwrap_or(MOST),
        }
    }
    /// An offer, its answer, the data, and the notice of their end. The adapter's engine or the processor's stores move
    /// the data, as the message engine chooses. `None` where the adapter cannot.
    fn without_buffers(&self, bytes: u64, private: bool) -> Option<Time> {
        let claim = self.limits.fetch.or(self.limits.deposit)?;
        let engine = claim.mover(!private || self.limits.registration.private_mappable);
        let pace = self.pace(engine, &Layout::contiguous(bytes));
        let pace = if private && engine == Engine::Dma && claim.dma_needs_registration {
            self.paged(pace, bytes, [Some(0); 2])
        } else {
            pace
        };
        // A fetch is asked for in the offer's answer, and its end seen where the data are wanted.
        let messages = if self.limits.fetch.is_some() { 3 } else { 5 };
        Some(Time(self.fed(&pace, bytes) + messages * self.limits.latency.0))
    }
    /// Eagerly, or piece after piece. Sending, the wire and the copy overlap, and the longest hides the others. The
    /// processors post and poll every piece; the first one's costs are part of a message's latency.
    fn through_buffers(&self, bytes: u64) -> Time {
        let eager = bytes <= EAGER.min(self.limits.control_bytes_max);
        let piece = bytes.min(self.limits.control_bytes_max);
        let stages = self.stages(piece, bytes);
        let first: u64 = stages.iter().sum();
        let [sent, wire, taken] = stages;
        let each = (self.limits.post_overhead.0 + sent).max(wire).max(self.limits.poll_overhead.0 + taken);
        let more = each * (bytes.div_ceil(piece) - 1);
        let messages = if eager { 1 } else { 3 };
        Time(first + more + messages * self.limits.latency.0)
    }
    /// A control message of `piece` bytes of a message of `bytes`: the sender's processor, what the network takes after it,
    /// the receiver's processor.
    fn stages(&self, piece: u64, bytes: u64) -> [u64; 3] {
        let (sent, pace) = self.hand_over(piece);
        // Copied and then sent by the adapter, or sent while it is stored.
        let taken = self.take_over(piece) + self.local.take(&Layout::contiguous(piece), bytes);
        [sent.0, self.fed(&pace, piece).saturating_sub(sent.0), taken.0]
    }
    /// The rates of these stages, at the longest eager message.
    pub(super) fn control_rates(&self) -> ControlRates {
        let most = self.limits.registration.zero_copy_min.saturating_sub(1);
        let bytes = EAGER.min(self.limits.control_bytes_max).min(most).max(1);
        let rate = |ps: u64| match ps {
            0 => ControlRates::AT_ONCE,
            ps => Rate((u128::from(bytes) * 1_000_000_000_000 / u128::from(ps)) as u64),
        };
        let [post, wire, poll] = self.stages(bytes, bytes).map(rate);
        ControlRates { post, wire, poll }
    }
    /// The shortest message that goes without buffers, until its receiver has it, beyond its bytes at the claimed rate.
    pub(super) fn long_latency(&self) -> Option<Time> {
        let bytes = self.limits.registration.zero_copy_min.min(MOST);
        let whole = self.without_buffers(bytes, false)?;
        Some(Time(whole.0.saturating_sub(self.limits.rate.time_for(bytes).0)))
    }
    /// Until the last byte is through the network, but for its latency.
    fn fed(&self, pace: &Pace, bytes: u64) -> u64 {
        let (entered, last) = pace.last(bytes);
        entered + pace.crossing_ps(self.way, self.buses.as_ref(), last, false)
    }
}
