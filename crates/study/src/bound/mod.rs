//! A question's inputs to its bound: routes, loads, idle paths and adapters. The bounds themselves are worked out in
//! [`hotlink_bound`].
//!
//! [`pattern`] counts the messages of nodes under a pattern, and [`message`] sends one message through the idle
//! network. Then [`program`] bounds a benchmark over the message stack, [`network`] a fabric's own barrier and
//! broadcast networks, and [`measured`] rows of real ranks. A property test (`tests/bounds.rs`) runs every benchmark on
//! every fabric of the catalog against them.

pub mod measured;
pub mod message;
pub mod network;
pub mod pattern;
pub mod program;
