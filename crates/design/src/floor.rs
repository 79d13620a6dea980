//! Where racks stand, and how long cables get: what decides between copper and optics.
//!
//! Hosts fill racks in order. A switch with hosts stands in the rack of its middle host. The other switches share racks
//! in the middle of the hosts' racks. Racks fill rows. A cable runs along the rows and across them, never through a
//! rack, with some slack at both ends.

use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Resource, Vertex};
use hotlink_fabric::price::PriceList;
use hotlink_fabric::spec::{ItemKind, PriceRef, Role, Short};
use hotlink_study::Error;
use std::collections::BTreeMap;

/// The floor's measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// Hosts of a rack.
    pub hosts_per_rack: u32,
    /// Switches of a rack that holds no hosts.
    pub switches_per_rack: u32,
    /// Racks of a row.
    pub racks_per_row: u32,
    /// From a rack to the next of its row, in metres.
    pub rack_width_m: f64,
    /// From a row to the next, in metres.
    pub row_pitch_m: f64,
    /// What a cable has more at each end, in metres.
    pub slack_m: f64,
    /// The longest cable of copper, in metres.
    pub copper_m: f64,
}

impl Default for Floor {
    /// Assumed by default, and stated in every record: racks of 600 mm, rows with an aisle, passive copper of 400 Gb/s
    /// up to three metres.
    fn default() -> Floor {
        Floor {
            hosts_per_rack: 32,
            switches_per_rack: 16,
            racks_per_row: 16,
            rack_width_m: 0.6,
            row_pitch_m: 3.0,
            slack_m: 1.0,
            copper_m: 3.0,
        }
    }
}

impl Floor {
    /// Refuses measures that no floor has.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let counts = [
            ("hosts per rack", self.hosts_per_rack),
            ("switches per rack", self.switches_per_rack),
            ("racks per row", self.racks_per_row),
        ];
        if let Some((what, count)) = counts.iter().find(|(_, count)| !(1..=10_000).contains(count)) {
            return Err(Error::Input(format!("{what}: {count}: must be 1 to 10000")));
        }
        let lengths = [
            ("rack width", self.rack_width_m),
            ("row pitch", self.row_pitch_m),
            ("slack", self.slack_m),
            ("copper reach", self.copper_m),
        ];
        match lengths.iter().find(|(_, metres)| !(0.0..=1000.0).contains(metres)) {
            Some((what, metres)) => Err(Error::Input(format!("{what}: {metres} m: must be 0 to 1000 m"))),
            None => Ok(()),
        }
    }

    /// In words.
    pub fn told(&self) -> String {
        format!(
            "{} hosts or {} switches a rack, {} racks a row; {} m a rack, {} m a row, {} m of slack at each end; copper to {} m",
            self.hosts_per_rack,
            self.switches_per_rack,
            self.racks_per_row,
            self.rack_width_m,
            self.row_pitch_m,
            self.slack_m,
            self.copper_m
        )
    }

    fn metres(&self, a: u32, b: u32) -> f64 {
        let place = |rack: u32| (f64::from(rack % self.racks_per_row), f64::from(rack / self.racks_per_row));
        let ((column_a, row_a), (column_b, row_b)) = (place(a), place(b));
        (column_a - column_b).abs() * self.rack_width_m + (row_a - row_b).abs() * self.row_pitch_m + 2.0 * self.slack_m
    }
}

/// Upper ends of the length classes, in metres; beyond the last there is one more.
pub const CLASSES: [f64; 4] = [3.0, 10.0, 30.0, 100.0];

/// A network on the floor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Racks in all.
    pub racks: u32,
    /// Cables by kind.
    pub cables: BTreeMap<ItemKind, Cables>,
}

/// Cables of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cables {
    /// How many there are in each length class.
    pub classes: [u64; CLASSES.len() + 1],
    /// How many copper reaches.
    pub copper: u64,
    /// The longest, in metres.
    pub longest_m: f64,
}

impl Cables {
    fn add(&mut self, metres: f64, floor: &Floor) {
        self.classes[CLASSES.iter().position(|&end| metres <= end).unwrap_or(CLASSES.len())] += 1;
        self.copper += u64::from(metres <= floor.copper_m);
        self.longest_m = self.longest_m.max(metres);
    }

    /// How many are optical.
    pub fn optical(&self) -> u64 {
        self.classes.iter().sum::<u64>() - self.copper
    }
}

impl Plan {
    /// Puts `fabric` on the floor; `gpus` nodes make a host.
    pub fn of(fabric: &Fabric, floor: &Floor, gpus: u32) -> Plan {
        let network = &fabric.network;
        let rack_of_node = |node: u32| node / gpus / floor.hosts_per_rack;
        let host_racks = rack_of_node(network.nodes - 1) + 1;
        let is_switch = |v: Vertex| network.role(Resource::Vertex(v)) == Role::Switch;
        let role = |c: Channel| network.role(Resource::Channel(c));
        let channels = || (0..network.channels() as u32).map(Channel);
        // For each switch, the racks of its hosts.
        let mut under: BTreeMap<Vertex, Vec<u32>> = BTreeMap::new();
        for c in channels().filter(|&c| role(c) == Role::Link && is_switch(network.from(c))) {
            under.entry(network.from(c)).or_default().push(rack_of_node(node_behind(fabric, network.to(c))));
        }
        let switches = (network.nodes..network.vertices() as u32).map(Vertex).filter(|&v| is_switch(v));
        let bare: Vec<Vertex> = switches.filter(|v| !under.contains_key(v)).collect();
        let own_racks = (bare.len() as u32).div_ceil(floor.switches_per_rack);
        let middle = host_racks / 2;
        let among = |host_rack: u32| if host_rack < middle { host_rack } else { host_rack + own_racks };
        let mut rack: BTreeMap<Vertex, u32> = BTreeMap::new();
        for (index, &switch) in bare.iter().enumerate() {
            rack.insert(switch, middle + index as u32 / floor.switches_per_rack);
        }
        for (switch, mut racks) in under {
            racks.sort_unstable();
            rack.insert(switch, among(racks[racks.len() / 2]));
        }
        let place = |v: Vertex| rack.get(&v).copied().unwrap_or_else(|| among(rack_of_node(node_behind(fabric, v))));
        let mut plan = Plan { racks: host_racks + own_racks, cables: BTreeMap::new() };
        // Counted as `fabric::inventory` does.
        let once = |c: Channel| network.from(c) < network.to(c) || network.reverse(c).is_none();
        for c in channels() {
            let kind = match role(c) {
                Role::Link if is_switch(network.from(c)) => ItemKind::CableNode,
                Role::SwitchLink if once(c) => ItemKind::CableSwitch,
                Role::GlobalLink if once(c) => ItemKind::CableGlobal,
                _ => continue,
            };
            let metres = floor.metres(place(network.from(c)), place(network.to(c)));
            plan.cables.entry(kind).or_default().add(metres, floor);
        }
        plan
    }

    /// The longest cable of all, in metres.
    pub fn longest_m(&self) -> f64 {
        self.cables.values().map(|cables| cables.longest_m).fold(0.0, f64::max)
    }

    /// Transceivers: two for each optical cable.
    pub fn optics(&self) -> u64 {
        2 * self.cables.values().map(Cables::optical).sum::<u64>()
    }

    /// The items as which its cables are bought: of those that `prices` names, the shortest for copper, the longest for
    /// optics. Items that state no length stay as they are.
    pub fn items(&self, prices: &PriceRef, list: &PriceList) -> PriceRef {
        let length = |item: &String| list.items.get(item)?.length.as_ref().map(|length| length.value);
        let cables = [ItemKind::CableNode, ItemKind::CableSwitch, ItemKind::CableGlobal];
        let named = cables.iter().filter_map(|kind| prices.items.get(kind));
        let mut by_length: Vec<(f64, &String)> = named.filter_map(|item| Some((length(item)?, item))).collect();
        by_length.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut chosen = prices.clone();
        let (Some((_, copper)), Some((_, optical))) = (by_length.first(), by_length.last()) else { return chosen };
        let mut pieces = BTreeMap::new();
        for (&kind, cables) in &self.cables {
            let item = if cables.optical() == 0 { copper } else { optical };
            chosen.items.insert(kind, (*item).clone());
            if cables.optical() > 0 && cables.copper > 0 && copper != optical {
                pieces.insert(kind, u32::try_from(cables.copper).unwrap_or(u32::MAX));
            }
        }
        chosen.short = (!pieces.is_empty()).then(|| Short { item: (*copper).clone(), pieces });
        chosen
    }

    /// A row for each kind of cable and length class that occurs.
    pub fn records(&self, head: &Record) -> Vec<Record> {
        let kinds =
            [(ItemKind::CableNode, "node"), (ItemKind::CableSwitch, "switch"), (ItemKind::CableGlobal, "global")];
        let mut rows = Vec::new();
        for (kind, name) in kinds {
            let Some(cables) = self.cables.get(&kind) else { continue };
            for (class, &count) in cables.classes.iter().enumerate().filter(|(_, count)| **count > 0) {
                let row = head.clone().with("kind", "cables").with("cable", name).with("count", count);
                let from = if class == 0 { 0.0 } else { CLASSES[class - 1] };
                let row = row.with("from_m", from);
                rows.push(if class < CLASSES.len() { row.with("to_m", CLASSES[class]) } else { row });
            }
        }
        rows
    }
}

/// The node that a device leads to: itself, or the one behind a NIC.
fn node_behind(fabric: &Fabric, vertex: Vertex) -> u32 {
    let network = &fabric.network;
    if network.is_node(vertex) {
        return vertex.0;
    }
    let node = |v: Vertex| network.out(v).map(|c| network.to(c)).find(|&to| network.is_node(to));
    node(vertex).map_or(0, |node| node.0)
}
