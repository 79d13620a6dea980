//! [`VirtualTime`]: runs rank programs as tasks over the event core.

use super::adapter::Adapter;
use super::door::SimPort;
use super::family::Family;
use super::seat::State;
use super::together;
use super::world::World;
use crate::fault::{Fault, Lost};
use crate::flow::Settings;
use crate::net::Net;
use crate::plan::Plan;
use crate::workload::{Background, Run};
use hotlink_fabric::ledger::Unfit;
use hotlink_fabric::units::Time;
use hotlink_port::background::BackgroundSpec;
use hotlink_port::{Busy, Driver, Limits, Part, Program, Rank, ReductionLimits, RunError};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What a run reports in addition to the programs' results.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The network: its counts, fingerprint and how busy each resource was; until the last rank's end.
    pub run: Run,
    /// Times that a program was resumed.
    pub resumptions: u64,
    /// Barriers that were reported and found safe.
    pub barriers: u64,
    /// How long each rank's processor and adapter were busy.
    pub busy: Vec<Busy>,
    /// The same, and the network's servers, in the part that a benchmark counted.
    pub counted: Option<Part>,
}

/// The driver of a simulated fabric: rank `i` is on node `i`, unless ranks are placed.
pub struct VirtualTime<'a> {
    plan: &'a Plan<'a>,
    settings: Settings,
    adapter: Rc<Adapter>,
    limits: Limits,
    background: Option<BackgroundSpec>,
    /// The node of each rank; none: that of its number.
    places: Vec<u32>,
    /// About the payload of a whole run; progress is reported against it.
    expected: u64,
    outcome: Option<Outcome>,
    lost: Option<Lost>,
}

impl<'a> VirtualTime<'a> {
    /// Ranks on the nodes of a fabric, with the adapters that fit it.
    ///
    /// # Errors
    /// A parameter that neither the fabric nor its technology states.
    pub fn new(plan: &'a Plan<'a>, settings: &Settings) -> Result<VirtualTime<'a>, Unfit> {
        let adapter = Rc::new(Adapter::new(plan)?);
        Ok(VirtualTime {
            plan,
            settings: settings.clone(),
            limits: adapter.limits.clone(),
            adapter,
            background: None,
            places: Vec::new(),
            expected: 0,
            outcome: None,
            lost: None,
        })
    }
    /// The same fabric with adapters of another family.
    ///
    /// # Errors
    /// As [`VirtualTime::new`].
    pub fn with_family(self, family: Family) -> Result<VirtualTime<'a>, Unfit> {
        let adapter = Rc::new(Adapter::of_family(self.plan, family)?);
        Ok(VirtualTime { limits: adapter.limits.clone(), adapter, ..self })
    }
    /// The ranks as programs of the adapters' own processors.
    ///
    /// # Errors
    /// As [`Adapter::offloaded`].
    pub fn on_adapters(self) -> Result<VirtualTime<'a>, Unfit> {
        let adapter = Rc::new(Adapter::offloaded(self.plan)?);
        Ok(VirtualTime { limits: adapter.limits.clone(), adapter, ..self })
    }
    /// The same with other claims, within what the adapters can do: less memory to pin, fewer entries.
    #[must_use]
    pub fn with_limits(mut self, change: impl FnOnce(&mut Limits)) -> VirtualTime<'a> {
        change(&mut self.limits);
        self
    }
    /// The same with other traffic than the ranks', from the start of each run on.
    #[must_use]
    pub fn with_background(self, background: Option<BackgroundSpec>) -> VirtualTime<'a> {
        VirtualTime { background, ..self }
    }
    /// The same with rank i on node `nodes[i]`. Ranks of one node share its adapter and have a processor each; what they
    /// send each other is copied there and never enters the network.
    #[must_use]
    pub fn placed(self, nodes: Vec<u32>) -> VirtualTime<'a> {
        VirtualTime { places: nodes, ..self }
    }
    /// The same with how much payload a run carries, about, for the [`Gauge`](crate::Gauge) of the settings.
    #[must_use]
    pub fn expecting(self, bytes: u64) -> VirtualTime<'a> {
        VirtualTime { expected: bytes, ..self }
    }
    /// Why this many ranks cannot be placed as asked.
    fn misplaced(&self, ranks: u32) -> Option<String> {
        let nodes = self.plan.fabric.nodes();
        let spec = &self.plan.fabric.spec;
        let used: BTreeSet<u32> = self.places.iter().copied().collect();
        let shared = used.len() < self.places.len();
        if self.places.is_empty() {
            return (!(1..=nodes).contains(&ranks)).then(|| format!("1 to {nodes} are allowed, one on each node"));
        }
        if self.places.len() != ranks as usize {
            return Some(format!("{} nodes are listed, one for each rank", self.places.len()));
        }
        if let Some(node) = used.last().filter(|&&node| node >= nodes) {
            return Some(format!("there is no node {node}: 0 to {} are allowed", nodes - 1));
        }
        let own = spec.barrier.is_some() || spec.reduction.is_some();
        (shared && own).then(|| "the fabric's own barrier network takes one rank of each node".to_owned())
    }
    /// The adapters.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }
    /// What the ports of this many ranks claim: also what the network leaves them together, and which of the fabric's own
    /// networks serve them. Where something fails none does: they are only known whole.
    pub fn limits(&self, ranks: u32) -> Limits {
        let spec = &self.plan.fabric.spec;
        let whole = self.settings.faults.is_empty();
        let barrier = whole && spec.barrier.as_ref().is_some_and(|own| own.levels(ranks, false).is_ok());
        let reduction = spec.reduction.as_ref().filter(|_| whole).and_then(|own| {
            let latency = own.latency(ranks, 0).ok()?;
            Some(ReductionLimits { latency, rate: own.rate.value, shares: false })
        });
        let node = |rank: u32| self.places.get(rank as usize).copied().unwrap_or(rank);
        let fits = self.misplaced(ranks).is_none();
        let together = fits.then(|| together::rates(self.plan, &self.adapter, ranks, node)).flatten();
        Limits { barrier, reduction, together, ..self.limits.clone() }
    }
    /// The report of the last run, if it came to its end.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }
    /// What fails, in order of time.
    pub fn faults(&self) -> &[Fault] {
        &self.settings.faults
    }
    /// What failures of the last run took for good, if it did not come to its end.
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }
}

impl<'a> Driver for VirtualTime<'a> {
    type Port = SimPort<'a>;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<SimPort<'a>, T>,
    {
        (self.outcome, self.lost) = (None, None);
        if let Some(why) = self.misplaced(ranks) {
            return Err(RunError::Ranks { ranks, why });
        }
        let mut net = Net::new(self.plan, &self.settings);
        // What other traffic delivers is not the ranks'.
        net.expect(if self.background.is_some() { 0 } else { self.expected });
        let mut world = World::new(net, self.plan, self.adapter.clone(), ranks);
        if !self.places.is_empty() {
            world.place(&self.places);
        }
        if let Some(spec) = self.background {
            let background = Background::new(self.plan, &self.settings, spec);
            world.put_beside(background.map_err(|error| RunError::Stuck(error.to_string()))?);
        }
        let limits = Rc::new(self.limits(ranks));
        let world = Rc::new(RefCell::new(world));
        let port = |rank| SimPort { world: world.clone(), rank, limits: limits.clone() };
        let mut tasks = Tasks {
            running: (0..ranks).map(|rank| Some(Box::pin(program.run(port(rank))))).collect(),
            results: (0..ranks).map(|_| None).collect(),
            left: ranks,
            resumptions: 0,
            end: 0,
        };
        let ran = tasks.run(&world);
        let world = world.borrow();
        if let Err(error) = ran {
            self.lost = world.net.lost();
            return Err(error);
        }
        let run = Run::of(&world.net, Time(tasks.end), world.net.stats().delivered_bytes);
        let (barriers, busy, counted) = (world.barriers.over(), world.busy(), world.counted());
        self.outcome = Some(Outcome { run, resumptions: tasks.resumptions, barriers, busy, counted });
        Ok(tasks.results.into_iter().flatten().collect())
    }
}

/// The programs of a run.
struct Tasks<F: Future> {
    running: Vec<Option<Pin<Box<F>>>>,
    results: Vec<Option<F::Output>>,
    left: u32,
    resumptions: u64,
    /// When the last program so far ended, by its own clock.
    end: u64,
}

impl<F: Future> Tasks<F> {
    fn run(&mut self, world: &RefCell<World<'_>>) -> Result<(), RunError> {
        while self.left > 0 {
            let next = world.borrow_mut().ready.pop_front();
            if let Some(rank) = next {
                self.resume(world, rank);
                continue;
            }
            let mut world = world.borrow_mut();
            if let Some(failure) = world.failure.take() {
                return Err(RunError::Stuck(failure));
            }
            match world.net.advance() {
                Ok(Some(note)) => {
                    if !world.on_note(note) {
                        return Err(RunError::Stuck(world.stuck()));
                    }
                }
                Ok(None) => return Err(RunError::Stuck(world.stuck())),
                Err(error) => return Err(RunError::Stuck(error.to_string())),
            }
        }
        let failure = world.borrow_mut().failure.take();
        failure.map_or(Ok(()), |failure| Err(RunError::Stuck(failure)))
    }

    fn resume(&mut self, world: &RefCell<World<'_>>, rank: Rank) {
        self.resumptions += 1;
        world.borrow_mut().resume(rank);
        let Some(task) = &mut self.running[rank as usize] else { return };
        match task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => world.borrow_mut().suspend(rank),
            Poll::Ready(result) => {
                self.results[rank as usize] = Some(result);
                self.running[rank as usize] = None;
                self.left -= 1;
                let mut world = world.borrow_mut();
                let seat = world.seat(rank);
                seat.state = State::Over;
                self.end = self.end.max(seat.now);
            }
        }
    }
}
