//! Two nodes, and one message back and forth.

use super::Run;
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::{Net, Note};
use crate::plan::Plan;

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingPong {
    /// The two nodes.
    pub between: [u32; 2],
    /// Message size in bytes.
    pub size: u64,
    /// Messages in all, both ways.
    pub messages: u64,
}

/// Runs a ping-pong; the latency is the elapsed time over the messages (half a round trip).
///
/// # Errors
/// See [`Net::advance`].
pub fn ping_pong(plan: &Plan<'_>, settings: &Settings, what: PingPong) -> Result<Run, SimError> {
    let mut net = Net::new(plan, settings);
    net.expect(what.messages.max(1) * what.size);
    let [a, b] = what.between;
    let mut left = what.messages.max(1) - 1;
    net.post(a, b, what.size, 0)?;
    let mut end = net.now();
    while let Some(note) = net.advance()? {
        let Note::Delivered(message) = note else { continue };
        end = net.now();
        if left > 0 {
            left -= 1;
            net.post(message.to, message.from, what.size, 0)?;
        }
    }
    let bytes = net.stats().delivered_bytes;
    Ok(Run::of(&net, end, bytes))
}
