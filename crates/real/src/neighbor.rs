//! Another process of this machine, whose memory this one reads and writes without its help, by the system's copy.
#![allow(unsafe_code)]

use crate::sys::{self, Way};
use std::sync::OnceLock;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    pid: i32,
}

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
        Neighbor { pid: card[0] as i32 }
    }
    /// Whether the system lets this process reach the one of a card. The number may mean another process here: the mark
    /// is read.
    pub fn reaches([pid, at, mark]: [i64; 3]) -> bool {
        let mut read = [0; 8];
        let may = sys::can_copy_between_processes() && Neighbor::of([pid, at, mark]).read(at as u64, &mut read);
        may && i64::from_ne_bytes(read) == mark
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
    pub unsafe fn moves(&self, here: u64, there: u64, bytes: u64, out: bool) -> bool {
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
            return assert!(!Neighbor::reaches(card));
        }
        assert!(Neighbor::reaches(card) && !Neighbor::reaches([card[0], card[1], card[2] ^ 1]), "another's mark");
        assert!(!Neighbor::reaches([card[0], 8, card[2]]), "no memory is there");
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
