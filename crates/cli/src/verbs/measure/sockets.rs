//! `hotlink measure sockets`: the operating system's own TCP and UDP, without any message passing above.

use super::{Hosts, Repetition, clock::timer, summary, wire::interface_mbps};
use crate::values::Sizes;
use crate::{Failure, output::Output};
use hotlink_bench::{MemoryCopy, MemoryPoint, Plan, Record, Samples};
use hotlink_real::{DATAGRAM_MAX, DATAGRAM_MIN, SocketOptions, Sockets, WARMUP, interface_of};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink measure sockets --protocol stream,datagram --size 8,1400
  hotlink measure sockets --listen 10.0.0.1:7000 --json      # on one host; prints
  hotlink measure sockets --connect 10.0.0.1:7000            # on the other
  hotlink measure sockets --test latency --nagle on,off --writes 2    # what Nagle and delayed acknowledgement cost")]
pub(super) struct Args {
    /// Streams (TCP) or datagrams (UDP).
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Protocol::Stream, Protocol::Datagram])]
    protocol: Vec<Protocol>,
    /// What is measured.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Test::Latency, Test::Bandwidth])]
    test: Vec<Test>,
    /// Message sizes: a list or range; those from 8 to 65507 as datagrams, too.
    #[arg(long, value_name = "LIST", default_value = "8,1400,64KiB")]
    size: Sizes,
    /// Nagle's algorithm in streams.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Nagle::Off])]
    nagle: Vec<Nagle>,
    /// Bytes asked for as send and receive buffers; 0: the system's own choice.
    #[arg(long, value_name = "LIST", default_value = "0")]
    socket_buffer: Sizes,
    /// A message of a stream is written in so many calls.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    writes: u64,
    /// Send datagrams at this many MB/s, not as fast as they go.
    #[arg(long, value_name = "MB/s", value_parser = positive)]
    pace: Option<f64>,
    /// The line's rate in MB/s, as the bound; by default what the interface says of itself.
    #[arg(long, value_name = "MB/s", value_parser = positive)]
    line_rate: Option<f64>,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

fn positive(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=1e6).contains(rate));
    rate.ok_or_else(|| "allowed are MB/s from 0.001 to 1000000".to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Protocol {
    /// TCP.
    Stream,
    /// UDP.
    Datagram,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Test {
    /// Half round trips.
    Latency,
    /// As fast as it goes, one way.
    Bandwidth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Nagle {
    /// Short segments are held back.
    On,
    /// TCP_NODELAY.
    Off,
}

/// One point.
#[derive(Clone, Copy)]
struct Point {
    options: SocketOptions,
    test: Test,
    size: u64,
}

/// What no message can beat; no rate where nothing tells it.
struct Bound {
    latency_us: f64,
    mbps: Option<f64>,
    resource: String,
    is: &'static str,
}

impl Bound {
    fn us(&self, size: u64) -> Option<f64> {
        Some(self.latency_us + size as f64 / self.mbps?)
    }
}

pub(super) fn run(args: &Args, hosts: &Hosts, output: &mut Output) -> Result<(), Failure> {
    args.repetition.without_buffers("sockets")?;
    if let Some(address) = &hosts.connect {
        output.mute();
        return hotlink_real::serve(address).map_err(|error| Failure::Input(format!("--connect {address}: {error}")));
    }
    let points = points(args)?;
    let mut sockets = match &hosts.listen {
        Some(address) => Sockets::listen(address).map_err(|e| Failure::Input(format!("--listen {address}: {e}")))?,
        None => Sockets::local().map_err(failed)?,
    };
    let bound = bound(args, &sockets)?;
    let progress = output.progress("measure sockets", points.len() as u64);
    for point in &points {
        let record = match point.test {
            Test::Latency => latency(args, &mut sockets, point, &bound)?,
            Test::Bandwidth => bandwidth(args, &mut sockets, point, &bound)?,
        };
        output.push(record);
        progress.step();
    }
    Ok(())
}

fn failed(error: io::Error) -> Failure {
    Failure::Check(format!("measure sockets: {error}"))
}

fn points(args: &Args) -> Result<Vec<Point>, Failure> {
    if args.size.contains(&0) || args.size.iter().any(|&size| size > 1 << 30) {
        return Err(Failure::Input(format!("--size {}: allowed are 1 B to 1 GiB", args.size)));
    }
    if let Some(buffer) = args.socket_buffer.iter().find(|&&buffer| buffer > 1 << 30) {
        return Err(Failure::Input(format!("--socket-buffer {buffer}: allowed are 0 to 1 GiB")));
    }
    let mut points = Vec::new();
    for &protocol in &args.protocol {
        let datagram = protocol == Protocol::Datagram;
        let nagles = if datagram { &[Nagle::Off][..] } else { &args.nagle[..] };
        for &test in &args.test {
            for &nagle in nagles {
                for &buffer in args.socket_buffer.iter() {
                    let buffer = (buffer > 0).then_some(buffer);
                    let writes = if datagram { 1 } else { args.writes };
                    let options = SocketOptions { datagram, nagle: nagle == Nagle::On, buffer, writes };
                    let fits = |size: u64| !datagram || (DATAGRAM_MIN..=DATAGRAM_MAX).contains(&size);
                    let sizes = args.size.iter().copied().filter(|&size| fits(size));
                    points.extend(sizes.map(|size| Point { options, test, size }));
                }
            }
        }
    }
    if points.is_empty() {
        return Err(Failure::Input(format!("--size {}: a datagram has 8 to 65507 B", args.size)));
    }
    Ok(points)
}

/// Between hosts the line's rate; within one, the kernel's two copies of each byte.
fn bound(args: &Args, sockets: &Sockets) -> Result<Bound, Failure> {
    let interface = interface_of(sockets.address().map_err(failed)?);
    let is_local = interface.as_deref() == Some("lo");
    if let Some(mbps) = args.line_rate {
        let (resource, is) = ("line".to_owned(), "the line's rate, as told by --line-rate");
        return Ok(Bound { latency_us: 0.0, mbps: Some(mbps), resource, is });
    }
    if !is_local {
        let mbps = interface.as_ref().and_then(|name| interface_mbps(&Path::new("/sys/class/net").join(name)));
        let resource = interface.map_or("line".to_owned(), |name| format!("interface {name}"));
        let is = match mbps.is_some() {
            true => "the rate that the interface says it has",
            false => "none: the interface tells no rate; --line-rate gives it",
        };
        return Ok(Bound { latency_us: 0.0, mbps, resource, is });
    }
    let hand_off = hotlink_real::hand_off(&super::limits()).map_err(super::failure)?;
    let latency_us = summary(&Samples { values: hand_off, ..Samples::default() })?.min;
    let point = MemoryPoint { size: 64 << 10, stride: 1 };
    let copy = MemoryCopy { points: vec![point], private: true, plan: args.repetition.bound_plan()? };
    let copies: Vec<Vec<Samples>> = super::carrier::on_shm(1, &copy)?;
    let mbps = Some(summary(&copies[0][0])?.max);
    let is = "a cache line's hand-off between cores; each byte copied in and out, each by a core of its own";
    Ok(Bound { latency_us, mbps, resource: "kernel's copies".to_owned(), is })
}

fn head(args: &Args, point: &Point, bound: &Bound) -> Record {
    let options = &point.options;
    let protocol = if options.datagram { "datagram" } else { "stream" };
    Record::new()
        .with("fabric", args.repetition.fabric.as_str())
        .with("benchmark", "sockets")
        .with("method", "measured")
        .with("via", if options.datagram { "udp" } else { "tcp" })
        .with("protocol", protocol)
        .with("test", if point.test == Test::Latency { "latency" } else { "bandwidth" })
        .with("nagle", if options.datagram { None } else { Some(options.nagle) })
        .with("writes", options.writes)
        .with("socket_buffer_B", options.buffer)
        .with("ranks", 2)
        .with("size_B", point.size)
        .with("limiting_resource", bound.resource.as_str())
        .with("bound_is", bound.is)
}

fn latency(args: &Args, sockets: &mut Sockets, point: &Point, bound: &Bound) -> Result<Record, Failure> {
    let plan: Plan = args.repetition.plan()?;
    let start = Instant::now();
    let enough = |samples: &[f64]| {
        // Looking is not free: not after each sample.
        let looks = samples.len().is_power_of_two() || samples.len().is_multiple_of(50);
        looks && plan.is_enough(samples.len(), start.elapsed().as_secs_f64() * 1e6)
    };
    let pings = sockets.ping(point.options, point.size, enough).map_err(failed)?;
    let lost = pings.lost as f64 / (pings.lost + pings.times_us.len() as u64).max(1) as f64;
    if pings.times_us.is_empty() {
        return Err(Failure::Check(format!("measure sockets: all of {} datagrams were lost", pings.lost)));
    }
    let samples = Samples { values: pings.times_us, inner: 1, warmup: WARMUP, timer: timer() };
    let median = summary(&samples)?.median;
    let bound_us = bound.us(point.size);
    let record = head(args, point, bound)
        .with("latency_us", median)
        .with("bound_latency_us", bound_us)
        .with("efficiency", bound_us.map(|bound| bound / median))
        .with("lost_share", point.options.datagram.then_some(lost))
        .with("send_buffer_B", pings.buffers.send)
        .with("receive_buffer_B", pings.buffers.receive);
    args.repetition.finish(record, &samples, "latency_us")
}

fn bandwidth(args: &Args, sockets: &mut Sockets, point: &Point, bound: &Bound) -> Result<Record, Failure> {
    let time = Duration::from_secs_f64(args.repetition.plan()?.time_us.max(LEAST_US) * 1e-6);
    let flood = sockets.flood(point.options, point.size, time, args.pace).map_err(failed)?;
    if flood.mbps.is_empty() {
        let what = format!("{} of {} messages arrived", flood.received, flood.sent);
        return Err(Failure::Check(format!("measure sockets: {what}: too few for a rate; --time gives it longer")));
    }
    let samples = Samples { values: flood.mbps, inner: 1, warmup: 0, timer: timer() };
    let median = summary(&samples)?.median;
    let lost = 1.0 - flood.received as f64 / flood.sent.max(1) as f64;
    let record = head(args, point, bound)
        .with("bandwidth_MBps", median)
        .with("bound_bandwidth_MBps", bound.mbps)
        .with("efficiency", bound.mbps.map(|mbps| median / mbps))
        .with("messages_sent", flood.sent)
        .with("messages_received", flood.received)
        .with("lost_share", point.options.datagram.then_some(lost))
        .with("pace_MBps", args.pace)
        .with("send_buffer_B", flood.buffers.send)
        .with("receive_buffer_B", flood.buffers.receive);
    Ok(args.repetition.finish(record, &samples, "bandwidth_MBps")?.with("warmup", "first tenth of the time"))
}

/// Shortest flood: ten intervals of the receiver's clock.
const LEAST_US: f64 = 200_000.0;
