//! A step of parallel training: pipelines of stages, each a group of GPUs, that share their gradients at its end.
//!
//! GPUs stand in order of the tensor-parallel rank, then the data-parallel rank, then the stage. Stages work by 1F1B
//! (Narayanan et al., SC 2021, section 2.2). Each first does as many forward passes as stages follow it, then a
//! backward and a forward pass in turn. Collectives that a pass waits for are part of its time. Messages between stages
//! and the reduction of gradients are messages. A layer's gradients are reduced once its last backward pass is over,
//! while the layers before it go on.

use super::groups::homes_of;
use super::lane::{Lane, processor};
use super::part::{Part, Run, Written};
use super::{Algorithm, Costs, Home, Job, Kernels, MOST_CHANNELS, MOST_OPERATIONS, Machine, Team, Wanted, Way, Which};
use crate::draft::{Draft, Local};
use crate::form::LATEST;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Processors of a GPU besides those of collectives: its kernels, and what takes and sends messages of other stages.
const KERNELS: u8 = 255;
const INBOX: u8 = 253;
const OUTBOX: u8 = 126;
/// Tags of messages between stages.
const FORWARD: u32 = 1000;
const BACKWARD: u32 = 1001;
/// Tags of each kind of gradients, of which no GPU has so many: a message of one kind may overtake one of another.
const OF_KIND: u32 = 1 << 28;

/// What a processor of a step's schedule is, in words.
pub fn processor_of_step(cpu: u32) -> String {
    match u8::try_from(cpu) {
        Ok(KERNELS) => "kernels".to_owned(),
        Ok(INBOX | OUTBOX) => "messages between stages".to_owned(),
        Ok(proxy) if proxy & !128 == OUTBOX => "proxy of messages between stages".to_owned(),
        _ => processor(cpu),
    }
}

/// Bytes of gradients that a GPU has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gradients {
    /// Bytes of a layer, shared with all data-parallel ranks.
    pub dense: u64,
    /// Bytes of a layer's experts, shared with the ranks that hold the same ones.
    pub experts: u64,
    /// Bytes of the first stage's embedding and of the last stage's head.
    pub ends: u64,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// GPUs that share a layer.
    pub tensor: u32,
    /// Copies of each stage.
    pub data: u32,
    /// GPUs among which a layer's experts are spread: consecutive data-parallel ranks.
    pub expert: u32,
    /// Stages.
    pub pipeline: u32,
    /// Passes of a stage each way.
    pub microbatches: u32,
    /// Layers of a stage.
    pub layers: u32,
    /// A layer's pass forward and backward, with what it waits for, in picoseconds.
    pub pass_ps: [u64; 2],
    /// The same of the head, on the last stage.
    pub head_ps: [u64; 2],
    /// Bytes that a GPU hands to its peer of the next stage.
    pub passed: u64,
    /// Bytes that are reduced at the end.
    pub gradients: Gradients,
    /// Whether gradients are reduced while earlier layers go on.
    pub overlaps: bool,
    /// All GPUs. Its domains do not count here: `homes` says where GPUs are.
    pub machine: Machine,
    /// Where each GPU is.
    pub homes: Vec<Home>,
    /// What GPUs' kernels take by protocol, and what chooses among these. `None`: the machine's costs.
    pub kernels: Option<Arc<Kernels>>,
    /// What is asked of the reductions of gradients.
    pub wanted: Wanted,
}

/// Which gradients are reduced together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    /// Of a layer's part that all copies have.
    Layer,
    /// Of a layer's experts.
    Experts,
    /// Of embedding and head.
    Ends,
}

impl Step {
    /// GPUs of tensor-parallel groups, all of them.
    pub fn tensor_groups(&self) -> Vec<Vec<u32>> {
        let first = (0..self.ranks()).step_by(self.tensor as usize);
        first.map(|first| (first..first + self.tensor).collect()).collect()
    }

    /// GPUs among which experts are spread, all groups.
    pub fn expert_groups(&self) -> Vec<Vec<u32>> {
        let homes = (0..self.ranks()).filter(|&rank| self.replica(rank).is_multiple_of(self.expert));
        homes.map(|rank| (0..self.expert).map(|other| rank + other * self.tensor).collect()).collect()
    }

    /// What a message between stages takes.
    fn passing(&self) -> Costs {
        let all = Machine { ranks: 2, domain: 1, ..self.machine };
        let of = |kernels: &Arc<Kernels>| {
            let protocol = kernels.of_pairs(&all, self.passed);
            kernels.on(&all, Which::Alltoall, (Algorithm::Pairwise, protocol), self.passed).costs
        };
        self.kernels.as_ref().map_or(self.machine.costs, of)
    }

    /// GPUs.
    pub fn ranks(&self) -> u32 {
        self.tensor * self.data * self.pipeline
    }

    /// What the last stage, which has the head, computes.
    ///
    /// # Errors
    /// It is more than a run has time for.
    pub fn computing_ps(&self) -> Result<u64, String> {
        let pass = |way: usize| u64::from(self.layers).checked_mul(self.pass_ps[way])?.checked_add(self.head_ps[way]);
        let all = || pass(0)?.checked_add(pass(1)?)?.checked_mul(self.microbatches.into());
        all().filter(|&ps| ps <= LATEST).ok_or_else(|| {
            let days = LATEST as f64 / 1e12 / 86_400.0;
            format!("a GPU computes for more than 2^62 ps ({days:.0} days) a step: give it less work, or more flops")
        })
    }

    fn stage(&self, rank: u32) -> u32 {
        rank / (self.tensor * self.data)
    }

    /// A GPU's data-parallel rank.
    fn replica(&self, rank: u32) -> u32 {
        rank / self.tensor % self.data
    }

    /// GPUs that have the same part of a layer as `rank`, or of its experts.
    fn copies(&self, rank: u32, shared: Shared) -> Vec<u32> {
        let own = self.replica(rank);
        let apart = if shared == Shared::Experts { self.expert } else { 1 };
        let ranks = (own % apart..self.data).step_by(apart as usize);
        ranks.map(|replica| rank - own * self.tensor + replica * self.tensor).collect()
    }

    /// The schedule, in picoseconds.
    ///
    /// # Errors
    /// The machine cannot run it, or it has too many operations.
    pub fn schedule(&self) -> Result<Written, String> {
        self.machine.check()?;
        if self.machine.ranks != self.ranks() {
            return Err(format!("{} GPUs for a step of {}: must be as many", self.machine.ranks, self.ranks()));
        }
        homes_of(&self.machine, &self.homes)?;
        self.computing_ps()?;
        let reductions = self.reductions()?;
        self.fits(&reductions)?;
        let (mut draft, mut switches, mut parts) = (Draft::new(self.ranks()), Vec::new(), Parts::new());
        for (key, Reduction { team, job, .. }) in &reductions {
            let own = job.draft(&team.homes, team.root)?;
            parts.insert(*key, Part::new(&mut draft, &mut switches, team, own, team.combining(job)));
        }
        (0..self.ranks()).for_each(|rank| Gpu::new(self, &mut draft, &parts, rank).all());
        let run = |one: &Reduction| {
            let Job { which, bytes, machine, .. } = one.job;
            one.way.map(|way| Run { which, bytes, ranks: machine.ranks, way, times: one.times })
        };
        Ok(Written::of(draft, switches, reductions.values().filter_map(run).collect()))
    }

    /// Whether its schedule can be written.
    ///
    /// # Errors
    /// It has too many operations, or the machine cannot run it.
    pub fn check(&self) -> Result<(), String> {
        homes_of(&self.machine, &self.homes)?;
        self.fits(&self.reductions()?)
    }

    fn fits(&self, reductions: &BTreeMap<(Shared, u32), Reduction>) -> Result<(), String> {
        let passes = u64::from(self.ranks()) * 12 * u64::from(self.microbatches);
        let of_each = |one: &Reduction| one.job.operations().saturating_mul(one.times);
        let of_gradients = reductions.values().map(of_each).fold(0, u64::saturating_add);
        let operations = passes.saturating_add(of_gradients);
        if operations <= MOST_OPERATIONS {
            return Ok(());
        }
        let least = match of_gradients > passes {
            true => {
                "most reduce gradients: fewer layers of a stage or fewer copies (`data`) have fewer, as have fewer GPUs"
            }
            false => "most are passes: a smaller `batch`, or a larger `micro_batch`, has fewer",
        };
        Err(format!("the step needs up to {operations} operations, more than {MOST_OPERATIONS}; {least}"))
    }

    /// How often a GPU's stage reduces such gradients, and how many bytes.
    fn shares(&self, rank: u32, shared: Shared) -> [u64; 2] {
        let Gradients { dense, experts, ends } = self.gradients;
        match shared {
            Shared::Layer => [self.layers.into(), dense],
            Shared::Experts => [self.layers.into(), experts],
            Shared::Ends => {
                let stage = self.stage(rank);
                [u64::from(stage == 0) + u64::from(stage + 1 == self.pipeline), ends]
            }
        }
    }

    /// What copies of the model reduce together, by kind and the first GPU.
    fn reductions(&self) -> Result<BTreeMap<(Shared, u32), Reduction>, String> {
        let mut all = BTreeMap::new();
        for shared in [Shared::Layer, Shared::Experts, Shared::Ends] {
            for rank in 0..self.ranks() {
                let (copies, [times, bytes]) = (self.copies(rank, shared), self.shares(rank, shared));
                if copies.first() != Some(&rank) || copies.len() < 2 || times == 0 || bytes == 0 {
                    continue;
                }
                let team = Team::new(&self.machine, &self.homes, &copies);
                let (job, way) = team.job(self.kernels.as_deref(), Which::Allreduce, self.wanted, bytes)?;
                all.insert((shared, rank), Reduction { team, job, way, times });
            }
        }
        Ok(all)
    }
}

/// Gradients that some GPUs reduce together, and how often.
struct Reduction {
    team: Team,
    job: Job,
    way: Option<Way>,
    times: u64,
}

/// The same, ready to be written.
type Parts = BTreeMap<(Shared, u32), Part>;

/// One GPU's part of a step.
struct Gpu<'a> {
    step: &'a Step,
    draft: &'a mut Draft,
    parts: &'a Parts,
    rank: u32,
    stage: u32,
    /// What its kernels did last.
    kernel: Option<Local>,
    /// The last operation of each channel that reduces gradients.
    channels: Vec<Option<Local>>,
}

impl<'a> Gpu<'a> {
    fn new(step: &'a Step, draft: &'a mut Draft, parts: &'a Parts, rank: u32) -> Gpu<'a> {
        let channels = vec![None; MOST_CHANNELS as usize];
        Gpu { step, draft, parts, rank, stage: step.stage(rank), kernel: None, channels }
    }

    fn is_last(&self) -> bool {
        self.stage + 1 == self.step.pipeline
    }

    fn all(mut self) {
        let many = self.step.microbatches;
        let ahead = (self.step.pipeline - 1 - self.stage).min(many);
        (0..ahead).for_each(|_| self.forward());
        for pass in 0..many {
            if ahead + pass < many {
                self.forward();
            }
            if pass + 1 < many { self.backward() } else { self.last_backward() }
        }
    }

    /// Work of the GPU's kernels, after what they did last.
    fn kernel(&mut self, ps: u64) -> Local {
        let op = self.draft.calc(self.rank, KERNELS, ps);
        if let Some(last) = self.kernel.replace(op) {
            self.draft.requires(self.rank, op, last);
        }
        op
    }

    /// The same, once a message from another stage is there.
    fn kernel_after(&mut self, from: Option<u32>, tag: u32, ps: u64) -> Local {
        let Some(from) = from else { return self.kernel(ps) };
        let came = self.draft.recv(self.rank, from, self.step.passed, tag, INBOX);
        let op = self.kernel(ps);
        self.draft.requires(self.rank, op, came);
        op
    }

    fn pass_on(&mut self, to: Option<u32>, tag: u32, after: Local) {
        let Some(to) = to else { return };
        let (costs, host) = (self.step.passing(), |rank: u32| self.step.homes[rank as usize].host);
        let is_near = host(to) == host(self.rank);
        // The kernels go on: what hands the message over is a proxy within the domain, too.
        let mut lane = Lane::new(self.draft, self.rank, OUTBOX.into(), costs);
        (lane.tag, lane.last) = (tag, Some(after));
        lane.send_by(to, self.step.passed, !is_near);
    }

    fn before(&self) -> Option<u32> {
        self.rank.checked_sub(self.step.tensor * self.step.data)
    }

    fn next(&self) -> Option<u32> {
        (!self.is_last()).then(|| self.rank + self.step.tensor * self.step.data)
    }

    fn head(&self, way: usize) -> u64 {
        if self.is_last() { self.step.head_ps[way] } else { 0 }
    }

    fn forward(&mut self) {
        let ps = u64::from(self.step.layers) * self.step.pass_ps[0] + self.head(0);
        let (before, next) = (self.before(), self.next());
        let done = self.kernel_after(before, FORWARD, ps);
        self.pass_on(next, FORWARD, done);
    }

    fn backward(&mut self) {
        let ps = u64::from(self.step.layers) * self.step.pass_ps[1] + self.head(1);
        let (before, next) = (self.before(), self.next());
        let done = self.kernel_after(next, BACKWARD, ps);
        self.pass_on(before, BACKWARD, done);
    }

    /// The last pass backward, layer by layer: gradients of each are whole after it.
    fn last_backward(&mut self) {
        let mut ready = self.kernel_after(self.next(), BACKWARD, self.head(1));
        let mut whole = Vec::new();
        if self.is_last() {
            whole.push((ready, Shared::Ends));
        }
        for _ in 0..self.step.layers {
            ready = self.kernel(self.step.pass_ps[1]);
            whole.extend([(ready, Shared::Layer), (ready, Shared::Experts)]);
        }
        if self.stage == 0 {
            whole.push((ready, Shared::Ends));
        }
        self.pass_on(self.before(), BACKWARD, ready);
        for (after, shared) in whole {
            self.reduce(if self.step.overlaps { after } else { ready }, shared);
        }
    }

    /// Combines gradients with those of the other copies. Each channel begins when it is done with what it did last.
    fn reduce(&mut self, ready: Local, shared: Shared) {
        let first = self.step.copies(self.rank, shared)[0];
        let Some(part) = self.parts.get(&(shared, first)) else { return };
        let (Some(place), tag) = (part.place(self.rank), OF_KIND * shared as u32) else { return };
        if place == 0 {
            part.write_switches(self.draft, tag);
        }
        let [starts, ends] = part.write(self.draft, place, tag);
        for (channel, start) in starts {
            let before = self.channels[channel].into_iter().chain([ready]);
            before.for_each(|before| self.draft.requires(self.rank, start, before));
        }
        let mut last: BTreeMap<usize, Vec<Local>> = BTreeMap::new();
        ends.into_iter().for_each(|(channel, end)| last.entry(channel).or_default().push(end));
        for (channel, ends) in last {
            let end = match ends[..] {
                [end] => end,
                _ => {
                    let join = self.draft.calc(self.rank, channel as u8, 0);
                    ends.into_iter().for_each(|end| self.draft.requires(self.rank, join, end));
                    join
                }
            };
            self.channels[channel] = Some(end);
        }
    }
}
