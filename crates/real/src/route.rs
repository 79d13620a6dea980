//! The routes of long messages, and which holds in this process. Who chooses, and why, is in `copying`.

use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// The route of a long message of ordinary memory. Segments, which every rank can reach, need none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyWay {
    /// The sender copies into the ring, the receiver out of it at the same time.
    Ring,
    /// The same; the receiver stores past its caches (non-temporal) after the first part.
    Stream,
    /// The receiver has the system copy it whole, from process to process (`process_vm_readv`).
    System,
    /// Sender and receiver each have the system copy a half.
    Halves,
}

impl CopyWay {
    /// All.
    pub const ALL: [CopyWay; 4] = [CopyWay::Ring, CopyWay::Stream, CopyWay::System, CopyWay::Halves];
    /// Its name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            CopyWay::Ring => "ring",
            CopyWay::Stream => "stream",
            CopyWay::System => "system",
            CopyWay::Halves => "halves",
        }
    }
    /// The routes that it forces for every length.
    pub(crate) fn copying(self) -> Copying {
        let ring = Copying::USUAL;
        match self {
            CopyWay::Ring => Copying { stream_min: u64::MAX, ..ring },
            CopyWay::Stream => Copying { stream_min: LEAST, ..ring },
            CopyWay::System => Copying { system_min: LEAST, ..ring },
            CopyWay::Halves => Copying { system_min: LEAST, halves_min: LEAST, ..ring },
        }
    }
}

/// Shorter messages go through the ring.
const LEAST: u64 = 32 << 10;

/// From which lengths on a message of ordinary memory takes which route; [`u64::MAX`]: none does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copying {
    /// Shortest message that the system copies between ranks that both wait.
    pub system_min: u64,
    /// From this length on they take the ring again.
    pub system_max: u64,
    /// Of those, the shortest of which each side has a half copied.
    pub halves_min: u64,
    /// Bytes of a row of messages through the ring after which its receiver stores past the caches.
    pub stream_min: u64,
}

impl Copying {
    /// Where nothing is known of the machine.
    pub const USUAL: Copying = Copying {
        system_min: u64::MAX,
        system_max: u64::MAX,
        halves_min: u64::MAX,
        stream_min: hotlink_port::STREAM_BYTES,
    };
}

/// The routes in force for messages of this process's ranks, and of those that it forks.
static HOLDS: Mutex<Copying> = Mutex::new(Copying::USUAL);

pub(crate) fn hold(copying: Copying) {
    *HOLDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = copying;
}

pub(crate) fn held() -> Copying {
    *HOLDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
