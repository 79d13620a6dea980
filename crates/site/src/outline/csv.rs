//! Tables of links. Columns are known by their heads, in any order; the first row is the heads'. A comma, semicolon or tab
//! separates.
//!
//! A device is a host where a column of kinds says so, such as `server`, `host` or `compute`. It is one also where one
//! of its ports has an adapter's name (`eth0`, `ens1f0`, `ib0`, `mlx5_0`, `HCA-1`), else where it has one link. In a
//! table that names adapters' ports, a device with one link whose port is named like a switch's is a switch. It lost
//! its other cables. A cable may be listed from both ends.

use super::{Outline, rate_mbps, wrong};
use hotlink_fabric::import::ImportError;
use std::collections::{BTreeMap, BTreeSet};

/// Heads of the first device, the second, their ports, their kinds, the rate; letters and digits only.
const DEVICES: [&[&str]; 2] = [
    &[
        "startdevice",
        "sideadevice",
        "devicea",
        "terminationadevice",
        "source",
        "sourcedevice",
        "srcdevice",
        "sourcehostname",
        "from",
        "fromdevice",
        "node1",
        "device1",
        "adevice",
        "peer1",
    ],
    &[
        "enddevice",
        "sidebdevice",
        "deviceb",
        "terminationbdevice",
        "destination",
        "destinationdevice",
        "dstdevice",
        "destinationhostname",
        "target",
        "to",
        "todevice",
        "node2",
        "device2",
        "bdevice",
        "peer2",
    ],
];
const PORTS: [&[&str]; 2] = [
    &["startport", "sideaname", "porta", "terminationa", "sourceport", "srcport", "fromport", "port1", "aport"],
    &[
        "endport",
        "sidebname",
        "portb",
        "terminationb",
        "destinationport",
        "dstport",
        "targetport",
        "toport",
        "port2",
        "bport",
    ],
];
const KINDS: [&[&str]; 2] = [
    &["starttype", "rolea", "typea", "sourcetype", "fromtype", "sidearole"],
    &["endtype", "roleb", "typeb", "destinationtype", "targettype", "totype", "sidebrole"],
];
const RATES: &[&str] = &["bandwidth", "speed", "rate", "linkspeed", "bandwidthmbps", "speedmbps"];
const HOSTS: [&str; 8] = ["server", "host", "compute", "node", "gpu", "hca", "storage", "nic"];

fn plain(head: &str) -> String {
    head.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

fn separator(line: &str) -> char {
    *[',', ';', '\t'].iter().max_by_key(|&&c| (line.matches(c).count(), c == ',')).unwrap_or(&',')
}

/// Whether a line is the heads of a table of links.
pub(super) fn is_head(line: &str) -> bool {
    let heads: Vec<String> = fields(line, separator(line)).iter().map(|head| plain(head)).collect();
    DEVICES.iter().all(|names| heads.iter().any(|head| names.contains(&head.as_str())))
}

/// The fields of a line; those in quotes may hold the separator.
fn fields(line: &str, separator: char) -> Vec<String> {
    let (mut all, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            c if c == separator && !is_quoted => all.push(std::mem::take(&mut field).trim().to_owned()),
            c => field.push(c),
        }
    }
    all.push(field.trim().to_owned());
    all
}

/// Whether a port's name is an adapter's.
fn is_adapter(port: &str) -> bool {
    let port = port.to_ascii_lowercase();
    let digit_after =
        |word: &str| port.strip_prefix(word).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    ["eth", "ens", "enp", "eno", "ib", "ibs", "ibp", "mlx5_", "hca-", "hca", "nic", "bond"]
        .iter()
        .any(|word| digit_after(word))
}

/// A port's name up to its number, by which those of one make of switch are alike.
fn stem(port: &str) -> String {
    port.chars().take_while(|c| !c.is_ascii_digit()).collect::<String>().to_ascii_lowercase()
}

/// A device and its port, which may be unnamed.
type Port = (String, String);

/// Marks that distinguish hosts from switches.
#[derive(Default)]
struct Devices {
    names: Vec<String>,
    /// From a column of kinds, or an adapter's port.
    stated: BTreeMap<String, bool>,
    /// Whether a port of any device is an adapter's.
    has_adapters: bool,
    /// Stems of the ports of each device's links, one for a link.
    stems: BTreeMap<String, Vec<String>>,
}

impl Devices {
    fn add(&mut self, (name, port): &Port, kind: &str) {
        let is_host = match kind {
            "" if is_adapter(port) => Some(true),
            "" => None,
            kind => Some(HOSTS.iter().any(|host| kind.contains(host))),
        };
        self.has_adapters |= kind.is_empty() && is_host.is_some();
        if !self.stems.contains_key(name) {
            self.names.push(name.clone());
        }
        self.stems.entry(name.clone()).or_default().push(stem(port));
        if let Some(is_host) = is_host {
            self.stated.insert(name.clone(), is_host);
        }
    }

    /// Which of the devices with one link are switches: their ports are called as those of switches with several.
    ///
    /// # Errors
    /// The first device with one link that may be either.
    fn settle(&mut self) -> Result<(), String> {
        if !self.has_adapters {
            return Ok(());
        }
        let own = |name: &String| self.stems[name].iter().map(String::as_str);
        let is_switch = |name: &&String| match self.stated.get(*name) {
            Some(is_host) => !is_host,
            None => own(name).count() > 1,
        };
        let of_switches: BTreeSet<&str> = self.names.iter().filter(is_switch).flat_map(own).collect();
        let open = |name: &&String| !self.stated.contains_key(*name) && own(name).count() == 1;
        let (found, unlike): (Vec<&String>, Vec<&String>) =
            self.names.iter().filter(open).partition(|name| own(name).all(|stem| of_switches.contains(stem)));
        if let Some(name) = unlike.first() {
            return Err(format!(
                "'{name}' has one link, by a port called neither as an adapter's nor as a switch's: is it a host? Add \
                 columns `from type` and `to type` (server, switch)"
            ));
        }
        let found: Vec<String> = found.into_iter().cloned().collect();
        self.stated.extend(found.into_iter().map(|name| (name, false)));
        Ok(())
    }
}

pub(super) fn read(file: &str, text: &str) -> Result<Outline, ImportError> {
    let mut outline = Outline::default();
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let Some((_, heads)) = lines.find(|(_, line)| is_content(line)) else { return wrong(file, 0, "is empty") };
    let cut = separator(heads);
    let heads: Vec<String> = fields(heads, cut).iter().map(|head| plain(head)).collect();
    let column = |names: &[&str]| heads.iter().position(|head| names.contains(&head.as_str()));
    let [Some(a), Some(b)] = DEVICES.map(column) else {
        return wrong(
            file,
            1,
            "has no columns of the two devices: must be StartDevice and EndDevice, side_a_device and side_b_device, or Source and Destination",
        );
    };
    let (ports, kinds, rate) = (PORTS.map(column), KINDS.map(column), column(RATES));
    let mut devices = Devices::default();
    // Cables by the ports at their ends, with line and rate.
    let mut used: BTreeMap<Port, ([Port; 2], usize, Option<f64>)> = BTreeMap::new();
    for (index, line) in lines.filter(|(_, line)| is_content(line)) {
        let number = index + 1;
        let row = fields(line, cut);
        let at = |column: Option<usize>| column.and_then(|column| row.get(column)).map_or("", String::as_str);
        let ends = [at(Some(a)), at(Some(b))];
        if ends.contains(&"") {
            return wrong(file, number, "has no device at one end: a link has two");
        }
        if ends[0] == ends[1] {
            return wrong(file, number, format!("'{}' is linked to itself", ends[0]));
        }
        let told = at(rate);
        let rate = match told {
            "" => None,
            told => match rate_mbps(told, true) {
                Some(rate) => Some(rate),
                None => {
                    return wrong(
                        file,
                        number,
                        format!("'{told}' is no rate: write Mbit/s as a number, 400G or 50GB/s"),
                    );
                }
            },
        };
        let named = [0, 1].map(|side| (ends[side].to_owned(), at(ports[side]).to_owned()));
        let is_named = |(_, port): &&Port| !port.is_empty();
        if let Some((port, (other, first, known))) =
            named.iter().filter(is_named).find_map(|port| Some((port, used.get(port)?)))
        {
            let is_same = named.iter().all(|port| other.contains(port));
            let differs = rate.is_some() && known.is_some() && rate != *known;
            match (is_same, differs) {
                (true, false) => continue,
                (true, true) => {
                    return wrong(file, number, format!("the cable of line {first} has another rate there"));
                }
                (false, _) => {
                    let what = format!("port {} of '{}' has another link on line {first}", port.1, port.0);
                    return wrong(file, number, what);
                }
            }
        }
        for (port, kind) in named.iter().zip(kinds) {
            devices.add(port, &at(kind).to_ascii_lowercase());
        }
        let cable = (named.clone(), number, rate);
        used.extend(named.iter().filter(is_named).map(|port| (port.clone(), cable.clone())));
        outline.link(ends, rate, number);
    }
    if let Err(what) = devices.settle() {
        return wrong(file, 0, what);
    }
    outline.sort_devices(&devices.names, |name| devices.stated.get(name).copied());
    if outline.nodes.is_empty() {
        return wrong(
            file,
            0,
            "does not tell hosts from switches: no device has one link; add columns `from type` and `to type` (server, switch)",
        );
    }
    Ok(outline)
}
