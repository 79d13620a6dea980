//! [`MpiEndpoint`]: a rank of a foreign MPI as an endpoint.
//!
//! Alone, a rank waits in MPI's blocking calls, as programs do. With something else to do ([`MpiEndpoint::poll`]) it
//! uses the non-blocking ones and tests, yielding in between.
#![allow(unsafe_code)]

use super::api::{ANY_SOURCE, ANY_TAG, Api, Buffer, Handle};
use crate::clock::Clock;
use crate::store::Store;
use hotlink_fabric::units::Time;
use hotlink_message::{Combine, Element, Endpoint, Error, Operation, Tag, exchange_one_by_one};
use hotlink_port::{
    Align, Kind, Layout, Limits, Memory, Rank, Refusal, RegistrationLimits, Share, Span, Work, yield_once,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::rc::Rc;

/// One rank of a foreign MPI.
pub struct MpiEndpoint {
    api: Api,
    rank: Rank,
    ranks: u32,
    limits: Limits,
    clock: Clock,
    store: RefCell<Store>,
    /// Memory of MPI_Alloc_mem, by name.
    given: RefCell<HashMap<u64, usize>>,
    /// Committed vector datatypes.
    vectors: RefCell<HashMap<(u64, u64, u64), Handle>>,
    /// Parts of the last exchange, sent and received, as MPI takes them: programs that repeat one make its arrays once.
    tables: RefCell<[Rc<Table>; 2]>,
    /// Room for the requests of a window.
    requests: RefCell<Vec<Handle>>,
    polling: Cell<bool>,
    /// Whether MPI's clock is read next to each blocking collective, and what it said of the last.
    timing: Cell<bool>,
    took: Cell<Option<Time>>,
}

/// Spans of one memory as counts and offsets in bytes.
#[derive(Default)]
struct Table {
    spans: Vec<Span>,
    counts: Vec<c_int>,
    offsets: Vec<c_int>,
    /// Where the last of them ends.
    end: u64,
}

impl Table {
    fn of(spans: &[Span]) -> Result<Table, Error> {
        let later = |end: u64, span: &Span| Some(end.max(span.offset.checked_add(span.bytes())?));
        Ok(Table {
            end: spans.iter().try_fold(0, later).ok_or(Refusal::OutOfBounds)?,
            counts: spans.iter().map(|span| count(span.bytes())).collect::<Result<_, _>>()?,
            offsets: spans.iter().map(|span| count(span.offset)).collect::<Result<_, _>>()?,
            spans: spans.to_vec(),
        })
    }
}

/// A window with all ranks locked.
#[derive(Debug)]
pub struct MpiWindow {
    window: Handle,
    memory: Memory,
    created: bool,
}

/// A communication under way.
#[derive(Debug)]
pub struct MpiRequest(Handle);

type Counted = (Buffer, c_int, Handle);

fn check(class: c_int) -> Result<(), Error> {
    // Errors are fatal to the job by MPI's default. Here a library that returns all the same is recognised.
    if class == 0 { Ok(()) } else { Err(Refusal::Forbidden.into()) }
}

fn count(bytes: u64) -> Result<c_int, Error> {
    c_int::try_from(bytes).map_err(|_| Refusal::TooLong(c_int::MAX as u64).into())
}

impl MpiEndpoint {
    pub(super) fn new(api: Api, name: &str) -> Result<MpiEndpoint, Error> {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: MPI is initialised; both are places for an int.
        unsafe {
            check((api.comm_rank)(api.constants.world, &mut rank))?;
            check((api.comm_size)(api.constants.world, &mut ranks))?;
        }
        Ok(MpiEndpoint {
            rank: rank as Rank,
            ranks: ranks as u32,
            limits: limits(name),
            clock: Clock::start(),
            store: RefCell::new(Store::new(None)),
            given: RefCell::default(),
            vectors: RefCell::default(),
            tables: RefCell::default(),
            requests: RefCell::default(),
            polling: Cell::new(false),
            timing: Cell::new(false),
            took: Cell::new(None),
            api,
        })
    }
    /// From now on wait by testing and yielding (`true`), or in MPI's own blocking calls.
    pub fn poll(&self, polling: bool) {
        self.polling.set(polling);
    }
    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    #[inline]
    fn start(&self, span: Span) -> Result<Buffer, Error> {
        if span.bytes() == 0 {
            return Ok(null_mut());
        }
        Ok(self.store.borrow().address(span)?.cast())
    }
    /// Address, count and datatype. Words of eight bytes where a layout is made of them, as programs declare it.
    #[inline]
    fn described(&self, span: Span) -> Result<Counted, Error> {
        let (count, datatype) = self.laid_out(span.layout)?;
        Ok((self.start(span)?, count, datatype))
    }
    #[inline]
    fn laid_out(&self, layout: Layout) -> Result<(c_int, Handle), Error> {
        let words = [layout.block, layout.stride, layout.bytes()].iter().all(|bytes| bytes % 8 == 0);
        let (unit, base) = if words { (8, self.api.constants.double) } else { (1, self.api.constants.byte) };
        if layout.is_contiguous() {
            return Ok((count(layout.bytes() / unit)?, base));
        }
        Ok((1, self.vector(layout, unit, base)?))
    }
    fn vector(&self, layout: Layout, unit: u64, base: Handle) -> Result<Handle, Error> {
        let Layout { block, count: blocks, stride } = layout;
        if let Some(&known) = self.vectors.borrow().get(&(block, blocks, stride)) {
            return Ok(known);
        }
        let (n, len, step) = (count(blocks)?, count(block / unit)?, count(stride / unit)?);
        let mut made = 0;
        // SAFETY: a place for a handle; committed before use.
        unsafe {
            check((self.api.type_vector)(n, len, step, base, &mut made))?;
            check((self.api.type_commit)(&mut made))?;
        }
        self.vectors.borrow_mut().insert((block, blocks, stride), made);
        Ok(made)
    }
    pub(super) fn forget_types(&self) {
        for (_, mut datatype) in self.vectors.borrow_mut().drain() {
            // SAFETY: committed here, and used by no communication any more.
            unsafe { (self.api.type_free)(&mut datatype) };
        }
    }
    /// A contiguous span as bytes.
    #[inline]
    fn bytes(&self, span: Span) -> Result<(Buffer, c_int), Error> {
        if !span.layout.is_contiguous() {
            return Err(Refusal::Unsupported.into());
        }
        Ok((self.start(span)?, count(span.bytes())?))
    }
    /// A rank's part of a span that has one for each.
    fn share(&self, span: Span) -> Result<(Buffer, c_int), Error> {
        if !span.bytes().is_multiple_of(self.ranks.into()) {
            return Err(Refusal::OutOfBounds.into());
        }
        let (start, bytes) = self.bytes(span)?;
        Ok((start, bytes / self.ranks as c_int))
    }
    fn operation(&self, operation: Operation, span: Span) -> Result<(c_int, Handle, Handle), Error> {
        let constants = &self.api.constants;
        let (bytes, datatype) = match operation.element {
            Element::F64 => (8, constants.double),
            Element::F32 => (4, constants.float),
            Element::I64 => (8, constants.int64),
            Element::I32 => (4, constants.int32),
        };
        let combine = match operation.combine {
            Combine::Sum => constants.sum,
            Combine::Min => constants.min,
            Combine::Max => constants.max,
            Combine::Product => constants.product,
        };
        Ok((count(span.bytes() / bytes)?, datatype, combine))
    }
    /// The table of `spans`, sent (0) or received (1), and the memory that they share.
    fn lay_out(&self, side: usize, spans: &[Span]) -> Result<(Buffer, Rc<Table>), Error> {
        let memory = spans.first().map(|span| span.memory).ok_or(Refusal::OutOfBounds)?;
        let mut table = Rc::clone(&self.tables.borrow()[side]);
        if table.spans != spans {
            let fits = |span: &Span| span.memory == memory && span.layout.is_contiguous();
            if spans.len() != self.ranks as usize || !spans.iter().all(fits) {
                return Err(Refusal::OutOfBounds.into());
            }
            table = Rc::new(Table::of(spans)?);
            self.tables.borrow_mut()[side] = Rc::clone(&table);
        }
        // That the last end lies inside is so for all.
        Ok((self.store.borrow().row(memory, 0, table.end)?.cast(), table))
    }
    /// A blocking call, or a non-blocking one that is tested until it is over.
    #[inline]
    async fn either(
        &self,
        blocking: impl FnOnce(&Api) -> c_int,
        started: impl FnOnce(&Api, &mut Handle) -> c_int,
    ) -> Result<(), Error> {
        if !self.polling.get() {
            if !self.timing.get() {
                return check(blocking(&self.api));
            }
            // MPI's own clock, as the OSU benchmarks read it: it costs other than this machine's.
            // SAFETY: takes nothing.
            let start = unsafe { (self.api.wtime)() };
            let class = blocking(&self.api);
            // SAFETY: as above.
            let seconds = unsafe { (self.api.wtime)() } - start;
            self.took.set(Some(Time::from_us(seconds.max(0.0) * 1e6)));
            return check(class);
        }
        self.took.set(None);
        let mut request = 0;
        check(started(&self.api, &mut request))?;
        self.finish(request).await
    }
    async fn finish(&self, mut request: Handle) -> Result<(), Error> {
        loop {
            let mut done = 0;
            // SAFETY: a request under way, whose buffers the program keeps until it is over.
            check(unsafe { (self.api.test)(&mut request, &mut done, null_mut()) })?;
            if done != 0 {
                return Ok(());
            }
            yield_once().await;
        }
    }
}

// SAFETY of all calls below: MPI is initialised. Buffers are spans checked to lie inside memory of this rank's store,
// which lives until it is freed. The program must keep MPI's rule not to touch a buffer in use; breaking it corrupts
// the program's data only.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all calls of MPI, stated above")]
impl Endpoint for MpiEndpoint {
    type Request = MpiRequest;
    type Window = MpiWindow;

    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.ranks
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    #[inline]
    fn now(&self) -> Time {
        self.clock.now()
    }
    /// Private memory is the program's own; other memory is MPI's (MPI_Alloc_mem).
    fn alloc(&self, bytes: u64, kind: Kind) -> Result<Memory, Error> {
        match kind {
            Kind::Ghost => return Err(Refusal::Unsupported.into()),
            Kind::Private => return Ok(self.store.borrow_mut().alloc(bytes, kind, Align::Default)?),
            Kind::Default | Kind::Shared => {}
        }
        let size = isize::try_from(bytes.max(1)).map_err(|_| Refusal::NoMemory)?;
        let mut start: Buffer = null_mut();
        // SAFETY: a place for a pointer, which then has `size` bytes.
        unsafe {
            check((self.api.alloc_mem)(size, self.api.constants.no_info, &mut start))?;
            std::ptr::write_bytes(start.cast::<u8>(), 0, size as usize);
            let memory = self.store.borrow_mut().adopt(start.cast(), bytes);
            self.given.borrow_mut().insert(memory.0, start as usize);
            Ok(memory)
        }
    }
    fn free(&self, memory: Memory) -> Result<(), Error> {
        self.store.borrow_mut().free(memory)?;
        if let Some(start) = self.given.borrow_mut().remove(&memory.0) {
            // SAFETY: from MPI_Alloc_mem, and its name is gone.
            check(unsafe { (self.api.free_mem)(start as Buffer) })?;
        }
        Ok(())
    }
    fn write(&self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Error> {
        Ok(self.store.borrow_mut().write(memory, offset, from)?)
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        Ok(self.store.borrow().read(memory, offset, into)?)
    }
    fn copy(&self, from: Span, to: Span) -> Result<(), Error> {
        Ok(self.store.borrow_mut().copy(from, to)?)
    }
    fn compute(&self, work: Work) {
        self.store.borrow_mut().compute(work, &self.clock);
    }

    fn isend(&self, to: Rank, tag: Tag, span: Span) -> Result<MpiRequest, Error> {
        let (buffer, n, datatype) = self.described(span)?;
        let mut request = 0;
        let world = self.api.constants.world;
        check(unsafe { (self.api.isend)(buffer, n, datatype, to as c_int, tag as c_int, world, &mut request) })?;
        Ok(MpiRequest(request))
    }
    fn irecv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<MpiRequest, Error> {
        let (buffer, n, datatype) = self.described(span)?;
        let (from, tag) = (from.map_or(ANY_SOURCE, |from| from as c_int), tag.map_or(ANY_TAG, |tag| tag as c_int));
        let mut request = 0;
        let world = self.api.constants.world;
        check(unsafe { (self.api.irecv)(buffer, n, datatype, from, tag, world, &mut request) })?;
        Ok(MpiRequest(request))
    }
    async fn wait(&self, request: MpiRequest) -> Result<(), Error> {
        if self.polling.get() {
            return self.finish(request.0).await;
        }
        let mut request = request.0;
        check(unsafe { (self.api.wait)(&mut request, null_mut()) })
    }
    async fn wait_all(&self, requests: Vec<MpiRequest>) -> Result<(), Error> {
        if self.polling.get() {
            let mut result = Ok(());
            for request in requests {
                result = result.and(self.finish(request.0).await);
            }
            return result;
        }
        if requests.is_empty() {
            return Ok(());
        }
        let mut handles: Vec<Handle> = requests.into_iter().map(|request| request.0).collect();
        let n = count(handles.len() as u64)?;
        check(unsafe { (self.api.waitall)(n, handles.as_mut_ptr(), null_mut()) })
    }
    /// One call of ours, and one of the adapter where there is one: a loop of MPI's calls, as programs write it.
    async fn exchange(
        &self,
        peer: Rank,
        tag: Tag,
        (into, receives): (Span, u64),
        (out, sends): (Span, u64),
    ) -> Result<(), Error> {
        if self.polling.get() {
            return exchange_one_by_one(self, peer, tag, (into, receives), (out, sends)).await;
        }
        let ((d, dn, dt), (s, sn, st)) = (self.described(into)?, self.described(out)?);
        let (receives, sends) = (count(receives)?, count(sends)?);
        let (peer, tag, w) = (peer as c_int, tag as c_int, self.api.constants.world);
        let mut requests = self.requests.borrow_mut();
        requests.resize((receives + sends) as usize, 0);
        if let Some(exchange) = self.api.exchange {
            let room = requests.as_mut_ptr();
            return check(unsafe { exchange(d, dn, dt, receives, s, sn, st, sends, peer, tag, w, room) });
        }
        let (receiving, sending) = requests.split_at_mut(receives as usize);
        for request in receiving {
            check(unsafe { (self.api.irecv)(d, dn, dt, peer, tag, w, request) })?;
        }
        for request in sending {
            check(unsafe { (self.api.isend)(s, sn, st, peer, tag, w, request) })?;
        }
        check(unsafe { (self.api.waitall)(receives + sends, requests.as_mut_ptr(), null_mut()) })
    }
    #[inline]
    async fn send(&self, to: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        if self.polling.get() {
            return self.wait(self.isend(to, tag, span)?).await;
        }
        let (buffer, n, datatype) = self.described(span)?;
        let world = self.api.constants.world;
        check(unsafe { (self.api.send)(buffer, n, datatype, to as c_int, tag as c_int, world) })
    }
    #[inline]
    async fn recv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<(), Error> {
        if self.polling.get() {
            return self.wait(self.irecv(from, tag, span)?).await;
        }
        let (buffer, n, datatype) = self.described(span)?;
        let (from, tag) = (from.map_or(ANY_SOURCE, |from| from as c_int), tag.map_or(ANY_TAG, |tag| tag as c_int));
        check(unsafe { (self.api.recv)(buffer, n, datatype, from, tag, self.api.constants.world, null_mut()) })
    }

    #[inline]
    fn time_calls(&self, on: bool) {
        self.timing.set(on);
        self.took.set(None);
    }
    fn took(&self) -> Option<Time> {
        self.took.get()
    }
    async fn barrier(&self) -> Result<(), Error> {
        let w = self.api.constants.world;
        self.either(|api| unsafe { (api.barrier)(w) }, |api, r| unsafe { (api.ibarrier)(w, r) }).await
    }
    async fn latest(&self, mine: Time) -> Result<Time, Error> {
        let (from, to) = (self.alloc(8, Kind::Private)?, self.alloc(8, Kind::Private)?);
        self.write(from, 0, &mine.0.to_le_bytes())?;
        let max = Operation { combine: Combine::Max, element: Element::I64 };
        self.allreduce(max, Span::new(from, 0, 8), Span::new(to, 0, 8)).await?;
        let mut bytes = [0; 8];
        self.read(to, 0, &mut bytes)?;
        self.free(from)?;
        self.free(to)?;
        Ok(Time(u64::from_le_bytes(bytes)))
    }
    #[inline]
    async fn bcast(&self, root: Rank, span: Span) -> Result<(), Error> {
        let ((b, n), t, w, root) =
            (self.bytes(span)?, self.api.constants.byte, self.api.constants.world, root as c_int);
        let blocking = |api: &Api| unsafe { (api.bcast)(b, n, t, root, w) };
        self.either(blocking, |api, r| unsafe { (api.ibcast)(b, n, t, root, w, r) }).await
    }
    #[inline]
    async fn reduce(&self, root: Rank, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        let ((s, _), (d, _), w) = (self.bytes(send)?, self.bytes(recv)?, self.api.constants.world);
        let ((n, t, op), root) = (self.operation(operation, send)?, root as c_int);
        let blocking = |api: &Api| unsafe { (api.reduce)(s, d, n, t, op, root, w) };
        self.either(blocking, |api, r| unsafe { (api.ireduce)(s, d, n, t, op, root, w, r) }).await
    }
    #[inline]
    async fn allreduce(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        let ((s, _), (d, _), w) = (self.bytes(send)?, self.bytes(recv)?, self.api.constants.world);
        let (n, t, op) = self.operation(operation, send)?;
        let blocking = |api: &Api| unsafe { (api.allreduce)(s, d, n, t, op, w) };
        self.either(blocking, |api, r| unsafe { (api.iallreduce)(s, d, n, t, op, w, r) }).await
    }
    async fn reduce_scatter(&self, operation: Operation, send: Span, recv: Span) -> Result<(), Error> {
        Share::Parts.check(operation, self.rank, self.ranks, &send, &recv)?;
        let ((s, _), (d, _), w) = (self.bytes(send)?, self.bytes(recv)?, self.api.constants.world);
        let (n, t, op) = self.operation(operation, recv)?;
        let blocking = |api: &Api| unsafe { (api.reduce_scatter)(s, d, n, t, op, w) };
        self.either(blocking, |api, r| unsafe { (api.ireduce_scatter)(s, d, n, t, op, w, r) }).await
    }
    async fn gather(&self, root: Rank, send: Span, recv: Span) -> Result<(), Error> {
        let (t, w) = (self.api.constants.byte, self.api.constants.world);
        let ((s, n), (d, _), root) = (self.bytes(send)?, self.share(recv)?, root as c_int);
        let blocking = |api: &Api| unsafe { (api.gather)(s, n, t, d, n, t, root, w) };
        self.either(blocking, |api, r| unsafe { (api.igather)(s, n, t, d, n, t, root, w, r) }).await
    }
    async fn scatter(&self, root: Rank, send: Span, recv: Span) -> Result<(), Error> {
        let (t, w) = (self.api.constants.byte, self.api.constants.world);
        let ((s, _), (d, n), root) = (self.share(send)?, self.bytes(recv)?, root as c_int);
        let blocking = |api: &Api| unsafe { (api.scatter)(s, n, t, d, n, t, root, w) };
        self.either(blocking, |api, r| unsafe { (api.iscatter)(s, n, t, d, n, t, root, w, r) }).await
    }
    async fn allgather(&self, send: Span, recv: Span) -> Result<(), Error> {
        let (t, w) = (self.api.constants.byte, self.api.constants.world);
        let ((s, n), (d, _)) = (self.bytes(send)?, self.share(recv)?);
        let blocking = |api: &Api| unsafe { (api.allgather)(s, n, t, d, n, t, w) };
        self.either(blocking, |api, r| unsafe { (api.iallgather)(s, n, t, d, n, t, w, r) }).await
    }
    #[inline]
    async fn alltoall(&self, send: Span, recv: Span) -> Result<(), Error> {
        let (t, w) = (self.api.constants.byte, self.api.constants.world);
        let ((s, n), (d, _)) = (self.share(send)?, self.share(recv)?);
        let blocking = |api: &Api| unsafe { (api.alltoall)(s, n, t, d, n, t, w) };
        self.either(blocking, |api, r| unsafe { (api.ialltoall)(s, n, t, d, n, t, w, r) }).await
    }
    async fn alltoallv(&self, send: &[Span], recv: &[Span]) -> Result<(), Error> {
        let (t, w) = (self.api.constants.byte, self.api.constants.world);
        // Held while MPI reads them: another exchange at the same time may make its own.
        let ((s, sent), (d, taken)) = (self.lay_out(0, send)?, self.lay_out(1, recv)?);
        let [sn, sd, dn, dd] = [&sent.counts, &sent.offsets, &taken.counts, &taken.offsets].map(|words| words.as_ptr());
        let blocking = |api: &Api| unsafe { (api.alltoallv)(s, sn, sd, t, d, dn, dd, t, w) };
        self.either(blocking, |api, r| unsafe { (api.ialltoallv)(s, sn, sd, t, d, dn, dd, t, w, r) }).await
    }

    fn can_put(&self, _: Kind, _: Layout) -> bool {
        true
    }
    async fn open_window(&self, bytes: u64, kind: Kind) -> Result<MpiWindow, Error> {
        let size = isize::try_from(bytes.max(1)).map_err(|_| Refusal::NoMemory)?;
        let (info, world) = (self.api.constants.no_info, self.api.constants.world);
        let (created, mut window) = (kind == Kind::Private, 0);
        let memory = if created {
            let memory = self.alloc(bytes.max(1), kind)?;
            let start = self.store.borrow().start(memory)?;
            check(unsafe { (self.api.win_create)(start.cast(), size, 1, info, world, &mut window) })?;
            memory
        } else {
            let mut start: Buffer = null_mut();
            check(unsafe { (self.api.win_allocate)(size, 1, info, world, &mut start, &mut window) })?;
            // SAFETY: the window's own memory, named until the window is closed.
            unsafe { self.store.borrow_mut().adopt(start.cast(), bytes) }
        };
        check(unsafe { (self.api.win_lock_all)(0, window) })?;
        Ok(MpiWindow { window, memory, created })
    }
    fn window_memory(&self, window: &MpiWindow) -> Memory {
        window.memory
    }
    fn prepare(&self, _: Memory) -> Result<(), Error> {
        Ok(())
    }
    async fn put(&self, window: &MpiWindow, peer: Rank, from: Span, offset: u64, layout: Layout) -> Result<(), Error> {
        if from.bytes() != layout.bytes() {
            return Err(Refusal::OutOfBounds.into());
        }
        let ((buffer, n, datatype), (m, target)) = (self.described(from)?, self.laid_out(layout)?);
        let (peer, offset) = (peer as c_int, isize::try_from(offset).map_err(|_| Refusal::OutOfBounds)?);
        check(unsafe { (self.api.put)(buffer, n, datatype, peer, offset, m, target, window.window) })?;
        check(unsafe { (self.api.win_flush)(peer, window.window) })
    }
    async fn close_window(&self, window: MpiWindow) -> Result<(), Error> {
        let mut handle = window.window;
        check(unsafe { (self.api.win_unlock_all)(handle) })?;
        check(unsafe { (self.api.win_free)(&mut handle) })?;
        if window.created { self.free(window.memory) } else { Ok(self.store.borrow_mut().free(window.memory)?) }
    }
}

/// The limits of any MPI; costs are unknown and not used.
fn limits(name: &str) -> Limits {
    Limits {
        clock_step: Time::from_ns(1.0),
        control_bytes_max: c_int::MAX as u64,
        segments: true,
        registration: RegistrationLimits {
            private: true,
            zero_copy_min: 0,
            private_zero_copy_min: 0,
            ..RegistrationLimits::NONE
        },
        ..Limits::messages(name)
    }
}
