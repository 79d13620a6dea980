//! How well the studies come out: what the models predict and by how much they miss, who is ahead, and what is no evidence.
//!
//! Rows of one curve count once, and hold if each of them does.

use crate::{Class, Report, Row};
use hotlink_bench::Record;
use serde_json::Value;
use std::collections::BTreeMap;

/// A study's line: how many rows of each class, and how many of them come out.
pub fn line(report: &Report) -> Record {
    let of = |class: Class| report.claims.iter().filter(move |row| row.class() == class);
    let held = |holds: bool| of(Class::Ordering).filter(|row| row.is_held() == Some(holds)).count();
    let predictions = curves(of(Class::Prediction));
    let with = |key: &str, value: &str| {
        report.claims.iter().filter(|row| row.key(key).and_then(Value::as_str) == Some(value)).count()
    };
    let checked = ["page", "memory"].map(|place| with("checked", place));
    let record = Record::new()
        .with("study", report.name)
        .with("kind", "score")
        .with("predictions", predictions.len())
        .with("predictions_met", predictions.values().filter(|holds| **holds).count())
        .with("orderings_held", held(true))
        .with("orderings_not_held", held(false))
        .with("bounds", of(Class::Bound).count())
        .with("fits", of(Class::Fit).count())
        .with("identities", of(Class::Identity).count())
        .with("gaps", of(Class::Gap).count())
        .with("shown", of(Class::Point).count());
    match checked {
        [0, 0] => record,
        [page, memory] => record.with("read_on_page", page).with("recalled", memory),
    }
}

/// Whether each holds, by the name of its curve, or by its place where it is a number of its own.
fn curves<'a>(rows: impl Iterator<Item = &'a Row>) -> BTreeMap<(usize, &'a str), bool> {
    let mut all = BTreeMap::new();
    for (at, row) in rows.enumerate() {
        let name = row.key("curve").and_then(Value::as_str).map_or((at + 1, ""), |curve| (0, curve));
        *all.entry(name).or_insert(true) &= row.is_held() == Some(true);
    }
    all
}

/// Every claim of a study, what is wrong first: what does not hold, gaps, the rest; of each the predictions before the
/// others, and the largest error first.
pub fn verdicts(report: &Report) -> Vec<Record> {
    let mut rows: Vec<&Row> = report.claims.iter().collect();
    let rank = |row: &Row| match (row.is_held(), row.class()) {
        (Some(false), _) => 0,
        (None, Class::Gap) => 1,
        _ => 2,
    };
    let class = |row: &Row| match row.class() {
        Class::Prediction => 0,
        Class::Ordering => 1,
        Class::Bound => 2,
        Class::Fit => 3,
        Class::Identity | Class::Point | Class::Gap => 4,
    };
    let error = |row: &Row| row.error_pct().unwrap_or_default().abs();
    rows.sort_by(|a, b| (rank(a), class(a)).cmp(&(rank(b), class(b))).then(error(b).total_cmp(&error(a))));
    rows.into_iter().map(|row| row.record(report.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evidence;
    use hotlink_fabric::catalog::Claim;
    use hotlink_study::ask::Method;

    fn simulated(published: f64, reproduced: f64) -> Row {
        let text = |text: &str| text.to_owned();
        let (id, system, quantity, value) = (text("G000"), text("x"), text("y"), published.to_string());
        let (unit, source) = (text("us"), text("X00"));
        let claim = Claim { id, system, quantity, value, unit, source, ..Claim::default() };
        Row::new(&claim, Evidence::of_inputs(Method::Packet, ["x/y"])).reproduced(reproduced)
    }

    #[test]
    fn misses_come_first() {
        let claims = vec![simulated(100.0, 95.0), simulated(100.0, 70.0), simulated(1.0, 1.0).holds(false)];
        let report = Report { name: "X00", title: "a study", claims, series: Vec::new() };
        let line = line(&report);
        let count = |key| line.number(key);
        assert_eq!([count("predictions"), count("predictions_met")], [Some(2.0), Some(1.0)]);
        assert_eq!([count("orderings_held"), count("orderings_not_held")], [Some(0.0), Some(1.0)]);
        let found = verdicts(&report);
        let reproduced: Vec<_> = found.iter().map(|record| record.number("reproduced")).collect();
        assert_eq!(reproduced, [Some(70.0), Some(1.0), Some(95.0)]);
        let told: Vec<_> = found.iter().map(|record| record.text("verdict")).collect();
        assert_eq!(told, [Some("NO"), Some("NO"), Some("yes")]);
    }

    #[test]
    fn a_curve_counts_once_and_holds_whole() {
        let on = |curve: &str, reproduced: f64| simulated(100.0, reproduced).also("curve", curve);
        let claims = vec![on("a", 99.0), on("a", 70.0), on("b", 95.0), on("b", 105.0), simulated(100.0, 100.0)];
        let line = line(&Report { name: "X00", title: "a study", claims, series: Vec::new() });
        assert_eq!([line.number("predictions"), line.number("predictions_met")], [Some(3.0), Some(2.0)]);
    }
}
