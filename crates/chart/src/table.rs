//! A table as a picture.

use maud::{Markup, html};

const LINE: f64 = 18.0;
/// Room for one letter of the text, and between two columns.
const LETTER: f64 = 6.4;
const GAP: f64 = 18.0;

/// Rows of text under heads.
pub struct Table {
    /// One a column.
    pub heads: Vec<String>,
    /// As many cells each.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Where each column begins, and where the last ends.
    fn columns(&self) -> Vec<f64> {
        let widest = |column: usize| {
            let cells = std::iter::once(&self.heads).chain(&self.rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default() as f64
        };
        let mut places = vec![8.0];
        for column in 0..self.heads.len() {
            places.push((places[column] + LETTER * widest(column) + GAP).round());
        }
        places
    }

    /// Its width and height.
    pub(crate) fn extent(&self) -> (f64, f64) {
        (self.columns().last().copied().unwrap_or_default(), LINE * (self.rows.len() as f64 + 1.5))
    }

    pub(crate) fn inside(&self) -> Markup {
        let places = self.columns();
        let (width, _) = self.extent();
        html! {
            @for (at, head) in places.iter().zip(&self.heads) { text .axis x=(at) y=(LINE) { (head) } }
            line .grid x1="8" x2=(width) y1=(LINE * 1.4) y2=(LINE * 1.4) {}
            @for (index, row) in self.rows.iter().enumerate() {
                @for (at, cell) in places.iter().zip(row) {
                    text .tick x=(at) y=(LINE * (index as f64 + 2.2)) { (cell) }
                }
            }
        }
    }
}
