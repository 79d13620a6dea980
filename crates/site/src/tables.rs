//! Forwarding tables: of each switch the port by destination LID, a byte each, as switches have them.

use super::lines::{Lines, hex};
use hotlink_fabric::import::ImportError;
use std::collections::HashMap;
use std::io::BufRead;

/// One switch's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// GUID of the switch.
    pub guid: u64,
    /// Port by LID; [`Table::NONE`] where the table has none. LIDs past the end have none.
    pub ports: Vec<u8>,
}

impl Table {
    /// No port.
    pub const NONE: u8 = u8::MAX;

    /// The port for a LID.
    pub fn port(&self, lid: u16) -> Option<u8> {
        self.ports.get(usize::from(lid)).copied().filter(|&port| port != Table::NONE)
    }
}

/// All switches' tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// In order of the file.
    pub switches: Vec<Table>,
    /// Destinations whose GUID the first table names: they reveal tables and cables of different days.
    pub named: Vec<(u16, u64)>,
}

/// The largest LID of a unicast destination.
pub(super) const MAX_LID: u64 = 0xbfff;
/// Ports with a number of their own.
const MAX_PORT: u64 = 254;

/// Collects tables while a file is read.
#[derive(Default)]
struct Collector {
    found: Tables,
    /// By GUID, the line of the switch's heading. For look-ups only.
    headings: HashMap<u64, u64>,
}

impl Collector {
    fn begin<R: BufRead>(&mut self, lines: &Lines<'_, R>, guid: u64) -> Result<(), ImportError> {
        if let Some(first) = self.headings.insert(guid, lines.number()) {
            return lines.wrong(format!("a second table of switch {guid:#018x}, which has one from line {first}"));
        }
        // Tables are about as long as each other.
        let length = self.found.switches.last().map_or(0, |table| table.ports.len());
        self.found.switches.push(Table { guid, ports: Vec::with_capacity(length) });
        Ok(())
    }

    fn entry<R: BufRead>(&mut self, lines: &Lines<'_, R>, lid: u64, port: u8) -> Result<(), ImportError> {
        let Some(table) = self.found.switches.last_mut() else {
            return lines.wrong("an entry before any switch");
        };
        let place = lid as usize;
        if place >= table.ports.len() {
            table.ports.resize(place + 1, Table::NONE);
        } else if table.ports[place] != Table::NONE {
            return lines.wrong(format!("a second entry for LID {lid:#x} ({lid})"));
        }
        table.ports[place] = port;
        Ok(())
    }

    fn finish<R: BufRead>(self, lines: &Lines<'_, R>) -> Result<Tables, ImportError> {
        if self.found.switches.iter().all(|table| table.ports.is_empty()) {
            return lines.wrong_file("has no entry of a forwarding table");
        }
        Ok(self.found)
    }
}

/// `dump_fts`, `dump_lfts.sh`, `ibroute`, `opensm-lfts.dump`: a heading with the switch's GUID, entries `0x0002 001
/// ...` (LID in hexadecimal, port in decimal), and the number of entries. That number reveals a file that was cut
/// short. OpenSM's number counts entries without a route, which it leaves out.
pub(super) fn read_lfts<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Tables, ImportError> {
    let mut found = Collector::default();
    // Entries since the last heading, until their number has been checked.
    let mut open: Option<u64> = None;
    while lines.advance()? {
        match lines.bytes() {
            [b'0', b'x', rest @ ..] => {
                let Some((lid, port, rest)) = entry(rest) else {
                    return lines.wrong(format!(
                        "'{}' is no entry: must be 0xLID PORT, LIDs to {MAX_LID:#x}, ports to 255",
                        lines.shown()
                    ));
                };
                let named = if found.found.switches.len() == 1 { port_guid(rest) } else { None };
                found.found.named.extend(named.map(|guid| (lid as u16, guid)));
                found.entry(lines, lid, port)?;
                open = open.map(|entries| entries + 1);
            }
            [] | [b' ' | b'\t', ..] => {}
            [b'U', ..] => {
                if open.is_some_and(|entries| entries > 0) {
                    return lines.wrong("a table begins and the one before it has no end ('... lids dumped')");
                }
                let Some(guid) = heading(&lines.text()) else {
                    return lines.wrong(format!(
                        "'{}' is no heading: must be Unicast lids [...] of switch ... guid 0xGUID (NAME):",
                        lines.shown()
                    ));
                };
                found.begin(lines, guid)?;
                open = Some(0);
            }
            line if line.starts_with(b"***") || line.starts_with(b"ibwarn:") || line.starts_with(b"#") => {}
            line if line.trim_ascii_end().ends_with(b"lids dumped") => {
                let text = lines.text();
                let stated = text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
                // OpenSM counts the LIDs that it leaves out (without a route) too.
                let is_exact = text.contains("valid");
                let fits = stated.zip(open).is_some_and(
                    |(stated, found)| {
                        if is_exact { found == stated } else { found <= stated }
                    },
                );
                if !fits {
                    let what = format!("'{}' after {} entries: lines are missing", lines.shown(), open.unwrap_or(0));
                    return lines.wrong(what);
                }
                open = None;
            }
            _ => return lines.wrong(format!("'{}' is no line of a forwarding table", lines.shown())),
        }
    }
    if open.is_some() {
        return lines.wrong("the last table has no end ('... lids dumped'): the file is cut short");
    }
    found.finish(lines)
}

/// `opensm.fdbs`, `ibdiagnet2.fdbs`: a heading `...ucast_routes: Switch 0xGUID`, a row of titles, and entries
/// `0x0002 : 001  : 01   : yes` (LID in hexadecimal, port in decimal), or `UNREACHABLE` in place of the port.
pub(super) fn read_fdbs<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Tables, ImportError> {
    let mut found = Collector::default();
    while lines.advance()? {
        match lines.bytes() {
            [b'0', b'x', rest @ ..] => {
                let Some((lid, port, _)) = entry(rest).or_else(|| unreachable_entry(rest)) else {
                    return lines.wrong(format!(
                        "'{}' is no entry: must be 0xLID : PORT : HOPS : yes|no, or 0xLID : UNREACHABLE",
                        lines.shown()
                    ));
                };
                found.entry(lines, lid, port)?;
            }
            [] | [b'#', ..] => {}
            line if line.starts_with(b"LID") => {}
            _ => {
                let text = lines.text();
                let guid = text.split_once("ucast_routes: Switch ").and_then(|(_, guid)| hex(guid.trim()));
                let Some(guid) = guid else {
                    return lines.wrong(format!("'{}' is no line of opensm.fdbs", lines.shown()));
                };
                found.begin(lines, guid)?;
            }
        }
    }
    found.finish(lines)
}

/// The GUID in `Unicast lids [0-6] of switch Lid 1 guid 0x0000000000200000 ('Switch1'):`. A description may hold the
/// same words, but comes later.
fn heading(text: &str) -> Option<u64> {
    let (_, rest) = text.strip_prefix("Unicast lids [")?.split_once(" guid 0x")?;
    hex(rest.split([' ', '(']).next()?)
}

/// LID and port, by spaces or colons apart, after `0x`; and what follows.
fn entry(rest: &[u8]) -> Option<(u64, u8, &[u8])> {
    let (lid, rest) = lid(rest)?;
    let start = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b':'))?;
    let (mut port, mut digits) = (0u64, 0);
    for byte in &rest[start..] {
        match byte {
            b'0'..=b'9' if digits < 3 => port = port * 10 + u64::from(byte - b'0'),
            b' ' | b'\t' | b':' => break,
            _ => return None,
        }
        digits += 1;
    }
    // Port 255 is how switches say that they drop what goes there.
    let known = if port <= MAX_PORT { port as u8 } else { Table::NONE };
    (digits > 0 && port <= 255).then_some((lid, known, &rest[start + digits..]))
}

fn lid(rest: &[u8]) -> Option<(u64, &[u8])> {
    let mut lid = 0u64;
    let mut digits = 0;
    for byte in rest {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => break,
        };
        (lid, digits) = (lid * 16 + u64::from(digit), digits + 1);
        if lid > MAX_LID {
            return None;
        }
    }
    (digits > 0).then_some((lid, &rest[digits..]))
}

fn unreachable_entry(rest: &[u8]) -> Option<(u64, u8, &[u8])> {
    let (lid, rest) = lid(rest)?;
    let rest = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    rest.starts_with(b"UNREACHABLE").then_some((lid, Table::NONE, rest))
}

/// The GUID in `(Channel Adapter portguid 0x0000000000100001: 'host')`.
fn port_guid(rest: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(rest).ok()?;
    let (_, guid) = text.split_once("portguid ")?;
    hex(guid.split(':').next()?)
}
