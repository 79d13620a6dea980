//! A block into local or remote memory, contiguous or with a stride (K98 s17-24).

use crate::Source;
use crate::inputs::{self, Vary};
use crate::values::Size;
use crate::{Error, Watch};
use hotlink_bench::Record;
use hotlink_sim::host::{Deposit, DepositTime, Host, Series as HostSeries};

crate::words! {
    /// How a block gets there.
    pub enum Series {
        /// A copy within the node's own memory.
        Local = "local",
        /// Straight into remote memory at the stride.
        RemoteDirect = "remote-direct",
        /// As a contiguous block, then unpacked by the receiver's processor.
        RemoteDmaUnpack = "remote-dma-unpack",
        /// The processor loads remote memory.
        Fetch = "fetch",
        /// Contiguous, while the receiver deposits as much here; the bandwidth is one direction's.
        Exchange = "exchange",
        /// Contiguous by DMA, operation after operation.
        Dma = "dma",
    }
}

crate::words! {
    /// How the processor learns that a DMA operation has ended.
    pub enum Completion {
        /// It looks until it sees it.
        Poll = "poll",
        /// The adapter interrupts it.
        Interrupt = "interrupt",
    }
}

impl From<Completion> for hotlink_sim::host::Completion {
    fn from(completion: Completion) -> hotlink_sim::host::Completion {
        match completion {
            Completion::Poll => hotlink_sim::host::Completion::Poll,
            Completion::Interrupt => hotlink_sim::host::Completion::Interrupt,
        }
    }
}

impl Series {
    /// K98's three.
    pub const USUAL: [Series; 3] = [Series::Local, Series::RemoteDirect, Series::RemoteDmaUnpack];

    /// K98's, as the host's model calls it.
    fn of_host(self) -> Option<HostSeries> {
        match self {
            Series::Local => Some(HostSeries::Local),
            Series::RemoteDirect => Some(HostSeries::RemoteDirect),
            Series::RemoteDmaUnpack => Some(HostSeries::RemoteDmaUnpack),
            _ => None,
        }
    }

    /// Whether it has a stride.
    fn is_strided(self) -> bool {
        !matches!(self, Series::Exchange | Series::Dma)
    }
}

/// What is transferred, in every combination.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// Payloads.
    pub sizes: Vec<u64>,
    /// Distances of stored words in words of 8 bytes.
    pub strides: Vec<u64>,
    /// Bytes from a page's boundary to the destination.
    pub offset: u64,
    /// DMA operations in a row.
    pub operations: u64,
    /// How their end is seen.
    pub completion: Completion,
    /// How the blocks get there.
    pub series: Vec<Series>,
}

/// One transfer.
#[derive(Clone, Copy)]
struct Transfer {
    series: Series,
    bytes: u64,
    stride: u64,
}

impl Transfer {
    /// `None` where the host cannot.
    fn run(self, what: &Transfers, host: &Host) -> Option<DepositTime> {
        let Transfer { series, bytes, stride } = self;
        let offset = what.offset;
        if let Some(series) = series.of_host() {
            return Some(host.deposit(&Deposit { offset, ..Deposit::new(bytes, stride, series) }));
        }
        match series {
            Series::Local | Series::RemoteDirect | Series::RemoteDmaUnpack => None,
            Series::Fetch => host.fetch(bytes, stride, offset),
            Series::Exchange => Some(host.exchange(bytes)),
            Series::Dma => host.dma(bytes, what.operations, what.completion.into()),
        }
    }
}

/// A record for each transfer on a fabric.
///
/// # Errors
/// What a size or stride may be, or what a host lacks.
pub fn of(source: &Source, what: &Transfers, vary: Vary, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
    let transfers = what.each()?;
    inputs::told(source, vary, watch, &|source, watch| on(source, what, &transfers, watch))
}

fn on(source: &Source, what: &Transfers, transfers: &[Transfer], watch: &dyn Watch) -> Result<Vec<Record>, Error> {
    let (name, host) = (source.name(), Host::new(source.spec()).map_err(|error| Error::Input(error.to_string()))?);
    let one = |transfer: &Transfer| -> Result<Record, Error> {
        let started = watch.seconds();
        let time = transfer.run(what, &host).ok_or_else(|| {
            let needs = "no remote loads, no DMA to set up, or no interrupt_time in its description";
            Error::Input(format!("{name}: --series {}: the host has {needs}", transfer.series.name()))
        })?;
        watch.step();
        Ok(record(name, what, transfer, &time).with("wall_s", watch.seconds() - started))
    };
    let mut records = transfers.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    // From one stride of a series and size to the next.
    for (at, pair) in transfers.windows(2).enumerate() {
        let [before, now] = pair else { continue };
        let series = now.series.of_host().filter(|_| (now.series, now.bytes) == (before.series, before.bytes));
        if let Some(series) = series {
            let [now, before] =
                [now, before].map(|of| Deposit { offset: what.offset, ..Deposit::new(of.bytes, of.stride, series) });
            let limiting = |at: usize| records[at].text("limiting_resource").unwrap_or_default();
            let why = host.why((&now, limiting(at + 1)), (&before, limiting(at)));
            records[at + 1].set("stride_reason", why);
        }
    }
    Ok(records)
}

impl Transfers {
    /// With the usual values: 512 KiB, contiguous, from a page's boundary, in K98's three series.
    pub fn usual() -> Transfers {
        Transfers {
            sizes: vec![512 << 10],
            strides: vec![1],
            offset: 0,
            operations: 1,
            completion: Completion::Poll,
            series: Vec::new(),
        }
    }
    /// How many transfers there are, of each fabric.
    ///
    /// # Errors
    /// What a size or stride may be.
    pub fn count(&self) -> Result<usize, Error> {
        Ok(self.each()?.len())
    }

    /// Every series, size and stride, checked.
    fn each(&self) -> Result<Vec<Transfer>, Error> {
        let input = |what: String| Err(Error::Input(what));
        if let Some(&size) = self.sizes.iter().find(|&&size| size == 0 || size > Deposit::MOST_BYTES) {
            return input(format!(
                "--size: {} is out of range; allowed are 1 to {}",
                Size(size),
                Size(Deposit::MOST_BYTES)
            ));
        }
        if let Some(stride) = self.strides.iter().find(|&&stride| stride > Deposit::MOST_STRIDE) {
            return input(format!("--strides: {stride} is out of range; allowed are 1 to {}", Deposit::MOST_STRIDE));
        }
        if !(1..=Host::MOST_OPERATIONS).contains(&self.operations) {
            let most = Host::MOST_OPERATIONS;
            return input(format!("--operations: {} is out of range; allowed are 1 to {most}", self.operations));
        }
        let offset = self.offset;
        if offset >= Deposit::PAGE {
            return input(format!(
                "--offset: {} is out of range; allowed are 0 to {}",
                Size(offset),
                Deposit::PAGE - 1
            ));
        }
        let asked = if self.series.is_empty() { &Series::USUAL[..] } else { &self.series[..] };
        let mut transfers = Vec::new();
        for &series in asked {
            let strides: Vec<u64> = if series.is_strided() { self.strides.clone() } else { vec![1] };
            for &bytes in self.sizes.iter() {
                transfers.extend(strides.iter().map(|&stride| Transfer { series, bytes, stride }));
            }
        }
        Ok(transfers)
    }
}

fn record(fabric: &str, what: &Transfers, transfer: &Transfer, time: &DepositTime) -> Record {
    let record = Record::new()
        .with("fabric", fabric)
        .with("benchmark", "deposit")
        .with("method", "packet")
        .with("nodes", 2)
        .with("memory", if transfer.series == Series::Local { "local" } else { "remote" })
        .with("series", transfer.series.name())
        .with("size_B", transfer.bytes)
        .with("stride", transfer.stride)
        .with("offset_B", what.offset)
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
        Series::Dma => record.with("operations", what.operations).with("completion", what.completion.name()),
        _ => record,
    }
}
