//! M02's view of a network of switches: what stays on a node's own switch apart from what goes to others.
//!
//! M02 Eqs. 6 to 12 average over the links between switches. Here the average comes with the hottest of them.

use crate::Load;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node};
use hotlink_fabric::spec::Role;
use hotlink_fabric::traffic::Demand;

/// Traffic within and between switches, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchSplit {
    /// Mean over nodes of the number of nodes on a node's own switch (k; for uneven switches the sum of k_i^2 over N).
    pub nodes_per_switch: f64,
    /// Flow between nodes of one switch, per node (k - 1 in an all-to-all).
    pub same_switch: f64,
    /// Flow between nodes of different switches, per node (N - k in an all-to-all).
    pub between_switches: f64,
    /// Switch-to-switch channels crossed by a packet between switches, on average (h; a Clos64 has 2 where M02 counts 1).
    pub hops: f64,
    /// Directed switch-to-switch channels that carry load (jS).
    pub channels: usize,
    /// Mean load of those (M02 Eq. 6: the hot link).
    pub average_load: f64,
    /// Greatest load of one of them.
    pub hottest_load: f64,
}

/// Bandwidths in MB/s (10^6 bytes per second) that follow from a [`SwitchSplit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitBandwidth {
    /// M02 Eq. 10: to other switches, links averaged; never above the host link.
    pub between_mbps: f64,
    /// As `between_mbps`, limited by the hottest link.
    pub between_hottest_mbps: f64,
    /// M02 Eq. 11: within the switch.
    pub same_mbps: f64,
    /// M02 Eq. 12: both, weighted by flow.
    pub overall_mbps: f64,
    /// As `overall_mbps`, limited by the hottest link.
    pub overall_hottest_mbps: f64,
}

impl SwitchSplit {
    /// The split of `load`, which was counted for `demand`; `None` where nodes do not sit on switches, each on one.
    pub fn of(fabric: &Fabric, demand: &Demand, load: &Load) -> Option<SwitchSplit> {
        let attachment = &fabric.attachment;
        let on_switch = |node: Node| {
            let home = attachment.home[node.0 as usize];
            fabric.network.vertex_role[home.0 as usize] == Role::Switch && attachment.has_home(node)
        };
        if demand.nodes != fabric.nodes() || !fabric.network.node_iter().all(on_switch) {
            return None;
        }
        let nodes = f64::from(demand.nodes);
        let held = (0..attachment.homes.len()).map(|group| attachment.nodes_of(group).len() as f64);
        let squares: f64 = held.map(|k| k * k).sum();
        let total: f64 = load.sent.iter().sum();
        let group = |node: Node| attachment.group[node.0 as usize];
        let local =
            |f: &&hotlink_fabric::traffic::Flow| f.source != f.destination && group(f.source) == group(f.destination);
        let flows: f64 = demand.flows.iter().filter(local).map(|flow| flow.amount).sum();
        let same = demand.all_pairs * (squares - nodes) + flows;
        let between = total - same;
        let is_between = |c: &usize| fabric.network.channel_role[*c] == Role::SwitchLink;
        let loads: Vec<f64> = (0..fabric.network.channels()).filter(is_between).map(|c| load.channel[c]).collect();
        let channels = loads.iter().filter(|&&load| load > 0.0).count();
        let sum: f64 = loads.iter().sum();
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        Some(SwitchSplit {
            nodes_per_switch: squares / nodes,
            same_switch: same / nodes,
            between_switches: between / nodes,
            hops: ratio(sum, between),
            channels,
            average_load: ratio(sum, channels as f64),
            hottest_load: loads.into_iter().fold(0.0, f64::max),
        })
    }

    /// Bandwidths where a link between switches carries `switch_link_mbps` of payload and a node's link `link_mbps`.
    pub fn bandwidth(&self, switch_link_mbps: f64, link_mbps: f64) -> SplitBandwidth {
        let between = |load: f64| match load > 0.0 {
            true => (self.between_switches / load * switch_link_mbps).min(link_mbps),
            false => link_mbps,
        };
        let flow = self.between_switches + self.same_switch;
        let share = if flow > 0.0 { self.between_switches / flow } else { 0.0 };
        let overall = |between: f64| link_mbps - share * (link_mbps - between);
        let (average, hottest) = (between(self.average_load), between(self.hottest_load));
        SplitBandwidth {
            between_mbps: average,
            between_hottest_mbps: hottest,
            same_mbps: link_mbps,
            overall_mbps: overall(average),
            overall_hottest_mbps: overall(hottest),
        }
    }
}

/// Hottest channel between switches, if any: the one that [`SwitchSplit::hottest_load`] is about.
pub fn hottest_between(fabric: &Fabric, load: &Load) -> Option<Channel> {
    let channels = (0..fabric.network.channels()).filter(|&c| fabric.network.channel_role[c] == Role::SwitchLink);
    let hottest = channels.max_by(|&a, &b| load.channel[a].total_cmp(&load.channel[b]).then(b.cmp(&a)));
    hottest.map(|c| Channel(c as u32))
}
