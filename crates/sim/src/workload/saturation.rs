//! Senders that share a link or a bus: M02's saturation experiments (Figs. 5 to 8, 11, 12).
//!
//! Every pair streams messages without a pause; the aggregate is the sum over pairs in a window after the start-up. Pairs
//! that exchange wait for both directions, as programs that call `MPI_Sendrecv` in a loop do.

use super::{PingPong, Run, ping_pong};
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::{Net, Note};
use crate::plan::Plan;
use hotlink_fabric::units::Time;

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Sender and receiver of each pair.
    pub pairs: Vec<(u32, u32)>,
    /// Message size in bytes.
    pub size: u64,
    /// Messages that each pair keeps under way.
    pub window: u32,
    /// What a program does between the arrival of one of its messages and the next. It has the overheads of both sides'
    /// message passing, beyond what the network takes for an empty message.
    pub pause: Time,
    /// Messages of the slowest pair in the measured window, about.
    pub messages: u64,
}

/// The pause that makes an empty message take `mpi_latency` between the nodes of the first pair: what message passing
/// adds to the network. None where the fabric does not state that latency.
///
/// # Errors
/// See [`Net::advance`].
pub fn message_passing_pause(plan: &Plan<'_>, settings: &Settings, pairs: &[(u32, u32)]) -> Result<Time, SimError> {
    let (Some(latency), Some(&(from, to))) = (plan.fabric.spec.parameters.get("mpi_latency"), pairs.first()) else {
        return Ok(Time::ZERO);
    };
    let idle = ping_pong(plan, settings, PingPong { between: [from, to], size: 0, messages: 1 })?;
    Ok(Time((latency.value.round() as u64).saturating_sub(idle.elapsed.0)))
}

/// Runs the stream; the measured part starts when every pair has delivered a tenth of its messages.
///
/// # Errors
/// See [`Net::advance`].
pub fn saturate(plan: &Plan<'_>, settings: &Settings, what: &Stream) -> Result<Run, SimError> {
    let mut net = Net::new(plan, settings);
    for (pair, &(from, to)) in what.pairs.iter().enumerate() {
        for _ in 0..what.window.max(1) {
            net.post(from, to, what.size, pair as u64)?;
        }
    }
    let (warm, all) = (what.messages / 10 + 1, what.messages + what.messages / 10 + 1);
    let total = all * what.pairs.len() as u64;
    net.expect(total * what.size);
    let (mut delivered, mut start) = (0u64, None);
    while let Some(note) = net.advance()? {
        let message = match note {
            Note::Delivered(message) => message,
            Note::Timer(pair) => {
                let (from, to) = what.pairs[pair as usize];
                net.post(from, to, what.size, u64::from(pair))?;
                continue;
            }
        };
        delivered += 1;
        if delivered == warm * what.pairs.len() as u64 {
            start = Some((net.now(), net.stats().delivered_bytes));
        }
        if delivered >= total {
            break;
        }
        match what.pause {
            Time::ZERO => _ = net.post(message.from, message.to, what.size, message.tag)?,
            pause => net.timer(net.now() + pause, message.tag as u32),
        }
    }
    let (begun, before) = start.unwrap_or((Time::ZERO, 0));
    Ok(Run::of(&net, net.now() - begun, net.stats().delivered_bytes - before))
}

/// Lets every pair exchange messages of `size` bytes `times` times: its next exchange begins when both messages of the last
/// have arrived. A pair that is done leaves its share of the network to the others. Returns the mean of the pairs' own rates
/// too, in MB/s each way.
///
/// # Errors
/// See [`Net::advance`].
pub fn exchanges(
    plan: &Plan<'_>,
    settings: &Settings,
    pairs: &[(u32, u32)],
    size: u64,
    times: u64,
) -> Result<(Run, f64), SimError> {
    let mut net = Net::new(plan, settings);
    net.expect(2 * times * size * pairs.len() as u64);
    let exchange = |net: &mut Net<'_>, pair: usize| {
        let (a, b) = pairs[pair];
        net.post(a, b, size, pair as u64)?;
        net.post(b, a, size, pair as u64).map(drop)
    };
    for pair in 0..pairs.len() {
        exchange(&mut net, pair)?;
    }
    let (mut arrived, mut rates) = (vec![0u64; pairs.len()], 0.0);
    while let Some(note) = net.advance()? {
        let Some(message) = note.message() else { continue };
        let pair = message.tag as usize;
        arrived[pair] += 1;
        if arrived[pair] == 2 * times {
            rates += (size * times) as f64 / net.now().us();
        } else if arrived[pair] % 2 == 0 {
            exchange(&mut net, pair)?;
        }
    }
    let run = Run::of(&net, net.now(), net.stats().delivered_bytes);
    Ok((run, rates / pairs.len().max(1) as f64))
}
