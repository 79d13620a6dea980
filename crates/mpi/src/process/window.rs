//! Windows: memory of every rank of a group, which the others read, write and combine.
//!
//! A rank asks for work at another with an [`Ask`], a message to that rank's service. The service is a task that begins
//! when a message has come, while its process is in a call, and now and then otherwise (`gate::attend`). It does what
//! each rank asks in order, one at a time. So whatever it combines is atomic, and the answer to a flush says that all
//! before it was done.
//!
//! Where all ranks share the window's memory, each does by itself what it wants done, and locks are words in that memory.

use crate::abi::{Handle, Status};
use crate::failure::{Done, Failure, Of, failure, unknown};
use crate::memory::{self, Everything};
use crate::pointer::Address;
use crate::process::attribute::Attributes;
use crate::process::buffer::{Buffer, Staged};
use crate::process::communicator::Communicator;
use crate::process::request::{Ended, Work};
use crate::process::service::{Ask, Kind, Service, UNHEARD};
use crate::process::{Process, World};
use hotlink_message::Request;
use hotlink_port::{Attachment, Memory, yield_once};
use hotlink_real::{Assists, Latch, Latches, Neighbor};
use hotlink_standard::constants as c;
use hotlink_standard::{Builtin, Datatype};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::rc::Rc;

/// Tags of a window's messages: asks, the beginning of an exposure, and answers from here on.
pub(crate) const ASKS: u32 = 0;
pub(crate) const POSTS: u32 = 1;
const ANSWERS: u32 = 16;

/// Most answers with data that are waited for at a time: each step polls every one.
const ANSWERS_DUE: usize = 256;

/// Attributes for programs, at addresses that stay.
pub(crate) struct Facts {
    pub(crate) size: i64,
    pub(crate) unit: c_int,
    pub(crate) flavor: c_int,
    pub(crate) model: c_int,
}

/// The ranks that this one may reach now.
#[derive(Default)]
pub(crate) struct Access {
    /// Since a fence.
    pub(crate) fence: bool,
    /// Between start and complete.
    pub(crate) group: Option<Vec<u32>>,
    /// By lock.
    pub(crate) locks: BTreeMap<u32, c_int>,
    /// By a lock of all.
    pub(crate) all: bool,
}

/// Parts of ranks of one machine: where each is here, or in the memory of its own process, its bytes and unit.
pub(crate) struct Shared {
    pub(crate) parts: Vec<(Address, i64, i64)>,
    /// The ranks' processes, where the parts are their own memory; none where all are mapped here.
    pub(crate) neighbors: Vec<Neighbor>,
    /// Where they ask each other for help, then.
    pub(crate) assists: Option<Assists>,
    /// A latch for each rank's part.
    pub(crate) latches: Latches,
    pub(crate) memory: Option<Memory>,
    pub(crate) attachment: Option<Attachment>,
}

/// Where something in a window is, whether that is the memory of another process, and what orders changes of it.
pub(crate) struct Place {
    pub(crate) at: Address,
    pub(crate) is_far: bool,
    pub(crate) latch: Latch,
}

/// See the module.
pub(crate) struct Window {
    pub(crate) comm: Rc<Communicator>,
    pub(crate) all: Everything,
    pub(crate) made: Made,
    pub(crate) name: RefCell<String>,
    pub(crate) attributes: Attributes,
    pub(crate) handler: Cell<Handle>,
    pub(crate) hints: RefCell<Vec<(String, String)>>,
    pub(crate) access: RefCell<Access>,
    /// Ranks that an exposure is open to.
    pub(crate) exposed: RefCell<Option<Vec<u32>>>,
    /// Memory that was attached to a dynamic one.
    pub(crate) attached: RefCell<Vec<(usize, u64)>>,
    pub(crate) service: RefCell<Service>,
    /// Its service is at work.
    pub(crate) serves: Cell<bool>,
    /// Asks on their way, with their data.
    sent: RefCell<Vec<(Request, Staged)>>,
    /// Ranks that were asked for something since their last flush.
    touched: RefCell<BTreeSet<u32>>,
    /// Answers with data that are due.
    due: Rc<Cell<usize>>,
    /// One of them, which no request reports, was beyond the window.
    missed: Rc<Cell<bool>>,
    answers: Cell<u32>,
}

/// The parts of a window.
pub(crate) struct Made {
    pub(crate) base: Address,
    pub(crate) facts: Facts,
    /// Bytes and unit of displacements of every rank.
    pub(crate) peers: Vec<(i64, i64)>,
    pub(crate) shared: Option<Shared>,
    /// The library's own memory.
    pub(crate) owned: bool,
}

/// Where at a rank: blocks by first byte, from the window's start or absolute, and length.
pub(crate) struct Aim {
    pub(crate) to: u32,
    pub(crate) blocks: Blocks,
}

/// Blocks by first byte and length. One alone takes no memory of its own.
#[derive(Clone, Debug)]
pub(crate) enum Blocks {
    One((i64, u64)),
    Many(Vec<(i64, u64)>),
}

impl std::ops::Deref for Blocks {
    type Target = [(i64, u64)];
    fn deref(&self) -> &[(i64, u64)] {
        match self {
            Blocks::One(block) => std::slice::from_ref(block),
            Blocks::Many(blocks) => blocks,
        }
    }
}

impl Window {
    pub(crate) fn new(comm: Rc<Communicator>, all: Everything, made: Made) -> Window {
        Window {
            comm,
            all,
            made,
            name: RefCell::default(),
            attributes: Attributes::default(),
            handler: Cell::new(c::MPI_ERRORS_ARE_FATAL),
            hints: RefCell::default(),
            access: RefCell::default(),
            exposed: RefCell::default(),
            attached: RefCell::default(),
            service: RefCell::default(),
            serves: Cell::new(false),
            sent: RefCell::default(),
            touched: RefCell::default(),
            due: Rc::default(),
            missed: Rc::default(),
            answers: Cell::new(0),
        }
    }
    /// The latch for this rank's access to another's part, if they share memory.
    fn latch(&self, of: u32) -> Option<Latch> {
        self.made.shared.as_ref().map(|shared| shared.latches.of(of))
    }
    /// Whether this rank reaches another's part by itself.
    fn reaches(&self, to: u32) -> bool {
        to == self.comm.rank || self.made.shared.is_some()
    }
    /// The process of a rank's part, if the part is not mapped here.
    #[inline(always)]
    pub(crate) fn neighbor(&self, of: u32) -> Option<&Neighbor> {
        self.made.shared.as_ref()?.neighbors.get(of as usize).filter(|_| of != self.comm.rank)
    }
    /// The place of `bytes` in a rank's part, where ranks share the window's memory or reach each other's. `None`: a
    /// mistake, or it takes another route.
    #[inline(always)]
    pub(crate) fn row(&self, rank: c_int, locked: bool, disp: i64, bytes: i64) -> Option<Place> {
        let shared = self.made.shared.as_ref().filter(|_| !self.is_dynamic())?;
        let &(base, size, unit) = shared.parts.get(rank as usize)?;
        let at = disp.checked_mul(unit).filter(|&at| at >= 0 && at.saturating_add(bytes) <= size)?;
        let rank = rank as u32;
        // Nothing here may be a function that is called: its result would be copied, for half of a short call's time.
        if !self.may_reach(rank, locked) {
            return None;
        }
        Some(Place { at: base.plus(at), is_far: self.neighbor(rank).is_some(), latch: shared.latches.of(rank) })
    }
    /// Moves a buffer to one block of a part that this rank reaches, or from there, if no packing is needed; whether it did.
    pub(crate) fn moves(&self, aim: &Aim, buffer: &Buffer, out: bool) -> bool {
        let (Some(shared), &[(at, _)]) = (&self.made.shared, &aim.blocks[..]) else { return false };
        let there = shared.parts[aim.to as usize].0.plus(at);
        match (self.neighbor(aim.to), buffer.row()) {
            (None, _) if out => buffer.store(there),
            (None, _) => buffer.load(there),
            (Some(of), Some(row)) => return memory::moves(of, row, there, buffer.bytes(), out),
            _ => return false,
        }
        true
    }
    pub(crate) fn is_dynamic(&self) -> bool {
        self.made.facts.flavor == c::MPI_WIN_FLAVOR_DYNAMIC
    }
    /// A tag for an answer.
    fn answer(&self) -> u32 {
        let next = self.answers.get();
        self.answers.set((next + 1) % (1 << 30));
        ANSWERS + next
    }
    /// Sends an ask.
    fn ask(&self, to: u32, ask: &Ask) -> Done {
        let staged = ask.written(&self.all);
        let request = self.comm.view.isend(to, ASKS, staged.span)?;
        let mut sent = self.sent.borrow_mut();
        // Those that are over go before the list grows long. Where none is, it must double first: each look is at all.
        if sent.len() >= 64 && sent.len().is_power_of_two() {
            let over = sent.extract_if(.., |(request, _)| self.comm.view.is_ended(request)).collect::<Vec<_>>();
            over.into_iter().for_each(|(request, _)| drop(self.comm.view.test(request)));
        }
        sent.push((request, staged));
        Ok(())
    }
    /// Has something done that has no answer: put, accumulate, complete.
    pub(crate) fn tell(&self, to: u32, ask: Ask) -> Done {
        if self.reaches(to) && ask.kind != Kind::Complete {
            self.service.borrow_mut().failed |= self.perform(to, &ask).is_none();
            return Ok(());
        }
        self.touched.borrow_mut().insert(to);
        self.ask(to, &ask)
    }
    /// Asks for work whose answer goes to `into`. `told`: a request reports its end, about this window; otherwise the
    /// next flush does.
    pub(crate) fn fetch(&self, p: &Process, to: u32, ask: Ask, into: &Buffer, told: Option<Handle>) -> Done<Work> {
        if self.reaches(to) {
            into.fill(&self.perform(to, &ask).ok_or_else(beyond)?);
            return Ok(Work::Over(Ended::well(Status::EMPTY)));
        }
        if self.due.get() >= ANSWERS_DUE {
            p.world()?.until(|| (self.due.get() == 0).then_some(()));
        }
        let (tag, room) = (self.answer(), into.target(false));
        let request = self.comm.view.irecv_quietly(Some(to), Some(tag), room.span)?;
        self.ask(to, &Ask { answer: tag, ..ask })?;
        let (view, due, missed) = (self.comm.view.clone(), self.due.clone(), self.missed.clone());
        due.set(due.get() + 1);
        p.task(async move {
            // Of many such tasks each only checks whether its answer is here. Progress is made apart from them, once
            // for all.
            while !view.is_ended(&request) {
                yield_once().await;
            }
            let came = view.wait(request).await;
            due.set(due.get() - 1);
            let bytes = came?.bytes;
            if bytes < room.span.bytes() {
                if let Some(window) = told {
                    return Err(beyond().about(Of::Win(window)));
                }
                missed.set(true);
                return Err(beyond());
            }
            room.settle(bytes);
            Ok(Status::EMPTY)
        })
    }
    /// Asks for something whose answer is one word.
    pub(crate) async fn told(&self, to: u32, kind: Kind, how: u64) -> Done<u64> {
        let (tag, room) = (self.answer(), Staged::room(&self.all, 8));
        let request = self.comm.view.irecv_quietly(Some(to), Some(tag), room.span)?;
        self.ask(to, &Ask { answer: tag, how, ..Ask::of(kind) })?;
        self.comm.view.wait(request).await?;
        Ok(room.own().try_into().map_or(0, u64::from_ne_bytes))
    }
    /// Asks for a lock. Later asks wait for it there; a rank that reaches the memory by itself waits for it here.
    pub(crate) async fn lock(&self, to: u32, how: c_int) -> Done {
        if let Some(latch) = self.latch(to) {
            let mut wish = latch.wants(how == c::MPI_LOCK_EXCLUSIVE);
            while !wish.is_granted() {
                self.comm.view.progress();
                self.comm.view.rest_briefly();
                yield_once().await;
            }
            return Ok(());
        }
        if to == self.comm.rank {
            return self.told(to, Kind::Lock, how as u64).await.map(|_| ());
        }
        self.ask(to, &Ask { answer: UNHEARD, how: how as u64, ..Ask::of(Kind::Lock) })
    }
    /// Waits until this rank's buffers are its own again, and what it fetched is here.
    pub(crate) async fn settle(&self) -> Done {
        let mut vain = false;
        while self.due.get() > 0 {
            self.comm.view.step_aside(&mut vain).await;
        }
        loop {
            let Some((request, staged)) = self.sent.borrow_mut().pop() else { return Ok(()) };
            self.comm.view.wait(request).await?;
            drop(staged);
        }
    }
    /// This rank's earlier stores to shared memory are there before its next action. Returns whether it asked nothing
    /// else of others, so that there is no need to wait.
    pub(crate) fn is_flushed(&self) -> bool {
        if self.made.shared.is_some() {
            hotlink_real::full_fence();
            hotlink_real::looked();
        }
        self.due.get() == 0
            && self.sent.borrow().is_empty()
            && self.touched.borrow().is_empty()
            && !self.service.borrow().failed
            && !self.missed.get()
    }
    /// Waits until all that was asked of these ranks is done there.
    pub(crate) async fn flush(&self, only: Option<u32>) -> Done {
        if self.is_flushed() {
            return Ok(());
        }
        self.settle().await?;
        let touched: Vec<u32> = match only {
            Some(rank) => self.touched.borrow_mut().take(&rank).into_iter().collect(),
            None => std::mem::take(&mut *self.touched.borrow_mut()).into_iter().collect(),
        };
        let mut failed = false;
        for to in touched {
            failed |= self.told(to, Kind::Flush, 0).await? != 0;
        }
        failed |= std::mem::take(&mut self.service.borrow_mut().failed) | self.missed.take();
        if failed { Err(beyond()) } else { Ok(()) }
    }
    /// Gives a lock back, when all that was asked under it is done.
    pub(crate) async fn release(&self, to: u32) -> Done {
        self.settle().await?;
        self.touched.borrow_mut().remove(&to);
        let by_itself = self.latch(to).map(|latch| latch.gives_back()).is_some();
        let mut failed = !by_itself && self.told(to, Kind::Unlock, 0).await? != 0;
        failed |= std::mem::take(&mut self.service.borrow_mut().failed) | self.missed.take();
        if failed { Err(beyond()) } else { Ok(()) }
    }
    /// Whether a rank may be reached now; `locked`: by a lock alone.
    pub(crate) fn may_reach(&self, rank: u32, locked: bool) -> bool {
        let access = self.access.borrow();
        let group = || access.group.as_ref().is_some_and(|group| group.contains(&rank));
        access.all || access.locks.contains_key(&rank) || !locked && (access.fence || group())
    }

    /// Where blocks of a rank's part are in this process; `None`: not in the window.
    fn places(&self, of: u32, blocks: &[(i64, u64)]) -> Option<Vec<(Address, u64)>> {
        let attached = self.attached.borrow();
        let own = (self.made.base, self.made.facts.size, 0);
        let (base, size, _) = self.made.shared.as_ref().map_or(own, |shared| shared.parts[of as usize]);
        let place = |&(at, bytes): &(i64, u64)| {
            if !self.is_dynamic() {
                let inside = at >= 0 && (at as u64).checked_add(bytes)? <= size as u64;
                return inside.then(|| (base.plus(at), bytes));
            }
            let (at, end) = (at as usize, at as usize + bytes as usize);
            // Parts that follow each other are one.
            let mut reached = at;
            while reached < end {
                let part = attached.iter().find(|part| (part.0..part.0 + part.1 as usize).contains(&reached))?;
                reached = part.0 + part.1 as usize;
            }
            Some((Address(at), bytes))
        };
        blocks.iter().map(place).collect()
    }
    /// Does what is asked of a rank's memory that this one reaches, at once; what was there before. `None`: it is not in the
    /// window.
    pub(crate) fn perform(&self, of: u32, ask: &Ask) -> Option<Vec<u8>> {
        match self.latch(of).filter(|_| matches!(ask.kind, Kind::Accumulate | Kind::Fetch | Kind::Swap)) {
            Some(latch) => latch.alone(|| self.performed(of, ask)),
            None => self.performed(of, ask),
        }
    }
    fn performed(&self, of: u32, ask: &Ask) -> Option<Vec<u8>> {
        let places = self.places(of, &ask.blocks)?;
        let neighbor = self.neighbor(of);
        let read = || {
            let mut data = vec![0; places.iter().map(|&(_, bytes)| bytes as usize).sum()];
            let mut rest = &mut data[..];
            for &(at, bytes) in &places {
                memory::look_at(neighbor, at, rest.split_off_mut(..bytes as usize)?)?;
            }
            Some(data)
        };
        let write = |data: &[u8]| {
            let mut from = data;
            for &(at, bytes) in &places {
                let room = from.len().min(bytes as usize);
                memory::write_at(neighbor, at, from.split_off(..room)?)?;
            }
            Some(())
        };
        match ask.kind {
            Kind::Put => write(&ask.data).map(|()| Vec::new()),
            Kind::Get => read(),
            Kind::Swap => {
                let old = read()?;
                let (new, compare) = ask.data.split_at(ask.data.len() / 2);
                if old == compare {
                    write(new)?;
                }
                Some(old)
            }
            Kind::Accumulate | Kind::Fetch => {
                let (builtin, element) = ask.operator()?;
                if let (Kind::Accumulate, None, &[(at, bytes)]) = (ask.kind, neighbor, &places[..]) {
                    let room = ask.data.len().min(bytes as usize);
                    let from = Address::of(ask.data.as_ptr());
                    memory::alter(at, from, room, |now, data| builtin.combine(&element, now, data));
                    return Some(Vec::new());
                }
                let mut new = read()?;
                let old = if ask.kind == Kind::Fetch { new.clone() } else { Vec::new() };
                if builtin != Builtin::Nothing {
                    let room = new.len().min(ask.data.len());
                    builtin.combine(&element, &mut new[..room], &ask.data[..room]);
                    write(&new)?;
                }
                Some(old)
            }
            Kind::Flush | Kind::Lock | Kind::Unlock | Kind::Complete => None,
        }
    }
}

impl Process {
    pub(crate) fn window(&self, handle: Handle) -> Done<Rc<Window>> {
        self.world()?;
        self.windows.get(handle).ok_or_else(|| unknown(c::MPI_ERR_WIN, "window", handle))
    }
}

impl World {
    /// Makes some progress for others; whether there was any.
    pub(crate) fn tend(&self) -> bool {
        let any = self.comm.progress();
        self.step_tasks();
        any
    }
}

/// Where a dynamic window has no memory.
fn beyond() -> Box<Failure> {
    failure(c::MPI_ERR_RMA_RANGE, "no memory is attached there")
}

/// Blocks of `count` elements, `from` bytes behind the start, joined where they touch.
pub(crate) fn blocks(from: i64, count: u64, datatype: &Datatype) -> Blocks {
    let mut all: Vec<(i64, u64)> = Vec::new();
    if let Some(run) = datatype.regular(count).filter(|run| run.count == 1 && run.bytes > 0) {
        return Blocks::One((from + run.at, run.bytes));
    }
    memory::each_block(Address(0).plus(from), count, datatype, |at, _, bytes| {
        let at = at.0 as i64;
        match all.last_mut() {
            Some(last) if last.0 + last.1 as i64 == at => last.1 += bytes,
            _ => all.push((at, bytes)),
        }
        true
    });
    Blocks::Many(all)
}
