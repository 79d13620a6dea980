//! One packet simulation and its records.

use super::{faults, limiter, traffic};
use crate::bound::message::{alone_us, by_shortest, farthest_us};
use crate::bound::pattern::{Pattern, flows, need_a_rate, need_rated_links, with_limit};
use crate::cell::{Cell, Offered, What};
use crate::effort;
use crate::inputs;
use crate::model::with_injection;
use crate::options::{Order, Routes};
use crate::{Error, Source, Unwatched, Watch, parallel};
use hotlink_bench::Record;
use hotlink_bound::flows::Flows;
use hotlink_bound::{Bounds, LATENCY, network};
use hotlink_fabric::Fabric;
use hotlink_fabric::spec::{Capacities, FabricSpec};
use hotlink_fabric::traffic::{Demand, Traffic};
use hotlink_fabric::units::Time;
use hotlink_sim::workload::{self, PingPong, Run, Schedule, Stream};
use hotlink_sim::{Plan, Settings};

impl Cell {
    /// Runs the simulation: its record, and one for each server where links are asked for.
    pub fn run(&self, watch: &dyn Watch) -> Result<Vec<Record>, String> {
        let source = Source::open_as(&self.fabric, self.technology).map_err(|error| error.to_string())?;
        self.run_from(&source, watch)
    }

    /// The same on a fabric that is open already.
    pub fn run_from(&self, source: &Source, watch: &dyn Watch) -> Result<Vec<Record>, String> {
        let answer = |source: &Source, watch: &dyn Watch| self.answer(source, watch).map_err(Error::Input);
        inputs::told(&self.control.equipped(source, self.ethernet)?, self.sensitivity, watch, &answer)
            .map_err(|error| error.to_string())
    }

    fn answer(&self, source: &Source, watch: &dyn Watch) -> Result<Vec<Record>, String> {
        if super::loggp::is_calibrated(source.spec()) {
            if !self.control.is_usual() {
                let what = "is calibrated as LogGP, which has no packets, buffers or transports";
                return Err(format!("--transport, --buffer: {} {what}", self.fabric));
            }
            let failed = |what| format!("{} with {} ranks: {what}", self.fabric, self.nodes);
            effort::check_loggp(self).map_err(failed)?;
            return super::loggp::run(self, source.spec(), watch).map_err(failed);
        }
        let fabric = match self.routes {
            None => source.build(self.nodes)?,
            Some(routes) => {
                let routing = routes.routing(source.spec());
                if !source.spec().topology.routings().contains(&routing) {
                    let has = "is no dragonfly, Dragonfly+, Slim Fly or HyperX, which have ways around the shortest";
                    let equal = "allowed here: packet, flow, destination, adaptive";
                    return Err(format!("--paths {}: {} {has}; {equal}", routes.name(), self.fabric));
                }
                // A technology with a single minimal way has its own reasons to refuse.
                let spec = FabricSpec { routing, ..source.spec().clone() };
                let built = source.varied(spec).build(self.nodes);
                built.map_err(|what| format!("--paths {}: {}: {what}", routes.name(), self.fabric))?
            }
        };
        let mut records = self.run_on(source.spec(), fabric, watch)?;
        if let Some(site) = source.own_site() {
            records.iter_mut().for_each(|record| record.set("lanes", site.findings.lanes.as_str()));
        }
        Ok(records)
    }

    fn run_on(&self, spec: &FabricSpec, fabric: Fabric, watch: &dyn Watch) -> Result<Vec<Record>, String> {
        need_rated_links(&fabric).map_err(|what| format!("{}: {what}", self.fabric))?;
        let too_much = |what| format!("{} with {} nodes: {what}", self.fabric, self.nodes);
        effort::check_cell(self, &fabric).map_err(too_much)?;
        let control = match &self.what {
            What::Traffic(Offered { sizes: Some(_), .. }) => self.control.of_flows(),
            _ => self.control,
        };
        let mut settings = control.applied(spec, &fabric, self.settings(&fabric))?;
        settings.gauge = watch.gauge();
        if let Some(file) = &self.faults {
            settings.faults = faults::read(file, &fabric)?;
        }
        let sound = (!settings.faults.is_empty()).then(|| Settings { faults: Vec::new(), ..settings.clone() });
        let plan = Plan::new(&fabric, &settings).map_err(|error| error.to_string())?;
        if let What::Program(program) = &self.what {
            let failed = |what| format!("{} with {} nodes: {what}", self.fabric, self.nodes);
            let mut records = program.run(self, &plan, &settings, watch).map_err(failed)?;
            if let Some(sound) = &sound {
                let healthy = program.run(self, &plan, sound, &Unwatched).map_err(failed)?;
                let both = records.into_iter().zip(&healthy);
                records = both.map(|(record, healthy)| beside_healthy(record, healthy)).collect();
            }
            let told = |record| self.control.told(self.on_ways(record, &settings), self.ethernet, &settings);
            return Ok(records.into_iter().map(told).collect());
        }
        let demand = self.demand(&fabric)?;
        let routes = (settings.paths, settings.seed);
        let bounds = Pattern::of_paths(&fabric, &demand, self.capacities, self.size, routes)?.bounds;
        // Packets that choose among ways are bound by what all of these share.
        let is_loose = settings.detours.is_some();
        let capacities = self.capacities.into();
        let bounds = if is_loose { bounds.of_any_way(&fabric, &demand, capacities) } else { bounds };
        let mut bounds = match &self.what {
            What::Saturation { pairs, .. } => {
                let offered: Vec<_> = pairs.iter().map(|&(from, to)| (from, to, f64::INFINITY)).collect();
                let flows = Flows { offered: &offered, shares: pairs.len() as f64, routes, is_loose };
                flows.together(&fabric, &bounds, self.capacities.into())?
            }
            _ => bounds,
        };
        let start = watch.seconds();
        let (record, run, more) = match &self.what {
            What::Traffic(offered) => traffic::run(self, offered, (&plan, &settings), &demand, &mut bounds)?,
            _ => self.simulate(&plan, &settings, &bounds).map(|(record, run)| (record, run, Vec::new()))?,
        };
        // Where pairs are cut off it is no time of the same exchange.
        let record = match (&self.what, &sound) {
            (What::AllToAll { .. }, Some(sound)) if run.stats.gone == 0 => {
                beside_healthy(record, &self.simulate(&plan, sound, &bounds)?.0)
            }
            (What::AllToAll { .. }, Some(_)) => in_part(record),
            _ => record,
        };
        let record = self.on_ways(record, &settings);
        let record = self.control.told(record, self.ethernet, &settings);
        let record = with_limit(record, &fabric, &bounds);
        let record = limiter::of_packets(record, &plan, &run);
        let record = with_run(record, &run).with("wall_s", watch.seconds() - start);
        let mut records = vec![record];
        if self.links {
            records.extend(per_server(&records[0], &plan, &run));
        }
        records.extend(more);
        Ok(records)
    }

    fn settings(&self, fabric: &Fabric) -> Settings {
        let base = Settings::of(&fabric.spec);
        Settings {
            seed: self.seed,
            capacities: self.capacities.into(),
            packet_bytes: self.packet_size.or(base.packet_bytes),
            streams: self.streams.unwrap_or(base.streams),
            paths: self.paths.map_or(base.paths, Into::into),
            detours: self.routes.and_then(Routes::detours),
            congestion: self.control.ethernet(self.ethernet).into(),
            ..base
        }
    }

    /// The pattern of the result's bound.
    fn demand(&self, fabric: &Fabric) -> Result<Demand, String> {
        let nodes = fabric.nodes();
        let pairs = |pairs: &[(u32, u32)]| match pairs.iter().find(|&&(from, to)| from >= nodes || to >= nodes) {
            Some((from, to)) => Err(format!("node {from} or {to} does not exist: nodes are 0 to {}", nodes - 1)),
            None => Ok(flows(nodes, pairs.iter().copied())),
        };
        match &self.what {
            What::PingPong { between: [a, b], .. } => pairs(&[(*a, *b)]),
            What::Saturation { pairs: list, .. } => pairs(list),
            What::Exchanges { pairs: list, .. } => {
                pairs(&list.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect::<Vec<_>>())
            }
            What::Program(_) => pairs(&[]),
            What::AllToAll { .. } => Traffic::AllToAll.demand(nodes, self.seed).map_err(|error| error.to_string()),
            What::Traffic(Offered { pattern, .. }) => {
                let traffic = Traffic::parse(pattern, hotlink_fabric::input::text).map_err(|e| e.to_string())?;
                traffic.on(fabric).demand(nodes, self.seed).map_err(|error| error.to_string())
            }
        }
    }

    /// The record with the routes of packets.
    fn on_ways(&self, record: Record, settings: &Settings) -> Record {
        record.with("paths", self.routes.map_or(settings.paths.name(), |routes| routes.name()))
    }

    fn simulate(&self, plan: &Plan<'_>, settings: &Settings, bounds: &Bounds) -> Result<(Record, Run), String> {
        let head = self.head(plan, settings);
        let nodes = f64::from(plan.fabric.nodes());
        let bound = bounds.bandwidth_per_node_mbps;
        let failed = |error: hotlink_sim::SimError| format!("{} with {} nodes: {error}", self.fabric, self.nodes);
        self.has_a_bound(plan.fabric, bounds)?;
        Ok(match &self.what {
            What::PingPong { between, messages } => {
                let messages = messages.unwrap_or_else(|| What::usual_messages(self.size));
                let what = PingPong { between: *between, size: self.size, messages };
                let run = workload::ping_pong(plan, settings, what).map_err(failed)?;
                let [a, b] = *between;
                let (there, back) = (messages.div_ceil(2) as f64, (messages / 2) as f64);
                let alone = by_shortest(plan, settings, |plan, settings| {
                    // Of the fabric: a transport may hold a first message back more than those after it.
                    let free = &Settings { transport: None, ..settings.clone() };
                    let returned = if back > 0.0 { back * alone_us(plan, free, [b, a], self.size)? } else { 0.0 };
                    Ok(there * alone_us(plan, free, [a, b], self.size)? + returned)
                })?;
                let latency_us = run.elapsed.us() / messages as f64;
                let least = network::alone_or_shared(alone / messages as f64, self.size, bound);
                let bound = network::idle(least, 1, self.size as f64, bounds.per_node());
                let record = head
                    .with("messages", messages)
                    .with("latency_us", latency_us)
                    .with("bandwidth_MBps", self.size as f64 / latency_us)
                    .beside_time(&bound, latency_us)
                    .also_bounded("bound_bandwidth_MBps", bound.in_time(self.size));
                (record, run)
            }
            What::Saturation { pairs, messages, window, counted } => {
                let pause = workload::message_passing_pause(plan, settings, pairs).map_err(failed)?;
                // Where message passing's own time is known: blocking sends, one at a time.
                let window = window.unwrap_or(if pause == Time::ZERO { 2 } else { 1 });
                let what = Stream { pairs: pairs.clone(), size: self.size, window, messages: *messages, pause };
                let run = workload::saturate(plan, settings, &what).map_err(failed)?;
                let bound = network::pairs(pairs.len() as f64, bounds.per_node());
                let record = head
                    .with(counted, pairs.len())
                    .with("window", window)
                    .with("pause_us", pause.us())
                    .with("bandwidth_MBps", run.mbps())
                    .bounded("bound_bandwidth_MBps", bound.mbps, bound.share_of_rate(run.mbps()));
                (record, run)
            }
            What::Exchanges { pairs, times } => {
                let (run, mbps) = workload::exchanges(plan, settings, pairs, self.size, *times).map_err(failed)?;
                // A pair that is done leaves its share to the others: only its own devices bound the rate of each.
                let injection = self.injection_mbps(plan, bounds).ok_or("its nodes have no rate to inject at")?;
                let record = head
                    .with("pairs", pairs.len())
                    .with("exchanges", *times)
                    .with("bandwidth_MBps", mbps)
                    .bounded("bound_bandwidth_MBps", injection, mbps / injection);
                (with_injection(record, mbps, Some(injection)), run)
            }
            What::AllToAll { order } => {
                let schedule = if *order == Order::Random { Schedule::Random } else { Schedule::LinearShift };
                let run = workload::all_to_all(plan, settings, self.size, schedule).map_err(failed)?;
                // It takes as long as the message to the node that is farthest from the first, whatever the bandwidth.
                let sent = (nodes - 1.0) * self.size as f64;
                let far = by_shortest(plan, settings, |plan, settings| farthest_us(plan, settings, self.size))?;
                let (by_bytes, bound) = (bound, bound.min(sent / far));
                let record = head
                    .with("schedule", order.name())
                    .with("latency_us", run.elapsed.us())
                    .with("bandwidth_per_node_MBps", run.mbps() / nodes)
                    .bounded("bound_bandwidth_per_node_MBps", bound, run.mbps() / nodes / bound);
                let record = if bound < by_bytes { record.with("limiting_resource", LATENCY) } else { record };
                let record = with_injection(record, run.mbps() / nodes, self.injection_mbps(plan, bounds));
                (record, run)
            }
            What::Traffic(_) => return Err("an open loop has records of its own".to_owned()),
            What::Program(_) => return Err("a program is no workload of bare packets".to_owned()),
        })
    }

    /// The rate at which a node's own devices let it inject.
    pub(super) fn injection_mbps(&self, plan: &Plan<'_>, bounds: &Bounds) -> Option<f64> {
        bounds.injection_mbps(plan.fabric, self.capacities.into())
    }

    /// Refuses a network on which no bandwidth has a meaning.
    pub(super) fn has_a_bound(&self, fabric: &Fabric, bounds: &Bounds) -> Result<(), String> {
        need_a_rate(fabric, bounds, self.capacities).map_err(|what| format!("{}: {what}", self.fabric))?;
        match bounds.bandwidth_per_node_mbps.is_finite() {
            true => Ok(()),
            false => Err(format!("{}: no node sends to another one, so that no bandwidth has a meaning", self.fabric)),
        }
    }

    pub(super) fn head(&self, plan: &Plan<'_>, settings: &Settings) -> Record {
        let benchmark = match self.what {
            What::PingPong { .. } => "pingpong",
            What::Saturation { .. } | What::Exchanges { .. } => "saturation",
            What::AllToAll { .. } => "alltoall",
            What::Traffic(_) => "traffic",
            What::Program(_) => "program",
        };
        let record = Record::new()
            .with("fabric", plan.fabric.spec.name.as_str())
            .with("benchmark", benchmark)
            .with("method", "packet")
            .with("nodes", self.nodes)
            .with("nodes_built", plan.fabric.nodes())
            .with("size_B", self.size)
            .with("packet_B", plan.packet_bytes)
            .with("capacities", self.capacities.name())
            // Measured capacities are put in, so a plateau at one of them is a calibration, not a prediction.
            .with("kind", if settings.capacities == Capacities::Measured { "calibrated" } else { "prediction" })
            .with("seed", self.seed);
        // An open loop has no other stack to be told from.
        let is_alone = matches!(self.what, What::Traffic(_));
        let record = if is_alone { record } else { record.with("stack", "packet") };
        self.streams.into_iter().fold(record, |record, streams| record.with("streams", streams))
    }
}

/// Of an exchange that lost packets: arrived messages have a time, the exchange has none.
fn in_part(record: Record) -> Record {
    let timed = ["latency_us", "bandwidth_per_node_MBps", "efficiency"];
    let record = timed.iter().fold(record, |record, key| record.without(key));
    record.with("note", "pairs were cut off: the exchange has no time, and elapsed_us is that of what arrived")
}

fn beside_healthy(record: Record, healthy: &Record) -> Record {
    match healthy.number("latency_us") {
        Some(us) => faults::with_cost(record, us),
        None => record,
    }
}

/// The record with the counts of a run.
pub fn with_run(record: Record, run: &Run) -> Record {
    let record = record
        .with("elapsed_us", run.elapsed.us())
        .with("events", run.stats.events)
        .with("packet_hops", run.stats.packet_hops)
        .with("packets", run.stats.packets)
        .with("trace_hash", format!("{:016x}", run.trace_hash));
    with_losses(record, run)
}

/// The record with the counts of packets' losses, delays and detours, of those that occurred.
pub(crate) fn with_losses(mut record: Record, run: &Run) -> Record {
    for (key, count) in [
        ("overtakings", run.stats.overtakings),
        ("reorder_max_B", run.stats.reorder_bytes),
        ("reorder_drops", run.stats.reorder_drops),
        ("retries", run.stats.retries),
        ("drops", run.stats.drops),
        ("marks", run.stats.marks),
        ("detours", run.stats.detours),
        ("lost", run.stats.lost),
        ("gone", run.stats.gone),
        ("unreachable_pairs", run.unreachable.len() as u64),
    ] {
        if count > 0 {
            record.set(key, count);
        }
    }
    if !run.unreachable.is_empty() {
        record.set("unreachable", pairs_by_name(&run.unreachable));
    }
    record
}

/// The pairs, sorted; of many the first ones (the record also has the number of all).
fn pairs_by_name(pairs: &[(u32, u32)]) -> String {
    const NAMED: usize = 200;
    let mut names: Vec<String> = pairs.iter().take(NAMED).map(|(from, to)| format!("{from} -> {to}")).collect();
    if pairs.len() > NAMED {
        names.push(format!("and {} more", pairs.len() - NAMED));
    }
    names.join(", ")
}

/// Keys that distinguish a record of a part from those of others.
pub(super) fn identity(head: &Record) -> Record {
    let keys = ["fabric", "benchmark", "nodes", "size_B", "sizes", "load", "senders", "pairs"];
    let base = keys.iter().filter_map(|&key| Some((key, head.get(key)?.clone())));
    base.fold(Record::new(), |record, (key, value)| record.with(key, value))
}

/// Utilisation of every server that was busy at all.
fn per_server(head: &Record, plan: &Plan<'_>, run: &Run) -> Vec<Record> {
    let base = identity(head);
    let busy = run.busy.iter().enumerate().filter(|(_, share)| **share > 0.0);
    busy.map(|(server, share)| {
        let name = plan.server_name(server as u32);
        base.clone().with("method", "packet").with("resource", name).with("utilisation", *share)
    })
    .collect()
}

/// The records of all cells, handed to `give` in their order.
///
/// # Errors
/// As [`parallel::answers_in_order`].
pub fn run(cells: &[Cell], watch: &dyn Watch, give: &mut (dyn FnMut(Vec<Record>) -> bool + Send)) -> Result<(), Error> {
    let one = |cell: &Cell| {
        let records = cell.run(watch);
        watch.step();
        records.map_err(Error::Input)
    };
    parallel::answers_in_order(cells, one, give)
}
