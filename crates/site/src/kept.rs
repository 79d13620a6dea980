//! A network in hotlink's own file: cables, tables, virtual lanes and service levels in one binary file. It is read in
//! a fraction of the time that the dumps take.
//!
//! Numbers are little-endian; texts and lists have their length in front, as 4 bytes. The file ends with a sum over its
//! bytes (FNV-1a), which reveals damage, and its own beginning, which reveals one that is cut short.

use crate::build::{Files, Site};
use crate::cabling::{Cable, Cabling, Device, DeviceKind, End};
use crate::lanes::{LaneTables, Levels};
use crate::rates::{Link, SPEEDS};
use crate::tables::{MAX_LID, Table, Tables};
use hotlink_fabric::import::ImportError;
use hotlink_fabric::routing::lanes::LEVELS;
use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;

/// The beginning of such a file, of whatever version.
pub(crate) const BEGINNING: &[u8] = b"hotlink-site ";

/// The first and last bytes of a file of this version.
const MARK: &[u8] = b"hotlink-site 2\n";

const KINDS: [DeviceKind; 3] = [DeviceKind::Switch, DeviceKind::Adapter, DeviceKind::Router];

/// Largest file that is read.
const MOST_BYTES: u64 = 1 << 32;

impl Site {
    /// Writes the network so that [`crate::open`] reads it back: as it is after changes, but for `lids:all`.
    ///
    /// # Errors
    /// The writer's.
    pub fn keep(&self, out: impl Write) -> io::Result<()> {
        let mut out = Summed { out, sum: EMPTY };
        out.write_all(MARK)?;
        let files = &self.files;
        text(&mut out, &self.spec.name)?;
        text(&mut out, &files.cables)?;
        count(&mut out, self.cabling.devices.len())?;
        for device in &self.cabling.devices {
            out.write_all(&[device.kind as u8, device.port, device.lmc])?;
            out.write_all(&device.lid.to_le_bytes())?;
            out.write_all(&device.guid.to_le_bytes())?;
            out.write_all(&device.key.to_le_bytes())?;
            text(&mut out, &device.name)?;
        }
        count(&mut out, self.cabling.cables.len())?;
        for cable in &self.cabling.cables {
            for end in cable.ends {
                out.write_all(&end.device.to_le_bytes())?;
                out.write_all(&[end.port])?;
            }
            let speed = |link: Link| SPEEDS.iter().position(|own| own == link.speed).unwrap_or(0) as u8;
            out.write_all(&cable.link.map_or([0, 0], |link| [link.width, speed(link)]))?;
            out.write_all(&cable.line.to_le_bytes())?;
        }
        count(&mut out, usize::from(files.tables.is_some()))?;
        if let Some((file, tables)) = &files.tables {
            text(&mut out, file)?;
            count(&mut out, tables.switches.len())?;
            for table in &tables.switches {
                out.write_all(&table.guid.to_le_bytes())?;
                count(&mut out, table.ports.len())?;
                out.write_all(&table.ports)?;
            }
            count(&mut out, tables.named.len())?;
            for (lid, guid) in &tables.named {
                out.write_all(&lid.to_le_bytes())?;
                out.write_all(&guid.to_le_bytes())?;
            }
        }
        let (lanes, levels) = (files.lanes.0.as_deref(), files.lanes.1.as_deref());
        let mut rows: Vec<_> = lanes.iter().flat_map(|lanes| &lanes.rows).collect();
        rows.sort_unstable();
        count(&mut out, rows.len())?;
        for ((guid, from, to), row) in rows {
            out.write_all(&guid.to_le_bytes())?;
            out.write_all(&[*from, *to])?;
            out.write_all(row)?;
        }
        let by_lid = levels.iter().flat_map(|levels| &levels.by_lid);
        let by_guid = levels.iter().flat_map(|levels| &levels.by_guid);
        let mut paths: Vec<(u8, u64, u16, u8)> =
            by_lid.map(|(&(from, to), &level)| (0, u64::from(from), to, level)).collect();
        paths.extend(by_guid.map(|(&(from, to), &level)| (1, from, to, level)));
        paths.sort_unstable();
        count(&mut out, paths.len())?;
        for (is_guid, from, to, level) in paths {
            out.write_all(&[is_guid, level])?;
            out.write_all(&from.to_le_bytes())?;
            out.write_all(&to.to_le_bytes())?;
        }
        let sum = out.sum.to_le_bytes();
        out.write_all(&sum)?;
        out.write_all(MARK)
    }
}

/// FNV-1a of no bytes.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

fn summed(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Sums what it passes on.
struct Summed<W> {
    out: W,
    sum: u64,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let many = self.out.write(bytes)?;
        self.sum = summed(self.sum, &bytes[..many]);
        Ok(many)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn count(out: &mut impl Write, number: usize) -> io::Result<()> {
    out.write_all(&(number as u32).to_le_bytes())
}

fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    count(out, text.len())?;
    out.write_all(text.as_bytes())
}

/// The rest to read, and its place.
struct Reader<'a> {
    file: &'a str,
    bytes: &'a [u8],
    whole: usize,
}

impl<'a> Reader<'a> {
    fn wrong<T>(&self, what: &str) -> Result<T, ImportError> {
        let at = self.whole - self.bytes.len();
        Err(ImportError {
            place: format!("{}: byte {at}", self.file),
            what: format!("{what}: write the file anew with --keep"),
        })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], ImportError> {
        match self.bytes.split_at_checked(count) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => self.wrong("the file is cut short"),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ImportError> {
        let bytes = self.take(N)?;
        Ok(std::array::from_fn(|i| bytes[i]))
    }

    fn u16(&mut self) -> Result<u16, ImportError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ImportError> {
        self.array().map(u64::from_le_bytes)
    }

    /// The length of a list whose entries have `each` bytes or more.
    fn count(&mut self, each: usize) -> Result<usize, ImportError> {
        let count = self.array().map(u32::from_le_bytes)? as usize;
        match count.checked_mul(each).is_some_and(|bytes| bytes <= self.bytes.len()) {
            true => Ok(count),
            false => self.wrong("a list is longer than the file"),
        }
    }

    fn text(&mut self) -> Result<String, ImportError> {
        let length = self.count(1)?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

/// Reads a kept network.
pub(crate) fn read(file: &str, mut from: impl io::Read) -> Result<Site, ImportError> {
    let mut bytes = Vec::new();
    let done = io::Read::read_to_end(&mut io::Read::take(&mut from, MOST_BYTES), &mut bytes);
    if let Err(error) = done {
        return Err(ImportError { place: file.to_owned(), what: format!("cannot be read: {error}") });
    }
    let mut reader = Reader { file, bytes: &bytes, whole: bytes.len() };
    if reader.take(MARK.len())? != MARK {
        return reader.wrong("is no network that this version of hotlink kept");
    }
    let ended = bytes.strip_suffix(MARK).and_then(|bytes| bytes.split_last_chunk::<8>());
    let Some((kept, sum)) = ended else { return reader.wrong("the file is cut short") };
    if summed(EMPTY, kept) != u64::from_le_bytes(*sum) {
        return reader.wrong("the file is damaged, by the sum over its bytes");
    }
    reader = Reader { file, bytes: kept, whole: kept.len() };
    reader.take(MARK.len())?;
    let name = reader.text()?;
    let cables = reader.text()?;
    let cabling = cabling(&mut reader)?;
    let tables = match reader.count(0)? {
        0 => None,
        _ => Some((reader.text()?, Arc::new(tables(&mut reader)?))),
    };
    let lanes = lanes(&mut reader)?;
    let levels = levels(&mut reader)?;
    if !reader.bytes.is_empty() {
        return reader.wrong("has more than a network");
    }
    Site::of(&name, cabling, Files { cables, tables, lanes: (lanes, levels), all_lids: false })
}

fn cabling(reader: &mut Reader<'_>) -> Result<Cabling, ImportError> {
    let mut found = Cabling::default();
    for _ in 0..reader.count(25)? {
        let [kind, port, lmc] = reader.array()?;
        let (lid, guid, key) = (reader.u16()?, reader.u64()?, reader.u64()?);
        let Some(&kind) = KINDS.get(usize::from(kind)).filter(|_| lmc <= 7) else {
            return reader.wrong("a device is of no known kind");
        };
        found.devices.push(Device { kind, guid, lid, name: reader.text()?, port, lmc, key });
    }
    let mut used = HashSet::new();
    for _ in 0..reader.count(20)? {
        let mut end = || -> Result<End, ImportError> {
            let device = reader.array().map(u32::from_le_bytes)?;
            let [port] = reader.array()?;
            Ok(End { device, port })
        };
        let ends = [end()?, end()?];
        let [width, speed] = reader.array()?;
        let line = reader.u64()?;
        let is_known = |end: &End| (end.device as usize) < found.devices.len() && (1..=254).contains(&end.port);
        if !ends.iter().all(|end| is_known(end) && used.insert(*end)) {
            return reader.wrong("a cable ends nowhere, or where another does");
        }
        let link = match (width, SPEEDS.get(usize::from(speed))) {
            (0, _) => None,
            (1 | 2 | 4 | 8 | 12, Some(speed)) => Some(Link { width, speed }),
            _ => return reader.wrong("a cable has no known width and speed"),
        };
        found.cables.push(Cable { ends, link, line });
    }
    Ok(found)
}

fn tables(reader: &mut Reader<'_>) -> Result<Tables, ImportError> {
    let (mut found, mut seen) = (Tables::default(), HashSet::new());
    for _ in 0..reader.count(12)? {
        let guid = reader.u64()?;
        let length = reader.count(1)?;
        if length as u64 > MAX_LID + 1 || !seen.insert(guid) {
            return reader.wrong("a table is too long, or the second of its switch");
        }
        found.switches.push(Table { guid, ports: reader.take(length)?.to_vec() });
    }
    for _ in 0..reader.count(10)? {
        found.named.push((reader.u16()?, reader.u64()?));
    }
    Ok(found)
}

fn lanes(reader: &mut Reader<'_>) -> Result<Option<Arc<LaneTables>>, ImportError> {
    let mut found = LaneTables::default();
    for _ in 0..reader.count(26)? {
        let (guid, [from, to], row) = (reader.u64()?, reader.array()?, reader.array::<LEVELS>()?);
        if row.iter().any(|&lane| usize::from(lane) >= LEVELS) {
            return reader.wrong("a lane is none of 0 to 15");
        }
        found.rows.insert((guid, from, to), row);
    }
    Ok((!found.rows.is_empty()).then(|| Arc::new(found)))
}

fn levels(reader: &mut Reader<'_>) -> Result<Option<Arc<Levels>>, ImportError> {
    let mut found = Levels::default();
    for _ in 0..reader.count(12)? {
        let ([is_guid, level], from, to) = (reader.array()?, reader.u64()?, reader.u16()?);
        match (is_guid, u16::try_from(from)) {
            _ if usize::from(level) >= LEVELS => return reader.wrong("a service level is none of 0 to 15"),
            (0, Ok(from)) => drop(found.by_lid.insert((from, to), level)),
            (1, _) => drop(found.by_guid.insert((from, to), level)),
            _ => return reader.wrong("a path begins nowhere"),
        }
    }
    Ok((!found.by_lid.is_empty() || !found.by_guid.is_empty()).then(|| Arc::new(found)))
}
