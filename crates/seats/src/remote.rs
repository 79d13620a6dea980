//! A process's memory, as the simulator reaches it.
#![allow(unsafe_code)]

use crate::sys::{self, Way};
use hotlink_port::blocks::Elsewhere;
use hotlink_port::{Layout, Refusal};
use std::io;

/// Runs that one call of the system takes.
const RUNS: usize = 256;

/// Memory of another process.
pub(crate) struct Remote {
    process: i32,
    start: u64,
}

impl Remote {
    pub(crate) fn new(process: i32, start: u64) -> Remote {
        Remote { process, start }
    }
    fn move_all(&self, way: Way, offset: u64, layout: &Layout, here: *mut u8) -> Result<(), Refusal> {
        let mut runs = layout.runs(0, layout.bytes()).map(|(at, len)| (self.start.wrapping_add(offset + at), len));
        let mut done = 0u64;
        loop {
            let some: Vec<(u64, u64)> = runs.by_ref().take(RUNS).collect();
            if some.is_empty() {
                return Ok(());
            }
            let bytes: u64 = some.iter().map(|run| run.1).sum();
            let local = [(here.wrapping_add(done as usize) as u64, bytes)];
            // SAFETY: `here` has the layout's bytes; which memory of the other process is meant, that process said.
            let moved = unsafe { sys::transfer(self.process, way, &local, &some) }.map_err(refusal)?;
            if moved != bytes {
                return Err(Refusal::OutOfBounds);
            }
            done += bytes;
        }
    }
}

fn refusal(error: io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EPERM) => Refusal::Forbidden,
        Some(libc::EFAULT) => Refusal::OutOfBounds,
        _ => Refusal::Gone,
    }
}

impl Elsewhere for Remote {
    fn pack(&self, offset: u64, layout: &Layout) -> Result<Vec<u8>, Refusal> {
        let mut bytes = vec![0; layout.bytes() as usize];
        self.move_all(Way::Read, offset, layout, bytes.as_mut_ptr())?;
        Ok(bytes)
    }
    fn unpack(&self, offset: u64, layout: &Layout, bytes: &[u8]) -> Result<(), Refusal> {
        if bytes.len() as u64 != layout.bytes() {
            return Err(Refusal::OutOfBounds);
        }
        // Only read from, in spite of the pointer's type.
        self.move_all(Way::Write, offset, layout, bytes.as_ptr().cast_mut())
    }
}
