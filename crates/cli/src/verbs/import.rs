//! `hotlink import`: results of other measurement programs as our records, each with its bound where a fabric is named.

use super::question::VariantArgs;
use crate::Failure;
use crate::words::word;
use clap::Args as _;
use hotlink_bench::beyond_by_estimates;
use hotlink_paper::Output;
use hotlink_results::import::{Files, Flag, PROGRAMS, Program, beyond_chosen, impossible_under};
use hotlink_study::options::Rates;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink import osu osu_latency.txt osu_bw.txt --fabric ib-ndr-fat-tree2 --json > m.json
  hotlink import nccl-tests all_reduce.log --fabric hgx-h100-rail --nodes 32
  ib_write_bw -a server | tee bw.txt; hotlink import perftest bw.txt --format csv

Each row becomes one record, in one set of keys and units: latency_us, bandwidth_MBps (10^6 B/s), messages_per_s. The
programs' units are converted. MB are 10^6 B for OSU and IMB (from 2018), and 2^20 B for perftest and older IMB. GB of
nccl-tests are 10^9 B. Prefixes of bits are powers of 10, those of iperf3's bytes powers of 2.

None of these programs states the speed of the links. So bound_* and efficiency are absent unless --fabric names the network
that was measured.

For nccl-tests, bounds are those of bus bandwidth. They are for the algorithm that its log or --algorithm names, else for
the one that NCCL's model chooses (bound_algorithm). Where the protocol is not named, it is the one that allows most
(bound_protocol). A result beyond the bound of an algorithm that nobody named says that another one ran
(beyond_chosen_algorithm). Where the algorithm or protocol is named, impossible_under says what allows no such result, and
likely causes.

The record also has the bounds of every level and of the other algorithms. Above the largest, a result is impossible by any
of them. --nodes counts GPUs.

target_bandwidth_MBps is iperf3's requested rate (-b; for UDP 1 Mbit/s by default).")]
pub(crate) struct Args {
    #[command(subcommand)]
    program: Chosen,
}

/// A program of the library's list, with options for its files: a subcommand for each.
struct Chosen {
    program: &'static Program,
    flags: Vec<&'static str>,
    options: Options,
}

impl clap::Subcommand for Chosen {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let of = |program: &&'static Program| {
            let flag = |flag: &'static Flag| {
                clap::Arg::new(flag.name).long(flag.name).action(clap::ArgAction::SetTrue).help(flag.meaning)
            };
            // Options of several verbs have a description as a group, too; the program's meaning replaces it.
            let command = Options::augment_args(clap::Command::new(program.name));
            command.about(program.meaning).args(program.flags.iter().map(flag))
        };
        command.subcommand_required(true).arg_required_else_help(true).subcommands(PROGRAMS.iter().map(of))
    }
    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Chosen::augment_subcommands(command)
    }
    fn has_subcommand(name: &str) -> bool {
        Program::named(name).is_ok()
    }
}

impl clap::FromArgMatches for Chosen {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Chosen, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let program = Program::named(name).map_err(|_| missing())?;
        let flags = program.flags.iter().map(|flag| flag.name).filter(|name| matches.get_flag(name)).collect();
        Ok(Chosen { program, flags, options: Options::from_arg_matches(matches)? })
    }
    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Chosen::from_arg_matches(matches)?;
        Ok(())
    }
}

#[derive(clap::Args, Clone)]
struct Options {
    /// Files that the program printed; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Fabric that was measured, of the catalog or a file: each record gets its bound. [default: none, and records have no
    /// bound]
    #[arg(long, value_name = "FABRIC")]
    fabric: Option<String>,
    #[command(flatten)]
    variant: VariantArgs,
    /// Number of that fabric's nodes that took part; GPUs for nccl-tests. [default: one for each rank]
    #[arg(long, value_name = "N", requires = "fabric", value_parser = clap::value_parser!(u32).range(2..))]
    nodes: Option<u32>,
    /// Benchmark, where the file does not name it: allreduce, allgather, reduce-scatter, alltoall, bcast, reduce,
    /// gather, scatter, sendrecv, pingpong or another.
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// Number of ranks that took part, where the file does not state it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// NCCL's algorithm, where its log does not name it: ring, tree, nvls, nvls-tree, collnet, pairs.
    #[arg(long, value_name = "NAME", requires = "fabric")]
    algorithm: Option<String>,
    /// NCCL's protocol, where its log does not name it: simple, ll128, ll.
    #[arg(long, value_name = "NAME", requires = "fabric")]
    protocol: Option<String>,
    /// Use theoretical rates of the fabric's resources, or measured ones where a measurement is known, as simulate does.
    #[arg(long, value_parser = word::<Rates>(), default_value_t = Rates::Measured, requires = "fabric")]
    capacities: Rates,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    output.import();
    let Chosen { program, flags, options } = &args.program;
    let Options { files, fabric, variant, nodes, benchmark, ranks, algorithm, protocol, capacities } = options.clone();
    let fabric = variant.of_named("--fabric", fabric.as_deref())?;
    let flags = flags.clone();
    output.number_files(&files);
    let files = Files { program, flags, files, fabric, nodes, benchmark, ranks, algorithm, protocol, capacities };
    let mut is_told = false;
    files.each(&mut |record, impossible| {
        impossible.inspect(|what| hotlink_paper::tell!("hotlink: impossible: {what}"));
        impossible_under(&record).inspect(|what| hotlink_paper::tell!("hotlink: {what}"));
        beyond_by_estimates(&record).inspect(|what| hotlink_paper::tell!("hotlink: {what}"));
        // Once for all rows: it is no mistake.
        if let Some(what) = beyond_chosen(&record).filter(|_| !std::mem::replace(&mut is_told, true)) {
            hotlink_paper::tell!("hotlink: {what}");
        }
        output.push(record);
    })
}
