//! Benchmarks with an observer on every port: the time of each operation and wait, their number, and faults beneath.

use crate::Record;
use hotlink_fabric::units::Time;
use hotlink_message::described;
use hotlink_port::middleware::{Count, Fault, Layer, Step, Wrapped};
use hotlink_port::{Attachment, Event, Note, Op, Port, Posted, Rank, Refusal};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The request for observers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watching {
    /// A timeline of operations and waits.
    pub trace: bool,
    /// How many operations.
    pub count: bool,
    /// Faults beneath the message stack.
    pub faults: Option<Faults>,
}

impl Watching {
    /// Of these wishes; `None`: there need be no observer. Of a fault that is named twice the last holds.
    ///
    /// # Errors
    /// A fault or a percentage that there is not.
    pub fn of(trace: bool, count: bool, inject: &[(String, u64)], seed: u64) -> Result<Option<Watching>, String> {
        let none = Faults { seed, ..Faults::default() };
        let faults = inject.iter().try_fold(none, |faults, (name, percent)| faults.with(name, *percent))?;
        let watching = Watching { trace, count, faults: (!inject.is_empty()).then_some(faults) };
        Ok((watching != Watching::default()).then_some(watching))
    }
}

/// Shares of operations that go wrong as a port is allowed to let them: see [`Fault`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Percent of posts for which there is no room.
    pub busy: u64,
    /// Percent of polls that give nothing.
    pub late: u64,
    /// Percent of registrations and attachments that are refused.
    pub scarce: u64,
    /// Of the draws; each rank has a stream of its own.
    pub seed: u64,
}

impl Faults {
    /// Beyond this a port hardly ever does what it is asked for.
    pub const MOST_PERCENT: u64 = 90;

    /// Of a fault as it is written, its name and its percentage: `busy:20`, or `busy` for 10 %.
    ///
    /// # Errors
    /// What is allowed.
    pub fn read(text: &str) -> Result<(String, u64), String> {
        let (name, percent) = text.split_once(':').unwrap_or((text, "10"));
        // A word that is no number is out of range, too.
        let percent = percent.parse().unwrap_or(0);
        Faults::default().with(name, percent).map(|_| (name.to_owned(), percent))
    }

    /// Adds a fault that strikes in this percentage of its cases.
    ///
    /// # Errors
    /// What is allowed.
    pub fn with(mut self, name: &str, percent: u64) -> Result<Faults, String> {
        let most = Faults::MOST_PERCENT;
        let share = match name {
            "busy" => &mut self.busy,
            "late" => &mut self.late,
            "scarce" => &mut self.scarce,
            _ => return Err(format!("`{name}`: must be busy, late or scarce, and 1 to {most} percent, as busy:20")),
        };
        if !(1..=most).contains(&percent) {
            return Err(format!("{name}: must be 1 to {most} percent, as {name}:20"));
        }
        *share = percent;
        Ok(self)
    }

    /// The faults of one rank's port.
    fn of(self, rank: Rank) -> Fault {
        Fault::new(self.seed.wrapping_add(u64::from(rank)), self.busy, self.late, self.scarce)
    }
    /// As records name them.
    pub fn name(&self) -> String {
        let shares = [("busy", self.busy), ("late", self.late), ("scarce", self.scarce)];
        let named = shares.iter().filter(|share| share.1 > 0).map(|(name, percent)| format!("{name}:{percent}"));
        named.collect::<Vec<_>>().join(",")
    }
}

/// Something that a rank's port did, or waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happening {
    /// What, as people call it.
    pub name: String,
    /// From when, in picoseconds of the rank's clock.
    pub from_ps: u64,
    /// How long.
    pub ps: u64,
    /// The other rank.
    pub peer: Option<Rank>,
    /// Bytes moved.
    pub bytes: Option<u64>,
    /// The message's tag.
    pub tag: Option<u32>,
}

/// The observations of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The timeline, if asked for: the first [`Seen::MOST`].
    pub happenings: Vec<Happening>,
    /// How many more there were.
    pub left_out: u64,
    /// How many operations.
    pub count: Count,
}

impl Seen {
    /// Most happenings that one rank keeps of a run.
    pub const MOST: usize = 20_000;

    fn push(&mut self, happening: Happening) {
        match self.happenings.len() < Seen::MOST {
            true => self.happenings.push(happening),
            false => self.left_out += 1,
        }
    }
}

/// The layer that sees.
pub struct Observer {
    log: Rc<RefCell<Seen>>,
    trace: bool,
    /// The owners of imported memory.
    owners: BTreeMap<Attachment, Rank>,
    awaits: (Option<Rank>, Option<u32>),
}

/// A port under observation, with faults beneath.
pub type Observed<P> = Wrapped<Wrapped<P, Fault>, Observer>;

impl Watching {
    /// Wraps a port; what is seen of it goes to the log.
    pub fn wrap<P: Port>(&self, port: P) -> (Observed<P>, Rc<RefCell<Seen>>) {
        let log = Rc::new(RefCell::new(Seen::default()));
        let observer = Observer { log: log.clone(), trace: self.trace, owners: BTreeMap::new(), awaits: (None, None) };
        let faults = self.faults.unwrap_or_default().of(port.rank());
        (Wrapped::new(Wrapped::new(port, faults), observer), log)
    }
}

impl Observer {
    fn posted(&self, op: &Op<'_>) -> (String, Option<Rank>, Option<u64>, Option<u32>) {
        let owner = |attachment: &Attachment| self.owners.get(attachment).copied();
        match op {
            Op::Control { to, head, payload } => {
                let (what, tag) = described(head).unwrap_or(("control", None));
                (what.to_owned(), Some(*to), Some(payload.bytes()), tag)
            }
            Op::Deposit { from, to, engine, .. } => {
                (format!("deposit by {engine}"), owner(&to.attachment), Some(from.bytes()), None)
            }
            Op::Fetch { from, to, engine, .. } => {
                (format!("fetch by {engine}"), owner(&from.attachment), Some(to.bytes()), None)
            }
            Op::Barrier { .. } => ("barrier by the port".to_owned(), None, None, None),
            Op::Reduce { from, .. } => ("reduction by the port".to_owned(), None, Some(from.bytes()), None),
            Op::Broadcast { payload, .. } => ("broadcast by the port".to_owned(), None, Some(payload.bytes()), None),
        }
    }
}

impl Layer for Observer {
    const TIMED: bool = true;

    fn after_post(&mut self, now: Time, op: &Op<'_>, posted: Posted) {
        self.log.borrow_mut().count.after_post(now, op, posted);
    }
    fn after_poll(&mut self, now: Time, event: Option<&Event>) {
        self.log.borrow_mut().count.after_poll(now, event);
    }
    fn before_setup(&mut self) -> Option<Refusal> {
        self.log.borrow_mut().count.before_setup()
    }
    fn attached(&mut self, attachment: Attachment, owner: Rank) {
        self.owners.insert(attachment, owner);
    }
    fn hears(&mut self, note: Note) {
        if let Note::Waits { peer, tag, .. } = note {
            self.awaits = (peer, tag);
        }
    }
    fn took(&mut self, step: Step<'_>, from: Time, to: Time) {
        if !self.trace {
            return;
        }
        let (name, peer, bytes, tag) = match step {
            Step::Post(op, Posted::Accepted) => self.posted(op),
            Step::Post(op, answer) => {
                let (name, peer, bytes, tag) = self.posted(op);
                let answer = if answer == Posted::Busy { "busy" } else { "refused" };
                (format!("{name}: {answer}"), peer, bytes, tag)
            }
            Step::Local(name, bytes) => (name.to_owned(), None, bytes, None),
            Step::Wait(Some(Event::Control { from, head, bytes })) => {
                let tag = described(head).and_then(|(_, tag)| tag).or(self.awaits.1);
                ("wait".to_owned(), Some(*from), Some(*bytes), tag)
            }
            Step::Wait(_) => ("wait".to_owned(), self.awaits.0, None, self.awaits.1),
        };
        let (from_ps, ps) = (from.0, to.0.saturating_sub(from.0));
        self.log.borrow_mut().push(Happening { name, from_ps, ps, peer, bytes, tag });
    }
}
/// The record with what the ports' observers counted, and the faults that there were.
pub fn with_seen(record: Record, watching: Option<&Watching>, seen: &[Seen]) -> Record {
    let Some(watching) = watching else { return record };
    let record = match watching.faults {
        Some(faults) => record.with("injected", faults.name()).with("inject_seed", faults.seed),
        None => record,
    };
    if !watching.count || seen.is_empty() {
        return record;
    }
    let sum = |of: fn(&Count) -> u64| seen.iter().map(|seen| of(&seen.count)).sum::<u64>();
    record
        .with("count_controls", sum(|count| count.controls))
        .with("count_control_bytes", sum(|count| count.control_bytes))
        .with("count_transfers", sum(|count| count.transfers))
        .with("count_transfer_bytes", sum(|count| count.transfer_bytes))
        .with("count_busy", sum(|count| count.busy))
        .with("count_refused", sum(|count| count.refused))
        .with("count_events", sum(|count| count.events))
        .with("count_empty_polls", sum(|count| count.empty_polls))
        .with("count_setups", sum(|count| count.setups))
}
