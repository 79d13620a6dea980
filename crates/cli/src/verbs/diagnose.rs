//! `hotlink diagnose`: what holds a site's network back, from the outputs that the site has.

use super::question::VariantArgs;
use crate::Failure;
use crate::words::word;
use hotlink_diagnose::{Diagnosis, Question, diagnose};
use hotlink_paper::Output;
use hotlink_paper::diagnosis::tables;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink diagnose results/*.txt --fabric ib-ndr-fat-tree2
  hotlink diagnose osu_bw.*.txt osu_latency.*.txt ibnetdiscover.txt dump_fts.txt
  hotlink diagnose ib_write_bw.node01.node02.txt lspci.node01.txt ibstat.node01.txt --fabric ib-ndr-fat-tree2 --json

Inputs are outputs of OSU, IMB, nccl-tests, perftest and iperf3, hotlink's own --json, ibnetdiscover, iblinkinfo, lspci -vv
and ibstat. A file is recognised by its content. Hosts are read from the file, from a line `# hosts: node[01-02]`, or from
the file's name after its first dot: osu_bw.node01.node02.txt. More pairs of hosts tell more causes apart.

Beliefs rank the explanations of one finding; they are not probabilities. docs/diagnose.md says how often the true cause is
among the first three.

The exit status is 0 whatever is found, and 2 for bad input. With --fail-on finding it is 1 where something stands out. With
--fail-on flag it is 1 also where a file or a number does not count.")]
pub(crate) struct Args {
    /// Files of the site, as listed below; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Fabric that was measured, of the catalog or a file. [default: the network that the files hold]
    #[arg(long, value_name = "FABRIC")]
    fabric: Option<String>,
    #[command(flatten)]
    variant: VariantArgs,
    /// Number of nodes of the machine, which limits how far apart two hosts may be. [default: a machine of any size]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    nodes: Option<u32>,
    /// Benchmark of files that do not name it, as those of older nccl-tests: allreduce, allgather, reduce-scatter,
    /// alltoall, bcast, reduce, gather, scatter, sendrecv.
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// List every number with its bound. --json always does.
    #[arg(long)]
    numbers: bool,
    /// Exit with status 1 where a finding reaches this level, for scripts that watch a machine.
    #[arg(long, value_name = "LEVEL", value_parser = word::<FailOn>(), default_value = "never")]
    fail_on: FailOn,
}

hotlink_study::words! {
    /// The level at which a diagnosis fails.
    enum FailOn {
        /// Nothing: the reader decides.
        Never = "never",
        /// A finding that stands out.
        Finding = "finding",
        /// A finding, or a file or a number that does not count.
        Flag = "flag",
    }
}

impl FailOn {
    /// Whether the diagnosis passes.
    fn judge(self, found: &Diagnosis) -> Result<(), Failure> {
        let flags = if self == FailOn::Flag { found.flags.len() } else { 0 };
        match (self, found.findings.len(), flags) {
            (FailOn::Never, ..) | (_, 0, 0) => Ok(()),
            (_, findings, 0) => Err(Failure::Check(format!("diagnose: findings: {findings}"))),
            (_, findings, flags) => Err(Failure::Check(format!("diagnose: findings: {findings}, flags: {flags}"))),
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let files = args.files.iter().map(|file| file.display().to_string()).collect();
    let fabric = args.variant.of_named("--fabric", args.fabric.as_deref())?;
    let benchmark = args.benchmark.clone();
    let found = diagnose(&Question { files, fabric, nodes: args.nodes, benchmark })?;
    output.tables(tables(&found, args.numbers));
    output.push_all(found.records());
    args.fail_on.judge(&found)
}
