//! A GPU cluster's levels for its bounds: of a fabric, or of equal hosts as NCCL's topology file describes one.

use crate::gpu;
use hotlink_bound::gpu::Cluster;
use hotlink_fabric::Fabric;
use hotlink_fabric::spec::{Capacities, Role};
use hotlink_site::outline::GpuHost;

/// Of a fabric, its packets as full as those of messages of `bytes`.
pub fn of(fabric: &Fabric, gpus: u32, capacities: Capacities, bytes: u64) -> Cluster {
    let spec = &fabric.spec;
    let domain = gpu::domain(spec).min(gpus).max(1);
    let full = spec.packet().efficiency(bytes.max(1), 1.0);
    let rate = |role: Role, efficiency: f64| {
        spec.own_resource(role)?.payload_rate(capacities, efficiency).map(|rate| rate / 1e6)
    };
    let least = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let nic = match domain {
        1 => fabric.injection_mbps(capacities, full),
        _ => least(rate(Role::Nic, 1.0), rate(Role::Link, full)),
    };
    Cluster {
        gpus,
        domain,
        // Its packets are not the network's: no header of these bounds it.
        scale_up: rate(Role::LocalLink, 1.0)
            .filter(|_| domain > 1)
            .map(|rate| rate * gpu::scale_up_links(spec, domain)),
        pcie: rate(Role::HostBus, 1.0).filter(|_| domain > 1),
        nic,
        spine: share_of_spine(fabric, capacities, full),
        reduces: [
            spec.parameters.get("gpu_switch_reduces").is_some_and(|value| value.value >= 0.5),
            spec.reduction.is_some(),
        ],
    }
}

/// Of equal hosts, as NCCL's topology file describes one. It says nothing of the network between them.
pub fn of_hosts(host: &GpuHost, gpus: u32) -> Cluster {
    let domain = host.gpus.min(gpus).max(1);
    Cluster {
        gpus,
        domain,
        // Without NVLinks GPUs of a host reach each other over PCI Express.
        scale_up: host.nvlinks.or(host.pcie).filter(|_| domain > 1),
        pcie: host.pcie,
        nic: host.nic,
        spine: None,
        reduces: [host.switch_reduces, host.network_reduces],
    }
}

/// A GPU's share of its leaf's links upward: MB/s.
fn share_of_spine(fabric: &Fabric, capacities: Capacities, efficiency: f64) -> Option<f64> {
    use hotlink_fabric::network::{Channel, Resource};
    let network = &fabric.network;
    let (mut down, mut up) = (0.0, 0.0);
    let mut rate = None;
    for channel in (0..network.channels() as u32).map(Channel) {
        match network.role(Resource::Channel(channel)) {
            Role::Link => down += 1.0,
            Role::SwitchLink | Role::GlobalLink => {
                up += 1.0;
                rate = rate.or(fabric.payload_mbps(Resource::Channel(channel), capacities, efficiency));
            }
            _ => {}
        }
    }
    // Links between switches are counted both ways, as those of nodes are.
    if down > 0.0 { rate.filter(|_| up > 0.0).map(|rate| rate * up / down) } else { None }
}
