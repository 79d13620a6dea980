//! One result row: flat, ordered, keys carry units (`bandwidth_per_node_MBps`).

use hotlink_bound::Bound;
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
    /// Adds the fields of `other`; where both have a key, `other`'s value wins.
    #[must_use]
    pub fn followed_by(mut self, other: Record) -> Record {
        self.0.extend(other.0);
        self
    }
    /// The bound of a time: `bound_latency_us`, `efficiency`, `limiting_resource` and `bound_is`; unknown ones are
    /// null.
    #[must_use]
    pub fn beside_time(self, bound: &Bound, latency_us: f64) -> Record {
        self.bounded("bound_latency_us", bound.latency_us, bound.share_of_time(latency_us)).explained(bound)
    }
    /// The bound of a rate in MB/s: `bound_bandwidth_MBps`, and the others as of a time.
    #[must_use]
    pub fn beside_rate(self, bound: &Bound, mbps: f64) -> Record {
        self.bounded("bound_bandwidth_MBps", bound.mbps, bound.share_of_rate(mbps)).explained(bound)
    }
    /// A bound under a name of its own, and the share of it that was reached.
    #[must_use]
    pub fn bounded(self, key: &str, bound: f64, efficiency: f64) -> Record {
        self.also_bounded(key, bound).with("efficiency", efficiency)
    }
    /// The same bound in another quantity, whose share is that of the first.
    #[must_use]
    pub fn also_bounded(self, key: &str, bound: f64) -> Record {
        self.with(key, bound)
    }
    /// `bound_messages_per_s` of messages of `size` bytes, from the bound of their bandwidth.
    #[must_use]
    pub fn bounded_messages(self, size: u64) -> Record {
        let most = self.number("bound_bandwidth_MBps").map(|mbps| mbps * 1e6 / size as f64);
        self.with("bound_messages_per_s", most)
    }
    /// That there is no bound, and why.
    #[must_use]
    pub fn unbounded(self, why: &str) -> Record {
        self.explained_by(&format!("none: {why}"))
    }
    /// The resource that sets the bound, and how it comes about.
    #[must_use]
    pub fn explained(self, bound: &Bound) -> Record {
        self.with("limiting_resource", bound.resource.as_str()).with("bound_is", bound.is)
    }
    /// The resource that limits the answer, where that need not be the one that sets the bound: `bound_resource` names
    /// this one.
    #[must_use]
    pub fn limited_by(self, resource: &str) -> Record {
        let bound = self.text("limiting_resource").map(str::to_owned);
        self.with("bound_resource", bound).with("limiting_resource", resource)
    }
    /// The resource that sets the bound ([`Record::limited_by`]).
    pub fn bound_set_by(&self) -> Option<&str> {
        self.text("bound_resource").or_else(|| self.text("limiting_resource"))
    }
    /// How its bound comes about, where that differs from run to run.
    #[must_use]
    pub fn explained_by(self, is: &str) -> Record {
        self.with("bound_is", is)
    }
    /// Assumptions of its bound, after how it comes about.
    #[must_use]
    pub fn assuming(self, assumed: Option<String>) -> Record {
        match (self.text("bound_is").map(str::to_owned), assumed) {
            (Some(is), Some(assumed)) => self.with("bound_is", format!("{is}; {assumed}")),
            _ => self,
        }
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
    /// The key of its statistics: simulated records add words after it ("latency_us of the messages ...").
    pub fn statistic(&self) -> Option<&str> {
        self.text("statistic_of")?.split(' ').next()
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
