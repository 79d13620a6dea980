//! SCI rings: request, echo, response; bypass buffer; busy retry (IEEE 1596).

use super::{Admission, FlowControl, Passage};
use crate::assumption::assumption;

/// What is known of it.
pub const RECORD: FlowControl = FlowControl {
    name: "sci-ring",
    admission: Admission::RingAccess,
    dropping: None,
    passage: Passage::CutThrough,
    buffers: &[assumption(
        "switch_buffer",
        3.0,
        "KiB",
        [1.5, 6.0],
        "16 packets of 192 B in each queue of a link controller (parameters P004)",
    )],
};
