//! Result files read back: what `--json` printed, or a sweep's folder of them.

use hotlink_bench::Record;
use hotlink_study::Error;
use hotlink_study::options::Memory;
use hotlink_study::words::Word;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

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
    /// The records.
    pub records: Vec<Record>,
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

fn wrong(path: &Path, what: String) -> Error {
    Error::Input(format!("{}: {what}", path.display()))
}

fn read_file(file: &Path) -> Result<Results, Error> {
    let wrong = |what: String| wrong(file, what);
    let text = std::fs::read_to_string(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    parse(file, &text)
}

/// The results that `text` holds, called `file` in messages.
pub fn parse(file: &Path, text: &str) -> Result<Results, Error> {
    let wrong = |what: String| wrong(file, what);
    let document: Value = serde_json::from_str(text)
        .map_err(|error| Error::Input(format!("{}:{}: is not JSON: {error}", file.display(), error.line())))?;
    if document["schema"] != "hotlink/1" {
        return Err(wrong("`schema` is not \"hotlink/1\": allowed are results of `hotlink ... --json`".to_owned()));
    }
    let words = document["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let command = words.collect::<Vec<_>>().join(" ");
    let environment = document["environment"].as_object().cloned().unwrap_or_default();
    let records = document["records"].as_array().ok_or_else(|| wrong("`records` is not a list".to_owned()))?;
    let records = records.iter().enumerate().map(|(index, record)| match record {
        Value::Object(fields) => Ok(in_todays_words(Record::from(fields.clone()))),
        _ => Err(wrong(format!("records[{index}] is not an object"))),
    });
    let sha256 = sha256(text);
    Ok(Results { file: file.to_owned(), command, environment, sha256, records: records.collect::<Result<_, _>>()? })
}

/// The fingerprint of a file's text, as `sha256sum` prints it.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A record of any version: a value that a later one calls by another word gets that word, so that old and new records of
/// one point match.
fn in_todays_words(record: Record) -> Record {
    let record = match record.text("memory").and_then(Memory::of) {
        Some(memory) => record.with("memory", memory.name()),
        None => record,
    };
    match record.text("method") {
        Some("formula" | "load") => renamed(record, &INJECTION),
        _ => record,
    }
}

/// What closed form and load count called bound and efficiency until 0.1 is a node's injection and the share of it.
const INJECTION: [(&str, &str); 2] =
    [("bound_bandwidth_per_node_MBps", "injection_per_node_MBps"), ("efficiency", "injection_share")];

fn renamed(record: Record, keys: &[(&str, &str)]) -> Record {
    let name = |old: &str| keys.iter().find(|(key, _)| *key == old).map_or(old, |(_, today)| *today).to_owned();
    record.fields().fold(Record::new(), |new, (key, value)| new.with(&name(key), value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fingerprint_is_that_of_sha256sum() {
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
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

    #[test]
    fn a_share_of_injection_is_no_efficiency_in_old_results_either() {
        let text = |method: &str| {
            format!(
                r#"{{"schema": "hotlink/1", "records": [{{"method": "{method}", "bandwidth_per_node_MBps": 5.0,
                    "bound_bandwidth_per_node_MBps": 10.0, "efficiency": 0.5}}]}}"#
            )
        };
        let read = |method: &str| parse(Path::new("m.json"), &text(method)).unwrap().records.remove(0);
        for method in ["formula", "load"] {
            let record = read(method);
            assert_eq!(record.number("injection_share"), Some(0.5), "{method}");
            assert_eq!(record.number("injection_per_node_MBps"), Some(10.0), "{method}");
            assert!(record.get("efficiency").is_none() && record.get("bound_bandwidth_per_node_MBps").is_none());
        }
        assert_eq!(read("packet").number("efficiency"), Some(0.5));
    }

    #[test]
    fn old_words_for_memory_are_read_as_todays() {
        let text =
            |memory: &str| format!(r#"{{"schema": "hotlink/1", "records": [{{"memory": "{memory}", "n": 1}}]}}"#);
        for (old, today) in
            [("regular", "shared"), ("registered", "private"), ("shared", "shared"), ("remote", "remote")]
        {
            let read = parse(Path::new("m.json"), &text(old)).unwrap();
            assert_eq!(read.records[0].text("memory"), Some(today));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}|\\{\"schema\": \"hotlink/1\", \"records\": \\PC{0,20}\\}") {
            let _ = parse(Path::new("m.json"), &text);
        }
    }
}
