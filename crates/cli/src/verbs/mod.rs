//! One file per verb. To add one: a file with `Args` and `run`, a variant here.

mod analyze;
mod barrier;
mod benches;
mod calibrate;
mod catalog;
mod compare;
mod compare_runs;
mod completion;
mod demo;
mod design;
mod diagnose;
mod doctor;
mod explore;
mod fabric;
mod import;
mod measure;
mod mpicc;
mod new;
mod plot;
mod question;
mod record;
mod report;
mod reproduce;
mod run;
mod schema;
mod simulate;
mod sweep;
mod watching;

pub use sweep::{Cells, run_cell};

use crate::Failure;
use hotlink_bench::Record;
use hotlink_launch::compiler::Language;
use hotlink_paper::Output;
use hotlink_results::calibrate::Calibration;
use hotlink_seeds::Study;
use std::path::Path;

/// Makes a fabric of measured results and writes it; its values, and what is told of it.
///
/// # Errors
/// What is missing, or does not belong together.
pub fn calibrate(asked: &Calibration) -> Result<Vec<Record>, Failure> {
    let mut output = Output::silent();
    calibrate::calibrate(asked, &mut output)?;
    Ok(output.records().to_vec())
}

/// The rows of studies; with `measure` those of this machine, too. A claim that no longer holds is a row that says so.
///
/// # Errors
/// A question or a catalog entry that is not sound.
pub fn reproduce(studies: &[Study], measure: bool) -> Result<Vec<Record>, Failure> {
    checked(|output| reproduce::reports(studies, measure, (false, None), output))
}

/// The cells of a plan. One that failed is a record with `error`.
///
/// # Errors
/// The plan's mistakes, each with its line.
pub fn sweep(plan: &Path, out: Option<&Path>, cells: Cells) -> Result<Vec<Record>, Failure> {
    checked(|output| sweep::sweep(plan, out, cells, output))
}

/// The records of `work`, in which a failed check is told.
fn checked(work: impl FnOnce(&mut Output) -> Result<(), Failure>) -> Result<Vec<Record>, Failure> {
    let mut output = Output::silent();
    match work(&mut output) {
        Err(failure @ Failure::Input(_)) => Err(failure),
        _ => Ok(output.records().to_vec()),
    }
}

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    /// The first ten seconds: this machine, three networks of today for 512 nodes, one finding; a page of it all.
    Demo(demo::Args),
    /// One fabric at given sizes: bandwidth per node by closed form and load count, and what limits it.
    Analyze(analyze::Args),
    /// Your own InfiniBand network, from dumps of its cables and forwarding tables: what its routing gives, what its cables
    /// would allow, and what is wrong.
    Fabric(fabric::Args),
    /// Several fabrics: the most bandwidth per node and per dollar at each size, what limits each, crossovers.
    Compare(compare::Args),
    /// Which network to buy: variants for so many hosts with bills of material, shares, failures, and what nothing beats.
    Design(design::Args),
    /// A network in the browser: groups, hot links, routes; traffic and failures change there and are computed anew.
    Explore(explore::Args),
    /// Results before and after, matched: ratio of medians with its interval, regressions beyond a floor.
    CompareRuns(compare_runs::Args),
    /// Benchmarks on simulated machines.
    Simulate(Box<simulate::Args>),
    /// Measured results become a fabric that compare and analyze take.
    Calibrate(calibrate::Args),
    /// Benchmarks between real processes on this machine, each with its bound.
    Measure(measure::Args),
    /// Results of other measurement programs (OSU, IMB, nccl-tests, perftest, iperf3) as records, with their bounds.
    Import(import::Args),
    /// What holds your network back: outputs of measurement programs and tools in, outliers and ranked explanations out.
    Diagnose(diagnose::Args),
    /// Results as curves in a picture, with bounds and intervals (the installed command only).
    Plot(plot::Args),
    /// Results as one page that one can sign: the verdict, curves beside bounds, what limits, what it rests on.
    Report(report::Args),
    /// List, show and check fabrics, parts and prices.
    Catalog(catalog::Args),
    /// A file to begin with, each key explained: a fabric, prices, a plan, a schedule.
    New(new::Args),
    /// The tables, figures and claims of a study beside what the models give.
    Reproduce(reproduce::Args),
    /// A plan of studies, cell by cell: resumable, on all cores, or in shares on several machines.
    Sweep(sweep::Args),
    /// A script that completes verbs and options in a shell.
    Completion(completion::Args),
    /// The hardware barrier at work: its compiled RTL as a device, and the plug-in for real MPIs.
    Barrier(barrier::Args),
    /// The keys of a benchmark's records, each with its unit and meaning, as JSON Schema.
    Schema(schema::Args),
    /// An MPI program on ranks of this machine, over this project's MPI library with the standard ABI.
    Run(run::Args),
    /// The ranks of this host in a job of `hotlink run --hosts`, as the standard input says.
    #[command(hide = true)]
    HostRanks(run::AgentArgs),
    /// What each rank of an MPI program computes between its calls, for runs on simulated fabrics.
    Record(record::Args),
    /// The system's C compiler with the header and library of this project's MPI, the standard ABI.
    Mpicc(mpicc::Args),
    /// The same of C++.
    Mpicxx(mpicc::Args),
    /// What is missing on this machine, and how to get it.
    Doctor(doctor::Args),
}

impl Verb {
    pub(crate) fn run(&self, output: &mut Output) -> Result<(), Failure> {
        output.suits(self.may_have_osu_form())?;
        match self {
            Verb::Demo(args) => demo::run(args, output),
            Verb::Analyze(args) => analyze::run(args, output),
            Verb::Fabric(args) => fabric::run(args, output),
            Verb::Compare(args) => compare::run(args, output),
            Verb::Design(args) => design::run(args, output),
            Verb::Explore(args) => explore::run(args, output),
            Verb::CompareRuns(args) => compare_runs::run(args, output),
            Verb::Simulate(args) => simulate::run(args, output),
            Verb::Sweep(args) => sweep::run(args, output),
            Verb::Calibrate(args) => calibrate::run(args, output),
            Verb::Measure(args) => measure::run(args, output),
            Verb::Import(args) => import::run(args, output),
            Verb::Diagnose(args) => diagnose::run(args, output),
            Verb::Plot(args) => plot::run(args, output),
            Verb::Report(args) => report::run(args, output),
            Verb::Catalog(args) => catalog::run(args, output),
            Verb::Completion(args) => completion::run(args, output),
            Verb::Barrier(args) => barrier::run(args, output),
            Verb::Schema(args) => schema::run(args, output),
            Verb::Doctor(args) => doctor::run(args, output),
            Verb::Run(args) => run::run(args, output),
            Verb::HostRanks(args) => run::serve(args, output),
            Verb::Mpicc(args) => mpicc::run(args, Language::C),
            Verb::Mpicxx(args) => mpicc::run(args, Language::Cpp),
            Verb::Record(args) => record::run(args, output),
            Verb::New(args) => {
                new::run(args, output);
                Ok(())
            }
            Verb::Reproduce(args) => reproduce::run(args, output),
        }
    }

    /// Whether its results may stand in OSU's form: what takes long is refused before, not after.
    fn may_have_osu_form(&self) -> bool {
        match self {
            Verb::Measure(args) => args.has_osu_form(),
            Verb::Analyze(_)
            | Verb::Diagnose(_)
            | Verb::Fabric(_)
            | Verb::Compare(_)
            | Verb::Design(_)
            | Verb::Explore(_)
            | Verb::Calibrate(_)
            | Verb::Reproduce(_) => false,
            _ => true,
        }
    }
}
