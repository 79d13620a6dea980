//! Bare event rates of the queues, as ratios to the radix heap: pop one, schedule one, at 10^3 to 10^6 pending.
//!
//! `cargo run --release -p hotlink-event --example event_rates`

use hotlink_event::{BinaryHeap, Calendar, Event, Few, QuadHeap, Queue, RadixHeap, TraceHash};
use std::time::Instant;

const EVENTS: u32 = 2_000_000;

/// Delays as packets have them: a few constants (serialisation, latency), so that many events share a time.
fn few_constants(random: u64) -> u64 {
    [0, 8_000, 50_000, 400_000, 1_000_000][(random >> 33) as usize % 5]
}

/// Delays anywhere in 2^20 ps.
fn spread(random: u64) -> u64 {
    random >> 44
}

fn rate<Q: Queue>(pending: u32, delay: fn(u64) -> u64) -> (f64, u64) {
    let (mut queue, mut random, mut trace) = (Q::default(), 1u64, TraceHash::default());
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random
    };
    for id in 0..pending {
        queue.push(delay(next()), Event::new(0, id, 0));
    }
    let start = Instant::now();
    for _ in 0..EVENTS {
        let (now, event) = queue.pop().expect("as many pushed as popped");
        trace.add(now, event);
        queue.push(now + delay(next()), event);
    }
    (f64::from(EVENTS) / start.elapsed().as_secs_f64() / 1e6, trace.value())
}

fn main() {
    println!("million events/s (ratio to radix 64)");
    println!(
        "{:<14} {:>8} {:>12} {:>18} {:>18} {:>18} {:>18} {:>18} {:>18}",
        "delays", "pending", "radix 64", "few, radix 64", "calendar", "radix 256", "radix 2", "binary", "4-ary"
    );
    for (name, delay) in [("few constants", few_constants as fn(u64) -> u64), ("spread", spread)] {
        for pending in [3, 10, 1_000, 10_000, 100_000, 1_000_000] {
            let (base, trace) = rate::<RadixHeap>(pending, delay);
            let others = [
                rate::<Few<RadixHeap>>(pending, delay),
                rate::<Calendar>(pending, delay),
                rate::<RadixHeap<8>>(pending, delay),
                rate::<RadixHeap<1>>(pending, delay),
                rate::<BinaryHeap>(pending, delay),
                rate::<QuadHeap>(pending, delay),
            ];
            print!("{name:<14} {pending:>8} {base:>12.1}");
            for (other, other_trace) in others {
                assert_eq!(trace, other_trace, "every queue gives the same trace");
                print!(" {other:>9.1} ({:>5.2}x)", other / base);
            }
            println!();
        }
    }
}
