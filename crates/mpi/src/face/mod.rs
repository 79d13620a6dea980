//! The work of the exported functions, a file for each chapter. A function here has the name of the standard's without
//! its prefix, in small letters. Those of a family (all modes of a send; blocking, non-blocking and persistent) are one
//! function. They have as many arguments as the standard's.
#![allow(clippy::too_many_arguments)]

pub(crate) mod attributes;
pub(crate) mod collectives;
pub(crate) mod communicators;
pub(crate) mod constructors;
pub(crate) mod datatypes;
pub(crate) mod environment;
pub(crate) mod epochs;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod groups;
pub(crate) mod info;
pub(crate) mod messages;
pub(crate) mod neighbors;
pub(crate) mod onesided;
pub(crate) mod operators;
pub(crate) mod partitioned;
pub(crate) mod probes;
pub(crate) mod reductions;
pub(crate) mod requests;
pub(crate) mod sessions;
pub(crate) mod statuses;
pub(crate) mod tools;
pub(crate) mod topologies;
pub(crate) mod transfers;
pub(crate) mod windows;
