//! The place of this command: libraries and pages are next to it.

use hotlink_launch::{Commands, Programs};
use std::path::PathBuf;

/// The running program, and what was called: the command of a Python package is a script, and the running program is the
/// interpreter then.
pub(crate) fn commands() -> Commands {
    let commands = [std::env::current_exe().ok(), std::env::args_os().next().map(PathBuf::from)];
    Commands(commands.into_iter().flatten().collect())
}

/// The runner of the MPI programs of a plan of jobs.
pub fn programs() -> Programs {
    Programs { commands: commands() }
}
