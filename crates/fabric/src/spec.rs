//! The description of a fabric, as a catalog file states it: its topology, its routing, and what each kind of resource
//! can do. [`crate::network::Network`] is this description built for a number of nodes.
//!
//! A `FabricSpec` is plain data. Reading and validating TOML lives in `catalog`.

use crate::barrier::BarrierSpec;
use crate::flow_control::{FlowControl, store_and_forward};
use crate::notes::{Notes, Part, Used};
use crate::parameters::Parameters;
use crate::reduction::ReductionSpec;
use crate::routing::Paths;
use crate::technology::{self, Technology};
pub use crate::terms::{ItemKind, Origin, Role, RoutingSpec, Status, Value};
// Parameters alone: the closed forms read them here, and never see what builds networks of them.
pub use crate::topology::{Clos64, Crossbar, CubeSpec, Extents, SwitchArray, SwitchRing, TopologySpec};
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// What one kind of resource can do.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceSpec {
    /// Name in the field's terms, as results print it: `SCI link`, `B-Link`, `Myrinet link`.
    pub name: String,
    /// Gross rate, one direction (both together when `half_duplex`). Absent: never a limit (latency only).
    pub gross: Option<Value<Rate>>,
    /// Payload rate at saturation, as measured. Replaces gross x efficiency under [`Capacities::Measured`].
    pub measured: Option<Value<Rate>>,
    /// Time of one packet's head through the resource, excluding its serialisation.
    pub latency: Value<Time>,
    /// Both directions share `gross`.
    pub half_duplex: bool,
}

/// Packet format: efficiency = payload / (payload + overhead).
#[derive(Clone, Debug, PartialEq)]
pub struct PacketSpec {
    /// Largest payload of a packet in bytes; `None`: messages of any length are one packet (Myrinet).
    pub payload_max_bytes: Option<Value<u64>>,
    /// Overhead bytes of every packet on every resource.
    pub overhead_bytes: Value<f64>,
    /// Overhead bytes for each switch on the route (Myrinet's route bytes).
    pub overhead_per_hop_bytes: Value<f64>,
}

impl PacketSpec {
    /// Packets that a message of `message_bytes` becomes (an empty message is one packet).
    pub fn packets(&self, message_bytes: u64) -> u64 {
        match &self.payload_max_bytes {
            Some(limit) => message_bytes.div_ceil(limit.value.max(1)).max(1),
            None => 1,
        }
    }

    /// Share of a resource's rate left for payload when messages of `message_bytes` pass `switches` switches: payload /
    /// (payload + packets x overhead). `switches` is a mean, so it may be fractional. SCI: 128 / 192 (M02 section 3.1).
    /// Myrinet: M / (M + h + 6) with h + 1 switches (M02 Eq. 9).
    pub fn efficiency(&self, message_bytes: u64, switches: f64) -> f64 {
        let per_packet = self.overhead_bytes.value + self.overhead_per_hop_bytes.value * switches;
        let overhead = self.packets(message_bytes) as f64 * per_packet;
        let payload = message_bytes as f64;
        if payload + overhead > 0.0 { payload / (payload + overhead) } else { 1.0 }
    }

    /// The most that [`PacketSpec::efficiency`] is for any message: all packets full; 1 where a message is one packet.
    pub fn full_efficiency(&self, switches: f64) -> f64 {
        let full = self.payload_max_bytes.as_ref().map_or(0, |limit| limit.value);
        if full > 0 { self.efficiency(full, switches) } else { 1.0 }
    }
}

/// A resource as an engine asks for it: each number that is read is noted as used ([`FabricSpec::used`]).
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    role: Role,
    stated: &'a ResourceSpec,
    notes: &'a Notes,
}

impl<'a> Asked<'a> {
    /// As [`ResourceSpec::name`].
    pub fn name(&self) -> &'a str {
        &self.stated.name
    }

    /// As [`ResourceSpec::half_duplex`].
    pub fn half_duplex(&self) -> bool {
        self.stated.half_duplex
    }

    /// Whether it has any rate.
    pub fn is_rated(&self) -> bool {
        self.stated.gross.is_some() || self.stated.measured.is_some()
    }

    /// As [`ResourceSpec::gross`].
    pub fn gross(&self) -> Option<&'a Value<Rate>> {
        self.notes.part(Part::Gross(self.role));
        self.stated.gross.as_ref()
    }

    /// As [`ResourceSpec::measured`].
    pub fn measured(&self) -> Option<&'a Value<Rate>> {
        self.notes.part(Part::Measured(self.role));
        self.stated.measured.as_ref()
    }

    /// As [`ResourceSpec::latency`].
    pub fn latency(&self) -> &'a Value<Time> {
        self.notes.part(Part::Latency(self.role));
        &self.stated.latency
    }

    /// Payload rate in bytes per second under `capacities`, one direction (both together when half duplex). It is the
    /// measured rate where asked for and known, else gross x `efficiency`. `None`: never a limit.
    pub fn payload_rate(&self, capacities: Capacities, efficiency: f64) -> Option<f64> {
        let measured = if capacities == Capacities::Measured { self.measured() } else { None };
        let measured = measured.map(|rate| rate.value.0 as f64);
        measured.or_else(|| self.gross().map(|gross| gross.value.0 as f64 * efficiency))
    }
}

/// Which capacities a model uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capacities {
    /// Gross rate x packet efficiency.
    Theoretical,
    /// The measured saturation rate where there is one, else the theoretical rate.
    Measured,
}

/// One fabric of the catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricSpec {
    /// Key: the name on the command line.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Shape.
    pub topology: TopologySpec,
    /// Source of the topology's counts.
    pub topology_origin: Origin,
    /// Routing.
    pub routing: RoutingSpec,
    /// Resources by role.
    pub resources: BTreeMap<Role, ResourceSpec>,
    /// Packet format.
    pub packet: PacketSpec,
    /// What the network is: the record behind everything that the file does not state.
    pub technology: &'static Technology,
    /// Flow control: the technology's.
    pub flow_control: &'static FlowControl,
    /// Which of equal paths a packet takes: the technology's, unless the file states another.
    pub paths: Paths,
    /// Parameters of hosts and adapters that the simulator needs, by the names of
    /// [`crate::catalog::vocabulary`], in base units (bytes per second, picoseconds, bytes, plain numbers).
    pub parameters: Parameters,
    /// Least and greatest plausible value by dotted key (`resource.link.latency`, `parameter.copy_rate`), in base units,
    /// of the values that state an uncertainty.
    pub ranges: BTreeMap<String, [f64; 2]>,
    /// A barrier network next to the data network.
    pub barrier: Option<BarrierSpec>,
    /// A network next to the data network that combines data.
    pub reduction: Option<ReductionSpec>,
    /// Which price list and which of its items, if the fabric has prices.
    pub prices: Option<PriceRef>,
    /// Of a variant with another switch than its fabric: the number of its ports, where no price list has such a switch.
    pub assumed_ports: Option<Used>,
    /// Of a variant among several: the keys that others have and this fabric has not, each with the reason.
    pub unchanged: BTreeMap<String, String>,
}

/// The price list of a fabric and the item of that list that each kind of thing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceRef {
    /// Name of a file in `catalog/prices`, or a path.
    pub list: String,
    /// Item of the list by kind; a kind without item costs nothing of its own (a NIC's price may hold its cable).
    pub items: BTreeMap<ItemKind, String>,
    /// Pieces that are bought as another item.
    pub short: Option<Short>,
    /// Of a variant: what it buys in place of its fabric's items.
    pub varied: Option<Varied>,
}

/// What a variant buys that its fabric does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varied {
    /// The part that its links are of.
    pub link: Option<String>,
    /// Whether that is another part than its fabric's, whose items are then no pieces of it.
    pub is_relinked: bool,
    /// Ports of its fabric's switches.
    pub had: Option<u32>,
    /// Ports that its own need, if it buys switches of its own.
    pub ports: Option<u32>,
}

/// The short pieces of some kinds of cable: this many of the kind, or all if there are fewer, are this item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short {
    /// Item of the list.
    pub item: String,
    /// Pieces by kind.
    pub pieces: BTreeMap<ItemKind, u32>,
}

impl PriceRef {
    /// Every item that is bought.
    pub fn bought(&self) -> impl Iterator<Item = &String> {
        self.items.values().chain(self.short.iter().map(|short| &short.item))
    }

    /// What `count` pieces of a kind are bought as; nothing where the kind has no price of its own.
    pub fn of(&self, kind: ItemKind, count: u64) -> Vec<(&String, u64)> {
        let Some(item) = self.items.get(&kind) else { return Vec::new() };
        let short = self.short.iter().filter_map(|short| Some((&short.item, u64::from(*short.pieces.get(&kind)?))));
        let short = short.map(|(item, pieces)| (item, pieces.min(count)));
        let mut all: Vec<(&String, u64)> = short.collect();
        all.push((item, count - all.iter().map(|(_, pieces)| pieces).sum::<u64>()));
        all.retain(|(_, pieces)| *pieces > 0);
        all
    }
}

impl FabricSpec {
    /// What is known of a role. Links between switches, groups or enclosures that the description does not distinguish
    /// are like the next plainer kind of link.
    pub fn resource(&self, role: Role) -> Option<Asked<'_>> {
        let plainer = match role {
            Role::GlobalLink => Some(Role::SwitchLink),
            Role::SwitchLink => Some(Role::Link),
            _ => None,
        };
        self.own_resource(role).or_else(|| self.resource(plainer?))
    }

    /// What is stated of just this role.
    pub fn own_resource(&self, role: Role) -> Option<Asked<'_>> {
        self.resources.get(&role).map(|stated| Asked { role, stated, notes: self.parameters.notes() })
    }

    /// The packet format, for an engine that uses it.
    pub fn packet(&self) -> &PacketSpec {
        self.parameters.notes().part(Part::Packet);
        &self.packet
    }

    /// The barrier network, for an engine that uses it.
    pub fn barrier(&self) -> Option<&BarrierSpec> {
        self.parameters.notes().part(Part::Barrier);
        self.barrier.as_ref()
    }

    /// The reduction network, for an engine that uses it.
    pub fn reduction(&self) -> Option<&ReductionSpec> {
        self.parameters.notes().part(Part::Reduction);
        self.reduction.as_ref()
    }

    /// The same with another technology's record: its flow control and paths.
    #[must_use]
    pub fn of_technology(self, technology: &'static Technology) -> FabricSpec {
        FabricSpec { technology, flow_control: technology.flow_control.value, paths: technology.paths.value, ..self }
    }

    /// A fabric of this shape whose resources have no capacity: a start for tests and importers.
    pub fn bare(name: &str, topology: TopologySpec, routing: RoutingSpec) -> FabricSpec {
        let none = |value, unit: &str| Value {
            value,
            unit: unit.to_owned(),
            source: "none".to_owned(),
            status: Status::Estimated,
        };
        FabricSpec {
            name: name.to_owned(),
            title: name.to_owned(),
            topology,
            topology_origin: Origin { source: "none".to_owned(), status: Status::Estimated },
            routing,
            resources: BTreeMap::new(),
            packet: PacketSpec {
                payload_max_bytes: None,
                overhead_bytes: none(0.0, "B"),
                overhead_per_hop_bytes: none(0.0, "B"),
            },
            technology: technology::named("ideal").expect("in the registry"),
            flow_control: &store_and_forward::RECORD,
            paths: Paths::Packet,
            parameters: Parameters::default(),
            ranges: BTreeMap::new(),
            barrier: None,
            reduction: None,
            prices: None,
            assumed_ports: None,
            unchanged: BTreeMap::new(),
        }
    }
}
