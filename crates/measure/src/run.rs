//! A request from its first check to its records.

use crate::alike;
use crate::bench::pairs;
use crate::counters::Counters;
use crate::environment;
use crate::face::Face;
use crate::machine;
use crate::mpi;
use crate::request::usual::FABRIC;
use crate::request::{Benchmark, Request, Via};
use crate::rounds;
use crate::session::{Session, failure, launched};
use crate::wire::Wire;
use hotlink_bench::{HAND_OFF_LEAST_US, HAND_OFF_US, Record, flag_impossible, without_misleading};
use hotlink_real::Launched;
use hotlink_results::timeline;
use hotlink_study::Error;
use hotlink_study::bound::measured::Bounds;
use serde_json::{Map, Value};

/// The result of a request.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One record a point.
    pub records: Vec<Record>,
    /// Possible sources of noise, and the system under the measurement, besides [`crate::environment`].
    pub environment: Map<String, Value>,
    /// The actions of every rank's port, run by run, where observers were asked for.
    pub timelines: Vec<timeline::Run>,
    /// Why records are missing, if any are.
    pub incomplete: Option<String>,
    /// Whether this process speaks for all ranks of its job: the records of the others are not the result.
    pub speaks: bool,
}

impl Default for Measured {
    /// Nothing yet.
    fn default() -> Measured {
        Measured { records: Vec::new(), environment: Map::new(), timelines: Vec::new(), incomplete: None, speaks: true }
    }
}

impl Request {
    /// Measures.
    ///
    /// # Errors
    /// What cannot be asked, or did not work out.
    pub fn run(&self, face: &dyn Face) -> Result<Measured, Error> {
        let mut measured = Measured::default();
        self.run_into(&mut measured, face).map(|()| measured)
    }

    /// The same, into a place that keeps what was measured before an error.
    ///
    /// # Errors
    /// As of [`Request::run`].
    pub fn run_into(&self, measured: &mut Measured, face: &dyn Face) -> Result<(), Error> {
        self.check()?;
        let before = Counters::read();
        let result = self.measure_into(measured, face);
        Counters::read().tell(&before, &mut measured.environment);
        result
    }

    /// By values: with what this machine is. A failed check keeps what was measured before it, and says so.
    ///
    /// # Errors
    /// What cannot be asked.
    pub fn measured(&self, face: &dyn Face) -> Result<Measured, Error> {
        let mut measured = Measured { environment: environment::describe(), ..Measured::default() };
        match self.run_into(&mut measured, face) {
            Err(failure @ Error::Input(_)) => Err(failure),
            result => Ok(Measured { incomplete: result.err().map(|failure| failure.to_string()), ..measured }),
        }
    }

    fn measure_into(&self, measured: &mut Measured, face: &dyn Face) -> Result<(), Error> {
        let mut session = Session::new(self, face);
        if let Some(launcher) = self.carried().and_then(|carrier| carrier.launcher.as_ref()) {
            machine::describe(&mut measured.environment, face);
            rounds::launched(&session, launcher, &mut measured.records, &mut measured.environment)?;
            session.judge_pairs(&mut measured.records);
            return flag(measured, face);
        }
        if self.carried().is_some_and(|carrier| carrier.via == Via::Mpi) {
            measured.speaks = !mpi::is_other_speaker();
            session.mpi = Some(mpi::join(&self.carrier, &mut measured.environment, face)?);
            measured.speaks = session.is_speaker();
        } else {
            measured.speaks = self.meet(face)?;
        }
        let result = session.measure(measured);
        match session.mpi.take() {
            Some(joined) => joined.leave(result, face),
            None => result,
        }
    }

    /// The records of ranks that this process starts on this machine, and nothing else. It serves a program that
    /// measures as a part of its own work.
    ///
    /// # Errors
    /// As of [`Request::run`].
    pub fn here(&self, face: &dyn Face) -> Result<Vec<Record>, Error> {
        self.check()?;
        let mut records = Vec::new();
        rounds::run(&Session::new(self, face), &mut records)?;
        Ok(records)
    }

    /// Joins the ranks that the request or a launcher names; whether this process speaks for all.
    fn meet(&self, face: &dyn Face) -> Result<bool, Error> {
        let hosts = &self.hosts;
        if let Some(path) = &hosts.secret_file {
            hotlink_real::use_secret_file(path).map_err(|what| Error::Input(format!("--secret-file: {what}")))?;
        }
        if matches!(self.benchmark, Benchmark::Sockets(_)) {
            return Ok(hosts.connect.is_none());
        }
        let place = match (&hosts.listen, &hosts.connect) {
            (Some(address), _) => Some((0, address)),
            (None, Some(address)) => Some((hosts.as_rank, address)),
            (None, None) => None,
        };
        if let Some((rank, address)) = place {
            let job = format!("hotlink measure {}", self.benchmark.name());
            if rank == 0 {
                let more = hosts.processes.saturating_sub(1);
                face.say(&format!("waits at {address} for `{job} --connect ...` on {more} more"));
            }
            let (ranks, meet, origin) = (hosts.processes, Some(address.clone()), "the options".to_owned());
            hotlink_real::join(Launched { rank, ranks, job, meet, exchange: None, origin })
                .map_err(|what| Error::Input(format!("--listen, --connect: {what}")))?;
        }
        Ok(hotlink_real::launched().map_err(failure)?.is_none_or(|(rank, _)| rank == 0))
    }
}

impl Session<'_> {
    fn measure(&self, measured: &mut Measured) -> Result<(), Error> {
        let is_carried = self.request.carried().is_some();
        let is_one_block = self.request.blocks() * self.request.repetition.rounds == 1;
        if self.request.repetition.limit_s.is_some() && !is_one_block && (self.mpi.is_some() || launched()?.is_some()) {
            let what = "--limit: ranks that a launcher or another host started must take as many blocks as each other";
            return Err(Error::Input(format!("{what}; use --blocks")));
        }
        if is_carried {
            self.check()?;
            alike::check(self)?;
            self.choose_route();
        }
        if measured.speaks {
            machine::describe(&mut measured.environment, self.face);
        }
        let taken = rounds::run(self, &mut measured.records);
        let runs = self.seen.take();
        taken?;
        self.judge_pairs(&mut measured.records);
        if is_carried {
            match Wire::of(self)? {
                Some(mut wire) => revise(&mut measured.records, |record| wire.beside(without_hand_offs(record)))?,
                None => self.hold_to_fabric(&mut measured.records)?,
            }
        }
        flag(measured, self.face)?;
        let width = runs.len().to_string().len();
        let named = |(run, seen)| (format!("{} run {run:0width$}", self.request.benchmark.name()), seen);
        measured.timelines = runs.into_iter().enumerate().map(named).collect();
        // Everything that was open to others is in the record.
        let listening = hotlink_real::listening();
        if !listening.is_empty() {
            measured.environment.insert("listened_at".to_owned(), listening.into());
        }
        Ok(())
    }
}

impl Session<'_> {
    /// Names pairs that are slow by the numbers of all blocks.
    fn judge_pairs(&self, records: &mut [Record]) {
        if let Benchmark::Pairs(asked) = &self.request.benchmark {
            for slow in pairs::judge(asked.slow, records).into_iter().filter(|_| self.is_speaker()) {
                self.face.say(&slow);
            }
        }
    }

    /// Marks results between ranks of one machine that name another fabric: such ranks use none of its links. Also says
    /// which results are beyond that fabric's bounds.
    fn hold_to_fabric(&self, records: &mut Vec<Record>) -> Result<(), Error> {
        let fabric = &self.request.repetition.fabric;
        if fabric == FABRIC {
            return Ok(());
        }
        let Ok(mut bounds) = Bounds::open(fabric, None) else { return Ok(()) };
        revise(records, |record| Ok(record.with("named_only", true)))?;
        if !self.is_speaker() {
            return Ok(());
        }
        let is_of_bound = |key: &str| key.starts_with("bound_") || key == "efficiency" || key == "limiting_resource";
        let bare = |record: &Record| {
            let kept = record.fields().filter(|(key, _)| !is_of_bound(key));
            kept.fold(Record::new(), |bare, (key, value)| bare.with(key, value.clone()))
        };
        let is_beyond =
            |record: &&Record| bounds.add(bare(record)).is_ok_and(|record| flag_impossible(record).1.is_some());
        let (beyond, all) = (records.iter().filter(is_beyond).count(), records.len());
        let why = "ranks of one machine do not use its links; for a mere name of the results say label:NAME";
        self.face.say(&match beyond {
            0 => format!("--fabric {fabric}: the results are of this machine, not of that fabric: {why}"),
            _ => format!("impossible: {beyond} of {all} results are beyond what {fabric} allows: {why}"),
        });
        Ok(())
    }
}

/// Marks what exceeds its bound, takes away efficiencies that mislead, and says so.
fn flag(measured: &mut Measured, face: &dyn Face) -> Result<(), Error> {
    let speaks = measured.speaks;
    revise(&mut measured.records, |record| {
        let (record, told) = flag_impossible(record);
        if let Some(told) = told.filter(|_| speaks) {
            face.say(&format!("impossible: {told}"));
        }
        let (record, told) = without_misleading(record);
        if let Some(told) = told.filter(|_| speaks) {
            face.say(&told);
        }
        Ok(record)
    })
}

/// Without what only bounds of one machine rest on.
fn without_hand_offs(record: Record) -> Record {
    record.without(HAND_OFF_US).without(HAND_OFF_LEAST_US)
}

fn revise(records: &mut Vec<Record>, with: impl FnMut(Record) -> Result<Record, Error>) -> Result<(), Error> {
    *records = std::mem::take(records).into_iter().map(with).collect::<Result<_, _>>()?;
    Ok(())
}
