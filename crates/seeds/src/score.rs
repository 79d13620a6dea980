//! The score of the studies: what the models predict and by how much they miss, who is ahead, and what is no evidence.
//!
//! Rows of one curve count once, and so do the readings of one claim. They hold if each of them does.

use crate::{Class, Report, Row};
use hotlink_bench::Record;
use serde_json::Value;
use std::collections::BTreeMap;

/// A study's line: how many rows of each class, and how many of them come out.
pub fn line(report: &Report) -> Record {
    let of = |class: Class| report.claims.iter().filter(move |row| row.class() == class);
    let held = |holds: bool| of(Class::Ordering).filter(|row| row.is_held() == Some(holds)).count();
    let predictions = |holds: fn(&Row) -> Option<bool>| data(of(Class::Prediction), holds);
    let met = |holds| predictions(holds).values().filter(|holds| **holds).count();
    let with = |key: &str, value: &str| {
        report.claims.iter().filter(|row| row.key(key).and_then(Value::as_str) == Some(value)).count()
    };
    let checked = ["page", "memory"].map(|place| with("checked", place));
    let record = Record::new()
        .with("study", report.name)
        .with("kind", "score")
        .with("predictions", predictions(Row::is_held).len())
        .with("predictions_met", met(Row::is_held))
        .with("met_today", met(Row::is_held_today))
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

/// Whether each holds, by the name of its curve, or of the claim where it is on none.
fn data<'a>(rows: impl Iterator<Item = &'a Row>, holds: impl Fn(&Row) -> Option<bool>) -> BTreeMap<&'a str, bool> {
    let mut all = BTreeMap::new();
    for row in rows {
        let name = row.key("curve").and_then(Value::as_str).unwrap_or(&row.id);
        *all.entry(name).or_insert(true) &= holds(row) == Some(true);
    }
    all
}

/// Every claim of a study, wrong ones first: what does not hold, then gaps, then the rest. Within each group
/// predictions come first, and the largest error first.
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
    let error = |row: &Row| row.judged_error_pct().unwrap_or_default().abs();
    rows.sort_by(|a, b| (rank(a), class(a)).cmp(&(rank(b), class(b))).then(error(b).total_cmp(&error(a))));
    rows.into_iter().map(|row| row.record(report.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evidence;
    use hotlink_fabric::catalog::Claim;
    use hotlink_study::ask::Method;

    fn simulated(id: &str, published: f64, reproduced: f64) -> Row {
        let text = |text: &str| text.to_owned();
        let (id, system, quantity, value) = (text(id), text("x"), text("y"), published.to_string());
        let (unit, source) = (text("us"), text("X00"));
        let claim = Claim { id, system, quantity, value, unit, source, ..Claim::default() };
        Row::new(&claim, Evidence::of_inputs(Method::Packet, ["x/y"])).reproduced(reproduced)
    }

    #[test]
    fn misses_come_first() {
        let claims =
            vec![simulated("A", 100.0, 95.0), simulated("B", 100.0, 70.0), simulated("C", 1.0, 1.0).holds(false)];
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
        let on = |id: &str, curve: &str, reproduced: f64| simulated(id, 100.0, reproduced).also("curve", curve);
        let on_curves = vec![on("A", "a", 99.0), on("B", "a", 70.0), on("C", "b", 95.0), on("D", "b", 105.0)];
        // Readings of a claim, too.
        let readings = [100.0, 50.0].map(|number| simulated("E", 100.0, number));
        let claims = [on_curves, readings.into(), vec![simulated("F", 100.0, 100.0)]].concat();
        let line = line(&Report { name: "X00", title: "a study", claims, series: Vec::new() });
        assert_eq!([line.number("predictions"), line.number("predictions_met")], [Some(4.0), Some(2.0)]);
    }

    #[test]
    fn the_number_on_file_decides() {
        let mended = simulated("A", 100.0, 99.0).predicted(70.0, None);
        let spoilt = simulated("B", 100.0, 70.0).predicted(60.0, Some([50.0, 101.0])).also("interval_low", 60.0);
        let narrow = simulated("C", 100.0, 70.0).predicted(85.0, Some([70.0, 101.0]));
        assert_eq!([mended.is_held(), spoilt.is_held(), narrow.is_held()], [Some(false), Some(false), Some(true)]);
        let claims = vec![mended, spoilt, narrow];
        let line = line(&Report { name: "X00", title: "a study", claims, series: Vec::new() });
        let count = |key| line.number(key);
        assert_eq!([count("predictions_met"), count("met_today")], [Some(1.0), Some(1.0)]);
    }
}
