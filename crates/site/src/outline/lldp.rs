//! `lldpctl -f json`: the neighbours of one machine, which the output does not name: its name is the last part of the
//! file's before the ending (`lldp.node01.json`). A neighbour with an enabled Bridge or Router capability is a switch. So is a
//! machine that no other names and that has several hosts on several of its ports.

use super::{Outline, rate_mbps, wrong};
use hotlink_fabric::import::ImportError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The machine that a file is of.
fn machine(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let parts: Vec<&str> = name.split('.').filter(|part| !["json", "txt", ""].contains(part)).collect();
    parts.last().map_or_else(|| name.to_owned(), |part| (*part).to_owned())
}

/// The members of a list of objects, or of one object, which `lldpctl` writes where the list has one member.
fn members(value: &Value) -> Vec<(&String, &Value)> {
    let list = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    list.iter().filter_map(Value::as_object).flatten().collect()
}

pub(super) fn read(files: &[(&str, &str)]) -> Result<Outline, ImportError> {
    let mut outline = Outline::default();
    let (mut names, mut switches): (Vec<String>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
    // Links by the machine that was asked and the one that it names. Where both were asked, each names the same cables:
    // the ports by which they do are often spelled differently.
    let mut links: BTreeMap<(String, String), BTreeMap<String, Option<f64>>> = BTreeMap::new();
    let add = |name: &str, names: &mut Vec<String>| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    for (file, text) in files {
        let document: Value = match serde_json::from_str(text) {
            Ok(document) => document,
            Err(error) => return wrong(file, error.line(), format!("is not JSON: {error}")),
        };
        let own = machine(file);
        add(&own, &mut names);
        for (interface, said) in members(&document["lldp"]["interface"]) {
            let chassis = members(&said["chassis"]);
            // Without a name the chassis is an object of its fields.
            let (name, fields) = match chassis.iter().find(|(_, value)| value.is_object() && value.get("id").is_some())
            {
                Some((name, fields)) => ((*name).clone(), *fields),
                None => match said["chassis"]["id"]["value"].as_str() {
                    Some(id) => (id.to_owned(), &said["chassis"]),
                    None => {
                        return wrong(file, 0, format!("lldp.interface.{interface}.chassis: has neither name nor id"));
                    }
                },
            };
            if name == own {
                continue;
            }
            let abilities =
                fields["capability"].as_array().map_or_else(|| vec![&fields["capability"]], |all| all.iter().collect());
            let is_switch = abilities.iter().any(|one| {
                one["enabled"] == Value::Bool(true) && ["Bridge", "Router"].iter().any(|kind| one["type"] == *kind)
            });
            if is_switch {
                switches.insert(name.clone());
            }
            add(&name, &mut names);
            let current = said["port"]["auto-negotiation"]["current"].as_str().unwrap_or_default();
            links.entry((own.clone(), name)).or_default().insert(interface.clone(), speed(current));
        }
    }
    let named: BTreeSet<&str> = links.keys().map(|(_, name)| name.as_str()).collect();
    let mut hosts: BTreeMap<&str, Vec<&BTreeMap<String, Option<f64>>>> = BTreeMap::new();
    for ((own, name), cables) in &links {
        if !named.contains(own.as_str()) && !switches.contains(name) {
            hosts.entry(own).or_default().push(cables);
        }
    }
    // A host behind a hub sees several neighbours, too, but on one port.
    let ports = |cables: &[&BTreeMap<String, Option<f64>>]| -> usize {
        cables.iter().flat_map(|cables| cables.keys()).collect::<BTreeSet<_>>().len()
    };
    let asked = hosts.iter().filter(|(_, cables)| cables.len() > 1 && ports(cables) > 1);
    let asked: Vec<String> = asked.map(|(own, _)| (*own).to_owned()).collect();
    switches.extend(asked);
    for ((own, name), cables) in &links {
        let back = links.get(&(name.clone(), own.clone())).map_or(0, BTreeMap::len);
        if back > cables.len() || (back == cables.len() && name < own) {
            continue;
        }
        cables.values().for_each(|&rate| outline.link([own, name], rate, 0));
    }
    outline.sort_devices(&names, |name| Some(!switches.contains(name)));
    Ok(outline)
}

/// The rate of a medium's name: `10GigBaseLR - ...`, `100GbaseCR4`, `1000BaseTFD - ...`.
fn speed(medium: &str) -> Option<f64> {
    let end = medium.find(|c: char| !c.is_ascii_digit())?;
    let unit = medium[end..].to_ascii_lowercase();
    match unit {
        unit if unit.starts_with("gig") || unit.starts_with("gbase") => {
            rate_mbps(&format!("{}G", &medium[..end]), false)
        }
        unit if unit.starts_with("base") => rate_mbps(&medium[..end], true),
        _ => None,
    }
}
