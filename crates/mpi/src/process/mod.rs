//! [`Process`]: all that this process's calls know of each other. Everything that changes is in cells, since a callback of
//! the program may call again.

pub(crate) mod attribute;
pub(crate) mod buffer;
pub(crate) mod buffering;
pub(crate) mod callback;
pub(crate) mod check;
pub(crate) mod communicator;
pub(crate) mod counted;
pub(crate) mod effort;
pub(crate) mod file;
pub(crate) mod gate;
pub(crate) mod handler;
pub(crate) mod reduction;
pub(crate) mod request;
pub(crate) mod service;
pub(crate) mod types;
pub(crate) mod window;

use crate::abi::Handle;
use crate::failure::{Done, failure, unknown};
use crate::memory::Everything;
use crate::process::attribute::Key;
use crate::process::buffer::Staged;
use crate::process::communicator::{Communicator, Numbers};
use crate::process::counted::Reading;
use crate::process::effort::Effort;
use crate::process::file::File;
use crate::process::handler::Handler;
use crate::process::reduction::Operator;
use crate::process::request::{Pending, Task};
use crate::process::types::{Type, Types};
use crate::process::window::Window;
use crate::table::Table;
use hotlink_message::{Comm, Matched, Request};
use hotlink_real::{Idle, Seat};
use hotlink_standard::Group;
use hotlink_standard::constants as c;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::{Rc, Weak};

/// Keys and values, in the order in which they were first set.
pub(crate) type Info = Rc<RefCell<Vec<(String, String)>>>;

/// A message that a matched probe found.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) comm: Rc<Communicator>,
    pub(crate) matched: Rc<RefCell<Option<Matched>>>,
}

/// A buffered send: its copy goes when its message has.
pub(crate) struct Buffered {
    pub(crate) comm: Rc<Communicator>,
    pub(crate) request: Request,
    pub(crate) copy: Staged,
    pub(crate) bytes: u64,
}

/// The library without `MPI_Init`.
pub(crate) struct Session {
    pub(crate) handler: Cell<Handle>,
    /// The name of its thread level.
    pub(crate) level: &'static str,
    /// The program's buffer for buffered sends: where and how long.
    pub(crate) attached: Cell<Option<(usize, u64)>>,
}

/// State that exists while the library runs.
pub(crate) struct World {
    /// All ranks, as the port numbers them.
    pub(crate) comm: Comm<Seat>,
    pub(crate) all: Everything,
    pub(crate) world: Rc<Communicator>,
    pub(crate) own: Rc<Communicator>,
    pub(crate) numbers: Rc<Numbers>,
    /// Partitioned sends that were made.
    pub(crate) partitioned: Cell<u32>,
    pub(crate) tasks: RefCell<Vec<Option<Task>>>,
    /// Windows that others may ask for something, by their communicators' numbers.
    pub(crate) served: RefCell<BTreeMap<u32, Rc<Window>>>,
    /// Locks that were asked for and may not be there yet.
    pub(crate) asked: RefCell<Vec<(Weak<Window>, u32)>>,
    pub(crate) buffered: RefCell<Vec<Buffered>>,
    /// The program's buffer for such sends: where and how long.
    pub(crate) attached: Cell<Option<(usize, u64)>>,
    pub(crate) provided: Cell<c_int>,
    /// The program's computation, where it is recorded.
    pub(crate) effort: Option<Effort>,
    /// Calls since it last waited.
    pub(crate) idle: Cell<Idle>,
    /// Collectives and what is never freed are checked.
    pub(crate) check: bool,
}

/// See the module.
pub(crate) struct Process {
    world: OnceCell<World>,
    /// `MPI_Init` was called.
    pub(crate) initialized: Cell<bool>,
    /// This process's port is closed.
    pub(crate) closed: Cell<bool>,
    pub(crate) finalized: Cell<bool>,
    pub(crate) types: Types,
    pub(crate) derived: Table<Rc<Type>>,
    pub(crate) comms: Table<Rc<Communicator>>,
    pub(crate) groups: Table<Rc<Group>>,
    pub(crate) operators: Table<Operator>,
    pub(crate) requests: Table<Rc<Pending>>,
    pub(crate) infos: Table<Info>,
    pub(crate) handlers: Table<Rc<Handler>>,
    pub(crate) messages: Table<Message>,
    pub(crate) keys: Table<Rc<Key>>,
    pub(crate) windows: Table<Rc<Window>>,
    pub(crate) sessions: Table<Rc<Session>>,
    pub(crate) files: Table<Rc<File>>,
    /// Control variables of the tools interface, by number.
    pub(crate) settings: Table<c_int>,
    /// Its sessions of performance variables.
    pub(crate) readers: Table<()>,
    pub(crate) readings: Table<Rc<Reading>>,
    /// How often the tools interface was started and not ended.
    pub(crate) tools: Cell<u32>,
    /// Of files that could not be opened, and those opened from now on.
    pub(crate) file_handler: Cell<Handle>,
    /// Codes that the program has added: class and text.
    pub(crate) codes: RefCell<BTreeMap<c_int, (c_int, String)>>,
    pub(crate) last_code: Cell<c_int>,
}

impl Process {
    pub(crate) fn new() -> Process {
        Process {
            world: OnceCell::new(),
            initialized: Cell::new(false),
            closed: Cell::new(false),
            finalized: Cell::new(false),
            types: Types::new(),
            derived: Table::new(1),
            comms: Table::new(2),
            groups: Table::new(3),
            operators: Table::new(4),
            requests: Table::new(5),
            infos: Table::new(6),
            handlers: Table::new(7),
            messages: Table::new(8),
            keys: Table::new(9),
            windows: Table::new(10),
            sessions: Table::new(11),
            files: Table::new(12),
            settings: Table::new(13),
            readers: Table::new(14),
            readings: Table::new(15),
            tools: Cell::new(0),
            file_handler: Cell::new(c::MPI_ERRORS_RETURN),
            codes: RefCell::default(),
            last_code: Cell::new(c::MPI_ERR_LASTCODE),
        }
    }
    pub(crate) fn begin(&self, world: World) {
        // Called once: starting twice is refused before.
        let _ = self.world.set(world);
    }
    /// State that exists while the library runs.
    #[inline(always)]
    pub(crate) fn world(&self) -> Done<&World> {
        match self.world.get() {
            Some(world) if self.runs() => Ok(world),
            _ => Err(self.not_running()),
        }
    }
    #[inline(always)]
    fn runs(&self) -> bool {
        (self.initialized.get() && !self.finalized.get()) || (!self.closed.get() && !self.sessions.is_empty())
    }
    /// What there was, whether or not anything may be called.
    pub(crate) fn any_world(&self) -> Option<&World> {
        self.world.get()
    }
    pub(crate) fn session(&self, handle: Handle) -> Done<Rc<Session>> {
        self.sessions.get(handle).ok_or_else(|| unknown(c::MPI_ERR_SESSION, "session", handle))
    }
    /// A session's buffer for buffered sends.
    pub(crate) fn session_buffer(&self) -> Option<(usize, u64)> {
        self.sessions.all().into_iter().find_map(|session| session.attached.get())
    }
    #[cold]
    fn not_running(&self) -> Box<crate::failure::Failure> {
        let when = if self.finalized.get() { "after MPI_Finalize" } else { "before MPI_Init" };
        failure(c::MPI_ERR_OTHER, format!("called {when}"))
    }
    /// This process's rank, once it is known.
    pub(crate) fn rank(&self) -> Option<u32> {
        self.world.get().map(|world| world.comm.rank())
    }
    pub(crate) fn group(&self, handle: Handle) -> Done<Rc<Group>> {
        match handle {
            c::MPI_GROUP_EMPTY => Ok(Rc::default()),
            _ => self.groups.get(handle).ok_or_else(|| unknown(c::MPI_ERR_GROUP, "group", handle)),
        }
    }
    /// A group's handle.
    pub(crate) fn name_group(&self, group: Group) -> Handle {
        if group.size() == 0 { c::MPI_GROUP_EMPTY } else { self.groups.add(Rc::new(group)) }
    }
    pub(crate) fn info(&self, handle: Handle) -> Done<Info> {
        self.infos.get(handle).ok_or_else(|| unknown(c::MPI_ERR_INFO, "info", handle))
    }
}
