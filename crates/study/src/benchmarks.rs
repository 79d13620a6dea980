//! Every benchmark, and which side runs it: real ranks, the packet simulator, machines calibrated as LogGP.

/// A benchmark by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// Its name.
    pub name: &'static str,
    /// Between real ranks.
    pub measured: bool,
    /// On a simulated network.
    pub packet: bool,
    /// On a machine calibrated as LogGP.
    pub loggp: bool,
    /// Why a side lacks it, and what comes nearest there; empty where every side has it.
    pub instead: &'static str,
}

const fn all(name: &'static str) -> Benchmark {
    Benchmark { name, measured: true, packet: true, loggp: true, instead: "" }
}
const fn measured(name: &'static str, instead: &'static str) -> Benchmark {
    Benchmark { name, measured: true, packet: false, loggp: false, instead }
}
const fn packet(name: &'static str, instead: &'static str) -> Benchmark {
    Benchmark { name, measured: false, packet: true, loggp: false, instead }
}
const fn no_loggp(name: &'static str, instead: &'static str) -> Benchmark {
    Benchmark { name, measured: true, packet: true, loggp: false, instead }
}

/// All of them.
pub const BENCHMARKS: [Benchmark; 26] = [
    all("pingpong"),
    all("stream"),
    all("rate"),
    all("pairs"),
    no_loggp("semantics", "a LogGP machine takes messages whole: it has no protocols to compare"),
    no_loggp("saturation", "a LogGP machine has no links to saturate; `rate` counts what its ranks send"),
    no_loggp("deposit", "a LogGP machine knows messages, not stores"),
    no_loggp("overlap", "a LogGP machine says nothing of computation beside a message"),
    all("barrier"),
    all("bcast"),
    all("reduce"),
    all("allreduce"),
    all("allgather"),
    all("alltoall"),
    all("alltoallv"),
    all("gather"),
    all("scatter"),
    all("reduce-scatter"),
    all("kernel"),
    all("is"),
    measured("sockets", "the kernel's TCP/IP is simulated by `simulate pingpong --via tcp`"),
    measured("memory", "a simulated host's memory is `simulate deposit --series local`"),
    measured("registration", "what set-ups cost is simulated by `simulate cache-study` and `--cache`"),
    packet("cache-study", "real set-ups are timed by `measure registration`"),
    Benchmark {
        name: "goal",
        measured: false,
        packet: false,
        loggp: true,
        instead: "real ranks run programs, not schedules: `measure COLLECTIVE --algorithm NAME`",
    },
    packet("traffic", "an open loop needs a network of its own; `measure saturation` loads a real one"),
];

/// What a face says of a benchmark that it has not: which one has it, and what comes nearest here. `verb` is that face.
pub fn elsewhere(name: &str, verb: &str) -> Option<String> {
    let found = BENCHMARKS.iter().find(|benchmark| benchmark.name == name)?;
    let other = if verb == "measure" { "simulate" } else { "measure" };
    let is_other = if verb == "measure" { found.packet || found.loggp } else { found.measured };
    is_other.then(|| format!("{name} is a benchmark of `hotlink {other}`: {}", found.instead))
}

/// The table of sides, as text.
pub fn table() -> String {
    let mark = |has: bool| if has { "yes" } else { "-" };
    let line = |of: &Benchmark| {
        let [a, b, c] = [of.measured, of.packet, of.loggp].map(mark);
        format!("{:<13} {a:<8} {b:<9} {c:<6} {}", of.name, of.instead).trim_end().to_owned()
    };
    let lines: Vec<String> = BENCHMARKS.iter().map(line).collect();
    format!("{:<13} {:<8} {:<9} {:<6}\n{}", "benchmark", "measure", "simulate", "LogGP", lines.join("\n"))
}
