//! Which cable the bad pairs share, where a dump of the network gives their routes.

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

/// The routes of a site's own network.
pub struct Routes {
    fabric: Fabric,
    places: Places,
}

impl Routes {
    /// Those of a dump; `None` for any other fabric.
    pub fn of(source: &Source) -> Option<Routes> {
        let nodes = source.own_nodes().filter(|_| source.own_site().is_some())?;
        Some(Routes { fabric: source.build(nodes).ok()?, places: Places::of(source) })
    }

    /// The channels of a route.
    fn route(&self, hosts: &[String]) -> Option<BTreeSet<Channel>> {
        let ([a, b], fabric) = (hosts, &self.fabric) else { return None };
        let demand = one(fabric.nodes(), self.places.node(a)?, self.places.node(b)?);
        let load = Pattern::of(fabric, &demand, Rates::Theoretical, BYTES).ok()?.load;
        let channels = (0..fabric.network.channels() as u32).map(Channel);
        Some(channels.filter(|&channel| load.of(fabric, Resource::Channel(channel)) > 0.0).collect())
    }

    /// The channels that all bad pairs cross and no good pair does.
    pub fn shared<'h>(
        &self,
        bad: impl Iterator<Item = &'h [String]>,
        good: impl Iterator<Item = &'h [String]>,
    ) -> Vec<Channel> {
        let of_bad = bad.filter_map(|hosts| self.route(hosts));
        let Some(mut shared) = of_bad.reduce(|a, b| a.intersection(&b).copied().collect()) else { return Vec::new() };
        for hosts in good {
            if shared.is_empty() {
                break;
            }
            self.route(hosts).unwrap_or_default().iter().for_each(|channel| _ = shared.remove(channel));
        }
        shared.into_iter().collect()
    }
}

/// Names the cables that all pairs of a finding cross and no good pair does.
pub fn name(found: &mut [Finding], series: &[Series], routes: Option<&Routes>) {
    let Some(routes) = routes else { return };
    let bad: BTreeSet<Vec<String>> = found.iter().flat_map(|finding| finding.pairs.iter().cloned()).collect();
    let two: BTreeSet<&[String]> = series.iter().map(|one| &one.hosts[..]).filter(|hosts| hosts.len() == 2).collect();
    for finding in found.iter_mut().filter(|finding| finding.kind.starts_with("pair") && !finding.pairs.is_empty()) {
        let good = two.iter().copied().filter(|hosts| !bad.contains(*hosts));
        let own = routes.shared(finding.pairs.iter().map(Vec::as_slice), good);
        let own: Vec<String> = own.into_iter().map(|c| routes.fabric.resource_name(Resource::Channel(c))).collect();
        finding.facts.insert("shared", f64::from(u8::from(!own.is_empty())));
        if !own.is_empty() {
            finding.what += &format!("; no good pair crosses {}", own[..own.len().min(SHOWN)].join(", "));
        }
    }
}
