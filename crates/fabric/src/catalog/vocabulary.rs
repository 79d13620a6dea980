//! The parameters of hosts and adapters that files may state under `[parameter]`, for the simulator and for reports.
//! The name gives the meaning, the dimension the allowed units. Nothing else is accepted.

use crate::sheet::unit::Dimension;
use std::ops::RangeInclusive;

/// Largest number in base units: 10^15 is exact in a float and far beyond every real rate (B/s) and time (ps).
pub(super) const MOST: f64 = 1e15;

/// One declared parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Key under `[parameter]`, and in [`crate::spec::FabricSpec::parameters`].
    pub name: &'static str,
    /// What it measures.
    pub dimension: Dimension,
    /// What it means.
    pub meaning: &'static str,
}

impl Parameter {
    /// Values that a file may state, in the base unit.
    pub(super) fn allowed(&self) -> RangeInclusive<f64> {
        match (self.name, self.dimension) {
            // A source that stops for good, or that never slows down, is no answer to marks.
            (name, _) if name.starts_with("ecn_") => 1e-4..=1.0,
            ("gpu_switch_share", _) => 0.01..=1.0,
            ("gpu_channels" | "gpu_peer_channels" | "gpu_far_peer_channels", _) => 1.0..=32.0,
            ("gpu_slices" | "gpu_host_size", _) | (_, Rate | Frequency) => 1.0..=MOST,
            (name, Size) if name.starts_with("gpu_") && name.ends_with("_chunk") => 1.0..=MOST,
            _ => 0.0..=MOST,
        }
    }
}

const fn parameter(name: &'static str, dimension: Dimension, meaning: &'static str) -> Parameter {
    Parameter { name, dimension, meaning }
}

use Dimension::{Count, Frequency, Rate, Ratio, Size, Time, TimePerByte};

/// All declared parameters, sorted by name.
pub const PARAMETERS: &[Parameter] = &[
    parameter("acknowledge_time", Time, "from the arrival of a packet's head to its acknowledgement on the way back"),
    parameter("adapter_latency", Time, "time of a message's head through the sending and receiving adapter together"),
    parameter("adapter_memory", Size, "memory on the adapter for control program and staging buffers"),
    parameter("alltoall_own_message_max", Size, "up to here a rank's own part of alltoall is a message, not a copy"),
    parameter("alltoallv_own_message_max", Size, "up to here a rank's own part of alltoallv is a message, not a copy"),
    parameter("annex_time", Time, "time to set the entry through which stores and loads reach another node"),
    parameter("att_entries", Count, "entries of the adapter's address translation table"),
    parameter("bridge_lines", Count, "lines of memory that the bus bridge fetches ahead of a read"),
    parameter(
        "bridge_time",
        Time,
        "from a transaction on the host bus to its request at the memory: decoding, clocks, caches",
    ),
    parameter(
        "bus_address_clocks",
        Count,
        "clocks of a bus transaction's address phase, before the target's first wait",
    ),
    parameter("bus_clock", Frequency, "clock of the host bus"),
    parameter(
        "bus_read_wait_clocks",
        Count,
        "clocks a burst read waits for its first data beyond the protocol's least, where the memory is not described",
    ),
    parameter(
        "bus_turnaround_clocks",
        Count,
        "clocks between two transactions of the host bus, and of an address's turn to read data",
    ),
    parameter("bus_width", Size, "bytes that the host bus moves in one data phase"),
    parameter(
        "bus_write_wait_clocks",
        Count,
        "clocks from the address phase of a burst write to its first data (target's decode)",
    ),
    parameter(
        "cache_word_time",
        Time,
        "time to load or store a word by itself, where the processor goes on while lines come from its caches",
    ),
    parameter("collective_overhead", Time, "processor time that a call of a collective adds to its messages"),
    parameter("conditional_retry", Time, "first pause before a failed network conditional is tried again"),
    parameter("connect_time", Time, "time to connect to a remote segment without mapping it"),
    parameter("copy_call_time", Time, "fixed time of a call that copies a block"),
    parameter("copy_past_from", Size, "blocks of this size on are copied by stores that go past the caches"),
    parameter("copy_rate", Rate, "memory copy, contiguous, counted one way"),
    parameter("copy_rate_strided", Rate, "memory copy with strided stores of 8 bytes, counted one way"),
    parameter("cpu_clock", Frequency, "clock of the processor"),
    parameter("deposit_alignment", Size, "alignment that DMA needs of source, destination and size"),
    parameter("dma_burst", Size, "bytes that DMA moves in one bus burst"),
    parameter("dma_queue", Count, "operations that the DMA engine holds in its queue"),
    parameter("dma_read_rate", Rate, "DMA from host memory to the adapter"),
    parameter("dma_setup_time", Time, "time to prepare and start one DMA operation"),
    parameter("dma_write_rate", Rate, "DMA from the adapter to host memory"),
    parameter("ecn_least_rate", Ratio, "least rate of a source that heeds marks, over its link's"),
    parameter(
        "ecn_mark_share",
        Ratio,
        "share of a buffer that waits before a packet from where on packets are marked (ECN)",
    ),
    parameter("ecn_rate_cut", Ratio, "rate of a source after a mark over that before"),
    parameter("ecn_recovery", Ratio, "share of its pause that a source removes for a packet without a mark"),
    parameter(
        "gpu_chain_chunk",
        Size,
        "largest piece that a channel passes on at once in a broadcast or reduce of GPUs",
    ),
    parameter("gpu_channels", Count, "channels of a GPU collective side by side"),
    parameter("gpu_chunk", Size, "largest piece that a channel of a GPU collective passes on at once"),
    parameter("gpu_collnet_far_time", Time, "a step of CollNet through the network's switches and back, of few bytes"),
    parameter(
        "gpu_collnet_gather_share",
        Ratio,
        "share of the links' rate that NCCL's model gives CollNet for allgather and reduce-scatter",
    ),
    parameter("gpu_collnet_near_time", Time, "a step of CollNet within a scale-up domain, of few bytes"),
    parameter("gpu_collnet_peer_time", Time, "what such a step takes longer for each of the other GPUs of the domain"),
    parameter("gpu_collnet_share", Ratio, "share of the links' rate that NCCL's model gives CollNet for allreduce"),
    parameter("gpu_copy_rate", Rate, "rate at which a channel of a GPU collective passes on what it received"),
    parameter(
        "gpu_far_peer_channels",
        Count,
        "most channels of a message between GPUs where any are of another domain",
    ),
    parameter("gpu_host_size", Count, "GPUs of one host (an operating system), where several share a scale-up domain"),
    parameter("gpu_launch_least_time", Time, "least time from the end of a GPU's kernel to the first step of the next"),
    parameter("gpu_launch_time", Time, "from the call of a GPU collective with Simple to its kernel's first step"),
    parameter("gpu_ll128_channel_min", Size, "bytes of a GPU collective from which on LL128 takes another channel"),
    parameter("gpu_ll128_chunk", Size, "largest piece of data that a channel passes on at once with LL128"),
    parameter("gpu_ll128_line", Size, "data that rings and chains within a scale-up domain pass on at once with LL128"),
    parameter(
        "gpu_ll_channel_min",
        Size,
        "bytes of a GPU collective from which on LL takes another channel; in rings, of each rank",
    ),
    parameter("gpu_ll_channel_rate", Rate, "most data that one channel carries with LL"),
    parameter("gpu_ll_chunk", Size, "largest piece of data that a channel passes on at once with LL"),
    parameter("gpu_ll_hosts_rate", Rate, "most bus bandwidth of all channels with LL, among three domains or more"),
    parameter("gpu_ll_line", Size, "data that rings and chains within a scale-up domain pass on at once with LL"),
    parameter("gpu_ll_rate", Rate, "most bus bandwidth of all channels with LL, within a scale-up domain"),
    parameter("gpu_ll_two_hosts_rate", Rate, "most bus bandwidth of all channels with LL, between two domains"),
    parameter("gpu_nvls_far_time", Time, "a step of NVLS through the network's switches and back, of few bytes"),
    parameter("gpu_nvls_tree_far_time", Time, "a step of NVLS trees between domains, of few bytes"),
    parameter("gpu_pair_ll_max", Size, "bytes, for each channel of a pair of GPUs, up to which its messages go by LL"),
    parameter("gpu_peer_channels", Count, "most channels of a message from one GPU to another of its domain"),
    parameter(
        "gpu_post_time",
        Time,
        "time for which a proxy works to hand over a piece, a part of a step between domains",
    ),
    parameter("gpu_reduce_rate", Rate, "rate at which a channel of a GPU collective combines what it received"),
    parameter("gpu_ring_ll128_far_time", Time, "a step of a ring with LL128 between scale-up domains, of few bytes"),
    parameter("gpu_ring_ll128_launch_time", Time, "from the call of a ring with LL128 to its kernel's first step"),
    parameter("gpu_ring_ll128_near_time", Time, "a step of a ring with LL128 within a scale-up domain, of few bytes"),
    parameter("gpu_ring_ll128_rate", Rate, "most bus bandwidth of a channel of a ring with LL128"),
    parameter("gpu_ring_ll128_share", Ratio, "share of the links' rate that NCCL's model gives rings with LL128"),
    parameter("gpu_ring_ll_far_time", Time, "a step of a ring with LL between scale-up domains, of few bytes"),
    parameter("gpu_ring_ll_launch_time", Time, "from the call of a ring with LL to its kernel's first step"),
    parameter("gpu_ring_ll_near_time", Time, "a step of a ring with LL within a scale-up domain, of few bytes"),
    parameter(
        "gpu_ring_plateau",
        Ratio,
        "factor on the steps of rings between domains with Simple in NCCL's model, once they carry data",
    ),
    parameter("gpu_ring_plateau_block", Size, "bytes of each channel and rank from which on gpu_ring_plateau counts"),
    parameter("gpu_ring_simple_far_time", Time, "a step of a ring with Simple between scale-up domains, of few bytes"),
    parameter("gpu_ring_simple_near_time", Time, "a step of a ring with Simple within a scale-up domain, of few bytes"),
    parameter("gpu_simple_channel_min", Size, "bytes of a GPU collective from which on Simple takes another channel"),
    parameter("gpu_simple_posts", Count, "posts of a proxy for each piece with Simple"),
    parameter("gpu_slices", Count, "pieces of a ring's block, so that one is combined while the next is under way"),
    parameter("gpu_switch_chunk", Size, "largest piece of a channel that the scale-up switch combines at once"),
    parameter("gpu_switch_launch_time", Time, "from a call whose data the scale-up switch combines to its first step"),
    parameter("gpu_switch_reduces", Count, "1 if the scale-up switch combines and copies data, 0 if GPUs do"),
    parameter(
        "gpu_switch_share",
        Ratio,
        "share of its links' payload rate at which the scale-up switch combines and copies",
    ),
    parameter(
        "gpu_tree_hosts_rate",
        Rate,
        "most that NCCL's model gives a channel of trees with Simple, among three domains or more",
    ),
    parameter("gpu_tree_ll128_far_time", Time, "a step of a tree with LL128 between scale-up domains, of few bytes"),
    parameter(
        "gpu_tree_ll128_host_share",
        Ratio,
        "rate of trees with LL128 over that with Simple in NCCL's model, within a scale-up domain",
    ),
    parameter(
        "gpu_tree_ll128_hosts_rate",
        Rate,
        "most that NCCL's model gives a channel of trees with LL128, among three domains or more",
    ),
    parameter("gpu_tree_ll128_launch_time", Time, "from the call of a tree with LL128 to its kernel's first step"),
    parameter("gpu_tree_ll128_near_time", Time, "a step of a tree with LL128 within a scale-up domain, of few bytes"),
    parameter(
        "gpu_tree_ll128_rate",
        Rate,
        "most that NCCL's model gives a channel of trees with LL128, within a scale-up domain",
    ),
    parameter(
        "gpu_tree_ll128_share",
        Ratio,
        "rate of trees with LL128 over that with Simple in NCCL's model, between domains",
    ),
    parameter(
        "gpu_tree_ll128_two_hosts_rate",
        Rate,
        "most that NCCL's model gives a channel of trees with LL128, between two domains",
    ),
    parameter("gpu_tree_ll_far_time", Time, "a step of a tree with LL between scale-up domains, of few bytes"),
    parameter("gpu_tree_ll_launch_time", Time, "from the call of a tree with LL to its kernel's first step"),
    parameter("gpu_tree_ll_near_time", Time, "a step of a tree with LL within a scale-up domain, of few bytes"),
    parameter("gpu_tree_ll_share", Ratio, "rate of trees with LL over that with Simple in NCCL's model"),
    parameter(
        "gpu_tree_rate",
        Rate,
        "most that NCCL's model gives a channel of trees with Simple, within a scale-up domain",
    ),
    parameter("gpu_tree_share", Ratio, "share of the links' rate that NCCL's model gives trees"),
    parameter("gpu_tree_simple_far_time", Time, "a step of a tree with Simple between scale-up domains, of few bytes"),
    parameter("gpu_tree_simple_near_time", Time, "a step of a tree with Simple within a scale-up domain, of few bytes"),
    parameter(
        "gpu_tree_two_hosts_rate",
        Rate,
        "most that NCCL's model gives a channel of trees with Simple, between two domains",
    ),
    parameter("host_overhead_recv", Time, "processor time to receive a short message (LogP o_r)"),
    parameter("host_overhead_send", Time, "processor time to send a short message (LogP o_s)"),
    parameter("host_processors", Count, "processors per node"),
    parameter("interrupt_time", Time, "time from the adapter's interrupt to the handler's first instruction"),
    parameter("l1_line_time", Time, "time to read or write a line of the first-level cache"),
    parameter("l1_size", Size, "first-level data cache"),
    parameter("l1_ways", Count, "lines of a set of the first-level data cache"),
    parameter("l2_line_time", Time, "time to read or write a line of the second-level cache"),
    parameter("l2_size", Size, "second-level cache"),
    parameter("l2_ways", Count, "lines of a set of the second-level cache"),
    parameter("l3_hashes", Count, "1 (or not stated) if all bits of an address find a set of it, 0 if the low ones do"),
    parameter("l3_line_time", Time, "time to read or write a line of the third-level cache"),
    parameter("l3_size", Size, "third-level cache: the share that one core finds"),
    parameter("l3_ways", Count, "lines of a set of the third-level cache"),
    parameter("loggp_gap", Time, "least time between the starts of two short messages (LogGP g)"),
    parameter("loggp_gap_per_byte", TimePerByte, "time per byte of a long message (LogGP G)"),
    parameter("loggp_latency", Time, "time of a short message beyond both processors' overheads (LogGP L)"),
    parameter("loggp_overhead", Time, "processor time to send, and to receive, a short message (LogGP o)"),
    parameter(
        "loggp_processor_share",
        Ratio,
        "share of a long message's time for which processors move it themselves (1: shared memory, 0: an adapter does)",
    ),
    parameter("map_time", Time, "fixed time to map a remote segment"),
    parameter("map_time_per_byte", TimePerByte, "time to map a remote segment, per byte"),
    parameter(
        "memory_allocate",
        Count,
        "1 if a store that misses fetches its line first, 0 if it waits in a write buffer",
    ),
    parameter("memory_banks", Count, "banks of memory, each with an open row"),
    parameter("memory_line", Size, "cache line: what memory moves at a time"),
    parameter("memory_line_time", Time, "time that a line takes of the memory's data path when it is read"),
    parameter("memory_misses", Count, "lines under way between processor and memory at a time"),
    parameter("memory_open_time", Time, "from a request at the memory to its first data, the row being open"),
    parameter(
        "memory_pairs",
        Count,
        "1 if a line that comes from memory brings the other one of its pair into the last cache, 0 if not",
    ),
    parameter(
        "memory_path_time",
        Time,
        "what lies between processor and memory of a request's latency, there and back",
    ),
    parameter("memory_rate", Rate, "peak rate of the host's memory"),
    parameter(
        "memory_read_ahead_time",
        Time,
        "what a line takes instead of the memory's time where the one before it made it come",
    ),
    parameter("memory_requests", Count, "requests that the memory controller works on at a time"),
    parameter("memory_row", Size, "bytes of the row that a bank of memory holds open"),
    parameter("memory_row_time", Time, "time to close a row and open another"),
    parameter(
        "memory_stream_time",
        Time,
        "time of a line at memory, read or written, where words share lines (missing: its own)",
    ),
    parameter(
        "memory_write_time",
        Time,
        "time that a line, or a part of one, takes of the memory's data path when it is written",
    ),
    parameter("message_gap", Time, "least time between short messages of one node (LogP g)"),
    parameter("message_queue", Count, "short messages that wait at a receiver before their sender must wait"),
    parameter("mpi_bandwidth", Rate, "asymptotic ping-pong bandwidth through MPI as the source prints it"),
    parameter("mpi_latency", Time, "half round trip of a short MPI message as the source prints it"),
    parameter(
        "multiply_add_clocks",
        Count,
        "clocks of a multiply-add of a long vector (daxpy) whose data are in a cache",
    ),
    parameter("nic_buffer", Size, "memory of the adapter for packets, each way"),
    parameter("nic_clock", Frequency, "clock of the adapter's processor"),
    parameter("nic_combine_clocks", Count, "clocks of the adapter's processor to combine two elements of 8 bytes"),
    parameter("nic_element_time", Time, "time of the adapter's processor per element of a strided deposit"),
    parameter("nic_receive_time", Time, "time of the adapter's processor per received packet"),
    parameter("nic_send_time", Time, "time of the adapter's processor per sent packet"),
    parameter("nic_thread_time", Time, "time of the adapter's processor for an event"),
    parameter("packet_data_min", Size, "smallest data field of a packet that carries a partial store"),
    parameter("packets_unacknowledged", Count, "packets of a message in the network without acknowledgement"),
    parameter("page_size", Size, "page of the adapter's address translation"),
    parameter("pfc_pause_share", Ratio, "share of a port's buffer from which on it pauses its link (PFC)"),
    parameter("pfc_resume_share", Ratio, "share of those bytes down to which a paused link stays so"),
    parameter("pinned_memory", Size, "user memory of a node that may be registered at a time"),
    parameter("pio_latency", Time, "one-way time of a remote store by the processor"),
    parameter("pio_read_latency", Time, "round trip of a remote load by the processor"),
    parameter(
        "program_copy_time_per_byte",
        TimePerByte,
        "time to move a byte between a program's data and its messages' buffers (NPB IS)",
    ),
    parameter("put_overhead_recv", Time, "processor time to see that a put has arrived"),
    parameter("put_overhead_send", Time, "processor time to post a put to remote memory"),
    parameter("queue_message_max", Size, "largest message of the adapter's queue"),
    parameter("register_time", Time, "fixed time to register (pin) a buffer"),
    parameter("register_time_per_byte", TimePerByte, "time to register (pin) a buffer, per byte"),
    parameter("remote_reads", Count, "remote loads that may be under way at a time (prefetch queue)"),
    parameter(
        "response_size",
        Size,
        "bytes of a response packet, where the packet's overhead does not count them already",
    ),
    parameter("retransmit_time", Time, "time after which a dropped or lost packet is sent again"),
    parameter("scatter_call_time", Time, "fixed time of a call that scatters words"),
    parameter("segment_size", Size, "payload of a packet where the network sets no limit"),
    parameter(
        "store_again_time",
        Time,
        "time to ask again for a line which stores had asked for ahead and which had to leave its set before its turn",
    ),
    parameter(
        "stores_ahead",
        Count,
        "lines that stores ask for before their turn; 0 if none had to be asked for again",
    ),
    parameter("stream_buffer_size", Size, "bytes of one stream buffer (write combining)"),
    parameter("stream_buffers", Count, "stream buffers of the adapter"),
    parameter("switch_buffer", Size, "input buffer of a switch port and virtual channel, net of the link's round trip"),
    parameter("switch_buffer_packets", Count, "the same in full packets, where switches count credits for them"),
    parameter("tcp_overhead", Time, "processor time of the TCP/IP stack per segment"),
    parameter("tcp_segment", Size, "payload of one TCP segment"),
    parameter(
        "tcp_segment_share",
        Ratio,
        "processor time of a segment after a message's first over that of a short message, where tcp_overhead is not stated",
    ),
    parameter("tlb_entries", Count, "pages whose translation the processor knows at a time"),
    parameter("tlb_miss_time", Time, "time to look up a page whose translation the processor does not know"),
    parameter("tlb_page", Size, "page of the processor's address translation"),
    parameter("tlb_ways", Count, "places for one page's translation: as many as entries where any will do"),
    parameter("translation_entries", Count, "address translations that the adapter keeps"),
    parameter("translation_miss_time", Time, "time to look up a page whose translation the adapter does not keep"),
    parameter("unregister_share", Ratio, "time to unregister a buffer over that to register it"),
    parameter(
        "update_clocks",
        Count,
        "clocks of a program's update of one word in no order, where update_time is not stated",
    ),
    parameter("update_time", Time, "time of a program's update of one word in no order (NPB IS)"),
    parameter("virtual_channels", Count, "virtual channels per link"),
    parameter(
        "write_buffers",
        Count,
        "stores that wait in processor and bridge for the host bus (write combining, posting)",
    ),
    parameter("write_burst", Size, "bytes that the processor's write combining puts into one bus burst"),
    parameter("write_issue_time", Time, "time of the processor to put one combined write on its bus"),
];

/// Parameters that no engine reads: they stand in the catalog for people and for `catalog show`.
pub const REPORTED_ONLY: &[&str] =
    &["copy_rate_strided", "dma_read_rate", "dma_write_rate", "memory_rate", "mpi_bandwidth", "queue_message_max"];

/// Parameters that are declared once for each size: a name here and the bytes behind it (`copy_time_of_4096`).
pub const PER_SIZE: &[Parameter] = &[
    parameter("copy_time_of_", Time, "time to copy a block of so many bytes in memory"),
    parameter("copy_time_beside_others_of_", Time, "the same while every processor copies"),
    parameter(
        "exchange_time_of_",
        Time,
        "time of an exchange in a row of them: a message of so many bytes each way at once",
    ),
    parameter(
        "gpu_tree_ll128_share_of_",
        Ratio,
        "share of trees' rate with LL128 in NCCL's model, from so many bytes on",
    ),
    parameter("gpu_tree_ll_share_of_", Ratio, "the same with LL"),
    parameter("gpu_tree_simple_share_of_", Ratio, "the same with Simple"),
    parameter("loggp_gap_of_", Time, "time between the starts of two messages of so many bytes (piecewise LogGP)"),
    parameter("loggp_time_of_", Time, "half round trip of a message of so many bytes (piecewise LogGP)"),
    parameter("row_time_of_", Time, "time of a message in a row of them, each sent and received by a blocking call"),
    parameter("self_time_of_", Time, "time of a rank's message of so many bytes to itself"),
];

/// The parameter called `name`.
pub fn parameter_named(name: &str) -> Option<&'static Parameter> {
    let sized = |parameter: &&Parameter| {
        name.strip_prefix(parameter.name).is_some_and(|bytes| {
            !bytes.is_empty() && bytes.len() <= 15 && bytes.bytes().all(|digit| digit.is_ascii_digit())
        })
    };
    let plain = PARAMETERS.iter().find(|parameter| parameter.name == name);
    plain.or_else(|| PER_SIZE.iter().find(sized))
}
