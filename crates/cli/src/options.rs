//! Options of every verb.

use crate::words::word;
use hotlink_paper::{Format, Options, When};

/// How results are printed.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print results on stdout in this format.
    #[arg(long, global = true, value_parser = word::<Format>(), default_value_t = Format::Table, conflicts_with = "json")]
    format: Format,
    /// Print results as JSON: short for --format json.
    #[arg(long, global = true)]
    json: bool,
    /// Show progress on stderr: auto draws a bar on a terminal after two seconds, always also prints plain lines elsewhere.
    #[arg(long, global = true, value_parser = word::<When>(), default_value_t = When::Auto)]
    progress: When,
    /// Leave out of the results what names this machine: host, folders, addresses, values of MPI settings. Names within a
    /// described network (its hosts and switches) stay.
    #[arg(long, global = true)]
    anonymous: bool,
    /// Whether a program takes the results.
    #[arg(skip)]
    is_for_program: bool,
}

impl OutputArgs {
    /// As values.
    pub(crate) fn asked(&self) -> Options {
        let OutputArgs { format, progress, anonymous, is_for_program, .. } = *self;
        Options { format: if self.json { Format::Json } else { format }, progress, anonymous, is_for_program }
    }
    /// The same for programs that take the records. Lines for readers of a table, and weights that nobody asked for, are not
    /// computed.
    pub(crate) fn of_records(self) -> OutputArgs {
        let is_for_people = matches!(self.format, Format::Table | Format::Md);
        OutputArgs { json: self.json || is_for_people, is_for_program: true, ..self }
    }
    /// The same without progress of its own: as a part of a command that reports its own.
    pub(crate) fn quiet(self) -> OutputArgs {
        OutputArgs { progress: When::Never, ..self }
    }
}
