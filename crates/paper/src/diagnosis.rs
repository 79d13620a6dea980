//! A diagnosis on paper.

use crate::table::Table;
use hotlink_bench::Record;
use hotlink_diagnose::Diagnosis;

/// Findings, explanations, flags and numbers, each under the other; what cannot be known stands last.
pub fn tables(found: &Diagnosis, with_numbers: bool) -> Vec<Table> {
    let verdict =
        |key: &str| found.verdict.get(key).map_or_else(String::new, |value| value.to_string().replace('"', ""));
    let (runs, hosts) = (found.verdict.number("runs").unwrap_or(0.0), verdict("hosts"));
    let runs = if runs > 0.0 { format!(" in {runs} runs") } else { ", and no run".to_owned() };
    let hosts = if hosts.is_empty() { hosts } else { format!(" of {hosts}") };
    let title = format!("{} on {}: {} findings{runs}{hosts}", verdict("what"), verdict("fabric"), verdict("findings"));
    let table = |title: &str, records: &[Record], columns: &[(&str, &str)]| Table {
        title: title.to_owned(),
        ..Table::with_heads(records, columns)
    };
    let mut tables =
        vec![table(&title, &found.findings, &[("finding", "finding"), ("subject", "subject"), ("what", "seen")])];
    let columns = [
        ("rank", "rank"),
        ("belief", "belief"),
        ("signature", "cause"),
        ("what", "explanation"),
        ("predicted", "prediction"),
        ("next_command", "next"),
    ];
    if !found.explanations.is_empty() {
        tables.push(table("explanations, the most likely first", &found.explanations, &columns));
    }
    if !found.flags.is_empty() {
        tables.push(table("does not count, or cannot be", &found.flags, &[("file", "file"), ("what", "why")]));
    }
    if with_numbers {
        tables.push(Table::of(&found.numbers));
    }
    let text = |record: &Record, key: &str| record.text(key).unwrap_or_default().to_owned();
    let unknown =
        |record: &Record| format!("unknown: {} (next: {})", text(record, "what"), text(record, "next_command"));
    if let Some(last) = tables.last_mut() {
        last.notes.extend(found.unknown.iter().map(unknown));
    }
    tables
}
