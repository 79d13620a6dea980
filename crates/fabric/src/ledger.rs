//! The inputs of an answer: which catalog values an engine asked for, and what stood in where a machine states none.
//!
//! An engine reads parameters through [`Inputs`]. A value that the machine states is used as it is. Where it states
//! none, the record of its technology may hold an assumption ([`Technology::assumptions`]), which is then used and
//! noted as one. Without either the engine stops with [`Unfit`], which says how to give the value. Nothing else
//! stands in.
//!
//! ```
//! use hotlink_fabric::{catalog, ledger::Inputs};
//! let spec = catalog::load("ib-ndr-fat-tree2").unwrap();
//! let inputs = Inputs::new(&spec);
//! inputs.require("register_time").unwrap();
//! assert!(inputs.require("tcp_overhead").unwrap_err().to_string().contains("[parameter]"));
//! assert_eq!(spec.used().assumed(), ["register_time=5 us (1 to 30; infiniband: system call and table update, by analogy)"]);
//! ```
//!
//! [`Technology::assumptions`]: crate::technology::Technology::assumptions

pub use crate::notes::Used;

use crate::catalog::status_name;
use crate::catalog::vocabulary::{PER_SIZE, parameter_named};
use crate::spec::{FabricSpec, Status};
use crate::technology::{Assumption, Technology};
use std::collections::BTreeMap;

/// Why a machine's values do not suffice for an engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A parameter that the engine needs is not stated.
    #[error(
        "{fabric}: parameter.{name} is missing ({meaning}): state it in the fabric's file (of a network in dumps: add +like:FABRIC), as\n  [parameter]\n  {name} = {{ value = ..., unit = \"{unit}\", source = \"...\", status = \"estimated\" }}"
    )]
    Missing {
        /// The fabric.
        fabric: String,
        /// The parameter.
        name: String,
        /// What it means.
        meaning: &'static str,
        /// A unit of its dimension.
        unit: &'static str,
    },
    /// A resource that the engine needs is not described.
    #[error("{fabric}: {key} is missing ({meaning})")]
    Without {
        /// The fabric.
        fabric: String,
        /// Dotted key.
        key: String,
        /// What it means.
        meaning: &'static str,
    },
    /// A value is no machine's: times would not fit.
    #[error("{fabric}: {key}: {value} is out of range (allowed: {allowed})")]
    OutOfRange {
        /// The fabric.
        fabric: String,
        /// Dotted key.
        key: String,
        /// The value in base units.
        value: String,
        /// What is allowed.
        allowed: String,
    },
}

/// The numbers that an answer used, by dotted key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Each once.
    pub used: BTreeMap<String, Used>,
}

impl Ledger {
    /// What was assumed, for people and records: `name=value unit (least to most; technology: why)`.
    pub fn assumed(&self) -> Vec<String> {
        let assumed = self.used.iter().filter_map(|(key, used)| Some((key, used, used.assumed_by?)));
        assumed.map(|(key, used, technology)| used.sentence(key, technology)).collect()
    }

    /// Keys of the estimates that the machine's description states. A zero says that a value is counted elsewhere.
    pub fn estimates(&self) -> Vec<String> {
        let is_one = |used: &Used| used.assumed_by.is_none() && used.status == Status::Estimated && used.value != 0.0;
        self.used.iter().filter(|(_, used)| is_one(used)).map(|(key, _)| key.clone()).collect()
    }

    /// Keys of estimates and fitted values that state no uncertainty: an interval leaves out what they would add.
    pub fn without_range(&self) -> Vec<String> {
        let is_open = |used: &Used| matches!(used.status, Status::Estimated | Status::Fitted) && used.value != 0.0;
        let without = self.used.iter().filter(|(_, used)| used.range.is_none() && is_open(used));
        without.map(|(key, _)| key.clone()).collect()
    }

    /// All, for records: `key=value unit (status, least to most)`; what is stated once for each of many sizes is one line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut sizes: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (key, used) in &self.used {
            let status = if used.assumed_by.is_some() { "assumed" } else { status_name(used.status) };
            let per_size = PER_SIZE
                .iter()
                .find(|sized| key.strip_prefix("parameter.").is_some_and(|name| name.starts_with(sized.name)));
            match per_size {
                Some(sized) => *sizes.entry((sized.name, status)).or_default() += 1,
                None if used.value.is_nan() => lines.push(format!("{key} ({status})")),
                None => lines.push(format!(
                    "{key}={} {} ({status}{})",
                    shown(key, used.value, &used.unit),
                    used.unit,
                    used.between(key, ", ", "")
                )),
            }
        }
        lines.extend(sizes.into_iter().map(|((name, status), n)| format!("parameter.{name}*: {n} sizes ({status})")));
        lines
    }
}

impl Used {
    fn sentence(&self, key: &str, technology: &str) -> String {
        let (range, value) = (self.between(key, "", "; "), shown(key, self.value, &self.unit));
        let name = key.trim_start_matches("parameter.");
        format!("{name}={value} {} ({range}{technology}: {})", self.unit, self.source)
    }

    /// The range that it states, between two texts.
    fn between(&self, key: &str, before: &str, after: &str) -> String {
        let number = |base: f64| shown(key, base, &self.unit);
        self.range.map_or_else(String::new, |[a, b]| format!("{before}{} to {}{after}", number(a), number(b)))
    }
}

/// A machine's parameters as an engine asks for them: what is used is noted ([`FabricSpec::used`]).
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    spec: &'a FabricSpec,
    technology: &'static Technology,
}

impl<'a> Inputs<'a> {
    /// Those of a machine.
    pub fn new(spec: &'a FabricSpec) -> Inputs<'a> {
        Inputs::of_technology(spec, spec.technology)
    }

    /// The same with another technology's assumptions (adapters of another model tried on this machine).
    pub fn of_technology(spec: &'a FabricSpec, technology: &'static Technology) -> Inputs<'a> {
        Inputs { spec, technology }
    }

    /// The value that the machine states, in base units.
    pub fn stated(&self, name: &str) -> Option<f64> {
        self.spec.parameters.get(name).map(|value| value.value)
    }

    /// The value that the machine states, else `derived` from others that it states, else the technology's assumption.
    ///
    /// # Errors
    /// None of them.
    pub fn require_or(&self, name: &str, derived: Option<f64>) -> Result<f64, Unfit> {
        if let Some(value) = self.stated(name).or(derived) {
            return Ok(value);
        }
        let assumption = self.technology.assumption(name).ok_or_else(|| self.missing(name))?;
        Ok(self.assume(assumption))
    }

    /// The value that the machine states, else the technology's assumption.
    ///
    /// # Errors
    /// Neither.
    pub fn require(&self, name: &str) -> Result<f64, Unfit> {
        self.require_or(name, None)
    }

    /// Input buffer of a switch port and virtual channel in bytes, in a network whose full packets carry `packet_bytes`.
    pub fn switch_buffer(&self, packet_bytes: u32) -> f64 {
        let scale = |name: &str| if name == "switch_buffer_packets" { f64::from(packet_bytes) } else { 1.0 };
        let stated =
            ["switch_buffer", "switch_buffer_packets"].into_iter().find_map(|name| Some((name, self.stated(name)?)));
        if let Some((name, value)) = stated {
            return value * scale(name);
        }
        let assumed = self.spec.flow_control.buffers.iter();
        assumed.map(|assumption| self.assume(assumption) * scale(assumption.parameter)).fold(0.0, f64::max)
    }

    /// That `name` is missing and how to give it.
    pub fn missing(&self, name: &str) -> Unfit {
        let parameter = parameter_named(name);
        let unit = parameter.and_then(|parameter| Some(parameter.dimension.units().first()?.0));
        Unfit::Missing {
            fabric: self.spec.name.clone(),
            name: name.to_owned(),
            meaning: parameter.map_or("", |parameter| parameter.meaning),
            unit: unit.unwrap_or(""),
        }
    }

    fn assume(&self, assumption: &Assumption) -> f64 {
        let (value, range) = assumption.base();
        let used = Used {
            value,
            unit: assumption.unit.to_owned(),
            source: assumption.source.to_owned(),
            status: Status::Estimated,
            range: Some(range),
            assumed_by: Some(self.technology.name),
        };
        self.spec.parameters.notes().assume(assumption.parameter, used);
        value
    }
}

/// A number in the unit of its dimension that `unit` names, without the error of the last place that base units leave.
fn shown(key: &str, base: f64, unit: &str) -> f64 {
    let factor = key.strip_prefix("parameter.").and_then(parameter_named).map(|parameter| parameter.dimension);
    let factor = factor.or_else(|| dimension_of(key)).and_then(|dimension| dimension.factor(unit)).unwrap_or(1.0);
    (base / factor * 1e9).round() / 1e9
}

fn dimension_of(key: &str) -> Option<crate::sheet::unit::Dimension> {
    use crate::sheet::unit::Dimension::{Rate, Size, Time};
    match key.rsplit('.').next()? {
        "gross" | "measured" | "rate" => Some(Rate),
        "payload_max" | "overhead" | "overhead_per_hop" | "segment" => Some(Size),
        _ if key.starts_with("topology") => None,
        _ => Some(Time),
    }
}
