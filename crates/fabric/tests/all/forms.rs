//! M02's equations: golden values (computed by hand or printed by the seed), and properties that they must have.

use hotlink_fabric::spec::Capacities::{self, Measured, Theoretical};
use hotlink_fabric::{catalog, forms};
use proptest::prelude::*;

const M02: [&str; 8] = [
    "sci-ring",
    "sci-torus2d",
    "sci-torus3d",
    "sci-torus4d",
    "myrinet-minimal",
    "myrinet-ring2",
    "myrinet-ring4",
    "myrinet-clos64",
];

fn form(fabric: &str, nodes: u32, capacities: Capacities) -> forms::FormResult {
    let spec = catalog::load(fabric).expect("a catalog fabric");
    forms::for_fabric(&spec, nodes, capacities, forms::MESSAGE_BYTES).expect("M02 has an equation")
}

/// fabric, nodes, nodes built, calibrated MB/s per node to 4 decimals, limiting resource.
const GOLDEN: &[(&str, u32, u64, &str, &str)] = &[
    ("sci-ring", 2, 2, "180.0000", "B-Link"),
    ("sci-ring", 4, 4, "180.0000", "B-Link"),
    ("sci-ring", 5, 5, "156.0000", "SCI link"),
    ("sci-ring", 8, 8, "97.5000", "SCI link"),
    ("sci-ring", 128, 128, "6.0938", "SCI link"),
    ("sci-torus2d", 5, 9, "144.0000", "B-Link"),
    ("sci-torus2d", 9, 9, "144.0000", "B-Link"),
    ("sci-torus2d", 10, 16, "138.4615", "B-Link"),
    ("sci-torus2d", 25, 25, "135.0000", "B-Link"),
    ("sci-torus2d", 64, 64, "109.6875", "SCI link"),
    ("sci-torus3d", 64, 64, "109.5652", "B-Link"),
    ("sci-torus4d", 16, 16, "114.8936", "B-Link"),
    ("myrinet-minimal", 16, 16, "144.0000", "Myrinet link"),
    ("myrinet-minimal", 30, 30, "74.4828", "Myrinet inter-switch link"),
    ("myrinet-minimal", 128, 128, "19.8432", "Myrinet inter-switch link"),
    ("myrinet-ring4", 25, 25, "139.8528", "Myrinet inter-switch link"),
    ("myrinet-clos64", 9, 9, "144.0000", "Myrinet link"),
    ("myrinet-clos64", 128, 128, "144.0000", "Myrinet link"),
];

#[test]
fn calibrated_bandwidths_are_the_golden_ones() {
    for (fabric, nodes, built, bandwidth, resource) in GOLDEN {
        let result = form(fabric, *nodes, Measured);
        let got = (result.nodes_built, format!("{:.4}", result.bandwidth_per_node_mbps), result.limiting_resource);
        assert_eq!(got, (*built, (*bandwidth).to_owned(), (*resource).to_owned()), "{fabric} at {nodes}");
    }
}

#[test]
fn theory_uses_gross_rates_and_packet_efficiency() {
    let ring = form("sci-ring", 8, Theoretical);
    assert!((ring.bandwidth_per_node_mbps - 667.0 * 128.0 / 192.0 / 4.0).abs() < 1e-9);
    let clos = form("myrinet-clos64", 64, Theoretical);
    let efficiency = forms::efficiency_myrinet(forms::MESSAGE_BYTES as f64, 1.0);
    assert!((clos.bandwidth_per_node_mbps - 160.0 * efficiency).abs() < 1e-9);
    assert!((clos.efficiency - efficiency).abs() < 1e-15);
}

/// Eq. 2 by counting turns one by one. A packet from 0 crosses a B-Link at its source, at its target, and where it
/// passes from one ring to the next.
#[test]
fn hot_b_link_is_what_counting_turns_gives() {
    for (radix, dimensions) in [(2u32, 1u32), (7, 1), (2, 2), (5, 2), (3, 3), (4, 3), (2, 4), (3, 4), (2, 6)] {
        let nodes = radix.pow(dimensions);
        let crossings: u32 = (1..nodes)
            .map(|target| {
                let differing = (0..dimensions).filter(|d| target / radix.pow(*d) % radix != 0).count() as u32;
                2 + (differing - 1)
            })
            .sum();
        assert_eq!(forms::hot_b_link(f64::from(nodes), f64::from(radix), dimensions), f64::from(crossings));
    }
}

/// Eqs. 7 and 8 by summing distances between distinct switches.
#[test]
fn mean_hops_are_what_summing_distances_gives() {
    for switches in 2u32..40 {
        let pairs = || (0..switches).flat_map(|a| (0..switches).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let line: u32 = pairs().map(|(a, b)| a.abs_diff(b)).sum();
        let ring: u32 = pairs().map(|(a, b)| a.abs_diff(b).min(switches - a.abs_diff(b))).sum();
        let (n, count) = (f64::from(switches), f64::from(switches * (switches - 1)));
        assert!((forms::hops_array(n) - f64::from(line) / count).abs() < 1e-12, "line of {switches}");
        assert!((forms::hops_ring(n) - f64::from(ring) / count).abs() < 1e-12, "ring of {switches}");
    }
}

#[test]
fn there_is_no_form_where_m02_has_no_equation() {
    let clos = catalog::load("myrinet-clos64").unwrap();
    assert_eq!(forms::for_fabric(&clos, 129, Measured, forms::MESSAGE_BYTES), None);
    assert_eq!(forms::for_fabric(&clos, 1, Measured, forms::MESSAGE_BYTES), None);
}

proptest! {
    #[test]
    fn a_form_is_bounded_by_each_resource_and_names_one_of_them(which in 0usize..8, nodes in 2u32..129) {
        for capacities in [Measured, Theoretical] {
            let result = form(M02[which], nodes, capacities);
            prop_assert!(result.bandwidth_per_node_mbps.is_finite() && result.bandwidth_per_node_mbps > 0.0);
            prop_assert!(result.limits.iter().any(|limit| limit.resource == result.limiting_resource));
            prop_assert!(result.nodes_built >= u64::from(nodes));
            if let Some(sw2sw) = result.sw2sw_mbps {
                let same = result.same_switch_mbps.unwrap();
                prop_assert!(sw2sw <= result.bandwidth_per_node_mbps && result.bandwidth_per_node_mbps <= same);
            } else {
                prop_assert!(result.limits.iter().all(|limit| limit.mbps >= result.bandwidth_per_node_mbps));
            }
        }
    }

    #[test]
    fn calibration_never_promises_more_than_theory(which in 0usize..8, nodes in 2u32..129) {
        let (measured, theory) = (form(M02[which], nodes, Measured), form(M02[which], nodes, Theoretical));
        prop_assert!(measured.bandwidth_per_node_mbps < theory.bandwidth_per_node_mbps);
    }

    /// Between switches only: over all partners the minimal array can lead, for its first switch holds more nodes.
    #[test]
    fn more_links_between_switches_never_hurt(nodes in 17u32..129) {
        let sw2sw = |fabric| form(fabric, nodes, Measured).sw2sw_mbps.unwrap();
        prop_assert!(sw2sw("myrinet-clos64") >= sw2sw("myrinet-ring4"));
        prop_assert!(sw2sw("myrinet-ring4") >= sw2sw("myrinet-ring2"));
        prop_assert!(sw2sw("myrinet-ring2") >= sw2sw("myrinet-minimal"));
    }
}
