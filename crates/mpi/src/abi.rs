//! The few types of the ABI that are no integers.

use hotlink_standard::constants as c;
use std::ffi::c_int;

/// Every handle: predefined ones are small numbers, others those of tables (see `table.rs`). All fit into an `int`.
pub(crate) type Handle = usize;

/// `MPI_Status`: the first three are the program's to read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
    /// Bytes in two words, and whether it was cancelled.
    pub(crate) internal: [c_int; 5],
}

impl Status {
    /// Of a result with neither source nor tag: a send, a collective, no request.
    pub(crate) const EMPTY: Status =
        Status { source: c::MPI_ANY_SOURCE, tag: c::MPI_ANY_TAG, error: c::MPI_SUCCESS, internal: [0; 5] };
    /// Of a message to or from MPI_PROC_NULL.
    pub(crate) const NOBODY: Status = Status { source: c::MPI_PROC_NULL, ..Status::EMPTY };

    pub(crate) fn received(source: c_int, tag: c_int, bytes: u64) -> Status {
        let mut status = Status { source, tag, ..Status::EMPTY };
        status.set_bytes(bytes);
        status
    }
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.internal[0] as u32) | u64::from(self.internal[1] as u32) << 32
    }
    pub(crate) fn set_bytes(&mut self, bytes: u64) {
        (self.internal[0], self.internal[1]) = (bytes as u32 as c_int, (bytes >> 32) as c_int);
    }
    pub(crate) fn is_cancelled(&self) -> bool {
        self.internal[2] != 0
    }
    pub(crate) fn set_cancelled(&mut self, cancelled: bool) {
        self.internal[2] = c_int::from(cancelled);
    }
}
