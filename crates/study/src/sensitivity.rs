//! How much an answer moves when uncertain inputs move within their stated uncertainty.
//!
//! Values are uncertain if they have the status `estimated` or `fitted` and state an uncertainty
//! ([`FabricSpec::ranges`]). So are the assumptions of the technology's record where the machine states nothing. Each
//! goes to both ends of its range by itself, which ranks them. Then all go at once to the ends that lower the answer,
//! and to those that raise it, which gives the interval. Estimates without a stated uncertainty cannot be varied; they
//! are listed.

use hotlink_fabric::catalog::Entry;
use hotlink_fabric::ledger::{Inputs, Ledger, Used};
use hotlink_fabric::spec::{FabricSpec, Status};
use std::collections::BTreeMap;

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

/// The effect of one input on the answer.
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

/// The numbers of `used` that may be off, sorted by key: estimates, fitted values and assumptions that state a range.
pub fn uncertain(used: &Ledger) -> Vec<Input> {
    let is_open = |used: &Used| matches!(used.status, Status::Estimated | Status::Fitted);
    let input = |(key, used): (&String, &Used)| {
        let range = used.range.filter(|range| is_open(used) && range[0] < range[1])?;
        Some(Input { key: key.clone(), value: used.value, range })
    };
    used.used.iter().filter_map(input).collect()
}

/// The same of all that a machine states, and of all that its technology would assume.
pub fn inputs(spec: &FabricSpec) -> Vec<Input> {
    let spec = &FabricSpec { parameters: spec.parameters.unasked(), ..spec.clone() };
    let asks = Inputs::new(spec);
    for assumption in spec.technology.assumptions {
        // Asked for, so that it is noted where the machine states nothing.
        let _ = asks.require(assumption.parameter);
    }
    let mut all = spec.used();
    all.used.extend(spec.numbers());
    uncertain(&all)
}

/// The estimates among `entries` that state no uncertainty, so that they cannot be varied.
pub fn unstated(entries: &[Entry]) -> Vec<&str> {
    let open = |entry: &&Entry| entry.status == Status::Estimated && entry.range.is_none() && entry.value != 0.0;
    entries.iter().filter(open).map(|entry| entry.key.as_str()).collect()
}

/// Varies the uncertain inputs of `spec`, for one answer.
///
/// # Errors
/// The first of `answer`.
pub fn vary<E>(spec: &FabricSpec, answer: impl Fn(&FabricSpec) -> Result<f64, E>) -> Result<Sensitivity, E> {
    let mut found = vary_all(spec, &inputs(spec), |spec| Ok(vec![answer(spec)?]))?;
    Ok(found.remove(0))
}

/// Varies `inputs` of `spec`, for several answers at once.
///
/// # Errors
/// The first of `answer`.
pub fn vary_all<E>(
    spec: &FabricSpec,
    inputs: &[Input],
    answer: impl Fn(&FabricSpec) -> Result<Vec<f64>, E>,
) -> Result<Vec<Sensitivity>, E> {
    let stated = answer(spec)?;
    let at = |input: &Input, value| answer(&spec.clone().with_number(&input.key, value));
    let ends = |input: &Input| Ok([at(input, input.range[0])?, at(input, input.range[1])?]);
    let moved: Vec<[Vec<f64>; 2]> = inputs.iter().map(ends).collect::<Result<_, E>>()?;
    // Most answers move in the same direction with an input: the result of all at once is then the same run.
    let mut together: BTreeMap<Vec<Option<bool>>, Vec<f64>> =
        BTreeMap::from([(vec![None; inputs.len()], stated.clone())]);
    let mut all_at_once = |highs: Vec<Option<bool>>, index: usize| -> Result<f64, E> {
        if let Some(known) = together.get(&highs) {
            return Ok(known[index]);
        }
        let change = |changed: FabricSpec, (input, high): (&Input, &Option<bool>)| match high {
            Some(high) => changed.with_number(&input.key, input.range[usize::from(*high)]),
            None => changed,
        };
        let found = answer(&inputs.iter().zip(&highs).fold(spec.clone(), change))?;
        let value = found[index];
        together.insert(highs, found);
        Ok(value)
    };
    let mut all = Vec::with_capacity(stated.len());
    for (index, &stated) in stated.iter().enumerate() {
        let answers = |ends: &[Vec<f64>; 2]| [ends[0][index], ends[1][index]];
        let still = |ends: &[Vec<f64>; 2]| answers(ends).iter().all(|one| *one == stated);
        // The end that lowers the answer; none where the input does not move it.
        let lowering =
            |ends: &[Vec<f64>; 2]| if still(ends) { None } else { Some(answers(ends)[0] > answers(ends)[1]) };
        let lows: Vec<Option<bool>> = moved.iter().map(lowering).collect();
        let highs = lows.iter().map(|low| low.map(|low| !low)).collect();
        let [low, high] = [all_at_once(lows, index)?, all_at_once(highs, index)?];
        let (mut ranking, mut without_effect) = (Vec::new(), Vec::new());
        for (input, ends) in inputs.iter().zip(&moved) {
            match still(ends) {
                true => without_effect.push(input.key.clone()),
                false => ranking.push(Effect { input: input.clone(), answers: answers(ends) }),
            }
        }
        ranking.sort_by(|a, b| b.size(stated).total_cmp(&a.size(stated)));
        all.push(Sensitivity {
            answer: stated,
            interval: [low.min(stated), high.max(stated)],
            ranking,
            without_effect,
        });
    }
    Ok(all)
}
