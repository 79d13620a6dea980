//! Ethernet's three answers to a full buffer: pause (PFC), drop, and marks that slow the source down (ECN, coarse).

use hotlink_fabric::routing::Paths;
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::flow::Congestion;
use hotlink_sim::workload::{Schedule, all_to_all};
use hotlink_sim::{Net, Note, Plan, Settings};

/// The results of an incast and of another flow.
#[derive(Debug)]
struct Shared {
    /// Payload rate of the incast while it lasts, in MB/s.
    incast: f64,
    /// Payload rate of the other flow.
    bystander: f64,
    drops: u64,
    marks: u64,
}

const SENDERS: u32 = 16;
/// When the bystander begins.
const LATE_US: u64 = 2_000;

/// Sixteen nodes of one leaf send to node 0 of another. Later a node of the first leaf sends to an idle node of the
/// other.
fn incast(congestion: Congestion) -> Shared {
    incast_under(|settings| Settings { congestion, ..settings })
}

fn incast_under(change: impl Fn(Settings) -> Settings) -> Shared {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 96).expect("three leaves");
    let settings = change(Settings { paths: Paths::Packet, retransmit_ps: Some(20_000_000), ..Settings::of(&spec) });
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let mut net = Net::new(&plan, &settings);
    let bytes: u64 = 16 << 20;
    (32..32 + SENDERS).for_each(|from| _ = net.post(from, 0, bytes, 0).expect("valid"));
    net.timer(Time(LATE_US * 1_000_000), 0);
    let (mut arrived, mut end, mut bystander) = (0, 0.0, 0.0);
    while let Some(note) = net.advance().expect("no deadlock") {
        let Note::Delivered(message) = note else {
            net.post(63, 1, bytes / 8, 1).expect("valid");
            continue;
        };
        arrived += message.bytes;
        match message.tag {
            1 => bystander = message.bytes as f64 / (net.now().us() - LATE_US as f64),
            _ => end = net.now().us(),
        }
    }
    assert_eq!(arrived, bytes * u64::from(SENDERS) + bytes / 8);
    let stats = net.stats();
    Shared { incast: (bytes * u64::from(SENDERS)) as f64 / end, bystander, drops: stats.drops, marks: stats.marks }
}

#[test]
fn pauses_stop_bystanders_marks_spare_them_and_only_drops_lose_packets() {
    // Lanes by destination: the bystander has buffers of its own, which the incast does not pause.
    let lanes = incast_under(|settings| Settings { lanes: Some(8), ..settings });
    let [pause, drop, mark] = [Congestion::Pause, Congestion::Drop, Congestion::Mark].map(incast);
    let line = 50_000.0;
    assert!(pause.drops == 0 && mark.drops == 0 && drop.drops > 0);
    assert!(pause.marks == 0 && drop.marks == 0 && mark.marks > 0);
    assert!(lanes.incast > 0.95 * line && lanes.bystander > 4.0 * pause.bystander, "{lanes:?} {pause:?}");
    // A paused link stops all that it carries: the bystander gets less than one of the incast's flows.
    assert!(pause.incast > 0.95 * line && pause.bystander < line / 16.0, "{pause:?}");
    assert!(mark.incast > 0.75 * line && mark.bystander > 0.75 * line, "{mark:?}");
    assert!(drop.incast > 0.95 * line, "{drop:?}");
}

#[test]
fn marks_change_nothing_where_nothing_is_crowded_and_nothing_is_lost_where_all_is() {
    let spec = catalog::load("gige").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 8).expect("a switch");
    let time = |congestion, pairs: &[(u32, u32)]| {
        let settings = Settings { congestion, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let mut net = Net::new(&plan, &settings);
        pairs.iter().for_each(|&(from, to)| _ = net.post(from, to, 1 << 20, 0).expect("valid"));
        while net.advance().expect("no deadlock").is_some() {}
        (net.now(), net.stats().marks)
    };
    let apart = [(0, 1), (2, 3), (4, 5), (6, 7)];
    assert_eq!(time(Congestion::Mark, &apart), time(Congestion::Pause, &apart));
    let settings = Settings { congestion: Congestion::Mark, ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let run = all_to_all(&plan, &settings, 1 << 18, Schedule::Random).expect("no deadlock");
    assert_eq!((run.bytes, run.stats.drops), (56 << 18, 0));
    assert_eq!(run.stats.packets, run.stats.delivered);
    assert_eq!(run, all_to_all(&plan, &settings, 1 << 18, Schedule::Random).expect("the same again"));
}

/// Two nodes of a switch send to one. Each sender's input holds what arrives until it pauses its link, and the packet
/// that is then under way, no more. It resumes at its threshold. Packets of an input come to lie together in the queue,
/// so one input drains at a time.
#[test]
fn a_port_pauses_and_goes_on_at_its_thresholds() {
    let spec = catalog::load("eth-400g-leaf-spine").expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, 32).expect("one leaf");
    let most = |pause: Option<f64>, resume: Option<f64>| {
        let settings = Settings { pause_share: pause, resume_share: resume, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let mut net = Net::new(&plan, &settings);
        (1..=2).for_each(|from| _ = net.post(from, 0, 4 << 20, 0).expect("valid"));
        (1..=1000).for_each(|step| net.timer(Time(step * 100_000), 0));
        let (mut queues, mut left) = (Vec::new(), 2);
        while let Some(note) = net.advance().expect("no deadlock") {
            match note {
                Note::Delivered(_) => left -= 1,
                Note::Timer(_) => queues.push(net.waiting_bytes().max().unwrap_or(0) as f64),
            }
        }
        assert_eq!(left, 0);
        (queues.iter().copied().fold(0.0, f64::max), queues[200..800].iter().copied().fold(f64::MAX, f64::min))
    };
    let (full, _) = most(None, None);
    let (quarter, low) = most(Some(0.25), None);
    let (_, high) = most(Some(0.25), Some(0.9 * 0.25));
    println!("{full} {quarter} {low} {high}");
    assert!((0.15..0.3).contains(&(quarter / full)), "{quarter} of {full}");
    assert!(high > 1.1 * low, "{high} {low}");
}
