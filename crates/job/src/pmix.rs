//! PMIx, by which Open MPI's `mpirun` and Slurm talk with the ranks that they start. It uses the functions of the
//! library that the launcher itself uses, found at run time. The layouts are those that the PMIx standard fixes for C
//! (versions 3 to 5).
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::path::PathBuf;

/// Longest name of a job, its end included.
const NAME_BYTES: usize = 256;
const SUCCESS: c_int = 0;
/// Everyone of the job may see a value.
const GLOBAL: u8 = 3;
/// A value is a text.
const TEXT: u16 = 3;

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone)]
struct Process {
    job: [c_char; NAME_BYTES],
    rank: u32,
}

/// `pmix_value_t`: the union behind the kind is larger than a pointer.
#[repr(C)]
struct Value {
    kind: u16,
    text: *const c_char,
    rest: [u64; 8],
}

type Init = unsafe extern "C" fn(*mut Process, *mut c_void, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, *const c_void, usize) -> c_int;
type Get = unsafe extern "C" fn(*const Process, *const c_char, *const c_void, usize, *mut *mut Value) -> c_int;
type Finalize = unsafe extern "C" fn(*const c_void, usize) -> c_int;

/// A conversation with the launcher.
pub(crate) struct Pmix {
    own: Process,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    finalize: Finalize,
}

/// Where the library may be: where the loader finds it, or where the launcher's daemon, this process's parent, has it from.
fn places() -> Vec<PathBuf> {
    let maps = format!("/proc/{}/maps", std::os::unix::process::parent_id());
    let maps = std::fs::read_to_string(maps).unwrap_or_default();
    let of_parent = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let of_parent = of_parent.filter(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with("libpmix")));
    let mut all: Vec<PathBuf> = of_parent.map(PathBuf::from).collect();
    all.dedup();
    all.push(PathBuf::from("libpmix.so.2"));
    all
}

struct Library(*mut c_void);

impl Library {
    fn open() -> io::Result<Library> {
        for place in places() {
            let Ok(name) = CString::new(place.into_os_string().into_encoded_bytes()) else { continue };
            // SAFETY: a text that ends; the library's own start-up is what a program that links it runs, too.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Ok(Library(handle));
            }
        }
        Err(io::Error::other("the launcher talks PMIx, and its library (libpmix.so.2) was not found"))
    }
    fn symbol(&self, name: &CStr) -> io::Result<*mut c_void> {
        // SAFETY: a library that stays open, and a text that ends.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if found.is_null() {
            return Err(io::Error::other(format!("the library of PMIx has no {}", name.to_string_lossy())));
        }
        Ok(found)
    }
}

fn well(status: c_int, what: &str) -> io::Result<()> {
    if status == SUCCESS { Ok(()) } else { Err(io::Error::other(format!("{what} failed with status {status}"))) }
}

fn c_text(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(io::Error::other)
}

impl Pmix {
    /// Begins to talk with the launcher.
    pub(crate) fn open() -> io::Result<Pmix> {
        let library = Library::open()?;
        let mut own = Process { job: [0; NAME_BYTES], rank: 0 };
        // SAFETY: the PMIx standard gives each function this signature.
        let (init, pmix) = unsafe {
            let init: Init = std::mem::transmute::<*mut c_void, Init>(library.symbol(c"PMIx_Init")?);
            let pmix = Pmix {
                own: own.clone(),
                put: std::mem::transmute::<*mut c_void, Put>(library.symbol(c"PMIx_Put")?),
                commit: std::mem::transmute::<*mut c_void, Commit>(library.symbol(c"PMIx_Commit")?),
                fence: std::mem::transmute::<*mut c_void, Fence>(library.symbol(c"PMIx_Fence")?),
                get: std::mem::transmute::<*mut c_void, Get>(library.symbol(c"PMIx_Get")?),
                finalize: std::mem::transmute::<*mut c_void, Finalize>(library.symbol(c"PMIx_Finalize")?),
            };
            (init, pmix)
        };
        // SAFETY: a struct that the call fills, and no more arguments.
        well(unsafe { init(&raw mut own, std::ptr::null_mut(), 0) }, "PMIx_Init")?;
        Ok(Pmix { own, ..pmix })
    }
    /// Keeps a value for the other ranks to see after the next fence.
    pub(crate) fn put(&mut self, key: &str, text: &str) -> io::Result<()> {
        let (key, text) = (c_text(key)?, c_text(text)?);
        let mut value = Value { kind: TEXT, text: text.as_ptr(), rest: [0; 8] };
        // SAFETY: texts and a value that outlive the call, which copies them.
        well(unsafe { (self.put)(GLOBAL, key.as_ptr(), &raw mut value) }, "PMIx_Put")?;
        // SAFETY: no arguments.
        well(unsafe { (self.commit)() }, "PMIx_Commit")
    }
    /// Waits until all ranks are here.
    pub(crate) fn fence(&mut self) -> io::Result<()> {
        // SAFETY: no processes: all of the job.
        well(unsafe { (self.fence)(std::ptr::null(), 0, std::ptr::null(), 0) }, "PMIx_Fence")
    }
    /// What rank 0 has put.
    pub(crate) fn get(&mut self, key: &str) -> io::Result<String> {
        let first = Process { rank: 0, ..self.own.clone() };
        let key = c_text(key)?;
        let mut value: *mut Value = std::ptr::null_mut();
        // SAFETY: arguments that outlive the call; it gives a value of its own.
        well(unsafe { (self.get)(&raw const first, key.as_ptr(), std::ptr::null(), 0, &raw mut value) }, "PMIx_Get")?;
        // SAFETY: the call went well, so that the value is there; a text of it ends. It is never freed: a hundred bytes, once.
        let (kind, text) = unsafe { ((*value).kind, (*value).text) };
        if kind != TEXT || text.is_null() {
            return Err(io::Error::other(format!("PMIx_Get gave a value of kind {kind}, and a text was put")));
        }
        // SAFETY: as above.
        Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
    /// From now on the launcher watches how this process ends, and nothing else.
    pub(crate) fn end(self) -> io::Result<()> {
        // SAFETY: no arguments.
        well(unsafe { (self.finalize)(std::ptr::null(), 0) }, "PMIx_Finalize")
    }
}
