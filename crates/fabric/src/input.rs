//! Text that a command is given: a file's, or standard input's where the name is `-`.

use std::io::{Error, ErrorKind, Read};
use std::sync::OnceLock;

/// Most bytes of standard input: as many as of a graph file.
const MOST_BYTES: u64 = 1 << 30;

/// Whether a name means standard input.
pub fn is_standard(name: &str) -> bool {
    name == "-"
}

/// The text of a file, or of standard input. Standard input is read once and kept: several simulations of one command
/// may each open the fabric that it holds.
///
/// # Errors
/// What cannot be read, or is no text.
pub fn text(name: &str) -> Result<String, Error> {
    static STANDARD: OnceLock<Result<String, String>> = OnceLock::new();
    if !is_standard(name) {
        return std::fs::read_to_string(name);
    }
    let read = || {
        let mut text = String::new();
        let read = std::io::stdin().take(MOST_BYTES + 1).read_to_string(&mut text);
        match read.map_err(|error| error.to_string())? as u64 {
            bytes if bytes > MOST_BYTES => Err("standard input is longer than 1 GiB".to_owned()),
            _ => Ok(text),
        }
    };
    STANDARD.get_or_init(read).clone().map_err(|what| Error::new(ErrorKind::InvalidData, what))
}
