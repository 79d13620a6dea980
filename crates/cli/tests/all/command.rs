//! The command as its users meet it: statuses, streams, formats, files.

use crate::common::program;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of the test's own, removed at the end; also the home, so that no calibration of this machine is found.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        let path = std::env::temp_dir().join(format!("hotlink-cli-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }
    fn path(&self) -> &Path {
        &self.0
    }
    /// Runs a command line as it would be typed.
    fn run(&self, line: &str) -> Run {
        let mut command = Command::new(program());
        command.args(line.split_whitespace()).current_dir(&self.0).env("HOME", &self.0);
        for variable in ["XDG_DATA_HOME", "HOTLINK_CATALOG"] {
            command.env_remove(variable);
        }
        Run { line: line.to_owned(), output: command.output().unwrap() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Run {
    line: String,
    output: Output,
}

impl Run {
    fn out(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }
    fn err(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }
    /// Checks the status; results only where it is not 2.
    fn status(self, expected: i32) -> Run {
        assert_eq!(self.output.status.code(), Some(expected), "{}\n{}", self.line, self.err());
        assert!(expected != 2 || self.out().is_empty(), "{}: printed {}", self.line, self.out());
        self
    }
    fn records(self) -> Vec<Value> {
        let run = self.status(0);
        let document: Value = serde_json::from_str(&run.out()).unwrap();
        assert_eq!(document["schema"], "hotlink/2");
        assert_eq!(document["command"][0], "hotlink");
        assert!(document["environment"].is_object());
        document["records"].as_array().unwrap().clone()
    }
}

fn with<'a>(records: &'a [Value], key: &str, value: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record[key] == value).collect()
}

#[test]
fn analyze_gives_formula_and_load_with_the_promised_keys() {
    let place = Place::new("analyze");
    let line = "analyze sci-torus2d --nodes 4,9,16,25,64 --traffic all-to-all --capacities measured --json";
    let records = place.run(line).records();
    let (formula, load) = (with(&records, "method", "formula"), with(&records, "method", "load"));
    assert_eq!((formula.len(), load.len()), (5, 5));
    for (formula, load) in formula.iter().zip(&load) {
        for key in ["fabric", "nodes", "traffic", "capacities", "bandwidth_per_node_MBps", "limiting_resource"] {
            assert!(!formula[key].is_null() && !load[key].is_null(), "{key} in {formula} {load}");
        }
        let (a, b) = (&formula["bandwidth_per_node_MBps"], &load["bandwidth_per_node_MBps"]);
        assert!((a.as_f64().unwrap() / b.as_f64().unwrap() - 1.0).abs() < 1e-9, "{formula} {load}");
        assert!(load["injection_share"].as_f64().unwrap() <= 1.0);
        assert!(load["efficiency"].is_null() && formula["efficiency"].is_null(), "a bound has no efficiency");
    }
}

#[test]
fn links_are_one_record_a_resource() {
    let records = Place::new("links").run("analyze sci-ring --nodes 4 --links --json").records();
    let hottest = with(&records, "role", "SCI link").iter().map(|r| r["load"].as_f64().unwrap()).fold(0.0, f64::max);
    let head = with(&records, "method", "load")[0].clone();
    assert_eq!(hottest, 6.0, "N(r-1)/2");
    assert!(head["hot_link"].as_str().is_some());
}

#[test]
fn a_graph_of_ones_own_takes_random_traffic_and_tells_of_deadlock() {
    let place = Place::new("graph");
    let graph = r#"{"technology": "myrinet", "nodes": ["a", "b", "c", "d"], "switches": 2, "rate_MBps": 160, "links": [{"from": "a", "to": "s0"},
        {"from": "b", "to": "s0"}, {"from": "c", "to": "s1"}, {"from": "d", "to": "s1"}, {"from": "s0", "to": "s1"}]}"#;
    std::fs::write(place.path().join("my-graph.json"), graph).unwrap();
    let line = "analyze my-graph.json --traffic permutation:random --samples 200 --seed 1 --json";
    let records = place.run(line).records();
    let number = |key: &str| records[0][key].as_f64().unwrap();
    // Myrinet puts 5 bytes around a worm of 1 MiB, and one for each switch of its route.
    let payload = |link: f64, switches: f64| link * 1048576.0 / (1048576.0 + 5.0 + switches);
    for (key, expected) in
        [("min_bandwidth_per_node_MBps", payload(80.0, 2.0)), ("max_bandwidth_per_node_MBps", payload(160.0, 1.0))]
    {
        assert!((number(key) - expected).abs() < 1e-9, "{key} {} {expected}", number(key));
    }
    assert!((1.0..=200.0).contains(&number("n")));
    assert_eq!(records[0]["deadlock_free"], true);
    let other = place.run(&line.replace("seed 1", "seed 2")).records();
    assert_eq!(other[0]["fabric"], "my-graph");
    assert!(place.run("analyze my-graph.json --nodes 5").status(2).err().contains("holds 4 nodes"));
    std::fs::write(place.path().join("bad.json"), graph.replace("\"s1\"}]", "\"nobody\"}]")).unwrap();
    assert!(place.run("analyze bad.json").status(2).err().contains("nobody"));
}

#[test]
fn input_errors_have_status_2_say_what_is_allowed_and_print_nothing() {
    let place = Place::new("errors");
    std::fs::write(place.path().join("broken.toml"), "name = 3\n[topology\n").unwrap();
    for (line, part) in [
        ("catalog show infiniband-ndrr", "did you mean `infiniband-ndr`"),
        ("catalog show m02-2003", "did you mean `m02-2002`"),
        ("schema fabric", "inspection, failures, groups, reroute, job"),
        ("catalog list --json --format csv", "cannot be used with"),
        ("analyze sci-rng --nodes 8", "did you mean `sci-ring`"),
        ("analyze sci-ring", "--nodes 64"),
        ("analyze sci-ring --nodes 8,x", "whole number"),
        ("analyze sci-ring --nodes 9..2 --json", "backwards"),
        ("analyze sci-ring --nodes 8 --size 64K", "KiB"),
        ("analyze sci-ring --nodes 8 --traffic nonsense", "all-to-all"),
        ("analyze sci-ring --nodes 8 --capacities measured-ish", "theoretical"),
        ("analyze k98-t3d --nodes 8 --method formula", "no closed form"),
        ("analyze broken.toml --nodes 8", "broken.toml:"),
        ("analyze no/such.toml --nodes 8", "no/such.toml"),
        ("analyze no/such.json", "no/such.json"),
        ("compare sci-ring sci-ring --nodes 4", "named twice"),
        ("compare this-machine --nodes 2..4", "hotlink calibrate m.json --name this-machine"),
        ("compare sci-ring --nodes 4 --prices none.toml", "none.toml"),
        ("measure pingpong --via tcp --listen nowhere", "must be HOST:PORT"),
        ("measure pingpong --via tcp --connect 127.0.0.1:99999", "`99999` is no port"),
        ("measure sockets --listen :7000", "names no host"),
        ("simulate deposit --fabric k98-sci --size 0", "--size: 0 is out of range"),
        ("compare sci-ring --nodes 4 --prices m02-2003", "did you mean `m02-2002`?"),
        ("compare", "FABRIC"),
        ("analyse sci-ring", "analyze"),
        ("analyze sci-ring --node 8", "--nodes"),
        ("analyze sci-ring --nodes 8 --format osu", "OSU"),
        ("completion tcsh", "zsh"),
    ] {
        let run = place.run(line).status(2);
        assert!(run.err().contains(part), "{line}: {}", run.err());
        assert!(!run.err().contains("panicked"), "{line}: {}", run.err());
    }
}

#[test]
fn compare_ranks_prices_and_notes_what_cannot_be_built() {
    let place = Place::new("compare");
    let records = place.run("compare sci-ring sci-torus2d --nodes 2..64 --json").records();
    let cells = with(&records, "kind", "fabric");
    assert_eq!(cells.len(), 2 * 63);
    for cell in &cells {
        for key in ["fabric", "nodes", "bandwidth_per_node_MBps", "injection_share", "limiting_resource", "cost_USD"] {
            assert!(!cell[key].is_null(), "{key} in {cell}");
        }
        let per_node = cell["cost_USD"].as_f64().unwrap() / cell["nodes"].as_f64().unwrap();
        let expected = per_node / cell["bandwidth_per_node_MBps"].as_f64().unwrap();
        assert!((cell["cost_per_MBps_USD"].as_f64().unwrap() / expected - 1.0).abs() < 1e-9);
    }
    let best = |nodes: u64| {
        let is_best = |cell: &&&Value| cell["nodes"] == nodes && cell["best_bandwidth_per_node_MBps"] == true;
        cells.iter().filter(is_best).map(|cell| cell["fabric"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((best(4), best(64)), (vec!["sci-ring"], vec!["sci-torus2d"]));
    let crossovers = with(&records, "kind", "crossover");
    assert!(crossovers.iter().any(|c| c["quantity"] == "bandwidth_per_node_MBps" && c["ahead_after"] == "sci-torus2d"));
}

/// A comparison as people read it: no empty table, sentences, the meaning of ranges and missing prices.
#[test]
fn tables_of_a_comparison_say_what_is_there() {
    let place = Place::new("compare-tables");
    let one = place.run("compare ib-ndr-fat-tree2 eth-400g-leaf-spine --nodes 512").status(0).out();
    assert!(!one.contains("Crossovers"), "one size has none: {one}");
    assert!(one.contains("* most bandwidth: ib-ndr-fat-tree2 at 512 nodes"), "{one}");
    assert!(one.contains("ranges overlap with the best: ib-ndr-fat-tree2 at 512 nodes;"), "{one}");
    let many = place.run("compare sci-ring sci-torus2d --nodes 2..64").status(0).out();
    let said = "sci-torus2d has a lower latency than sci-ring. Before that, the lead changes 2 times.";
    assert!(
        many.contains("sci-torus2d gives each node more bandwidth than sci-ring.") && many.contains(said),
        "{many}"
    );
    let variant = place.run("compare ib-ndr-fat-tree2 --radix 32 --link infiniband-hdr --nodes 64,512").status(0).out();
    for said in [
        "Switches + cables of what has no bill",
        "6 + 128",
        "48 + 1024",
        "ib-ndr-fat-tree2:radix=32:link=infiniband-hdr: no bill: no price of nic, switch of 32 ports,",
    ] {
        assert!(variant.contains(said), "{said}: {variant}");
    }
}

/// Hosts of 8 GPUs are built whole, and every table says so.
#[test]
fn a_part_of_a_host_is_told_as_the_whole_host_that_is_built() {
    let place = Place::new("whole");
    let built = "13 nodes are built as 16, by whole hosts or a full cube, and all 16 send";
    let told = |line: &str| place.run(line).status(0).out().replace('\n', " ");
    let analyzed = told("analyze hgx-h100-rail --nodes 13 --method load");
    assert!(analyzed.contains(built), "{analyzed}");
    let compared = told("compare hgx-h100-rail sci-torus2d --nodes 13,14,16");
    for (fabric, nics) in [("hgx-h100-rail", 16), ("sci-torus2d", 13)] {
        let line = format!("{fabric}: {built}; its bill has {nics} NICs (likewise at 1 size more)");
        assert!(compared.contains(&line), "{line}: {compared}");
    }
    assert!(!told("analyze hgx-h100-rail --nodes 16 --method load").contains("are built as"));
}

#[test]
fn oversubscription_is_written_as_the_field_does() {
    let place = Place::new("ratio");
    let at = |ratio: &str| {
        place
            .run(&format!("analyze ib-ndr-fat-tree2 --nodes 512 --method load --oversubscription {ratio} --json"))
            .records()
    };
    assert_eq!(at("2:1"), at("2"));
    let wrong = place.run("analyze ib-ndr-fat-tree2 --nodes 512 --oversubscription 1:2").status(2).err();
    assert!(wrong.contains("ports towards hosts come first, as in 2:1"), "{wrong}");
    let few = place.run("analyze ib-ndr-fat-tree2 --nodes 512 --levels 1").status(2).err();
    assert!(few.contains("1 level of switches"), "{few}");
}

#[test]
fn the_table_of_drawn_hashes_shows_what_spraying_gives() {
    let place = Place::new("sprayed");
    let line = "analyze eth-400g-leaf-spine --nodes 512 --traffic permutation:shift:256 --method load --hash-seeds 4";
    let table = place.run(line).status(0).out();
    assert!(table.contains("least MB/s per node") && table.contains("MB/s per node, sprayed"), "{table}");
}

#[test]
fn compare_leaves_whole_results_or_none() {
    let place = Place::new("out");
    let run = place.run("compare sci-ring sci-torus2d --nodes 2..8 --out report/").status(0);
    assert!(run.err().contains("no plots"), "the bare binary says so: {}", run.err());
    let mut files: Vec<String> = std::fs::read_dir(place.path().join("report"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["compare.csv", "compare.json", "summary.md"]);
    let data = std::fs::read_to_string(place.path().join("report/compare.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&data).unwrap()["schema"], "hotlink/2");

    std::fs::write(place.path().join("file"), "in the way").unwrap();
    place.run("compare sci-ring --nodes 4 --out file/report").status(2);
    place.run("compare sci-rng --nodes 4 --out elsewhere").status(2);
    assert!(!place.path().join("elsewhere").exists());
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let place = Place::new("same");
    for line in ["compare sci-ring sci-torus3d --nodes 2..32 --json", "analyze sci-torus3d --nodes 27,64 --csv"] {
        let line = line.replace("--csv", "--format csv");
        assert_eq!(place.run(&line).status(0).out(), place.run(&line).status(0).out(), "{line}");
    }
}

#[test]
fn every_format_holds_every_size() {
    let place = Place::new("formats");
    for format in ["table", "json", "jsonl", "csv", "md"] {
        let out = place.run(&format!("analyze sci-ring --nodes 37,41 --method load --format {format}")).status(0).out();
        assert!(out.contains("37") && out.contains("41"), "{format}: {out}");
    }
    let out = place.run("analyze sci-ring --nodes 2..4 --method load --format jsonl").status(0).out();
    assert_eq!(out.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(), 3);
}

#[test]
fn every_verb_has_an_example_in_its_help() {
    let place = Place::new("help");
    let top = place.run("--help").status(0).out();
    let list = top.split("Commands:").nth(1).and_then(|rest| rest.split("Output:").next()).unwrap();
    let is_verb = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let verbs: Vec<&str> = list.lines().filter(is_verb).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(verbs.len() >= 5 && verbs.contains(&"compare"), "{verbs:?}");
    for verb in verbs.into_iter().filter(|verb| !verb.starts_with('-')) {
        let help = place.run(&format!("{verb} --help")).status(0).out();
        assert!(help.contains("Example") && help.contains(&format!("hotlink {verb}")), "{verb}: no example in\n{help}");
    }
}

/// A heading of a few options must not come before those that follow.
#[test]
fn main_options_stand_below_no_heading_of_others() {
    let place = Place::new("headings");
    for (verb, options) in [
        ("compare", vec!["--nodes", "--traffic", "--prices", "--out"]),
        ("design", vec!["--collective", "--size", "--simulate", "--out"]),
        ("measure pingpong", vec!["--ranks", "--size", "--time", "--raw"]),
        ("simulate barrier", vec!["--nodes"]),
    ] {
        let help = place.run(&format!("{verb} --help")).status(0).out();
        let main = help.split("\nOptions:\n").nth(1).unwrap();
        // Headings begin their line, options do not.
        let main: Vec<&str> = main.lines().take_while(|line| line.is_empty() || line.starts_with(' ')).collect();
        for option in options {
            assert!(main.iter().any(|line| line.trim_start().starts_with(option)), "{verb} {option}: {help}");
        }
    }
}

#[test]
fn help_says_a_thing_once_and_leaves_methods_to_pages() {
    let place = Place::new("help-once");
    let help = |verb: &str| place.run(&format!("{verb} --help")).status(0).out();
    assert_eq!(help("reproduce").matches("K98: SCI").count(), 1);
    assert!(!help("reproduce").contains("- K98"));
    let calibrate = help("calibrate");
    assert!(calibrate.contains("docs/how-to/calibrate.md") && !calibrate.contains("bootstrap"), "{calibrate}");
}

#[test]
fn the_demo_answers_on_one_screen_and_one_page() {
    let place = Place::new("demo");
    let out = place.run("demo --out report").status(0).out();
    let line = |part: &str| out.lines().position(|line| line.contains(part));
    assert!(line("Three networks of today") < line("This machine:"), "what takes a known time comes first: {out}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() <= 25 && lines.iter().all(|line| line.chars().count() <= 120), "{out}");
    for fabric in ["ib-ndr-fat-tree2", "eth-400g-leaf-spine", "slingshot-dragonfly"] {
        assert_eq!(lines.iter().filter(|line| line.trim_start().starts_with(fabric)).count(), 2, "{fabric}: {out}");
    }
    let report = place.path().join("report");
    // The latency is that of the page's chart, whose record lies beside it.
    let compared = std::fs::read_to_string(report.join("compare-512.json")).unwrap();
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    for row in
        compared["records"].as_array().unwrap().iter().filter(|row| row["nodes"] == 512 && row["kind"] == "fabric")
    {
        let (fabric, latency) = (row["fabric"].as_str().unwrap(), row["idle_latency_us"].as_f64().unwrap());
        let line = lines.iter().find(|line| line.trim_start().starts_with(fabric)).unwrap();
        assert!(line.split_whitespace().any(|word| word == format!("{latency:.2}")), "{fabric} {latency}: {out}");
        let hot = lines.iter().find(|line| line.contains(fabric) && line.contains("hot link: ")).unwrap();
        assert_eq!(hot.contains("none: all adapters are full"), row["injection_share"] == 1.0, "{hot}");
    }
    assert!(out.contains("report/index.html") && report.join("index.html").is_file(), "{out}");
    let records = std::fs::read_dir(report)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension() == Some("json".as_ref()));
    assert_eq!(records.count(), 6, "a file of each command");
}

#[test]
fn a_template_has_no_form_of_results() {
    let run = Place::new("template").run("new fabric --json").status(2);
    assert!(run.err().contains("it has no form json"), "{}", run.err());
}

#[test]
fn prices_are_a_list_of_the_catalog_or_a_file_that_goes_before_it() {
    let place = Place::new("prices");
    let cost = |prices: &str| {
        let records = place.run(&format!("compare gige --nodes 4 --json --prices {prices}")).records();
        with(&records, "kind", "fabric")[0]["cost_per_node_USD"].as_f64().unwrap()
    };
    assert_eq!(cost("gige-2006"), 32.0);
    let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/prices/gige-2006.toml");
    let dearer = std::fs::read_to_string(catalog).unwrap().replace("value = 32,", "value = 40,");
    for name in ["own", "own.toml", "gige-2006"] {
        std::fs::write(place.path().join(name), &dearer).unwrap();
        assert_eq!(cost(name), 40.0, "{name}");
    }
}

#[test]
fn a_variant_with_other_switches_has_a_bill_that_says_what_it_assumes() {
    let place = Place::new("variant-prices");
    let of = |options: &str| {
        let records = place.run(&format!("compare ib-ndr-fat-tree2 --nodes 100 --json {options}")).records();
        with(&records, "kind", "fabric")[0].clone()
    };
    // Five leaves of 20 hosts, under spines of 40 ports: 100 cables up.
    let assumed = of("--radix 40");
    assert_eq!((&assumed["nics"], &assumed["switch_cables"]), (&100.into(), &100.into()));
    assert!(assumed["prices_assumed"].as_str().unwrap().contains("40/64 of ndr-switch"), "{assumed}");
    let cost = |told: &Value, key: &str| told[format!("cost_USD{key}")].as_f64().unwrap();
    let priced = |told: &Value| (told["switches"].as_f64().unwrap(), cost(told, ""));
    let (switches, total) = priced(&assumed);
    assert!(cost(&assumed, "_low") < total && total < cost(&assumed, "_high"), "{assumed}");
    // The template has a switch of 40 ports, and prices of its own for two more items.
    std::fs::write(place.path().join("own.toml"), place.run("new prices").status(0).out()).unwrap();
    let own = of("--radix 40 --prices own.toml");
    assert_eq!((&own["prices_assumed"], &own["prices"]), (&Value::Null, &"our-quotation over estimate-2025".into()));
    let expected = 100.0 * 1650.0 + switches * 19_000.0 + 100.0 * 200.0 + 100.0 * 1450.0;
    assert_eq!(priced(&own), (switches, expected));
    // Another link's pieces, where the catalog prices them, and where nothing does.
    assert_eq!(of("--link ethernet-400g")["prices"], "estimate-2025");
    let none = of("--link infiniband-hdr");
    assert_eq!((&none["cost_USD"], &none["nics"]), (&Value::Null, &100.into()));
    let why = none["unpriced"].as_str().unwrap();
    assert!(
        why.starts_with("no price of nic, switch of 64 ports, cable_node, cable_switch of infiniband-hdr"),
        "{why}"
    );
    let rails = place.run("compare hgx-h100-pod --nodes 1024 --oversubscription 2:1 --json").records();
    let rails = with(&rails, "kind", "fabric")[0].clone();
    assert_eq!((&rails["fabric"], &rails["switches"]), (&"hgx-h100-pod:oversubscription=2".into(), &43.into()));
    assert!(cost(&rails, "") > 0.0, "{rails}");
}

/// Bash's offers for the last word of a line.
fn offered(place: &Place, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let (cur, prev) = (words[words.len() - 1], words[words.len() - 2]);
    let script = place.run("completion bash").status(0).out();
    assert!(!script.contains("host-ranks"), "verbs that the command starts itself");
    let asked = format!(
        "{script}\nCOMP_WORDS=({}) COMP_CWORD={}\n_hotlink hotlink '{cur}' '{prev}'\necho \"${{COMPREPLY[@]}}\"",
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1
    );
    std::fs::write(place.path().join("asked"), asked).unwrap();
    let told = Command::new("bash").arg("asked").current_dir(place.path()).output().unwrap();
    String::from_utf8_lossy(&told.stdout).trim().to_owned()
}

#[test]
fn completion_offers_what_the_catalog_has_and_the_user_calibrated_beside_files() {
    let place = Place::new("offers");
    let own = place.path().join(".local/share/hotlink/fabrics");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("lab.toml"), "").unwrap();
    std::fs::write(place.path().join("my-graph.json"), "{}").unwrap();
    for (line, expected) in [
        ("hotlink analyze sci-to", "sci-torus2d sci-torus3d sci-torus4d"),
        ("hotlink compare sci-ring --prices m", "m02-2002"),
        ("hotlink simulate alltoall --fabric sci-ri", "sci-ring"),
        ("hotlink simulate cache-study --fabric w01-sci-d", "w01-sci-d330"),
        ("hotlink measure pingpong --fabric la", "lab"),
        ("hotlink import osu x.txt --fabric this-m", "this-machine this-mpi"),
        // Nothing of ours: bash falls back on files, as the script says at its end.
        ("hotlink analyze my-gr", ""),
    ] {
        assert_eq!(offered(&place, line), expected, "{line}");
    }
    assert!(place.run("completion bash").out().contains("-o bashdefault -o default hotlink"));
    // The other shells offer files with the names.
    let zsh = place.run("completion zsh").out();
    let option = zsh.lines().find(|line| line.contains("'--prices=")).unwrap();
    assert!(option.contains(":NAME|FILE:{compadd -- estimate-2025 gige-2006 m02-2002; _files}"), "{option}");
    assert!(zsh.contains(" lab ") && !zsh.contains(" lab w01-sci-d330)"), "{zsh}");
    let fish = place.run("completion fish").out();
    let option = fish.lines().find(|line| line.contains("-l prices")).unwrap();
    assert!(option.ends_with("-r -F -a \"estimate-2025\\t''"), "{option}");
    assert!(fish.contains("\nlab\\t''"), "{fish}");
}

#[test]
fn completion_knows_the_verbs_and_doctor_reports() {
    let place = Place::new("doctor");
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.run(&format!("completion {shell}")).status(0).out().contains("compare"), "{shell}");
    }
    let records = place.run("doctor --json").records();
    let calibrated = with(&records, "check", "this-machine")[0];
    assert_eq!(calibrated["verdict"], "missing");
    assert!(calibrated["advice"].as_str().unwrap().contains("hotlink calibrate"));
}

/// A long run is not done for a form that it has not.
#[test]
fn osu_s_form_is_refused_before_the_work() {
    let place = Place::new("osu");
    // Further mistakes are not looked for.
    for line in
        ["measure kernel --time 0", "measure is --ranks 3", "analyze nothere", "compare nothere", "reproduce K98"]
    {
        let told = place.run(&format!("{line} --format osu")).status(2).err();
        assert!(told.contains("--format osu is for benchmarks of the OSU suite only"), "{line}: {told}");
    }
    assert!(place.run("measure pingpong --time 0 --format osu").status(2).err().contains("--time 0"));
}

#[test]
fn a_script_for_slurm_is_one_in_every_format() {
    let place = Place::new("slurm");
    for (line, ending) in [("", "txt"), (" --json", "json"), (" --format csv", "csv")] {
        let script = place.run(&format!("measure deposit --via mpi --slurm{line}")).status(0).out();
        assert!(script.starts_with("#!/bin/sh") && script.contains(&format!("-%j.{ending}\n")), "{script}");
        assert!(script.ends_with(&format!("hotlink measure deposit --via mpi{line}\n")), "{script}");
    }
}

/// The contents of one format are read back, as far as they go: rounded values count as the same.
#[test]
fn every_format_of_results_is_read_back() {
    let place = Place::new("formats-read-back");
    let asked = "simulate pingpong --fabric ib-qdr,gige --size 8,64KiB";
    // Keys that the short forms leave out.
    let ignored = "method,packet_B,capacities,seed,messages,paths,kind";
    for (format, name) in [("json", "a.json"), ("jsonl", "a.jsonl"), ("csv", "a.csv"), ("md", "a.md"), ("osu", "a.txt")]
    {
        let text = place.run(&format!("{asked} --format {format}")).status(0).out();
        std::fs::write(place.path().join(name), text).unwrap();
        // Keys of OSU's programs that ours lack.
        let theirs = if format == "osu" { ",datatype,program_version" } else { "" };
        let told = place.run(&format!("compare-runs a.json {name} --allow-missing --ignore {ignored}{theirs} --json"));
        let told: Value = serde_json::from_str(&told.status(0).out()).unwrap();
        let same = told["records"].as_array().unwrap().iter().filter(|record| record["verdict"] == "same");
        assert!(same.count() >= 4, "{format}: {told}");
    }
}

#[test]
fn the_bare_binary_says_what_draws() {
    let place = Place::new("plot");
    std::fs::write(place.path().join("m.json"), r#"{"schema": "hotlink/1", "records": [{"a": 1}]}"#).unwrap();
    assert!(place.run("plot m.json --out m.svg").status(2).err().contains("pip install '.[plot]'"));
    assert!(place.run("plot m.json --out m.gif").status(2).err().contains(".png, .svg or .pdf"));
}
