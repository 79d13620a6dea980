//! A site's own network on paper.

use crate::columns::FAILURES;
use crate::table::Table;
use hotlink_bench::Record;

/// What failures cost: the network whole, then `top` of its failures.
pub fn failures(records: &[Record], top: usize) -> [Table; 2] {
    let (whole, all) = records.split_at(records.len().min(1));
    let (shown, hidden) = all.split_at(all.len().min(top));
    let notes =
        if hidden.is_empty() { Vec::new() } else { vec![format!("{} more: --top {}", hidden.len(), all.len())] };
    [Table::of(whole), Table { notes, ..Table::of_columns(shown, FAILURES) }]
}

/// A network at a glance, with the command that shows each finding.
pub fn inspection(files: &[String], record: &Record) -> Table {
    Table { notes: notes(files, record), ..Table::of(std::slice::from_ref(record)) }
}

/// The command that shows each finding.
fn notes(files: &[String], record: &Record) -> Vec<String> {
    let routes: String = files[1..].iter().map(|file| format!(" --routes {file}")).collect();
    let analyze = format!("hotlink analyze {}{routes}", files[0]);
    let mut notes: Vec<String> = record.text("note").map(|note| format!("note: {note}")).into_iter().collect();
    notes.push(format!("what every cable carries: {analyze} --links"));
    for (key, what, traffic) in [
        ("permutation_worst_seed", "permutation", "permutation:random"),
        ("ring_worst_seed", "ring", "permutation:ring"),
    ] {
        if let Some(seed) = record.text(key) {
            notes.push(format!("the worst {what}: {analyze} --traffic {traffic} --samples 1 --seed {seed} --links"));
        }
    }
    if let Some(shift) = record.text("shift_worst") {
        notes.push(format!("the worst shift: {analyze} --traffic {shift} --links"));
    }
    let fabric = format!("hotlink fabric {}", files.join(" "));
    notes.push(format!("what each failure costs: {fabric} --failures"));
    notes.push(format!("better tables: {fabric} --reroute tables.out"));
    notes
}
