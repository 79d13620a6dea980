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
mod manual;
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

pub use compare_runs::{Runs, Sides};
pub use reproduce::Studies;
pub use sweep::{Cells, run_cell};

use crate::Failure;
use hotlink_bench::Record;
use hotlink_launch::compiler::Language;
use hotlink_paper::Output;
use hotlink_results::calibrate::Calibration;
use std::path::Path;

/// Makes a fabric of measured results and writes it. Returns its values, and the lines to print about it.
///
/// # Errors
/// An input is missing, or inputs do not belong together.
pub fn calibrate(asked: &Calibration) -> Result<Vec<Record>, Failure> {
    let mut output = Output::silent();
    calibrate::calibrate(asked, &mut output)?;
    Ok(output.records().to_vec())
}

/// The rows of studies. A claim that no longer holds is a row that says so.
///
/// # Errors
/// A question or a catalog entry that is not sound; figures that cannot be written.
pub fn reproduce(asked: &Studies) -> Result<Vec<Record>, Failure> {
    checked(|output| reproduce::reproduce(asked, output))
}

/// Results before and after: a record for each pair. A regression is a record that says so.
///
/// # Errors
/// Files that hold no results; a command that fails.
pub fn compare_runs(asked: &Runs) -> Result<Vec<Record>, Failure> {
    checked(|output| compare_runs::compare(asked, output))
}

/// The cells of a plan. One that failed is a record with `error`.
///
/// # Errors
/// The plan's mistakes, each with its line.
pub fn sweep(plan: &Path, out: Option<&Path>, cells: Cells) -> Result<Vec<Record>, Failure> {
    checked(|output| sweep::sweep(plan, out, cells, output))
}

/// The records of `work`; a failed check is a record, too.
fn checked(work: impl FnOnce(&mut Output) -> Result<(), Failure>) -> Result<Vec<Record>, Failure> {
    let mut output = Output::silent();
    match work(&mut output) {
        Err(failure @ Failure::Input(_)) => Err(failure),
        _ => Ok(output.records().to_vec()),
    }
}

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    /// Measure this machine and compare three networks of today for 512 nodes.
    Demo(demo::Args),
    /// Compare fabrics at each size: bandwidth, latency, price, and what limits each.
    Compare(compare::Args),
    /// Work out the bandwidth of one fabric, its bound, and the resource that limits it.
    Analyze(analyze::Args),
    /// Choose a network to buy: draw and price the variants for so many hosts.
    Design(design::Args),
    /// Open a network in the browser: load, hot links, routes, failures.
    Explore(explore::Args),
    /// Examine your own InfiniBand network, from dumps of its cables and forwarding tables.
    Fabric(fabric::Args),
    /// Run a benchmark on a simulated network, packet by packet.
    Simulate(Box<simulate::Args>),
    /// Measure messages between real processes, each result with its bound.
    Measure(measure::Args),
    /// Read results of OSU, IMB, nccl-tests, perftest or iperf3, and add their bounds.
    Import(import::Args),
    /// Make a fabric for compare and analyze from measured results.
    Calibrate(calibrate::Args),
    /// Compare results before and after a change: ratio of medians, interval, regressions.
    CompareRuns(compare_runs::Args),
    /// Find what holds a network back: rank explanations of your measured results.
    Diagnose(diagnose::Args),
    /// Write results as one page to sign: verdict, curves, bounds, assumptions.
    Report(report::Args),
    /// Draw results as curves, with bounds and intervals (with the Python package only).
    Plot(plot::Args),
    /// Run an MPI program on this machine or on a simulated network.
    Run(run::Args),
    /// Start the ranks of this host in a job of `hotlink run --hosts`, as the standard input says.
    #[command(hide = true)]
    HostRanks(run::AgentArgs),
    /// Record what each rank of an MPI program computes between its calls, for `run --on`.
    Record(record::Args),
    /// Compile a C program for `run`, with this machine's compiler.
    Mpicc(mpicc::Args),
    /// Compile a C++ program for `run`, with this machine's compiler.
    Mpicxx(mpicc::Args),
    /// List, show and check fabrics, parts and prices.
    Catalog(catalog::Args),
    /// Print a commented template: fabric, prices, plan, schedule, jobs, acceptance.
    New(new::Args),
    /// Run a plan of many studies: resumable, on all cores or on several machines.
    Sweep(sweep::Args),
    /// Work out the tables, figures and claims of a study again, with the printed values.
    Reproduce(reproduce::Args),
    /// Run the hardware barrier: its Verilog as a device, and the plug-in for real MPIs.
    Barrier(barrier::Args),
    /// Print the keys of records, with units and meanings, as JSON Schema.
    Schema(schema::Args),
    /// Print a script that completes verbs and options in a shell.
    Completion(completion::Args),
    /// Write the pages of the manual into a folder: one for each verb and each benchmark.
    Manual(manual::Args),
    /// Check this machine: what is missing, and how to get it.
    Doctor(doctor::Args),
}

impl Verb {
    /// Whether Ctrl-C lets it print what is done: verbs that compute, result by result.
    pub(crate) fn ends_early(&self) -> bool {
        use Verb::{Analyze, Compare, Design, Simulate, Sweep};
        matches!(self, Analyze(_) | Compare(_) | Design(_) | Simulate(_) | Sweep(_))
    }
    /// How the rest is done later.
    pub(crate) fn goes_on(&self) -> String {
        match self {
            Verb::Sweep(args) => args.goes_on(),
            _ => {
                "a plan (`hotlink sweep PLAN.toml --out DIR`) keeps what is finished, and goes on from there".to_owned()
            }
        }
    }
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
            Verb::Manual(args) => manual::run(args, output),
            Verb::Barrier(args) => barrier::run(args, output),
            Verb::Schema(args) => schema::run(args, output),
            Verb::Doctor(args) => doctor::run(args, output),
            Verb::Run(args) => run::run(args, output),
            Verb::HostRanks(args) => run::serve(args, output),
            Verb::Mpicc(args) => mpicc::run(args, Language::C),
            Verb::Mpicxx(args) => mpicc::run(args, Language::Cpp),
            Verb::Record(args) => record::run(args, output),
            Verb::New(args) => new::run(args, output),
            Verb::Reproduce(args) => reproduce::run(args, output),
        }
    }

    /// Whether its results may take OSU's form. Long runs are refused before they start.
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
