//! `ibnetdiscover -p`: a line for each port, such as
//! `CA 17 1 0x0000000000100017 4x SDR - SW 4 4 0x0000000000200002 ( 'host2-3' - 'leaf2' )`. The numbers are LID and port;
//! a port without cable ends after its speed and the device's name.

use super::cabling::{Cabling, Collector, DeviceKind, End, Named, Port};
use super::lines::{Lines, hex};
use super::rates::Link;
use hotlink_fabric::import::ImportError;
use std::io::BufRead;

pub(super) fn read<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Cabling, ImportError> {
    let mut found = Collector::default();
    while lines.advance()? {
        let text = lines.text();
        let line = text.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("ibwarn:") {
            continue;
        }
        let Some(port) = port(line) else {
            return lines.wrong(format!(
                "'{}' is no port: must be CA|SW LID PORT 0xGUID 4x HDR - CA|SW LID PORT 0xGUID ( 'NAME' - 'NAME' )",
                lines.shown()
            ));
        };
        let near = found.device(lines, &port.near, true)?;
        if let Some(far) = port.far {
            let ends = [
                End { device: near, port: port.near.port },
                End { device: found.device(lines, &far, false)?, port: far.port },
            ];
            found.cable(lines, ends, port.link)?;
        }
    }
    found.finish(lines, true)
}

fn port(line: &str) -> Option<Port<'_>> {
    let mut words = line.split_whitespace();
    let near = named(&mut words)?;
    let (width, speed) = (words.next()?, words.next()?);
    if words.next() != Some("-") {
        return Some(Port { near, far: None, link: None });
    }
    let far = named(&mut words)?;
    let (_, names) = line.split_once("( '")?;
    let (near_name, far_name) = names.strip_suffix("' )")?.split_once("' - '")?;
    let near = Named { name: Some(near_name), ..near };
    Some(Port { near, far: Some(Named { name: Some(far_name), ..far }), link: Link::of(width, speed) })
}

/// Kind, LID, port and GUID. A port of an adapter has a GUID of its own.
fn named<'t>(words: &mut std::str::SplitWhitespace<'t>) -> Option<Named<'t>> {
    let kind = match words.next()? {
        "SW" => DeviceKind::Switch,
        "CA" => DeviceKind::Adapter,
        "RT" => DeviceKind::Router,
        _ => return None,
    };
    let (lid, port) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let guid = hex(words.next()?.strip_prefix("0x")?)?;
    Some(Named { kind, key: guid, port, guid: Some(guid), lid: Some(lid), lmc: 0, name: None })
}
