//! The secret of a job: a file of the user's, a variable, or one that this machine keeps for the user.

use super::random;
use crate::sys;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Shorter ones can be guessed.
const LEAST: usize = 16;
/// No secret is longer; what is, is another file.
const MOST: u64 = 4096;

const FILE: &str = "HOTLINK_SECRET_FILE";
const TEXT: &str = "HOTLINK_SECRET";

/// The secret that only the ranks of a job know.
#[derive(Clone)]
pub(crate) struct Secret {
    bytes: Vec<u8>,
    /// Where it is from, for messages.
    origin: String,
}

static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// Takes the job's secret from this file instead of the environment: before anything is run, once.
///
/// # Errors
/// Called twice.
pub fn use_secret_file(path: &Path) -> Result<(), String> {
    CHOSEN.set(path.to_owned()).map_err(|_| "the secret's file was chosen already".to_owned())
}

/// A secret for a job on several hosts, as the variable that names it takes it.
///
/// # Errors
/// The system has no random bytes.
pub fn fresh_secret() -> io::Result<String> {
    Ok(random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Secret {
    /// Of this process and those that it forks.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub(crate) fn fresh() -> io::Result<Secret> {
        Ok(Secret::of(random::<32>()?.to_vec(), "this job"))
    }
    /// Known to both sides by other means.
    pub(crate) fn of(bytes: Vec<u8>, origin: &str) -> Secret {
        Secret { bytes, origin: origin.to_owned() }
    }
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }
    /// The secret from a file or a variable. If there is none and all ranks are on this machine (`local`), it is the
    /// one that the machine keeps for the user.
    ///
    /// # Errors
    /// A file that others may read or that cannot be used; none was given, and ranks may be on other machines.
    pub(crate) fn find(local: bool) -> Result<Secret, String> {
        if let Some(path) = CHOSEN.get().cloned().or_else(|| std::env::var_os(FILE).map(PathBuf::from)) {
            return Secret::read(&path);
        }
        if let Ok(text) = std::env::var(TEXT) {
            return Secret::checked(text.into_bytes(), TEXT.to_owned());
        }
        if local {
            return kept().map_err(|error| format!("this machine's secret for the user: {error}; or set {TEXT}"));
        }
        Err(format!(
            "ranks on other machines must prove a secret, and none was given. Make one with \
             `(umask 077; head -c 32 /dev/urandom >secret)`, bring the file to all machines, and set {FILE} or \
             --secret-file. Or have the launcher pass {TEXT} on"
        ))
    }
    pub(super) fn read(path: &Path) -> Result<Secret, String> {
        let name = format!("the secret's file {}", path.display());
        let told = |error: io::Error| format!("{name}: {error}");
        let file = File::open(path).map_err(told)?;
        let about = file.metadata().map_err(told)?;
        if !about.is_file() {
            return Err(format!("{name}: it is no regular file"));
        }
        if about.mode() & 0o077 != 0 {
            let mode = about.mode() & 0o777;
            return Err(format!("{name}: its mode is {mode:o}, so that others may use it; must be 600: chmod 600 it"));
        }
        if ![sys::user(), 0].contains(&about.uid()) {
            return Err(format!("{name}: it belongs to user {}; must be this user's own", about.uid()));
        }
        let mut bytes = Vec::new();
        file.take(MOST + 1).read_to_end(&mut bytes).map_err(told)?;
        Secret::checked(bytes, name)
    }
    fn checked(bytes: Vec<u8>, origin: String) -> Result<Secret, String> {
        // An editor's or echo's end of line is no part of it.
        let end = bytes.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
        if (LEAST..=MOST as usize).contains(&end) {
            return Ok(Secret { bytes: bytes[..end].to_vec(), origin });
        }
        Err(format!("{origin}: {end} bytes; must be {LEAST} to {MOST} that cannot be guessed"))
    }
}

/// The user's secret on this machine, made when it is first asked for: in the user's folder of runtime files, or in one in
/// /tmp. Not where variables say: ranks of one job may have different ones.
fn kept() -> Result<Secret, String> {
    let user = sys::user();
    let runtime = PathBuf::from(format!("/run/user/{user}"));
    let own = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|about| is_private(&about, user));
    let folder = if own(&runtime) { runtime.join("hotlink") } else { PathBuf::from(format!("/tmp/hotlink-{user}")) };
    let told = |error: io::Error| format!("{}: {error}", folder.display());
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(told(error)),
        _ => {}
    }
    if !own(&folder) {
        return Err(format!("{}: must be a folder of this user's own with mode 700", folder.display()));
    }
    let path = folder.join("secret");
    if !path.exists() {
        make(&folder, &path).map_err(told)?;
    }
    Secret::read(&path)
}

fn is_private(about: &std::fs::Metadata, user: u32) -> bool {
    about.is_dir() && about.uid() == user && about.mode() & 0o077 == 0
}

/// Makes the file whole: of several ranks that make it at once, one wins.
fn make(folder: &Path, path: &Path) -> io::Result<()> {
    let draft = folder.join(format!("secret-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    let hexadecimal: String = random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    file.write_all(hexadecimal.as_bytes())?;
    let linked = std::fs::hard_link(&draft, path);
    std::fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
