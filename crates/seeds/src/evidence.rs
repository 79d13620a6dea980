//! What a number is worth as evidence: its origin and the inputs that it rests on. The class of a row follows; nobody
//! writes it by hand.
//!
//! A claim of `catalog/published/` names the values of the catalog that were taken from it or fitted to it (`gives`). A
//! model that reads one of them cannot predict that claim.

use crate::Row;
use hotlink_fabric::catalog::Claim;
use hotlink_fabric::spec::FabricSpec;
use hotlink_study::ask::Method;
use hotlink_study::sensitivity::{self, Effect, Sensitivity};
use hotlink_study::text::figure;
use hotlink_study::words::Word;
use serde_json::Value;
use std::collections::BTreeSet;

/// How a number came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The engine; `None`: values of the catalog, or arithmetic on them.
    method: Option<Method>,
    /// The inputs it read: `qsnet/parameter.acknowledge_time`.
    inputs: BTreeSet<String>,
}

impl Evidence {
    /// A value as the catalog or the study states it, or arithmetic on such values.
    pub(crate) fn stated() -> Evidence {
        Evidence::default()
    }

    /// What an engine computed of a machine. Its inputs are those that engines have asked for so far: give each
    /// question a machine of its own ([`unasked`]).
    pub(crate) fn of(method: Method, spec: &FabricSpec) -> Evidence {
        let inputs = spec.used().used.into_keys().map(|key| format!("{}/{key}", spec.name)).collect();
        Evidence { method: Some(method), inputs }
    }

    /// What an engine made of inputs that are in no fabric's file.
    pub(crate) fn of_inputs<T: Into<String>>(method: Method, inputs: impl IntoIterator<Item = T>) -> Evidence {
        Evidence { method: Some(method), inputs: inputs.into_iter().map(Into::into).collect() }
    }

    /// What records of simulations say of themselves.
    pub(crate) fn of_records<'a>(records: impl IntoIterator<Item = &'a Value>) -> Evidence {
        records.into_iter().fold(Evidence::stated(), |all, record| {
            let named = |name: &&str| record["method"] == **name;
            let method = Method::ALL.iter().copied().find(|method| named(&method.name()));
            let fabric = record["fabric"].as_str().unwrap_or_default();
            let lines = record["inputs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let keys = lines.filter_map(|line| line.split(['=', ' ']).next());
            all.and(Evidence { method, inputs: keys.map(|key| format!("{fabric}/{key}")).collect() })
        })
    }

    /// What rests on both: the engine that adds most, and the inputs of each.
    pub(crate) fn and(mut self, other: Evidence) -> Evidence {
        let weight = |method: Option<Method>| Method::ALL.iter().position(|known| Some(*known) == method);
        self.method = if weight(other.method) > weight(self.method) { other.method } else { self.method };
        self.inputs.extend(other.inputs);
        self
    }

    /// The engine's name in records.
    pub(crate) fn method(&self) -> &'static str {
        self.method.map_or("published", Method::name)
    }

    /// Those of its inputs that were taken from a claim or fitted to it, given what the claim gives.
    pub(crate) fn taken_from<'a>(&'a self, gives: &'a [String]) -> impl Iterator<Item = &'a String> {
        gives.iter().filter(|input| self.inputs.contains(*input))
    }
}

/// The same machine before any question.
pub(crate) fn unasked(spec: &FabricSpec) -> FabricSpec {
    FabricSpec { parameters: spec.parameters.unasked(), ..spec.clone() }
}

/// A number that an engine made of a machine.
pub(crate) struct Found {
    pub(crate) value: f64,
    evidence: Evidence,
    /// The number's interval as the machine's uncertain inputs move within what they state, and the inputs that move
    /// it, the strongest first.
    varied: Option<([f64; 2], Vec<String>)>,
    /// Uncertain inputs that state no range.
    fixed: Vec<String>,
}

impl Found {
    /// Asks `answer` of `spec`.
    pub(crate) fn once<E>(
        method: Method,
        spec: &FabricSpec,
        answer: impl Fn(&FabricSpec) -> Result<f64, E>,
    ) -> Result<Found, E> {
        Found::of_unasked(method, &unasked(spec), answer)
    }

    /// Evidence of a machine before any question.
    fn of_unasked<E>(
        method: Method,
        spec: &FabricSpec,
        answer: impl Fn(&FabricSpec) -> Result<f64, E>,
    ) -> Result<Found, E> {
        let value = answer(spec)?;
        Ok(Found { value, evidence: Evidence::of(method, spec), varied: None, fixed: spec.used().without_range() })
    }

    /// Asks `answer` of `spec`, and again with its uncertain inputs at their ends.
    pub(crate) fn by<E>(
        method: Method,
        spec: &FabricSpec,
        answer: impl Fn(&FabricSpec) -> Result<f64, E>,
    ) -> Result<Found, E> {
        let spec = unasked(spec);
        let found = Found::of_unasked(method, &spec, &answer)?;
        let inputs = sensitivity::uncertain(&spec.used());
        let mut all = sensitivity::vary_all(&spec, &inputs, |spec| Ok(vec![answer(spec)?]))?;
        let Sensitivity { interval, ranking, .. } = all.remove(0);
        let effect = |Effect { input, answers: [a, b] }: &Effect| {
            format!("{}: {} to {}", input.key, figure(a.min(*b)), figure(a.max(*b)))
        };
        let varied = (!ranking.is_empty()).then(|| (interval, ranking.iter().map(effect).collect()));
        Ok(Found { varied, ..found })
    }

    /// What it rests on.
    pub(crate) fn evidence(&self) -> Evidence {
        self.evidence.clone()
    }

    /// A row that it answers.
    pub(crate) fn row(self, claim: &Claim) -> Row {
        let row = Row::new(claim, self.evidence).reproduced(self.value);
        match self.varied {
            Some((interval, moved_by)) => row.interval(interval, moved_by).not_varied(self.fixed),
            None => row,
        }
    }
}

/// What a row is worth as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A number of a simulation, none of whose inputs was taken from the printed one.
    Prediction,
    /// Which side is ahead, where that changes, or whether a statement holds.
    Ordering,
    /// The number that counted loads allow at most.
    Bound,
    /// One of the inputs was taken from the printed number or fitted to it.
    Fit,
    /// An input, or arithmetic on inputs.
    Identity,
    /// A point of a figure: nothing is printed to hold it against.
    Point,
    /// Nothing is given, and why.
    Gap,
}

impl Class {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Class::Prediction => "prediction",
            Class::Ordering => "ordering",
            Class::Bound => "bound",
            Class::Fit => "fit",
            Class::Identity => "identity",
            Class::Point => "point",
            Class::Gap => "gap",
        }
    }

    /// The class of a row.
    pub fn of(row: &Row) -> Class {
        let method = row.evidence.method;
        let says_nothing = row.error_pct().is_none() && !row.is_judged();
        match method {
            _ if row.key("gap").is_some() => Class::Gap,
            // An input that was read from the claim is one, whether or not anything is made of it.
            None if !row.is_point => Class::Identity,
            _ if says_nothing => Class::Point,
            None => Class::Identity,
            Some(_) if row.evidence.taken_from(&row.gives).next().is_some() => Class::Fit,
            Some(_) if row.error_pct().is_none() || row.is_ordering() => Class::Ordering,
            Some(Method::Formula) => Class::Identity,
            Some(Method::Load) => Class::Bound,
            Some(Method::Loggp | Method::Packet | Method::Measured) => Class::Prediction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::catalog::Library;
    use hotlink_fabric::spec::Status;
    use std::collections::BTreeMap;

    const STUDIES: [&str; 5] = ["K98", "W01", "M02", "H06", "P01"];

    /// Every input of the catalog by the name that claims give it, with its status and source.
    fn inputs() -> BTreeMap<String, (Status, String)> {
        let library = Library::embedded();
        let mut all = BTreeMap::new();
        for listed in library.list("fabrics") {
            let spec = library.fabric(&listed.name).expect("a fabric").spec;
            for (key, used) in spec.numbers() {
                all.insert(format!("{}/{key}", spec.name), (used.status, used.source));
            }
        }
        for listed in library.list("prices") {
            let list = library.price_list(&listed.name).expect("a price list");
            for (key, item) in list.items {
                all.insert(format!("{}/{key}", list.name), (item.price.status, item.price.source));
            }
        }
        // Fitted by the kernel's own code.
        for fitted in ["abinit/skew", "abinit/barriers"] {
            all.insert(fitted.to_owned(), (Status::Fitted, "H06 s27".to_owned()));
        }
        all
    }

    fn given() -> Vec<(String, String)> {
        let library = Library::embedded();
        let claims = |study: &&str| library.published(&study.to_lowercase()).expect("claims");
        let pairs = |claim: Claim| claim.gives.into_iter().map(move |input| (claim.id.clone(), input));
        STUDIES.iter().flat_map(claims).flat_map(pairs).collect()
    }

    #[test]
    fn claims_give_inputs_that_exist() {
        let inputs = inputs();
        let missing: Vec<_> = given().into_iter().filter(|(_, input)| !inputs.contains_key(input)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn what_is_fitted_to_a_study_is_given_by_a_claim() {
        let given: BTreeSet<String> = given().into_iter().map(|(_, input)| input).collect();
        let of_a_study = |source: &str| STUDIES.iter().any(|study| source.contains(study));
        let silent: Vec<String> = inputs()
            .into_iter()
            .filter(|(input, (status, source))| {
                *status == Status::Fitted && of_a_study(source) && !given.contains(input)
            })
            .map(|(input, (_, source))| format!("{input}: {source}"))
            .collect();
        assert!(silent.is_empty(), "{silent:#?}");
    }
}
