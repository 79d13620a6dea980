//! `hotlink catalog`: list, show, check.

use crate::common::{program, records_of};
use serde_json::Value;
use std::process::{Command, Output};

fn hotlink(args: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.args(args).current_dir(env!("CARGO_TARGET_TMPDIR")).env_remove("HOTLINK_CATALOG");
    command.env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR")).output().unwrap()
}

fn records(args: &[&str]) -> Vec<Value> {
    records_of(&hotlink(args))
}

#[test]
fn list_has_one_line_for_each_fabric_part_and_price_list() {
    let listed = records(&["catalog", "list", "--json"]);
    let has = |kind: &str, name: &str| listed.iter().any(|record| record["kind"] == kind && record["name"] == name);
    assert!(has("fabric", "sci-torus2d") && has("part", "myrinet-1280") && has("prices", "m02-2002"));
    let fabrics = records(&["catalog", "list", "fabrics", "--json"]);
    let parameters = records(&["catalog", "list", "parameters", "--json"]);
    assert!(parameters.iter().any(|record| record["name"] == "stream_buffers" && record["units"] != ""));
    assert!(fabrics.len() >= 22 && fabrics.iter().all(|record| record["kind"] == "fabric"));
}

#[test]
fn show_gives_every_number_with_unit_source_and_status() {
    for name in ["ib-ndr-fat-tree3", "dolphin-d335", "estimate-2025"] {
        let shown = records(&["catalog", "show", name, "--why", "--json"]);
        assert!(!shown.is_empty());
        for record in &shown {
            let key = record["key"].as_str().unwrap();
            assert!(record["value"].is_number(), "{record}");
            assert!(!record["source"].as_str().unwrap().is_empty(), "{record}");
            let statuses = ["published", "measured", "fitted", "estimated"];
            assert!(statuses.contains(&record["status"].as_str().unwrap()), "{record}");
            assert!(key.starts_with("topology.") || !record["unit"].as_str().unwrap().is_empty(), "{record}");
        }
    }
}

#[test]
fn why_traces_a_capacity_to_the_line_of_its_number() {
    let shown = records(&["catalog", "show", "sci-ring", "--why", "--json"]);
    let of = |key: &str| shown.iter().find(|record| record["key"] == key).unwrap();
    let place = of("resource.link.gross")["place"].as_str().unwrap();
    assert!(place.starts_with("built-in:parts/dolphin-d335.toml:"), "{place}");
    let capacity = of("capacity.theoretical.SCI link");
    assert!((capacity["value"].as_f64().unwrap() - 667.0 * 2.0 / 3.0).abs() < 1e-9);
    assert!(capacity["source"].as_str().unwrap().contains("667 MB/s (M02 Table 1)"), "{capacity}");
}

#[test]
fn check_explains_every_mistake_and_leaves_status_2() {
    let path = format!("{}/broken.toml", env!("CARGO_TARGET_TMPDIR"));
    let text = "name = \"broken\"\ntitel = \"typo\"\nparts = [\"pc-p3-1ghz\", \"dolphin-d335\"]\n\
                routing = \"dimension-order\"\ntechnology = \"sci\"\n[topology]\nkind = \"cube\"\ndimensions = 0\n\
                extents = \"padded-cube\"\nsource = \"me\"\nstatus = \"published\"\n";
    std::fs::write(&path, text).unwrap();
    let run = hotlink(&["catalog", "check", "sci-ring", &path]);
    let told = String::from_utf8(run.stderr).unwrap();
    assert_eq!((run.status.code(), run.stdout.len()), (Some(2), 0), "{told}");
    for expected in [
        "3 mistakes in 1 of 2 files",
        "broken.toml:1:1: title: is missing",
        "broken.toml:2:1: titel: unknown key; did you mean `title`?",
        "broken.toml:8:14: topology.dimensions: 0 is out of range (allowed: a whole number 1 to 16)",
    ] {
        assert!(told.contains(expected), "missing: {expected}\nin: {told}");
    }
    assert!(hotlink(&["catalog", "check", "sci-ring", "m02-2002", "myrinet-1280"]).status.success());
    assert_eq!(hotlink(&["catalog", "show", "sci-rong"]).status.code(), Some(2));
}

#[test]
fn a_file_of_another_kind_is_called_by_its_name() {
    for (what, told) in [
        ("plan", "is a plan of studies, which `hotlink sweep FILE --list` checks"),
        ("jobs", "is a plan of jobs, which `hotlink simulate jobs FILE --fabric NAME` checks"),
        ("schedule", "is a schedule, which `hotlink simulate goal FILE` checks"),
        ("acceptance", "is a list of requirements, which `hotlink report RESULTS --require FILE` checks"),
    ] {
        let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("other-{what}.toml"));
        std::fs::write(&file, hotlink(&["new", what]).stdout).unwrap();
        let done = hotlink(&["catalog", "check", &file.to_string_lossy()]);
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(2) && said.contains(told) && !said.contains("topology"), "{said}");
    }
}
