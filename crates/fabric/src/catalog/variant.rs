//! Variants of a fabric: its file with other counts of the topology, or with another kind of link.
//!
//! A variant is named by its fabric and its changes: `ib-ndr-fat-tree2:oversubscription=2:levels=3`. It can stand
//! wherever a fabric is named, and results carry its name.

use super::library::Library;
use crate::price::PriceList;
use crate::sheet::Mistake;
use crate::spec::{FabricSpec, ItemKind, PriceRef};
use toml::{Table, Value};

/// The key of a variant's values, in addition to the keys of the topology.
const LINK: &str = "link";
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

fn is_key(text: &str) -> bool {
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
    for (at, &(key, value)) in settings.iter().enumerate() {
        if settings[..at].iter().any(|(other, _)| *other == key) {
            return Err(wrong(format!("{key}: is said twice"), "each setting once, in the name or as an option"));
        }
        if key == LINK {
            relink(library, name, &mut table, value)?;
            continue;
        }
        let topology = table.get_mut("topology").and_then(Value::as_table_mut);
        let topology =
            topology.ok_or_else(|| wrong("has no [topology] to change".to_owned(), "a fabric that has one"))?;
        if FIXED.contains(&key) {
            return Err(wrong(format!("{key}: a variant has its fabric's own"), "counts of the topology, or link"));
        }
        let is_ratio = key == "oversubscription" && value.contains(':');
        let number = if is_ratio { ratio(value).map(|ratio| ratio.to_string()) } else { Ok(value.to_owned()) };
        let allowed = "a number, a ratio such as 2:1, true or false, or a list such as [8, 3, 6]";
        let number = number.map_err(|what| wrong(format!("{key} = {what}"), allowed))?;
        let number = format!("value = {number}").parse::<Table>().ok().and_then(|mut line| line.remove("value"));
        let number = number.ok_or_else(|| wrong(format!("{key} = {value}: is no number"), allowed))?;
        topology.insert(key.to_owned(), number);
        let source = topology.get("source").and_then(Value::as_str).unwrap_or_default();
        topology.insert("source".to_owned(), Value::String(format!("{source}; {key} = {value} as asked")));
        topology.insert("status".to_owned(), Value::String("estimated".to_owned()));
    }
    let told: Vec<String> = settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
    let title = table.get("title").and_then(Value::as_str).unwrap_or_default();
    // A part says nothing of switches: how many ports they have stays the fabric's.
    let has = |key: &str| table.get("topology").is_some_and(|topology| topology.get(key).is_some());
    let keeps = |key: &&str| has(key) && settings.iter().all(|(other, _)| other != key);
    let kept = ["radix", "ports"].into_iter().find(keeps).filter(|_| is_relinked(settings));
    let kept = kept.map_or_else(String::new, |key| format!(", its {key} as it was"));
    let title = format!("{title}, with {}{kept}", told.join(", "));
    table.insert("title".to_owned(), Value::String(title));
    table.insert("name".to_owned(), Value::String(name.to_owned()));
    Ok(table.to_string())
}

/// Whether `base` has no price for the variant's pieces: other cables, switches or adapters, or nodes whose price holds
/// their share of this many switches. A switch may have ports left over, but none that it lacks.
pub(super) fn is_repriced(base: &FabricSpec, variant: &FabricSpec, settings: &[(&str, &str)]) -> bool {
    let [before, after] = [base, variant].map(|spec| spec.topology.ports());
    let share = base.prices.as_ref().is_some_and(|prices| !prices.items.contains_key(&ItemKind::Switch));
    let is_other = |key: &str| match key {
        LINK => true,
        "radix" | "ports" => before != after,
        "levels" | "oversubscription" => share,
        _ => before < after,
    };
    settings.iter().any(|(key, _)| is_other(key))
}

/// What is bought for `name`, a variant with other switches or cables, where `list` prices each item of its fabric
/// again. No item of a fabric is a piece of another link.
pub fn prices(library: &Library, name: &str, list: &PriceList) -> Option<PriceRef> {
    let (base, settings) = split(name);
    if settings.is_empty() || is_relinked(&settings) {
        return None;
    }
    let prices = library.fabric(base).ok()?.spec.prices?;
    let all = prices.bought().all(|item| list.items.contains_key(item));
    (all && prices.items.contains_key(&ItemKind::Switch)).then_some(prices)
}

/// Whether a variant has another kind of link.
pub fn is_relinked(settings: &[(&str, &str)]) -> bool {
    settings.iter().any(|(key, _)| *key == LINK)
}

/// Puts the part `link` in the place of the one that says what the network is.
fn relink(library: &Library, name: &str, table: &mut Table, link: &str) -> Result<(), Vec<Mistake>> {
    let networks: Vec<String> = library.list("parts").into_iter().map(|part| part.name).collect();
    let networks: Vec<String> = networks.into_iter().filter(|part| is_network(library, part)).collect();
    let wrong = |what: &str| vec![Mistake::of_file(name, what, networks.join(", "))];
    if !networks.iter().any(|part| part == link) {
        return Err(wrong(&format!("link = {link}: is no part that is a network")));
    }
    let own = |role: &&&str| table.get("resource").and_then(|all| all.get(**role)?.get("gross")).is_some();
    if let Some(role) = ["link", "switch-link", "global-link"].iter().find(own) {
        return Err(wrong(&format!("states the rate of its {role} itself")));
    }
    let parts = table.get_mut("parts").and_then(Value::as_array_mut);
    let parts = parts.ok_or_else(|| wrong("stands on no parts: its links are its own"))?;
    let place = parts.iter_mut().find(|part| part.as_str().is_some_and(|part| is_network(library, part)));
    *place.ok_or_else(|| wrong("stands on no part that is a network"))? = Value::String(link.to_owned());
    Ok(())
}

/// Whether a part states a technology and its packets, and so is what others are joined by.
fn is_network(library: &Library, part: &str) -> bool {
    let found = library.find("parts", part).and_then(Result::ok);
    let table = found.and_then(|(_, text)| text.parse::<Table>().ok());
    table.is_some_and(|table| ["technology", "packet"].iter().all(|key| table.contains_key(*key)))
}
