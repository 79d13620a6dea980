//! `hotlink simulate barrier`: barriers on dedicated barrier networks, event by event.

use super::stack::StackArgs;
use crate::verbs::watching::WatchOptions;
use crate::{Failure, output::Output, values::Counts};
use hotlink_study::cell::Cell;
use hotlink_study::simulate::barrier::{self, Barriers};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate barrier --fabric bluegene-l --nodes 65536 --algorithm hardware --json
  hotlink simulate barrier --fabric hwbarr --nodes 2..1024..x2
  hotlink simulate barrier --fabric qsnet --nodes 2..1024..x2 --algorithm hardware,tree,nic
  hotlink simulate barrier --fabric hwbarr-hx8k --nodes 4..256..x2
  hotlink simulate barrier --fabric bluegene-l --nodes 512,1024 --partition
  hotlink simulate barrier --fabric hwbarr --nodes 4 --skew-us 5 --repetitions 1000 --seed 1")]
pub(crate) struct Args {
    /// A fabric of the catalog that has a barrier network, or a file.
    #[arg(long, value_name = "FABRIC|FILE")]
    fabric: String,
    /// Sizes: a list or range, such as 4,9,16 or 2..1024..x2.
    #[arg(long, value_name = "LIST")]
    nodes: Counts,
    /// How: hardware is the fabric's barrier network; nic is QsNet's adapters; by messages: central, tree, dissemination, n-way, tournament.
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_value = "hardware")]
    algorithm: Vec<String>,
    /// The nodes are a partition with a top of its own, where the network can be cut.
    #[arg(long)]
    partition: bool,
    /// Barriers in a row; each node arrives up to --skew-us after it left the one before.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repetitions: u32,
    /// Most delay of a node's arrival in microseconds, each delay equally likely; 0: all arrive as they left.
    #[arg(long, default_value_t = 0.0, value_parser = skew)]
    skew_us: f64,
    /// Seed of the delays and of other random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    stack: StackArgs,
    #[command(flatten)]
    missing: super::qsnet::Missing,
    #[command(flatten)]
    watching: WatchOptions,
    #[command(flatten)]
    uncertain: super::options::UncertainArgs,
}

fn skew(text: &str) -> Result<f64, String> {
    let allowed = "allowed: 0 to 1000000";
    let skew: f64 = text.parse().map_err(|_| format!("`{text}` is no number of microseconds; {allowed}"))?;
    if (0.0..=1e6).contains(&skew) { Ok(skew) } else { Err(format!("{text} is out of range; {allowed}")) }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let nodes = args.nodes.to_u32().map_err(|what| Failure::Input(format!("--nodes: {what}")))?;
    if args.watching.watching().is_some() {
        let own = |name: &String| name == "hardware" || super::qsnet::algorithm(&args.fabric, name).is_some();
        if let Some(name) = args.algorithm.iter().find(|name| own(name)) {
            let what = "has no ranks and no ports; --trace, --count and --inject need a barrier by messages";
            return Err(Failure::Input(format!("--algorithm {name}: {what}")));
        }
    }
    for algorithm in &args.algorithm {
        if let Some(own) = super::qsnet::algorithm(&args.fabric, algorithm) {
            let cells = super::qsnet::barriers(&args.fabric, &nodes, own, (&args.stack, &args.missing), args.seed);
            super::qsnet::run(&cells, args.uncertain.vary(), output)?;
            continue;
        }
        args.missing.refuse()?;
        match algorithm.as_str() {
            "hardware" => hardware(args, &nodes, output)?,
            _ if nodes.iter().any(|&n| n < 2) => {
                return Err(Failure::Input("--nodes: allowed are 2 or more".to_owned()));
            }
            _ => {
                let mut cells = super::packet::barriers(&args.fabric, &nodes, algorithm, &args.stack, args.seed)?;
                super::options::watched(&mut cells, &args.watching)?;
                let sensitivity = args.uncertain.vary();
                let cells: Vec<_> = cells.into_iter().map(|cell| Cell { sensitivity, ..cell }).collect();
                super::packet::run(&cells, &args.watching, output)?;
            }
        }
    }
    Ok(())
}

/// On the fabric's own barrier network.
fn hardware(args: &Args, nodes: &[u32], output: &mut Output) -> Result<(), Failure> {
    let Args { partition, repetitions, skew_us, seed, .. } = *args;
    let what = Barriers { partition, repetitions, skew_us, seed };
    let progress = output.progress("simulate barrier", nodes.len() as u64 * u64::from(repetitions));
    let records = barrier::hardware(&args.fabric, nodes, what, output.vary(args.uncertain.sensitivity), &progress)?;
    records.into_iter().for_each(|record| output.push(record));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Failure;
    use serde_json::Value;

    fn hotlink(line: &str) -> Result<Vec<Value>, Failure> {
        let args = std::iter::once("hotlink").chain(line.split(' ')).chain(["--json"]);
        let result: Value = serde_json::from_str(&crate::json(args.map(Into::into))?).unwrap();
        Ok(result["records"].as_array().unwrap().clone())
    }

    #[test]
    fn h06s_prototype_gives_write_and_read_and_says_what_limits() {
        let record = &hotlink("simulate barrier --fabric hwbarr --nodes 4").unwrap()[0];
        assert_eq!((record["latency_us"].as_f64(), record["formula_us"].as_f64()), (Some(2.4), Some(2.44)));
        assert_eq!(record["efficiency"], 1.0);
        assert_eq!(record["limiting_resource"], "processor's access to the port");
    }

    #[test]
    fn bluegene_is_flat_from_2_to_65536() {
        let records = hotlink("simulate barrier --fabric bluegene-l --nodes 2,512,65536").unwrap();
        let latencies: Vec<&Value> = records.iter().map(|record| &record["latency_us"]).collect();
        assert!(latencies.iter().all(|latency| *latency == latencies[0]), "{latencies:?}");
    }

    #[test]
    fn skew_is_not_counted_as_latency_and_the_formula_is_its_upper_end() {
        let line = "simulate barrier --fabric hwbarr --nodes 4 --skew-us 7 --repetitions 200";
        let record = &hotlink(line).unwrap()[0];
        let (least, most) = (record["min"].as_f64().unwrap(), record["max"].as_f64().unwrap());
        assert!((2.4..=2.44).contains(&least) && (least..=2.44).contains(&most), "{least} to {most}");
        assert_eq!(hotlink(line).unwrap()[0]["trace_hash"], record["trace_hash"]);
    }

    #[test]
    fn what_cannot_be_is_told_with_what_can() {
        for (line, expected) in [
            ("simulate barrier --fabric gige --nodes 4", "allowed: bluegene-l, cm5, earth-simulator, hwbarr"),
            ("simulate barrier --fabric bluegene-l --nodes 65537", "65537 nodes (allowed: 2 to 65536)"),
            ("simulate barrier --fabric hwbarr --nodes 1", "1 nodes (allowed: 2 to"),
            ("simulate barrier --fabric hwbarr --nodes 4 --partition", "cannot be partitioned"),
            (
                "simulate barrier --fabric hwbarr --nodes 4 --algorithm tre",
                "`tre` is no algorithm of barrier; allowed: hardware",
            ),
            ("simulate barrier --fabric hwbarr --nodes 4 --skew-us 2e6", "2e6 is out of range; allowed: 0 to 1000000"),
        ] {
            let told = hotlink(line).unwrap_err().to_string();
            assert!(told.contains(expected), "{line}: {told}");
        }
    }
}
