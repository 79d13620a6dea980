//! The long run of the message engine's checker: `make prove-messages`. See `docs/message-proof.md`.
//!
//! `prove [--messages N] [--cases N] [--first N] [--limit STATES] [--seconds N] [--threads N]` runs the chosen programs
//! (unless `first` is given), then cases of at most N messages (3). Cases begin at number `first` (0) and end after the
//! given count (all) or so many seconds (600). Each runs to its end or to so many states (200,000). The program reports
//! its progress every 20 s, and prints a summary when its time is up.

use hotlink_message::prove::{Case, Cases, Fault, Seen, chosen, search};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const USAGE: &str =
    "usage: prove [--messages 1..3] [--cases N] [--first N] [--limit STATES] [--seconds N] [--threads N]";

/// From one line about how far it is to the next.
const BETWEEN: Duration = Duration::from_secs(20);

struct Args {
    messages: usize,
    cases: u64,
    first: u64,
    limit: u64,
    seconds: u64,
    threads: u64,
}

fn args() -> Result<Args, String> {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let mut args = Args { messages: 3, cases: u64::MAX, first: 0, limit: 200_000, seconds: 600, threads };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().and_then(|value| value.replace(['_', ','], "").parse::<u64>().ok());
        let value = value.ok_or_else(|| format!("{word} needs a number\n{USAGE}"))?;
        match word.as_str() {
            "--messages" if (1..=3).contains(&value) => args.messages = value as usize,
            "--cases" => args.cases = value,
            "--first" => args.first = value,
            "--limit" => args.limit = value,
            "--seconds" => args.seconds = value,
            "--threads" if value > 0 => args.threads = value,
            _ => return Err(format!("{word} {value} is not possible\n{USAGE}")),
        }
    }
    Ok(args)
}

/// State that the threads share.
struct Run {
    args: Args,
    /// Programs that meet a protocol where it is delicate, which come first; then the numbered ones from `first` to `end`.
    chosen: Vec<Case>,
    end: u64,
    next: AtomicU64,
    stop: AtomicBool,
    seen: Mutex<Seen>,
    faults: Mutex<Vec<(String, Box<Fault>)>>,
}

impl Run {
    fn new(args: Args) -> Run {
        let end = args.first.saturating_add(args.cases).min(Cases::count(args.messages));
        Run {
            // A search that starts from a number has run them before.
            chosen: if args.first == 0 { chosen() } else { Vec::new() },
            end,
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            seen: Mutex::default(),
            faults: Mutex::default(),
            args,
        }
    }
    /// Numbers below this one are taken.
    fn last(&self) -> u64 {
        let taken = self.next.load(Relaxed).saturating_sub(self.chosen.len() as u64);
        self.args.first.saturating_add(taken).min(self.end)
    }
    fn is_over(&self) -> bool {
        self.stop.load(Relaxed) || self.last() >= self.end
    }
    /// The next case, if it is not another one renamed, and its name; `None`: there is none left.
    fn take(&self) -> Option<(String, Option<Case>)> {
        let turn = self.next.fetch_add(1, Relaxed);
        if let Some(case) = self.chosen.get(turn as usize) {
            return Some((format!("chosen program {turn}"), Some(case.clone())));
        }
        let number = self.args.first + (turn - self.chosen.len() as u64);
        (number < self.end).then(|| (format!("case {number}"), Cases::get(self.args.messages, number)))
    }
    fn work(&self) {
        while !self.stop.load(Relaxed) {
            let Some((name, case)) = self.take() else { break };
            let Some(case) = case else { continue };
            match search(&case, self.args.limit, &|| self.stop.load(Relaxed)) {
                Ok(seen) => self.seen.lock().unwrap().merge(&seen),
                Err(fault) => {
                    self.faults.lock().unwrap().push((name, fault));
                    self.stop.store(true, Relaxed);
                }
            }
        }
    }
    /// Says now and then how far it is, until all is done or the time is up.
    fn watch(&self) {
        let (start, mut told) = (Instant::now(), Instant::now());
        while start.elapsed().as_secs() < self.args.seconds && !self.is_over() {
            std::thread::sleep(Duration::from_millis(100));
            if told.elapsed() > BETWEEN {
                told = Instant::now();
                let seen = self.seen.lock().unwrap().clone();
                eprintln!(
                    "{:.0} s: programs {} ({} cut), numbers below {}, states {}, depth {}, {} pairs have not met",
                    start.elapsed().as_secs_f64(),
                    seen.cases,
                    seen.cut,
                    self.last(),
                    seen.states,
                    seen.depth,
                    seen.pairs.missing().len()
                );
            }
        }
        if start.elapsed().as_secs() >= self.args.seconds {
            self.stop.store(true, Relaxed);
        }
    }
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    // A panic of an engine is a fault, which is reported with its trace.
    std::panic::set_hook(Box::new(|_| {}));
    let run = Run::new(args);
    std::thread::scope(|scope| {
        (0..run.args.threads).for_each(|_| _ = scope.spawn(|| run.work()));
        run.watch();
    });
    report(&run);
    let faults = run.faults.into_inner().unwrap();
    for (name, fault) in &faults {
        println!("\n{name} is wrong; the shortest way there, as a test:\n\n{}", fault.source());
    }
    ExitCode::from(u8::from(!faults.is_empty()))
}

fn report(run: &Run) {
    let (args, seen, last, all) = (&run.args, run.seen.lock().unwrap(), run.last(), Cases::count(run.args.messages));
    println!(
        "programs {}, states {}, moves {}, depth {}, ends {} (of which {} where a program waits for what no rank does)",
        seen.cases, seen.states, seen.moves, seen.depth, seen.ends, seen.stuck
    );
    println!(
        "seen: {} chosen programs, then numbers {}..{last} of {all} ({:.1e} %), the rest of them others with ranks or tags \
         renamed; {} programs were cut at {} states or by the end of the time",
        run.chosen.len().min(run.next.load(Relaxed) as usize),
        args.first,
        (last - args.first) as f64 / all as f64 * 100.0,
        seen.cut,
        args.limit
    );
    println!("\nruns in which two features met (the diagonal: in which one occurred):\n{}", seen.pairs.table());
    for (one, other) in seen.pairs.missing() {
        println!("{one} and {other} did not meet: no program so far has both, and a longer run may");
    }
}
