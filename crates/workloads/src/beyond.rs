//! Results of nccl-tests above the bound of the algorithm that they are held to, and why that may be.

use hotlink_bench::Record;

/// Marks a result above what the links allow the algorithm and protocol that are named, which another can reach.
const BEYOND_NAMED: &str = "beyond_named_algorithm";

/// Marks a result above the bound of the algorithm that is taken where none is named.
const BEYOND_CHOSEN: &str = "beyond_chosen_algorithm";

/// Under what a result is impossible, and the likely cause.
const IMPOSSIBLE_UNDER: &str = "impossible_under";

/// The record of a result above the bound of the algorithm that is named. The links allow no such result (`of_links`), or
/// the catalog's kernels do not (`of_kernels`), or its rates.
pub(crate) fn named(record: Record, of_links: bool, of_kernels: bool) -> Record {
    let text = |key: &str| record.text(key).unwrap_or("?");
    let way = format!("{} with {}", text("bound_algorithm"), text("bound_protocol"));
    let other = "another algorithm or protocol ran";
    let under = match (of_links, of_kernels) {
        (true, _) => format!("{way} on these links: {other}, or the fabric's file states too little"),
        (false, true) => format!(
            "{way} by the catalog's kernels: {other}, the kernels are newer than the catalog's, or the fabric's file \
             states too little"
        ),
        (false, false) => format!(
            "{way} at the {} rates of the links: {other}, or the fabric's file states too little",
            text("capacities")
        ),
    };
    let record = if of_links { record.with(BEYOND_NAMED, true) } else { record };
    record.with(IMPOSSIBLE_UNDER, under)
}

/// The record of a result above the bound of the algorithm that is taken, where none is named.
pub(crate) fn chosen(record: Record) -> Record {
    record.with(BEYOND_CHOSEN, true)
}

/// Why an efficiency above 1 is no mistake: the log does not name the algorithm, and it is another than the one taken.
pub fn beyond_chosen(record: &Record) -> Option<String> {
    record.get(BEYOND_CHOSEN)?;
    let taken = record.text("bound_algorithm").unwrap_or_default();
    let what = "efficiencies above 1 are of results beyond the bound of";
    Some(format!("{what} {taken}: the log names no algorithm, and another ran; --algorithm names it"))
}

/// What is wrong with the algorithm or protocol that is named, where a result beats what the links allow it and not the
/// largest.
pub fn beyond_named(record: &Record) -> Option<String> {
    record.get(BEYOND_NAMED).and_then(|_| impossible_under(record))
}

/// The same of a result that beats any part of their bound, kernels and steps included.
pub fn impossible_under(record: &Record) -> Option<String> {
    let under = record.text(IMPOSSIBLE_UNDER)?;
    let text = |key: &str| record.text(key).unwrap_or("?").to_owned();
    let size = record.get("size_B").map(|size| format!(" of {size} B")).unwrap_or_default();
    let figure = |key: &str| record.number(key).map_or_else(String::new, |value| format!("{value:.0}"));
    Some(format!(
        "{}{size} on {}: {} MB/s are beyond the bound of the named algorithm ({}, {}: {} MB/s): impossible under {under}",
        text("benchmark"),
        text("fabric"),
        figure("bus_bandwidth_MBps"),
        text("bound_algorithm"),
        text("bound_protocol"),
        figure("bound_bus_bandwidth_MBps")
    ))
}
