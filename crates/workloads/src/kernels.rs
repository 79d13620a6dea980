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

#[cfg(test)]
mod tests {
    use crate::gpu::Gpus;
    use hotlink_schedule::Protocol::{Ll, Ll128, Simple};
    use hotlink_schedule::collective::Algorithm::{CollNet, Nvls, NvlsTree, Ring, Tree};
    use hotlink_schedule::collective::{Machine, Uneven, Which};

    /// Sums of NCCL's table, worked out by hand: `2 (n - 1)` steps of a ring of which `2 (h - 1)` leave a host, and so on.
    #[test]
    fn the_model_adds_up_nccls_table() {
        let spec = hotlink_fabric::catalog::load("hgx-h100-rail").unwrap();
        let gpus = Gpus::of(&spec).unwrap();
        let us = |which, way, ranks, bytes| {
            gpus.kernels.predicted_ps(&gpus.machine(ranks), which, way, bytes).unwrap() / 1e6
        };
        for (ranks, way, due) in [
            (8, (Ring, Ll), 6.6 + 14.0 * 0.6),
            // A post takes longer than a step of LL.
            (16, (Ring, Ll), 6.6 + 28.0 * 1.0 + 2.0 * 2.7),
            (16, (Ring, Ll128), 14.0 + 28.0 * 1.9 + 2.0 * 4.0),
            (16, (Ring, Simple), 8.4 + 28.0 * 3.4 + 2.0 * 14.0),
            (16, (Tree, Ll), 6.8 + 2.0 * (7.0 * 0.6 + 5.0)),
            (64, (Tree, Simple), 8.4 + 2.0 * (7.0 * 4.0 + 3.0 * 14.0)),
            (64, (NvlsTree, Simple), 25.0 + 6.0 * 20.9),
            (8, (Nvls, Simple), 25.0),
            (64, (CollNet, Simple), 2.0 * (3.7 + 7.0 * 0.4) + 31.0),
        ] {
            assert!((us(Which::Allreduce, way, ranks, 0) - due).abs() < 1e-6, "{way:?} of {ranks}");
        }
        assert!((us(Which::Bcast, (Ring, Simple), 16, 0) - (8.4 + 16.0 * 14.0)).abs() < 1e-6);
        // A ring with Simple that carries data between hosts has NCCL's plateau, and the links' rate.
        let long = us(Which::Allreduce, (Ring, Simple), 16, 1 << 30) - 1.4 * 131.6;
        let rate = gpus.kernels.scale_up.min(8.0 * gpus.kernels.adapter);
        assert!((long / (2.0 * 15.0 / 16.0 * f64::from(1 << 30) / rate * 1e6) - 1.0).abs() < 1e-9);
        // Trees have half of 92 %, and of that 60 % from 1 MiB on with LL128... up to 2 MiB: 7/9 is of one host.
        let tree = us(Which::Allreduce, (Tree, Ll128), 64, 1 << 20) - (14.0 + 2.0 * (7.0 * 1.25 + 3.0 * 8.5));
        let bus = (rate * 0.92).min(16.0 * 36e9) * 0.9375;
        assert!((tree / (f64::from(1 << 20) / (bus.min(16.0 * 29e9) * 0.6 / 2.0) * 1e6) - 1.0).abs() < 1e-9, "{tree}");
    }

    /// Hosts of two, two, one and one GPU: 1.5 to a host are more than one, and NCCL's rings take a ring's step between them.
    /// Of one GPU to a host they take a tree's.
    #[test]
    fn uneven_hosts_take_a_rings_steps() {
        let spec = hotlink_fabric::catalog::load("hgx-h100-rail").unwrap();
        let gpus = Gpus::of(&spec).unwrap();
        let us = |ranks: u32, uneven: Option<Uneven>, way| {
            let machine = Machine { domain: 1, uneven, ..gpus.machine(ranks) };
            gpus.kernels.predicted_ps(&machine, Which::Allreduce, way, 0).unwrap() / 1e6
        };
        let uneven = Some(Uneven { hosts: 4, least: 1 });
        for (found, due) in [
            (us(6, uneven, (Ring, Ll)), 6.6 + 4.0 * 1.0 + 6.0 * 2.7),
            (us(4, None, (Ring, Ll)), 6.6 + 6.0 * 5.0),
            // The tree's quotient is of whole numbers: no step within a host.
            (us(6, uneven, (Tree, Ll)), 6.8 + 2.0 * 2.0 * 5.0),
        ] {
            assert!((found - due).abs() < 1e-6, "{found} {due}");
        }
    }

    /// MI300X has no LL128, and says which it has.
    #[test]
    fn a_protocol_that_the_file_does_not_state_is_not_there() {
        let spec = hotlink_fabric::catalog::load("mi300x-rail").unwrap();
        let gpus = Gpus::of(&spec).unwrap();
        assert!(gpus.kernels.of(Ll128).is_none() && gpus.kernels.of(Ll).is_some());
        assert!(!gpus.kernels.has(Ring, Ll128) && gpus.kernels.has(Ring, Simple) && !gpus.kernels.has(Nvls, Ll));
    }
}
