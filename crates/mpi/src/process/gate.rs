//! The gate that every exported function goes through: one thread at a time, errors judged in one place.
#![allow(unsafe_code)]

pub(crate) use crate::failure::Of;
use crate::failure::{Done, fail};
use crate::process::handler::tell;
use crate::process::{Process, effort};
use hotlink_real::{Lends, Want, function, goes_into, passage, waits_in, within};
use hotlink_standard::constants as c;
use hotlink_standard::is_for_every_level;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// This process's state. It belongs to no thread: the holder of the gate has it.
struct Held(UnsafeCell<Option<Box<Process>>>);

// SAFETY: it is reached by `with` alone, by the thread that holds the gate. Before the program asks for several threads it
// promises to call from one at a time.
unsafe impl Sync for Held {}

static PROCESS: Held = Held(UnsafeCell::new(None));
static SHARED: AtomicBool = AtomicBool::new(false);
/// Calls within calls of the thread that holds the gate, or of the only one that calls.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// Functions of the program's that are being called from within a call.
static CALLBACKS: AtomicU32 = AtomicU32::new(0);

/// Calls a function of the program's, which may call the library again.
pub(crate) fn calls_back<T>(function: impl FnOnce() -> T) -> T {
    CALLBACKS.fetch_add(1, Ordering::Relaxed);
    let result = function();
    CALLBACKS.fetch_sub(1, Ordering::Relaxed);
    result
}

/// A call begins in a process that promised one call at a time, and another is under way. From a function of the program's
/// that the library called that is right. From another thread it would read what the other has half written: the end.
#[cold]
fn meet(name: &str) {
    if CALLBACKS.load(Ordering::Relaxed) == 0 && !is_for_every_level(name) {
        // SAFETY: it is read only to say who this is. The rank does not change once it is known.
        let process = unsafe { (*PROCESS.0.get()).as_deref() };
        let rank = process.and_then(Process::rank).map_or(String::new(), |rank| format!("rank {rank}: "));
        tell(&format!(
            "hotlink: {rank}{name}: a thread calls while another thread's call is under way; \
             only MPI_Init_thread with MPI_THREAD_MULTIPLE allows that, where it provides it\n"
        ));
        crate::seat::leave(c::MPI_ERR_OTHER);
    }
}

/// From now on threads call when they like. The calls that this one is in hold the gate until they end.
pub(crate) fn share() {
    if !SHARED.load(Ordering::Relaxed) {
        passage::take();
        SHARED.store(true, Ordering::Release);
    }
}

/// Whether threads call when they like.
pub(crate) fn is_shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// Whether another thread may be in a call at the same time as this one.
pub(crate) fn is_crowded() -> bool {
    is_shared() && passage::is_crowded()
}

fn lock() {
    if passage::is_own() {
        DEPTH.fetch_add(1, Ordering::Relaxed);
        return;
    }
    passage::enter();
    DEPTH.store(1, Ordering::Relaxed);
}

/// On a simulated fabric threads take turns from now on, if the system reports their actions. Those that sleep do so
/// meanwhile.
pub(crate) fn take_turns() -> bool {
    extern "C" fn sleeps(ps: u64) -> bool {
        let sleep = |process: &Process| {
            goes_into("a sleep");
            process.world().map(|world| world.sleep(ps)).is_ok()
        };
        !passage::is_own() && with(sleep)
    }
    hotlink_real::take_turns(|why| tell(&format!("hotlink: {why}\n")), sleeps)
}

/// A call on a simulated fabric waits, where threads take turns.
pub(crate) fn wait(want: Want, with_door: Lends<'_>) -> bool {
    let depth = DEPTH.load(Ordering::Relaxed);
    let waited = passage::wait(want, depth != 1, with_door);
    if waited {
        DEPTH.store(depth, Ordering::Relaxed);
    }
    waited
}

fn unlock() {
    if DEPTH.fetch_sub(1, Ordering::Relaxed) == 1 {
        passage::leave();
    }
}

/// A call waits: other threads may have theirs, if there are any that want to. Nothing of the state is borrowed then.
pub(crate) fn give_way() {
    // An unneeded offer of the core costs more than a short message. A call from within a callback keeps the gate: the
    // outer call is not at a place where it could wait.
    if is_shared() && passage::is_wanted() && DEPTH.load(Ordering::Relaxed) == 1 {
        passage::lend();
        DEPTH.store(1, Ordering::Relaxed);
    }
}

/// Whether this thread is the one that started the library; the first to ask is taken for it.
pub(crate) fn is_main() -> bool {
    static MAIN: OnceLock<u64> = OnceLock::new();
    *MAIN.get_or_init(passage::thread) == passage::thread()
}

#[inline(always)]
fn with<T>(work: impl FnOnce(&Process) -> T) -> T {
    if SHARED.load(Ordering::Relaxed) {
        lock();
    } else {
        // One thread alone counts: no atomic step is needed.
        DEPTH.store(DEPTH.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
    // SAFETY: this thread holds the gate, or is the only one that calls. The state is made once. All in it that changes
    // is in cells, so a call from within a callback may read it too.
    let process = unsafe {
        let held = PROCESS.0.get();
        if (*held).is_none() {
            *held = Some(Box::new(Process::new()));
        }
        let held: &'static Option<Box<Process>> = &*held;
        held.as_deref().unwrap_unchecked()
    };
    let result = work(process);
    // `share` takes the gate for the calls that are under way.
    if SHARED.load(Ordering::Relaxed) {
        unlock();
    } else {
        DEPTH.store(DEPTH.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
    result
}

/// Does `work` unless a thread is in a call, which makes progress itself, or there was none yet.
pub(crate) fn between_calls<T>(work: impl FnOnce(&Process) -> T) -> Option<T> {
    if is_shared() && !passage::try_enter() {
        return None;
    }
    DEPTH.store(1, Ordering::Relaxed);
    // SAFETY: this thread holds the gate, or is the only one that calls.
    let done = unsafe { (*PROCESS.0.get()).as_deref() }.map(work);
    if is_shared() {
        unlock();
    }
    done
}

/// The time from the last of others' messages to this process's next poll while it is in no call, and the longest.
const SOON: Duration = Duration::from_micros(100);
const LATE: Duration = Duration::from_millis(2);

/// From now on `work` is done now and then while no thread is in a call; it says whether there was anything to do.
pub(crate) fn attend(work: fn(&Process) -> bool) {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    share();
    // Without such a thread, others wait for this process's next call.
    let started = std::thread::Builder::new().name("hotlink-progress".to_owned()).spawn(move || {
        let mut pause = SOON;
        loop {
            std::thread::sleep(pause);
            pause = if between_calls(work) == Some(true) { SOON } else { (2 * pause).min(LATE) };
        }
    });
    drop(started);
}

/// A call of the standard: its error code.
#[inline(always)]
pub(crate) fn call(name: &'static str, of: Of, work: impl FnOnce(&Process) -> Done) -> c_int {
    // Within another call: that of a callback's, or of a thread that may not.
    let around = (DEPTH.load(Ordering::Relaxed) != 0 && !is_shared()).then(|| {
        meet(name);
        function()
    });
    waits_in(name);
    let outer = effort::is_on().then(|| {
        let outer = within();
        goes_into(name);
        outer
    });
    let code = with(|process| {
        if effort::is_on() {
            process.computed_until(name);
        }
        let code = match work(process) {
            Ok(()) => c::MPI_SUCCESS,
            Err(failure) => process.judge(name, of, &failure),
        };
        if effort::is_on() {
            process.computes();
        }
        code
    });
    if let Some(around) = around {
        waits_in(around);
    }
    // A call from a callback is over: the thread is in the one around it again.
    if let Some(outer) = outer.filter(|_| DEPTH.load(Ordering::Relaxed) > 0 && (!is_shared() || passage::is_own())) {
        goes_into(outer);
    }
    code
}

/// A function that is not there: it says so.
#[cold]
pub(crate) fn refuse(name: &'static str, of: Of) -> c_int {
    call(name, of, |_| fail(c::MPI_ERR_UNSUPPORTED_OPERATION, "this library does not have it"))
}

/// A call of the tools interface, which has error codes of its own and calls no handler.
pub(crate) fn tools(name: &'static str, work: impl FnOnce(&Process) -> Done) -> c_int {
    with(|process| match (process.tools.get(), name) {
        (0, name) if name != "MPI_T_init_thread" => c::MPI_T_ERR_NOT_INITIALIZED,
        _ => work(process).map_or_else(|failure| failure.code, |()| c::MPI_SUCCESS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A callback may be the first to ask for several threads: the call around it holds the gate still. Waiting threads
    /// are noted.
    #[test]
    fn the_gate_is_held_by_the_outer_call() {
        let code = call("MPI_Outer", Of::Nothing, |_| {
            let shares = |_: &Process| {
                share();
                Ok(())
            };
            let inner = calls_back(|| call("MPI_Inner", Of::Nothing, shares));
            assert!(inner == c::MPI_SUCCESS && passage::is_own() && DEPTH.load(Ordering::Relaxed) == 1);
            Ok(())
        });
        assert_eq!((code, passage::is_own(), DEPTH.load(Ordering::Relaxed)), (c::MPI_SUCCESS, false, 0));
        assert!(!passage::have_met());
        std::thread::scope(|scope| {
            call("MPI_Outer", Of::Nothing, |_| {
                scope.spawn(|| call("MPI_Other", Of::Nothing, |_| Ok(())));
                while !passage::is_wanted() {
                    std::thread::yield_now();
                }
                assert!(scope.spawn(|| between_calls(|_| ())).join().is_ok_and(|done| done.is_none()));
                Ok(())
            });
        });
        assert!(passage::have_met() && between_calls(|_| ()).is_some());
    }
}
