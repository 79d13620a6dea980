//! What a packet simulation must not get wrong, on every fabric of the catalog. An idle network takes the closed form
//! to the picosecond. Nothing is lost, nothing beats the load count's bound, and the same inputs give the same trace.

use hotlink_bound::Limited;
use hotlink_fabric::catalog::{self, Library};
use hotlink_fabric::flow_control::{Admission, FlowControl, Passage};
use hotlink_fabric::network::Node;
use hotlink_fabric::routing::{State, Trip};
use hotlink_fabric::spec::{Capacities, FabricSpec, Role, RoutingSpec};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::units::Rate;
use hotlink_fabric::{Fabric, network::Resource};
use hotlink_sim::workload::{Schedule, all_to_all};
use hotlink_sim::{Net, Note, Plan, Settings, SimError};

/// Every fabric of the catalog that can be built for about `nodes` nodes.
fn fabrics(nodes: u32) -> Vec<(FabricSpec, Fabric)> {
    let names = Library::embedded().list("fabrics");
    let specs = names.iter().map(|listed| catalog::load(&listed.name).expect("the catalog is valid"));
    specs.filter_map(|spec| Fabric::build(&spec, nodes).ok().map(|fabric| (spec, fabric))).collect()
}

/// The resources on the first path that the routing gives, in order, and the number of switches.
fn resources(fabric: &Fabric, from: u32, to: u32) -> Vec<Resource> {
    let roles = &fabric.network.host_roles;
    let mut way: Vec<Resource> = roles.iter().map(|&role| Resource::Host(Node(from), role)).collect();
    let (mut state, trip, mut hops) = (State::start(Node(from)), Trip::new(Node(from), Node(to)), Vec::new());
    while state.at != Node(to).vertex() {
        fabric.hops(state, trip, &mut hops);
        state = State { at: fabric.network.to(hops[0].channel), phase: hops[0].phase };
        way.push(Resource::Channel(hops[0].channel));
        if !fabric.network.is_node(state.at) {
            way.push(Resource::Vertex(state.at));
        }
    }
    way.extend(roles.iter().rev().filter(|&&role| role != Role::Engine).map(|&role| Resource::Host(Node(to), role)));
    way
}

/// sum(latency) + T_1 + sum(max(0, T_(i+1) - T_i)) with cut-through; sum(latency) + sum(T) with store-and-forward.
fn closed_form_ps(fabric: &Fabric, payload: u64, from: u32, to: u32) -> u64 {
    let way = resources(fabric, from, to);
    let packet = &fabric.spec.packet;
    let switch = |r: &Resource| fabric.network.role(*r) == Role::Switch;
    let switches = way.iter().filter(|r| switch(r)).count() as f64;
    let wire = payload + (packet.overhead_bytes.value + packet.overhead_per_hop_bytes.value * switches).ceil() as u64;
    let times: Vec<u64> = way
        .iter()
        .filter_map(|&r| {
            let rate: Rate = fabric.gross(r)?;
            Some(rate.time_for(if fabric.network.role(r).carries_packets() { wire } else { payload }).0)
        })
        .collect();
    let latency: u64 = way.iter().map(|&r| fabric.latency(r).0).sum();
    let rises: u64 = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).sum();
    match fabric.spec.flow_control.passage {
        Passage::Stored => latency + times.iter().sum::<u64>(),
        _ => latency + times.first().unwrap_or(&0) + rises,
    }
}

/// A flow control that no technology has, of mechanics that there are: whole packets stored at each hop, with credits.
static STORED_WITH_CREDITS: FlowControl = FlowControl {
    name: "stored-with-credits",
    admission: Admission::Whole,
    dropping: None,
    passage: Passage::Stored,
    buffers: hotlink_fabric::flow_control::credit::RECORD.buffers,
};

#[test]
fn a_flow_control_is_a_record() {
    let spec = FabricSpec {
        flow_control: &STORED_WITH_CREDITS,
        ..hotlink_fabric::catalog::load("ib-ndr-fat-tree2").expect("of the catalog")
    };
    let fabric = Fabric::build(&spec, 130).expect("two levels");
    let settings = Settings { switch_buffer_bytes: 2 * 4200, ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let mut net = Net::new(&plan, &settings);
    // Alone it takes the sum of its links.
    net.post(0, 129, 4096, 0).expect("valid");
    while net.advance().expect("no deadlock").is_some() {}
    let through = hotlink_fabric::catalog::load("ib-ndr-fat-tree2").expect("of the catalog");
    let through = Fabric::build(&through, 130).expect("two levels");
    let plan_through = Plan::new(&through, &settings).expect("plan");
    let mut cut = Net::new(&plan_through, &settings);
    cut.post(0, 129, 4096, 0).expect("valid");
    while cut.advance().expect("no deadlock").is_some() {}
    assert!(net.now() > cut.now(), "{:?} {:?}", net.now(), cut.now());
    // Many to one with room for two packets a port: all arrive, and every buffer is empty again.
    let mut net = Net::new(&plan, &settings);
    for from in 1..130 {
        net.post(from, 0, 64 << 10, 0).expect("valid");
    }
    while net.advance().expect("no deadlock").is_some() {}
    assert_eq!((net.stats().delivered_bytes, net.pending(), net.stats().drops), (129 * (64 << 10), 0, 0));
}

#[test]
fn one_packet_through_an_idle_network_takes_the_closed_form_to_the_picosecond() {
    let mut seen = 0;
    for (spec, fabric) in fabrics(16) {
        // One way only, so that the reference walks the same one.
        if spec.routing == RoutingSpec::DragonflyValiant {
            continue;
        }
        let settings = Settings { capacities: Capacities::Theoretical, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect(&spec.name);
        for (payload, to) in [(1, 1), (8, fabric.nodes() - 1), (64, fabric.nodes() / 2), (0, 1)] {
            let payload = payload.min(u64::from(plan.packet_bytes));
            let mut net = Net::new(&plan, &settings);
            net.post(0, to, payload, 0).expect("valid");
            let delivered = net.advance().expect("no deadlock");
            assert!(matches!(delivered, Some(Note::Delivered(_))), "{}", spec.name);
            assert_eq!(net.now().0, closed_form_ps(&fabric, payload, 0, to), "{} to {to}, {payload} B", spec.name);
            seen += 1;
        }
    }
    assert!(seen >= 20, "only {seen} cases");
}

#[test]
fn nothing_is_lost_nothing_beats_the_bound_and_the_same_seed_gives_the_same_trace() {
    for (spec, fabric) in fabrics(16) {
        let (nodes, size) = (u64::from(fabric.nodes()), 16 << 10);
        let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).expect("all-to-all");
        let count = hotlink_load::count_paths(&fabric, &demand, spec.paths, 1).expect("routes");
        for capacities in [Capacities::Theoretical, Capacities::Measured] {
            let settings = Settings { capacities, ..Settings::of(&spec) };
            let plan = Plan::new(&fabric, &settings).expect(&spec.name);
            let run = match all_to_all(&plan, &settings, size, Schedule::LinearShift) {
                // Shortest paths round a ring of wormhole switches do deadlock.
                Err(SimError::Deadlock { cycle, .. }) if spec.name.starts_with("myrinet-ring") => {
                    assert!(cycle.len() > 2 && cycle.first() == cycle.last(), "{cycle:?}");
                    continue;
                }
                run => run.expect(&spec.name),
            };
            assert_eq!(run.bytes, nodes * (nodes - 1) * size, "{}", spec.name);
            assert_eq!(run.stats.packets, run.stats.delivered, "{}", spec.name);
            let bound = count.bounds(&fabric, capacities, size).bandwidth_per_node_mbps;
            let reached = run.mbps() / nodes as f64;
            assert!(reached <= bound * 1.000_1, "{}: {reached} MB/s per node beats {bound}", spec.name);
            assert!(run.busy.iter().all(|&share| share <= 1.0), "{}", spec.name);
            let again = all_to_all(&plan, &settings, size, Schedule::LinearShift).expect(&spec.name);
            assert_eq!(run, again, "{}", spec.name);
        }
    }
}
