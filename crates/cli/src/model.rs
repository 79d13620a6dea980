//! What the engines say about a fabric of some size, as records: the words shared by `analyze` and `compare`.

use crate::values::Size;
use hotlink_bench::Record;
use hotlink_fabric::bound::Bounds;
use hotlink_fabric::load::{self, Load};
use hotlink_fabric::network::{Resource, Vertex};
use hotlink_fabric::spec::{Capacities, FabricSpec};
use hotlink_fabric::split::{self, SwitchSplit};
use hotlink_fabric::traffic::{Demand, Traffic, sample_seed};
use hotlink_fabric::{Fabric, forms};

/// Options that say what is asked of the engines.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct QuestionArgs {
    /// Who sends to whom: all-to-all, uniform, permutation:random, permutation:shift:K, permutation:transpose,
    /// permutation:bit-reversal, bisection, nearest-neighbour, hot-spot, or matrix:FILE.csv.
    #[arg(long, value_name = "PATTERN", default_value = "all-to-all", value_parser = traffic)]
    traffic: Traffic,
    /// Rates of the resources: theoretical (gross rate x packet efficiency) or measured where a measurement is known.
    #[arg(long, value_enum, default_value_t = Rates::Measured)]
    capacities: Rates,
    /// Message size; packet overhead depends on it.
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    size: Size,
    /// Seed of random traffic.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draws of random traffic; the records give median, least and greatest.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    samples: u64,
}

/// Reads a pattern; a matrix from its file.
fn traffic(text: &str) -> Result<Traffic, String> {
    Traffic::parse(text, |file| std::fs::read_to_string(file)).map_err(|error| error.to_string())
}

/// `--capacities`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Rates {
    /// Gross rate x packet efficiency.
    Theoretical,
    /// The measured saturation rate where there is one, else theoretical.
    Measured,
}

impl Rates {
    fn capacities(self) -> Capacities {
        match self {
            Rates::Theoretical => Capacities::Theoretical,
            Rates::Measured => Capacities::Measured,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Rates::Theoretical => "theoretical",
            Rates::Measured => "measured",
        }
    }
}

/// `--method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Method {
    /// M02's closed forms, where there is one.
    Formula,
    /// Flows counted over real routes.
    Load,
    /// Both.
    Both,
}

/// A fabric built for a size, with its load under one draw of the traffic.
pub(crate) struct Counted {
    pub(crate) fabric: Fabric,
    demand: Demand,
    pub(crate) load: Load,
    pub(crate) bounds: Bounds,
}

impl QuestionArgs {
    fn head(&self, fabric: &str, nodes: u32, built: u64, method: &str) -> Record {
        Record::new()
            .with("fabric", fabric)
            .with("nodes", nodes)
            .with("nodes_built", built)
            .with("traffic", self.traffic.to_string())
            .with("capacities", self.capacities.name())
            .with("method", method)
            .with("size_B", self.size.0)
    }

    /// The closed form's record; `None` where there is no equation for this topology, size or traffic.
    pub(crate) fn by_formula(&self, spec: &FabricSpec, nodes: u32) -> Option<Record> {
        if self.traffic != Traffic::AllToAll {
            return None;
        }
        let form = forms::for_fabric(spec, nodes, self.capacities.capacities(), self.size.0)?;
        let bound = Fabric::build(spec, nodes)
            .ok()
            .and_then(|fabric| fabric.injection_mbps(self.capacities.capacities(), form.efficiency));
        let bandwidth = form.bandwidth_per_node_mbps;
        let mut record = with_bandwidth(self.head(&spec.name, nodes, form.nodes_built, "formula"), bandwidth, bound);
        record.set("limiting_resource", form.limiting_resource);
        let terms = [
            ("hot_link_packets", form.hot_link),
            ("hot_b_link_packets", form.hot_b_link),
            ("switches", form.switches.map(f64::from)),
            ("nodes_per_switch", form.nodes_per_switch),
            ("hops_between_switches", form.hops),
            ("switch_to_switch_MBps", form.sw2sw_mbps),
            ("same_switch_MBps", form.same_switch_mbps),
        ];
        for (key, term) in terms {
            if let Some(term) = term {
                record.set(key, term);
            }
        }
        Some(record)
    }

    /// The row of a size that has no answer, with the reason.
    pub(crate) fn unanswered(&self, fabric: &str, nodes: u32, why: &str) -> Record {
        Record::new()
            .with("kind", "fabric")
            .with("fabric", fabric)
            .with("nodes", nodes)
            .with("traffic", self.traffic.to_string())
            .with("capacities", self.capacities.name())
            .with("size_B", self.size.0)
            .with("note", why)
    }

    /// M02's view of switches (Eqs. 10 to 12): the links between them averaged, and the bandwidths within and between
    /// switches averaged over a node's partners.
    fn add_split(&self, counted: &Counted, record: &mut Record) {
        let Counted { fabric, demand, load, bounds } = counted;
        let rate =
            |channel| fabric.payload_mbps(Resource::Channel(channel), self.capacities.capacities(), bounds.efficiency);
        let link = rate(fabric.network.port(Vertex(0), 0));
        let between = split::hottest_between(fabric, load).and_then(rate);
        let split = SwitchSplit::of(fabric, demand, load).filter(|split| split.channels > 0);
        let (Some(split), Some(link), Some(between)) = (split, link, between) else { return };
        let bandwidth = split.bandwidth(between, link);
        record.set("average_bandwidth_per_node_MBps", bandwidth.overall_mbps);
        record.set("nodes_per_switch", split.nodes_per_switch);
        record.set("hops_between_switches", split.hops);
        record.set("switch_to_switch_MBps", bandwidth.between_mbps);
        record.set("switch_to_switch_hottest_MBps", bandwidth.between_hottest_mbps);
        record.set("same_switch_MBps", bandwidth.same_mbps);
    }

    /// The load of one draw of the traffic.
    fn count(&self, fabric: Fabric, draw: u64) -> Result<Counted, String> {
        let demand = self.traffic.demand(fabric.nodes(), sample_seed(self.seed, draw)).map_err(|e| e.to_string())?;
        let load = load::count(&fabric, &demand).map_err(|e| e.to_string())?;
        let bounds = load.bounds(&fabric, self.capacities.capacities(), self.size.0);
        Ok(Counted { fabric, demand, load, bounds })
    }

    /// The load count's record, and the load of the (first) draw. Random traffic is drawn `--samples` times: the
    /// bandwidth is the median, and all else is of the first draw.
    pub(crate) fn by_load(&self, fabric: Fabric, step: &dyn Fn()) -> Result<(Record, Counted), String> {
        let (mut record, mut counted) = self.one_load(fabric)?;
        step();
        if self.traffic.is_random() {
            let mut draws = vec![counted.bounds.bandwidth_per_node_mbps];
            for draw in 1..self.samples {
                let next = self.count(counted.fabric, draw)?;
                draws.push(next.bounds.bandwidth_per_node_mbps);
                counted = Counted { fabric: next.fabric, ..counted };
                step();
            }
            // A draw in which every node sends to itself is limited by nothing.
            draws.retain(|bandwidth| bandwidth.is_finite());
            add_spread(&mut record, draws);
            record.set("samples", self.samples);
            record.set("seed", self.seed);
        }
        Ok((record, counted))
    }

    /// How many draws a size takes: steps of progress.
    pub(crate) fn draws(&self) -> u64 {
        if self.traffic.is_random() { self.samples } else { 1 }
    }

    fn one_load(&self, fabric: Fabric) -> Result<(Record, Counted), String> {
        let counted = self.count(fabric, 0)?;
        let Counted { fabric, bounds, .. } = &counted;
        let bound = fabric.injection_mbps(self.capacities.capacities(), bounds.efficiency);
        let head = self.head(&fabric.spec.name, fabric.asked, u64::from(fabric.nodes()), "load");
        let mut record = with_bandwidth(head, bounds.bandwidth_per_node_mbps, bound);
        if let Some(limit) = bounds.limiting() {
            record.set("limiting_resource", limit.name.as_str());
            record.set("hot_link", fabric.resource_name(limit.hottest));
            record.set("hot_links", limit.sharing);
            record.set("hot_link_load", limit.hottest_load);
            record.set("average_bandwidth_per_node_MBps", limit.average_bandwidth_per_node_mbps);
        }
        self.add_split(&counted, &mut record);
        Ok((record, counted))
    }
}

/// Makes the bandwidth the median of the draws, and says their number, least and greatest.
fn add_spread(record: &mut Record, mut draws: Vec<f64>) {
    draws.sort_by(f64::total_cmp);
    let (Some(&min), Some(&max)) = (draws.first(), draws.last()) else { return };
    let median = (draws[(draws.len() - 1) / 2] + draws[draws.len() / 2]) / 2.0;
    record.set("bandwidth_per_node_MBps", median);
    if let Some(bound) = record.number("bound_bandwidth_per_node_MBps") {
        record.set("efficiency", median / bound);
    }
    for (key, value) in [("median", median), ("min", min), ("max", max)] {
        record.set(&format!("{key}_bandwidth_per_node_MBps"), value);
    }
    record.set("n", draws.len());
}

/// Adds the bandwidth, the node's own injection limit and the share of it.
fn with_bandwidth(record: Record, bandwidth: f64, bound: Option<f64>) -> Record {
    let record = record.with("bandwidth_per_node_MBps", bandwidth);
    match bound {
        Some(bound) => record.with("bound_bandwidth_per_node_MBps", bound).with("efficiency", bandwidth / bound),
        None => record,
    }
}
