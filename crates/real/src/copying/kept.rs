//! What was measured of this machine, kept in the user's cache. A file that is not of this machine, not whole or not this
//! user's own is never believed.

use super::{Sample, probe::SIZES};
use crate::route::CopyWay;
use crate::sys;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "hotlink-copy/1";
/// Longer files are none of these.
const MOST_BYTES: u64 = 64 << 10;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    schema: String,
    /// What the samples are true of.
    machine: String,
    samples: Vec<Sample>,
}

/// `$XDG_CACHE_HOME/hotlink/copy.json`, or in `~/.cache`.
pub(super) fn place() -> Option<PathBuf> {
    let xdg = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    Some(xdg.or_else(home)?.join("hotlink/copy.json"))
}

/// This machine as far as copies depend on it: processor, cores that may be used, kernel, and this program's version.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let model =
        processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("", |of| of.1);
    let (cores, kernel) = (sys::allowed_cores(), read("/proc/sys/kernel/osrelease"));
    let copies = sys::can_copy_between_processes();
    format!("{model}; cores {cores:?}; Linux {}; system copy {copies}; {}", kernel.trim(), env!("CARGO_PKG_VERSION"))
}

/// The samples in a file, if it can be believed.
pub(super) fn read(path: &Path) -> Option<Vec<Sample>> {
    let about = std::fs::symlink_metadata(path).ok()?;
    let own = about.is_file() && about.uid() == sys::user() && about.mode() & 0o022 == 0;
    if !own || about.len() > MOST_BYTES {
        return None;
    }
    let kept: Kept = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let plausible = |sample: &Sample| SIZES.contains(&sample.size) && sample.us.is_finite() && sample.us > 0.0;
    let whole =
        SIZES.iter().all(|&size| kept.samples.iter().any(|sample| sample.way == CopyWay::Ring && sample.size == size));
    let sound = kept.schema == SCHEMA && kept.machine == machine() && whole && kept.samples.iter().all(plausible);
    sound.then_some(kept.samples)
}

/// Keeps samples: whole or not at all, whoever else writes at the same time.
pub(super) fn write(path: &Path, samples: &[Sample]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    std::fs::create_dir_all(folder)?;
    let kept = Kept { schema: SCHEMA.to_owned(), machine: machine(), samples: samples.to_vec() };
    let draft = folder.join(format!("copy-{}", std::process::id()));
    let mut file = std::fs::File::create(&draft)?;
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.write_all(&serde_json::to_vec_pretty(&kept)?)?;
    std::fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_corrupt_foreign_or_open_to_others_is_not_believed() {
        let folder = std::env::temp_dir().join(format!("hotlink-kept-{}", std::process::id()));
        let path = folder.join("hotlink/copy.json");
        let samples: Vec<Sample> = SIZES.map(|size| Sample { way: CopyWay::Ring, size, us: 1.5 }).to_vec();
        write(&path, &samples).unwrap();
        assert_eq!(read(&path), Some(samples.clone()));
        let text = std::fs::read_to_string(&path).unwrap();
        let machine = machine();
        let wrong = [
            text[..text.len() / 2].to_owned(),
            String::new(),
            text.replace(SCHEMA, "hotlink-copy/0"),
            text.replace(&serde_json::to_string(&machine).unwrap(), "\"another\""),
            text.replace("1.5", "-1.5"),
            text.replace("\"ring\"", "\"magic\""),
            text.replacen(&SIZES[0].to_string(), "12345", 1),
            text.replacen("\"schema\"", "\"more\": 1, \"schema\"", 1),
        ];
        for wrong in wrong {
            assert_ne!(wrong, text);
            std::fs::write(&path, &wrong).unwrap();
            assert_eq!(read(&path), None, "{wrong}");
        }
        std::fs::write(&path, &text).unwrap();
        assert_eq!(read(&path), Some(samples));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(read(&path), None, "anybody may have written it");
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read(&path), None);
    }
}
