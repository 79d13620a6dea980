//! What a result was made on: version, system, processor. Nothing that changes from run to run, so that the same
//! command gives the same bytes.

use serde_json::{Map, Value};
use std::ffi::OsString;

/// `hotlink`, `os`, `kernel`, `arch`, `host`, `cpu`, `cores` (that this process may use), `cores_online` (of the machine:
/// an MPI that binds its ranks leaves each fewer); absent where the system does not say.
pub fn describe() -> Map<String, Value> {
    let facts = [
        ("hotlink", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("os", os()),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("arch", Some(std::env::consts::ARCH.to_owned())),
        ("host", line("/proc/sys/kernel/hostname")),
        ("cpu", cpu()),
    ];
    let mut map: Map<_, _> = facts.into_iter().filter_map(|(key, fact)| Some((key.to_owned(), fact?.into()))).collect();
    map.insert("cores".to_owned(), cores().into());
    map.insert("cores_online".to_owned(), hotlink_real::cores_of_machine().into());
    map
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The first line of a small file, if it can be read.
pub fn line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

fn os() -> Option<String> {
    let release = std::fs::read_to_string("/etc/os-release").ok();
    let named = release.as_deref().and_then(|text| field(text, "PRETTY_NAME", '='));
    Some(named.unwrap_or_else(|| std::env::consts::OS.to_owned()))
}

fn cpu() -> Option<String> {
    field(&std::fs::read_to_string("/proc/cpuinfo").ok()?, "model name", ':')
}

fn field(text: &str, key: &str, separator: char) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(separator)?.1.trim().trim_matches('"').to_owned())
}

/// The words that called this program, before its verb; none if it is another's.
pub fn program(verb: &str, words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.collect();
    let verb = words.iter().position(|word| word == verb).unwrap_or(0);
    words[..verb].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_called_as_it_was() {
        let called = |line: &str| program("calibrate", line.split(' ').map(OsString::from)).len();
        assert_eq!([called("hotlink calibrate m.json"), called("python3 /bin/hotlink calibrate m")], [1, 2]);
        assert_eq!(called("python3 own.py"), 0, "not by its command line");
    }
}
