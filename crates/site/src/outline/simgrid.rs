//! SimGrid's platform XML: hosts, routers, links, and the routes between them; clusters with a backbone.
//!
//! A platform states routes as lists of links, not the devices that each link joins. A link with one host's routes
//! alone is that host's. Every other link is a switch of its own between the links before and after it on its routes.
//! `FATPIPE` links carry any number of flows at the full rate: they have latency and never limit here.

use super::xml::{line, needed, parse};
use super::{Link, Outline, rate_mbps, wrong};
use crate::hostlist;
use hotlink_fabric::import::ImportError;
use roxmltree::Node;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn read(file: &str, text: &str) -> Result<Outline, ImportError> {
    let document = parse(file, text)?;
    let root = document.root_element();
    if let Some(node) =
        root.descendants().find(|node| ["bypassRoute", "bypassZoneRoute"].iter().any(|tag| node.has_tag_name(*tag)))
    {
        return wrong(file, line(node), "routes that bypass others are not read");
    }
    let mut outline = Outline::default();
    for cluster in root.descendants().filter(|node| node.has_tag_name("cluster")) {
        self::cluster(file, cluster, &mut outline)?;
    }
    routes(file, root, &mut outline)?;
    Ok(outline)
}

/// A latency such as `50us`, in us.
pub(super) fn latency_us(text: &str) -> Option<f64> {
    let end = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E').unwrap_or(text.len());
    let unit = match text[end..].trim() {
        "" | "s" => 1e6,
        "ms" => 1e3,
        "us" => 1.0,
        "ns" => 1e-3,
        "ps" => 1e-6,
        _ => f64::NAN,
    };
    text[..end].trim().parse::<f64>().map(|number| number * unit).ok().filter(|us| us.is_finite() && *us >= 0.0)
}

fn latency(file: &str, node: Node<'_, '_>, text: &str) -> Result<f64, ImportError> {
    match latency_us(text) {
        Some(us) => Ok(us),
        None => wrong(file, line(node), format!("'{text}' is no latency: write 50us, 1.5ms or 2e-6")),
    }
}

/// Rate and latency by the names of the attributes. A number without unit is in bytes per second.
fn stated(file: &str, node: Node<'_, '_>, names: [&str; 2]) -> Result<(f64, f64), ImportError> {
    let text = needed(file, node, names[0])?;
    let bare = text.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate > 0.0).map(|rate| rate / 1e6);
    let Some(rate) = bare.or_else(|| rate_mbps(text, false)) else {
        return wrong(file, line(node), format!("'{text}' is no bandwidth: write 1Gbps, 125MBps or 1.25e8"));
    };
    let us = node.attribute(names[1]).map_or(Ok(0.0), |text| latency(file, node, text))?;
    Ok((rate, us))
}

/// `<cluster prefix="node-" radical="0-15" suffix="" bw="1Gbps" lat="50us" bb_bw="10Gbps" bb_lat="1us"/>`.
fn cluster(file: &str, node: Node<'_, '_>, outline: &mut Outline) -> Result<(), ImportError> {
    if let Some(topology) = node.attribute("topology").filter(|topology| *topology != "FLAT") {
        return wrong(
            file,
            line(node),
            format!(
                "clusters of topology {topology} are not read: the catalog's trees, tori and dragonflies are (hotlink catalog list)"
            ),
        );
    }
    let (id, radical) = (needed(file, node, "id")?, needed(file, node, "radical")?);
    let [prefix, suffix] = ["prefix", "suffix"].map(|name| node.attribute(name).unwrap_or_default());
    let numbers = match hostlist::expand(&format!("[{radical}]")) {
        Ok(numbers) => numbers,
        Err(what) => return wrong(file, line(node), format!("radical: {what}")),
    };
    let (rate, us) = stated(file, node, ["bw", "lat"])?;
    let backbone = node.attribute("bb_bw").map(|_| stated(file, node, ["bb_bw", "bb_lat"])).transpose()?;
    // All that the hosts send crosses the backbone once: half of the switch before it, half behind.
    let ends = match backbone {
        Some(_) => [format!("{id} in"), format!("{id} out")],
        None => [id.to_owned(), id.to_owned()],
    };
    outline.switches.push(ends[0].clone());
    if let Some((rate, us)) = backbone {
        outline.switches.push(ends[1].clone());
        let ends = ends.clone();
        outline.links.push(Link {
            ends,
            rate_mbps: Some(rate),
            latency_us: Some(us),
            is_one_way: true,
            is_unlimited: false,
            is_nvlink: false,
            line: line(node),
        });
    }
    for number in numbers {
        let host = format!("{prefix}{number}{suffix}");
        let mut link = |ends: [String; 2], is_one_way| {
            outline.links.push(Link {
                ends,
                rate_mbps: Some(rate),
                latency_us: Some(us),
                is_one_way,
                is_unlimited: false,
                is_nvlink: false,
                line: line(node),
            });
        };
        match backbone {
            Some(_) => {
                link([host.clone(), ends[0].clone()], true);
                link([ends[1].clone(), host.clone()], true);
            }
            None => link([host.clone(), id.to_owned()], false),
        }
        outline.nodes.push(host);
    }
    Ok(())
}

/// Hosts, links and routes. Each link becomes a pair of switches with the link between them.
fn routes(file: &str, root: Node<'_, '_>, outline: &mut Outline) -> Result<(), ImportError> {
    let mut hosts = BTreeSet::new();
    for host in root.descendants().filter(|node| node.has_tag_name("host")) {
        let id = needed(file, host, "id")?;
        if !hosts.insert(id) {
            return wrong(file, line(host), format!("host '{id}' occurs twice"));
        }
        outline.nodes.push(id.to_owned());
    }
    let mut links: BTreeMap<&str, usize> = BTreeMap::new();
    for link in root.descendants().filter(|node| node.has_tag_name("link")) {
        let id = needed(file, link, "id")?;
        let (rate, us) = stated(file, link, ["bandwidth", "latency"])?;
        if links.insert(id, outline.links.len()).is_some() {
            return wrong(file, line(link), format!("link '{id}' occurs twice"));
        }
        let ends = [format!("{id} <"), format!("{id} >")];
        outline.switches.extend(ends.clone());
        let is_shared = link.attribute("sharing_policy") != Some("FATPIPE");
        let rate_mbps = is_shared.then_some(rate);
        outline.links.push(Link {
            ends,
            rate_mbps,
            latency_us: Some(us),
            is_one_way: false,
            is_unlimited: !is_shared,
            is_nvlink: false,
            line: line(link),
        });
    }
    let mut joined = BTreeSet::new();
    let routers: BTreeSet<&str> =
        root.descendants().filter(|node| node.has_tag_name("router")).filter_map(|node| node.attribute("id")).collect();
    outline.switches.extend(routers.iter().map(|router| (*router).to_owned()));
    for route in root.descendants().filter(|node| node.has_tag_name("route")) {
        let [from, to] = [needed(file, route, "src")?, needed(file, route, "dst")?];
        if let Some(unknown) = [from, to].iter().find(|end| !hosts.contains(**end) && !routers.contains(**end)) {
            return wrong(file, line(route), format!("'{unknown}' is neither a host nor a router of this file"));
        }
        let mut at = from.to_owned();
        for part in route.children().filter(|node| node.has_tag_name("link_ctn")) {
            let id = needed(file, part, "id")?;
            if !links.contains_key(id) {
                return wrong(file, line(part), format!("'{id}' is no link of this file"));
            }
            // A link is passed from the end that the route has reached, or from its first.
            let [first, last] = [format!("{id} <"), format!("{id} >")];
            let is_back = joined.contains(&[at.clone(), last.clone()]) || joined.contains(&[last.clone(), at.clone()]);
            let (enter, leave) = if is_back { (last, first) } else { (first, last) };
            join(outline, &mut joined, [at, enter], line(part));
            at = leave;
        }
        join(outline, &mut joined, [at, to.to_owned()], line(route));
    }
    Ok(())
}

/// A connection that never limits, once.
fn join(outline: &mut Outline, joined: &mut BTreeSet<[String; 2]>, mut ends: [String; 2], line: usize) {
    if ends[0] == ends[1] {
        return;
    }
    ends.sort();
    if joined.insert(ends.clone()) {
        outline.links.push(Link {
            ends,
            rate_mbps: None,
            latency_us: Some(0.0),
            is_one_way: false,
            is_unlimited: true,
            is_nvlink: false,
            line,
        });
    }
}
