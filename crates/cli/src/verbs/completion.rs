//! `hotlink completion`: a script that completes verbs and options in a shell.

use crate::{Cli, Failure};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use hotlink_bench::Record;
use hotlink_fabric::catalog::Library;
use hotlink_paper::Output;
use std::collections::BTreeSet;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink completion bash > ~/.local/share/bash-completion/completions/hotlink
  hotlink completion zsh > \"${fpath[1]}/_hotlink\"
  hotlink completion fish > ~/.config/fish/completions/hotlink.fish

For a fabric or a price list, the shell offers names of the catalog, names that `hotlink calibrate` has written so far, and
files.")]
pub(crate) struct Args {
    /// Shell of the script.
    #[arg(value_enum)]
    shell: Shells,
}

/// Shells with completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shells {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let shell = match args.shell {
        Shells::Bash => Shell::Bash,
        Shells::Zsh => Shell::Zsh,
        Shells::Fish => Shell::Fish,
    };
    let script = script(shell, &Library::user());
    output.push(Record::new().with("shell", shell.to_string()).with("script", script.as_str()));
    output.text(script);
    Ok(())
}

fn script(shell: Shell, library: &Library) -> String {
    let listed = |folder: &str| library.list(folder).into_iter().map(|listed| listed.name);
    // The default name of a calibration.
    let fabrics: BTreeSet<String> = listed("fabrics").chain(["this-machine", "this-mpi"].map(str::to_owned)).collect();
    let prices: BTreeSet<String> = listed("prices").collect();
    // Verbs that only the command itself starts are not offered.
    let all = Cli::command();
    let visible = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let command = Command::new("hotlink").args(all.get_arguments().cloned()).subcommands(visible);
    let command = offering(offering(command, "fabric", &fabrics), "fabrics", &fabrics);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut offering(command, "prices", &prices), "hotlink", &mut script);
    let script = String::from_utf8_lossy(&script);
    beside_files(shell, &beside_files(shell, &script, &fabrics), &prices)
}

/// The same command with these names offered for `option` of any verb. It only makes the script: any other word may be
/// typed.
fn offering(command: Command, option: &str, names: &BTreeSet<String>) -> Command {
    let offer = |arg: Arg| match arg.get_id() == option {
        // It leaks memory, because the program ends with this script.
        true => arg.value_parser(PossibleValuesParser::new(names.iter().map(|name| &*name.clone().leak()))),
        false => arg,
    };
    command.mut_args(offer).mut_subcommands(|verb| offering(verb, option, names))
}

/// Files are offered with these names. Bash does so by itself where no name fits.
fn beside_files(shell: Shell, script: &str, names: &BTreeSet<String>) -> String {
    let joined =
        |tail: &str, between: &str| names.iter().map(|name| format!("{name}{tail}")).collect::<Vec<_>>().join(between);
    match shell {
        Shell::Zsh => {
            let names = joined("", " ");
            script.replace(&format!(":({names})"), &format!(":{{compadd -- {names}; _files}}"))
        }
        Shell::Fish => {
            let names = joined("\\t''", "\n");
            script.replace(&format!("-r -f -a \"{names}"), &format!("-r -F -a \"{names}"))
        }
        _ => script.to_owned(),
    }
}
