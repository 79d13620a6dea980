//! GOAL, the schedules of LogGOPSim: its text and the binary form that its `txt2bin` makes of it.

pub(crate) mod binary;
pub(crate) mod parse;
mod text;
mod window;
mod write;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct GoalError {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What was wrong, and what is allowed.
    pub what: String,
}
