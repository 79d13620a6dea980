//! Ranks as processes: starts them, collects their results, notices deaths, leaves nothing behind.

use crate::crew::{self, Crew, Lookout};
use crate::doors::BarrierDevice;
use crate::idle;
use crate::sys::{self, Child, Ending};
use hotlink_port::{Port, Program, Rank, RunError};
use hotlink_seats::Waits;
use serde::{Serialize, de::DeserializeOwned};
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How long survivors may go on after a death, to notice it and say so.
const GRACE: Duration = Duration::from_secs(1);
/// Descriptors beyond one for each rank.
const SPARE: u64 = 64;
/// How often the parent looks when nothing is heard; as often for each hundred ranks less.
const LOOK: Duration = Duration::from_millis(5);

/// How ranks are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// All ranks are killed when this is over.
    pub limit: Option<Duration>,
    /// Bind each rank to a core of its own, if there are enough.
    pub pin: bool,
    /// When every rank has waited for so long, and nothing is under way that could end a wait, the run ends with an
    /// error. It names which rank waits for which. `None`: they wait forever.
    pub stall: Option<Duration>,
    /// How long a waiting rank polls before it sleeps, for all ranks of this process. `None`: 20 ms.
    pub poll: Option<Duration>,
    /// The device of barriers between the nodes that this machine plays, over shared memory. `None`: it is one node.
    pub device: Option<Arc<BarrierDevice>>,
}

impl Default for Options {
    fn default() -> Options {
        Options { limit: Some(Duration::from_secs(3600)), pin: true, stall: None, poll: None, device: None }
    }
}

/// The shared state of a job's ranks, made before they are forked. Drivers fork them themselves. Another language's
/// interpreter must fork them in its own way: it then opens each rank's port in its process and buries those that die.
pub trait Doors {
    /// The kind of port.
    type Port: Port;
    /// The port of `rank`, made in its own process, once.
    ///
    /// # Errors
    /// The system's, of making it; the other ranks cannot be reached.
    fn open(&self, rank: Rank) -> io::Result<Self::Port>;
    /// Reports to the others that `rank` has died.
    fn bury(&self, rank: Rank);
    /// The reports of the ranks' long waits, if this process can see them.
    fn waits(&self) -> Option<Arc<Waits>>;
}

/// Has this process die with `parent`, which forked it, whatever kills that.
///
/// # Errors
/// The parent has died already.
pub fn die_with(parent: u32) -> io::Result<()> {
    if sys::die_with(parent) { Ok(()) } else { Err(io::Error::other("the process that started this rank has ended")) }
}

struct Process {
    child: Child,
    results: Option<File>,
    bytes: Vec<u8>,
    ending: Option<Ending>,
}

/// The running ranks; killed and reaped when dropped.
struct Processes(Vec<Process>);

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs `program` on every rank, each a process of its own.
pub(crate) fn run<D, T, R>(ranks: u32, options: &Options, doors: &D, program: &R) -> Result<Vec<T>, RunError>
where
    D: Doors,
    T: Serialize + DeserializeOwned,
    R: Program<D::Port, T>,
{
    let start = |error: io::Error| RunError::Start(error.to_string());
    idle::poll_for(options.poll);
    // A pipe to each here, and what each opens itself.
    sys::allow_descriptors(u64::from(ranks) + SPARE).map_err(|why| RunError::Ranks { ranks, why })?;
    let cores = sys::allowed_cores();
    let pinned = options.pin && ranks as usize <= cores.len();
    let mut processes = Processes(Vec::new());
    for rank in 0..ranks {
        let (results, theirs) = sys::pipe().map_err(start)?;
        sys::set_nonblocking(&results).map_err(start)?;
        let child = sys::fork(|| {
            if pinned {
                sys::pin(cores[rank as usize]);
            }
            be_rank(rank, doors, program, File::from(theirs))
        });
        let child = child.map_err(|error| {
            let what = "a process for a rank; ulimit -u, pids.max of the control group or memory may be what limits it";
            RunError::Ranks { ranks, why: format!("after {rank} of them the system refused {what}: {error}") }
        })?;
        processes.0.push(Process { child, results: Some(results.into()), bytes: Vec::new(), ending: None });
    }
    processes.supervise(options, doors)?;
    processes.results()
}

/// Runs `program` as this process's rank of a launched job, of whose ranks the first `ranks` take part. `open` makes
/// what they share. Every process gets all results.
pub(crate) fn run_launched<D, T, R>(
    crew: &mut Crew,
    ranks: u32,
    options: &Options,
    open: impl FnOnce(&mut Crew) -> io::Result<D>,
    program: &R,
) -> Result<Vec<T>, RunError>
where
    D: Doors,
    T: Serialize + DeserializeOwned,
    R: Program<D::Port, T>,
{
    if ranks > crew.ranks {
        return Err(RunError::Ranks { ranks, why: format!("the launcher started {}", crew.ranks) });
    }
    let start = |error: io::Error| RunError::Start(error.to_string());
    idle::poll_for(options.poll);
    let doors = open(crew).map_err(start)?;
    let (rank, is_local, all_ranks) = (crew.rank, crew.is_local(), crew.ranks);
    let (mine, gathered) = std::thread::scope(|scope| {
        let stall = options.stall.and_then(|stall| Some((doors.waits()?, stall)));
        let lookout = stall.map(|(waits, stall)| Lookout::start(scope, &mut *crew, waits, stall)).transpose();
        let lookout = lookout.map_err(start)?;
        let mut mine = Ok(Vec::new());
        if rank < ranks {
            let cores = sys::allowed_cores();
            // A launcher that binds ranks leaves each its own cores.
            if options.pin && is_local && all_ranks as usize <= cores.len() {
                sys::pin(cores[rank as usize]);
            }
            mine = doors.open(rank).map_err(start).and_then(|port| {
                let result = block_on_unless_stuck(program.run(port))?;
                serde_json::to_vec(&result).map_err(|error| RunError::Start(error.to_string()))
            });
            sys::allow(&cores);
        }
        let gathered = lookout.map_or(Ok(Vec::new()), Lookout::end);
        Ok((mine?, gathered?))
    })?;
    let all = crew.share_results(&mine, gathered)?;
    let parse = |(rank, bytes): (usize, &Vec<u8>)| {
        let how = |error| format!("ended with a result that cannot be read: {error}");
        serde_json::from_slice(bytes).map_err(|error| RunError::RankDied { rank: rank as Rank, how: how(error) })
    };
    all.iter().take(ranks as usize).enumerate().map(parse).collect()
}

/// The life of a rank's process.
fn be_rank<D, T, R>(rank: Rank, doors: &D, program: &R, mut results: File)
where
    D: Doors,
    T: Serialize,
    R: Program<D::Port, T>,
{
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| -> io::Result<()> {
        let port = doors.open(rank)?;
        let result = block_on(program.run(port));
        results.write_all(&serde_json::to_vec(&result)?)
    }));
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            eprintln!("rank {rank}: {error}");
            sys::exit_now(100)
        }
        Err(_) => sys::exit_now(101),
    }
}

/// The busy-poll executor: resumes the program until it ends. Resting is the port's business (`Port::idle`).
pub(crate) fn block_on<T>(program: impl Future<Output = T>) -> T {
    let mut program = pin!(program);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = program.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// The same, until it is known that no rank of a launched job can go on.
fn block_on_unless_stuck<T>(program: impl Future<Output = T>) -> Result<T, RunError> {
    let mut program = pin!(program);
    block_on(poll_fn(|context| match program.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Ok(result)),
        Poll::Pending => crew::stuck().map_or(Poll::Pending, |why| Poll::Ready(Err(RunError::Stuck(why.to_owned())))),
    }))
}

impl Processes {
    fn supervise(&mut self, options: &Options, doors: &impl Doors) -> Result<(), RunError> {
        let limit = options.limit;
        let mut watch = options.stall.and_then(|stall| Some(doors.waits()?.watch(stall)));
        let start = Instant::now();
        let look = LOOK * (1 + self.0.len() as u32 / 100);
        let mut first_death: Option<(Instant, RunError)> = None;
        while self.0.iter().any(|process| process.ending.is_none()) {
            let heard: Vec<i32> = self.0.iter().filter_map(|p| Some(p.results.as_ref()?.as_raw_fd())).collect();
            if heard.is_empty() {
                std::thread::sleep(look / 10);
            } else {
                sys::wait_readable(&heard, look);
            }
            for (rank, process) in self.0.iter_mut().enumerate() {
                process.read();
                if process.reap() && process.ending != Some(Ending::Status(0)) {
                    doors.bury(rank as Rank);
                    first_death.get_or_insert_with(|| (Instant::now(), death(rank as Rank, process.ending)));
                }
            }
            if first_death.as_ref().is_some_and(|(when, _)| when.elapsed() > GRACE) {
                break;
            }
            let over = |rank: Rank| self.0[rank as usize].ending == Some(Ending::Status(0));
            if let Some(why) = watch.as_mut().and_then(|watch| watch.look(over)) {
                return Err(RunError::Stuck(why));
            }
            if limit.is_some_and(|limit| start.elapsed() > limit) {
                let limit_s = limit.unwrap_or_default().as_secs_f64();
                return Err(RunError::Stuck(format!("ranks still run after the {limit_s} s allowed")));
            }
        }
        first_death.map_or(Ok(()), |(_, error)| Err(error))
    }
    fn results<T: DeserializeOwned>(&mut self) -> Result<Vec<T>, RunError> {
        let parse = |(rank, process): (usize, &mut Process)| {
            process.read();
            let how = |error| format!("ended with a result that cannot be read: {error}");
            serde_json::from_slice(&process.bytes)
                .map_err(|error| RunError::RankDied { rank: rank as Rank, how: how(error) })
        };
        self.0.iter_mut().enumerate().map(parse).collect()
    }
    fn kill(&mut self) {
        for process in &mut self.0 {
            if process.ending.is_none() && !process.reap() {
                sys::kill(process.child);
                while !process.reap() {
                    std::thread::sleep(LOOK / 10);
                }
            }
        }
    }
}

impl Process {
    /// Takes what the rank has written so far.
    fn read(&mut self) {
        let Some(file) = &mut self.results else { return };
        match file.read_to_end(&mut self.bytes) {
            Ok(_) => self.results = None,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.results = None,
        }
    }
    /// True when it is seen to have ended just now.
    fn reap(&mut self) -> bool {
        if self.ending.is_none() {
            self.ending = sys::try_wait(self.child);
            return self.ending.is_some();
        }
        false
    }
}

fn death(rank: Rank, ending: Option<Ending>) -> RunError {
    let how = match ending {
        Some(Ending::Signal(signal)) => format!("was killed by signal {signal}"),
        Some(Ending::Status(status)) => format!("ended with status {status}"),
        None => "did not end".to_owned(),
    };
    RunError::RankDied { rank, how }
}
