//! Dolphin's PCI-SCI adapters: remote memory that the processor stores to through stream buffers (K98 s14-15, s20).
//!
//! A contiguous run of stores fills a stream buffer, which leaves as one SCI packet. A store elsewhere sends what the
//! buffer holds as a small packet, so that strided words travel one by one. A buffer is taken until its packet's
//! response is back: stream buffers times payload, over the round trip, bounds the rate. Bus-master DMA makes full
//! packets after its setup.

use super::{Bus, Channel};
use hotlink_bound::Peak;
use hotlink_event::pipeline::{Pieces, Pipeline, Window};
use hotlink_fabric::ledger::Unfit;
use hotlink_fabric::spec::Role;
use hotlink_fabric::units::Time;
use hotlink_memory::{Memory, Parameters, WORD};

#[derive(Clone, Debug)]
pub(super) struct Sci {
    pub bus: Bus,
    bus_name: String,
    write_burst: u64,
    write_buffers: u64,
    issue: Time,
    buffers: u64,
    buffer_bytes: u64,
    smallest: u64,
    overhead: u64,
    response: u64,
    dma_setup: Time,
    alignment: u64,
    pio_latency: Time,
    read_latency: Option<Time>,
    b_link: Channel,
    link: Channel,
}

/// What feeds the adapter.
enum Source<'a> {
    /// The processor, from memory.
    Stores(&'a Memory),
    /// Bus-master DMA.
    Dma,
}

impl Sci {
    pub fn new(parameters: Parameters<'_>) -> Result<Sci, Unfit> {
        Ok(Sci {
            bus: Bus::from_parameters(parameters)?,
            bus_name: parameters.resource(Role::HostBus, "host-bus")?.name().to_owned(),
            write_burst: parameters.piece("write_burst")?,
            write_buffers: parameters.buffers("write_buffers")?,
            issue: parameters.time("write_issue_time")?,
            buffers: parameters.buffers("stream_buffers")?,
            buffer_bytes: parameters.piece("stream_buffer_size")?,
            smallest: parameters.piece("packet_data_min")?,
            overhead: parameters.overhead(0.0)?,
            response: parameters.response()?,
            dma_setup: parameters.time("dma_setup_time")?,
            alignment: parameters.piece("deposit_alignment")?,
            pio_latency: parameters.time("pio_latency")?,
            read_latency: parameters.time_if("pio_read_latency")?,
            b_link: Channel::new(parameters, Role::BLink, "b-link")?,
            link: Channel::new(parameters, Role::Link, "link")?,
        })
    }

    /// The processor stores `bytes` to remote words `stride` apart, `offset` bytes after a stream buffer's boundary.
    pub fn store(&self, memory: &Memory, bytes: u64, stride: u64, offset: u64) -> Pipeline {
        match stride {
            0 | 1 => self.packets(&Source::Stores(memory), bytes, self.buffer_bytes, offset),
            _ => {
                let mut pipeline = self.packets(&Source::Stores(memory), bytes, WORD, 0);
                // The first step is the processor's; words that arrive each open what they need.
                let work = pipeline.steps[0].service[1] + memory.translate_word(stride);
                pipeline.no_faster(0, work);
                pipeline.no_faster(pipeline.arrival, memory.store_word(stride));
                pipeline
            }
        }
    }

    /// DMA moves `bytes` to contiguous remote memory; where its alignment does not allow that, the processor stores.
    pub fn dma(&self, memory: &Memory, bytes: u64, offset: u64) -> Pipeline {
        let aligned = bytes.is_multiple_of(self.alignment) && offset.is_multiple_of(self.alignment);
        let source = if aligned { Source::Dma } else { Source::Stores(memory) };
        self.packets(&source, bytes, self.buffer_bytes, offset)
    }

    /// The processor loads `bytes` of remote words. Of a contiguous run the bridge prefetches as much as a stream
    /// buffer holds, otherwise one word. The processor waits for each prefetch, and reads the data word by word.
    pub fn fetch(&self, bytes: u64, stride: u64, offset: u64) -> Option<Pipeline> {
        let one_load = self.fetch_after(WORD, 2, 0, Time::ZERO).run().time;
        let rest = Time(self.read_latency?.0.saturating_sub(one_load.0));
        Some(self.fetch_after(bytes, stride, offset, rest))
    }

    /// A fetch whose requests spend `rest` more than the other parameters explain.
    fn fetch_after(&self, bytes: u64, stride: u64, offset: u64, rest: Time) -> Pipeline {
        let unit = if stride <= 1 { self.buffer_bytes } else { WORD };
        let mut pipeline = Pipeline::new(Pieces::new(bytes, unit, if stride <= 1 { offset } else { 0 }));
        let bus = pipeline.server(&format!("{} (reader)", self.bus_name));
        let from = pipeline.server(&format!("{} (reader)", self.b_link.name));
        let there = pipeline.server(&format!("{} (requests)", self.link.name));
        let to = pipeline.server(&format!("{} (read)", self.b_link.name));
        let memory = pipeline.server(&format!("{} (read)", self.bus_name));
        let back = pipeline.server(&self.link.name);
        let first = pipeline.step(bus, |_| self.bus.read(WORD, WORD), Time::ZERO);
        for (server, channel) in [(from, &self.b_link), (there, &self.link), (to, &self.b_link)] {
            pipeline.step(server, |_| channel.rate.time_for(self.overhead), channel.latency);
        }
        pipeline.step(memory, |bytes| self.bus.read(bytes, self.buffer_bytes), rest);
        for (server, channel) in [(to, &self.b_link), (back, &self.link), (from, &self.b_link)] {
            pipeline.step(server, |bytes| channel.rate.time_for(self.on_wire(bytes)), channel.latency);
        }
        pipeline.arrival = pipeline.step(bus, |bytes| self.bus.read(bytes, WORD), Time::ZERO);
        pipeline.windows.push(Window { name: "loads (round trip)", from: first, to: pipeline.arrival, size: 1 });
        pipeline
    }

    /// Bytes of SCI packets that carry `bytes` of one stream buffer. A full buffer leaves as one packet, part of one as
    /// packets of the smallest data field.
    fn on_wire(&self, bytes: u64) -> u64 {
        if bytes >= self.buffer_bytes {
            bytes + self.overhead
        } else {
            bytes.div_ceil(self.smallest) * (self.smallest + self.overhead)
        }
    }

    /// Bytes on the wire of words alone over those of full packets, in 1/256.
    pub fn wire_stretch(&self) -> u64 {
        256 * self.on_wire(WORD) * self.buffer_bytes / (WORD * self.on_wire(self.buffer_bytes))
    }

    /// Time through the two adapters that no other parameter explains: what is left of a single store's one-way time.
    /// Half is spent in each adapter.
    fn unexplained(&self) -> Time {
        let wire = self.on_wire(WORD);
        let b_link = self.b_link.rate.time_for(wire) + self.b_link.latency;
        let bus = self.bus.write(WORD, self.write_burst);
        let known = self.issue + bus + b_link + b_link + self.link.rate.time_for(wire) + self.link.latency + bus;
        Time(self.pio_latency.0.saturating_sub(known.0))
    }

    fn packets(&self, source: &Source<'_>, bytes: u64, unit: u64, offset: u64) -> Pipeline {
        let mut pipeline = Pipeline::new(Pieces::new(bytes, unit, offset));
        let bus = pipeline.server(&format!("{} (sender)", self.bus_name));
        let first = match source {
            Source::Stores(memory) => self.stores(&mut pipeline, bus, memory, unit),
            Source::Dma => {
                pipeline.start = self.dma_setup;
                let read = |bytes| self.bus.read(bytes, self.buffer_bytes);
                pipeline.step(bus, read, Time::ZERO)
            }
        };
        let end = self.network(&mut pipeline);
        pipeline.windows.push(Window { name: "stream buffers (round trip)", from: first, to: end, size: self.buffers });
        pipeline
    }

    /// Time that the engine takes between two pages that are not contiguous, which are two operations of its chain. It
    /// waits for the responses of the first operation and reads the descriptor of the second.
    pub fn page_time(&self) -> Time {
        let last = self.packets(&Source::Dma, self.buffer_bytes, self.buffer_bytes, 0);
        let round: u64 = last.steps.iter().skip(1).map(|step| step.service[0].0 + step.latency.0).sum();
        Time(round) + self.bus.read(self.write_burst, self.write_burst)
    }

    /// Load from memory, store through write combining: the step on the bus.
    fn stores(&self, pipeline: &mut Pipeline, bus: usize, memory: &Memory, unit: u64) -> usize {
        let bursts = |bytes: u64| bytes.div_ceil(self.write_burst);
        let processor = pipeline.server("processor (sender)");
        let work = |bytes| Time(memory.read_to_store(bytes).0 + bursts(bytes) * self.issue.0);
        let write = |bytes| self.bus.write(bytes, self.write_burst);
        let load = pipeline.step(processor, work, Time::ZERO);
        let store = pipeline.step(bus, write, Time::ZERO);
        // While one item's bursts drain, the next one's fill, for any number of bursts of an item.
        let size = (self.write_buffers / bursts(unit)).max(self.write_buffers.min(2));
        pipeline.windows.push(Window { name: "write buffers", from: load, to: store, size });
        store
    }

    /// Request and response; returns the last step.
    fn network(&self, pipeline: &mut Pipeline) -> usize {
        let from = pipeline.server(&format!("{} (sender)", self.b_link.name));
        let there = pipeline.server(&self.link.name);
        let to = pipeline.server(&format!("{} (receiver)", self.b_link.name));
        let back = pipeline.server(&format!("{} (responses)", self.link.name));
        let bus = pipeline.server(&format!("{} (receiver)", self.bus_name));
        let half = Time(self.unexplained().0 / 2);
        let (adapter, hop) = (self.b_link.latency + half, self.link.latency);
        for (server, channel, latency) in
            [(from, &self.b_link, adapter), (there, &self.link, hop), (to, &self.b_link, adapter)]
        {
            pipeline.step(server, |bytes| channel.rate.time_for(self.on_wire(bytes)), latency);
        }
        let write = |bytes| self.bus.write(bytes, self.buffer_bytes);
        pipeline.arrival = pipeline.step(bus, write, Time::ZERO);
        for (server, channel, latency) in
            [(to, &self.b_link, adapter), (back, &self.link, hop), (from, &self.b_link, adapter)]
        {
            pipeline.step(server, |_| channel.rate.time_for(self.response), latency);
        }
        pipeline.steps.len() - 1
    }

    /// Full packets on the channels; the B-Link carries the responses, too.
    pub fn peaks(&self) -> Vec<Peak> {
        let payload = self.buffer_bytes as f64;
        let share = |bytes: u64| payload / bytes as f64;
        let request = self.on_wire(self.buffer_bytes);
        vec![
            Peak::of_bytes_per_s(self.bus.peak(), self.bus_name.clone()),
            Peak::of_bytes_per_s(self.b_link.rate.0 as f64 * share(request + self.response), self.b_link.name.clone()),
            Peak::of_bytes_per_s(self.link.rate.0 as f64 * share(request), self.link.name.clone()),
        ]
    }
}
