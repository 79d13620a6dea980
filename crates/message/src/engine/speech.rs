//! Control messages to other ranks: posted at once, or kept in order until the port has room.
//!
//! A request is over only when all messages are sent that another rank's request needs from it. So a program may end,
//! and poll no more, as soon as its requests are over: no rank waits for an unsent message.

use super::{Engine, refused};
use crate::wire::{Kind, Place, Words};
use crate::{Error, Status};
use hotlink_port::{Op, Payload, Port, Posted, Rank, Span};

/// The payload of a control message.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum Carried {
    Nothing,
    Span(Span),
    Place(Place),
}

/// No request: nothing depends on whether the message can be said.
pub(crate) const NOBODY: u64 = u64::MAX;

/// A control message to be said, now or when the port has room.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Saying {
    pub(crate) to: Rank,
    pub(crate) words: Words,
    pub(crate) payload: Carried,
    /// This rank's request that fails if it cannot be posted...
    pub(crate) request: u64,
    /// ... and is over when it is; of a message in halves, this side's half.
    pub(crate) ends: bool,
}

impl<P: Port> Engine<P> {
    /// Whether messages to a rank already wait for room.
    #[inline]
    pub(crate) fn is_blocked(&self, to: Rank) -> bool {
        !self.waiting.is_empty() && self.waiting.iter().any(|message| message.to == to)
    }
    /// Posts a control message, or keeps it until there is room; messages to a rank stay in order.
    pub(crate) fn say(&mut self, message: Saying) -> Result<(), Error> {
        if self.is_blocked(message.to) || !self.try_say(&message)? {
            self.waiting.push_back(message);
        }
        Ok(())
    }
    /// The same for a request that has begun: it fails if the message cannot be said.
    pub(super) fn say_for(&mut self, message: Saying) {
        let begun = message.clone();
        if let Err(error) = self.say(message) {
            self.fail_to_say(&begun, error);
        }
    }
    #[inline]
    pub(super) fn try_say(&mut self, message: &Saying) -> Result<bool, Error> {
        let place;
        let payload = match &message.payload {
            Carried::Nothing => Payload::None,
            Carried::Span(span) => Payload::Span(*span),
            Carried::Place(named) => {
                place = named.bytes(self.short_places);
                Payload::Bytes(&place.0[..place.1])
            }
        };
        match self.port.post(&Op::Control { to: message.to, head: message.words.head(), payload }) {
            Posted::Accepted => {
                if message.ends {
                    self.said(message);
                }
                Ok(true)
            }
            Posted::Busy => Ok(false),
            Posted::Refused(refusal) => Err(refused(refusal)),
        }
    }
    /// The message that ends a request has been sent.
    fn said(&mut self, message: &Saying) {
        if self.is_in_halves(message.request) {
            return self.own_half_said(message.request);
        }
        let status = Status { from: message.to, tag: message.words.tag, bytes: message.words.total };
        self.finish(message.request, Ok(status));
    }
    /// A message cannot be said. A receive that has got its message is over all the same if only its sender is gone.
    pub(super) fn fail_to_say(&mut self, message: &Saying, error: Error) {
        if self.is_done(message.request) {
            // The answer to an offer whose message came by an announcement: no request needs it.
            return;
        }
        if message.words.kind == Kind::Half && self.is_in_halves(message.request) {
            // The sender will not help; this side's half may be under way, and the receive is not over before it.
            return self.their_half_over(message.request, false);
        }
        let received = message.ends && matches!(message.words.kind, Kind::Fetched | Kind::Cts);
        if received && matches!(error, Error::PeerGone(_) | Error::Ended(_)) {
            self.said(message);
        } else {
            self.finish(message.request, Err(error));
        }
    }
    pub(super) fn say_again(&mut self) -> bool {
        let mut any = false;
        let mut blocked: Vec<Rank> = Vec::new();
        for _ in 0..self.waiting.len() {
            let Some(message) = self.waiting.pop_front() else { break };
            let said = if blocked.contains(&message.to) { Ok(false) } else { self.try_say(&message) };
            match said {
                Ok(true) => any = true,
                Ok(false) => {
                    blocked.push(message.to);
                    self.waiting.push_back(message);
                }
                Err(error) => {
                    any = true;
                    self.fail_to_say(&message, error);
                }
            }
        }
        any
    }
}
