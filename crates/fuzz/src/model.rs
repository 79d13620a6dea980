//! MPI's matching rules as a sequential program: who receives what if the ranks take turns. A standard send waits for
//! its receive or does not, as a library likes.

use super::script::{Message, Posting, Script, Seen, Step, prefix};
use hotlink_message::{Mode, Status, Tag};
use hotlink_port::Rank;
use hotlink_port::loopback::Random;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A rank's queues: posted receives, and messages that came before theirs.
#[derive(Clone, Debug, Default)]
pub(super) struct Matcher {
    posted: Vec<(u32, Option<Rank>, Option<Tag>)>,
    came: Vec<Message>,
}

pub(super) fn takes(from: Option<Rank>, tag: Option<Tag>, message: &Message) -> bool {
    from.is_none_or(|rank| rank == message.from) && tag.is_none_or(|tag| tag == message.tag)
}

impl Matcher {
    /// A message comes: the first posted receive that takes it, if any.
    pub(super) fn arrive(&mut self, message: Message) -> Option<u32> {
        let at = self.posted.iter().position(|&(_, from, tag)| takes(from, tag, &message));
        match at {
            Some(at) => Some(self.posted.remove(at).0),
            None => {
                self.came.push(message);
                None
            }
        }
    }
    /// A receive is posted: the first message that it takes, if any.
    pub(super) fn post(&mut self, id: u32, from: Option<Rank>, tag: Option<Tag>) -> Option<Message> {
        let at = self.came.iter().position(|message| takes(from, tag, message));
        match at {
            Some(at) => Some(self.came.remove(at)),
            None => {
                self.posted.push((id, from, tag));
                None
            }
        }
    }
    /// The message that a receive posted now would take.
    pub(super) fn probe(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<&Message> {
        self.came.iter().find(|message| takes(from, tag, message))
    }
    /// The posted receive that would take a message.
    pub(super) fn taker(&self, from: Rank, tag: Tag) -> Option<u32> {
        let message = Message { from, number: 0, tag, bytes: 0, key: 0 };
        self.posted.iter().find(|&&(_, from, tag)| takes(from, tag, &message)).map(|posted| posted.0)
    }
    pub(super) fn came(&self) -> &[Message] {
        &self.came
    }
    pub(super) fn posted(&self) -> &[(u32, Option<Rank>, Option<Tag>)] {
        &self.posted
    }
}

/// The ranks cannot go on: which step each is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck(pub Vec<usize>);

/// A rank on the stage.
#[derive(Default)]
struct Actor {
    at: usize,
    sends: u32,
    receives: u32,
    matcher: Matcher,
    /// Messages to it that have not come, in the order in which they were sent.
    way: VecDeque<Message>,
    /// By receive: what it got.
    got: BTreeMap<u32, Message>,
    /// By receive: its room.
    rooms: Vec<u64>,
    /// The request of each receive and each send that is not over.
    open: BTreeMap<u32, What>,
    /// The blocking step has been begun, as this.
    begun: Option<What>,
    gathered: u32,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Send(Rank, u32),
    Receive(u32),
}

/// Plays a script in a random order of the ranks' steps and of arrivals. Returns what each rank's receives get, in the
/// order of their posts. Messages of one sender to one receiver keep their order. All, none or some of the standard
/// sends end before their receives. A sender that went on may let messages meet so that others wait for ever.
///
/// The order is drawn anew before every step, or seldom. A rank or a message may then stay behind all others for long.
/// (After Burckhardt and others, "A randomized scheduler with probabilistic guarantees of finding bugs", 2010.)
///
/// # Errors
/// The ranks cannot go on.
pub fn rehearse(script: &Script, random: &mut Random) -> Result<Vec<Vec<Seen>>, Stuck> {
    let actors = script.ranks.iter().map(|_| Actor::default()).collect();
    let eager = [0, 50, 100][random.below(3) as usize];
    let mut stage = Stage { script, actors, received: BTreeSet::new(), eager, random: Random::new(random.draw()) };
    let ranks = stage.actors.len();
    let mut order: Vec<usize> = (0..ranks + ranks * ranks).collect();
    let anew = [100, 20, 3][random.below(3) as usize];
    shuffle(&mut order, random);
    loop {
        if random.chance(anew) {
            shuffle(&mut order, random);
        }
        // One step of the first rank that can make one, or the arrival of a message, whichever stands first.
        let happens = |at: usize| {
            if at < ranks { stage.step(at) } else { stage.arrive((at - ranks) / ranks, (at - ranks) % ranks) }
        };
        if !order.iter().copied().any(happens) {
            break;
        }
    }
    let over = stage.actors.iter().zip(&script.ranks).all(|(actor, steps)| actor.at == steps.len());
    if !over {
        return Err(Stuck(stage.actors.iter().map(|actor| actor.at).collect()));
    }
    Ok(stage.actors.iter().map(Actor::seen).collect())
}

fn shuffle(order: &mut [usize], random: &mut Random) {
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
}

impl Actor {
    fn seen(&self) -> Vec<Seen> {
        (0..self.receives).filter_map(|id| Some(seen_of(self.got.get(&id)?, self.rooms[id as usize]))).collect()
    }
}

fn seen_of(message: &Message, room: u64) -> Seen {
    let status = Status { from: message.from, tag: message.tag, bytes: message.bytes };
    let bytes = message.bytes.min(room);
    let truncated = (message.bytes > room).then_some(message.bytes);
    let status = if truncated.is_some() { Err(String::new()) } else { Ok(status) };
    Seen { status, truncated, prefix: prefix(message.key, bytes), damage: None }
}

struct Stage<'a> {
    script: &'a Script,
    actors: Vec<Actor>,
    /// Sends that are over: they have met their receives, or do not wait for them.
    received: BTreeSet<(Rank, u32)>,
    /// The percentage of standard sends that do not wait.
    eager: u64,
    random: Random,
}

impl Stage<'_> {
    /// The next message under way between two ranks arrives, if there is one.
    fn arrive(&mut self, from: usize, to: usize) -> bool {
        let way = &mut self.actors[to].way;
        let next = way.iter().position(|message| message.from as usize == from);
        let Some(message) = next.and_then(|at| way.remove(at)) else { return false };
        if let Some(receive) = self.actors[to].matcher.arrive(message) {
            self.meet(to, receive, message);
        }
        true
    }
    /// Makes the next step of a rank, if it can be made; a blocking one is made in two.
    fn step(&mut self, rank: usize) -> bool {
        let script = self.script;
        let Some(step) = script.ranks[rank].get(self.actors[rank].at) else { return false };
        if let Some(begun) = self.actors[rank].begun {
            return self.is_over(rank, begun) && self.go_on(rank);
        }
        match step {
            Step::Send { to, tag, bytes, mode, how, .. } => {
                let number = self.actors[rank].sends;
                self.actors[rank].sends += 1;
                let key = super::script::message_key(script.seed, rank as Rank, number);
                let message = Message { from: rank as Rank, number, tag: *tag, bytes: *bytes, key };
                self.actors[*to as usize].way.push_back(message);
                if *mode == Mode::Postal || (*mode == Mode::Standard && self.random.chance(self.eager)) {
                    self.received.insert((rank as Rank, number));
                }
                self.posted(rank, *how, What::Send(rank as Rank, number));
            }
            Step::Recv { from, tag, room, how, probe, .. } => {
                let actor = &mut self.actors[rank];
                let mut pattern = (*from, *tag);
                if *probe {
                    let Some(message) = actor.matcher.probe(*from, *tag) else { return false };
                    pattern = (Some(message.from), Some(message.tag));
                }
                let id = actor.receives;
                actor.receives += 1;
                actor.rooms.push(*room);
                if let Some(message) = actor.matcher.post(id, pattern.0, pattern.1) {
                    self.meet(rank, id, message);
                }
                self.posted(rank, *how, What::Receive(id));
            }
            Step::Wait { requests, .. } => {
                let actor = &self.actors[rank];
                if !requests.iter().all(|id| actor.open.get(id).is_some_and(|&what| self.is_over(rank, what))) {
                    return false;
                }
                requests.iter().for_each(|id| _ = self.actors[rank].open.remove(id));
                self.actors[rank].at += 1;
            }
            Step::Collective(_) => return self.gather(rank),
            Step::Iprobe { .. } | Step::Pause { .. } | Step::Free { .. } => self.actors[rank].at += 1,
        }
        true
    }
    fn posted(&mut self, rank: usize, how: Posting, what: What) {
        let actor = &mut self.actors[rank];
        match how.request() {
            None => actor.begun = Some(what),
            Some(id) => {
                actor.open.insert(id, what);
                actor.at += 1;
            }
        }
    }
    fn go_on(&mut self, rank: usize) -> bool {
        let actor = &mut self.actors[rank];
        actor.begun = None;
        actor.at += 1;
        true
    }
    fn meet(&mut self, rank: usize, receive: u32, message: Message) {
        self.actors[rank].got.insert(receive, message);
        self.received.insert((message.from, message.number));
    }
    fn is_over(&self, rank: usize, what: What) -> bool {
        match what {
            What::Send(from, number) => self.received.contains(&(from, number)),
            What::Receive(id) => self.actors[rank].got.contains_key(&id),
        }
    }
    /// A collective: nobody leaves before all have come.
    fn gather(&mut self, rank: usize) -> bool {
        let count = self.actors[rank].gathered;
        let is_there = |other: usize| {
            let actor = &self.actors[other];
            let at = matches!(self.script.ranks[other].get(actor.at), Some(Step::Collective(_)));
            actor.gathered > count || (actor.gathered == count && at && actor.begun.is_none())
        };
        let all = (0..self.actors.len()).all(is_there);
        if all {
            self.actors[rank].gathered += 1;
            self.actors[rank].at += 1;
        }
        all
    }
}
