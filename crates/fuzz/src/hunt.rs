//! Runs scripts on a port until enough messages have gone or one fails, and makes that one small.

use super::draw::{Ground, generate, setting};
use super::play::{Report, Scripts};
use super::script::Script;
use super::shrink::shrink;
use hotlink_message::Counters;
use hotlink_port::loopback::Random;
use hotlink_port::middleware::{Fault, Layered};
use hotlink_port::{Driver, Limits, Port, Rank, RunError};
use serde::{Deserialize, Serialize};

/// Runs tried before a smaller script counts as one that does not fail.
const TURNS: u64 = 40;
/// Smaller scripts tried.
const TRIES: u64 = 1500;

/// How often a port is busy, late or out of resources, in percent, and the seed that draws when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Which cases.
    pub seed: u64,
    /// Posts answered with busy.
    pub busy: u64,
    /// Polls that give nothing.
    pub late: u64,
    /// Registrations refused.
    pub scarce: u64,
}

impl Faults {
    /// Drawn from a seed; half of each are none.
    pub fn of(seed: u64) -> Faults {
        let mut random = Random::new(seed ^ 0xFA07);
        let mut percent = || if random.chance(50) { 0 } else { random.below(60) };
        Faults { seed, busy: percent(), late: percent(), scarce: percent() }
    }
}

/// The result of a run of scripts.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What is wrong, each with its script.
    pub wrong: Vec<(usize, String)>,
    /// Counts of all ranks together.
    pub counters: Vec<Counters>,
}

/// What a driver's ports claim between so many ranks.
///
/// # Errors
/// The driver's.
pub fn limits_of<D: Driver>(driver: &mut D, ranks: Rank) -> Result<Limits, RunError> {
    struct Ask;
    impl<P: Port> hotlink_port::Program<P, Limits> for Ask {
        async fn run(&self, mut port: P) -> Limits {
            let limits = port.limits().clone();
            port.close();
            limits
        }
    }
    Ok(driver.run(ranks, &Ask)?.swap_remove(0))
}

/// Runs scripts of as many ranks each, one after the other, on ports with faults.
pub fn run<D: Driver>(driver: D, faults: Faults, scripts: &[Script]) -> Run {
    let Faults { seed, busy, late, scarce } = faults;
    let layer = |rank: Rank| Fault::new(seed ^ u64::from(rank), busy, late, scarce);
    let ranks = scripts.first().map_or(1, |script| script.ranks.len()) as Rank;
    let program = Scripts { scripts, tells: false };
    let reports: Result<Vec<Report>, RunError> = Layered::new(driver, layer).run(ranks, &program);
    match reports {
        Err(error) => Run { wrong: vec![(usize::MAX, error.to_string())], counters: Vec::new() },
        Ok(reports) => Run {
            counters: reports.iter().map(|report| report.counters).collect(),
            wrong: reports.into_iter().flat_map(|report| report.wrong).map(|(at, what)| (at as usize, what)).collect(),
        },
    }
}

/// A script that fails.
#[derive(Clone, Debug)]
pub struct Found {
    /// The seed that drew it, and the run's that failed.
    pub seed: u64,
    /// As small as could be found.
    pub script: Script,
    /// What is wrong with it.
    pub wrong: Vec<String>,
}

/// How far a hunt came.
#[derive(Clone, Debug, Default)]
pub struct Hunted {
    /// Programs run.
    pub programs: u64,
    /// Messages in them.
    pub messages: u64,
    /// What the protocols did, all ranks together.
    pub counters: Counters,
    /// What failed first, if anything did.
    pub found: Option<Found>,
}

/// Draws programs from `seed` on and runs them by `run`, `batch` at a time with one tuning and number of ranks. The
/// seed of `run` is that of the schedule and the faults. Ends when so many messages have gone, `enough` says so, or one
/// fails.
pub fn hunt(
    (seed, messages): (u64, u64),
    batch: u64,
    ground: &Ground,
    mut run: impl FnMut(u64, &[Script]) -> Run,
    mut enough: impl FnMut(&Hunted) -> bool,
) -> Hunted {
    let (mut hunted, mut at) = (Hunted::default(), seed);
    while hunted.messages < messages && !enough(&hunted) {
        // A batch of one draws what its seed alone draws.
        let ground = if batch == 1 { ground.clone() } else { Ground { setting: Some(setting(at)), ..ground.clone() } };
        let scripts: Vec<Script> = (at..at + batch).map(|seed| generate(seed, &ground)).collect();
        let done = run(at, &scripts);
        hunted.programs += batch;
        hunted.messages += scripts.iter().map(Script::messages).sum::<u64>();
        done.counters.iter().for_each(|counters| add(&mut hunted.counters, counters));
        if !done.wrong.is_empty() {
            hunted.found = Some(isolate(at, &scripts, done, &mut run));
            break;
        }
        at += batch;
    }
    hunted
}

/// Finds the script of a batch that fails by itself, and makes it small.
fn isolate(seed: u64, scripts: &[Script], done: Run, run: &mut impl FnMut(u64, &[Script]) -> Run) -> Found {
    let told = |done: &Run| done.wrong.iter().map(|(_, what)| what.clone()).collect::<Vec<_>>();
    let several = scripts.len() > 1;
    // On a port of real time one run of many copies; else one of each of many schedules.
    let mut failing = |script: &Script| {
        if several {
            let copies = vec![script.clone(); TURNS as usize];
            let done = run(seed, &copies);
            return (!done.wrong.is_empty()).then(|| (seed, told(&done)));
        }
        (0..TURNS).find_map(|turn| {
            let done = run(seed ^ turn, std::slice::from_ref(script));
            (!done.wrong.is_empty()).then(|| (seed ^ turn, told(&done)))
        })
    };
    let named: Vec<&Script> = done.wrong.iter().filter_map(|&(at, _)| scripts.get(at)).collect();
    let suspects: Vec<&Script> = if named.is_empty() { scripts.iter().collect() } else { named };
    let culprit = suspects.into_iter().find(|script| failing(script).is_some());
    let Some(culprit) = culprit else {
        let mut wrong = told(&done);
        wrong.push(format!("none of the {} scripts from seed {seed} on fails alone", scripts.len()));
        return Found { seed, script: scripts[0].clone(), wrong };
    };
    let script = shrink(culprit, TRIES, |script| failing(script).is_some());
    let (seed, wrong) = failing(&script).unwrap_or_else(|| (seed, told(&done)));
    Found { seed, script, wrong }
}

fn add(sum: &mut Counters, counters: &Counters) {
    let pairs = [
        (&mut sum.eager, counters.eager),
        (&mut sum.pieces, counters.pieces),
        (&mut sum.fetched, counters.fetched),
        (&mut sum.halved, counters.halved),
        (&mut sum.deposited, counters.deposited),
        (&mut sum.early, counters.early),
        (&mut sum.unexpected, counters.unexpected),
        (&mut sum.held_back, counters.held_back),
        (&mut sum.credits, counters.credits),
        (&mut sum.buffered, counters.buffered),
        (&mut sum.packed, counters.packed),
    ];
    pairs.into_iter().for_each(|(sum, more)| *sum += more);
}
