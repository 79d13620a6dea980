//! A machine's parameters, which know what was asked for.
//!
//! An engine asks by name ([`Parameters::get`]). All names are noted, also those that the machine does not state. An
//! answer can then list what it rests on, and reports no parameter as used that no engine reads. Clones share their
//! notes.

use crate::notes::{Notes, Used};
use crate::terms::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Parameters by the names of [`crate::catalog::vocabulary`], in base units.
///
/// As a map it notes nothing: that is for files and for what varies values.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    values: BTreeMap<String, Value<f64>>,
    notes: Arc<Notes>,
}

impl Parameters {
    /// The value of `name`, for an engine that needs it.
    pub fn get(&self, name: &str) -> Option<&Value<f64>> {
        self.notes.parameter(name);
        self.values.get(name)
    }

    /// Whether the machine states `name`, for an engine that depends on it.
    pub fn contains_key(&self, name: &str) -> bool {
        self.notes.parameter(name);
        self.values.contains_key(name)
    }

    /// Those whose names begin so, for an engine that needs them all.
    pub fn beginning(&self, prefix: &str) -> impl Iterator<Item = (&String, &Value<f64>)> {
        let found = self.values.iter().filter(move |(name, _)| name.starts_with(prefix));
        found.inspect(|(name, _)| self.notes.parameter(name))
    }

    /// The names that engines asked for so far, of this machine and its clones.
    pub fn asked(&self) -> BTreeSet<String> {
        self.notes.parameters()
    }

    /// The assumptions that stood in so far for what the machine does not state.
    pub fn assumed(&self) -> BTreeMap<String, Used> {
        self.notes.assumed()
    }

    /// The same parameters with notes of their own.
    #[must_use]
    pub fn unasked(&self) -> Parameters {
        Parameters { values: self.values.clone(), notes: Arc::default() }
    }

    /// What was asked of others counts for these, too.
    pub fn also_asked(&self, others: &Parameters) {
        self.notes.extend(&others.notes);
    }

    /// What was asked of the machine.
    pub(crate) fn notes(&self) -> &Notes {
        &self.notes
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Parameters) -> bool {
        self.values == other.values
    }
}

impl Deref for Parameters {
    type Target = BTreeMap<String, Value<f64>>;
    fn deref(&self) -> &BTreeMap<String, Value<f64>> {
        &self.values
    }
}

impl DerefMut for Parameters {
    fn deref_mut(&mut self) -> &mut BTreeMap<String, Value<f64>> {
        &mut self.values
    }
}

impl From<BTreeMap<String, Value<f64>>> for Parameters {
    fn from(values: BTreeMap<String, Value<f64>>) -> Parameters {
        Parameters { values, ..Parameters::default() }
    }
}

impl<'a> IntoIterator for &'a Parameters {
    type Item = (&'a String, &'a Value<f64>);
    type IntoIter = std::collections::btree_map::Iter<'a, String, Value<f64>>;
    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}
