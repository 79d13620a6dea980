//! The bounded run of the checker, part of every test run: see `make prove-messages` for the long one.

use super::{Cases, Seen, chosen, search};

/// States that the bounded run visits at least; fewer where mutants are run, each of which has to wait for it.
fn states() -> u64 {
    std::env::var("HOTLINK_PROVE_STATES").ok().and_then(|states| states.parse().ok()).unwrap_or(1_000_000)
}

#[test]
fn a_million_states_of_small_programs_are_right() {
    let mut seen = Seen::default();
    for case in chosen() {
        seen.merge(&search(&case, 5_000, &|| false).unwrap_or_else(|fault| panic!("{}", fault.source())));
    }
    let of_chosen = seen.clone();
    let absent: Vec<_> = of_chosen.pairs.missing().into_iter().filter(|(one, other)| one == other).collect();
    assert_eq!(absent, [], "every feature occurs in the chosen programs");
    for number in 0.. {
        if seen.states >= states() {
            break;
        }
        let Some(case) = Cases::get(3, number) else { continue };
        match search(&case, 20_000, &|| false) {
            Ok(more) => seen.merge(&more),
            Err(fault) => panic!("case {number}, after {} states:\n{}", seen.states, fault.source()),
        }
    }
    let Seen { cases, states: found, depth, cut, .. } = seen;
    println!("programs {cases} ({cut} of them cut), states {found}, depth {depth}");
    println!("of these chosen: {} programs ({} cut), {} states", of_chosen.cases, of_chosen.cut, of_chosen.states);
    println!("{}", seen.pairs.table());
    if found >= 1_000_000 {
        assert_eq!(seen.pairs.missing(), [], "every two features meet in some run");
    }
}
