//! The faults of a machine, and the signatures that identify them.

use hotlink_fabric::rng::SplitMix64;

/// The kinds.
pub const KINDS: [&str; 14] = [
    "link",
    "pcie",
    "slow-host",
    "one-direction",
    "units",
    "knee",
    "wrong-fabric",
    "switch-cable",
    "congestion",
    "all-links",
    "all-pcie",
    "kernel-path",
    "same-node",
    "interrupts",
];

/// One fault, or none.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Nothing is wrong.
    None,
    /// A host's link has a part of its rate.
    Link { host: u32, rate: f64 },
    /// A host's bus has.
    Pcie { host: u32, rate: f64 },
    /// A host's software takes so many times as long.
    SlowHost { host: u32, times: f64 },
    /// A host's link has a part of its rate in one direction.
    OneDirection { host: u32, is_out: bool, rate: f64 },
    /// Bandwidths are printed so many times too large.
    Units { factor: f64 },
    /// Messages of these sizes take so many times as long.
    Knee { from: u64, to: u64, times: f64 },
    /// Another fabric was measured.
    WrongFabric { other: &'static str },
    /// A cable between switches has a part of its rate: the first that the route of the two hosts crosses.
    SwitchCable { pair: [u32; 2], rate: f64 },
    /// Others send over that cable at the same time.
    Congestion { pair: [u32; 2], others: u32 },
    /// All links have a part of their rate.
    AllLinks { rate: f64 },
    /// All buses have.
    AllPcie { rate: f64 },
    /// Messages pass through the kernel.
    KernelPath { overhead_us: f64, mbps: f64 },
    /// Both ranks run on one host.
    SameNode { latency_us: f64, mbps: f64 },
    /// Every message waits for an interrupt.
    Interrupts { overhead_us: f64 },
}

fn pick<T: Copy>(rng: &mut SplitMix64, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

fn between(rng: &mut SplitMix64, low: f64, high: f64) -> f64 {
    low + (high - low) * (rng.below(1 << 20) as f64 / f64::from(1 << 20))
}

impl Fault {
    /// A fault of this kind among `count` hosts, where one of the runs meets it.
    pub fn draw(kind: Option<&str>, named: &str, count: u32, runs: &[[u32; 2]], rng: &mut SplitMix64) -> Fault {
        let host = rng.below(u64::from(count)) as u32;
        let half = count / 2;
        let across: Vec<[u32; 2]> = runs.iter().copied().filter(|[a, b]| (*a < half) != (*b < half)).collect();
        let (pair, [from, to]) = (pick(rng, &across), pick(rng, runs));
        // A bus that is still faster than the link is no fault that a number can show.
        let slow: &[f64] = if named.starts_with("slingshot") { &[0.25, 0.125] } else { &[0.5, 0.25] };
        let others = ["ib-qdr", "gige", "ib-ndr-fat-tree2", "slingshot-dragonfly", "eth-400g-leaf-spine"];
        // A network of another rate: one of the same rate is no fault that a number can show.
        let is_400 = |name: &str| name.starts_with("ib-ndr") || name.starts_with("eth-400g");
        let others: Vec<&'static str> =
            others.into_iter().filter(|other| is_400(other) != is_400(named) && *other != named).collect();
        match kind {
            None => Fault::None,
            Some("link") => Fault::Link { host, rate: pick(rng, &[0.5, 0.25, 0.125]) },
            Some("pcie") => Fault::Pcie { host, rate: pick(rng, slow) },
            Some("slow-host") => Fault::SlowHost { host, times: between(rng, 4.0, 12.0) },
            Some("one-direction") => {
                let is_out = rng.below(2) == 0;
                Fault::OneDirection { host: if is_out { from } else { to }, is_out, rate: pick(rng, &[0.5, 0.25]) }
            }
            Some("units") => Fault::Units { factor: pick(rng, &[8.0, 0.125, 1000.0, 0.001]) },
            Some("knee") => {
                let from = 1 << (12 + rng.below(4));
                Fault::Knee { from, to: from << 2, times: between(rng, 1.6, 4.0) }
            }
            Some("wrong-fabric") => Fault::WrongFabric { other: pick(rng, &others) },
            Some("switch-cable") => Fault::SwitchCable { pair, rate: pick(rng, &[0.5, 0.25, 0.125]) },
            Some("congestion") => Fault::Congestion { pair, others: 1 + rng.below(3) as u32 },
            Some("all-links") => Fault::AllLinks { rate: pick(rng, &[0.5, 0.25]) },
            Some("all-pcie") => Fault::AllPcie { rate: pick(rng, slow) },
            Some("kernel-path") => {
                Fault::KernelPath { overhead_us: between(rng, 12.0, 30.0), mbps: between(rng, 1500.0, 6000.0) }
            }
            Some("same-node") => {
                Fault::SameNode { latency_us: between(rng, 0.15, 0.4), mbps: between(rng, 80e3, 300e3) }
            }
            Some("interrupts") => Fault::Interrupts { overhead_us: between(rng, 15.0, 40.0) },
            Some(other) => panic!("{other}: no kind"),
        }
    }

    /// Whether only messages of several sizes show it.
    pub fn needs_sizes(&self) -> bool {
        matches!(
            self,
            Fault::SlowHost { .. }
                | Fault::Knee { .. }
                | Fault::KernelPath { .. }
                | Fault::Interrupts { .. }
                | Fault::SameNode { .. }
        )
    }

    /// Whether this explanation is the true one: the cause, and the host where it is of one.
    pub fn is_cause(&self, signature: &str, subject: &str) -> bool {
        let names = |host: u32| subject.split([' ', ',']).any(|word| word == super::machine::name(host));
        match self {
            Fault::None => false,
            Fault::Link { host, .. } => ["host-link", "either-link"].contains(&signature) && names(*host),
            Fault::Pcie { host, .. } => ["host-pcie", "either-pcie"].contains(&signature) && names(*host),
            Fault::SlowHost { host, .. } => ["host-slow", "either-slow"].contains(&signature) && names(*host),
            Fault::OneDirection { host, .. } => {
                ["host-direction", "pair-direction"].contains(&signature) && names(*host)
            }
            Fault::Units { .. } => signature == "units",
            Fault::Knee { .. } => signature == "protocol-switch",
            Fault::WrongFabric { .. } => signature == "wrong-fabric",
            Fault::SwitchCable { .. } => signature == "switch-cable",
            Fault::Congestion { .. } => signature == "congestion",
            Fault::AllLinks { .. } => signature == "link-rate",
            Fault::AllPcie { .. } => signature == "pcie",
            Fault::KernelPath { .. } => signature == "kernel-path",
            Fault::SameNode { .. } => signature == "same-node",
            Fault::Interrupts { .. } => signature == "interrupts",
        }
    }
}
