//! How long a message is under way, by the loads of what carries it. The time is that of its head in the idle network,
//! and its waits for other traffic.

use crate::Load;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::spec::{Capacities, Role};
use std::collections::BTreeMap;

impl Load {
    /// Mean time of a message's head from one host to the other through the idle network, in microseconds. It sums the
    /// latency of every resource, as often as messages pass it, without software and the time of the message's bytes.
    /// `None` where nobody sends.
    ///
    /// No route is followed again: a resource's load is how many messages pass it.
    pub fn idle_us(&self, fabric: &Fabric) -> Option<f64> {
        let network = &fabric.network;
        let total = |of: &[f64]| of.iter().sum::<f64>();
        let (sent, received) = (total(&self.sent), total(&self.received));
        let hosts = [(true, sent), (false, received)]
            .into_iter()
            .flat_map(|(is_sender, passed)| network.host_parts(Node(0), is_sender).map(move |part| (part, passed)));
        let vertices = (network.nodes as usize..network.vertices())
            .map(|vertex| (Resource::Vertex(Vertex(vertex as u32)), self.vertex[vertex]));
        let channels =
            (0..network.channels()).map(|channel| (Resource::Channel(Channel(channel as u32)), self.channel[channel]));
        // By role, of which there are few; a graph's links with values of their own are apart.
        let mut by_role: BTreeMap<Role, (Resource, f64)> = BTreeMap::new();
        let mut sum = 0.0;
        for (resource, load) in hosts.chain(vertices).chain(channels).filter(|(_, load)| *load > 0.0) {
            match resource {
                Resource::Channel(channel) if network.overrides.contains_key(&channel) => {
                    sum += load * fabric.latency(resource).us();
                }
                _ => by_role.entry(network.role(resource)).or_insert((resource, 0.0)).1 += load,
            }
        }
        sum += by_role.values().map(|(resource, load)| load * fabric.latency(*resource).us()).sum::<f64>();
        (sent > 0.0).then(|| sum / sent)
    }
}

/// The resources on messages' paths as queues: messages of one fixed time arrive at each at random (M/D/1). The model
/// is exact for a node's own link, and for one switch of many ports to which many send. In a tree it is nearly exact,
/// since each switch mixes what it passes on.
#[derive(Clone, Debug)]
pub struct Queues {
    /// One term for the resources of the same load. It has the messages that pass all of them, their time in
    /// microseconds, and the load over the rate as a share of the greatest.
    terms: Vec<Term>,
    /// Messages that are sent.
    sent: f64,
}

#[derive(Clone, Copy, Debug)]
struct Term {
    passed: f64,
    service_us: f64,
    share: f64,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// A host's device, in a row with its link.
    Host,
    /// A node's link.
    Link,
    /// Any other.
    Between,
}

impl Load {
    /// The queues of messages of `bytes`, one packet each. `None` where nobody sends, or nothing has a rate.
    pub fn queues(&self, fabric: &Fabric, capacities: Capacities, efficiency: f64, bytes: u64) -> Option<Queues> {
        let network = &fabric.network;
        let mut terms = Vec::new();
        for resource in network.resources() {
            let load = self.of(fabric, resource);
            let rate = fabric.payload_mbps(resource, capacities, efficiency).filter(|_| load > 0.0);
            let Some(mbps) = rate else { continue };
            let place = match (resource, network.role(resource)) {
                (Resource::Host(..), _) => Place::Host,
                (_, Role::Link) => Place::Link,
                _ => Place::Between,
            };
            terms.push(Term { passed: load, service_us: bytes as f64 / mbps, share: load / mbps, place });
        }
        let most = terms.iter().map(|term| term.share).fold(0.0, f64::max);
        terms.iter_mut().for_each(|term| term.share /= most);
        let sent: f64 = self.sent.iter().sum();
        (most > 0.0 && sent > 0.0).then_some(Queues { terms, sent })
    }
}

impl Queues {
    /// Mean time that a message waits on its path, in microseconds. Nodes send at `load`, below 1, of what the hottest
    /// resource allows.
    pub fn waiting_us(&self, load: f64) -> f64 {
        let of = |place: Place| -> f64 {
            let terms = self.terms.iter().filter(|term| term.place == place);
            let waits = terms.map(|term| {
                let busy = load * term.share;
                term.passed * busy * term.service_us / (2.0 * (1.0 - busy))
            });
            waits.sum::<f64>() / self.sent
        };
        // Between servers in a row that nobody else joins, a message waits only at the slowest.
        of(Place::Between) + of(Place::Link).max(of(Place::Host))
    }
}
