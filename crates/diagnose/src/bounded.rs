//! The bound of each number, and how far apart hosts can lie.

use crate::series::Places;
use hotlink_bench::Record;
use hotlink_study::bound::measured::Bounds;
use hotlink_study::{Error, Source};

/// Sizes at which a machine of unknown size is tried for its greatest distance; the largest that can be built counts.
const SIZES: [u32; 3] = [1024, 128, 16];

/// The bounds of a fabric: of two ranks, which may lie anywhere, and of many.
pub struct Bounded {
    two: Bounds,
    many: Bounds,
    places: Places,
}

impl Bounded {
    /// Of a fabric with its nodes, where they are told. Two ranks on unknown hosts are taken for the nearest two, so that
    /// no pair can beat the bound.
    pub fn of(source: &Source, nodes: Option<u32>) -> Bounded {
        let two = Bounds::of(source.clone(), source.own_nodes());
        let many = Bounds::of(source.clone(), nodes.or(source.own_nodes()));
        Bounded { two, many, places: Places::of(source) }
    }

    /// The record with its bound. Between two hosts that a dump of the network names it is that of their own path.
    ///
    /// # Errors
    /// The fabric cannot be built for the record's ranks.
    pub fn add(&mut self, record: &Record, hosts: &[String]) -> Result<Record, Error> {
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
}

/// How many times the time of a short message between the nearest two hosts it may take between the farthest two: what the
/// places of unknown hosts may explain. 1 on a site's own network, where the path of each pair is known.
pub fn distance(source: &Source, nodes: Option<u32>) -> f64 {
    if source.own_nodes().is_some() {
        return 1.0;
    }
    let message =
        Record::new().with("benchmark", "pingpong").with("ranks", 2).with("size_B", 1).with("latency_us", 1.0);
    let us = |nodes: u32| Bounds::of(source.clone(), Some(nodes)).add(message.clone()).ok()?.number("bound_latency_us");
    let far = nodes.into_iter().chain(SIZES).find_map(us);
    far.zip(us(2)).map_or(1.0, |(far, near)| (far / near).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_leaves_are_farther_than_one() {
        let distance = distance(&Source::open("ib-ndr-fat-tree2").unwrap(), Some(96));
        assert!(distance > 1.2 && distance < 3.0, "{distance}");
    }
}
