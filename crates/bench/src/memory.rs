//! Memory copy: contiguous loads to contiguous or strided stores, K98's "local memory" (slides 19, 21, 23).

use crate::{Bench, Plan, Samples, plan::Repeater};
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Layout, Span};
use serde::{Deserialize, Serialize};

/// One point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPoint {
    /// Payload bytes.
    pub size: u64,
    /// Stores of 8-byte words this many words apart; 1 is contiguous.
    pub stride: u64,
}

impl MemoryPoint {
    /// Bytes of a word.
    pub const WORD: u64 = 8;
    fn target(&self) -> Layout {
        let count = self.size / MemoryPoint::WORD;
        if self.stride <= 1 || count == 0 {
            return Layout::contiguous(self.size);
        }
        Layout::strided(MemoryPoint::WORD, count, self.stride * MemoryPoint::WORD)
    }
    /// Bytes that the copy spans at its source and target together.
    pub fn extent(&self) -> u64 {
        self.size + self.target().extent()
    }
}

/// The benchmark on one rank: MB/s of payload for each point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryCopy {
    /// The copies to make.
    pub points: Vec<MemoryPoint>,
    /// Ordinary memory, or the port's best.
    pub private: bool,
    /// Repetitions.
    pub plan: Plan,
}

impl Bench for MemoryCopy {
    type Result = Vec<Samples>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Samples>, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        let mut all = Vec::new();
        for point in &self.points {
            let layout = point.target();
            let kind = if self.private { Kind::Private } else { Kind::Default };
            let (from, to) = (comm.alloc(layout.bytes(), kind)?, comm.alloc(layout.extent(), kind)?);
            let (source, target) = (Span::new(from, 0, layout.bytes()), Span { memory: to, offset: 0, layout });
            comm.write(from, 0, &vec![1; layout.bytes() as usize])?;
            let copies = repeater.run(async |inner| {
                let start = comm.now();
                for _ in 0..inner {
                    comm.copy(source, target)?;
                }
                let time = comm.now() - start;
                Ok(((layout.bytes() * inner) as f64 / time.us(), time))
            });
            all.push(copies.await?);
            comm.free(from)?;
            comm.free(to)?;
        }
        Ok(all)
    }
}
