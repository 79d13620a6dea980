//! Another process of this machine, whose memory this one reads and writes: with its help while it polls
//! ([`crate::assist`]), else by the system's copy.
#![allow(unsafe_code)]

use crate::assist::{Assists, How, Work};
use crate::sys::{self, Way};
use std::sync::OnceLock;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    pid: i32,
    /// Where it may be asked, and its place there.
    helps: Option<(Assists, u32)>,
}

/// Reads of another's memory of which the quickest is taken for its time: the first ones find nothing in the caches.
const READS: usize = 8;

/// A number that no other process of this machine has at the same place.
fn mark() -> &'static i64 {
    static MARK: OnceLock<i64> = OnceLock::new();
    MARK.get_or_init(|| (sys::monotonic_ns() as i64) << 16 ^ i64::from(sys::pid()))
}

impl Neighbor {
    /// The facts about this process that others need: its number, and the place of its mark.
    pub fn card() -> [i64; 3] {
        [i64::from(sys::pid()), std::ptr::from_ref(mark()) as i64, *mark()]
    }
    /// The process of a card.
    pub fn of(card: [i64; 3]) -> Neighbor {
        Neighbor { pid: card[0] as i32, helps: None }
    }
    /// The same, which may be asked for help as process `place` of those.
    pub fn helping(self, assists: Assists, place: u32) -> Neighbor {
        Neighbor { helps: Some((assists, place)), ..self }
    }
    /// Whether the system lets this process reach the one of a card. The number may mean another process here: the mark
    /// is read.
    /// Gives how long such a read takes, in nanoseconds.
    pub fn reaches([pid, at, mark]: [i64; 3]) -> Option<u64> {
        let read = || {
            let (mut read, begin) = ([0; 8], sys::monotonic_ns());
            let is_there = Neighbor::of([pid, at, mark]).read(at as u64, &mut read);
            (is_there && i64::from_ne_bytes(read) == mark).then(|| sys::monotonic_ns() - begin)
        };
        sys::can_copy_between_processes().then(|| (0..READS).map(|_| read()).min())??
    }
    /// Reads its memory; whether all of it is there.
    pub fn read(&self, at: u64, into: &mut [u8]) -> bool {
        // SAFETY: the written memory is borrowed exclusively.
        unsafe { self.moves(into.as_mut_ptr() as u64, at, into.len() as u64, false) }
    }
    /// Moves bytes from this process's memory to the other's if they go `out`, else from there; whether all were moved.
    ///
    /// # Safety
    /// This process may read `bytes` at `here`, or write them. The other process meant its own for that.
    #[inline]
    pub unsafe fn moves(&self, here: u64, there: u64, bytes: u64, out: bool) -> bool {
        let work =
            Work { at: there, bytes: bytes as usize, how: How::Leave, from: std::ptr::null(), into: here as *mut u8 };
        let put = Work { how: How::Replace, from: here as *const u8, into: std::ptr::null_mut(), ..work };
        // SAFETY: as the caller promises.
        unsafe { self.helped(if out { &put } else { &work }) || self.copies(here, there, bytes, out) }
    }
    /// Has the other process combine `from` with as many bytes of its memory, which `into` gets as they were; whether it did.
    ///
    /// # Safety
    /// The other process meant its own for that. `from` may be null if nothing is done there, and `into` if it is not wanted.
    /// Else they are valid for `bytes`, and nothing writes `from` meanwhile.
    pub unsafe fn combines(&self, there: u64, bytes: usize, how: How, from: *const u8, into: *mut u8) -> bool {
        // SAFETY: as the caller promises.
        unsafe { self.helped(&Work { at: there, bytes, how, from, into }) }
    }
    #[inline]
    unsafe fn helped(&self, work: &Work) -> bool {
        let lives = || {
            let mut byte = 0u8;
            // SAFETY: the byte is this function's.
            unsafe { self.copies(&raw mut byte as u64, work.at, 1, false) }
        };
        // SAFETY: as the caller promises.
        self.helps.is_some_and(|(assists, place)| unsafe { assists.ask(place, work, lives) })
    }
    unsafe fn copies(&self, here: u64, there: u64, bytes: u64, out: bool) -> bool {
        let (way, mut done) = (if out { Way::Write } else { Way::Read }, 0);
        while done < bytes {
            let (local, remote) = ([(here + done, bytes - done)], [(there + done, bytes - done)]);
            // SAFETY: as promised by the caller. The system may stop early.
            match unsafe { sys::transfer(self.pid, way, &local, &remote) } {
                Ok(moved) if moved > 0 => done += moved,
                _ => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_mark() {
        let card = Neighbor::card();
        if !sys::can_copy_between_processes() {
            return assert_eq!(Neighbor::reaches(card), None);
        }
        assert!(Neighbor::reaches(card).is_some());
        assert_eq!(Neighbor::reaches([card[0], card[1], card[2] ^ 1]), None, "another's mark");
        assert_eq!(Neighbor::reaches([card[0], 8, card[2]]), None, "no memory is there");
        let own = Neighbor::of(card);
        let (from, mut into, mut word) = (*b"neighbor", [0u8; 8], [0; 8]);
        let (start, place) = (from.as_ptr() as u64, into.as_mut_ptr() as u64);
        assert!(own.read(start, &mut word) && word == from);
        // SAFETY: both are this test's own.
        assert!(unsafe { own.moves(start, place, 8, true) } && into == from);
        // SAFETY: as above; nothing is at the first page.
        assert!(!unsafe { own.moves(start, 8, 8, true) });
    }
}
