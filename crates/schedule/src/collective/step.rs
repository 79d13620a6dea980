//! A step of parallel training: pipelines of stages, each a group of GPUs, that share their gradients at its end.
//!
//! GPUs stand in order of the tensor-parallel rank, then the data-parallel rank, then the stage. Stages work by 1F1B
//! (Narayanan et al., SC 2021, section 2.2). Each first does as many forward passes as stages follow it, then a
//! backward and a forward pass in turn. Collectives that a pass waits for are part of its time. Messages between stages
//! and the reduction of gradients are messages. A layer's gradients are reduced once its last backward pass is over,
//! while the layers before it go on.

use super::groups::{Home, homes_of, ring_pieces, within};
use super::lane::Lane;
use super::ring::{seat_among, turns};
use super::{Algorithm, Costs, Kernels, MOST_OPERATIONS, Machine, Which, share};
use crate::draft::{Draft, Local};
use crate::form::{LATEST, NONE, Schedule};
use std::sync::Arc;

/// Processors of a GPU besides its channels: its kernels, and what takes messages of other stages.
const KERNELS: u8 = 64;
const INBOX: u8 = 96;
/// Tags of messages between stages, beyond those of channels.
const FORWARD: u32 = 1000;
const BACKWARD: u32 = 1001;

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

    /// The machine of a group of GPUs as it reduces so many bytes.
    fn reducing(&self, group: &Machine, bytes: u64) -> Machine {
        self.kernels.as_ref().map_or(*group, |kernels| kernels.usual(group, Which::Allreduce, bytes))
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
    fn copies(&self, rank: u32, of_experts: bool) -> Vec<u32> {
        let own = self.replica(rank);
        let apart = if of_experts { self.expert } else { 1 };
        let ranks = (own % apart..self.data).step_by(apart as usize);
        ranks.map(|replica| rank - own * self.tensor + replica * self.tensor).collect()
    }

    /// The schedule, in picoseconds.
    ///
    /// # Errors
    /// The machine cannot run it, or it has too many operations.
    pub fn schedule(&self) -> Result<Schedule, String> {
        self.machine.check()?;
        if self.machine.ranks != self.ranks() {
            return Err(format!("{} GPUs for a step of {}: must be as many", self.machine.ranks, self.ranks()));
        }
        homes_of(&self.machine, &self.homes)?;
        let Gradients { dense, experts, ends } = self.gradients;
        let copies = u64::from(self.data);
        let pieces = |bytes: u64| 8 * copies * ring_pieces(&self.reducing(&self.machine, bytes), copies, bytes);
        let reduced = u64::from(self.layers) * (pieces(dense) + pieces(experts)) + pieces(ends);
        let operations = u64::from(self.ranks()) * (12 * u64::from(self.microbatches) + reduced);
        if operations > MOST_OPERATIONS {
            return Err(format!("the step needs {operations} operations, more than {MOST_OPERATIONS}: give less"));
        }
        self.computing_ps()?;
        let mut draft = Draft::new(self.ranks());
        (0..self.ranks()).for_each(|rank| Gpu::new(self, &mut draft, rank).all());
        Ok(draft.builder(NONE).build())
    }
}

/// One GPU's part of a step.
struct Gpu<'a> {
    step: &'a Step,
    draft: &'a mut Draft,
    rank: u32,
    stage: u32,
    /// What its kernels did last.
    kernel: Option<Local>,
    /// The last operation of each channel that reduces gradients.
    channels: Vec<Option<Local>>,
}

impl<'a> Gpu<'a> {
    fn new(step: &'a Step, draft: &'a mut Draft, rank: u32) -> Gpu<'a> {
        let channels = vec![None; step.machine.channels as usize];
        Gpu { step, draft, rank, stage: step.stage(rank), kernel: None, channels }
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
        let mut lane = Lane::new(self.draft, self.rank, KERNELS.into(), costs);
        (lane.tag, lane.last) = (tag, Some(after));
        // The kernels go on: what hands the message over is a proxy within the domain, too.
        if is_near {
            let mut lane = lane.beside(INBOX, Some(after));
            lane.send(to, self.step.passed);
        } else {
            lane.send_far(to, self.step.passed);
        }
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
        let Gradients { dense, experts, ends } = self.step.gradients;
        let mut ready = self.kernel_after(self.next(), BACKWARD, self.head(1));
        let mut whole = Vec::new();
        if self.is_last() {
            whole.push((ready, ends, false));
        }
        for _ in 0..self.step.layers {
            ready = self.kernel(self.step.pass_ps[1]);
            whole.extend([(ready, dense, false), (ready, experts, true)]);
        }
        if self.stage == 0 {
            whole.push((ready, ends, false));
        }
        self.pass_on(self.before(), BACKWARD, ready);
        for (after, bytes, of_experts) in whole {
            self.reduce(if self.step.overlaps { after } else { ready }, bytes, of_experts);
        }
    }

    /// Combines gradients with those of the other copies.
    fn reduce(&mut self, ready: Local, bytes: u64, of_experts: bool) {
        let ranks = self.step.copies(self.rank, of_experts);
        if ranks.len() < 2 || bytes == 0 {
            return;
        }
        let machine = self.step.machine;
        let (group, ranks) = within(&machine, &self.step.homes, &ranks);
        let group = self.step.reducing(&group, bytes);
        let Some(me) = ranks.iter().position(|&rank| rank == self.rank) else { return };
        for channel in 0..group.channels {
            let last = &mut self.channels[channel as usize];
            let mut lane = Lane::new(self.draft, self.rank, channel, group.costs);
            match *last {
                Some(_) => {
                    lane.last = *last;
                    lane.also_after(ready);
                }
                None => lane.last = Some(ready),
            }
            lane.launch();
            let seat = seat_among(&group, &self.step.homes, &ranks, channel, me);
            turns(&mut lane, &group, &seat, Which::Allreduce, share(bytes, channel.into(), group.channels.into()));
            *last = lane.last;
        }
    }
}
