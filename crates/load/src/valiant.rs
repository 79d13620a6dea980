//! Valiant load on a dragonfly. Every intermediate group gets an equal share of each pair's flow. The first legs to a
//! group therefore add up for all destinations, and the second legs to a router start where the first ones end. In a
//! single group the intermediate places are its routers.

use crate::{Counter, Counts, Injections, LoadError, in_chunks};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::Vertex;
use hotlink_fabric::routing::dragonfly::{DragonflyToward, Goal};
use hotlink_fabric::routing::{State, Toward};
use hotlink_fabric::topology::Dragonfly;

pub(crate) fn count(fabric: &Fabric, shape: &Dragonfly, injections: &Injections) -> Result<Counts, LoadError> {
    let plan = Plan::new(fabric, shape, injections);
    let heard = injections.heard;
    let mut total = in_chunks(fabric, shape.regions() as usize, &|done, all| heard(done, 2 * all), |counter, via| {
        plan.first_legs(counter, via as u32);
        Ok(())
    })?;
    let second =
        in_chunks(fabric, fabric.attachment.homes.len(), &|done, all| heard(all + done, 2 * all), |counter, home| {
            plan.second_legs(counter, injections, home);
            Ok(())
        })?;
    total.add(&second);
    Ok(total)
}

fn cell(shape: &Dragonfly, router: Vertex, region: u32) -> usize {
    ((router.0 - shape.nodes) * shape.regions() + region) as usize
}

struct Plan<'a> {
    fabric: &'a Fabric,
    shape: &'a Dragonfly,
    /// Flow from each router to each region, router-major.
    to_region: Vec<f64>,
}

impl<'a> Plan<'a> {
    fn new(fabric: &'a Fabric, shape: &'a Dragonfly, injections: &Injections) -> Plan<'a> {
        let mut to_region = vec![0.0; (shape.groups * shape.routers * shape.regions()) as usize];
        for (home, &target) in fabric.attachment.homes.iter().enumerate() {
            let region = shape.region(target);
            injections.each(home, |from, amount, _, _| to_region[cell(shape, from, region)] += amount);
        }
        Plan { fabric, shape, to_region }
    }

    /// Shares out a flow between different regions over this many intermediate ones.
    fn ways(&self) -> f64 {
        f64::from(self.shape.regions() - 2)
    }

    fn first_legs(&self, counter: &mut Counter, via: u32) {
        let shape = self.shape;
        let goal = if shape.groups == 1 { Goal::Router(shape.router(0, via)) } else { Goal::Group(via) };
        let toward = DragonflyToward::new(shape, &self.fabric.network, goal);
        for group in 0..shape.groups {
            for place in 0..shape.routers {
                let router = shape.router(group, place);
                let own = shape.region(router);
                if own == via {
                    continue;
                }
                let others = (0..shape.regions()).filter(|&to| to != own && to != via);
                let amount: f64 = others.map(|to| self.to_region[cell(shape, router, to)]).sum();
                let state = State { at: router, phase: 0 };
                if amount > 0.0 {
                    counter.wait(state, toward.rank(state), amount / self.ways());
                }
            }
        }
        counter.drain(&Toward::Dragonfly(toward), false, None);
    }

    fn second_legs(&self, counter: &mut Counter, injections: &Injections, home: usize) {
        let shape = self.shape;
        let target = self.fabric.attachment.homes[home];
        let toward = DragonflyToward::new(shape, &self.fabric.network, Goal::Router(target));
        let (own, _) = shape.locate(target);
        let mut sent = vec![0.0; (shape.groups * shape.routers) as usize];
        injections.each(home, |from, amount, _, _| sent[(from.0 - shape.nodes) as usize] += amount);
        let mut start = |router: Vertex, amount: f64| {
            if amount > 0.0 {
                let state = State { at: router, phase: 0 };
                counter.wait(state, toward.rank(state), amount);
            }
        };
        if shape.groups == 1 {
            let own = shape.region(target);
            // Between nodes of one router there is no path by another.
            start(target, sent[own as usize]);
            for (from, &amount) in (0..shape.routers).zip(&sent).filter(|(from, _)| *from != own) {
                let vias = (0..shape.routers).filter(|&via| via != from && via != own);
                vias.for_each(|via| start(shape.router(0, via), amount / self.ways()));
            }
            return counter.drain(&Toward::Dragonfly(toward), true, None);
        }
        for group in 0..shape.groups {
            let by_router = &sent[(group * shape.routers) as usize..][..shape.routers as usize];
            if group == own {
                by_router.iter().enumerate().for_each(|(at, &amount)| start(shape.router(own, at as u32), amount));
                continue;
            }
            let total: f64 = by_router.iter().sum();
            if total > 0.0 {
                for via in (0..shape.groups).filter(|&via| via != group && via != own) {
                    self.land(group, via, by_router, total, &mut start);
                }
            }
        }
        counter.drain(&Toward::Dragonfly(toward), true, None);
    }

    /// Where the flows of a group's routers arrive in `via`: a router with links of its own uses those, the others
    /// spread over all.
    fn land(&self, group: u32, via: u32, by_router: &[f64], total: f64, start: &mut impl FnMut(Vertex, f64)) {
        let shape = self.shape;
        let offset = shape.offset(group, via);
        let gateway = |link| shape.gateway(offset, link).0 as usize;
        // A router's own flow per own link: its links share it evenly.
        let own = |link| {
            let links = (0..shape.links).filter(|&other| gateway(other) == gateway(link)).count();
            by_router[gateway(link)] / links as f64
        };
        let owners: f64 = (0..shape.links).map(own).sum();
        let spread = (total - owners).max(0.0) / f64::from(shape.links);
        for link in 0..shape.links {
            let (to, _) = shape.gateway(shape.groups - offset, link);
            start(shape.router(via, to), (own(link) + spread) / self.ways());
        }
    }
}
