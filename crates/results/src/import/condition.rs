//! Outputs that must not be trusted: of programs that crashed, and those that were cut short.

use super::Program;

/// Messages of programs and launchers when a run fails, in small letters. They are chosen so that no sound output holds
/// them.
const FAILURES: [&str; 26] = [
    "segmentation fault",
    "mpi_abort was invoked",
    "mpi_abort(",
    "abort(",
    "mpirun noticed that process",
    "bad termination",
    "srun: error:",
    "slurmstepd: error:",
    "due to time limit",
    "exited on signal",
    "killed by signal",
    "process received signal",
    "signal: aborted",
    "bus error",
    "ended with status",
    "nothing is under way",
    "test nccl failure",
    "nccl error",
    "test cuda failure",
    "failed status ",
    "completion with error",
    "local protection error",
    "couldn't connect to",
    "iperf3: error",
    "transport retry counter exceeded",
    "out of memory",
];

/// Why a file's numbers do not count, with the line; `None`: nothing speaks against them.
pub fn doubt(text: &str, program: Option<&Program>) -> Option<(usize, String)> {
    if let Some(failure) = failure(text) {
        return Some(failure);
    }
    let last = text.lines().count().max(1);
    let cut = |what: &str| Some((last, format!("the output is cut short: {what}")));
    if text.trim_start().starts_with('{') {
        return (!text.trim_end().ends_with('}')).then(|| cut("its JSON does not end")).flatten();
    }
    unfinished(text).or_else(|| {
        program.and_then(|program| (program.lacks)(text)).and_then(|what| cut(&format!("{what} is missing")))
    })
}

/// Where a text of lines ends in the middle of one, whose last number may be cut.
pub fn unfinished(text: &str) -> Option<(usize, String)> {
    let is_cut = !text.trim_start().starts_with('{') && !text.is_empty() && !text.ends_with('\n');
    is_cut.then(|| (text.lines().count(), "the output is cut short: its last line does not end".to_owned()))
}

/// The line at which a run failed, and what it says.
pub fn failure(text: &str) -> Option<(usize, String)> {
    let failed = |line: &str| {
        let line = line.trim().to_lowercase();
        line == "killed" || FAILURES.iter().any(|word| line.contains(word))
    };
    let (index, line) = text.lines().enumerate().find(|(_, line)| failed(line))?;
    let shown: String = line.trim().chars().take(80).collect();
    Some((index + 1, format!("the run failed: '{shown}'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_or_cut_output_is_doubted() {
        let doubted =
            |text: &str, name| doubt(text, Program::named(name).ok()).map(|(line, what)| format!("{line}: {what}"));
        assert_eq!(doubted("# OSU MPI Latency Test\n1 2.0\n", "osu"), None);
        assert!(doubted("# OSU MPI Latency Test\n1 2.0\n2 2.", "osu").unwrap().contains("last line"));
        assert!(doubted("1 2.0\nsrun: error: node3: task 1: Killed\n", "osu").unwrap().starts_with("2: the run"));
        assert!(doubted("{\"end\": ", "iperf3").unwrap().contains("JSON"));
        assert!(doubted("#bytes\n 2 1000 1.0\n", "perftest").unwrap().contains("dashes"));
        assert_eq!(doubted("#bytes\n 2 1000 1.0\n----------------\n", "perftest"), None);
        assert!(doubted("# nccl-tests\n 8 2\n", "nccl-tests").unwrap().contains("average"));
    }
}
