//! What the crate promises its callers; one binary, so that it is linked once.

mod bounds;
mod deadlock;
mod forms_and_load;
mod load_cube;
mod load_pairs;
mod load_tree;
mod sharing;
