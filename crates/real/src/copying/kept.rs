//! Measurements of this machine, kept in the user's cache. A file of another machine, a damaged one or another user's
//! is never used.

use super::{Sample, probe::SIZES};
use crate::route::CopyWay;
use crate::sys;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "hotlink-copy/3";
/// Longer files are none of these.
const MOST_BYTES: u64 = 64 << 10;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    schema: String,
    /// The machine of the samples.
    machine: String,
    states: Vec<State>,
}

/// The samples of one state of a machine: the cores that ranks run on are near each other or far, and virtual ones move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// In which a line went from core to core when they were measured, in microseconds.
    pub(super) hand_off_us: f64,
    pub(super) samples: Vec<Sample>,
}

impl State {
    /// Hand-offs that are less than this factor apart are of one state.
    const SAME: f64 = 1.35;
    /// Whether a line that takes `hand_off_us` is of this state.
    pub(super) fn is_now(&self, hand_off_us: f64) -> bool {
        (1.0 / State::SAME..=State::SAME).contains(&(hand_off_us / self.hand_off_us))
    }
    fn is_plausible(&self) -> bool {
        let plausible = |sample: &Sample| SIZES.contains(&sample.size) && sample.us.is_finite() && sample.us > 0.0;
        let of_ring = |size| self.samples.iter().any(|sample| (sample.way, sample.size) == (CopyWay::Ring, size));
        let measured = self.hand_off_us.is_finite() && self.hand_off_us > 0.0;
        measured && SIZES.into_iter().all(of_ring) && self.samples.iter().all(plausible)
    }
}
/// More states than a machine has are not kept: the oldest goes.
const MOST_STATES: usize = 8;

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

/// The states in a file, the newest last; none if it cannot be believed.
pub(super) fn read(path: &Path) -> Vec<State> {
    believed(path).unwrap_or_default()
}

fn believed(path: &Path) -> Option<Vec<State>> {
    let about = std::fs::symlink_metadata(path).ok()?;
    let own = about.is_file() && about.uid() == sys::user() && about.mode() & 0o022 == 0;
    if !own || about.len() > MOST_BYTES {
        return None;
    }
    let kept: Kept = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let sound = kept.schema == SCHEMA && kept.machine == machine() && kept.states.iter().all(State::is_plausible);
    sound.then_some(kept.states)
}

/// Adds a state to the kept ones and replaces the earlier state of the same machine. The write is whole or not at all,
/// whichever other processes write at the same time.
pub(super) fn add(path: &Path, state: State) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    std::fs::create_dir_all(folder)?;
    let mut states = read(path);
    states.retain(|kept| !kept.is_now(state.hand_off_us));
    states.push(state);
    states.drain(..states.len().saturating_sub(MOST_STATES));
    let kept = Kept { schema: SCHEMA.to_owned(), machine: machine(), states };
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

    fn state(hand_off_us: f64, us: f64) -> State {
        State { hand_off_us, samples: SIZES.map(|size| Sample { way: CopyWay::Ring, size, us }).to_vec() }
    }

    #[test]
    fn every_state_of_a_machine_is_kept_once() {
        let folder = std::env::temp_dir().join(format!("hotlink-states-{}", std::process::id()));
        let path = folder.join("copy.json");
        let (near, far) = (state(0.03, 1.0), state(0.2, 2.0));
        add(&path, near.clone()).unwrap();
        add(&path, far.clone()).unwrap();
        assert_eq!(read(&path), [near.clone(), far.clone()]);
        assert!(near.is_now(0.035) && near.is_now(0.025) && !near.is_now(0.045) && !near.is_now(f64::NAN));
        add(&path, state(0.031, 3.0)).unwrap();
        assert_eq!(read(&path), [far, state(0.031, 3.0)], "measured again");
        (1..20).try_for_each(|step| add(&path, state(2.0_f64.powi(step), 1.0))).unwrap();
        assert_eq!(read(&path).len(), MOST_STATES);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_corrupt_foreign_or_open_to_others_is_not_believed() {
        let folder = std::env::temp_dir().join(format!("hotlink-kept-{}", std::process::id()));
        let path = folder.join("hotlink/copy.json");
        let states = vec![state(0.25, 1.5)];
        add(&path, states[0].clone()).unwrap();
        assert_eq!(read(&path), states);
        let text = std::fs::read_to_string(&path).unwrap();
        let machine = machine();
        let wrong = [
            text[..text.len() / 2].to_owned(),
            String::new(),
            text.replace(SCHEMA, "hotlink-copy/1"),
            text.replace(&serde_json::to_string(&machine).unwrap(), "\"another\""),
            text.replace("1.5", "-1.5"),
            text.replace("0.25", "0.0"),
            text.replace("\"ring\"", "\"magic\""),
            text.replacen(&SIZES[0].to_string(), "12345", 1),
            text.replacen("\"schema\"", "\"more\": 1, \"schema\"", 1),
        ];
        for wrong in wrong {
            assert_ne!(wrong, text);
            std::fs::write(&path, &wrong).unwrap();
            assert_eq!(read(&path), [], "{wrong}");
        }
        std::fs::write(&path, &text).unwrap();
        assert_eq!(read(&path), states);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(read(&path), [], "anybody may have written it");
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read(&path), []);
    }
}
