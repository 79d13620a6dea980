//! Options that every packet simulation takes.

use super::stack::StackArgs;
use crate::Failure;
use crate::values::{Counts, Size};
use crate::verbs::question::{RoutesArgs, VariantArgs};
use crate::verbs::watching::WatchOptions;
use crate::words::{Fabrics, word};
use hotlink_fabric::technology::{self, Technology};
use hotlink_study::ask::{Method, Methods};
use hotlink_study::inputs::Vary;
use hotlink_study::options::{Connections, Ethernet, Rates, Transport, Ways};
use hotlink_study::simulate::request::{Benchmark, Network, Request};
use hotlink_study::sizes::SizesOrLaws;
use hotlink_study::transports::Control;
use std::path::PathBuf;

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PacketArgs {
    /// Fabrics to simulate: names of the catalog, or files.
    #[arg(long, required = true, value_name = "LIST")]
    fabric: Vec<Fabrics>,
    #[command(flatten)]
    routes: RoutesArgs,
    #[command(flatten)]
    variant: VariantArgs,
    /// Numbers of nodes: a list or range. A graph and a dumped network have their own. [default: as few as the benchmark
    /// needs; collectives and traffic need a number]
    #[arg(long, alias = "ranks", value_name = "LIST")]
    nodes: Option<Counts>,
    /// Message sizes: a list or range. Traffic also takes distributions, such as websearch (`simulate traffic --help`).
    #[arg(long, value_name = "LIST", default_value = "64KiB")]
    size: SizesOrLaws,
    /// Use theoretical rates of the resources (gross), or measured ones where a measurement is known (a calibration).
    #[arg(long, value_parser = word::<Rates>(), default_value_t = Rates::Measured)]
    capacities: Rates,
    /// Draw every random choice from this seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Limit a packet's payload to this size, up to the fabric's own limit. [default: the fabric's limit]
    #[arg(long, value_name = "SIZE")]
    packet_size: Option<Size>,
    /// Let a node serve this many messages at a time, a packet of each in turn. [default: the technology's]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    streams: Option<u16>,
    /// Choose among equal paths, or how packets cross a dragonfly. Several values give one run each. [default: the
    /// technology's paths, the fabric's routing]
    #[arg(long, value_parser = word::<Ways>(), value_delimiter = ',', value_name = "LIST")]
    paths: Vec<Ways>,
    /// Name the technology of a graph (such as infiniband, roce or myrinet) where its file does not state it.
    #[arg(long, value_name = "NAME", value_parser = technology::named)]
    pub(crate) technology: Option<&'static Technology>,
    #[command(flatten)]
    uncertain: UncertainArgs,
    /// Choose what Ethernet does when a buffer fills.
    #[arg(long, value_parser = word::<Ethernet>(), default_value_t = Ethernet::Pause)]
    ethernet: Ethernet,
    #[command(flatten)]
    control: ControlArgs,
    /// Add a record with the utilisation of every link, bus and adapter.
    #[arg(long)]
    links: bool,
    /// Choose the engines that answer. [default: the simulator alone]
    #[arg(long, value_parser = word::<Methods>())]
    pub(super) method: Option<Methods>,
    /// Compare these results of `hotlink measure ... --json` with the engines' answers (with --method all or measured).
    #[arg(long, value_name = "FILE")]
    pub(super) measured: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) watching: WatchOptions,
}

/// Flow control on Ethernet.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct ControlArgs {
    /// Choose the transport that decides when packets leave their sender (Ethernet only). Several values give one run each.
    /// [default: none]
    #[arg(long, value_parser = word::<Transport>(), value_delimiter = ',', value_name = "LIST")]
    transport: Vec<Transport>,
    /// Choose what has a transport state of its own. [default: message where --size names a distribution, else pair]
    #[arg(long, value_parser = word::<Connections>())]
    connections: Option<Connections>,
    /// Give each switch port an input buffer of this size per virtual channel. [default: the fabric's]
    #[arg(long, value_name = "SIZE")]
    buffer: Option<Size>,
    /// Pause a link once its port's buffer holds this many bytes (Ethernet only). [default: the fabric's share of the
    /// buffer]
    #[arg(long, value_name = "SIZE")]
    pfc_pause: Option<Size>,
    /// Keep a link paused until its port's buffer is down to this many bytes. [default: the fabric's share of --pfc-pause]
    #[arg(long, value_name = "SIZE")]
    pfc_resume: Option<Size>,
    /// Give each link this many virtual lanes, each with a buffer of its own. Destinations are spread over them; adaptive
    /// packets take a free one. [default: as many as the routing needs; for adaptive packets, the fabric's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    lanes: Option<u32>,
    /// Let each node hold this many bytes of packets that arrive before an earlier one of their message; what exceeds that is
    /// sent again. 0 takes packets in order alone, as go-back-N (Ethernet only). [default: any]
    #[arg(long, value_name = "SIZE")]
    reorder: Option<Size>,
    /// Mark the first packets for dcqcn, dctcp and nscc at this queue length of a switch. [default: the transport's]
    #[arg(long, value_name = "SIZE")]
    ecn_low: Option<Size>,
    /// Mark every packet from this queue length on. [default: the transport's]
    #[arg(long, value_name = "SIZE")]
    ecn_high: Option<Size>,
}

impl ControlArgs {
    /// Whether anything was asked for.
    pub(super) fn asks(&self) -> bool {
        !self.transport.is_empty()
            || self.connections.is_some()
            || self.buffer.is_some()
            || self.pfc_pause.is_some()
            || self.pfc_resume.is_some()
            || self.lanes.is_some()
            || self.reorder.is_some()
            || self.ecn_low.is_some()
            || self.ecn_high.is_some()
    }

    /// One for each transport.
    pub(super) fn controls(&self, ethernet: Ethernet) -> Result<Vec<Control>, Failure> {
        let asked = |size: Option<Size>| size.map(|size| size.0);
        let of = Control {
            connections: self.connections,
            buffer: asked(self.buffer),
            pause: asked(self.pfc_pause),
            resume: asked(self.pfc_resume),
            lanes: self.lanes,
            reorder: asked(self.reorder),
            ecn_low: asked(self.ecn_low),
            ecn_high: asked(self.ecn_high),
            ..Control::usual()
        };
        Control::each(&self.transport, ethernet, of).map_err(Failure::Input)
    }
}

/// The treatment of uncertain inputs.
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
    /// The fabrics, with their changes and the given forwarding tables.
    pub(crate) fn fabrics(&self) -> Result<Vec<String>, Failure> {
        let changed = self.variant.of_all(Fabrics::all(&self.fabric))?;
        Ok(changed.iter().map(|fabric| self.routes.of(fabric)).collect())
    }

    /// Refuses options that the asked engines do not have.
    pub(super) fn fits(&self) -> Result<(), Failure> {
        hotlink_results::measured(&self.measured, self.method)?;
        let packets = self.method.is_none_or(|methods| methods.asks(Method::Packet));
        if packets || !(self.control.asks() || self.ethernet != Ethernet::Pause) {
            return Ok(());
        }
        let what = "--transport, --ethernet, --buffer and the like: only packets have them: --method packet or all";
        Err(Failure::Input(what.to_owned()))
    }

    /// The question about a benchmark.
    pub(crate) fn request(&self, mut benchmark: Benchmark, programs: &StackArgs) -> Result<Request, Failure> {
        match (&mut benchmark, self.size.laws.first()) {
            (Benchmark::Traffic { laws, .. }, _) => laws.clone_from(&self.size.laws),
            (_, Some(law)) => {
                return Err(Failure::Input(format!(
                    "--size {law}: only `simulate traffic` draws sizes; must be bytes"
                )));
            }
            (_, None) => {}
        }
        let network = Network {
            capacities: self.capacities,
            packet_size: self.packet_size.map(|size| size.0),
            streams: self.streams,
            paths: self.paths.clone(),
            technology: self.technology,
            ethernet: self.ethernet,
            controls: self.control.controls(self.ethernet)?,
            links: self.links,
        };
        let asked =
            asked(benchmark, (&self.fabrics()?, self.nodes.as_ref()), programs, (&self.watching, self.uncertain))?;
        Ok(Request { sizes: self.size.sizes.clone(), network, seed: self.seed, ..asked })
    }
}

/// The question about a benchmark that runs on nodes of fabrics.
pub(super) fn asked(
    benchmark: Benchmark,
    (fabrics, nodes): (&[String], Option<&Counts>),
    programs: &StackArgs,
    (watching, uncertain): (&WatchOptions, UncertainArgs),
) -> Result<Request, Failure> {
    watching.check()?;
    let nodes = nodes.map(Counts::to_u32).transpose();
    Ok(Request {
        fabrics: fabrics.to_vec(),
        nodes: nodes.map_err(|what| Failure::Input(format!("--nodes: {what}")))?,
        programs: programs.programs(watching.watching()),
        sensitivity: uncertain.vary(),
        ..Request::new(benchmark, "")
    })
}
