//! Ping-pong: a message there and back between rank 0 and the last rank; half the round trip is the latency.

use crate::plan::Repeater;
use crate::{Bench, Plan, Samples};
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Span};
use serde::{Deserialize, Serialize};

/// The benchmark. Each rank returns its samples for every size, in order; those of rank 0 are half round trips in
/// microseconds. Ranks between the first and the last wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PingPong {
    /// Message sizes in bytes.
    pub sizes: Vec<u64>,
    /// Whether the messages lie in private memory.
    pub private: bool,
    /// Writes each message anew before it is sent: how a producer's caches hold it decides what its copy costs.
    #[serde(default)]
    pub rewrite: bool,
    /// Repetitions.
    pub plan: Plan,
}

impl Bench for PingPong {
    type Result = Vec<Samples>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Samples>, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        repeater.each(&self.sizes, async |size| self.one(comm, &repeater, size).await).await
    }
}

impl PingPong {
    async fn one<E: Endpoint>(&self, comm: &E, repeater: &Repeater<'_, E>, size: u64) -> Result<Samples, Error> {
        let kind = if self.private { Kind::Private } else { Kind::Default };
        let (there, back) = (comm.alloc(size, kind)?, comm.alloc(size, kind)?);
        comm.write(there, 0, &vec![1; size as usize])?;
        let (there, back) = (Span::new(there, 0, size), Span::new(back, 0, size));
        let fresh = if self.rewrite { Some(Span::new(comm.alloc(size, kind)?, 0, size)) } else { None };
        if let Some(fresh) = fresh {
            comm.write(fresh.memory, 0, &vec![2; size as usize])?;
        }
        let produce = || fresh.map_or(Ok(()), |fresh| comm.copy(fresh, there));
        let (rank, last) = (comm.rank(), comm.ranks() - 1);
        let once = async || {
            if rank == 0 {
                produce()?;
                comm.send(last, 0, there).await?;
                comm.recv(Some(last), Some(0), back).await?;
            } else if rank == last {
                comm.recv(Some(0), Some(0), back).await?;
                produce()?;
                comm.send(0, 0, there).await?;
            }
            Ok(())
        };
        let sample = async |inner| {
            let time = repeater.time(inner, there, None, &once).await?;
            Ok((time.us() / inner as f64 / 2.0, time))
        };
        let samples = repeater.run(sample).await?;
        comm.free(there.memory)?;
        comm.free(back.memory)?;
        if let Some(fresh) = fresh {
            comm.free(fresh.memory)?;
        }
        Ok(samples)
    }
}
