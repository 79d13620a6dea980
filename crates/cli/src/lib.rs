//! The `hotlink` command as a library: the binary and the Python entry point hand their arguments to [`main`], the
//! Python functions to [`json`].
//!
//! One file per verb in `verbs/`: its `Args` (clap) and `run(args, output)`. Results go to stdout through
//! [`hotlink_paper::Output`], all else to stderr. Exit status: 0 done, 1 a check or reference failed, 2 bad usage or input.

mod help;
mod options;
mod place;
pub mod values;
mod verbs;
mod words;

pub use place::programs;
pub use verbs::{Cells, Runs, Sides, Studies, calibrate, compare_runs, reproduce, run_cell, sweep};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};
use hotlink_paper::{Output, Plotter};
use hotlink_study::Halted;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

/// How fast a cluster's interconnect is, how fast it should be, what holds it back, and what it costs.
#[derive(Parser)]
#[command(
    name = "hotlink",
    version,
    about,
    disable_help_subcommand = true,
    after_help = "Examples:
  hotlink demo --out report/
  hotlink compare ib-ndr-fat-tree2 eth-400g-leaf-spine slingshot-dragonfly --nodes 64..512..x2
  hotlink analyze eth-400g-leaf-spine --nodes 4096 --oversubscription 2 --method load
  hotlink measure pingpong --via shm --ranks 2 --size 8,64KiB,1MiB
Each command's --help has more. Exit status: 0 done, 1 a check or reference failed, 2 bad usage or input."
)]
struct Cli {
    #[command(flatten)]
    output: options::OutputArgs,
    #[command(subcommand)]
    verb: verbs::Verb,
}

/// A shell's status of a command that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Why a command did not succeed. Exit status 1: a check did not hold; the results are printed all the same. Exit
/// status 2: bad usage or input.
pub use hotlink_study::Error as Failure;

/// Runs the command line `args` (the program's name first) and returns its exit status.
pub fn main(args: impl IntoIterator<Item = OsString>, plotter: Option<Plotter>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            if let Some(told) = elsewhere(&error, &args) {
                hotlink_paper::tell!("hotlink: {told}");
            }
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    if cli.verb.ends_early() {
        hotlink_paper::heed_interrupts();
    }
    let mut output = Output::new(cli.output.asked(), &args).with_plotter(plotter);
    let ended = catch_unwind(AssertUnwindSafe(|| on_threads_of_this_process(|| cli.verb.run(&mut output))));
    let result = match ended {
        Ok(result) => result,
        Err(unwound) if unwound.is::<Halted>() => return interrupted(&cli.verb, output),
        Err(panic) => resume_unwind(panic),
    };
    let printed = if matches!(result, Err(Failure::Input(_))) { Ok(()) } else { output.finish() };
    match result.and(printed) {
        Ok(()) => 0,
        Err(failure) => {
            hotlink_paper::tell!("hotlink: {failure}");
            failure.status()
        }
    }
}

/// Ctrl-C ended the command: what was done is printed, and where it goes on is told.
fn interrupted(verb: &verbs::Verb, mut output: Output) -> u8 {
    output.interrupt();
    let many = output.records().len();
    let goes_on = verb.goes_on();
    if let Err(failure) = output.finish() {
        hotlink_paper::tell!("hotlink: {failure}");
    }
    hotlink_paper::tell!("hotlink: interrupted: {many} results were done; {goes_on}");
    INTERRUPTED
}

/// Runs the command line `args` (the program's name first) and returns what `--json` would print. A failed check is
/// part of the results here.
pub fn json(args: impl IntoIterator<Item = OsString>) -> Result<String, Failure> {
    json_drawn(args, None)
}

/// The same of a face that draws.
///
/// # Errors
/// As of [`json`].
pub fn json_drawn(args: impl IntoIterator<Item = OsString>, plotter: Option<Plotter>) -> Result<String, Failure> {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = parse(&args).map_err(|error| Failure::Input(elsewhere(&error, &args).unwrap_or(error.to_string())))?;
    let cli = Cli { output: cli.output.of_records(), ..cli };
    match run(&cli, &args, plotter) {
        (_, Err(failure @ Failure::Input(_))) => Err(failure),
        (output, _) => Ok(output.json()),
    }
}

/// The message for a benchmark that only the other of `simulate` and `measure` has.
fn elsewhere(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let verb = ["simulate", "measure"].into_iter().find(|verb| args.iter().any(|word| word == verb))?;
    hotlink_study::benchmarks::elsewhere(name, verb)
}

/// Reads a command line. A negative number is a value like any other, so that the option that it is for refuses it.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    fn with_negative_numbers(command: clap::Command) -> clap::Command {
        let takes_values = |arg: &clap::Arg| !arg.is_positional() && arg.get_action().takes_values();
        let allow = |arg: clap::Arg| if takes_values(&arg) { arg.allow_negative_numbers(true) } else { arg };
        command.mut_args(allow).mut_subcommands(with_negative_numbers)
    }
    let command = help::reflowed(with_negative_numbers(Cli::command()));
    Cli::from_arg_matches(&command.try_get_matches_from(args).map_err(plainly)?)
}

/// A mistake in a number says what is allowed, where Rust's parser only tells that it did not like a digit.
fn plainly(error: clap::Error) -> clap::Error {
    let text = error.to_string();
    let words = [
        ("invalid digit found in string", "must be a whole number"),
        ("cannot parse integer from empty string", "must be a whole number"),
        ("number too large to fit in target type", "is too large"),
        ("invalid float literal", "must be a number"),
        ("cannot parse float from empty string", "must be a number"),
    ];
    match words.into_iter().find(|(bad, _)| error.kind() == ErrorKind::ValueValidation && text.contains(bad)) {
        Some((bad, good)) => {
            clap::Error::raw(error.kind(), text.replace(bad, good).trim_start_matches("error: ").to_owned())
        }
        None => error,
    }
}

fn run(cli: &Cli, args: &[OsString], plotter: Option<Plotter>) -> (Output, Result<(), Failure>) {
    let mut output = Output::new(cli.output.asked(), args).with_plotter(plotter);
    let result = on_threads_of_this_process(|| cli.verb.run(&mut output));
    (output, result)
}

/// Rayon's threads belong to the process that first used them. A process forked from it, such as a worker of a sweep in
/// Python, has none of them. It would wait forever, so it gets a pool of its own.
pub fn on_threads_of_this_process<T: Send>(what: impl FnOnce() -> T + Send) -> T {
    static FIRST: OnceLock<u32> = OnceLock::new();
    let this = std::process::id();
    if *FIRST.get_or_init(|| this) == this {
        return what();
    }
    match rayon::ThreadPoolBuilder::new().build() {
        Ok(threads) => threads.install(what),
        Err(_) => what(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_of_sides_is_what_the_verbs_have() {
        let of = |verb: &str| {
            let command = Cli::command();
            let verb = command.find_subcommand(verb).unwrap();
            let mut names: Vec<String> = verb.get_subcommands().map(|command| command.get_name().to_owned()).collect();
            names.sort();
            names
        };
        let listed = |side: fn(&hotlink_study::benchmarks::Benchmark) -> bool| {
            let names = hotlink_study::benchmarks::BENCHMARKS.iter().filter(|benchmark| side(benchmark));
            let mut names: Vec<String> = names.map(|benchmark| benchmark.name.to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(listed(|benchmark| benchmark.measured), of("measure"));
        assert_eq!(listed(|benchmark| benchmark.packet || benchmark.loggp), of("simulate"));
    }

    #[test]
    fn a_word_where_a_number_belongs_is_told_what_is_allowed() {
        for (word, what) in [("abc", "must be a whole number"), ("1e3", "must be a whole number")] {
            let line = ["hotlink", "analyze", "ib-ndr-fat-tree2", "--radix", word].map(OsString::from);
            let said = parse(&line).err().expect("no number").to_string();
            let whole = format!("error: invalid value '{word}' for '--radix <PORTS>': {what}\n");
            assert!(said.starts_with(&whole), "{said}");
        }
    }

    #[test]
    fn the_options_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    proptest! {
        #[test]
        fn any_command_line_is_read_or_refused(words in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec!["analyze", "compare", "catalog", "doctor", "completion", "sci-ring", "--nodes",
                    "--size", "--seed", "--traffic", "--json", "--format", "--samples", "--out", "--", "-1", "2..9"]),
                Just("permutation:"), Just("8..1MiB"), Just("--nodes=9..2"), Just("\u{1F980}"), Just(""),
            ].prop_map(str::to_owned).boxed().prop_union("\\PC{0,12}".boxed()),
            0..9,
        )) {
            let words: Vec<OsString> = std::iter::once("hotlink".to_owned()).chain(words).map(OsString::from).collect();
            if let Err(error) = parse(&words) {
                prop_assert!([0, 2].contains(&error.exit_code()));
            }
        }
    }
}
