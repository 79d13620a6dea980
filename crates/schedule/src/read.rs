//! Files of schedules: which form they have, and what stands in them.

use crate::chakra::{self, Collectives};
use crate::check::Stuck;
use crate::collective::{self, Combining, Run, Wanted};
use crate::form::{Builder, NONE, Place, Schedule};
use crate::goal;
use crate::once::Once;
use crate::{msccl, plain};
use std::fmt;
use std::fs::File;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use collective::{Costs, Cut, Domains};

/// A form of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// LogGOPSim's text.
    Goal,
    /// LogGOPSim's binary form.
    GoalBinary,
    /// Chakra execution traces, a file a rank.
    Chakra,
    /// A plan of MSCCL: XML.
    Msccl,
    /// A plan of MSCCL++: JSON.
    Mscclpp,
    /// The JSON for people.
    Plain,
}

impl Format {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Goal => "goal",
            Format::GoalBinary => "goal-binary",
            Format::Chakra => "chakra",
            Format::Msccl => "msccl",
            Format::Mscclpp => "mscclpp",
            Format::Plain => "json",
        }
    }

    /// What a processor of a rank is called.
    pub fn processor(self, rank: u32, cpu: u32) -> String {
        match (self, chakra::processor(cpu)) {
            (Format::Msccl, _) => format!("{} of rank {rank}", msccl::xml::processor(cpu)),
            (Format::Mscclpp, _) => format!("{} of rank {rank}", msccl::plus::processor(cpu)),
            (Format::Chakra, name) => format!("{name} of rank {rank}"),
            _ => format!("processor {cpu} of rank {rank}"),
        }
    }
}

/// What files do not state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Bytes of the collective of an MSCCL or MSCCL++ plan.
    pub bytes: Option<u64>,
    /// Operations a second of a Chakra computation that states operations and no time.
    pub flops: Option<f64>,
    /// The groups of Chakra traces, where they are not in `comm_group.json` in their folder.
    pub groups: Option<PathBuf>,
    /// What reductions and copies take, where files state their bytes.
    pub costs: Costs,
    /// How the collectives of Chakra traces are cut, and where ranks are.
    pub cut: Cut,
    /// What is asked of these collectives. Those that do not have it are left alone.
    pub wanted: Wanted,
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The schedule.
    pub schedule: Schedule,
    /// What it was read from.
    pub format: Format,
    /// Picoseconds that a unit of computation stands for; `None` where the form does not say (GOAL).
    pub unit_ps: Option<u64>,
    /// Switches that combine data, in order of their ranks: the schedule's last ones.
    pub switches: Vec<Combining>,
    /// The collectives of traces on GPUs, and how each is done.
    pub runs: Vec<Run>,
}

impl Read {
    /// A schedule that was not read, in picoseconds.
    pub fn recorded(schedule: Schedule) -> Read {
        Read { schedule, format: Format::Goal, unit_ps: Some(1), switches: Vec::new(), runs: Vec::new() }
    }

    /// Its ranks that are no switches.
    pub fn ranks(&self) -> u32 {
        self.schedule.ranks() - self.switches.iter().map(Combining::count).sum::<u32>()
    }
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The file.
    pub file: String,
    /// Line and column, node, or path; empty for the whole file.
    pub place: String,
    /// What was wrong, and what is allowed.
    pub what: String,
}

impl ReadError {
    pub(crate) fn new(file: &str, place: &str, what: String) -> ReadError {
        ReadError { file: file.to_owned(), place: place.to_owned(), what }
    }
}

impl std::error::Error for ReadError {}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadError { file, place, what } = self;
        match place.chars().next() {
            None => write!(f, "{file}: {what}"),
            Some(first) if first.is_ascii_digit() => write!(f, "{file}:{place}: {what}"),
            Some(_) => write!(f, "{file}: {place}: {what}"),
        }
    }
}

/// The byte order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();
/// A file of plans is no larger: it is read whole.
const MOST_PLAN_BYTES: u64 = 256 << 20;

/// Reads the schedule of a file, or of Chakra traces in a folder or of a prefix; `-` is standard input.
///
/// # Errors
/// What cannot be read or is wrong, with its place.
pub fn read(path: &str, options: &Options) -> Result<Read, ReadError> {
    let (format, builder, Collectives { switches, runs }) = builder(path, options, NONE)?;
    let of_others = [
        (
            "size",
            options.bytes.is_some(),
            "plans of MSCCL and MSCCL++",
            [Format::Msccl, Format::Mscclpp].contains(&format),
        ),
        ("flops", options.flops.is_some(), "Chakra traces", format == Format::Chakra),
        ("groups", options.groups.is_some(), "Chakra traces", format == Format::Chakra),
        ("algorithm", options.wanted.0.is_some(), "Chakra traces", format == Format::Chakra),
        ("protocol", options.wanted.1.is_some(), "Chakra traces", format == Format::Chakra),
    ];
    if let Some((name, _, whose, _)) = of_others.into_iter().find(|(_, given, _, fits)| *given && !fits) {
        let what = format!("has the form {}: `{name}` is for {whose} only", format.name());
        return Err(ReadError::new(path, "", what));
    }
    let unit_ps = (!matches!(format, Format::Goal | Format::GoalBinary)).then_some(1);
    Ok(Read { schedule: builder.build(), format, unit_ps, switches, runs })
}

impl Stuck {
    /// In words, with the place of each operation that it is about in the file `path`, which was read with `options`.
    pub fn located(&self, path: &str, options: &Options) -> String {
        let place = |op| place(path, options, op);
        let first = self.op().and_then(place).unwrap_or_else(|| path.to_owned());
        format!("{first}: {}", self.told(place))
    }
}

/// Where an operation of what [`read()`] gave stands: its line, node or path, with the file. Reads again.
pub fn place(path: &str, options: &Options, op: u32) -> Option<String> {
    let (format, builder, _) = builder(path, options, op).ok()?;
    let Place { file, at: [first, second] } = builder.watched()?;
    Some(match format {
        Format::Goal | Format::Msccl => format!("{path}:{first}"),
        Format::GoalBinary => format!("{path}: rank {first}, operation {second}"),
        Format::Chakra => {
            let files = chakra::files(Path::new(path)).ok()??;
            format!("{}: node {first}", files.get(file as usize)?.display())
        }
        Format::Mscclpp => format!("{path}: {}", msccl::plus::path(first, second)),
        Format::Plain => format!("{path}: ranks[{first}][{second}]"),
    })
}

/// Standard input is read once and kept: a schedule may run on several fabrics.
fn standard() -> Result<&'static [u8], &'static String> {
    static STANDARD: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let read = || {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes).map_err(|error| error.to_string())
    };
    STANDARD.get_or_init(read).as_deref()
}

/// Where a schedule comes from.
enum Input {
    Kept(&'static [u8]),
    File(File),
}

impl std::io::Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Input::Kept(bytes) => bytes.read(buffer),
            Input::File(file) => file.read(buffer),
        }
    }
}

fn builder(path: &str, options: &Options, watched: u32) -> Result<(Format, Builder, Collectives), ReadError> {
    let whole = |what: String| ReadError::new(path, "", what);
    let cannot = |error: std::io::Error| whole(format!("cannot be read: {error}"));
    if path != "-" {
        let at = Path::new(path);
        if at.is_dir() || !at.exists() {
            return match chakra::files(at)? {
                Some(files) => {
                    let (builder, found) = chakra::builder(&files, options, watched)?;
                    Ok((Format::Chakra, builder, found))
                }
                None if at.is_dir() => {
                    Err(whole("no trace here: a folder holds NAME.RANK.et for every rank".to_owned()))
                }
                None => Err(whole("cannot be read: no such file, folder or prefix of traces".to_owned())),
            };
        }
        if at.extension().is_some_and(|ending| ending == "et") {
            return Err(whole("is the trace of one rank: give the folder, or the name before .RANK.et".to_owned()));
        }
    }
    let mut input = match path {
        "-" => Input::Kept(standard().map_err(|what| whole(format!("standard input cannot be read: {what}")))?),
        _ => Input::File(File::open(path).map_err(cannot)?),
    };
    let mut start = Vec::new();
    input.by_ref().take(4096).read_to_end(&mut start).map_err(cannot)?;
    // Editors put a mark before texts, which is none of them.
    if start.starts_with(MARK) {
        start.drain(..MARK.len());
    }
    let format = Format::of(&start);
    if format == Format::GoalBinary {
        use goal::binary::{Wrong, builder};
        let built = match input {
            Input::Kept(_) => builder(Cursor::new(standard().unwrap_or_default()), watched),
            Input::File(file) if file.metadata().is_ok_and(|data| data.is_file()) => builder(file, watched),
            // A pipe has no places.
            mut pipe => {
                pipe.read_to_end(&mut start).map_err(cannot)?;
                builder(Cursor::new(start), watched)
            }
        };
        let told = |wrong| match wrong {
            Wrong::At(at, what) => ReadError::new(path, &format!("byte {at}"), what),
            Wrong::Unread(error) => cannot(error),
        };
        return Ok((format, built.map_err(told)?, Collectives::default()));
    }
    let rest = Cursor::new(start).chain(input);
    if format == Format::Goal {
        let built = goal::parse::builder(rest, watched);
        let built =
            built.map_err(|error| ReadError::new(path, &format!("{}:{}", error.line, error.column), error.what));
        return Ok((format, built?, Collectives::default()));
    }
    let mut bytes = Vec::new();
    rest.take(MOST_PLAN_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST_PLAN_BYTES {
        return Err(whole(format!("is larger than a plan may be: {} MiB", MOST_PLAN_BYTES >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|_| whole("is not UTF-8".to_owned()))?;
    let (format, builder) = of_text(path, &text, options, watched)?;
    Ok((format, builder, Collectives::default()))
}

/// Reads XML and JSON.
fn of_text(path: &str, text: &str, options: &Options, watched: u32) -> Result<(Format, Builder), ReadError> {
    let placed = |(place, what): (String, String)| ReadError::new(path, &place, what);
    if text.trim_start().starts_with('<') {
        return Ok((Format::Msccl, msccl::xml::builder(text, options, watched).map_err(placed)?));
    }
    let Once(document) = serde_json::from_str(text).map_err(|error| {
        let what = if error.is_data() { error.to_string() } else { format!("is no JSON: {error}") };
        ReadError::new(path, &format!("{}:{}", error.line(), error.column()), what)
    })?;
    if plain::recognises(&document) {
        return Ok((Format::Plain, plain::builder(&document, watched).map_err(placed)?));
    }
    if msccl::plus::recognises(&document) {
        return Ok((Format::Mscclpp, msccl::plus::builder(&document, options, watched).map_err(placed)?));
    }
    let what = "is JSON of no known form (allowed: `hotlink_schedule`, or a plan of MSCCL++ with `gpus`)";
    Err(ReadError::new(path, "", what.to_owned()))
}

impl Format {
    /// By the first bytes of a file; XML and JSON are distinguished later.
    fn of(start: &[u8]) -> Format {
        if start.len() >= 8 && start[..8] == goal::binary::MAGIC.to_le_bytes() {
            return Format::GoalBinary;
        }
        match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'<') => Format::Msccl,
            Some(b'{' | b'[') => Format::Plain,
            _ => Format::Goal,
        }
    }
}

/// Any bytes as if they were a file of each form: for fuzzing.
#[doc(hidden)]
pub fn read_bytes(bytes: &[u8], options: &Options) -> [Result<(), String>; 4] {
    let told = |error: &dyn fmt::Debug| format!("{error:?}");
    let goal = goal::parse::builder(bytes, NONE).map(|_| ()).map_err(|error| told(&error));
    let binary = goal::binary::builder(Cursor::new(bytes), NONE).map(|_| ()).map_err(|error| told(&error));
    let text = String::from_utf8_lossy(bytes);
    let plan = of_text("x", &text, options, NONE).map(|_| ()).map_err(|error| told(&error));
    let chakra = chakra::bytes(bytes, options).map_err(|error| told(&error));
    [goal, binary, plan, chakra]
}
