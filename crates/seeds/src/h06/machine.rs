//! The machines of H06 with the catalog's values: barrier networks, and the software barrier it compares with.

use hotlink_bench::Step;
use hotlink_fabric::barrier::BarrierSpec;
use hotlink_fabric::catalog::{Library, Mistake};
use hotlink_fabric::ledger::Inputs;
use hotlink_fabric::units::Time;
use hotlink_loggp::{Curve, LogGops, Machine, PerByte};
use hotlink_sim::barrier::BarrierNetwork;
use hotlink_study::simulate::loggp::recorded;

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

/// Fabrics of the catalog with a barrier network, and LogGP parameters of those without.
pub(super) struct Machines {
    pub(super) hardware: Vec<(String, BarrierSpec)>,
    gige: LogGops,
    infiniband: LogGops,
}

const HARDWARE: [&str; 7] = ["bluegene-l", "cm5", "earth-simulator", "hwbarr", "papers", "sharp", "t3d-barrier"];

impl Machines {
    pub(super) fn open(library: &Library) -> Result<Machines, Vec<Mistake>> {
        let mut hardware = Vec::new();
        for name in HARDWARE {
            let spec = library.fabric(name)?.spec;
            hardware.extend(spec.barrier.map(|barrier| (spec.name, barrier)));
        }
        let loggp = |software: Software| {
            let spec = library.fabric(software.fabric())?.spec;
            let inputs = Inputs::new(&spec);
            let ps = |name: &str| inputs.require(name).expect("the embedded catalog or its technology states it");
            let (send, recv) = (ps("host_overhead_send"), ps("host_overhead_recv"));
            // Half a round trip is o_s + L + o_r; what the catalog does not tell apart stays in L.
            let latency = Time((ps("mpi_latency") - send - recv).max(0.0).round() as u64);
            Ok::<LogGops, Vec<Mistake>>(short_messages(
                latency,
                Time(((send + recv) / 2.0).round() as u64),
                Time(ps("message_gap").round() as u64),
            ))
        };
        Ok(Machines { hardware, gige: loggp(Software::Gige)?, infiniband: loggp(Software::Infiniband)? })
    }

    pub(super) fn spec(&self, name: &str) -> &BarrierSpec {
        let found = self.hardware.iter().find(|(known, _)| known == name);
        &found.expect("the embedded catalog has the machines of H06").1
    }

    /// A barrier of nodes that arrive together, simulated.
    pub(super) fn hardware_us(&self, name: &str, nodes: u32) -> f64 {
        let mut network = BarrierNetwork::new(self.spec(name), nodes, false).expect("a size that the machine has");
        let run = network.barrier(0, &vec![Time::ZERO; nodes as usize]).expect("a safe barrier");
        run.latency().us()
    }

    /// A dissemination barrier of empty messages, simulated.
    pub(super) fn software_us(&self, software: Software, nodes: u32) -> f64 {
        let machine = match software {
            Software::Gige => &self.gige,
            Software::Infiniband => &self.infiniband,
        };
        let barrier: Step = "barrier:dissemination".parse().expect("a known collective");
        let machine = Machine::of_messages(software.fabric(), *machine);
        recorded(&machine, &[barrier], 1, nodes).expect("a barrier that ends").1.elapsed.us()
    }
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
