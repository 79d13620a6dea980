//! What ranks do, as a schedule.
//!
//! An operation waits until the one before it on its rank has begun, as the program called them in that order. It also
//! waits for the ends of the messages that the program had taken before, because what it sends or computes may depend
//! on them.

use crate::form::{Builder, Kind, Op, Schedule};

/// One rank's operations so far.
#[derive(Clone, Debug, Default)]
struct Line {
    /// What it does, with the other rank and the tag, and its bytes or units of time.
    steps: Vec<(Kind, u32, u32, u64)>,
}

/// The operations of a run.
#[derive(Clone, Debug)]
pub struct Recorder {
    lines: Vec<Line>,
}

impl Recorder {
    /// For so many ranks, none of which has done anything.
    pub fn new(ranks: u32) -> Recorder {
        Recorder { lines: vec![Line::default(); ranks as usize] }
    }
    /// `rank` computes for this many units of time. Computations without a message between them become one.
    pub fn calc(&mut self, rank: u32, units: u64) {
        let steps = &mut self.lines[rank as usize].steps;
        match steps.last_mut() {
            _ if units == 0 => {}
            Some((Kind::Calc, _, _, before)) => *before += units,
            _ => steps.push((Kind::Calc, 0, 0, units)),
        }
    }
    /// `rank` begins to send a message to `peer`.
    pub fn send(&mut self, rank: u32, peer: u32, tag: u32, bytes: u64) {
        self.lines[rank as usize].steps.push((Kind::Send, peer, tag, bytes));
    }
    /// `rank` takes a message of `peer`.
    pub fn recv(&mut self, rank: u32, peer: u32, tag: u32, bytes: u64) {
        self.lines[rank as usize].steps.push((Kind::Recv, peer, tag, bytes));
    }
    /// The schedule, in the units of its computations.
    pub fn schedule(self) -> Schedule {
        let mut builder = Builder::new(self.lines.len() as u32);
        for (rank, line) in (0..).zip(self.lines) {
            let first = builder.begin(rank);
            debug_assert!(first, "each rank begins once");
            let (mut before, mut taken) = (None, Vec::new());
            for (kind, peer, tag, size) in line.steps {
                let id = builder.add(Op { kind, cpu: 0, nic: 0, rank, peer, tag, size });
                if kind != Kind::Recv {
                    taken.drain(..).for_each(|received| builder.requires(id, received, false));
                }
                if let Some(before) = before {
                    builder.requires(id, before, true);
                }
                before = Some(id);
                if kind == Kind::Recv {
                    taken.push(id);
                }
            }
        }
        builder.build()
    }
}
