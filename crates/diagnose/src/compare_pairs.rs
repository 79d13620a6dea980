//! Two commands compared by pairs of runs, one of each in turn: what changes on the machine meets both.

use hotlink_bench::{BLOCKS_LEAST, Record, Summary, signed_rank};
use hotlink_fabric::maths;
use hotlink_results::Results;
use hotlink_results::compare_runs::{
    Estimate, Identity, Row, Share, Verdict, alone, check_ignored, compared, estimate, sides, sorted,
};
use hotlink_study::Error;
use std::collections::BTreeMap;

/// What the two commands of a pair printed.
pub struct Pair {
    /// The first one's.
    pub a: Results,
    /// The second one's.
    pub b: Results,
}

/// Fewest pairs that can show a difference with 95 % confidence.
pub const PAIRS_LEAST: usize = BLOCKS_LEAST;

/// The rows of a comparison of `a` before and `b` after. Each quantity has the median ratio of the pairs (Hodges and
/// Lehmann). Its 95 % interval inverts Wilcoxon's signed-rank test of their logarithms. Parameters named in `ignore`
/// may differ.
///
/// # Errors
/// Nothing can be compared, and why.
pub fn rows(pairs: &[Pair], floor: Share, ignore: &[String]) -> Result<Vec<Row>, Error> {
    if pairs.len() < PAIRS_LEAST {
        return Err(Error::Input(format!("compare-runs: {} pairs: must be {PAIRS_LEAST} or more", pairs.len())));
    }
    check_ignored(ignore, pairs.iter().flat_map(|pair| [&pair.a, &pair.b]))?;
    let mut runs = Vec::new();
    for pair in pairs {
        let side = |name, results| (name, std::slice::from_ref(results));
        runs.push(sides([side("--a", &pair.a), side("--b", &pair.b)], ignore)?.into());
    }
    let rows = sorted(all(&runs, floor));
    if rows.iter().all(|row| row.verdict.is_without_ratio()) {
        let what = "compare-runs: no result of --a has a partner with a finite value above 0 in every run of --b";
        return Err(Error::Input(format!("{what}; --ignore KEYS leaves keys out")));
    }
    Ok(rows)
}

type Run = BTreeMap<Identity, Record>;

fn all(runs: &[(Run, Run)], floor: Share) -> Vec<Row> {
    let mut seen: BTreeMap<&Identity, (&Record, bool)> = BTreeMap::new();
    for (a, b) in runs {
        for (identity, record) in b {
            seen.entry(identity).or_insert((record, false));
        }
        for (identity, record) in a {
            seen.insert(identity, (record, true));
        }
    }
    let row = |(identity, (record, is_before)): (&Identity, (&Record, bool))| {
        let pair = |(a, b): &(Run, Run)| {
            let of = |run: &Run| Some(estimate(&identity.0, run.get(identity)?)?.median);
            Some((of(a)?, of(b)?))
        };
        let values: Option<Vec<(f64, f64)>> = runs.iter().map(pair).collect();
        let lone = if is_before { Verdict::OnlyBefore } else { Verdict::OnlyAfter };
        let found = values.and_then(|values| {
            let logarithms: Vec<f64> = values.iter().map(|(a, b)| maths::ln(b / a)).collect();
            Some((signed_rank(&logarithms)?, values))
        });
        let Some(((low, middle, high), values)) = found else { return alone(&identity.0, record, lone) };
        let median = |side: Vec<f64>| Summary::of(&side).map_or(0.0, |summary| summary.median);
        let (a, b) = values.iter().copied().unzip();
        let ratio =
            Estimate { low: maths::exp(low), median: maths::exp(middle), high: maths::exp(high), is_known: true };
        let mut row = compared(&identity.0, record, (median(a), median(b)), ratio, floor.0);
        row.record.set("pairs", runs.len());
        row
    };
    seen.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn results(size: u64, latency_us: f64) -> Results {
        let record = json!({"benchmark": "pingpong", "size_B": size, "latency_us": latency_us});
        let text = json!({"schema": "hotlink/1", "command": [], "records": [record]}).to_string();
        hotlink_results::parse("f".as_ref(), &text).unwrap()
    }

    /// Runs drift by 40 %, pairs differ by `factor` and by noise of a few per cent.
    fn pairs(count: u32, factor: f64) -> Vec<Pair> {
        let pair = |i: u32| {
            let (level, noise) = (1.0 + 0.4 * f64::from(i % 5), 1.0 + 0.01 * f64::from(i % 7) - 0.03);
            Pair { a: results(8, level), b: results(8, level * factor * noise) }
        };
        (0..count).map(pair).collect()
    }

    #[test]
    fn drift_that_meets_both_hides_no_difference_and_makes_none() {
        for (factor, verdict) in [(1.0, Verdict::Same), (1.15, Verdict::Regression), (0.85, Verdict::Improvement)] {
            let rows = rows(&pairs(10, factor), "5%".parse().unwrap(), &[]).unwrap();
            assert_eq!((rows.len(), rows[0].verdict), (1, verdict), "{factor}");
            let ratio = rows[0].record.number("ratio").unwrap();
            assert!((ratio / factor - 1.0).abs() < 0.02, "{ratio} for {factor}");
            assert_eq!(rows[0].record.number("pairs"), Some(10.0));
        }
    }

    #[test]
    fn what_has_no_partner_or_too_few_pairs_is_told() {
        let floor: Share = "5%".parse().unwrap();
        assert!(rows(&pairs(5, 1.0), floor, &[]).err().unwrap().to_string().contains("must be 6 or more"));
        let strangers: Vec<Pair> = (0..6).map(|_| Pair { a: results(8, 1.0), b: results(16, 1.0) }).collect();
        assert!(rows(&strangers, floor, &[]).err().unwrap().to_string().contains("no result of --a"));
        assert_eq!(rows(&strangers, floor, &["size_B".to_owned()]).unwrap()[0].verdict, Verdict::Same);
        let error = rows(&strangers, floor, &["size".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("--ignore size: no record has this key") && error.contains("size_B"), "{error}");
    }
}
