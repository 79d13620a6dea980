//! Comparisons by several engines, and the sizes at which these put another fabric ahead.

use crate::ask::{Answer, Difference, between};
use crate::comparison::Comparison;
use crate::model::Method;
use crate::ranking::{Grid, Quantity};
use hotlink_bench::Record;

/// One comparison for each engine that was asked.
pub struct Judged(pub Vec<Comparison>);

impl Judged {
    /// The comparisons, each cell of which says in `differs` how it differs from the engines before it.
    pub fn new(comparisons: Vec<Comparison>) -> Judged {
        let mut judged = Judged(comparisons);
        for (index, difference) in judged.differences() {
            for comparison in &mut judged.0 {
                if comparison.answers[index].as_ref().is_some_and(|answer| answer.method == difference.of) {
                    let cell = &mut comparison.cells[index];
                    let before = cell.text("differs").map(|told| format!("{told}; ")).unwrap_or_default();
                    cell.set("differs", format!("{before}{difference}"));
                }
            }
        }
        judged
    }

    /// Where the engines' answers differ, with the index of the cell.
    fn differences(&self) -> Vec<(usize, Difference)> {
        let mut found = Vec::new();
        let cells = self.0.first().map_or(0, |comparison| comparison.answers.len());
        for index in 0..cells {
            let mut answers: Vec<Answer> = Vec::new();
            for answer in self.0.iter().filter_map(|comparison| comparison.answers[index].as_ref()) {
                // Where there is no closed form the load count replaces it.
                if answers.iter().all(|known| known.method != answer.method) {
                    answers.push(answer.clone());
                }
            }
            found.extend(between(&answers).into_iter().map(|difference| (index, difference)));
        }
        found
    }

    /// The differences that the engines' claims do not explain: one of them is wrong.
    pub fn mistakes(&self) -> Vec<String> {
        let Some(first) = self.0.first() else { return Vec::new() };
        let unexplained = self.differences().into_iter().filter(|(_, difference)| !difference.is_explained());
        let told = |(index, difference): (usize, Difference)| {
            let (fabric, nodes) = (&first.titles[index / first.nodes.len()].0, first.nodes[index % first.nodes.len()]);
            format!("{fabric}, {nodes} nodes: {}: {difference}", difference.of)
        };
        unexplained.map(told).collect()
    }

    /// Every comparison's records, then (`kind` = `disagreement`) the sizes at which the engines put another fabric ahead.
    pub fn records(&self) -> Vec<Record> {
        let mut records: Vec<Record> = self.0.iter().flat_map(Comparison::records).collect();
        records.extend(self.disagreements());
        records
    }

    /// Where the engines put another fabric ahead.
    pub fn disagreements(&self) -> Vec<Record> {
        let Some((first, others)) = self.0.split_first() else { return Vec::new() };
        let mut found = Vec::new();
        for (quantity, grid) in &first.quantities {
            let same = |other: &&(Quantity, Grid)| other.0 == *quantity;
            let grids = others.iter().filter_map(|other| Some((other.method, &other.quantities.iter().find(same)?.1)));
            let grids: Vec<(Method, &Grid)> = std::iter::once((first.method, grid)).chain(grids).collect();
            for (size, &nodes) in first.nodes.iter().enumerate() {
                let ahead = |grid: &Grid| {
                    let names: Vec<&str> = grid.best(size).into_iter().map(|row| grid.fabrics[row].as_str()).collect();
                    names.join(" and ")
                };
                let ahead: Vec<(Method, String)> = grids.iter().map(|(method, grid)| (*method, ahead(grid))).collect();
                if ahead.iter().any(|(_, names)| *names != ahead[0].1) {
                    let head = Record::new().with("kind", "disagreement").with("quantity", quantity.key.as_str());
                    let named = |record: Record, (method, names): (Method, String)| {
                        record.with(&format!("ahead_by_{}", method.name()), names)
                    };
                    found.push(ahead.into_iter().fold(head.with("nodes", nodes), named));
                }
            }
        }
        found
    }
}
