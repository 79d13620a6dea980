//! Draws scripts: what their parts have in common.

use super::model::Matcher;
use super::script::{Collectively, Form, Message, Posting, Script, Step, Tuning, Waiting, message_key};
use hotlink_message::{Mode, Tag};
use hotlink_port::loopback::Random;
use hotlink_port::{Limits, Rank};
use std::collections::BTreeSet;

/// What scripts are drawn for.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The port's: sizes lie around its thresholds.
    pub limits: Limits,
    /// Longest message.
    pub longest: u64,
    /// Messages may be longer than the room of their receive, which MPI calls an error of the program.
    pub truncates: bool,
    /// The number of ranks and the thresholds, if they are not to be drawn.
    pub setting: Option<(u32, Tuning)>,
}

impl Ground {
    /// For a port with these limits.
    pub fn new(limits: Limits, longest: u64) -> Ground {
        Ground { limits, longest, truncates: true, setting: None }
    }
}

/// A number of ranks and thresholds, drawn from a seed.
pub(super) fn setting(seed: u64) -> (u32, Tuning) {
    let mut random = Random::new(seed ^ 0x5E77);
    (2 + random.below(3) as u32, tuning(&mut random))
}

/// A legal script: the same for the same seed and ground.
pub fn generate(seed: u64, ground: &Ground) -> Script {
    let mut random = Random::new(seed);
    let (ranks, tuning) = ground.setting.unwrap_or_else(|| setting(seed));
    // What follows is not what the setting was drawn from.
    random.draw();
    let mut draw = Draw::new(seed, ranks as usize, tuning, ground, random);
    for _ in 0..1 + draw.random.below(3) {
        if draw.random.chance(35) { draw.wild() } else { draw.deterministic() }
    }
    draw.script
}

fn tuning(random: &mut Random) -> Tuning {
    let policy = random.below(1000);
    if random.chance(40) {
        return Tuning { policy, ..Tuning::default() };
    }
    let of = |random: &mut Random, choices: &[u64]| Some(choices[random.below(choices.len() as u64) as usize]);
    Tuning {
        eager: of(random, &[0, 64, 256, 256, 1000]),
        piece: of(random, &[1, 100, 128, 256]).filter(|&piece| piece > 1),
        zero_copy: of(random, &[0, 0, 1, 300, 1000, u64::MAX]),
        halves: of(random, &[1, 1000, 4097, u64::MAX]),
        kept: if random.chance(60) { Some(0) } else { None },
        policy,
    }
}

/// A request that is not waited for yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) request: u32,
    pub(super) place: u32,
    pub(super) what: What,
    pub(super) persistent: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Send(u32),
    Receive(u32),
}

/// A rank as its steps are drawn.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) open: Vec<Open>,
    pub(super) free: Vec<u32>,
    pub(super) private: Vec<bool>,
    pub(super) requests: u32,
    pub(super) sends: u32,
    pub(super) receives: u32,
    pub(super) persistents: u32,
    /// Persistent requests that may be started again: a send or receive each, and its place.
    pub(super) kept: Vec<(Step, u32)>,
    pub(super) matcher: Matcher,
    /// By receive: its room.
    pub(super) rooms: Vec<u64>,
    /// Receives and sends that have met theirs, and receives whose message is too long.
    pub(super) met: BTreeSet<What>,
    pub(super) truncated: BTreeSet<u32>,
}

pub(super) struct Draw<'a> {
    pub(super) random: Random,
    pub(super) ground: &'a Ground,
    pub(super) script: Script,
    pub(super) desks: Vec<Desk>,
    sizes: Vec<u64>,
}

impl Draw<'_> {
    fn new(seed: u64, ranks: usize, tuning: Tuning, ground: &Ground, random: Random) -> Draw<'_> {
        let script = Script { seed, tuning, ranks: vec![Vec::new(); ranks] };
        let desks = (0..ranks).map(|_| Desk::default()).collect();
        Draw { random, ground, script, desks, sizes: sizes(&tuning, ground) }
    }
    pub(super) fn any_rank(&mut self) -> usize {
        self.random.below(self.desks.len() as u64) as usize
    }
    pub(super) fn any_tag(&mut self) -> Tag {
        self.random.below(3) as Tag
    }
    /// One of the given choices, at least one.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.below(choices.len() as u64) as usize]
    }
    pub(super) fn size(&mut self) -> u64 {
        let sizes = std::mem::take(&mut self.sizes);
        // Long ones cost the most time, and show little more.
        let mut size = self.one_of(&sizes);
        if size > 16 << 10 && !self.random.chance(30) {
            size = self.one_of(&sizes);
        }
        self.sizes = sizes;
        size
    }
    pub(super) fn mode(&mut self) -> Mode {
        self.one_of(&[Mode::Standard, Mode::Standard, Mode::Standard, Mode::Restricted, Mode::Postal])
    }
    pub(super) fn push(&mut self, rank: usize, step: Step) {
        self.script.ranks[rank].push(step);
    }
    /// A form for a message of this many bytes in a memory of `rank` that nothing else uses.
    pub(super) fn form(&mut self, rank: usize, bytes: u64) -> Form {
        let fresh = self.desks[rank].free.is_empty() || self.random.chance(30);
        let place = if fresh {
            let private = self.random.chance(50);
            let desk = &mut self.desks[rank];
            desk.private.push(private);
            desk.private.len() as u32 - 1
        } else {
            let at = self.random.below(self.desks[rank].free.len() as u64) as usize;
            self.desks[rank].free.swap_remove(at)
        };
        let private = self.desks[rank].private[place as usize];
        let (offset, gap) = (self.one_of(&[64, 64, 64, 65, 4096]), self.one_of(&[0, 1, 8, 64]));
        let blocks = [1, 4, 8, 64, 2048, 4096]
            .map(|block| if bytes.is_multiple_of(block) && bytes / block <= 300 { block } else { 0 });
        let block = if bytes > 0 && self.random.chance(35) { self.one_of(&blocks) } else { 0 };
        Form { place, private, offset, block, stride: block + gap.max(1) }
    }
    pub(super) fn request(&mut self, rank: usize) -> u32 {
        self.desks[rank].requests += 1;
        self.desks[rank].requests - 1
    }
    /// The message that the next send of `from` is.
    pub(super) fn next_message(&mut self, from: usize, tag: Tag, bytes: u64) -> Message {
        let number = self.desks[from].sends;
        self.desks[from].sends += 1;
        Message { from: from as Rank, number, tag, bytes, key: message_key(self.script.seed, from as Rank, number) }
    }
    /// Something between messages, now and then.
    pub(super) fn aside(&mut self, rank: usize) {
        match self.random.below(12) {
            0..=3 => {
                let turns = self.one_of(&[1, 2, 5, 20]);
                let polls = self.random.chance(70);
                self.push(rank, Step::Pause { turns, polls });
            }
            4 => {
                let from = if self.random.chance(50) { None } else { Some(self.any_rank() as Rank) };
                let tag = if self.random.chance(50) { None } else { Some(self.any_tag()) };
                self.push(rank, Step::Iprobe { from, tag });
            }
            5 if !self.desks[rank].free.is_empty() => {
                let free = self.desks[rank].free.clone();
                let place = self.one_of(&free);
                self.push(rank, Step::Free { place });
            }
            _ => {}
        }
    }
    pub(super) fn collective(&mut self, what: Collectively) {
        for rank in 0..self.desks.len() {
            self.push(rank, Step::Collective(what));
        }
    }
    /// Waits for some of the requests of a rank that are `over`, or for all of those.
    pub(super) fn wait(&mut self, rank: usize, all: bool) {
        let mut chosen = Vec::new();
        let open = std::mem::take(&mut self.desks[rank].open);
        for one in open {
            let over = self.desks[rank].met.contains(&one.what);
            if over && (all || self.random.chance(60)) { chosen.push(one) } else { self.desks[rank].open.push(one) }
        }
        for i in (1..chosen.len()).rev() {
            chosen.swap(i, self.random.below(i as u64 + 1) as usize);
        }
        while !chosen.is_empty() {
            let count = 1 + self.random.below(chosen.len() as u64) as usize;
            let group: Vec<Open> = chosen.drain(..count).collect();
            let how = self.way_to_wait(rank, &group);
            self.push(rank, Step::Wait { how, requests: group.iter().map(|one| one.request).collect() });
            for one in group {
                self.ended(rank, one);
            }
            self.aside(rank);
        }
    }
    fn way_to_wait(&mut self, rank: usize, group: &[Open]) -> Waiting {
        let all = [
            Waiting::Each,
            Waiting::Each,
            Waiting::Any,
            Waiting::Some,
            Waiting::Test,
            Waiting::TestAny,
            Waiting::TestSome,
            Waiting::TestAll,
            Waiting::Cancelled,
            Waiting::All,
        ];
        let cut = |one: &Open| matches!(one.what, What::Receive(id) if self.desks[rank].truncated.contains(&id));
        let whole = !group.iter().any(cut);
        self.one_of(if whole { &all } else { &all[..9] })
    }
    fn ended(&mut self, rank: usize, one: Open) {
        match one.persistent {
            None => self.desks[rank].free.push(one.place),
            Some(number) => {
                let is = |step: &&Step| match step {
                    Step::Send { how: Posting::Persistent(_, own), .. } => *own == number,
                    Step::Recv { how: Posting::Persistent(_, own), .. } => *own == number,
                    _ => false,
                };
                if let Some(step) = self.script.ranks[rank].iter().find(is).cloned() {
                    self.desks[rank].kept.push((step, number));
                }
            }
        }
    }
}

/// Sizes of messages: short ones, and those about the thresholds.
fn sizes(tuning: &Tuning, ground: &Ground) -> Vec<u64> {
    let (limits, options) = (&ground.limits, tuning.options(&ground.limits));
    let setup = &limits.registration;
    let thresholds = [
        limits.inline_bytes,
        options.eager_bytes,
        16 << 10,
        options.zero_copy_bytes,
        setup.private_zero_copy_min,
        setup.private_block_min,
        options.piece_bytes,
        options.piece_bytes.saturating_mul(2),
        limits.control_bytes_max,
        options.halves_bytes,
        options.halves_bytes.saturating_mul(2),
        4096,
        8192,
    ];
    let mut sizes = vec![0, 1, 2, 8, 9, 24, 64, 100, 200, 1000];
    for threshold in thresholds {
        sizes.extend([threshold.saturating_sub(1), threshold, threshold.saturating_add(1)]);
    }
    sizes.retain(|&size| size <= ground.longest);
    sizes
}
