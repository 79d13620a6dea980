//! `barrier`, `bcast`, `reduce`, `allreduce`, `allgather`, `alltoall`, `alltoallv`, `gather`, `scatter`, `reduce-scatter`.

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, summary, with_hand_offs, with_rates};
use hotlink_bench::{Collected, Collective, Record, Samples, Start, Summary, Which};
use hotlink_bound::local::{Order, Route};
use hotlink_message::{Algorithm, Way};
use hotlink_study::Error;
use hotlink_study::options::Memory;

pub(crate) fn ranks(asked: &asked::Collective, session: &Session<'_>) -> Result<Vec<u32>, Error> {
    session.ranks(asked.ranks.clone(), &[2])
}

/// The algorithms named; one unnamed if the cost model is to pick.
pub(crate) fn algorithms<'a>(
    session: &Session<'_>,
    which: Which,
    names: impl Iterator<Item = &'a String>,
) -> Result<Vec<Option<Way>>, Error> {
    let wrong = |what: String| Error::Input(format!("--algorithm: {what}"));
    let via = session.via();
    let named = |name: &String| match Way::named(which.collective(), name).map_err(wrong)? {
        _ if session.is_mpi() => Err(wrong(format!("`{name}` with --via mpi: that MPI chooses for itself"))),
        Way::By(Algorithm::Hardware) => Err(wrong(format!("`hardware`: --via {via} has none; see hotlink simulate"))),
        way => Ok(Some(way)),
    };
    let algorithms: Vec<_> = names.map(named).collect::<Result<_, _>>()?;
    Ok(if algorithms.is_empty() { vec![None] } else { algorithms })
}

pub(crate) fn run(which: Which, asked: &asked::Collective, pass: &mut Pass<'_>) -> Result<(), Error> {
    let algorithms = algorithms(pass.session, which, asked.algorithms.iter())?;
    by(which, asked, &algorithms, pass)
}

/// By each of the algorithms.
pub(crate) fn by(
    which: Which,
    asked: &asked::Collective,
    ways: &[Option<Way>],
    pass: &mut Pass<'_>,
) -> Result<(), Error> {
    let session = pass.session;
    let ranks = ranks(asked, session)?;
    let sizes = if which == Which::Barrier { &[0][..] } else { &asked.sizes[..] };
    sizes.iter().try_for_each(|&size| which.check_size(size)).map_err(|what| Error::Input(format!("--size {what}")))?;
    for &ranks in &ranks {
        session.fits(sizes, ranks, blocks(which, ranks))?;
    }
    session.hand_off_us()?;
    pass.expect(ranks.len() * sizes.len() * ways.len());
    for &ranks in &ranks {
        let over = session.oversubscribed(ranks);
        // Of more than two, some may be nearer to each other than those that would be probed.
        let crossed = if ranks == 2 && sizes != [0] { session.crossed(ranks, 1)? } else { None };
        let route = session.route(asked.memory.unwrap_or(Memory::Shared), false, crossed);
        for &size in sizes {
            let (start, background) = (asked.start, asked.background);
            let private = asked.memory == Some(Memory::Private);
            let bench = Collective { which, size, private, start, background, plan: session.plan() };
            let copy_mbps = session.copy_rate(size, ranks)?;
            let rates = Rates { hand_off_us: 0.0, copy_mbps, route };
            for &way in ways {
                let algorithm = way.map(|way| way.algorithm(which.call(ranks, size))).transpose();
                let algorithm = algorithm.map_err(|what| Error::Input(format!("--algorithm {what}")))?;
                let results: Vec<Collected> = match algorithm {
                    Some(algorithm) => session.run_by(ranks, &bench, (which.collective(), algorithm))?,
                    None => session.run(ranks, &bench)?,
                };
                let hand_off_us = session.hand_off_us()?.unwrap_or(0.0);
                let record = record(&bench, session, &results, Rates { hand_off_us, ..rates }, over)?;
                let mut record = with_hand_offs(record, session.hand_off_beside_us(), session.least_hand_off_us());
                if let Some(memory) = asked.memory {
                    record.set("memory", memory.name());
                }
                if let Some(algorithm) = algorithm {
                    record.set("algorithm", algorithm.name());
                }
                if let Some(Way::As(rules)) = way {
                    record.set("algorithm_by", rules.source());
                }
                pass.push(record);
                pass.step();
            }
        }
    }
    Ok(())
}

/// Blocks that each of `ranks` ranks has of its own and of the others, in the mean over the ranks.
fn blocks(which: Which, ranks: u32) -> u64 {
    match which {
        Which::Barrier => 0,
        Which::Bcast => 1,
        Which::Reduce | Which::Allreduce | Which::Gather | Which::Scatter => 2,
        Which::Allgather => 1 + u64::from(ranks),
        Which::ReduceScatter => 1 + u64::from(ranks),
        Which::Alltoall | Which::Alltoallv => 2 * u64::from(ranks),
    }
}

/// Rates of the machine, for the bound.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rates {
    hand_off_us: f64,
    copy_mbps: Option<f64>,
    route: Route,
}

fn mean(samples: &Samples) -> f64 {
    samples.values.iter().sum::<f64>() / samples.values.len().max(1) as f64
}

pub(crate) fn record(
    bench: &Collective,
    session: &Session<'_>,
    results: &[Collected],
    rates: Rates,
    over: bool,
) -> Result<Record, Error> {
    let ranks = results.len() as u32;
    let each = Collected::samples(results);
    let slowest = Collective::slowest(&each);
    let all = summary(&slowest)?;
    let order = match (bench.which.flows(), bench.is_by_itself()) {
        (false, _) => Order::Together,
        (true, false) => Order::Row(slowest.inner),
        (true, true) if bench.start == Start::Window => Order::Together,
        (true, true) => Order::Late,
    };
    let copy_us = rates.copy_mbps.map_or(0.0, |mbps| bench.which.written(bench.size, ranks) / mbps);
    // Lines that a message of ordinary memory must take; others may be where they are needed.
    let peak = if matches!(rates.route, Route::Ordinary { .. }) { rates.route.peak(None, 1) } else { None };
    let moved = bench.which.moved(bench.size as f64, f64::from(ranks));
    let crossing = peak.as_ref().map(|peak| (moved / peak.mbps, peak.resource.as_str()));
    let bound = hotlink_bound::local::collective(ranks, rates.hand_off_us, copy_us, crossing, order);
    let per_rank = |of: fn(&Summary) -> f64| {
        let values: Result<Vec<f64>, Error> = each.iter().map(|rank| Ok(of(&summary(rank)?))).collect();
        values
    };
    let most = |of: fn(&Collected) -> f64| results.iter().map(of).fold(0.0, f64::max);
    let record = session.record().with("ranks", ranks).with("size_B", bench.size).with("latency_us", all.median);
    let record = record.beside_time(&bound, all.median);
    let record = if bench.size > 0 { with_rates(record, rates.copy_mbps, rates.route) } else { record };
    let record = record
        .with("background", bench.background.map(|background| background.to_string()))
        .with("p25", all.p25)
        .with("p75", all.p75)
        .with("max", all.max)
        .with("rank_median_us", per_rank(|rank| rank.median)?)
        .with("rank_max_us", per_rank(|rank| rank.max)?)
        .with("rank_mean_us", each.iter().map(mean).collect::<Vec<f64>>())
        .with("start", bench.start.name())
        .with("start_spread_us", Collected::spread_us(results))
        .with("clock_error_us", most(|rank| rank.clock_error_us))
        .with("late", results.iter().map(|rank| rank.late).sum::<u64>())
        .with("oversubscribed", over);
    session.finish(record, &slowest, "latency_us")
}
