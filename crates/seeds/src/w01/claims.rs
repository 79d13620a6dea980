//! W01's claims, each with what the message stack on the simulated fabric gives.

use super::figures::{by_formula, zero_copy};
use super::runs::{self, Runs};
use super::{FABRIC, Setups, mib};
use crate::Row;
use crate::evidence::Evidence;
use crate::run::{Run, number};
use hotlink_fabric::catalog::Claim;
use serde_json::{Value, json};

pub(super) fn rows(runs: &Runs, setups: &Setups, claim: &Claim) -> Vec<Row> {
    match claim.id.as_str() {
        "G027" => vec![largest(runs, claim, "regular"), regular_ahead(runs, claim)],
        "G028" => vec![largest(runs, claim, "registered"), cache_hides(runs, claim)],
        "G029" => {
            vec![
                Row::new(claim, Evidence::stated())
                    .reproduced(FABRIC)
                    .under("the testbed is this fabric of the catalog"),
            ]
        }
        "G030" => policies(runs, claim),
        "G031" => mapping(runs, setups, claim),
        "G032" => {
            vec![regular_ahead(runs, claim), off_its_pages(runs, claim, "lru"), off_its_pages(runs, claim, "immediate")]
        }
        "G033" => exchange(runs, claim),
        "G034" => vec![pays_off(runs, claim, "regular"), pays_off(runs, claim, "registered")],
        "G035" => vec![saturation(runs, claim)],
        "G036" => efficiency(runs, claim),
        "G037" => {
            vec![of(&runs.overlap, claim).reproduced("FIXED, DAXPY").under("by --spin fixed,daxpy")]
        }
        "G038" => vec![of(&runs.overlap, claim).reproduced("s23, s24, s25").under("see --figures")],
        "G039" => protocol(runs, claim),
        _ => vec![Row::new(claim, Evidence::stated()).gap("not looked at")],
    }
}

fn of(run: &Run, claim: &Claim) -> Row {
    Row::new(claim, run.evidence()).also("command", &*run.command).also("fabric", FABRIC)
}

/// Sizes that were simulated and move without copies.
fn long(runs: &Runs) -> Vec<u64> {
    let wanted = [("memory", runs::memory("regular")), ("cache", json!("lru"))];
    let moved = runs.pingpong.with(&wanted).filter(|record| number(record, "deposited") > 0.0);
    moved.filter_map(|record| record["size_B"].as_u64()).collect()
}

fn largest(runs: &Runs, claim: &Claim, memory: &str) -> Row {
    let wanted = [("memory", runs::memory(memory)), ("cache", json!("lru"))];
    let most = runs.pingpong.with(&wanted).map(mib).fold(f64::NAN, f64::max);
    let row = of(&runs.pingpong, claim).reproduced(most);
    row.under(
        "ping-pong over the message stack, largest of the curve; waits from the memory, pages as a chain of operations",
    )
}

fn ping(runs: &Runs, size: u64, memory: &str, cache: &str) -> f64 {
    let wanted = [("size_B", json!(size)), ("memory", runs::memory(memory)), ("cache", json!(cache))];
    runs.pingpong.number(&wanted, "latency_us")
}

/// s11, s27: at every size that moves without copies.
fn regular_ahead(runs: &Runs, claim: &Claim) -> Row {
    let long = long(runs);
    let ratio = |&size: &u64| ping(runs, size, "registered", "lru") / ping(runs, size, "regular", "lru");
    let least = long.iter().map(ratio).fold(f64::INFINITY, f64::min);
    of(&runs.pingpong, claim)
        .reading("regular segments / registered memory, least of all sizes")
        .reproduced(least)
        .statement("ratio", !long.is_empty() && least > 1.0)
        .under("follows from pages that are operations of the engine's chain")
}

/// s27: connection overhead hidden by segment caching.
fn cache_hides(runs: &Runs, claim: &Claim) -> Row {
    let long = long(runs);
    let memories = ["regular", "registered"];
    let gain = |size, memory| ping(runs, size, memory, "immediate") / ping(runs, size, memory, "lru");
    // What goes through buffers sets nothing up.
    let moved = |&(size, memory): &(u64, &str)| {
        let wanted = [("size_B", json!(size)), ("memory", runs::memory(memory)), ("cache", json!("lru"))];
        runs.pingpong.number(&wanted, "deposited") > 0.0
    };
    let points = || long.iter().flat_map(|&size| memories.map(|memory| (size, memory))).filter(moved);
    let gains = || points().map(|(size, memory)| gain(size, memory));
    of(&runs.pingpong, claim)
        .reading("time set up each time / cached, greatest of all sizes and both memories")
        .reproduced(gains().fold(f64::NAN, f64::max))
        .statement("ratio", points().next().is_some() && gains().all(|gain| gain > 1.0))
        .under("registration times are estimated by analogy")
}

/// s11: private memory should be page-aligned. What begins elsewhere touches a page more, which is pinned and moved.
fn off_its_pages(runs: &Runs, claim: &Claim, cache: &str) -> Row {
    let wanted = [("alignment", json!("default")), ("cache", json!(cache))];
    let moved = runs.alignment.with(&wanted).filter(|record| number(record, "deposited") > 0.0);
    let sizes: Vec<u64> = moved.filter_map(|record| record["size_B"].as_u64()).collect();
    let time = |&size: &u64, alignment: &str| {
        let wanted = [("size_B", json!(size)), ("alignment", json!(alignment)), ("cache", json!(cache))];
        runs.alignment.number(&wanted, "latency_us")
    };
    let ratio = |size: &u64| time(size, "none") / time(size, "default");
    let ratios: Vec<f64> = sizes.iter().map(ratio).collect();
    let how = if cache == "lru" { "set up once" } else { "set up each time" };
    of(&runs.alignment, claim)
        .reading(&format!("private memory off its pages / aligned, smallest without copies, {how}"))
        .reproduced(ratios.first().copied().unwrap_or(f64::NAN))
        .also("ratio_4MiB", ratios.last().copied())
        .statement("ratio", !ratios.is_empty() && ratios.iter().all(|&ratio| ratio > 1.0))
        .under(
            "time; at every size up to 4 MiB that moves without copies; a page more is pinned and moved, at costs that follow from the chain or are by analogy",
        )
}

fn policies(runs: &Runs, claim: &Claim) -> Vec<Row> {
    let immediate = runs.study.number(&[("policy", json!("immediate"))], "setup_us");
    let row = |record: &Value| {
        let caches = record["policy"] != "immediate";
        let hits = number(record, "hit_rate");
        let row = of(&runs.study, claim)
            .reading(record["policy"].as_str().unwrap_or_default())
            .reproduced(hits)
            .in_unit("hits / look-ups")
            .also("setup_us", record["setup_us"].clone())
            .also("bound_hit_rate", record["bound_hit_rate"].clone());
        match caches {
            true => row
                .holds(hits > 0.0 && number(record, "setup_us") < immediate)
                .under("registration takes less than without"),
            false => row.under("nothing is kept"),
        }
    };
    runs.study.with(&[]).map(row).collect()
}

fn mapping(runs: &Runs, setups: &Setups, claim: &Claim) -> Vec<Row> {
    let sizes: Vec<u64> = (12..=22).map(|exponent| 1 << exponent).collect();
    let [map, connect] = [0, 1].map(|which| sizes.iter().map(|&size| setups.times(size)[which]).collect::<Vec<_>>());
    let dearer = map.iter().zip(&connect).all(|(map, connect)| map > connect);
    let grows = map.windows(2).all(|two| two[0] < two[1]);
    let size = 64 << 10;
    let share = setups.times(size)[0] / runs.pingpong.number(&zero_copy(size), "latency_us");
    vec![
        Row::new(claim, by_formula())
            .reading("mapping / connecting, 4 MiB")
            .reproduced(map[map.len() - 1] / connect[connect.len() - 1])
            .statement("ratio", dearer && grows)
            .also("fabric", FABRIC)
            .under("at every size from 4 KiB, and growing with it; inputs estimated by analogy"),
        of(&runs.pingpong, claim)
            .reading("mapping / transfer, 64 KiB")
            .reproduced(share)
            .in_unit("ratio")
            .under("what a message would pay whose buffer is mapped for it alone"),
    ]
}

fn exchange(runs: &Runs, claim: &Claim) -> Vec<Row> {
    let mut all = Vec::new();
    for memory in ["regular", "registered"] {
        for size in [64_u64 << 10, 128 << 10] {
            let time = |zero_copy: bool| {
                let wanted =
                    [("size_B", json!(size)), ("memory", runs::memory(memory)), ("zero_copy", json!(zero_copy))];
                runs.alltoallv.number(&wanted, "latency_us")
            };
            all.push(gain(&runs.alltoallv, claim, &format!("alltoallv {} KiB, {memory}", size >> 10), &time));
        }
        for (what, key) in [("NPB IS class W", "time_s"), ("its communication", "communication_s")] {
            let time = |zero_copy: bool| {
                runs.sort.number(&[("memory", runs::memory(memory)), ("zero_copy", json!(zero_copy))], key)
            };
            // Two messages of the sort in three go through buffers either way: its keys are not aligned for DMA.
            all.push(gain(&runs.sort, claim, &format!("{what}, {memory}"), &time).known_not_to_hold());
        }
    }
    all
}

fn gain(run: &Run, claim: &Claim, what: &str, time: &dyn Fn(bool) -> f64) -> Row {
    let speedup = time(false) / time(true);
    of(run, claim)
        .reading(what)
        .reproduced(speedup)
        .statement("speed-up", speedup > 1.0)
        .also("nodes", 8)
        .under("through buffers by the processor / zero-copy by DMA")
}

fn point<'a>(runs: &'a Runs, memory: &'a str, zero_copy: bool) -> Vec<&'a Value> {
    let fixed = |record: &&Value| {
        record["size_B"] == 64 << 10
            && record["spin"] == "fixed"
            && record["memory"] == runs::memory(memory)
            && record["zero_copy"] == zero_copy
    };
    runs.overlap.with(&[]).filter(fixed).collect()
}

/// s27: the busy time from which on an asynchronous message ends earlier than a synchronous one. None is as short as 0:
/// where the message alone is faster, it is ahead for any computation.
fn pays_off(runs: &Runs, claim: &Claim, memory: &str) -> Row {
    let alone = point(runs, memory, false).first().map_or(f64::NAN, |record| number(record, "message_us"));
    let points = point(runs, memory, true);
    let lead = |record: &Value| alone + number(record, "compute_us") - number(record, "total_us");
    let message = points.first().map_or(f64::NAN, |record| number(record, "message_us"));
    let curve = points.iter().map(|record| (number(record, "compute_us"), lead(record)));
    let curve: Vec<(f64, f64)> = std::iter::once((0.0, alone - message)).chain(curve).collect();
    // Between two points of the curve it is a line.
    let crossing = |pair: &[(f64, f64)]| pair[0].0 + (pair[1].0 - pair[0].0) * pair[0].1 / (pair[0].1 - pair[1].1);
    let first = match curve[0].1 > 0.0 {
        true => 0.0,
        false => curve.windows(2).find(|pair| pair[1].1 > 0.0).map_or(f64::INFINITY, crossing),
    };
    let how = match curve.iter().all(|(_, lead)| *lead > 0.0) {
        true => "ahead at every busy time, since the message alone is faster, too",
        false => "between points of the curve",
    };
    of(&runs.overlap, claim)
        .reading(&format!("busy time / synchronous message from where asynchronous is ahead, {memory}"))
        .reproduced(first / alone)
        .statement("ratio", first < alone)
        .also("message_us", message)
        .also("synchronous_us", alone)
        .under(format!("FIXED 64 KiB, {how}; the synchronous message goes through buffers, by the processor"))
}

fn saturation(runs: &Runs, claim: &Claim) -> Row {
    let s = |zero_copy| point(runs, "regular", zero_copy).first().map_or(f64::NAN, |r| number(r, "saturation_us"));
    of(&runs.overlap, claim)
        .reproduced(s(true))
        .also("synchronous_us", s(false))
        .holds(s(true) > s(false))
        .under("FIXED 64 KiB, regular; where the line of totals that grow meets the level before")
}

/// Both readings, where the computation takes as long as the message.
fn efficiency(runs: &Runs, claim: &Claim) -> Vec<Row> {
    let alone = point(runs, "regular", false).first().map_or(f64::NAN, |record| number(record, "message_us"));
    let overhead = |zero_copy| {
        let same = |record: &&Value| number(record, "compute_us") >= 0.999 * number(record, "message_us");
        let found = point(runs, "regular", zero_copy).into_iter().find(same);
        found.map_or(f64::NAN, |record| (number(record, "total_us") - number(record, "compute_us")) / alone)
    };
    let (asynchronous, synchronous) = (overhead(true), overhead(false));
    let row = |reading: &str, [a, s]: [f64; 2], better: bool| {
        of(&runs.overlap, claim)
            .reading(reading)
            .reproduced(a)
            .also("synchronous", s)
            .holds(better)
            .under("FIXED 64 KiB, regular, busy as long as the message takes")
    };
    vec![
        row("overhead / synchronous message", [asynchronous, synchronous], asynchronous < synchronous),
        row("1 - overhead / synchronous message", [1.0 - asynchronous, 1.0 - synchronous], asynchronous < synchronous),
    ]
}

fn protocol(runs: &Runs, claim: &Claim) -> Vec<Row> {
    let refused = |key| runs.refused.number(&[], key);
    let moved = runs.pingpong.number(&zero_copy(1 << 20), "deposited");
    let copied = runs.copying.number(&[("size_B", json!(1 << 20))], "sent_in_pieces");
    vec![
        of(&runs.pingpong, claim)
            .reading("messages of 1 MiB without copies")
            .reproduced(moved)
            .in_unit("messages")
            .also("through_buffers_where_switched_off", copied)
            .holds(moved > 0.0 && copied > 0.0),
        of(&runs.refused, claim)
            .reading("messages through buffers where registering is refused")
            .reproduced(refused("sent_in_pieces"))
            .in_unit("messages")
            .also("deposited", refused("deposited"))
            .holds(refused("sent_in_pieces") == refused("messages") && refused("deposited") == 0.0)
            .under("buffers of 64 KiB where 16 KiB may be pinned"),
    ]
}
