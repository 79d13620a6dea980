//! The JSON form of a graph, as it stands in the file: our own keys, and the node-link form of graph libraries.

use super::MAX_DEVICES;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::fmt;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) technology: Option<String>,
    /// Parts of the catalog that the network is made of.
    pub(super) parts: Option<Vec<String>>,
    /// Which of equal paths a packet takes, if not the technology's.
    pub(super) paths: Option<String>,
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

pub(super) enum Names {
    Count(u32),
    List(Vec<Device>),
}

// This and the two below are written out, and not untagged enums, so that a mistake inside keeps its place and words.
impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Names, D::Error> {
        struct Lists;
        impl<'de> Visitor<'de> for Lists {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of names (or of objects with `id` and `kind`), or a number")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Names, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Unsigned(count), &self);
                u32::try_from(count).map(Names::Count).map_err(wrong)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Names, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Names::List)
            }
        }
        from.deserialize_any(Lists)
    }
}

/// A name alone, or an object with `id` and `kind`.
pub(super) struct Device {
    name: Name,
    kind: Kind,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    #[serde(alias = "name")]
    id: Name,
    #[serde(default, alias = "type")]
    kind: Kind,
}

impl<'de> Deserialize<'de> for Device {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Device, D::Error> {
        struct Devices;
        impl<'de> Visitor<'de> for Devices {
            type Value = Device;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, a whole number, or an object with `id` and `kind`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Device, E> {
                Ok(Device { name: Name(text.to_owned()), kind: Kind::Node })
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Device, E> {
                Ok(Device { name: Name(number.to_string()), kind: Kind::Node })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Device, A::Error> {
                let Described { id, kind } = Described::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Device { name: id, kind })
            }
        }
        from.deserialize_any(Devices)
    }
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

/// A device's name: a number is a name too, and where the devices are only counted, the place of a node.
#[derive(Default, Deserialize)]
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

impl Names {
    /// Every name; counted devices are called by `prefix` and their number.
    pub(super) fn all(&self, prefix: &str) -> Vec<String> {
        match self {
            Names::Count(count) => {
                (0..(*count as usize).min(MAX_DEVICES + 1)).map(|i| format!("{prefix}{i}")).collect()
            }
            Names::List(list) => list.iter().map(|device| device.name.0.clone()).collect(),
        }
    }
    /// The names of one kind in a list of nodes; counted ones are nodes.
    pub(super) fn of_kind(&self, kind: Kind, prefix: &str) -> Vec<String> {
        match self {
            Names::Count(_) if kind == Kind::Switch => Vec::new(),
            Names::Count(_) => self.all(prefix),
            Names::List(list) => {
                list.iter().filter(|device| device.kind == kind).map(|device| device.name.0.clone()).collect()
            }
        }
    }
}

/// The two ends in a list, or an object.
pub(super) struct Link(pub(super) DescribedLink);

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Link, D::Error> {
        struct Links;
        impl<'de> Visitor<'de> for Links {
            type Value = Link;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("[from, to], or an object with `from` and `to`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Link, A::Error> {
                let ends = Vec::<Name>::deserialize(SeqAccessDeserializer::new(list))?;
                let count = ends.len();
                let Ok([from, to]) = <[Name; 2]>::try_from(ends) else {
                    return Err(de::Error::invalid_length(count, &self));
                };
                Ok(Link(DescribedLink { from, to, ..DescribedLink::default() }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Link, A::Error> {
                DescribedLink::deserialize(MapAccessDeserializer::new(map)).map(Link)
            }
        }
        from.deserialize_any(Links)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedLink {
    #[serde(alias = "source")]
    pub(super) from: Name,
    #[serde(alias = "target")]
    pub(super) to: Name,
    #[serde(rename = "rate_MBps", alias = "bandwidth_MBps")]
    pub(super) rate_mbps: Option<f64>,
    pub(super) latency_us: Option<f64>,
    /// It never limits.
    pub(super) unlimited: Option<bool>,
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
    /// For each hop, which of its parallel links, from 0.
    pub(super) cables: Option<Vec<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Packet {
    #[serde(rename = "payload_max_B")]
    pub(super) payload_max: Option<u64>,
    #[serde(rename = "overhead_B")]
    pub(super) overhead: Option<f64>,
}
