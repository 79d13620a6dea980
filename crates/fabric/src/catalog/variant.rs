//! Variants of a fabric: its file with other counts of the topology, or with another kind of link.
//!
//! A variant is named by its fabric and its changes: `ib-ndr-fat-tree2:oversubscription=2:levels=3`. It can stand
//! wherever a fabric is named, and results carry its name. `levels?=3` is an optional change, for one of several fabrics:
//! it is left out where the fabric cannot have it ([`FabricSpec::unchanged`](crate::spec::FabricSpec::unchanged)).

use super::library::{Library, Loaded};
use crate::notes::Used;
use crate::price::PriceItem;
use crate::sheet::{Mistake, MistakeKind};
use crate::spec::{ItemKind, PriceRef, Status, TopologySpec, Varied};
use crate::topology::CubeSpec;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The key of a variant's values, in addition to the keys of the topology.
const LINK: &str = "link";
/// Keys that are options of the command, too.
const OPTIONS: [&str; 3] = ["oversubscription", "radix", "levels"];
/// The key whose value is a ratio.
const RATIO_KEY: &str = "oversubscription";
/// Keys of `[topology]` that say what it is, not how large.
const FIXED: [&str; 3] = ["kind", "source", "status"];

/// A fabric's name, and what is other in the variant: keys and values as they were written.
pub fn split(name: &str) -> (&str, Vec<(&str, &str)>) {
    let (base, mut rest) = name.split_once(':').unwrap_or((name, ""));
    let mut settings = Vec::new();
    while let Some((key, more)) = rest.split_once('=').filter(|(key, _)| is_key(key)) {
        // Before a digit stands the `:` of a ratio, `2:1`.
        let mut ends = more.match_indices(':').map(|(at, _)| at);
        let end = ends.find(|at| !more[at + 1..].starts_with(|next: char| next.is_ascii_digit())).unwrap_or(more.len());
        settings.push((key, &more[..end]));
        rest = more.get(end + 1..).unwrap_or_default();
    }
    if rest.is_empty() && !settings.is_empty() { (base, settings) } else { (name, Vec::new()) }
}

/// What [`ratio`] takes.
pub const RATIO: &str =
    "a number above 0, such as 2, or ports towards hosts to ports towards other switches, such as 2:1";

/// Ports towards hosts over ports towards other switches: `2`, or `2:1` as the field writes it.
///
/// # Errors
/// What is wrong with the text; [`RATIO`] is allowed.
pub fn ratio(text: &str) -> Result<f64, String> {
    let number = |part: &str| part.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    let wrong = || format!("`{text}` is no ratio");
    let Some((down, up)) = text.split_once(':') else { return number(text).ok_or_else(wrong) };
    match (number(down).ok_or_else(wrong)?, number(up).ok_or_else(wrong)?) {
        (down, up) if down < up => Err(format!(
            "`{text}`: ports towards hosts come first, as in {up}:{down}; more ports towards other switches than that \
             are written as one number, {}",
            down / up
        )),
        (down, up) => Ok(down / up),
    }
}

/// The names in a list. What stands in brackets is a variant's own list: `a:groups=[8,3],b` names two fabrics.
pub fn names(list: &str) -> Vec<String> {
    let mut depth = 0;
    let is_between = |letter: char| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        letter == ',' && depth == 0
    };
    list.split(is_between).map(str::to_owned).collect()
}

/// Whether the change is left out where the fabric cannot have it.
pub fn is_optional(key: &str) -> bool {
    key.ends_with('?')
}

/// The key of a setting, whether it is optional or not.
pub fn bare(key: &str) -> &str {
    key.strip_suffix('?').unwrap_or(key)
}

fn is_key(text: &str) -> bool {
    let text = bare(text);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The text of the variant `name` of the fabric that `text` describes.
///
/// # Errors
/// A key or value that cannot be. What the topology does not have is found when the text is read.
pub(super) fn text(
    library: &Library,
    name: &str,
    text: &str,
    settings: &[(&str, &str)],
) -> Result<String, Vec<Mistake>> {
    let wrong = |what: String, allowed: &str| vec![Mistake::of_file(name, what, allowed)];
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| wrong(error.message().to_owned(), ""))?;
    let mut told: Vec<(&str, String)> = Vec::new();
    for (at, &(key, value)) in settings.iter().enumerate() {
        if settings[..at].iter().any(|(other, _)| *other == key) {
            return Err(wrong(format!("{key}: is said twice"), "each setting once, in the name or as an option"));
        }
        if key == LINK {
            relink(library, name, &mut table, value)?;
            told.push((key, value.to_owned()));
            continue;
        }
        let topology = table.get_mut("topology").and_then(Value::as_table_mut);
        let topology =
            topology.ok_or_else(|| wrong("has no [topology] to change".to_owned(), "a fabric that has one"))?;
        if FIXED.contains(&key) {
            return Err(wrong(format!("{key}: a variant has its fabric's own"), "counts of the topology, or link"));
        }
        // A ratio has one name, however it is written.
        let number = if key == RATIO_KEY { ratio(value).map(|ratio| ratio.to_string()) } else { Ok(value.to_owned()) };
        let allowed = "a number, a ratio such as 2:1, true or false, or a list such as [8, 3, 6]";
        let number = number.map_err(|what| wrong(format!("{key} = {what}"), RATIO))?;
        told.push((key, number.clone()));
        let number = format!("value = {number}").parse::<Table>().ok().and_then(|mut line| line.remove("value"));
        let number = number.ok_or_else(|| wrong(format!("{key} = {value}: is no number"), allowed))?;
        topology.insert(key.to_owned(), number);
        let source = topology.get("source").and_then(Value::as_str).unwrap_or_default();
        topology.insert("source".to_owned(), Value::String(format!("{source}; {key} = {} as asked", told[at].1)));
        topology.insert("status".to_owned(), Value::String("estimated".to_owned()));
    }
    let title = table.get("title").and_then(Value::as_str).unwrap_or_default();
    // A part says nothing of switches: how many ports they have stays the fabric's.
    let has = |key: &str| table.get("topology").is_some_and(|topology| topology.get(key).is_some());
    let keeps = |key: &&str| has(key) && settings.iter().all(|(other, _)| other != key);
    let kept = ["radix", "ports"].into_iter().find(keeps).filter(|_| is_relinked(settings));
    let kept = kept.map_or_else(String::new, |key| format!(", its {key} as it was"));
    let with: Vec<String> = told.iter().map(|(key, value)| format!("{key} {value}")).collect();
    let title = format!("{title}, with {}{kept}", with.join(", "));
    let named: String = told.iter().map(|(key, value)| format!(":{key}={value}")).collect();
    table.insert("title".to_owned(), Value::String(title));
    table.insert("name".to_owned(), Value::String(format!("{}{named}", split(name).0)));
    Ok(table.to_string())
}

/// What the variant `varied` of `base` buys. Other links have other pieces; a switch may have ports left over, but none that
/// it lacks. `None`: nothing prices it, as nodes whose price holds their share of so many switches.
pub(super) fn prices(library: &Library, base: &Loaded, varied: &Loaded, settings: &[(&str, &str)]) -> Option<PriceRef> {
    let own = base.spec.prices.as_ref();
    let link = varied.parts.iter().find(|part| is_network(library, part)).cloned();
    let buys_switches = own.is_some_and(|own| own.items.contains_key(&ItemKind::Switch));
    let [had, ports] = [base, varied].map(|one| one.spec.topology.ports());
    if is_relinked(settings) {
        let has = |list: &String| {
            library.price_list(list).is_ok_and(|list| list.items.values().any(|item| item.link == link))
        };
        let own = own.map(|own| own.list.clone());
        let all = own.clone().into_iter().chain(library.list("prices").into_iter().map(|listed| listed.name));
        let list = all.into_iter().find(has).or(own).unwrap_or_default();
        // The routers of a cube are parts of its nodes, unless its own prices name a switch.
        let ports = ports.filter(|_| buys_switches || !varied.spec.topology.is::<CubeSpec>());
        let varied = Some(Varied { link, is_relinked: true, had, ports });
        return Some(PriceRef { list, items: BTreeMap::new(), short: None, varied });
    }
    let is_other = |key: &str| match key {
        "radix" | "ports" => had != ports,
        "levels" | RATIO_KEY => !buys_switches,
        _ => had < ports,
    };
    match settings.iter().any(|(key, _)| is_other(key)) {
        true if !buys_switches => None,
        true => Some(PriceRef { varied: Some(Varied { link, is_relinked: false, had, ports }), ..own?.clone() }),
        false => own.cloned(),
    }
}

/// The ports of the switch that `varied` needs and `base` does not have, where no price list has one with as many either.
pub(super) fn assumed_ports(
    library: &Library,
    base: &Loaded,
    varied: &Loaded,
    settings: &[(&str, &str)],
) -> Option<Used> {
    let (had, ports) = (base.spec.topology.ports()?, varied.spec.topology.ports()?);
    let is_asked = settings.iter().any(|(key, _)| ["radix", "ports"].contains(key)) && had != ports;
    if !is_asked && had >= ports || varied.spec.topology.is::<CubeSpec>() {
        return None;
    }
    let link = varied.parts.iter().find(|part| is_network(library, part));
    let is_one = |item: &PriceItem| item.ports == Some(ports) && item.link.as_ref() == link;
    let mut lists = library.list("prices").into_iter().filter_map(|listed| library.price_list(&listed.name).ok());
    if lists.any(|list| list.items.values().any(is_one)) {
        return None;
    }
    let name = &base.spec.name;
    let link = link.map_or_else(String::new, |link| format!(" of {link}"));
    Some(Used {
        value: f64::from(ports),
        unit: "ports".to_owned(),
        source: format!("no price list has a switch{link} with as many; {name} has {had}"),
        status: Status::Estimated,
        range: None,
        assumed_by: Some("as asked"),
    })
}

/// Whether a variant has another kind of link.
pub fn is_relinked(settings: &[(&str, &str)]) -> bool {
    settings.iter().any(|(key, _)| *key == LINK)
}

/// A mistake of the text of the variant `name`, in the words of the user who named it. Its lines are those of no file. A
/// setting that the topology does not have may have been an option.
pub(super) fn unplaced(name: &str, topology: &TopologySpec, mistake: Mistake) -> Mistake {
    let key = mistake.key.strip_prefix("topology.").filter(|_| mistake.kind == MistakeKind::UnknownKey);
    let Some(key) = key else { return Mistake { line: 0, column: 0, ..mistake } };
    let option = if OPTIONS.contains(&key) { format!(" (--{key})") } else { String::new() };
    let (base, settings) = split(name);
    let asked = settings.iter().find(|(other, _)| *other == key).and_then(|(_, value)| ratio(value).ok());
    let like = asked.and_then(|asked| topology.like(key, asked)).map_or_else(String::new, |(like, count)| {
        format!("; {like} does the like: {base}:{like}={}", count.round().max(1.0))
    });
    let what = format!("the topology {} has no {key}{option} to change{like}", topology.kind());
    Mistake { kind: mistake.kind, ..Mistake::of_file(name, what, mistake.allowed) }
}

/// Puts the part `link` in the place of the one that says what the network is.
fn relink(library: &Library, name: &str, table: &mut Table, link: &str) -> Result<(), Vec<Mistake>> {
    let networks: Vec<String> = library.list("parts").into_iter().map(|part| part.name).collect();
    let networks: Vec<String> = networks.into_iter().filter(|part| is_network(library, part)).collect();
    let wrong = |what: &str| vec![Mistake::of_file(name, what, networks.join(", "))];
    if !networks.iter().any(|part| part == link) {
        return Err(wrong(&format!("link = {link}: is no part that is a network")));
    }
    let cannot = |what: &str| vec![Mistake { kind: MistakeKind::UnknownKey, ..wrong(what).remove(0) }];
    let own = |role: &&&str| table.get("resource").and_then(|all| all.get(**role)?.get("gross")).is_some();
    if let Some(role) = ["link", "switch-link", "global-link"].iter().find(own) {
        return Err(cannot(&format!("states the rate of its {role} itself")));
    }
    let parts = table.get_mut("parts").and_then(Value::as_array_mut);
    let parts = parts.ok_or_else(|| cannot("stands on no parts: its links are its own"))?;
    let place = parts.iter_mut().find(|part| part.as_str().is_some_and(|part| is_network(library, part)));
    *place.ok_or_else(|| cannot("stands on no part that is a network"))? = Value::String(link.to_owned());
    Ok(())
}

/// Whether a part states a technology and its packets, and so is what others are joined by.
fn is_network(library: &Library, part: &str) -> bool {
    let found = library.find("parts", part).and_then(Result::ok);
    let table = found.and_then(|(_, text)| text.parse::<Table>().ok());
    table.is_some_and(|table| ["technology", "packet"].iter().all(|key| table.contains_key(*key)))
}
