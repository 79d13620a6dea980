//! Some of a machine's GPUs that run collectives together, and the machine that they make up.

use super::{Algorithm, Job, Kernels, Machine, RailSwitches, Uneven, Wanted, Way, Which};
use std::collections::{BTreeMap, BTreeSet};

/// Where a GPU is. The order of ranks does not say it: jobs deal their ranks over hosts as they like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Home {
    /// Its host, or scale-up domain.
    pub host: u32,
    /// Its number in it, which is that of its rail.
    pub gpu: u32,
}

impl Home {
    /// The home of GPU `number` where hosts have `each`, counted host by host.
    pub fn of(number: u32, each: u32) -> Home {
        Home { host: number / each, gpu: number % each }
    }
}

/// GPUs host by host, hosts in order of their first one. NCCL finds hosts so: ranks of one need not follow one another.
pub fn by_host<T: Copy>(all: &[T], home: impl Fn(T) -> Home) -> Vec<Vec<T>> {
    let mut order = BTreeMap::new();
    let mut hosts: Vec<Vec<T>> = Vec::new();
    for &one in all {
        let at = *order.entry(home(one).host).or_insert(hosts.len());
        if at == hosts.len() {
            hosts.push(Vec::new());
        }
        hosts[at].push(one);
    }
    hosts.iter_mut().for_each(|host| host.sort_by_key(|&one| home(one)));
    hosts
}

/// GPUs that run collectives together.
#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    /// The machine that they make up, in domains of the GPUs that one host has. Where hosts have different numbers, each
    /// GPU is a domain. It knows the rails' switches where each host has the same GPUs.
    pub machine: Machine,
    /// The GPUs, host by host.
    pub ranks: Vec<u32>,
    /// Where these are.
    pub(crate) homes: Vec<Home>,
    /// Whether each host has as many.
    is_even: bool,
    /// Whether each host has the same ones.
    is_by_rail: bool,
    /// The place of the GPU that was named first.
    pub(crate) root: u32,
}

/// Switches that combine data for a collective. They are ranks beyond the GPUs: those of hosts, then those of rails.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combining {
    /// Hosts whose scale-up switches do.
    pub hosts: Vec<u32>,
    /// The rails' switches, and on which rails.
    pub rails: Option<(RailSwitches, Vec<u32>)>,
}

impl Combining {
    /// Their number.
    pub fn count(&self) -> u32 {
        let of_rails = self.rails.as_ref().map_or(0, |(switches, rails)| switches.count(rails.len() as u32));
        self.hosts.len() as u32 + of_rails
    }
}

impl Team {
    /// Some GPUs of a machine; `homes` are those of all its GPUs. The machine's domains do not count here.
    pub fn new(all: &Machine, homes: &[Home], ranks: &[u32]) -> Team {
        let hosts = by_host(ranks, |rank| homes[rank as usize]);
        let rails = |host: &[u32]| host.iter().map(|&rank| homes[rank as usize].gpu).collect::<Vec<_>>();
        let many = hosts.first().map_or(1, Vec::len);
        // Ranks that share a GPU are no GPUs of their own.
        let is_apart = ranks.iter().map(|&rank| homes[rank as usize]).collect::<BTreeSet<_>>().len() == ranks.len();
        let is_even = is_apart && hosts.iter().all(|host| host.len() == many);
        let is_by_rail = is_even && hosts.iter().all(|host| rails(host) == rails(&hosts[0]));
        let domain = if is_even { many as u32 } else { 1 };
        let ordered = hosts.concat();
        let root = ordered.iter().position(|rank| ranks.first() == Some(rank)).unwrap_or(0) as u32;
        let machine = Machine {
            ranks: ranks.len() as u32,
            domain,
            switch: all.switch && is_even,
            rails: all.rails.filter(|_| is_by_rail),
            // Ranks that share a GPU are in no host's chain.
            uneven: (is_apart && !is_even).then(|| Uneven {
                hosts: hosts.len() as u32,
                least: hosts.iter().map(Vec::len).min().unwrap_or(1) as u32,
            }),
            ..*all
        };
        let homes = ordered.iter().map(|&rank| homes[rank as usize]).collect();
        Team { machine, ranks: ordered, homes, is_even, is_by_rail, root }
    }

    /// The algorithm and protocol of a collective: what is asked for, else what NCCL's model chooses. Where hosts have
    /// different numbers of GPUs, that is among rings and trees; where ranks share a GPU, it is the first algorithm.
    ///
    /// # Errors
    /// The GPUs cannot run what is asked for.
    pub fn way(&self, kernels: &Kernels, which: Which, wanted: Wanted, bytes: u64) -> Result<Way, String> {
        let first = Algorithm::of(which)[0];
        let (algorithm, protocol) = wanted;
        // NCCL's trees are of hosts, whatever each has; its other algorithms need the same of each.
        let has_trees = self.machine.uneven.is_some() && which == Which::Allreduce;
        let runs = |own: Algorithm| self.is_even || own == first || own == Algorithm::Tree && has_trees;
        if let Some(algorithm) = algorithm.filter(|&own| !runs(own)) {
            let (name, first) = (algorithm.name(), first.name());
            let tree = if has_trees { " or tree" } else { "" };
            return Err(format!(
                "{name}: its hosts have different numbers of its GPUs: must be as many of each, or {first}{tree}"
            ));
        }
        let is_combined = algorithm == Some(Algorithm::CollNet) && self.machine.ranks > self.machine.domain;
        if is_combined && self.is_even && !self.is_by_rail {
            return Err("collnet: combines by rail: must be the same GPUs of each host".to_owned());
        }
        if self.is_even || has_trees {
            let way = Way::of(kernels, &self.machine, which, wanted, bytes)?;
            let job = way.job(kernels, &self.machine, which, bytes);
            return job.check().map(|()| way);
        }
        let way = Way::of(kernels, &self.machine, which, (Some(first), protocol), bytes)?;
        Ok(if algorithm.is_none() { way.by_default() } else { way })
    }

    /// The collective, and how it was chosen. Without kernels it runs by its first algorithm, as the machine has it.
    ///
    /// # Errors
    /// As [`Team::way`].
    pub fn job(
        &self,
        kernels: Option<&Kernels>,
        which: Which,
        wanted: Wanted,
        bytes: u64,
    ) -> Result<(Job, Option<Way>), String> {
        let Some(kernels) = kernels else {
            return Ok((Job { which, algorithm: Algorithm::of(which)[0], bytes, machine: self.machine }, None));
        };
        let way = self.way(kernels, which, wanted, bytes)?;
        Ok((way.job(kernels, &self.machine, which, bytes), Some(way)))
    }

    /// The switches that take part in a collective of it.
    pub fn combining(&self, job: &Job) -> Combining {
        let firsts = self.homes.iter().step_by(self.machine.domain as usize).map(|home| home.host);
        let hosts = if job.algorithm.is_by_switch() { firsts.collect() } else { Vec::new() };
        let own = || self.homes.iter().take(self.machine.domain as usize).map(|home| home.gpu).collect();
        Combining { hosts, rails: job.network().map(|switches| (switches, own())) }
    }
}
