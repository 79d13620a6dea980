//! Valiant load where packets go by a random other region, a group or a switch.
//!
//! Every region but those of the ends gets an equal share of each pair's flow. The first legs from a home to a region
//! therefore add up for all destinations, and their ends are where the second legs begin.

use crate::{Counter, Counts, Injections, LoadError, in_chunks};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::Vertex;
use hotlink_fabric::routing::valiant::{Legs, Valiant};
use hotlink_fabric::routing::{Routing, State};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Most numbers that are kept of where first legs land: two GiB.
const MOST_CELLS: u64 = 1 << 28;

pub(crate) fn count(fabric: &Fabric, injections: &Injections) -> Result<Counts, LoadError> {
    let Routing::Valiant(valiant) = &fabric.routing else { return Ok(Counts::new(fabric)) };
    let homes = &fabric.attachment.homes;
    let devices = fabric.network.vertices() - fabric.nodes() as usize;
    let cells = homes.len() as u64 * devices as u64;
    if cells > MOST_CELLS {
        return Err(LoadError::Cells { cells, most: MOST_CELLS });
    }
    let plan = Plan { fabric, valiant, flows: flows(fabric, injections), landed: vec![OnceLock::new(); homes.len()] };
    let heard = injections.heard;
    let mut total = in_chunks(fabric, homes.len(), &|done, all| heard(done, 2 * all), |counter, from| {
        plan.first_legs(counter, from);
        Ok(())
    })?;
    let second = in_chunks(fabric, homes.len(), &|done, all| heard(all + done, 2 * all), |counter, to| {
        plan.second_legs(counter, to);
        Ok(())
    })?;
    total.add(&second);
    Ok(total)
}

/// Flow from each home to each, by the home that it comes from.
fn flows(fabric: &Fabric, injections: &Injections) -> Vec<Vec<f64>> {
    let homes = &fabric.attachment.homes;
    let mut number = vec![0; fabric.network.vertices()];
    homes.iter().enumerate().for_each(|(home, at)| number[at.0 as usize] = home);
    let mut flows = vec![vec![0.0; homes.len()]; homes.len()];
    let all = 0..homes.len();
    all.for_each(|to| injections.each(to, |from, amount, _, _| flows[number[from.0 as usize]][to] += amount));
    flows
}

struct Plan<'a> {
    fabric: &'a Fabric,
    valiant: &'a Valiant,
    flows: Vec<Vec<f64>>,
    /// By home: which share of its flow to a region lands at which switch.
    landed: Vec<OnceLock<Vec<(Vertex, f64)>>>,
}

impl Plan<'_> {
    fn region(&self, home: usize) -> u32 {
        self.valiant.region(self.fabric.attachment.homes[home])
    }

    /// Shares out a flow between different regions over this many intermediate ones.
    fn ways(&self) -> f64 {
        f64::from(self.valiant.regions() - 2)
    }

    fn first_legs(&self, counter: &mut Counter, from: usize) {
        let own = self.region(from);
        let mut by_region = vec![0.0; self.valiant.regions() as usize];
        self.flows[from].iter().enumerate().for_each(|(to, amount)| by_region[self.region(to) as usize] += amount);
        by_region[own as usize] = 0.0;
        let total: f64 = by_region.iter().sum();
        let mut landed = Vec::new();
        for via in (0..self.valiant.regions()).filter(|&via| via != own && total > 0.0) {
            let amount = (total - by_region[via as usize]) / self.ways();
            let toward = self.valiant.toward_region(&self.fabric.network, via);
            let start = State { at: self.fabric.attachment.homes[from], phase: 0 };
            push(self.fabric, &toward, start, amount, counter, &mut landed);
        }
        let _ = self.landed[from].set(landed);
    }

    fn second_legs(&self, counter: &mut Counter, to: usize) {
        let fabric = self.fabric;
        let (own, toward) = (self.region(to), fabric.routing.toward(&fabric.network, &fabric.attachment, to));
        let mut starts = vec![0.0; fabric.network.vertices()];
        for (from, flows) in self.flows.iter().enumerate().filter(|(_, flows)| flows[to] > 0.0) {
            if self.region(from) == own {
                starts[fabric.attachment.homes[from].0 as usize] += flows[to];
                continue;
            }
            for &(at, share) in self.landed[from].get().into_iter().flatten() {
                if self.valiant.region(at) != own {
                    starts[at.0 as usize] += share * flows[to] / self.ways();
                }
            }
        }
        for (at, amount) in (0..).map(Vertex).zip(starts).filter(|(_, amount)| *amount > 0.0) {
            let state = State { at, phase: 0 };
            counter.wait(state, toward.rank(state).unwrap_or(0), amount);
        }
        counter.drain(&toward, true, None);
    }
}

/// Pushes what starts at a home to where its first leg ends, farthest first.
fn push(
    fabric: &Fabric,
    toward: &Legs<'_>,
    start: State,
    amount: f64,
    counter: &mut Counter,
    landed: &mut Vec<(Vertex, f64)>,
) {
    let mut waiting = BTreeMap::from([((toward.rank(start).unwrap_or(0), start), 1.0)]);
    let mut hops = Vec::new();
    while let Some(((_, state), share)) = waiting.pop_last() {
        hops.clear();
        toward.hops(state, &mut hops);
        if hops.is_empty() {
            landed.push((state.at, share));
            continue;
        }
        counter.counts.vertex[state.at.0 as usize] += amount * share;
        for hop in &hops {
            counter.counts.channel[hop.channel.0 as usize] += amount * share * hop.share;
            let next = State { at: fabric.network.to(hop.channel), phase: hop.phase };
            *waiting.entry((toward.rank(next).unwrap_or(0), next)).or_insert(0.0) += share * hop.share;
        }
    }
}
