//! A comparison of runs as a JUnit report: one test case a row.

use crate::junit::{Became, Case, suite};
use hotlink_results::compare_runs::{Row, Verdict, sentence};

/// The report.
pub fn report(rows: &[Row]) -> String {
    suite("hotlink compare-runs", &rows.iter().map(case).collect::<Vec<_>>())
}

fn case(row: &Row) -> Case {
    let class = row.identity.get("benchmark").or_else(|| row.identity.get("traffic"));
    let parts = row.identity.iter().filter(|(key, _)| *key != "benchmark").map(|(key, value)| format!("{key}={value}"));
    let (verdict, said) = (row.verdict.name().to_owned(), sentence(&row.record));
    let became = match row.verdict {
        Verdict::Regression => Became::Failed(verdict, said),
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
