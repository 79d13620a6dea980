//! The drawings of a page: a fabric group by group, one link, one pair. Loads are those of `analyze` (the load count,
//! of random traffic the median draw); nothing here counts anew.

mod fabric;
mod groups;
mod link;
mod pair;

pub use fabric::FabricView;
pub use link::LinkView;
pub use pair::PairView;

use crate::seen::{self, Seen};
use crate::traffic::Pattern;
use crate::values::{Numbers, wrong};
use crate::{Heard, Steps};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Resource};
use hotlink_study::Error;
use hotlink_study::failed::ends;
use serde_json::{Value, json};
use std::rc::Rc;

impl Seen {
    /// The load under the pattern.
    fn of(pattern: &Pattern, fabric: &str, nodes: Option<&Numbers>, heard: &Heard) -> Result<Rc<Seen>, Error> {
        if let Some(seen) = seen::remembered() {
            return Ok(seen);
        }
        let source = pattern.open(fabric)?;
        let sizes = match nodes {
            Some(nodes) => nodes.list()?,
            None => source.sizes(None)?,
        };
        let &[nodes] = &sizes[..] else { return Err(wrong("nodes", "a view shows one size")) };
        let question = pattern.pattern()?;
        let steps = Steps::of(heard, question.draws());
        let built = source.build(nodes).map_err(Error::Input)?;
        let (_, counted) = question.by_load(built, &steps).map_err(Error::Input)?;
        Ok(seen::remember(question, counted))
    }

    fn fabric(&self) -> &Fabric {
        &self.counted.fabric
    }

    fn channels(&self) -> impl Iterator<Item = Channel> + use<> {
        (0..self.fabric().network.channels() as u32).map(Channel)
    }

    /// The channel of that number.
    fn channel(&self, number: u32) -> Result<Channel, Error> {
        let count = self.fabric().network.channels();
        match (number as usize) < count {
            true => Ok(Channel(number)),
            false => Err(wrong("link", &format!("{number}: must be below {count}"))),
        }
    }

    /// Payload that the channel can carry, B/s; `None`: it is never a limit.
    fn capacity_bps(&self, channel: Channel) -> Option<f64> {
        let (rates, efficiency) = (self.question.capacities.into(), self.counted.bounds.efficiency);
        Some(self.fabric().payload_mbps(Resource::Channel(channel), rates, efficiency)? * 1e6)
    }

    /// Payload over the channel when every node sends as much as the traffic allows, B/s.
    fn load_bps(&self, channel: Channel) -> f64 {
        let bounds = &self.counted.bounds;
        let all = self.counted.load.channel[channel.0 as usize];
        let load = all * bounds.bandwidth_per_node_mbps * 1e6 / bounds.flow_per_node;
        if load.is_finite() { load } else { 0.0 }
    }

    /// How full the channel then is: 1 is full.
    fn share(&self, channel: Channel) -> f64 {
        self.capacity_bps(channel).filter(|capacity| *capacity > 0.0).map_or(0.0, |most| self.load_bps(channel) / most)
    }

    /// The two ends' names: `leaf 0` and `spine 1 #2`. Joined by an arrow they name the link for `fail`.
    fn ends(&self, channel: Channel) -> [String; 2] {
        let both = ends(self.fabric(), channel);
        let (from, to) = both.split_once(" -> ").unwrap_or((&both, ""));
        [from.to_owned(), to.to_owned()]
    }

    /// A link with its load.
    fn link(&self, channel: Channel) -> Value {
        let [from, to] = self.ends(channel);
        json!({
            "link": channel.0,
            "from": from,
            "to": to,
            "share": self.share(channel),
            "load_Bps": self.load_bps(channel),
            "capacity_Bps": self.capacity_bps(channel),
        })
    }
}
