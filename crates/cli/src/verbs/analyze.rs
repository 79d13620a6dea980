//! `hotlink analyze`: one fabric at given sizes, by closed form and by load count, with what limits it.

use crate::model::{Counted, Method, QuestionArgs};
use crate::table::Table;
use crate::{Failure, output::Output, source::Source, values::Counts};
use hotlink_bench::Record;
use hotlink_fabric::deadlock;
use hotlink_fabric::network::{Channel, Resource, Vertex};
use serde_json::Value;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink analyze sci-torus2d --nodes 4,9,16,25,64 --capacities measured
  hotlink analyze ib-ndr-fat-tree3 --nodes 16384 --json
  hotlink analyze my-graph.json --traffic permutation:random --samples 200 --seed 1")]
pub(crate) struct Args {
    /// A fabric of the catalog, or a file: a fabric (.toml) or a graph (.json).
    #[arg(value_name = "FABRIC|FILE")]
    fabric: String,
    /// Sizes: a list or range, such as 4,9,16 or 2..128 (a graph has its own size).
    #[arg(long, value_name = "LIST")]
    nodes: Option<Counts>,
    #[command(flatten)]
    question: QuestionArgs,
    /// Closed form, load count, or both.
    #[arg(long, value_enum, default_value_t = Method::Both)]
    method: Method,
    /// Add a record for every resource that carries load.
    #[arg(long)]
    links: bool,
}

/// What the table for people shows; the other formats have every key.
const SHOWN: [(&str, &str); 13] = [
    ("fabric", "fabric"),
    ("nodes", "nodes"),
    ("nodes_built", "built"),
    ("traffic", "traffic"),
    ("capacities", "capacities"),
    ("method", "method"),
    ("bandwidth_per_node_MBps", "MB/s per node"),
    ("min_bandwidth_per_node_MBps", "least"),
    ("max_bandwidth_per_node_MBps", "greatest"),
    ("average_bandwidth_per_node_MBps", "links averaged"),
    ("efficiency", "efficiency"),
    ("limiting_resource", "limited by"),
    ("hot_link", "hot link"),
];

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let source = Source::open(&args.fabric)?;
    let sizes = source.sizes(args.nodes.as_ref())?;
    let (mut rows, mut resources) = (Vec::new(), Vec::new());
    let progress = output.progress("analyze", sizes.len() as u64 * args.question.draws());
    for nodes in sizes {
        let at = |what: String| Failure::Input(format!("{} with {nodes} nodes: {what}", source.name()));
        let form = (args.method != Method::Load).then(|| source.spec()).flatten();
        let form = form.and_then(|spec| args.question.by_formula(spec, nodes));
        if form.is_none() && args.method == Method::Formula {
            return Err(at("there is no closed form for this topology, size or traffic; try --method load".to_owned()));
        }
        rows.extend(form);
        if args.method != Method::Formula {
            let fabric = source.build(nodes).map_err(at)?;
            let (mut record, counted) = args.question.by_load(fabric, &|| progress.step()).map_err(at)?;
            add_deadlock(&counted, &mut record);
            if args.links {
                resources.extend(per_resource(&record, &counted));
            }
            rows.push(record);
        }
    }
    output.table(Table { notes: deadlocks(&rows), ..Table::of_columns(&rows, &SHOWN) });
    if args.links {
        output.table(Table::of(&resources));
    }
    rows.into_iter().chain(resources).for_each(|record| output.push(record));
    Ok(())
}

/// What people need to know of deadlock: nothing, where every size is free of it.
fn deadlocks(rows: &[Record]) -> Vec<String> {
    let told = |row: &Record| {
        let is_free = row.get("deadlock_free").is_none_or(|free| free == true);
        let (nodes, deadlock) = (row.number("nodes")?, row.text("deadlock")?);
        (!is_free).then(|| format!("{nodes} nodes: {deadlock}"))
    };
    rows.iter().filter_map(told).collect()
}

/// Whether the routing can deadlock, and why (not). Unknown for fabrics too large to follow every route.
fn add_deadlock(counted: &Counted, record: &mut Record) {
    match deadlock::check(&counted.fabric) {
        Ok(report) => {
            record.set("deadlock_free", report.is_free());
            record.set("deadlock", report.sentence(&counted.fabric));
        }
        Err(why) => {
            record.set("deadlock_free", Value::Null);
            record.set("deadlock", why.to_string());
        }
    }
}

/// One record for every resource with load, the fabric's head in front.
fn per_resource(head: &Record, counted: &Counted) -> Vec<Record> {
    let Counted { fabric, load, .. } = counted;
    let network = &fabric.network;
    let vertices = (network.nodes..network.vertices() as u32).map(|v| Resource::Vertex(Vertex(v)));
    let channels = (0..network.channels() as u32).map(|c| Resource::Channel(Channel(c)));
    let hosts = network.node_iter().flat_map(|n| network.host_roles.iter().map(move |&role| Resource::Host(n, role)));
    let keys = ["fabric", "nodes", "nodes_built", "traffic"];
    let base = keys.iter().filter_map(|&key| Some((key, head.get(key)?.clone())));
    let base = base.fold(Record::new(), |record, (key, value)| record.with(key, value));
    let all = vertices.chain(channels).chain(hosts).map(|resource| (resource, load.of(fabric, resource)));
    all.filter(|&(_, load)| load > 0.0)
        .map(|(resource, load)| {
            let role = fabric.role_name(network.role(resource));
            base.clone()
                .with("method", "load")
                .with("resource", fabric.resource_name(resource))
                .with("role", role)
                .with("load", load)
        })
        .collect()
}
