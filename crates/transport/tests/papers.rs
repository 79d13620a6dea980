//! The transports against step traces and fixed points computed from their papers, with a bottleneck of this test's
//! own. Nothing here knows the simulator.

use hotlink_transport::credits::{self, Credits};
use hotlink_transport::dcqcn::{self, Dcqcn};
use hotlink_transport::dctcp::{self, Dctcp};
use hotlink_transport::hpcc::{self, Hpcc};
use hotlink_transport::nscc::{self, Nscc};
use hotlink_transport::swift::{self, Swift};
use hotlink_transport::{Ack, Flows, Hop, Path, Permit, Transport};

const US: u64 = 1_000_000;
/// 100 Gbit/s in bytes per second.
const LINE: f64 = 12.5e9;
const PACKET: f64 = 4096.0;

fn path(base_us: u64) -> Path {
    Path {
        base_rtt_ps: base_us * US,
        back_ps: base_us * US / 2,
        to: 0,
        rate: LINE,
        to_rate: LINE,
        packet: PACKET,
        now_ps: 0,
    }
}

fn ack(now_ps: u64, rtt_ps: u64, marked: bool) -> Ack<'static> {
    Ack { now_ps, arrived_ps: now_ps.saturating_sub(US), rtt_ps, bytes: PACKET as u32, marked, hops: &[] }
}

/// Zhu et al. 2015, Fig. 14 and s4: `g = 1/256`, `N = 50 us`, `K = T = 55 us`, `B = 10 MB`, `F = 5`, `R_AI = 40
/// Mbit/s`.
fn dcqcn() -> dcqcn::Parameters {
    dcqcn::Parameters {
        gain: 1.0 / 256.0,
        notify_ps: 50 * US,
        estimate_ps: 55 * US,
        increase_ps: 55 * US,
        increase_bytes: 10e6,
        fast: 5,
        additive: 5e6,
        hyper: 50e6,
        least: 5e6,
        clamp_target: true,
    }
}

fn close(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn dcqcn_cuts_by_half_the_estimate_and_recovers_by_halves_of_the_distance() {
    let mut all = Dcqcn::new(dcqcn());
    all.open(0, &path(10));
    close(all.allowance(0, 0).rate, LINE);
    // The first notification finds alpha = 1: half. Alpha stays (1 - g) + g.
    all.heard(0, &ack(100 * US, 12 * US, true));
    close(all.allowance(0, 100 * US).rate, LINE / 2.0);
    close(all.alpha(0), 1.0);
    // A mark 10 us later is within N: no notification.
    all.heard(0, &ack(110 * US, 12 * US, true));
    close(all.allowance(0, 110 * US).rate, LINE / 2.0);
    // 55 us without one: alpha falls by g, and the first of five recoveries takes half of the cut back.
    close(all.allowance(0, 155 * US).rate, LINE * 0.75);
    close(all.alpha(0), 255.0 / 256.0);
    // After n steps the distance is 2^-(n+1).
    for n in 2..=5 {
        close(all.allowance(0, (100 + 55 * n) * US).rate, LINE * (1.0 - 0.5f64.powi(n as i32 + 1)));
    }
    // The second notification: alpha is (1-g)^5, then grows by g (1 - alpha).
    let before = all.allowance(0, 380 * US).rate;
    let alpha = (255.0f64 / 256.0).powi(5);
    close(all.alpha(0), alpha);
    all.heard(0, &ack(380 * US, 12 * US, true));
    close(all.allowance(0, 380 * US).rate, before * (1.0 - alpha / 2.0));
    close(all.alpha(0), alpha * 255.0 / 256.0 + 1.0 / 256.0);
    // Its target is the rate before it: five halvings lead there, then R_AI at a time.
    let target = before;
    let after = before * (1.0 - alpha / 2.0);
    close(all.allowance(0, (380 + 5 * 55) * US).rate, target - (target - after) / 32.0);
    let sixth = target + 5e6;
    close(all.allowance(0, (380 + 6 * 55) * US).rate, (sixth + target - (target - after) / 32.0) / 2.0);
}

/// Adapters' `clamp_tgt_rate`: without it a cut that follows a cut keeps the target.
#[test]
fn dcqcn_lowers_the_target_at_every_cut_or_only_after_an_increase() {
    for clamp_target in [true, false] {
        let mut all = Dcqcn::new(dcqcn::Parameters { clamp_target, ..dcqcn() });
        all.open(0, &path(10));
        let rate = |all: &mut Dcqcn, now_us: u64, marked: bool| {
            if marked {
                all.heard(0, &ack(now_us * US, 12 * US, true));
            }
            all.allowance(0, now_us * US).rate
        };
        // Two cuts before the timer of 55 us ends, each by half: alpha is 1.
        close(rate(&mut all, 100, true), LINE / 2.0);
        close(rate(&mut all, 150, true), LINE / 4.0);
        // Half-way to the rate before the second cut, or to that before the first.
        let before = f64::midpoint(LINE / 4.0, if clamp_target { LINE / 2.0 } else { LINE });
        close(rate(&mut all, 205, false), before);
        // That was an increase, so that this cut sets the target either way; alpha is 1 - g.
        let after = before * (1.0 - 255.0 / 256.0 / 2.0);
        close(rate(&mut all, 210, true), after);
        // B bytes are an increase, too, so that the next cut sets it again.
        all.sent(0, 10_000_000, 230 * US);
        let before = f64::midpoint(after, before);
        close(rate(&mut all, 230, false), before);
        let after = before * (1.0 - all.alpha(0) / 2.0);
        close(rate(&mut all, 262, true), after);
        close(rate(&mut all, 317, false), f64::midpoint(after, before));
    }
}

#[test]
fn dcqcn_counts_bytes_beside_time_and_hurries_where_both_are_past_recovery() {
    let mut all = Dcqcn::new(dcqcn::Parameters { additive: 1e6, ..dcqcn() });
    all.open(0, &path(10));
    for cut in 0..20u64 {
        all.heard(0, &ack((1 + 60 * cut) * US, 12 * US, true));
    }
    let start = (1 + 60 * 19) * US;
    let mut rate = all.allowance(0, start).rate;
    // Six byte counters at once: five recoveries towards the target, then one additive step.
    let mut target = None;
    for round in 1..=6 {
        all.sent(0, 10_000_000, start + round);
        let next = all.allowance(0, start + round).rate;
        let aim = *target.get_or_insert(2.0 * next - rate);
        let aim = if round == 6 { aim + 1e6 } else { aim };
        close(next, f64::midpoint(rate, aim));
        rate = next;
    }
    // Six timers as well: times and rounds are both 6, one past F: the sixth adds R_HAI.
    let aim = target.expect("set") + 1e6;
    for time in 1..=6u64 {
        let next = all.allowance(0, start + 55 * US * time).rate;
        // While only the bytes are past F, R_AI is added each time; at the sixth both are.
        let added = if time < 6 { 1e6 * time as f64 } else { 5e6 + 50e6 };
        close(next, f64::midpoint(rate, aim + added));
        rate = next;
    }
}

/// RFC 8257, s3.3 and s4.2: alpha begins at 1, g is 1/16; RFC 6928: ten packets at first.
fn dctcp() -> dctcp::Parameters {
    dctcp::Parameters { gain: 1.0 / 16.0, first: 10.0 }
}

#[test]
fn dctcp_cuts_by_half_the_marked_share_of_a_window_and_grows_by_a_packet() {
    let mut all = Dctcp::new(dctcp());
    all.open(0, &path(10));
    let window = |all: &mut Dctcp| all.allowance(0, 0).window / PACKET;
    let sent = |all: &mut Dctcp, packets: u32| (0..packets).for_each(|_| all.sent(0, PACKET as u32, 0));
    // Slow start: each acknowledgement adds a packet, ten become twenty. The first one ends a window of the estimate,
    // which nothing was in; the next ends when all ten are acknowledged.
    sent(&mut all, 10);
    for _ in 0..10 {
        all.heard(0, &ack(US, 12 * US, false));
    }
    close(window(&mut all), 20.0);
    close(all.alpha(0), 15.0 / 16.0);
    sent(&mut all, 20);
    // The first acknowledgement of the next window closes the one before it. It bears a mark: one of ten was marked.
    all.heard(0, &ack(2 * US, 12 * US, true));
    let mut alpha = 15.0 / 16.0 + (1.0 / 10.0 - 15.0 / 16.0) / 16.0;
    close(all.alpha(0), alpha);
    let mut expected = 20.0 * (1.0 - alpha / 2.0);
    close(window(&mut all), expected);
    // Until the twenty are acknowledged that were under way, neither marks nor their absence change the window.
    for n in 1..20 {
        all.heard(0, &ack(2 * US, 12 * US, n % 2 == 0));
        close(window(&mut all), expected);
    }
    sent(&mut all, 11);
    // Then 1 / W a packet. The window of the estimate ends with this one: nine of twenty were marked.
    all.heard(0, &ack(3 * US, 12 * US, false));
    expected += 1.0 / expected;
    alpha += (9.0 / 20.0 - alpha) / 16.0;
    close(window(&mut all), expected);
    close(all.alpha(0), alpha);
    // A loss halves, once a window.
    all.lost(0, 3 * US);
    all.lost(0, 3 * US);
    close(window(&mut all), expected / 2.0);
    // Never below a packet.
    for n in 0..400u64 {
        sent(&mut all, 1);
        all.heard(0, &ack((4 + n) * US, 12 * US, true));
    }
    close(window(&mut all), 1.0);
}

fn swift() -> swift::Parameters {
    swift::Parameters {
        target_ps: 15e6,
        additive: 1.0,
        decrease: 0.8,
        most_cut: 0.5,
        flow_range_ps: 0.0,
        flow_least: 0.1,
        flow_most: 100.0,
    }
}

#[test]
fn swift_grows_by_a_packet_a_round_trip_and_cuts_in_proportion_once_a_round_trip() {
    let mut all = Swift::new(swift());
    // 12.5 GB/s x 10 us = 125 kB: 30.5 packets.
    all.open(0, &path(10));
    let window = |all: &mut Swift| all.allowance(0, 0).window / PACKET;
    let mut expected = 125_000.0 / PACKET;
    close(window(&mut all), expected);
    for n in 0..40 {
        all.heard(0, &ack((20 + n) * US, 12 * US, false));
        expected += 1.0 / expected;
        close(window(&mut all), expected);
    }
    // Delay 40 us, target 25 us: 1 - 0.8 x 15/40 = 0.7; a second one within the round trip changes nothing.
    all.heard(0, &ack(100 * US, 40 * US, false));
    close(window(&mut all), 0.7 * expected);
    all.heard(0, &ack(120 * US, 40 * US, false));
    close(window(&mut all), 0.7 * expected);
    // Far too long: max_mdf, no more.
    all.heard(0, &ack(1000 * US, 500 * US, false));
    close(window(&mut all), 0.35 * expected);
    // Below one packet the window paces: W packets in a round trip.
    for n in 0..10 {
        all.heard(0, &ack((2000 + 600 * n) * US, 500 * US, false));
    }
    let below = 0.35 * expected * 0.5f64.powi(10);
    let allowed = all.allowance(0, 0);
    close(allowed.window, PACKET);
    close(allowed.rate, below * PACKET / 500e-6);
}

/// csg-htsim's numbers of the scaling by flows: 100 us between windows of 0.1 and 100 packets.
fn swift_scaled() -> swift::Parameters {
    swift::Parameters { flow_range_ps: 100e6, ..swift() }
}

/// Kumar et al. 2020, s3.5: what the target gains at a window, in us.
fn swift_gain(window: f64) -> f64 {
    let alpha = 100.0 / (1.0 / 0.1f64.sqrt() - 1.0 / 100f64.sqrt());
    let beta = -alpha / 100f64.sqrt();
    (alpha / window.sqrt() + beta).clamp(0.0, 100.0)
}

#[test]
fn swift_raises_the_target_of_small_windows() {
    // By hand: alpha is 100 / (3.16228 - 0.1) = 32.6554, so that windows of 1 and of 16 packets gain 29.39 and 4.90 us.
    for (window, gained) in [(0.05, 100.0), (0.1, 100.0), (1.0, 29.389_9), (16.0, 4.898_3), (100.0, 0.0), (400.0, 0.0)]
    {
        assert!((swift_gain(window) - gained).abs() < 1e-3, "{window}: {} is not {gained}", swift_gain(window));
    }
    let mut all = Swift::new(swift_scaled());
    all.open(0, &path(10));
    let mut window = 125_000.0 / PACKET;
    let mut now = 1000;
    let mut smallest = window;
    // At each window a delay just above its target cuts it, one just below makes it grow.
    while window > 0.05 {
        let mut hear = |delay_us: f64| {
            now += 20_000;
            all.heard(0, &ack(now * US, (delay_us * 1e6) as u64, false));
            let allowed = all.allowance(0, 0);
            match allowed.window > PACKET {
                true => allowed.window / PACKET,
                false => (allowed.rate * delay_us * 1e-6 / PACKET).min(1.0),
            }
        };
        let delay = 25.0 + swift_gain(window) + 0.01;
        let cut = hear(delay);
        let share = 1.0 - 0.8 * 0.01 / delay;
        assert!((cut / window / share - 1.0).abs() < 1e-6, "{window}: {cut} is not {share} of it");
        let grown = hear(25.0 + swift_gain(cut) - 0.01);
        let expected = cut + if cut >= 1.0 { 1.0 / cut } else { 1.0 };
        assert!((grown / expected - 1.0).abs() < 1e-6, "{cut}: {grown} is not {expected}");
        // Growth leads from below a packet above it: cuts by half lead below the last window.
        window = grown;
        while window > smallest / 2.0 {
            window = hear(10_000.0);
        }
        smallest = window;
    }
}

fn nscc() -> nscc::Parameters {
    nscc::Parameters { target_ps: 6e6, decrease: 0.8, weight: 0.0125, idle_ps: 1e6 }
}

#[test]
fn nscc_follows_its_four_quadrants() {
    let mut all = Nscc::new(nscc());
    // The reference network: 150 kB fill it, so that every constant scales by 1; windows begin at 1.5 of it.
    all.open(0, &path(12));
    let window = |all: &mut Nscc| all.allowance(0, 0).window;
    close(window(&mut all), 225_000.0);
    // A mark below the target: nothing.
    let before = window(&mut all);
    all.heard(0, &ack(US, 15 * US, true));
    close(window(&mut all), before);
    // Mean delays of marked packets 30 us late: m += 0.0125 (30 - m), from 0.0125 x 3; the first cut comes when m
    // passes 6.
    let mut mean = 0.0125 * 3.0;
    let mut now = 2 * US;
    while mean <= 6.0 {
        let before = window(&mut all);
        mean += 0.0125 * (30.0 - mean);
        all.heard(0, &ack(now, 42 * US, true));
        now += 1000;
        if mean <= 6.0 {
            // Growth takes effect every eight packets: eta alone, and no more than the largest window.
            close(window(&mut all), before.max(225_000.0));
        }
    }
    close(window(&mut all), 225_000.0 * (1.0 - 0.8 * (mean - 6.0) / mean));
    // Not again within a round trip, but for eta at every eighth packet.
    let cut = window(&mut all);
    all.heard(0, &ack(now, 42 * US, true));
    assert!(window(&mut all) - cut <= 0.15 * PACKET + 1.0);
    // Unmarked and late: fair increase, 5 packets' bytes for a window acknowledged, applied once in eight packets.
    let mut flows = Nscc::new(nscc());
    flows.open(0, &path(12));
    for n in 0..200 {
        flows.heard(0, &ack(1000 * US * n + 500 * US, 400 * US, true));
        flows.heard(0, &ack(1000 * US * (n + 1), 400 * US, true));
    }
    let least = flows.allowance(0, 0).window;
    assert!(least < 3.0 * PACKET, "{least}");
    let (start, fresh) = (10_000_000 * US, flows.allowance(0, 0).window);
    let mut expected = fresh;
    let mut growth = 0.0;
    // The round trip since the last adjustment is long over: each acknowledgement adjusts.
    for n in 0..5u64 {
        flows.heard(0, &ack(start + n * 20 * US, 20 * US, false));
        growth += 5.0 * PACKET * PACKET;
        expected += growth / expected + 0.15 * PACKET;
        growth = 0.0;
        close(flows.allowance(0, 0).window, expected);
    }
    // Unmarked, 3 us of 6: alpha = 4 x 0.5 x packet / 6 us a byte, and fair increase.
    flows.heard(0, &ack(start + 200 * US, 15 * US, false));
    let alpha = 4.0 * 0.5 * PACKET / 6e6;
    expected += (alpha * PACKET * 3e6 + 5.0 * PACKET * PACKET) / expected + 0.15 * PACKET;
    close(flows.allowance(0, 0).window, expected);
}

/// maxStage 0: nothing grows by W_AI alone; the window of each acknowledgement is W^c eta / U + W_AI (algorithm 1).
#[test]
fn hpcc_without_stages_multiplies_every_window() {
    let mut all = Hpcc::new(hpcc::Parameters { stages: 0, ..hpcc() });
    all.open(0, &path(10));
    let told = |all: &mut Hpcc, now_us: u64, hops: &[Hop]| {
        all.heard(0, &Ack { hops, ..ack(now_us * US, 12 * US, false) });
        all.allowance(0, 0).window
    };
    close(told(&mut all, 12, &[hop(6, 100_000.0, 0.0)]), 125_000.0);
    // What 5 us bring: congestion, then half of the line rate and no queue, where stages would add 80 B each.
    let (mut inflight, mut window, mut sent, mut before) = (1.0, 125_000.0, 0.0, 100_000.0f64);
    for (round, (queue, bytes)) in
        [(100_000.0, 62_500.0); 4].into_iter().chain([(0.0, 31_250.0); 3]).enumerate().map(|(n, of)| (n as u64, of))
    {
        sent += bytes;
        let filled = before.min(queue) / 125_000.0 + bytes / 62_500.0;
        before = queue;
        inflight = 0.5 * inflight + 0.5 * filled;
        window = (window * 0.95 / inflight + 80.0).min(125_000.0);
        close(told(&mut all, 40 + 20 * round, &[hop(11 + 5 * round, queue, sent)]), window);
    }
    assert!(window < 125_000.0 && inflight < 0.95, "{window} {inflight}");
}

/// Li et al. 2019, s5.1: eta 95 %, maxStage 5, W_AI 80 B.
fn hpcc() -> hpcc::Parameters {
    hpcc::Parameters { eta: 0.95, stages: 5, additive: 80.0 }
}

fn hop(at_us: u64, queue_bytes: f64, sent_bytes: f64) -> Hop {
    Hop { link: 7, rate: LINE, queue_bytes, sent_bytes, at_ps: at_us * US }
}

#[test]
fn hpcc_follows_algorithm_1() {
    let mut all = Hpcc::new(hpcc());
    // B x T = 125 kB is the first window, paced at the line rate.
    all.open(0, &path(10));
    let told = |all: &mut Hpcc, now_us: u64, rtt_us: u64, hops: &[Hop]| {
        all.heard(0, &Ack { hops, ..ack(now_us * US, rtt_us * US, false) });
        all.allowance(0, 0).window
    };
    close(all.allowance(0, 0).rate, LINE);
    // The first telemetry has nothing to be compared with.
    close(told(&mut all, 12, 11, &[hop(6, 50_000.0, 0.0)]), 125_000.0);
    // 62.5 kB in 5 us: the line rate. The smaller queue is 0.2 of B x T: u = 1.2, and U = 0.5 x 1 + 0.5 x 1.2.
    let reference = 125_000.0 * 0.95 / 1.1 + 80.0;
    close(told(&mut all, 17, 12, &[hop(11, 25_000.0, 62_500.0)]), reference);
    close(all.allowance(0, 0).rate, reference / 10e-6);
    // This packet left before the update: the window follows from the same reference. u = 0.2 + 0.8, U = 0.5 x 1.1 +
    // 0.5.
    close(told(&mut all, 22, 12, &[hop(16, 30_000.0, 112_500.0)]), reference * 0.95 / 1.05 + 80.0);
    // These left after it. Half of the line rate and no queue: U falls below eta, and five windows grow by W_AI.
    let (mut inflight, mut window, mut sent) = (1.05, reference, 112_500.0);
    for round in 0..12u64 {
        inflight = 0.5 * inflight + 0.5 * 0.5;
        let multiplies = inflight >= 0.95 || round == 5 || round == 11;
        window = (if multiplies { window * 0.95 / inflight } else { window } + 80.0).min(125_000.0);
        sent += 31_250.0;
        close(told(&mut all, 40 + 20 * round, 12, &[hop(21 + 5 * round, 0.0, sent)]), window);
    }
    // Another path has nothing to be compared with; the fullest of several links counts, at most for T.
    let before = all.allowance(0, 0).window;
    let other = Hop { link: 8, ..hop(100, 0.0, 0.0) };
    close(told(&mut all, 400, 12, &[other, hop(101, 0.0, 0.0)]), before);
    let idle = Hop { link: 8, ..hop(130, 0.0, 1_000.0) };
    // 30 us are more than T: U is u itself, first 1 (the queue was empty before), then 1.4.
    let first = before * 0.95 + 80.0;
    close(told(&mut all, 440, 12, &[idle, hop(131, 50_000.0, 375_000.0)]), first);
    let idle = Hop { link: 8, ..hop(160, 0.0, 2_000.0) };
    close(told(&mut all, 480, 12, &[idle, hop(161, 50_000.0, 750_000.0)]), first * 0.95 / 1.4 + 80.0);
}

#[test]
fn flows_wait_for_their_window_and_their_pace_and_places_are_used_again() {
    let mut flows = Flows::new(Box::new(Hpcc::new(hpcc())));
    let flow = flows.open(5, &path(1));
    // 12.5 kB, 327.68 ns apart: three packets of 4096 B fit, and a fourth begins within the window.
    for n in 0..4u64 {
        let now = n * 327_680;
        assert_eq!(flows.permit(flow, now), Permit::Now);
        flows.sent(flow, PACKET as u32, now);
        if n < 3 {
            assert_eq!(flows.permit(flow, now), Permit::At(now + 327_680));
        }
    }
    assert_eq!(flows.permit(flow, 2 * US), Permit::Acknowledged);
    assert_eq!(flows.heard(flow, &ack(2 * US, US, false)), Some(5));
    assert_eq!(flows.permit(flow, 2 * US), Permit::Now);
    flows.close(flow);
    assert_ne!(flows.open(6, &path(1)), flow, "three acknowledgements are to come");
    let acknowledged = [3 * US, 4 * US].map(|now| flows.heard(flow, &ack(now, US, false)));
    assert_eq!((acknowledged, flows.gone(flow, PACKET as u32)), ([None; 2], None));
    assert_eq!(flows.open(7, &path(1)), flow);
}

/// A window that has grown above a packet paces no longer: the wait that a smaller one asked for ends with it.
#[test]
fn a_window_above_a_packet_ends_the_wait_of_its_pace() {
    let mut flows = Flows::new(Box::new(Swift::new(swift())));
    let flow = flows.open(0, &path(10));
    let mut now = 0;
    // A packet leaves and is acknowledged after this long: may the next one leave at once?
    let mut after = |rtt_us: u64| {
        flows.sent(flow, PACKET as u32, now);
        now += rtt_us * US;
        flows.heard(flow, &ack(now, rtt_us * US, false));
        flows.permit(flow, now) == Permit::Now
    };
    // Far above the target a window of 30 packets is halved each time; below a packet it paces.
    assert_eq!((0..7).map(|_| after(500)).collect::<Vec<_>>(), [true, true, true, true, true, false, false]);
    // Below the target it grows by a packet. The next one leaves at once, though the last one asked for 2 ms or more.
    assert!(after(12));
}

/// Flows over one queue, in steps of a microsecond, with feedback a round trip late. Returns the queue's delay at the
/// end, each flow's share of the second half, and how much of the link that half took.
fn bottleneck(all: &mut dyn Transport, flows: u32, base_us: u64, mark_bytes: f64) -> (f64, Vec<f64>, f64) {
    (0..flows).for_each(|flow| all.open(flow, &path(base_us)));
    let steps = 40_000u64;
    let room = all.room();
    let mut queue = 0.0;
    let mut in_flight = vec![0.0; flows as usize];
    let mut owed = vec![0.0; flows as usize];
    let mut sent = vec![0.0; flows as usize];
    // Acknowledgements by the step in which they come back: flow, round trip, mark.
    let mut back: Vec<Vec<(u32, u64, bool)>> = vec![Vec::new(); steps as usize + 20_000];
    let mut delays = 0.0;
    for step in 0..steps {
        let now = step * US;
        for (flow, rtt_ps, marked) in std::mem::take(&mut back[step as usize]) {
            in_flight[flow as usize] -= PACKET;
            all.heard(flow, &ack(now, rtt_ps, marked));
        }
        for turn in 0..flows {
            let flow = ((u64::from(turn) + step) % u64::from(flows)) as usize;
            let allowed = all.allowance(flow as u32, now);
            owed[flow] = (owed[flow] + allowed.rate.min(LINE) * 1e-6).min(4.0 * PACKET);
            while owed[flow] >= PACKET && (room.has(allowed.window, in_flight[flow], PACKET) || in_flight[flow] == 0.0)
            {
                owed[flow] -= PACKET;
                in_flight[flow] += PACKET;
                all.sent(flow as u32, PACKET as u32, now);
                let waits_us = (queue / LINE * 1e6) as u64;
                let rtt_us = base_us + waits_us;
                let marked = queue > mark_bytes;
                queue += PACKET;
                if let Some(place) = back.get_mut((step + rtt_us.max(1)) as usize) {
                    place.push((flow as u32, rtt_us * US, marked));
                }
                if step > steps / 2 {
                    sent[flow] += PACKET;
                }
            }
        }
        queue = (queue - LINE * 1e-6f64).max(0.0);
        if step > steps / 2 {
            delays += queue / LINE * 1e6;
        }
    }
    let total: f64 = sent.iter().sum();
    let shares = sent.iter().map(|bytes| bytes / total * f64::from(flows)).collect();
    (delays / (steps / 2) as f64, shares, total / (LINE * 1e-6 * (steps / 2) as f64))
}

/// Alizadeh et al. 2010, s3.3: the least and the greatest queue in packets of N flows in step. `fills` packets fill the
/// path both ways.
fn dctcp_queue(flows: f64, fills: f64, k: f64) -> [f64; 2] {
    let window = (fills + k) / flows;
    let marks = (2.0 * window + 1.0) / ((window + 1.0) * (window + 1.0));
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..60 {
        let alpha = f64::midpoint(low, high);
        if alpha * alpha * (1.0 - alpha / 4.0) > marks { high = alpha } else { low = alpha }
    }
    [k + flows - flows * (window + 1.0) * low / 2.0, k + flows]
}

/// Swift's delay stays near the target for any number of flows; DCQCN and NSCC keep a queue. All fill the link and
/// share it about evenly.
#[test]
fn flows_share_a_link_and_hold_the_queue_where_their_papers_say() {
    for flows in [2, 8] {
        let (delay, shares, used) = bottleneck(&mut Swift::new(swift()), flows, 10, f64::INFINITY);
        assert!((5.0..20.0).contains(&delay), "Swift, {flows} flows: {delay} us of a target of 15");
        assert!(used > 0.95 && shares.iter().all(|share| (0.5..1.5).contains(share)), "Swift: {used} {shares:?}");
        // Scaling by flows: N windows fill the path and the queue of a target that depends on them, W = C (RTT + d) /
        // N.
        let held = |delay: f64| 15.0 + swift_gain(LINE * (10.0 + delay) / 1e6 / PACKET / f64::from(flows));
        let expected = (0..60).fold(15.0, |delay, _| held(delay));
        let (delay, shares, used) = bottleneck(&mut Swift::new(swift_scaled()), flows, 10, f64::INFINITY);
        println!("Swift, {flows} flows: {delay:.2} us of {expected:.2}");
        assert!((delay / expected - 1.0).abs() < 0.15, "Swift, {flows} flows: {delay} us of {expected}");
        assert!(used > 0.95 && shares.iter().all(|share| (0.5..1.5).contains(share)), "Swift: {used} {shares:?}");
        let (delay, shares, used) = bottleneck(&mut Nscc::new(nscc()), flows, 12, 37_500.0);
        assert!((1.0..24.0).contains(&delay), "NSCC, {flows} flows: {delay} us of a target of 6");
        assert!(used > 0.9 && shares.iter().all(|share| (0.5..1.5).contains(share)), "NSCC: {used} {shares:?}");
        // 50 packets; C x RTT is 30: s3.3 of the paper has the queue between K + N - N (W + 1) alpha / 2 and K + N.
        let (delay, shares, used) = bottleneck(&mut Dctcp::new(dctcp()), flows, 10, 50.0 * PACKET);
        let [low, high] =
            dctcp_queue(f64::from(flows), LINE * 10e-6 / PACKET, 50.0).map(|queue| queue * PACKET / LINE * 1e6);
        println!("DCTCP, {flows} flows: {delay:.2} us of {low:.2} to {high:.2}");
        assert!((0.9 * low..1.1 * high).contains(&delay), "DCTCP, {flows} flows: {delay} us of {low} to {high}");
        assert!(used > 0.99 && shares.iter().all(|share| (0.5..1.5).contains(share)), "DCTCP: {used} {shares:?}");
        let (delay, shares, used) = bottleneck(&mut Dcqcn::new(dcqcn()), flows, 10, 200_000.0);
        assert!(delay < 100.0, "DCQCN, {flows} flows: {delay} us");
        assert!(used > 0.8 && shares.iter().all(|share| (0.4..1.6).contains(share)), "DCQCN: {used} {shares:?}");
    }
}

/// Picoseconds of a packet at the line rate.
const STEP: u64 = 327_680;

/// By hand: requests take half of the round trip, grants the other. The receiver serves in turn, a packet in the time that
/// its link takes for one.
#[test]
fn credits_come_a_round_trip_after_their_request_one_packet_time_apart() {
    let mut all = Credits::new(credits::Parameters { rate: 1.0, first: 0.0 });
    let mut log = Vec::new();
    let mut run = |all: &mut Credits, flows: &[u32]| {
        while let Some(now) = all.next_ps() {
            let mut granted = Vec::new();
            all.tick(now, &mut granted);
            log.extend(granted.into_iter().map(|flow| (flow, now)));
        }
        let credits: Vec<f64> = flows.iter().map(|&flow| all.allowance(flow, 0).window / PACKET).collect();
        (std::mem::take(&mut log), credits)
    };
    for flow in [0, 1] {
        all.open(flow, &path(10));
        assert!(!all.room().has(all.allowance(flow, 0).window, 0.0, PACKET), "not even a first packet");
    }
    all.wants(0, 2.5 * PACKET, 0);
    all.wants(1, 2.0 * PACKET, 0);
    let at = |steps: u64| 10 * US + steps * STEP;
    let (told, credits) = run(&mut all, &[0, 1]);
    assert_eq!(told, [(0, at(0)), (1, at(1)), (0, at(2)), (1, at(3)), (0, at(4))]);
    assert_eq!(credits, [2.5, 2.0]);
    // Two packets leave unasked: they take the receiver's time as if they had been granted.
    let mut eager = Credits::new(credits::Parameters { rate: 0.5, first: 0.05 });
    eager.open(0, &path(10));
    eager.wants(0, 3.0 * PACKET, 0);
    assert_eq!(eager.allowance(0, 0).window, 2.0 * PACKET);
    assert!(eager.room().has(eager.allowance(0, 0).window, 0.0, PACKET));
    // At half of the rate: twice the time for each.
    assert_eq!(run(&mut eager, &[0]), (vec![(0, at(4))], vec![3.0]));
    // What is asked for later waits for nobody.
    eager.wants(0, PACKET, 100 * US);
    assert_eq!(run(&mut eager, &[0]), (vec![(0, 110 * US)], vec![4.0]));
}

/// Grants leave a packet time apart and return as data. So what waits for the receiver's link at most is what the
/// difference of the round trips lets come at once. The flows share what is granted evenly. (ExpressPass, s3.)
#[test]
fn credits_bound_the_queue_by_the_spread_of_round_trips() {
    for (flows, spread_us, rate) in [(2u32, 0u64, 1.0), (8, 0, 0.99), (8, 4, 0.99), (31, 4, 1.0)] {
        let mut all = Flows::new(Box::new(Credits::new(credits::Parameters { rate, first: 0.0 })));
        // The way there is longer for every second flow.
        let of =
            |flow: u32| Path { base_rtt_ps: (10 + u64::from(flow % 2) * spread_us) * US, back_ps: 5 * US, ..path(10) };
        for flow in 0..flows {
            assert_eq!(all.open(flow, &of(flow)), flow);
            // Those with a shorter way join later: their data come beside what the others were granted before.
            all.wants(flow, 1e9, if flow % 2 == 0 { 100 * US } else { 0 });
            assert_eq!(all.permit(flow, 0), Permit::Acknowledged);
        }
        let (mut arrivals, mut sent, mut total, end) = (Vec::new(), vec![0u32; flows as usize], 0, 2000 * US);
        while let Some(now) = all.next_ps().filter(|&now| now < end) {
            let mut owners = Vec::new();
            all.tick(now, &mut owners);
            for flow in owners {
                while all.permit(flow, now) == Permit::Now {
                    all.sent(flow, PACKET as u32, now);
                    total += 1;
                    sent[flow as usize] += u32::from(now > end / 2);
                    let Path { base_rtt_ps, back_ps, .. } = of(flow);
                    arrivals.push(now + base_rtt_ps - back_ps);
                }
            }
        }
        arrivals.sort_unstable();
        let (mut free, mut most) = (0u64, 0u64);
        for &at in &arrivals {
            most = most.max(free.saturating_sub(at));
            free = free.max(at) + STEP;
        }
        // What waits before a packet: grants of the spread, at their rate, and rounding.
        let bound = spread_us * US + STEP;
        assert!(most <= bound, "{flows} flows, {spread_us} us apart: {most} ps of {bound}");
        assert!(spread_us == 0 || most > STEP, "the spread is felt: {most}");
        let due = rate * (end - 10 * US) as f64 / STEP as f64;
        assert!((f64::from(total) / due - 1.0).abs() < 0.01, "{total} packets of {due}");
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(most - least <= 2, "{sent:?}");
    }
}
