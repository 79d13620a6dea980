//! Random programs on the loopback, under the schedules, back-pressure, delay and want of resources that seeds draw.
//! MPI's matching rules allow what they receive. The long run is `make fuzz-messages`.

use hotlink_fuzz::{Faults, Ground, Run, Script, as_test, hunt, limits_of, run};
use hotlink_port::loopback::{Loopback, Random};

/// The loopback and its faults, drawn from a seed.
fn run_on_loopback(seed: u64, scripts: &[Script]) -> Run {
    let mut random = Random::new(seed ^ 0x57A6E);
    let (inbox, entries) = (1 + random.below(20) as usize, if random.chance(50) { 12 } else { 1 << 20 });
    let loopback = Loopback { seed, inbox, entries, deposits: random.chance(85) };
    run(loopback, Faults::of(seed), scripts)
}

#[test]
fn random_programs_receive_what_the_rules_allow() {
    let ground = Ground::new(limits_of(&mut Loopback::default(), 1).unwrap(), 9000);
    let hunted = hunt((0, 60_000), 1, &ground, run_on_loopback, |_| false);
    if let Some(found) = hunted.found {
        let json = serde_json::to_string(&found.script).unwrap();
        panic!("{:#?}\n{}", found.wrong, as_test(found.seed, &json));
    }
    let counters = hunted.counters;
    // Every protocol was met.
    let met = [counters.eager, counters.pieces, counters.fetched, counters.halved, counters.deposited, counters.early];
    let more = [counters.unexpected, counters.held_back, counters.credits, counters.buffered];
    assert!(met.into_iter().chain(more).all(|count| count > 4), "{counters:?}");
}

/// Runs a script that was found once, on many schedules. Those below failed before the engine was mended.
fn replay(seed: u64, json: &str) {
    let script: Script = serde_json::from_str(json).unwrap();
    for turn in 0..40 {
        let done = run_on_loopback(seed ^ turn, std::slice::from_ref(&script));
        assert_eq!(done.wrong, [], "seed {}", seed ^ turn);
    }
}

/// The second message went to the memory of a receive that the first had been promised to.
#[test]
fn a_receive_takes_the_message_on_the_way_and_no_earlier_one() {
    replay(400692, include_str!("found/400692.json"));
}

/// A rank's program ended before it had sent the answer to an offer, because the port was busy: its sender waited
/// forever.
#[test]
fn a_rank_ends_only_when_its_answers_are_said() {
    replay(200175, include_str!("found/200175.json"));
}

/// The ranks had used up what they may send eagerly. Each waited in the barrier for its message to be received, before it
/// received.
#[test]
fn a_barrier_ends_where_its_messages_are_held_back() {
    replay(200175, include_str!("found/200175-barrier.json"));
}

/// The receiver's fetch of its half met a busy port.
#[test]
fn a_half_that_finds_the_port_busy_is_moved_all_the_same() {
    replay(399, include_str!("found/399.json"));
}
