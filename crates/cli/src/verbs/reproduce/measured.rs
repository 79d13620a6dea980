//! K98's figures taken on this machine: the benchmarks of `hotlink measure`, with K98's sizes and strides.

use crate::face::Terminal;
use crate::progress::When;
use crate::table::{Table, figure};
use crate::verbs::measure;
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use serde_json::Map;

/// What a slide asks of this machine. The ports stand for K98's networks; the kernel's TCP is its third level.
const FIGURES: [(&str, &str); 5] = [
    ("s19, s21, s23: deposit by stride", "deposit --via shm --size 512KiB --strides 1,2,3,4,5,6,7,8,12,16,24,32,48,64"),
    ("s24: raw blocks", "deposit --via shm --word 4 --size 4..512KiB --strides 1"),
    ("s25, s26: message passing", "semantics --via shm --size 4..1MiB"),
    ("s25, s26: message passing", "semantics --via tcp --size 4..1MiB"),
    ("s27: TCP/IP", "sockets --size 1MiB"),
];
/// Most seconds of a point.
const SECONDS: &str = "--time 0.02";

/// Pushes the records of every figure, each with the study and the figure it stands beside, and a table for people.
pub(super) fn run(output: &mut Output) -> Result<(), Failure> {
    let first = output.records().len();
    let (face, mut environment) = (Terminal(When::Never), Map::new());
    hotlink_measure::describe(&mut environment, &face);
    output.describe_all(environment);
    for (name, line) in FIGURES {
        for record in measure::of_line(&format!("{line} {SECONDS}"), &face)? {
            let place = Record::new().with("study", "K98").with("quantity", name);
            output.push(place.followed_by(record));
        }
    }
    let table = table(&output.records()[first..]);
    output.table(table);
    Ok(())
}

fn table(records: &[Record]) -> Table {
    let text =
        |record: &Record, keys: &[&str]| keys.iter().find_map(|key| record.text(key)).unwrap_or_default().to_owned();
    let row = |record: &Record| {
        // Sockets have records of latency too; K98's figures are rates.
        record.number("bandwidth_MBps")?;
        let words = [&["quantity"][..], &["via"], &["memory"], &["series", "semantics", "protocol"]]
            .map(|keys| text(record, keys));
        let numbers = ["stride", "size_B", "bandwidth_MBps"];
        let numbers = numbers.map(|key| record.number(key).map(figure).unwrap_or_default());
        Some(words.into_iter().chain(numbers).collect())
    };
    let heads = ["figure", "via", "memory", "series", "stride", "bytes", "MB/s"];
    let note = "Memory and kernel of this machine in place of K98's networks: shapes compare, rates do not.";
    Table {
        title: "K98 on this machine, measured".to_owned(),
        columns: heads.map(str::to_owned).to_vec(),
        rows: records.iter().filter_map(row).collect(),
        notes: vec![note.to_owned()],
    }
}
