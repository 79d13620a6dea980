//! `--rounds`: all points several times over, so that what disturbs the machine for a while meets one round of each point
//! and not all of one. A point's median round counts; rounds far from it are told.

use super::{Args, run_bench};
use crate::{Failure, output::Output};
use hotlink_bench::{Record, Summary};

/// A round that differs from the median by more than this share of it was disturbed.
const DISTURBED: f64 = 0.25;

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if args.rounds == 1 {
        return run_bench(&args.bench, &args.hosts, output);
    }
    if matches!(args.bench, super::Bench::Sockets(_)) && args.hosts.are_several() {
        return Err(Failure::Input("--rounds: sockets between hosts meet once; repeat the command on both".to_owned()));
    }
    let progress = output.progress("measure: rounds", args.rounds.into());
    let mut rounds = Vec::new();
    for _ in 0..args.rounds {
        let mut taken = Output::silent();
        run_bench(&args.bench, &args.hosts, &mut taken)?;
        rounds.push(taken.records().to_vec());
        progress.step();
    }
    drop(progress);
    for point in 0..rounds.iter().map(Vec::len).min().unwrap_or(0) {
        let (record, told) = merged(rounds.iter().map(|round| &round[point]).collect());
        if let Some(told) = told.filter(|_| !output.is_muted()) {
            eprintln!("hotlink: disturbed: {told}");
        }
        output.push(record);
    }
    Ok(())
}

/// What a record is about.
fn value(record: &Record) -> Option<(&str, f64)> {
    let key = record.text("statistic_of").unwrap_or("time_s");
    Some((key, record.number(key)?))
}

/// The record of the median round (of an even number the lower one), with every round's value; and what to tell.
fn merged(rounds: Vec<&Record>) -> (Record, Option<String>) {
    let values: Option<Vec<f64>> = rounds.iter().map(|record| value(record).map(|(_, value)| value)).collect();
    let Some(values) = values else { return (rounds[0].clone(), None) };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let record = rounds[order[(order.len() - 1) / 2]];
    let median = Summary::of(&values).map_or(0.0, |summary| summary.median);
    let far = |value: f64| (value / median - 1.0).abs() > DISTURBED;
    let disturbed = values.iter().filter(|&&value| far(value)).count();
    let told = (disturbed > 0).then(|| {
        let key = value(record).map_or("", |(key, _)| key);
        let what = ["size_B", "class", "stride"].iter().find_map(|key| Some(format!("{key} {}", record.get(key)?)));
        let name = format!("{} {}", record.text("benchmark").unwrap_or_default(), what.unwrap_or_default());
        let (count, percent) = (values.len(), 100.0 * DISTURBED);
        format!("{}: {disturbed} of {count} rounds' {key} differ from the median by more than {percent} %", name.trim())
    });
    let record =
        record.clone().with("rounds", values.len()).with("round_values", values).with("rounds_disturbed", disturbed);
    (record, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_round_counts_and_a_disturbed_one_is_told() {
        let round = |time_s: f64| Record::new().with("benchmark", "is").with("class", "A").with("time_s", time_s);
        let (record, told) = merged(vec![&round(1.0), &round(10.0), &round(1.1)]);
        assert_eq!((record.number("time_s"), record.number("rounds_disturbed")), (Some(1.1), Some(1.0)));
        assert_eq!(record.get("round_values").unwrap().to_string(), "[1.0,10.0,1.1]");
        assert!(told.unwrap().starts_with("is class \"A\": 1 of 3 rounds' time_s differ"));
        let (record, told) = merged(vec![&round(2.0), &round(1.9)]);
        assert_eq!((record.number("time_s"), told), (Some(1.9), None));
    }
}
