//! A row of a study's report: what is printed, what the models give, what that is worth.

use crate::evidence::{Class, Evidence};
use crate::words::{NARROW_PCT, NEAR_PCT, off_pct};
use hotlink_bench::Record;
use hotlink_fabric::catalog::Claim;
use hotlink_fabric::maths;
use serde_json::Value;

/// One quantity or claim of a study with what the models give.
#[derive(Clone, Debug)]
pub struct Row {
    /// The claim's identifier.
    pub id: String,
    /// System and quantity.
    pub quantity: String,
    /// What the study prints.
    pub published: Value,
    /// What the models give.
    pub reproduced: Value,
    /// The unit of both.
    pub unit: String,
    /// How the models' answer came about.
    pub evidence: Evidence,
    /// Inputs that were taken from the claim or fitted to it.
    pub(crate) gives: Vec<String>,
    /// A point of a figure.
    pub(crate) is_point: bool,
    /// Conditions, and how the number comes about.
    pub conditions: String,
    is_ordering: bool,
    /// Whether a statement was found to hold; `None`: the numbers decide, if there are two.
    told: Option<bool>,
    /// Whether it is known to hold.
    expected: bool,
    more: Vec<(&'static str, Value)>,
}

impl Row {
    /// A row for `claim`; nothing is reproduced yet.
    pub(crate) fn new(claim: &Claim, evidence: Evidence) -> Row {
        let published = match claim.value.parse::<f64>() {
            Ok(number) => number.into(),
            Err(_) if claim.value.is_empty() => Value::Null,
            Err(_) => claim.value.clone().into(),
        };
        let quantity = format!("{}: {}", claim.system, claim.quantity);
        Row {
            published,
            conditions: claim.conditions.clone(),
            gives: claim.gives.clone(),
            is_point: false,
            is_ordering: ["ORDER", "CROSSOVER", "SHAPE"].iter().any(|word| claim.quantity.starts_with(word)),
            reproduced: Value::Null,
            ..Row::point(&claim.id, &quantity, evidence, 0.0, &claim.unit)
        }
        .also("source", claim.source.clone())
    }
    /// A point of a series without a printed number.
    pub(crate) fn point(id: &str, quantity: &str, evidence: Evidence, value: f64, unit: &str) -> Row {
        Row {
            id: id.to_owned(),
            quantity: quantity.to_owned(),
            published: Value::Null,
            reproduced: value.into(),
            unit: unit.to_owned(),
            evidence,
            gives: Vec::new(),
            is_point: true,
            conditions: String::new(),
            is_ordering: false,
            told: None,
            expected: true,
            more: Vec::new(),
        }
    }
    /// The model's answer.
    pub(crate) fn reproduced(mut self, value: impl Into<Value>) -> Row {
        self.reproduced = value.into();
        self
    }
    /// Where the claim is a text, the number in it.
    pub(crate) fn published(mut self, number: f64, unit: &str) -> Row {
        (self.published, self.unit) = (number.into(), unit.to_owned());
        self
    }
    /// The unit of the model's answer where the claim has none.
    pub(crate) fn in_unit(mut self, unit: &str) -> Row {
        self.unit = unit.to_owned();
        self
    }
    /// A statement that goes with the claim, of a number that is not printed.
    pub(crate) fn statement(mut self, unit: &str, holds: bool) -> Row {
        if self.published.is_number() {
            self.published = Value::Null;
        }
        self.in_unit(unit).holds(holds)
    }
    /// Whether a statement holds.
    pub(crate) fn holds(mut self, holds: bool) -> Row {
        self.told = Some(holds);
        self
    }
    /// It is known not to hold.
    pub(crate) fn known_not_to_hold(mut self) -> Row {
        self.expected = false;
        self
    }
    /// Nobody stated beforehand whether it holds: it cannot regress.
    pub(crate) fn expected_as_found(mut self) -> Row {
        self.expected = self.is_held() != Some(false);
        self
    }
    /// How the claim is read, where it can be read in several ways.
    pub(crate) fn reading(self, reading: &str) -> Row {
        self.also("reading", reading)
    }
    /// Conditions and how the number comes about.
    pub(crate) fn under(mut self, conditions: impl AsRef<str>) -> Row {
        let separator = if self.conditions.is_empty() { "" } else { "; " };
        self.conditions = format!("{}{separator}{}", self.conditions, conditions.as_ref());
        self
    }
    /// Another key.
    pub(crate) fn also(mut self, key: &'static str, value: impl Into<Value>) -> Row {
        self.more.push((key, value.into()));
        self
    }
    /// The interval of the model's answer as its uncertain inputs move, and those that move it, the strongest first.
    pub(crate) fn interval(self, [low, high]: [f64; 2], moved_by: Vec<String>) -> Row {
        self.also("interval_low", low).also("interval_high", high).also("sensitivity", moved_by)
    }
    /// Estimated and fitted inputs that state no uncertainty: the interval leaves out what they would add.
    pub(crate) fn not_varied(self, inputs: Vec<String>) -> Row {
        if inputs.is_empty() { self } else { self.also("not_varied", inputs) }
    }
    /// The number, and its interval, that stood before the datum was known.
    pub(crate) fn predicted(self, value: f64, ends: Option<[f64; 2]>) -> Row {
        let row = self.also("predicted", value);
        match ends {
            Some([low, high]) => row.also("predicted_low", low).also("predicted_high", high),
            None => row,
        }
    }
    /// Not reproduced, and why.
    pub(crate) fn gap(self, reason: &str) -> Row {
        self.also("gap", reason)
    }

    /// Value, fabric and nodes of a point.
    pub fn placed(&self) -> Option<(f64, String, u64)> {
        let (fabric, nodes) = (self.key("fabric")?.as_str()?, self.key("nodes")?.as_u64()?);
        Some((self.reproduced.as_f64()?, fabric.to_owned(), nodes))
    }

    /// Value, curve, axis and place on it of a point of a figure.
    pub fn on_axis(&self) -> Option<(f64, String, &'static str, u64)> {
        let fabric = self.key("fabric")?.as_str()?;
        let series = self.key("series").and_then(Value::as_str).map(|series| format!(" {series}"));
        let at = |axis: &'static str| Some((axis, self.key(axis)?.as_u64()?));
        let (axis, place) = ["busy_us", "nodes", "stride", "size_B"].into_iter().find_map(at)?;
        Some((self.reproduced.as_f64()?, format!("{fabric}{}", series.unwrap_or_default()), axis, place))
    }

    /// The value of another key.
    pub fn key(&self, key: &str) -> Option<&Value> {
        self.more.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// How far off today's number is, in per cent of what is published.
    pub fn error_pct(&self) -> Option<f64> {
        self.error_of(self.reproduced.as_f64()?)
    }

    /// The same of the number that the verdict goes by.
    pub fn judged_error_pct(&self) -> Option<f64> {
        self.on_file().map_or_else(|| self.error_pct(), |number| self.error_of(number))
    }

    /// The number that a prediction is held to, where one stood before the datum was known.
    pub fn on_file(&self) -> Option<f64> {
        self.number("predicted").filter(|_| self.class() == Class::Prediction)
    }

    fn error_of(&self, number: f64) -> Option<f64> {
        self.published.as_f64().filter(|&published| published != 0.0).map(|published| off_pct(number, published))
    }

    /// What it is worth as evidence.
    pub fn class(&self) -> Class {
        Class::of(self)
    }

    /// Whether the claim says who is ahead, or is a statement: a number in it is where that changes, or a limit.
    pub(crate) fn is_ordering(&self) -> bool {
        self.is_ordering || self.is_judged()
    }

    /// Whether there is something to hold.
    pub(crate) fn is_judged(&self) -> bool {
        self.told.is_some()
    }

    /// Whether the claim holds in the model. `None`: nothing to hold (a point of a series, a gap). Of two numbers,
    /// those of inputs must agree to a unit of the last printed place; others must be near. If a number was predicted
    /// before the datum was known, the prediction is held to that one: a model that was changed since predicts nothing.
    pub fn is_held(&self) -> Option<bool> {
        match self.on_file() {
            Some(number) => self.error_of(number).map(|_| self.is_near(number, ["predicted_low", "predicted_high"])),
            None => self.is_held_today(),
        }
    }

    /// The same by the number of today's model.
    pub fn is_held_today(&self) -> Option<bool> {
        let by_number = || match self.class() {
            Class::Identity => self.is_as_printed(),
            Class::Prediction | Class::Fit | Class::Bound | Class::Ordering => {
                let near = |number| self.is_near(number, ["interval_low", "interval_high"]);
                self.reproduced.as_f64().is_some_and(near)
            }
            Class::Point | Class::Gap => false,
        };
        self.told.or_else(|| self.error_pct().map(|_| by_number()))
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.key(key).and_then(Value::as_f64)
    }

    fn is_as_printed(&self) -> bool {
        let (Some(published), Some(reproduced)) = (self.published.as_f64(), self.reproduced.as_f64()) else {
            return false;
        };
        let places = published.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
        (reproduced - published).abs() <= maths::powi(10.0, -(places as i32)) * (1.0 + 1e-9)
    }

    /// Whether a number is near what is printed, or what is printed lies within its interval and that is narrow.
    fn is_near(&self, number: f64, ends: [&str; 2]) -> bool {
        let near = self.error_of(number).is_some_and(|error| error.abs() <= NEAR_PCT);
        let within = match (ends.map(|key| self.number(key)), self.published.as_f64()) {
            ([Some(low), Some(high)], Some(published)) => {
                (low..=high).contains(&published) && (high - low) / (high + low) * 100.0 <= NARROW_PCT
            }
            _ => false,
        };
        near || within
    }

    /// Whether it holds, as people read it.
    pub fn verdict(&self) -> &'static str {
        match (self.is_held(), self.key("gap")) {
            (Some(true), _) => "yes",
            (Some(false), _) => "NO",
            (None, Some(_)) => "gap",
            (None, None) if self.class() == Class::Identity => "built so",
            (None, None) => "shown",
        }
    }

    /// Whether it is known to hold, and no longer does.
    pub fn regressed(&self) -> bool {
        self.expected && self.is_held() == Some(false)
    }

    /// Its record.
    pub fn record(&self, study: &str) -> Record {
        let mut record = Record::new()
            .with("study", study)
            .with("id", self.id.clone())
            .with("quantity", self.quantity.clone())
            .with("published", self.published.clone())
            .with("reproduced", self.reproduced.clone())
            .with("unit", self.unit.clone())
            .with("error_pct", self.error_pct())
            .with("kind", self.class().name())
            .with("holds", self.is_held())
            .with("verdict", self.verdict())
            .with("known_to_hold", self.is_held().map(|_| self.expected))
            .with("conditions", self.conditions.clone());
        if !self.reproduced.is_null() {
            record.set("method", self.evidence.method());
        }
        let fitted: Vec<String> = self.evidence.taken_from(&self.gives).cloned().collect();
        if !fitted.is_empty() {
            record.set("fitted_parameter", fitted);
        }
        self.more.iter().for_each(|(key, value)| record.set(key, value.clone()));
        if self.on_file().is_some() {
            record.set("predicted_error_pct", self.judged_error_pct());
            record.set("holds_today", self.is_held_today());
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_study::ask::Method;

    fn claim() -> Claim {
        let text = |text: &str| text.to_owned();
        let (id, system, quantity, value) = (text("G000"), text("x"), text("y"), text("64"));
        let (unit, source, gives) = (text("nodes"), text("M02"), vec![text("x/fitted")]);
        Claim { id, system, quantity, value, unit, source, gives, ..Claim::default() }
    }

    fn simulated(input: &str) -> Row {
        Row::new(&claim(), Evidence::of_inputs(Method::Packet, [input]))
    }

    #[test]
    fn only_a_row_known_to_hold_regresses() {
        assert!(simulated("x/y").reproduced(80.0).regressed());
        assert!(!simulated("x/y").reproduced(60.0).regressed());
        assert!(!simulated("x/y").reproduced(80.0).known_not_to_hold().regressed());
        assert!(!simulated("x/y").gap("later").regressed());
    }

    #[test]
    fn an_error_needs_two_numbers() {
        assert_eq!(simulated("x/y").reproduced(80.0).error_pct(), Some(25.0));
        assert_eq!(simulated("x/y").reproduced("none").error_pct(), None);
    }

    #[test]
    fn the_class_follows_from_engine_and_inputs() {
        let by = |method| Row::new(&claim(), Evidence::of_inputs(method, ["x/y"])).reproduced(80.0);
        assert_eq!(by(Method::Packet).class(), Class::Prediction);
        assert_eq!(by(Method::Load).class(), Class::Bound);
        assert_eq!(by(Method::Formula).class(), Class::Identity);
        assert_eq!(by(Method::Packet).holds(true).class(), Class::Ordering);
        let crossover = Claim { quantity: "CROSSOVER a over b".to_owned(), ..claim() };
        let crossover = Row::new(&crossover, Evidence::of_inputs(Method::Packet, ["x/y"])).reproduced(80.0);
        assert_eq!((crossover.class(), crossover.is_held()), (Class::Ordering, Some(false)));
        assert_eq!(simulated("x/fitted").reproduced(64.0).class(), Class::Fit);
        assert_eq!(simulated("x/fitted").reproduced("all").holds(true).class(), Class::Fit);
        assert_eq!(simulated("x/y").reproduced("all").holds(true).class(), Class::Ordering);
        assert_eq!(simulated("x/y").reproduced("all").class(), Class::Point);
        assert_eq!(simulated("x/y").gap("later").class(), Class::Gap);
        assert_eq!(Row::new(&claim(), Evidence::stated()).reproduced(64.0).class(), Class::Identity);
        let both = Evidence::of_inputs(Method::Formula, ["x/fitted"]).and(Evidence::of_inputs(Method::Packet, ["x/y"]));
        assert_eq!(Row::new(&claim(), both).reproduced(64.0).class(), Class::Fit);
    }

    #[test]
    fn inputs_agree_to_the_last_printed_place() {
        let stated = |value: f64| Row::new(&claim(), Evidence::stated()).published(2.44, "us").reproduced(value);
        assert_eq!([2.43, 2.45, 2.46].map(|value| stated(value).is_held()), [Some(true), Some(true), Some(false)]);
    }

    #[test]
    fn a_wide_interval_excuses_nothing() {
        let far = || simulated("x/y").published(100.0, "us").reproduced(80.0);
        assert_eq!(far().reproduced(95.0).is_held(), Some(true));
        assert_eq!(far().is_held(), Some(false));
        assert_eq!(far().interval([75.0, 105.0], Vec::new()).is_held(), Some(true));
        assert_eq!(far().interval([20.0, 200.0], Vec::new()).is_held(), Some(false));
    }
}
