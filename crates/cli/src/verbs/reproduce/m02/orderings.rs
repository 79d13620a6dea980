//! Who is ahead of whom at which size, and what costs more: M02 sections 3.1 and 5.

use super::super::{Kind, Row};
use super::model::{Links, MYRINET, Model, SCI, SIX, SIZES, Tori, above, ranges, sizes_where};
use hotlink_fabric::catalog::Claim;
use hotlink_fabric::spec::Capacities::{self, Measured, Theoretical};

/// The rows of one claim about order.
pub(super) fn rows(model: &Model, claim: &Claim) -> Vec<Row> {
    match claim.id.as_str() {
        "G086" => ring_best_in_theory(model, claim),
        "G087" => third_dimension(model, claim),
        "G088" => ring_best_calibrated(model, claim),
        "G089" => vec![clos_over_sci(model, claim)],
        "G090" => vec![second_best(model, claim, Links::PerPair), second_best(model, claim, Links::PerSwitch)],
        "G091" => vec![ring_past_eight(model, claim)],
        "G092" => vec![ring_cheapest(model, claim)],
        "G093" => vec![nearly_the_same_cost(model, claim)],
        "G094" => vec![clos_dear(model, claim)],
        "G095" => vec![cost_crossover(model, claim)],
        "G096" => vec![torus_over_minimal(model, claim)],
        "G097" => vec![steps_up(model, claim)],
        "G098" => vec![same_switch(model, claim)],
        _ => vec![Row::new(claim, Kind::Ordering).gap("not modelled")],
    }
}

fn ordering(claim: &Claim) -> Row {
    Row::new(claim, Kind::Ordering)
}

/// Sizes at which `leader` is ahead of all `others`.
fn leads(model: &Model, leader: &str, others: &[&str], capacities: Capacities, tori: Tori) -> Vec<u32> {
    let of = |fabric: &str, nodes| model.bandwidth(fabric, nodes, capacities, tori);
    let ahead = |nodes| others.iter().all(|other| *other == leader || above(of(leader, nodes), of(other, nodes)));
    sizes_where(SIZES, ahead)
}

/// Last size of the run that starts at the smallest one.
fn last_of_first_run(sizes: &[u32]) -> Option<u32> {
    let run = sizes.chunk_by(|a, b| a + 1 == *b).next().filter(|run| run.first() == Some(SIZES.start()));
    run.and_then(|run| run.last().copied())
}

const READINGS: [(Tori, &str); 2] =
    [(Tori::Padded, "tori padded to r^f"), (Tori::Continuous, "continuous r = N^(1/f)")];

/// G086: the ring is best up to five nodes, then the 2-D torus.
fn ring_best_in_theory(model: &Model, claim: &Claim) -> Vec<Row> {
    let row = |(tori, reading)| {
        let last = last_of_first_run(&leads(model, "sci-ring", &SCI, Theoretical, tori));
        let next = last.map_or(2, |last| last + 1);
        let torus_next = leads(model, "sci-torus2d", &SCI, Theoretical, tori).contains(&next);
        let row =
            ordering(claim).published(5.0, "nodes").reproduced(last).holds(last == Some(5) && torus_next).under(
                format!("theoretical capacities, {reading}; last size at which the ring leads, the 2-D torus next"),
            );
        if tori == Tori::Continuous { row.known_not_to_hold().under(equal_at(model)) } else { row }
    };
    READINGS.map(row).to_vec()
}

/// Where ring and 2-D torus cross for real N, by bisection.
fn equal_at(model: &Model) -> String {
    let lead =
        |n: f64| model.continuous("sci-ring", n, 1, Theoretical) - model.continuous("sci-torus2d", n, 2, Theoretical);
    let (mut low, mut high) = (4.0, 9.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if lead(middle) > 0.0 { low = middle } else { high = middle }
    }
    format!("the curves cross at N = {low:.2}")
}

/// G087: the third dimension pays from about 64 nodes.
fn third_dimension(model: &Model, claim: &Claim) -> Vec<Row> {
    let mut rows = Vec::new();
    for (capacities, word) in [(Theoretical, "theoretical"), (Measured, "measured")] {
        for (tori, reading) in READINGS {
            let sizes = leads(model, "sci-torus3d", &["sci-torus2d"], capacities, tori);
            let at_64 = |fabric| model.bandwidth(fabric, 64, capacities, tori);
            let row = ordering(claim)
                .published(64.0, "nodes")
                .reproduced(sizes.first().copied())
                .under(format!("{word} capacities, {reading}; first size at which 3-D leads 2-D; `about`: within 10 %"))
                .also("leads_at", ranges(&sizes))
                .also("torus2d_at_64_MBps", at_64("sci-torus2d"))
                .also("torus3d_at_64_MBps", at_64("sci-torus3d"))
                .within(10.0);
            let early = capacities == Theoretical && tori == Tori::Padded;
            rows.push(if early { row.known_not_to_hold().under("50 to 64 nodes are one 8x8 torus") } else { row });
        }
    }
    rows
}

/// G088: the ring is best up to four nodes.
fn ring_best_calibrated(model: &Model, claim: &Claim) -> Vec<Row> {
    let row = |(tori, reading)| {
        let sizes = leads(model, "sci-ring", &SIX, Measured, tori);
        let last = last_of_first_run(&sizes);
        ordering(claim)
            .published(4.0, "nodes")
            .reproduced(last)
            .holds((2..=4).all(|nodes| sizes.contains(&nodes)))
            .under(format!("measured capacities, {reading}; the ring leads the other five at 2, 3 and 4 nodes"))
            .under("the model keeps it ahead at 5, where M02 does not")
            .also("at_5_MBps", model.bandwidth("sci-ring", 5, Measured, tori))
            .also("torus2d_at_5_MBps", model.bandwidth("sci-torus2d", 5, Measured, tori))
    };
    READINGS.map(row).to_vec()
}

/// G089: after nine nodes Clos64 leads.
fn clos_over_sci(model: &Model, claim: &Claim) -> Row {
    let sizes = leads(model, "myrinet-clos64", &["sci-ring", "sci-torus2d"], Measured, Tori::Padded);
    let last = sizes.first().map(|first| first - 1);
    ordering(claim)
        .published(9.0, "nodes")
        .reproduced(last)
        .holds(last == Some(9) && ranges(&sizes) == "10..128")
        .under("measured capacities, tori padded; last size before Clos64 leads SCI for good")
        .also("torus2d_at_9_MBps", model.bandwidth("sci-torus2d", 9, Measured, Tori::Padded))
        .also("clos64_at_9_MBps", model.bandwidth("myrinet-clos64", 9, Measured, Tori::Padded))
}

/// G090: from 25 nodes the 2-D torus is next after Clos64.
fn second_best(model: &Model, claim: &Claim, links: Links) -> Row {
    let torus = |nodes| model.bandwidth("sci-torus2d", nodes, Measured, Tori::Padded);
    let other = |fabric: &str, nodes| match fabric.starts_with("myrinet-ring") {
        true => model.ring_of_switches(fabric, nodes, Measured, links),
        false => model.bandwidth(fabric, nodes, Measured, Tori::Padded),
    };
    let others = ["sci-ring", "myrinet-minimal", "myrinet-ring2", "myrinet-ring4"];
    let second = |nodes| others.iter().all(|fabric| above(torus(nodes), other(fabric, nodes)));
    let behind = sizes_where(25..=*SIZES.end(), |nodes| !second(nodes));
    let from = behind.last().map_or(25, |last| last + 1);
    let reading = match links {
        Links::PerPair => "n links between each adjacent pair of switches",
        Links::PerSwitch => "n switch ports in all, half to each side",
    };
    let row = ordering(claim)
        .published(25.0, "nodes")
        .reproduced(from)
        .holds(behind.is_empty())
        .under(format!("measured capacities, tori padded; {reading}; not second at {}", ranges(&behind)))
        .also("torus2d_at_25_MBps", torus(25))
        .also("ring4_at_25_MBps", other("myrinet-ring4", 25));
    if links == Links::PerPair { row.known_not_to_hold() } else { row }
}

/// G091: past about eight nodes the ring is severely limited.
fn ring_past_eight(model: &Model, claim: &Claim) -> Row {
    let of = |fabric: &str, nodes| model.bandwidth(fabric, nodes, Measured, Tori::Padded);
    let worst = sizes_where(SIZES, |nodes| {
        SIX.iter().all(|other| *other == "sci-ring" || of("sci-ring", nodes) < of(other, nodes))
    });
    let best = SIX.iter().map(|fabric| of(fabric, 8)).fold(0.0, f64::max);
    ordering(claim)
        .reproduced(of("sci-ring", 8))
        .holds((9..=*SIZES.end()).all(|nodes| worst.contains(&nodes)))
        .under("measured capacities; MB/s per node at 8 nodes; past 8 the ring is the worst of the six")
        .also("worst_at", ranges(&worst))
        .also("share_of_best_at_8", of("sci-ring", 8) / best)
}

/// G092: the ring costs least. The prices were fitted to this.
fn ring_cheapest(model: &Model, claim: &Claim) -> Row {
    let least = |nodes| {
        SIX.iter().all(|other| *other == "sci-ring" || model.cost("sci-ring", nodes) < model.cost(other, nodes))
    };
    let sizes = sizes_where(SIZES, least);
    Row::new(claim, Kind::Calibrated)
        .reproduced(format!("cheapest at {}", ranges(&sizes)))
        .holds(ranges(&sizes) == "2..128")
        .under("prices fitted to this claim")
}

/// G093: 2-D torus and minimal Myrinet cost nearly the same. The prices were fitted to this.
fn nearly_the_same_cost(model: &Model, claim: &Claim) -> Row {
    let share = |nodes| model.cost("sci-torus2d", nodes) / model.cost("myrinet-minimal", nodes) - 1.0;
    let mut differences: Vec<f64> = SIZES.map(|nodes| share(nodes).abs() * 100.0).collect();
    differences.sort_by(f64::total_cmp);
    let median = differences[differences.len() / 2];
    Row::new(claim, Kind::Calibrated)
        .reproduced(format!("differ by {median:.1} % in the median over 2..128"))
        .holds(median < 10.0)
        .under("prices fitted to this claim; `nearly`: the median difference is below 10 %")
        .also("largest_difference_pct", differences[differences.len() - 1])
        .also("difference_at_128_pct", share(128) * 100.0)
}

/// G094: Clos64 is dear for few nodes and little dearer at 64 and 128. The prices were fitted to this.
fn clos_dear(model: &Model, claim: &Claim) -> Row {
    let over_median = |nodes| {
        let others = SIX.iter().filter(|fabric| **fabric != "myrinet-clos64");
        let mut costs: Vec<f64> = others.map(|fabric| model.cost(fabric, nodes)).collect();
        costs.sort_by(f64::total_cmp);
        (model.cost("myrinet-clos64", nodes) / costs[costs.len() / 2] - 1.0) * 100.0
    };
    let (at_2, at_64, at_128) = (over_median(2), over_median(64), over_median(128));
    Row::new(claim, Kind::Calibrated)
        .reproduced(format!(
            "dearer than the median of the others by {at_2:.0} % at 2, {at_64:.0} % at 64, {at_128:.0} % at 128 nodes"
        ))
        .holds(at_2 > 100.0 && at_64 < 25.0 && at_128 < 25.0)
        .under("prices fitted to this claim; `little more`: less than 25 %; high initial price: more than double at 2")
}

/// G095: per MB/s, SCI is cheaper up to about 64 nodes. The prices were fitted to this.
fn cost_crossover(model: &Model, claim: &Claim) -> Row {
    let clos_cheaper =
        |nodes| model.cost_of_bandwidth("myrinet-clos64", nodes) < model.cost_of_bandwidth("sci-torus2d", nodes);
    let sizes = sizes_where(SIZES, clos_cheaper);
    let share =
        |nodes| model.cost_of_bandwidth("myrinet-clos64", nodes) / model.cost_of_bandwidth("sci-torus2d", nodes);
    Row::new(claim, Kind::Calibrated)
        .published(64.0, "nodes")
        .reproduced(sizes.first().copied())
        .holds(sizes.contains(&64) && sizes.iter().all(|nodes| *nodes >= 48) && clos_cheaper(128))
        .under(format!("prices fitted to this claim; Clos64 is cheaper per MB/s at {}", ranges(&sizes)))
        .under("holds: never below 48 nodes, but at 64 and at 128")
        .also("clos64_over_torus2d_at_64", share(64))
        .also("clos64_over_torus2d_at_128", share(128))
}

/// G096: the 2-D torus is better than minimal Myrinet at all sizes.
fn torus_over_minimal(model: &Model, claim: &Claim) -> Row {
    let of = |fabric: &str, nodes| model.bandwidth(fabric, nodes, Measured, Tori::Padded);
    let better = sizes_where(SIZES, |nodes| above(of("sci-torus2d", nodes), of("myrinet-minimal", nodes)));
    let worse = sizes_where(SIZES, |nodes| above(of("myrinet-minimal", nodes), of("sci-torus2d", nodes)));
    let deficit =
        worse.iter().map(|nodes| 1.0 - of("sci-torus2d", *nodes) / of("myrinet-minimal", *nodes)).fold(0.0, f64::max);
    ordering(claim)
        .reproduced(format!(
            "better at {}; worse at {}, by at most {:.1} %",
            ranges(&better),
            ranges(&worse),
            deficit * 100.0
        ))
        .holds(ranges(&better) == "2..128")
        .known_not_to_hold()
        .under("measured capacities, tori padded; on one crossbar minimal Myrinet has the full link rate")
}

/// G097: between switches, bandwidth falls with the nodes and rises only where a switch is added.
fn steps_up(model: &Model, claim: &Claim) -> Row {
    let (mut rises, mut flat, mut otherwise) = (0, Vec::new(), Vec::new());
    for fabric in MYRINET.iter().filter(|fabric| **fabric != "myrinet-clos64") {
        for nodes in 18..=*SIZES.end() {
            let (before, after) = (model.form(fabric, nodes - 1, Theoretical), model.form(fabric, nodes, Theoretical));
            let rose = above(after.sw2sw_mbps.unwrap_or(0.0), before.sw2sw_mbps.unwrap_or(0.0));
            match (rose, before.switches != after.switches) {
                (true, true) => rises += 1,
                (false, true) => flat.push(format!("{fabric} at {nodes}")),
                (true, false) => otherwise.push(format!("{fabric} at {nodes}")),
                (false, false) => {}
            }
        }
    }
    ordering(claim)
        .reproduced(format!("{rises} rises, all where a switch is added; {} switches added without a rise", flat.len()))
        .holds(rises > 0 && otherwise.is_empty())
        .under("Eq. 10, theoretical capacities; in a ring of switches an even number gives no shorter way than the odd one below")
        .also("added_without_rise", flat.join(", "))
}

/// G098: partners on the same switch have the full link rate.
fn same_switch(model: &Model, claim: &Claim) -> Row {
    let full = |fabric: &str, nodes| {
        let form = model.form(fabric, nodes, Measured);
        let rate = model.rate(fabric, hotlink_fabric::spec::Role::Link, Measured);
        form.same_switch_mbps == Some(rate)
    };
    let all = MYRINET.iter().all(|fabric| SIZES.into_iter().all(|nodes| full(fabric, nodes)));
    let rate = model.rate("myrinet-minimal", hotlink_fabric::spec::Role::Link, Measured);
    ordering(claim)
        .reproduced(rate)
        .holds(all)
        .under("Eq. 11, measured capacities, MB/s in all four topologies at every size")
}
