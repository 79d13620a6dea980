//! How data enter the network, chunk by chunk, so that a transfer alone takes what the host's model says.
//!
//! The network knows links, not what feeds them. Where a fabric has a [`Host`], its model gives two numbers for a
//! transfer. The steady rate is the time of one more page. The lead is the rest of the model's time, without feeding
//! and the network's own path. It covers write combining and stream buffers that fill, descriptors, the annex, and a
//! page through staging memory and its LANais.

use super::adapter::Adapter;
use super::family::Family;
use crate::host::{Deposit, Host, Series};
use hotlink_fabric::units::{Rate, Time};
use hotlink_memory::{BusUse, Buses};
use hotlink_port::{Engine, Layout};

/// Chunks are pages: what address translation leaves contiguous.
pub(super) use hotlink_port::blocks::PAGE;

/// How data enter the network: from a start on, chunk by chunk at a fixed interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Before the first chunk, in picoseconds.
    pub lead_ps: u64,
    /// Of that, what occupies the engine.
    pub setup_ps: u64,
    /// Payload of a chunk in bytes; the last may be shorter.
    pub chunk: u64,
    /// From one chunk to the next, in picoseconds.
    pub chunk_ps: u64,
    /// Wire bytes of this layout over those of a contiguous one, in 1/256.
    pub stretch: u64,
    /// How the hosts' buses are used.
    pub bus: BusUse,
}

impl Pace {
    /// All at once.
    pub const AT_ONCE: Pace =
        Pace { lead_ps: 0, setup_ps: 0, chunk: u64::MAX, chunk_ps: 0, stretch: 256, bus: BusUse::DMA };

    /// From the start of the first chunk until the feed is over.
    pub fn busy_ps(&self, bytes: u64) -> u64 {
        self.setup_ps + (u128::from(self.chunk_ps) * u128::from(bytes) / u128::from(self.chunk)) as u64
    }
    /// From the start until the last chunk enters, and its bytes.
    pub fn last(&self, bytes: u64) -> (u64, u64) {
        let before = bytes.saturating_sub(1) / self.chunk;
        (self.lead_ps + before * self.chunk_ps, bytes - before * self.chunk)
    }
    /// What `bytes` of a chunk take on both nodes' buses; `first`: with the descriptor of the transfer.
    pub fn on_buses(&self, buses: Option<&Buses>, bytes: u64, first: bool) -> [Time; 2] {
        let Some(buses) = buses else { return [Time::ZERO; 2] };
        let [sent, received] = buses.transfer(self.bus, bytes);
        let told = if first && !self.bus.stores { buses.descriptor() } else { Time::ZERO };
        [sent + told, received]
    }
    /// From the entry of a chunk's first byte into the network to the arrival of its last, without the path's latency.
    /// Its packets cross the sender's bus, the network and the receiver's bus one behind the other, each at the pace of
    /// the slowest. A packet enters the next of them as soon as it will not run dry there.
    pub fn crossing_ps(&self, way: Way, buses: Option<&Buses>, bytes: u64, first: bool) -> u64 {
        let [sent, received] = self.on_buses(buses, bytes, first);
        let packets = bytes.div_ceil(way.packet.max(1)).max(1);
        let [sent, link, received] =
            [sent, way.rate.time_for(bytes * self.stretch / 256), received].map(|whole| whole.0 / packets);
        let one = sent.saturating_sub(link) + link.saturating_sub(received) + received;
        one + (packets - 1) * sent.max(link).max(received)
    }
}

/// The network alone, between neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Payload rate of its slowest part.
    pub rate: Rate,
    /// Payload of a full packet in bytes.
    pub packet: u64,
}

/// Up to this many pages the host's model computes the time; from then on each page takes the same.
const STEADY: u64 = 12;

impl Adapter {
    /// The same from or to registered user memory, whose pages DMA must move one by one. `begins` gives, for each end
    /// in such memory, where in a page its bytes begin. Bytes that do not begin at a page's start touch one more page.
    /// Where the pages of the two ends do not align, each page is cut in two.
    pub(super) fn paged(&self, pace: Pace, bytes: u64, begins: [Option<u64>; 2]) -> Pace {
        // A chunk is a page where the engine is paced at all.
        if pace.chunk_ps == 0 || self.page_ps == 0 || begins == [None; 2] || bytes == 0 {
            return pace;
        }
        let [one, other] = begins;
        let ends = one.into_iter().chain(other.filter(|_| other != one));
        let (each, cuts) = ends.fold((0, 0), |(each, cuts), begin| (each + 1, cuts + (begin + bytes - 1) / PAGE));
        let before = (bytes - 1) / PAGE;
        let lead_ps = pace.lead_ps + (1 + cuts - each * before) * self.page_ps;
        Pace { chunk_ps: pace.chunk_ps + each * self.page_ps, lead_ps, ..pace }
    }
    /// How a deposit by `engine` to `layout` is fed.
    pub(super) fn pace(&self, engine: Engine, layout: &Layout) -> Pace {
        let by_stores = engine == Engine::Pio;
        let setup_ps = if by_stores { 0 } else { self.setup_ps };
        let Some(host) = &self.host else {
            // The network's own rate: a page each time it can take one, so that others get their turn.
            let worms = matches!(self.family, Family::Myrinet | Family::Elan | Family::T3d);
            let chunk_ps = if worms { self.way.rate.time_for(PAGE).0 } else { 0 };
            let chunk = if worms { PAGE } else { u64::MAX };
            return Pace { lead_ps: setup_ps, setup_ps, chunk, chunk_ps, ..Pace::AT_ONCE };
        };
        let (stride, bytes) = (words(layout), layout.bytes());
        let bus = BusUse { stores: by_stores || (stride > 1 && self.family == Family::Sci), scattered: stride > 1 };
        let time = |bytes| self.alone(host, by_stores, stride, bytes);
        // Between two sizes the start-up cancels out: what is left is the steady rate.
        let short = STEADY / 3 * PAGE;
        let chunk_ps = time(STEADY * PAGE).saturating_sub(time(short)) * PAGE / (STEADY * PAGE - short);
        let stretch = if stride > 1 { host.wire_stretch() } else { 256 };
        // SCI's words are stored, for any request.
        let setup_ps = if bus.stores { 0 } else { setup_ps };
        let pace = Pace { lead_ps: 0, setup_ps, chunk: PAGE, chunk_ps, stretch, bus };
        if bytes == 0 {
            return pace;
        }
        // The last page of a long transfer, whole or not, and as many before it as show the steady rate.
        let shown = if bytes > STEADY * PAGE { (STEADY - 2) * PAGE + (bytes - 1) % PAGE + 1 } else { bytes };
        let before = (shown - 1) / PAGE;
        let last = shown - before * PAGE;
        let way =
            pace.crossing_ps(self.way, self.buses.as_ref(), last, before == 0) + self.network_ps + self.latency_ps;
        Pace { lead_ps: time(shown).saturating_sub(before * chunk_ps + way), ..pace }
    }
    /// The host model's time of one transfer, in picoseconds, in steps of a word and of 64 B past 512 B.
    fn alone(&self, host: &Host, by_stores: bool, stride: u64, bytes: u64) -> u64 {
        let bytes = bytes.next_multiple_of(if bytes > 512 { 64 } else { 8 });
        let key = (by_stores, stride, bytes);
        if let Some(&known) = self.alone.borrow().get(&key) {
            return known;
        }
        let deposit = match by_stores || stride > 1 {
            true => host.deposit(&Deposit::new(bytes, stride, Series::RemoteDirect)),
            false => host.block_by_engine(bytes),
        };
        self.alone.borrow_mut().insert(key, deposit.time.0);
        deposit.time.0
    }
}

/// The stride of a layout in words, as the host models count it.
pub(super) fn words(layout: &Layout) -> u64 {
    if layout.is_contiguous() { 1 } else { (layout.stride / layout.block.max(1)).clamp(2, Deposit::MOST_STRIDE) }
}
