//! What jobs have in common: the load that each puts on every resource, and where they meet.

use super::Setting;
use hotlink_bound::Limited;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::Resource;
use hotlink_fabric::traffic::Demand;
use hotlink_fabric::units::Time;
use hotlink_load::Load;
use hotlink_study::bound::pattern::Pattern;

/// The loads of several jobs, in messages of one size.
pub(super) struct Loads<'a> {
    fabric: &'a Fabric,
    setting: &'a Setting<'a>,
    jobs: Vec<Load>,
    size: u64,
    efficiency: f64,
}

/// A resource, and what it carries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hot {
    pub(super) resource: Resource,
    /// Time that it needs for the bytes of all jobs.
    pub(super) time: Time,
    /// The share that each job has of them.
    pub(super) shares: Vec<f64>,
}

impl<'a> Loads<'a> {
    /// The load of each job's bytes between nodes, with packets as full as those of messages of `size`.
    pub(super) fn of(
        fabric: &'a Fabric,
        setting: &'a Setting<'a>,
        demands: &[Demand],
        size: u64,
    ) -> Result<Loads<'a>, String> {
        let count = |demand: &Demand| match demand.flows.is_empty() {
            true => Ok(none(fabric)),
            false => {
                Pattern::of_paths(fabric, demand, setting.capacities, size, setting.routes).map(|found| found.load)
            }
        };
        let jobs = demands.iter().map(count).collect::<Result<Vec<Load>, String>>()?;
        let mut all = none(fabric);
        jobs.iter().for_each(|job| add(&mut all, job));
        let efficiency = all.bounds(fabric, setting.capacities.into(), size).efficiency;
        Ok(Loads { fabric, setting, jobs, size, efficiency })
    }

    /// The resource that takes longest over the bytes of all jobs: of those that a job uses, or of all.
    pub(super) fn hottest(&self, job: Option<usize>) -> Option<Hot> {
        let network = &self.fabric.network;
        let used = |resource: &Resource| job.is_none_or(|job| self.jobs[job].of(self.fabric, *resource) > 0.0);
        let timed = network.resources().filter(used);
        let timed = timed.filter_map(|resource| Some((resource, self.us(resource)?)));
        // The first of equals (to rounding).
        let (resource, us) = timed.reduce(|most, one| if one.1 > most.1 * (1.0 + 1e-9) { one } else { most })?;
        let loads: Vec<f64> = self.jobs.iter().map(|job| job.of(self.fabric, resource)).collect();
        let total: f64 = loads.iter().sum();
        let shares = loads.iter().map(|load| load / total).collect();
        Some(Hot { resource, time: Time::from_us(us), shares }).filter(|_| total > 0.0)
    }

    /// Microseconds that a resource needs for all bytes; `None`: never a limit.
    fn us(&self, resource: Resource) -> Option<f64> {
        let messages: f64 = self.jobs.iter().map(|job| job.of(self.fabric, resource)).sum();
        let mbps = self.fabric.payload_mbps(resource, self.setting.capacities.into(), self.efficiency)?;
        (messages > 0.0).then(|| messages * self.size as f64 / mbps)
    }
}

fn none(fabric: &Fabric) -> Load {
    let (network, nodes) = (&fabric.network, fabric.nodes() as usize);
    Load {
        vertex: vec![0.0; network.vertices()],
        channel: vec![0.0; network.channels()],
        sent: vec![0.0; nodes],
        sent_out: vec![0.0; nodes],
        received: vec![0.0; nodes],
    }
}

fn add(all: &mut Load, one: &Load) {
    let pairs = [
        (&mut all.vertex, &one.vertex),
        (&mut all.channel, &one.channel),
        (&mut all.sent, &one.sent),
        (&mut all.sent_out, &one.sent_out),
        (&mut all.received, &one.received),
    ];
    for (sums, terms) in pairs {
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
}
