//! W01: zero-copy message passing over SCI. The message stack runs on the simulated fabric; rows name the commands.
//!
//! No parameter is fitted to what W01 prints: its two bandwidths follow from the memory system, the bus and the chain
//! of pages (`crates/memory`). Registration times are by analogy.

mod claims;
mod figures;
mod runs;

use crate::evidence::Found;
use crate::run::{Measure, Question, number};
use crate::{Report, Row};
use hotlink_fabric::catalog::{Claim, Library};
use hotlink_fabric::spec::FabricSpec;
use hotlink_sim::host::{Deposit, Host, Series};
use hotlink_sim::port::Adapter;
use hotlink_sim::{Plan, Settings};
use hotlink_study::ask::Method;
use hotlink_study::{Error, Source};
use runs::Runs;
use serde_json::Value;

const FABRIC: &str = "w01-sci-d330";
/// Large enough that registration no longer counts.
const LARGE: u64 = 8 << 20;

/// What its rows and figures are read from.
pub(super) fn questions() -> Vec<Question> {
    runs::questions().to_vec()
}

/// What W01 prints and this project gives; `measure` takes the same benchmarks on this machine's shared memory too.
pub(super) fn report(measure: Option<&dyn Measure>) -> Result<Report, Error> {
    let library = Library::embedded();
    let claims = library.published("w01")?;
    let spec = library.fabric(FABRIC)?.spec;
    let host = Host::new(&spec).map_err(|error| Error::Input(error.to_string()))?;
    let (setups, runs) = (Setups::new()?, Runs::new(measure)?);
    let series = figures::series(&runs, &host, &setups);
    let stored = claims.iter().filter(|claim| claim.id == "G027").map(|claim| by_stores(&spec, claim));
    let mut rows: Vec<Row> = stored.collect::<Result<_, Error>>()?;
    rows.extend(claims.iter().flat_map(|claim| claims::rows(&runs, &setups, claim)));
    let title = "Worringen, Seifert and Bemmerl 2001, Efficient Asynchronous Message Passing via SCI with Zero-Copying";
    Ok(Report { name: "W01", title, claims: rows, series })
}

/// The times to register a buffer.
struct Setups(Adapter);

impl Setups {
    fn new() -> Result<Setups, Error> {
        let fabric = Source::open(FABRIC)?.build(2).map_err(Error::Input)?;
        let plan = Plan::new(&fabric, &Settings::of(&fabric.spec));
        let plan = plan.map_err(|error| Error::Input(error.to_string()))?;
        Ok(Setups(Adapter::new(&plan).map_err(|missing| Error::Input(missing.to_string()))?))
    }
    /// To map, connect and register so many bytes, in microseconds.
    fn times(&self, bytes: u64) -> [f64; 3] {
        [self.0.map_time(bytes), self.0.connect_time(), self.0.register_time(bytes)].map(|time| time.us())
    }
}

/// A record's bandwidth in W01's MiB/s.
fn mib(record: &Value) -> f64 {
    number(record, "bandwidth_MBps") * 1e6 / f64::from(1 << 20)
}

/// The other path to move regular segments, which the seed does not say it took.
fn by_stores(spec: &FabricSpec, claim: &Claim) -> Result<Row, Error> {
    let rate = |spec: &FabricSpec| {
        let host = Host::new(spec).map_err(|error| Error::Input(error.to_string()))?;
        Ok::<f64, Error>(host.deposit(&Deposit::new(LARGE, 1, Series::RemoteDirect)).rate / f64::from(1 << 20))
    };
    let row = Found::by(Method::Packet, spec, rate)?.row(claim).also("fabric", FABRIC);
    let row = row.reading("stores through write combining").known_not_to_hold();
    Ok(row.under("8 MiB; the processor's loads and the issue of combined stores limit it"))
}
