//! The least time of any collective of GPUs, whatever algorithm and kernels run it.
//!
//! nccl-tests gives the mean of calls that follow one another in a stream. So no call takes less than a kernel's launch.
//! Where every GPU waits for all others, no call begins before all of the one before have ended. Then a message between
//! the GPUs that are farthest apart adds to each launch.

use crate::replay::Network;
use hotlink_fabric::Fabric;
use hotlink_fabric::ledger::Inputs;
use hotlink_schedule::collective::Which;
use hotlink_sim::Plan;
use hotlink_sim::plan::RouteBuffer;
use hotlink_study::{Source, sensitivity};

/// GPUs whose network is built for it.
const MOST_BUILT: u32 = 1024;

/// Parts of that time in microseconds, with the estimates of the fabric at their least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Floor {
    /// The launch of a kernel, where the file states it.
    launch_us: Option<f64>,
    /// A message of no bytes between the GPUs that are farthest apart.
    crossing_us: f64,
}

impl Floor {
    /// That of so many GPUs.
    ///
    /// # Errors
    /// They cannot be built.
    pub fn of(source: &Source, gpus: u32, network: &Network) -> Result<Floor, String> {
        // No other number changes how long an empty message takes, and none of these makes it shorter where it is larger.
        let counts = |key: &str| key.ends_with("latency") || key.ends_with("time");
        let inputs = sensitivity::inputs(source.spec()).into_iter().filter(|input| counts(&input.key));
        let least = inputs.fold(source.spec().clone(), |spec, input| spec.with_number(&input.key, input.range[0]));
        // Without a launch the floor is lower, and holds.
        let launch_us = Inputs::new(&least).stated("gpu_launch_least_time").map(|ps| ps / 1e6);
        // More GPUs are no closer.
        let gpus = gpus.min(MOST_BUILT);
        let fabric = source.varied(least).build(gpus)?;
        Ok(Floor { launch_us, crossing_us: crossing_us(&fabric, gpus, network)? })
    }

    /// The least time of a collective of `bytes` among so many GPUs, as nccl-tests counts these; `calls` of it are
    /// launched together. What has less than a byte for each GPU may send nothing.
    pub fn least_us(&self, which: Which, bytes: u64, gpus: u32, calls: f64) -> Option<f64> {
        let is_whole = matches!(which, Which::Allreduce | Which::Bcast | Which::Reduce);
        // A root does not wait for the others: its next call may begin.
        let has_root = matches!(which, Which::Bcast | Which::Reduce | Which::Gather | Which::Scatter);
        if bytes < if is_whole { 1 } else { gpus.into() } {
            return None;
        }
        let crossing_us = (!has_root).then_some(self.crossing_us);
        let parts = self.launch_us.into_iter().chain(crossing_us);
        parts.reduce(|one, other| one + other).map(|us| us / calls.max(1.0)).filter(|us| *us > 0.0)
    }
}

fn crossing_us(fabric: &Fabric, gpus: u32, network: &Network) -> Result<f64, String> {
    let settings = network.settings(&fabric.spec, fabric)?;
    let plan = Plan::new(fabric, &settings).map_err(|error| error.to_string())?;
    let mut route = RouteBuffer::default();
    let mut to = |node: u32| plan.least_latency_ps(0, node, &mut route).map_err(|error| error.to_string());
    let farthest = (1..gpus).try_fold(0, |most: u64, node| Ok::<_, String>(most.max(to(node)?)))?;
    Ok(farthest as f64 / 1e6)
}
