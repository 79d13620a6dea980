//! Progress on stderr with the time left, for tasks beyond two seconds: a bar on a terminal, plain lines elsewhere
//! when asked. The one place of the command that reads a clock; no result depends on
//! it.

use hotlink_study::{Gauge, Halt, Watch, words};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::ops::Deref;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shown only past this.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two plain lines.
const LINE_EVERY_S: u64 = 5;
/// Parts of a step that a bar distinguishes.
const PARTS: f64 = 1000.0;
/// The time left goes by what was done in so long, or in half of the task's time.
const RECENT: Duration = Duration::from_secs(10);
/// Part of a step from which on its time tells how long the rest takes.
const LEAST_GAIN: f64 = 0.005;
/// Between two looks while no step ends.
const TICK: Duration = Duration::from_millis(500);

words! {
    /// When progress is shown.
    pub enum When {
        /// On a terminal only.
        Auto = "auto",
        /// On a terminal as a bar, elsewhere as plain lines.
        Always = "always",
        /// Not at all.
        Never = "never",
    }
}

thread_local! {
    static HALT: RefCell<Option<Halt>> = const { RefCell::new(None) };
}

/// The halt of tasks on all threads, once Ctrl-C is heeded.
static INTERRUPT: OnceLock<Halt> = OnceLock::new();
/// What Ctrl-C says.
const INTERRUPTED: &str = "hotlink: ends at the next step and prints what is done; Ctrl-C again ends at once\n";

/// From now on Ctrl-C ends tasks, those that begin from now on, at their next step or within a simulation: they unwind
/// with [`Halted`](hotlink_study::Halted).
pub fn heed_interrupts() {
    if let Some(flag) = INTERRUPT.get_or_init(Halt::new).flag() {
        hotlink_seats::sys::note_interrupt(flag, INTERRUPTED);
    }
}

/// What ends tasks that begin on this thread.
fn halt() -> Halt {
    HALT.with_borrow(Clone::clone).or_else(|| INTERRUPT.get().cloned()).unwrap_or_default()
}

/// Results that are done, as lines for whoever waits for others. Tasks show them.
static DONE: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Tasks under way.
static TASKS: AtomicI64 = AtomicI64::new(0);

/// A result is done: the task under way shows it, if there is one that takes long and is not at its end.
pub(crate) fn tell_done(line: impl FnOnce() -> String) {
    if TASKS.load(Ordering::Relaxed) > 0
        && let Ok(mut lines) = DONE.lock()
    {
        lines.push(line());
    }
}

/// Runs `work`, whose tasks end once `halt` was triggered: they unwind at their next step, or within a simulation. They
/// are those that begin on this thread.
pub fn heeding<T>(halt: &Halt, work: impl FnOnce() -> T) -> T {
    let before = HALT.replace(Some(halt.clone()));
    let done = work();
    HALT.set(before);
    done
}

/// A task of known length. Steps may come from several threads.
pub struct Progress(Arc<Task>);

struct Task {
    name: String,
    total: u64,
    started: Instant,
    done: AtomicU64,
    /// Running simulations, which report their progress.
    gauges: Mutex<Vec<Gauge>>,
    /// How far the task was, at moments of the past.
    course: Mutex<Course>,
    style: Style,
    halt: Halt,
}

enum Style {
    Silent,
    Bar(ProgressBar),
    /// Second at which the next line is due.
    Lines(AtomicU64),
}

impl Progress {
    /// A task that begins now.
    pub fn new(task: &str, total: u64, when: When) -> Progress {
        let style = match (when, std::io::stderr().is_terminal()) {
            (When::Never, _) | (When::Auto, false) => Style::Silent,
            (_, true) => Style::Bar(bar(task, total)),
            (When::Always, false) => Style::Lines(AtomicU64::new(PATIENCE.as_secs())),
        };
        TASKS.fetch_add(1, Ordering::Relaxed);
        Progress(Arc::new(Task {
            name: task.to_owned(),
            total,
            started: Instant::now(),
            done: AtomicU64::new(0),
            gauges: Mutex::default(),
            course: Mutex::default(),
            style,
            halt: halt(),
        }))
    }

    /// One step is done.
    pub fn step(&self) {
        self.0.halt.look();
        self.0.done.fetch_add(1, Ordering::Relaxed);
        self.0.show();
    }

    /// The same, and it shows the time taken even while no step ends. It starts a thread, so it is not for processes
    /// that fork.
    pub fn ticking(self) -> Ticking {
        if matches!(self.0.style, Style::Silent) {
            return Ticking::from(self);
        }
        let (task, (end, ended)) = (self.0.clone(), channel());
        let tick = move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                task.show();
            }
        };
        Ticking { thread: Some((end, std::thread::spawn(tick))), progress: self }
    }
}

impl Watch for Progress {
    fn step(&self) {
        Progress::step(self);
    }
    fn gauge(&self) -> Gauge {
        let gauge = Gauge::heeding(self.0.halt.clone());
        if !matches!(self.0.style, Style::Silent)
            && let Ok(mut gauges) = self.0.gauges.lock()
        {
            gauges.retain(|gauge| !gauge.is_over());
            gauges.push(gauge.clone());
        }
        gauge
    }
    fn seconds(&self) -> f64 {
        self.0.started.elapsed().as_secs_f64()
    }
}

/// A clock for what takes no steps.
pub struct Stopwatch;

impl Watch for Stopwatch {
    fn seconds(&self) -> f64 {
        static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
        STARTED.elapsed().as_secs_f64()
    }
}

/// A task whose progress moves by itself, until it is dropped.
pub struct Ticking {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
    progress: Progress,
}

impl From<Progress> for Ticking {
    /// It moves at the end of a step only.
    fn from(progress: Progress) -> Ticking {
        Ticking { thread: None, progress }
    }
}

impl Deref for Ticking {
    type Target = Progress;
    fn deref(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

impl Task {
    /// The steps that ran to their end, and the parts of running ones, as far as they are known.
    fn so_far(&self) -> f64 {
        let done = self.done.load(Ordering::Relaxed) as f64;
        self.gauges.lock().map_or(done, |gauges| {
            let at_work = gauges.iter().filter(|gauge| !gauge.is_over());
            done + at_work.map(Gauge::share).sum::<f64>().min((self.total as f64 - done).max(0.0))
        })
    }

    /// Whether a simulation runs. Else a network is built, or routes are found.
    fn runs(&self) -> bool {
        self.gauges.lock().is_ok_and(|gauges| gauges.iter().any(|gauge| !gauge.is_over() && gauge.has_begun()))
    }

    /// Steps done, with the share of what is at work, and the time left once that tells how long it takes.
    fn told(&self, elapsed: Duration) -> String {
        let done = self.so_far();
        let rate = self.course.lock().ok().and_then(|mut course| course.rate(elapsed, done));
        let doing = if self.runs() || self.total != 1 { "" } else { ", setting up" };
        format!("{}{doing}", progress(done, self.total, elapsed, rate))
    }

    /// Shows what is done, above the bar, while there is more to do.
    fn show_done(&self, elapsed: Duration) {
        if elapsed <= PATIENCE || self.done.load(Ordering::Relaxed) >= self.total {
            return;
        }
        let lines = DONE.lock().map(|mut lines| std::mem::take(&mut *lines)).unwrap_or_default();
        let say = || lines.iter().for_each(|line| crate::tell!("hotlink: {line}"));
        match &self.style {
            _ if lines.is_empty() => {}
            Style::Bar(bar) => bar.suspend(say),
            Style::Silent | Style::Lines(_) => say(),
        }
    }

    fn show(&self) {
        if matches!(self.style, Style::Silent) {
            return;
        }
        let elapsed = self.started.elapsed();
        // The time left rests on every look, also on those that no line shows.
        let told = self.told(elapsed);
        self.show_done(elapsed);
        match &self.style {
            Style::Silent => {}
            Style::Bar(bar) => {
                if bar.is_hidden() && elapsed > PATIENCE {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_position((self.so_far() * PARTS).round() as u64);
                bar.set_prefix(told);
                bar.tick();
            }
            Style::Lines(due) => {
                let now = elapsed.as_secs();
                let at = due.load(Ordering::Relaxed);
                let mine = now >= at && self.done.load(Ordering::Relaxed) < self.total;
                if mine && due.compare_exchange(at, now + LINE_EVERY_S, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    crate::tell!("hotlink: {}: {told}", self.name);
                }
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // At the end the results themselves are printed.
        if TASKS.fetch_sub(1, Ordering::Relaxed) == 1
            && let Ok(mut lines) = DONE.lock()
        {
            lines.clear();
        }
        if let Style::Bar(bar) = &self.0.style {
            bar.finish_and_clear();
        }
    }
}

fn bar(task: &str, total: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {prefix}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(total.saturating_mul(PARTS as u64)), ProgressDrawTarget::hidden())
        .with_style(style)
        .with_message(task.to_owned())
}

/// How far a task was, the latest last: as far back as half of its time, and [`RECENT`] at least.
#[derive(Default)]
struct Course(VecDeque<(Duration, f64)>);

impl Course {
    /// Steps a second of late; `None` until enough of one is done. What is built before the first part, and parts that were
    /// quick, do not count for ever.
    fn rate(&mut self, now: Duration, done: f64) -> Option<f64> {
        let from = now.saturating_sub(RECENT.max(now / 2));
        // The one before the window is its beginning.
        while self.0.get(1).is_some_and(|&(at, _)| at <= from) {
            self.0.pop_front();
        }
        if self.0.back().is_none_or(|&(at, _)| now >= at + TICK) {
            // Nothing is done before the first part begins.
            if done == 0.0 {
                self.0.clear();
            }
            self.0.push_back((now, done));
        }
        let &(at, before) = self.0.front()?;
        let (gain, seconds) = (done - before, now.saturating_sub(at).as_secs_f64());
        (gain >= LEAST_GAIN && seconds > 0.0).then(|| gain / seconds)
    }
}

/// `rate`: steps a second.
fn progress(done: f64, total: u64, elapsed: Duration, rate: Option<f64>) -> String {
    let steps = match done.fract() >= 0.01 {
        true => format!("{done:.2}"),
        false => format!("{done:.0}"),
    };
    let left = match rate {
        None => format!("{} s so far", elapsed.as_secs()),
        Some(rate) => format!("about {:.0} s left", (total as f64 - done).max(0.0) / rate),
    };
    format!("{steps} of {total}, {left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_by_the_rate_of_late() {
        let seconds = Duration::from_secs;
        let told = |done, total, elapsed, rate| progress(done, total, seconds(elapsed), rate);
        assert_eq!(told(25.0, 100, 5, Some(5.0)), "25 of 100, about 15 s left");
        assert_eq!(told(0.25, 1, 5, None), "0.25 of 1, 5 s so far");
        let mut course = Course::default();
        // Twenty seconds of building, then a tenth a second, then half as much.
        (0..=20).for_each(|second| assert_eq!(course.rate(seconds(second), 0.0), None));
        assert!((course.rate(seconds(23), 0.3).unwrap() - 0.1).abs() < 1e-9);
        let rates = (24..60).map(|second| course.rate(seconds(second), 0.3 + 0.05 * (second - 23) as f64).unwrap());
        let rates: Vec<f64> = rates.collect();
        assert!(rates.is_sorted_by(|a, b| *a > b - 1e-9) && (rates.last().unwrap() - 0.05).abs() < 1e-9, "{rates:?}");
    }

    #[test]
    fn a_step_that_takes_long_is_told_of() {
        let style = Style::Lines(AtomicU64::new(0));
        let task = Task {
            name: "x".to_owned(),
            total: 1,
            started: Instant::now(),
            done: AtomicU64::new(0),
            gauges: Mutex::default(),
            course: Mutex::default(),
            style,
            halt: Halt::default(),
        };
        let progress = Progress(Arc::new(task));
        let ticking = progress.ticking();
        let Style::Lines(due) = &ticking.0.style else { unreachable!("lines were asked for") };
        while due.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(ticking);
    }

    #[test]
    fn steps_beyond_the_total_are_no_panic() {
        for when in [When::Auto, When::Always, When::Never] {
            let progress = Progress::new("x", 1, when).ticking();
            (0..3).for_each(|_| progress.step());
        }
    }
}
