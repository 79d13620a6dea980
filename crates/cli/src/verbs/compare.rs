//! `hotlink compare`: which of several fabrics gives the most bandwidth per node, and per dollar, at which size; or how long a
//! program takes on each.

mod program;

use super::question::{PatternArgs, VariantArgs};
use crate::words::word;
use crate::{Failure, values::Counts};
use hotlink_fabric::spec::FabricSpec;
use hotlink_paper::{Output, comparison as paper};
use hotlink_study::comparison::{Comparison, PACKETS_SIZE, Priced};
use hotlink_study::judged::Judged;
use hotlink_study::model::Method;
use hotlink_study::ranking::Eras;
use hotlink_study::{Source, is_graph};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink compare sci-ring sci-torus2d myrinet-clos64 --nodes 2..128
  hotlink compare ib-ndr-fat-tree2 eth-400g-leaf-spine --nodes 64..4096..x2 --traffic permutation:random
  hotlink compare sci-ring this-machine --nodes 2..128 --out report/
  hotlink compare sci-torus2d myrinet-clos64 --nodes 16..64..x2 --method formula,load,packet
  hotlink compare --program ./app -n 16 --on gige,ib-ndr-fat-tree2,sci-torus2d -- its own options

With --out, the folder gets compare.json, compare.csv and summary.md. The installed command (pip install .) adds the plots
bandwidth, cost and cost-per-MBps as PNG and SVG.")]
pub(crate) struct Args {
    /// Fabrics of the catalog, fabric files (.toml), or variants (ib-ndr-fat-tree2:oversubscription=2).
    #[arg(value_name = "FABRIC", required_unless_present = "program")]
    fabrics: Vec<String>,
    #[command(flatten)]
    program: program::ProgramArgs,
    #[command(flatten)]
    variant: VariantArgs,
    /// Numbers of nodes: a list or range, such as 16,64 or 2..128.
    #[arg(long, value_name = "LIST", default_value = "2..128")]
    nodes: Counts,
    #[command(flatten)]
    question: PatternArgs,
    /// Judge by these engines, one comparison each: load count, closed form where there is one (else the load count),
    /// simulated packets. With several, the sizes at which they put another fabric ahead are listed.
    #[arg(long, value_name = "LIST", value_parser = word::<Method>(), value_delimiter = ',', default_values_t = [Method::Load])]
    method: Vec<Method>,
    /// Override the catalog's prices by those of a file, or of another list of the catalog.
    #[arg(long, value_name = "NAME|FILE")]
    prices: Option<PathBuf>,
    /// Rank prices of different years together, as they are: nothing is converted.
    #[arg(long)]
    across_eras: bool,
    /// Vary the estimated and assumed inputs within their stated uncertainty: adds the interval of each bandwidth and the
    /// inputs that move it, the strongest first.
    #[arg(long)]
    sensitivity: bool,
    /// Write tables, data and plots into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if let Some(program) = args.program.asked(&args.variant)? {
        return program::run(&program, args.prices.as_deref(), output);
    }
    let sizes = args.nodes.to_u32().map_err(|what| Failure::Input(format!("--nodes: {what}")))?;
    let mut sources: Vec<Priced> = Vec::new();
    let changed = args.variant.of_all(args.fabrics.iter())?;
    for (index, (name, changed)) in args.fabrics.iter().zip(&changed).enumerate() {
        let technology = args.question.technology.filter(|_| is_graph(name));
        let source = Source::open_as(changed, technology)?;
        // Dumps of one tool share its name, so the words that name them tell them apart.
        let is_known = sources.iter().any(|known| known.source.name() == source.name());
        let source = match is_known && source.own_nodes().is_some() {
            true => source.varied(FabricSpec { name: name.clone(), ..source.spec().clone() }),
            false => source,
        };
        if sources.iter().any(|known| known.source.name() == source.name()) || args.fabrics[..index].contains(name) {
            return Err(Failure::Input(format!("{}: named twice; name each fabric once", source.name())));
        }
        sources.push(Priced::new(source, args.prices.as_deref())?);
    }
    args.question.need_counts(args.method.contains(&Method::Load))?;
    let mut question = args.question.pattern()?;
    if args.method.contains(&Method::Packet) {
        question.size = args.question.size_or(PACKETS_SIZE);
    }
    let steps = (args.method.len() * sources.len() * sizes.len()) as u64 * question.draws();
    let progress = output.ticking("compare", steps);
    let judged = {
        let eras = if args.across_eras { Eras::Together } else { Eras::Apart };
        let vary = output.vary_all(args.sensitivity);
        let made = args
            .method
            .iter()
            .map(|&method| Comparison::make(&sources, &sizes, &question, method, eras, vary, &*progress));
        Judged::new(made.collect::<Result<_, _>>()?)
    };
    drop(progress);
    output.push_all(judged.records());
    output.tables(paper::tables(&judged));
    args.out.as_ref().map_or(Ok(()), |folder| paper::write(&judged, folder, output))
}
