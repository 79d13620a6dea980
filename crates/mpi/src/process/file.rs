//! [`File`]: an open file, this rank's view of it, and its position. Data move by `pread` and `pwrite`.

use crate::abi::{Handle, Status};
use crate::failure::{Done, Failure, check, failure, unknown};
use crate::process::Process;
use crate::process::communicator::Communicator;
use crate::process::types::Type;
use hotlink_standard::constants as c;
use hotlink_standard::{Piece, View};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::rc::Rc;

/// How a rank sees the file.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) view: Rc<View>,
    /// The unit of offsets, and what is laid over the file.
    pub(crate) etype: Rc<Type>,
    pub(crate) filetype: Rc<Type>,
    pub(crate) representation: String,
}

impl Seen {
    /// Bytes from one offset to the next.
    pub(crate) fn unit(&self) -> u64 {
        self.etype.datatype.size().max(1)
    }
    /// Numbers are in the portable form.
    pub(crate) fn is_external(&self) -> bool {
        self.representation == "external32"
    }
}

/// See the module.
pub(crate) struct File {
    pub(crate) comm: Rc<Communicator>,
    file: fs::File,
    pub(crate) path: PathBuf,
    pub(crate) mode: c_int,
    pub(crate) seen: RefCell<Seen>,
    /// This rank's place in the view, in units.
    pub(crate) at: Cell<i64>,
    /// The shared position of all ranks: a file of eight bytes next to this one, made when it is first used.
    shared: PathBuf,
    pub(crate) atomic: Cell<bool>,
    pub(crate) handler: Cell<Handle>,
    pub(crate) info: RefCell<Vec<(String, String)>>,
    /// A collective that was begun: which, and how it went.
    pub(crate) begun: RefCell<Option<(&'static str, Status)>>,
}

/// The class of a system's error.
pub(crate) fn failed(what: &str, error: &io::Error) -> Box<Failure> {
    use io::ErrorKind::*;
    let class = match error.kind() {
        NotFound => c::MPI_ERR_NO_SUCH_FILE,
        AlreadyExists => c::MPI_ERR_FILE_EXISTS,
        PermissionDenied => c::MPI_ERR_ACCESS,
        ReadOnlyFilesystem => c::MPI_ERR_READ_ONLY,
        StorageFull => c::MPI_ERR_NO_SPACE,
        QuotaExceeded => c::MPI_ERR_QUOTA,
        IsADirectory | NotADirectory | InvalidFilename => c::MPI_ERR_BAD_FILE,
        ResourceBusy | ExecutableFileBusy => c::MPI_ERR_FILE_IN_USE,
        _ => c::MPI_ERR_IO,
    };
    failure(class, format!("{what}: {error}"))
}

/// A lock on a whole file, while it lives.
struct Locked<'a>(&'a fs::File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Closing it unlocks it as well.
        let _ = self.0.unlock();
    }
}

impl File {
    /// A file that was opened; `shared`: see there.
    pub(crate) fn new(
        comm: Rc<Communicator>,
        file: fs::File,
        (path, shared): (PathBuf, PathBuf),
        mode: c_int,
        byte: Rc<Type>,
        handler: Handle,
    ) -> File {
        let (view, representation) = (Rc::new(View::whole()), "native".to_owned());
        let seen = RefCell::new(Seen { view, etype: byte.clone(), filetype: byte, representation });
        File {
            comm,
            file,
            path,
            mode,
            seen,
            at: Cell::new(0),
            shared,
            atomic: Cell::new(false),
            handler: Cell::new(handler),
            info: RefCell::default(),
            begun: RefCell::default(),
        }
    }
    fn told(&self, error: &io::Error) -> Box<Failure> {
        failed(&self.path.display().to_string(), error)
    }
    /// Whether all of `flags` were asked for.
    pub(crate) fn has(&self, flags: c_int) -> bool {
        self.mode & flags == flags
    }
    pub(crate) fn may_read(&self) -> Done {
        check(!self.has(c::MPI_MODE_WRONLY), c::MPI_ERR_ACCESS, || "the file was opened for writing only".to_owned())
    }
    pub(crate) fn may_write(&self) -> Done {
        check(!self.has(c::MPI_MODE_RDONLY), c::MPI_ERR_READ_ONLY, || "the file was opened for reading only".to_owned())
    }
    /// Offsets and seeking are for files that are no sequences.
    pub(crate) fn may_seek(&self) -> Done {
        let why = || "the file was opened with MPI_MODE_SEQUENTIAL: it has a shared pointer alone".to_owned();
        check(!self.has(c::MPI_MODE_SEQUENTIAL), c::MPI_ERR_UNSUPPORTED_OPERATION, why)
    }
    pub(crate) fn bytes(&self) -> Done<u64> {
        self.file.metadata().map(|about| about.len()).map_err(|error| self.told(&error))
    }
    pub(crate) fn set_bytes(&self, bytes: u64) -> Done {
        self.file.set_len(bytes).map_err(|error| self.told(&error))
    }
    pub(crate) fn sync(&self) -> Done {
        self.file.sync_data().map_err(|error| self.told(&error))
    }
    /// In atomic mode the file is one rank's until that is dropped.
    fn lock(&self, alone: bool) -> Done<Option<Locked<'_>>> {
        if !self.atomic.get() {
            return Ok(None);
        }
        let locked = if alone { self.file.lock() } else { self.file.lock_shared() };
        locked.map(|()| Some(Locked(&self.file))).map_err(|error| self.told(&error))
    }
    /// Reads pieces one after the other, up to the file's end; how many bytes came.
    pub(crate) fn read(&self, pieces: &[Piece], into: &mut [u8]) -> Done<u64> {
        let _locked = self.lock(false)?;
        let mut came = 0;
        for piece in pieces {
            let (mut at, end) = (piece.at, piece.at + piece.bytes);
            while at < end {
                match self.file.read_at(&mut into[came..came + (end - at) as usize], at) {
                    Ok(0) => return Ok(came as u64),
                    Ok(bytes) => (at, came) = (at + bytes as u64, came + bytes),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(self.told(&error)),
                }
            }
        }
        Ok(came as u64)
    }
    /// Writes pieces one after the other.
    pub(crate) fn write(&self, pieces: &[Piece], from: &[u8]) -> Done {
        let _locked = self.lock(true)?;
        let mut gone = 0;
        for piece in pieces {
            let end = gone + piece.bytes as usize;
            self.file.write_all_at(&from[gone..end], piece.at).map_err(|error| self.told(&error))?;
            gone = end;
        }
        Ok(())
    }
    /// Changes the shared place; gives what it was.
    pub(crate) fn move_shared(&self, to: impl FnOnce(i64) -> i64) -> Done<i64> {
        let told = |error: io::Error| failed(&self.shared.display().to_string(), &error);
        let open = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.shared);
        let file = open.map_err(told)?;
        file.lock().map_err(told)?;
        let _locked = Locked(&file);
        let mut word = [0; 8];
        // A new one is empty, which is the beginning.
        let known = file.read_at(&mut word, 0).map_err(told)? == word.len();
        let now = if known { i64::from_le_bytes(word) } else { 0 };
        let next = to(now);
        if next != now {
            file.write_all_at(&next.to_le_bytes(), 0).map_err(told)?;
        }
        Ok(now)
    }
    /// The shared position is no longer used.
    pub(crate) fn forget_shared(&self) {
        // Most programs never made it.
        let _ = fs::remove_file(&self.shared);
    }
    /// The place of the view at which the file ends, in units.
    pub(crate) fn end(&self) -> Done<i64> {
        let seen = self.seen.borrow();
        Ok(seen.view.before(self.bytes()?).div_ceil(seen.unit()) as i64)
    }
    /// Where a seek leads from `now`.
    pub(crate) fn sought(&self, now: i64, offset: i64, whence: c_int) -> Done<i64> {
        let from = match whence {
            c::MPI_SEEK_SET => 0,
            c::MPI_SEEK_CUR => now,
            c::MPI_SEEK_END => self.end()?,
            _ => {
                return Err(failure(c::MPI_ERR_ARG, format!("whence {whence}: must be MPI_SEEK_SET, _CUR or _END")));
            }
        };
        let to = from.saturating_add(offset);
        check(to >= 0, c::MPI_ERR_ARG, || {
            format!("offset {offset}: the place would be {to}, before the view's beginning")
        })?;
        Ok(to)
    }
    /// Pieces of `bytes` from a position on.
    pub(crate) fn pieces(&self, at: i64, bytes: u64) -> Done<Vec<Piece>> {
        check(at >= 0, c::MPI_ERR_ARG, || format!("offset {at}: it must be at least 0"))?;
        let seen = self.seen.borrow();
        let (unit, is_seen) = (seen.unit(), bytes == 0 || !seen.view.is_empty());
        check(is_seen, c::MPI_ERR_ARG, || format!("{bytes} B, of which the view shows none"))?;
        let why = || format!("{bytes} B are no whole number of etypes of {unit} B");
        check(bytes.is_multiple_of(unit), c::MPI_ERR_ARG, why)?;
        Ok(seen.view.pieces(at as u64 * unit, bytes))
    }
    /// Offsets that `bytes` take.
    pub(crate) fn units(&self, bytes: u64) -> i64 {
        bytes.div_ceil(self.seen.borrow().unit()) as i64
    }
}

impl Process {
    pub(crate) fn file(&self, handle: Handle) -> Done<Rc<File>> {
        self.files.get(handle).ok_or_else(|| unknown(c::MPI_ERR_FILE, "file", handle))
    }
    /// The same for what all ranks do to it. None of its collectives may have begun and not ended.
    pub(crate) fn free_file(&self, handle: Handle) -> Done<Rc<File>> {
        let file = self.file(handle)?;
        let begun = file.begun.borrow().as_ref().map(|begun| begun.0);
        let why = || format!("{0}_begin precedes it, and {0}_end must come first", begun.unwrap_or_default());
        check(begun.is_none(), c::MPI_ERR_OTHER, why).map(|()| file)
    }
}
