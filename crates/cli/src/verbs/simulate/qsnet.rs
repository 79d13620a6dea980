//! QsNet's own collectives: `simulate barrier|bcast --fabric qsnet --algorithm hardware,tree,nic`.

use super::options::PacketArgs;
use super::stack::StackArgs;
use crate::{Failure, output::Output};
use hotlink_sim::qsnet::{Algorithm, Collective};
use hotlink_study::inputs::Vary;
use hotlink_study::simulate::qsnet::{self, Cell};

pub(crate) use hotlink_study::simulate::qsnet::algorithm;

/// What takes no part in QsNet's own collectives.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Missing {
    /// Nodes that take no part, with QsNet's own algorithms: the tree takes the hardware's place unless the others are contiguous.
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 1)]
    without: Vec<u32>,
    /// Plan of links and switches that fail, with QsNet's own algorithms: the tree takes the hardware's place.
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
}

impl Missing {
    /// Refuses them where another algorithm runs.
    pub(crate) fn refuse(&self) -> Result<(), Failure> {
        if self.without.is_empty() && self.faults.is_none() {
            return Ok(());
        }
        Err(Failure::Input("--without, --faults: only with QsNet's own algorithms: hardware, tree, nic".to_owned()))
    }
    /// As the library takes them.
    fn named(&self) -> qsnet::Missing {
        qsnet::Missing { without: self.without.clone(), faults: self.faults.clone() }
    }
}

/// Cells of barriers.
pub(crate) fn barriers(
    fabric: &str,
    nodes: &[u32],
    algorithm: Algorithm,
    (stack, missing): (&StackArgs, &Missing),
    seed: u64,
) -> Vec<Cell> {
    let cell = |&nodes: &u32| {
        let (samples, background) = (stack.samples(), stack.background());
        let what = Collective { algorithm, nodes, bytes: None, samples, limit: stack.limit(), background };
        Cell {
            fabric: fabric.to_owned(),
            what,
            missing: missing.named(),
            seed,
            raw: stack.raw(),
            sensitivity: Vary::No,
        }
    };
    nodes.iter().map(cell).collect()
}

/// Cells of broadcasts.
pub(crate) fn broadcasts(
    packet: &PacketArgs,
    fabric: &str,
    algorithm: Algorithm,
    (stack, missing): (&StackArgs, &Missing),
) -> Result<Vec<Cell>, Failure> {
    let mut cells = Vec::new();
    for nodes in packet.nodes_or(None)? {
        for cell in barriers(fabric, &[nodes], algorithm, (stack, missing), packet.seed()) {
            let sized = |&bytes: &u64| {
                let what = Collective { bytes: Some(bytes), samples: stack.samples_of(bytes), ..cell.what };
                Cell { what, ..cell.clone() }
            };
            cells.extend(packet.sizes().iter().map(sized));
        }
    }
    Ok(cells)
}

/// Runs the cells on all cores and prints their records in order.
pub(crate) fn run(cells: &[Cell], vary: Vary, output: &mut Output) -> Result<(), Failure> {
    let quick = output.vary(false);
    let of = |(index, cell): (usize, &Cell)| {
        let sensitivity = if vary == Vary::No && index == 0 { quick } else { vary };
        Cell { sensitivity, ..cell.clone() }
    };
    let cells: Vec<Cell> = cells.iter().enumerate().map(of).collect();
    let progress = output.progress("simulate", cells.len() as u64);
    let _ticking = progress.ticking();
    let records = qsnet::run(&cells, &progress)?;
    super::packet::print(records, output);
    Ok(())
}
