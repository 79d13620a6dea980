//! Rate of a link from its width and speed.

use hotlink_fabric::units::Rate;

/// A speed of InfiniBand: the rate of each lane after its line code.
#[derive(Debug, PartialEq)]
pub struct Speed {
    /// Its name.
    pub name: &'static str,
    /// How tools spell it by number: signalling rate of a lane in Gbit/s, rounded or not.
    spellings: &'static [&'static str],
    /// Data rate of a lane in Gbit/s: signalling rate times line code.
    pub lane_gbps: f64,
}

/// Where the rates come from.
pub const SOURCE: &str =
    "InfiniBand architecture: signalling rate of a lane times its line code (8b/10b to QDR, 64b/66b from FDR10)";

/// Every speed, the slowest first.
pub const SPEEDS: &[Speed] = &[
    Speed { name: "SDR", spellings: &["2.5"], lane_gbps: 2.5 * 8.0 / 10.0 },
    Speed { name: "DDR", spellings: &["5", "5.0"], lane_gbps: 5.0 * 8.0 / 10.0 },
    Speed { name: "QDR", spellings: &["10", "10.0"], lane_gbps: 10.0 * 8.0 / 10.0 },
    Speed { name: "FDR10", spellings: &["10.3125"], lane_gbps: 10.3125 * 64.0 / 66.0 },
    Speed { name: "FDR", spellings: &["14", "14.0625"], lane_gbps: 14.0625 * 64.0 / 66.0 },
    Speed { name: "EDR", spellings: &["25", "25.78125"], lane_gbps: 25.781_25 * 64.0 / 66.0 },
    Speed { name: "HDR", spellings: &["50", "53.125"], lane_gbps: 50.0 },
    Speed { name: "NDR", spellings: &["100", "106.25"], lane_gbps: 100.0 },
    Speed { name: "XDR", spellings: &["200", "212.5"], lane_gbps: 200.0 },
];

/// The trained rate of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Lanes.
    pub width: u8,
    /// Speed of a lane.
    pub speed: &'static Speed,
}

impl Link {
    /// From its words, such as `4x` (or `4X`) and `HDR` (or `53.125`); `None` where a port did not say.
    pub fn of(width: &str, speed: &str) -> Option<Link> {
        let width = width.strip_suffix(['x', 'X'])?.parse().ok().filter(|width| [1, 2, 4, 8, 12].contains(width))?;
        let speed = SPEEDS.iter().find(|known| known.name == speed || known.spellings.contains(&speed))?;
        Some(Link { width, speed })
    }

    /// From one word, such as `4xHDR`.
    pub fn joined(word: &str) -> Option<Link> {
        let (width, speed) = word.split_at(word.find(['x', 'X'])? + 1);
        Link::of(width, speed)
    }

    /// Data rate of one direction.
    pub fn rate(self) -> Rate {
        Rate((self.speed.lane_gbps * f64::from(self.width) * 1e9 / 8.0).round() as u64)
    }

    /// As tools spell it: `4xHDR`.
    pub fn name(self) -> String {
        format!("{}x{}", self.width, self.speed.name)
    }
}
