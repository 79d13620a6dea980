//! Result documents of any version, in today's words and keys: other names of `hotlink/1` get their name of
//! `hotlink/2`.

use hotlink_bench::Record;
use hotlink_study::options::Memory;
use hotlink_study::schema::VERSION;
use hotlink_study::words::Word;
use serde_json::Value;

/// Results of hotlink 0.1 before its release.
const FIRST: &str = "hotlink/1";
/// Closed form and load count called it bound and efficiency in `hotlink/1`: a node's injection and the share of it.
const INJECTION: [(&str, &str); 2] =
    [("bound_bandwidth_per_node_MBps", "injection_per_node_MBps"), ("efficiency", "injection_share")];

/// Whether a text may be a result document of some version.
pub fn is_ours(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && [FIRST, VERSION].iter().any(|version| text.contains(&format!("\"{version}\"")))
}

/// The document as this version writes it.
///
/// # Errors
/// It is no result document, or of a version that is not known.
pub fn of_today(mut document: Value) -> Result<Value, String> {
    let version = document["schema"].as_str().unwrap_or_default();
    let is_old = match version {
        FIRST => true,
        VERSION => false,
        other => {
            let has = if other.is_empty() { "is not there".to_owned() } else { format!("is \"{other}\"") };
            let allowed = "must be a result of `hotlink ... --json`";
            return Err(format!("`schema` {has}, not \"{VERSION}\" or \"{FIRST}\": {allowed}"));
        }
    };
    let records = document["records"].as_array_mut().ok_or("`records` is not a list")?;
    for (index, record) in records.iter_mut().enumerate() {
        let Value::Object(fields) = record else { return Err(format!("records[{index}] is not an object")) };
        if is_old {
            *record = in_todays_words(Record::from(std::mem::take(fields))).into();
        }
    }
    document["schema"] = VERSION.into();
    Ok(document)
}

/// A record of `hotlink/1` as one of today, so that old and new records of one point match.
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

fn renamed(record: Record, keys: &[(&str, &str)]) -> Record {
    let name = |old: &str| keys.iter().find(|(key, _)| *key == old).map_or(old, |(_, today)| *today).to_owned();
    record.fields().fold(Record::new(), |new, (key, value)| new.with(&name(key), value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(version: &str, record: Value) -> Record {
        let document = of_today(json!({ "schema": version, "records": [record] })).unwrap();
        assert_eq!(document["schema"], VERSION);
        Record::from(document["records"][0].as_object().unwrap().clone())
    }

    #[test]
    fn a_share_of_injection_is_no_efficiency_in_old_results_either() {
        for method in ["formula", "load", "packet"] {
            let old = json!({ "method": method, "bandwidth_per_node_MBps": 5.0,
                              "bound_bandwidth_per_node_MBps": 10.0, "efficiency": 0.5 });
            let record = read(FIRST, old.clone());
            if method == "packet" {
                assert_eq!(record.number("efficiency"), Some(0.5));
                continue;
            }
            assert_eq!(record.number("injection_share"), Some(0.5), "{method}");
            assert_eq!(record.number("injection_per_node_MBps"), Some(10.0), "{method}");
            assert!(record.get("efficiency").is_none() && record.get("bound_bandwidth_per_node_MBps").is_none());
            assert_eq!(read(VERSION, old).number("efficiency"), Some(0.5), "what is of today stays as it is");
        }
    }

    #[test]
    fn old_words_for_memory_are_read_as_todays() {
        for (old, today) in
            [("regular", "shared"), ("registered", "private"), ("shared", "shared"), ("remote", "remote")]
        {
            assert_eq!(read(FIRST, json!({ "memory": old, "n": 1 })).text("memory"), Some(today));
        }
    }

    #[test]
    fn an_unknown_version_is_told_with_those_that_are_known() {
        for (document, told) in [(json!({}), "is not there"), (json!({ "schema": "hotlink/3" }), "is \"hotlink/3\"")] {
            let said = of_today(document).unwrap_err();
            assert!(said.contains(told) && said.contains(VERSION) && said.contains(FIRST), "{said}");
        }
    }

    #[test]
    fn results_are_known_by_their_version() {
        assert!(is_ours(r#" {"schema": "hotlink/1", "records": []}"#) && is_ours(r#"{"schema": "hotlink/2"}"#));
        assert!(!is_ours(r#"{"schema": "other/1"}"#) && !is_ours("hotlink/2"));
    }
}
