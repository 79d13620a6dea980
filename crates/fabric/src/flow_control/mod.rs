//! Flow controls: how packets behave where they cannot go on, stated once each.
//!
//! A record states how a packet takes room, how it passes a switch, and what stands in for buffers that nobody states.
//! The simulator knows the mechanics and no names. To add a flow control of existing mechanics, write a file with a
//! `pub const RECORD: FlowControl` and add one line to [`FLOW_CONTROLS`]. A technology's record names it.
//!
//! ```
//! use hotlink_fabric::{flow_control::Passage, technology};
//! let myrinet = technology::named("myrinet").unwrap();
//! assert_eq!(myrinet.flow_control.value.passage, Passage::Worm);
//! ```

pub mod credit;
pub mod ethernet;
pub mod sci_ring;
pub mod store_and_forward;
pub mod wormhole;

use crate::assumption::Assumption;

/// Every flow control.
pub const FLOW_CONTROLS: &[&FlowControl] =
    &[&credit::RECORD, &ethernet::RECORD, &sci_ring::RECORD, &store_and_forward::RECORD, &wormhole::RECORD];

/// What a packet needs of the buffer in front before it leaves for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Admission {
    /// Room for all of it (credits).
    Whole,
    /// Room for as much of it as the buffer holds: the rest stays behind (worms).
    Part,
    /// Room for all of it. On a ring the receiver decides on arrival, and what it refuses is sent again.
    RingAccess,
    /// Nothing, until the buffer is full and closes the link; what is under way then goes to the headroom (pause).
    UntilPaused,
    /// Nothing; what finds no room is dropped, and its source sends it again.
    OnArrival,
    /// Nothing: there is always room.
    Unbounded,
}

/// How a packet passes a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    /// Its head goes on as it comes; blocked, it gathers in one buffer.
    CutThrough,
    /// The same, but blocked it holds all channels that it lies across.
    Worm,
    /// It goes on when all of it is there.
    Stored,
}

/// How blocked packets behave. The simulator's business; the load count ignores it.
#[derive(Debug)]
pub struct FlowControl {
    /// Its name, for people and tests.
    pub name: &'static str,
    /// What a packet needs to leave.
    pub admission: Admission,
    /// The same where ports drop instead of pausing. `None`: they never do.
    pub dropping: Option<Admission>,
    /// How it passes a switch.
    pub passage: Passage,
    /// What stands in for the buffers of switches that nobody states.
    pub buffers: &'static [Assumption],
}

impl PartialEq for FlowControl {
    fn eq(&self, other: &FlowControl) -> bool {
        self.name == other.name
    }
}

impl FlowControl {
    /// Packets on a ring pass before those that want to enter it, and what cannot be taken is sent again.
    pub fn is_ring(&self) -> bool {
        self.admission == Admission::RingAccess
    }

    /// A packet may lie across several switches, so that no buffer need hold a whole one.
    pub fn is_wormhole(&self) -> bool {
        self.passage == Passage::Worm
    }
}
