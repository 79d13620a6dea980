//! Regions of the shared-memory interface on a simulated fabric.

use crate::values::{Sizes, listed};
use hotlink_bench::Record;
use hotlink_study::inputs::Vary;
use hotlink_study::words::Word;
use hotlink_study::{Error, Watch};
use hotlink_workloads::region::Study;
use serde::Deserialize;

/// Memory that another node reaches, from its registration to its end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    fabric: String,
    nodes: Option<u32>,
    kind: Option<Vec<String>>,
    setup: Option<Vec<String>>,
    hold: Option<Vec<String>>,
    memory: Option<Vec<String>>,
    size: Option<Sizes>,
    seed: Option<u64>,
    #[serde(default)]
    sensitivity: bool,
}

impl Region {
    /// Runs them.
    ///
    /// # Errors
    /// The argument that is wrong, and what is allowed; of the fabric's file.
    pub fn records(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let usual = Study::usual();
        let study = Study {
            kinds: words("kind", &self.kind, usual.kinds)?,
            setups: words("setup", &self.setup, usual.setups)?,
            holds: words("hold", &self.hold, usual.holds)?,
            memory: words("memory", &self.memory, usual.memory)?,
            sizes: self.size.as_ref().map_or(Ok(usual.sizes), |sizes| sizes.list("size"))?,
            nodes: self.nodes.unwrap_or(usual.nodes),
            seed: self.seed.unwrap_or(usual.seed),
            vary: if self.sensitivity { Vary::Yes } else { Vary::No },
        };
        study.run(&self.fabric, watch)
    }
}

fn words<T: Word>(argument: &str, given: &Option<Vec<String>>, usual: Vec<T>) -> Result<Vec<T>, Error> {
    given.as_ref().map_or(Ok(usual), |names| listed(argument, names))
}
