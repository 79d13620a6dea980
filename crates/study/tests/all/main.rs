//! What needs no more than what the crate shows, in one program.

mod ranking;
mod values;
