//! The usual choices of the benchmarks, as every face offers them. Lists are in the notation of options.

/// The name of results that were given none.
pub const FABRIC: &str = "this-machine";
/// Seconds for each point.
pub const TIME_S: f64 = 0.5;
/// Blocks of a round. With twelve, the interval tolerates what the machine does for seconds; each costs a launch.
pub const BLOCKS: u32 = 12;
/// How much longer than a point's time a round is spread.
pub const SPREAD: f64 = 20.0;

/// Sizes of `pingpong`.
pub const PINGPONG_SIZES: &str = "8,64KiB,1MiB";
/// Sizes of `stream`.
pub const STREAM_SIZES: &str = "8,4KiB,64KiB,1MiB";
/// Sizes of `rate`.
pub const RATE_SIZES: &str = "8,64,512";
/// Ranks of `pairs`.
pub const PAIRS_RANKS: u32 = 4;
/// Sizes of `pairs`.
pub const PAIRS_SIZES: &str = "8,1MiB";
/// Times the median pair's time that make a pair of `pairs` slow.
pub const SLOW: f64 = 1.25;
/// Sizes of `semantics`.
pub const SEMANTICS_SIZES: &str = "64,4KiB,64KiB,1MiB";
/// Sizes of `saturation`.
pub const SATURATION_SIZES: &str = "1MiB";
/// Sizes of `deposit`.
pub const DEPOSIT_SIZES: &str = "1MiB";
/// Strides of `deposit`.
pub const DEPOSIT_STRIDES: &str = "1,2,8,64";
/// Bytes of a word of `deposit`.
pub const WORD: u64 = 8;
/// Sizes of `overlap`.
pub const OVERLAP_SIZES: &str = "64KiB,256KiB,1MiB";
/// Computation times of `overlap`, as shares of the message's own time.
pub const SHARES: &str = "0.25,0.5,1,1.5,2";
/// Sizes of `sockets`.
pub const SOCKETS_SIZES: &str = "8,1400,64KiB";
/// Sizes of `memory`.
pub const MEMORY_SIZES: &str = "4..64MiB..x4";
/// Strides of `memory`.
pub const MEMORY_STRIDES: &str = "1..64..x2";
/// Sizes of `registration`.
pub const REGISTRATION_SIZES: &str = "1MiB";
/// Sizes of `region`.
pub const REGION_SIZES: &str = "64KiB";
/// Sizes of collectives.
pub const COLLECTIVE_SIZES: &str = "8,64KiB";
/// Barriers of a run of `kernel`.
pub const ITERATIONS: u64 = 200;
