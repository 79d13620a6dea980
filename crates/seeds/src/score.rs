//! How well the studies come out: what the models predict and by how much they miss, who is ahead, and what is no evidence.

use crate::{Class, Report, Row};
use hotlink_bench::Record;

/// A study's line: how many rows of each class, and how many of them come out.
pub fn line(report: &Report) -> Record {
    let of = |class: Class| report.claims.iter().filter(move |row| row.class() == class);
    let held = |holds: bool| of(Class::Ordering).filter(|row| row.is_held() == Some(holds)).count();
    Record::new()
        .with("study", report.name)
        .with("kind", "score")
        .with("predictions", of(Class::Prediction).count())
        .with("predictions_met", of(Class::Prediction).filter(|row| row.is_held() == Some(true)).count())
        .with("orderings_held", held(true))
        .with("orderings_not_held", held(false))
        .with("bounds", of(Class::Bound).count())
        .with("fits", of(Class::Fit).count())
        .with("identities", of(Class::Identity).count())
        .with("gaps", of(Class::Gap).count())
        .with("shown", of(Class::Point).count())
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
        let (unit, conditions, source, gives) = (text("us"), String::new(), text("X00"), Vec::new());
        let claim = Claim { id, system, quantity, value, unit, conditions, source, gives };
        Row::new(&claim, Evidence::of_inputs(Method::Packet, ["x/y"])).reproduced(reproduced)
    }

    #[test]
    fn misses_come_first() {
        let claims = vec![simulated(100.0, 95.0), simulated(100.0, 70.0), simulated(1.0, 1.0).ordering().holds(false)];
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
}
