//! Libraries that are compiled on the machine and loaded at run time.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_void};
use std::path::Path;

/// A loaded library; never unloaded, since MPIs do not survive that.
pub(crate) struct Loaded(*mut c_void);

impl Loaded {
    /// Loads the library at `path`, or says why not.
    pub(crate) fn open(path: &Path) -> Result<Loaded, String> {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: runs the library's initialisers, as loading it must. Global, for the plug-ins of Open MPI.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() { Err(last_error()) } else { Ok(Loaded(handle)) }
    }
    /// The address of a function.
    pub(crate) fn symbol(&self, name: &str) -> Result<*mut c_void, String> {
        let text = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: a loaded library and a C string.
        let found = unsafe { libc::dlsym(self.0, text.as_ptr()) };
        if found.is_null() { Err(format!("no function {name}")) } else { Ok(found) }
    }
}

fn last_error() -> String {
    // SAFETY: gives a C string or null, valid until the next call.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "cannot be loaded".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
