//! Dimension-order routing on a cube, by formula: lowest dimension first, the shorter way round, a tie split evenly.
//!
//! A ring of routers deadlocks without virtual channels. Here a packet uses virtual channel 0 while the ring's
//! wrap-around still lies ahead of it in this dimension. From then on it uses 1 (Dally and Seitz 1987). Its position
//! and destination decide between the two. SCI rings need none: their access protocol (bypass FIFO, echo, retry) keeps
//! packets moving.

use super::{Hop, State};
use crate::network::{Network, Vertex};
use crate::topology::Cube;
use crate::topology::cube::MAX_DIMENSIONS;

/// The path to one router of a cube.
#[derive(Debug)]
pub struct CubeToward<'a> {
    cube: &'a Cube,
    network: &'a Network,
    target: [u32; MAX_DIMENSIONS as usize],
}

impl<'a> CubeToward<'a> {
    /// The path to the router (or B-Link) `home`.
    pub fn new(cube: &'a Cube, network: &'a Network, home: Vertex) -> CubeToward<'a> {
        let mut target = [0; MAX_DIMENSIONS as usize];
        cube.coordinates(cube.locate(home).0, &mut target);
        CubeToward { cube, network, target }
    }

    /// Steps forward along dimension `d` from coordinate `x`, and back.
    fn steps(&self, d: usize, x: u32) -> (u32, u32) {
        let r = self.cube.extents[d];
        let forward = if self.target[d] >= x { self.target[d] - x } else { self.target[d] + r - x };
        (forward, (r - forward) % r)
    }

    fn along(&self, d: usize, x: u32) -> u32 {
        let (forward, back) = self.steps(d, x);
        if self.cube.bidirectional { forward.min(back) } else { forward }
    }

    /// Channels still to cross.
    pub fn distance(&self, at: Vertex) -> u32 {
        let (router, stop) = self.cube.locate(at);
        let mut position = [0; MAX_DIMENSIONS as usize];
        self.cube.coordinates(router, &mut position);
        let turns = if self.cube.b_link { 2 } else { 0 };
        let mut sum = 0;
        for (d, &x) in position[..self.cube.extents.len()].iter().enumerate() {
            let along = self.along(d, x);
            sum += match stop {
                Some(own) if own as usize == d => along + 1,
                _ if along > 0 => along + turns,
                _ => 0,
            };
        }
        sum
    }

    /// Paths on from a router, B-Link or ring stop.
    pub fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        let (router, stop) = self.cube.locate(state.at);
        let mut go = |port: u32, vc: u8, share: f64| {
            hops.push(Hop { channel: self.network.port(state.at, port), vc, phase: 0, share });
        };
        // Coordinate after coordinate, no further than the first that differs.
        let mut rest = router;
        let mut wrong = self.cube.extents.iter().enumerate().filter_map(|(d, &r)| {
            let x = rest % r;
            rest /= r;
            (x != self.target[d]).then_some((d, x))
        });
        if let Some(own) = stop {
            let arrived = wrong.all(|(d, _)| d != own as usize);
            return go(u32::from(arrived), 0, 1.0);
        }
        let Some((d, x)) = wrong.next() else { return };
        if self.cube.b_link {
            return go(d as u32, 0, 1.0);
        }
        let (forward, back) = self.steps(d, x);
        let port = d as u32 * self.cube.directions();
        let vc_forward = u8::from(self.target[d] > x);
        if !self.cube.bidirectional {
            return go(port, vc_forward, 1.0);
        }
        let share = if forward == back { 0.5 } else { 1.0 };
        if forward <= back {
            go(port, vc_forward, share);
        }
        if back <= forward {
            go(port + 1, 1 - vc_forward, share);
        }
    }
}
