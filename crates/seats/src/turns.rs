//! Turns of the threads of a rank's process. A rank has one place in the simulation. Its threads use the library one
//! after the other, and virtual time advances when all of them wait.
//!
//! A thread that calls the library waits for its turn, and one whose call cannot go on gives its turn up. A turn is
//! given only when every other thread of the process sleeps, in the library or elsewhere. The program then decides the
//! order of turns, not the system. The turn goes to the thread whose last one is the longest ago; of two new threads,
//! to the older. When nobody can go on, one of those that wait hands over to the simulator for all.
//!
//! No thread reports that it falls asleep elsewhere. One of those that wait checks it: often at first, then every
//! millisecond. A thread that neither sleeps nor calls holds the rank up. After [`Turns::limit`] of its processor time
//! the process ends, and says why.

use crate::door::{Awaits, Door, awaits, clock, within};
use crate::sys;
use crate::tasks::{Awake, Tasks};
use hotlink_fabric::units::Time;
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// Seconds of processor time that a thread may take, without a call or a sleep, while another waits for it; 0: any.
const LIMIT: &str = "HOTLINK_SPIN_LIMIT";
const LIMIT_S: u64 = 60;
/// Turns of new calls after which those that wait check again whether they can go on.
const PATIENCE: u64 = 16;
/// Checks for sleeping threads before the checking thread naps: on one core, others run until they sleep.
const YIELDS: u32 = 20;
/// How long it naps.
const SHORT: Duration = Duration::from_micros(50);
const LONG: Duration = Duration::from_millis(1);

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// To have the library.
    Turn,
    /// That something happens.
    Event,
    /// The time of a poll in vain.
    Look,
    /// A time.
    Sleep,
}

/// Where a thread waits, for those who read of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    thread: usize,
    within: &'static str,
    awaits: Awaits,
}

/// What wakes a thread.
#[derive(Default)]
struct Bell(AtomicU32);

impl Bell {
    fn seen(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }
    fn ring(&self) {
        self.0.fetch_add(1, Ordering::Release);
        sys::wake_at(&self.0);
    }
}

/// What a thread knows of itself.
struct Own {
    task: i32,
    /// As long-lived as the process: a thread that ends may still be called on.
    bell: &'static Bell,
    /// Its last turn.
    last: Cell<u64>,
    /// Its call has changed nothing for others.
    in_vain: Cell<bool>,
}

thread_local!(static OWN: Own = Own {
    task: sys::task(),
    bell: Box::leak(Box::default()),
    last: Cell::new(0),
    in_vain: Cell::new(false),
});

/// A thread that waits.
#[derive(Clone, Copy)]
struct Parked {
    task: i32,
    bell: &'static Bell,
    want: Want,
    /// Changes before its last check.
    seen: u64,
    last: u64,
    until: Option<Time>,
    within: &'static str,
    awaits: Awaits,
}

impl Parked {
    fn is_due(&self, changes: u64, now: Time) -> bool {
        match self.want {
            Want::Turn => true,
            Want::Event => self.seen != changes || self.until.is_some_and(|until| until <= now),
            Want::Sleep => self.until.is_none_or(|until| until <= now),
            Want::Look => false,
        }
    }
}

struct State {
    tasks: Tasks,
    /// Whose turn it is; 0: nobody's.
    holder: i32,
    /// The holder has handed over to the simulator for all.
    going: bool,
    parked: Vec<Parked>,
    /// The thread that checks for threads that fall asleep; 0: none.
    watcher: i32,
    /// Counts what those that wait may wait for.
    changes: u64,
    turns: u64,
    /// The last turn before which no waiting thread had to check again.
    fair: u64,
}

/// The next thing to do.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Turn(usize),
    GoOn(Want, Option<Time>),
    /// A thread runs, or nobody knows.
    Later(Option<Awake>),
}

impl State {
    fn next(&mut self, now: Time, arriving: &AtomicU32) -> Next {
        if self.holder != 0 {
            return Next::Later(None);
        }
        let parked: Vec<i32> = self.parked.iter().map(|parked| parked.task).collect();
        match self.tasks.awake(&parked) {
            Ok(None) if arriving.load(Ordering::SeqCst) > 0 => return Next::Later(None),
            Ok(None) => {}
            awake => return Next::Later(awake.ok().flatten()),
        }
        self.choice(now)
    }
    /// The same once all others sleep.
    fn choice(&mut self, now: Time) -> Next {
        let due = |parked: &Parked| parked.is_due(self.changes, now);
        let waits = self.parked.iter().any(|parked| parked.want != Want::Turn && due(parked));
        if !waits {
            self.fair = self.turns;
        }
        let fair = self.turns - self.fair < PATIENCE;
        let calls = self.parked.iter().any(|parked| parked.want == Want::Turn);
        let first = |parked: &Parked| if fair && calls { parked.want == Want::Turn } else { due(parked) };
        let places = (0..self.parked.len()).filter(|&place| first(&self.parked[place]));
        let (parked, tasks) = (&self.parked, &mut self.tasks);
        let among = |place: &usize| match parked[*place].last {
            0 if parked.len() > 1 => (0, tasks.place(parked[*place].task)),
            last => (last, 0),
        };
        match places.min_by_key(among) {
            Some(place) => Next::Turn(place),
            None => self.going_on(),
        }
    }
    /// How time goes on, when everybody waits for that.
    fn going_on(&self) -> Next {
        let wants = |want| self.parked.iter().any(|parked| parked.want == want);
        let others = self.parked.iter().filter(|parked| parked.want != Want::Look);
        let until = others.filter_map(|parked| parked.until).min();
        if wants(Want::Look) {
            return Next::GoOn(Want::Look, until);
        }
        if !wants(Want::Event) {
            return Next::GoOn(Want::Sleep, until);
        }
        // A thread that does not say until when checks again soon.
        let all = self.parked.iter().all(|parked| parked.until.is_some());
        Next::GoOn(Want::Event, until.filter(|_| all))
    }
    fn gone_on(&mut self, want: Want) {
        match want {
            Want::Look => {
                let looks = self.parked.iter_mut().filter(|parked| parked.want == Want::Look);
                looks.for_each(|parked| parked.want = Want::Turn);
            }
            _ => self.changes += 1,
        }
    }
    fn places(&mut self) -> Vec<Place> {
        let single = self.parked.len() == 1;
        let thread = |tasks: &mut Tasks, task| if single { 0 } else { tasks.place(task) };
        let place = |parked: &Parked, tasks: &mut Tasks| Place {
            thread: thread(tasks, parked.task),
            within: parked.within,
            awaits: parked.awaits,
        };
        let mut places: Vec<Place> = self.parked.iter().map(|parked| place(parked, &mut self.tasks)).collect();
        places.sort_by_key(|place| place.thread);
        places
    }
}

/// Where threads wait, in words.
pub(crate) fn told(places: &[Place]) -> Cow<'static, str> {
    if let [place] = places {
        return Cow::Borrowed(place.within);
    }
    let peer = |peer: Option<u32>| peer.map_or("anybody".to_owned(), |rank| format!("rank {rank}"));
    let awaits = |place: &Place| match place.awaits {
        None => String::new(),
        Some((rank, Some(tag))) => format!(" for {}, tag {tag}", peer(rank)),
        Some((rank, None)) => format!(" for {}", peer(rank)),
    };
    let told = places.iter().map(|place| format!("{} (thread {}){}", place.within, place.thread, awaits(place)));
    Cow::Owned(told.collect::<Vec<_>>().join(" and "))
}

/// How a thread lends its door for work there.
pub type Lends<'a> = &'a dyn Fn(&mut dyn FnMut(&mut Door));

/// See the module.
pub struct Turns {
    state: Mutex<State>,
    /// Threads that wait for `state`, to be parked there: they sleep, and yet have something to do.
    arriving: AtomicU32,
    /// Ticks of processor time; none: any.
    limit: Option<u64>,
    /// Says why the process must end.
    tell: fn(&str),
}

static TURNS: OnceLock<Turns> = OnceLock::new();

/// From now on this process's threads take turns, and this one has the first. `tell` reports why the process must end.
/// `sleeps` is how threads sleep, also by the system's functions where clocks are virtual. Returns `false` if the
/// system does not show what threads do.
pub fn take_turns(tell: fn(&str), sleeps: Sleeps) -> bool {
    let Ok(tasks) = Tasks::of_process() else { return false };
    let limit = std::env::var(LIMIT).ok().and_then(|word| word.parse().ok()).unwrap_or(LIMIT_S);
    let limit = (limit > 0).then(|| limit.saturating_mul(sys::ticks_per_second()));
    let holder = OWN.with(|own| own.task);
    let parked = Vec::new();
    let state = State { tasks, holder, going: false, parked, watcher: 0, changes: 0, turns: 1, fair: 0 };
    TURNS.get_or_init(|| Turns { state: Mutex::new(state), arriving: AtomicU32::new(0), limit, tell });
    sleeps_by(sleeps);
    sys::tell_the_clock(sleeps);
    true
}

/// The turns of this process's threads, if they take any.
#[inline]
pub fn turns() -> Option<&'static Turns> {
    TURNS.get()
}

/// Has a thread sleep for this many picoseconds, if it can.
pub type Sleeps = extern "C" fn(u64) -> bool;

static SLEEPS: OnceLock<Sleeps> = OnceLock::new();

/// Lets threads sleep in this way.
pub fn sleeps_by(sleeps: Sleeps) {
    SLEEPS.get_or_init(|| sleeps);
}

/// Whether this thread could sleep for this long while others work.
pub(crate) fn sleeps(ps: u64) -> bool {
    SLEEPS.get().is_some_and(|sleeps| sleeps(ps))
}

/// What a thread that checks for sleeping ones has seen.
#[derive(Default)]
struct Watch {
    turns: u64,
    looks: u32,
    /// The thread that ran, and the processor time that it had taken.
    since: Option<Awake>,
}

impl Watch {
    /// Starts again where others have had turns.
    fn renew(&mut self, turns: u64) {
        if self.turns != turns {
            *self = Watch { turns, ..Watch::default() };
        }
    }
    /// Whether a thread has run for longer than `limit`.
    fn is_over(&mut self, awake: Option<Awake>, limit: Option<u64>) -> bool {
        let (Some(awake), Some(limit)) = (awake, limit) else { return false };
        match self.since {
            Some(since) if since.id == awake.id => awake.ticks.saturating_sub(since.ticks) >= limit,
            _ => {
                self.since = Some(awake);
                false
            }
        }
    }
    fn rest(&mut self, bell: &Bell, seen: u32) {
        self.looks = self.looks.saturating_add(1);
        match self.looks.checked_sub(YIELDS) {
            None => sys::yield_core(),
            Some(naps) => sys::wait_at(&bell.0, seen, Some((SHORT * (1 << naps.min(8))).min(LONG))),
        }
    }
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    /// Processor seconds after which a thread that neither calls nor sleeps is reported.
    fn limit(&self) -> u64 {
        self.limit.unwrap_or(0) / sys::ticks_per_second()
    }
    /// Whether the process has several threads now.
    pub fn are_several(&self) -> bool {
        self.state().tasks.count().is_ok_and(|count| count > 1)
    }
    /// Waits for a turn; whether others wait as well.
    pub fn enter(&self) -> bool {
        OWN.with(|own| {
            own.in_vain.set(false);
            self.park(own, (Want::Turn, None, false), None)
        })
    }
    /// Takes the turn if it is nobody's.
    pub fn try_enter(&self) -> bool {
        let mut state = self.state();
        let free = state.holder == 0;
        if free {
            state.holder = OWN.with(|own| own.task);
        }
        free
    }
    /// Gives the turn up.
    pub fn leave(&self) {
        let mut state = self.state();
        state.holder = 0;
        state.changes += u64::from(OWN.with(|own| !own.in_vain.get()));
        if let Some(parked) = state.parked.first().filter(|_| state.watcher == 0) {
            parked.bell.ring();
        }
    }
    /// This thread, whose turn it is, waits: it gives the turn up, and has another when there may be what it wants.
    pub fn wait(&self, want: Want, lends: Lends<'_>) {
        let mut rests = (None, false);
        lends(&mut |door| rests = door.rests());
        let (until, stirred) = rests;
        // Earlier events are handled first.
        let want = if want == Want::Look && stirred { Want::Turn } else { want };
        OWN.with(|own| {
            own.in_vain.set(matches!(want, Want::Look | Want::Sleep));
            self.park(own, (want, until, stirred), Some(lends));
        });
    }
    /// The same of a call within another's, which keeps its turn: others only have to sleep.
    pub fn wait_within(&self, want: Want, lends: Lends<'_>) {
        let mut rests = (None, false);
        lends(&mut |door| rests = door.rests());
        if rests.1 && want != Want::Sleep {
            return;
        }
        let mut state = OWN.with(|own| self.alone(own));
        state.going = true;
        let mut places = state.places();
        places.push(Place { thread: 0, within: within(), awaits: awaits() });
        let until = state.parked.iter().filter_map(|parked| parked.until).chain(rests.0).min();
        drop(state);
        lends(&mut |door| door.goes_on(want, until, &places));
        let mut state = self.state();
        state.going = false;
        state.changes += 1;
    }
    /// Waits until all others sleep.
    fn alone(&self, own: &Own) -> MutexGuard<'_, State> {
        let mut watch = Watch::default();
        let mut state = self.state();
        loop {
            let quiet: Vec<i32> = state.parked.iter().map(|parked| parked.task).chain([own.task]).collect();
            let awake = match state.tasks.awake(&quiet) {
                Ok(None) if self.arriving.load(Ordering::SeqCst) == 0 => return state,
                awake => awake.ok().flatten(),
            };
            self.check(&mut watch, awake, &mut state);
            drop(state);
            watch.rest(own.bell, own.bell.seen());
            state = self.state();
        }
    }
    fn check(&self, watch: &mut Watch, awake: Option<Awake>, state: &mut State) {
        watch.renew(state.turns);
        if let Some(id) = awake.map(|awake| awake.id)
            && watch.is_over(awake, self.limit)
        {
            let waits = state.parked.first().map_or((0, ""), |parked| (parked.task, parked.within));
            let [thread, other] = [id, waits.0].map(|task| state.tasks.place(task));
            (self.tell)(&format!(
                "thread {thread} has run for {} s without a call of MPI or a sleep, and virtual time waits for it; waiting: \
                 {} (thread {other}). {LIMIT}=SECONDS allows more, 0 any time",
                self.limit(),
                waits.1,
            ));
            sys::leave(1);
        }
    }
    /// Waits for a turn; whether others wait as well.
    fn park(&self, own: &Own, (want, until, stirred): (Want, Option<Time>, bool), lends: Option<Lends<'_>>) -> bool {
        self.arriving.fetch_add(1, Ordering::SeqCst);
        let mut state = self.state();
        self.arriving.fetch_sub(1, Ordering::SeqCst);
        let seen = state.changes;
        state.changes += u64::from(stirred);
        if want != Want::Turn || lends.is_some() {
            state.holder = 0;
        }
        let (task, bell, last) = (own.task, own.bell, own.last.get());
        state.parked.push(Parked { task, bell, want, seen, last, until, within: within(), awaits: awaits() });
        let mut watch = Watch::default();
        while state.holder != task {
            let awake = match (state.next(clock().unwrap_or(Time::ZERO), &self.arriving), lends) {
                (Next::Turn(place), _) => {
                    let chosen = state.parked.remove(place);
                    state.holder = chosen.task;
                    state.turns += 1;
                    if chosen.task != task {
                        chosen.bell.ring();
                    }
                    continue;
                }
                (Next::GoOn(want, until), Some(lends)) => {
                    (state.holder, state.going) = (task, true);
                    let places = state.places();
                    drop(state);
                    lends(&mut |door| door.goes_on(want, until, &places));
                    state = self.state();
                    (state.holder, state.going) = (0, false);
                    state.gone_on(want);
                    continue;
                }
                (Next::Later(awake), _) => awake,
                // One that waits for its turn is due itself.
                (Next::GoOn(..), None) => None,
            };
            let watches = !state.going && [0, task].contains(&state.watcher);
            if watches || state.watcher == task {
                state.watcher = if watches { task } else { 0 };
            }
            let seen = bell.seen();
            self.check(&mut watch, awake, &mut state);
            drop(state);
            if watches {
                watch.rest(bell, seen)
            } else {
                sys::wait_at(&bell.0, seen, None)
            }
            state = self.state();
        }
        if state.watcher == task {
            state.watcher = 0;
        }
        own.last.set(state.turns);
        !state.parked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parked(task: i32, want: Want, seen: u64, last: u64) -> Parked {
        let bell = Box::leak(Box::default());
        Parked { task, bell, want, seen, last, until: None, within: "MPI_Recv", awaits: None }
    }
    fn state(parked: Vec<Parked>) -> State {
        let tasks = Tasks::of_process().unwrap();
        State { tasks, holder: 0, going: false, parked, watcher: 0, changes: 5, turns: 40, fair: 40 }
    }

    #[test]
    fn calls_go_first_and_those_that_wait_look_again_in_time() {
        // What the second waits for may have happened; the third knows that it has not.
        let waits = [parked(2, Want::Event, 4, 1), parked(3, Want::Event, 5, 2)];
        let mut state = state([&[parked(1, Want::Turn, 0, 9)][..], &waits].concat());
        assert_eq!(state.choice(Time(0)), Next::Turn(0));
        state.turns += PATIENCE;
        assert_eq!(state.choice(Time(0)), Next::Turn(1));
        // Among calls, that of the thread whose turn is the longest ago.
        state.parked = vec![parked(1, Want::Turn, 0, 9), parked(2, Want::Turn, 0, 8)];
        assert_eq!(state.choice(Time(0)), Next::Turn(1));
    }

    #[test]
    fn time_goes_on_as_those_that_wait_want() {
        let until = |ps| Some(Time(ps));
        let sleeper = Parked { until: until(70), ..parked(1, Want::Sleep, 0, 1) };
        let mut state = state(vec![sleeper]);
        assert_eq!(state.choice(Time(69)), Next::GoOn(Want::Sleep, until(70)));
        assert_eq!(state.choice(Time(70)), Next::Turn(0));
        state.parked.push(Parked { until: until(90), ..parked(2, Want::Event, 5, 2) });
        assert_eq!(state.choice(Time(0)), Next::GoOn(Want::Event, until(70)));
        // A thread that does not say until when checks again soon.
        state.parked.push(parked(3, Want::Event, 5, 3));
        assert_eq!(state.choice(Time(0)), Next::GoOn(Want::Event, None));
        state.parked.push(parked(4, Want::Look, 5, 4));
        assert_eq!(state.choice(Time(0)), Next::GoOn(Want::Look, until(70)));
        // The poll is over, and nothing has happened for others; then an event has come for all.
        state.gone_on(Want::Look);
        assert_eq!(state.choice(Time(0)), Next::Turn(3));
        state.parked.pop();
        state.gone_on(Want::Event);
        assert_eq!(state.choice(Time(0)), Next::Turn(1));
    }

    #[test]
    fn a_thread_that_runs_on_and_on_is_found_unless_others_have_turns() {
        let mut watch = Watch::default();
        let awake = |ticks| Some(Awake { id: 7, ticks });
        assert!(!watch.is_over(awake(100), Some(50)) && !watch.is_over(awake(149), Some(50)));
        assert!(watch.is_over(awake(150), Some(50)) && !watch.is_over(awake(150), None));
        watch.renew(1);
        assert!(!watch.is_over(awake(150), Some(50)));
    }

    #[test]
    fn a_wait_is_told_by_its_function_and_several_by_their_threads() {
        let place = |thread, awaits| Place { thread, within: "MPI_Recv", awaits };
        assert_eq!(told(&[place(3, Some((None, None)))]), "MPI_Recv");
        let several = [place(0, None), place(1, Some((Some(4), Some(2)))), place(2, Some((None, None)))];
        let due = "MPI_Recv (thread 0) and MPI_Recv (thread 1) for rank 4, tag 2 and MPI_Recv (thread 2) for anybody";
        assert_eq!(told(&several), due);
    }
}
