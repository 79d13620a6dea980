//! Devices and cables, whichever file they come from.

use super::lines::Lines;
use super::rates::Link;
use hotlink_fabric::import::ImportError;
use std::collections::HashMap;
use std::io::BufRead;

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    /// A switch.
    Switch,
    /// A port of an adapter: an end point with a LID of its own.
    Adapter,
    /// A router to another subnet: an end point as an adapter is, but no host.
    Router,
}

impl DeviceKind {
    /// As OpenSM's dumps call it.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Switch => "Switch",
            DeviceKind::Adapter => "Channel Adapter",
            DeviceKind::Router => "Router",
        }
    }
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its kind.
    pub kind: DeviceKind,
    /// GUID of a switch, or of an adapter's port; 0 where the file does not state it.
    pub guid: u64,
    /// LID; 0 where the port has none or the file does not state it.
    pub lid: u16,
    /// The port's description: no key, since many may share one.
    pub name: String,
    /// Port number of an adapter; 0 for a switch.
    pub port: u8,
    /// The port has 2 to the power of this LIDs, from [`Device::lid`] on; 0 where the file does not state it.
    pub lmc: u8,
    /// By what the file knows the whole device: its GUID, an adapter's own and not its ports', or a LID.
    pub key: u64,
}

impl Device {
    /// Whether it computes reductions inside a switch rather than being a host.
    pub fn is_aggregation(&self) -> bool {
        self.kind == DeviceKind::Adapter && self.name.to_ascii_lowercase().contains("aggregation node")
    }

    /// Whether it is an end point of programs.
    pub fn is_host(&self) -> bool {
        self.kind == DeviceKind::Adapter && !self.is_aggregation()
    }
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// Place among the devices.
    pub device: u32,
    /// Port number.
    pub port: u8,
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cable {
    /// Its ends.
    pub ends: [End; 2],
    /// Its trained rate; `None` where the file does not give it.
    pub link: Option<Link>,
    /// Line of the file that names it first.
    pub line: u64,
}

/// A site's cables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cabling {
    /// Switches, adapter ports, routers, in order of the file.
    pub devices: Vec<Device>,
    /// Every cable once.
    pub cables: Vec<Cable>,
}

/// Most devices.
const MOST: usize = 1 << 20;

/// How a file names a device on one line: by a key of the file's own choice (a GUID, a LID).
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'t> {
    pub kind: DeviceKind,
    pub key: u64,
    pub port: u8,
    pub guid: Option<u64>,
    pub lid: Option<u16>,
    pub lmc: u8,
    pub name: Option<&'t str>,
}

/// One line of a file that lists ports: a port, the port at the other end of its cable, if any, and the cable's rate.
pub(super) struct Port<'t> {
    pub near: Named<'t>,
    pub far: Option<Named<'t>>,
    pub link: Option<Link>,
}

/// Collects devices and cables while a file is read.
#[derive(Default)]
pub(super) struct Collector {
    found: Cabling,
    /// Places of devices; of adapters by key and port. For look-ups only.
    places: HashMap<(u64, u8), u32>,
    /// Per device: whether the file has a record of its own for it, and the line that names it first.
    own: Vec<(bool, u64)>,
    cable_of: HashMap<End, u32>,
}

impl Collector {
    /// The device, new or known; what is newly said of it is added.
    pub(super) fn device<R: BufRead>(
        &mut self,
        lines: &Lines<'_, R>,
        named: &Named<'_>,
        is_own: bool,
    ) -> Result<u32, ImportError> {
        let port = if named.kind == DeviceKind::Switch { 0 } else { named.port };
        let next = self.found.devices.len();
        let place = *self.places.entry((named.key, port)).or_insert(next as u32);
        if place as usize == next {
            if next == MOST {
                return lines.wrong(format!("at most {MOST} devices"));
            }
            let device =
                Device { kind: named.kind, guid: 0, lid: 0, name: String::new(), port, lmc: 0, key: named.key };
            self.found.devices.push(device);
            self.own.push((false, lines.number()));
        }
        let device = &mut self.found.devices[place as usize];
        if device.kind != named.kind {
            return lines.wrong(format!("{:x} is a switch here and an adapter elsewhere", named.key));
        }
        self.own[place as usize].0 |= is_own;
        if let Some(guid) = named.guid.filter(|&guid| guid != 0) {
            device.guid = guid;
        }
        if let Some(lid) = named.lid.filter(|&lid| lid != 0) {
            if device.lid != 0 && device.lid != lid {
                return lines.wrong(format!("LID {lid} of a port that has LID {} elsewhere", device.lid));
            }
            device.lid = lid;
        }
        device.lmc = device.lmc.max(named.lmc);
        if let Some(name) = named.name.filter(|name| !name.is_empty() && device.name.is_empty()) {
            name.clone_into(&mut device.name);
        }
        Ok(place)
    }

    /// A cable between two ports, which may be known from its other end.
    pub(super) fn cable<R: BufRead>(
        &mut self,
        lines: &Lines<'_, R>,
        ends: [End; 2],
        link: Option<Link>,
    ) -> Result<(), ImportError> {
        if ends[0] == ends[1] {
            return lines.wrong("a cable from a port to itself");
        }
        let known = ends.map(|end| self.cable_of.get(&end).copied());
        match known {
            [None, None] => {
                let place = self.found.cables.len() as u32;
                self.found.cables.push(Cable { ends, link, line: lines.number() });
                self.cable_of.extend(ends.map(|end| (end, place)));
                Ok(())
            }
            [Some(a), Some(b)] if a == b => {
                let cable = &mut self.found.cables[a as usize];
                // The slower of two readings: both ends train alike, and a stale one is not believed.
                let slower = |a: Link, b: Link| if b.rate() < a.rate() { b } else { a };
                cable.link = match (cable.link, link) {
                    (Some(a), Some(b)) => Some(slower(a, b)),
                    (a, b) => a.or(b),
                };
                Ok(())
            }
            [a, b] => {
                let other = a.or(b).map_or(0, |place| self.found.cables[place as usize].line);
                let which = usize::from(a.is_none());
                let port = ends[which].port;
                let name = &self.found.devices[ends[which].device as usize].name;
                lines.wrong(format!("port {port} of '{name}' has another cable on line {other}: a port has one cable"))
            }
        }
    }

    /// The collected cables.
    pub(super) fn finish<R: BufRead>(self, lines: &Lines<'_, R>, all_own: bool) -> Result<Cabling, ImportError> {
        if self.found.cables.is_empty() {
            return lines.wrong_file("names no cable");
        }
        let lost: Vec<usize> = (0..self.own.len()).filter(|&place| all_own && !self.own[place].0).collect();
        if let Some(&first) = lost.first() {
            let (name, line) = (&self.found.devices[first].name, self.own[first].1);
            return lines.wrong_at(
                line,
                format!(
                    "'{name}' is named here but has no record of its own ({} such devices): the file is cut short",
                    lost.len()
                ),
            );
        }
        Ok(self.found)
    }

    /// Makes every device for which `is` holds what `kind` says.
    pub(super) fn set_kinds(&mut self, kind: impl Fn(u32) -> DeviceKind) {
        for (place, device) in self.found.devices.iter_mut().enumerate() {
            device.kind = kind(place as u32);
        }
    }

    /// Ports of a device that have a cable.
    pub(super) fn ports_used(&self) -> Vec<u32> {
        let mut used = vec![0; self.found.devices.len()];
        self.cable_of.keys().for_each(|end| used[end.device as usize] += 1);
        used
    }
}
