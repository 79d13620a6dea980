//! K98's three levels for one large block: direct deposit, message passing, TCP/IP (K98 s4, s7-9, s25-27).
//!
//! What a level adds is what it copies and what it does for each piece: nothing but synchronisation for blocking
//! message passing, one more copy where the sender need not wait for the receiver, and copies, checksums and work per
//! segment on both sides for TCP/IP.

use super::deposit::DepositTime;
use super::memory::{Memory, WORD};
use super::parameters::Parameters;
use super::pipeline::{Outcome, Pieces, Pipeline};
use super::{Host, HostError};
use hotlink_fabric::units::Time;

/// How a program hands a block over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Direct deposit by remote stores, or by DMA where the adapter has no other way.
    Deposit,
    /// The adapter's DMA into contiguous remote memory (the deposit itself where there is no other engine).
    Dma,
    /// Blocking message passing ("restricted semantics"): synchronise, deposit, tell.
    MpiRestricted,
    /// Message passing at any time ("full postal semantics"): deposit into a buffer, tell, copy out.
    MpiPostal,
    /// TCP/IP of the kernel over the adapter's DMA.
    Tcp,
}

impl Level {
    /// All that K98 shows in its summary, in its order (s27).
    pub const SUMMARY: [Level; 4] = [Level::Deposit, Level::MpiRestricted, Level::MpiPostal, Level::Tcp];

    /// Name in records.
    pub fn name(self) -> &'static str {
        match self {
            Level::Deposit => "deposit",
            Level::Dma => "dma",
            Level::MpiRestricted => "mpi-restricted",
            Level::MpiPostal => "mpi-postal",
            Level::Tcp => "tcp",
        }
    }
}

/// What a kernel's TCP/IP costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tcp {
    segment: u64,
    overhead: Time,
    interrupt: Time,
}

impl Tcp {
    /// `None` where the fabric's hosts have no TCP/IP.
    pub fn new(parameters: Parameters<'_>) -> Result<Option<Tcp>, HostError> {
        if !parameters.has("tcp_segment") {
            return Ok(None);
        }
        Ok(Some(Tcp {
            segment: parameters.piece("tcp_segment")?,
            overhead: parameters.time("tcp_overhead")?,
            interrupt: parameters.time("interrupt_time")?,
        }))
    }

    /// Segments (padded to words, as DMA wants them) through the sender's processor, the network and the receiver's processor; each processor copies
    /// between program and kernel, adds the checksum up, and works for every segment.
    fn pipeline(&self, memory: &Memory, bytes: u64, network: impl Fn(u64) -> Time) -> Pipeline {
        let mut pipeline = Pipeline::new(Pieces::new(bytes, self.segment, 0));
        let work = |bytes| memory.copy_uncached(bytes, 1) + memory.read(bytes) + self.overhead;
        let sender = pipeline.server("processor (sender, TCP/IP)");
        let between = pipeline.server("adapters and network");
        let receiver = pipeline.server("processor (receiver, TCP/IP)");
        pipeline.step(sender, work, Time::ZERO);
        pipeline.step(between, network, Time::ZERO);
        pipeline.arrival = pipeline.step(receiver, |bytes| work(bytes) + self.interrupt, Time::ZERO);
        pipeline
    }
}

impl Host {
    /// Hands `bytes` over to an idle peer that waits for them; `None` for TCP/IP on a host that has none.
    ///
    /// # Panics
    /// If `bytes` is 0 or above [`super::Deposit::MOST_BYTES`].
    pub fn transfer(&self, bytes: u64, level: Level) -> Option<DepositTime> {
        assert!((1..=super::Deposit::MOST_BYTES).contains(&bytes));
        let control = || self.direct(WORD, 1, 0).run().time;
        let mut outcome = match level {
            Level::Dma => self.block(bytes, 0).run(),
            Level::Tcp => self
                .tcp?
                .pipeline(&self.memory, bytes, |bytes| self.block(bytes.next_multiple_of(WORD), 0).run().time)
                .run(),
            Level::Deposit | Level::MpiRestricted | Level::MpiPostal => self.direct(bytes, 1, 0).run(),
        };
        match level {
            Level::Deposit | Level::Dma | Level::Tcp => {}
            Level::MpiRestricted => outcome.then("control messages", Time(2 * control().0)),
            Level::MpiPostal => {
                outcome.then("control messages", control());
                outcome.then("memory (receiver, copy)", self.memory.copy_uncached(bytes, 1));
            }
        }
        Some(self.told(bytes, outcome))
    }

    fn told(&self, bytes: u64, outcome: Outcome) -> DepositTime {
        DepositTime::new(bytes, &outcome, self.bound_of_peaks(bytes))
    }
}
