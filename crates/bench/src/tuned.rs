//! Benchmarks under choices of one's own: the cache's policy, zero-copy or not, algorithms. One code for measurement and
//! simulation.

use crate::{Bench, Seen, Watching};
use hotlink_fabric::units::Time;
use hotlink_message::{Algorithm, Collective, Comm, Counters, Endpoint, Error, Options, Policy, SetupStats};
use hotlink_port::{Align, Kind, Port, Program, Work};
use serde::{Deserialize, Serialize};

/// What is chosen for a communicator before the benchmark runs on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// Which set-ups go when resources run out; `None`: the usual.
    pub policy: Option<Policy>,
    /// What memory a benchmark gets where it asks for none in particular.
    pub memory: Kind,
    /// How that memory is aligned.
    pub align: Align,
    /// Shortest message without buffers; `None`: what the port claims is best.
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

/// What a rank tells beside the benchmark's result: what the protocols did for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told<T> {
    /// The result.
    pub result: T,
    /// Protocols chosen.
    pub counters: Counters,
    /// Registrations, mappings, connections.
    pub setups: SetupStats,
    /// What the port's observer saw, where there was one.
    pub seen: Option<Seen>,
}

impl<P: Port, B: Bench> Program<P, Result<Told<B::Result>, Error>> for Tuned<'_, B> {
    async fn run(&self, port: P) -> Result<Told<B::Result>, Error> {
        let Some(watching) = self.tuning.watching else { return self.on_port(port).await };
        let (port, log) = watching.wrap(port);
        // In memory of its own: a rank that nobody watches has no room for it.
        let told = Box::pin(self.on_port(port)).await?;
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

/// All ranks begin together. In real time that is a barrier; clocks in virtual time are all one, so that ranks agree on
/// a moment, and start exactly then, `rest` after the last was ready: long enough for the news to reach every rank.
pub(crate) async fn together<E: Endpoint>(comm: &E, rest: Time) -> Result<(), Error> {
    if comm.limits().real_time {
        return comm.barrier().await;
    }
    if comm.now() == Time::ZERO {
        // All clocks begin at zero.
        return Ok(());
    }
    agreed(comm, rest).await
}

/// The same where some of the ranks may have done nothing yet.
pub(crate) async fn agreed<E: Endpoint>(comm: &E, rest: Time) -> Result<(), Error> {
    if comm.limits().real_time {
        return comm.barrier().await;
    }
    let moment = comm.latest(comm.now()).await?;
    let start = moment + rest;
    if start > comm.now() {
        comm.compute(Work::Rest(start - comm.now()));
    }
    Ok(())
}

/// Memory for data that nobody looks at: only a length, where that is enough.
pub(crate) fn blank<E: Endpoint>(comm: &E) -> Kind {
    if comm.limits().ghosts { Kind::Ghost } else { Kind::Default }
}
