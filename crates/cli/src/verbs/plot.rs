//! `hotlink plot`: results as curves. Python draws; this reads, checks and hands over.

use crate::Failure;
use crate::words::word;
use hotlink_paper::{Output, pretty};
use hotlink_results::Batch;
use hotlink_results::picked::{self, Picked};
use hotlink_study::schema::VERSION;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink measure pingpong --size 8..4MiB --json > shm.json && hotlink plot shm.json --out latency.svg
  hotlink plot openmpi.json mpich.json --y bandwidth_MBps --out both.png
  hotlink simulate traffic --fabric ib-ndr-fat-tree2 --nodes 64 --load 0.1..1.0 --json > t.json && hotlink plot t.json --out t.png
  hotlink plot k98.json --where id=G018 --where fabric=k98-sci,k98-myrinet --facet fabric --x stride --y reproduced --out s.svg
  hotlink plot raw.json --y samples --out distribution.png      # of `measure ... --raw`

Sizes have a log2 axis with IEC labels, latencies a logarithmic one. Medians have their 95 % intervals. Bounds are dotted in
the colour of what they bound, or in grey where lines share one. Models over nodes are steps if every number of nodes was
computed; distributions are steps.

Units are those that read best (50 GB/s), and the names of lines are at their ends. Where lines are many or hide each other,
each has a small chart of its own with the others in grey. Costs of several years are a chart each.")]
pub(crate) struct Args {
    /// Result files that --json, or --format jsonl, csv or md printed (.json, .jsonl, .csv, .md), or folders of a sweep.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Write the picture to this file: .png, .svg or .pdf.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Draw this key across. [default: the key that differs, sizes first]
    #[arg(long, value_name = "KEY")]
    x: Option<String>,
    /// Draw these keys upwards, one chart each; `samples` draws their distribution. [default: latency and bandwidth, where
    /// there are any]
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    y: Vec<String>,
    /// Draw only records whose KEY has this value, or one of several: `--where fabric=a,b`. Repeatable; all must hold.
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = Picked::read)]
    wanted: Vec<Picked>,
    /// Draw one row of charts for each value of this key.
    #[arg(long, value_name = "KEY")]
    facet: Option<String>,
    /// Give the picture this title. [default: the values that all records share]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Add a line below the picture. Repeatable.
    #[arg(long, value_name = "TEXT")]
    note: Vec<String>,
    /// Choose whether lines share a chart.
    #[arg(long, value_name = "WHEN", value_parser = word::<Panels>(), default_value = "auto")]
    panels: Panels,
}

hotlink_study::words! {
    /// Choose whether lines share a chart.
    enum Panels {
        /// If they are few and none hides another.
        Auto = "auto",
        /// Always.
        One = "one",
        /// Never: each has its own.
        Each = "each",
    }
}

const PICTURES: [&str; 3] = ["png", "svg", "pdf"];

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let suffix = args.out.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    if !PICTURES.contains(&suffix) {
        return Err(Failure::Input(format!("--out {}: must end in .png, .svg or .pdf", args.out.display())));
    }
    let records = picked::chosen(picked::all(&args.files)?, &args.wanted)?;
    if let Some(x) = args.x.as_deref()
        && !records.iter().any(|record| record.get(x).is_some_and(Value::is_number))
    {
        let fields = records.iter().filter_map(Value::as_object).flatten();
        let mut keys: Vec<&str> = fields.filter(|(_, value)| value.is_number()).map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        return Err(Failure::Input(format!(
            "--x {x}: no record has a number of that name; must be one of {}",
            keys.join(", ")
        )));
    }
    let Some(plot) = output.plotter() else {
        let how =
            "install the command: `pip install '.[plot]'` in the source, or `make build` and then .venv/bin/hotlink";
        return Err(Failure::Input(format!("plot: the bare binary cannot draw; {how}")));
    };
    let folder = args.out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = args.out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let batch = Batch::new(folder)?;
    let handed = batch.write(format!("{name}.json"), "")?;
    let Args { x, y, facet, title, note, panels, .. } = args;
    let request = json!({"out": handed.with_file_name(name), "x": x, "y": y, "facet": facet, "title": title, "note": note,
        "panels": panels.name()});
    let document = json!({"schema": VERSION, "command": [], "environment": {}, "records": records, "plot": request});
    batch.write(format!("{name}.json"), &pretty(&document))?;
    plot(&handed).map_err(|why| Failure::Input(format!("plot: {}", why.trim_start_matches("ValueError: "))))?;
    std::fs::remove_file(&handed).map_err(|error| Failure::Input(format!("{}: {error}", handed.display())))?;
    batch.commit()?;
    hotlink_paper::tell!("hotlink: wrote {}", args.out.display());
    Ok(())
}
