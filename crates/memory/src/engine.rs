//! An engine that moves blocks over the host bus, burst by burst, through the bridge to the banks.

use crate::dram::Dram;
use crate::machine::Machine;
use hotlink_fabric::units::Time;
use std::collections::VecDeque;

/// How an engine moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bursts {
    /// Lines of a burst.
    pub lines: u64,
    /// Time of the bus for a line's data.
    pub data_ps: u64,
    /// Time of the bus for a burst, in addition to its data and its waits.
    pub protocol_ps: u64,
    /// From the start of a burst to that of the next, at least.
    pub every_ps: u64,
    /// From memory to the bus; else to memory.
    pub reads: bool,
}

/// An engine at run time.
pub(crate) struct Engine {
    bursts: Bursts,
    bridge_ps: u64,
    line: u64,
    address: u64,
    /// Start of the burst, and its lines done.
    start: u64,
    done: u64,
    /// When the bus has moved the last line.
    moved: u64,
    /// When room in the bridge is free again, one entry for each line that it holds, the oldest first.
    room: VecDeque<u64>,
    /// Bursts that are over, and when the last was.
    pub over: u64,
    pub ended: u64,
}

/// Where engines' blocks lie.
const BLOCK: u64 = 1 << 44;

impl Engine {
    /// One that begins at `start`; `None` where the machine has no bridge.
    pub fn new(machine: &Machine, bursts: Bursts, start: u64) -> Option<Engine> {
        let bridge = machine.bridge?;
        Some(Engine {
            bursts,
            bridge_ps: bridge.time.0,
            line: machine.line,
            address: BLOCK,
            start,
            done: 0,
            moved: start,
            room: std::iter::repeat_n(0, bridge.lines as usize).collect(),
            over: 0,
            ended: start,
        })
    }

    /// When it asks the memory next.
    pub fn next_at(&self) -> u64 {
        let room = self.room.front().copied().unwrap_or(0);
        match self.bursts.reads {
            true => (self.start + self.bridge_ps).max(room),
            false => self.moved.max(self.start) + self.bursts.data_ps,
        }
    }

    /// Moves a line.
    pub fn step(&mut self, dram: &mut Dram, frame: impl Fn(u64) -> u64) {
        let at = self.next_at();
        let oldest = self.room.pop_front().unwrap_or(0);
        let from = self.moved.max(self.start);
        if self.bursts.reads {
            let came = dram.access_first(at, frame(self.address), false);
            self.moved = came.max(from) + self.bursts.data_ps;
            self.room.push_back(self.moved);
        } else {
            // The bus waits where the bridge's lines have not left for memory.
            self.moved = at.max(oldest);
            self.room.push_back(dram.access_first(self.moved + self.bridge_ps, frame(self.address), true));
        }
        self.address += self.line;
        self.done += 1;
        if self.done == self.bursts.lines {
            self.ended = self.moved + self.bursts.protocol_ps;
            self.over += 1;
            self.done = 0;
            self.start = self.ended.max(self.start + self.bursts.every_ps);
        }
    }
}

/// Where a page of a machine with translation lies; engines use the system's answer.
pub(crate) fn frames(machine: &Machine) -> impl Fn(u64) -> u64 + use<> {
    let page = machine.translation.map(|translation| translation.page);
    move |address| match page {
        Some(page) => crate::translation::frame(address / page) * page + address % page,
        None => address,
    }
}

/// Bursts over which waits are averaged: rows end in between.
const SHOWN: u64 = 256;

/// Time that a burst of this many lines takes on the bus beyond its data when nothing else uses the memory. It is the
/// wait for its first data, and the lag of the memory behind the bus.
pub(crate) fn waits(machine: &Machine, lines: u64, data: Time) -> Option<Time> {
    let bursts = Bursts { lines, data_ps: data.0, protocol_ps: 0, every_ps: 0, reads: true };
    let mut engine = Engine::new(machine, bursts, 0)?;
    let (mut dram, frame) = (Dram::new(&machine.dram), frames(machine));
    while engine.over < SHOWN {
        engine.step(&mut dram, &frame);
    }
    Some(Time((engine.ended / SHOWN).saturating_sub(lines * data.0)))
}
