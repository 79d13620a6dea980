//! Programs of messages on ranks of one process: one binary, so that the engine is compiled into the tests once.

mod collectives;
mod pairs;
mod random;
mod regions;
mod routes;
mod semantics;
mod views;
