//! A desk: serves one rank's process at the rank's port in the simulation.

use crate::calls::{Calls, Entry};
use crate::remote::Remote;
use crate::steps::Steps;
use crate::talk::{self, Ask, Carried, PREVIEW, Posting, Reader};
use hotlink_fabric::units::Time;
use hotlink_port::blocks::Elsewhere;
use hotlink_port::{Attachment, Event, Kind, Layout, Lodge, Memory, Op, Payload, Posted, Rank, Refusal, Work};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A name that no memory has.
const NONE: Memory = Memory(u64::MAX);

/// What a sentence asks for beyond an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    /// Others have their turn before the answer.
    Suspend,
    /// The process has left its seat.
    End,
}

/// See the module.
pub(crate) struct Desk<P> {
    pub(crate) port: P,
    process: i32,
    /// The process's names of memory.
    names: BTreeMap<u64, Memory>,
    /// Whose memory was imported.
    owners: BTreeMap<Attachment, Rank>,
    /// What moved to and from other ranks' memory and mailboxes.
    pub(crate) traffic: Traffic,
    /// How long the program computed.
    pub(crate) computed: Time,
    /// What all ranks do, if that is kept.
    steps: Option<Rc<RefCell<Steps>>>,
    /// The collectives of all ranks.
    calls: Rc<RefCell<Calls>>,
}

/// Messages and bytes by who sends and who receives.
pub(crate) type Traffic = BTreeMap<(Rank, Rank), (u64, u64)>;

/// The payload of a post as it was read.
enum Paid {
    Nothing,
    Bytes(Vec<u8>),
    Span(hotlink_port::Span),
}

impl Paid {
    fn payload(&self) -> Payload<'_> {
        match self {
            Paid::Nothing => Payload::None,
            Paid::Bytes(bytes) => Payload::Bytes(bytes),
            Paid::Span(span) => Payload::Span(*span),
        }
    }
}

impl<P: Lodge> Desk<P> {
    pub(crate) fn new(port: P, process: i32, steps: Option<Rc<RefCell<Steps>>>, calls: Rc<RefCell<Calls>>) -> Desk<P> {
        Desk {
            port,
            process,
            names: BTreeMap::new(),
            owners: BTreeMap::new(),
            traffic: Traffic::new(),
            computed: Time::ZERO,
            steps,
            calls,
        }
    }
    /// The process that it serves.
    pub(crate) fn is_for(&mut self, process: i32) {
        self.process = process;
    }
    fn memory(&self, name: u64) -> Memory {
        self.names.get(&name).copied().unwrap_or(NONE)
    }
    fn span(&self, reader: &mut Reader<'_>) -> hotlink_port::Span {
        reader.span(|name| self.memory(name))
    }
    fn payload(&self, reader: &mut Reader<'_>) -> Result<Paid, Refusal> {
        Ok(match Carried::of(reader.word()) {
            Some(Carried::Bytes) => Paid::Bytes(reader.bytes()),
            Some(Carried::Remote) => {
                let (start, bytes) = (reader.word(), reader.word());
                Paid::Bytes(Remote::new(self.process, start).pack(0, &Layout::contiguous(bytes))?)
            }
            Some(Carried::Span) => Paid::Span(self.span(reader)),
            Some(Carried::Nothing) | None => Paid::Nothing,
        })
    }
    fn counted(&mut self, posted: Posted, other: Option<Rank>, out: bool, bytes: u64) -> Posted {
        if let (Posted::Accepted, Some(other)) = (posted, other) {
            let own = self.port.rank();
            let sum = self.traffic.entry(if out { (own, other) } else { (other, own) }).or_default();
            *sum = (sum.0 + 1, sum.1 + bytes);
        }
        posted
    }
    /// Keeps a step of this rank's, once it is one.
    fn keep(&self, step: impl FnOnce(&mut Steps, Rank)) {
        if let Some(steps) = &self.steps {
            step(&mut steps.borrow_mut(), self.port.rank());
        }
    }
    fn post(&mut self, reader: &mut Reader<'_>) -> Posted {
        match self.posted(reader) {
            Ok(posted) => posted,
            Err(refusal) => Posted::Refused(refusal),
        }
    }
    fn posted(&mut self, reader: &mut Reader<'_>) -> Result<Posted, Refusal> {
        let what = Posting::of(reader.word()).ok_or(Refusal::Unsupported)?;
        Ok(match what {
            Posting::Control => {
                let (to, head) = (reader.narrow(), std::array::from_fn(|_| reader.word()));
                let paid = self.payload(reader)?;
                let posted = self.port.post(&Op::Control { to, head, payload: paid.payload() });
                let bytes = paid.payload().bytes();
                if posted == Posted::Accepted {
                    self.keep(|steps, own| steps.sends(own, to, bytes, true));
                }
                self.counted(posted, Some(to), true, bytes)
            }
            Posting::Deposit => {
                let (engine, token) = (reader.engine(), reader.word());
                let (from, to) = (self.span(reader), reader.remote());
                let posted = self.port.post(&Op::Deposit { from, to, engine, token });
                let owner = self.owners.get(&to.attachment).copied();
                if let (Posted::Accepted, Some(owner)) = (posted, owner) {
                    self.keep(|steps, own| steps.sends(own, owner, from.bytes(), false));
                }
                self.counted(posted, owner, true, from.bytes())
            }
            Posting::Fetch => {
                let (engine, token) = (reader.engine(), reader.word());
                let (to, from) = (self.span(reader), reader.remote());
                let posted = self.port.post(&Op::Fetch { from, to, engine, token });
                let owner = self.owners.get(&from.attachment).copied();
                if let (Posted::Accepted, Some(owner)) = (posted, owner) {
                    self.keep(|steps, own| steps.fetches(own, owner, to.bytes(), token));
                }
                self.counted(posted, owner, false, to.bytes())
            }
            Posting::Barrier => {
                self.calls.borrow_mut().uses_hardware(self.port.rank());
                self.port.post(&Op::Barrier { token: reader.word() })
            }
            Posting::Reduce => {
                self.calls.borrow_mut().uses_hardware(self.port.rank());
                let (token, operation, share) = (reader.word(), reader.operation(), reader.share());
                let (from, to) = (self.span(reader), self.span(reader));
                self.port.post(&Op::Reduce { operation, share, from, to, token })
            }
            Posting::Broadcast => {
                let (token, head) = (reader.word(), std::array::from_fn(|_| reader.word()));
                let paid = self.payload(reader)?;
                self.port.post(&Op::Broadcast { head, payload: paid.payload(), token })
            }
        })
    }
    /// Answers with the next event; whether that is a message of this rank to itself.
    fn poll(&mut self, answer: &mut Vec<u64>) -> bool {
        let event = self.port.poll();
        match event {
            None => answer.push(0),
            Some(Event::Control { from, head, bytes }) => {
                self.keep(|steps, own| steps.takes(own, from));
                answer.extend([1, u64::from(from)]);
                answer.extend(head);
                answer.push(bytes);
                let mut start = [0; PREVIEW];
                let seen = self.port.peek(0, &mut start);
                talk::put_bytes(answer, &start[..seen]);
            }
            Some(Event::Done(token)) => {
                self.keep(|steps, own| steps.ends(own, token));
                answer.extend([2, token]);
            }
            Some(Event::Failed(token, refusal)) => {
                self.keep(|steps, own| steps.ends(own, token));
                answer.extend([3, token]);
                talk::put_refusal(answer, refusal);
            }
            Some(Event::Revoked(key)) => {
                answer.push(4);
                talk::put_key(answer, key);
            }
            Some(Event::PeerGone(rank)) => answer.extend([5, u64::from(rank)]),
            Some(Event::PeerLeft(rank)) => answer.extend([6, u64::from(rank)]),
        }
        matches!(event, Some(Event::Control { from, .. }) if from == self.port.rank())
    }
    /// Serves one sentence; `None`: it is none.
    pub(crate) fn serve(&mut self, reader: &mut Reader<'_>, answer: &mut Vec<u64>) -> Option<Then> {
        answer.clear();
        let nothing = |_: &mut Vec<u64>, ()| ();
        match Ask::of(reader.word())? {
            Ask::Hello => talk::put_bytes(answer, &serde_json::to_vec(self.port.limits()).unwrap_or_default()),
            Ask::Name => {
                let (name, start, bytes) = (reader.word(), reader.word(), reader.word());
                let kind = if reader.word() == 0 { Kind::Shared } else { Kind::Private };
                let kept = Rc::new(Remote::new(self.process, start));
                let memory = self.port.lodge(bytes, kind, kept).unwrap_or(NONE);
                self.names.insert(name, memory);
            }
            Ask::Note => {
                let note = reader.note();
                self.port.note(note);
            }
            Ask::Idle => self.port.idle(Time(reader.word())),
            Ask::Post => match self.post(reader) {
                Posted::Accepted => answer.push(0),
                Posted::Busy => answer.push(1),
                Posted::Refused(refusal) => {
                    answer.push(2);
                    talk::put_refusal(answer, refusal);
                }
            },
            // Such a message is there at once. Others catch up first: a rank that goes on so would leave them no turn.
            Ask::Poll if self.poll(answer) => return Some(Then::Suspend),
            Ask::Poll => {}
            Ask::Peek => {
                let (at, len) = (reader.word(), reader.word().min(talk::INLINE as u64));
                let mut part = vec![0; len as usize];
                let seen = self.port.peek(at, &mut part);
                talk::put_bytes(answer, &part[..seen]);
            }
            Ask::Deliver => {
                let at = reader.word();
                let to = self.span(reader);
                talk::put_result(answer, self.port.deliver(at, to), nothing);
            }
            Ask::Copy => {
                let (from, to) = (self.span(reader), self.span(reader));
                talk::put_result(answer, self.port.copy(from, to), nothing);
            }
            Ask::Free => {
                let freed = self.names.remove(&reader.word()).map_or(Err(Refusal::Gone), |name| self.port.free(name));
                talk::put_result(answer, freed, nothing);
            }
            Ask::Register => {
                let memory = self.memory(reader.word());
                talk::put_result(answer, self.port.register(memory), talk::put_key);
            }
            Ask::Unregister => talk::put_result(answer, self.port.unregister(reader.key()), nothing),
            Ask::Attach => {
                let (key, engine) = (reader.key(), reader.engine());
                let import = self.port.attach(key, engine);
                if let Ok(import) = import {
                    self.owners.insert(import, key.rank);
                }
                talk::put_result(answer, import, |words, import| words.push(import.0));
            }
            Ask::Detach => talk::put_result(answer, self.port.detach(Attachment(reader.word())), nothing),
            Ask::Compute => {
                let work = reader.work();
                if let Work::Fixed(time) = work {
                    self.computed += time;
                    self.keep(|steps, own| steps.computes(own, time));
                }
                self.port.compute(work);
            }
            Ask::Enters => {
                let (entry, rank, now) = (Entry::read(reader), self.port.rank(), self.port.now());
                self.calls.borrow_mut().enters(rank, entry, now);
            }
            Ask::Leaves => {
                let (rank, now) = (self.port.rank(), self.port.now());
                self.calls.borrow_mut().leaves(rank, reader.word(), now);
            }
            Ask::Suspend => return Some(Then::Suspend),
            Ask::Pass => {
                // As long as a poll takes; a message that arrives meanwhile ends it.
                let until = self.port.now() + self.port.limits().poll_overhead;
                self.port.idle(until);
                return Some(Then::Suspend);
            }
            Ask::Close => {
                self.port.close();
                return Some(Then::End);
            }
        }
        (!reader.is_short()).then_some(Then::GoOn)
    }
}
