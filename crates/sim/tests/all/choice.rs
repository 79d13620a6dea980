//! The algorithm that the cost model picks, beside what the packets say of all of them.

use hotlink_bench::{Collected, Collective, Plan as Runs, Start, Summary, Told, Tuned, Tuning, Which};
use hotlink_fabric::{Fabric, catalog};
use hotlink_message::{Algorithm, Error};
use hotlink_port::{Driver, OnAny};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};

/// Time that the choice may take, in that of the best. Figures in `docs/reports/2026-11-29-choice-of-algorithms.md`.
const WORST: f64 = 1.3;
/// What a longer message may take less.
const FALL: f64 = 0.05;
const SIZES: [u64; 6] = [8, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10];

fn run(driver: &mut VirtualTime<'_>, ranks: u32, which: Which, size: u64, by: Option<Algorithm>) -> (Algorithm, f64) {
    let bench = Collective { which, size, private: false, start: Start::Barrier, background: None, plan: Runs::once() };
    let algorithms = by.iter().map(|&by| (which.collective(), by)).collect();
    let tuned = Tuned { bench: &bench, tuning: Tuning { algorithms, ..Tuning::default() } };
    let told: Vec<Result<Told<Collected>, Error>> = driver.run(ranks, &OnAny(&tuned)).expect("it ends");
    let told: Vec<Told<Collected>> = told.into_iter().map(|told| told.expect("a result")).collect();
    let ran = told[0].counters.algorithms[which.collective() as usize].expect("it ran");
    let each: Vec<Collected> = told.into_iter().map(|told| told.result).collect();
    let slowest = Collective::slowest(&Collected::samples(&each));
    (ran, Summary::of(&slowest.values).expect("a sample").median)
}

/// For the sizes up to `most`.
fn holds(name: &str, ranks: u32, most: u64) {
    let spec = catalog::load(name).expect(name);
    let fabric = Fabric::build(&spec, ranks).expect(name);
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect(name);
    let mut driver = VirtualTime::new(&plan, &settings).expect(name);
    let limits = driver.limits(ranks);
    let mut wrong = Vec::new();
    for which in Which::ALL.into_iter().filter(|which| *which != Which::Alltoallv) {
        let collective = which.collective();
        let sizes = if which == Which::Barrier { &[0][..] } else { &SIZES[..] };
        let mut longest: f64 = 0.0;
        for &size in sizes.iter().filter(|&&size| size <= most) {
            let (chosen, took) = run(&mut driver, ranks, which, size, None);
            let possible = collective.candidates().iter().filter(|by| by.is_possible(collective, &limits));
            let all: Vec<(Algorithm, f64)> =
                possible.map(|&by| run(&mut driver, ranks, which, size, Some(by))).collect();
            let best = all.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).expect("one");
            if took > WORST * best.1 {
                let (chosen, by) = (chosen.name(), best.0.name());
                let name = which.name();
                wrong.push(format!("{name}, {size} B: {chosen} takes {took:.1} us, {by} {:.1} us", best.1));
            }
            if took < longest * (1.0 - FALL) {
                wrong.push(format!("{}, {size} B: {took:.1} us, and {longest:.1} us for less", which.name()));
            }
            longest = longest.max(took);
        }
    }
    assert!(wrong.is_empty(), "{name}, {ranks} ranks:\n{}", wrong.join("\n"));
}

#[test]
fn the_choice_is_near_the_best_on_switched_fabrics() {
    for name in ["ib-ndr-fat-tree2", "eth-400g-leaf-spine", "slingshot-dragonfly"] {
        [4, 16].into_iter().for_each(|ranks| holds(name, ranks, u64::MAX));
    }
}

/// Packets of 64 B: what 16 ranks send each other in long messages takes more events than all else here.
#[test]
fn the_choice_is_near_the_best_on_a_ring() {
    [(4, u64::MAX), (16, 16 << 10)].into_iter().for_each(|(ranks, most)| holds("sci-ring", ranks, most));
}

#[test]
fn the_choice_is_near_the_best_on_slow_hosts() {
    for name in ["qsnet", "k98-myrinet", "gige"] {
        [4, 16].into_iter().for_each(|ranks| holds(name, ranks, u64::MAX));
    }
}
