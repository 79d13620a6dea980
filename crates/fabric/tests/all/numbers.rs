//! The arithmetic that every machine must do alike: random numbers and functions computed in software.

use hotlink_fabric::maths::{exp, hypot, ln, log2, log10, powf, powi};
use hotlink_fabric::rng::SplitMix64;

#[test]
fn the_sequence_is_the_published_one() {
    let mut rng = SplitMix64::new(1_234_567);
    let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
    assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
}

#[test]
fn numbers_stay_below_their_bound_and_reach_all_values() {
    let mut rng = SplitMix64::new(7);
    let mut seen = [0; 6];
    (0..600).for_each(|_| seen[rng.below(6) as usize] += 1);
    assert!(seen.iter().all(|&n| n > 60), "{seen:?}");
}

#[test]
fn functions_have_known_values() {
    assert_eq!([ln(1.0), exp(0.0), log2(8.0), log10(1000.0)], [0.0, 1.0, 3.0, 3.0]);
    assert_eq!([powf(2.0, 0.5), powi(3.0, 4), powi(2.0, -2), hypot(3.0, 4.0)], [2f64.sqrt(), 81.0, 0.25, 5.0]);
}
