//! Answers of closed form and load count about a fabric of some size, as records.

use crate::ask::{Asked, Question};
use crate::bound::pattern::{Lost, Pattern, derivation, need_a_rate};
use crate::options::{Paths, Rates};
use crate::{Source, Unwatched, Watch, Within};
use hotlink_bench::Record;
use hotlink_bound::Bounds;
use hotlink_fabric::flow_control::Passage;
use hotlink_fabric::network::{Channel, Resource, Vertex};
use hotlink_fabric::routing;
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_fabric::traffic::{Demand, Traffic, sample_seed};
use hotlink_fabric::{Fabric, forms};
pub use hotlink_load::Users;
use hotlink_load::{Load, Serial, deadlock, split::SwitchSplit};

/// The pattern on a fabric, and the rates by which its resources count.
#[derive(Clone, Debug)]
pub struct PatternQuestion {
    /// The pattern of senders and receivers.
    pub traffic: Traffic,
    /// Rates of the resources.
    pub capacities: Rates,
    /// Message size in bytes; packet overhead depends on it.
    pub size: u64,
    /// Seed of random traffic.
    pub seed: u64,
    /// Draws of random traffic.
    pub samples: u64,
    /// Draws of the hash by which flows choose among equal paths; 0: the seed's alone.
    pub hash_seeds: u64,
    /// Which of equal paths a packet takes; `None`: as the technology has it.
    pub paths: Option<Paths>,
}

/// Reads a pattern; a matrix from its file.
pub fn traffic(text: &str) -> Result<Traffic, String> {
    Traffic::parse(text, hotlink_fabric::input::text).map_err(|error| error.to_string())
}

crate::words! {
    /// The engines that compare fabrics.
    pub enum Method {
        /// M02's closed forms, where there is one.
        Formula = "formula",
        /// Flows counted over real routes.
        Load = "load",
        /// The simulated network, packet by packet.
        Packet = "packet",
    }
}

/// A fabric built for a size, with its load under one draw of the traffic.
pub struct Counted {
    /// The fabric.
    pub fabric: Fabric,
    /// The messages of each pair.
    pub demand: Demand,
    /// Seed of the draw, and of the hash by which flows choose among equal paths.
    pub seed: u64,
    /// The load of its resources.
    pub load: Load,
    /// Its bounds.
    pub bounds: Bounds,
    /// Pairs without a route, which do not count.
    lost: Option<Lost>,
    /// The bandwidth of the first draw of the traffic: MB/s of each node.
    pub first_mbps: f64,
}

impl PatternQuestion {
    fn head(&self, fabric: &str, nodes: u32, built: u64, method: &str) -> Record {
        Record::new()
            .with("fabric", fabric)
            .with("nodes", nodes)
            .with("nodes_built", built)
            .with("traffic", self.traffic.to_string())
            .with("capacities", self.capacities.name())
            .with("method", method)
            .with("size_B", self.size)
    }

    /// The closed form's record; `None` where there is no equation for this topology, size or traffic.
    pub fn by_formula(&self, spec: &FabricSpec, nodes: u32) -> Option<Record> {
        if self.traffic != Traffic::AllToAll {
            return None;
        }
        let form = forms::for_fabric(spec, nodes, self.capacities.into(), self.size)?;
        let injection = Fabric::build(spec, nodes)
            .ok()
            .and_then(|fabric| fabric.injection_mbps(self.capacities.into(), form.efficiency));
        let bandwidth = form.bandwidth_per_node_mbps;
        let head = self.head(&spec.name, nodes, form.nodes_built, "formula");
        let mut record =
            with_bandwidth(head, bandwidth, injection).with("limiting_resource", form.limiting_resource.as_str());
        let terms = [
            ("hot_link_packets", form.hot_link),
            ("hot_b_link_packets", form.hot_b_link),
            ("switches", form.switches.map(f64::from)),
            ("nodes_per_switch", form.nodes_per_switch),
            ("hops_between_switches", form.hops),
            ("switch_to_switch_MBps", form.sw2sw_mbps),
            ("same_switch_MBps", form.same_switch_mbps),
            ("average_bandwidth_per_node_MBps", form.sw2sw_mbps.map(|_| form.links_averaged_mbps())),
            ("nodes_per_switch_by_switches", form.by_switches.map(|(mean, _)| mean)),
            ("bandwidth_per_node_by_switches_MBps", form.by_switches.map(|(_, mbps)| mbps)),
            ("idle_latency_us", Some(form.idle_us)),
        ];
        terms.into_iter().filter_map(|(key, term)| Some((key, term?))).for_each(|(key, term)| record.set(key, term));
        if form.by_switches.is_some() {
            record.set("nodes_per_switch_is", "the mean over nodes of the nodes on a node's own switch");
        }
        Some(record)
    }

    /// The same question, as every engine takes it.
    pub(crate) fn asked(&self, machine: &str, nodes: u32) -> Question {
        let question = Question::new(Asked::Traffic(self.traffic.to_string()), machine, nodes);
        let PatternQuestion { capacities, size, seed, samples, paths, .. } = *self;
        Question { capacities, size, seed, samples, paths, ..question }
    }

    /// The simulated network's record.
    pub fn by_packets(&self, source: &Source, nodes: u32, watch: &dyn Watch) -> Result<Record, String> {
        let cell = self.asked(source.name(), nodes).cell()?;
        let record = cell.run_from(source, &Within(watch))?.into_iter().next();
        let record = record.ok_or_else(|| "the simulation gave no record".to_owned())?;
        // The time of a packet alone, over the routes of the same traffic.
        let counted = self.count(source.build(nodes)?, 0, &Unwatched)?;
        let idle_us = counted.load.idle_us(&counted.fabric).filter(|_| counted.lost.is_none());
        Ok(idle_us.into_iter().fold(record, |record, us| record.with("idle_latency_us", us)))
    }

    /// The row of a size that has no answer, with the reason.
    pub fn unanswered(&self, fabric: &str, nodes: u32, why: &str) -> Record {
        Record::new()
            .with("kind", "fabric")
            .with("fabric", fabric)
            .with("nodes", nodes)
            .with("traffic", self.traffic.to_string())
            .with("capacities", self.capacities.name())
            .with("size_B", self.size)
            .with("note", why)
    }

    /// M02's view of switches (Eqs. 10 and 11): the average of the links between them, and the bandwidths within and
    /// between switches. Where its equations describe the network, it adds these averaged over a node's partners (Eq.
    /// 12).
    fn add_split(&self, counted: &Counted, record: &mut Record) {
        let Counted { fabric, demand, load, bounds, .. } = counted;
        let rate = |channel| fabric.payload_mbps(Resource::Channel(channel), self.capacities.into(), bounds.efficiency);
        let link = rate(fabric.network.port(Vertex(0), 0));
        let between = hotlink_load::split::hottest_between(fabric, load).and_then(rate);
        let split = SwitchSplit::of(fabric, demand, load).filter(|split| split.channels > 0);
        let (Some(split), Some(link), Some(between)) = (split, link, between) else { return };
        let bandwidth = split.bandwidth(between, link);
        let is_described = forms::describe_switches(&fabric.spec, fabric.asked);
        if self.traffic == Traffic::AllToAll && is_described {
            record.set("eq12_bandwidth_per_node_MBps", bandwidth.overall_mbps);
        }
        record.set("nodes_per_switch", split.nodes_per_switch);
        record.set("same_switch_MBps", bandwidth.same_mbps);
        // The equations know one kind of link between switches. The groups of a dragonfly have another.
        if is_described || !fabric.network.channel_role.contains(&Role::GlobalLink) {
            record.set("hops_between_switches", split.hops);
            record.set("switch_to_switch_MBps", bandwidth.between_mbps);
            record.set("switch_to_switch_hottest_MBps", bandwidth.between_hottest_mbps);
        }
    }

    /// How packets choose among equal paths of this fabric.
    pub fn paths_on(&self, fabric: &Fabric) -> routing::Paths {
        let own = if self.is_split(fabric) { routing::Paths::Packet } else { fabric.spec.paths };
        self.paths.map_or(own, Into::into)
    }

    /// Whether flows are split evenly, in place of by the technology's hash: more pairs send than are followed one by one.
    fn is_split(&self, fabric: &Fabric) -> bool {
        let is_exchange = matches!(self.traffic, Traffic::AllToAll | Traffic::Uniform);
        is_exchange && self.paths.is_none() && self.hash_seeds == 0 && hotlink_load::has_too_many_pairs(fabric)
    }

    /// The load of one draw of the traffic.
    fn count(&self, fabric: Fabric, draw: u64, watch: &dyn Watch) -> Result<Counted, String> {
        let seed = sample_seed(self.seed, draw);
        let demand = self.traffic.clone().on(&fabric).demand(fabric.nodes(), seed).map_err(|e| e.to_string())?;
        let routes = (self.paths_on(&fabric), seed);
        let (Pattern { load, bounds }, lost) =
            Pattern::of_reachable(&fabric, &demand, self.capacities, self.size, routes, &watch.gauge())?;
        need_a_rate(&fabric, &bounds, self.capacities)?;
        let first_mbps = bounds.bandwidth_per_node_mbps;
        Ok(Counted { fabric, demand, seed, load, bounds, lost, first_mbps })
    }

    /// The load count's record, and the load of the median draw. Random traffic is drawn `samples` times, and the hash
    /// of flows `hash_seeds` times. The bandwidth is the median. All else is of the draw with that bandwidth or the
    /// next below.
    pub fn by_load(&self, fabric: Fabric, watch: &dyn Watch) -> Result<(Record, Counted), String> {
        self.check_hashes(&fabric)?;
        let mut counted = self.count(fabric, 0, watch)?;
        let first_mbps = counted.first_mbps;
        watch.step();
        let mut draws = vec![first_mbps];
        for draw in 1..self.draws() {
            counted = self.count(counted.fabric, draw, watch)?;
            draws.push(counted.bounds.bandwidth_per_node_mbps);
            watch.step();
        }
        let middle = middle(&draws);
        if self.draws() > 1 && middle + 1 != draws.len() {
            counted = self.count(counted.fabric, middle as u64, watch)?;
        }
        counted.first_mbps = first_mbps;
        let mut record = self.of_load(&counted);
        if self.traffic.is_random() {
            // A draw in which every node sends to itself is limited by nothing.
            draws.retain(|bandwidth| bandwidth.is_finite());
            add_spread(&mut record, draws);
            record.set("samples", self.samples);
            record.set("seed", self.seed);
        } else if self.hash_seeds > 0 {
            add_spread(&mut record, draws);
            record.set("hash_seeds", self.hash_seeds);
            record.set("seed", self.seed);
            let (even, by) = ((&counted.fabric, &counted.demand), (routing::Paths::Packet, self.seed));
            let (sprayed, _) = Pattern::of_reachable(even.0, even.1, self.capacities, self.size, by, &watch.gauge())?;
            record.set("sprayed_bandwidth_per_node_MBps", sprayed.bounds.bandwidth_per_node_mbps);
        }
        Ok((record, counted))
    }

    /// How many draws a size takes: steps of progress.
    pub fn draws(&self) -> u64 {
        if self.traffic.is_random() { self.samples } else { self.hash_seeds.max(1) }
    }

    /// Whether there is a hash whose seeds can be drawn.
    fn check_hashes(&self, fabric: &Fabric) -> Result<(), String> {
        let paths = hotlink_load::paths_on(fabric, self.paths_on(fabric));
        match self.hash_seeds > 0 {
            true if self.traffic.is_random() => {
                Err("hash seeds: each draw of random traffic has a hash of its own: ask for more samples".to_owned())
            }
            true if paths != routing::Paths::Flow => Err(format!(
                "hash seeds: no hash chooses among equal paths here, which are chosen by {} (allowed: flow)",
                paths.name()
            )),
            _ => Ok(()),
        }
    }

    /// Mean latency at shares of the load's bound, a record each: every resource on the path is a queue
    /// ([`hotlink_load::Queues`]).
    ///
    /// # Errors
    /// The network's queues, the traffic or the messages are not such.
    pub fn at_loads(&self, counted: &Counted, loads: &[f64]) -> Result<Vec<Record>, String> {
        let Counted { fabric, bounds, load, .. } = counted;
        let control = fabric.spec.flow_control;
        let packet = fabric.spec.packet().payload_max_bytes.as_ref().map(|most| most.value);
        if let Some(load) = loads.iter().find(|load| !(**load > 0.0 && **load < 1.0)) {
            return Err(format!("load {load}: queues end below 1; it must be between 0 and 1"));
        }
        if control.passage != Passage::CutThrough || control.is_ring() {
            let what = format!("{} holds links while it waits, or sends again", control.name);
            return Err(format!("load: {what}, which queues do not say; `hotlink simulate traffic` does"));
        }
        if !matches!(self.traffic, Traffic::Uniform | Traffic::AllToAll) {
            return Err("load: queues are of messages to random nodes: --traffic uniform or all-to-all".to_owned());
        }
        if let Some(most) = packet.filter(|most| self.size > *most) {
            return Err(format!("load: queues are of messages of one packet: --size up to {most}"));
        }
        let (capacities, by) = (self.capacities.into(), (self.paths_on(fabric), counted.seed));
        let queues = load.queues(fabric, capacities, bounds.efficiency, self.size);
        let (queues, idle_us) = queues.zip(load.idle_us(fabric)).ok_or("load: nothing on the way has a rate")?;
        let bytes_us = Serial::new(fabric, by, capacities, bounds.efficiency, self.size).mean_us(&counted.demand);
        let head = self.head(&fabric.spec.name, fabric.asked, u64::from(fabric.nodes()), "load");
        let record = |&load: &f64| {
            head.clone()
                .with("load", load)
                .with("offered_per_node_MBps", load * bounds.bandwidth_per_node_mbps)
                .with("idle_latency_us", idle_us)
                .with("mean", idle_us + bytes_us.unwrap_or_default() + queues.waiting_us(load))
                .with("statistic_of", "latency_us of messages, from posting to their last byte")
        };
        Ok(loads.iter().map(record).collect())
    }

    /// Who uses a channel.
    ///
    /// # Errors
    /// Its users are not known.
    pub fn users(&self, counted: &Counted, channel: Channel) -> Result<Users, String> {
        let paths = (self.paths_on(&counted.fabric), counted.seed);
        Users::of(&counted.fabric, &counted.demand, paths, channel).map_err(|error| error.to_string())
    }

    /// How the bound of the load comes about, a step a line.
    pub fn why(&self, counted: &Counted) -> Vec<String> {
        derivation(&counted.fabric, &counted.bounds, self.capacities, self.size)
    }

    fn of_load(&self, counted: &Counted) -> Record {
        let Counted { fabric, bounds, .. } = counted;
        let injection = bounds.injection_mbps(fabric, self.capacities.into());
        let head = self.head(&fabric.spec.name, fabric.asked, u64::from(fabric.nodes()), "load");
        let mut head = head.with("paths", self.paths_on(fabric).name());
        if self.is_split(fabric) {
            head.set("fallback", "flows are split evenly: more pairs than are followed one by one");
        }
        let mut record = with_bandwidth(head, bounds.bandwidth_per_node_mbps, injection);
        if !bounds.bandwidth_per_node_mbps.is_finite() {
            record.set("note", "no bandwidth: no node sends to another one");
        }
        if let Some(limit) = bounds.limiting() {
            record.set("limiting_resource", limit.name.as_str());
            record.set("hot_link", fabric.resource_name(limit.hottest));
            record.set("hot_links", limit.sharing);
            record.set("hot_link_load", limit.hottest_load);
            record.set("average_bandwidth_per_node_MBps", limit.average_bandwidth_per_node_mbps);
        }
        if let Some(lost) = &counted.lost {
            record.set("unreachable_pairs", lost.pairs);
            record.set("unreachable", lost.named.as_str());
        } else if let Some(us) = counted.load.idle_us(fabric) {
            record.set("idle_latency_us", us);
        }
        self.add_split(counted, &mut record);
        record
    }
}

/// Which draw lies in the middle; of an even number the lower one.
fn middle(draws: &[f64]) -> usize {
    let mut order: Vec<usize> = (0..draws.len()).filter(|&draw| draws[draw].is_finite()).collect();
    order.sort_by(|&a, &b| draws[a].total_cmp(&draws[b]));
    order.get(order.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// Makes the bandwidth the median of the draws, and says their number, least and greatest.
fn add_spread(record: &mut Record, mut draws: Vec<f64>) {
    draws.sort_by(f64::total_cmp);
    let (Some(&min), Some(&max)) = (draws.first(), draws.last()) else { return };
    // The lower of two middles: the bandwidth is that of the draw whose hot link is in the record.
    let median = draws[(draws.len() - 1) / 2];
    record.set("hot_link_is_of", "the median draw");
    record.set("bandwidth_per_node_MBps", median);
    if let Some(injection) = record.number("injection_per_node_MBps") {
        record.set("injection_share", median / injection);
    }
    for (key, value) in [("median", median), ("min", min), ("max", max)] {
        record.set(&format!("{key}_bandwidth_per_node_MBps"), value);
    }
    record.set("n", draws.len());
}

/// Adds the bandwidth and the share of the node's own injection. Closed form and load count give bounds: they have no
/// other bound, and no efficiency.
fn with_bandwidth(record: Record, bandwidth: f64, injection: Option<f64>) -> Record {
    with_injection(record.with("bandwidth_per_node_MBps", bandwidth), bandwidth, injection)
}

/// Adds what a node's own devices let it inject, and the share of it that `bandwidth` is.
pub(crate) fn with_injection(record: Record, bandwidth: f64, injection: Option<f64>) -> Record {
    match injection {
        Some(most) => record.with("injection_per_node_MBps", most).with("injection_share", bandwidth / most),
        None => record,
    }
}

/// Whether the routing can deadlock, and why (not). Unknown for fabrics too large to follow every route.
pub fn add_deadlock(counted: &Counted, record: &mut Record) {
    let (is_free, told) = deadlock::told(&counted.fabric);
    record.set("deadlock_free", is_free);
    record.set("deadlock", told);
}

/// One record for every resource with load, the fabric's head in front.
pub fn per_resource(head: &Record, counted: &Counted) -> Vec<Record> {
    let Counted { fabric, load, .. } = counted;
    let network = &fabric.network;
    let keys = ["fabric", "nodes", "nodes_built", "traffic"];
    let base = keys.iter().filter_map(|&key| Some((key, head.get(key)?.clone())));
    let base = base.fold(Record::new(), |record, (key, value)| record.with(key, value));
    let all = network.resources().map(|resource| (resource, load.of(fabric, resource)));
    all.filter(|&(_, load)| load > 0.0)
        .map(|(resource, load)| {
            let role = fabric.role_name(network.role(resource));
            base.clone()
                .with("method", "load")
                .with("resource", fabric.resource_name(resource))
                .with("role", role)
                .with("load", load)
        })
        .collect()
}
