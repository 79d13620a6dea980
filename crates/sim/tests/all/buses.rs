//! One bus model serves the deposit benchmark and programs on ports. What a node sends and receives crosses its host
//! bus with bursts and turnarounds, whatever puts it there.

use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_message::{Comm, Endpoint};
use hotlink_port::{Driver, Kind, Layout, Port, Program, Span};
use hotlink_sim::host::{Deposit, Host, Series};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};

const BYTES: u64 = 1 << 20;

/// Rank 0 puts a block into rank 1's memory; if `both`, rank 1 does the same at the same time.
struct Put {
    kind: Kind,
    both: bool,
}

impl<P: Port> Program<P, u64> for Put {
    async fn run(&self, port: P) -> u64 {
        let comm = Comm::new(port);
        let window = comm.open_window(BYTES, self.kind).await.expect("a window");
        let from = Span::new(Endpoint::alloc(&comm, BYTES, self.kind).expect("memory"), 0, BYTES);
        Endpoint::prepare(&comm, from.memory).expect("prepared");
        comm.barrier().await.expect("both are there");
        let start = comm.now();
        if comm.rank() == 0 || self.both {
            let to = 1 - comm.rank();
            Endpoint::put(&comm, &window, to, from, 0, Layout::contiguous(BYTES)).await.expect("room");
        }
        let taken = (comm.now() - start).0;
        comm.barrier().await.expect("both are there");
        taken
    }
}

/// MB/s of each direction, and the name of the resource that was busiest.
fn rate(spec: &FabricSpec, kind: Kind, both: bool) -> (f64, String) {
    let fabric = Fabric::build(spec, 2).expect("two nodes");
    let settings = Settings::of(spec);
    let plan = Plan::new(&fabric, &settings).expect("a plan");
    let mut driver = VirtualTime::new(&plan, &settings).unwrap();
    let times = driver.run(2, &Put { kind, both }).expect("both end");
    let slowest = *times.iter().max().expect("two ranks");
    let busy = &driver.outcome().expect("it ran").run.busy;
    let hot = (0..busy.len()).max_by(|&a, &b| busy[a].total_cmp(&busy[b])).expect("servers");
    (BYTES as f64 / slowest as f64 * 1e6, plan.server_name(hot as u32))
}

/// Rates in MB/s of one direction alone and of each of both. Stores move the data where `kind` lets the processor map
/// the memory, otherwise the adapter's engine. With both directions the bus is the hottest resource, and the sum is
/// less than twice one direction.
fn one_and_both(spec: &FabricSpec, kind: Kind) -> (f64, f64) {
    let ((one, _), (both, hot)) = (rate(spec, kind, false), rate(spec, kind, true));
    assert!(hot.contains(&spec.resources[&Role::HostBus].name), "{}: {hot}", spec.name);
    assert!(both < 0.95 * one, "{} {kind:?}: {both} each way, {one} alone", spec.name);
    (one, both)
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.03
}

#[test]
fn both_directions_share_the_bus_as_in_the_deposit_benchmark() {
    for (name, kind) in [
        ("k98-sci", Kind::Default),
        ("k98-clustar", Kind::Default),
        ("w01-sci-d330", Kind::Default),
        ("k98-myrinet", Kind::Private),
    ] {
        let spec = catalog::load(name).expect("in the catalog");
        let host = Host::new(&spec).expect("a host model");
        let (one, both) = one_and_both(&spec, kind);
        let alone = host.deposit(&Deposit::new(BYTES, 1, Series::RemoteDirect)).rate / 1e6;
        assert!(near(one, alone), "{name}: {one} alone, {alone} by the model of the host");
        let exchange = host.exchange(BYTES).rate / 1e6;
        assert!(near(both, exchange), "{name}: {both} each way, {exchange} by the model of the host");
    }
}

#[test]
fn the_engines_reads_and_what_it_receives_share_the_bus() {
    for (name, burst) in [("k98-sci", 64), ("k98-clustar", 64), ("w01-sci-d330", 128)] {
        let spec = catalog::load(name).expect("in the catalog");
        let host = Host::new(&spec).expect("a host model");
        let bus = host.bus().expect("PCI");
        let (one, both) = one_and_both(&spec, Kind::Private);
        // Each page of ordinary memory at either end is an operation of the engine's chain.
        let pages = Time(host.page_time().0 * (BYTES / 4096));
        let alone = BYTES as f64 / (host.block_by_engine(BYTES).time + pages).us();
        assert!(near(one, alone), "{name}: {one} alone, {alone} by the model of the host");
        // While the engine turns to the next page, the other side's data may use the bus, or may just have done so.
        let clocks = bus.read(BYTES, burst) + bus.write(BYTES, burst);
        let [most, least] = [clocks, clocks + pages].map(|time| BYTES as f64 / time.us());
        assert!(
            (0.99 * least..1.01 * most).contains(&both),
            "{name}: {both} each way, {least} to {most} by the clocks"
        );
    }
    let qsnet = catalog::load("qsnet").expect("in the catalog");
    let (_, both) = one_and_both(&qsnet, Kind::Private);
    // 320 bytes in 43 clocks of 66.67 MHz, twice.
    assert!(near(both, 320.0 / 86.0 * 66.67), "{both}");
}

/// The overhead of a bus transaction counts in programs, too.
#[test]
fn turnarounds_cost_both_directions() {
    let spec = catalog::load("k98-myrinet").expect("in the catalog");
    let mut slower = spec.clone();
    slower.parameters.get_mut("bus_turnaround_clocks").expect("stated").value = 8.0;
    let (before, after) = (rate(&spec, Kind::Private, true).0, rate(&slower, Kind::Private, true).0);
    assert!(after < 0.9 * before, "{after} for {before}");
}
