//! Each number of the catalog is moved, and small questions are asked again. A number that moves an answer must be
//! among its inputs. An input must move an answer, or the reason why not is given here.

use hotlink_bench::Record;
use hotlink_fabric::catalog::Library;
use hotlink_fabric::catalog::unit::Dimension;
use hotlink_fabric::catalog::vocabulary::parameter_named;
use hotlink_fabric::ledger::Used;
use hotlink_fabric::numbers::TOPOLOGY;
use hotlink_fabric::rng::SplitMix64;
use hotlink_study::uses::{Asking, ask_all};
use hotlink_study::{Source, parallel};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers that an engine reads and that move none of these answers, and why.
const STILL: &[(&str, &str)] = &[
    ("parameter.map_time", "the stack maps memory only for regions of a program's own; what a port claims holds it"),
    ("parameter.map_time_per_byte", "the same"),
    ("parameter.att_entries", "only where more memory is connected than fits: `simulate cache-study`"),
    ("parameter.page_size", "on SCI the same: entries of the table; on Myrinet pieces of DMA"),
    ("parameter.pinned_memory", "only where more memory is registered than fits: `simulate cache-study`"),
    ("parameter.adapter_memory", "only where a message's pieces fill it"),
    ("parameter.conditional_retry", "only where nodes are late: `simulate barrier --algorithm hardware` with skew"),
    ("parameter.translation_entries", "a long buffer finds none of its translations kept, however many there are"),
    ("parameter.l1_size", "a working set between the old size and the new is needed"),
    ("parameter.l2_size", "the same"),
    ("parameter.l1_ways", "the same, and lines that meet in a set"),
    ("parameter.l2_ways", "the same"),
    ("parameter.tlb_entries", "blocks of more pages than it knows, used again and again, are needed"),
    ("parameter.tlb_page", "the same; where pages lie follows from it, which moves rows by little"),
    ("parameter.bridge_lines", "where the bus is faster than one line after the other comes"),
    ("parameter.memory_allocate", "a machine that allocates does so at one as at two"),
    ("parameter.memory_misses", "where the controller works on one request at a time, others wait there"),
    ("parameter.write_buffers", "where another stage holds the stores back"),
    ("barrier.processing.*", "each counts at its own number of nodes alone"),
    ("parameter.deposit_alignment", "only where a deposit begins off such a boundary, or ends there"),
    ("parameter.remote_reads", "where loads are issued too slowly for the queue of remote reads to fill"),
    (
        "resource.memory.gross",
        "where the bus, or the memory's own rows and banks, hold a node back: it is a bound alone",
    ),
    ("hgx-a100-rail: resource.host-bus.gross", "the NIC gives less than nine tenths of the bus"),
    ("resource.switch-link.gross", "where a node's own bus or link gives less than its share of the switches' links"),
];

/// Keys of a record in addition to its answer.
const BESIDE: &[&str] = &["inputs", "estimates", "assumed", "wall_s", "trace_hash"];

fn plain(records: &[Record]) -> Vec<String> {
    let told = |record: &Record| {
        let fields = record.fields().filter(|(key, _)| !BESIDE.contains(key));
        fields.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    records.iter().map(told).collect()
}

/// Where a number goes: to the ends of its uncertainty, else a tenth down and up. A size or a count goes to half and
/// twice of it, since those of hardware are powers of two.
fn ends(key: &str, used: &Used) -> [f64; 2] {
    if let Some(range) = used.range.filter(|[low, high]| low < high) {
        return range;
    }
    let dimension = key.strip_prefix("parameter.").and_then(parameter_named).map(|one| one.dimension);
    match dimension {
        Some(Dimension::Size | Dimension::Count) if used.value > 0.0 => [used.value / 2.0, used.value * 2.0],
        _ if used.value == 0.0 => [0.0, 1.0],
        _ => [used.value * 0.9, used.value * 1.1],
    }
}

/// By question, in their order: several of the list have one name.
fn by_place(askings: Vec<Asking>) -> BTreeMap<(String, usize), Asking> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let place = |asking: Asking| {
        let n = seen.entry(asking.question).or_default();
        *n += 1;
        ((asking.question.to_owned(), *n), asking)
    };
    askings.into_iter().map(place).collect()
}

/// Mistakes in the numbers of a fabric that `is_chosen` picks.
fn audit(name: &str, is_chosen: &dyn Fn(&str) -> bool) -> Vec<String> {
    let source = Source::open(name).expect("of the catalog");
    let base = by_place(ask_all(&source));
    let (mut wrong, mut used_at_all) = (Vec::new(), BTreeSet::new());
    for asking in base.values() {
        used_at_all.extend(asking.used.used.keys().cloned());
    }
    let numbers = source.spec().numbers();
    let is_audited = |key: &&String| key.as_str() != TOPOLOGY && is_chosen(key);
    for (key, number) in numbers.iter().filter(|(key, _)| is_audited(key)) {
        let mut moves = false;
        for end in ends(key, number) {
            let varied = source.varied(source.unasked().spec().clone().with_number(key, end));
            for (place, asking) in by_place(ask_all(&varied)) {
                let Some(before) = base.get(&place) else { continue };
                if plain(&before.records) == plain(&asking.records) {
                    continue;
                }
                moves = true;
                if !before.used.used.contains_key(key) {
                    wrong.push(format!("{name}: {key} moves `{}` and is not among its inputs", place.0));
                }
            }
        }
        let is_of = |still: &str| match still.strip_suffix('*') {
            Some(beginning) => key.starts_with(beginning),
            None => key == still || format!("{name}: {key}") == still,
        };
        let why = STILL.iter().find(|(still, _)| is_of(still));
        if !moves && used_at_all.contains(key) && why.is_none() {
            wrong.push(format!("{name}: {key} is used and moves nothing"));
        }
    }
    wrong.sort();
    wrong.dedup();
    wrong
}

fn fabrics() -> Vec<String> {
    Library::embedded().list("fabrics").into_iter().map(|listed| listed.name).collect()
}

/// A few numbers of a few fabrics, drawn by a fixed seed.
#[test]
fn what_moves_an_answer_is_among_its_inputs_and_what_is_there_moves_one() {
    let mut random = SplitMix64::new(15);
    let mut names = fabrics();
    let drawn: Vec<(String, u64)> =
        (0..3).map(|_| (names.swap_remove(random.below(names.len() as u64) as usize), random.below(16))).collect();
    let wrong = parallel::each(&drawn, |(name, place)| {
        let keys: Vec<String> = Source::open(name).expect("of the catalog").spec().numbers().into_keys().collect();
        let chosen: BTreeSet<&String> = keys.iter().skip(*place as usize).step_by(16).collect();
        audit(name, &|key| chosen.contains(&key.to_owned()))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All numbers of all fabrics: minutes.
#[test]
#[ignore = "minutes: every number of every fabric"]
fn every_number_of_the_catalog_moves_an_answer_or_is_not_used() {
    let only = std::env::var("AUDIT").ok();
    let names: Vec<String> =
        fabrics().into_iter().filter(|name| only.as_ref().is_none_or(|only| only == name)).collect();
    let wrong: Vec<String> = parallel::each(&names, |name| audit(name, &|_| true)).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
