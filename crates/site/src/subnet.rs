//! `opensm-subnet.lst`, `ibdiagnet2.lst`: a line for each direction of a cable, such as
//! `{ CA Ports:02 ... NodeGUID:... PortGUID:... {host} LID:0002 PN:01 } { SW ... } PHY=4x LOG=ACT SPD=2.5`. Numbers are
//! hexadecimal, LIDs and ports too.

use super::cabling::{Cabling, Collector, DeviceKind, End, Named};
use super::lines::{Lines, hex};
use super::rates::Link;
use hotlink_fabric::import::ImportError;
use std::io::BufRead;

pub(super) fn read<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Cabling, ImportError> {
    let mut found = Collector::default();
    while lines.advance()? {
        let text = lines.text();
        let line = text.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((near, far, link)) = cable(line) else {
            return lines.wrong(format!(
                "'{}' is no cable: must be {{ CA ... }} {{ SW ... }} PHY=4x LOG=ACT SPD=50",
                lines.shown()
            ));
        };
        let near = End { device: found.device(lines, &near, true)?, port: near.port };
        let far = End { device: found.device(lines, &far, false)?, port: far.port };
        found.cable(lines, [near, far], link)?;
    }
    found.finish(lines, true)
}

fn cable(line: &str) -> Option<(Named<'_>, Named<'_>, Option<Link>)> {
    let (near, rest) = device(line)?;
    let (far, rest) = device(rest)?;
    let field = |key: &str| rest.split_whitespace().find_map(|word| word.strip_prefix(key)).unwrap_or_default();
    Some((near, far, Link::of(field("PHY="), field("SPD="))))
}

fn device(text: &str) -> Option<(Named<'_>, &str)> {
    let rest = text.trim_start().strip_prefix("{ ")?;
    // A description may hold braces: the device ends where its LID follows one.
    let (head, rest) = rest.split_once(" {")?;
    let (name, rest) = rest.split_once("} LID:")?;
    let (lid, rest) = rest.split_once(" PN:")?;
    let (port, rest) = rest.split_once('}')?;
    let kind = match head.get(..2)? {
        "SW" => DeviceKind::Switch,
        "CA" => DeviceKind::Adapter,
        "Rt" | "RT" => DeviceKind::Router,
        _ => return None,
    };
    let field = |key: &str| head.split_whitespace().find_map(|word| word.strip_prefix(key)).and_then(hex);
    let node = field("NodeGUID:")?;
    let guid = if kind == DeviceKind::Switch { node } else { field("PortGUID:")? };
    let lid = u16::try_from(hex(lid.trim())?).ok()?;
    let port = u8::try_from(hex(port.trim())?).ok().filter(|&port| port > 0)?;
    Some((Named { kind, key: node, port, guid: Some(guid), lid: Some(lid), lmc: 0, name: Some(name) }, rest))
}
