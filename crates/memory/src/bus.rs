//! The host bus: a clocked bus of bursts, shared by both directions (PCI).
//!
//! Every transaction pays clocks that move no data. PCI 2.1's least holds for a target that decodes at medium speed. A
//! write takes an address phase, a wait for DEVSEL#, a data phase each clock, and an idle turnaround. A read has the
//! turn of the address/data lines in place of the wait. So 64 data phases (a burst of 256 bytes on 32 bits) take 67
//! clocks: 132 MB/s become 126.1.

use crate::WORD;
use crate::engine::waits;
use crate::machine::Machine;
use crate::parameters::Parameters;
use hotlink_fabric::ledger::Unfit;
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_fabric::technology::AdapterModel;
use hotlink_fabric::units::Time;

/// A host bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    clock_hz: u64,
    width: u64,
    address: u64,
    turnaround: u64,
    write_wait: u64,
    /// The wait of a read for its first data, and in picoseconds for each further line where the memory lags behind.
    read_wait: u64,
    line: u64,
    lag_ps: u64,
}

/// Lines of the bursts by which the memory's lag is found.
const MANY: u64 = 16;

impl Bus {
    /// The bus of a fabric's machines. The wait of its reads follows from the memory behind the bridge, unless the
    /// machine states it (`bus_read_wait_clocks`).
    ///
    /// # Errors
    /// The first value that is missing or out of range.
    pub fn from_parameters(parameters: Parameters<'_>) -> Result<Bus, Unfit> {
        let mut bus = Bus {
            clock_hz: parameters.frequency("bus_clock")?,
            width: parameters.piece("bus_width")?,
            address: parameters.clocks("bus_address_clocks")?,
            turnaround: parameters.clocks("bus_turnaround_clocks")?,
            write_wait: parameters.clocks("bus_write_wait_clocks")?,
            read_wait: 0,
            line: 1,
            lag_ps: 0,
        };
        if parameters.has("bus_read_wait_clocks") {
            bus.read_wait = parameters.clocks("bus_read_wait_clocks")?;
            return Ok(bus);
        }
        // Asked for by name, so that its absence is reported.
        parameters.time("bridge_time")?;
        Ok(bus.before(&Machine::new(parameters)?))
    }

    /// The same bus before the memory of `machine`: waits as they follow from its lines, rows and bridge.
    #[must_use]
    pub fn before(mut self, machine: &Machine) -> Bus {
        let data = self.clocks(machine.line.div_ceil(self.width));
        let [first, many] = [1, MANY].map(|lines| waits(machine, lines, data).unwrap_or(Time::ZERO));
        self.read_wait = (u128::from(first.0) * u128::from(self.clock_hz)).div_ceil(1_000_000_000_000) as u64;
        self.line = machine.line;
        self.lag_ps = many.0.saturating_sub(first.0) / (MANY - 1);
        self
    }

    /// Bytes per second if every clock moved data.
    pub fn peak(&self) -> f64 {
        self.clock_hz as f64 * self.width as f64
    }

    /// Clocks that the first data of a read wait beyond the protocol's least.
    pub fn read_wait(&self) -> u64 {
        self.read_wait
    }

    /// The same bus whose targets let a read wait `clocks` more than the protocol's least.
    #[must_use]
    pub fn with_read_wait(self, clocks: u64) -> Bus {
        Bus { read_wait: clocks, lag_ps: 0, ..self }
    }

    /// Time on the bus to write `bytes` in bursts of at most `burst` bytes.
    pub fn write(&self, bytes: u64, burst: u64) -> Time {
        self.bursts(bytes, burst, self.address + self.write_wait + self.turnaround)
    }

    /// Time on the bus to read `bytes` in bursts of at most `burst` bytes.
    pub fn read(&self, bytes: u64, burst: u64) -> Time {
        let least = self.bursts(bytes, burst, self.address + self.turnaround + self.read_wait + self.turnaround);
        let further = |bytes: u64| bytes.div_ceil(self.line).saturating_sub(1);
        let lines = bytes / burst * further(burst) + further(bytes % burst);
        least + Time(if self.lag_ps == 0 { 0 } else { lines * self.lag_ps })
    }

    /// Time on the bus of a burst's data alone.
    pub fn data(&self, bytes: u64) -> Time {
        self.clocks(bytes.div_ceil(self.width))
    }

    fn bursts(&self, bytes: u64, burst: u64, extra: u64) -> Time {
        let whole = bytes / burst;
        let rest = bytes % burst;
        let data = whole * burst.div_ceil(self.width) + rest.div_ceil(self.width);
        self.clocks(data + bytes.div_ceil(burst) * extra)
    }

    fn clocks(&self, clocks: u64) -> Time {
        Time((u128::from(clocks) * 1_000_000_000_000).div_ceil(u128::from(self.clock_hz)) as u64)
    }
}

/// What puts data on the sender's bus, and in which pieces they reach the receiver's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusUse {
    /// The processor's stores, in bursts of write combining; else the adapter reads memory (DMA).
    pub stores: bool,
    /// Word by word (a stride): each is a burst of its own.
    pub scattered: bool,
}

impl BusUse {
    /// A block that the adapter reads.
    pub const DMA: BusUse = BusUse { stores: false, scattered: false };
}

/// The time of transfers between two nodes on both their buses: the bus with the bursts of its users. Every family of
/// adapters on a clocked bus has one, with or without a model of the rest.
#[derive(Clone, Copy, Debug)]
pub struct Buses {
    bus: Bus,
    /// Longest burst of the adapter.
    adapter: u64,
    /// Longest burst of the processor.
    processor: u64,
}

impl Buses {
    /// Longest burst of the adapter.
    pub fn burst(&self) -> u64 {
        self.adapter
    }

    /// The bus.
    pub fn bus(&self) -> Bus {
        self.bus
    }

    /// Those of a fabric whose bus and bursts are known.
    pub fn of(fabric: &FabricSpec) -> Option<Buses> {
        let parameters = Parameters(fabric);
        parameters.resource(Role::HostBus, "host-bus").ok()?;
        // SCI's bridge moves a stream buffer at a time.
        let sci = fabric.technology.adapter.value == AdapterModel::Sci;
        let adapter = parameters.piece(if sci { "stream_buffer_size" } else { "dma_burst" }).ok()?;
        let processor = parameters.piece("write_burst").unwrap_or(WORD);
        Some(Buses { bus: Bus::from_parameters(parameters).ok()?, adapter, processor })
    }

    /// Time that `bytes` take on the sender's bus and on the receiver's.
    pub fn transfer(&self, how: BusUse, bytes: u64) -> [Time; 2] {
        let Buses { bus, adapter, processor } = *self;
        let words = bus.write(bytes, WORD);
        let sent = match how {
            BusUse { stores: true, scattered: true } => words,
            BusUse { stores: true, .. } => bus.write(bytes, processor),
            BusUse { stores: false, .. } => bus.read(bytes, adapter),
        };
        [sent, if how.scattered { words } else { bus.write(bytes, adapter) }]
    }

    /// Time on the sender's bus to notify the adapter of a transfer: one burst of the processor.
    pub fn descriptor(&self) -> Time {
        self.bus.write(self.processor, self.processor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PCI: Bus = Bus {
        clock_hz: 33_000_000,
        width: 4,
        address: 1,
        turnaround: 1,
        write_wait: 1,
        read_wait: 0,
        line: 32,
        lag_ps: 0,
    };

    #[test]
    fn a_burst_of_64_data_phases_takes_67_clocks() {
        assert_eq!(PCI.write(256, 256), PCI.clocks(67));
        assert_eq!(PCI.read(256, 256), PCI.clocks(67));
        assert_eq!(PCI.write(8, 256), PCI.clocks(5));
        assert_eq!(PCI.with_read_wait(8).read(512, 256), PCI.clocks(150));
        assert!((256.0 / PCI.write(256, 256).s() / 1e6 - 132.0 * 64.0 / 67.0).abs() < 1e-3);
    }

    proptest! {
        #[test]
        fn no_burst_is_faster_than_the_peak(bytes in 1u64..1 << 20, burst in 1u64..8192) {
            prop_assert!(bytes as f64 / PCI.write(bytes, burst).s() <= PCI.peak());
            prop_assert!(bytes as f64 / PCI.read(bytes, burst).s() <= PCI.peak());
        }
    }
}
