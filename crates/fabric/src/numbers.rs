//! The numbers of a description by dotted key (`resource.link.gross`, `parameter.copy_rate`): to list, change and note.

use crate::barrier::BarrierSpec;
use crate::catalog::{role_key, role_named};
use crate::ledger::{Ledger, Used};
use crate::notes::Part;
use crate::spec::{FabricSpec, ResourceSpec, Status, Value};
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// The key of everything that a topology's counts are.
pub const TOPOLOGY: &str = "topology";

impl FabricSpec {
    /// Every number that the description states, by dotted key, in base units; the topology's counts are one entry.
    pub fn numbers(&self) -> BTreeMap<String, Used> {
        self.parts_and_numbers().into_iter().map(|(_, key, used)| (key, used)).collect()
    }

    /// The numbers that engines used so far, of this machine and its clones, and the assumptions that stood in.
    pub fn used(&self) -> Ledger {
        let (notes, asked) = (self.parameters.notes(), self.parameters.asked());
        let is_used = |(part, key, _): &(Option<Part>, String, Used)| match part {
            Some(part) => notes.has(*part),
            None => key.strip_prefix("parameter.").is_some_and(|name| asked.contains(name)),
        };
        let stated = self.parts_and_numbers().into_iter().filter(is_used).map(|(_, key, used)| (key, used));
        let assumed = notes.assumed().into_iter().map(|(name, used)| (format!("parameter.{name}"), used));
        let ports = self.assumed_ports.clone().filter(|_| notes.has(Part::Topology));
        let ports = ports.map(|ports| ("switch_ports".to_owned(), ports));
        Ledger { used: stated.chain(assumed).chain(ports).collect() }
    }

    /// The same with the number of `key` in base units changed or, for a parameter, stated. The topology stays.
    #[must_use]
    pub fn with_number(mut self, key: &str, value: f64) -> FabricSpec {
        let (count, time, rate) =
            (value.round() as u64, Time(value.round() as u64), Rate(value.round().max(1.0) as u64));
        match key.split('.').collect::<Vec<_>>()[..] {
            ["parameter", name] => {
                let varied = || Value {
                    value,
                    unit: String::new(),
                    source: "varied within its uncertainty".to_owned(),
                    status: Status::Estimated,
                };
                self.parameters.entry(name.to_owned()).or_insert_with(varied).value = value;
            }
            ["packet", "payload_max"] => {
                self.packet.payload_max_bytes.iter_mut().for_each(|most| most.value = count.max(1));
            }
            ["packet", "overhead"] => self.packet.overhead_bytes.value = value,
            ["packet", "overhead_per_hop"] => self.packet.overhead_per_hop_bytes.value = value,
            ["resource", role, field] => {
                if let Some(resource) = role_named(role).and_then(|role| self.resources.get_mut(&role)) {
                    set(resource, field, time, rate);
                }
            }
            ["reduction", "segment"] => {
                self.reduction.iter_mut().for_each(|reduction| reduction.segment.value = count.max(1));
            }
            ["reduction", "rate"] => self.reduction.iter_mut().for_each(|reduction| reduction.rate.value = rate),
            ["reduction", ref at @ ..] => {
                self.reduction.iter_mut().for_each(|reduction| set_time(&mut reduction.tree, at, time));
            }
            ["barrier", ref at @ ..] => self.barrier.iter_mut().for_each(|barrier| set_time(barrier, at, time)),
            _ => {}
        }
        self
    }

    /// Every number with its key, and the part of the description that it is noted by (a parameter: its name).
    fn parts_and_numbers(&self) -> Vec<(Option<Part>, String, Used)> {
        let mut found = Vec::new();
        let mut add = |part: Option<Part>, key: String, value: f64, origin: (&str, &str, Status)| {
            let (unit, source, status) = origin;
            let range = self.ranges.get(&key).copied();
            let (unit, source) = (unit.to_owned(), source.to_owned());
            found.push((part, key, Used { value, unit, source, status, range, assumed_by: None }));
        };
        let topology = &self.topology_origin;
        add(Some(Part::Topology), TOPOLOGY.to_owned(), f64::NAN, ("", &topology.source, topology.status));
        for (role, resource) in &self.resources {
            let key = |field: &str| format!("resource.{}.{field}", role_key(*role));
            let rates = [
                ("gross", Part::Gross(*role), &resource.gross),
                ("measured", Part::Measured(*role), &resource.measured),
            ];
            for (field, part, rate) in rates {
                if let Some(rate) = rate {
                    add(Some(part), key(field), rate.value.0 as f64, origin(rate));
                }
            }
            add(Some(Part::Latency(*role)), key("latency"), resource.latency.value.0 as f64, origin(&resource.latency));
        }
        let packet = &self.packet;
        if let Some(most) = &packet.payload_max_bytes {
            add(Some(Part::Packet), "packet.payload_max".to_owned(), most.value as f64, origin(most));
        }
        for (field, bytes) in
            [("overhead", &packet.overhead_bytes), ("overhead_per_hop", &packet.overhead_per_hop_bytes)]
        {
            // A file that states no overhead of a hop has none.
            if field == "overhead" || bytes.value != 0.0 {
                add(Some(Part::Packet), format!("packet.{field}"), bytes.value, origin(bytes));
            }
        }
        // As a map: listing is no use.
        let parameters: &BTreeMap<_, _> = &self.parameters;
        for (name, value) in parameters {
            add(None, format!("parameter.{name}"), value.value, origin(value));
        }
        let reduction = self.reduction.as_ref().map(|reduction| &reduction.tree);
        for (table, part, tree) in
            [("barrier", Part::Barrier, self.barrier.as_ref()), ("reduction", Part::Reduction, reduction)]
        {
            for (key, time) in tree.map(times).unwrap_or_default() {
                add(Some(part), format!("{table}.{key}"), time.value.0 as f64, origin(time));
            }
        }
        if let Some(reduction) = &self.reduction {
            let (segment, rate) = (&reduction.segment, &reduction.rate);
            add(Some(Part::Reduction), "reduction.segment".to_owned(), segment.value as f64, origin(segment));
            add(Some(Part::Reduction), "reduction.rate".to_owned(), rate.value.0 as f64, origin(rate));
        }
        found
    }
}

fn origin<T>(value: &Value<T>) -> (&str, &str, Status) {
    (&value.unit, &value.source, value.status)
}

/// The times of a tree that combines, by key.
pub(crate) fn times(tree: &BarrierSpec) -> Vec<(String, &Value<Time>)> {
    let always = [("enter", &tree.enter), ("read", &tree.read), ("hop", &tree.hop), ("gate", &tree.gate)];
    let sometimes = [("gate_per_input", &tree.gate_per_input), ("serial", &tree.serial), ("software", &tree.software)];
    let sometimes = sometimes.into_iter().filter_map(|(key, time)| Some((key, time.as_ref()?)));
    let processing = tree.processing.iter().map(|(nodes, time)| (format!("processing.{nodes}"), time));
    always.into_iter().chain(sometimes).map(|(key, time)| (key.to_owned(), time)).chain(processing).collect()
}

fn set_time(tree: &mut BarrierSpec, at: &[&str], time: Time) {
    let found = match at {
        ["enter"] => Some(&mut tree.enter),
        ["read"] => Some(&mut tree.read),
        ["hop"] => Some(&mut tree.hop),
        ["gate"] => Some(&mut tree.gate),
        ["gate_per_input"] => tree.gate_per_input.as_mut(),
        ["serial"] => tree.serial.as_mut(),
        ["software"] => tree.software.as_mut(),
        ["processing", nodes] => nodes.parse().ok().and_then(|nodes: u32| tree.processing.get_mut(&nodes)),
        _ => None,
    };
    found.into_iter().for_each(|value| value.value = time);
}

fn set(resource: &mut ResourceSpec, field: &str, time: Time, rate: Rate) {
    match field {
        "latency" => resource.latency.value = time,
        "gross" => resource.gross.iter_mut().for_each(|gross| gross.value = rate),
        "measured" => resource.measured.iter_mut().for_each(|measured| measured.value = rate),
        _ => {}
    }
}
