//! The contract of ports, and the ports that need no machine: one binary.

mod conformance;
mod loopback;
mod parts;
mod wrappers;
