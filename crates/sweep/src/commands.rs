//! A sweep's interface to the face whose command lines its cells are.

use hotlink_study::Error;
use serde_json::{Map, Value};

/// A face that reads and runs command lines. A cell is one, so that people can run it again by hand.
pub trait Commands: Sync {
    /// The words that may follow those of a verb. None: the verb is whole. Of no words, the verbs that a plan may have.
    fn below(&self, verb: &[&str]) -> Vec<String>;
    /// The options of a whole verb that a plan may have.
    fn options(&self, verb: &[&str]) -> Vec<Named>;
    /// Refuses words (those after the program's name) that are no command line.
    ///
    /// # Errors
    /// What is wrong, and of which option.
    fn check(&self, arguments: &[String]) -> Result<(), Refusal>;
    /// Runs a command line: the one object of `--json`, with a failed check under `check`.
    ///
    /// # Errors
    /// Why there is no result.
    fn run(&self, arguments: &[String]) -> Result<Value, Error>;
    /// Facts that distinguish this machine from others.
    fn machine(&self) -> Map<String, Value>;
    /// The version of the program: another one may give another result.
    fn version(&self) -> &str;
}

/// An option by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name, as a plan's key.
    pub name: String,
    /// Its kind of values.
    pub takes: Takes,
    /// Whether its values come without the name.
    pub is_positional: bool,
    /// Whether it takes several values side by side, as fabrics that are compared: a list of them is one cell.
    pub is_joined: bool,
}

/// The values of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// Some text.
    Text,
    /// A list or range of whole numbers.
    Counts,
    /// A list or range of sizes.
    Sizes,
    /// A list or range of numbers.
    Numbers,
}

/// Why words are no command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The mistake.
    pub what: String,
    /// The option, as the usage has it: `--size <LIST>`, `<FABRIC>`; empty where it is of none.
    pub option: String,
}
