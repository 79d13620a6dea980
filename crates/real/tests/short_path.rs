//! The path of a short message: no allocation, and no system call. A rank talks to itself, so that it never waits.
#![allow(unsafe_code)]

use hotlink_message::{Comm, Error};
use hotlink_port::{Driver, Kind, Port, Span};
use hotlink_real::{Options, Shm, ShmPort};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system calls that a rank needs to give its result and to end.
const ALLOWED: [libc::c_long; 9] = [
    libc::SYS_write,
    libc::SYS_fcntl,
    libc::SYS_close,
    libc::SYS_munmap,
    libc::SYS_exit_group,
    libc::SYS_exit,
    libc::SYS_sigaltstack,
    libc::SYS_brk,
    libc::SYS_mmap,
];

/// From here on, any other system call ends this process.
fn forbid_system_calls() {
    let filter = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let mut program = vec![filter(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (left, call) in (0u8..ALLOWED.len() as u8).rev().zip(ALLOWED) {
        program.push(filter(equal, left + 1, call as u32));
    }
    program.push(filter(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_KILL_PROCESS));
    program.push(filter(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program is there while the system reads it.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(set, "no filter of system calls: {}", std::io::Error::last_os_error());
}

async fn messages<P: Port>(comm: &Comm<P>, out: Span, into: Span, count: u64) -> Result<(), Error> {
    for number in 0..count {
        comm.write(out.memory, 0, &number.to_le_bytes())?;
        comm.send(0, 1, out).await?;
        comm.recv(Some(0), Some(1), into).await?;
        let (receive, send) = (comm.irecv(None, Some(2), into)?, comm.isend(0, 2, out)?);
        comm.wait(send).await?;
        comm.wait(receive).await?;
        let mut seen = [0; 8];
        comm.read(into.memory, 0, &mut seen)?;
        assert_eq!(u64::from_le_bytes(seen), number);
    }
    Ok(())
}

/// Allocations on the path of messages of `bytes`; `breach`: makes a system call, which must not go unnoticed.
fn run(bytes: u64, breach: bool) -> Option<u64> {
    let program = move |port: ShmPort| async move {
        let comm = Comm::new(port);
        let (out, into) = (comm.alloc(bytes, Kind::Private)?, comm.alloc(bytes, Kind::Private)?);
        let (out, into) = (Span::new(out, 0, bytes), Span::new(into, 0, bytes));
        messages(&comm, out, into, 1000).await?;
        forbid_system_calls();
        let before = ALLOCATIONS.load(Relaxed);
        messages(&comm, out, into, 1000).await?;
        let allocations = ALLOCATIONS.load(Relaxed) - before;
        if breach {
            std::thread::yield_now();
        }
        Ok::<u64, Error>(allocations)
    };
    let options = Options { limit: Some(Duration::from_secs(20)), pin: false, ..Options::default() };
    let mut results = Shm::new(options).run(1, &program).ok()?;
    results.remove(0).ok()
}

#[test]
fn short_messages_allocate_nothing_and_call_no_system() {
    for bytes in [8, 24, 25, 4096] {
        assert_eq!(run(bytes, false), Some(0), "{bytes} bytes");
    }
    assert_eq!(run(8, true), None, "a system call ends the rank");
}
