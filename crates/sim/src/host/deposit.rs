//! The direct-deposit benchmark: a block into local or remote memory, contiguous or with a stride (K98 s6, s17-24).

use super::Host;
use hotlink_bound::{Peak, slowest};
use hotlink_event::pipeline::Outcome;
use hotlink_fabric::units::Time;
use hotlink_memory::{Kernel, WORD};

/// How the block gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// A copy within the node's own memory.
    Local,
    /// Straight into remote memory at the stride, without the receiver's processor.
    RemoteDirect,
    /// As a contiguous block into remote memory; when it has arrived, the receiver's processor copies it to the stride.
    RemoteDmaUnpack,
    /// The sender's processor copies words from the stride to a contiguous block, which then goes as one (K98 s17).
    RemotePackDma,
}

impl Series {
    /// The three that K98's figures have.
    pub const USUAL: [Series; 3] = [Series::Local, Series::RemoteDirect, Series::RemoteDmaUnpack];

    /// Name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Series::Local => "local",
            Series::RemoteDirect => "remote-direct",
            Series::RemoteDmaUnpack => "remote-dma-unpack",
            Series::RemotePackDma => "remote-pack-dma",
        }
    }
}

/// One deposit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deposit {
    /// Payload, from 1 to [`Deposit::MOST_BYTES`].
    pub bytes: u64,
    /// Distance of stored words in words of 8 bytes, of loaded ones where the sender packs; 1 is contiguous.
    pub stride: u64,
    /// How.
    pub series: Series,
    /// Bytes from a page's boundary to the destination, below [`Deposit::PAGE`]. Blocks start and end in part of a
    /// line, buffer or page. Words that are copied may lie across lines. DMA that cannot start there leaves the block
    /// to the processor's stores.
    pub offset: u64,
}

impl Deposit {
    /// Aligned to everything.
    pub fn new(bytes: u64, stride: u64, series: Series) -> Deposit {
        Deposit { bytes, stride, series, offset: 0 }
    }

    /// Past this, offsets repeat.
    pub const PAGE: u64 = 4 << 10;
    /// Largest payload: what it takes is an event per word at worst.
    pub const MOST_BYTES: u64 = 64 << 20;
    /// Largest stride in words.
    pub const MOST_STRIDE: u64 = 1 << 20;
}

/// What a deposit took.
#[derive(Clone, Debug, PartialEq)]
pub struct DepositTime {
    /// From the first instruction of the sender to the last byte at its place.
    pub time: Time,
    /// Payload over time, in bytes per second.
    pub rate: f64,
    /// Payload rate that no deposit of this series can exceed. It is the slowest resource at its peak; for a copy it is
    /// the node's own contiguous copy.
    pub bound: Peak,
    /// The resource with the most time in this deposit: a server's work, or waiting for a window.
    pub limiting: String,
    /// That time.
    pub busy: Time,
    /// Events of the simulation.
    pub events: u64,
    /// Items through servers.
    pub hops: u64,
    /// Hash of the course of events.
    pub trace_hash: u64,
}

impl DepositTime {
    /// The share of the bound that was reached.
    pub fn efficiency(&self) -> f64 {
        self.rate / 1e6 / self.bound.mbps
    }

    pub(super) fn new(bytes: u64, outcome: &Outcome, bound: Peak) -> DepositTime {
        let limiting = outcome.limiting();
        DepositTime {
            time: outcome.time,
            rate: bytes as f64 / outcome.time.s(),
            bound,
            limiting: limiting.map_or(MEMORY, |(name, _)| name).to_owned(),
            busy: limiting.map_or(Time::ZERO, |(_, time)| time),
            events: outcome.events,
            hops: outcome.hops,
            trace_hash: outcome.trace.value(),
        }
    }
}

const MEMORY: &str = "memory";
const UNPACK: &str = "memory (receiver, unpack)";
const PACK: &str = "memory (sender, pack)";

impl Host {
    /// Runs one deposit between two idle nodes.
    ///
    /// # Panics
    /// If `bytes` or `stride` is 0 or above its largest value, or `offset` is a page or more.
    pub fn deposit(&self, deposit: &Deposit) -> DepositTime {
        let Deposit { bytes, stride, series, offset } = *deposit;
        assert!((1..=Deposit::MOST_BYTES).contains(&bytes) && (1..=Deposit::MOST_STRIDE).contains(&stride));
        assert!(offset < Deposit::PAGE);
        let mut outcome = match series {
            Series::Local => Outcome::default(),
            Series::RemoteDirect => self.direct(bytes, stride, offset).run(),
            Series::RemoteDmaUnpack | Series::RemotePackDma => self.block(bytes, offset).run(),
        };
        match series {
            Series::Local => outcome.then(MEMORY, self.memory().copy_at(bytes, stride, offset)),
            Series::RemoteDirect => {}
            Series::RemoteDmaUnpack => outcome.then(UNPACK, self.memory().copy_uncached(bytes, stride, offset)),
            Series::RemotePackDma => outcome.then(PACK, self.memory().run(Kernel::Pack { bytes, stride })),
        }
        DepositTime::new(bytes, &outcome, self.bound(bytes, series))
    }

    /// Why a deposit takes another time than the one `before` it, which differs in its stride alone. Says what each
    /// word cost at the memory, or which resource holds words back, and the resource that limits each deposit.
    pub fn why(&self, now: (&Deposit, &str), before: (&Deposit, &str)) -> String {
        let copy = |of: &Deposit| Kernel::Copy { bytes: of.bytes, stride: of.stride, offset: of.offset };
        let ((deposit, limiting), (earlier, limited)) = (now, before);
        match deposit.series {
            Series::Local => self.memory.why(copy(deposit), copy(earlier), true),
            Series::RemoteDmaUnpack => self.memory.why(copy(deposit), copy(earlier), false),
            Series::RemotePackDma => {
                let pack = |of: &Deposit| Kernel::Pack { bytes: of.bytes, stride: of.stride };
                self.memory.why(pack(deposit), pack(earlier), true)
            }
            Series::RemoteDirect if earlier.stride <= 1 && deposit.stride > 1 => {
                format!("each word travels by itself: {limiting}; a block is limited by {limited}")
            }
            Series::RemoteDirect => {
                let same = if limiting == limited { "as at the stride before" } else { "another limit" };
                let words = deposit.bytes.div_ceil(WORD) as f64;
                let each = self.deposit(deposit).time.us() * 1e3 / words;
                let [stored, before] = [deposit, earlier].map(|of| self.memory.store_word(of.stride).us() * 1e3);
                format!(
                    "{same}: {limiting} takes {each:.0} ns a word; the receiver's memory could store one in {stored:.0} ns, {before:.0} before"
                )
            }
        }
    }

    /// Moves a contiguous block into remote memory by the adapter's engine, where it has one.
    ///
    /// # Panics
    /// If `bytes` is 0 or above [`Deposit::MOST_BYTES`].
    pub fn block_by_engine(&self, bytes: u64) -> DepositTime {
        assert!((1..=Deposit::MOST_BYTES).contains(&bytes));
        DepositTime::new(bytes, &self.block(bytes, 0).run(), self.bound_of_peaks(bytes))
    }

    /// Moves `bytes` of words `stride` apart to contiguous remote memory, gathered by the adapter's processor (K98 s13);
    /// `None` where it has none that gathers.
    ///
    /// # Panics
    /// As [`Host::deposit`].
    pub fn gather(&self, bytes: u64, stride: u64) -> Option<DepositTime> {
        assert!((1..=Deposit::MOST_BYTES).contains(&bytes) && (1..=Deposit::MOST_STRIDE).contains(&stride));
        Some(DepositTime::new(bytes, &self.gathered(bytes, stride)?.run(), self.bound_of_peaks(bytes)))
    }

    /// Moves a contiguous block with this many intermediate copies (W01 s3), one after another. With none, the
    /// adapter's engine moves the block. Otherwise the sender stores into a buffer, the receiver copies what has
    /// arrived there, and the others are copies of copies.
    ///
    /// # Panics
    /// If `bytes` is 0 or above [`Deposit::MOST_BYTES`].
    pub fn copied(&self, bytes: u64, copies: u32) -> DepositTime {
        let Some(more) = copies.checked_sub(1) else { return self.block_by_engine(bytes) };
        assert!((1..=Deposit::MOST_BYTES).contains(&bytes));
        let mut outcome = self.direct(bytes, 1, 0).run();
        outcome.then("memory (receiver, arrived)", self.memory().copy_arrived(bytes, 1, bytes));
        (0..more).for_each(|_| outcome.then("memory (further copies)", self.memory().copy(bytes, 1)));
        DepositTime::new(bytes, &outcome, self.bound_of_peaks(bytes))
    }

    /// Loads `bytes` of remote words `stride` apart, `offset` bytes after a page's boundary, by the processor (fetch);
    /// `None` where the adapter has no remote loads.
    ///
    /// # Panics
    /// As [`Host::deposit`].
    pub fn fetch(&self, bytes: u64, stride: u64, offset: u64) -> Option<DepositTime> {
        assert!((1..=Deposit::MOST_BYTES).contains(&bytes) && (1..=Deposit::MOST_STRIDE).contains(&stride));
        assert!(offset < Deposit::PAGE);
        let outcome = self.loads(bytes, stride, offset)?.run();
        Some(DepositTime::new(bytes, &outcome, self.bound_of_peaks(bytes)))
    }

    /// A contiguous direct deposit while the receiver deposits as much here. Returns the rate of one direction. A
    /// resource for both directions (the host bus with its turnarounds, a B-Link, a LANai) gives each its share.
    ///
    /// # Panics
    /// If `bytes` is 0 or above [`Deposit::MOST_BYTES`].
    pub fn exchange(&self, bytes: u64) -> DepositTime {
        assert!((1..=Deposit::MOST_BYTES).contains(&bytes));
        let outcome = self.direct(bytes, 1, 0).both_ways().run();
        DepositTime::new(bytes, &outcome, self.bound_of_peaks(bytes))
    }

    /// The slowest resource at its peak.
    pub(super) fn bound_of_peaks(&self, bytes: u64) -> Peak {
        slowest(self.peaks(bytes)).expect("every adapter has a peak")
    }

    fn bound(&self, bytes: u64, series: Series) -> Peak {
        let copy = |name: &str, time: Time| Peak::of_bytes_per_s(bytes as f64 / time.s(), name);
        let copied = match series {
            Series::Local => return copy(MEMORY, self.memory().copy(bytes, 1)),
            Series::RemoteDirect => None,
            Series::RemoteDmaUnpack => Some(copy(UNPACK, self.memory().copy_uncached(bytes, 1, 0))),
            Series::RemotePackDma => Some(copy(PACK, self.memory().copy(bytes, 1))),
        };
        slowest(self.peaks(bytes).into_iter().chain(copied)).expect("every adapter has a peak")
    }
}
