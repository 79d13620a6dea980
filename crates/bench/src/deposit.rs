//! Deposit: remote stores of 8-byte words, contiguous or strided, as K98 compares them (slides 19, 21, 23).

use crate::{Plan, Samples, plan::Repeater};
use hotlink_message::{Comm, Error};
use hotlink_port::{Engine, Key, Kind, Layout, Port, Program, RemoteSpan, Span};
use serde::{Deserialize, Serialize};

/// How the words get to their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Series {
    /// Within the sender's own memory: the limit.
    Local,
    /// Stored remotely one by one, through a mapping.
    Direct,
    /// Moved in a row as a message, and spread by the receiver.
    Unpack,
}

impl Series {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Series::Local => "local",
            Series::Direct => "direct",
            Series::Unpack => "unpack",
        }
    }
}

/// The benchmark on two ranks: MB/s of payload (at rank 0) for each stride, or nothing where the port cannot do it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deposit {
    /// How.
    pub series: Series,
    /// Payload bytes, a multiple of 8.
    pub size: u64,
    /// Distances between words, in words.
    pub strides: Vec<u64>,
    /// Target in ordinary memory, or in a regular segment.
    pub private: bool,
    /// Repetitions.
    pub plan: Plan,
}

impl<P: Port> Program<P, Result<Vec<Option<Samples>>, Error>> for Deposit {
    async fn run(&self, port: P) -> Result<Vec<Option<Samples>>, Error> {
        let comm = Comm::new(port);
        let repeater = Repeater::new(&comm, &self.plan)?;
        let mut all = Vec::new();
        for &stride in &self.strides {
            all.push(self.one(&comm, &repeater, stride).await?);
        }
        comm.barrier().await?;
        Ok(all)
    }
}

impl Deposit {
    fn is_possible<P: Port>(&self, comm: &Comm<P>, stride: u64) -> bool {
        let limits = comm.limits();
        let Some(claim) = limits.deposit.filter(|_| self.series == Series::Direct) else {
            return self.series != Series::Direct;
        };
        let reachable = if self.private { limits.registration.private } else { limits.segments };
        reachable && (stride == 1 || claim.strided)
    }
    fn engine<P: Port>(&self, comm: &Comm<P>) -> Engine {
        let mappable = !self.private || comm.limits().registration.private_mappable;
        let pio = comm.limits().deposit.is_some_and(|claim| claim.pio);
        if mappable && pio { Engine::Pio } else { Engine::Dma }
    }
    async fn one<P: Port>(
        &self,
        comm: &Comm<P>,
        repeater: &Repeater<'_, P>,
        stride: u64,
    ) -> Result<Option<Samples>, Error> {
        if !self.is_possible(comm, stride) {
            return Ok(None);
        }
        let layout = Layout::strided(8, self.size / 8, 8 * stride);
        let kind = if self.private { Kind::Private } else { Kind::Default };
        let (from, to) = (comm.alloc(self.size, kind)?, comm.alloc(layout.extent(), kind)?);
        comm.write(from, 0, &vec![1; self.size as usize])?;
        comm.write(to, 0, &vec![1; layout.extent() as usize])?;
        let (source, target) = (Span::new(from, 0, self.size), Span { memory: to, offset: 0, layout });
        let samples = match self.series {
            Series::Local => self.local(comm, repeater, source, target).await?,
            Series::Direct => self.direct(comm, repeater, source, target).await?,
            Series::Unpack => self.unpack(comm, repeater, source, target).await?,
        };
        comm.free(from)?;
        comm.free(to)?;
        Ok(Some(samples))
    }
    async fn local<P: Port>(
        &self,
        comm: &Comm<P>,
        repeater: &Repeater<'_, P>,
        source: Span,
        target: Span,
    ) -> Result<Samples, Error> {
        let sample = async |inner| {
            let start = comm.now();
            for _ in (0..inner).filter(|_| comm.rank() == 0) {
                comm.with_port(|port| port.copy(source, target))?;
            }
            let time = comm.now() - start;
            Ok(((self.size * inner) as f64 / time.us().max(1e-6), time))
        };
        repeater.run(sample).await
    }
    /// Puts, then one message each way: the data is there.
    async fn direct<P: Port>(
        &self,
        comm: &Comm<P>,
        repeater: &Repeater<'_, P>,
        source: Span,
        target: Span,
    ) -> Result<Samples, Error> {
        let engine = self.engine(comm);
        let needs = comm.limits().deposit.is_some_and(|claim| claim.dma_needs_registration) && engine == Engine::Dma;
        let own = if comm.rank() == 1 || needs {
            Some(comm.export(if comm.rank() == 1 { target.memory } else { source.memory })?)
        } else {
            None
        };
        let attachment = match (comm.rank(), own) {
            (1, Some(key)) => {
                tell_key(comm, key).await?;
                None
            }
            _ => Some(comm.import(hear_key(comm).await?, engine)?),
        };
        let empty = Span::new(source.memory, 0, 0);
        let sample = async |inner| {
            let start = comm.now();
            if let Some(attachment) = attachment {
                let to = RemoteSpan { attachment, offset: 0, layout: target.layout };
                for _ in 0..inner {
                    comm.put(1, source, to, engine).await?;
                }
                comm.send(1, 0, empty).await?;
                comm.recv(Some(1), Some(0), empty).await?;
            } else {
                comm.recv(Some(0), Some(0), empty).await?;
                comm.send(0, 0, empty).await?;
            }
            let time = comm.now() - start;
            Ok(((self.size * inner) as f64 / time.us().max(1e-6), time))
        };
        let samples = repeater.run(sample).await?;
        comm.barrier().await?;
        if let Some(attachment) = attachment {
            comm.with_port(|port| port.detach(attachment))?;
        }
        Ok(samples)
    }
    /// Messages that the receiver spreads, then one message back.
    async fn unpack<P: Port>(
        &self,
        comm: &Comm<P>,
        repeater: &Repeater<'_, P>,
        source: Span,
        target: Span,
    ) -> Result<Samples, Error> {
        let empty = Span::new(source.memory, 0, 0);
        let sample = async |inner| {
            let start = comm.now();
            if comm.rank() == 0 {
                for _ in 0..inner {
                    comm.send(1, 0, source).await?;
                }
                comm.recv(Some(1), Some(1), empty).await?;
            } else {
                for _ in 0..inner {
                    comm.recv(Some(0), Some(0), target).await?;
                }
                comm.send(0, 1, empty).await?;
            }
            let time = comm.now() - start;
            Ok(((self.size * inner) as f64 / time.us().max(1e-6), time))
        };
        repeater.run(sample).await
    }
}

async fn tell_key<P: Port>(comm: &Comm<P>, key: Key) -> Result<(), Error> {
    let words = [u64::from(key.rank), key.id, key.bytes];
    let memory = comm.alloc(24, Kind::Private)?;
    comm.write(memory, 0, words.map(u64::to_le_bytes).as_flattened())?;
    comm.send(0, 9, Span::new(memory, 0, 24)).await?;
    comm.free(memory)
}

async fn hear_key<P: Port>(comm: &Comm<P>) -> Result<Key, Error> {
    let memory = comm.alloc(24, Kind::Private)?;
    comm.recv(Some(1), Some(9), Span::new(memory, 0, 24)).await?;
    let mut bytes = [0; 24];
    comm.read(memory, 0, &mut bytes)?;
    comm.free(memory)?;
    let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[i * 8 + k]));
    Ok(Key { rank: word(0) as u32, id: word(1), bytes: word(2) })
}
