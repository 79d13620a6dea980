//! Message passing on any port: tagged matching, eager and rendezvous protocols, collectives.
//!
//! ```
//! use hotlink_message::{Comm, Error};
//! use hotlink_port::{Kind, Port, Span};
//!
//! /// Rank 0 sends 1 MiB to rank 1, over whatever `port` is.
//! async fn program<P: Port>(port: P) -> Result<(), Error> {
//!     let comm = Comm::new(port);
//!     let buffer = comm.alloc(1 << 20, Kind::Default)?;
//!     let block = Span::new(buffer, 0, 1 << 20);
//!     match comm.rank() {
//!         0 => comm.send(1, 7, block).await,
//!         1 => comm.recv(Some(0), Some(7), block).await.map(|_| ()),
//!         _ => Ok(()),
//!     }
//! }
//! ```
//!
//! [`Comm`] is a handle; the protocols are in `engine`. The engine has no clock and no I/O but its port, so that tests
//! drive two of them through any interleaving.

mod cache;
pub mod collectives;
mod comm;
pub mod conformance;
mod endpoint;
mod engine;
mod indexed;
mod members;
mod onesided;
mod options;
mod persistent;
#[cfg(any(test, feature = "prove"))]
#[doc(hidden)]
pub mod prove;
mod region;
mod request;
mod setup;
mod view;
mod waiting;
mod wire;
pub mod words;

pub use cache::{CacheStats, Policy};
pub use collectives::algorithm::{Algorithm, Collective};
pub use collectives::rules::{Call as CollectiveCall, Rules, Way};
pub use comm::Comm;
pub use endpoint::{Endpoint, Exposed, exchange_one_by_one};
pub use hotlink_port::{Combine, Element, Operation};
pub use indexed::Indexed;
pub use options::{Counters, Mode, Options};
pub use persistent::Persistent;
pub use region::{RangeState, Region, RegionSource, RegionType};
pub use request::{Request, Status};
pub use setup::SetupStats;
pub use view::{CONTEXTS, INTERNAL, Matched};
pub use waiting::Ended;
pub use wire::described;

use hotlink_port::{Rank, Refusal};
use serde::{Deserialize, Serialize};

/// A message's tag.
pub type Tag = u32;

/// Why a communication failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
pub enum Error {
    /// The message is longer than the receive buffer; its beginning was received.
    #[error("rank {from} sent {sent} B with tag {tag}, and the receive has room for {room} B")]
    Truncated {
        /// Bytes sent.
        sent: u64,
        /// Bytes of the receive buffer.
        room: u64,
        /// Its sender.
        from: Rank,
        /// With which tag.
        tag: Tag,
    },
    /// The peer has died.
    #[error("rank {0} is gone")]
    PeerGone(Rank),
    /// The peer's program has ended: it sends and receives no more.
    #[error("rank {0} has ended, and sends and receives no more")]
    Ended(Rank),
    /// The port or host refused.
    #[error("refused: {0}")]
    Refused(#[from] Refusal),
    /// The request was already waited for.
    #[error("no such request")]
    NoRequest,
}
