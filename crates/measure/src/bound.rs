//! The bound of a time on one machine: the larger of a hand-off of cache lines and a copy; none where neither is known.

use hotlink_bench::Record;

/// No message or operation takes less.
pub(crate) struct Bound {
    us: Option<f64>,
    resource: &'static str,
    is: &'static str,
}

impl Bound {
    /// Of steps and copies in microseconds, 0 where unknown; `is` says what it is.
    pub(crate) fn larger(steps_us: f64, copy_us: f64, is: &'static str) -> Bound {
        let (us, resource) =
            if copy_us > steps_us { (copy_us, "memory copy") } else { (steps_us, "cache-line hand-off") };
        let us = Some(us).filter(|us| *us > 0.0);
        let unknown = Bound { us, resource: "unknown", is: "no bound known" };
        if us.is_some() { Bound { us, resource, is } } else { unknown }
    }
    /// The record of a `latency_us` with the bound and its efficiency; null where there is none.
    pub(crate) fn add_to(&self, record: Record, latency_us: f64) -> Record {
        record
            .with("bound_latency_us", self.us)
            .with("efficiency", self.us.map(|us| us / latency_us))
            .with("limiting_resource", self.resource)
            .with("bound_is", self.is)
    }
    /// The bandwidth of `size` bytes in the bound's time.
    pub(crate) fn mbps(&self, size: u64) -> Option<f64> {
        self.us.map(|us| size as f64 / us)
    }
}

/// Of a message between two ranks.
pub(crate) const OF_A_MESSAGE: &str =
    "the larger of a cache line's hand-off between cores and both ranks copying the message";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_the_larger_or_none() {
        let of = |steps, copy| Bound::larger(steps, copy, OF_A_MESSAGE).add_to(Record::new(), 4.0);
        assert_eq!(
            (of(1.0, 2.0).number("efficiency"), of(2.0, 1.0).number("bound_latency_us")),
            (Some(0.5), Some(2.0))
        );
        let none = of(0.0, 0.0);
        assert!(none.number("efficiency").is_none() && none.text("bound_is") == Some("no bound known"));
        assert_eq!(Bound::larger(2.0, 1.0, "").mbps(8), Some(4.0));
    }
}
