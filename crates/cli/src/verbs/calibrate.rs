//! `hotlink calibrate`: measured results become a fabric file, which `analyze` and `compare` take like any other, or a
//! node's memory, which fabrics name as a part.

use crate::Failure;
use crate::verbs::measure;
use crate::words::word;
use hotlink_measure::{Here, environment};
use hotlink_paper::Output;
use hotlink_results::calibrate::{Calibration, Model};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink measure saturation --via shm --pairs 1..4 --json > m.json && hotlink calibrate m.json --name this-machine
  hotlink calibrate latency.json bandwidth.json --name lab --out lab.toml
  hotlink sweep plans/calibrate-mpi.toml --out c/ && hotlink sweep plans/check-mpi.toml --out k/
  hotlink calibrate c/ --model loggp --name this-mpi --check k/ && hotlink simulate is --class A --fabric this-mpi
  hotlink measure memory --size 64..64MiB..x2 --strides 1,2,4,8,16,32,64 --json > m.json
  hotlink measure deposit --memory shared --size 64KiB --json > d.json
  hotlink calibrate m.json --model memory --name my-node --check d.json

The calibration takes: from saturation, the most bandwidth of one pair and of all pairs; from pingpong at up to 64 B, the
latency; from memory, the copy rates; and the number of cores, beyond which the fabric is not built. Nothing is fitted:
every value is one of the measured ones, and says which.

--model loggp fits L, o, g and G to ping-pong and stream (or one pair of saturation), with 95 % intervals by the bootstrap.
These results determine only 2 o + L: o is assumed to be as large as g and half of that sum allow, and the intervals of o
and L cover all other splits (o from 0). For these and the rest, every third size is held out, and the error on it is
reported. The fabric also has the piecewise form (time and gap at each size), the costs of copies and, from a sort on one
rank, the time of a scattered update. Where results of this machine hold no copies or no such sort, calibrate measures them
at once and says so: with sorts on as many processors at once as there are ranks. --check FILE predicts is, alltoall,
alltoallv and bcast by simulation and reports the error. Of points that were measured several times or in --rounds, the 25th
percentile counts: noise only lengthens.

--model memory takes copies by size and stride (`measure memory`) and writes a part, a node's memory line by line, which a
fabric names in `parts`. Local copies of its programs, also strided ones, then take the time that the caches, the memory and
the look-up of pages need. Values come from five strides: 1, the least above, a line's words, two lines' words, the largest.
The error on the other strides is reported. --check FILE predicts copies, deposits of words and overlap, where processors
copy (shared memory).")]
pub(crate) struct Args {
    /// Results of `hotlink measure ... --json`; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Call the fabric or part by this name.
    #[arg(long, value_name = "NAME", default_value = "this-machine")]
    name: String,
    /// Make a fabric for analyze and compare, also a LogGP machine for simulate goal, is and alltoallv, or the memory of a
    /// node.
    #[arg(long, value_parser = word::<Model>(), default_value_t = Model::Fabric)]
    model: Model,
    /// Predict these results, which the calibration has not seen, and compare (with --model loggp or memory).
    #[arg(long, value_name = "FILE")]
    check: Vec<PathBuf>,
    /// Let it take the place of the fabric of the same name in the catalog that comes with hotlink.
    #[arg(long)]
    force: bool,
    /// Write it to this file. [default: the user's own catalog]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let Args { files, name, model, check, force, out } = args;
    let (files, check, name, out) = (files.clone(), check.clone(), name.clone(), out.clone());
    let is_anonymous = output.is_anonymous();
    calibrate(&Calibration { files, name, model: *model, check, force: *force, out, is_anonymous }, output)
}

/// Makes the fabric, writes it, and gives the records about it.
pub(crate) fn calibrate(asked: &Calibration, output: &mut Output) -> Result<(), Failure> {
    let face = output.face();
    let here = Here {
        face: &face,
        program: environment::program("calibrate", std::env::args_os()),
        progress: output.shows_progress().name().to_owned(),
        measure: &|line| measure::of_line(line, &face),
    };
    let calibrated = asked.make(&here)?;
    hotlink_results::write_whole("--out", &calibrated.path, &calibrated.text)?;
    hotlink_paper::tell!("hotlink: wrote {}", calibrated.path.display());
    output.push_all(calibrated.records);
    Ok(())
}
