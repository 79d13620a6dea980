//! The drivers: one kind of port each, ranks as processes.

use crate::crew::{self, Crew};
use crate::mixed::Gathering;
use crate::ranks::{self, Doors, Options};
use crate::seat::{Seat, Seated};
use crate::shm::{MAX_RANKS, ShmPort, World};
use crate::sys::{self, SharedMemory};
use crate::tcp::{self, Meeting};
use crate::transport::Transport;
use hotlink_port::{Driver, Program, Rank, RunError};
use hotlink_seats::Waits;
use serde::{Serialize, de::DeserializeOwned};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Cores that this process may use.
pub fn cores() -> u32 {
    sys::allowed_cores().len() as u32
}

/// Keeps this thread, and processes that it starts, on one of the cores that it may use: the `index`-th, counted round.
pub fn stay_on(index: u32) {
    let cores = sys::allowed_cores();
    sys::pin(cores[index as usize % cores.len()]);
}

/// Cores of this machine, whether this process may use them or not.
pub fn cores_of_machine() -> u32 {
    sys::online_cores()
}

/// More ranks than cores: results reflect the scheduler more than the fabric.
pub fn is_oversubscribed(ranks: u32) -> bool {
    ranks > cores()
}

fn check_ranks(ranks: u32, most: u32) -> Result<(), RunError> {
    if (1..=most).contains(&ranks) {
        return Ok(());
    }
    Err(RunError::Ranks { ranks, why: format!("1 to {most} are allowed") })
}

/// The launched job that this process is a rank of, if any.
fn launched_crew() -> Result<Option<MutexGuard<'static, Crew>>, RunError> {
    crew::crew()
}

/// This process's rank in the job that a launcher started, and the ranks of that; `None`: it was started alone.
///
/// # Errors
/// The ranks did not find each other.
pub fn launched() -> Result<Option<(u32, u32)>, RunError> {
    Ok(launched_crew()?.map(|crew| (crew.rank, crew.ranks)))
}

/// Whether the job's ranks are all on this machine, as far as they met without the network; so is a process alone.
///
/// # Errors
/// The ranks did not find each other.
pub fn is_one_machine() -> Result<bool, RunError> {
    Ok(launched_crew()?.is_none_or(|crew| crew.is_local()))
}

/// Runs a program on ranks, of which there may be `most`: those that a launcher started, or ranks forked here. Shared
/// memory is one machine's: ranks launched on several each fork such a job of their own.
fn ranks_of<D, T, R>(
    driver: &D,
    (ranks, most): (u32, u32),
    options: &Options,
    of_crew: impl FnOnce(&mut Crew) -> io::Result<D::Shared>,
    program: &R,
) -> Result<Vec<T>, RunError>
where
    D: Transport,
    T: Serialize + DeserializeOwned,
    R: Program<D::Port, T>,
{
    check_ranks(ranks, most)?;
    match launched_crew()?.filter(|crew| !D::IS_ONE_MACHINE || crew.is_local()) {
        Some(mut crew) => ranks::run_launched(&mut crew, ranks, options, of_crew, program),
        None => ranks::run(ranks, options, &driver.share(ranks)?, program),
    }
}

/// Ranks over shared memory, on this machine: forked here, or those that `mpirun` or `srun` started.
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

impl Transport for Shm {
    type Shared = World;
    const IS_ONE_MACHINE: bool = true;
    const SHARES_MEMORY: bool = true;
    fn with(options: Options) -> Shm {
        Shm::new(options)
    }
    fn share(&self, ranks: u32) -> Result<World, RunError> {
        check_ranks(ranks, MAX_RANKS)?;
        let world = World::new(ranks).map_err(|error| RunError::Start(error.to_string()))?;
        Ok(world.joined(self.options.device.clone()))
    }
}

impl Driver for Shm {
    type Port = ShmPort;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<ShmPort, T>,
    {
        ranks_of(self, (ranks, MAX_RANKS), &self.options, |crew| World::of_crew(crew, ranks), program)
    }
}

impl Doors for World {
    type Port = ShmPort;
    fn open(&self, rank: Rank) -> io::Result<ShmPort> {
        Ok(ShmPort::new(self, rank))
    }
    fn bury(&self, rank: Rank) {
        World::bury(self, rank);
    }
    fn waits(&self) -> Option<Arc<Waits>> {
        self.waits.as_ref().map(|(waits, _)| waits.clone())
    }
}

/// Ranks over TCP. They are forked here, on the loopback. Or `mpirun` or `srun` started them, here or (with
/// `HOTLINK_MEET=host:port`, where rank 0 listens) on several machines.
#[derive(Clone, Debug, Default)]
pub struct Tcp {
    options: Options,
}

impl Tcp {
    /// Ranks on this machine.
    pub fn new(options: Options) -> Tcp {
        Tcp { options }
    }
}

impl Transport for Tcp {
    type Shared = Seated<Meeting>;
    fn with(options: Options) -> Tcp {
        Tcp::new(options)
    }
    fn share(&self, ranks: u32) -> Result<Seated<Meeting>, RunError> {
        check_ranks(ranks, tcp::MAX_RANKS)?;
        let meeting = Meeting::new(ranks, is_oversubscribed(ranks));
        meeting.map(Seated).map_err(|error| RunError::Start(error.to_string()))
    }
}

impl Driver for Tcp {
    type Port = Seat;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<Seat, T>,
    {
        let of_crew = |crew: &mut Crew| Meeting::of_crew(crew, ranks).map(Seated);
        ranks_of(self, (ranks, tcp::MAX_RANKS), &self.options, of_crew, program)
    }
}

/// Ranks on many hosts: shared memory within each, TCP between them. Forked here, all are on this host, unless it plays
/// several; or those that a launcher started.
#[derive(Clone, Debug)]
pub struct Mixed {
    options: Options,
    hosts: u32,
}

impl Mixed {
    /// Ranks on this machine, or the launcher's wherever they are.
    pub fn new(options: Options) -> Mixed {
        Mixed { options, hosts: 1 }
    }
    /// Forked ranks as if on that many hosts, in rows of equal length: between rows there is TCP alone.
    pub fn playing(self, hosts: u32) -> Mixed {
        Mixed { hosts: hosts.max(1), ..self }
    }
}

impl Transport for Mixed {
    type Shared = Seated<Gathering>;
    const SHARES_MEMORY: bool = true;
    fn with(options: Options) -> Mixed {
        Mixed::new(options)
    }
    fn share(&self, ranks: u32) -> Result<Seated<Gathering>, RunError> {
        check_ranks(ranks, MAX_RANKS.min(tcp::MAX_RANKS))?;
        Gathering::new(ranks, self.hosts).map(Seated).map_err(|error| RunError::Start(error.to_string()))
    }
}

impl Driver for Mixed {
    type Port = Seat;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<Seat, T>,
    {
        let of_crew = |crew: &mut Crew| Gathering::of_crew(crew, ranks).map(Seated);
        ranks_of(self, (ranks, MAX_RANKS.min(tcp::MAX_RANKS)), &self.options, of_crew, program)
    }
}

/// Half the round trip of a word between two processes over two cache lines, in microseconds: no message over shared
/// memory takes less. Each sample has 100 round trips, by polls with and without a pause between. Which is faster
/// depends on the processor, and the minimum of all is a bound.
pub fn hand_off(options: &Options) -> Result<Vec<f64>, RunError> {
    let Some(mut crew) = launched_crew()? else { return hand_off_here(options) };
    // Launched ranks share no memory before a run: rank 0 forks two of its own, the others wait.
    let own = if crew.rank == 0 { Some(hand_off_here(options)?) } else { None };
    let error = |error: serde_json::Error| RunError::Start(error.to_string());
    let own = own.map(|samples| serde_json::to_vec(&samples)).transpose().map_err(error)?;
    let all = crew.broadcast(own);
    let all = all.map_err(|lost| RunError::RankDied { rank: lost.0, how: "ended before the others".to_owned() })?;
    serde_json::from_slice(&all).map_err(error)
}

pub(crate) fn hand_off_here(options: &Options) -> Result<Vec<f64>, RunError> {
    let lines = Rc::new(SharedMemory::new(4096).map_err(|error| RunError::Start(error.to_string()))?);
    let program = |port: ShmPort| {
        let lines = lines.clone();
        async move { bounce(&lines, hotlink_port::Port::rank(&port)) }
    };
    let world = World::new(2).map_err(|error| RunError::Start(error.to_string()))?;
    let mut results = ranks::run(2, options, &world, &program)?;
    Ok(results.swap_remove(0))
}

/// One side, 0 or 1, of the word's way there and back.
pub(crate) fn bounce(lines: &SharedMemory, side: u32) -> Vec<f64> {
    const TRIPS: u64 = 100;
    const SAMPLES: u64 = 200;
    let (mine, theirs) = (line(lines, u64::from(side)), line(lines, u64::from(1 - side)));
    let mut samples = Vec::new();
    for sample in 0..SAMPLES {
        let start = Instant::now();
        for trip in sample * TRIPS + 1..=(sample + 1) * TRIPS {
            if side == 0 {
                mine.store(trip, Ordering::Release);
            }
            spin_until(theirs, trip, sample % 2 == 0);
            if side == 1 {
                mine.store(trip, Ordering::Release);
            }
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / TRIPS as f64 / 2.0);
    }
    samples
}

#[allow(unsafe_code)]
fn line(lines: &SharedMemory, index: u64) -> &AtomicU64 {
    // SAFETY: a word of its own line inside the page, which lives as long as `lines`.
    unsafe { &*lines.start().wrapping_add(index as usize * 128).cast::<AtomicU64>() }
}

/// Spins, with or without a pause; lets others have the core when it takes long.
fn spin_until(word: &AtomicU64, value: u64, pauses: bool) {
    let mut spins = 0u32;
    while word.load(Ordering::Acquire) != value {
        spins = spins.wrapping_add(1);
        if spins.is_multiple_of(4096) {
            sys::yield_core();
        } else if pauses {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_bound_to_a_core_each_are_no_crowd() {
        let allowed = sys::allowed_cores();
        let worlds = [allowed.len() as u32, allowed.len() as u32 + 1].map(|ranks| World::new(ranks).unwrap());
        sys::pin(allowed[0]);
        let crowded = worlds.map(|world| world.open(0).unwrap().is_crowded());
        sys::allow(&allowed);
        assert_eq!(crowded, [false, true]);
    }
}
