//! `hotlink simulate barrier`: barriers on dedicated barrier networks, event by event.

use super::options::asked;
use super::run::Ask;
use super::stack::StackArgs;
use crate::verbs::watching::WatchOptions;
use crate::{Failure, values::Counts};
use hotlink_study::simulate::barrier::MOST_REPETITIONS;
use hotlink_study::simulate::request::{Benchmark, Request};

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
    /// How: hardware is the fabric's barrier network; nic is QsNet's adapters; by messages: central, tree, dissemination, n-way, tournament; as other MPIs also recursive-doubling, double-ring.
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_value = "hardware")]
    algorithm: Vec<String>,
    /// The nodes are a partition with a top of its own, where the network can be cut.
    #[arg(long)]
    partition: bool,
    /// Barriers in a row; each node arrives up to --skew-us after it left the one before.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPETITIONS)))]
    repetitions: u32,
    /// Most delay of a node's arrival in microseconds, each delay equally likely; 0: all arrive as they left.
    #[arg(long, default_value_t = 0.0)]
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

impl Ask for Args {
    fn watching(&self) -> Option<&WatchOptions> {
        Some(&self.watching)
    }
    fn request(&self) -> Result<Request, Failure> {
        let Args { partition, repetitions, skew_us, seed, .. } = *self;
        let benchmark = Benchmark::Barrier { algorithms: self.algorithm.clone(), partition, repetitions, skew_us };
        let on = (std::slice::from_ref(&self.fabric), Some(&self.nodes));
        let asked = asked(benchmark, on, &self.stack, (&self.watching, self.uncertain))?;
        Ok(self.missing.of(Request { seed, ..asked }))
    }
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
            (
                "simulate barrier --fabric hwbarr --nodes 4 --skew-us 2e6",
                "2000000 is out of range; allowed: 0 to 1000000",
            ),
        ] {
            let told = hotlink(line).unwrap_err().to_string();
            assert!(told.contains(expected), "{line}: {told}");
        }
    }
}
