//! QsNet's collectives (P01): by hardware, by the Elan adapters' threads, and by the hosts' puts.
//!
//! - *Hardware barrier*: node 0's Elan broadcasts a network conditional to all other Elans. Each tests a word that its
//!   host has set on arrival, and the answers are combined to one on the return path. If all have arrived, a second
//!   broadcast sets the word that every host polls. If not, the Elan repeats the conditional after a pause that doubles
//!   up to a limit.
//! - *Hardware broadcast*: one DMA whose packets the switches copy ([`crate::net`]); each is acknowledged by all.
//! - *Tree*: a quaternary tree of puts, gathered to node 0 and back; every host on it polls and forwards. A broadcast runs
//!   down a tree of the degree, and in chunks of the size, that `Shape::best` finds quickest.
//! - *NIC*: the same trees, forwarded by the Elans' threads; the hosts only start it and see its end.
//!
//! What hosts put, and all data, goes through the DMA queue that other programs fill too (`dma`), and its addresses are
//! translated (`translation`). What threads send does not wait there. Background traffic is therefore a closed loop. A
//! node has one DMA under way and one of its packets in the network, for any number of programs that want to send.
//!
//! All of them run on the packet network with the same background traffic. Every barrier is checked: nobody leaves
//! before all have arrived. Parameters are the catalog's ([`Elan::of`]). The network itself is [`crate::net`]'s:
//! virtual channels, adaptive ascent, 320-byte packets, acknowledgements, replication and its freedom from deadlock.

mod dma;
mod hardware;
mod machine;
mod software;
mod translation;

pub use machine::Machine;
pub use software::Shape;
pub use translation::{Lookups, Translation};

use crate::error::SimError;
use crate::flow::Settings;
use crate::plan::Plan;
use crate::port::Split;
use crate::workload::Run;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_port::Busy;
use hotlink_port::background::BackgroundSpec;

/// What carries a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Broadcast and combined answers of the switches.
    Hardware,
    /// A tree of puts that the hosts forward.
    Tree,
    /// A tree of puts that the adapters forward.
    Nic,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 3] = [Algorithm::Hardware, Algorithm::Tree, Algorithm::Nic];
    /// Its name on options and in records.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Hardware => "hardware",
            Algorithm::Tree => "tree",
            Algorithm::Nic => "nic",
        }
    }
}

/// Adapter and host: what the network does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elan {
    /// The host posts a put.
    pub send: Time,
    /// The host sees that one has arrived.
    pub receive: Time,
    /// The Elan's processor handles an event.
    pub thread: Time,
    /// A store of the host reaches the adapter, or one of the adapter the host.
    pub bus: Time,
    /// Between the adapter's link and its bus.
    pub adapter: Time,
    /// From the arrival of a packet's head to its acknowledgement.
    pub acknowledge: Time,
    /// Packets of a DMA in the network without acknowledgement.
    pub unacknowledged: u16,
    /// Address translation.
    pub translation: Translation,
    /// First pause after a failed network conditional.
    pub retry: Time,
    /// Payload of a full packet.
    pub packet_bytes: u32,
    /// Overhead of each packet, in addition to its payload.
    pub overhead_bytes: u32,
}

impl Elan {
    /// Parameters of a fabric's part of the catalog; `None` if it is no QsNet.
    pub fn of(spec: &FabricSpec) -> Option<Elan> {
        let value = |name: &str| spec.parameters.get(name).map(|parameter| parameter.value);
        let time = |name: &str| value(name).map(|ps| Time(ps.round() as u64));
        Some(Elan {
            send: time("put_overhead_send")?,
            receive: time("put_overhead_recv")?,
            thread: time("nic_thread_time")?,
            bus: spec.resource(hotlink_fabric::spec::Role::HostBus)?.latency().value,
            adapter: spec.resource(hotlink_fabric::spec::Role::Nic)?.latency().value,
            acknowledge: time("acknowledge_time")?,
            unacknowledged: value("packets_unacknowledged")? as u16,
            translation: Translation::of(spec)?,
            retry: time("conditional_retry")?,
            packet_bytes: spec.packet().payload_max_bytes.as_ref()?.value as u32,
            overhead_bytes: spec.packet().overhead_bytes.value.ceil() as u32,
        })
    }

    /// The parts of the time of an empty put between neighbours.
    pub fn split(&self, plan: &Plan<'_>) -> Split {
        let inner = plan.neighbour_ps(true);
        let adapters = plan.hosts_ps(true).min(inner);
        Split {
            post: self.send,
            bus: Time(plan.neighbour_ps(false) - inner),
            adapter: Time(adapters),
            wire: Time(inner - adapters),
            poll: self.receive,
        }
    }

    /// Settings of the network as the Elan uses it: one DMA after another. A DMA has a fixed number of packets in the
    /// network and one prefetched from memory. The adapter has room for two packets.
    pub fn settings(&self, base: &Settings) -> Settings {
        let packet = base.packet_bytes.unwrap_or(self.packet_bytes) + self.overhead_bytes;
        Settings {
            streams: 1,
            outstanding: self.unacknowledged + 1,
            unacknowledged: self.unacknowledged,
            acknowledge_ps: self.acknowledge.0,
            nic_buffer_bytes: 2 * packet,
            ..base.clone()
        }
    }
}

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collective {
    /// What carries it.
    pub algorithm: Algorithm,
    /// Nodes 0 to `nodes - 1`.
    pub nodes: u32,
    /// Bytes of a broadcast from node 0; `None`: a barrier.
    pub bytes: Option<u64>,
    /// How often, one after another.
    pub samples: u32,
    /// Virtual time after which no further sample begins.
    pub limit: Option<Time>,
    /// Background traffic, on all nodes.
    pub background: Option<BackgroundSpec>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// From the common start to the last node's end, sample by sample.
    pub latencies: Vec<Time>,
    /// For a broadcast, the time until the barrier by the same algorithm is also over. It frees the buffers (P01's
    /// programs are synchronised by one).
    pub synchronised: Vec<Time>,
    /// The network.
    pub run: Run,
    /// What each rank's processor and its adapter's threads worked, in the whole run.
    pub busy: Vec<Busy>,
    /// Barriers seen to be safe.
    pub barriers: u64,
    /// Network conditionals that failed and were tried again.
    pub retries: u64,
    /// Pages looked up by DMAs, of the collective and of the background.
    pub lookups: Lookups,
    /// Degree and chunk of a broadcast's tree.
    pub shape: Option<Shape>,
    /// Why the tree of puts took the hardware's place, if it did.
    pub fallback: Option<&'static str>,
}

/// Runs a collective on the first nodes of `plan`, made with the [`Elan::settings`] of `elan`.
///
/// # Errors
/// As [`run_among`].
pub fn run(plan: &Plan<'_>, settings: &Settings, elan: Elan, what: &Collective) -> Result<Outcome, SimError> {
    run_among(plan, settings, elan, what, &(0..what.nodes).collect::<Vec<_>>())
}

/// Runs a collective on some nodes of `plan`, in ascending order; the first is its root. The switches copy packets to
/// contiguous nodes only, in a network without faults. Elsewhere the library falls back to its tree of puts, and so
/// does this.
///
/// # Errors
/// Fewer than two nodes, not ascending, or beyond the existing ones; a collective that does not end; and the errors of
/// [`crate::Net::advance`].
pub fn run_among(
    plan: &Plan<'_>,
    settings: &Settings,
    elan: Elan,
    what: &Collective,
    members: &[u32],
) -> Result<Outcome, SimError> {
    let most = plan.fabric.nodes();
    let ascending = members.windows(2).all(|pair| pair[0] < pair[1]);
    let [first, .., last] = *members else {
        return Err(SimError::Input(format!("{} nodes: a collective needs 2 or more", members.len())));
    };
    if !ascending || last >= most {
        return Err(SimError::Input(format!("nodes up to {last}: 0 to {} are allowed, ascending", most - 1)));
    }
    let fallback = match what.algorithm {
        Algorithm::Hardware if (last - first) as usize + 1 > members.len() => Some("the nodes are not contiguous"),
        Algorithm::Hardware if !settings.faults.is_empty() => Some("the network is not whole"),
        _ => None,
    };
    let algorithm = if fallback.is_some() { Algorithm::Tree } else { what.algorithm };
    let what = Collective { algorithm, nodes: members.len() as u32, ..*what };
    let outcome = Machine::new(plan, settings, elan, &what, members)?.run()?;
    Ok(Outcome { fallback, ..outcome })
}
