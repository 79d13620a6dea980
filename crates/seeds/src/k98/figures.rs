//! Slides 19, 21, 23 to 27 as series of points. K98's own values are lost, so that no point has a published number.

use super::{BLOCK, CURVES, Level, Model, STRIDES};
use crate::Row;
use crate::evidence::Evidence;
use crate::run::number;
use hotlink_sim::host::{DepositTime, Series};
use serde_json::Value;

const STRIDED: [(&str, &[&str]); 3] = [
    ("s19: deposit on Myrinet", &["k98-myrinet"]),
    ("s21: deposit on SCI", &["k98-sci", "k98-clustar"]),
    ("s23: deposit on the T3D", &["k98-t3d"]),
];
const MESSAGES: [(&str, &str, &str); 2] =
    [("G020", "s25: MPI on Myrinet", "k98-myrinet"), ("G021", "s26: MPI on SCI", "k98-clustar")];

/// Every point of every figure, figure by figure.
pub(super) fn series(model: &Model) -> Vec<Row> {
    let mut rows = Vec::new();
    for (figure, fabrics) in STRIDED {
        for fabric in fabrics {
            rows.extend(Series::USUAL.into_iter().flat_map(|series| {
                STRIDES.map(|stride| {
                    strided(
                        figure,
                        (fabric, model.evidence(fabric)),
                        stride,
                        series,
                        &model.deposit(fabric, BLOCK, stride, series),
                    )
                })
            }));
        }
    }
    for fabric in ["k98-clustar", "k98-sci", "k98-myrinet"] {
        rows.extend((2..=19).map(|bits| {
            let time = model.deposit(fabric, 1 << bits, 1, Series::RemoteDirect);
            point("G019", "s24: raw blocks", (fabric, model.evidence(fabric)), &time).also("size_B", 1u64 << bits)
        }));
    }
    for (id, figure, fabric) in MESSAGES {
        for level in [Level::Restricted, Level::Postal] {
            let of = |record: &Value| message(id, figure, record).also("series", level.name());
            rows.extend(model.curve(fabric, level).iter().map(of));
        }
    }
    rows
}

fn strided(figure: &str, fabric: (&str, Evidence), stride: u64, series: Series, time: &DepositTime) -> Row {
    point("G018", figure, fabric, time).also("series", series.name()).also("stride", stride).also("size_B", BLOCK)
}

fn point(id: &str, figure: &str, (fabric, evidence): (&str, Evidence), time: &DepositTime) -> Row {
    Row::point(id, figure, evidence, time.rate / 1e6, "MB/s")
        .also("fabric", fabric)
        .also("bound_bandwidth_MBps", time.bound.mbps)
        .also("efficiency", time.efficiency())
        .also("limiting_resource", time.limiting.clone())
}

/// A point of the message stack on simulated ports.
fn message(id: &str, figure: &str, record: &Value) -> Row {
    let told = ["fabric", "size_B", "bound_bandwidth_MBps", "efficiency", "limiting_resource"];
    let row = Row::point(id, figure, Evidence::of_records([record]), number(record, "bandwidth_MBps"), "MB/s");
    told.into_iter().fold(row, |row, key| row.also(key, record[key].clone())).also("command", CURVES)
}
