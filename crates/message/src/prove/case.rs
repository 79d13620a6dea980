//! A case of the checker: a program for each rank, ports of a shape, and faults.

use super::port::{CELL, Door, Faults, Shape};
use crate::cache::Policy;
use crate::{Mode, Options, Tag};
use hotlink_port::{Kind, Rank};

/// Sizes of messages and receives, each on another side of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// No bytes.
    Empty,
    /// Eager wherever it lies.
    Short,
    /// Eager unless it would be moved without buffers.
    Edge,
    /// By rendezvous; two pieces, if in pieces.
    Long,
    /// Long enough to be moved by both sides.
    Huge,
}

impl Size {
    /// In cells.
    pub(super) fn cells(self) -> u64 {
        match self {
            Size::Empty => 0,
            Size::Short => 1,
            Size::Edge => 2,
            Size::Long => 9,
            Size::Huge => 16,
        }
    }
}

/// One step of a rank's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Starts a send; `waits`: the program does nothing else until it is over.
    #[allow(missing_docs)]
    Send { to: Rank, tag: Tag, size: Size, mode: Mode, waits: bool },
    /// Starts a receive with room for `size`; `waits`: the program does nothing else until it is over.
    #[allow(missing_docs)]
    Recv { from: Option<Rank>, tag: Option<Tag>, size: Size, waits: bool },
    /// Waits for the rank's send or receive of this number.
    Wait(usize),
    /// Polls as long as it likes: a test, or a wait that is given up.
    Turn,
    /// Waits until such a message is announced.
    #[allow(missing_docs)]
    Probe { from: Option<Rank>, tag: Option<Tag> },
}

/// A program for each rank and what its world may do to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The program of each rank.
    pub programs: Vec<Vec<Step>>,
    /// The shape of the ports.
    pub shape: Shape,
    /// The programs' memory is private, not a regular segment.
    pub private: bool,
    /// Two blocks with a gap, where a message has cells enough.
    pub strided: bool,
    /// Registrations and attachments are released after use, and memory is freed.
    pub frees: bool,
    /// Ranks poll between any two steps, not only where they wait.
    pub turns: bool,
    /// A rank whose program is over polls no more: what it has not sent by then is never sent.
    pub leaves: bool,
    /// The faults that may happen.
    pub faults: Faults,
}

impl Case {
    /// These programs on ports with both engines and room for everything.
    pub fn new(programs: &[&[Step]]) -> Case {
        Case {
            programs: programs.iter().map(|steps| steps.to_vec()).collect(),
            shape: Shape { door: Door::Both, room: 99, slots: 99, entries: 99 },
            private: false,
            strided: false,
            frees: false,
            turns: false,
            leaves: false,
            faults: Faults::default(),
        }
    }
    pub(super) fn options(&self) -> Options {
        Options {
            eager_bytes: Size::Edge.cells() * CELL,
            piece_bytes: 8 * CELL,
            zero_copy_bytes: Size::Edge.cells() * CELL,
            halves_bytes: Size::Huge.cells() * CELL,
            policy: if self.frees { Policy::Immediate } else { Policy::Lru },
            // Two of the longest eager messages may be on the way before any is taken.
            kept_bytes: 0,
            memory: Kind::Default,
            align: hotlink_port::Align::Default,
        }
    }
    /// Whether a rank that starts a step without polling can do so before all others move. Nothing that the others do
    /// changes its step, and the step only adds to the ends of queues.
    pub(super) fn commutes(&self) -> bool {
        let faults = Faults { fail: 0, ..self.faults } != Faults::default();
        let scarce = self.shape.room < 99 || self.shape.slots < 99 || self.shape.entries < 99;
        !self.turns && !self.frees && !faults && !scarce
    }
    /// As a Rust expression that one can paste.
    pub fn source(&self) -> String {
        let standard = Case::new(&[]);
        let programs: Vec<String> = self.programs.iter().map(|steps| format!("        &{steps:?},\n")).collect();
        let mut fields = String::new();
        let Case { shape, private, strided, frees, turns, leaves, faults, .. } = self;
        if *shape != standard.shape {
            fields += &format!("        shape: {shape:?},\n").replace("door: ", "door: Door::");
        }
        let flags =
            [("private", private), ("strided", strided), ("frees", frees), ("turns", turns), ("leaves", leaves)];
        for (name, on) in flags {
            if *on {
                fields += &format!("        {name}: true,\n");
            }
        }
        if *faults != standard.faults {
            fields += &format!("        faults: {faults:?},\n");
        }
        let mut text = format!(
            "    let case = Case {{\n{fields}        ..Case::new(&[\n{}        ])\n    }};\n",
            programs.concat()
        );
        for (plain, path) in [("size: ", "size: Size::"), ("mode: ", "mode: Mode::")] {
            text = text.replace(plain, path);
        }
        text
    }
}
