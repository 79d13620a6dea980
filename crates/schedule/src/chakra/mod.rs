//! Chakra execution traces (MLCommons), version 0.0.4: one file a rank, each a row of messages with their lengths.
//!
//! The files of a folder, or of a prefix, are `NAME.RANK.et` for every rank from 0. Nodes of computation, memory and
//! storage take the time that the trace states. Where a computation states operations instead, their time follows from
//! `--flops`. Sends, receives and collectives become messages. A collective stands for the ranks of its group
//! (`pg_name`, listed in `comm_group.json` with the traces), or for all.
//!
//! Each rank's file gives the order of a group's collectives. Sizes (`comm_size`) are those of each rank's input.
//! Traces state what a collective does, not how: it runs as those of GPU clusters do ([`crate::collective`]).

mod node;
mod wire;

use crate::collective::{Combining, Group, Home, Kind, Part, Run, member, processor as of_collective};
use crate::draft::{Draft, Local};
use crate::form::{Builder, LATEST, MOST_BYTES, MOST_OPS, Place};
use crate::read::{Options, ReadError};
use node::{Node, Type};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use wire::Wire;

/// The version of the metadata that is read.
pub const VERSION: &str = "0.0.4";
/// Ending of a trace's name.
const ENDING: &str = "et";
/// Groups, by their names.
const GROUPS: &str = "comm_group.json";
/// Tags of collectives: those of a trace's own messages stand below.
const COLLECTIVE: u32 = 1 << 30;
/// Operations of the host, kernels, and communication follow one another on a processor each. Collectives have their own.
const HOST: u8 = 255;
const KERNELS: u8 = 254;
const COMMUNICATION: u8 = 253;

/// What runs on a processor of a rank.
pub(crate) fn processor(cpu: u32) -> String {
    match u8::try_from(cpu) {
        Ok(HOST) => "host operations".to_owned(),
        Ok(KERNELS) => "kernels".to_owned(),
        Ok(COMMUNICATION) => "communication".to_owned(),
        _ => format!("communication on {}", of_collective(cpu)),
    }
}

/// The traces of a folder or prefix, in the order of ranks; `None` where there is none.
///
/// # Errors
/// Ranks are missing or stand twice.
pub fn files(path: &Path) -> Result<Option<Vec<PathBuf>>, ReadError> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let prefix = if path.is_dir() { None } else { path.file_name().and_then(|name| name.to_str()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(None) };
    let mut found: BTreeMap<u32, Vec<PathBuf>> = BTreeMap::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let parts: Vec<&str> = name.rsplitn(3, '.').collect();
        if let [ENDING, rank, own] = parts[..]
            && prefix.is_none_or(|prefix| own == prefix)
            && let Ok(rank) = rank.parse()
        {
            found.entry(rank).or_default().push(path);
        }
    }
    let at = |what: String| ReadError::new(&path.display().to_string(), "", what);
    for (expected, (&rank, paths)) in (0..).zip(&found) {
        if let [one, other, ..] = &paths[..] {
            let what =
                format!("both {} and {} are of rank {rank}: give the prefix of one", one.display(), other.display());
            return Err(at(what));
        }
        if rank != expected {
            return Err(at(format!("no trace of rank {expected} (NAME.{expected}.et), but one of rank {rank}")));
        }
    }
    let files: Vec<PathBuf> = found.into_values().flatten().collect();
    Ok((!files.is_empty()).then_some(files))
}

/// All operations of the traces, in picoseconds, and the collectives that they have.
pub(crate) fn builder(files: &[PathBuf], options: &Options, watched: u32) -> Result<(Builder, Collectives), ReadError> {
    let mut reader = Reader::new(files.len() as u32, groups(files, options)?, options);
    for (rank, file) in (0..).zip(files) {
        let name = file.display().to_string();
        let bytes =
            std::fs::read(file).map_err(|error| ReadError::new(&name, "", format!("cannot be read: {error}")))?;
        reader.rank(rank, &name, &bytes)?;
    }
    reader.missing(files)?;
    let Reader { draft, collectives, .. } = reader;
    let first = files.first().map(|file| file.display().to_string()).unwrap_or_default();
    let lacks = |name: &str, is_there: &dyn Fn(&Run) -> bool| {
        let what = format!("--{name}: no collective of these traces has it");
        if collectives.runs.iter().any(is_there) { Ok(()) } else { Err(ReadError::new(&first, "", what)) }
    };
    let (algorithm, protocol) = options.wanted;
    if let Some(own) = algorithm {
        lacks(&format!("algorithm {}", own.name()), &|run| run.way.algorithm == own)?;
    }
    if let Some(own) = protocol {
        lacks(&format!("protocol {}", own.name()), &|run| run.way.protocol == own)?;
    }
    Ok((draft.builder(watched), collectives))
}

/// The collectives of traces, and the switches that combine data for them: ranks beyond those of the traces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collectives {
    /// In order of their ranks.
    pub(crate) switches: Vec<Combining>,
    /// Alike ones together.
    pub(crate) runs: Vec<Run>,
}

/// One rank's bytes, as a trace of two ranks: for fuzzing.
pub(crate) fn bytes(bytes: &[u8], options: &Options) -> Result<(), ReadError> {
    let groups = BTreeMap::from([("pair".to_owned(), vec![0, 1])]);
    let mut reader = Reader::new(2, groups, options);
    (0..2).try_for_each(|rank| reader.rank(rank, "trace", bytes))
}

fn groups(files: &[PathBuf], options: &Options) -> Result<BTreeMap<String, Vec<u32>>, ReadError> {
    let beside = files.first().and_then(|file| file.parent()).map(|folder| folder.join(GROUPS));
    let path = options.groups.clone().or(beside.filter(|path| path.is_file()));
    let Some(path) = path else { return Ok(BTreeMap::new()) };
    let name = path.display().to_string();
    let wrong = |what: String| ReadError::new(&name, "", what);
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let groups: BTreeMap<String, Vec<u32>> =
        serde_json::from_str(&text).map_err(|error| wrong(format!("must be {{\"NAME\": [RANKS]}}: {error}")))?;
    for (group, ranks) in &groups {
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != ranks.len() || sorted.last().is_none_or(|&last| last as usize >= files.len()) {
            let what = format!("group `{group}`: must list ranks from 0 to {}, each once", files.len() - 1);
            return Err(wrong(what));
        }
    }
    Ok(groups)
}

/// A collective as the first rank that calls it does.
struct Call {
    kind: Kind,
    bytes: u64,
    part: Rc<Part>,
    tag: u32,
    rank: u32,
    node: u64,
    calls: usize,
}

/// Which collective: the name of its group, what it does, its bytes.
type Alike = (String, Kind, u64);

struct Reader<'a> {
    draft: Draft,
    /// By name; without one, all ranks.
    groups: BTreeMap<String, Rc<Group>>,
    /// By group and number among the group's.
    calls: BTreeMap<(String, u32), Call>,
    /// What is ready to be written, and its number among the runs.
    parts: BTreeMap<Alike, (Rc<Part>, Option<usize>)>,
    collectives: Collectives,
    /// The first tag that no collective has yet.
    tag: u32,
    ranks: u32,
    homes: Arc<[Home]>,
    options: &'a Options,
}

impl<'a> Reader<'a> {
    fn new(ranks: u32, named: BTreeMap<String, Vec<u32>>, options: &'a Options) -> Reader<'a> {
        let homes = options.cut.homes(ranks);
        let of = |ranks: &[u32]| Rc::new(Group::new(ranks, &homes, options.costs, &options.cut));
        let all: Vec<u32> = (0..ranks).collect();
        let mut groups: BTreeMap<_, _> = named.into_iter().map(|(name, ranks)| (name, of(&ranks))).collect();
        groups.insert(String::new(), of(&all));
        let (draft, collectives, tag) = (Draft::new(ranks), Collectives::default(), COLLECTIVE);
        Reader {
            draft,
            groups,
            calls: BTreeMap::new(),
            parts: BTreeMap::new(),
            collectives,
            tag,
            ranks,
            homes,
            options,
        }
    }

    fn rank(&mut self, rank: u32, file: &str, bytes: &[u8]) -> Result<(), ReadError> {
        let mut wire = Wire::new(bytes);
        let broken = |wire: &Wire<'_>, what: &str| {
            ReadError::new(file, &format!("byte {}", bytes.len() - wire.rest.len()), what.to_owned())
        };
        let first = wire.message().map_err(|what| broken(&wire, what))?;
        let version = node::version(first.unwrap_or_default()).map_err(|what| broken(&wire, what))?;
        if version.as_deref() != Some(VERSION) {
            let what = match version {
                Some(version) => format!("metadata of version `{version}` (allowed: {VERSION})"),
                None => format!("does not begin with metadata of version {VERSION}: no Chakra trace"),
            };
            return Err(ReadError::new(file, "", what));
        }
        // First and last operation of each node; who waits for which nodes.
        let mut known: HashMap<u64, (Local, Local)> = HashMap::new();
        let mut waits: Vec<(u64, Local, Vec<u64>)> = Vec::new();
        let mut nth = BTreeMap::new();
        loop {
            let message = wire.message().map_err(|what| broken(&wire, what))?;
            let Some(message) = message else { break };
            let node = Node::of(message).map_err(|what| {
                let again = matches!(node::version(message), Ok(Some(_)));
                broken(&wire, if again { "has metadata for a second time: two traces in one file" } else { what })
            })?;
            let wrong = |what: String| ReadError::new(file, &node_named(&node), what);
            self.draft.stands(Place { file: rank, at: [node.id, 0] });
            let (first, last) = self.node(rank, &node, &mut nth).map_err(wrong)?;
            if known.insert(node.id, (first, last)).is_some() {
                return Err(wrong("occurs twice".to_owned()));
            }
            if self.draft.total() >= MOST_OPS / 2 {
                return Err(wrong(format!("more than {} operations", MOST_OPS / 2)));
            }
            waits.push((node.id, first, node.after));
        }
        for (id, first, after) in waits {
            for before in after {
                let &(_, last) = known.get(&before).ok_or_else(|| {
                    let what = format!("waits for node {before}, which is not in the trace");
                    ReadError::new(file, &format!("node {id}"), what)
                })?;
                self.draft.requires(rank, first, last);
            }
        }
        Ok(())
    }

    /// The operations of a node: its first and its last.
    fn node(&mut self, rank: u32, node: &Node, nth: &mut BTreeMap<String, u32>) -> Result<(Local, Local), String> {
        let on_host = node.whole("is_cpu_op").is_some_and(|truth| truth != 0);
        let cpu = if on_host { HOST } else { KERNELS };
        let one = |op: Local| Ok((op, op));
        timed("takes", node.duration_us as f64 * 1e6)?;
        let ps = node.duration_us * 1_000_000;
        match node.kind {
            Type::Invalid => Err("is INVALID_NODE: what made the trace did not know it".to_owned()),
            Type::Metadata => one(self.draft.calc(rank, HOST, 0)),
            Type::Other => one(self.draft.calc(rank, cpu, ps)),
            Type::Computation => {
                let ps = match (ps, self.some(node, "num_ops")?, self.options.flops) {
                    (0, Some(ops), Some(flops)) if ops > 0 => timed("num_ops take", ops as f64 / flops * 1e12)?,
                    (0, Some(ops), None) if ops > 0 => {
                        return Err(format!("states {ops} operations and no time: say how fast they go (--flops)"));
                    }
                    _ => ps,
                };
                one(self.draft.calc(rank, cpu, ps))
            }
            Type::Load | Type::Store => {
                let ps = match (ps, self.some(node, "tensor_size")?) {
                    (0, Some(bytes)) => timed("tensor_size takes", bytes as f64 * self.options.costs.copy_ps_per_byte)?,
                    _ => ps,
                };
                one(self.draft.calc(rank, cpu, ps))
            }
            Type::Send | Type::Receive => {
                let (key, sends) = if node.kind == Type::Send { ("comm_dst", true) } else { ("comm_src", false) };
                let peer = self.number(node, key, u64::from(self.ranks) - 1)? as u32;
                let bytes = self.number(node, "comm_size", MOST_BYTES)?;
                let tag = if node.whole("comm_tag").is_some() {
                    self.number(node, "comm_tag", u64::from(COLLECTIVE) - 1)? as u32
                } else {
                    0
                };
                if !sends {
                    return one(self.draft.recv(rank, peer, bytes, tag, COMMUNICATION));
                }
                let far = self.homes[rank as usize].host != self.homes[peer as usize].host;
                let costs = self.options.cut.of_message(self.options.costs, bytes);
                let posting = costs.posting(far, bytes);
                let posted = posting.map(|posting| self.draft.post(rank, COMMUNICATION, posting));
                let send = self.draft.send(rank, peer, bytes, tag, COMMUNICATION);
                posted.into_iter().for_each(|posted| self.draft.requires(rank, send, posted));
                Ok((posted.unwrap_or(send), send))
            }
            Type::Collective => self.collective(rank, node, nth),
        }
    }

    fn number(&self, node: &Node, key: &str, most: u64) -> Result<u64, String> {
        let number = node.whole(key).ok_or_else(|| format!("has no attribute {key}"))?;
        u64::try_from(number)
            .ok()
            .filter(|&number| number <= most)
            .ok_or_else(|| format!("{key} is {number} (allowed: 0 to {most})"))
    }

    /// The same of what a node may leave out.
    fn some(&self, node: &Node, key: &str) -> Result<Option<u64>, String> {
        node.whole(key).map(|_| self.number(node, key, u64::MAX)).transpose()
    }

    fn collective(
        &mut self,
        rank: u32,
        node: &Node,
        nth: &mut BTreeMap<String, u32>,
    ) -> Result<(Local, Local), String> {
        let kind = match self.number(node, "comm_type", u64::MAX)? {
            0 => Kind::Allreduce,
            1 => Kind::Reduce,
            2 => Kind::Allgather,
            3 => Kind::Gather,
            4 => Kind::Scatter,
            5 => Kind::Broadcast,
            6 => Kind::Alltoall,
            7 | 8 => Kind::ReduceScatter,
            9 => Kind::Barrier,
            other => return Err(format!("comm_type is {other} (allowed: 0 to 9)")),
        };
        let bytes = if kind == Kind::Barrier { 0 } else { self.number(node, "comm_size", MOST_BYTES)? };
        if node.bools("involved_dim").is_some_and(|list| list.contains(&0)) {
            return Err("names dimensions of a simulator's network (involved_dim): name a group (pg_name)".to_owned());
        }
        let name = node.text("pg_name").unwrap_or_default().to_owned();
        let group = self.groups.get(&name).cloned().ok_or_else(|| {
            format!("is of group `{name}`, which {GROUPS} does not list: {{\"{name}\": [RANKS]}}; see --groups")
        })?;
        let ranks = group.ranks();
        if !ranks.contains(&rank) {
            return Err(format!("is of group `{name}`, which rank {rank} is not in"));
        }
        let number = nth.entry(name.clone()).or_default();
        let (key, many) = ((name, *number), ranks.len());
        if !self.calls.contains_key(&key) {
            let alike = (key.0.clone(), kind, bytes);
            let part =
                self.part(&group, alike).map_err(|what| format!("is {kind:?} of {bytes} B on {many} ranks: {what}"))?;
            let tags = part.tags;
            // The first ones have ended long since where tags come again.
            let tag = if self.tag > u32::MAX - tags { COLLECTIVE } else { self.tag };
            self.tag = tag + tags;
            part.write_switches(&mut self.draft, tag);
            self.calls.insert(key.clone(), Call { kind, bytes, part, tag, rank, node: node.id, calls: 0 });
        }
        let Some(call) = self.calls.get_mut(&key) else { return Err("is called by nobody".to_owned()) };
        if (call.kind, call.bytes) != (kind, bytes) {
            return Err(format!(
                "is {kind:?} of {bytes} B; as collective {number} of its group rank {} has {:?} of {} B (node {})",
                call.rank, call.kind, call.bytes, call.node
            ));
        }
        call.calls += 1;
        *number += 1;
        debug_assert!(call.calls <= many, "each rank calls once");
        Ok(member(&call.part, &mut self.draft, rank, (call.tag, COMMUNICATION)))
    }

    /// A collective of a group, ready to be written once more.
    fn part(&mut self, group: &Group, alike: Alike) -> Result<Rc<Part>, String> {
        let found = match self.parts.get(&alike) {
            Some(found) => found.clone(),
            None => {
                let (draft, switches) = (&mut self.draft, &mut self.collectives.switches);
                let (part, run) = group.part(draft, switches, (alike.1, alike.2), self.options.wanted)?;
                let runs = &mut self.collectives.runs;
                let at = run.map(|run| {
                    runs.iter().position(|own| *own == Run { times: own.times, ..run }).unwrap_or_else(|| {
                        runs.push(run);
                        runs.len() - 1
                    })
                });
                self.parts.entry(alike).or_insert((Rc::new(part), at)).clone()
            }
        };
        let (part, at) = found;
        at.into_iter().for_each(|at| self.collectives.runs[at].times += 1);
        Ok(part)
    }

    /// A collective that some rank of its group does not call.
    fn missing(&self, files: &[PathBuf]) -> Result<(), ReadError> {
        for ((group, number), call) in &self.calls {
            let ranks = self.groups[group].ranks();
            if call.calls < ranks.len() {
                let file = files[call.rank as usize].display().to_string();
                let what =
                    format!("collective {number} of its group is called by {} of {} ranks", call.calls, ranks.len());
                return Err(ReadError::new(&file, &format!("node {}", call.node), what));
            }
        }
        Ok(())
    }
}

fn node_named(node: &Node) -> String {
    match node.name.is_empty() {
        true => format!("node {}", node.id),
        false => format!("node {} ({})", node.id, node.name.chars().take(60).collect::<String>()),
    }
}

/// A time in picoseconds that a run has room for.
fn timed(what: &str, ps: f64) -> Result<u64, String> {
    match ps <= LATEST as f64 {
        true => Ok(ps.round() as u64),
        false => Err(format!("{what} {:.4e} us (allowed: 0 to {:.4e})", ps / 1e6, LATEST as f64 / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::node::Attribute;
    use super::*;

    #[test]
    fn a_node_takes_what_it_states_or_is_an_error() {
        let options = Options { flops: Some(1e14), ..Options::default() };
        let took = |kind, duration_us, attribute: Option<(&str, i128)>| {
            let mut reader = Reader::new(1, BTreeMap::new(), &options);
            let attributes = attribute.map(|(key, number)| (key.to_owned(), Attribute::Whole(number)));
            let attributes = attributes.into_iter().collect();
            let node = Node { id: 1, name: String::new(), kind, after: Vec::new(), duration_us, attributes };
            reader.node(0, &node, &mut BTreeMap::new())?;
            Ok::<u64, String>(reader.draft.builder(0).build().op(0).size)
        };
        let computes = |us, ops| took(Type::Computation, us, ops);
        // Beyond a thousand seconds, too.
        assert_eq!(computes(2_000_000_000, None), Ok(2_000_000_000_000_000));
        assert_eq!(computes(0, Some(("num_ops", 1_000_000_000_000_000_000))), Ok(10_000_000_000_000_000));
        let wrong = |took: Result<u64, String>, words: &str| {
            let what = took.expect_err(words);
            assert!(what.contains(words), "{what}");
        };
        wrong(computes(u64::MAX, None), "takes 1.8447e19 us (allowed: 0 to 4.6117e12)");
        wrong(computes(0, Some(("num_ops", -5))), "num_ops is -5 (allowed: 0 to ");
        wrong(took(Type::Load, 0, Some(("tensor_size", -5))), "tensor_size is -5 (allowed: 0 to ");
    }
}
