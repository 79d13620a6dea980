//! Several jobs on one fabric at once: what each takes with the others, and what it would take alone.
//!
//! A plan ([`Plan`]) names the jobs: schedules of any form, collectives, traffic at random times, training, MPI
//! programs. Each gets its nodes by a list or a [`Placement`]. Every job runs by itself and then all of them together,
//! on the same nodes, from the same start and with the same failures. A slow-down is therefore caused by the others
//! alone. Where something fails, the jobs run together once more without failures, which shows the cost of these.

mod model;
mod place;
mod plan;
mod program;
mod shared;
mod together;
mod traffic;
mod training;
mod work;

pub use model::Model;
pub use place::{Chosen, Placement, nodes_of};
pub use plan::{Job, Plan, Repeat, Work};
pub use program::{NoPrograms, Program, Programs, recorded_unit};

use crate::gpu;
use crate::replay::Network;
use crate::way::{told, told_of};
use hotlink_bench::Record;
use hotlink_event::sizes::SizeLaw;
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::FabricSpec;
use hotlink_schedule::collective::Algorithm;
use hotlink_study::inputs::{self, Vary};
use hotlink_study::options::Rates;
use hotlink_study::{Error, Source, Watch};
use program::Recorded;
use together::Stage;
use work::Placed;

/// The name under which records sum up all jobs.
pub const ALL: &str = "all";

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobs {
    /// Nodes of the fabric; by default as the plan says.
    pub nodes: Option<u32>,
    /// Placements of jobs that list no nodes, one after the other; none: as the plan says.
    pub placements: Vec<Placement>,
    /// How messages cross the network.
    pub network: Network,
    /// What is done with uncertain inputs.
    pub vary: Vary,
}

/// What load counts need to know of a question.
pub(super) struct Setting<'a> {
    /// The fabric as it is described, before its switches take part as nodes.
    spec: &'a FabricSpec,
    /// Its nodes that are no switches.
    nodes: u32,
    network: &'a Network,
    capacities: Rates,
    /// Which of equal paths, by which seed.
    routes: (Paths, u64),
    watch: &'a dyn Watch,
    recorded: &'a Recorded<'a>,
}

impl Jobs {
    /// Simulations that an answer takes.
    pub fn steps(&self, plan: &Plan) -> u64 {
        let rounds = plan.jobs.iter().filter(|job| matches!(job.repeat, Repeat::For(_)) && !job.is_traffic()).count();
        let has_faults = self.network.faults.is_some() || plan.has_faults();
        // A single job has no others.
        let beside = usize::from(plan.jobs.len() > 1);
        let each = plan.jobs.len() + rounds + beside + usize::from(has_faults);
        (each * self.placements.len().max(1) + program::recordings(plan, &self.placements)) as u64
    }

    /// The records of a plan on a fabric: one for each job, and one for all together. `programs` runs those jobs that are
    /// programs.
    ///
    /// # Errors
    /// The plan does not fit the fabric, with file, line and job; a schedule cannot end.
    pub fn run(
        &self,
        plan: &Plan,
        fabric: &str,
        programs: &dyn Programs,
        watch: &dyn Watch,
    ) -> Result<Vec<Record>, Error> {
        let asked = Jobs { network: plan.network(&self.network)?, ..self.clone() };
        let source =
            asked.network.control.equipped(&Source::open(fabric)?, asked.network.ethernet).map_err(Error::Input)?;
        let recorded = Recorded::new(programs, fabric, watch);
        let answer = |source: &Source, watch: &dyn Watch| asked.answer(plan, source, &recorded, watch);
        inputs::told(&source, self.vary, watch, &answer)
    }

    fn answer(
        &self,
        plan: &Plan,
        source: &Source,
        recorded: &Recorded<'_>,
        watch: &dyn Watch,
    ) -> Result<Vec<Record>, Error> {
        let of_plan = |what: String| Error::Input(format!("{}: {what}", plan.file));
        let nodes = self.nodes.or(source.own_nodes()).or(plan.nodes).ok_or_else(|| {
            of_plan(format!("how many nodes {} has is not said: nodes = 64, or --nodes 64", source.name()))
        })?;
        let read = work::read_all(plan, source.spec())?;
        let has =
            |algorithm| plan.jobs.iter().zip(&read).any(|(job, read)| work::may_be_by(job, read.as_ref(), algorithm));
        let [nvls, tree, collnet] = [Algorithm::Nvls, Algorithm::NvlsTree, Algorithm::CollNet].map(has);
        // Which algorithm a job takes is known once it is placed. NVLS takes the rails' switches where they combine.
        let inside = (nvls || tree) && gpu::switch_reduces(source.spec()) == Some(true);
        let rails = (collnet || nvls) && source.spec().reduction.is_some();
        let spec = gpu::with_switches(source.spec(), [inside, rails]);
        let per_host = spec.as_ref().map(gpu::domain);
        let built = spec.map_or_else(|| source.build(nodes), |spec| source.varied(spec).build(nodes));
        let built = built.map_err(|what| of_plan(format!("{}: {what}", source.name())))?;
        let settings = plan.settings(&self.network, (source.spec(), &built))?;
        let routes = (settings.paths, settings.seed);
        let setting = Setting {
            spec: source.spec(),
            nodes: per_host.map_or(built.nodes(), |each| nodes.next_multiple_of(each)),
            network: &self.network,
            capacities: self.network.capacities,
            routes,
            watch,
            recorded,
        };
        let stage = Stage::new(plan, &built, &settings, &setting, watch)?;
        let placements: Vec<Option<Placement>> = match self.placements.is_empty() {
            true => vec![None],
            false => self.placements.iter().copied().map(Some).collect(),
        };
        let mut records: Vec<Record> = Vec::new();
        for placement in placements {
            let placed = work::placed(plan, &read, &built, &setting, placement)?;
            let first = records.get(..=placed.len()).unwrap_or_default().to_vec();
            let found = stage.records(placed)?;
            records.extend(found.into_iter().enumerate().map(|(at, record)| {
                let head = self.network.control.told(head(plan, source, nodes), self.network.ethernet, &settings);
                let record = head.followed_by(record);
                match first.get(at) {
                    Some(first) => compared(record, first),
                    None => record,
                }
            }));
        }
        Ok(records)
    }
}

fn head(plan: &Plan, source: &Source, nodes: u32) -> Record {
    Record::new()
        .with("fabric", source.name())
        .with("benchmark", "jobs")
        .with("method", "packet")
        .with("plan", plan.file.as_str())
        .with("nodes", nodes)
}

/// The record with its time over that with the first placement.
fn compared(record: Record, first: &Record) -> Record {
    match (record.number("latency_us"), first.number("latency_us"), first.text("placement")) {
        (Some(here), Some(there), Some(placement)) if there > 0.0 => {
            let placement = placement.to_owned();
            record.with("over_first_placement", here / there).with("first_placement", placement)
        }
        _ => record,
    }
}

impl Placed<'_> {
    /// What distinguishes its record from those of others.
    fn record(&self) -> Record {
        let job = self.job;
        let record = Record::new().with("job", job.name.as_str()).with("work", job.kind());
        match &job.work {
            Work::Schedule { path, .. } => {
                told_of(record.with("schedule", path.as_str()), "", &self.runs, "collectives")
            }
            Work::Collective { name, algorithm, bytes, .. } => {
                let record = record.with("collective", name.as_str()).with("size_B", *bytes);
                match (&self.of_gpus, algorithm) {
                    (Some((_, way)), _) => told(record, way),
                    (None, Some(algorithm)) => record.with("algorithm", algorithm.as_str()),
                    (None, None) => record,
                }
            }
            Work::Traffic { traffic, size, law, load } => {
                let record = record.with("traffic", traffic.to_string()).with("size_B", law.law.mean().round() as u64);
                let record = match law.law {
                    SizeLaw::Fixed(_) => record,
                    _ => record.with("sizes", size.as_str()),
                };
                let record = law.source.iter().fold(record, |record, source| record.with("sizes_source", &source[..]));
                record.with("load", *load)
            }
            Work::Training(_) => record,
            Work::Program { command, compute } => {
                record.with("program", command.join(" ")).with("compute_time", compute.as_str())
            }
        }
    }
}

impl Job {
    /// What kind of work it does.
    pub fn kind(&self) -> &'static str {
        match self.work {
            Work::Schedule { .. } => "schedule",
            Work::Collective { .. } => "collective",
            Work::Traffic { .. } => "traffic",
            Work::Training(_) => "training",
            Work::Program { .. } => "program",
        }
    }

    fn is_traffic(&self) -> bool {
        matches!(self.work, Work::Traffic { .. })
    }
}
