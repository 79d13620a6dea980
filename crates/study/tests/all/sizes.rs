//! Sizes and laws of sizes, as options have them.

use hotlink_study::sizes::SizesOrLaws;

#[test]
fn names_and_sizes_stand_together() {
    let asked: SizesOrLaws = "4KiB,websearch,8..16,uniform:1KiB..2KiB".parse().unwrap();
    assert_eq!(
        (asked.sizes, asked.laws),
        (vec![4096, 8, 16], vec!["websearch".to_owned(), "uniform:1KiB..2KiB".to_owned()])
    );
    for text in ["nowhere", "uniform:4KiB", "uniform:2..1", "exponential:0", "file:/nowhere/t", "4KiB,"] {
        assert!(text.parse::<SizesOrLaws>().is_err(), "{text}");
    }
}
