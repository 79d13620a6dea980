//! A world: engines, their programs, and what is under way between them. Its moves are all that can happen next.

use super::case::{Case, Size, Step};
use super::features;
use super::moves::What;
use super::port::{CELL, CheckPort, Net, limits};
use crate::engine::{Direct, Engine, Pattern};
use crate::request::SENT;
use crate::wire::Context;
use crate::{Error, Mode, Status};
use hotlink_port::{Align, Host, Kind, Layout, Rank, Span};
use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// The state of a send or receive of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Outcome {
    Waiting,
    /// A send: done, and how many receives its receiver had started by then.
    Sent(u8),
    /// A receive: the message that it got, as a bit; all candidates where nothing distinguishes them.
    Got(u16),
    Failed,
}

/// A send or receive that a rank has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Started {
    id: u64,
    pub(super) step: usize,
    span: Span,
    pub(super) outcome: Outcome,
}

/// Something that the receiving side did, in order: what matching depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Act {
    /// Started the receive of this number among its requests.
    Posted(usize),
    /// Probed with a pattern, and found such a message.
    Probed((Option<Rank>, Option<u32>), (Rank, u32, u64)),
}

#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Task {
    /// The next step, or the one that it waits in.
    pub(super) at: usize,
    /// It waits in that step.
    waits: bool,
    pub(super) started: Vec<Started>,
    pub(super) acts: Vec<Act>,
}

pub(super) struct World {
    pub(super) case: Rc<Case>,
    pub(super) engines: Vec<Engine<CheckPort>>,
    pub(super) tasks: Vec<Task>,
    pub(super) net: Rc<RefCell<Net>>,
    /// Every message that is ever sent: its sender and its step.
    pub(super) messages: Rc<Vec<(usize, usize)>>,
}

impl Clone for World {
    fn clone(&self) -> World {
        let net = Rc::new(RefCell::new(self.net.borrow().clone()));
        let mut engines = self.engines.clone();
        engines.iter_mut().for_each(|engine| engine.port.net = net.clone());
        World { case: self.case.clone(), engines, tasks: self.tasks.clone(), net, messages: self.messages.clone() }
    }
}

/// The contents of buffers once their request is over: any later access to them then shows.
const USED: u8 = 0xfe;

impl World {
    pub(super) fn new(case: &Case) -> World {
        let ranks = case.programs.len();
        let net = Rc::new(RefCell::new(Net::new(ranks, &case.shape, case.faults)));
        let limits = Rc::new(limits(&case.shape));
        let engine = |rank| Engine::new(CheckPort::new(&net, rank as Rank, &limits), case.options());
        let sends = |rank: usize| {
            let steps = case.programs[rank].iter().enumerate();
            steps.filter(|(_, step)| matches!(step, Step::Send { .. })).map(move |(at, _)| (rank, at))
        };
        World {
            engines: (0..ranks).map(engine).collect(),
            tasks: vec![Task::default(); ranks],
            messages: Rc::new((0..ranks).flat_map(sends).collect()),
            case: Rc::new(case.clone()),
            net,
        }
    }
    /// The cells of a message.
    fn contents(message: usize, size: Size) -> Vec<u8> {
        (0..size.cells()).map(|cell| (1 + message as u64 * 16 + cell) as u8).collect()
    }
    fn step_of(&self, rank: usize) -> Option<Step> {
        self.case.programs[rank].get(self.tasks[rank].at).copied()
    }
    pub(super) fn is_over(&self, rank: usize) -> bool {
        self.step_of(rank).is_none()
    }
    /// Whether the rank polls where it is: it waits, or is through.
    pub(super) fn polls(&self, rank: usize) -> bool {
        self.tasks[rank].waits || self.is_over(rank) || self.case.turns
    }
    /// Whether the next step can be taken without polling.
    pub(super) fn steps(&self, rank: usize) -> bool {
        match self.step_of(rank) {
            None => false,
            Some(Step::Turn) => true,
            Some(_) => !self.tasks[rank].waits,
        }
    }
    /// Makes a move; `Err`: a fault in its result.
    pub(super) fn make(&mut self, rank: usize, what: What) -> Result<(), String> {
        {
            let net = &mut *self.net.borrow_mut();
            match what {
                What::Step | What::Work => {}
                What::Take(from) => net.offer_message(from, rank),
                What::End(index) => net.offer_end(rank, index, false),
                What::Fail(index) => {
                    net.left.fail -= 1;
                    net.offer_end(rank, index, true);
                }
                What::Revoked => net.offer_revocation(rank),
                What::Left(other) => net.offer_leave(rank, other),
                What::Gone(dead) => net.offer_death(rank, dead, false),
                What::GoneSilent(dead) => net.offer_death(rank, dead, true),
                What::Die => {
                    net.left.die -= 1;
                    net.seats[rank].dead = true;
                    net.met |= features::DEATH;
                    return Ok(());
                }
            }
        }
        if what == What::Step {
            self.step(rank)?;
        } else {
            self.poll(rank)?;
            if !self.net.borrow().is_taken() {
                return Err(format!("rank {rank} did not poll"));
            }
        }
        self.advance(rank)?;
        // As `Comm::flush` has it, which a program with postal sends calls at its end.
        if self.case.leaves && self.is_over(rank) && self.engines[rank].detached == 0 {
            self.net.borrow_mut().leave(rank);
        }
        Ok(())
    }
    fn poll(&mut self, rank: usize) -> Result<(), String> {
        match self.step_of(rank) {
            // It has begun, but is not posted: the message may come straight to its place.
            Some(Step::Recv { waits: true, .. }) if self.tasks[rank].waits && !self.is_posted(rank) => {
                self.receive_now(rank)
            }
            _ => {
                let before = self.engine_print(rank);
                let any = self.engines[rank].progress();
                self.engines[rank].revoked.clear();
                // Its program would rest, and nothing wakes it.
                let silent = !any && self.engine_print(rank) != before;
                if silent { Err(format!("rank {rank} did something and says that it did nothing")) } else { Ok(()) }
            }
        }
    }
    fn engine_print(&self, rank: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.engines[rank].fingerprint(&mut hasher);
        hasher.finish()
    }
    /// Whether the send or receive of the step that the rank is in has been started.
    fn is_posted(&self, rank: usize) -> bool {
        self.tasks[rank].started.last().is_some_and(|started| started.step == self.tasks[rank].at)
    }
    fn pattern(from: Option<Rank>, tag: Option<u32>) -> Pattern {
        Pattern { from, tag, context: Context::USER }
    }
    fn met(&self, feature: u32) {
        self.net.borrow_mut().met |= feature;
    }
    fn span(&mut self, rank: usize, size: Size) -> Span {
        let bytes = size.cells() * CELL;
        let kind = if self.case.private { Kind::Private } else { Kind::Shared };
        let gaps = self.case.strided && size.cells().is_multiple_of(2) && bytes > 0;
        let port = &mut self.engines[rank].port;
        let memory = port.alloc(bytes + CELL, kind, Align::Default).expect("the checker's memory has no limit");
        let layout = if gaps { Layout::strided(bytes / 2, 2, bytes / 2 + CELL) } else { Layout::contiguous(bytes) };
        Span { memory, offset: 0, layout }
    }
    fn step(&mut self, rank: usize) -> Result<(), String> {
        let at = self.tasks[rank].at;
        match self.case.programs[rank][at] {
            Step::Send { to, tag, size, mode, waits } => {
                let message = self.messages.iter().position(|&sent| sent == (rank, at)).unwrap_or(0);
                let span = self.span(rank, size);
                self.fill(rank, &span, &World::contents(message, size));
                if mode != Mode::Standard {
                    self.met(features::MODES);
                }
                let sent = self.engines[rank].send_as(mode, to, (tag, Context::USER), span, waits);
                self.start(rank, span, sent, waits)
            }
            Step::Recv { from, tag, size, waits } => {
                if from.is_none() || tag.is_none() {
                    self.met(features::WILDCARD);
                }
                if waits {
                    self.tasks[rank].waits = true;
                    return self.receive_now(rank);
                }
                let span = self.span(rank, size);
                let begun = self.engines[rank].recv(World::pattern(from, tag), span, true);
                self.start(rank, span, begun, false)
            }
            Step::Wait(_) | Step::Probe { .. } => {
                self.tasks[rank].waits = true;
                Ok(())
            }
            Step::Turn => {
                let waited = std::mem::replace(&mut self.tasks[rank].waits, true);
                if waited {
                    (self.tasks[rank].at, self.tasks[rank].waits) = (at + 1, false);
                }
                Ok(())
            }
        }
    }
    /// As [`crate::Comm::recv`] does it, poll by poll.
    fn receive_now(&mut self, rank: usize) -> Result<(), String> {
        let Some(Step::Recv { from, tag, size, .. }) = self.step_of(rank) else { return Ok(()) };
        let span = self.span(rank, size);
        let engine = &mut self.engines[rank];
        let pattern = World::pattern(from, tag);
        match engine.recv_now(&pattern, &span) {
            Direct::Done(result) => {
                self.start(rank, span, Ok(u64::MAX), true)?;
                self.end(rank, self.tasks[rank].started.len() - 1, result)
            }
            Direct::Started(id) => self.start(rank, span, Ok(id), true),
            Direct::Usual => {
                let early = engine.announces(&span);
                let begun = engine.recv(pattern, span, early);
                self.start(rank, span, begun, true)
            }
            Direct::Nothing => self.engines[rank].port.free(span.memory).map_err(|refusal| refusal.to_string()),
        }
    }
    fn start(&mut self, rank: usize, span: Span, id: Result<u64, Error>, waits: bool) -> Result<(), String> {
        let task = &mut self.tasks[rank];
        if matches!(self.case.programs[rank][task.at], Step::Recv { .. }) {
            task.acts.push(Act::Posted(task.started.len()));
        }
        let outcome = Outcome::Waiting;
        task.started.push(Started { id: id.unwrap_or(SENT), step: task.at, span, outcome });
        if waits {
            task.waits = true;
        } else {
            task.at += 1;
        }
        let last = self.tasks[rank].started.len() - 1;
        match id {
            Ok(_) => Ok(()),
            Err(error) => {
                self.end(rank, last, Err(error))?;
                if waits {
                    (self.tasks[rank].at, self.tasks[rank].waits) = (self.tasks[rank].at + 1, false);
                }
                Ok(())
            }
        }
    }
    /// Takes every step that is only the end of a wait. Later would be the same: what is over stays so, and a buffer
    /// that is used again early shows more.
    fn advance(&mut self, rank: usize) -> Result<(), String> {
        while let Some(step) = self.step_of(rank) {
            if matches!(step, Step::Wait(_) | Step::Probe { .. }) {
                self.tasks[rank].waits = true;
            }
            let over = match step {
                _ if !self.tasks[rank].waits => false,
                Step::Wait(number) => self.try_end(rank, number)?,
                Step::Send { .. } | Step::Recv { .. } => {
                    self.is_posted(rank) && self.try_end(rank, self.tasks[rank].started.len() - 1)?
                }
                Step::Probe { from, tag } => self.try_probe(rank, from, tag),
                Step::Turn => false,
            };
            if !over {
                break;
            }
            (self.tasks[rank].at, self.tasks[rank].waits) = (self.tasks[rank].at + 1, false);
        }
        Ok(())
    }
    fn try_end(&mut self, rank: usize, number: usize) -> Result<bool, String> {
        let Started { id, outcome, .. } = self.tasks[rank].started[number];
        if outcome != Outcome::Waiting {
            return Ok(true);
        }
        match self.engines[rank].take(id) {
            Some(result) => self.end(rank, number, result).map(|()| true),
            None => Ok(false),
        }
    }
    /// Ends what is over and that no program has come to wait for.
    pub(super) fn end_all(&mut self) -> Result<(), String> {
        for rank in 0..self.tasks.len() {
            for number in 0..self.tasks[rank].started.len() {
                self.try_end(rank, number)?;
            }
        }
        Ok(())
    }
    fn try_probe(&mut self, rank: usize, from: Option<Rank>, tag: Option<u32>) -> bool {
        let (pattern, engine) = ((from, tag), &self.engines[rank]);
        if let Some(Status { from, tag, bytes }) = engine.probe(&World::pattern(from, tag)) {
            self.tasks[rank].acts.push(Act::Probed(pattern, (from, tag, bytes)));
            self.met(features::PROBE);
            return true;
        }
        engine.in_vain(from).is_some()
    }
    /// The n-th request of a rank is over: checks it, and uses its buffer for something else.
    fn end(&mut self, rank: usize, number: usize, result: Result<Status, Error>) -> Result<(), String> {
        let Started { step, span, .. } = self.tasks[rank].started[number];
        let what = self.case.programs[rank][step];
        let outcome = match (what, result) {
            (_, Err(Error::PeerGone(gone))) if self.net.borrow().seats[gone as usize].dead => Outcome::Failed,
            (_, Err(Error::Ended(left))) if self.net.borrow().seats[left as usize].left => Outcome::Failed,
            (Step::Send { to, .. }, Ok(_)) => {
                let theirs = self.tasks[to as usize].acts.iter().filter(|act| matches!(act, Act::Posted(_)));
                Outcome::Sent(theirs.count() as u8)
            }
            (Step::Recv { .. }, result) => Outcome::Got(self.received(rank, what, &span, result)?),
            (_, Err(error)) => return Err(format!("rank {rank}, step {step}: {what:?} ended with: {error}")),
            _ => return Err(format!("rank {rank}, step {step}: {what:?} is no request")),
        };
        self.tasks[rank].started[number].outcome = outcome;
        if self.case.frees {
            return self.engines[rank].free(span.memory).map_err(|refusal| refusal.to_string());
        }
        let size = self.engines[rank].port.size(span.memory).unwrap_or(0);
        self.fill(rank, &Span::new(span.memory, 0, size), &vec![USED; (size / CELL) as usize]);
        Ok(())
    }
    /// Which message a receive got, if it is one and whole.
    fn received(&self, rank: usize, what: Step, span: &Span, result: Result<Status, Error>) -> Result<u16, String> {
        let wrong = |why: &str| Err(format!("rank {rank}: {what:?} ended with {result:?}: {why}"));
        let cells = self.net.borrow().seats[rank].pack(span).map_err(|refusal| refusal.to_string())?;
        let Step::Recv { from, tag, .. } = what else { return wrong("no receive") };
        let fits = |message: usize| {
            let (sender, at) = self.messages[message];
            let Step::Send { to, tag: its, size, .. } = self.case.programs[sender][at] else { return false };
            let contents = World::contents(message, size);
            let room = cells.len().min(contents.len());
            let status = Status { from: sender as Rank, tag: its, bytes: size.cells() * CELL };
            let told = match result {
                Ok(told) => told == status && contents.len() <= cells.len(),
                Err(Error::Truncated { sent, room, from, tag }) => {
                    (sent, room) == (status.bytes, span.bytes())
                        && (from, tag) == (status.from, status.tag)
                        && contents.len() > cells.len()
                }
                Err(_) => false,
            };
            let whole = cells[..room] == contents[..room] && cells[room..].iter().all(|&cell| cell == 0);
            let taken = self.tasks[rank].started.iter().any(|other| other.outcome == Outcome::Got(1 << message));
            let wanted = from.is_none_or(|from| from == status.from) && tag.is_none_or(|tag| tag == its);
            let begun = self.tasks[sender].started.iter().any(|sent| sent.step == at);
            to as usize == rank && told && whole && !taken && wanted && begun
        };
        let fitting =
            (0..self.messages.len()).filter(|&message| fits(message)).fold(0, |bits, message| bits | 1 << message);
        if fitting == 0 { wrong(&format!("no message is that, with the contents {cells:?}")) } else { Ok(fitting) }
    }
    fn fill(&mut self, rank: usize, span: &Span, cells: &[u8]) {
        let net = &mut *self.net.borrow_mut();
        net.seats[rank].unpack(span, cells).expect("it is the program's own memory");
    }
    /// Whether buffers of requests that are over are as the program left them.
    pub(super) fn untouched(&self, rank: usize) -> bool {
        let net = self.net.borrow();
        let over = self.tasks[rank].started.iter().filter(|started| started.outcome != Outcome::Waiting);
        let is_used = |started: &Started| {
            net.seats[rank].pack(&started.span).is_ok_and(|cells| cells.iter().all(|&cell| cell == USED))
        };
        self.case.frees || over.into_iter().all(is_used)
    }
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let net = self.net.borrow();
        net.fingerprint(&mut hasher);
        self.tasks.hash(&mut hasher);
        for (engine, _) in self.engines.iter().zip(&net.seats).filter(|(_, seat)| !seat.dead) {
            engine.fingerprint(&mut hasher);
        }
        hasher.finish()
    }
}
