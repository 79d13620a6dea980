//! What stands between a program and the network: memory, host bus, adapter.
//!
//! A [`Host`] is read from a fabric's catalog parameters. [`Host::deposit`] then computes how long a remote store of a
//! block takes, contiguous or with a stride, and what limits it. That is K98's first level, direct deposit. A transfer
//! is a pipeline of bursts, packets or words through servers with windows. It runs on the event core in whole
//! picoseconds. No parameter is fitted to a curve that the model predicts.
//!
//! Programs on simulated ports ([`crate::port`]) take their pace from here. A transfer alone takes there the time that
//! the model gives (`tests/feeding.rs`). Every feature therefore shows in `hotlink simulate deposit` and in all
//! programs over the message stack. The table names the place of each feature, and the test that fails without it:
//!
//! | feature | where | test |
//! |---|---|---|
//! | processor: issue of stores, multiply-add, update | `sci`, `t3d`, `port::local` | `every_feature_of_the_host_reaches_the_stack`, golden tables |
//! | memory: caches, translation, rows, misses under way, allocation, read-ahead | [`Memory`] | crate `memory`, `tests/machines.rs` |
//! | bus: bursts, turnaround, waits that follow from the memory | [`Bus`] | `a_burst_of_64_data_phases_takes_67_clocks`, `a_wait_on_reads_costs_what_the_bus_says` |
//! | bus: one for both directions | `hotlink_event::pipeline` (`both_ways`), in programs `Buses` | `both_directions_share_pci_and_nothing_on_the_t3d`, `tests/buses.rs` |
//! | stores: write combining, stream buffers | `sci` | `part_of_a_stream_buffer_takes_longer_than_a_full_one`, `fewer_stream_buffers_hold_a_block_back` |
//! | DMA: set-up, alignment, queue | `queue`, `sci` | `dma_pays_for_each_operation`, `an_offset_costs_and_a_wrong_one_costs_dma`, `a_queue_takes_its_closed_form` |
//! | Myrinet: host and network DMA, LANai, staging memory | `myrinet` | `each_of_myrinets_engines_can_be_the_slowest` |
//! | T3D: annex, prefetch queue, deposit engine | `t3d` | `one_load_takes_the_round_trip_of_the_catalog`, `the_prefetch_queue_hides_the_round_trip_of_the_t3d` |
//! | memory: place in its page | `port::pace`, `port::door` | `memory_off_its_pages_costs_registration_and_transfer` |
//! | interrupts: a queue's end, TCP/IP's segments | `queue`, `port::kernel` | `dma_pays_for_each_operation`, `every_segment_interrupts_its_receiver` |
//! | interrupts: SCI's connections and callbacks | `port::door` | `connecting_interrupts_the_exporters_processor` |
//! | kernel TCP/IP: copies, checksums, segments | `port::kernel` | `tests/kernel.rs` |
//! | Elan: thread, events, DMA window | [`crate::qsnet`] | `each_part_of_the_elan_costs` |
//!
//! Programs share the bus packet by packet. What a node sends is stores, DMA reads and descriptors; what it receives is
//! data and the words that announce them. Both take their bursts and turnarounds of one bus, in every family. A
//! program's stores hold its processor as long as they take alone, and no longer where the bus is busy.
//!
//! Some interrupts are left out on purpose. The driver reports the end of DMA on SCI, and `dma_setup_time` includes its
//! time. Programs of GM and of the Elan poll events in their memory. GM's 7 us are "user level" (parameters P029), and
//! P01 says that QsNet communicates at user level. A LANai can interrupt (K98 s13), but only the kernel's TCP/IP uses
//! that. The T3D's stores need no processor at their destination (K98 s16).
//!
//! ```
//! use hotlink_sim::host::{Deposit, Host, Series};
//! let fabric = hotlink_fabric::catalog::load("k98-myrinet").unwrap();
//! let host = Host::new(&fabric).unwrap();
//! let contiguous = host.deposit(&Deposit::new(1 << 20, 1, Series::RemoteDirect));
//! let strided = host.deposit(&Deposit::new(1 << 20, 16, Series::RemoteDirect));
//! assert!(contiguous.time < strided.time);
//! ```

mod deposit;
mod myrinet;
mod queue;
mod sci;
mod t3d;

pub use deposit::{Deposit, DepositTime, Series};
pub use hotlink_memory::{Bus, Memory, WORD};
pub use queue::Completion;

use hotlink_bound::Peak;
use hotlink_event::pipeline::Pipeline;
use hotlink_fabric::ledger::Unfit;
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_fabric::technology::AdapterModel;
use hotlink_fabric::units::{Rate, Time};
use hotlink_memory::{Machine, Parameters};

/// Why a fabric has no host model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// A value is missing or no machine's.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// No family of adapters fits the fabric.
    #[error(
        "{fabric}: no host model for its adapters. Models exist for SCI rings, Myrinet on a host bus and the Cray T3D (k98-sci, k98-clustar, k98-myrinet, k98-t3d, w01-sci-d330)"
    )]
    NoFamily {
        /// The fabric.
        fabric: String,
    },
}

/// The adapter families that have a model.
#[derive(Clone, Debug)]
enum Adapter {
    Sci(sci::Sci),
    Myrinet(myrinet::Myrinet),
    T3d(t3d::T3d),
}

/// One node of a fabric, and its peer just like it.
#[derive(Clone, Debug)]
pub struct Host {
    memory: Memory,
    adapter: Adapter,
    interrupt: Option<Time>,
    /// DMA operations that the adapter holds.
    dma_queue: u64,
}

impl Host {
    /// The host of `fabric`.
    ///
    /// # Errors
    /// A family without a model, or the first missing parameter.
    pub fn new(fabric: &FabricSpec) -> Result<Host, HostError> {
        let parameters = Parameters(fabric);
        let adapter = match fabric.technology.adapter.value {
            AdapterModel::Sci => Adapter::Sci(sci::Sci::new(parameters)?),
            AdapterModel::Myrinet => Adapter::Myrinet(myrinet::Myrinet::new(parameters)?),
            AdapterModel::T3d => Adapter::T3d(t3d::T3d::new(parameters)?),
            AdapterModel::Elan | AdapterModel::Rdma | AdapterModel::Tcp => {
                return Err(HostError::NoFamily { fabric: fabric.name.clone() });
            }
        };
        Ok(Host {
            memory: Memory::of(fabric)?,
            adapter,
            interrupt: parameters.time_if("interrupt_time")?,
            dma_queue: parameters.queue("dma_queue")?,
        })
    }

    /// The same; none where there is no model for the adapters, or where the fabric says nothing of its machines' memory.
    ///
    /// # Errors
    /// It says some of what the model needs, and not enough.
    pub fn stated(fabric: &FabricSpec) -> Result<Option<Host>, Unfit> {
        match Host::new(fabric) {
            Ok(host) => Ok(Some(host)),
            Err(HostError::Unfit(unfit)) if Machine::is_stated(fabric) => Err(unfit),
            Err(_) => Ok(None),
        }
    }

    /// The memory system.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The host bus, if the adapter sits on one.
    pub fn bus(&self) -> Option<Bus> {
        match &self.adapter {
            Adapter::Sci(sci) => Some(sci.bus),
            Adapter::Myrinet(myrinet) => Some(myrinet.bus),
            Adapter::T3d(_) => None,
        }
    }

    /// The same host on another bus; a host without a bus stays as it is.
    #[must_use]
    pub fn with_bus(mut self, bus: Bus) -> Host {
        match &mut self.adapter {
            Adapter::Sci(sci) => sci.bus = bus,
            Adapter::Myrinet(myrinet) => myrinet.bus = bus,
            Adapter::T3d(_) => {}
        }
        self
    }

    /// Time beyond its rate that the adapter's engine takes for each page of memory whose pages lie apart. Myrinet's sends
    /// pages anyway; the T3D has no pages.
    pub fn page_time(&self) -> Time {
        match &self.adapter {
            Adapter::Sci(sci) => sci.page_time(),
            Adapter::Myrinet(_) | Adapter::T3d(_) => Time::ZERO,
        }
    }

    /// Straight into the receiver's memory at `stride` words.
    fn direct(&self, bytes: u64, stride: u64, offset: u64) -> Pipeline {
        match &self.adapter {
            Adapter::Sci(sci) => sci.store(&self.memory, bytes, stride, offset),
            Adapter::Myrinet(myrinet) => myrinet.deposit(&self.memory, bytes, stride, offset),
            Adapter::T3d(t3d) => t3d.store(&self.memory, bytes, stride, offset),
        }
    }

    /// Contiguous into the receiver's memory, by the adapter's engine where it has one.
    fn block(&self, bytes: u64, offset: u64) -> Pipeline {
        match &self.adapter {
            Adapter::Sci(sci) => sci.dma(&self.memory, bytes, offset),
            Adapter::Myrinet(myrinet) => myrinet.deposit(&self.memory, bytes, 1, offset),
            Adapter::T3d(t3d) => t3d.store(&self.memory, bytes, 1, offset),
        }
    }

    /// The processor's loads of remote words; `None` where the adapter has no remote loads.
    fn loads(&self, bytes: u64, stride: u64, offset: u64) -> Option<Pipeline> {
        match &self.adapter {
            Adapter::Sci(sci) => sci.fetch(bytes, stride, offset),
            Adapter::Myrinet(_) => None,
            Adapter::T3d(t3d) => t3d.fetch(&self.memory, bytes, stride),
        }
    }

    /// Words `stride` apart at the sender, which the adapter's processor gathers; `None` where it has none that could.
    fn gathered(&self, bytes: u64, stride: u64) -> Option<Pipeline> {
        match &self.adapter {
            Adapter::Myrinet(myrinet) => Some(myrinet.gather(&self.memory, bytes, stride)),
            Adapter::Sci(_) | Adapter::T3d(_) => None,
        }
    }

    /// Bytes on the wire of strided words over those of a block, in 1/256: SCI sends each word in a packet of its own.
    pub(crate) fn wire_stretch(&self) -> u64 {
        match &self.adapter {
            Adapter::Sci(sci) => sci.wire_stretch(),
            Adapter::Myrinet(_) | Adapter::T3d(_) => 256,
        }
    }

    /// Payload rates in bytes per second that no transfer of `bytes` can exceed, with the resources' names.
    fn peaks(&self, bytes: u64) -> Vec<Peak> {
        match &self.adapter {
            Adapter::Sci(sci) => sci.peaks(),
            Adapter::Myrinet(myrinet) => myrinet.peaks(bytes),
            Adapter::T3d(t3d) => t3d.peaks(),
        }
    }
}

/// A channel between two adapters as packets see it.
#[derive(Clone, Debug)]
struct Channel {
    name: String,
    rate: Rate,
    latency: Time,
}

impl Channel {
    fn new(parameters: Parameters<'_>, role: Role, key: &str) -> Result<Channel, Unfit> {
        let resource = parameters.resource(role, key)?;
        Ok(Channel {
            name: resource.name().to_owned(),
            rate: parameters.gross(role, key)?,
            latency: parameters.latency(role, key)?,
        })
    }
}
