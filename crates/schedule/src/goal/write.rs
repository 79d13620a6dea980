//! Schedules as LogGOPSim's GOAL text.

use crate::form::{ANY, Kind, Op, Schedule};
use std::io::{self, Write};

impl Schedule {
    /// Writes the text: what [`Schedule::parse`] reads as the same schedule, if its blocks stand in rank order.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "num_ranks {}", self.ranks())?;
        for rank in 0..self.ranks() {
            let block = self.of_rank(rank);
            writeln!(out, "\nrank {rank} {{")?;
            let label = |op: u32| op - block.start + 1;
            for op in block.clone() {
                write!(out, "l{}: ", label(op))?;
                write_op(out, &self.op(op))?;
            }
            for op in block.clone() {
                for (after, start_only) in self.successors(op) {
                    let verb = if start_only { "irequires" } else { "requires" };
                    writeln!(out, "l{} {verb} l{}", label(after), label(op))?;
                }
            }
            writeln!(out, "}}")?;
        }
        Ok(())
    }
}

fn write_op(out: &mut impl Write, op: &Op) -> io::Result<()> {
    let op = op.without_posts();
    match op.kind {
        Kind::Calc | Kind::Post => write!(out, "calc {}", op.size)?,
        Kind::Send => write!(out, "send {}b to {} tag {}", op.size, op.peer, op.tag)?,
        Kind::Recv => {
            write!(out, "recv {}b from ", op.size)?;
            write_or_any(out, op.peer)?;
            write!(out, " tag ")?;
            write_or_any(out, op.tag)?;
        }
    }
    if op.cpu != 0 {
        write!(out, " cpu {}", op.cpu)?;
    }
    if op.nic != 0 {
        write!(out, " nic {}", op.nic)?;
    }
    writeln!(out)
}

fn write_or_any(out: &mut impl Write, number: u32) -> io::Result<()> {
    if number == ANY { write!(out, "-1") } else { write!(out, "{number}") }
}
