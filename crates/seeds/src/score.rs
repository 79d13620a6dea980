//! How well the studies come out: what the models predict and by how much they miss, who is ahead, and what is no evidence.

use crate::{Kind, Report, Row};
use hotlink_bench::Record;
use serde_json::Value;

/// What a row is worth as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A number that the models give, next to one that is printed.
    Prediction,
    /// Who is ahead, where that changes, or whether a statement holds.
    Ordering,
    /// A parameter was fitted to it.
    Fit,
    /// An input, or arithmetic on inputs.
    Identity,
    /// Nothing is given, and why.
    Gap,
}

impl Class {
    /// The class of a row; `None`: it states neither a number nor a claim that could hold.
    pub fn of(row: &Row) -> Option<Class> {
        match row.kind {
            _ if row.key("gap").is_some() => Some(Class::Gap),
            Kind::Calibrated if row.key("fitted_parameter").is_some() => Some(Class::Fit),
            Kind::Calibrated => Some(Class::Identity),
            Kind::Prediction if row.error_pct().is_some() => Some(Class::Prediction),
            Kind::Prediction | Kind::Ordering => row.holds.map(|_| Class::Ordering),
        }
    }
}

/// A prediction counts as near within so many per cent.
const NEAR_PCT: f64 = 10.0;
/// Or where its own interval holds what is printed, and is within so many per cent of its middle.
const NARROW_PCT: f64 = 25.0;

/// Whether a prediction is near what is printed, or printed within an interval that is narrow.
fn is_met(row: &Row) -> bool {
    let near = row.error_pct().is_some_and(|error| error.abs() <= NEAR_PCT);
    let ends = ["interval_low", "interval_high"].map(|key| row.key(key).and_then(Value::as_f64));
    let within = match (ends, row.published.as_f64()) {
        ([Some(low), Some(high)], Some(published)) => {
            (low..=high).contains(&published) && (high - low) / (high + low) * 100.0 <= NARROW_PCT
        }
        _ => false,
    };
    near || within
}

/// A study's line: how many rows of each class, and how many of them come out.
pub fn line(report: &Report) -> Record {
    let of = |class: Class| report.claims.iter().filter(move |row| Class::of(row) == Some(class));
    let held = |holds: bool| of(Class::Ordering).filter(|row| row.holds == Some(holds)).count();
    Record::new()
        .with("study", report.name)
        .with("kind", "score")
        .with("predictions", of(Class::Prediction).count())
        .with("predictions_met", of(Class::Prediction).filter(|row| is_met(row)).count())
        .with("orderings_held", held(true))
        .with("orderings_not_held", held(false))
        .with("fits", of(Class::Fit).count())
        .with("identities", of(Class::Identity).count())
        .with("gaps", of(Class::Gap).count())
}

/// The predictions of all studies, what misses most first.
pub fn predictions(reports: &[Report]) -> Vec<Record> {
    let all = reports.iter().flat_map(|report| report.claims.iter().map(move |row| (report.name, row)));
    let mut found: Vec<(&str, &Row)> = all.filter(|(_, row)| Class::of(row) == Some(Class::Prediction)).collect();
    let error = |row: &Row| row.error_pct().unwrap_or_default().abs();
    found.sort_by(|a, b| error(b.1).total_cmp(&error(a.1)));
    found.into_iter().map(|(study, row)| row.record(study).with("met", is_met(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::catalog::Claim;

    fn row(kind: Kind, published: f64) -> Row {
        let text = |text: &str| text.to_owned();
        let (id, system, quantity, value) = (text("G000"), text("x"), text("y"), published.to_string());
        let claim =
            Claim { id, system, quantity, value, unit: text("us"), conditions: String::new(), source: text("X00") };
        Row::new(&claim, kind)
    }

    #[test]
    fn classes_follow_from_what_a_row_has() {
        let gives = |kind| row(kind, 100.0).reproduced(80.0);
        assert_eq!(Class::of(&gives(Kind::Prediction)), Some(Class::Prediction));
        assert_eq!(Class::of(&gives(Kind::Ordering)), None);
        assert_eq!(Class::of(&gives(Kind::Ordering).holds(true)), Some(Class::Ordering));
        assert_eq!(Class::of(&gives(Kind::Calibrated)), Some(Class::Identity));
        assert_eq!(Class::of(&gives(Kind::Calibrated).also("fitted_parameter", "x")), Some(Class::Fit));
        assert_eq!(Class::of(&row(Kind::Prediction, 1.0).gap("later")), Some(Class::Gap));
    }

    #[test]
    fn misses_come_first_and_a_wide_interval_excuses_nothing() {
        let near = row(Kind::Prediction, 100.0).reproduced(95.0);
        let far = || row(Kind::Prediction, 100.0).reproduced(80.0);
        let excused = far().also("interval_low", 75.0).also("interval_high", 105.0);
        let wide = far().also("interval_low", 20.0).also("interval_high", 200.0);
        assert_eq!([&near, &far(), &excused, &wide].map(is_met), [true, false, true, false]);
        let claims = vec![near, wide, row(Kind::Ordering, 1.0).reproduced(1.0).holds(false)];
        let report = Report { name: "X00", title: "a study", claims, series: Vec::new() };
        let line = line(&report);
        let count = |key| line.number(key);
        assert_eq!([count("predictions"), count("predictions_met")], [Some(2.0), Some(1.0)]);
        assert_eq!([count("orderings_held"), count("orderings_not_held")], [Some(0.0), Some(1.0)]);
        let found = predictions(&[report]);
        assert_eq!(
            found.iter().map(|record| record.number("reproduced")).collect::<Vec<_>>(),
            [Some(80.0), Some(95.0)]
        );
    }
}
