//! What bandwidth no collective of a GPU cluster can exceed, by algorithm, protocol and level.
//!
//! Each algorithm moves so many times the collective's bytes over the busiest resource of a level. That resource's rate
//! divided by this factor is the bound of the level. The least of these is the algorithm's bound. Bandwidths are
//! nccl-tests' *bus bandwidth*: bytes over time, times a factor that makes the collectives comparable (`2 (n-1)/n` for
//! allreduce). Latencies, kernels and overlap are left out: each can only make a collective slower.

pub use hotlink_schedule::Protocol;
use hotlink_schedule::collective::halves;

/// How NCCL names its ways to do a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// Rings through all GPUs.
    Ring,
    /// Two binary trees between hosts.
    Tree,
    /// NVLink SHARP within the domain; between domains the network's switches combine.
    Nvls,
    /// NVLink SHARP within the domain, two binary trees between domains.
    NvlsTree,
    /// Combined by the network's switches between hosts, by the GPUs within.
    CollNet,
    /// Messages between pairs: all-to-all, send and receive.
    Pairs,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 6] =
        [Algorithm::Ring, Algorithm::Tree, Algorithm::Nvls, Algorithm::NvlsTree, Algorithm::CollNet, Algorithm::Pairs];
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
            Algorithm::Tree => "tree",
            Algorithm::Nvls => "nvls",
            Algorithm::NvlsTree => "nvls-tree",
            Algorithm::CollNet => "collnet",
            Algorithm::Pairs => "pairs",
        }
    }
    /// Whether switches combine data, of which NCCL has kernels with Simple alone.
    fn is_by_switches(self) -> bool {
        matches!(self, Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::CollNet)
    }
    /// By name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// A level of a cluster, and the most bus bandwidth that it allows: MB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Its name in records.
    pub name: &'static str,
    /// The most.
    pub mbps: f64,
}

/// A GPU cluster's levels: rates of one GPU's share of each, one way, in MB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// GPUs.
    pub gpus: u32,
    /// GPUs of a domain; of the fullest one where they differ.
    pub domain: u32,
    /// A GPU's links into its domain, all together.
    pub scale_up: Option<f64>,
    /// What these links are, in records.
    pub scale_up_is: &'static str,
    /// What joins a part of a host's GPUs with all others, where the scale-up links do not.
    pub part: Option<Part>,
    /// Between a GPU and its NIC.
    pub pcie: Option<f64>,
    /// A NIC and its cable.
    pub nic: Option<f64>,
    /// The NICs that one GPU may use by itself, where others use none.
    pub nic_alone: Option<f64>,
    /// A GPU's share of its leaf's path up; `None` where one switch holds a rail.
    pub spine: Option<f64>,
    /// Whether the scale-up switches combine data, and whether the network's do.
    pub reduces: [bool; 2],
    /// The share of the scale-up links' rate at which their switches combine and copy; `None`: only the links bound
    /// them.
    pub switch_share: Option<f64>,
    /// At which a switch of the network combines what a GPU's NIC sends, where that is known.
    pub combining: Option<f64>,
}

/// GPUs that scale-up links join with each other, and not with the others: what they exchange with these passes PCIe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// How many.
    pub gpus: u32,
    /// The PCIe of all of them, one way, in MB/s.
    pub mbps: f64,
}

/// GPUs' own links, that a machine for them has.
pub const SCALE_UP: &str = "scale-up network";
/// PCIe in place of them.
pub const BETWEEN_GPUS: &str = "PCIe between GPUs";
/// Between a GPU and its NIC.
pub const PCIE: &str = "PCIe";
/// A NIC and its cable.
pub const NIC: &str = "NIC";
/// The links from leaves to spines.
pub const SPINE: &str = "spine";

impl Cluster {
    /// Domains, as many as if all were as full as the fullest: no host has less beyond it than that one.
    fn domains(&self) -> f64 {
        f64::from(self.gpus) / f64::from(self.domain)
    }

    /// The same as if switches combined at all of their links' rate. Their own rate is what others measured, which a
    /// result may beat.
    pub fn of_links(self) -> Cluster {
        Cluster { switch_share: None, combining: None, ..self }
    }

    /// Levels of a collective by an algorithm, the least first; `None` where it is none of the collective's or the
    /// machine cannot do it.
    pub fn levels(&self, collective: &str, algorithm: Algorithm, protocol: Protocol) -> Option<Vec<Level>> {
        if algorithm.is_by_switches() && protocol != Protocol::Simple {
            return None;
        }
        self.levels_of(self.moved(collective, algorithm)?, collective, algorithm, protocol)
    }

    /// The most bus bandwidth of any way to do a collective. Between hosts an allreduce by rail, which NCCL leaves to
    /// plans of others, moves the least.
    pub fn largest(&self, collective: &str) -> Option<f64> {
        let (n, d, h) = (f64::from(self.gpus), f64::from(self.domain), self.domains());
        let by_rail = || {
            let scale_up = if self.reduces[0] { 1.0 + 1.0 / d } else { 2.0 * (d - 1.0) / d };
            let (nic, factor) = (2.0 * (h - 1.0) / h / d, 2.0 * (n - 1.0) / n);
            let moved = Moved { scale_up: if d > 1.0 { scale_up } else { 0.0 }, nic, spine: 0.0, factor };
            self.levels_of(moved, collective, Algorithm::Tree, Protocol::Simple)
        };
        let by_rail = (collective == "allreduce" && h > 1.0).then(by_rail).flatten();
        let all = self.all(collective, Protocol::Simple).into_iter().map(|(_, levels)| levels);
        all.chain(by_rail).map(|levels| levels[0].mbps).reduce(f64::max)
    }

    fn levels_of(
        &self,
        moved: Moved,
        collective: &str,
        algorithm: Algorithm,
        protocol: Protocol,
    ) -> Option<Vec<Level>> {
        let Moved { scale_up, nic, spine, factor } = moved;
        let level = |name: &'static str, rate: Option<f64>, times: f64| {
            let mbps = factor * rate.filter(|_| times > 0.0)? / times * protocol.share();
            Some(Level { name, mbps })
        };
        let shared = self.switch_share.filter(|_| matches!(algorithm, Algorithm::Nvls | Algorithm::NvlsTree));
        let by_switch = |rate: f64| shared.map_or(rate, |share| rate * share);
        let by_network = matches!(algorithm, Algorithm::Nvls | Algorithm::CollNet) && self.reduces[1];
        // All that a rail's adapters send passes its leaves; of an allgather, each of them has a part of it.
        let is_whole = self.domains() > 1.0 && collective != "allgather";
        let combined = if is_whole { 1.0 / f64::from(self.domain) } else { 0.0 };
        // What a root does not give by its scale-up links it gives by the NICs that it may use.
        let beside = self.nic_alone.filter(|_| collective == "scatter" && nic > 0.0).unwrap_or(0.0);
        let found = [
            level(self.scale_up_is, self.scale_up.map(by_switch).map(|rate| rate + beside), scale_up),
            self.part.and_then(|part| {
                level(BETWEEN_GPUS, Some(part.mbps), self.out_of_part(collective, algorithm, part.gpus, factor))
            }),
            level(PCIE, self.pcie, nic),
            // A root that gives may send by the NICs of its domain, a root that takes has those of its own.
            level(NIC, if collective == "gather" { self.nic_alone } else { self.nic }, nic),
            level(SPINE, self.spine, spine),
            level("network reduction", self.combining.filter(|_| by_network), combined),
        ];
        let mut levels: Vec<Level> = found.into_iter().flatten().collect();
        levels.sort_by(|one, other| one.mbps.total_cmp(&other.mbps));
        (!levels.is_empty()).then_some(levels)
    }

    /// Bytes that some of the GPUs must send the others, or take from them, for each byte of the collective.
    fn out_of_part(&self, collective: &str, algorithm: Algorithm, part: u32, factor: f64) -> f64 {
        let (n, k) = (f64::from(self.gpus), f64::from(part.min(self.gpus)));
        match collective {
            // A ring enters and leaves it at least once, with all that a hop carries.
            _ if algorithm == Algorithm::Ring => factor,
            "allreduce" | "bcast" | "reduce" | "sendrecv" => 1.0,
            "alltoall" => k * (n - k) / n,
            "gather" | "scatter" => k.min(n - k) / n,
            // Of the parts that a GPU gets, those of the others.
            "hypercube" => (n - k) / (n - 1.0),
            _ => (n - k) / n,
        }
    }

    /// Bytes over the busiest resource of each level for each byte of the collective.
    fn moved(&self, collective: &str, algorithm: Algorithm) -> Option<Moved> {
        let (n, d, h) = (f64::from(self.gpus), f64::from(self.domain), self.domains());
        let others = (n - 1.0) / n;
        let between = if h > 1.0 { 1.0 } else { 0.0 };
        let moved = |scale_up: f64, nic: f64, factor: f64| {
            let inside = if d > 1.0 { scale_up } else { 0.0 };
            Some(Moved { scale_up: inside, nic: nic * between, spine: nic * between, factor })
        };
        // A ring leaves its leaf once; so do trees, but for a few hosts. Only what goes to all hosts fills the path up.
        let on_leaf = |moved: Option<Moved>| moved.map(|moved| Moved { spine: 0.0, ..moved });
        // Where a ring leaves the domain, one of its hops from GPU to GPU there is none of the scale-up network's.
        let hops = if h > 1.0 { (d - 1.0) / d } else { 1.0 };
        let gather = ["allgather", "reduce-scatter"].contains(&collective);
        let nvls = self.reduces[0] && (h <= 1.0 || self.reduces[1]);
        // Of a host inside a tree, for each byte.
        let busiest = f64::from(halves(h as u32)) / 2.0;
        match (collective, algorithm) {
            ("allreduce", Algorithm::Ring) => on_leaf(moved(2.0 * others * hops, 2.0 * others / d, 2.0 * others)),
            ("allreduce", Algorithm::Tree) => on_leaf(moved(2.0 * (d - 1.0) / d, busiest / d, 2.0 * others)),
            // Across hosts NCCL runs NVLS only where the network combines, too: a host's block goes up once and comes back.
            ("allreduce", Algorithm::Nvls) if nvls => on_leaf(moved(1.0 + 1.0 / d, 1.0 / d, 2.0 * others)),
            ("allreduce", Algorithm::NvlsTree) if self.reduces[0] && h > 1.0 => {
                on_leaf(moved(1.0 + 1.0 / d, busiest / d, 2.0 * others))
            }
            ("allreduce", Algorithm::CollNet) if self.reduces[1] => {
                // Within the domains the GPUs combine: what its switches can do is NVLS's.
                on_leaf(moved(2.0 * (d - 1.0) / d, 1.0 / d, 2.0 * others))
            }
            (_, Algorithm::Ring) if gather => on_leaf(moved(others * hops, others / d, others)),
            (_, Algorithm::Nvls) if gather && nvls => on_leaf(moved(1.0, (h - 1.0) / h / d, others)),
            (_, Algorithm::CollNet) if gather && self.reduces[1] => {
                on_leaf(moved((d - 1.0) / d, (h - 1.0) / h / d, others))
            }
            ("bcast" | "reduce", Algorithm::Ring) => on_leaf(moved(hops, 1.0 / d, 1.0)),
            ("alltoall", Algorithm::Pairs) => moved((d - 1.0) / d, (h - 1.0) / h, others),
            ("sendrecv", Algorithm::Pairs) => on_leaf(moved(1.0, 1.0, 1.0)),
            // GPUs whose numbers differ in one bit exchange all that they have, from the lowest bit up. A domain of a power
            // of two holds its first steps whole, others some of them. It counts the n - 1 parts that each GPU sends.
            ("hypercube", Algorithm::Pairs) if self.gpus.is_power_of_two() => {
                let inside = if self.domain.is_power_of_two() { (d - 1.0) / (n - 1.0) } else { 0.0 };
                let all_inside = f64::from(self.domain.next_power_of_two());
                on_leaf(moved(inside, (n - all_inside).max(0.0) / (n - 1.0), 1.0))
            }
            // All of other hosts comes by the root's own PCIe, and the NICs that it may use.
            ("gather", Algorithm::Pairs) => on_leaf(moved((d - 1.0) / n, (n - d) / n, others)),
            // It may leave by the NICs of all GPUs of the root's domain, to which the scale-up links carry it.
            ("scatter", Algorithm::Pairs) => on_leaf(moved(others, (n - d) / n / d, others)),
            _ => None,
        }
    }

    /// Whether a bound is known for a collective, where the rates are.
    pub fn knows(&self, collective: &str) -> bool {
        Algorithm::ALL.into_iter().any(|algorithm| self.bus_factor(collective, algorithm).is_some())
    }

    /// Bus bandwidth over bandwidth, as nccl-tests counts.
    pub fn bus_factor(&self, collective: &str, algorithm: Algorithm) -> Option<f64> {
        self.moved(collective, algorithm).map(|moved| moved.factor)
    }

    /// The levels of every algorithm that the machine has for a collective.
    pub fn all(&self, collective: &str, protocol: Protocol) -> Vec<(Algorithm, Vec<Level>)> {
        let of = |algorithm| Some((algorithm, self.levels(collective, algorithm, protocol)?));
        Algorithm::ALL.into_iter().filter_map(of).collect()
    }
}

/// What a level's bus bandwidth makes of `bytes`: the least time in microseconds; `factor` is bus bandwidth over
/// bandwidth.
pub fn least_us(level: &Level, factor: f64, bytes: u64) -> f64 {
    factor * bytes as f64 / level.mbps
}

/// Bytes over the busiest resource of each level, and bus bandwidth over bandwidth.
struct Moved {
    scale_up: f64,
    nic: f64,
    spine: f64,
    factor: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hgx(gpus: u32) -> Cluster {
        let domain = 8.min(gpus);
        let (scale_up, pcie, nic) = (Some(450_000.0), Some(63_000.0), Some(50_000.0));
        let (scale_up_is, part) = (SCALE_UP, None);
        let (reduces, switch_share, combining) = ([true, false], None, None);
        let (spine, nic_alone) = (None, nic);
        Cluster {
            gpus,
            domain,
            scale_up,
            scale_up_is,
            part,
            pcie,
            nic,
            nic_alone,
            spine,
            reduces,
            switch_share,
            combining,
        }
    }

    fn first(cluster: &Cluster, collective: &str, algorithm: Algorithm) -> Level {
        cluster.levels(collective, algorithm, Protocol::Simple).unwrap()[0]
    }

    #[test]
    fn a_ring_across_hosts_is_bound_by_the_eight_nics_of_a_host() {
        let ring = first(&hgx(32), "allreduce", Algorithm::Ring);
        assert_eq!((ring.name, ring.mbps.round()), ("NIC", 400_000.0));
        for collective in ["allgather", "reduce-scatter", "bcast"] {
            assert_eq!(first(&hgx(32), collective, Algorithm::Ring).mbps.round(), 400_000.0, "{collective}");
        }
        let inside = first(&hgx(8), "allreduce", Algorithm::Ring);
        assert_eq!((inside.name, inside.mbps.round()), ("scale-up network", 450_000.0));
        // Across hosts seven of eight hops from GPU to GPU stay inside.
        let fast = Cluster { pcie: None, nic: None, ..hgx(32) };
        let ring = first(&fast, "allreduce", Algorithm::Ring);
        assert_eq!((ring.name, ring.mbps.round()), ("scale-up network", (450_000.0f64 * 8.0 / 7.0).round()));
    }

    /// Four GPUs in two pairs, a PCIe link of 31.5 GB/s for each: a ring leaves each pair once, by both links of it.
    #[test]
    fn gpus_that_no_links_join_are_bound_by_what_is_between_them() {
        let part = Some(Part { gpus: 2, mbps: 63_000.0 });
        let pairs = Cluster { scale_up: Some(300_000.0), part, ..hgx(4) };
        let all = |collective, algorithm| {
            let level = first(&pairs, collective, algorithm);
            (level.name, level.mbps.round())
        };
        assert_eq!(all("allreduce", Algorithm::Ring), (BETWEEN_GPUS, 63_000.0));
        assert_eq!(all("allgather", Algorithm::Ring), (BETWEEN_GPUS, 63_000.0));
        // Any way to reduce takes all bytes over the cut once each way: 1.5 of bus bandwidth for each.
        assert_eq!(all("allreduce", Algorithm::Tree), (BETWEEN_GPUS, 94_500.0));
        // Two GPUs have half of their bytes for two others: 0.75 over 1.
        assert_eq!(all("alltoall", Algorithm::Pairs), (BETWEEN_GPUS, 47_250.0));
    }

    #[test]
    fn the_switch_takes_each_byte_once() {
        // Eight GPUs: 2 x 7/8 of the bytes in the time of 1 + 1/8 of them.
        let nvls = first(&hgx(8), "allreduce", Algorithm::Nvls);
        assert_eq!((nvls.name, nvls.mbps.round()), ("scale-up network", 700_000.0));
        let shared = Cluster { switch_share: Some(0.85), ..hgx(8) };
        assert_eq!(first(&shared, "allreduce", Algorithm::Nvls).mbps.round(), 595_000.0);
        assert_eq!(first(&shared, "allreduce", Algorithm::Ring).mbps.round(), 450_000.0);
        let none = Cluster { reduces: [false; 2], ..hgx(8) };
        assert_eq!(none.levels("allreduce", Algorithm::Nvls, Protocol::Simple), None);
    }

    #[test]
    fn where_both_switches_combine_an_adapter_carries_its_block_once() {
        let both = Cluster { reduces: [true; 2], nic: Some(48_000.0), ..hgx(32) };
        let nvls = first(&both, "allreduce", Algorithm::Nvls);
        // Eight adapters carry the bytes once each way, which count 2 x 31/32 times.
        assert_eq!((nvls.name, nvls.mbps.round()), ("NIC", 744_000.0));
        // The leaf of each rail combines an eighth of the bytes.
        let slow = Cluster { combining: Some(20_000.0), ..both };
        for algorithm in [Algorithm::Nvls, Algorithm::CollNet] {
            let level = first(&slow, "allreduce", algorithm);
            assert_eq!((level.name, level.mbps.round()), ("network reduction", 310_000.0));
        }
        assert_eq!(first(&slow, "allgather", Algorithm::CollNet).name, "NIC");
        assert_eq!(first(&Cluster { gpus: 8, ..slow }, "allreduce", Algorithm::Nvls).name, "scale-up network");
        assert_eq!(first(&slow, "allreduce", Algorithm::Ring), first(&both, "allreduce", Algorithm::Ring));
        let pairs = Cluster { gpus: 16, ..both };
        // With two hosts, trees between them move no more.
        let alone = Cluster { reduces: [true, false], ..pairs };
        assert_eq!(first(&pairs, "allreduce", Algorithm::Nvls), first(&alone, "allreduce", Algorithm::NvlsTree));
    }

    /// Between hosts without switches that combine, NCCL has trees in place of NVLS; switches combine with Simple alone.
    #[test]
    fn nvls_between_hosts_is_a_tree_unless_the_network_combines() {
        let all = |algorithm, protocol| hgx(32).levels("allreduce", algorithm, protocol);
        assert_eq!(all(Algorithm::Nvls, Protocol::Simple), None);
        assert_eq!(hgx(32).levels("allgather", Algorithm::Nvls, Protocol::Simple), None);
        // Of four hosts two have a parent and two children in one tree, and a parent in the other: four halves.
        let tree = first(&hgx(32), "allreduce", Algorithm::NvlsTree);
        assert_eq!((tree.name, tree.mbps.round()), ("NIC", 50_000.0 * 8.0 / 2.0 * 2.0 * 31.0 / 32.0));
        assert_eq!(tree, first(&hgx(32), "allreduce", Algorithm::Tree));
        // Any way to do it sends 3/2 of the bytes from each of four hosts.
        assert_eq!(hgx(32).largest("allreduce").map(f64::round), Some((400_000.0f64 * 31.0 / 24.0).round()));
        assert_eq!(hgx(8).levels("allreduce", Algorithm::NvlsTree, Protocol::Simple), None);
        for protocol in [Protocol::Ll, Protocol::Ll128] {
            assert_eq!(
                (all(Algorithm::NvlsTree, protocol), hgx(8).levels("allreduce", Algorithm::Nvls, protocol)),
                (None, None)
            );
        }
    }

    /// The GPU that gathers has a NIC, not a host's eight. One that scatters has those of the others, over its NVLinks.
    #[test]
    fn a_gather_fills_the_nic_of_its_root_and_a_scatter_its_links() {
        let root = |collective| {
            let level = first(&hgx(16), collective, Algorithm::Pairs);
            (level.name, level.mbps.round())
        };
        assert_eq!(root("gather"), (NIC, 50_000.0 * 15.0 / 8.0));
        // All for the other fifteen leaves by 450 GB/s of NVLinks and the NIC's own 50.
        assert_eq!(root("scatter"), (SCALE_UP, 500_000.0));
        let slow = first(&Cluster { nic: Some(20_000.0), pcie: None, ..hgx(16) }, "scatter", Algorithm::Pairs);
        assert_eq!((slow.name, slow.mbps.round()), (NIC, 20_000.0 * 8.0 * 15.0 / 8.0));
        for collective in ["gather", "scatter"] {
            assert_eq!(first(&hgx(8), collective, Algorithm::Pairs).name, SCALE_UP);
        }
    }

    #[test]
    fn protocols_take_their_share_and_levels_stand_in_order() {
        let of = |protocol| hgx(32).levels("allreduce", Algorithm::Ring, protocol).unwrap();
        assert_eq!(of(Protocol::Ll)[0].mbps.round(), 200_000.0);
        assert_eq!(of(Protocol::Ll128)[0].mbps.round(), 375_000.0);
        let names: Vec<&str> = of(Protocol::Simple).iter().map(|level| level.name).collect();
        assert_eq!(names, ["NIC", "PCIe", "scale-up network"]);
    }

    #[test]
    fn an_exchange_between_hosts_fills_each_nic() {
        // 31/32 of the bytes go to others, 24/32 of them to other hosts.
        let pairs = first(&hgx(32), "alltoall", Algorithm::Pairs);
        assert_eq!((pairs.name, pairs.mbps.round()), ("NIC", (50_000.0f64 * 31.0 / 24.0).round()));
    }

    /// Of the 31 parts that a GPU sends, seven stay in its host of eight and 24 leave it by its adapter. Twelve GPUs are no
    /// hypercube, and a host of six holds only the steps of one and two for sure.
    #[test]
    fn a_hypercube_leaves_the_host_with_its_longest_steps() {
        let pairs = first(&hgx(32), "hypercube", Algorithm::Pairs);
        assert_eq!((pairs.name, pairs.mbps.round()), ("NIC", (50_000.0f64 * 31.0 / 24.0).round()));
        let inside = first(&hgx(8), "hypercube", Algorithm::Pairs);
        assert_eq!((inside.name, inside.mbps.round()), ("scale-up network", 450_000.0));
        assert_eq!(hgx(12).levels("hypercube", Algorithm::Pairs, Protocol::Simple), None);
        let odd = first(&Cluster { domain: 6, ..hgx(32) }, "hypercube", Algorithm::Pairs);
        assert_eq!((odd.name, odd.mbps.round()), ("NIC", (50_000.0f64 * 31.0 / 24.0).round()));
    }
}
