//! A program on a simulated port sees the transfer time that the host's model gives. Every feature of memory, bus and
//! adapter (`host`) reaches the message stack this way.

use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_message::{Comm, Endpoint};
use hotlink_port::{Align, Driver, Kind, Layout, Port, Program, Span, Work};
use hotlink_sim::host::{Deposit, Host, Series};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};

/// Rank 0 puts into rank 1's memory and waits until it is visible there: picoseconds, once set up.
struct Put {
    kind: Kind,
    layout: Layout,
}

impl<P: Port> Program<P, u64> for Put {
    async fn run(&self, port: P) -> u64 {
        let comm = Comm::new(port);
        let window = comm.open_window(self.layout.extent(), self.kind).await.expect("a window");
        let mut taken = 0;
        if comm.rank() == 0 {
            let bytes = self.layout.bytes();
            let from = Span::new(Endpoint::alloc(&comm, bytes, self.kind).expect("memory"), 0, bytes);
            Endpoint::prepare(&comm, from.memory).expect("prepared");
            // The first maps or connects, which interrupts the other's processor.
            Endpoint::put(&comm, &window, 1, from, 0, self.layout).await.expect("room");
            let start = comm.now();
            Endpoint::put(&comm, &window, 1, from, 0, self.layout).await.expect("room");
            taken = (comm.now() - start).0;
        }
        comm.barrier().await.expect("both are there");
        taken
    }
}

fn put(spec: &FabricSpec, kind: Kind, bytes: u64, stride: u64) -> f64 {
    let fabric = Fabric::build(spec, 2).expect("two nodes");
    let settings = Settings::of(spec);
    let plan = Plan::new(&fabric, &settings).expect("a plan");
    let layout = match stride {
        1 => Layout::contiguous(bytes),
        stride => Layout { block: 8, count: bytes / 8, stride: 8 * stride },
    };
    VirtualTime::new(&plan, &settings).unwrap().run(2, &Put { kind, layout }).expect("both end")[0] as f64
}

/// By stores or by the engine, contiguous or not, in part of a page, in one and in many. The times agree within 6 % and
/// 0.1 us, apart from what a word takes on both.
#[test]
fn a_deposit_alone_takes_what_the_host_says() {
    for (name, kind, direct) in [
        ("k98-sci", Kind::Default, true),
        ("k98-sci", Kind::Private, false),
        ("k98-clustar", Kind::Default, true),
        ("w01-sci-d330", Kind::Default, true),
        ("k98-myrinet", Kind::Private, true),
        ("k98-t3d", Kind::Default, true),
    ] {
        let spec = catalog::load(name).expect("in the catalog");
        let host = Host::new(&spec).expect("a host model");
        for (bytes, stride) in [(64, 1), (512, 1), (4 << 10, 1), (9000, 1), (100 << 10, 1), (1 << 10, 8), (64 << 10, 8)]
        {
            let time = |bytes, stride| match direct || stride > 1 {
                true => host.deposit(&Deposit::new(bytes, stride, Series::RemoteDirect)).time.0 as f64,
                // Each page of ordinary memory but the first is a further operation of the engine's chain.
                false => (host.block_by_engine(bytes).time.0 + host.page_time().0 * ((bytes - 1) / 4096)) as f64,
            };
            let (alone, word) = (time(bytes, stride), put(&spec, kind, 8, 1) - time(8, 1));
            let seen = put(&spec, kind, bytes, stride) - word;
            assert!(
                (seen - alone).abs() < 0.06 * alone + 100e3,
                "{name} {kind:?} {bytes} B by {stride}: {seen} for {alone}"
            );
        }
    }
}

/// A change of any of these shows in what a program sees.
#[test]
fn every_feature_of_the_host_reaches_the_stack() {
    let features = [
        ("k98-sci", Kind::Default, 64 << 10, 1, "stream_buffers", 0.25),
        ("k98-sci", Kind::Default, 64 << 10, 1, "write_burst", 0.25),
        ("k98-sci", Kind::Default, 64 << 10, 1, "write_issue_time", 10.0),
        ("k98-sci", Kind::Default, 64 << 10, 8, "pio_latency", 4.0),
        ("k98-sci", Kind::Default, 64 << 10, 1, "memory_open_time", 6.0),
        ("k98-sci", Kind::Private, 64 << 10, 1, "dma_setup_time", 10.0),
        ("k98-sci", Kind::Private, 64 << 10, 1, "bridge_time", 2.0),
        ("k98-myrinet", Kind::Private, 4 << 10, 1, "bus_turnaround_clocks", 4.0),
        ("k98-myrinet", Kind::Private, 4 << 10, 1, "nic_send_time", 10.0),
        ("k98-myrinet", Kind::Private, 4 << 10, 1, "nic_receive_time", 10.0),
        ("k98-myrinet", Kind::Private, 4 << 10, 8, "nic_element_time", 2.0),
        ("k98-myrinet", Kind::Private, 64 << 10, 1, "dma_burst", 0.25),
        ("k98-t3d", Kind::Default, 8, 1, "annex_time", 10.0),
        ("k98-t3d", Kind::Default, 64 << 10, 1, "write_buffers", 0.25),
    ];
    for (name, kind, bytes, stride, parameter, factor) in features {
        let spec = catalog::load(name).expect("in the catalog");
        let mut changed = spec.clone();
        let value = &mut changed.parameters.get_mut(parameter).expect("stated").value;
        *value = if *value == 0.0 { 16.0 } else { *value * factor };
        let (before, after) = (put(&spec, kind, bytes, stride), put(&changed, kind, bytes, stride));
        assert!(after > before, "{name}: {parameter}: {after} for {before}");
    }
}

/// Sends blocks of ordinary memory with this alignment. Returns rank 0's time for the second, and the registrations'
/// time.
struct Send {
    align: Align,
    /// Where in its block the receiver takes it.
    offset: u64,
}

impl<P: Port> Program<P, (Time, Time)> for Send {
    async fn run(&self, port: P) -> (Time, Time) {
        const BYTES: u64 = 64 << 10;
        let comm = Comm::new(port);
        let memory = comm.alloc_mem(2 * BYTES, Kind::Private, self.align).expect("memory");
        let offset = if comm.rank() == 0 { 0 } else { self.offset };
        let (span, mut taken) = (Span::new(memory, offset, BYTES), Time::ZERO);
        for _ in 0..2 {
            let start = comm.now();
            match comm.rank() {
                0 => comm.send(1, 0, span).await.map(|_| ()).expect("sent"),
                _ => comm.recv(Some(0), Some(0), span).await.map(|_| ()).expect("received"),
            }
            comm.barrier().await.expect("both are there");
            taken = comm.now() - start;
        }
        (taken, comm.setup_stats().time)
    }
}

/// W01 s11: private memory should begin at a page. Otherwise it touches one more page, which is pinned and moved. Where
/// the pages of the two ends do not align, each is moved in two parts.
#[test]
fn memory_off_its_pages_costs_registration_and_transfer() {
    let spec = catalog::load("w01-sci-d330").expect("in the catalog");
    let fabric = Fabric::build(&spec, 2).expect("two nodes");
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect("a plan");
    let send = |align, offset| {
        let times = VirtualTime::new(&plan, &settings).unwrap().run(2, &Send { align, offset }).expect("both end");
        [times[0].0.us(), times[0].1.us()]
    };
    let page_us = Host::new(&spec).expect("a host model").page_time().us();
    let [aligned, pinned] = send(Align::Default, 0);
    assert_eq!([aligned, pinned], send(Align::Bytes(4096), 0));
    assert_eq!([aligned, pinned], send(Align::Default, 4096), "pages meet");
    let [off, more] = send(Align::None, 0);
    assert!((off - aligned - page_us).abs() < 0.3, "{off} for {aligned}: one page more of {page_us} us");
    assert!(more > pinned, "{more} for {pinned}");
    let [cut, _] = send(Align::Default, 2048);
    assert!((cut - aligned - 16.0 * page_us).abs() < 0.5, "{cut} for {aligned}: 16 pages in two parts each");
}

/// Rank 0 sends memory that is set up for the first message, and frees it; rank 1 computes meanwhile.
struct Busy;

impl<P: Port> Program<P, Time> for Busy {
    async fn run(&self, port: P) -> Time {
        const BYTES: u64 = 64 << 10;
        let comm = Comm::new(port);
        let memory = comm.alloc(BYTES, Kind::Private).expect("memory");
        let span = Span::new(memory, 0, BYTES);
        if comm.rank() == 0 {
            comm.send(1, 0, span).await.map(|_| ()).expect("sent");
            comm.recv(Some(1), Some(0), span).await.map(|_| ()).expect("received");
        } else {
            let receive = comm.irecv(Some(0), Some(0), span).expect("begun");
            comm.compute(Work::Fixed(Time::from_us(1000.0)));
            comm.wait(receive).await.map(|_| ()).expect("received");
            let taken = comm.now();
            comm.send(0, 0, span).await.map(|_| ()).expect("sent");
            return taken;
        }
        comm.now()
    }
}

/// SCI's drivers connect memory by asking the exporter's driver, with an interrupt in any state of its processor.
#[test]
fn connecting_interrupts_the_exporters_processor() {
    let busy = |interrupt_us: f64| {
        let mut spec = catalog::load("w01-sci-d330").expect("in the catalog");
        spec.parameters.get_mut("interrupt_time").expect("stated").value = interrupt_us * 1e6;
        let fabric = Fabric::build(&spec, 2).expect("two nodes");
        let settings = Settings::of(&spec);
        let plan = Plan::new(&fabric, &settings).expect("a plan");
        VirtualTime::new(&plan, &settings).unwrap().run(2, &Busy).expect("both end")[1].us()
    };
    let (without, with) = (busy(0.0), busy(5.0));
    assert!((with - without - 5.0).abs() < 0.01, "{with} for {without}");
}
