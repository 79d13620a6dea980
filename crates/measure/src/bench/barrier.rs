//! `barrier`: hotlink's own messages (collective.rs), or with `--device` the barrier devices of
//! `plugins/barrier/hotlink_barrier.h`: flags in shared memory, and the compiled RTL behind shared pins. The RTL is measured
//! twice: by itself, each rank a node, and as the barrier of the messages, composed with flags within nodes.

use super::collective;
use crate::native::device as parts;
use crate::pass::Pass;
use crate::request::{self as asked, Device, Via};
use crate::session::{SAMPLES, Session, launched, summary};
use hotlink_bench::{Collected, Collective, Record, Samples, Summary, Which};
use hotlink_bound::local::{self, DEVICE_CLOCKS};
use hotlink_message::Algorithm;
use hotlink_real::{BarrierDevice, NoDoors, Via as Port};
use hotlink_study::Error;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The name of [`Device::Flags`] among the algorithms: it, too, is a way without a device.
const FLAG: &str = "flag";

/// An arrival falls between two clock edges: this many clocks more in the mean.
const MEAN_PHASE: f64 = 0.5;
/// More ranks have no flags between them in the messages' barrier.
const MOST_COMPOSED: u32 = 16;

pub(crate) fn run(asked: &asked::Barrier, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    let (flags, messages): (Vec<&String>, Vec<&String>) =
        asked.collective.algorithms.iter().partition(|name| *name == FLAG);
    let algorithms = collective::algorithms(session, Which::Barrier, messages.iter().copied()).map_err(also_flag)?;
    let mut devices = asked.devices.clone();
    devices.extend((!flags.is_empty() && !devices.contains(&Device::Flags)).then_some(Device::Flags));
    if devices.is_empty() || !messages.is_empty() {
        collective::by(Which::Barrier, &asked.collective, &algorithms, pass)?;
    }
    on_devices(asked, &devices, pass)
}

fn also_flag(failure: Error) -> Error {
    match failure {
        Error::Input(what) => Error::Input(format!("{what}; also {FLAG}, which is --device flags")),
        other => other,
    }
}

fn on_devices(asked: &asked::Barrier, devices: &[Device], pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    if !devices.is_empty() && session.request.carrier.via != Via::Own(Port::Shm) {
        let via = session.via();
        return Err(Error::Input(format!("--device with --via {via}: devices are reached by --via shm")));
    }
    if devices.is_empty() {
        return Ok(());
    }
    let ranks = collective::ranks(&asked.collective, session)?;
    for (device, least, most) in [(Device::Rtl, 1, parts::MOST_PORTS), (Device::Flags, 2, 256)] {
        let wrong = ranks.iter().find(|&&ranks| devices.contains(&device) && !(least..=most).contains(&ranks));
        if let Some(ranks) = wrong {
            let what = format!("--ranks {ranks} with --device {}: must be {least} to {most}", device.name());
            return Err(Error::Input(what));
        }
    }
    pass.expect(ranks.len() * devices.len());
    for &ranks in &ranks {
        for &device in devices {
            let over = session.oversubscribed(ranks + u32::from(device == Device::Rtl));
            let blocks = blocks(session, device, ranks)?;
            pass.push(record(session, device, ranks, &blocks, over)?);
            pass.step();
            if device == Device::Rtl && ranks <= MOST_COMPOSED {
                pass.push(composed(asked, session, ranks, &blocks, over)?);
            }
        }
    }
    Ok(())
}

/// The benchmark's output: per block, times in microseconds.
struct Blocks {
    inner: u64,
    bare: Vec<f64>,
    device: Vec<f64>,
    clocks: Vec<f64>,
    clock: Vec<f64>,
    write: Vec<f64>,
    read: Vec<f64>,
    /// A daemon's that was running; else the device is the benchmark's own.
    by_daemon: bool,
}

fn blocks(session: &Session<'_>, device: Device, ranks: u32) -> Result<Blocks, Error> {
    let seconds = session.plan().time_us / 1e6;
    let mut command = Command::new(parts::BENCH.make(session.face)?);
    command.args([device.name(), &ranks.to_string(), &seconds.to_string()]).stderr(Stdio::inherit());
    if device == Device::Rtl {
        command.arg(parts::server(ranks, session.face)?);
    }
    let done = command.output().map_err(|error| Error::Check(format!("measure barrier: {error}")))?;
    let text = String::from_utf8_lossy(&done.stdout);
    if !done.status.success() {
        return Err(Error::Check(format!("measure barrier --device {}: the benchmark failed", device.name())));
    }
    read(&text).ok_or_else(|| Error::Check(format!("measure barrier: the benchmark printed `{text}`")))
}

fn read(text: &str) -> Option<Blocks> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next()?.strip_prefix("count ")?.split(' ').collect();
    let [_, inner, whose] = head[..] else { return None };
    let inner = inner.parse().ok()?;
    let rows = lines.map(|line| line.split(' ').map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>());
    let rows: Vec<Vec<f64>> = rows.collect::<Option<_>>()?;
    if rows.is_empty() || rows.iter().any(|row| row.len() != 6) {
        return None;
    }
    let column = |k: usize, unit: f64| rows.iter().map(|row| row[k] * unit).collect();
    Some(Blocks {
        inner,
        bare: column(0, 1e-3),
        device: column(1, 1e-3),
        clocks: column(2, 1.0),
        clock: column(3, 1e-3),
        write: column(4, 1e-3),
        read: column(5, 1e-3),
        by_daemon: whose == "daemon",
    })
}

fn record(session: &Session<'_>, device: Device, ranks: u32, blocks: &Blocks, over: bool) -> Result<Record, Error> {
    let least = |values: &[f64]| Summary::of(values).map_or(0.0, |summary| summary.min);
    let samples = Samples { values: blocks.device.clone(), inner: blocks.inner, ..Samples::default() };
    let summary = summary(&samples)?;
    let bare = Summary::of(&blocks.bare).map_or(0.0, |summary| summary.median);
    let bound = match device {
        Device::Flags => local::flags(ranks, least(&blocks.bare)),
        Device::Rtl => local::device(least(&blocks.bare), least(&blocks.clock)),
    };
    let mut record = session
        .bare_record()
        .with("via", "shm")
        .with("device", device.name())
        .with("ranks", ranks)
        .with("latency_us", summary.median)
        .beside_time(&bound, summary.median)
        .with("bare_us", bare);
    if device == Device::Flags {
        record.set("algorithm", FLAG);
    }
    if device == Device::Rtl {
        let median = |values: &[f64]| Summary::of(values).map_or(0.0, |summary| summary.median);
        record = record.with("clocks_per_barrier", median(&blocks.clocks)).with("clock_us", least(&blocks.clock));
        // H06 slide 22: each part measured by itself, and their sum next to the whole.
        let (write, read) = (median(&blocks.write), median(&blocks.read));
        let process = (DEVICE_CLOCKS + MEAN_PHASE) * median(&blocks.clock);
        record = record.with("write_us", write).with("process_us", process).with("read_us", read);
        let sum = write + process + read;
        record = record.with("sum_us", sum).with("sum_over_latency", sum / summary.median);
        record = record.with("served_by", if blocks.by_daemon { "daemon" } else { "benchmark" });
    }
    record = summary.into(record.with("oversubscribed", over));
    record = record.with("statistic_of", "latency_us").with("inner", blocks.inner);
    Ok(record.with(SAMPLES, blocks.device.clone()))
}

/// The barrier of this project's own messages: flags within a node, the device between nodes.
fn composed(
    asked: &asked::Barrier,
    session: &Session<'_>,
    ranks: u32,
    blocks: &Blocks,
    over: bool,
) -> Result<Record, Error> {
    let (device, daemon) = doors(session, ranks)?;
    let each = device.ranks_per_node();
    let asked::Collective { start, background, .. } = asked.collective;
    let bench = Collective { which: Which::Barrier, size: 0, private: false, start, background, plan: session.plan() };
    session.device.replace(Some(Arc::new(device)));
    let results: Result<Vec<Collected>, Error> = session.run(ranks, &bench);
    session.device.replace(None);
    drop(daemon);
    let least = |values: &[f64]| Summary::of(values).map_or(0.0, |summary| summary.min);
    let bound = local::device(least(&blocks.bare), least(&blocks.clock));
    let record = collective::record(&bench, session, &results?, collective::Rates::default(), over)?;
    let latency_us = record.number("latency_us").unwrap_or(f64::INFINITY);
    Ok(record
        .with("device", Device::Rtl.name())
        .with("algorithm", Algorithm::Hardware.name())
        .with("nodes", ranks.div_ceil(each))
        .with("ranks_per_node", each)
        .beside_time(&bound, latency_us))
}

/// A daemon of this process's own, killed when it is not needed any more.
struct Daemon(Child, PathBuf);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_file(&self.1);
    }
}

/// The doors for `ranks` ranks: at the daemon that runs, else at one of our own, which lives as long as they.
fn doors(session: &Session<'_>, ranks: u32) -> Result<(BarrierDevice, Option<Daemon>), Error> {
    if launched()?.is_some() {
        let what = "--device rtl: ranks that a launcher started have no device between them; start one process";
        return Err(Error::Input(what.to_owned()));
    }
    let library = parts::DOORS.make(session.face)?;
    let told = |what: NoDoors| Error::Check(format!("measure barrier --device rtl: {what}"));
    match BarrierDevice::open(&library, None, ranks) {
        Err(NoDoors::Daemon(_)) => {}
        opened => return Ok((opened.map_err(told)?, None)),
    }
    let mut daemon = serve(session, ranks)?;
    let path = daemon.1.display().to_string();
    for _ in 0..STARTS {
        match BarrierDevice::open(&library, Some(&path), ranks) {
            Err(NoDoors::Daemon(_)) if matches!(daemon.0.try_wait(), Ok(None)) => std::thread::sleep(START),
            opened => return Ok((opened.map_err(told)?, Some(daemon))),
        }
    }
    Err(Error::Check("measure barrier --device rtl: its daemon does not answer".to_owned()))
}

/// How often, and how long between, a daemon that was just started is asked.
const STARTS: u32 = 3000;
const START: Duration = Duration::from_millis(10);

fn serve(session: &Session<'_>, nodes: u32) -> Result<Daemon, Error> {
    let path = std::env::temp_dir().join(format!("hotlink-measure-{}", std::process::id()));
    let mut command = Command::new(parts::server(nodes, session.face)?);
    command.args(["--quiet", "1", "--nodes", &nodes.to_string(), "--socket"]).arg(&path);
    // Where this process is killed, it ends some day.
    command.args(["--seconds", &format!("{:.0}", session.plan().time_us / 1e6 * 4.0 + 600.0)]);
    let child = command.stdout(Stdio::null()).spawn();
    Ok(Daemon(child.map_err(|error| Error::Check(format!("measure barrier: {error}")))?, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_text_is_read_or_refused() {
        let blocks = read("count 9 7 own\n100 250 6.5 10 80 60\n110 240 6.25 11 82 62\n").unwrap();
        assert_eq!((blocks.inner, &blocks.bare[..], &blocks.device[..]), (7, &[0.1, 0.11][..], &[0.25, 0.24][..]));
        assert_eq!((&blocks.clocks[..], &blocks.clock[..]), (&[6.5, 6.25][..], &[0.01, 0.011][..]));
        assert_eq!((&blocks.write[..], &blocks.read[..]), (&[0.08, 0.082][..], &[0.06, 0.062][..]));
        assert!(!blocks.by_daemon && read("count 9 7 daemon\n1 2 3 4 5 6\n").is_some_and(|blocks| blocks.by_daemon));
        for wrong in
            ["", "count 9 7\n1 2 3 4 5 6\n", "count 9 7 own\n1 2 3\n", "count 9 7 own\n1 2 3 4 5 x\n", "1 2 3 4 5 6\n"]
        {
            assert!(read(wrong).is_none(), "{wrong:?}");
        }
    }
}
