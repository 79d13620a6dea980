//! Each claim of K98 with the model's answer: the platforms, the label 126, the axes, the orderings.

use super::{BLOCK, FABRICS, LARGE, Level, Model, STRIDES};
use crate::Row;
use crate::evidence::{Evidence, Found};
use crate::words::{is_clearly_more, is_same};
use hotlink_fabric::catalog::Claim;
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_sim::host::{Deposit, Host, Series};
use hotlink_study::Error;
use hotlink_study::ask::Method;

const PCI: [&str; 3] = ["k98-myrinet", "k98-sci", "k98-clustar"];

/// The rows of one claim.
pub(super) fn rows(model: &Model, claim: &Claim, series: &[Row]) -> Result<Vec<Row>, Error> {
    Ok(match claim.id.as_str() {
        "G001" => vec![input(claim, model.parameter("k98-myrinet", "cpu_clock") / 1e6)],
        "G002" => vec![input(claim, model.gross("k98-myrinet", Role::Memory) / 1e9)],
        "G003" => vec![bus_peak(model, claim)],
        "G004" => vec![stated(claim).gap("no price list of 1998 is in the catalog")],
        "G005" => vec![input(claim, model.gross("k98-myrinet", Role::Link) * 8.0 / 1e9)],
        "G008" => vec![input(claim, model.parameter("k98-myrinet", "adapter_memory") / f64::from(1 << 20))],
        "G010" => link_rates(model, claim),
        "G013" => vec![input(claim, model.parameter("k98-t3d", "cpu_clock") / 1e6)],
        "G014" => {
            vec![input(claim, model.gross("k98-t3d", Role::Link) * 8.0 / 1e9).published(1.28, "Gbit/s")]
        }
        "G006" | "G007" | "G009" | "G011" | "G012" | "G015" => vec![structure(model, claim)],
        "G016" => vec![label_126(model, claim)?],
        "G017" => axes(claim, series),
        "G018" => packing(claim, series),
        "G019" => raw_blocks(claim, series),
        "G020" => vec![axis(claim, series, "s25", 140.0), postal_below(claim, series)],
        "G021" => vec![axis(claim, series, "s26", 80.0).known_not_to_hold().under("ScaMPI stayed below the raw deposit of s24; blocking messages of this project's stack move by the processor's stores at their full rate"), postal_below(claim, series)],
        "G022" => bars(model, claim),
        "G023" => {
            vec![
                levels(model, claim, "mpi-restricted / deposit", Level::Restricted, Level::Deposit, |ratio| is_same(ratio, 1.0))
                    .under("1 MiB; the stack takes the faster of stores and DMA: on SCI the processor's stores, for each read of 64 bytes by DMA waits for memory"),
            ]
        }
        "G024" => vec![levels(
            model,
            claim,
            "mpi-postal / mpi-restricted",
            Level::Postal,
            Level::Restricted,
            |ratio| ratio < 1.0,
        )],
        "G025" => vec![
            levels(model, claim, "tcp / mpi-postal", Level::Tcp, Level::Postal, |ratio| ratio < 1.0)
                .known_not_to_hold()
                .under("Myrinet's driver sends 8 KiB a packet, and both ends of a stream copy at once; a postal message is copied at one end after the other"),
        ],
        "G026" => vec![contiguous(model, claim), collapse(claim, series)],
        _ => vec![stated(claim).gap("not modelled")],
    })
}

impl Model {
    fn parameter(&self, fabric: &str, name: &str) -> f64 {
        self.spec(fabric).parameters.get(name).map_or(f64::NAN, |value| value.value)
    }

    fn gross(&self, fabric: &str, role: Role) -> f64 {
        let gross = self.spec(fabric).resources.get(&role).and_then(|resource| resource.gross.as_ref());
        gross.map_or(f64::NAN, |gross| gross.value.0 as f64)
    }
}

/// An input of the model, as the catalog states it.
fn stated(claim: &Claim) -> Row {
    Row::new(claim, Evidence::stated())
}

/// A row that rests on points of a figure.
fn drawn<'a>(claim: &Claim, points: impl IntoIterator<Item = &'a Row>) -> Row {
    let evidence = points.into_iter().fold(Evidence::stated(), |all, row| all.and(row.evidence.clone()));
    Row::new(claim, evidence)
}

fn input(claim: &Claim, value: f64) -> Row {
    stated(claim).reproduced(value).under("input of the model")
}

fn bus_peak(model: &Model, claim: &Claim) -> Row {
    let peak = model.host("k98-myrinet").bus().map_or(f64::NAN, |bus| bus.peak() / 1e6);
    stated(claim).reproduced(peak).under("width x clock")
}

fn link_rates(model: &Model, claim: &Claim) -> Vec<Row> {
    let link = |fabric: &str| model.gross(fabric, Role::Link) * 8.0 / 1e9;
    vec![
        input(claim, link("k98-sci")).reading("SCI 1"),
        input(claim, link("k98-clustar")).published(3.2, "Gbit/s").reading("CluStar"),
    ]
}

/// How the hardware is built. What the catalog states is checked; what is in the model's shape is reported, unchecked.
fn structure(model: &Model, claim: &Claim) -> Row {
    let parameter = |fabric: &str, name: &str| model.parameter(fabric, name);
    let built = |what: &str| (None, what.to_owned());
    let (holds, what) = match claim.id.as_str() {
        "G006" => built("one crossbar of 16 ports"),
        "G007" => (Some(model.spec("k98-myrinet").packet.payload_max_bytes.is_none()), "unlimited".to_owned()),
        "G009" => built("a processor per adapter, host and network DMA at the same time"),
        "G011" => built("16 and 64; 256 is beyond a stream buffer"),
        "G012" => {
            let (buffers, size) =
                (parameter("k98-clustar", "stream_buffers"), parameter("k98-clustar", "stream_buffer_size"));
            (Some((buffers, size) == (8.0, 64.0)), format!("{buffers} x {size}"))
        }
        _ => built("words reach memory without the receiver's processor"),
    };
    let row = stated(claim).reproduced(what).under("the model is built so");
    match holds {
        Some(holds) => row.holds(holds),
        None => row,
    }
}

/// The bus's clocks, the wait for memory behind its bridge, and bursts whose length the seed does not say.
fn label_126(model: &Model, claim: &Claim) -> Result<Row, Error> {
    let rate = |spec: &FabricSpec| {
        let host = Host::new(spec).map_err(|error| Error::Input(error.to_string()))?;
        Ok::<_, Error>(host.deposit(&Deposit::new(LARGE, 1, Series::RemoteDirect)).rate / 1e6)
    };
    let found = Found::by(Method::Packet, model.spec("k98-myrinet"), rate)?;
    let why = "8 MiB; bursts of 256 B, as later cards have them by default; the bridge's wait follows from the memory";
    Ok(found.row(claim).under(why).known_not_to_hold().also("fabric", "k98-myrinet"))
}

/// The points of a slide with fabric and series.
fn points<'a>(series: &'a [Row], slide: &'a str) -> impl Iterator<Item = &'a Row> {
    series.iter().filter(move |row| row.quantity.starts_with(slide))
}

/// Whether the highest point lies below the axis' last label.
fn axis(claim: &Claim, series: &[Row], slide: &str, last_label: f64) -> Row {
    axis_of(claim, slide, &points(series, slide).collect::<Vec<_>>(), last_label)
}

fn axis_of(claim: &Claim, slide: &str, points: &[&Row], last_label: f64) -> Row {
    let highest = points.iter().filter_map(|row| row.reproduced.as_f64()).fold(0.0, f64::max);
    drawn(claim, points.iter().copied())
        .reading(&format!("{slide}: highest point under the axis' last label"))
        .reproduced(highest)
        .in_unit("MB/s")
        .also("axis_MBps", last_label)
        .holds(highest <= last_label)
}

fn axes(claim: &Claim, series: &[Row]) -> Vec<Row> {
    let is_label = |row: &&Row| {
        row.key("series").is_some_and(|name| name == Series::RemoteDirect.name())
            && row.key("stride").is_some_and(|stride| stride == 1)
    };
    let s19: Vec<&Row> = points(series, "s19").filter(|row| !is_label(row)).collect();
    vec![
        axis_of(claim, "s19", &s19, 90.0).under("without the point that K98 labels 126"),
        axis(claim, series, "s21", 90.0)
            .known_not_to_hold()
            .under("CluStar at stride 1 comes to 96 MB/s, PCI's bound for bursts of 32 bytes: the model's chipset posts them without a pause"),
        axis(claim, series, "s23", 120.0)
            .known_not_to_hold()
            .under("the local copy follows STREAM's memory rates; K98's copy loop was slower"),
    ]
}

/// The rate of one point of s19, s21 or s23.
fn strided(series: &[Row], fabric: &str, way: Series, stride: u64) -> f64 {
    let is = |row: &&Row, key: &str, value: &str| row.key(key).is_some_and(|found| found == value);
    let of = series.iter().filter(|row| is(row, "fabric", fabric) && is(row, "series", way.name()));
    let at = of.filter(|row| row.key("stride").is_some_and(|found| *found == stride)).map(|row| &row.reproduced);
    at.filter_map(|value| value.as_f64()).next().unwrap_or(f64::NAN)
}

/// The strides at which the block with unpacking overtakes direct stores. K98's curves would show them, its text does
/// not.
fn packing(claim: &Claim, series: &[Row]) -> Vec<Row> {
    let row = |fabric: &str| {
        let rate = |way, stride| strided(series, fabric, way, stride);
        let wins = |stride: &&u64| rate(Series::RemoteDmaUnpack, **stride) > rate(Series::RemoteDirect, **stride);
        let strides: Vec<String> = STRIDES.iter().filter(wins).map(u64::to_string).collect();
        let strides = if strides.is_empty() { "none".to_owned() } else { strides.join(",") };
        let of = series.iter().filter(|row| row.key("fabric").is_some_and(|name| name == fabric));
        drawn(claim, of.filter(|row| row.id == "G018"))
            .reading(&format!("{fabric}: strides where unpacking beats direct"))
            .reproduced(strides)
            .also("fabric", fabric)
            .under("all three series at all 14 strides are simulated")
    };
    FABRICS.map(row).to_vec()
}

fn raw_blocks(claim: &Claim, series: &[Row]) -> Vec<Row> {
    let curve = |fabric: &str| -> Vec<f64> {
        let of = points(series, "s24").filter(|row| row.key("fabric").is_some_and(|name| name == fabric));
        of.filter_map(|row| row.reproduced.as_f64()).collect()
    };
    let (clustar, first) = (curve("k98-clustar"), curve("k98-sci"));
    let ahead = clustar.iter().zip(&first).filter(|(clustar, first)| clustar >= first).count();
    vec![
        axis(claim, series, "s24", 140.0),
        drawn(claim, points(series, "s24"))
            .reading("s24: sizes where CluStar is at least as fast as SCI 1")
            .reproduced(format!("{ahead} of {}", first.len()))
            .in_unit("sizes")
            .holds(ahead == 18 && first.len() == 18),
    ]
}

/// A claim of s25 or s26.
fn postal_below(claim: &Claim, series: &[Row]) -> Row {
    let of = |level: Level| -> Vec<f64> {
        let points = series.iter().filter(|row| row.id == claim.id);
        let points = points.filter(|row| row.key("series").is_some_and(|name| name == level.name()));
        points.filter_map(|row| row.reproduced.as_f64()).collect()
    };
    let (restricted, postal) = (of(Level::Restricted), of(Level::Postal));
    let below: Vec<bool> = restricted.iter().zip(&postal).map(|(restricted, postal)| postal < restricted).collect();
    // Small messages gain from not waiting for the receiver; K98's claim is about bandwidth.
    let from = below.iter().rposition(|below| !below).map_or(0, |last| last + 1);
    drawn(claim, series.iter().filter(|row| row.id == claim.id))
        .reading("postal below restricted from this size on")
        .reproduced(1u64 << (from + 2))
        .under(format!("{} sizes; the slide names none", below.len()))
}

fn bars(model: &Model, claim: &Claim) -> Vec<Row> {
    let bar = |fabric: &&str, level: Level| {
        let row = match model.bar(fabric, level) {
            Some((rate, evidence)) => {
                Row::new(claim, evidence).reproduced(rate).under("1 MiB; K98's bar has lost its value")
            }
            None => stated(claim).gap("K98 marks bars as missing; the catalog has no TCP/IP for this machine"),
        };
        let row = row.reading(&format!("{fabric} {}", level.name()));
        row.also("fabric", *fabric).also("series", level.name())
    };
    FABRICS.iter().flat_map(|fabric| Level::SUMMARY.map(|level| bar(fabric, level))).collect()
}

/// The ratio of two levels on every platform that has both.
fn levels(model: &Model, claim: &Claim, what: &str, over: Level, under: Level, said: impl Fn(f64) -> bool) -> Row {
    let both: Vec<_> =
        FABRICS.iter().filter_map(|fabric| Some((model.bar(fabric, over)?, model.bar(fabric, under)?))).collect();
    let ratios: Vec<f64> = both.iter().map(|((over, _), (under, _))| over / under).collect();
    let highest = ratios.iter().copied().fold(0.0, f64::max);
    let evidence = both.into_iter().fold(Evidence::stated(), |all, ((_, a), (_, b))| all.and(a).and(b));
    Row::new(claim, evidence)
        .reading(what)
        .reproduced(highest)
        .under(format!("highest of {} platforms, 1 MiB", ratios.len()))
        .holds(ratios.len() >= 3 && ratios.iter().all(|&ratio| said(ratio)))
}

/// "Excellent performance for contiguous blocks".
fn contiguous(model: &Model, claim: &Claim) -> Row {
    let share = |fabric: &&str| {
        let time = model.deposit(fabric, BLOCK, 1, Series::RemoteDirect);
        time.efficiency()
    };
    let lowest = FABRICS.iter().map(share).fold(1.0, f64::min);
    let evidence = FABRICS.iter().fold(Evidence::stated(), |all, fabric| all.and(model.evidence(fabric)));
    Row::new(claim, evidence)
        .reading("contiguous: lowest share of the bus or link bound")
        .reproduced(lowest)
        .holds(!is_clearly_more(1.0, lowest))
        .under("excellent: less than a factor of 2 below that bound")
}

/// "For strided data the performance of PCI-adapters collapses".
fn collapse(claim: &Claim, series: &[Row]) -> Row {
    let kept = |fabric: &str| {
        let rate = |stride| strided(series, fabric, Series::RemoteDirect, stride);
        STRIDES[1..].iter().map(|stride| rate(*stride) / rate(1)).collect::<Vec<f64>>()
    };
    let most = PCI.iter().flat_map(|fabric| kept(fabric)).fold(0.0, f64::max);
    let t3d = kept("k98-t3d").into_iter().fold(1.0, f64::min);
    drawn(claim, series.iter().filter(|row| row.id == "G018"))
        .reading("strided: highest share of contiguous that a PCI adapter keeps")
        .reproduced(most)
        .also("T3D_keeps", t3d)
        .holds(is_clearly_more(1.0, most))
        .under("collapses: by a factor of 2 at least")
}
