//! A packet alone crosses the network in one step and takes the time that it takes step by step.

use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{self, Library};
use hotlink_fabric::units::Time;
use hotlink_sim::{Net, Plan, Settings};

/// Times of deliveries of messages one after another, and every count but that of events. A timer that never fires in
/// between keeps packets from crossing in one step.
fn one_by_one(plan: &Plan<'_>, settings: &Settings, timer: bool) -> (Vec<u64>, Vec<u64>, [u64; 3], u64) {
    let mut net = Net::new(plan, settings);
    if timer {
        net.timer(Time::from_us(1e9), 0);
    }
    let last = plan.fabric.nodes() - 1;
    let mut times = Vec::new();
    let pairs = [(0, last), (last, 0), (0, 1), (last / 2, last)];
    for (i, bytes) in [0, 8, 100, 1000, 4096, 5000, 20_000].into_iter().enumerate() {
        for (from, to) in pairs.into_iter().cycle().skip(i).take(2).filter(|(from, to)| from != to) {
            net.post(from, to, bytes, 0).unwrap();
            assert!(net.advance().unwrap().unwrap().message().is_some());
            times.push(net.now().0);
        }
    }
    while net.advance().unwrap().is_some() {}
    let stats = net.stats();
    (times, net.busy_ps().collect(), [stats.packet_hops, stats.delivered, stats.overtakings], stats.events)
}

#[test]
fn a_packet_alone_takes_the_time_that_it_takes_step_by_step() {
    let mut fewer = 0;
    for listed in Library::embedded().list("fabrics") {
        let spec = catalog::load(&listed.name).unwrap();
        let Ok(fabric) = Fabric::build(&spec, 16) else { continue };
        let settings = Settings::of(&spec);
        let Ok(plan) = Plan::new(&fabric, &settings) else { continue };
        let (alone, steps) = (one_by_one(&plan, &settings, false), one_by_one(&plan, &settings, true));
        assert_eq!((&alone.0, &alone.1, alone.2), (&steps.0, &steps.1, steps.2), "{}", spec.name);
        fewer += u32::from(alone.3 + 1 < steps.3);
    }
    assert!(fewer > 5, "{fewer} fabrics let packets cross in one step");
}
