//! What flows that share resources carry together, for any share of each.
//!
//! The hot link's R N / L ([`Bounds`]) holds while every flow gets the same. With a higher offered load, flows that do
//! not cross the hot link go on. Each bound here sums the most that the flows send, and subtracts what a resource
//! cannot carry of it.

use crate::Bounds;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Node, Resource};
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{Capacities, Role};
use hotlink_fabric::traffic::{Demand, Flow};
use hotlink_load::Load;
use std::collections::BTreeMap;

/// What a flow brings.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// MB/s that it offers; infinite where it sends as fast as it can.
    pub mbps: f64,
    /// Resources with a rate on its path, by number, and the part of it that crosses each.
    pub crosses: Vec<(u32, f64)>,
}

/// The most that flows bring together, and what sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Together {
    /// MB/s of all.
    pub mbps: f64,
    /// The resource that keeps back most; `None`: they offer no more.
    pub resource: Option<u32>,
}

/// Below this share of all a resource that keeps something back does so by rounding.
const LEAST_GAIN: f64 = 1e-9;

/// The most that `flows` bring together over resources of this many MB/s.
///
/// For any set of resources, flows carry at most the rates of these, and what all else of the flows could carry alone.
/// The set is chosen greedily, so the bound need not be the least; it holds for any set.
pub fn together(flows: &[Offered], mbps: &BTreeMap<u32, f64>) -> Together {
    let rate = |resource: &u32| mbps.get(resource).copied().unwrap_or(f64::INFINITY);
    let alone: Vec<Together> = flows.iter().map(|flow| by_itself(flow, rate)).collect();
    let mut crossing: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    for (at, flow) in flows.iter().enumerate() {
        flow.crosses.iter().for_each(|&(resource, part)| crossing.entry(resource).or_default().push((at, part)));
    }
    let slowest = alone.iter().min_by(|a, b| a.mbps.total_cmp(&b.mbps));
    let mut found = Together { mbps: alone.iter().map(|flow| flow.mbps).sum(), resource: None };
    // For each flow, the part that no chosen resource bounds.
    let mut left = vec![1.0_f64; flows.len()];
    loop {
        let gain = |(resource, of): (&u32, &Vec<(usize, f64)>)| {
            let over: f64 = of.iter().map(|&(at, part)| alone[at].mbps * part.min(left[at])).sum();
            (*resource, over - rate(resource))
        };
        let best = crossing.iter().map(gain).filter(|(_, gain)| *gain > LEAST_GAIN * found.mbps);
        let Some((resource, gain)) = best.reduce(|best, next| if next.1 > best.1 { next } else { best }) else { break };
        found = Together { mbps: found.mbps - gain, resource: found.resource.or(Some(resource)) };
        for (at, part) in crossing.remove(&resource).into_iter().flatten() {
            left[at] -= part.min(left[at]);
        }
    }
    Together { resource: found.resource.or(slowest.and_then(|flow| flow.resource)), ..found }
}

/// What a flow brings that has all resources for itself.
fn by_itself(flow: &Offered, rate: impl Fn(&u32) -> f64) -> Together {
    let offered = Together { mbps: flow.mbps, resource: None };
    let by = |(resource, part): &(u32, f64)| Together { mbps: rate(resource) / part, resource: Some(*resource) };
    flow.crosses.iter().map(by).fold(offered, |least, next| if next.mbps < least.mbps { next } else { least })
}

/// Flows of a run: how many MB/s each offers from where to where; infinite: as much as it can.
pub struct Flows<'a> {
    /// Sender, receiver, MB/s.
    pub offered: &'a [(u32, u32, f64)],
    /// By what mean their number is divided: senders, or pairs.
    pub shares: f64,
    /// How packets choose among equal paths, and the seed.
    pub routes: (Paths, u64),
    /// Whether packets choose among paths, so that only the nodes' own devices and links hold all of a flow.
    pub is_loose: bool,
}

/// Resources of all flows that are followed one by one.
const MOST_FOLLOWED: u64 = 1 << 26;

impl Flows<'_> {
    /// `fair` with the most that these carry together, for any share of each.
    ///
    /// # Errors
    /// The flows are not of this fabric.
    pub fn together(&self, fabric: &Fabric, fair: &Bounds, capacities: Capacities) -> Result<Bounds, String> {
        let resources: Vec<Resource> = fabric.network.resources().collect();
        let rates: Vec<Option<f64>> =
            resources.iter().map(|&resource| fabric.payload_mbps(resource, capacities, fair.efficiency)).collect();
        let counts = |at: usize| {
            let role = fabric.network.role(resources[at]);
            rates[at].is_some() && !(self.is_loose && matches!(role, Role::SwitchLink | Role::GlobalLink))
        };
        let rated: Vec<usize> = (0..resources.len()).filter(|&at| counts(at)).collect();
        let found = if self.offered.len() as u64 * resources.len() as u64 <= MOST_FOLLOWED {
            let mut mbps = BTreeMap::new();
            let each = self.offered.iter().map(|&(from, to, offered)| {
                let load = self.load(fabric, vec![flow(&(from, to, 1.0))])?;
                let mut crosses = Vec::new();
                for &at in &rated {
                    let part = load.of(fabric, resources[at]);
                    if part > 0.0 {
                        let number = 2 * at as u32 + u32::from(is_into(fabric, resources[at], to));
                        mbps.insert(number, rates[at].unwrap_or(f64::INFINITY));
                        crosses.push((number, part));
                    }
                }
                Ok(Offered { mbps: offered, crosses })
            });
            let each: Vec<Offered> = each.collect::<Result<_, String>>()?;
            let (all, received) = (together(&each, &mbps), self.at_receivers(&each, &mbps));
            let found = if received.mbps < all.mbps { received } else { all };
            Together { resource: found.resource.map(|number| number / 2), ..found }
        } else {
            self.in_sum(fabric, &resources, &rates, &rated)?
        };
        let hottest = found.resource.map(|at| resources[at as usize]);
        Ok(fair.clone().set_by(fabric, found.mbps / self.shares, hottest))
    }

    /// What receivers take at most: each by the slowest resource that all of its flows cross whole. The set that is
    /// chosen greedily mixes senders' and receivers' resources, and may allow more.
    fn at_receivers(&self, flows: &[Offered], mbps: &BTreeMap<u32, f64>) -> Together {
        let rate = |resource: &u32| mbps.get(resource).copied().unwrap_or(f64::INFINITY);
        // By receiver: what its flows bring, how many they are, and how many of them cross each resource whole.
        let mut of: BTreeMap<u32, (f64, usize, BTreeMap<u32, usize>)> = BTreeMap::new();
        for (&(_, to, _), flow) in self.offered.iter().zip(flows) {
            let (brought, many, crossed) = of.entry(to).or_default();
            *brought += by_itself(flow, rate).mbps;
            *many += 1;
            let whole = flow.crosses.iter().filter(|(_, part)| *part > 1.0 - LEAST_GAIN);
            whole.for_each(|&(resource, _)| *crossed.entry(resource).or_default() += 1);
        }
        let (mut all, mut worst) = (0.0, (0.0, None));
        for (brought, many, crossed) in of.into_values() {
            let common =
                crossed.into_iter().filter(|&(_, of)| of == many).map(|(resource, _)| (rate(&resource), resource));
            let slowest = common.reduce(|least, next| if next.0 < least.0 { next } else { least });
            let (most, resource) = slowest.map_or((f64::INFINITY, None), |(rate, resource)| (rate, Some(resource)));
            all += most.min(brought);
            if brought - most > worst.0 {
                worst = (brought - most, resource);
            }
        }
        Together { mbps: all, resource: worst.1 }
    }

    fn load(&self, fabric: &Fabric, flows: Vec<Flow>) -> Result<Load, String> {
        let (paths, seed) = self.routes;
        let demand = Demand { nodes: fabric.nodes(), all_pairs: 0.0, flows };
        hotlink_load::count_paths(fabric, &demand, paths, seed).map_err(|error| error.told(fabric))
    }

    /// The bound for too many flows to follow: all that they offer, less what the most overloaded resource cannot
    /// carry.
    fn in_sum(
        &self,
        fabric: &Fabric,
        resources: &[Resource],
        rates: &[Option<f64>],
        rated: &[usize],
    ) -> Result<Together, String> {
        let load = self.load(fabric, self.offered.iter().map(flow).collect())?;
        let over = |&at: &usize| (at, load.of(fabric, resources[at]) - rates[at].unwrap_or(f64::INFINITY));
        let worst = rated.iter().map(over).filter(|(_, over)| *over > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
        let offered: f64 = self.offered.iter().map(|flow| flow.2).sum();
        Ok(Together { mbps: offered - worst.map_or(0.0, |(_, over)| over), resource: worst.map(|(at, _)| at as u32) })
    }
}

/// Whether a flow to node `to` comes in over a part of its host that has the same rate each way.
fn is_into(fabric: &Fabric, resource: Resource, to: u32) -> bool {
    let Resource::Host(node, role) = resource else { return false };
    node.0 == to && !fabric.spec.resource(role).is_some_and(|spec| spec.half_duplex())
}

/// `fair` with the most that pairs bring together that send as fast as they can, each of their number.
///
/// # Errors
/// The pairs are not of this fabric.
pub fn of_pairs(fabric: &Fabric, pairs: &Demand, fair: &Bounds, capacities: Capacities) -> Result<Bounds, String> {
    let pairs = pairs.flows.iter().map(|flow| (flow.source.0, flow.destination.0, f64::INFINITY));
    let offered: Vec<_> = pairs.collect();
    let shares = offered.len() as f64;
    let flows = Flows { offered: &offered, shares, routes: (fabric.spec.paths, 1), is_loose: false };
    flows.together(fabric, fair, capacities)
}

fn flow(&(from, to, amount): &(u32, u32, f64)) -> Flow {
    Flow { source: Node(from), destination: Node(to), amount }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(mbps: f64, crosses: &[u32]) -> Offered {
        Offered { mbps, crosses: crosses.iter().map(|&resource| (resource, 1.0)).collect() }
    }

    #[test]
    fn flows_that_all_cross_one_link_share_it() {
        let rates = BTreeMap::from([(0, 10.0), (1, 6.0), (2, 6.0)]);
        let both = [over(f64::INFINITY, &[1, 0]), over(f64::INFINITY, &[2, 0])];
        assert_eq!(together(&both, &rates), Together { mbps: 10.0, resource: Some(0) });
        assert_eq!(together(&both[..1], &rates), Together { mbps: 6.0, resource: Some(1) });
    }

    #[test]
    fn who_does_not_cross_the_hot_link_goes_on() {
        let rates = BTreeMap::from([(0, 10.0), (1, 8.0)]);
        let flows = [over(9.0, &[0]), over(9.0, &[0]), over(7.0, &[1])];
        assert_eq!(together(&flows, &rates), Together { mbps: 17.0, resource: Some(0) });
        // What is offered and carried is all there is.
        assert_eq!(together(&flows[2..], &rates), Together { mbps: 7.0, resource: None });
    }

    #[test]
    fn receivers_take_no_more_than_their_links_bring() {
        // Two senders of 10 to two receivers of 10: greedily chosen links may allow more than 20.
        let offered: Vec<(u32, u32, f64)> = [(0, 2, 9.0), (0, 3, 3.0), (1, 2, 7.0), (1, 3, 8.0)].to_vec();
        let crosses = |&(from, to, mbps): &(u32, u32, f64)| over(mbps, &[from, to]);
        let each: Vec<Offered> = offered.iter().map(crosses).collect();
        let rates = BTreeMap::from([(0, 100.0), (1, 100.0), (2, 10.0), (3, 10.0)]);
        let flows = Flows { offered: &offered, shares: 2.0, routes: (Paths::Packet, 1), is_loose: false };
        assert_eq!(flows.at_receivers(&each, &rates), Together { mbps: 20.0, resource: Some(2) });
        let few = Flows { offered: &offered[1..2], ..flows };
        assert_eq!(few.at_receivers(&each[1..2], &rates), Together { mbps: 3.0, resource: None });
    }

    #[test]
    fn a_flow_over_two_full_links_counts_once() {
        let rates = BTreeMap::from([(0, 4.0), (1, 4.0)]);
        let flows = [over(4.0, &[0, 1]), over(4.0, &[0]), over(4.0, &[1])];
        // The best that there is: both short ones, 4 each.
        assert_eq!(together(&flows, &rates).mbps, 8.0);
    }

    #[test]
    fn equal_paths_carry_a_flow_s_parts() {
        let rates = BTreeMap::from([(0, 3.0), (1, 3.0)]);
        let flows = [Offered { mbps: 10.0, crosses: vec![(0, 0.5), (1, 0.5)] }];
        assert_eq!(together(&flows, &rates).mbps, 6.0);
    }
}
