//! One question at several sizes of a machine.

use super::{Answers, Engine, Question, ask_engines};
use crate::inputs::{self, Vary};
use crate::{Error, Source, Watch};
use hotlink_bench::Record;
use std::cell::OnceCell;

/// The answers at one size.
#[derive(Clone, Debug, Default)]
pub struct AtSize {
    /// A record of each engine, with what it rests on.
    pub records: Vec<Record>,
    /// Records of parts, where the question asks for them.
    pub more: Vec<Record>,
    /// Lines for people: how bounds come about, and the differences that the engines' claims do not explain.
    pub notes: Vec<String>,
}

/// Asks `engines` a question at every size, in order, until `give` says false. `vary` the uncertain inputs; of the
/// first size only where that must be quick. `differs`: people get every difference, and the methods without an answer.
///
/// # Errors
/// As [`ask_engines`].
pub fn at_sizes(
    (question, sizes): (&Question, &[u32]),
    source: &Source,
    (engines, differs): (&[&dyn Engine], bool),
    vary: Vary,
    watch: &dyn Watch,
    give: &mut dyn FnMut(AtSize) -> bool,
) -> Result<(), Error> {
    for (index, &nodes) in sizes.iter().enumerate() {
        let question = Question { nodes, ..question.clone() };
        let vary = vary.at(index);
        let first: OnceCell<Answers> = OnceCell::new();
        let answer = |source: &Source, watch: &dyn Watch| {
            let answers = ask_engines(&question, source, engines, watch)?;
            let records = answers.records();
            // Questions that are asked again with other inputs add no rows.
            let _ = first.set(answers);
            Ok(records)
        };
        let records = inputs::told(source, vary, watch, &answer)?;
        let answers = first.into_inner().unwrap_or_default();
        let told = if differs { answers.notes() } else { answers.mistakes() };
        let notes = answers.given.iter().flat_map(|answer| answer.why.clone()).chain(told);
        let notes = notes.map(|line| format!("{nodes} nodes: {line}")).collect();
        let more = answers.given.into_iter().flat_map(|answer| answer.more).collect();
        if !give(AtSize { records, more, notes }) {
            break;
        }
    }
    Ok(())
}
