//! `hotlink run`: how a job of processes ends, whatever its program is; and what `doctor --mpi` counts. The MPI library itself
//! is tested by `tools/conformance`.

use crate::common::{hotlink, place, program, records_of, refuses};
use std::path::{Path, PathBuf};

/// A folder with something that has the library's name, which the programs here do not load, and with a script.
fn with_script(name: &str, script: &str) -> PathBuf {
    let folder = place(name);
    std::fs::create_dir(folder.join("lib")).unwrap();
    std::fs::write(folder.join("lib/libmpi_abi.so.1"), "").unwrap();
    std::fs::write(folder.join("script"), script).unwrap();
    folder
}

/// Status, output and errors of `ranks` ranks of the script.
fn ends(folder: &Path, options: &str) -> (Option<i32>, String, String) {
    let output = hotlink(&format!("run --library lib/libmpi_abi.so.1 {options} sh script"), folder);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn ranks_know_their_places_and_lines_are_tagged() {
    let folder =
        with_script("run-tags", "echo \"$HOTLINK_RANK of $HOTLINK_RANKS by $HOTLINK_VIA in ${LD_LIBRARY_PATH%%:*}\"");
    let (status, out, errors) = ends(&folder, "-n 3 --via tcp --tag-output");
    assert_eq!((status, errors.lines().count()), (Some(0), 1), "{errors}");
    assert!(errors.contains("no rank called hotlink's MPI library, so each ran by itself"), "{errors}");
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    let lib = folder.join("lib").canonicalize().unwrap();
    let due: Vec<String> = (0..3).map(|rank| format!("[{rank}] {rank} of 3 by tcp in {}", lib.display())).collect();
    assert_eq!(lines, due);
}

#[test]
fn the_first_rank_that_fails_ends_the_job_and_is_named() {
    // A rank that does not fail would sleep for long.
    let folder = with_script("run-fails", "if [ $HOTLINK_RANK = 1 ]; then exit 7; fi; exec sleep 1000");
    let (status, _, errors) = ends(&folder, "-n 3");
    assert_eq!((status, errors.trim()), (Some(7), "hotlink: rank 1 ended with status 7"));
    let folder = with_script("run-killed", "if [ $HOTLINK_RANK = 0 ]; then kill -9 $$; fi; exec sleep 1000");
    let (status, _, errors) = ends(&folder, "-n 2");
    assert_eq!((status, errors.trim()), (Some(137), "hotlink: rank 0 was killed by signal 9"));
}

#[test]
fn a_job_that_takes_longer_than_it_may_is_ended() {
    let folder = with_script("run-limit", "if [ $HOTLINK_RANK = 1 ]; then exit 0; fi; sleep 1000; true");
    let (status, _, errors) = ends(&folder, "-n 4 --timeout 0.5");
    let why = "hotlink: the time limit of 0.5 s (--timeout or MPIEXEC_TIMEOUT) is reached: ranks 0, 2, 3 still ran";
    assert_eq!((status, errors.trim()), (Some(124), why));
    let (status, _, errors) = ends(&folder, "-n 2 --timeout 0.5 --on gige");
    assert!(status == Some(124) && errors.contains("rank 0 still ran"), "{errors}");
    let run = "run --library lib/libmpi_abi.so.1 --timeout";
    for wrong in ["0", "-1", "soon", "nan", "inf"] {
        refuses(&folder, &[(&format!("{run}={wrong} true"), "must be seconds from 0.001 to 3.2e8")]);
    }
}

/// Programs that never take their seats: the simulation does not wait for them.
#[test]
fn on_a_fabric_programs_may_end_before_they_begin() {
    let folder = with_script("run-on", "echo $HOTLINK_RANK; if [ $HOTLINK_RANK = 1 ]; then exit 7; fi");
    let (status, out, errors) = ends(&folder, "--on gige -n 3");
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    assert_eq!((status, lines), (Some(7), vec!["0", "1", "2"]));
    assert_eq!(errors.trim(), "hotlink: rank 1 ended with status 7");
    let cases = [
        ("run --library lib/libmpi_abi.so.1 --on gigi -n 2 true", "did you mean `gige`?"),
        ("run --library lib/libmpi_abi.so.1 --on gige -n 2 --via tcp true", "cannot be used with"),
        ("run --library lib/libmpi_abi.so.1 --on gige -n 2 /no/such/program", "/no/such/program"),
    ];
    refuses(&folder, &cases);
}

/// Ranks are where they were placed: the record says so, and the program's library hears of it.
#[test]
fn ranks_are_placed_on_nodes_of_a_fabric() {
    let folder = with_script("run-placed", "echo $HOTLINK_NODES");
    std::fs::write(folder.join("hosts"), "5\n2-3 # two\n").unwrap();
    let run = "run --library lib/libmpi_abi.so.1 --json --on ib-ndr-fat-tree2";
    for (options, nodes, placed) in [
        ("-n 3 --nodes 8", 8, ""),
        ("-n 4 --ranks-per-node 2", 2, "0,0,1,1"),
        ("-n 5 --ranks-per-node 2 --nodes 64 --placement hosts", 64, "5,5,2,2,3"),
        ("-n 3 --nodes 96 --placement spread", 96, "0,32,64"),
        ("-n 2 --nodes 4 --placement 3,1", 4, "3,1"),
    ] {
        let output = hotlink(&format!("{run} {options} sh script"), &folder);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        // The script calls no MPI, which is reported at the end.
        let ranks = errors.lines().filter(|line| !line.starts_with("hotlink: no rank called"));
        assert!(ranks.clone().all(|line| line == placed) && ranks.count() >= 2, "{options}: {errors}");
        let records = records_of(&output);
        assert_eq!(records[0]["nodes"], nodes, "{options}");
        let told = records[0].get("rank_nodes").and_then(|nodes| nodes.as_str());
        assert_eq!(told.unwrap_or(placed), placed, "{options}");
    }
    let on = "run --library lib/libmpi_abi.so.1 --on gige";
    let cases = [
        (format!("{on} -n 4 --nodes 3 true"), "4 ranks need a node each, and there are 3 (--nodes)"),
        (format!("{on} -n 8 --nodes 3 --ranks-per-node 2 true"), "8 ranks need 4 nodes, and there are 3 (--nodes)"),
        (format!("{on} -n 2 --placement spred true"), "must be contiguous, packed, spread, random"),
        (format!("{on} -n 2 --placement 0-2 --nodes 4 true"), "3 nodes are listed, and 2 are needed"),
        (format!("{on} -n 2 --placement 0,9 --nodes 4 true"), "must be 0 to 3"),
        ("run -n 2 --ranks-per-node 2 true".to_owned(), "--on"),
        ("run -n 2 --goal out.goal true".to_owned(), "--on"),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(line, due)| (line.as_str(), *due)).collect();
    refuses(&folder, &cases);
    // Operations that a schedule cannot hold are refused before anything runs.
    let output = hotlink("run --library lib/libmpi_abi.so.1 --on hwbarr -n 2 --goal out.goal true", &folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("record it on another fabric") && !folder.join("out.goal").exists(), "{errors}");
    let output = hotlink("run --library lib/libmpi_abi.so.1 --on hwbarr -n 2 --ranks-per-node 2 true", &folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("takes one rank of each node"), "{errors}");
}

/// A file lists the failures on a program's fabric, as for simulations.
#[test]
fn a_program_takes_a_plan_of_failures() {
    let folder = with_script("run-faults", "echo started");
    let fault = |at_us: u32, name: &str| {
        format!("[[fault]]\nat_us = {at_us}\nlink = \"NDR link node 1 -> {name}\"\nrate = 0.5\nstate = \"degraded\"\n")
    };
    std::fs::write(folder.join("faults.toml"), fault(0, "leaf 0") + &fault(5, "leaf 0")).unwrap();
    std::fs::write(folder.join("wrong.toml"), fault(0, "leaf 7")).unwrap();
    let on = "run --library lib/libmpi_abi.so.1 --json --on ib-ndr-fat-tree2 --nodes 80 -n 2";
    // The ranks end at once.
    let records = records_of(&hotlink(&format!("{on} --faults faults.toml sh script"), &folder));
    let due = serde_json::json!(["NDR link node 1 -> leaf 0: degraded to 0.5 of its rate from 0 us on"]);
    assert_eq!(records[0]["faults"], due);
    let wrong = format!("{on} --faults wrong.toml sh script");
    refuses(
        &folder,
        &[
            (wrong.as_str(), "wrong.toml:3:8: fault[0].link: \"NDR link node 1 -> leaf 7\" is not in this fabric"),
            ("run -n 2 --faults faults.toml true", "--on"),
        ],
    );
    assert!(
        !String::from_utf8_lossy(&hotlink(&wrong, &folder).stderr).contains("started"),
        "told before anything runs"
    );
}

/// One agent for each host, started by a stand-in for `ssh`. Ranks know their places, the first reads the command's
/// input, and a rank that fails ends those of the other host.
#[test]
fn ranks_run_on_several_hosts() {
    let folder = with_script("run-hosts", "echo \"$HOTLINK_RANK of $HOTLINK_RANKS at $HOTLINK_MEET\"; cat");
    std::fs::write(folder.join("shell"), "test \"$1\" = far || exit 255; eval \"$2\"").unwrap();
    std::fs::write(folder.join("text"), "read here\n").unwrap();
    let run = |hosts: &str, script: &str| {
        let line = ["run", "--library", "lib/libmpi_abi.so.1", "--tag-output", "--remote-shell", "sh shell", "--hosts"];
        let mut command = std::process::Command::new(program());
        command.args(line).arg(hosts).args(["sh", "-c", script]).current_dir(&folder).env("HOTLINK_MEET", "far:7");
        command.stdin(std::fs::File::open(folder.join("text")).unwrap());
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, out, errors) = run("far:2,localhost", ". ./script");
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(
        lines,
        ["[0] 0 of 3 at far:7", "[0] read here", "[1] 1 of 3 at far:7", "[2] 2 of 3 at far:7"],
        "{errors}"
    );
    let (status, _, errors) = run("localhost:2,far", "if [ $HOTLINK_RANK = 2 ]; then exit 7; fi; exec sleep 100");
    assert_eq!((status, errors.trim()), (Some(7), "hotlink: rank 2 ended with status 7"));
    let (status, _, errors) = run("nowhere,localhost", "exec sleep 100");
    assert!(status == Some(255) && errors.contains("the ranks of host nowhere: ended with status 255"), "{errors}");
    let of = |line: &str| format!("run --library lib/libmpi_abi.so.1 {line} true");
    let cases = [
        (of("--hosts a:0"), "1 to 1024 ranks"),
        (of("--hosts a:1 -n 2"), "the hosts have 1"),
        (of("--hosts localhost,a"), "a cannot reach rank 0"),
        (of("--hosts a --on gige"), "cannot be used with"),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(line, due)| (line.as_str(), *due)).collect();
    refuses(&folder, &cases);
}

/// Each fabric that takes the program has times and a price; one that does not says why, and the others go on.
#[test]
fn fabrics_are_compared_by_a_program() {
    let folder = with_script("run-compare", "echo \"$1\"");
    let compare = "compare --library lib/libmpi_abi.so.1 --program sh";
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../site/tests/data/tree2/ibnetdiscover.txt");
    let fabrics = format!("gige,{},sci-torus2d", site.display());
    let output = hotlink(&format!("{compare} -n 9 --on {fabrics} --json -- script text"), &folder);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(errors.lines().filter(|line| *line == "text").count(), 18, "{errors}");
    let records = records_of(&output);
    let names: Vec<&str> = records.iter().map(|record| record["fabric"].as_str().unwrap()).collect();
    assert_eq!((names[0], names[2]), ("gige", "sci-torus2d"));
    for (record, cost) in [(&records[0], 9.0 * 32.0), (&records[2], 9.0 * 1600.0)] {
        assert!(record["elapsed_us"].is_number() && record.get("note").is_none(), "{record}");
        assert_eq!((record["cost_USD"].as_f64(), record["program"].as_str()), (Some(cost), Some("sh script text")));
    }
    let note = records[1]["note"].as_str().unwrap();
    assert!(note.contains("has 12 hosts, no other number") && records[1].get("elapsed_us").is_none(), "{note}");
    // Where no fabric takes it, that is a failure.
    std::fs::write(folder.join("script"), "exit 3").unwrap();
    let output = hotlink(&format!("{compare} -n 2 --on gige,sci-ring -- script"), &folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("none of these fabrics; the first: rank 0 ended with status 3"), "{errors}");
    let cases = [
        ("compare --program true -n 2", "--on"),
        ("compare gige -n 2", "--program"),
        ("compare --program true --on gige --nodes 4", "cannot be used with"),
        ("compare --library lib/libmpi_abi.so.1 --program true --on gigi", "did you mean `gige`?"),
    ];
    refuses(&folder, &cases);
}

#[test]
fn what_cannot_be_run_is_told() {
    let folder = with_script("run-refuses", "");
    let cases = [
        ("run -n 2 --library lib/none.so true", "there is no such file"),
        ("run -n 2 --library script true", "it must be named libmpi_abi.so.1"),
        ("run --library lib/libmpi_abi.so.1 /no/such/program", "/no/such/program"),
        ("run -n 0 true", "0 is not in 1..=4096"),
        ("run -n 1025 true", "-n 1025: must be 1 to 1024, or up to 4096 with --on"),
        ("run -n 2", "PROGRAM"),
    ];
    refuses(&folder, &cases);
}

/// Without the library's place, the user gets the places that were searched, and what to do.
#[test]
fn the_library_is_named_by_a_variable_or_its_absence_is_explained() {
    let folder = with_script("run-library", "echo ${LD_LIBRARY_PATH%%:*}");
    let command = folder.join("bin/hotlink");
    std::fs::create_dir(folder.join("bin")).unwrap();
    std::fs::copy(program(), &command).unwrap();
    let run = |variable: Option<&str>| {
        let mut run = std::process::Command::new(&command);
        run.args(["run", "sh", "script"]).current_dir(&folder).env_remove("HOTLINK_LIBRARY");
        variable.map(|value| run.env("HOTLINK_LIBRARY", value));
        let output = run.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, _, errors) = run(None);
    assert_eq!(status, Some(2), "{errors}");
    for due in ["bin/libmpi_abi.so.1", "lib/hotlink/libmpi_abi.so.1", "make build", "--library or HOTLINK_LIBRARY"] {
        assert!(errors.contains(due), "{due}: {errors}");
    }
    let (status, _, errors) = run(Some("none.so"));
    assert!(status == Some(2) && errors.contains("HOTLINK_LIBRARY none.so: there is no such file"), "{errors}");
    let lib = folder.join("lib").canonicalize().unwrap();
    assert_eq!(run(Some("lib/libmpi_abi.so.1")), (Some(0), lib.display().to_string(), String::new()));
    // Where a package installs it.
    std::fs::create_dir(folder.join("lib/hotlink")).unwrap();
    std::fs::write(folder.join("lib/hotlink/libmpi_abi.so.1"), "").unwrap();
    assert_eq!(run(None), (Some(0), lib.join("hotlink").display().to_string(), String::new()));
}

/// The chapters hold every function, and each function that exists has a name.
#[test]
fn doctor_counts_what_the_library_has() {
    let records = records_of(&hotlink("doctor --mpi --json", &place("doctor-mpi")));
    let sum = |key: &str| records.iter().map(|record| record[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("functions"), hotlink_standard::names().count() as u64);
    let refused: usize = records.iter().map(|r| r["refused"].as_str().unwrap().split_whitespace().count()).sum();
    assert_eq!(sum("there") + refused as u64, sum("functions"));
    let of = |chapter: &str| records.iter().find(|record| record["chapter"] == chapter).unwrap();
    assert_eq!(of("point-to-point")["functions"].as_u64(), of("point-to-point")["there"].as_u64());
    assert!(of("processes")["refused"].as_str().unwrap().contains("MPI_Comm_spawn"));
}
