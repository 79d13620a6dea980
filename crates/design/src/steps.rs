//! How a network grows from one number of hosts to the next: what must be added, and which cables change their ends.
//!
//! Switches keep their numbers, tier by tier from the hosts on, in a dragonfly group by group. A cable stays where the
//! larger network has one between the same two ends; the others are pulled out and laid again.

use crate::evaluate::Evaluated;
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Resource, Vertex};
use hotlink_fabric::spec::Role;
use hotlink_fabric::topology::Shape;
use std::collections::BTreeMap;

/// A row for each variant that a variant of fewer hosts grows to.
pub(crate) fn steps(variants: &[Evaluated]) -> Result<Vec<Record>, String> {
    let hosts = |one: &Evaluated| one.record.number("hosts").unwrap_or_default();
    let mut rows = Vec::new();
    for later in variants {
        let earlier = variants.iter().filter(|one| hosts(one) < hosts(later) && grows_to(&one.record, &later.record));
        // Of several networks the nearest; for a single switch as many trees.
        if let Some(earlier) = earlier.max_by(|a, b| hosts(a).total_cmp(&hosts(b))) {
            rows.push(step(earlier, later)?);
        }
    }
    Ok(rows)
}

/// Whether both are of one technology and kind, made for the same ratio. A single switch becomes the first leaf of a tree.
fn grows_to(earlier: &Record, later: &Record) -> bool {
    let kind =
        |record: &Record| record.text("topology").unwrap_or_default().trim_end_matches(char::is_numeric).to_owned();
    let same = |key: &str| earlier.get(key) == later.get(key);
    let trees = kind(earlier) == "switch" && matches!(kind(later).as_str(), "switch" | "fat-tree");
    same("technology") && (trees || (kind(earlier) == kind(later) && same("oversubscription")))
}

fn step(earlier: &Evaluated, later: &Evaluated) -> Result<Record, String> {
    let text = |one: &Evaluated, key: &str| one.record.text(key).unwrap_or_default().to_owned();
    let count = |one: &Evaluated, key: &str| one.record.number(key).map_or(0, |count| count as u64);
    let [before, after] = [earlier, later].map(Evaluated::build);
    let (before, after) = (cables(&before?), cables(&after?));
    let all: u64 = before.values().sum();
    let stay: u64 = before.iter().map(|(ends, count)| after.get(ends).copied().unwrap_or(0).min(*count)).sum();
    let head = Record::new()
        .with("benchmark", "design")
        .with("kind", "step")
        .with("fabric", text(later, "fabric"))
        .with("grows_from", text(earlier, "fabric"))
        .with("technology", text(later, "technology"))
        .with("hosts", count(later, "hosts"))
        .with("hosts_before", count(earlier, "hosts"))
        .with("added_switches", count(later, "switches").saturating_sub(count(earlier, "switches")))
        // Both directions of a cable were counted.
        .with("cables_stay", stay / 2)
        .with("cables_move", (all - stay) / 2)
        .with("added_cables", after.values().sum::<u64>().saturating_sub(all) / 2);
    Ok(priced(head, earlier, later))
}

/// Adds the cost of the pieces that the earlier network lacks. It compares each item of the bill by itself, so that a
/// switch or a cable of the same item is bought once.
fn priced(mut row: Record, earlier: &Evaluated, later: &Evaluated) -> Record {
    let Some(currency) = later.record.text("currency") else { return row };
    let (before, after) = (pieces(earlier, currency), pieces(later, currency));
    let mut sums = [0.0; 3];
    for (item, (count, each)) in &after {
        let had = before.get(item).map_or(0.0, |(count, _)| *count);
        let bought = (count - had).max(0.0);
        sums.iter_mut().zip(each).for_each(|(sum, each)| *sum += bought * each);
    }
    for (end, sum) in ["", "_low", "_high"].into_iter().zip(sums) {
        row.set(&format!("cost_{currency}{end}"), sum);
    }
    row.with("currency", currency)
}

/// For each item its count, and the price of one with its ends.
fn pieces(one: &Evaluated, currency: &str) -> BTreeMap<String, (f64, [f64; 3])> {
    let mut found: BTreeMap<String, (f64, [f64; 3])> = BTreeMap::new();
    for line in one.parts.iter().filter(|part| part.text("kind") == Some("item")) {
        let count = line.number("count").unwrap_or_default();
        let each = ["", "_low", "_high"].map(|end| line.number(&format!("cost_{currency}{end}")).unwrap_or_default());
        let entry = found.entry(line.text("item").unwrap_or_default().to_owned()).or_default();
        entry.0 += count;
        if count > 0.0 {
            entry.1 = each.map(|cost| cost / count);
        }
    }
    found
}

/// An end of a cable: a host's number, or a switch's with its tier or group.
type End = (u32, u32);

/// Channels of cables, by their ends.
fn cables(fabric: &Fabric) -> BTreeMap<[End; 2], u64> {
    let network = &fabric.network;
    let mut found = BTreeMap::new();
    for channel in (0..network.channels() as u32).map(Channel) {
        if matches!(network.role(Resource::Channel(channel)), Role::Link | Role::SwitchLink | Role::GlobalLink) {
            let ends = [network.from(channel), network.to(channel)].map(|vertex| end(fabric, vertex));
            *found.entry(ends).or_insert(0) += 1;
        }
    }
    found
}

fn end(fabric: &Fabric, vertex: Vertex) -> End {
    if fabric.network.is_node(vertex) {
        return (0, vertex.0);
    }
    match &fabric.shape {
        Shape::Dragonfly(dragonfly) => {
            let (group, router) = dragonfly.locate(vertex);
            (1 + group, router)
        }
        Shape::Tiers(tiers) => {
            let tier = tiers.iter().rposition(|tier| tier.first <= vertex).unwrap_or(0);
            (1 + tier as u32, vertex.0 - tiers.get(tier).map_or(0, |tier| tier.first.0))
        }
        _ => (1, vertex.0 - fabric.network.nodes),
    }
}
