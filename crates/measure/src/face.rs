//! The interface of a measurement to the program that asked for it.

use hotlink_study::{Unwatched, Watch};

/// A program that asks for a measurement. Results do not depend on it.
pub trait Face {
    /// Shows a task of `total` steps until what this gives is dropped.
    fn task(&self, name: &str, total: u64) -> Box<dyn Watch>;
    /// Shows people a line. Blocks and rounds find the same again, and a face may show a line only once.
    fn say(&self, line: &str);
    /// Passes on a line of another program, once.
    fn pass_on(&self, line: &str);
}

/// Shows nothing.
pub struct Quiet;

impl Face for Quiet {
    fn task(&self, _: &str, _: u64) -> Box<dyn Watch> {
        Box::new(Unwatched)
    }
    fn say(&self, _: &str) {}
    fn pass_on(&self, _: &str) {}
}
