//! Hosts of a network that files describe. The files describe its cables. A fabric of the catalog may give the times
//! that its hosts take for a copy or a message.

use crate::words;
use hotlink_fabric::catalog::{self, Mistake, one_a_line};
use hotlink_fabric::spec::FabricSpec;

const MARK: &str = "like:";

/// `NETWORK+like:FABRIC` in two: the network, and the fabric whose hosts are like its own. `None`: there is no such word.
///
/// # Errors
/// There are two.
pub fn split(name: &str) -> Result<Option<(String, &str)>, String> {
    let (likes, network): (Vec<&str>, Vec<&str>) = words(name).into_iter().partition(|word| word.starts_with(MARK));
    match likes[..] {
        [] => Ok(None),
        [like] => Ok(Some((network.join("+"), &like[MARK.len()..]))),
        [first, second, ..] => Err(format!("{name}: {first} and {second}: a network has hosts of one fabric")),
    }
}

/// Gives a network the parameters of a fabric that its own files do not state; its name says so.
///
/// # Errors
/// There is no such fabric, or its file has mistakes.
pub fn hosts(spec: &mut FabricSpec, like: &str) -> Result<(), String> {
    let mistakes = |mistakes: Vec<Mistake>| format!("{MARK}{like}: {}", one_a_line(&mistakes));
    let other = catalog::load(like).map_err(mistakes)?;
    for (name, value) in &other.parameters {
        if !spec.parameters.contains_key(name) {
            spec.parameters.insert(name.clone(), value.clone());
            let key = format!("parameter.{name}");
            spec.ranges.extend(other.ranges.get(&key).map(|&range| (key.clone(), range)));
        }
    }
    spec.name += &format!("+{MARK}{like}");
    Ok(())
}
