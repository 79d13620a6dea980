//! The runs of an answer: every job alone, all together, all together without failures; and the records of them.

use super::plan::{Plan, Repeat};
use super::shared::{Hot, Loads};
use super::work::Placed;
use super::{ALL, Setting, place};
use crate::gpu;
use crate::replay::{self, Least};
use crate::schedule::switch_at;
use hotlink_bench::Record;
use hotlink_bench::distribution::{ascending_us, median, quantile};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::Resource;
use hotlink_fabric::traffic::{Demand, Flow};
use hotlink_fabric::units::Time;
use hotlink_schedule::collective::processor_of_step;
use hotlink_schedule::{Kind, Schedule, beside, repeated};
use hotlink_sim::workload::{self, Replay, ReplayError, Replayed};
use hotlink_sim::{Plan as Packets, Settings, SimError};
use hotlink_study::simulate::cell::with_run;
use hotlink_study::simulate::{faults, limiter};
use hotlink_study::{Error, Watch};

/// What all runs have in common.
pub(super) struct Stage<'a> {
    plan: &'a Plan,
    fabric: &'a Fabric,
    setting: &'a Setting<'a>,
    watch: &'a dyn Watch,
    packets: Packets<'a>,
    settings: &'a Settings,
}

/// A job with all its rounds.
struct Whole<'p> {
    placed: Placed<'p>,
    schedule: Schedule,
    rounds: u32,
}

/// What became of one job in a run.
#[derive(Clone, Copy)]
struct Outcome {
    latency: Time,
    message_median_us: f64,
    message_p99_us: f64,
}

impl<'a> Stage<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        fabric: &'a Fabric,
        settings: &'a Settings,
        setting: &'a Setting<'a>,
        watch: &'a dyn Watch,
    ) -> Result<Stage<'a>, Error> {
        let packets = Packets::new(fabric, settings).map_err(|error| Error::Input(error.to_string()))?;
        Ok(Stage { plan, fabric, setting, watch, packets, settings })
    }

    /// The records of jobs on their nodes, and that of all.
    pub(super) fn records(&self, placed: Vec<Placed<'_>>) -> Result<Vec<Record>, Error> {
        let jobs = placed.into_iter().map(|job| self.whole(job)).collect::<Result<Vec<Whole<'_>>, Error>>()?;
        let start = self.watch.seconds();
        let (mut alone, mut last) = (Vec::new(), None);
        for job in &jobs {
            let (ran, outcomes) = self.run(&[job], self.settings)?;
            let busiest = limiter::of_packets(Record::new(), &self.packets, &ran.run);
            let busiest = self.with_processor(busiest, &ran, &[job]);
            alone.push(((self.least(job, &ran)?, outcomes[0]), busiest));
            last = Some((ran, outcomes));
        }
        let all: Vec<&Whole<'_>> = jobs.iter().collect();
        // A single job has no others.
        let ((ran, beside), start) = match last.filter(|_| jobs.len() == 1) {
            Some(only) => (only, start),
            None => {
                let start = self.watch.seconds();
                (self.run(&all, self.settings)?, start)
            }
        };
        let wall_s = self.watch.seconds() - start;
        let healthy = match self.settings.faults.is_empty() {
            true => None,
            false => Some(self.run(&all, &Settings { faults: Vec::new(), ..self.settings.clone() })?.1),
        };
        let loads = self.loads(&jobs)?;
        let mut records = Vec::new();
        for (at, job) in jobs.iter().enumerate() {
            let record = self.record(job, &alone[at].0, beside[at]);
            let record = match &healthy {
                Some(healthy) => faults::with_cost(record, healthy[at].latency.us()),
                None => record,
            };
            let record = with_alone(record, &alone[at].1);
            records.push(self.with_hot(record, loads.hottest(Some(at)), &jobs, "shared_link"));
        }
        let leasts: Vec<&Least> = alone.iter().map(|((least, _), _)| least).collect();
        let record = self.of_all(&jobs, &leasts, &beside, loads.hottest(None)).with("wall_s", wall_s);
        let record = limiter::of_packets(with_run(record, &ran.run), &self.packets, &ran.run);
        records.push(self.with_processor(record, &ran, &all));
        Ok(records)
    }

    /// The record, with the busiest processor as the limiter where it was. Waits of traffic between messages are no
    /// work.
    fn with_processor(&self, record: Record, ran: &Replayed, jobs: &[&Whole<'_>]) -> Record {
        let mut first = 0;
        for job in jobs {
            let own = first..first + job.placed.nodes.len() as u32;
            if !job.placed.job.is_traffic() && ran.busiest.is_some_and(|(rank, ..)| own.contains(&rank)) {
                return replay::of_processor(record, ran, |rank, cpu| {
                    let name = self.processor(job, rank - own.start, cpu);
                    if jobs.len() > 1 { format!("job {}: {name}", job.placed.job.name) } else { name }
                });
            }
            first = own.end;
        }
        record
    }

    /// What a processor of a job's rank is called.
    fn processor(&self, job: &Whole<'_>, rank: u32, cpu: u32) -> String {
        match &job.placed.of_gpus {
            Some((collective, _)) => {
                let named = gpu::processors(self.fabric, self.setting.nodes, collective);
                named(job.placed.nodes[rank as usize], cpu)
            }
            None if rank >= job.placed.ranks => {
                format!("reduction in {}", switch_at(self.fabric, job.placed.nodes[rank as usize]))
            }
            None if job.placed.training.is_some() => format!("{} of rank {rank}", processor_of_step(cpu)),
            None => job.placed.form.processor(rank, cpu),
        }
    }

    /// A job with as many rounds as it has, or as take long enough when it is alone and nothing fails.
    fn whole<'p>(&self, placed: Placed<'p>) -> Result<Whole<'p>, Error> {
        let one = Whole { schedule: placed.schedule.clone(), placed, rounds: 1 };
        let rounds = match one.placed.rounds {
            Repeat::Times(rounds) => rounds,
            Repeat::For(time) => {
                let (_, outcomes) = self.run(&[&one], &Settings { faults: Vec::new(), ..self.settings.clone() })?;
                u32::try_from(time.0.div_ceil(outcomes[0].latency.0.max(1))).unwrap_or(u32::MAX).max(1)
            }
        };
        let schedule = repeated(&one.placed.schedule, rounds);
        let schedule = schedule.map_err(|what| self.plan.wrong(one.placed.job, "repeat", what))?;
        Ok(Whole { schedule, rounds, ..one })
    }

    /// Jobs at once, each from its own start.
    fn run(&self, jobs: &[&Whole<'_>], settings: &Settings) -> Result<(Replayed, Vec<Outcome>), Error> {
        let parts: Vec<(&Schedule, u64)> = jobs.iter().map(|job| (&job.schedule, 1)).collect();
        let schedule = beside(&parts).map_err(|what| Error::Input(format!("{}: {what}", self.plan.file)))?;
        let nodes: Vec<u32> = jobs.iter().flat_map(|job| job.placed.nodes.iter().copied()).collect();
        let starts = jobs.iter().flat_map(|job| std::iter::repeat_n(job.placed.job.start, job.placed.nodes.len()));
        let starts: Vec<Time> = starts.collect();
        let replay::Network { overhead, eager_max, .. } = *self.setting.network;
        let asked = Replay {
            schedule: &schedule,
            nodes: &nodes,
            unit_ps: 1,
            overhead,
            eager_max,
            starts: &starts,
            timed: true,
        };
        let settings = Settings { gauge: self.watch.gauge(), ..settings.clone() };
        let ran = workload::replay(&self.packets, &settings, asked).map_err(|error| self.failed(jobs, error))?;
        self.watch.step();
        let outcomes = outcomes(jobs, &schedule, &ran);
        Ok((ran, outcomes))
    }

    fn failed(&self, jobs: &[&Whole<'_>], error: ReplayError) -> Error {
        let told = match &error {
            ReplayError::Network(SimError::Lost(lost)) => {
                let of_command = self.setting.network.faults.as_deref();
                self.by_name(self.plan.cut_off(lost, &self.packets, &self.settings.faults, of_command))
            }
            error => error.to_string(),
        };
        match jobs {
            [one] => self.plan.wrong(one.placed.job, "", told),
            _ => Error::Input(format!("{}: all jobs together: {told}", self.plan.file)),
        }
    }

    /// The text with the names of switches that combine data. They are nodes after the GPUs, with numbers that no user
    /// gave.
    fn by_name(&self, told: String) -> String {
        (self.setting.nodes..self.fabric.nodes()).fold(told, |told, node| {
            let name = format!("the reduction in {}", switch_at(self.fabric, node));
            let [from, to] = [format!("from node {node} to "), format!("to node {node}:")];
            told.replace(&from, &format!("from {name} to ")).replace(&to, &format!("to {name}:"))
        })
    }

    fn least(&self, job: &Whole<'_>, ran: &Replayed) -> Result<Least, Error> {
        let on = (&job.schedule, &job.placed.nodes[..]);
        let least = replay::least(self.fabric, on, self.settings, self.setting.network, ran)
            .map_err(|what| self.plan.wrong(job.placed.job, "", what))?;
        Ok(match least.processor {
            Some((rank, cpu)) => Least { resource: self.processor(job, rank, cpu), ..least },
            None => least,
        })
    }

    /// The loads of all jobs, in messages of the largest size.
    fn loads(&self, jobs: &[Whole<'_>]) -> Result<Loads<'a>, Error> {
        let nodes = self.fabric.nodes();
        let of = |schedule: &Schedule, places: &[u32]| replay::demand(schedule, places, nodes);
        // Each with how often: collectives within passes of training are not in the schedule itself.
        let found = |job: &Whole<'_>| {
            let rounds = f64::from(job.rounds);
            let blocking = job.placed.training.iter().flat_map(|training| &training.blocking);
            let blocking = blocking.map(|one| (of(&one.schedule, &one.nodes), rounds * one.times as f64));
            std::iter::once((of(&job.schedule, &job.placed.nodes), 1.0)).chain(blocking).collect::<Vec<_>>()
        };
        let found: Vec<Vec<((Demand, u64), f64)>> = jobs.iter().map(found).collect();
        let size = found.iter().flatten().map(|((_, size), _)| *size).max().unwrap_or(0).max(1);
        let scaled = |parts: Vec<((Demand, u64), f64)>| {
            let flows = parts.into_iter().flat_map(|((demand, own), times)| {
                let scale = times * own as f64 / size as f64;
                demand.flows.into_iter().map(move |flow| Flow { amount: flow.amount * scale, ..flow })
            });
            Demand { nodes, all_pairs: 0.0, flows: flows.collect() }
        };
        let demands: Vec<Demand> = found.into_iter().map(scaled).collect();
        Loads::of(self.fabric, self.setting, &demands, size)
            .map_err(|what| Error::Input(format!("{}: {what}", self.plan.file)))
    }

    fn record(&self, job: &Whole<'_>, (least, alone): &(Least, Outcome), beside: Outcome) -> Record {
        let placed = &job.placed;
        let nodes = &placed.nodes[..placed.ranks as usize];
        let room = place::Room::new(self.fabric, self.setting.spec, self.setting.nodes);
        let [messages, bytes] = sent(job);
        let rate = |time: Time| bytes as f64 / time.us().max(f64::MIN_POSITIVE);
        let mut record = placed
            .record()
            .with("ranks", placed.ranks)
            .with("placement", placed.placement)
            .with("node_list", placed.listed.as_str())
            .with("leaves", room.leaves(nodes))
            .with("start_us", placed.job.start.us())
            .with("rounds", job.rounds)
            .with("messages", messages)
            .with("bytes", bytes)
            .with("latency_us", beside.latency.us())
            .with("alone_us", alone.latency.us())
            .with("slowdown", ratio(beside.latency, alone.latency))
            .with("bandwidth_MBps", rate(beside.latency))
            .with("alone_bandwidth_MBps", rate(alone.latency))
            .with("message_median_us", beside.message_median_us)
            .with("message_p99_us", beside.message_p99_us)
            .with("alone_message_median_us", alone.message_median_us)
            .with("alone_message_p99_us", alone.message_p99_us)
            .bounded("bound_latency_us", least.time.us(), ratio(least.time, beside.latency))
            .with("alone_efficiency", ratio(least.time, alone.latency))
            .with("limiting_resource", least.resource.as_str());
        for (key, text) in [("hot_link", &least.hot_link), ("left_out", &placed.left_out)] {
            text.iter().for_each(|text| record.set(key, text.as_str()));
        }
        if let Some(training) = &placed.training {
            record = training.told(record, Time(alone.latency.0 / u64::from(job.rounds)));
        }
        self.with_setting(record)
    }

    fn with_setting(&self, record: Record) -> Record {
        use hotlink_fabric::spec::Capacities;
        let network = self.setting.network;
        let is_measured = self.settings.capacities == Capacities::Measured;
        record
            .with("nodes_built", gpu::nodes_built(self.fabric))
            .with("packet_B", self.packets.packet_bytes)
            .with("capacities", network.capacities.name())
            // Measured capacities are put in, so a plateau at one of them is a calibration, not a prediction.
            .with("kind", if is_measured { "calibrated" } else { "prediction" })
            .with("seed", network.seed)
            .with("paths", self.settings.paths.name())
            .with("o_us", network.overhead.us())
    }

    /// The record with a hot resource, and who has which share of it.
    fn with_hot(&self, record: Record, hot: Option<Hot>, jobs: &[Whole<'_>], key: &str) -> Record {
        let Some(Hot { resource, time, shares }) = hot else { return record };
        let users = jobs.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
        let users = users.map(|(job, share)| format!("{} {:.1} %", job.placed.job.name, share * 100.0));
        record
            .with(key, self.name_of(resource))
            .with(&format!("{key}_us"), time.us())
            .with("shared_by", users.collect::<Vec<_>>())
    }

    fn name_of(&self, resource: Resource) -> String {
        self.fabric.resource_name(resource)
    }

    /// All jobs as one: from the first start to the last end.
    fn of_all(&self, jobs: &[Whole<'_>], leasts: &[&Least], beside: &[Outcome], hot: Option<Hot>) -> Record {
        let start = |job: &Whole<'_>| job.placed.job.start;
        let first = jobs.iter().map(start).min().unwrap_or(Time::ZERO);
        let ends = jobs.iter().zip(beside).map(|(job, outcome)| start(job) + outcome.latency);
        let latency = Time(ends.max().unwrap_or(first).0 - first.0);
        let own = jobs.iter().zip(leasts).map(|(job, least)| (Time(start(job).0 - first.0 + least.time.0), job, least));
        let longest = own.reduce(|most, one| if one.0 > most.0 { one } else { most });
        let (mut bound, mut limit) = (Time::ZERO, String::new());
        if let Some((time, job, least)) = longest {
            (bound, limit) = (time, format!("job {}: {}", job.placed.job.name, least.resource));
        }
        if let Some(hot) = hot.as_ref().filter(|hot| hot.time > bound) {
            (bound, limit) = (hot.time, self.fabric.role_name(self.fabric.network.role(hot.resource)));
        }
        let [messages, bytes] = jobs.iter().map(sent).fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
        let one = |of: &dyn Fn(&Whole<'_>) -> &'static str| {
            let names: Vec<&str> = jobs.iter().map(of).collect();
            if names.iter().all(|name| *name == names[0]) { names[0] } else { "several" }
        };
        let record = Record::new()
            .with("job", ALL)
            .with("ranks", jobs.iter().map(|job| job.placed.ranks).sum::<u32>())
            .with("placement", one(&|job| job.placed.placement))
            .with("start_us", first.us())
            .with("messages", messages)
            .with("bytes", bytes)
            .with("latency_us", latency.us())
            .with("bandwidth_MBps", bytes as f64 / latency.us().max(f64::MIN_POSITIVE))
            .bounded("bound_latency_us", bound.us(), ratio(bound, latency))
            .with("limiting_resource", limit);
        self.with_hot(self.with_setting(record), hot, jobs, "hot_link")
    }
}

/// The record with what was busiest while the job ran alone.
fn with_alone(mut record: Record, busiest: &Record) -> Record {
    for key in ["limiter", "limiter_share"] {
        if let Some(value) = busiest.get(key) {
            record.set(&format!("alone_{key}"), value.clone());
        }
    }
    record
}

/// What each job of a run took.
fn outcomes(jobs: &[&Whole<'_>], schedule: &Schedule, ran: &Replayed) -> Vec<Outcome> {
    let (mut rank, mut op) = (0, 0);
    let each = jobs.iter().map(|job| {
        let ends = &ran.finish[rank..rank + job.placed.nodes.len()];
        let ops = op..op + job.schedule.ops().len();
        (rank, op) = (rank + ends.len(), ops.end);
        let sends = ops.filter(|&op| schedule.op(op as u32).kind == Kind::Send);
        let took = ascending_us(&sends.map(|op| ran.took[op]).collect::<Vec<_>>());
        let end = ends.iter().copied().max().unwrap_or(Time::ZERO);
        let latency = Time(end.0.saturating_sub(job.placed.job.start.0));
        let [message_median_us, message_p99_us] = [median(&took), quantile(&took, 0.99)];
        Outcome { latency, message_median_us, message_p99_us }
    });
    each.collect()
}

/// Messages of a job, and their bytes.
fn sent(job: &Whole<'_>) -> [u64; 2] {
    let sends = job.schedule.ops().filter(|op| op.kind == Kind::Send);
    sends.fold([0, 0], |[messages, bytes], op| [messages + 1, bytes + op.size])
}

/// One where there is nothing to compare.
fn ratio(over: Time, under: Time) -> f64 {
    if under.0 == 0 { 1.0 } else { over.0 as f64 / under.0 as f64 }
}
