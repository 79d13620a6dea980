//! NAS Parallel Benchmarks, Integer Sort (IS).

mod keys;
mod share;
mod sort;

pub use keys::{Class, ITERATIONS, TESTS, keys};
pub use sort::{IntegerSort, Sorted};
