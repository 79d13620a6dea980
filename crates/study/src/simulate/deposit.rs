//! A block into local or remote memory, contiguous or with a stride (K98 s17-24).

use super::limiter;
use crate::Source;
use crate::inputs::{self, Vary};
use crate::values::Size;
use crate::{Error, Watch, parallel};
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
        /// Packed from the stride by the sender's processor, then as a contiguous block.
        RemotePackDma = "remote-pack-dma",
        /// Gathered from the stride by the sender's adapter, into contiguous memory.
        RemoteGather = "remote-gather",
        /// Contiguous with intermediate copies, one after another (W01's N-way copying).
        Copied = "copied",
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

    /// Deposits, as the host's model calls it.
    fn of_host(self) -> Option<HostSeries> {
        match self {
            Series::Local => Some(HostSeries::Local),
            Series::RemoteDirect => Some(HostSeries::RemoteDirect),
            Series::RemoteDmaUnpack => Some(HostSeries::RemoteDmaUnpack),
            Series::RemotePackDma => Some(HostSeries::RemotePackDma),
            _ => None,
        }
    }

    /// Whether it has a stride.
    fn is_strided(self) -> bool {
        !matches!(self, Series::Exchange | Series::Dma | Series::Copied)
    }
}

/// Most intermediate copies.
const MOST_COPIES: u32 = 1000;

/// The transfers, in every combination.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// Payloads.
    pub sizes: Vec<u64>,
    /// Distances of stored words in words of 8 bytes; of loaded ones where the sender packs or gathers.
    pub strides: Vec<u64>,
    /// Intermediate copies.
    pub copies: Vec<u32>,
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
    copies: u32,
}

impl Transfer {
    /// `None` where the host cannot.
    fn run(self, what: &Transfers, host: &Host) -> Option<DepositTime> {
        let Transfer { series, bytes, stride, copies } = self;
        let offset = what.offset;
        if let Some(series) = series.of_host() {
            return Some(host.deposit(&Deposit { offset, ..Deposit::new(bytes, stride, series) }));
        }
        match series {
            Series::Local | Series::RemoteDirect | Series::RemoteDmaUnpack | Series::RemotePackDma => None,
            Series::RemoteGather => host.gather(bytes, stride),
            Series::Copied => Some(host.copied(bytes, copies)),
            Series::Fetch => host.fetch(bytes, stride, offset),
            Series::Exchange => Some(host.exchange(bytes)),
            Series::Dma => host.dma(bytes, what.operations, what.completion.into()),
        }
    }

    /// From one stride of a series and size to the next: the reason why the record's time differs.
    fn add_reason(
        &self,
        record: &mut Record,
        limiting: &str,
        (before, limited): (&Transfer, &str),
        (host, offset): (&Host, u64),
    ) {
        let series = self.series.of_host().filter(|_| (self.series, self.bytes) == (before.series, before.bytes));
        if let Some(series) = series {
            let [now, before] =
                [self, before].map(|of| Deposit { offset, ..Deposit::new(of.bytes, of.stride, series) });
            record.set("stride_reason", host.why((&now, limiting), (&before, limited)));
        }
    }
}

/// A record for each transfer on a fabric, handed to `give` in order. Where only a quick variation is asked for, the first
/// has it.
///
/// # Errors
/// What a size or stride may be, or what a host lacks.
pub fn each(
    source: &Source,
    what: &Transfers,
    vary: Vary,
    watch: &dyn Watch,
    give: &mut (dyn FnMut(Vec<Record>) -> bool + Send),
) -> Result<(), Error> {
    let transfers: Vec<(usize, Transfer)> = what.each()?.into_iter().enumerate().collect();
    let host = host(&source.unasked())?;
    let one = |(at, transfer): &(usize, Transfer)| {
        let vary = vary.at(*at);
        let records = inputs::told(source, vary, watch, &|source, watch| Ok(vec![on(source, what, transfer, watch)?]));
        watch.step();
        records
    };
    let (mut given, mut before) = (transfers.iter().map(|(_, transfer)| transfer), None);
    parallel::answers_in_order(&transfers, one, &mut |mut records| {
        if let (Some(now), Some(record)) = (given.next(), records.first_mut()) {
            let limiting = record.text("limiting_resource").unwrap_or_default().to_owned();
            if let Some((earlier, limited)) = before.replace((now, limiting.clone())) {
                now.add_reason(record, &limiting, (earlier, &limited), (&host, what.offset));
            }
        }
        give(records)
    })
}

/// All records of a fabric.
///
/// # Errors
/// As [`each`].
pub fn of(source: &Source, what: &Transfers, vary: Vary, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
    let mut all = Vec::new();
    each(source, what, vary, watch, &mut |records| {
        all.extend(records);
        true
    })?;
    Ok(all)
}

fn host(source: &Source) -> Result<Host, Error> {
    Host::new(source.spec()).map_err(|error| Error::Input(error.to_string()))
}

fn on(source: &Source, what: &Transfers, transfer: &Transfer, watch: &dyn Watch) -> Result<Record, Error> {
    let (name, started) = (source.name(), watch.seconds());
    let host = host(source)?;
    let time = transfer.run(what, &host).ok_or_else(|| {
        let needs = match transfer.series {
            Series::RemoteGather => {
                "no adapter whose processor gathers words: only Myrinet's is described (nic_element_time); \
                 remote-pack-dma packs by the node's processor"
            }
            _ => "no remote loads, no DMA to set up, or no interrupt_time in its description",
        };
        Error::Input(format!("{name}: --series {}: the host has {needs}", transfer.series.name()))
    })?;
    let mut record = record(name, what, transfer, &time);
    if transfer.series == Series::Copied {
        let without = host.copied(transfer.bytes, 0).time.us();
        record.set("copies", transfer.copies);
        record.set("zero_copy_us", without);
        record.set("copying_efficiency", without / time.time.us());
    }
    Ok(record.with("wall_s", watch.seconds() - started))
}

impl Transfers {
    /// With the usual values: 512 KiB, contiguous, from a page's boundary, in K98's three series.
    pub fn usual() -> Transfers {
        Transfers {
            sizes: vec![512 << 10],
            strides: vec![1],
            copies: vec![1, 2, 3],
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
                "--size: {} is out of range; must be 1 to {}",
                Size(size),
                Size(Deposit::MOST_BYTES)
            ));
        }
        if let Some(stride) = self.strides.iter().find(|&&stride| stride > Deposit::MOST_STRIDE) {
            return input(format!("--strides: {stride} is out of range; must be 1 to {}", Deposit::MOST_STRIDE));
        }
        if !(1..=Host::MOST_OPERATIONS).contains(&self.operations) {
            let most = Host::MOST_OPERATIONS;
            return input(format!("--operations: {} is out of range; must be 1 to {most}", self.operations));
        }
        let offset = self.offset;
        if offset >= Deposit::PAGE {
            return input(format!("--offset: {} is out of range; must be 0 to {}", Size(offset), Deposit::PAGE - 1));
        }
        if let Some(copies) = self.copies.iter().find(|&&copies| !(1..=MOST_COPIES).contains(&copies)) {
            return input(format!("--copies: {copies} is out of range; must be 1 to {MOST_COPIES}"));
        }
        let asked = if self.series.is_empty() { &Series::USUAL[..] } else { &self.series[..] };
        if self.copies != Transfers::usual().copies && !asked.contains(&Series::Copied) {
            return input("--copies: only the series `copied` makes intermediate copies: --series copied".to_owned());
        }
        let mut transfers = Vec::new();
        for &series in asked {
            let strides: Vec<u64> = if series.is_strided() { self.strides.clone() } else { vec![1] };
            let copies = if series == Series::Copied { &self.copies[..] } else { &[0] };
            for &bytes in self.sizes.iter() {
                let of = |&copies| strides.iter().map(move |&stride| Transfer { series, bytes, stride, copies });
                transfers.extend(copies.iter().flat_map(of));
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
        .bounded("bound_bandwidth_MBps", time.bound.mbps, time.efficiency())
        .with("bound_resource", time.bound.resource.as_str())
        .with("limiting_resource", time.limiting.clone());
    let record = limiter::of_transfer(record, time)
        .with("events", time.events)
        .with("packet_hops", time.hops)
        .with("trace_hash", format!("{:016x}", time.trace_hash));
    match transfer.series {
        Series::Dma => record.with("operations", what.operations).with("completion", what.completion.name()),
        _ => record,
    }
}
