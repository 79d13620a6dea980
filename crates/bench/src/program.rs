//! A benchmark is a [`Bench`]: the work of one rank on any [`Endpoint`].

use hotlink_message::{Comm, Endpoint, Error};
use hotlink_port::{Port, Program};
use std::future::Future;

/// A benchmark, one code for every endpoint: this project's stack on real and simulated ports, and foreign MPIs.
pub trait Bench {
    /// The result of each rank.
    type Result;
    /// The program of one rank.
    fn on<E: Endpoint>(&self, endpoint: &E) -> impl Future<Output = Result<Self::Result, Error>>;
}

/// A benchmark as the program of a port, over this project's stack.
#[derive(Clone, Copy, Debug)]
pub struct OnPort<'a, B>(pub &'a B);

impl<P: Port, B: Bench> Program<P, Result<B::Result, Error>> for OnPort<'_, B> {
    async fn run(&self, port: P) -> Result<B::Result, Error> {
        self.0.on(&Comm::new(port)).await
    }
}
