//! Myrinet: host DMA, a processor (LANai) that handles every packet, and staging memory (K98 s12, s18).
//!
//! A block leaves in packets of a page. Host DMA brings a page into staging memory, and the LANai sends it. The
//! receiver's network DMA takes it in, and host DMA writes it to memory. All engines work at the same time. One host
//! DMA serves both directions on the host bus; the two network DMAs have a channel each. A strided deposit makes the
//! receiver's LANai start one DMA for each word, and the sender's too where it gathers words (K98 s13). There are no
//! remote loads.

use super::{Bus, Channel};
use hotlink_bound::Peak;
use hotlink_event::pipeline::{Pieces, Pipeline, Window};
use hotlink_fabric::ledger::Unfit;
use hotlink_fabric::spec::Role;
use hotlink_fabric::units::Time;
use hotlink_memory::{Memory, Parameters, WORD};

#[derive(Clone, Debug)]
pub(super) struct Myrinet {
    pub bus: Bus,
    bus_name: String,
    burst: u64,
    page: u64,
    staging_packets: u64,
    setup: Time,
    send: Time,
    receive: Time,
    element: Time,
    link: Channel,
    /// Bytes around the payload of a packet on the node's own link.
    overhead: u64,
}

impl Myrinet {
    pub fn new(parameters: Parameters<'_>) -> Result<Myrinet, Unfit> {
        let mut link = Channel::new(parameters, Role::Link, "link")?;
        // Node, crossbar, node: the head passes two cables and a switch, cut through.
        link.latency = link.latency + link.latency + parameters.latency(Role::Switch, "switch")?;
        let page = parameters.piece("page_size")?;
        Ok(Myrinet {
            bus: Bus::from_parameters(parameters)?,
            bus_name: parameters.resource(Role::HostBus, "host-bus")?.name().to_owned(),
            burst: parameters.piece("dma_burst")?,
            page,
            // Half of the memory holds the control program and the other direction.
            staging_packets: (parameters.capacity("adapter_memory")? / 2 / page).max(1),
            setup: parameters.time("dma_setup_time")?,
            send: parameters.time("nic_send_time")?,
            receive: parameters.time("nic_receive_time")?,
            element: parameters.time("nic_element_time")?,
            link,
            overhead: parameters.overhead(1.0)?,
        })
    }

    fn on_link(&self, bytes: u64) -> Time {
        self.link.rate.time_for(bytes + self.overhead)
    }

    /// A deposit of words `stride` apart, `offset` bytes into a page.
    pub fn deposit(&self, memory: &Memory, bytes: u64, stride: u64, offset: u64) -> Pipeline {
        if stride <= 1 {
            return self.contiguous(bytes, offset);
        }
        let mut pipeline = self.strided(bytes, false);
        pipeline.no_faster(pipeline.arrival, memory.store_word(stride));
        pipeline
    }

    /// Words `stride` apart, which the sender's LANai gathers for contiguous memory at the receiver.
    pub fn gather(&self, memory: &Memory, bytes: u64, stride: u64) -> Pipeline {
        if stride <= 1 {
            return self.contiguous(bytes, 0);
        }
        let mut pipeline = self.strided(bytes, true);
        pipeline.no_faster(1, memory.read_word(stride));
        pipeline
    }

    fn contiguous(&self, bytes: u64, offset: u64) -> Pipeline {
        let mut pipeline = Pipeline::new(Pieces::new(bytes, self.page, offset));
        pipeline.start = self.setup;
        let servers = self.servers(&mut pipeline);
        pipeline.step(servers[0], |_| self.send, Time::ZERO);
        pipeline.step(servers[1], |bytes| self.bus.read(bytes, self.burst), Time::ZERO);
        pipeline.step(servers[2], |bytes| self.on_link(bytes), self.link.latency);
        pipeline.step(servers[3], |_| self.receive, Time::ZERO);
        pipeline.arrival = pipeline.step(servers[4], |bytes| self.bus.write(bytes, self.burst), Time::ZERO);
        self.stage(&mut pipeline, self.staging_packets);
        pipeline
    }

    /// Word by word: one side's work is a DMA for each, the other's its share of a packet. A packet's own path to where
    /// words are scattered comes before that; from where they are gathered, after.
    fn strided(&self, bytes: u64, gathers: bool) -> Pipeline {
        let first = bytes.min(self.page);
        let moved = if gathers { self.bus.write(first, self.burst) } else { self.bus.read(first, self.burst) };
        let way = self.send + moved + self.on_link(first) + self.link.latency + self.receive;
        let mut pipeline = Pipeline::new(Pieces::new(bytes, WORD, 0));
        pipeline.start = self.setup + way;
        let servers = self.servers(&mut pipeline);
        let share = |time: Time| Time((time.0 * WORD).div_ceil(self.page));
        let (mut sent, mut received) = (share(self.send), share(self.receive));
        *(if gathers { &mut sent } else { &mut received }) += self.element;
        pipeline.step(servers[0], |_| sent, Time::ZERO);
        let read = |bytes| self.bus.read(bytes, self.burst);
        pipeline.step(servers[1], |bytes| if gathers { read(bytes) } else { share(read(self.page)) }, Time::ZERO);
        pipeline.step(servers[2], |_| share(self.on_link(self.page)), Time::ZERO);
        pipeline.step(servers[3], |_| received, Time::ZERO);
        let write = |bytes| self.bus.write(bytes, self.burst);
        let last = |bytes| if gathers { share(write(self.page)) } else { write(bytes) };
        pipeline.arrival = pipeline.step(servers[4], last, Time::ZERO);
        self.stage(&mut pipeline, self.staging_packets * self.page / WORD);
        pipeline
    }

    fn servers(&self, pipeline: &mut Pipeline) -> [usize; 5] {
        [
            pipeline.server("LANai (sender)"),
            pipeline.server(&format!("{} (sender)", self.bus_name)),
            pipeline.server(&self.link.name),
            pipeline.server("LANai (receiver)"),
            pipeline.server(&format!("{} (receiver)", self.bus_name)),
        ]
    }

    /// Staging memory of both adapters.
    fn stage(&self, pipeline: &mut Pipeline, size: u64) {
        pipeline.windows.push(Window { name: "staging memory (sender)", from: 0, to: 2, size });
        pipeline.windows.push(Window { name: "staging memory (receiver)", from: 2, to: 4, size });
    }

    pub fn peaks(&self, bytes: u64) -> Vec<Peak> {
        let efficiency = bytes as f64 / (bytes + bytes.div_ceil(self.page) * self.overhead) as f64;
        vec![
            Peak::of_bytes_per_s(self.bus.peak(), self.bus_name.clone()),
            Peak::of_bytes_per_s(self.link.rate.0 as f64 * efficiency, self.link.name.clone()),
        ]
    }
}
