//! GraphML: nodes and edges. Attributes are known by their names: of nodes `kind` or `type` (`switch`, `host`), of edges
//! `rate_MBps`, `latency_us`, or `bandwidth` and `speed` with a unit.

use super::xml::{line, needed, parse};
use super::{Link, Outline, rate_mbps, wrong};
use hotlink_fabric::import::ImportError;
use roxmltree::Node;
use std::collections::BTreeMap;

pub(super) fn read(file: &str, text: &str) -> Result<Outline, ImportError> {
    let document = parse(file, text)?;
    let root = document.root_element();
    let elements = |name: &'static str| root.descendants().filter(move |node| node.has_tag_name_local(name));
    // Names of attributes by the keys of the file.
    let mut keys: BTreeMap<&str, &str> = BTreeMap::new();
    for key in elements("key") {
        keys.insert(needed(file, key, "id")?, key.attribute("attr.name").unwrap_or_default());
    }
    let data = |node: Node<'_, '_>, names: &[&str]| {
        let found = node.children().filter(|child| child.has_tag_name_local("data")).find(|child| {
            let key = child.attribute("key").unwrap_or_default();
            names.contains(&keys.get(key).copied().unwrap_or(key))
        });
        found.and_then(|child| child.text()).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let is_directed = elements("graph").any(|graph| graph.attribute("edgedefault") == Some("directed"));
    let mut outline = Outline::default();
    let (mut names, mut kinds): (BTreeMap<String, usize>, BTreeMap<String, bool>) = (BTreeMap::new(), BTreeMap::new());
    let mut order = Vec::new();
    for node in elements("node") {
        let id = needed(file, node, "id")?.to_owned();
        if let Some(first) = names.insert(id.clone(), line(node)) {
            return wrong(file, line(node), format!("node '{id}' is on line {first}, too"));
        }
        if let Some(kind) = data(node, &["kind", "type", "role"]) {
            let kind = kind.to_ascii_lowercase();
            kinds.insert(
                id.clone(),
                !["switch", "router", "leaf", "spine", "core"].iter().any(|name| kind.contains(name)),
            );
        }
        order.push(id);
    }
    for edge in elements("edge") {
        let ends = [needed(file, edge, "source")?, needed(file, edge, "target")?];
        if let Some(unknown) = ends.iter().find(|end| !names.contains_key(**end)) {
            return wrong(file, line(edge), format!("'{unknown}' is no node of this file"));
        }
        if ends[0] == ends[1] {
            return wrong(file, line(edge), format!("'{}' is linked to itself", ends[0]));
        }
        let number = |names: &[&str]| -> Result<Option<f64>, ImportError> {
            let Some(text) = data(edge, names) else { return Ok(None) };
            match text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0) {
                Some(number) => Ok(Some(number)),
                None => wrong(file, line(edge), format!("{} is '{text}', no number of 0 or more", names[0])),
            }
        };
        let rate = match (number(&["rate_MBps"])?, data(edge, &["bandwidth", "speed", "rate"])) {
            (Some(rate), _) => Some(rate),
            (None, None) => None,
            (None, Some(text)) => match rate_mbps(&text, false) {
                Some(rate) => Some(rate),
                None => {
                    return wrong(
                        file,
                        line(edge),
                        format!("'{text}' is no rate: write 400Gbit/s or 50GB/s, or use rate_MBps"),
                    );
                }
            },
        };
        let is_one_way = edge.attribute("directed").map_or(is_directed, |directed| directed == "true");
        let latency_us = number(&["latency_us"])?;
        outline.links.push(Link {
            ends: ends.map(str::to_owned),
            rate_mbps: rate,
            latency_us,
            is_one_way,
            is_unlimited: false,
            is_nvlink: false,
            line: line(edge),
        });
    }
    // Without kinds the graph is direct: every node sends and forwards.
    match kinds.is_empty() {
        true => outline.nodes = order,
        false => outline.sort_devices(&order, |name| Some(kinds.get(name).copied().unwrap_or(true))),
    }
    Ok(outline)
}

/// Tags by their own name, whatever the name space.
trait Local {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl Local for Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}
