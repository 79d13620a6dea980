//! The side that connects.

use super::{
    ADMITS, ANSWER, Claim, HELLO, Incoming, JOINS, LIMIT, NONCE, SESSION, Secret, Session, Verdict, Wire, code,
    derived, hello, random, write_small,
};
use crate::sys;
use hmac::Mac;
use std::io;
use std::time::{Duration, Instant};

/// Why a joiner was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The connection ended, or the time was up: another try may succeed.
    Gone,
    /// The listener does not know the secret.
    Stranger,
    /// The listener says that this side does not know the secret, or, proven, why it does not admit it.
    By(Verdict),
}

/// How far an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Not over; call again when the connection can be read.
    Waits,
    Admitted(Session),
    Refused(Refused),
}

/// An exchange under way.
pub(crate) struct Joining {
    hello: [u8; HELLO],
    challenge: Incoming<NONCE>,
    answer: Incoming<ANSWER>,
    proven: bool,
    /// None: as long as the connection lasts.
    deadline: Option<Instant>,
}

impl Joining {
    /// Says hello on a connection that does not block. `limit`: how long the whole exchange may take; none where the other
    /// side may compute for long before it answers.
    ///
    /// # Errors
    /// The connection's.
    pub(crate) fn begin(wire: &mut impl Wire, claim: &Claim, limit: Option<Duration>) -> io::Result<Joining> {
        let hello = hello(claim, &random()?);
        write_small(wire, &hello)?;
        let (challenge, answer) = (Incoming::new(), Incoming::new());
        let deadline = limit.map(|limit| Instant::now() + limit);
        Ok(Joining { hello, challenge, answer, proven: false, deadline })
    }
    /// Goes on as far as it can without waiting.
    pub(crate) fn step(&mut self, wire: &mut impl Wire, secret: &Secret) -> Progress {
        match self.advance(wire, secret) {
            Ok(Progress::Waits) if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                Progress::Refused(Refused::Gone)
            }
            Ok(progress) => progress,
            Err(_) => Progress::Refused(Refused::Gone),
        }
    }
    fn advance(&mut self, wire: &mut impl Wire, secret: &Secret) -> io::Result<Progress> {
        if !self.proven {
            if !self.challenge.read(wire)? {
                return Ok(Progress::Waits);
            }
            let proof = code(secret, JOINS, &self.hello, &self.challenge.bytes, None).finalize().into_bytes();
            write_small(wire, &proof)?;
            self.proven = true;
        }
        if !self.answer.read(wire)? {
            return Ok(Progress::Waits);
        }
        Ok(self.judge(secret))
    }
    fn judge(&self, secret: &Secret) -> Progress {
        let (verdict, proof) = (self.answer.bytes[0], &self.answer.bytes[1..]);
        if verdict == Verdict::Unproven as u8 {
            return Progress::Refused(Refused::By(Verdict::Unproven));
        }
        let expected = code(secret, ADMITS, &self.hello, &self.challenge.bytes, Some(verdict));
        match (expected.verify_slice(proof), Verdict::of(verdict)) {
            (Ok(()), Some(Verdict::Admitted)) => Progress::Admitted(self.session(secret)),
            (Ok(()), Some(verdict)) => Progress::Refused(Refused::By(verdict)),
            _ => Progress::Refused(Refused::Stranger),
        }
    }
    fn session(&self, secret: &Secret) -> Session {
        derived(secret.bytes(), &[SESSION.as_bytes(), &self.hello, &self.challenge.bytes].concat())
    }
    /// The whole exchange, with waiting; the connection blocks afterwards.
    pub(crate) fn wait(wire: &mut impl Wire, claim: &Claim, secret: &Secret) -> Result<Session, Refused> {
        let gone = |_| Refused::Gone;
        wire.set_nonblocking(true).map_err(gone)?;
        let mut joining = Joining::begin(wire, claim, Some(LIMIT)).map_err(gone)?;
        loop {
            match joining.step(wire, secret) {
                Progress::Admitted(session) => {
                    wire.set_nonblocking(false).map_err(gone)?;
                    return Ok(session);
                }
                Progress::Refused(why) => return Err(why),
                Progress::Waits => {}
            }
            let left = joining.deadline.map_or(LIMIT, |deadline| deadline.saturating_duration_since(Instant::now()));
            sys::wait_readable(&[wire.as_raw_fd()], left.max(Duration::from_millis(1)));
        }
    }
}
