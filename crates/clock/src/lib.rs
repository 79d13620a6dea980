//! `libhotlink_clock.so`: the system's clocks and sleeps in virtual time, for programs on a simulated fabric.
//!
//! `hotlink run --on` has the ranks' processes load it before all other libraries. So it works for compiled programs
//! and for interpreters, whichever library asks for the time. The time is that of the rank's mailbox. A sleep takes no
//! real time. It is charged before the library's next call, or lasts until the rank's clock has come so far while other
//! threads have turns. A process without a seat has the system's clocks.
#![allow(unsafe_code)]

use hotlink_seats::{Clock, Sleeps, is_simulated, sleeps_by};
use libc::{c_int, c_uint, c_void, clockid_t, time_t, timespec, timeval};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Seconds of the system's epoch at which virtual time begins: the first of January 2000, the same at every run.
const BEGIN_S: u64 = 946_684_800;
const NS_PER_S: u64 = 1_000_000_000;
const PS_PER_NS: u64 = 1000;

/// Reads of the time before it advances by itself where there is no rank yet, and by how much it does at each read.
const LOOKS: u64 = 10_000;
const LOOK_NS: u64 = 100;

/// Virtual time, if there is any: the rank's clock, or that of an interpreter that will fork ranks and is none of them.
#[derive(Clone, Copy)]
enum Virtual {
    Rank(&'static Clock),
    Before,
}

fn clock() -> Option<Virtual> {
    static CLOCK: OnceLock<Option<Clock>> = OnceLock::new();
    static IS_SIMULATED: OnceLock<bool> = OnceLock::new();
    let is_before = || *IS_SIMULATED.get_or_init(is_simulated) && std::env::var_os("HOTLINK_RANK").is_none();
    if CLOCK.get().is_none() && is_before() {
        return Some(Virtual::Before);
    }
    CLOCK.get_or_init(Clock::of_environment).as_ref().map(Virtual::Rank)
}

impl Virtual {
    /// Nanoseconds of the time that the program sees.
    fn look(self) -> u64 {
        static LOOKED: AtomicU64 = AtomicU64::new(0);
        match self {
            Virtual::Rank(clock) => clock.look().0 / PS_PER_NS,
            Virtual::Before => LOOKED.fetch_add(1, Ordering::Relaxed).saturating_sub(LOOKS) * LOOK_NS,
        }
    }
}

/// Nanoseconds by a clock of the system, if that is a virtual one here.
fn nanoseconds(id: clockid_t) -> Option<u64> {
    let since = match id {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => BEGIN_S * NS_PER_S,
        libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_MONOTONIC_COARSE | libc::CLOCK_BOOTTIME => 0,
        // Processor time is what it is.
        _ => return None,
    };
    Some(since + clock()?.look())
}

fn spec(ns: u64) -> timespec {
    timespec { tv_sec: (ns / NS_PER_S) as time_t, tv_nsec: (ns % NS_PER_S) as libc::c_long }
}

/// Nanoseconds of a time that is one.
fn read(time: &timespec) -> Option<u64> {
    let ns = u64::try_from(time.tv_nsec).ok().filter(|&ns| ns < NS_PER_S)?;
    u64::try_from(time.tv_sec).ok()?.checked_mul(NS_PER_S)?.checked_add(ns)
}

/// Lets virtual time go on; `false`: there is none.
fn sleeps(ns: u64) -> bool {
    match clock() {
        None => return false,
        Some(Virtual::Rank(clock)) => clock.sleep(ns.saturating_mul(PS_PER_NS)),
        Some(Virtual::Before) => {}
    }
    true
}

/// Threads of this rank take turns.
static TURNS: AtomicBool = AtomicBool::new(false);

/// From now on the MPI library has threads sleep, where it can.
///
/// # Safety
/// Always sound; the library finds it by its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotlink_clock_sleeps_by(sleeps: Sleeps) {
    TURNS.store(true, Ordering::Relaxed);
    sleeps_by(sleeps);
}

/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(id: clockid_t, time: *mut timespec) -> c_int {
    match nanoseconds(id) {
        Some(ns) if !time.is_null() => {
            // SAFETY: the caller's struct to fill.
            unsafe { time.write(spec(ns)) };
            0
        }
        // SAFETY: the same call of the system.
        _ => unsafe { libc::syscall(libc::SYS_clock_gettime, id, time) as c_int },
    }
}

/// Where threads take turns, one that yields again and again waits, as does one that reads the clock again and again.
///
/// # Safety
/// Always sound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_yield() -> c_int {
    if TURNS.load(Ordering::Relaxed) {
        clock().map(Virtual::look);
    }
    // SAFETY: the same call of the system.
    unsafe { libc::syscall(libc::SYS_sched_yield) as c_int }
}

/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    match nanoseconds(libc::CLOCK_REALTIME) {
        Some(ns) if !time.is_null() => {
            let whole = spec(ns);
            // SAFETY: the caller's struct to fill.
            unsafe { time.write(timeval { tv_sec: whole.tv_sec, tv_usec: whole.tv_nsec / 1000 }) };
            0
        }
        // SAFETY: the same call of the system.
        _ => unsafe { libc::syscall(libc::SYS_gettimeofday, time, zone) as c_int },
    }
}

/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(place: *mut time_t) -> time_t {
    let mut now = spec(0);
    // SAFETY: a local struct.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    if !place.is_null() {
        // SAFETY: the caller's word to fill.
        unsafe { place.write(now.tv_sec) };
    }
    now.tv_sec
}

/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timespec_get(place: *mut timespec, base: c_int) -> c_int {
    /// `TIME_UTC`, the only base there is.
    const UTC: c_int = 1;
    // SAFETY: the caller's struct to fill.
    if base == UTC && unsafe { clock_gettime(libc::CLOCK_REALTIME, place) } == 0 { base } else { 0 }
}

/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(request: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: null, or the caller's struct.
    let asked = unsafe { request.as_ref() }.and_then(read);
    if asked.is_some_and(sleeps) {
        return 0;
    }
    // SAFETY: the same call of the system.
    unsafe { libc::syscall(libc::SYS_nanosleep, request, left) as c_int }
}

/// # Safety
/// As the function of C, which gives the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    id: clockid_t,
    flags: c_int,
    request: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: null, or the caller's struct.
    let asked = unsafe { request.as_ref() }.and_then(read);
    if let (Some(now), Some(asked)) = (nanoseconds(id), asked) {
        let until = flags & libc::TIMER_ABSTIME != 0;
        sleeps(if until { asked.saturating_sub(now) } else { asked });
        return 0;
    }
    // SAFETY: the same call of the system.
    match unsafe { libc::syscall(libc::SYS_clock_nanosleep, id, flags, request, left) } {
        0 => 0,
        _ => std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL),
    }
}

/// # Safety
/// Always sound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn usleep(us: c_uint) -> c_int {
    let request = spec(u64::from(us) * 1000);
    // SAFETY: a local struct.
    unsafe { nanosleep(&raw const request, std::ptr::null_mut()) }
}

/// # Safety
/// Always sound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let (request, mut left) = (spec(u64::from(seconds) * NS_PER_S), spec(0));
    // SAFETY: local structs.
    match unsafe { nanosleep(&raw const request, &raw mut left) } {
        0 => 0,
        _ => left.tv_sec as c_uint,
    }
}
