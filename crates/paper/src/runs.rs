//! Results before and after, on paper.

use crate::table::Table;
use hotlink_bench::Record;
use hotlink_results::compare_runs::{Row, Verdict, counted};

/// Every pair of results, and how many came out how.
pub fn table(rows: &[Row]) -> Table {
    let records: Vec<Record> = rows.iter().map(|row| row.record.clone()).collect();
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let notes = vec![format!(
        "{}, {}, {} the same, {} undecided, {} only before, {} only after, {} invalid",
        counted(count(Verdict::Regression), "regression"),
        counted(count(Verdict::Improvement), "improvement"),
        count(Verdict::Same),
        count(Verdict::Undecided),
        count(Verdict::OnlyBefore),
        count(Verdict::OnlyAfter),
        count(Verdict::Invalid)
    )];
    Table { notes, ..Table::of(&records) }
}
