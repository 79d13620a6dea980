//! A rank's seat: its port for as long as the process wants it, of whichever kind the job needs. Drivers run one program
//! and take the port back; a library whose calls come one at a time keeps a [`Seat`].

use crate::mixed::MixedPort;
use crate::ranks::Doors;
use crate::shm::ShmPort;
use crate::store::Lend;
use crate::sys;
use crate::tcp::TcpPort;
use hotlink_fabric::units::Time;
use hotlink_port::{
    Align, Attachment, Engine, Event, Head, Host, Key, Kind, Limits, Memory, Note, Op, Operation, Port, Posted, Rank,
    Refusal, Span, Work,
};
use hotlink_seats::{Assists, Door, Entry, Waits};
use std::io;
use std::sync::Arc;

/// A port of any real kind. One more `match` a call is what keeping it open costs.
#[allow(clippy::large_enum_variant)]
pub enum Seat {
    /// Ranks of one machine.
    Shm(ShmPort),
    /// Ranks that share nothing but connections.
    Tcp(TcpPort),
    /// Both in one job.
    Mixed(MixedPort),
    /// A simulated fabric, which the launcher runs.
    Fabric(Door),
}

impl Seat {
    /// Whether its fabric is simulated: time is virtual, and the program's memory is named piece by piece.
    pub fn is_simulated(&self) -> bool {
        matches!(self, Seat::Fabric(_))
    }
    /// The first of the ranks with which this one shares memory; `None`: only the simulation knows the ranks of a node.
    pub fn shares_with(&self) -> Option<Rank> {
        match self {
            Seat::Shm(_) => Some(0),
            Seat::Tcp(port) => Some(port.rank()),
            Seat::Mixed(port) => Some(port.host()),
            Seat::Fabric(_) => None,
        }
    }
    /// From now on, or no more, this process does what others ask of it there while it waits in a call.
    pub fn assist(&mut self, on: bool, there: Assists) {
        match self {
            Seat::Shm(port) => port.assist(on, there),
            Seat::Mixed(port) => port.shm_mut().assist(on, there),
            // Those share no memory.
            Seat::Tcp(_) | Seat::Fabric(_) => {}
        }
    }
    /// Everything of this process that goes on has nothing to do: a simulation goes on until that changes. Real time does
    /// so by itself.
    #[inline]
    pub fn suspend(&mut self) {
        if let Seat::Fabric(door) = self {
            door.suspend();
        }
    }
    /// The program looked for something in vain and goes on: on a simulated fabric that takes some time.
    #[inline]
    pub fn pass(&mut self) {
        if let Seat::Fabric(door) = self {
            door.pass();
        }
    }
    /// Lends the door of a simulated fabric to those who have threads take turns there ([`hotlink_seats::Turns`]).
    pub fn lend_door(&mut self, work: &mut dyn FnMut(&mut Door)) {
        if let Seat::Fabric(door) = self {
            work(door);
        }
    }
    /// A thread has nothing to do before `ps` picoseconds of the clock. Returns whether that time is still to come.
    pub fn sleeps_until(&mut self, ps: u64) -> bool {
        self.idle(Time(ps));
        self.now() < Time(ps)
    }
    /// The program enters a collective: a simulation counts how long it takes. Gives the name by which it
    /// [leaves](Seat::leaves).
    pub fn enters(&mut self, entry: &Entry) -> u64 {
        if let Seat::Fabric(door) = self { door.enters(entry) } else { 0 }
    }
    /// It is through with that.
    pub fn leaves(&mut self, token: u64) {
        if let Seat::Fabric(door) = self {
            door.leaves(token);
        }
    }
    /// The program has computed for `ps` picoseconds, which takes that long on a simulated fabric.
    pub fn computes(&mut self, ps: u64) {
        if let Seat::Fabric(door) = self {
            door.compute(Work::Fixed(Time(ps)));
        }
    }
    /// Names a piece of the program's memory; gives the name, and where in it the piece begins.
    ///
    /// # Safety
    /// As for [`Lend::lend`].
    #[allow(unsafe_code)]
    pub unsafe fn name(&mut self, start: *mut u8, bytes: u64) -> (Memory, u64) {
        match self {
            // SAFETY: the caller keeps what the port asks for.
            Seat::Fabric(door) => unsafe { door.piece(start as u64, bytes) },
            // SAFETY: as above.
            seat => (unsafe { Lend::lend(seat, start, bytes) }, 0),
        }
    }
    /// Keeps this thread on a core of its own, if the ranks of this machine are no more than its cores.
    pub fn bind(&self) {
        let cores = sys::allowed_cores();
        if self.ranks() as usize <= cores.len() {
            sys::pin(cores[self.rank() as usize]);
        }
    }
}

/// The shared state of ranks whose ports take seats. All drivers without a port of their own kind are compiled once for
/// these.
pub struct Seated<D>(pub(crate) D);

impl<D: Doors<Port: Into<Seat>>> Doors for Seated<D> {
    type Port = Seat;
    fn open(&self, rank: Rank) -> io::Result<Seat> {
        self.0.open(rank).map(Into::into)
    }
    fn bury(&self, rank: Rank) {
        self.0.bury(rank);
    }
    fn waits(&self) -> Option<Arc<Waits>> {
        self.0.waits()
    }
}

impl From<TcpPort> for Seat {
    fn from(port: TcpPort) -> Seat {
        Seat::Tcp(port)
    }
}

impl From<MixedPort> for Seat {
    fn from(port: MixedPort) -> Seat {
        Seat::Mixed(port)
    }
}

/// Does the same with whichever port it is.
macro_rules! whichever {
    ($seat:expr, $port:ident => $what:expr) => {
        match $seat {
            Seat::Shm($port) => $what,
            Seat::Tcp($port) => $what,
            Seat::Mixed($port) => $what,
            Seat::Fabric($port) => $what,
        }
    };
}

impl Port for Seat {
    fn rank(&self) -> Rank {
        whichever!(self, port => port.rank())
    }
    fn ranks(&self) -> u32 {
        whichever!(self, port => port.ranks())
    }
    #[inline]
    fn limits(&self) -> &Limits {
        whichever!(self, port => port.limits())
    }
    fn now(&self) -> Time {
        whichever!(self, port => port.now())
    }
    fn glance(&self) -> Time {
        whichever!(self, port => port.glance())
    }
    #[inline]
    fn post(&mut self, op: &Op<'_>) -> Posted {
        whichever!(self, port => port.post(op))
    }
    #[inline]
    fn post_row(&mut self, to: Rank, head: Head, memory: Memory, offset: u64, bytes: u64) -> Posted {
        whichever!(self, port => port.post_row(to, head, memory, offset, bytes))
    }
    #[inline]
    fn poll(&mut self) -> Option<Event> {
        whichever!(self, port => port.poll())
    }
    #[inline]
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        whichever!(self, port => port.deliver(at, to))
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        whichever!(self, port => port.peek(at, into))
    }
    #[inline]
    fn idle(&mut self, until: Time) {
        whichever!(self, port => port.idle(until))
    }
    #[inline]
    fn settle(&mut self) {
        whichever!(self, port => port.settle())
    }
    fn close(&mut self) {
        whichever!(self, port => port.close())
    }
    #[inline]
    fn listens(&self) -> bool {
        whichever!(self, port => port.listens())
    }
    #[inline]
    fn note(&mut self, note: Note) {
        whichever!(self, port => port.note(note))
    }
}

impl Host for Seat {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        whichever!(self, port => port.alloc(bytes, kind, align))
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        whichever!(self, port => port.free(memory))
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        whichever!(self, port => port.size(memory))
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        whichever!(self, port => port.kind(memory))
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        whichever!(self, port => port.read(memory, offset, into))
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        whichever!(self, port => port.write(memory, offset, from))
    }
    #[inline]
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        whichever!(self, port => port.copy(from, to))
    }
    fn combine(&mut self, operation: Operation, other: Span, into: Span) -> Result<(), Refusal> {
        whichever!(self, port => port.combine(operation, other, into))
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        whichever!(self, port => port.register(memory))
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        whichever!(self, port => port.unregister(key))
    }
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        whichever!(self, port => port.attach(key, engine))
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        whichever!(self, port => port.detach(attachment))
    }
    fn compute(&mut self, work: Work) {
        whichever!(self, port => port.compute(work))
    }
}

#[allow(unsafe_code)]
impl Lend for Door {
    unsafe fn lend(&mut self, start: *mut u8, bytes: u64) -> Memory {
        // SAFETY: the caller keeps what the port asks for.
        unsafe { self.piece(start as u64, bytes) }.0
    }
    fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        Door::start(self, memory)
    }
}

#[allow(unsafe_code)]
impl Lend for Seat {
    unsafe fn lend(&mut self, start: *mut u8, bytes: u64) -> Memory {
        // SAFETY: the caller keeps what the port asks for.
        whichever!(self, port => unsafe { port.lend(start, bytes) })
    }
    fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        whichever!(self, port => Lend::start(port, memory))
    }
    fn mapped(&self, attachment: Attachment) -> Result<*mut u8, Refusal> {
        whichever!(self, port => Lend::mapped(port, attachment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_alone_is_the_only_rank_and_keeps_its_seat() {
        let mut seat = Seat::take(None).unwrap();
        assert_eq!((seat.rank(), seat.ranks()), (0, 1));
        let memory = seat.alloc(8, Kind::Private, Align::None).unwrap();
        seat.write(memory, 0, &[7; 8]).unwrap();
        let mut seen = [0; 8];
        seat.read(memory, 0, &mut seen).unwrap();
        assert_eq!(seen, [7; 8]);
        assert!(matches!(seat.post(&Op::Barrier { token: 3 }), Posted::Accepted));
        assert_eq!(std::iter::from_fn(|| seat.poll()).next(), Some(Event::Done(3)));
    }
}
