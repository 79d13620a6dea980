//! `hotlink import`: results of other measurement programs as our records, each with its bound where a fabric is named.

use crate::{Failure, output::Output};
use hotlink_study::import::{self, Files};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink import osu osu_latency.txt osu_bw.txt --fabric ib-ndr-fat-tree2 --json > m.json
  hotlink import nccl-tests all_reduce.json --fabric gpu-rail --nodes 8
  ib_write_bw -a server | tee bw.txt; hotlink import perftest bw.txt --format csv

One record a row, in one set of keys and units: latency_us, bandwidth_MBps (10^6 B/s), messages_per_s. What the programs
print is converted: MB of OSU and of IMB (from 2018) are 10^6 B, of perftest and of older IMB 2^20 B, GB of nccl-tests
10^9 B, bits of iperf3 and perftest 10^n, bytes of iperf3 2^n.

None of these programs tells how fast the links are, so bound_* and efficiency are absent unless --fabric names what was
measured. What iperf3 was told to send at (-b; of UDP 1 Mbit/s unless told) stands as target_bandwidth_MBps.")]
pub(crate) struct Args {
    #[command(subcommand)]
    program: Program,
}

#[derive(clap::Subcommand)]
enum Program {
    /// OSU micro-benchmarks: text of any of them.
    Osu(Options),
    /// Intel MPI Benchmarks: text of one run with any number of benchmarks.
    Imb(Options),
    /// NCCL or RCCL tests: text, or the JSON of -J.
    NcclTests(Options),
    /// perftest (ib_write_bw, ib_send_lat, ...): text, or the JSON of --out_json.
    Perftest(PerftestOptions),
    /// iperf3: text, or the JSON of -J.
    Iperf3(Options),
}

#[derive(clap::Args, Clone)]
struct Options {
    /// Files that the program printed; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The fabric that was measured, of the catalog or a file: each record gets its bound; without it, none.
    #[arg(long, value_name = "FABRIC")]
    fabric: Option<String>,
    /// Nodes of that fabric that took part. [default: one for each rank]
    #[arg(long, value_name = "N", requires = "fabric", value_parser = clap::value_parser!(u32).range(2..))]
    nodes: Option<u32>,
    /// The benchmark, where the file does not tell.
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// Ranks that took part, where the file does not tell.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
}

#[derive(clap::Args)]
struct PerftestOptions {
    #[command(flatten)]
    common: Options,
    /// The JSON is of a run with --report_gbits: it does not tell itself.
    #[arg(long)]
    report_gbits: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let (options, program) = match &args.program {
        Program::Osu(options) => (options, import::Program::Osu),
        Program::Imb(options) => (options, import::Program::Imb),
        Program::NcclTests(options) => (options, import::Program::NcclTests),
        Program::Perftest(options) => (&options.common, import::Program::Perftest { gbits: options.report_gbits }),
        Program::Iperf3(options) => (options, import::Program::Iperf3),
    };
    let Options { files, fabric, nodes, benchmark, ranks } = options.clone();
    import_files(&Files { program, files, fabric, nodes, benchmark, ranks }, output)
}

/// The records of files; what is impossible is told as it is read.
pub(crate) fn import_files(files: &Files, output: &mut Output) -> Result<(), Failure> {
    files.each(&mut |record, impossible| {
        if let Some(what) = impossible {
            eprintln!("hotlink: impossible: {what}");
        }
        output.push(record);
    })
}
