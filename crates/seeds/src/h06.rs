//! H06: a hardware barrier for small commodity clusters. The study has the machines that it surveys, the effect on
//! Abinit, and the system itself as it was run here.

mod abinit;
mod claims;
mod device;
mod machine;

use super::evidence::{Evidence, unasked};
use super::{Measure, Report, Row};
use hotlink_fabric::catalog::Library;
use hotlink_fabric::spec::FabricSpec;
use hotlink_study::Error;
use hotlink_study::ask::Method;
use machine::{HARDWARE, Machines, Software, hardware_us, network, software_us};

/// Everything that H06 prints and this project can give; `measure` takes the parts of a barrier on this machine, too.
pub(super) fn report(measure: Option<&dyn Measure>) -> Result<Report, Error> {
    let library = Library::embedded();
    let published = library.published("h06")?;
    let machines = Machines::open(&library)?;
    let kernel = abinit::Kernel::calibrated(&machines);
    let claims = published.iter().flat_map(|claim| claims::rows(&machines, &kernel, claim)).collect();
    let title = "Hoefler 2006, Adding Low-Cost Hardware Barrier Support to Small Commodity Clusters";
    let mut series = scaling(&machines);
    series.extend(device::series());
    series.extend(measure.map(device::measured).transpose()?.unwrap_or_default());
    Ok(Report { name: "H06", title, claims, series })
}

/// Barrier latency of every machine, hardware and software, from 2 nodes on.
fn scaling(machines: &Machines) -> Vec<Row> {
    let point = |method, machine: &FabricSpec, nodes: u32, latency: fn(&FabricSpec, u32) -> f64| {
        let machine = unasked(machine);
        let us = latency(&machine, nodes);
        Row::point("scaling", "barrier latency", Evidence::of(method, &machine), us, "us")
            .also("fabric", machine.name.as_str())
            .also("nodes", nodes)
    };
    let mut rows = Vec::new();
    for name in HARDWARE {
        let most = network(machines.fabric(name)).machine_nodes.unwrap_or(1024);
        let sizes = (1..=16).map(|bits| 1u32 << bits).filter(|&nodes| nodes <= most);
        rows.extend(sizes.map(|nodes| point(Method::Packet, machines.fabric(name), nodes, hardware_us)));
    }
    for software in [Software::Gige, Software::Infiniband] {
        let sizes = (1..=10).map(|bits| 1u32 << bits);
        rows.extend(sizes.map(|nodes| point(Method::Loggp, machines.fabric(software.fabric()), nodes, software_us)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    fn row<'r>(report: &'r Report, id: &str) -> Vec<&'r Row> {
        report.claims.iter().filter(|row| row.id == id).collect()
    }

    #[test]
    fn every_claim_of_h06_has_its_row_and_none_that_should_hold_fails() {
        let report = report(None).unwrap();
        for number in 49..=68 {
            assert!(!row(&report, &format!("G{number:03}")).is_empty(), "G{number:03}");
        }
        let regressed: Vec<&String> = report.claims.iter().filter(|row| row.regressed()).map(|row| &row.id).collect();
        assert!(regressed.is_empty(), "{regressed:?}");
    }

    #[test]
    fn classes_follow_from_what_was_fitted_and_what_is_arithmetic() {
        let report = report(None).unwrap();
        let of = |id| row(&report, id).iter().map(|row| row.class()).collect::<Vec<Class>>();
        for id in ["G049", "G050", "G055", "G064"] {
            assert!(of(id).iter().all(|class| *class == Class::Fit || *class == Class::Point), "{id}");
        }
        for id in ["G051", "G052", "G053", "G054", "G056", "G059", "G060", "G061", "G062", "G063", "G066"] {
            assert!(of(id).iter().all(|class| *class == Class::Identity), "{id}");
        }
        assert_eq!((of("G057"), of("G058")), (vec![Class::Prediction], vec![Class::Prediction]));
    }
}
