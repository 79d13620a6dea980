//! Schedules: collectives and readers in one binary.

mod collectives;
mod readers;
