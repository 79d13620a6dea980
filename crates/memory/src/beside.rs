//! A program and an engine at the same time: each waits for the banks that the other uses.

use crate::dram::Dram;
use crate::engine::{Bursts, Engine, frames};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::team::Team;
use hotlink_fabric::units::Time;

/// A transfer by an engine that goes on while a program computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Bytes of a burst.
    pub burst: u64,
    /// From one burst to the next where nobody else uses the memory: the adapter's and the network's pace.
    pub every: Time,
    /// The bus's own time for a burst's data.
    pub data: Time,
    /// From memory to the adapter; else to memory.
    pub reads: bool,
}

/// By how much a program and a transfer slow each other down: times together over times alone, at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowed {
    /// The program.
    pub program: f64,
    /// The transfer.
    pub transfer: f64,
}

impl Slowed {
    /// Neither notices the other.
    pub const NOT: Slowed = Slowed { program: 1.0, transfer: 1.0 };
}

/// Bursts that a comparison lasts, at least.
const BURSTS: u64 = 64;

/// Both together; the loop on so many processors at once.
pub(crate) fn beside(machine: &Machine, kernel: Kernel, processors: u32, flow: Flow) -> Slowed {
    let machine = &machine.shared_by(processors);
    let lines = flow.burst.div_ceil(machine.line).max(1);
    let data_ps = flow.data.0 / lines;
    let bursts = Bursts { lines, data_ps, protocol_ps: 0, every_ps: flow.every.0.max(1), reads: flow.reads };
    let frame = frames(machine);
    // The transfer alone.
    let Some(mut engine) = Engine::new(machine, bursts, 0) else { return Slowed::NOT };
    let mut dram = Dram::new(&machine.dram);
    while engine.over < BURSTS {
        engine.step(&mut dram, &frame);
    }
    let each_alone = engine.ended as f64 / BURSTS as f64;
    // The program alone, warm, for as many passes as the bursts last.
    let (mut team, mut dram) = (Team::new(machine, kernel, processors), Dram::new(&machine.dram));
    team.pass(&mut dram, |_, _| {});
    let pass = team.pass(&mut dram, |_, _| {}).max(1);
    let passes = (engine.ended / pass).clamp(1, 1 << 12) + 1;
    let start = team.now();
    for _ in 0..passes {
        team.pass(&mut dram, |_, _| {});
    }
    let alone = team.now() - start;
    // Both.
    let start = team.now();
    let Some(mut engine) = Engine::new(machine, bursts, start) else { return Slowed::NOT };
    for _ in 0..passes {
        team.pass(&mut dram, |dram, now| {
            while engine.next_at() <= now {
                engine.step(dram, &frame);
            }
        });
    }
    let together = team.now() - start;
    let each = (engine.ended - start) as f64 / engine.over.max(1) as f64;
    let transfer = if engine.over == 0 { 1.0 } else { each / each_alone };
    Slowed { program: (together as f64 / alone.max(1) as f64).max(1.0), transfer: transfer.max(1.0) }
}
