//! Results as one page that can be signed: the verdict first, then curves with their bounds and limits. The basis of
//! the numbers follows, and the commands that make them again.
//!
//! The page is one HTML file that needs no network. Without script it is plain text: tables hold every number that a
//! chart draws. The same inputs give the same bytes, so a page carries no date but the signed one.

#![forbid(unsafe_code)]

mod acceptance;
mod asked;
mod chart;
pub mod demo;
mod front;
mod judge;
pub mod junit;
mod machine;
mod matrix;
mod page;
pub mod possible;
mod quantity;
pub mod runs;
mod scale;
mod series;

pub use acceptance::Acceptance;
pub use asked::Asked;
pub use front::{LIMITS, STEPS};
pub use judge::{Finding, Outcome, Verdict};
pub use page::crossover;

use hotlink_bench::Record;
use hotlink_results::Results;
use hotlink_results::compare_runs::counted;
use maud::Markup;

/// The findings of a report on its results.
pub struct Report {
    title: String,
    /// The command that makes the page again.
    command: String,
    inputs: Vec<Results>,
    acceptance: Option<Acceptance>,
    /// The beginning of the page where nothing is judged; its results are then folded.
    pub(crate) lead: Option<Markup>,
    /// The requirements, and whether they were reached.
    pub outcomes: Vec<Outcome>,
    /// Outliers and faults in the results themselves.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Judges `inputs`, by what `acceptance` requires of them if it is given. `command` makes the report again.
    pub fn new(inputs: Vec<Results>, acceptance: Option<Acceptance>, title: Option<String>, command: String) -> Report {
        let of = |(file, results)| judge::findings(file, results, acceptance.as_ref());
        let findings = inputs.iter().enumerate().flat_map(of).collect();
        let outcomes = acceptance.as_ref().map_or_else(Vec::new, |acceptance| judge::outcomes(acceptance, &inputs));
        let title = title.or_else(|| acceptance.as_ref().and_then(|acceptance| acceptance.title.clone()));
        let title = title.unwrap_or_else(|| "Network report".to_owned());
        Report { title, command, inputs, acceptance, lead: None, outcomes, findings }
    }

    /// The worst of checks and findings. Without requirements nothing can pass.
    pub fn verdict(&self) -> Verdict {
        let required = self.outcomes.iter().map(|outcome| outcome.verdict);
        required.chain(self.findings.iter().map(|finding| finding.verdict)).max().unwrap_or(Verdict::Unjudged)
    }

    /// The verdict in a sentence.
    pub fn sentence(&self) -> String {
        let of = |verdict: Verdict| {
            let outcomes = self.outcomes.iter().filter(|outcome| outcome.verdict == verdict).count();
            (outcomes, self.findings.iter().filter(|finding| finding.verdict == verdict).count())
        };
        let ((failed, broken), (unsure, odd)) = (of(Verdict::Fail), of(Verdict::Suspicious));
        let records: usize = self.inputs.iter().map(|results| results.records.len()).sum();
        let results = counted(records, "result");
        let required = match (&self.acceptance, self.outcomes.len()) {
            (None, _) => format!("{results}, no requirements given"),
            (Some(_), all) => format!("{} of {results}: {failed} failed, {unsure} undecided", counted(all, "check")),
        };
        format!("{required}; in the results themselves: {broken} wrong, {odd} suspicious")
    }

    /// The verdict, then a record for each check and each finding.
    pub fn records(&self) -> Vec<Record> {
        let head = Record::new()
            .with("benchmark", "report")
            .with("kind", "verdict")
            .with("verdict", self.verdict().name())
            .with("what", self.sentence());
        let outcomes = self.outcomes.iter().map(|outcome| outcome.record(&self.inputs));
        let findings = self.findings.iter().map(|finding| finding.record(&self.inputs));
        std::iter::once(head).chain(outcomes).chain(findings).collect()
    }

    /// The page.
    pub fn html(&self) -> String {
        page::html(self)
    }

    /// The checks and findings as JUnit, which continuous-integration servers read.
    pub fn junit(&self) -> String {
        let cases = self.outcomes.iter().map(|outcome| outcome.case(&self.inputs));
        let cases: Vec<junit::Case> =
            cases.chain(self.findings.iter().map(|finding| finding.case(&self.inputs))).collect();
        junit::suite("hotlink report", &cases)
    }
}
