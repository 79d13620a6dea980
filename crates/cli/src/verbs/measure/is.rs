//! `hotlink measure is`: NPB's Integer Sort.

use super::{Repetition, carrier::Carrier};
use crate::values::Counts;
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::is::{IntegerSort, Sorted};
use hotlink_study::options::ClassName;
use hotlink_study::sort::{self, ranks};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Ranks: a list or range of powers of two. 2 if not given, under a launcher all that it started.
    #[arg(long, value_name = "LIST")]
    ranks: Option<Counts>,
    /// Problem classes, from 2^16 keys (S) to 2^27 (C).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = word::<ClassName>(), default_value = "S")]
    class: Vec<ClassName>,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    args.repetition.without_buffers("is")?;
    let asked = args.ranks.as_ref().map(ranks).transpose()?;
    let ranks = sort::allowed(args.carrier.ranks(asked, &[2])?)?;
    let progress = output.progress("measure is", (ranks.len() * args.class.len()) as u64);
    for &class in &args.class {
        let sort = IntegerSort { class: class.into() };
        for &ranks in &ranks {
            let over = args.carrier.oversubscribed(ranks);
            let results: Vec<Sorted> = args.carrier.run(ranks, &sort)?;
            let record = args.carrier.record(&args.repetition.fabric, "is");
            output.push(sort::record(record, &sort, &results)?.with("oversubscribed", over));
            progress.step();
        }
    }
    Ok(())
}
