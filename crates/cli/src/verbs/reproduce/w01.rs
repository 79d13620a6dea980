//! W01: zero-copy message passing over SCI. So far the adapter's rates; what needs the message stack in time is a gap.

use super::{Kind, Report, Row};
use crate::Failure;
use hotlink_fabric::catalog::{Claim, Library, Mistake};
use hotlink_sim::host::{Host, Level};

const FABRIC: &str = "w01-sci-d330";
/// Large enough that set-up no longer counts.
const LARGE: u64 = 8 << 20;
/// What PCI 2.1 lets a target wait before its first data.
const MOST_READ_WAIT: u64 = 16;

/// What W01 prints and this project can give so far.
pub(super) fn report() -> Result<Report, Failure> {
    let library = Library::embedded();
    let claims = library.published("w01").map_err(|mistakes| wrong(&mistakes))?;
    let spec = library.fabric(FABRIC).map_err(|mistakes| wrong(&mistakes))?.spec;
    let host = Host::new(&spec).map_err(|error| Failure::Input(error.to_string()))?;
    let claims = claims.iter().flat_map(|claim| rows(&host, claim)).collect();
    let title = "Worringen, Seifert and Bemmerl 2001, Efficient Asynchronous Message Passing via SCI with Zero-Copying";
    Ok(Report { name: "W01", title, claims, series: Vec::new() })
}

fn rows(host: &Host, claim: &Claim) -> Vec<Row> {
    match claim.id.as_str() {
        "G027" => regular(host, claim),
        "G028" => vec![Row::new(claim, Kind::Prediction).gap(
            "what a page of registered memory costs the DMA engine is not known; 230 and 190 MiB/s are 3.6 us a page of 4 KiB apart",
        )],
        "G029" => vec![
            Row::new(claim, Kind::Calibrated).reproduced(FABRIC).under("the testbed is this fabric of the catalog"),
        ],
        _ => vec![Row::new(claim, Kind::Prediction).gap("needs the message stack on a simulated fabric")],
    }
}

/// In MiB/s.
fn rate(host: &Host, level: Level) -> f64 {
    host.transfer(LARGE, level).map_or(f64::NAN, |time| time.rate / f64::from(1 << 20))
}

/// Stores bound it from below, DMA at the bus protocol's least from above; in between lies the host bridge's wait.
fn regular(host: &Host, claim: &Claim) -> Vec<Row> {
    let dma = |clocks| match host.bus() {
        Some(bus) => rate(&host.clone().with_bus(bus.with_read_wait(clocks)), Level::Dma),
        None => f64::NAN,
    };
    let printed: f64 = claim.value.parse().unwrap_or(f64::NAN);
    let distance = |clocks: &u64| (dma(*clocks) - printed).abs();
    let fitted = (0..=MOST_READ_WAIT).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
    let row = |kind, reading: &str| Row::new(claim, kind).reading(reading).also("fabric", FABRIC);
    vec![
        row(Kind::Prediction, "stores through write combining")
            .reproduced(rate(host, Level::Deposit))
            .within(10.0)
            .known_not_to_hold()
            .under("8 MiB; the processor's loads limit it, from an estimated memory time"),
        row(Kind::Prediction, "DMA, bridge that fetches ahead")
            .reproduced(dma(0))
            .within(10.0)
            .known_not_to_hold()
            .under("8 MiB; the PCI protocol's least, no wait on reads: the B-Link limits it"),
        row(Kind::Calibrated, "DMA, fitted wait of the bridge")
            .reproduced(dma(fitted))
            .within(2.0)
            .also("fitted_read_wait_clocks", fitted)
            .under("8 MiB; PCI 2.1 allows a target 16 clocks to its first data"),
    ]
}

fn wrong(mistakes: &[Mistake]) -> Failure {
    Failure::Input(mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n"))
}
