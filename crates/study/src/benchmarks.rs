//! Every benchmark, and which side runs it: real ranks, the packet simulator, machines calibrated as LogGP.

use crate::Error;
use crate::options::Spin;
use hotlink_bench::{Kernel, Plan, Proportions};

/// A benchmark by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// Its name.
    pub name: &'static str,
    /// Between real ranks.
    pub measured: bool,
    /// On a simulated network.
    pub packet: bool,
    /// On a machine calibrated as LogGP.
    pub loggp: bool,
    /// Why a side lacks it, and what comes nearest there; empty where every side has it.
    pub instead: &'static str,
}

const fn all(name: &'static str) -> Benchmark {
    Benchmark { name, measured: true, packet: true, loggp: true, instead: "" }
}
const fn measured(name: &'static str, instead: &'static str) -> Benchmark {
    Benchmark { name, measured: true, packet: false, loggp: false, instead }
}
const fn packet(name: &'static str, instead: &'static str) -> Benchmark {
    Benchmark { name, measured: false, packet: true, loggp: false, instead }
}
const fn no_loggp(name: &'static str, instead: &'static str) -> Benchmark {
    Benchmark { name, measured: true, packet: true, loggp: false, instead }
}

/// All of them.
pub const BENCHMARKS: &[Benchmark] = &[
    all("pingpong"),
    all("stream"),
    all("rate"),
    all("pairs"),
    no_loggp("semantics", "a LogGP machine takes messages whole: it has no protocols to compare"),
    no_loggp("saturation", "a LogGP machine has no links to saturate; `rate` counts what its ranks send"),
    no_loggp("deposit", "a LogGP machine knows messages, not stores"),
    no_loggp("region", "a LogGP machine knows messages, not memory that others reach"),
    no_loggp("overlap", "a LogGP machine says nothing of computation during a message"),
    all("barrier"),
    all("bcast"),
    all("reduce"),
    all("allreduce"),
    all("allgather"),
    all("alltoall"),
    all("alltoallv"),
    all("gather"),
    all("scatter"),
    all("reduce-scatter"),
    all("kernel"),
    all("is"),
    measured("sockets", "the kernel's TCP/IP is simulated by `simulate pingpong --via tcp`"),
    measured("memory", "a simulated host's memory is `simulate deposit --series local`"),
    measured("registration", "the cost of registrations is simulated by `simulate cache-study` and `--cache`"),
    packet("cache-study", "real registrations are timed by `measure registration`"),
    packet("jobs", "real jobs are measured each by itself"),
    packet("schedule", "real ranks run programs, not schedules: `measure COLLECTIVE --algorithm NAME`"),
    Benchmark {
        name: "goal",
        measured: false,
        packet: true,
        loggp: true,
        instead: "real ranks run programs, not schedules: `measure COLLECTIVE --algorithm NAME`",
    },
    packet("traffic", "an open loop needs a network of its own; `measure saturation` loads a real one"),
];

/// The message of a face that lacks a benchmark: the face that has it, and the nearest one here. `verb` is that face.
pub fn elsewhere(name: &str, verb: &str) -> Option<String> {
    let found = BENCHMARKS.iter().find(|benchmark| benchmark.name == name)?;
    let other = if verb == "measure" { "simulate" } else { "measure" };
    let is_other = if verb == "measure" { found.packet || found.loggp } else { found.measured };
    is_other.then(|| format!("{name} is a benchmark of `hotlink {other}`: {}", found.instead))
}

/// The table of sides, as text.
pub fn table() -> String {
    let mark = |has: bool| if has { "yes" } else { "-" };
    let line = |of: &Benchmark| {
        let [a, b, c] = [of.measured, of.packet, of.loggp].map(mark);
        format!("  {:<14} {a:<8} {b:<9} {c:<6} {}", of.name, of.instead).trim_end().to_owned()
    };
    let lines: Vec<String> = BENCHMARKS.iter().map(line).collect();
    format!("  {:<14} {:<8} {:<9} {:<6}\n{}", "benchmark", "measure", "simulate", "LogGP", lines.join("\n"))
}

/// Refuses empty messages, which have no bandwidth.
///
/// # Errors
/// There is one.
pub fn check_sizes(sizes: &[u64]) -> Result<(), Error> {
    match sizes.contains(&0) {
        true => Err(Error::Input("--size 0: an empty message has no bandwidth; must be 1 or more".to_owned())),
        false => Ok(()),
    }
}

/// Most ranks of `pairs`: the square of that many ping-pongs are run.
const MOST_IN_PAIRS: u32 = 256;

/// Refuses a number of ranks that `pairs` cannot have.
///
/// # Errors
/// What is allowed.
pub fn check_pairs(ranks: u32) -> Result<(), Error> {
    match (2..=MOST_IN_PAIRS).contains(&ranks) {
        true => Ok(()),
        false => Err(Error::Input(format!("--ranks {ranks}: must be 2 to {MOST_IN_PAIRS}"))),
    }
}

/// Most threads that compute during a message.
const MOST_THREADS: u32 = 256;

/// Refuses inputs that have no curve of overlap. They are sizes, computation times as `shares` of a message's own time,
/// and threads of a form that is not asked for.
///
/// # Errors
/// What is allowed.
pub fn check_overlap(sizes: &[u64], shares: &[f64], (spins, threads): (&[Spin], Option<u32>)) -> Result<(), Error> {
    if let Some(threads) = threads {
        if !spins.contains(&Spin::Threads) {
            let what = "only `--spin threads` computes with several; add it, or leave --threads out";
            return Err(Error::Input(format!("--threads {threads}: {what}")));
        }
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(Error::Input(format!("--threads {threads}: must be 1 to {MOST_THREADS}")));
        }
    }
    if sizes.contains(&0) {
        let what = "--size 0: an empty message has nothing to hide; must be 1 or more";
        return Err(Error::Input(what.to_owned()));
    }
    match shares.iter().find(|share| !(0.01..=100.0).contains(*share)) {
        Some(share) => Err(Error::Input(format!("--compute {share}: must be a share from 0.01 to 100"))),
        None => Ok(()),
    }
}

/// An application bound by barriers: its proportions, the most that a rank computes longer than the others, and how many
/// barriers it passes.
///
/// # Errors
/// What is out of range, and the range.
pub fn kernel(of: Proportions, skew_us: f64, iterations: u64, seed: u64, plan: Plan) -> Result<Kernel, Error> {
    for (option, share) in [("--mpi-share", of.mpi), ("--barrier-share", of.barrier)] {
        if !(0.0001..=0.9999).contains(&share) {
            return Err(Error::Input(format!("{option} {share}: must be a share from 0.0001 to 0.9999")));
        }
    }
    for (option, us) in [("--barrier-us", of.barrier_us), ("--skew", skew_us)] {
        if !(0.0..=1e6).contains(&us) {
            return Err(Error::Input(format!("{option} {us}: must be 0 to 1000000 microseconds")));
        }
    }
    if !(1..=1_000_000).contains(&iterations) {
        return Err(Error::Input(format!("--iterations {iterations}: must be 1 to 1000000")));
    }
    Ok(Kernel { compute_us: of.compute_us(), skew_us, sums: of.others_per_barrier(), iterations, seed, plan })
}
