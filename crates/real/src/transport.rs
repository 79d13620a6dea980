//! The interface of a driver that faces choose at run time. `via.rs` lists them.

use crate::ranks::{Doors, Options};
use crate::store::Lend;
use hotlink_port::{Driver, RunError};

/// A driver of ranks as processes, which can be chosen by a word.
pub trait Transport: Driver<Port: Lend + 'static> {
    /// The shared state of ranks that another language's interpreter forks.
    type Shared: Doors<Port = Self::Port> + 'static;
    /// Whether its ranks must be on one machine.
    const IS_ONE_MACHINE: bool = false;
    /// Whether ranks of one machine move messages through its memory, by a route of their own.
    const SHARES_MEMORY: bool = false;
    /// The driver.
    fn with(options: Options) -> Self;
    /// The shared state of `ranks` ranks that the caller forks itself.
    ///
    /// # Errors
    /// Too many ranks; the system's, of making it.
    fn share(&self, ranks: u32) -> Result<Self::Shared, RunError>;
}

/// The use of a transport that was chosen at run time: a closure cannot be generic over the port.
pub trait With {
    /// Its result.
    type Output;
    /// Does it.
    fn on<D: Transport>(self, driver: D) -> Self::Output;
}
