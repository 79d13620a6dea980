//! Requests: operations under way, waits for them, and work that goes on meanwhile.

use crate::abi::{Handle, Status};
use crate::failure::{Done, Failure, Of, check, failure, unknown};
use crate::pointer::{Address, Out};
use crate::process::buffer::Staged;
use crate::process::callback;
use crate::process::check::agree;
use crate::process::communicator::Communicator;
use crate::process::gate;
use crate::process::service::serve;
use crate::process::types::Type;
use crate::process::{Process, World};
use hotlink_message::{Comm, Error, Request};
use hotlink_real::{Door, Entry, Seat, Want, passage, quietly};
use hotlink_standard::constants as c;
use hotlink_standard::{Alike, Parts};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The promise of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Standard,
    Buffered,
    Synchronous,
    Ready,
}

/// How a function of a family is called: over when it returns, as a request, or as a request that is started often.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    Blocking(Out<Status>),
    Now(Out<Handle>),
    Again(Out<Handle>),
}

impl Start {
    /// Whether a request reports how it ended.
    pub(crate) fn is_now(&self) -> bool {
        matches!(self, Start::Now(_))
    }
}

/// How something ended.
#[derive(Clone)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    pub(crate) failed: Option<Box<Failure>>,
}

impl Ended {
    pub(crate) fn well(status: Status) -> Ended {
        Ended { status, failed: None }
    }
    pub(crate) fn badly(failed: Box<Failure>) -> Ended {
        Ended { status: Status::EMPTY, failed: Some(failed) }
    }
    pub(crate) fn code(&self) -> c_int {
        self.failed.as_ref().map_or(c::MPI_SUCCESS, |failed| failed.code)
    }
}

/// A collective under way, polled whenever something waits.
pub(crate) struct Task {
    future: Pin<Box<dyn Future<Output = Done<Status>>>>,
    end: Rc<RefCell<Option<Ended>>>,
}

/// The present operation of a request.
pub(crate) enum Work {
    /// A persistent one that is not started.
    Idle,
    Over(Ended),
    Send {
        comm: Rc<Communicator>,
        request: Request,
        kept: Staged,
    },
    Receive {
        comm: Rc<Communicator>,
        request: Request,
        into: Staged,
        of: Rc<Type>,
    },
    Task(Rc<RefCell<Option<Ended>>>),
    General(Rc<General>),
}

/// A generalised request.
pub(crate) struct General {
    pub(crate) functions: [usize; 3],
    pub(crate) extra: Address,
    pub(crate) complete: Cell<bool>,
}

/// The result of the program's functions is the call's own result.
impl General {
    fn query(&self, status: &mut Status) -> Done {
        answered(callback::query(self.functions[0], self.extra, status), "query")
    }
    pub(crate) fn free(&self) -> Done {
        answered(callback::free(self.functions[1], self.extra), "free")
    }
    fn cancel(&self) -> Done {
        answered(callback::cancel(self.functions[2], self.extra, self.complete.get()), "cancel")
    }
}

fn answered(code: c_int, which: &str) -> Done {
    check(code == c::MPI_SUCCESS, code, || format!("the request's {which} function failed"))
}

/// The start of a persistent request.
pub(crate) type Begin = Rc<dyn Fn(&Process) -> Done<Work>>;

/// The last step of a request.
type AtEnd = Box<dyn Fn(&Process) -> Done>;

/// A request.
pub(crate) struct Pending {
    work: RefCell<Work>,
    again: Option<Begin>,
    cancelled: Cell<bool>,
    pub(crate) parts: Option<Rc<Parts>>,
    /// Done when it is over, before the program learns of it.
    at_end: RefCell<Option<AtEnd>>,
}

impl Pending {
    pub(crate) fn new(work: Work, again: Option<Begin>) -> Pending {
        let at_end = RefCell::default();
        Pending { work: RefCell::new(work), again, cancelled: Cell::new(false), parts: None, at_end }
    }
    pub(crate) fn is_persistent(&self) -> bool {
        self.again.is_some()
    }
    pub(crate) fn is_idle(&self) -> bool {
        matches!(*self.work.borrow(), Work::Idle)
    }
    /// Whether it is over, without a step for it.
    fn is_over(&self) -> bool {
        match &*self.work.borrow() {
            Work::Idle | Work::Over(_) => true,
            Work::Send { comm, request, .. } | Work::Receive { comm, request, .. } => comm.view.is_ended(request),
            Work::Task(end) => end.borrow().is_some(),
            Work::General(general) => general.complete.get(),
        }
    }
    /// How it ended, if it has; it keeps that.
    pub(crate) fn ended(&self) -> Option<Ended> {
        if !self.is_over() {
            return None;
        }
        let work = self.work.replace(Work::Idle);
        let ended = match work {
            Work::Idle => return Some(Ended::well(Status::EMPTY)),
            Work::Over(ended) => ended,
            Work::Send { comm, request, kept } => {
                let result = comm.view.test(request).unwrap_or(Err(Error::NoRequest));
                drop(kept);
                let failed = |error: Error| Ended::badly(Box::<Failure>::from(error).about(Of::Numbered(comm.number)));
                result.map_or_else(failed, |_| Ended::well(Status::EMPTY))
            }
            Work::Receive { comm, request, into, of } => {
                let result = comm.view.test(request).unwrap_or(Err(Error::NoRequest));
                self.received(&comm, result, (&into, &of))
            }
            Work::Task(end) => end.take().unwrap_or_else(|| Ended::well(Status::EMPTY)),
            Work::General(general) => {
                let mut status = Status::EMPTY;
                let failed = general.query(&mut status).err();
                let ended = Ended { status, failed };
                // Asked again at every look: its status may change until it is freed.
                *self.work.borrow_mut() = Work::General(general);
                return Some(ended);
            }
        };
        *self.work.borrow_mut() = Work::Over(ended.clone());
        Some(ended)
    }
    fn received(&self, comm: &Communicator, result: Came, into: (&Staged, &Type)) -> Ended {
        match result {
            Err(Error::NoRequest) if self.cancelled.get() => {
                let mut status = Status::EMPTY;
                status.set_cancelled(true);
                Ended::well(status)
            }
            result => received(comm, result, into),
        }
    }
    /// Reports to the port for what the call waits, if it listens.
    fn note_wait(&self) {
        if let Work::Send { comm, request, .. } | Work::Receive { comm, request, .. } = &*self.work.borrow() {
            comm.view.note_wait(request);
        }
    }
    /// Cancels it if that is still possible.
    ///
    /// # Errors
    /// Those of a generalised request's own function.
    pub(crate) fn cancel(&self) -> Done {
        if let Some(general) = self.general() {
            return general.cancel();
        }
        if let Work::Receive { comm, request, .. } = &*self.work.borrow() {
            self.cancelled.set(comm.view.cancel(request));
        }
        // A send that was started is left to go: the standard allows that.
        Ok(())
    }
    /// Takes out the operation under way.
    pub(crate) fn left(&self) -> Work {
        self.work.replace(Work::Idle)
    }
    pub(crate) fn general(&self) -> Option<Rc<General>> {
        if let Work::General(general) = &*self.work.borrow() { Some(general.clone()) } else { None }
    }
    /// Starts a persistent one.
    pub(crate) fn start(&self, p: &Process) -> Done {
        let Some(again) = self.again.clone().filter(|_| self.is_idle()) else {
            return Err(failure(c::MPI_ERR_REQUEST, "the request is not persistent, or has been started"));
        };
        self.cancelled.set(false);
        let work = again(p)?;
        *self.work.borrow_mut() = work;
        Ok(())
    }
}

/// How a receive ended in the message stack.
pub(crate) type Came = Result<hotlink_message::Status, Error>;

/// The end of a receive: the message goes to its place.
pub(crate) fn received(comm: &Communicator, result: Came, (into, of): (&Staged, &Type)) -> Ended {
    match result {
        Ok(status) => {
            into.settle(status.bytes);
            let (source, tag) = (comm.peer_of(status.from), status.tag as c_int);
            // In a row, bytes are bytes: other libraries take them, and programs send them.
            let is_short = status.bytes < into.span.bytes() && into.is_scattered();
            let is_cut = is_short && of.datatype.elements_in(status.bytes).is_none();
            let failed = is_cut.then(|| cut(comm, source, tag, (status.bytes, of)));
            Ended { status: Status::received(source, tag, status.bytes), failed }
        }
        Err(error) => {
            let about = |failed: Box<Failure>| failed.about(Of::Numbered(comm.number));
            let Error::Truncated { sent, room, from, tag } = error else { return Ended::badly(about(error.into())) };
            into.settle(room);
            let (source, own) = (comm.peer_of(from), comm.rank);
            let why =
                format!("rank {source} sent {sent} B with tag {tag}; the receive buffer of rank {own} has {room} B");
            Ended {
                status: Status::received(source, tag as c_int, room),
                failed: Some(about(failure(c::MPI_ERR_TRUNCATE, why))),
            }
        }
    }
}

/// A message that ends within an element: its sender's datatype was another one.
#[cold]
fn cut(comm: &Communicator, source: c_int, tag: c_int, (bytes, of): (u64, &Type)) -> Box<Failure> {
    let (own, name) = (comm.rank, of.name.borrow());
    let elements = if name.is_empty() { "its datatype".to_owned() } else { name.to_string() };
    let why = format!(
        "rank {source} sent {bytes} B with tag {tag}, which is no whole number of the elements that rank {own} \
         receives ({elements}): the datatypes of the two differ"
    );
    failure(c::MPI_ERR_TYPE, why).about(Of::Numbered(comm.number))
}

impl World {
    /// Polls the work that goes on during the call.
    pub(crate) fn step_tasks(&self) {
        while let Some(number) = self.comm.called() {
            let window = self.served.borrow().get(&number).cloned();
            if let Some(window) = window.filter(|window| !window.serves.replace(true)) {
                self.begin(async move {
                    let done = serve(&window).await;
                    window.serves.set(false);
                    done
                });
            }
        }
        let count = self.tasks.borrow().len();
        (0..count).for_each(|place| self.step_task(place));
        let mut tasks = self.tasks.borrow_mut();
        let live = tasks.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        tasks.truncate(live);
        if tasks.is_empty() {
            self.comm.give_way(passage::have_met());
        }
    }
    /// Starts something as a task of its own.
    fn begin(&self, future: impl Future<Output = Done<Status>> + 'static) -> Work {
        let end = Rc::new(RefCell::new(None));
        let task = Task { future: Box::pin(future), end: end.clone() };
        let place = self.tasks.borrow().len();
        self.tasks.borrow_mut().push(Some(task));
        self.comm.give_way(true);
        // Its first message goes at once. Other steps run in calls that wait or test.
        self.step_task(place);
        Work::Task(end)
    }
    fn step_task(&self, place: usize) {
        // Taken out while it runs: a callback of the program may come here again.
        let Some(mut task) = self.tasks.borrow_mut().get_mut(place).and_then(Option::take) else { return };
        match task.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => self.tasks.borrow_mut()[place] = Some(task),
            Poll::Ready(result) => *task.end.borrow_mut() = Some(result.map_or_else(Ended::badly, Ended::well)),
        }
    }
    /// Does what can be done now.
    pub(crate) fn step(&self) {
        self.comm.progress();
        self.step_beside();
    }
    /// The same where the program looks and goes on, which is no wait.
    pub(crate) fn look(&self) {
        quietly(|| self.step());
    }
    fn step_beside(&self) {
        if self.comm.gives_way() || passage::have_met() {
            self.step_tasks();
        }
        if !self.buffered.borrow().is_empty() {
            self.reap();
        }
    }
    /// Lets go of buffered sends that are over.
    fn reap(&self) {
        let mut waiting = std::mem::take(&mut *self.buffered.borrow_mut());
        let over = waiting.extract_if(.., |sent| sent.comm.view.is_ended(&sent.request)).collect::<Vec<_>>();
        for sent in over {
            let _ = sent.comm.view.test(sent.request);
            drop(sent.copy);
        }
        self.buffered.borrow_mut().append(&mut waiting);
    }
    /// Nothing to do before something happens.
    pub(crate) fn rest(&self) {
        self.comm.rest_briefly();
        self.wait(Want::Event);
        gate::give_way();
    }
    /// A look was in vain, and the program goes on.
    pub(crate) fn pass(&self) {
        quietly(|| self.comm.rest_briefly());
        self.vain();
        gate::give_way();
    }
    /// The same, of a look that a program repeats at its own pace.
    pub(crate) fn vain(&self) {
        self.wait(Want::Look);
    }
    /// On a simulated fabric time goes on, once all threads want that.
    fn wait(&self, want: Want) {
        self.idle.take();
        let with_door = |work: &mut dyn FnMut(&mut Door)| self.comm.with_port(|port| port.lend_door(work));
        if !gate::wait(want, &with_door) {
            self.comm.with_port(|port| if want == Want::Look { port.pass() } else { port.suspend() });
        }
    }
    /// This thread sleeps for `ps` picoseconds, while others run.
    pub(crate) fn sleep(&self, ps: u64) {
        let until = hotlink_real::virtual_clock().map_or(0, |now| now.0.saturating_add(ps));
        while self.comm.with_port(|port| port.sleeps_until(until)) {
            self.wait(Want::Sleep);
        }
    }
    /// A call has ended. On a simulated fabric a program may repeat calls that do not wait until another rank has
    /// stored something. So now and then its time advances, too, and requests of other ranks are served.
    pub(crate) fn called(&self) {
        let mut idle = self.idle.get();
        if let Some(ps) = idle.called().filter(|_| hotlink_real::is_simulated()) {
            let until = hotlink_real::virtual_clock().map_or(0, |now| now.0.saturating_add(ps));
            while self.comm.with_port(|port| port.sleeps_until(until)) {
                self.wait(Want::Sleep);
                self.step();
            }
            idle.slept(ps);
        }
        self.idle.set(idle);
    }
    /// Waits for the end of a request.
    pub(crate) fn end_of(&self, pending: &Pending) -> Ended {
        loop {
            self.step();
            if let Some(ended) = pending.ended() {
                return ended;
            }
            pending.note_wait();
            // The program itself ends a generalised request, wherever it does.
            if pending.general().is_some() { quietly(|| self.rest()) } else { self.rest() }
        }
    }
    /// Runs until `over` gives something.
    pub(crate) fn until<T>(&self, mut over: impl FnMut() -> Option<T>) -> T {
        loop {
            self.step();
            if let Some(value) = over() {
                return value;
            }
            self.rest();
        }
    }
    /// Runs a future to its end, and the work that goes on meanwhile.
    #[inline(always)]
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return value;
            }
            self.between();
        }
    }
    #[inline(never)]
    fn between(&self) {
        self.wait(Want::Event);
        self.step_beside();
        gate::give_way();
    }
}

/// The function that this rank is in, as a simulation hears of it.
fn entered(comm: &Communicator, line: u32, alike: Alike) -> Entry {
    let (view, is_one_group) = (&comm.view, comm.remote.is_none());
    Entry {
        name: hotlink_real::within().to_owned(),
        comm: comm.number,
        first: view.port_rank(0),
        line,
        place: view.rank(),
        ranks: view.ranks(),
        root: alike.root,
        bytes: alike.bytes,
        moved: alike.moved.filter(|_| is_one_group),
    }
}

/// Lets a simulation know when a collective begins and ends.
async fn timed(view: Comm<Seat>, entry: Option<Entry>, future: impl Future<Output = Done>) -> Done {
    let token = entry.map(|entry| view.with_port(|port| port.enters(&entry)));
    let done = future.await;
    if let Some(token) = token {
        view.with_port(|port| port.leaves(token));
    }
    done
}

impl Process {
    pub(crate) fn request(&self, handle: Handle) -> Done<Rc<Pending>> {
        self.requests.get(handle).ok_or_else(|| unknown(c::MPI_ERR_REQUEST, "request", handle))
    }
    /// The request of a handle in a list; `None`: the null one.
    pub(crate) fn requested(&self, handle: Handle) -> Done<Option<Rc<Pending>>> {
        if handle == c::MPI_REQUEST_NULL { Ok(None) } else { self.request(handle).map(Some) }
    }
    /// Starts something as a task of its own.
    pub(crate) fn task(&self, future: impl Future<Output = Done<Status>> + 'static) -> Done<Work> {
        Ok(self.world()?.begin(future))
    }
    /// Makes a request of it.
    pub(crate) fn issue(&self, request: Out<Handle>, work: Work) {
        request.set(self.requests.add(Rc::new(Pending::new(work, None))));
    }
    /// The same, with something to do when it is over.
    pub(crate) fn issue_ending(&self, request: Out<Handle>, work: Work, at_end: impl Fn(&Process) -> Done + 'static) {
        let pending = Pending::new(work, None);
        *pending.at_end.borrow_mut() = Some(Box::new(at_end));
        request.set(self.requests.add(Rc::new(pending)));
    }
    /// Makes a persistent request of it.
    pub(crate) fn issue_again(&self, request: Out<Handle>, begin: impl Fn(&Process) -> Done<Work> + 'static) {
        request.set(self.requests.add(Rc::new(Pending::new(Work::Idle, Some(Rc::new(begin))))));
    }
    /// The same with parts.
    pub(crate) fn issue_parts(
        &self,
        request: Out<Handle>,
        parts: Rc<Parts>,
        begin: impl Fn(&Process) -> Done<Work> + 'static,
    ) {
        let pending = Pending { parts: Some(parts), ..Pending::new(Work::Idle, Some(Rc::new(begin))) };
        request.set(self.requests.add(Rc::new(pending)));
    }
    /// For a blocking collective of which neither a check nor a simulation hears: it borrows what it needs, and copies nothing.
    pub(crate) fn directly(&self, start: Start) -> Option<&World> {
        let world = self.world().ok().filter(|world| !world.check)?;
        let simulated = world.comm.with_port(|port| port.is_simulated());
        (matches!(start, Start::Blocking(_)) && !simulated).then_some(world)
    }
    /// A collective: `make` gives what it does on a view of its communicator. All ranks must give `alike` to it.
    pub(crate) fn collectively<F>(
        &self,
        comm: &Rc<Communicator>,
        start: Start,
        alike: Alike,
        make: impl Fn(Comm<Seat>) -> F + 'static,
    ) -> Done
    where
        F: Future<Output = Done> + 'static,
    {
        let checked = self.world()?.check.then(hotlink_real::within);
        // The name of it for a simulation. Calls of persistent ones may come in any order: each has a line of its own.
        let number = comm.number;
        let entry = |line| comm.view.with_port(|port| port.is_simulated()).then(|| entered(comm, line, alike));
        match start {
            Start::Blocking(_) => {
                if let Some(name) = checked {
                    self.world()?.block_on(agree(comm.view.clone(), name, alike))?;
                }
                let future = make(comm.view.clone());
                match entry(0) {
                    None => self.world()?.block_on(future),
                    entry => self.world()?.block_on(timed(comm.view.clone(), entry, future)),
                }
            }
            Start::Now(request) => {
                let view = comm.beside();
                let future = timed(view.clone(), entry(0), make(view.clone()));
                let work = self.task(async move {
                    if let Some(name) = checked {
                        agree(view, name, alike).await?;
                    }
                    future.await.map(|()| Status::EMPTY).map_err(|failed| failed.about(Of::Numbered(number)))
                })?;
                self.issue(request, work);
                Ok(())
            }
            Start::Again(request) => {
                // Numbered now: all ranks make it in the same order, and may start it in any.
                let view = comm.beside();
                let entry = entry(comm.calls.get());
                self.issue_again(request, move |p| {
                    let future = timed(view.clone(), entry.clone(), make(view.clone()));
                    let view = view.clone();
                    p.task(async move {
                        if let Some(name) = checked {
                            agree(view, name, alike).await?;
                        }
                        future.await.map(|()| Status::EMPTY).map_err(|failed| failed.about(Of::Numbered(number)))
                    })
                });
                Ok(())
            }
        }
    }
    /// A request that is over leaves its handle, unless it is persistent.
    pub(crate) fn retire(&self, handle: Out<Handle>, pending: &Pending) -> Done {
        if pending.is_persistent() {
            *pending.work.borrow_mut() = Work::Idle;
            return Ok(());
        }
        let known = handle.get(0);
        if let Some(at_end) = pending.at_end.take() {
            at_end(self)?;
        }
        handle.set(c::MPI_REQUEST_NULL);
        self.requests.remove(known);
        match pending.general() {
            None => Ok(()),
            Some(general) => general.free(),
        }
    }
}
