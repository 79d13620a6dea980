//! Background traffic: uniform, permutation, hot spot, bursty, from 0 to a flood.
//!
//! A generator drives this traffic in the network; it is no task. Each node posts messages at random (Poisson) instants
//! whose mean gives the load. It keeps at most [`WINDOW`] of them under way, as a program with a bounded queue does.
//! Near and beyond a load of 1 that window paces a node: the network is flooded (P01), and queues stay bounded.

use super::traffic::{Targets, targets};
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::{Message, Net, Note};
use crate::plan::Plan;
use hotlink_bound::Limited;
use hotlink_event::random::Random;
use hotlink_fabric::units::Time;
use hotlink_port::background::{BURST, BackgroundSpec, Pattern, WINDOW};

/// Tag of the background's messages.
pub(crate) const TAG: u64 = u64::MAX;
/// Bit of the background's timers.
const TIMER: u32 = 1 << 30;

/// One node's generator.
struct Source {
    random: Random,
    targets: Targets,
    /// Mean time from one burst to the next.
    gap_ps: f64,
    to: u32,
    /// Messages of the burst not yet posted.
    left: u32,
    under_way: u32,
    /// The next burst is due, but this one is not posted yet.
    late: bool,
}

/// The generators of all nodes.
pub struct Background {
    spec: BackgroundSpec,
    sources: Vec<Source>,
}

impl Background {
    /// Generators for a fabric's nodes, all idle.
    ///
    /// # Errors
    /// Fewer than two nodes, or a fabric on which nothing has a rate.
    pub fn new(plan: &Plan<'_>, settings: &Settings, spec: BackgroundSpec) -> Result<Background, SimError> {
        let nodes = plan.fabric.nodes();
        let input = |what: String| SimError::Input(format!("background {spec}: {what}"));
        let demand = spec.pattern.traffic().demand(nodes, settings.seed).map_err(|error| input(error.to_string()))?;
        let counted = plan.count(&demand).map_err(|error| input(error.to_string()))?;
        let mbps = counted.bounds(plan.fabric, settings.capacities, spec.size).bandwidth_per_node_mbps;
        if !(mbps.is_finite() && mbps > 0.0) {
            return Err(input("nothing limits it here, so that a load has no meaning".to_owned()));
        }
        let burst = if spec.pattern == Pattern::Bursty { f64::from(BURST) } else { 1.0 };
        // MB/s is bytes per microsecond.
        let gap_ps = burst * spec.size as f64 / (mbps * spec.load) * 1e6;
        let source = |(node, targets): (usize, Targets)| Source {
            random: Random::new(settings.seed ^ 0xbac6 ^ (node as u64) << 32),
            targets,
            gap_ps,
            to: node as u32,
            left: 0,
            under_way: 0,
            late: false,
        };
        Ok(Background { spec, sources: targets(&demand).into_iter().enumerate().map(source).collect() })
    }

    /// Every node that sends begins after a random time.
    pub fn start(&mut self, net: &mut Net<'_>) {
        let now = net.now();
        for (node, source) in self.sources.iter_mut().enumerate().filter(|(_, source)| source.targets.total() > 0.0) {
            net.timer(now + Time(source.random.exponential_ps(source.gap_ps)), TIMER | node as u32);
        }
    }

    /// Takes what concerns the background; gives back what does not.
    ///
    /// # Errors
    /// See [`Net::post`].
    #[inline]
    pub fn take(&mut self, net: &mut Net<'_>, note: Note) -> Result<Option<Note>, SimError> {
        self.take_by(net, note, &mut |net, from, to, bytes| net.post(from, to, bytes, TAG).map(|_| ()))
    }

    /// The same where messages enter the network by another function. `post` receives the network, sender, receiver and
    /// bytes, and at the end gives the message [`TAG`].
    pub(crate) fn take_by<'n>(
        &mut self,
        net: &mut Net<'n>,
        note: Note,
        post: &mut impl FnMut(&mut Net<'n>, u32, u32, u64) -> Result<(), SimError>,
    ) -> Result<Option<Note>, SimError> {
        match note {
            Note::Timer(id) if id & TIMER != 0 && id < 2 * TIMER => self.burst(net, id & !TIMER, post)?,
            Note::Delivered(Message { tag: TAG, from, .. }) => {
                self.sources[from as usize].under_way -= 1;
                self.feed(net, from, post)?;
            }
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    fn burst<'n>(
        &mut self,
        net: &mut Net<'n>,
        node: u32,
        post: &mut impl FnMut(&mut Net<'n>, u32, u32, u64) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        let nodes = self.sources.len() as u32;
        let source = &mut self.sources[node as usize];
        if source.left > 0 {
            source.late = true;
            return Ok(());
        }
        source.to = match self.spec.pattern {
            Pattern::AllToAll => following(source.to, node, nodes),
            _ => source.targets.draw(node, nodes, &mut source.random),
        };
        source.left = if self.spec.pattern == Pattern::Bursty { BURST } else { 1 };
        net.timer(net.now() + Time(source.random.exponential_ps(source.gap_ps)), TIMER | node);
        self.feed(net, node, post)
    }

    fn feed<'n>(
        &mut self,
        net: &mut Net<'n>,
        node: u32,
        post: &mut impl FnMut(&mut Net<'n>, u32, u32, u64) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        let source = &mut self.sources[node as usize];
        while source.left > 0 && source.under_way < WINDOW {
            source.left -= 1;
            source.under_way += 1;
            post(net, node, source.to, self.spec.size)?;
        }
        if source.left == 0 && std::mem::take(&mut source.late) {
            net.timer(net.now(), TIMER | node);
        }
        Ok(())
    }
}

/// The node after `to`, round all but `node`.
fn following(to: u32, node: u32, nodes: u32) -> u32 {
    let next = (to + 1) % nodes;
    if next == node { (next + 1) % nodes } else { next }
}
