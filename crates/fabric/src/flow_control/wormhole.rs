//! A blocked packet holds its channels (Myrinet, Elite).

use super::{Admission, FlowControl, Passage};
use crate::assumption::assumption;

/// What is known of it.
pub const RECORD: FlowControl = FlowControl {
    name: "wormhole",
    admission: Admission::Part,
    dropping: None,
    passage: Passage::Worm,
    buffers: &[assumption(
        "switch_buffer",
        128.0,
        "B",
        [16.0, 512.0],
        "slack buffer of a worm: Myrinet's and Elite's switches hold a few dozen bytes a port, recalled",
    )],
};
