//! What holds a site's network back, from what the site has: outputs of measurement programs, and what its tools print.
//!
//! 1. [`files`] recognises each file and reads it. [`hotlink_results::import::condition`] refuses outputs of crashed
//!    and cut runs. [`hosts`] finds who took part.
//! 2. [`series`] adds to each number its bound, which [`hotlink_study::bound`] alone knows. [`units`] compares it with
//!    what the other hosts and pairs reach (median and median deviation).
//! 3. [`findings`] are what stands out. [`signatures`], which are data, weigh the causes that may explain each; [`predict`]
//!    asks the bound what it would be if a cause were so.
//! 4. [`report`] ranks the explanations, names the next command, and says what the files cannot show.
//!
//! Beside that: two commands compared by pairs of runs ([`compare_pairs`]).

pub mod bounded;
pub mod cables;
pub mod compare_pairs;
pub mod files;
pub mod findings;
pub mod hardware;
pub mod hosts;
pub mod inspection;
pub mod predict;
pub mod report;
pub mod robust;
pub mod series;
pub mod signatures;
pub mod units;

pub use report::Diagnosis;

use bounded::Bounded;
use files::Evidence;
use hotlink_study::{Error, Source};
use signatures::Knowledge;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The files.
    pub files: Vec<String>,
    /// The fabric that was measured; by default the network that the files hold.
    pub fabric: Option<String>,
    /// Nodes of the machine. They decide how far apart two hosts may lie, and the bounds of runs on more than two
    /// ranks. By default they are unknown, and one for each rank.
    pub nodes: Option<u32>,
    /// The benchmark of outputs that do not state theirs.
    pub benchmark: Option<String>,
}

/// Diagnoses the files.
///
/// # Errors
/// A file that cannot be read; no file that counts; no fabric: the error lists those that fit.
pub fn diagnose(question: &Question) -> Result<Diagnosis, Error> {
    let evidence = Evidence::read(&question.files, question.benchmark.as_deref())?;
    let source = fabric(question, &evidence)?;
    of(&evidence, &source, question.nodes, &Knowledge::embedded())
}

/// Diagnoses what was read, measured on `source`.
///
/// # Errors
/// The fabric cannot be built for the nodes.
pub fn of(evidence: &Evidence, source: &Source, nodes: Option<u32>, known: &Knowledge) -> Result<Diagnosis, Error> {
    let nodes = nodes.or(source.own_nodes());
    let numbers = series::numbers(&evidence.results, &mut Bounded::of(source, nodes))?;
    let (routes, distance_us) = (cables::Routes::of(source), bounded::distance(source, nodes));
    let mut found = findings::findings(&numbers.series, &known.threshold, distance_us, routes.as_ref());
    cables::name(&mut found, &numbers.series, routes.as_ref());
    Ok(report::Reporter { evidence, source, nodes, known }.report(numbers, found))
}

/// The fabric that is named, the network that the files hold, or the fabric that their records name.
fn fabric(question: &Question, evidence: &Evidence) -> Result<Source, Error> {
    match &question.fabric {
        Some(name) => Source::open(name),
        None if !evidence.network.is_empty() => Source::open(&evidence.network.join("+")),
        None => match evidence.fabrics().as_slice() {
            [one] => Source::open(one),
            [] => Err(Error::Input(report::which_fabric(evidence))),
            several => {
                let what = "the records are of several fabrics; say which was measured: --fabric NAME";
                Err(Error::Input(format!("{what} (they name {})", several.join(", "))))
            }
        },
    }
}
