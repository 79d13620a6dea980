//! Credits per virtual channel, whole packets buffered (InfiniBand).

use super::{Admission, FlowControl, Passage};
use crate::assumption::assumption;

/// What is known of it.
pub const RECORD: FlowControl = FlowControl {
    name: "credit",
    admission: Admission::Whole,
    dropping: None,
    passage: Passage::CutThrough,
    buffers: &[assumption(
        "switch_buffer_packets",
        64.0,
        "packets",
        [8.0, 256.0],
        "credits of a port and virtual channel, by analogy",
    )],
};
