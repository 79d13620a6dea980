//! Deposit: remote stores of words, contiguous or strided, as K98 compares them (slides 19, 21, 23, 24).

use crate::plan::{Buffers, Repeater, rewrite};
use crate::{Bench, Plan, Samples};
use hotlink_fabric::units::Time;
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Layout, Refusal, Span};
use serde::{Deserialize, Serialize};

/// How the words get to their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Series {
    /// The limit: each rank stores half of the words, in its own memory. The source stays in its first cache, so that
    /// it waits for nothing but storing.
    Both,
    /// Within the sender's own memory.
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
            Series::Both => "both",
            Series::Local => "local",
            Series::Direct => "direct",
            Series::Unpack => "unpack",
        }
    }
}

/// The benchmark on two ranks: MB/s of payload for each stride, or nothing where the port cannot do it. Rank 0 has the
/// values; either rank has those of [`Series::Both`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deposit {
    /// How.
    pub series: Series,
    /// Bytes of a word: 4 or 8.
    pub word: u64,
    /// Payload bytes, a multiple of the word's.
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

/// A source that, with what it is copied to, stays in a first-level cache.
const PIECE: u64 = 8 << 10;

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
        let layout = Layout::strided(self.word, self.size / self.word, self.word * stride);
        let kind = self.kind();
        if self.series == Series::Direct && !comm.can_put(kind, layout) {
            return Ok(None);
        }
        let (from, to) = (comm.alloc(self.size, kind)?, comm.alloc(layout.extent(), kind)?);
        comm.write(from, 0, &vec![1; self.size as usize])?;
        comm.write(to, 0, &vec![1; layout.extent() as usize])?;
        let (source, target) = (Span::new(from, 0, self.size), Span { memory: to, offset: 0, layout });
        let samples = match self.series {
            Series::Both => self.both(comm, repeater, source, target).await?,
            Series::Local => self.local(comm, repeater, source, target).await?,
            Series::Direct => self.direct(comm, repeater, source, layout).await?,
            Series::Unpack => self.unpack(comm, repeater, source, target).await?,
        };
        comm.free(from)?;
        comm.free(to)?;
        Ok(Some(samples))
    }
    /// Time of `inner` transfers and, at their end, the news that all are in place. Where the source is to be rewritten
    /// before each, one by one.
    async fn time<E: Endpoint>(
        &self,
        comm: &E,
        source: Span,
        inner: u64,
        transfers: impl AsyncFn(u64) -> Result<(), Error>,
    ) -> Result<(f64, Time), Error> {
        let mut time = Time::ZERO;
        if self.plan.buffers == Buffers::Kept {
            let start = comm.now();
            transfers(inner).await?;
            time = comm.now() - start;
        } else {
            for turn in 0..inner {
                rewrite(comm, source, turn as u8)?;
                let start = comm.now();
                transfers(1).await?;
                time += comm.now() - start;
            }
        }
        Ok(((self.size * inner) as f64 / time.us().max(1e-6), time))
    }
    async fn both<E: Endpoint>(
        &self,
        comm: &E,
        repeater: &Repeater<'_, E>,
        source: Span,
        target: Span,
    ) -> Result<Samples, Error> {
        let half = (self.size / self.word).div_ceil(2) * self.word;
        let part = |span: Span, at, bytes| span.part(at, bytes).ok_or(Refusal::OutOfBounds);
        let sample = async |inner| {
            comm.barrier().await?;
            let start = comm.now();
            for _ in (0..inner).filter(|_| comm.rank() < 2) {
                for at in (0..half).step_by(PIECE as usize) {
                    let bytes = PIECE.min(half - at);
                    comm.copy(part(source, 0, bytes)?, part(target, at, bytes)?)?;
                }
            }
            let time = comm.now() - start;
            Ok(((half * inner) as f64 / time.us().max(1e-6), time))
        };
        repeater.run(sample).await
    }
    async fn local<E: Endpoint>(
        &self,
        comm: &E,
        repeater: &Repeater<'_, E>,
        source: Span,
        target: Span,
    ) -> Result<Samples, Error> {
        let copies = async |inner| (0..inner).filter(|_| comm.rank() == 0).try_for_each(|_| comm.copy(source, target));
        repeater.run(async |inner| self.time(comm, source, inner, copies).await).await
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
        let puts = async |inner| {
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
            Ok(())
        };
        let samples = repeater.run(async |inner| self.time(comm, source, inner, puts).await).await?;
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
        let messages = async |inner| {
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
            Ok(())
        };
        repeater.run(async |inner| self.time(comm, source, inner, messages).await).await
    }
}
