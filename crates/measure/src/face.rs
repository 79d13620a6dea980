//! What a measurement needs of the program that asked for it.

use hotlink_study::{Unwatched, Watch};

/// A program that asks for a measurement. Results do not depend on it.
pub trait Face {
    /// Shows a task of `total` steps until what this gives is dropped.
    fn task(&self, name: &str, total: u64) -> Box<dyn Watch>;
    /// Tells people a line. Blocks and rounds find the same again: a line that was told need not be told twice.
    fn say(&self, line: &str);
    /// Passes on a line of another program, once.
    fn pass_on(&self, line: &str);
}

/// Shows nothing and tells nobody.
pub struct Quiet;

impl Face for Quiet {
    fn task(&self, _: &str, _: u64) -> Box<dyn Watch> {
        Box::new(Unwatched)
    }
    fn say(&self, _: &str) {}
    fn pass_on(&self, _: &str) {}
}
