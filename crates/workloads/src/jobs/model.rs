//! A model that is trained in parallel: what it computes, sends and reduces in a step, from ten lines of a plan.
//!
//! Operations are those of Narayanan et al., SC 2021, equation 2. A layer's forward pass takes `8 h^2 + 4 h f + 4 s h`
//! for each token, its backward pass twice that, and another forward pass where activations are recomputed. With `f = 4
//! h` these are their `24 h^2 + 4 s h`.

use hotlink_schedule::Protocol;
use hotlink_schedule::collective::{Algorithm, Gradients, Wanted, Way, Which};
use serde::Deserialize;

/// A transformer, and how its training is spread over GPUs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Layers of all stages.
    pub layers: u32,
    /// Width of activations.
    pub hidden: u64,
    /// Width between the two matrices of a layer; by default four times `hidden`.
    pub feed_forward: Option<u64>,
    /// Words of embedding and head; none: both are left out.
    #[serde(default)]
    pub vocabulary: u64,
    /// Tokens of a sequence.
    pub sequence: u64,
    /// Sequences of a step.
    pub batch: u64,
    /// Sequences of a pass.
    #[serde(default = "one")]
    pub micro_batch: u64,
    /// GPUs that share a layer.
    #[serde(default = "first")]
    pub tensor: u32,
    /// Stages.
    #[serde(default = "first")]
    pub pipeline: u32,
    /// Copies of the model.
    #[serde(default = "first")]
    pub data: u32,
    /// Experts of a layer; 1: the model is dense.
    #[serde(default = "first")]
    pub experts: u32,
    /// Experts that a token goes to.
    #[serde(default = "first")]
    pub top_k: u32,
    /// GPUs among which the experts are spread.
    #[serde(default = "first")]
    pub expert: u32,
    /// Operations a second that a GPU reaches in these matrices.
    pub flops: f64,
    /// Bytes of an activation.
    #[serde(default = "two")]
    pub activation_bytes: u64,
    /// Bytes of a gradient as it is reduced.
    #[serde(default = "four")]
    pub gradient_bytes: u64,
    /// Whether the pass backward does the pass forward again.
    #[serde(default)]
    pub recompute: bool,
    /// Whether gradients are reduced while the passes of earlier layers go on.
    #[serde(default = "yes")]
    pub overlap: bool,
    /// How the collectives of tensor-parallel GPUs are done; none: as NCCL chooses.
    pub tensor_algorithm: Option<String>,
    /// See above.
    pub tensor_protocol: Option<String>,
    /// Those of experts.
    pub expert_algorithm: Option<String>,
    /// See above.
    pub expert_protocol: Option<String>,
    /// The reductions of gradients.
    pub data_algorithm: Option<String>,
    /// See above.
    pub data_protocol: Option<String>,
    /// What the job asks of all collectives that have it.
    #[serde(skip)]
    pub asked: Wanted,
}

/// What collectives of a step are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parallel {
    /// Sums of a layer's parts.
    Tensor,
    /// Tokens to their experts, and back.
    Expert,
    /// Sums of gradients.
    Data,
}

impl Parallel {
    pub(super) const ALL: [Parallel; 3] = [Parallel::Tensor, Parallel::Expert, Parallel::Data];

    /// Its name in keys.
    pub(super) fn name(self) -> &'static str {
        match self {
            Parallel::Tensor => "tensor",
            Parallel::Expert => "expert",
            Parallel::Data => "data",
        }
    }

    /// What GPUs run.
    pub(super) fn which(self) -> Which {
        if self == Parallel::Expert { Which::Alltoall } else { Which::Allreduce }
    }

    /// Its keys of a model.
    pub(super) fn keys(self) -> [&'static str; 2] {
        match self {
            Parallel::Tensor => ["tensor_algorithm", "tensor_protocol"],
            Parallel::Expert => ["expert_algorithm", "expert_protocol"],
            Parallel::Data => ["data_algorithm", "data_protocol"],
        }
    }
}

fn one() -> u64 {
    1
}
fn first() -> u32 {
    1
}
fn two() -> u64 {
    2
}
fn four() -> u64 {
    4
}
fn yes() -> bool {
    true
}

/// Most of any number of a model but its operations a second: products stay whole.
const MOST: u64 = 1 << 24;

impl Model {
    /// What is wrong with it: the key, what, and what is allowed.
    pub fn mistakes(&self) -> Vec<(&'static str, String, &'static str)> {
        let counts = [
            ("layers", self.layers.into()),
            ("hidden", self.hidden),
            ("feed_forward", self.width()),
            ("sequence", self.sequence),
            ("batch", self.batch),
            ("micro_batch", self.micro_batch),
            ("tensor", self.tensor.into()),
            ("pipeline", self.pipeline.into()),
            ("data", self.data.into()),
            ("experts", self.experts.into()),
            ("top_k", self.top_k.into()),
            ("expert", self.expert.into()),
            ("activation_bytes", self.activation_bytes),
            ("gradient_bytes", self.gradient_bytes),
        ];
        let wrong = |(key, value): &(&'static str, u64)| (*key, format!("is {value}"), "1 to 16777216");
        let outside = |(_, value): &&(&'static str, u64)| !(1..=MOST).contains(value);
        let mut found: Vec<_> = counts.iter().filter(outside).map(wrong).collect();
        if self.vocabulary > MOST {
            found.push(("vocabulary", format!("is {}", self.vocabulary), "0 to 16777216"));
        }
        if !(1.0..=1e18).contains(&self.flops) {
            found.push(("flops", format!("is {}", self.flops), "1 to 1e18 a second"));
        }
        if !found.is_empty() {
            return found;
        }
        let passes = u64::from(self.data) * self.micro_batch;
        let ranks = u64::from(self.tensor) * u64::from(self.pipeline) * u64::from(self.data);
        let divides: [(&'static str, u64, &str, u64, &'static str); 6] = [
            ("layers", self.layers.into(), "stages", self.pipeline.into(), "a multiple of pipeline"),
            ("batch", self.batch, "data times micro_batch", passes, "a multiple of that"),
            ("hidden", self.hidden, "tensor-parallel GPUs", self.tensor.into(), "a multiple of tensor"),
            ("feed_forward", self.width(), "tensor-parallel GPUs", self.tensor.into(), "a multiple of tensor"),
            ("experts", self.experts.into(), "GPUs that share them", self.expert.into(), "a multiple of expert"),
            ("data", self.data.into(), "GPUs that share experts", self.expert.into(), "a multiple of expert"),
        ];
        let uneven = divides.iter().filter(|(_, whole, _, parts, _)| !whole.is_multiple_of(*parts));
        let told =
            uneven.map(|(key, whole, what, parts, allowed)| (*key, format!("{whole} for {parts} {what}"), *allowed));
        found.extend(told);
        for kind in Parallel::ALL {
            let ([algorithm, protocol], [of_algorithm, of_protocol]) = (self.words(kind), kind.keys());
            let of = Algorithm::of(kind.which());
            if let Some(word) = algorithm.as_ref().filter(|word| !of.iter().any(|own| own.name() == word.as_str())) {
                let allowed = match kind.which() {
                    Which::Alltoall => "pairwise, hierarchical",
                    _ => "ring, tree, hierarchical, nvls, nvls-tree, collnet",
                };
                found.push((of_algorithm, format!("is {word:?}"), allowed));
            }
            if let Some(word) = protocol.as_ref().filter(|word| Protocol::named(word).is_none()) {
                found.push((of_protocol, format!("is {word:?}"), "simple, ll128, ll"));
            }
        }
        if self.top_k > self.experts {
            found.push(("top_k", format!("{} of {} experts", self.top_k, self.experts), "at most as many"));
        }
        if !(2..=u64::from(hotlink_schedule::MOST_RANKS)).contains(&ranks) {
            found.push(("data", format!("{ranks} GPUs in all: tensor x pipeline x data"), "2 or more"));
        }
        found
    }

    fn words(&self, kind: Parallel) -> [&Option<String>; 2] {
        match kind {
            Parallel::Tensor => [&self.tensor_algorithm, &self.tensor_protocol],
            Parallel::Expert => [&self.expert_algorithm, &self.expert_protocol],
            Parallel::Data => [&self.data_algorithm, &self.data_protocol],
        }
    }

    /// What is asked of collectives of a kind: by the model, else by the job.
    pub(super) fn wanted(&self, kind: Parallel) -> Wanted {
        let [algorithm, protocol] = self.words(kind);
        let asked = Way::wanted_of(kind.which(), self.asked);
        let algorithm = algorithm.as_ref().and_then(|word| Algorithm::named(word)).or(asked.0);
        (algorithm, protocol.as_ref().and_then(|word| Protocol::named(word)).or(asked.1))
    }

    /// The key of the plan that asks for something of collectives of a kind, else that of the model.
    pub(super) fn key(&self, kind: Parallel) -> &'static str {
        let asked = Way::wanted_of(kind.which(), self.asked);
        let own = kind.keys().into_iter().zip(self.words(kind)).find(|(_, word)| word.is_some());
        match (own, asked) {
            (Some((key, _)), _) => key,
            (None, (Some(_), _)) => "algorithm",
            (None, (None, Some(_))) => "protocol",
            (None, (None, None)) => "model",
        }
    }

    /// Kinds of collectives that its step has.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Parallel> {
        let many = |kind: &Parallel| match kind {
            Parallel::Tensor => self.tensor,
            Parallel::Expert => self.expert,
            Parallel::Data => self.data,
        };
        Parallel::ALL.into_iter().filter(move |kind| many(kind) > 1)
    }

    /// Whether some of its collectives may be done by such an algorithm: it is asked for, or none.
    pub(super) fn may_be_by(&self, own: Algorithm) -> bool {
        self.kinds().any(|kind| match self.wanted(kind).0 {
            Some(asked) => asked == own,
            None => Algorithm::of(kind.which()).contains(&own),
        })
    }

    /// GPUs.
    pub fn ranks(&self) -> u32 {
        self.tensor * self.pipeline * self.data
    }

    fn width(&self) -> u64 {
        self.feed_forward.unwrap_or(4 * self.hidden)
    }

    /// Layers of a stage.
    pub fn stage_layers(&self) -> u32 {
        self.layers / self.pipeline
    }

    /// Passes of a stage each way.
    pub fn microbatches(&self) -> u32 {
        (self.batch / (u64::from(self.data) * self.micro_batch)) as u32
    }

    /// Tokens of a pass.
    fn tokens(&self) -> u64 {
        self.micro_batch * self.sequence
    }

    /// Operations of a layer's pass forward, and of the head's, of all GPUs that share them.
    fn operations(&self) -> [f64; 2] {
        let [h, f, s, tokens] = [self.hidden, self.width(), self.sequence, self.tokens()].map(|number| number as f64);
        let routed = f64::from(self.top_k);
        [tokens * (8.0 * h * h + 4.0 * h * f * routed + 4.0 * s * h), tokens * 2.0 * h * self.vocabulary as f64]
    }

    /// Times that a pass backward takes of one forward, without what it waits for.
    fn backward(&self) -> f64 {
        if self.recompute { 3.0 } else { 2.0 }
    }

    fn picoseconds(&self, operations: f64) -> u64 {
        (operations / f64::from(self.tensor) / self.flops * 1e12).round() as u64
    }

    /// A layer's pass forward and backward on a GPU, computing alone.
    pub fn pass_ps(&self) -> [u64; 2] {
        let forward = self.operations()[0];
        [forward, self.backward() * forward].map(|operations| self.picoseconds(operations))
    }

    /// The same of the head.
    pub fn head_ps(&self) -> [u64; 2] {
        let forward = self.operations()[1];
        [forward, 2.0 * forward].map(|operations| self.picoseconds(operations))
    }

    /// Operations of a step without those that are done twice.
    pub fn step_operations(&self) -> f64 {
        let passes = (self.batch / self.micro_batch) as f64;
        let [layer, head] = self.operations();
        3.0 * passes * (f64::from(self.layers) * layer + head)
    }

    /// Tokens of a step.
    pub fn step_tokens(&self) -> u64 {
        self.batch * self.sequence
    }

    /// Parameters of all layers, embedding and head.
    pub fn parameters(&self) -> u64 {
        let layer = 4 * self.hidden * self.hidden + u64::from(self.experts) * 2 * self.hidden * self.width();
        u64::from(self.layers) * layer + 2 * self.vocabulary * self.hidden
    }

    /// Bytes of a tensor-parallel allreduce: a pass's activations.
    pub fn tensor_bytes(&self) -> u64 {
        self.tokens() * self.hidden * self.activation_bytes
    }

    /// Bytes that a GPU has for all-to-all: its share of the tokens, for each of their experts.
    pub fn expert_bytes(&self) -> u64 {
        self.passed() * u64::from(self.top_k)
    }

    /// Bytes that a GPU hands to its peer of the next stage: activations are spread over the tensor-parallel GPUs
    /// (Narayanan et al., section 4.1).
    pub fn passed(&self) -> u64 {
        self.tensor_bytes() / u64::from(self.tensor)
    }

    /// Collectives of a kind in a layer's pass forward and backward: after attention and after the matrices.
    pub fn each_pass(&self) -> [u64; 2] {
        if self.recompute { [2, 4] } else { [2, 2] }
    }

    /// Gradients of a GPU.
    pub fn gradients(&self) -> Gradients {
        let [tensor, experts, apart] = [self.tensor, self.experts, self.expert].map(u64::from);
        let matrices = 2 * self.hidden * self.width();
        let own = |parameters: u64| parameters / tensor * self.gradient_bytes;
        let attention = 4 * self.hidden * self.hidden;
        let (dense, routed) = match experts {
            1 => (attention + matrices, 0),
            _ => (attention, experts / apart * matrices),
        };
        Gradients { dense: own(dense), experts: own(routed), ends: own(self.vocabulary * self.hidden) }
    }
}
