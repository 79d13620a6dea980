//! Ethernet: ports pause the link or drop the packet.

use super::{Admission, FlowControl, Passage};
use crate::assumption::assumption;

/// What is known of it.
pub const RECORD: FlowControl = FlowControl {
    name: "ethernet",
    admission: Admission::UntilPaused,
    dropping: Some(Admission::OnArrival),
    passage: Passage::CutThrough,
    buffers: &[assumption(
        "switch_buffer",
        256.0,
        "KiB",
        [64.0, 1024.0],
        "share of a port in a switch's memory, by analogy",
    )],
};
