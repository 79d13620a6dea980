//! The `[barrier]` table.

use super::read::MOST;
use super::sheet::{STATUSES, Table};
use super::unit::Dimension;
use crate::barrier::{BarrierSpec, MOST_NODES};
use crate::spec::{Origin, Value};
use crate::units::Time;

/// Reads the table: counts under one `source` and `status`, times each with their own.
pub(super) fn read_barrier(table: Table<'_>) -> Option<BarrierSpec> {
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
    table.finish();
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
        gate_per_input,
        serial,
        software,
    })
}
