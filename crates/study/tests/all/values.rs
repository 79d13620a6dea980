//! Lists, ranges and sizes as options and arguments write them.

use hotlink_study::text::figure;
use hotlink_study::values::{Counts, Numbers, Ratio, Ratios, Size, Sizes};
use proptest::prelude::*;

fn counts(text: &str) -> Vec<u64> {
    text.parse::<Counts>().unwrap().to_vec()
}

#[test]
fn counts_go_up_by_one_or_as_told() {
    assert_eq!(counts("2..5"), [2, 3, 4, 5]);
    assert_eq!(counts("2..1024..x4"), [2, 8, 32, 128, 512]);
    assert_eq!(counts("4..20..+8, 3, 4"), [4, 12, 20, 3]);
    assert_eq!(counts("7..7"), [7]);
}

#[test]
fn sizes_double_and_read_units() {
    let sizes = |text: &str| text.parse::<Sizes>().unwrap().to_vec();
    assert_eq!(sizes("8,64KiB,1MiB"), [8, 65536, 1 << 20]);
    assert_eq!(sizes("0..8"), [0, 1, 2, 4, 8]);
    assert_eq!(sizes("100kB..300kB..+100kB"), [100_000, 200_000, 300_000]);
    assert_eq!(sizes("8..1MiB").len(), 18);
}

#[test]
fn numbers_step_in_the_last_place_written() {
    let numbers = |text: &str| text.parse::<Numbers>().unwrap().to_vec();
    assert_eq!(numbers("0.1..1.0"), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
    assert_eq!(numbers("0..1..+0.25"), [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(numbers("0.5..4..x2"), [0.5, 1.0, 2.0, 4.0]);
    assert_eq!(numbers("-1..1"), [-1.0, 0.0, 1.0]);
}

#[test]
fn errors_say_what_is_allowed() {
    for (text, part) in [
        ("", "missing"),
        ("0", "too few"),
        ("5..2", "backwards"),
        ("2..9..3", "neither xN"),
        ("2..9..x1", "not a factor"),
        ("2..9..+0", "too few"),
        ("1..999999999", "more than 100000"),
        ("4,x", "not a whole number"),
        ("1..2..x2..3", "at most a first"),
    ] {
        let error = text.parse::<Counts>().unwrap_err();
        assert!(error.contains(part) && error.contains("allowed: a count"), "{text}: {error}");
    }
    assert!("64K".parse::<Sizes>().unwrap_err().contains("KiB"));
    assert!("99999999999TiB".parse::<Size>().unwrap_err().contains("too large"));
    assert!("0.1..1.0..+0".parse::<Numbers>().is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9.,x+KMGiB \\-]{0,24}|\\PC{0,24}") {
        let _ = (text.parse::<Counts>(), text.parse::<Sizes>(), text.parse::<Numbers>(), text.parse::<Size>());
    }
    #[test]
    fn ranges_stay_between_their_ends(first in 1_u64..5000, span in 0_u64..5000, factor in 2_u64..9) {
        let last = first + span;
        let by_one = counts(&format!("{first}..{last}"));
        prop_assert!(by_one.windows(2).all(|w| w[1] == w[0] + 1));
        prop_assert_eq!((by_one[0], *by_one.last().unwrap()), (first, last));
        let by_factor = counts(&format!("{first}..{last}..x{factor}"));
        prop_assert!(by_factor.windows(2).all(|w| w[1] == w[0] * factor));
        prop_assert!(*by_factor.last().unwrap() * factor > last);
    }
}

#[test]
fn figures_have_four_digits() {
    let shown = [0.0, 0.5, 138.912_3, 12_345.6, 0.081_234_5, -2.0, 1e-9, f64::MAX].map(figure);
    assert_eq!(shown, ["0", "0.5", "138.9", "12346", "0.08123", "-2", "1.000e-9", "1.798e308"]);
}

#[test]
fn a_ratio_is_a_number_or_ports_to_ports() {
    let ratio = |text: &str| text.parse::<Ratio>().map(|Ratio(ratio)| ratio);
    assert_eq!([ratio("2"), ratio("2:1"), ratio("3:2"), ratio("0.5")], [Ok(2.0), Ok(2.0), Ok(1.5), Ok(0.5)]);
    assert!(ratio("1:2").is_err_and(|what| what.contains("come first, as in 2:1")));
    assert!(["0", "-1", "x", "2:", ":1", "2:0", "inf"].iter().all(|text| ratio(text).is_err()));
    assert_eq!(*"1:1,2:1,4".parse::<Ratios>().unwrap(), [1.0, 2.0, 4.0]);
    assert_eq!(*"1..3".parse::<Ratios>().unwrap(), [1.0, 2.0, 3.0]);
}

proptest! {
    #[test]
    fn lists_print_as_they_are_read(values in prop::collection::hash_set(1_u64.., 1..20)) {
        let text = values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let (counts, sizes) = (text.parse::<Counts>().unwrap(), text.parse::<Sizes>().unwrap());
        prop_assert_eq!(counts.len(), values.len());
        prop_assert_eq!(counts.to_string().parse::<Counts>().unwrap(), counts);
        prop_assert_eq!(sizes.to_string().parse::<Sizes>().unwrap(), sizes);
    }
    #[test]
    fn numbers_print_as_they_are_read(digits in -1_000_000_i64..1_000_000, places in 0_u32..6) {
        let text = format!("{}", f64::from(i32::try_from(digits).unwrap()) / 10_f64.powi(places as i32));
        let number = text.parse::<Numbers>().unwrap();
        prop_assert_eq!(number.to_string().parse::<Numbers>().unwrap(), number);
    }
}
