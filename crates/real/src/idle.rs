//! The behaviour of a rank that has nothing to do: it spins, then offers the core to others, then naps. Also the time
//! of its first poll for the answer to what it sent.

use crate::sys;
use hotlink_fabric::units::Time;
use hotlink_port::Note;
use hotlink_seats::Account;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Idle calls that spin, when every rank has a core.
const SPINS: u32 = 4000;
/// The same when ranks share cores: the rank that is waited for may need this core.
const SPINS_SHARED: u32 = 20;
/// ... and when each look is a system call, which takes as long as dozens of the others do: as long in all. A port cannot know
/// that other hosts' ranks, in containers of this machine, share its cores.
const SPINS_BY_CALL: u32 = 64;
/// The first polls for an answer follow each other at once. A spin takes as long as two polls, and half of it on
/// average passes between an answer and the poll that finds it. A message then takes 6 to 17 % less, between near cores
/// and between far ones. A barrier differs: both sides wait there, and polls delay the other's store.
const BRISK: u32 = 12;
/// Then cores are offered to others for this long, and then naps begin, unless [`poll_for`] says otherwise.
const YIELDING: Duration = Duration::from_millis(20);
static YIELDING_US: AtomicU64 = AtomicU64::new(YIELDING.as_micros() as u64);
const NAP: Duration = Duration::from_micros(50);
/// More ranks than this on a core do not offer it around for long: with hundreds, all would be awake most of the time.
const MANY: u32 = 8;
const YIELDING_MANY: Duration = Duration::from_micros(200);

/// Ranks that this process starts or is poll for `time` before they sleep.
pub(crate) fn poll_for(time: Option<Duration>) {
    YIELDING_US.store(time.unwrap_or(YIELDING).as_micros() as u64, Ordering::Relaxed);
}

/// Counts how long nothing has happened.
pub(crate) struct Idler {
    spins: u32,
    limit: u32,
    yielding: Duration,
    /// Ranks to a core.
    crowd: u32,
    yielding_since: Option<Instant>,
    answers: Answers,
    /// Where others see a long wait.
    account: Option<Account>,
}

/// When to poll for an answer first. Each poll pulls the answer's cache line away from its writer, who must get it back
/// to write it. So a rank that waits after it has sent something first lets the time pass that the last answers took.
/// It requests the line of its next message only then, while the answer comes. Between far cores each transfer of a
/// line takes some 130 ns, and a message and its answer then take two thirds of the time.
struct Answers {
    /// Something was sent since the last wait.
    asked: bool,
    /// This wait began with a pause, if only of no length.
    paused: bool,
    /// Looks in vain after the last pause; [`UNKNOWN`] if nothing has come.
    looks: u32,
    /// How long to wait, in shares of a spin.
    pause: u32,
}

/// Shares of a spin. A spin too many costs no more than itself; one too few costs a transfer of the line. So the pause
/// grows by a whole spin for each answer that was polled too early, and shrinks by a share for each other.
const SHARES: u32 = 8;
const PAUSE_MAX: u32 = 16 * SHARES;
/// Answers that come within this many polls and spins come from near cores, where polls do not delay them. The time of
/// answers that take more polls than [`SOON`] cannot be predicted.
const NEAR: u32 = 7;
const SOON: u32 = 24;
const UNKNOWN: u32 = u32::MAX;

impl Answers {
    /// Learns from the wait before, now that there is time.
    #[inline]
    fn learn(&mut self) {
        let looks = std::mem::replace(&mut self.looks, UNKNOWN);
        let near = looks.saturating_add(self.pause / SHARES) < NEAR;
        match looks {
            _ if looks == 0 || near => self.pause = self.pause.saturating_sub(1),
            1..=SOON => self.pause = (self.pause + SHARES).min(PAUSE_MAX),
            _ => {}
        }
    }
}

impl Idler {
    pub(crate) fn new(oversubscribed: bool) -> Idler {
        crate::latch::shares_core(oversubscribed);
        let answers = Answers { asked: false, paused: false, looks: UNKNOWN, pause: 0 };
        let yielding = Duration::from_micros(YIELDING_US.load(Ordering::Relaxed));
        Idler {
            yielding,
            crowd: 1,
            spins: 0,
            limit: match oversubscribed {
                _ if yielding.is_zero() => 1,
                true => SPINS_SHARED,
                false => SPINS,
            },
            yielding_since: None,
            answers,
            account: None,
        }
    }
    /// Each look is a system call.
    pub(crate) fn look_by_calls(&mut self) {
        self.limit = self.limit.min(SPINS_BY_CALL);
    }
    /// Reports long waits there.
    pub(crate) fn telling(self, account: Option<Account>) -> Idler {
        Idler { account, ..self }
    }
    /// See [`hotlink_port::Port::listens`].
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        self.account.as_ref().is_some_and(|account| account.listens)
    }
    /// The request for which the program waits.
    #[cold]
    pub(crate) fn hear(&mut self, note: Note) {
        if let (Note::Waits { call, peer, tag }, Some(account)) = (note, &mut self.account) {
            account.tell(call, peer, tag);
        }
    }
    /// That many ranks share the cores that this process may use.
    pub(crate) fn sharing(self, ranks: u32) -> Idler {
        let crowd = if self.is_crowded() { ranks / (sys::allowed_cores().len() as u32).max(1) } else { 1 };
        Idler { crowd: crowd.max(1), ..self }
    }
    /// How long to sleep after so long a wait. With many ranks on a core it is an eighth of the wait. It grows until
    /// all sleepers together wake up some ten thousand times a second.
    fn nap(&self, waited: Duration) -> Duration {
        if self.crowd <= MANY { NAP } else { (waited / 8).clamp(NAP, NAP * (self.crowd / 4)) }
    }
    /// Whether ranks share cores.
    pub(crate) fn is_crowded(&self) -> bool {
        self.limit <= SPINS_SHARED
    }
    /// Whether it sleeps without having polled: then a nap may be long, if what comes ends it.
    pub(crate) fn sleeps_at_once(&self) -> bool {
        self.yielding.is_zero()
    }
    /// Something happened.
    #[inline]
    pub(crate) fn reset(&mut self) {
        if self.answers.paused {
            (self.answers.paused, self.answers.looks) = (false, self.spins);
        }
        self.spins = 0;
    }
    /// A message is sent; whether another was since the last wait.
    #[inline]
    pub(crate) fn ask(&mut self) -> bool {
        std::mem::replace(&mut self.answers.asked, true)
    }
    /// The program waits: see [`Answers`]. True if time has passed. Where ranks share cores, the rank that must answer
    /// may need this one.
    #[inline]
    pub(crate) fn settle(&mut self) -> bool {
        if !std::mem::replace(&mut self.answers.asked, false) || self.is_crowded() {
            return false;
        }
        self.answers.learn();
        self.answers.paused = true;
        let spins = self.answers.pause / SHARES;
        (0..spins).for_each(|_| std::hint::spin_loop());
        spins > 0
    }
    /// Nothing happened. True now and then: time to check for rare events.
    #[inline]
    pub(crate) fn rest(&mut self, until: Time) -> bool {
        self.rest_by(until, std::thread::sleep)
    }
    /// The same; `nap` sleeps for so long, or until something happens.
    #[inline]
    pub(crate) fn rest_by(&mut self, until: Time, nap: impl FnOnce(Duration)) -> bool {
        self.spins += 1;
        if self.spins < self.limit {
            if self.spins > BRISK || !self.answers.paused {
                std::hint::spin_loop();
            }
            return self.spins.is_multiple_of(256);
        }
        self.give_way(until, nap)
    }
    #[cold]
    fn give_way(&mut self, until: Time, nap: impl FnOnce(Duration)) -> bool {
        if self.spins == self.limit {
            self.yielding_since = Some(Instant::now());
            self.account.iter_mut().for_each(Account::begin);
        }
        // Saturates: the count only needs to stay beyond the limit.
        self.spins = self.spins.min(u32::MAX - 1);
        let yielding = if self.crowd > MANY { YIELDING_MANY.min(self.yielding) } else { self.yielding };
        let waited = self.yielding_since.map_or(Duration::ZERO, |since| since.elapsed());
        if waited > yielding && until == Time::MAX {
            self.account.iter_mut().for_each(Account::beat);
            nap(self.nap(waited))
        } else {
            sys::yield_core()
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pause before the first poll, in spins, after answers that each take that many spins.
    fn pause_after(idler: &mut Idler, answers: u32, spins: u32) -> u32 {
        for _ in 0..answers {
            idler.ask();
            idler.settle();
            (idler.answers.pause / SHARES..spins).for_each(|_| _ = idler.rest(Time::MAX));
            idler.reset();
        }
        idler.answers.learn();
        idler.answers.pause / SHARES
    }

    #[test]
    fn the_first_look_comes_with_the_answer_where_that_is_regular() {
        let mut idler = Idler::new(false);
        for spins in [10, 14, 8] {
            let pause = pause_after(&mut idler, 200, spins);
            assert!((spins - 1..=spins + 1).contains(&pause), "{pause} spins for answers after {spins}");
        }
        assert!(pause_after(&mut idler, 1, 1000) <= 9, "what comes late teaches nothing");
        assert_eq!(pause_after(&mut idler, 200, 3), 0, "near cores need no pause");
        assert!(pause_after(&mut idler, 200, 23) * SHARES <= PAUSE_MAX);
    }

    #[test]
    fn hundreds_on_a_core_sleep_longer_the_longer_they_wait() {
        let (few, many) = (Idler::new(true), Idler { crowd: 512, ..Idler::new(true) });
        let naps = |idler: &Idler| [1, 10, 1000].map(|ms| idler.nap(Duration::from_millis(ms)).as_micros());
        assert_eq!(naps(&few), [50, 50, 50]);
        assert_eq!(naps(&many), [125, 1250, 6400]);
    }

    #[test]
    fn looks_by_system_calls_give_way_soon() {
        let looks = |shared, by_calls| {
            let mut idler = Idler::new(shared);
            if by_calls {
                idler.look_by_calls();
            }
            while idler.yielding_since.is_none() {
                idler.rest(Time::MAX);
            }
            idler.spins
        };
        assert_eq!([looks(false, true), looks(true, true)], [SPINS_BY_CALL, SPINS_SHARED]);
        assert_eq!(looks(false, false), SPINS);
    }

    #[test]
    fn who_has_asked_nothing_or_shares_a_core_looks_at_once() {
        let (mut idler, mut crowded) = (Idler::new(false), Idler::new(true));
        assert!(pause_after(&mut idler, 200, 12) > 0);
        assert!(!idler.settle());
        assert_eq!(pause_after(&mut crowded, 200, 12), 0);
    }
}
