//! MSCCL's XML: `algo`, `gpu`, `tb` (thread block) and `step`.
//!
//! | type | what |
//! |---|---|
//! | `s`, `r` | send, receive |
//! | `rcs` | receive, copy, send |
//! | `rrs`, `rrc`, `rrcs` | receive, reduce, and send or copy or both |
//! | `cpy`, `re` | copy, reduce |
//! | `nop` | waits only |
//!
//! Messages have the flags of the plan's protocol (`proto`) in them; copies and reductions are of the data alone. On GPUs
//! whose kernels are known, each message takes a step of that protocol before it leaves, as in a ring of theirs.

use super::{Wrong, size};
use crate::collective::{Costs, Home, share};
use crate::draft::{Draft, Local};
use crate::form::{Builder, MOST_RANKS, Place};
use crate::protocol::Protocol;
use crate::read::Options;
use roxmltree::{Document, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What `coll` may name: the collectives of MSCCL's own reader, and two names that its compiler writes.
const COLLECTIVES: [&str; 13] = [
    "allreduce",
    "allgather",
    "reducescatter",
    "reduce_scatter",
    "alltoall",
    "alltoallv",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "send",
    "recv",
    "custom",
];
const MOST_CHANNELS: i64 = 1 << 16;

/// All operations, in picoseconds.
pub(crate) fn builder(text: &str, options: &Options, watched: u32) -> Result<Builder, Wrong> {
    let document = Document::parse(text).map_err(|error| {
        // For a text that ends early, the reader of XML names the start.
        let last = || (text.lines().count().max(1), text.lines().last().map_or(1, |line| line.chars().count() + 1));
        let (row, column) = match error {
            roxmltree::Error::UnexpectedEndOfStream | roxmltree::Error::UnclosedRootNode => last(),
            _ => (error.pos().row as usize, error.pos().col as usize),
        };
        (format!("{row}:{column}"), format!("is no XML: {error}"))
    })?;
    let root = document.root_element();
    let homes = Arc::new([]);
    let mut plan = Plan { document: &document, costs: options.costs, protocol: Protocol::Simple, channels: 0, homes };
    if root.tag_name().name() != "algo" {
        let what = format!("`{}`: a plan of MSCCL begins with `algo`", root.tag_name().name());
        return Err(plan.wrong(root, what));
    }
    if let Some(name) = root.attribute("proto") {
        plan.protocol = Protocol::named(&name.to_ascii_lowercase())
            .ok_or_else(|| plan.wrong(root, format!("proto=\"{name}\" (allowed: Simple, LL, LL128)")))?;
    }
    let gpus = plan.number(root, "ngpus", 1, i64::from(MOST_RANKS))? as u32;
    if let Some(name) = root.attribute("coll").filter(|name| !COLLECTIVES.contains(name)) {
        return Err(plan.wrong(root, format!("coll=\"{name}\" (allowed: {})", COLLECTIVES.join(", "))));
    }
    plan.channels = plan.number(root, "nchannels", 1, MOST_CHANNELS)?;
    plan.homes = options.cut.homes(gpus);
    let (protocol, channels) = (plan.protocol, plan.channels as u32);
    let costs = options.cut.of_plan(options.costs, protocol, (gpus, channels));
    plan.costs =
        costs.map_err(|has| plan.wrong(root, format!("proto=\"{}\": its GPUs have {has}", protocol.name())))?;
    let parts = plan.number(root, "nchunksperloop", 1, 1 << 24)? as u64;
    plan.fits(root, parts as i64)?;
    let bytes = size(options)?;
    let mut draft = Draft::new(gpus);
    let mut seen = vec![false; gpus as usize];
    for gpu in elements(root) {
        plan.named(gpu, "gpu")?;
        let rank = plan.number(gpu, "id", 0, i64::from(gpus) - 1)? as u32;
        if std::mem::replace(&mut seen[rank as usize], true) {
            return Err(plan.wrong(gpu, format!("gpu {rank} occurs twice")));
        }
        plan.gpu(gpu, rank, &mut draft, |chunks| chunks * share(bytes, 0, parts).max(u64::from(bytes > 0)))?;
    }
    if let Some(missing) = seen.iter().position(|&seen| !seen) {
        return Err(plan.wrong(root, format!("gpu {missing} is missing: ngpus is {gpus}")));
    }
    Ok(draft.builder(watched))
}

struct Plan<'a> {
    document: &'a Document<'a>,
    costs: Costs,
    protocol: Protocol,
    channels: i64,
    /// Where each rank is.
    homes: Arc<[Home]>,
}

/// Thread blocks of a GPU. The processors beyond them are their proxies.
const MOST_BLOCKS: u8 = 128;

/// The processor that hands over a thread block's messages.
fn proxy(block: u8) -> u8 {
    block | MOST_BLOCKS
}

/// What a processor is called.
pub(crate) fn processor(cpu: u32) -> String {
    match cpu.checked_sub(MOST_BLOCKS.into()) {
        Some(block) => format!("proxy of thread block {block}"),
        None => format!("thread block {cpu}"),
    }
}

fn elements<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(Node::is_element)
}

/// Chunks of a GPU's buffers.
struct Room {
    input: i64,
    output: i64,
    scratch: i64,
}

impl Room {
    fn of(plan: &Plan<'_>, gpu: Node<'_, '_>) -> Result<Room, Wrong> {
        let chunks = |key: &str| match gpu.attribute(key) {
            // Nothing is known of its length.
            None => Ok(i64::MAX),
            Some(_) => plan.number(gpu, key, 0, 1 << 24),
        };
        let (input, output, scratch) = (chunks("i_chunks")?, chunks("o_chunks")?, chunks("s_chunks")?);
        let in_place = gpu.parent_element().and_then(|algo| algo.attribute("inplace")) == Some("1");
        let both = input.max(output);
        let (input, output) = if in_place { (both, both) } else { (input, output) };
        Ok(Room { input, output, scratch })
    }

    /// Fails where a step goes beyond one of this GPU's own buffers.
    fn holds(&self, plan: &Plan<'_>, step: Node<'_, '_>, [buffer, offset]: [&str; 2], count: i64) -> Result<(), Wrong> {
        let Some(name) = step.attribute(buffer) else { return Ok(()) };
        let chunks = match name {
            "i" => self.input,
            "o" => self.output,
            "s" => self.scratch,
            other => return Err(plan.wrong(step, format!("{buffer}=\"{other}\" (allowed: i, o, s)"))),
        };
        let from = plan.number(step, offset, 0, 1 << 24)?;
        match from + count <= chunks {
            true => Ok(()),
            false => {
                let what = format!(
                    "{offset}=\"{from}\" with cnt=\"{count}\" goes beyond buffer `{name}`, which has {chunks} chunks"
                );
                Err(plan.wrong(step, what))
            }
        }
    }
}

impl<'a> Plan<'a> {
    fn line(&self, node: Node<'_, '_>) -> u32 {
        self.document.text_pos_at(node.range().start).row
    }
    fn wrong(&self, node: Node<'_, '_>, what: String) -> Wrong {
        (self.line(node).to_string(), what)
    }
    fn named(&self, node: Node<'a, 'a>, name: &str) -> Result<(), Wrong> {
        match node.tag_name().name() {
            own if own == name => Ok(()),
            other => Err(self.wrong(node, format!("`{other}`: `{name}` is expected here"))),
        }
    }
    fn number(&self, node: Node<'_, '_>, key: &str, least: i64, most: i64) -> Result<i64, Wrong> {
        let text = node.attribute(key);
        let text = text.ok_or_else(|| self.wrong(node, format!("`{key}` is missing")))?;
        let number = text.trim().parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.wrong(node, format!("{key}=\"{text}\" (allowed: {least} to {most})")))
    }

    /// Whether the size is cut into the chunks of the buffers: as many as the largest input or output has. MSCCL's
    /// compiler writes no others. A custom plan (`custom`) need not use all of them.
    fn fits(&self, root: Node<'a, 'a>, parts: i64) -> Result<(), Wrong> {
        let stated = |gpu: Node<'a, 'a>| -> Result<Option<i64>, Wrong> {
            let room = Room::of(self, gpu)?;
            Ok(Some(room.input.max(room.output)).filter(|&chunks| chunks != i64::MAX))
        };
        let all: Option<Vec<i64>> = elements(root).map(stated).collect::<Result<_, Wrong>>()?;
        let Some(most) = all.and_then(|all| all.into_iter().max()) else { return Ok(()) };
        let may_be_more = root.attribute("coll").is_none_or(|name| ["custom", "send", "recv"].contains(&name));
        match parts > most || (parts < most && !may_be_more) {
            true => {
                let what = "must be as many as the larger of i_chunks and o_chunks of any gpu";
                Err(self.wrong(root, format!("nchunksperloop=\"{parts}\", and buffers have {most} chunks: {what}")))
            }
            false => Ok(()),
        }
    }

    fn gpu(&self, gpu: Node<'a, 'a>, rank: u32, draft: &mut Draft, bytes_of: impl Fn(u64) -> u64) -> Result<(), Wrong> {
        let room = Room::of(self, gpu)?;
        let mut known: BTreeMap<(i64, i64), Local> = BTreeMap::new();
        let mut waits = Vec::new();
        let mut blocks = BTreeSet::new();
        for block in elements(gpu) {
            self.named(block, "tb")?;
            let id = self.number(block, "id", 0, i64::from(MOST_BLOCKS) - 1)?;
            if !blocks.insert(id) {
                return Err(self.wrong(block, format!("thread block {id} of gpu {rank} occurs twice")));
            }
            let cpu = id as u8;
            let last = i64::from(draft.ranks()) - 1;
            let (to, from) = (self.number(block, "send", -1, last)?, self.number(block, "recv", -1, last)?);
            let channel = self.number(block, "chan", 0, self.channels - 1)? as u32;
            draft.stands(Place { file: 0, at: [self.line(block).into(), 0] });
            let launch = self.costs.launch_ps;
            let mut before = (launch > 0).then(|| draft.calc(rank, cpu, launch));
            for (number, step) in (0..).zip(elements(block)) {
                self.named(step, "step")?;
                if self.number(step, "s", 0, 1 << 24)? != number {
                    let text = step.attribute("s").unwrap_or_default();
                    let what = format!("s=\"{text}\": is step {number} of its thread block, which count from 0 on");
                    return Err(self.wrong(step, what));
                }
                draft.stands(Place { file: 0, at: [self.line(step).into(), 0] });
                let begun = draft.len(rank);
                let kind = step.attribute("type").unwrap_or_default();
                // A `nop` only waits: compilers write 0 or -1.
                let count = self.number(step, "cnt", if kind == "nop" { -1 } else { 1 }, 1 << 24)?.max(0);
                let bytes = bytes_of(count as u64);
                let sent = self.protocol.sent(bytes);
                let neighbour = |other: i64, what: &str| {
                    let other = u32::try_from(other).ok().filter(|&other| other != rank);
                    other.ok_or_else(|| self.wrong(step, format!("its thread block has no other GPU to {what}")))
                };
                let [receives, reduces, copies, sends] = match kind {
                    "s" => [false, false, false, true],
                    "r" => [true, false, true, false],
                    "rcs" => [true, false, true, true],
                    "rrs" | "rrcs" => [true, true, false, true],
                    "rrc" => [true, true, false, false],
                    "cpy" => [false, false, true, false],
                    "re" => [false, true, false, false],
                    "nop" => [false; 4],
                    other => {
                        let allowed = "s, r, rcs, rrs, rrc, rrcs, cpy, re, nop";
                        return Err(self.wrong(step, format!("type `{other}` (allowed: {allowed})")));
                    }
                };
                // What is received and not copied is combined with what lies there, and what is sent at once comes from there.
                let [reads, writes] = [
                    reduces || (sends && !receives) || kind == "cpy",
                    copies || kind == "rrc" || kind == "rrcs" || kind == "re",
                ];
                if reads {
                    room.holds(self, step, ["srcbuf", "srcoff"], count)?;
                }
                if writes {
                    room.holds(self, step, ["dstbuf", "dstoff"], count)?;
                }
                if receives {
                    draft.recv(rank, neighbour(from, "receive from")?, sent, channel, cpu);
                }
                let work = match (reduces, copies) {
                    (true, _) => Some(self.costs.reduce_ps_per_byte),
                    (false, true) => Some(self.costs.copy_ps_per_byte),
                    _ => None,
                };
                if let Some(each) = work.filter(|&each| each > 0.0 || !receives) {
                    draft.calc(rank, cpu, (each * bytes as f64).round() as u64);
                }
                let peer = if sends { Some(neighbour(to, "send to")?) } else { None };
                let far = |peer: u32| self.homes[peer as usize].host != self.homes[rank as usize].host;
                let posting = peer.and_then(|peer| self.costs.posting(far(peer), bytes));
                match (peer, posting) {
                    (Some(peer), None) => _ = draft.send(rank, peer, sent, channel, cpu),
                    // The step has an operation of the block itself, for which others may wait.
                    _ if draft.len(rank) == begun => _ = draft.calc(rank, cpu, 0),
                    _ => {}
                }
                for op in begun..draft.len(rank) {
                    before.into_iter().for_each(|before| draft.requires(rank, op, before));
                    before = Some(op);
                }
                known.insert((id, number), draft.len(rank) - 1);
                if let (Some(peer), Some(posting)) = (peer, posting) {
                    let posted = draft.post(rank, proxy(cpu), posting);
                    before.into_iter().for_each(|before| draft.requires(rank, posted, before));
                    let send = draft.send(rank, peer, sent, channel, proxy(cpu));
                    draft.requires(rank, send, posted);
                }
                if let Some(text) = step.attribute("hasdep").filter(|text| !["0", "1"].contains(text)) {
                    return Err(self.wrong(step, format!("hasdep=\"{text}\" (allowed: 0, 1)")));
                }
                let (on, of) = (self.number(step, "depid", -1, 1 << 20)?, self.number(step, "deps", -1, 1 << 24)?);
                match on >= 0 {
                    same if same != (of >= 0) => {
                        let what = format!("depid=\"{on}\" deps=\"{of}\": a step waits for both or, with -1, for none");
                        return Err(self.wrong(step, what));
                    }
                    true => waits.push((step, begun, (on, of))),
                    false => {}
                }
            }
        }
        for (step, after, (block, number)) in waits {
            let before = known.get(&(block, number));
            let before = before.ok_or_else(|| {
                self.wrong(
                    step,
                    format!("waits for step {number} of thread block {block}, which gpu {rank} does not have"),
                )
            })?;
            draft.requires(rank, after, *before);
        }
        Ok(())
    }
}
