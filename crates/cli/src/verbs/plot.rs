//! `hotlink plot`: results as curves. Python draws; this reads, checks and hands over.

use crate::{Failure, output, output::Output};
use hotlink_results::Batch;
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

Sizes stand on a log2 axis with IEC labels, latencies on a logarithmic one; medians with their 95 % intervals; bounds
dashed in the colour of what they bound; values that change at whole numbers only (models over nodes, distributions) as
steps.")]
pub(crate) struct Args {
    /// Result files (.json, .jsonl, .csv), or folders of a sweep.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The picture: .png, .svg or .pdf.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Key across; by default the swept one, sizes first.
    #[arg(long, value_name = "KEY")]
    x: Option<String>,
    /// Keys upwards, one chart each; `samples` for their distribution. [default: latency and bandwidth where there are]
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    y: Vec<String>,
    /// Only records whose KEY has this value, or one of several: `--where fabric=a,b`. Repeatable: all must hold.
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = wanted)]
    wanted: Vec<(String, Vec<String>)>,
    /// One row of charts for each value of this key.
    #[arg(long, value_name = "KEY")]
    facet: Option<String>,
}

/// `key=value,value`.
fn wanted(text: &str) -> Result<(String, Vec<String>), String> {
    let (key, values) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("allowed is KEY=VALUE")?;
    Ok((key.to_owned(), values.split(',').map(str::to_owned).collect()))
}

/// Whether a record has what `--where` asks for. A number is the same however it is written.
fn is_wanted(record: &Value, (key, values): &(String, Vec<String>)) -> bool {
    let same = |value: &String| match (&record[key], value.parse::<f64>()) {
        (Value::Number(number), Ok(asked)) => number.as_f64() == Some(asked),
        (Value::String(text), _) => text == value,
        (Value::Bool(is), _) => is.to_string() == *value,
        _ => false,
    };
    values.iter().any(same)
}

/// The records that are wanted; an error names the values of the first key that leaves none.
fn chosen(mut records: Vec<Value>, all: &[(String, Vec<String>)]) -> Result<Vec<Value>, Failure> {
    for asked in all {
        let (key, values) = asked;
        let mut known: Vec<String> =
            records.iter().map(|record| &record[key]).filter(|value| !value.is_null()).map(told).collect();
        records.retain(|record| is_wanted(record, asked));
        if records.is_empty() {
            known.sort();
            known.dedup();
            known.truncate(20);
            let known = if known.is_empty() {
                "no record has the key".to_owned()
            } else {
                format!("there are {}", known.join(", "))
            };
            return Err(Failure::Input(format!("--where {key}={}: leaves no record; {known}", values.join(","))));
        }
    }
    Ok(records)
}

fn told(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

const PICTURES: [&str; 3] = ["png", "svg", "pdf"];

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let suffix = args.out.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    if !PICTURES.contains(&suffix) {
        return Err(Failure::Input(format!("--out {}: allowed are .png, .svg and .pdf", args.out.display())));
    }
    let records = chosen(records(&args.files)?, &args.wanted)?;
    let Some(plot) = output.plotter() else {
        let how =
            "install the command: `pip install '.[plot]'` in the source, or `make build` and then .venv/bin/hotlink";
        return Err(Failure::Input(format!("plot: the bare binary cannot draw; {how}")));
    };
    let folder = args.out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = args.out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let batch = Batch::new(folder)?;
    let handed = batch.write(&format!("{name}.json"), "")?;
    let request = json!({"out": handed.with_file_name(name), "x": args.x, "y": args.y, "facet": args.facet});
    let document = json!({"schema": VERSION, "command": [], "environment": {}, "records": records, "plot": request});
    batch.write(&format!("{name}.json"), &output::pretty(&document))?;
    plot(&handed).map_err(|why| Failure::Input(format!("plot: {}", why.trim_start_matches("ValueError: "))))?;
    std::fs::remove_file(&handed).map_err(|error| Failure::Input(format!("{}: {error}", handed.display())))?;
    batch.commit()?;
    eprintln!("hotlink: wrote {}", args.out.display());
    Ok(())
}

/// All records; of several files, each with the name of its own.
fn records(files: &[PathBuf]) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    for path in files {
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        for result in hotlink_results::read(path)? {
            for record in result.records {
                let mut fields = serde_json::to_value(&record).unwrap_or_default();
                if files.len() > 1 {
                    fields["run"] = name.clone().into();
                }
                all.push(fields);
            }
        }
    }
    match all.is_empty() {
        true => Err(Failure::Input("plot: the files hold no record".to_owned())),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_chosen_by_text_number_and_truth() {
        let all = vec![json!({"a": "x", "n": 8, "ok": true}), json!({"a": "y", "n": 64.0}), json!({"a": "z"})];
        let count = |words: &[&str]| {
            let asked: Vec<_> = words.iter().map(|word| wanted(word).expect("a choice")).collect();
            chosen(all.clone(), &asked).map(|left| left.len()).map_err(|failure| failure.to_string())
        };
        assert_eq!([count(&[]), count(&["a=x,y"]), count(&["n=64"]), count(&["ok=true", "a=x"])], [3, 2, 1, 1].map(Ok));
        let told = count(&["a=q"]).expect_err("no record");
        assert!(told.contains("there are x, y, z"), "{told}");
        assert!(wanted("a").is_err() && wanted("=x").is_err());
    }
}
