//! What no answer can beat: the least time or the most bandwidth, and the resource that sets it. Every bound of this
//! project is computed here and nowhere else. Engines and benchmarks supply what they know of a machine.
//!
//! [`load`] bounds what nodes send under a pattern, and [`flows`] the sum of flows with any shares. [`network`] bounds
//! messages and collectives between nodes, [`schedule`] operations in an order, and [`gpu`] the collectives of GPU
//! clusters. [`local`] bounds what ranks of one machine do.

mod cut;
pub mod flows;
pub mod gpu;
pub mod load;
pub mod local;
pub mod network;
pub mod schedule;

pub use load::{Bounds, Limited, RoleBound};

/// What sets the time of a message whose bytes do not: the latency of its path, and the overheads of its ends.
pub const LATENCY: &str = "latency and overheads";
/// What sets the rate of a node that has several paths into the network.
pub const DEVICES: &str = "a node's own devices";
/// What memory sets, and what the caches that keep one line between two cores.
pub const COPY: &str = "memory copy";
/// See [`COPY`].
pub const HAND_OFF: &str = "cache-line hand-off";
/// What the caches set where the lines of a message must change cores.
pub const LINES: &str = "cache lines between cores";
/// What the operating system sets where it copies from process to process.
pub const SYSTEM: &str = "system's copy";

/// What sets a bound within a machine, for readers who meet it for the first time; other resources by their names.
pub fn in_plain_words(resource: &str) -> &str {
    match resource {
        HAND_OFF => "a cache line needs so long from one core to the other",
        COPY => "the cores together copy no faster, each in its own caches",
        LINES => "the message must change cores; cache lines do so no faster",
        SYSTEM => "the operating system copies no faster between processes",
        other => other,
    }
}

/// The least that something can take, or the most that it can carry; what sets that, and how it comes about.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The least time in microseconds; not a number where none is known.
    pub latency_us: f64,
    /// The most, in MB/s (10^6 bytes per second); infinite where nothing limits.
    pub mbps: f64,
    /// The resource that sets it.
    pub resource: String,
    /// How it comes about.
    pub is: &'static str,
}

impl Bound {
    /// The bound of a time alone.
    pub fn of_time(latency_us: f64, resource: impl Into<String>, is: &'static str) -> Bound {
        Bound { latency_us, mbps: f64::INFINITY, resource: resource.into(), is }
    }

    /// The bound of a rate alone: without a size no time is known.
    pub fn of_rate(rate: Peak, is: &'static str) -> Bound {
        Bound { latency_us: f64::NAN, mbps: rate.mbps, resource: rate.resource, is }
    }

    /// Of `size` bytes at a rate.
    pub fn of_bytes(size: f64, rate: Peak, is: &'static str) -> Bound {
        Bound { latency_us: size / rate.mbps, ..Bound::of_rate(rate, is) }
    }

    /// The same after this many microseconds.
    #[must_use]
    pub fn after(self, us: f64) -> Bound {
        Bound { latency_us: self.latency_us + us, ..self }
    }

    /// None is known.
    pub fn unknown() -> Bound {
        Bound::of_time(f64::NAN, "unknown", "no bound known")
    }

    /// `size` bytes in the least time: MB/s; not a number where no time is known.
    pub fn in_time(&self, size: u64) -> f64 {
        size as f64 / self.latency_us
    }

    /// The share of the bound that a time reached; 1 for what took none.
    pub fn share_of_time(&self, latency_us: f64) -> f64 {
        if latency_us > 0.0 { self.latency_us / latency_us } else { 1.0 }
    }

    /// The share of the bound that a rate reached; not a number where no rate is known.
    pub fn share_of_rate(&self, mbps: f64) -> f64 {
        if self.mbps.is_finite() { mbps / self.mbps } else { f64::NAN }
    }
}

/// What a resource carries at its best.
#[derive(Clone, Debug, PartialEq)]
pub struct Peak {
    /// MB/s (10^6 bytes per second).
    pub mbps: f64,
    /// The resource.
    pub resource: String,
}

impl Peak {
    /// The peak of a resource.
    pub fn new(mbps: f64, resource: impl Into<String>) -> Peak {
        Peak { mbps, resource: resource.into() }
    }

    /// The peak of a rate in bytes per second.
    pub fn of_bytes_per_s(rate: f64, resource: impl Into<String>) -> Peak {
        Peak::new(rate / 1e6, resource)
    }

    /// The slower of two, the first where they are equal.
    #[must_use]
    pub fn at_most(self, other: Peak) -> Peak {
        if other.mbps < self.mbps { other } else { self }
    }
}

/// The slowest of all; `None` of none.
pub fn slowest(rates: impl IntoIterator<Item = Peak>) -> Option<Peak> {
    rates.into_iter().reduce(Peak::at_most)
}
