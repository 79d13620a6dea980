//! The daemon that owns a barrier device: which device, and its command line.

use super::device;
use crate::face::Face;
use hotlink_study::simulate::barrier;
use hotlink_study::{Error, Source};
use std::process::Command;

/// A device that a daemon owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// The compiled RTL.
    Rtl,
    /// A board by SPI or a parallel port, or a card by UIO, as its daemon names it.
    Board(String),
    /// The closed form of a fabric's own barrier network.
    Fabric(String),
}

/// Bytes of a Unix socket's path.
const MOST_PATH: usize = 107;

impl Served {
    /// Of `rtl`, `spi:PATH`, `port:BASE`, `uio:PATH` or `fabric:NAME`.
    ///
    /// # Errors
    /// What is allowed.
    pub fn read(word: &str) -> Result<Served, String> {
        match word.split_once(':') {
            Some(("spi" | "uio", path)) if path.starts_with('/') => Ok(Served::Board(word.to_owned())),
            Some(("port", base)) if is_port(base) => Ok(Served::Board(word.to_owned())),
            Some(("fabric", name)) if !name.is_empty() => Ok(Served::Fabric(name.to_owned())),
            None if word == "rtl" => Ok(Served::Rtl),
            _ => Err(
                "must be rtl, spi:PATH, such as spi:/dev/spidev0.0, port:BASE, such as port:0x378, uio:PATH, or fabric:NAME, \
                 such as fabric:sharp"
                    .to_owned(),
            ),
        }
    }

    /// The daemon for that many nodes, compiled where it is not yet. It listens at `socket` or at its default.
    ///
    /// # Errors
    /// What cannot be compiled, and what it needs; a socket's path that is too long; no such barrier network.
    pub fn command(&self, nodes: u32, socket: Option<&str>, face: &dyn Face) -> Result<Command, Error> {
        if let Some(path) = socket.filter(|path| path.is_empty() || path.len() > MOST_PATH) {
            return Err(Error::Input(format!("--socket {path}: must be a path of 1 to {MOST_PATH} bytes")));
        }
        let mut command = match self {
            Served::Rtl => Command::new(device::server(nodes, face)?),
            Served::Board(word) => {
                let mut command = Command::new(device::BOARD_SERVER.make(face)?);
                command.args(["--device", word]);
                command
            }
            Served::Fabric(name) => {
                let op = barrier::processing_time(&Source::open(name)?, nodes)?;
                let mut command = Command::new(device::MODEL_SERVER.make(face)?);
                command.args(["--device", name, "--op-ns", &format!("{:.0}", op.us() * 1e3)]);
                command
            }
        };
        command.args(["--nodes", &nodes.to_string()]).args(socket.iter().flat_map(|path| ["--socket", path]));
        Ok(command)
    }
}

/// Whether a word is the address of a parallel port's first register.
fn is_port(word: &str) -> bool {
    let digits = word.strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16));
    digits.unwrap_or_else(|| word.parse()).is_ok_and(|base| base <= LAST_PORT)
}

/// The last address at which a parallel port's registers fit.
const LAST_PORT: u32 = 0xfff0;
