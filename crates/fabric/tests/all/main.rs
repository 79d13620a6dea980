//! What the crate promises its callers; one binary, so that it is linked once.

mod barrier;
mod build;
mod catalog;
mod forms;
mod groups;
mod hyperx;
mod import;
mod injection;
mod inventory;
mod numbers;
mod partial;
mod paths;
mod prices;
mod published;
mod reduction;
mod round_trip;
mod shortest;
mod slim_fly;
mod technology;
mod traffic;
mod variant;
