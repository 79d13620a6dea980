//! The bound of each number, and how far apart hosts can lie.

use crate::series::Places;
use hotlink_bench::Record;
use hotlink_results::import::{Bus, is_collective};
use hotlink_study::bound::measured::Bounds;
use hotlink_study::options::Rates;
use hotlink_study::{Error, Source};

/// Sizes at which a machine of unknown size is tried for its greatest distance; the largest that can be built counts.
const SIZES: [u32; 3] = [1024, 128, 16];

/// Rates of a sound machine: those that others measured, where somebody did.
pub(crate) const RATES: Rates = Rates::Measured;

/// The bounds of a fabric: of two ranks, which may lie anywhere, of many, and of GPUs.
pub struct Bounded {
    fabric: String,
    own_nodes: Option<u32>,
    nodes: Option<u32>,
    two: Bounds,
    many: Bounds,
    bus: Bus,
    places: Places,
}

impl Bounded {
    /// Bounds of a fabric with its nodes, where they are stated. Two ranks on unknown hosts count as the nearest two,
    /// so that no pair can beat the bound.
    pub fn of(source: &Source, nodes: Option<u32>) -> Bounded {
        let two = Bounds::of(source.clone(), source.own_nodes());
        let many = Bounds::of(source.clone(), nodes.or(source.own_nodes()));
        let (fabric, own_nodes, bus) = (source.name().to_owned(), source.own_nodes(), Bus::of(source.clone(), RATES));
        Bounded { fabric, own_nodes, nodes, two, many, bus, places: Places::of(source) }
    }

    /// The record with its bound. Between two hosts that a dump of the network names it is that of their own path.
    ///
    /// # Errors
    /// The fabric cannot be built for the record's ranks.
    pub fn add(&mut self, record: &Record, hosts: &[String]) -> Result<Record, Error> {
        let mut record = record.clone();
        if record.text("fabric") == Some("unknown") {
            // Programs do not state it, and here it is named.
            record.set("fabric", self.fabric.as_str());
        }
        self.bounded(&record, hosts)
    }

    fn bounded(&mut self, record: &Record, hosts: &[String]) -> Result<Record, Error> {
        if record.number("bus_bandwidth_MBps").is_some() {
            return self.of_gpus(record.clone());
        }
        let is_collective = is_collective(record.text("benchmark").unwrap_or_default());
        if is_collective && record.number("ranks").is_none() {
            // One rank a host, where the hosts are known.
            return match u32::try_from(hosts.len()).ok().filter(|hosts| *hosts > 1).or(self.nodes) {
                Some(ranks) => self.many.add(record.clone().with("ranks", ranks)),
                None => Ok(record.clone().unbounded("the file does not tell the number of ranks: give --nodes")),
            };
        }
        if record.number("ranks").is_some_and(|ranks| ranks > 2.0) {
            return self.many.add(record.clone());
        }
        let place = |host: &String| self.places.node(host);
        let ends = match hosts {
            [a, b] => place(a).zip(place(b)).filter(|(a, b)| a != b),
            _ => None,
        };
        match ends {
            Some((a, b)) => self.two.add(record.clone().with("rank_a", a).with("rank_b", b)),
            None => self.two.add(record.clone()),
        }
    }

    /// What `import --fabric` says of a result of GPUs, unless it says so already.
    fn of_gpus(&mut self, record: Record) -> Result<Record, Error> {
        let is_bounded = record.text("fabric") == Some(&self.fabric) && record.number("efficiency").is_some();
        if is_bounded {
            return Ok(record);
        }
        let record = match (record.number("ranks"), self.nodes) {
            (None, Some(nodes)) => record.with("ranks", nodes),
            _ => record,
        };
        match (record.number("ranks"), self.own_nodes) {
            (Some(ranks), Some(own)) if ranks != f64::from(own) => {
                Ok(record.unbounded("the dump of the network does not say where these GPUs are"))
            }
            _ => self.bus.add(record),
        }
    }
}

/// By how many microseconds a short message between the farthest two hosts takes longer than between the nearest two.
/// The places of unknown hosts may explain that much. Zero on a site's own network, where the path of each pair is
/// known.
pub fn distance(source: &Source, nodes: Option<u32>) -> f64 {
    if source.own_nodes().is_some() {
        return 0.0;
    }
    let message =
        Record::new().with("benchmark", "pingpong").with("ranks", 2).with("size_B", 1).with("latency_us", 1.0);
    let us = |nodes: u32| Bounds::of(source.clone(), Some(nodes)).add(message.clone()).ok()?.number("bound_latency_us");
    let far = nodes.into_iter().chain(SIZES).find_map(us);
    far.zip(us(2)).map_or(0.0, |(far, near)| (far - near).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `import nccl-tests --fabric` has it.
    #[test]
    fn results_of_gpus_have_the_bounds_of_gpus() {
        let source = Source::open("hgx-h100-rail").unwrap();
        let mut bounded = Bounded::of(&source, None);
        let row = Record::new().with("benchmark", "allreduce").with("ranks", 8).with("size_B", 134_217_728);
        let row = row.with("latency_us", 490.0).with("bus_bandwidth_MBps", 479_950.0);
        let nvls = row.clone().with("algorithm", "nvls").with("protocol", "simple");
        let expected = Bus::of(source, RATES).add(nvls.clone()).unwrap();
        let found = bounded.add(&nvls, &[]).unwrap();
        assert_eq!(found, expected);
        assert!(found.number("efficiency") < Some(1.0), "{found:?}");
        // What a program's text does not state is what was measured here.
        let unknown = bounded.add(&row.clone().with("fabric", "unknown"), &[]).unwrap();
        assert_eq!(unknown.text("fabric"), Some("hgx-h100-rail"));
        // Bounds that the import gave stand, and only those of this fabric.
        let named = |fabric: &str| row.clone().with("fabric", fabric).with("efficiency", 0.25);
        assert_eq!(bounded.add(&named("hgx-h100-rail"), &[]).unwrap().number("efficiency"), Some(0.25));
        assert_ne!(bounded.add(&named("gpu-rail"), &[]).unwrap().number("efficiency"), Some(0.25));
    }

    #[test]
    fn a_collective_without_ranks_has_those_of_its_hosts_or_no_bound() {
        let mut bounded = Bounded::of(&Source::open("ib-ndr-fat-tree2").unwrap(), None);
        let row = Record::new().with("benchmark", "allreduce").with("size_B", 8).with("latency_us", 9.0);
        assert_eq!(bounded.add(&row, &[]).unwrap().number("efficiency"), None);
        let hosts = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(bounded.add(&row, &hosts).unwrap().number("nodes"), Some(3.0));
    }

    #[test]
    fn two_leaves_are_farther_than_one() {
        let distance = distance(&Source::open("ib-ndr-fat-tree2").unwrap(), Some(96));
        // Two more cables of 30 m and two more switches than within a leaf take between 0.2 us and 1 us.
        assert!(distance > 0.2 && distance < 1.0, "{distance}");
    }
}
