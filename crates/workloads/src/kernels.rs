//! The kernels of a fabric's GPUs, as its file states them by algorithm and protocol.

use crate::cluster;
use hotlink_fabric::Fabric;
use hotlink_fabric::ledger::Inputs;
use hotlink_fabric::spec::FabricSpec;
use hotlink_schedule::Protocol;
use hotlink_schedule::collective::{ByDomains, CollNet, Kernel, Kernels, Steps};
use hotlink_sim::plan::RouteBuffer;
use hotlink_sim::{Plan, Settings};
use hotlink_study::options::Rates;

/// Bytes of messages whose packets are as full as can be.
const FULL: u64 = 1 << 20;

/// The parameters of a protocol.
struct Names {
    ring: [&'static str; 3],
    tree: [&'static str; 3],
    /// Largest pieces: of a channel, and of a channel's chain.
    chunk: [&'static str; 2],
    /// What rings and chains within a domain pass on at once, where it is less.
    line: Option<&'static str>,
    per_channel: &'static str,
    tree_sizes: &'static str,
}

const SIMPLE: Names = Names {
    ring: ["gpu_launch_time", "gpu_ring_simple_near_time", "gpu_ring_simple_far_time"],
    tree: ["gpu_launch_time", "gpu_tree_simple_near_time", "gpu_tree_simple_far_time"],
    chunk: ["gpu_chunk", "gpu_chain_chunk"],
    line: None,
    per_channel: "gpu_simple_channel_min",
    tree_sizes: "gpu_tree_simple_share_of_",
};
const LL: Names = Names {
    ring: ["gpu_ring_ll_launch_time", "gpu_ring_ll_near_time", "gpu_ring_ll_far_time"],
    tree: ["gpu_tree_ll_launch_time", "gpu_tree_ll_near_time", "gpu_tree_ll_far_time"],
    chunk: ["gpu_ll_chunk"; 2],
    line: Some("gpu_ll_line"),
    per_channel: "gpu_ll_channel_min",
    tree_sizes: "gpu_tree_ll_share_of_",
};
const LL128: Names = Names {
    ring: ["gpu_ring_ll128_launch_time", "gpu_ring_ll128_near_time", "gpu_ring_ll128_far_time"],
    tree: ["gpu_tree_ll128_launch_time", "gpu_tree_ll128_near_time", "gpu_tree_ll128_far_time"],
    chunk: ["gpu_ll128_chunk"; 2],
    line: Some("gpu_ll128_line"),
    per_channel: "gpu_ll128_channel_min",
    tree_sizes: "gpu_tree_ll128_share_of_",
};

/// What one file states.
struct Stated<'a> {
    spec: &'a FabricSpec,
    inputs: Inputs<'a>,
}

/// The kernels of a fabric's GPUs, of so many to a domain and channels to a collective.
///
/// # Errors
/// What its file does not state.
pub(crate) fn of(spec: &FabricSpec, domain: u32, channels: u32, switch_share: Option<f64>) -> Result<Kernels, String> {
    let stated = Stated { spec, inputs: Inputs::new(spec) };
    let fabric = Fabric::build(spec, 2 * domain.max(1)).map_err(|error| error.to_string())?;
    let cluster = cluster::of(&fabric, 2 * domain.max(1), None, Rates::Measured.into(), FULL)?;
    let least = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::min);
    let per_second = |mbps: Option<f64>| mbps.unwrap_or(0.0) * 1e6;
    let value = |name: &str| stated.value(name);
    let time = |name: &str| stated.time(name);
    Ok(Kernels {
        protocols: stated.protocols(f64::from(channels))?,
        collnet: CollNet {
            near_ps: time("gpu_collnet_near_time")?,
            far_ps: time("gpu_collnet_far_time")?,
            peer_ps: time("gpu_collnet_peer_time")?,
            share: [value("gpu_collnet_share")?, value("gpu_collnet_gather_share")?],
        },
        switch_far_ps: [time("gpu_nvls_far_time")?, time("gpu_nvls_tree_far_time")?],
        switch_share: switch_share.unwrap_or(0.0),
        pair_ll_max: value("gpu_pair_ll_max")?.round() as u64,
        plateau: value("gpu_ring_plateau")?,
        plateau_block: value("gpu_ring_plateau_block")?.round() as u64,
        post_ps: time("gpu_post_time")?,
        wire_ps: wire(&fabric, domain)?,
        scale_up: per_second(cluster.scale_up),
        adapter: per_second(least(cluster.nic, cluster.pcie)),
    })
}

/// The network's own part of a step within a domain, and of one to the next.
fn wire(fabric: &Fabric, domain: u32) -> Result<[u64; 2], String> {
    let plan = Plan::new(fabric, &Settings::of(&fabric.spec)).map_err(|error| error.to_string())?;
    let mut route = RouteBuffer::default();
    let mut to = |node: u32| plan.least_latency_ps(0, node, &mut route).map_err(|error| error.to_string());
    Ok([if domain > 1 { to(1)? } else { 0 }, to(domain.max(1))?])
}

impl Stated<'_> {
    fn value(&self, name: &str) -> Result<f64, String> {
        self.inputs.require(name).map_err(|missing| missing.to_string())
    }

    /// A time in picoseconds.
    fn time(&self, name: &str) -> Result<u64, String> {
        let ps = self.value(name)?.round() as u64;
        match ps > u64::from(u32::MAX) {
            true => Err(format!("{name}: {} us: must be at most 4294 us", ps / 1_000_000)),
            false => Ok(ps),
        }
    }

    fn by_domains(&self, names: [&str; 3], times: f64) -> Result<ByDomains, String> {
        let [one, two, more] = names.map(|name| self.value(name).map(|rate| rate * times));
        Ok([one?, two?, more?])
    }

    /// Shares by size: ascending.
    fn sizes(&self, prefix: &str) -> Vec<(u64, f64)> {
        let sized = self.spec.parameters.beginning(prefix);
        let sized = sized.filter_map(|(name, share)| Some((name.strip_prefix(prefix)?.parse().ok()?, share.value)));
        let mut all: Vec<(u64, f64)> = sized.collect();
        all.sort_by_key(|(from, _)| *from);
        all
    }

    fn steps(&self, [launch, near, far]: [&str; 3]) -> Result<Steps, String> {
        Ok(Steps { launch_ps: self.time(launch)?, near_ps: self.time(near)?, far_ps: self.time(far)? })
    }

    /// What all protocols have alike. Lines with flags of their own need no slices, and a post a piece.
    fn kernel(&self, names: &Names) -> Result<Kernel, String> {
        let [chunk, of_chains] = names.chunk.map(|name| self.value(name).map(|bytes| (bytes.round() as u64).max(1)));
        Ok(Kernel {
            ring: self.steps(names.ring)?,
            tree: self.steps(names.tree)?,
            chunk: [chunk?, of_chains?],
            line: names.line.map_or(Ok(0), |name| self.value(name).map(|bytes| (bytes.round() as u32).max(1)))?,
            slices: 1,
            per_channel: self.value(names.per_channel)?.round() as u64,
            posts: 1,
            ring_share: 1.0,
            ring_most: [f64::INFINITY; 3],
            channel_most: f64::INFINITY,
            tree_share: [1.0; 3],
            tree_most: [f64::INFINITY; 3],
            tree_sizes: self.sizes(names.tree_sizes),
        })
    }

    fn protocols(&self, channels: f64) -> Result<Vec<(Protocol, Kernel)>, String> {
        let has = |names: &Names| self.spec.parameters.contains_key(names.ring[1]);
        let mut all = Vec::new();
        // In NCCL's order: of equal times it takes the first.
        if has(&LL) {
            let most = self.by_domains(["gpu_ll_rate", "gpu_ll_two_hosts_rate", "gpu_ll_hosts_rate"], 1.0)?;
            let kernel = Kernel {
                ring_share: Protocol::Ll.share(),
                ring_most: most,
                channel_most: self.value("gpu_ll_channel_rate")?,
                tree_share: [self.value("gpu_tree_ll_share")?; 3],
                tree_most: most,
                ..self.kernel(&LL)?
            };
            all.push((Protocol::Ll, kernel));
        }
        if has(&LL128) {
            let tree_most = ["gpu_tree_ll128_rate", "gpu_tree_ll128_two_hosts_rate", "gpu_tree_ll128_hosts_rate"];
            let between = self.value("gpu_tree_ll128_share")?;
            let each = self.value("gpu_ring_ll128_rate")?;
            let kernel = Kernel {
                ring_share: self.value("gpu_ring_ll128_share")?,
                ring_most: [each * channels; 3],
                channel_most: each,
                tree_share: [self.value("gpu_tree_ll128_host_share")?, between, between],
                tree_most: self.by_domains(tree_most, channels)?,
                ..self.kernel(&LL128)?
            };
            all.push((Protocol::Ll128, kernel));
        }
        let tree_most = ["gpu_tree_rate", "gpu_tree_two_hosts_rate", "gpu_tree_hosts_rate"];
        let kernel = Kernel {
            slices: self.value("gpu_slices")?.round().max(1.0) as u64,
            posts: self.value("gpu_simple_posts")?.round() as u64,
            tree_share: [self.value("gpu_tree_share")?; 3],
            tree_most: self.by_domains(tree_most, channels)?,
            ..self.kernel(&SIMPLE)?
        };
        all.push((Protocol::Simple, kernel));
        Ok(all)
    }
}
