//! `hotlink design`: which network to buy for so many hosts, and why not another.

use crate::Failure;
use crate::values::{Counts, Numbers, Size};
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

With --out: a fabric file for each variant, TECHNOLOGY-HOSTS-VARIANT.toml, which every verb takes, design.json, and the front as a
page, front.html; the installed command (pip install .) adds it as a picture, PNG and SVG. A fabric file names its price list: give --prices to
`compare` again for prices of your own. Several numbers of hosts: what each step from one to the next adds and moves. Exit status 1: at some number of hosts no variant keeps to all limits; the binding ones are named.")]
pub(crate) struct Args {
    /// Numbers of hosts: a list or range.
    #[arg(long, value_name = "LIST")]
    hosts: Counts,
    /// GPUs of a host, each with a port of its own: nodes are GPUs then, and rails are among the variants.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus_per_host: Option<u32>,
    /// Cables of a host, or of each of its GPUs, each to a port of its own in the same network: nodes are these ports then.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    links_per_host: u32,
    /// Technologies, or fabrics of the catalog or files whose links, switches and prices to take.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "infiniband,roce,slingshot")]
    technology: Vec<String>,
    /// Ports of a switch towards hosts over those towards other switches: 1 is full bandwidth.
    #[arg(long, value_name = "LIST", default_value = "1")]
    oversubscription: Numbers,
    /// Prices that override the catalog's: a file, or a list of the catalog.
    #[arg(long, value_name = "NAME|FILE")]
    prices: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    floor: FloorArgs,
    /// Collectives whose times are told by the load that their bytes put on the hottest link.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = collective_named, default_values = ["allreduce", "alltoall"])]
    collective: Vec<Which>,
    /// Bytes of a message and of a collective.
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    size: Size,
    /// Draws of random permutations; their median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    samples: u64,
    /// Seed of the draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Simulate a random permutation packet by packet on each variant of the front. Takes long for many hosts or bytes.
    #[arg(long)]
    simulate: bool,
    /// Say what beat this variant, or which limit it misses.
    #[arg(long, value_name = "VARIANT")]
    why: Option<String>,
    /// Folder for the variants' fabric files and the data.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
struct LimitArgs {
    /// Most that may be paid in all, in the price list's currency.
    #[arg(help_heading = "Limits", long, value_name = "AMOUNT", value_parser = Limit::most)]
    max_cost: Option<f64>,
    /// Most power of the network, in kilowatts.
    #[arg(help_heading = "Limits", long, value_name = "KW", value_parser = Limit::most)]
    max_power: Option<f64>,
    /// Most racks of hosts and switches.
    #[arg(help_heading = "Limits", long, value_name = "N", value_parser = Limit::most)]
    max_racks: Option<f64>,
    /// Longest cable, in metres.
    #[arg(help_heading = "Limits", long, value_name = "M", value_parser = Limit::most)]
    max_cable: Option<f64>,
    /// Least share of its injection that a node gets under a pattern, such as all-to-all=0.5; repeatable.
    #[arg(help_heading = "Limits", long, value_name = "PATTERN=SHARE", value_parser = Limit::share)]
    min_share: Vec<Limit>,
    /// Least share of the bandwidth that is left after one failed cable or switch, such as switch=0.9; repeatable.
    #[arg(help_heading = "Limits", long, value_name = "PART=SHARE", value_parser = Limit::survive)]
    survive: Vec<Limit>,
}

#[derive(clap::Args)]
struct FloorArgs {
    /// Hosts of a rack.
    #[arg(help_heading = "Floor", long, value_name = "N", default_value_t = Floor::default().hosts_per_rack)]
    hosts_per_rack: u32,
    /// Switches of a rack that holds no hosts.
    #[arg(help_heading = "Floor", long, value_name = "N", default_value_t = Floor::default().switches_per_rack)]
    switches_per_rack: u32,
    /// Racks of a row.
    #[arg(help_heading = "Floor", long, value_name = "N", default_value_t = Floor::default().racks_per_row)]
    racks_per_row: u32,
    /// From a rack to the next of its row, in metres.
    #[arg(help_heading = "Floor", long, value_name = "M", default_value_t = Floor::default().rack_width_m)]
    rack_width: f64,
    /// From a row of racks to the next, in metres.
    #[arg(help_heading = "Floor", long, value_name = "M", default_value_t = Floor::default().row_pitch_m)]
    row_pitch: f64,
    /// What a cable has more at each end, in metres.
    #[arg(help_heading = "Floor", long, value_name = "M", default_value_t = Floor::default().slack_m)]
    slack: f64,
    /// Longest cable of copper, in metres; longer ones are optical.
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
