//! The nodes, the network and the clock of a run: samples one after another.

use super::dma::{Descriptor, Dmas};
use super::hardware::Hardware;
use super::software::{Shape, Software};
use super::translation::Span;
use super::{Algorithm, Collective, Elan, Outcome};
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::{Message, Net, Note};
use crate::plan::Plan;
use crate::workload::{Background, Run};
use hotlink_event::random::Random;
use hotlink_fabric::units::Time;
use hotlink_memory::Buses;
use hotlink_port::safety::Barriers;
use hotlink_port::{Busy, Task};

/// Longest pause between samples, so that they meet the background at any phase of it.
const GAP_PS: u32 = 10_000_000;
/// Virtual time after which a collective without an end is given up, and how much more for each byte: only the
/// background goes on.
const STUCK: Time = Time(50_000_000_000);
const STUCK_PER_BYTE_PS: u64 = 1_000_000;

/// What the parts of a collective share.
pub(super) struct World<'a> {
    pub net: Net<'a>,
    pub plan: &'a Plan<'a>,
    pub elan: Elan,
    pub nodes: u32,
    /// The nodes that take part, by rank; the phases know ranks.
    members: Vec<u32>,
    background: Option<Background>,
    dmas: Dmas,
    barriers: Barriers,
    /// What each rank's processor and its Elan's threads have worked.
    busy: Vec<Busy>,
    /// Nodes that have not ended this sample's phase.
    left: u32,
    /// When that is given up.
    late: Time,
}

impl World<'_> {
    /// The next thing that concerns the collective.
    fn next(&mut self) -> Result<Note, SimError> {
        loop {
            let lost = |net: &Net<'_>, what: String| net.lost().map_or(SimError::Input(what), SimError::Lost);
            let Some(note) = self.net.advance()? else {
                return Err(lost(&self.net, "nothing is left to happen, and a collective is not over".to_owned()));
            };
            if self.net.now() > self.late {
                return Err(lost(&self.net, format!("a collective is not over at {} us", self.late.us())));
            }
            let Some(note) = self.dmas.take(&mut self.net, note)? else { continue };
            let World { net, background, dmas, .. } = self;
            let note = match background {
                Some(background) => {
                    let mut post =
                        |net: &mut Net<'_>, from: u32, to: u32, bytes: u64| dmas.message(net, from, to, bytes);
                    background.take_by(net, note, &mut post)?
                }
                None => Some(note),
            };
            match note {
                Some(Note::Delivered(message)) => return Ok(Note::Delivered(self.by_rank(message)?)),
                Some(note) => return Ok(note),
                None => {}
            }
        }
    }
    /// A message with ranks in place of nodes.
    fn by_rank(&self, message: Message) -> Result<Message, SimError> {
        let rank = |node: u32| {
            let none = |_| SimError::Input(format!("node {node} takes no part in the collective"));
            self.members.binary_search(&node).map(|rank| rank as u32).map_err(none)
        };
        Ok(Message { from: rank(message.from)?, to: rank(message.to)?, ..message })
    }
    /// The node of a rank.
    pub fn node(&self, rank: u32) -> u32 {
        self.members[rank as usize]
    }
    /// The root's node and the range of the others, where they are contiguous.
    pub fn range(&self) -> (u32, [u32; 2]) {
        (self.node(0), [self.node(0) + 1, self.node(self.nodes - 1)])
    }
    /// A rank's program, or a thread of its Elan, has its DMA processor move `source` of its memory to the nodes `to`.
    pub fn dma(&mut self, rank: u32, to: [u32; 2], source: Span, tag: u64) -> Result<(), SimError> {
        let node = self.node(rank);
        self.dmas.post(&mut self.net, node, Descriptor { to, source, into: source.buffer, tag })
    }
    /// A rank's processor works for this time.
    pub fn host(&mut self, rank: u32, time: Time) {
        self.busy[rank as usize].add(Task::Software, time.0);
    }
    /// Its Elan does.
    pub fn thread(&mut self, rank: u32, time: Time) {
        self.busy[rank as usize].add_engine(time.0);
    }
    /// What all have worked, their Elans' translations with it.
    fn busy(&self) -> Vec<Busy> {
        let of = |(rank, busy): (u32, &Busy)| {
            let mut busy = *busy;
            busy.add_engine(self.dmas.translated(self.node(rank)).0);
            busy
        };
        (0..).zip(&self.busy).map(of).collect()
    }
    /// A node ends the phase now; in a barrier it leaves.
    pub fn end(&mut self, node: u32, barrier: bool) -> Result<(), SimError> {
        self.left -= 1;
        if barrier && let Some(wrong) = self.barriers.leave(node, self.net.now().0) {
            return Err(SimError::Input(wrong));
        }
        Ok(())
    }
    /// Every node arrives now.
    fn arrive(&mut self, barrier: bool) {
        self.left = self.nodes;
        for node in (0..self.nodes).filter(|_| barrier) {
            self.barriers.enter(node, self.net.now().0);
        }
    }
}

/// One part of a collective: how it begins and continues.
pub(super) trait Phase {
    /// All nodes begin now.
    fn begin(&mut self, world: &mut World<'_>) -> Result<(), SimError>;
    /// A timer of the phase.
    fn on_timer(&mut self, world: &mut World<'_>, id: u32) -> Result<(), SimError>;
    /// A message of the phase has arrived.
    fn on_message(&mut self, world: &mut World<'_>, message: &Message) -> Result<(), SimError>;
}

/// A collective on its nodes.
pub struct Machine<'a> {
    world: World<'a>,
    hardware: Hardware,
    software: Software,
    what: Collective,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        plan: &'a Plan<'a>,
        settings: &Settings,
        elan: Elan,
        what: &Collective,
        members: &[u32],
    ) -> Result<Machine<'a>, SimError> {
        let mut net = Net::new(plan, settings);
        net.over_buses(Buses::of(&plan.fabric.spec));
        let background = what.background.map(|spec| Background::new(plan, settings, spec)).transpose()?;
        let background = background.map(|mut background| {
            background.start(&mut net);
            background
        });
        let nodes = what.nodes;
        let dmas = Dmas::new(elan, plan.fabric.nodes());
        let (members, barriers) = (members.to_vec(), Barriers::new(nodes));
        let busy = vec![Busy::default(); members.len()];
        let world =
            World { net, plan, elan, nodes, members, background, dmas, barriers, busy, left: 0, late: Time(u64::MAX) };
        let hardware = Hardware::new(&world)?;
        Ok(Machine { world, hardware, software: Software::new(elan, nodes, what.algorithm), what: *what })
    }

    pub(super) fn run(mut self) -> Result<Outcome, SimError> {
        let mut random = Random::new(0x51e7);
        let (mut latencies, mut synchronised) = (Vec::new(), Vec::new());
        let mut shape = None;
        // Beside other traffic: until that has filled the network.
        let warm = if self.what.background.is_some() { Time::from_us(200.0) } else { Time::ZERO };
        self.rest(warm)?;
        // As programs that measure do: once before, so that translations are at hand.
        if let Some(bytes) = self.what.bytes {
            self.broadcast(bytes.min(self.world.elan.translation.page))?;
        }
        // What threads send is not translated, and in an idle network the first of their barriers is as the next.
        if self.what.bytes.is_some() || self.what.background.is_some() || self.what.algorithm != Algorithm::Nic {
            self.barrier()?;
        }
        let begun = self.world.net.now();
        for sample in 0..self.what.samples {
            if sample > 0 && self.what.limit.is_some_and(|limit| self.world.net.now() >= begun + limit) {
                break;
            }
            self.rest(Time(u64::from(random.below(GAP_PS))))?;
            let start = self.world.net.now();
            if let Some(bytes) = self.what.bytes {
                shape = self.broadcast(bytes)?;
                latencies.push(self.world.net.now() - start);
                self.barrier()?;
                synchronised.push(self.world.net.now() - start);
            } else {
                self.barrier()?;
                latencies.push(self.world.net.now() - start);
            }
        }
        let (net, barriers) = (&self.world.net, self.world.barriers.over());
        let run = Run::of(net, net.now(), net.stats().delivered_bytes);
        let lookups = self.world.dmas.lookups;
        Ok(Outcome {
            latencies,
            synchronised,
            run,
            busy: self.world.busy(),
            barriers,
            retries: self.hardware.retries,
            lookups,
            shape,
            fallback: None,
        })
    }

    fn barrier(&mut self) -> Result<(), SimError> {
        self.world.arrive(true);
        match self.what.algorithm {
            Algorithm::Hardware => {
                self.hardware.barrier();
                play(&mut self.world, &mut self.hardware, 0)
            }
            Algorithm::Tree | Algorithm::Nic => {
                self.software.barrier();
                play(&mut self.world, &mut self.software, 0)
            }
        }
    }

    fn broadcast(&mut self, bytes: u64) -> Result<Option<Shape>, SimError> {
        self.world.arrive(false);
        if self.what.algorithm == Algorithm::Hardware {
            self.hardware.broadcast(bytes);
            play(&mut self.world, &mut self.hardware, bytes)?;
            return Ok(None);
        }
        let shape = Shape::best(&self.world, bytes)?;
        self.software.broadcast(bytes, shape);
        play(&mut self.world, &mut self.software, bytes)?;
        Ok(Some(shape))
    }

    /// Lets time go by.
    fn rest(&mut self, time: Time) -> Result<(), SimError> {
        if time == Time::ZERO {
            return Ok(());
        }
        let until = self.world.net.now() + time;
        self.world.net.timer(until, 0);
        while !matches!(self.world.next()?, Note::Timer(_)) {}
        Ok(())
    }
}

/// Plays a phase that moves `bytes` until every node has ended it.
fn play(world: &mut World<'_>, phase: &mut impl Phase, bytes: u64) -> Result<(), SimError> {
    world.late = world.net.now() + STUCK + Time(bytes.saturating_mul(STUCK_PER_BYTE_PS));
    phase.begin(world)?;
    while world.left > 0 {
        match world.next()? {
            Note::Timer(id) => phase.on_timer(world, id)?,
            Note::Delivered(message) => phase.on_message(world, &message)?,
        }
    }
    world.late = Time(u64::MAX);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::{Fabric, catalog};

    /// A collective whose nodes wait for what never arrives.
    struct Never;

    impl Phase for Never {
        fn begin(&mut self, _: &mut World<'_>) -> Result<(), SimError> {
            Ok(())
        }
        fn on_timer(&mut self, _: &mut World<'_>, _: u32) -> Result<(), SimError> {
            Ok(())
        }
        fn on_message(&mut self, _: &mut World<'_>, _: &Message) -> Result<(), SimError> {
            Ok(())
        }
    }

    #[test]
    fn what_does_not_end_is_given_up_beside_traffic_that_never_ends_and_without() {
        let spec = catalog::load("qsnet").unwrap();
        let fabric = Fabric::build(&spec, 4).unwrap();
        let elan = Elan::of(&spec).unwrap();
        let settings = elan.settings(&Settings::of(&spec));
        let plan = Plan::new(&fabric, &settings).unwrap();
        for (background, told) in [(None, "nothing is left"), (Some("uniform:0.02"), "not over at 50000 us")] {
            let background = background.map(|text| text.parse().unwrap());
            let what = Collective {
                algorithm: Algorithm::Hardware,
                nodes: 4,
                bytes: None,
                samples: 1,
                limit: None,
                background,
            };
            let mut machine = Machine::new(&plan, &settings, elan, &what, &[0, 1, 2, 3]).unwrap();
            machine.world.arrive(true);
            let wrong = play(&mut machine.world, &mut Never, 0).unwrap_err().to_string();
            assert!(wrong.contains(told), "{wrong}");
        }
    }
}
