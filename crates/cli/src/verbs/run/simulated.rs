//! `hotlink run --on`: a job whose ranks are on a simulated fabric, and the report of it.

use super::seating::{SeatingArgs, Seats};
use crate::Failure;
use crate::output::{Format, Output};
use hotlink_bench::{Record, Seen};
use hotlink_real::{Job, JobEnd, stay_on};
use hotlink_results::{can_write, write_whole, write_with};
use hotlink_schedule::{Recorder, Schedule};
use hotlink_seats::{Office, Spent, Step};
use hotlink_study::{recorded_on_fabric, text::figure, timeline};
use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Instant;

/// How a record of what ranks compute begins.
pub(crate) const RECORDED: &str = "hotlink-compute/1";

/// Picoseconds of a unit of computation, as `simulate goal` takes it by default.
const PS_PER_UNIT: u64 = 1000;

/// How the program computes, and what is written beside the report.
#[derive(clap::Args)]
pub(super) struct Also {
    /// What computing between calls costs (with --on): none, this factor of the processor time that it takes here, or what
    /// `hotlink record` wrote to a file [default: none].
    #[arg(long, value_name = "none|FACTOR|FILE", requires = "on")]
    compute_time: Option<String>,
    /// Write what every rank's port does as a timeline (with --on): Chrome trace events, which Perfetto opens.
    #[arg(long, value_name = "FILE", requires = "on")]
    trace: Option<PathBuf>,
    /// Write messages and bytes of each pair of ranks (with --on) as CSV: those of the library, its own among them.
    #[arg(long, value_name = "FILE", requires = "on")]
    matrix: Option<PathBuf>,
    /// Write the messages and the computing of all ranks as a GOAL schedule (with --on), in nanoseconds: `hotlink simulate
    /// goal FILE` runs it on any fabric.
    #[arg(long, value_name = "FILE", requires = "on")]
    goal: Option<PathBuf>,
    #[command(flatten)]
    seating: SeatingArgs,
    /// What the system's clocks and sleeps tell the program (with --on) [default: virtual, where libhotlink_clock.so is
    /// beside the MPI library].
    #[arg(long, value_enum, requires = "on")]
    clocks: Option<Clocks>,
}

/// What `clock_gettime`, `gettimeofday`, `time` and sleeps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Clocks {
    /// Those of the rank's virtual time.
    Virtual,
    /// The system's own.
    System,
}

/// The library that has the system's clocks in virtual time.
const CLOCK: &str = "libhotlink_clock.so";

impl Clocks {
    /// Which they are, with the variable by which processes load virtual ones from beside the MPI library.
    fn variable(asked: Option<Clocks>, library: &Path) -> Result<(Clocks, Option<(String, OsString)>), Failure> {
        let file = library.with_file_name(CLOCK);
        match asked {
            Some(Clocks::System) => return Ok((Clocks::System, None)),
            Some(Clocks::Virtual) if !file.is_file() => {
                let how = "`make build` leaves it beside the MPI library";
                return Err(Failure::Input(format!(
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
    fn name(self) -> &'static str {
        match self {
            Clocks::Virtual => "virtual",
            Clocks::System => "system",
        }
    }
}

impl Also {
    fn compute(&self) -> &str {
        self.compute_time.as_deref().unwrap_or("none")
    }
}

/// Why nobody can go on, with the functions that ranks are in, and if some have never begun.
fn with_calls(failure: Failure, office: &Office) -> Failure {
    const SHOWN: usize = 8;
    let Failure::Check(mut why) = failure else { return failure };
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
    Failure::Check(why)
}

/// How a job on a fabric ended.
pub(crate) enum Ended {
    /// Its ranks left their seats.
    Ran(Box<Told>),
    /// As the job itself tells.
    Failed(JobEnd),
}

/// What a job's run on a fabric told.
pub(crate) struct Told {
    /// The report as a record.
    pub record: Record,
    seen: Vec<Seen>,
    office: Office,
}

/// How a job runs on a fabric, and what is kept of it.
pub(crate) struct How<'a> {
    /// Where its ranks are.
    pub seats: Seats,
    /// What the system's clocks tell.
    pub clocks: Option<Clocks>,
    /// The MPI library.
    pub library: &'a Path,
    /// What computing between calls costs.
    pub compute: &'a str,
    /// A timeline of every rank's port.
    pub traced: bool,
    /// What ranks do, as a schedule.
    pub schedule: bool,
}

/// Runs the job's processes on the ranks of a simulated fabric.
pub(crate) fn on_fabric(mut job: Job, fabric: &str, how: How<'_>) -> Result<Ended, Failure> {
    let How { seats, clocks, library, compute, traced, schedule } = how;
    let begun = Instant::now();
    let start = |error: std::io::Error| Failure::Input(error.to_string());
    let office = Office::new(job.ranks).map_err(start)?;
    let office = if schedule { office.keeping_steps() } else { office };
    job.variables.extend(office.variables().map_err(start)?);
    job.variables.extend(computing(compute, job.ranks)?);
    job.variables.extend(seats.variable());
    let (clocks, preload) = Clocks::variable(clocks, library)?;
    job.variables.extend(preload);
    // Processes and simulator take turns: on one core a turn is far shorter than between two.
    stay_on(std::process::id());
    let command = words_of(&job.command);
    let running = starting(job, &office);
    let simulated = recorded_on_fabric(fabric, seats.seating(), &office, traced);
    office.halt();
    let end = running.take().map(|job| job.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())));
    let end = end.transpose().map_err(start)?;
    // What a rank did wrong by itself explains why others could not go on. Those that are halted fail as well.
    let of_absent = |why: &String| office.absent().iter().any(|rank| why.starts_with(&format!("rank {rank} ")));
    let by_itself = simulated.is_ok() || office.failure().is_some();
    if let Some(end) = end
        && end.failed.as_ref().is_some_and(|why| by_itself || of_absent(why))
    {
        return Ok(Ended::Failed(end));
    }
    if let Some(why) = office.failure() {
        return Err(Failure::Check(why));
    }
    let ran = simulated.map_err(|error| with_calls(error, &office))?;
    let record =
        seats.told(ran.record).with("program", command).with("compute_time", compute).with("clocks", clocks.name());
    let record = with_ranks(record, &office.spent()).with("wall_s", begun.elapsed().as_secs_f64());
    Ok(Ended::Ran(Box::new(Told { record, seen: ran.seen, office })))
}

/// A command as records name it.
pub(crate) fn words_of(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The job's end, once its processes were started.
type Running = Rc<RefCell<Option<JoinHandle<std::io::Result<JobEnd>>>>>;

/// Has the processes started by a thread of their own once the simulation begins.
fn starting(job: Job, office: &Office) -> Running {
    let running = Running::default();
    let (ranks, ended, started) = (job.ranks, office.on_end(), running.clone());
    office.starting_with(move || {
        *started.borrow_mut() = Some(std::thread::spawn(move || {
            let end = job.run_telling(&ended);
            // Also where none could be started.
            (0..ranks).for_each(&ended);
            end
        }));
    });
    running
}

/// Runs the job on a simulated fabric and tells of it. Gives the job's end if that is what is to be told.
pub(super) fn run(
    job: Job,
    fabric: &str,
    also: &Also,
    library: &Path,
    output: &mut Output,
) -> Result<Option<JobEnd>, Failure> {
    // An hour's run is not lost to a wrong path.
    for (option, path) in [("--trace", &also.trace), ("--matrix", &also.matrix), ("--goal", &also.goal)] {
        path.iter().try_for_each(|path| can_write(option, path))?;
    }
    let seats = also.seating.seats(fabric, job.ranks)?;
    let (traced, schedule) = (also.trace.is_some(), also.goal.is_some());
    let how = How { seats, clocks: also.clocks, library, compute: also.compute(), traced, schedule };
    let told = match on_fabric(job, fabric, how)? {
        Ended::Ran(told) => told,
        Ended::Failed(end) => return Ok(Some(end)),
    };
    if let Some(path) = &also.trace {
        let name = format!("{} on {fabric}", told.record.text("program").unwrap_or_default());
        write_whole("--trace", path, &timeline::chrome(&[(name, told.seen)]))?;
    }
    if let Some(path) = &also.matrix {
        write_whole("--matrix", path, &matrix(&told.office))?;
    }
    if let (Some(path), Some(steps)) = (&also.goal, told.office.take_steps()) {
        let schedule = recorded(&steps);
        write_with("--goal", path, |mut out| schedule.write(&mut out))?;
    }
    match output.format() {
        Format::Table => eprint!("{}", report(&told.record)),
        _ => output.push(told.record),
    }
    Ok(None)
}

/// The variable by which the library hears what computing costs.
fn computing(word: &str, ranks: u32) -> Result<Option<(String, OsString)>, Failure> {
    let wrong = |what: String| Err(Failure::Input(what));
    let value = match word.parse::<f64>() {
        _ if word == "none" => return Ok(None),
        Ok(factor) if factor >= 0.0 && factor.is_finite() => format!("factor:{factor}").into(),
        Ok(factor) => return wrong(format!("--compute-time {factor}: a factor must be at least 0")),
        Err(_) => {
            let file = Path::new(word);
            let Ok(text) = std::fs::read_to_string(file) else {
                let allowed = "allowed are none, a factor, and a file that `hotlink record` wrote";
                return wrong(format!("--compute-time {word}: {allowed}"));
            };
            let first = text.lines().next().unwrap_or_default();
            let known = first.strip_prefix(RECORDED).and_then(|ranks| ranks.trim().parse::<u32>().ok());
            match known {
                None => return wrong(format!("{word}:1: a record of `hotlink record` begins with `{RECORDED} RANKS`")),
                Some(known) if known != ranks => {
                    return wrong(format!("{word}:1: a record of {known} ranks, and -n is {ranks}"));
                }
                Some(_) => {}
            }
            let mut value = OsString::from("record:");
            value.push(file.canonicalize().map_err(|error| Failure::Input(format!("{word}: {error}")))?);
            value
        }
    };
    Ok(Some(("HOTLINK_COMPUTE".to_owned(), value)))
}

fn matrix(office: &Office) -> String {
    let mut text = "from,to,messages,bytes\n".to_owned();
    for ((from, to), (messages, bytes)) in office.traffic() {
        let _ = writeln!(text, "{from},{to},{messages},{bytes}");
    }
    text
}

/// What ranks did as a schedule in nanoseconds. The number of a message is its tag, so that each finds its receive.
fn recorded(steps: &[Vec<Step>]) -> Schedule {
    let mut recorder = Recorder::new(steps.len() as u32);
    for (rank, steps) in (0..).zip(steps) {
        // What is left of a nanosecond is part of the next computation.
        let mut left = 0;
        for step in steps {
            match *step {
                Step::Sends { to, number, bytes } => recorder.send(rank, to, number, bytes),
                Step::Takes { from, number, bytes } => recorder.recv(rank, from, number, bytes),
                Step::Computes(time) => {
                    left += time.0;
                    recorder.calc(rank, left / PS_PER_UNIT);
                    left %= PS_PER_UNIT;
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

/// The report for people.
fn report(record: &Record) -> String {
    let text = |key: &str| record.text(key).unwrap_or_default().to_owned();
    let number = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), figure);
    let percent = |share: f64| format!("{} %", figure((share * 1000.0).round() / 10.0));
    let share = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), percent);
    let mut lines = vec![format!(
        "hotlink: {} on {}, {} ranks: {} us of virtual time; {} of the ranks' time is communication",
        text("program"),
        text("fabric"),
        number("ranks"),
        number("elapsed_us"),
        share("communication_share")
    )];
    if text("compute_time") == "none" {
        lines.push("  computing: takes no time (--compute-time none)".to_owned());
    }
    if text("clocks") == Clocks::System.name() {
        lines.push("  clocks: the system's own, but MPI_Wtime's (--clocks)".to_owned());
    }
    let waiting = record.numbers("rank_waiting_us");
    // The first of equals.
    let most = waiting.iter().enumerate().reduce(|most, one| if one.1 > most.1 { one } else { most });
    let least = waiting.iter().enumerate().reduce(|least, one| if one.1 < least.1 { one } else { least });
    if let (Some(least), Some(most)) = (least, most) {
        let (from, to) = (figure(*least.1), figure(*most.1));
        let (share, least, most) = (share("waiting_share"), least.0, most.0);
        lines.push(format!("  waiting: {share} of the ranks' time, {from} us (rank {least}) to {to} us (rank {most})"));
    }
    let names = record.get("hot_links").and_then(|names| names.as_array()).cloned().unwrap_or_default();
    let shares = record.numbers("hot_links_share");
    let hot: Vec<String> = names
        .iter()
        .zip(shares)
        .map(|(name, share)| format!("{} {}", name.as_str().unwrap_or("-"), percent(share)))
        .collect();
    if !hot.is_empty() {
        lines.push(format!("  hot links: {} (share of the time that each is busy)", hot.join(", ")));
    }
    if record.number("bound_elapsed_us").is_some() {
        let (bound, limit) = (number("bound_elapsed_us"), text("limiting_resource"));
        lines.push(format!(
            "  bound: {bound} us, which {limit} is busy in any order of these messages; efficiency {}",
            number("efficiency")
        ));
    }
    lines
        .extend(hotlink_study::inputs::lines(std::slice::from_ref(record)).into_iter().map(|line| format!("  {line}")));
    lines.join("\n") + "\n"
}
