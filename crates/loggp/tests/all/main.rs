//! LogGP's port and its schedules: one binary.

mod port;
mod schedules;
