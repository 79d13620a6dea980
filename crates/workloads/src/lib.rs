//! Workloads of today on the packet network: schedules of any form, and the collectives of GPU clusters.
//!
//! [`schedule`] runs a file's schedule on a fabric. [`collective`] writes a GPU collective from the machine's
//! description ([`gpu`]) and runs it. Both use [`replay`], which gives the time with its bound: the longest chain, the
//! load on the hottest resource, the busiest processor. [`cluster`] gives the levels of a GPU cluster, by which its
//! collectives are bounded without a simulation. `least` counts what bounds one of them, for runs and for results alike.
//!
//! [`measured`] adds these bounds to what nccl-tests printed. [`jobs`] runs several of all these at once on one fabric.
//! [`region`] sets up memory that other nodes reach, and removes it. [`called`] bounds the collectives that a program
//! called there. [`seating`] places ranks on nodes. [`uses`] lists the numbers of a machine that these questions read.

mod beyond;
pub mod called;
pub mod cluster;
pub mod collective;
mod floor;
pub mod gpu;
pub mod jobs;
mod kernels;
mod least;
pub mod measured;
pub mod region;
pub mod replay;
pub mod schedule;
pub mod seating;
pub mod uses;
mod way;
