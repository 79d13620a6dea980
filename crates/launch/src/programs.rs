//! MPI programs as jobs of a plan (`simulate jobs`): the actions of their ranks, recorded on their nodes.

use crate::Seats;
use crate::fabric::{Ended, How, on_fabric};
use crate::library::{Commands, unheard};
use hotlink_schedule::Schedule;
use hotlink_study::Error;
use hotlink_workloads::jobs::{self, Program};

/// Runs the programs of a plan with the MPI library next to the command.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Where the running command is.
    pub commands: Commands,
}

impl jobs::Programs for Programs {
    fn recorded(&self, program: Program<'_>) -> Result<Schedule, Error> {
        // A job on a fabric stays on one core: this thread only, which ends with it.
        std::thread::scope(|scope| {
            let run = scope.spawn(|| self.run(program));
            run.join().unwrap_or_else(|_| Err(Error::Check("the program's thread failed".to_owned())))
        })
    }
}

impl Programs {
    fn run(&self, program: Program<'_>) -> Result<Schedule, Error> {
        let command = program.command.iter().map(Into::into).collect();
        let (job, library) = unheard(command, program.places.len() as u32, None, &self.commands)?;
        let seats = Seats::at(program.nodes, program.places);
        let how = How { schedule: true, ..How::plain(seats, &library, program.compute) };
        let ended = on_fabric(job, program.fabric, how);
        // The question is over, not only this program of it.
        hotlink_real::end_if_interrupted();
        match ended? {
            Ended::Ran(told) => told.schedule().ok_or_else(|| Error::Check("nothing was recorded".to_owned())),
            Ended::Failed(end) => Err(Error::Check(end.failed.unwrap_or_else(|| "it failed".to_owned()))),
        }
    }
}
