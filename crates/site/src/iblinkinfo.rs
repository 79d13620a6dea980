//! `iblinkinfo`: a heading for each device and a line for each port; with `-l` lines alone.
//!
//! The usual form names the far end of a cable by LID and port only, so that LIDs are the keys here (decimal). With
//! `-l` no line says whether a device is a switch. A LID with cables at two ports is a switch's, since each port of an
//! adapter has its own. The note "could be" faster does not count: it compares the rates that both ports support, and
//! 12x ports always get it.

use super::cabling::{Cabling, Collector, DeviceKind, End, Named, Port};
use super::lines::{Lines, hex};
use super::rates::Link;
use hotlink_fabric::import::ImportError;
use std::collections::BTreeSet;
use std::io::BufRead;

pub(super) fn read<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Cabling, ImportError> {
    // Cables first, with every LID taken for a switch: the kinds are known at the end.
    let mut found = Collector::default();
    let mut heading: Option<Heading> = None;
    let (mut switches, mut has_headings) = (BTreeSet::new(), false);
    while lines.advance()? {
        let text = lines.text();
        let line = text.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("ibwarn:") {
            continue;
        }
        if !line.contains("==(") {
            let Some(next) = Heading::of(line) else {
                return lines.wrong(format!("'{}' is no line of iblinkinfo's", lines.shown()));
            };
            (heading, has_headings) = (Some(next), true);
            continue;
        }
        let Some(port) = port(line) else {
            return lines.wrong(format!(
                "'{}' is no port: must be LID PORT[  ] ==( 4X 53.125 Gbps Active/ LinkUp)==> LID PORT[  ] \"NAME\"",
                lines.shown()
            ));
        };
        let mut near = port.near;
        if let Some(heading) = &heading {
            near.name = Some(&heading.name);
            near.guid = near.guid.or(heading.switch);
        }
        let place = found.device(lines, &near, true)?;
        if heading.as_ref().is_some_and(|heading| heading.switch.is_some()) {
            switches.insert(place);
        }
        let Some(far) = port.far else { continue };
        let ends =
            [End { device: place, port: near.port }, End { device: found.device(lines, &far, false)?, port: far.port }];
        found.cable(lines, ends, port.link)?;
    }
    let used = found.ports_used();
    let is_switch = |place: u32| match has_headings {
        true => switches.contains(&place),
        false => used[place as usize] > 1,
    };
    found.set_kinds(|place| if is_switch(place) { DeviceKind::Switch } else { DeviceKind::Adapter });
    found.finish(lines, false)
}

/// `Switch: 0x0000000000200002 leaf2:` or `CA: host2-3:`.
struct Heading {
    switch: Option<u64>,
    name: String,
}

impl Heading {
    fn of(line: &str) -> Option<Heading> {
        let line = line.strip_suffix(':').unwrap_or(line);
        if let Some(rest) = line.strip_prefix("Switch:") {
            let (guid, name) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
            return Some(Heading { switch: Some(hex(guid.strip_prefix("0x")?)?), name: name.trim().to_owned() });
        }
        let name = line.strip_prefix("CA:").or_else(|| line.strip_prefix("RT:"))?;
        Some(Heading { switch: None, name: name.trim().to_owned() })
    }
}

fn port(line: &str) -> Option<Port<'_>> {
    let (near, rest) = line.split_once("==(")?;
    let (state, far) = rest.split_once(")==>")?;
    let near = named(near)?;
    let mut words = state.split_whitespace();
    let link = Link::of(words.next().unwrap_or_default(), words.next().unwrap_or_default());
    // A port without cable leaves the far end empty.
    let is_empty = far.trim_start().starts_with('[');
    let far = if is_empty { None } else { Some(named(far)?) };
    Some(Port { near, far, link })
}

/// `0xGUID "NAME" LID PORT[EXT] "NAME" (remarks)`, GUID and one of the names left out as it may be.
fn named(text: &str) -> Option<Named<'_>> {
    let mut rest = text.trim();
    let mut guid = None;
    if rest.starts_with("0x") {
        let (word, after) = rest.split_once(char::is_whitespace)?;
        (guid, rest) = (Some(hex(word)?), after.trim_start());
    }
    let mut name = None;
    if let Some(after) = rest.strip_prefix('"') {
        let (own, after) = after.split_once("\" ")?;
        (name, rest) = (Some(own.trim()), after.trim_start());
    }
    let (lid, after) = rest.split_once(char::is_whitespace)?;
    let (port, after) = after.trim_start().split_once('[')?;
    let (_, after) = after.split_once(']')?;
    if let Some(after) = after.trim_start().strip_prefix('"') {
        name = Some(after.rfind("\" (").or(after.rfind('"')).map_or(after, |end| &after[..end]));
    }
    let lid = lid.parse().ok().filter(|&lid| lid > 0)?;
    let port = port.trim().parse().ok().filter(|&port| port > 0)?;
    Some(Named { kind: DeviceKind::Switch, key: u64::from(lid), port, guid, lid: Some(lid), lmc: 0, name })
}
