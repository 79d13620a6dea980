//! What carries a benchmark's messages: this project's stack between processes of this machine, or the MPI that
//! launched this process.

use super::{failure, limits, mpi, room};
use crate::verbs::watching::WatchOptions;
use crate::{Failure, output::Output};
use hotlink_bench::{Bench, CopyRate, OnPort, Record, Samples, Seen, Summary, Told, Tuned, Tuning, copy_bound_mbps};
use hotlink_message::{Algorithm, Collective, Error};
use hotlink_port::Driver;
use hotlink_real::{CopyWay, Mixed, Shm, Tcp};
use hotlink_study::simulate::program::with_seen;
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Via {
    /// Shared memory between processes.
    Shm,
    /// TCP over the loopback, or between the machines of a launched job.
    Tcp,
    /// Shared memory within a machine, TCP between machines, in one job.
    Mixed,
    /// The MPI under whose mpirun or srun this runs.
    Mpi,
}

/// Options of every benchmark between ranks.
#[derive(clap::Args)]
pub(super) struct Carrier {
    /// What carries the messages.
    #[arg(long, value_enum, default_value_t = Via::Shm)]
    via: Via,
    /// How long messages of ordinary memory move over shared memory: auto (what this machine was measured to do, once),
    /// ring, stream, system or halves.
    #[arg(long, value_name = "ROUTE", env = hotlink_real::COPY_VARIABLE, default_value = "auto", value_parser = route)]
    copy: Route,
    /// Which MPI, if not the launcher's own: openmpi, mpich, an mpicc, a libmpi_abi.so, or an MPI's folder.
    #[arg(long, value_name = "MPI", env = "HOTLINK_MPICC", help_heading = "MPI")]
    mpi: Option<String>,
    /// With --via mpi: start the ranks by this command, anew for each block (`mpirun -n 2`; words for /bin/sh).
    #[arg(long, value_name = "COMMAND", help_heading = "MPI", conflicts_with = "slurm")]
    launcher: Option<String>,
    /// Print a Slurm script that runs this command with --via mpi, instead of running it.
    #[arg(long, help_heading = "MPI")]
    slurm: bool,
    #[command(flatten)]
    watching: WatchOptions,
}

thread_local! {
    /// What the ports' observers saw of each run so far.
    static SEEN: RefCell<Vec<Vec<Seen>>> = const { RefCell::new(Vec::new()) };
}

/// A route of long messages; none: the machine decides.
#[derive(Clone, Copy, Debug)]
struct Route(Option<CopyWay>);

fn route(text: &str) -> Result<Route, String> {
    hotlink_real::copy_named(text).map(Route)
}

impl Carrier {
    /// Has long messages move as asked, where they move over shared memory.
    pub(super) fn choose_route(&self) {
        if matches!(self.via, Via::Shm | Via::Mixed) {
            hotlink_real::use_copy(self.copy.0);
        }
    }
    pub(super) fn name(&self) -> &'static str {
        match self.via {
            Via::Shm => "shm",
            Via::Tcp => "tcp",
            Via::Mixed => "mixed",
            Via::Mpi => "mpi",
        }
    }
    pub(super) fn is_shm(&self) -> bool {
        self.via == Via::Shm
    }
    pub(super) fn is_mpi(&self) -> bool {
        self.via == Via::Mpi
    }
    /// Refuses observers where there is no port of this project's, and shared memory between ranks of several machines.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.watching.check()?;
        if self.is_mpi() && self.watching.watching().is_some() {
            let what = "--trace, --count, --inject: a foreign MPI has no ports to watch";
            return Err(Failure::Input(format!("{what}; allowed are --via shm, tcp and mixed")));
        }
        if !self.is_shm() || hotlink_real::is_one_machine().map_err(failure)? {
            return Ok(());
        }
        let what = "--via shm: these ranks met over the network, and shared memory is one machine's";
        Err(Failure::Input(format!("{what}; allowed are --via tcp, mixed and mpi")))
    }
    /// Refuses sizes of which `ranks` ranks cannot have `blocks` blocks each in their machines' memory.
    pub(super) fn fits(&self, sizes: &[u64], ranks: u32, blocks: u64) -> Result<(), Failure> {
        let here = match self.via {
            Via::Mpi => mpi::local(ranks).0,
            _ if hotlink_real::is_one_machine().map_err(failure)? => ranks,
            _ => 1,
        };
        room::check(sizes, here, blocks)
    }
    pub(super) fn is_script_wanted(&self) -> bool {
        self.slurm
    }
    /// What starts the ranks of each block, where this process is none of them.
    pub(super) fn launcher(&self) -> Option<&str> {
        self.launcher.as_deref()
    }
    pub(super) fn mpi(&self) -> Option<&str> {
        self.mpi.as_deref()
    }
    /// The numbers of ranks to run on: those asked for; under a launcher all that it started.
    pub(super) fn ranks(&self, asked: Option<Vec<u32>>, usual: &[u32]) -> Result<Vec<u32>, Failure> {
        let Some(started) = mpi::ranks() else {
            let usual = launched()?.map_or_else(|| usual.to_vec(), |started| vec![started]);
            return Ok(asked.unwrap_or(usual));
        };
        match asked {
            Some(asked) if asked != [started] => {
                let what = format!("--ranks: the launcher started {started}, and all of them take part");
                Err(Failure::Input(what + "; leave --ranks out, or start as many"))
            }
            _ => Ok(vec![started]),
        }
    }
    /// Runs a benchmark on `ranks` ranks; every rank's result.
    pub(super) fn run<B: Bench>(&self, ranks: u32, bench: &B) -> Result<Vec<B::Result>, Failure>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        match self.via {
            Via::Mpi => mpi::run(ranks, bench),
            _ => self.run_tuned(ranks, bench, Vec::new()),
        }
    }
    fn run_tuned<B: Bench>(
        &self,
        ranks: u32,
        bench: &B,
        algorithms: Vec<(Collective, Algorithm)>,
    ) -> Result<Vec<B::Result>, Failure>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        let watching = self.watching.watching();
        let tuned = Tuned { bench, tuning: Tuning { algorithms, watching, ..Tuning::default() } };
        let results: Vec<Result<Told<B::Result>, Error>> = match self.via {
            Via::Shm => Shm::new(limits()).run(ranks, &tuned).map_err(failure)?,
            Via::Tcp => Tcp::new(limits()).run(ranks, &tuned).map_err(failure)?,
            Via::Mixed => Mixed::new(limits()).run(ranks, &tuned).map_err(failure)?,
            Via::Mpi => return Err(Failure::Input("--via mpi: that MPI chooses for itself".to_owned())),
        };
        let told = of_all(results)?;
        if watching.is_some() {
            let seen = told.iter().filter_map(|told| told.seen.clone()).collect();
            SEEN.with_borrow_mut(|runs| runs.push(seen));
        }
        Ok(told.into_iter().map(|told| told.result).collect())
    }
    /// Writes the timelines of all runs, if asked for.
    pub(super) fn write_trace(&self, benchmark: &str, output: &Output) -> Result<(), Failure> {
        let runs = SEEN.take();
        let width = runs.len().to_string().len();
        let named = |(run, seen)| (format!("{benchmark} run {run:0width$}"), seen);
        self.watching.write(&runs.into_iter().enumerate().map(named).collect::<Vec<_>>(), output)
    }
    /// The same with a collective's algorithm forced, where the messages are this project's.
    pub(super) fn run_by<B: Bench>(
        &self,
        ranks: u32,
        bench: &B,
        forced: (Collective, Algorithm),
    ) -> Result<Vec<B::Result>, Failure>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        self.run_tuned(ranks, bench, vec![forced])
    }
    /// Ranks for a benchmark that plays on the first and the last of `ranks`: under a launcher all, those between look on.
    pub(super) fn least(&self, ranks: u32) -> Result<u32, Failure> {
        Ok(mpi::ranks().or(launched()?).unwrap_or(0).max(ranks))
    }
    /// The least time of any message between the first and the last rank, in microseconds: a cache line's hand-off.
    /// `None` where they share no memory.
    pub(super) fn hand_off_us(&self) -> Result<Option<f64>, Failure> {
        if self.is_mpi() {
            return mpi::hand_off_us();
        }
        let samples = hotlink_real::hand_off(&limits()).map_err(failure)?;
        Ok(Summary::of(&samples).map(|summary| summary.min))
    }
    /// The lesser of that and what it is now: between two points the system may move ranks closer together.
    pub(super) fn least_hand_off_us(&self, before_us: f64) -> Result<f64, Failure> {
        Ok(self.hand_off_us()?.map_or(before_us, |now_us| now_us.min(before_us)))
    }
    /// The rate at which `ranks` ranks together copy blocks of `size`, in their own memory: MB/s.
    pub(super) fn copy_rate(&self, size: u64, ranks: u32, plan: hotlink_bench::Plan) -> Result<Option<f64>, Failure> {
        if size == 0 {
            return Ok(None);
        }
        let bench = CopyRate { sizes: vec![size], plan };
        let copies: Vec<Vec<Samples>> = match self.via {
            Via::Mpi => mpi::run(mpi::ranks().unwrap_or(ranks), &bench)?,
            // The bound of TCP is what it is without the network: the machine's memory.
            _ => on_shm(ranks.min(hotlink_real::cores()), &bench)?,
        };
        Ok(copy_bound_mbps(&copies, 0))
    }
    /// Every rank's host, where the ranks are a launcher's.
    pub(super) fn hosts(&self) -> Result<Vec<String>, Failure> {
        mpi::hosts()
    }
    /// Whether this process speaks for all ranks.
    pub(super) fn is_speaker(&self) -> bool {
        mpi::is_speaker() && !matches!(hotlink_real::launched(), Ok(Some((rank, _))) if rank > 0 && !self.is_mpi())
    }
    /// Says on stderr, and returns, whether there are more ranks than cores.
    pub(super) fn oversubscribed(&self, ranks: u32) -> bool {
        let (ranks, cores) = if self.is_mpi() { mpi::local(ranks) } else { (ranks, hotlink_real::cores()) };
        if ranks > cores && self.is_speaker() {
            let what = "results tell of the scheduler as much as of the fabric";
            super::say_once(format!("hotlink: {ranks} ranks share {cores} cores: {what}"));
        }
        ranks > cores
    }
    /// The beginning of a record: where and how it was measured.
    pub(super) fn record(&self, fabric: &str, benchmark: &str) -> Record {
        let record = Record::new()
            .with("fabric", fabric)
            .with("benchmark", benchmark)
            .with("method", "measured")
            .with("via", self.name());
        let watching = self.watching.watching();
        let record = SEEN
            .with_borrow(|runs| with_seen(record.clone(), watching.as_ref(), runs.last().map_or(&[], Vec::as_slice)));
        match mpi::version() {
            Some(version) => record.with("mpi", version),
            None => record,
        }
    }
}

/// Ranks that a launcher started for this project's own stack.
fn launched() -> Result<Option<u32>, Failure> {
    Ok(hotlink_real::launched().map_err(failure)?.map(|(_, ranks)| ranks))
}

/// Runs a benchmark over shared memory; every rank's result.
pub(super) fn on_shm<B: Bench>(ranks: u32, bench: &B) -> Result<Vec<B::Result>, Failure>
where
    B::Result: Serialize + DeserializeOwned,
{
    of_all(Shm::new(limits()).run(ranks, &OnPort(bench)).map_err(failure)?)
}

/// Every rank's result, or the first that failed.
fn of_all<T>(results: Vec<Result<T, Error>>) -> Result<Vec<T>, Failure> {
    results.into_iter().collect::<Result<_, _>>().map_err(|error| Failure::Check(format!("measure: {error}")))
}
