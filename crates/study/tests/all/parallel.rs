//! Parts on all cores.

use hotlink_study::parallel::each_in_order;

#[test]
fn results_come_in_order_and_end_where_they_are_refused() {
    let all: Vec<u32> = (0..100).collect();
    let mut given = Vec::new();
    each_in_order(
        &all,
        |&n| n,
        |n| {
            given.push(n);
            n < 41
        },
    );
    assert_eq!(given, (0..=41).collect::<Vec<_>>());
}
