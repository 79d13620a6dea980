//! `hotlink analyze`: one fabric at given sizes, by closed form and by load count, with what limits it.

use super::question::{PatternArgs, RoutesArgs, VariantArgs};
use crate::Failure;
use crate::values::{Counts, Numbers};
use crate::words::word;
use hotlink_bench::Record;
use hotlink_paper::comparison::{built_whole, split_evenly};
use hotlink_paper::{Output, Table, columns};
use hotlink_study::Source;
use hotlink_study::ask::{Detail, Measured, Method, Methods, Question, at_sizes};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink analyze sci-torus2d --nodes 4,9,16,25,64 --capacities measured
  hotlink analyze ib-ndr-fat-tree3 --nodes 16384 --json
  hotlink analyze eth-400g-leaf-spine --nodes 4096 --oversubscription 2
  hotlink analyze 'myrinet-ring4:groups=[8,3,6]' --nodes 17 --traffic same-switch:80
  hotlink analyze ib-ndr-fat-tree2 --nodes 64 --traffic uniform --size 4KiB --load 0.1..0.9
  hotlink analyze my-graph.json --traffic permutation:random --samples 200 --seed 1
  hotlink analyze ibnetdiscover.txt --routes opensm-lfts.dump --traffic permutation:shift:3 --links")]
pub(crate) struct Args {
    /// Fabric of the catalog, or a file: a fabric (.toml), a graph (.json), or a dump of your InfiniBand network
    /// (ibnetdiscover, iblinkinfo, opensm-subnet.lst).
    #[arg(value_name = "FABRIC|FILE")]
    fabric: String,
    #[command(flatten)]
    routes: RoutesArgs,
    #[command(flatten)]
    variant: VariantArgs,
    /// Numbers of nodes: a list or range, such as 4,9,16 or 2..128. A graph has its own.
    #[arg(long, value_name = "LIST")]
    nodes: Option<Counts>,
    #[command(flatten)]
    question: PatternArgs,
    /// Choose the engines that answer.
    #[arg(long, value_parser = word::<Methods>(), default_value_t = Methods::Both)]
    method: Methods,
    /// Explain the bound: the load of each kind of resource, and the share that it leaves to a node.
    #[arg(long)]
    why: bool,
    /// Vary the estimated and assumed inputs within their stated uncertainty: adds the bandwidth's interval and the inputs
    /// that move it, the strongest first.
    #[arg(long)]
    sensitivity: bool,
    /// Add the mean latency at these shares of the bandwidth that the load count allows, with every resource as a queue.
    /// Needs messages of one packet to random nodes (--traffic uniform --size 4KiB), and switches that pass packets on as
    /// they arrive.
    #[arg(long, value_name = "LIST")]
    load: Option<Numbers>,
    /// Add a record for every resource that carries load.
    #[arg(long)]
    links: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let fabric = args.routes.of(&args.variant.of(&args.fabric));
    let source = Source::open_as(&fabric, args.question.technology)?;
    let sizes = source.sizes(args.nodes.as_ref())?;
    // Benchmarks are measured; no measurement answers a pattern of traffic.
    let measured = Measured(Vec::new());
    args.question.need_counts(args.method.asks(Method::Load))?;
    output.end_with_reader();
    let (mut rows, mut resources, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let progress = output.ticking("analyze", sizes.len() as u64 * args.question.pattern()?.draws());
    let detail = Detail { deadlock: true, links: args.links, why: args.why };
    let loads = args.load.as_ref().map_or_else(Vec::new, |loads| loads.to_vec());
    let question = Question { detail, loads, ..args.question.question(&fabric, 2) };
    let (asked, of) = ((&question, &sizes[..]), (&args.method.engines(&measured)[..], args.method == Methods::All));
    at_sizes(asked, &source, of, output.vary(args.sensitivity), &*progress, &mut |given| {
        output.push_all(given.records.iter().cloned());
        rows.extend(given.records);
        resources.extend(given.more);
        notes.extend(given.notes);
        !output.is_closed()
    })?;
    let unanswered = |row: &Record| Some(format!("{} nodes: {}", row.number("nodes")?, row.text("note")?));
    let unanswered: Vec<String> = rows.iter().filter_map(unanswered).collect();
    let notes = deadlocks(&rows)
        .into_iter()
        .chain(unreachable(&rows))
        .chain(split_evenly(rows.iter()))
        .chain(built_whole(rows.iter()))
        .chain(averaged(&rows))
        .chain(unanswered)
        .chain(notes)
        .collect();
    output.table(Table { notes, ..Table::of_columns(&rows, columns::ANALYZE) });
    let (queued, links): (Vec<Record>, Vec<Record>) =
        resources.iter().cloned().partition(|record| record.get("offered_per_node_MBps").is_some());
    for parts in [links, queued] {
        if !parts.is_empty() {
            output.table(Table::of(&parts));
        }
    }
    output.push_all(resources);
    Ok(())
}

/// What an average beyond the injection limit means: no node gets it.
fn averaged(rows: &[Record]) -> Option<String> {
    let is_beyond = |row: &Record| {
        let ends = row.number("average_bandwidth_per_node_MBps").zip(row.number("injection_per_node_MBps"));
        ends.is_some_and(|(average, injection)| average > injection)
    };
    rows.iter().any(is_beyond).then(|| {
        "links averaged: what the links between switches would allow if all carried the average. Beyond the node's own \
         injection limit no node gets it: a better routing would reach the injection limit"
            .to_owned()
    })
}

/// Pairs that were left out, since they have no route.
fn unreachable(rows: &[Record]) -> Vec<String> {
    let told = |row: &Record| {
        let (pairs, named) = (row.number("unreachable_pairs")?, row.text("unreachable")?);
        Some(format!("{pairs} pairs have no route and are left out: {named}"))
    };
    rows.iter().filter_map(told).collect()
}

/// The line about deadlock: none, where every size is free of it.
fn deadlocks(rows: &[Record]) -> Vec<String> {
    let told = |row: &Record| {
        let is_free = row.get("deadlock_free").is_none_or(|free| free == true);
        let (nodes, deadlock) = (row.number("nodes")?, row.text("deadlock")?);
        (!is_free).then(|| format!("{nodes} nodes: {deadlock}"))
    };
    rows.iter().filter_map(told).collect()
}
