//! Technology, paths, uncertainty and prices as the command has them.

use crate::common::{hotlink, machine, place, refuses, write};
use serde_json::Value;
use std::path::Path;

fn record(line: &str, folder: &Path) -> Value {
    let output = hotlink(line, folder);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    told["records"][0].clone()
}

#[test]
fn a_graph_states_its_technology_in_the_file_or_by_the_option() {
    let folder = place("graph_technology");
    let graph = r#"{"nodes": 4, "switches": 1, "rate_MBps": 100,
        "links": [["n0", "s0"], ["n1", "s0"], ["n2", "s0"], ["n3", "s0"]]}"#;
    std::fs::write(folder.join("g.json"), graph).unwrap();
    refuses(
        &folder,
        &[
            ("analyze g.json --json", "g.json: technology: is missing"),
            ("analyze g.json --json", "--technology infiniband (allowed: barrier-network, "),
            ("analyze g.json --technology infinibad", "did you mean `infiniband`?"),
            ("analyze sci-ring --nodes 8 --technology roce", "a catalog file states its own"),
        ],
    );
    let ideal = record("analyze g.json --technology ideal --json", &folder);
    assert!((ideal["bandwidth_per_node_MBps"].as_f64().unwrap() - 100.0).abs() < 1e-9, "{ideal}");
    let framed = record("analyze g.json --technology roce --json", &folder);
    assert_eq!(framed["paths"], "flow", "{framed}");
    assert!(framed["bandwidth_per_node_MBps"].as_f64().unwrap() < 99.0, "frames carry headers: {framed}");
}

#[test]
fn analyze_counts_the_routes_that_simulate_uses() {
    let folder = place("same_routes");
    let line = "--nodes 128 --traffic permutation:random --samples 9 --seed 1 --size 64KiB --json";
    let analyze = |more: &str| record(&format!("analyze ib-ndr-fat-tree2 {line} {more}"), &folder);
    let usual = analyze("");
    assert_eq!(usual["paths"], "destination");
    let even = analyze("--paths packet");
    let share = usual["bandwidth_per_node_MBps"].as_f64().unwrap() / even["bandwidth_per_node_MBps"].as_f64().unwrap();
    assert!(share < 0.6, "static routes collide: {share}");
    // The hot link is of the draw whose bandwidth is in the record.
    let (load, link) = (usual["hot_link_load"].as_f64().unwrap(), usual["injection_share"].as_f64().unwrap());
    assert_eq!(usual["hot_link_is_of"], "the median draw");
    assert!((load * link - 1.0).abs() < 0.05, "load {load} at {link} of the injection rate");
    refuses(
        &folder,
        &[
            ("analyze ib-ndr-fat-tree2 --nodes 8 --paths best", "destination"),
            (
                "simulate alltoall --fabric ib-ndr-fat-tree2 --nodes 8 --paths ugal",
                "--paths ugal: ib-ndr-fat-tree2 is no dragonfly, Dragonfly+, Slim Fly or HyperX, which have ways around the \
                 shortest; allowed here: packet, flow, destination, adaptive",
            ),
        ],
    );
}

#[test]
fn the_hash_of_flows_is_drawn_and_held_against_spraying() {
    let folder = place("hash_seeds");
    let line = "analyze eth-400g-leaf-spine --nodes 512 --traffic permutation:shift:256 --method load --json";
    let drawn = record(&format!("{line} --hash-seeds 20 --seed 5"), &folder);
    let value = |key: &str| drawn[key].as_f64().unwrap_or_else(|| panic!("{key}: {drawn}"));
    assert_eq!((&drawn["n"], &drawn["hash_seeds"]), (&20.into(), &20.into()));
    let [least, middle, most] = ["min", "median", "max"].map(|key| value(&format!("{key}_bandwidth_per_node_MBps")));
    assert!(least < most && least <= middle && middle <= most, "{drawn}");
    assert!(value("sprayed_bandwidth_per_node_MBps") > 1.5 * middle, "flows collide: {drawn}");
    let one = record(&format!("{line} --seed 5"), &folder)["bandwidth_per_node_MBps"].as_f64().unwrap();
    assert!(least <= one && one <= most, "the first draw is the seed's own");
    let sprayed = record(&format!("{line} --paths packet"), &folder);
    assert_eq!(sprayed["bandwidth_per_node_MBps"], drawn["sprayed_bandwidth_per_node_MBps"]);
    refuses(
        &folder,
        &[
            ("analyze ib-ndr-fat-tree2 --nodes 8 --hash-seeds 3 --method load", "which are chosen by destination"),
            (
                "analyze eth-400g-leaf-spine --nodes 8 --traffic permutation:random --hash-seeds 3 --method load",
                "ask for more samples",
            ),
        ],
    );
}

#[test]
fn sensitivity_gives_an_interval_and_the_inputs_that_move_the_answer() {
    let folder = place("sensitivity");
    let told =
        record("simulate pingpong --fabric ib-qdr --nodes 2 --size 8 --messages 10 --sensitivity --json", &folder);
    let value = |key: &str| told[key].as_f64().unwrap_or_else(|| panic!("{key}: {told}"));
    let (low, us, high) = (value("latency_us_low"), value("latency_us"), value("latency_us_high"));
    assert!(low < us && us < high, "{low} {us} {high}");
    assert!((2.9..3.4).contains(&us), "{us}: 5.375 less both overheads");
    assert!(told["sensitivity"][0].as_str().unwrap().starts_with("resource.nic.latency: "), "{told}");
}

#[test]
fn prices_that_would_not_be_used_as_meant_are_refused() {
    let folder = place("own_prices");
    let list = |currency: &str, items: &str| {
        format!("name = \"mine\"\ntitle = \"mine\"\ncurrency = \"{currency}\"\ndate = \"2025-01-01\"\n{items}")
    };
    let item = |name: &str, currency: &str| {
        format!(
            "[item.{name}]\ntitle = \"t\"\nprice = {{ value = 10, unit = \"{currency}\", source = \"me\", status = \"estimated\" }}\n"
        )
    };
    std::fs::write(folder.join("typo.toml"), list("USD", &item("ndr-nik", "USD"))).unwrap();
    std::fs::write(folder.join("part.toml"), list("EUR", &item("ndr-nic", "EUR"))).unwrap();
    refuses(
        &folder,
        &[
            ("compare ib-ndr-fat-tree2 --nodes 8 --prices typo.toml", "no fabric buys it; did you mean `ndr-nic`?"),
            ("compare ib-ndr-fat-tree2 --nodes 8 --prices part.toml", "prices are in EUR"),
            ("compare ib-ndr-fat-tree2 --nodes 8 --prices part.toml", "ndr-switch"),
        ],
    );
    let told = record("compare ib-ndr-fat-tree2 --nodes 8 --json", &folder);
    let cost = |key: &str| told[key].as_f64().unwrap();
    assert!(cost("cost_USD_low") < cost("cost_USD") && cost("cost_USD") < cost("cost_USD_high"), "{told}");
}

#[test]
fn prices_of_two_eras_are_ranked_together_only_when_asked() {
    let folder = place("eras");
    let best = |more: &str| {
        let line = format!("compare sci-ring ib-ndr-fat-tree2 --nodes 8 --json {more}");
        let output = hotlink(&line, &folder);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let records = told["records"].as_array().unwrap().clone();
        records.iter().filter(|record| record["best_cost_USD"] == true).count()
    };
    assert_eq!(best(""), 2, "each is the cheapest of its own year");
    assert_eq!(best("--across-eras"), 1);
}

#[test]
fn names_that_would_mislead_are_refused() {
    let folder = place("names");
    write(&folder, "m.json", &machine());
    std::fs::write(
        folder.join("odd.toml"),
        "name = \"odd\"\ntitle = \"odd\"\nparts = [\"infiniband-ndr\"]\n[topology]\nkind = \"fat-tree\"\nradix = 3\n\
         source = \"me\"\nstatus = \"estimated\"\n",
    )
    .unwrap();
    refuses(
        &folder,
        &[
            ("calibrate m.json --name sci-ring", "--force"),
            ("measure pingpong --via shm --fabric sci-rin", "did you mean `sci-ring`?"),
            ("measure pingpong --via shm --fabric lab", "label:lab"),
            ("catalog check odd.toml", "an even number"),
        ],
    );
}

/// Options and names mean the same; a variant is valid wherever a fabric is named.
#[test]
fn a_variant_of_a_fabric_is_a_fabric() {
    let folder = place("variants");
    let by_option = record("analyze ib-ndr-fat-tree2 --oversubscription 2 --nodes 96 --json", &folder);
    let by_name = record("analyze ib-ndr-fat-tree2:oversubscription=2 --nodes 96 --json", &folder);
    assert_eq!(by_option["fabric"], "ib-ndr-fat-tree2:oversubscription=2");
    let rate = |told: &Value| told["bandwidth_per_node_MBps"].as_f64().unwrap();
    assert_eq!(rate(&by_option), rate(&by_name));
    let plain = record("analyze ib-ndr-fat-tree2 --nodes 96 --json", &folder);
    assert!(rate(&by_option) < 0.8 * rate(&plain), "{by_option} {plain}");
    let inputs = by_option["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input.to_string().contains("estimated")), "{by_option}");
    refuses(
        &folder,
        &[
            ("analyze ib-ndr-fat-tree2 --nodes 64 --radix 7", "an even number"),
            ("analyze sci-ring --nodes 4 --oversubscription 2", "oversubscription"),
            ("compare sci-ring:radix=4 --nodes 4", "radix"),
            ("simulate alltoall --fabric ib-ndr-fat-tree2 --nodes 4 --link copper", "is no part that is a network"),
        ],
    );
    for line in [
        "compare ib-ndr-fat-tree2 ib-ndr-fat-tree2:oversubscription=2 --nodes 96",
        "catalog show ib-ndr-fat-tree2:oversubscription=2 --why",
        "catalog check ib-ndr-fat-tree2:oversubscription=2",
    ] {
        let output = hotlink(line, &folder);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Of several fabrics each takes the changes that it can have, and says which it cannot; every verb alike.
#[test]
fn a_change_applies_where_it_can_and_is_told_where_not() {
    let folder = place("changes");
    let records = |line: &str| {
        let output = hotlink(line, &folder);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        all["records"].as_array().unwrap().clone()
    };
    let why = "the topology dragonfly has no oversubscription (--oversubscription) to change; global_per_router does the \
               like: slingshot-dragonfly:global_per_router=8";
    for (line, of) in [
        ("compare ib-ndr-fat-tree2 slingshot-dragonfly --nodes 512 --oversubscription 2", "kind"),
        ("simulate pingpong --fabric ib-ndr-fat-tree2,slingshot-dragonfly --size 8 --oversubscription 2", "benchmark"),
    ] {
        let all = records(&format!("{line} --json"));
        let told: Vec<(&str, Option<&str>)> = all
            .iter()
            .filter(|record| ["fabric", "pingpong"].contains(&record[of].as_str().unwrap()))
            .map(|record| (record["fabric"].as_str().unwrap(), record["unchanged"].as_str()))
            .collect();
        assert_eq!(told, [("ib-ndr-fat-tree2:oversubscription=2", None), ("slingshot-dragonfly", Some(why))], "{line}");
        let table = String::from_utf8(hotlink(line, &folder).stdout).unwrap();
        assert!(table.replace("\n", " ").contains(&format!("slingshot-dragonfly: as it is: {why}")), "{table}");
    }
    // Each fabric takes what it can: the ring has other links, and no other switches.
    let all = records("compare sci-ring ib-ndr-fat-tree2 --nodes 16 --link infiniband-hdr --radix 40 --json");
    let ring = &records("compare sci-ring:link=infiniband-hdr --nodes 16 --json")[0];
    assert_eq!(all[0]["bandwidth_per_node_MBps"], ring["bandwidth_per_node_MBps"]);
    assert_eq!((&all[0]["fabric"], &all[1]["unchanged"]), (&"sci-ring:link=infiniband-hdr".into(), &Value::Null));
    assert!(all[0]["unchanged"].as_str().unwrap().contains("cube has no radix"), "{}", all[0]);
    refuses(
        &folder,
        &[
            (
                "compare sci-ring slingshot-dragonfly --nodes 16 --oversubscription 2",
                "none of these fabrics can have it",
            ),
            ("compare sci-ring ib-ndr-fat-tree2 --nodes 16 --radix 7", "an even number"),
            ("compare slingshot-dragonfly --nodes 16 --oversubscription 2", "has no oversubscription"),
        ],
    );
}

/// Printed templates work as they are.
#[test]
fn templates_are_sound() {
    let folder = place("templates");
    for (what, file) in [
        ("fabric", "f.toml"),
        ("prices", "p.toml"),
        ("plan", "plan.toml"),
        ("schedule", "s.goal"),
        ("jobs", "j.toml"),
        ("acceptance", "a.toml"),
    ] {
        let output = hotlink(&format!("new {what}"), &folder);
        assert!(output.status.success());
        assert!(output.stdout.ends_with(b"\n") && !output.stdout.ends_with(b"\n\n"), "{what}");
        std::fs::write(folder.join(file), output.stdout).unwrap();
    }
    for line in [
        "catalog check f.toml",
        "catalog check p.toml",
        "analyze f.toml --nodes 64",
        "compare ib-ndr-fat-tree2 --nodes 64 --prices p.toml",
        "sweep plan.toml --list",
        "simulate goal s.goal --loggp L=2us,o=0.5us,g=50ns,G=0.08ns",
    ] {
        let output = hotlink(line, &folder);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// M02 s5 and s6: its questions for later, a 3-D adapter's cost by its own assumption and Myrinet 2000 at size.
#[test]
fn m02s_questions_for_later_have_answers() {
    let folder = place("m02_later");
    let cost = |fabric: &str, key: &str| {
        record(&format!("compare {fabric} --nodes 64 --json"), &folder)[format!("cost_USD{key}")].as_f64()
    };
    assert_eq!(cost("sci-torus3d", ""), cost("sci-torus2d", ""), "not significantly more than a 2-D adapter");
    assert!(cost("sci-torus3d", "_high") > cost("sci-torus2d", "_high"));
    for fabric in ["myrinet-clos64", "myrinet-ring4"] {
        let [old, new] = ["", " --link myrinet-pci64c"].map(|link| {
            let line = format!("compare {fabric} --nodes 64{link} --json");
            record(&line, &folder)["bandwidth_per_node_MBps"].as_f64().unwrap()
        });
        assert!(new > 1.5 * old, "{fabric}: {old} {new}");
        assert_eq!(cost(&format!("{fabric}:link=myrinet-pci64c"), ""), None, "no prices of Myrinet 2000");
    }
}
