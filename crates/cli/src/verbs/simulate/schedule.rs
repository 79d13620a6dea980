//! `hotlink simulate schedule`: schedules of any form on a fabric's packet network. `simulate goal` runs GOAL there, too.

use crate::Failure;
use crate::values::{Size, Sizes};
use crate::verbs::question::{RoutesArgs, VariantArgs};
use crate::words::{Fabrics, word};
use hotlink_fabric::units::Time;
use hotlink_paper::{Output, columns};
use hotlink_results::{can_write, is_free, is_no_input, write_with};
use hotlink_schedule::collective::Algorithm;
use hotlink_schedule::{Costs, Format, Options, Protocol, Read};
use hotlink_study::inputs::Vary;
use hotlink_study::options::{Ethernet, Paths, Rates};
use hotlink_study::{Source, Within};
use hotlink_workloads::replay::Network;
use hotlink_workloads::schedule::Scheduled;
use hotlink_workloads::seating::{MOST_PER_NODE, Wanted};
use std::path::PathBuf;

use super::options::{ControlArgs, UncertainArgs};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate schedule traces/ --fabric hgx-h100-rail --json
  hotlink simulate schedule plan.json --size 64MiB --fabric hgx-h100-rail
  hotlink simulate schedule trace.bin --fabric ib-ndr-fat-tree2 --overhead 0.5us --eager 64KiB
  hotlink simulate schedule trace.goal --write trace.json
  hotlink simulate schedule traces/ --fabric hgx-h100-rail --write trace.bin

A schedule is a file of GOAL (text or binary), a plan of MSCCL (XML) or MSCCL++ (JSON), or JSON in hotlink's own form
(docs/schedules.md). Or it is a folder or prefix of Chakra execution traces, NAME.RANK.et for every rank. The content decides
which form it is. Rank i runs on node i, unless --ranks-per-node or --placement says otherwise.")]
pub(crate) struct Args {
    /// Schedule to run: a file, a folder or prefix of traces, or - for standard input.
    path: String,
    /// Fabrics to simulate: names of the catalog, or files.
    #[arg(long, required_unless_present = "write", value_name = "LIST")]
    fabric: Vec<Fabrics>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    seats: SeatsArgs,
    /// Write the schedule to this file instead of running it: .goal, .bin (binary GOAL), or .json. The fabric
    /// (--fabric) gives the GPUs' times of a trace or plan; without it GPUs take no time.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Let --write replace a file that is there already.
    #[arg(long, requires = "write")]
    force: bool,
}

/// Values that files of schedules lack.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct ReadArgs {
    /// Bytes of the collective of a plan of MSCCL or MSCCL++: the larger of its input and output.
    #[arg(long, value_name = "LIST")]
    size: Option<Sizes>,
    /// Let computations that state operations and no time (Chakra) run at this many operations a second.
    #[arg(long, value_name = "N", value_parser = flops)]
    flops: Option<f64>,
    /// Read the groups of Chakra traces from this file, {"NAME": [RANKS]}. [default: comm_group.json in the traces' folder]
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Run collectives of Chakra traces by this algorithm where they have it: ring, tree, hierarchical, nvls, nvls-tree,
    /// collnet or pairwise. [default: NCCL's model chooses]
    #[arg(long, value_name = "NAME")]
    algorithm: Option<Algorithm>,
    /// Run collectives of Chakra traces by this protocol where they have it: simple, ll128 or ll. [default: NCCL's model
    /// chooses]
    #[arg(long, value_name = "NAME")]
    protocol: Option<Protocol>,
}

/// Where the ranks of a schedule are.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct SeatsArgs {
    /// Put this many ranks on each node, in order; they share its adapter. Messages within a node take no time.
    #[arg(
        long, value_name = "K", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PER_NODE)),
    )]
    ranks_per_node: u32,
    /// Choose the nodes: contiguous, packed, spread, random (by --seed) or rail, as `simulate jobs` does. Or give a
    /// list such as 0-7,32, or a file with numbers, ranges or host names on its lines. [default: from node 0 on]
    #[arg(long, value_name = "RULE|LIST|FILE")]
    placement: Option<String>,
}

impl SeatsArgs {
    /// Whether anything but the defaults was asked for.
    pub(super) fn asks(&self) -> bool {
        self.ranks_per_node > 1 || self.placement.is_some()
    }
}

/// How messages cross the packet network.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct NetworkArgs {
    #[command(flatten)]
    routes: RoutesArgs,
    #[command(flatten)]
    variant: VariantArgs,
    /// Build the fabric for this many nodes. [default: one for each rank; for jobs, as the plan says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    nodes: Option<u32>,
    /// Set a processor's time to send or receive a message, such as 0.5us.
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = time)]
    overhead: Time,
    /// Let messages of more bytes than this ask the receiver first (rendezvous). [default: none do]
    #[arg(long, value_name = "SIZE")]
    eager: Option<Size>,
    /// Use theoretical rates of the resources (gross), or measured ones where a measurement is known (a calibration).
    #[arg(long, value_parser = word::<Rates>(), default_value_t = Rates::Measured)]
    capacities: Rates,
    /// Draw every random choice from this seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Limit a packet's payload to this size, up to the fabric's own limit. [default: the fabric's limit]
    #[arg(long, value_name = "SIZE")]
    packet_size: Option<Size>,
    /// Choose among equal paths. [default: the technology's]
    #[arg(long, value_parser = word::<Paths>())]
    paths: Option<Paths>,
    /// Let links and switches fail, come back or degrade as this plan says.
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
    /// Choose what Ethernet does when a buffer fills.
    #[arg(long, value_parser = word::<Ethernet>(), default_value_t = Ethernet::Pause)]
    ethernet: Ethernet,
    #[command(flatten)]
    control: ControlArgs,
    #[command(flatten)]
    uncertain: UncertainArgs,
}

fn flops(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "must be a number above 0, such as 1e15".to_owned())
}

/// A time with its unit.
pub(super) fn time(text: &str) -> Result<Time, String> {
    let units = [("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];
    let found = units.iter().find_map(|(unit, ps)| Some((text.strip_suffix(unit)?.trim().parse::<f64>().ok()?, ps)));
    let ps = found.map(|(number, ps)| number * ps).filter(|ps| (0.0..=1e12).contains(ps));
    ps.map(|ps| Time(ps.round() as u64)).ok_or_else(|| "must be a time from 0 to 1s, such as 500ns or 0.5us".to_owned())
}

impl Args {
    /// The fabrics, with their changes.
    fn fabric_names(&self) -> Vec<String> {
        Fabrics::all(&self.fabric).map(|fabric| self.network.fabric(fabric)).collect()
    }
}

impl ReadArgs {
    /// The schedules that are read, one for each size.
    fn options(&self) -> Vec<Options> {
        let ReadArgs { size, flops, groups, algorithm, protocol } = self.clone();
        let wanted = (algorithm, protocol);
        let sizes = size.map_or_else(|| vec![None], |sizes| sizes.iter().map(|&size| Some(size)).collect());
        sizes
            .into_iter()
            .map(|bytes| Options { bytes, flops, groups: groups.clone(), wanted, ..Options::default() })
            .collect()
    }
}

impl NetworkArgs {
    /// Whether anything but the defaults was asked for, which only packets know.
    pub(super) fn asks(&self) -> bool {
        self.nodes.is_some()
            || self.overhead.0 > 0
            || self.eager.is_some()
            || self.packet_size.is_some()
            || self.paths.is_some()
            || self.faults.is_some()
            || self.ethernet != Ethernet::Pause
            || self.control.asks()
    }

    /// Nodes of the fabric, if they were asked for.
    pub(super) fn nodes(&self) -> Option<u32> {
        self.nodes
    }

    /// The treatment of uncertain inputs.
    pub(super) fn vary(&self) -> Vary {
        self.uncertain.vary()
    }

    /// The rules by which messages cross the network, for each transport.
    pub(super) fn networks(&self) -> Result<Vec<Network>, Failure> {
        let packet_size = self.packet_size.map(|size| u32::try_from(size.0).unwrap_or(u32::MAX));
        let network = Network {
            capacities: self.capacities,
            seed: self.seed,
            paths: self.paths.map(Into::into),
            packet_size,
            overhead: self.overhead,
            eager_max: self.eager.map_or(u64::MAX, |size| size.0),
            ethernet: self.ethernet,
            faults: self.faults.clone(),
            ..Network::default()
        };
        let one = |control| Network { control, ..network.clone() };
        Ok(self.control.controls(self.ethernet)?.into_iter().map(one).collect())
    }

    /// The questions about a schedule, one for each transport.
    pub(super) fn scheduled(&self, path: &str, seats: &SeatsArgs, calc_unit: Time) -> Result<Vec<Scheduled>, Failure> {
        let SeatsArgs { ranks_per_node, placement } = seats.clone();
        let (seats, vary) = (Wanted { nodes: self.nodes, ranks_per_node, placement, seed: self.seed }, self.vary());
        let one = |network| Scheduled { calc_unit, seats: seats.clone(), network, vary, ..Scheduled::of(path) };
        Ok(self.networks()?.into_iter().map(one).collect())
    }

    /// The fabric with its changes.
    pub(super) fn fabric(&self, name: &str) -> String {
        self.routes.of(&self.variant.of(name))
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let scheduled = args.network.scheduled(&args.path, &args.seats, Time(1_000))?;
    let options = args.read.options();
    let of_size = |options: &Options| {
        let of = |one: &Scheduled| Scheduled { options: options.clone(), ..one.clone() };
        scheduled.iter().map(of).collect::<Vec<_>>()
    };
    let scheduled: Vec<Scheduled> = options.iter().flat_map(of_size).collect();
    if let Some(path) = &args.write {
        if options.len() > 1 {
            return Err(Failure::Input("--write: give one --size: a file holds one schedule".to_owned()));
        }
        is_no_input("--write", path, [&args.path])?;
        is_free("--write", path, args.force)?;
        can_write("--write", path)?;
        let on = match &args.fabric_names()[..] {
            [] => scheduled[0].clone(),
            [fabric] => scheduled[0].written_on(&Source::open(fabric)?)?,
            _ => {
                return Err(Failure::Input(
                    "--write: give one --fabric, whose GPUs say what their work takes".to_owned(),
                ));
            }
        };
        let found = on.read()?;
        let of_gpus = !matches!(found.format, Format::Goal | Format::GoalBinary | Format::Plain);
        if of_gpus && on.options.costs == Costs::default() {
            hotlink_paper::tell!(
                "hotlink: reductions and copies take no time in it: --fabric with GPUs says what they take"
            );
        }
        return write(&found, path);
    }
    on_packets(&scheduled, "schedule", &args.fabric_names(), output)
}

/// Runs a schedule on the packet networks of fabrics.
pub(super) fn on_packets(
    scheduled: &[Scheduled],
    benchmark: &str,
    fabrics: &[String],
    output: &mut Output,
) -> Result<(), Failure> {
    output.end_with_reader();
    let progress = output.ticking("simulate", (fabrics.len() * scheduled.len()) as u64);
    for fabric in fabrics {
        for scheduled in scheduled {
            if output.is_closed() {
                return Ok(());
            }
            output.push_all(scheduled.run(fabric, benchmark, &Within(&*progress))?);
            progress.step();
        }
    }
    output.tabulate(columns::SCHEDULE);
    Ok(())
}

fn write(Read { schedule, unit_ps, .. }: &Read, path: &std::path::Path) -> Result<(), Failure> {
    let unit_ps = unit_ps.unwrap_or(1_000);
    let in_ns = || schedule.recounted(unit_ps, 1_000);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("goal") => write_with("--write", path, |mut out| in_ns().write(&mut out))?,
        Some("bin") => write_with("--write", path, |mut out| in_ns().write_binary(&mut out))?,
        Some("json") => write_with("--write", path, |out| writeln!(out, "{}", schedule.to_json(unit_ps)))?,
        _ => {
            let what = format!("--write {}: must end in .goal, .bin or .json", path.display());
            return Err(Failure::Input(what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("0.5us"), Ok(Time(500_000)));
        assert_eq!(time("20 ns"), Ok(Time(20_000)));
        for wrong in ["5", "-1us", "2s", "us", "1 min"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert!(flops("0").is_err() && flops("1e15") == Ok(1e15));
    }
}
