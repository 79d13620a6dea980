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

The calibration takes the largest bandwidth of one pair and of all pairs from saturation. It takes the latency from pingpong
at up to 64 B, and the copy rates from memory. The fabric ends at the number of cores. Nothing is fitted: every value is a
measured one and names its source.

docs/how-to/calibrate.md says what --model loggp and memory take, assume and hold out, and what --check predicts.")]
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
