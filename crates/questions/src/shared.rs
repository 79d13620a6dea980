//! Which of the arguments that all benchmarks share one has: an argument that it would not heed is an error.

use crate::simulate::Simulation;
use crate::values::wrong;
use hotlink_study::Error;
use hotlink_study::simulate::goal::Scheduled;
use hotlink_study::simulate::request::{Benchmark, Part};

/// Settings of flow control and switches, and of how packets cross the network.
const NETWORK: [&str; 14] = [
    "capacities",
    "packet_size",
    "paths",
    "ethernet",
    "transport",
    "connections",
    "buffer",
    "pfc_pause",
    "pfc_resume",
    "lanes",
    "reorder",
    "ecn_low",
    "ecn_high",
    "faults",
];

impl Simulation {
    /// Of the arguments that benchmarks share those that differ from the usual.
    fn given(&self) -> Vec<&'static str> {
        let usual = Simulation::default();
        macro_rules! differ {
            ($($name:ident)+) => { [$((stringify!($name), self.$name != usual.$name)),+] };
        }
        let all = differ!(
            fabric nodes size memory align cache zero_copy via warmup background samples raw stack capacities packet_size
            streams paths technology ethernet transport connections buffer pfc_pause pfc_resume lanes reorder ecn_low ecn_high
            links seed without faults sensitivity trace count inject inject_seed
        );
        all.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
    }

    /// Refuses what none of the parts that run would heed.
    ///
    /// # Errors
    /// The first such argument, and those that there are.
    pub(crate) fn check_parts(&self, benchmark: &Benchmark, parts: &[Part]) -> Result<(), Error> {
        let of = |part: &Part| -> Vec<&'static str> {
            match (part, benchmark) {
                // The request itself refuses what a program on ranks, or bare packets, do not have.
                (Part::Cells(_), Benchmark::Barrier { .. } | Benchmark::Kernel(_) | Benchmark::Sort(_)) => {
                    self.given().into_iter().filter(|&name| name != "size").collect()
                }
                (Part::Cells(_), _) => self.given(),
                (Part::Qsnet(_), Benchmark::Barrier { .. }) => {
                    vec!["nodes", "background", "samples", "raw", "seed", "without", "faults"]
                }
                (Part::Qsnet(_), _) => {
                    vec!["nodes", "size", "background", "samples", "raw", "seed", "without", "faults"]
                }
                (Part::Barrier { .. }, _) => vec!["nodes", "seed"],
                (Part::Deposit { .. }, _) => vec!["size"],
                (Part::CacheStudy { .. }, _) => vec!["size", "cache", "seed"],
                (Part::Goal { goal, .. }, _) if matches!(goal.schedule, Scheduled::Generated { .. }) => vec!["nodes"],
                (Part::Goal { .. }, _) => Vec::new(),
            }
        };
        let has_cells = parts.iter().any(|part| matches!(part, Part::Cells(_)));
        let own = if matches!(benchmark, Benchmark::Goal(_)) { "loggp" } else { "packet" };
        if !has_cells && self.method.as_deref().is_some_and(|method| method != own) {
            return Err(wrong("method", &format!("no other engine answers this {}", benchmark.name())));
        }
        self.refuse(benchmark, parts.iter().flat_map(of).collect())
    }

    /// The same where a schedule runs on packets.
    ///
    /// # Errors
    /// As of [`Simulation::check_parts`].
    pub(crate) fn check_schedule(&self, benchmark: &Benchmark) -> Result<(), Error> {
        self.refuse(benchmark, NETWORK.into_iter().chain(["nodes", "seed"]).collect())
    }

    fn refuse(&self, benchmark: &Benchmark, mut takes: Vec<&'static str>) -> Result<(), Error> {
        takes.extend(["fabric", "sensitivity"]);
        match self.given().into_iter().find(|name| !takes.contains(name)) {
            None => Ok(()),
            Some(name) => {
                takes.sort_unstable();
                takes.dedup();
                let which = match &self.algorithm {
                    Some(names) => format!("{} by {}", benchmark.name(), names.join(", ")),
                    None => benchmark.name().to_owned(),
                };
                Err(wrong(name, &format!("is no choice of {which} (it takes {})", takes.join(", "))))
            }
        }
    }
}
