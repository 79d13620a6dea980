//! MSCCL++'s execution plans: `gpus`, `threadblocks`, `ops`.
//!
//! A `put` becomes a message of its bytes, a `signal` an empty one. The `wait` that takes the signal receives what was
//! put on the channel before it. A remote read (`get`, `rre`, `rres`) becomes an empty message there and its bytes
//! back. The reader knows `nop`, `barrier`, `put`, `pws`, `pwsf`, `get`, `copy`, `signal`, `rlxsignal`, `wait`,
//! `rlxwait`, `flush`, `re`, `res`, `rre`, `rres`, `sem_acquire` and `sem_release`. Packets with flags, multicast and
//! pipelines are errors that say so.
//!
//! On GPUs whose kernels are known, what is put or signalled takes a step of their Simple before it leaves: data, then a
//! flag. The `protocol` of a plan does not change that: it makes room for packets, which are operations of their own
//! (MSCCL++ `src/executor/execution_plan.cc`). What is read from another GPU passes no flags.

use super::{Wrong, size};
use crate::collective::{Costs, Home};
use crate::draft::{Draft, Local};
use crate::form::{Builder, MOST_BYTES, MOST_RANKS, Place};
use crate::protocol::Protocol;
use crate::read::Options;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Whether a document is such a plan.
pub(crate) fn recognises(document: &Value) -> bool {
    document.get("gpus").is_some()
}

/// Where an operation stands.
pub(crate) fn path(gpu: u64, at: u64) -> String {
    format!("gpus[{gpu}].threadblocks[{}].ops[{}]", at >> 32, at & 0xffff_ffff)
}

/// What a processor is called.
pub(crate) fn processor(cpu: u32) -> String {
    if cpu == u32::from(PROXY) { "proxy".to_owned() } else { format!("thread block {cpu}") }
}

/// Processor that serves remote reads, and that takes what nothing waits for.
const READS: u8 = 255;
/// Tags of remote reads.
const READ: u32 = 1 << 24;
/// The one proxy of a GPU, which hands over the messages of all thread blocks.
const PROXY: u8 = 254;
const MOST_BLOCKS: usize = 254;

/// From a GPU to another on one channel: its tag.
type Way = (u32, u32, u32);

/// All operations, in picoseconds.
pub(crate) fn builder(document: &Value, options: &Options, watched: u32) -> Result<Builder, Wrong> {
    let list = document["gpus"].as_array().filter(|gpus| !gpus.is_empty() && gpus.len() <= MOST_RANKS as usize);
    let list = list.ok_or_else(|| ("gpus".to_owned(), "must be a list of GPUs".to_owned()))?;
    let bytes = size(options)?;
    let gpus = list.iter().enumerate().map(|(index, gpu)| Gpu::of(index, gpu, list.len()));
    let gpus = gpus.collect::<Result<Vec<Gpu<'_>>, Wrong>>()?;
    let parts = gpus.iter().map(|gpu| gpu.chunks).max().unwrap_or(1);
    let (many, blocks) = (gpus.len() as u32, gpus.iter().map(|gpu| gpu.blocks.len()).max().unwrap_or(1));
    let costs = options.cut.of_plan(options.costs, Protocol::Simple, (many, blocks.max(1) as u32));
    let mut reader = Reader {
        draft: Draft::new(gpus.len() as u32),
        chunk: bytes.div_ceil(parts),
        costs: costs.map_err(|has| ("protocol".to_owned(), format!("Simple: its GPUs have {has}")))?,
        homes: options.cut.homes(many),
        put: put(&gpus)?,
        reads: 0,
    };
    for gpu in &gpus {
        reader.gpu(gpu)?;
    }
    // What was put and is waited for by nobody still arrives.
    let rest = std::mem::take(&mut reader.put);
    for ((from, to, tag), signals) in rest {
        for chunks in signals.into_iter().flatten() {
            let bytes = reader.bytes(chunks);
            reader.draft.recv(to, from, bytes, tag, READS);
        }
    }
    Ok(reader.draft.builder(watched))
}

struct Gpu<'a> {
    rank: u32,
    chunks: u64,
    /// Chunks of its scratch buffer, if stated.
    scratch: Option<u64>,
    blocks: &'a [Value],
    /// For each type of channel, by its number: the other GPU and the tag of the pair's channel.
    channels: BTreeMap<&'static str, Vec<(u32, u32)>>,
    /// First values of semaphores.
    semaphores: Vec<u64>,
}

const TYPES: [&str; 2] = ["memory", "port"];

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

impl<'a> Gpu<'a> {
    fn of(index: usize, gpu: &'a Value, many: usize) -> Result<Gpu<'a>, Wrong> {
        let wrong = |key: &str, what: &str| (format!("gpus[{index}].{key}"), what.to_owned());
        if gpu["id"].as_u64() != Some(index as u64) {
            return Err(wrong("id", &format!("{} (allowed: {index}, its place in the list)", gpu["id"])));
        }
        let chunks = |key: &str| gpu[key].as_u64().ok_or_else(|| wrong(key, "must be a whole number"));
        let chunks = chunks("input_chunks")?.max(chunks("output_chunks")?).max(1);
        let blocks = list(gpu, "threadblocks");
        if blocks.len() > MOST_BLOCKS {
            return Err(wrong("threadblocks", "more than 254 thread blocks"));
        }
        let mut channels: BTreeMap<&'static str, Vec<(u32, u32)>> = BTreeMap::new();
        let mut pairs: BTreeMap<(usize, u32), u32> = BTreeMap::new();
        for channel in list(gpu, "channels") {
            let kind = channel["channel_type"].as_str().unwrap_or_default();
            let Some(number) = TYPES.iter().position(|known| *known == kind) else { continue };
            for peer in list(channel, "connected_to") {
                let peer = peer.as_u64().filter(|&peer| peer < many as u64 && peer != index as u64);
                let peer =
                    peer.ok_or_else(|| wrong("channels", "connected_to: must be other GPUs of the plan"))? as u32;
                let nth = pairs.entry((number, peer)).or_default();
                channels.entry(TYPES[number]).or_default().push((peer, *nth * 2 + number as u32));
                *nth += 1;
            }
        }
        let semaphores = list(gpu, "semaphores");
        let semaphores = semaphores.iter().map(|one| one["init_value"].as_u64().unwrap_or(0)).collect();
        let scratch = gpu["scratch_chunks"].as_u64();
        Ok(Gpu { rank: index as u32, chunks, scratch, blocks, channels, semaphores })
    }

    fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let of = move |(block, value): (usize, &'a Value)| {
            let steps = list(value, "ops").iter().enumerate();
            steps.map(move |(number, op)| Step {
                gpu: self,
                block,
                number,
                op,
                name: op["name"].as_str().unwrap_or_default(),
            })
        };
        self.blocks.iter().enumerate().flat_map(of)
    }
}

/// An operation in its place.
#[derive(Clone, Copy)]
struct Step<'a> {
    gpu: &'a Gpu<'a>,
    block: usize,
    number: usize,
    op: &'a Value,
    name: &'a str,
}

impl Step<'_> {
    fn at(&self) -> [u64; 2] {
        [self.gpu.rank.into(), (self.block as u64) << 32 | self.number as u64]
    }
    fn wrong(&self, what: &str) -> Wrong {
        let [gpu, at] = self.at();
        (path(gpu, at), what.to_owned())
    }

    /// The other GPUs of its channels, with the tags.
    fn channels(&self) -> Result<Vec<(u32, u32)>, Wrong> {
        let kind = self.op["channel_type"].as_str().unwrap_or_default();
        let own = list(&self.gpu.blocks[self.block], "channels").iter();
        let own = own.filter(|channel| channel["channel_type"].as_str() == Some(kind));
        let own: Vec<&Value> = own.flat_map(|channel| list(channel, "channel_ids")).collect();
        let known = self.gpu.channels.get(kind);
        let of = |id: &Value| {
            let own = own.get(id.as_u64()? as usize)?.as_u64()?;
            known?.get(own as usize).copied()
        };
        let ids = list(self.op, "channel_ids").iter();
        ids.map(|id| of(id).ok_or_else(|| self.wrong(&format!("channel {id} of type `{kind}` does not exist"))))
            .collect()
    }

    fn chunks(&self, value: &Value) -> Result<u64, Wrong> {
        let size = value["size"].as_u64().filter(|&size| size <= 1 << 24);
        let size = size.ok_or_else(|| self.wrong("a buffer's size must be a number of chunks"))?;
        let from = value["index"].as_u64().unwrap_or(0);
        // Another GPU's buffer has a number alone. In place, input and output are one.
        let own = match value["type"].as_str() {
            Some("i" | "o") => Some(self.gpu.chunks),
            Some("s") => self.gpu.scratch,
            _ => None,
        };
        match own.filter(|&own| from.saturating_add(size) > own) {
            None => Ok(size),
            Some(own) => {
                Err(self.wrong(&format!("{size} chunks from {from} on go beyond its buffer, which has {own}")))
            }
        }
    }

    /// What is put on each channel: to whom, the tag, chunks.
    fn puts(&self) -> Result<Vec<(u32, u32, u64)>, Wrong> {
        let channels = self.channels()?;
        let targets = list(self.op, "dst_buff");
        let sources = list(self.op, "src_buff");
        channels
            .into_iter()
            .enumerate()
            .map(|(nth, (peer, tag))| {
                let source = sources.get(nth).or(sources.first());
                source.map_or(Ok(0), |source| self.chunks(source))?;
                let buffer = targets.get(nth).or(targets.first()).or(source);
                let buffer = buffer.ok_or_else(|| self.wrong("has no dst_buff"))?;
                Ok((peer, tag, self.chunks(buffer)?))
            })
            .collect()
    }

    fn puts_data(&self) -> bool {
        ["put", "pws", "pwsf", "res", "rres"].contains(&self.name)
    }
    fn signals(&self) -> bool {
        ["signal", "rlxsignal", "pws", "pwsf"].contains(&self.name)
    }
}

/// What was put before each signal, by the path it took; last what no signal follows.
fn put(gpus: &[Gpu<'_>]) -> Result<BTreeMap<Way, VecDeque<Vec<u64>>>, Wrong> {
    let mut all: BTreeMap<Way, VecDeque<Vec<u64>>> = BTreeMap::new();
    for step in gpus.iter().flat_map(Gpu::steps) {
        let from = step.gpu.rank;
        if step.puts_data() {
            for (to, tag, chunks) in step.puts()? {
                let signals = all.entry((from, to, tag)).or_default();
                if signals.is_empty() {
                    signals.push_back(Vec::new());
                }
                signals.back_mut().into_iter().for_each(|last| last.push(chunks));
            }
        }
        if step.signals() {
            for (to, tag) in step.channels()? {
                let signals = all.entry((from, to, tag)).or_default();
                if signals.is_empty() {
                    signals.push_back(Vec::new());
                }
                signals.push_back(Vec::new());
            }
        }
    }
    Ok(all)
}

struct Reader {
    draft: Draft,
    chunk: u64,
    costs: Costs,
    /// Where each GPU is.
    homes: Arc<[Home]>,
    put: BTreeMap<Way, VecDeque<Vec<u64>>>,
    reads: u32,
}

/// What thread blocks of one GPU wait for each other.
#[derive(Default)]
struct Meetings {
    /// By barrier and round: who came, and who goes on.
    barriers: BTreeMap<(u64, u32), (Vec<Local>, Vec<Local>)>,
    released: BTreeMap<u64, Vec<Local>>,
    acquired: BTreeMap<u64, Vec<Local>>,
}

impl Reader {
    fn bytes(&self, chunks: u64) -> u64 {
        chunks.saturating_mul(self.chunk).min(MOST_BYTES)
    }

    fn gpu(&mut self, gpu: &Gpu<'_>) -> Result<(), Wrong> {
        let mut meetings = Meetings::default();
        let mut last: BTreeMap<usize, Local> = BTreeMap::new();
        let mut sent: BTreeMap<usize, Option<Local>> = BTreeMap::new();
        let mut rounds: BTreeMap<(usize, u64), u32> = BTreeMap::new();
        for step in gpu.steps() {
            self.draft.stands(Place { file: 0, at: step.at() });
            let launch = self.costs.launch_ps;
            if launch > 0 && !last.contains_key(&step.block) {
                last.insert(step.block, self.draft.calc(gpu.rank, step.block as u8, launch));
            }
            for op in self.step(&step, &mut meetings, &mut rounds)? {
                if let Some(before) = last.insert(step.block, op) {
                    self.draft.requires(gpu.rank, op, before);
                }
            }
            let before = last.get(&step.block).copied();
            self.hand_over(&step, before, sent.entry(step.block).or_default())?;
        }
        for (came, go) in meetings.barriers.into_values() {
            go.iter().for_each(|&after| came.iter().for_each(|&before| self.draft.requires(gpu.rank, after, before)));
        }
        for (id, acquired) in meetings.acquired {
            let free = gpu.semaphores.get(id as usize).copied().unwrap_or(0) as usize;
            let released = meetings.released.remove(&id).unwrap_or_default();
            for (nth, after) in acquired.into_iter().enumerate().skip(free) {
                let before = released.get(nth - free).ok_or_else(|| {
                    let what = format!("semaphore {id} is acquired more often than it is released");
                    (format!("gpus[{}].semaphores", gpu.rank), what)
                })?;
                self.draft.requires(gpu.rank, after, *before);
            }
        }
        Ok(())
    }

    /// The operations of a step, in their order on its thread block.
    fn step(
        &mut self,
        step: &Step<'_>,
        meetings: &mut Meetings,
        rounds: &mut BTreeMap<(usize, u64), u32>,
    ) -> Result<Vec<Local>, Wrong> {
        let (rank, cpu) = (step.gpu.rank, step.block as u8);
        let mut ops = Vec::new();
        let moved = |reader: &Reader| -> Result<u64, Wrong> {
            let buffers = [list(step.op, "src_buff"), list(step.op, "dst_buff")];
            let largest =
                buffers.iter().map(|list| list.iter().map(|one| step.chunks(one)).sum::<Result<u64, Wrong>>());
            Ok(reader.bytes(largest.collect::<Result<Vec<u64>, Wrong>>()?.into_iter().max().unwrap_or(0)))
        };
        match step.name {
            "nop" | "flush" => ops.push(self.draft.calc(rank, cpu, 0)),
            "put" | "pws" | "pwsf" | "signal" | "rlxsignal" => {}
            "copy" => {
                let ps = self.costs.copy_ps_per_byte * moved(self)? as f64;
                ops.push(self.draft.calc(rank, cpu, ps.round() as u64));
            }
            "re" | "res" => {
                let ps = self.costs.reduce_ps_per_byte * moved(self)? as f64;
                ops.push(self.draft.calc(rank, cpu, ps.round() as u64));
            }
            "get" | "rre" | "rres" => ops.extend(self.read(step)?),
            "wait" | "rlxwait" => {
                for (from, tag) in step.channels()? {
                    let signals = self.put.get_mut(&(from, rank, tag));
                    let chunks = signals.filter(|signals| signals.len() > 1).and_then(VecDeque::pop_front);
                    let chunks =
                        chunks.ok_or_else(|| step.wrong(&format!("gpu {from} sends no signal for this wait")))?;
                    for chunks in chunks {
                        let bytes = self.bytes(chunks);
                        ops.push(self.draft.recv(rank, from, bytes, tag, cpu));
                    }
                    ops.push(self.draft.recv(rank, from, 0, tag, cpu));
                }
            }
            "barrier" => {
                let id = step.op["barrier_id"].as_u64().ok_or_else(|| step.wrong("barrier_id is missing"))?;
                let round = rounds.entry((step.block, id)).or_default();
                let came = self.draft.calc(rank, cpu, 0);
                let goes = self.draft.calc(rank, cpu, 0);
                let meeting = meetings.barriers.entry((id, *round)).or_default();
                meeting.0.push(came);
                meeting.1.push(goes);
                *round += 1;
                ops.extend([came, goes]);
            }
            "sem_acquire" | "sem_release" => {
                let op = self.draft.calc(rank, cpu, 0);
                for id in list(step.op, "semaphore_ids") {
                    let id = id.as_u64().ok_or_else(|| step.wrong("semaphore_ids: must be whole numbers"))?;
                    let of = if step.name == "sem_acquire" { &mut meetings.acquired } else { &mut meetings.released };
                    of.entry(id).or_default().push(op);
                }
                ops.push(op);
            }
            other => {
                let read = "nop, barrier, put, pws, pwsf, get, copy, signal, rlxsignal, wait, rlxwait, flush, re, res, rre, \
                            rres, sem_acquire, sem_release";
                return Err(step.wrong(&format!("operation `{other}` is not read (read are: {read})")));
            }
        }
        for (to, tag, bytes) in self.messages(step)? {
            if self.posting(rank, to, bytes).is_none() {
                ops.push(self.draft.send(rank, to, bytes, tag, cpu));
            }
        }
        // What others wait for is an operation of the block itself.
        if ops.is_empty() {
            ops.push(self.draft.calc(rank, cpu, 0));
        }
        Ok(ops)
    }

    /// What a step puts and signals: to whom, the tag, bytes.
    fn messages(&self, step: &Step<'_>) -> Result<Vec<(u32, u32, u64)>, Wrong> {
        let data = if step.puts_data() { step.puts()? } else { Vec::new() };
        let flags = if step.signals() { step.channels()? } else { Vec::new() };
        let data = data.into_iter().map(|(to, tag, chunks)| (to, tag, self.bytes(chunks)));
        Ok(data.chain(flags.into_iter().map(|(to, tag)| (to, tag, 0))).collect())
    }

    /// What software works on a message, and what passes until it leaves; `None`: it leaves at once.
    fn posting(&self, rank: u32, to: u32, bytes: u64) -> Option<[u64; 2]> {
        let host = |rank: u32| self.homes[rank as usize].host;
        self.costs.posting(host(to) != host(rank), bytes)
    }

    /// Messages that take a step before they leave, after `last` of their block, and after those that it `sent` before. What
    /// follows there does not wait for them.
    fn hand_over(&mut self, step: &Step<'_>, last: Option<Local>, sent: &mut Option<Local>) -> Result<(), Wrong> {
        let rank = step.gpu.rank;
        for (to, tag, bytes) in self.messages(step)? {
            let Some(posting) = self.posting(rank, to, bytes) else { continue };
            let posted = self.draft.post(rank, PROXY, posting);
            last.into_iter().for_each(|last| self.draft.requires(rank, posted, last));
            let send = self.draft.send(rank, to, bytes, tag, PROXY);
            self.draft.requires(rank, send, posted);
            if let Some(before) = sent.replace(send) {
                self.draft.requires(rank, send, before);
            }
        }
        Ok(())
    }

    /// Concurrent remote reads, and the reduction of their data.
    fn read(&mut self, step: &Step<'_>) -> Result<Vec<Local>, Wrong> {
        let (rank, cpu) = (step.gpu.rank, step.block as u8);
        let remote: Vec<&Value> =
            list(step.op, "src_buff").iter().filter(|buffer| buffer.get("buffer_id").is_some()).collect();
        let (mut asked, mut came) = (Vec::new(), Vec::new());
        for (nth, (from, _)) in step.channels()?.into_iter().enumerate() {
            let Some(buffer) = remote.get(nth) else { break };
            let bytes = self.bytes(step.chunks(buffer)?);
            let tag = READ + self.reads;
            self.reads += 1;
            asked.push(self.draft.send(rank, from, 0, tag, cpu));
            let heard = self.draft.recv(from, rank, 0, tag, READS);
            let answer = self.draft.send(from, rank, bytes, tag, READS);
            self.draft.requires(from, answer, heard);
            came.push((self.draft.recv(rank, from, bytes, tag, cpu), bytes));
        }
        if came.is_empty() {
            return Err(step.wrong("reads no remote buffer"));
        }
        let each = if step.name == "get" { 0.0 } else { self.costs.reduce_ps_per_byte };
        let ps: f64 = came.iter().map(|&(_, bytes)| each * bytes as f64).sum();
        asked.extend(came.into_iter().map(|(op, _)| op));
        if ps > 0.0 {
            asked.push(self.draft.calc(rank, cpu, ps.round() as u64));
        }
        Ok(asked)
    }
}
