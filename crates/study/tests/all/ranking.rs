//! Which fabric is best at which size, and where one overtakes another.

use hotlink_bench::Record;
use hotlink_study::ranking::{Crossover, Eras, Grid, Quantity};
use proptest::prelude::*;

fn grid(values: Vec<Vec<Option<f64>>>) -> Grid {
    let fabrics = (0..values.len()).map(|i| format!("f{i}")).collect();
    let nodes = (0..values[0].len()).map(|i| 2 + i as u32).collect();
    Grid { fabrics, nodes, values, lower_is_better: false }
}

#[test]
fn the_best_changes_where_the_lines_cross() {
    let grid =
        grid(vec![vec![Some(9.0), Some(5.0), Some(3.0), Some(1.0)], vec![Some(4.0), Some(5.0), Some(4.0), None]]);
    let spans: Vec<(u32, u32, Vec<usize>)> = grid.spans().into_iter().map(|s| (s.first, s.last, s.best)).collect();
    assert_eq!(spans, [(2, 2, vec![0]), (3, 3, vec![0, 1]), (4, 4, vec![1]), (5, 5, vec![0])]);
    let expected = Crossover { nodes: 4, before: "f0".to_owned(), after: "f1".to_owned(), changes: 1 };
    assert_eq!(grid.crossovers(), [expected]);
}

proptest! {
    #[test]
    fn whoever_overtakes_for_good_is_not_behind_afterwards(
        values in prop::collection::vec(prop::collection::vec(prop::option::of(0..5_u8), 12), 2..4)
    ) {
        let values = values.iter().map(|row| row.iter().map(|v| v.map(f64::from)).collect()).collect();
        let grid = grid(values);
        for crossover in grid.crossovers() {
            let row = |name: &str| grid.fabrics.iter().position(|fabric| fabric == name).unwrap();
            let (after, before) = (row(&crossover.after), row(&crossover.before));
            for (size, _) in grid.nodes.iter().enumerate().filter(|(_, n)| **n >= crossover.nodes) {
                if let (Some(x), Some(y)) = (grid.values[after][size], grid.values[before][size]) {
                    prop_assert!(x >= y);
                }
            }
        }
    }
}

/// The user's own list that has some of the prices joins the list that has the rest.
#[test]
fn prices_of_a_partial_list_are_ranked_with_those_that_they_stand_over() {
    let record = |fabric: &str, year: &str, cost: f64| {
        let record = Record::new().with("fabric", fabric).with("nodes", 8u32).with("currency", "USD");
        record.with("prices_year", year).with("cost_USD", cost)
    };
    let records = [record("a", "2026 over 2025", 3.0), record("b", "2025", 2.0), record("c", "2002", 1.0)];
    let costs: Vec<Quantity> =
        Quantity::all(&records, Eras::Apart).into_iter().filter(|quantity| quantity.key == "cost_USD").collect();
    let years: Vec<Option<&str>> = costs.iter().map(|quantity| quantity.year.as_deref()).collect();
    assert_eq!(years, [Some("2002"), Some("2025")]);
    let grid = Grid::new(&records, &["a", "b", "c"].map(str::to_owned), &[8], &costs[1]);
    assert_eq!(grid.values, [[Some(3.0)], [Some(2.0)], [None]]);
}
