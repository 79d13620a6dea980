//! Transports that drive the packet network, against fixed points computed from their papers. The expected values use
//! only the machine's rates and idle latencies.

use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_fabric::units::{Rate, Time};
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::flow::Congestion;
use hotlink_sim::workload::{Schedule, all_to_all};
use hotlink_sim::{Net, Note, Plan, Settings};
use hotlink_transport::{
    Config, Connections, Control, Ecn, Marks, Threshold, credits, dcqcn, dctcp, hpcc, nscc, swift,
};

/// 400 Gbit/s in bytes per second, and the wire bytes of a full RoCE packet.
const LINE: f64 = 50e9;
const WIRE: f64 = 4096.0 + 82.0;

/// Zhu et al. 2015, Fig. 14, with its rates scaled from 40 to 400 Gbit/s.
const DCQCN: dcqcn::Parameters = dcqcn::Parameters {
    gain: 1.0 / 256.0,
    notify_ps: 50_000_000,
    estimate_ps: 55_000_000,
    increase_ps: 55_000_000,
    increase_bytes: 10e6,
    fast: 5,
    additive: 50e6,
    hyper: 500e6,
    least: 50e6,
    clamp_target: true,
};
const RED: Ecn = Ecn { low_bytes: 50e3, high_bytes: 2e6, most: 0.01 };
const SWIFT: swift::Parameters = swift::Parameters {
    target_ps: 10e6,
    additive: 1.0,
    decrease: 0.8,
    most_cut: 0.5,
    flow_range_ps: 100e6,
    flow_least: 0.1,
    flow_most: 100.0,
};
const HPCC: hpcc::Parameters = hpcc::Parameters { eta: 0.95, stages: 5, additive: 400.0 };
const NSCC: nscc::Parameters = nscc::Parameters { target_ps: 6e6, decrease: 0.8, weight: 0.0125, idle_ps: 1e6 };

/// 64 packets: K of DCTCP, one threshold.
const STEP: Ecn = Ecn { low_bytes: 64.0 * WIRE, high_bytes: 64.0 * WIRE, most: 1.0 };
const DCTCP: dctcp::Parameters = dctcp::Parameters { gain: 1.0 / 16.0, first: 10.0 };

fn all() -> [(&'static str, Config); 5] {
    let half = Ecn { low_bytes: 50e3, high_bytes: 200e3, most: 1.0 };
    [
        ("dcqcn", Control::Dcqcn(DCQCN), Some(RED)),
        ("swift", Control::Swift(SWIFT), None),
        ("nscc", Control::Nscc(NSCC), Some(half)),
        ("hpcc", Control::Hpcc(HPCC), None),
        ("dctcp", Control::Dctcp(DCTCP), Some(STEP)),
    ]
    .map(|(name, control, ecn)| (name, Config { control, connections: Connections::Message, ecn: ecn.map(Ecn::into) }))
}

/// Credits; a flow sends `first` of what fills its path unasked.
fn of_credits(first: f64) -> Config {
    let control = Control::Credits(credits::Parameters { rate: 0.99, first });
    Config { control, connections: Connections::Message, ecn: None }
}

/// Also those that ask before they send.
fn every() -> Vec<(&'static str, Config)> {
    let credits = [("credits", of_credits(0.0)), ("credits, some unasked", of_credits(1.0))];
    all().into_iter().chain(credits).collect()
}

fn settings(spec: &FabricSpec, transport: Config) -> Settings {
    // Buffers so large that no pause interferes with the loop that is tested.
    Settings { transport: Some(transport), switch_buffer_bytes: 64 << 20, ..Settings::of(spec) }
}

/// A bottleneck after it has settled.
#[derive(Debug)]
struct Settled {
    /// Share of the link that payload and headers took.
    used: f64,
    /// Mean bytes that waited for it.
    queue: f64,
    /// Least and most of a flow's share, times the number of flows.
    shares: [f64; 2],
}

/// Nodes 1 to `flows` send an endless message each to node 0 on one switch for `total_us`; the second half counts.
fn bottleneck(transport: Config, flows: u32, total_us: f64) -> Settled {
    bottleneck_of(1 << 40, transport, flows, total_us, 1)
}

/// The same with messages of `bytes`, one after the other.
fn bottleneck_of(bytes: u64, transport: Config, flows: u32, total_us: f64, seed: u64) -> Settled {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 32).expect("one leaf");
    let settings = Settings { seed, ..settings(&spec, transport) };
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let mut net = Net::new(&plan, &settings);
    // Chunks of one flow are not distinguished under way: shares follow from `busy`.
    let mut endless = vec![bytes == 1 << 40; flows as usize + 1];
    let supply = move |from: u32| match endless.get_mut(from as usize)? {
        _ if from == 0 => None,
        _ if bytes < 1 << 40 => Some((0, bytes)),
        first => std::mem::take(first).then_some((0, bytes)),
    };
    net.supply(supply).expect("valid");
    let steps = 2000u32;
    (1..=steps).for_each(|step| net.timer(Time::from_us(total_us * f64::from(step) / f64::from(steps)), step));
    let hot = |net: &Net<'_>| -> Vec<u64> { net.busy_ps().collect() };
    let (mut queue, mut before) = (0.0, Vec::new());
    while let Some(note) = net.advance().expect("no deadlock") {
        let Note::Timer(step) = note else { continue };
        if step == steps / 2 {
            before = hot(&net);
        }
        if step > steps / 2 {
            queue += net.waiting_bytes().max().unwrap_or(0) as f64 / f64::from(steps / 2);
        }
        if step == steps {
            break;
        }
    }
    let span = total_us * 1e6 / 2.0;
    let busy: Vec<f64> = hot(&net).iter().zip(&before).map(|(now, then)| (now - then) as f64 / span).collect();
    let used = busy.iter().copied().fold(0.0, f64::max);
    // The senders' own links, in the order of their use: those busy, but the receiver's.
    let of = |from: u32| {
        let server = (0..plan.servers() as u32).find(|&s| plan.server_name(s).contains(&format!(" node {from} -> ")));
        busy[server.expect("a link of the node") as usize]
    };
    let sent: Vec<f64> = (1..=flows).map(of).collect();
    let sum: f64 = sent.iter().sum();
    let share = |one: f64| one / sum * f64::from(flows);
    let shares = [sent.iter().copied().fold(f64::MAX, f64::min), sent.iter().copied().fold(0.0, f64::max)].map(share);
    Settled { used, queue, shares }
}

/// The idle round trip: a full packet there, and the latency back, which a packet of one byte takes but for headers.
fn round_trip_us() -> f64 {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 32).expect("one leaf");
    let free = Settings::of(&spec);
    let plan = Plan::new(&fabric, &free).expect("plan");
    let alone = |bytes| {
        let mut net = Net::new(&plan, &free);
        net.post(1, 0, bytes, 0).expect("valid");
        while net.advance().expect("no deadlock").is_some() {}
        net.now().us()
    };
    alone(4096) + alone(1)
}

/// The queue of N flows in bytes, at the fixed point of DCQCN's fluid model (Zhu et al. 2015, s5.1, Eqs. 5 to 9). There
/// the marks make cuts and increases of a flow at C / N cancel.
fn dcqcn_queue(flows: f64) -> f64 {
    let of = DCQCN;
    let (tau, timer) = (of.notify_ps as f64 / 1e12, of.increase_ps as f64 / 1e12);
    // In packets.
    let (rate, bytes, additive) = (LINE / WIRE / flows, of.increase_bytes / WIRE, of.additive / WIRE);
    let fast = f64::from(of.fast);
    // Cuts of the current rate less its increases, by the share of marks p.
    let surplus = |p: f64| {
        let none = |packets: f64| (1.0 - p).powf(packets);
        let each = |packets: f64| p / (1.0 / none(packets) - 1.0);
        let (by_bytes, by_time) = (each(bytes), each(timer * rate));
        let notified = 1.0 - none(tau * rate);
        let alpha = 1.0 - none(of.estimate_ps as f64 / 1e12 * rate);
        let grows = additive * rate * (none(fast * bytes) * by_bytes + none(fast * timer * rate) * by_time);
        let gap = grows * tau / notified;
        rate * alpha / (2.0 * tau) * notified - gap / 2.0 * rate * (by_bytes + by_time)
    };
    let (mut low, mut high) = (1e-9, 0.5);
    for _ in 0..200 {
        let p = f64::midpoint(low, high);
        if surplus(p) > 0.0 { high = p } else { low = p }
    }
    RED.low_bytes + (low / RED.most).min(1.0) * (RED.high_bytes - RED.low_bytes)
}

fn near(what: &str, found: f64, expected: f64, most: f64) {
    println!("{what}: {found:.4} of {expected:.4}, {:+.1} %", 100.0 * (found / expected - 1.0));
    assert!((found / expected - 1.0).abs() <= most, "{what}: {found} is not {expected} within {most}");
}

#[test]
fn dcqcn_holds_the_queue_of_its_fluid_model() {
    // The queue of two flows swings: of ten seeds it was 27 % below the model to 18 % above it.
    for (flows, seeds, most) in [(2, 8, 0.15), (8, 2, 0.2), (31, 1, 0.4)] {
        let mut queue = 0.0;
        for seed in 1..=seeds {
            let settled = bottleneck_of(1 << 40, all()[0].1, flows, 16_000.0, seed);
            queue += settled.queue / seeds as f64;
            assert!(settled.used > 0.97 && settled.shares[0] > 0.6 && settled.shares[1] < 1.5, "{settled:?}");
        }
        near(&format!("DCQCN, {flows} flows, queue"), queue, dcqcn_queue(f64::from(flows)), most);
    }
}

/// Swift's target beyond the idle round trip where N windows fill the path and the queue, in us (Kumar et al. 2020,
/// s3.5). The target gains clamp(alpha / sqrt(W) + beta, 0, fs_range); W is a share of the line's rate times the
/// target.
fn swift_target(flows: f64) -> f64 {
    let of = SWIFT;
    let range = of.flow_range_ps / 1e6;
    let alpha = range / (1.0 / of.flow_least.sqrt() - 1.0 / of.flow_most.sqrt());
    let beta = -alpha / of.flow_most.sqrt();
    let round_trip = round_trip_us();
    (0..60).fold(of.target_ps / 1e6, |target, _| {
        let window = LINE * (round_trip + target) / 1e6 / WIRE / flows;
        of.target_ps / 1e6 + (alpha / window.sqrt() + beta).clamp(0.0, range)
    })
}

/// The queue of N flows at NSCC's fixed point, in bytes, where marks rise from none to all between two delays. There the cuts
/// of a round trip take from a window what it grows by. Packets without a mark let it grow as long as the upper delay is
/// above the target, so the queue stands above it, too.
fn nscc_queue(flows: f64, [low_us, high_us]: [f64; 2]) -> f64 {
    let (of, base) = (NSCC, round_trip_us());
    let (target, packets) = (of.target_ps / 1e6, LINE / 1e6 / WIRE);
    let scale = LINE * base / 1e6 / 150e3;
    let surplus = |queue: f64| {
        let marked = ((queue - low_us) / (high_us - low_us)).clamp(1e-9, 1.0);
        let (round_trip, rate) = (base + queue, packets / flows);
        let window = round_trip * rate;
        // The next cut comes with the first marked packet once the idle round trip is over.
        let cuts = round_trip / (base + 1.0 / (marked * rate));
        let adjusts = round_trip / (8.0 / rate).min(base);
        let grows = 5.0 * scale * (1.0 - marked) + 0.15 * scale * adjusts;
        of.decrease * (queue - target) / queue * window * cuts - grows
    };
    let (mut low, mut high) = (target, 10.0 * target);
    for _ in 0..60 {
        let queue = f64::midpoint(low, high);
        if surplus(queue) > 0.0 { high = queue } else { low = queue }
    }
    low / 1e6 * LINE
}

/// With thresholds on both sides of the target, as the catalog has them, the queue settles above it.
#[test]
fn nscc_settles_above_its_target_where_not_all_packets_are_marked() {
    let catalog = Marks { low: Threshold::Time(2.4e6), high: Threshold::Time(9.6e6), most: 1.0 };
    for flows in [2, 4, 8, 16, 31] {
        let config = Config { ecn: Some(catalog), ..all()[2].1 };
        let settled = bottleneck(config, flows, 4_000.0);
        let expected = nscc_queue(f64::from(flows), [2.4, 9.6]);
        near(&format!("NSCC, the catalog's thresholds, {flows} flows, queue"), settled.queue, expected, 0.1);
    }
}

/// The queue takes the target's delay, and what N flows add in a round trip.
#[test]
fn swift_and_nscc_hold_their_targets() {
    for (name, config, most) in [("Swift", all()[1].1, 0.05), ("NSCC", all()[2].1, 0.12)] {
        for flows in [2, 8, 31] {
            let settled = bottleneck(config, flows, 4_000.0);
            let target_us = if name == "Swift" { swift_target(f64::from(flows)) } else { NSCC.target_ps / 1e6 };
            near(&format!("{name}, {flows} flows, queue"), settled.queue, target_us / 1e6 * LINE, most);
            println!("{name}, {flows} flows: shares {:?}", settled.shares);
            assert!(settled.used > 0.99, "{settled:?}");
            // NSCC's windows meet slowly.
            let [least, most] = if name == "Swift" { [0.9, 1.1] } else { [0.2, 4.0] };
            assert!(settled.shares[0] > least && settled.shares[1] < most, "{name}, {flows} flows: {settled:?}");
        }
    }
}

/// The middle of the queue in packets (Alizadeh et al. 2010, s3.3). W = (C RTT + K) / N, and alpha satisfies
/// alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2. The queue saws from K + N down by N (W + 1) alpha / 2.
fn dctcp_middle(flows: f64, fills: f64, k: f64) -> f64 {
    let window = (fills + k) / flows;
    let marks = (2.0 * window + 1.0) / ((window + 1.0) * (window + 1.0));
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..60 {
        let alpha = f64::midpoint(low, high);
        if alpha * alpha * (1.0 - alpha / 4.0) > marks { high = alpha } else { low = alpha }
    }
    k + flows - flows * (window + 1.0) * low / 4.0
}

/// The mean queue lies in the middle of the saw. Flows there are in step; here they need not be.
#[test]
fn dctcp_saws_below_its_threshold() {
    let fills = LINE * round_trip_us() / 1e6 / WIRE;
    for (flows, most) in [(2, 0.05), (8, 0.05), (31, 0.15)] {
        let middle = dctcp_middle(f64::from(flows), fills, STEP.low_bytes / WIRE);
        let settled = bottleneck(all()[4].1, flows, 2_000.0);
        println!("DCTCP, {flows} flows: shares {:?}", settled.shares);
        near(&format!("DCTCP, {flows} flows, queue"), settled.queue, middle * WIRE, most);
        assert!(settled.used > 0.99 && settled.shares[0] > 0.5 && settled.shares[1] < 2.0, "{settled:?}");
    }
}

/// Links between switches have a quarter of the rate. A threshold of 5 us is four times as many bytes at a leaf's port
/// to a node. The threshold of either holds where it is the bottleneck.
#[test]
fn each_port_marks_by_its_own_rate() {
    let mut spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let mut slow = spec.resources[&Role::Link].clone();
    slow.gross.iter_mut().for_each(|gross| gross.value = Rate((LINE / 4.0) as u64));
    spec.resources.insert(Role::SwitchLink, slow);
    let fabric = Fabric::build(&spec, 96).expect("three leaves");
    let marks = Marks { low: Threshold::Time(5e6), high: Threshold::Time(5e6), most: 1.0 };
    let config = Config { control: Control::Dctcp(DCTCP), connections: Connections::Pair, ecn: Some(marks) };
    let settings = settings(&spec, config);
    let plan = Plan::new(&fabric, &settings).expect("plan");
    // From the same leaf two nodes share the receiver's port; from another one a node has a link between switches for
    // itself.
    for (senders, rate) in [(&[1u32, 2][..], LINE), (&[40], LINE / 4.0)] {
        let k = 5e-6 * rate / WIRE;
        let mut net = Net::new(&plan, &settings);
        senders.iter().for_each(|&from| _ = net.post(from, 0, 1 << 40, 0).expect("valid"));
        (1..=2000).for_each(|step| net.timer(Time::from_us(f64::from(step) * 2.0), step));
        let mut queues = Vec::new();
        while let Some(Note::Timer(step)) = net.advance().expect("no deadlock") {
            queues.push(net.waiting_bytes().max().unwrap_or(0) as f64 / WIRE);
            if step == 2000 {
                break;
            }
        }
        let late = &queues[1000..];
        let (most, mean) = (late.iter().copied().fold(0.0, f64::max), late.iter().sum::<f64>() / late.len() as f64);
        println!("{senders:?}: queue of {mean:.1} packets, at most {most:.1}, K = {k:.1}");
        assert!(mean > 0.5 * k && mean < 1.1 * k && most < 1.5 * k, "{senders:?}: {mean} and {most} of {k}");
    }
}

/// A window is its reference times eta / U and W_AI: N of them meet where U = eta + N W_AI / (B T). U counts what the
/// link carries and what waits for it, as shares of what fills it for T.
#[test]
fn hpcc_fills_eta_of_a_link_and_keeps_its_queue_short() {
    let fills = LINE * round_trip_us() / 1e6;
    for flows in [2, 8, 31] {
        let settled = bottleneck(all()[3].1, flows, 2_000.0);
        let expected = HPCC.eta + f64::from(flows) * HPCC.additive / fills;
        near(&format!("HPCC, {flows} flows, U"), settled.used + settled.queue / fills, expected, 0.05);
        assert!(settled.queue < 0.15 * fills && settled.shares[0] > 0.8 && settled.shares[1] < 1.25, "{settled:?}");
    }
}

/// An incast over the spines of a leaf-spine network, with or without pauses. All of it arrives, no sooner than the
/// receiver's link allows, and every run gives the same times.
#[test]
fn an_incast_arrives_whole_no_faster_than_the_bound_and_the_same_each_time() {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 96).expect("three leaves");
    let (senders, bytes) = (31u64, 1u64 << 20);
    for (name, config) in every() {
        for congestion in [Congestion::Pause, Congestion::Drop] {
            let settings = Settings { congestion, retransmit_ps: Some(20_000_000), ..settings(&spec, config) };
            let settings = Settings { switch_buffer_bytes: 128 << 10, ..settings };
            let plan = Plan::new(&fabric, &settings).expect("plan");
            let run = || {
                let mut net = Net::new(&plan, &settings);
                (33..33 + senders as u32).for_each(|from| _ = net.post(from, 0, bytes, 0).expect("valid"));
                let mut end = Time::ZERO;
                while let Some(note) = net.advance().expect("no deadlock") {
                    end = if note.message().is_some() { net.now() } else { end };
                }
                (end, net.stats(), net.trace_hash(), net.pending())
            };
            let (end, stats, hash, pending) = run();
            let least = Time::from_us((senders * bytes) as f64 * WIRE / 4096.0 / LINE * 1e6);
            println!("{name}, {congestion:?}: {:.2} of the bound, {stats:?}", least.us() / end.us());
            assert!(end >= least, "{name}: {end:?} is less than {least:?}");
            assert!(end.us() < 4.0 * least.us(), "{name}, {congestion:?}: {end:?} of {least:?}");
            assert_eq!((stats.delivered_bytes, stats.gone, pending), (senders * bytes, 0, 0), "{name}, {congestion:?}");
            assert!(congestion == Congestion::Drop || stats.drops == 0, "{name}: {stats:?}");
            assert_eq!(run(), (end, stats, hash, pending), "{name}: the same again");
        }
    }
}

/// An undisturbed message takes the same time with a transport as without. The exceptions are HPCC, which leaves room,
/// and DCTCP, which begins with ten packets.
#[test]
fn a_flow_alone_is_not_held_back() {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 96).expect("three leaves");
    let time = |transport: Option<Config>| {
        let settings = Settings { transport, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let mut net = Net::new(&plan, &settings);
        net.post(90, 0, 1 << 22, 0).expect("valid");
        let mut end = Time::ZERO;
        while let Some(note) = net.advance().expect("no deadlock") {
            end = if note.message().is_some() { net.now() } else { end };
        }
        end.us()
    };
    let free = time(None);
    for (name, config) in all() {
        let most = if name == "hpcc" {
            0.10
        } else if name == "dctcp" {
            0.16
        } else {
            0.02
        };
        near(&format!("{name} alone"), time(Some(config)), free, most);
        assert!(time(Some(config)) >= free, "{name}");
    }
}

/// Every message of an exchange arrives, with faults, too.
#[test]
fn an_exchange_ends_under_every_transport() {
    let spec = catalog::load("gige").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 8).expect("a switch");
    for (name, config) in every() {
        for congestion in [Congestion::Pause, Congestion::Drop] {
            let settings = Settings { congestion, transport: Some(config), ..Settings::of(&spec) };
            let plan = Plan::new(&fabric, &settings).expect("plan");
            let run = all_to_all(&plan, &settings, 1 << 16, Schedule::Random).expect("no deadlock");
            assert_eq!((run.bytes, run.stats.packets), (56 << 16, run.stats.delivered), "{name}, {congestion:?}");
        }
    }
}

/// Messages far shorter than what fills the path there and back: each alone would be gone before its first
/// acknowledgement.
#[test]
fn a_queue_pair_goes_on_where_its_last_message_ended() {
    for (name, config) in all() {
        let endless = bottleneck(config, 8, 4000.0);
        let pairs = bottleneck_of(64 << 10, Config { connections: Connections::Pair, ..config }, 8, 4000.0, 1);
        let messages = bottleneck_of(64 << 10, config, 8, 4000.0, 1);
        assert_eq!((pairs.used, pairs.queue, pairs.shares), (endless.used, endless.queue, endless.shares), "{name}");
        // As separate connections they ask for more without end. DCTCP keeps their longest queue in balance, at about
        // its threshold.
        let times = if name == "dctcp" { 50.0 } else { 100.0 };
        assert!(messages.queue > times * endless.queue, "{name}: {messages:?}");
    }
}

#[test]
fn messages_of_a_queue_pair_arrive_in_order_and_all_of_them() {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 64).expect("two leaves");
    for (name, config) in every() {
        for congestion in [Congestion::Pause, Congestion::Drop] {
            let config = Config { connections: Connections::Pair, ..config };
            let settings = Settings { congestion, retransmit_ps: Some(20_000_000), ..settings(&spec, config) };
            let settings = Settings { switch_buffer_bytes: 64 << 10, streams: 4, ..settings };
            let plan = Plan::new(&fabric, &settings).expect("plan");
            let mut net = Net::new(&plan, &settings);
            // Sizes from an empty message to several packets; two receivers, one of them behind the spines.
            for number in 0..30 {
                for from in 2..12 {
                    let bytes = [0, 1, 4096, 30_000][number as usize % 4];
                    net.post(from, u32::from(number % 3 == 0) * 40, bytes, number).expect("valid");
                }
            }
            let mut seen = std::collections::BTreeMap::<[u32; 2], Vec<u64>>::new();
            while let Some(note) = net.advance().expect("no deadlock") {
                let message = note.message().expect("no timers");
                seen.entry([message.from, message.to]).or_default().push(message.tag);
            }
            let count: usize = seen.values().map(Vec::len).sum();
            assert_eq!(count, 300, "{name}");
            // Dropped packets arrive again later, so that a later message may be whole before it.
            if congestion == Congestion::Pause {
                assert!(seen.values().all(|tags| tags.is_sorted()), "{name}: {seen:?}");
            }
        }
    }
}

/// Grants are spaced as packets are on the receiver's link, so that data never meet there: nothing waits but what began
/// to cross the link. All of it but the share that is not granted is used, and evenly.
#[test]
fn credits_leave_no_queue_at_the_last_hop() {
    for flows in [2, 8, 31] {
        let settled = bottleneck(of_credits(0.0), flows, 1_000.0);
        println!("credits, {flows} flows: {settled:?}");
        near(&format!("credits, {flows} flows, share of the link"), settled.used, 0.99, 0.002);
        assert!(settled.queue < WIRE, "{settled:?}");
        assert!(settled.shares[0] > 0.97 && settled.shares[1] < 1.03, "{settled:?}");
    }
    // An incast over the spines: the most that ever waits for any link, beside a transport that learns of it late.
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 96).expect("three leaves");
    let most = |config: Config| {
        let settings = settings(&spec, config);
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let mut net = Net::new(&plan, &settings);
        // A sender's own adapter is no hop of the network.
        let is_last = |server: u32| plan.server_name(server).contains("-> node 0");
        let links: Vec<bool> = (0..plan.servers() as u32).map(is_last).collect();
        (33..64).for_each(|from| _ = net.post(from, 0, 1 << 20, 0).expect("valid"));
        (1..=4000).for_each(|step| net.timer(Time::from_us(f64::from(step) / 5.0), step));
        let (mut most, mut late) = (0.0f64, 0.0f64);
        while let Some(note) = net.advance().expect("no deadlock") {
            if let Note::Timer(step) = note {
                let last = net.waiting_bytes().zip(&links).filter(|(_, is_last)| **is_last).map(|(bytes, _)| bytes);
                let waits = last.max().unwrap_or(0) as f64 / WIRE;
                most = most.max(waits);
                late = if (1000..2000).contains(&step) { late.max(waits) } else { late };
            }
        }
        [most, late]
    };
    let [[none, _], [unasked, after], [swift, _]] = [of_credits(0.0), of_credits(1.0), all()[1].1].map(most);
    println!(
        "incast of 31: {none} packets wait at most, {unasked} with some unasked, {after} of those later, {swift} (Swift)"
    );
    assert!(none <= 2.0, "{none} packets wait");
    // What came unasked is a queue at first, and then the receiver has given its time back.
    assert!(unasked > 100.0 && swift > 100.0 && after <= 3.0, "{unasked}, {after}, {swift}");
}

/// A message alone asks first: that takes the idle round trip, unless it sends unasked.
#[test]
fn a_credit_costs_a_message_one_round_trip() {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 32).expect("one leaf");
    let time = |transport: Option<Config>| {
        let settings = Settings { transport, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let mut net = Net::new(&plan, &settings);
        net.post(1, 0, 4096, 0).expect("valid");
        let mut end = Time::ZERO;
        while let Some(note) = net.advance().expect("no deadlock") {
            end = if note.message().is_some() { net.now() } else { end };
        }
        end.us()
    };
    let free = time(None);
    near("a message that asks", time(Some(of_credits(0.0))), free + round_trip_us(), 0.01);
    near("a message that does not", time(Some(of_credits(1.0))), free, 1e-9);
}
