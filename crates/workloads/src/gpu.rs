//! A GPU cluster as its catalog file describes it: domains of GPUs, and what a collective's kernels take.

use crate::kernels;
use hotlink_fabric::Fabric;
use hotlink_fabric::ledger::Inputs;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::topology::{Rail, Reducing, ReducingRail, TopologySpec};
use hotlink_schedule::collective::{
    Combining, Home, Job, Kernels, Machine, PeerChannels, RailSwitches, Wiring, processor,
};
use hotlink_schedule::{Costs, Cut, Domains, Options, Protocol};
use std::sync::Arc;

/// What the catalog says of a cluster's GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpus {
    /// GPUs of a scale-up domain.
    pub domain: u32,
    /// Channels of a collective.
    pub channels: u32,
    /// Channels that a message from one to another may take.
    pub peer: PeerChannels,
    /// Largest piece that a channel passes on.
    pub chunk: u64,
    /// Pieces of a ring's block.
    pub slices: u64,
    /// What the kernels take besides the steps of a protocol.
    pub costs: Costs,
    /// What they take by algorithm and protocol.
    pub kernels: Arc<Kernels>,
    /// Whether the scale-up switch combines and copies.
    pub switch_reduces: bool,
    /// How they are wired.
    pub wiring: Wiring,
}

/// Whether a fabric's file describes GPUs.
pub fn is(spec: &FabricSpec) -> bool {
    spec.topology.is::<Rail>() && spec.parameters.contains_key("gpu_channels")
}

/// Whether its nodes are GPUs of which its file says nothing else.
pub(crate) fn is_bare(spec: &FabricSpec) -> bool {
    spec.topology.is::<Rail>() && domain(spec) > 1 && !is(spec)
}

/// Its rails, whether scale-up switches take part as nodes or not.
fn rails(spec: &FabricSpec) -> Option<&Rail> {
    spec.topology.get::<Rail>().or_else(|| spec.topology.get::<ReducingRail>().map(|reducing| &reducing.0))
}

/// GPUs of a scale-up domain; 1 where there is none.
pub fn domain(spec: &FabricSpec) -> u32 {
    rails(spec).map_or(1, |rail| rail.gpus_per_host)
}

/// Nodes of a fabric as it was built, without the switches that take part as nodes.
pub(crate) fn nodes_built(fabric: &Fabric) -> u32 {
    match fabric.spec.topology.get::<ReducingRail>() {
        Some(ReducingRail(rail, _)) => fabric.asked.next_multiple_of(rail.gpus_per_host),
        None => fabric.nodes(),
    }
}

/// Hosts of a scale-up domain; 1 unless the fabric's file says that several share one.
pub(crate) fn hosts_of_domain(spec: &FabricSpec) -> u32 {
    let each = spec.parameters.get("gpu_host_size").map_or(f64::INFINITY, |size| size.value);
    (f64::from(domain(spec)) / each).round().max(1.0) as u32
}

/// Whether its scale-up switches combine and copy data; `None` where its file does not say.
pub(crate) fn switch_reduces(spec: &FabricSpec) -> Option<bool> {
    let has_switch = domain(spec) > 1 && !wiring(spec).mesh;
    let stated = spec.parameters.get("gpu_switch_reduces").map(|value| value.value >= 0.5);
    stated.or((!has_switch).then_some(false))
}

/// The share of its links' rate at which a scale-up switch combines and copies; `None` where it does neither.
///
/// # Errors
/// Its file says that it does, and not how fast.
pub(crate) fn switch_share(spec: &FabricSpec) -> Result<Option<f64>, String> {
    switch_reduces(spec).unwrap_or(false).then(|| share_of_combining(spec)).transpose()
}

/// That share, of a switch that does both.
fn share_of_combining(spec: &FabricSpec) -> Result<f64, String> {
    let share = Inputs::new(spec).require("gpu_switch_share").map_err(|missing| missing.to_string())?;
    Ok(share.clamp(LEAST_SHARE, 1.0))
}

/// The least that such a share can be.
const LEAST_SHARE: f64 = 0.01;

/// How its GPUs and domains are wired.
fn wiring(spec: &FabricSpec) -> Wiring {
    let of = |rail: &Rail| Wiring { mesh: rail.mesh, joined: rail.joined };
    rails(spec).map(of).unwrap_or_default()
}

/// Links of a GPU into its domain of this many.
pub(crate) fn scale_up_links(spec: &FabricSpec, domain: u32) -> f64 {
    if wiring(spec).mesh { f64::from(domain - 1) } else { 1.0 }
}

impl Gpus {
    /// The GPUs of a fabric.
    ///
    /// # Errors
    /// What its file does not state.
    pub fn of(spec: &FabricSpec) -> Result<Gpus, String> {
        let inputs = Inputs::new(spec);
        let value = |name: &str| inputs.require(name).map_err(|missing| missing.to_string());
        let per_byte = |rate: f64| 1e12 / rate;
        let switch_reduces = value("gpu_switch_reduces")? >= 0.5;
        let by_switch = |name: &str, without: f64| if switch_reduces { value(name) } else { Ok(without) };
        let (domain, channels) = (domain(spec), value("gpu_channels")?.round() as u32);
        let share = if switch_reduces { Some(share_of_combining(spec)?) } else { None };
        Ok(Gpus {
            domain,
            channels,
            peer: PeerChannels {
                near: value("gpu_peer_channels")?.round() as u32,
                far: value("gpu_far_peer_channels")?.round() as u32,
            },
            chunk: value("gpu_chunk")?.round() as u64,
            slices: value("gpu_slices")?.round().max(1.0) as u64,
            costs: Costs {
                launch_ps: value("gpu_launch_time")?.round() as u64,
                reduce_ps_per_byte: per_byte(value("gpu_reduce_rate")?),
                copy_ps_per_byte: per_byte(value("gpu_copy_rate")?),
                // Steps are those of a protocol.
                line: 0,
                near_ps: 0,
                proxy_ps: 0,
                post_ps: 0,
                post_ps_per_byte: 0.0,
                one_thread: false,
                protocol: Protocol::Simple,
                switch_launch_ps: by_switch("gpu_switch_launch_time", 0.0)?.round() as u64,
                switch_extra: share.map_or(0.0, |share| 1.0 / share - 1.0),
                switch_chunk: by_switch("gpu_switch_chunk", 0.0)?.round() as u32,
            },
            kernels: Arc::new(kernels::of(spec, domain, channels, share)?),
            switch_reduces,
            wiring: wiring(spec),
        })
    }

    /// How they cut the collectives of traces.
    pub fn cut(&self) -> Cut {
        let Gpus { channels, peer, chunk, slices, wiring, switch_reduces: switch, .. } = *self;
        let (domains, kernels) = (Domains::InOrder(self.domain.max(1)), Some(self.kernels.clone()));
        Cut { channels, peer, chunk, slices, wiring, domains, kernels, switch, rails: None }
    }

    /// So many of them, before an algorithm and protocol are known.
    pub fn machine(&self, ranks: u32) -> Machine {
        // One domain may be smaller than it could be.
        let domain = self.domain.min(ranks);
        let Gpus { channels, peer, chunk, slices, costs, wiring, switch_reduces: switch, .. } = *self;
        Machine { ranks, domain, channels, peer, chunk, slices, costs, wiring, switch, rails: None, uneven: None }
    }
}

/// How a file of a schedule is read on a fabric: with what its GPUs take for what a trace or plan has them do.
///
/// # Errors
/// What the fabric's file does not state.
pub fn options(spec: &FabricSpec, asked: &Options) -> Result<Options, String> {
    let is = is(spec);
    if !is && asked.wanted != (None, None) {
        let what = "--algorithm, --protocol: only GPUs have them for a schedule, and its file describes none";
        return Err(format!("{}: {what}", spec.name));
    }
    if !is || asked.costs != Costs::default() {
        return Ok(asked.clone());
    }
    let gpus = Gpus::of(spec)?;
    Ok(Options { costs: gpus.costs, cut: gpus.cut(), ..asked.clone() })
}

/// The same before the nodes of the ranks are known: nothing is asked for that these may not have.
pub(crate) fn unplaced(options: &Options) -> Options {
    Options { wanted: (None, None), ..options.clone() }
}

/// The same once the nodes of the ranks are known, of a cluster of so many. `None` if that changes nothing: ranks stand in
/// order, their rails do not combine data, and nothing is asked for.
///
/// # Errors
/// The rails cannot be built.
pub(crate) fn placed(spec: &FabricSpec, options: &Options, nodes: &[u32], all: u32) -> Result<Option<Options>, String> {
    let each = domain(spec);
    let in_order = (0..).zip(nodes).all(|(rank, &node): (u32, _)| node == rank);
    let is_usual = in_order && spec.reduction.is_none() && options.wanted == (None, None);
    if !is(spec) || is_usual {
        return Ok(None);
    }
    let domains = Domains::Of(nodes.iter().map(|&node| Home::of(node, each)).collect());
    let cut = Cut { domains, rails: rail_switches(spec, all)?, ..options.cut.clone() };
    Ok(Some(Options { cut, ..options.clone() }))
}

/// The nodes of switches that combine data, where the first `gpus` nodes are GPUs: the switches of hosts follow them, those
/// of rails stand last.
pub(crate) fn nodes_of(fabric: &Fabric, gpus: u32, switches: &[Combining]) -> Vec<u32> {
    let rails = domain(&fabric.spec);
    let of = |one: &Combining| {
        let of_rails = one.rails.iter().flat_map(|(switches, own)| {
            let first = fabric.nodes() - switches.count(rails);
            switches.of_rails(own, rails).into_iter().map(move |at| first + at)
        });
        one.hosts.iter().map(|host| gpus + host).chain(of_rails).collect::<Vec<_>>()
    };
    switches.iter().flat_map(of).collect()
}

/// Whether scale-up switches combine data for some of these collectives, and whether rails' switches do.
pub(crate) fn combining(switches: &[Combining]) -> [bool; 2] {
    let is = |of: fn(&Combining) -> bool| switches.iter().any(of);
    [is(|one| !one.hosts.is_empty()), is(|one| one.rails.is_some())]
}

/// The switches of its rails for this many GPUs, where they combine data.
pub(crate) fn rail_switches(spec: &FabricSpec, ranks: u32) -> Result<Option<RailSwitches>, String> {
    let (Some(rail), Some(reduction)) = (rails(spec), spec.reduction()) else { return Ok(None) };
    let levels = rail.levels(ranks.div_ceil(rail.gpus_per_host)).map_err(|error| error.to_string())?;
    Ok(Some(RailSwitches {
        held: levels.held,
        leaves: levels.leaves,
        groups: levels.groups,
        spines: levels.spines,
        cores: levels.cores,
        joined: rail.joined,
        gate_ps: reduction.tree.gate.value.0,
        ps_per_byte: 1e12 / reduction.rate.value.0.max(1) as f64,
    }))
}

/// Names of the processors of a collective's schedule, by the nodes of its ranks. The first are GPUs, the last the
/// rails' switches that combine data.
pub(crate) fn processors(fabric: &Fabric, gpus: u32, job: &Job) -> impl Fn(u32, u32) -> String + use<> {
    let rails = domain(&fabric.spec);
    let network = job.network().map(|switches| (switches, fabric.nodes() - switches.count(rails)));
    move |node, cpu| match network.filter(|_| node >= gpus) {
        Some((switches, first)) => format!("reduction in {}", switches.name(rails, node.saturating_sub(first))),
        None => format!("{} of GPU {node}", processor(cpu)),
    }
}

/// The same fabric with switches that combine data as nodes beyond the GPUs: those of the scale-up networks, of the
/// rails, or of both. `None` for neither.
pub fn with_switches(spec: &FabricSpec, [scale_up, rails]: [bool; 2]) -> Option<FabricSpec> {
    let reducing = match [scale_up, rails] {
        [true, false] => Reducing::ScaleUp,
        [false, true] => Reducing::Rails,
        [true, true] => Reducing::All,
        [false, false] => return None,
    };
    let rail = spec.topology.get::<Rail>()?;
    Some(FabricSpec { topology: TopologySpec::new(ReducingRail(rail.clone(), reducing)), ..spec.clone() })
}
