//! The operating system, behind functions that are safe to call or say what the caller must keep.
#![allow(unsafe_code)]

use crate::turns::Sleeps;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Memory shared by this process, those it forks and those it hands the file to: a memory file, mapped. The system
/// frees it when the last process that has it ends, however that ends; there is no name to leave behind.
pub struct SharedMemory {
    start: *mut u8,
    bytes: usize,
    /// Without it, the memory is shared with forked processes alone.
    file: Option<OwnedFd>,
}

impl SharedMemory {
    /// Maps `bytes` of zeros; pages take memory when first touched. Where the system forbids memory files, the memory
    /// is anonymous, and forked processes still share it.
    pub fn new(bytes: usize) -> io::Result<SharedMemory> {
        match memory_file(bytes) {
            Ok(file) => SharedMemory::of(file, bytes),
            Err(_) => Ok(SharedMemory { start: map(None, 0, bytes)?, bytes, file: None }),
        }
    }
    /// Maps the memory file that another process made with as many bytes.
    pub fn of(file: OwnedFd, bytes: usize) -> io::Result<SharedMemory> {
        Ok(SharedMemory { start: map(Some(&file), 0, bytes)?, bytes, file: Some(file) })
    }
    /// Maps `bytes` of another process's memory, by what its `path` returned.
    pub fn open(path: &str, bytes: usize) -> io::Result<SharedMemory> {
        let file = std::fs::File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        SharedMemory::of(file.into(), bytes)
    }
    /// Where other processes of this user can open it, while this one lives.
    pub fn path(&self) -> Option<String> {
        Some(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_ref()?.as_raw_fd()))
    }
    /// The memory file, to be handed to another process.
    pub fn file(&self) -> Option<&OwnedFd> {
        self.file.as_ref()
    }
    /// First byte. The same address in every forked process.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
    /// Makes the file at least this long. It never gets shorter, however many processes call this at once.
    pub fn extend(&self, bytes: u64) -> io::Result<()> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::Unsupported.into()) };
        // SAFETY: an owned descriptor, and a byte of this function; nobody uses the file's last byte yet.
        let written = unsafe { libc::pwrite(file.as_raw_fd(), [0u8].as_ptr().cast(), 1, bytes as libc::off_t - 1) };
        if written != 1 {
            return Err(io::Error::last_os_error());
        }
        // The page that this took is not needed before somebody writes there.
        self.punch(bytes as usize - PAGE, PAGE);
        Ok(())
    }
    /// Maps another part of the file; it stays mapped while this process lives.
    pub fn map_more(&self, offset: u64, bytes: usize) -> io::Result<*mut u8> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::Unsupported.into()) };
        map(Some(file), offset, bytes)
    }
    /// Gives whole pages inside `offset..offset + bytes` back to the system; they read as zeros afterwards.
    /// Returns whether it did.
    pub fn punch(&self, offset: usize, bytes: usize) -> bool {
        let Some(file) = &self.file else { return false };
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: an owned descriptor; affects only the file's contents, which the caller no longer uses.
        unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as libc::off_t, bytes as libc::off_t) == 0 }
    }
}

/// A memory file of this many zeros, without a name. `HOTLINK_FORBID=memfd` plays a system that has none.
pub fn memory_file(bytes: usize) -> io::Result<OwnedFd> {
    if is_forbidden("memfd") {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: the name is a C string; the descriptor is checked before it is owned.
    let file = unsafe {
        let fd = libc::memfd_create(c"hotlink".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    // SAFETY: an owned descriptor.
    let sized = unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) };
    if sized == 0 { Ok(file) } else { Err(io::Error::last_os_error()) }
}

const PAGE: usize = 4096;

/// Maps shared memory: that of `file` from `offset` on, or anonymous.
fn map(file: Option<&OwnedFd>, offset: u64, bytes: usize) -> io::Result<*mut u8> {
    let (fd, anonymous) = file.map_or((-1, libc::MAP_ANONYMOUS), |file| (file.as_raw_fd(), 0));
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | anonymous;
    // SAFETY: mapping anywhere cannot touch memory in use.
    let start = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), bytes, access, flags, fd, offset as libc::off_t)
    };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}

/// Whether the environment asks to do without a service of the system, as if that forbade it:
/// `HOTLINK_FORBID=memfd,process_vm,membarrier`.
fn is_forbidden(service: &str) -> bool {
    std::env::var("HOTLINK_FORBID").is_ok_and(|list| list.split(',').any(|word| word.trim() == service))
}

/// Whether the system lets processes copy between each other's memory: tried once on this process's own. Also lets the
/// other ranks do so where only ancestors may by default (Yama).
pub fn can_copy_between_processes() -> bool {
    if is_forbidden("process_vm") {
        return false;
    }
    // SAFETY: plain system call; without effect where Yama is not there.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    let (from, mut to) = (1u64, 0u64);
    let (here, there) = ([(&raw mut to as u64, 8)], [(&raw const from as u64, 8)]);
    // SAFETY: both are words of this function.
    let moved = unsafe { transfer(pid(), Way::Read, &here, &there) };
    moved.is_ok_and(|moved| moved == 8)
}

/// Whether this process may order the memory of all others that have called this; see [`order_everywhere`].
pub fn can_order_everywhere() -> bool {
    let wanted = ORDER_ALL | TAKE_PART;
    !is_forbidden("membarrier") && membarrier(0) & (wanted | 1 << 31) == wanted && membarrier(TAKE_PART) == 0
}

/// Every thread of those processes has a full fence between the beginning and the end of this call. They then need no
/// fence of their own to be ordered with a rare caller of this. It interrupts each core on which one runs.
pub fn order_everywhere() {
    membarrier(ORDER_ALL);
}

/// The system's names: `MEMBARRIER_CMD_GLOBAL_EXPEDITED` and `MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED`.
const ORDER_ALL: u32 = 1 << 1;
const TAKE_PART: u32 = 1 << 2;

fn membarrier(command: u32) -> u32 {
    // SAFETY: it touches no memory of the program.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) as u32 }
}

/// Earlier stores of this thread are visible to all before its later loads.
#[inline(always)]
pub fn full_fence() {
    // A fence is compiled to `mfence`, which takes some eight times as long. It would also order stores that bypass the
    // cache; code with such stores ends them itself.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it changes nothing. The compiler moves no access to memory across it.
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Nanoseconds of the system's monotonic clock, which all processes of the machine share.
#[inline]
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct is the call's to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// This process's user.
pub fn user() -> u32 {
    // SAFETY: always sound.
    unsafe { libc::getuid() }
}

/// A handle to a process, readable once it has ended; `None`: there is no such process, or no such handles.
pub fn process_handle(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the descriptor is checked before it is owned.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Room for one descriptor in a control message, aligned as the system wants it.
#[repr(C, align(8))]
struct Ancillary([u8; 64]);

/// Sends a descriptor to the process at the other end of a local socket.
pub fn send_file(socket: BorrowedFd<'_>, file: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = [1u8];
    let mut room = Ancillary([0; 64]);
    let mut iov = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: a zeroed header is valid, and its pointers are to locals that outlive the call. The room holds one
    // descriptor (CMSG_SPACE of an int is 24).
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&mut iov, 1);
        message.msg_control = room.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let header = libc::CMSG_FIRSTHDR(&message);
        ((*header).cmsg_level, (*header).cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        (*header).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(file.as_raw_fd());
        match libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL) {
            1 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Receives a descriptor sent by [`send_file`].
pub fn receive_file(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut byte = [0u8];
    let mut room = Ancillary([0; 64]);
    let mut iov = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: as for `send_file`; the descriptor is owned only if the message says that it holds one.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&mut iov, 1);
        (message.msg_control, message.msg_controllen) = (room.0.as_mut_ptr().cast(), room.0.len());
        match libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) {
            1 => {}
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => return Err(io::Error::last_os_error()),
        }
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::other("no descriptor came"));
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<i32>().read_unaligned()))
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nothing can hold on to it but through `self`.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// One end of a pipe each: reading, writing.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
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
pub struct Child(pub libc::pid_t);

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// Forks. The child runs `body` and ends; it dies with this process, however that ends.
pub fn fork(body: impl FnOnce()) -> io::Result<Child> {
    // SAFETY: plain system calls.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the child uses only memory of its own copy, the shared mapping, and calls that are sound after a fork.
    // With threads, glibc makes its allocator so. It ends by `exit_now` and runs no exit handler.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            if !die_with(parent as u32) {
                exit_now(1);
            }
            body();
            exit_now(0)
        }
        pid => Ok(Child(pid)),
    }
}

/// Has this process die with its parent; false if `parent` died before that took effect: nobody is left to serve.
pub fn die_with(parent: u32) -> bool {
    // SAFETY: plain system calls.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::getppid() as u32 == parent
    }
}

/// Ends this process at once, without exit handlers or flushed buffers (which belong to the parent's copy).
pub fn exit_now(status: i32) -> ! {
    // SAFETY: always sound.
    unsafe { libc::_exit(status) }
}

/// How `child` ended, if it has.
pub fn try_wait(child: Child) -> Option<Ending> {
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
pub fn kill(child: Child) {
    // SAFETY: the process is a child not yet reaped, so the number is still its own.
    unsafe { libc::kill(child.0, libc::SIGKILL) };
}

/// What the first Ctrl-C sets, and what is said then.
static INTERRUPTED: OnceLock<(&AtomicBool, &str)> = OnceLock::new();

extern "C" fn interrupted(signal: libc::c_int) {
    // What was interrupted may be about to read why its system call failed.
    // SAFETY: the place is this thread's own.
    let error = unsafe { *libc::__errno_location() };
    // The second one ends the process.
    // SAFETY: a system call that a handler may make.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    if let Some((flag, said)) = INTERRUPTED.get() {
        flag.store(true, Ordering::Relaxed);
        // SAFETY: as above; the text lives for ever.
        unsafe { libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len()) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}

/// From now on the first Ctrl-C (SIGINT) sets `flag` and says `said` on the standard error output. The second one ends
/// the process, as usual. Where the signal is ignored, as in the background of some shells, it stays so.
pub fn note_interrupt(flag: &'static AtomicBool, said: &'static str) {
    if INTERRUPTED.set((flag, said)).is_ok() {
        // SAFETY: the handler stores a value and makes system calls that handlers may make.
        unsafe {
            let handler = interrupted as *const () as libc::sighandler_t;
            if libc::signal(libc::SIGINT, handler) == libc::SIG_IGN {
                libc::signal(libc::SIGINT, libc::SIG_IGN);
            }
        }
    }
}

/// Waits until one of `fds` can be read or has ended, or the time is up. Returns which can.
pub fn wait_readable(fds: &[i32], limit: Duration) -> Vec<bool> {
    let mut polled: Vec<_> = fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the array outlives the call.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, ms) };
    polled.iter().map(|one| one.revents != 0).collect()
}

/// Makes reads of `fd` return at once.
pub fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: an owned descriptor.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The cores that this process may run on.
pub fn allowed_cores() -> Vec<usize> {
    // SAFETY: a zeroed set is a valid empty set; the call fills it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return vec![0];
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&core| libc::CPU_ISSET(core, &set)).collect()
    }
}

/// Cores that are switched on.
pub fn online_cores() -> u32 {
    // SAFETY: a plain query.
    u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1).max(1)
}

/// Binds this process to one core; without effect if that is forbidden.
pub fn pin(core: usize) {
    // SAFETY: a valid set of one core.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Lets this process run on these cores again.
pub fn allow(cores: &[usize]) {
    // SAFETY: a zeroed set is a valid empty set; cores come from a set of the same size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cores.iter().for_each(|&core| libc::CPU_SET(core, &mut set));
        libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Lets another runnable process have this core. By a call of the system: programs may count C's function.
pub fn yield_core() {
    // SAFETY: always sound.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

/// Lets this process have so many descriptors, if its hard limit does.
pub fn allow_descriptors(count: u64) -> Result<(), String> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is the call's to fill.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 || limit.rlim_cur >= count {
        return Ok(());
    }
    if limit.rlim_max < count {
        return Err(format!("they need {count} open files, and ulimit -Hn is {}", limit.rlim_max));
    }
    limit.rlim_cur = count;
    // SAFETY: a filled struct.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
        0 => Ok(()),
        _ => Err(format!("they need {count} open files: {}", io::Error::last_os_error())),
    }
}

/// Waits until somebody wakes those at `word`, which processes may share, or for this long; not at all if it is no
/// longer `seen`. The system's own clock counts, even if the program uses another one.
pub fn wait_at(word: &AtomicU32, seen: u32, limit: Option<Duration>) {
    let time = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(limit.subsec_nanos() as i32),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a word and a local that outlive the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, time) };
}

/// Wakes one of those that wait at `word`.
pub fn wake_at(word: &AtomicU32) {
    // SAFETY: a word that outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// This thread's number among all of the system.
pub fn task() -> i32 {
    // SAFETY: always sound.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Has `hotlink-clock`, if it is loaded, let threads sleep so.
pub fn tell_the_clock(sleeps: Sleeps) {
    // SAFETY: the name is a C string; the function of that name, if there is one, is `hotlink-clock`'s and takes this.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"hotlink_clock_sleeps_by".as_ptr());
        if !found.is_null() {
            std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(Sleeps)>(found)(sleeps);
        }
    }
}

/// Ticks in a second of processor time, as the system counts it.
pub fn ticks_per_second() -> u64 {
    // SAFETY: a plain query.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(1).max(1)
}

/// This process's number.
pub fn pid() -> i32 {
    // SAFETY: always sound.
    unsafe { libc::getpid() }
}

/// Which way [`transfer`] copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the other process to this one.
    Read,
    /// From this process to the other.
    Write,
}

/// Copies between this process's memory and that of process `pid`, `(address, bytes)` runs in order, equal sums.
///
/// # Safety
/// The local runs are memory that this process may read (`Write`) or write (`Read`) now. The kernel checks addresses in
/// the other process only for being mapped: the caller knows that they are meant.
pub unsafe fn transfer(pid: i32, way: Way, local: &[(u64, u64)], remote: &[(u64, u64)]) -> io::Result<u64> {
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

/// Ends this process with what it has printed, without exit handlers: other threads may be anywhere.
pub fn leave(status: i32) -> ! {
    // SAFETY: plain calls of C.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(status)
    }
}
