//! A file's schedule on a fabric: by packets.

use crate::gpu;
use crate::replay::{self, Failed, Network};
use crate::seating::Wanted;
use crate::way::told_of;
use hotlink_bench::{Record, Step, distribution};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Resource, Vertex};
use hotlink_fabric::units::Time;
use hotlink_loggp::{LogGops, Machine};
use hotlink_schedule::collective::Algorithm;
use hotlink_schedule::{Cut, Format, Options, Protocol, Read, Schedule, check, read};
use hotlink_study::ask::{Method, Methods};
use hotlink_study::inputs::{self, Vary};
use hotlink_study::simulate::goal::{Goal, Scheduled as GoalOf, generated, with_reading};
use hotlink_study::simulate::loggp::is_calibrated;
use hotlink_study::simulate::request::Request;
use hotlink_study::{Error, Source, Watch};

/// A machine on which the message stack records what it does: no time of its own enters the record.
const RECORDER: &str = "L=1us,o=0,g=0,G=0";

/// What a record of collectives on no machine in particular leaves out.
const WITHOUT_HOSTS: &str = "the hosts' own copies and computations: the fabric states no times of them";

/// What no plan of MSCCL++ says, and the catalog neither.
const STEPS_OF_PLUS: &str = "assumption: steps are NCCL's, since neither the plan nor the catalog has those of MSCCL++";

/// Collectives of the message stack, as they are recorded there in picoseconds, and what that leaves out.
///
/// # Errors
/// Too many ranks or operations.
pub(crate) fn recorded(steps: &[Step], repeat: u32, ranks: u32) -> Result<(Schedule, Option<&'static str>), Error> {
    let recorder: LogGops = RECORDER.parse().map_err(Error::Input)?;
    let (schedule, missing) = generated(steps, repeat, ranks, &Machine::of_messages("loggp", recorder))?;
    Ok((schedule, (!missing.is_empty()).then_some(WITHOUT_HOSTS)))
}

/// Collectives of the message stack, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What.
    pub steps: Vec<Step>,
    /// How often.
    pub repeat: u32,
    /// On how many ranks.
    pub ranks: u32,
}

/// What runs, and on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// A file, a folder or prefix of traces, or `-`.
    pub path: String,
    /// What is recorded in place of a file; then the path is its name.
    pub recorded: Option<Recorded>,
    /// What the file does not tell.
    pub options: Options,
    /// What a unit of computation stands for, where the file's form does not say (GOAL).
    pub calc_unit: Time,
    /// Where its ranks are; by default a rank on each node.
    pub seats: Wanted,
    /// How messages cross it.
    pub network: Network,
    /// What is done with uncertain inputs.
    pub vary: Vary,
}

impl Scheduled {
    /// The schedule of a file.
    pub fn of(path: &str) -> Scheduled {
        Scheduled {
            path: path.to_owned(),
            recorded: None,
            options: Options::default(),
            calc_unit: Time(1000),
            seats: Wanted::default(),
            network: Network::default(),
            vary: Vary::No,
        }
    }

    /// The same of collectives that are recorded, in place of a file.
    #[must_use]
    pub fn recording(&self, recorded: Recorded) -> Scheduled {
        let names: Vec<String> = recorded.steps.iter().map(Step::to_string).collect();
        Scheduled { path: names.join(","), recorded: Some(recorded), ..self.clone() }
    }

    /// What `goal` asks of the packet networks of its fabric: a question for each transport. `None`: a machine of the LogGP
    /// family answers, as one does where the fabric is calibrated as such and no method is asked for.
    ///
    /// # Errors
    /// Of the fabric's file; a method that runs no schedule.
    pub fn of_request(
        request: &Request,
        goal: &Goal,
        methods: Option<Methods>,
    ) -> Result<Option<Vec<Scheduled>>, Error> {
        let (Some(fabric), None) = (request.fabrics.first(), goal.machine) else { return Ok(None) };
        let is_loggp = is_calibrated(Source::open(fabric)?.spec());
        match methods {
            Some(Methods::One(Method::Packet)) if is_loggp => {
                let what = format!("--method packet: {fabric} is calibrated as LogGP and has no network of packets");
                return Err(Error::Input(what));
            }
            Some(Methods::One(Method::Loggp)) => return Ok(None),
            None if is_loggp => return Ok(None),
            None | Some(Methods::One(Method::Packet)) => {}
            Some(methods) => return Err(Error::Input(format!("--method {methods}: schedules run by loggp or packet"))),
        }
        let counts = request.nodes.as_deref();
        let (all, nodes): (Vec<Scheduled>, _) = match &goal.schedule {
            GoalOf::File { file, calc_unit, options } => {
                if counts.is_some_and(|counts| counts.len() != 1) {
                    return Err(Error::Input("--nodes: a schedule of a file runs on one number of nodes".to_owned()));
                }
                let one = Scheduled { options: (**options).clone(), calc_unit: *calc_unit, ..Scheduled::of(file) };
                (vec![one], counts.and_then(<[u32]>::first).copied())
            }
            GoalOf::Generated { steps, repeat } => {
                let of = |&ranks: &u32| Recorded { steps: steps.clone(), repeat: *repeat, ranks };
                let none = Scheduled::of("");
                (counts.unwrap_or_default().iter().map(|ranks| none.recording(of(ranks))).collect(), None)
            }
        };
        let seats = Wanted { nodes, seed: request.seed, ..Wanted::default() };
        let networks = Network::of(request, "schedules")?;
        let one = |scheduled: &Scheduled, network: &Network| Scheduled {
            seats: seats.clone(),
            network: network.clone(),
            vary: request.sensitivity,
            ..scheduled.clone()
        };
        let each = all.iter().flat_map(|scheduled| networks.iter().map(|network| one(scheduled, network)));
        Ok(Some(each.collect()))
    }

    /// Reads the schedule, and finds what can never end before anything runs.
    ///
    /// # Errors
    /// What is wrong, with its place.
    pub fn read(&self) -> Result<Read, Error> {
        if let Some(Recorded { steps, repeat, ranks }) = &self.recorded {
            let (schedule, _) = recorded(steps, *repeat, *ranks)?;
            return Ok(Read::recorded(schedule));
        }
        let found = read(&self.path, &self.options).map_err(|error| Error::Input(error.to_string()))?;
        check(&found.schedule).map_err(|stuck| self.stuck(&stuck))?;
        Ok(found)
    }

    /// The same with what the GPUs of a fabric take for what a trace or plan has them do.
    ///
    /// # Errors
    /// The fabric's file does not state it.
    pub fn on(&self, source: &Source) -> Result<Scheduled, Error> {
        let options = gpu::options(source.spec(), &self.options).map_err(Error::Input)?;
        Ok(Scheduled { options, ..self.clone() })
    }

    /// The same for a file that is written: it has no switches that combine data.
    ///
    /// # Errors
    /// As [`Scheduled::on`]; such switches are asked for.
    pub fn written_on(&self, source: &Source) -> Result<Scheduled, Error> {
        let is_by_switch = |own: &Algorithm| own.is_by_switch() || *own == Algorithm::CollNet;
        if let Some(algorithm) = self.options.wanted.0.filter(is_by_switch) {
            let what = "the file of a schedule has no switches that combine data: ring and others have none";
            return Err(Error::Input(format!("--algorithm {}: {what}", algorithm.name())));
        }
        let mut on = self.on(source)?;
        on.options.cut.switch = false;
        Ok(on)
    }

    fn stuck(&self, stuck: &hotlink_schedule::Stuck) -> Error {
        Error::Input(stuck.located(&self.path, &self.options))
    }

    /// The record of its run on a fabric; `benchmark` is the record's.
    ///
    /// # Errors
    /// The file is wrong, the fabric too small, or the schedule cannot end.
    pub fn run(&self, fabric: &str, benchmark: &str, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let source = Source::open(fabric)?;
        // What GPUs take of a trace or plan is asked of the fabric, so it is read again for each.
        let read_on = |source: &Source| {
            let mut on = self.on(source)?;
            let is_of_gpus = gpu::is(source.spec());
            let first =
                if is_of_gpus { Scheduled { options: gpu::unplaced(&on.options), ..on.clone() } } else { on.clone() };
            let mut found = first.read()?;
            if is_of_gpus {
                // Where its ranks are is known once it is known how many there are.
                let seats = self.seats.seats(source, found.ranks())?;
                let wrong = |what| Error::Input(format!("{}: {what}", source.name()));
                let placed = gpu::placed(source.spec(), &on.options, &seats.places(), seats.nodes()).map_err(wrong)?;
                if let Some(options) = placed.filter(|_| {
                    matches!(found.format, Format::Chakra | Format::Msccl | Format::Mscclpp)
                        || on.options.wanted != (None, None)
                }) {
                    on.options = options;
                    found = on.read()?;
                }
            }
            Ok::<_, Error>((found, on.options.cut))
        };
        let once = if gpu::is(source.spec()) { None } else { Some(read_on(&source)?) };
        let answer = |source: &Source, watch: &dyn Watch| match &once {
            Some(found) => self.answer(source, benchmark, found, watch),
            None => self.answer(source, benchmark, &read_on(source)?, watch),
        };
        let source = self.network.control.equipped(&source, self.network.ethernet).map_err(Error::Input)?;
        inputs::told(&source, self.vary, watch, &answer)
    }

    fn answer(
        &self,
        source: &Source,
        benchmark: &str,
        (found, cut): &(Read, Cut),
        watch: &dyn Watch,
    ) -> Result<Vec<Record>, Error> {
        let Read { schedule, format, unit_ps, switches, runs } = found;
        let ranks = found.ranks();
        let seats = self.seats.seats(source, ranks)?;
        let wrong = |what| Error::Input(format!("{}: {what}", source.name()));
        let spec = gpu::with_switches(source.spec(), gpu::combining(switches));
        let each = spec.as_ref().map_or(1, gpu::domain);
        let built = spec.map_or_else(|| source.build(seats.nodes()), |spec| source.varied(spec).build(seats.nodes()));
        let built = built.map_err(wrong)?;
        let unit_ps = unit_ps.unwrap_or(self.calc_unit.0);
        let of_switches = gpu::nodes_of(&built, seats.nodes().next_multiple_of(each), switches);
        let places = [seats.places(), of_switches].concat();
        let job = (schedule, &places[..]);
        let ran =
            replay::run((source.spec(), &built), job, unit_ps, &self.network, watch).map_err(
                |failed| match failed {
                    Failed::Stuck(stuck) => self.stuck(&stuck),
                    Failed::Other(what) => Error::Input(what),
                },
            )?;
        let head = Record::new().with("fabric", source.name()).with("benchmark", benchmark);
        let head = seats.told(head.with("method", "packet").with("schedule", self.path.as_str()));
        // What was recorded has no form.
        let head = match &self.recorded {
            Some(_) => head,
            None => with_reading(head, found, &self.options, self.calc_unit),
        };
        let named = |rank, cpu| match rank < ranks {
            true => format.processor(rank, cpu),
            false => format!("reduction in {}", switch_at(&built, places[rank as usize])),
        };
        let mut record = head.followed_by(replay::of_processor(ran.record, &ran.replayed, named));
        if let Some((rank, cpu)) = ran.least.processor {
            record.set("limiting_resource", named(rank, cpu));
        }
        if seats.shares_nodes() {
            record.set("left_out", "messages within a node");
        } else if self.recorded.is_some() {
            record.set("left_out", WITHOUT_HOSTS);
        }
        if *format == Format::Mscclpp && gpu::is(source.spec()) {
            record = record.with("protocol", Protocol::Simple.name()).with("protocol_by", STEPS_OF_PLUS);
        }
        if *format == Format::Chakra {
            let &Cut { channels, chunk, slices, .. } = cut;
            record =
                record.with("channels", channels).with("chunk_B", chunk).with("slices", slices).with("ranks", ranks);
            record = told_of(record, "", runs, "collectives");
            if !switches.is_empty() {
                record = distribution::with_ends(record, &ran.replayed.finish[..ranks as usize]);
            }
        }
        Ok(vec![record])
    }
}

/// The switch that combines data as a node.
pub(crate) fn switch_at(fabric: &Fabric, node: u32) -> String {
    let network = &fabric.network;
    let at = network.out(Vertex(node)).next().map_or(Vertex(node), |channel| network.to(channel));
    fabric.resource_name(Resource::Vertex(at))
}
