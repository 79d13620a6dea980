//! Benchmarks under given choices: the cache's policy, zero-copy or not, algorithms. One code for measurement and
//! simulation.

use crate::{Bench, Plan, Seen, Watching};
use hotlink_fabric::units::Time;
use hotlink_message::{Algorithm, Collective, Comm, Counters, Endpoint, Error, Options, Policy, SetupStats};
use hotlink_port::{Align, Kind, Port, Program, Work, any};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// Choices for a communicator before the benchmark runs on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// Which registrations and attachments go when resources run out; `None`: the usual.
    pub policy: Option<Policy>,
    /// The kind of memory that a benchmark gets by default.
    pub memory: Kind,
    /// How that memory is aligned.
    pub align: Align,
    /// Shortest message without buffers; `None`: the port's claim.
    pub zero_copy_bytes: Option<u64>,
    /// Algorithms of collectives that are not left to the cost model.
    pub algorithms: Vec<(Collective, Algorithm)>,
    /// Observers and faults on the port; `None`: neither.
    pub watching: Option<Watching>,
}

impl Tuning {
    /// A communicator on `port` so tuned.
    ///
    /// # Errors
    /// An algorithm that the collective does not have, or the port cannot do.
    pub fn comm<P: Port>(&self, port: P) -> Result<Comm<P>, Error> {
        let usual = Options::of(port.limits());
        let policy = self.policy.unwrap_or(usual.policy);
        let zero_copy_bytes = self.zero_copy_bytes.unwrap_or(usual.zero_copy_bytes);
        let comm = Comm::with_options(
            port,
            Options { policy, zero_copy_bytes, memory: self.memory, align: self.align, ..usual },
        );
        for &(collective, algorithm) in &self.algorithms {
            comm.force(collective, Some(algorithm))?;
        }
        Ok(comm)
    }
}

/// A benchmark on tuned communicators.
#[derive(Clone, Debug)]
pub struct Tuned<'a, B> {
    /// The benchmark.
    pub bench: &'a B,
    /// The choices.
    pub tuning: Tuning,
}

/// A rank's report in addition to the benchmark's result: the work of the protocols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told<T> {
    /// The result.
    pub result: T,
    /// Protocols chosen.
    pub counters: Counters,
    /// Registrations, mappings, connections.
    pub setups: SetupStats,
    /// The port's observations, where it had an observer.
    pub seen: Option<Seen>,
}

impl<P: Port, B: Bench> Program<P, Result<Told<B::Result>, Error>> for Tuned<'_, B> {
    async fn run(&self, port: P) -> Result<Told<B::Result>, Error> {
        let Some(watching) = self.tuning.watching else { return self.on_port(port).await };
        let (port, log) = watching.wrap(port);
        // As any port, so that the benchmark is compiled once for the observed ports of all kinds.
        let told = Box::pin(self.on_port(any(port))).await?;
        Ok(Told { seen: Some(log.take()), ..told })
    }
}

impl<B: Bench> Tuned<'_, B> {
    async fn on_port<P: Port>(&self, port: P) -> Result<Told<B::Result>, Error> {
        let comm = self.tuning.comm(port)?;
        let result = self.bench.on(&comm).await?;
        Ok(Told { result, counters: comm.counters(), setups: comm.setup_stats(), seen: None })
    }
}

/// Common starts of the ranks, one after the other. In real time each is a barrier. Clocks in virtual time agree, so
/// that ranks choose a moment a while after the last was ready, and start exactly then.
pub(crate) struct Starts<'a, E: Endpoint> {
    pub(crate) comm: &'a E,
    /// From when the last rank was ready to the start: long enough for the news to reach every rank.
    rest: Cell<Time>,
    /// Whether other traffic may hold the news up for any time.
    is_loaded: bool,
    /// Whether this rank heard of the last start only after it.
    late: Cell<bool>,
}

impl<'a, E: Endpoint> Starts<'a, E> {
    pub(crate) fn of(comm: &'a E, plan: &Plan) -> Starts<'a, E> {
        let (rest, late) = (Cell::new(Time::from_us(plan.rest_us)), Cell::new(false));
        Starts { comm, rest, is_loaded: plan.is_loaded, late }
    }
    /// All ranks begin together; when they do.
    pub(crate) async fn together(&self) -> Result<Time, Error> {
        if !self.comm.limits().real_time && self.comm.now() == Time::ZERO {
            // All clocks begin at zero.
            return Ok(Time::ZERO);
        }
        self.agreed().await
    }
    /// The same where some of the ranks may have done nothing yet.
    pub(crate) async fn agreed(&self) -> Result<Time, Error> {
        let comm = self.comm;
        if comm.limits().real_time {
            comm.barrier().await?;
            return Ok(comm.now());
        }
        let start = comm.latest(comm.now()).await? + self.rest.get();
        self.late.set(comm.now() > start);
        if start > comm.now() {
            comm.compute(Work::Rest(start - comm.now()));
        }
        Ok(start)
    }
    /// Whether the work since the last start counts. It does not if any rank came too late for that start: that rank
    /// finds messages for which it should have waited. The next start is then further ahead. All ranks ask alike, after
    /// it.
    pub(crate) async fn held(&self) -> Result<bool, Error> {
        if !self.is_loaded || self.comm.limits().real_time {
            return Ok(true);
        }
        let held = self.comm.latest(Time(self.late.replace(false).into())).await? == Time::ZERO;
        if !held {
            self.rest.set(Time(2 * self.rest.get().0));
        }
        Ok(held)
    }
}

/// Memory for data that is never read: only a length, where that is enough.
pub(crate) fn blank<E: Endpoint>(comm: &E) -> Kind {
    if comm.limits().ghosts { Kind::Ghost } else { Kind::Default }
}
