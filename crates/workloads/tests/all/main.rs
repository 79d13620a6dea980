//! Workloads, called from a program and as jobs: one binary.

mod called;
mod cluster;
mod hypercube;
mod jobs;
mod kernels;
mod measured;
mod model;
mod predicted;
mod proxies;
mod region;
mod traces;
