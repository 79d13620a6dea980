//! H06: a hardware barrier for small commodity clusters, the machines it surveys, and what it did for Abinit.

mod abinit;
mod claims;
mod machine;

use super::{Kind, Report, Row};
use hotlink_fabric::catalog::{Library, Mistake};
use hotlink_study::Error;
use machine::{Machines, Software};

/// Everything that H06 prints and this project can give.
pub(super) fn report() -> Result<Report, Error> {
    let library = Library::embedded();
    let published = library.published("h06").map_err(wrong)?;
    let machines = Machines::open(&library).map_err(wrong)?;
    let kernel = abinit::Kernel::calibrated(&machines);
    let claims = published.iter().flat_map(|claim| claims::rows(&machines, &kernel, claim)).collect();
    let title = "Hoefler 2006, Adding Low-Cost Hardware Barrier Support to Small Commodity Clusters";
    Ok(Report { name: "H06", title, claims, series: scaling(&machines) })
}

fn wrong(mistakes: Vec<Mistake>) -> Error {
    Error::Input(mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n"))
}

/// Barrier latency of every machine, hardware and software, from 2 nodes on.
fn scaling(machines: &Machines) -> Vec<Row> {
    let point = |name: &str, nodes: u32, latency_us: f64| {
        Row::point("scaling", "barrier latency", Kind::Prediction, latency_us, "us")
            .also("fabric", name)
            .also("nodes", nodes)
    };
    let mut rows = Vec::new();
    for (name, spec) in &machines.hardware {
        let most = spec.machine_nodes.unwrap_or(1024);
        let sizes = (1..=16).map(|bits| 1u32 << bits).filter(|&nodes| nodes <= most);
        rows.extend(sizes.map(|nodes| point(name, nodes, machines.hardware_us(name, nodes))));
    }
    for software in [Software::Gige, Software::Infiniband] {
        let sizes = (1..=10).map(|bits| 1u32 << bits);
        rows.extend(sizes.map(|nodes| point(software.fabric(), nodes, machines.software_us(software, nodes))));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'r>(report: &'r Report, id: &str) -> Vec<&'r Row> {
        report.claims.iter().filter(|row| row.id == id).collect()
    }

    #[test]
    fn every_claim_of_h06_has_its_row_and_none_that_should_hold_fails() {
        let report = report().unwrap();
        for number in 49..=68 {
            assert!(!row(&report, &format!("G{number:03}")).is_empty(), "G{number:03}");
        }
        let regressed: Vec<&String> = report.claims.iter().filter(|row| row.regressed()).map(|row| &row.id).collect();
        assert!(regressed.is_empty(), "{regressed:?}");
    }

    #[test]
    fn what_was_fitted_is_not_called_a_prediction() {
        let report = report().unwrap();
        for id in ["G051", "G052", "G053", "G055", "G056", "G059", "G060", "G061", "G064"] {
            assert!(row(&report, id).iter().all(|row| row.kind == Kind::Calibrated), "{id}");
        }
        for id in ["G054", "G057", "G058", "G062", "G063"] {
            assert!(row(&report, id).iter().any(|row| row.kind == Kind::Prediction), "{id}");
        }
    }
}
