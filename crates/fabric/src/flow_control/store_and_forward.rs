//! Whole packets stored at every hop, in buffers without bound.

use super::{Admission, FlowControl, Passage};
use crate::assumption::assumption;

/// What is known of it.
pub const RECORD: FlowControl = FlowControl {
    name: "store-and-forward",
    admission: Admission::Unbounded,
    dropping: None,
    passage: Passage::Stored,
    buffers: &[assumption(
        "switch_buffer",
        4_294_967_295.0,
        "B",
        [4_294_967_295.0, 4_294_967_295.0],
        "unbounded, by definition",
    )],
};
