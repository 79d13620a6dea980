//! What every single cable and switch costs when it fails.

use super::{View, routes_of, site_of, tabled};
use hotlink_bench::Record;
use hotlink_fabric::network::Resource;
use hotlink_site::{Failure, Failures, Outcome, Part};
use hotlink_study::{Error, Source, Watch};

/// Every failure of one cable between switches or of one switch, the costliest first, after a record of the whole. Each
/// has the all-to-all bandwidth with the tables as they are, and with the affected destinations moved.
///
/// # Errors
/// As [`super::inspect`].
pub fn failures(source: &Source, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
    let site = site_of(source)?;
    let fabric = tabled(site)?;
    let view = View::new(&fabric)?;
    let Some(failing) = Failures::new(&fabric) else {
        return Err(Error::Input(format!("{}: a host has no link of its own to a switch", source.name())));
    };
    let parts = failing.parts();
    watch.step();
    let mut found = failing.all(&parts, &|| {});
    watch.step();
    let name = |part: Part| match part {
        Part::Cable(channel) => view.name(channel),
        Part::Switch(vertex) => fabric.resource_name(Resource::Vertex(vertex)),
    };
    let rank = |failure: &Failure| {
        let Failure { hosts_lost, kept, rerouted, .. } = *failure;
        (rerouted.lost, hosts_lost, order(-rerouted.pair_rate), kept.lost)
    };
    found.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.part.cmp(&b.part)));
    let nodes = fabric.nodes();
    let share = |outcome: Outcome, gone: u32| {
        // Partners of a host in the mean: pairs without a route do not count, as in `fabric`.
        let left = f64::from(nodes - gone);
        let others = (left * (left - 1.0) - outcome.lost as f64) / left.max(1.0);
        let share = outcome.pair_rate * others / (view.usual_mbps * 1e6);
        Some(share).filter(|share| share.is_finite() && others > 0.0)
    };
    let head = || {
        Record::new()
            .with("fabric", source.name())
            .with("benchmark", "failures")
            .with("method", "load")
            .with("nodes", nodes)
    };
    let intact = failing.intact();
    let cables = parts.iter().filter(|part| matches!(part, Part::Cable(_))).count();
    let cut = found.iter().filter(|failure| failure.kept.lost > 0).count();
    let pairs = u64::from(nodes) * 2 - 2;
    let whole = head()
        .with("part", "nothing")
        .with("routes", routes_of(site))
        .with("switch_cables", cables)
        .with("switches", parts.len() - cables)
        .with("host_cables", site.findings.cables[0])
        .with("host_cable_lost_pairs", pairs)
        .with("all_to_all_share", share(intact, 0))
        .with("unreachable_pairs", intact.lost)
        .with("costly_parts", cut)
        .with("ranked_by", RANKED_BY);
    let one = |(rank, failure): (usize, &Failure)| {
        let kind = if matches!(failure.part, Part::Cable(_)) { "cable" } else { "switch" };
        head()
            .with("rank", rank + 1)
            .with("part", kind)
            .with("failed", name(failure.part))
            .with("hosts_lost", failure.hosts_lost)
            .with("lost_pairs", failure.kept.lost)
            .with("kept_share", share(failure.kept, failure.hosts_lost))
            .with("rerouted_lost_pairs", failure.rerouted.lost)
            .with("rerouted_share", share(failure.rerouted, failure.hosts_lost))
    };
    Ok(std::iter::once(whole).chain(found.iter().enumerate().map(one)).collect())
}

/// The order of the failures, in words.
const RANKED_BY: &str = "the worst first: pairs lost for good, then hosts cut off, then the least share once destinations are \
                         moved, then pairs lost until then";

/// A number as bits that are ordered as it is.
fn order(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}
