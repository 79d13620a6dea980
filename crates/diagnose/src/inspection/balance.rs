//! Cables that carry more than their share. Of the traffic from a switch to the next level, each cable's part should
//! follow its rate.

use super::View;
use hotlink_fabric::network::{Channel, Resource, Vertex};
use hotlink_load::Load;
use std::collections::BTreeMap;

/// How much more than its share a cable carries before it is named (docs/your-network.md, "What is assumed").
const MORE: f64 = 1.25;

/// One direction of a cable: what it carries, and at which rate.
struct Cable {
    channel: Channel,
    load: f64,
    mbps: f64,
}

/// Names the cables between switches that carry more than their share of a load, the worst first, each with the ratio
/// to its share. Cables from one switch to switches of one level share their total load by their rates. `level` is that
/// of each vertex.
pub(super) fn unbalanced(view: &View<'_>, load: &Load, level: &[u32]) -> Vec<String> {
    let network = &view.fabric.network;
    let mut groups: BTreeMap<(Vertex, u32), Vec<Cable>> = BTreeMap::new();
    for channel in view.between() {
        let Some(rate) = view.fabric.gross(Resource::Channel(channel)) else { continue };
        let group = (network.from(channel), level[network.to(channel).0 as usize]);
        groups.entry(group).or_default().push(Cable {
            channel,
            load: load.channel[channel.0 as usize],
            mbps: rate.mbps(),
        });
    }
    let mut found: Vec<(f64, Channel)> = Vec::new();
    for cables in groups.values() {
        let sum = |of: fn(&Cable) -> f64| cables.iter().map(of).sum::<f64>();
        let usual = sum(|cable| cable.load) / sum(|cable| cable.mbps);
        let times = cables.iter().map(|cable| (cable.load / (cable.mbps * usual), cable.channel));
        found.extend(times.filter(|&(times, _)| times >= MORE));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.into_iter().map(|(times, channel)| format!("{} ({times:.2} times)", view.name(channel))).collect()
}
