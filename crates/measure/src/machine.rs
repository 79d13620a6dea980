//! Sources of noise on this machine, reported in the environment and to people.

use crate::adapters::adapters;
use crate::environment::line;
use crate::face::Face;
use serde_json::{Map, Value};

/// Load above which results are not to be trusted without a second look.
const NOISY: f64 = 0.5;

/// How the warning of a busy machine begins. A launched block's is not passed on: the launching side warns by itself.
pub(crate) const BUSY: &str = "the machine is busy";

/// The kernel's words about the processor's states, each in a line of its own.
const STATES: [(&str, &str); 5] = [
    ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("turbo_off", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("hyperthreads", "/sys/devices/system/cpu/smt/active"),
    ("memory_nodes", "/sys/devices/system/node/online"),
    ("huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
];

/// Adds the processor's states (null where the system does not give them), affinity, adapters and load, and warns of a
/// busy machine.
pub fn describe(environment: &mut Map<String, Value>, face: &dyn Face) {
    let mut tell = |key: &str, value: Value| _ = environment.insert(key.to_owned(), value);
    for (name, path) in STATES {
        tell(name, line(path).into());
    }
    tell("affinity", affinity().into());
    // Absent where the kernel shows none: it is then unknown whether there are any.
    let adapters = adapters();
    if !adapters.is_empty() {
        tell("adapters", adapters.into());
    }
    let load = line("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    if let Some(load) = load {
        tell("load_1min", load.into());
        if load > NOISY {
            face.say(&format!("{BUSY} (load {load} in the last minute): results may be noisy"));
        }
    }
}

/// Cores on which this process may run, before ranks are bound to one each.
fn affinity() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(|list| list.trim().to_owned())
}
