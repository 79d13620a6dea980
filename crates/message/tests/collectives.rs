//! Collectives against their definition, on every number of ranks up to 9, every root, small and large, under faults.

use hotlink_message::{Combine, Comm, Element, Error, Operation};
use hotlink_port::loopback::Loopback;
use hotlink_port::middleware::{Fault, Layered};
use hotlink_port::{Driver, Kind, Port, Program, Rank, Span};

/// Every collective once, with `n` 8-byte words per rank.
struct All {
    n: u64,
    root: Rank,
}

fn word(from: Rank, to: Rank, i: u64) -> i64 {
    i64::from(from) * 1_000_000 + i64::from(to) * 1000 + i as i64 % 997
}

struct Words<'a, P: Port>(&'a Comm<P>, Span);

impl<P: Port> Words<'_, P> {
    fn set(&self, words: impl Iterator<Item = i64>) -> Result<(), Error> {
        let bytes: Vec<u8> = words.flat_map(i64::to_ne_bytes).collect();
        self.0.write(self.1.memory, self.1.offset, &bytes)
    }
    fn get(&self) -> Result<Vec<i64>, Error> {
        let mut bytes = vec![0; self.1.bytes() as usize];
        self.0.read(self.1.memory, self.1.offset, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|word| i64::from_ne_bytes(*word)).collect())
    }
}

impl<P: Port> Program<P, Result<Vec<String>, Error>> for All {
    async fn run(&self, port: P) -> Result<Vec<String>, Error> {
        let comm = Comm::new(port);
        let (n, root, me, ranks) = (self.n, self.root, comm.rank(), comm.ranks());
        let buffer = |words: u64| Ok::<_, Error>(Span::new(comm.alloc(8 * words, Kind::Default)?, 0, 8 * words));
        let (one, all, other) = (buffer(n)?, buffer(n * u64::from(ranks))?, buffer(n * u64::from(ranks))?);
        let mut wrong = Vec::new();
        let mut expect = |what: &str, seen: Vec<i64>, wanted: Vec<i64>| {
            if seen != wanted {
                wrong.push(format!(
                    "{what}: {:?}... where {:?}... is due",
                    &seen[..2.min(seen.len())],
                    &wanted[..2.min(wanted.len())]
                ));
            }
        };
        let mine = |to: Rank| (0..n).map(move |i| word(me, to, i));
        let to_all = (0..ranks).flat_map(|to| (0..n).map(move |i| word(me, to, i)));
        let from_all =
            |to: Rank| (0..ranks).flat_map(move |from| (0..n).map(move |i| word(from, to, i))).collect::<Vec<_>>();

        Words(&comm, one).set(mine(0))?;
        comm.bcast(root, one).await?;
        expect("bcast", Words(&comm, one).get()?, (0..n).map(|i| word(root, 0, i)).collect());

        Words(&comm, one).set(mine(0))?;
        comm.gather(root, one, all).await?;
        if me == root {
            expect("gather", Words(&comm, all).get()?, from_all(0));
        }
        Words(&comm, other).set(to_all.clone())?;
        comm.scatter(root, other, one).await?;
        expect("scatter", Words(&comm, one).get()?, (0..n).map(|i| word(root, me, i)).collect());

        Words(&comm, one).set(mine(0))?;
        comm.allgather(one, all).await?;
        expect("allgather", Words(&comm, all).get()?, from_all(0));

        Words(&comm, other).set(to_all)?;
        comm.alltoall(other, all).await?;
        expect("alltoall", Words(&comm, all).get()?, from_all(me));

        let sum = Operation { combine: Combine::Sum, element: Element::I64 };
        let max = Operation { combine: Combine::Max, element: Element::I64 };
        let sums: Vec<i64> = (0..n).map(|i| (0..ranks).map(|from| word(from, 0, i)).sum()).collect();
        let result = comm.parts(all)?[0];
        Words(&comm, one).set(mine(0))?;
        comm.reduce(root, sum, one, result).await?;
        if me == root {
            expect("reduce", Words(&comm, result).get()?, sums.clone());
        }
        comm.allreduce(sum, one, result).await?;
        expect("allreduce", Words(&comm, result).get()?, sums);
        comm.allreduce(max, one, result).await?;
        expect("allreduce max", Words(&comm, result).get()?, (0..n).map(|i| word(ranks - 1, 0, i)).collect());
        comm.barrier().await?;
        Ok(wrong)
    }
}

#[test]
fn collectives_do_what_they_say() {
    for ranks in 1..10 {
        for (n, root) in [(1, 0), (5, ranks - 1), (200, ranks / 2), (20_000, 0)] {
            let layer = |rank: Rank| Fault::new(u64::from(ranks * 100 + rank), 10, 20, 10);
            let results = Layered::new(Loopback::default(), layer).run(ranks, &All { n, root });
            assert_eq!(results, Ok(vec![Ok(Vec::new()); ranks as usize]), "{ranks} ranks, {n} words, root {root}");
        }
    }
}

/// Nobody leaves a barrier before everybody has come.
struct Barriers;

impl<P: Port> Program<P, Result<Vec<(u64, u64)>, Error>> for Barriers {
    async fn run(&self, port: P) -> Result<Vec<(u64, u64)>, Error> {
        let comm = Comm::new(port);
        let mut log = Vec::new();
        for round in 0..20 {
            let entered = COUNT.with(|count| count.replace(count.get() + 1)) + 1;
            comm.barrier().await?;
            log.push((entered, COUNT.with(std::cell::Cell::get)));
            assert!(
                log[round].1 >= (round as u64 + 1) * u64::from(comm.ranks()),
                "left a barrier that not all have entered"
            );
        }
        Ok(log)
    }
}

thread_local! {
    /// Barriers entered by all ranks of this thread's run.
    static COUNT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[test]
fn barriers_hold_everybody() {
    for ranks in 1..10 {
        COUNT.with(|count| count.set(0));
        Loopback { seed: ranks.into(), ..Loopback::default() }.run(ranks, &Barriers).unwrap();
    }
}
