//! Sweeps: the same bytes on any number of cores and in any number of shares; what is finished is not run again.

use crate::common::program;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of the test's own, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        let path = std::env::temp_dir().join(format!("hotlink-sweep-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }
    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(program());
        command.args(line.split_whitespace()).current_dir(&self.0).env("HOME", &self.0);
        command.env_remove("XDG_DATA_HOME").env_remove("HOTLINK_CATALOG").output().unwrap()
    }
    fn out(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
    fn files(&self, folder: &str) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(self.0.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        entries.map(|path| (name(&path), std::fs::read_to_string(&path).unwrap())).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const PLAN: &str = r#"
[[study]]
name = "exchange"
verb = "simulate alltoall"
fabric = ["sci-ring", "myrinet-clos64"]
nodes = { each = "4..16..x2" }
size = ["64", "4KiB"]
streams = [1, 4]

[[study]]
verb = "analyze"
fabric = "sci-torus2d"
nodes = [4, 9]
"#;

#[test]
fn two_cores_give_the_bytes_of_one_and_shares_those_of_the_whole() {
    let place = Place::new("bytes");
    place.write("plan.toml", PLAN);
    let whole = place.out("sweep plan.toml --out one --jobs 1 --format jsonl");
    assert_eq!(whole, place.out("sweep plan.toml --out two --jobs 2 --format jsonl"));
    assert_eq!(whole, place.out("sweep plan.toml --format jsonl"));
    assert_eq!(place.files("one"), place.files("two"));
    assert_eq!(place.files("one").len(), 2 * 3 * 2 * 2 + 2);
    for share in 1..=3 {
        place.out(&format!("sweep plan.toml --out shares --shard {share}/3"));
        let finished = place.run("sweep plan.toml --out shares --finished --format jsonl");
        assert_eq!(finished.status.code(), Some(i32::from(share < 3)));
    }
    assert_eq!(whole, place.out("sweep plan.toml --out shares --finished --format jsonl"));
    let records: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = &records[0];
    assert_eq!((&first["study"], &first["streams"]), (&"exchange".into(), &1.into()), "{first}");
    assert!(first["trace_hash"].is_string() && first["wall_s"].is_null() && first["nodes"] == 4);
}

#[test]
fn what_is_finished_is_not_run_again_and_what_is_damaged_is() {
    let place = Place::new("resume");
    place.write("plan.toml", PLAN);
    let whole = place.out("sweep plan.toml --out cells --format jsonl");
    let files = place.files("cells");
    // A mark in a finished file survives: it was read, not made. One file is cut off, one is gone.
    let names: Vec<&String> = files.keys().collect();
    place.write(&format!("cells/{}", names[0]), &files[names[0]].replace("\"records\"", "\"mark\": 1,\n  \"records\""));
    place.write(&format!("cells/{}", names[1]), &files[names[1]][..100]);
    std::fs::remove_file(place.0.join("cells").join(names[2])).unwrap();
    let listed = place.out("sweep plan.toml --out cells --list --json");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let finished = listed["records"].as_array().unwrap().iter().filter(|cell| cell["finished"] == true).count();
    assert_eq!(finished, files.len() - 2);
    assert_eq!(whole, place.out("sweep plan.toml --out cells --format jsonl"));
    let again = place.files("cells");
    assert!(again[names[0]].contains("mark"));
    assert_eq!((&again[names[1]], &again[names[2]]), (&files[names[1]], &files[names[2]]));
    assert_eq!(again.len(), files.len());
}

/// A cable's name has an arrow, which a shell would take for a file.
#[test]
fn a_listed_command_is_as_a_shell_takes_it() {
    let place = Place::new("quotes");
    let study =
        "[[study]]\nverb = \"analyze\"\nfabric = \"ib-ndr-fat-tree2\"\nnodes = 80\nfail = \"leaf 0 -> spine 0\"\n";
    place.write("plan.toml", study);
    let listed = place.out("sweep plan.toml --list");
    assert!(listed.contains("hotlink analyze ib-ndr-fat-tree2 --nodes=80 '--fail=leaf 0 -> spine 0'"), "{listed}");
}

#[test]
fn a_changed_fabric_is_another_cell() {
    let place = Place::new("fabric");
    let ring = "name = \"ring\"\ntitle = \"r\"\nparts = [\"pc-p3-1ghz\", \"dolphin-d335\"]\nrouting = \"dimension-order\"\n\
        technology = \"sci\"\n[topology]\nkind = \"cube\"\ndimensions = 1\nb_link = true\nextents = \"balanced\"\n\
        source = \"x\"\nstatus = \"estimated\"\n[resource.link]\nmeasured = { value = 300, unit = \"MB/s\", source = \"x\", status = \"measured\" }\n";
    place.write("ring.toml", ring);
    place.write("plan.toml", "[[study]]\nverb = \"simulate pingpong\"\nfabric = \"ring.toml\"\nsize = 65536\n");
    let first = place.out("sweep plan.toml --out cells --format jsonl");
    place.write("ring.toml", &ring.replace("300", "30"));
    let second = place.out("sweep plan.toml --out cells --format jsonl");
    assert_ne!(first, second);
    assert_eq!(place.files("cells").len(), 2);
}

/// Failures during a collective are an option as any other; another plan of them is another cell.
#[test]
fn a_collective_with_failures_is_swept_as_the_command_runs_it() {
    let place = Place::new("faults");
    let fault = "[[fault]]\nat_us = 1\nswitch = \"spine 0\"\nstate = \"down\"\n";
    place.write("faults.toml", fault);
    let study = "verb = \"simulate allreduce\"\nfabric = \"ib-ndr-fat-tree2\"\nnodes = 80\nsize = 4096\n";
    place.write("plan.toml", &format!("[[study]]\n{study}faults = \"faults.toml\"\n"));
    let swept = || -> Value { serde_json::from_str(&place.out("sweep plan.toml --out cells --format jsonl")).unwrap() };
    let first = swept();
    let line =
        "simulate allreduce --fabric ib-ndr-fat-tree2 --nodes 80 --size 4096 --faults faults.toml --format jsonl";
    let alone: Value = serde_json::from_str(&place.out(line)).unwrap();
    for key in ["latency_us", "healthy_us", "fault_slowdown", "trace_hash"] {
        assert_eq!(first[key], alone[key], "{key}");
    }
    place.write("faults.toml", &fault.replace("down", "up"));
    assert_eq!(swept()["fault_cost_us"], 0.0);
    assert_eq!(place.files("cells").len(), 2);
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_stand() {
    let place = Place::new("fails");
    let plan = "[[study]]\nverb = \"simulate alltoall\"\nfabric = \"sci-ring\"\nnodes = [4, 1, 8]\n";
    place.write("plan.toml", plan);
    let output = place.run("sweep plan.toml --out cells --json");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("1 of 3 cells failed") && said.contains("plan.toml:1") && said.contains("2 or more"),
        "{said}"
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = document["records"].as_array().unwrap();
    assert!(records.len() == 3 && records[1]["error"].is_string() && records[2]["nodes"] == 8);
    assert_eq!(place.files("cells").len(), 2);
    for (line, told) in [
        ("sweep none.toml", "none.toml: cannot be read"),
        ("sweep plan.toml --shard 3/2", "I from 1 to N"),
        ("sweep plan.toml --finished", "--out"),
    ] {
        let output = place.run(line);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(told), "{line}");
    }
}

#[test]
fn the_shipped_plans_are_sound() {
    let place = Place::new("plans");
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let files = std::fs::read_dir(plans).unwrap().map(|entry| entry.unwrap().path());
    // A file of jobs is a question of `simulate jobs`, whose tests read it.
    let is_study = |path: &PathBuf| path.is_file() && std::fs::read_to_string(path).unwrap().contains("[[study]]");
    for plan in files.filter(is_study) {
        assert!(!place.out(&format!("sweep {} --list --format jsonl", plan.display())).is_empty());
    }
}

#[test]
fn measurements_are_cells_too() {
    let place = Place::new("measure");
    let plan = "[[study]]\nverb = \"measure memory\"\nsize = [64, 4096]\nstrides = 1\ntime = 0.01\n";
    place.write("plan.toml", plan);
    let first = place.out("sweep plan.toml --out cells --format jsonl");
    assert_eq!(first, place.out("sweep plan.toml --out cells --format jsonl"), "the second is read, not measured");
    assert_eq!(first.lines().count(), 2);
}

/// The cells of a plan `p.toml` with this text, or what is wrong with it; in this process, for it is asked often.
fn listed(place: &Place, text: &str) -> Result<Vec<String>, String> {
    place.write("p.toml", text);
    let path = place.0.join("p.toml").display().to_string();
    let words = ["hotlink", "sweep", &path, "--list"].map(Into::into);
    let listed = hotlink_cli::json(words).map_err(|error| error.to_string().replace(&path, "p.toml"))?;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let line = |record: &Value| {
        let words = record["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        words.collect::<Vec<_>>().join(" ")
    };
    Ok(listed["records"].as_array().unwrap().iter().map(line).collect())
}

#[test]
fn a_cell_has_the_records_of_its_command() {
    let place = Place::new("cell");
    let records = |words: &str| {
        let words = words.split(' ').map(Into::into);
        let text = hotlink_cli::json(words).expect("records");
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        document["records"].take()
    };
    // A table's reader gets an interval. Records of programs have one where it is asked for.
    for size in ["8", "8,64"] {
        let plan = format!("[[study]]\nverb = \"simulate pingpong\"\nfabric = \"ib-qdr\"\nsize = \"{size}\"\n");
        place.write("plan.toml", &plan);
        let swept = place.out("sweep plan.toml --format jsonl");
        assert!(!swept.contains("latency_us_low"), "{swept}");
        let alone = records(&format!("hotlink simulate pingpong --fabric ib-qdr --size {size}"));
        assert!(
            alone[0].get("latency_us_low").is_none()
                && alone.as_array().expect("records").len() == swept.lines().count()
        );
    }
}

#[test]
fn what_names_two_nodes_is_one_value_of_a_plan() {
    let place = Place::new("between");
    let of = |between: &str| {
        let study = format!("[[study]]\nverb = \"simulate pingpong\"\nfabric = \"ib-qdr\"\nbetween = {between}\n");
        listed(&place, &study)
    };
    assert!(of("[0, 1]").expect_err("one node is no pair").contains("two different nodes, such as 0,5"));
    assert_eq!(of("[[0, 1]]").expect("a pair"), ["simulate pingpong --fabric=ib-qdr --between=0,1"]);
}

#[test]
fn a_plan_has_the_options_of_the_command() {
    let place = Place::new("options");
    let text = "[[study]]\nverb = \"analyze\"\nfabric = \"sci-ring\"\nnodes = { each = \"8..32..x2\" }\n[[study]]\n\
                verb = \"compare\"\nfabrics = [\"sci-ring\", \"sci-torus2d\"]\nnodes = 4\n";
    assert_eq!(
        listed(&place, text).unwrap(),
        [
            "analyze sci-ring --nodes=8",
            "analyze sci-ring --nodes=16",
            "analyze sci-ring --nodes=32",
            "compare sci-ring sci-torus2d --nodes=4"
        ]
    );
}

/// A log is a cell like any other: the same records as the command's, kept, and read anew once it has changed.
#[test]
fn a_plan_imports_logs_by_the_command_s_own_door() {
    let place = Place::new("imports");
    let log = include_str!("../../../results/src/import/samples/nccl.txt");
    place.write("a.log", log);
    place.write("b.log", log);
    place.write(
        "p.toml",
        "[[study]]\nname = \"measured\"\nverb = \"import nccl-tests\"\nfiles = [[\"a.log\", \"b.log\"], [\"a.log\"]]\n\
         fabric = \"hgx-h100-rail\"\n",
    );
    let records = |line: &str| -> Vec<Value> {
        place.out(line).lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    };
    let swept = records("sweep p.toml --out cells --format jsonl");
    let mut direct = records("import nccl-tests a.log b.log --fabric hgx-h100-rail --format jsonl");
    direct.extend(records("import nccl-tests a.log --fabric hgx-h100-rail --format jsonl"));
    assert!(!direct.is_empty() && direct[0]["bound_bus_bandwidth_MBps"].is_number(), "{direct:?}");
    assert_eq!(swept.len(), direct.len());
    for (swept, direct) in swept.iter().zip(&direct) {
        for (key, value) in direct.as_object().unwrap() {
            assert_eq!(&swept[key], value, "{key}");
        }
    }
    let finished = |line: &str| String::from_utf8_lossy(&place.run(line).stderr).into_owned();
    assert!(finished("sweep p.toml --out cells").contains("2 of 2 cells are finished already"));
    place.write("b.log", &log.replace("node0", "node1"));
    assert!(finished("sweep p.toml --out cells").contains("1 of 2 cells are finished already"));
    // The program's own mistakes have the plan's place.
    place.write("p.toml", "[[study]]\nverb = \"import nccl\"\nfiles = \"a.log\"\n");
    let told = finished("sweep p.toml");
    assert!(told.contains("p.toml:2:8: study[0].verb: `nccl` is unknown (allowed: osu, imb, nccl-tests,"), "{told}");
}

#[test]
fn mistakes_are_named_with_file_line_and_key() {
    let place = Place::new("mistakes");
    let study = "[[study]]\nverb = \"simulate pingpong\"\n";
    for (text, told) in [
        ("", "study: there is none (allowed: [[study]]"),
        ("x = 1\n", "p.toml:1:1: x: is unknown (allowed: title, [[study]])"),
        (
            "[[study]]\nverb = \"simulate pingpnog\"\n",
            "p.toml:2:8: study[0].verb: `pingpnog` is unknown; did you mean `pingpong`",
        ),
        ("[[study]]\nverb = \"calibrate\"\n", "(allowed: analyze, compare, import, measure, reproduce, simulate)"),
        ("[[study]]\nverb = \"simulate\"\n", "does not say which benchmark"),
        ("[[study]]\nname = \"x\"\n", "study[0].verb: is missing"),
        (
            &format!("{study}fabrc = \"sci-ring\"\n"),
            "p.toml:3:1: study[0].fabrc: is no option of this verb; did you mean `fabric`",
        ),
        (
            &format!("{study}fabric = \"sci-ring\"\nsize = [8, \"9K\"]\n"),
            "p.toml:4:8: study[0].size: invalid value '9K'",
        ),
        (&format!("{study}size = 8\n"), "p.toml:1:1: study[0].verb: the following required arguments"),
        (
            &format!("{study}fabric = \"sci-ring\"\nlinks = 3\n"),
            "p.toml:4:9: study[0].links: is a flag (allowed: true or false)",
        ),
        (&format!("{study}fabric = []\n"), "p.toml:3:10: study[0].fabric: is an empty list"),
        (&format!("{study}fabric = {{ each = \"1..3\" }}\n"), "this option takes no range"),
        (
            &format!("{study}nodes = {{ each = \"9..3\" }}\n"),
            "p.toml:3:9: study[0].nodes: `9..3`: the range runs backwards",
        ),
        (&format!("{study}json = true\n"), "is no option of this verb"),
        (&format!("{study}seed = {{ each = \"1\", x = 2 }}\n"), "a value, a list, or { each"),
        ("[[study\n", "p.toml:1"),
    ] {
        let said = listed(&place, text).unwrap_err();
        assert!(said.contains(told), "{text}\n{said}\nexpected {told}");
    }
    let far = format!(
        "{study}fabric = \"sci-ring\"\nsize = {{ each = \"1..9999\" }}\nseed = \"1\"\nmessages = {list}\n",
        list = format_args!("{:?}", (0..99_999).collect::<Vec<u32>>())
    );
    assert!(listed(&place, &far).unwrap_err().contains("more than"));
}

/// Names of files are bytes, not text.
#[test]
fn a_plan_whose_name_is_no_utf8_is_read() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new("bytes");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.toml");
    std::fs::write(place.0.join(name), "[[study]]\nverb = \"analyze\"\nfabric = \"sci-torus2d\"\nnodes = [4]\n")
        .unwrap();
    let output = Command::new(program()).arg("sweep").arg(name).current_dir(&place.0).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
