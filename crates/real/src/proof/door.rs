//! The side that listens: many exchanges at once, none of which can hold up another.

use super::{
    ADMITS, CODE, Claim, HELLO, Incoming, JOINS, LIMIT, MAGIC, NONCE, Purpose, SESSION, Secret, Session, Verdict, Wire,
    claim_of, code, derived, random, write_small,
};
use hmac::Mac;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// Exchanges under way at a time, beyond those of ranks that are awaited. When more come, the oldest ends: a true joiner
/// takes a round trip, a stranger as long as it may.
const STRANGERS: usize = 64;
/// Lines about strangers in each [`SPAN`]; the others are counted.
const LINES: u32 = 5;
const SPAN: Duration = Duration::from_secs(10);

/// Connections that have not proven themselves yet, and what is known of strangers.
pub(crate) struct Door<S> {
    purpose: Purpose,
    pending: VecDeque<Pending<S>>,
    most: usize,
    pub(super) limit: Duration,
    log: Log,
    /// Of those that speak the protocol: however many scanners come, impostors are named.
    impostors: Log,
}

struct Pending<S> {
    wire: S,
    from: String,
    hello: Incoming<HELLO>,
    proof: Incoming<CODE>,
    challenge: Option<[u8; NONCE]>,
    deadline: Instant,
}

/// A connection that has proven the secret and was admitted.
pub(crate) struct Admitted<S> {
    pub(crate) wire: S,
    pub(crate) claim: Claim,
    pub(crate) session: Session,
}

impl<S: Wire> Door<S> {
    /// For connections of one purpose, of which `awaited` are expected.
    pub(crate) fn new(purpose: Purpose, awaited: u32) -> Door<S> {
        Door {
            purpose,
            pending: VecDeque::new(),
            most: STRANGERS + awaited as usize,
            limit: LIMIT,
            log: Log::default(),
            impostors: Log::default(),
        }
    }
    /// A new connection; `from` names it in the log.
    pub(crate) fn take(&mut self, wire: S, from: String) {
        if wire.set_nonblocking(true).is_err() {
            return;
        }
        if self.pending.len() >= self.most
            && let Some(oldest) = self.pending.pop_front()
        {
            self.log.say(&oldest.from, "too many connections wait for their proof, and it is the oldest");
        }
        let (hello, proof, deadline) = (Incoming::new(), Incoming::new(), Instant::now() + self.limit);
        self.pending.push_back(Pending { wire, from, hello, proof, challenge: None, deadline });
    }
    /// Connections to wait for.
    pub(crate) fn fds(&self) -> impl Iterator<Item = i32> + '_ {
        self.pending.iter().map(|pending| pending.wire.as_raw_fd())
    }
    /// Advances every exchange as far as it can without waiting, up to one that is admitted. `judge` decides only on
    /// joiners that have proven the secret.
    pub(crate) fn step(&mut self, secret: &Secret, mut judge: impl FnMut(&Claim) -> Verdict) -> Option<Admitted<S>> {
        for _ in 0..self.pending.len() {
            let mut pending = self.pending.pop_front()?;
            let late = Instant::now() >= pending.deadline;
            match pending.advance(self.purpose, secret, &mut judge) {
                Ok(Step::Admitted(claim, session)) => return Some(Admitted { wire: pending.wire, claim, session }),
                Ok(Step::Waits) if !late => self.pending.push_back(pending),
                Ok(Step::Waits) => self.log.say(&pending.from, "it did not prove the secret in time"),
                Ok(Step::Crossed) => {}
                Ok(Step::Refused(why)) if pending.challenge.is_some() => self.impostors.say(&pending.from, &why),
                Ok(Step::Refused(why)) => self.log.say(&pending.from, &why),
                // A rank whose own connection came in meanwhile gives up the one that it made.
                Err(_) if self.purpose == Purpose::Messages && pending.hello.filled == HELLO => {}
                Err(_) => self.log.say(&pending.from, "it left before it had proven the secret"),
            }
        }
        None
    }
    /// Why the last stranger was turned away.
    pub(crate) fn last_refusal(&self) -> Option<&str> {
        self.impostors.last.as_deref().or(self.log.last.as_deref())
    }
}

enum Step {
    Waits,
    Admitted(Claim, Session),
    /// Two ranks connected to each other at once, and the other connection is used.
    Crossed,
    Refused(String),
}

impl<S: Wire> Pending<S> {
    fn advance(
        &mut self,
        purpose: Purpose,
        secret: &Secret,
        judge: &mut impl FnMut(&Claim) -> Verdict,
    ) -> io::Result<Step> {
        let stranger = || Ok(Step::Refused("it is no rank of a job of hotlink".to_owned()));
        let whole = self.hello.read(&mut self.wire);
        // Known before the whole hello is here: who speaks something else is not waited for.
        let begun = self.hello.filled.min(MAGIC.len());
        if self.hello.bytes[..begun] != MAGIC[..begun] {
            return stranger();
        }
        if !whole? {
            return Ok(Step::Waits);
        }
        let hello = &self.hello.bytes;
        let Some(claim) = claim_of(hello, purpose) else { return stranger() };
        let challenge = match self.challenge {
            Some(challenge) => challenge,
            None => {
                let challenge = random()?;
                write_small(&mut self.wire, &challenge)?;
                *self.challenge.insert(challenge)
            }
        };
        if !self.proof.read(&mut self.wire)? {
            return Ok(Step::Waits);
        }
        if code(secret, JOINS, hello, &challenge, None).verify_slice(&self.proof.bytes).is_err() {
            let _ = write_small(&mut self.wire, &[[Verdict::Unproven as u8; 1].as_slice(), &[0; CODE]].concat());
            let rank = claim.rank;
            return Ok(Step::Refused(format!("it says that it is rank {rank}, and does not know the secret")));
        }
        let verdict = judge(&claim);
        let proof = code(secret, ADMITS, hello, &challenge, Some(verdict as u8)).finalize().into_bytes();
        write_small(&mut self.wire, &[&[verdict as u8], proof.as_slice()].concat())?;
        Ok(match verdict {
            Verdict::Admitted => {
                let label = [SESSION.as_bytes(), hello, &challenge].concat();
                Step::Admitted(claim, derived(secret.bytes(), &label))
            }
            Verdict::OtherJob => Step::Refused(format!("rank {} of another job (it knows the secret)", claim.rank)),
            Verdict::OtherRanks => {
                Step::Refused(format!("rank {} of a job of {} ranks (it knows the secret)", claim.rank, claim.ranks))
            }
            Verdict::RankTaken if purpose == Purpose::Messages => Step::Crossed,
            Verdict::RankTaken | Verdict::Unproven => {
                Step::Refused(format!("a second rank {}, or one that cannot be (it knows the secret)", claim.rank))
            }
        })
    }
}

/// Lines on stderr about who was turned away, few of them however many come.
#[derive(Default)]
struct Log {
    since: Option<Instant>,
    lines: u32,
    unsaid: u32,
    last: Option<String>,
}

impl Log {
    fn say(&mut self, from: &str, why: &str) {
        if self.since.is_none_or(|since| since.elapsed() > SPAN) {
            self.tell_unsaid();
            (self.since, self.lines) = (Some(Instant::now()), 0);
        }
        self.last = Some(format!("{from}: {why}"));
        self.lines += 1;
        if self.lines <= LINES {
            eprintln!("hotlink: turned away {from}: {why}");
        } else {
            self.unsaid += 1;
        }
    }
    fn tell_unsaid(&mut self) {
        let unsaid = std::mem::take(&mut self.unsaid);
        if unsaid > 0 {
            eprintln!("hotlink: turned away {unsaid} more connections");
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.tell_unsaid();
    }
}
