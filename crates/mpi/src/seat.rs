//! How this process becomes a rank, and how it ends without the others.
#![allow(unsafe_code)]

use crate::failure::{Done, failure};
use crate::memory::Everything;
use crate::process::communicator::{Communicator, Numbers};
use crate::process::{Process, World};
use crate::process::{effort, gate};
use hotlink_message::Comm;
use hotlink_real::{Seat, Via};
use hotlink_standard::Group;
use hotlink_standard::constants as c;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::OnceLock;

/// Names a transport: shm, tcp or mixed.
const VIA: &str = "HOTLINK_VIA";
/// Set to `core`, each rank stays on a core of its own.
const BIND: &str = "HOTLINK_BIND";
/// Set: collectives and what is never freed are checked.
const CHECK: &str = "HOTLINK_CHECK";
/// Numbers of communicators that are always there: all ranks, and each rank alone.
const ALWAYS: u32 = 2;
const OWN: u32 = 1;

/// Finds the other ranks.
pub(crate) fn enter() -> Done<World> {
    let via = std::env::var(VIA).ok().map(|word| {
        let found = Via::ALL.iter().copied().find(|via| via.name() == word);
        let allowed = || Via::ALL.iter().map(|via| via.name()).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| failure(c::MPI_ERR_OTHER, format!("{VIA}={word}: must be one of {}", allowed())))
    });
    let seat = Seat::take(via.transpose()?).map_err(|error| failure(c::MPI_ERR_OTHER, error.to_string()))?;
    if std::env::var(BIND).is_ok_and(|word| word == "core") {
        seat.bind();
    }
    let comm = Comm::new(seat);
    let fatal = c::MPI_ERRORS_ARE_FATAL;
    let everybody = Rc::new(Group::new((0..comm.ranks()).collect()));
    let world = Communicator::new(comm.clone(), 0, everybody, None, fatal);
    let own =
        Communicator::new(comm.view(&[comm.rank()], OWN)?, OWN, Rc::new(Group::new(vec![comm.rank()])), None, fatal);
    *world.name.borrow_mut() = "MPI_COMM_WORLD".to_owned();
    *own.name.borrow_mut() = "MPI_COMM_SELF".to_owned();
    let check = std::env::var_os(CHECK).is_some();
    if check || hotlink_real::virtual_clock().is_some() {
        effort::watch();
    }
    let effort = effort::Effort::asked(comm.rank())?;
    Ok(World {
        all: Everything::of(&comm),
        comm,
        world: Rc::new(world),
        own: Rc::new(own),
        numbers: Rc::new(Numbers::from(ALWAYS, check)),
        partitioned: Cell::new(0),
        tasks: RefCell::default(),
        served: RefCell::default(),
        asked: RefCell::default(),
        buffered: RefCell::default(),
        idle: Cell::default(),
        attached: Cell::new(None),
        provided: Cell::new(c::MPI_THREAD_SINGLE),
        effort,
        check,
    })
}

/// From now on `work` is done when the process ends by itself.
pub(crate) fn at_exit(work: fn(&Process)) {
    static WORK: OnceLock<fn(&Process)> = OnceLock::new();
    extern "C" fn depart() {
        if let Some(work) = WORK.get() {
            gate::between_calls(work);
        }
    }
    WORK.get_or_init(|| work);
    // SAFETY: a function that stays, registered once.
    unsafe { libc::atexit(depart) };
}

/// Ends this process at once, with what it has printed.
pub(crate) fn leave(status: c_int) -> ! {
    // SAFETY: plain calls of C; no exit handler runs, since other threads may be anywhere.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(status)
    }
}

/// Seconds of the clock that all ranks of a machine share; of the virtual one on a simulated fabric.
pub(crate) fn seconds() -> f64 {
    if let Some(time) = hotlink_real::look_at_virtual_clock() {
        return time.0 as f64 * 1e-12;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct is the call's to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Nanoseconds for which the system had this thread on a processor.
pub(crate) fn computed() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct is the call's to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The nodes of a simulated fabric that the ranks are on, in order; where it is not set, each rank has that of its number.
const NODES: &str = "HOTLINK_NODES";

/// The node of a simulated fabric that a rank is on.
pub(crate) fn node(rank: u32) -> u32 {
    let nodes = std::env::var(NODES).unwrap_or_default();
    nodes.split(',').nth(rank as usize).and_then(|node| node.parse().ok()).unwrap_or(rank)
}

/// The name of a rank's machine: this one's, or a node's of a simulated fabric.
pub(crate) fn host(rank: u32) -> String {
    if hotlink_real::virtual_clock().is_some() {
        return format!("node{}", node(rank));
    }
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}
