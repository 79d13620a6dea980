//! What this machine lacks for measuring and building, and how to get it.

use crate::adapters::adapters;
use crate::environment::{cores, line};
use hotlink_fabric::catalog::Library;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Works, with a drawback.
    Fair,
    /// Not there, or not allowed.
    Missing,
}

/// One line of the report.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The check.
    pub check: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// Its finding.
    pub found: String,
    /// The use of it, and how to mend it; empty where there is nothing to do.
    pub advice: String,
}

impl Verdict {
    /// Its word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Good => "ok",
            Verdict::Fair => "fair",
            Verdict::Missing => "missing",
        }
    }
}

/// Checks everything. `program`: the running program, in case it is a Python.
pub fn examine(program: Option<&Path>) -> Vec<Finding> {
    let mut findings =
        vec![cores_found(), governor(), shared_memory(), ptrace_scope(), copy_route(), locked_memory(), calibration()];
    findings.extend(adapters().iter().map(adapter));
    findings.extend(programs());
    findings.extend(python(program));
    findings
}

fn finding(check: &'static str, verdict: Verdict, found: impl Into<String>, advice: impl Into<String>) -> Finding {
    Finding { check, verdict, found: found.into(), advice: advice.into() }
}

/// An adapter with its driver and firmware, which an acceptance must name.
fn adapter(facts: &Map<String, Value>) -> Finding {
    let said = facts.iter().map(|(key, fact)| match (key.as_str(), fact.as_str().unwrap_or_default()) {
        ("name", name) => name.to_owned(),
        (key, fact) => format!("{} {fact}", key.replace('_', " ")),
    });
    finding("adapter", Verdict::Good, said.collect::<Vec<_>>().join(", "), "")
}

fn cores_found() -> Finding {
    match cores() {
        1 => finding("cores", Verdict::Fair, "1", "two ranks need two cores: measurements here are oversubscribed"),
        n => finding("cores", Verdict::Good, n.to_string(), format!("measure with at most {n} ranks")),
    }
}

fn governor() -> Finding {
    match line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        Some(name) if name == "performance" => finding("clock governor", Verdict::Good, name, ""),
        Some(name) => {
            let advice =
                "clocks change under measurement; for steady figures: sudo cpupower frequency-set -g performance";
            finding("clock governor", Verdict::Fair, name, advice)
        }
        None => finding("clock governor", Verdict::Good, "not offered by this machine", ""),
    }
}

fn shared_memory() -> Finding {
    let free = Command::new("df").args(["-k", "--output=avail", "/dev/shm"]).output().ok();
    let text = free.filter(|out| out.status.success()).map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    let mib = text.and_then(|text| text.lines().nth(1)?.trim().parse::<u64>().ok()).map(|kib| kib / 1024);
    match mib {
        Some(mib) if mib >= 256 => finding("/dev/shm", Verdict::Good, format!("{mib} MiB free"), ""),
        Some(mib) => {
            let advice = "shared-memory ranks want 256 MiB: sudo mount -o remount,size=1G /dev/shm";
            finding("/dev/shm", Verdict::Fair, format!("{mib} MiB free"), advice)
        }
        None => finding(
            "/dev/shm",
            Verdict::Missing,
            "not there",
            "shared-memory ranks need it: sudo mount -t tmpfs tmpfs /dev/shm",
        ),
    }
}

fn ptrace_scope() -> Finding {
    match line("/proc/sys/kernel/yama/ptrace_scope").as_deref() {
        None => finding("process_vm_readv", Verdict::Good, "no ptrace restriction", ""),
        Some("0") => finding("process_vm_readv", Verdict::Good, "ptrace_scope 0", ""),
        Some("1") => {
            let advice =
                "reads between a parent and its children only; for any ranks: sudo sysctl kernel.yama.ptrace_scope=0";
            finding("process_vm_readv", Verdict::Fair, "ptrace_scope 1", advice)
        }
        Some(scope) => {
            let advice = "one-copy transfers between ranks are refused: sudo sysctl kernel.yama.ptrace_scope=0";
            finding("process_vm_readv", Verdict::Missing, format!("ptrace_scope {scope}"), advice)
        }
    }
}

/// How long messages move over shared memory here, and why.
fn copy_route() -> Finding {
    const CHECK: &str = "copy route";
    let asked = std::env::var(hotlink_real::COPY_VARIABLE).unwrap_or_else(|_| "auto".to_owned());
    let way = match hotlink_real::copy_named(&asked) {
        Ok(way) => way,
        Err(what) => {
            let found = format!("{}={what}", hotlink_real::COPY_VARIABLE);
            return finding(CHECK, Verdict::Missing, found, "set it to one of these, or unset it");
        }
    };
    let is_asked = way.is_some();
    hotlink_real::use_copy(way);
    let chosen = hotlink_real::copying();
    let points = chosen
        .samples
        .iter()
        .map(|sample| format!("{} {} KiB {:.1} us", sample.way.name(), sample.size >> 10, sample.us));
    let points: Vec<String> = points.collect();
    if points.is_empty() && !is_asked {
        let advice =
            "long messages take the ring until it is known what is faster here; measure --copy ROUTE names another";
        return finding(CHECK, Verdict::Fair, chosen.why, advice);
    }
    let advice = match points.is_empty() {
        true => String::new(),
        false => format!("half round trips: {}; measure --copy ROUTE overrides", points.join(", ")),
    };
    finding(CHECK, Verdict::Good, chosen.why, advice)
}

fn locked_memory() -> Finding {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let row = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let soft = row.and_then(|row| row.split_whitespace().next()).unwrap_or("unknown");
    match soft {
        "unlimited" => finding("locked memory", Verdict::Good, soft, ""),
        _ => {
            let found = soft.parse::<u64>().map_or(soft.to_owned(), |bytes| format!("{} MiB", bytes >> 20));
            let advice = "networks that register buffers want more: ulimit -l unlimited (/etc/security/limits.conf)";
            finding("locked memory", Verdict::Fair, found, advice)
        }
    }
}

fn calibration() -> Finding {
    match Library::user().fabric("this-machine") {
        Ok(loaded) => finding("this-machine", Verdict::Good, loaded.file, ""),
        Err(_) => {
            let advice = "hotlink measure saturation --via tcp --pairs 1..4 --json > m.json && hotlink calibrate m.json --name this-machine";
            finding("this-machine", Verdict::Missing, "not calibrated", advice)
        }
    }
}

/// Programs that some verb or target uses: (check, programs of which one is enough, their use and how to get them).
const PROGRAMS: [(&str, &[&str], &str); 6] = [
    ("C compiler", &["cc", "gcc", "clang"], "builds hotlink and the MPI programs: sudo apt-get install gcc libc6-dev"),
    ("Rust", &["cargo"], "builds hotlink: https://rustup.rs, or sudo apt-get install cargo-web rustc-web"),
    ("Open MPI", &["ompi_info"], "a foreign MPI to measure: sudo apt-get install openmpi-bin libopenmpi-dev"),
    ("MPICH", &["mpichversion"], "a foreign MPI to measure: sudo apt-get install mpich libmpich-dev"),
    ("mpirun or srun", &["mpirun", "mpiexec", "srun"], "starts ranks on several machines: comes with an MPI or Slurm"),
    ("Verilog simulator", &["iverilog", "verilator"], "the hardware barrier's benches: sudo apt-get install iverilog"),
];

fn programs() -> Vec<Finding> {
    let check = |(check, names, advice): (&'static str, &[&str], &str)| match names.iter().find_map(|name| which(name))
    {
        Some(path) => finding(check, Verdict::Good, path.display().to_string(), ""),
        None => finding(check, Verdict::Missing, "not found", advice),
    };
    PROGRAMS.into_iter().map(check).collect()
}

/// Python's own packages that the installed command adds to this one.
fn python(program: Option<&Path>) -> Vec<Finding> {
    // The installed command runs inside the Python that it must check.
    let own = program.map(Path::to_owned);
    let own = own.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python")));
    let Some(python) = own.or_else(|| which("python3")) else {
        let advice = "plots and the Python package: sudo apt-get install python3 python3-venv";
        return vec![finding("Python", Verdict::Missing, "not found", advice)];
    };
    let has = |module: &str| {
        let find = format!("import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)");
        Command::new(&python).args(["-c", &find]).output().is_ok_and(|out| out.status.success())
    };
    let mut findings = vec![finding("Python", Verdict::Good, python.display().to_string(), "")];
    for (module, what) in [
        ("hotlink", "the installed command and the Python package: pip install ."),
        ("matplotlib", "plots: pip install matplotlib"),
        ("polars", "Result.to_polars(): pip install polars"),
        ("pandas", "Result.to_pandas(): pip install pandas"),
    ] {
        findings.push(match has(module) {
            true => finding(module, Verdict::Good, "installed", ""),
            false => finding(module, Verdict::Missing, "not in this Python", what),
        });
    }
    findings
}

/// Where the shell would find a program.
fn which(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder: PathBuf| folder.join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
