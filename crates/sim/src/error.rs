//! What can go wrong in a simulation.

use crate::fault::Lost;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Node, Resource};
use hotlink_fabric::routing::Trip;

impl SimError {
    /// No route for a trip.
    pub(crate) fn no_route(fabric: &Fabric, trip: Trip) -> SimError {
        let name = |node: Node| fabric.resource_name(Resource::Vertex(node.vertex()));
        SimError::NoRoute { from: name(trip.source), to: name(trip.destination) }
    }
}

/// Why a simulation cannot start or did not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// An input that cannot be simulated: what was wrong and what is allowed.
    #[error("{0}")]
    Input(String),
    /// The routing (with what has failed) leaves no path.
    #[error("no route from {from} to {to}")]
    NoRoute {
        /// Name of the sender.
        from: String,
        /// Name of the receiver.
        to: String,
    },
    /// Messages that failures took, so that ranks wait for ever.
    #[error("{0}")]
    Lost(Lost),
    /// Packets wait for one another for ever.
    #[error("deadlock at {at_us} us with {packets} packets undelivered: {}", cycle.join(" -> "))]
    Deadlock {
        /// Simulated time in microseconds, as text so that the error can be compared.
        at_us: String,
        /// Packets undelivered.
        packets: u32,
        /// Names of the resources that wait for one another, the first repeated at the end.
        cycle: Vec<String>,
    },
}
