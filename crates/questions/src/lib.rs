//! Questions as JSON: arguments go in by name, records come out. Python and the browser ask through this crate; the
//! command reads words instead, and uses the same libraries.
//!
//! [`ask`] answers a whole question, a text such as
//! `{"verb": "analyze", "fabric": "ib-ndr-fat-tree2", "nodes": 512}`, with the command's document. Arguments have the names
//! and defaults of the functions in `python/hotlink`. Python reads single questions ([`read`]), since it also writes files.

mod choices;
mod design;
mod heard;
mod jobs;
mod network;
mod region;
mod seen;
mod shared;
mod simulate;
mod traffic;
pub mod values;
mod view;
mod words;

pub use design::Design;
pub use heard::{Heard, Steps};
pub use jobs::Jobs;
pub use network::{Diagnose, Network};
pub use region::Region;
pub use simulate::{Schedule, Simulation};
pub use traffic::{Analyze, Compare};
pub use view::{FabricView, LinkView, PairView};

use hotlink_bench::Record;
use hotlink_fabric::input::{self, Lent};
use hotlink_study::Error;
use hotlink_study::schema::VERSION;
use hotlink_workloads::jobs::NoPrograms;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Records, and lines for people about them.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// The records.
    pub records: Vec<Record>,
    /// Lines.
    pub notes: Vec<String>,
}

impl From<Vec<Record>> for Answered {
    fn from(records: Vec<Record>) -> Answered {
        Answered { records, notes: Vec::new() }
    }
}

/// The arguments of one question.
///
/// # Errors
/// The argument that is wrong, and what is allowed.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    arguments(object(text)?)
}

fn object(text: &str) -> Result<Map<String, Value>, Error> {
    let value: Value = serde_json::from_str(text).map_err(|error| Error::Input(format!("question: {error}")))?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(Error::Input("question: must be an object of arguments".to_owned())),
    }
}

/// An argument that is `null` was not given.
fn arguments<T: DeserializeOwned>(mut given: Map<String, Value>) -> Result<T, Error> {
    given.retain(|_, value| !value.is_null());
    serde_path_to_error::deserialize(Value::Object(given)).map_err(|error| match error.path().to_string() {
        path if path == "." => Error::Input(values::in_words(&error.inner().to_string())),
        path => values::wrong(&path, &values::in_words(&error.inner().to_string())),
    })
}

/// Answers a question with the command's document as JSON. `heard` gets its progress.
///
/// # Errors
/// What is wrong with it, as the command says it.
pub fn ask(question: &str, heard: &Heard) -> Result<String, Error> {
    let mut given = object(question)?;
    if let Some(view) = given.remove("view") {
        return draw(&text_of(Some(view), "view")?, given, heard);
    }
    let verb = text_of(given.remove("verb"), "verb")?;
    if verb == "analyze" {
        seen::turn_to(&given);
    }
    let _lent = lent(&verb, &mut given)?;
    spell(&mut given)?;
    let Answered { records, notes } = answer(&verb, given, heard)?;
    Ok(json!({ "schema": VERSION, "records": records, "notes": notes }).to_string())
}

/// The drawings of a page: a question with `view` in place of `verb`.
fn draw(view: &str, mut given: Map<String, Value>, heard: &Heard) -> Result<String, Error> {
    seen::turn_to(&given);
    let _lent = lent(view, &mut given)?;
    spell(&mut given)?;
    let drawn = match view {
        "fabric" => arguments::<FabricView>(given)?.answer(heard)?,
        "link" => arguments::<LinkView>(given)?.answer(heard)?,
        "pair" => arguments::<PairView>(given)?.answer(heard)?,
        other => return Err(Error::Input(format!("view: `{other}`: must be fabric, link or pair"))),
    };
    Ok(drawn.to_string())
}

/// The verbs, as [`ask`] takes them.
const VERBS: &str =
    "analyze, compare, simulate, schedule, jobs, region, design, diagnose, inspect, failures, groups, place, reroute";

fn answer(verb: &str, given: Map<String, Value>, heard: &Heard) -> Result<Answered, Error> {
    let steps = Steps::of(heard, 0);
    let network = |given| arguments::<Network>(given);
    Ok(match verb {
        "analyze" => arguments::<Analyze>(given)?.answered(heard)?,
        "compare" => arguments::<Compare>(given)?.judged(heard)?.records().into(),
        "simulate" => arguments::<Simulation>(given)?.records(&steps)?.into(),
        "schedule" => arguments::<Schedule>(given)?.records(&steps)?.into(),
        "jobs" => arguments::<Jobs>(given)?.records(&NoPrograms, &steps)?.into(),
        "region" => arguments::<Region>(given)?.records(&steps)?.into(),
        "design" => hotlink_design::design(&arguments::<Design>(given)?.request()?, &steps)?.records.into(),
        "diagnose" => arguments::<Diagnose>(given)?.records()?.into(),
        "inspect" => network(given)?.inspect(&steps)?.into(),
        "failures" => network(given)?.failures(&steps)?.into(),
        "groups" => network(given)?.groups(&steps)?.into(),
        "place" => network(given)?.place(&steps)?.into(),
        "reroute" => network(given)?.reroute(&steps, |_| Ok(()))?.into(),
        other => return Err(Error::Input(format!("verb: `{other}`: must be one of {VERBS}"))),
    })
}

fn text_of(value: Option<Value>, argument: &str) -> Result<String, Error> {
    match value {
        Some(Value::String(text)) => Ok(text),
        _ => Err(values::wrong(argument, "must be a text")),
    }
}

/// Texts that the question brings (`files`, by name) are files while it is answered. `diagnose` reads all of them, where it
/// does not say which.
fn lent(verb: &str, given: &mut Map<String, Value>) -> Result<Option<Lent>, Error> {
    let Some(Value::Object(files)) = given.get("files") else { return Ok(None) };
    let names: Vec<Value> = files.keys().cloned().map(Value::String).collect();
    let texts = files.iter().map(|(name, text)| Ok((name.clone(), text_of(Some(text.clone()), "files")?)));
    let texts = texts.collect::<Result<_, Error>>()?;
    given.remove("files");
    if verb == "diagnose" {
        given.insert("files".to_owned(), Value::Array(names));
    }
    Ok(Some(input::lend(texts)))
}

/// A fabric's tables (`routes`) and what fails (`fail`) are spelled in its name, as the command's options are.
fn spell(given: &mut Map<String, Value>) -> Result<(), Error> {
    let listed = |value: Option<Value>, argument| match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(all)) => all.into_iter().map(|one| text_of(Some(one), argument)).collect(),
        one => Ok(vec![text_of(one, argument)?]),
    };
    let routes: Vec<String> = listed(given.remove("routes"), "routes")?;
    let fail: Vec<String> = listed(given.remove("fail"), "fail")?;
    if routes.is_empty() && fail.is_empty() {
        return Ok(());
    }
    let mut name = text_of(given.remove("fabric"), "fabric")?;
    routes.iter().for_each(|file| name += &format!("+{file}"));
    fail.iter().for_each(|part| name += &format!("+fail:{part}"));
    given.insert("fabric".to_owned(), Value::String(name));
    Ok(())
}
