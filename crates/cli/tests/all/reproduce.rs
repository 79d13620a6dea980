//! `hotlink reproduce M02`: every claim is answered, and what holds and what does not stays known.

use crate::common::{program, records_of};
use crate::golden;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;

fn records() -> &'static [Value] {
    static RECORDS: OnceLock<Vec<Value>> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let mut command = Command::new(program());
        let command = command.args(["reproduce", "M02", "--json", "--figures"]).arg(golden::folder("m02"));
        records_of(&command.output().unwrap())
    })
}

fn of(id: &str) -> impl Iterator<Item = &'static Value> {
    records().iter().filter(move |record| record["id"] == id)
}

/// The row of `id` read as `reading`.
fn read_as(id: &str, reading: &str) -> &'static Value {
    of(id).find(|record| record["reading"] == reading).unwrap_or_else(|| panic!("{id} {reading}"))
}

#[test]
fn every_claim_of_m02_has_a_row_with_every_key() {
    for number in 69..=109 {
        let id = format!("G{number:03}");
        assert!(of(&id).next().is_some(), "no row for {id}");
    }
    for record in records() {
        for key in ["id", "quantity", "published", "reproduced", "unit", "error_pct", "kind", "holds", "conditions"] {
            assert!(record.get(key).is_some(), "{record} lacks {key}");
        }
        let kinds = ["prediction", "ordering", "bound", "fit", "identity", "point", "gap"];
        assert!(kinds.contains(&record["kind"].as_str().unwrap()), "{record}");
        let silent = record["reproduced"].is_null();
        assert_eq!(silent, record.get("gap").is_some(), "what is not reproduced says why: {record}");
    }
}

#[test]
fn what_holds_and_what_does_not_is_as_known() {
    for record in records() {
        assert_eq!(record["holds"], record["known_to_hold"], "{record}");
    }
    let mut failing: Vec<&str> = records()
        .iter()
        .filter(|record| record["holds"] == false)
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    failing.dedup();
    assert_eq!(failing, ["G086", "G087", "G088", "G095", "G096", "G109"]);
}

#[test]
fn no_figure_changes_unseen() {
    assert!(!records().is_empty());
    golden::check_figures("m02", golden::figures("m02"));
}

#[test]
fn crossovers_are_the_known_ones() {
    let reproduced = |record: &Value| record["reproduced"].as_u64().unwrap();
    assert_eq!(reproduced(read_as("G086", "theory, tori padded to r^f")), 5);
    let crossing =
        read_as("G086", "theory, continuous r, printed 444 and 427 MB/s")["curves_cross_at"].as_f64().unwrap();
    assert!((crossing - 4.949).abs() < 0.001, "{crossing}");
    let third = read_as("G087", "theory, continuous r, printed 444 and 427 MB/s");
    assert_eq!(reproduced(third), 59);
    assert!((third["torus2d_at_64_MBps"].as_f64().unwrap() - 124.875).abs() < 1e-9);
    assert_eq!(reproduced(read_as("G087", "calibrated, tori padded to r^f")), 65);
    assert_eq!(of("G089").map(reproduced).collect::<Vec<_>>(), [9]);
    assert_eq!(reproduced(read_as("G090", "n links between each pair of switches")), 27);
    assert_eq!(reproduced(read_as("G090", "n switch ports in all, half to each side")), 25);
    let torus = read_as("G090", "n links between each pair of switches");
    assert!((torus["torus2d_at_25_MBps"].as_f64().unwrap() - 135.0).abs() < 1e-9);
    assert!((torus["ring4_at_25_MBps"].as_f64().unwrap() - 139.9).abs() < 0.05);
}

#[test]
fn rows_from_fitted_prices_or_inputs_are_no_predictions() {
    for id in ["G077", "G078", "G082", "G092", "G093", "G094", "G095", "G108", "G109"] {
        let known = |record: &Value| ["fit", "identity", "point"].contains(&record["kind"].as_str().unwrap());
        assert!(of(id).all(known), "{id}");
    }
}

/// A document of this project.
fn page(path: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect(path)
}

/// The documents' table about a study: predictions and those met, orderings held and not held.
fn told(study: &str) -> [u64; 4] {
    let table = page("docs/explanation/validation.md");
    let line = table.lines().find(|line| line.starts_with(&format!("| {study} | "))).expect(study);
    let cells: Vec<u64> = line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
    [0, 1, 2, 3].map(|at| cells[at])
}

#[test]
fn the_readme_counts_what_the_table_has() {
    let studies = ["M02", "K98", "W01", "H06", "P01", "others"].map(told);
    let [predictions, met, held, not] = [0, 1, 2, 3].map(|at| studies.iter().map(|counts| counts[at]).sum::<u64>());
    for (path, words) in [
        (
            "README.md",
            format!("{met} of {predictions} numeric predictions hold, and {held} of {} orderings", held + not),
        ),
        ("docs/explanation/validation.md", format!("Of {predictions} predictions {met} hold")),
    ] {
        let text = page(path).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&words), "{path} must say: {words}");
    }
}

/// Every point that a report has an axis for is on one of the figures, and nothing is left out of them.
#[test]
fn figures_are_drawn_and_scores_add_up() {
    let both = ["h06", "p01"];
    let mut records: Vec<Value> = Vec::new();
    for study in both {
        let mut command = Command::new(program());
        let command = command.args(["reproduce", study, "--score", "--json", "--figures"]).arg(golden::folder(study));
        records.extend(records_of(&command.output().expect("the command")));
    }
    let drawn = both.map(|study| golden::check_figures(study, golden::figures(study))).concat();
    assert!(drawn.len() > 7);
    for svg in &drawn {
        assert!(
            svg.starts_with("<svg ")
                && svg.ends_with("</svg>\n")
                && (svg.contains("class=\"curve\"") || svg.contains("class=\"tick\"")),
            "{svg}"
        );
    }
    let (lines, claims): (Vec<&Value>, Vec<&Value>) = records.iter().partition(|record| record["kind"] == "score");
    let sum = |key: &str| lines.iter().map(|line| line[key].as_u64().expect(key)).sum::<u64>();
    // A claim's readings count once, and hold together.
    let mut predictions = BTreeMap::<&str, bool>::new();
    for record in claims.iter().filter(|record| record["kind"] == "prediction") {
        *predictions.entry(record["id"].as_str().expect("an id")).or_insert(true) &= record["holds"] == true;
    }
    assert_eq!((lines.len(), predictions.len() as u64), (2, sum("predictions")));
    for line in &lines {
        let keys = ["predictions", "predictions_met", "orderings_held", "orderings_not_held"];
        let counts = keys.map(|key| line[key].as_u64().expect(key));
        assert_eq!(told(line["study"].as_str().expect("a study")), counts, "docs/explanation/validation.md: {line}");
    }
    let met = predictions.values().filter(|holds| **holds).count() as u64;
    assert_eq!(met, sum("predictions_met"));
    assert!(claims.iter().all(|record| record["verdict"].is_string()), "every claim has one");
    for claim in &claims {
        assert_eq!(claim["holds"], claim["known_to_hold"], "{claim}");
    }
    let of_p01: Vec<_> = claims.iter().filter(|claim| claim["study"] == "P01").collect();
    for number in 40..=48 {
        assert!(of_p01.iter().any(|claim| claim["id"] == format!("G{number:03}")), "no row for G{number:03}");
    }
    assert!(of_p01.iter().all(|claim| claim["kind"] != "fit"), "nothing is fitted to P01");
    for study in ["H06", "P01"] {
        let of = claims.iter().filter(|record| record["study"] == study);
        let verdicts: Vec<bool> = of.clone().map(|record| record["verdict"] == "NO").collect();
        assert!(verdicts.windows(2).all(|two| two[0] || !two[1]), "{study}: what does not hold is first");
        let missed = of.filter(|record| record["kind"] == "prediction" && record["verdict"] == "NO");
        let errors: Vec<f64> = missed.map(|record| record["error_pct"].as_f64().expect("a number").abs()).collect();
        assert!(errors.windows(2).all(|two| two[0] >= two[1]), "{errors:?}");
    }
}

/// Figs. 6, 8, 12 and 13 in time: M02's statements about them, and no simulated exchange above its bound.
#[test]
fn the_figures_in_time_are_simulated() {
    let number = |record: &Value| record["reproduced"].as_f64().unwrap();
    assert!((number(read_as("G079", "two senders over one")) - 2.0).abs() < 0.1);
    for (id, points) in [("G102", 28), ("G103", 21), ("G106", 36)] {
        let points_of = |record: &&Value| record.get("senders").is_some();
        assert_eq!(of(id).filter(points_of).count(), points, "{id}");
        assert_eq!(read_as(id, "plateau: most senders, largest message")["kind"], "fit");
    }
    let simulated: Vec<&Value> = of("G107").filter(|record| record["efficiency"].is_number()).collect();
    assert_eq!(simulated.len(), 6 * 11, "each network at each size up to the axis' end");
    for record in simulated {
        assert!(record["efficiency"].as_f64().unwrap() <= 1.0001, "{record}");
    }
}

/// The two engines are independent: where routes are counted, the closed form gives the same.
#[test]
fn formula_and_count_agree() {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
    let mut compared = 0;
    for record in of("G101").filter(|record| record["counted"].is_number()) {
        assert!(close(record["counted"].as_f64().unwrap(), record["reproduced"].as_f64().unwrap()), "{record}");
        compared += 1;
    }
    assert!(compared > 60, "{compared} points of Fig. 4 were counted");
    let sci = |record: &&Value| record["fabric"].as_str().is_some_and(|fabric| fabric.starts_with("sci-"));
    let by_form = |record: &&Value| record["method"] == "formula";
    let calibrated: Vec<&Value> = of("G107").filter(sci).filter(by_form).collect();
    assert_eq!(calibrated.len(), 2 * 127, "ring and 2-D torus at 2 to 128 nodes");
    for record in calibrated {
        assert!(close(record["counted"].as_f64().unwrap(), record["reproduced"].as_f64().unwrap()), "{record}");
    }
    for id in ["G086", "G087", "G089"] {
        for record in of(id).filter(|record| record.get("counted").is_some()) {
            assert_eq!(record["counted"], record["reproduced"], "{record}");
        }
    }
}

/// Eq. 6 averages hops over pairs of switches, which is the mean over packets only where every switch is full.
#[test]
fn counted_switch_links_average_to_eq_10_where_all_switches_are_full() {
    let full = |fabric: &str, nodes: u64| match fabric {
        "myrinet-ring2" => nodes == 28 || (nodes > 28 && nodes.is_multiple_of(12)),
        "myrinet-ring4" => nodes == 24 || (nodes > 24 && nodes.is_multiple_of(8)),
        "myrinet-minimal" => nodes == 30,
        _ => false,
    };
    let mut compared = 0;
    for record in of("G104").filter(|record| record.get("fabric").is_some()) {
        let (fabric, nodes) = (record["fabric"].as_str().unwrap(), record["nodes"].as_u64().unwrap());
        let (Some(counted), Some(hottest)) = (record.get("counted"), record.get("counted_hottest")) else { continue };
        let (counted, hottest) = (counted.as_f64().unwrap(), hottest.as_f64().unwrap());
        assert!(hottest <= counted * (1.0 + 1e-9), "{record}");
        if full(fabric, nodes) {
            let formula = record["reproduced"].as_f64().unwrap();
            assert!((counted - formula).abs() < 1e-3 * formula, "{record}");
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} full populations were counted");
}
