//! A step of training on its nodes: what collectives of its layers take, and what of all communication is exposed.
//!
//! A model does the same in each of its layers, thousands of times a step. Its tensor-parallel and expert-parallel
//! collectives, for which a pass waits, are simulated once, all groups at the same time. That time then counts in every
//! pass. Messages between stages and the reduction of gradients run packet by packet in the step itself.

use super::model::Model;
use crate::gpu;
use crate::replay::{self, Network};
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_loggp::{LogGops, simulate};
use hotlink_schedule::collective::{Gradients, Groups, Home, Kernels, Machine, Step, Which};
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
    /// Collectives that passes wait for, each with how often the step has it.
    pub(super) blocking: Vec<(Schedule, u64)>,
    tensor: Time,
    expert: Time,
    /// Most that a GPU computes.
    busy: Time,
    /// Steps without any communication, with tensor-parallel collectives, with those of experts, with all but the
    /// reduction of gradients.
    steps: [Time; 4],
}

impl Training {
    /// The training of a model on nodes of a fabric.
    ///
    /// # Errors
    /// What the machine cannot run.
    pub(super) fn of(
        model: &Model,
        (machine, kernels): (Machine, Option<Arc<Kernels>>),
        (spec, fabric): (&FabricSpec, &Fabric),
        nodes: &[u32],
        network: &Network,
        watch: &dyn Watch,
    ) -> Result<Training, String> {
        let quiet = Network { faults: None, ..network.clone() };
        let packets = |schedule: &Schedule| {
            let ran = replay::run((spec, fabric), (schedule, nodes), 1, &quiet, watch);
            ran.map(|ran| ran.latency()).map_err(|failed| failed.to_string())
        };
        let each = gpu::domain(spec);
        let homes: Vec<Home> = nodes.iter().map(|&node| Home::of(node, each)).collect();
        let bare = bare(model, machine, homes);
        let busy = Time(bare.computing_ps()?);
        let layers = u64::from(model.stage_layers()) * u64::from(model.microbatches());
        let times = layers * model.each_pass().iter().sum::<u64>();
        let mut blocking = Vec::new();
        let mut collective = |which: Which, bytes: u64, groups: Vec<Vec<u32>>| {
            let homes = bare.homes.clone();
            let schedule = Groups { which, bytes, groups, machine, homes, kernels: kernels.clone() }.schedule()?;
            let took = packets(&schedule)?;
            blocking.push((schedule, times));
            Ok::<Time, String>(took)
        };
        let tensor = match model.tensor {
            1 => Time::ZERO,
            _ => collective(Which::Allreduce, model.tensor_bytes(), bare.tensor_groups())?,
        };
        let expert = match model.expert {
            1 => Time::ZERO,
            _ => collective(Which::Alltoall, model.expert_bytes(), bare.expert_groups())?,
        };
        let waiting = |took: u64| {
            let [forward, backward] = model.each_pass();
            let [own, back] = bare.pass_ps;
            let with = |own: u64, times: u64| own.saturating_add(times.saturating_mul(took));
            Step { pass_ps: [with(own, forward), with(back, backward)], ..bare.clone() }
        };
        let full = Step {
            passed: model.passed(),
            gradients: model.gradients(),
            machine,
            kernels,
            ..waiting(tensor.0 + expert.0)
        };
        let without_data = Step { gradients: Gradients::default(), ..full.clone() };
        let steps = [
            without_messages(&bare)?,
            without_messages(&waiting(tensor.0))?,
            without_messages(&waiting(tensor.0 + expert.0))?,
            packets(&without_data.schedule()?)?,
        ];
        Ok(Training { model: model.clone(), schedule: full.schedule()?, blocking, tensor, expert, busy, steps })
    }

    /// The record of a step that took `step`.
    pub(super) fn told(&self, record: Record, step: Time) -> Record {
        let Training { model, steps, .. } = self;
        let past = |late: Time, early: Time| late.us() - early.us();
        let flops = model.step_operations() / f64::from(model.ranks());
        let rate = |amount: f64| amount / (step.us() * 1e-6).max(f64::MIN_POSITIVE);
        record
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
    }
}

/// What a step takes where messages take no time.
fn without_messages(step: &Step) -> Result<Time, String> {
    let free = LogGops { calc_unit: Time(1), ..FREE.parse::<LogGops>()? };
    simulate(&step.schedule()?, &free).map(|outcome| outcome.latency()).map_err(|stuck| stuck.to_string())
}
