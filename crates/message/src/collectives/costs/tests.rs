//! What the cost model knows of ports, each by figures of its own.

use super::*;
use hotlink_port::DepositLimits;

/// 20,000 B but for a packet take 1.59 us of the link; the sender learns of a message's end after 2 us.
#[test]
fn children_are_served_in_turn_where_the_way_out_costs_more_than_the_ends() {
    let own = Limits { latency: Time::from_us(2.0), rate: Rate::from_mbps(10_000.0), ..Limits::messages("x") };
    let in_turn = |turn_bytes, bytes| {
        let limits = Limits { turn_bytes, ..own.clone() };
        let costs = Costs::of(&limits);
        [1, 2, 3].map(|children| costs.in_turn(children, bytes))
    };
    // Two ends against three times 1.59 us; one end against one.
    assert_eq!(in_turn(4096, 20_000), [false, false, true]);
    assert_eq!(in_turn(0, 24_200), [false, true, true]);
    // Ports that end one message before the next lose nothing; eager messages wait for nothing.
    assert_eq!(in_turn(u64::MAX, 1 << 20), [false; 3]);
    assert_eq!(in_turn(0, 16 << 10), [false; 3]);
    // The model charges the cheaper of the two, beyond a message a level.
    let limits = Limits { turn_bytes: 4096, ..own.clone() };
    let costs = Costs::of(&limits);
    let took = |ranks| costs.of_algorithm(Binomial, Collective::Bcast, ranks, 20_000);
    let (message, late) = (costs.message(20_000.0), 15_904.0 * 100.0);
    assert_eq!([took(2), took(4), took(8)], [message, 2.0 * message + late, 3.0 * message + 2.0 * 2e6]);
}

/// A processor copies each of 15 messages of 4 KiB in 4 us, and offers each in 200 ns. Of an empty message there is
/// nothing to fetch, and without a fetch there are only buffers.
#[test]
fn messages_that_copies_would_hold_up_go_without_buffers() {
    let fetched = Limits {
        real_time: false,
        fetch: Some(DepositLimits::ANY),
        latency: Time::from_us(1.0),
        rate: Rate::from_mbps(50_000.0),
        copy_rate: Rate::from_mbps(1_000.0),
        post_overhead: Time::from_ns(100.0),
        poll_overhead: Time::from_ns(100.0),
        ..Limits::messages("x")
    };
    let direct = |limits: &Limits, n, bytes| {
        let [usual, direct] = Costs::of(limits).ways(Crowd::Out, n, bytes);
        direct < usual
    };
    assert_eq!([(1.0, 512.0), (15.0, 4096.0), (15.0, 0.0)].map(|(n, m)| direct(&fetched, n, m)), [false, true, false]);
    assert!(!direct(&Limits { fetch: None, ..fetched }, 15.0, 4096.0));
}

/// On a ring of one direction, pairs at any distance share each link among half of the ranks; neighbours share none.
#[test]
fn links_that_pairs_share_make_a_ring_of_messages_cheaper() {
    let alone = Limits { latency: Time::from_us(2.0), rate: Rate::from_mbps(200.0), ..Limits::messages("x") };
    let [whole, shared] = [200.0, 25.0].map(|mbps| vec![Rate::from_mbps(mbps); 4]);
    let together =
        Some(Together { paired: shared, further: whole, down: vec![], up: vec![], all: Rate::from_mbps(25.0) });
    let limits = Limits { together, ..alone.clone() };
    let chosen = |limits: &Limits| Algorithm::chosen(Collective::Allreduce, 16, 64 << 10, limits);
    assert_eq!([chosen(&alone), chosen(&limits)], [Rabenseifner, Ring]);
}

/// A block of 2 MiB is copied at the slower rate of long ones, one of 512 B at that of short ones. Half way between two
/// lengths, in doublings, it is the mean of both.
#[test]
fn a_copy_takes_as_long_as_where_its_block_lies() {
    let rates = Some([1_000.0, 1_000.0, 500.0, 100.0].map(Rate::from_mbps));
    let limits = Limits { copy_rates: rates, ..Limits::messages("x") };
    let costs = Costs::of(&limits);
    let per_byte = |bytes: f64| (costs.copy(bytes) / bytes).round();
    assert_eq!([512.0, 1024.0, 65536.0, 2_097_152.0].map(per_byte), [1000.0, 1000.0, 2000.0, 10_000.0]);
    assert_eq!(per_byte(8192.0 * 8.0f64.sqrt()), 1500.0);
}
