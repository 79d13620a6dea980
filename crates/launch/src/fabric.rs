//! A job whose ranks are on a simulated fabric, and its report.

use crate::collectives;
use crate::{Seats, words_of};
use hotlink_bench::{Record, Seen};
use hotlink_real::{Job, JobEnd, stay_on};
use hotlink_results::timeline;
use hotlink_schedule::{Recorder, Schedule};
use hotlink_seats::{NOTICED, Office, Spent, Step};
use hotlink_study::{Error, recorded_on_fabric};
use hotlink_workloads::called::Ground;
use hotlink_workloads::jobs::recorded_unit;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Instant;

/// The beginning of a record of the ranks' computation.
pub(crate) const RECORDED: &str = "hotlink-compute/1";

hotlink_study::words! {
    /// The source of `clock_gettime`, `gettimeofday`, `time` and sleeps.
    pub enum Clocks {
        /// Those of the rank's virtual time.
        Virtual = "virtual",
        /// The system's own.
        System = "system",
    }
}

hotlink_study::words! {
    /// How often Python starts for a script.
    pub enum Interpreter {
        /// One imports what the script imports at its top, and forks the ranks.
        Once = "once",
        /// Each rank starts its own.
        Each = "each",
    }
}

/// The library that has the system's clocks in virtual time.
const CLOCK: &str = "libhotlink_clock.so";

impl Clocks {
    /// The chosen clocks, with the variable by which processes load virtual ones from the folder of the MPI library.
    fn variable(asked: Option<Clocks>, library: &Path) -> Result<(Clocks, Option<(String, OsString)>), Error> {
        let file = library.with_file_name(CLOCK);
        match asked {
            Some(Clocks::System) => return Ok((Clocks::System, None)),
            Some(Clocks::Virtual) if !file.is_file() => {
                let how = "`make build` leaves it next to the MPI library";
                return Err(Error::Input(format!(
                    "--clocks virtual: {}: there is no such file: {how}",
                    file.display()
                )));
            }
            None if !file.is_file() => return Ok((Clocks::System, None)),
            _ => {}
        }
        let mut all = file.into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            all.push(":");
            all.push(others);
        }
        Ok((Clocks::Virtual, Some(("LD_PRELOAD".to_owned(), all))))
    }
}

/// Why no rank was heard of, and what helps.
pub const OTHER_MPI: &str = "the program loads another MPI, or none (`ldd` tells). Compile it by `hotlink mpicc`; Python's mpi4py by \
     `MPICC=\"hotlink mpicc\" pip install --no-binary mpi4py mpi4py`";

/// Why no rank can go on, with the functions that ranks are in, and whether some have never begun.
fn with_calls(failure: Error, office: &Office) -> Error {
    const SHOWN: usize = 8;
    let Error::Check(mut why) = failure else { return failure };
    let within = office.within();
    let known = within.iter().enumerate().filter_map(|(rank, name)| Some((rank, name.as_ref()?)));
    for (rank, name) in known.clone().take(SHOWN) {
        let _ = write!(why, "; rank {rank} is in {name}");
    }
    if known.clone().count() > SHOWN {
        let _ = write!(why, "; and so on");
    }
    if let Some(rank) = office.absent().first() {
        let _ = write!(why, "; rank {rank} never called MPI_Init");
    }
    Error::Check(why)
}

/// How a job on a fabric ended.
pub enum Ended {
    /// Its ranks left their seats.
    Ran(Box<Told>),
    /// As the job itself reports.
    Failed(JobEnd),
}

/// The report of a job's run on a fabric.
pub struct Told {
    /// The report as a record.
    pub record: Record,
    /// Times of its collectives, and their bounds.
    pub called: Vec<Record>,
    seen: Vec<Seen>,
    office: Office,
}

impl Told {
    /// There are several ranks, and none has called the library. One may well want the clock alone.
    pub fn is_unheard(&self) -> bool {
        self.office.spent().len() > 1 && self.office.absent().len() == self.office.spent().len()
    }
    /// The actions of every rank's port.
    pub fn timeline(&mut self, fabric: &str) -> timeline::Run {
        let name = format!("{} on {fabric}", self.record.text("program").unwrap_or_default());
        (name, std::mem::take(&mut self.seen))
    }
    /// Messages and bytes of each pair of ranks, as CSV.
    pub fn matrix(&self) -> String {
        let mut text = "from,to,messages,bytes\n".to_owned();
        for ((from, to), (messages, bytes)) in self.office.traffic() {
            let _ = writeln!(text, "{from},{to},{messages},{bytes}");
        }
        text
    }
    /// The actions of ranks, where they were asked for.
    pub fn schedule(&self) -> Option<Schedule> {
        self.office.take_steps().map(|steps| recorded(&steps))
    }
}

/// How a job runs on a fabric, and what is kept of it.
pub struct How<'a> {
    /// Where its ranks are.
    pub seats: Seats,
    /// The choice of the system's clocks.
    pub clocks: Option<Clocks>,
    /// The MPI library.
    pub library: &'a Path,
    /// The charge for computing between calls.
    pub compute: &'a str,
    /// A timeline of every rank's port.
    pub traced: bool,
    /// Whether to record the actions of ranks as a schedule.
    pub schedule: bool,
    /// The file that says what fails.
    pub faults: Option<&'a str>,
    /// Hears of the end of a job whose time is up. It may end this process: the simulator may be at work for long.
    pub over: fn(JobEnd),
}

impl<'a> How<'a> {
    /// Nothing is kept but the record, nothing fails, and the caller ends the job.
    pub(crate) fn plain(seats: Seats, library: &'a Path, compute: &'a str) -> How<'a> {
        How { seats, clocks: None, library, compute, traced: false, schedule: false, faults: None, over: |_| () }
    }
}

/// Runs the job's processes on the ranks of a simulated fabric.
///
/// # Errors
/// The fabric, the library or the record of computing is not sound, or no rank can go on.
pub fn on_fabric(mut job: Job, fabric: &str, how: How<'_>) -> Result<Ended, Error> {
    let How { seats, clocks, library, compute, traced, schedule, faults, over } = how;
    let begun = Instant::now();
    let start = |error: std::io::Error| Error::Input(error.to_string());
    let office = Office::new(job.ranks).map_err(start)?;
    let office = if schedule { office.keeping_steps() } else { office };
    job.variables.extend(office.variables().map_err(start)?);
    job.variables.extend(computing(compute, job.ranks)?);
    job.variables.extend(listed(&seats));
    let (clocks, preload) = Clocks::variable(clocks, library)?;
    job.variables.extend(preload);
    // Processes and simulator take turns: on one core a turn is far shorter than between two.
    stay_on(std::process::id());
    let command = words_of(&job.command);
    let running = starting(job, &office, over);
    let seating = seats.seating();
    let simulated = recorded_on_fabric(fabric, seating, &office, traced, faults, |plan, adapter| {
        collectives::records(&office.called(), &Ground { plan, adapter, places: seating.places })
    });
    office.halt();
    let end = running.take().map(|job| job.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())));
    let end = end.transpose().map_err(start)?;
    // A rank's own mistake explains why others could not go on. Those that are halted fail as well.
    let of_absent = |why: &String| office.absent().iter().any(|rank| why.starts_with(&format!("rank {rank} ")));
    let by_itself = simulated.is_ok() || office.failure().is_some();
    // Ranks that only noticed the end of another one name it less well than the office, which heard it end.
    let only_noticed = |end: &JobEnd| end.status == NOTICED && office.failure().is_some();
    if let Some(end) = end
        && end.failed.as_ref().is_some_and(|why| by_itself || of_absent(why))
        && !only_noticed(&end)
    {
        return Ok(Ended::Failed(end));
    }
    if let Some(why) = office.failure() {
        return Err(Error::Check(why));
    }
    let ran = simulated.map_err(|error| with_calls(error, &office))?;
    let record =
        seats.told(ran.record).with("program", command).with("compute_time", compute).with("clocks", clocks.name());
    let record = with_ranks(record, &office.spent()).with("wall_s", begun.elapsed().as_secs_f64());
    Ok(Ended::Ran(Box::new(Told { record, called: ran.called, seen: ran.seen, office })))
}

/// The job's end, once its processes were started.
type Running = Rc<RefCell<Option<JoinHandle<std::io::Result<JobEnd>>>>>;

/// Has the processes started by a thread of their own once the simulation begins.
fn starting(job: Job, office: &Office, over: fn(JobEnd)) -> Running {
    let running = Running::default();
    let (ranks, ended, started) = (job.ranks, office.on_end(), running.clone());
    office.starting_with(move || {
        *started.borrow_mut() = Some(std::thread::spawn(move || {
            let end = job.run_telling(&ended);
            end.iter().filter(|end| end.is_over_time).cloned().for_each(over);
            // Also where none could be started.
            (0..ranks).for_each(&ended);
            end
        }));
    });
    running
}

/// The variable by which the library hears what computing costs.
fn computing(word: &str, ranks: u32) -> Result<Option<(String, OsString)>, Error> {
    let wrong = |what: String| Err(Error::Input(what));
    let value = match word.parse::<f64>() {
        _ if word == "none" => return Ok(None),
        Ok(factor) if factor >= 0.0 && factor.is_finite() => format!("factor:{factor}").into(),
        Ok(factor) => return wrong(format!("--compute-time {factor}: a factor must be at least 0")),
        Err(_) => {
            let file = Path::new(word);
            let Ok(text) = std::fs::read_to_string(file) else {
                let allowed = "must be none, a factor, or a file that `hotlink record` wrote";
                return wrong(format!("--compute-time {word}: {allowed}"));
            };
            // A byte order mark, which editors put before texts, is none of them.
            let first = text.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
            let known = first.strip_prefix(RECORDED).and_then(|ranks| ranks.trim().parse::<u32>().ok());
            match known {
                None => return wrong(format!("{word}:1: a record of `hotlink record` begins with `{RECORDED} RANKS`")),
                Some(known) if known != ranks => {
                    return wrong(format!("{word}:1: a record of {known} ranks, and -n is {ranks}"));
                }
                Some(_) if text.lines().count() != ranks as usize + 1 || !text.ends_with('\n') => {
                    let lines = text.lines().count();
                    return wrong(format!(
                        "{word}:{lines}: the record was cut: it must have {} whole lines",
                        ranks + 1
                    ));
                }
                Some(_) => {}
            }
            let mut value = OsString::from("record:");
            value.push(file.canonicalize().map_err(|error| Error::Input(format!("{word}: {error}")))?);
            value
        }
    };
    Ok(Some(("HOTLINK_COMPUTE".to_owned(), value)))
}

/// The actions of ranks as a schedule in nanoseconds. The number of a message is its tag, so that each finds its
/// receive.
fn recorded(steps: &[Vec<Step>]) -> Schedule {
    let (mut recorder, unit) = (Recorder::new(steps.len() as u32), recorded_unit());
    for (rank, steps) in (0..).zip(steps) {
        // The rest of a nanosecond is part of the next computation.
        let mut left = 0;
        for step in steps {
            match *step {
                Step::Sends { to, number, bytes } => recorder.send(rank, to, number, bytes),
                Step::Takes { from, number, bytes } => recorder.recv(rank, from, number, bytes),
                Step::Computes(time) => {
                    left += time.0;
                    recorder.calc(rank, left / unit.0);
                    left %= unit.0;
                }
            }
        }
    }
    recorder.schedule()
}

/// How the ranks spent their time.
fn with_ranks(record: Record, spent: &[Spent]) -> Record {
    let sum = |of: fn(&Spent) -> f64| spent.iter().map(of).sum::<f64>();
    let all = sum(|one| one.end.us());
    let mut record = record
        .with("rank_end_us", spent.iter().map(|one| one.end.us()).collect::<Vec<_>>())
        .with("rank_waiting_us", spent.iter().map(|one| one.waited.us()).collect::<Vec<_>>())
        .with("turns", spent.iter().map(|one| one.turns).sum::<u64>());
    if all > 0.0 {
        record.set("communication_share", 1.0 - sum(|one| one.computed.us()) / all);
        record.set("waiting_share", sum(|one| one.waited.us()) / all);
    }
    record
}

/// The variable that gives the library the nodes of ranks, where that is not the node of each one's number.
fn listed(seats: &Seats) -> Option<(String, OsString)> {
    let nodes = seats.seating().places.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    (!nodes.is_empty()).then(|| ("HOTLINK_NODES".to_owned(), nodes.into()))
}
