//! Changes to a site's network before questions: parts fail, hosts are left out, tables are made anew.
//!
//! Parts are named as reports print them: a cable by either end (`leaf1 port 5`) or by both
//! (`leaf1 port 5 -> spine0 port 3`), a switch or a host by its name. `random:K` is K cables between switches,
//! `random:K:SEED` another draw.

use crate::build::{Files, Site};
use crate::cabling::{Cabling, DeviceKind, End};
use crate::tables::Tables;
use crate::{hostlist, reroute};
use hotlink_fabric::catalog::nearest;
use hotlink_fabric::import::ImportError;
use hotlink_fabric::network::Vertex;
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::topology::Shape;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// Parts fail; tables stay as they are.
    Fail(&'a str),
    /// Only these hosts are there.
    Hosts(&'a str),
    /// Tables are made anew.
    Reroute,
    /// Senders use all LIDs of a port.
    AllLids,
}

impl<'a> Change<'a> {
    /// As a fabric's name spells it, between `+`.
    pub fn of(word: &'a str) -> Option<Change<'a>> {
        match word.split_once(':') {
            Some(("fail", parts)) => Some(Change::Fail(parts)),
            Some(("hosts", list)) => Some(Change::Hosts(list)),
            Some(("lids", "all")) => Some(Change::AllLids),
            _ => (word == "reroute").then_some(Change::Reroute),
        }
    }
}

/// Devices of one name that an error lists.
const ALIKE_SHOWN: usize = 4;

impl Site {
    /// The site after some changes: failures, then new tables, then the choice of hosts.
    pub(crate) fn changed(self, changes: &[Change<'_>]) -> Result<Site, ImportError> {
        let mut site = self;
        let failed: Vec<&str> = changes
            .iter()
            .filter_map(|change| if let Change::Fail(parts) = change { Some(*parts) } else { None })
            .collect();
        if !failed.is_empty() {
            site = site.without(&failed)?;
        }
        if changes.contains(&Change::Reroute) {
            site = site.rerouted()?;
        }
        if changes.contains(&Change::AllLids) {
            site = site.spread()?;
        }
        for change in changes {
            if let Change::Hosts(list) = change {
                let hosts =
                    hostlist::expand(list).map_err(|what| ImportError { place: format!("hosts:{list}"), what })?;
                site = site.only(&site.named(&hosts)?)?;
            }
        }
        Ok(site)
    }

    /// The site without some parts, each spelled as after `fail:` in its name; its tables lead where they led.
    ///
    /// # Errors
    /// A part that is not there; no host is left.
    pub fn without(&self, parts: &[&str]) -> Result<Site, ImportError> {
        let mut gone = BTreeSet::new();
        let mut names = Vec::new();
        for part in parts {
            let (cables, named) = self.cables_of(part)?;
            gone.extend(cables);
            names.extend(named);
        }
        let name = match names.len() {
            1..=3 => format!("{} without {}", self.spec.name, names.join(", ")),
            many => format!("{} without {many} parts", self.spec.name),
        };
        self.keeping(&name, |place| !gone.contains(&place), self.files.clone())
    }

    /// The site with these hosts alone, by their vertices; switches and tables stay.
    ///
    /// # Errors
    /// No host is left.
    pub fn only(&self, hosts: &[Vertex]) -> Result<Site, ImportError> {
        let chosen: BTreeSet<u32> = hosts.iter().map(|host| self.devices[host.0 as usize]).collect();
        let stays = |place: usize| {
            let ends = self.cabling.cables[place].ends.map(|end| end.device);
            ends.iter().all(|end| !self.cabling.devices[*end as usize].is_host() || chosen.contains(end))
        };
        self.keeping(&format!("{}, {} hosts", self.spec.name, chosen.len()), stays, self.files.clone())
    }

    /// The same cables with balanced tables that cannot deadlock (up*/down*).
    ///
    /// # Errors
    /// More destinations than LIDs.
    pub fn rerouted(&self) -> Result<Site, ImportError> {
        let numbered = self.numbered()?;
        let tables = reroute::propose(&numbered).tables;
        numbered.with_tables(Arc::new(tables))
    }

    /// The same network where sender i uses LID i modulo their number of every port, and not the first alone.
    ///
    /// # Errors
    /// None of its own.
    pub fn spread(&self) -> Result<Site, ImportError> {
        let name = format!("{}, all LIDs", self.spec.name);
        Site::of(&name, self.cabling.clone(), Files { all_lids: true, ..self.files.clone() })
    }

    /// The same cables with other tables.
    ///
    /// # Errors
    /// The tables are not of these switches.
    pub fn with_tables(&self, tables: Arc<Tables>) -> Result<Site, ImportError> {
        // Lanes were chosen for the other tables.
        let files = Files { tables: Some(("reroute".to_owned(), tables)), lanes: (None, None), ..self.files.clone() };
        Site::of(&format!("{}, rerouted", self.spec.name), self.cabling.clone(), files)
    }

    /// The site with a LID for every port: its own where the files state them.
    pub(crate) fn numbered(&self) -> Result<Site, ImportError> {
        let mut cabling = self.cabling.clone();
        if !self.states_lids() {
            let most = usize::from(crate::tables::MAX_LID as u16);
            if cabling.devices.len() > most {
                let what = format!("{} devices: tables hold {most} LIDs", cabling.devices.len());
                return Err(ImportError { place: self.files.cables.clone(), what });
            }
            cabling.devices.iter_mut().zip(1..).for_each(|(device, lid)| device.lid = lid);
        }
        // Switches are known by GUID in tables.
        for (place, device) in cabling.devices.iter_mut().enumerate() {
            if device.kind == DeviceKind::Switch && device.guid == 0 {
                device.guid = 1 + place as u64;
            }
        }
        Site::of(&self.spec.name, cabling, Files { tables: None, ..self.files.clone() })
    }

    /// Whether every host and every switch of the network has a LID and every switch a GUID.
    pub fn states_lids(&self) -> bool {
        self.devices
            .iter()
            .map(|&place| &self.cabling.devices[place as usize])
            .all(|device| device.lid != 0 && (device.kind != DeviceKind::Switch || device.guid != 0))
    }

    fn keeping(&self, name: &str, stays: impl Fn(usize) -> bool, files: Files) -> Result<Site, ImportError> {
        let cables = self.cabling.cables.iter().enumerate();
        let cables = cables.filter(|(place, _)| stays(*place)).map(|(_, cable)| *cable).collect();
        Site::of(name, Cabling { devices: self.cabling.devices.clone(), cables }, files)
    }

    /// Name of each vertex.
    pub fn names(&self) -> &[String] {
        match &self.shape {
            Shape::Cabled(cabled) => &cabled.names,
            _ => &[],
        }
    }

    /// The vertices of hosts by their names: whole, the first word, or that without its domain. A host with several ports
    /// has several.
    ///
    /// # Errors
    /// A host that is not there.
    pub fn named(&self, hosts: &[String]) -> Result<Vec<Vertex>, ImportError> {
        let mut of: BTreeMap<&str, Vec<Vertex>> = BTreeMap::new();
        for (vertex, name) in self.names().iter().take(self.nodes() as usize).enumerate() {
            let first = name.split_whitespace().next().unwrap_or_default();
            let bare = first.split('.').next().unwrap_or_default();
            for spelling in BTreeSet::from([name.as_str(), first, bare]) {
                of.entry(spelling).or_default().push(Vertex(vertex as u32));
            }
        }
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        for host in hosts {
            let bare = host.split('.').next().unwrap_or_default();
            let Some(vertices) = of.get(host.as_str()).or_else(|| of.get(bare)) else {
                let like = nearest(host, of.keys().copied()).or_else(|| of.keys().next().copied());
                let like = like.map_or_else(String::new, |like| format!("; there is '{like}'"));
                let what = format!("no host of this network has this name{like} ({} hosts)", self.nodes());
                return Err(ImportError { place: format!("host '{host}'"), what });
            };
            if !seen.insert(vertices[0]) {
                return Err(ImportError { place: format!("host '{host}'"), what: "is named twice".to_owned() });
            }
            found.extend_from_slice(vertices);
        }
        Ok(found)
    }

    /// Places of the cables that go with a part, and the part's name (several of random ones).
    fn cables_of(&self, part: &str) -> Result<(Vec<usize>, Vec<String>), ImportError> {
        let wrong = |what: String| Err(ImportError { place: format!("fail:{part}"), what });
        if let Some(drawn) = part.strip_prefix("random:") {
            return self.random(drawn).or_else(wrong);
        }
        if let Some(vertex) = self.names().iter().position(|name| name == part) {
            let device = self.devices[vertex];
            let cables = self.cabling.cables.iter().enumerate();
            let its = cables.filter(|(_, cable)| cable.ends.iter().any(|end| end.device == device));
            return Ok((its.map(|(place, _)| place).collect(), vec![part.to_owned()]));
        }
        let ends: Vec<&str> = [" -> ", " - "]
            .into_iter()
            .find_map(|arrow| part.split_once(arrow))
            .map_or_else(|| vec![part], |(a, b)| vec![a, b]);
        let vertices: HashMap<&str, usize> =
            self.names().iter().enumerate().map(|(v, name)| (name.as_str(), v)).collect();
        // Devices of one description have their GUID or LID behind it.
        let alike = |name: &str| {
            let is_one = |own: &&String| own.strip_prefix(name).is_some_and(|rest| rest.starts_with(" ("));
            self.names().iter().filter(is_one).map(|own| format!("'{own}'")).collect::<Vec<_>>()
        };
        let mut cables = Vec::new();
        for end in &ends {
            let bare = end.trim().rsplit_once(" port ").map_or(end.trim(), |(name, _)| name.trim());
            if let several @ [_, _, ..] = &alike(bare)[..] {
                let shown = several.iter().take(ALIKE_SHOWN).cloned().collect::<Vec<_>>().join(", ");
                let more = if several.len() > ALIKE_SHOWN { ", ..." } else { "" };
                return wrong(format!("'{bare}' is the name of {}: say which: {shown}{more}", several.len()));
            }
            let Some((name, port)) = end.trim().rsplit_once(" port ") else {
                let like =
                    nearest(part, vertices.keys().copied()).map_or_else(String::new, |like| format!(" ('{like}'?)"));
                return wrong(format!(
                    "is no switch or host of this network{like}; must be a name, 'NAME port P', \
                     'NAME port P -> NAME port P' or random:K"
                ));
            };
            let (Some(&vertex), Ok(port)) = (vertices.get(name.trim()), port.trim().parse::<u8>()) else {
                let like = nearest(name, vertices.keys().copied())
                    .map_or_else(String::new, |like| format!("; there is '{like}'"));
                return wrong(format!("'{end}' is no port of this network{like}"));
            };
            let wanted = End { device: self.devices[vertex], port };
            let Some(cable) = self.cabling.cables.iter().position(|cable| cable.ends.contains(&wanted)) else {
                return wrong(format!("port {port} of '{name}' has no cable"));
            };
            cables.push(cable);
        }
        match cables[..] {
            [first, second] if first != second => wrong("the two ends are those of different cables".to_owned()),
            _ => Ok((cables, vec![part.to_owned()])),
        }
    }

    /// `K` or `K:SEED` cables between switches.
    fn random(&self, drawn: &str) -> Result<(Vec<usize>, Vec<String>), String> {
        let (count, seed) = drawn.split_once(':').unwrap_or((drawn, "1"));
        let is_switch = |end: &End| self.cabling.devices[end.device as usize].kind == DeviceKind::Switch;
        let cables = self.cabling.cables.iter().enumerate();
        let mut between: Vec<usize> =
            cables.filter(|(_, cable)| cable.ends.iter().all(is_switch)).map(|(place, _)| place).collect();
        let (count, seed) = match (count.parse::<usize>(), seed.parse::<u64>()) {
            (Ok(count), Ok(seed)) if (1..=between.len()).contains(&count) => (count, seed),
            _ => {
                return Err(format!(
                    "must be random:K or random:K:SEED, K from 1 to {} (cables between switches)",
                    between.len()
                ));
            }
        };
        SplitMix64::new(seed).shuffle(&mut between);
        between.truncate(count);
        between.sort_unstable();
        let name = |&place: &usize| {
            let [a, b] = self.cabling.cables[place].ends.map(|end| self.end_name(end));
            format!("{a} - {b}")
        };
        let names = between.iter().map(name).collect();
        Ok((between, names))
    }

    fn end_name(&self, end: End) -> String {
        let vertex = self.devices.iter().position(|&device| device == end.device);
        let name = vertex.map_or("", |vertex| self.names()[vertex].as_str());
        format!("{name} port {}", end.port)
    }
}
