//! The JSON form of a graph, as it stands in the file: our own keys, and the node-link form of graph libraries.

use super::MAX_DEVICES;
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) nodes: Names,
    pub(super) switches: Option<Names>,
    #[serde(alias = "edges")]
    pub(super) links: Vec<Link>,
    pub(super) routes: Option<Vec<Route>>,
    pub(super) routing: Option<String>,
    #[serde(rename = "rate_MBps")]
    pub(super) rate_mbps: Option<f64>,
    pub(super) latency_us: Option<f64>,
    pub(super) packet: Option<Packet>,
    #[serde(default)]
    pub(super) directed: bool,
    /// Parallel links are always allowed.
    #[serde(rename = "multigraph")]
    _multigraph: Option<bool>,
    /// Attributes of the graph as a whole, which mean nothing here.
    #[serde(rename = "graph")]
    _graph: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a list of names (or of objects with `id` and `kind`), or a number")]
pub(super) enum Names {
    Count(u32),
    List(Vec<Device>),
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Device {
    Plain(Name),
    Full(Described),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    #[serde(alias = "name")]
    id: Name,
    #[serde(default, alias = "type")]
    kind: Kind,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    #[serde(alias = "host")]
    Node,
    #[serde(alias = "router")]
    Switch,
}

/// A device's name; a number is a name too.
#[derive(Clone, Deserialize)]
#[serde(from = "TextOrNumber")]
pub(super) struct Name(pub(super) String);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a name or a whole number")]
enum TextOrNumber {
    Text(String),
    Number(u64),
}

impl From<TextOrNumber> for Name {
    fn from(name: TextOrNumber) -> Name {
        match name {
            TextOrNumber::Text(text) => Name(text),
            TextOrNumber::Number(number) => Name(number.to_string()),
        }
    }
}

impl Device {
    fn kind(&self) -> Kind {
        match self {
            Device::Plain(_) => Kind::Node,
            Device::Full(described) => described.kind,
        }
    }
    fn name(&self) -> String {
        match self {
            Device::Plain(name) | Device::Full(Described { id: name, .. }) => name.0.clone(),
        }
    }
}

impl Names {
    /// Every name; counted devices are called by `prefix` and their number.
    pub(super) fn all(&self, prefix: &str) -> Vec<String> {
        match self {
            Names::Count(count) => {
                (0..(*count as usize).min(MAX_DEVICES + 1)).map(|i| format!("{prefix}{i}")).collect()
            }
            Names::List(list) => list.iter().map(Device::name).collect(),
        }
    }
    /// The names of one kind in a list of nodes; counted ones are nodes.
    pub(super) fn of_kind(&self, kind: Kind, prefix: &str) -> Vec<String> {
        match self {
            Names::Count(_) if kind == Kind::Switch => Vec::new(),
            Names::Count(_) => self.all(prefix),
            Names::List(list) => list.iter().filter(|device| device.kind() == kind).map(Device::name).collect(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    #[serde(alias = "source")]
    pub(super) from: Name,
    #[serde(alias = "target")]
    pub(super) to: Name,
    #[serde(rename = "rate_MBps", alias = "bandwidth_MBps")]
    pub(super) rate_mbps: Option<f64>,
    pub(super) latency_us: Option<f64>,
    pub(super) parallel: Option<u32>,
    pub(super) one_way: Option<bool>,
    /// Number of a parallel edge, as graph libraries write it.
    #[serde(rename = "key")]
    _key: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Route {
    pub(super) from: Name,
    pub(super) to: Name,
    pub(super) via: Vec<Name>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Packet {
    #[serde(rename = "payload_max_B")]
    pub(super) payload_max: Option<u64>,
    #[serde(rename = "overhead_B")]
    pub(super) overhead: Option<f64>,
}
