//! The operating system, behind functions that are safe to call or say what the caller must keep.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Memory shared by this process and those it forks: an anonymous memory file, mapped. The system frees it when the
/// last process that has it ends, however that ends; there is no name to leave behind.
pub(crate) struct SharedMemory {
    start: *mut u8,
    bytes: usize,
    file: OwnedFd,
}

impl SharedMemory {
    /// Maps `bytes` of zeros; pages take memory when first touched.
    pub(crate) fn new(bytes: usize) -> io::Result<SharedMemory> {
        // SAFETY: the name is a C string; the descriptor is checked before it is owned.
        let file = unsafe {
            let fd = libc::memfd_create(c"hotlink".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: an owned descriptor; mapping anywhere cannot touch memory in use.
        let start = unsafe {
            if libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) != 0 {
                return Err(io::Error::last_os_error());
            }
            let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedMemory { start: start.cast(), bytes, file })
    }
    /// First byte. The same address in every forked process.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }
    /// Gives whole pages inside `offset..offset + bytes` back to the system; they read as zeros afterwards.
    /// Returns whether it did.
    pub(crate) fn punch(&self, offset: usize, bytes: usize) -> bool {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: an owned descriptor; affects only the file's contents, which the caller no longer uses.
        unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset as libc::off_t, bytes as libc::off_t) == 0 }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nothing can hold on to it but through `self`.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// One end of a pipe each: reading, writing.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors, owned only if the call succeeds.
    unsafe {
        if libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// A process forked by this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Child(pub(crate) libc::pid_t);

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With this exit status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// Forks; the child runs `body`, ends, and dies with this process whatever kills it.
pub(crate) fn fork(body: impl FnOnce()) -> io::Result<Child> {
    // SAFETY: plain system calls.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the child keeps to memory of its own copy, the shared mapping, and calls that are sound after a fork in
    // a process with threads (glibc makes its allocator so); it ends by `exit_now` and runs no exit handler.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: plain system calls. If the parent died before prctl took effect, nobody is left to serve.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != parent {
                    libc::_exit(1);
                }
            }
            body();
            exit_now(0)
        }
        pid => Ok(Child(pid)),
    }
}

/// Ends this process at once, without exit handlers or flushed buffers (which belong to the parent's copy).
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: always sound.
    unsafe { libc::_exit(status) }
}

/// How `child` ended, if it has.
pub(crate) fn try_wait(child: Child) -> Option<Ending> {
    let mut status = 0;
    // SAFETY: a child of this process that has not been waited for.
    let pid = unsafe { libc::waitpid(child.0, &mut status, libc::WNOHANG) };
    if pid != child.0 {
        return None;
    }
    Some(match libc::WIFSIGNALED(status) {
        true => Ending::Signal(libc::WTERMSIG(status)),
        false => Ending::Status(libc::WEXITSTATUS(status)),
    })
}

/// Kills `child`, which has not been waited for.
pub(crate) fn kill(child: Child) {
    // SAFETY: the process is a child not yet reaped, so the number is still its own.
    unsafe { libc::kill(child.0, libc::SIGKILL) };
}

/// Waits until one of `fds` can be read or has ended, or the time is up.
pub(crate) fn wait_readable(fds: &[i32], limit: Duration) {
    let mut polled: Vec<_> = fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the array outlives the call.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, ms) };
}

/// Makes reads of `fd` return at once.
pub(crate) fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: an owned descriptor.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The cores that this process may run on.
pub(crate) fn allowed_cores() -> Vec<usize> {
    // SAFETY: a zeroed set is a valid empty set; the call fills it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return vec![0];
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&core| libc::CPU_ISSET(core, &set)).collect()
    }
}

/// Binds this process to one core; without effect if that is forbidden.
pub(crate) fn pin(core: usize) {
    // SAFETY: a valid set of one core.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Lets another runnable process have this core.
pub(crate) fn yield_core() {
    // SAFETY: always sound.
    unsafe { libc::sched_yield() };
}

/// This process's number.
pub(crate) fn pid() -> i32 {
    // SAFETY: always sound.
    unsafe { libc::getpid() }
}

/// Which way [`transfer`] copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the other process to this one.
    Read,
    /// From this process to the other.
    Write,
}

/// Copies between this process's memory and that of process `pid`, `(address, bytes)` runs in order, equal sums.
///
/// # Safety
/// The local runs are memory that this process may read (`Write`) or write (`Read`) now. Addresses in the other
/// process are checked by the kernel only for being mapped: the caller knows that they are meant.
pub(crate) unsafe fn transfer(pid: i32, way: Way, local: &[(u64, u64)], remote: &[(u64, u64)]) -> io::Result<u64> {
    const RUNS: usize = 256;
    let iovec = |&(start, len): &(u64, u64)| libc::iovec { iov_base: start as *mut _, iov_len: len as usize };
    debug_assert!(local.len() <= RUNS && remote.len() <= RUNS);
    let here: Vec<_> = local.iter().map(iovec).collect();
    let there: Vec<_> = remote.iter().map(iovec).collect();
    let (h, t) = (here.len() as libc::c_ulong, there.len() as libc::c_ulong);
    // SAFETY: as promised by the caller.
    let moved = unsafe {
        match way {
            Way::Read => libc::process_vm_readv(pid, here.as_ptr(), h, there.as_ptr(), t, 0),
            Way::Write => libc::process_vm_writev(pid, here.as_ptr(), h, there.as_ptr(), t, 0),
        }
    };
    if moved < 0 { Err(io::Error::last_os_error()) } else { Ok(moved as u64) }
}
