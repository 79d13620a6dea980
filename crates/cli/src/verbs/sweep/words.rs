//! The command's verbs and options as a plan's keys, and its lines as cells.

use crate::values::{Counts, Numbers, Sizes};
use crate::{Cli, Failure};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, CommandFactory, Parser};
use hotlink_measure::environment;
use hotlink_study::sizes::SizesOrLaws;
use hotlink_sweep::{Commands, Named, Refusal, Takes};
use serde_json::{Map, Value};
use std::any::TypeId;
use std::ffi::OsString;
use std::sync::LazyLock;

/// Verbs that make records of their inputs alone, or of this machine.
const VERBS: [&str; 6] = ["analyze", "compare", "import", "measure", "reproduce", "simulate"];
/// Options that belong to the sweep, or write files.
const NOT_SWEPT: [&str; 8] = ["format", "json", "progress", "out", "write", "force", "help", "version"];

/// The command's own words.
pub(super) struct Words;

/// The command that the words of a verb name.
fn named(verb: &[&str]) -> Option<&'static Command> {
    static COMMAND: LazyLock<Command> = LazyLock::new(|| {
        let mut command = Cli::command();
        command.build();
        command
    });
    verb.iter().try_fold(&*COMMAND, |command, word| command.find_subcommand(word))
}

fn option(argument: &Arg) -> Option<Named> {
    let name = argument.get_long().unwrap_or(argument.get_id().as_str());
    let parser = argument.get_value_parser().type_id();
    let takes = match argument.get_action().takes_values() {
        false => Takes::Nothing,
        true if parser == TypeId::of::<Counts>() => Takes::Counts,
        true if parser == TypeId::of::<Sizes>() || parser == TypeId::of::<SizesOrLaws>() => Takes::Sizes,
        true if parser == TypeId::of::<Numbers>() => Takes::Numbers,
        true => Takes::Text,
    };
    let may_be = !NOT_SWEPT.contains(&name) && !argument.is_hide_set();
    let is_positional = argument.is_positional();
    let is_joined = is_positional && argument.get_num_args().is_some_and(|many| many.max_values() > 1);
    may_be.then(|| Named { name: name.to_owned(), takes, is_positional, is_joined })
}

/// The words with the program's name first.
fn line(arguments: &[String]) -> impl Iterator<Item = OsString> {
    std::iter::once("hotlink").chain(arguments.iter().map(String::as_str)).map(OsString::from)
}

impl Commands for Words {
    fn below(&self, verb: &[&str]) -> Vec<String> {
        if verb.is_empty() {
            return VERBS.map(str::to_owned).to_vec();
        }
        named(verb)
            .into_iter()
            .flat_map(Command::get_subcommands)
            .map(|command| command.get_name().to_owned())
            .collect()
    }
    fn options(&self, verb: &[&str]) -> Vec<Named> {
        named(verb).into_iter().flat_map(Command::get_arguments).filter_map(option).collect()
    }
    fn check(&self, arguments: &[String]) -> Result<(), Refusal> {
        let Err(error) = Cli::try_parse_from(line(arguments)) else { return Ok(()) };
        let said = error.to_string();
        let said = said.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let what = said.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        let what = what.trim_start_matches("error: ").to_owned();
        let option = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(text)) => text.clone(),
            _ => String::new(),
        };
        Err(Refusal { what, option })
    }
    fn run(&self, arguments: &[String]) -> Result<Value, Failure> {
        let words: Vec<OsString> = line(arguments).collect();
        let cli = crate::parse(&words).map_err(|error| Failure::Input(error.to_string()))?;
        let cli = Cli { output: cli.output.of_records().quiet(), ..cli };
        let (output, result) = crate::run(&cli, &words, None);
        let mut document = output.document();
        match result {
            Err(Failure::Check(what)) if !output.records().is_empty() => document["check"] = what.into(),
            other => other?,
        }
        Ok(document)
    }
    fn machine(&self) -> Map<String, Value> {
        environment::describe()
    }
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }
}
