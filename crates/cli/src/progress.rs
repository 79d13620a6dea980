//! Progress on stderr with the time left, for tasks beyond two seconds: a bar on a terminal, plain lines elsewhere
//! when asked. The one place of the command that reads a clock; no result depends on it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shown only past this.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two plain lines.
const LINE_EVERY_S: u64 = 5;

/// When progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// On a terminal only.
    Auto,
    /// On a terminal as a bar, elsewhere as plain lines.
    Always,
    /// Not at all.
    Never,
}

/// A task of known length. Steps may come from several threads.
pub struct Progress {
    task: String,
    total: u64,
    started: Instant,
    done: AtomicU64,
    style: Style,
}

enum Style {
    Silent,
    Bar(ProgressBar),
    /// Second at which the next line is due.
    Lines(AtomicU64),
}

impl Progress {
    pub(crate) fn new(task: &str, total: u64, when: When) -> Progress {
        let style = match (when, std::io::stderr().is_terminal()) {
            (When::Never, _) | (When::Auto, false) => Style::Silent,
            (_, true) => Style::Bar(bar(task, total)),
            (When::Always, false) => Style::Lines(AtomicU64::new(PATIENCE.as_secs())),
        };
        Progress { task: task.to_owned(), total, started: Instant::now(), done: AtomicU64::new(0), style }
    }

    /// One step is done.
    pub fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let elapsed = self.started.elapsed();
        match &self.style {
            Style::Silent => {}
            Style::Bar(bar) => {
                if bar.is_hidden() && elapsed > PATIENCE {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_position(done);
            }
            Style::Lines(due) => {
                let now = elapsed.as_secs();
                let at = due.load(Ordering::Relaxed);
                let mine = now >= at && done < self.total;
                if mine && due.compare_exchange(at, now + LINE_EVERY_S, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    eprintln!("{}", plain(&self.task, done, self.total, elapsed));
                }
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Style::Bar(bar) = &self.style {
            bar.finish_and_clear();
        }
    }
}

fn bar(task: &str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden())
        .with_style(style)
        .with_message(task.to_owned())
}

fn plain(task: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let left = elapsed.as_secs_f64() * total.saturating_sub(done) as f64 / done.max(1) as f64;
    format!("hotlink: {task}: {done} of {total}, about {left:.0} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_line_tells_the_time_left() {
        let line = plain("compare", 25, 100, Duration::from_secs(5));
        assert_eq!(line, "hotlink: compare: 25 of 100, about 15 s left");
    }

    #[test]
    fn steps_beyond_the_total_are_no_panic() {
        for when in [When::Auto, When::Always, When::Never] {
            let progress = Progress::new("x", 1, when);
            (0..3).for_each(|_| progress.step());
        }
    }
}
