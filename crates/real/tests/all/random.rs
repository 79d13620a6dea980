//! Random programs between real processes: MPI's matching rules allow what they receive. The long run is `make
//! fuzz-messages`.

use hotlink_fuzz::{Faults, Ground, Hunted, Script, as_test, hunt, limits_of, run};
use hotlink_real::{Mixed, Options, Shm, Tcp};
use std::time::Duration;

fn options() -> Options {
    Options { limit: Some(Duration::from_secs(120)), pin: false, ..Options::default() }
}

fn assert_none(hunted: Hunted) {
    if let Some(found) = hunted.found {
        let json = serde_json::to_string(&found.script).unwrap();
        panic!("{:#?}\n{}", found.wrong, as_test(found.seed, &json));
    }
}

#[test]
fn random_programs_receive_what_the_rules_allow_over_shared_memory() {
    let ground = Ground::new(limits_of(&mut Shm::new(options()), 2).unwrap(), 200_000);
    let on = |seed: u64, scripts: &[Script]| run(Shm::new(options()), Faults::of(seed), scripts);
    assert_none(hunt((1, 12_000), 100, &ground, on, |_| false));
}

#[test]
fn random_programs_receive_what_the_rules_allow_over_tcp() {
    let ground = Ground::new(limits_of(&mut Tcp::new(options()), 2).unwrap(), 200_000);
    let on = |seed: u64, scripts: &[Script]| run(Tcp::new(options()), Faults::of(seed), scripts);
    assert_none(hunt((1, 12_000), 100, &ground, on, |_| false));
}

#[test]
fn random_programs_receive_what_the_rules_allow_over_both() {
    let driver = || Mixed::new(options()).playing(2);
    let ground = Ground::new(limits_of(&mut driver(), 2).unwrap(), 200_000);
    let on = |seed: u64, scripts: &[Script]| run(driver(), Faults::of(seed), scripts);
    assert_none(hunt((1, 6_000), 100, &ground, on, |_| false));
}
