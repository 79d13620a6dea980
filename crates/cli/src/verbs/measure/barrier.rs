//! `hotlink measure barrier`: hotlink's own messages (collective.rs), or with `--device` the barrier devices of
//! `plugins/barrier/hotlink_barrier.h`: flags in shared memory, and the compiled RTL behind shared pins.

use super::{collective, summary};
use crate::verbs::barrier::parts;
use crate::{Failure, output::Output};
use hotlink_bench::{Record, Samples, Summary, Which};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) collective: collective::Args,
    /// Barrier devices between processes, instead of messages.
    #[arg(long, value_enum, value_delimiter = ',')]
    device: Vec<Device>,
}

/// The name of [`Device::Flags`] among the algorithms: it, too, is a way without a device.
const FLAG: &str = "flag";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Device {
    /// The Verilog of rtl/barrier, compiled, in a process of its own behind pins in shared memory.
    Rtl,
    /// Flags in shared memory.
    Flags,
}

/// Clocks from a level at the device's pin to the release at its output: synchroniser 2, filter 3, machine 1 (proved
/// in rtl/barrier/formal/f_latency.v).
const RTL_CLOCKS: f64 = 6.0;

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let (flags, messages): (Vec<&String>, Vec<&String>) =
        args.collective.algorithm.iter().partition(|name| *name == FLAG);
    let algorithms = args.collective.algorithms(Which::Barrier, messages.iter().copied()).map_err(also_flag)?;
    let mut devices = args.device.clone();
    devices.extend((!flags.is_empty() && !devices.contains(&Device::Flags)).then_some(Device::Flags));
    if devices.is_empty() || !messages.is_empty() {
        collective::by(Which::Barrier, &args.collective, &algorithms, output)?;
    }
    on_devices(args, &devices, output)
}

fn also_flag(failure: Failure) -> Failure {
    match failure {
        Failure::Input(what) => Failure::Input(format!("{what}; also {FLAG}, which is --device flags")),
        other => other,
    }
}

fn on_devices(args: &Args, devices: &[Device], output: &mut Output) -> Result<(), Failure> {
    if !devices.is_empty() && !args.collective.carrier.is_shm() {
        let via = args.collective.carrier.name();
        return Err(Failure::Input(format!("--device with --via {via}: devices are reached by --via shm")));
    }
    let ranks = args.collective.ranks()?;
    for (device, most) in [(Device::Rtl, parts::MOST_PORTS), (Device::Flags, 256)] {
        let wrong = ranks.iter().find(|&&ranks| devices.contains(&device) && !(2..=most).contains(&ranks));
        if let Some(ranks) = wrong {
            let what = format!("--ranks {ranks} with --device {}: allowed are 2 to {most}", device.name());
            return Err(Failure::Input(what));
        }
    }
    let progress = output.progress("measure barrier", (ranks.len() * devices.len()) as u64);
    for &ranks in &ranks {
        for &device in devices {
            let over = args.collective.carrier.oversubscribed(ranks + u32::from(device == Device::Rtl));
            output.push(record(args, device, ranks, &blocks(args, device, ranks)?, over)?);
            progress.step();
        }
    }
    Ok(())
}

impl Device {
    fn name(self) -> &'static str {
        match self {
            Device::Rtl => "rtl",
            Device::Flags => "flags",
        }
    }
}

/// What the benchmark printed: per block, times in microseconds.
struct Blocks {
    inner: u64,
    bare: Vec<f64>,
    device: Vec<f64>,
    clocks: Vec<f64>,
    clock: Vec<f64>,
}

fn blocks(args: &Args, device: Device, ranks: u32) -> Result<Blocks, Failure> {
    let seconds = args.collective.repetition.plan()?.time_us / 1e6;
    let mut command = Command::new(parts::bench()?);
    command.args([device.name(), &ranks.to_string(), &seconds.to_string()]).stderr(Stdio::inherit());
    if device == Device::Rtl {
        command.arg(parts::server(ranks)?);
    }
    let done = command.output().map_err(|error| Failure::Check(format!("measure barrier: {error}")))?;
    let text = String::from_utf8_lossy(&done.stdout);
    if !done.status.success() {
        return Err(Failure::Check(format!("measure barrier --device {}: the benchmark failed", device.name())));
    }
    read(&text).ok_or_else(|| Failure::Check(format!("measure barrier: the benchmark printed `{text}`")))
}

fn read(text: &str) -> Option<Blocks> {
    let mut lines = text.lines();
    let inner = lines.next()?.strip_prefix("count ")?.split(' ').nth(1)?.parse().ok()?;
    let rows = lines.map(|line| line.split(' ').map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>());
    let rows: Vec<Vec<f64>> = rows.collect::<Option<_>>()?;
    if rows.is_empty() || rows.iter().any(|row| row.len() != 4) {
        return None;
    }
    let column = |k: usize, unit: f64| rows.iter().map(|row| row[k] * unit).collect();
    Some(Blocks {
        inner,
        bare: column(0, 1e-3),
        device: column(1, 1e-3),
        clocks: column(2, 1.0),
        clock: column(3, 1e-3),
    })
}

/// The bound of a device and what sets it, both from the same run.
fn bound(device: Device, ranks: u32, bare_us: f64, clock_us: f64) -> (f64, &'static str, &'static str) {
    match device {
        Device::Flags => {
            let steps = f64::from(ranks.next_power_of_two().trailing_zeros());
            let what = "ceil(log2 ranks) barriers of two ranks that store one line and spin on the other's";
            (steps * bare_us, "cache-line hand-off", what)
        }
        Device::Rtl => {
            let (lines, clocks) = (2.0 * bare_us, RTL_CLOCKS * clock_us);
            let limit = if lines > clocks { "cache-line hand-off" } else { "the compiled RTL's clock" };
            (lines + clocks, limit, "a line to the device and one back, and 6 clocks of the compiled RTL")
        }
    }
}

fn record(args: &Args, device: Device, ranks: u32, blocks: &Blocks, over: bool) -> Result<Record, Failure> {
    let least = |values: &[f64]| Summary::of(values).map_or(0.0, |summary| summary.min);
    let samples = Samples { values: blocks.device.clone(), inner: blocks.inner, ..Samples::default() };
    let summary = summary(&samples)?;
    let bare = Summary::of(&blocks.bare).map_or(0.0, |summary| summary.median);
    let (bound_us, limit, bound_is) = bound(device, ranks, least(&blocks.bare), least(&blocks.clock));
    let mut record = Record::new()
        .with("fabric", args.collective.repetition.fabric.as_str())
        .with("benchmark", "barrier")
        .with("method", "measured")
        .with("via", "shm")
        .with("device", device.name())
        .with("ranks", ranks)
        .with("latency_us", summary.median)
        .with("bound_latency_us", bound_us)
        .with("efficiency", bound_us / summary.median)
        .with("limiting_resource", limit)
        .with("bound_is", bound_is)
        .with("bare_us", bare);
    if device == Device::Flags {
        record.set("algorithm", FLAG);
    }
    if device == Device::Rtl {
        let clocks = Summary::of(&blocks.clocks).map_or(0.0, |summary| summary.median);
        record = record.with("clocks_per_barrier", clocks).with("clock_us", least(&blocks.clock));
    }
    record = summary.into(record.with("oversubscribed", over));
    record = record.with("statistic_of", "latency_us").with("inner", blocks.inner);
    Ok(record.with(super::rounds::SAMPLES, blocks.device.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_text_is_read_or_refused() {
        let blocks = read("count 9 7\n100 250 6.5 10\n110 240 6.25 11\n").unwrap();
        assert_eq!((blocks.inner, &blocks.bare[..], &blocks.device[..]), (7, &[0.1, 0.11][..], &[0.25, 0.24][..]));
        assert_eq!((&blocks.clocks[..], &blocks.clock[..]), (&[6.5, 6.25][..], &[0.01, 0.011][..]));
        for wrong in ["", "count 9 7\n", "count 9 7\n1 2 3\n", "count 9 7\n1 2 3 x\n", "1 2 3 4\n"] {
            assert!(read(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn bounds_add_up_what_is_in_the_way() {
        assert_eq!(bound(Device::Flags, 2, 0.2, 0.0).0, 0.2);
        assert_eq!(bound(Device::Flags, 5, 0.2, 0.0).0, 0.2 * 3.0);
        let (rtl_us, limit, _) = bound(Device::Rtl, 2, 0.2, 0.1);
        assert!((rtl_us - 1.0).abs() < 1e-12 && limit == "the compiled RTL's clock");
    }
}
