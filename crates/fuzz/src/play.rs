//! Runs scripts as one rank of a communicator, and checks all that arrives.

use super::judge::{Promise, judge};
use super::script::{Collectively, Form, Posting, Script, Seen, Step, Waiting, contents, key_of, message_key};
use hotlink_fabric::units::Time;
use hotlink_message::{Combine, Comm, Counters, Element, Error, Operation, Persistent, Request, Status, Tag};
use hotlink_port::{Kind, Memory, Port, Program, Rank, Span, Work, yield_once};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// What memory that nothing may write holds.
const UNTOUCHED: u8 = 0xA5;
/// Turns that a rank of a simulated port gives to others in one script while it waits; one that needs more waits for an
/// event.
pub const TURNS: u32 = 200_000;
/// Tag that no message has.
const NO_TAG: Tag = Tag::MAX;

/// What a rank saw of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// By receive, in the order in which they are posted.
    pub seen: Vec<Seen>,
    /// What else is wrong.
    pub wrong: Vec<String>,
}

/// What a rank reports of its scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What is wrong, each with the number of its script.
    pub wrong: Vec<(u64, String)>,
    /// What the receives of each script saw, if that was asked for.
    pub seen: Vec<Vec<Seen>>,
    /// What the protocols did.
    pub counters: Counters,
}

/// Scripts as a program for any port: one after the other, by one communicator, which has the tuning of the first. Ranks
/// beyond a script's do nothing but wait for its end.
#[derive(Clone, Copy, Debug)]
pub struct Scripts<'a> {
    /// Which.
    pub scripts: &'a [Script],
    /// Whether the reports say what was seen.
    pub tells: bool,
}

impl<P: Port> Program<P, Report> for Scripts<'_> {
    async fn run(&self, port: P) -> Report {
        let tuning = self.scripts.first().map(|script| script.tuning).unwrap_or_default();
        let options = tuning.options(port.limits());
        let comm = Comm::with_options(port, options);
        let mut report = Report::default();
        for (number, script) in self.scripts.iter().enumerate() {
            let outcome = play(&comm, script).await;
            let mut wrong = outcome.wrong;
            if (comm.rank() as usize) < script.ranks.len() {
                wrong.extend(judge(script, comm.rank(), &outcome.seen, Promise::OneOrder));
            }
            report.wrong.extend(wrong.into_iter().map(|what| (number as u64, what)));
            if self.tells {
                report.seen.push(outcome.seen);
            }
        }
        report.counters = comm.counters();
        report
    }
}

/// Runs a script as this rank, and leaves nothing behind. Collectives are the communicator's: it has as many ranks as
/// the script, or the script none of them.
pub async fn play<P: Port>(comm: &Comm<P>, script: &Script) -> Outcome {
    let mut player = Player {
        comm,
        script,
        places: Vec::new(),
        memories: BTreeMap::new(),
        open: BTreeMap::new(),
        persistent: BTreeMap::new(),
        sends: 0,
        turns: Cell::new(0),
        seen: Vec::new(),
        wrong: Vec::new(),
    };
    if (comm.rank() as usize) < script.ranks.len() {
        player.places = script.places(comm.rank());
        for (at, step) in script.ranks[comm.rank() as usize].iter().enumerate() {
            if let Err(error) = player.step(step).await {
                player.wrong.push(format!("rank {}, step {at} ({step:?}): {error}", comm.rank()));
            }
        }
    }
    player.leave().await
}

/// A request that is not waited for yet.
struct Held {
    request: Request,
    /// For a receive: its number, where it goes and its room.
    receive: Option<Landing>,
}

#[derive(Clone, Copy)]
struct Landing {
    number: usize,
    form: Form,
    room: u64,
}

struct Player<'a, P: Port> {
    comm: &'a Comm<P>,
    script: &'a Script,
    places: Vec<(u64, bool)>,
    memories: BTreeMap<u32, Memory>,
    open: BTreeMap<u32, Held>,
    persistent: BTreeMap<u32, Persistent>,
    sends: u32,
    turns: Cell<u32>,
    seen: Vec<Option<Seen>>,
    wrong: Vec<String>,
}

impl<P: Port> Player<'_, P> {
    async fn step(&mut self, step: &Step) -> Result<(), Error> {
        match step {
            Step::Send { to, tag, bytes, mode, form, how } => {
                let span = self.ready(form, *bytes)?;
                match *how {
                    Posting::Blocking => self.comm.send_as(*mode, *to, *tag, span).await?,
                    Posting::Request(id) => {
                        let request = self.comm.isend_as(*mode, *to, *tag, span)?;
                        self.open.insert(id, Held { request, receive: None });
                    }
                    Posting::Persistent(id, number) => {
                        self.start(id, number, None, |comm| comm.send_init(*mode, *to, *tag, span))?
                    }
                }
            }
            Step::Recv { from, tag, room, form, how, probe } => {
                let landing = self.clear(form, *room)?;
                let span = form.span(self.memories[&form.place], *room);
                match *how {
                    Posting::Blocking if *probe => self.probe_and_receive((*from, *tag), span, landing).await?,
                    Posting::Blocking => {
                        let received = self.comm.recv(*from, *tag, span).await;
                        self.look(landing, received)?;
                    }
                    Posting::Request(id) => {
                        let request = self.comm.irecv(*from, *tag, span)?;
                        self.open.insert(id, Held { request, receive: Some(landing) });
                    }
                    Posting::Persistent(id, number) => {
                        self.start(id, number, Some(landing), |comm| comm.recv_init(*from, *tag, span))?
                    }
                }
            }
            Step::Wait { how, requests } => self.wait(*how, requests).await?,
            Step::Iprobe { from, tag } => {
                if let Some(status) = self.comm.iprobe(*from, *tag) {
                    self.check_probed(status, (*from, *tag));
                }
            }
            Step::Pause { turns, polls } => self.pause(*turns, *polls).await,
            Step::Free { place } => {
                if let Some(memory) = self.memories.remove(place) {
                    self.comm.free(memory)?;
                }
            }
            Step::Collective(what) => self.collective(*what).await?,
        }
        Ok(())
    }
    fn memory(&mut self, form: &Form) -> Result<Memory, Error> {
        if let Some(&memory) = self.memories.get(&form.place) {
            return Ok(memory);
        }
        let (bytes, private) = self.places[form.place as usize];
        let memory = self.comm.alloc(bytes, if private { Kind::Private } else { Kind::Default })?;
        self.memories.insert(form.place, memory);
        Ok(memory)
    }
    /// Writes the next message to send.
    fn ready(&mut self, form: &Form, bytes: u64) -> Result<Span, Error> {
        let span = form.span(self.memory(form)?, bytes);
        let data = contents(message_key(self.script.seed, self.comm.rank(), self.sends), bytes);
        self.sends += 1;
        let mut at = 0;
        for (offset, run) in span.layout.runs(0, bytes) {
            self.comm.write(span.memory, span.offset + offset, &data[at..at + run as usize])?;
            at += run as usize;
        }
        Ok(span)
    }
    /// Clears where a message may go.
    fn clear(&mut self, form: &Form, room: u64) -> Result<Landing, Error> {
        let (memory, extent) = (self.memory(form)?, form.layout(room).extent() + 2 * Form::GUARD);
        self.comm.write(memory, form.offset - Form::GUARD, &vec![UNTOUCHED; extent as usize])?;
        self.seen.push(None);
        Ok(Landing { number: self.seen.len() - 1, form: *form, room })
    }
    fn start(
        &mut self,
        id: u32,
        number: u32,
        receive: Option<Landing>,
        init: impl FnOnce(&Comm<P>) -> Result<Persistent, Error>,
    ) -> Result<(), Error> {
        if !self.persistent.contains_key(&number) {
            self.persistent.insert(number, init(self.comm)?);
        }
        let request = self.comm.start_again(&self.persistent[&number])?;
        self.open.insert(id, Held { request, receive });
        Ok(())
    }
    async fn probe_and_receive(
        &mut self,
        pattern: (Option<Rank>, Option<Tag>),
        span: Span,
        landing: Landing,
    ) -> Result<(), Error> {
        let probed = self.comm.probe(pattern.0, pattern.1).await?;
        self.check_probed(probed, pattern);
        let received = self.comm.recv(Some(probed.from), Some(probed.tag), span).await;
        let same = match received {
            Ok(status) => status == probed,
            Err(Error::Truncated { sent, .. }) => sent == probed.bytes,
            Err(_) => true,
        };
        if !same {
            self.wrong.push(format!("rank {}: probed {probed:?}, but received {received:?}", self.comm.rank()));
        }
        self.look(landing, received)
    }
    /// What was probed must be a message of the script.
    fn check_probed(&mut self, status: Status, (from, tag): (Option<Rank>, Option<Tag>)) {
        let mut messages = self.script.messages_to(self.comm.rank()).into_iter();
        let is = messages.any(|m| (m.from, m.tag, m.bytes) == (status.from, status.tag, status.bytes));
        if !is || from.is_some_and(|from| from != status.from) || tag.is_some_and(|tag| tag != status.tag) {
            let what = format!("rank {}: probe from {from:?}, tag {tag:?} gave {status:?}", self.comm.rank());
            self.wrong.push(what);
        }
    }
    /// A request is over.
    fn ended(&mut self, receive: Option<Landing>, result: Result<Status, Error>) -> Result<(), Error> {
        match receive {
            Some(landing) => self.look(landing, result),
            None => result.map(|_| ()),
        }
    }
    /// Looks at what a receive got, and at the memory about it.
    fn look(&mut self, landing: Landing, received: Result<Status, Error>) -> Result<(), Error> {
        let Landing { number, form, room } = landing;
        let (sent, truncated) = match received {
            Ok(status) => (status.bytes, None),
            Err(Error::Truncated { sent, .. }) => (sent, Some(sent)),
            Err(error) => {
                let status = Err(error.to_string());
                self.seen[number] = Some(Seen { status, truncated: None, prefix: 0, damage: None });
                return Err(error);
            }
        };
        let layout = form.layout(room);
        let mut about = vec![0; (layout.extent() + 2 * Form::GUARD) as usize];
        self.comm.read(self.memories[&form.place], form.offset - Form::GUARD, &mut about)?;
        let bytes = sent.min(room);
        let mut first = Vec::new();
        for (offset, run) in layout.runs(0, bytes.min(8)) {
            let at = (Form::GUARD + offset) as usize;
            first.extend_from_slice(&about[at..at + run as usize]);
        }
        let prefix = key_of(&first);
        // The prefix holds all of the shortest ones.
        let data = if bytes < 8 { first } else { contents(prefix, bytes) };
        let mut due = vec![UNTOUCHED; about.len()];
        let mut taken = 0;
        for (offset, run) in layout.runs(0, bytes) {
            let at = (Form::GUARD + offset) as usize;
            due[at..at + run as usize].copy_from_slice(&data[taken..taken + run as usize]);
            taken += run as usize;
        }
        let damage = (about != due).then(|| damage(&about, &due));
        let status = received.map_err(|error| error.to_string());
        self.seen[number] = Some(Seen { status, truncated, prefix, damage });
        Ok(())
    }
    async fn pause(&self, turns: u32, polls: bool) {
        if !polls {
            self.comm.compute(Work::Fixed(Time::from_ns(200.0 * f64::from(turns))));
        }
        for _ in 0..turns {
            if polls {
                self.comm.iprobe(None, Some(NO_TAG));
            }
            self.turn(false).await;
        }
    }
    /// Something must happen before this rank can go on: lets others have a turn.
    async fn rest(&self) {
        self.turns.set(self.turns.get() + 1);
        self.turn(self.turns.get() > TURNS).await;
    }
    /// Lets others have a turn, or waits for an event: if none comes, the driver of a simulated port says that nobody can
    /// go on. A pause ends by itself and never waits so.
    async fn turn(&self, for_event: bool) {
        self.comm.with_port(|port| {
            let for_event = for_event && !port.limits().real_time;
            port.idle(if for_event { Time::MAX } else { port.now() + Time::from_ns(500.0) });
        });
        yield_once().await;
    }
    async fn wait(&mut self, how: Waiting, ids: &[u32]) -> Result<(), Error> {
        let mut held: Vec<Option<Landing>> = Vec::new();
        let mut requests: Vec<Request> = Vec::new();
        for id in ids {
            let one = self.open.remove(id).ok_or(Error::NoRequest)?;
            held.push(one.receive);
            requests.push(one.request);
        }
        match how {
            Waiting::Each | Waiting::Cancelled | Waiting::Test => {
                for (request, receive) in requests.into_iter().zip(held) {
                    let result = self.wait_one(how, request).await;
                    self.ended(receive, result)?;
                }
            }
            Waiting::All => {
                let statuses = self.comm.wait_all(requests).await?;
                for (receive, status) in held.into_iter().zip(statuses) {
                    self.ended(receive, Ok(status))?;
                }
            }
            Waiting::TestAll => loop {
                if let Some(results) = self.comm.test_all(&mut requests) {
                    for (receive, result) in held.into_iter().zip(results) {
                        self.ended(receive, result)?;
                    }
                    break;
                }
                self.rest().await;
            },
            Waiting::Any | Waiting::TestAny => {
                while !requests.is_empty() {
                    let ended = match how {
                        Waiting::Any => self.comm.wait_any(&mut requests).await,
                        _ => self.comm.test_any(&mut requests),
                    };
                    match ended {
                        Some((place, result)) => {
                            let receive = held.remove(place);
                            self.ended(receive, result)?;
                        }
                        None => self.rest().await,
                    }
                }
            }
            Waiting::Some | Waiting::TestSome => {
                while !requests.is_empty() {
                    let ended = match how {
                        Waiting::Some => self.comm.wait_some(&mut requests).await,
                        _ => self.comm.test_some(&mut requests),
                    };
                    if ended.is_empty() {
                        self.rest().await;
                    }
                    for (place, result) in ended.iter().rev() {
                        let receive = held.remove(*place);
                        self.ended(receive, *result)?;
                    }
                }
            }
        }
        Ok(())
    }
    async fn wait_one(&self, how: Waiting, mut request: Request) -> Result<Status, Error> {
        match how {
            Waiting::Test => loop {
                match self.comm.test(request) {
                    Ok(result) => return result,
                    Err(again) => request = again,
                }
                self.rest().await;
            },
            Waiting::Cancelled => {
                self.begin_to_wait(&request).await;
                self.comm.wait(request).await
            }
            _ => self.comm.wait(request).await,
        }
    }
    /// Waits, and gives that up at the first pause.
    async fn begin_to_wait(&self, request: &Request) {
        let mut over = pin!(self.comm.over(request));
        let mut looks = 0;
        std::future::poll_fn(|context| {
            looks += 1;
            if over.as_mut().poll(context).is_ready() || looks > 2 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
    async fn collective(&mut self, what: Collectively) -> Result<(), Error> {
        let comm = self.comm;
        match what {
            Collectively::Barrier => comm.barrier().await,
            Collectively::Bcast(root, bytes) => {
                let due = contents(self.script.seed ^ u64::from(root), bytes);
                let memory = comm.alloc(bytes, Kind::Default)?;
                if comm.rank() == root {
                    comm.write(memory, 0, &due)?;
                }
                comm.bcast(root, Span::new(memory, 0, bytes)).await?;
                self.check(memory, &due, "broadcast")
            }
            Collectively::Allreduce(words) => {
                let (send, recv) = (comm.alloc(8 * words, Kind::Default)?, comm.alloc(8 * words, Kind::Default)?);
                let mine: Vec<u8> = (0..words).flat_map(|i| (i + u64::from(comm.rank())).to_le_bytes()).collect();
                comm.write(send, 0, &mine)?;
                let operation = Operation { combine: Combine::Sum, element: Element::I64 };
                comm.allreduce(operation, Span::new(send, 0, 8 * words), Span::new(recv, 0, 8 * words)).await?;
                comm.free(send)?;
                let ranks = u64::from(comm.ranks());
                let sum = |i: u64| (i * ranks + ranks * (ranks - 1) / 2).to_le_bytes();
                self.check(recv, &(0..words).flat_map(sum).collect::<Vec<u8>>(), "allreduce")
            }
            Collectively::Alltoall(words) => {
                let (me, ranks) = (u64::from(comm.rank()), u64::from(comm.ranks()));
                let bytes = 8 * words * ranks;
                let (send, recv) = (comm.alloc(bytes, Kind::Default)?, comm.alloc(bytes, Kind::Default)?);
                let word = |from: u64, to: u64, i: u64| (from << 40 | to << 20 | i).to_le_bytes();
                let all = |word: &dyn Fn(u64, u64) -> [u8; 8]| -> Vec<u8> {
                    (0..ranks).flat_map(|other| (0..words).flat_map(move |i| word(other, i))).collect()
                };
                comm.write(send, 0, &all(&|to, i| word(me, to, i)))?;
                comm.alltoall(Span::new(send, 0, bytes), Span::new(recv, 0, bytes)).await?;
                comm.free(send)?;
                self.check(recv, &all(&|from, i| word(from, me, i)), "alltoall")
            }
        }
    }
    /// Compares what a collective left, and frees it.
    fn check(&mut self, memory: Memory, due: &[u8], name: &str) -> Result<(), Error> {
        let mut there = vec![0; due.len()];
        self.comm.read(memory, 0, &mut there)?;
        if there != due {
            self.wrong.push(format!("rank {}, {name}: {}", self.comm.rank(), damage(&there, due)));
        }
        self.comm.free(memory)
    }
    async fn leave(mut self) -> Outcome {
        let comm = self.comm;
        comm.flush().await;
        for (_, persistent) in std::mem::take(&mut self.persistent) {
            comm.release(persistent);
        }
        for memory in std::mem::take(&mut self.memories).into_values() {
            if let Err(error) = comm.free(memory) {
                self.wrong.push(format!("rank {}: free: {error}", comm.rank()));
            }
        }
        if let Err(error) = comm.barrier().await {
            self.wrong.push(format!("rank {}: last barrier: {error}", comm.rank()));
        }
        Outcome { seen: self.seen.into_iter().flatten().collect(), wrong: self.wrong }
    }
}

/// Where memory first differs from what is due.
fn damage(there: &[u8], due: &[u8]) -> String {
    let differ = there.iter().zip(due).filter(|(there, due)| there != due).count();
    let first = there.iter().zip(due).position(|(there, due)| there != due).unwrap_or(0);
    let (there, due) = (there[first], due[first]);
    format!("{differ} bytes differ, the first at {first} (guard included): {there:#x} where {due:#x} is due")
}
