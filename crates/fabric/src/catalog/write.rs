//! A fabric as a catalog file: what `calibrate` writes. Reading it back gives the same fabric.

use super::read::{ITEMS, ROLES, ROUTINGS};
use super::vocabulary::parameter_named;
use crate::barrier::BarrierSpec;
use crate::numbers::times;
use crate::routing::Paths;
use crate::sheet::unit::Dimension;
use crate::sheet::{STATUSES, name_of};
use crate::spec::{FabricSpec, ResourceSpec, Value};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// The fabric as one self-contained TOML file: all numbers are in it, no part is named.
///
/// A value whose unit is not of its dimension, or a parameter outside the vocabulary, does not read back. Such a spec
/// does not come from a catalog file.
pub fn to_toml(spec: &FabricSpec) -> String {
    let mut out = String::new();
    field(&mut out, "name", quoted(&spec.name));
    field(&mut out, "title", quoted(&spec.title));
    field(&mut out, "routing", quoted(name_of(ROUTINGS, &spec.routing)));
    field(&mut out, "technology", quoted(spec.technology.name));
    if spec.paths != spec.technology.paths.value {
        field(&mut out, "paths", quoted(name_of(Paths::NAMES, &spec.paths)));
    }
    topology(&mut out, spec);
    for (role, resource) in &spec.resources {
        heading(&mut out, &format!("resource.{}", name_of(ROLES, role)));
        write_resource(&mut out, resource, &|key| spec.ranges.get(&format!("resource.{}.{key}", name_of(ROLES, role))));
    }
    heading(&mut out, "packet");
    let packet = &spec.packet;
    let range = |key: &str| spec.ranges.get(key);
    if let Some(most) = &packet.payload_max_bytes {
        let base = (most.value as f64, range("packet.payload_max"));
        value_within(&mut out, "payload_max", most, base, Dimension::Size);
    }
    let (overhead, per_hop) = (&packet.overhead_bytes, &packet.overhead_per_hop_bytes);
    value_within(&mut out, "overhead", overhead, (overhead.value, range("packet.overhead")), Dimension::Size);
    let base = (per_hop.value, range("packet.overhead_per_hop"));
    value_within(&mut out, "overhead_per_hop", per_hop, base, Dimension::Size);
    if !spec.parameters.is_empty() {
        write_parameters(&mut out, spec.parameters.iter(), &spec.ranges);
    }
    if let Some(barrier) = &spec.barrier {
        write_tree(&mut out, "barrier", barrier, &range);
    }
    if let Some(reduction) = &spec.reduction {
        write_tree(&mut out, "reduction", &reduction.tree, &range);
        let base = (reduction.segment.value as f64, range("reduction.segment"));
        value_within(&mut out, "segment", &reduction.segment, base, Dimension::Size);
        let base = (reduction.rate.value.0 as f64, range("reduction.rate"));
        value_within(&mut out, "rate", &reduction.rate, base, Dimension::Rate);
    }
    if let Some(prices) = spec.prices.as_ref().filter(|prices| prices.varied.is_none()) {
        heading(&mut out, "prices");
        field(&mut out, "list", quoted(&prices.list));
        prices.items.iter().for_each(|(kind, item)| field(&mut out, name_of(ITEMS, kind), quoted(item)));
        if let Some(short) = &prices.short {
            heading(&mut out, "prices.short");
            field(&mut out, "item", quoted(&short.item));
            short.pieces.iter().for_each(|(kind, pieces)| field(&mut out, name_of(ITEMS, kind), pieces));
        }
    }
    out
}

/// A node's own values as a part of a catalog, which a fabric names in its `parts`; ranges in base units by dotted key.
pub fn host_to_toml(
    title: &str,
    parameters: &BTreeMap<String, Value<f64>>,
    ranges: &BTreeMap<String, [f64; 2]>,
) -> String {
    let mut out = String::new();
    field(&mut out, "kind", quoted("host"));
    field(&mut out, "title", quoted(title));
    write_parameters(&mut out, parameters.iter(), ranges);
    out
}

fn write_parameters<'v>(
    out: &mut String,
    parameters: impl Iterator<Item = (&'v String, &'v Value<f64>)>,
    ranges: &BTreeMap<String, [f64; 2]>,
) {
    heading(out, "parameter");
    for (name, number) in parameters {
        let dimension = parameter_named(name).map_or(Dimension::Count, |parameter| parameter.dimension);
        let range = ranges.get(&format!("parameter.{name}"));
        value_within(out, name, number, (number.value, range), dimension);
    }
}

fn write_resource<'r>(out: &mut String, resource: &ResourceSpec, range: &dyn Fn(&str) -> Option<&'r [f64; 2]>) {
    field(out, "name", quoted(&resource.name));
    for (key, rate) in [("gross", &resource.gross), ("measured", &resource.measured)] {
        if let Some(rate) = rate {
            value_within(out, key, rate, (rate.value.0 as f64, range(key)), Dimension::Rate);
        }
    }
    let latency = &resource.latency;
    value_within(out, "latency", latency, (latency.value.0 as f64, range("latency")), Dimension::Time);
    if resource.half_duplex {
        field(out, "half_duplex", true);
    }
}

fn write_tree<'r>(out: &mut String, table: &str, barrier: &BarrierSpec, range: &dyn Fn(&str) -> Option<&'r [f64; 2]>) {
    heading(out, table);
    field(out, "name", quoted(&barrier.name));
    field(out, "arity", barrier.arity);
    let counts = [("machine_nodes", barrier.machine_nodes), ("partition_nodes", barrier.partition_nodes)];
    counts.iter().for_each(|(key, count)| count.iter().for_each(|count| field(out, key, count)));
    field(out, "channels", barrier.channels);
    field(out, "phases", barrier.phases);
    field(out, "source", quoted(&barrier.origin.source));
    field(out, "status", quoted(name_of(STATUSES, &barrier.origin.status)));
    for (key, time) in times(barrier) {
        let base = (time.value.0 as f64, range(&format!("{table}.{key}")));
        value_within(out, &key, time, base, Dimension::Time);
    }
}

fn topology(out: &mut String, spec: &FabricSpec) {
    heading(out, "topology");
    field(out, "kind", quoted(spec.topology.kind()));
    spec.topology.fields().iter().for_each(|(key, value)| field(out, key, value));
    field(out, "source", quoted(&spec.topology_origin.source));
    field(out, "status", quoted(name_of(STATUSES, &spec.topology_origin.status)));
}

fn heading(out: &mut String, name: &str) {
    let _ = writeln!(out, "\n[{name}]");
}

fn field(out: &mut String, key: &str, value: impl Display) {
    let _ = writeln!(out, "{key} = {value}");
}

/// A value in the unit that it states; `base` is in base units, with the least and greatest plausible value, if known.
fn value_within<T>(
    out: &mut String,
    key: &str,
    value: &Value<T>,
    (base, range): (f64, Option<&[f64; 2]>),
    dimension: Dimension,
) {
    let factor = dimension.factor(&value.unit).unwrap_or(1.0);
    let shown = base / factor;
    let (unit, source, status) = (quoted(&value.unit), quoted(&value.source), quoted(name_of(STATUSES, &value.status)));
    let range = range.map(|ends| ends.map(|end| number(end / factor)).join(", "));
    let range = range.map_or_else(String::new, |range| format!(", uncertainty = [{range}]"));
    let shown = number(shown);
    let _ = writeln!(out, "{key} = {{ value = {shown}, unit = {unit}, source = {source}, status = {status}{range} }}");
}

/// A float as TOML reads it back.
fn number(x: f64) -> String {
    toml::Value::Float(x).to_string()
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
