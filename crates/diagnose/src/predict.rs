//! What the bound would be if something were otherwise: asked of `study::bound`, as the bound itself is.

use crate::bounded::RATES;
use crate::signatures::{Thresholds, WhatIf};
use hotlink_bench::Record;
use hotlink_fabric::catalog::{self, Library};
use hotlink_fabric::maths;
use hotlink_fabric::units::Rate;
use hotlink_results::import::Bus;
use hotlink_study::Source;
use hotlink_study::bound::measured::Bounds;

/// A prediction, and how close it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// 1: exact; 0: not near.
    pub closeness: f64,
    /// What was supposed, in words.
    pub what: String,
    /// Share of the named fabric's bound.
    pub share: f64,
}

/// The fabric that is named, and what was seen of large messages.
pub struct Seen<'a> {
    /// The fabric.
    pub source: &'a Source,
    /// Its nodes, where they are stated.
    pub nodes: Option<u32>,
    /// A number of large messages, with its bound.
    pub largest: &'a Record,
    /// What was reached: of the bound, or of what others reach.
    pub level: f64,
    /// Whether `level` is of the bound, which sound machines do not reach wholly.
    pub is_of_bound: bool,
}

impl Seen<'_> {
    /// The best of the suppositions; `None` where none can be asked.
    pub fn best(&self, what_if: &WhatIf, limits: &Thresholds) -> Option<Prediction> {
        let mut all = Vec::new();
        if let Some(role) = &what_if.role {
            all.extend(what_if.rates.iter().filter_map(|&rate| {
                Some((format!("at {rate} of the rate of its {role}"), self.with_slower(role, rate)?))
            }));
        }
        all.extend(what_if.shares.iter().map(|&share| (format!("{share} of the bound"), share)));
        all.extend(
            what_if.factors.iter().map(|&factor| (format!("numbers are {factor} times what they mean"), factor)),
        );
        if what_if.catalog {
            all.extend(self.of_catalog());
        }
        let judged = all.into_iter().map(|(what, share)| {
            // What leaves the bound as it is explains nothing.
            let changes = (share - 1.0).abs() > limits.apart_large / 2.0;
            let usual = if self.is_of_bound { limits.healthy_large.sqrt() } else { 1.0 };
            let off = maths::ln(self.level / (share * usual)).abs();
            let closeness = if changes { (1.0 - off / limits.near).max(0.0) } else { 0.0 };
            Prediction { closeness, what, share }
        });
        judged.reduce(|best, next| if next.closeness > best.closeness { next } else { best })
    }

    /// The share of the bound that is left where a resource has a part of its rate.
    fn with_slower(&self, role: &str, rate: f64) -> Option<f64> {
        if role == "switch-link" {
            // Which cables the pair's packets cross is not known without a dump: one that crosses it has the rate's share.
            return Some(rate);
        }
        let mut spec = self.source.spec().clone();
        let resource = spec.resources.get_mut(&catalog::role_named(role)?)?;
        for own in [resource.gross.as_mut(), resource.measured.as_mut()].into_iter().flatten() {
            own.value = Rate((own.value.0 as f64 * rate) as u64);
        }
        self.share(self.source.varied(spec))
    }

    /// Every other fabric of the catalog, with the share of the named one's bound that its own is.
    fn of_catalog(&self) -> Vec<(String, f64)> {
        let others = Library::user().list("fabrics").into_iter().filter(|listed| listed.name != self.source.name());
        let open = others.filter_map(|listed| {
            let source = Source::open(&listed.name).ok()?;
            Some((format!("as {} allows", listed.name), self.share(source)?))
        });
        open.collect()
    }

    fn share(&self, source: Source) -> Option<f64> {
        let other = match self.largest.number("bus_bandwidth_MBps") {
            Some(_) => Bus::of(source, RATES).add(self.largest.clone()),
            None => Bounds::of(source, self.nodes).add(self.largest.clone()),
        };
        let other = other.ok()?;
        ["bound_bandwidth_MBps", "bound_bus_bandwidth_MBps"]
            .into_iter()
            .find_map(|key| Some(other.number(key)? / self.largest.number(key)?))
            .or_else(|| Some(self.largest.number("bound_latency_us")? / other.number("bound_latency_us")?))
            .filter(|share| share.is_finite() && *share > 0.0)
    }
}
