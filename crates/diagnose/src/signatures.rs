//! What distinguishes one cause from another: thresholds and signatures, as data (`catalog/signatures/diagnose.toml`).

use hotlink_fabric::maths;
use serde::Deserialize;
use std::collections::BTreeMap;

const TEXT: &str = include_str!("../../../catalog/signatures/diagnose.toml");

/// Facts of a finding, by name.
pub type Facts = BTreeMap<&'static str, f64>;

/// What counts as a finding; the file says why.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, non_snake_case)]
pub struct Thresholds {
    pub large_least_B: u64,
    pub large_part: u64,
    pub small_most_B: u64,
    pub healthy_large: f64,
    pub healthy_small: f64,
    pub apart_large: f64,
    pub apart_small: f64,
    pub apart_steady: f64,
    pub least_late: f64,
    pub retransmission_us: f64,
    pub deviations: f64,
    pub few: usize,
    pub few_times: f64,
    pub sound_part: f64,
    pub alike: f64,
    pub beyond: f64,
    pub knee: f64,
    pub both: f64,
    pub near: f64,
    pub shown: f64,
}

/// A question to the bound: what would large messages reach if this were so?
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WhatIf {
    /// The resource that is slower, by its key in the catalog.
    pub role: Option<String>,
    /// Parts of that resource's rate.
    pub rates: Vec<f64>,
    /// Parts of the bound.
    pub shares: Vec<f64>,
    /// Wrong units: what is printed over what is meant.
    pub factors: Vec<f64>,
    /// Every other fabric of the catalog.
    pub catalog: bool,
}

/// How a fact speaks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sign {
    /// The fact.
    pub fact: String,
    /// Least value that speaks for the cause.
    pub from: f64,
    /// Largest.
    pub to: f64,
    /// By how much; negative: it speaks against it.
    pub weight: f64,
    /// By how much a value outside speaks against it.
    #[serde(default)]
    pub against: f64,
    /// Whether the cause needs it.
    #[serde(default)]
    pub needed: bool,
}

/// A cause and its signs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Its name.
    pub id: String,
    /// Findings that it may explain.
    pub finding: Vec<String>,
    /// The cause in words; `{subject}` is the host or pair.
    pub cause: String,
    /// What the bound is asked.
    #[serde(default)]
    pub what_if: WhatIf,
    /// How usual it is.
    pub prior: f64,
    /// Whether it is of what lies between hosts, so that the pairs are its subject where a host is the finding's.
    #[serde(default)]
    pub is_of_path: bool,
    /// Its signs.
    pub sign: Vec<Sign>,
    /// The next command.
    pub command: String,
}

/// All that is known.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knowledge {
    /// What counts as a finding.
    pub threshold: Thresholds,
    /// The causes.
    pub signature: Vec<Signature>,
}

impl Knowledge {
    /// What the catalog holds.
    pub fn embedded() -> Knowledge {
        toml::from_str(TEXT).expect("a test reads the embedded signatures")
    }
}

/// What speaks for a cause and against it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weighed {
    /// Logarithm of the belief.
    pub score: f64,
    /// Facts that speak for it.
    pub for_it: Vec<String>,
    /// Facts that speak against it.
    pub against: Vec<String>,
    /// Facts that would matter and are not known.
    pub unknown: Vec<String>,
}

impl Signature {
    /// Weighs the facts; `None`: what it needs is not so.
    pub fn weigh(&self, facts: &Facts) -> Option<Weighed> {
        let mut weighed = Weighed { score: maths::ln(self.prior), ..Weighed::default() };
        for sign in &self.sign {
            let Some(&value) = facts.get(sign.fact.as_str()) else {
                if sign.needed {
                    return None;
                }
                weighed.unknown.push(sign.fact.clone());
                continue;
            };
            let is_inside = (sign.from..=sign.to).contains(&value);
            if sign.needed && !is_inside {
                return None;
            }
            // A prediction speaks the louder, the closer it comes.
            let grade = if sign.fact == "predicted" { value } else { 1.0 };
            let by = if is_inside { sign.weight * grade } else { -sign.against };
            weighed.score += by;
            let told = format!("{} {}", sign.fact, rounded(value));
            match by {
                by if by > 0.0 => weighed.for_it.push(told),
                by if by < 0.0 => weighed.against.push(told),
                _ => {}
            }
        }
        Some(weighed)
    }
}

fn rounded(value: f64) -> String {
    hotlink_study::text::figure(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The facts that findings may have.
    const FACTS: [&str; 21] = [
        "large",
        "small",
        "steady",
        "spread",
        "sending",
        "both",
        "knee",
        "recovers",
        "runs",
        "lone",
        "tcp",
        "nccl",
        "streams",
        "link_slow",
        "pcie_narrow",
        "gpu_far",
        "shared",
        "predicted",
        "flows",
        "partners",
        "round",
    ];

    #[test]
    fn the_embedded_signatures_are_sound() {
        let known = Knowledge::embedded();
        let mut names = BTreeSet::new();
        for signature in &known.signature {
            assert!(names.insert(signature.id.as_str()), "{} occurs twice", signature.id);
            assert!(signature.prior > 0.0 && !signature.cause.is_empty() && !signature.command.is_empty());
            for sign in &signature.sign {
                assert!(FACTS.contains(&sign.fact.as_str()), "{}: {}", signature.id, sign.fact);
                assert!(sign.from <= sign.to, "{}: {}", signature.id, sign.fact);
            }
            if let Some(role) = &signature.what_if.role {
                assert!(hotlink_fabric::catalog::role_named(role).is_some(), "{role}");
            }
        }
        assert!(names.len() > 20);
    }

    #[test]
    fn a_needed_sign_rules_out_and_others_weigh() {
        let known = Knowledge::embedded();
        let units = known.signature.iter().find(|signature| signature.id == "units").unwrap();
        assert_eq!(units.weigh(&Facts::from([("predicted", 0.0)])), None);
        let weighed = units.weigh(&Facts::from([("predicted", 1.0), ("spread", 0.01)])).unwrap();
        assert!(weighed.score > 0.0 && weighed.for_it.len() == 2);
    }
}
