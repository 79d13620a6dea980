//! Background traffic is as heavy as was asked.

use hotlink_bound::Limited;
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_port::background::BackgroundSpec;
use hotlink_sim::workload::Background;
use hotlink_sim::{Net, Plan, Settings};

/// Payload that a node gets through in a millisecond, as a share of the bound, and the same twice.
fn accepted(text: &str) -> f64 {
    let spec = catalog::load("qsnet").unwrap();
    let fabric = Fabric::build(&spec, 16).unwrap();
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).unwrap();
    let run = || {
        let mut background = Background::new(&plan, &settings, text.parse().unwrap()).unwrap();
        let mut net = Net::new(&plan, &settings);
        background.start(&mut net);
        while let Some(note) = net.advance().unwrap() {
            assert_eq!(background.take(&mut net, note).unwrap(), None);
            if net.now() > Time::from_us(1000.0) {
                break;
            }
        }
        (net.stats().delivered_bytes, net.trace_hash())
    };
    let (bytes, hash) = run();
    assert_eq!(run(), (bytes, hash));
    let traffic = text.parse::<BackgroundSpec>().unwrap().pattern.traffic();
    let bound = hotlink_load::count(&fabric, &traffic.demand(16, 1).unwrap()).unwrap();
    let bound = bound.bounds(&fabric, settings.capacities, 4096).bandwidth_per_node_mbps;
    bytes as f64 / 1000.0 / 16.0 / bound
}

#[test]
fn a_light_load_is_what_was_asked_for_and_a_flood_fills_most_of_the_network() {
    for pattern in ["uniform", "bursty", "permutation", "hotspot", "ring", "pairs", "all-to-all"] {
        let light = accepted(&format!("{pattern}:0.1"));
        assert!((0.06..0.14).contains(&light), "{pattern}: {light}");
    }
    let flood = accepted("uniform:1.0");
    assert!((0.3..=1.0).contains(&flood), "{flood}");
}
