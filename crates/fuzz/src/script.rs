//! A program as data, and the contents of its messages.

use hotlink_message::{Mode, Options, Policy, Status, Tag};
use hotlink_port::loopback::Random;
use hotlink_port::{Layout, Limits, Memory, Rank, Span};
use serde::{Deserialize, Serialize};

/// A program for a few ranks: what each of them does, step by step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Distinguishes the contents of this script's messages from those of other scripts.
    pub seed: u64,
    /// Where the protocols change over.
    pub tuning: Tuning,
    /// The steps of each rank.
    pub ranks: Vec<Vec<Step>>,
}

/// Thresholds of the protocols: see [`Options`]. `None` is the port's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// [`Options::eager_bytes`].
    pub eager: Option<u64>,
    /// [`Options::piece_bytes`].
    pub piece: Option<u64>,
    /// [`Options::zero_copy_bytes`].
    pub zero_copy: Option<u64>,
    /// [`Options::halves_bytes`].
    pub halves: Option<u64>,
    /// [`Options::kept_bytes`].
    pub kept: Option<u64>,
    /// Draws [`Options::policy`].
    pub policy: u64,
}

impl Tuning {
    /// As a communicator takes them.
    pub fn options(&self, limits: &Limits) -> Options {
        let own = Options::of(limits);
        let policies =
            [Policy::Lru, Policy::Lfu, Policy::BestFit, Policy::Random(self.policy), Policy::Immediate, own.policy];
        Options {
            eager_bytes: self.eager.unwrap_or(own.eager_bytes),
            piece_bytes: self.piece.unwrap_or(own.piece_bytes),
            zero_copy_bytes: self.zero_copy.unwrap_or(own.zero_copy_bytes),
            halves_bytes: self.halves.unwrap_or(own.halves_bytes),
            kept_bytes: self.kept.unwrap_or(own.kept_bytes),
            policy: policies[(self.policy % 6) as usize],
            ..own
        }
    }
}

/// Where a message lies: in which of the rank's memories, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// Which memory of the rank. One memory serves one request at a time.
    pub place: u32,
    /// The memory is ordinary, not a segment that the port shares. One answer for each place.
    pub private: bool,
    /// First byte; at least [`Form::GUARD`].
    pub offset: u64,
    /// Bytes of a block; 0: all in a row.
    pub block: u64,
    /// Bytes from one block's start to the next.
    pub stride: u64,
}

impl Form {
    /// Bytes before and behind a receive's memory that must not change.
    pub const GUARD: u64 = 32;
    /// The layout of this many bytes.
    pub fn layout(&self, bytes: u64) -> Layout {
        if self.block == 0 || !bytes.is_multiple_of(self.block) {
            return Layout::contiguous(bytes);
        }
        Layout::strided(self.block, bytes / self.block, self.stride)
    }
    /// Those bytes in a memory.
    pub fn span(&self, memory: Memory, bytes: u64) -> Span {
        Span { memory, offset: self.offset, layout: self.layout(bytes) }
    }
    /// Bytes that the memory must have for that.
    pub fn needs(&self, bytes: u64) -> u64 {
        self.offset + self.layout(bytes).extent() + Form::GUARD
    }
}

/// How a send or receive is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Posting {
    /// And waited for at once.
    Blocking,
    /// As the request of this number, which a later step waits for.
    Request(u32),
    /// As a start of the persistent request of the second number, which is set up by its first start.
    Persistent(u32, u32),
}

impl Posting {
    /// The request's number.
    pub fn request(&self) -> Option<u32> {
        match *self {
            Posting::Blocking => None,
            Posting::Request(id) | Posting::Persistent(id, _) => Some(id),
        }
    }
}

/// How requests are waited for: each way ends all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// One after the other.
    Each,
    /// All together; none of them may be truncated.
    All,
    /// Until any is over, again and again.
    Any,
    /// Until some are over, again and again.
    Some,
    /// One test after the other.
    Test,
    /// Tests for any.
    TestAny,
    /// Tests for some.
    TestSome,
    /// Tests for all.
    TestAll,
    /// Each after a wait that is given up before its end.
    Cancelled,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collectively {
    /// A barrier. No message is under way between two ranks when they are there, in scripts with wildcards of source.
    Barrier,
    /// A broadcast of this many bytes from a root.
    Bcast(Rank, u64),
    /// A sum of this many 64-bit integers.
    Allreduce(u64),
    /// So many words from each rank to each.
    Alltoall(u64),
}

/// What a rank does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sends a message.
    Send {
        /// To whom.
        to: Rank,
        /// With which tag.
        tag: Tag,
        /// How long it is.
        bytes: u64,
        /// What the send promises.
        mode: Mode,
        /// Where it lies.
        form: Form,
        /// How it is posted.
        how: Posting,
    },
    /// Receives a message.
    Recv {
        /// From whom; `None`: from anybody.
        from: Option<Rank>,
        /// With which tag; `None`: any.
        tag: Option<Tag>,
        /// How long it may be.
        room: u64,
        /// Where to.
        form: Form,
        /// How it is posted.
        how: Posting,
        /// After a probe with the same wildcards, from the source and with the tag that it gave. Only if blocking.
        probe: bool,
    },
    /// Waits for requests.
    Wait {
        /// How.
        how: Waiting,
        /// Which.
        requests: Vec<u32>,
    },
    /// Looks for a message and leaves it there.
    Iprobe {
        /// From whom.
        from: Option<Rank>,
        /// With which tag.
        tag: Option<Tag>,
    },
    /// Lets others go on: so many turns, in which the rank polls if `polls`.
    Pause {
        /// How long.
        turns: u32,
        /// Whether it makes progress meanwhile.
        polls: bool,
    },
    /// Frees a memory; it is allocated again when it is next used.
    Free {
        /// Which.
        place: u32,
    },
    /// Takes part in a collective operation.
    Collective(Collectively),
}

/// A message of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its sender.
    pub from: Rank,
    /// Which of the sender's sends it is.
    pub number: u32,
    /// Its tag.
    pub tag: Tag,
    /// Its length.
    pub bytes: u64,
    /// Makes its contents: see [`contents`].
    pub key: u64,
}

/// What a receive or probe ended with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its status, or why there is none.
    pub status: Result<Status, String>,
    /// Bytes sent, if they were more than the room.
    pub truncated: Option<u64>,
    /// The first bytes of what came (at most 8), little end first: it names the message.
    pub prefix: u64,
    /// What is wrong with the rest, or with memory outside.
    pub damage: Option<String>,
}

impl Script {
    /// The number of messages.
    pub fn messages(&self) -> u64 {
        self.ranks.iter().flatten().filter(|step| matches!(step, Step::Send { .. })).count() as u64
    }
    /// Whether a rank's receives have one outcome: no wildcard of source is among them.
    pub fn is_fixed(&self, rank: Rank) -> bool {
        !self.ranks[rank as usize].iter().any(|step| matches!(step, Step::Recv { from: None, .. }))
    }
    /// The messages to a rank, each sender's in the order in which it sends them.
    pub fn messages_to(&self, to: Rank) -> Vec<Message> {
        let mut messages = Vec::new();
        for (from, steps) in self.ranks.iter().enumerate() {
            let sends = steps.iter().filter(|step| matches!(step, Step::Send { .. }));
            for (number, step) in sends.enumerate() {
                if let Step::Send { to: target, tag, bytes, .. } = *step
                    && target == to
                {
                    let key = message_key(self.seed, from as Rank, number as u32);
                    messages.push(Message { from: from as Rank, number: number as u32, tag, bytes, key });
                }
            }
        }
        messages
    }
    /// Bytes of each memory of a rank, and whether it is private.
    pub fn places(&self, rank: Rank) -> Vec<(u64, bool)> {
        let mut places = Vec::new();
        for step in &self.ranks[rank as usize] {
            let (form, bytes) = match step {
                Step::Send { form, bytes, .. } => (form, *bytes),
                Step::Recv { form, room, .. } => (form, *room),
                _ => continue,
            };
            let place = form.place as usize;
            if places.len() <= place {
                places.resize(place + 1, (0, false));
            }
            places[place] = (form.needs(bytes).max(places[place].0), form.private);
        }
        places
    }
}

/// What makes the contents of a message.
pub fn message_key(seed: u64, from: Rank, number: u32) -> u64 {
    Random::new(seed ^ u64::from(from) << 48 ^ u64::from(number) << 16).draw()
}

/// From one word of a message to the next.
const WORD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The contents of a message: each word differs from the one before and from that of another message.
pub fn contents(key: u64, bytes: u64) -> Vec<u8> {
    let words = bytes.div_ceil(8);
    let mut contents = Vec::with_capacity(8 * words as usize);
    for word in 0..words {
        contents.extend_from_slice(&key.wrapping_add(word.wrapping_mul(WORD)).to_le_bytes());
    }
    contents.truncate(bytes as usize);
    contents
}

/// The first bytes of a message, as a word.
pub fn key_of(data: &[u8]) -> u64 {
    let mut word = [0; 8];
    let known = data.len().min(8);
    word[..known].copy_from_slice(&data[..known]);
    u64::from_le_bytes(word)
}

/// What [`key_of`] gives of a message with this key and so many bytes.
pub fn prefix(key: u64, bytes: u64) -> u64 {
    if bytes >= 8 { key } else { key & ((1 << (8 * bytes)) - 1) }
}
