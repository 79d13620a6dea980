//! How much an answer moves when uncertain inputs move within their stated uncertainty.
//!
//! Uncertain are the values with status `estimated` or `fitted` that state an uncertainty ([`FabricSpec::ranges`]), and
//! the assumptions of the technology's record where the machine states nothing. Each goes to both ends of its range by
//! itself, which ranks them; then all go at once to the ends that lower the answer, and to those that raise it, which
//! gives the interval. Estimates without a stated uncertainty cannot be varied; they are listed.

use crate::catalog::{Entry, role_named};
use crate::spec::{FabricSpec, ResourceSpec, Status, Value};
use crate::units::{Rate, Time};

/// An input that may be off.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Dotted key: `resource.nic.latency`, `parameter.copy_rate`.
    pub key: String,
    /// Value in base units.
    pub value: f64,
    /// Least and greatest plausible value in base units.
    pub range: [f64; 2],
}

/// What one input does to the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The input.
    pub input: Input,
    /// The answer with the input at its least and at its greatest.
    pub answers: [f64; 2],
}

impl Effect {
    /// How far apart the answers are.
    pub fn size(&self, answer: f64) -> f64 {
        let [a, b] = self.answers;
        a.max(b).max(answer) - a.min(b).min(answer)
    }
}

/// An answer with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The answer with every input as stated.
    pub answer: f64,
    /// The answer with all inputs at the ends that lower it, and at those that raise it.
    pub interval: [f64; 2],
    /// The inputs that move the answer, the strongest first.
    pub ranking: Vec<Effect>,
    /// Inputs that were varied and do not move it.
    pub without_effect: Vec<String>,
}

/// The inputs of a machine that may be off, sorted by key.
pub fn inputs(spec: &FabricSpec) -> Vec<Input> {
    let uncertain = |status: Status| matches!(status, Status::Estimated | Status::Fitted);
    let of_spec = spec.ranges.iter().filter_map(|(key, range)| {
        let (value, status) = stated(spec, key)?;
        uncertain(status).then(|| Input { key: key.clone(), value, range: *range })
    });
    let silent = |name: &str| !spec.parameters.contains_key(name);
    let assumed = spec.technology.assumptions.iter().filter(|assumption| silent(assumption.parameter));
    let assumed = assumed.map(|assumption| {
        let (value, range) = assumption.base();
        Input { key: format!("parameter.{}", assumption.parameter), value, range }
    });
    let mut inputs: Vec<Input> = of_spec.chain(assumed).filter(|input| input.range[0] < input.range[1]).collect();
    inputs.sort_by(|a, b| a.key.cmp(&b.key));
    inputs
}

/// The estimates among `entries` that state no uncertainty, so that they cannot be varied.
pub fn unstated(entries: &[Entry]) -> Vec<&str> {
    let open = |entry: &&Entry| entry.status == Status::Estimated && entry.range.is_none() && entry.value != 0.0;
    entries.iter().filter(open).map(|entry| entry.key.as_str()).collect()
}

/// The stated value of `key` in base units.
fn stated(spec: &FabricSpec, key: &str) -> Option<(f64, Status)> {
    let of_rate = |rate: &Value<Rate>| (rate.value.0 as f64, rate.status);
    match key.split('.').collect::<Vec<_>>()[..] {
        ["parameter", name] => spec.parameters.get(name).map(|value| (value.value, value.status)),
        ["packet", "overhead"] => Some((spec.packet.overhead_bytes.value, spec.packet.overhead_bytes.status)),
        ["resource", role, field] => {
            let resource = spec.resources.get(&role_named(role)?)?;
            match field {
                "latency" => Some((resource.latency.value.0 as f64, resource.latency.status)),
                "gross" => resource.gross.as_ref().map(of_rate),
                "measured" => resource.measured.as_ref().map(of_rate),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The machine with the value of `key` in base units changed; a parameter that it does not state is then stated.
#[must_use]
pub fn with(mut spec: FabricSpec, key: &str, value: f64) -> FabricSpec {
    match key.split('.').collect::<Vec<_>>()[..] {
        ["parameter", name] => {
            let varied = || Value {
                value,
                unit: String::new(),
                source: "varied within its uncertainty".to_owned(),
                status: Status::Estimated,
            };
            spec.parameters.entry(name.to_owned()).or_insert_with(varied).value = value;
        }
        ["packet", "overhead"] => spec.packet.overhead_bytes.value = value,
        ["resource", role, field] => {
            if let Some(resource) = role_named(role).and_then(|role| spec.resources.get_mut(&role)) {
                set(resource, field, value);
            }
        }
        _ => {}
    }
    spec
}

fn set(resource: &mut ResourceSpec, field: &str, value: f64) {
    let rate = Rate(value.round().max(1.0) as u64);
    match field {
        "latency" => resource.latency.value = Time(value.round() as u64),
        "gross" => resource.gross.iter_mut().for_each(|gross| gross.value = rate),
        "measured" => resource.measured.iter_mut().for_each(|measured| measured.value = rate),
        _ => {}
    }
}

/// Varies the uncertain inputs of `spec`.
///
/// # Errors
/// The first of `answer`.
pub fn vary<E>(spec: &FabricSpec, answer: impl Fn(&FabricSpec) -> Result<f64, E>) -> Result<Sensitivity, E> {
    let stated = answer(spec)?;
    let (mut ranking, mut without_effect) = (Vec::new(), Vec::new());
    let (mut lowest, mut highest) = (spec.clone(), spec.clone());
    for input in inputs(spec) {
        let [low, high] = input.range;
        let answers = [answer(&with(spec.clone(), &input.key, low))?, answer(&with(spec.clone(), &input.key, high))?];
        if answers.iter().all(|one| *one == stated) {
            without_effect.push(input.key);
            continue;
        }
        let (down, up) = if answers[0] <= answers[1] { (low, high) } else { (high, low) };
        lowest = with(lowest, &input.key, down);
        highest = with(highest, &input.key, up);
        ranking.push(Effect { input, answers });
    }
    let ends = if ranking.is_empty() { [stated; 2] } else { [answer(&lowest)?, answer(&highest)?] };
    ranking.sort_by(|a, b| b.size(stated).total_cmp(&a.size(stated)));
    let interval = [ends[0].min(stated), ends[1].max(stated)];
    Ok(Sensitivity { answer: stated, interval, ranking, without_effect })
}
