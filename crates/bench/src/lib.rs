//! Benchmarks, statistics and result records. One result row is a [`Record`].

mod record;

pub use record::Record;
