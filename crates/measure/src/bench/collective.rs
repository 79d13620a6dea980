//! `barrier`, `bcast`, `reduce`, `allreduce`, `allgather`, `alltoall`, `alltoallv`, `gather`, `scatter`, `reduce-scatter`.

use crate::bound::Bound;
use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, summary};
use hotlink_bench::{Collected, Collective, Record, Samples, Start, Summary, Which, part};
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
    if let Some(size) = sizes.iter().find(|&&size| size % 8 != 0) {
        return Err(Error::Input(format!("--size {size}: elements have 8 B; allowed are multiples of 8")));
    }
    for &ranks in &ranks {
        session.fits(sizes, ranks, blocks(which, ranks))?;
    }
    let mut hand_off_us = session.hand_off_us()?.unwrap_or(0.0);
    pass.expect(ranks.len() * sizes.len() * ways.len());
    for &ranks in &ranks {
        let over = session.oversubscribed(ranks);
        for &size in sizes {
            let (start, background) = (asked.start, asked.background);
            let private = asked.memory == Some(Memory::Private);
            let bench = Collective { which, size, private, start, background, plan: session.plan() };
            let copy_mbps = session.copy_rate(size, ranks)?;
            let copy_us = copy_mbps.map_or(0.0, |mbps| written(which, size, ranks) / mbps);
            for &way in ways {
                let algorithm = way.map(|way| way.algorithm(which.call(ranks, size))).transpose();
                let algorithm = algorithm.map_err(|what| Error::Input(format!("--algorithm {what}")))?;
                let results: Vec<Collected> = match algorithm {
                    Some(algorithm) => session.run_by(ranks, &bench, (which.collective(), algorithm))?,
                    None => session.run(ranks, &bench)?,
                };
                hand_off_us = session.least_hand_off_us(hand_off_us)?;
                let mut record = record(&bench, session, &results, (hand_off_us, copy_us), over)?;
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

const BOUND_IS: &str = "the larger of ceil(log2 ranks) hand-offs of a cache line between cores, and every byte that ranks \
                        must write, copied by all cores at once";
const BOUND_OF_ROW_IS: &str = "the larger of ceil(log2 ranks) hand-offs of a cache line between cores, once in a row of \
                               operations that flow into each other, and every byte that ranks must write, copied by all \
                               cores at once";
const BOUND_OF_COPY_IS: &str = "every byte that ranks must write, copied by all cores at once; a rank that leaves the \
                                barrier late may find the data there, so hand-offs bound nothing";

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

/// Bytes that the ranks together must write at least, however the operation goes about it.
fn written(which: Which, size: u64, ranks: u32) -> f64 {
    let (size, ranks) = (size as f64, f64::from(ranks));
    match which {
        Which::Barrier => 0.0,
        // The result; what it is made of is read, which no copy's rate bounds.
        Which::Reduce => size,
        Which::Allreduce | Which::ReduceScatter => size * ranks,
        Which::Bcast | Which::Gather | Which::Scatter => size * (ranks - 1.0),
        Which::Allgather | Which::Alltoall => size * ranks * (ranks - 1.0),
        Which::Alltoallv => {
            let all = (0..ranks as u32).flat_map(|from| (0..ranks as u32).map(move |to| (from, to)));
            all.filter(|(from, to)| from != to).map(|(from, to)| part(size as u64, from, to)).sum::<u64>() as f64
        }
    }
}

fn mean(samples: &Samples) -> f64 {
    samples.values.iter().sum::<f64>() / samples.values.len().max(1) as f64
}

pub(crate) fn record(
    bench: &Collective,
    session: &Session<'_>,
    results: &[Collected],
    (hand_off_us, copy_us): (f64, f64),
    over: bool,
) -> Result<Record, Error> {
    let ranks = results.len() as u32;
    let each = Collected::samples(results);
    let slowest = Collective::slowest(&each);
    let all = summary(&slowest)?;
    // News of every rank needs that many steps to reach all, each a hand-off at least.
    let steps_us = f64::from(ranks.next_power_of_two().trailing_zeros()) * hand_off_us;
    let (steps_us, bound_is) = match (bench.which.flows(), bench.is_by_itself()) {
        (false, _) => (steps_us, BOUND_IS),
        (true, false) => (steps_us / slowest.inner as f64, BOUND_OF_ROW_IS),
        (true, true) if bench.start == Start::Window => (steps_us, BOUND_IS),
        (true, true) => (0.0, BOUND_OF_COPY_IS),
    };
    let bound = Bound::larger(steps_us, copy_us, bound_is);
    let per_rank = |of: fn(&Summary) -> f64| {
        let values: Result<Vec<f64>, Error> = each.iter().map(|rank| Ok(of(&summary(rank)?))).collect();
        values
    };
    let most = |of: fn(&Collected) -> f64| results.iter().map(of).fold(0.0, f64::max);
    let record = session.record().with("ranks", ranks).with("size_B", bench.size).with("latency_us", all.median);
    let record = bound
        .add_to(record, all.median)
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
