//! Workloads of today on the packet network: schedules of any form, and the collectives of GPU clusters.
//!
//! [`schedule`] runs a file's schedule on a fabric; [`collective`] writes a GPU collective from the machine's description
//! ([`gpu`]) and runs it. Both stand on [`replay`], which puts the bound beside the time: the longest chain, the load on the
//! hottest resource, the busiest processor. [`cluster`] gives the levels of a GPU cluster, by which its collectives are
//! bounded without a simulation. [`measured`] puts these beside what nccl-tests printed. [`jobs`] runs several
//! of all these at once on one fabric. [`region`] sets up memory that other nodes reach, and takes it away. [`called`]
//! bounds the collectives that a program called there. [`seating`] says on which nodes ranks are. [`uses`] tells which
//! numbers of a machine these questions read.

pub mod called;
pub mod cluster;
pub mod collective;
pub mod gpu;
pub mod jobs;
pub mod measured;
pub mod region;
pub mod replay;
pub mod schedule;
pub mod seating;
pub mod uses;
