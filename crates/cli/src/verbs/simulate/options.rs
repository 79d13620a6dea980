//! Options that every packet simulation takes.

use crate::Failure;
use crate::values::{Counts, Size, Sizes};
use crate::verbs::question::{MeasuredArgs, Methods};
use crate::verbs::watching::WatchOptions;
use crate::words::word;
use hotlink_fabric::technology::{self, Technology};
use hotlink_study::cell::{Cell, What};
use hotlink_study::inputs::Vary;
use hotlink_study::is_graph;
use hotlink_study::options::{Ethernet, Paths, Rates};

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
    #[arg(long, value_parser = word::<Rates>(), default_value_t = Rates::Measured)]
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
    /// Which of equal paths a packet takes. Default: the technology's.
    #[arg(long, value_parser = word::<Paths>())]
    paths: Option<Paths>,
    /// What a graph's network is (infiniband, roce, myrinet, ...), where its file does not state it.
    #[arg(long, value_name = "NAME", value_parser = technology::named)]
    pub(crate) technology: Option<&'static Technology>,
    #[command(flatten)]
    uncertain: UncertainArgs,
    /// What Ethernet does when a buffer fills.
    #[arg(long, value_parser = word::<Ethernet>(), default_value_t = Ethernet::Pause)]
    ethernet: Ethernet,
    /// Add a record with the utilisation of every link, bus and adapter.
    #[arg(long)]
    links: bool,
    /// Which engines answer [default: the simulator alone].
    #[arg(long, value_parser = word::<Methods>())]
    pub(super) method: Option<Methods>,
    #[command(flatten)]
    pub(super) measured: MeasuredArgs,
    #[command(flatten)]
    pub(super) watching: WatchOptions,
}

/// What is done with uncertain inputs.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct UncertainArgs {
    /// Vary the estimated and assumed inputs within their stated uncertainty: adds the answer's interval and the inputs that
    /// move it, the strongest first.
    #[arg(long)]
    pub(crate) sensitivity: bool,
}

impl UncertainArgs {
    /// For a cell.
    pub(crate) fn vary(self) -> Vary {
        if self.sensitivity { Vary::Yes } else { Vary::No }
    }
}

impl PacketArgs {
    /// What is done with uncertain inputs.
    pub(crate) fn vary(&self) -> Vary {
        self.uncertain.vary()
    }
    /// The message sizes asked for.
    pub(crate) fn sizes(&self) -> &[u64] {
        &self.size
    }
    /// The seed.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
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
        watched(&mut cells, &self.watching)?;
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
            sensitivity: self.uncertain.vary(),
            technology: self.technology.filter(|_| is_graph(fabric)),
            ethernet: self.ethernet,
            links: self.links,
            faults: None,
        }
    }
}

/// Puts observers and faults on the cells' ports, as asked for.
pub(super) fn watched(cells: &mut [Cell], options: &WatchOptions) -> Result<(), Failure> {
    options.check()?;
    let Some(watching) = options.watching() else { return Ok(()) };
    for cell in cells {
        let What::Program(program) = &mut cell.what else {
            let what = "--trace, --count, --inject: bare packets have no ranks and no ports; allowed with";
            return Err(Failure::Input(format!("{what} --stack message, where the benchmark has it")));
        };
        program.watching = Some(watching);
    }
    Ok(())
}
