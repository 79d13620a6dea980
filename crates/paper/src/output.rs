//! Results to stdout in the format asked for, all at once at the end, so that a failure leaves nothing half-written.
//! Only the records of `--format jsonl` are printed as they come: each line is whole by itself.

use crate::face::Terminal;
use crate::finished;
use crate::progress::{self, Progress, Ticking, When};
use crate::rests;
use crate::table::{Table, keys};
use hotlink_bench::Record;
use hotlink_measure::{environment, osu};
use hotlink_results::anonymous::{self, Numbered, text_without_folders, without_folders};
use hotlink_results::{IMPORTED_ON, INCOMPLETE};
use hotlink_seats::sys::wait_readable;
use hotlink_study::inputs::Vary;
use hotlink_study::schema::VERSION;
use hotlink_study::{Error, words};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How results are printed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Their form.
    pub format: Format,
    /// When progress is shown.
    pub progress: When,
    /// Without what names this machine and its network.
    pub anonymous: bool,
    /// Whether a program takes the results: a sweep, or one that calls the library.
    pub is_for_program: bool,
}

words! {
    /// Result formats.
    pub enum Format {
        /// Aligned columns for people.
        Table = "table",
        /// One object: schema, command, environment, records.
        Json = "json",
        /// One record a line.
        Jsonl = "jsonl",
        /// Comma-separated values.
        Csv = "csv",
        /// A Markdown table.
        Md = "md",
        /// The text of the OSU micro-benchmarks, for benchmarks that it has.
        Osu = "osu",
    }
}

impl Format {
    /// The ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Table | Format::Osu => "txt",
            other => other.name(),
        }
    }
}

/// Draws the plots of the given result file next to that file, where the face that runs the command can.
pub type Plotter = Box<dyn Fn(&Path) -> Result<(), String> + Send>;

/// Collects a command's records.
pub struct Output {
    format: Format,
    progress: When,
    anonymous: bool,
    command: Vec<String>,
    environment: Map<String, Value>,
    records: Vec<Record>,
    tables: Option<Vec<Table>>,
    text: Option<String>,
    plotter: Option<Plotter>,
    muted: bool,
    is_for_program: bool,
    /// Whether results that are done are told of while others are under way.
    tells: bool,
    stream: Stream,
    /// Why the records are not all.
    incomplete: Option<String>,
    /// Files of the command whose names contain hosts, and their names in anonymous results.
    files: Numbered,
}

/// How far the records of `--format jsonl` are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    /// At the end: they may still change.
    Held,
    /// As they come; so many are.
    Live(usize),
    /// The reader stopped listening.
    Closed,
}

impl Output {
    /// For the command line `args`.
    pub fn new(options: Options, args: &[OsString]) -> Output {
        let Options { format, progress, anonymous, is_for_program } = options;
        let mut command: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        if let Some(program) = command.first_mut() {
            *program = "hotlink".to_owned();
        }
        let environment = environment::describe();
        let stream = if format == Format::Jsonl { Stream::Live(0) } else { Stream::Held };
        let is_seen = progress == When::Always || progress == When::Auto && std::io::stderr().is_terminal();
        Output {
            // Records that come on the same terminal are seen themselves.
            tells: is_seen && (format != Format::Jsonl || !std::io::stdout().is_terminal()),
            format,
            progress,
            anonymous,
            command,
            environment,
            muted: false,
            is_for_program,
            stream,
            ..Output::silent()
        }
    }
    /// The output of a question that was no command line: `call` names it. Prints nothing by itself.
    pub fn by_values(call: &str) -> Output {
        Output { command: vec![call.to_owned()], environment: environment::describe(), ..Output::silent() }
    }
    /// Collects records for another verb; prints nothing by itself.
    pub fn silent() -> Output {
        Output {
            format: Format::Json,
            progress: When::Never,
            anonymous: false,
            command: Vec::new(),
            environment: Map::new(),
            records: Vec::new(),
            tables: None,
            text: None,
            plotter: None,
            muted: true,
            is_for_program: true,
            tells: false,
            stream: Stream::Held,
            incomplete: None,
            files: Numbered::default(),
        }
    }
    /// When progress is shown.
    pub fn shows_progress(&self) -> When {
        self.progress
    }
    /// For a face that can draw.
    pub fn with_plotter(self, plotter: Option<Plotter>) -> Output {
        Output { plotter, ..self }
    }
    /// Whether records may not name machines.
    pub fn is_anonymous(&self) -> bool {
        self.anonymous
    }
    /// Draws the plots of a result file, if the face that runs the command can.
    pub fn plotter(&self) -> Option<&Plotter> {
        self.plotter.as_ref()
    }
    /// The format asked for.
    pub fn format(&self) -> Format {
        self.format
    }
    /// The command line, the program's name first.
    pub fn command(&self) -> &[String] {
        &self.command
    }
    /// Prints nothing in the end: another process of the same job does.
    pub fn mute(&mut self) {
        self.muted = true;
        self.progress = When::Never;
    }
    /// Whether another process of the same job prints.
    pub fn is_muted(&self) -> bool {
        self.muted
    }
    /// Numbers these files of the command in anonymous results: people name files after hosts.
    pub fn number_files(&mut self, files: &[PathBuf]) {
        self.files = Numbered::of(files.iter().map(|file| file.display().to_string()));
    }
    /// Adds one result, and prints it where records are printed as they come.
    pub fn push(&mut self, record: Record) {
        let record = if self.anonymous { without_folders(self.files.in_record(record)) } else { record };
        if self.tells && !self.muted {
            progress::tell_done(|| finished::line(&record));
        }
        self.records.push(record);
        if let (false, Stream::Live(printed)) = (self.muted, self.stream) {
            let lines: String = self.records[printed..].iter().map(|record| line(record) + "\n").collect();
            // Any other failure to write is reported at the end.
            self.stream = match write(&lines) {
                Ok(true) => Stream::Live(self.records.len()),
                Ok(false) => Stream::Closed,
                Err(_) => Stream::Live(printed),
            };
        }
    }
    /// Adds results in order.
    pub fn push_all(&mut self, records: impl IntoIterator<Item = Record>) {
        records.into_iter().for_each(|record| self.push(record));
    }
    /// Adds a table of all results so far, with these columns.
    pub fn tabulate(&mut self, columns: &[&str]) {
        self.table(Table::of_keys(&self.records, columns));
    }
    /// Prints records at the end only: a verb changes them after it has added them.
    pub fn hold(&mut self) {
        self.stream = Stream::Held;
    }
    /// Ends the command, as done, once nobody reads records that are printed as they arrive (`| head -1`): the rest of
    /// the work would serve nobody. For work that leaves nothing else behind.
    pub fn end_with_reader(&self) {
        if self.muted || !matches!(self.stream, Stream::Live(_)) {
            return;
        }
        let Ok(stdout) = std::io::stdout().as_fd().try_clone_to_owned().map(File::from) else { return };
        // A pipe's writing end reports nothing but that its reader has left.
        if stdout.metadata().is_ok_and(|about| about.file_type().is_fifo()) {
            std::thread::spawn(move || {
                while !wait_readable(&[stdout.as_raw_fd()], Duration::from_secs(3600)).contains(&true) {}
                std::process::exit(0)
            });
        }
    }
    /// Whether nobody reads further results.
    pub fn is_closed(&self) -> bool {
        self.stream == Stream::Closed
    }
    /// The results so far.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
    /// Says more about the environment (`"mpi": "Open MPI 4.1.4"`).
    pub fn describe(&mut self, key: &str, value: impl Into<Value>) {
        self.environment.insert(key.to_owned(), value.into());
    }
    /// Says more about the environment, key by key.
    pub fn describe_all(&mut self, more: Map<String, Value>) {
        self.environment.extend(more);
    }
    /// The records are of another program's run on a machine that nobody knows: this one only read them.
    pub fn import(&mut self) {
        let here = std::mem::take(&mut self.environment);
        let names = ["hotlink", "os", "host"];
        let read_on: Map<String, Value> = here.into_iter().filter(|(key, _)| names.contains(&key.as_str())).collect();
        self.describe(IMPORTED_ON, read_on);
    }
    /// The records are those before a failure.
    pub fn end_early(&mut self, why: &Error) {
        self.incomplete = Some(why.to_string());
    }
    /// The user ended the command: the records are those that were done. CSV, which cannot say that some are missing, has
    /// them too, since the user knows.
    pub fn interrupt(&mut self) {
        (self.tables, self.text) = (None, None);
        if self.format != Format::Csv {
            self.end_early(&Error::Check("interrupted by Ctrl-C".to_owned()));
        }
    }
    /// What a measurement shows and says meanwhile.
    pub fn face(&self) -> Terminal {
        Terminal(self.progress)
    }
    /// Adds a table that stands in place of the records under `table` and `md`.
    pub fn table(&mut self, mut table: Table) {
        if self.anonymous {
            let Table { title, rows, notes, .. } = &mut table;
            let texts = rows.iter_mut().flatten().chain(notes).chain([title]);
            texts.for_each(|text| *text = text_without_folders(text));
        }
        self.tables.get_or_insert_default().push(table);
    }
    /// Adds such tables.
    pub fn tables(&mut self, tables: impl IntoIterator<Item = Table>) {
        tables.into_iter().for_each(|table| self.table(table));
    }
    /// Text that replaces everything under `table`, `md` and `osu`. It ends with one line end, after which a shell's
    /// prompt begins.
    pub fn text(&mut self, text: impl Into<String>) {
        self.text = Some(text.into().trim_end().to_owned() + "\n");
    }
    /// Text that replaces everything, in any format: it is no result.
    pub fn only(&mut self, text: impl Into<String>) {
        self.format = Format::Table;
        self.text(text);
    }
    /// Refuses OSU's form before any work where the results will have none.
    pub fn suits(&self, has_osu_form: bool) -> Result<(), Error> {
        if self.format == Format::Osu && !has_osu_form { Err(no_osu_form(osu::NOT_OF_OSU)) } else { Ok(()) }
    }
    /// Progress of a task of `total` steps on stderr.
    pub fn progress(&self, task: &str, total: u64) -> Progress {
        Progress::new(task, total, self.progress)
    }
    /// The same, that also moves while no step ends: for what does not fork.
    pub fn ticking(&self, task: &str, total: u64) -> Ticking {
        self.progress(task, total).ticking()
    }
    /// Everything that is not printed yet, as it will be.
    pub fn render(&self) -> Result<String, Error> {
        Ok(match (self.format, &self.text) {
            // These forms cannot say that records are missing.
            (Format::Jsonl | Format::Csv | Format::Osu, _) if self.incomplete.is_some() => String::new(),
            (Format::Json, _) => self.json(),
            (Format::Jsonl, _) => {
                let printed = if let Stream::Live(printed) = self.stream { printed } else { 0 };
                self.records[printed..].iter().map(|record| line(record) + "\n").collect()
            }
            (Format::Csv, _) => csv(&self.records),
            (Format::Table | Format::Md | Format::Osu, Some(text)) => text.clone(),
            (Format::Table, None) => {
                let text = |table: &Table| screen().map_or_else(|| table.text(), |width| table.text_within(width));
                self.printed().iter().map(text).collect::<Vec<_>>().join("\n")
            }
            (Format::Md, None) => self.printed().iter().map(Table::markdown).collect::<Vec<_>>().join("\n"),
            (Format::Osu, None) => osu::text(&self.records).map_err(|why| no_osu_form(&why))?,
        })
    }
    /// Prints everything. A reader that stopped listening (`| head`) is no failure.
    pub fn finish(self) -> Result<(), Error> {
        if self.muted || self.is_closed() {
            return Ok(());
        }
        write(&self.render()?).map(|_| ()).map_err(|error| Error::Input(format!("stdout: {error}")))
    }
    /// The one object of `--json`.
    pub fn json(&self) -> String {
        pretty(&self.document())
    }
    /// As [`Output::json`], before it is text.
    pub fn document(&self) -> Value {
        let (mut command, mut environment) = (self.command.clone(), self.environment.clone());
        if self.anonymous {
            self.files.in_command(&mut command);
            anonymous::without_names(&mut command, &mut environment);
        }
        let mut document = json!({
            "schema": VERSION, "command": command, "environment": environment, "records": self.records,
        });
        if let Some(why) = &self.incomplete {
            document[INCOMPLETE] = why.as_str().into();
        }
        document
    }
    /// The tables; under the last one what the answers rest on.
    fn printed(&self) -> Vec<Table> {
        let mut tables = match &self.tables {
            Some(tables) => tables.clone(),
            None if self.records.is_empty() => Vec::new(),
            None => {
                let keys = keys(&self.records).into_iter().filter(|key| !rests::is_told_below(key));
                vec![Table::of_keys(&self.records, &keys.collect::<Vec<_>>())]
            }
        };
        if let Some(last) = tables.last_mut() {
            last.notes.extend(rests::lines(&self.records));
            last.notes.extend(self.incomplete.iter().map(|why| format!("incomplete: {why}")));
        }
        tables
    }
    /// Whether a comparison varies its uncertain inputs: where the user asks for it. A file's first answers are varied, too,
    /// if that takes but a moment.
    pub fn vary_all(&self, is_asked_for: bool) -> Vary {
        match self.format {
            _ if is_asked_for => Vary::Yes,
            Format::Json if !self.muted && !self.is_for_program => Vary::IfQuick,
            _ => Vary::No,
        }
    }
    /// Whether the uncertain inputs of the first answer are varied: where the user asks for it. It is done for a table's
    /// last line and for files, too, if that takes but a moment: reports of files weigh their inputs.
    pub fn vary(&self, is_asked_for: bool) -> Vary {
        match self.format {
            _ if is_asked_for => Vary::Yes,
            Format::Json | Format::Table | Format::Md if !self.muted && !self.is_for_program => Vary::IfQuick,
            _ => Vary::No,
        }
    }
}

/// Letters of a line where the terminal does not say.
const SCREEN: usize = 100;

/// Letters of a line on the terminal that stdout is; `None` if it is none.
fn screen() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    std::io::stdout().is_terminal().then(|| told.unwrap_or(SCREEN))
}

/// Writes to stdout at once; false where the reader has stopped listening.
fn write(text: &str) -> std::io::Result<bool> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

fn no_osu_form(why: &str) -> Error {
    let allowed = "allowed here: table, json, jsonl, csv, md";
    Error::Input(format!("--format osu {why}; {allowed}"))
}

/// A result document as text.
pub fn pretty(document: &Value) -> String {
    serde_json::to_string_pretty(document).expect("records are plain JSON") + "\n"
}

/// One record as a line of JSON.
pub fn line(record: &Record) -> String {
    serde_json::to_string(record).expect("records are plain JSON")
}

/// Comma-separated values after RFC 4180: every key of any record is a column.
pub fn csv(records: &[Record]) -> String {
    let keys = keys(records);
    let row = |cells: Vec<String>| cells.join(",") + "\n";
    let head = row(keys.iter().map(|key| quoted(key)).collect());
    let rows = records.iter().map(|record| row(keys.iter().map(|key| csv_cell(record.get(key))).collect()));
    if keys.is_empty() { String::new() } else { std::iter::once(head).chain(rows).collect() }
}

fn csv_cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => quoted(text),
        Some(other) => quoted(&other.to_string()),
    }
}

fn quoted(text: &str) -> String {
    let plain = !text.contains(['"', ',', '\n', '\r']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(format: Format) -> Output {
        let options = Options { format, progress: When::Never, anonymous: false, is_for_program: false };
        let mut output = Output::new(options, &["/usr/bin/hotlink".into(), "analyze".into()]);
        output.hold();
        output.push(Record::new().with("fabric", "a, \"b\"").with("nodes", 4).with("efficiency", 0.5));
        output.push(Record::new().with("fabric", "c").with("nodes", 8).with("note", Value::Null));
        output
    }

    #[test]
    fn anonymous_results_name_no_machine() {
        let options = Options { format: Format::Json, progress: When::Never, anonymous: true, is_for_program: false };
        let words =
            ["hotlink", "measure", "sockets", "--listen", "10.1.2.3:7", "--connect=10.1.2.4:7", "/home/me/x.json"];
        let mut output = Output::new(options, &words.map(Into::into));
        output.push(Record::new().with("file", "/home/me/x.json").with("finding", "in /home/me/y at 5 MB/s"));
        output.describe("mpi_library", "/home/me/lib/libmpi.so");
        output.describe("mpi_settings", json!({ "OMPI_MCA_btl_tcp_if_include": "10.1.2.0/24" }));
        let text = output.json();
        for name in ["10.1", "/home", "\"host\""] {
            assert!(!text.contains(name), "{name} in {text}");
        }
        for word in
            ["in y at 5 MB/s", "ADDRESS", "--connect=ADDRESS", "x.json", "libmpi.so", "OMPI_MCA_btl_tcp_if_include"]
        {
            assert!(text.contains(word), "{word} not in {text}");
        }
    }

    #[test]
    fn json_is_one_object_with_schema_command_environment_records() {
        let document: Value = serde_json::from_str(&output(Format::Json).render().unwrap()).unwrap();
        assert_eq!(document["schema"], "hotlink/2");
        assert_eq!(document["command"], json!(["hotlink", "analyze"]));
        assert!(document["environment"]["cores"].as_u64().is_some());
        assert_eq!(document["records"][0]["efficiency"], 0.5);
        assert_eq!(document["records"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn what_ended_early_says_so_or_is_not_printed() {
        let ended = |format| {
            let mut output = output(format);
            output.end_early(&Error::Check("rank 1 was killed".to_owned()));
            output.render().unwrap()
        };
        let document: Value = serde_json::from_str(&ended(Format::Json)).unwrap();
        assert_eq!(
            (&document["incomplete"], document["records"].as_array().unwrap().len()),
            (&json!("rank 1 was killed"), 2)
        );
        assert_eq!([ended(Format::Jsonl), ended(Format::Csv)], ["", ""]);
        assert!(ended(Format::Table).contains("incomplete: rank 1 was killed"));
    }

    #[test]
    fn an_import_does_not_name_this_machine_as_the_one_that_measured() {
        let mut output = output(Format::Json);
        output.import();
        let environment = &output.document()["environment"];
        assert!(environment["imported_on"]["hotlink"].is_string(), "{environment}");
        output.anonymous = true;
        let named = output.document()["environment"]["imported_on"].clone();
        assert!(named["hotlink"].is_string() && named.get("host").is_none(), "{named}");
        assert_eq!(environment.as_object().unwrap().len(), 1, "{environment}");
    }

    #[test]
    fn jsonl_is_one_record_a_line() {
        let text = output(Format::Jsonl).render().unwrap();
        let nodes: Vec<Value> = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
        assert_eq!((nodes.len(), &nodes[1]["nodes"]), (2, &json!(8)));
    }

    #[test]
    fn csv_quotes_and_holds_every_column() {
        let text = output(Format::Csv).render().unwrap();
        assert_eq!(text, "fabric,nodes,efficiency,note\n\"a, \"\"b\"\"\",4,0.5,\nc,8,,\n");
    }

    #[test]
    fn osu_text_is_for_the_verb_that_writes_it() {
        assert_eq!(output(Format::Osu).render().map_err(|failure| failure.status()), Err(2));
        let mut output = output(Format::Osu);
        for text in ["# OSU\n", "# OSU", "# OSU\n\n"] {
            output.text(text);
            assert_eq!(output.render().unwrap(), "# OSU\n");
        }
    }
}
