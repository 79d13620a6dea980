//! M02's models at any size: bandwidth by the closed forms and by load count, cost by the fitted prices.

use crate::evidence::Evidence;
use hotlink_bound::{Bounds, Limited};
use hotlink_fabric::catalog::{Library, Mistake};
use hotlink_fabric::forms::{self, FormResult};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::price::{Bill, PriceList};
use hotlink_fabric::spec::{Capacities, FabricSpec, Role, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{CubeSpec, SwitchRing};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, maths};
use hotlink_study::ask::Method;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// The SCI fabrics in the order of M02's legends.
pub(super) const SCI: [&str; 4] = ["sci-ring", "sci-torus2d", "sci-torus3d", "sci-torus4d"];
/// The Myrinet fabrics.
pub(super) const MYRINET: [&str; 4] = ["myrinet-minimal", "myrinet-clos64", "myrinet-ring4", "myrinet-ring2"];
/// The six of Figs. 13 to 15.
pub(super) const SIX: [&str; 6] =
    ["sci-torus2d", "sci-ring", "myrinet-minimal", "myrinet-clos64", "myrinet-ring4", "myrinet-ring2"];
/// The sizes of Figs. 9, 10 and 13 to 15.
pub(super) const SIZES: RangeInclusive<u32> = 2..=128;
/// Largest network whose routes are counted too.
const COUNTED: u64 = 1024;

/// How a torus of N nodes is modelled where N is no r^f.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tori {
    /// The next larger r^f.
    Padded,
    /// r = N^(1/f), not whole.
    Continuous,
    /// The same with the effective rates as M02 prints them, 444 and 427 MB/s (theoretical capacities only).
    ContinuousPrinted,
}

impl Tori {
    /// For people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Tori::Padded => "tori padded to r^f",
            Tori::Continuous => "continuous r",
            Tori::ContinuousPrinted => "continuous r, printed 444 and 427 MB/s",
        }
    }
}

/// What `n links` of a ring of switches means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// n between each adjacent pair.
    PerPair,
    /// n ports of each switch.
    PerSwitch,
}

/// The fabrics and prices.
pub(super) struct Model {
    /// With the routes that M02's equations count.
    specs: Vec<FabricSpec>,
    /// With the routes that packets take.
    built: Vec<FabricSpec>,
    prices: PriceList,
    /// Bandwidths counted so far by fabric, nodes built and capacities.
    counts: RefCell<BTreeMap<(String, u64, u8), Option<f64>>>,
    /// Bills so far by fabric and nodes.
    bills: RefCell<BTreeMap<(String, u32), Bill>>,
}

impl Model {
    pub(super) fn open(library: &Library) -> Result<Model, Vec<Mistake>> {
        let names = SCI.iter().chain(&MYRINET);
        let mut specs = names
            .map(|name| library.fabric(name).map(|loaded| loaded.spec))
            .collect::<Result<Vec<FabricSpec>, Vec<Mistake>>>()?;
        let built = specs.clone();
        // Eqs. 7 to 12 count shortest routes around a ring of switches, where packets would wait for each other for ever.
        let rings = specs.iter_mut().filter(|spec| spec.topology.get::<SwitchRing>().is_some());
        rings.for_each(|spec| spec.routing = RoutingSpec::ShortestEcmp);
        Ok(Model {
            specs,
            built,
            prices: library.price_list("m02-2002")?,
            counts: RefCell::default(),
            bills: RefCell::default(),
        })
    }

    pub(super) fn spec(&self, fabric: &str) -> &FabricSpec {
        named(&self.specs, fabric)
    }

    /// The fabric as it is built, with its own routes: up*/down* on rings of switches.
    pub(super) fn built(&self, fabric: &str) -> &FabricSpec {
        named(&self.built, fabric)
    }

    /// What closed forms and counted loads of a fabric rest on: what engines asked of it so far.
    pub(super) fn evidence(&self, method: Method, fabrics: &[&str]) -> Evidence {
        fabrics.iter().fold(Evidence::stated(), |all, fabric| all.and(Evidence::of(method, self.spec(fabric))))
    }

    /// What these fabrics' bills at these sizes rest on: the items of the price list that stand in them.
    pub(super) fn priced(&self, fabrics: &[&str], sizes: impl IntoIterator<Item = u32>) -> Evidence {
        let bills = sizes.into_iter().flat_map(|nodes| fabrics.iter().map(move |fabric| self.bill(fabric, nodes)));
        let items: BTreeSet<String> = bills.flat_map(|bill| bill.lines).map(|line| line.item).collect();
        let named = items.into_iter().map(|item| format!("{}/{item}", self.prices.name));
        Evidence::of_inputs(Method::Formula, named)
    }

    /// The closed form; every fabric here has one from 2 to 128 nodes.
    pub(super) fn form(&self, fabric: &str, nodes: u32, capacities: Capacities) -> FormResult {
        form(self.spec(fabric), nodes, capacities)
    }

    /// Bandwidth per node in MB/s.
    pub(super) fn bandwidth(&self, fabric: &str, nodes: u32, capacities: Capacities, tori: Tori) -> f64 {
        match self.spec(fabric).topology.get() {
            Some(CubeSpec { dimensions, .. }) if tori != Tori::Padded => {
                self.continuous(f64::from(nodes), *dimensions, capacities, tori)
            }
            _ => self.form(fabric, nodes, capacities).bandwidth_per_node_mbps,
        }
    }

    /// Eqs. 1 to 5 for any N, r = N^(1/f).
    pub(super) fn continuous(&self, nodes: f64, dimensions: u32, capacities: Capacities, tori: Tori) -> f64 {
        let r = maths::powf(nodes, 1.0 / f64::from(dimensions));
        let (link, b_link) = match tori {
            Tori::ContinuousPrinted => (444.0, 427.0),
            _ => (self.rate("sci-ring", Role::Link, capacities), self.rate("sci-ring", Role::BLink, capacities)),
        };
        let by_link = forms::bandwidth_cube(nodes, forms::hot_link_cube(nodes, r), link);
        by_link.min(forms::bandwidth_cube(nodes, forms::hot_b_link(nodes, r, dimensions), b_link))
    }

    /// B_eff in MB/s of messages of 1 MiB, over one switch where there are switches.
    pub(super) fn rate(&self, fabric: &str, role: Role, capacities: Capacities) -> f64 {
        let spec = self.spec(fabric);
        let efficiency = spec.packet().efficiency(forms::MESSAGE_BYTES, 1.0);
        let rate = spec.own_resource(role).and_then(|resource| resource.payload_rate(capacities, efficiency));
        rate.expect("M02 gives the rate") / 1e6
    }

    /// A ring of switches in either reading of `n links`, bandwidth per node in MB/s.
    pub(super) fn ring_of_switches(&self, fabric: &str, nodes: u32, capacities: Capacities, links: Links) -> f64 {
        let mut spec = self.spec(fabric).clone();
        if let Some(ring) = spec.topology.get::<SwitchRing>().cloned() {
            let links_per_switch = links == Links::PerSwitch;
            spec.topology = TopologySpec::new(SwitchRing { links_per_switch, ..ring });
        }
        form(&spec, nodes, capacities).bandwidth_per_node_mbps
    }

    /// Bandwidth per node in MB/s by the load count, averaged where the closed form averages. For a cube it is what the
    /// hottest link or B-Link allows, for switches Eq. 12 with the hot link of Eq. 6 counted. `None`: not counted.
    pub(super) fn counted(&self, fabric: &str, nodes: u32, capacities: Capacities) -> Option<f64> {
        let form = self.form(fabric, nodes, capacities);
        let asked = if form.switches.is_some() { u64::from(nodes) } else { form.nodes_built };
        let key = (fabric.to_owned(), asked, capacities as u8);
        if let Some(known) = self.counts.borrow().get(&key) {
            return *known;
        }
        let counted = match (form.switches, form.nodes_per_switch, form.same_switch_mbps) {
            (Some(2..), Some(k), Some(same)) => self
                .counted_sw2sw(fabric, nodes, capacities)
                .map(|(average, _)| forms::bandwidth_overall(f64::from(nodes), k, average, same)),
            _ => self.bounds(fabric, nodes, capacities).map(|bounds| bounds.bandwidth_per_node_mbps),
        };
        self.counts.borrow_mut().insert(key, counted);
        counted
    }

    /// Eq. 10 with the hot link counted over routes, in MB/s: by the average inter-switch link, as the equation takes
    /// it, and by the hottest.
    pub(super) fn counted_sw2sw(&self, fabric: &str, nodes: u32, capacities: Capacities) -> Option<(f64, f64)> {
        let form = self.form(fabric, nodes, capacities);
        let n = f64::from(nodes);
        let elsewhere = (n - form.nodes_per_switch?) / (n - 1.0);
        let bounds = self.bounds(fabric, nodes, capacities)?;
        let between = bounds.roles.iter().find(|role| role.role == Role::SwitchLink)?;
        let host = form.same_switch_mbps?;
        let of = |bandwidth: Option<f64>| bandwidth.map(|bandwidth| (bandwidth * elsewhere).min(host));
        Some((of(between.average_bandwidth_per_node_mbps)?, of(between.bandwidth_per_node_mbps)?))
    }

    /// The load count's bounds for an all-to-all; `None`: too large to count.
    pub(super) fn bounds(&self, fabric: &str, nodes: u32, capacities: Capacities) -> Option<Bounds> {
        let built = self.form(fabric, nodes, capacities).nodes_built;
        let fabric = (built <= COUNTED).then(|| Fabric::build(self.spec(fabric), nodes).ok())??;
        let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).ok()?;
        Some(hotlink_load::count(&fabric, &demand).ok()?.bounds(&fabric, capacities, forms::MESSAGE_BYTES))
    }

    /// The bill at the fitted prices for the built network.
    pub(super) fn bill(&self, fabric: &str, nodes: u32) -> Bill {
        let key = (fabric.to_owned(), nodes);
        if let Some(bill) = self.bills.borrow().get(&key) {
            return bill.clone();
        }
        let spec = self.spec(fabric);
        let prices = spec.prices.as_ref().expect("the six have prices");
        let built = Fabric::build(spec, nodes).expect("the six can be built for 2 to 128 nodes");
        let bill = self.prices.bill(prices, &Inventory::of(&built)).expect("the catalog's own items");
        self.bills.borrow_mut().insert(key, bill.clone());
        bill
    }

    /// Total cost in dollars.
    pub(super) fn cost(&self, fabric: &str, nodes: u32) -> f64 {
        self.bill(fabric, nodes).total.units()
    }

    /// Dollars per MB/s per node, calibrated.
    pub(super) fn cost_of_bandwidth(&self, fabric: &str, nodes: u32) -> f64 {
        let bandwidth = self.bandwidth(fabric, nodes, Capacities::Measured, Tori::Padded);
        self.bill(fabric, nodes).per_mbps_per_node(bandwidth)
    }
}

fn named<'a>(specs: &'a [FabricSpec], fabric: &str) -> &'a FabricSpec {
    specs.iter().find(|spec| spec.name == fabric).expect("one of M02's fabrics")
}

fn form(spec: &FabricSpec, nodes: u32, capacities: Capacities) -> FormResult {
    let form = forms::for_fabric(spec, nodes, capacities, forms::MESSAGE_BYTES);
    form.expect("M02 has an equation for each of its fabrics")
}

/// Sizes at which `holds`.
pub(super) fn sizes_where(sizes: impl IntoIterator<Item = u32>, holds: impl Fn(u32) -> bool) -> Vec<u32> {
    sizes.into_iter().filter(|nodes| holds(*nodes)).collect()
}

/// `a` is greater by more than rounding.
pub(super) fn above(a: f64, b: f64) -> bool {
    a > b * (1.0 + 1e-12)
}

/// Ascending sizes as ranges: `2..4, 9`.
pub(super) fn ranges(sizes: &[u32]) -> String {
    let runs = sizes.chunk_by(|a, b| a + 1 == *b).map(|run| match (run[0], run[run.len() - 1]) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}..{last}"),
    });
    let text = runs.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_rests_on_what_it_lists() {
        let model = Model::open(&Library::embedded()).expect("sound files");
        let of =
            |items: &[&str]| Evidence::of_inputs(Method::Formula, items.iter().map(|item| format!("m02-2002/{item}")));
        assert_eq!(model.priced(&["sci-ring"], SIZES), of(&["sci-adapter-1d"]));
        assert_eq!(model.priced(&["myrinet-clos64"], [64]), of(&["myrinet-clos64", "myrinet-nic"]));
        // No figure buys the adapter of a third dimension.
        assert_eq!(model.priced(&SIX, SIZES).taken_from(&["m02-2002/sci-adapter-3d".to_owned()]).count(), 0);
    }
}
