//! Tables of links. Columns are known by their heads, in any order; the first row is the heads'. A comma, semicolon or tab
//! separates.
//!
//! A device is a host where a column of kinds says so (`server`, `host`, `compute`, ...), or where one of its ports has
//! the name of an adapter's (`eth0`, `ens1f0`, `ib0`, `mlx5_0`, `HCA-1`); else where it has one link.

use super::{Outline, rate_mbps, wrong};
use hotlink_fabric::import::ImportError;
use std::collections::BTreeMap;

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
            "has no columns of the two devices: allowed are StartDevice and EndDevice, side_a_device and side_b_device, Source and Destination",
        );
    };
    let (ports, kinds, rate) = (PORTS.map(column), KINDS.map(column), column(RATES));
    let (mut names, mut hosts): (Vec<String>, BTreeMap<String, bool>) = (Vec::new(), BTreeMap::new());
    let mut used: BTreeMap<(String, String), usize> = BTreeMap::new();
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
                        format!("'{told}' is no rate: allowed are Mbit/s as a number, 400G, 50GB/s"),
                    );
                }
            },
        };
        for side in [0, 1] {
            let (name, port, kind) = (ends[side].to_owned(), at(ports[side]), at(kinds[side]).to_ascii_lowercase());
            if !port.is_empty()
                && let Some(first) = used.insert((name.clone(), port.to_owned()), number)
            {
                return wrong(file, number, format!("port {port} of '{name}' has another link on line {first}"));
            }
            let is_host = match kind.as_str() {
                "" if is_adapter(port) => Some(true),
                "" => None,
                kind => Some(HOSTS.iter().any(|host| kind.contains(host))),
            };
            if !names.contains(&name) {
                names.push(name.clone());
            }
            if let Some(is_host) = is_host {
                hosts.insert(name, is_host);
            }
        }
        outline.link(ends, rate, number);
    }
    outline.sort_devices(&names, |name| hosts.get(name).copied());
    if outline.nodes.is_empty() {
        return wrong(
            file,
            0,
            "does not tell hosts from switches: no device has one link; add columns `from type` and `to type` (server, switch)",
        );
    }
    Ok(outline)
}
