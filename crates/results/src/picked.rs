//! Records of result files, and some of them by their values.

use crate::files::read;
use hotlink_study::Error;
use serde_json::Value;
use std::path::PathBuf;

/// All records of files; of several, each with the name of its own.
///
/// # Errors
/// A file cannot be read, or they hold no record.
pub fn all(files: &[PathBuf]) -> Result<Vec<Value>, Error> {
    let mut all = Vec::new();
    for path in files {
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        for result in read(path)? {
            for record in result.whole()?.records {
                let mut fields = serde_json::to_value(&record).unwrap_or_default();
                if files.len() > 1 {
                    fields["run"] = name.clone().into();
                }
                all.push(fields);
            }
        }
    }
    match all.is_empty() {
        true => Err(Error::Input("the files hold no record".to_owned())),
        false => Ok(all),
    }
}

/// A key and its allowed values, one of which a record must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    key: String,
    values: Vec<String>,
}

impl Picked {
    /// Of `key=value,value`.
    ///
    /// # Errors
    /// What is allowed.
    pub fn read(text: &str) -> Result<Picked, String> {
        let (key, values) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("must be KEY=VALUE")?;
        Ok(Picked { key: key.to_owned(), values: values.split(',').map(str::to_owned).collect() })
    }
}

/// Whether a record has what is asked for. A number is the same however it is written.
fn is_wanted(record: &Value, Picked { key, values }: &Picked) -> bool {
    let same = |value: &String| match (&record[key], value.parse::<f64>()) {
        (Value::Number(number), Ok(asked)) => number.as_f64() == Some(asked),
        (Value::String(text), _) => text == value,
        (Value::Bool(is), _) => is.to_string() == *value,
        _ => false,
    };
    values.iter().any(same)
}

/// The records that have all that is asked for.
///
/// # Errors
/// The first key that leaves none, and the values that there are.
pub fn chosen(mut records: Vec<Value>, all: &[Picked]) -> Result<Vec<Value>, Error> {
    for asked in all {
        let Picked { key, values } = asked;
        let mut known: Vec<String> =
            records.iter().map(|record| &record[key]).filter(|value| !value.is_null()).map(told).collect();
        records.retain(|record| is_wanted(record, asked));
        if records.is_empty() {
            known.sort();
            known.dedup();
            known.truncate(20);
            let known = if known.is_empty() {
                "no record has the key".to_owned()
            } else {
                format!("there are {}", known.join(", "))
            };
            return Err(Error::Input(format!("--where {key}={}: leaves no record; {known}", values.join(","))));
        }
    }
    Ok(records)
}

fn told(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn records_are_chosen_by_text_number_and_truth() {
        let all = vec![json!({"a": "x", "n": 8, "ok": true}), json!({"a": "y", "n": 64.0}), json!({"a": "z"})];
        let count = |words: &[&str]| {
            let asked: Vec<_> = words.iter().map(|word| Picked::read(word).expect("a choice")).collect();
            chosen(all.clone(), &asked).map(|left| left.len()).map_err(|failure| failure.to_string())
        };
        assert_eq!([count(&[]), count(&["a=x,y"]), count(&["n=64"]), count(&["ok=true", "a=x"])], [3, 2, 1, 1].map(Ok));
        let told = count(&["a=q"]).expect_err("no record");
        assert!(told.contains("there are x, y, z"), "{told}");
        assert!(Picked::read("a").is_err() && Picked::read("=x").is_err());
    }
}
