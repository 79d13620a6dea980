//! Catalog parameters, asked for by name.

use super::HostError;
use hotlink_fabric::catalog::vocabulary::parameter_named;
use hotlink_fabric::spec::{FabricSpec, ResourceSpec, Role};
use hotlink_fabric::units::{Rate, Time};

/// The parameters of one fabric.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a>(pub &'a FabricSpec);

impl<'a> Parameters<'a> {
    fn base(self, name: &str) -> Result<f64, HostError> {
        let value = self.0.parameters.get(name).map(|value| value.value);
        value.ok_or_else(|| self.missing(&format!("parameter.{name}"), parameter_named(name).map_or("", |p| p.meaning)))
    }

    fn missing(self, key: &str, meaning: &str) -> HostError {
        HostError::Missing { fabric: self.0.name.clone(), key: key.to_owned(), meaning: meaning.to_owned() }
    }

    /// Whether the fabric states it.
    pub fn has(self, name: &str) -> bool {
        self.0.parameters.contains_key(name)
    }

    /// A time.
    pub fn time(self, name: &str) -> Result<Time, HostError> {
        self.base(name).map(|base| Time(base.round() as u64))
    }

    /// A size in bytes, a count or a frequency in Hz, at least 1.
    pub fn number(self, name: &str) -> Result<u64, HostError> {
        self.base(name).map(|base| (base.round() as u64).max(1))
    }

    /// A count that may be 0.
    pub fn count(self, name: &str) -> Result<u64, HostError> {
        self.base(name).map(|base| base.round() as u64)
    }

    /// The resource of `role`.
    pub fn resource(self, role: Role, key: &str) -> Result<&'a ResourceSpec, HostError> {
        self.0.resources.get(&role).ok_or_else(|| self.missing(&format!("resource.{key}"), "its rate and latency"))
    }

    /// The gross rate of the resource of `role`.
    pub fn gross(self, role: Role, key: &str) -> Result<Rate, HostError> {
        let gross = self.resource(role, key)?.gross.as_ref().map(|gross| gross.value);
        gross.ok_or_else(|| self.missing(&format!("resource.{key}.gross"), "its gross rate"))
    }
}
