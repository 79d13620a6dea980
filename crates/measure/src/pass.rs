//! One pass over all points of a benchmark: its records, and progress where this pass is all there is.

use crate::session::Session;
use hotlink_bench::Record;
use hotlink_study::Watch;

pub(crate) struct Pass<'a> {
    pub(crate) session: &'a Session<'a>,
    shows: bool,
    task: Option<Box<dyn Watch>>,
    pub(crate) records: Vec<Record>,
}

impl<'a> Pass<'a> {
    /// `shows`: it reports progress of its own.
    pub(crate) fn new(session: &'a Session<'a>, shows: bool) -> Pass<'a> {
        Pass { session, shows: shows && session.is_speaker(), task: None, records: Vec::new() }
    }
    /// That many points are to come.
    pub(crate) fn expect(&mut self, points: usize) {
        let name = format!("measure {}", self.session.request.benchmark.name());
        self.task = self.shows.then(|| self.session.face.task(&name, points as u64));
    }
    pub(crate) fn push(&mut self, record: Record) {
        self.records.push(record);
    }
    /// A point is done.
    pub(crate) fn step(&self) {
        if let Some(task) = &self.task {
            task.step();
        }
    }
}
