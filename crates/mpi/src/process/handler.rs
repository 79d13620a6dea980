//! Error handlers, and what becomes of a failed call.

use crate::abi::Handle;
use crate::failure::{Done, Failure, unknown};
use crate::process::Process;
use crate::process::callback;
use crate::process::gate::Of;
use hotlink_standard::constants as c;
use std::ffi::c_int;
use std::rc::Rc;

/// A handler of the program's, for objects of one kind.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) function: usize,
}

impl Process {
    /// The error code of a failed call, after its handler was called.
    #[cold]
    pub(crate) fn judge(&self, name: &'static str, of: Of, failed: &Failure) -> c_int {
        let of = match failed.of.unwrap_or(of) {
            Of::Numbered(number) => self.numbered(number).map_or(Of::Nothing, Of::Comm),
            of => of,
        };
        let (handler, object) = self.handler_of(of);
        self.handled(name, handler, object, failed)
    }
    /// Calls a handler with an error.
    pub(crate) fn handled(&self, name: &str, handler: Handle, object: Handle, failed: &Failure) -> c_int {
        hotlink_standard::say_error(failed.code, format!("{name}: {}", failed.why));
        match handler {
            c::MPI_ERRORS_RETURN => {}
            _ => match self.handlers.get(handler) {
                Some(known) => return callback::handle(known.function, object, failed.code),
                None => {
                    let rank = self.rank().map_or(String::new(), |rank| format!("rank {rank}: "));
                    let class = hotlink_standard::error_class(self.class_of(failed.code)).unwrap_or("an error");
                    tell(&format!("hotlink: {rank}{name}: {class}: {}\n", failed.why));
                    self.abort(failed.code.clamp(1, 255));
                }
            },
        }
        failed.code
    }
    /// The handler of an object. Without an object, or of an invalid one, it is that of this process's own
    /// communicator. Programs from before MPI 4 set the handler of all ranks for such errors; it counts where the own
    /// one is unchanged.
    fn handler_of(&self, of: Of) -> (Handle, Handle) {
        let known = match of {
            Of::Comm(handle) => self.comm(handle).ok().map(|comm| (comm.handler.get(), handle)),
            Of::Win(handle) => self.windows.get(handle).map(|window| (window.handler.get(), handle)),
            Of::Session(handle) => self.sessions.get(handle).map(|session| (session.handler.get(), handle)),
            Of::File(handle) => {
                let known = self.files.get(handle);
                Some((known.map_or(self.file_handler.get(), |file| file.handler.get()), handle))
            }
            Of::Nothing | Of::Numbered(_) => None,
        };
        let set = |comm: Handle| {
            let handler = self.comm(comm).ok()?.handler.get();
            (handler != c::MPI_ERRORS_ARE_FATAL).then_some((handler, comm))
        };
        let own = || set(c::MPI_COMM_SELF).or_else(|| set(c::MPI_COMM_WORLD));
        known.or_else(own).unwrap_or((c::MPI_ERRORS_ARE_FATAL, c::MPI_COMM_SELF))
    }
    /// The handle of a communicator by its number; `None`: it was freed.
    fn numbered(&self, number: u32) -> Option<Handle> {
        let own = |&comm: &Handle| self.comm(comm).is_ok_and(|comm| comm.number == number);
        let known = [c::MPI_COMM_WORLD, c::MPI_COMM_SELF].into_iter().find(own);
        known.or_else(|| self.comms.find(|comm| comm.number == number))
    }
    /// The class of a code: itself, unless the program has added it.
    pub(crate) fn class_of(&self, code: c_int) -> c_int {
        self.codes.borrow().get(&code).map_or(code, |added| added.0)
    }
    /// Whether such a handler can be set.
    pub(crate) fn check_handler(&self, handler: Handle) -> Done {
        let standard = [c::MPI_ERRORS_ARE_FATAL, c::MPI_ERRORS_ABORT, c::MPI_ERRORS_RETURN].contains(&handler);
        if standard || self.handlers.get(handler).is_some() {
            return Ok(());
        }
        Err(unknown(c::MPI_ERR_ERRHANDLER, "error handler", handler))
    }
    /// A handle of its own for a handler, which may be freed alone.
    pub(crate) fn another(&self, handler: Handle) -> Handle {
        self.handlers.get(handler).map_or(handler, |known| self.handlers.add(known))
    }
    pub(crate) fn add_handler(&self, function: usize) -> Handle {
        self.handlers.add(Rc::new(Handler { function }))
    }
    /// Ends this process; its parent, and every other rank, sees that.
    pub(crate) fn abort(&self, status: c_int) -> ! {
        crate::seat::leave(status)
    }
}

/// Prints an error by one write, so that the lines of ranks do not mix. A closed output is ignored.
pub(crate) fn tell(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}
