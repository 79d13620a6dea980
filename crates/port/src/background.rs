//! Background traffic, as `PATTERN:LOAD[:BYTES]`: one vocabulary for simulated networks and real processes.
//!
//! ```
//! use hotlink_port::background::BackgroundSpec;
//! let flood: BackgroundSpec = "uniform:1:64KiB".parse().unwrap();
//! assert_eq!((flood.load, flood.size), (1.0, 65536));
//! ```

use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Messages that a node keeps under way.
pub const WINDOW: u32 = 2;
/// Bytes of a message where none are asked for.
const SIZE: u64 = 4096;
/// Most bytes of a message.
const MOST: u64 = 1 << 24;
/// Messages in a row to one destination, of a bursty node.
pub const BURST: u32 = 16;
/// Share of a hot spot's messages that go to node 0, in percent.
const HOT_PERCENT: u32 = 10;

/// Which nodes send to which, and how evenly in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    /// Any node to any other.
    Uniform,
    /// Each node to one other, drawn once.
    Permutation,
    /// Uniform, but one message in ten goes to node 0.
    HotSpot,
    /// Uniform, 16 messages in a row to the same node, then a pause.
    Bursty,
    /// Each node to the next.
    Ring,
    /// Node i of the first half and node i + N/2 to each other; with N odd, the last one is idle.
    Pairs,
    /// Each node to all others in turn.
    AllToAll,
}

impl Pattern {
    const ALL: [(Pattern, &'static str); 7] = [
        (Pattern::Uniform, "uniform"),
        (Pattern::Permutation, "permutation"),
        (Pattern::HotSpot, "hotspot"),
        (Pattern::Bursty, "bursty"),
        (Pattern::Ring, "ring"),
        (Pattern::Pairs, "pairs"),
        (Pattern::AllToAll, "all-to-all"),
    ];

    /// Which nodes send how much to which, for the load count.
    pub fn traffic(self) -> Traffic {
        match self {
            Pattern::Uniform | Pattern::Bursty => Traffic::Uniform,
            Pattern::Permutation => Traffic::Random,
            Pattern::HotSpot => Traffic::HotSpot(HOT_PERCENT),
            Pattern::Ring => Traffic::Shift(1),
            Pattern::Pairs => Traffic::Bisection,
            Pattern::AllToAll => Traffic::AllToAll,
        }
    }
}

/// Background traffic as `PATTERN:LOAD[:BYTES]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackgroundSpec {
    /// Which nodes send to which.
    pub pattern: Pattern,
    /// What a node offers. In a simulation it is a share of what the load count allows under this pattern. Between real
    /// processes it is the mean share of [`WINDOW`] messages that the node has under way during each operation.
    pub load: f64,
    /// Bytes of a message.
    pub size: u64,
}

impl BackgroundSpec {
    /// The same between real processes: what each has under way during one operation after the other.
    pub fn turns(self, nodes: u32) -> Turns {
        let mut order: Vec<u32> = if self.pattern == Pattern::Permutation { (0..nodes).collect() } else { Vec::new() };
        SplitMix64::new(0).shuffle(&mut order);
        Turns { spec: self, nodes, order }
    }
}

/// Background traffic between real processes, operation by operation. Every process can compute every other's messages,
/// so receivers know what will come.
#[derive(Clone, Debug)]
pub struct Turns {
    spec: BackgroundSpec,
    nodes: u32,
    /// Of [`Pattern::Permutation`]: to whom each sends.
    order: Vec<u32>,
}

impl Turns {
    /// To whom `node` has messages under way during operation `turn`: at most [`WINDOW`].
    pub fn during(&self, turn: u64, node: u32) -> Vec<u32> {
        let window = u64::from(WINDOW);
        let random = |of: u64| SplitMix64::stream(of, u64::from(node));
        let load = self.spec.load;
        if self.spec.pattern == Pattern::Bursty {
            // A burst, and a pause so long that its share of the time is the load; not all nodes at once.
            let burst = u64::from(BURST) / window;
            let period = (burst as f64 / load).round() as u64;
            let at = turn + random(0).below(period);
            let to = other(node, self.nodes, &mut random(1 + at / period));
            return if at % period < burst {
                to.into_iter().cycle().take(WINDOW as usize).collect()
            } else {
                Vec::new()
            };
        }
        let slot = |slot: u64| {
            let count = turn * window + slot;
            let mut random = random(1 + count);
            let is_filled = random.below(1 << 32) < (load * (1u64 << 32) as f64) as u64;
            is_filled.then(|| self.destination(count, node, &mut random)).flatten()
        };
        (0..window).filter_map(slot).collect()
    }

    fn destination(&self, count: u64, node: u32, random: &mut SplitMix64) -> Option<u32> {
        let nodes = self.nodes;
        let to = match self.spec.pattern {
            Pattern::Uniform | Pattern::Bursty => return other(node, nodes, random),
            Pattern::HotSpot if node > 0 && random.below(100) < u64::from(HOT_PERCENT) => 0,
            Pattern::HotSpot => return other(node, nodes, random),
            Pattern::Permutation => self.order[node as usize],
            Pattern::Ring => (node + 1) % nodes,
            Pattern::Pairs if node >= nodes / 2 * 2 => node,
            Pattern::Pairs => (node + nodes / 2) % (nodes / 2 * 2),
            Pattern::AllToAll => (node + 1 + (count % u64::from((nodes - 1).max(1))) as u32) % nodes,
        };
        (to != node).then_some(to)
    }
}

/// Any node but `node`, if there is one.
fn other(node: u32, nodes: u32, random: &mut SplitMix64) -> Option<u32> {
    (nodes > 1).then(|| (node + 1 + random.below(u64::from(nodes) - 1) as u32) % nodes)
}

impl FromStr for BackgroundSpec {
    type Err = String;
    fn from_str(text: &str) -> Result<BackgroundSpec, String> {
        let wrong = |what: String| {
            let names: Vec<&str> = Pattern::ALL.iter().map(|(_, name)| *name).collect();
            let allowed = format!("one of {}, then a load from 0.001 to 1, as uniform:1.0", names.join(", "));
            let bytes = "the bytes of a message if not 4096, 1 to 16MiB, as uniform:1.0:64KiB";
            format!("`{text}` is no background traffic: {what}; allowed: {allowed}, and {bytes}")
        };
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let known = Pattern::ALL.into_iter().find(|(_, own)| *own == name);
        let (pattern, _) = known.ok_or_else(|| wrong(format!("`{name}` is no pattern")))?;
        let load = parts.next().ok_or_else(|| wrong("the load is missing".to_owned()))?;
        let in_range = load.parse().ok().filter(|load| (0.001..=1.0).contains(load));
        let load = in_range.ok_or_else(|| wrong(format!("`{load}` is no load from 0.001 to 1")))?;
        let Bytes(size) = parts.next().map_or(Ok(Bytes(SIZE)), str::parse).map_err(wrong)?;
        if !(1..=MOST).contains(&size) {
            return Err(wrong(format!("{size} B are not from 1 B to 16MiB")));
        }
        match parts.next() {
            None => Ok(BackgroundSpec { pattern, load, size }),
            Some(more) => Err(wrong(format!("`{more}` is one part too many"))),
        }
    }
}

impl fmt::Display for BackgroundSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Pattern::ALL.iter().find(|(pattern, _)| *pattern == self.pattern).map_or("", |(_, name)| name);
        write!(f, "{name}:{}", self.load)?;
        if self.size == SIZE { Ok(()) } else { write!(f, ":{}", self.size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_specification_reads_back_and_a_wrong_one_is_told() {
        for text in [
            "uniform:1",
            "permutation:0.5",
            "hotspot:0.25:64",
            "bursty:0.001",
            "ring:1:8",
            "pairs:1",
            "all-to-all:1:16777216",
        ] {
            assert_eq!(text.parse::<BackgroundSpec>().unwrap().to_string(), text);
        }
        assert_eq!("ring:1:64KiB".parse::<BackgroundSpec>().unwrap().to_string(), "ring:1:65536");
        for (text, what) in [
            ("", "`` is no pattern"),
            ("flood:1", "`flood` is no pattern"),
            ("64KiB", "`64KiB` is no pattern"),
            ("uniform", "load is missing"),
            ("uniform:0", "`0` is no load"),
            ("uniform:1.1", "`1.1` is no load"),
            ("uniform:NaN", "`NaN` is no load"),
            ("uniform:1:0", "0 B are not"),
            ("uniform:1:16777217", "16777217 B are not"),
            ("uniform:1:8:8", "one part too many"),
        ] {
            let error = text.parse::<BackgroundSpec>().unwrap_err();
            assert!(error.contains(what) && error.contains("allowed"), "{error}");
        }
        // One parser for every size: what an option says of a size, this says.
        for size in ["64KB", "1 MiB", "7", "64K", "x", "-1", "99999999999TiB"] {
            let own = format!("uniform:1:{size}").parse::<BackgroundSpec>();
            match size.parse::<Bytes>() {
                Ok(Bytes(size)) => assert_eq!(own.unwrap().size, size),
                Err(error) => assert!(own.unwrap_err().contains(&error), "{size}"),
            }
        }
    }

    #[test]
    fn real_processes_have_the_load_s_share_of_the_window_under_way() {
        const TURNS: u64 = 4000;
        for (name, load) in Pattern::ALL.map(|(_, name)| name).into_iter().flat_map(|name| [(name, 1.0), (name, 0.25)])
        {
            let spec: BackgroundSpec = format!("{name}:{load}").parse().unwrap();
            let turns = spec.turns(6);
            let sent = (0..TURNS).map(|turn| turns.during(turn, 4).len()).sum::<usize>() as f64;
            let share = sent / (TURNS * u64::from(WINDOW)) as f64;
            assert!((share / load - 1.0).abs() < 0.1, "{spec}: {share}");
        }
    }

    #[test]
    fn messages_go_where_the_pattern_says() {
        let to = |text: &str, node: u32, nodes: u32| {
            let turns = text.parse::<BackgroundSpec>().unwrap().turns(nodes);
            (0..1000).flat_map(|turn| turns.during(turn, node)).collect::<std::collections::BTreeSet<u32>>()
        };
        let set = |nodes: &[u32]| nodes.iter().copied().collect();
        assert_eq!((to("ring:1", 4, 5), to("pairs:1", 1, 5), to("pairs:1", 4, 5)), (set(&[0]), set(&[3]), set(&[])));
        assert_eq!((to("all-to-all:1", 1, 4), to("uniform:1", 1, 4)), (set(&[0, 2, 3]), set(&[0, 2, 3])));
        assert_eq!((to("hotspot:1", 0, 3), to("bursty:0.5", 0, 3)), (set(&[1, 2]), set(&[1, 2])));
        assert!(to("permutation:1", 0, 9).len() <= 1);
        // Nine nodes are four pairs, and one that is idle.
        let partners: Vec<_> = (0..9).map(|node| to("pairs:1", node, 9)).collect();
        assert_eq!(partners, [&[4][..], &[5], &[6], &[7], &[0], &[1], &[2], &[3], &[]].map(set));
    }

    #[test]
    fn a_hot_spot_gets_one_message_in_ten_beside_its_share_of_the_others() {
        const TURNS: u64 = 50_000;
        let turns = "hotspot:1".parse::<BackgroundSpec>().unwrap().turns(100);
        let sent: Vec<u32> = (0..TURNS).flat_map(|turn| turns.during(turn, 2)).collect();
        let hot = sent.iter().filter(|&&to| to == 0).count() as f64 / sent.len() as f64;
        // 0.005 is five standard deviations of 100,000 draws.
        assert!((hot - (0.1 + 0.9 / 99.0)).abs() < 0.005, "{hot}");
        // Node 0 itself sends as many as the others.
        assert!((0..1000).all(|turn| turns.during(turn, 0).len() == WINDOW as usize));
        assert_eq!(Pattern::HotSpot.traffic(), Traffic::HotSpot(10));
    }

    /// Bursts of 16 messages, two of them under way at a time, that take the load's share of the turns.
    #[test]
    fn a_burst_goes_to_one_node_and_nodes_burst_at_times_of_their_own() {
        let turns = "bursty:0.25".parse::<BackgroundSpec>().unwrap().turns(50);
        let mut starts = std::collections::BTreeSet::new();
        for node in 0..50 {
            let sent: Vec<Vec<u32>> = (0..320).map(|turn| turns.during(turn, node)).collect();
            let start = (0..32).find(|&turn| sent[turn].is_empty() && !sent[turn + 1].is_empty()).unwrap() + 1;
            starts.insert(start);
            let bursts: Vec<&[Vec<u32>]> = sent[start..start + 32 * 8].chunks(32).collect();
            for burst in &bursts {
                assert!(burst[..8].iter().all(|to| *to == [burst[0][0]; 2]) && burst[8..].iter().all(Vec::is_empty));
            }
            let to: std::collections::BTreeSet<u32> = bursts.iter().map(|burst| burst[0][0]).collect();
            assert!(to.len() > 3, "node {node}: {to:?}");
        }
        assert!(starts.len() > 15, "{starts:?}");
    }

    /// All to all: each node's messages follow each other round the others, in any turn.
    #[test]
    fn slots_count_on_from_turn_to_turn() {
        let turns = "all-to-all:1".parse::<BackgroundSpec>().unwrap().turns(6);
        let sent: Vec<u32> = (0..10).flat_map(|turn| turns.during(turn, 4)).collect();
        assert_eq!(sent, [5, 0, 1, 2, 3].repeat(4));
    }

    /// Every process works out what the others send: these draws are part of what a version promises.
    #[test]
    fn draws_stay_what_they_are() {
        let drawn = |text: &str| {
            let turns = text.parse::<BackgroundSpec>().unwrap().turns(6);
            (0..8).map(|turn| turns.during(turn, 4)).collect::<Vec<_>>()
        };
        assert_eq!(format!("{:?}", drawn("uniform:0.5")), "[[3], [3], [5], [], [3, 2], [2], [1, 3], []]");
        assert_eq!(format!("{:?}", drawn("bursty:0.5")), "[[], [], [2, 2], [2, 2], [2, 2], [2, 2], [2, 2], [2, 2]]");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_nobody_sends_to_himself(text in ".{0,24}", turn: u64, node in 0u32..9, more in 0u32..9) {
            let _ = text.parse::<BackgroundSpec>();
            for (pattern, _) in Pattern::ALL {
                let spec = BackgroundSpec { pattern, load: 0.5, size: 8 };
                let to = spec.turns(node + 1 + more).during(turn >> 4, node);
                prop_assert!(to.iter().all(|&to| to != node && to <= node + more), "{spec}: {to:?}");
            }
        }
    }
}
