//! The best rates at which two cores pass on bytes that one of them has just written. One is the rate of cache lines
//! between the cores, the other that of the system's copy between processes. A message of ordinary memory takes one of
//! these two routes.

use crate::plan::rewrite;
use hotlink_message::{Comm, Error, Region, RegionSource, RegionType};
use hotlink_port::{Kind, Layout, Memory, Port, Program, Rank, Span};
use serde::{Deserialize, Serialize};

/// Rank `i` of the first `pairs` writes blocks that rank `ranks - pairs + i` copies out of its caches, as pairs of a
/// [`crate::Stream`] do. Then both have the system copy blocks of the other's ordinary memory, at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Pairs that do so at once.
    pub pairs: u32,
}

/// The best that was seen, in MB/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Crossed {
    /// Lines that a core reads which another has just written, into its own memory; 0 of a rank that only writes.
    pub lines_mbps: f64,
    /// Bytes that the system copies from the other rank's ordinary memory; 0 where it may not.
    pub system_mbps: f64,
}

impl Crossed {
    /// The better of two, each rate by itself.
    #[must_use]
    pub fn or(self, other: Crossed) -> Crossed {
        Crossed {
            lines_mbps: self.lines_mbps.max(other.lines_mbps),
            system_mbps: self.system_mbps.max(other.system_mbps),
        }
    }
    /// All ranks together.
    pub fn sum(ranks: &[Crossed]) -> Crossed {
        let of = |part: fn(&Crossed) -> f64| ranks.iter().map(part).sum();
        Crossed { lines_mbps: of(|rank| rank.lines_mbps), system_mbps: of(|rank| rank.system_mbps) }
    }
}

/// Blocks that fit a first and a second cache, and one larger than most second caches. Which leaves its core fastest
/// depends on the processor.
const SIZES: [u64; 3] = [32 << 10, 256 << 10, 2 << 20];
const MOST: u64 = SIZES[SIZES.len() - 1];
/// Each size moves so many bytes, within these bounds on the times that each block moves. All take some 20 ms, the
/// start of the processes included.
const MOVED: u64 = 2 << 20;
const OFTEN: (u64, u64) = (4, 32);
/// The copy that shows the cost of a copy besides its bytes.
const WORD: u64 = 8;
const TAG: u32 = 5;

impl<P: Port> Program<P, Result<Crossed, Error>> for Crossing {
    async fn run(&self, port: P) -> Result<Crossed, Error> {
        let comm = Comm::new(port);
        let (rank, distance) = (comm.rank(), comm.ranks() - self.pairs);
        let crossed = match rank {
            _ if rank < self.pairs => Pair::new(&comm, rank + distance, true)?.measure().await?,
            _ if rank >= distance => Pair::new(&comm, rank - distance, false)?.measure().await?,
            _ => Crossed::default(),
        };
        comm.barrier().await?;
        Ok(crossed)
    }
}

/// One rank of a pair.
struct Pair<'a, P: Port> {
    comm: &'a Comm<P>,
    peer: Rank,
    /// It writes the lines that the other reads.
    writes: bool,
    /// Where it copies to.
    into: Memory,
    /// A message without bytes.
    empty: Span,
}

impl<'a, P: Port> Pair<'a, P> {
    fn new(comm: &'a Comm<P>, peer: Rank, writes: bool) -> Result<Pair<'a, P>, Error> {
        let into = comm.alloc(MOST, Kind::Private)?;
        Ok(Pair { comm, peer, writes, into, empty: Span::new(into, 0, 0) })
    }

    async fn measure(&self) -> Result<Crossed, Error> {
        let mut crossed = Crossed::default();
        if self.comm.limits().segments {
            crossed.lines_mbps = self.lines().await?;
        }
        if self.comm.limits().registration.private {
            crossed.system_mbps = self.system().await?;
        }
        self.comm.free(self.into)?;
        Ok(crossed)
    }

    /// The other rank is here, too.
    async fn meet(&self) -> Result<(), Error> {
        for sends in [self.writes, !self.writes] {
            match sends {
                true => self.comm.send(self.peer, TAG, self.empty).await?,
                false => self.comm.recv(Some(self.peer), Some(TAG), self.empty).await.map(|_| ())?,
            }
        }
        Ok(())
    }

    /// A region of the writer's, or of the reader's.
    async fn region(&self, is_mine: bool, how: RegionType, block: Memory) -> Result<Region<P>, Error> {
        let me = self.comm.rank();
        let (owner, user) = if is_mine { (me, self.peer) } else { (self.peer, me) };
        self.comm.region_between(owner, user, how, RegionSource::Existing(block)).await
    }

    /// Copies `size` bytes out of a region; the time in microseconds.
    async fn copy(&self, from: &Region<P>, size: u64) -> Result<f64, Error> {
        let (layout, into) = (Layout::contiguous(size), Span::new(self.into, 0, size));
        let start = self.comm.now();
        from.get(0, layout, into).await?;
        Ok((self.comm.now() - start).us())
    }

    async fn lines(&self) -> Result<f64, Error> {
        let block = self.comm.alloc(MOST, Kind::Shared)?;
        let region = self.region(self.writes, RegionType::Shared, block).await?;
        let prepare = async |turn, size| {
            if self.writes { rewrite(self.comm, Span::new(block, 0, size), turn) } else { Ok(()) }
        };
        let best = self.best((!self.writes).then_some(&region), prepare).await?;
        region.release()?;
        self.comm.free(block)?;
        Ok(best)
    }

    async fn system(&self) -> Result<f64, Error> {
        let block = self.comm.alloc(MOST, Kind::Private)?;
        rewrite(self.comm, Span::new(block, 0, MOST), 1)?;
        // The writer's first.
        let first = self.region(self.writes, RegionType::Rdma, block).await?;
        let second = self.region(!self.writes, RegionType::Rdma, block).await?;
        let theirs = if self.writes { &second } else { &first };
        let best = self.best(Some(theirs), async |_, _| Ok(())).await?;
        first.release()?;
        second.release()?;
        self.comm.free(block)?;
        Ok(best)
    }

    /// The best rate of copies out of a region, each after `prepare`, of all sizes; 0 of a rank that copies none. A
    /// copy's cost besides its bytes is left out: this copy's call does not bound other libraries.
    async fn best(
        &self,
        from: Option<&Region<P>>,
        prepare: impl AsyncFn(u8, u64) -> Result<(), Error>,
    ) -> Result<f64, Error> {
        let (mut best, mut call_us): (f64, f64) = (0.0, 0.0);
        for size in [WORD].into_iter().chain(SIZES) {
            let mut least_us = f64::INFINITY;
            for turn in 0..(MOVED / size).clamp(OFTEN.0, OFTEN.1) {
                prepare(turn as u8, size).await?;
                self.meet().await?;
                if let Some(from) = from {
                    least_us = least_us.min(self.copy(from, size).await?);
                }
                self.meet().await?;
            }
            match size {
                WORD => call_us = least_us,
                // Never more than half of it: a clock has its steps.
                _ => best = best.max(size as f64 / (least_us - call_us).max(least_us / 2.0)),
            }
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_port::Driver;
    use hotlink_port::loopback::Loopback;

    #[test]
    fn a_reader_tells_of_lines_and_both_of_the_systems_copy() {
        let ranks = Loopback::default().run(3, &Crossing { pairs: 1 }).unwrap();
        let ranks: Vec<Crossed> = ranks.into_iter().collect::<Result<_, _>>().unwrap();
        assert_eq!((ranks[0].lines_mbps, ranks[1]), (0.0, Crossed::default()));
        assert!(ranks[2].lines_mbps > 0.0 && ranks.iter().step_by(2).all(|rank| rank.system_mbps > 0.0), "{ranks:?}");
        let all = Crossed::sum(&ranks);
        assert_eq!(all.lines_mbps, ranks[2].lines_mbps);
        assert_eq!(all.system_mbps, ranks[0].system_mbps + ranks[2].system_mbps);
    }
}
