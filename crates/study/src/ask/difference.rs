//! Where answers differ, by how much, and why.

use super::{Answer, Method, Omission, Value};
use crate::text::figure;
use std::fmt;

/// Answers closer than this (relative) are the same.
const SAME: f64 = 0.005;

/// How one engine's answer differs from another's.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The method of the answer.
    pub of: Method,
    /// Than whose.
    pub from: Method,
    /// So much better (above 0) or worse, relative.
    pub better_by: f64,
    /// Both values in words, where a record leads with another one.
    pub values: Option<String>,
    /// The omissions of the other one that this one does not make, or the reverse; empty: the engines' claims do not
    /// explain it.
    pub because: Vec<Omission>,
}

impl Difference {
    /// Whether the engines' claims explain it.
    pub fn is_explained(&self) -> bool {
        !self.because.is_empty()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, way) = (100.0 * self.better_by.abs(), if self.better_by > 0.0 { "better" } else { "worse" });
        let values = self.values.iter().map(|values| format!(" ({values})")).collect::<String>();
        write!(f, "{percent:.1} % {way} than {}{values}: ", self.from)?;
        if !self.is_explained() {
            return f.write_str("not explained by what either leaves out, so one of them is wrong: please report it");
        }
        let who = if self.better_by > 0.0 { self.of } else { self.from };
        let because: Vec<&str> = self.because.iter().map(|omission| omission.name()).collect();
        write!(f, "{who} {}", because.join(", "))
    }
}

impl Answer {
    /// Whether its record leads with another value than the one that is compared. Of M02's switches that is a mean over
    /// partners, of random traffic the median draw.
    fn leads_with_another(&self) -> bool {
        let (key, value) = match self.value {
            Some(Value::Us(us)) => ("latency_us", us),
            Some(Value::PerNodeMbps(mbps)) => ("bandwidth_per_node_MBps", mbps),
            None => return false,
        };
        self.record.number(key).is_some_and(|leading| (leading / value - 1.0).abs() > SAME)
    }
}

/// By how much `a` is better than `b`, relative, and both in words; `None` where they are no values of one kind.
fn better(a: Value, b: Value) -> Option<(f64, String)> {
    let (ratio, values, unit) = match (a, b) {
        (Value::Us(a), Value::Us(b)) => (b / a, [a, b], "us"),
        (Value::PerNodeMbps(a), Value::PerNodeMbps(b)) => (a / b, [a, b], "MB/s"),
        _ => return None,
    };
    let [a, b] = values.map(figure);
    (ratio.is_finite() && ratio > 0.0).then(|| (ratio - 1.0, format!("{a} against {b} {unit}")))
}

/// Every pair that differs, the later answer against the earlier.
pub fn between(answers: &[Answer]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (at, a) in answers.iter().enumerate() {
        for b in &answers[..at] {
            let Some((better_by, told)) = a.value.zip(b.value).and_then(|(a, b)| better(a, b)) else { continue };
            if better_by.abs() <= SAME {
                continue;
            }
            // The better answer must be the one that leaves out more.
            let (better, worse) = if better_by > 0.0 { (a, b) } else { (b, a) };
            let only = better.claim.leaves_out.iter().filter(|omission| !worse.claim.leaves_out.contains(omission));
            let values = [a, b].iter().any(|one| one.leads_with_another()).then_some(told);
            found.push(Difference {
                of: a.method,
                from: b.method,
                better_by,
                values,
                because: only.copied().collect(),
            });
        }
    }
    found
}
