//! Options that every packet simulation takes.

use super::cell::{Cell, What};
use crate::Failure;
use crate::values::{Counts, Size, Sizes};
use hotlink_fabric::spec::Capacities;

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PacketArgs {
    /// Fabrics: names of the catalog or files.
    #[arg(long, value_delimiter = ',', required = true, value_name = "LIST")]
    pub(crate) fabric: Vec<String>,
    /// Numbers of nodes: a list or range.
    #[arg(long, alias = "ranks", value_name = "LIST")]
    nodes: Option<Counts>,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "64KiB")]
    size: Sizes,
    /// Rates of the resources: theoretical (gross), or measured where a measurement is known (a calibration).
    #[arg(long, value_enum, default_value_t = Rates::Measured)]
    capacities: Rates,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Largest payload of a packet, within the fabric's limit.
    #[arg(long, value_name = "SIZE")]
    packet_size: Option<Size>,
    /// Messages from which a node takes packets in turn.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    streams: Option<u16>,
    /// How equal paths are chosen.
    #[arg(long, value_enum)]
    paths: Option<Paths>,
    /// What Ethernet does when a buffer fills.
    #[arg(long, value_enum, default_value_t = Ethernet::Pause)]
    ethernet: Ethernet,
    /// Add a record with the utilisation of every link, bus and adapter.
    #[arg(long)]
    links: bool,
}

/// `--capacities`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Rates {
    /// Gross rates.
    Theoretical,
    /// What gives full packets the measured payload rate, where one is known.
    Measured,
}

impl Rates {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rates::Theoretical => "theoretical",
            Rates::Measured => "measured",
        }
    }
}

impl From<Rates> for Capacities {
    fn from(rates: Rates) -> Capacities {
        match rates {
            Rates::Theoretical => Capacities::Theoretical,
            Rates::Measured => Capacities::Measured,
        }
    }
}

/// `--paths`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Paths {
    /// The packets of a message take them in turn.
    Packet,
    /// Each pair of nodes has one, by a hash.
    Flow,
    /// Each destination has one, by its number (D-mod-k).
    Destination,
    /// The least occupied way on at each switch.
    Adaptive,
}

/// `--ethernet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Ethernet {
    /// Pause the sender (PFC).
    Pause,
    /// Drop the packet; it is sent again.
    Drop,
    /// Mark packets on the way, so that sources slow down, and pause (ECN above PFC, coarse).
    Ecn,
}

impl PacketArgs {
    /// The message sizes asked for.
    pub(crate) fn sizes(&self) -> &[u64] {
        &self.size
    }
    /// The seed.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }
    /// One cell with nothing but its defaults.
    pub(crate) fn plain(fabric: &str, nodes: u32, size: u64, what: What, seed: u64) -> Cell {
        Cell {
            fabric: fabric.to_owned(),
            nodes,
            size,
            what,
            capacities: Rates::Measured,
            seed,
            packet_size: None,
            streams: None,
            paths: None,
            ethernet: Ethernet::Pause,
            links: false,
            faults: None,
        }
    }
    /// The numbers of nodes asked for, or `or`, all of them 2 or more.
    pub(crate) fn nodes_or(&self, or: Option<u32>) -> Result<Vec<u32>, Failure> {
        let nodes = self.nodes(or)?;
        if nodes.iter().any(|&n| n < 2) {
            return Err(Failure::Input("--nodes: allowed are 2 or more".to_owned()));
        }
        Ok(nodes)
    }
    /// One cell for each fabric, number of nodes (`or` where none is given) and size.
    pub(crate) fn cells(
        &self,
        or: Option<u32>,
        mut what: impl FnMut(&str, u32) -> Result<Vec<What>, Failure>,
    ) -> Result<Vec<Cell>, Failure> {
        let nodes = self.nodes_or(or)?;
        let packet_size = self.packet_size.map(|size| u32::try_from(size.0).ok().filter(|&bytes| bytes > 0));
        if packet_size == Some(None) {
            return Err(Failure::Input("--packet-size: allowed are 1 B to 4 GiB".to_owned()));
        }
        let mut cells = Vec::new();
        for fabric in &self.fabric {
            for &nodes in &nodes {
                for &size in self.size.iter() {
                    for what in what(fabric, nodes)? {
                        cells.push(self.cell(fabric, nodes, size, what, packet_size.flatten()));
                    }
                }
            }
        }
        Ok(cells)
    }

    /// The numbers of nodes asked for.
    pub(crate) fn nodes(&self, or: Option<u32>) -> Result<Vec<u32>, Failure> {
        let missing = || Failure::Input("say how many nodes: --nodes 64, --nodes 2..128".to_owned());
        match (&self.nodes, or) {
            (Some(nodes), _) => nodes.to_u32().map_err(|what| Failure::Input(format!("--nodes: {what}"))),
            (None, or) => Ok(vec![or.ok_or_else(missing)?]),
        }
    }

    fn cell(&self, fabric: &str, nodes: u32, size: u64, what: What, packet_size: Option<u32>) -> Cell {
        Cell {
            fabric: fabric.to_owned(),
            nodes,
            size,
            what,
            capacities: self.capacities,
            seed: self.seed,
            packet_size,
            streams: self.streams,
            paths: self.paths,
            ethernet: self.ethernet,
            links: self.links,
            faults: None,
        }
    }
}
