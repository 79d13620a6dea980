//! Abinit (H06 s26-27) as a kernel: computation with skew, then a barrier, over and over on four nodes.
//!
//! Inputs are what H06 prints of the run on Gigabit Ethernet. It took 274 s, 8 % of it in MPI, 65 % of that in
//! MPI_Barrier, and its barrier 80 us. How often the program calls the barrier and how unevenly it computes are not
//! printed. Both are fitted to "MPI_Barrier overhead is halved". The run time with the hardware barrier then follows.
//! Skew remains with a barrier that costs nothing; no barrier can remove it.

use super::machine::{Machines, network, short_messages};
use crate::evidence::Evidence;
use hotlink_barrier::BarrierNetwork;
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::units::Time;
use hotlink_loggp::{Builder, Kind, LogGops, Op, Schedule, simulate};
use hotlink_study::ask::Method;

const RANKS: u32 = 4;
/// H06 s27: 4:34.
const RUN_S: f64 = 274.0;
/// H06 s26: share of the run in MPI, and of that in MPI_Barrier.
const MPI_SHARE: f64 = 0.08;
const BARRIER_SHARE: f64 = 0.65;
/// H06 s24: the barrier on Gigabit Ethernet.
const GIGE_BARRIER_US: f64 = 80.0;
/// Iterations that stand for all.
const SAMPLE: usize = 400;
/// Computation before each barrier without its skew; the barriers' times do not depend on it.
const BASE_NS: u64 = 2_000_000;

/// Microseconds per iteration, the mean over ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct PerIteration {
    /// In MPI_Barrier on Gigabit Ethernet.
    gige_us: f64,
    /// In MPI_Barrier with the hardware barrier.
    hardware_us: f64,
    /// In a barrier that costs nothing.
    skew_us: f64,
}

/// The calibrated kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    /// Most of the skew that each rank adds to its computation, each amount equally likely.
    pub(super) skew_us: f64,
    /// Barriers in the run.
    pub(super) barriers: f64,
    each: PerIteration,
}

impl Kernel {
    /// Skew and number of barriers such that the hardware barrier halves the time in MPI_Barrier.
    pub(super) fn calibrated(machines: &Machines) -> Kernel {
        let ratio = |skew_us: f64| {
            let each = per_iteration(machines, skew_us);
            each.gige_us / each.hardware_us
        };
        // More skew, less to gain: from more than thirty times at no skew down towards one.
        let (mut low, mut high) = (0.0, 5_000.0);
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            if ratio(middle) > 2.0 { low = middle } else { high = middle }
        }
        let each = per_iteration(machines, high);
        Kernel { skew_us: high, barriers: Kernel::barrier_s() * 1e6 / each.gige_us, each }
    }

    /// Seconds in MPI, and in MPI_Barrier, on Gigabit Ethernet.
    pub(super) fn mpi_s() -> f64 {
        RUN_S * MPI_SHARE
    }
    pub(super) fn barrier_s() -> f64 {
        Kernel::mpi_s() * BARRIER_SHARE
    }
    fn seconds(&self, per_iteration_us: f64) -> f64 {
        per_iteration_us * self.barriers / 1e6
    }
    /// Time in one barrier on Gigabit Ethernet, waiting for late ranks included.
    pub(super) fn gige_barrier_us(&self) -> f64 {
        self.each.gige_us
    }
    pub(super) fn hardware_barrier_s(&self) -> f64 {
        self.seconds(self.each.hardware_us)
    }
    /// The part of the time in MPI_Barrier that no barrier can remove.
    pub(super) fn skew_s(&self) -> f64 {
        self.seconds(self.each.skew_us)
    }
    pub(super) fn saved_s(&self) -> f64 {
        Kernel::barrier_s() - self.hardware_barrier_s()
    }
    pub(super) fn hardware_run_s(&self) -> f64 {
        RUN_S - self.saved_s()
    }

    /// That the hardware barrier halves the time in MPI_Barrier is put in; skew and number of barriers are what that takes.
    pub(super) fn evidence() -> Evidence {
        Evidence::of_inputs(Method::Formula, ["abinit/skew", "abinit/barriers"])
    }
}

/// The same computation with each barrier.
fn per_iteration(machines: &Machines, skew_us: f64) -> PerIteration {
    let work = computation(skew_us);
    let total_ns: u64 = work.iter().flatten().sum();
    let mean_ns = total_ns as f64 / f64::from(RANKS);
    let each = |finish_us: f64| (finish_us - mean_ns / 1e3) / SAMPLE as f64;
    let ideal_ns: u64 = work.iter().map(|round| round.iter().max().expect("ranks")).sum();
    PerIteration {
        gige_us: each(on_gige(&work)),
        hardware_us: each(on_hardware(machines, &work)),
        skew_us: each(ideal_ns as f64 / 1e3),
    }
}

/// Nanoseconds of each rank in each iteration.
fn computation(skew_us: f64) -> Vec<[u64; RANKS as usize]> {
    let mut random = SplitMix64::new(2006);
    let most = (skew_us * 1e3) as u64 + 1;
    (0..SAMPLE).map(|_| std::array::from_fn(|_| BASE_NS + random.below(most))).collect()
}

/// Mean over ranks of when each ends, in microseconds: dissemination barriers that take 80 us where nobody is late.
fn on_gige(work: &[[u64; RANKS as usize]]) -> f64 {
    let rounds = 2.0;
    let machine: LogGops = short_messages(Time::from_us(GIGE_BARRIER_US / rounds), Time::ZERO, Time::ZERO);
    let outcome = simulate(&schedule(work), &machine).expect("a schedule that ends");
    outcome.finish.iter().map(|time| time.us()).sum::<f64>() / f64::from(RANKS)
}

/// Computation and dissemination barrier, over and over.
fn schedule(work: &[[u64; RANKS as usize]]) -> Schedule {
    let mut builder = Builder::new(RANKS);
    for rank in 0..RANKS {
        let first = builder.begin(rank);
        debug_assert!(first);
        let mut before: Vec<u32> = Vec::new();
        for round in work {
            let plain = Op { kind: Kind::Calc, cpu: 0, nic: 0, rank, peer: 0, tag: 0, size: round[rank as usize] };
            let ahead = |distance: u32| (rank + distance) % RANKS;
            let message = |kind, peer| Op { kind, peer, size: 1, ..plain };
            let exchange = |distance: u32| {
                vec![message(Kind::Send, ahead(distance)), message(Kind::Recv, ahead(RANKS - distance))]
            };
            for step in [vec![plain], exchange(1), exchange(2)] {
                let ids: Vec<u32> = step.into_iter().map(|op| builder.add(op)).collect();
                ids.iter().for_each(|&id| before.iter().for_each(|&before| builder.requires(id, before, false)));
                before = ids;
            }
        }
    }
    builder.build()
}

/// The same with H06's barrier network, and the library around it.
fn on_hardware(machines: &Machines, work: &[[u64; RANKS as usize]]) -> f64 {
    let spec = network(machines.fabric("hwbarr"));
    let mut network = BarrierNetwork::new(spec, RANKS, false).expect("four nodes");
    let mut at = vec![Time::ZERO; RANKS as usize];
    for round in work {
        for (at, work_ns) in at.iter_mut().zip(round) {
            *at = Time(at.0 + work_ns * 1_000) + spec.software();
        }
        at = network.barrier(0, &at).expect("a safe barrier").leave;
    }
    at.iter().map(|time| time.us()).sum::<f64>() / f64::from(RANKS)
}
