//! Valiant routing on any graph whose switches lie in regions ([`Network::region`]; Valiant and Brebner, STOC 1981). It
//! is shortest to the nearest switch of a random other region, then shortest to the destination.
//!
//! A region is a group of a Dragonfly+, or one switch of a Slim Fly or HyperX. Each hop has a lane of its own: first
//! legs begin with lane 0, second legs with the one after the longest first leg. Lanes rise along every path, so that
//! no cycle of channels can form. Packets without an intermediate region take shortest paths, from lane 0 on.

use super::paths::{Row, ShortestPaths};
use super::{Hop, State};
use crate::attachment::Attachment;
use crate::network::{NO_REGION, Network, Vertex};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The routing of a network.
#[derive(Debug)]
pub struct Valiant {
    pub(super) paths: ShortestPaths,
    /// Region of each vertex.
    of: Vec<u32>,
    /// Distances to each region, made when first asked for.
    rows: Vec<OnceLock<Box<[u16]>>>,
    /// Hops of the longest first leg.
    longest: u8,
}

impl Valiant {
    /// For a network that has regions.
    pub(super) fn new(network: &Network, attachment: &Attachment) -> Valiant {
        let regions = network.region.iter().filter(|&&region| region != NO_REGION).max().map_or(0, |last| last + 1);
        let rows = (0..regions).map(|_| OnceLock::new()).collect();
        let paths = ShortestPaths::searched(network, attachment);
        let valiant = Valiant { paths, of: network.region.clone(), rows, longest: 0 };
        let farthest = |row: &Row<'_>, from: &mut dyn Iterator<Item = Vertex>| {
            from.filter_map(|at| valiant.paths.distance(network, row, State { at, phase: 0 })).max().unwrap_or(0)
        };
        let first = (0..regions).map(|via| farthest(&valiant.row(network, via), &mut attachment.homes.iter().copied()));
        let first = first.max().unwrap_or(0);
        let second = (0..attachment.homes.len()).map(|home| {
            let row = valiant.paths.row(network, attachment, home, false);
            farthest(&row, &mut (network.nodes..network.vertices() as u32).map(Vertex))
        });
        let lanes = first + second.max().unwrap_or(0);
        let most = |hops: u32| u8::try_from(hops).unwrap_or(u8::MAX);
        let Valiant { paths, of, rows, .. } = valiant;
        Valiant { paths: paths.with_lanes(most(lanes)), of, rows, longest: most(first) }
    }

    /// Number of regions.
    pub fn regions(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The region of a device.
    pub fn region(&self, at: Vertex) -> u32 {
        self.of[at.0 as usize]
    }

    fn row(&self, network: &Network, via: u32) -> Row<'_> {
        let search = || {
            let members = (0..).zip(&self.of).filter(|(_, region)| **region == via);
            self.paths.search(network, &members.map(|(v, _)| Vertex(v)).collect::<Vec<Vertex>>())
        };
        Row::Searched(Cow::Borrowed(self.rows[via as usize].get_or_init(search)))
    }

    /// The path to region `via` alone, where it ends.
    pub fn toward_region<'a>(&'a self, network: &'a Network, via: u32) -> Legs<'a> {
        Legs { valiant: self, network, first: Some((via, self.row(network, via))), second: None }
    }

    /// The path to the nodes of home `group`, by region `via` if there is one; `keep`: distances serve later calls.
    pub(super) fn legs<'a>(
        &'a self,
        network: &'a Network,
        attachment: &Attachment,
        group: usize,
        via: Option<u32>,
        keep: bool,
    ) -> Legs<'a> {
        let first = via.map(|via| (via, self.row(network, via)));
        Legs { valiant: self, network, first, second: Some(self.paths.row(network, attachment, group, keep)) }
    }
}

/// The path of a packet.
#[derive(Debug)]
pub struct Legs<'a> {
    valiant: &'a Valiant,
    network: &'a Network,
    /// The region on the path, and distances to it.
    first: Option<(u32, Row<'a>)>,
    /// Distances to the destination's home.
    second: Option<Row<'a>>,
}

impl Legs<'_> {
    /// The region to which a packet is still under way.
    fn ahead(&self, state: State) -> Option<&Row<'_>> {
        let is_behind = |via: u32| state.phase >= self.valiant.longest || self.valiant.region(state.at) == via;
        self.first.as_ref().filter(|(via, _)| !is_behind(*via)).map(|(_, row)| row)
    }

    /// Whether a packet has not reached its intermediate region.
    pub fn is_on_first(&self, state: State) -> bool {
        self.ahead(state).is_some()
    }

    /// Falls with every hop and is 0 at the end; `None` if there is no path.
    pub fn rank(&self, state: State) -> Option<u32> {
        let distance = |row| self.valiant.paths.distance(self.network, row, state);
        match (self.ahead(state), &self.second) {
            (Some(first), _) => distance(first).map(|hops| hops + u32::from(self.valiant.paths.lanes())),
            (None, Some(second)) => distance(second),
            (None, None) => Some(0),
        }
    }

    /// Appends the paths on from `state`.
    pub fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        let paths = &self.valiant.paths;
        match (self.ahead(state), &self.second) {
            (Some(first), _) => paths.hops(self.network, first, state, hops),
            (None, Some(second)) => {
                let begins = if self.first.is_some() { self.valiant.longest } else { 0 };
                paths.hops(self.network, second, State { phase: state.phase.max(begins), ..state }, hops);
            }
            (None, None) => {}
        }
    }
}
