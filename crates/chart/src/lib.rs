//! Curves, bars, marks and tables as SVG: the one painter behind the report's page and the figures of the studies.
//!
//! A picture is plain markup whose looks come from a stylesheet: a page brings its own, a file of its own carries
//! [`file()`]'s. The same chart gives the same bytes.

#![forbid(unsafe_code)]

mod axis;
mod curves;
mod file;
mod scatter;
mod table;

pub use axis::Axis;
pub use curves::{Curve, Line, Point, Printed, charted};
pub use file::file;
pub use scatter::{Mark, Scatter, scattered};
pub use table::Table;

/// How things of one number look: their class in a stylesheet of so many colours, and the shape of their marks. After the
/// last colour they begin again, with the next shape.
fn look(number: usize, colours: usize) -> (String, usize) {
    (format!("c{}", number % colours), number / colours)
}

/// Curves over two axes.
pub struct Chart {
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The curves, in the order of their names.
    pub curves: Vec<Curve>,
    /// Published values.
    pub printed: Vec<Printed>,
    /// The text for a screen reader.
    pub label: String,
}
