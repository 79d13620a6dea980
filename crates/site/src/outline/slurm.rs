//! Slurm's `topology.conf` and `topology.yaml`: which switch has which hosts and which other switches below it. Neither
//! states rates, nor how many cables join two switches: each pair counts with one. `scontrol show topology` prints the
//! first form, too, and names for a switch of switches all hosts below it.

use super::{Outline, wrong};
use crate::hostlist;
use hotlink_fabric::import::ImportError;
use std::collections::{BTreeMap, BTreeSet};

/// A switch with its children.
#[derive(Default)]
struct Switch {
    name: String,
    children: Vec<String>,
    hosts: Vec<String>,
    line: usize,
}

/// The hosts of all switches below one. `scontrol` names them for the switch as well.
fn hosts_below<'a>(switch: &'a Switch, all: &BTreeMap<&str, &'a Switch>) -> BTreeSet<&'a str> {
    let (mut open, mut seen, mut hosts) = (vec![switch], BTreeSet::from([switch.name.as_str()]), BTreeSet::new());
    while let Some(one) = open.pop() {
        for below in one.children.iter().filter_map(|child| all.get(child.as_str())) {
            if seen.insert(below.name.as_str()) {
                hosts.extend(below.hosts.iter().map(String::as_str));
                open.push(below);
            }
        }
    }
    hosts
}

/// `SwitchName=s1 Nodes=node[01-04]`, `SwitchName=top Switches=s[1-2]`; keys in any case, a backslash joins lines.
pub(super) fn conf(file: &str, text: &str) -> Result<Outline, ImportError> {
    let mut switches = Vec::new();
    let mut joined = (0, String::new());
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        if joined.1.is_empty() {
            joined.0 = index + 1;
        }
        if let Some(part) = line.strip_suffix('\\') {
            joined.1 += part;
            joined.1.push(' ');
            continue;
        }
        let whole = std::mem::take(&mut joined.1) + line;
        if !whole.trim().is_empty() {
            switches.push(of_line(file, joined.0, &whole)?);
        }
    }
    outline(file, switches)
}

fn of_line(file: &str, number: usize, line: &str) -> Result<Switch, ImportError> {
    let mut switch = Switch { line: number, ..Switch::default() };
    for word in line.split_whitespace() {
        let Some((key, value)) = word.split_once('=') else {
            return wrong(
                file,
                number,
                format!("'{word}' is no KEY=VALUE: KEY must be SwitchName, Switches, Nodes or LinkSpeed"),
            );
        };
        match key.to_ascii_lowercase().as_str() {
            "switchname" => value.clone_into(&mut switch.name),
            "switches" => switch.children = list(file, number, value)?,
            "nodes" => switch.hosts = list(file, number, value)?,
            "linkspeed" | "level" => {}
            "blockname" | "blocksizes" => {
                return wrong(file, number, "blocks say nothing about cables: give a tree of SwitchName lines");
            }
            _ => {
                return wrong(
                    file,
                    number,
                    format!("'{key}' is unknown: must be SwitchName, Switches, Nodes or LinkSpeed"),
                );
            }
        }
    }
    match switch.name.is_empty() {
        true => wrong(file, number, "has no SwitchName"),
        false => Ok(switch),
    }
}

/// The first tree of the file, or that of the topology with `cluster_default: true`.
pub(super) fn yaml(file: &str, text: &str) -> Result<Outline, ImportError> {
    let mut trees: Vec<(bool, Vec<Switch>)> = Vec::new();
    let mut in_tree = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.contains('\t') {
            return wrong(file, number, "has a tab: YAML is indented by spaces");
        }
        let line = line.split(" #").next().unwrap_or_default();
        let bare = line.trim_start();
        if bare.is_empty() || bare.starts_with('#') || bare == "---" {
            continue;
        }
        let indent = line.len() - bare.len();
        let is_item = bare.starts_with("- ");
        let bare = bare.strip_prefix("- ").unwrap_or(bare).trim();
        let Some((key, value)) = bare.split_once(':') else {
            if is_item && in_tree.is_none() {
                // A list of plain values, such as the sizes of blocks.
                continue;
            }
            return wrong(file, number, format!("'{}' is no `key: value`", bare.chars().take(40).collect::<String>()));
        };
        let value = value.trim().trim_matches(['"', '\'']);
        if in_tree.is_some_and(|deep| indent <= deep) {
            in_tree = None;
        }
        if key == "topology" && is_item {
            trees.push((false, Vec::new()));
            continue;
        }
        let Some((is_default, switches)) = trees.last_mut() else {
            return wrong(file, number, format!("'{key}' comes before the first `- topology:`"));
        };
        match key {
            "cluster_default" => *is_default = value == "true",
            "tree" => in_tree = Some(indent),
            "switch" if in_tree.is_some() => {
                switches.push(Switch { name: value.to_owned(), line: number, ..Switch::default() });
            }
            "children" | "nodes" if in_tree.is_some() => {
                let Some(switch) = switches.last_mut() else {
                    return wrong(file, number, format!("'{key}' comes before the first `- switch:`"));
                };
                let names = list(file, number, value)?;
                *(if key == "nodes" { &mut switch.hosts } else { &mut switch.children }) = names;
            }
            _ => {}
        }
    }
    trees.retain(|(_, switches)| !switches.is_empty());
    // The default first; else the order of the file.
    trees.sort_by_key(|(is_default, _)| !is_default);
    match trees.into_iter().next() {
        Some((_, switches)) => outline(file, switches),
        None => wrong(file, 0, "holds no tree with switches: blocks and flat topologies say nothing about cables"),
    }
}

fn list(file: &str, line: usize, value: &str) -> Result<Vec<String>, ImportError> {
    hostlist::expand(value).map_err(|what| ImportError { place: format!("{file}:{line}"), what })
}

fn outline(file: &str, switches: Vec<Switch>) -> Result<Outline, ImportError> {
    let mut outline = Outline::default();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for switch in &switches {
        if let Some(first) = known.insert(&switch.name, switch.line) {
            return wrong(file, switch.line, format!("switch '{}' is on line {first}, too", switch.name));
        }
        outline.switches.push(switch.name.clone());
    }
    let all: BTreeMap<&str, &Switch> = switches.iter().map(|switch| (switch.name.as_str(), switch)).collect();
    let mut homes: BTreeMap<&str, usize> = BTreeMap::new();
    for switch in &switches {
        for child in &switch.children {
            if !known.contains_key(child.as_str()) {
                return wrong(file, switch.line, format!("'{child}' is no switch of this file"));
            }
            if *child == switch.name {
                return wrong(file, switch.line, format!("switch '{child}' is below itself"));
            }
            outline.link([child, &switch.name], None, switch.line);
        }
        let below = hosts_below(switch, &all);
        for host in switch.hosts.iter().filter(|host| !below.contains(host.as_str())) {
            if known.contains_key(host.as_str()) {
                return wrong(file, switch.line, format!("'{host}' is a switch and a host"));
            }
            if homes.insert(host, switch.line).is_none() {
                outline.nodes.push(host.clone());
            }
            outline.link([host, &switch.name], None, switch.line);
        }
    }
    Ok(outline)
}
