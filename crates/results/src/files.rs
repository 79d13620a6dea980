//! Result files read back: the output of `--json`, or a sweep's folder of them.

use crate::versions::of_today;
use crate::{import, lines};
use hotlink_bench::{BLOCKS_LEAST, Record};
use hotlink_study::Error;
use hotlink_study::ask::{Measured, Method, Methods};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The key of the environment for the machine that read another program's results, which is not the one that measured
/// them.
pub const IMPORTED_ON: &str = "imported_on";
/// The key of a document for the reason why it lacks some requested records.
pub const INCOMPLETE: &str = "incomplete";

/// One result file.
pub struct Results {
    /// The file it was read from.
    pub file: PathBuf,
    /// The command line that printed it.
    pub command: String,
    /// Where it was made.
    pub environment: Map<String, Value>,
    /// The fingerprint of its text, as `sha256sum` prints it.
    pub sha256: String,
    /// Why records are missing, if any are.
    pub incomplete: Option<String>,
    /// The records.
    pub records: Vec<Record>,
}

impl Results {
    /// Whether another program measured, on a machine that is not known.
    pub fn is_imported(&self) -> bool {
        let words: Vec<&str> = self.command.split(' ').collect();
        // Older imports have the environment of the machine that read the files.
        let is_import = |pair: &[&str]| pair[0] == "import" && import::Program::named(pair[1]).is_ok();
        self.environment.contains_key(IMPORTED_ON) || words.windows(2).any(is_import)
    }

    /// The host that measured, where it is known. Imported results have the machine that read them, which is another.
    pub fn host(&self) -> Option<&str> {
        self.environment.get("host").and_then(Value::as_str).filter(|_| !self.is_imported())
    }

    /// Results for those that need all of them.
    ///
    /// # Errors
    /// Some are missing.
    pub fn whole(self) -> Result<Results, Error> {
        self.is_whole().map(|()| self)
    }

    /// The same without taking them.
    ///
    /// # Errors
    /// Some are missing.
    pub fn is_whole(&self) -> Result<(), Error> {
        match &self.incomplete {
            None => Ok(()),
            Some(why) => {
                let what = "measure again, or delete this key to take what was measured before";
                Err(wrong(&self.file, format!("`{INCOMPLETE}`: records are missing: {why}; {what}")))
            }
        }
    }
}

/// Reads a result file, or every result file of a folder in the order of names; `-` is standard input.
///
/// # Errors
/// What cannot be read or is no result.
pub fn read(path: &Path) -> Result<Vec<Results>, Error> {
    if path == Path::new("-") {
        let input = Path::new("standard input");
        let text = hotlink_fabric::input::text("-");
        return Ok(vec![parse(input, &text.map_err(|error| wrong(input, format!("cannot be read: {error}")))?)?]);
    }
    if !path.is_dir() {
        return Ok(vec![read_file(path)?]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| wrong(path, format!("cannot be read: {error}")))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    if files.is_empty() {
        return Err(wrong(path, "holds no result file (*.json)".to_owned()));
    }
    files.iter().map(|file| read_file(file)).collect()
}

/// What real ranks answered: the records of these files, where one of the methods asks for them.
///
/// # Errors
/// As of [`read`]; records are missing, or no method asks for them.
pub fn measured(files: &[PathBuf], methods: Option<Methods>) -> Result<Measured, Error> {
    if !files.is_empty() && !methods.is_some_and(|methods| methods.asks(Method::Measured)) {
        let what = "--measured: results stand beside answers only with --method all, or by themselves with --method \
                    measured";
        return Err(Error::Input(what.to_owned()));
    }
    let mut records = Vec::new();
    for path in files {
        for results in read(path)? {
            records.extend(results.whole()?.records);
        }
    }
    Ok(Measured(records))
}

fn wrong(path: &Path, what: String) -> Error {
    Error::Input(format!("{}: {what}", path.display()))
}

fn read_file(file: &Path) -> Result<Results, Error> {
    let wrong = |what: String| wrong(file, what);
    if file.extension().is_some_and(|extension| extension == "parquet") {
        return Err(wrong(
            "is Parquet, which Python's hotlink.Result.load reads; use a form that --format writes".to_owned(),
        ));
    }
    let text = std::fs::read_to_string(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    parse(file, &text)
}

/// The results that `text` holds, called `file` in messages. A name that ends in `.jsonl`, `.csv` or `.md` has that
/// form, as has text that begins as OSU's output. These state no version: their records are read as today's.
pub fn parse(file: &Path, text: &str) -> Result<Results, Error> {
    let wrong = |what: String| wrong(file, what);
    let sha256 = sha256(text);
    // Spreadsheets put a byte order mark before what they save.
    let text = text.trim_start_matches('\u{feff}');
    let plain = match file.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl") => Some(lines::jsonl(text).map_err(wrong)),
        Some("csv") => Some(lines::csv(text).map_err(wrong)),
        Some("md") => Some(lines::markdown(text).map_err(wrong)),
        _ if text.starts_with("# OSU ") => Some(match import::condition::unfinished(text) {
            Some((line, what)) => Err(Error::Input(format!("{}:{line}: {what}", file.display()))),
            None => import::printed_by_osu(&file.display().to_string(), text),
        }),
        _ => None,
    };
    if let Some(records) = plain {
        let records = records?.into_iter().map(with_its_interval).collect();
        let (command, environment) = (String::new(), Map::new());
        let incomplete = None;
        return Ok(Results { file: file.to_owned(), command, environment, sha256, incomplete, records });
    }
    let document: Value = serde_json::from_str(text)
        .map_err(|error| Error::Input(format!("{}:{}: is not JSON: {error}", file.display(), error.line())))?;
    let document = of_today(document).map_err(wrong)?;
    let words = document["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let command = words.collect::<Vec<_>>().join(" ");
    let environment = document["environment"].as_object().cloned().unwrap_or_default();
    let records = document["records"].as_array().into_iter().flatten();
    let records =
        records.filter_map(Value::as_object).map(|fields| with_its_interval(Record::from(fields.clone()))).collect();
    let incomplete = match &document[INCOMPLETE] {
        Value::Null | Value::Bool(false) => None,
        Value::String(why) => Some(why.clone()),
        other => Some(other.to_string()),
    };
    Ok(Results { file: file.to_owned(), command, environment, sha256, incomplete, records })
}

/// Words of a command line as a shell takes them.
pub fn as_typed<'w>(words: impl IntoIterator<Item = &'w String>) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+%@".contains(c);
    let typed = |word: &'w String| match !word.is_empty() && word.chars().all(harmless) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.into_iter().map(typed).collect::<Vec<_>>().join(" ")
}

/// Versions before today's wrote the range of two to five values as an interval, which it is not.
fn with_its_interval(record: Record) -> Record {
    let of_blocks = record.number("blocks").filter(|blocks| *blocks > 1.0);
    match of_blocks.or_else(|| record.number("n")).is_some_and(|values| values < BLOCKS_LEAST as f64) {
        true => record.without("ci95_low").without("ci95_high"),
        false => record,
    }
}

/// The fingerprint of a file's text, as `sha256sum` prints it.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_words_for_themselves() {
        let words = ["simulate", "--fail=leaf 0 -> spine 0", "a:groups=[8,3]", "it's", ""].map(str::to_owned);
        assert_eq!(as_typed(&words), "simulate '--fail=leaf 0 -> spine 0' 'a:groups=[8,3]' 'it'\\''s' ''");
    }
    use proptest::prelude::*;

    #[test]
    fn a_fingerprint_is_that_of_sha256sum() {
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn anonymous_results_name_no_host_and_no_folder() {
        let text = r#"{"schema": "hotlink/2", "command": ["hotlink", "import", "osu", "/h/osu_bw.n1.n2.txt", "a/n3.txt"],
            "environment": {"host": "n1", "imported_on": {"host": "desk", "os": "x"}}, "records": [
            {"file": "/h/osu_bw.n1.n2.txt"}, {"file": "a/n3.txt"}, {"file": "/h/osu_bw.n1.n2.txt"}]}"#;
        let mut results = parse(Path::new("/home/me/m.json"), text).ok().unwrap();
        results.make_anonymous();
        let files: Vec<_> = results.records.iter().filter_map(|record| record.text("file")).collect();
        assert_eq!(files, ["file 1", "file 2", "file 1"]);
        assert_eq!(results.command, "hotlink import osu file 1 file 2");
        assert_eq!((results.file, results.environment.get("host")), ("m.json".into(), None));
        assert_eq!(results.environment["imported_on"].to_string(), r#"{"os":"x"}"#);
    }

    #[test]
    fn missing_records_are_told_to_those_that_need_all() {
        let text = |more: &str| format!("{{\"schema\": \"hotlink/2\", \"records\": []{more}}}");
        let of = |more: &str| parse(Path::new("m.json"), &text(more)).ok().unwrap().whole();
        assert!(of("").is_ok());
        let said = of(", \"incomplete\": \"rank 1 died\"").err().unwrap().to_string();
        assert!(said.starts_with("m.json: `incomplete`: records are missing: rank 1 died; measure again"), "{said}");
    }

    #[test]
    fn intervals_of_too_few_values_are_left_out() {
        let low = |counts: &str| {
            let record = format!(r#"{{"fabric": "x", {counts}, "ci95_low": 1, "ci95_high": 2, "p99": 3}}"#);
            let text = format!(r#"{{"schema": "hotlink/2", "records": [{record}]}}"#);
            let [json, lines] = [("m.json", text), ("m.jsonl", record)].map(|(name, text)| {
                let read = parse(Path::new(name), &text).ok().unwrap();
                assert_eq!(read.records[0].number("p99"), Some(3.0));
                read.records[0].number("ci95_low").is_some() && read.records[0].number("ci95_high").is_some()
            });
            assert_eq!(json, lines);
            json
        };
        assert!(
            ["\"n\": 5", "\"n\": 5000, \"blocks\": 2", "\"n\": 5, \"blocks\": 1"].iter().all(|counts| !low(counts))
        );
        assert!(["\"nodes\": 2", "\"n\": 6", "\"n\": 6, \"blocks\": 6"].iter().all(|counts| low(counts)));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_form() {
        let json = r#"{"schema": "hotlink/2", "records": [{"fabric": "gige", "nodes": 2}]}"#;
        let forms = [
            ("m.json", json),
            ("m.jsonl", r#"{"fabric": "gige"}"#),
            ("m.csv", "fabric,nodes\ngige,2\n"),
            ("m.md", "| fabric | nodes |\n| --- | --- |\n| gige | 2 |\n"),
        ];
        for (name, text) in forms {
            let read = parse(Path::new(name), &format!("\u{feff}{text}")).ok().unwrap();
            assert_eq!(read.records[0].text("fabric"), Some("gige"), "{name}");
        }
    }

    #[test]
    fn osus_form_is_known_by_its_first_line() {
        let text = "# OSU MPI Latency Test v0.1.0\n# not OSU's program but hotlink, in its form; fabric: gige, nodes: 2; \
            median of half round trips\n# Datatype: MPI_CHAR.\n# Size            Latency (us)\n8   3.15\n64   x\n";
        let whole = text.trim_end_matches("64   x\n");
        let record = &parse(Path::new("m.txt"), whole).ok().unwrap().records[0];
        assert_eq!((record.text("fabric"), record.text("benchmark")), (Some("gige"), Some("pingpong")));
        assert_eq!((record.number("nodes"), record.number("latency_us")), (Some(2.0), Some(3.15)));
        let said = parse(Path::new("m.txt"), text).err().unwrap().to_string();
        assert!(said.starts_with("m.txt:6: "), "{said}");
        let cut = parse(Path::new("m.txt"), whole.trim_end()).err().unwrap().to_string();
        assert!(cut.starts_with("m.txt:5: the output is cut short"), "{cut}");
    }

    #[test]
    fn what_is_no_result_is_told_with_its_place() {
        for (text, told) in [
            ("{\n\"a\" 1}", "m.json:2: is not JSON"),
            ("{}", "`schema`"),
            ("{\"schema\": \"hotlink/1\"}", "`records`"),
            ("{\"schema\": \"hotlink/1\", \"records\": [1]}", "records[0]"),
        ] {
            let said = parse(Path::new("m.json"), text).err().unwrap().to_string();
            assert!(said.contains(told), "{said}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}|\\{\"schema\": \"hotlink/1\", \"records\": \\PC{0,20}\\}") {
            let _ = parse(Path::new("m.json"), &text);
        }
    }
}
