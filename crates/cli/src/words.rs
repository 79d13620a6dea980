//! Words of the library as options: names and meanings are taken from where they are defined.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hotlink_fabric::catalog::variant;
use hotlink_real::Via;
use hotlink_study::words::Word;
use std::convert::Infallible;
use std::str::FromStr;

/// Fabrics in a list, by their names.
#[derive(Clone, Debug)]
pub(crate) struct Fabrics(Vec<String>);

impl FromStr for Fabrics {
    type Err = Infallible;
    fn from_str(list: &str) -> Result<Fabrics, Infallible> {
        Ok(Fabrics(variant::names(list)))
    }
}

impl Fabrics {
    /// All of an option that may be given several times.
    pub(crate) fn all(given: &[Fabrics]) -> impl Iterator<Item = &String> {
        given.iter().flat_map(|list| &list.0)
    }
}

/// Reads the word of a value; help and completion list all of them.
pub(crate) fn word<T: Word>() -> impl TypedValueParser<Value = T> {
    one_of(T::ALL)
}

/// The same, of these values only.
pub(crate) fn one_of<T: Word>(allowed: &'static [T]) -> impl TypedValueParser<Value = T> {
    let known =
        allowed.iter().map(|value| PossibleValue::new(value.word()).aliases(value.aliases()).help(value.meaning()));
    // Whether case counts is the option's own setting: the text that comes through is one of the words.
    let of = |text: &str| {
        T::of(text).or_else(|| T::ALL.iter().copied().find(|value| value.word().eq_ignore_ascii_case(text)))
    };
    PossibleValuesParser::new(known).try_map(move |text| of(&text).ok_or_else(|| T::unknown(&text)))
}

/// Reads the word of a real port.
pub(crate) fn via() -> impl TypedValueParser<Value = Via> {
    let known = Via::ALL.iter().map(|via| PossibleValue::new(via.name()).help(via.meaning()));
    let of = |text: String| Via::ALL.iter().copied().find(|via| via.name() == text);
    PossibleValuesParser::new(known).try_map(move |text| of(text.clone()).ok_or(format!("`{text}` is unknown")))
}
