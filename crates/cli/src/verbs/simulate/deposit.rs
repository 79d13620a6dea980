//! `hotlink simulate deposit`: a block into local or remote memory, contiguous or with a stride (K98 s17-24).

use crate::source::Source;
use crate::table::Table;
use crate::values::{Counts, Size, Sizes};
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_sim::host::{Deposit, DepositTime, Host, Series};
use std::time::Instant;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate deposit --fabric k98-sci --strides 1,2,3,4,5,6,7,8,12,16,24,32,48,64 --json
  hotlink simulate deposit --fabric k98-myrinet,k98-clustar --sizes 4..512KiB --series remote-direct")]
pub(crate) struct Args {
    /// Fabrics of the catalog, or fabric files (.toml).
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',', required = true)]
    fabric: Vec<String>,
    /// Distances of stored words in words of 8 bytes; 1 is contiguous.
    #[arg(long, value_name = "LIST", default_value = "1")]
    strides: Counts,
    /// Payloads of one deposit, up to 64MiB.
    #[arg(long, visible_alias = "size", value_name = "LIST", default_value = "512KiB")]
    sizes: Sizes,
    /// Bytes from a page's boundary to the destination.
    #[arg(long, value_name = "SIZE", default_value = "0")]
    offset: Size,
    /// How the block gets there [default: all].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    series: Vec<SeriesArg>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SeriesArg {
    /// A copy within the node's own memory.
    Local,
    /// Straight into remote memory at the stride.
    RemoteDirect,
    /// As a contiguous block, then unpacked by the receiver's processor.
    RemoteDmaUnpack,
}

impl SeriesArg {
    fn series(self) -> Series {
        match self {
            SeriesArg::Local => Series::Local,
            SeriesArg::RemoteDirect => Series::RemoteDirect,
            SeriesArg::RemoteDmaUnpack => Series::RemoteDmaUnpack,
        }
    }
}

/// What the table for people shows; the other formats have every key.
const SHOWN: [&str; 9] = [
    "fabric",
    "series",
    "size_B",
    "stride",
    "bandwidth_MBps",
    "latency_us",
    "bound_MBps",
    "efficiency",
    "limiting_resource",
];

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let hosts: Vec<(String, Host)> = args.fabric.iter().map(|name| open(name)).collect::<Result<_, _>>()?;
    let deposits = deposits(args)?;
    let progress = output.progress("simulate deposit", (hosts.len() * deposits.len()) as u64);
    for (name, host) in &hosts {
        for deposit in &deposits {
            let started = Instant::now();
            let time = host.deposit(deposit);
            output.push(record(name, deposit, &time).with("wall_s", started.elapsed().as_secs_f64()));
            progress.step();
        }
    }
    drop(progress);
    output.table(Table::of_keys(output.records(), &SHOWN));
    Ok(())
}

fn open(name: &str) -> Result<(String, Host), Failure> {
    let source = Source::open(name)?;
    let spec = source.spec().ok_or_else(|| Failure::Input(format!("{name}: a graph has no hosts")))?;
    let host = Host::new(spec).map_err(|error| Failure::Input(error.to_string()))?;
    Ok((source.name().to_owned(), host))
}

/// Every series, size and stride, checked.
fn deposits(args: &Args) -> Result<Vec<Deposit>, Failure> {
    let input = |what: String| Err(Failure::Input(what));
    if let Some(&size) = args.sizes.iter().find(|&&size| size == 0 || size > Deposit::MOST_BYTES) {
        return input(format!(
            "--sizes: {} is out of range; allowed are 1 to {}",
            Size(size),
            Size(Deposit::MOST_BYTES)
        ));
    }
    if let Some(stride) = args.strides.iter().find(|&&stride| stride > Deposit::MOST_STRIDE) {
        return input(format!("--strides: {stride} is out of range; allowed are 1 to {}", Deposit::MOST_STRIDE));
    }
    let offset = args.offset.0;
    if offset >= Deposit::PAGE {
        return input(format!("--offset: {} is out of range; allowed are 0 to {}", Size(offset), Deposit::PAGE - 1));
    }
    let asked: Vec<Series> = args.series.iter().map(|series| series.series()).collect();
    let series = Series::ALL.into_iter().filter(|series| asked.is_empty() || asked.contains(series));
    let sizes = |series| args.sizes.iter().map(move |&bytes| (series, bytes));
    let strides = |(series, bytes)| {
        args.strides.iter().map(move |&stride| Deposit { offset, ..Deposit::new(bytes, stride, series) })
    };
    Ok(series.flat_map(sizes).flat_map(strides).collect())
}

fn record(fabric: &str, deposit: &Deposit, time: &DepositTime) -> Record {
    Record::new()
        .with("fabric", fabric)
        .with("benchmark", "deposit")
        .with("method", "packet")
        .with("nodes", 2)
        .with("memory", if deposit.series == Series::Local { "local" } else { "remote" })
        .with("series", deposit.series.name())
        .with("size_B", deposit.bytes)
        .with("stride", deposit.stride)
        .with("offset_B", deposit.offset)
        .with("latency_us", time.time.us())
        .with("bandwidth_MBps", time.rate / 1e6)
        .with("bound_MBps", time.bound / 1e6)
        .with("bound_resource", time.bound_resource.clone())
        .with("efficiency", time.rate / time.bound)
        .with("limiting_resource", time.limiting.clone())
        .with("events", time.events)
        .with("packet_hops", time.hops)
        .with("trace_hash", format!("{:016x}", time.trace_hash))
}
