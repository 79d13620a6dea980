//! What the crate promises its callers; one binary, so that it is linked once.

mod bounds;
mod build;
mod catalog;
mod deadlock;
mod forms;
mod forms_and_load;
mod groups;
mod hyperx;
mod import;
mod injection;
mod load_cube;
mod load_pairs;
mod numbers;
mod paths;
mod prices;
mod round_trip;
mod traffic;
