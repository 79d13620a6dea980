//! Texts that a question names: a file's, standard input's (`-`), or what a face lends, as a browser has no files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Error, ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// Most bytes of standard input: as many as of a graph file.
const MOST_BYTES: u64 = 1 << 30;

/// What a face lends: it stands before files of the same name.
static LENT: RwLock<BTreeMap<String, Arc<str>>> = RwLock::new(BTreeMap::new());
/// One question with lent texts at a time.
static ONE: Mutex<()> = Mutex::new(());

/// While it lives, its texts are files.
pub struct Lent {
    _one: MutexGuard<'static, ()>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        LENT.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Lends texts by name; another loan waits until this one is returned.
pub fn lend(texts: BTreeMap<String, String>) -> Lent {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let texts = texts.into_iter().map(|(name, text)| (name, Arc::from(text))).collect();
    *LENT.write().unwrap_or_else(PoisonError::into_inner) = texts;
    Lent { _one: one }
}

fn lent(name: &str) -> Option<Arc<str>> {
    // A file that is there is meant before the catalog's of that name where it is called `./NAME`.
    let name = name.strip_prefix("./").unwrap_or(name);
    LENT.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// Whether a name means standard input.
pub fn is_standard(name: &str) -> bool {
    name == "-"
}

/// Whether a name is that of a file, where names of the catalog may stand, too.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml") || is_standard(name)
}

/// The path of a file that `file` names by its path from there.
pub(crate) fn beside(file: &str, path: &str) -> String {
    let path = Path::new(file).with_file_name(path);
    path.canonicalize().unwrap_or(path).display().to_string()
}

/// Whether there is a file of this name; standard input is one.
pub fn is_file(name: &str) -> bool {
    lent(name).is_some() || is_standard(name) || Path::new(name).is_file()
}

/// Bytes of a file.
///
/// # Errors
/// There is none that can be read.
pub fn bytes(name: &str) -> Result<u64, Error> {
    match lent(name) {
        Some(text) => Ok(text.len() as u64),
        None if is_standard(name) => Ok(standard()?.len() as u64),
        None => Ok(std::fs::metadata(name)?.len()),
    }
}

/// A file, or standard input, to be read from its beginning; without the byte order mark that editors put before texts.
///
/// # Errors
/// There is none that can be read.
pub fn open(name: &str) -> Result<Box<dyn Read>, Error> {
    let mut from: Box<dyn Read> = match lent(name) {
        Some(text) => Box::new(Cursor::new(Arc::<[u8]>::from(text))),
        None if is_standard(name) => Box::new(standard()?),
        None => Box::new(File::open(name)?),
    };
    let mut start = Vec::new();
    from.by_ref().take(3).read_to_end(&mut start)?;
    let start = if start == "\u{feff}".as_bytes() { Vec::new() } else { start };
    Ok(Box::new(Cursor::new(start).chain(from)))
}

/// The text of a file, or of standard input.
///
/// # Errors
/// What cannot be read, or is no text.
pub fn text(name: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    open(name)?.read_to_end(&mut bytes)?;
    let no_text = |what: &str| Error::new(ErrorKind::InvalidData, what);
    match &bytes[..] {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => Err(no_text("it is UTF-16, by its byte order mark: save it as UTF-8")),
        bytes if bytes.contains(&0) => Err(no_text("it holds zero bytes, so it is binary or UTF-16: save it as UTF-8")),
        _ => String::from_utf8(bytes).map_err(|_| no_text("it is no UTF-8 text")),
    }
}

/// Standard input is read once and kept: several simulations of one command may each open the fabric that it holds.
fn standard() -> Result<&'static [u8], Error> {
    static STANDARD: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let read = || {
        let mut bytes = Vec::new();
        let many = std::io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if many as u64 > MOST_BYTES { Err("standard input is longer than 1 GiB".to_owned()) } else { Ok(bytes) }
    };
    STANDARD.get_or_init(read).as_deref().map_err(|what| Error::new(ErrorKind::InvalidData, what.as_str()))
}
