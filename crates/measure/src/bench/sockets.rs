//! `sockets`: the operating system's own TCP and UDP, without any message passing above.

use crate::alike;
use crate::clock::timer;
use crate::pass::Pass;
use crate::request::{self as asked, Nagle, Protocol, Test};
use crate::session::{Session, failure, summary};
use crate::wire::interface_mbps;
use hotlink_bench::{MemoryCopy, MemoryPoint, Plan, Record, Samples};
use hotlink_bound::{Bound, local};
use hotlink_real::{DATAGRAM_MAX, DATAGRAM_MIN, SocketOptions, Sockets, WARMUP, interface_of};
use hotlink_study::Error;
use hotlink_study::values::Size;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// One point.
#[derive(Clone, Copy)]
struct Point {
    options: SocketOptions,
    test: Test,
    size: u64,
}

pub(crate) fn run(asked: &asked::Sockets, pass: &mut Pass<'_>) -> Result<(), Error> {
    let (session, hosts) = (pass.session, &pass.session.request.hosts);
    session.without_buffers()?;
    if let Some(address) = &hosts.connect {
        return hotlink_real::serve(address, &alike::told(session.request))
            .map_err(|error| Error::Input(format!("--connect {address}: {error}")));
    }
    let points = points(asked)?;
    let mut sockets = match &hosts.listen {
        Some(address) => Sockets::listen(address, |other| alike::objection(session.request, other))
            .map_err(|error| Error::Input(format!("--listen {address}: {error}")))?,
        None => Sockets::local().map_err(failed)?,
    };
    let bound = bound(asked, session, &sockets)?;
    pass.expect(points.len());
    for point in &points {
        let record = match point.test {
            Test::Latency => latency(session, &mut sockets, point, &bound)?,
            Test::Bandwidth => bandwidth(asked, session, &mut sockets, point, &bound)?,
        };
        pass.push(record);
        pass.step();
    }
    Ok(())
}

fn failed(error: io::Error) -> Error {
    Error::Check(format!("measure sockets: {error}"))
}

fn points(asked: &asked::Sockets) -> Result<Vec<Point>, Error> {
    if asked.sizes.contains(&0) || asked.sizes.iter().any(|&size| size > 1 << 30) {
        return Err(Error::Input(format!("--size {}: must be 1 B to 1 GiB", listed(&asked.sizes))));
    }
    if let Some(buffer) = asked.buffers.iter().find(|&&buffer| buffer > 1 << 30) {
        return Err(Error::Input(format!("--socket-buffer {buffer}: must be 0 to 1 GiB")));
    }
    let mut points = Vec::new();
    for &protocol in &asked.protocols {
        let datagram = protocol == Protocol::Datagram;
        let nagles = if datagram { &[Nagle::Off][..] } else { &asked.nagle[..] };
        for &test in &asked.tests {
            for &nagle in nagles {
                for &buffer in asked.buffers.iter() {
                    let buffer = (buffer > 0).then_some(buffer);
                    let writes = if datagram { 1 } else { asked.writes };
                    let options = SocketOptions { datagram, nagle: nagle == Nagle::On, buffer, writes };
                    let fits = |size: u64| !datagram || (DATAGRAM_MIN..=DATAGRAM_MAX).contains(&size);
                    let sizes = asked.sizes.iter().copied().filter(|&size| fits(size));
                    points.extend(sizes.map(|size| Point { options, test, size }));
                }
            }
        }
    }
    if points.is_empty() {
        return Err(Error::Input(format!("--size {}: a datagram has 8 to 65507 B", listed(&asked.sizes))));
    }
    Ok(points)
}

fn listed(sizes: &[u64]) -> String {
    sizes.iter().map(|&size| Size(size).to_string()).collect::<Vec<_>>().join(",")
}

/// Between hosts the line's rate; within one, the kernel's two copies of each byte.
fn bound(asked: &asked::Sockets, session: &Session<'_>, sockets: &Sockets) -> Result<Bound, Error> {
    let interface = interface_of(sockets.address().map_err(failed)?);
    let is_local = interface.as_deref() == Some("lo");
    if let Some(mbps) = asked.line_rate {
        return Ok(local::line(Some(mbps), "line".to_owned(), "the line's rate, as given by --line-rate"));
    }
    if !is_local {
        let mbps = interface.as_ref().and_then(|name| interface_mbps(&Path::new("/sys/class/net").join(name)));
        let resource = interface.map_or("line".to_owned(), |name| format!("interface {name}"));
        let is = match mbps.is_some() {
            true => "the rate that the interface says it has",
            false => "none: the interface tells no rate; --line-rate gives it",
        };
        return Ok(local::line(mbps, resource, is));
    }
    let hand_off = hotlink_real::hand_off(&session.limits()).map_err(failure)?;
    let latency_us = summary(&Samples { values: hand_off, ..Samples::default() })?.min;
    let point = MemoryPoint { size: 64 << 10, stride: 1 };
    let copy = MemoryCopy { points: vec![point], private: true, plan: session.bound_plan() };
    let copies: Vec<Vec<Samples>> = session.on_shm(1, &copy)?;
    Ok(local::sockets(latency_us, summary(&copies[0][0])?.max))
}

fn head(session: &Session<'_>, point: &Point, bound: &Bound) -> Record {
    let options = &point.options;
    let protocol = if options.datagram { "datagram" } else { "stream" };
    session
        .bare_record()
        .with("via", if options.datagram { "udp" } else { "tcp" })
        .with("protocol", protocol)
        .with("test", if point.test == Test::Latency { "latency" } else { "bandwidth" })
        .with("nagle", if options.datagram { None } else { Some(options.nagle) })
        .with("writes", options.writes)
        .with("socket_buffer_B", options.buffer)
        .with("ranks", 2)
        .with("size_B", point.size)
        .explained(bound)
}

fn latency(session: &Session<'_>, sockets: &mut Sockets, point: &Point, bound: &Bound) -> Result<Record, Error> {
    let plan: Plan = session.plan();
    let start = Instant::now();
    let enough = |samples: &[f64]| {
        // Looking is not free: not after each sample.
        let looks = samples.len().is_power_of_two() || samples.len().is_multiple_of(50);
        looks && plan.is_enough(samples.len(), start.elapsed().as_secs_f64() * 1e6)
    };
    let pings = sockets.ping(point.options, point.size, enough).map_err(failed)?;
    let lost = pings.lost as f64 / (pings.lost + pings.times_us.len() as u64).max(1) as f64;
    if pings.times_us.is_empty() {
        return Err(Error::Check(format!("measure sockets: all of {} datagrams were lost", pings.lost)));
    }
    let samples = Samples { values: pings.times_us, inner: 1, warmup: WARMUP, timer: timer() };
    let median = summary(&samples)?.median;
    let bound = local::sent(bound, point.size);
    let record = head(session, point, &bound)
        .with("latency_us", median)
        .bounded("bound_latency_us", bound.latency_us, bound.share_of_time(median))
        .with("lost_share", point.options.datagram.then_some(lost))
        .with("send_buffer_B", pings.buffers.send)
        .with("receive_buffer_B", pings.buffers.receive);
    session.finish(record, &samples, "latency_us")
}

fn bandwidth(
    asked: &asked::Sockets,
    session: &Session<'_>,
    sockets: &mut Sockets,
    point: &Point,
    bound: &Bound,
) -> Result<Record, Error> {
    let time = Duration::from_secs_f64(session.plan().time_us.max(LEAST_US) * 1e-6);
    let flood = sockets.flood(point.options, point.size, time, asked.pace).map_err(failed)?;
    if flood.mbps.is_empty() {
        let what = format!("{} of {} messages arrived", flood.received, flood.sent);
        return Err(Error::Check(format!("measure sockets: {what}: too few for a rate; --time gives it longer")));
    }
    let samples = Samples { values: flood.mbps, inner: 1, warmup: 0, timer: timer() };
    let median = summary(&samples)?.median;
    let lost = 1.0 - flood.received as f64 / flood.sent.max(1) as f64;
    let record = head(session, point, bound)
        .with("bandwidth_MBps", median)
        .bounded("bound_bandwidth_MBps", bound.mbps, bound.share_of_rate(median))
        .with("messages_sent", flood.sent)
        .with("messages_received", flood.received)
        .with("lost_share", point.options.datagram.then_some(lost))
        .with("pace_MBps", asked.pace)
        .with("send_buffer_B", flood.buffers.send)
        .with("receive_buffer_B", flood.buffers.receive);
    Ok(session.finish(record, &samples, "bandwidth_MBps")?.with("warmup", "first tenth of the time"))
}

/// Shortest flood: ten intervals of the receiver's clock.
const LEAST_US: f64 = 200_000.0;
