//! Slim Fly (Besta, Hoefler, SC 2014): switches joined as a graph of McKay, Miller and Širáň. Any two are at most two
//! links apart, with nearly as many switches as that allows (deployed: Blach et al., NSDI 2024).
//!
//! With q = 4w + δ a power of a prime, δ = 1, 0 or -1, there are 2q² switches (0, x, y) and (1, m, c). All of these
//! are elements of the field of q. Switches `(0, x, y)` and `(0, x, y')` are joined if y - y' is in the set X; `(1, m, c)`
//! and `(1, m, c')` if c - c' is in X'. Switches (0, x, y) and (1, m, c) are joined if y = mx + c.
//!
//! Each has k' = (3q - δ) / 2 links, and carries k' / 2 nodes, rounded up if it has the ports. Fewer nodes spread evenly
//! over all switches.

use super::{PORTS, Registered, Shape, Topology, TopologySpec, add_tier, check_channels, check_range, invalid, spread};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::sheet::Table;
use crate::terms::{Role, RoutingSpec};

/// The registry's entry.
pub(crate) const ENTRY: Registered =
    Registered { kind: "slim-fly", meaning: "switches at most two links apart, with least switches", read };

/// Ports of its switches: the smallest Slim Fly needs ten.
const RADIX: std::ops::RangeInclusive<u32> = 10..=*PORTS.end();

/// The smallest Slim Fly of switches with `radix` ports that holds the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlimFly {
    /// Ports of a switch.
    pub radix: u32,
}

fn read(table: &Table<'_>) -> Option<TopologySpec> {
    Some(TopologySpec::new(SlimFly { radix: table.count("radix", RADIX)? }))
}

/// The field of `q` elements, q a power of a prime p. An element is a polynomial over the integers modulo p. It is
/// written as a number, whose digits to base p are the coefficients.
struct Field {
    prime: u32,
    q: u32,
    /// The powers of a generator: all elements but 0. The first is 1.
    powers: Vec<u32>,
    /// Which power an element is; of 0, nothing that counts.
    exponents: Vec<u32>,
}

impl Field {
    /// Of `q` elements, the power of a prime.
    fn of(q: u32) -> Field {
        let prime = (2..=q).find(|d| q.is_multiple_of(*d)).unwrap_or(q);
        // What the power of x just above the last digit is: with some, x is a generator.
        let powers = (1..q).map(|above| powers_of_x(prime, q, above)).find(|powers| powers.len() as u32 == q - 1);
        let powers = powers.expect("every finite field has a generator");
        let mut exponents = vec![0; q as usize];
        (0..).zip(&powers).for_each(|(exponent, &power)| exponents[power as usize] = exponent);
        Field { prime, q, powers, exponents }
    }
    fn add(&self, a: u32, b: u32) -> u32 {
        digitwise(self.prime, self.q, a, b, |a, b| a + b)
    }
    fn subtract(&self, a: u32, b: u32) -> u32 {
        digitwise(self.prime, self.q, a, b, |a, b| a + self.prime - b)
    }
    fn multiply(&self, a: u32, b: u32) -> u32 {
        match (a, b) {
            (0, _) | (_, 0) => 0,
            _ => self.powers[((self.exponents[a as usize] + self.exponents[b as usize]) % (self.q - 1)) as usize],
        }
    }
}

/// The powers of x, from 1 until they come again, where the power of x above the last digit is `above`. None where 1 never
/// comes again.
fn powers_of_x(prime: u32, q: u32, above: u32) -> Vec<u32> {
    let mut powers = vec![1];
    loop {
        let last = powers[powers.len() - 1];
        let (top, rest) = (last / (q / prime), last % (q / prime));
        let next = (0..top).fold(rest * prime, |sum, _| digitwise(prime, q, sum, above, |a, b| a + b));
        match next {
            1 => return powers,
            _ if powers.len() as u32 >= q => return Vec::new(),
            _ => powers.push(next),
        }
    }
}

/// Each digit of two numbers below `q` to the base `prime`, put together and taken modulo it.
fn digitwise(prime: u32, q: u32, a: u32, b: u32, with: impl Fn(u32, u32) -> u32) -> u32 {
    let places = std::iter::successors(Some(1), |place| Some(place * prime)).take_while(|&place| place < q);
    places.map(|place| with(a / place % prime, b / place % prime) % prime * place).sum()
}

/// A Slim Fly of one power of a prime, of switches with so many ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Of {
    q: u32,
    radix: u32,
}

impl Of {
    /// Those that such switches make, from the smallest on.
    fn all(radix: u32) -> impl Iterator<Item = Of> {
        let is_power = |&q: &u32| {
            let prime = (2..=q).find(|d| q.is_multiple_of(*d)).unwrap_or(q);
            std::iter::successors(Some(q), |left| left.is_multiple_of(prime).then_some(left / prime)).last() == Some(1)
        };
        let all = (5..=radix).filter(is_power).map(move |q| Of { q, radix });
        all.take_while(move |of| of.links() + of.links() / 2 <= radix && of.q <= MOST_Q)
    }
    /// Links of a switch to others.
    fn links(self) -> u32 {
        (3 * self.q + u32::from(self.q % 4 == 3)) / 2
    }
    fn nodes_per_switch(self) -> u32 {
        self.links().div_ceil(2).min(self.radix - self.links())
    }
    fn switches(self) -> u32 {
        2 * self.q * self.q
    }
    fn nodes(self) -> u32 {
        self.switches() * self.nodes_per_switch()
    }
    /// The sets X and X', as whether a difference is in them.
    fn sets(self, field: &Field) -> [Vec<bool>; 2] {
        let q = self.q;
        let mut sets = [vec![false; q as usize], vec![false; q as usize]];
        let middle = (q - 1) / 2;
        for (exponent, &power) in (0..).zip(&field.powers) {
            let even = exponent % 2 == 0;
            // Both sets hold with x also -x, the power in the middle. Where that is no square (δ = -1), they change there
            // between even and odd powers; 1 and -1 are in both. In a power of two x is -x, and 1 is in both.
            let is_in = match q % 4 {
                1 => [even, !even],
                0 => [even, !even || exponent == 0],
                _ => [
                    if even { exponent < middle } else { exponent >= middle },
                    if even { exponent > middle || exponent == 0 } else { exponent <= middle },
                ],
            };
            (0..2).filter(|&set| is_in[set]).for_each(|set| sets[set][power as usize] = true);
        }
        sets
    }
}

/// The largest that is tried: it makes more nodes than a fabric may have.
const MOST_Q: u32 = 167;

impl Topology for SlimFly {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }

    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        check_range("radix", self.radix, RADIX)?;
        let radix = self.radix;
        let Some(of) = Of::all(radix).find(|of| of.nodes() >= nodes) else {
            let most = Of::all(radix).map(Of::nodes).last().unwrap_or(0);
            return Err(invalid(format!("{nodes} nodes: switches of {radix} ports make a Slim Fly of at most {most}")));
        };
        check_channels(2 * u64::from(nodes) + u64::from(of.switches()) * u64::from(of.links()))?;
        let (q, field) = (of.q, Field::of(of.q));
        let [x_set, m_set] = of.sets(&field);
        let mut b = Builder::new(nodes);
        let mut tiers = Vec::new();
        let first = add_tier(&mut b, &mut tiers, "switch", of.switches(), 0, Role::Switch).0;
        for (node, switch) in spread(nodes, of.switches()) {
            b.link(node, Vertex(first + switch), Role::Link);
        }
        let at = |side: u32, row: u32, place: u32| Vertex(first + (side * q + row) * q + place);
        for (side, set) in [(0, &x_set), (1, &m_set)] {
            for row in 0..q {
                for (low, high) in (0..q).flat_map(|low| (low + 1..q).map(move |high| (low, high))) {
                    if set[field.subtract(high, low) as usize] {
                        b.link(at(side, row, low), at(side, row, high), Role::SwitchLink);
                    }
                }
            }
        }
        for (x, m) in (0..q).flat_map(|x| (0..q).map(move |m| (x, m))) {
            let product = field.multiply(m, x);
            (0..q).for_each(|c| b.link(at(0, x, field.add(product, c)), at(1, m, c), Role::SwitchLink));
        }
        let mut network = b.build();
        network.divide(|switch| switch.0 - first);
        Ok((network, Shape::Tiers(tiers)))
    }

    fn routings(&self) -> &'static [RoutingSpec] {
        use RoutingSpec::{ShortestEcmp, ShortestLanes, ShortestSingle, ShortestValiant, UpDown};
        &[ShortestLanes, ShortestValiant, UpDown, ShortestEcmp, ShortestSingle]
    }

    fn has_circles(&self) -> bool {
        true
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("radix", self.radix.to_string())]
    }
}
