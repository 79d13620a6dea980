//! Words that questions are put in, shared by all faces.

use crate::words::Word;
use hotlink_bench::Spinning;
use hotlink_bench::is::Class;
use hotlink_fabric::routing;
use hotlink_fabric::spec::{Capacities, FabricSpec, RoutingSpec};
use hotlink_fabric::topology::DragonflySpec;
use hotlink_fabric::units::Time;
use hotlink_message::Policy;
use hotlink_sim::flow::{Congestion, Detours};

crate::words! {
    /// Rates of the resources.
    pub enum Rates {
        /// Gross rate x packet efficiency.
        Theoretical = "theoretical",
        /// The measured saturation rate where there is one, else theoretical.
        Measured = "measured",
    }
}

crate::words! {
    /// The unit of computation in a schedule, where its form does not state it.
    pub enum CalcUnit {
        /// Picoseconds.
        Ps = "ps",
        /// Nanoseconds, as in GOAL.
        Ns = "ns",
        /// Microseconds.
        Us = "us",
    }
}

impl From<CalcUnit> for Time {
    fn from(unit: CalcUnit) -> Time {
        match unit {
            CalcUnit::Ps => Time(1),
            CalcUnit::Ns => Time(1_000),
            CalcUnit::Us => Time(1_000_000),
        }
    }
}

impl From<Rates> for Capacities {
    fn from(rates: Rates) -> Capacities {
        match rates {
            Rates::Theoretical => Capacities::Theoretical,
            Rates::Measured => Capacities::Measured,
        }
    }
}

crate::words! {
    /// Which of equal paths a packet takes (default: the technology's).
    pub enum Paths {
        /// The packets of a message take them in turn.
        Packet = "packet",
        /// Each pair of nodes has one, by a hash.
        Flow = "flow",
        /// Each destination has one from any switch, by the switches' tables (D-mod-k).
        Destination = "destination",
        /// The least occupied way on at each switch.
        Adaptive = "adaptive",
    }
}

impl From<Paths> for routing::Paths {
    fn from(paths: Paths) -> routing::Paths {
        match paths {
            Paths::Packet => routing::Paths::Packet,
            Paths::Flow => routing::Paths::Flow,
            Paths::Destination => routing::Paths::Destination,
            Paths::Adaptive => routing::Paths::Adaptive,
        }
    }
}

crate::words! {
    /// How packets cross a network of groups, in place of its own routing.
    pub enum Routes {
        /// On a dragonfly, Dragonfly+, Slim Fly or HyperX: the shortest way, whatever its queues.
        Minimal = "minimal",
        /// On these: by a random other group. A dragonfly of one group, Slim Fly and HyperX take a random other switch;
        /// a Dragonfly+ of one or two groups has none.
        Valiant = "valiant",
        /// On these: either, by the queues of the packet's first switch (UGAL-L).
        Ugal = "ugal" | "ugal-l",
        /// The same by the queues of every link on both ways, an ideal (UGAL-G).
        UgalG = "ugal-g",
    }
}

impl Routes {
    /// The routing whose ways and virtual channels packets have on a fabric.
    pub fn routing(self, spec: &FabricSpec) -> RoutingSpec {
        use RoutingSpec::{DragonflyMinimal, DragonflyValiant, ShortestLanes, ShortestValiant};
        let has_regions = spec.topology.routings().contains(&ShortestValiant);
        match self {
            Routes::Minimal if spec.topology.is::<DragonflySpec>() => DragonflyMinimal,
            _ if spec.topology.is::<DragonflySpec>() => DragonflyValiant,
            Routes::Minimal if has_regions && spec.routing == ShortestValiant => ShortestLanes,
            Routes::Minimal if has_regions => spec.routing,
            _ => ShortestValiant,
        }
    }
    /// Whether packets decide as they go, and by what.
    pub fn detours(self) -> Option<Detours> {
        match self {
            Routes::Minimal | Routes::Valiant => None,
            Routes::Ugal => Some(Detours::Local),
            Routes::UgalG => Some(Detours::Global),
        }
    }
}

/// Which of equal paths packets take, or how they cross a network of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Which of equal paths.
    Equal(Paths),
    /// How they cross a network of groups.
    Routed(Routes),
}

impl Word for Ways {
    const ALL: &'static [Ways] = &[
        Ways::Equal(Paths::Packet),
        Ways::Equal(Paths::Flow),
        Ways::Equal(Paths::Destination),
        Ways::Equal(Paths::Adaptive),
        Ways::Routed(Routes::Minimal),
        Ways::Routed(Routes::Valiant),
        Ways::Routed(Routes::Ugal),
        Ways::Routed(Routes::UgalG),
    ];
    fn word(self) -> &'static str {
        match self {
            Ways::Equal(paths) => paths.word(),
            Ways::Routed(routes) => routes.word(),
        }
    }
    fn meaning(self) -> &'static str {
        match self {
            Ways::Equal(paths) => paths.meaning(),
            Ways::Routed(routes) => routes.meaning(),
        }
    }
    fn aliases(self) -> &'static [&'static str] {
        match self {
            Ways::Equal(paths) => paths.aliases(),
            Ways::Routed(routes) => routes.aliases(),
        }
    }
}

crate::words! {
    /// Ethernet's action when a buffer fills.
    pub enum Ethernet {
        /// Pause the sender (PFC).
        Pause = "pause",
        /// Drop the packet; it is sent again.
        Drop = "drop",
        /// Mark packets on the way, so that sources slow down, and pause (ECN above PFC, coarse).
        Ecn = "ecn",
    }
}

impl From<Ethernet> for Congestion {
    fn from(ethernet: Ethernet) -> Congestion {
        match ethernet {
            Ethernet::Pause => Congestion::Pause,
            Ethernet::Drop => Congestion::Drop,
            Ethernet::Ecn => Congestion::Mark,
        }
    }
}

crate::words! {
    /// The rule by which the packets of a message leave their sender (Ethernet).
    pub enum Transport {
        /// Room in the network alone.
        None = "none",
        /// Marks that slow a source at once (coarse: `--ethernet ecn`).
        Ecn = "ecn",
        /// DCQCN: rates, cut by notifications of marks.
        Dcqcn = "dcqcn",
        /// DCTCP: windows, cut by the share of marks.
        Dctcp = "dctcp",
        /// Swift: windows by delay.
        Swift = "swift",
        /// NSCC of Ultra Ethernet: windows by marks and delay.
        Nscc = "nscc",
        /// HPCC: windows by the queues and rates that switches report.
        Hpcc = "hpcc",
        /// Credits of the receiver (EQDS, RCCC): a packet for each, at its link's rate.
        Credits = "credits",
    }
}

crate::words! {
    /// The owner of a transport's state.
    pub enum Connections {
        /// A queue pair from each node to each other, as RDMA has: messages leave in order and share what it has learnt.
        Pair = "pair",
        /// Each message: it begins anew.
        Message = "message",
    }
}

impl From<Connections> for hotlink_transport::Connections {
    fn from(of: Connections) -> hotlink_transport::Connections {
        match of {
            Connections::Pair => hotlink_transport::Connections::Pair,
            Connections::Message => hotlink_transport::Connections::Message,
        }
    }
}

impl Transport {
    /// Whether it heeds marks of switches with thresholds.
    pub fn heeds_marks(self) -> bool {
        matches!(self, Transport::Dcqcn | Transport::Dctcp | Transport::Nscc)
    }
}

crate::words! {
    /// Which layers are simulated.
    pub enum Stack {
        /// The network alone: packets between adapters.
        Packet = "packet",
        /// A program on ranks: hosts, protocols and network.
        Message = "message",
    }
}

crate::words! {
    /// Memory that messages lie in, measured and simulated.
    pub enum Memory {
        /// The port's preferred memory: segments allocated for communication, where it has them.
        Shared = "shared" | "regular",
        /// Ordinary user memory, which zero-copy transfers register.
        Private = "private" | "registered",
    }
}

crate::words! {
    /// Where in a page ordinary memory begins (W01's attribute `alignment`).
    pub enum Alignment {
        /// At its start.
        Default = "default",
        /// Anywhere: after the words that a heap keeps before a block.
        None = "none",
    }
}

crate::words! {
    /// Which registrations and connections are released when resources run out.
    pub enum Cache {
        /// The one used longest ago.
        Lru = "lru",
        /// The one used least often.
        Lfu = "lfu",
        /// The smallest that is no smaller than the new one, else the largest.
        BestFit = "best-fit",
        /// Any.
        Random = "random",
        /// Nothing is kept: without the cache.
        Immediate = "immediate",
    }
}

impl Cache {
    /// The policy, its random choices from `seed`.
    pub fn policy(self, seed: u64) -> Policy {
        match self {
            Cache::Lru => Policy::Lru,
            Cache::Lfu => Policy::Lfu,
            Cache::BestFit => Policy::BestFit,
            Cache::Random => Policy::Random(seed),
            Cache::Immediate => Policy::Immediate,
        }
    }
}

crate::words! {
    /// Whether long messages move without buffers.
    pub enum ZeroCopy {
        /// Where the port can.
        On = "on",
        /// Through buffers, one copy on the way.
        Off = "off",
    }
}

crate::words! {
    /// The carrier of the messages of a simulation.
    pub enum Via {
        /// The adapter, as its own protocols use it.
        Adapter = "adapter",
        /// The kernel's TCP/IP over the same adapter and network.
        Tcp = "tcp",
        /// The adapters' own processors, which carry a barrier, broadcast or reduction by themselves.
        Nic = "nic",
    }
}

crate::words! {
    /// The computing side while a message is under way.
    pub enum Side {
        /// The rank that sends.
        Sender = "sender",
        /// The rank that receives.
        Receiver = "receiver",
    }
}

crate::words! {
    /// How a rank computes while a message is under way.
    pub enum Spin {
        /// W01's FIXED.
        Fixed = "fixed",
        /// W01's DAXPY.
        Daxpy = "daxpy",
        /// Copies within a block that no cache holds.
        Stress = "stress",
        /// W01's multi-threaded form: DAXPY by several threads at once.
        Threads = "threads",
    }
}

impl Spin {
    /// Threads of the multi-threaded form where no number is given: one more than the rank's own.
    pub const THREADS: u32 = 2;
    /// The computation of a benchmark; `threads`, if given, are those of the multi-threaded form.
    pub fn on(self, threads: Option<u32>) -> Spinning {
        match self {
            Spin::Fixed => Spinning::Fixed,
            Spin::Daxpy => Spinning::Daxpy,
            Spin::Stress => Spinning::Stress,
            Spin::Threads => Spinning::Threads(threads.unwrap_or(Spin::THREADS)),
        }
    }
}

crate::words! {
    /// Which kind of send.
    pub enum SendMode {
        /// Without buffers: the sender waits for the receiver.
        Restricted = "restricted",
        /// At any time, at the price of a copy.
        Postal = "postal",
    }
}

crate::words! {
    /// In what order a node serves the others in an exchange of bare packets.
    pub enum Order {
        /// In step k to the node k places on.
        LinearShift = "linear-shift",
        /// In a random order of its own.
        Random = "random",
    }
}

crate::words! {
    /// A problem class of NPB's Integer Sort.
    pub enum ClassName {
        /// 2^16 keys.
        S = "S",
        /// 2^20 keys.
        W = "W",
        /// 2^23 keys.
        A = "A",
        /// 2^25 keys.
        B = "B",
        /// 2^27 keys.
        C = "C",
    }
}

impl From<ClassName> for Class {
    fn from(name: ClassName) -> Class {
        match name {
            ClassName::S => Class::S,
            ClassName::W => Class::W,
            ClassName::A => Class::A,
            ClassName::B => Class::B,
            ClassName::C => Class::C,
        }
    }
}
