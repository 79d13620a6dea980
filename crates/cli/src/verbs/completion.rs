//! `hotlink completion`: a script that completes verbs and options in a shell.

use crate::{Cli, Failure, output::Output};
use clap::CommandFactory;
use clap_complete::Shell;
use hotlink_bench::Record;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink completion bash > ~/.local/share/bash-completion/completions/hotlink
  hotlink completion zsh > \"${fpath[1]}/_hotlink\"
  hotlink completion fish > ~/.config/fish/completions/hotlink.fish")]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shells,
}

/// Shells that have completion.
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
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hotlink", &mut script);
    let script = String::from_utf8_lossy(&script);
    output.push(Record::new().with("shell", shell.to_string()).with("script", script.as_ref()));
    output.text(script);
    Ok(())
}
