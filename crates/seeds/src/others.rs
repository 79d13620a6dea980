//! Results of the same hardware by others: no study, but a check of what the catalog's machines predict.
//!
//! Each source is a file of `catalog/published/` with the questions to ask ([`Asked`]). A prediction stands in
//! `catalog/published/predictions.csv` before its datum is entered.

use crate::evidence::Evidence;
use crate::run::Question;
use crate::{Report, Row};
use hotlink_fabric::catalog::{Asked, Claim, Library, Mistake, MistakeKind, Origin, Published};
use hotlink_questions::Simulation;
use hotlink_study::{Error, Unwatched};
use rayon::prelude::*;
use serde_json::Value;

/// The rows of sources, each with its file and what it asks.
fn rows_of(sources: &[Published]) -> impl Iterator<Item = (&Published, &Origin, &Claim, &Asked)> {
    sources.iter().filter_map(|file| Some((file, file.origin.as_ref()?))).flat_map(|(file, origin)| {
        file.claims.iter().filter_map(move |claim| Some((file, origin, claim, claim.asked.as_ref()?)))
    })
}

/// What its rows are read from.
pub(super) fn questions() -> Result<Vec<Question>, Error> {
    let sources = Library::embedded().sources()?;
    let ask = |command: &String| Ok(Question { command: command.clone().into(), request: parsed(command)?.request()? });
    rows_of(&sources).flat_map(|(.., asked)| std::iter::once(&asked.command).chain(&asked.over)).map(ask).collect()
}

/// Each result with the answer of the simulated machine.
pub(super) fn report() -> Result<Report, Error> {
    let sources = Library::embedded().sources()?;
    let rows: Vec<_> = rows_of(&sources).collect();
    let claims = rows.par_iter().map(|&(file, origin, claim, asked)| row(file, origin, claim, asked));
    let claims = claims.collect::<Result<_, Error>>()?;
    Ok(Report { name: "others", title: "Results of the same hardware by others", claims, series: Vec::new() })
}

/// What is wrong with the questions of a file, each with its place: options, keys and units. Nothing is simulated.
pub fn check(file: &Published) -> Vec<Mistake> {
    let of = |claim: &Claim| {
        let asked = claim.asked.as_ref()?;
        let wrong = |key: &str, error: Error| {
            let (key, what) = (format!("claim.{}.{key}", claim.id), error.to_string());
            Mistake {
                file: file.file.clone(),
                line: asked.line,
                column: 1,
                key,
                what,
                allowed: String::new(),
                kind: MistakeKind::Other,
            }
        };
        let words = |key: &str, command: &String| {
            parsed(command).and_then(|asked| asked.request().map(drop)).err().map(|error| wrong(key, error))
        };
        let ratio = asked.over.is_some();
        let key = scale(&asked.key, &claim.unit, ratio).err().map(|error| wrong("key", error));
        words("ask", &asked.command).or_else(|| words("over", asked.over.as_ref()?)).or(key)
    };
    file.claims.iter().filter_map(of).collect()
}

fn parsed(command: &str) -> Result<Simulation, Error> {
    Simulation::of_words(command)
}

fn row(file: &Published, origin: &Origin, claim: &Claim, asked: &Asked) -> Result<Row, Error> {
    let wrong = |error: Error| Error::Input(format!("{}:{}: claim.{}: {error}", file.file, asked.line, claim.id));
    let answer = Answer::to(asked, &claim.unit).map_err(wrong)?;
    let row = Row::new(claim, answer.evidence).reproduced(answer.value).also("command", asked.command.clone());
    let row = match (&asked.over, &asked.curve) {
        (Some(over), _) => row.also("over", over.clone()),
        (None, Some(curve)) => row.also("curve", curve.clone()),
        (None, None) => row,
    };
    let row = row.also("checked", origin.checked).also("read", asked.read).also("within", asked.within.clone());
    let row = row.also("address", origin.address.clone());
    let row = match answer.ends {
        Some(ends) => row.interval(ends, answer.moved_by).not_varied(answer.fixed),
        None => row,
    };
    let row = match on_file(&claim.id) {
        Some((predicted, ends)) => row.predicted(predicted, ends),
        None => row,
    };
    let limit = |text: &str| text.trim().parse::<f64>().ok();
    let row = match (claim.value.strip_prefix('<').and_then(limit), claim.value.strip_prefix('>').and_then(limit)) {
        (Some(most), _) => row.holds(answer.value < most),
        (_, Some(least)) => row.holds(answer.value > least),
        _ => row,
    };
    Ok(row.expected_as_found())
}

const PREDICTIONS: &str = include_str!("../../../catalog/published/predictions.csv");

/// A line of the predictions on file: id, number, ends of its interval, unit, commit.
fn cells(line: &str) -> Option<[&str; 6]> {
    line.split(',').collect::<Vec<_>>().try_into().ok()
}

/// The prediction on file of a row, and its interval.
fn on_file(id: &str) -> Option<(f64, Option<[f64; 2]>)> {
    let [_, number, low, high, ..] = PREDICTIONS.lines().filter_map(cells).find(|cells| cells[0] == id)?;
    let ends = low.parse().ok().zip(high.parse().ok());
    Some((number.parse().ok()?, ends.map(|(low, high)| [low, high])))
}

/// A run of more events has no interval: it would be repeated some fifty times.
const QUICK_EVENTS: f64 = 60_000.0;

/// A number of a simulation in a row's unit.
struct Answer {
    value: f64,
    /// Its interval as uncertain inputs move, and those that move it.
    ends: Option<[f64; 2]>,
    moved_by: Vec<String>,
    /// Estimated and fitted inputs that could not be varied.
    fixed: Vec<String>,
    evidence: Evidence,
    events: f64,
}

impl Answer {
    fn to(asked: &Asked, unit: &str) -> Result<Answer, Error> {
        let factor = scale(&asked.key, unit, asked.over.is_some())?;
        let Some(over) = &asked.over else {
            let found = match Answer::of(&asked.command, &asked.key)? {
                quick if quick.events <= QUICK_EVENTS => {
                    Answer::of(&format!("{} --sensitivity", asked.command), &asked.key)?
                }
                long => long,
            };
            let ends = found.ends.map(|ends| ends.map(|end| end * factor));
            return Ok(Answer { value: found.value * factor, ends, ..found });
        };
        let (above, below) = (Answer::of(over, &asked.key)?, Answer::of(&asked.command, &asked.key)?);
        let (value, evidence) = (above.value / below.value, above.evidence.and(below.evidence));
        let events = above.events + below.events;
        Ok(Answer { value, evidence, ends: None, moved_by: Vec::new(), fixed: Vec::new(), events })
    }

    /// `key` of the one record of `command`.
    fn of(command: &str, key: &str) -> Result<Answer, Error> {
        let records = parsed(command)?.records(&Unwatched)?;
        let [record] = &records[..] else {
            let what = format!("`{command}` gives {} records: it must ask for one", records.len());
            return Err(Error::Input(what));
        };
        let record = Value::from(record.clone());
        let value = record[key].as_f64().ok_or_else(|| Error::Input(format!("`{command}` gives no number `{key}`")))?;
        let words = |key: &str| {
            let all = record[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            all.map(str::to_owned).collect()
        };
        Ok(Answer {
            value,
            ends: ends(&record, key, value),
            moved_by: words("sensitivity"),
            fixed: words("not_varied"),
            evidence: Evidence::of_records([&record]),
            events: record["events"].as_f64().unwrap_or(f64::INFINITY),
        })
    }
}

/// The interval of `key`: its own, or that of the time that a rate follows from.
fn ends(record: &Value, key: &str, value: f64) -> Option<[f64; 2]> {
    let of = |key: &str| {
        let end = |which: &str| record[format!("{key}_{which}")].as_f64();
        Some([end("low")?, end("high")?])
    };
    of(key).or_else(|| {
        let time = record["sensitivity_of"].as_str().filter(|_| key.ends_with("MBps"))?;
        let ([low, high], middle) = (of(time)?, record[time].as_f64()?);
        time.ends_with("_us").then(|| [value * middle / high, value * middle / low])
    })
}

/// What a number in MB/s is multiplied by.
const RATES: &[(&str, f64)] =
    &[("MB/s", 1.0), ("MiB/s", 1e6 / 1_048_576.0), ("GB/s", 1e-3), ("Mbit/s", 8.0), ("Gbit/s", 8e-3)];
/// What a number in microseconds is multiplied by.
const TIMES: &[(&str, f64)] = &[("us", 1.0), ("ms", 1e-3), ("s", 1e-6)];

/// What a record's number is multiplied by to have a row's unit.
fn scale(key: &str, unit: &str, is_ratio: bool) -> Result<f64, Error> {
    let units = match key {
        key if key.ends_with("_MBps") && !is_ratio => RATES,
        key if key.ends_with("_us") && !is_ratio => TIMES,
        _ => &[("x", 1.0)],
    };
    let named = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let allowed = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    named.ok_or_else(|| Error::Input(format!("`{key}` in {unit}: its unit must be one of {}", allowed())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;
    use std::collections::{BTreeMap, BTreeSet};

    fn sources() -> Vec<Published> {
        Library::embedded().sources().expect("sound files")
    }

    /// By id: number, unit and commit.
    fn predictions() -> BTreeMap<&'static str, (f64, &'static str, &'static str)> {
        let lines = PREDICTIONS.lines().skip_while(|line| line.starts_with('#')).skip(1);
        let read = |line: &'static str| {
            let [id, value, _, _, unit, commit] = cells(line).expect(line);
            assert!(on_file(id).is_some(), "{line}");
            (id, (value.parse().expect(line), unit, commit))
        };
        lines.map(read).collect()
    }

    #[test]
    fn every_question_is_sound_and_every_id_is_one_rows() {
        let sources = sources();
        let mut ids = BTreeSet::new();
        for (_, _, claim, _) in rows_of(&sources) {
            assert!(ids.insert(&claim.id), "{} occurs twice", claim.id);
        }
        let mistakes: Vec<Mistake> = sources.iter().flat_map(check).collect();
        assert!(mistakes.is_empty(), "{mistakes:#?}");
        assert!(ids.len() >= 30, "{}", ids.len());
    }

    #[test]
    fn a_datum_stands_only_where_its_prediction_stood_before() {
        let predictions = predictions();
        for (_, _, claim, _) in rows_of(&sources()) {
            let (_, unit, commit) = predictions.get(claim.id.as_str()).unwrap_or_else(|| panic!("{}", claim.id));
            assert_eq!(unit, &claim.unit, "{}", claim.id);
            assert!(commit.len() >= 7 && commit.bytes().all(|c| c.is_ascii_hexdigit()), "{}: {commit}", claim.id);
        }
    }

    /// What a source gave to the catalog is listed: by the row that it is of, or as of another place.
    #[test]
    fn no_machine_rests_on_its_own_datum_unsaid() {
        let library = Library::embedded();
        let mut inputs = BTreeMap::new();
        for listed in library.list("fabrics") {
            let spec = library.fabric(&listed.name).expect("a fabric").spec;
            inputs.extend(spec.numbers().into_iter().map(|(key, used)| (format!("{}/{key}", spec.name), used.source)));
        }
        for file in sources() {
            let origin = file.origin.as_ref().expect("a source");
            let listed: BTreeSet<&String> =
                file.claims.iter().flat_map(|claim| &claim.gives).chain(&origin.elsewhere).collect();
            // A topology is a shape, which no row prints.
            for (input, source) in inputs.iter().filter(|(input, _)| !input.ends_with("/topology")) {
                let cites = origin.cited_as.iter().any(|name| source.contains(name.as_str()));
                assert!(!cites || listed.contains(input), "{}: {input} rests on it: {source}", file.name);
            }
            let missing: Vec<_> = listed.iter().filter(|input| !inputs.contains_key(**input)).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", file.name);
        }
    }

    /// Long messages between many GPUs take seconds each: the score of all is printed, and the predictions on file are
    /// their record.
    fn is_quick(asked: &Asked) -> bool {
        !asked.command.contains("GiB") && !asked.command.contains("--nodes 72")
    }

    #[test]
    fn rows_have_verdicts_and_those_that_hold_are_the_known_ones() {
        let sources = sources();
        let rows: Vec<_> = rows_of(&sources).filter(|(.., asked)| is_quick(asked)).collect();
        let rows: Vec<Row> = rows
            .par_iter()
            .map(|&(file, origin, claim, asked)| row(file, origin, claim, asked).expect("an answer"))
            .collect();
        for row in &rows {
            assert!(!row.verdict().is_empty() && !row.regressed(), "{}", row.id);
            assert_eq!(row.is_held().is_some(), !row.published.is_null(), "{}: {}", row.id, row.verdict());
        }
        let by = |class, holds: fn(&Row) -> Option<bool>| {
            let of = rows.iter().filter(move |row| row.class() == class);
            let mut all: Vec<(&str, bool)> = of.map(|row| (row.id.as_str(), holds(row) == Some(true))).collect();
            all.sort_unstable();
            all
        };
        let held = |class| by(class, Row::is_held);
        assert_eq!(held(Class::Fit), [("X012", true), ("X013", true), ("X022", true), ("X032", true)]);
        assert_eq!(held(Class::Ordering), [("X020", true), ("X021", true)]);
        // By the number on file, then by today's model.
        let of = |holds: bool, how| {
            let predictions: Vec<(&str, bool)> = by(Class::Prediction, how);
            predictions.into_iter().filter(|row| row.1 == holds).map(|row| row.0).collect::<Vec<_>>()
        };
        assert_eq!(
            of(true, Row::is_held),
            [
                "X002", "X003", "X024", "X030", "X033", "X034", "X051", "X052", "X053", "X054", "X055", "X056", "X057",
                "X058", "X059", "X060", "X061",
            ]
        );
        let of = |holds| of(holds, Row::is_held_today);
        assert_eq!(
            of(true),
            [
                "X003", "X004", "X024", "X030", "X033", "X034", "X035", "X044", "X051", "X052", "X053", "X054", "X055",
                "X056", "X057", "X058", "X059", "X060", "X061", "X063", "X064", "X066", "X067",
            ]
        );
        assert_eq!(of(false), ["X001", "X002", "X005", "X010", "X011", "X023", "X031", "X042", "X068",]);
    }

    #[test]
    fn intervals_of_rates_follow_from_those_of_times() {
        let record = serde_json::json!({
            "latency_us": 2.0, "latency_us_low": 1.0, "latency_us_high": 4.0, "sensitivity_of": "latency_us",
        });
        assert_eq!(ends(&record, "latency_us", 2.0), Some([1.0, 4.0]));
        assert_eq!(ends(&record, "bus_bandwidth_MBps", 100.0), Some([50.0, 200.0]));
        assert_eq!(ends(&record, "efficiency", 0.5), None);
    }

    #[test]
    fn units_belong_to_keys() {
        assert_eq!(scale("latency_us", "us", false).ok(), Some(1.0));
        assert_eq!(scale("bus_bandwidth_MBps", "GB/s", false).ok(), Some(1e-3));
        assert_eq!(scale("latency_us", "x", true).ok(), Some(1.0));
        let wrong = scale("latency_us", "GB/s", false).unwrap_err().to_string();
        assert!(wrong.contains("must be one of us, ms, s"), "{wrong}");
    }
}
