//! From cables and tables to a fabric.
//!
//! Nodes are the hosts' ports in order of their names (numbers in a name count as numbers), then of their GUIDs.

use super::cabling::{Cabling, DeviceKind, End};
use super::lanes::{LaneTables, Levels};
use super::rates::{Link, SOURCE};
use super::tables::Tables;
use hotlink_fabric::built::MAX_NODES;
use hotlink_fabric::catalog::Library;
use hotlink_fabric::import::ImportError;
use hotlink_fabric::network::{Builder, Channel, Network, Node, Override, Resource, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::routing::forwarding::Forwarding;
use hotlink_fabric::routing::lanes::{LEVELS, Lanes};
use hotlink_fabric::spec::{FabricSpec, Role, RoutingSpec, Status, TopologySpec, Value};
use hotlink_fabric::technology;
use hotlink_fabric::topology::{Cabled, Graph, Shape};
use hotlink_fabric::units::Rate;
use hotlink_fabric::{BuildError, Fabric};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A site's network, read and put in order.
#[derive(Debug)]
pub struct Site {
    /// Its description as a fabric.
    pub spec: FabricSpec,
    /// Findings on the way.
    pub findings: Findings,
    /// The cables as the file has them.
    pub cabling: Cabling,
    pub(crate) network: Network,
    pub(crate) shape: Shape,
    forwarding: Option<Forwarding>,
    /// Names of the files, and the tables as they have them.
    pub(crate) files: Files,
    /// Place among the cabling's devices of each vertex.
    pub(crate) devices: Vec<u32>,
}

/// The files of a site, besides its cables.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub cables: String,
    pub tables: Option<(String, Arc<Tables>)>,
    /// Virtual lanes by service level, and service levels.
    pub lanes: (Option<Arc<LaneTables>>, Option<Arc<Levels>>),
    /// Whether senders use all LIDs of a port, and not the first alone.
    pub all_lids: bool,
}

/// Facts in a site's files besides the fabric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Adapter ports that compute reductions inside switches.
    pub aggregation_nodes: usize,
    /// Routers.
    pub routers: usize,
    /// Switches with a cable.
    pub switches: usize,
    /// Cables between hosts and switches, and between switches.
    pub cables: [usize; 2],
    /// Cables of which the file does not state width and speed; they count as the others of their kind.
    pub rate_unknown: usize,
    /// Cables slower than most of their kind, by their ends' names, with what they were trained to.
    pub slow: Vec<(CableEnd, CableEnd, Link)>,
    /// Switches without a forwarding table, where there are tables.
    pub without_table: Vec<String>,
    /// Hosts that no table knows, where there are tables.
    pub without_route: Vec<String>,
    /// LIDs of several devices, with their names: tables can lead to one of them alone.
    pub shared_lids: Vec<String>,
    /// Whether it is known which virtual lanes packets take, and if not why.
    pub lanes: String,
    /// Most LIDs of a host's port.
    pub lids_per_port: u32,
}

/// One end of a cable for people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CableEnd {
    /// Name of the device.
    pub name: String,
    /// Its port.
    pub port: u8,
}

/// Links between hosts and switches, and between switches.
const KINDS: [(Role, &str); 2] = [(Role::Link, "link"), (Role::SwitchLink, "inter-switch link")];

impl Site {
    /// Puts cables, and tables where there are any, in order. Files are called by their names in messages; the fabric by
    /// `name`.
    ///
    /// # Errors
    /// What is wrong with the files, or with the two together.
    pub fn new(name: &str, cables: (&str, Cabling), tables: Option<(&str, Tables)>) -> Result<Site, ImportError> {
        let (file, cabling) = cables;
        let tables = tables.map(|(file, tables)| (file.to_owned(), Arc::new(tables)));
        Site::of(name, cabling, Files { cables: file.to_owned(), tables, lanes: (None, None), all_lids: false })
    }

    pub(crate) fn of(name: &str, cabling: Cabling, files: Files) -> Result<Site, ImportError> {
        let file = files.cables.as_str();
        let order = Order::new(file, &cabling)?;
        let mut findings = Findings {
            aggregation_nodes: cabling.devices.iter().filter(|device| device.is_aggregation()).count(),
            routers: cabling.devices.iter().filter(|device| device.kind == DeviceKind::Router).count(),
            switches: order.switches.len(),
            shared_lids: shared_lids(&cabling),
            ..Findings::default()
        };
        let (usual, unknown) = order.usual(&cabling, &mut findings);
        let lids = order.lids(&cabling, files.tables.as_ref().map(|(_, tables)| tables.as_ref()));
        findings.lids_per_port = lids;
        let addresses = if files.all_lids { lids } else { 1 };
        let (network, shape) = order.network(&cabling, usual);
        order.slow(&cabling, usual, &mut findings);
        let routing = if files.tables.is_some() { RoutingSpec::Source } else { RoutingSpec::ShortestEcmp };
        let spec = spec(name, file, (usual, unknown), routing)?;
        let mut forwarding = match &files.tables {
            Some((file, tables)) => {
                Some(order.forwarding((file, tables), &cabling, &network, addresses, &mut findings)?)
            }
            None => None,
        };
        findings.lanes = match (&files.lanes, &forwarding) {
            (_, None) => "unknown: there are no forwarding tables".to_owned(),
            ((Some(lanes), Some(levels)), Some(tables)) => {
                let lanes = order.lanes(&cabling, (lanes, levels), (&network, tables), &shape)?;
                let known = format!("known: {} lanes by service level", lanes.count());
                forwarding = forwarding.map(|tables| tables.with_lanes(lanes));
                known
            }
            ((None, None), _) => "unknown: no file states them".to_owned(),
            ((Some(_), None), _) => "unknown: no file states service levels (saquery -p, ibdiagnet.psl)".to_owned(),
            ((None, Some(_)), _) => {
                "unknown: no file states lanes of service levels (opensm-sl2vl.dump, ibdiagnet.slvl)".to_owned()
            }
        };
        let devices = order.devices;
        Ok(Site { spec, findings, cabling, network, shape, forwarding, files, devices })
    }

    /// The same network with virtual lanes by service level, and service levels of paths: as far as files state them.
    ///
    /// # Errors
    /// They lack a pair of hosts with a route, or ports that a route passes.
    pub fn with_lanes(self, lanes: Option<LaneTables>, levels: Option<Levels>) -> Result<Site, ImportError> {
        if lanes.is_none() && levels.is_none() {
            return Ok(self);
        }
        let files = Files { lanes: (lanes.map(Arc::new), levels.map(Arc::new)), ..self.files.clone() };
        Site::of(&self.spec.name, self.cabling, files)
    }

    /// Hosts' ports.
    pub fn nodes(&self) -> u32 {
        self.network.nodes
    }

    /// Rate of a channel; `None` where no file states it.
    pub fn rate(&self, channel: Channel) -> Option<Rate> {
        let own = self.network.overrides.get(&channel).and_then(|own| own.rate);
        let role = self.network.role(Resource::Channel(channel));
        own.or_else(|| self.spec.resource(role)?.gross().map(|gross| gross.value))
    }

    /// Whether the routes are the site's own tables.
    pub fn has_tables(&self) -> bool {
        self.forwarding.is_some()
    }

    /// The fabric, with another description's values where `spec` differs from its own.
    ///
    /// # Errors
    /// The routing does not fit the cables.
    pub fn fabric(&self, spec: &FabricSpec) -> Result<Fabric, BuildError> {
        let mut fabric = Fabric::assemble(spec, self.nodes(), self.network.clone(), self.shape.clone())?;
        if let Some(tables) = &self.forwarding {
            fabric.routing = Routing::Tables(tables.clone());
        }
        Ok(fabric)
    }
}

/// The LIDs that several devices have.
fn shared_lids(cabling: &Cabling) -> Vec<String> {
    let mut names: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for device in cabling.devices.iter().filter(|device| device.lid != 0) {
        names.entry(device.lid).or_default().push(&device.name);
    }
    names.retain(|_, names| names.len() > 1);
    names.into_iter().map(|(lid, names)| format!("{lid}: {}", names.join(", "))).collect()
}

/// Which devices become which vertices.
struct Order {
    /// Devices of the nodes, then of the switches.
    devices: Vec<u32>,
    hosts: usize,
    /// Vertex of each device that has one.
    vertex: Vec<Option<u32>>,
    names: Vec<String>,
    switches: std::ops::Range<usize>,
}

impl Order {
    fn new(file: &str, cabling: &Cabling) -> Result<Order, ImportError> {
        let wrong = |place: String, what: String| Err(ImportError { place, what });
        let mut on_switch = vec![false; cabling.devices.len()];
        for cable in &cabling.cables {
            let kinds = cable.ends.map(|end| cabling.devices[end.device as usize].kind);
            if !kinds.contains(&DeviceKind::Switch) {
                let names = cable.ends.map(|end| cabling.devices[end.device as usize].name.clone());
                let what = format!(
                    "'{}' and '{}' are cabled to each other: hosts are allowed behind a switch only",
                    names[0], names[1]
                );
                return wrong(format!("{file}:{}", cable.line), what);
            }
            cable.ends.iter().for_each(|end| on_switch[end.device as usize] = true);
        }
        let places = || (0..cabling.devices.len() as u32).filter(|&place| on_switch[place as usize]);
        let device = |place: u32| &cabling.devices[place as usize];
        let sorted = |mut chosen: Vec<u32>| {
            chosen.sort_by(|&a, &b| {
                let (a, b) = (device(a), device(b));
                natural(&a.name, &b.name).then((a.guid, a.lid, a.port).cmp(&(b.guid, b.lid, b.port)))
            });
            chosen
        };
        let mut devices = sorted(places().filter(|&place| device(place).is_host()).collect());
        let hosts = devices.len();
        if hosts == 0 || hosts > MAX_NODES as usize {
            return wrong(file.to_owned(), format!("{hosts} hosts behind switches: must be 1 to {MAX_NODES}"));
        }
        devices.extend(sorted(places().filter(|&place| device(place).kind == DeviceKind::Switch).collect()));
        let mut vertex = vec![None; cabling.devices.len()];
        for (v, &place) in devices.iter().enumerate() {
            vertex[place as usize] = Some(v as u32);
        }
        let mut uses: HashMap<&str, u32> = HashMap::new();
        devices.iter().for_each(|&place| *uses.entry(&device(place).name).or_default() += 1);
        let name = |&place: &u32| {
            let device = device(place);
            match (uses[device.name.as_str()], device.guid) {
                (1, _) if !device.name.is_empty() => device.name.clone(),
                (_, 0) => format!("{} (LID {})", device.name, device.lid),
                (_, guid) => format!("{} ({guid:#018x})", device.name),
            }
        };
        let names: Vec<String> = devices.iter().map(name).collect();
        let switches = hosts..devices.len();
        Ok(Order { devices, hosts, vertex, names, switches })
    }

    /// 0 for a cable between a host and a switch, 1 between switches; `None` for one that is left out.
    fn kind(&self, ends: [End; 2]) -> Option<usize> {
        let [a, b] = ends.map(|end| self.vertex[end.device as usize]);
        Some(usize::from(a? as usize >= self.hosts && b? as usize >= self.hosts))
    }

    /// The rate to which most cables of each kind were trained, the faster of equally many; and how many state none.
    fn usual(&self, cabling: &Cabling, findings: &mut Findings) -> ([Option<Link>; 2], [usize; 2]) {
        let mut counts: [BTreeMap<u64, (usize, Link)>; 2] = Default::default();
        let mut unknown = [0, 0];
        for cable in &cabling.cables {
            let Some(kind) = self.kind(cable.ends) else { continue };
            findings.cables[kind] += 1;
            match cable.link {
                Some(link) => counts[kind].entry(link.rate().0).or_insert((0, link)).0 += 1,
                None => unknown[kind] += 1,
            }
        }
        findings.rate_unknown = unknown.iter().sum();
        let most = |counts: &BTreeMap<u64, (usize, Link)>| {
            counts.iter().max_by_key(|(rate, (count, _))| (*count, **rate)).map(|(_, (_, link))| *link)
        };
        let [host, between] = [most(&counts[0]), most(&counts[1])];
        ([host.or(between), between.or(host)], unknown)
    }

    fn slow(&self, cabling: &Cabling, usual: [Option<Link>; 2], findings: &mut Findings) {
        for cable in &cabling.cables {
            let (Some(kind), Some(link)) = (self.kind(cable.ends), cable.link) else { continue };
            if usual[kind].is_some_and(|usual| link.rate() < usual.rate()) {
                let [a, b] = cable.ends.map(|end| self.end(end));
                findings.slow.push((a, b, link));
            }
        }
        findings.slow.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    }

    fn end(&self, end: End) -> CableEnd {
        let name = self.vertex[end.device as usize].map(|v| self.names[v as usize].clone());
        CableEnd { name: name.unwrap_or_default(), port: end.port }
    }

    fn network(&self, cabling: &Cabling, usual: [Option<Link>; 2]) -> (Network, Shape) {
        let mut builder = Builder::new(self.hosts as u32);
        builder.vertices(self.switches.len() as u32, Role::Switch);
        // Both directions of each cable, in port order at every device.
        let mut directions = Vec::with_capacity(2 * cabling.cables.len());
        for cable in &cabling.cables {
            let Some(kind) = self.kind(cable.ends) else { continue };
            let own = cable.link.map(Link::rate).filter(|&rate| Some(rate) != usual[kind].map(Link::rate));
            for [from, to] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
                let ends = [from, to].map(|end| self.vertex[end.device as usize].unwrap_or_default());
                directions.push((ends[0], from.port, ends[1], to.port, kind, own));
            }
        }
        directions.sort_unstable_by_key(|&(from, port, ..)| (from, port));
        for &(from, _, to, _, kind, _) in &directions {
            builder.channel(Vertex(from), Vertex(to), KINDS[kind].0);
        }
        let (mut network, places) = builder.build_ordered();
        let mut ports = vec![[0, 0]; places.len()];
        for (&(_, port, _, far, _, own), &channel) in directions.iter().zip(&places) {
            ports[channel.0 as usize] = [port, far];
            if let Some(rate) = own {
                network.overrides.insert(channel, Override { rate: Some(rate), latency: None });
            }
        }
        (network, Shape::Cabled(Cabled { names: self.names.clone(), ports }))
    }

    /// Most LIDs of a host's port: as the cables' file says, or as the tables' first switch names ports by GUID.
    fn lids(&self, cabling: &Cabling, tables: Option<&Tables>) -> u32 {
        let hosts = || self.devices[..self.hosts].iter().map(|&place| &cabling.devices[place as usize]);
        let stated = hosts().map(|host| 1 << host.lmc).max().unwrap_or(1);
        let mut named: BTreeMap<u64, u32> = BTreeMap::new();
        tables.iter().flat_map(|tables| &tables.named).for_each(|(_, guid)| *named.entry(*guid).or_default() += 1);
        let named = hosts().filter_map(|host| named.get(&host.guid)).copied().max().unwrap_or(1);
        stated.max(named.min(128).next_power_of_two())
    }

    /// The tables by vertex, as far as they lead to hosts. Of ports with fewer LIDs than others the first is used again.
    fn forwarding(
        &self,
        (file, tables): (&str, &Tables),
        cabling: &Cabling,
        network: &Network,
        addresses: u32,
        findings: &mut Findings,
    ) -> Result<Forwarding, ImportError> {
        let wrong = |what: String| Err(ImportError { place: file.to_owned(), what });
        let device = |vertex: usize| &cabling.devices[self.devices[vertex] as usize];
        self.check_lids(file, cabling, tables)?;
        // Place of the channel by port, of every switch; and its table.
        let mut place = vec![[Forwarding::NONE; 256]; self.switches.len()];
        let mut next = vec![0u8; network.vertices()];
        let mut ends: Vec<(u32, u8)> = Vec::new();
        for cable in cabling.cables.iter().filter(|cable| self.kind(cable.ends).is_some()) {
            ends.extend(cable.ends.iter().filter_map(|end| Some((self.vertex[end.device as usize]?, end.port))));
        }
        ends.sort_unstable();
        for (vertex, port) in ends {
            let counter = &mut next[vertex as usize];
            if let Some(switch) = (vertex as usize).checked_sub(self.hosts) {
                place[switch][usize::from(port)] = *counter;
            }
            *counter = counter.saturating_add(1);
        }
        let of: HashMap<u64, usize> = tables.switches.iter().enumerate().map(|(i, table)| (table.guid, i)).collect();
        let table_of: Vec<Option<&super::Table>> =
            self.switches.clone().map(|v| of.get(&device(v).guid).map(|&i| &tables.switches[i])).collect();
        let with = table_of.iter().flatten().count();
        if with == 0 {
            return wrong("has tables of no switch of this network: are both files of the same network?".to_owned());
        }
        findings.without_table = self
            .switches
            .clone()
            .zip(&table_of)
            .filter(|(_, t)| t.is_none())
            .map(|(v, _)| self.names[v].clone())
            .collect();
        let longest = tables.switches.iter().map(|table| table.ports.len()).max().unwrap_or(0);
        for node in 0..self.hosts {
            let lid = device(node).lid;
            if lid != 0 && tables.switches.iter().any(|table| table.port(lid).is_some()) {
                continue;
            }
            if lid != 0 && lid % 64 == 0 && usize::from(lid) >= longest {
                return wrong(format!(
                    "no table has LID {lid:#x} of '{}': dump_fts leaves out the last LID where it is a multiple of 64. \
                     Use OpenSM's own opensm-lfts.dump, or add the entries of `dump_fts {lid:#x} {lid:#x}`",
                    self.names[node]
                ));
            }
            findings.without_route.push(self.names[node].clone());
        }
        let lids: Vec<u16> = (0..self.hosts).map(|node| device(node).lid).collect();
        // Which LIDs are whose: the first of another port ends those of this one.
        let firsts: BTreeSet<u16> = cabling.devices.iter().map(|device| device.lid).filter(|&lid| lid != 0).collect();
        Ok(Forwarding::addressed(network, addresses, |node, address, switch| {
            let switch = switch.0 as usize - self.hosts;
            let first = lids[node.0 as usize];
            let own = first.saturating_add(address as u16);
            let is_own = firsts.range(first.saturating_add(1)..).next().is_none_or(|&next| own < next);
            let table = table_of[switch].filter(|_| first != 0)?;
            let port = if is_own { table.port(own).or_else(|| table.port(first)) } else { table.port(first) }?;
            Some(place[switch][usize::from(port)]).filter(|&place| place != Forwarding::NONE)
        }))
    }

    /// The lanes that packets take.
    fn lanes(
        &self,
        cabling: &Cabling,
        (rows, levels): (&LaneTables, &Levels),
        (network, tables): (&Network, &Forwarding),
        shape: &Shape,
    ) -> Result<Lanes, ImportError> {
        let Shape::Cabled(cabled) = shape else { unreachable!("a site is made of cables") };
        let device = |vertex: Vertex| &cabling.devices[self.devices[vertex.0 as usize] as usize];
        let level = |from: Node, to: Node| {
            let to = device(to.vertex()).lid.saturating_add(tables.address_for(from) as u16);
            let from = device(from.vertex());
            let by_guid = [from.guid, from.key].into_iter().find_map(|guid| levels.by_guid.get(&(guid, to)));
            levels.by_lid.get(&(from.lid, to)).or(by_guid).copied()
        };
        let ports = |channel: Channel| cabled.ports[channel.0 as usize];
        let stated = |back: Channel, on: Channel| {
            rows.rows.get(&(device(network.from(on)).guid, ports(back)[0], ports(on)[0])).copied()
        };
        // No packet may need a row that no file states: that is checked below.
        let row = |back, on| stated(back, on).unwrap_or([Lanes::DROP; LEVELS]);
        let back = |channel: u32| {
            let own = ports(Channel(channel));
            let mut far = network.out(network.to(Channel(channel)));
            far.position(|channel| ports(channel)[0] == own[1]).unwrap_or(0) as u8
        };
        let lanes = Lanes::new(network, level, row, (0..network.channels() as u32).map(back).collect());
        let wrong = |what: String| Err(ImportError { place: "virtual lanes".to_owned(), what });
        let name = |vertex: Vertex| self.names[vertex.0 as usize].as_str();
        let mut path = Vec::new();
        for (from, to) in network.node_iter().flat_map(|to| network.node_iter().map(move |from| (from, to))) {
            path.clear();
            if from == to || !tables.walk(network, from, to, |channel| path.push(channel)) {
                continue;
            }
            if lanes.level(from, to).is_none() {
                let (from, to) = (name(from.vertex()), name(to.vertex()));
                return wrong(format!("no file states the service level from '{from}' to '{to}'"));
            }
            for hop in path.windows(2) {
                let back = Channel(network.port(network.to(hop[0]), u32::from(back(hop[0].0))).0);
                if stated(back, hop[1]).is_none() {
                    let (at, ports) = (name(network.from(hop[1])), [ports(back)[0], ports(hop[1])[0]]);
                    return wrong(format!("no file states the lanes of '{at}' from port {} to {}", ports[0], ports[1]));
                }
            }
        }
        Ok(lanes)
    }

    /// LIDs that changed hands reveal cables and tables of different days.
    fn check_lids(&self, file: &str, cabling: &Cabling, tables: &Tables) -> Result<(), ImportError> {
        let adapters = cabling.devices.iter().filter(|device| device.kind == DeviceKind::Adapter && device.guid != 0);
        let guid_of: HashMap<u16, u64> =
            adapters.filter(|device| device.lid != 0).map(|device| (device.lid, device.guid)).collect();
        let differs = |(lid, guid): &&(u16, u64)| guid_of.get(lid).is_some_and(|own| own != guid);
        let mut others = tables.named.iter().filter(differs);
        let Some((lid, guid)) = others.next() else { return Ok(()) };
        let what = format!(
            "LID {lid:#x} is {guid:#018x} here and {:#018x} among the cables ({} such LIDs): the files are not of the \
             same time; take both again",
            guid_of[lid],
            others.count() + 1
        );
        Err(ImportError { place: file.to_owned(), what })
    }
}

/// Names in the order in which people count: `node9` before `node10`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(x), Some(y)) = (left.first(), right.first()) {
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (x, after_x) = left.split_at(digits(left));
            let (y, after_y) = right.split_at(digits(right));
            (left, right) = (after_x, after_y);
            let plain = |text: &[u8]| text.iter().skip_while(|byte| **byte == b'0').copied().collect::<Vec<u8>>();
            let (x, y) = (plain(x), plain(y));
            x.len().cmp(&y.len()).then(x.cmp(&y))
        } else {
            let order = x.cmp(y);
            (left, right) = (&left[1..], &right[1..]);
            order
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len()).then(a.cmp(b))
}

/// The description: rates from what the cables were trained to, everything else as InfiniBand parts of the catalog have
/// it, by analogy.
fn spec(
    name: &str,
    file: &str,
    (usual, unknown): ([Option<Link>; 2], [usize; 2]),
    routing: RoutingSpec,
) -> Result<FabricSpec, ImportError> {
    let part = "infiniband-ndr";
    let mistakes = |all: Vec<hotlink_fabric::catalog::Mistake>| {
        let what: Vec<String> = all.iter().map(ToString::to_string).collect();
        ImportError { place: file.to_owned(), what: what.join("; ") }
    };
    let parts = Library::user().parts(&[part.to_owned()]).map_err(mistakes)?;
    let infiniband = technology::named("infiniband").map_err(|what| ImportError { place: file.to_owned(), what })?;
    let mut spec = FabricSpec::bare(name, TopologySpec::new(Graph), routing).of_technology(infiniband);
    spec.title = format!("network of {file}");
    if let Some(packet) = parts.packet.or(infiniband.packet.map(Into::into)) {
        spec.packet = packet;
    }
    (spec.parameters, spec.ranges) = (parts.parameters.into(), parts.ranges);
    spec.resources = parts.resources;
    for resource in spec.resources.values_mut() {
        resource.latency.source = format!("assumed as of {part}: {}", resource.latency.source);
        resource.latency.status = Status::Estimated;
    }
    for ((role, kind), (usual, unknown)) in KINDS.into_iter().zip(usual.into_iter().zip(unknown)) {
        let Some(resource) = spec.resources.get_mut(&role) else { continue };
        resource.name = usual.map_or_else(|| kind.to_owned(), |link| format!("{} {kind}", link.name()));
        resource.measured = None;
        resource.gross = usual.map(|link| Value {
            value: link.rate(),
            unit: "MB/s".to_owned(),
            source: match unknown {
                0 => format!("{file}; {SOURCE}"),
                count => {
                    format!("assumed for {count} cables without width and speed, as most others: {file}; {SOURCE}")
                }
            },
            // Records name an estimate.
            status: if unknown == 0 { Status::Published } else { Status::Estimated },
        });
    }
    Ok(spec)
}
