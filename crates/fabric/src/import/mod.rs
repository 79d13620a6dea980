//! A fabric from a graph that someone wrote or exported: nodes, switches, links, and routes if they are known.
//!
//! ```
//! let text = r#"{
//!   "technology": "myrinet",
//!   "nodes": ["a", "b", "c"],
//!   "switches": ["s"],
//!   "links": [
//!     {"from": "a", "to": "s", "rate_MBps": 160},
//!     {"from": "b", "to": "s", "rate_MBps": 160},
//!     {"from": "c", "to": "s", "rate_MBps": 320, "latency_us": 0.1, "parallel": 2}
//!   ]
//! }"#;
//! let fabric = hotlink_fabric::import::graph("my-graph.json", text, None).unwrap();
//! assert_eq!((fabric.nodes(), fabric.network.channels()), (3, 8));
//! ```
//!
//! A link has both directions (each with the rate) unless `one_way` is true. `rate_MBps` (10^6 bytes per second, gross)
//! and `latency_us` may also stand at the top as the default of all links. `unlimited` marks a link that never limits;
//! a link without any rate among others with one is refused. `nodes` and `switches` are lists of names or a number
//! (then called `n0`, `s0` and so on). Without any switch the network is direct: every node forwards, as in a ring or a
//! torus.
//!
//! `routing` is `shortest-ecmp` (the default), `shortest-single`, `up-down` or `source`. The last takes `routes`, each
//! with `from`, `to` and the devices between them in `via`; it takes all shortest paths where none is given. Where a
//! hop has parallel links, `cables` gives for each hop the link that the route takes, from 0 in the order of the file.
//! `packet` may give `payload_max_B` and `overhead_B`. Without `overhead_B` that of the parts or the technology holds;
//! where neither states one the file is refused.
//!
//! `technology` says what the network is (see [`crate::technology`]); the caller may state it in the file's place. Its
//! record gives flow control, packet format and how packets choose among equal paths (`paths` states another choice).
//! `parts` names parts of the catalog, whose switches, adapters and hosts the graph then has. Links without a rate of
//! their own are then as the parts say.
//!
//! The node-link form that graph libraries write is read too. A node is `{"id": 3, "kind": "switch"}`: `id` is a number
//! or a name, `kind` is `node` (the default) or `switch`. Links are called `links` or `edges`, with `source` and
//! `target`; `directed` makes every link one-way. The shortest form is a plain list of edges: `{"nodes": 4, "links":
//! [[0, 1], [1, 2], [2, 3], [3, 0]], "rate_MBps": 100}`.

mod format;

use crate::built::{Fabric, MAX_NODES};
use crate::catalog::{Library, Mistake, Parts};
use crate::network::{Builder, Channel, Network, Node, Override, Resource, Vertex};
use crate::routing::{Paths, Routing};
use crate::spec::{FabricSpec, ResourceSpec, Role, RoutingSpec, Status, TopologySpec, Value};
use crate::technology::{self, Technology};
use crate::topology::Graph;
use crate::topology::Shape;
use crate::units::{Rate, Time};
use format::{File, Kind, Link, Names};
use std::collections::BTreeMap;

/// What was wrong with a graph, where, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ImportError {
    /// `file:line:column` or `file: key`.
    pub place: String,
    /// What was wrong and what is allowed.
    pub what: String,
}

/// Most devices, and most links counted with their parallels.
const MAX_DEVICES: usize = 1 << 22;
const MAX_LINKS: u64 = 1 << 24;

/// Builds the fabric that `text` describes, called `file` in messages. Its name is the file's stem unless it has one. A
/// given `technology` takes precedence over the file's own; one of the two must be there.
///
/// # Errors
/// The first mistake, with its place.
pub fn graph(file: &str, text: &str, technology: Option<&'static Technology>) -> Result<Fabric, ImportError> {
    let head: String = text.chars().take(200).filter(|letter| !letter.is_whitespace()).collect();
    if head.contains("\"schema\":\"hotlink/") {
        let what = "is a file of results, where a network is due; `hotlink report`, `plot` and `diagnose` take it";
        return Err(ImportError { place: file.to_owned(), what: what.to_owned() });
    }
    let parsed: File = serde_json::from_str(text).map_err(|error| {
        let place = format!("{file}:{}:{}", error.line(), error.column());
        let message = error.to_string();
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        ImportError { place, what: what.to_owned() }
    })?;
    let (devices, names) = (BTreeMap::new(), Vec::new());
    let mut reader = Reader { file, parsed, technology, devices, names, nodes: 0, direct: false };
    reader.name_all()?;
    reader.read()
}

struct Reader<'a> {
    file: &'a str,
    parsed: File,
    /// Stands before the file's own.
    technology: Option<&'static Technology>,
    /// Index of each device by its name: the nodes first, then the switches.
    devices: BTreeMap<String, u32>,
    names: Vec<String>,
    nodes: u32,
    /// No switches: device i is node i and a router behind it, which has the links and forwards.
    direct: bool,
}

impl Reader<'_> {
    fn wrong<T>(&self, key: &str, what: impl Into<String>) -> Result<T, ImportError> {
        Err(ImportError { place: format!("{}: {key}", self.file), what: what.into() })
    }

    fn read(self) -> Result<Fabric, ImportError> {
        let (mut network, channels) = self.network()?;
        let spec = self.spec()?;
        let role = |own: &Vec<Channel>| spec.resources.get(&network.role(Resource::Channel(own[0])));
        let has_rate = |one: &ResourceSpec| one.gross.is_some() || one.measured.is_some();
        let rated: Vec<bool> = channels.iter().map(|own| role(own).is_some_and(has_rate)).collect();
        network.overrides = self.overrides(&channels, &rated)?;
        let routers = if self.direct { &self.names[..] } else { &[] };
        let shape = Shape::Named([&self.names, routers].concat());
        let wrong = |error: crate::BuildError| ImportError { place: format!("{}: routing", self.file), what: error.0 };
        let mut fabric = Fabric::assemble(&spec, self.nodes, network, shape).map_err(wrong)?;
        let read = self.routes(&fabric.network)?;
        if let Routing::Source { routes, .. } = &mut fabric.routing {
            *routes = read;
        }
        Ok(fabric)
    }

    fn name_all(&mut self) -> Result<(), ImportError> {
        let listed = self.parsed.nodes.of_kind(Kind::Node, "n");
        let nodes = self.add_names("nodes", &listed)?;
        if nodes == 0 || nodes > MAX_NODES as usize {
            return self.wrong("nodes", format!("{nodes} nodes: must be 1 to {MAX_NODES}"));
        }
        let mut switches = self.parsed.nodes.of_kind(Kind::Switch, "s");
        switches.extend(self.parsed.switches.iter().flat_map(|names| names.all("s")));
        self.direct = self.add_names("switches", &switches)? == 0;
        self.nodes = nodes as u32;
        Ok(())
    }

    fn add_names(&mut self, key: &str, names: &[String]) -> Result<usize, ImportError> {
        if self.names.len() + names.len() > MAX_DEVICES {
            return self.wrong(key, format!("at most {MAX_DEVICES} nodes and switches"));
        }
        for (i, name) in names.iter().enumerate() {
            let key = format!("{key}[{i}]");
            if name.trim().is_empty() {
                return self.wrong(&key, "an empty name: every node and switch needs a name");
            }
            if self.devices.insert(name.clone(), self.names.len() as u32).is_some() {
                return self.wrong(&key, format!("'{name}' occurs twice: names are unique"));
            }
            self.names.push(name.clone());
        }
        Ok(names.len())
    }

    fn find(&self, key: &str, name: &str) -> Result<u32, ImportError> {
        match self.devices.get(name) {
            Some(device) => Ok(*device),
            None if matches!(self.parsed.nodes, Names::Count(_)) && self.devices.contains_key(&format!("n{name}")) => {
                Ok(self.devices[&format!("n{name}")])
            }
            None => {
                let near = crate::catalog::nearest(name, self.devices.keys().map(String::as_str));
                let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
                self.wrong(key, format!("'{name}' is neither a node nor a switch{near}"))
            }
        }
    }

    /// Where a device's links end.
    fn vertex(&self, device: u32) -> Vertex {
        Vertex(if self.direct { self.nodes + device } else { device })
    }

    /// The network, and the channels of each link in file order.
    fn network(&self) -> Result<(Network, Vec<Vec<Channel>>), ImportError> {
        let mut b = Builder::new(self.nodes);
        let devices = self.names.len() as u32;
        b.vertices(if self.direct { devices } else { devices - self.nodes }, Role::Switch);
        let mut owner = Vec::new();
        for (i, Link(link)) in self.parsed.links.iter().enumerate() {
            let key = format!("links[{i}]");
            let from = self.find(&format!("{key}.from"), &link.from.0)?;
            let to = self.find(&format!("{key}.to"), &link.to.0)?;
            if from == to {
                return self.wrong(&key, format!("'{}' is linked to itself", link.from.0));
            }
            let parallel = link.parallel.unwrap_or(1);
            let total = (owner.len() as u64).saturating_add(2 * u64::from(parallel));
            if parallel == 0 || total > 2 * MAX_LINKS {
                let what = format!("{parallel}: at least 1, and {MAX_LINKS} links in all");
                return self.wrong(&format!("{key}.parallel"), what);
            }
            let role = if from.min(to) < self.nodes { Role::Link } else { Role::SwitchLink };
            let (from, to) = (self.vertex(from), self.vertex(to));
            let one_way = link.one_way.unwrap_or(self.parsed.directed);
            for _ in 0..parallel {
                b.channel(from, to, role);
                owner.push(i);
                if !one_way {
                    b.channel(to, from, role);
                    owner.push(i);
                }
            }
        }
        let joined = owner.len();
        if self.direct {
            (0..self.nodes).for_each(|node| b.link(Vertex(node), self.vertex(node), Role::Internal));
        }
        let (network, mut places) = b.build_ordered();
        places.truncate(joined);
        let mut channels = vec![Vec::new(); self.parsed.links.len()];
        owner.into_iter().zip(places).for_each(|(link, channel)| channels[link].push(channel));
        Ok((network, channels))
    }

    /// What links state of their own. `rated`: whether the file's top or its parts give each a rate.
    fn overrides(&self, channels: &[Vec<Channel>], rated: &[bool]) -> Result<BTreeMap<Channel, Override>, ImportError> {
        let mut overrides = BTreeMap::new();
        let some_have = rated.contains(&true) || self.parsed.links.iter().any(|link| link.0.rate_mbps.is_some());
        for (i, (Link(link), channels)) in self.parsed.links.iter().zip(channels).enumerate() {
            let key = format!("links[{i}]");
            let rate = self.rate(&format!("{key}.rate_MBps"), link.rate_mbps)?;
            let latency = self.latency(&format!("{key}.latency_us"), link.latency_us)?;
            match (link.unlimited == Some(true), rate.is_some() || rated[i]) {
                (true, true) => return self.wrong(&key, "unlimited, and a rate is stated for it, too"),
                (false, false) if some_have => {
                    let head = format!("from '{}' to '{}' has no rate, and others have one", link.from.0, link.to.0);
                    return self.wrong(&key, head + ": state rate_MBps there or at the top, or \"unlimited\": true");
                }
                _ => {}
            }
            if rate.is_some() || latency.is_some() {
                overrides.extend(channels.iter().map(|&channel| (channel, Override { rate, latency })));
            }
        }
        Ok(overrides)
    }

    fn rate(&self, key: &str, mbps: Option<f64>) -> Result<Option<Rate>, ImportError> {
        match mbps.filter(|mbps| !(1e-6..=1e12).contains(mbps)) {
            Some(mbps) => self.wrong(key, format!("{mbps}: must be 0.000001 to 1e12")),
            None => Ok(mbps.map(Rate::from_mbps)),
        }
    }

    fn latency(&self, key: &str, us: Option<f64>) -> Result<Option<Time>, ImportError> {
        match us {
            Some(us) if !(0.0..=1e9).contains(&us) => self.wrong(key, format!("{us}: must be 0 to 1e9")),
            us => Ok(us.map(Time::from_us)),
        }
    }

    fn routes(&self, network: &Network) -> Result<BTreeMap<(Node, Node), Vec<Channel>>, ImportError> {
        let mut routes = BTreeMap::new();
        for (i, route) in self.parsed.routes.iter().flatten().enumerate() {
            let key = format!("routes[{i}]");
            let named = std::iter::once(&route.from).chain(&route.via).chain(std::iter::once(&route.to));
            let devices: Vec<u32> = named.map(|name| self.find(&key, &name.0)).collect::<Result<_, _>>()?;
            let (first, last) = (devices[0], devices[devices.len() - 1]);
            if first >= self.nodes || last >= self.nodes || first == last {
                return self.wrong(&key, "a route leads from one node to another");
            }
            let mut seen = devices.clone();
            seen.sort_unstable();
            seen.dedup();
            let forwards = |device: u32| self.direct || device >= self.nodes;
            if seen.len() != devices.len() || !devices[1..devices.len() - 1].iter().all(|&device| forwards(device)) {
                return self.wrong(&key, "a route passes switches only, each once");
            }
            let mut stops: Vec<Vertex> = devices.iter().map(|&device| self.vertex(device)).collect();
            if self.direct {
                stops.insert(0, Vertex(first));
                stops.push(Vertex(last));
            }
            let hops = devices.len() - 1;
            let cables = route.cables.as_deref();
            if let Some(stated) = cables.filter(|cables| cables.len() != hops) {
                let what = format!("{} numbers for {hops} hops: one for each", stated.len());
                return self.wrong(&format!("{key}.cables"), what);
            }
            // A direct network's first and last channel are its nodes' own links.
            let own = usize::from(self.direct);
            let mut channels = Vec::with_capacity(stops.len() - 1);
            for (place, pair) in stops.windows(2).enumerate() {
                let name = |v: Vertex| &self.names[if self.direct { v.0 - self.nodes } else { v.0 } as usize];
                let between: Vec<Channel> = network.out(pair[0]).filter(|&c| network.to(c) == pair[1]).collect();
                let stated = cables.and_then(|cables| cables.get(place.checked_sub(own)?)).copied();
                let told = || format!("from '{}' to '{}'", name(pair[0]), name(pair[1]));
                match (stated, &between[..]) {
                    (_, []) => return self.wrong(&key, format!("there is no link {}", told())),
                    (None, [only]) => channels.push(*only),
                    (None, several) => {
                        let how = "say by cables, a number for each hop, which one it takes";
                        let what = format!("there are {} parallel links {}: {how}", several.len(), told());
                        return self.wrong(&key, what);
                    }
                    (Some(number), links) => match links.get(number) {
                        Some(&channel) => channels.push(channel),
                        None => {
                            let what = format!("{number} {}: must be 0 to {}", told(), links.len() - 1);
                            return self.wrong(&format!("{key}.cables"), what);
                        }
                    },
                }
            }
            if routes.insert((Node(first), Node(last)), channels).is_some() {
                return self.wrong(&key, format!("a second route from '{}' to '{}'", route.from.0, route.to.0));
            }
        }
        Ok(routes)
    }

    fn routing(&self) -> Result<RoutingSpec, ImportError> {
        let has_routes = self.parsed.routes.is_some();
        match self.parsed.routing.as_deref() {
            None if has_routes => Ok(RoutingSpec::Source),
            Some("source") => Ok(RoutingSpec::Source),
            Some(_) if has_routes => self.wrong("routing", "a file with routes has routing source"),
            None | Some("shortest-ecmp") => Ok(RoutingSpec::ShortestEcmp),
            Some("shortest-single") => Ok(RoutingSpec::ShortestSingle),
            Some("up-down") => Ok(RoutingSpec::UpDown),
            Some(other) => {
                self.wrong("routing", format!("'{other}': shortest-ecmp, shortest-single, up-down or source"))
            }
        }
    }

    /// The option's technology, else the file's, else the parts'.
    fn technology(&self, parts: Option<&Parts>) -> Result<&'static Technology, ImportError> {
        let of_parts = parts.and_then(|parts| parts.technology);
        match (self.technology, &self.parsed.technology, of_parts) {
            (Some(technology), ..) => Ok(technology),
            (None, Some(name), _) => technology::named(name).or_else(|what| self.wrong("technology", what)),
            (None, None, Some(technology)) => Ok(technology),
            (None, None, None) => {
                let what = format!(
                    "is missing: say what the network is, as \"technology\": \"infiniband\" in the file or with \
                     --technology infiniband (allowed: {})",
                    technology::names()
                );
                self.wrong("technology", what)
            }
        }
    }

    /// What the parts of the catalog state that the file names.
    fn parts(&self) -> Result<Option<Parts>, ImportError> {
        let Some(names) = &self.parsed.parts else { return Ok(None) };
        let told = |all: &[Mistake]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        Library::user().parts(names).map(Some).or_else(|mistakes| self.wrong("parts", told(&mistakes)))
    }

    fn spec(&self) -> Result<FabricSpec, ImportError> {
        let stem = self.file.rsplit(['/', '\\']).next().unwrap_or(self.file);
        let stem = stem.strip_suffix(".json").unwrap_or(stem);
        let name = self.parsed.name.clone().unwrap_or_else(|| stem.to_owned());
        let parts = self.parts()?;
        let spec = FabricSpec::bare(&name, TopologySpec::new(Graph), self.routing()?);
        let mut spec = spec.of_technology(self.technology(parts.as_ref())?);
        spec.title = self.parsed.title.clone().unwrap_or_else(|| format!("graph of {}", self.file));
        if let Some(paths) = &self.parsed.paths {
            spec.paths = Paths::named(paths).or_else(|what| self.wrong("paths", what))?;
        }
        let framed = spec.technology.packet.map(Into::into);
        let known = parts.as_ref().and_then(|parts| parts.packet.clone()).or(framed);
        let is_framed = known.is_some();
        if let Some(packet) = known {
            spec.packet = packet;
        }
        if let Some(parts) = parts {
            (spec.resources, spec.parameters, spec.ranges) = (parts.resources, parts.parameters.into(), parts.ranges);
        }
        self.links_of(&mut spec)?;
        if let Some(packet) = &self.parsed.packet {
            if !packet.overhead.is_none_or(|bytes| (0.0..=1e9).contains(&bytes)) || packet.payload_max == Some(0) {
                return self.wrong("packet", "payload_max_B from 1 up, overhead_B from 0 to 1e9");
            }
            spec.packet.payload_max_bytes = packet.payload_max.map(|bytes| self.stated(bytes, "B"));
            match packet.overhead {
                Some(overhead) => {
                    spec.packet.overhead_bytes = self.stated(overhead, "B");
                    spec.packet.overhead_per_hop_bytes = self.stated(0.0, "B");
                }
                None if is_framed => {}
                None => {
                    let name = spec.technology.name;
                    let what = format!(
                        "overhead_B is missing, and neither `parts` nor {name}'s record states it: give the bytes \
                         of header and trailer of a packet, 0 to 1e9"
                    );
                    return self.wrong("packet", what);
                }
            }
        }
        Ok(spec)
    }

    /// Rate and latency of all links: the file's, else the parts'.
    fn links_of(&self, spec: &mut FabricSpec) -> Result<(), ImportError> {
        let rate = self.rate("rate_MBps", self.parsed.rate_mbps)?;
        let latency = self.latency("latency_us", self.parsed.latency_us)?;
        let link = spec.resources.get(&Role::Link).cloned();
        let of_parts = [link.clone(), spec.resources.get(&Role::SwitchLink).cloned().or(link)];
        for ((role, name), known) in [(Role::Link, "link"), (Role::SwitchLink, "switch link")].into_iter().zip(of_parts)
        {
            let plain = ResourceSpec {
                name: name.to_owned(),
                gross: None,
                measured: None,
                latency: self.stated(Time::ZERO, "us"),
                half_duplex: false,
            };
            let mut resource = known.unwrap_or(plain);
            if let Some(rate) = rate {
                (resource.gross, resource.measured) = (Some(self.stated(rate, "MB/s")), None);
            }
            if let Some(latency) = latency {
                resource.latency = self.stated(latency, "us");
            }
            spec.resources.insert(role, resource);
        }
        Ok(())
    }

    /// A value of this file; a graph does not say where its values come from.
    fn stated<T>(&self, value: T, unit: &str) -> Value<T> {
        Value { value, unit: unit.to_owned(), source: self.file.to_owned(), status: Status::Estimated }
    }
}
