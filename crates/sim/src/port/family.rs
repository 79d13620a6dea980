//! Families of adapters: how the message stack uses each.

use super::pace::Pace;
use hotlink_fabric::technology::{TECHNOLOGIES, Technology};
use hotlink_memory::BusUse;

/// Families of adapters: a technology's record says which one fits.
pub use hotlink_fabric::technology::AdapterModel as Family;

/// What moves the payload of a control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// The processor stores it straight into the receiver's buffer.
    Stores,
    /// The processor copies it into a buffer that the adapter reads.
    Copy,
    /// The adapter reads it where it is.
    Direct,
}

impl Carrier {
    /// How a word, or what has no data but a head, is fed.
    pub fn word(self) -> Pace {
        Pace { bus: BusUse { stores: self == Carrier::Stores, ..BusUse::DMA }, ..Pace::AT_ONCE }
    }
}

/// How the message stack uses adapters of a family: choices of ours, not values of a machine.
pub(super) struct Design {
    /// Longest control message.
    pub control_bytes_max: u64,
    pub carrier: Carrier,
}

/// The stack's choices for a family.
pub(super) fn design(family: Family) -> Design {
    // Eager buffers of 16 KiB: SCI-MPICH (parameters P012). TCP's are the kernel's sockets.
    let (carrier, control_bytes_max) = match family {
        Family::Sci | Family::T3d => (Carrier::Stores, 16 << 10),
        Family::Elan => (Carrier::Direct, 16 << 10),
        Family::Myrinet | Family::Rdma => (Carrier::Copy, 16 << 10),
        Family::Tcp => (Carrier::Copy, 64 << 10),
    };
    Design { control_bytes_max, carrier }
}

/// The technology whose assumptions hold for adapters of `family` on a machine. It is the machine's own, or the
/// family's where its adapters are tried on a machine of another technology.
pub(super) fn technology_of(family: Family, own: &'static Technology) -> &'static Technology {
    if own.adapter.value == family {
        return own;
    }
    TECHNOLOGIES
        .iter()
        .rfind(|technology| technology.adapter.value == family && technology.name != "ideal")
        .copied()
        .unwrap_or(own)
}
