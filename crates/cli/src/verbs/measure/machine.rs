//! What may disturb a measurement on this machine, told in the environment and on stderr.

use crate::environment::line;
use crate::output::Output;

/// Load above which results are not to be trusted without a second look.
const NOISY: f64 = 0.5;

/// Adds governor and load, and warns of a busy machine.
pub(super) fn describe(output: &mut Output) {
    if let Some(governor) = line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        output.describe("governor", governor);
    }
    let load = line("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    if let Some(load) = load {
        output.describe("load_1min", load);
        if load > NOISY {
            eprintln!("hotlink: the machine is busy (load {load} in the last minute): results may be noisy");
        }
    }
}
