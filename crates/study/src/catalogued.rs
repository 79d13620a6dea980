//! Records of the catalog's contents: its files, their numbers, and the capacities that follow from these.

use crate::text::figure;
use crate::uses::Uses;
use hotlink_bench::Record;
use hotlink_fabric::catalog::vocabulary::PARAMETERS;
use hotlink_fabric::catalog::{Described, Entry, Kind, status_name};
use hotlink_fabric::forms;
use hotlink_fabric::numbers::TOPOLOGY;
use hotlink_fabric::spec::{FabricSpec, Role, Status};

/// The names that a file may state under `[parameter]`, with their units.
pub fn parameters() -> Vec<Record> {
    let record = |parameter: &hotlink_fabric::catalog::vocabulary::Parameter| {
        let record = Record::new().with("kind", "parameter").with("name", parameter.name);
        record.with("title", parameter.meaning).with("units", parameter.dimension.names())
    };
    PARAMETERS.iter().map(record).collect()
}

/// The name of a file's kind.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Fabric => "fabric",
        Kind::Part => "part",
        Kind::Prices => "prices",
        Kind::Published => "published",
    }
}

/// A file: its kind, and how many of its numbers have each status.
pub fn head(described: &Described) -> Record {
    let mut record = Record::new()
        .with("kind", kind_name(described.kind))
        .with("name", described.name.clone())
        .with("title", described.title.clone());
    for status in [Status::Published, Status::Measured, Status::Fitted, Status::Estimated] {
        let count = described.entries.iter().filter(|entry| entry.status == status).count();
        record.set(status_name(status), count);
    }
    record
}

/// The numbers of a file. Where the questions that use them are known, it adds these and the line of each number.
pub fn numbers(described: &Described, uses: Option<&Uses>) -> Vec<Record> {
    let record = |entry: &Entry| match (number(described, entry), uses) {
        (record, Some(uses)) => {
            record.with("place", entry.place.clone()).with("used_for", used_for(described, entry, uses))
        }
        (record, None) => record,
    };
    described.entries.iter().map(record).collect()
}

fn number(described: &Described, entry: &Entry) -> Record {
    Record::new()
        .with(kind_name(described.kind), described.name.clone())
        .with("key", entry.key.clone())
        .with("value", entry.value)
        .with("unit", entry.unit.clone())
        .with("status", status_name(entry.status))
        .with("source", entry.source.clone())
}

/// The questions that use a number, as the engines noted it when they were asked.
fn used_for(described: &Described, entry: &Entry, uses: &Uses) -> String {
    let key = if entry.key.starts_with("topology.") { TOPOLOGY } else { entry.key.as_str() };
    match (described.kind, uses.get(key)) {
        (Kind::Prices, _) => "compare (cost)".to_owned(),
        (Kind::Published, _) => "reproduce".to_owned(),
        (Kind::Part, _) => "by the fabrics that name this part: hotlink catalog show FABRIC --why".to_owned(),
        (Kind::Fabric, Some(questions)) => questions.join(", "),
        (Kind::Fabric, None) => "not used by any engine".to_owned(),
    }
}

/// Theoretical and measured capacity of each resource, and what they follow from.
pub fn derived(spec: &FabricSpec) -> Vec<Record> {
    let mut records = Vec::new();
    for (role, resource) in &spec.resources {
        let record = |word: &str, rate: f64, status: Status, source: String| {
            Record::new()
                .with("fabric", spec.name.clone())
                .with("key", format!("capacity.{word}.{}", resource.name))
                .with("value", rate / 1e6)
                .with("unit", "MB/s")
                .with("status", status_name(status))
                .with("source", source)
        };
        if let Some(gross) = &resource.gross {
            let (efficiency, status, how) = efficiency(spec, *role);
            let rate = gross.value.0 as f64 * efficiency;
            let source = format!("gross {} MB/s ({}) x {how}", figure(gross.value.mbps()), gross.source);
            records.push(record("theoretical", rate, status.max(gross.status), source));
        }
        if let Some(measured) = &resource.measured {
            records.push(record("measured", measured.value.0 as f64, measured.status, measured.source.clone()));
        }
    }
    records
}

/// Packet efficiency on resources of `role`, its status, and how it comes about.
fn efficiency(spec: &FabricSpec, role: Role) -> (f64, Status, String) {
    if !role.carries_packets() {
        return (1.0, Status::Published, "1 (payload only)".to_owned());
    }
    let packet = &spec.packet;
    let efficiency = packet.efficiency(forms::MESSAGE_BYTES, 1.0);
    let status = packet.overhead_bytes.status.max(packet.overhead_per_hop_bytes.status);
    let size = packet.payload_max_bytes.as_ref().map_or(forms::MESSAGE_BYTES, |most| most.value);
    let overhead = packet.overhead_bytes.value + packet.overhead_per_hop_bytes.value;
    let how = format!(
        "efficiency {efficiency:.6} = {size} B / ({size} + {overhead}) over one switch ({})",
        packet.overhead_bytes.source
    );
    (efficiency, status, how)
}
