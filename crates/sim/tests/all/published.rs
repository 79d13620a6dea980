//! What parts print of their own message passing, and the stack over them.

use hotlink_fabric::catalog::Library;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::{Fabric, catalog};
use hotlink_message::Comm;
use hotlink_port::{Driver, Kind, Port, Program, Span};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};
use std::collections::BTreeSet;

/// A message there and back.
struct RoundTrip(u64);

impl<P: Port> Program<P, u64> for RoundTrip {
    async fn run(&self, port: P) -> u64 {
        let comm = Comm::new(port);
        let memory = comm.alloc(self.0, Kind::Default).expect("memory");
        let span = Span::new(memory, 0, self.0);
        let peer = 1 - comm.rank();
        // The second time all that is set up once is.
        let mut took = 0;
        for _ in 0..2 {
            let start = comm.now();
            if comm.rank() == 0 {
                comm.send(peer, 0, span).await.expect("a receiver");
            }
            comm.recv(Some(peer), Some(0), span).await.expect("a sender");
            if comm.rank() == 1 {
                comm.send(peer, 0, span).await.expect("a receiver");
            }
            took = (comm.now() - start).0;
        }
        took
    }
}

/// Half a round trip between neighbours, in picoseconds.
fn half_round_trip(spec: &FabricSpec, bytes: u64) -> f64 {
    let fabric = Fabric::build(spec, 2).expect("two nodes");
    let settings = Settings::of(spec);
    let plan = Plan::new(&fabric, &settings).expect("a plan");
    let mut driver = VirtualTime::new(&plan, &settings).expect("all that the stack needs");
    driver.run(2, &RoundTrip(bytes)).expect("both end")[0] as f64 / 2.0
}

/// Issue 16, point 2: within 5 %, for any fabric with the part. A part that prints neither says nothing about software.
/// The stack then takes its technology's assumptions, and records name them.
#[test]
fn the_stack_reaches_what_parts_print_of_their_message_passing() {
    let library = Library::embedded();
    let (mut checked, mut wrong) = (BTreeSet::new(), Vec::new());
    for listed in library.list("fabrics") {
        let spec = catalog::load(&listed.name).expect("a fabric of the catalog");
        let mut check = |name: &str, reached: f64| {
            let Some(printed) = spec.parameters.get(name) else { return };
            let off = reached / printed.value - 1.0;
            checked.insert((name.to_owned(), spec.technology.name));
            if off.abs() > 0.05 {
                wrong.push(format!("{}: {name} is missed by {:+.1} %", spec.name, 100.0 * off));
            }
        };
        if spec.parameters.contains_key("mpi_latency") {
            for bytes in [1, 8] {
                check("mpi_latency", half_round_trip(&spec, bytes));
            }
        }
        if spec.parameters.contains_key("mpi_bandwidth") {
            for bytes in [1 << 20, 4 << 20] {
                check("mpi_bandwidth", bytes as f64 * 1e12 / half_round_trip(&spec, bytes));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let latencies =
        ["gigabit-ethernet", "infiniband", "myrinet", "qsnet", "sci"].map(|of| ("mpi_latency".to_owned(), of));
    let all: BTreeSet<_> = latencies.into_iter().chain([("mpi_bandwidth".to_owned(), "qsnet")]).collect();
    assert_eq!(checked, all);
}
