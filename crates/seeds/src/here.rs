//! K98's figures taken on this machine: the benchmarks of `hotlink measure`, with K98's sizes and strides.

use crate::run::Measure;
use hotlink_bench::Record;
use hotlink_study::Error;

/// What a slide asks of this machine. The ports stand for K98's networks; the kernel's TCP is its third level.
const FIGURES: [(&str, &str); 5] = [
    (
        "s19, s21, s23: deposit by stride",
        "measure deposit --via shm --size 512KiB --strides 1,2,3,4,5,6,7,8,12,16,24,32,48,64",
    ),
    ("s24: raw blocks", "measure deposit --via shm --word 4 --size 4..512KiB --strides 1"),
    ("s25, s26: message passing", "measure semantics --via shm --size 4..1MiB"),
    ("s25, s26: message passing", "measure semantics --via tcp --size 4..1MiB"),
    ("s27: TCP/IP", "measure sockets --size 1MiB"),
];

/// The records of every figure, each with its study and figure. Each point takes so many seconds and blocks (those of
/// `measure` by default).
///
/// # Errors
/// A command's own.
pub fn figures(measure: &dyn Measure, seconds: f64, blocks: Option<u32>) -> Result<Vec<Record>, Error> {
    let blocks = blocks.map_or(String::new(), |blocks| format!(" --blocks {blocks}"));
    let mut all = Vec::new();
    for (name, command) in FIGURES {
        let place = Record::new().with("study", "K98").with("quantity", name);
        let records = measure.records(&format!("{command} --time={seconds}{blocks}"))?;
        all.extend(records.into_iter().map(|record| place.clone().followed_by(record)));
    }
    Ok(all)
}
