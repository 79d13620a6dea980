//! A site's own InfiniBand network, from what its tools print: cables and forwarding tables.
//!
//! | file | made by | says |
//! |---|---|---|
//! | `ibnetdiscover.txt` | `ibnetdiscover`, also `-p`, `-g`, `-f` | cables |
//! | `iblinkinfo.txt` | `iblinkinfo`, also `-l` | cables |
//! | `opensm-subnet.lst`, `ibdiagnet2.lst` | OpenSM's dump, `ibdiagnet` | cables |
//! | `opensm-lfts.dump` | OpenSM's dump | tables |
//! | `dump_fts.txt` | `dump_fts`, `dump_lfts.sh`, `ibroute` | tables |
//! | `opensm.fdbs`, `ibdiagnet2.fdbs` | OpenSM's dump, `ibdiagnet` | tables |
//! | `opensm-sl2vl.dump`, `ibdiagnet.slvl` | OpenSM's dump, `ibdiagnet -vlr` | virtual lanes by service level |
//! | path records, `ibdiagnet.psl` | `saquery -p`, `ibdiagnet -vlr` | service levels |
//!
//! [`kind`] recognises a file by its content, whatever its name. Files are read line by line; a mistake names its line.
//! Devices are identified by their GUIDs (by their LIDs in `iblinkinfo`, which prints no others). Descriptions do not
//! serve, because many adapters may share one.
//!
//! [`Site::keep`] writes all that files say into one, which is read faster.
//!
//! A site's files together are one fabric. Where a fabric's name is asked for, join them with `+`:
//! `ibnetdiscover.txt+opensm-lfts.dump`. Changes follow in the same form:
//!
//! - `+fail:leaf1 port 5`: parts fail, tables stay.
//! - `+reroute`: tables made anew.
//! - `+hosts:node[001-016]`: a job's hosts alone.
//! - `+lids:all`: senders use all LIDs of a port.
//! - `+like:ib-ndr-fat-tree2`: hosts like that fabric's, see [`like`].
//!
//! An end point is a *port* of an adapter: it has the LID that tables forward to. Aggregation nodes (adapters inside
//! switches that compute reductions) are adapters but no hosts; they are left out of the network.

mod build;
mod cabling;
mod change;
pub mod concurrent;
mod failures;
pub mod hostlist;
mod iblinkinfo;
mod ibnetdiscover;
mod job;
mod kept;
mod lanes;
mod lfts;
pub mod like;
mod lines;
pub mod outline;
mod pattern;
mod ports;
mod rates;
mod reroute;
mod routes;
mod subnet;
mod tables;

pub use build::{CableEnd, Findings, Site, natural};
pub use cabling::{Cable, Cabling, Device, DeviceKind, End};
pub use failures::{Failure, Failures, Outcome, Part};
pub use job::{Job, Placement};
pub use lanes::{LaneTables, Levels};
pub use lfts::write as write_lfts;
pub use pattern::Pattern;
pub use rates::{Link, SPEEDS, Speed};
pub use reroute::{Proposal, propose};
pub use tables::{Table, Tables};

use change::Change;
use hotlink_fabric::import::ImportError;
use hotlink_fabric::input;
use lines::Lines;
use std::io::{BufRead, BufReader};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `ibnetdiscover`: devices with their cables.
    Discovered,
    /// `ibnetdiscover -p`: a line for each port.
    Ports,
    /// `iblinkinfo`.
    LinkInfo,
    /// `opensm-subnet.lst`.
    Subnet,
    /// Tables as `dump_fts` and `opensm-lfts.dump` have them.
    Lfts,
    /// Tables as `opensm.fdbs` has them.
    Fdbs,
    /// Virtual lanes by service level.
    Lanes,
    /// Service levels of paths.
    Levels,
    /// All of them, as [`Site::keep`] writes them.
    Kept,
}

impl Kind {
    /// Whether it states forwarding tables.
    pub fn is_tables(self) -> bool {
        matches!(self, Kind::Lfts | Kind::Fdbs)
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Discovered => "ibnetdiscover",
            Kind::Ports => "ibnetdiscover -p",
            Kind::LinkInfo => "iblinkinfo",
            Kind::Subnet => "opensm-subnet.lst",
            Kind::Lfts => "dump_fts or opensm-lfts.dump",
            Kind::Fdbs => "opensm.fdbs",
            Kind::Lanes => "opensm-sl2vl.dump or ibdiagnet.slvl",
            Kind::Levels => "saquery -p or ibdiagnet.psl",
            Kind::Kept => "a kept network",
        }
    }
}

/// The kind of a file that begins with `head`; `None`: none of these.
pub fn kind(head: &[u8]) -> Option<Kind> {
    if head.starts_with(kept::BEGINNING) {
        return Some(Kind::Kept);
    }
    head.split(|&byte| byte == b'\n').take(2000).find_map(|line| kind_of_line(&String::from_utf8_lossy(line)))
}

fn kind_of_line(line: &str) -> Option<Kind> {
    let line = line.trim_end();
    let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    let words = || line.split_whitespace();
    if line.starts_with("Unicast lids [") {
        Some(Kind::Lfts)
    } else if line.contains("ucast_routes: Switch 0x") {
        Some(Kind::Fdbs)
    } else if starts(&["{ CA", "{ SW", "{ Rt", "{ RT"]) && line.contains("NodeGUID:") {
        Some(Kind::Subnet)
    } else if lanes::is_tables(line) {
        Some(Kind::Lanes)
    } else if lanes::is_levels(line) {
        Some(Kind::Levels)
    } else if line.contains("==(") && line.contains(")==>") || line.starts_with("Switch: 0x") {
        Some(Kind::LinkInfo)
    } else if starts(&["vendid=0x", "switchguid=", "caguid=", "# Topology file: generated"])
        || (starts(&["Switch\t", "Switch ", "Ca\t", "Ca "]) && line.contains('"') && line.contains('#'))
    {
        Some(Kind::Discovered)
    } else if starts(&["CA ", "SW "]) && words().nth(3).is_some_and(|guid| guid.starts_with("0x")) {
        Some(Kind::Ports)
    } else {
        None
    }
}

/// Reads cables from a file of this kind, called `file` in messages.
///
/// # Errors
/// The first mistake, with its line.
pub fn cabling(kind: Kind, file: &str, from: impl BufRead) -> Result<Cabling, ImportError> {
    let mut lines = Lines::new(file, from);
    match kind {
        Kind::Discovered => ibnetdiscover::read(&mut lines),
        Kind::Ports => ports::read(&mut lines),
        Kind::LinkInfo => iblinkinfo::read(&mut lines),
        Kind::Subnet => subnet::read(&mut lines),
        Kind::Lfts | Kind::Fdbs | Kind::Lanes | Kind::Levels | Kind::Kept => {
            Err(ImportError { place: file.to_owned(), what: format!("{} states no cables", kind.name()) })
        }
    }
}

/// Reads forwarding tables from a file of this kind, called `file` in messages.
///
/// # Errors
/// The first mistake, with its line.
pub fn tables(kind: Kind, file: &str, from: impl BufRead) -> Result<Tables, ImportError> {
    let mut lines = Lines::new(file, from);
    match kind {
        Kind::Lfts => tables::read_lfts(&mut lines),
        Kind::Fdbs => tables::read_fdbs(&mut lines),
        _ => Err(ImportError { place: file.to_owned(), what: format!("{} states no forwarding tables", kind.name()) }),
    }
}

/// Reads virtual lanes by service level, from a file called `file` in messages.
///
/// # Errors
/// The first mistake, with its line.
pub fn lane_tables(file: &str, from: impl BufRead) -> Result<LaneTables, ImportError> {
    lanes::read_tables(&mut Lines::new(file, from))
}

/// Reads service levels of paths, from a file called `file` in messages.
///
/// # Errors
/// The first mistake, with its line.
pub fn levels(file: &str, from: impl BufRead) -> Result<Levels, ImportError> {
    lanes::read_levels(&mut Lines::new(file, from))
}

/// Reads a network that [`Site::keep`] wrote, called `file` in messages.
///
/// # Errors
/// The first mistake, with its byte.
pub fn kept(file: &str, from: impl std::io::Read) -> Result<Site, ImportError> {
    kept::read(file, from)
}

/// The words between `+` in a network's name; a file may have one in its own.
fn words(name: &str) -> Vec<&str> {
    if input::is_file(name) { vec![name] } else { name.split('+').collect() }
}

/// The files of a site's network that `name` spells; `None`: it is something else (a fabric of the catalog, a graph).
pub fn files(name: &str) -> Option<Vec<&str>> {
    let files = words(name);
    files
        .iter()
        .filter(|file| Change::of(file).is_none())
        .any(|file| kind_of(file).is_ok_and(|kind| kind.is_some()))
        .then_some(files)
}

/// The kind of a file by its beginning.
fn kind_of(file: &str) -> std::io::Result<Option<Kind>> {
    if !input::is_file(file) {
        return Ok(None);
    }
    let mut head = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(input::open(file)?, 1 << 16), &mut head)?;
    Ok(kind(&head))
}

/// Reads a site's files: one with cables, and one with forwarding tables or none, in any order. Changes may be among
/// the files: `fail:PART`, `hosts:LIST`, `reroute`.
///
/// # Errors
/// The first mistake, with its place.
pub fn open(files: &[&str]) -> Result<Site, ImportError> {
    let changes: Vec<Change<'_>> = files.iter().filter_map(|word| Change::of(word)).collect();
    let files: Vec<&str> = files.iter().copied().filter(|word| Change::of(word).is_none()).collect();
    if let [file] = files[..]
        && kind_of(file).is_ok_and(|kind| kind == Some(Kind::Kept))
    {
        let from = input::open(file).map_err(|error| wrong(file, format!("cannot be read: {error}")))?;
        return kept(file, from)?.changed(&changes);
    }
    let mut read = Read::default();
    for &file in &files {
        let cannot = |error: std::io::Error| wrong(file, format!("cannot be read: {error}"));
        let known = match input::is_file(file) {
            true => kind_of(file).map_err(cannot)?,
            false => return Err(wrong(file, "there is no such file")),
        };
        let kind = known.ok_or_else(|| {
            wrong(
                file,
                "is none of: ibnetdiscover (also -p), iblinkinfo, opensm-subnet.lst, opensm-lfts.dump, dump_fts, \
                 opensm.fdbs, opensm-sl2vl.dump, ibdiagnet.slvl, saquery -p, ibdiagnet.psl",
            )
        })?;
        read.add(kind, file, BufReader::with_capacity(1 << 20, input::open(file).map_err(cannot)?))?;
    }
    let Some((file, cabling)) = read.cables else {
        let what = "no file states cables: add ibnetdiscover, iblinkinfo or opensm-subnet.lst";
        return Err(wrong(&files.join("+"), what));
    };
    let stem = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let site = Site::new(stem, (file, cabling), read.tables)?;
    site.with_lanes(read.lanes.map(|(_, lanes)| lanes), read.levels.map(|(_, levels)| levels))?.changed(&changes)
}

fn wrong(place: &str, what: impl Into<String>) -> ImportError {
    ImportError { place: place.to_owned(), what: what.into() }
}

/// The contents of a site's files, one of each kind.
#[derive(Default)]
struct Read<'a> {
    cables: Option<(&'a str, Cabling)>,
    tables: Option<(&'a str, Tables)>,
    lanes: Option<(&'a str, LaneTables)>,
    levels: Option<(&'a str, Levels)>,
}

impl<'a> Read<'a> {
    fn add(&mut self, kind: Kind, file: &'a str, from: impl BufRead) -> Result<(), ImportError> {
        let (what, first) = match kind {
            Kind::Lfts | Kind::Fdbs => ("forwarding tables", put(&mut self.tables, file, tables(kind, file, from)?)),
            Kind::Lanes => ("virtual lanes", put(&mut self.lanes, file, lane_tables(file, from)?)),
            Kind::Levels => ("service levels", put(&mut self.levels, file, levels(file, from)?)),
            Kind::Kept => return Err(wrong(file, "is a whole network: no other file may join it")),
            _ => ("cables", put(&mut self.cables, file, cabling(kind, file, from)?)),
        };
        match first {
            Some(first) => Err(wrong(file, format!("states {what}, as {first} does: one file of them is allowed"))),
            None => Ok(()),
        }
    }
}

/// Keeps what a file says; the file that said it before.
fn put<'a, T>(place: &mut Option<(&'a str, T)>, file: &'a str, said: T) -> Option<&'a str> {
    place.replace((file, said)).map(|(file, _)| file)
}
