//! Open loop: every node offers messages at a given rate, whether the network takes them or not.
//!
//! Messages start at exponentially distributed intervals and wait in an unlimited source queue; latency counts from the
//! start. A loop runs for as long as its user asks. Statistics decide what is steady in it, and when.

use super::Run;
use super::series::Series;
use crate::error::SimError;
use crate::flow::Settings;
use crate::net::{Net, Note};
use crate::plan::Plan;
use hotlink_event::random::Random;
use hotlink_event::sizes::SizeLaw;
use hotlink_fabric::traffic::Demand;
use hotlink_fabric::units::Time;

/// Timer of the series; nodes' timers have their numbers.
const SAMPLE: u32 = u32::MAX;
/// The timer at which a run stops.
const STOP: u32 = u32::MAX - 1;
/// Messages from one [`Mark`] to the next.
const MARKED_EACH: usize = 64;

/// The messages of a run, in the order in which they were posted.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// When each was posted, in picoseconds.
    pub posted_ps: Vec<u64>,
    /// How long each took; 0 while it has not arrived.
    pub latency_ps: Vec<u64>,
    /// Sender and receiver.
    pub between: Vec<[u32; 2]>,
    /// Bytes; empty where all have the same.
    pub bytes: Vec<u64>,
}

/// Payload that had arrived when a message was posted.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: u64,
    bytes: u64,
}

/// An open loop in operation.
pub struct OpenLoop<'a> {
    net: Net<'a>,
    targets: Vec<Targets>,
    /// Mean time from one message of a node to the next.
    gaps: Vec<f64>,
    randoms: Vec<Random>,
    sizes: SizeLaw,
    /// Mean time from one message of an average sender to the next.
    gap_ps: f64,
    senders: u32,
    flows: Flows,
    marks: Vec<Mark>,
    /// A note after the time up to which the loop ran.
    held: Option<Note>,
    series: Option<Series>,
}

/// Where a node's messages go.
pub(super) struct Targets {
    /// Destination and cumulated amount, of the listed flows; then the uniform rest.
    listed: Vec<(u32, f64)>,
    uniform: f64,
}

impl Targets {
    pub(super) fn total(&self) -> f64 {
        self.listed.last().map_or(0.0, |last| last.1) + self.uniform
    }
    pub(super) fn draw(&self, node: u32, nodes: u32, random: &mut Random) -> u32 {
        let point = random.unit() * self.total();
        match self.listed.iter().find(|(_, upto)| point < *upto) {
            Some((to, _)) => *to,
            None => (node + 1 + random.below(nodes - 1)) % nodes,
        }
    }
}

pub(super) fn targets(demand: &Demand) -> Vec<Targets> {
    let uniform = demand.all_pairs * f64::from(demand.nodes.saturating_sub(1));
    let mut all: Vec<Targets> = (0..demand.nodes).map(|_| Targets { listed: Vec::new(), uniform }).collect();
    for flow in demand.flows.iter().filter(|flow| flow.source != flow.destination && flow.amount > 0.0) {
        let own = &mut all[flow.source.0 as usize].listed;
        let before = own.last().map_or(0.0, |last| last.1);
        own.push((flow.destination.0, before + flow.amount));
    }
    all
}

impl<'a> OpenLoop<'a> {
    /// An open loop before its start. It has the pattern of `demand`; each sending node offers an average of `mbps`
    /// MB/s (10^6 bytes per second) of payload.
    pub fn new(plan: &'a Plan<'a>, settings: &Settings, demand: &Demand, sizes: SizeLaw, mbps: f64) -> OpenLoop<'a> {
        let nodes = plan.fabric.nodes();
        let targets = targets(demand);
        let senders = targets.iter().filter(|t| t.total() > 0.0).count() as u32;
        let mean: f64 = targets.iter().map(Targets::total).sum::<f64>() / f64::from(senders.max(1));
        // MB/s is bytes per microsecond.
        let gap_ps = sizes.mean().max(1.0) / mbps * 1e6;
        let gaps: Vec<f64> = targets.iter().map(|t| gap_ps * mean / t.total()).collect();
        let mut randoms: Vec<Random> = (0..nodes).map(|n| Random::new(settings.seed ^ u64::from(n) << 32)).collect();
        let mut net = Net::new(plan, settings);
        for node in (0..nodes).filter(|&n| targets[n as usize].total() > 0.0) {
            net.timer(Time(randoms[node as usize].exponential_ps(gaps[node as usize])), node);
        }
        OpenLoop {
            net,
            targets,
            gaps,
            randoms,
            sizes,
            gap_ps,
            senders,
            flows: Flows::default(),
            marks: Vec::new(),
            held: None,
            series: None,
        }
    }

    /// From now on every server is sampled each `interval`.
    pub fn watch(&mut self, interval: Time) {
        self.series = Some(Series::new(&self.net, interval));
        self.net.timer(self.net.now() + interval, SAMPLE);
    }

    /// Says how much payload will have been delivered at the end, at most.
    pub fn expect(&mut self, bytes: u64) {
        self.net.expect(bytes);
    }

    /// Nodes that send.
    pub fn senders(&self) -> u32 {
        self.senders
    }

    /// When an average sender has offered this many messages.
    pub fn time_of(&self, messages: f64) -> Time {
        Time((self.gap_ps * messages).round() as u64)
    }

    /// Runs to a time: what has arrived by then is known to the packet.
    ///
    /// # Errors
    /// See [`Net::advance`].
    pub fn run_to(&mut self, end: Time) -> Result<(), SimError> {
        self.net.timer(end.max(self.net.now()), STOP);
        loop {
            match self.held.take().map_or_else(|| self.net.advance(), |note| Ok(Some(note)))? {
                Some(Note::Timer(STOP)) | None => return self.net.locked().map_or(Ok(()), Err),
                Some(note) => self.take(note)?,
            }
        }
    }

    /// Runs until the next note would be after a time: it is held, and the network may be ahead.
    fn run_about(&mut self, end: Time) -> Result<(), SimError> {
        while let Some(note) = self.held.take().map_or_else(|| self.net.advance(), |note| Ok(Some(note)))? {
            if self.net.now() > end {
                self.held = Some(note);
                break;
            }
            self.take(note)?;
        }
        Ok(())
    }

    /// Goes on, at most to `end`, until no more of the first `messages` messages are under way than were lost. Returns
    /// how many of them have not arrived.
    ///
    /// # Errors
    /// See [`Net::advance`].
    pub fn drain(&mut self, messages: usize, end: Time) -> Result<usize, SimError> {
        let mut missing = self.flows.latency_ps[..messages].iter().filter(|&&latency| latency == 0).count();
        // Looked for in steps: what has arrived meanwhile is cheaper to count than to note.
        let step = Time(((end.0 - self.net.now().0.min(end.0)) / 64).max(1));
        while missing as u64 > self.net.stats().lost_messages && self.net.now() < end {
            let until = end.min(self.net.now() + step);
            self.run_about(until)?;
            missing = self.flows.latency_ps[..messages].iter().filter(|&&latency| latency == 0).count();
            if self.held.is_none() {
                break;
            }
        }
        self.net.locked().map_or(Ok(missing), Err)
    }

    fn take(&mut self, note: Note) -> Result<(), SimError> {
        let now = self.net.now();
        match note {
            Note::Timer(SAMPLE) => {
                if let Some(series) = &mut self.series {
                    self.net.timer(series.look(&self.net), SAMPLE);
                }
            }
            Note::Timer(node) => {
                let nodes = self.targets.len() as u32;
                let random = &mut self.randoms[node as usize];
                let to = self.targets[node as usize].draw(node, nodes, random);
                let next = now + Time(random.exponential_ps(self.gaps[node as usize]));
                let bytes = self.sizes.draw(random);
                let flows = &mut self.flows;
                if flows.posted_ps.len().is_multiple_of(MARKED_EACH) {
                    self.marks.push(Mark { at: now.0, bytes: self.net.stats().delivered_bytes });
                }
                self.net.post(node, to, bytes, flows.posted_ps.len() as u64)?;
                flows.posted_ps.push(now.0);
                flows.latency_ps.push(0);
                flows.between.push([node, to]);
                if !matches!(self.sizes, SizeLaw::Fixed(_)) {
                    flows.bytes.push(bytes);
                }
                self.net.timer(next, node);
            }
            // A message takes a picosecond at least, so that 0 stands for none.
            Note::Delivered(m) => self.flows.latency_ps[m.tag as usize] = (now.0 - m.posted_ps).max(1),
        }
        Ok(())
    }

    /// The messages so far.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Payload that has arrived, in bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.net.stats().delivered_bytes
    }

    /// Payload that had arrived at a time of the past, as far as was noted then.
    pub fn delivered_at(&self, at: Time) -> u64 {
        let after = self.marks.partition_point(|mark| mark.at <= at.0);
        let Some(from) = after.checked_sub(1).map(|before| self.marks[before]) else { return 0 };
        let to = self.marks.get(after).copied();
        let to = to.unwrap_or(Mark { at: self.net.now().0, bytes: self.delivered_bytes() });
        let share = (at.0 - from.at) as f64 / ((to.at.max(at.0) - from.at) as f64).max(1.0);
        from.bytes + ((to.bytes - from.bytes) as f64 * share) as u64
    }

    /// Packets made so far.
    pub fn packets(&self) -> u64 {
        self.net.stats().packets
    }

    /// The run so far: `bytes` arrived in its measured part, which took `elapsed`.
    pub fn run(&self, elapsed: Time, bytes: u64) -> Run {
        Run::of(&self.net, elapsed, bytes)
    }

    /// What was seen of every server, where that was asked for.
    pub fn series(&self) -> Option<&Series> {
        self.series.as_ref()
    }
}
