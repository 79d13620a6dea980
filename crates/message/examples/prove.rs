//! The long run of the message engine's checker: `make prove-messages`. See `docs/message-proof.md`.
//!
//! `prove [--messages N] [--cases N] [--first N] [--limit STATES] [--seconds N] [--threads N]`: cases of at most N messages
//! (3), from number `first` (0) on, as many as given (all) or as fit in so many seconds (600), each to the end or to so
//! many states (200,000).

use hotlink_message::prove::{Cases, Fault, Seen, search};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const USAGE: &str =
    "usage: prove [--messages 1..3] [--cases N] [--first N] [--limit STATES] [--seconds N] [--threads N]";

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

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    // A panic of an engine is a fault, which is told with its trace.
    std::panic::set_hook(Box::new(|_| {}));
    let all = Cases::count(args.messages);
    let end = args.first.saturating_add(args.cases).min(all);
    let (next, stop) = (AtomicU64::new(args.first), AtomicBool::new(false));
    let (total, faults) = (Mutex::new(Seen::default()), Mutex::new(Vec::<(u64, Box<Fault>)>::new()));
    std::thread::scope(|scope| {
        for _ in 0..args.threads {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let number = next.fetch_add(1, Relaxed);
                    if number >= end {
                        break;
                    }
                    let Some(case) = Cases::get(args.messages, number) else { continue };
                    match search(&case, args.limit) {
                        Ok(seen) => total.lock().unwrap().merge(&seen),
                        Err(fault) => {
                            faults.lock().unwrap().push((number, fault));
                            stop.store(true, Relaxed);
                        }
                    }
                }
            });
        }
        // The engines have no clock, and neither has the checker: time is kept here.
        let mut left = args.seconds * 10;
        while left > 0 && !stop.load(Relaxed) && next.load(Relaxed) < end {
            std::thread::sleep(std::time::Duration::from_millis(100));
            left -= 1;
        }
        stop.store(true, Relaxed);
    });
    let seen = total.into_inner().unwrap();
    let last = next.into_inner().min(end);
    report(&args, &seen, last, all);
    let faults = faults.into_inner().unwrap();
    for (number, fault) in &faults {
        println!("\ncase {number} is wrong; the shortest way there, as a test:\n\n{}", fault.source());
    }
    ExitCode::from(u8::from(!faults.is_empty()))
}

fn report(args: &Args, seen: &Seen, last: u64, all: u64) {
    println!(
        "programs {}, states {}, moves {}, depth {}, ends {} (of which {} where a program waits for what nobody does)",
        seen.cases, seen.states, seen.moves, seen.depth, seen.ends, seen.stuck
    );
    println!(
        "seen: numbers {}..{last} of {all} ({:.3} %), the rest of them others with ranks or tags renamed; {} programs were \
         cut at {} states",
        args.first,
        (last - args.first) as f64 / all as f64 * 100.0,
        seen.cut,
        args.limit
    );
    println!("\nruns in which two features met (the diagonal: in which one occurred):\n{}", seen.pairs.table());
    for (one, other) in seen.pairs.missing() {
        println!(
            "{one} and {other} did not meet: no program among these has both; a longer run or `curated` ones have"
        );
    }
}
