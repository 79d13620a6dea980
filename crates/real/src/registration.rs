//! The cost of making memory reachable for one message, and the saving by a cache. It covers mapping another process's
//! memory, and pinning a rank's own as an adapter's DMA needs it (W01 s10: one registration for each buffer).
#![allow(unsafe_code)]

use crate::sys::SharedMemory;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How memory becomes reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Mapping the memory file that the peer exports; its pages are entered as the copy touches them.
    Map,
    /// Pinning pages that are there already.
    Pin,
}

/// A block of memory, exported and mapped, and where it is copied to.
pub struct Registration {
    exported: SharedMemory,
    file: OwnedFd,
    target: Vec<u8>,
}

impl Registration {
    /// Blocks of `bytes`, all their pages in memory.
    ///
    /// # Errors
    /// The system has no memory files, or not so much memory.
    pub fn new(bytes: usize) -> io::Result<Registration> {
        let none = || io::Error::new(io::ErrorKind::Unsupported, "the system has no memory files (memfd_create)");
        let exported = SharedMemory::new(bytes)?;
        let file = exported.file().ok_or_else(none)?.try_clone()?;
        // SAFETY: mapped with as many bytes, and no other code knows of it.
        unsafe { exported.start().write_bytes(1, bytes) };
        Ok(Registration { exported, file, target: vec![1; bytes] })
    }
    /// The time of one copy of the block out of memory that is set up already.
    pub fn kept(&mut self) -> Duration {
        let start = Instant::now();
        Registration::copy(&self.exported, &mut self.target);
        start.elapsed()
    }
    /// The same with the memory made reachable for this copy and released after it.
    ///
    /// # Errors
    /// The system refuses: with [`Reach::Pin`], beyond the limit of locked memory.
    pub fn each_time(&mut self, how: Reach) -> io::Result<Duration> {
        let start = Instant::now();
        match how {
            Reach::Map => {
                let mapped = SharedMemory::of(self.file.try_clone()?, self.target.len())?;
                Registration::copy(&mapped, &mut self.target);
            }
            Reach::Pin => {
                let block = (self.exported.start().cast(), self.target.len());
                // SAFETY: a mapping of this process's own.
                if unsafe { libc::mlock(block.0, block.1) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                Registration::copy(&self.exported, &mut self.target);
                // SAFETY: as above.
                unsafe { libc::munlock(block.0, block.1) };
            }
        }
        Ok(start.elapsed())
    }
    fn copy(from: &SharedMemory, to: &mut [u8]) {
        // SAFETY: `from` is mapped with at least as many bytes, which nothing writes now; they do not overlap.
        unsafe { from.start().copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_block_however_it_is_reached() {
        let mut block = match Registration::new(64 << 10) {
            Ok(block) => block,
            // A system without memory files must say so, and leaves nothing to copy.
            Err(error) => {
                assert!(crate::sys::memory_file(1).is_err() && error.to_string().contains("memory files"), "{error}");
                return eprintln!("copies are not tested: {error}");
            }
        };
        for how in [None, Some(Reach::Map), Some(Reach::Pin)] {
            block.target.fill(0);
            let time = match how {
                Some(how) => block.each_time(how),
                None => Ok(block.kept()),
            };
            // Only the limit of locked memory may keep it from that.
            assert!(time.is_ok() || how == Some(Reach::Pin));
            assert!(time.is_err() || block.target.iter().all(|&byte| byte == 1), "{how:?}");
        }
    }
}
