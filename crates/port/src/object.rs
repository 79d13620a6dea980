//! Ports behind one type. The message stack and each benchmark are generic over ports, and large. They are compiled once
//! for all ports whose calls cost more than a jump through a table.

use crate::{
    Align, Attachment, Engine, Event, Head, Host, Key, Kind, Limits, Memory, Note, Op, Operation, Port, Posted,
    Program, Rank, Refusal, Span, Work,
};
use hotlink_fabric::units::Time;

/// Any port.
pub type AnyPort<'p> = Box<dyn Port + 'p>;

/// `port` as any port.
pub fn any<'p, P: Port + 'p>(port: P) -> AnyPort<'p> {
    Box::new(port)
}

/// A program that gets its ports as [`AnyPort`].
#[derive(Clone, Copy, Debug)]
pub struct OnAny<'a, R>(pub &'a R);

impl<P: Port, T, R: for<'p> Program<AnyPort<'p>, T>> Program<P, T> for OnAny<'_, R> {
    async fn run(&self, port: P) -> T {
        self.0.run(any(port)).await
    }
}

impl<P: Port + ?Sized> Port for Box<P> {
    fn rank(&self) -> Rank {
        (**self).rank()
    }
    fn ranks(&self) -> u32 {
        (**self).ranks()
    }
    fn limits(&self) -> &Limits {
        (**self).limits()
    }
    fn now(&self) -> Time {
        (**self).now()
    }
    fn glance(&self) -> Time {
        (**self).glance()
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        (**self).post(op)
    }
    fn post_row(&mut self, to: Rank, head: Head, memory: Memory, offset: u64, bytes: u64) -> Posted {
        (**self).post_row(to, head, memory, offset, bytes)
    }
    fn poll(&mut self) -> Option<Event> {
        (**self).poll()
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        (**self).deliver(at, to)
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        (**self).peek(at, into)
    }
    fn idle(&mut self, until: Time) {
        (**self).idle(until);
    }
    fn settle(&mut self) {
        (**self).settle();
    }
    fn close(&mut self) {
        (**self).close();
    }
    fn listens(&self) -> bool {
        (**self).listens()
    }
    fn note(&mut self, note: Note) {
        (**self).note(note);
    }
}

impl<P: Host + ?Sized> Host for Box<P> {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        (**self).alloc(bytes, kind, align)
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        (**self).free(memory)
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        (**self).size(memory)
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        (**self).kind(memory)
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        (**self).read(memory, offset, into)
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        (**self).write(memory, offset, from)
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        (**self).copy(from, to)
    }
    fn combine(&mut self, operation: Operation, other: Span, into: Span) -> Result<(), Refusal> {
        (**self).combine(operation, other, into)
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        (**self).register(memory)
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        (**self).unregister(key)
    }
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        (**self).attach(key, engine)
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        (**self).detach(attachment)
    }
    fn compute(&mut self, work: Work) {
        (**self).compute(work);
    }
}
