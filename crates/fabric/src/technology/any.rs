//! What stands in whatever the technology, where neither a machine nor its technology's record says better.

use super::{Assumption, assumption};
use crate::terms::FlowControl;

pub(super) const ASSUMPTIONS: &[Assumption] = &[
    assumption(
        "alltoall_own_message_max",
        0.0,
        "B",
        [0.0, 0.0],
        "no calibration saw a message to oneself: a rank's own part is a copy",
    ),
    assumption(
        "alltoallv_own_message_max",
        0.0,
        "B",
        [0.0, 0.0],
        "no calibration saw a message to oneself: a rank's own part is a copy",
    ),
    assumption(
        "collective_overhead",
        0.0,
        "us",
        [0.0, 2.0],
        "no calibration measured what a call adds to its messages",
    ),
    assumption("dma_queue", 64.0, "operations", [1.0, 1024.0], "a short queue of descriptors, by analogy"),
    assumption(
        "ecn_least_rate",
        0.00390625,
        "ratio",
        [0.0001, 0.05],
        "a source never stops for long, assumed; DCQCN's least rates are 10 to 100 Mbit/s of 25 to 100 Gbit/s, recalled",
    ),
    assumption(
        "ecn_mark_share",
        0.25,
        "ratio",
        [0.05, 0.75],
        "assumed: short queues and busy links; DCTCP marks from a small part of the buffer on (Alizadeh et al. 2010)",
    ),
    assumption(
        "ecn_rate_cut",
        0.5,
        "ratio",
        [0.5, 0.95],
        "DCTCP and DCQCN halve where every packet is marked, and cut less where few are (Alizadeh 2010, Zhu 2015)",
    ),
    assumption(
        "ecn_recovery",
        0.125,
        "ratio",
        [0.02, 0.5],
        "assumed: back within tens of packets; DCQCN takes hundreds of microseconds, longer than most runs here",
    ),
    assumption("memory_line", 64.0, "B", [32.0, 128.0], "cache line of most processors since 2000"),
    assumption(
        "message_queue",
        64.0,
        "entries",
        [8.0, 1024.0],
        "receive slots that a message passing library posts ahead, by analogy",
    ),
    assumption(
        "multiply_add_clocks",
        2.0,
        "clocks",
        [0.125, 4.0],
        "two loads and a store through one port each; vector units of today do eight in a clock",
    ),
    assumption("nic_buffer", 256.0, "KiB", [32.0, 4096.0], "memory of an adapter for packets, each way, by analogy"),
    assumption(
        "program_copy_time_per_byte",
        0.0,
        "ns/B",
        [0.0, 0.5],
        "no calibration measured a program's own copies beyond those of `copy_time_of_`",
    ),
    assumption("retransmit_time", 100.0, "us", [20.0, 200_000.0], "a sender's timer; TCP's least is 200 ms (Linux)"),
    assumption(
        "segment_size",
        4.0,
        "KiB",
        [1.0, 9.0],
        "where the network sets no limit, what adapters cut messages into: GM's 4 KiB, recalled; jumbo frames of 9 KB",
    ),
    assumption(
        "tcp_segment_share",
        0.25,
        "ratio",
        [0.05, 1.0],
        "a segment more needs no system call and no wake-up, by analogy",
    ),
    assumption("unregister_share", 0.5, "ratio", [0.1, 1.0], "unpinning looks nothing up, by analogy"),
    assumption(
        "update_clocks",
        12.0,
        "clocks",
        [4.0, 60.0],
        "a load, a store and a miss of the first-level cache, by analogy",
    ),
];

/// Input buffer of a switch port and virtual channel, net of the link's round trip.
pub(super) fn buffers(flow_control: FlowControl) -> &'static [Assumption] {
    match flow_control {
        FlowControl::Wormhole => WORM,
        FlowControl::Credit => CREDITS,
        FlowControl::Ethernet => SHARED,
        FlowControl::SciRing => QUEUES,
        FlowControl::StoreAndForward => UNBOUNDED,
    }
}

const WORM: &[Assumption] = &[assumption(
    "switch_buffer",
    128.0,
    "B",
    [16.0, 512.0],
    "slack buffer of a worm: Myrinet's and Elite's switches hold a few dozen bytes a port, recalled",
)];

const CREDITS: &[Assumption] = &[assumption(
    "switch_buffer_packets",
    64.0,
    "packets",
    [8.0, 256.0],
    "credits of a port and virtual channel, by analogy",
)];

const SHARED: &[Assumption] =
    &[assumption("switch_buffer", 256.0, "KiB", [64.0, 1024.0], "share of a port in a switch's memory, by analogy")];

const QUEUES: &[Assumption] = &[assumption(
    "switch_buffer",
    3.0,
    "KiB",
    [1.5, 6.0],
    "16 packets of 192 B in each queue of a link controller (parameters P004)",
)];

const UNBOUNDED: &[Assumption] = &[assumption(
    "switch_buffer",
    4_294_967_295.0,
    "B",
    [4_294_967_295.0, 4_294_967_295.0],
    "unbounded, by definition",
)];
