//! A job's hosts: what they get, what their cables would allow, and where the job would get more.

use super::{Question, STEPS, View, fabric_of, routes_of, site_of, tabled};
use hotlink_bench::Record;
use hotlink_fabric::input;
use hotlink_fabric::network::{Node, Resource};
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::traffic::sample_seed;
use hotlink_site::concurrent;
use hotlink_site::{Job, Placement, Site, hostlist};
use hotlink_study::{Error, Source, Watch, parallel};

/// What is asked about a job.
#[derive(Clone, Debug)]
pub struct JobQuestion {
    /// Hosts in order of the ranks.
    pub hosts: Vec<String>,
    /// Draws of permutations and of placements, their seed, and the gap of the bound.
    pub draws: Question,
}

/// The hosts of a list as Slurm writes it, or of a file behind `@`.
///
/// # Errors
/// What is wrong with the list, and where.
pub fn hosts(list: &str) -> Result<Vec<String>, Error> {
    let wrong = |what: String| Error::Input(format!("--hosts {what}"));
    match list.strip_prefix('@') {
        Some(file) => {
            let text = input::text(file).map_err(|error| wrong(format!("{file}: cannot be read: {error}")))?;
            hostlist::read(file, &text).map_err(|error| wrong(error.to_string()))
        }
        None => hostlist::expand(list).map_err(|what| wrong(format!("'{list}': {what}"))),
    }
}

/// The job where it is, with its ranks in a better order for rings, on the best hosts that were found, and on random ones.
///
/// # Errors
/// As [`super::inspect`]; a host that is not there, or fewer than two.
pub fn job(source: &Source, question: &JobQuestion, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
    let wrong = |error: hotlink_fabric::import::ImportError| Error::Input(error.to_string());
    let site = site_of(source)?;
    let hosts: Vec<Node> =
        site.named(&question.hosts).map_err(wrong)?.into_iter().map(|vertex| Node(vertex.0)).collect();
    if hosts.len() < 2 {
        return Err(Error::Input("--hosts: a job has at least two hosts".to_owned()));
    }
    let fabric = tabled(site)?;
    let view = View::new(&fabric)?;
    let Some(job) = Job::new(&fabric) else {
        return Err(Error::Input(format!("{}: a host has no link of its own to a switch", source.name())));
    };
    let name = |node: &Node| fabric.resource_name(Resource::Vertex(node.vertex()));
    let (seed, samples) = (question.draws.seed, question.draws.samples);
    let rate = view.usual_mbps * 1e6;
    let share = |rate_of: f64| Some(rate_of / rate).filter(|share| share.is_finite());
    let record = |placement: &str, placed: &Placement| {
        // One name of a host that has several ports.
        let mut names: Vec<String> = placed.hosts.iter().map(name).map(|name| first_word(&name)).collect();
        names.dedup();
        Record::new()
            .with("fabric", source.name())
            .with("benchmark", "job")
            .with("method", "load")
            .with("nodes", placed.hosts.len())
            .with("placement", placement)
            .with("routes", routes_of(site))
            .with("hosts", hostlist::fold(&names))
            .with("unreachable_pairs", placed.lost)
            .with("all_to_all_share", share(placed.all_to_all))
            .with("ring_share", share(placed.ring))
    };
    let bounded = |mut record: Record, placed: &Placement| -> Result<Record, Error> {
        let shares = permutations(&job, &placed.hosts, question.draws);
        let shares: Vec<f64> = shares.into_iter().filter_map(share).collect();
        record.set("permutations", shares.len());
        record.set("permutation_median_share", shares.get(shares.len().saturating_sub(1) / 2).copied());
        record.set("permutation_worst_share", shares.first().copied());
        record.set("cable_bound_share", cable_bound(site, &placed.hosts, question.draws.gap)?.and_then(share));
        Ok(record.with("seed", seed))
    };
    let given = job.placed(hosts.clone());
    let mut records = vec![bounded(record("given", &given), &given)?];
    watch.step();
    let ordered = job.ring_order(&hosts, seed);
    records.push(record("given, ranks in a better order for rings", &ordered));
    watch.step();
    let best = job.best(hosts.len(), seed);
    records.push(bounded(record("best found", &best), &best)?);
    watch.step();
    let draws: Vec<u64> = (0..samples.min(most_draws(hosts.len()))).collect();
    let mut drawn = parallel::each(&draws, |&draw| job.random(hosts.len(), sample_seed(seed, draw)));
    drawn.sort_by(|a, b| a.all_to_all.total_cmp(&b.all_to_all));
    if let (Some(worst), Some(median)) = (drawn.first(), drawn.get(drawn.len().saturating_sub(1) / 2)) {
        let record = record("random (median)", median).with("samples", drawn.len()).with("seed", seed);
        records.push(record.with("worst_share", share(worst.all_to_all)));
    }
    watch.step();
    Ok(records)
}

/// Steps of progress.
pub const JOB_PARTS: u64 = 4;

/// Draws of placements that take some seconds.
fn most_draws(hosts: usize) -> u64 {
    ((1 << 29) / (hosts * hosts) as u64).max(3)
}

fn first_word(name: &str) -> String {
    name.split_whitespace().next().unwrap_or(name).to_owned()
}

/// Bytes per second of each host in random permutations among them, sorted.
fn permutations(job: &Job<'_>, hosts: &[Node], draws: Question) -> Vec<f64> {
    let seeds: Vec<u64> = (0..draws.samples).map(|draw| sample_seed(draws.seed, draw)).collect();
    let one = |&seed: &u64| {
        let mut to = hosts.to_vec();
        SplitMix64::new(seed).shuffle(&mut to);
        job.flows(hosts.iter().copied().zip(to))
    };
    let mut rates = parallel::each(&seeds, one);
    rates.sort_by(f64::total_cmp);
    rates
}

/// What the cables let each of these hosts send when they alone use them, with the best possible routes. No routing
/// exceeds these bytes per second.
fn cable_bound(site: &Site, hosts: &[Node], gap: f64) -> Result<Option<f64>, Error> {
    let vertices: Vec<_> = hosts.iter().map(|host| host.vertex()).collect();
    let alone = site.only(&vertices).map_err(|error| Error::Input(error.to_string()))?;
    let bound = concurrent::all_to_all(&fabric_of(&alone)?, gap, STEPS / 8);
    Ok(bound.map(|bound| bound.upper * (hosts.len() - 1) as f64))
}
