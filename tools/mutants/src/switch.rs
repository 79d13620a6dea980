//! The switch between mutants, which the mutated tree has in its `hotlink-port`: `HOTLINK_MUTANT` says which one is on. None
//! is without it; `cover` has none on, and writes the numbers of those that were met into the file `HOTLINK_MUTANT_MET`.

use std::io::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

const NONE: u32 = 0;
const UNREAD: u32 = u32::MAX;
const COVER: u32 = u32::MAX - 1;
static ON: AtomicU32 = AtomicU32::new(UNREAD);
/// Which mutants were met, a bit each.
static MET: [AtomicU64; 1 << 10] = [const { AtomicU64::new(0) }; 1 << 10];

/// Whether this mutant is on.
#[inline(always)]
pub fn on(mutant: u32) -> bool {
    let on = ON.load(Relaxed);
    if on >= COVER { special(mutant, on) } else { on == mutant }
}

#[cold]
#[inline(never)]
fn special(mutant: u32, on: u32) -> bool {
    if on == UNREAD {
        ON.store(read(), Relaxed);
        return self::on(mutant);
    }
    let bit = 1 << (mutant % 64);
    if MET[mutant as usize / 64].fetch_or(bit, Relaxed) & bit == 0 {
        let path = std::env::var_os("HOTLINK_MUTANT_MET").expect("HOTLINK_MUTANT_MET");
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).expect("HOTLINK_MUTANT_MET");
        file.write_all(format!("{mutant}\n").as_bytes()).expect("HOTLINK_MUTANT_MET");
    }
    false
}

fn read() -> u32 {
    match std::env::var("HOTLINK_MUTANT").as_deref() {
        Err(_) | Ok("") => NONE,
        Ok("cover") => COVER,
        Ok(number) => {
            // The first panic is a mutant's end; what comes after it would only take time.
            std::panic::set_hook(Box::new(|panic| {
                let _ = writeln!(std::io::stderr(), "{panic}");
                std::process::exit(101);
            }));
            number.parse().expect("HOTLINK_MUTANT must be a number or `cover`")
        }
    }
}
