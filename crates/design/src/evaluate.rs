//! What one variant is, costs and gives.

use crate::floor::Plan;
use crate::variants::Variant;
use crate::{Request, failure};
use hotlink_bench::{Record, Which};
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{routing_key, status_name, to_toml};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::spec::{Capacities, FabricSpec};
use hotlink_load::Load;
use hotlink_study::comparison::Priced;
use hotlink_study::model::{Counted, PatternQuestion, traffic};
use hotlink_study::options::Rates;
use hotlink_study::{Error, Source, Unwatched};
use std::collections::BTreeSet;

/// A variant with its answers.
pub(crate) struct Evaluated {
    /// The variant's row.
    pub record: Record,
    /// Lines of its bill, its cables by length.
    pub parts: Vec<Record>,
    source: Source,
    nodes: u32,
}

/// The collectives whose times are reported, each with the pattern of its bytes. That is all among all, or each rank to
/// the next in the order of the hosts.
pub const COLLECTIVES: [(Which, &str); 6] = [
    (Which::Alltoall, "all-to-all"),
    (Which::Allreduce, RING),
    (Which::Allgather, RING),
    (Which::ReduceScatter, RING),
    (Which::Bcast, RING),
    (Which::Reduce, RING),
];

const RING: &str = "permutation:shift:1";

/// The pattern of a collective.
///
/// # Errors
/// It is none of [`COLLECTIVES`].
pub fn collective(which: Which) -> Result<&'static str, Error> {
    let found = COLLECTIVES.iter().find(|(known, _)| *known == which).map(|(_, pattern)| *pattern);
    found.ok_or_else(|| {
        let allowed: Vec<&str> = COLLECTIVES.iter().map(|(which, _)| which.name()).collect();
        Error::Input(format!("collective {}: must be one of {}", which.name(), allowed.join(", ")))
    })
}

/// The collective of this name.
///
/// # Errors
/// It is none of [`COLLECTIVES`].
pub fn collective_named(name: &str) -> Result<Which, String> {
    let known = || COLLECTIVES.iter().map(|(which, _)| *which);
    known().find(|which| which.name() == name).ok_or_else(|| {
        let allowed: Vec<&str> = known().map(Which::name).collect();
        format!("`{name}`: must be one of {}", allowed.join(", "))
    })
}

/// Asks the load count and the price list about a variant.
pub(crate) fn evaluate(variant: &Variant, priced: &Priced, request: &Request) -> Result<Evaluated, String> {
    let floor = &request.floor;
    let mut fabric = variant.source.build(variant.nodes)?;
    let plan = Plan::of(&fabric, floor, variant.ports_per_host);
    let own = variant.source.spec();
    let prices = own.prices.as_ref();
    let prices = match (prices, priced.list()) {
        (Some(prices), Some(list)) => Some(plan.items(prices, list)),
        _ => None,
    };
    let source = variant.source.varied(FabricSpec { prices, ..own.clone() });
    let priced = priced.of(source.clone());
    let head = Record::new()
        .with("benchmark", "design")
        .with("kind", "variant")
        .with("fabric", variant.name.as_str())
        .with("technology", variant.label.as_str())
        .with("hosts", variant.hosts)
        .with("nodes", variant.nodes);
    let mut record = head.clone().with("method", "load").with("topology", variant.shape.as_str());
    if let Some(ratio) = variant.oversubscription {
        record.set("oversubscription", ratio);
    }
    if request.links_per_host > 1 {
        record.set("links_per_host", request.links_per_host);
    }
    record.set("holds_nodes", variant.most);
    record.set("size_B", request.size);
    fabric.spec = source.spec().clone();
    let (fabric, load) = bandwidths(fabric, variant.nodes, request, &mut record)?;
    add_failures(&fabric, &load, request, variant.ports_per_host, &mut record)?;
    record.set("racks", plan.racks);
    record.set("longest_cable_m", plan.longest_m());
    record.set("optics", plan.optics());
    record.set("floor", floor.told());
    // Priced as `compare` does, by the bandwidth of the exchange.
    let mut money =
        Record::new().with("bandwidth_per_node_MBps", record.number("all_to_all_MBps").unwrap_or(f64::INFINITY));
    priced.price(&fabric, &mut money)?;
    record = record.followed_by(money.without("bandwidth_per_node_MBps"));
    let mut parts = items(&head, &priced, &fabric)?;
    parts.extend(plan.records(&head));
    Ok(Evaluated { record, parts, source, nodes: variant.nodes })
}

/// A pattern's question.
fn question(name: &str, request: &Request) -> Result<PatternQuestion, String> {
    let traffic = traffic(name)?;
    Ok(PatternQuestion {
        traffic,
        capacities: Rates::Measured,
        size: request.size,
        seed: request.seed,
        samples: request.samples,
        hash_seeds: 0,
        paths: None,
    })
}

/// Adds what the patterns give; the load is that of all to all.
fn bandwidths(mut built: Fabric, nodes: u32, request: &Request, record: &mut Record) -> Result<(Fabric, Load), String> {
    record.set("routing", routing_key(built.spec.routing));
    record.set("paths", built.spec.paths.name());
    let share = |of: &Counted| {
        let injection = of.bounds.injection_mbps(&of.fabric, Capacities::Measured);
        Some(of.bounds.bandwidth_per_node_mbps / injection?).filter(|share| share.is_finite())
    };
    let counted = |name: &str, built: Fabric| -> Result<(Record, Counted), String> {
        let asked = question(name, request).and_then(|question| question.by_load(built, &Unwatched));
        asked.map_err(|why| format!("{name}: {why}"))
    };
    let ask = |name: &str, built: Fabric| {
        counted(name, built).map(|(answer, counted)| (answer, share(&counted), counted.fabric))
    };
    let mut exchange = None;
    let mut rate = [None; 2];
    let shown = [("all-to-all", "all_to_all"), ("bisection", "bisection"), ("permutation:random", "permutation")];
    for (name, key) in shown {
        let (answer, of) = counted(name, built)?;
        let mbps = answer.number("bandwidth_per_node_MBps");
        record.set(&format!("{key}_MBps"), mbps);
        record.set(&format!("{key}_share"), share(&of));
        built = of.fabric;
        match key {
            "all_to_all" => {
                rate[0] = mbps;
                exchange = Some(of.load);
                record.set("all_to_all_paths", answer.text("paths").unwrap_or_default());
                record.set("limiting_resource", answer.text("limiting_resource").unwrap_or_default());
                record.set("hot_link", answer.text("hot_link").unwrap_or_default());
            }
            "permutation" => {
                for end in ["min", "max"] {
                    let found = answer.number(&format!("{end}_bandwidth_per_node_MBps"));
                    record.set(&format!("permutation_{end}_MBps"), found);
                }
                record.set("samples", request.samples);
                record.set("seed", request.seed);
            }
            _ => {}
        }
    }
    for limit in &request.limits {
        let Some(name) = limit.traffic() else { continue };
        if record.get(&limit.key("")).is_none() {
            let own;
            (_, own, built) = ask(name, built)?;
            record.set(&limit.key(""), own);
        }
    }
    for &which in &request.collectives {
        let pattern = collective(which).map_err(|error| error.to_string())?;
        let place = usize::from(pattern == RING);
        if rate[place].is_none() {
            let answer;
            (answer, _, built) = ask(pattern, built)?;
            rate[place] = answer.number("bandwidth_per_node_MBps");
        }
        let bytes = which.moved(request.size as f64, f64::from(nodes));
        record.set(&format!("time_{}_us", which.name().replace('-', "_")), rate[place].map(|mbps| bytes / mbps));
    }
    exchange.map(|load| (built, load)).ok_or_else(|| "all-to-all was not asked for".to_owned())
}

fn add_failures(
    fabric: &Fabric,
    load: &Load,
    request: &Request,
    ports: u32,
    record: &mut Record,
) -> Result<(), String> {
    let asked = question("all-to-all", request)?;
    let before = record.number("all_to_all_MBps").unwrap_or(f64::INFINITY);
    let left = failure::left(fabric, (before, load), request.size, (asked.paths_on(fabric), request.seed))?;
    for (key, worst) in [("failed_cable", left.after_cable), ("failed_switch", left.after_switch)] {
        record.set(key, worst.as_ref().map(|(name, _)| name.as_str()));
        record.set(&format!("{key}_share"), worst.map(|(_, share)| share));
    }
    let hosts: BTreeSet<u32> = left.nodes_of_switch.iter().map(|node| node.0 / ports).collect();
    record.set("failed_switch_hosts", hosts.len());
    Ok(())
}

/// The lines of its bill.
fn items(head: &Record, priced: &Priced, fabric: &Fabric) -> Result<Vec<Record>, String> {
    let inventory = Inventory::of(fabric);
    let Some(bill) = priced.bill(&inventory)? else { return Ok(Vec::new()) };
    let row = |line: &hotlink_fabric::price::BillLine| {
        let currency = &bill.currency;
        let [low, high] = line.range;
        let watts = priced.list().and_then(|list| list.items.get(&line.item)?.power);
        let row = head
            .clone()
            .with("kind", "item")
            .with("item", line.item.as_str())
            .with("title", line.title.as_str())
            .with("count", line.count)
            .with(&format!("each_{currency}"), line.each.units())
            .with(&format!("cost_{currency}"), line.total.units())
            .with(&format!("cost_{currency}_low"), low.units())
            .with(&format!("cost_{currency}_high"), high.units())
            .with("prices_status", status_name(line.status));
        let keys = ["power_kW", "power_kW_low", "power_kW_high"].into_iter();
        keys.zip(watts.into_iter().flatten()).fold(row, |row, (key, one)| row.with(key, line.count as f64 * one / 1e3))
    };
    Ok(bill.lines.iter().map(row).collect())
}

impl Evaluated {
    /// Its network.
    pub fn build(&self) -> Result<Fabric, String> {
        self.source.build(self.nodes)
    }

    /// Whether nothing beats it.
    pub fn is_on_front(&self) -> bool {
        self.record.get("front").is_some_and(|front| front == true)
    }

    /// Its name and text as a fabric file.
    pub fn file(&self) -> (String, String) {
        (format!("{}.toml", self.source.name()), to_toml(self.source.spec()))
    }

    /// One random permutation, packet by packet.
    pub fn simulated(&self, request: &Request) -> Record {
        const SHOWN: [&str; 12] = [
            "traffic",
            "size_B",
            "bandwidth_per_node_MBps",
            "bound_bandwidth_per_node_MBps",
            "efficiency",
            "injection_per_node_MBps",
            "injection_share",
            "limiting_resource",
            "hot_link",
            "paths",
            "seed",
            "note",
        ];
        let text = |key: &str| self.record.text(key).unwrap_or_default().to_owned();
        let head = Record::new()
            .with("benchmark", "design")
            .with("kind", "simulated")
            .with("fabric", text("fabric"))
            .with("technology", text("technology"))
            .with("hosts", self.record.number("hosts").map(|hosts| hosts as u64))
            .with("nodes", self.nodes)
            .with("method", "packet");
        let asked = question("permutation:random", request);
        match asked.and_then(|question| question.by_packets(&self.source, self.nodes, &Unwatched)) {
            Ok(answer) => SHOWN.iter().fold(head, |head, &key| match answer.get(key) {
                Some(value) => head.with(key, value.clone()),
                None => head,
            }),
            Err(why) => head.with("note", why),
        }
    }
}
