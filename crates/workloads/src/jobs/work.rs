//! What a job's ranks do, as one schedule in picoseconds, on the nodes that it has.

use super::model::Model;
use super::place::{Placement, Room, Wanted, text};
use super::plan::{Job, Plan, Repeat, Work};
use super::training::Training;
use super::{Setting, traffic};
use crate::collective;
use crate::gpu::{self, Gpus};
use crate::schedule::recorded;
use hotlink_fabric::Fabric;
use hotlink_fabric::spec::FabricSpec;
use hotlink_schedule::collective::{self as gpus, Algorithm, Home, Run, Team, Way};
use hotlink_schedule::{Format, Read, Schedule, beside, check, read};
use hotlink_study::Error;

/// A job on its nodes.
pub(super) struct Placed<'p> {
    pub(super) job: &'p Job,
    /// One round of it; all of it where it is traffic.
    pub(super) schedule: Schedule,
    /// The node of each rank of the schedule, switches that take part last.
    pub(super) nodes: Vec<u32>,
    /// The nodes in order of the job's own ranks, in short form.
    pub(super) listed: String,
    /// Ranks that are no switches.
    pub(super) ranks: u32,
    pub(super) rounds: Repeat,
    /// How its nodes were chosen.
    pub(super) placement: &'static str,
    /// Costs that nothing states and that therefore were left out.
    pub(super) left_out: Option<String>,
    /// Parts of the time of a step of training.
    pub(super) training: Option<Training>,
    /// A collective as GPUs run it, and what chose that.
    pub(super) of_gpus: Option<(gpus::Job, Way)>,
    /// The collectives of its schedule, and how each is done.
    pub(super) runs: Vec<Run>,
    /// The form that its schedule was read from, which names its processors.
    pub(super) form: Format,
}

/// Whether a job may have switches combine data by such an algorithm: it names it, or none.
pub(super) fn may_be_by(job: &Job, read: Option<&Read>, own: Algorithm) -> bool {
    match &job.work {
        Work::Training(model) => model.may_be_by(own),
        Work::Schedule { options, .. } => {
            read.is_some_and(|read| read.format == Format::Chakra) && options.wanted.0.is_none_or(|asked| asked == own)
        }
        Work::Collective { algorithm: Some(name), .. } => own.name() == name,
        Work::Collective { name, algorithm: None, .. } => {
            collective::named(name).is_some_and(|which| Algorithm::of(which).contains(&own))
        }
        _ => false,
    }
}

/// Schedules that were read, by job: they say how many ranks it has.
pub(super) fn read_all(plan: &Plan, spec: &FabricSpec) -> Result<Vec<Option<Read>>, Error> {
    plan.jobs.iter().map(|job| read_one(plan, job, spec, None)).collect()
}

/// The schedule of a job, in picoseconds; with the nodes of its ranks among so many, once they are known.
fn read_one(plan: &Plan, job: &Job, spec: &FabricSpec, placed: Option<(&[u32], u32)>) -> Result<Option<Read>, Error> {
    let Work::Schedule { path, options, calc_unit } = &job.work else { return Ok(None) };
    let key = match options.wanted {
        (Some(_), _) => "algorithm",
        (None, Some(_)) => "protocol",
        (None, None) => "schedule",
    };
    let options = gpu::options(spec, options).map_err(|what| plan.wrong(job, key, what))?;
    let options = match placed {
        Some((nodes, all)) => gpu::placed(spec, &options, nodes, all).map_err(Error::Input)?.unwrap_or(options),
        None => gpu::unplaced(&options),
    };
    let found = read(path, &options).map_err(|error| plan.wrong(job, "schedule", error.to_string()))?;
    check(&found.schedule).map_err(|stuck| plan.wrong(job, "schedule", stuck.located(path, &options)))?;
    let ranks = found.ranks();
    if job.ranks.is_some_and(|asked| asked != ranks) {
        return Err(plan.wrong(job, "ranks", format!("the schedule has {ranks} ranks: must be the same")));
    }
    let unit = found.unit_ps.unwrap_or(calc_unit.0);
    let schedule = beside(&[(&found.schedule, unit)]).map_err(|what| plan.wrong(job, "schedule", what))?;
    Ok(Some(Read { schedule, unit_ps: Some(1), ..found }))
}

/// Gives every job its nodes: first those that list them, then the others in their order; and writes its schedule.
pub(super) fn placed<'p>(
    plan: &'p Plan,
    read: &[Option<Read>],
    fabric: &Fabric,
    setting: &Setting<'_>,
    placement: Option<Placement>,
) -> Result<Vec<Placed<'p>>, Error> {
    let mut room = Room::new(fabric, setting.spec, setting.nodes);
    let mut nodes: Vec<Option<Vec<u32>>> = vec![None; plan.jobs.len()];
    for is_listed in [true, false] {
        for (at, job) in plan.jobs.iter().enumerate().filter(|(_, job)| job.nodes.is_some() == is_listed) {
            nodes[at] = Some(given(plan, job, read[at].as_ref(), &mut room, placement)?);
        }
    }
    let all = plan.jobs.iter().zip(nodes).zip(read);
    all.map(|((job, nodes), read)| {
        let mut placed = write(plan, job, read.as_ref(), nodes.unwrap_or_default(), fabric, setting, &room)?;
        placed.placement = match (&job.nodes, placement.or(job.placement)) {
            (Some(_), _) => "listed",
            (None, how) => how.unwrap_or(Placement::Contiguous).name(),
        };
        Ok(placed)
    })
    .collect()
}

/// The nodes of a job, which then holds them.
fn given(
    plan: &Plan,
    job: &Job,
    read: Option<&Read>,
    room: &mut Room<'_>,
    placement: Option<Placement>,
) -> Result<Vec<u32>, Error> {
    let ranks = read.map(Read::ranks).or(job.ranks).or(job.model().map(Model::ranks));
    let wanted = |ranks: u32| Wanted {
        job: &job.name,
        ranks,
        gpus_per_node: job.gpus_per_node,
        shared: job.shared,
        seed: job.seed,
    };
    let (nodes, key) = match (&job.nodes, ranks) {
        (Some(list), ranks) => {
            let nodes = room.listed(list).map_err(|what| plan.wrong(job, "nodes", what))?;
            if let Some(ranks) = ranks.filter(|&ranks| ranks as usize != nodes.len()) {
                let what = format!("{} nodes are listed for {ranks} ranks: each rank needs one", nodes.len());
                return Err(plan.wrong(job, "nodes", what));
            }
            (nodes, "nodes")
        }
        (None, ranks) => {
            let how = placement.or(job.placement).unwrap_or(Placement::Contiguous);
            let chosen = room.choose(&wanted(ranks.unwrap_or(1)), how);
            (chosen.map_err(|what| plan.wrong(job, "ranks", what))?, "ranks")
        }
    };
    room.hold(&wanted(nodes.len() as u32), &nodes).map_err(|what| plan.wrong(job, key, what))?;
    Ok(nodes)
}

fn write<'p>(
    plan: &'p Plan,
    job: &'p Job,
    read: Option<&Read>,
    nodes: Vec<u32>,
    fabric: &Fabric,
    setting: &Setting<'_>,
    room: &Room<'_>,
) -> Result<Placed<'p>, Error> {
    let ranks = nodes.len() as u32;
    let mut placed = Placed {
        job,
        schedule: Schedule::default(),
        listed: text(&nodes),
        nodes,
        ranks,
        rounds: job.repeat,
        placement: "",
        left_out: None,
        training: None,
        of_gpus: None,
        runs: Vec::new(),
        form: read.map_or(Format::Goal, |read| read.format),
    };
    match &job.work {
        // For a trace, what the GPUs of a collective do depends on which of them share a host.
        Work::Schedule { options, .. } => {
            let of = gpu::placed(setting.spec, options, &placed.nodes, room.nodes).map_err(Error::Input)?;
            let found = match of {
                Some(_) => read_one(plan, job, setting.spec, Some((&placed.nodes, room.nodes)))?,
                None => read.cloned(),
            };
            if let Some(Read { schedule, switches, runs, .. }) = found {
                placed.nodes.extend(gpu::nodes_of(fabric, room.nodes, &switches));
                (placed.schedule, placed.runs) = (schedule, runs);
            }
        }
        Work::Program { .. } => {
            placed.schedule = setting.recorded.of(plan, job, fabric.nodes(), &placed.nodes)?;
            placed.left_out = Some("the hosts' own part of each message: --overhead adds one".to_owned());
        }
        Work::Collective { .. } if placed.ranks < 2 => {
            return Err(plan.wrong(job, "ranks", "a collective of one rank sends nothing: must be 2 or more"));
        }
        Work::Collective { name, algorithm, protocol, bytes } => match gpu::is(setting.spec) {
            true => {
                let asked = (name.as_str(), algorithm.as_deref(), protocol.as_deref());
                of_gpus(plan, &mut placed, asked, *bytes, (fabric, setting), room)?;
            }
            false if gpu::is_bare(setting.spec) => {
                let what = "the nodes are GPUs, and the fabric's file does not say what these do: hgx-h100-rail's does";
                return Err(plan.wrong(job, "collective", what));
            }
            false if protocol.is_some() => {
                return Err(plan.wrong(job, "protocol", "only GPUs have it, and this fabric describes none"));
            }
            false => of_stack(plan, &mut placed, (name, algorithm.as_deref(), *bytes))?,
        },
        Work::Traffic { traffic, law, load, .. } => {
            let offered = traffic::Offered { traffic, law: &law.law, load: *load, until: job.repeat, seed: job.seed };
            let schedule = traffic::schedule(&offered, &placed.nodes, fabric, setting);
            placed.schedule = schedule.map_err(|(key, what)| plan.wrong(job, key, what))?;
            placed.rounds = Repeat::Times(1);
        }
        Work::Training(model) => of_training(plan, &mut placed, model, (fabric, room.nodes), setting)?,
    }
    Ok(placed)
}

/// A collective as GPUs run it, in domains as the job's nodes lie.
fn of_gpus(
    plan: &Plan,
    placed: &mut Placed<'_>,
    (name, algorithm, protocol): (&str, Option<&str>, Option<&str>),
    bytes: u64,
    (fabric, setting): (&Fabric, &Setting<'_>),
    room: &Room<'_>,
) -> Result<(), Error> {
    let job = placed.job;
    let which = collective::named(name).ok_or_else(|| {
        plan.wrong(job, "collective", format!("{name:?} is none of GPUs: {}", collective::all_named()))
    })?;
    let words = |word: Option<&str>| word.map(str::to_owned).into_iter().collect::<Vec<String>>();
    let told = |key: &'static str, error: Error| plan.wrong(job, key, error.to_string());
    let algorithms = collective::algorithms(which, &words(algorithm)).map_err(|error| told("algorithm", error))?;
    let protocols = collective::protocols(which, &algorithms, &words(protocol));
    let protocols = protocols.map_err(|error| told("protocol", error))?;
    let wanted = (algorithms.first().copied(), protocols.first().copied());
    let found = Gpus::of(setting.spec).map_err(Error::Input)?;
    // Ranks stand in any order; the schedule counts GPUs host by host, as NCCL finds them.
    let key = if job.nodes.is_some() { "nodes" } else { "ranks" };
    even(&gpus::by_host(&placed.nodes, |node| Home::of(node, room.per_host)), room.per_host)
        .map_err(|what| plan.wrong(job, key, what))?;
    let homes: Vec<Home> = placed.nodes.iter().map(|&node| Home::of(node, room.per_host)).collect();
    let rails = gpu::rail_switches(setting.spec, room.nodes).map_err(Error::Input)?;
    let all = gpus::Machine { rails, ..found.machine(placed.ranks) };
    let team = Team::new(&all, &homes, &(0..placed.ranks).collect::<Vec<_>>());
    let asked = if wanted.0.is_some() { "algorithm" } else { key };
    let (collective, way) =
        team.job(Some(&found.kernels), which, wanted, bytes).map_err(|what| plan.wrong(job, asked, what))?;
    placed.nodes = team.ranks.iter().map(|&rank| placed.nodes[rank as usize]).collect();
    let per_domain = collective.machine.domain as usize;
    let places: Vec<u32> = placed.nodes.iter().step_by(per_domain).map(|node| node / room.per_host).collect();
    placed.schedule = collective.schedule_at(&places).map_err(|what| plan.wrong(job, "collective", what))?;
    placed.nodes.extend(gpu::nodes_of(fabric, room.nodes, &[team.combining(&collective)]));
    placed.of_gpus = way.map(|way| (collective, way));
    Ok(())
}

/// A step of training, as GPUs do it.
fn of_training(
    plan: &Plan,
    placed: &mut Placed<'_>,
    model: &Model,
    (fabric, all): (&Fabric, u32),
    setting: &Setting<'_>,
) -> Result<(), Error> {
    let job = placed.job;
    if !gpu::is(setting.spec) {
        let what = format!("{} does not describe GPUs: must be a fabric as hgx-h100-rail", setting.spec.name);
        return Err(plan.wrong(job, "model", what));
    }
    let found = Gpus::of(setting.spec).map_err(Error::Input)?;
    let rails = gpu::rail_switches(setting.spec, all).map_err(Error::Input)?;
    // Groups have domains of their own, of the hosts of their GPUs.
    let machine = gpus::Machine { domain: 1, rails, ..found.machine(placed.ranks) };
    let on = (setting.spec, fabric, all);
    let kernels = Some(found.kernels);
    let training = Training::of(model, (machine, kernels), on, &placed.nodes, setting.network, setting.watch);
    let training = training.map_err(|(key, what)| plan.wrong(job, key, what))?;
    placed.schedule = training.schedule.clone();
    placed.nodes.clone_from(&training.nodes);
    placed.left_out =
        Some("optimizer, and operations that are no matrix products: nothing states their times".to_owned());
    placed.training = Some(training);
    Ok(())
}

/// Whether each host has the same number of GPUs.
fn even(hosts: &[Vec<u32>], per_host: u32) -> Result<(), String> {
    let first = &hosts[0];
    let told = |host: &[u32]| {
        let (many, s) = (host.len(), if host.len() == 1 { "" } else { "s" });
        format!("{many} GPU{s} of host {} (node{s} {})", host[0] / per_host, text(host))
    };
    match hosts.iter().find(|host| host.len() != first.len()) {
        Some(other) => {
            let (what, n) = ("a collective takes as many GPUs of each of its hosts", hosts.len());
            Err(format!("{} and {}: {what}; of these {n} hosts, {n} or a multiple", told(first), told(other)))
        }
        None => Ok(()),
    }
}

/// A collective of the message stack, as it is recorded there.
fn of_stack(
    plan: &Plan,
    placed: &mut Placed<'_>,
    (name, algorithm, bytes): (&str, Option<&str>, u64),
) -> Result<(), Error> {
    let job = placed.job;
    let Some(algorithm) = algorithm else {
        let what = "is missing: say how, as `simulate goal --generate` does (\"ring\", \"recursive-doubling\")";
        return Err(plan.wrong(job, "algorithm", what));
    };
    let step = format!("{name}:{algorithm}:{bytes}");
    let step = step.parse().map_err(|what| plan.wrong(job, "collective", String::as_str(&what)))?;
    let (schedule, left_out) =
        recorded(&[step], 1, placed.ranks).map_err(|error| plan.wrong(job, "collective", error.to_string()))?;
    placed.schedule = schedule;
    placed.left_out = left_out.map(str::to_owned);
    Ok(())
}
