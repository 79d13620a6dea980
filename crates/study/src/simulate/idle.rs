//! Times of messages that are alone in the network, which slow-downs are told against.

use crate::bound::message::alone_us;
use hotlink_sim::plan::RouteBuffer;
use hotlink_sim::{Plan, Settings};
use std::collections::{BTreeSet, HashMap};

/// Packets of a message whose time alone is always run: no formula gives the overlap of a short message's parts.
const SHORT: u64 = 64;
/// Packets that sample the routes of a pair where each packet may take another.
const DRAWN: u32 = 16;

/// Times of messages alone in the network: of each kind of way once for each size. Of many sizes that are long, only powers of
/// two of whole packets are run: between them time grows evenly.
pub(super) struct Idle<'a> {
    plan: &'a Plan<'a>,
    settings: &'a Settings,
    /// All messages have one size.
    one_size: bool,
    /// Place in `times` by pair, and by the links of its route.
    ways: HashMap<Vec<u64>, usize>,
    times: Vec<([u32; 2], HashMap<u64, f64>)>,
}

impl<'a> Idle<'a> {
    /// None is known yet.
    pub(super) fn new(plan: &'a Plan<'a>, settings: &'a Settings, one_size: bool) -> Idle<'a> {
        Idle { plan, settings, one_size, ways: HashMap::new(), times: Vec::new() }
    }

    /// Whether no time is known yet.
    pub(super) fn is_new(&self) -> bool {
        self.times.is_empty()
    }

    /// Payload of a full packet.
    pub(super) fn packet(&self) -> u64 {
        self.plan.packet_bytes.into()
    }

    /// The longest time of `bytes` on any way so far.
    pub(super) fn longest(&mut self, bytes: u64) -> Result<f64, String> {
        (0..self.times.len()).try_fold(0.0, |longest: f64, way| Ok(longest.max(self.at(way, bytes)?)))
    }

    /// The place of a pair's way.
    pub(super) fn way_of(&mut self, between: [u32; 2]) -> Result<usize, String> {
        let pair = vec![u64::from(between[0]), u64::from(between[1])];
        match self.ways.get(&pair) {
            Some(&way) => Ok(way),
            None => {
                let way = self.way(between)?;
                self.ways.insert(pair, way);
                Ok(way)
            }
        }
    }

    /// Microseconds of a message between two nodes.
    pub(super) fn us(&mut self, between: [u32; 2], bytes: u64) -> Result<f64, String> {
        let way = self.way_of(between)?;
        let packets = bytes.div_ceil(u64::from(self.plan.packet_bytes).max(1));
        if self.one_size || packets <= SHORT {
            return self.at(way, bytes);
        }
        let upper = u64::from(self.plan.packet_bytes) * packets.next_power_of_two();
        let lower = upper / 2;
        let (low, high) = (self.at(way, lower)?, self.at(way, upper)?);
        Ok(low + (high - low) * (bytes - lower) as f64 / (upper - lower) as f64)
    }

    fn at(&mut self, way: usize, bytes: u64) -> Result<f64, String> {
        let (between, known) = &mut self.times[way];
        if let Some(&us) = known.get(&bytes) {
            return Ok(us);
        }
        let us = alone_us(self.plan, self.settings, *between, bytes)?;
        known.insert(bytes, us);
        Ok(us)
    }

    /// The place of pairs whose ways cross the same kinds of servers after the same times, as many side by side.
    fn way(&mut self, between: [u32; 2]) -> Result<usize, String> {
        let (mut way, [from, to]) = (RouteBuffer::default(), between);
        let kind = |lane: u32| u64::from(self.plan.server_class[(lane >> self.plan.lane_shift) as usize]);
        let (mut kinds, mut lanes) = (BTreeSet::new(), Vec::<BTreeSet<u32>>::new());
        for packet in 0..if self.plan.one_path() { 1 } else { DRAWN } {
            let choice = self.plan.choice(from, to, 0, packet);
            self.plan.route(from, to, choice, &mut way).map_err(|error| error.to_string())?;
            lanes.resize(lanes.len().max(way.stages.len()), BTreeSet::new());
            lanes.iter_mut().zip(&way.stages).for_each(|(lanes, stage)| _ = lanes.insert(stage.lane));
            kinds.insert(way.stages.iter().map(|stage| (kind(stage.lane), stage.latency_ps())).collect::<Vec<_>>());
        }
        // Longer than a pair's own key, so that none is taken for the other.
        let key = [u64::MAX; 3]
            .into_iter()
            .chain(kinds.into_iter().flatten().flat_map(|(kind, latency)| [kind, latency]))
            .chain(lanes.iter().map(|lanes| lanes.len() as u64));
        let next = self.times.len();
        let place = *self.ways.entry(key.collect()).or_insert(next);
        if place == next {
            self.times.push((between, HashMap::new()));
        }
        Ok(place)
    }
}
