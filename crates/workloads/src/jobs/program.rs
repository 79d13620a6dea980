//! Jobs that are compiled MPI programs: what their ranks do is recorded, and enters the plan as a schedule.

use super::place::Placement;
use super::plan::{Job, Plan, Work};
use hotlink_fabric::units::Time;
use hotlink_schedule::{Schedule, beside, check};
use hotlink_study::options::CalcUnit;
use hotlink_study::{Error, Watch};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A unit of computation in what programs are recorded to: that of `simulate goal` by default.
pub fn recorded_unit() -> Time {
    CalcUnit::Ns.into()
}

/// A program whose ranks shall be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// What computing between calls costs: `none`, a factor, or a file that `hotlink record` wrote.
    pub compute: &'a str,
    /// The fabric by name or file.
    pub fabric: &'a str,
    /// Its nodes.
    pub nodes: u32,
    /// The node of each rank.
    pub places: &'a [u32],
}

/// Runs programs: processes are started elsewhere (`hotlink_launch`).
pub trait Programs {
    /// What the ranks do when the program is alone on its nodes, computing in units of [`recorded_unit`].
    ///
    /// # Errors
    /// The program or the fabric is not sound, or a rank failed.
    fn recorded(&self, program: Program<'_>) -> Result<Schedule, Error>;
}

/// Where no processes can be started, as in a browser.
#[derive(Clone, Copy, Debug)]
pub struct NoPrograms;

impl Programs for NoPrograms {
    fn recorded(&self, _: Program<'_>) -> Result<Schedule, Error> {
        Err(Error::Input("programs are not started here: `hotlink simulate jobs` runs them".to_owned()))
    }
}

/// Programs that were recorded, by job and nodes: one that is asked for again is not run again.
pub(super) struct Recorded<'a> {
    programs: &'a dyn Programs,
    fabric: &'a str,
    watch: &'a dyn Watch,
    kept: RefCell<BTreeMap<(String, Vec<u32>), Schedule>>,
}

impl<'a> Recorded<'a> {
    pub(super) fn new(programs: &'a dyn Programs, fabric: &'a str, watch: &'a dyn Watch) -> Recorded<'a> {
        Recorded { programs, fabric, watch, kept: RefCell::default() }
    }

    /// The schedule of a job that is a program, in picoseconds.
    pub(super) fn of(&self, plan: &Plan, job: &Job, nodes: u32, places: &[u32]) -> Result<Schedule, Error> {
        let Work::Program { command, compute } = &job.work else { return Ok(Schedule::default()) };
        let key = (job.name.clone(), places.to_vec());
        if let Some(kept) = self.kept.borrow().get(&key) {
            return Ok(kept.clone());
        }
        let wrong = |what: String| plan.wrong(job, "program", what);
        let program = Program { command, compute, fabric: self.fabric, nodes, places };
        let found = self.programs.recorded(program).map_err(|error| wrong(error.to_string()))?;
        check(&found).map_err(|stuck| wrong(format!("what was recorded cannot end: {stuck}")))?;
        let found = beside(&[(&found, recorded_unit().0)]).map_err(wrong)?;
        self.kept.borrow_mut().insert(key, found.clone());
        self.watch.step();
        Ok(found)
    }
}

/// How many recordings an answer takes.
pub(super) fn recordings(plan: &Plan, placements: &[Placement]) -> usize {
    let programs = plan.jobs.iter().filter(|job| matches!(job.work, Work::Program { .. }));
    programs.map(|job| if job.nodes.is_some() { 1 } else { placements.len().max(1) }).sum()
}
