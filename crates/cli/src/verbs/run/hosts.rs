//! `hotlink run --hosts`: options of a job on several hosts, and the agent on each of them.

use super::told;
use crate::{Failure, place};
use hotlink_launch::hosts::{Hosts, agent, own_command};
use hotlink_paper::Output;
use std::path::PathBuf;

/// The options.
#[derive(clap::Args)]
pub(super) struct HostArgs {
    /// Run on these hosts, each with its number of ranks, in order. Without numbers, the hosts share `-n` evenly. Ranks
    /// of a host share memory; others communicate over TCP, and prove a secret of the job. `localhost` needs no `ssh`.
    #[arg(long, value_name = "HOST[:N],...", conflicts_with = "on")]
    hosts: Option<String>,
    /// Start commands on other hosts by this command (with --hosts).
    #[arg(long, value_name = "COMMAND", default_value = "ssh", requires = "hosts")]
    remote_shell: String,
    /// Run this hotlink command on the hosts (with --hosts). [default: its path here]
    #[arg(long, value_name = "FILE", requires = "hosts")]
    remote_command: Option<PathBuf>,
}

/// A host's ranks of a job that `hotlink run --hosts` has started there.
#[derive(clap::Args)]
pub(crate) struct AgentArgs {}

impl HostArgs {
    /// The hosts, if they are named.
    pub(super) fn asked(&self, library: Option<PathBuf>, bind: bool) -> Option<Hosts> {
        let own = || own_command().unwrap_or_else(|| PathBuf::from("hotlink"));
        Some(Hosts {
            list: self.hosts.clone()?,
            remote_shell: self.remote_shell.clone(),
            remote_command: self.remote_command.clone().unwrap_or_else(own),
            library,
            bind,
        })
    }
}

/// Runs the ranks of this host, as the standard input says.
pub(crate) fn serve(_args: &AgentArgs, _output: &mut Output) -> Result<(), Failure> {
    told(agent(&place::commands())?)
}
