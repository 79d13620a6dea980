//! A simulation as the command line writes it: `simulate barrier --fabric qsnet --nodes 8 --algorithm nic`.
//!
//! The words of files are those of the command. Options are those of [`Simulation`]'s arguments.

use crate::Simulation;
use hotlink_study::Error;
use serde_json::{Map, Number, Value};

/// Options of several words, with commas between them.
const LISTS: &[&str] = &[
    "memory",
    "align",
    "cache",
    "via",
    "transport",
    "algorithm",
    "protocol",
    "direction",
    "semantics",
    "side",
    "spin",
    "class",
    "series",
    "pattern",
    "generate",
    "paths",
];
/// Options of several numbers.
const NUMBERS: &[&str] = &["between", "compute", "load", "without"];
/// Options that stay a text though it is a number: bytes and numbers of nodes have a notation of their own.
const TEXTS: &[&str] = &[
    "nodes",
    "pairs",
    "senders",
    "strides",
    "copies",
    "size",
    "packet-size",
    "buffer",
    "pfc-pause",
    "pfc-resume",
    "ecn-low",
    "ecn-high",
    "offset",
    "pinned",
    "buffer-size",
];
/// Options without a value.
const FLAGS: &[&str] = &["raw", "links", "sensitivity", "trace", "count", "partition", "random-pairs"];

impl Simulation {
    /// The simulation that `command` asks for.
    ///
    /// # Errors
    /// It is no such command; an option that there is not, or whose value is wrong.
    pub fn of_words(command: &str) -> Result<Simulation, Error> {
        let mut words = command.split_whitespace();
        if words.next() != Some("simulate") {
            return Err(Error::Input(format!("`{command}`: must begin with `simulate`")));
        }
        let mut given = Map::new();
        let benchmark = words.next().unwrap_or_default();
        given.insert("benchmark".to_owned(), benchmark.into());
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--") else {
                return Err(Error::Input(format!("`{word}`: must be an option, such as --nodes")));
            };
            let value = match FLAGS.contains(&option) {
                true => Value::Bool(true),
                false => value(option, words.next().ok_or_else(|| missing(option))?)?,
            };
            if given.insert(name(option), value).is_some() {
                return Err(Error::Input(format!("--{option}: is given twice")));
            }
        }
        crate::arguments(given)
    }
}

/// The argument's name.
fn name(option: &str) -> String {
    match option {
        "class" => "class_".to_owned(),
        "ranks" => "nodes".to_owned(),
        option => option.replace('-', "_"),
    }
}

fn missing(option: &str) -> Error {
    Error::Input(format!("--{option}: its value is missing"))
}

fn value(option: &str, text: &str) -> Result<Value, Error> {
    let words = || text.split(',');
    if option == "zero-copy" {
        let switch = |word: &str| match word {
            "on" | "off" => Ok(Value::Bool(word == "on")),
            _ => Err(Error::Input(format!("--{option} {word}: must be on or off"))),
        };
        return words().map(switch).collect();
    }
    if LISTS.contains(&option) {
        return Ok(words().map(Value::from).collect());
    }
    if NUMBERS.contains(&option) {
        let wrong = |word: &str| Error::Input(format!("--{option} {word}: is no number"));
        return words().map(|word| number(word).ok_or_else(|| wrong(word))).collect();
    }
    match number(text) {
        Some(number) if !TEXTS.contains(&option) => Ok(number),
        _ => Ok(text.into()),
    }
}

fn number(text: &str) -> Option<Value> {
    let whole = text.parse::<u64>().ok().map(Value::from);
    whole.or_else(|| Number::from_f64(text.parse().ok()?).map(Value::Number))
}
