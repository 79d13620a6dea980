use super::*;
use crate::flow::Settings;
use crate::net::Note;
use crate::plan::Plan;
use crate::workload::Background;
use hotlink_event::random::Random;
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_port::background::{BackgroundSpec, Pattern};

fn qsnet(nodes: u32, run: impl FnOnce(&Plan<'_>, &Settings)) {
    let spec = catalog::load("qsnet").unwrap();
    let fabric = Fabric::build(&spec, nodes).unwrap();
    let settings = Settings { streams: 8, ..Settings::of(&spec) };
    run(&Plan::new(&fabric, &settings).unwrap(), &settings);
}

/// When a broadcast from node 0 to all has arrived, on an idle network.
fn alone(plan: &Plan<'_>, settings: &Settings, bytes: u64) -> u64 {
    let mut net = Net::new(plan, settings);
    net.post_broadcast(0, [1, plan.fabric.nodes() - 1], bytes, 7, false).unwrap();
    let note = net.advance().unwrap().unwrap();
    assert!(matches!(note, Note::Delivered(message) if message.tag == 7));
    assert_eq!(net.stats().delivered_bytes, bytes * u64::from(plan.fabric.nodes() - 1));
    let at = net.now().0;
    assert_eq!(net.advance().unwrap(), None);
    assert!(net.is_idle(), "channels, buffers and turns are given back");
    at
}

#[test]
fn a_broadcast_takes_the_time_of_a_unicast_to_the_farthest_node() {
    for nodes in [2, 4, 16, 64] {
        qsnet(nodes, |plan, settings| {
            for bytes in [0, 8, 320] {
                let mut net = Net::new(plan, settings);
                net.post(0, nodes - 1, bytes, 0).unwrap();
                net.advance().unwrap();
                assert_eq!(alone(plan, settings, bytes), net.now().0, "{nodes} nodes, {bytes} B");
            }
        });
    }
}

#[test]
fn long_broadcasts_run_at_the_link_or_as_fast_as_acknowledgements_let_them() {
    qsnet(16, |plan, settings| {
        let rate = |settings: &Settings| 1e6 * 65536.0 / alone(plan, settings, 65536) as f64;
        let free = rate(settings);
        assert!((310.0..341.0).contains(&free), "{free} MB/s: 320 of 376 B at 400 MB/s");
        let slow = |unacknowledged| {
            let (outstanding, acknowledge_ps) = (unacknowledged + 1, 2_000_000);
            rate(&Settings { unacknowledged, outstanding, acknowledge_ps, ..settings.clone() })
        };
        let (one, two) = (slow(1), slow(2));
        assert!(one < 0.6 * free && two > 1.5 * one && two <= free, "{one}, {two}, {free}");
    });
}

/// Three broadcasts from every node at once, to all or to a range of each node's own. If asked for, a flood of unicasts
/// runs at the same time. Returns how many broadcasts were delivered.
fn everybody(
    plan: &Plan<'_>,
    settings: &Settings,
    scattered: bool,
    ranges: bool,
    flood: bool,
) -> Result<u32, SimError> {
    let nodes = plan.fabric.nodes();
    let mut net = Net::new(plan, settings);
    net.casts.way_up = if scattered { |from| from as usize } else { |_: u32| 0 };
    let spec = BackgroundSpec { pattern: Pattern::Uniform, load: 1.0, size: 1024 };
    let mut background = Background::new(plan, settings, spec)?;
    if flood {
        background.start(&mut net);
    }
    let mut random = Random::new(settings.seed);
    for node in 0..nodes {
        for _ in 0..3 {
            let (a, b) = (random.below(nodes), random.below(nodes));
            let range = if ranges && a != b { [a.min(b), a.max(b)] } else { [0, nodes - 1] };
            net.post_broadcast(node, range, 700, 1, false)?;
        }
    }
    let mut delivered = 0;
    while delivered < 3 * nodes {
        let Some(note) = net.advance()? else { break };
        let note = background.take(&mut net, note)?;
        delivered += u32::from(note.is_some());
        assert!(net.now() < Time::from_us(100_000.0), "{delivered} delivered");
    }
    Ok(delivered)
}

#[test]
fn broadcasts_from_everywhere_at_once_do_not_deadlock() {
    for nodes in [16, 64] {
        qsnet(nodes, |plan, settings| {
            for seed in 0..4 {
                let settings = Settings { seed, ..settings.clone() };
                for (ranges, flood) in [(false, false), (true, false), (false, true), (true, true)] {
                    assert_eq!(everybody(plan, &settings, false, ranges, flood).unwrap(), 3 * nodes);
                }
            }
        });
    }
}

#[test]
fn broadcasts_that_turn_at_several_switches_deadlock() {
    qsnet(64, |plan, settings| {
        let stuck = |seed| {
            let settings = Settings { seed, ..settings.clone() };
            matches!(everybody(plan, &settings, true, true, false), Err(SimError::Deadlock { .. }))
        };
        assert!((0..4).all(stuck), "any way up would do");
    });
}

#[test]
fn a_blocked_copy_holds_the_whole_worm() {
    // Node 3 receives a long unicast over its only link; the broadcast waits for that link, and so do its copies.
    qsnet(4, |plan, settings| {
        let settings = Settings { unacknowledged: u16::MAX, ..settings.clone() };
        let free = alone(plan, &settings, 320);
        let mut net = Net::new(plan, &settings);
        for _ in 0..4 {
            net.post(1, 3, 320, 9).unwrap();
            net.post(2, 3, 320, 9).unwrap();
        }
        net.post_broadcast(0, [0, 3], 320, 7, false).unwrap();
        while !matches!(net.advance().unwrap(), Some(Note::Delivered(message)) if message.tag == 7) {}
        assert!(net.now().0 > free + 900_000, "{} against {free}", net.now().0);
    });
}
