//! The drivers: one kind of port each, ranks as processes.

use crate::ranks::{self, Doors};
use crate::shm::{MAX_RANKS, ShmPort, World};
use crate::sys;
use hotlink_port::{Driver, Program, Rank, RunError};
use serde::{Serialize, de::DeserializeOwned};
use std::io;
use std::time::Duration;

/// How ranks are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// All ranks are killed when this is over.
    pub limit: Option<Duration>,
    /// Bind each rank to a core of its own, if there are enough.
    pub pin: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { limit: Some(Duration::from_secs(3600)), pin: true }
    }
}

/// Cores that this process may use.
pub fn cores() -> u32 {
    sys::allowed_cores().len() as u32
}

/// More ranks than cores: results tell of the scheduler more than of the fabric.
pub fn is_oversubscribed(ranks: u32) -> bool {
    ranks > cores()
}

fn check_ranks(ranks: u32, most: u32) -> Result<(), RunError> {
    if (1..=most).contains(&ranks) {
        return Ok(());
    }
    Err(RunError::Ranks { ranks, why: format!("1 to {most} are allowed") })
}

/// Ranks over shared memory.
#[derive(Clone, Debug, Default)]
pub struct Shm {
    options: Options,
}

impl Shm {
    /// Ranks on this machine.
    pub fn new(options: Options) -> Shm {
        Shm { options }
    }
}

impl Driver for Shm {
    type Port = ShmPort;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<ShmPort, T>,
    {
        check_ranks(ranks, MAX_RANKS)?;
        let world = World::new(ranks).map_err(|error| RunError::Start(error.to_string()))?;
        ranks::run(ranks, &self.options, &world, program)
    }
}

impl Doors for World {
    type Port = ShmPort;
    fn open(&self, rank: Rank) -> io::Result<ShmPort> {
        Ok(ShmPort::new(self, rank, is_oversubscribed(self.ranks())))
    }
    fn bury(&self, rank: Rank) {
        World::bury(self, rank);
    }
}
