//! Questions about a site's own network: its facts, the cost of failures, a job's places, better tables; diagnosis.

use hotlink_bench::Record;
use hotlink_diagnose::inspection::{self, JobQuestion, Question, Rerouted};
use hotlink_study::{Error, Source, Watch};
use serde::Deserialize;

/// A question about a site's network.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    fabric: String,
    samples: u64,
    seed: u64,
    gap: f64,
    hosts: Option<String>,
}

impl Default for Network {
    fn default() -> Network {
        // As the command.
        Network { fabric: String::new(), samples: 200, seed: 1, gap: 0.01, hosts: None }
    }
}

impl Network {
    /// Draws, their seed, and the gap of the cables' bound.
    fn question(&self) -> Result<Question, Error> {
        let Network { samples, seed, gap, .. } = *self;
        if !(1..=100_000).contains(&samples) {
            return Err(Error::Input(format!("samples: {samples}: must be from 1 to 100000")));
        }
        match gap > 0.0 && gap < 1.0 {
            true => Ok(Question { samples, seed, gap }),
            false => Err(Error::Input(format!("gap: {gap}: must be between 0 and 1"))),
        }
    }

    /// The network's files, read.
    ///
    /// # Errors
    /// The first mistake, with its place; a name that is no dump of a network.
    pub fn open(&self) -> Result<Source, Error> {
        let source = Source::open(&self.fabric)?;
        match source.own_site() {
            Some(_) => Ok(source),
            None => Err(Error::Input(format!("{}: is no dump of a network", self.fabric))),
        }
    }

    /// The inspection: one record.
    ///
    /// # Errors
    /// Of files and arguments.
    pub fn inspect(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        Ok(vec![inspection::inspect(&self.open()?, self.question()?, watch)?])
    }

    /// Every failure.
    ///
    /// # Errors
    /// Of files.
    pub fn failures(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        inspection::failures(&self.open()?, watch)
    }

    /// The shares of groups of hosts.
    ///
    /// # Errors
    /// Of files.
    pub fn groups(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        inspection::groups(&self.open()?, watch)
    }

    /// A job on some hosts.
    ///
    /// # Errors
    /// Of files and arguments.
    pub fn place(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let hosts = self.hosts.as_deref().ok_or_else(|| Error::Input("hosts: say which".to_owned()))?;
        let asked = JobQuestion { hosts: inspection::hosts(hosts)?, draws: self.question()? };
        inspection::job(&self.open()?, &asked, watch)
    }

    /// Writes the network as one binary file.
    ///
    /// # Errors
    /// Of files, and of the writer.
    pub fn keep(&self, out: impl std::io::Write) -> Result<(), Error> {
        inspection::keep(&self.open()?, out)
    }

    /// The gain of better tables; `take` gets these.
    ///
    /// # Errors
    /// Of files and arguments, and of `take`.
    pub fn reroute(
        &self,
        watch: &dyn Watch,
        take: impl FnOnce(&Rerouted) -> Result<(), Error>,
    ) -> Result<Vec<Record>, Error> {
        let source = self.open()?;
        let (records, tables) = inspection::reroute(&source, self.question()?, watch)?;
        take(&tables)?;
        Ok(records)
    }
}

/// The limits of a site's network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnose {
    /// Its files, which may be a folder where there are folders.
    files: Vec<String>,
    fabric: Option<String>,
    nodes: Option<u32>,
    benchmark: Option<String>,
}

impl Diagnose {
    /// The findings, and ranked explanations.
    ///
    /// # Errors
    /// Of files.
    pub fn records(&self) -> Result<Vec<Record>, Error> {
        let Diagnose { files, fabric, nodes, benchmark } = self.clone();
        Ok(hotlink_diagnose::diagnose(&hotlink_diagnose::Question { files, fabric, nodes, benchmark })?.records())
    }
}
