//! Results as one page that can be signed: the verdict first, then curves with their bounds and limits. The basis of
//! the numbers follows, and the commands that make them again.
//!
//! The page is one HTML file that needs no network. Without script it is plain text: tables hold every number that a
//! chart draws. The same inputs give the same bytes, so a page carries no date but the signed one.

#![forbid(unsafe_code)]

mod acceptance;
mod asked;
mod chart;
mod checks;
pub mod demo;
mod front;
mod judge;
pub mod junit;
mod machine;
mod matrix;
mod page;
pub mod possible;
mod quantity;
mod rests;
pub mod runs;
mod scale;
mod series;

pub use acceptance::Acceptance;
pub use asked::Asked;
pub use checks::Check;
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
    /// What results are held to without requirements.
    pub checks: Vec<Check>,
    /// What stands out in the results themselves.
    pub findings: Vec<Finding>,
    pub(crate) furthest: Vec<checks::Far>,
}

impl Report {
    /// Judges `inputs`, by what `acceptance` requires of them if it is given. `command` makes the report again.
    pub fn new(inputs: Vec<Results>, acceptance: Option<Acceptance>, title: Option<String>, command: String) -> Report {
        let of = |(file, results)| judge::findings(file, results, acceptance.as_ref());
        let mut findings: Vec<Finding> = inputs.iter().enumerate().flat_map(of).collect();
        let (checks, broken) = checks::checks(&inputs, &findings);
        findings.extend(broken);
        // The worst first.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
        let furthest = checks::furthest(&inputs);
        let outcomes = acceptance.as_ref().map_or_else(Vec::new, |acceptance| judge::outcomes(acceptance, &inputs));
        let title = title.or_else(|| acceptance.as_ref().and_then(|acceptance| acceptance.title.clone()));
        let title = title.unwrap_or_else(|| "Network report".to_owned());
        Report { title, command, inputs, acceptance, lead: None, outcomes, checks, findings, furthest }
    }

    /// The worst of requirements, checks and findings. Where nothing is required, nothing passes.
    pub fn verdict(&self) -> Verdict {
        let required = self.outcomes.iter().map(|outcome| outcome.verdict);
        let checked = self.checks.iter().map(|check| check.verdict);
        let found = self.findings.iter().map(|finding| finding.verdict);
        match required.chain(checked).chain(found).max() {
            Some(Verdict::Pass) if self.outcomes.is_empty() => Verdict::Unjudged,
            worst => worst.unwrap_or(Verdict::Unjudged),
        }
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
            (Some(_), all) => {
                format!("{} of {results}: {failed} missed, {unsure} undecided", counted(all, "required value"))
            }
        };
        let held: Vec<String> = self.checks.iter().filter(|check| check.covered > 0).map(Check::brief).collect();
        let held = if held.is_empty() { "none applies".to_owned() } else { held.join(", ") };
        format!("{required}; checks: {held}; {broken} wrong, {odd} suspicious")
    }

    /// The verdict, then a record for each requirement and result, each finding, each check, and what is furthest from its
    /// bound.
    pub fn records(&self) -> Vec<Record> {
        let head = Record::new()
            .with("benchmark", "report")
            .with("kind", "verdict")
            .with("verdict", self.verdict().name())
            .with("what", self.sentence());
        let outcomes = self.outcomes.iter().map(|outcome| outcome.record(&self.inputs));
        let findings = self.findings.iter().map(|finding| finding.record(&self.inputs));
        let checks = self.checks.iter().map(Check::record);
        let furthest = self.furthest.iter().take(checks::SHOWN).map(checks::Far::record);
        std::iter::once(head).chain(outcomes).chain(findings).chain(checks).chain(furthest).collect()
    }

    /// The page.
    pub fn html(&self) -> String {
        page::html(self)
    }

    /// The checks and findings as JUnit, which continuous-integration servers read.
    pub fn junit(&self) -> String {
        let cases = self.outcomes.iter().map(|outcome| outcome.case(&self.inputs));
        let findings = self.findings.iter().map(|finding| finding.case(&self.inputs));
        let cases: Vec<junit::Case> = cases.chain(findings).chain(self.checks.iter().filter_map(Check::case)).collect();
        junit::suite("hotlink report", &cases)
    }
}
