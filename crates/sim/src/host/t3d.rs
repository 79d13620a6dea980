//! Cray T3D: stores to remote memory through the annex, put there by a deposit engine with its own way to memory
//! (K98 s16, s22).
//!
//! The network interface sends what the processor's write buffer holds: a line of a contiguous run, else a word. The
//! receiving processor has no part in it, so that a stride costs only its packets' headers.

use super::memory::{Memory, WORD};
use super::parameters::Parameters;
use super::pipeline::{Pieces, Pipeline, Window};
use super::{Channel, HostError};
use hotlink_fabric::spec::Role;
use hotlink_fabric::units::Time;

#[derive(Clone, Debug)]
pub(super) struct T3d {
    link: Channel,
    engine: String,
    overhead: u64,
    payload: u64,
    issue: Time,
    write_buffers: u64,
}

impl T3d {
    pub fn new(parameters: Parameters<'_>) -> Result<T3d, HostError> {
        let mut link = Channel::new(parameters, Role::Link, "link")?;
        let engine = parameters.resource(Role::Nic, "nic")?;
        link.latency =
            link.latency + parameters.latency(Role::Switch, "switch")? + parameters.latency(Role::Nic, "nic")?;
        Ok(T3d {
            link,
            engine: engine.name.clone(),
            overhead: parameters.overhead(0.0)?,
            payload: parameters.payload()?,
            issue: parameters.time("write_issue_time")?,
            write_buffers: parameters.buffers("write_buffers")?,
        })
    }

    /// The processor stores `bytes` to remote words `stride` apart, `offset` bytes into a line.
    pub fn store(&self, memory: &Memory, bytes: u64, stride: u64, offset: u64) -> Pipeline {
        let pieces = if stride <= 1 { Pieces::new(bytes, self.payload, offset) } else { Pieces::new(bytes, WORD, 0) };
        let mut pipeline = Pipeline::new(pieces);
        let processor = pipeline.server("processor (sender)");
        let link = pipeline.server(&self.link.name);
        let engine = pipeline.server(&format!("{} (receiver)", self.engine));
        let work = |bytes| memory.read(bytes) + self.issue;
        let wire = |bytes| self.link.rate.time_for(bytes + self.overhead);
        let load = pipeline.step(processor, work, Time::ZERO);
        let send = pipeline.step(link, wire, self.link.latency);
        pipeline.windows.push(Window { name: "write buffers", from: load, to: send, size: self.write_buffers });
        pipeline.arrival = pipeline.step(engine, |_| memory.store_line(), Time::ZERO);
        pipeline
    }

    pub fn peaks(&self) -> Vec<(String, f64)> {
        let share = self.payload as f64 / (self.payload + self.overhead) as f64;
        vec![(self.link.name.clone(), self.link.rate.0 as f64 * share)]
    }
}
