//! `hotlink design`: which network to buy for so many hosts, and why not another.

use crate::Failure;
use crate::values::{Counts, Ratios, Size};
use hotlink_bench::Which;
use hotlink_design::{Floor, Limit, Request, collective_named, design};
use hotlink_paper::{Output, design as paper};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink design --hosts 512 --technology infiniband,roce --oversubscription 1,2
  hotlink design --hosts 512,4096 --technology infiniband,roce,slingshot --oversubscription 1,2,4 --prices my-prices.toml --out design/
  hotlink design --hosts 1024 --max-cost 5e6 --max-racks 40 --min-share all-to-all=0.5 --survive switch=0.8
  hotlink design --hosts 512 --why infiniband-512-hyperx2-1to1
  hotlink design --hosts 128 --gpus-per-host 8 --technology infiniband

With --out, the folder gets a fabric file for each variant (TECHNOLOGY-HOSTS-VARIANT.toml, which every verb takes),
design.json, and the front as a page, front.html. The installed command (pip install .) adds the front as a picture, PNG and
SVG. A fabric file names its price list: give --prices to `compare` again for prices of your own.

With several numbers of hosts, the output also says what each step from one to the next adds and moves. The exit status is 1
if no variant meets all limits at some number of hosts; the output then names the binding limits.")]
pub(crate) struct Args {
    /// Numbers of hosts: a list or range.
    #[arg(long, value_name = "LIST")]
    hosts: Counts,
    /// Give each host this many GPUs, each with a port of its own. Nodes are GPUs then, and rails are among the variants.
    /// [default: hosts without GPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus_per_host: Option<u32>,
    /// Give each host, or each of its GPUs, this many cables, each to a port of its own in the same network. Nodes are these
    /// ports then.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    links_per_host: u32,
    /// Draw variants of these technologies, or with the links, switches and prices of these fabrics (of the catalog, or
    /// files).
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "infiniband,roce,slingshot")]
    technology: Vec<String>,
    /// Ratios of a switch's ports to hosts and its ports to other switches, such as 1,2 or 1:1,2:1. A ratio of 1 gives full
    /// bandwidth.
    #[arg(long, value_name = "LIST", default_value = "1")]
    oversubscription: Ratios,
    /// Override the catalog's prices by those of a file, or of another list of the catalog.
    #[arg(long, value_name = "NAME|FILE")]
    prices: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    floor: FloorArgs,
    /// Estimate the times of these collectives, from the load that their bytes put on the hottest link.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = collective_named, default_values = ["allreduce", "alltoall"])]
    collective: Vec<Which>,
    /// Bytes of a message, and of a collective.
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    size: Size,
    /// Draw this many random permutations; their median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    samples: u64,
    /// Draw them from this seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Simulate a random permutation packet by packet on each variant of the front. This takes long for many hosts or bytes.
    #[arg(long)]
    simulate: bool,
    /// Name the variant that beats this one, or the limit that it misses.
    #[arg(long, value_name = "VARIANT")]
    why: Option<String>,
    /// Write the variants' fabric files and the data into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
struct LimitArgs {
    /// Limit the total cost, in the price list's currency.
    #[arg(help_heading = "Limits", long, value_name = "AMOUNT", value_parser = Limit::most)]
    max_cost: Option<f64>,
    /// Limit the power of the network, in kilowatts.
    #[arg(help_heading = "Limits", long, value_name = "KW", value_parser = Limit::most)]
    max_power: Option<f64>,
    /// Limit the number of racks of hosts and switches.
    #[arg(help_heading = "Limits", long, value_name = "N", value_parser = Limit::most)]
    max_racks: Option<f64>,
    /// Limit the length of a cable, in metres.
    #[arg(help_heading = "Limits", long, value_name = "M", value_parser = Limit::most)]
    max_cable: Option<f64>,
    /// Require that a node gets at least this share of its injection under a pattern, such as all-to-all=0.5; repeatable.
    #[arg(help_heading = "Limits", long, value_name = "PATTERN=SHARE", value_parser = Limit::share)]
    min_share: Vec<Limit>,
    /// Require that at least this share of the bandwidth remains after one failed cable or switch, such as switch=0.9;
    /// repeatable.
    #[arg(help_heading = "Limits", long, value_name = "PART=SHARE", value_parser = Limit::survive)]
    survive: Vec<Limit>,
}

#[derive(clap::Args)]
struct FloorArgs {
    /// Put this many hosts into a rack.
    #[arg(help_heading = "Floor", long, value_name = "N", default_value_t = Floor::default().hosts_per_rack)]
    hosts_per_rack: u32,
    /// Put this many switches into a rack that holds no hosts.
    #[arg(help_heading = "Floor", long, value_name = "N", default_value_t = Floor::default().switches_per_rack)]
    switches_per_rack: u32,
    /// Put this many racks into a row.
    #[arg(help_heading = "Floor", long, value_name = "N", default_value_t = Floor::default().racks_per_row)]
    racks_per_row: u32,
    /// Distance from a rack to the next in its row, in metres.
    #[arg(help_heading = "Floor", long, value_name = "M", default_value_t = Floor::default().rack_width_m)]
    rack_width: f64,
    /// Distance from a row of racks to the next, in metres.
    #[arg(help_heading = "Floor", long, value_name = "M", default_value_t = Floor::default().row_pitch_m)]
    row_pitch: f64,
    /// Add this length to each end of a cable, in metres.
    #[arg(help_heading = "Floor", long, value_name = "M", default_value_t = Floor::default().slack_m)]
    slack: f64,
    /// Use copper for cables up to this length, in metres; longer ones are optical.
    #[arg(help_heading = "Floor", long, value_name = "M", default_value_t = Floor::default().copper_m)]
    copper_reach: f64,
}

impl Args {
    fn request(&self) -> Result<Request, Failure> {
        let LimitArgs { max_cost, max_power, max_racks, max_cable, min_share, survive } = &self.limits;
        let most = [
            max_cost.map(Limit::Cost),
            max_power.map(Limit::Power),
            max_racks.map(Limit::Racks),
            max_cable.map(Limit::Cable),
        ];
        let floor = &self.floor;
        Ok(Request {
            hosts: self.hosts.to_u32().map_err(|what| Failure::Input(format!("--hosts: {what}")))?,
            gpus_per_host: self.gpus_per_host,
            links_per_host: self.links_per_host,
            technologies: self.technology.clone(),
            oversubscriptions: self.oversubscription.to_vec(),
            prices: self.prices.clone(),
            floor: Floor {
                hosts_per_rack: floor.hosts_per_rack,
                switches_per_rack: floor.switches_per_rack,
                racks_per_row: floor.racks_per_row,
                rack_width_m: floor.rack_width,
                row_pitch_m: floor.row_pitch,
                slack_m: floor.slack,
                copper_m: floor.copper_reach,
            },
            limits: most.into_iter().flatten().chain(min_share.iter().chain(survive).cloned()).collect(),
            collectives: self.collective.clone(),
            size: self.size.0,
            samples: self.samples,
            seed: self.seed,
            simulate: self.simulate,
            why: self.why.clone(),
        })
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let request = args.request()?;
    let progress = output.progress("design", 0);
    let found = design(&request, &progress);
    drop(progress);
    let found = found?;
    output.push_all(found.records.iter().cloned());
    output.tables(paper::tables(&found, &request));
    if let Some(folder) = &args.out {
        paper::write(&found, folder, output)?;
    }
    match found.impossible.is_empty() {
        true => Ok(()),
        false => Err(Failure::Check(found.impossible.join("\n"))),
    }
}
