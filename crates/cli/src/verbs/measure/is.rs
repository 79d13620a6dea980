//! `hotlink measure is`: NPB's Integer Sort.

use super::{Repetition, carrier::Carrier};
use crate::values::Counts;
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_bench::is::{Class, ITERATIONS, IntegerSort, Sorted};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Ranks: a list or range of powers of two. 2 if not given, under a launcher all that it started.
    #[arg(long, value_name = "LIST")]
    ranks: Option<Counts>,
    /// Problem classes, from 2^16 keys (S) to 2^27 (C).
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "S")]
    class: Vec<ClassName>,
    #[command(flatten)]
    repetition: Repetition,
}

/// A class as an option.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum ClassName {
    /// 2^16 keys.
    S,
    /// 2^20 keys.
    W,
    /// 2^23 keys.
    A,
    /// 2^25 keys.
    B,
    /// 2^27 keys.
    C,
}

impl From<ClassName> for Class {
    fn from(name: ClassName) -> Class {
        match name {
            ClassName::S => Class::S,
            ClassName::W => Class::W,
            ClassName::A => Class::A,
            ClassName::B => Class::B,
            ClassName::C => Class::C,
        }
    }
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    args.repetition.without_buffers("is")?;
    let asked = args.ranks.as_ref().map(ranks).transpose()?;
    let ranks = allowed(args.carrier.ranks(asked, &[2])?)?;
    let progress = output.progress("measure is", (ranks.len() * args.class.len()) as u64);
    for &class in &args.class {
        let sort = IntegerSort { class: class.into() };
        for &ranks in &ranks {
            let over = args.carrier.oversubscribed(ranks);
            let results: Vec<Sorted> = args.carrier.run(ranks, &sort)?;
            let record = args.carrier.record(&args.repetition.fabric, "is");
            output.push(record_of(record, &sort, &results)?.with("oversubscribed", over));
            progress.step();
        }
    }
    Ok(())
}

/// The ranks on which the sort is defined.
pub(crate) fn ranks(counts: &Counts) -> Result<Vec<u32>, Failure> {
    allowed(counts.to_u32().map_err(|what| Failure::Input(format!("--ranks: {what}")))?)
}

/// The same, whether they were asked for or started by a launcher.
fn allowed(ranks: Vec<u32>) -> Result<Vec<u32>, Failure> {
    match ranks.iter().find(|ranks| !ranks.is_power_of_two() || **ranks > 512) {
        Some(wrong) => Err(Failure::Input(format!("--ranks {wrong}: allowed are powers of two up to 512"))),
        None => Ok(ranks),
    }
}

/// The result behind what the face says of where it ran. A sort cannot be faster than its own computation: the bound is
/// a run whose communication takes no time.
///
/// # Errors
/// The keys were not sorted: no time counts.
pub(crate) fn record_of(record: Record, sort: &IntegerSort, ranks: &[Sorted]) -> Result<Record, Failure> {
    let name = sort.class.name();
    if !sort.verified(ranks) {
        let count = ranks.len();
        return Err(Failure::Check(format!("is: class {name} on {count} ranks: the keys are not sorted as published")));
    }
    let most = |of: fn(&Sorted) -> f64| ranks.iter().map(of).fold(0.0, f64::max) * 1e-6;
    let (time_s, computing_s) = (most(|rank| rank.time_us), most(|rank| rank.time_us - rank.communication_us));
    Ok(record
        .with("ranks", ranks.len())
        .with("class", name)
        .with("keys", sort.class.keys())
        .with("verified", true)
        .with("time_s", time_s)
        .with("mops", ITERATIONS as f64 * sort.class.keys() as f64 * 1e-6 / time_s)
        .with("communication_s", most(|rank| rank.communication_us))
        .with("bound_time_s", computing_s)
        .with("efficiency", computing_s / time_s)
        .with("limiting_resource", if computing_s * 2.0 > time_s { "processor and its memory" } else { "messages" })
        .with("bound_is", "the slowest rank's own counting, with messages that take no time"))
}
