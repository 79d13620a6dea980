//! Hosts of a network that files describe. They say what its cables are; what its hosts take for a copy or a message, a
//! fabric of the catalog may say in their place.

use hotlink_fabric::catalog;
use hotlink_fabric::input::is_file;
use hotlink_fabric::spec::FabricSpec;

const MARK: &str = "like:";

/// `NETWORK+like:FABRIC` in two: the network, and the fabric whose hosts are like its own. `None`: there is no such word.
pub fn split(name: &str) -> Option<(String, &str)> {
    let words: Vec<&str> = if is_file(name) { vec![name] } else { name.split('+').collect() };
    let like = words.iter().find_map(|word| word.strip_prefix(MARK))?;
    // The first alone: another one is told by who opens the rest.
    let mut is_first = true;
    let is_other = |word: &&str| !word.starts_with(MARK) || !std::mem::take(&mut is_first);
    let rest: Vec<&str> = words.iter().copied().filter(is_other).collect();
    Some((rest.join("+"), like))
}

/// Gives a network the parameters of a fabric that its own files do not state; its name tells so.
///
/// # Errors
/// There is no such fabric, or its file has mistakes.
pub fn hosts(spec: &mut FabricSpec, like: &str) -> Result<(), String> {
    let mistakes = |mistakes: Vec<catalog::Mistake>| {
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        format!("{MARK}{like}: {}", told.join("\n"))
    };
    let other = catalog::load(like).map_err(mistakes)?;
    if let Some(before) = spec.name.find(MARK) {
        return Err(format!("{MARK}{like}: the hosts are those of {} already", &spec.name[before + MARK.len()..]));
    }
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
