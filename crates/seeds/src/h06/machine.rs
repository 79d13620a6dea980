//! The machines of H06 with the catalog's values: barrier networks, and the software barrier it compares with.

use crate::evidence::Found;
use hotlink_barrier::BarrierNetwork;
use hotlink_bench::Step;
use hotlink_fabric::barrier::BarrierSpec;
use hotlink_fabric::catalog::{Library, Mistake};
use hotlink_fabric::ledger::Inputs;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_loggp::{Curve, LogGops, Machine, PerByte};
use hotlink_study::ask::Method;
use hotlink_study::simulate::loggp::recorded;
use std::convert::Infallible;

/// The networks of H06 s24 that have no barrier hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Software {
    Gige,
    Infiniband,
}

impl Software {
    pub(super) fn fabric(self) -> &'static str {
        match self {
            Software::Gige => "gige",
            Software::Infiniband => "ib-qdr",
        }
    }
}

/// The machines of the catalog that H06 describes: with a barrier network, and without.
pub(super) struct Machines {
    fabrics: Vec<FabricSpec>,
}

pub(super) const HARDWARE: [&str; 8] =
    ["bluegene-l", "cm5", "earth-simulator", "hwbarr", "papers", "sharp", "t3d-barrier", "vpp500"];

impl Machines {
    pub(super) fn open(library: &Library) -> Result<Machines, Vec<Mistake>> {
        let software = [Software::Gige, Software::Infiniband].map(Software::fabric);
        let names = HARDWARE.iter().chain(&software);
        let fabrics = names.map(|name| Ok(library.fabric(name)?.spec)).collect::<Result<_, Vec<Mistake>>>()?;
        Ok(Machines { fabrics })
    }

    pub(super) fn fabric(&self, name: &str) -> &FabricSpec {
        self.fabrics.iter().find(|spec| spec.name == name).expect("the embedded catalog has the machines of H06")
    }

    /// A number that an engine makes of a machine.
    pub(super) fn found(&self, method: Method, name: &str, answer: impl Fn(&FabricSpec) -> f64) -> Found {
        let asked = Found::by(method, self.fabric(name), |spec| Ok::<f64, Infallible>(answer(spec)));
        asked.unwrap_or_else(|never| match never {})
    }
}

/// The machine's barrier network.
pub(super) fn network(machine: &FabricSpec) -> &BarrierSpec {
    machine.barrier().expect("a machine with barrier hardware")
}

/// A barrier of nodes that arrive together, simulated.
pub(super) fn hardware_us(machine: &FabricSpec, nodes: u32) -> f64 {
    let mut network = BarrierNetwork::new(network(machine), nodes, false).expect("a size that the machine has");
    let run = network.barrier(0, &vec![Time::ZERO; nodes as usize]).expect("a safe barrier");
    run.latency().us()
}

/// A dissemination barrier of empty messages, simulated on the machine's LogGP values.
pub(super) fn software_us(machine: &FabricSpec, nodes: u32) -> f64 {
    let inputs = Inputs::new(machine);
    let ps = |name: &str| inputs.require(name).expect("the embedded catalog or its technology states it");
    let (send, recv) = (ps("host_overhead_send"), ps("host_overhead_recv"));
    // Half a round trip is o_s + L + o_r; what the catalog does not separate stays in L.
    let latency = Time((ps("mpi_latency") - send - recv).max(0.0).round() as u64);
    let overhead = Time(((send + recv) / 2.0).round() as u64);
    let machine_of_bytes = short_messages(latency, overhead, Time(ps("message_gap").round() as u64));
    let barrier: Step = "barrier:dissemination".parse().expect("a known collective");
    let machine = Machine::of_messages(&machine.name, machine_of_bytes);
    recorded(&machine, &[barrier], 1, nodes).expect("a barrier that ends").1.elapsed.us()
}

/// A machine for messages of a byte.
pub(super) fn short_messages(latency: Time, overhead: Time, gap: Time) -> LogGops {
    LogGops {
        latency,
        overhead,
        gap,
        gap_per_byte: PerByte(0),
        overhead_per_byte: PerByte(0),
        eager_max: u64::MAX,
        calc_unit: Time(1_000),
        transit: Curve::default(),
        occupancy: Curve::default(),
    }
}
