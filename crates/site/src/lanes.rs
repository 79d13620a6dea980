//! Virtual lanes: OpenSM's and `ibdiagnet`'s tables from service level to lane, and the service levels of paths.
//!
//! | file | made by | a line |
//! |---|---|---|
//! | `opensm-sl2vl.dump` | OpenSM | a heading `Switch 0xGUID, ...`, then `IN OUT : VL0 ... VL15` |
//! | `ibdiagnet.slvl` | `ibdiagnet -vlr` | `0xGUID IN OUT 0x01 0x23 ...`, two lanes a byte |
//! | `saquery -p` | | records with `slid`, `dlid` and `sl` |
//! | `ibdiagnet.psl` | `ibdiagnet -vlr` | `0xGUID DLID SL`, the GUID that of the source's adapter or port |

use crate::lines::{Lines, hex};
use crate::tables::MAX_LID;
use hotlink_fabric::import::ImportError;
use hotlink_fabric::routing::lanes::{LEVELS, Row};
use std::collections::HashMap;
use std::io::BufRead;

/// Lane by service level, of switches by GUID and of a packet's ports in and out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneTables {
    /// For look-ups only.
    pub(crate) rows: HashMap<(u64, u8, u8), Row>,
}

/// Service levels of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// By LIDs of source and destination.
    pub(crate) by_lid: HashMap<(u16, u16), u8>,
    /// By the source's GUID and the destination's LID.
    pub(crate) by_guid: HashMap<(u64, u16), u8>,
}

/// Whether a line is the beginning of either form of lanes.
pub(crate) fn is_tables(line: &str) -> bool {
    let is_slvl = || {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() == 11 && words[0].starts_with("0x") && words[3..].iter().all(|word| word.starts_with("0x"))
    };
    line.starts_with("#in out :") || is_slvl()
}

/// Whether a line is the beginning of either form of levels.
pub(crate) fn is_levels(line: &str) -> bool {
    let is_psl = || {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        words.len() == 3 && words[0].len() == 18 && words[0].starts_with("0x") && words[1..].iter().all(is_number)
    };
    line.starts_with("PathRecord dump:") || is_psl()
}

pub(crate) fn read_tables<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<LaneTables, ImportError> {
    let mut found = LaneTables::default();
    let mut device: Option<(u64, bool)> = None;
    while lines.advance()? {
        let text = lines.text();
        let line = text.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("ibwarn:") {
            continue;
        }
        let heading = line.strip_prefix("Switch ").map(|rest| (rest, true));
        if let Some((rest, is_switch)) = heading.or(line.strip_prefix("Channel Adapter ").map(|rest| (rest, false))) {
            let Some(guid) = rest.split(',').next().and_then(|guid| hex(guid.trim())) else {
                return lines.wrong(format!("'{}' has no GUID: must be Switch 0xGUID, ...", lines.shown()));
            };
            device = Some((guid, is_switch));
            continue;
        }
        let (entry, is_switch) = match line.starts_with("0x") {
            true => (packed(line), true),
            false => (spelled(line, device.map_or(0, |device| device.0)), device.is_some_and(|device| device.1)),
        };
        let Some((key, row)) = entry.filter(|_| device.is_some() || line.starts_with("0x")) else {
            return lines.wrong(format!(
                "'{}' is no row of lanes: must be IN OUT : VL0 ... VL15 below a heading, or 0xGUID IN OUT 0xVV ...",
                lines.shown()
            ));
        };
        // Packets that an adapter sends on no cable cannot wait: its own table says nothing about loops.
        if is_switch && found.rows.insert(key, row).is_some_and(|first| first != row) {
            return lines.wrong(format!("other lanes of {:#018x} from port {} to {} stand above", key.0, key.1, key.2));
        }
    }
    match found.rows.is_empty() {
        true => lines.wrong_file("has no lane of any switch"),
        false => Ok(found),
    }
}

/// `1 2 : 0 1 2 ... 15`.
fn spelled(line: &str, guid: u64) -> Option<((u64, u8, u8), Row)> {
    let (ports, lanes) = line.split_once(':')?;
    let mut ports = ports.split_whitespace().map(str::parse::<u8>);
    let key = (guid, ports.next()?.ok()?, ports.next()?.ok()?);
    let lanes: Vec<u8> = lanes.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let row = Row::try_from(lanes).ok()?;
    (ports.next().is_none() && row.iter().all(|&lane| usize::from(lane) < LEVELS)).then_some((key, row))
}

/// `0x0000000000200000 1 2 0x01 0x23 ... 0xef`.
fn packed(line: &str) -> Option<((u64, u8, u8), Row)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [guid, from, to, bytes @ ..] = &words[..] else { return None };
    let bytes: Vec<u64> = bytes.iter().filter_map(|byte| hex(byte)).filter(|&byte| byte < 256).collect();
    let lanes: Vec<u8> = bytes.iter().flat_map(|byte| [(byte >> 4) as u8, (byte & 15) as u8]).collect();
    Some(((hex(guid)?, from.parse().ok()?, to.parse().ok()?), Row::try_from(lanes).ok()?))
}

pub(crate) fn read_levels<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Levels, ImportError> {
    let mut found = Levels::default();
    let mut open: Option<[Option<u64>; 3]> = None;
    while lines.advance()? {
        let text = lines.text();
        let line = text.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("ibwarn:") {
            continue;
        }
        if line.starts_with("PathRecord dump:") {
            add(lines, &mut found, open)?;
            open = Some([None; 3]);
        } else if let Some((own, word)) = open.as_mut().zip(line.split_once("..")) {
            let value = word.1.trim_start_matches('.');
            let number = if value.starts_with("0x") { hex(value) } else { value.parse().ok() };
            if let Some(place) = ["slid", "dlid", "sl"].iter().position(|key| *key == word.0) {
                own[place] = number;
            }
        } else if let Some((guid, lid, level)) = path(line).filter(|_| open.is_none()) {
            if found.by_guid.insert((guid, lid), level).is_some_and(|first| first != level) {
                return lines.wrong(format!("another service level from {guid:#018x} to LID {lid} is above"));
            }
        } else {
            return lines
                .wrong(format!("'{}' is no service level: must be saquery -p or lines 0xGUID DLID SL", lines.shown()));
        }
    }
    add(lines, &mut found, open)?;
    match found.by_lid.is_empty() && found.by_guid.is_empty() {
        true => lines.wrong_file("has no service level"),
        false => Ok(found),
    }
}

/// `0x0000000000100000 3 1`.
fn path(line: &str) -> Option<(u64, u16, u8)> {
    let mut words = line.split_whitespace();
    let (guid, lid, level) = (words.next()?.strip_prefix("0x")?, words.next()?, words.next()?);
    let lid = lid.parse::<u16>().ok().filter(|&lid| u64::from(lid) <= MAX_LID)?;
    let level = level.parse::<u8>().ok().filter(|&level| usize::from(level) < LEVELS)?;
    words.next().is_none().then_some((hex(guid)?, lid, level))
}

/// Keeps a record that has ended.
fn add<R: BufRead>(
    lines: &Lines<'_, R>,
    found: &mut Levels,
    ended: Option<[Option<u64>; 3]>,
) -> Result<(), ImportError> {
    let Some([from, to, level]) = ended else { return Ok(()) };
    let lid = |lid: Option<u64>| lid.filter(|lid| (1..=MAX_LID).contains(lid)).map(|lid| lid as u16);
    let level = level.filter(|&level| level < LEVELS as u64).map(|level| level as u8);
    let (Some(from), Some(to), Some(level)) = (lid(from), lid(to), level) else {
        return lines
            .wrong("a path record ends here without slid, dlid (1 to 0xbfff) and sl (0 to 15): it is cut short");
    };
    if found.by_lid.insert((from, to), level).is_some_and(|first| first != level) {
        return lines.wrong(format!("another service level from LID {from} to LID {to} is above"));
    }
    Ok(())
}
