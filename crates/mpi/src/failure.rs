//! Why a call failed: the class that the program gets, and the words for people.

use crate::abi::Handle;
use hotlink_message::Error;
use hotlink_standard::constants as c;
use hotlink_standard::null_name;
use std::ffi::c_int;

/// Which object a call is about: its error handler hears of a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    Nothing,
    Comm(Handle),
    /// A communicator by its number.
    Numbered(u32),
    Win(Handle),
    Session(Handle),
    File(Handle),
}

/// A failed call.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// A class, or a code that the program has added.
    pub(crate) code: c_int,
    /// The mistake and the allowed values.
    pub(crate) why: String,
    /// Its object, where the call does not name that: of a request.
    pub(crate) of: Option<Of>,
}

impl Failure {
    /// The same, about an object.
    pub(crate) fn about(mut self: Box<Failure>, of: Of) -> Box<Failure> {
        self.of = Some(of);
        self
    }
}

/// The result of a call. A failure is rare, and long.
pub(crate) type Done<T = ()> = Result<T, Box<Failure>>;

pub(crate) fn fail<T>(code: c_int, why: impl Into<String>) -> Done<T> {
    Err(failure(code, why))
}

pub(crate) fn failure(code: c_int, why: impl Into<String>) -> Box<Failure> {
    Box::new(Failure { code, why: why.into(), of: None })
}

/// A handle that is none of `what` was asked for.
#[cold]
pub(crate) fn unknown(code: c_int, what: &str, handle: Handle) -> Box<Failure> {
    match null_name(handle) {
        Some(null) => failure(code, format!("{null} is no {what}")),
        None => failure(code, format!("{handle:#x} is no {what}: it was never made, or it was freed")),
    }
}

/// Fails unless `holds`.
#[inline(always)]
pub(crate) fn check(holds: bool, code: c_int, why: impl FnOnce() -> String) -> Done {
    if holds { Ok(()) } else { fail(code, why()) }
}

/// Fails for a null pointer to what a call must write.
#[inline(always)]
pub(crate) fn placed(places: &[(&'static str, usize)]) -> Done {
    match places.iter().find(|place| place.1 == 0) {
        None => Ok(()),
        Some((name, _)) => fail(c::MPI_ERR_ARG, format!("{name} is a null pointer")),
    }
}

impl From<Error> for Box<Failure> {
    fn from(error: Error) -> Box<Failure> {
        let code = match error {
            Error::Truncated { .. } => c::MPI_ERR_TRUNCATE,
            Error::PeerGone(_) | Error::Ended(_) => c::MPI_ERR_PROC_ABORTED,
            Error::Refused(hotlink_port::Refusal::NoMemory) => c::MPI_ERR_NO_MEM,
            Error::Refused(_) => c::MPI_ERR_OTHER,
            Error::NoRequest => c::MPI_ERR_REQUEST,
        };
        match error {
            // A collective's: its tags are the library's own.
            Error::Truncated { sent, room, from, .. } => {
                let why = format!(
                    "in a step of the collective rank {from} sent {sent} B where this rank has room for {room} B: \
                     counts or types of the ranks differ (hotlink run --check says whose)"
                );
                failure(code, why)
            }
            _ => failure(code, error.to_string()),
        }
    }
}
