//! Which network to buy: for a number of hosts, every variant that the given technologies allow. Gives the cost and
//! performance of each, and which of them nothing beats.
//!
//! A variant is a fabric file like any other ([`variants`]). A plan of the floor gives its racks and cables
//! ([`floor`]), the load count of `study` its bandwidth, and the bill of `compare` its price. The cost of one failed
//! cable or switch is counted on the network without it ([`failure`]). [`judge`] holds the variants to limits and finds
//! the front. `steps` plans how a network grows from one number of hosts to the next. Nothing here has an engine of its
//! own.
//!
//! ```
//! use hotlink_design::{Request, design};
//! use hotlink_study::Unwatched;
//! let request = Request { hosts: vec![128], technologies: vec!["infiniband".to_owned()], ..Request::default() };
//! let found = design(&request, &Unwatched).unwrap();
//! assert!(found.files.iter().any(|(name, _)| name == "infiniband-128-fat-tree2-1to1.toml"));
//! ```

mod evaluate;
pub mod failure;
pub mod floor;
pub mod judge;
mod steps;
pub mod variants;

pub use evaluate::{COLLECTIVES, collective, collective_named};
pub use floor::Floor;
pub use judge::Limit;

use evaluate::Evaluated;
use hotlink_bench::{Record, Which};
use hotlink_study::comparison::Priced;
use hotlink_study::{Error, Watch, parallel};
use std::path::PathBuf;
use variants::Variant;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Numbers of hosts.
    pub hosts: Vec<u32>,
    /// GPUs of a host, each with a port of its own. Then nodes are GPUs, and rails are among the variants.
    pub gpus_per_host: Option<u32>,
    /// Cables of a host, or of each of its GPUs, each to a port of its own. Then nodes are these ports.
    pub links_per_host: u32,
    /// Technologies, or fabrics of the catalog or files that stand for one.
    pub technologies: Vec<String>,
    /// Ports towards hosts over ports towards other switches: 1 is full bandwidth.
    pub oversubscriptions: Vec<f64>,
    /// Prices that override the catalog's.
    pub prices: Option<PathBuf>,
    /// How racks stand, and how far copper reaches.
    pub floor: Floor,
    /// What a variant must keep to.
    pub limits: Vec<Limit>,
    /// Collectives whose times are reported.
    pub collectives: Vec<Which>,
    /// Bytes of a message and of a collective.
    pub size: u64,
    /// Draws of random permutations.
    pub samples: u64,
    /// Seed of the draws.
    pub seed: u64,
    /// Whether the front is simulated packet by packet.
    pub simulate: bool,
    /// A variant for which the answer says what beat it.
    pub why: Option<String>,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            hosts: Vec::new(),
            gpus_per_host: None,
            links_per_host: 1,
            technologies: Vec::new(),
            oversubscriptions: vec![1.0],
            prices: None,
            floor: Floor::default(),
            limits: Vec::new(),
            collectives: vec![Which::Allreduce, Which::Alltoall],
            size: 1 << 20,
            samples: 5,
            seed: 1,
            simulate: false,
            why: None,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Design {
    /// By `kind`: `variant`, `item` (a line of its bill), `cables` (those of a length class), `left-out`, `constraint`
    /// and `simulated`. A `step` leads from one number of hosts to the next.
    pub records: Vec<Record>,
    /// Name and text of a fabric file for each variant.
    pub files: Vec<(String, String)>,
    /// Sizes at which no variant keeps to all limits, and which limits bind.
    pub impossible: Vec<String>,
    /// What beat the variant that was asked about, a line each.
    pub why: Vec<String>,
}

/// Most hosts times GPUs of one network: what the catalog's fabrics are tested to hold.
const MOST_NODES: u64 = 65_536;

impl Request {
    /// Refuses what cannot be asked.
    fn check(&self) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::Input(what));
        let ports = u64::from(self.ports_per_host());
        if !(1..=16).contains(&self.links_per_host) {
            return wrong(format!("links per host: {}: must be 1 to 16", self.links_per_host));
        }
        if self.hosts.is_empty() || self.technologies.is_empty() || self.oversubscriptions.is_empty() {
            return wrong("hosts, technology, oversubscription: each needs at least one value".to_owned());
        }
        if let Some(hosts) = self.hosts.iter().find(|&&hosts| hosts < 2 || u64::from(hosts) * ports > MOST_NODES) {
            let of = if ports > 1 { format!(" of {ports} ports") } else { String::new() };
            return wrong(format!("hosts: {hosts}{of}: must be 2 hosts to {MOST_NODES} hosts, or ports of theirs"));
        }
        let twice = |names: &[String]| {
            names.iter().enumerate().find(|(at, one)| names[..*at].contains(one)).map(|(_, one)| one.clone())
        };
        let hosts: Vec<String> = self.hosts.iter().map(u32::to_string).collect();
        if let Some(name) = twice(&self.technologies).or_else(|| twice(&hosts)) {
            return wrong(format!("{name}: named twice; name each once"));
        }
        if let Some(ratio) = self.oversubscriptions.iter().find(|ratio| !(0.25..=16.0).contains(*ratio)) {
            return wrong(format!("oversubscription: {ratio}: must be 0.25 to 16 (ports down over ports up)"));
        }
        if self.samples == 0 || self.samples > 10_000 {
            return wrong(format!("samples: {}: must be 1 to 10000", self.samples));
        }
        if self.size == 0 {
            return wrong("size: 0: must be at least 1 byte".to_owned());
        }
        if self.limits.len() > judge::MOST_LIMITS {
            return wrong(format!("{} limits: must be at most {}", self.limits.len(), judge::MOST_LIMITS));
        }
        for &which in &self.collectives {
            collective(which)?;
        }
        self.floor.check()
    }

    /// Nodes of a network for `hosts` hosts.
    fn nodes(&self, hosts: u32) -> u32 {
        hosts * self.ports_per_host()
    }

    fn ports_per_host(&self) -> u32 {
        self.gpus_per_host.unwrap_or(1) * self.links_per_host
    }
}

/// Every variant with what it costs and gives, and the front.
///
/// # Errors
/// What cannot be asked; a technology, fabric or price list that is none; prices in several currencies.
pub fn design(request: &Request, watch: &dyn Watch) -> Result<Design, Error> {
    request.check()?;
    let (mut all, mut left_out): (Vec<(Variant, Priced)>, Vec<Record>) = (Vec::new(), Vec::new());
    for name in &request.technologies {
        let bases = variants::bases(name, request.gpus_per_host)?;
        for base in &bases {
            let priced = Priced::new(base.source.clone(), request.prices.as_deref())?;
            for &hosts in &request.hosts {
                let (built, refused) = variants::of(base, hosts, request);
                left_out.extend(refused);
                all.extend(built.into_iter().map(|variant| {
                    let priced = priced.of(variant.source.clone());
                    (variant, priced)
                }));
            }
        }
    }
    all.sort_by_key(|(variant, _)| request.hosts.iter().position(|&hosts| hosts == variant.hosts));
    let evaluated = parallel::each(&all, |(variant, priced)| {
        let evaluated = evaluate::evaluate(variant, priced, request);
        watch.step();
        evaluated
    });
    let (mut variants, mut found) = (Vec::new(), Design::default());
    for (evaluated, (variant, _)) in evaluated.into_iter().zip(&all) {
        match evaluated {
            Ok(evaluated) => variants.push(evaluated),
            Err(why) => left_out.push(variant.left_out(&why)),
        }
    }
    if variants.is_empty() {
        let why: Vec<String> = left_out.iter().map(told).collect();
        return Err(Error::Input(format!("no variant can be built: {}", why.join("; "))));
    }
    let constraints = judge::judge(&mut variants, &request.limits, &mut found.impossible)?;
    if let Some(name) = &request.why {
        found.why = judge::why(&variants, name)?;
        let name = name.strip_suffix(".toml").unwrap_or(name);
        if let Some(one) = variants.iter_mut().find(|one| one.record.text("fabric") == Some(name)) {
            one.record.set("why", found.why.clone());
        }
    }
    let simulated: Vec<Record> = match request.simulate {
        true => parallel::each(&variants, |one| one.is_on_front().then(|| one.simulated(request)))
            .into_iter()
            .flatten()
            .collect(),
        false => Vec::new(),
    };
    found.files = variants.iter().map(Evaluated::file).collect();
    let steps = steps::steps(&variants).map_err(Error::Input)?;
    let (records, parts): (Vec<Record>, Vec<Vec<Record>>) =
        variants.into_iter().map(|one| (one.record, one.parts)).unzip();
    found.records = records;
    for more in [constraints, simulated, steps, parts.into_iter().flatten().collect(), left_out] {
        found.records.extend(more);
    }
    Ok(found)
}

fn told(record: &Record) -> String {
    format!("{}: {}", record.text("fabric").unwrap_or_default(), record.text("note").unwrap_or_default())
}
