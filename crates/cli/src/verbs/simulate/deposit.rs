//! `hotlink simulate deposit`: a block into local or remote memory, contiguous or with a stride (K98 s17-24).

use crate::source::Source;
use crate::table::Table;
use crate::values::{Counts, Size, Sizes};
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_sim::host::{Completion, Deposit, DepositTime, Host, Series};
use std::time::Instant;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate deposit --fabric k98-sci --strides 1,2,3,4,5,6,7,8,12,16,24,32,48,64 --json
  hotlink simulate deposit --fabric k98-myrinet,k98-clustar --sizes 4..512KiB --series remote-direct
  hotlink simulate deposit --fabric k98-sci --series fetch,exchange
  hotlink simulate deposit --fabric k98-sci --series dma --operations 8 --completion interrupt")]
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
    /// DMA operations in a row, with `--series dma`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=Host::MOST_OPERATIONS))]
    operations: u64,
    /// How the processor learns that a DMA operation has ended, with `--series dma`.
    #[arg(long, value_enum, default_value_t = CompletionArg::Poll)]
    completion: CompletionArg,
    /// How the block gets there [default: local, remote-direct, remote-dma-unpack].
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
    /// The processor loads remote memory.
    Fetch,
    /// Contiguous, while the receiver deposits as much here; the bandwidth is one direction's.
    Exchange,
    /// Contiguous by DMA, operation after operation.
    Dma,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CompletionArg {
    /// It looks until it sees it.
    Poll,
    /// The adapter interrupts it.
    Interrupt,
}

impl From<CompletionArg> for Completion {
    fn from(arg: CompletionArg) -> Completion {
        match arg {
            CompletionArg::Poll => Completion::Poll,
            CompletionArg::Interrupt => Completion::Interrupt,
        }
    }
}

impl SeriesArg {
    /// K98's three.
    const USUAL: [SeriesArg; 3] = [SeriesArg::Local, SeriesArg::RemoteDirect, SeriesArg::RemoteDmaUnpack];

    fn name(self) -> &'static str {
        match self {
            SeriesArg::Local => Series::Local.name(),
            SeriesArg::RemoteDirect => Series::RemoteDirect.name(),
            SeriesArg::RemoteDmaUnpack => Series::RemoteDmaUnpack.name(),
            SeriesArg::Fetch => "fetch",
            SeriesArg::Exchange => "exchange",
            SeriesArg::Dma => "dma",
        }
    }

    /// Whether it has a stride.
    fn is_strided(self) -> bool {
        !matches!(self, SeriesArg::Exchange | SeriesArg::Dma)
    }
}

/// One transfer.
#[derive(Clone, Copy)]
struct Transfer {
    series: SeriesArg,
    bytes: u64,
    stride: u64,
}

impl Transfer {
    /// `None` where the host cannot.
    fn run(self, args: &Args, host: &Host) -> Option<DepositTime> {
        let Transfer { series, bytes, stride } = self;
        let offset = args.offset.0;
        let deposit = |series| Some(host.deposit(&Deposit { offset, ..Deposit::new(bytes, stride, series) }));
        match series {
            SeriesArg::Local => deposit(Series::Local),
            SeriesArg::RemoteDirect => deposit(Series::RemoteDirect),
            SeriesArg::RemoteDmaUnpack => deposit(Series::RemoteDmaUnpack),
            SeriesArg::Fetch => host.fetch(bytes, stride, offset),
            SeriesArg::Exchange => Some(host.exchange(bytes)),
            SeriesArg::Dma => host.dma(bytes, args.operations, args.completion.into()),
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
    "bound_bandwidth_MBps",
    "efficiency",
    "limiting_resource",
];

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let hosts: Vec<(String, Host)> = args.fabric.iter().map(|name| open(name)).collect::<Result<_, _>>()?;
    let transfers = transfers(args)?;
    let progress = output.progress("simulate deposit", (hosts.len() * transfers.len()) as u64);
    let ticking = progress.ticking();
    for (name, host) in &hosts {
        for transfer in &transfers {
            let started = Instant::now();
            let time = transfer.run(args, host).ok_or_else(|| {
                let needs = "no remote loads, no DMA to set up, or no interrupt_time in its description";
                Failure::Input(format!("{name}: --series {}: the host has {needs}", transfer.series.name()))
            })?;
            output.push(record(name, args, transfer, &time).with("wall_s", started.elapsed().as_secs_f64()));
            progress.step();
        }
    }
    drop((ticking, progress));
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
fn transfers(args: &Args) -> Result<Vec<Transfer>, Failure> {
    let input = |what: String| Err(Failure::Input(what));
    if let Some(&size) = args.sizes.iter().find(|&&size| size == 0 || size > Deposit::MOST_BYTES) {
        return input(format!(
            "--size: {} is out of range; allowed are 1 to {}",
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
    let asked = if args.series.is_empty() { &SeriesArg::USUAL[..] } else { &args.series[..] };
    let mut transfers = Vec::new();
    for &series in asked {
        let strides: Vec<u64> = if series.is_strided() { args.strides.iter().copied().collect() } else { vec![1] };
        for &bytes in args.sizes.iter() {
            transfers.extend(strides.iter().map(|&stride| Transfer { series, bytes, stride }));
        }
    }
    Ok(transfers)
}

fn record(fabric: &str, args: &Args, transfer: &Transfer, time: &DepositTime) -> Record {
    let record = Record::new()
        .with("fabric", fabric)
        .with("benchmark", "deposit")
        .with("method", "packet")
        .with("nodes", 2)
        .with("memory", if transfer.series == SeriesArg::Local { "local" } else { "remote" })
        .with("series", transfer.series.name())
        .with("size_B", transfer.bytes)
        .with("stride", transfer.stride)
        .with("offset_B", args.offset.0)
        .with("latency_us", time.time.us())
        .with("bandwidth_MBps", time.rate / 1e6)
        .with("bound_bandwidth_MBps", time.bound / 1e6)
        .with("bound_resource", time.bound_resource.clone())
        .with("efficiency", time.rate / time.bound)
        .with("limiting_resource", time.limiting.clone())
        .with("events", time.events)
        .with("packet_hops", time.hops)
        .with("trace_hash", format!("{:016x}", time.trace_hash));
    match transfer.series {
        SeriesArg::Dma => {
            record.with("operations", args.operations).with("completion", Completion::from(args.completion).name())
        }
        _ => record,
    }
}
