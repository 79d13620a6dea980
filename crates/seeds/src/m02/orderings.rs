//! Which network is ahead at which size, and which costs more: M02 sections 3.1 and 5.

use super::model::{Links, MYRINET, Model, SCI, SIX, SIZES, Tori, above, ranges, sizes_where};
use crate::Row;
use crate::evidence::Evidence;
use crate::words::{is_clearly_more, is_same, is_slightly_more, off_pct};
use hotlink_fabric::catalog::Claim;
use hotlink_fabric::spec::Capacities::{self, Measured, Theoretical};
use hotlink_study::ask::Method;

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
        _ => vec![Row::new(claim, Evidence::stated()).gap("not modelled")],
    }
}

fn ordering(model: &Model, claim: &Claim) -> Row {
    Row::new(claim, model.evidence(Method::Formula, &SIX))
}

/// A row about what these networks cost.
fn priced(model: &Model, claim: &Claim, fabrics: &[&str]) -> Row {
    Row::new(claim, model.priced(fabrics, SIZES))
}

/// Sizes at which `leader` is ahead of all `others` by the bandwidth `of` a fabric at a size.
fn leads(leader: &str, others: &[&str], of: impl Fn(&str, u32) -> f64) -> Vec<u32> {
    let ahead = |nodes| others.iter().all(|other| *other == leader || above(of(leader, nodes), of(other, nodes)));
    sizes_where(SIZES, ahead)
}

/// The bandwidth of the closed forms.
fn by_form(model: &Model, capacities: Capacities, tori: Tori) -> impl Fn(&str, u32) -> f64 {
    move |fabric, nodes| model.bandwidth(fabric, nodes, capacities, tori)
}

/// As [`leads`] by the load count, on padded tori; `None` where a network is not counted.
fn leads_counted(model: &Model, leader: &str, others: &[&str], capacities: Capacities) -> Option<Vec<u32>> {
    let all = || others.iter().copied().chain([leader]);
    let counted = SIZES.into_iter().all(|nodes| all().all(|fabric| model.counted(fabric, nodes, capacities).is_some()));
    let of = |fabric: &str, nodes| model.counted(fabric, nodes, capacities).unwrap_or(f64::NAN);
    counted.then(|| leads(leader, others, of))
}

/// Last size of the run that starts at the smallest one.
fn last_of_first_run(sizes: &[u32]) -> Option<u32> {
    let run = sizes.chunk_by(|a, b| a + 1 == *b).next().filter(|run| run.first() == Some(SIZES.start()));
    run.and_then(|run| run.last().copied())
}

/// G086: the ring is best up to five nodes, then the 2-D torus.
fn ring_best_in_theory(model: &Model, claim: &Claim) -> Vec<Row> {
    let row = |tori: Tori| {
        let of = by_form(model, Theoretical, tori);
        let last = last_of_first_run(&leads("sci-ring", &SCI, &of));
        let torus = leads("sci-torus2d", &SCI, &of);
        let row = ordering(model, claim)
            .reading(&format!("theory, {}", tori.name()))
            .published(5.0, "nodes")
            .reproduced(last)
            .also("torus2d_leads_from", torus.first().copied())
            .under("last size at which the ring leads");
        match tori {
            Tori::Padded => row.also(
                "counted",
                leads_counted(model, "sci-ring", &SCI, Theoretical).and_then(|sizes| last_of_first_run(&sizes)),
            ),
            _ => row.known_not_to_hold().also("curves_cross_at", ring_meets_torus(model, tori)),
        }
    };
    [Tori::Padded, Tori::Continuous, Tori::ContinuousPrinted].map(row).to_vec()
}

/// Where ring and 2-D torus cross for real N, by bisection.
fn ring_meets_torus(model: &Model, tori: Tori) -> f64 {
    let of = |n, dimensions| model.continuous(n, dimensions, Theoretical, tori);
    let (mut low, mut high) = (4.0, 9.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if of(middle, 1) > of(middle, 2) { low = middle } else { high = middle }
    }
    low
}

/// G087: the third dimension pays from about 64 nodes.
fn third_dimension(model: &Model, claim: &Claim) -> Vec<Row> {
    let row = |(capacities, word, tori): (Capacities, &str, Tori)| {
        let of = by_form(model, capacities, tori);
        let sizes = leads("sci-torus3d", &["sci-torus2d"], &of);
        let row = ordering(model, claim)
            .reading(&format!("{word}, {}", tori.name()))
            .published(64.0, "nodes")
            .reproduced(sizes.first().copied())
            .under("first size at which 3-D leads 2-D")
            .also("leads_at", ranges(&sizes))
            .also("torus2d_at_64_MBps", of("sci-torus2d", 64))
            .also("torus3d_at_64_MBps", of("sci-torus3d", 64));
        if tori != Tori::Padded {
            return row;
        }
        let counted = leads_counted(model, "sci-torus3d", &["sci-torus2d"], capacities);
        let row = row.also("counted", counted.and_then(|sizes| sizes.first().copied()));
        if capacities == Theoretical { row.known_not_to_hold().under("50 to 64 nodes are one 8x8 torus") } else { row }
    };
    let readings = [
        (Theoretical, "theory", Tori::ContinuousPrinted),
        (Theoretical, "theory", Tori::Continuous),
        (Theoretical, "theory", Tori::Padded),
        (Measured, "calibrated", Tori::Continuous),
        (Measured, "calibrated", Tori::Padded),
    ];
    readings.map(row).to_vec()
}

/// G088: the ring is best up to four nodes.
fn ring_best_calibrated(model: &Model, claim: &Claim) -> Vec<Row> {
    let row = |tori: Tori| {
        let of = by_form(model, Measured, tori);
        let sizes = leads("sci-ring", &SIX, &of);
        ordering(model, claim)
            .reading(tori.name())
            .published(4.0, "nodes")
            .reproduced(last_of_first_run(&sizes))
            .known_not_to_hold()
            .under("last size at which the ring leads the other five; the model keeps it ahead at 5, M02 does not")
            .also("at_5_MBps", of("sci-ring", 5))
            .also("torus2d_at_5_MBps", of("sci-torus2d", 5))
    };
    [Tori::Padded, Tori::Continuous].map(row).to_vec()
}

/// G089: after nine nodes Clos64 leads.
fn clos_over_sci(model: &Model, claim: &Claim) -> Row {
    let (clos, sci) = ("myrinet-clos64", ["sci-ring", "sci-torus2d"]);
    let of = by_form(model, Measured, Tori::Padded);
    let sizes = leads(clos, &sci, &of);
    let last = sizes.first().map(|first| first - 1);
    let counted = leads_counted(model, clos, &sci, Measured).and_then(|sizes| sizes.first().map(|first| first - 1));
    ordering(model, claim)
        .published(9.0, "nodes")
        .reproduced(last)
        .also("clos64_leads_at", ranges(&sizes))
        .under("measured capacities, tori padded; last size before Clos64 leads SCI")
        .also("counted", counted)
        .also("torus2d_at_9_MBps", of("sci-torus2d", 9))
        .also("clos64_at_9_MBps", of(clos, 9))
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
        Links::PerPair => "n links between each pair of switches",
        Links::PerSwitch => "n switch ports in all, half to each side",
    };
    let row = ordering(model, claim)
        .reading(reading)
        .published(25.0, "nodes")
        .reproduced(from)
        .under("measured capacities, tori padded; the size from which on it is second")
        .also("not_second_at", ranges(&behind))
        .also("torus2d_at_25_MBps", torus(25))
        .also("ring4_at_25_MBps", other("myrinet-ring4", 25));
    if behind.is_empty() { row } else { row.under(format!("not second at {} nodes", ranges(&behind))) }
}

/// G091: past about eight nodes the ring is severely limited.
fn ring_past_eight(model: &Model, claim: &Claim) -> Row {
    let of = |fabric: &str, nodes| model.bandwidth(fabric, nodes, Measured, Tori::Padded);
    let worst = sizes_where(SIZES, |nodes| {
        SIX.iter().all(|other| *other == "sci-ring" || of("sci-ring", nodes) < of(other, nodes))
    });
    let best = SIX.iter().map(|fabric| of(fabric, 8)).fold(0.0, f64::max);
    ordering(model, claim)
        .reproduced(of("sci-ring", 8))
        .holds((9..=*SIZES.end()).all(|nodes| worst.contains(&nodes)))
        .in_unit("MB/s per node at 8 nodes")
        .under("measured capacities; holds: past 8 nodes the ring is the worst of the six")
        .also("worst_at", ranges(&worst))
        .also("share_of_best_at_8", of("sci-ring", 8) / best)
}

/// G092: the ring costs least. The prices were fitted to this.
fn ring_cheapest(model: &Model, claim: &Claim) -> Row {
    let least = |nodes| {
        SIX.iter().all(|other| *other == "sci-ring" || model.cost("sci-ring", nodes) < model.cost(other, nodes))
    };
    let sizes = sizes_where(SIZES, least);
    priced(model, claim, &SIX)
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
    priced(model, claim, &["sci-torus2d", "myrinet-minimal"])
        .reproduced(format!("differ by {median:.1} % in the median over 2..128"))
        .holds(is_same(100.0 + median, 100.0))
        .under("prices fitted to this claim; the median difference counts")
        .also("largest_difference_pct", differences[differences.len() - 1])
        .also("difference_at_128_pct", share(128) * 100.0)
}

/// G094: Clos64 is dear for few nodes and little dearer at 64 and 128. The prices were fitted to this.
fn clos_dear(model: &Model, claim: &Claim) -> Row {
    let of_median = |nodes| {
        let others = SIX.iter().filter(|fabric| **fabric != "myrinet-clos64");
        let mut costs: Vec<f64> = others.map(|fabric| model.cost(fabric, nodes)).collect();
        costs.sort_by(f64::total_cmp);
        model.cost("myrinet-clos64", nodes) / costs[costs.len() / 2]
    };
    let factors = [2, 64, 128].map(of_median);
    let [at_2, at_64, at_128] = factors.map(|factor| off_pct(factor, 1.0));
    priced(model, claim, &SIX)
        .reproduced(format!(
            "dearer than the median of the others by {at_2:.0} % at 2, {at_64:.0} % at 64, {at_128:.0} % at 128 nodes"
        ))
        .holds(is_clearly_more(factors[0], 1.0) && factors[1..].iter().all(|&factor| is_slightly_more(factor, 1.0)))
        .under("prices fitted to this claim; little more at 64 and 128, and a high initial price at 2")
}

/// G095: per MB/s, SCI is cheaper up to about 64 nodes. The prices were fitted to this.
fn cost_crossover(model: &Model, claim: &Claim) -> Row {
    let clos_cheaper =
        |nodes| model.cost_of_bandwidth("myrinet-clos64", nodes) < model.cost_of_bandwidth("sci-torus2d", nodes);
    let sizes = sizes_where(SIZES, clos_cheaper);
    // "Takes over for larger systems": from here on, not for a few sizes between.
    let lasting = sizes_where(SIZES, |nodes| (nodes..=*SIZES.end()).all(clos_cheaper));
    let share =
        |nodes| model.cost_of_bandwidth("myrinet-clos64", nodes) / model.cost_of_bandwidth("sci-torus2d", nodes);
    let pair = ["sci-torus2d", "myrinet-clos64"];
    let bandwidths = model.evidence(Method::Formula, &pair);
    Row::new(claim, bandwidths.and(model.priced(&pair, SIZES)))
        .published(64.0, "nodes")
        .reproduced(lasting.first().copied())
        .known_not_to_hold()
        .under(format!(
            "prices fitted to this claim; where the lead lasts; Clos64 is cheaper per MB/s at {}",
            ranges(&sizes)
        ))
        .under("50 to 64 nodes are one 8x8 torus")
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
    ordering(model, claim)
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
    ordering(model, claim)
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
    ordering(model, claim)
        .reproduced(rate)
        .holds(all)
        .under("Eq. 11, measured capacities, MB/s in all four topologies at every size")
}
