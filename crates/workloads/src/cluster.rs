//! A GPU cluster's levels for its bounds: of a fabric, or of equal hosts as NCCL's topology file describes one.

use crate::gpu;
use hotlink_bound::gpu::{BETWEEN_GPUS, Cluster, NIC, PCIE, Part, SCALE_UP, SPINE};
use hotlink_fabric::Fabric;
use hotlink_fabric::spec::{Capacities, Role};
use hotlink_site::outline::{Apart, GpuHost};

/// The cluster of a fabric. Its packets are as full as those of messages of `bytes`. `on_host`: GPUs on the fullest
/// host, where that is known.
///
/// # Errors
/// Its file does not say how fast its scale-up switches combine.
pub fn of(
    fabric: &Fabric,
    gpus: u32,
    on_host: Option<u32>,
    capacities: Capacities,
    bytes: u64,
) -> Result<Cluster, String> {
    let spec = &fabric.spec;
    let whole = gpu::domain(spec);
    // What a log counts by host names is a part of the domain, where several hosts share one.
    let domain = on_host.map_or(whole, |many| many.saturating_mul(gpu::hosts_of_domain(spec)));
    let domain = domain.min(whole).min(gpus).max(1);
    let full = spec.packet().efficiency(bytes.max(1), 1.0);
    let rate = |role: Role, efficiency: f64| {
        spec.own_resource(role)?.payload_rate(capacities, efficiency).map(|rate| rate / 1e6)
    };
    let least = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    // GPUs of a host that runs fewer than it has may use the adapters of all.
    let adapters = if gpus > domain { f64::from(whole) / f64::from(domain) } else { 1.0 };
    let nic_alone = match whole {
        1 => fabric.injection_mbps(capacities, full),
        _ => least(rate(Role::Nic, 1.0), rate(Role::Link, full)),
    };
    Ok(Cluster {
        gpus,
        domain,
        // Its packets are not the network's: no header of these bounds it.
        scale_up: rate(Role::LocalLink, 1.0)
            .filter(|_| domain > 1)
            .map(|rate| rate * gpu::scale_up_links(spec, domain)),
        scale_up_is: SCALE_UP,
        part: None,
        pcie: rate(Role::HostBus, 1.0).filter(|_| whole > 1),
        nic: nic_alone.map(|rate| rate * adapters),
        nic_alone,
        spine: share_of_spine(fabric, capacities, full).map(|rate| rate * adapters),
        reduces: [gpu::switch_reduces(spec).unwrap_or(false), spec.reduction.is_some()],
        switch_share: gpu::switch_share(spec)?,
        combining: spec.reduction.as_ref().map(|network| network.rate.value.0 as f64 / 1e6 * adapters),
    })
}

/// What a level of the cluster is called in results of the fabric: as its counted routes name the resource.
pub(crate) fn resource(fabric: &Fabric, level: &str, capacities: Capacities, bytes: u64) -> String {
    let spec = &fabric.spec;
    let full = spec.packet().efficiency(bytes.max(1), 1.0);
    let rate = |(role, efficiency): (Role, f64)| spec.own_resource(role)?.payload_rate(capacities, efficiency);
    let roles = match level {
        SCALE_UP => vec![(Role::LocalLink, 1.0)],
        PCIE => vec![(Role::HostBus, 1.0)],
        NIC => vec![(Role::Nic, 1.0), (Role::Link, full)],
        SPINE => vec![(Role::SwitchLink, full), (Role::GlobalLink, full)],
        _ => Vec::new(),
    };
    let rated = roles.into_iter().filter_map(|one| Some((one.0, rate(one)?)));
    let slowest = rated.reduce(|least, one| if one.1 < least.1 { one } else { least });
    slowest.map_or_else(|| level.to_owned(), |(role, _)| fabric.role_name(role))
}

/// A cluster of equal hosts, as NCCL's topology file describes one. `on_host`: GPUs on the fullest, where that is
/// known. The file does not describe the network between them.
pub fn of_hosts(host: &GpuHost, gpus: u32, on_host: Option<u32>) -> Cluster {
    let domain = on_host.unwrap_or(host.gpus).min(host.gpus).min(gpus).max(1);
    // Without NVLinks GPUs of a host reach each other over PCI Express.
    let scale_up_is = if host.nvlinks.is_some() { SCALE_UP } else { BETWEEN_GPUS };
    Cluster {
        gpus,
        domain,
        scale_up: host.nvlinks.or(host.pcie).filter(|_| domain > 1),
        scale_up_is,
        part: host.apart.as_ref().and_then(|apart| part(apart, host.gpus, domain)),
        pcie: host.pcie,
        nic: host.nics.map(|rate| rate / f64::from(domain)),
        // The file does not say which of them are a GPU's.
        nic_alone: host.nics,
        spine: None,
        reduces: [host.switch_reduces, host.network_reduces],
        switch_share: None,
        combining: None,
    }
}

/// GPUs that NVLinks leave apart, of `used` of a host's.
fn part(apart: &Apart, gpus: u32, used: u32) -> Option<Part> {
    match used {
        all if all == gpus => Some(Part { gpus: apart.gpus, mbps: apart.pcie }),
        // Which ones ran is not known: they may be joined.
        few if few <= apart.largest => None,
        // They have two parts at least, one of which has half of them or fewer.
        some => Some(Part { gpus: some / 2, mbps: f64::from(some / 2) * apart.fastest }),
    }
}

/// A GPU's share of its leaf's links upward: MB/s.
fn share_of_spine(fabric: &Fabric, capacities: Capacities, efficiency: f64) -> Option<f64> {
    use hotlink_fabric::network::{Channel, Resource};
    let network = &fabric.network;
    let all = || (0..network.channels() as u32).map(Channel);
    let role = |channel: Channel| network.role(Resource::Channel(channel));
    // Links further up, between spines and cores, are no way out of a leaf.
    let mut is_leaf = vec![false; network.vertices()];
    let down_to_nodes = all().filter(|&channel| role(channel) == Role::Link).map(|channel| network.from(channel));
    down_to_nodes.for_each(|from| is_leaf[from.0 as usize] = network.role(Resource::Vertex(from)) == Role::Switch);
    let (mut down, mut up) = (0.0, 0.0);
    let mut rate = None;
    for channel in all().filter(|&channel| is_leaf[network.from(channel).0 as usize]) {
        match role(channel) {
            Role::Link => down += 1.0,
            Role::SwitchLink | Role::GlobalLink => {
                up += 1.0;
                rate = rate.or(fabric.payload_mbps(Resource::Channel(channel), capacities, efficiency));
            }
            _ => {}
        }
    }
    if down > 0.0 { rate.filter(|_| up > 0.0).map(|rate| rate * up / down) } else { None }
}
