//! Parts and fabrics: from a [`Sheet`] to [`FabricSpec`].
//!
//! A part is a set of `[resource.ROLE]`, `[packet]` and `[parameter]` tables. A fabric names parts and may state the
//! same tables itself; what stands later replaces what stood before, value by value.

use super::barrier::{read_barrier, read_reduction};
use super::topology::read_topology;
use super::vocabulary::{MOST, PARAMETERS, parameter_named};
use crate::input;
use crate::routing::Paths;
use crate::sheet::unit::Dimension;
use crate::sheet::{Sheet, Table, name_of, unknown};
use crate::spec::{
    FabricSpec, ItemKind, Origin, PacketSpec, PriceRef, ResourceSpec, Role, RoutingSpec, Short, TopologySpec, Value,
};
use crate::technology::{self, Technology};
use crate::topology::CubeSpec;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;
use std::ops::Range;

/// Names of [`Role`] in files.
pub(super) const ROLES: &[(&str, Role)] = &[
    ("memory", Role::Memory),
    ("engine", Role::Engine),
    ("host-bus", Role::HostBus),
    ("nic", Role::Nic),
    ("b-link", Role::BLink),
    ("link", Role::Link),
    ("switch-link", Role::SwitchLink),
    ("global-link", Role::GlobalLink),
    ("local-link", Role::LocalLink),
    ("switch", Role::Switch),
    ("ring-stop", Role::RingStop),
];

/// Names of [`RoutingSpec`] in files.
pub(super) const ROUTINGS: &[(&str, RoutingSpec)] = &[
    ("dimension-order", RoutingSpec::DimensionOrder),
    ("up-down", RoutingSpec::UpDown),
    ("shortest-ecmp", RoutingSpec::ShortestEcmp),
    ("shortest-lanes", RoutingSpec::ShortestLanes),
    ("shortest-single", RoutingSpec::ShortestSingle),
    ("dragonfly-minimal", RoutingSpec::DragonflyMinimal),
    ("dragonfly-valiant", RoutingSpec::DragonflyValiant),
    ("shortest-valiant", RoutingSpec::ShortestValiant),
    ("source", RoutingSpec::Source),
];

/// What files call a routing.
pub fn routing_key(routing: RoutingSpec) -> &'static str {
    name_of(ROUTINGS, &routing)
}

/// The role that files call `name`.
pub fn role_named(name: &str) -> Option<Role> {
    ROLES.iter().find(|(own, _)| *own == name).map(|(_, role)| *role)
}

/// What files call `role`.
pub fn role_key(role: Role) -> &'static str {
    ROLES.iter().find(|(_, own)| *own == role).map_or("", |(name, _)| name)
}

/// Names of [`ItemKind`] in files.
pub(crate) const ITEMS: &[(&str, ItemKind)] = &[
    ("nic", ItemKind::Nic),
    ("switch", ItemKind::Switch),
    ("enclosure", ItemKind::Enclosure),
    ("cable_node", ItemKind::CableNode),
    ("cable_switch", ItemKind::CableSwitch),
    ("cable_global", ItemKind::CableGlobal),
];

/// What files call a kind of piece.
pub fn item_key(kind: ItemKind) -> &'static str {
    ITEMS.iter().find(|(_, own)| *own == kind).map_or("", |(name, _)| name)
}

/// What parts describe, and whether such a part must state its technology.
const PART_KINDS: &[(&str, bool)] =
    &[("host", false), ("adapter", true), ("switch", true), ("cable", false), ("system", true)];

/// What parts and fabric state so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Stated {
    resources: BTreeMap<Role, StatedResource>,
    payload_max_bytes: Option<Value<f64>>,
    overhead_bytes: Option<Value<f64>>,
    overhead_per_hop_bytes: Option<Value<f64>>,
    parameters: BTreeMap<String, Value<f64>>,
    ranges: BTreeMap<String, [f64; 2]>,
    /// The technology of each part that states one, in order.
    technologies: Vec<(String, &'static Technology)>,
}

/// What some parts state together.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Resources by role.
    pub resources: BTreeMap<Role, ResourceSpec>,
    /// Packet format, if a part states one.
    pub packet: Option<PacketSpec>,
    /// Parameters by name.
    pub parameters: BTreeMap<String, Value<f64>>,
    /// As [`FabricSpec::ranges`].
    pub ranges: BTreeMap<String, [f64; 2]>,
    /// The technology, if those that state one agree.
    pub technology: Option<&'static Technology>,
}

#[derive(Clone, Debug, Default)]
struct StatedResource {
    name: Option<String>,
    gross: Option<Value<f64>>,
    measured: Option<Value<f64>>,
    latency: Option<Value<f64>>,
    half_duplex: Option<bool>,
}

fn replace<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

impl Stated {
    /// Reads `[resource]`, `[packet]` and `[parameter]` of a part or fabric over what was stated before.
    fn read(&mut self, sheet: &Sheet<'_>, root: &Table<'_>) {
        self.read_values(root);
        // A value that is stated again has the new value's range or none.
        for key in sheet.keys() {
            self.ranges.remove(&key);
        }
        self.ranges.extend(sheet.ranges());
    }

    fn read_values(&mut self, root: &Table<'_>) {
        self.read_resources(root);
        if let Some(packet) = root.table_opt("packet") {
            let bytes = |key: &str, least: f64| packet.value_opt(key, Dimension::Size, least..=MOST);
            replace(&mut self.payload_max_bytes, bytes("payload_max", 1.0));
            replace(&mut self.overhead_bytes, bytes("overhead", 0.0));
            replace(&mut self.overhead_per_hop_bytes, bytes("overhead_per_hop", 0.0));
            packet.finish();
        }
        if let Some(table) = root.table_opt("parameter") {
            for name in table.keys() {
                if let Some(parameter) = parameter_named(&name)
                    && let Some(value) = table.value_opt(&name, parameter.dimension, parameter.allowed())
                {
                    self.parameters.insert(name, value);
                }
            }
            table.allow(PARAMETERS.iter().map(|parameter| parameter.name));
            table.finish();
        }
    }

    fn read_resources(&mut self, root: &Table<'_>) {
        let Some(resources) = root.table_opt("resource") else { return };
        for (key, role) in ROLES {
            let Some(table) = resources.table_opt(key) else { continue };
            let stated = self.resources.entry(*role).or_default();
            replace(&mut stated.name, table.text_opt("name"));
            replace(&mut stated.gross, table.value_opt("gross", Dimension::Rate, 1.0..=MOST));
            replace(&mut stated.measured, table.value_opt("measured", Dimension::Rate, 1.0..=MOST));
            replace(&mut stated.latency, table.value_opt("latency", Dimension::Time, 0.0..=MOST));
            replace(&mut stated.half_duplex, table.flag_opt("half_duplex"));
            table.finish();
        }
        resources.finish();
    }

    /// The resources, complete. A missing value is reported at the fabric's `[resource.ROLE]` or its top.
    fn resources(&self, root: &Table<'_>) -> BTreeMap<Role, ResourceSpec> {
        let mut complete = BTreeMap::new();
        for (key, role) in ROLES {
            let Some(stated) = self.resources.get(role) else { continue };
            let at = format!("resource.{key}");
            for (field, missing) in [("name", stated.name.is_none()), ("latency", stated.latency.is_none())] {
                if missing {
                    root.missing(&format!("{at}.{field}"), "");
                }
            }
            if let (Some(gross), Some(measured)) = (&stated.gross, &stated.measured)
                && measured.value > gross.value
            {
                let what = "the measured payload rate is above the gross rate";
                root.wrong(&format!("{at}.measured"), what, format!("at most {} B/s", gross.value));
            }
            let (Some(name), Some(latency)) = (stated.name.clone(), stated.latency.clone()) else { continue };
            let rate =
                |value: &Option<Value<f64>>| value.clone().map(|value| value.map(|base| Rate(base.round() as u64)));
            complete.insert(
                *role,
                ResourceSpec {
                    name,
                    gross: rate(&stated.gross),
                    measured: rate(&stated.measured),
                    latency: latency.map(|base| Time(base.round() as u64)),
                    half_duplex: stated.half_duplex.unwrap_or(false),
                },
            );
        }
        if complete.values().all(|resource| resource.gross.is_none() && resource.measured.is_none()) {
            root.wrong(
                "resource",
                "no resource has a rate, so nothing would ever limit",
                "at least one `gross` or `measured`",
            );
        }
        complete
    }

    /// As they stand.
    pub(super) fn parts(&self, root: &Table<'_>) -> Parts {
        let mut technologies = self.technologies.iter().map(|(_, technology)| *technology);
        let first = technologies.next();
        Parts {
            resources: if self.resources.is_empty() { BTreeMap::new() } else { self.resources(root) },
            packet: self.overhead_bytes.is_some().then(|| self.packet(root, None)).flatten(),
            parameters: self.parameters.clone(),
            ranges: self.ranges.clone(),
            technology: first.filter(|first| technologies.all(|technology| technology == *first)),
        }
    }

    /// The technology that the fabric states, else the one on which its parts agree.
    fn technology(&self, root: &Table<'_>) -> Option<&'static Technology> {
        if root.has("technology") {
            return read_technology(root);
        }
        if root.has("flow_control") {
            let what = "follows from the technology, which is not stated";
            root.wrong(
                "flow_control",
                what,
                format!("technology = \"...\" in its place, one of {}", technology::names()),
            );
            return None;
        }
        let (part, first) = match self.technologies.first() {
            Some((part, first)) => (part, *first),
            None => {
                root.missing("technology", &technology::names());
                return None;
            }
        };
        if let Some((other, second)) = self.technologies.iter().find(|(_, technology)| *technology != first) {
            let what = format!("part {part} is {}, part {other} is {}", first.name, second.name);
            root.wrong("technology", what, "state which of them the network is");
            return None;
        }
        Some(first)
    }

    fn packet(&self, root: &Table<'_>, technology: Option<&Technology>) -> Option<PacketSpec> {
        let nothing = self.overhead_bytes.is_none() && self.payload_max_bytes.is_none();
        if let (true, Some(format)) = (nothing, technology.and_then(|technology| technology.packet)) {
            return Some(format.into());
        }
        if self.overhead_bytes.is_none() {
            root.missing("packet.overhead", "{ value, unit, source, status }");
        }
        let overhead_bytes = self.overhead_bytes.clone()?;
        let overhead_per_hop_bytes =
            self.overhead_per_hop_bytes.clone().unwrap_or_else(|| Value { value: 0.0, ..overhead_bytes.clone() });
        let payload_max_bytes = self.payload_max_bytes.clone().map(|value| value.map(|base| base.round() as u64));
        Some(PacketSpec { payload_max_bytes, overhead_bytes, overhead_per_hop_bytes })
    }
}

impl From<technology::Statement<technology::PacketFormat>> for PacketSpec {
    fn from(stated: technology::Statement<technology::PacketFormat>) -> PacketSpec {
        let value = |bytes: f64| Value {
            value: bytes,
            unit: "B".to_owned(),
            source: stated.source.to_owned(),
            status: stated.status,
        };
        PacketSpec {
            payload_max_bytes: stated.value.payload_max_bytes.map(|bytes| value(bytes as f64).map(|base| base as u64)),
            overhead_bytes: value(stated.value.overhead_bytes),
            overhead_per_hop_bytes: value(stated.value.overhead_per_hop_bytes),
        }
    }
}

/// `technology` of a part or fabric.
fn read_technology(root: &Table<'_>) -> Option<&'static Technology> {
    let names: Vec<_> = technology::TECHNOLOGIES.iter().map(|technology| (technology.name, *technology)).collect();
    root.choice("technology", &names)
}

/// Reads part `name` over `stated`; gives its title.
pub(super) fn read_part(name: &str, sheet: &Sheet<'_>, stated: &mut Stated) -> Option<String> {
    let document = sheet.parse();
    let root = Table::root(sheet, &document);
    let kind = root.choice("kind", PART_KINDS);
    let title = root.text("title");
    if root.has("technology") || kind.is_some_and(|states_one| states_one) {
        let technology = read_technology(&root);
        stated.technologies.extend(technology.map(|technology| (name.to_owned(), technology)));
    }
    stated.read(sheet, &root);
    root.finish();
    title
}

/// Names in a fabric file that refer to other files; the library looks them up.
pub(super) trait References {
    /// Reads part `name` over `stated`; false if there is none.
    fn part(&mut self, name: &str, stated: &mut Stated) -> bool;
    /// The item names of price list `name`, if there is such a list.
    fn price_items(&mut self, name: &str) -> Option<Vec<String>>;
    /// All names in `folder`, for messages.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// Reads a fabric. `None` only with mistakes in the sheet.
pub(super) fn read_fabric(sheet: &Sheet<'_>, references: &mut dyn References) -> Option<FabricSpec> {
    let document = sheet.parse();
    let root = Table::root(sheet, &document);
    let name = root.text("name");
    let title = root.text("title");
    let shape = root.table("topology").and_then(read_topology);
    let mut stated = Stated::default();
    for (part, span) in root.texts("parts") {
        read_part_reference(sheet, references, &part, &span, &mut stated);
    }
    stated.read(sheet, &root);
    let resources = stated.resources(&root);
    let technology = stated.technology(&root);
    let paths = root.has("paths").then(|| root.choice("paths", Paths::NAMES)).flatten();
    let routing = read_routing(&root, shape.as_ref().map(|(topology, _)| topology), technology);
    let packet = stated.packet(&root, technology);
    let (has_barrier, barrier) = (root.has("barrier"), root.table_opt("barrier").and_then(read_barrier));
    let (has_reduction, reduction) = (root.has("reduction"), root.table_opt("reduction").and_then(read_reduction));
    let prices = root.table_opt("prices").and_then(|table| read_prices(sheet, table, references));
    let is_b_link = |topology: &TopologySpec| topology.get::<CubeSpec>().is_some_and(|cube| cube.b_link);
    if prices.as_ref().is_some_and(|prices| prices.items.contains_key(&ItemKind::Switch))
        && shape.as_ref().is_some_and(|(topology, _)| is_b_link(topology))
    {
        let what = "the rings of a cube with b_link have no switches to buy";
        root.wrong("prices.switch", what, "nic, and cable_node for each ring of a node");
    }
    if let Some((topology, _)) = shape.as_ref().filter(|_| !sheet.told("topology")) {
        check_buildable(&root, topology);
    }
    root.finish();
    let (topology, topology_origin): (TopologySpec, Origin) = shape?;
    Some(FabricSpec {
        name: name?,
        title: title?,
        topology,
        topology_origin,
        routing: routing?,
        resources,
        packet: packet?,
        technology: technology?,
        flow_control: technology?.flow_control.value,
        paths: paths.or(technology.map(|technology| technology.paths.value))?,
        parameters: stated.parameters.into(),
        ranges: stated.ranges,
        barrier: if has_barrier { Some(barrier?) } else { None },
        reduction: if has_reduction { Some(reduction?) } else { None },
        prices,
        assumed_ports: None,
        unchanged: BTreeMap::new(),
    })
}

fn read_part_reference(
    sheet: &Sheet<'_>,
    references: &mut dyn References,
    part: &str,
    span: &Range<usize>,
    stated: &mut Stated,
) {
    if !references.part(part, stated) {
        let names = references.names("parts");
        let what = format!("part {}", unknown(part, names.iter().map(String::as_str)));
        sheet.mistake(span, "parts", what, names.join(", "));
    }
}

fn read_prices(sheet: &Sheet<'_>, table: Table<'_>, references: &mut dyn References) -> Option<PriceRef> {
    let named = |list: String| if input::is_path(&list) { input::beside(&sheet.file, &list) } else { list };
    let list = table.text("list").map(named);
    let known = list.as_ref().and_then(|list| references.price_items(list));
    if let (Some(list), None) = (&list, &known) {
        let names = references.names("prices");
        let what = format!("price list {}", unknown(list, names.iter().map(String::as_str)));
        table.wrong("list", what, format!("{}, or a file of your own, such as \"./my-prices.toml\"", names.join(", ")));
    }
    let check = |table: &Table<'_>, key: &str, item: &String| {
        if let Some(known) = known.as_ref().filter(|known| !known.is_empty() && !known.contains(item)) {
            let what = format!("item {}", unknown(item, known.iter().map(String::as_str)));
            table.wrong(key, what, format!("{}, or those of a list of your own", known.join(", ")));
        }
    };
    let mut items = BTreeMap::new();
    for (key, kind) in ITEMS {
        let Some(item) = table.text_opt(key) else { continue };
        check(&table, key, &item);
        items.insert(*kind, item);
    }
    let short = table.table_opt("short").map(|short| {
        let item = short.text("item");
        item.iter().for_each(|item| check(&short, "item", item));
        let count = |(key, kind): &(&str, ItemKind)| Some((*kind, short.count_opt(key, 1..=u32::MAX)?));
        let pieces = ITEMS.iter().filter_map(count).collect();
        short.finish();
        item.map(|item| Short { item, pieces })
    });
    table.finish();
    Some(PriceRef { list: list?, items, short: short.flatten(), varied: None })
}

/// Refuses a topology that holds no number of nodes up to 64: what `analyze` would refuse at any size.
fn check_buildable(root: &Table<'_>, topology: &TopologySpec) {
    // A graph has its own file, and fixed extents one size, which may be large.
    if topology.has_one_size() {
        return;
    }
    let mut refused = (1..=64).map(|nodes| crate::topology::build(topology, nodes).err());
    if let Some(Some(first)) = refused.next()
        && refused.all(|error| error.is_some())
    {
        root.wrong("topology", format!("cannot be built: {first}"), "");
    }
}

/// The stated routing, which must suit the topology. By default it is the first of the technology's that does;
/// up*/down* comes before others where switches close cycles.
fn read_routing(
    root: &Table<'_>,
    topology: Option<&TopologySpec>,
    technology: Option<&Technology>,
) -> Option<RoutingSpec> {
    if root.has("routing") {
        let routing = root.choice("routing", ROUTINGS)?;
        if let Some(topology) = topology.filter(|topology| !topology.routings().contains(&routing)) {
            let suits = ROUTINGS.iter().filter(|(_, routing)| topology.routings().contains(routing));
            let allowed: Vec<&str> = suits.map(|(name, _)| *name).collect();
            root.wrong("routing", "does not suit this topology", allowed.join(", "));
        }
        return Some(routing);
    }
    let (topology, technology) = (topology?, technology?);
    let suits = || technology.routing.value.iter().filter(|routing| topology.routings().contains(routing));
    let up_down = suits().find(|&&routing| topology.has_circles() && routing == RoutingSpec::UpDown);
    let found = up_down.or_else(|| suits().next()).copied();
    if found.is_none() {
        let names: Vec<&str> = ROUTINGS.iter().map(|(name, _)| *name).collect();
        root.wrong("routing", "is missing, and none of the technology's suits this topology", names.join(", "));
    }
    found
}

impl<T> Value<T> {
    /// The same provenance with another value.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Value<U> {
        Value { value: change(self.value), unit: self.unit, source: self.source, status: self.status }
    }
}
