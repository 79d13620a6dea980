//! K98: SCI, Myrinet and T3D at three levels of support by the operating system.
//!
//! Of K98's curves only the axes, the orderings stated in the text and one label (126 MB/s) are left. They are compared
//! with simulated hosts whose parameters were not fitted to any of them. Deposits use the hosts' model (s19-24);
//! message passing and TCP/IP use the message stack on simulated ports (s25-27).

mod claims;
mod figures;

use crate::Report;
use crate::evidence::Evidence;
use crate::run::{Question, Run, number};
use hotlink_fabric::catalog::Library;
use hotlink_fabric::spec::FabricSpec;
use hotlink_sim::host::{Deposit, DepositTime, Host, Series};
use hotlink_study::Error;
use hotlink_study::ask::Method;
use hotlink_study::options::{SendMode, Via};
use hotlink_study::simulate::programs::Programs;
use hotlink_study::simulate::request::{Benchmark, Request};
use serde_json::{Value, json};

/// K98's platforms: the fabric and what K98 calls it.
const FABRICS: [&str; 4] = ["k98-myrinet", "k98-sci", "k98-clustar", "k98-t3d"];
/// The axis of s19, s21 and s23.
const STRIDES: [u64; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64];
/// Payload of the strided deposits; s24's largest block.
const BLOCK: u64 = 512 << 10;
/// Large enough that the first and last packet's path no longer counts.
const LARGE: u64 = 8 << 20;

/// Payload of a bar of s27.
const BAR: u64 = 1 << 20;

/// s25, s26, with both flavours of message passing.
const CURVES: &str = "simulate semantics --fabric k98-myrinet,k98-clustar --size 4..1MiB";
/// s27.
const BARS: &str = "simulate semantics --fabric k98-myrinet,k98-sci,k98-clustar,k98-t3d --size 1MiB";
/// s27; the catalog has no TCP/IP for the T3D.
const SOCKETS: &str =
    "simulate semantics --fabric k98-myrinet,k98-sci,k98-clustar --size 1MiB --semantics restricted --via tcp";

/// What its rows and figures are read from.
pub(super) fn questions() -> [Question; 3] {
    let ask = |command: &'static str, fabrics: &[&str], sizes, modes, programs| {
        let fabrics = fabrics.iter().map(|&fabric| fabric.to_owned()).collect();
        let request = Request::new(Benchmark::Semantics(modes), "");
        Question { command: command.into(), request: Request { fabrics, sizes, programs, ..request } }
    };
    let both = || vec![SendMode::Restricted, SendMode::Postal];
    let sizes = (2..=20).map(|power| 1 << power).collect();
    let tcp = Programs { via: vec![Via::Tcp], ..Programs::default() };
    [
        ask(CURVES, &["k98-myrinet", "k98-clustar"], sizes, both(), Programs::default()),
        ask(BARS, &FABRICS, vec![BAR], both(), Programs::default()),
        ask(SOCKETS, &FABRICS[..3], vec![BAR], vec![SendMode::Restricted], tcp),
    ]
}

/// How a program hands a block over; K98's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Straight into remote memory.
    Deposit,
    /// Message passing whose sender waits for the receiver.
    Restricted,
    /// Message passing at any time.
    Postal,
    /// The kernel's TCP/IP.
    Tcp,
}

impl Level {
    /// K98's summary, in its order (s27).
    const SUMMARY: [Level; 4] = [Level::Deposit, Level::Restricted, Level::Postal, Level::Tcp];

    fn name(self) -> &'static str {
        match self {
            Level::Deposit => "deposit",
            Level::Restricted => "mpi-restricted",
            Level::Postal => "mpi-postal",
            Level::Tcp => "tcp",
        }
    }

    /// As records of `simulate semantics` name it.
    fn semantics(self) -> &'static str {
        if self == Level::Postal { "postal" } else { "restricted" }
    }
}

/// The platforms, with their hosts, and messages between two of each.
struct Model {
    platforms: Vec<(FabricSpec, Host)>,
    curves: Run,
    bars: Run,
    sockets: Run,
}

impl Model {
    fn open(library: &Library) -> Result<Model, Error> {
        let open = |name| {
            let spec = library.fabric(name)?.spec;
            let host = Host::new(&spec).map_err(|error| Error::Input(error.to_string()))?;
            Ok((spec, host))
        };
        let [curves, bars, sockets] = questions();
        Ok(Model {
            platforms: FABRICS.into_iter().map(open).collect::<Result<_, Error>>()?,
            curves: Run::new(&curves)?,
            bars: Run::new(&bars)?,
            sockets: Run::new(&sockets)?,
        })
    }

    fn platform(&self, fabric: &str) -> &(FabricSpec, Host) {
        self.platforms.iter().find(|(spec, _)| spec.name == fabric).expect("one of FABRICS")
    }

    fn spec(&self, fabric: &str) -> &FabricSpec {
        &self.platform(fabric).0
    }

    fn host(&self, fabric: &str) -> &Host {
        &self.platform(fabric).1
    }

    /// Evidence of a deposit: the host's model read the machine when it was made.
    fn evidence(&self, fabric: &str) -> Evidence {
        Evidence::of(Method::Packet, self.spec(fabric))
    }

    fn deposit(&self, fabric: &str, bytes: u64, stride: u64, series: Series) -> DepositTime {
        self.host(fabric).deposit(&Deposit::new(bytes, stride, series))
    }

    /// The records of a curve of s25 or s26.
    fn curve(&self, fabric: &str, level: Level) -> Vec<Value> {
        let wanted = [("fabric", json!(fabric)), ("semantics", json!(level.semantics()))];
        self.curves.with(&wanted).cloned().collect()
    }

    /// Payload rate of one block of [`BAR`] bytes in MB/s, with its evidence; `None` where a host lacks the level.
    fn bar(&self, fabric: &str, level: Level) -> Option<(f64, Evidence)> {
        let run = match level {
            Level::Deposit => {
                let time = self.deposit(fabric, BAR, 1, Series::RemoteDirect);
                return Some((time.rate / 1e6, self.evidence(fabric)));
            }
            Level::Tcp => &self.sockets,
            Level::Restricted | Level::Postal => &self.bars,
        };
        let wanted = [("fabric", json!(fabric)), ("semantics", json!(level.semantics()))];
        run.with(&wanted).next().map(|record| (number(record, "bandwidth_MBps"), Evidence::of_records([record])))
    }
}

/// Everything that K98 prints and this project can give.
pub(super) fn report() -> Result<Report, Error> {
    let library = Library::embedded();
    let claims = library.published("k98")?;
    let model = Model::open(&library)?;
    let series = figures::series(&model);
    let claims = claims.iter().map(|claim| claims::rows(&model, claim, &series)).collect::<Result<Vec<_>, Error>>()?;
    let claims = claims.into_iter().flatten().collect();
    let title = "Kurmann and Stricker 1998, A Comparison of Two Gigabit SAN/LAN Technologies: SCI versus Myrinet";
    Ok(Report { name: "K98", title, claims, series })
}
