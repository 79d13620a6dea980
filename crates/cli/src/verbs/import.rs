//! `hotlink import`: results of other measurement programs as our records, each with its bound where a fabric is named.

mod imb;
mod iperf3;
mod nccl;
mod osu;
mod perftest;
mod text;

use crate::{Failure, fabric_bound::Bounds, output::Output};
use hotlink_bench::Record;
use std::path::PathBuf;
use text::Text;

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

#[derive(clap::Args)]
struct Options {
    /// Files that the program printed.
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

/// Largest file that is read.
const MOST_BYTES: u64 = 256 << 20;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let (options, program): (&Options, &str) = match &args.program {
        Program::Osu(options) => (options, "osu"),
        Program::Imb(options) => (options, "imb"),
        Program::NcclTests(options) => (options, "nccl-tests"),
        Program::Perftest(options) => (&options.common, "perftest"),
        Program::Iperf3(options) => (options, "iperf3"),
    };
    let mut bounds = options.fabric.as_deref().map(|name| Bounds::open(name, options.nodes)).transpose()?;
    for path in &options.files {
        let file = path.display().to_string();
        let text = read(path)?;
        let text = Text::new(&file, &text);
        let records = match &args.program {
            Program::Osu(_) => osu::read(&text)?,
            Program::Imb(_) => imb::read(&text)?,
            Program::NcclTests(_) => nccl::read(&text)?,
            Program::Perftest(options) => perftest::read(&text, options.report_gbits)?,
            Program::Iperf3(_) => iperf3::read(&text)?,
        };
        if records.is_empty() {
            return Err(text.wrong(0, "holds no result", &format!("what {program} prints")));
        }
        for record in records {
            let record = with_told(record, options);
            if record.text("benchmark").is_none() {
                return Err(text.wrong(0, "does not tell which benchmark it is of", "--benchmark NAME"));
            }
            let record = head(options, program).followed_by(record);
            let record = record.with("file", file.as_str());
            output.push(match &mut bounds {
                Some(bounds) => bounds.add(record)?,
                None => record,
            });
        }
    }
    Ok(())
}

fn head(options: &Options, program: &str) -> Record {
    Record::new()
        .with("fabric", options.fabric.as_deref().unwrap_or("unknown"))
        .with("benchmark", "")
        .with("method", "measured")
        .with("program", program)
}

/// What the file does not tell and the user does.
fn with_told(mut record: Record, options: &Options) -> Record {
    if let (None, Some(benchmark)) = (record.text("benchmark"), &options.benchmark) {
        record.set("benchmark", benchmark.as_str());
    }
    if let (None, Some(ranks)) = (record.get("ranks"), options.ranks) {
        record.set("ranks", ranks);
    }
    record
}

fn read(path: &std::path::Path) -> Result<String, Failure> {
    let wrong = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| wrong(format!("cannot be read: {error}")))?.len();
    if size > MOST_BYTES {
        return Err(wrong("is larger than a result file may be: 256 MiB".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    // Logs hold what other programs wrote, too: their stray bytes are no reason to refuse the numbers.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) {
        let text = Text::new("f", text);
        let _ =
            (osu::read(&text), imb::read(&text), nccl::read(&text), perftest::read(&text, false), iperf3::read(&text));
    }

    /// The sample files, for mutation.
    const SAMPLES: [&str; 8] = [
        include_str!("../../tests/import/osu.txt"),
        include_str!("../../tests/import/imb.txt"),
        include_str!("../../tests/import/nccl.txt"),
        include_str!("../../tests/import/nccl.json"),
        include_str!("../../tests/import/perftest_bw.txt"),
        include_str!("../../tests/import/perftest.json"),
        include_str!("../../tests/import/iperf3.txt"),
        include_str!("../../tests/import/iperf3.json"),
    ];

    proptest! {
        #[test]
        fn no_text_panics(text in "(\\PC{0,20}\n){0,6}") {
            all(&text);
        }
        #[test]
        fn no_damaged_sample_panics(which in 0..SAMPLES.len(), at in 0.0..1.0f64, cut in 0usize..40, put in "\\PC{0,6}|[0-9.\\[\\]#-]{0,6}") {
            let sample = SAMPLES[which];
            let mut from = (at * sample.len() as f64) as usize;
            let mut to = (from + cut).min(sample.len());
            while !sample.is_char_boundary(from) { from -= 1; }
            while !sample.is_char_boundary(to) { to += 1; }
            all(&format!("{}{put}{}", &sample[..from], &sample[to..]));
        }
    }
}
