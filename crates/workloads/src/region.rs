//! Regions of the shared-memory interface (W01 slides 6 to 10) on a simulated fabric: the cost to register, reach, hold
//! and lose them.

use hotlink_bench::{Hold, Plan as Repetitions, Record, RegionKind, RegionSetup, RegionTimes, Regions};
use hotlink_bound::{Bound, Peak, network};
use hotlink_message::Error as MessageError;
use hotlink_port::{Driver, Engine, Layout};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};
use hotlink_study::bound::message;
use hotlink_study::inputs::{self, Vary};
use hotlink_study::options::{Memory, Rates};
use hotlink_study::simulate::limiter;
use hotlink_study::{Error, Source, Unwatched, Watch, parallel};

/// The regions to run: every kind with every registration, memory, hold and size.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// How they are reached.
    pub kinds: Vec<RegionKind>,
    /// The registrations to run.
    pub setups: Vec<RegionSetup>,
    /// What is kept between accesses.
    pub holds: Vec<Hold>,
    /// What memory they are.
    pub memory: Vec<Memory>,
    /// Bytes of a region, and of an access.
    pub sizes: Vec<u64>,
    /// Nodes, a rank each.
    pub nodes: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// What is done with uncertain inputs.
    pub vary: Vary,
}

/// Largest region.
const MOST_BYTES: u64 = 64 << 20;
/// Most nodes: a collective region is set up by all.
const MOST_NODES: u32 = 4096;

impl Study {
    /// The usual ones: regular segments of 64 KiB in every way, on two nodes.
    pub fn usual() -> Study {
        Study {
            kinds: vec![RegionKind::Shared, RegionKind::Remote, RegionKind::Rdma],
            setups: vec![RegionSetup::Individual],
            holds: vec![Hold::Persistent, Hold::Each],
            memory: vec![Memory::Shared],
            sizes: vec![64 << 10],
            nodes: 2,
            seed: 1,
            vary: Vary::No,
        }
    }

    /// How many runs it has on a fabric.
    pub fn count(&self) -> usize {
        self.kinds.len() * self.setups.len() * self.holds.len() * self.memory.len() * self.sizes.len()
    }

    /// A record for each of them, in order.
    ///
    /// # Errors
    /// What a size or number of nodes may be; the fabric cannot be built.
    pub fn run(&self, fabric: &str, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        if let Some(size) = self.sizes.iter().find(|size| !(1..=MOST_BYTES).contains(*size)) {
            return Err(Error::Input(format!("--size: {size} B: must be 1 B to 64 MiB")));
        }
        if !(2..=MOST_NODES).contains(&self.nodes) {
            return Err(Error::Input(format!("--nodes {}: must be 2 to {MOST_NODES}", self.nodes)));
        }
        let source = Source::open(fabric)?;
        let one = |(regions, memory): &(Regions, Memory)| {
            let answer = |source: &Source, watch: &dyn Watch| {
                self.record(source, regions, *memory, watch).map(|record| vec![record]).map_err(Error::Input)
            };
            let records = inputs::told(&source, self.vary, watch, &answer);
            watch.step();
            records
        };
        let all = parallel::each(&self.regions(), one);
        Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Asks a machine that is already open, whose numbers note that they were used. It may have no answer.
    pub(crate) fn ask(&self, source: &Source) {
        for (regions, memory) in self.regions() {
            let _ = self.record(source, &regions, memory, &Unwatched);
        }
    }

    fn regions(&self) -> Vec<(Regions, Memory)> {
        let mut all = Vec::with_capacity(self.count());
        for &kind in &self.kinds {
            for &memory in &self.memory {
                for &setup in &self.setups {
                    for &size in &self.sizes {
                        for &hold in &self.holds {
                            let (private, plan) =
                                (memory == Memory::Private, Repetitions { warmup: 0, ..Repetitions::once() });
                            all.push((Regions { kind, setup, hold, private, size, plan }, memory));
                        }
                    }
                }
            }
        }
        all
    }

    fn record(&self, source: &Source, regions: &Regions, memory: Memory, watch: &dyn Watch) -> Result<Record, String> {
        let start = watch.seconds();
        let failed = |what: String| format!("{} with {} nodes: {what}", source.name(), self.nodes);
        let fabric = source.build(self.nodes).map_err(failed)?;
        let settings = Settings { seed: self.seed, ..Settings::of(&fabric.spec) };
        let plan = Plan::new(&fabric, &settings).map_err(|error| failed(error.to_string()))?;
        let mut driver = VirtualTime::new(&plan, &settings).map_err(|unfit| failed(unfit.to_string()))?;
        let told: Vec<Result<RegionTimes, MessageError>> =
            driver.run(self.nodes, regions).map_err(|error| failed(error.to_string()))?;
        let told: Result<Vec<RegionTimes>, MessageError> = told.into_iter().collect();
        let told = told.map_err(|error| failed(error.to_string()))?;
        let [owner, user, ..] = &told[..] else { return Err(failed("a region needs two ranks".to_owned())) };
        let head = Record::new()
            .with("fabric", fabric.spec.name.as_str())
            .with("benchmark", "region")
            .with("method", "packet")
            .with("stack", "message")
            .with("adapter", driver.adapter().family.name())
            .with("nodes", self.nodes);
        let mut head = described(head, regions, memory);
        if let Some(what) = &owner.lacking {
            // A shared region is a regular segment; the other kinds are memory of any kind.
            let other = memory == Memory::Shared && regions.kind != RegionKind::Shared;
            let hint = if other { "; ordinary memory is --memory private" } else { "" };
            return Ok(head.with("note", format!("{what}{hint}")));
        }
        if regions.kind == RegionKind::Remote && memory == Memory::Shared {
            // REMOTE is any memory that others map: of a regular segment, owner and user do what they do for a shared region.
            head.set("same_as", RegionKind::Shared.name());
        }
        let access_us = user.access.values.first().copied().ok_or("no sample was taken")?;
        let parts = RegionTimes::parts(owner, user);
        let by_processor = parts.text("moved_by") == Some("processor");
        let bound = least(&driver, &plan, regions, by_processor)?;
        let outcome = driver.outcome().ok_or("the run did not end")?;
        let run = &outcome.run;
        let record = head
            .with("latency_us", access_us)
            .with("bandwidth_MBps", regions.size as f64 / access_us)
            .followed_by(parts)
            .beside_time(&bound, access_us)
            .also_bounded("bound_bandwidth_MBps", bound.in_time(regions.size));
        Ok(limiter::of_benchmark(record, &plan, outcome, None)
            .with("seed", self.seed)
            .with("events", run.stats.events)
            .with("packet_hops", run.stats.packet_hops)
            .with("trace_hash", format!("{:016x}", run.trace_hash))
            .with("wall_s", watch.seconds() - start))
    }
}

/// Which region a record is of.
fn described(head: Record, regions: &Regions, memory: Memory) -> Record {
    head.with("region", regions.kind.name())
        .with("setup", regions.setup.name())
        .with("hold", regions.hold.name())
        .with("memory", memory.name())
        .with("size_B", regions.size)
}

/// No put takes less than its path through the idle network and its bytes at the slowest of network, adapter and host.
/// That holds for whatever moves it, with everything registered.
fn least(driver: &VirtualTime<'_>, plan: &Plan<'_>, regions: &Regions, by_processor: bool) -> Result<Bound, String> {
    let between = [1, 0];
    let adapter = driver.adapter();
    let way = message::rate(plan, Rates::Measured, between, regions.size)?;
    let engine = if by_processor { Engine::Pio } else { Engine::Dma };
    // What a processor stores may come from a cache, where it is short: faster than any peak of long ones.
    let long = !by_processor || regions.size >= adapter.limits.registration.zero_copy_min;
    let peak = |registered| adapter.peak(engine, &Layout::contiguous(1 << 20), registered);
    // The source is ordinary memory, the target may be either: the faster of the two bounds both.
    let ends = [false, true].map(peak).into_iter().flatten().filter(|_| long);
    let ends = ends.max_by(|one, other| one.1.total_cmp(&other.1));
    let slowest =
        ends.map(|(resource, rate)| Peak::of_bytes_per_s(rate, resource)).into_iter().fold(way, Peak::at_most);
    Ok(network::pair(message::way_us(plan, between[0], between[1])?, regions.size as f64, slowest))
}
