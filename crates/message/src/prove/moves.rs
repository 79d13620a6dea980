//! Moves of a world: everything that can happen next, and how a trace is written.

use super::world::World;

/// A step of a rank, or an event that happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Goes on in its program.
    Step,
    /// Polls: the next message from a rank.
    Take(usize),
    /// Polls: the end of its n-th transfer.
    End(usize),
    /// Polls: its n-th transfer failed.
    Fail(usize),
    /// Polls: memory that it was attached to is gone.
    Revoked,
    /// Polls: a rank's program is over, and all that it said has come.
    Left(usize),
    /// Polls: a rank is dead.
    Gone(usize),
    /// The same, and what the dead rank said last is lost.
    GoneSilent(usize),
    /// Polls, and nothing has happened: it says what had to wait.
    Work,
    /// Dies.
    Die,
}

/// A move of a world: who, what, and how choices within the call go (1: the port does what it need not).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move(pub usize, pub What, pub Vec<u8>);

impl Move {
    pub(super) fn source(&self) -> String {
        let Move(rank, what, script) = self;
        let what = match what {
            What::Step => "step".to_owned(),
            What::Take(from) => format!("take{from}"),
            What::End(index) => format!("end{index}"),
            What::Fail(index) => format!("fail{index}"),
            What::Revoked => "revoked".to_owned(),
            What::Left(other) => format!("left{other}"),
            What::Gone(dead) => format!("gone{dead}"),
            What::GoneSilent(dead) => format!("silent{dead}"),
            What::Work => "work".to_owned(),
            What::Die => "die".to_owned(),
        };
        let script: String = script.iter().map(|answer| char::from(b'0' + answer)).collect();
        if script.is_empty() { format!("{rank}:{what}") } else { format!("{rank}:{what}/{script}") }
    }
    /// Reads what [`Fault::source`] prints.
    pub(super) fn parse(text: &str) -> Option<Move> {
        let (rank, what) = text.split_once(':')?;
        let (what, script) = what.split_once('/').unwrap_or((what, ""));
        let (word, number) = what.split_at(what.find(|c: char| c.is_ascii_digit()).unwrap_or(what.len()));
        let number = || number.parse().ok();
        let what = match word {
            "step" => What::Step,
            "take" => What::Take(number()?),
            "end" => What::End(number()?),
            "fail" => What::Fail(number()?),
            "revoked" => What::Revoked,
            "left" => What::Left(number()?),
            "gone" => What::Gone(number()?),
            "silent" => What::GoneSilent(number()?),
            "work" => What::Work,
            "die" => What::Die,
            _ => return None,
        };
        Some(Move(rank.parse().ok()?, what, script.bytes().map(|answer| answer - b'0').collect()))
    }
}

impl World {
    /// Everything that can happen next, but for choices within calls.
    pub(super) fn moves(&self, into: &mut Vec<(usize, What)>) {
        into.clear();
        let net = self.net.borrow();
        let ranks = self.tasks.len();
        if self.case.commutes()
            && let Some(rank) = (0..ranks).find(|&rank| self.steps(rank) && !self.polls(rank))
        {
            into.push((rank, What::Step));
            return;
        }
        for rank in (0..ranks).filter(|&rank| !net.seats[rank].dead && !net.seats[rank].left) {
            if net.left.die > 0 {
                into.push((rank, What::Die));
            }
            if self.steps(rank) {
                into.push((rank, What::Step));
            }
            if !self.polls(rank) {
                continue;
            }
            let seat = &net.seats[rank];
            for from in 0..ranks {
                if !net.channels[from * ranks + rank].is_empty() {
                    into.push((rank, What::Take(from)));
                }
                if net.seats[from].left && seat.heard >> from & 1 == 0 && net.channels[from * ranks + rank].is_empty() {
                    into.push((rank, What::Left(from)));
                }
                // A transfer that a port had begun with a rank ends before it reports that the rank is dead.
                let ended = seat.transfers.is_empty();
                if net.seats[from].dead && seat.heard >> from & 1 == 0 && ended {
                    into.push((rank, What::Gone(from)));
                    if !net.channels[from * ranks + rank].is_empty() {
                        into.push((rank, What::GoneSilent(from)));
                    }
                }
            }
            for index in 0..seat.transfers.len() {
                into.push((rank, What::End(index)));
                if net.left.fail > 0 {
                    into.push((rank, What::Fail(index)));
                }
            }
            if !seat.revoked.is_empty() {
                into.push((rank, What::Revoked));
            }
            if self.engines[rank].is_pending() {
                into.push((rank, What::Work));
            }
        }
    }
}
