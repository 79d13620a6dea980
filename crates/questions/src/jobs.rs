//! Several jobs on one fabric at once.

use crate::simulate::Switches;
use crate::values::{Size, bytes_of, word, wrong};
use hotlink_bench::Record;
use hotlink_fabric::units::Time;
use hotlink_study::inputs::Vary;
use hotlink_study::{Error, Watch};
use hotlink_workloads::jobs::{Jobs as Together, Placement, Plan, Programs};
use hotlink_workloads::replay::Network;
use serde::Deserialize;

/// Jobs of a plan on a fabric's packet network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    plan: String,
    fabric: String,
    nodes: Option<u32>,
    #[serde(default)]
    placement: Vec<String>,
    #[serde(default)]
    overhead_us: f64,
    eager: Option<Size>,
    #[serde(default = "one")]
    seed: u64,
    faults: Option<String>,
    #[serde(default)]
    sensitivity: bool,
    #[serde(default)]
    network: Switches,
}

fn one() -> u64 {
    1
}

impl Jobs {
    /// Runs them; `programs` those that are programs.
    ///
    /// # Errors
    /// Of the plan, with file, line and job; of the fabric's file.
    pub fn records(&self, programs: &dyn Programs, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        if !(0.0..=1e6).contains(&self.overhead_us) {
            return Err(wrong("overhead_us", "must be 0 to 1e6"));
        }
        let placement = |text: &String| word::<Placement>("placement", text);
        let network = Network {
            seed: self.seed,
            overhead: Time::from_us(self.overhead_us),
            eager_max: bytes_of("eager", &self.eager)?.unwrap_or(u64::MAX),
            faults: self.faults.clone(),
            ..Network::default()
        };
        let network = self.network.network(network)?;
        let placements = self.placement.iter().map(placement).collect::<Result<Vec<_>, _>>()?;
        let vary = if self.sensitivity { Vary::Yes } else { Vary::No };
        let jobs = Together { nodes: self.nodes, placements, network, vary };
        jobs.run(&Plan::read(&self.plan)?, &self.fabric, programs, watch)
    }
}
