//! Options that put a question to the engines, shared by verbs.

use crate::Failure;
use crate::values::{Ratio, Size};
use crate::words::word;
use hotlink_fabric::technology::{self, Technology};
use hotlink_study::Source;
use hotlink_study::ask::{Asked, Question};
use hotlink_study::model::{PatternQuestion, traffic};
use hotlink_study::options::{Paths, Rates};

/// The pattern of the traffic, and the kind of rates.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PatternArgs {
    /// Choose which nodes send to which: all-to-all, uniform, bisection, hot-spot, or matrix:FILE.csv. Permutations:
    /// permutation:random, permutation:ring, permutation:shift:K, permutation:transpose, permutation:bit-reversal. On
    /// any network, nearest-neighbour:D takes a grid of D dimensions (1 if left out). With same-switch:PERCENT, each
    /// node sends this share to the nodes of its own switch and the rest evenly to all nodes, these included.
    #[arg(long, value_name = "PATTERN", default_value = "all-to-all", value_parser = pattern)]
    traffic: String,
    /// Use theoretical rates of the resources (gross rate x packet efficiency), or measured ones where a measurement is
    /// known.
    #[arg(long, value_parser = word::<Rates>(), default_value_t = Rates::Measured)]
    capacities: Rates,
    /// Message size; packet overhead depends on it. [default: 1MiB; 64KiB where `compare` simulates packets]
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,
    /// Draw random traffic from this seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Choose among equal paths. [default: the technology's]
    #[arg(long, value_parser = word::<Paths>())]
    paths: Option<Paths>,
    /// Name the technology of a graph (such as infiniband, roce or myrinet) where its file does not state it.
    #[arg(long, value_name = "NAME", value_parser = technology::named)]
    pub(crate) technology: Option<&'static Technology>,
    /// Draw random traffic this many times; the records give median, least and greatest.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    samples: u64,
    /// Draw the hash by which flows choose among equal paths (ECMP) this many times. The records give median, least and
    /// greatest, and the bandwidth of packets that are spread evenly over the paths (spraying).
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    hash_seeds: u64,
}

/// A pattern as it was written, which must be one.
fn pattern(text: &str) -> Result<String, String> {
    traffic(text).map(|_| text.to_owned())
}

impl PatternArgs {
    /// As closed form and load count take it.
    pub(crate) fn pattern(&self) -> Result<PatternQuestion, Failure> {
        let traffic = traffic(&self.traffic).map_err(|what| Failure::Input(format!("--traffic: {what}")))?;
        let PatternArgs { capacities, seed, samples, hash_seeds, paths, .. } = *self;
        let size = self.size_or(1 << 20);
        Ok(PatternQuestion { traffic, capacities, size, seed, samples, hash_seeds, paths })
    }

    /// Refuses draws of the hash where no load is counted.
    pub(crate) fn need_counts(&self, are_there: bool) -> Result<(), Failure> {
        match are_there || self.hash_seeds == 0 {
            true => Ok(()),
            false => Err(Failure::Input("--hash-seeds: only the load count draws hashes: --method load".to_owned())),
        }
    }

    /// The message size that was asked for, or else this one.
    pub(crate) fn size_or(&self, usual: u64) -> u64 {
        self.size.map_or(usual, |size| size.0)
    }

    /// The question that it puts to a machine.
    pub(crate) fn question(&self, machine: &str, nodes: u32) -> Question {
        let PatternArgs { capacities, seed, samples, hash_seeds, paths, .. } = *self;
        let (what, size) = (Asked::Traffic(self.traffic.clone()), self.size_or(1 << 20));
        Question { capacities, size, seed, samples, hash_seeds, paths, ..Question::new(what, machine, nodes) }
    }
}

/// Forwarding tables of a site's network, and its failing parts.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RoutesArgs {
    /// Read forwarding tables of a dumped network (opensm-lfts.dump, dump_fts, opensm.fdbs); packets take these routes.
    /// Repeat the option for its virtual lanes (opensm-sl2vl.dump) and service levels (saquery -p), which the deadlock check
    /// needs.
    #[arg(long, value_name = "FILE")]
    routes: Vec<String>,
    #[command(flatten)]
    failed: FailArgs,
    /// Replace the tables of a dumped network by balanced up*/down* ones, after the failures.
    #[arg(long)]
    rerouted: bool,
}

/// Parts of a network that fail.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct FailArgs {
    /// Let a part of the network fail before anything else; repeatable. In a dumped network the tables stay. PART is
    /// then a cable by one end or both ('leaf1 port 5', 'leaf1 port 5 -> spine0 port 3'). Or it is a switch or host by
    /// its name, or random:K[:SEED], K cables between switches. In a fabric of the catalog the routes are the shortest
    /// that remain. PART is then a cable by its ends ('leaf 0 -> spine 1 #2') or a switch ('spine 1').
    #[arg(long, value_name = "PART")]
    fail: Vec<String>,
}

impl FailArgs {
    /// As a fabric's name spells it.
    pub(crate) fn spelled(&self) -> String {
        self.fail.iter().map(|part| format!("+fail:{part}")).collect()
    }
}

impl RoutesArgs {
    /// Tables, as a name spells them, and what fails; `None` where the tables are made anew, which only a name says.
    pub(crate) fn apart(&self) -> Option<(String, &[String])> {
        (!self.rerouted).then(|| (self.routes.join("+"), &self.failed.fail[..]))
    }

    /// A fabric's name with its tables: files of one network are spelled with `+` between them.
    pub(crate) fn of(&self, fabric: &str) -> String {
        let routes = self.routes.iter().map(|routes| format!("+{routes}")).collect::<String>();
        let reroute = if self.rerouted { "+reroute" } else { "" };
        format!("{fabric}{routes}{}{reroute}", self.failed.spelled())
    }
}

/// Changes to the fabric's file.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct VariantArgs {
    /// Change the ratio of a leaf switch's ports to nodes and its ports to other switches, such as 2 or 2:1, in trees and
    /// rails. A ratio of 2 leaves half of the full bisection. Of several fabrics, each takes those of --oversubscription,
    /// --radix, --levels and --link that it can have; `unchanged` in its records names the others. One that no fabric can
    /// have is an error.
    #[arg(long, value_name = "RATIO")]
    oversubscription: Option<Ratio>,
    /// Change the number of ports of a switch. Where no list prices such a switch, its ports are assumed
    /// to cost as much as those of the fabric's switch, within a stated interval.
    #[arg(long, value_name = "PORTS")]
    radix: Option<u32>,
    /// Build at most this many levels of switches. [default: the fabric's]
    #[arg(long, value_name = "COUNT")]
    levels: Option<u32>,
    /// Change the links to this part of the catalog (infiniband-ndr, ethernet-400g, ...). Rates and latencies of links
    /// and switches change with it. Adapters, cables and switches are bought at that link's prices, where a list has them.
    #[arg(long, value_name = "PART")]
    link: Option<String>,
}

impl VariantArgs {
    /// Keys and values.
    fn changes(&self) -> Vec<(String, String)> {
        let settings = [
            ("oversubscription", self.oversubscription.map(|Ratio(ratio)| ratio.to_string())),
            ("radix", self.radix.map(|ports| ports.to_string())),
            ("levels", self.levels.map(|levels| levels.to_string())),
            ("link", self.link.clone()),
        ];
        settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// The name of the variant of `fabric`: `NAME:oversubscription=2`, which is valid wherever a fabric is named.
    pub(crate) fn of(&self, fabric: &str) -> String {
        let words = self.changes().into_iter().map(|(key, value)| format!(":{key}={value}"));
        std::iter::once(fabric.to_owned()).chain(words).collect()
    }

    /// Those of several fabrics, each with the changes that it can have.
    pub(crate) fn of_all<'a>(&self, fabrics: impl Iterator<Item = &'a String>) -> Result<Vec<String>, Failure> {
        Source::changed(&fabrics.cloned().collect::<Vec<_>>(), &self.changes())
    }

    /// The same where a fabric may be named, by `option`.
    ///
    /// # Errors
    /// No fabric is named, or only a label, and options change parts of it.
    pub(crate) fn of_named(&self, option: &str, fabric: Option<&str>) -> Result<Option<String>, Failure> {
        let is_label = |name: &str| name.starts_with(hotlink_measure::request::LABEL);
        if self.of("").is_empty() {
            return Ok(fabric.map(str::to_owned));
        }
        match fabric.filter(|name| !is_label(name)) {
            Some(fabric) => Ok(Some(self.of(fabric))),
            None => {
                let what = "--oversubscription, --radix, --levels and --link change a fabric";
                Err(Failure::Input(format!("{what}: name one with {option}")))
            }
        }
    }
}
