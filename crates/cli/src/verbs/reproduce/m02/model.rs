//! M02's models at any size: bandwidth by the closed forms and by load count, cost by the fitted prices.

use hotlink_fabric::catalog::{Library, Mistake};
use hotlink_fabric::forms::{self, FormResult};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::price::{Bill, PriceList};
use hotlink_fabric::spec::{Capacities, FabricSpec, ItemKind, Role, TopologySpec};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, load};
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
    specs: Vec<FabricSpec>,
    prices: PriceList,
}

impl Model {
    pub(super) fn open(library: &Library) -> Result<Model, Vec<Mistake>> {
        let names = SCI.iter().chain(&MYRINET);
        let specs = names.map(|name| library.fabric(name).map(|loaded| loaded.spec)).collect::<Result<_, _>>()?;
        Ok(Model { specs, prices: library.price_list("m02-2002")? })
    }

    pub(super) fn spec(&self, fabric: &str) -> &FabricSpec {
        self.specs.iter().find(|spec| spec.name == fabric).expect("one of M02's fabrics")
    }

    /// The closed form; every fabric here has one from 2 to 128 nodes.
    pub(super) fn form(&self, fabric: &str, nodes: u32, capacities: Capacities) -> FormResult {
        form(self.spec(fabric), nodes, capacities)
    }

    /// Bandwidth per node in MB/s.
    pub(super) fn bandwidth(&self, fabric: &str, nodes: u32, capacities: Capacities, tori: Tori) -> f64 {
        match (&self.spec(fabric).topology, tori) {
            (TopologySpec::Cube { dimensions, .. }, Tori::Continuous) => {
                self.continuous(fabric, f64::from(nodes), *dimensions, capacities)
            }
            _ => self.form(fabric, nodes, capacities).bandwidth_per_node_mbps,
        }
    }

    /// Eqs. 1 to 5 for any N, r = N^(1/f).
    pub(super) fn continuous(&self, fabric: &str, nodes: f64, dimensions: u32, capacities: Capacities) -> f64 {
        let r = nodes.powf(1.0 / f64::from(dimensions));
        let limit = |hot, role| forms::bandwidth_cube(nodes, hot, self.rate(fabric, role, capacities));
        let link = limit(forms::hot_link_cube(nodes, r), Role::Link);
        link.min(limit(forms::hot_b_link(nodes, r, dimensions), Role::BLink))
    }

    /// B_eff in MB/s of messages of 1 MiB, over one switch where there are switches.
    pub(super) fn rate(&self, fabric: &str, role: Role, capacities: Capacities) -> f64 {
        let spec = self.spec(fabric);
        let efficiency = spec.packet.efficiency(forms::MESSAGE_BYTES, 1.0);
        let rate = spec.resources.get(&role).and_then(|resource| resource.payload_rate(capacities, efficiency));
        rate.expect("M02 gives the rate") / 1e6
    }

    /// A ring of switches in either reading of `n links`, bandwidth per node in MB/s.
    pub(super) fn ring_of_switches(&self, fabric: &str, nodes: u32, capacities: Capacities, links: Links) -> f64 {
        let mut spec = self.spec(fabric).clone();
        if let TopologySpec::SwitchRing { links_per_switch, .. } = &mut spec.topology {
            *links_per_switch = links == Links::PerSwitch;
        }
        form(&spec, nodes, capacities).bandwidth_per_node_mbps
    }

    /// Bandwidth per node in MB/s that the load count allows; `None` where it is not counted.
    pub(super) fn counted(&self, fabric: &str, nodes: u32, capacities: Capacities) -> Option<f64> {
        let built = self.form(fabric, nodes, capacities).nodes_built;
        let fabric = (built <= COUNTED).then(|| Fabric::build(self.spec(fabric), nodes).ok())??;
        let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).ok()?;
        let bounds = load::count(&fabric, &demand).ok()?.bounds(&fabric, capacities, forms::MESSAGE_BYTES);
        Some(bounds.bandwidth_per_node_mbps)
    }

    /// The bill at the fitted prices.
    pub(super) fn bill(&self, fabric: &str, nodes: u32) -> Bill {
        let spec = self.spec(fabric);
        let prices = spec.prices.as_ref().expect("the six have prices");
        let nics = u64::from(nodes);
        let boxes = match spec.topology {
            TopologySpec::Cube { .. } => None,
            TopologySpec::Clos64 => Some((ItemKind::Enclosure, nics.div_ceil(64))),
            _ => {
                let switches = self.form(fabric, nodes, Capacities::Measured).switches;
                Some((ItemKind::Switch, u64::from(switches.expect("S of Eq. 6"))))
            }
        };
        let pieces = std::iter::once((ItemKind::Nic, nics)).chain(boxes).collect();
        self.prices.bill(prices, &Inventory { nodes: nics, pieces }).expect("the catalog's own items")
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
