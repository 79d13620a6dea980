//! One result row: flat, ordered, keys carry units (`bandwidth_per_node_MBps`).

use serde::Serialize;
use serde_json::{Map, Value};

/// One result. Always: `fabric`, `benchmark` or `traffic`, `method`, `nodes` or `ranks`, the swept parameters and
/// the values; where a bound exists `bound_*`, `efficiency` (0..1) and `limiting_resource`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Record(Map<String, Value>);

impl Record {
    /// An empty record.
    pub fn new() -> Record {
        Record::default()
    }
    /// Adds or replaces a field, keeping the order of first insertion. A float that is not finite becomes null.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Record {
        self.set(key, value);
        self
    }
    /// As [`Record::with`], in place.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }
    /// Adds the fields of `other`; where both have a key, `other`'s value stands.
    #[must_use]
    pub fn followed_by(mut self, other: Record) -> Record {
        self.0.extend(other.0);
        self
    }
    /// The record without a field.
    #[must_use]
    pub fn without(self, key: &str) -> Record {
        Record(self.0.into_iter().filter(|(name, _)| name != key).collect())
    }
    /// A list's numbers; none where the field is no list.
    pub fn numbers(&self, key: &str) -> Vec<f64> {
        self.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_f64).collect()
    }
    /// A field.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }
    /// A numeric field.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Value::as_f64)
    }
    /// A text field.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }
    /// Fields in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

impl From<Map<String, Value>> for Record {
    fn from(fields: Map<String, Value>) -> Record {
        Record(fields)
    }
}

impl From<Record> for Value {
    fn from(record: Record) -> Value {
        Value::Object(record.0)
    }
}
