//! The parts of a request, each of one engine, run one after the other.

use super::super::barrier::{self, Barriers};
use super::super::cache_study::CacheStudy;
use super::super::deposit::{self, Transfers};
use super::super::goal::Goal;
use super::super::{cell, qsnet};
use super::{Benchmark, Network, Programs, Request, input};
use crate::cell::Cell;
use crate::inputs::Vary;
use crate::{Error, Source, Watch};
use hotlink_bench::{Record, Which};
use hotlink_sim::qsnet::{Algorithm, Collective};

/// The algorithm of a fabric's own barrier network.
const HARDWARE: &str = "hardware";
/// Options that only a barrier network has.
const OF_DEVICE: &str = "--partition, --repetitions, --skew-us, --write-us and --read-us are for";

/// A part of a request.
#[derive(Clone, Debug)]
pub enum Part {
    /// Simulations of the network, bare or under the message stack, or of a LogGP machine.
    Cells(Vec<Cell>),
    /// QsNet's own collectives.
    Qsnet(Vec<qsnet::Cell>),
    /// Barriers on a fabric's own barrier network.
    Barrier {
        /// The fabric.
        fabric: String,
        /// Numbers of nodes.
        nodes: Vec<u32>,
        /// Which barriers.
        what: Barriers,
        /// Whether the uncertain inputs are varied.
        vary: Vary,
    },
    /// Blocks into local and remote memory.
    Deposit {
        /// The fabrics.
        fabrics: Vec<String>,
        /// Which transfers.
        what: Transfers,
        /// Whether the uncertain inputs are varied.
        vary: Vary,
    },
    /// Policies of the cache of registrations.
    CacheStudy {
        /// The fabric.
        fabric: String,
        /// Which policies and traces.
        study: CacheStudy,
        /// Whether the uncertain inputs are varied.
        vary: Vary,
    },
    /// Schedules on a LogGP machine.
    Goal {
        /// The machine's fabric, unless the schedule states a machine.
        fabric: String,
        /// The schedule.
        goal: Box<Goal>,
        /// Numbers of ranks of generated schedules.
        ranks: Vec<u32>,
        /// Whether the uncertain inputs are varied.
        vary: Vary,
    },
}

impl Request {
    /// The parts, in order.
    ///
    /// # Errors
    /// What the benchmark does not have, and what is allowed.
    pub fn parts(&self) -> Result<Vec<Part>, Error> {
        let vary = self.sensitivity;
        match &self.benchmark {
            Benchmark::Barrier { algorithms, .. } => self.barriers(algorithms),
            Benchmark::Collective { which: Which::Bcast, algorithms, .. } => self.broadcasts(algorithms),
            Benchmark::Collective { algorithms, .. } => Ok(vec![Part::Cells(self.cells(algorithms)?)]),
            Benchmark::Deposit(what) => {
                let what = Transfers { sizes: self.sizes.clone(), ..what.clone() };
                what.count()?;
                Ok(vec![Part::Deposit { fabrics: self.fabrics.clone(), what, vary }])
            }
            Benchmark::CacheStudy(study) => {
                let part = |fabric: &String| Part::CacheStudy { fabric: fabric.clone(), study: study.clone(), vary };
                Ok(self.fabrics.iter().map(part).collect())
            }
            Benchmark::Goal(goal) => {
                let ranks = self.nodes.clone().unwrap_or_default();
                let part = |fabric: &String| {
                    let (fabric, goal, ranks) = (fabric.clone(), goal.clone(), ranks.clone());
                    Part::Goal { fabric, goal, ranks, vary }
                };
                Ok(self.fabrics.iter().map(part).collect())
            }
            _ => Ok(vec![Part::Cells(self.cells(&[])?)]),
        }
    }

    /// A part for each fabric and algorithm. Where none is asked for: the fabric's own network if it has one, else by
    /// messages as the cost model picks.
    fn barriers(&self, algorithms: &[String]) -> Result<Vec<Part>, Error> {
        let mut parts = Vec::new();
        for fabric in &self.fabrics {
            if algorithms.is_empty() {
                let has_own = Source::open_as(fabric, self.network.technology)?.spec().barrier().is_some();
                let is_own = has_own || qsnet::algorithm(fabric, HARDWARE).is_some();
                parts.push(self.barrier(fabric, is_own.then_some(HARDWARE))?);
            }
            for name in algorithms {
                parts.push(self.barrier(fabric, Some(name))?);
            }
        }
        Ok(parts)
    }

    /// By the fabric's own network, by QsNet's adapters, or by messages.
    fn barrier(&self, fabric: &str, name: Option<&str>) -> Result<Part, Error> {
        let Benchmark::Barrier { algorithms, own: what } = &self.benchmark else {
            return Ok(Part::Cells(Vec::new()));
        };
        let own = name.and_then(|name| qsnet::algorithm(fabric, name));
        let asks_hardware = name == Some(HARDWARE) || algorithms.iter().any(|name| name == HARDWARE);
        if let Some(name) = name.filter(|&name| own.is_some() || name == HARDWARE)
            && self.programs.watching.is_some()
        {
            let what = "has no ranks and no ports; --trace, --count and --inject need a barrier by messages";
            return input(format!("--algorithm {name}: {what}"));
        }
        let nodes = || match &self.nodes {
            Some(nodes) => Ok(nodes.clone()),
            None => self.nodes_or(None),
        };
        let of_device = *what != Barriers::usual();
        if own.is_some() && of_device {
            return input(format!(
                "{fabric}: {OF_DEVICE} networks that only know barriers: its hardware barrier is one of QsNet's own collectives"
            ));
        }
        if !asks_hardware && of_device {
            let what = "barrier networks (--algorithm hardware)";
            return input(format!("{fabric}: {OF_DEVICE} {what}; barriers by messages take --samples"));
        }
        Ok(match (own, name) {
            (Some(own), _) => {
                self.check_own(fabric, "dissemination")?;
                Part::Qsnet(nodes()?.into_iter().map(|nodes| self.own(fabric, nodes, own, None)).collect())
            }
            (None, Some(HARDWARE)) => {
                self.missing().refuse()?;
                if !self.has_usual_network() {
                    let what =
                        "its barrier network takes nothing of the data network: no --ethernet, --links and the like";
                    return input(format!(
                        "{fabric}: {what}; barriers by messages do (--algorithm dissemination, say)"
                    ));
                }
                let by_messages = self.programs.is_asked_for() || self.programs.repeats();
                if by_messages && algorithms.iter().all(|name| name == HARDWARE) {
                    let what = "--samples, --raw, --warmup, --background, --memory, --align, --cache, --zero-copy, --via: are of \
                                barriers by messages (--algorithm dissemination, say)";
                    return input(format!("{fabric}: has a network for barriers; {what}"));
                }
                let what = Barriers { seed: self.seed, ..*what };
                Part::Barrier { fabric: fabric.to_owned(), nodes: nodes()?, what, vary: self.sensitivity }
            }
            (None, name) => {
                let one = Request { fabrics: vec![fabric.to_owned()], ..self.clone() };
                let names: Vec<String> = name.into_iter().map(str::to_owned).collect();
                Part::Cells(one.cells(&names)?)
            }
        })
    }

    /// QsNet's own where every fabric has it, the others over the message stack.
    fn broadcasts(&self, algorithms: &[String]) -> Result<Vec<Part>, Error> {
        let has_own = |name: &String| self.fabrics.iter().all(|fabric| qsnet::algorithm(fabric, name).is_some());
        let (own, others): (Vec<String>, Vec<String>) = algorithms.iter().cloned().partition(has_own);
        let mut parts = Vec::new();
        for fabric in &self.fabrics {
            for algorithm in own.iter().filter_map(|name| qsnet::algorithm(fabric, name)) {
                self.check_own(fabric, "binomial")?;
                let mut cells = Vec::new();
                for nodes in self.nodes_or(None)? {
                    cells.extend(self.sizes.iter().map(|&bytes| self.own(fabric, nodes, algorithm, Some(bytes))));
                }
                parts.push(Part::Qsnet(cells));
            }
        }
        if own.is_empty() || !others.is_empty() {
            parts.push(Part::Cells(self.cells(&others)?));
        }
        Ok(parts)
    }

    /// Refuses what QsNet's own collectives do not have; `other` runs on ranks.
    fn check_own(&self, fabric: &str, other: &str) -> Result<(), Error> {
        let Programs { samples, raw, background, .. } = self.programs;
        let plain = Programs { samples, raw, background, ..Programs::default() };
        if self.has_usual_network() && self.programs == plain && self.stack.is_none() {
            return Ok(());
        }
        let what = "QsNet's own collectives take --background, --samples, --raw, --faults and --without alone";
        input(format!("{fabric}: {what}; others run on ranks (--algorithm {other}, say)"))
    }
    /// Whether nothing of the data network is asked for.
    fn has_usual_network(&self) -> bool {
        self.network == Network { technology: self.network.technology, ..Network::usual() }
    }

    /// A collective of QsNet's own: a broadcast of `bytes`, or a barrier.
    fn own(&self, fabric: &str, nodes: u32, algorithm: Algorithm, bytes: Option<u64>) -> qsnet::Cell {
        let programs = &self.programs;
        let samples = bytes.map_or_else(|| programs.samples(), |bytes| programs.samples_of(bytes));
        let (limit, background) = (programs.limit(), programs.background);
        qsnet::Cell {
            fabric: fabric.to_owned(),
            what: Collective { algorithm, nodes, bytes, samples, limit, background },
            missing: self.missing(),
            seed: self.seed,
            raw: programs.raw,
            sensitivity: self.sensitivity,
        }
    }

    /// Parts that take no part in QsNet's own collectives.
    pub(super) fn missing(&self) -> qsnet::Missing {
        qsnet::Missing { without: self.without.clone(), faults: self.faults.clone() }
    }
}

impl Part {
    /// How often it calls [`Watch::step`].
    pub fn steps(&self) -> u64 {
        let steps = match self {
            Part::Cells(cells) => cells.len(),
            Part::Qsnet(cells) => cells.len(),
            Part::Barrier { nodes, what, .. } => return nodes.len() as u64 * u64::from(what.repetitions),
            Part::Deposit { fabrics, what, .. } => fabrics.len() * what.count().unwrap_or(0),
            Part::CacheStudy { study, .. } => study.count(),
            Part::Goal { ranks, .. } => ranks.len(),
        };
        steps as u64
    }

    /// Varies the inputs of the first answer as `quick` says, where no variation is asked for. So a face shows how much
    /// the answer rests on estimates.
    #[must_use]
    pub fn first_varied(mut self, quick: Vary) -> Part {
        let first = match &mut self {
            Part::Cells(cells) => cells.first_mut().map(|cell| &mut cell.sensitivity),
            Part::Qsnet(cells) => cells.first_mut().map(|cell| &mut cell.sensitivity),
            Part::Barrier { vary, .. }
            | Part::Deposit { vary, .. }
            | Part::CacheStudy { vary, .. }
            | Part::Goal { vary, .. } => Some(vary),
        };
        if let Some(vary) = first.filter(|vary| **vary == Vary::No) {
            *vary = quick;
        }
        self
    }

    /// Runs it: records go to `give` in order, each as soon as it and all before it are done. Once `give` says false
    /// nothing further begins.
    ///
    /// # Errors
    /// Of the first that has no answer; what came before it is given.
    pub fn run(&self, watch: &dyn Watch, give: &mut (dyn FnMut(Vec<Record>) -> bool + Send)) -> Result<(), Error> {
        match self {
            Part::Cells(cells) => cell::run(cells, watch, give),
            Part::Qsnet(cells) => qsnet::run(cells, watch, give),
            Part::Barrier { fabric, nodes, what, vary } => {
                barrier::hardware(&Source::open(fabric)?, nodes, *what, *vary, watch, give)
            }
            Part::Deposit { fabrics, what, vary } => {
                let sources: Vec<Source> = fabrics.iter().map(|name| Source::open(name)).collect::<Result<_, _>>()?;
                let mut goes_on = true;
                for source in &sources {
                    if goes_on {
                        deposit::each(source, what, *vary, watch, &mut |records| {
                            goes_on = give(records);
                            goes_on
                        })?;
                    }
                }
                Ok(())
            }
            Part::CacheStudy { fabric, study, vary } => study.run(&Source::open(fabric)?, *vary, watch, give),
            Part::Goal { fabric, goal, ranks, vary } => goal.each(fabric, ranks, *vary, watch, &mut |_, record| {
                give(vec![record]);
                Ok(())
            }),
        }
    }
}
