//! NPB's Integer Sort: where it is defined, and its record.

use crate::Error;
use hotlink_bench::Record;
use hotlink_bench::is::{ITERATIONS, IntegerSort, Sorted};

/// The ranks on which the sort is defined, whether they were asked for or started by a launcher.
///
/// # Errors
/// Which is not.
pub fn allowed(ranks: Vec<u32>) -> Result<Vec<u32>, Error> {
    match ranks.iter().find(|ranks| !ranks.is_power_of_two() || **ranks > 512) {
        Some(wrong) => Err(Error::Input(format!("--ranks {wrong}: must be a power of two up to 512"))),
        None => Ok(ranks),
    }
}

/// The result behind what the face says of where it ran. A sort cannot be faster than its own computation: the bound is
/// a run whose communication takes no time.
///
/// # Errors
/// The keys were not sorted: no time counts.
pub fn record(record: Record, sort: &IntegerSort, ranks: &[Sorted]) -> Result<Record, Error> {
    let name = sort.class.name();
    if !sort.verified(ranks) {
        let count = ranks.len();
        return Err(Error::Check(format!("is: class {name} on {count} ranks: the keys are not sorted as published")));
    }
    let most = |of: fn(&Sorted) -> f64| ranks.iter().map(of).fold(0.0, f64::max) * 1e-6;
    let (time_s, computing_s) = (most(|rank| rank.time_us), most(|rank| rank.time_us - rank.communication_us));
    let what = ["processor and its memory", "messages"];
    let is = "the slowest rank's own counting, with messages that take no time";
    let bound = hotlink_bound::local::computation(computing_s * 1e6, time_s * 1e6, what, is);
    Ok(record
        .with("ranks", ranks.len())
        .with("class", name)
        .with("keys", sort.class.keys())
        .with("verified", true)
        .with("time_s", time_s)
        .with("mops", ITERATIONS as f64 * sort.class.keys() as f64 * 1e-6 / time_s)
        .with("communication_s", most(|rank| rank.communication_us))
        .bounded("bound_time_s", computing_s, bound.share_of_time(time_s * 1e6))
        .explained(&bound))
}
