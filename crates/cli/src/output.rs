//! Results to stdout in the format asked for.

use crate::Failure;
use hotlink_bench::Record;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;

/// Options of every verb.
#[derive(clap::Args)]
pub struct OutputArgs {
    /// Result format on stdout.
    #[arg(long, global = true, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Short for --format json.
    #[arg(long, global = true)]
    json: bool,
}

/// Result formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for people.
    Table,
    /// One object: schema, command, environment, records.
    Json,
    /// One record a line.
    Jsonl,
    /// Comma-separated values.
    Csv,
    /// A Markdown table.
    Md,
    /// The text of the OSU micro-benchmarks (measurements only).
    Osu,
}

/// Collects a command's records and prints them once at the end, so that a failure leaves nothing half-written.
pub struct Output {
    format: Format,
    command: Vec<String>,
    records: Vec<Record>,
}

impl Output {
    /// For the command line `args`.
    pub fn new(options: &OutputArgs, args: &[OsString]) -> Output {
        let format = if options.json { Format::Json } else { options.format };
        let command = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        Output { format, command, records: Vec::new() }
    }
    /// The format asked for.
    pub fn format(&self) -> Format {
        self.format
    }
    /// Adds one result.
    pub fn push(&mut self, record: Record) {
        self.records.push(record);
    }
    /// Prints everything.
    pub fn finish(self) -> Result<(), Failure> {
        let text = match self.format {
            Format::Json => self.json(),
            _ => return Err(Failure::Input("only --json is written yet".to_owned())),
        };
        std::io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::Input(format!("stdout: {error}")))
    }
    fn json(&self) -> String {
        let document: Value = json!({
            "schema": "hotlink/1", "command": self.command, "environment": {}, "records": self.records,
        });
        let mut text = serde_json::to_string_pretty(&document).expect("records are plain JSON");
        text.push('\n');
        text
    }
}
