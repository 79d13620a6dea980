//! Regions of the shared-memory interface (W01 slides 6 to 10). Measures the cost of making one, of reaching it, and of
//! losing the memory to its owner. Also the cost of a transfer's resources, held or made for each.

use crate::distribution::median;
use crate::plan::Repeater;
use crate::tuned::Starts;
use crate::{Plan, Record, Samples};
use hotlink_fabric::units::Time;
use hotlink_message::{Comm, Error, Options, Policy, Region, RegionSource, RegionType};
use hotlink_port::{Engine, Key, Kind, Layout, Memory, Port, Program, Refusal, Span, yield_once};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

crate::words! {
    /// How a region is reached (W01's types).
    pub enum RegionKind {
        /// A regular segment that others map.
        Shared = "shared",
        /// Memory of any kind that others map.
        Remote = "remote",
        /// Memory of any kind that others only connect to: DMA alone.
        Rdma = "rdma",
    }
}

crate::words! {
    /// Ranks that set a region up together.
    pub enum RegionSetup {
        /// All ranks.
        Collective = "collective",
        /// Its owner and one other.
        Pair = "pair",
        /// Its owner exports it, and the other imports it when a message has brought the key.
        Individual = "individual",
    }
}

crate::words! {
    /// How long what an access needs is kept.
    pub enum Hold {
        /// The region stays imported and the source registered.
        Persistent = "persistent",
        /// Both are made for each access, and released after it.
        Each = "each",
    }
}

impl From<RegionKind> for RegionType {
    fn from(kind: RegionKind) -> RegionType {
        match kind {
            RegionKind::Shared => RegionType::Shared,
            RegionKind::Remote => RegionType::Remote,
            RegionKind::Rdma => RegionType::Rdma,
        }
    }
}

/// One kind of region, set up and used in one way; rank 0 owns it, rank 1 reaches it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regions {
    /// How it is reached.
    pub kind: RegionKind,
    /// The ranks that set it up.
    pub setup: RegionSetup,
    /// Resources kept between accesses.
    pub hold: Hold,
    /// The region is ordinary memory of the program's, not a regular segment.
    pub private: bool,
    /// Bytes of the region and of an access.
    pub size: u64,
    /// Repetitions.
    pub plan: Plan,
}

/// Times of one life of a region, in microseconds; none for parts that a rank does not have, or that the port cannot
/// do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Life {
    create: Option<f64>,
    export: Option<f64>,
    setup: Option<f64>,
    import: Option<f64>,
    release: Option<f64>,
    hold: Option<f64>,
    first: Option<f64>,
    get: Option<f64>,
    posted: Option<f64>,
    iput: Option<f64>,
    withdraw: Option<f64>,
    revoke: Option<f64>,
}

/// The times at one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionTimes {
    /// Of an access, in microseconds: of a put, or of import, put and release.
    pub access: Samples,
    lives: Vec<Life>,
    /// Whether the port refused an access after its owner took the memory away.
    refused: bool,
    /// The processor moved the data, not the DMA engine.
    by_processor: bool,
    /// Entries of its adapter's address translation that the user's import takes, where the adapter counts them.
    entries: Option<u64>,
    /// Why there is no such region here.
    pub lacking: Option<String>,
}

impl RegionTimes {
    /// The parts of a region's life, from owner and user: medians of all lives.
    pub fn parts(owner: &RegionTimes, user: &RegionTimes) -> Record {
        let middle = |times: &RegionTimes, of: fn(&Life) -> Option<f64>| {
            let mut values: Vec<f64> = times.lives.iter().filter_map(of).collect();
            values.sort_by(f64::total_cmp);
            (!values.is_empty()).then(|| median(&values))
        };
        Record::new()
            .with("moved_by", if user.by_processor { "processor" } else { "DMA" })
            .with("create_us", middle(owner, |life| life.create))
            .with("export_us", middle(owner, |life| life.export))
            .with("region_setup_us", middle(owner, |life| life.setup))
            .with("import_us", middle(user, |life| life.import))
            .with("hold_us", middle(user, |life| life.hold))
            .with("first_us", middle(user, |life| life.first))
            .with("get_us", middle(user, |life| life.get))
            .with("iput_us", middle(user, |life| life.iput))
            .with("iput_posted_us", middle(user, |life| life.posted))
            .with("translation_entries", user.entries)
            .with("release_us", middle(user, |life| life.release))
            .with("withdraw_us", middle(owner, |life| life.withdraw))
            .with("revoke_us", middle(owner, |life| life.revoke))
            .with("refused_after", user.refused)
    }
}

const OWNER: u32 = 0;
const USER: u32 = 1;
/// Tags of the benchmark's own messages.
const KEY: u32 = 3;
const DONE: u32 = 4;
/// A key, and whether there is one.
const KEY_BYTES: u64 = 32;
/// On a real port an access is repeated until as many bytes have moved, a hundred times at most: the clock costs time.
const MOVED_AT_LEAST: u64 = 1 << 20;

impl<P: Port> Program<P, Result<RegionTimes, Error>> for Regions {
    async fn run(&self, port: P) -> Result<RegionTimes, Error> {
        // Memory that is not held must not stay registered either.
        let policy = if self.hold == Hold::Persistent { Policy::Lru } else { Policy::Immediate };
        let options = Options { policy, ..Options::of(port.limits()) };
        let comm = Comm::with_options(port, options);
        let times = Course::new(self, &comm)?.run().await?;
        comm.barrier().await?;
        Ok(times)
    }
}

/// A benchmark on one rank.
struct Course<'a, P: Port> {
    asked: &'a Regions,
    comm: &'a Comm<P>,
    /// For keys, and for messages without bytes.
    board: Memory,
    /// The source of the puts.
    source: Memory,
    lives: RefCell<Vec<Life>>,
    refused: Cell<bool>,
    by_processor: Cell<bool>,
    /// Whether the callback has run.
    called: Rc<Cell<bool>>,
}

impl<'a, P: Port> Course<'a, P> {
    fn new(asked: &'a Regions, comm: &'a Comm<P>) -> Result<Course<'a, P>, Error> {
        let called = Rc::new(Cell::new(false));
        let sink = called.clone();
        comm.on_revoked(move |_| sink.set(true));
        Ok(Course {
            asked,
            comm,
            board: comm.alloc(KEY_BYTES, Kind::Default)?,
            source: comm.alloc(asked.size, Kind::Private)?,
            lives: RefCell::default(),
            refused: Cell::new(false),
            by_processor: Cell::new(false),
            called,
        })
    }

    async fn run(&self) -> Result<RegionTimes, Error> {
        self.comm.write(self.source, 0, &vec![1; self.asked.size as usize])?;
        let lacking = self.lacking().await?;
        let mut access = Samples::default();
        if lacking.is_none() {
            let repeater = Repeater::new(self.comm, &self.asked.plan)?;
            access = repeater.run(async |inner| self.life(inner).await).await?;
        }
        let mut lives = self.lives.take();
        // Those of the warm-up came first.
        lives.drain(..lives.len() - access.values.len().min(lives.len()));
        let (refused, by_processor) = (self.refused.get(), self.by_processor.get());
        let entries = self.entries();
        Ok(RegionTimes { access, lives, refused, by_processor, entries, lacking })
    }

    /// Why the port has no such region, the same on all ranks: it is tried once.
    async fn lacking(&self) -> Result<Option<String>, Error> {
        let (comm, nothing) = (self.comm, Memory(u64::MAX));
        let Some(claim) = comm.limits().deposit else {
            return Ok(Some(format!("{} stores nothing into memory of other ranks", comm.limits().name)));
        };
        if self.asked.kind == RegionKind::Rdma && !self.asked.size.is_multiple_of(claim.dma_align) {
            let what = format!("DMA over {} moves multiples of {} B", comm.limits().name, claim.dma_align);
            return Ok(Some(what));
        }
        // A port without such memory has no such region: an export in its place is refused.
        let block = if comm.rank() == OWNER { self.block().unwrap_or(nothing) } else { nothing };
        let tried = comm.region(OWNER, self.kind(), RegionSource::Existing(block)).await;
        let is_there = tried.is_ok();
        if let Ok(region) = tried {
            region.close().await?;
        }
        comm.barrier().await?;
        if block != nothing {
            comm.free(block)?;
        }
        let what = if self.asked.private { "ordinary memory" } else { "a regular segment" };
        let how = match self.asked.kind {
            RegionKind::Shared => "be a shared region",
            RegionKind::Remote => "be mapped",
            RegionKind::Rdma => "be reached by DMA",
        };
        Ok((!is_there).then(|| format!("{what} cannot {how} over {}", comm.limits().name)))
    }

    fn block(&self) -> Result<Memory, Error> {
        self.comm.alloc(self.asked.size, if self.asked.private { Kind::Private } else { Kind::Shared })
    }

    fn kind(&self) -> RegionType {
        self.asked.kind.into()
    }

    fn is_held(&self) -> bool {
        self.asked.hold == Hold::Persistent
    }

    /// W01 slide 7: a mapping takes entries of the adapter's address translation. A connection takes none (slide 9).
    fn entries(&self) -> Option<u64> {
        let limits = self.comm.limits().registration;
        let mapped = self.asked.kind != RegionKind::Rdma;
        limits.entries.map(|_| if mapped { self.asked.size.div_ceil(limits.entry_bytes) } else { 0 })
    }

    fn since(&self, start: Time) -> f64 {
        (self.comm.now() - start).us()
    }

    fn empty(&self) -> Span {
        Span::new(self.board, 0, 0)
    }

    /// From the export to its revocation, with at least so many accesses between. Returns the time of an access, at the
    /// user, and of the whole life.
    async fn life(&self, inner: u64) -> Result<(f64, Time), Error> {
        let (comm, rank) = (self.comm, self.comm.rank());
        let (begun, mut life) = (comm.now(), Life::default());
        let mut block = None;
        if rank == OWNER {
            let start = comm.now();
            let made = self.block()?;
            life.create = Some(self.since(start));
            block = Some(made);
            // Its owner's part alone. Among several ranks, more steps come with it.
            let start = comm.now();
            let region = comm.region_export(self.kind(), RegionSource::Existing(made))?;
            life.export = Some(self.since(start));
            region.release()?;
        }
        self.together().await?;
        let start = comm.now();
        let region = self.set_up(block).await?;
        let mine = comm.now() - start;
        life.setup = Some(comm.latest(mine).await?.us());
        // The user knows the time, and does not ask the others.
        let mut each = 0.0;
        if let (USER, Some(region)) = (rank, &region) {
            each = self.uses(region, inner, &mut life).await?;
        }
        self.revoke(region, &mut life).await?;
        if let Some(block) = block {
            comm.free(block)?;
        }
        self.lives.borrow_mut().push(life);
        Ok((each, comm.now() - begun))
    }

    async fn together(&self) -> Result<(), Error> {
        Starts::of(self.comm, &self.asked.plan).agreed().await.map(|_| ())
    }

    /// The region, on the ranks that have a part in it.
    async fn set_up(&self, block: Option<Memory>) -> Result<Option<Region<P>>, Error> {
        let (comm, kind, rank) = (self.comm, self.kind(), self.comm.rank());
        let source = RegionSource::Existing(block.unwrap_or(self.board));
        match self.asked.setup {
            RegionSetup::Collective => comm.region(OWNER, kind, source).await.map(Some),
            _ if rank > USER => Ok(None),
            RegionSetup::Pair => comm.region_between(OWNER, USER, kind, source).await.map(Some),
            RegionSetup::Individual if rank == OWNER => {
                let region = comm.region_export(kind, source)?;
                let Key { rank, id, bytes } = region.key();
                let words = [u64::from(rank), id, bytes, 0].map(u64::to_le_bytes);
                comm.write(self.board, 0, words.as_flattened())?;
                comm.send(USER, KEY, Span::new(self.board, 0, KEY_BYTES)).await?;
                Ok(Some(region))
            }
            RegionSetup::Individual => {
                comm.recv(Some(OWNER), Some(KEY), Span::new(self.board, 0, KEY_BYTES)).await?;
                let mut bytes = [0; KEY_BYTES as usize];
                comm.read(self.board, 0, &mut bytes)?;
                let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[i * 8 + k]));
                comm.region_import(kind, Key { rank: word(0) as u32, id: word(1), bytes: word(2) }).map(Some)
            }
        }
    }

    /// The user's work on an existing region: the first access, another import and its end, then accesses.
    async fn uses(&self, region: &Region<P>, inner: u64, life: &mut Life) -> Result<f64, Error> {
        let (comm, kind, size) = (self.comm, self.kind(), self.asked.size);
        let (source, layout) = (Span::new(self.source, 0, size), Layout::contiguous(size));
        self.by_processor.set(region.mover(source, 0, layout) == Engine::Pio);
        let holds = self.is_held() && comm.limits().registration.private;
        if holds {
            let start = comm.now();
            comm.hold(self.source)?;
            life.hold = Some(self.since(start));
        }
        let start = comm.now();
        region.put(source, 0, layout).await?;
        life.first = Some(self.since(start));
        let start = comm.now();
        let again = comm.region_import(kind, region.key())?;
        life.import = Some(self.since(start));
        let start = comm.now();
        again.release()?;
        life.release = Some(self.since(start));
        let repeat = if comm.limits().real_time { (MOVED_AT_LEAST / size).clamp(1, 100) } else { 1 };
        let turns = inner * repeat;
        let start = comm.now();
        for _ in 0..turns {
            if self.is_held() {
                region.put(source, 0, layout).await?;
            } else {
                let mine = comm.region_import(kind, region.key())?;
                mine.put(source, 0, layout).await?;
                mine.release()?;
            }
        }
        let each = self.since(start) / turns as f64;
        if comm.limits().fetch.is_some() {
            let start = comm.now();
            region.get(0, layout, source).await?;
            life.get = Some(self.since(start));
        }
        // `SMI_Imemcpy`, `SMI_Iput`: by DMA if possible, in a mapped region too (W01 slides 7 and 9).
        let start = comm.now();
        let request = region.iput(source, 0, layout).await?;
        life.posted = Some(self.since(start));
        comm.wait(request).await?;
        life.iput = Some(self.since(start));
        if holds {
            comm.unhold(self.source);
        }
        Ok(each)
    }

    /// The owner takes the memory away from all that have it imported. Measures the time until its call is over, and
    /// until the last callback has run. Then the user's accesses are refused.
    async fn revoke(&self, region: Option<Region<P>>, life: &mut Life) -> Result<(), Error> {
        let (comm, rank, size) = (self.comm, self.comm.rank(), self.asked.size);
        // News of regions before this one have come by now.
        comm.iprobe(None, None);
        self.called.set(false);
        self.together().await?;
        let start = comm.now();
        let Some(region) = region else {
            comm.latest(start).await?;
            return Ok(());
        };
        if rank == OWNER {
            let others = if self.asked.setup == RegionSetup::Collective { comm.ranks() } else { USER + 1 };
            region.release()?;
            life.withdraw = Some(self.since(start));
            for other in USER..others {
                comm.send(other, DONE, self.empty()).await?;
            }
            life.revoke = Some((comm.latest(start).await? - start).us());
            return Ok(());
        }
        let called = self.called().await?;
        comm.recv(Some(OWNER), Some(DONE), self.empty()).await?;
        let late = region.put(Span::new(self.source, 0, size), 0, Layout::contiguous(size)).await;
        self.refused.set(late == Err(Refusal::Gone.into()));
        region.release()?;
        comm.latest(called).await.map(|_| ())
    }

    /// When the callback has run. The news comes before the owner's next message, or never.
    async fn called(&self) -> Result<Time, Error> {
        loop {
            let next = self.comm.iprobe(Some(OWNER), Some(DONE));
            if self.called.get() {
                return Ok(self.comm.now());
            }
            if next.is_some() {
                return Err(Refusal::Unsupported.into());
            }
            self.comm.with_port(|port| port.idle(Time::MAX));
            yield_once().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Word;
    use hotlink_port::Driver;
    use hotlink_port::loopback::Loopback;

    /// Every region that there is lives as it should: accesses land, its end reaches the user, accesses are refused.
    #[test]
    fn regions_of_all_kinds_live_and_end_however_they_are_set_up() {
        for &kind in RegionKind::ALL {
            for &setup in RegionSetup::ALL {
                for &hold in Hold::ALL {
                    for private in [false, true] {
                        let regions = Regions { kind, setup, hold, private, size: 4096, plan: Plan::once() };
                        let ranks = Loopback::default().run(3, &regions).unwrap();
                        let ranks: Vec<RegionTimes> = ranks.into_iter().collect::<Result<_, _>>().unwrap();
                        let name = format!("{kind} {setup} {hold} {private}");
                        assert_eq!(ranks[0].lacking.is_some(), private && kind != RegionKind::Rdma, "{name}");
                        if ranks[0].lacking.is_some() {
                            continue;
                        }
                        let parts = RegionTimes::parts(&ranks[0], &ranks[1]);
                        assert_eq!(parts.get("refused_after"), Some(&true.into()), "{name}");
                        assert!(parts.number("revoke_us") > Some(0.0), "{name}");
                        let by = if kind == RegionKind::Rdma { "DMA" } else { "processor" };
                        assert_eq!(parts.text("moved_by"), Some(by), "{name}");
                        assert_eq!(parts.number("hold_us").is_some(), hold == Hold::Persistent, "{name}");
                        assert!(ranks[1].access.values[0] > 0.0, "{name}");
                    }
                }
            }
        }
    }

    /// An import costs, so an access that holds one takes longer than one that finds it.
    #[test]
    fn what_is_held_is_not_set_up_again() {
        let time = |hold| {
            let (kind, setup) = (RegionKind::Rdma, RegionSetup::Individual);
            let regions = Regions { kind, setup, hold, private: true, size: 64, plan: Plan::once() };
            let ranks = Loopback::default().run(2, &regions).unwrap();
            ranks[1].as_ref().unwrap().access.values[0]
        };
        assert!(time(Hold::Each) > time(Hold::Persistent));
    }
}
