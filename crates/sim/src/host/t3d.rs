//! Cray T3D: stores to remote memory through the annex, put there by a deposit engine with its own path to memory
//! (K98 s16, s22).
//!
//! The network interface sends what the processor's write buffer holds: a line of a contiguous run, else a word. The
//! receiving processor has no part in it, so that a stride costs only its packets' headers.

use super::Channel;
use hotlink_bound::Peak;
use hotlink_event::pipeline::{Pieces, Pipeline, Window};
use hotlink_fabric::ledger::Unfit;
use hotlink_fabric::spec::Role;
use hotlink_fabric::units::Time;
use hotlink_memory::{Memory, Parameters, WORD};

#[derive(Clone, Debug)]
pub(super) struct T3d {
    link: Channel,
    /// Latency of the network alone, without what the engines take.
    network: Time,
    engine: String,
    overhead: u64,
    payload: u64,
    issue: Time,
    write_buffers: u64,
    /// Time to point an entry of the annex at another node.
    annex: Time,
    read_latency: Option<Time>,
    remote_reads: u64,
}

impl T3d {
    pub fn new(parameters: Parameters<'_>) -> Result<T3d, Unfit> {
        let mut link = Channel::new(parameters, Role::Link, "link")?;
        let engine = parameters.resource(Role::Nic, "nic")?;
        let network = link.latency + parameters.latency(Role::Switch, "switch")?;
        link.latency = network + parameters.latency(Role::Nic, "nic")?;
        Ok(T3d {
            link,
            network,
            engine: engine.name().to_owned(),
            overhead: parameters.overhead(0.0)?,
            payload: parameters.payload()?,
            issue: parameters.time("write_issue_time")?,
            write_buffers: parameters.buffers("write_buffers")?,
            annex: parameters.time("annex_time")?,
            read_latency: parameters.time_if("pio_read_latency")?,
            remote_reads: if parameters.has("remote_reads") { parameters.buffers("remote_reads")? } else { 1 },
        })
    }

    /// The processor stores `bytes` to remote words `stride` apart, `offset` bytes into a line.
    pub fn store(&self, memory: &Memory, bytes: u64, stride: u64, offset: u64) -> Pipeline {
        let pieces = if stride <= 1 { Pieces::new(bytes, self.payload, offset) } else { Pieces::new(bytes, WORD, 0) };
        let mut pipeline = Pipeline::new(pieces);
        pipeline.start = self.annex;
        let processor = pipeline.server("processor (sender)");
        let link = pipeline.server(&self.link.name);
        let engine = pipeline.server(&format!("{} (receiver)", self.engine));
        let work = |bytes| memory.read_to_store(bytes) + self.issue;
        let wire = |bytes| self.link.rate.time_for(bytes + self.overhead);
        let load = pipeline.step(processor, work, Time::ZERO);
        let send = pipeline.step(link, wire, self.link.latency);
        pipeline.windows.push(Window { name: "write buffers", from: load, to: send, size: self.write_buffers });
        pipeline.arrival = pipeline.step(engine, |_| memory.store_line(), Time::ZERO);
        if stride > 1 {
            pipeline.no_faster(pipeline.arrival, memory.store_word(stride));
        }
        pipeline
    }

    /// The processor loads `bytes` of remote words `stride` apart. It requests each word through the prefetch queue,
    /// and the remote engine reads it without the remote processor.
    pub fn fetch(&self, memory: &Memory, bytes: u64, stride: u64) -> Option<Pipeline> {
        let one_load = self.fetch_after(memory, WORD, 2, Time::ZERO).run().time;
        let rest = Time((self.read_latency? + self.annex).0.saturating_sub(one_load.0));
        Some(self.fetch_after(memory, bytes, stride, rest))
    }

    /// A fetch whose requests spend `rest` more than the other parameters explain.
    fn fetch_after(&self, memory: &Memory, bytes: u64, stride: u64, rest: Time) -> Pipeline {
        let mut pipeline = Pipeline::new(Pieces::new(bytes, WORD, 0));
        pipeline.start = self.annex;
        let processor = pipeline.server("processor (reader)");
        let there = pipeline.server(&format!("{} (requests)", self.link.name));
        let engine = pipeline.server(&format!("{} (read)", self.engine));
        let back = pipeline.server(&self.link.name);
        let read = |bytes| if stride <= 1 { memory.read(bytes) } else { memory.read_line() };
        let first = pipeline.step(processor, |_| self.issue, Time::ZERO);
        pipeline.step(there, |_| self.link.rate.time_for(self.overhead), self.network);
        pipeline.step(engine, read, rest);
        pipeline.step(back, |bytes| self.link.rate.time_for(bytes + self.overhead), self.network);
        pipeline.arrival = pipeline.step(processor, |_| self.issue, Time::ZERO);
        let size = self.remote_reads;
        pipeline.windows.push(Window { name: "prefetch queue", from: first, to: pipeline.arrival, size });
        pipeline
    }

    pub fn peaks(&self) -> Vec<Peak> {
        let share = self.payload as f64 / (self.payload + self.overhead) as f64;
        vec![Peak::of_bytes_per_s(self.link.rate.0 as f64 * share, self.link.name.clone())]
    }
}
