//! The `[topology]` table.

use crate::sheet::{STATUSES, Table};
use crate::spec::{Origin, TopologySpec};
use crate::topology::{REGISTRY, Registered};

/// Reads the table: a kind, its counts, and the one `source` and `status` of those counts.
pub(super) fn read_topology(table: Table<'_>) -> Option<(TopologySpec, Origin)> {
    let kinds: Vec<(&str, &Registered)> = REGISTRY.iter().map(|entry| (entry.kind, entry)).collect();
    let kind = table.choice("kind", &kinds);
    let source = table.text("source");
    let status = table.choice("status", STATUSES);
    let topology = kind.and_then(|entry| (entry.read)(&table));
    if let (Some(source), Some(status)) = (&source, status) {
        table.record_counts(source, status);
    }
    if kind.is_some() {
        table.finish();
    }
    Some((topology?, Origin { source: source?, status: status? }))
}
