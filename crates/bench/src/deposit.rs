//! Deposit: remote stores of 8-byte words, contiguous or strided, as K98 compares them (slides 19, 21, 23).

use crate::{Bench, Plan, Samples, plan::Repeater};
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Layout, Span};
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

impl Bench for Deposit {
    type Result = Vec<Option<Samples>>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Option<Samples>>, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        let mut all = Vec::new();
        for &stride in &self.strides {
            all.push(self.one(comm, &repeater, stride).await?);
        }
        comm.barrier().await?;
        Ok(all)
    }
}

impl Deposit {
    fn kind(&self) -> Kind {
        if self.private { Kind::Private } else { Kind::Default }
    }
    async fn one<E: Endpoint>(
        &self,
        comm: &E,
        repeater: &Repeater<'_, E>,
        stride: u64,
    ) -> Result<Option<Samples>, Error> {
        let layout = Layout::strided(8, self.size / 8, 8 * stride);
        let kind = self.kind();
        if self.series == Series::Direct && !comm.can_put(kind, layout) {
            return Ok(None);
        }
        let (from, to) = (comm.alloc(self.size, kind)?, comm.alloc(layout.extent(), kind)?);
        comm.write(from, 0, &vec![1; self.size as usize])?;
        comm.write(to, 0, &vec![1; layout.extent() as usize])?;
        let (source, target) = (Span::new(from, 0, self.size), Span { memory: to, offset: 0, layout });
        let samples = match self.series {
            Series::Local => self.local(comm, repeater, source, target).await?,
            Series::Direct => self.direct(comm, repeater, source, layout).await?,
            Series::Unpack => self.unpack(comm, repeater, source, target).await?,
        };
        comm.free(from)?;
        comm.free(to)?;
        Ok(Some(samples))
    }
    async fn local<E: Endpoint>(
        &self,
        comm: &E,
        repeater: &Repeater<'_, E>,
        source: Span,
        target: Span,
    ) -> Result<Samples, Error> {
        let sample = async |inner| {
            let start = comm.now();
            for _ in (0..inner).filter(|_| comm.rank() == 0) {
                comm.copy(source, target)?;
            }
            let time = comm.now() - start;
            Ok(((self.size * inner) as f64 / time.us().max(1e-6), time))
        };
        repeater.run(sample).await
    }
    /// Puts into a window of the other rank, then one message each way: the data is there.
    async fn direct<E: Endpoint>(
        &self,
        comm: &E,
        repeater: &Repeater<'_, E>,
        source: Span,
        layout: Layout,
    ) -> Result<Samples, Error> {
        let window = comm.open_window(layout.extent(), self.kind()).await?;
        comm.write(comm.window_memory(&window), 0, &vec![1; layout.extent() as usize])?;
        comm.prepare(source.memory)?;
        let empty = Span::new(source.memory, 0, 0);
        let sample = async |inner| {
            let start = comm.now();
            if comm.rank() == 0 {
                for _ in 0..inner {
                    comm.put(&window, 1, source, 0, layout).await?;
                }
                comm.send(1, 0, empty).await?;
                comm.recv(Some(1), Some(0), empty).await?;
            } else if comm.rank() == 1 {
                comm.recv(Some(0), Some(0), empty).await?;
                comm.send(0, 0, empty).await?;
            }
            let time = comm.now() - start;
            Ok(((self.size * inner) as f64 / time.us().max(1e-6), time))
        };
        let samples = repeater.run(sample).await?;
        comm.close_window(window).await?;
        Ok(samples)
    }
    /// Messages that the receiver spreads, then one message back.
    async fn unpack<E: Endpoint>(
        &self,
        comm: &E,
        repeater: &Repeater<'_, E>,
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
            } else if comm.rank() == 1 {
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
