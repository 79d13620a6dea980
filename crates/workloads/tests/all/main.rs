//! Workloads, called from a program and as jobs: one binary.

mod called;
mod hypercube;
mod jobs;
mod proxies;
mod region;
mod traces;
