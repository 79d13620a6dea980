//! Operations per second of the LogGP level: 1,024 ranks, binomial broadcast and dissemination barrier x 100.
//!
//! `cargo run --release -p hotlink-loggp --example goal_rates [RANKS [REPEAT]]`

use hotlink_bench::{Script, Step};
use hotlink_loggp::{LogGops, LogGp, Machine, Schedule, simulate};
use hotlink_message::Error;
use hotlink_port::Driver;
use std::time::Instant;

/// Times `work`, prints it with its rate, hands its result on.
fn timed<T>(what: &str, operations: usize, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let s = start.elapsed().as_secs_f64();
    println!("{what:<10} {s:>8.3} s   {:>7.2} million operations/s", operations as f64 / s / 1e6);
    result
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: unknown");
    line[6..].trim().to_owned()
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u32>().expect("a number"));
    let (ranks, repeat) = (args.next().unwrap_or(1024), args.next().unwrap_or(100));
    let steps: Vec<Step> =
        ["bcast:binomial:8", "barrier:dissemination"].map(|name| name.parse().expect("a known collective")).into();
    let machine: LogGops = "L=2us,o=0.5us,g=50ns,G=0.08ns".parse().expect("parameters");
    let script = Script { steps: &steps, repeat };
    let run = |mut driver: LogGp| {
        let start = Instant::now();
        let ended: Vec<Result<(), Error>> = driver.run(ranks, &script).expect("runs to its end");
        assert!(ended.iter().all(Result::is_ok));
        (driver, start.elapsed().as_secs_f64())
    };
    let (_, port_s) = run(LogGp::new(Machine::of_messages("x", machine)));
    let (mut driver, recorded_s) = run(LogGp::new(Machine::of_messages("x", machine)).recording());
    let schedule = driver.schedule().expect("recorded");
    let operations = schedule.ops().len();
    println!(
        "{operations} operations, {} dependencies; the stack on the port in {port_s:.3} s, recorded in {recorded_s:.3} s",
        schedule.dependencies(),
    );
    println!("memory     {}", peak_memory());
    let outcome = timed("simulate", operations, || simulate(&schedule, &machine)).expect("runs to its end");
    println!("memory     {}", peak_memory());
    let mut text = Vec::new();
    timed("write", operations, || schedule.write(&mut text)).expect("memory");
    let text = String::from_utf8(text).expect("text");
    let read = timed("parse", operations, || Schedule::parse(&text)).expect("what was written");
    assert_eq!(read, schedule);
    println!(
        "{} MB of text; {} us simulated, bound {} us ({}), {} messages, {} events, trace {:016x}",
        text.len() / 1_000_000,
        outcome.latency().us(),
        outcome.bound.us(),
        outcome.limit,
        outcome.messages,
        outcome.events,
        outcome.trace_hash
    );
}
