//! A file's schedule on a fabric: by packets.

use crate::gpu;
use crate::replay::{self, Failed, Network};
use crate::seating::Wanted;
use hotlink_bench::Record;
use hotlink_fabric::units::Time;
use hotlink_schedule::{Cut, Format, Options, Read, check, place, read};
use hotlink_study::ask::{Method, Methods};
use hotlink_study::inputs::{self, Vary};
use hotlink_study::simulate::goal::{Goal, Scheduled as GoalOf, with_reading};
use hotlink_study::simulate::loggp::is_calibrated;
use hotlink_study::simulate::request::Request;
use hotlink_study::{Error, Source, Watch};

/// What runs, and on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// A file, a folder or prefix of traces, or `-`.
    pub path: String,
    /// What the file does not state.
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
            options: Options::default(),
            calc_unit: Time(1000),
            seats: Wanted::default(),
            network: Network::default(),
            vary: Vary::No,
        }
    }

    /// The questions of `goal` to the packet networks of its fabric, one for each transport. `None`: a machine of the
    /// LogGP family answers. One does so where the fabric is calibrated as such and no method is asked for.
    ///
    /// # Errors
    /// Errors of the fabric's file; a method that runs no schedule; collectives that are recorded on a LogGP machine.
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
        let GoalOf::File { file, calc_unit, options } = &goal.schedule else {
            let what = format!("collectives are recorded on a LogGP machine, and {fabric} is a network of packets");
            return Err(Error::Input(format!("--generate: {what}: --loggp states a machine")));
        };
        let nodes = match request.nodes.as_deref() {
            None => None,
            Some([nodes]) => Some(*nodes),
            Some(_) => {
                return Err(Error::Input("--nodes: a schedule of a file runs on one number of nodes".to_owned()));
            }
        };
        let seats = Wanted { nodes, seed: request.seed, ..Wanted::default() };
        let one = |network| Scheduled {
            options: options.clone(),
            calc_unit: *calc_unit,
            seats: seats.clone(),
            network,
            vary: request.sensitivity,
            ..Scheduled::of(file)
        };
        Ok(Some(Network::of(request, "schedules")?.into_iter().map(one).collect()))
    }

    /// Reads the schedule, and finds what can never end before anything runs.
    ///
    /// # Errors
    /// What is wrong, with its place.
    pub fn read(&self) -> Result<Read, Error> {
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

    fn stuck(&self, stuck: &hotlink_schedule::Stuck) -> Error {
        let stands = stuck.op().and_then(|op| place(&self.path, &self.options, op));
        match stands {
            Some(place) => Error::Input(format!("{place}: {stuck}")),
            None => Error::Input(format!("{}: {stuck}", self.path)),
        }
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
            let mut found = on.read()?;
            if found.format == Format::Chakra && gpu::is(source.spec()) {
                // Where its ranks are is known once it is known how many there are.
                let seats = self.seats.seats(source, found.schedule.ranks())?;
                if let Some(options) = gpu::placed(source.spec(), &on.options, &seats.places()) {
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
        let Read { schedule, format, unit_ps } = found;
        let seats = self.seats.seats(source, schedule.ranks())?;
        let built = source.build(seats.nodes()).map_err(|what| Error::Input(format!("{}: {what}", source.name())))?;
        let unit_ps = unit_ps.unwrap_or(self.calc_unit.0);
        let job = (schedule, &seats.places()[..]);
        let ran =
            replay::run((source.spec(), &built), job, unit_ps, &self.network, watch).map_err(
                |failed| match failed {
                    Failed::Stuck(stuck) => self.stuck(&stuck),
                    Failed::Other(what) => Error::Input(what),
                },
            )?;
        let head = Record::new().with("fabric", source.name()).with("benchmark", benchmark);
        let head = seats.told(head.with("method", "packet").with("schedule", self.path.as_str()));
        let head = with_reading(head, found, &self.options, self.calc_unit);
        let mut record = head.followed_by(ran.record);
        if seats.shares_nodes() {
            record.set("left_out", "messages within a node");
        }
        if *format == Format::Chakra {
            let &Cut { channels, chunk, slices, .. } = cut;
            record = record.with("channels", channels).with("chunk_B", chunk).with("slices", slices);
        }
        Ok(vec![record])
    }
}
