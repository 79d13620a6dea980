//! Words of the library as options: names and meanings are taken from where they are defined.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hotlink_study::words::Word;

/// Reads the word of a value; help and completion list all of them.
pub(crate) fn word<T: Word>() -> impl TypedValueParser<Value = T> {
    let known =
        T::ALL.iter().map(|value| PossibleValue::new(value.word()).aliases(value.aliases()).help(value.meaning()));
    // Whether case counts is the option's own setting: what comes through is one of the words.
    let of = |text: &str| {
        T::of(text).or_else(|| T::ALL.iter().copied().find(|value| value.word().eq_ignore_ascii_case(text)))
    };
    PossibleValuesParser::new(known).try_map(move |text| of(&text).ok_or_else(|| T::unknown(&text)))
}
