//! `ibnetdiscover`: a record for each device, with a line for each port that has a cable.
//!
//! A record needs no blank line before it: `Switch`, `Ca` or `Rt` begins it. With `-g` ports may also say their outer
//! number (`[ext 5]`), with `-f` lines end in further fields.

use super::cabling::{Cabling, Collector, DeviceKind, End, Named};
use super::lines::{Lines, between, hex};
use super::rates::Link;
use hotlink_fabric::import::ImportError;
use std::io::BufRead;

/// Beginnings of lines that say nothing about cables.
const IDLE: &[&str] = &[
    "#",
    "vendid=",
    "devid=",
    "sysimgguid=",
    "switchguid=",
    "caguid=",
    "rtguid=",
    "Chassis ",
    "Non-Chassis",
    "ibwarn:",
];

/// InfiniBand's greatest LMC: 128 LIDs of a port.
const MOST_LMC: u16 = 7;

pub(super) fn read<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Cabling, ImportError> {
    let mut found = Collector::default();
    let mut own: Option<Header> = None;
    while lines.advance()? {
        let text = lines.text();
        let line = text.trim();
        if line.is_empty() || IDLE.iter().any(|start| line.starts_with(start)) {
            continue;
        }
        if line.starts_with('[') {
            let Some(own) = &own else {
                return lines.wrong("a port before any device: a line that begins with Switch, Ca or Rt is missing");
            };
            let Some(port) = Port::of(line) else {
                return lines.wrong(format!(
                    "'{}' is no port: must be [PORT] \"S-GUID\"[PORT] # \"NAME\" lid N 4xHDR",
                    lines.shown()
                ));
            };
            port.collect(lines, own, &mut found)?;
        } else {
            let Some(header) = Header::of(line) else {
                return lines.wrong(format!("'{}' is no line of ibnetdiscover's", lines.shown()));
            };
            if header.kind == DeviceKind::Switch {
                found.device(lines, &header.named(0), true)?;
            }
            own = Some(header);
        }
    }
    found.finish(lines, true)
}

/// The device that the ports below it belong to.
struct Header {
    kind: DeviceKind,
    guid: u64,
    name: String,
    lid: Option<u16>,
}

impl Header {
    /// Such as `Switch 8 "S-0000000000200002" # "leaf2" base port 0 lid 4 lmc 0`.
    fn of(line: &str) -> Option<Header> {
        let (word, rest) = line.split_once([' ', '\t'])?;
        let kind = match word {
            "Switch" => DeviceKind::Switch,
            "Ca" => DeviceKind::Adapter,
            "Rt" => DeviceKind::Router,
            _ => return None,
        };
        let (_, guid, rest) =
            identity(rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start())?;
        let (name, after) = quoted(rest);
        Some(Header { kind, guid, name: name.to_owned(), lid: number_after(after, "lid") })
    }

    fn named(&self, port: u8) -> Named<'_> {
        let is_switch = self.kind == DeviceKind::Switch;
        let guid = is_switch.then_some(self.guid);
        let lid = self.lid.filter(|_| is_switch);
        Named { kind: self.kind, key: self.guid, port, guid, lid, lmc: 0, name: Some(&self.name) }
    }
}

/// A port and the other end of its cable.
struct Port<'t> {
    number: u8,
    guid: Option<u64>,
    own_lid: Option<u16>,
    own_lmc: u8,
    kind: DeviceKind,
    far: u64,
    far_port: u8,
    far_guid: Option<u64>,
    far_name: &'t str,
    far_lid: Option<u16>,
    link: Option<Link>,
}

impl<'t> Port<'t> {
    /// Such as `[1](10000a) "S-0000000000200001"[2] # lid 6 lmc 0 "Switch2" lid 3 4xSDR`.
    fn of(line: &'t str) -> Option<Port<'t>> {
        let (number, guid, rest) = numbered(line)?;
        let (kind, far, rest) = identity(rest)?;
        let (far_port, far_guid, rest) = numbered(rest)?;
        let comment = rest.split_once('#').map_or("", |(_, comment)| comment);
        let before = comment.split('"').next().unwrap_or_default();
        let (far_name, after) = quoted(comment);
        let link = after.split_whitespace().find_map(Link::joined);
        let (own_lid, far_lid) = (number_after(before, "lid"), number_after(after, "lid"));
        let own_lmc = number_after(before, "lmc").filter(|&lmc| lmc <= MOST_LMC).unwrap_or(0) as u8;
        Some(Port { number, guid, own_lid, own_lmc, kind, far, far_port, far_guid, far_name, far_lid, link })
    }

    fn collect<R: BufRead>(
        &self,
        lines: &Lines<'_, R>,
        own: &Header,
        found: &mut Collector,
    ) -> Result<(), ImportError> {
        let mut near = own.named(self.number);
        if own.kind != DeviceKind::Switch {
            (near.guid, near.lid, near.lmc) = (self.guid, self.own_lid, self.own_lmc);
        }
        let far_is_switch = self.kind == DeviceKind::Switch;
        let far = Named {
            kind: self.kind,
            key: self.far,
            port: self.far_port,
            guid: if far_is_switch { Some(self.far) } else { self.far_guid },
            lid: self.far_lid,
            lmc: 0,
            name: Some(self.far_name),
        };
        let near = End { device: found.device(lines, &near, true)?, port: self.number };
        let far = End { device: found.device(lines, &far, false)?, port: self.far_port };
        found.cable(lines, [near, far], self.link)
    }
}

/// `[5][ext 2](10000a) rest`: number, GUID of the port, rest.
fn numbered(text: &str) -> Option<(u8, Option<u64>, &str)> {
    let (number, mut rest) = between(text, '[', ']')?;
    if let Some((_, after)) = rest.strip_prefix("[ext").and_then(|rest| rest.split_once(']')) {
        rest = after;
    }
    let (guid, rest) = match between(rest, '(', ')') {
        Some((guid, rest)) => (Some(hex(guid)?), rest),
        None => (None, rest),
    };
    let number = number.trim().parse().ok().filter(|number| (1..=254).contains(number))?;
    Some((number, guid, rest.trim_start()))
}

/// `"S-0000000000200002" rest`: kind, GUID, rest.
fn identity(text: &str) -> Option<(DeviceKind, u64, &str)> {
    let (id, rest) = between(text, '"', '"')?;
    let (letter, guid) = id.split_once('-')?;
    let kind = match letter {
        "S" => DeviceKind::Switch,
        "H" => DeviceKind::Adapter,
        "R" => DeviceKind::Router,
        _ => return None,
    };
    Some((kind, hex(guid)?, rest))
}

/// The text between the first and the last quote, and what follows. A description may hold quotes itself.
fn quoted(text: &str) -> (&str, &str) {
    match (text.find('"'), text.rfind('"')) {
        (Some(first), Some(last)) if first < last => (&text[first + 1..last], &text[last + 1..]),
        _ => ("", text),
    }
}

/// The number after a word.
fn number_after(text: &str, word: &str) -> Option<u16> {
    let mut words = text.split_whitespace().skip_while(|own| *own != word);
    words.nth(1)?.parse().ok()
}
