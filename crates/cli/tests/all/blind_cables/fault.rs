//! Faults of a network of cables, and the signatures that reveal them.

use hotlink_fabric::rng::SplitMix64;

/// Hosts: half of them on each of two switches.
pub const HOSTS: u32 = 8;
/// Cables between the two switches.
const CABLES: u32 = 2;
/// Milliseconds between two hosts of one switch, and of two.
const DELAY: [f64; 2] = [2.2, 3.4];

/// The kinds.
pub const KINDS: [&str; 9] =
    ["link", "direction", "slow-host", "errors", "switch-cable", "others", "all-links", "all-slow", "detour"];

/// One fault, or none.
#[derive(Clone, Debug)]
pub enum Fault {
    None,
    /// A host's link has a part of its rate.
    Link {
        host: u32,
        part: f64,
    },
    /// It has in one direction.
    Direction {
        host: u32,
        is_out: bool,
        part: f64,
    },
    /// Every packet waits this many milliseconds in a host.
    SlowHost {
        host: u32,
        wait: f64,
    },
    /// A host's link loses a share of the packets, both ways.
    Errors {
        host: u32,
        share: f64,
    },
    /// A cable between the switches has a part of its rate.
    SwitchCable {
        cable: u32,
        part: f64,
    },
    /// This many others fill a cable between the switches, both ways.
    Others {
        cable: u32,
        count: u32,
    },
    /// All links have a part of their rate.
    AllLinks {
        part: f64,
    },
    /// Every packet waits this many milliseconds in every host.
    AllSlow {
        wait: f64,
    },
    /// Packets that cross a cable between the switches take a longer path, of this many milliseconds more.
    Detour {
        cable: u32,
        wait: f64,
    },
}

/// One direction between two hosts.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub delay_ms: f64,
    pub loss: f64,
    pub mbits: f64,
}

/// A host's name.
pub fn name(host: u32) -> String {
    format!("node{:02}", host + 1)
}

/// The cable between the switches that packets of two hosts cross.
fn cable(a: u32, b: u32) -> Option<u32> {
    ((a < HOSTS / 2) != (b < HOSTS / 2)).then_some((a + b) % CABLES)
}

fn pick<T: Copy>(rng: &mut SplitMix64, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

impl Fault {
    /// A fault of this kind that one of the runs meets; `None` where none can.
    pub fn draw(kind: Option<&str>, runs: &[[u32; 2]], rng: &mut SplitMix64) -> Option<Fault> {
        let [from, to] = pick(rng, runs);
        let host = pick(rng, &[from, to]);
        let crossed: Vec<u32> = runs.iter().filter_map(|&[a, b]| cable(a, b)).collect();
        // Of four hosts none may lie on the other switch.
        let cable = *crossed.get(rng.below(crossed.len().max(1) as u64) as usize)?;
        let part = pick(rng, &[0.5, 0.25]);
        Some(match kind {
            None => Fault::None,
            Some("link") => Fault::Link { host, part },
            Some("direction") => {
                let is_out = rng.below(2) == 0;
                Fault::Direction { host: if is_out { from } else { to }, is_out, part }
            }
            Some("slow-host") => Fault::SlowHost { host, wait: pick(rng, &[12.0, 25.0]) },
            Some("errors") => Fault::Errors { host, share: pick(rng, &[0.03, 0.06]) },
            Some("switch-cable") => Fault::SwitchCable { cable, part },
            Some("others") => Fault::Others { cable, count: 1 + rng.below(3) as u32 },
            Some("all-links") => Fault::AllLinks { part },
            Some("all-slow") => Fault::AllSlow { wait: pick(rng, &[20.0, 40.0]) },
            Some("detour") => Fault::Detour { cable, wait: pick(rng, &[12.0, 25.0]) },
            Some(other) => panic!("{other}: no kind"),
        })
    }

    /// One direction between two hosts on links of a rate.
    pub fn way(&self, from: u32, to: u32, mbits: f64) -> Way {
        let cable = cable(from, to);
        let mut way = Way { delay_ms: DELAY[usize::from(cable.is_some())], loss: 0.0, mbits };
        let is_end = |host: &u32| [from, to].contains(host);
        match self {
            Fault::Link { host, part } if is_end(host) => way.mbits *= part,
            Fault::Direction { host, is_out, part } if *host == if *is_out { from } else { to } => way.mbits *= part,
            Fault::SlowHost { host, wait } if is_end(host) => way.delay_ms += wait,
            Fault::Errors { host, share } if is_end(host) => way.loss = *share,
            Fault::SwitchCable { cable: own, part } if cable == Some(*own) => way.mbits *= part,
            Fault::AllLinks { part } => way.mbits *= part,
            Fault::AllSlow { wait } => way.delay_ms += 2.0 * wait,
            Fault::Detour { cable: own, wait } if cable == Some(*own) => way.delay_ms += wait,
            _ => {}
        }
        way
    }

    /// Others on the cable between two hosts.
    pub fn others(&self, a: u32, b: u32) -> u32 {
        match self {
            Fault::Others { cable: own, count } if cable(a, b) == Some(*own) => *count,
            _ => 0,
        }
    }

    /// Whether this explanation is the true one: the cause, and the host or a pair that meets it where it is of one.
    pub fn is_cause(&self, signature: &str, subject: &str) -> bool {
        let words: Vec<&str> = subject.split([' ', ',']).filter(|word| word.starts_with("node")).collect();
        let names = |host: u32| words.contains(&name(host).as_str());
        let number = |word: &str| word.trim_start_matches("node").parse::<u32>().map(|number| number - 1);
        // Pairs are in twos.
        let crosses = |own: u32| {
            words.chunks(2).any(|pair| match pair {
                [a, b] => number(a).ok().zip(number(b).ok()).is_some_and(|(a, b)| cable(a, b) == Some(own)),
                _ => false,
            })
        };
        match self {
            Fault::None => false,
            Fault::Link { host, .. } => ["host-link", "either-link"].contains(&signature) && names(*host),
            Fault::Direction { host, .. } => ["host-direction", "pair-direction"].contains(&signature) && names(*host),
            Fault::SlowHost { host, .. } => ["host-slow", "either-slow"].contains(&signature) && names(*host),
            Fault::Errors { host, .. } => ["host-errors", "either-errors"].contains(&signature) && names(*host),
            Fault::SwitchCable { cable, .. } => signature == "switch-cable" && crosses(*cable),
            Fault::Others { cable, .. } => signature == "congestion" && crosses(*cable),
            Fault::AllLinks { .. } => signature == "link-rate",
            Fault::AllSlow { .. } => signature == "interrupts",
            Fault::Detour { cable, .. } => signature == "detour" && crosses(*cable),
        }
    }
}
