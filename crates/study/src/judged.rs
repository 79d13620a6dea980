//! Comparisons by several engines, and the sizes at which these put another fabric ahead.

use crate::comparison::Comparison;
use crate::model::Method;
use crate::ranking::{Grid, Quantity};
use hotlink_bench::Record;

/// One comparison for each engine that was asked.
pub struct Judged(pub Vec<Comparison>);

impl Judged {
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
