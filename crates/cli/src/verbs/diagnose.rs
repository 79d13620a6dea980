//! `hotlink diagnose`: what holds a site's network back, from the outputs that the site has.

use crate::table::Table;
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_diagnose::{Diagnosis, Question, diagnose};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink diagnose results/*.txt --fabric ib-ndr-fat-tree2
  hotlink diagnose osu_bw.*.txt osu_latency.*.txt ibnetdiscover.txt dump_fts.txt
  hotlink diagnose ib_write_bw.node01.node02.txt lspci.node01.txt ibstat.node01.txt --fabric ib-ndr-fat-tree2 --json

Takes outputs of OSU, IMB, nccl-tests, perftest and iperf3, hotlink's own --json, ibnetdiscover, iblinkinfo, lspci -vv and
ibstat. A file is recognised by its content. Hosts are read from the file, from a line `# hosts: node[01-02]`, or from the
file's name after its first dot: osu_bw.node01.node02.txt. The more pairs of hosts, the more can be told apart.

Beliefs rank the explanations of one finding; they are no probabilities. docs/diagnose.md says how often the true cause is
among the first three.")]
pub(crate) struct Args {
    /// What the site has; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The fabric that was measured, of the catalog or a file. [default: the network that the files hold]
    #[arg(long, value_name = "FABRIC")]
    fabric: Option<String>,
    /// Nodes of the machine: how far apart two hosts may lie. [default: of a machine of any size]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    nodes: Option<u32>,
    /// List every number with its bound, too; --json always does.
    #[arg(long)]
    numbers: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let files = args.files.iter().map(|file| file.display().to_string()).collect();
    let found = diagnose(&Question { files, fabric: args.fabric.clone(), nodes: args.nodes })?;
    for table in tables(&found, args.numbers) {
        output.table(table);
    }
    found.records().into_iter().for_each(|record| output.push(record));
    Ok(())
}

/// Findings, explanations, flags and numbers, each under the other; what cannot be told stands last.
fn tables(found: &Diagnosis, with_numbers: bool) -> Vec<Table> {
    let verdict =
        |key: &str| found.verdict.get(key).map_or_else(String::new, |value| value.to_string().replace('"', ""));
    let title = format!(
        "{} on {}: {} findings in {} runs of {}",
        verdict("what"),
        verdict("fabric"),
        verdict("findings"),
        verdict("runs"),
        verdict("hosts")
    );
    let table = |title: &str, records: &[Record], columns: &[(&str, &str)]| Table {
        title: title.to_owned(),
        columns: columns.iter().map(|(_, head)| (*head).to_owned()).collect(),
        rows: records.iter().map(|record| columns.iter().map(|(key, _)| cell(record, key)).collect()).collect(),
        notes: Vec::new(),
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
    let unknown =
        |record: &Record| format!("not told: {} (next: {})", cell(record, "what"), cell(record, "next_command"));
    if let Some(last) = tables.last_mut() {
        last.notes.extend(found.unknown.iter().map(unknown));
    }
    tables
}

fn cell(record: &Record, key: &str) -> String {
    match record.get(key) {
        Some(value) => value
            .as_str()
            .map_or_else(|| value.as_f64().map_or_else(|| value.to_string(), crate::table::figure), str::to_owned),
        None => String::new(),
    }
}
