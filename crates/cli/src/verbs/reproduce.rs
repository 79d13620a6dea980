//! `hotlink reproduce`: the tables, figures and claims of a study, with the results of hotlink's models.
//!
//! It is a report: it names each claim that does not hold, with the numbers. The exit status is 1 only if a row that is
//! known to hold no longer does.

use crate::Failure;
use crate::verbs::measure;
use crate::words::word;
use hotlink_bench::Record;
use hotlink_paper::{Output, Terminal, Ticking, When, studies as paper};
use hotlink_results::Batch;
use hotlink_seeds::{Measure, Report, Study, draw, here, score};
use hotlink_study::words::Word;
use serde_json::Map;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink reproduce M02
  hotlink reproduce M02 K98 --json > studies.json
  hotlink reproduce K98 W01 P01 H06 M02 --figures figures/
  hotlink reproduce --score --json
  hotlink reproduce H06 --score --figures figures/
  hotlink reproduce K98 --measure --json")]
pub(crate) struct Args {
    /// Reproduce these studies. K98: SCI, Myrinet and T3D at three levels (Kurmann and Stricker 1998). W01: zero-copy
    /// message passing over SCI (Worringen, Seifert and Bemmerl 2001). M02: throughput and cost of SCI and Myrinet
    /// (Millich, George and Oral 2002). H06: hardware barrier (Hoefler 2006). P01: collectives on QsNet (Petrini, Coll,
    /// Frachtenberg and Hoisie 2001). others: results that other authors got on the same hardware.
    #[arg(value_parser = word::<Study>(), hide_possible_values = true, ignore_case = true, required_unless_present = "score")]
    studies: Vec<Study>,
    /// Print one line for each study (all studies if none is named). It counts predictions, orderings, fits, identities
    /// and gaps. It also counts the predictions within 10 %, or within their own interval where that is within 25 %. A
    /// table for each study follows with the verdict on every claim. Claims that do not hold come first, and of these
    /// the predictions by their error.
    #[arg(long, conflicts_with_all = ["series", "measure"])]
    score: bool,
    /// Draw every figure and table as SVG into this folder, on the study's own axes. Packets are solid, counted loads
    /// dotted, closed forms dashed, LogGP in dashes and dots. Printed values are rings, or a black line where one holds
    /// at every place.
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// Print the series of the figures also with --format table. The other formats always have them.
    #[arg(long)]
    series: bool,
    /// Measure on this machine, too, for K98, W01 and H06. K98: deposit over shared memory, messages over shared memory and
    /// TCP, sockets, in a minute or two. W01: the same benchmarks over shared memory. H06: write, device and read of a
    /// barrier over the compiled RTL.
    #[arg(long)]
    measure: bool,
    /// Measure each point of K98's figures for this many seconds.
    #[arg(long, value_name = "SECONDS", requires = "measure", default_value_t = Studies::SECONDS)]
    time: f64,
    /// Measure each of those points in this many blocks. [default: as in `measure`]
    #[arg(long, value_name = "N", requires = "measure")]
    blocks: Option<u32>,
}

/// Studies as they are asked for.
#[derive(Default)]
pub struct Studies {
    /// Which; all, where none is named for their score.
    pub studies: Vec<Study>,
    /// Whether their score is asked, not their tables.
    pub score: bool,
    /// The folder of their figures.
    pub figures: Option<PathBuf>,
    /// Whether tables hold the series of the figures, too.
    pub series: bool,
    /// Whether this machine is measured, too: for so many seconds at each of K98's points, in so many blocks.
    pub measure: Option<(f64, Option<u32>)>,
}

impl Studies {
    /// The time of each of K98's points where none is asked for.
    pub const SECONDS: f64 = 0.02;
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let Args { studies, score, figures, series, measure, time, blocks } = args;
    let measure = measure.then_some((*time, *blocks));
    let asked = Studies { studies: studies.clone(), score: *score, figures: figures.clone(), series: *series, measure };
    if figures.is_none() && measure.is_none() {
        output.end_with_reader();
    }
    reproduce(&asked, output)
}

/// Works them out, and draws their figures where there is a folder for them.
pub(crate) fn reproduce(asked: &Studies, output: &mut Output) -> Result<(), Failure> {
    let mut named: Vec<Study> = Vec::new();
    for &study in &asked.studies {
        if !named.contains(&study) {
            named.push(study);
        }
    }
    let batch = asked.figures.as_deref().map(Batch::new).transpose()?;
    if asked.score {
        let studies = if named.is_empty() { Study::ALL.to_vec() } else { named };
        score(&studies, batch.as_ref(), output)?;
    } else {
        reports(&named, asked.measure, (asked.series, batch.as_ref()), output)?;
    }
    let Some(batch) = batch else { return Ok(()) };
    let count = batch.names().len();
    batch.commit()?;
    if !output.is_muted() {
        hotlink_paper::tell!("hotlink: drew {count} figures");
    }
    Ok(())
}

/// A line for each study, then each study's claims.
fn score(studies: &[Study], figures: Option<&Batch>, output: &mut Output) -> Result<(), Failure> {
    let progress = output.ticking("reproduce", studies.len() as u64);
    let (mut verdicts, mut lines) = (Vec::new(), Vec::new());
    for study in studies {
        let report = study.report(None)?;
        let line = score::line(&report);
        output.push(line.clone());
        lines.push(line);
        verdicts.push((report.name, score::verdicts(&report)));
        draw(*study, &report, figures)?;
        progress.step();
    }
    drop(progress);
    output.tables(paper::scores(&lines, &verdicts));
    output.push_all(verdicts.into_iter().flat_map(|(_, records)| records));
    Ok(())
}

/// The figures of a study, where they were asked for.
fn draw(study: Study, report: &Report, figures: Option<&Batch>) -> Result<(), Failure> {
    let Some(batch) = figures else { return Ok(()) };
    for drawing in draw::drawings(study, report) {
        batch.write(&drawing.name, &drawing.svg)?;
    }
    Ok(())
}

/// The studies' reports; measured too, with these seconds and blocks for each point.
fn reports(
    studies: &[Study],
    measure: Option<(f64, Option<u32>)>,
    (series, figures): (bool, Option<&Batch>),
    output: &mut Output,
) -> Result<(), Failure> {
    if measure.is_some() && !studies.iter().any(|study| study.can_be_measured()) {
        return Err(Failure::Input(
            "--measure: of the studies, K98, W01 and H06 have figures to take on this machine".to_owned(),
        ));
    }
    let mut regressed = Vec::new();
    // Measured ranks are forked, so no thread of a progress line may run.
    let progress = output.progress("reproduce", studies.len() as u64);
    let progress = if measure.is_some() { Ticking::from(progress) } else { progress.ticking() };
    for study in studies {
        let report = study.report(measure.map(|_| &Own as &dyn Measure))?;
        output.tables(paper::tables(&report, series));
        let rows = report.claims.iter().chain(&report.series);
        output.push_all(rows.map(|row| row.record(report.name)).collect::<Vec<_>>());
        draw(*study, &report, figures)?;
        regressed.extend(report.claims.iter().filter(|row| row.regressed()).map(|row| row.id.clone()));
        if let Some(effort) = measure.filter(|_| matches!(study, Study::K98)) {
            measure_here(effort, output)?;
        }
        progress.step();
    }
    match regressed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Check(format!("known to hold, but no longer does: {}", regressed.join(", ")))),
    }
}

/// K98's figures on this machine.
fn measure_here((seconds, blocks): (f64, Option<u32>), output: &mut Output) -> Result<(), Failure> {
    let mut environment = Map::new();
    hotlink_measure::describe(&mut environment, &Terminal(When::Never));
    output.describe_all(environment);
    let records = here::figures(&Own, seconds, blocks)?;
    output.table(paper::here(&records));
    output.push_all(records);
    Ok(())
}

/// Measures with the command lines of this very program.
struct Own;

impl Measure for Own {
    fn records(&self, command: &str) -> Result<Vec<Record>, Failure> {
        let wrong = |failure: Failure| Failure::Input(format!("{command}: {failure}"));
        measure::of_line(command.trim_start_matches("measure "), &Terminal(When::Never)).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::{Verb, simulate};

    #[test]
    fn a_row_names_the_command_that_asks_its_question() {
        let questions: Vec<_> =
            [Study::K98, Study::W01, Study::Others].into_iter().flat_map(Study::questions).collect();
        assert!(questions.len() > 11 + 30, "{}", questions.len());
        for question in questions {
            let words = std::iter::once("hotlink").chain(question.command.split(' ')).map(Into::into);
            let cli = crate::parse(&words.collect::<Vec<_>>()).unwrap();
            let Verb::Simulate(args) = &cli.verb else { panic!("{}", question.command) };
            assert_eq!(simulate::request(args).unwrap(), question.request, "{}", question.command);
        }
    }
}
