//! Progress on stderr with the time left, for tasks beyond two seconds: a bar on a terminal, plain lines elsewhere
//! when asked. The one place of the command that reads a clock; no result depends on
//! it.

use hotlink_study::{Gauge, Halt, Watch, words};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::cell::RefCell;
use std::fmt::Write;
use std::io::IsTerminal;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shown only past this.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two plain lines.
const LINE_EVERY_S: u64 = 5;
/// Parts of a step that a bar distinguishes.
const PARTS: f64 = 1000.0;
/// Between two updates while no step ends.
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
    static HALT: RefCell<Halt> = RefCell::default();
}

/// Runs `work`, whose tasks end once `halt` was triggered: they unwind at their next step, or within a simulation. They
/// are those that begin on this thread.
pub fn heeding<T>(halt: &Halt, work: impl FnOnce() -> T) -> T {
    let before = HALT.replace(halt.clone());
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
        Progress(Arc::new(Task {
            name: task.to_owned(),
            total,
            started: Instant::now(),
            done: AtomicU64::new(0),
            gauges: Mutex::default(),
            style,
            halt: HALT.with_borrow(Halt::clone),
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

    fn show(&self) {
        let (done, elapsed) = (self.done.load(Ordering::Relaxed), self.started.elapsed());
        match &self.style {
            Style::Silent => {}
            Style::Bar(bar) => {
                if bar.is_hidden() && elapsed > PATIENCE {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_position((self.so_far() * PARTS).round() as u64);
                bar.tick();
            }
            Style::Lines(due) => {
                let now = elapsed.as_secs();
                let at = due.load(Ordering::Relaxed);
                let mine = now >= at && done < self.total;
                if mine && due.compare_exchange(at, now + LINE_EVERY_S, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    crate::tell!("{}", plain(&self.name, self.so_far(), self.total, elapsed));
                }
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Style::Bar(bar) = &self.0.style {
            bar.finish_and_clear();
        }
    }
}

fn bar(task: &str, total: u64) -> ProgressBar {
    let tell = move |state: &ProgressState, out: &mut dyn Write| {
        _ = out.write_str(&progress(state.pos() as f64 / PARTS, total, state.elapsed()));
    };
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {left}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(total.saturating_mul(PARTS as u64)), ProgressDrawTarget::hidden())
        .with_style(style.with_key("left", tell))
        .with_message(task.to_owned())
}

fn plain(task: &str, done: f64, total: u64, elapsed: Duration) -> String {
    format!("hotlink: {task}: {}", progress(done, total, elapsed))
}

/// Steps done, with the share of the current work, and the time left once that is known; before that, the time taken.
fn progress(done: f64, total: u64, elapsed: Duration) -> String {
    // What has hardly begun says little about the time left.
    let known = done >= 0.01;
    let steps = match done.fract() >= 0.01 {
        true => format!("{done:.2}"),
        false => format!("{done:.0}"),
    };
    let left = match known {
        false => format!("{} s so far", elapsed.as_secs()),
        true => format!("about {:.0} s left", elapsed.as_secs_f64() * (total as f64 - done).max(0.0) / done),
    };
    format!("{steps} of {total}, {left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_line_tells_the_time_left() {
        let line = plain("compare", 25.0, 100, Duration::from_secs(5));
        assert_eq!(line, "hotlink: compare: 25 of 100, about 15 s left");
        assert_eq!(plain("compare", 0.0, 100, Duration::from_secs(5)), "hotlink: compare: 0 of 100, 5 s so far");
        assert_eq!(plain("compare", 0.25, 1, Duration::from_secs(5)), "hotlink: compare: 0.25 of 1, about 15 s left");
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
