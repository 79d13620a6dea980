//! A comparison of runs as a JUnit report: one test case a row.

use crate::junit::{Became, Case, suite};
use hotlink_results::compare_runs::{Row, Verdict, sentence};

/// The report. Results that are missing after fail unless they may.
pub fn report(rows: &[Row], may_be_missing: bool) -> String {
    suite("hotlink compare-runs", &rows.iter().map(|row| case(row, may_be_missing)).collect::<Vec<_>>())
}

fn case(row: &Row, may_be_missing: bool) -> Case {
    let class = row.identity.get("benchmark").or_else(|| row.identity.get("traffic"));
    let parts = row.identity.iter().filter(|(key, _)| *key != "benchmark").map(|(key, value)| format!("{key}={value}"));
    let (verdict, said) = (row.verdict.name().to_owned(), sentence(&row.record));
    let became = match row.verdict {
        failure if failure.is_failure(may_be_missing) => Became::Failed(verdict, said),
        Verdict::Regression | Verdict::Invalid => Became::Failed(verdict, said),
        Verdict::OnlyBefore | Verdict::OnlyAfter => Became::Skipped(verdict),
        Verdict::Undecided => Became::Skipped(format!("{verdict}: {said}")),
        Verdict::Same | Verdict::Improvement => Became::Passed(format!("{verdict}: {said}")),
    };
    Case {
        class: class.map_or("hotlink", String::as_str).to_owned(),
        name: parts.collect::<Vec<_>>().join(" "),
        became,
    }
}
