//! Results of the same hardware by others: no study, but a check of what the studies' machines predict.
//!
//! The catalog takes no value from them, so whatever a simulation gives is a prediction. Ratios come out better than times:
//! hosts and adapters of these machines rest on estimates, and QsNet's hosts on a fit to the barrier of P01's 64 nodes.

use crate::run::{Question, Run};
use crate::{Report, Row};
use hotlink_fabric::catalog::{Claim, Library};
use hotlink_study::Error;
use hotlink_study::simulate::request::{Benchmark, Request};
use serde_json::json;

const LANAI_4: &str = "simulate barrier --fabric k98-myrinet --nodes 16 --algorithm dissemination,nic";
const LANAI_7: &str = "simulate barrier --fabric myrinet-minimal --nodes 8 --algorithm dissemination,nic";
const ELAN_3: &str = "simulate barrier --fabric qsnet --nodes 8 --algorithm tree,nic";

/// What its rows are read from.
pub(super) fn questions() -> [Question; 3] {
    let ask = |command, fabric, nodes, hosts: &str| {
        let algorithms = vec![hosts.to_owned(), "nic".to_owned()];
        let barrier = Benchmark::Barrier { algorithms, partition: false, repetitions: 1, skew_us: 0.0 };
        Question { command, request: Request { nodes: Some(vec![nodes]), ..Request::new(barrier, fabric) } }
    };
    [
        ask(LANAI_4, "k98-myrinet", 16, "dissemination"),
        ask(LANAI_7, "myrinet-minimal", 8, "dissemination"),
        ask(ELAN_3, "qsnet", 8, "tree"),
    ]
}

/// Each result beside what the simulated machine gives.
pub(super) fn report() -> Result<Report, Error> {
    let claims = Library::embedded().published("others")?;
    let runs: Vec<Run> = questions().iter().map(Run::new).collect::<Result<_, Error>>()?;
    let claims = claims.iter().flat_map(|claim| rows(&runs, claim)).collect();
    Ok(Report { name: "others", title: "Results of the same hardware by others", claims, series: Vec::new() })
}

fn rows(runs: &[Run], claim: &Claim) -> Vec<Row> {
    let [lanai_4, lanai_7, elan_3] = runs else { return Vec::new() };
    let us = |run: &Run, algorithm: &str| run.number(&[("algorithm", json!(algorithm))], "latency_us");
    let row = |run: &Run, value: f64| Row::new(claim, run.evidence()).reproduced(value).also("command", run.command);
    let factor = |run: &Run, hosts: &str| row(run, us(run, hosts) / us(run, "nic"));
    let found = match claim.id.as_str() {
        "X001" => row(lanai_4, us(lanai_4, "nic"))
            .known_not_to_hold()
            .under("K98's hosts and adapters by their estimates; GM's own costs are not among them"),
        "X002" => factor(lanai_4, "dissemination").under("by dissemination on both"),
        "X003" => factor(lanai_7, "dissemination").under("by dissemination on both"),
        "X004" => row(elan_3, us(elan_3, "nic"))
            .known_not_to_hold()
            .under("the model's adapters go up and down P01's tree; theirs exchange in rounds"),
        "X005" => factor(elan_3, "tree")
            .known_not_to_hold()
            .under("the overhead of the hosts' puts is fitted to P01's barrier of 64 nodes and is next to none"),
        _ => return Vec::new(),
    };
    vec![found]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    #[test]
    fn every_result_is_predicted_and_the_misses_are_the_known_ones() {
        let report = report().unwrap();
        assert_eq!(report.claims.len(), 5);
        for row in &report.claims {
            assert_eq!(row.class(), Class::Prediction, "{}", row.id);
            assert!(!row.regressed(), "{}: {:?}", row.id, row.error_pct());
        }
        let met: Vec<&str> =
            report.claims.iter().filter(|row| row.is_held() == Some(true)).map(|row| row.id.as_str()).collect();
        assert_eq!(met, ["X002", "X003"]);
    }
}
