//! A step of training on its nodes: what collectives of its layers take, and what of all communication is exposed.
//!
//! A model does the same in each of its layers, thousands of times a step. Its tensor-parallel and expert-parallel
//! collectives, for which a pass waits, are simulated once, all groups at the same time. That time then counts in every
//! pass. Messages between stages and the reduction of gradients run packet by packet in the step itself.

use super::model::{Model, Parallel};
use crate::gpu;
use crate::replay::{self, Network};
use crate::way::told_of;
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_loggp::{LogGops, simulate};
use hotlink_schedule::collective::{Combining, Gradients, Groups, Home, Kernels, Machine, Run, Step, Written};
use hotlink_schedule::{Costs, Schedule};
use hotlink_study::Watch;
use std::sync::Arc;

/// A machine on which messages take no time.
const FREE: &str = "L=0,o=0,g=0,G=0";

/// A step, and the parts of its time.
#[derive(Clone, Debug)]
pub(super) struct Training {
    model: Model,
    pub(super) schedule: Schedule,
    /// The nodes of its ranks, switches that combine data last.
    pub(super) nodes: Vec<u32>,
    /// Collectives that passes wait for.
    pub(super) blocking: Vec<Blocking>,
    /// Those of the schedule.
    reductions: Vec<Run>,
    tensor: Time,
    expert: Time,
    /// Most that a GPU computes.
    busy: Time,
    /// Steps without any communication, with tensor-parallel collectives, with those of experts, with all but the
    /// reduction of gradients.
    steps: [Time; 4],
}

/// A collective for which passes wait, of all groups at the same time.
#[derive(Clone, Debug)]
pub(super) struct Blocking {
    pub(super) schedule: Schedule,
    /// The nodes of its ranks, switches that combine data last.
    pub(super) nodes: Vec<u32>,
    /// How often the step has it.
    pub(super) times: u64,
    /// What it is of.
    kind: Parallel,
    runs: Vec<Run>,
}

impl Training {
    /// The training of a model on nodes of a fabric, of which the first so many are no switches.
    ///
    /// # Errors
    /// What the machine cannot run, and the key that asks for it.
    pub(super) fn of(
        model: &Model,
        (machine, kernels): (Machine, Option<Arc<Kernels>>),
        (spec, fabric, all): (&FabricSpec, &Fabric, u32),
        nodes: &[u32],
        network: &Network,
        watch: &dyn Watch,
    ) -> Result<Training, (&'static str, String)> {
        let of_model = |what: String| ("model", what);
        let quiet = Network { faults: None, ..network.clone() };
        let packets = |schedule: &Schedule, nodes: &[u32]| {
            let ran = replay::run((spec, fabric), (schedule, nodes), 1, &quiet, watch);
            ran.map(|ran| ran.latency()).map_err(|failed| of_model(failed.to_string()))
        };
        let with = |switches: &[Combining]| [nodes.to_vec(), gpu::nodes_of(fabric, all, switches)].concat();
        let each = gpu::domain(spec);
        let homes: Vec<Home> = nodes.iter().map(|&node| Home::of(node, each)).collect();
        let bare = bare(model, machine, homes);
        let busy = Time(bare.computing_ps().map_err(of_model)?);
        let whole = Step {
            passed: model.passed(),
            gradients: model.gradients(),
            machine,
            kernels: kernels.clone(),
            wanted: model.wanted(Parallel::Data),
            ..bare.clone()
        };
        let of_data = |what: String| (model.key(Parallel::Data), what);
        // Before minutes of simulation.
        whole.check().map_err(of_data)?;
        let layers = u64::from(model.stage_layers()) * u64::from(model.microbatches());
        let times = layers * model.each_pass().iter().sum::<u64>();
        let mut blocking = Vec::new();
        let mut collective = |kind: Parallel, bytes: u64, groups: Vec<Vec<u32>>| {
            let (homes, wanted, kernels) = (bare.homes.clone(), model.wanted(kind), kernels.clone());
            let groups = Groups { which: kind.which(), bytes, groups, machine, homes, kernels, wanted };
            let Written { schedule, switches, mut runs } = groups.schedule().map_err(|what| (model.key(kind), what))?;
            let nodes = with(&switches);
            let took = packets(&schedule, &nodes)?;
            runs.iter_mut().for_each(|run| run.times *= times);
            blocking.push(Blocking { schedule, nodes, times, kind, runs });
            Ok::<Time, (&'static str, String)>(took)
        };
        let tensor = match model.tensor {
            1 => Time::ZERO,
            _ => collective(Parallel::Tensor, model.tensor_bytes(), bare.tensor_groups())?,
        };
        let expert = match model.expert {
            1 => Time::ZERO,
            _ => collective(Parallel::Expert, model.expert_bytes(), bare.expert_groups())?,
        };
        let waiting = |took: u64| {
            let [forward, backward] = model.each_pass();
            let [own, back] = bare.pass_ps;
            let with = |own: u64, times: u64| own.saturating_add(times.saturating_mul(took));
            Step { pass_ps: [with(own, forward), with(back, backward)], ..bare.clone() }
        };
        let full = Step { pass_ps: waiting(tensor.0 + expert.0).pass_ps, ..whole };
        let without_data = Step { gradients: Gradients::default(), ..full.clone() };
        let steps = [
            without_messages(&bare).map_err(of_model)?,
            without_messages(&waiting(tensor.0)).map_err(of_model)?,
            without_messages(&waiting(tensor.0 + expert.0)).map_err(of_model)?,
            packets(&without_data.schedule().map_err(of_model)?.schedule, nodes)?,
        ];
        let Written { schedule, switches, runs: reductions } = full.schedule().map_err(of_data)?;
        let nodes = with(&switches);
        Ok(Training { model: model.clone(), schedule, nodes, blocking, reductions, tensor, expert, busy, steps })
    }

    /// The record of a step that took `step`.
    pub(super) fn told(&self, record: Record, step: Time) -> Record {
        let Training { model, steps, .. } = self;
        let past = |late: Time, early: Time| late.us() - early.us();
        let flops = model.step_operations() / f64::from(model.ranks());
        let rate = |amount: f64| amount / (step.us() * 1e-6).max(f64::MIN_POSITIVE);
        let of_kind = |record: Record, kind: Parallel, runs: &[Run]| {
            let name = kind.name();
            told_of(record, &format!("{name}_"), runs, &format!("{name}_collectives"))
        };
        let blocking = self.blocking.iter();
        let record = blocking.fold(record, |record, one| of_kind(record, one.kind, &one.runs));
        of_kind(record, Parallel::Data, &self.reductions)
            .with("parameters", model.parameters())
            .with("tensor", model.tensor)
            .with("pipeline", model.pipeline)
            .with("data", model.data)
            .with("expert", model.expert)
            .with("microbatches", model.microbatches())
            .with("step_us", step.us())
            .with("tokens_per_s", rate(model.step_tokens() as f64))
            .with("flops_per_gpu", rate(flops))
            .with("compute_us", self.busy.us())
            .with("bubble_us", past(steps[0], self.busy))
            .with("exposed_us", past(step, steps[0]))
            .with("exposed_share", past(step, steps[0]) / step.us().max(f64::MIN_POSITIVE))
            .with("exposed_tensor_us", past(steps[1], steps[0]))
            .with("exposed_expert_us", past(steps[2], steps[1]))
            .with("exposed_pipeline_us", past(steps[3], steps[2]))
            .with("exposed_data_us", past(step, steps[3]))
            .with("tensor_us", self.tensor.us())
            .with("expert_us", self.expert.us())
    }
}

/// A step whose GPUs only compute: messages carry nothing and cost nothing.
fn bare(model: &Model, machine: Machine, homes: Vec<Home>) -> Step {
    Step {
        tensor: model.tensor,
        data: model.data,
        expert: model.expert,
        pipeline: model.pipeline,
        microbatches: model.microbatches(),
        layers: model.stage_layers(),
        pass_ps: model.pass_ps(),
        head_ps: model.head_ps(),
        passed: 0,
        gradients: Gradients::default(),
        overlaps: model.overlap,
        machine: Machine { costs: Costs::default(), ..machine },
        homes,
        kernels: None,
        wanted: (None, None),
    }
}

/// What a step takes where messages take no time.
fn without_messages(step: &Step) -> Result<Time, String> {
    let free = LogGops { calc_unit: Time(1), ..FREE.parse::<LogGops>()? };
    simulate(&step.schedule()?.schedule, &free).map(|outcome| outcome.latency()).map_err(|stuck| stuck.to_string())
}
