//! Which cable the bad pairs share, where a dump of the network tells their routes.

use crate::findings::Finding;
use crate::series::{Places, Series};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Resource};
use hotlink_study::Source;
use hotlink_study::bound::pattern::{Pattern, one};
use hotlink_study::options::Rates;
use std::collections::BTreeSet;

/// Any size: only the routes count.
const BYTES: u64 = 1 << 20;
/// Cables that a finding names.
const SHOWN: usize = 3;

/// Names the cables that all pairs of a finding cross and no good pair does.
pub fn name(found: &mut [Finding], series: &[Series], source: &Source) {
    let Some(nodes) = source.own_nodes().filter(|_| source.own_site().is_some()) else { return };
    let Ok(fabric) = source.build(nodes) else { return };
    let places = Places::of(source);
    let bad: BTreeSet<Vec<String>> = found.iter().flat_map(|finding| finding.pairs.iter().cloned()).collect();
    let is_good = |one: &&Series| one.hosts.len() == 2 && !bad.contains(&one.hosts);
    let good: BTreeSet<Channel> =
        series.iter().filter(is_good).filter_map(|one| route(&fabric, &places, &one.hosts)).flatten().collect();
    for finding in found.iter_mut().filter(|finding| finding.kind.starts_with("pair")) {
        let routes = finding.pairs.iter().filter_map(|hosts| route(&fabric, &places, hosts));
        let Some(shared) = routes.reduce(|a, b| a.intersection(&b).copied().collect()) else { continue };
        let own: Vec<String> = shared.difference(&good).map(|&c| fabric.resource_name(Resource::Channel(c))).collect();
        finding.facts.insert("shared", f64::from(u8::from(!own.is_empty())));
        if !own.is_empty() {
            finding.what += &format!("; no good pair crosses {}", own[..own.len().min(SHOWN)].join(", "));
        }
    }
}

/// The channels of a route.
fn route(fabric: &Fabric, places: &Places, hosts: &[String]) -> Option<BTreeSet<Channel>> {
    let [a, b] = hosts else { return None };
    let demand = one(fabric.nodes(), places.node(a)?, places.node(b)?);
    let load = Pattern::of(fabric, &demand, Rates::Theoretical, BYTES).ok()?.load;
    let channels = (0..fabric.network.channels() as u32).map(Channel);
    Some(channels.filter(|&channel| load.of(fabric, Resource::Channel(channel)) > 0.0).collect())
}
