//! Speeds and names as files have them.

use hotlink_site::{Link, natural};

#[test]
fn every_spelling_of_a_speed_is_read() {
    let rate = |width, speed| Link::of(width, speed).map(|link| link.rate().0);
    assert_eq!(rate("4x", "NDR"), Some(50_000_000_000));
    assert_eq!(rate("4X", "106.25"), Some(50_000_000_000));
    assert_eq!(rate("2x", "HDR"), Some(12_500_000_000));
    assert_eq!(Link::joined("4xFDR10").map(|link| link.rate().0), Some(5_000_000_000));
    assert_eq!(Link::joined("1xSDR").map(|link| link.rate().0), Some(250_000_000));
    assert_eq!((rate("4x", "Unknown"), rate("x", "HDR"), Link::joined("HDR")), (None, None, None));
}

#[test]
fn names_are_ordered_as_people_count() {
    let mut names = ["node10", "node9", "node09", "node1-2", "node1-10", "a", ""];
    names.sort_by(|a, b| natural(a, b));
    assert_eq!(names, ["", "a", "node1-2", "node1-10", "node09", "node9", "node10"]);
}
