//! What a port claims. The conformance suite exercises every claim on every port.

use crate::Engine;
use hotlink_fabric::units::{Rate, Time};
use serde::{Deserialize, Serialize};

/// A port's claims and costs. Costs are estimates for choosing a protocol, never results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// What it is: `shared memory`, `TCP`, `SCI D330`.
    pub name: String,
    /// Time is the operating system's (measured), not virtual (simulated, exactly repeatable).
    pub real_time: bool,
    /// Smallest step of `now()`.
    pub clock_step: Time,
    /// Largest payload of a control message.
    pub control_bytes_max: u64,
    /// A message's cost already includes the protocol that moves it, as a calibrated MPI's does. Layers above send
    /// every message whole, and add no handshake for any length.
    pub whole_messages: bool,
    /// Payload that travels with the head at (almost) no further cost.
    pub inline_bytes: u64,
    /// Remote stores; `None`: only control messages.
    pub deposit: Option<DepositLimits>,
    /// Remote loads.
    pub fetch: Option<DepositLimits>,
    /// A deposit's data is visible at the target before any control message posted to it later.
    pub ordered: bool,
    /// Regular segments ([`crate::Kind::Shared`]) exist.
    pub segments: bool,
    /// Ghost memory is taken.
    pub ghosts: bool,
    /// What exporting private memory needs.
    pub registration: RegistrationLimits,
    /// [`crate::Op::Barrier`].
    pub barrier: bool,
    /// [`crate::Op::Broadcast`].
    pub broadcast: bool,
    /// [`crate::Op::Reduce`].
    pub reduction: Option<ReductionLimits>,
    /// Processor time to post a control message.
    pub post_overhead: Time,
    /// Processor time to take one.
    pub poll_overhead: Time,
    /// Least time between two that a rank posts.
    pub message_gap: Time,
    /// Time of an empty control message from post to poll.
    pub latency: Time,
    /// Rate of large deposits (or of control messages, without deposits).
    pub rate: Rate,
    /// Rate of a long local copy.
    pub copy_rate: Rate,
    /// Rates of copies of blocks of [`COPIED`] bytes, which a cache may hold; `None`: all as long ones.
    pub copy_rates: Option<[Rate; COPIED.len()]>,
    /// Rates of a control message's bytes; `None`: a copy at each end and [`Limits::rate`] between.
    pub control: Option<ControlRates>,
    /// Time of a long message that moves without buffers, until the receiver has it, beyond its bytes at
    /// [`Limits::rate`]; `None`: three control messages.
    pub long_latency: Option<Time>,
    /// Rates while all ranks send; `None`: each rank has [`Limits::rate`] for itself.
    pub together: Option<Together>,
    /// Bytes of a long message that leave before another one's. That is a packet where an adapter or processor serves
    /// several round-robin. It is all bytes where messages leave one after the other, or where each receiver moves its
    /// own.
    pub turn_bytes: u64,
}

impl Limits {
    /// Limits of a port with nothing but control messages of any length, between processes in real time, with unknown
    /// costs. Others add to it.
    pub fn messages(name: impl Into<String>) -> Limits {
        Limits {
            name: name.into(),
            real_time: true,
            clock_step: Time(1000),
            control_bytes_max: u64::MAX,
            whole_messages: false,
            inline_bytes: 0,
            deposit: None,
            fetch: None,
            ordered: true,
            segments: false,
            ghosts: false,
            registration: RegistrationLimits::NONE,
            barrier: false,
            broadcast: false,
            reduction: None,
            post_overhead: Time::ZERO,
            poll_overhead: Time::ZERO,
            message_gap: Time::ZERO,
            latency: Time::ZERO,
            rate: Rate(0),
            copy_rate: Rate(0),
            copy_rates: None,
            control: None,
            long_latency: None,
            together: None,
            turn_bytes: 0,
        }
    }
}

/// Lengths of the blocks whose copies have a rate of their own ([`Limits::copy_rates`]).
pub const COPIED: [u64; 4] = [1 << 10, 8 << 10, 64 << 10, 512 << 10];

/// How fast the bytes of a control message pass, one stage after the other. A stage without a time has the rate
/// [`ControlRates::AT_ONCE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlRates {
    /// By the processor that posts it, in addition to [`Limits::post_overhead`].
    pub post: Rate,
    /// Through the network, after the processor is done.
    pub wire: Rate,
    /// By the processor that takes it, in addition to [`Limits::poll_overhead`].
    pub poll: Rate,
}

impl ControlRates {
    /// The rate of a stage that takes no time.
    pub const AT_ONCE: Rate = Rate(u64::MAX);
}

/// Rates of each sender's long messages while many ranks send. Links that several of them use, and a host's bus that
/// carries both directions, make them lower than [`Limits::rate`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Together {
    /// Each rank exchanges with the one whose number differs in bit `i`.
    pub paired: Vec<Rate>,
    /// Each rank sends to the one 2^i further on.
    pub further: Vec<Rate>,
    /// Level `i` of a binomial tree that numbers give: each rank of 2^(i+1) sends to the one 2^i further on.
    pub down: Vec<Rate>,
    /// The same level on the way back.
    pub up: Vec<Rate>,
    /// Each rank sends to all others.
    pub all: Rate,
}

/// What a port can do with remote memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepositLimits {
    /// Longest operation.
    pub bytes_max: u64,
    /// Offsets and lengths of DMA operations are multiples of this.
    pub dma_align: u64,
    /// Layouts with gaps on the remote side are taken.
    pub strided: bool,
    /// [`crate::Engine::Pio`] (through a mapping).
    pub pio: bool,
    /// [`crate::Engine::Dma`].
    pub dma: bool,
    /// DMA from or to private memory needs it to be registered first.
    pub dma_needs_registration: bool,
    /// Rate of long operations by [`Engine::Pio`]; 0: not known.
    pub pio_rate: Rate,
    /// Rate of long operations by [`Engine::Dma`]; 0: not known.
    pub dma_rate: Rate,
}

impl DepositLimits {
    /// Limits of memory that this machine's processors reach themselves.
    pub const ANY: DepositLimits = DepositLimits {
        bytes_max: u64::MAX,
        dma_align: 1,
        strided: true,
        pio: true,
        dma: true,
        dma_needs_registration: false,
        pio_rate: Rate(0),
        dma_rate: Rate(0),
    };

    /// What moves long operations: the faster of the two where both can. Where they are alike it is the DMA engine,
    /// which lets the processor compute. `mappable`: the remote memory can be mapped.
    pub fn mover(&self, mappable: bool) -> Engine {
        let faster = mappable && self.pio_rate > self.dma_rate;
        if self.pio && (faster || !self.dma) { Engine::Pio } else { Engine::Dma }
    }
}

/// What a network that combines data, or memory that all ranks share, claims of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReductionLimits {
    /// Time of an empty reduction.
    pub latency: Time,
    /// Rate of long ones.
    pub rate: Rate,
    /// The result may go to one rank, or each rank may get a part of it: [`crate::Share`]. Else all get all.
    pub shares: bool,
}

/// Limits of registration. A cache of registrations, mappings and connections stays within them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistrationLimits {
    /// Private memory can be exported at all.
    pub private: bool,
    /// Private memory can be mapped (PIO), not only connected (DMA).
    pub private_mappable: bool,
    /// Blocks of private memory shorter than this move faster through buffers than by strided transfers.
    pub private_block_min: u64,
    /// Transfers shorter than this move faster through buffers than by registration and zero-copy.
    pub zero_copy_min: u64,
    /// As `zero_copy_min`, for private memory between ranks that both wait. Where the system must copy, buffers may be
    /// faster at every size, and zero-copy pays only by letting one side compute.
    pub private_zero_copy_min: u64,
    /// The same from above: private memory of this many bytes and more moves faster through buffers again.
    pub private_zero_copy_max: u64,
    /// Private memory that both ranks wait for and that is shorter than this moves faster by one of them than in
    /// halves.
    pub private_halves_min: u64,
    /// Address translation entries for mappings; `None`: no limit.
    pub entries: Option<u64>,
    /// Bytes that one entry maps.
    pub entry_bytes: u64,
    /// Most bytes registered at once; `None`: no limit.
    pub pinned_bytes: Option<u64>,
    /// Cost of a registration, for the smallest and per page beyond.
    pub register_time: Time,
    /// Cost of a mapping.
    pub map_time: Time,
    /// Cost of a connection.
    pub connect_time: Time,
}

impl RegistrationLimits {
    /// Limits of a port that exports no private memory: no transfer is worth a registration.
    pub const NONE: RegistrationLimits = RegistrationLimits {
        private: false,
        private_mappable: false,
        private_block_min: 0,
        zero_copy_min: u64::MAX,
        private_zero_copy_min: u64::MAX,
        private_zero_copy_max: u64::MAX,
        private_halves_min: 0,
        entries: None,
        entry_bytes: u64::MAX,
        pinned_bytes: None,
        register_time: Time::ZERO,
        map_time: Time::ZERO,
        connect_time: Time::ZERO,
    };
}
