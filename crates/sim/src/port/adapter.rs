//! What a rank's adapter and host do to an operation before and after the network: one [`Adapter`] for each fabric.
//!
//! The network carries packets; what a program sees is decided on both sides of it. An adapter knows its [`Family`],
//! what a port on it may claim ([`Limits`]), what the processor pays for each operation, and how fast data can be fed
//! into the network ([`Pace`]). Numbers come from the catalog. Where it is silent the family's usual value stands in
//! ([`usual`]): estimates for choosing and trying, never targets.

use super::kernel::Kernel;
use super::local::Local;
use crate::host::{Deposit, Host, Series};
use crate::plan::{Plan, RouteBuffer};
use hotlink_fabric::spec::{FabricSpec, FlowControl, Role};
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{DepositLimits, Engine, Layout, Limits, RegistrationLimits};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Families of adapters, by what they let a program do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Dolphin's PCI-SCI: remote memory mapped for stores through stream buffers, and DMA (K98 s14-15, W01).
    Sci,
    /// Myrinet: a processor on the adapter and DMA from pinned memory; no remote stores (K98 s12).
    Myrinet,
    /// QsNet's Elan: DMA from and to user virtual memory, translated by the adapter (P01).
    Elan,
    /// Cray T3D: stores and loads of remote memory, put there by a deposit engine (K98 s16).
    T3d,
    /// Remote DMA on registered memory: InfiniBand, RoCE, Slingshot.
    Rdma,
    /// Kernel sockets: the processor copies, and works for every segment.
    Tcp,
}

impl Family {
    /// The family of a fabric's adapters, from its flow control, topology and speed.
    pub fn of(spec: &FabricSpec) -> Family {
        let on_a_bus = spec.resources.contains_key(&Role::HostBus);
        let slow =
            spec.resource(Role::Link).and_then(|link| link.gross.as_ref()).is_some_and(|g| g.value.0 < 1_250_000_000);
        match spec.flow_control {
            FlowControl::SciRing => Family::Sci,
            FlowControl::Wormhole if spec.packet.payload_max_bytes.is_none() => Family::Myrinet,
            FlowControl::Wormhole if on_a_bus => Family::Elan,
            FlowControl::Wormhole => Family::T3d,
            FlowControl::Ethernet if slow => Family::Tcp,
            _ => Family::Rdma,
        }
    }
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Family::Sci => "sci",
            Family::Myrinet => "myrinet",
            Family::Elan => "elan",
            Family::T3d => "t3d",
            Family::Rdma => "rdma",
            Family::Tcp => "tcp",
        }
    }
}

/// Who moves the payload of a control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// The processor stores it straight into the receiver's buffer.
    Stores,
    /// The processor copies it into a buffer that the adapter reads.
    Copy,
    /// The adapter reads it where it is.
    Direct,
}

/// What stands in where the catalog says nothing, in microseconds.
struct Usual {
    send: f64,
    receive: f64,
    /// Through both adapters, beyond the network's own latency.
    latency: f64,
    gap: f64,
    dma_setup: f64,
    /// Registering: fixed, and for each page of 4 KiB.
    register: (f64, f64),
    map: (f64, f64),
    connect: f64,
    control_bytes_max: u64,
    zero_copy_min: u64,
    carrier: Carrier,
}

/// The usual values of a family: estimates, by analogy with the generation of its fabrics in the catalog.
fn usual(family: Family) -> Usual {
    let base = Usual {
        send: 0.3,
        receive: 0.3,
        latency: 0.5,
        gap: 0.0,
        dma_setup: 1.0,
        register: (0.0, 0.0),
        map: (0.0, 0.0),
        connect: 0.0,
        control_bytes_max: 16 << 10,
        zero_copy_min: 16 << 10,
        carrier: Carrier::Copy,
    };
    match family {
        // Eager buffers of 16 KiB, DMA from 32 KiB on: SCI-MPICH (parameters P012, P014).
        Family::Sci => Usual {
            dma_setup: 15.0,
            register: (20.0, 1.0),
            map: (50.0, 2.0),
            connect: 30.0,
            zero_copy_min: 32 << 10,
            carrier: Carrier::Stores,
            ..base
        },
        Family::Myrinet => Usual { send: 0.8, receive: 0.8, latency: 3.0, gap: 2.0, register: (15.0, 0.8), ..base },
        Family::Elan => {
            Usual { send: 0.5, receive: 0.5, latency: 0.8, zero_copy_min: 4 << 10, carrier: Carrier::Direct, ..base }
        }
        Family::T3d => Usual { latency: 0.2, dma_setup: 0.0, zero_copy_min: 1 << 10, carrier: Carrier::Stores, ..base },
        Family::Rdma => Usual { send: 0.1, receive: 0.1, latency: 0.1, dma_setup: 0.1, register: (5.0, 0.1), ..base },
        Family::Tcp => Usual { send: 10.0, receive: 10.0, latency: 0.0, control_bytes_max: 64 << 10, ..base },
    }
}

/// How data enter the network: from a start on, a chunk each so often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Before the first chunk, in picoseconds.
    pub setup_ps: u64,
    /// Payload of a chunk in bytes; the last may be shorter.
    pub chunk: u64,
    /// From one chunk to the next, in picoseconds.
    pub chunk_ps: u64,
    /// Wire bytes of this layout over those of a contiguous one, in 1/256.
    pub stretch: u64,
}

impl Pace {
    /// From the start of the first chunk until the feed is over.
    pub fn busy_ps(&self, bytes: u64) -> u64 {
        self.setup_ps + (u128::from(self.chunk_ps) * u128::from(bytes) / u128::from(self.chunk)) as u64
    }
}

/// Chunks are pages: what address translation leaves contiguous.
const PAGE: u64 = 4 << 10;

/// The adapters and hosts of a fabric, all alike.
pub struct Adapter {
    /// The family.
    pub family: Family,
    /// What a port on it claims.
    pub limits: Limits,
    pub(super) local: Local,
    host: Option<Host>,
    carrier: Carrier,
    /// Added to every message's way.
    pub(super) latency_ps: u64,
    /// Least time between two messages of a node.
    pub(super) gap_ps: u64,
    /// Control messages of a rank that their receivers have not taken.
    pub(super) queue: u32,
    /// DMA operations of a node under way.
    pub(super) dma_queue: u32,
    setup_ps: u64,
    register_ps: (u64, u64),
    map_ps: (u64, u64),
    connect_ps: u64,
    page_ps: u64,
    kernel: Option<Kernel>,
    /// The network's own payload rate from a node, where known.
    link: Rate,
    stores: RefCell<BTreeMap<u64, Pace>>,
}

/// Values of the catalog, in base units.
#[derive(Clone, Copy)]
struct Known<'a>(&'a FabricSpec);

impl Known<'_> {
    fn value(self, name: &str) -> Option<f64> {
        self.0.parameters.get(name).map(|value| value.value)
    }
    /// Picoseconds, or so many microseconds.
    fn ps(self, name: &str, or_us: f64) -> u64 {
        self.value(name).map_or((or_us * 1e6) as u64, |ps| ps.round() as u64)
    }
    /// Picoseconds for a page.
    fn page_ps(self, name: &str, or_us: f64) -> u64 {
        self.value(name).map_or((or_us * 1e6) as u64, |ps_per_byte| (ps_per_byte * PAGE as f64).round() as u64)
    }
}

impl Adapter {
    /// The adapters of a plan's fabric, of the family that fits it.
    pub fn new(plan: &Plan<'_>) -> Adapter {
        Adapter::of_family(plan, Family::of(&plan.fabric.spec))
    }

    /// As if they were of another family.
    pub fn of_family(plan: &Plan<'_>, family: Family) -> Adapter {
        let spec = &plan.fabric.spec;
        let (known, usual) = (Known(spec), usual(family));
        let network_ps = network_latency(plan);
        let latency_ps = match (known.value("pio_latency").filter(|_| family == Family::Sci), Family::of(spec)) {
            // One way of a store, all in: what the network does not explain is the adapters'.
            (Some(pio), _) => (pio as u64).saturating_sub(network_ps),
            // The kernel hands each message to an adapter that was not made for it, as DMA.
            (None, own) if family == Family::Tcp && own != Family::Tcp => {
                Adapter::of_family(plan, own).latency_ps + known.ps("dma_setup_time", self::usual(own).dma_setup)
            }
            (None, _) => known.ps("adapter_latency", usual.latency),
        };
        // Half round trip of a short message, where published: what is left is the processors'.
        let left = known.value("mpi_latency").map(|mpi| (mpi / 2e6 - (network_ps + latency_ps) as f64 / 2e6).max(0.05));
        let (send, receive) = (left.unwrap_or(usual.send), left.unwrap_or(usual.receive));
        let (post, poll) = match known.value("tcp_overhead").filter(|_| family == Family::Tcp) {
            Some(segment) => (segment as u64, segment as u64 + known.ps("interrupt_time", 0.0)),
            None => (known.ps("host_overhead_send", send), known.ps("host_overhead_recv", receive)),
        };
        let host = Host::new(spec).ok().filter(|_| matches!(family, Family::Sci | Family::Myrinet | Family::T3d));
        let local = Local::new(spec);
        let kernel = (family == Family::Tcp).then(|| Kernel::new(spec, Time(post)));
        let mut adapter = Adapter {
            family,
            limits: claims(family, spec, &usual),
            local,
            host,
            carrier: usual.carrier,
            latency_ps,
            gap_ps: known.ps("message_gap", usual.gap),
            queue: 64,
            dma_queue: known.value("dma_queue").map_or(64, |n| n as u32).max(1),
            setup_ps: known.ps("dma_setup_time", usual.dma_setup),
            register_ps: (
                known.ps("register_time", usual.register.0),
                known.page_ps("register_time_per_byte", usual.register.1),
            ),
            map_ps: (known.ps("map_time", usual.map.0), known.page_ps("map_time_per_byte", usual.map.1)),
            connect_ps: known.ps("connect_time", usual.connect),
            page_ps: known.ps("dma_page_time", 0.0),
            kernel,
            link: link_rate(plan),
            stores: RefCell::default(),
        };
        let rate = match &adapter.kernel {
            Some(kernel) => Rate((kernel.peak(&adapter.local) as u64).min(adapter.link.0)),
            None => adapter.rate(adapter.pace(Engine::Dma, &Layout::contiguous(1 << 20))),
        };
        let registration = RegistrationLimits {
            register_time: adapter.register_time(PAGE),
            map_time: adapter.map_time(PAGE),
            connect_time: Time(adapter.connect_ps),
            ..adapter.limits.registration
        };
        adapter.limits = Limits {
            registration,
            post_overhead: Time(post),
            poll_overhead: Time(poll),
            latency: Time(post + network_ps + latency_ps + poll),
            rate,
            copy_rate: adapter.local.copy_rate(),
            ..adapter.limits
        };
        adapter
    }

    fn rate(&self, pace: Pace) -> Rate {
        let fed =
            if pace.chunk_ps == 0 { u64::MAX } else { pace.chunk * 1_000_000 / (pace.chunk_ps / 1_000_000).max(1) };
        Rate(fed.min(self.link.0))
    }

    /// Payload rate in bytes per second that no transfer by `engine` exceeds, and what sets it, where it is the adapter
    /// or its host and not the network.
    pub fn peak(&self, engine: Engine, layout: &Layout, registered: bool) -> Option<(String, f64)> {
        if let Some(kernel) = &self.kernel {
            return Some(("processor (receiver, TCP/IP)".to_owned(), kernel.peak(&self.local)));
        }
        let pace = self.pace(engine, layout);
        let pace = if registered && engine == Engine::Dma { self.paged(pace) } else { pace };
        let host = self.host.as_ref().filter(|_| pace.chunk_ps > 0)?;
        let bytes = layout.bytes().clamp(8, 1 << 20).next_multiple_of(8);
        let limiting = match engine {
            Engine::Dma => host.block_by_engine(bytes).limiting,
            Engine::Pio => host.deposit(&Deposit::new(bytes, words(layout), Series::RemoteDirect)).limiting,
        };
        Some((limiting, pace.chunk as f64 / pace.chunk_ps as f64 * 1e12))
    }

    /// The same from or to registered user memory, whose pages DMA must take one by one.
    pub(super) fn paged(&self, pace: Pace) -> Pace {
        // A chunk is a page where the engine is paced at all.
        if pace.chunk_ps > 0 { Pace { chunk_ps: pace.chunk_ps + self.page_ps, ..pace } } else { pace }
    }
    /// How a deposit by `engine` to `layout` is fed.
    pub(super) fn pace(&self, engine: Engine, layout: &Layout) -> Pace {
        let stride = words(layout);
        let by_stores = engine == Engine::Pio;
        let key = stride << 1 | u64::from(by_stores);
        if let Some(pace) = self.stores.borrow().get(&key) {
            return *pace;
        }
        let pace = self.pace_anew(by_stores, stride);
        self.stores.borrow_mut().insert(key, pace);
        pace
    }
    fn pace_anew(&self, by_stores: bool, stride: u64) -> Pace {
        let setup_ps = if by_stores { 0 } else { self.setup_ps };
        let Some(host) = &self.host else {
            // The network's own rate: a page each time it can take one, so that others get their turn.
            let worms = matches!(self.family, Family::Myrinet | Family::Elan | Family::T3d);
            let chunk_ps = if worms { self.link.time_for(PAGE).0 } else { 0 };
            let chunk = if worms { PAGE } else { u64::MAX };
            return Pace { setup_ps, chunk, chunk_ps, stretch: 256 };
        };
        let time = |bytes| match by_stores || stride > 1 {
            true => host.deposit(&Deposit::new(bytes, stride, Series::RemoteDirect)).time.0,
            false => host.block_by_engine(bytes).time.0,
        };
        // Between two sizes the start-up cancels out: what is left is the steady rate.
        let (short, long) = (4 * PAGE, 12 * PAGE);
        let chunk_ps = time(long).saturating_sub(time(short)) * PAGE / (long - short);
        let stretch = if self.family == Family::Sci && stride > 1 { self.small_packets() } else { 256 };
        Pace { setup_ps, chunk: PAGE, chunk_ps, stretch }
    }
    /// SCI: a strided word is a packet of the smallest data field; wire bytes of these over those of full packets.
    fn small_packets(&self) -> u64 {
        // 16 B of data and 64 B around 8 B of payload, where full packets have 192 B for 128.
        let (small, full) = ((16.0 + 64.0) / 8.0, 192.0 / 128.0);
        (256.0 * small / full) as u64
    }

    /// Processor time to hand a control message of `bytes` over, beside the post overhead; whether the processor feeds
    /// it into the network meanwhile.
    pub(super) fn hand_over(&self, bytes: u64) -> (Time, Option<Pace>) {
        if bytes == 0 {
            return (Time::ZERO, None);
        }
        if let Some(kernel) = &self.kernel {
            let (busy, pace) = kernel.send(&self.local, bytes);
            return (busy, Some(pace));
        }
        match self.carrier {
            Carrier::Stores => {
                let pace = self.pace(Engine::Pio, &Layout::contiguous(bytes));
                (Time(pace.busy_ps(bytes)), Some(pace))
            }
            Carrier::Copy => {
                let whole = Layout::contiguous(bytes);
                (self.local.copy(&whole, &whole), None)
            }
            Carrier::Direct => (Time::ZERO, None),
        }
    }
    /// Processor time for a control message that has come, beside the poll overhead.
    pub(super) fn take_over(&self, bytes: u64) -> Time {
        self.kernel.map_or(Time::ZERO, |kernel| kernel.receive(&self.local, bytes))
    }
    /// Time to register so many bytes of user memory.
    pub fn register_time(&self, bytes: u64) -> Time {
        Time(self.register_ps.0 + self.register_ps.1 * bytes.div_ceil(PAGE))
    }
    /// Time to map so many bytes of another rank's memory, for stores.
    pub fn map_time(&self, bytes: u64) -> Time {
        Time(self.map_ps.0 + self.map_ps.1 * bytes.div_ceil(PAGE))
    }
    /// Time to connect to another rank's memory, for DMA: the same whatever its size.
    pub fn connect_time(&self) -> Time {
        Time(self.connect_ps)
    }
}

/// The stride of a layout in words, as the host models count it.
fn words(layout: &Layout) -> u64 {
    if layout.is_contiguous() { 1 } else { (layout.stride / layout.block.max(1)).clamp(2, Deposit::MOST_STRIDE) }
}

/// From one node to its neighbour, without serialisation.
fn network_latency(plan: &Plan<'_>) -> u64 {
    let mut way = RouteBuffer::default();
    if plan.fabric.nodes() < 2 || plan.route(0, 1, 0, &mut way).is_err() {
        return 0;
    }
    way.latency_ps
}

/// Payload rate of the slowest rated resource on the way to the neighbour.
fn link_rate(plan: &Plan<'_>) -> Rate {
    let full = plan.packet_bytes.max(1);
    let share = f64::from(full) / f64::from(plan.wire_bytes(full, 1).max(1));
    let rate =
        |class: &crate::plan::Class| if class.payload_only { class.rate.0 as f64 } else { class.rate.0 as f64 * share };
    let least = plan
        .classes
        .iter()
        .filter(|class| class.rate != crate::plan::UNLIMITED)
        .map(rate)
        .fold(f64::INFINITY, f64::min);
    Rate(if least.is_finite() { least as u64 } else { u64::MAX >> 20 })
}

/// What a family claims.
fn claims(family: Family, spec: &FabricSpec, usual: &Usual) -> Limits {
    let known = Known(spec);
    let none = DepositLimits {
        bytes_max: 64 << 20,
        dma_align: 1,
        strided: true,
        pio: false,
        dma: false,
        dma_needs_registration: false,
    };
    let align = known.value("deposit_alignment").map_or(8, |bytes| bytes as u64).max(1);
    let (deposit, fetch) = match family {
        // Reads of remote memory are much slower than writes (parameters P009), so data are always put.
        Family::Sci => (
            Some(DepositLimits {
                pio: true,
                dma: true,
                strided: true,
                dma_align: align,
                dma_needs_registration: true,
                ..none
            }),
            None,
        ),
        Family::Myrinet => (Some(DepositLimits { dma: true, dma_needs_registration: true, ..none }), None),
        Family::Elan => (Some(DepositLimits { dma: true, ..none }), Some(DepositLimits { dma: true, ..none })),
        Family::T3d => (Some(DepositLimits { pio: true, ..none }), Some(DepositLimits { pio: true, ..none })),
        Family::Rdma => {
            let dma =
                DepositLimits { dma: true, strided: false, dma_needs_registration: true, bytes_max: 1 << 30, ..none };
            (Some(dma), Some(dma))
        }
        Family::Tcp => (None, None),
    };
    let registration = RegistrationLimits {
        private: deposit.is_some(),
        private_mappable: family == Family::T3d,
        private_block_min: 0,
        zero_copy_min: usual.zero_copy_min,
        private_zero_copy_min: usual.zero_copy_min,
        entries: (family == Family::Sci).then(|| known.value("att_entries").map_or(4096, |n| n as u64)),
        entry_bytes: known.value("page_size").map_or(PAGE, |bytes| bytes as u64).max(1),
        pinned_bytes: match family {
            // A share of the hosts' memory of that time, by analogy.
            Family::Sci | Family::Myrinet => Some(64 << 20),
            _ => None,
        },
        register_time: Time::ZERO,
        map_time: Time::ZERO,
        connect_time: Time::ZERO,
    };
    Limits {
        name: format!("simulated {} ({})", family.name(), spec.name),
        real_time: false,
        clock_step: Time(1),
        control_bytes_max: usual.control_bytes_max,
        inline_bytes: if family == Family::Tcp { 0 } else { 32 },
        deposit,
        fetch,
        ordered: deposit.is_some() && family != Family::Sci,
        segments: matches!(family, Family::Sci | Family::T3d),
        ghosts: true,
        registration,
        // The driver knows for how many ranks.
        barrier: false,
        broadcast: false,
        reduction: None,
        post_overhead: Time::ZERO,
        poll_overhead: Time::ZERO,
        latency: Time::ZERO,
        rate: Rate(0),
        copy_rate: Rate(0),
    }
}
