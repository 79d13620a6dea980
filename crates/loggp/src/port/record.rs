//! What ranks do, as a schedule.
//!
//! An operation waits for the one before it on its rank to have begun, as the program called for them in that order, and
//! for the ends of the messages that the program had taken before: what it sends or computes may depend on them.

use hotlink_port::Rank;
use hotlink_schedule::{Builder, Kind, Op, Schedule};

/// One rank's operations so far.
#[derive(Clone, Default)]
struct Line {
    /// What it does, with the other rank, and its bytes or picoseconds.
    steps: Vec<(Kind, Rank, u64)>,
}

/// The operations of a run.
pub(super) struct Recorder {
    lines: Vec<Line>,
}

impl Recorder {
    pub fn new(ranks: u32) -> Recorder {
        Recorder { lines: vec![Line::default(); ranks as usize] }
    }
    pub fn add(&mut self, rank: Rank, kind: Kind, peer: Rank, size: u64) {
        let steps = &mut self.lines[rank as usize].steps;
        match (kind, steps.last_mut()) {
            (Kind::Calc, _) if size == 0 => {}
            (Kind::Calc, Some((Kind::Calc, _, before))) => *before += size,
            (Kind::Calc, _) => steps.push((kind, 0, size)),
            _ => steps.push((kind, peer, size)),
        }
    }
    /// The schedule; units of `calc` are picoseconds.
    pub fn schedule(self) -> Schedule {
        let mut builder = Builder::new(self.lines.len() as u32);
        for (rank, line) in (0..).zip(self.lines) {
            let first = builder.begin(rank);
            debug_assert!(first, "each rank begins once");
            let (mut before, mut taken) = (None, Vec::new());
            for (kind, peer, size) in line.steps {
                let id = builder.add(Op { kind, cpu: 0, nic: 0, rank, peer, tag: 0, size });
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
