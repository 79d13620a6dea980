//! NAS Parallel Benchmarks, Integer Sort (IS).

mod keys;

pub use keys::{Class, ITERATIONS, TESTS, keys};
