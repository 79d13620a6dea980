//! The basis of a result: version, system, processor. Nothing in it changes from run to run, so that the same command
//! gives the same bytes.

use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::Path;

/// The commit that this program was built from, as `git describe` names it, where the build knew it. The version alone is
/// that of all programs between two releases.
const COMMIT: Option<&str> = option_env!("HOTLINK_COMMIT");

/// `hotlink`, `commit`, `os`, `kernel`, `arch`, `host`, `cpu`, `cores`, `cores_online`, `caches` and `page_B`; absent where
/// the system does not say. `cores` are those that this process may use, `cores_online` those of the machine: an MPI that
/// binds its ranks leaves each fewer. `caches` are the data caches of the first processor, from the nearest, each with
/// its level, size, ways and line.
pub fn describe() -> Map<String, Value> {
    let facts = [
        ("hotlink", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("commit", COMMIT.filter(|commit| !commit.is_empty()).map(str::to_owned)),
        ("os", os()),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("arch", Some(std::env::consts::ARCH.to_owned())),
        ("host", line("/proc/sys/kernel/hostname")),
        ("cpu", cpu()),
    ];
    let mut map: Map<_, _> = facts.into_iter().filter_map(|(key, fact)| Some((key.to_owned(), fact?.into()))).collect();
    map.insert("cores".to_owned(), cores().into());
    map.insert("cores_online".to_owned(), hotlink_real::cores_of_machine().into());
    let caches = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
    if !caches.is_empty() {
        map.insert("caches".to_owned(), caches.into());
    }
    if let Some(page) = page() {
        map.insert("page_B".to_owned(), page.into());
    }
    map
}

/// The caches of data that a folder of the system describes, each in one of its own, from the nearest.
fn caches(folder: &Path) -> Vec<Value> {
    let of = |index: usize| {
        let fact = |name: &str| line(folder.join(format!("index{index}")).join(name).to_str()?);
        let number = |name: &str| fact(name)?.parse::<u64>().ok();
        let size = fact("size")?;
        let size_b =
            size.strip_suffix('K').map_or_else(|| size.parse().ok(), |kib| Some(kib.parse::<u64>().ok()? << 10));
        let cache = serde_json::json!({"level": number("level")?, "size_B": size_b?,
            "ways": number("ways_of_associativity")?, "line_B": number("coherency_line_size")?});
        Some((fact("type")? != "Instruction").then_some(cache))
    };
    let mut caches: Vec<Value> = (0..).map_while(of).flatten().collect();
    caches.sort_by_key(|cache| cache["level"].as_u64());
    caches
}

/// Bytes of an ordinary page.
fn page() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let kib = field(&told, "KernelPageSize", ':')?;
    Some(kib.strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
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
    fn caches_are_told_as_the_system_describes_them() {
        let folder = std::env::temp_dir().join(format!("hotlink-caches-{}", std::process::id()));
        let kinds = [("1", "Data", "32K", "8"), ("1", "Instruction", "64K", "4"), ("2", "Unified", "512K", "16")];
        for (index, (level, kind, size, ways)) in kinds.into_iter().enumerate() {
            let own = folder.join(format!("index{index}"));
            std::fs::create_dir_all(&own).unwrap();
            let facts = [
                ("level", level),
                ("type", kind),
                ("size", size),
                ("ways_of_associativity", ways),
                ("coherency_line_size", "64"),
            ];
            facts.iter().for_each(|(name, fact)| std::fs::write(own.join(name), format!("{fact}\n")).unwrap());
        }
        let expected = serde_json::json!([{"level": 1, "size_B": 32768, "ways": 8, "line_B": 64},
            {"level": 2, "size_B": 524_288, "ways": 16, "line_B": 64}]);
        assert_eq!(Value::from(caches(&folder)), expected);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(caches(&folder).is_empty());
    }

    #[test]
    fn the_program_is_called_as_it_was() {
        let called = |line: &str| program("calibrate", line.split(' ').map(OsString::from)).len();
        assert_eq!([called("hotlink calibrate m.json"), called("python3 /bin/hotlink calibrate m")], [1, 2]);
        assert_eq!(called("python3 own.py"), 0, "not by its command line");
    }
}
