//! The memory that a job's processes share: a part that all have from the start, and pieces that are added when ranks
//! need them. Each process maps a piece when it first uses it, so that address space grows with use, too.

use crate::sys::{self, SharedMemory};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const PAGE: u64 = 4096;

/// Where the system forbids memory files, forked processes share memory that is mapped before: this much for each rank,
/// besides the first part.
const RESERVE: u64 = 256 << 20;

/// The shared memory, seen from one process.
pub(crate) struct Pool {
    /// The first part; it begins with the count of bytes that were added.
    first: SharedMemory,
    /// Bytes of the first part.
    bytes: u64,
    /// Where pieces end at most, if they are no file's.
    end: Option<u64>,
    /// The pieces that this process has mapped: address by offset.
    mapped: RefCell<BTreeMap<u64, *mut u8>>,
}

impl Pool {
    /// Makes the memory of `ranks` ranks with a first part of `bytes` zeros, of which the first word is the block's own.
    pub(crate) fn new(bytes: u64, ranks: u32) -> io::Result<Pool> {
        let bytes = bytes.next_multiple_of(PAGE);
        let whole = bytes + u64::from(ranks) * RESERVE;
        match sys::memory_file(bytes as usize) {
            Ok(file) => Ok(Pool::with(SharedMemory::of(file, bytes as usize)?, bytes, None)),
            Err(_) => Ok(Pool::with(SharedMemory::new(whole as usize)?, bytes, Some(whole))),
        }
    }
    /// The memory that another process made with as many bytes.
    pub(crate) fn of(first: SharedMemory, bytes: u64) -> Pool {
        Pool::with(first, bytes.next_multiple_of(PAGE), None)
    }
    fn with(first: SharedMemory, bytes: u64, end: Option<u64>) -> Pool {
        Pool { first, bytes, end, mapped: RefCell::default() }
    }
    pub(crate) fn start(&self) -> *mut u8 {
        self.first.start()
    }
    pub(crate) fn memory(&self) -> &SharedMemory {
        &self.first
    }
    #[allow(unsafe_code)]
    fn added(&self) -> &AtomicU64 {
        // SAFETY: the first word, an atomic in every process.
        unsafe { &*self.start().cast::<AtomicU64>() }
    }
    /// Adds a piece of `bytes` zeros, in whole pages: its offset, which names it in every process.
    ///
    /// # Errors
    /// The system's, with what may be done about it.
    pub(crate) fn add(&self, bytes: u64) -> io::Result<u64> {
        let bytes = bytes.next_multiple_of(PAGE);
        let offset = self.bytes + self.added().fetch_add(bytes, Relaxed);
        match self.end {
            None => self.first.extend(offset + bytes)?,
            Some(end) if offset + bytes <= end => {}
            Some(end) => {
                let what = format!("the system forbids memory files, and the {end} B mapped instead are used up");
                return Err(io::Error::other(what));
            }
        }
        Ok(offset)
    }
    /// The place of a piece of `bytes` in this process.
    ///
    /// # Errors
    /// The limit of address space (`ulimit -v`), or of mappings.
    pub(crate) fn piece(&self, offset: u64, bytes: u64) -> io::Result<*mut u8> {
        if self.end.is_some() {
            return Ok(self.start().wrapping_add(offset as usize));
        }
        if let Some(&start) = self.mapped.borrow().get(&offset) {
            return Ok(start);
        }
        let start = self.first.map_more(offset, bytes.next_multiple_of(PAGE) as usize).map_err(|error| {
            let what = "another mapping of shared memory; ulimit -v or vm.max_map_count may be what limits it";
            io::Error::new(error.kind(), format!("{bytes} B of {what}: {error}"))
        })?;
        self.mapped.borrow_mut().insert(offset, start);
        Ok(start)
    }
    /// Gives whole pages back to the system; they read as zeros afterwards.
    pub(crate) fn punch(&self, offset: u64, bytes: u64) -> bool {
        self.first.punch(offset as usize, bytes as usize)
    }
}
