//! `make fuzz-messages`: random programs on every port, for as many messages as asked for.
//!
//! Options:
//! - `--port NAME`: `loopback`, `shm`, `tcp`, `mixed` or a fabric of the catalog; repeatable, all by default.
//! - `--messages N`, `--seconds S`: each port's limits.
//! - `--seed S`, `--longest BYTES`.
//! - `--script FILE`: runs a program that was found.
//! - `--out FILE --programs N`: writes programs that MPI allows, one JSON object a line, with what the ranks received
//!   over shared memory.
//! - `--judge FILE`: judges such lines with what other ranks received.

use hotlink_fabric::{Fabric, catalog};
use hotlink_fuzz::{
    Faults, Ground, Hunted, Promise, Report, Run, Script, Scripts, Seen, as_test, generate, hunt, judge, limits_of, run,
};
use hotlink_port::loopback::{Loopback, Random};
use hotlink_port::{Driver, Limits, Rank};
use hotlink_real::{Mixed, Options, Shm, Tcp};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Ports by what they can do: no deposits; deposits only, from processor and adapter; fetches; two-sided adapters; RDMA.
const PORTS: [&str; 12] = [
    "loopback",
    "shm",
    "tcp",
    "mixed",
    "w01-sci-d330",
    "k98-sci",
    "k98-myrinet",
    "qsnet",
    "k98-t3d",
    "ib-ndr-fat-tree2",
    "gige",
    "sharp",
];
/// Programs that real ranks run before they are forked anew.
const BATCH: u64 = 200;

struct Asked {
    ports: Vec<String>,
    messages: u64,
    seconds: f64,
    seed: u64,
    longest: u64,
    programs: u64,
    script: Option<String>,
    out: Option<String>,
    judge: Option<String>,
}

fn asked() -> Result<Asked, String> {
    let (ports, seed) = (Vec::new(), 1);
    let mut asked = Asked {
        ports,
        messages: 10_000_000,
        seconds: f64::INFINITY,
        seed,
        longest: 200_000,
        programs: 300,
        script: None,
        out: None,
        judge: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: its value is missing"))?;
        let number = || value.replace('_', "").parse::<f64>().map_err(|_| format!("{word} {value}: not a number"));
        match word.as_str() {
            "--port" => asked.ports.extend(value.split(',').map(str::to_owned)),
            "--messages" => asked.messages = number()? as u64,
            "--seconds" => asked.seconds = number()?,
            "--seed" => asked.seed = number()? as u64,
            "--longest" => asked.longest = number()? as u64,
            "--programs" => asked.programs = number()? as u64,
            "--script" => asked.script = Some(value),
            "--out" => asked.out = Some(value),
            "--judge" => asked.judge = Some(value),
            _ => return Err(format!("{word}: no such option; the first lines of this example's source list them")),
        }
    }
    if asked.ports.is_empty() {
        asked.ports = PORTS.map(str::to_owned).to_vec();
    }
    Ok(asked)
}

fn main() -> ExitCode {
    let done = asked().and_then(|asked| match (&asked.judge, &asked.out) {
        (Some(file), _) => judge_lines(file),
        (None, Some(file)) => write_lines(file, &asked),
        _ => asked.ports.iter().try_fold(true, |well, port| Ok(fuzz(port, &asked)? && well)),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("fuzz_messages: {error}");
            ExitCode::from(2)
        }
    }
}

fn real_options() -> Options {
    Options { limit: Some(Duration::from_secs(120)), pin: false, ..Options::default() }
}

/// Runs programs on a port; whether all was well.
fn fuzz(port: &str, asked: &Asked) -> Result<bool, String> {
    match port {
        "loopback" => {
            let on = |seed: u64, scripts: &[Script]| {
                let mut random = Random::new(seed ^ 0x57A6E);
                let (inbox, entries) = (1 + random.below(20) as usize, if random.chance(50) { 12 } else { 1 << 20 });
                run(Loopback { seed, inbox, entries, deposits: random.chance(85) }, Faults::of(seed), scripts)
            };
            fuzz_on(port, asked, (limits(&mut Loopback::default())?, 1), 9000, on)
        }
        "shm" => {
            let on = |seed: u64, scripts: &[Script]| run(Shm::new(real_options()), Faults::of(seed), scripts);
            fuzz_on(port, asked, (limits(&mut Shm::new(real_options()))?, BATCH), asked.longest, on)
        }
        "tcp" => {
            let on = |seed: u64, scripts: &[Script]| run(Tcp::new(real_options()), Faults::of(seed), scripts);
            fuzz_on(port, asked, (limits(&mut Tcp::new(real_options()))?, BATCH), asked.longest, on)
        }
        "mixed" => {
            // Two hosts: of three and four ranks some share memory, and all have TCP to some.
            let driver = || Mixed::new(real_options()).playing(2);
            let on = |seed: u64, scripts: &[Script]| run(driver(), Faults::of(seed), scripts);
            fuzz_on(port, asked, (limits(&mut driver())?, BATCH), asked.longest, on)
        }
        fabric => {
            let spec = catalog::load(fabric).map_err(|mistakes| format!("{mistakes:?}"))?;
            let built = Fabric::build(&spec, 4).map_err(|error| error.to_string())?;
            let settings = Settings::of(&spec);
            let plan = Plan::new(&built, &settings).map_err(|error| error.to_string())?;
            // Every program has a world of its own. Its hosts take over what earlier ones know of their memory, because
            // to find it out anew takes most of the time.
            let mut driver = VirtualTime::new(&plan, &settings).map_err(|missing| missing.to_string())?;
            let limits = limits(&mut driver)?;
            let on = |seed: u64, scripts: &[Script]| run(&mut driver, Faults::of(seed), scripts);
            fuzz_on(port, asked, (limits, 1), asked.longest, on)
        }
    }
}

/// The claims of a driver's ports.
fn limits(driver: &mut impl Driver) -> Result<Limits, String> {
    limits_of(driver, 2).map_err(|error| error.to_string())
}

fn fuzz_on(
    port: &str,
    asked: &Asked,
    (limits, batch): (Limits, u64),
    longest: u64,
    mut on: impl FnMut(u64, &[Script]) -> Run,
) -> Result<bool, String> {
    if let Some(file) = &asked.script {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        let script: Script = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
        let wrong: Vec<_> =
            (0..100).flat_map(|turn| on(asked.seed ^ turn, std::slice::from_ref(&script)).wrong).collect();
        wrong.iter().take(3).for_each(|(_, what)| println!("{port}: {what}"));
        println!("{port}: {} of 100 runs of {file} went wrong", wrong.len());
        return Ok(wrong.is_empty());
    }
    let ground = Ground::new(limits, longest);
    let (start, mut told) = (Instant::now(), Instant::now());
    let hunted = hunt((asked.seed, asked.messages), batch, &ground, &mut on, |so_far| {
        if told.elapsed() > Duration::from_secs(20) {
            told = Instant::now();
            eprintln!("{port}: {} messages after {:.0} s", so_far.messages, start.elapsed().as_secs_f64());
        }
        start.elapsed().as_secs_f64() > asked.seconds
    });
    report(port, asked.seed, &hunted, start.elapsed())
}

fn report(port: &str, seed: u64, hunted: &Hunted, took: Duration) -> Result<bool, String> {
    let Hunted { programs, messages, counters, found } = hunted;
    let rate = *messages as f64 / took.as_secs_f64();
    let verdict = if found.is_some() { "FAILED" } else { "all as MPI's rules allow" };
    println!("{port}: seed {seed}, {programs} programs, {messages} messages, {rate:.0}/s: {verdict}");
    let json = serde_json::to_string(counters).map_err(|error| error.to_string())?;
    println!("{port}: {json}");
    let Some(found) = found else { return Ok(true) };
    found.wrong.iter().take(8).for_each(|what| println!("{port}: {what}"));
    let json = serde_json::to_string(&found.script).map_err(|error| error.to_string())?;
    println!("{}", as_test(found.seed, &json));
    Ok(false)
}

/// A program, and what the ranks received: here, and elsewhere.
#[derive(Serialize, Deserialize)]
struct Line {
    script: Script,
    here: Vec<Vec<Seen>>,
    #[serde(default)]
    there: Vec<Vec<Seen>>,
}

fn write_lines(file: &str, asked: &Asked) -> Result<bool, String> {
    let limits = limits(&mut Shm::new(real_options()))?;
    let ground = Ground { truncates: false, ..Ground::new(limits, asked.longest) };
    let mut text = String::new();
    for seed in asked.seed..asked.seed + asked.programs {
        let script = generate(seed, &ground);
        let program = Scripts { scripts: std::slice::from_ref(&script), tells: true };
        let reports: Vec<Report> =
            Shm::new(real_options()).run(script.ranks.len() as Rank, &program).map_err(|error| error.to_string())?;
        let here = reports.into_iter().map(|mut report| report.seen.swap_remove(0)).collect();
        let line = Line { script, here, there: Vec::new() };
        text += &(serde_json::to_string(&line).map_err(|error| error.to_string())? + "\n");
    }
    std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))?;
    Ok(true)
}

/// Both results must be what MPI allows, and the same where MPI allows one.
fn judge_lines(file: &str) -> Result<bool, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let (mut wrong, mut programs, mut messages, mut fixed) = (0u64, 0u64, 0u64, 0u64);
    for (number, line) in text.lines().enumerate() {
        let line: Line = serde_json::from_str(line).map_err(|error| format!("{file}:{}: {error}", number + 1))?;
        programs += 1;
        messages += line.script.messages();
        for rank in 0..line.script.ranks.len() {
            let here = judge(&line.script, rank as Rank, &line.here[rank], Promise::OneOrder);
            let there = line.there.get(rank).map(Vec::as_slice).unwrap_or_default();
            let there_wrong = judge(&line.script, rank as Rank, there, Promise::Mpi);
            let mut told: Vec<String> = here.iter().map(|what| format!("here: {what}")).collect();
            told.extend(there_wrong.iter().map(|what| format!("there: {what}")));
            if line.script.is_fixed(rank as Rank) {
                fixed += line.here[rank].len() as u64;
                let differ = line.here[rank].iter().zip(there).position(|(here, there)| here != there);
                told.extend(differ.map(|at| format!("rank {rank}: receive {at} differs")));
            }
            wrong += told.len() as u64;
            told.iter().for_each(|what| println!("{file}:{}: {what}", number + 1));
        }
    }
    println!("{programs} programs, {messages} messages, {fixed} receives with one outcome compared: {wrong} wrong");
    Ok(wrong == 0 && programs > 0)
}
