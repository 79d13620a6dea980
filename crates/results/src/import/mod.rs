//! Results of other measurement programs: their text in, our records out.

pub mod condition;
mod imb;
mod iperf3;
mod nccl;
mod osu;
mod perftest;
mod sound;
mod text;

use hotlink_bench::{Record, Which, flag_impossible};
use hotlink_fabric::input;
use hotlink_study::bound::measured::{Bounds, blocking};
use hotlink_study::options::Rates;
use hotlink_study::{Error, Source};
use hotlink_workloads::measured;
pub use hotlink_workloads::measured::{BY_BYTES, BY_CHAIN, Bus, beyond_chosen, beyond_named, impossible_under};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use text::Text;

/// A program whose results are read. To add one: a file with its entry, which reads its text, and a line in
/// [`PROGRAMS`]. The command and Python have it from then on.
#[derive(Debug)]
pub struct Program {
    /// Its name, in the command and in records.
    pub name: &'static str,
    /// Its meaning, and the parts of it that are read.
    pub meaning: &'static str,
    /// Values that a user must give where its text lacks them.
    pub flags: &'static [Flag],
    /// Whether a text is what it prints.
    pub recognises: fn(&str) -> bool,
    /// The end of a whole text of it that this one lacks (`its sum at the end`).
    pub lacks: fn(&str) -> Option<&'static str>,
    /// Reads its text, with the flags that are set.
    read: fn(&Text<'_>, &[&str]) -> Result<Vec<Record>, Error>,
}

/// A flag of one program.
#[derive(Debug)]
pub struct Flag {
    /// Its name, as an option.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// Every program.
pub static PROGRAMS: &[&Program] = &[
    // Asked in this order whether a text is theirs.
    &osu::ENTRY,
    &imb::ENTRY,
    &nccl::ENTRY,
    &perftest::ENTRY,
    &iperf3::ENTRY,
];

impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        self.name == other.name
    }
}

impl Eq for Program {}

impl Program {
    /// The program that a text is of.
    pub fn of(text: &str) -> Option<&'static Program> {
        PROGRAMS.iter().copied().find(|program| (program.recognises)(text))
    }
    /// The program of that name.
    ///
    /// # Errors
    /// There is none, with those that there are.
    pub fn named(name: &str) -> Result<&'static Program, Error> {
        let found = PROGRAMS.iter().copied().find(|program| program.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
            Error::Input(format!("program: `{name}`: must be one of {}", names.join(", ")))
        })
    }
}

/// Records of the output of OSU's programs, or of text in its form.
pub(crate) fn printed_by_osu(file: &str, text: &str) -> Result<Vec<Record>, Error> {
    (osu::ENTRY.read)(&Text::new(file, text), &[])
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Files of a program, and what the user says of them.
#[derive(Clone, Debug)]
pub struct Files {
    /// The program that printed them.
    pub program: &'static Program,
    /// Flags of that program that are set.
    pub flags: Vec<&'static str>,
    /// The files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// The fabric that was measured: each record gets its bound.
    pub fabric: Option<String>,
    /// Nodes of that fabric that took part; by default one for each rank.
    pub nodes: Option<u32>,
    /// The benchmark, where a file does not name it.
    pub benchmark: Option<String>,
    /// Ranks that took part, where a file does not give them.
    pub ranks: Option<u32>,
    /// NCCL's algorithm, where its log does not name it.
    pub algorithm: Option<String>,
    /// NCCL's protocol, where its log does not name it.
    pub protocol: Option<String>,
    /// Rates of the fabric's resources.
    pub capacities: Rates,
}

/// Largest file that is read.
const MOST_BYTES: u64 = 256 << 20;

impl Files {
    /// Hands `give` every record, with what is impossible about it.
    ///
    /// # Errors
    /// A file that cannot be read or is none of the program's, or a fabric that cannot be built.
    pub fn each(&self, give: &mut dyn FnMut(Record, Option<String>)) -> Result<(), Error> {
        let Files { program, flags, fabric, nodes, benchmark, ranks, algorithm, protocol, capacities, .. } = self;
        if let Some(flag) = flags.iter().find(|flag| program.flags.iter().all(|own| own.name != **flag)) {
            return Err(Error::Input(format!("--{flag}: is no flag of {}", program.name)));
        }
        if nodes.is_some_and(|nodes| nodes < 2) || (nodes.is_some() && fabric.is_none()) {
            return Err(Error::Input("--nodes: must be 2 or more, of --fabric".to_owned()));
        }
        if *ranks == Some(0) {
            return Err(Error::Input("--ranks 0: must be 1 or more".to_owned()));
        }
        if (algorithm.is_some() || protocol.is_some()) && (**program != nccl::ENTRY || fabric.is_none()) {
            let what = "--algorithm, --protocol: are for bounds of nccl-tests, with --fabric";
            return Err(Error::Input(what.to_owned()));
        }
        let mut warned = BTreeSet::new();
        let of_bus = measured::Told {
            gpus: *nodes,
            algorithm: algorithm.clone(),
            protocol: protocol.clone(),
            capacities: *capacities,
        };
        let mut bus = fabric.as_deref().map(|name| Bus::open(name, &of_bus)).transpose()?;
        let told = Told { fabric: fabric.as_deref(), benchmark: benchmark.as_deref(), ranks: *ranks };
        let mut bounds = None;
        for path in &self.files {
            let file = path.display().to_string();
            let text = text_of(path)?;
            if let Some((line, what)) = condition::failure(&text) {
                let what = format!("{what}; its numbers do not count (without this line, those before it do)");
                return Err(Error::Input(format!("{file}:{line}: {what}")));
            }
            if let Some((line, what)) = condition::unfinished(&text) {
                let form = if is_utf16(path) { "; the file is UTF-16, by its byte order mark" } else { "" };
                let what = format!("{what} (delete it, or end it with a line break if it is whole{form})");
                return Err(Error::Input(format!("{file}:{line}: {what}")));
            }
            for record in read(&file, &text, program, flags, &told)? {
                let is_bus = record.number("bus_bandwidth_MBps").is_some();
                if let (true, Some(asked), Some(ranks)) = (is_bus, *nodes, record.number("ranks"))
                    && f64::from(asked) != ranks
                {
                    let what = format!("--nodes {asked}: {file} is of {ranks} GPUs");
                    return Err(Error::Input(format!("{what}; leave --nodes out, or give what the log tells")));
                }
                let record = match (&mut bus, fabric) {
                    (Some(bus), _) if is_bus => bus.add(record)?,
                    (Some(bus), Some(name)) if bus.is_of_hosts() => {
                        let what = "is of the GPUs of a host: it bounds nccl-tests alone";
                        return Err(Error::Input(format!("--fabric {name}: {what}")));
                    }
                    (_, Some(name)) => {
                        has_ranks(&file, &record, *nodes)?;
                        let bounds = match &mut bounds {
                            Some(open) => open,
                            closed => closed.insert(Bounds::open(name, *nodes)?.by(*capacities)),
                        };
                        bounds.add(record)?
                    }
                    _ => record,
                };
                let (record, impossible) = flag_impossible(record);
                // Rows in place and out of place often say the same.
                let what = impossible.map(|what| format!("{file}: {what}"));
                give(record, what.filter(|what| warned.insert(what.clone())));
            }
        }
        Ok(())
    }
}

/// Whether a file is in that encoding. What has been read once and is none, such as a pipe, is not read again.
fn is_utf16(path: &Path) -> bool {
    let mut mark = [0; 2];
    let read = path.is_file() && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut mark)).is_ok();
    read && text::is_utf16(&mark)
}

/// Whether a benchmark is a collective: its bound depends on how many take part.
pub fn is_collective(benchmark: &str) -> bool {
    let benchmark = blocking(benchmark);
    Which::ALL.into_iter().any(|which| which.name() == benchmark)
}

/// Refuses a bound of a collective whose ranks are unknown, or that ran on more nodes than ranks.
fn has_ranks(file: &str, record: &Record, nodes: Option<u32>) -> Result<(), Error> {
    let benchmark = record.text("benchmark").unwrap_or_default();
    let wrong = |what: String| Err(Error::Input(format!("{file}: {what}")));
    match (record.number("ranks"), nodes) {
        _ if !is_collective(benchmark) => Ok(()),
        (None, None) => wrong(format!(
            "a bound of {benchmark} needs the number of ranks, which the file does not tell: give --ranks"
        )),
        (Some(ranks), Some(nodes)) if ranks < f64::from(nodes) => {
            wrong(format!("--nodes {nodes}: {benchmark} is of {ranks} ranks, which are on {ranks} nodes at most"))
        }
        _ => Ok(()),
    }
}

/// The text of a result file, or of standard input (`-`).
///
/// # Errors
/// A file that cannot be read, or is larger than any result file.
pub fn text_of(path: &Path) -> Result<String, Error> {
    let wrong = |what: String| Error::Input(format!("{}: {what}", path.display()));
    let file = path.to_string_lossy();
    let cannot = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    if input::bytes(&file).map_err(cannot)? > MOST_BYTES {
        return Err(wrong("is larger than a result file may be: 256 MiB".to_owned()));
    }
    let mut bytes = Vec::new();
    input::open(&file).and_then(|mut from| from.read_to_end(&mut bytes)).map_err(cannot)?;
    if let Some(why) = text::unreadable(&bytes) {
        return Err(wrong(why.to_owned()));
    }
    Ok(text::plain_log(&text::decoded(&bytes)))
}

/// The user's values for a run, where its text lacks them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// The fabric that was measured.
    pub fabric: Option<&'a str>,
    /// The benchmark.
    pub benchmark: Option<&'a str>,
    /// Ranks that took part.
    pub ranks: Option<u32>,
}

/// The records of `program`'s output in `file`.
///
/// # Errors
/// A line that is none of the program's, or a value that the text lacks.
pub fn read(file: &str, text: &str, program: &Program, flags: &[&str], told: &Told<'_>) -> Result<Vec<Record>, Error> {
    let text = Text::new(file, text);
    let records = (program.read)(&text, flags)?;
    if records.is_empty() {
        return Err(text.wrong(0, "holds no result", &format!("what {} prints", program.name)));
    }
    agree(file, &records, told)?;
    let finish = |record: Record| {
        is_of(file, &record, told)?;
        let record = with_told(record, told);
        if record.text("benchmark").is_none() {
            return Err(text.wrong(0, "does not tell which benchmark it is of", "--benchmark NAME"));
        }
        Ok(head(told, program.name).followed_by(record).with("file", file))
    };
    records.into_iter().map(finish).collect()
}

fn head(told: &Told<'_>, program: &str) -> Record {
    Record::new()
        .with("fabric", told.fabric.unwrap_or("unknown"))
        .with("benchmark", "")
        .with("method", "measured")
        .with("program", program)
}

/// Refuses to hold what was simulated on one fabric to the bound of another.
fn is_of(file: &str, record: &Record, told: &Told<'_>) -> Result<(), Error> {
    let is_simulated = record.text("method").is_some_and(|method| method != "measured");
    let (Some(asked), Some(said), true) = (told.fabric, record.text("fabric"), is_simulated) else { return Ok(()) };
    if asked == said || Source::open(asked)?.spec().name == said {
        return Ok(());
    }
    Err(Error::Input(format!("--fabric {asked}: {file} was simulated on {said}; leave --fabric out, or give that")))
}

/// Refuses a benchmark or ranks of the user where every record of the file tells others.
fn agree(file: &str, records: &[Record], told: &Told<'_>) -> Result<(), Error> {
    let agrees = |key: &str, asked: Option<String>, said: &dyn Fn(&Record) -> Option<String>| {
        let (Some(asked), Some(all)) = (asked, records.iter().map(said).collect::<Option<Vec<_>>>()) else {
            return Ok(());
        };
        match all.first() {
            Some(first) if !all.contains(&asked) => Err(Error::Input(format!(
                "--{key} {asked}: {file} tells {first}; leave --{key} out, or give what the file tells"
            ))),
            _ => Ok(()),
        }
    };
    agrees("benchmark", told.benchmark.map(str::to_owned), &|record| record.text("benchmark").map(str::to_owned))?;
    agrees("ranks", told.ranks.map(|ranks| ranks.to_string()), &|record| {
        record.number("ranks").map(|ranks| ranks.to_string())
    })
}

/// Adds the user's values that the file lacks.
fn with_told(mut record: Record, told: &Told<'_>) -> Record {
    if let (None, Some(benchmark)) = (record.text("benchmark"), told.benchmark) {
        record.set("benchmark", benchmark);
    }
    if let (None, Some(ranks)) = (record.get("ranks"), told.ranks) {
        record.set("ranks", ranks);
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) {
        let text = Text::new("f", text);
        for program in PROGRAMS {
            let _ = (program.read)(&text, &[]);
        }
    }

    #[test]
    fn what_the_user_says_against_every_record_of_a_file_is_refused() {
        let of = |told: &Told<'_>| read("f", include_str!("samples/nccl.txt"), &nccl::ENTRY, &[], told).map(|_| ());
        let ranks = |ranks: u32| Told { ranks: Some(ranks), ..Told::default() };
        let benchmark = |name: &'static str| Told { benchmark: Some(name), ..Told::default() };
        let own = read("f", include_str!("samples/nccl.txt"), &nccl::ENTRY, &[], &Told::default()).unwrap();
        let own_ranks = own[0].number("ranks").unwrap() as u32;
        assert!(of(&ranks(own_ranks)).is_ok() && of(&benchmark("allreduce")).is_ok());
        let said = of(&ranks(own_ranks + 1)).unwrap_err().to_string();
        assert!(said.starts_with(&format!("--ranks {}: f tells {own_ranks};", own_ranks + 1)), "{said}");
        let said = of(&benchmark("alltoall")).unwrap_err().to_string();
        assert!(said.starts_with("--benchmark alltoall: f tells allreduce;"), "{said}");
        // A file of several programs lacks the ranks of some.
        assert!(read("f", include_str!("samples/osu.txt"), &osu::ENTRY, &[], &ranks(6)).is_ok());
    }

    /// The sample files, for mutation.
    const SAMPLES: &[&str] = &[
        include_str!("samples/osu.txt"),
        include_str!("samples/imb.txt"),
        include_str!("samples/nccl.txt"),
        include_str!("samples/nccl.json"),
        include_str!("samples/perftest_bw.txt"),
        include_str!("samples/perftest.json"),
        include_str!("samples/iperf3.txt"),
        include_str!("samples/iperf3.json"),
    ];

    #[test]
    fn every_key_of_the_samples_is_in_the_schema() {
        let known = |name: &str| {
            let keys = hotlink_study::schema::all().flat_map(hotlink_study::schema::Records::keys);
            keys.into_iter().any(|key| key.is(name))
        };
        let mut read_all = 0;
        for sample in SAMPLES {
            let program = Program::of(sample).unwrap();
            let text = Text::new("f", sample);
            let records = (program.read)(&text, &[]).or_else(|_| (program.read)(&text, &["report-gbits"])).unwrap();
            read_all += records.len();
            for key in records.iter().flat_map(|record| record.fields().map(|(key, _)| key)) {
                assert!(known(key), "{key} of {}", program.name);
            }
        }
        assert!(read_all > 20, "{read_all}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(\\PC{0,20}\n){0,6}") {
            all(&text);
        }
        #[test]
        fn no_damaged_sample_panics(which in 0..SAMPLES.len(), at in 0.0..1.0f64, cut in 0usize..40, put in "\\PC{0,6}|[0-9.\\[\\]#-]{0,6}") {
            let sample = SAMPLES[which];
            let mut from = (at * sample.len() as f64) as usize;
            let mut to = (from + cut).min(sample.len());
            while !sample.is_char_boundary(from) { from -= 1; }
            while !sample.is_char_boundary(to) { to += 1; }
            all(&format!("{}{put}{}", &sample[..from], &sample[to..]));
        }
    }
}
