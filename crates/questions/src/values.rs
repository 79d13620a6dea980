//! Arguments as JSON holds them: numbers, sizes, words.

use hotlink_bench::Watching;
use hotlink_fabric::technology::{self, Technology};
use hotlink_fabric::units::Bytes;
use hotlink_study::Error;
use hotlink_study::values::{self, Counts};
use hotlink_study::words::Word;
use serde::Deserialize;
use std::str::FromStr;

/// Numbers of nodes: one, several, or the command's notation.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "must be a number from 1 to 4294967295, several, or a text such as 2..128")]
pub enum Numbers {
    /// One.
    One(u32),
    /// Several.
    Many(Vec<u32>),
    /// The command's notation.
    Text(String),
}

/// Bytes: a number, or with a unit.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "must be bytes, 0 or more, or a text such as 64KiB")]
pub enum Size {
    /// A number.
    Bytes(u64),
    /// With a unit.
    Text(String),
}

/// One size, several, or the command's notation.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "must be bytes, 0 or more, a text such as 64KiB or 8..1MiB, or several sizes")]
pub enum Sizes {
    /// One.
    One(Size),
    /// Several.
    Many(Vec<Size>),
}

/// Shares: one, several, or the command's notation.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "must be a number, several, or a text such as 0.1..1.0")]
pub enum Shares {
    /// One.
    One(f64),
    /// Several.
    Many(Vec<f64>),
    /// The command's notation.
    Text(String),
}

impl Shares {
    /// Those of the argument of that name.
    ///
    /// # Errors
    /// None; a text that is no list.
    pub fn list(&self, argument: &str) -> Result<Vec<f64>, Error> {
        match self {
            Shares::One(one) => Ok(vec![*one]),
            Shares::Many(many) if many.is_empty() => Err(wrong(argument, "must be one number, or several")),
            Shares::Many(many) => Ok(many.clone()),
            Shares::Text(text) => Ok(word::<values::Numbers>(argument, text)?.to_vec()),
        }
    }
}

impl Numbers {
    pub(crate) fn list(&self) -> Result<Vec<u32>, Error> {
        self.list_of("nodes")
    }
    /// Those of the argument of that name.
    ///
    /// # Errors
    /// None; a 0; a text that is no list.
    pub fn list_of(&self, argument: &str) -> Result<Vec<u32>, Error> {
        let numbers = match self {
            Numbers::One(one) => vec![*one],
            Numbers::Many(many) => many.clone(),
            Numbers::Text(text) => word::<Counts>(argument, text)?.to_u32().map_err(|what| wrong(argument, &what))?,
        };
        match numbers.iter().all(|&nodes| nodes > 0) && !numbers.is_empty() {
            true => Ok(numbers),
            false => Err(wrong(argument, "must be one number from 1 on, or several")),
        }
    }
}

impl Size {
    /// The number of bytes in `argument`.
    ///
    /// # Errors
    /// A text that is no size; it names the argument.
    pub fn bytes(&self, argument: &str) -> Result<u64, Error> {
        match self {
            Size::Bytes(bytes) => Ok(*bytes),
            Size::Text(text) => Ok(word::<Bytes>(argument, text)?.0),
        }
    }
}

impl Sizes {
    /// One text, which may hold several sizes.
    pub fn text(&self) -> Option<&str> {
        match self {
            Sizes::One(Size::Text(text)) => Some(text),
            _ => None,
        }
    }
    /// The numbers of bytes in `argument`.
    ///
    /// # Errors
    /// A text that is no size; it names the argument.
    pub fn list(&self, argument: &str) -> Result<Vec<u64>, Error> {
        match self {
            Sizes::One(Size::Bytes(bytes)) => Ok(vec![*bytes]),
            Sizes::One(Size::Text(text)) => Ok(word::<values::Sizes>(argument, text)?.to_vec()),
            Sizes::Many(many) => many.iter().map(|size| size.bytes(argument)).collect(),
        }
    }
}

/// The number of bytes in an argument, if it is given.
///
/// # Errors
/// A text that is no size; it names the argument.
pub fn bytes_of(argument: &str, given: &Option<Size>) -> Result<Option<u64>, Error> {
    given.as_ref().map(|size| size.bytes(argument)).transpose()
}

/// An argument is wrong.
pub fn wrong(argument: &str, what: &str) -> Error {
    Error::Input(format!("{argument}: {what}"))
}

/// The JSON reader's message about a value of the wrong kind, in words: `invalid value: integer `-1`, expected u64`.
pub(crate) fn in_words(told: &str) -> String {
    let told_of = |told: &str| {
        let (found, kind) = told.split_once(", expected ")?;
        let found = found.strip_prefix("invalid type: ").or_else(|| found.strip_prefix("invalid value: "))?;
        let found = found.strip_prefix("string ").or_else(|| found.split('`').nth(1)).unwrap_or(found);
        let kind = match kind {
            "u16" => "a whole number from 0 to 65535",
            "u32" => "a whole number from 0 to 4294967295",
            "u64" => "a whole number, 0 or more",
            "f32" | "f64" => "a number",
            "a string" => "a text",
            "a sequence" => "a list",
            "a boolean" => "true or false",
            other => other,
        };
        Some(format!("{found}: must be {kind}"))
    };
    told_of(told).unwrap_or_else(|| told.to_owned())
}

/// The value of an argument's word.
///
/// # Errors
/// What is wrong with it.
pub fn word<T: FromStr<Err: ToString>>(argument: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|error: T::Err| wrong(argument, &error.to_string()))
}

/// The value of a word.
///
/// # Errors
/// It is none of those allowed.
pub fn named<T: Word>(argument: &str, name: &str) -> Result<T, Error> {
    T::of(name).ok_or_else(|| wrong(argument, &T::unknown(name)))
}

/// The values of words.
///
/// # Errors
/// One is none of those allowed.
pub fn listed<T: Word>(argument: &str, names: &[String]) -> Result<Vec<T>, Error> {
    names.iter().map(|name| named(argument, name)).collect()
}

pub(crate) fn technology(name: Option<&String>) -> Result<Option<&'static Technology>, Error> {
    name.map(|name| technology::named(name)).transpose().map_err(|what| wrong("technology", &what.to_string()))
}

/// The request for observers; `None`: none are needed.
///
/// # Errors
/// A fault or a percentage that there is not.
pub fn watching(inject: &[(String, u64)], seed: u64, trace: bool, count: bool) -> Result<Option<Watching>, Error> {
    Watching::of(trace, count, inject, seed).map_err(|what| wrong("inject", &what))
}
