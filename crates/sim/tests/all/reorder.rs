//! Packets that come before their turn: counted and held as a model of this test's own says, within the room that there is.

use hotlink_fabric::routing::Paths;
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::flow::Congestion;
use hotlink_sim::net::Stats;
use hotlink_sim::{Net, Plan, Settings};
use hotlink_transport::{Config, Connections, Control, nscc};

/// Many nodes send to three nodes of one leaf, the others to node 0, by any spine. The queues of spines then differ, so that
/// packets of a message overtake each other.
fn crowd(
    paths: Paths,
    reorder_bytes: Option<u64>,
    congestion: Congestion,
    transport: Option<Config>,
) -> (Stats, f64, u32) {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 96).expect("three leaves");
    let settings = Settings { paths, reorder_bytes, congestion, transport, ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let mut net = Net::new(&plan, &settings);
    for from in 1..96 {
        let to = if (24..64).contains(&from) { 0 } else { 32 + from % 3 };
        net.post(from, to, 1 << 18, u64::from(from)).expect("valid");
    }
    let mut end = 0.0;
    while let Some(note) = net.advance().expect("no deadlock") {
        end = if note.message().is_some() { net.now().us() } else { end };
    }
    (net.stats(), end, net.pending())
}

#[test]
fn spraying_takes_a_buffer_and_a_path_for_each_flow_none() {
    let (stats, _, _) = crowd(Paths::Flow, None, Congestion::Pause, None);
    assert_eq!((stats.overtakings, stats.reorder_bytes), (0, 0));
    let (stats, _, _) = crowd(Paths::Packet, None, Congestion::Pause, None);
    assert!(stats.overtakings > 0 && stats.overtakings < stats.delivered, "{stats:?}");
    // Forty messages come to node 0: no more than all of them is ever held.
    assert!(stats.reorder_bytes >= 4096 && stats.reorder_bytes < 40 << 18, "{stats:?}");
}

/// What finds no room is sent again, until all is there in order.
#[test]
fn a_receiver_with_little_room_repeats_what_exceeds_it() {
    let nscc = nscc::Parameters { target_ps: 6e6, decrease: 0.8, weight: 0.0125, idle_ps: 1e6 };
    let nscc = Config { control: Control::Nscc(nscc), connections: Connections::Pair, ecn: None };
    for congestion in [Congestion::Pause, Congestion::Drop] {
        for transport in [None, Some(nscc)] {
            let (free, soonest, _) = crowd(Paths::Packet, None, congestion, transport);
            for room in [0, 16 << 10, free.reorder_bytes] {
                let (stats, end, pending) = crowd(Paths::Packet, Some(room), congestion, transport);
                assert_eq!((pending, stats.gone, stats.delivered_bytes), (0, 0, free.delivered_bytes), "{stats:?}");
                assert!(stats.reorder_bytes <= room, "{room}: {stats:?}");
                let needs_more = room < free.reorder_bytes;
                assert_eq!(stats.reorder_drops > 0, needs_more, "{room} of {}: {stats:?}", free.reorder_bytes);
                println!("{congestion:?}, room {room}: {end:.2} us of {soonest:.2}, {} again", stats.reorder_drops);
                assert!(needs_more || end == soonest, "enough room changes nothing: {end} and {soonest}");
            }
        }
    }
}
