//! `hotlink design`: the command of the documents at a size for tests, its files as other verbs take them, bad input.

use crate::common::{hotlink, place, records_of, refuses};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// As `design --hosts 512,4096 ...` in the documents, for fewer hosts; the user's own prices begin as `new prices`.
fn designed(folder: &Path) -> Vec<Value> {
    let prices = hotlink("new prices", folder);
    std::fs::write(folder.join("my-prices.toml"), prices.stdout).unwrap();
    let line = "design --hosts 128,256 --technology infiniband,roce,slingshot --oversubscription 1,2,4 --prices \
                my-prices.toml --out design/ --json";
    records_of(&hotlink(line, folder))
}

fn of<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["kind"] == kind).collect()
}

#[test]
fn variants_are_fabric_files_that_compare_prices_alike() {
    let folder = place("design");
    let records = designed(&folder);
    let variants = of(&records, "variant");
    let mut names: Vec<String> = std::fs::read_dir(folder.join("design"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let (data, files): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| !name.ends_with(".toml"));
    assert_eq!(data, ["design.json", "front.html"]);
    let page = std::fs::read_to_string(folder.join("design/front.html")).unwrap();
    assert!(page.contains("Networks for 128, 256 hosts") && page.contains("256 hosts: nothing beats "));
    assert_eq!(files.len(), variants.len());
    for technology in ["infiniband", "roce", "slingshot"] {
        for hosts in [128, 256] {
            assert!(files.contains(&format!("{technology}-{hosts}-fat-tree2-2to1.toml")), "{files:?}");
        }
    }
    // As the shell would spell design/*-256-*.toml.
    let of_size: Vec<String> =
        files.iter().filter(|name| name.contains("-256-")).map(|name| format!("design/{name}")).collect();
    let line = format!("compare {} --nodes 256 --prices my-prices.toml --json", of_size.join(" "));
    let compared = records_of(&hotlink(&line, &folder));
    let number = |record: &Value, key: &str| record[key].as_f64().unwrap_or_else(|| panic!("{key} in {record}"));
    let keys = ["cost_USD", "cost_USD_low", "power_kW", "switches", "bandwidth_per_node_MBps"];
    let told = |record: &Value, keys: [&str; 5]| keys.map(|key| number(record, key));
    let answers: BTreeMap<&str, [f64; 5]> = of(&compared, "fabric")
        .into_iter()
        .map(|record| (record["fabric"].as_str().unwrap(), told(record, keys)))
        .collect();
    assert_eq!(answers.len(), of_size.len());
    let mut quoted = 0;
    for variant in variants.iter().filter(|variant| variant["hosts"] == 256) {
        let own = told(variant, [keys[0], keys[1], keys[2], keys[3], "all_to_all_MBps"]);
        assert_eq!(answers[variant["fabric"].as_str().unwrap()], own, "{}", variant["fabric"]);
        // Items without a quote are estimated, and some variants buy none with one.
        quoted += usize::from(variant["prices"] == "our-quotation over estimate-2025");
        assert!(
            variant["prices"].as_str().is_some_and(|list| list.ends_with("estimate-2025")),
            "{}",
            variant["prices"]
        );
        assert_eq!(variant["method"], "load");
    }
    assert!(quoted > 0 && quoted < of_size.len(), "{quoted}");
    assert!(of(&records, "variant").iter().any(|variant| variant["front"] == true));
}

#[test]
fn a_check_that_no_variant_passes_ends_with_status_1_and_its_rows() {
    let folder = place("design-limits");
    let line = "design --hosts 128 --technology infiniband --max-racks 2 --max-power 1e6 --json";
    let output = hotlink(line, &folder);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("what binds: racks at most 2 (best of the rest: 4)"), "{told}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = document["records"].as_array().unwrap();
    let binds: Vec<&Value> = of(records, "constraint").into_iter().map(|record| &record["binds"]).collect();
    assert_eq!(binds, [&Value::Bool(false), &Value::Bool(true)]);
}

#[test]
fn people_read_the_front_first_and_why_another_is_beaten() {
    let folder = place("design-table");
    let line =
        "design --hosts 128 --technology slingshot --oversubscription 1,4 --why slingshot-128-fat-tree2-1to1.toml";
    let output = hotlink(line, &folder);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.starts_with("128 hosts: nothing beats these "), "{text}");
    for part in
        ["beaten by", "beats slingshot-128-fat-tree2-1to1: cost_USD", "floor: 32 hosts", "prices: estimate-2025"]
    {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
}

#[test]
fn each_refused_shape_is_named_with_its_ratio_once() {
    let folder = place("design-refused");
    let line = "design --hosts 512 --technology infiniband --oversubscription 1:1,2 --json";
    let records = records_of(&hotlink(line, &folder));
    let names: Vec<&str> = of(&records, "left-out").iter().map(|one| one["fabric"].as_str().unwrap()).collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(names.len(), once.len(), "{names:?}");
    assert!(names.contains(&"infiniband-512-dragonfly-2to1"), "{names:?}");
}

#[test]
fn what_cannot_be_asked_is_told_with_what_can() {
    let folder = place("design-wrong");
    std::fs::write(folder.join("bad.toml"), "name = \"bad\"\ntitle = \"Bad\"\ncurrency = \"USD\"\ndate = \"x\"\n")
        .unwrap();
    refuses(
        &folder,
        &[
            ("design", "--hosts"),
            ("design --hosts 0", "a count from 1"),
            ("design --hosts 70000", "2 hosts to 65536"),
            ("design --hosts 128 --technology tokenring", "is neither a technology (barrier-network"),
            ("design --hosts 128 --technology myrinet", "hotlink new fabric"),
            ("design --hosts 128 --oversubscription 0", "must be 0.25 to 16"),
            ("design --hosts 128 --prices bad.toml", "bad.toml:4"),
            ("design --hosts 128 --min-share all-to-all=7", "PATTERN=SHARE"),
            ("design --hosts 128 --survive rack=0.5", "cable=SHARE or switch=SHARE"),
            ("design --hosts 128 --max-cost -1", "a number above 0"),
            ("design --hosts 128 --collective barrier", "alltoall, allreduce"),
            ("design --hosts 128 --technology infiniband --why x", "--why x: is no variant"),
            ("design --hosts 128 --format osu", "--format osu"),
        ],
    );
    assert!(!folder.join("design").exists());
}
