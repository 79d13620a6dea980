//! Random programs on simulated fabrics: what they receive is what MPI's matching rules allow. The long run is
//! `make fuzz-messages`.

use hotlink_fabric::{Fabric, catalog};
use hotlink_fuzz::{Faults, Ground, Script, Step, TURNS, Tuning, as_test, hunt, limits_of, run};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};

fn with(name: &str, test: impl FnOnce(&mut VirtualTime<'_>)) {
    let spec = catalog::load(name).expect(name);
    let fabric = Fabric::build(&spec, 4).expect(name);
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect(name);
    test(&mut VirtualTime::new(&plan, &settings).expect(name));
}

/// A port of each kind: deposits by processor and adapter, two-sided adapters, fetches, RDMA, the kernel's.
#[test]
fn random_programs_receive_what_the_rules_allow_on_fabrics() {
    for name in ["w01-sci-d330", "k98-myrinet", "qsnet", "k98-t3d", "ib-ndr-fat-tree2", "gige"] {
        with(name, |driver| {
            let ground = Ground::new(limits_of(driver, 2).expect(name), 20_000);
            let mut on = |seed: u64, scripts: &[Script]| run(&mut *driver, Faults::of(seed), scripts);
            let hunted = hunt((1, 600), 1, &ground, &mut on, |_| false);
            if let Some(found) = hunted.found {
                let json = serde_json::to_string(&found.script).unwrap();
                panic!("{name}: {:#?}\n{}", found.wrong, as_test(found.seed, &json));
            }
        });
    }
}

/// An import interrupted the exporter after its timer had been set. The timer found it busy, and nothing woke it again.
#[test]
fn an_interrupt_delays_a_rank_and_no_more() {
    let script: Script = serde_json::from_str(include_str!("../found/w01-4297.json")).unwrap();
    with("w01-sci-d330", |driver| {
        for turn in 0..20 {
            let done = run(&mut *driver, Faults::of(4297 ^ turn), std::slice::from_ref(&script));
            assert_eq!(done.wrong, [], "seed {}", 4297 ^ turn);
        }
    });
}

/// A rank that has had many turns waits for events where it waits for a request, not where it only pauses. Otherwise a
/// program on Gigabit Ethernet made no progress.
#[test]
fn a_pause_ends_however_long_the_program_has_run() {
    // It takes what rank 1 says of the last barrier, and then nothing arrives.
    let pause = Step::Pause { turns: TURNS + 100, polls: true };
    let script = Script { seed: 1, tuning: Tuning::default(), ranks: vec![vec![pause], Vec::new()] };
    with("gige", |driver| assert_eq!(run(driver, Faults::default(), &[script]).wrong, []));
}
