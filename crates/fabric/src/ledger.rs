//! The inputs of an answer: which catalog values an engine asked for, and what stood in where a machine states none.
//!
//! An engine reads parameters through [`Inputs`]. A value that the machine states is used as it is. Where it states
//! none, the record of its technology may hold an assumption ([`Technology::assumptions`]), which is then used and
//! noted as one. Without either the engine stops with [`Missing`], which says how to give the value. Nothing else
//! stands in.
//!
//! ```
//! use hotlink_fabric::{catalog, ledger::Inputs};
//! let spec = catalog::load("ib-ndr-fat-tree2").unwrap();
//! let inputs = Inputs::new(&spec);
//! inputs.require("register_time").unwrap();
//! assert!(inputs.require("tcp_overhead").unwrap_err().to_string().contains("[parameter]"));
//! assert_eq!(inputs.ledger().assumed(), ["register_time=5 us (1 to 30; infiniband: system call and table update, by analogy)"]);
//! ```
//!
//! [`Technology::assumptions`]: crate::technology::Technology::assumptions

use crate::catalog::role_key;
use crate::catalog::vocabulary::parameter_named;
use crate::spec::{FabricSpec, Status};
use crate::technology::{Assumption, Technology};
use crate::units::Time;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A value that an engine needs and a machine lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{fabric}: parameter.{name} is missing ({meaning}): state it in the fabric's file, as\n  [parameter]\n  {name} = {{ value = ..., unit = \"{unit}\", source = \"...\", status = \"estimated\" }}"
)]
pub struct Missing {
    /// The fabric.
    pub fabric: String,
    /// The parameter.
    pub name: String,
    /// What it means.
    pub meaning: &'static str,
    /// A unit of its dimension.
    pub unit: &'static str,
}

/// One value that an answer rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// Value in base units.
    pub value: f64,
    /// Unit in which it is stated.
    pub unit: String,
    /// Source.
    pub source: String,
    /// Status: `Estimated` for every assumption.
    pub status: Status,
    /// Least and greatest plausible value in base units, if stated.
    pub range: Option<[f64; 2]>,
    /// The technology whose record stood in; `None`: the machine states the value.
    pub assumed_by: Option<&'static str>,
}

/// The parameters that an answer used, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Each once.
    pub used: BTreeMap<String, Used>,
}

impl Ledger {
    /// What was assumed, for people and records: `name=value unit (least to most; technology: why)`.
    pub fn assumed(&self) -> Vec<String> {
        let assumed = self.used.iter().filter_map(|(name, used)| Some((name, used, used.assumed_by?)));
        assumed.map(|(name, used, technology)| used.sentence(name, technology)).collect()
    }

    /// Adds the values of another.
    pub fn extend(&mut self, other: Ledger) {
        self.used.extend(other.used);
    }
}

impl Used {
    fn sentence(&self, name: &str, technology: &str) -> String {
        let factor = parameter_named(name).and_then(|parameter| parameter.dimension.factor(&self.unit)).unwrap_or(1.0);
        // A value such as 0.1 us comes back from picoseconds with an error in the last place.
        let shown = |base: f64| (base / factor * 1e9).round() / 1e9;
        let range = self.range.map(|[low, high]| format!("{} to {}; ", shown(low), shown(high))).unwrap_or_default();
        format!("{name}={} {} ({range}{technology}: {})", shown(self.value), self.unit, self.source)
    }
}

/// A machine's parameters, and a note of each that was asked for.
#[derive(Debug)]
pub struct Inputs<'a> {
    spec: &'a FabricSpec,
    technology: &'static Technology,
    ledger: RefCell<Ledger>,
}

impl<'a> Inputs<'a> {
    /// Those of a machine.
    pub fn new(spec: &'a FabricSpec) -> Inputs<'a> {
        Inputs::of_technology(spec, spec.technology)
    }

    /// The same with another technology's assumptions (adapters of another model tried on this machine).
    pub fn of_technology(spec: &'a FabricSpec, technology: &'static Technology) -> Inputs<'a> {
        Inputs { spec, technology, ledger: RefCell::default() }
    }

    /// The value that the machine states, in base units.
    pub fn stated(&self, name: &str) -> Option<f64> {
        let value = self.spec.parameters.get(name)?;
        let used = Used {
            value: value.value,
            unit: value.unit.clone(),
            source: value.source.clone(),
            status: value.status,
            range: self.spec.ranges.get(&format!("parameter.{name}")).copied(),
            assumed_by: None,
        };
        self.ledger.borrow_mut().used.insert(name.to_owned(), used);
        Some(value.value)
    }

    /// The value that the machine states, else `derived` from others that it states, else the technology's assumption.
    ///
    /// # Errors
    /// None of them.
    pub fn require_or(&self, name: &str, derived: Option<f64>) -> Result<f64, Missing> {
        if let Some(value) = self.stated(name).or(derived) {
            return Ok(value);
        }
        let assumption = self.technology.assumption(name).ok_or_else(|| self.missing(name))?;
        self.ledger.borrow_mut().used.insert(name.to_owned(), self.assumed(assumption));
        Ok(assumption.base().0)
    }

    /// The value that the machine states, else the technology's assumption.
    ///
    /// # Errors
    /// Neither.
    pub fn require(&self, name: &str) -> Result<f64, Missing> {
        self.require_or(name, None)
    }

    /// That `name` is missing and how to give it.
    pub fn missing(&self, name: &str) -> Missing {
        let parameter = parameter_named(name);
        let unit = parameter.and_then(|parameter| Some(parameter.dimension.units().first()?.0));
        Missing {
            fabric: self.spec.name.clone(),
            name: name.to_owned(),
            meaning: parameter.map_or("", |parameter| parameter.meaning),
            unit: unit.unwrap_or(""),
        }
    }

    fn assumed(&self, assumption: &Assumption) -> Used {
        let (value, range) = assumption.base();
        Used {
            value,
            unit: assumption.unit.to_owned(),
            source: assumption.source.to_owned(),
            status: Status::Estimated,
            range: Some(range),
            assumed_by: Some(self.technology.name),
        }
    }

    /// What was used so far.
    pub fn ledger(&self) -> Ledger {
        self.ledger.borrow().clone()
    }
}

/// Keys of the estimates that an answer rests on: of the network's description, and of the parameters that were `asked`
/// for. A rate that a measurement stands in for is none.
pub fn estimated(spec: &FabricSpec, asked: &BTreeSet<String>) -> Vec<String> {
    let mut keys = Vec::new();
    let mut add = |key: String, status: Status, says_something: bool| {
        if status == Status::Estimated && says_something {
            keys.push(key);
        }
    };
    add("topology".to_owned(), spec.topology_origin.status, true);
    for (role, resource) in &spec.resources {
        let key = |field: &str| format!("resource.{}.{field}", role_key(*role));
        add(key("latency"), resource.latency.status, resource.latency.value != Time::ZERO);
        if let Some(gross) = resource.gross.as_ref().filter(|_| resource.measured.is_none()) {
            add(key("gross"), gross.status, true);
        }
        if let Some(measured) = &resource.measured {
            add(key("measured"), measured.status, true);
        }
    }
    let overhead = &spec.packet.overhead_bytes;
    add("packet.overhead".to_owned(), overhead.status, overhead.value > 0.0);
    // As a map: telling what was used is no use.
    let stated: &BTreeMap<_, _> = &spec.parameters;
    for (name, value) in stated.iter().filter(|(name, _)| asked.contains(*name)) {
        add(format!("parameter.{name}"), value.status, true);
    }
    keys
}
