//! A barrier device between the nodes that this machine plays: the contract of `plugins/barrier/hotlink_device.h`, by
//! the library `plugins/barrier/doors.c`. The process that starts ranks opens the doors of all nodes. The first rank of
//! each node then uses its own.
#![allow(unsafe_code)]

use crate::loaded::Loaded;
use crate::sys;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::path::Path;

/// Why there are no doors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDoors {
    /// No daemon listens.
    #[error("{0}")]
    Daemon(String),
    /// The daemon has not the ports or groups, the device's wires are others, or the library cannot be loaded.
    #[error("{0}")]
    Other(String),
}

/// The doors of all nodes, each of `ranks_per_node` consecutive ranks.
pub struct BarrierDevice {
    doors: *mut c_void,
    ranks_per_node: u32,
    /// The process that opened them, which closes them.
    owner: i32,
    enter: unsafe extern "C" fn(*mut c_void, u32),
    released: unsafe extern "C" fn(*mut c_void, u32) -> c_int,
    lost: unsafe extern "C" fn(*mut c_void, u32) -> c_int,
    close: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: open doors do not move. One process's one rank uses each node's door, and the library locks the connections.
unsafe impl Send for BarrierDevice {}
// SAFETY: as above.
unsafe impl Sync for BarrierDevice {}

impl fmt::Debug for BarrierDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierDevice").field("ranks_per_node", &self.ranks_per_node).finish_non_exhaustive()
    }
}

impl BarrierDevice {
    /// The doors for `ranks` ranks of this machine by the library at `library`, at the daemon that listens at `socket` (`None`:
    /// the user's). The daemon says how many consecutive ranks are a node; a job that would be one node is one of a rank each.
    ///
    /// # Errors
    /// No daemon, or one that cannot serve that many nodes.
    pub fn open(library: &Path, socket: Option<&str>, ranks: u32) -> Result<BarrierDevice, NoDoors> {
        let loaded = Loaded::open(library).map_err(NoDoors::Other)?;
        let function = |name: &str| loaded.symbol(name).map_err(NoDoors::Other);
        let socket = socket.map(CString::new).transpose().map_err(|error| NoDoors::Other(error.to_string()))?;
        type Open = unsafe extern "C" fn(*const c_char, u32, *mut u32, *mut *mut c_void) -> c_int;
        // SAFETY: doors.c gives the functions these signatures.
        let (open, enter, released, lost, close, error) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Open>(function("doors_open")?),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, u32)>(function("doors_enter")?),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, u32) -> c_int>(function(
                    "doors_released",
                )?),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, u32) -> c_int>(function(
                    "doors_lost",
                )?),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(function("doors_close")?),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(function(
                    "doors_error",
                )?),
            )
        };
        let (mut ranks_per_node, mut doors) = (0, std::ptr::null_mut());
        let path = socket.as_ref().map_or(std::ptr::null(), |path| path.as_ptr());
        // SAFETY: a C string or null, and places for what is made.
        let failed = unsafe { open(path, ranks, &raw mut ranks_per_node, &raw mut doors) };
        if failed != 0 {
            // SAFETY: gives a C string that stays.
            let what = unsafe { CStr::from_ptr(error(failed)) }.to_string_lossy().into_owned();
            let is_absent = matches!(failed, libc::ENOENT | libc::ECONNREFUSED);
            return Err(if is_absent { NoDoors::Daemon(what) } else { NoDoors::Other(what) });
        }
        Ok(BarrierDevice { doors, ranks_per_node, owner: sys::pid(), enter, released, lost, close })
    }
    /// Consecutive ranks that are a node.
    pub fn ranks_per_node(&self) -> u32 {
        self.ranks_per_node
    }
    /// `node` arrives.
    #[inline]
    pub(crate) fn enter(&self, node: u32) {
        // SAFETY: open doors; the caller is the node's first rank.
        unsafe { (self.enter)(self.doors, node) }
    }
    /// Whether the barrier that `node` entered last is released.
    #[inline]
    pub(crate) fn is_released(&self, node: u32) -> bool {
        // SAFETY: as above.
        unsafe { (self.released)(self.doors, node) != 0 }
    }
    /// Whether the daemon or another node's process is gone.
    pub(crate) fn is_lost(&self, node: u32) -> bool {
        // SAFETY: as above.
        unsafe { (self.lost)(self.doors, node) != 0 }
    }
}

impl Drop for BarrierDevice {
    fn drop(&mut self) {
        if self.owner == sys::pid() {
            // SAFETY: open doors, which no rank uses after this.
            unsafe { (self.close)(self.doors) }
        }
    }
}
