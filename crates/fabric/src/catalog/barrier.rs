//! The `[barrier]` and `[reduction]` tables.

use super::vocabulary::MOST;
use crate::barrier::{BarrierSpec, MOST_NODES};
use crate::reduction::ReductionSpec;
use crate::sheet::unit::Dimension;
use crate::sheet::{STATUSES, Table};
use crate::spec::{Origin, Value};
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// Reads the `[barrier]` table.
pub(super) fn read_barrier(table: Table<'_>) -> Option<BarrierSpec> {
    let tree = read_tree(&table);
    table.finish();
    tree
}

/// Reads the `[reduction]` table: a tree, and what it carries.
pub(super) fn read_reduction(table: Table<'_>) -> Option<ReductionSpec> {
    let tree = read_tree(&table);
    let number = |key: &str, dimension, least: f64| {
        if !table.has(key) {
            table.missing(key, "{ value, unit, source, status }");
        }
        let value: Option<Value<f64>> = table.value_opt(key, dimension, least..=MOST);
        value.map(|value| value.map(|base| base.round() as u64))
    };
    let (segment, rate) = (number("segment", Dimension::Size, 1.0), number("rate", Dimension::Rate, 1.0));
    table.finish();
    Some(ReductionSpec { tree: tree?, segment: segment?, rate: rate?.map(Rate) })
}

/// Reads a tree: counts under one `source` and `status`, times each with their own.
fn read_tree(table: &Table<'_>) -> Option<BarrierSpec> {
    let time = |key: &str| {
        let value: Option<Value<f64>> = table.value_opt(key, Dimension::Time, 0.0..=MOST / 1e6);
        value.map(|value| value.map(|base| Time(base.round() as u64)))
    };
    let needed = |key: &str| {
        if !table.has(key) {
            table.missing(key, "{ value, unit, source, status }");
        }
        time(key)
    };
    let name = table.text("name");
    let arity = table.count("arity", 2..=65_536);
    let machine_nodes = table.count_opt("machine_nodes", 2..=MOST_NODES);
    let partition_nodes = table.count_opt("partition_nodes", 1..=MOST_NODES);
    let channels = table.count_opt("channels", 1..=4096).unwrap_or(1);
    let phases = table.count_opt("phases", 1..=2).unwrap_or(1);
    let (source, status) = (table.text("source"), table.choice("status", STATUSES));
    if let (Some(source), Some(status)) = (&source, status) {
        table.record_counts(source, status);
    }
    let (enter, read, hop, gate) = (needed("enter"), needed("read"), needed("hop"), needed("gate"));
    if let Some(read) = read.as_ref().filter(|read| read.value.0 == 0) {
        table.wrong("read", format!("{} ps: polling would never take time", read.value.0), "above 0");
    }
    let (gate_per_input, serial, software) = (time("gate_per_input"), time("serial"), time("software"));
    let processing = read_processing(table, arity);
    Some(BarrierSpec {
        name: name?,
        arity: arity?,
        machine_nodes,
        partition_nodes,
        channels,
        phases,
        origin: Origin { source: source?, status: status? },
        enter: enter?,
        read: read?,
        hop: hop?,
        gate: gate?,
        processing: processing?,
        gate_per_input,
        serial,
        software,
    })
}

/// The `[barrier.processing]` table: o_p of whole networks, keyed by their largest number of nodes. Empty where it is
/// absent; `None` where a key is wrong.
fn read_processing(table: &Table<'_>, arity: Option<u32>) -> Option<BTreeMap<u32, Value<Time>>> {
    let Some(rows) = table.table_opt("processing") else { return Some(BTreeMap::new()) };
    let mut processing = BTreeMap::new();
    let mut right = true;
    for key in rows.keys() {
        match key.parse::<u32>().ok().filter(|nodes| (2..=arity.unwrap_or(MOST_NODES)).contains(nodes)) {
            Some(nodes) => {
                let value: Option<Value<f64>> = rows.value_opt(&key, Dimension::Time, 0.0..=MOST / 1e6);
                processing.extend(value.map(|value| (nodes, value.map(|base| Time(base.round() as u64)))));
            }
            None => {
                right = false;
                rows.value_opt(&key, Dimension::Time, 0.0..=MOST / 1e6);
                rows.wrong(&key, "is no number of nodes of one device", "2 to the arity");
            }
        }
    }
    rows.finish();
    right.then_some(processing)
}
