//! Which nodes a job gets.

use crate::gpu;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Node, Resource, Vertex};
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_site::hostlist;
use std::collections::{BTreeMap, BTreeSet};

hotlink_study::words! {
    /// How nodes are chosen.
    pub enum Placement {
        /// Free hosts whose numbers follow one another.
        Contiguous = "contiguous",
        /// As few leaf switches as can be: those with most free hosts first.
        Packed = "packed",
        /// One host of every leaf switch in turn.
        Spread = "spread",
        /// Free hosts drawn by the job's seed.
        Random = "random",
        /// As few rails as can be: a GPU of every host on the first rail, then those on the next.
        Rail = "rail",
    }
}

/// The hosts of a fabric, and who holds their nodes.
pub(super) struct Room<'a> {
    fabric: &'a Fabric,
    /// Nodes of a host: GPUs of a scale-up domain, else one.
    pub(super) per_host: u32,
    /// Nodes of the fabric that are no switches.
    pub(super) nodes: u32,
    /// By host: the leaf switches that it reaches first, as a number.
    leaf: Vec<u32>,
    /// By node: the job that holds it alone, or jobs that share it.
    held: BTreeMap<u32, (String, bool)>,
}

/// How the only job of a fabric gets its nodes.
#[derive(Clone, Copy, Debug)]
pub enum Chosen<'t> {
    /// By a rule, with this seed.
    By(Placement, u64),
    /// From a list: numbers and ranges of them, or host names, as the `nodes` of a plan.
    Listed(&'t str),
    /// From a file of this name and text, with such lists on its lines.
    File(&'t str, &'t str),
}

/// So many nodes for the only job of a fabric.
///
/// # Errors
/// There are not so many; another number is listed; what is wrong in the list, and where.
pub fn nodes_of(fabric: &Fabric, spec: &FabricSpec, count: u32, how: Chosen<'_>) -> Result<Vec<u32>, String> {
    let room = Room::new(fabric, spec, fabric.nodes());
    let nodes = match how {
        Chosen::By(how, seed) => {
            let wanted = Wanted { job: "", ranks: count, gpus_per_node: Some(1), shared: false, seed };
            return match room.per_host {
                _ if how == Placement::Rail => room.choose(&Wanted { gpus_per_node: None, ..wanted }, how),
                1 => room.choose(&wanted, how),
                // Every GPU of a host, where a host has several.
                each => room.choose(&Wanted { gpus_per_node: Some(each.min(count)), ..wanted }, how),
            };
        }
        Chosen::Listed(list) => room.listed(list)?,
        Chosen::File(file, text) => room.listed_in(file, text)?,
    };
    match nodes.len() as u32 {
        listed if listed == count => Ok(nodes),
        listed => Err(format!("{listed} nodes are listed, and {count} are needed")),
    }
}

/// What is asked of a room.
pub(super) struct Wanted<'a> {
    pub(super) job: &'a str,
    pub(super) ranks: u32,
    pub(super) gpus_per_node: Option<u32>,
    pub(super) shared: bool,
    pub(super) seed: u64,
}

impl<'a> Room<'a> {
    /// The room of a fabric that `spec` describes; its first `nodes` nodes are no switches.
    pub(super) fn new(fabric: &'a Fabric, spec: &FabricSpec, nodes: u32) -> Room<'a> {
        let per_host = gpu::domain(spec);
        let mut numbers = BTreeMap::new();
        let leaf = (0..nodes / per_host).map(|host| {
            let found: BTreeSet<Vertex> = (host * per_host..(host + 1) * per_host)
                .flat_map(|node| first_switches(fabric, node, per_host > 1))
                .collect();
            let next = numbers.len() as u32;
            *numbers.entry(found).or_insert(next)
        });
        Room { fabric, per_host, nodes, leaf: leaf.collect(), held: BTreeMap::new() }
    }

    /// How many leaf switches (or rails' leaves) some nodes hang on.
    pub(super) fn leaves(&self, nodes: &[u32]) -> usize {
        nodes.iter().map(|node| self.leaf[(node / self.per_host) as usize]).collect::<BTreeSet<_>>().len()
    }

    /// The nodes of a list: numbers and ranges of them, or names of hosts.
    pub(super) fn listed(&self, list: &str) -> Result<Vec<u32>, String> {
        let mut found = Vec::new();
        if is_numbers(list) {
            for item in list.split(',') {
                let (from, to) = item.split_once('-').unwrap_or((item, item));
                let ends = from.trim().parse::<u32>().ok().zip(to.trim().parse::<u32>().ok());
                let (from, to) = ends.filter(|(from, to)| from <= to && *to < self.nodes).ok_or_else(|| {
                    format!("{item:?} is no node or range: must be 0 to {}, such as 0-15,32", self.nodes - 1)
                })?;
                found.extend(from..=to);
            }
        } else {
            let name = |node: Node| self.fabric.resource_name(Resource::Vertex(node.vertex()));
            let names: BTreeMap<String, u32> = (0..self.nodes).map(|node| (name(Node(node)), node)).collect();
            let sample = names.keys().next().cloned().unwrap_or_default();
            for host in hostlist::expand(list)? {
                let node = names.get(&host).ok_or_else(|| format!("no host is called {host:?}; one is {sample:?}"))?;
                found.push(*node);
            }
        }
        let mut seen = BTreeSet::new();
        match found.iter().find(|node| !seen.insert(**node)) {
            Some(twice) => Err(format!("node {twice} is listed twice")),
            None => Ok(found),
        }
    }

    /// The nodes of a file: numbers and ranges, or hosts, on its lines.
    fn listed_in(&self, file: &str, text: &str) -> Result<Vec<u32>, String> {
        let words = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let of_file = |what: String| format!("{file}: {what}");
        if !words.is_empty() && words.iter().all(|word| is_numbers(word)) {
            return self.listed(&words.join(",")).map_err(of_file);
        }
        let hosts = hostlist::read(file, text).map_err(|error| error.to_string())?;
        self.listed(&hostlist::fold(&hosts)).map_err(of_file)
    }

    /// Gives nodes to a job.
    pub(super) fn hold(&mut self, wanted: &Wanted<'_>, nodes: &[u32]) -> Result<(), String> {
        for node in nodes {
            if let Some((other, shares)) = self.held.get(node)
                && !(wanted.shared && *shares)
            {
                return Err(format!(
                    "node {node} is a node of job {other:?}, too: jobs share nodes only where both say shared = true"
                ));
            }
        }
        let holder = (wanted.job.to_owned(), wanted.shared);
        self.held.extend(nodes.iter().map(|&node| (node, holder.clone())));
        Ok(())
    }

    /// Chooses nodes, in order of the job's ranks: of each host as many as asked for, the same ones of every host.
    pub(super) fn choose(&self, wanted: &Wanted<'_>, how: Placement) -> Result<Vec<u32>, String> {
        if how == Placement::Rail {
            return self.by_rail(wanted);
        }
        let each = wanted.gpus_per_node.unwrap_or(self.per_host).min(wanted.ranks);
        if each > self.per_host {
            let (per_host, s) = (self.per_host, if self.per_host == 1 { "" } else { "s" });
            return Err(format!("{each} of each host: hosts of this fabric have {per_host} node{s}"));
        }
        if !wanted.ranks.is_multiple_of(each) {
            let what = format!("{} ranks, {each} of each host, leave a host in part", wanted.ranks);
            let or = if wanted.job.is_empty() { "" } else { ", or say gpus_per_node" };
            return Err(format!("{what}: must be a multiple of {each}{or}"));
        }
        let hosts = (wanted.ranks / each) as usize;
        // The same GPUs of every host, so that ranks of one place share a rail.
        let mut most = 0;
        for first in 0..=self.per_host - each {
            let free = self.free(first..first + each, wanted.shared);
            most = most.max(free.len());
            if let Some(chosen) = self.ordered(free, how, wanted.seed, hosts) {
                let nodes = |host: u32| (0..each).map(move |place| host * self.per_host + first + place);
                return Ok(chosen.into_iter().flat_map(nodes).collect());
            }
        }
        let run = if most >= hosts { " whose numbers follow one another: another placement may do" } else { "" };
        Err(format!("{} nodes, {each} of each host: {most} hosts are free, {hosts} are needed{run}", wanted.ranks))
    }

    /// Free nodes of one rail after the other, of the first rails in a row that have enough.
    fn by_rail(&self, wanted: &Wanted<'_>) -> Result<Vec<u32>, String> {
        if self.per_host == 1 {
            return Err("placement rail: hosts of this fabric have one node each, and no rails".to_owned());
        }
        let rails = wanted.gpus_per_node.unwrap_or(self.per_host).min(self.per_host);
        let on = |rail: u32| {
            self.free(rail..rail + 1, wanted.shared).into_iter().map(move |host| host * self.per_host + rail)
        };
        let mut most = 0;
        for first in 0..=self.per_host - rails {
            let free: Vec<u32> = (first..first + rails).flat_map(on).collect();
            most = most.max(free.len());
            if let Some(nodes) = free.get(..wanted.ranks as usize) {
                return Ok(nodes.to_vec());
            }
        }
        Err(format!("{} nodes on {rails} rails: {most} are free", wanted.ranks))
    }

    /// Hosts whose nodes at these places are free.
    fn free(&self, places: std::ops::Range<u32>, shared: bool) -> Vec<u32> {
        let is_free = |node: u32| self.held.get(&node).is_none_or(|(_, shares)| shared && *shares);
        let all = |host: &u32| places.clone().all(|place| is_free(host * self.per_host + place));
        (0..self.nodes / self.per_host).filter(all).collect()
    }

    /// So many of the hosts that are free.
    fn ordered(&self, mut free: Vec<u32>, how: Placement, seed: u64, hosts: usize) -> Option<Vec<u32>> {
        let mut leaves = BTreeMap::<u32, Vec<u32>>::new();
        free.iter().for_each(|&host| leaves.entry(self.leaf[host as usize]).or_default().push(host));
        match how {
            Placement::Contiguous => {
                let is_run = |run: &&[u32]| run[hosts - 1] - run[0] == hosts as u32 - 1;
                free = free.windows(hosts).find(is_run)?.to_vec();
            }
            Placement::Packed => {
                let mut leaves: Vec<Vec<u32>> = leaves.into_values().collect();
                leaves.sort_by_key(|leaf| std::cmp::Reverse(leaf.len()));
                free = leaves.concat();
            }
            Placement::Spread => {
                let most = leaves.values().map(Vec::len).max().unwrap_or(0);
                let turn = |place: usize| leaves.values().filter_map(move |leaf| leaf.get(place).copied());
                free = (0..most).flat_map(turn).collect();
            }
            Placement::Random => SplitMix64::new(seed).shuffle(&mut free),
            // Chosen before, node by node.
            Placement::Rail => {}
        }
        free.truncate(hosts);
        (free.len() == hosts).then_some(free)
    }
}

/// Whether a list is of numbers, not of names.
fn is_numbers(list: &str) -> bool {
    list.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '-' || c == ' ')
}

/// The switches that a node's packets reach first: its home, or those of all its adapters.
fn first_switches(fabric: &Fabric, node: u32, is_gpu: bool) -> BTreeSet<Vertex> {
    let (network, node) = (&fabric.network, Node(node));
    if fabric.attachment.has_home(node) {
        return BTreeSet::from([fabric.attachment.home[node.0 as usize]]);
    }
    // A GPU reaches the adapters of its host through memories and its scale-up switch.
    let passes = |role: Role| is_gpu && matches!(role, Role::Internal | Role::Nic);
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![node.vertex()];
    while let Some(at) = open.pop() {
        for to in network.out(at).map(|channel| network.to(channel)).filter(|&to| !network.is_node(to)) {
            let role = network.vertex_role[to.0 as usize];
            if !passes(role) {
                found.insert(to);
            } else if seen.insert(to) {
                open.push(to);
            }
        }
    }
    if found.is_empty() {
        found.insert(node.vertex());
    }
    found
}

/// Nodes in short form: `0-7,16`.
pub(super) fn text(nodes: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &node in nodes {
        match runs.last_mut() {
            Some((_, to)) if *to + 1 == node => *to = node,
            _ => runs.push((node, node)),
        }
    }
    let one = |(from, to): &(u32, u32)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    runs.iter().map(one).collect::<Vec<_>>().join(",")
}
