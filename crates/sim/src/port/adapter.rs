//! What a rank's adapter and host do to an operation before and after the network: one [`Adapter`] for each fabric.
//!
//! The network carries packets; what a program sees is decided on both sides of it. An adapter knows its [`Family`],
//! what a port on it may claim ([`Limits`]), and what the processor pays for each operation. It also knows how fast
//! data can be fed into the network ([`Pace`]). Numbers come from the catalog. Where the catalog has none, the
//! assumption of the technology's record stands in, and [`Adapter::inputs`] names it. Without an assumption the value
//! is missing, which is an error.

use super::family::{Carrier, Design, Family, design, technology_of};
use super::kernel::Kernel;
use super::local::Local;
use super::pace::{PAGE, Pace, Way, words};
use super::world::HEAD_BYTES;
use crate::host::{Deposit, Host, Series, WORD};
use crate::plan::Plan;
use hotlink_fabric::ledger::{Inputs, Unfit};
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_fabric::units::{Rate, Time};
use hotlink_memory::{BusUse, Buses, Flow, Slowed};
use hotlink_port::{COPIED, DepositLimits, Engine, Layout, Limits, RegistrationLimits, Task, Work};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The adapters and hosts of a fabric, all alike.
pub struct Adapter {
    /// The family.
    pub family: Family,
    /// What a port on it claims.
    pub limits: Limits,
    pub(super) local: Local,
    pub(super) host: Option<Host>,
    /// The hosts' buses, where they are clocked ones whose bursts are known.
    pub(super) buses: Option<Buses>,
    /// The bus's name, and whether the processor stores over it into remote memory.
    bus_name: Option<(String, bool)>,
    pub(super) carrier: Carrier,
    /// What an interrupt takes of a processor: SCI's driver, which connections and callbacks need.
    pub(super) interrupt: Time,
    /// Added to every message's path.
    pub(super) latency_ps: u64,
    /// Least time between two messages of a node.
    pub(super) gap_ps: u64,
    /// Control messages of a rank that their receivers have not taken.
    pub(super) queue: u32,
    /// DMA operations of a node under way.
    pub(super) dma_queue: u32,
    pub(super) setup_ps: u64,
    register_ps: (u64, u64),
    map_ps: (u64, u64),
    connect_ps: u64,
    pub(super) page_ps: u64,
    kernel: Option<Kernel>,
    /// The network alone, to the neighbour.
    pub(super) way: Way,
    /// The network's latency to the neighbour.
    pub(super) network_ps: u64,
    /// Of that, from adapter to adapter with both of them.
    inner_ps: u64,
    /// Of that, both adapters.
    adapters_ps: u64,
    /// The adapter's own processor: per message sent and received, where the adapter has one.
    nic_ps: Option<[u64; 2]>,
    /// The ranks are programs of the adapters' processors: what they send never crosses a host.
    pub(super) inner: bool,
    /// Then: what of the path between hosts they do not cross.
    skipped_ps: u64,
    /// What the host's model has said of transfers: by stores or not, stride, bytes.
    pub(super) alone: RefCell<BTreeMap<(bool, u64, u64), u64>>,
}

/// The parts of the time of an empty message between neighbours: each part has its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The sending processor.
    pub post: Time,
    /// Both hosts' buses.
    pub bus: Time,
    /// Both adapters.
    pub adapter: Time,
    /// Links and switches between them.
    pub wire: Time,
    /// The receiving processor.
    pub poll: Time,
}

impl Split {
    /// The parts by the keys that records give them.
    pub fn keys(self) -> [(&'static str, Time); 5] {
        let Split { post, bus, adapter, wire, poll } = self;
        [("post_us", post), ("bus_us", bus), ("adapter_us", adapter), ("wire_us", wire), ("poll_us", poll)]
    }
}

/// A transfer whose pace that of longer ones is.
const STEADY: u64 = 1 << 20;

/// Parameters as times.
struct Times<'a>(Inputs<'a>);

impl Times<'_> {
    /// Picoseconds of a parameter that the machine or its technology must state.
    fn ps(&self, name: &str) -> Result<u64, Unfit> {
        Ok(self.0.require(name)?.round() as u64)
    }
    /// The same, or as derived from what the machine states, in microseconds.
    fn ps_or(&self, name: &str, derived_us: Option<f64>) -> Result<u64, Unfit> {
        let derived = derived_us.map(|us| (us * 1e6).trunc());
        Ok(self.0.require_or(name, derived)?.round() as u64)
    }
    /// Picoseconds for a page.
    fn page_ps(&self, name: &str) -> Result<u64, Unfit> {
        Ok((self.0.require(name)? * PAGE as f64).round() as u64)
    }
}

impl Adapter {
    /// The adapters of a plan's fabric, of its technology's family.
    ///
    /// # Errors
    /// A parameter that neither the fabric nor its technology states.
    pub fn new(plan: &Plan<'_>) -> Result<Adapter, Unfit> {
        Adapter::of_family(plan, plan.fabric.spec.technology.adapter.value)
    }

    /// As if they were of another family.
    ///
    /// # Errors
    /// As [`Adapter::new`].
    pub fn of_family(plan: &Plan<'_>, family: Family) -> Result<Adapter, Unfit> {
        let (adapter, overheads) = Adapter::unrated(plan, family)?;
        Ok(adapter.rated(overheads))
    }

    /// What the host's processor pays to post a message and to poll for one, without the rates of anything.
    ///
    /// # Errors
    /// As [`Adapter::new`].
    pub fn overheads(plan: &Plan<'_>) -> Result<[Time; 2], Unfit> {
        Adapter::unrated(plan, plan.fabric.spec.technology.adapter.value).map(|(_, overheads)| overheads)
    }

    /// The adapter before its rates are worked out, and its host's overheads of posting and polling.
    fn unrated(plan: &Plan<'_>, family: Family) -> Result<(Adapter, [Time; 2]), Unfit> {
        let spec = &plan.fabric.spec;
        let design = design(family);
        let own = spec.technology.adapter.value;
        let technology = technology_of(family, spec.technology);
        let known = Times(Inputs::of_technology(spec, technology));
        if family == Family::Tcp && own == Family::T3d {
            // Its nodes run no kernel that speaks TCP/IP, and other machines' overheads do not stand in.
            Inputs::of_technology(spec, spec.technology).require("tcp_overhead")?;
        }
        let [network_ps, inner_ps] = [false, true].map(|inner| plan.neighbour_ps(inner));
        let host = Host::stated(spec)?.filter(|_| matches!(family, Family::Sci | Family::Myrinet | Family::T3d));
        let buses = Buses::of(spec);
        let way = Way { rate: link_rate(plan), packet: u64::from(plan.packet_bytes) };
        let latency_ps = match &host {
            // One way of a word, all in: what neither the network's latency nor its bytes explain is the adapters'.
            Some(host) => {
                let word = host.deposit(&Deposit::new(WORD, 1, Series::RemoteDirect)).time.0;
                let crossing_ps = design.carrier.word().crossing_ps(way, buses.as_ref(), WORD, true);
                word.saturating_sub(network_ps + crossing_ps)
            }
            // The kernel hands each message to an adapter that was not made for it, as DMA.
            None if family == Family::Tcp && own != Family::Tcp => {
                let (own, _) = Adapter::unrated(plan, own)?;
                own.latency_ps + own.setup_ps
            }
            None => known.ps("adapter_latency")?,
        };
        let local = Local::new(spec, technology)?;
        // A word is one segment: what further ones take is known once a message's own overhead is, below.
        let kernel = match family {
            Family::Tcp => Some(Kernel::new(&known.0, Time::ZERO)?),
            _ => None,
        };
        // Sockets and a kernel that copies neither register nor map, and hand DMA to nobody.
        let registers = kernel.is_none();
        let of_page = |name| if registers { known.page_ps(name) } else { Ok(0) };
        let of_call = |name| if registers { known.ps(name) } else { Ok(0) };
        let limits = claims(family, spec, &known.0, &design)?;
        let has_dma = limits.deposit.iter().chain(&limits.fetch).any(|claim| claim.dma);
        // Pages are counted where the adapter's engine is modelled and takes them one by one.
        let paged = host.as_ref().filter(|_| limits.deposit.is_some_and(|claim| claim.dma_needs_registration));
        let page_ps = paged.map_or(0, |host| host.page_time().0);
        let mut adapter = Adapter {
            family,
            limits,
            local,
            host,
            buses,
            bus_name: spec
                .resources
                .get(&Role::HostBus)
                .map(|bus| (bus.name.clone(), design.carrier == Carrier::Stores)),
            carrier: design.carrier,
            interrupt: if family == Family::Sci { Time(known.ps("interrupt_time")?) } else { Time::ZERO },
            latency_ps,
            gap_ps: known.ps("message_gap")?,
            queue: (known.0.require("message_queue")? as u32).max(1),
            dma_queue: if has_dma { (known.0.require("dma_queue")? as u32).max(1) } else { 1 },
            setup_ps: of_call("dma_setup_time")?,
            register_ps: (of_call("register_time")?, of_page("register_time_per_byte")?),
            map_ps: (of_call("map_time")?, of_page("map_time_per_byte")?),
            connect_ps: of_call("connect_time")?,
            page_ps,
            kernel,
            way,
            network_ps,
            inner_ps,
            adapters_ps: plan.hosts_ps(true).min(inner_ps),
            nic_ps: processor_of(&known.0).ok(),
            inner: false,
            skipped_ps: 0,
            alone: RefCell::default(),
        };
        // Half round trip of a word by messages of this family, where published: what is left of it is the processors'.
        let mpi = known.0.stated("mpi_latency").filter(|_| family == own);
        let left = mpi.map(|mpi| ((mpi - adapter.word_ps(plan) as f64) / 2e6).max(0.05));
        let (post, poll) = match known.0.stated("tcp_overhead").filter(|_| family == Family::Tcp) {
            Some(segment) => (segment as u64, segment as u64 + known.ps("interrupt_time")?),
            None => (known.ps_or("host_overhead_send", left)?, known.ps_or("host_overhead_recv", left)?),
        };
        if adapter.kernel.is_some() {
            adapter.kernel = Some(Kernel::new(&known.0, Time(post))?);
        }
        Ok((adapter, [Time(post), Time(poll)]))
    }

    /// The adapter with its rates: each is that of a long transfer by its own engines.
    fn rated(mut self, [post, poll]: [Time; 2]) -> Adapter {
        let of_engine = |engine, has| match has {
            true => self.rate(self.pace(engine, &Layout::contiguous(STEADY))),
            false => Rate(0),
        };
        let rated = |claim: DepositLimits| DepositLimits {
            pio_rate: of_engine(Engine::Pio, claim.pio),
            dma_rate: of_engine(Engine::Dma, claim.dma),
            ..claim
        };
        let (deposit, fetch) = (self.limits.deposit.map(rated), self.limits.fetch.map(rated));
        let rate = match &self.kernel {
            Some(kernel) => Rate((kernel.steady_peak(&self.local) as u64).min(self.way.rate.0)),
            None => deposit.or(fetch).map_or(self.way.rate, |claim| claim.pio_rate.max(claim.dma_rate)),
        };
        let registration = RegistrationLimits {
            register_time: self.register_time(PAGE),
            map_time: self.map_time(PAGE),
            connect_time: Time(self.connect_ps),
            ..self.limits.registration
        };
        // An engine that answers fetches and is busy with each ends one before the next.
        let in_order = fetch.is_some() && self.pace(Engine::Dma, &Layout::contiguous(STEADY)).chunk_ps > 0;
        self.limits = Limits {
            turn_bytes: if in_order { u64::MAX } else { self.way.packet },
            deposit,
            fetch,
            registration,
            post_overhead: post,
            poll_overhead: poll,
            message_gap: Time(self.gap_ps),
            latency: post + Time(self.network_ps + self.latency_ps) + poll,
            rate,
            copy_rate: self.local.copy_rate(1 << 20),
            copy_rates: Some(COPIED.map(|bytes| self.local.copy_rate(bytes))),
            ..self.limits
        };
        let (regular, private) = (self.pays_from(false), self.pays_from(true));
        let registration = &mut self.limits.registration;
        (registration.zero_copy_min, registration.private_zero_copy_min) = (regular, private);
        self.limits.control = Some(self.control_rates());
        self.limits.long_latency = self.long_latency();
        self
    }

    /// The same machine as programs on the adapters' own processors see it. They accept and pass messages at their pace
    /// and combine data at theirs, and nothing crosses a host.
    ///
    /// # Errors
    /// The adapter has no such processor, or how fast it is is not stated.
    pub fn offloaded(plan: &Plan<'_>) -> Result<Adapter, Unfit> {
        let spec = &plan.fabric.spec;
        let technology = spec.technology;
        let [send, receive] = processor_of(&Inputs::of_technology(spec, technology))?;
        let whole = Adapter::new(plan)?;
        let limits = Limits {
            // What it has received lies in its memory, and leaves from there: it is not copied.
            inline_bytes: whole.limits.control_bytes_max,
            post_overhead: Time(send),
            poll_overhead: Time(receive),
            latency: Time(send + whole.inner_ps + receive),
            rate: whole.way.rate,
            copy_rate: Rate(u64::MAX >> 20),
            control_bytes_max: whole.limits.control_bytes_max,
            real_time: false,
            clock_step: Time(1),
            ghosts: true,
            ..Limits::messages(format!("adapters of {}", spec.name))
        };
        Ok(Adapter {
            limits,
            local: Local::of_adapter(spec, technology),
            host: None,
            buses: None,
            carrier: Carrier::Direct,
            latency_ps: 0,
            gap_ps: 0,
            setup_ps: 0,
            page_ps: 0,
            skipped_ps: whole.network_ps - whole.inner_ps,
            network_ps: whole.inner_ps,
            inner: true,
            ..whole
        })
    }

    /// A message of a word to an idle neighbour, but for what both processors pay for any message.
    fn word_ps(&self, plan: &Plan<'_>) -> u64 {
        let (_, pace) = self.hand_over(WORD);
        let bytes = HEAD_BYTES + WORD;
        let bus = self.buses.map(|_| pace.on_buses(self.buses.as_ref(), bytes, true));
        let taken = self.take_over(WORD) + self.local.take(&Layout::contiguous(WORD), WORD);
        pace.lead_ps + self.latency_ps + plan.neighbour_alone_ps(bytes as u32, bus) + taken.0
    }

    /// The parts of the time of an empty message between neighbours.
    pub fn split(&self) -> Split {
        let programs = self.nic_ps.map_or(self.latency_ps, |[send, receive]| (send + receive).min(self.latency_ps));
        Split {
            post: self.limits.post_overhead,
            bus: Time(self.latency_ps - programs + (self.network_ps - self.inner_ps)),
            adapter: Time(programs + self.adapters_ps),
            wire: Time(self.inner_ps - self.adapters_ps),
            poll: self.limits.poll_overhead,
        }
    }

    /// What of the path between two hosts the ranks' messages do not cross.
    pub fn skipped(&self) -> Time {
        Time(self.skipped_ps)
    }

    /// The additional time of a collective that the adapters run. Each host posts it, `bytes` cross the host's bus to
    /// the adapter and back, and the host sees the end.
    pub fn around_offloaded(&self, bytes: u64) -> Time {
        let Split { post, bus, poll, .. } = self.split();
        let data = self.buses.filter(|_| bytes > 0).map_or(Time::ZERO, |buses| {
            let [out, back] = buses.transfer(BusUse::DMA, bytes);
            out + back
        });
        post + bus + data + poll
    }

    fn rate(&self, pace: Pace) -> Rate {
        let fed =
            if pace.chunk_ps == 0 { u64::MAX } else { pace.chunk * 1_000_000 / (pace.chunk_ps / 1_000_000).max(1) };
        Rate(fed.min(self.way.rate.0))
    }

    /// Payload rate in bytes per second that no transfer by `engine` exceeds, and what sets it. `None` where the
    /// network sets it, not the adapter or its host.
    pub fn peak(&self, engine: Engine, layout: &Layout, registered: bool) -> Option<(String, f64)> {
        if let Some(kernel) = &self.kernel {
            return Some(("processor (receiver, TCP/IP)".to_owned(), kernel.peak(&self.local, layout.bytes().max(1))));
        }
        let pace = self.pace(engine, layout);
        let pace = if registered && engine == Engine::Dma { self.paged(pace, 1 << 20, [Some(0), None]) } else { pace };
        let host = self.host.as_ref().filter(|_| pace.chunk_ps > 0)?;
        let bytes = layout.bytes().clamp(8, 1 << 20).next_multiple_of(8);
        let limiting = match engine {
            Engine::Dma => host.block_by_engine(bytes).limiting,
            Engine::Pio => host.deposit(&Deposit::new(bytes, words(layout), Series::RemoteDirect)).limiting,
        };
        Some((limiting, pace.chunk as f64 / pace.chunk_ps as f64 * 1e12))
    }

    /// Payload rate in bytes per second that no node exceeds in each direction while it sends as much as it receives.
    /// Returns it with the host bus that carries both. `None` where no bus has a clock.
    pub fn exchange_peak(&self) -> Option<(String, f64)> {
        let (buses, (name, stores)) = (self.buses?, self.bus_name.clone()?);
        let rate = |stores| {
            let [sent, received] = buses.transfer(BusUse { stores, scattered: false }, 1 << 20);
            f64::from(1 << 20) / (sent + received).s()
        };
        Some((name, if stores { rate(true).max(rate(false)) } else { rate(false) }))
    }

    /// How a computation and a transfer by an engine slow each other down. The transfer reads this node's memory or
    /// writes into it.
    pub(super) fn slowed(&self, work: Work, reads: bool) -> Slowed {
        let Some(((memory, kernel, processors), buses)) = self.local.kernel(work).zip(self.buses) else {
            return Slowed::NOT;
        };
        let pace = self.pace(Engine::Dma, &Layout::contiguous(STEADY));
        if pace.chunk_ps == 0 || pace.bus.stores {
            return Slowed::NOT;
        }
        let burst = buses.burst();
        let every = Time((u128::from(pace.chunk_ps) * u128::from(burst) / u128::from(pace.chunk)) as u64);
        memory.beside(kernel, processors, Flow { burst, every, data: buses.bus().data(burst), reads })
    }

    /// Processor time to hand over a control message of `bytes`, in addition to the post overhead. Also how the message
    /// is fed into the network, from the start of that time on.
    pub(super) fn hand_over(&self, bytes: u64) -> (Time, Pace) {
        let whole = Layout::contiguous(bytes);
        if bytes == 0 {
            return (Time::ZERO, self.carrier.word());
        }
        if let Some(kernel) = &self.kernel {
            return kernel.send(&self.local, bytes);
        }
        match self.carrier {
            Carrier::Stores => {
                let pace = self.pace(Engine::Pio, &whole);
                (Time(pace.busy_ps(bytes)), pace)
            }
            Carrier::Copy => {
                let copied = self.local.copy(&whole, &whole);
                // Only an adapter that is known feeds it in chunks.
                let pace = if self.host.is_some() { self.pace(Engine::Dma, &whole) } else { Pace::AT_ONCE };
                (copied, Pace { lead_ps: copied.0 + pace.lead_ps, ..pace })
            }
            Carrier::Direct => (Time::ZERO, Pace::AT_ONCE),
        }
    }
    /// What the processor does while it hands a control message over.
    pub(super) fn hands_over_by(&self) -> Task {
        match (&self.kernel, self.carrier) {
            (Some(_), _) | (None, Carrier::Direct) => Task::Software,
            (None, Carrier::Stores) => Task::Store,
            (None, Carrier::Copy) => Task::Copy,
        }
    }
    /// Processor time for a control message that has arrived, in addition to the poll overhead.
    pub(super) fn take_over(&self, bytes: u64) -> Time {
        self.kernel.map_or(Time::ZERO, |kernel| kernel.receive(&self.local, bytes))
    }
    /// Time to register this many bytes of user memory.
    pub fn register_time(&self, bytes: u64) -> Time {
        Time(self.register_ps.0 + self.register_ps.1 * bytes.div_ceil(PAGE))
    }
    /// Time to take that back.
    pub fn unregister_time(&self, bytes: u64) -> Time {
        Time((self.register_time(bytes).0 as f64 * self.local.unregister_share()) as u64)
    }
    /// Time to map this many bytes of another rank's memory, for stores.
    pub fn map_time(&self, bytes: u64) -> Time {
        Time(self.map_ps.0 + self.map_ps.1 * bytes.div_ceil(PAGE))
    }
    /// Time to connect to another rank's memory, for DMA. It is the same for any size.
    pub fn connect_time(&self) -> Time {
        Time(self.connect_ps)
    }
}

/// The adapter's own processor's time for a message that it sends, and for one that it receives.
fn processor_of(known: &Inputs<'_>) -> Result<[u64; 2], Unfit> {
    let time = |name: &str| match known.stated(name) {
        Some(ps) => Ok(ps.round() as u64),
        None => known.require("nic_thread_time").map(|ps| ps.round() as u64),
    };
    Ok([time("nic_send_time")?, time("nic_receive_time")?])
}

/// Payload rate of the slowest rated resource on the path to the neighbour.
fn link_rate(plan: &Plan<'_>) -> Rate {
    let full = plan.packet_bytes.max(1);
    let share = f64::from(full) / f64::from(plan.wire_bytes(full, 1).max(1));
    let rate =
        |class: &crate::plan::Class| if class.payload_only { class.rate.0 as f64 } else { class.rate.0 as f64 * share };
    let way = plan.neighbour(false);
    let classes: Vec<&crate::plan::Class> = match way.stages.is_empty() {
        true => plan.classes.iter().collect(),
        false => way.stages.iter().map(|stage| plan.class(*stage)).collect(),
    };
    let rated = classes.into_iter().filter(|class| class.rate != crate::plan::UNLIMITED);
    let least = rated.map(rate).fold(f64::INFINITY, f64::min);
    Rate(if least.is_finite() { least as u64 } else { u64::MAX >> 20 })
}

/// What a family claims.
fn claims(family: Family, spec: &FabricSpec, known: &Inputs<'_>, design: &Design) -> Result<Limits, Unfit> {
    let whole = |name: &str| Ok::<u64, Unfit>((known.require(name)? as u64).max(1));
    let none = DepositLimits {
        bytes_max: 64 << 20,
        dma_align: 1,
        strided: true,
        pio: false,
        dma: false,
        dma_needs_registration: false,
        // Worked out once the adapter stands.
        ..DepositLimits::ANY
    };
    let (deposit, fetch) = match family {
        // Reads of remote memory are much slower than writes (parameters P009), so data are always put.
        Family::Sci => (
            Some(DepositLimits {
                pio: true,
                dma: true,
                strided: true,
                dma_align: whole("deposit_alignment")?,
                dma_needs_registration: true,
                ..none
            }),
            None,
        ),
        Family::Myrinet => (Some(DepositLimits { dma: true, dma_needs_registration: true, ..none }), None),
        Family::Elan => (Some(DepositLimits { dma: true, ..none }), Some(DepositLimits { dma: true, ..none })),
        // Words return one at a time (K98's fetch, `Host::fetch`), at half the rate of lines on the way there.
        Family::T3d => (Some(DepositLimits { pio: true, ..none }), None),
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
        entries: if family == Family::Sci { Some(whole("att_entries")?) } else { None },
        // Where translations are not counted, a page of the host.
        entry_bytes: if family == Family::Sci { whole("page_size")? } else { PAGE },
        pinned_bytes: match family {
            Family::Sci | Family::Myrinet => Some(whole("pinned_memory")?),
            _ => None,
        },
        ..RegistrationLimits::NONE
    };
    Ok(Limits {
        real_time: false,
        clock_step: Time(1),
        control_bytes_max: design.control_bytes_max,
        inline_bytes: if family == Family::Tcp { 0 } else { 32 },
        deposit,
        fetch,
        ordered: deposit.is_some() && family != Family::Sci,
        segments: matches!(family, Family::Sci | Family::T3d),
        ghosts: true,
        registration,
        // Whether it has hardware barriers, the driver knows: it depends on the number of ranks.
        ..Limits::messages(format!("simulated {} ({})", family.name(), spec.name))
    })
}
