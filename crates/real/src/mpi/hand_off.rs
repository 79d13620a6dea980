//! The bound of short messages between two ranks of one machine. A word passes over two cache lines of memory that the
//! first rank shares with the last.

use super::MpiEndpoint;
use crate::drivers::bounce;
use crate::machine;
use crate::sys::SharedMemory;
use hotlink_message::{Endpoint, Error, Tag};
use hotlink_port::{Kind, Rank, Span};

const TAG: Tag = 32_001;
const PATH: u64 = 128;

pub(super) async fn hand_off(endpoint: &MpiEndpoint) -> Result<Option<f64>, Error> {
    let (rank, last) = (endpoint.rank(), endpoint.ranks() - 1);
    if rank != 0 && rank != last || last == 0 {
        return Ok(None);
    }
    let note = endpoint.alloc(PATH, Kind::Private)?;
    let lines = if rank == 0 { SharedMemory::new(4096).ok() } else { None };
    if rank == 0 {
        let path =
            lines.as_ref().and_then(SharedMemory::path).map(|path| format!("{} {path}", machine())).unwrap_or_default();
        endpoint.write(note, 0, &padded(&path))?;
        endpoint.send(last, TAG, Span::new(note, 0, PATH)).await?;
    } else {
        endpoint.recv(Some(0), Some(TAG), Span::new(note, 0, PATH)).await?;
    }
    let mut text = [0; PATH as usize];
    endpoint.read(note, 0, &mut text)?;
    let lines = if rank == 0 { lines } else { open(&text) };
    let both = agreed(endpoint, note, if rank == 0 { last } else { 0 }, lines.is_some()).await?;
    endpoint.free(note)?;
    let samples = lines.filter(|_| both).map(|lines| bounce(&lines, u32::from(rank != 0)));
    Ok(samples.map(|samples| samples.into_iter().fold(f64::INFINITY, f64::min)))
}

/// Whether both have the memory.
async fn agreed(endpoint: &MpiEndpoint, note: hotlink_port::Memory, peer: Rank, mine: bool) -> Result<bool, Error> {
    let (to, from) = (Span::new(note, 0, 1), Span::new(note, 1, 1));
    endpoint.write(note, 0, &[u8::from(mine)])?;
    let (sent, received) = (endpoint.isend(peer, TAG, to)?, endpoint.irecv(Some(peer), Some(TAG), from)?);
    endpoint.wait_all(vec![sent, received]).await?;
    let mut theirs = [0];
    endpoint.read(note, 1, &mut theirs)?;
    Ok(mine && theirs == [1])
}

fn open(note: &[u8]) -> Option<SharedMemory> {
    let text = String::from_utf8_lossy(note);
    let (where_, path) = text.trim_end_matches('\0').split_once(' ')?;
    if where_ == machine() { SharedMemory::open(path, 4096).ok() } else { None }
}

fn padded(text: &str) -> [u8; PATH as usize] {
    let mut bytes = [0; PATH as usize];
    // A path that is too long is of no use to the other side, which then says so.
    if text.len() <= bytes.len() {
        bytes[..text.len()].copy_from_slice(text.as_bytes());
    }
    bytes
}
