//! One measurement under way: its request, its face, and the job that it runs in. Benchmarks run by it: on this project's
//! stack between processes of this machine, or on the MPI that launched this process.

use crate::face::Face;
use crate::mpi::Joined;
use crate::request::{Carrier, LABEL, Request, Via};
use crate::room;
use hotlink_bench::{
    Bench, Buffers, CopyRate, Crossed, Crossing, HAND_OFF_LEAST_US, HAND_OFF_US, OnPort, Plan, Record, RegionTimes,
    Regions, Samples, Seen, Summary, Told, Tuned, Tuning, copy_bound_mbps, with_seen,
};
use hotlink_bound::local::Route;
use hotlink_message::{Algorithm, Collective, Error as Failed};
use hotlink_port::{Driver, OnAny, RunError};
use hotlink_real::{BarrierDevice, Options, Shm, Transport, With};
use hotlink_study::Error;
use hotlink_study::options::Memory;
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a pass keeps the samples of a record.
pub(crate) const SAMPLES: &str = "samples";

/// Of the choices of the policy `random`, as for simulated ranks.
const CACHE_SEED: u64 = 1;

/// The best that each probe of the machine saw in this run. The machine may become faster or slower between two points
/// or blocks, and a bound is the best that it can do.
#[derive(Default)]
struct Probed {
    /// Hand-offs of a cache line in microseconds, in the order of the probes.
    hand_offs_us: Vec<f64>,
    /// By ranks and pairs.
    crossed: BTreeMap<(u32, u32), Crossed>,
    /// By size and ranks, in MB/s.
    copies_mbps: BTreeMap<(u64, u32), f64>,
}

pub(crate) struct Session<'a> {
    pub(crate) request: &'a Request,
    pub(crate) face: &'a dyn Face,
    /// The MPI's job, with `--via mpi`.
    pub(crate) mpi: Option<Joined>,
    /// The observations of the ports for each run so far.
    pub(crate) seen: RefCell<Vec<Vec<Seen>>>,
    /// The device of barriers between nodes, in the runs to come.
    pub(crate) device: RefCell<Option<Arc<BarrierDevice>>>,
    probed: RefCell<Probed>,
    /// When it began, for a limit of its time.
    pub(crate) began: Instant,
}

/// How often and how long.
impl<'a> Session<'a> {
    pub(crate) fn new(request: &'a Request, face: &'a dyn Face) -> Session<'a> {
        Session {
            request,
            face,
            mpi: None,
            seen: RefCell::default(),
            device: RefCell::default(),
            probed: RefCell::default(),
            began: Instant::now(),
        }
    }
    /// Of one block.
    pub(crate) fn plan(&self) -> Plan {
        let repetition = &self.request.repetition;
        let time_us = repetition.time_s * 1e6 / f64::from(repetition.blocks);
        Plan { time_us, buffers: repetition.buffers, ..Plan::default() }
    }
    /// A shorter plan for the bound of a point.
    pub(crate) fn bound_plan(&self) -> Plan {
        let plan = self.plan();
        Plan { time_us: (plan.time_us / 4.0).min(200_000.0), buffers: Buffers::Kept, ..plan }
    }
    /// For a benchmark whose buffers are what its program makes of them.
    pub(crate) fn without_buffers(&self) -> Result<(), Error> {
        match self.request.repetition.buffers {
            Buffers::Kept => Ok(()),
            Buffers::Rewritten => {
                let (name, why) = (self.request.benchmark.name(), "its program itself decides what is written when");
                Err(Error::Input(format!("--buffers rewritten: must be kept for {name}: {why}")))
            }
        }
    }
    /// A record with the statistics of one block's samples, of which `key` is the median. It also holds how they were
    /// taken, and the samples themselves, which `rounds` puts together.
    pub(crate) fn finish(&self, record: Record, samples: &Samples, key: &str) -> Result<Record, Error> {
        Ok(summary(samples)?
            .into(record)
            .with("statistic_of", key)
            .with("inner", samples.inner)
            .with("ended_by", self.plan().ended_by(samples.values.len()))
            .with("warmup", samples.warmup)
            .with("buffers", self.request.repetition.buffers.name())
            .with("clock_overhead_us", samples.timer.overhead_us)
            .with("clock_resolution_us", samples.timer.resolution_us)
            .with(SAMPLES, samples.values.clone()))
    }
    /// Ranks are killed after some hours: no benchmark point takes so long.
    pub(crate) fn limits(&self) -> Options {
        let [stall, poll] = [self.request.stall_s, self.request.poll_s].map(|time| time.map(Duration::from_secs_f64));
        let device = self.device.borrow().clone();
        Options { limit: Some(Duration::from_secs(2 * 3600)), stall, poll, device, ..Options::default() }
    }
}

/// Where it runs.
impl Session<'_> {
    pub(crate) fn is_mpi(&self) -> bool {
        self.request.carrier.via == Via::Mpi
    }
    pub(crate) fn via(&self) -> &'static str {
        self.request.carrier.via.name()
    }
    /// Has long messages move as asked, where they move over shared memory.
    pub(crate) fn choose_route(&self) {
        if self.request.carrier.via.shares_memory() {
            hotlink_real::use_copy(self.request.carrier.copy);
        }
    }
    /// Refuses shared memory between ranks of several machines.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.request.carrier.via.is_one_machine() || hotlink_real::is_one_machine().map_err(failure)? {
            return Ok(());
        }
        let what = "--via shm: these ranks met over the network, and shared memory is one machine's";
        Err(Error::Input(format!("{what}; use --via tcp, mixed or mpi")))
    }
    /// Refuses sizes of which `ranks` ranks cannot have `blocks` blocks each in their machines' memory.
    pub(crate) fn fits(&self, sizes: &[u64], ranks: u32, blocks: u64) -> Result<(), Error> {
        let here = match self.is_mpi() {
            true => self.local(ranks).0,
            false if hotlink_real::is_one_machine().map_err(failure)? => ranks,
            false => 1,
        };
        room::check(sizes, here, blocks)
    }
    /// Ranks of the MPI's job; none without one.
    fn started(&self) -> Option<u32> {
        self.mpi.as_ref().map(Joined::ranks)
    }
    /// The numbers of ranks to run on: those asked for; under a launcher all that it started.
    pub(crate) fn ranks(&self, asked: Option<Vec<u32>>, usual: &[u32]) -> Result<Vec<u32>, Error> {
        let Some(started) = self.started() else {
            let usual = launched()?.map_or_else(|| usual.to_vec(), |started| vec![started]);
            return Ok(asked.unwrap_or(usual));
        };
        match asked {
            Some(asked) if asked != [started] => {
                let what = format!("--ranks: the launcher started {started}, and all of them take part");
                Err(Error::Input(what + "; leave --ranks out, or start as many"))
            }
            _ => Ok(vec![started]),
        }
    }
    /// Ranks for a benchmark that plays on the first and the last of `ranks`: under a launcher all, those between look on.
    pub(crate) fn least(&self, ranks: u32) -> Result<u32, Error> {
        let started = self.started().map_or_else(launched, |started| Ok(Some(started)))?;
        Ok(started.unwrap_or(0).max(ranks))
    }
    /// Every rank's host, where the ranks are a launcher's.
    pub(crate) fn hosts(&self) -> Result<Vec<String>, Error> {
        self.mpi.as_ref().map_or_else(|| Ok(Vec::new()), Joined::hosts)
    }
    /// Whether this process speaks for all ranks.
    pub(crate) fn is_speaker(&self) -> bool {
        match &self.mpi {
            Some(joined) => joined.is_speaker(),
            // Ranks of an MPI do not meet by this project's own start-up: the first would wait for the others.
            None if self.is_mpi() => true,
            None => !matches!(hotlink_real::launched(), Ok(Some((rank, _))) if rank > 0),
        }
    }
    /// Ranks on this machine, as far as is known, and the cores that they share.
    fn local(&self, ranks: u32) -> (u32, u32) {
        match (&self.mpi, self.is_mpi()) {
            (Some(joined), _) => joined.local(ranks),
            (None, true) => (ranks, hotlink_real::cores_of_machine()),
            (None, false) => (ranks, hotlink_real::cores()),
        }
    }
    /// Says, and returns, whether there are more ranks than cores.
    pub(crate) fn oversubscribed(&self, ranks: u32) -> bool {
        self.oversubscribed_by(ranks, 0)
    }
    /// The same of ranks one of which has `more` threads that compute.
    pub(crate) fn oversubscribed_by(&self, ranks: u32, more: u32) -> bool {
        let (ranks, cores) = self.local(ranks);
        let over = ranks.saturating_add(more) > cores;
        if over && self.is_speaker() {
            let what = "results tell of the scheduler as much as of the fabric";
            let and = match more {
                0 => String::new(),
                1 => " and another thread of one of them".to_owned(),
                _ => format!(" and {more} more threads of one of them"),
            };
            self.face.say(&format!("{ranks} ranks{and} share {cores} cores: {what}"));
        }
        over
    }
    /// The beginning of a record of this benchmark: where and how it was measured.
    pub(crate) fn record(&self) -> Record {
        let record = self.bare_record().with("via", self.via());
        let watching = self.request.carrier.watching.as_ref();
        let record = with_seen(record, watching, self.seen.borrow().last().map_or(&[], Vec::as_slice));
        let record = match self.request.carrier.cache {
            Some(cache) => record.with("cache", cache.name()),
            None => record,
        };
        match &self.mpi {
            Some(joined) => record.with("mpi", joined.version()),
            None => record,
        }
    }
    /// The same for a benchmark that sends no messages by a carrier.
    pub(crate) fn bare_record(&self) -> Record {
        let fabric = self.request.repetition.fabric.as_str();
        Record::new()
            .with("fabric", fabric.strip_prefix(LABEL).unwrap_or(fabric))
            .with("benchmark", self.request.benchmark.name())
            .with("method", "measured")
    }
}

/// Runs on ranks.
impl Session<'_> {
    /// Runs a benchmark on `ranks` ranks; every rank's result.
    pub(crate) fn run<B: Bench>(&self, ranks: u32, bench: &B) -> Result<Vec<B::Result>, Error>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        match self.is_mpi() {
            true => self.run_mpi(ranks, bench),
            false => self.run_tuned(ranks, bench, Vec::new()),
        }
    }
    /// The same with a collective's algorithm forced, where the messages are this project's.
    pub(crate) fn run_by<B: Bench>(
        &self,
        ranks: u32,
        bench: &B,
        forced: (Collective, Algorithm),
    ) -> Result<Vec<B::Result>, Error>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        self.run_tuned(ranks, bench, vec![forced])
    }
    fn run_mpi<B: Bench>(&self, ranks: u32, bench: &B) -> Result<Vec<B::Result>, Error>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        match &self.mpi {
            Some(joined) => joined.run(ranks, bench),
            None => Err(Error::Check("measure: no MPI job was joined".to_owned())),
        }
    }
    fn run_tuned<B: Bench>(
        &self,
        ranks: u32,
        bench: &B,
        algorithms: Vec<(Collective, Algorithm)>,
    ) -> Result<Vec<B::Result>, Error>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        let Carrier { watching, cache, .. } = self.request.carrier;
        let policy = cache.map(|cache| cache.policy(CACHE_SEED));
        let tuned = Tuned { bench, tuning: Tuning { policy, algorithms, watching, ..Tuning::default() } };
        let results: Vec<Result<Told<B::Result>, Failed>> = match self.request.carrier.via {
            Via::Own(port) => port.with(self.limits(), OnRanks(ranks, &tuned)).map_err(failure)?,
            Via::Mpi => return Err(Error::Input("--via mpi: that MPI chooses for itself".to_owned())),
        };
        let told = of_all(results)?;
        if watching.is_some() {
            let seen = told.iter().filter_map(|told| told.seen.clone()).collect();
            self.seen.borrow_mut().push(seen);
        }
        Ok(told.into_iter().map(|told| told.result).collect())
    }
    /// Runs a benchmark over shared memory, whatever carries the messages; every rank's result.
    pub(crate) fn on_shm<B: Bench>(&self, ranks: u32, bench: &B) -> Result<Vec<B::Result>, Error>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        of_all(Shm::new(self.limits()).run(ranks, &OnPort(bench)).map_err(failure)?)
    }
    /// Regions between ranks that share memory.
    pub(crate) fn regions(&self, ranks: u32, regions: &Regions) -> Result<Vec<RegionTimes>, Error> {
        of_all(Shm::new(self.limits()).run(ranks, regions).map_err(failure)?)
    }
    /// The least time of any message between the first and the last rank, in microseconds. It is a cache line's
    /// hand-off, now and at any time of this run before. `None` where they share no memory.
    pub(crate) fn hand_off_us(&self) -> Result<Option<f64>, Error> {
        if let Some(joined) = &self.mpi {
            self.probed.borrow_mut().hand_offs_us.extend(joined.hand_off_us()?);
        } else {
            let samples = hotlink_real::hand_off(&self.limits()).map_err(failure)?;
            self.probed.borrow_mut().hand_offs_us.extend(Summary::of(&samples).map(|summary| summary.min));
        }
        Ok(self.least_hand_off_us())
    }
    /// The least of all probes so far.
    pub(crate) fn least_hand_off_us(&self) -> Option<f64> {
        self.probed.borrow().hand_offs_us.iter().copied().reduce(f64::min)
    }
    /// The longer one of the last two probes: of those before and after the samples that were taken between.
    pub(crate) fn hand_off_beside_us(&self) -> Option<f64> {
        self.probed.borrow().hand_offs_us.iter().rev().take(2).copied().reduce(f64::max)
    }
    /// The most at which `ranks` ranks together copied blocks of `size` in this run, in their own memory: MB/s.
    pub(crate) fn copy_rate(&self, size: u64, ranks: u32) -> Result<Option<f64>, Error> {
        if size == 0 {
            return Ok(None);
        }
        let bench = CopyRate { sizes: vec![size], plan: self.bound_plan() };
        let copies: Vec<Vec<Samples>> = match self.is_mpi() {
            true => self.run_mpi(self.started().unwrap_or(ranks), &bench)?,
            // The bound of TCP is what it is without the network: the machine's memory.
            false => self.on_shm(ranks.min(hotlink_real::cores()), &bench)?,
        };
        let Some(now) = copy_bound_mbps(&copies, 0) else { return Ok(None) };
        let mut probed = self.probed.borrow_mut();
        let best = probed.copies_mbps.entry((size, ranks)).or_insert(now);
        *best = best.max(now);
        Ok(Some(*best))
    }
    /// The best rates of pairs of `ranks` ranks in this run with bytes that one of them has: see [`Crossing`]. `None`
    /// where they share cores or are on several machines. Also `None` of a foreign MPI, whose ranks this project's port
    /// does not join.
    pub(crate) fn crossed(&self, ranks: u32, pairs: u32) -> Result<Option<Crossed>, Error> {
        let (here, cores) = self.local(ranks);
        if self.is_mpi() || here > cores || !hotlink_real::is_one_machine().map_err(failure)? {
            return Ok(None);
        }
        let told = of_all(Shm::new(self.limits()).run(ranks, &Crossing { pairs }).map_err(failure)?)?;
        let mut probed = self.probed.borrow_mut();
        let best = probed.crossed.entry((ranks, pairs)).or_default();
        *best = best.or(Crossed::sum(&told));
        Ok(Some(*best))
    }
    /// How messages in such memory get from rank to rank at best, one way; `rewritten`: each is written before it is sent.
    pub(crate) fn route(&self, memory: Memory, rewritten: bool, crossed: Option<Crossed>) -> Route {
        let Some(Crossed { lines_mbps, system_mbps }) = crossed else { return Route::Kept };
        let is_written = rewritten || self.request.repetition.buffers == Buffers::Rewritten;
        let is_reached = memory == Memory::Shared && self.request.carrier.via.shares_memory() || is_mapped_by_module();
        match (is_reached, is_written) {
            (false, _) => Route::Ordinary { lines_mbps, system_mbps },
            (true, true) => Route::Written { lines_mbps },
            (true, false) => Route::Kept,
        }
    }
}

/// Whether the system has a module by which processes map each other's ordinary memory.
fn is_mapped_by_module() -> bool {
    ["/dev/xpmem", "/dev/knem"].iter().any(|path| Path::new(path).exists())
}

/// The record with what its bound was made of.
pub(crate) fn with_rates(record: Record, copies_mbps: Option<f64>, route: Route) -> Record {
    let positive = |rate: f64| Some(rate).filter(|rate| *rate > 0.0);
    let (lines, system) = match route {
        Route::Kept => (None, None),
        Route::Written { lines_mbps } => (positive(lines_mbps), None),
        Route::Ordinary { lines_mbps, system_mbps } => (positive(lines_mbps), positive(system_mbps)),
    };
    let all = [("copies_MBps", copies_mbps), ("lines_MBps", lines), ("system_copy_MBps", system)];
    let known = all.into_iter().filter_map(|(key, rate)| Some((key, rate?)));
    let record = record.assuming(Some(route.assumes().to_owned()));
    known.fold(record, |record, (key, rate)| record.with(key, rate))
}

/// The record with the distance of the cores next to its samples, and its minimum in the run so far.
pub(crate) fn with_hand_offs(record: Record, beside_us: Option<f64>, least_us: Option<f64>) -> Record {
    match beside_us.zip(least_us) {
        Some((beside_us, least_us)) => record.with(HAND_OFF_US, beside_us).with(HAND_OFF_LEAST_US, least_us),
        None => record,
    }
}

/// Runs a benchmark on that many ranks of the requested port.
struct OnRanks<'a, B>(u32, &'a Tuned<'a, B>);

impl<B: Bench> With for OnRanks<'_, B>
where
    B::Result: Serialize + DeserializeOwned,
{
    type Output = Result<Vec<Result<Told<B::Result>, Failed>>, RunError>;
    fn on<D: Transport>(self, mut driver: D) -> Self::Output {
        // Ranks of one machine are fast enough for a call through a table to show. For all others the benchmark is compiled
        // once.
        match D::IS_ONE_MACHINE {
            true => driver.run(self.0, self.1),
            false => driver.run(self.0, &OnAny(self.1)),
        }
    }
}

/// Ranks that a launcher started for this project's own stack.
pub(crate) fn launched() -> Result<Option<u32>, Error> {
    Ok(hotlink_real::launched().map_err(failure)?.map(|(_, ranks)| ranks))
}

/// Every rank's result, or the first that failed.
fn of_all<T>(results: Vec<Result<T, Failed>>) -> Result<Vec<T>, Error> {
    results.into_iter().collect::<Result<_, _>>().map_err(|error| Error::Check(format!("measure: {error}")))
}

pub(crate) fn failure(error: RunError) -> Error {
    match error {
        RunError::Ranks { .. } | RunError::Setting(_) => Error::Input(format!("measure: {error}")),
        _ => Error::Check(format!("measure: {error}")),
    }
}

pub(crate) fn summary(samples: &Samples) -> Result<Summary, Error> {
    Summary::of(&samples.values).ok_or_else(no_sample)
}

pub(crate) fn no_sample() -> Error {
    Error::Check("measure: no sample was taken".to_owned())
}
